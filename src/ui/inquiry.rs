//! [`Inquiry`]: the measurement of a file's path that was asked for on the screen, its progress and its result.

use std::path::PathBuf;

use crate::{model::Failed, report::waterfall::Asked, waterfall::Waterfall};

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The file.
    pub file: PathBuf,
    /// Whether its clean pages are dropped first.
    pub drop_cache: bool,
}

/// Progress of the tests.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStep {
    /// The layer that is read now.
    pub layer: &'static str,
    /// Tests that ended.
    pub done: usize,
    /// All tests.
    pub all: usize,
    /// The rates so far.
    pub path: Waterfall,
}

/// The result: the rates with what is reported beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct FileAnswer {
    /// The file and its pages.
    pub asked: Asked,
    /// The rates.
    pub path: Waterfall,
}

/// Why nothing was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRefusal {
    /// One line with its fix.
    pub why: Failed,
    /// Whether dropping the file's pages would help.
    pub is_cached: bool,
    /// A file to measure instead: the largest of the folder that was named.
    pub instead: Option<PathBuf>,
}

/// News of a measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum FileNews {
    /// It goes on.
    Step(FileStep),
    /// It ended.
    Ended(Result<FileAnswer, FileRefusal>),
}

/// A measurement of a file's path.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    /// What was asked.
    pub request: FileRequest,
    /// Its progress; `None` before its first test.
    pub step: Option<FileStep>,
    /// The user asked for its end.
    pub stopping: bool,
    /// The result; `None` while it runs.
    pub result: Option<Result<FileAnswer, FileRefusal>>,
}

impl Inquiry {
    /// One that begins.
    pub const fn new(request: FileRequest) -> Self {
        Self { request, step: None, stopping: false, result: None }
    }

    /// Whether it still runs.
    pub const fn is_running(&self) -> bool {
        self.result.is_none()
    }

    /// Takes news of it.
    pub fn take(&mut self, news: FileNews) {
        match news {
            FileNews::Step(step) => self.step = Some(step),
            FileNews::Ended(result) => self.result = Some(result),
        }
    }

    /// The rates, so far or at the end.
    pub fn path(&self) -> Option<&Waterfall> {
        match &self.result {
            Some(Ok(answer)) => Some(&answer.path),
            Some(Err(_)) => None,
            None => self.step.as_ref().map(|step| &step.path),
        }
    }
}

//! [`Failed`]: an error for the user.

use super::Target;

/// The line for the user, the kernel's errno, if any, and files to read in place of drives that may not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct Failed {
    line: String,
    errno: Option<i32>,
    files: Vec<Target>,
    is_stop: bool,
    is_advised: bool,
}

impl Failed {
    /// For this reason, with the errno if there is one.
    pub fn new(line: impl Into<String>, errno: Option<i32>) -> Self {
        Self { line: line.into(), errno, files: Vec::new(), is_stop: false, is_advised: false }
    }

    /// Stopped by the user before the first read.
    #[must_use]
    pub fn stopped(self) -> Self {
        Self { is_stop: true, ..self }
    }

    /// Whether the user stopped it: nothing is wrong.
    pub const fn is_stop(&self) -> bool {
        self.is_stop
    }

    /// Its line has the command that restores what is left.
    #[must_use]
    pub fn advised(self, is_advised: bool) -> Self {
        Self { is_advised, ..self }
    }

    /// Whether its line has the command that restores what is left.
    pub const fn is_advised(&self) -> bool {
        self.is_advised
    }

    /// With files that can be read instead.
    #[must_use]
    pub fn with_files(self, files: Vec<Target>) -> Self {
        Self { files, ..self }
    }

    /// What can be read instead.
    pub fn files(&self) -> &[Target] {
        &self.files
    }

    /// Whether permissions are the reason (EACCES, EPERM).
    pub const fn is_refusal(&self) -> bool {
        matches!(self.errno, Some(libc::EACCES | libc::EPERM))
    }
}

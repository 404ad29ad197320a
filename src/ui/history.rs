//! [`Tests`]: the test in progress and those before it.

use std::collections::VecDeque;

use super::test::Test;

/// How many tests are remembered.
const REMEMBERED: usize = 50;

/// Tests, the newest last; the last one may be in progress.
#[derive(Debug, Clone, Default)]
pub struct Tests {
    /// All that are remembered.
    pub all: VecDeque<Test>,
    /// How many that ended well are forgotten.
    pub forgotten: usize,
}

impl Tests {
    /// The one in progress.
    pub fn running(&self) -> Option<&Test> {
        self.all.back().filter(|test| test.is_running())
    }

    /// The one in progress, to be changed.
    pub fn running_mut(&mut self) -> Option<&mut Test> {
        self.all.back_mut().filter(|test| test.is_running())
    }

    /// Adds a new one; the oldest may be forgotten for that.
    pub fn begin(&mut self, test: Test) {
        self.all.push_back(test);
        if self.all.len() > REMEMBERED {
            let oldest = self.all.pop_front();
            self.forgotten += usize::from(oldest.is_some_and(|test| test.summary().is_some()));
        }
    }
}

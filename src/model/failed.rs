//! [`Failed`]: an error for the user.

/// The line for the user, and the kernel's errno, if any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub struct Failed {
    line: String,
    errno: Option<i32>,
}

impl Failed {
    /// For this reason, with the errno if there is one.
    pub fn new(line: impl Into<String>, errno: Option<i32>) -> Self {
        Self { line: line.into(), errno }
    }

    /// Whether permissions are the reason (EACCES, EPERM).
    pub const fn is_refusal(&self) -> bool {
        matches!(self.errno, Some(libc::EACCES | libc::EPERM))
    }
}

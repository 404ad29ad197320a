//! A change to a file, and its outcome.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    actuator::write_for,
    device::{Device, Identity},
};
use crate::model::SettingId;

/// One value for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The device.
    pub device: Device,
    /// The device beyond its name of the day.
    pub identity: Identity,
    /// The setting.
    pub setting: SettingId,
    /// The file.
    pub file: String,
    /// The value before.
    pub from: String,
    /// The value to write.
    pub to: String,
}

/// The outcome of a write, by the value read back: a write that succeeds proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The file has the value.
    Accepted,
    /// The write succeeded, and the kernel made another value of it.
    Adjusted {
        /// The value read back.
        now: String,
    },
    /// The write succeeded, and another program has written to the file since.
    Changed {
        /// The value read back.
        now: String,
    },
    /// Repeated writes succeeded, and the file has its old value. The cause is unknown: the kernel ignores the value, or
    /// another program restores the old one at once.
    Ignored,
    /// The write succeeded, and the file could not be read since: it has the old value, the new one, or what the kernel made of it.
    Unread {
        /// `EIO: Input/output error`.
        error: String,
    },
    /// The kernel refused; the error in words.
    Refused {
        /// `EINVAL: Invalid argument`.
        error: String,
    },
}

impl Outcome {
    /// Whether the file kept its value.
    pub fn is_without_effect(&self) -> bool {
        matches!(self, Self::Ignored | Self::Refused { .. })
    }

    /// Whether what the file has now is not known.
    pub fn is_unread(&self) -> bool {
        matches!(self, Self::Unread { .. })
    }

    /// The outcome of a write that succeeded, from the old value, the one written and the one read back.
    pub fn read_back(from: &str, to: &str, now: &str) -> Self {
        if now == to {
            Self::Accepted
        } else if now == from {
            Self::Ignored
        } else {
            Self::Adjusted { now: now.to_owned() }
        }
    }
}

impl Change {
    /// The shell command for it.
    pub fn command(&self) -> String {
        command(&self.to, &self.file)
    }
}

/// The shell command that sets `file` to `value`.
pub fn command(value: &str, file: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let (file, text) = write_for(file, value);
    format!("echo {} | sudo tee {}", quoted(&text), quoted(&file))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Adjusted { now } => write!(f, "adjusted by the kernel to {now}"),
            Self::Changed { now } => write!(f, "changed by another program to {now}"),
            Self::Ignored => f.write_str("no effect: the value is unchanged"),
            Self::Unread { error } => {
                write!(f, "written, then unreadable ({error}): `iodyno tune undo` restores it")
            }
            Self::Refused { error } => write!(f, "refused ({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_back_decides() {
        assert_eq!(Outcome::read_back("none", "mq-deadline", "mq-deadline"), Outcome::Accepted);
        assert_eq!(Outcome::read_back("1", "7", "1"), Outcome::Ignored);
        assert_eq!(
            Outcome::read_back("128", "99999999", "99999996"),
            Outcome::Adjusted { now: "99999996".into() }
        );
        assert_eq!(Outcome::read_back("1", "1", "1"), Outcome::Accepted);
    }
}

//! A change to a file, and what became of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    actuator::write_for,
    device::{Device, Identity},
};
use crate::model::SettingId;

/// One value to be written to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is changed on.
    pub device: Device,
    /// Who that is.
    pub identity: Identity,
    /// Which setting.
    pub setting: SettingId,
    /// The file.
    pub file: String,
    /// The value before.
    pub from: String,
    /// The value asked for.
    pub to: String,
}

/// What became of a write: a successful one proves nothing, so it is what was read back that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The file now shows what was asked.
    Accepted,
    /// The write succeeded and the file shows something else than before and than asked.
    Adjusted {
        /// What it shows.
        now: String,
    },
    /// The write succeeded, and another program has written to the file since: it shows a value that the kernel does not
    /// make of the one asked for, or had that one for a moment.
    Changed {
        /// What it shows.
        now: String,
    },
    /// The write succeeded, again and again, and the file shows what it showed before. Why is not known: kernels pass over
    /// values, and a program that is quick enough looks the same.
    Ignored,
    /// The kernel refused; the error in words.
    Refused {
        /// `EINVAL: Invalid argument`.
        error: String,
    },
}

impl Outcome {
    /// From what was there, what was asked and what was read back after a write that succeeded.
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
    /// The shell command that makes it.
    pub fn command(&self) -> String {
        command(&self.to, &self.file)
    }
}

/// The shell command that makes the setting `file` read `value`.
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

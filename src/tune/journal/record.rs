//! The lines of the journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tune::{change::Outcome, device::Identity};

/// The purpose of a session; decides over its changes when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The screen: the next start offers the undo.
    Screen,
    /// `iodyno tune set`: ends as kept.
    Command,
    /// An experiment: undone at the next start without asking.
    Experiment,
}

/// A file whose value the kernel changes along with a setting, and its value before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affected {
    /// The setting it belongs to.
    pub setting: String,
    /// The file.
    pub file: String,
    /// Its value when it was recorded.
    pub value: String,
    /// What the kernel may make of it; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub becomes: Vec<String>,
}

/// The measured gain of a change, for exported rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gain {
    /// The device.
    pub device: Identity,
    /// Which setting.
    pub setting: String,
    /// The value it was compared with.
    pub old: String,
    /// The value it was measured for.
    pub new: String,
    /// One line: the gain, its confidence, the experiment.
    pub words: String,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "event")]
pub enum Event {
    /// A session began.
    Open {
        /// Its purpose.
        purpose: Purpose,
        /// Its process.
        pid: u32,
    },
    /// A file is about to be written.
    Change {
        /// The device.
        device: Identity,
        /// The setting.
        setting: String,
        /// The file.
        file: String,
        /// The value before.
        old: String,
        /// The value to write.
        new: String,
        /// Files that the kernel will change along with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        affected: Vec<Affected>,
        /// It is a number of requests that is the number of the queue's tags: the queue has no scheduler.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tags: bool,
        /// The queue's scheduler, of a number of requests; a journal of an earlier release has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// It is a step of an undo, which leaves nothing to undo itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
        /// What it finds was set by sessions that a shortened journal leaves out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follows: bool,
    },
    /// The tunables of a queue's scheduler, before a change of that scheduler or its requests is recorded, or after it is made.
    Tunables {
        /// The device.
        device: Identity,
        /// The file that changes.
        file: String,
        /// The queue's scheduler.
        scheduler: String,
        /// Its tunables.
        values: BTreeMap<String, String>,
        /// They are those after the change.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        after: bool,
    },
    /// The outcome of the last change to that file.
    Result {
        /// The file.
        file: String,
        /// The outcome.
        #[serde(flatten)]
        outcome: Outcome,
        /// Files changed along with it, with their new values.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        affected: Vec<Affected>,
    },
    /// A file was restored to the value before this session, or before all.
    Undone {
        /// The file as it was named in the change.
        file: String,
        /// The restored value.
        value: String,
        /// The sessions whose change of it is undone; empty for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<String>,
    },
    /// An undo could not restore a file.
    Left {
        /// The device.
        device: Identity,
        /// The setting.
        setting: String,
        /// The file as it was named in the change.
        file: String,
        /// The value to restore.
        value: String,
        /// The value that the undo left.
        now: String,
    },
    /// The measured gain of a change.
    Measured(Gain),
    /// The session's changes stay: of these files, or of all if there are none.
    Keep {
        /// The files, as they were named in the change.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    /// The session ended.
    Close,
}

impl Event {
    /// The file that it is about.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Change { file, .. }
            | Self::Result { file, .. }
            | Self::Undone { file, .. }
            | Self::Left { file, .. }
            | Self::Tunables { file, .. } => Some(file),
            Self::Open { .. } | Self::Measured(_) | Self::Keep { .. } | Self::Close => None,
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Unix time, milliseconds.
    pub time: i64,
    /// Id of its boot (`/proc/sys/kernel/random/boot_id`): values do not survive a reboot.
    pub boot: String,
    /// The session.
    pub session: String,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

//! Messages of the nvme driver in the kernel log.

use std::{collections::BTreeMap, time::Duration};

use crate::text::Label;

/// One line of the kernel log about a timeout or reset of an NVMe controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverMessage {
    /// Controller name: `nvme0`.
    pub controller: Label,
    /// Its kind.
    pub kind: MessageKind,
    /// Time of the kernel log, about the time since boot; unknown where a text has none.
    pub at: Option<Duration>,
    /// The words behind the controller's name.
    pub text: Label,
}

/// What a [`DriverMessage`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// A command did not complete in time.
    Timeout,
    /// The controller answers no more (`controller is down; will reset`).
    Down,
    /// A reset failed; the drive is gone.
    Failed,
    /// The driver resets the controller after an error.
    Reset,
}

impl DriverMessage {
    /// Messages that are kept, the newest ones.
    pub(crate) const MOST: usize = 256;

    /// Time, controller and words, by which an opened text finds its line.
    pub(crate) fn words(&self) -> String {
        let at = self.at.map_or_else(String::new, |at| format!("{} ", at.as_micros()));
        format!("{at}{}: {}", self.controller, self.text)
    }
}

impl MessageKind {
    /// Its noun, one and several.
    const fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Self::Timeout => ("timeout", "timeouts"),
            Self::Down => ("reset after controller down", "resets after controller down"),
            Self::Failed => ("failed reset", "failed resets"),
            Self::Reset => ("reset", "resets"),
        }
    }
}

/// How many messages of each kind there are: `2 timeouts, 1 reset`; empty without one. `is_cut`: the log had more than were kept.
pub(crate) fn summary<'a>(messages: impl IntoIterator<Item = &'a DriverMessage>, is_cut: bool) -> String {
    let least = if is_cut { "at least " } else { "" };
    let mut counts: BTreeMap<MessageKind, usize> = BTreeMap::new();
    for message in messages {
        *counts.entry(message.kind).or_default() += 1;
    }
    let words = counts.into_iter().map(|(kind, count)| match (count, kind.nouns()) {
        (1, (one, _)) => format!("{least}1 {one}"),
        (count, (_, many)) => format!("{least}{count} {many}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

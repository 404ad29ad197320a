//! Records of a journal that a test plants.

use std::fs;

use iodyno::tune::{
    Identity,
    journal::{Event, Record},
};

/// Identifier of this boot.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned()
}

/// A record of this boot.
pub fn record(session: &str, event: Event) -> Record {
    Record { time: 1, boot: boot(), session: session.to_owned(), event }
}

/// A change of a setting.
pub fn change(device: Identity, setting: &str, file: &str, old: &str, new: &str) -> Event {
    let (setting, file) = (setting.to_owned(), file.to_owned());
    let (old, new) = (old.to_owned(), new.to_owned());
    Event::Change {
        device,
        setting,
        file,
        old,
        new,
        affected: Vec::new(),
        tags: false,
        undo: false,
        host: None,
        follows: false,
    }
}

/// A device of which the name alone is known.
pub fn named(name: &str) -> Identity {
    Identity { name: name.to_owned(), ..Identity::default() }
}

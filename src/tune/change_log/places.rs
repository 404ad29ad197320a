//! [`Places`]: finds entries by file and session, since a journal may have 100 000 of them.

use std::collections::{BTreeSet, HashMap};

use super::Entry;

/// Places of entries.
#[derive(Debug, Default)]
pub(super) struct Places {
    of_file: HashMap<String, usize>,
    /// Entries that a session has opened; it may have closed some since.
    of_session: HashMap<String, BTreeSet<usize>>,
    /// Pairs: an entry that may change along, and the one that it changes along with.
    along: BTreeSet<(usize, usize)>,
    /// All unsure entries; others may be among them.
    unsure: BTreeSet<usize>,
}

impl Places {
    pub(super) fn of(&self, file: &str) -> Option<usize> {
        self.of_file.get(file).copied()
    }

    pub(super) fn add(&mut self, file: &str, place: usize) {
        self.of_file.insert(file.to_owned(), place);
    }

    pub(super) fn open_for(&mut self, session: &str, place: usize) {
        match self.of_session.get_mut(session) {
            Some(places) => drop(places.insert(place)),
            None => drop(self.of_session.insert(session.to_owned(), BTreeSet::from([place]))),
        }
    }

    /// The entries that a session has opened, which closes them.
    pub(super) fn take_session(&mut self, session: &str) -> BTreeSet<usize> {
        self.of_session.remove(session).unwrap_or_default()
    }

    /// Adds the file to those that may change along with the entry.
    pub(super) fn add_along(&mut self, entry: &mut Entry, file: &str) {
        let pair = self.of(file).zip(self.of(&entry.file));
        if pair.is_some_and(|pair| self.along.insert(pair)) {
            entry.with.push(file.to_owned());
        }
    }

    /// Forgets what may change along with the entry.
    pub(super) fn forget_along(&mut self, entry: &Entry) {
        let Self { of_file, along, .. } = self;
        let Some(place) = of_file.get(&entry.file) else { return };
        for other in entry.with.iter().filter_map(|file| of_file.get(file)) {
            along.remove(&(*other, *place));
        }
    }

    /// The entries that this one may change along with, in their order.
    pub(super) fn hosts(&self, place: usize) -> impl Iterator<Item = usize> {
        self.along.range((place, 0)..=(place, usize::MAX)).map(|(_, host)| *host)
    }

    pub(super) fn add_unsure(&mut self, file: &str) {
        self.unsure.extend(self.of_file.get(file));
    }

    /// The unsure entries that may have changed along with this one, which are sure from now on.
    pub(super) fn take_unsure(&mut self, place: usize, entry: &Entry) -> Vec<usize> {
        let unsure: Vec<usize> = if entry.with.len() < self.unsure.len() {
            entry.with.iter().filter_map(|file| self.of(file)).collect()
        } else {
            let is_along = |other: &&usize| self.along.contains(&(**other, place));
            self.unsure.iter().filter(is_along).copied().collect()
        };
        unsure.into_iter().filter(|other| self.unsure.remove(other)).collect()
    }
}

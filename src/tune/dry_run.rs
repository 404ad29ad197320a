//! [`DryRun`]: an actuator that writes nothing, so that an undo shows its writes and results before it is made.

use std::{cell::RefCell, collections::BTreeMap, io};

use super::{actuator::Actuator, resets::becoming, settings::find, tags, tunables};

/// Answers as the kernel would after the writes so far.
pub struct DryRun<'a> {
    actuator: &'a dyn Actuator,
    /// The values written, and those that the kernel would change along with them; an unknown one is empty.
    files: RefCell<BTreeMap<String, String>>,
    /// In order: the file and its value.
    writes: RefCell<Vec<(String, String)>>,
}

impl<'a> DryRun<'a> {
    /// Of the files of this actuator, which is only read.
    pub fn new(actuator: &'a dyn Actuator) -> Self {
        Self { actuator, files: RefCell::default(), writes: RefCell::default() }
    }

    /// The writes that the kernel would take, in order: the file and its value.
    pub fn writes(self) -> Vec<(String, String)> {
        self.writes.into_inner()
    }
}

impl Actuator for DryRun<'_> {
    fn read(&self, file: &str) -> io::Result<String> {
        let written = self.files.borrow().get(file).cloned();
        // Which tunables a scheduler begins with is not known.
        let is_begun = tunables::host_of(file).is_some_and(|queue| {
            self.writes.borrow().iter().any(|(file, _)| tunables::queue_of(file) == Some(queue))
        });
        written.map_or_else(|| if is_begun { Ok(String::new()) } else { self.actuator.read(file) }, Ok)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.actuator.names(folder)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        self.read(file)?;
        if tags::are_too_many(self, file, value) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let (folder, id) = file.rsplit_once('/').unwrap_or_default();
        for other in find(id).map_or(&[][..], |row| row.also) {
            let beside = format!("{folder}/{}", other.0);
            if self.actuator.read(&beside).is_ok() {
                let becomes = becoming(self, id, value, &beside);
                self.files.borrow_mut().insert(beside, becomes.into_iter().next().unwrap_or_default());
            }
        }
        self.files.borrow_mut().insert(file.to_owned(), value.to_owned());
        self.writes.borrow_mut().push((file.to_owned(), value.to_owned()));
        Ok(())
    }
}

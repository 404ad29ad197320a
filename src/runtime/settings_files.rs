//! [`SettingsFiles`]: whether another program has changed a setting, by the files alone, while settings are shown.

use std::collections::BTreeMap;

use crate::{machine::Machine, source::SysRoot, tune::settings::readings};

/// The files of a machine's settings, with their contents at the last look.
pub(super) struct SettingsFiles {
    contents: BTreeMap<String, Vec<u8>>,
    buffer: Vec<u8>,
}

impl SettingsFiles {
    /// `before` has the contents before this machine was read: what changes while it is read is seen at the next look.
    pub(super) fn of(machine: &Machine, root: &dyn SysRoot, before: Option<Self>) -> Self {
        let readings = readings(machine).filter(|reading| reading.value().is_some());
        let mut files = Self {
            contents: readings.map(|reading| (reading.path().to_string(), Vec::new())).collect(),
            buffer: Vec::new(),
        };
        files.have_changed(root);
        for (path, content) in before.map(|files| files.contents).unwrap_or_default() {
            files.contents.entry(path).and_modify(|now| *now = content);
        }
        files
    }

    /// Whether any of them has changed since the last look.
    pub(super) fn have_changed(&mut self, root: &dyn SysRoot) -> bool {
        let mut any = false;
        for (path, content) in &mut self.contents {
            if root.read_into(path, &mut self.buffer).is_err() {
                self.buffer.clear();
            }
            if *content != self.buffer {
                std::mem::swap(content, &mut self.buffer);
                any = true;
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        runtime::demo_root::{self, DemoRoot},
        source::{self, origin::Origin},
        tune::Actuator,
    };

    #[test]
    fn a_change_while_the_machine_is_read_is_seen_at_the_next_look() {
        let demo = Origin::Demo("laptop".to_owned()).open().unwrap();
        let machine = source::read_machine(&*demo).0;
        let kernel = Arc::new(demo_root::kernel(&*demo, &machine));
        let root = DemoRoot::new(demo, Arc::clone(&kernel));
        let mut files = SettingsFiles::of(&machine, &root, None);
        assert!(!files.have_changed(&root));
        // Another program writes behind the reader.
        kernel.write(&machine.drives[0].queue.nomerges.path(), "1").unwrap();
        let mut files = SettingsFiles::of(&machine, &root, Some(files));
        assert!(files.have_changed(&root));
        assert!(!files.have_changed(&root));
    }
}

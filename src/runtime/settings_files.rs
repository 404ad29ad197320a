//! [`SettingsFiles`]: whether another program has changed a setting, by the files alone: all while settings are shown, those that
//! switch counters at every look.

use std::collections::BTreeMap;

use crate::{machine::Machine, source::SysRoot, tune::settings::readings};

/// The file that switches a queue's counters.
const IOSTATS: &str = "/queue/iostats";

/// The files of a machine's settings, with their contents at the last look.
pub(super) struct SettingsFiles {
    contents: BTreeMap<String, Vec<u8>>,
    buffer: Vec<u8>,
}

impl SettingsFiles {
    /// `before` has the contents before this machine was read: what changes while it is read is seen at the next look.
    pub(super) fn of(machine: &Machine, root: &dyn SysRoot, before: Option<Self>) -> Self {
        Self::of_paths(paths(machine), root, before)
    }

    /// Those whose change switches counters: without them a drive's rates would stay at 0.
    pub(super) fn of_counters(machine: &Machine, root: &dyn SysRoot, before: Option<Self>) -> Self {
        Self::of_paths(paths(machine).filter(|path| path.ends_with(IOSTATS)), root, before)
    }

    fn of_paths(paths: impl Iterator<Item = String>, root: &dyn SysRoot, before: Option<Self>) -> Self {
        let contents = paths.map(|path| (path, Vec::new())).collect();
        let mut files = Self { contents, buffer: Vec::new() };
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

fn paths(machine: &Machine) -> impl Iterator<Item = String> {
    readings(machine).filter(|reading| reading.value().is_some()).map(|reading| reading.path().to_string())
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

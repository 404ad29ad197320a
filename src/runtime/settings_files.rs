//! [`SettingsFiles`]: whether another program has changed a setting, by the files alone, while settings are shown.

use std::collections::BTreeMap;

use crate::{
    machine::Machine,
    source::SysRoot,
    tune::{Device, SETTINGS},
};

/// The files of a machine's settings, with their contents at the last look.
pub(super) struct SettingsFiles {
    contents: BTreeMap<String, Vec<u8>>,
    buffer: Vec<u8>,
}

impl SettingsFiles {
    pub(super) fn of(machine: &Machine, root: &dyn SysRoot) -> Self {
        let drives = machine.drives.iter().map(|drive| Device::Drive(drive.name.clone()));
        let devices: Vec<Device> = drives.chain([Device::Cpu]).collect();
        let readings = devices
            .iter()
            .flat_map(|device| SETTINGS.iter().flat_map(|row| (row.read)(machine, device)))
            .filter(|reading| reading.value().is_some());
        let mut files = Self {
            contents: readings.map(|reading| (reading.path().to_string(), Vec::new())).collect(),
            buffer: Vec::new(),
        };
        files.have_changed(root);
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

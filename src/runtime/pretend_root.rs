//! [`PretendRoot`]: a demo's files with the settings changed over them, so that its machine is read again as a live one
//! would be.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    machine::Machine,
    source::{SysRoot, root::RootError},
    tune::{Device, SETTINGS, pretend::Pretend},
};

/// A root whose settings are those of a pretended kernel.
pub struct PretendRoot {
    inner: Arc<dyn SysRoot>,
    kernel: Arc<Pretend>,
}

impl PretendRoot {
    /// Over `inner`.
    pub fn new(inner: Arc<dyn SysRoot>, kernel: Arc<Pretend>) -> Self {
        Self { inner, kernel }
    }
}

/// The kernel of a demo: its settings as they were captured.
pub fn kernel(root: &dyn SysRoot, machine: &Machine) -> Pretend {
    let drives = machine.drives.iter().map(|drive| Device::Drive(drive.name.clone()));
    let devices: Vec<Device> = drives.chain([Device::Cpu]).collect();
    let readings =
        SETTINGS.iter().flat_map(|row| devices.iter().flat_map(|device| (row.read)(machine, device)));
    let files: BTreeMap<String, String> = readings
        .filter_map(|reading| {
            let content = root.read(reading.path()).ok()?;
            Some((reading.path().to_string(), String::from_utf8_lossy(&content).trim().to_owned()))
        })
        .collect();
    Pretend::new(files)
}

impl SysRoot for PretendRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        match self.kernel.content(path) {
            Some(content) => Ok(content.into_bytes()),
            None => self.inner.read(path),
        }
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        self.inner.read_start(path, most)
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.inner.link(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.inner.list(path)
    }
}

//! A loop device on a file of the test's own, with its queue settings put back: they outlive its detaching.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
    process::Command,
};

use tempfile::TempDir;

/// Attached until dropped.
pub struct LoopDevice {
    /// Kernel name: `loop3`.
    pub name: String,
    _folder: TempDir,
    settings: BTreeMap<String, String>,
}

/// Files of `queue/` that can be written and read back.
const SETTINGS: [&str; 9] = [
    "scheduler",
    "read_ahead_kb",
    "nr_requests",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "iostats",
    "add_random",
];

impl LoopDevice {
    /// A device of `bytes` zeros, or `None` with a line that says why there is none.
    pub fn new(bytes: u64) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: loop devices need root");
            return None;
        }
        let folder = tempfile::tempdir().ok()?;
        let backing = folder.path().join("backing");
        File::create(&backing).and_then(|file| file.set_len(bytes)).ok()?;
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output();
        let output = match output {
            Ok(output) if output.status.success() => output,
            other => {
                println!("skipped: losetup gave no loop device: {other:?}");
                return None;
            }
        };
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let name = device.trim_start_matches("/dev/").to_owned();
        let mut made = Self { name, _folder: folder, settings: BTreeMap::new() };
        made.settings = made.read_settings();
        Some(made)
    }

    /// `/dev/loop3`.
    pub fn device(&self) -> PathBuf {
        PathBuf::from(format!("/dev/{}", self.name))
    }

    /// A setting's value now, the bracketed word where the file offers several.
    pub fn setting(&self, name: &str) -> Option<String> {
        let content = fs::read_to_string(self.path(name)).ok()?;
        let bracketed =
            content.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
        Some(bracketed.unwrap_or(content.trim()).to_owned())
    }

    /// All settings now.
    pub fn read_settings(&self) -> BTreeMap<String, String> {
        SETTINGS.iter().filter_map(|name| Some(((*name).to_owned(), self.setting(name)?))).collect()
    }

    /// Writes a setting behind iodyno's back.
    #[allow(dead_code, reason = "not every test plays the stranger")]
    pub fn write(&self, name: &str, value: &str) {
        fs::write(self.path(name), value).expect("settings can be written");
    }

    fn path(&self, name: &str) -> String {
        format!("/sys/block/{}/queue/{name}", self.name)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // The scheduler first: it resets others.
        for name in SETTINGS {
            if let Some(value) = self.settings.get(name)
                && self.setting(name).as_ref() != Some(value)
            {
                let _best_effort = fs::write(self.path(name), value);
            }
        }
        let _best_effort = Command::new("losetup").arg("--detach").arg(self.device()).status();
    }
}

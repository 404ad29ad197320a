//! A loop device on a file of the test's own, with its queue settings put back: they outlive its detaching. And a zram
//! device of the test's own, which has fewer settings.

#[path = "skip.rs"]
pub mod skip;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    ops::Deref,
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

use skip::skipped;
use tempfile::TempDir;

/// Held while a device is attached: a name that was free a moment ago belongs to nobody else.
static ATTACHING: Mutex<()> = Mutex::new(());

/// A device's files of settings.
pub struct Queue {
    /// Kernel name: `loop3`.
    pub name: String,
    /// As it was found.
    found: BTreeMap<String, String>,
}

/// Attached until dropped.
pub struct LoopDevice {
    queue: Queue,
    folder: TempDir,
}

/// There until dropped.
pub struct ZramDevice {
    queue: Queue,
}

/// Files of `queue/` that can be written and read back.
const SETTINGS: [&str; 10] = [
    "scheduler",
    "read_ahead_kb",
    "nr_requests",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "iostats",
    "add_random",
    "iostats_passthrough",
];

impl LoopDevice {
    /// A device of `bytes` zeros, or `None` with a line that says why there is none.
    pub fn new(bytes: u64) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("loop devices need root");
            return None;
        }
        let folder = tempfile::tempdir().ok()?;
        let backing = folder.path().join("backing");
        File::create(&backing).and_then(|file| file.set_len(bytes)).ok()?;
        let _held = ATTACHING.lock().unwrap_or_else(PoisonError::into_inner);
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&backing).output();
        let output = match output {
            Ok(output) if output.status.success() => output,
            other => {
                skipped(format_args!("losetup gave no loop device: {other:?}"));
                return None;
            }
        };
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let queue = Queue::of(device.trim_start_matches("/dev/").to_owned());
        queue.begin_with_defaults();
        Some(Self { queue, folder })
    }

    /// Detaches the file, does `between`, and attaches another of `bytes` under the same name, with another `diskseq`.
    #[allow(dead_code, reason = "not every test needs it")]
    pub fn attach_another(&self, bytes: u64, between: impl FnOnce()) {
        let other = self.folder.path().join("other");
        File::create(&other).and_then(|file| file.set_len(bytes)).expect("a file can be made");
        let _held = ATTACHING.lock().unwrap_or_else(PoisonError::into_inner);
        let losetup = |first: OsString, second: OsString| {
            let status = Command::new("losetup").args([first, second]).status().expect("losetup runs");
            assert!(status.success(), "the loop device is attached anew");
        };
        losetup("--detach".into(), self.device().into());
        between();
        losetup(self.device().into(), other.into());
    }
}

impl Deref for LoopDevice {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl Deref for ZramDevice {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.queue.put_back();
        let _best_effort = Command::new("losetup").arg("--detach").arg(self.device()).status();
    }
}

#[allow(dead_code, reason = "not every test needs one")]
impl ZramDevice {
    /// A new device of `bytes`, or `None` with a line that says why there is none.
    pub fn new(bytes: u64) -> Option<Self> {
        let made = fs::read_to_string("/sys/class/zram-control/hot_add");
        let number = match &made {
            Ok(number) => number.trim(),
            Err(error) => {
                skipped(format_args!("no zram device can be made: {error}"));
                return None;
            }
        };
        let made = Self { queue: Queue::of(format!("zram{number}")) };
        fs::write(format!("/sys/block/{}/disksize", made.name), bytes.to_string()).ok()?;
        Some(made)
    }
}

impl Drop for ZramDevice {
    fn drop(&mut self) {
        let number = self.name.trim_start_matches("zram").to_owned();
        let _best_effort = fs::write(format!("/sys/block/{}/reset", self.name), "1");
        let _best_effort = fs::write("/sys/class/zram-control/hot_remove", number);
    }
}

#[allow(dead_code, reason = "not every test does all of it")]
impl Queue {
    /// Settings outlive what was attached: what a test that was killed left is not what the next one finds.
    fn begin_with_defaults(&self) {
        let defaults = [("scheduler", "none"), ("nomerges", "0"), ("rq_affinity", "1"), ("iostats", "1")];
        for (setting, value) in defaults {
            let _best_effort = fs::write(self.path(setting), value);
        }
        self.resize_tags();
    }

    /// As many tags as `nr_requests` shows: see `iodyno::tune::tags`.
    fn resize_tags(&self) {
        for requests in ["127", "128"] {
            let _best_effort = fs::write(self.path("nr_requests"), requests);
        }
    }

    /// The tags of a loop device. Only debugfs shows them: it is mounted in a name space of its own. `None` where that fails.
    pub fn tags(&self) -> Option<u32> {
        let shown = "mount -t debugfs none /sys/kernel/debug && cat /sys/kernel/debug/block/$0/hctx0/tags";
        let shown = Command::new("unshare").args(["--mount", "sh", "-c", shown, &self.name]).output().ok()?;
        let shown = String::from_utf8_lossy(&shown.stdout);
        shown.lines().find_map(|line| line.strip_prefix("depth="))?.parse().ok()
    }

    fn of(name: String) -> Self {
        let mut queue = Self { name, found: BTreeMap::new() };
        queue.found = queue.read_settings();
        queue
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

    /// All settings now, the tunables of its scheduler among them.
    pub fn read_settings(&self) -> BTreeMap<String, String> {
        let tunables = fs::read_dir(self.path("iosched")).into_iter().flatten().flatten();
        let tunables = tunables.map(|entry| format!("iosched/{}", entry.file_name().display()));
        let names = SETTINGS.iter().map(|name| (*name).to_owned()).chain(tunables);
        names.filter_map(|name| Some((name.clone(), self.setting(&name)?))).collect()
    }

    /// Writes a setting behind iodyno's back.
    pub fn write(&self, name: &str, value: &str) {
        fs::write(self.path(name), value).expect("settings can be written");
    }

    fn path(&self, name: &str) -> String {
        format!("/sys/block/{}/queue/{name}", self.name)
    }

    fn put_back(&self) {
        // What a scheduler would hide.
        let _best_effort = fs::write(self.path("scheduler"), "none");
        self.resize_tags();
        // The scheduler first: it resets others.
        for name in SETTINGS {
            if let Some(value) = self.found.get(name)
                && self.setting(name).as_ref() != Some(value)
            {
                let _best_effort = fs::write(self.path(name), value);
            }
        }
    }
}

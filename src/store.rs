//! What is kept between starts: where, what tests measured of the machine, the latest runs and experiments.
//!
//! Here: the state folder, its file of measured limits and costs, which only ever grows, and its files of runs and of
//! experiments, which grow to a mebibyte and then become the older one. Not here: the journal of settings (`tune`), what
//! follows from a measurement (`capacity`), what a sheet leaves out of a run (`redact`).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    machine::Measured,
    model::{ExperimentRecord, RunRecord},
    text::Label,
};

/// The state folder: `IODYNO_STATE_DIR`, else /var/lib/iodyno for root, else the user's XDG state folder.
pub fn state_folder(root: bool, variable: impl Fn(&str) -> Option<String>) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| value.starts_with('/')).map(PathBuf::from);
    if let Some(folder) = set("IODYNO_STATE_DIR") {
        return folder;
    }
    if root {
        return PathBuf::from("/var/lib/iodyno");
    }
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/tmp")).join("iodyno")
}

/// This process' state folder.
pub fn folder() -> PathBuf {
    state_folder(rustix::process::geteuid().is_root(), |name| std::env::var(name).ok())
}

/// The file of measured limits in a state folder, a line each ([`Measured`]).
pub fn measured_limits(folder: &Path) -> PathBuf {
    folder.join("measured-limits")
}

/// Adds measured limits, synced before it returns.
pub fn remember(folder: &Path, limits: &[Measured]) -> io::Result<()> {
    if limits.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let mut lines: String = limits.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    lines.push('\n');
    let mut file = OpenOptions::new().append(true).create(true).mode(0o644).open(measured_limits(folder))?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Bytes of a file of runs, about two hundred of them; with more it becomes the older one, and that one goes.
const MOST: u64 = 1 << 20;

/// What is kept for sheets made later, a JSON document a line.
pub trait Kept: Serialize + DeserializeOwned {
    /// Its file in the state folder.
    const FILE: &'static str;

    /// The boot it belongs to.
    fn boot(&self) -> &Label;

    /// Whether it is that one again, after it went on.
    fn is_again(&self, _earlier: &Self) -> bool {
        false
    }
}

impl Kept for RunRecord {
    const FILE: &'static str = "runs";

    fn boot(&self) -> &Label {
        &self.boot
    }
}

impl Kept for ExperimentRecord {
    const FILE: &'static str = "experiments";

    fn boot(&self) -> &Label {
        &self.boot
    }

    fn is_again(&self, earlier: &Self) -> bool {
        self.started > 0 && self.started == earlier.started && self.name == earlier.name
    }
}

/// The file of the latest ones in a state folder.
pub fn file<T: Kept>(folder: &Path) -> PathBuf {
    folder.join(T::FILE)
}

fn older_file<T: Kept>(folder: &Path) -> PathBuf {
    folder.join(format!("{}.older", T::FILE))
}

/// Adds one. Paths of files that were read are in it, so nobody else may read the file.
pub fn keep<T: Kept>(folder: &Path, record: &T) -> io::Result<()> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    fs::create_dir_all(folder)?;
    let path = file::<T>(folder);
    let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
    if bytes > 0 && bytes + line.len() as u64 > MOST {
        fs::rename(&path, older_file::<T>(folder))?;
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The last ones of a boot.
#[derive(Debug, Clone, PartialEq)]
pub struct Recent<T> {
    /// The oldest first.
    pub kept: Vec<T>,
    /// How many lines of that boot another version of iodyno wrote, which this one does not understand.
    pub foreign: usize,
}

/// The last `most` of one boot. Lines torn by a kill are passed over.
pub fn recent<T: Kept>(folder: &Path, boot: &str, most: usize) -> io::Result<Recent<T>> {
    let mut found = Recent { kept: Vec::new(), foreign: 0 };
    for path in [older_file::<T>(folder), file::<T>(folder)] {
        let text = match File::open(path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(2 * MOST).read_to_end(&mut bytes)?;
                bytes
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in text.split(|byte| *byte == b'\n') {
            match parse::<T>(line) {
                Some(record) if !boot.is_empty() && *record.boot() == *boot => {
                    found.kept.retain(|earlier| !record.is_again(earlier));
                    found.kept.push(record);
                }
                None if !boot.is_empty() && boot_of(line).as_deref() == Some(boot) => found.foreign += 1,
                _ => {}
            }
        }
    }
    found.kept.drain(..found.kept.len().saturating_sub(most));
    Ok(found)
}

/// What a line holds; `None` for what is none.
pub fn parse<T: Kept>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// The boot that a line of whatever version says.
fn boot_of(line: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(value.get("boot")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Metric, Seconds, Workload, run::testing};

    fn record(boot: &str, bytes: u64) -> RunRecord {
        RunRecord {
            boot: Label::new(boot),
            run: testing::run(&["nvme0n1"], bytes, Workload::default()),
            expected: vec![None],
            seconds: Seconds::default(),
        }
    }

    fn experiment(started: i64, rounds: u32) -> ExperimentRecord {
        ExperimentRecord {
            boot: Label::new("now"),
            started,
            name: Label::new("own"),
            question: Label::new("Which?"),
            metric: Metric::Iops,
            baseline: Label::new("A"),
            targets: Vec::new(),
            options: Vec::new(),
            arms: Vec::new(),
            effects: Vec::new(),
            margin: 0.02,
            detectable: None,
            rounds,
            thrown_out: 0,
            thrown_out_because: Vec::new(),
            ended_because: None,
            rounds_needed: None,
            restored: true,
            simulated: false,
        }
    }

    /// The last runs of a boot.
    fn recent_runs(folder: &Path, boot: &str, most: usize) -> Vec<RunRecord> {
        recent(folder, boot, most).unwrap().kept
    }

    #[test]
    fn the_latest_runs_of_this_boot_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert_eq!(recent_runs(&state, "now", 5), []);
        keep(&state, &record("before", 1 << 20)).unwrap();
        for bytes in [1 << 21, 1 << 22, 1 << 23] {
            keep(&state, &record("now", bytes)).unwrap();
        }
        assert_eq!(recent_runs(&state, "now", 2), [record("now", 1 << 22), record("now", 1 << 23)]);
        assert_eq!(recent_runs(&state, "", 2), [], "of a boot that is not known nothing is known");
    }

    #[test]
    fn a_torn_line_is_passed_over_and_one_of_another_version_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        keep(state, &record("now", 1 << 21)).unwrap();
        let mut file = OpenOptions::new().append(true).open(file::<RunRecord>(state)).unwrap();
        file.write_all(b"{\"boot\":\"now\",\"run\":{}}\n{\"boot\":\"before\"}\n{\"boot\":\"now\",\"ru")
            .unwrap();
        let found = recent::<RunRecord>(state, "now", 9).unwrap();
        assert_eq!((found.kept.len(), found.foreign), (1, 1));
    }

    #[test]
    fn an_experiment_that_went_on_is_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        for (started, rounds) in [(100, 8), (200, 8), (100, 16)] {
            keep(folder.path(), &experiment(started, rounds)).unwrap();
        }
        let found = recent::<ExperimentRecord>(folder.path(), "now", 9).unwrap();
        assert_eq!(found.kept, [experiment(200, 8), experiment(100, 16)]);
    }

    #[test]
    fn the_files_of_runs_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3000 {
            keep(folder.path(), &record("now", 4096 * (number + 1))).unwrap();
        }
        let bytes = |path: PathBuf| fs::metadata(path).unwrap().len();
        let (new, old) = (file::<RunRecord>(folder.path()), older_file::<RunRecord>(folder.path()));
        assert!(bytes(new) <= MOST && bytes(old) <= MOST);
        assert_eq!(recent_runs(folder.path(), "now", 1), [record("now", 4096 * 3000)]);
    }

    proptest! {
        #[test]
        fn any_line_is_a_record_or_none(line in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(record) = parse::<RunRecord>(&line) {
                prop_assert!(serde_json::to_string(&record).is_ok());
            }
            if let Some(record) = parse::<ExperimentRecord>(&line) {
                prop_assert!(serde_json::to_string(&record).is_ok());
            }
        }
    }

    #[test]
    fn limits_are_added_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let limit = Measured::parse("0000:40 1022:1480 41200000000 8 drives").unwrap();
        remember(&state, &[]).unwrap();
        assert!(!state.exists(), "nothing learnt leaves nothing behind");
        remember(&state, std::slice::from_ref(&limit)).unwrap();
        remember(&state, std::slice::from_ref(&limit)).unwrap();
        let text = fs::read_to_string(measured_limits(&state)).unwrap();
        assert_eq!(text, format!("{limit}\n{limit}\n"));
    }

    #[test]
    fn the_state_folder_follows_root_and_xdg() {
        let none = |_: &str| None;
        assert_eq!(state_folder(true, none), Path::new("/var/lib/iodyno"));
        let home = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        assert_eq!(state_folder(false, home), Path::new("/home/u/.local/state/iodyno"));
        let set = |name: &str| (name == "IODYNO_STATE_DIR").then(|| "/x".to_owned());
        assert_eq!(state_folder(true, set), Path::new("/x"));
    }
}

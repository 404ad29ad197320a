//! What is kept between starts: where, what tests measured of the machine, the latest runs.
//!
//! Here: the state folder, its file of measured limits and costs, which only ever grows, and its file of runs, which grows
//! to a mebibyte and then becomes the older one. Not here: the journal of settings (`tune`), what follows from a
//! measurement (`capacity`), what a sheet leaves out of a run (`redact`).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::{machine::Measured, model::RunRecord};

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
const MOST_RUNS: u64 = 1 << 20;

/// The file of the latest runs in a state folder, a JSON document a line ([`RunRecord`]).
pub fn runs(folder: &Path) -> PathBuf {
    folder.join("runs")
}

fn older_runs(folder: &Path) -> PathBuf {
    folder.join("runs.older")
}

/// Adds a run. Paths of files that were read are in it, so nobody else may read the file.
pub fn keep_run(folder: &Path, record: &RunRecord) -> io::Result<()> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    fs::create_dir_all(folder)?;
    let path = runs(folder);
    let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
    if bytes > 0 && bytes + line.len() as u64 > MOST_RUNS {
        fs::rename(&path, older_runs(folder))?;
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The last `most` runs of one boot, the oldest first. Lines that are no run are passed over: an older iodyno wrote them,
/// or a kill tore them.
pub fn recent_runs(folder: &Path, boot: &str, most: usize) -> io::Result<Vec<RunRecord>> {
    let mut found = Vec::new();
    for path in [older_runs(folder), runs(folder)] {
        let text = match File::open(path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(2 * MOST_RUNS).read_to_end(&mut bytes)?;
                bytes
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let records = text.split(|byte| *byte == b'\n').filter_map(parse_run);
        found.extend(records.filter(|record| !boot.is_empty() && record.boot == *boot));
    }
    found.drain(..found.len().saturating_sub(most));
    Ok(found)
}

/// A run from its line; `None` for what is none.
pub fn parse_run(line: &[u8]) -> Option<RunRecord> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        model::{Seconds, Workload, run::testing},
        text::Label,
    };

    fn record(boot: &str, bytes: u64) -> RunRecord {
        RunRecord {
            boot: Label::new(boot),
            run: testing::run(&["nvme0n1"], bytes, Workload::default()),
            expected: vec![None],
            seconds: Seconds::default(),
        }
    }

    #[test]
    fn the_latest_runs_of_this_boot_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert_eq!(recent_runs(&state, "now", 5).unwrap(), []);
        keep_run(&state, &record("before", 1 << 20)).unwrap();
        for bytes in [1 << 21, 1 << 22, 1 << 23] {
            keep_run(&state, &record("now", bytes)).unwrap();
        }
        assert_eq!(recent_runs(&state, "now", 2).unwrap(), [record("now", 1 << 22), record("now", 1 << 23)]);
        assert_eq!(recent_runs(&state, "", 2).unwrap(), [], "of a boot that is not known nothing is known");
        let mut torn = OpenOptions::new().append(true).open(runs(&state)).unwrap();
        torn.write_all(b"{\"boot\":\"now\",\"ru").unwrap();
        assert_eq!(recent_runs(&state, "now", 9).unwrap().len(), 3, "a torn line is passed over");
    }

    #[test]
    fn the_files_of_runs_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3000 {
            keep_run(folder.path(), &record("now", 4096 * (number + 1))).unwrap();
        }
        let bytes = |path: PathBuf| fs::metadata(path).unwrap().len();
        assert!(bytes(runs(folder.path())) <= MOST_RUNS && bytes(older_runs(folder.path())) <= MOST_RUNS);
        let last = recent_runs(folder.path(), "now", 1).unwrap();
        assert_eq!(last, [record("now", 4096 * 3000)]);
    }

    proptest! {
        #[test]
        fn any_line_is_a_run_or_none(line in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(record) = parse_run(&line) {
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

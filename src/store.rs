//! The state folder's contents: measured limits and costs (append only), and the latest runs and experiments (rotated
//! at 1 MiB). The journal of settings is `tune`'s.

mod state_folder;

use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    machine::Measured,
    model::{Choice, ExperimentRecord, RunRecord},
    text::Label,
};

pub(crate) use state_folder::{EXCLUSIVE, StateFolder, wait_for_lock};

/// The process that needs a state folder.
pub(crate) struct Caller<'a> {
    /// Effective user id.
    pub user: u32,
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Owner of a path; `None` if it does not exist.
    pub owner: &'a dyn Fn(&Path) -> Option<u32>,
    /// The user's home in the password database.
    pub home: &'a dyn Fn(u32) -> Option<PathBuf>,
    /// An absolute path for one relative to the current folder; `None` if that is unknown.
    pub absolute: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// The chosen state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The folder; empty if there is none, see [`StateFolder::make`].
    pub folder: PathBuf,
    /// Why a folder of the environment is ignored.
    pub passed_over: Option<String>,
}

impl Caller<'_> {
    /// Whether a path of the environment may be used: under sudo, doas and pkexec only if it belongs to the effective user or
    /// root. The owner of a missing path is that of the folder above.
    pub(crate) fn is_trusted(&self, path: &Path) -> bool {
        self.foreign(path).is_none()
    }

    /// The other user that a path belongs to.
    fn foreign(&self, path: &Path) -> Option<u32> {
        let lent = LENT.iter().any(|name| (self.variable)(name).is_some());
        let owner = path.ancestors().find_map(self.owner)?;
        (lent && owner != self.user && owner != 0).then_some(owner)
    }
}

const STATE_DIR: &str = "IODYNO_STATE_DIR";

/// Set by sudo and similar programs, which may keep the environment of the calling user.
const LENT: [&str; 3] = ["SUDO_UID", "DOAS_USER", "PKEXEC_UID"];

/// The state folder: `IODYNO_STATE_DIR`, else /var/lib/iodyno for root, else `iodyno` in `XDG_STATE_HOME`, else in
/// `.local/state` of `HOME` or of the user's home in the password database. Never a folder in /tmp, whose name others could
/// take first.
///
/// Under sudo, doas and pkexec the environment may be the caller's: its folder is used only if it belongs to the effective
/// user or root, else that user's own. The owner of a missing folder is that of the folder above.
pub(crate) fn state_folder(caller: &Caller<'_>) -> Chosen {
    let mut passed_over = None;
    let mut set = |name: &str| {
        let value = (caller.variable)(name).filter(|value| !value.is_empty())?;
        let path = PathBuf::from(value);
        // The XDG specification has relative paths ignored.
        let path =
            if path.is_absolute() { path } else { (caller.absolute)(&path).filter(|_| name == STATE_DIR)? };
        let Some(owner) = caller.foreign(&path) else { return Some(path) };
        passed_over =
            Some(format!("{name}: {} belongs to user {owner}, not to user {}", path.display(), caller.user));
        None
    };
    let folder = set(STATE_DIR).unwrap_or_else(|| {
        if caller.user == 0 {
            return PathBuf::from("/var/lib/iodyno");
        }
        let below = |home: PathBuf| home.join(".local/state");
        let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(below));
        state
            .or_else(|| (caller.home)(caller.user).map(below))
            .map_or_else(PathBuf::new, |state| state.join("iodyno"))
    });
    let used = if folder.as_os_str().is_empty() { "none".to_owned() } else { folder.display().to_string() };
    let passed_over = passed_over.map(|why| format!("{why}; using {used}"));
    Chosen { folder, passed_over }
}

fn chosen() -> Chosen {
    with_caller(state_folder)
}

/// Hands this process to a rule.
pub(crate) fn with_caller<T>(rule: impl FnOnce(&Caller<'_>) -> T) -> T {
    rule(&Caller {
        user: rustix::process::geteuid().as_raw(),
        variable: &|name| std::env::var_os(name),
        owner: &|path| fs::symlink_metadata(path).ok().map(|metadata| metadata.uid()),
        home: &|user| home_of(&fs::read_to_string("/etc/passwd").ok()?, user),
        absolute: &|path| std::path::absolute(path).ok(),
    })
}

/// The home directory field of passwd(5).
fn home_of(passwd: &str, user: u32) -> Option<PathBuf> {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let own = passwd.lines().map(fields).find(|fields| fields.get(2) == Some(&user.to_string()))?;
    own.get(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
}

/// The state folder of this process.
pub(crate) fn folder() -> PathBuf {
    chosen().folder
}

/// Why a folder of the environment is ignored: under sudo it may belong to another user.
pub(crate) fn passed_over() -> Option<String> {
    chosen().passed_over
}

const MEASURED_LIMITS: &str = "measured-limits";

/// The file of measured limits in a state folder, a line each ([`Measured`]).
pub fn measured_limits(folder: &Path) -> PathBuf {
    folder.join(MEASURED_LIMITS)
}

/// The file's content, if it exists.
pub(crate) fn remembered(folder: &Path) -> io::Result<Option<Vec<u8>>> {
    content(StateFolder::open(folder)?.as_ref(), MEASURED_LIMITS, 16 * MOST)
}

/// Adds measured limits, synced before it returns.
pub fn remember(folder: &Path, limits: &[Measured]) -> io::Result<()> {
    if limits.is_empty() {
        return Ok(());
    }
    let mut lines: String = limits.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    lines.push('\n');
    let mut file = StateFolder::make(folder)?.append(MEASURED_LIMITS)?;
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// A choice of the user, one line; `None` if never made.
pub(crate) fn choice(folder: &Path, choice: Choice) -> io::Result<Option<String>> {
    let bytes = content(StateFolder::open(folder)?.as_ref(), choice.word(), 4096)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned()))
}

/// Stores it in place of an earlier one: the file is written beside its name and renamed.
pub(crate) fn keep_choice(folder: &Path, choice: Choice, line: &str) -> io::Result<()> {
    let folder = StateFolder::make(folder)?;
    let new = format!("{}.{}", choice.word(), std::process::id());
    // Of a start that was killed while it wrote.
    let _ = folder.remove(&new);
    let mut file = folder.new_file(&new)?;
    writeln!(file, "{line}")?;
    file.sync_data()?;
    folder.rename(&new, choice.word())
}

/// A file of the folder, its first `most` bytes.
fn content(folder: Option<&StateFolder>, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = folder.map(|folder| folder.read(name)).transpose()?.flatten() else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Maximum bytes of a file of records, about two hundred runs; a full one is rotated.
const MOST: u64 = 1 << 20;

/// A record for later sheets, one JSON document per line.
pub trait Kept: Serialize + DeserializeOwned {
    /// File name in the state folder.
    const FILE: &'static str;

    /// The boot it belongs to.
    fn boot(&self) -> &Label;

    /// Its line in the file.
    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Whether it continues the earlier record.
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

    /// Without the samples: those of an hour would fill a quarter of the file, and runs that count are in the arms.
    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Self { samples: Vec::new(), ..self.clone() })
    }

    fn is_again(&self, earlier: &Self) -> bool {
        self.started > 0 && self.started == earlier.started && self.name == earlier.name
    }
}

/// The file of records in a state folder.
pub fn file<T: Kept>(folder: &Path) -> PathBuf {
    folder.join(T::FILE)
}

/// The rotated file.
fn older_file<T: Kept>() -> String {
    format!("{}.older", T::FILE)
}

/// Appends a record. It contains paths, so the file is readable by its user only.
pub fn keep<T: Kept>(folder: &Path, record: &T) -> io::Result<()> {
    let mut line = record.line()?;
    line.push('\n');
    let folder = StateFolder::make(folder)?;
    let mut file = folder.append(T::FILE)?;
    let bytes = file.metadata()?.len();
    if bytes > 0 && bytes + line.len() as u64 > MOST {
        folder.rename(T::FILE, &older_file::<T>())?;
        file = folder.append(T::FILE)?;
    }
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The last records of a boot.
#[derive(Debug, Clone, PartialEq)]
pub struct Recent<T> {
    /// The oldest first.
    pub kept: Vec<T>,
    /// Number of lines of that boot that this version cannot parse.
    pub foreign: usize,
}

/// The last `most` records of one boot. Truncated lines are skipped.
pub fn recent<T: Kept>(folder: &Path, boot: &str, most: usize) -> io::Result<Recent<T>> {
    let mut found = Recent { kept: Vec::new(), foreign: 0 };
    let folder = StateFolder::open(folder)?;
    for name in [older_file::<T>(), T::FILE.to_owned()] {
        let Some(text) = content(folder.as_ref(), &name, 2 * MOST)? else { continue };
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

/// Parses a line; `None` if it is malformed.
pub fn parse<T: Kept>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// The boot id of a line of any version.
fn boot_of(line: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    Some(value.get("boot")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_choice_is_replaced_whole_and_a_folder_without_one_has_none() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().join("state");
        assert_eq!(choice(&folder, Choice::Columns).unwrap(), None);
        keep_choice(&folder, Choice::Columns, "link +read -write and a longer line").unwrap();
        keep_choice(&folder, Choice::Columns, "read").unwrap();
        assert_eq!(choice(&folder, Choice::Columns).unwrap().as_deref(), Some("read"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        assert_eq!(choice(&folder, Choice::Theme).unwrap(), None);
        keep_choice(&folder, Choice::Theme, "light").unwrap();
        let kept = [Choice::Columns, Choice::Theme].map(|one| choice(&folder, one).unwrap().unwrap());
        assert_eq!(kept, ["read", "light"]);
    }
    use crate::model::{
        Metric, Seconds, Workload,
        experiment::{Sample, Surroundings},
        run::testing,
    };

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
            knee: None,
            margin: 0.02,
            detectable: None,
            rounds,
            seed: 1,
            looks: Vec::new(),
            samples: Vec::new(),
            thrown_out: 0,
            thrown_out_because: Vec::new(),
            ended_because: None,
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
        let mut file = StateFolder::make(state).unwrap().append(RunRecord::FILE).unwrap();
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
    fn samples_are_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let sample = Sample {
            round: 1,
            arm: "A".to_owned(),
            order: 1,
            began: 1_000_000_000,
            seed: 7,
            value: Some(1e6),
            discarded: None,
            surroundings: Surroundings::default(),
        };
        let long = ExperimentRecord { samples: vec![sample; 2000], ..experiment(100, 8) };
        keep(folder.path(), &long).unwrap();
        assert!(fs::metadata(file::<ExperimentRecord>(folder.path())).unwrap().len() < 2000);
        let found = recent::<ExperimentRecord>(folder.path(), "now", 9).unwrap();
        assert_eq!(found.kept, [experiment(100, 8)]);
    }

    #[test]
    fn the_files_of_runs_stay_small() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3000 {
            keep(folder.path(), &record("now", 4096 * (number + 1))).unwrap();
        }
        let bytes = |path: PathBuf| fs::metadata(path).unwrap().len();
        let (new, old) = (file::<RunRecord>(folder.path()), folder.path().join(older_file::<RunRecord>()));
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

    /// The folder of a user with these variables, where /home/u is user 1000's and the rest is root's.
    fn of(user: u32, variables: &[(&str, &str)]) -> Chosen {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let owner = |path: &Path| match path.to_str() {
            Some("/home/u") => Some(1000),
            Some("/" | "/home" | "/x") => Some(0),
            _ => None,
        };
        let home = |user| home_of("root:x:0:0::/root:/bin/sh\nu:x:1000:1000:U,,:/home/u:/bin/sh\n", user);
        let absolute = |path: &Path| Some(Path::new("/here").join(path));
        state_folder(&Caller { user, variable: &variable, owner: &owner, home: &home, absolute: &absolute })
    }

    #[test]
    fn the_state_folder_follows_root_and_xdg() {
        let folder = |user, variables: &[_]| of(user, variables).folder;
        assert_eq!(folder(0, &[]), Path::new("/var/lib/iodyno"));
        assert_eq!(folder(1000, &[("HOME", "/home/u")]), Path::new("/home/u/.local/state/iodyno"));
        assert_eq!(folder(1000, &[]), Path::new("/home/u/.local/state/iodyno"), "without HOME, of passwd");
        assert_eq!(folder(7, &[]), Path::new(""), "never one in /tmp");
        assert_eq!(folder(7, &[("HOME", "")]), Path::new(""));
        assert_eq!(folder(7, &[("IODYNO_STATE_DIR", "a/b"), ("HOME", "c")]), Path::new("/here/a/b"));
        assert_eq!(folder(7, &[("XDG_STATE_HOME", "a"), ("HOME", "c")]), Path::new(""), "as XDG has it");
        assert_eq!(folder(1000, &[("XDG_STATE_HOME", "/s"), ("HOME", "/home/u")]), Path::new("/s/iodyno"));
        assert_eq!(folder(0, &[("IODYNO_STATE_DIR", "/x")]), Path::new("/x"));
    }

    #[test]
    fn a_name_of_the_state_folder_that_is_not_utf_8_is_used_as_it_is() {
        let name = OsString::from_vec(b"/x/\xff".to_vec());
        let folder = state_folder(&Caller {
            user: 0,
            variable: &|wanted| (wanted == STATE_DIR).then(|| name.clone()),
            owner: &|_| None,
            home: &|_| None,
            absolute: &|_| None,
        });
        assert_eq!(folder, Chosen { folder: PathBuf::from(&name), passed_over: None });
    }

    #[test]
    fn under_sudo_a_folder_of_another_user_is_not_used_and_that_is_said() {
        let kept = [("IODYNO_STATE_DIR", "/home/u/state"), ("HOME", "/home/u")];
        let own = of(0, &kept);
        assert_eq!(
            (own.folder.as_path(), own.passed_over),
            (Path::new("/home/u/state"), None),
            "root's own wish"
        );
        for lent in LENT {
            let under = [kept[0], kept[1], (lent, "1000")];
            let chosen = of(0, &under);
            assert_eq!(chosen.folder, Path::new("/var/lib/iodyno"));
            let said = chosen.passed_over.unwrap();
            assert!(
                said.starts_with("IODYNO_STATE_DIR: /home/u/state belongs to user 1000, not to user 0;"),
                "{said}"
            );
            assert_eq!(of(1000, &under).folder, Path::new("/home/u/state"), "the user's own");
            assert_eq!(of(7, &under).folder, Path::new(""), "nor is HOME");
            assert_eq!(of(0, &[("IODYNO_STATE_DIR", "/x/y"), (lent, "1000")]).folder, Path::new("/x/y"));
        }
    }
}

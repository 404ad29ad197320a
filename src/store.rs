//! What is kept between starts: where, and what tests measured of the machine.
//!
//! Here: the state folder and its file of measured limits and costs, which only ever grows. Not here: the journal of settings
//! (`tune`), what follows from a measurement (`capacity`).

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::machine::Measured;

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

#[cfg(test)]
mod tests {
    use super::*;

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

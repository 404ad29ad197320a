//! Lines of system files, besides udev's, that write settings at boot: modprobe.d, tmpfiles.d, services and their
//! scripts, tuned.
//!
//! Such files also contain passwords of services. The live machine answers `/probe/boot-rules` with the relevant lines
//! alone, each with its file and number, and captures contain nothing else. A folder is scanned directly.

use std::collections::BTreeSet;

use super::{LONG_SCRIPT, Line, MORE_SETTINGS, MOST, TOO_MANY, cut_of, in_folders, joined, shell, tuned};
use crate::{
    model::ProblemKind,
    source::{
        SysRoot,
        root::{self, RootError},
    },
};

pub(super) const PROBE: &str = "/probe/boot-rules";

const MODULES: [&str; 3] = ["/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d"];
const TMPFILES: [&str; 3] = ["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"];
const UNITS: [&str; 3] = ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"];

const MODULES_WITH_SETTINGS: [&str; 3] = ["nvme", "nvme_core", "nvme-core"];

const TUNED: &str = "tuned.service";

/// The lines in the order in which they take effect at boot.
pub(super) fn scan(root: &dyn SysRoot) -> Vec<Line> {
    let mut lines = Vec::new();
    for path in files(root, &MODULES, &mut lines) {
        if is_full(&mut lines) {
            return lines;
        }
        lines.extend(relevant(root, &path, |line| {
            let mut words = line.split_ascii_whitespace();
            words.next() == Some("options")
                && words.next().is_some_and(|word| MODULES_WITH_SETTINGS.contains(&word))
        }));
    }
    for path in files(root, &TMPFILES, &mut lines) {
        if is_full(&mut lines) {
            return lines;
        }
        lines.extend(relevant(root, &path, |line| line.starts_with('w') && line.contains("/sys/")));
    }
    let services = wanted(root, &mut lines);
    for service in &services {
        for command in commands(root, service) {
            if is_full(&mut lines) {
                return lines;
            }
            lines.extend(script(root, &command.text));
            if command.number == 0 || !of_command(&command.text).is_empty() {
                lines.push(command);
            }
        }
    }
    if services.contains(TUNED) {
        lines.extend(tuned::lines(root));
    }
    is_full(&mut lines);
    lines
}

/// Whether there are more lines than are read; then it ends them, and says so of the file of the next one.
fn is_full(lines: &mut Vec<Line>) -> bool {
    let Some(next) = lines.get(MOST) else { return false };
    let cut = Line::of_cut(&next.path, MORE_SETTINGS);
    lines.truncate(MOST);
    lines.push(cut);
    true
}

/// As [`in_folders`], for `*.conf`; folders that are too long are said in `lines`.
fn files(root: &dyn SysRoot, folders: &[impl AsRef<str>], lines: &mut Vec<Line>) -> Vec<String> {
    let mut problems = Vec::new();
    let files = in_folders(root, folders, ".conf", &mut problems);
    let cuts = problems.into_iter().filter(|problem| problem.kind == ProblemKind::Cut);
    lines.extend(cuts.map(|cut| Line::of_cut(&cut.path, TOO_MANY)));
    files
}

/// The lines of a file that pass `is_relevant`, continued lines joined.
fn relevant(root: &dyn SysRoot, path: &str, is_relevant: impl Fn(&str) -> bool) -> Vec<Line> {
    let text = root::text(root, path);
    let found = joined(text.value().map(String::as_str).unwrap_or_default());
    found
        .into_iter()
        .filter(|(_, text)| is_relevant(text))
        .map(|(number, text)| Line { path: path.to_owned(), number, text })
        .chain(cut_of(&text))
        .collect()
}

/// The `ExecStart` commands of a service: of its file, then of its drop-ins (`NAME.service.d/*.conf`, systemd.unit(5)).
fn commands(root: &dyn SysRoot, service: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let drop_ins = drop_ins(root, service, &mut found);
    for path in unit(root, service).into_iter().chain(drop_ins) {
        for command in relevant(root, &path, |line| line.starts_with("ExecStart")) {
            if command.number == 0 {
                found.push(command);
                continue;
            }
            let Some((name, value)) = command.text.split_once('=') else { continue };
            if value.trim().is_empty() {
                // An empty assignment resets earlier ones.
                found.retain(|known| known.text.split_once('=').is_none_or(|(other, _)| other != name));
            } else {
                found.push(command);
            }
        }
    }
    found
}

fn drop_ins(root: &dyn SysRoot, service: &str, lines: &mut Vec<Line>) -> Vec<String> {
    let names = [template(service), Some(service.to_owned())];
    let of_name = |name: String| {
        let folders = UNITS.map(|folder| format!("{folder}/{name}.d"));
        files(root, &folders, lines)
    };
    names.into_iter().flatten().flat_map(of_name).collect()
}

/// The writes in a line `ExecStart=...`.
fn of_command(line: &str) -> Vec<shell::Write> {
    line.split_once('=').map_or_else(Vec::new, |(_, command)| shell::writes(command))
}

/// Of longer scripts the rest is not read.
const MOST_SCRIPT: usize = 64 << 10;

/// The relevant lines of the shell script that a command runs, recognized by `#!` or as an argument of a shell.
fn script(root: &dyn SysRoot, command: &str) -> Vec<Line> {
    let Some((path, by_shell)) = command.split_once('=').and_then(|(_, words)| shell::script(words)) else {
        return Vec::new();
    };
    let content = root.read_start(path, MOST_SCRIPT + 1).unwrap_or_default();
    let is_long = content.len() > MOST_SCRIPT;
    let content = &content[..content.len().min(MOST_SCRIPT)];
    let Some(text) = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0')) else {
        return Vec::new();
    };
    let first = text.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
    if !by_shell && !first.split_ascii_whitespace().any(shell::is_shell) {
        return Vec::new();
    }
    let line = |(number, text)| Line { path: path.to_owned(), number, text };
    let cut = is_long.then(|| Line::of_cut(path, LONG_SCRIPT));
    shell::relevant(joined(text)).into_iter().map(line).chain(cut).collect()
}

/// Services enabled at boot: those with a link in a folder `*.wants` or `*.requires` of a target.
fn wanted(root: &dyn SysRoot, lines: &mut Vec<Line>) -> BTreeSet<String> {
    let mut list = |folder: &str| {
        let names = root.list(folder);
        let is_cut = names.as_ref().is_err_and(|error| *error == RootError::Errno(libc::EFBIG));
        lines.extend(is_cut.then(|| Line::of_cut(folder, TOO_MANY)));
        names.unwrap_or_default()
    };
    let mut found = BTreeSet::new();
    for folder in UNITS {
        for name in list(folder) {
            if [".wants", ".requires"].iter().any(|end| name.ends_with(end)) {
                let units = list(&format!("{folder}/{name}"));
                found.extend(units.into_iter().filter(|unit| unit.ends_with(".service")));
            }
        }
    }
    found
}

/// `a@.service` for `a@b.service`.
fn template(service: &str) -> Option<String> {
    service.split_once('@').map(|(name, _)| format!("{name}@.service"))
}

/// The file of a service, the administrator's first; `a@b.service` is an instance of `a@.service`.
fn unit(root: &dyn SysRoot, service: &str) -> Option<String> {
    let names = [Some(service.to_owned()), template(service)];
    names.into_iter().flatten().find_map(|name| {
        UNITS.iter().map(|folder| format!("{folder}/{name}")).find(|path| root.read(path).is_ok())
    })
}

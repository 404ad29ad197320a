//! Rules that write settings at boot, with file and line, in the order in which they take effect.

mod boot_scan;
mod sysfs_paths;
mod shell;
mod tuned;
pub mod udev;

use std::{collections::BTreeMap, fmt};

use self::{shell::Write, sysfs_paths::At};
use super::{
    SysRoot,
    root::{self, RootError},
};
use crate::{
    machine::rules::{RuleKind, SettingRule},
    model::{Problem, ProblemKind, Reading},
};

/// The rules in the order in which they take effect: the last matching one wins.
pub(crate) fn read(root: &dyn SysRoot) -> (Vec<SettingRule>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut rules = Vec::new();
    if let Some(line) = root::text(root, COMMAND_LINE).value() {
        rules.extend(At { kind: RuleKind::Argument, path: COMMAND_LINE, line: 1 }.arguments(line));
    }
    rules.extend(udev::read(root, &mut problems));
    let lines = match root.read(boot_scan::PROBE) {
        Ok(answer) => answered(&String::from_utf8_lossy(&answer)),
        Err(_) => boot_scan::scan(root),
    };
    problems.extend(lines.iter().filter_map(Line::cut));
    rules.extend(of_lines(&lines));
    rules.sort_by_key(|rule| rule.kind);
    (rules, problems)
}

/// Settings in rules of udev, and lines of other files that write some; a machine has dozens.
const MOST: usize = 1 << 12;

const COMMAND_LINE: &str = "/proc/cmdline";

/// The answer to `/probe/boot-rules` from `root`'s files.
pub(crate) fn probe(root: &dyn SysRoot) -> Vec<u8> {
    boot_scan::scan(root).iter().map(ToString::to_string).collect::<String>().into_bytes()
}

/// The rules of an answer to `/probe/boot-rules`.
pub fn parse(answer: &str) -> Vec<SettingRule> {
    of_lines(&answered(answer))
}

fn of_lines(lines: &[Line]) -> Vec<SettingRule> {
    let (profiles, others): (Vec<&Line>, Vec<&Line>) =
        lines.iter().filter(|line| line.cut().is_none()).partition(|line| line.path.ends_with("/tuned.conf"));
    let mut rules: Vec<SettingRule> = others.into_iter().flat_map(of_line).take(MOST).collect();
    rules.extend(tuned::rules(&profiles));
    rules
}

/// A line of modprobe.d, tmpfiles.d, a service or a script.
fn of_line(line: &Line) -> Vec<SettingRule> {
    let at = |kind| At { kind, path: &line.path, line: line.number };
    let words: Vec<&str> = line.text.split_ascii_whitespace().collect();
    let folder = root::file_name(root::parent(&line.path));
    match (folder, words.as_slice()) {
        ("modprobe.d", ["options", module, options @ ..]) => {
            let module = module.replace('-', "_");
            let option = |word: &&str| {
                let (name, value) = word.split_once('=')?;
                at(RuleKind::ModuleOption).parameter(&module, name, value, &format!("{module} {word}"))
            };
            options.iter().filter_map(option).take(MOST).collect()
        }
        // Type, path, mode, user, group, age, argument (tmpfiles.d(5)).
        ("tmpfiles.d", [kind, path, _, _, _, _, ..]) if kind.starts_with('w') => {
            let argument = words[6..].join(" ");
            at(RuleKind::Tmpfile).write(path, &argument, &line.text).into_iter().collect()
        }
        _ => {
            let (kind, command) = match line.text.split_once('=') {
                Some((name, command)) if name.starts_with("ExecStart") => (RuleKind::Unit, command),
                _ => (RuleKind::Script, line.text.as_str()),
            };
            let at = at(kind);
            let rule = |write| match write {
                Write::File { value, path } => at.write(&path, &value, &format!("echo {value} > {path}")),
                // The rest of the command may be another's business, and contain passwords.
                Write::Governor(value) => {
                    Some(at.rule("governor", &value, None, &format!("{} {value}", shell::GOVERNOR)))
                }
                Write::EnergyPreference(value) => {
                    let text = format!("{} {value}", shell::ENERGY_PREFERENCE);
                    Some(at.rule("energy_preference", &value, None, &text))
                }
            };
            shell::writes(command).into_iter().filter_map(rule).take(MOST).collect()
        }
    }
}

/// The writes of a command in order: the file, or the command without its value, and the value.
pub(crate) fn shell_writes(command: &str) -> Vec<(String, String)> {
    let write = |write| match write {
        Write::File { value, path } => (path, value),
        Write::Governor(value) => (shell::GOVERNOR.to_owned(), value),
        Write::EnergyPreference(value) => (shell::ENERGY_PREFERENCE.to_owned(), value),
    };
    shell::writes(command).into_iter().map(write).collect()
}

/// The lines of an answer to `/probe/boot-rules`.
pub(crate) fn boot_lines(answer: &str) -> Vec<BootLine> {
    answered(answer)
}

pub(crate) use Line as BootLine;

/// A line of a rules file, as the answer to `/probe/boot-rules` contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub path: String,
    /// Counted from 1; 0 with one of [`CUTS`] as text for a file or folder that is not read in full.
    pub number: usize,
    /// Continued lines are joined.
    pub text: String,
}

const TOO_MANY: &str = "more than 4096 names; not read";
const TOO_LONG: &str = "longer than 1 MiB; not read";
const LONG_SCRIPT: &str = "longer than 64 KiB; the rest is not read";
const MORE_PROFILES: &str = "more than 16 profiles with includes; the rest is not read";
const MORE_SETTINGS: &str = "more than 4096 settings; the rest is not read";
pub(crate) const CUTS: [&str; 5] = [TOO_MANY, TOO_LONG, LONG_SCRIPT, MORE_PROFILES, MORE_SETTINGS];

impl Line {
    fn of_cut(path: &str, why: &'static str) -> Self {
        Self { path: path.to_owned(), number: 0, text: why.to_owned() }
    }

    /// What is not read of its file or folder.
    fn cut(&self) -> Option<Problem> {
        (self.number == 0).then(|| Problem::new(ProblemKind::Cut, self.path.as_str(), self.text.as_str()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}:{}", self.path, self.number, self.text)
    }
}

/// The lines of an answer; malformed ones are skipped.
fn answered(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        // No scanned path contains a colon, digits and another colon.
        let (path, rest) = line.split_once(':')?;
        let (number, text) = rest.split_once(':')?;
        let number = number.parse().ok().filter(|number| *number > 0 || CUTS.contains(&text))?;
        path.starts_with('/').then(|| Line { path: path.to_owned(), number, text: text.to_owned() })
    };
    text.lines().filter_map(line).collect()
}

/// Files by name, from folders in descending precedence: a file masks those of the same name in later folders.
fn in_folders(
    root: &dyn SysRoot,
    folders: &[impl AsRef<str>],
    end: &str,
    problems: &mut Vec<Problem>,
) -> Vec<String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for folder in folders.iter().map(AsRef::as_ref) {
        match root.list(folder) {
            Ok(names) => {
                for name in names.into_iter().filter(|name| name.ends_with(end)) {
                    let path = format!("{folder}/{name}");
                    files.entry(name).or_insert(path);
                }
            }
            Err(error) => problems.extend(reportable(error, folder)),
        }
    }
    files.into_values().collect()
}

/// A missing folder is no problem: most systems lack one of them.
fn reportable(error: RootError, path: &str) -> Option<Problem> {
    match error {
        RootError::Errno(libc::EFBIG) => Line::of_cut(path, TOO_MANY).cut(),
        absent if absent.is_absent() => None,
        other => Some(other.into_problem(path)),
    }
}

/// A rules file or a profile that is too long to be read.
fn cut_of(text: &Reading<String>) -> Option<Line> {
    let is_cut = text.problem().is_some_and(|problem| problem.kind == ProblemKind::Cut);
    is_cut.then(|| Line::of_cut(&text.path(), TOO_LONG))
}

/// Trimmed lines with their numbers; a backslash at the end continues a line.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut line = line.trim().to_owned();
        while line.ends_with('\\') {
            line.pop();
            let Some((_, more)) = lines.next() else { break };
            line.push_str(more.trim());
        }
        found.push((number + 1, line));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{
        capture::{Recorder, TextRoot},
        root::FolderRoot,
    };

    const SERVICE: &str = "[Unit]\nDescription=faster\n[Service]\nEnvironment=TOKEN=secret\nType=oneshot\n\
                           ExecStart=/bin/sh -c \\\n  'for d in /sys/block/nvme*; do echo none > $$d/queue/scheduler; done'\n\
                           ExecStart=/usr/bin/cpupower frequency-set -g performance\n\
                           ExecStartPost=-/usr/local/sbin/queues --all\nExecStartPost=/bin/bash /opt/more.bash\n\
                           ExecStartPost=/usr/bin/daemon --queue=/sys/block/sda/queue\n";

    const SCRIPT: &str = "#!/bin/sh -e\n# echo 9 > /sys/block/sda/queue/nomerges\npassword=secret\nSCHED=kyber\n\
                          for d in /sys/block/nvme* \\\n  /sys/block/sda; do\n  [ -d $d ] || continue\n\
                          \twhile read -r a b c d e f; do echo 2 > /sys/block/sdb/queue/nomerges; done\n\
                          \techo $SCHED > $d/queue/scheduler\n  echo $other > $d/queue/nr_requests\ndone\n";

    const FILES: &[(&str, &str)] = &[
        ("proc/cmdline", "quiet nvme.poll_queues=2\n"),
        ("etc/modprobe.d/nvme.conf", "# mine\noptions nvme poll_queues=4 write_queues=1\noptions snd x=1\n"),
        ("usr/lib/modprobe.d/nvme.conf", "options nvme poll_queues=8\n"),
        ("etc/tmpfiles.d/queue.conf", "d /run/x - - - -\nw /sys/block/sda/queue/nr_requests - - - - 64\n"),
        ("etc/udev/rules.d/60.rules", "KERNEL==\"sd*\", ATTR{queue/nr_requests}=\"128\"\n"),
        ("etc/systemd/system/faster.service", SERVICE),
        (
            "etc/systemd/system/idle.service",
            "[Service]\nExecStart=/bin/sh -c 'echo 1 > /sys/block/sda/queue/nomerges'\n",
        ),
        (
            "usr/lib/systemd/system/edited@.service",
            "[Service]\nExecStart=/bin/sh -c 'echo 1 > /sys/block/sdc/queue/nomerges'\nExecStartPre=/usr/bin/cpupower set -e power\n",
        ),
        (
            "etc/systemd/system/edited@1.service.d/override.conf",
            "[Service]\nExecStart=\nExecStart=/bin/sh -c 'echo 0 > /sys/block/sdc/queue/iostats'\n",
        ),
        ("etc/systemd/system/multi-user.target.wants/edited@1.service", ""),
        ("etc/systemd/system/multi-user.target.wants/faster.service", ""),
        ("etc/systemd/system/multi-user.target.wants/tuned.service", ""),
        ("usr/local/sbin/queues", SCRIPT),
        ("opt/more.bash", "modprobe nvme\ncpupower set --epp power\n"),
        ("usr/bin/daemon", "\u{7f}ELF\0 echo 1 > /sys/block/sda/queue/nomerges\n"),
        ("etc/tuned/active_profile", "mine\n"),
        ("etc/tuned/mine/tuned.conf", "[main]\nsummary=secret\n[cpu]\ngovernor=powersave\n"),
    ];

    fn folder() -> (tempfile::TempDir, FolderRoot) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in FILES {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_bytes()).unwrap();
        }
        let root = FolderRoot::new(folder.path());
        (folder, root)
    }

    /// Answers the probe as a live machine does.
    struct Live(FolderRoot);

    impl SysRoot for Live {
        fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
            if path == boot_scan::PROBE { Ok(probe(&self.0)) } else { self.0.read(path) }
        }

        fn link(&self, path: &str) -> Result<String, RootError> {
            self.0.link(path)
        }

        fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
            self.0.list(path)
        }
    }

    #[test]
    fn every_family_is_read_in_the_order_it_takes_effect() {
        let (_folder, root) = folder();
        let said: Vec<String> =
            read(&root).0.iter().map(|rule| format!("{}: {rule}", rule.setting)).collect();
        assert_eq!(
            said,
            [
                "poll_queues: kernel argument /proc/cmdline:1 sets 2",
                "poll_queues: module option /etc/modprobe.d/nvme.conf:2 sets 4",
                "nr_requests: udev rule /etc/udev/rules.d/60.rules:1 sets 128",
                "nr_requests: tmpfiles.d line /etc/tmpfiles.d/queue.conf:2 sets 64",
                "energy_preference: systemd service /usr/lib/systemd/system/edited@.service:3 sets power",
                "iostats: systemd service /etc/systemd/system/edited@1.service.d/override.conf:3 sets 0",
                "scheduler: systemd service /etc/systemd/system/faster.service:6 sets none",
                "governor: systemd service /etc/systemd/system/faster.service:8 sets performance",
                "nomerges: script of a service /usr/local/sbin/queues:8 sets 2",
                "scheduler: script of a service /usr/local/sbin/queues:9 sets kyber",
                "scheduler: script of a service /usr/local/sbin/queues:9 sets kyber",
                "energy_preference: script of a service /opt/more.bash:2 sets power",
                "governor: tuned profile /etc/tuned/mine/tuned.conf:4 sets powersave",
            ]
        );
    }

    #[test]
    fn a_capture_holds_the_telling_lines_and_nothing_else_of_such_files() {
        let (_folder, root) = folder();
        let live = Live(root);
        let recorder = Recorder::new(&live);
        let (rules, _) = read(&recorder);
        let capture = recorder.capture();
        assert!(capture.contains("poll_queues=4"), "{capture}");
        for word in ["secret", "faster.service.wants", "idle.service", "options snd", "ELF", "modprobe nvme"]
        {
            assert!(!capture.contains(word), "{word} is in {capture}");
        }
        assert_eq!(read(&TextRoot::parse(&capture).unwrap()).0, rules);
        assert_eq!(rules.len(), 13);
    }

    proptest! {
        #[test]
        fn lines_are_read_as_they_were_written(path in "/[a-z./-]{0,20}", number in 1_usize..9999, text in "[^\n\r]{0,40}") {
            let line = Line { path, number, text };
            prop_assert_eq!(answered(&line.to_string()), [line]);
        }

        #[test]
        fn any_answer_is_read(text in any::<String>()) {
            for line in answered(&text) {
                prop_assert!(line.number > 0 || CUTS.contains(&line.text.as_str()));
                prop_assert!(line.path.starts_with('/'));
            }
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_understood_or_passed_over(
            text in "(/a:1:|/modprobe.d/a:1:|/tmpfiles.d/a:1:|/b/tuned.conf:2:|options nvme |poll_queues=|w /sys/block/a/queue/b - - - - |ExecStart=|echo 1 >|\\[cpu\\]|governor=x|[ -~]|\n){0,24}"
        ) {
            for rule in parse(&text) {
                prop_assert!(rule.line > 0 && !rule.setting.is_empty());
            }
        }
    }
}

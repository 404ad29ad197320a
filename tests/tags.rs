//! The tags of real queues, which a scheduler hides, and the tunables of their schedulers; and dry runs of undos, whose commands do the same.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the stranger who writes settings behind iodyno's back"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;
#[path = "common/terminal.rs"]
mod terminal;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use loop_device::{LoopDevice, skip::skipped};
use program::{iodyno, text};
use terminal::Terminal;

#[test]
fn an_undo_leaves_the_tags_that_it_found_whatever_the_scheduler_hides() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let Some(found) = device.tags() else {
        skipped("debugfs, which shows the tags of a queue, cannot be mounted");
        return;
    };
    let state = tempfile::tempdir().unwrap();
    let cases: [(_, &[_]); 3] = [
        ("none", &["nr_requests=4", "scheduler=mq-deadline"]),
        ("mq-deadline", &["scheduler=none", "nr_requests=4"]),
        ("mq-deadline", &["scheduler=none", "nr_requests=4", "scheduler=mq-deadline"]),
    ];
    for (scheduler, changes) in cases {
        device.write("scheduler", scheduler);
        let before = device.read_settings();
        for change in changes {
            let set = iodyno(state.path(), &["tune", "set", &device.name, change]);
            assert!(set.status.success(), "{}", text(&set));
        }
        assert_eq!(device.tags(), Some(4), "{scheduler}: nothing is hidden, the test tries nothing");
        let undo = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(undo.status.success(), "{}", text(&undo));
        assert_eq!(
            (device.read_settings(), device.tags()),
            (before, Some(found)),
            "{scheduler}: {}",
            text(&undo)
        );
    }
}

#[test]
fn an_undo_restores_the_tunables_of_a_scheduler() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |change: &str| {
        let set = iodyno(state.path(), &["tune", "set", &device.name, change]);
        assert!(set.status.success(), "{}", text(&set));
    };
    device.write("scheduler", "mq-deadline");
    for (name, value) in [("read_expire", "1000"), ("fifo_batch", "5"), ("async_depth", "50")] {
        // Some kernels have async_depth in the queue's folder.
        if device.setting(&format!("iosched/{name}")).is_some() {
            device.write(&format!("iosched/{name}"), value);
        }
    }
    let before = device.read_settings();
    for changes in [&["scheduler=none"][..], &["nr_requests=64"], &["nr_requests=64", "scheduler=none"]] {
        for change in changes {
            set(change);
        }
        assert_ne!(device.read_settings(), before, "{changes:?}");
        let undo = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(undo.status.success(), "{changes:?}: {}", text(&undo));
        assert_eq!(device.read_settings(), before, "{changes:?}: {}", text(&undo));
    }
    // Set back by hand, it has them too.
    set("scheduler=none");
    set("scheduler=mq-deadline");
    assert_eq!(device.read_settings(), before);
}

/// A change by iodyno, or another program's write.
enum By {
    Iodyno(&'static [&'static str]),
    Other(&'static str, &'static str),
}

#[test]
fn the_commands_of_a_dry_run_leave_what_the_undo_leaves() {
    use By::{Iodyno, Other};
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let cases: [(&[By], &str); 6] = [
        (&[Iodyno(&["nr_requests=64"]), Iodyno(&["scheduler=mq-deadline"])], ""),
        (&[Iodyno(&["nr_requests=64"]), Iodyno(&["scheduler=mq-deadline"]), Iodyno(&["nr_requests=32"])], ""),
        (
            &[
                Iodyno(&["scheduler=mq-deadline", "nr_requests=200"]),
                Other("scheduler", "none"),
                Other("scheduler", "mq-deadline"),
            ],
            "",
        ),
        (
            &[Iodyno(&["nr_requests=64"]), Other("scheduler", "mq-deadline"), Other("scheduler", "none")],
            "nr_requests: already 128; the queue's tags are resized to it\n",
        ),
        (
            &[Iodyno(&["scheduler=mq-deadline"]), Other("nr_requests", "200")],
            "nr_requests: is 128 now; another program's value 200 was not kept (it belonged to the scheduler mq-deadline)\n",
        ),
        (
            &[Iodyno(&["scheduler=mq-deadline"]), Other("nr_requests", "60")],
            "nr_requests: is 128 now; another program's value 60 was not kept (it belonged to the scheduler mq-deadline)\n",
        ),
    ];
    let (before, tags) = (device.read_settings(), device.tags());
    for (number, (changes, says)) in cases.iter().enumerate() {
        for by_hand in [true, false] {
            let state = tempfile::tempdir().unwrap();
            for change in *changes {
                match change {
                    Iodyno(values) => {
                        let set = [&["tune", "set", &device.name], *values].concat();
                        let set = iodyno(state.path(), &set);
                        assert!(set.status.success(), "{}", text(&set));
                    }
                    Other(setting, value) => device.write(setting, value),
                }
            }
            let dry = text(&iodyno(state.path(), &["tune", "undo", "--all", "--dry-run"]));
            if by_hand {
                let commands = dry.replace("sudo ", "");
                let run = Command::new("sh").arg("-ec").arg(&commands).stdout(Stdio::null()).status();
                assert!(run.unwrap().success(), "{number}: {commands}");
            } else {
                let undone = text(&iodyno(state.path(), &["tune", "undo", "--all"]));
                let left: String = undone
                    .lines()
                    .filter(|line| !line.contains(": restored to "))
                    .fold(String::new(), |left, line| left + line + "\n");
                assert!(left.ends_with(says) && left.is_empty() == says.is_empty(), "{number}: {undone}");
                let comments = dry.lines().filter_map(|line| line.strip_prefix("# "));
                assert_eq!(comments.collect::<Vec<_>>(), left.lines().collect::<Vec<_>>(), "{number}");
            }
            assert_eq!((device.read_settings(), device.tags()), (before.clone(), tags), "{number}: {dry}");
        }
    }
}

#[test]
fn a_dry_run_without_anything_to_undo_says_what_the_undo_says() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let undo = |args: &[&str]| text(&iodyno(state.path(), &[&["tune", "undo"], args].concat()));
    let check = |scope: &[&str], says: &str| {
        assert_eq!(undo(&[scope, &["--dry-run"]].concat()), format!("# {says}\n"));
        assert_eq!(undo(scope), format!("{says}\n"));
    };
    check(&[], "no settings changed since boot");
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    check(&[], "only kept changes remain; --all undoes them");
    assert!(undo(&["--all"]).contains("nomerges: restored to 0"));
    check(&["--all"], "no settings changed since boot");
    check(&[&device.name], &format!("{}: no settings changed since boot", device.name));
}

#[test]
fn an_undo_of_nothing_is_not_said_to_repeat_itself() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "nomerges=2"]).status.success());
    let turn = state.path().join("turn");
    std::fs::remove_file(&turn).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&turn).status().unwrap().success());
    let undo = |args: &[&str]| text(&iodyno(state.path(), &[&["tune", "undo"], args].concat()));
    assert_eq!(undo(&[]), "only kept changes remain; --all undoes them\n");
    let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(text(&undone).contains("nomerges: restored to 0\n"));
    // The journal takes its record.
    assert_eq!(String::from_utf8_lossy(&undone.stderr), "");
    assert_eq!(undo(&["--all"]), "no settings changed since boot\n");
}

/// `iodyno tune undo --all` where the file of a tunable cannot be written: the results, and that it is so.
fn undo_with_a_read_only_file(state: &Path, file: &str) -> Output {
    let script =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && exec \"$2\" tune undo --all";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script, "sh", file, env!("CARGO_BIN_EXE_iodyno")]);
    command.env("IODYNO_STATE_DIR", state).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_tunable_that_an_undo_could_not_restore_is_offered_until_another_program_sets_it() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let file = format!("/sys/block/{}/queue/iosched/async_depth", device.name);
    for ending in ["undo", "screen", "other program"] {
        let state = tempfile::tempdir().unwrap();
        device.write("scheduler", "none");
        device.write("scheduler", "mq-deadline");
        device.write("iosched/async_depth", "50");
        let depth = || std::fs::read_to_string(&file).unwrap().trim().to_owned();
        let run = |args: &[&str]| text(&iodyno(state.path(), args));
        run(&["tune", "set", &device.name, "nr_requests=64"]);
        let failed = undo_with_a_read_only_file(state.path(), &file);
        let left = depth();
        let line = format!("{} iosched/async_depth: is not 50: the kernel shows {left}\n", device.name);
        assert!(text(&failed).ends_with(&line), "{}", text(&failed));
        assert_eq!((failed.status.code(), left == "50"), (Some(1), false));
        let offer = format!(
            "iodyno: an undo could not restore settings: {} iosched/async_depth (was 50); `iodyno tune undo` tries again\n",
            device.name
        );
        assert!(run(&["tune", "list", &device.name]).contains(&offer));
        match ending {
            "screen" => {
                let mut screen = Terminal::start_with(&[], state.path());
                screen.wait_for_text("1 setting not restored by an undo");
                screen.wait_for_text(&format!("before 50, now {left}"));
                screen.press("u");
                screen.wait_for_text("1 of 1 restored");
                screen.press("q");
                screen.ends_with(0);
            }
            "other program" => {
                device.write("iosched/async_depth", "77");
                assert!(!run(&["tune", "list", &device.name]).contains("could not restore"));
                let said = run(&["tune", "undo"]);
                let line = "iosched/async_depth: changed to 77 by another program; not restored, `iodyno tune undo --force` sets 50";
                assert!(said.contains(line), "{said}");
                assert_eq!(depth(), "77");
                assert!(iodyno(state.path(), &["tune", "undo", "--force"]).status.success());
            }
            _ => {
                let said = run(&["tune", "undo"]);
                assert_eq!(said, format!("{} iosched/async_depth: restored to 50\n", device.name));
            }
        }
        assert_eq!(depth(), "50", "{ending}");
        assert_eq!(run(&["tune", "undo", "--all"]), "no settings changed since boot\n", "{ending}");
    }
}

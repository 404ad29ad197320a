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

use std::process::{Command, Stdio};

use loop_device::{LoopDevice, skip::skipped};
use program::{iodyno, text};

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
            "nr_requests: is 128 now; another program's value 200 could not be kept (it belonged to the scheduler mq-deadline)\n",
        ),
        (
            &[Iodyno(&["scheduler=mq-deadline"]), Other("nr_requests", "60")],
            "nr_requests: is 128 now; another program's value 60 could not be kept (it belonged to the scheduler mq-deadline)\n",
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

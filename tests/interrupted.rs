//! Undos that are cut short or have no room in the journal, and what the undos after them do.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and plays the administrator who sets what is found first"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use loop_device::LoopDevice;
use program::{iodyno, text};

/// Runs a command whose journal may not grow beyond `room` bytes.
fn with_room(state: &Path, room: usize, arguments: &[&str]) -> Output {
    Command::new("prlimit")
        .arg(format!("--fsize={room}"))
        .arg(env!("CARGO_BIN_EXE_iodyno"))
        .args(arguments)
        .env("IODYNO_STATE_DIR", state)
        .output()
        .unwrap()
}

/// Runs a command that is killed at a write, counted from 1.
fn killed(state: &Path, at: usize, arguments: &[&str]) -> Output {
    Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=write", "-e"])
        .arg(format!("inject=write:signal=KILL:when={at}"))
        .arg(env!("CARGO_BIN_EXE_iodyno"))
        .args(arguments)
        .env("IODYNO_STATE_DIR", state)
        .output()
        .unwrap()
}

fn has_strace() -> bool {
    let there = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    if !there {
        loop_device::skip::skipped("no strace");
    }
    there
}

#[test]
fn an_undo_whose_records_have_no_room_is_not_repeated_the_other_way_round() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let set = ["tune", "set", &device.name, "read_ahead_kb=64", "scheduler=mq-deadline", "nomerges=2"];
    let journal = || fs::read_to_string(state.path().join("journal.jsonl")).unwrap();
    assert!(iodyno(state.path(), &set).status.success());
    let begin = journal().len();
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
    let lengths: Vec<usize> = journal()[begin..].split_inclusive('\n').map(str::len).collect();
    assert!(lengths.len() >= 8, "its beginning and end, and two of each setting");
    for records in (0..lengths.len()).step_by(3) {
        assert!(iodyno(state.path(), &set).status.success());
        let room = journal().len() + lengths[..=records].iter().sum::<usize>() - 9;
        let undone = with_room(state.path(), room, &["tune", "undo", "--all"]);
        let said = text(&undone);
        assert_eq!(device.read_settings(), before, "{records}: {said}");
        assert!(said.contains("nomerges: restored to 0") && !said.contains("kept"), "{records}: {said}");
        assert_eq!(undone.status.code(), Some(0), "{records}: {said}");
        let listed = text(&iodyno(state.path(), &["tune", "list", &device.name]));
        assert!(!listed.contains("ended before"), "{records}: {listed}");
        for undo in [&["tune", "undo"][..], &["tune", "undo", "--all"]] {
            let next = iodyno(state.path(), undo);
            assert!(next.status.success(), "{records}: {}", text(&next));
            assert_eq!(device.read_settings(), before, "{records}: {}", text(&next));
        }
    }
}

#[test]
fn an_undo_that_is_killed_is_finished_and_never_turned_round() {
    let (Some(device), true) = (LoopDevice::new(16 << 20), has_strace()) else { return };
    let state = tempfile::tempdir().unwrap();
    device.write("scheduler", "mq-deadline");
    device.write("nr_requests", "100");
    device.write("iosched/read_expire", "1000");
    let before = device.read_settings();
    let set = ["tune", "set", &device.name, "scheduler=none", "nr_requests=64", "nomerges=2"];
    for at in (2..).step_by(5) {
        assert!(iodyno(state.path(), &set).status.success());
        let output = killed(state.path(), at, &["tune", "undo", "--all"]);
        let now = device.read_settings();
        let next = iodyno(state.path(), &["tune", "undo"]);
        assert_eq!(device.read_settings(), now, "{at}: nothing was left: {}", text(&next));
        let next = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(next.status.success(), "{at}: {}", text(&next));
        assert_eq!(device.read_settings(), before, "{at}: {}", text(&next));
        if output.status.success() {
            assert!(at > 12, "{at}");
            break;
        }
    }
}

#[test]
fn a_set_that_is_killed_hides_no_first_value_from_the_undo_after_the_next() {
    let (Some(device), true) = (LoopDevice::new(16 << 20), has_strace()) else { return };
    let state = tempfile::tempdir().unwrap();
    device.write("scheduler", "mq-deadline");
    device.write("nr_requests", "100");
    let before = device.read_settings();
    for at in 1.. {
        let output = killed(state.path(), at, &["tune", "set", &device.name, "scheduler=none"]);
        assert!(iodyno(state.path(), &["tune", "set", &device.name, "nr_requests=64"]).status.success());
        let undone = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(undone.status.success(), "{at}: {}", text(&undone));
        assert_eq!(device.read_settings(), before, "{at}: {}", text(&undone));
        if output.status.success() {
            assert!(at > 4, "{at}");
            break;
        }
    }
}

#[test]
fn a_value_that_the_kernel_made_of_one_is_offered_after_a_kill() {
    let (Some(device), true) = (LoopDevice::new(16 << 20), has_strace()) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    for setting in ["nr_requests=1", "wbt_lat_usec=-1", "read_ahead_kb=65"] {
        let (name, _) = setting.split_once('=').unwrap();
        let Some(found) = device.setting(name) else { continue };
        let other = if name == "wbt_lat_usec" && found != "0" { "0" } else { "512" };
        if name != "nr_requests" {
            device.write(name, other);
        }
        let first = device.read_settings();
        for at in 3..6 {
            killed(state.path(), at, &["tune", "set", &device.name, setting]);
            let is_changed = device.read_settings() != first;
            let listed = text(&iodyno(state.path(), &["tune", "list", &device.name]));
            assert_eq!(listed.contains(&format!("{name} (was ")), is_changed, "{setting} {at}: {listed}");
            let undone = iodyno(state.path(), &["tune", "undo"]);
            assert_eq!(device.read_settings(), first, "{setting} {at}: {}", text(&undone));
        }
        device.write(name, &found);
    }
    assert_eq!(device.read_settings(), before);
}

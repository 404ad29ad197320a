//! Settings of real loop devices: changed, read back, undone; killed in between; two iodynos at once.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test may panic, and plays the stranger who writes settings behind iodyno's back"
)]

#[path = "common/loop_device.rs"]
mod loop_device;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use iodyno::{
    model::DriveName,
    runtime::desk::Desk,
    source::origin::Origin,
    tune::{Device, Wanted, settings::find},
};
use loop_device::LoopDevice;

fn iodyno(state: &Path, args: &[&str]) -> Output {
    command(state, args).output().unwrap()
}

fn command(state: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", state).args(args).stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A value for each setting that differs from what a loop device has as delivered.
const CHANGES: [(&str, &str); 8] = [
    ("scheduler", "mq-deadline"),
    ("read_ahead_kb", "512"),
    ("nr_requests", "64"),
    ("max_sectors_kb", "64"),
    ("nomerges", "2"),
    ("rq_affinity", "2"),
    ("iostats", "0"),
    ("add_random", "1"),
];

#[test]
fn every_queue_setting_is_changed_read_back_and_undone() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    for (setting, value) in CHANGES {
        let output = iodyno(state.path(), &["tune", "set", &device.name, &format!("{setting}={value}")]);
        assert!(output.status.success(), "{setting}: {}", text(&output));
        assert!(text(&output).contains(&format!("-> {value}: accepted")), "{}", text(&output));
        assert_eq!(device.setting(setting).as_deref(), Some(value));
    }
    let listed = iodyno(state.path(), &["tune", "list", &device.name, "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["schema"], 1);
    let rows = listed["settings"].as_array().unwrap();
    for (setting, value) in CHANGES {
        let row = rows.iter().find(|row| row["setting"] == setting).unwrap();
        assert_eq!(row["value"], value);
        assert_eq!(row["found_value"], before[setting].as_str(), "{setting}");
    }
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(device.read_settings(), before);
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert_eq!(text(&output), "nothing stands changed since boot\n");
}

#[test]
fn what_the_kernel_makes_of_a_value_is_said() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let set = |change: &str| iodyno(state.path(), &["tune", "set", &device.name, change]);
    let rounded = set("read_ahead_kb=4099");
    assert_eq!(rounded.status.code(), Some(1));
    assert!(text(&rounded).contains("adjusted by the kernel to 4096"), "{}", text(&rounded));
    for (change, words) in [
        ("scheduler=bogus", "takes one of"),
        ("read_ahead_kb=-1", "takes a whole number from 0"),
        ("nomerges=3", "takes a whole number from 0 to 2"),
        ("bogus=1", "no setting of that name"),
        ("scheduler", "is no SETTING=VALUE"),
        ("poll_queues=2", "has no poll_queues"),
    ] {
        let output = set(change);
        assert_eq!(output.status.code(), Some(2), "{change}: {}", text(&output));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.starts_with("iodyno: ") && error.contains(words) && error.lines().count() == 1,
            "{error}"
        );
    }
    assert!(iodyno(state.path(), &["tune", "undo", "--all"]).status.success());
}

#[test]
fn a_dry_run_prints_the_writes_and_makes_none() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let output = iodyno(
        state.path(),
        &["tune", "set", &device.name, "read_ahead_kb=512", "scheduler=mq-deadline", "--dry-run"],
    );
    let said = text(&output);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].starts_with("echo 'mq-deadline' | sudo tee '/sys/"), "the scheduler goes first: {said}");
    assert!(lines[1].starts_with("echo '512' | sudo tee '/sys/"), "{said}");
    assert_eq!(device.read_settings(), before);
    assert!(!state.path().join("journal.jsonl").exists());
}

#[test]
fn what_somebody_else_changed_is_left_alone_until_forced() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.setting("read_ahead_kb").unwrap();
    assert!(iodyno(state.path(), &["tune", "set", &device.name, "read_ahead_kb=512"]).status.success());
    device.write("read_ahead_kb", "64");
    let output = iodyno(state.path(), &["tune", "undo", &device.name]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("reads 64, which somebody else set"), "{}", text(&output));
    assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("64"));
    assert!(iodyno(state.path(), &["tune", "undo", &device.name, "--force"]).status.success());
    assert_eq!(device.setting("read_ahead_kb"), Some(before));
}

/// Kills `iodyno tune set` at moments spread over its life and undoes; the full count of rounds is a long test.
#[test]
fn killed_at_any_moment_everything_comes_back() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let rounds = std::env::var("IODYNO_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40_u64);
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let mut interrupted = 0;
    for round in 0..rounds {
        let changes: Vec<String> = (0..CHANGES.len())
            .filter(|index| (round >> (index % 4)) & 1 == 0 || index % 3 == (round as usize) % 3)
            .map(|index| format!("{}={}", CHANGES[index].0, CHANGES[index].1))
            .collect();
        let mut args = vec!["tune", "set", device.name.as_str()];
        args.extend(changes.iter().map(String::as_str));
        let mut child =
            command(state.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(round * 37_777 % 60_000));
        interrupted += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let output = iodyno(state.path(), &["tune", "undo", "--all"]);
        assert!(output.status.success(), "round {round}: {}", text(&output));
        assert_eq!(device.read_settings(), before, "round {round}: {}", text(&output));
    }
    assert!(interrupted > 0, "no round was interrupted; the test watched nothing");
}

#[test]
fn two_at_once_keep_the_journal_whole() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before: BTreeMap<_, _> = device.read_settings();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let (setting, value) = CHANGES[[1, 4, 5, 6][n % 4]];
            let change = format!("{setting}={value}");
            command(state.path(), &["tune", "set", &device.name, &change])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        child.wait().unwrap();
    }
    let journal = iodyno(state.path(), &["tune", "journal", "--json"]);
    let journal: serde_json::Value = serde_json::from_slice(&journal.stdout).unwrap();
    let opened =
        journal["records"].as_array().unwrap().iter().filter(|record| record["event"] == "open").count();
    assert!((4..=8).contains(&opened), "{opened} sessions");
    let output = iodyno(state.path(), &["tune", "undo", "--all"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(device.read_settings(), before);
}

/// Not a test by itself: [`an_experiment_that_was_killed_is_undone_without_asking`] runs it in a process of its own.
#[test]
#[ignore = "is run by another test, which kills it"]
fn hold_settings_until_killed() {
    let Some(drive) = std::env::var_os("IODYNO_HOLD") else { return };
    let drive = Device::Drive(DriveName::new(drive.to_str().unwrap()));
    let desk = Desk::new(&Origin::Live, &Origin::Live.open().unwrap()).unwrap();
    let hold = desk.hold().unwrap();
    let wanted = |id, value| Wanted::new(drive.clone(), find(id).unwrap(), value);
    hold.set(&[wanted("scheduler", "mq-deadline"), wanted("read_ahead_kb", "512")]).unwrap();
    println!("held");
    std::thread::sleep(Duration::from_mins(10));
}

#[test]
fn an_experiment_that_was_killed_is_undone_without_asking() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let before = device.read_settings();
    let path = device.device();
    let starts: [&[&str]; 3] = [
        &["tune", "list", &device.name],
        &["tune", "set", &device.name, "nomerges=0"],
        &["bench", "--filename", path.to_str().unwrap(), "--runtime", "1"],
    ];
    for start in starts {
        let state = tempfile::tempdir().unwrap();
        let mut holder = Command::new(std::env::current_exe().unwrap());
        holder.args(["--exact", "hold_settings_until_killed", "--ignored", "--nocapture"]);
        holder.env("IODYNO_HOLD", &device.name).env("IODYNO_STATE_DIR", state.path());
        let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(holder.stdout.take().unwrap()).lines();
        assert!(said.map_while(Result::ok).any(|line| line.contains("held")), "it never held");
        assert_eq!(device.setting("scheduler").as_deref(), Some("mq-deadline"));
        let living = iodyno(state.path(), start);
        assert_eq!(device.setting("read_ahead_kb").as_deref(), Some("512"), "a living one's settings stay");
        assert!(living.status.success(), "{}", text(&living));
        holder.kill().unwrap();
        holder.wait().unwrap();
        let dry = iodyno(state.path(), &["tune", "set", &device.name, "nomerges=0", "--dry-run"]);
        assert!(dry.status.success());
        assert_eq!(device.setting("scheduler").as_deref(), Some("mq-deadline"), "a dry run writes nothing");
        let output = iodyno(state.path(), start);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("was killed in the middle of its work")
                && said.contains("scheduler: is none again"),
            "{said}"
        );
        assert_eq!(device.read_settings(), before);
        let again = iodyno(state.path(), start);
        assert!(!String::from_utf8_lossy(&again.stderr).contains("was killed"), "put back once");
    }
}

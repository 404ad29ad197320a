//! Experiments on a real loop device: ended by themselves, by signals and by kills, and every setting as it was.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and puts its device's settings back"
)]

#[path = "common/loop_device.rs"]
mod loop_device;

use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use loop_device::LoopDevice;
use rustix::process::{Pid, Signal, kill_process};

fn iodyno(state: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", state).args(args).stdin(Stdio::null());
    command
}

/// An experiment that changes scheduler and readahead of the device, in runs of a tenth of a second.
fn experiment(state: &Path, device: &LoopDevice, most: &str) -> Command {
    let path = device.device().display().to_string();
    let arms = ["found: bs=4k", "other: scheduler=mq-deadline read_ahead_kb=512 nr_requests=64 bs=4k"];
    let mut args = vec!["experiment", "run", "own", "--filename", &path, "--max-time", most, "--json"];
    args.extend(["--runtime", "100ms", "--ramp_time", "10ms"]);
    args.extend(arms.iter().flat_map(|arm| ["--arm", arm]));
    iodyno(state, &args)
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn it_measures_counts_and_restores() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let before = device.read_settings();
    let output = experiment(state.path(), &device, "6s").output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output));
    assert_eq!(device.read_settings(), before);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["restored"], &document["simulated"]), (&true.into(), &false.into()));
    let rounds = document["rounds"].as_u64().unwrap();
    let thrown_out = document["thrown_out"].as_u64().unwrap();
    // The first round starts however late it is.
    assert!(rounds + thrown_out >= 1, "{document}");
    for arm in document["arms"].as_array().unwrap() {
        assert!(arm["left_out"].is_null(), "{arm}");
        let runs = arm["runs"].as_array().unwrap();
        assert_eq!(runs.len() as u64, rounds);
        assert!(runs.iter().all(|run| run["iops"].as_f64().unwrap() > 10.0), "{arm}");
    }
    let journal = iodyno(state.path(), &["tune", "journal", "--json"]).output().unwrap();
    let journal: serde_json::Value = serde_json::from_slice(&journal.stdout).unwrap();
    let events = journal["records"].as_array().unwrap();
    let count = |event: &str| events.iter().filter(|record| record["event"] == event).count();
    assert!(count("change") >= 6 && count("undone") >= 6, "{journal}");
    assert_eq!((count("open"), count("close")), (1, 1), "one session");
}

/// Cuts the file of a device, which keeps its size: reads behind the end of the file fail with EIO.
fn cut(device: &LoopDevice, bytes: u64) {
    let backing = std::fs::read_to_string(format!("/sys/block/{}/loop/backing_file", device.name)).unwrap();
    std::fs::File::options().write(true).open(backing.trim()).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_device_that_cannot_be_read_in_part_or_at_all_is_refused_before_a_setting_is_written() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let path = device.device().display().to_string();
    for (bytes, wrong) in
        [(15 << 20, "test reads failed"), (8 << 20, "test reads failed"), (0, "no read succeeded")]
    {
        cut(&device, bytes);
        for name in ["readahead", "scheduler"] {
            let state = tempfile::tempdir().unwrap();
            let words =
                ["experiment", "run", name, "--filename", &path, "--rounds", "8", "--runtime", "100ms"];
            let output = iodyno(state.path(), &words).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", text(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let expected = format!("{wrong}: EIO: Input/output error at byte ");
            assert!(said.starts_with(&format!("iodyno: {path}: ")), "{said}");
            assert!(said.contains(&expected) && said.contains("; check `dmesg`"), "{said}");
            let journal = iodyno(state.path(), &["tune", "journal", "--json"]).output().unwrap();
            let journal: serde_json::Value = serde_json::from_slice(&journal.stdout).unwrap();
            assert_eq!(journal["records"].as_array().unwrap().len(), 0, "{name}: {journal}");
        }
    }
}

#[test]
fn a_device_that_fails_later_is_restored_and_said_so() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let (state, before) = (tempfile::tempdir().unwrap(), device.read_settings());
    let mut command = experiment(state.path(), &device, "5m");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_changed(&device, &mut child);
    cut(&device, 0);
    let output = child.wait_with_output().unwrap();
    assert_eq!(device.read_settings(), before, "{}", text(&output));
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}", text(&output));
    assert!(text(&output).contains("EIO") || text(&output).contains("failed"), "{}", text(&output));
    let restored = ["(all settings restored)", "\"restored\": true", "\"restored\":true"];
    assert!(restored.iter().any(|words| text(&output).contains(words)), "{}", text(&output));
}

fn wait_until_changed(device: &LoopDevice, child: &mut Child) {
    for _ in 0..24_000 {
        if device.setting("scheduler").as_deref() == Some("mq-deadline") {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it changed anything");
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing was changed in two minutes");
}

#[test]
fn a_signal_ends_it_after_everything_was_put_back() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let before = device.read_settings();
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::XCPU, 152)] {
        let state = tempfile::tempdir().unwrap();
        let mut command = experiment(state.path(), &device, "5m");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until_changed(&device, &mut child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output));
        assert_eq!(device.read_settings(), before, "{signal:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["restored"], true);
        let because = document["ended_because"].as_str().unwrap();
        assert!(because.starts_with("The signal SIG") && because.ends_with(" stopped it."), "{because}");
    }
}

/// Kills it at moments spread over its life; the next change puts everything back. 50 rounds are a long test.
///
/// Even rounds count from its start, odd ones from the first setting that was seen changed: a clock alone may miss them all.
#[test]
fn killed_at_any_moment_the_next_change_restores_without_asking() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let rounds = std::env::var("IODYNO_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(6_u64);
    let before = device.read_settings();
    let mut changed = 0;
    // A busy machine may put a setting back between the look and the kill: then further rounds are made.
    let most = rounds + 60;
    for round in (0..most).map(|round| if round < rounds { round } else { round | 1 }) {
        if round >= rounds && changed > 0 {
            break;
        }
        let state = tempfile::tempdir().unwrap();
        let mut command = experiment(state.path(), &device, "5m");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // From before the first change to the tenth run or so, at moments that no step of it shares.
        let spread = Duration::from_micros(round * 618_033 % 2_500_000);
        if round % 2 == 0 {
            std::thread::sleep(Duration::from_millis(50) + spread);
        } else {
            wait_until_changed(&device, &mut child);
            // Later rounds are there for a change to be met.
            std::thread::sleep(if round < rounds { spread / 50 } else { Duration::ZERO });
        }
        assert!(child.try_wait().unwrap().is_none(), "round {round} ended before it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
        changed += usize::from(device.read_settings() != before);
        let output = iodyno(state.path(), &["tune", "set", &device.name, "nomerges=0"]).output().unwrap();
        assert!(output.status.success(), "round {round}: {}", text(&output));
        assert_eq!(device.read_settings(), before, "round {round}: {}", text(&output));
    }
    println!("{rounds} were killed while they ran, {changed} of them with settings changed; all came back");
    assert!(changed > 0, "no kill met a changed setting; the test watched nothing");
}

/// The question of the page cache, on a file, in runs of a tenth of a second that read 20 of its 64 MiB at most.
fn page_cache(state: &Path, file: &Path, more: &[&str]) -> Output {
    let path = file.display().to_string();
    let mut args = vec!["experiment", "run", "direct", "--filename", &path, "--max-time", "20s"];
    args.extend(["--bs", "1m", "--rate_iops", "100", "--runtime", "100ms", "--ramp_time", "10ms"]);
    args.extend(more);
    iodyno(state, &args).output().unwrap()
}

#[test]
fn buffered_runs_do_not_read_pages_of_earlier_rounds() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7_u8; 64 << 20]).unwrap();
    let open = std::fs::File::open(&file).unwrap();
    open.sync_all().unwrap();
    rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let output = page_cache(folder.path(), &file, &["--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let samples = document["samples"].as_array().unwrap();
    let of = |label: &'static str| samples.iter().filter(move |sample| sample["arm"] == label);
    assert!(of("direct").all(|sample| sample["from_cache"].is_null()), "{document}");
    let shares: Vec<f64> = of("buffered").filter_map(|sample| sample["from_cache"].as_f64()).collect();
    assert!(shares.len() >= 2 && shares.iter().all(|share| *share < 0.9), "{shares:?}");
    // Pages that were there before are left alone; a run that reads them says nothing of the drive.
    std::fs::read(&file).unwrap();
    let output = page_cache(folder.path(), &file, &[]);
    assert!(
        text(&output).contains("buffered: 100 % of its bytes came from the page cache"),
        "{}",
        text(&output)
    );
}

//! `iodyno stat` on this machine: rows, CSV, JSON lines, averages, errors.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]
#![expect(clippy::disallowed_methods, reason = "the devices are the test's own")]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use loop_device::{LoopDevice, ZramDevice};
use program::{command, iodyno, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SIZE: u64 = 64 << 20;

fn stat(arguments: &[&str]) -> String {
    let state = tempfile::tempdir().unwrap();
    let output = iodyno(state.path(), &[&["stat"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(output.stderr.is_empty(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn two_intervals_are_two_lines_of_json_and_their_averages() {
    let lines = stat(&["--json", "--interval", "0.2", "--count", "2"]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, second, averages] = &lines[..] else { panic!("{lines:?}") };
    assert!(averages["average"] == true && second.get("average").is_none(), "{lines:?}");
    assert!(second["time"].as_i64().unwrap() > first["time"].as_i64().unwrap());
    let seconds = |line: &Value| line["elapsed_seconds"].as_f64().unwrap();
    assert!((seconds(averages) - seconds(first) - seconds(second)).abs() < 1e-6, "{lines:?}");
    for line in [first, second, averages] {
        assert_eq!(line["schema"], 1);
        for list in ["cpus", "drives", "hops", "interrupts"] {
            assert!(line[list].is_array(), "{list}");
        }
        for field in ["threads", "processes", "profile", "cycles_per_second"] {
            assert!(line.get(field).is_some(), "{field}");
        }
        let elapsed = line["elapsed_seconds"].as_f64().unwrap();
        assert!(elapsed > 0.0, "{elapsed}");
        let cpu = line["cpu"].as_object().unwrap();
        let sum: f64 = cpu.values().map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 100.0).abs() < 0.01, "{cpu:?}");
    }
}

#[test]
fn csv_has_one_heading_and_as_many_cells_in_every_row() {
    let csv = stat(&["--csv", "--cpu", "--interval", "0.2", "--count", "2"]);
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() >= 5 && cells.iter().all(|count| *count == cells[0]), "{csv}");
    assert_eq!(csv.matches("%iowait").count(), 1, "{csv}");
}

#[test]
fn every_table_has_its_columns() {
    let tables = stat(&[
        "--interval",
        "0.2",
        "--count",
        "1",
        "--iostat",
        "--cpu",
        "--interrupts",
        "--threads",
        "--processes",
    ]);
    for columns in ["r_await rareq-sz", "%iowait", "intr/s I/O/intr", "syscall", "rMB/s     wMB/s %share"] {
        assert!(tables.contains(columns), "{columns} in {tables}");
    }
    let dstat = stat(&["--interval", "0.1", "--count", "30"]);
    assert_eq!(dstat.lines().filter(|line| line.starts_with("time       run blk new")).count(), 2, "{dstat}");
    let rows: Vec<&str> = dstat.lines().filter(|line| line.starts_with(char::is_numeric)).collect();
    let has_time = |row: &&str| row.as_bytes().get(2) == Some(&b':') && row.as_bytes().get(10) == Some(&b' ');
    assert!(rows.len() == 30 && rows.iter().all(has_time), "{dstat}");
    assert_eq!(dstat.lines().count(), 30 + 2 * 2 + 1, "{dstat}");
    let last = dstat.lines().last().unwrap();
    assert!(last.starts_with("average "), "{dstat}");
    let one = stat(&["--json", "0.1", "1"]);
    assert_eq!(one.lines().count(), 1, "one interval is its own average: {one}");
}

#[test]
fn a_signal_ends_it_with_averages() {
    let state = tempfile::tempdir().unwrap();
    let mut child = command(state.path(), &["stat", "--json", "--interval", "0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(last["average"], true);
    let first: Value = serde_json::from_str(&first).unwrap();
    assert!(first.get("average").is_none());
    assert!(last["elapsed_seconds"].as_f64().unwrap() >= first["elapsed_seconds"].as_f64().unwrap());
}

/// All numbers of a document with their paths.
fn numbers(value: &Value, path: &str, each: &mut dyn FnMut(&str, f64)) {
    match value {
        Value::Number(number) => each(path, number.as_f64().unwrap()),
        Value::Array(all) => all.iter().for_each(|one| numbers(one, path, each)),
        Value::Object(all) => {
            all.iter().for_each(|(name, one)| numbers(one, &format!("{path}.{name}"), each));
        }
        _ => {}
    }
}

#[test]
fn devices_that_come_and_go_have_rates_only_while_they_are_there() {
    let state = tempfile::tempdir().unwrap();
    let mut child = command(state.path(), &["stat", "--json", "--interval", "0.1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let lists =
        |line: &Value, name: &str| line["drives"].as_array().unwrap().iter().any(|one| one["name"] == name);
    for _ in 0..3 {
        let Some(zram) = ZramDevice::new(SIZE) else { break };
        let Some(loops) = LoopDevice::new(SIZE) else { break };
        let name = zram.name.clone();
        let began = (0..50).any(|_| {
            for device in [zram.device(), loops.device()] {
                std::io::copy(&mut std::fs::File::open(device).unwrap(), &mut std::io::sink()).unwrap();
            }
            lists(&next(), &name)
        });
        drop((zram, loops));
        let ended = (0..50).any(|_| !lists(&next(), &name));
        assert!(began && ended, "{name} came: {began}, went: {ended}");
    }
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let averages = std::iter::from_fn(|| lines.next()).last().unwrap().unwrap();
    child.wait().unwrap();
    numbers(&serde_json::from_str(&averages).unwrap(), "", &mut |path, number| {
        let most = if path.ends_with("bytes_per_second") { 1e12 } else { 1e19 };
        assert!((0.0..most).contains(&number), "{path} {number}");
    });
}

/// Such a device has counters from the begin.
#[test]
fn a_loop_device_that_gets_its_file_later_is_shown() {
    if LoopDevice::new(SIZE).is_none() {
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let mut child = command(state.path(), &["stat", "--json", "--interval", "0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    next();
    let device = LoopDevice::new(SIZE).expect("there was one before");
    let is_shown = (0..20).any(|_| {
        std::io::copy(&mut std::fs::File::open(device.device()).unwrap(), &mut std::io::sink()).unwrap();
        next()["drives"].as_array().unwrap().iter().any(|one| one["name"] == *device.name)
    });
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    child.wait().unwrap();
    assert!(is_shown, "{}", device.name);
}

#[test]
fn a_device_with_iostats_0_is_named() {
    let Some(device) = LoopDevice::new(SIZE) else { return };
    let path = format!("/sys/block/{}/queue/iostats", device.name);
    let reason = format!("{} not counted: iostats is 0", device.name);
    let state = tempfile::tempdir().unwrap();
    let shown = |arguments: &[&str]| {
        let rest = ["--interval", "0.2", "--count", "3"];
        let output = iodyno(state.path(), &[&["stat"], arguments, &rest].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        [output.stdout, output.stderr].map(|out| String::from_utf8(out).unwrap())
    };
    let is_named = |line: &Value| {
        let problems = line["problems"].as_array().unwrap();
        let drives = line["drives"].as_array().unwrap();
        let drive = drives.iter().find(|drive| drive["name"] == *device.name);
        problems.iter().any(|problem| problem["reason"] == "not counted: iostats is 0")
            && drive.is_some_and(|drive| drive["read"]["iops"].is_null())
    };
    let parsed = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    assert!(shown(&["--json"])[0].lines().all(|line| !is_named(&parsed(line))));

    let mut child = command(state.path(), &["stat", "--json", "--interval", "0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next();
    std::fs::write(&path, "0").unwrap();
    let is_seen = (0..20).any(|_| is_named(&parsed(&lines.next().unwrap().unwrap())));
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    child.wait().unwrap();

    let [table, _] = shown(&["--iostat"]);
    let [csv, said] = shown(&["--csv", "--iostat"]);
    let [dstat, _] = shown(&[]);
    std::fs::write(&path, "1").unwrap();
    assert!(is_seen, "the setting changes while it runs");
    assert_eq!(table.matches(&reason).count(), 1, "{table}");
    assert!(said.contains(&reason) && said.lines().count() == 1, "{said}");
    assert!(csv.contains(&format!(",{},,,", device.name)), "{csv}");
    assert!(!dstat.contains(&reason), "its sums have no loop devices: {dstat}");
}

/// `iostat` has zeros where `stat --json` has nulls.
#[test]
fn a_comparison_leaves_out_what_is_not_counted() {
    const CALL: &str = "
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader('compare', sys.argv[1])
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader('compare', loader))
loader.exec_module(compare)
sides = lambda rate: {way: {'bytes_per_second': rate, 'iops': rate} for way in ('read', 'write', 'discard', 'flush')}
drive = lambda name, rate: {'name': name, 'utilisation': rate, **sides(rate)}
line = lambda rate: json.dumps({'elapsed_seconds': 1.0, 'cpus': [], 'processes': None, 'interrupts': [],
    'drives': [drive('nvme0n1', 2048.0), drive('loop0', rate)]})
kib = dict.fromkeys(('rkB/s', 'wkB/s', 'dkB/s'), 2.0)
disk = lambda name: {'disk_device': name, **kib, **dict.fromkeys(('r/s', 'w/s', 'd/s', 'f/s', 'util'), 2048.0)}
report = {'disk': [disk('nvme0n1'), disk('loop0')]}
texts = {'iodyno': line(1.0) + '\\n' + line(None),
    'iostat': json.dumps({'sysstat': {'hosts': [{'statistics': [report, report]}]}}),
    'dstat': 'read,writ\\n0,0\\n2048,2048\\n2048,2048\\n'}
print(compare.judged(compare.rows_of(texts, {'queues': 0.0}, ())))
";
    let compare = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/side-by-side/compare");
    let Ok(output) = std::process::Command::new("python3").args(["-B", "-c", CALL, compare]).output() else {
        loop_device::skip::skipped("no python3");
        return;
    };
    let said = text(&output);
    assert!(output.status.success() && said.ends_with("\n0\n"), "{said}");
    assert!(said.contains("loop0 rkB: left out, iodyno has no rate"), "{said}");
    let compared = |of: &str| said.lines().any(|line| line.starts_with(of) && !line.contains("left out"));
    assert!(compared("nvme0n1 %util") && compared("all drives read") && !compared("loop0"), "{said}");
}

/// zram counts although its `iostats` is 0.
#[test]
fn the_screen_shows_what_is_read_from_zram() {
    let Some(zram) = ZramDevice::new(SIZE) else { return };
    assert_eq!(zram.setting("iostats").as_deref(), Some("0"));
    let is_over = AtomicBool::new(false);
    let name = format!("{}  ", zram.name);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                std::io::copy(&mut std::fs::File::open(zram.device()).unwrap(), &mut std::io::sink())
                    .unwrap();
            }
        });
        // In the tree's folded row, and in the list by load.
        let pictures = [("", "software drives"), ("s", &name)].map(|(keys, row)| {
            let state = tempfile::tempdir().unwrap();
            let mut arguments =
                vec!["render", "machine", "--size", "120x40", "--format", "text", "--seconds", "4"];
            arguments.extend(["--keys", keys]);
            (row, text(&iodyno(state.path(), &arguments)))
        });
        is_over.store(true, Ordering::Relaxed);
        for (row, picture) in pictures {
            let row = picture.lines().find(|line| line.contains(row)).expect(&picture);
            let is_rate =
                |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains(['.', 'M']);
            let read = row.split_whitespace().find(|word| is_rate(word));
            assert!(read.is_some_and(|read| read != "0.00"), "{picture}");
        }
    });
}

#[test]
fn a_closed_pipe_is_no_error() {
    let state = tempfile::tempdir().unwrap();
    let mut child = command(state.path(), &["stat", "--interval", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_one_line_with_its_fix() {
    for (arguments, line) in [
        (&["--interval", "0"][..], "--interval 0: is no interval; use seconds from 0.1 to 86400"),
        (&["--count", "0"], "--count 0: is no number of intervals; use 1 or more"),
        (&["--csv", "--cpu", "--iostat"], "--csv: takes one table; name one of them, or use --json"),
        (&["1", "2", "--count", "2"], "COUNT: conflicts with --count <N>; leave one out"),
        (&["--interval", "1", "3"], "--interval: conflicts with [INTERVAL]; leave one out"),
        (&["0"], "INTERVAL 0: is no interval; use seconds from 0.1 to 86400"),
        (&["--csv", "--json"], "--csv: conflicts with --json; leave one out"),
        (&["--demo", "laptop"], "--demo: a demo has no counters over time; leave it out"),
        (&["--open", "tests/fixtures/a-shared-rc.capture"], "--open: a capture has no counters over time"),
    ] {
        let state = tempfile::tempdir().unwrap();
        let output = iodyno(state.path(), &[&["stat"], arguments].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(output.stdout.is_empty() && said.starts_with(&format!("iodyno: {line}")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_profile_has_shares_of_functions_or_a_reason() {
    let json = stat(&["--json", "--profile", "--interval", "1", "--count", "1"]);
    let line: Value = serde_json::from_str(json.trim()).unwrap();
    let Some(profile) = line["profile"].as_object() else {
        let problems = line["problems"].as_array().unwrap();
        let refusal = problems.iter().find(|problem| problem["path"] == "perf_event_open");
        loop_device::skip::skipped(refusal.expect("the reason is a problem"));
        return;
    };
    let busy = profile["busy_samples"].as_u64().unwrap();
    let sum = |list: &str| -> f64 {
        let rows = profile[list].as_array().unwrap();
        rows.iter().map(|row| row["percent"].as_f64().unwrap()).sum()
    };
    let all = if busy > 0 { 100.0 } else { 0.0 };
    assert!((sum("words") - all).abs() < 0.01 && (sum("functions") - all).abs() < 0.01, "{json}");
    // 99 samples a second of each CPU, some less on a host that is busy; a ring that overflows loses most of them.
    assert!(busy + profile["idle_samples"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(profile["lost_samples"], 0, "{json}");
    let counted = line["cycles_per_second"].as_f64().is_some_and(|cycles| cycles > 0.0);
    let has_reason =
        line["problems"].as_array().unwrap().iter().any(|problem| problem["path"] == "perf_event_open");
    assert!(counted || has_reason, "{json}");
}

#[test]
fn a_long_interval_keeps_all_samples() {
    // A ring has room for some three seconds.
    let json = stat(&["--json", "--profile", "--interval", "4", "--count", "2"]);
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    match last["profile"].as_object() {
        Some(profile) => assert_eq!(profile["lost_samples"], 0, "{json}"),
        None => loop_device::skip::skipped("no profile here"),
    }
}

#[test]
fn a_profile_is_of_this_machine_only() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let sysroot = format!("--sysroot={}", folder.path().display());
    let output = iodyno(state.path(), &["stat", "--profile", &sysroot]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("--profile: a folder has no CPUs to sample; leave out --sysroot"),
        "{}",
        text(&output)
    );
}

//! `iodyno bench` on a file and on a loop device: counts, refusals, exit statuses.
//!
//! Nothing here asserts a speed. Tests that need a loop device make one over a file of their own, and are passed over
//! where that is not allowed.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]
#![expect(clippy::disallowed_methods, reason = "how long a stop takes is measured")]

#[path = "common/reads.rs"]
mod reads;

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use reads::wait_until_it_reads;
use serde_json::Value;

/// A folder on the file system of the sources, which knows direct I/O where /tmp may not.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file without zeros.
fn file_in(folder: &Path, mebibytes: usize) -> PathBuf {
    let path = folder.join("target");
    let content: Vec<u8> = (0..mebibytes << 20).map(|n| u8::try_from(n * 31 % 251).unwrap() + 1).collect();
    let mut file = File::create(&path).unwrap();
    file.write_all(&content).unwrap();
    file.sync_all().unwrap();
    path
}

fn command(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    // Keeps the runs of tests out of the user's state folder.
    command.env("IODYNO_STATE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/bench-state"));
    command.arg("bench").args(options);
    command
}

fn bench(path: &Path, options: &[&str]) -> Output {
    command(options).arg("--filename").arg(path).output().unwrap()
}

fn json(path: &Path, options: &[&str]) -> Value {
    let output = bench(path, &[options, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line on standard error of a command that fails.
fn refusal(path: &Path, options: &[&str]) -> String {
    let output = bench(path, options);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("iodyno: ") && said.lines().count() == 1, "{said}");
    said
}

/// A loop device; detached, with its queue settings as they were, when it goes.
struct LoopDevice {
    path: PathBuf,
    settings: Vec<(PathBuf, String)>,
}

impl LoopDevice {
    fn over(file: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--show", "-f"]).arg(file).output().ok()?;
        if !made.status.success() {
            return None;
        }
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        let queue = Path::new("/sys/block").join(path.file_name().unwrap()).join("queue");
        let settings = ["scheduler", "iostats", "nomerges"]
            .map(|setting| queue.join(setting))
            .into_iter()
            .filter_map(|file| Some((file.clone(), current(&fs::read_to_string(file).ok()?))))
            .collect();
        let device = Self { path, settings };
        // Known values: diskstats count, nothing merges or reorders.
        for (setting, value) in [("scheduler", "none"), ("iostats", "1"), ("nomerges", "2")] {
            let _ = File::options()
                .write(true)
                .open(queue.join(setting))
                .and_then(|mut f| f.write_all(value.as_bytes()));
        }
        device.opens().then_some(device)
    }

    /// Some systems let a loop device be made and not be read.
    fn opens(&self) -> bool {
        File::open(&self.path).is_ok()
    }

    /// Reads completed, and bytes read, of /proc/diskstats.
    fn reads(&self) -> (u64, u64) {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let rows = fs::read_to_string("/proc/diskstats").unwrap();
        let row = rows.lines().find(|row| row.split_whitespace().nth(2) == Some(name)).unwrap();
        let field = |number| row.split_whitespace().nth(number).unwrap().parse::<u64>().unwrap();
        (field(3), field(5) * 512)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for (file, value) in &self.settings {
            let _ = File::options().write(true).open(file).and_then(|mut f| f.write_all(value.as_bytes()));
        }
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

/// The bracketed word, or all of it.
fn current(content: &str) -> String {
    let bracketed = content.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(content.trim(), |(word, _)| word).to_owned()
}

#[test]
fn what_is_counted_on_a_loop_device_agrees_with_the_kernels_own_count() {
    let folder = folder();
    let Some(device) = LoopDevice::over(&file_in(folder.path(), 64)) else {
        return;
    };
    for options in [
        &["--runtime=2"][..],
        &["--runtime=2", "--ioengine=libaio", "--offset=16m", "--size=8m"],
        &["--runtime=2", "--ioengine=posixaio", "--rw=read", "--numjobs=2"],
        &["--runtime=2", "--ioengine=psync", "--iodepth=4", "--ramp_time=0"],
        // The blocks sampled before a test are of --bs.
        &["--io_size=32m", "--bssplit=4k/25:16k/75", "--bs=4k"],
        &["--io_size=32m", "--bssplit=4k/25:16k/75", "--bs=4k", "--rw=read", "--ioengine=libaio"],
    ] {
        let before = device.reads();
        let document = json(&device.path, options);
        let after = device.reads();
        let read = &document["jobs"][0]["read"];
        let reads = read["total_ios"].as_f64().unwrap() / (after.0 - before.0) as f64;
        let bytes = read["io_bytes"].as_f64().unwrap() / (after.1 - before.1) as f64;
        // Without a clock: --io_size reads more than 1000 blocks in any time.
        let least = if options[0].starts_with("--io_size") { 1000 } else { 0 };
        assert!(read["total_ios"].as_u64().unwrap() > least, "{options:?}: {read}");
        assert!(
            (0.95..1.001).contains(&reads) && (0.95..1.001).contains(&bytes),
            "{options:?}: {reads} {bytes}"
        );
        assert_eq!(document["jobs"][0]["errors"], 0, "{options:?}");
        if options.iter().any(|option| option.starts_with("--bssplit")) {
            // A quarter of 4 KiB, three of 16 KiB: 13 KiB in the mean.
            let mean = read["io_bytes"].as_f64().unwrap() / read["total_ios"].as_f64().unwrap() / 1024.0;
            assert!((mean / 13.0 - 1.0).abs() < 0.05, "{mean}");
        }
    }
}

#[test]
fn a_target_whose_reads_fail_is_an_answer_of_no_and_one_that_gives_nothing_cannot_be_tested() {
    let folder = folder();
    let path = file_in(folder.path(), 8);
    let mut command = command(&["--runtime=100", "--ramp_time=0", "--json", "--filename"]);
    let child = command.arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    wait_until_it_reads(child.id());
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &document["jobs"][0];
    assert!(job["read"]["total_ios"].as_u64().unwrap() > 100 && job["errors"].as_u64().unwrap() > 0);
    assert_ne!(job["error"], 0);

    // A file of sysfs has a size of one page and less content.
    let output = bench(Path::new("/sys/kernel/uevent_seqnum"), &["--direct=0", "--runtime=1", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("iodyno: /sys/kernel/uevent_seqnum: no read succeeded: "), "{said}");
    assert_eq!(said.lines().count(), 1);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(document["jobs"][0]["error"], 0, "the document is there all the same");
}

#[test]
fn a_part_of_a_target_is_read_once_and_no_more() {
    let folder = folder();
    let path = file_in(folder.path(), 8);
    for (options, bytes) in [
        (&["--runtime=0", "--offset=6m", "--rw=read", "--bs=64k"][..], 2 << 20),
        (&["--runtime=0", "--offset=1m", "--size=1m"], 1 << 20),
        (&["--io_size=16m", "--size=4m", "--rw=read", "--bs=64k"], 16 << 20),
        (&["--io_size=3m", "--runtime=60", "--numjobs=2"], 6 << 20),
    ] {
        let document = json(&path, options);
        assert_eq!(document["jobs"][0]["read"]["io_bytes"], bytes, "{options:?}");
    }
}

#[test]
fn the_document_has_what_scripts_rely_on() {
    let folder = folder();
    let document = json(&file_in(folder.path(), 8), &["--runtime=1", "--name=shape", "--numjobs=2"]);
    assert_eq!(document["schema"], 1);
    assert!(document["fio version"].as_str().unwrap().starts_with("iodyno "));
    for name in ["engine", "completion", "ring_flags", "batch", "placement", "memory", "fallbacks"] {
        assert!(!document["effective"][name].is_null(), "{name}");
    }
    let job = &document["jobs"][0];
    assert_eq!((job["jobname"].as_str(), job["simulated"].as_bool()), (Some("shape"), Some(false)));
    let read = &job["read"];
    let (ios, bytes) = (read["total_ios"].as_f64().unwrap(), read["io_bytes"].as_f64().unwrap());
    assert!((bytes / ios - 4096.0).abs() < 1e-9);
    let rate = ios / read["runtime"].as_f64().unwrap() * 1000.0;
    assert!((read["iops"].as_f64().unwrap() / rate - 1.0).abs() < 0.01);
    assert_eq!(read["clat_ns"]["N"], read["total_ios"]);
    let percentile = |name: &str| read["clat_ns"]["percentile"][name].as_u64().unwrap();
    assert!(
        percentile("1.000000") <= percentile("50.000000")
            && percentile("50.000000") <= percentile("99.990000")
    );
    // A short run may be sampled in one mode only.
    let cpu = |mode: &str| job["cpu_ns_per_io"][mode].as_f64().unwrap();
    assert!(cpu("user") + cpu("system") > 0.0);
    assert!(job["invalid_because"].is_array());
}

#[test]
fn a_rate_is_kept_and_an_amount_is_read_to_the_end() {
    let folder = folder();
    let path = file_in(folder.path(), 8);
    for engine in ["io_uring", "psync"] {
        let iops = || {
            let limited =
                ["--runtime=3", "--rate_iops=400", "--iodepth=8", "--direct=0", "--ioengine", engine];
            json(&path, &limited)["jobs"][0]["read"]["iops"].as_f64().unwrap()
        };
        // A machine that stops for a second in a run of three reads less: a free one keeps the rate, and none exceeds it.
        let runs: Vec<f64> = std::iter::repeat_with(iops)
            .take(5)
            .scan(false, |kept, iops| {
                let goes_on = !std::mem::replace(kept, (iops / 400.0 - 1.0).abs() < 0.02);
                goes_on.then_some(iops)
            })
            .collect();
        assert!((runs.last().unwrap() / 400.0 - 1.0).abs() < 0.02, "{engine}: {runs:?}");
        assert!(runs.iter().all(|iops| *iops < 408.0), "{engine}: {runs:?}");
    }
    let document = json(&path, &["--runtime=0", "--size=4m", "--rw=read", "--bs=64k"]);
    assert_eq!(document["jobs"][0]["read"]["io_bytes"], 4 << 20);
}

#[test]
fn unreadable_targets_are_one_line_with_a_fix() {
    let folder = folder();
    let path = file_in(folder.path(), 1);
    assert!(refusal(folder.path(), &[]).contains("is a directory; name a file in it"));
    assert!(refusal(&folder.path().join("none"), &[]).contains("ENOENT"));
    assert!(refusal(&path, &["--bs=2m"]).contains("less than one block of 2m"));
    assert!(refusal(&path, &["--size=1g"]).contains("less than --size 1g"));
    assert!(refusal(&path, &["--rw=randwrite"]).contains("iodyno only reads"));
    assert!(refusal(&path, &["--overwrite=1"]).contains("iodyno only reads"));
    assert!(refusal(&path, &["--ioengine=splice"]).contains("use one of io_uring, io_uring_cmd, libaio"));
    assert!(refusal(&path, &["--offset=2m"]).contains("has 1m, less than --offset 2m"));
    assert!(refusal(&path, &["--cpus_allowed=70000"]).contains("not a list of numbers"));
    assert!(refusal(&path, &["--bs=100"]).contains("multiple of 512"));
}

#[test]
fn a_file_is_laid_out_and_gone_after_the_run_unless_it_is_to_be_kept() {
    let folder = folder();
    let path = folder.path().join("laid-out");
    let document = json(&path, &["--size=16m", "--runtime=1"]);
    assert!(!path.exists());
    let doubts = document["jobs"][0]["invalid_because"].to_string();
    assert!(!doubts.contains("zeros") && !doubts.contains("sparse"), "{doubts}");
    json(&path, &["--size=16m", "--runtime=1", "--keep"]);
    assert_eq!(path.metadata().unwrap().len(), 16 << 20);
}

#[test]
fn sparse_files_are_flagged() {
    let folder = folder();
    let path = folder.path().join("sparse");
    File::create(&path).unwrap().set_len(32 << 20).unwrap();
    let document = json(&path, &["--runtime=1"]);
    assert_eq!(document["jobs"][0]["valid"], false);
    let doubts = document["jobs"][0]["invalid_because"].to_string();
    assert!(doubts.contains("sparse") && doubts.contains("all zeros"), "{doubts}");
}

#[test]
fn a_signal_ends_the_run_at_once_with_its_summary_and_without_its_file() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let folder = folder();
        let path = folder.path().join("laid-out");
        let child = command(&["--size=8m", "--runtime=200", "--ramp_time=0", "--filename"])
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until_it_reads(child.id());
        let sent = Instant::now();
        Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        // 200 ms is the promise; the rest is for a machine that does other things too, and less than the run takes.
        assert!(sent.elapsed() < Duration::from_mins(1), "{:?}", sent.elapsed());
        assert_eq!(output.status.code(), Some(status));
        assert!(!path.exists());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("interrupted") && text.contains("IOPS"), "{text}");
    }
}

#[test]
fn a_latency_bound_run_names_latency_for_every_drive_and_no_cpu() {
    let words = ["bench", "--demo", "x570", "--iodepth", "1", "--runtime", "2"];
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_iodyno")).args(words).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    let cause = "latency, 1 I/O in flight per drive";
    assert_eq!(text.matches(cause).count(), 8, "of each drive, in its paragraph and in the table: {text}");
    assert!(text.contains("Latency-bound: 1 I/O in flight per drive."), "{text}");
    assert!(text.contains("per call  1.0 reads, depth 1.0"), "{text}");
    let json = run(&["--json"]);
    assert!(json.contains(cause), "{json}");
    for words in ["cycles per read", "workers busy", "1 worker"] {
        assert!(!text.contains(words) && !json.contains(words), "{words}: {text}{json}");
    }
}

#[test]
fn rows_are_dstats_and_those_of_a_demo_are_marked_simulated() {
    let folder = folder();
    let output = bench(&file_in(folder.path(), 8), &["--runtime=2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("run blk new|usr sys idl wai stl| used  free  buff  cach| read  writ| read  writ"),
        "{text}"
    );
    assert!(!text.contains("SIMULATED"));
    let demo =
        Command::new(env!("CARGO_BIN_EXE_iodyno")).args(["--demo", "bench", "--runtime=1"]).output().unwrap();
    let text = String::from_utf8(demo.stdout).unwrap();
    assert!(text.contains("SIMULATED") && text.contains("/dev/nvme0n1"), "{text}");
}

/// What `check` claims that rings of this kernel lack.
fn refused_of_rings(check: &Value) -> Vec<Value> {
    let about_rings =
        |finding: &&Value| ["io-uring-disabled", "ring-features"].map(Value::from).contains(&finding["id"]);
    let found = check["findings"].as_array().unwrap();
    found.iter().filter(about_rings).map(|finding| finding["title"].clone()).collect()
}

#[test]
fn with_little_locked_memory_rings_are_used_all_the_same() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: becoming another user needs root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = file_in(folder.path(), 1);
    let program = folder.path().join("iodyno");
    // Not by this process: another thread's child would inherit the open copy, which could not be run then.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_iodyno")).arg(&program).status();
    assert!(copied.unwrap().success());
    for path in [folder.path(), &program, &file] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let as_nobody = |arguments: &[&str]| -> Value {
        let limited = "ulimit -l 64; exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh"]).arg(&program).args(arguments);
        let output = command.env("IODYNO_STATE_DIR", folder.path().join("state")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let check = Command::new(&program).args(["check", "--json"]).output().unwrap();
    let unlimited = refused_of_rings(&serde_json::from_slice(&check.stdout).unwrap());
    let run = ["bench", "--runtime", "1", "--direct", "0", "--json", "--filename", file.to_str().unwrap()];
    let runs = std::env::var("IODYNO_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(3);
    for number in 1..=runs {
        let effective = &as_nobody(&run)["effective"];
        assert_eq!(effective["engine"], "io_uring", "run {number} of {runs}: {effective}");
        // 32 blocks of 4 KiB exceed the limit: not registered, with a note.
        let said = effective["fallbacks"].to_string();
        assert!(said.contains("of buffers (ENOMEM") && said.contains("LimitMEMLOCK="), "{said}");
        assert_eq!(refused_of_rings(&as_nobody(&["check", "--json"])), unlimited);
    }
}

#[test]
fn a_run_too_short_for_its_reads_could_not_be_done() {
    let folder = folder();
    let file = file_in(folder.path(), 64);
    // 4 GiB in flight: no read completes within a second on most drives; on faster ones the run has figures.
    let output = bench(&file, &["--bs", "64m", "--iodepth", "64", "--runtime", "1", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &document["jobs"][0];
    let ios = job["read"]["total_ios"].as_u64().unwrap();
    let said = job["invalid_because"].to_string();
    assert_eq!(ios == 0, said.contains("no read completed") && said.contains("--iodepth"), "{job}");
    assert_eq!(output.status.code(), Some(if ios == 0 { 2 } else { 0 }));
    assert!(ios > 0 || String::from_utf8_lossy(&output.stderr).contains("use a longer --runtime"));
}

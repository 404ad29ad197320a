//! Faults of the system under a test: refused rings, limits, devices that fail, shrink, vanish and hang. The test goes on with
//! what is left and names it, or ends with one line.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and writes its own files"
)]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/program.rs"]
mod program;
#[path = "common/reads.rs"]
mod reads;

use std::{
    fs::{self, File},
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use iodyno::{app::keymap, runtime::headless::Headless, source::origin::Origin, ui::theme::Theme};
use loop_device::{LoopDevice, skip::skipped};
use program::text;
use reads::wait_until_it_reads;
use serde_json::Value;

const SIZE: u64 = 8 << 20;

/// A file to read, and a state folder.
struct Scene {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Scene {
    /// In /var/tmp, as a tmpfs has no `O_DIRECT`.
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = folder.path().join("file");
        fs::write(&file, vec![7_u8; usize::try_from(SIZE).unwrap()]).unwrap();
        Self { folder, file }
    }

    fn bench<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["bench", "--filename", file, "--runtime", "500ms", "--json"], more].concat()
    }

    /// Runs a test of the file under strace, which makes system calls fail.
    fn injected(&self, faults: &[&str], more: &[&str]) -> Option<Output> {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null"]);
        command.args(faults.iter().flat_map(|fault| ["-e", fault]));
        if faults.contains(&"trace=pread64") {
            // Not those of libraries.
            command.arg("-P").arg(&self.file);
        }
        command.arg(env!("CARGO_BIN_EXE_iodyno")).args(Self::bench(self.file.to_str().unwrap(), more));
        command.env("IODYNO_STATE_DIR", self.folder.path().join("state")).stdin(Stdio::null());
        match command.output() {
            Ok(output) if !text(&output).contains("ptrace") => Some(output),
            other => {
                skipped(format_args!("strace does not run: {other:?}"));
                None
            }
        }
    }

    /// Runs an experiment on the file under strace, which refuses each thread its child of that number and all after it.
    fn without_threads_from(&self, number: usize) -> Output {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(format!("inject=clone3:error=EAGAIN:when={number}+"));
        command
            .arg(env!("CARGO_BIN_EXE_iodyno"))
            .args(["experiment", "run", "depth", "--filename"])
            .arg(&self.file);
        command.args(["--runtime", "300ms", "--ramp_time", "0", "--max-time", "40s"]).stdin(Stdio::null());
        command.env("IODYNO_STATE_DIR", self.folder.path().join("state")).output().unwrap()
    }

    /// Runs a test of `file` under `ulimit`, as the user nobody where the limit does not hold for root.
    fn limited(&self, limit: &str, more: &[&str], as_nobody: bool) -> Output {
        let binary = self.folder.path().join("iodyno");
        fs::copy(env!("CARGO_BIN_EXE_iodyno"), &binary).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}; exec \"$@\""), "sh"]).arg(&binary);
        command.args(Self::bench(self.file.to_str().unwrap(), more)).stdin(Stdio::null());
        command.env("IODYNO_STATE_DIR", self.folder.path().join("state"));
        if as_nobody && rustix::process::geteuid().is_root() {
            use std::os::unix::fs::PermissionsExt;
            for path in [self.folder.path(), &binary] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }
            command.uid(65534).gid(65534);
        }
        command.output().unwrap()
    }
}

/// The document of a test that ran.
fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(output));
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)));
    assert!(document["jobs"][0]["read"]["total_ios"].as_u64().unwrap() > 0, "it read: {document}");
    document
}

fn fallbacks(document: &Value) -> String {
    document["effective"]["fallbacks"].to_string()
}

/// One line on standard error, with a fix behind the semicolon.
fn refused(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(output));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("iodyno: ") && said.contains("; "), "{said}");
    said
}

#[test]
fn a_forbidden_ring_is_replaced_by_another_engine_and_said() {
    let scene = Scene::new();
    // What the kernel answers with kernel.io_uring_disabled, a seccomp filter, and without io_uring.
    for call in ["io_uring_setup", "io_uring_enter"] {
        for errno in ["EPERM", "ENOSYS", "EAGAIN"] {
            let fault = format!("inject={call}:error={errno}");
            let Some(output) = scene.injected(&[&format!("trace={call}"), &fault], &[]) else { return };
            let document = document(&output);
            assert_eq!(document["effective"]["engine"], "psync", "{document}");
            let said = fallbacks(&document);
            let by_enter = said.contains("io_uring_enter");
            assert!(
                said.contains("io_uring is not available") && by_enter == (call == "io_uring_enter"),
                "{said}"
            );
        }
    }
}

#[test]
fn files_and_buffers_that_cannot_be_registered_are_named() {
    let scene = Scene::new();
    let fault = "inject=io_uring_register:error=ENOMEM";
    let Some(output) = scene.injected(&["trace=io_uring_register", fault], &[]) else { return };
    let said = fallbacks(&document(&output));
    assert!(said.contains("registered"), "{said}");
}

#[test]
fn reads_that_fail_or_return_short_are_counted_and_named() {
    let scene = Scene::new();
    for (fault, words) in [("error=EIO", "EIO"), ("retval=512", "512 of 4096 bytes")] {
        // Each thread's first reads succeed.
        let fault = format!("inject=pread64:{fault}:when=3+");
        let faults = ["trace=pread64", &fault];
        let Some(output) = scene.injected(&faults, &["--ioengine", "psync"]) else { return };
        is_named(&output);
        assert!(text(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn without_threads_it_ends_with_one_line() {
    let scene = Scene::new();
    for number in 1..=3 {
        let fault = format!("inject=clone3:error=EAGAIN:when={number}+");
        let Some(output) = scene.injected(&[&fault], &["--numjobs", "4"]) else { return };
        assert!(refused(&output).contains("cannot start a thread"), "{number}: {}", text(&output));
        let output = scene.without_threads_from(number);
        // The engine that looks for the other end of the file has threads too.
        let said = text(&output);
        assert!(said.contains("cannot start a thread") && !said.contains("panicked"), "{number}: {said}");
        assert_ne!(output.status.code(), Some(101), "{number}: {said}");
    }
}

#[test]
fn little_locked_memory_and_few_descriptors_are_named() {
    let scene = Scene::new();
    let output = scene.limited("ulimit -l 64", &["--iodepth", "64", "--bs", "64k"], true);
    let said = fallbacks(&document(&output));
    assert!(said.contains("locked") || said.contains("RLIMIT_MEMLOCK") || said.contains("ENOMEM"), "{said}");
    // Too few for one ring, and for the second.
    for limit in ["ulimit -n 4", "ulimit -n 5"] {
        let document = document(&scene.limited(limit, &["--numjobs", "16", "--iodepth", "2"], false));
        let said = fallbacks(&document);
        assert_eq!(document["effective"]["engine"], "psync", "{document}");
        assert!(said.contains("EMFILE") && said.contains("raise `ulimit -n`"), "{limit}: {said}");
    }
    let said = refused(&scene.limited("ulimit -n 5", &["--numjobs", "16", "--iodepth", "512"], false));
    assert!(said.contains("EMFILE") && said.contains("raise `ulimit -n`"), "{said}");
}

#[test]
fn a_sheet_that_cannot_read_the_stored_runs_is_printed_and_names_them() {
    let scene = Scene::new();
    let state = scene.folder.path().join("state");
    let sheet = |limit: &str, more: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_iodyno"), "sheet"]);
        command.args(more).env("IODYNO_STATE_DIR", &state).stdin(Stdio::null()).output().unwrap()
    };
    document(&scene.limited("true", &[], false));
    assert!(sheet("true", &[]).status.success());
    let output = sheet("ulimit -n 4", &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Kernel and versions"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/runs: Too many open files: the sheet lacks runs and experiments; "), "{said}");
    let machine = sheet("ulimit -n 4", &["--only", "machine"]);
    assert!(machine.status.success(), "it needs no runs: {}", text(&machine));
}

/// Starts a test, does something to what it reads, and waits for its end.
fn during(file: &Path, state: &Path, fault: impl FnOnce()) -> Output {
    let words = ["bench", "--runtime", "8", "--ramp_time", "0", "--json", "--filename"];
    let mut command = program::command(state, &words);
    let mut child = command.arg(file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_it_reads(child.id());
    fault();
    let ended = (0..9000).any(|_| {
        thread::sleep(Duration::from_millis(20));
        child.try_wait().unwrap().is_some()
    });
    if !ended {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(ended, "it did not end: {}", text(&output));
    output
}

/// A document that says that the test is not valid, or one line of an error.
fn is_named(output: &Output) {
    if output.status.code() == Some(2) {
        refused(output);
        return;
    }
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)));
    let job = &document["jobs"][0];
    assert!(job["valid"] == false || job["error"] != 0, "{document}");
}

#[test]
fn a_file_that_shrinks_gives_short_reads_which_are_named() {
    let scene = Scene::new();
    let output = during(&scene.file, scene.folder.path(), || {
        File::options().write(true).open(&scene.file).unwrap().set_len(SIZE / 2).unwrap();
    });
    is_named(&output);
    assert!(text(&output).contains("file truncated"), "{}", text(&output));
}

#[test]
fn a_device_that_fails_and_shrinks_is_named() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().unwrap();
    let backing = fs::read_to_string(format!("/sys/block/{}/loop/backing_file", device.name)).unwrap();
    // The device keeps its size: reads behind the end of its file fail.
    let output = during(&device.device(), state.path(), || {
        File::options().write(true).open(backing.trim()).unwrap().set_len(1 << 20).unwrap();
    });
    is_named(&output);
    let status = Command::new("losetup").arg("--set-capacity").arg(device.device()).status().unwrap();
    assert!(status.success());
}

#[test]
fn keys_on_a_terminal_that_is_too_small_change_screens_and_panic_nowhere() {
    let demo = Origin::Demo("threadripper-before".to_owned());
    let keys = keymap::parse("jk<PageDown><PageUp><Enter>pGw j<Enter>bg<Tab>").unwrap();
    for size in [(0, 0), (1, 1), (9, 3), (30, 10), (79, 60), (200, 4)] {
        let mut screen = Headless::open(&demo, size).unwrap();
        for digit in ["1", "2", "3", "4", "5", "6", "7"] {
            screen.press(keymap::parse(digit).unwrap());
            screen.press(keys.clone());
            let _ = screen.picture(Theme::COLOUR);
        }
    }
}

#[test]
fn a_device_that_hangs_lets_the_program_go() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        skipped("no /dev/fuse, or not root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trials/hanging");
    let Ok(output) =
        Command::new(server).args(["--iodyno", env!("CARGO_BIN_EXE_iodyno")]).arg(folder.path()).output()
    else {
        skipped("no python3");
        return;
    };
    let mut said = String::new();
    (&output.stdout[..]).read_to_string(&mut said).unwrap();
    assert!(output.status.success(), "{said}{}", text(&output));
    assert_eq!(said.lines().filter(|line| line.ends_with(": ended")).count(), 7, "{said}");
}

#[test]
fn an_undo_of_absent_drives_syncs_the_journal_once() {
    const DRIVES: usize = 100;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journal: String = (0..DRIVES)
        .flat_map(|drive| {
            let file = format!("/sys/devices/none/block/nvme{drive}n77/queue/nomerges");
            let record = format!(r#"{{"time":1,"boot":"{}","session":"1-a-0","#, boot.trim());
            let change = format!(
                r#""event":"change","device":{{"name":"nvme{drive}n77"}},"setting":"nomerges","file":"{file}","old":"0","new":"2"}}"#
            );
            let result = format!(r#""event":"result","file":"{file}","outcome":"accepted"}}"#);
            [record.clone(), change, "\n".to_owned(), record, result, "\n".to_owned()]
        })
        .collect();
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("journal.jsonl");
    fs::write(&path, journal).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let traced = state.path().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"]).arg(&traced);
    command.arg(env!("CARGO_BIN_EXE_iodyno")).args(["tune", "undo", "--all"]);
    let said = match command.env("IODYNO_STATE_DIR", state.path()).stdin(Stdio::null()).output() {
        Ok(output) if !text(&output).contains("ptrace") => text(&output),
        other => return skipped(format_args!("strace does not run: {other:?}")),
    };
    if said.contains("sudo") {
        return skipped("an undo needs root");
    }
    assert_eq!(said.matches("drive not present").count(), DRIVES, "{said}");
    let undone = fs::read_to_string(&path).unwrap().matches(r#""event":"undone""#).count();
    assert_eq!(undone, DRIVES);
    // The session's beginning, the drives, the session's end.
    let syncs = fs::read_to_string(&traced).unwrap().matches("sync(").count();
    assert!(syncs <= 3, "{syncs} syncs");
}

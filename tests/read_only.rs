//! Every command, and a session of the full screen, under strace: no block device is opened for writing, no write reaches one,
//! and only commands that change settings open files of /sys for writing.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and writes its own files"
)]

#[path = "common/loop_device.rs"]
mod loop_device;

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use loop_device::{LoopDevice, skip::skipped};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// Calls that open, write, cut or punch; `io_submit` shows the opcode of each control block.
const CALLS: &str = "trace=open,openat,openat2,creat,write,writev,pwrite64,pwritev,pwritev2,io_submit,fallocate,truncate,\
                     ftruncate,sendfile,copy_file_range,splice,ioctl";

/// Requests that read from an open device: its size, blocks, identity and pages of its controller.
const REQUESTS: &[&str] = &[
    "BLKGETSIZE",
    "BLKSSZGET",
    "BLKPBSZGET",
    "BLKBSZGET",
    "BLKIOMIN",
    "BLKIOOPT",
    "BLKALIGNOFF",
    "BLKROGET",
    // Identify, Get Log Page and Get Features are built in `source/nvme_ioctl.rs`, and nothing else.
    "NVME_IOCTL_ID",
    "NVME_IOCTL_ADMIN_CMD",
];

/// Words of `open` that allow to write, or change the file.
const WRITES: &[&str] = &["O_WRONLY", "O_RDWR", "O_TRUNC", "O_CREAT"];

/// Devices that are no drives.
const TERMINALS: &[&str] =
    &["/dev/tty", "/dev/null", "/dev/pts/", "/dev/ptmx", "/dev/cpu_dma_latency", "/dev/zero"];

/// What is wrong with a line of strace's; settings may be written by the commands that are there for it.
fn violation(line: &str, sets: bool) -> Option<String> {
    let call = line.split_once(' ').map_or(line, |(_, rest)| rest.trim_start());
    let (name, arguments) = call.split_once('(')?;
    let is_block = |text: &str| text.contains("<block ");
    let wrong = match name {
        "open" | "openat" | "openat2" | "creat" => {
            let writes = name == "creat" || WRITES.iter().any(|word| arguments.contains(word));
            let path = arguments.split('"').nth(1).unwrap_or_default();
            let is_terminal = TERMINALS.iter().any(|known| path.starts_with(known));
            let is_device = path.starts_with("/dev/") && !is_terminal;
            let is_setting = path.starts_with("/sys/") || path.starts_with("/proc/sys/");
            writes && (is_block(arguments) || is_device || (is_setting && !sets))
        }
        "ioctl" => is_block(arguments) && !REQUESTS.iter().any(|request| arguments.contains(request)),
        "io_submit" => {
            arguments.contains("PWRITE") || arguments.contains("FSYNC") || arguments.contains("FDSYNC")
        }
        "sendfile" | "copy_file_range" | "splice" => is_block(arguments),
        _ => is_block(arguments.split(", ").next().unwrap_or_default()),
    };
    wrong.then(|| line.chars().take(300).collect())
}

fn strace(trace: &Path) -> Vec<String> {
    ["-f", "-qq", "-yy", "-s", "64", "-e", CALLS, "-o", trace.to_str().unwrap()].map(str::to_owned).to_vec()
}

/// strace's lines of a program; `None` where it does not run.
fn traced(folder: &Path, program: &str, args: &[&str]) -> Option<Vec<String>> {
    let trace = folder.join("trace");
    let mut command = Command::new("strace");
    command.args(strace(&trace)).arg(program).args(args).current_dir(folder).stdin(Stdio::null());
    command.env("IODYNO_STATE_DIR", folder.join("state"));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skipped(format_args!("strace: {error}"));
            return None;
        }
    };
    let lines = fs::read_to_string(&trace).unwrap_or_default();
    if lines.is_empty() {
        skipped(format_args!("strace does not run: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    Some(lines.lines().map(str::to_owned).collect())
}

fn violations(lines: &[String], sets: bool) -> Vec<String> {
    lines.iter().filter_map(|line| violation(line, sets)).collect()
}

/// Arguments of every command, and whether it is there to change settings.
fn commands<'a>(device: &'a str, path: &'a str) -> Vec<(Vec<&'a str>, bool)> {
    let words: fn(&'a str) -> Vec<&'a str> = |text| text.split_whitespace().collect();
    let bench = |engine: &'a str| {
        vec!["bench", "--filename", path, "--runtime", "200ms", "--size", "1m", "--ioengine", engine]
    };
    let tune = |step: &'a str, rest: &[&'a str]| [&["tune", step], rest].concat();
    let mut all = vec![
        (words("tree"), false),
        (words("drives --json"), false),
        (words("check --json"), false),
        (words("stat --interval 0.1 --count 2"), false),
        (words("whatif --demo threadripper-before --move nvme0n1 --under 0000:60"), false),
        (words("render machine --demo"), false),
        (words("capture written.capture"), false),
        (words("sheet"), false),
        (words("compare written.capture written.capture"), false),
        (words("config"), false),
        (vec!["why", env!("CARGO_BIN_EXE_iodyno"), "--runtime", "2s", "--yes"], false),
        (words("demos"), false),
        (words("metrics"), false),
        (words("completions bash"), false),
        (words("man"), false),
        (words("experiment list"), false),
        (vec!["pull", "--minutes", "1", "--yes", "--demo", "laptop"], false),
        (tune("list", &[]), false),
        (tune("journal", &[]), false),
        (tune("export", &["udev"]), false),
        (tune("set", &["--dry-run", device, "read_ahead_kb=256"]), false),
        (tune("set", &[device, "read_ahead_kb=256", "scheduler=mq-deadline"]), true),
        (tune("undo", &["--all"]), true),
    ];
    let own = ["experiment", "run", "own", "--filename", path, "--max-time", "2s", "--runtime", "100ms"];
    all.push((
        [&own[..], &["--arm", "found: bs=4k", "--arm", "other: read_ahead_kb=64 bs=4k"]].concat(),
        true,
    ));
    all.extend(["io_uring", "libaio", "posixaio", "psync"].map(|engine| (bench(engine), false)));
    all
}

#[test]
fn no_command_opens_a_block_device_for_writing_or_writes_to_one() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = device.device().display().to_string();
    let before = device.read_settings();
    let written = || {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name)).unwrap();
        stat.split_whitespace().nth(4).unwrap().parse::<u64>().unwrap()
    };
    let writes = written();
    for (args, sets) in commands(&device.name, &path) {
        let Some(lines) = traced(folder.path(), env!("CARGO_BIN_EXE_iodyno"), &args) else { return };
        assert_eq!(violations(&lines, sets), Vec::<String>::new(), "{args:?}");
        let is_opened = lines.iter().any(|line| line.contains("open") && line.contains("<block "));
        assert!(is_opened || args[0] != "bench", "{args:?} reads no device");
    }
    // A ring's submissions are no system calls: what reached the device is counted by the kernel.
    assert_eq!(written(), writes, "writes of {}", device.name);
    assert_eq!(device.read_settings(), before);
}

/// A command that is added needs a row.
#[test]
fn every_command_is_tried() {
    let help = Command::new(env!("CARGO_BIN_EXE_iodyno")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let named: BTreeSet<String> =
        named.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    let tried = commands("loop0", "/dev/loop0");
    let tried: BTreeSet<String> = tried.iter().map(|(args, _)| args[0].to_owned()).collect();
    assert!(named.len() > 10, "{help}");
    assert_eq!(
        named.difference(&tried).filter(|name| *name != "help").collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
fn a_session_of_the_full_screen_opens_no_block_device_for_writing() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    // Whether it runs at all.
    if traced(folder.path(), "true", &[]).is_none() {
        return;
    }
    let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new("strace");
    command.args(strace(&trace));
    command.arg(env!("CARGO_BIN_EXE_iodyno"));
    command.env("TERM", "xterm-256color");
    command.env("IODYNO_STATE_DIR", folder.path().join("state"));
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut output = pair.master.try_clone_reader().unwrap();
    let reader = thread::spawn(move || {
        let mut buffer = [0; 8192];
        while matches!(output.read(&mut buffer), Ok(1..)) {}
    });
    let mut keys = pair.master.take_writer().unwrap();
    thread::sleep(Duration::from_secs(2));
    // All screens, a test of whatever is there, an experiment, its stop, and out.
    for key in ["1", "j", "2", "j", "3", "j", "6", "7", "4", "r", "x", "5", "\r", "x", "1", "q", "q", "q"] {
        let _gone = keys.write_all(key.as_bytes());
        thread::sleep(Duration::from_millis(300));
    }
    let ended = (0..6000).any(|_| {
        thread::sleep(Duration::from_millis(20));
        let _gone = keys.write_all(b"\x03");
        child.try_wait().unwrap().is_some()
    });
    assert!(ended, "it did not leave");
    drop((keys, pair));
    reader.join().unwrap();
    let lines: Vec<String> = fs::read_to_string(&trace).unwrap().lines().map(str::to_owned).collect();
    // An experiment may write settings of this machine's drives; it restores them.
    assert_eq!(violations(&lines, true), Vec::<String>::new());
    assert!(lines.len() > 1000, "{} calls", lines.len());
    drop(device);
}

/// What this test would miss, it would not find in iodyno either.
#[test]
fn a_planted_writer_is_found() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = device.device().display().to_string();
    // Opens for reading and writing, and writes nothing.
    let planted = format!(": <> {path}");
    let Some(lines) = traced(folder.path(), "sh", &["-c", &planted]) else { return };
    assert_eq!(violations(&lines, false).len(), 1, "{lines:?}");
    let setting = format!("cat /sys/block/{0}/queue/nomerges > /sys/block/{0}/queue/nomerges", device.name);
    let lines = traced(folder.path(), "sh", &["-c", &setting]).unwrap();
    assert_eq!(violations(&lines, false).len(), 1, "{lines:?}");
    assert_eq!(violations(&lines, true).len(), 0, "{lines:?}");
    for (line, is_wrong) in [
        ("7 openat(AT_FDCWD</>, \"/dev/nvme0n1\", O_RDONLY|O_DIRECT) = 3</dev/nvme0n1<block 259:0>>", false),
        ("7 openat(AT_FDCWD</>, \"/dev/nvme0n1\", O_RDWR|O_DIRECT) = -1 EPERM (not permitted)", true),
        ("7 openat(AT_FDCWD</>, \"/dev/nvme0\", O_WRONLY) = 3</dev/nvme0<char 240:0>>", true),
        ("7 openat(AT_FDCWD</>, \"link\", O_RDWR) = 3</dev/sda<block 8:0>>", true),
        ("7 pwrite64(3</dev/sda<block 8:0>>, \"a\", 1, 0) = 1", true),
        ("7 write(1</dev/pts/0<char 136:0>>, \"<block \", 7) = 7", false),
        ("7 ioctl(3</dev/sda<block 8:0>>, BLKDISCARD, [0, 4096]) = 0", true),
        ("7 ioctl(3</dev/sda<block 8:0>>, BLKGETSIZE64, [4096]) = 0", false),
        (
            "7 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</dev/sda<block 8:0>>}]) = 1",
            true,
        ),
        (
            "7 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</dev/sda<block 8:0>>}]) = 1",
            false,
        ),
    ] {
        assert_eq!(violation(line, false).is_some(), is_wrong, "{line}");
    }
}

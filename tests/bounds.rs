//! Input of any size takes bounded memory: each command runs under a limit on its address space.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and writes the files of a machine"
)]

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::Path,
    process::{Command, Output, Stdio},
};

/// Runs it with at most this much memory.
fn run(mib: u64, words: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("ulimit -v {}; exec \"$0\" \"$@\"", mib << 10),
        env!("CARGO_BIN_EXE_iodyno"),
    ]);
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    text.chars().take(2000).collect()
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A text of so many lines.
fn lines(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).map(line).collect()
}

#[test]
fn attribute_files_of_16_mib_are_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("machine");
    for number in 0..50 {
        let drive = base.join(format!(
            "sys/block/sd{}",
            char::from(b'a' + number % 26).to_string().repeat(1 + usize::from(number / 26))
        ));
        fs::create_dir_all(drive.join("queue")).unwrap();
        fs::write(drive.join("size"), "2048\n").unwrap();
        fs::write(drive.join("dev"), format!("8:{number}\n")).unwrap();
        // Sparse: as long as the real thing, without its bytes on the drive.
        File::create(drive.join("queue/scheduler")).unwrap().set_len(16 << 20).unwrap();
    }
    fs::create_dir_all(base.join("proc")).unwrap();
    let base = base.to_str().unwrap();
    let output = run(256, &["drives", "--json", "--sysroot", base]);
    assert!(output.status.success(), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["drives"].as_array().unwrap().len(), 50);
    let reasons = document["problems"].as_array().unwrap().iter();
    let long = reasons.filter(|problem| problem["reason"].as_str().unwrap().contains("EFBIG"));
    assert_eq!(long.count(), 50);
    assert!(run(256, &["capture", "--sysroot", base]).status.success());
}

/// A folder of a machine with one drive.
fn machine(folder: &Path) -> std::path::PathBuf {
    let base = folder.join("machine");
    fs::create_dir_all(base.join("sys/block/sda")).unwrap();
    fs::create_dir_all(base.join("proc/self")).unwrap();
    fs::write(base.join("sys/block/sda/size"), "2048\n").unwrap();
    fs::write(base.join("sys/block/sda/dev"), "8:0\n").unwrap();
    base
}

#[test]
fn texts_of_16_mib_are_refused_unread_and_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let base = machine(folder.path());
    fs::write(base.join("proc/cmdline"), "quiet db_password=hunter2 ".repeat(640_000)).unwrap();
    fs::create_dir_all(base.join("sys/class/dmi/id")).unwrap();
    for file in ["board_name", "bios_version", "product_name"] {
        fs::write(base.join("sys/class/dmi/id").join(file), "x".repeat(1 << 20)).unwrap();
    }
    let began = std::time::Instant::now();
    let output = run(64, &["capture", "--sysroot", base.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line, "iodyno: /proc/cmdline, and 3 more: longer than such a file can be; not read\n");
}

#[test]
fn tables_of_more_bytes_than_a_machine_has_end_the_capture_with_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let base = machine(folder.path());
    for file in ["proc/self/mountinfo", "proc/interrupts", "proc/stat"] {
        let line = "25 1 8:0 / /srv/x rw - ext4 /dev/sda rw\n";
        fs::write(base.join(file), line.repeat((15 << 20) / line.len())).unwrap();
    }
    let output = run(512, &["capture", "--sysroot", base.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(output.stdout.is_empty());
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(line.starts_with("iodyno: /proc/") && line.lines().count() == 1, "{line}");
    assert!(line.contains("more than 32 MiB"), "{line}");
}

#[test]
fn folders_of_twenty_thousand_names_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for (name, is_file) in [("etc/modprobe.d", true), ("sys/bus/pci/devices", false)] {
        fs::create_dir_all(base.join(name)).unwrap();
        for number in 0..20_000 {
            let place = base.join(name);
            if is_file {
                fs::write(place.join(format!("{number}.conf")), "#").unwrap();
            } else {
                let (device, function) = (number >> 3 & 31, number & 7);
                let entry = format!("{:04x}:{:02x}:{device:02x}.{function}", number >> 16, number >> 8 & 255);
                fs::create_dir_all(place.join(entry)).unwrap();
            }
        }
    }
    fs::create_dir_all(base.join("proc")).unwrap();
    let output = run(128, &["capture", "--sysroot", base.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(output.stdout.len() < 8 << 20, "{} bytes", output.stdout.len());
}

#[test]
fn a_journal_of_zeros_takes_the_memory_of_a_record() {
    let state = tempfile::tempdir().unwrap();
    let journal = state.path().join("journal.jsonl");
    File::create(&journal).unwrap().set_len(64 << 20).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 98304; exec \"$0\" tune journal", env!("CARGO_BIN_EXE_iodyno")]);
    let output = command.env("IODYNO_STATE_DIR", state.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(
        said(&output).contains("line 1 is damaged (zeros) and skipped; remove the line"),
        "{}",
        said(&output)
    );
}

#[test]
fn captures_of_millions_of_files_or_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let head = "iodyno capture 1\n\n";
    let mut files = head.to_owned();
    (0..2_000_000).for_each(|number| writeln!(files, "file /sys/f{number} x").unwrap());
    let mut names = format!("{head}dir /sys/block\n");
    (0..2_000_000).for_each(|number| writeln!(names, "  d{number}").unwrap());
    for (name, text) in [("files", &files), ("names", &names)] {
        let file = written(folder.path(), name, text);
        let output = run(512, &["tree", "--open", &file]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("which no machine has"), "{}", said(&output));
    }
}

#[test]
fn no_more_drives_are_asked_for_than_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "iodyno capture 1\n\ndir /sys/block\n".to_owned();
    (0..200_000).for_each(|number| writeln!(text, "  d{number}").unwrap());
    let output = run(128, &["capture", "--open", &written(folder.path(), "drives", &text)]);
    assert!(output.status.success(), "{}", said(&output));
    let answers = String::from_utf8_lossy(&output.stdout);
    assert_eq!(answers.lines().filter(|line| line.starts_with("none link /sys/block/")).count(), 4096);
}

#[test]
fn a_capture_of_ten_thousand_drives_and_functions_is_read_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "iodyno capture 1\n\ndir /sys/block\n".to_owned();
    (0..40_000).for_each(|number| writeln!(text, "  loop{number}").unwrap());
    for number in 0..40_000 {
        let place = format!("/sys/devices/virtual/block/loop{number}");
        writeln!(text, "link /sys/block/loop{number} ../devices/virtual/block/loop{number}").unwrap();
        writeln!(text, "file {place}/size 8").unwrap();
        writeln!(text, "file {place}/dev 7:{number}").unwrap();
    }
    text.push_str("dir /sys/bus/pci/devices\n");
    (0..40_000).for_each(|number| {
        writeln!(
            text,
            "  {:04x}:{:02x}:{:02x}.{}",
            number >> 16,
            (number >> 8) & 0xff,
            (number >> 3) & 0x1f,
            number & 7
        )
        .unwrap();
    });
    let file = written(folder.path(), "drives", &text);
    let output = run(512, &["tree", "--open", &file]);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn mounts_and_rules_are_read_up_to_what_a_machine_has() {
    let folder = tempfile::tempdir().unwrap();
    let base = machine(folder.path());
    let mount = |at: u32| format!("{at} 1 8:0 / /m{at} rw - ext4 /dev/sda rw\n");
    fs::write(base.join("proc/self/mountinfo"), lines(60_000, mount)).unwrap();
    let rules = base.join("etc/udev/rules.d");
    fs::create_dir_all(&rules).unwrap();
    for file in 0..20 {
        let text = "ATTR{queue/scheduler}=\"none\"\n".repeat(5000);
        fs::write(rules.join(format!("{file}.rules")), text).unwrap();
    }
    fs::create_dir_all(base.join("etc/tmpfiles.d")).unwrap();
    let line = "w /sys/block/sda/queue/nr_requests - - - - 64\n";
    fs::write(base.join("etc/tmpfiles.d/a.conf"), line.repeat(10_000)).unwrap();
    let base = base.to_str().unwrap();
    for words in [["tree", "--sysroot", base], ["drives", "--sysroot", base], ["sheet", "--sysroot", base]] {
        let output = run(64, &words);
        assert!(output.status.success(), "{}", said(&output));
    }
    let output = run(64, &["tree", "--sysroot", base]);
    for cut in [
        "/proc/self/mountinfo: 60000 mounts; the first 8192 are read",
        "/etc/udev/rules.d/0.rules: more than 4096 settings; the rest is not read",
        "/etc/tmpfiles.d/a.conf: more than 4096 settings; the rest is not read",
    ] {
        assert!(said(&output).contains(cut), "{cut} is not in {}", said(&output));
    }
}

/// A chain of devices of device mapper: each command takes as long for each of them, whatever their number.
#[test]
fn a_thousand_devices_on_top_of_each_other_are_read_in_part() {
    const DEVICES: u32 = 1000;
    let folder = tempfile::tempdir().unwrap();
    let base = machine(folder.path());
    let block = base.join("sys/block");
    let below = |at: u32| at.checked_sub(1).map_or("sda".to_owned(), |below| format!("dm-{below}"));
    for at in 0..DEVICES {
        let device = block.join(format!("dm-{at}"));
        fs::create_dir_all(device.join("slaves").join(below(at))).unwrap();
        fs::create_dir_all(block.join(below(at)).join("holders").join(format!("dm-{at}"))).unwrap();
        fs::write(device.join("size"), "2048\n").unwrap();
        fs::write(device.join("dev"), format!("253:{at}\n")).unwrap();
    }
    let base = base.to_str().unwrap();
    for command in ["drives", "sheet"] {
        let output = run(64, &[command, "--sysroot", base]);
        assert!(output.status.success(), "{}", said(&output));
    }
    let output = run(64, &["drives", "--json", "--sysroot", base]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let drives = document["drives"].as_array().unwrap();
    let sda = drives.iter().find(|drive| drive["name"] == "sda").unwrap();
    let used = sda["in_use_by"][0].as_str().unwrap();
    assert!(used.starts_with("dm-31 held by dm-32 on dm-30 on "), "{used}");
    assert!(used.ends_with(" on dm-0 on sda"), "{used}");
    let cut = "968 devices lie on more than 32 others or in a circle; what is below is not read";
    let problems = document["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem["reason"] == cut), "{problems:?}");
}

/// Texts of `lsblk -P`, of the kernel log, and JSON. Read as a whole, each takes ten times its size.
#[test]
fn texts_of_more_drives_than_a_machine_has_are_not_read_to_their_ends() {
    const LINES: u32 = 60_000;
    let folder = tempfile::tempdir().unwrap();
    let place = |at: u32| format!("{:04x}:{:02x}:{:02x}.{}", at >> 16, at >> 8 & 255, at >> 3 & 31, at & 7);
    let rows = lines(LINES, |at| format!("NAME=\"a{at}\" SIZE=\"1\" TYPE=\"disk\"\n"));
    let found =
        lines(LINES, |at| format!("[    0.1] pci {}: [8086:1234] type 00 class 0x010802\n", place(at)));
    let controllers = lines(LINES, |at| format!("[    0.1] nvme nvme{at}: pci function {}\n", place(at % 8)));
    for (name, text) in [("rows", rows), ("found", found), ("controllers", controllers)] {
        let output = run(64, &["tree", "--open", &written(folder.path(), name, &text)]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        let line = said(&output);
        assert!(line.contains("more than 8192 functions, drives or buses, which no machine has"), "{line}");
    }
}

#[test]
fn every_fuzz_target_is_declared_and_has_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&text).unwrap();
    let text = |value: &toml::Value, key: &str| value[key].as_str().unwrap().to_owned();
    let targets = manifest["bin"].as_array().unwrap();
    let mut declared: Vec<String> = targets.iter().map(|bin| text(bin, "path")).collect();
    let files = fs::read_dir(folder.join("fuzz_targets")).unwrap();
    let mut files: Vec<String> =
        files.map(|file| format!("fuzz_targets/{}", file.unwrap().file_name().to_str().unwrap())).collect();
    declared.sort_unstable();
    files.sort_unstable();
    assert_eq!(declared, files);
    assert!(targets.iter().all(|bin| text(bin, "path") == format!("fuzz_targets/{}.rs", text(bin, "name"))));
}

#[test]
fn a_job_file_without_an_end_is_refused() {
    let output = run(256, &["bench", "--fio", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).starts_with("iodyno: /dev/zero: longer than 1 MiB"), "{}", said(&output));
}

#[test]
fn a_job_file_of_many_unknown_options_is_refused_in_a_short_line() {
    let folder = tempfile::tempdir().unwrap();
    let sections = lines(40_000, |at| format!("[s{at}]\nnone{at}=1\n"));
    // Options of global sections are read by each section behind them.
    let global = lines(40_000, |at| format!("none{at}=1\n"));
    let global = format!("[global]\n{global}{}", "[s]\n".repeat(40_000));
    let named = format!("[{}]\n{}", "n".repeat(400_000), "none=1\n".repeat(80_000));
    for (text, more) in
        [(sections, "; and 79988 more; "), (global, "; and 39989 more; "), (named, " is unknown; ")]
    {
        let began = std::time::Instant::now();
        let output = run(72, &["bench", "--fio", &written(folder.path(), "job.fio", &text)]);
        assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.len() < 1500 && line.contains(more), "{line}");
    }
}

/// What needs no target is checked before targets are opened.
#[test]
fn more_targets_than_threads_or_open_files_are_refused_unopened() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "file", &"x".repeat(1 << 20));
    let global = format!("[global]\nrw=randread\nnorandommap\nfilename={path}\n");
    let jobs = lines(500, |at| format!("[j{at}]\n"));
    let files = vec![path.as_str(); 5000].join(":");
    for (text, refused) in [
        (
            format!("{global}ioengine=psync\nnumjobs=10\n{jobs}"),
            "--iodepth: 5000 reads in flight need as many threads",
        ),
        (
            format!("[a]\nrw=randread\nioengine=io_uring\nfilename={files}\n"),
            "--filename: 5000 targets need as many open files",
        ),
    ] {
        let job = written(folder.path(), "job.fio", &text);
        let mut command = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_iodyno");
        command.args(["-c", "ulimit -n 1000; exec \"$@\"", "sh", program, "bench", "--fio", &job]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(refused) && !said.contains("opening the targets"), "{said}");
    }
}

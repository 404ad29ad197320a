//! Machines of which little or nothing can be read: no command gives them a clean bill.

#![expect(clippy::disallowed_methods, reason = "a test's own files")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn iodyno(origin: [&str; 2], words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(origin).args(words.split(' ')).output().unwrap()
}

fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const READERS: [&str; 9] = [
    "tree",
    "tree --json",
    "check",
    "check --json",
    "drives",
    "sheet",
    "sheet --format json",
    "render machine",
    "metrics",
];

fn refused(origin: [&str; 2], why: &str) {
    for words in READERS {
        let (status, out, said) = texts(&iodyno(origin, words));
        assert_eq!((status, out.as_str()), (Some(2), ""), "{words}: {said}");
        assert!(said.starts_with("iodyno: ") && said.lines().count() == 1, "{words}: {said}");
        assert!(said.contains(why) && said.contains("; "), "{words}: {said}");
    }
}

fn capture(folder: &Path, body: &str) -> String {
    let path = folder.join("machine.capture");
    fs::write(&path, format!("iodyno capture 1\n\n{body}")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_empty_sys_is_refused_by_every_command_that_reads_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sys")).unwrap();
    fs::create_dir_all(folder.path().join("proc")).unwrap();
    refused(["--sysroot", folder.path().to_str().unwrap()], "cannot read this machine");
    for listed in ["sys/bus/pci/devices", "sys/block"] {
        fs::create_dir_all(folder.path().join(listed)).unwrap();
    }
    let listed = "contains no PCI and no block devices";
    refused(["--sysroot", folder.path().to_str().unwrap()], listed);
}

#[test]
fn a_sys_that_may_not_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let denied =
        capture(folder.path(), "fail list /sys/bus/pci/devices EACCES\nfail list /sys/block EACCES\n");
    refused(["--open", &denied], "EACCES");
    let device = "/sys/devices/pci0000:00/0000:00:01.0";
    let silent = format!(
        "dir /sys/bus/pci/devices\n  0000:00:01.0\n\
         link /sys/bus/pci/devices/0000:00:01.0 ../../../devices/pci0000:00/0000:00:01.0\n\
         dir {device}\n  class\nfail read {device}/class EACCES\nfail read {device}/vendor EACCES\ndir /sys/block\n"
    );
    refused(
        ["--open", &capture(folder.path(), &silent)],
        &format!("{device}/class: cannot read this machine"),
    );
    // With a drive there is something to judge, and what is not judged stands above the verdict.
    let disk = "/sys/devices/virtual/block/sda";
    let drive = silent.replace("dir /sys/block\n", "dir /sys/block\n  sda\n")
        + &format!(
            "link /sys/block/sda ../devices/virtual/block/sda\nfile {disk}/size 8\nfile {disk}/dev 8:0\n"
        );
    let some = capture(folder.path(), &drive);
    let (status, out, _) = texts(&iodyno(["--open", &some], "check"));
    assert_eq!(status, Some(0));
    let warned = format!("1 of 1 PCI devices could not be read and is not checked ({device}/class: EACCES");
    assert!(out.find(&warned) < out.find("no limiting findings") && out.contains(&warned), "{out}");
    assert!(out.contains("of 58 checks could not be made"), "no clean bill: {out}");
}

/// As [`refused`], for a machine that is read in part.
fn cut(origin: [&str; 2], why: &str, row: &str) {
    for words in ["tree", "check", "sheet", "render machine", "render findings"] {
        let (status, out, said) = texts(&iodyno(origin, words));
        assert_eq!(status, Some(0), "{words}: {said}");
        assert!(out.replace('\n', " ").contains(why), "{words} says that {why}: {out}");
    }
    let (_, out, _) = texts(&iodyno(origin, "check"));
    assert!(out.rfind(row) > out.find("not checked (") && out.contains("iodyno reads"), "{row}: {out}");
    let (_, text, said) = texts(&iodyno(origin, "capture"));
    assert!(said.contains(&format!("iodyno: {why}")), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.capture");
    fs::write(&path, text).unwrap();
    let (_, out, _) = texts(&iodyno(["--open", path.to_str().unwrap()], "check"));
    assert!(out.contains(why), "a capture says it too: {out}");
}

/// The laptop of the demo with `more` in its capture.
fn laptop_with(folder: &Path, more: &str) -> String {
    let demo = iodyno::source::demo::find("laptop").unwrap().capture();
    let path = folder.join("machine.capture");
    fs::write(&path, format!("{demo}{more}")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn folders_of_which_a_part_is_read_are_named_by_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    let entry =
        |n: u32| format!("  {:04x}:{:02x}:{:02x}.{}\n", 9 + (n >> 16), n >> 8 & 255, n >> 3 & 31, n & 7);
    let names: String = (0..17_000).map(entry).collect();
    let demo = iodyno::source::demo::find("laptop").unwrap().capture();
    let at = demo.find("dir /sys/bus/pci/devices\n").unwrap() + "dir /sys/bus/pci/devices\n".len();
    let file = folder.path().join("devices.capture");
    fs::write(&file, format!("{}{names}{}", &demo[..at], &demo[at..])).unwrap();
    let own = demo[at..].lines().take_while(|line| line.starts_with("  ")).count();
    let listed = format!("/sys/bus/pci/devices: {} names; the first 16384 are read", 17_000 + own);
    cut(["--open", file.to_str().unwrap()], &listed, "slot-limited");

    let udev = laptop_with(folder.path(), "fail list /etc/udev/rules.d EFBIG\n");
    let many = "more than 4096 names; not read";
    cut(["--open", &udev], &format!("/etc/udev/rules.d: {many}"), "rule-reverts");
    // What a live machine answers of the other rules.
    let answer = format!("file /probe/boot-rules /etc/modprobe.d:0:{many}\n");
    let rules = laptop_with(folder.path(), &answer);
    cut(["--open", &rules], &format!("/etc/modprobe.d: {many}"), "rule-reverts");
}

#[test]
fn rules_beyond_what_is_read_are_named_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("sys/block/vda");
    for (path, content) in [("size", "2048\n"), ("dev", "254:0\n")] {
        fs::create_dir_all(&disk).unwrap();
        fs::write(disk.join(path), content).unwrap();
    }
    let modules = folder.path().join("etc/modprobe.d");
    fs::create_dir_all(&modules).unwrap();
    let long = folder.path().join("etc/tmpfiles.d/long.conf");
    fs::create_dir_all(long.parent().unwrap()).unwrap();
    fs::File::create(&long).unwrap().set_len((1 << 20) + 1).unwrap();
    (0..4097).for_each(|name| fs::write(modules.join(format!("{name}.conf")), "#\n").unwrap());
    let (_, out, _) = texts(&iodyno(["--sysroot", folder.path().to_str().unwrap()], "check"));
    assert!(out.contains("/etc/modprobe.d: more than 4096 names; not read\n"), "{out}");
    assert!(out.contains("/etc/tmpfiles.d/long.conf: longer than 1 MiB; not read\n"), "{out}");
    assert!(out.contains("rule-reverts"), "{out}");
    assert!(out.contains("of 58 checks could be made"), "no clean bill: {out}");
}

#[test]
fn a_container_without_pci_shows_its_block_devices() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("sys/block/vda");
    fs::create_dir_all(&disk).unwrap();
    for (file, content) in [("size", "2048\n"), ("dev", "254:0\n")] {
        fs::write(disk.join(file), content).unwrap();
    }
    let origin = ["--sysroot", folder.path().to_str().unwrap()];
    for words in READERS {
        let (status, _, said) = texts(&iodyno(origin, words));
        assert_eq!(status, Some(0), "{words}: {said}");
    }
    let (_, out, _) = texts(&iodyno(origin, "drives --json"));
    assert!(out.contains("\"vda\""), "{out}");
    let (_, out, _) = texts(&iodyno(origin, "check"));
    assert!(out.starts_with("1 drive\n"), "a copy without vda/device still has a disk: {out}");
    assert!(out.contains("the copy has nothing about CPUs and kernel"), "{out}");
    assert!(out.contains("only a test on that machine shows it"), "{out}");
}

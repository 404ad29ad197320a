//! Tests of [`ActivityReader`] on folders of files, and on the running kernel.

mod children;
mod with_io;

use std::{fs, path::Path};

use proptest::prelude::*;

use super::*;
use crate::{
    model::{DriveName, ProblemKind},
    source::root::{FolderRoot, LiveRoot, RootError},
};

/// A machine of files; paths in `denied` are refused by their end.
struct Machine {
    folder: tempfile::TempDir,
    root: FolderRoot,
    denied: Vec<&'static str>,
}

impl SysRoot for Machine {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        if self.denied.iter().any(|end| path.ends_with(end)) {
            return Err(RootError::Errno(libc::EACCES));
        }
        self.root.read(path)
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.root.link(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.root.list(path)
    }
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = FolderRoot::new(folder.path());
        Self { folder, root, denied: Vec::new() }
    }

    fn place(&self, path: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn put(&self, path: &str, content: &str) {
        std::io::Write::write_all(&mut fs::File::create(self.place(path)).unwrap(), content.as_bytes())
            .unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.place(path)).unwrap();
    }

    /// A process with these threads; the first is its leader.
    fn process(&self, tids: &[u32], command: &str, state: char, flags: u64) {
        let pid = tids[0];
        let stat = |tid| {
            let (count, ticks) = (tids.len(), 100 + tid);
            format!(
                "{tid} ({command}) {state} 1 1 1 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 {count} 0 77 0\n"
            )
        };
        self.put(&format!("proc/{pid}/stat"), &stat(pid));
        for tid in tids {
            self.put(&format!("proc/{pid}/task/{tid}/stat"), &stat(*tid));
        }
    }

    fn said(&self, folder: &str, syscall: &str, wchan: &str) {
        self.put(&format!("{folder}/syscall"), syscall);
        self.put(&format!("{folder}/wchan"), wchan);
    }
}

/// Time for so many threads more than one.
fn time_for(threads: usize) -> impl FnMut() -> bool {
    let mut left = threads;
    move || {
        left = left.saturating_sub(1);
        left > 0
    }
}

fn threads(reader: &mut ActivityReader, root: &dyn SysRoot, more: &mut dyn FnMut() -> bool) -> ThreadSample {
    let mut sample = ThreadSample::default();
    reader.threads(root, more, &mut sample);
    sample
}

fn processes(reader: &mut ActivityReader, root: &dyn SysRoot) -> ProcessSample {
    let mut sample = ProcessSample::default();
    reader.processes(root, &mut sample);
    sample
}

fn tids(sample: &ThreadSample) -> Vec<u32> {
    sample.threads.iter().map(|thread| thread.tid).collect()
}

#[test]
fn passes_go_on_where_the_last_one_stopped() {
    let machine = Machine::new();
    machine.process(&[3], "init", 'S', 0);
    machine.process(&[20, 21, 22, 23, 24], "workers", 'S', 0);
    machine.process(&[300], "last", 'S', 0);
    machine.put("proc/loadavg", "0.30 1.09 1.12 2/7 26483\n");
    let mut reader = ActivityReader::default();
    let mut pass = |count| {
        let sample = threads(&mut reader, &machine, &mut time_for(count));
        (tids(&sample), sample.sampled, sample.total)
    };
    assert_eq!(pass(3), (vec![3, 20, 21], 3, 7));
    assert_eq!(pass(3), (vec![22, 23, 24], 3, 7));
    assert_eq!(pass(3), (vec![300, 3, 20], 3, 7), "round the end");
    let (all, sampled, total) = pass(100);
    assert_eq!(
        (all, sampled, total),
        (vec![21, 22, 23, 24, 300, 3, 20], 7, 7),
        "each once, from where it stands"
    );
    assert_eq!(pass(0).0, [21], "one at least");
}

#[test]
fn threads_that_a_round_does_not_find_are_not_counted() {
    let machine = Machine::new();
    machine.process(&[3, 4], "own", 'S', 0);
    machine.put("proc/loadavg", "0.30 1.09 1.12 2/900 26483\n");
    let mut reader = ActivityReader::default();
    assert_eq!(threads(&mut reader, &machine, &mut time_for(1)).total, 900, "before the first round is over");
    assert_eq!(threads(&mut reader, &machine, &mut time_for(9)).total, 2);
    machine.put("proc/loadavg", "0.30 1.09 1.12 2/905 26483\n");
    assert_eq!(threads(&mut reader, &machine, &mut time_for(1)).total, 7, "five have come");
    // Many begin in the midst of a round, whose processes are listed.
    let _ = threads(&mut reader, &machine, &mut time_for(1));
    machine.put("proc/loadavg", "0.30 1.09 1.12 2/9905 26483\n");
    let _ = threads(&mut reader, &machine, &mut time_for(9));
    assert_eq!(threads(&mut reader, &machine, &mut time_for(1)).total, 9002);
    machine.put("proc/loadavg", "0.30 1.09 1.12 2/18446744073709551615 26483\n");
    let total = threads(&mut ActivityReader::default(), &machine, &mut time_for(1)).total;
    assert_eq!(total, 1 << 22, "Linux has no more numbers for threads");
}

#[test]
fn threads_say_what_they_do() {
    let machine = Machine::new();
    machine.process(&[5, 6], "a) R (b", 'S', 0);
    machine.said(
        "proc/5/task/5",
        "426 0x3 0x0 0x1 0x1 0x0 0x8 0x7ffd2c1f8e10 0x7f0f2c3d5e4d\n",
        "io_cqring_wait",
    );
    machine.said("proc/5/task/6", "running\n", "0");
    machine.process(&[7], "kswapd0", 'S', 0x0020_0000);
    machine.said("proc/7", "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", "kswapd");
    machine.process(&[8], "fio", 'R', 0);
    machine.said("proc/8", "running\n", "0");
    machine.put("proc/sys/kernel/arch", "x86_64\n");
    let sample = threads(&mut ActivityReader::default(), &machine, &mut || true);
    let said: Vec<_> = sample
        .threads
        .iter()
        .map(|thread| {
            let name = |label: &Option<crate::text::Label>| label.as_ref().map(ToString::to_string);
            (
                thread.command.as_str(),
                thread.state,
                thread.is_kernel,
                name(&thread.syscall),
                name(&thread.wchan),
            )
        })
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        said,
        [
            ("a) R (b", 'S', false, some("io_uring_enter"), some("io_cqring_wait")),
            ("a) R (b", 'S', false, None, None),
            ("kswapd*", 'S', true, None, some("kswapd")),
            ("fio", 'R', false, None, None),
        ]
    );
    assert!(sample.problems.is_empty(), "{:?}", sample.problems);
}

#[test]
fn what_others_do_needs_root_and_that_is_said_once() {
    let mut machine = Machine::new();
    for pid in [3, 4, 5] {
        machine.process(&[pid], "other", 'S', if pid == 3 { 0x0020_0000 } else { 0 });
        machine.said(&format!("proc/{pid}"), "1 2\n", "0");
    }
    machine.denied = vec!["/syscall"];
    let mut reader = ActivityReader::default();
    let sample = threads(&mut reader, &machine, &mut || true);
    assert!(sample.threads.iter().all(|thread| thread.wchan.is_none() && thread.syscall.is_none()));
    let paths: Vec<_> = sample.problems.iter().map(|problem| (&*problem.path, problem.kind)).collect();
    assert_eq!(paths, [("/proc/4/syscall", ProblemKind::Denied), ("/proc/3/wchan", ProblemKind::Denied)]);
    assert!(sample.problems.iter().all(|problem| problem.reason.contains("run as root")));
    machine.denied.clear();
    threads(&mut reader, &machine, &mut || true);
    assert!(threads(&mut reader, &machine, &mut || true).problems.is_empty(), "a round without refusals");
}

#[test]
fn processes_have_their_counters_or_the_reason_why_not() {
    let mut machine = Machine::new();
    machine.process(&[3, 4], "fio", 'S', 0);
    machine.put("proc/3/io", "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 512\n");
    machine.process(&[9], "other", 'S', 0);
    machine.process(&[10], "other", 'S', 0);
    machine.denied = vec!["proc/9/io", "proc/10/io"];
    let sample = processes(&mut ActivityReader::default(), &machine);
    let fio = &sample.processes[&3];
    assert_eq!((fio.command.as_str(), fio.started, fio.cpu), ("fio", 77, 103));
    assert_eq!((fio.read_bytes, fio.written_bytes, fio.called_read), (Some(4096), Some(512), Some(1)));
    assert_eq!((sample.processes[&9].read_bytes, &sample.processes[&9].drives), (None, &None));
    assert_eq!(sample.problems.len(), 1, "{:?}", sample.problems);
    assert_eq!(&*sample.problems[0].path, "/proc/9/io");
}

#[test]
fn a_sample_in_used_memory_is_that_of_new_memory() {
    let machine = Machine::new();
    for pid in [3, 9, 10] {
        machine.process(&[pid], "fio", 'S', 0);
        machine.put(&format!("proc/{pid}/io"), "read_bytes: 4096\nwrite_bytes: 512\n");
    }
    let mut reader = ActivityReader::default();
    let mut sample = processes(&mut reader, &machine);
    fs::remove_dir_all(machine.folder.path().join("proc/9")).unwrap();
    machine.process(&[11], "sh", 'S', 0);
    machine.put("proc/11/io", "read_bytes: 1\nwrite_bytes: 0\n");
    reader.processes(&machine, &mut sample);
    assert_eq!(sample.processes.keys().copied().collect::<Vec<_>>(), [3, 10, 11], "9 has ended");
    reader.processes(&machine, &mut sample);
    assert_eq!(sample, processes(&mut reader, &machine));
}

/// Two drives, a partition of the first, a mapped device on both.
fn drives(machine: &Machine) {
    for (name, number, folder) in [
        ("nvme0n1", "259:0", "devices/a/nvme0n1"),
        ("nvme0n1p2", "259:2", "devices/a/nvme0n1/nvme0n1p2"),
        ("nvme1n1", "259:1", "devices/b/nvme1n1"),
        ("dm-0", "253:0", "devices/virtual/block/dm-0"),
    ] {
        machine.put(&format!("sys/{folder}/dev"), &format!("{number}\n"));
        machine.link(&format!("sys/class/block/{name}"), &format!("../../{folder}"));
    }
    machine.put("sys/devices/a/nvme0n1/nvme0n1p2/partition", "2\n");
    for slave in ["nvme0n1p2", "nvme1n1"] {
        machine.put(&format!("sys/devices/virtual/block/dm-0/slaves/{slave}/x"), "");
    }
}

/// The drives of process 3 after it read.
fn drives_of(machine: &Machine, reader: &mut ActivityReader, read: u64) -> Option<Vec<DriveName>> {
    machine.process(&[3], "fio", 'S', 0);
    machine.put("proc/3/io", &format!("read_bytes: {read}\nwrite_bytes: 0\n"));
    processes(reader, machine).processes[&3].drives.clone()
}

fn named(names: &[&str]) -> Vec<DriveName> {
    names.iter().map(|name| DriveName::new(name)).collect()
}

#[test]
fn open_files_name_the_drives_below_them() {
    for (target, mounts, expected) in [
        ("/dev/nvme0n1p2", "", Some(named(&["nvme0n1"]))),
        ("/dev/ng1n1", "", Some(named(&["nvme1n1"]))),
        ("/data/x", "41 1 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw\n", Some(named(&["nvme0n1"]))),
        ("/data/x", "41 1 253:0 / /data rw - xfs /dev/mapper/x rw\n", Some(named(&["nvme0n1", "nvme1n1"]))),
        ("/data/x", "41 1 0:44 / /data rw - btrfs /dev/nvme1n1 rw\n", Some(named(&["nvme1n1"]))),
        ("/data/x", "41 1 0:44 / /data rw - tmpfs tmpfs rw\n", None),
        ("/data/x", "42 1 259:2 / /data rw - ext4 /dev/nvme0n1p2 rw\n", None),
        ("socket:[5]", "", None),
    ] {
        let machine = Machine::new();
        drives(&machine);
        machine.link("proc/3/fd/7", target);
        machine.put("proc/3/fdinfo/7", "pos:\t0\nflags:\t0100000\nmnt_id:\t41\n");
        machine.put("proc/3/mountinfo", mounts);
        let mut reader = ActivityReader::default();
        assert_eq!(drives_of(&machine, &mut reader, 0), Some(named(&[])), "nothing moved yet");
        assert_eq!(drives_of(&machine, &mut reader, 4096), expected, "{target} {mounts}");
        assert_eq!(drives_of(&machine, &mut reader, 4096), Some(named(&[])), "nothing moved since");
    }
}

/// A process with these open files: descriptor, target, octal flags, mount. It read and wrote so many bytes.
fn drives_behind(files: &[(u32, &str, &str, u32)], [read, written]: [u64; 2]) -> Option<Vec<DriveName>> {
    let machine = Machine::new();
    drives(&machine);
    machine.link("proc/3/exe", "/usr/bin/fio");
    machine.put(
        "proc/3/mountinfo",
        "41 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n42 1 259:1 / /data rw - ext4 /dev/nvme1n1 rw\n\
         43 1 0:44 / /dev/shm rw - tmpfs tmpfs rw\n44 1 0:45 / /pool rw - zfs pool rw\n",
    );
    for (number, target, flags, mount) in files {
        machine.link(&format!("proc/3/fd/{number}"), target);
        let info = format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t{mount}\n");
        machine.put(&format!("proc/3/fdinfo/{number}"), &info);
    }
    machine.process(&[3], "fio", 'S', 0);
    let mut reader = ActivityReader::default();
    machine.put("proc/3/io", "read_bytes: 0\nwrite_bytes: 0\n");
    processes(&mut reader, &machine);
    machine.put("proc/3/io", &format!("read_bytes: {read}\nwrite_bytes: {written}\n"));
    processes(&mut reader, &machine).processes[&3].drives.clone()
}

#[test]
fn files_that_are_not_read_name_no_drive_of_a_reader() {
    const READ: &str = "0100000";
    const WRITE: &str = "0100001";
    const BOTH: &str = "0100002";
    let direct = format!("0{:o}", 0o100_000 | libc::O_DIRECT);
    let (data, log) = ((7, "/data/x", READ, 42), (1, "/root/fio.log", WRITE, 41));
    let mostly_read = [1 << 30, 8192];
    assert_eq!(drives_behind(&[data, log], mostly_read), Some(named(&["nvme1n1"])), "a log on another drive");
    let executable = (5, "/usr/bin/fio", READ, 41);
    assert_eq!(drives_behind(&[data, executable], mostly_read), Some(named(&["nvme1n1"])), "its executable");
    assert_eq!(drives_behind(&[log], mostly_read), None, "a library that is mapped has no open file");
    let shared = (8, "/dev/shm/x", BOTH, 43);
    assert_eq!(drives_behind(&[data, shared], mostly_read), Some(named(&["nvme1n1"])), "in memory");
    let path = (9, "/root", "012000000", 41);
    assert_eq!(drives_behind(&[data, path], mostly_read), Some(named(&["nvme1n1"])), "O_PATH");
    let other = (6, "/root/y", READ, 41);
    assert_eq!(drives_behind(&[data, other], mostly_read), None, "either may be read");
    assert_eq!(drives_behind(&[data, (6, "/pool/y", READ, 44)], mostly_read), None, "a pool names no drive");
    let without_cache = (7, "/data/x", &*direct, 42);
    assert_eq!(drives_behind(&[without_cache, other], mostly_read), Some(named(&["nvme1n1"])), "O_DIRECT");
    let block = (6, "/dev/nvme0n1", READ, 5);
    assert_eq!(drives_behind(&[block, data], mostly_read), Some(named(&["nvme0n1"])), "a block device");
    let both = named(&["nvme0n1", "nvme1n1"]);
    assert_eq!(drives_behind(&[block, without_cache], mostly_read), Some(both.clone()));
    let script = (0, "/root/script", READ, 41);
    assert_eq!(drives_behind(&[data, script], mostly_read), Some(named(&["nvme1n1"])), "a standard stream");
    assert_eq!(drives_behind(&[script], mostly_read), Some(named(&["nvme0n1"])), "dd < file");
    let (out, errors) = ((1, "/data/copy", WRITE, 42), (2, "/root/errors", WRITE, 41));
    let copied = [1 << 30, 1 << 30];
    assert_eq!(drives_behind(&[script, out, errors], copied), Some(both), "dd");
    assert_eq!(drives_behind(&[out, errors], [0, 1 << 30]), Some(named(&["nvme1n1"])), "dd of=");
    assert_eq!(drives_behind(&[data], copied), None, "where it writes is not known");
}

#[test]
fn drives_are_looked_up_again_when_a_reader_begins_to_write() {
    let machine = Machine::new();
    drives(&machine);
    machine.process(&[3], "cp", 'S', 0);
    for (number, device, flags) in [(3, "nvme0n1", "0100000"), (4, "nvme1n1", "0100001")] {
        machine.link(&format!("proc/3/fd/{number}"), &format!("/dev/{device}"));
        machine.put(&format!("proc/3/fdinfo/{number}"), &format!("flags:\t{flags}\n"));
    }
    let mut reader = ActivityReader::default();
    let mut at = |read: u64, written: u64| {
        machine.put("proc/3/io", &format!("read_bytes: {read}\nwrite_bytes: {written}\n"));
        processes(&mut reader, &machine).processes[&3].drives.clone()
    };
    at(0, 0);
    assert_eq!(at(4096, 0), Some(named(&["nvme0n1"])));
    assert_eq!(at(4096, 4096), Some(named(&["nvme1n1"])));
}

#[test]
fn a_process_that_is_new_has_drives_from_its_first_sample_on() {
    let machine = Machine::new();
    drives(&machine);
    machine.link("proc/3/fd/7", "/dev/nvme1n1");
    machine.put("proc/3/fdinfo/7", "flags:\t0100000\n");
    let mut reader = ActivityReader::default();
    processes(&mut reader, &machine);
    assert_eq!(drives_of(&machine, &mut reader, 4096), Some(named(&["nvme1n1"])));
}

#[test]
fn a_control_group_of_its_own_tells_the_drive_that_moved() {
    let group = "sys/fs/cgroup/unified/fio";
    let see = |procs: &str, below: &str| {
        let machine = Machine::new();
        drives(&machine);
        machine.link("proc/3/fd/7", "/dev/nvme0n1");
        machine.put("proc/3/fdinfo/7", "flags:\t0100000\n");
        machine.put("proc/3/cgroup", "5:cpu:/\n0::/fio\n");
        machine.put(&format!("{group}/cgroup.procs"), procs);
        machine.put(&format!("{group}/cgroup.stat"), below);
        let mut reader = ActivityReader::default();
        let mut seen = None;
        for step in 0..8_u64 {
            // Page faults of its executable are a minor part.
            let (first, second) = (500 + 40 * step, 1000 * step);
            let stat =
                format!("259:0 rbytes={first} wbytes=0 rios=1\n259:1 rbytes={second} wbytes=7 rios=9\n");
            machine.put(&format!("{group}/io.stat"), &stat);
            seen = drives_of(&machine, &mut reader, 4096 * step);
        }
        seen
    };
    assert_eq!(see("3\n", "nr_descendants 0\n"), Some(named(&["nvme1n1"])));
    assert_eq!(see("3\n4\n", "nr_descendants 0\n"), Some(named(&["nvme0n1"])), "not alone: its open files");
    assert_eq!(see("3\n", "nr_descendants 1\n"), Some(named(&["nvme0n1"])), "groups below count as well");
}

#[test]
fn workers_cost_what_their_threads_used_since_the_last_look() {
    let machine = Machine::new();
    let thread = |tid: u32, name: &str, user: u64, system: u64, switches: u64| {
        let folder = format!("proc/self/task/{tid}");
        let stat = format!("{tid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 4 0 77 0\n");
        machine.put(&format!("{folder}/stat"), &stat);
        let status =
            format!("Name:\tx\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t2\n");
        machine.put(&format!("{folder}/status"), &status);
    };
    let mut reader = ActivityReader::default();
    thread(1, "iodyno", 500, 500, 500);
    assert_eq!(reader.workers(&machine), None, "no test runs");
    thread(2, "read 0", 10, 20, 30);
    assert_eq!(reader.workers(&machine), Some(WorkerTicks { user: 10, system: 20, switches: 32 }));
    thread(1, "iodyno", 900, 900, 900);
    thread(2, "read 0", 11, 24, 39);
    thread(3, "iou-sqp-7", 0, 100, 1);
    assert_eq!(reader.workers(&machine), Some(WorkerTicks { user: 1, system: 104, switches: 12 }));
    let used = WorkerTicks { user: 100, system: 300, switches: 8 };
    let rates = used.rates(std::time::Duration::from_secs(2), 100.0);
    assert_eq!((rates.user, rates.system, rates.switches), (0.5, 1.5, 4.0));
}

#[test]
fn a_thread_of_this_process_is_seen_in_its_call() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let waiting = std::thread::Builder::new().name("w (x) 7".to_owned());
    let waiting = waiting.spawn(move || std::io::Read::read(&mut reader, &mut [0]).unwrap()).unwrap();
    let own = std::process::id();
    let mut activity = ActivityReader::default();
    let mut look = || {
        let sample = threads(&mut activity, &LiveRoot::new(), &mut || true);
        assert_eq!(sample.sampled, sample.threads.len());
        sample.threads.into_iter().find(|thread| thread.pid == own && thread.command == *"w (x) *")
    };
    // It takes its time to start.
    let found = std::iter::repeat_with(&mut look).flatten().find(|thread| thread.state == 'S').unwrap();
    assert_eq!(found.syscall.as_ref().map(ToString::to_string).as_deref(), Some("read"));
    assert!(found.wchan.is_none_or(|function| function.as_str().contains("pipe")));
    std::io::Write::write_all(&mut writer, b"x").unwrap();
    waiting.join().unwrap();
    let counters = processes(&mut activity, &LiveRoot::new());
    let this = &counters.processes[&own];
    assert!(this.started > 0 && this.called_write.is_some());
}

/// Puts processes with these numbers of threads below a folder.
fn crowd(machine: &Machine, sizes: &[u32]) -> Vec<u32> {
    let mut all = Vec::new();
    for (at, size) in (1_u32..).zip(sizes) {
        let tids: Vec<u32> = (at * 100..at * 100 + size).collect();
        machine.process(&tids, "crowd", 'S', 0);
        all.extend(tids);
    }
    machine.put("proc/loadavg", &format!("0 0 0 1/{} 1\n", all.len()));
    all
}

#[test]
fn active_threads_are_seen_in_every_pass_beside_a_crowd_that_sleeps() {
    let machine = Machine::new();
    let crowd: Vec<u32> = (100..400).collect();
    machine.process(&crowd, "crowd", 'S', 0);
    machine.process(&[500, 501], "fio", 'S', 0);
    machine.process(&[600], "dd", 'D', 0);
    machine.put("proc/loadavg", "0 0 0 1/303 1\n");
    for pid in [100, 500, 600] {
        machine.put(&format!("proc/{pid}/io"), "read_bytes: 1\nwrite_bytes: 0\n");
    }
    let mut reader = ActivityReader::default();
    processes(&mut reader, &machine);
    let pass = |reader: &mut ActivityReader| threads(reader, &machine, &mut time_for(10));
    assert_eq!(tids(&pass(&mut reader)), crowd[..10], "nothing is known yet");
    // fio and the crowd used a CPU, dd is new.
    for (tids, ticks) in [(&[500, 501][..], 9), (&crowd, 9)] {
        let (pid, count) = (tids[0], tids.len());
        let stat = format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 {count} 0 77 0\n");
        machine.put(&format!("proc/{pid}/stat"), &stat);
    }
    machine.put("proc/600/stat", "600 (dd) D 1 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 99 0\n");
    processes(&mut reader, &machine);
    for number in 0..3 {
        let seen = tids(&pass(&mut reader));
        assert!([500, 501, 600].iter().all(|tid| seen.contains(tid)), "{number}: {seen:?}");
        assert_eq!(seen.len(), 10);
    }
    // Nothing moves any more: dd still waits.
    processes(&mut reader, &machine);
    for _ in 0..3 {
        let seen = pass(&mut reader);
        assert_eq!((seen.threads[0].tid, &seen.ended[..]), (600, &[][..]));
    }
    fs::remove_dir_all(machine.folder.path().join("proc/600")).unwrap();
    assert_eq!(pass(&mut reader).ended, [600]);
    let mut all: Vec<u32> = (0..40).flat_map(|_| tids(&pass(&mut reader))).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 302, "the others have their turn");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_thread_has_its_turn(
        sizes in prop::collection::vec(1_u32..6, 1..5),
        budgets in prop::collection::vec(1_usize..25, 1..12),
    ) {
        let machine = Machine::new();
        let all = crowd(&machine, &sizes);
        let mut reader = ActivityReader::default();
        let mut seen = Vec::new();
        for budget in budgets {
            let sample = threads(&mut reader, &machine, &mut time_for(budget));
            prop_assert_eq!(sample.sampled, budget.min(all.len()));
            prop_assert_eq!(sample.total, all.len());
            seen.extend(tids(&sample));
        }
        let expected: Vec<u32> = all.iter().copied().cycle().take(seen.len()).collect();
        prop_assert_eq!(seen, expected);
    }
}

#[test]
fn processes_that_come_and_go_in_the_midst_of_a_round_do_no_harm() {
    let machine = Machine::new();
    crowd(&machine, &[3, 3, 3]);
    let mut reader = ActivityReader::default();
    threads(&mut reader, &machine, &mut time_for(4));
    fs::remove_dir_all(Path::new(&machine.folder.path().join("proc/200"))).unwrap();
    let rest = tids(&threads(&mut reader, &machine, &mut time_for(100)));
    assert_eq!(rest, [300, 301, 302, 100, 101, 102], "those that are left, each once");
}

#[test]
fn the_thread_that_samples_does_not_see_itself() {
    let machine = Machine::new();
    machine.put("proc/loadavg", "0.50 0.40 0.30 2/5 999");
    machine.process(&[20, 21, 22], "iodyno", 'R', 0);
    machine.process(&[30], "dd", 'R', 0);
    machine.process(&[40], "sh", 'S', 0);
    machine.put("proc/thread-self/stat", "21 (iodyno) R 1 1 1 0 -1 0 0 0 0 0 5 0 0 0 20 0 3 0 77 0");
    let mut reader = ActivityReader::default();
    let first = threads(&mut reader, &machine, &mut time_for(1));
    assert_eq!((first.sampled, first.total), (1, 4), "{first:?}");
    for _ in 0..3 {
        let sample = threads(&mut reader, &machine, &mut time_for(100));
        let mut all = tids(&sample);
        all.sort_unstable();
        assert_eq!((all, sample.total), (vec![20, 22, 30, 40], 4));
    }
    machine.put("proc/thread-self/stat", "40 (sh) R 1 1 1 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 77 0");
    let mut alone = tids(&threads(&mut ActivityReader::default(), &machine, &mut time_for(100)));
    alone.sort_unstable();
    assert_eq!(alone, [20, 21, 22, 30], "the only thread of its process");
}

//! Any bytes as tables of mounts, swap and control groups: limits are of what was read, and no process uses an unknown drive.
#![no_main]

use iodyno::{
    counters::activity::ProcessSample,
    source::{
        activity::ActivityReader,
        capture::{Capture, TextRoot},
        read_machine,
    },
};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 12] = [
    "/proc/self/mountinfo",
    "/proc/mounts",
    "/proc/swaps",
    "/proc/self/cgroup",
    "/sys/fs/cgroup/g/io.max",
    "/sys/fs/cgroup/g/io.latency",
    "/sys/fs/cgroup/blkio/g/blkio.throttle.read_bps_device",
    "/proc/7/cgroup",
    "/sys/fs/cgroup/g/io.stat",
    "/proc/7/mountinfo",
    "/proc/7/fdinfo/3",
    "/probe/device-users",
];

/// A drive with a partition, and a process alone in its group with one open file.
fn machine() -> Capture {
    let mut capture = Capture::default();
    for (path, names) in [
        ("/sys/block", &["nvme0n1"][..]),
        ("/sys/devices/nvme0n1", &["nvme0n1p1"]),
        ("/proc", &["7"]),
        ("/proc/7/fd", &["3"]),
        ("/proc/7/task", &["7"]),
    ] {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        capture.answers.entry(path.to_owned()).or_default().list = Some(Ok(names));
    }
    for (path, target) in [("/sys/block/nvme0n1", "/sys/devices/nvme0n1"), ("/proc/7/fd/3", "/srv/file")] {
        capture.answers.entry(path.to_owned()).or_default().link = Some(Ok(target.to_owned()));
    }
    for (path, text) in [
        ("/sys/devices/nvme0n1/size", "2048"),
        ("/sys/devices/nvme0n1/dev", "259:0"),
        ("/sys/devices/nvme0n1/nvme0n1p1/partition", "1"),
        ("/sys/devices/nvme0n1/nvme0n1p1/dev", "259:1"),
        ("/sys/fs/cgroup/g/cgroup.procs", "7"),
        ("/sys/fs/cgroup/g/cgroup.stat", "nr_descendants 0"),
        ("/proc/7/stat", "7 (fio) D 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0"),
        ("/proc/7/io", "rchar: 1\nwchar: 1\nread_bytes: 4096\nwrite_bytes: 0\n"),
    ] {
        capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(text.as_bytes().to_vec()));
    }
    capture
}

fuzz_target!(|texts: [&[u8]; 12]| {
    let mut capture = machine();
    for (file, text) in FILES.iter().zip(texts) {
        capture.answers.entry((*file).to_owned()).or_default().read = Some(Ok(text.to_vec()));
    }
    let root = TextRoot::from(capture);
    let (machine, _) = read_machine(&root);
    assert!(machine.layers.file_systems.iter().all(|mount| !mount.devices.is_empty()));
    let mut reader = ActivityReader::default();
    let mut sample = ProcessSample::default();
    for _ in 0..2 {
        reader.processes(&root, &mut sample);
    }
});

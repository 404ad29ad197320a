//! When a test that runs as a program of its own reads.

use std::{fs, thread, time::Duration};

/// Waits until the first worker of a program has read 4 MiB. A clock would not show it on a busy machine.
pub fn wait_until_it_reads(process: u32) {
    let bytes = || -> Option<u64> {
        let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
        let worker = threads.flatten().find(|thread| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.trim_end() == "read 0")
        })?;
        let io = fs::read_to_string(worker.path().join("io")).ok()?;
        io.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
    };
    let reads = (0..12_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        bytes().is_some_and(|bytes| bytes > 4 << 20)
    });
    assert!(reads, "it read less than 4 MiB in two minutes");
}

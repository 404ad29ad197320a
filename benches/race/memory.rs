//! Memory of a job, without its buffers.

use std::{fs, path::Path, process::Command, process::Stdio, thread, time::Duration};

use super::job::own;

/// Jobs beside the first.
const JOBS: u64 = 64;
const DEPTH: u64 = 32;
const BLOCK: u64 = 4096;

/// Peak resident memory with many jobs less that with one, per job, without buffers.
pub fn of_a_job(file: &Path) -> String {
    let more = resident(file, JOBS + 1).saturating_sub(resident(file, 1));
    let each = (more / JOBS).saturating_sub(DEPTH * BLOCK);
    let met = if each < 1 << 20 { "met" } else { "NOT MET" };
    format!("\n**memory**: {} KiB for each job beside its buffers, bar 1024 KiB: {met}\n", each >> 10)
}

/// `VmHWM` of `proc_pid_status(5)` when the run is nearly over, bytes.
fn resident(file: &Path, jobs: u64) -> u64 {
    let mut child = Command::new(own())
        .args(["bench", "--json", "--rw=randread", "--bs=4k", "--runtime=2"])
        .args([format!("--iodepth={DEPTH}"), format!("--numjobs={jobs}")])
        .arg("--filename")
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(1700));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    child.wait().unwrap();
    let row = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    row.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

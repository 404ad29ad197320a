//! A workload in fio's options, and as a job file that fio runs.
//!
//! Here: one table of options, which the JSON document, job files and commands are made from. Not here: reading them.

use std::fmt::Write as _;

use crate::{
    machine::processor::cpu_list,
    model::{EngineKind, Pattern, Target, Workload},
    units,
};

/// The options that make a workload again, apart from its targets, in the order people write them.
pub fn options(workload: &Workload) -> Vec<(&'static str, String)> {
    let switch = |on: bool| Some(if on { "1" } else { "0" }.to_owned());
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let milliseconds = |time: std::time::Duration| format!("{}ms", time.as_millis());
    let list = |numbers: &[u32]| (!numbers.is_empty()).then(|| cpu_list(numbers.iter().copied()));
    let split: Vec<String> = workload
        .block_split
        .iter()
        .map(|(bytes, share)| format!("{}/{share}", units::block_size(*bytes)))
        .collect();
    let pattern = match workload.pattern {
        Pattern::Random => "randread",
        Pattern::Sequential => "read",
    };
    let rows = [
        ("rw", Some(pattern.to_owned())),
        ("bs", Some(units::block_size(workload.block_size))),
        ("bssplit", (!split.is_empty()).then(|| split.join(":"))),
        ("iodepth", Some(workload.depth.to_string())),
        ("numjobs", Some(workload.jobs.to_string())),
        ("ioengine", Some(workload.engine.name().to_owned())),
        ("direct", switch(workload.direct)),
        ("hipri", switch(workload.hipri)),
        ("hybrid_poll", workload.hybrid_poll.then(|| "1".to_owned())),
        ("fixedbufs", switch(workload.fixed_buffers)),
        ("registerfiles", switch(workload.register_files)),
        ("sqthread_poll", switch(workload.submission_poll)),
        ("iodepth_batch_submit", number(workload.batch_submit)),
        ("iodepth_batch_complete_min", number(workload.batch_complete_min)),
        ("runtime", workload.runtime.map(milliseconds)),
        ("ramp_time", (!workload.ramp.is_zero()).then(|| milliseconds(workload.ramp))),
        ("offset", (workload.offset.0 > 0).then(|| workload.offset.0.to_string())),
        ("io_size", workload.io_size.map(|size| size.0.to_string())),
        ("size", workload.size.map(|size| size.0.to_string())),
        ("rate_iops", number(workload.rate_iops)),
        ("cpus_allowed", list(&workload.cpus_allowed)),
        ("numa_cpu_nodes", list(&workload.numa_cpu_nodes)),
        ("cpus_allowed_policy", workload.pinned.then(|| "split".to_owned())),
        ("randseed", Some(workload.seed.to_string())),
        ("gtod_reduce", switch(!workload.latency)),
        ("exact_timing", workload.exact_timing.then(|| "1".to_owned())),
        // With an amount, the time is only the longest it may take.
        (
            "time_based",
            workload.runtime.filter(|_| workload.io_size.is_none()).and(switch(workload.time_based)),
        ),
    ];
    rows.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
}

/// What fio has no option for: a job file does without.
const NOT_FIOS: [&str; 2] = ["hybrid_poll", "exact_timing"];

/// Options that fio knows with io_uring alone.
const OF_IO_URING: [&str; 4] = ["hipri", "fixedbufs", "registerfiles", "sqthread_poll"];

/// A job file with one section per target, which does in fio what the workload does here.
pub fn job_file(workload: &Workload) -> String {
    let mut out = format!("{HEAD}[global]\n{}", lines(workload));
    for (index, target) in workload.targets.iter().enumerate() {
        let group = if index == 0 { "" } else { "new_group=1\n" };
        let _ = write!(out, "\n[{}]\n{}{group}", section(index, target), filename(target));
    }
    out
}

/// A job file of several workloads, one after the other. Each section has all of its options: fio lets options of an
/// earlier `[global]` stand in a later one.
pub fn job_file_of_runs(workloads: &[Workload]) -> String {
    let [workload] = workloads else {
        let mut out = HEAD.to_owned();
        for (run, workload) in workloads.iter().enumerate() {
            for (index, target) in workload.targets.iter().enumerate() {
                let waits = if run > 0 && index == 0 { "stonewall\n" } else { "" };
                let group = if run + index == 0 { "" } else { "new_group=1\n" };
                let name = section(index, target);
                let options = lines(workload);
                let _ = write!(out, "\n[run{}-{name}]\n{options}{}{waits}{group}", run + 1, filename(target));
            }
        }
        return out;
    };
    job_file(workload)
}

const HEAD: &str = "; made by iodyno bench --emit-fio; run it with: fio --readonly FILE\n\
                    ; one section per target, each with its own depth and jobs, reported one by one\n";

fn section(index: usize, target: &Target) -> String {
    match &target.drive {
        Some(drive) if drive.device_file() == *target.path.to_string_lossy() => drive.to_string(),
        _ => format!("target{}", index + 1),
    }
}

fn filename(target: &Target) -> String {
    format!("filename={}\n", target.path.to_string_lossy().replace(':', "\\:"))
}

/// A workload's options, a line each.
fn lines(workload: &Workload) -> String {
    let mut out = String::new();
    let ring = matches!(workload.engine, EngineKind::IoUring | EngineKind::IoUringCmd);
    let (depth, jobs) = processes(workload);
    for (option, value) in options(workload) {
        let value = match option {
            "iodepth" => depth.to_string(),
            "numjobs" => jobs.to_string(),
            _ if NOT_FIOS.contains(&option) => continue,
            // fio's own defaults.
            "gtod_reduce" | "time_based" if value == "0" => continue,
            option if OF_IO_URING.contains(&option) && (!ring || value == "0") => continue,
            _ => value,
        };
        let _ = writeln!(out, "{option}={value}");
    }
    if workload.engine == EngineKind::IoUringCmd {
        out.push_str("cmd_type=nvme\n");
    }
    if workload.pattern == Pattern::Random {
        // Offsets are drawn anew each time; a map of blocks already read is fio's own.
        out.push_str("norandommap=1\n");
    }
    if !workload.direct {
        // Without these fio drops what is cached of a file before it reads it, and says in which order it will.
        out.push_str("invalidate=0\nfadvise_hint=0\n");
    }
    out.push_str("group_reporting=1\n");
    out
}

/// fio's iodepth and numjobs: an engine of blocking reads has one under way per process, whatever its depth.
fn processes(workload: &Workload) -> (u32, u32) {
    match workload.engine {
        EngineKind::Psync => (1, workload.jobs.saturating_mul(workload.depth)),
        _ => (workload.depth, workload.jobs),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{model::DriveName, units::Bytes};

    fn two_drives() -> Workload {
        let target =
            |path: &str, drive: Option<&str>| Target { path: path.into(), drive: drive.map(DriveName::new) };
        Workload {
            targets: vec![target("/dev/nvme0n1", Some("nvme0n1")), target("/mnt/a:b", Some("nvme0n1"))],
            ..Workload::default()
        }
    }

    #[test]
    fn a_job_file_has_a_section_per_target_and_its_own_group() {
        let expected = "\
; made by iodyno bench --emit-fio; run it with: fio --readonly FILE
; one section per target, each with its own depth and jobs, reported one by one
[global]
rw=randread
bs=4k
iodepth=32
numjobs=1
ioengine=io_uring
direct=1
fixedbufs=1
registerfiles=1
runtime=10000ms
randseed=268947776
time_based=1
norandommap=1
group_reporting=1

[nvme0n1]
filename=/dev/nvme0n1

[target2]
filename=/mnt/a\\:b
new_group=1
";
        assert_eq!(job_file(&two_drives()), expected);
    }

    #[test]
    fn runs_wait_for_each_other_and_share_no_options() {
        let first = Workload { direct: false, ..two_drives() };
        let second = Workload { block_size: Bytes(65536), depth: 4, ..two_drives() };
        let file = job_file_of_runs(&[first.clone(), second]);
        assert!(!file.contains("[global]"), "{file}");
        let sections: Vec<&str> = file.split("\n[").skip(1).collect();
        let names: Vec<&str> = sections.iter().filter_map(|section| section.split(']').next()).collect();
        assert_eq!(names, ["run1-nvme0n1", "run1-target2", "run2-nvme0n1", "run2-target2"]);
        let waits: Vec<bool> = sections.iter().map(|section| section.contains("\nstonewall\n")).collect();
        assert_eq!(waits, [false, false, true, false]);
        assert!(sections[1].contains("\nbs=4k\n") && sections[2].contains("\nbs=64k\niodepth=4\n"), "{file}");
        assert!(sections[1].contains("invalidate=0") && !sections[2].contains("invalidate=0"), "{file}");
        assert_eq!(job_file_of_runs(std::slice::from_ref(&first)), job_file(&first));
    }

    #[test]
    fn blocking_reads_are_processes_and_options_of_the_ring_stay_with_it() {
        let workload =
            Workload { engine: EngineKind::Psync, depth: 8, jobs: 2, direct: false, ..two_drives() };
        let file = job_file(&workload);
        assert!(
            file.contains("\ninvalidate=0\nfadvise_hint=0\n")
                && !job_file(&two_drives()).contains("invalidate")
        );
        assert!(file.contains("\niodepth=1\nnumjobs=16\nioengine=psync\n"), "{file}");
        assert!(!OF_IO_URING.iter().any(|option| file.contains(option)), "{file}");
    }

    #[test]
    fn what_is_not_the_default_is_told() {
        let workload = Workload {
            pattern: Pattern::Sequential,
            block_split: vec![(Bytes(4096), 60), (Bytes(65536), 40)],
            hipri: true,
            hybrid_poll: true,
            exact_timing: true,
            runtime: None,
            ramp: Duration::from_secs(2),
            offset: Bytes(1 << 20),
            size: Some(Bytes(1 << 30)),
            io_size: Some(Bytes(2 << 30)),
            rate_iops: Some(5000),
            latency: false,
            batch_submit: Some(2),
            batch_complete_min: Some(8),
            cpus_allowed: vec![0, 1, 2, 8],
            numa_cpu_nodes: vec![1],
            pinned: true,
            ..two_drives()
        };
        let file = job_file(&workload);
        for line in [
            "rw=read",
            "bssplit=4k/60:64k/40",
            "hipri=1",
            "ramp_time=2000ms",
            "offset=1048576",
            "size=1073741824",
            "io_size=2147483648",
            "rate_iops=5000",
            "gtod_reduce=1",
            "iodepth_batch_submit=2",
            "iodepth_batch_complete_min=8",
            "cpus_allowed=0-2,8",
            "numa_cpu_nodes=1",
            "cpus_allowed_policy=split",
        ] {
            assert!(file.lines().any(|found| found == line), "{line} in {file}");
        }
        assert!(NOT_FIOS.iter().all(|option| !file.contains(option)), "fio would refuse it: {file}");
        assert!(!file.contains("time_based") && !file.contains("norandommap") && !file.contains("\nruntime"));
    }
}

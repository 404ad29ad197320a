//! A workload as a job file of fio.

use std::fmt::Write as _;

use crate::{
    model::{EngineKind, Pattern, Target, Workload, options::Fio},
    text::is_harmless,
};

/// A job file of fio for the same reads, with one section per target.
pub(crate) fn job_file(workload: &Workload) -> String {
    let mut out = format!("{HEAD}[global]\n{}", lines(workload));
    for (index, target) in workload.targets.iter().enumerate() {
        let group = if index == 0 { "" } else { "new_group=1\n" };
        let _ = write!(out, "\n[{}]\n{}\n{group}", section(index, target), filename_line(target));
    }
    out
}

/// A job file of consecutive workloads. Each section has all of its options, as those of an earlier `[global]` stay in force.
pub(crate) fn job_file_of_runs(workloads: &[Workload]) -> String {
    let [workload] = workloads else {
        let mut out = HEAD.to_owned();
        for (run, workload) in workloads.iter().enumerate() {
            for (index, target) in workload.targets.iter().enumerate() {
                let waits = if run > 0 && index == 0 { "stonewall\n" } else { "" };
                let group = if run + index == 0 { "" } else { "new_group=1\n" };
                let name = section(index, target);
                let options = lines(workload);
                let filename = filename_line(target);
                let _ = write!(out, "\n[run{}-{name}]\n{options}{filename}\n{waits}{group}", run + 1);
            }
        }
        return out;
    };
    job_file(workload)
}

const HEAD: &str = "; made by iodyno bench --emit-fio; run it with: fio --readonly FILE\n\
                    ; one section per target, each with its own iodepth and numjobs, reported separately\n";

fn section(index: usize, target: &Target) -> String {
    match &target.drive {
        Some(drive) if drive.device_file() == *target.path.to_string_lossy() => drive.to_string(),
        _ => format!("target{}", index + 1),
    }
}

/// Why a name cannot be written in a job file. fio has no quotes there: a line end begins another option, `;` and `#` begin
/// a comment, `$` a variable.
pub(crate) fn unwritable(target: &Target) -> Option<String> {
    let Some(name) = target.path.to_str() else { return Some("is not UTF-8".to_owned()) };
    let is_taken = |c: char| matches!(c, ';' | '#' | '$' | '`') || !is_harmless(c);
    if let Some(c) = name.chars().find(|c| is_taken(*c)) {
        return Some(format!(
            "contains U+{:04X}, which a job file of fio cannot have in a name",
            u32::from(c)
        ));
    }
    let why = if name.trim_start() != name {
        "begins with a space"
    } else if name.trim_end() != name {
        "ends with a space"
    } else if name.contains("\\:") {
        "has a backslash before a colon"
    } else if name.ends_with('\\') {
        "ends with a backslash"
    } else {
        return None;
    };
    Some(format!("{why}, which a job file of fio cannot have in a name"))
}

/// The line of a target's name. One that fio would read otherwise is left out.
fn filename_line(target: &Target) -> String {
    match unwritable(target) {
        None => format!("filename={}", filename(target)),
        Some(why) => format!("; filename left out: {why}"),
    }
}

/// A name in a list of names: its colons are escaped.
pub(super) fn filename(target: &Target) -> String {
    target.path.to_string_lossy().replace(':', "\\:")
}

/// A workload's options, a line each.
fn lines(workload: &Workload) -> String {
    let mut out = String::new();
    let ring = matches!(workload.engine, EngineKind::IoUring | EngineKind::IoUringCmd);
    let (depth, jobs) = processes(workload);
    for (option, value) in workload.options() {
        let value = match (option.name, option.fio) {
            (_, Fio::Missing) => continue,
            (_, Fio::OfIoUring) if !ring || value == "0" => continue,
            (_, Fio::WhenOn) if value == "0" => continue,
            ("iodepth", _) => depth.to_string(),
            ("numjobs", _) => jobs.to_string(),
            _ => value,
        };
        let _ = writeln!(out, "{}={value}", option.name);
    }
    if workload.engine == EngineKind::IoUringCmd {
        out.push_str("cmd_type=nvme\n");
    }
    if workload.pattern == Pattern::Random {
        // iodyno keeps no map of blocks already read.
        out.push_str("norandommap=1\n");
    }
    if !workload.direct {
        // Without these fio drops the page cache of a file and calls fadvise.
        out.push_str("invalidate=0\nfadvise_hint=0\n");
    }
    out.push_str("group_reporting=1\n");
    out
}

/// fio's iodepth and numjobs: an engine of blocking reads has one in flight per process.
fn processes(workload: &Workload) -> (u32, u32) {
    match workload.engine {
        EngineKind::Psync | EngineKind::Mmap => (1, workload.jobs.saturating_mul(workload.depth)),
        _ => (workload.depth, workload.jobs),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        model::{DriveName, options::OPTIONS},
        units::Bytes,
    };

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
; one section per target, each with its own iodepth and numjobs, reported separately
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
    fn a_name_that_fio_would_read_otherwise_is_left_out() {
        let target = |path: &str| Target { path: path.into(), drive: None };
        for name in [
            "/a\nexec_prerun=reboot",
            "/a\rb",
            "/a;b",
            "/a#b",
            "/${HOME}",
            "/a\u{1b}[2J",
            "/a\u{202e}b",
            "/a ",
            "/a\\:b",
            "/a\\",
        ] {
            assert!(unwritable(&target(name)).is_some(), "{name:?}");
            let workload =
                Workload { targets: vec![target(name), target("/plain name")], ..Workload::default() };
            for file in [job_file(&workload), job_file_of_runs(&[workload.clone(), workload])] {
                let keys: Vec<&str> =
                    file.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key).collect();
                assert!(!keys.contains(&"exec_prerun") && keys.contains(&"filename"), "{file}");
                assert!(!file.contains(name) && file.contains("; filename left out: "), "{file}");
                assert!(file.contains("filename=/plain name\n"), "{file}");
            }
        }
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
        let of_ring = OPTIONS.iter().filter(|option| option.fio == Fio::OfIoUring);
        assert!(
            of_ring.clone().count() > 3 && !of_ring.clone().any(|option| file.contains(option.name)),
            "{file}"
        );
    }

    #[test]
    fn options_other_than_the_default_are_written() {
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
            "offset=1m",
            "size=1g",
            "io_size=2g",
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
        let mut missing = OPTIONS.iter().filter(|option| option.fio == Fio::Missing);
        assert!(missing.all(|option| !file.contains(option.name)), "fio would refuse it: {file}");
        assert!(!file.contains("time_based") && !file.contains("norandommap") && !file.contains("\nruntime"));
    }
}

//! `EXPERIMENTS`: one row per question. Screen, command line and documentation derive from it.

use std::fmt::Write as _;

use super::{
    arms,
    plan::{Experiment, Subject},
    verdict::{better, worse},
};
use crate::{
    model::{ExperimentId, Metric, Workload},
    units::Bytes,
};

const fn row(id: &'static str, question: &'static str, arms: &'static str) -> Experiment {
    Experiment {
        id: ExperimentId(id),
        question,
        arms,
        changes: "",
        needs: "",
        metric: Metric::Iops,
        found: "",
        if_better: better(Metric::Iops),
        if_worse: worse(Metric::Iops),
        if_same: "{arm} and {baseline} read the same: another limit is lower.",
        ladder: "",
        proves: &[],
        subject: Subject::OneDrive,
        workload: small_reads,
        make: arms::direct,
    }
}

/// Source P's `onessd.sh 3 DRIVE 4k`.
fn small_reads() -> Workload {
    Workload { jobs: 3, ..Workload::default() }
}

/// The same with a fixed batch size: the CPU cost of a read depends on the batch, and arms that chose for
/// themselves could differ in nothing else.
fn even_reads() -> Workload {
    Workload { batch_submit: Some(8), batch_complete_min: Some(8), ..small_reads() }
}

/// Source P's `onessd.sh 3 DRIVE 1m`.
fn big_reads() -> Workload {
    Workload { block_size: Bytes(1 << 20), ..small_reads() }
}

/// All questions, the most asked first.
pub static EXPERIMENTS: &[Experiment] = &[
    Experiment {
        changes: "the scheduler of the drives",
        needs: "root, and a kernel with two schedulers",
        found: "mq-deadline 523 to 532 k IOPS, none 1 149 k at the same CPU use (Poder 2021)",
        if_better: "{arm} beats {baseline} for these reads: unusual for NVMe, worth keeping if mixed loads agree.",
        if_worse: "{arm} costs more CPU time per read than {baseline}: keep {baseline} for reads like these.",
        if_same: "The scheduler does not matter for these reads: {arm} may stay for its other effects.",
        proves: &["scheduler", "nr-requests"],
        make: arms::schedulers,
        ..row("scheduler", "Does the scheduler cost anything?", "none, then each other one the kernel has")
    },
    Experiment {
        changes: "readahead of the drives",
        needs: "root",
        metric: Metric::BytesPerSecond,
        found: "buffered 1 MiB reads with free memory: 6 800 MiB/s with readahead, 4 011 without; once memory is full of pages: 2 953 to \
                3 593 with it, 2 500 to 3 000 without (Poder 2021)",
        if_better: "Readahead {arm}: faster than {baseline} for this buffered pattern.",
        if_worse: "Readahead {arm}: slower than {baseline} for this buffered pattern.",
        if_same: "Readahead does not matter for this pattern in this state of memory; direct reads never use it.",
        workload: || Workload { direct: false, ..big_reads() },
        proves: &["readahead"],
        make: arms::readahead,
        ..row("readahead", "Does readahead help or harm?", "current, off, more")
    },
    Experiment {
        metric: Metric::BytesPerSecond,
        found: "1 MiB reads of one drive: direct 6 811 MiB/s at 1 % CPU; buffered 6 800 with free memory, 2 953 to 3 593 at 100 % CPU once it \
                is full of pages (Poder 2021)",
        if_better: "{arm} reads come from the page cache: this result does not measure the drive.",
        if_worse: "Copying through the page cache costs more than the drive: use O_DIRECT for data read once.",
        if_same: "The page cache costs nothing here; compare the CPU time per read.",
        workload: big_reads,
        make: arms::direct,
        ..row(
            "direct",
            "What does the page cache cost?",
            "direct, buffered, uncached where the kernel has it",
        )
    },
    Experiment {
        needs: "NVMe drives with poll queues (nvme.poll_queues)",
        found: "11.0 to 11.1 M IOPS of 10 drives with --hipri (Poder 2021); 14.4 to 20.4 M on 4 Optane drives (posted MSI patch set)",
        if_better: "Interrupts limited these reads: polling trades idle CPU time for IOPS.",
        if_worse: "Polling takes CPU time that the workers need: leave interrupts on.",
        if_same: "Interrupts are not the limit here; compare the CPU time per read.",
        // With more workers the drives are saturated either way, and interrupts cost CPU time only.
        workload: || Workload { jobs: 2, ..Workload::default() },
        subject: Subject::AllDrives,
        proves: &["no-poll-queues", "interrupt-load", "posted-msi-off"],
        make: arms::polled,
        ..row("polled", "Do interrupts limit small reads?", "interrupts, polled completions")
    },
    Experiment {
        found: "one job 450 k IOPS, three 1 149 k, on one drive (Poder 2021); 1 job 420 k, 16 jobs 1 800 k (Regalis 2023)",
        if_better: "{arm}: more than {baseline}; one worker fills its CPU before the drive.",
        if_worse: "{arm}: less than {baseline}; workers contend with each other.",
        if_same: "{baseline} saturates the drive already: more workers only cost CPU time.",
        proves: &["few-queues"],
        ladder: "number of jobs",
        make: arms::jobs,
        ..row("jobs", "Is one worker enough for a drive?", "1, 2, 4, ... jobs")
    },
    Experiment {
        if_better: "{arm} reads more than {baseline}; compare the latency.",
        if_worse: "{arm} reads less than {baseline}.",
        if_same: "{arm} reads no more than {baseline}: the depth only adds latency.",
        workload: Workload::default,
        ladder: "queue depth",
        make: arms::depths,
        ..row("depth", "What queue depth is enough?", "depth 1 to 256")
    },
    Experiment {
        metric: Metric::BytesPerSecond,
        found: "one process: 420 k IOPS at 4k, 229 k at 32k, from 32k on 7.5 GB/s, the drive's maximum (Regalis 2023)",
        if_better: "{arm} has higher throughput than {baseline}: the cost is per I/O, not per byte.",
        if_worse: "{arm} has lower throughput than {baseline}.",
        if_same: "{arm} and {baseline} have the same throughput.",
        workload: || Workload { depth: 128, ..Workload::default() },
        ladder: "block size",
        make: arms::blocks,
        ..row("block-size", "Which block size saturates the drive?", "4k, 8k, ... 1m")
    },
    Experiment {
        needs: "arms this kernel refuses are left out",
        found: "libaio 748 k + 748 k, io_uring 820 k + 820 k IOPS; posixaio 63 % of libaio at 128k (fio ioengine comparison)",
        if_better: "{arm} reads more than {baseline}.",
        if_worse: "{arm} reads less than {baseline}.",
        if_same: "The engine does not matter for these reads: the drive is full either way.",
        workload: Workload::default,
        proves: &["ring-features", "io-uring-disabled"],
        make: arms::engines,
        ..row(
            "engine",
            "Which I/O engine is the fastest?",
            "libaio, psync, posixaio, io_uring step by step, passthrough",
        )
    },
    Experiment {
        needs: "two drives",
        metric: Metric::BytesPerSecond,
        found: "10 drives: about 50 GiB/s with both cards under one root complex, 66 GiB/s under two (Poder 2021); 4 drives 30.0 GB/s (Regalis 2023)",
        if_better: "{arm}: more than {baseline}; something else limited one drive alone.",
        if_worse: "{arm}: less than {baseline}; together they reach a limit that they share.",
        if_same: "{arm}: as much as {baseline}; together they reach no further limit.",
        workload: big_reads,
        subject: Subject::AllDrives,
        proves: &["shared-root-complex", "oversubscribed-hop", "chipset-uplink", "memory-bandwidth"],
        make: arms::together,
        ..row("drives", "Do drives limit each other?", "one drive, all of its root complex, all drives")
    },
    Experiment {
        needs: "two drives; up to 4 are tried in every pair, more with adjacent drives on the bus",
        metric: Metric::BytesPerSecond,
        if_better: "{arm}: more together than alone.",
        if_worse: "{arm}: less together than alone; they share a limit, whether or not the tree shows one.",
        if_same: "{arm}: as much together as alone.",
        workload: big_reads,
        subject: Subject::AllDrives,
        proves: &["behind-vmd-or-raid"],
        make: arms::pairs,
        ..row(
            "pairs",
            "Which drives share a limit that the tree hides?",
            "each alone, in pairs, all together",
        )
    },
    Experiment {
        needs: "an array (md, device mapper) of two drives or more",
        metric: Metric::BytesPerSecond,
        found: "md RAID0 98 GiB/s on Linux 6.13, 43 GiB/s on 6.14 (linux-block 2025)",
        if_better: "{arm} reads more than {baseline} together: it spreads these reads over more of them.",
        if_worse: "{arm} reads less than {baseline} together: the array's code or its settings cost the rest.",
        if_same: "{arm} reads as much as {baseline} together: the array costs nothing for these reads.",
        workload: big_reads,
        make: arms::members,
        ..row("array-members", "What does an array cost?", "its members together, the array")
    },
    Experiment {
        needs: "two NUMA nodes with CPUs, and drives local to one of them",
        if_better: "Workers on {arm} read more than on {baseline}: check which CPUs take the drive's interrupts.",
        if_worse: "Reads from {arm} cross between nodes: keep workers on {baseline}, local to the drive.",
        if_same: "The link between the nodes has no measurable cost for these reads.",
        workload: Workload::default,
        proves: &["remote-numa"],
        make: arms::nodes,
        ..row("numa", "Does the workers' NUMA node matter?", "the drive's NUMA node, each other one")
    },
    Experiment {
        changes: "request merging (nomerges)",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        if_better: "nomerges {arm} costs less CPU time per read than {baseline}.",
        if_worse: "nomerges {arm} costs more CPU time per read than {baseline}.",
        if_same: "Merge lookups have no measurable cost.",
        workload: even_reads,
        proves: &["nomerges"],
        make: arms::no_merges,
        ..row("nomerges", "What do merge lookups cost?", "current, 0, 2")
    },
    Experiment {
        changes: "I/O accounting; iostat shows nothing while it is off",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        if_better: "iostats {arm} costs less CPU time per read than {baseline}.",
        if_worse: "iostats {arm} costs more CPU time per read than {baseline}.",
        if_same: "I/O accounting has no measurable cost: leave it on.",
        workload: even_reads,
        proves: &["iostats"],
        make: arms::statistics,
        ..row("iostats", "What does I/O accounting cost?", "current, 1, 0")
    },
    Experiment {
        changes: "the CPU that completes requests",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        if_better: "rq_affinity {arm} costs less CPU time per read than {baseline}.",
        if_worse: "rq_affinity {arm} costs more CPU time per read than {baseline}.",
        if_same: "The completing CPU does not matter here.",
        workload: even_reads,
        proves: &["rq-affinity"],
        make: arms::affinity,
        ..row("rq-affinity", "Does the completing CPU matter?", "current, 1, 2, 0")
    },
    Experiment {
        changes: "the max request size",
        needs: "root",
        metric: Metric::BytesPerSecond,
        found: "1 MiB reads were split at 512 KiB and carried 6 811 MiB/s all the same (Poder 2021)",
        if_better: "{arm} requests have higher throughput than {baseline}.",
        if_worse: "{arm} requests have lower throughput than {baseline}.",
        if_same: "Splitting large reads at {arm} costs no throughput; compare the CPU time per read.",
        workload: big_reads,
        proves: &["max-sectors", "hw-sectors-below-mdts"],
        make: arms::max_sectors,
        ..row(
            "max-sectors",
            "What does splitting large reads cost?",
            "current, the drive's max, 128 KiB, 64 KiB",
        )
    },
    Experiment {
        changes: "keeps CPUs out of C-states",
        needs: "root, and CPUs with idle states",
        if_better: "CPU wake-ups delay these reads: limit C-states where latency matters.",
        if_worse: "CPUs without C-states leave less power to the busy one.",
        if_same: "C-states have no measurable cost for these reads.",
        // A spinning worker keeps its CPU out of idle states.
        workload: || Workload { depth: 1, batch_complete_min: Some(1), ..Workload::default() },
        proves: &["deep-c-states"],
        make: arms::idle_states,
        ..row("idle-states", "Do C-states delay single reads?", "C-states on, C-states off")
    },
    Experiment {
        changes: "the governor of every CPU",
        needs: "root, and a kernel with cpufreq",
        if_better: "{arm} clocks the CPUs higher for these reads than {baseline}.",
        if_worse: "{arm} clocks the CPUs lower for these reads than {baseline}.",
        if_same: "The governor does not matter under this load.",
        proves: &["governor"],
        make: arms::governors,
        ..row("governor", "Does the governor slow reads down?", "current, each other one")
    },
    Experiment {
        changes: "the settings in its arms",
        needs: "--arm \"LABEL: SETTING=VALUE option=value ...\" twice or more",
        workload: Workload::default,
        make: arms::own,
        ..row("own", "Which of two sets of settings and workloads is better?", "as written")
    },
];

/// The table for `docs/experiments.md`.
pub fn markdown() -> String {
    let mut text =
        String::from("| experiment | question | arms | needs | published results |\n|---|---|---|---|---|\n");
    for row in EXPERIMENTS {
        let Experiment { id, question, arms, needs, found, .. } = row;
        let _infallible = writeln!(text, "| `{}` | {question} | {arms} | {needs} | {found} |", id.0);
    }
    text
}

/// The row of that name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|row| row.id.0 == name)
}

#[cfg(test)]
mod tests;

//! `EXPERIMENTS`: one row per question. Screen, command line and documentation derive from it.

use std::fmt::Write as _;

use super::{
    arms,
    plan::{Experiment, Subject},
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
        if_better: "{arm} reads more than {baseline} here.",
        if_worse: "{arm} reads less than {baseline} here.",
        if_same: "{arm} and {baseline} read the same: something else limits.",
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
        if_better: "{arm} serves these reads better than {baseline}: unusual for NVMe, worth keeping if mixed loads agree.",
        if_worse: "{arm} costs processor time on every read that {baseline} does not: keep {baseline} for reads like these.",
        if_same: "The scheduler does not matter for these reads: {arm} may stay for what else it does.",
        proves: &["scheduler", "nr-requests"],
        make: arms::schedulers,
        ..row("scheduler", "Does the scheduler cost anything?", "none, then each other one the kernel has")
    },
    Experiment {
        changes: "readahead of the drives",
        needs: "root",
        metric: Metric::BytesPerSecond,
        found: "buffered 1 MiB reads: 2 953 to 3 593 MiB/s with readahead, 4 011 MiB/s without, while there is free memory (Poder 2021)",
        if_better: "Through the page cache {arm} of readahead does better than {baseline} for this pattern.",
        if_worse: "Through the page cache {arm} of readahead does worse than {baseline} for this pattern.",
        if_same: "Readahead does not matter for this pattern; direct reads never use it.",
        workload: || Workload { direct: false, ..big_reads() },
        proves: &["readahead"],
        make: arms::readahead,
        ..row("readahead", "Does readahead help or harm?", "as found, off, more")
    },
    Experiment {
        metric: Metric::BytesPerSecond,
        found: "1 MiB reads of one drive: direct 6 811 MiB/s at 1 % CPU, buffered 2 953 to 3 593 MiB/s at 100 % once memory is full of pages (Poder 2021)",
        if_better: "The page cache answers: what {arm} reads is in memory, and the figure is not the drive's.",
        if_worse: "Copying through the page cache costs more than the drive: read with O_DIRECT what is read once.",
        if_same: "The page cache costs nothing here; look at the CPU time per read beside it.",
        workload: big_reads,
        make: arms::direct,
        ..row("direct", "What does the page cache cost?", "direct, buffered")
    },
    Experiment {
        needs: "NVMe drives with poll queues (nvme.poll_queues)",
        found: "11.0 to 11.1 M IOPS of 10 drives with --hipri (Poder 2021); 14.4 to 20.4 M on 4 Optane drives (posted MSI patch set)",
        if_better: "Interrupts were what held these reads back: polling trades idle processors for them.",
        if_worse: "Polling takes processors that the workers need here: leave interrupts on.",
        if_same: "Interrupts are not what limits here; look at the CPU time per read beside it.",
        // With more workers the drives are saturated either way, and interrupts cost CPU time only.
        workload: || Workload { jobs: 2, ..Workload::default() },
        subject: Subject::AllDrives,
        proves: &["no-poll-queues", "interrupt-load", "posted-msi-off"],
        make: arms::polled,
        ..row("polled", "Do interrupts hold small reads back?", "interrupts, polled completions")
    },
    Experiment {
        found: "one job 450 k IOPS, three 1 149 k, on one drive (Poder 2021); 1 job 420 k, 16 jobs 1 800 k (Regalis 2023)",
        if_better: "One worker is a full processor before the drive is: {arm} reach more than {baseline}.",
        if_worse: "{arm} stand in each other's way: {baseline} reads more.",
        if_same: "The drive is full with {baseline} already: more workers only cost processor time.",
        proves: &["few-queues"],
        make: arms::jobs,
        ..row("jobs", "Is one worker enough for a drive?", "1, 2, 4, ... jobs")
    },
    Experiment {
        found: "",
        if_better: "{arm} keeps more of the drive busy than {baseline}; what it costs in latency stands beside it.",
        if_worse: "{arm} reads less than {baseline}.",
        if_same: "{arm} reads no more than {baseline}: the depth only adds waiting.",
        workload: Workload::default,
        make: arms::depths,
        ..row("depth", "How deep must the queue be?", "depth 1 to 256")
    },
    Experiment {
        metric: Metric::BytesPerSecond,
        found: "one process: 420 k IOPS at 4k, 229 k at 32k, from 32k on 7.5 GB/s, the drive's all (Regalis 2023)",
        if_better: "Reads of {arm} carry more than those of {baseline}: the cost is by read, not by byte.",
        if_worse: "Reads of {arm} carry less than those of {baseline}.",
        if_same: "Reads of {arm} and {baseline} carry the same.",
        workload: || Workload { depth: 128, ..Workload::default() },
        proves: &["lba-512"],
        make: arms::blocks,
        ..row("block-size", "From which block size on is the drive full?", "4k, 8k, ... 1m")
    },
    Experiment {
        needs: "arms this kernel refuses are left out",
        found: "libaio 748 k + 748 k, io_uring 820 k + 820 k IOPS; posixaio 63 % of libaio at 128k (fio ioengine comparison)",
        if_better: "{arm} spends less on a read than {baseline}.",
        if_worse: "{arm} spends more on a read than {baseline}.",
        if_same: "The engine does not matter for these reads: the drive is full either way.",
        workload: Workload::default,
        proves: &["ring-features", "io-uring-disabled"],
        make: arms::engines,
        ..row(
            "engine",
            "Which way of reading is the fastest?",
            "libaio, psync, posixaio, io_uring step by step, passthrough",
        )
    },
    Experiment {
        needs: "two drives",
        metric: Metric::BytesPerSecond,
        found: "10 drives: about 50 GiB/s with both cards under one root complex, 66 GiB/s under two (Poder 2021); 4 drives 30.0 GB/s (Regalis 2023)",
        if_better: "{arm} read more than {baseline}: one drive alone was held back by something else.",
        if_worse: "{arm} hold each other back: less than {baseline}. They share a limit.",
        if_same: "{arm} read as much as {baseline}: nothing they share is full.",
        workload: big_reads,
        subject: Subject::AllDrives,
        proves: &["shared-root-complex", "oversubscribed-hop", "chipset-uplink", "memory-bandwidth"],
        make: arms::together,
        ..row("drives", "Do drives hold each other back?", "one drive, all of its root complex, all drives")
    },
    Experiment {
        needs: "two drives; up to 4 are tried in every pair, more with their neighbours on the bus",
        metric: Metric::BytesPerSecond,
        found: "",
        if_better: "{arm} read more together than alone.",
        if_worse: "{arm} read less together than alone: they share a limit, whether or not the tree shows one.",
        if_same: "{arm} do not hold each other back.",
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
        needs: "two NUMA nodes with processors, and drives that are near one of them",
        found: "",
        if_better: "Workers on {arm} read more than on {baseline}: look at which processors the drive's interrupts go to.",
        if_worse: "Reads cross between nodes from {arm}: keep workers on {baseline}, near the drive.",
        if_same: "The way between the nodes costs these reads nothing that could be seen.",
        workload: Workload::default,
        proves: &["remote-numa"],
        make: arms::nodes,
        ..row("numa", "Does it matter on which node workers run?", "the drive's NUMA node, each other one")
    },
    Experiment {
        changes: "merging of requests",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        found: "",
        if_better: "With nomerges at {arm} a read costs less processor time than at {baseline}.",
        if_worse: "With nomerges at {arm} a read costs more processor time than at {baseline}.",
        if_same: "Looking for requests to merge costs nothing that could be seen.",
        workload: even_reads,
        proves: &["nomerges"],
        make: arms::no_merges,
        ..row("nomerges", "What does looking for merges cost?", "as found, 0, 2")
    },
    Experiment {
        changes: "accounting of requests; it blinds iostat while it is off",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        found: "",
        if_better: "With iostats at {arm} a read costs less processor time than at {baseline}.",
        if_worse: "With iostats at {arm} a read costs more processor time than at {baseline}.",
        if_same: "Counting requests costs nothing that could be seen: leave it on.",
        workload: even_reads,
        proves: &["iostats"],
        make: arms::statistics,
        ..row("iostats", "What does the accounting of requests cost?", "as found, 1, 0")
    },
    Experiment {
        changes: "where requests complete",
        needs: "root",
        metric: Metric::CpuNsPerIo,
        found: "",
        if_better: "With rq_affinity at {arm} a read costs less processor time than at {baseline}.",
        if_worse: "With rq_affinity at {arm} a read costs more processor time than at {baseline}.",
        if_same: "Where reads complete does not matter here.",
        workload: even_reads,
        proves: &["rq-affinity"],
        make: arms::affinity,
        ..row("rq-affinity", "Does it matter where reads complete?", "as found, 1, 2, 0")
    },
    Experiment {
        changes: "the largest request",
        needs: "root",
        metric: Metric::BytesPerSecond,
        found: "1 MiB reads were split at 512 KiB and carried 6 811 MiB/s all the same (Poder 2021)",
        if_better: "Requests of {arm} carry more than those of {baseline}.",
        if_worse: "Requests of {arm} carry less than those of {baseline}.",
        if_same: "Splitting big reads at {arm} costs no throughput; look at the CPU time per read beside it.",
        workload: big_reads,
        proves: &["max-sectors", "hw-sectors-below-mdts"],
        make: arms::max_sectors,
        ..row(
            "max-sectors",
            "Does splitting big reads cost anything?",
            "as found, the drive's most, 128 KiB, 64 KiB",
        )
    },
    Experiment {
        changes: "keeps processors out of deep sleep",
        needs: "root, and processors with idle states",
        found: "",
        if_better: "Waking processors costs these reads time: hold them awake, or limit idle states, where latency counts.",
        if_worse: "Processors that never sleep leave less power to the one that works.",
        if_same: "Sleep costs these reads nothing that could be seen.",
        // A spinning worker keeps its CPU out of idle states.
        workload: || Workload { depth: 1, batch_complete_min: Some(1), ..Workload::default() },
        proves: &["deep-c-states"],
        make: arms::idle_states,
        ..row("idle-states", "Do sleeping processors delay single reads?", "free to sleep, held awake")
    },
    Experiment {
        changes: "the governor of every processor",
        needs: "root, and a kernel that governs the clock (cpufreq)",
        found: "",
        if_better: "{arm} gives these reads a faster processor than {baseline}.",
        if_worse: "{arm} gives these reads a slower processor than {baseline}.",
        if_same: "The governor does not matter under this load.",
        proves: &["governor"],
        make: arms::governors,
        ..row("governor", "Does the governor slow reads down?", "as found, each other one")
    },
    Experiment {
        changes: "what its arms say",
        needs: "--arm \"LABEL: SETTING=VALUE option=value ...\" twice or more",
        found: "",
        workload: Workload::default,
        make: arms::own,
        ..row("own", "Which of two sets of settings and workloads is better?", "as written")
    },
];

/// The table for `docs/experiments.md`.
pub fn markdown() -> String {
    let mut text =
        String::from("| experiment | question | arms | needs | found by others |\n|---|---|---|---|---|\n");
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

//! Terms that screens use, each in one or two sentences: one table for the screen and `docs/glossary.md`.

use std::fmt::Write as _;

use crate::{
    screens::widgets::paint::{Piece, hanging, piece},
    ui::{key_names::KeyNames, theme::Meaning},
};

/// Terms in alphabetical order with what they mean.
pub const TERMS: &[(&str, &str)] = &[
    ("AER", "Advanced Error Reporting (PCIe): the kernel counts errors of links and devices."),
    ("aqu-sz", "Mean number of requests in flight (iostat)."),
    ("arm", "One of the settings or workloads that an experiment compares; every round runs each arm once."),
    ("ASPM", "Active State Power Management: a PCIe link sleeps when idle, and wakes up with a delay."),
    (
        "await",
        "Mean time of a request from submission to completion, in ms (iostat): r_await for reads, w_await for writes.",
    ),
    ("baseline", "The arm that the others of an experiment are compared with."),
    (
        "basis",
        "Where a limit comes from: measured here, published for the part, link (speed and width), or table, for links \
         that Linux cannot see.",
    ),
    ("capture", "A file of what iodyno reads from a machine: :open or --open shows that machine anywhere."),
    ("downtrained", "A link that runs at a lower speed or width than both its ends can do."),
    (
        "expected",
        "What a test should read by the capacity model, with all limits of this machine in its way.",
    ),
    ("free, buff, cach", "Memory (dstat): free, buffers of block devices, page cache; used is the rest."),
    (
        "GB/s",
        "Powers of ten: 1 GB/s = 1 000 000 000 bytes per second; GiB/s are powers of two. {units} switches.",
    ),
    ("Gen3, Gen4, Gen5", "Generations of PCI Express: 8, 16 and 32 GT/s per lane."),
    ("GT/s", "Gigatransfers per second of one PCIe lane: raw bits, before encoding and packet headers."),
    ("hipri", "fio's option: 1 polls for completions instead of waiting for interrupts; needs poll queues."),
    ("int, csw", "Interrupts and context switches per second (dstat)."),
    (
        "IOMMU modes",
        "strict: an address is invalid at once after its I/O; lazy: later, many together (iommu.strict=0), which costs less; pt: drives \
         use addresses untranslated.",
    ),
    ("IOPS", "I/Os completed per second."),
    ("iowait", "Time in which a CPU was idle while a task waited for I/O."),
    (
        "LBA format",
        "Size of a drive's logical blocks, 512 or 4096 bytes; another one needs a format, which destroys data.",
    ),
    ("limit", "What a link, root complex or CPU can carry at most, with the source of that number."),
    ("MDTS", "Maximum Data Transfer Size: the largest request that an NVMe drive accepts."),
    (
        "mitigations",
        "Protection of the kernel against faults of CPUs; it costs time for every system call and interrupt.",
    ),
    ("MPS, MRRS", "Maximum Payload Size and Maximum Read Request Size of PCIe packets, in bytes."),
    ("nomerges", "0: the kernel merges neighbouring requests; 1: simple cases only; 2: never."),
    ("NUMA node", "CPUs with the memory and PCIe devices that are near to them."),
    ("O_DIRECT", "Reads that bypass the page cache."),
    ("p99, p99.9", "Latency that 99 % or 99.9 % of the I/Os do not exceed."),
    (
        "Poder 2021",
        "Tanel Poder: Achieving 11M IOPS & 66 GiB/s IO on a Single ThreadRipper Workstation, 2021.",
    ),
    (
        "poll queues",
        "Queues of an NVMe drive without interrupts: a CPU polls for completions. The driver's parameter makes them.",
    ),
    (
        "posted MSI",
        "Linux patch set of Jacob Pan, 2024: the CPU collects interrupts of devices; its measurements are quoted.",
    ),
    (
        "potential",
        "What a drive could read with nothing in its way: measured, published, or the rate of its link.",
    ),
    (
        "pull",
        "The guided test: each drive alone, all together, small reads, latency; it ends in one headline.",
    ),
    ("queue depth", "I/Os in flight at the same time; iodepth counts them per job and drive."),
    ("r/s, w/s", "Reads and writes per second of all drives (`read` and `writ` of dstat's I/O)."),
    ("read, writ", "Bytes per second of all drives; in `stat` I/Os, too (dstat)."),
    ("readahead", "KiB that the kernel reads ahead of sequential buffered reads."),
    ("Regalis 2023", "Regalis Technologies log: an X570 workstation with four FireCuda 530, 2023."),
    (
        "root complex",
        "Host bridge of a group of PCIe ports in the CPU; its devices share its path to memory.",
    ),
    ("root port", "Port of a root complex: a slot, an M.2 socket, or a chipset is behind it."),
    ("run, blk, new", "Processes (dstat): running, waiting for I/O, started per second."),
    ("scheduler", "Orders requests before they reach the drive: none, mq-deadline, kyber or bfq."),
    (
        "SINGLE_ISSUER",
        "Flag of io_uring: one thread submits. DEFER_TASKRUN: it handles completions too. NO_SQARRAY: one index less.",
    ),
    ("softirq", "Kernel work deferred from interrupts, such as completions of another CPU's requests."),
    ("stl", "Steal (dstat): time in which the hypervisor ran other guests on a CPU of this one."),
    ("usr, sys, idl", "CPU time (dstat): programs, kernel, idle; wai is idle while a task waits for I/O."),
    ("verdict", "Result of a comparison: better, worse, no difference or inconclusive, with its interval."),
    (
        "wbt",
        "Writeback throttling: holds writes of the page cache back so that reads stay below wbt_lat_usec.",
    ),
    ("x4, x16", "Lanes of a PCIe link."),
    ("%util", "Share of time with a request in flight. Drives with several queues take more at 100 %."),
];

/// The page on a screen.
pub(super) fn lines(keys: &KeyNames, width: u16) -> Vec<Vec<Piece>> {
    let term = |(term, text): &(&str, &str)| {
        hanging(piece(format!("{term:<17} "), Meaning::Key), &keys.fill(text), Meaning::Text, width)
    };
    TERMS.iter().flat_map(term).collect()
}

/// The table for `docs/glossary.md`.
pub fn markdown() -> String {
    let mut text = String::from("| term | meaning |\n|---|---|\n");
    let keys = super::commands::key_names();
    for (term, meaning) in TERMS {
        let meaning = keys.fill(meaning);
        let _ = writeln!(text, "| {term} | {meaning} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_once_in_order_and_are_explained_in_sentences() {
        let key = |term: &str| term.trim_start_matches('%').to_lowercase();
        for pair in TERMS.windows(2) {
            assert!(key(pair[0].0) < key(pair[1].0) || pair[1].0 == "%util", "{:?}", pair[1].0);
        }
        for (term, text) in TERMS {
            assert!(term.len() <= 17 && text.ends_with('.') && !text.contains('|'), "{term}");
        }
        for term in ["GT/s", "root complex", "MPS, MRRS", "MDTS", "await"] {
            assert!(TERMS.iter().any(|(known, _)| *known == term), "{term}");
        }
    }
}

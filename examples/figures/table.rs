//! The published figures of four sources, one row each.
//!
//! Poder 2021 and Regalis 2023 are the articles that `assets/drives.toml` names. T is the workstation of the first, X that of the
//! second. Ratios: the posted MSI patch set and the fio ioengine comparison (`assets/processors.toml`).

use iodyno::model::PageCache;

use crate::{
    constants::Constant as C,
    rows::{Metric, Row, Twist, Use},
};

const FREE: Twist = Twist::Buffered { memory: PageCache::Free, readahead: true };
const FREE_OFF: Twist = Twist::Buffered { memory: PageCache::Free, readahead: false };
const FULL: Twist = Twist::Buffered { memory: PageCache::Full, readahead: true };
const FULL_OFF: Twist = Twist::Buffered { memory: PageCache::Full, readahead: false };

const KIB: u64 = 1024;
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

const T: Row = Row {
    work: "",
    used: Use::Fitted,
    depends: &[],
    repeats: None,
    demo: "threadripper-after",
    drives: 1,
    block: 4 * KIB,
    depth: 32,
    jobs: 3,
    twist: Twist::None,
    metric: Metric::Iops,
    published: 0.0,
    limit: None,
    why: None,
};
const T_LARGE: Row = Row { block: 1024 * KIB, metric: Metric::Rate, ..T };
const T_ALL: Row = Row { used: Use::Predicted, drives: 10, depends: &[C::Rate980], ..T };
const X: Row = Row { demo: "x570-formatted", depth: 128, jobs: 1, ..T };
const X_LINK: Row = Row { depends: &[C::PayloadX], limit: Some("16 GT/s"), ..X };
const X_ALL: Row = Row { used: Use::Predicted, drives: 4, jobs: 4, ..X_LINK };

const T_CPU: &[C] = &[C::CyclesT];
const T_CPUS: &[C] = &[C::CyclesT, C::Several];
const T_SIZES: &[C] = &[C::CyclesT, C::Several, C::GrowthT];
const X_CPU: &[C] = &[C::CyclesX];
const X_SIZES: &[C] = &[C::CyclesX, C::GrowthX];

const FIO_TIME: &str = "the model has the CPU time of a read with its interrupts; fio's usr + sys are of the worker alone (iostat beside it: \
     4.2 times as much)";
const ONE_PROCESS: &str = "fio's coordination between the files of one process is no part of the model";
const OTHER: &str = "two CPUs of different makes, kernels and buffers (registered or not): this is how far another CPU's row may be off";
const CACHE_CPU: &str = "not measured but said: 3 to 4 times less than with full memory";
const WAITS: &str =
    "CPUs were 69 to 92 % busy: threads also waited for each other's pages, which the model has no part for";

/// Rows that constants are fitted to.
pub const FITTED: &[Row] = &[
    Row { work: "T 1 drive, 4 KiB, 1 worker", depends: T_CPU, jobs: 1, published: 450e3, ..T },
    Row {
        work: "T 1 drive, 4 KiB, 3 workers",
        depends: &[C::CyclesT, C::Several, C::Iops980],
        published: 1_149e3,
        ..T
    },
    Row {
        work: "T 1 drive, 4 KiB, mq-deadline (523 to 532 k)",
        depends: &[C::CyclesT, C::Several, C::Deadline],
        twist: Twist::MqDeadline,
        published: 527.5e3,
        limit: Some("3 workers"),
        ..T
    },
    Row { work: "T 1 drive, 1 MiB, 3 workers", depends: &[C::Rate980], published: 6_811.0 * MIB, ..T_LARGE },
    Row {
        work: "T 1 drive, 1 MiB, requests after the split",
        depends: &[C::Rate980, C::SplitT],
        metric: Metric::Requests,
        published: 13.8e3,
        ..T_LARGE
    },
    Row {
        work: "T 1 drive, 1 MiB, CPU (psn: 24 of 100 samples)",
        depends: T_SIZES,
        metric: Metric::Processors,
        published: 0.75,
        ..T_LARGE
    },
    Row {
        work: "T 10 drives, 1 MiB, both cards on one root complex",
        depends: &[C::RootComplex, C::Rate980],
        demo: "threadripper-before",
        drives: 10,
        published: 50.0 * GIB,
        ..T_LARGE
    },
    Row {
        work: "T buffered, memory full (2 953 to 3 593 MiB/s)",
        depends: &[C::CacheFull, C::Smt],
        twist: FULL,
        published: 3_273.0 * MIB,
        limit: Some("hardware threads busy"),
        ..T_LARGE
    },
    Row {
        work: "T buffered, readahead off, free memory, CPU",
        depends: &[C::CacheFree, C::Iops980],
        twist: FREE_OFF,
        metric: Metric::Processors,
        published: 21.0,
        ..T_LARGE
    },
    Row { work: "X 1 drive, 4 KiB, 1 process", depends: X_CPU, published: 420e3, ..X },
    Row { work: "X 1 drive, 8 KiB, 1 process", depends: X_SIZES, block: 8 * KIB, published: 341e3, ..X },
    Row { work: "X 1 drive, 16 KiB, 1 process", depends: X_SIZES, block: 16 * KIB, published: 305e3, ..X },
    Row {
        work: "X 1 drive, 4 KiB, 16 processes",
        depends: &[C::IopsFireCuda],
        jobs: 16,
        published: 1_800e3,
        ..X
    },
    Row {
        work: "X 4 drives, 4 KiB, 16 processes",
        depends: &[C::CyclesX, C::Several],
        drives: 4,
        jobs: 4,
        published: 5_556e3,
        ..X
    },
    Row { work: "X 1 drive, 32 KiB, 1 process", block: 32 * KIB, published: 229e3, ..X_LINK },
    Row { work: "X 1 drive, 64 KiB", block: 64 * KIB, published: 115e3, repeats: LINK, ..X_LINK },
    Row { work: "X 1 drive, 128 KiB", block: 128 * KIB, published: 57.3e3, repeats: LINK, ..X_LINK },
    Row { work: "X 1 drive, 256 KiB", block: 256 * KIB, published: 28.7e3, repeats: LINK, ..X_LINK },
    Row { work: "X 1 drive, 512 KiB", block: 512 * KIB, published: 14.3e3, repeats: LINK, ..X_LINK },
    Row { work: "X 1 drive, 1 MiB", block: 1024 * KIB, published: 7.1e3, repeats: LINK, ..X_LINK },
    Row { work: "polled/interrupts, 4 Optane drives", published: 14.37 / 20.36, ..POLLED },
    Row { work: "polled/interrupts, 5 Optane drives", published: 21.41 / 25.7, ..POLLED },
    Row { work: "polled/interrupts, 4 PM174x drives", published: 6.895 / 13.0, ..POLLED },
    Row { work: "libaio/io_uring, 4 x 970 PRO", published: 820.0 / 748.0, ..LIBAIO },
    Row { work: "libaio/io_uring, 4 PM174x drives", published: 6.895 / 6.348, ..LIBAIO },
    Row { work: "libaio/io_uring, posted MSI", published: 8.811 / 8.295, ..LIBAIO },
];

const LINK: Option<&str> = Some("X 1 drive, 32 KiB, 1 process");
const FOUR: Option<&str> = Some("X 4 drives, 32 KiB, 16 processes");
const POLLED: Row = Row { depends: &[C::Polled], metric: Metric::Ratio, why: Some(POLLING), ..T };
const LIBAIO: Row = Row { depends: &[C::Libaio], metric: Metric::Ratio, ..T };
const POLLING: &str =
    "three machines: how dear interrupts are differs, and polled Optane drives were at their own limit";

/// Rows that no constant is fitted to.
pub const OTHERS: &[Row] = &[
    Row {
        work: "T the same drive on a Gen3 link (stated)",
        used: Use::Predicted,
        depends: &[C::PayloadT],
        twist: Twist::Gen3,
        published: 3_500e6,
        ..T_LARGE
    },
    Row {
        work: "T 10 drives, 512 KiB, two root complexes",
        block: 512 * KIB,
        metric: Metric::Rate,
        published: 66.0 * GIB,
        ..T_ALL
    },
    Row { work: "T 10 drives, 512 KiB, reads", block: 512 * KIB, published: 138e3, repeats: TEN, ..T_ALL },
    Row {
        work: "T 10 drives, 512 KiB, CPU",
        used: Use::Seen,
        depends: T_SIZES,
        block: 512 * KIB,
        metric: Metric::Processors,
        published: 7.5,
        ..T_ALL
    },
    Row {
        work: "T 10 drives, 64 KiB",
        block: 64 * KIB,
        metric: Metric::Rate,
        published: 66.0 * GIB,
        repeats: TEN,
        ..T_ALL
    },
    Row { work: "T 10 drives, 64 KiB, reads", block: 64 * KIB, published: 1.08e6, repeats: TEN, ..T_ALL },
    Row {
        work: "T 10 drives, 64 KiB, CPU",
        used: Use::Seen,
        depends: T_SIZES,
        block: 64 * KIB,
        metric: Metric::Processors,
        published: 25.0,
        ..T_ALL
    },
    Row {
        work: "T sum of the drives' own limits",
        metric: Metric::Sum,
        published: 66.5 * GIB,
        repeats: TEN,
        ..T_ALL
    },
    Row {
        work: "T 10 drives, 4 KiB, --hipri (11.0 to 11.1 M)",
        used: Use::Seen,
        depends: &[C::CyclesT, C::Several, C::Polled, C::Smt],
        jobs: 4,
        twist: Twist::Polled,
        published: 11.05e6,
        limit: Some("all 32 hardware threads busy"),
        ..T_ALL
    },
    Row {
        work: "T 10 drives, 4 KiB, one fio process",
        used: Use::Seen,
        depends: T_CPUS,
        jobs: 4,
        twist: Twist::Unmodelled,
        published: 8e6,
        why: Some(ONE_PROCESS),
        ..T_ALL
    },
    Row {
        work: "T buffered, free memory",
        used: Use::Seen,
        depends: &[C::Rate980],
        twist: FREE,
        published: 6_800.0 * MIB,
        ..T_LARGE
    },
    Row {
        work: "T buffered, free memory, CPU (25 to 33 %)",
        used: Use::Seen,
        depends: &[C::Rate980, C::CacheFree],
        twist: FREE,
        metric: Metric::Processors,
        published: 29.0,
        why: Some(CACHE_CPU),
        ..T_LARGE
    },
    Row {
        work: "T buffered, readahead off, free memory",
        used: Use::Seen,
        depends: &[C::Iops980, C::CacheFree],
        twist: FREE_OFF,
        published: 4_011.0 * MIB,
        limit: Some("without readahead"),
        ..T_LARGE
    },
    Row {
        work: "T buffered, readahead off, memory full (2.5-3.0 k)",
        used: Use::Seen,
        depends: &[C::Iops980, C::CacheFull, C::Smt],
        twist: FULL_OFF,
        published: 2_750.0 * MIB,
        limit: Some("without readahead"),
        why: Some(WAITS),
        ..T_LARGE
    },
    Row {
        work: "X 1 drive, 32 KiB, CPU by fio (65 % of one)",
        used: Use::Seen,
        depends: X_SIZES,
        block: 32 * KIB,
        twist: Twist::Unmodelled,
        metric: Metric::Workers,
        published: 64.92 / 32.0,
        why: Some(FIO_TIME),
        ..X
    },
    Row { work: "X 4 drives, 32 KiB, 16 processes", block: 32 * KIB, published: 914e3, ..X_ALL },
    Row { work: "X 4 drives, 256 KiB", block: 256 * KIB, published: 115e3, repeats: FOUR, ..X_ALL },
    Row { work: "X 4 drives, 512 KiB", block: 512 * KIB, published: 57.2e3, repeats: FOUR, ..X_ALL },
    Row { work: "X 4 drives, 1 MiB", block: 1024 * KIB, published: 28.5e3, repeats: FOUR, ..X_ALL },
    Row {
        work: "X 4 drives, 1 MiB, bytes",
        block: 1024 * KIB,
        metric: Metric::Rate,
        published: 30.0e9,
        repeats: FOUR,
        ..X_ALL
    },
    Row {
        work: "X 4 drives, 1 MiB, CPU by iostat",
        used: Use::Seen,
        depends: &[C::CyclesX, C::GrowthX, C::Several, C::SplitX],
        block: 1024 * KIB,
        metric: Metric::Processors,
        published: 4.74,
        limit: None,
        ..X_ALL
    },
    Row {
        work: "X 4 drives, 1 MiB, CPU by fio (36 % of one)",
        used: Use::Seen,
        depends: &[C::CyclesX, C::GrowthX, C::Several, C::SplitX],
        block: 1024 * KIB,
        twist: Twist::Unmodelled,
        metric: Metric::Workers,
        published: 16.0 * 2.26 / 32.0,
        limit: None,
        why: Some(FIO_TIME),
        ..X_ALL
    },
    Row {
        work: "T 1 drive, 4 KiB, 1 worker, by X's CPU",
        depends: X_CPU,
        jobs: 1,
        published: 450e3,
        ..CROSS
    },
    Row {
        work: "X 1 drive, 4 KiB, 1 process, by T's CPU",
        depends: T_CPU,
        published: 420e3,
        repeats: CPU,
        ..CROSS_X
    },
    Row {
        work: "X 1 drive, 8 KiB, 1 process, by T's CPU",
        depends: &[C::CyclesT, C::GrowthT],
        block: 8 * KIB,
        published: 341e3,
        ..CROSS_X
    },
    Row {
        work: "X 1 drive, 16 KiB, 1 process, by T's CPU",
        depends: &[C::CyclesT, C::GrowthT],
        block: 16 * KIB,
        published: 305e3,
        why: None,
        ..CROSS_X
    },
];

const TEN: Option<&str> = Some("T 10 drives, 512 KiB, two root complexes");
const CPU: Option<&str> = Some("T 1 drive, 4 KiB, 1 worker, by X's CPU");
const CROSS: Row = Row { used: Use::Predicted, twist: Twist::OtherCpu, why: Some(OTHER), ..T };
const CROSS_X: Row = Row { used: Use::Predicted, twist: Twist::OtherCpu, why: Some(OTHER), ..X };

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FITTED.iter().chain(OTHERS)
}

//! [`OPTIONS`]: one row per workload option; command line, job files, form, arms and fio's output follow from it.

use std::{fmt::Write as _, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    fio::{self, Codec, Endless, Inverse, Plain, Policy, ValueError},
    target::{EngineKind, Pattern, Target},
};
use crate::units::{self, Bytes};

/// A workload option: a field of [`Workload`], its names, bounds and texts.
pub struct WorkloadOption {
    /// fio's name, or iodyno's where fio has none.
    pub name: &'static str,
    /// fio's other names.
    pub aliases: &'static [&'static str],
    /// Kind of its values, as `--help` names it.
    pub metavar: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Smallest and largest number.
    bounds: Option<(u64, u64)>,
    /// The fix of a number out of bounds, where not every one within them is taken.
    fix: Option<&'static str>,
    /// Further conditions on the workload.
    rule: fn(&Workload) -> Result<(), ValueError>,
    /// Whether a workload's list of options contains it.
    listed: fn(&Workload) -> bool,
    /// Its use in experiments.
    pub arm: Arm,
    /// Its field in the form.
    pub form: Option<FormField>,
    /// How job files for fio contain it.
    pub fio: Fio,
    /// fio's default where it is not that of [`Workload`].
    pub fio_default: Option<&'static str>,
    read: fn(&mut Workload, &str) -> Result<(), ValueError>,
    text: fn(&Workload) -> Option<String>,
}

/// Use of an option in experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// Nowhere.
    No,
    /// In an arm that the user writes.
    One,
    /// Also as an option of `iodyno experiment run`, for every arm.
    Every,
}

/// How job files for fio contain an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fio {
    /// With its value.
    Value,
    /// Unless it is 0, which is fio's default.
    WhenOn,
    /// The same, and with `io_uring` alone.
    OfIoUring,
    /// fio has no such option.
    Missing,
}

/// An option in the form.
#[derive(Debug, Clone, Copy)]
pub struct FormField {
    /// Fields are sorted by it.
    pub place: u8,
    /// A help text that fits below the fields; empty for the option's own.
    pub help: &'static str,
    /// Values of the arrow keys.
    pub choices: &'static [&'static str],
    /// Text of an empty field.
    pub empty: &'static str,
}

const YES_NO: &[&str] = &["0", "1"];

impl FormField {
    /// With the option's own help, and never empty.
    const fn of(place: u8, choices: &'static [&'static str]) -> Self {
        Self { place, help: "", choices, empty: "" }
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn empty(self, empty: &'static str) -> Self {
        Self { empty, ..self }
    }
}

impl WorkloadOption {
    const fn new(
        metavar: &'static str,
        read: fn(&mut Workload, &str) -> Result<(), ValueError>,
        text: fn(&Workload) -> Option<String>,
    ) -> Self {
        Self {
            name: "",
            aliases: &[],
            metavar,
            help: "",
            bounds: None,
            fix: None,
            rule: |_| Ok(()),
            listed: |_| true,
            arm: Arm::No,
            form: None,
            fio: Fio::Value,
            fio_default: None,
            read,
            text,
        }
    }
}

macro_rules! options {
    ($($field:ident: $type:ty = $default:expr, $codec:ident, $name:literal, $help:literal,
       { $($key:ident: $value:expr),* $(,)? })*) => {
        /// A test. Depth and jobs are per target, as one fio process for each drive.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Workload {
            /// `--filename`.
            pub targets: Vec<Target>,
            $(#[doc = concat!("`--", $name, "`: ", $help)] pub $field: $type,)*
        }

        impl Default for Workload {
            fn default() -> Self {
                Self { targets: Vec::new(), $($field: $default,)* }
            }
        }

        /// Every workload option, in the order of help and job files.
        pub static OPTIONS: &[WorkloadOption] = &[$(WorkloadOption {
            name: $name,
            help: $help,
            $($key: $value,)*
            ..WorkloadOption::new(
                <$codec as Codec<$type>>::METAVAR,
                |work, text| <$codec as Codec<$type>>::read(text).map(|value| work.$field = value),
                |work| <$codec as Codec<$type>>::text(&work.$field),
            )
        },)*];
    };
}

options! {
    pattern: Pattern = Pattern::Random, Plain, "rw", "I/O pattern, randread or read; iodyno never writes", {
        aliases: &["readwrite"],
        arm: Arm::Every,
        form: Some(FormField::of(1, &["randread", "read"]).help("randread or read; iodyno never writes")),
        fio_default: Some("read"),
    }
    block_size: Bytes = Bytes(4096), Plain, "bs", "block size: 512, 4k, 1m", {
        aliases: &["blocksize"],
        bounds: Some((1, Workload::MOST_BLOCK.0)),
        fix: Some(Workload::BLOCKS),
        rule: |work| {
            let wrong = |size: &Bytes| {
                size.0 == 0 || *size > Workload::MOST_BLOCK || (work.direct && !size.0.is_multiple_of(512))
            };
            let mut sizes = work.block_split.iter().map(|(size, _)| *size).chain([work.block_size]);
            match sizes.find(wrong) {
                Some(size) => Err(ValueError::new(
                    format!("block size {} is not supported", units::block_size(size)),
                    Workload::BLOCKS,
                )),
                None => Ok(()),
            }
        },
        arm: Arm::Every,
        form: Some(FormField::of(2, &["512", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m"])),
    }
    block_split: Vec<(Bytes, u8)> = Vec::new(), Plain, "bssplit", "block sizes with shares in percent, 4k/60:64k/40", {
        rule: |work| {
            let sum: u32 = work.block_split.iter().map(|(_, share)| u32::from(*share)).sum();
            let error = ("the shares do not add up to 100 %", "use 4k/60:64k/40");
            unless(work.block_split.is_empty() || sum == 100, error)
        },
    }
    depth: u32 = 32, Plain, "iodepth", "I/Os in flight per job", {
        bounds: Some((1, 4096)),
        arm: Arm::Every,
        form: Some(FormField::of(3, &["1", "2", "4", "8", "16", "32", "64", "128", "256", "512"])),
        fio_default: Some("1"),
    }
    jobs: u32 = 1, Plain, "numjobs", "jobs per drive or file, each a thread", {
        bounds: Some((1, 1024)),
        arm: Arm::Every,
        form: Some(FormField::of(4, &["1", "2", "3", "4", "6", "8", "12", "16"]).help("threads per drive")),
    }
    engine: EngineKind = EngineKind::IoUring, Plain, "ioengine",
    "`io_uring`, `io_uring_cmd` (NVMe passthrough), libaio, psync, posixaio or mmap", {
        arm: Arm::One,
        form: Some(
            FormField::of(6, &["io_uring", "io_uring_cmd", "libaio", "psync", "posixaio", "mmap"])
                .help("I/O engine, as in fio"),
        ),
        fio_default: Some("psync"),
    }
    direct: bool = true, Plain, "direct", "1 uses O_DIRECT", {
        arm: Arm::Every,
        form: Some(FormField::of(7, YES_NO)),
        fio_default: Some("0"),
    }
    uncached: bool = false, Plain, "uncached",
    "1 drops pages once they are read (RWF_DONTCACHE), with buffered io_uring reads", {
        rule: |work| {
            let reads = !work.direct && work.engine == EngineKind::IoUring;
            let error = ("needs buffered reads of io_uring", "use it with --direct 0 and --ioengine io_uring");
            unless(reads || !work.uncached, error)
        },
        listed: |work| work.uncached,
        arm: Arm::One,
        fio: Fio::OfIoUring,
    }
    hipri: bool = false, Plain, "hipri", "1 polls for completions; needs poll queues", {
        rule: |work| {
            let error = ("polled completions need O_DIRECT", "add --direct 1 or leave --hipri out");
            unless(work.direct || !work.hipri, error)
        },
        arm: Arm::One,
        form: Some(FormField::of(8, YES_NO)),
        fio: Fio::OfIoUring,
    }
    hybrid_poll: bool = false, Plain, "hybrid_poll",
    "with --hipri: sleep before polling, which costs less CPU time; Linux 6.13", {
        rule: |work| {
            let wrong = "needs polling by the worker";
            let polls = work.hipri && !work.submission_poll;
            unless(polls || !work.hybrid_poll, (wrong, "use it with --hipri and without --sqthread_poll"))
        },
        listed: |work| work.hybrid_poll,
        arm: Arm::One,
        fio: Fio::Missing,
    }
    fixed_buffers: bool = true, Plain, "fixedbufs", "1 registers buffers with the ring", {
        arm: Arm::One,
        form: Some(FormField::of(10, YES_NO)),
        fio: Fio::OfIoUring,
        fio_default: Some("0"),
    }
    register_files: bool = true, Plain, "registerfiles", "1 registers files with the ring", {
        arm: Arm::One,
        form: Some(FormField::of(9, YES_NO)),
        fio: Fio::OfIoUring,
        fio_default: Some("0"),
    }
    submission_poll: bool = false, Plain, "sqthread_poll", "1 submits from a kernel thread (SQPOLL)", {
        arm: Arm::One,
        fio: Fio::OfIoUring,
    }
    batch_submit: Option<u32> = None, Plain, "iodepth_batch_submit",
    "maximum submissions per call; adaptive if not given", {
        aliases: &["iodepth_batch"],
        bounds: Some((1, 4096)),
        arm: Arm::One,
    }
    batch_complete_min: Option<u32> = None, Plain, "iodepth_batch_complete_min",
    "minimum completions per call; 0 never sleeps and takes a whole CPU; adaptive if not given", {
        aliases: &["iodepth_batch_complete"],
        bounds: Some((0, 4096)),
        arm: Arm::One,
    }
    runtime: Option<Duration> = Some(Duration::from_secs(10)), Endless, "runtime",
    "measured time: 30, 30s, 2m; 0 ends the test at --size; with --io_size no limit unless given", {
        aliases: &["timeout"],
        form: Some(
            FormField::of(5, &["5s", "10s", "30s", "60s", "5m", ""])
                .help("30s, 2m; empty runs until stopped")
                .empty("until stopped"),
        ),
        fio_default: Some("0"),
    }
    ramp: Duration = Duration::ZERO, Plain, "ramp_time", "warm-up before the measured time", {
        listed: |work| !work.ramp.is_zero(),
    }
    offset: Bytes = Bytes(0), Plain, "offset", "start of the range read on each target", {
        aliases: &["fileoffset"],
        rule: |work| {
            let wrong = format!("{} B is not a multiple of 512 B", work.offset.0);
            unless(!work.direct || work.offset.0.is_multiple_of(512), (&wrong, "use a multiple of 512 B, such as 4k"))
        },
        listed: |work| work.offset.0 > 0,
    }
    io_size: Option<Bytes> = None, Plain, "io_size", "bytes after which a job ends", {
        aliases: &["io_limit"],
        bounds: Some((1, u64::MAX)),
    }
    size: Option<Bytes> = None, Plain, "size",
    "length of the range read on each target, default all; size of a file laid out", {
        bounds: Some((1, u64::MAX)),
        arm: Arm::Every,
        form: Some(
            FormField::of(13, &["", "1g", "4g", "16g", "100g"])
                .help("bytes from the start; size of a file laid out")
                .empty("all of it"),
        ),
    }
    rate_iops: Option<u32> = None, Plain, "rate_iops", "maximum IOPS per job", {
        bounds: Some((1, u32::MAX as u64)),
        arm: Arm::Every,
        form: Some(
            FormField::of(12, &[])
                .help("maximum IOPS per job; empty for no limit")
                .empty("no limit"),
        ),
    }
    prefetch: Option<Bytes> = None, Plain, "prefetch",
    "bytes requested ahead of sequential buffered reads (posix_fadvise WILLNEED), with psync or mmap", {
        bounds: Some((4096, 1 << 30)),
        rule: |work| {
            let reads = matches!(work.engine, EngineKind::Psync) && !work.direct || work.engine == EngineKind::Mmap;
            let wrong = "needs sequential reads through the page cache";
            let fix = "use it with --rw read and --ioengine mmap, or --ioengine psync --direct 0";
            unless(work.prefetch.is_none() || reads && work.pattern == Pattern::Sequential, (wrong, fix))
        },
        listed: |work| work.prefetch.is_some(),
        arm: Arm::One,
        fio: Fio::Missing,
    }
    cpus_allowed: Vec<u32> = Vec::new(), Plain, "cpus_allowed",
    "CPUs for workers, 0-3,8; default those near each drive", {}
    numa_cpu_nodes: Vec<u32> = Vec::new(), Plain, "numa_cpu_nodes", "NUMA nodes whose CPUs run workers", {}
    pinned: bool = false, Policy, "cpus_allowed_policy",
    "split: one CPU per worker, cores before SMT siblings", {
        listed: |work| work.pinned,
    }
    seed: u64 = 0x1007_d140, Plain, "randseed", "seed for random offsets", {}
    latency: bool = true, Inverse, "gtod_reduce", "1 measures no latency", {
        fio: Fio::WhenOn,
    }
    exact_timing: bool = false, Plain, "exact_timing",
    "latency from submission to each completion, as fio's clat; two calls per batch", {
        rule: |work| {
            unless(work.latency || !work.exact_timing, ("latency is not measured", "leave --gtod_reduce out"))
        },
        listed: |work| work.exact_timing,
        arm: Arm::One,
        fio: Fio::Missing,
    }
    time_based: bool = true, Plain, "time_based",
    "0 ends a job at --size or --runtime, whichever is first, as in a job file", {
        // With --io_size the runtime is a maximum.
        listed: |work| work.runtime.is_some() && work.io_size.is_none(),
        fio: Fio::WhenOn,
        fio_default: Some("0"),
    }
}

fn unless(holds: bool, (wrong, fix): (&str, &str)) -> Result<(), ValueError> {
    if holds { Ok(()) } else { Err(ValueError::new(wrong, fix)) }
}

/// The row of that name.
pub fn find(name: &str) -> Option<&'static WorkloadOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

impl Workload {
    /// The largest block.
    pub const MOST_BLOCK: Bytes = Bytes(64 << 20);

    /// The block sizes that every read takes.
    const BLOCKS: &str = "use a multiple of 512 B up to 64m, such as 4k";

    /// Its options in the order of [`OPTIONS`], apart from targets.
    pub fn options(&self) -> impl Iterator<Item = (&'static WorkloadOption, String)> {
        let listed = OPTIONS.iter().filter(|option| (option.listed)(self));
        listed.filter_map(|option| Some((option, (option.text)(self)?)))
    }
}

impl WorkloadOption {
    /// Sets it without a check of its bounds; an empty text resets an optional one.
    pub fn set(&self, work: &mut Workload, text: &str) -> Result<(), ValueError> {
        (self.read)(work, text).map_err(|why| match self.bounds {
            // The examples of a type may be out of the bounds of an option.
            Some((least, most)) if least > 512 || most <= 4096 => {
                ValueError::new(why.wrong, self.between(least, most))
            }
            _ => why,
        })
    }

    /// The fix of a value that is none.
    pub fn values(&self) -> String {
        self.set(&mut Workload::default(), "?").err().map_or_else(String::new, |why| why.fix)
    }

    /// The fix of a value that is not within these bounds.
    fn between(&self, least: u64, most: u64) -> String {
        if let Some(fix) = self.fix {
            return fix.to_owned();
        }
        let most = if self.metavar == "SIZE" { units::block_size(Bytes(most)) } else { most.to_string() };
        format!("use {least} to {most}")
    }

    /// Its value as text that [`Self::set`] takes; empty where it is left out.
    pub fn text(&self, work: &Workload) -> String {
        (self.text)(work).unwrap_or_default()
    }

    /// The value in its shortest form: `10s` instead of `10000ms`.
    pub fn short(&self, work: &Workload) -> String {
        let text = self.text(work);
        let time = (self.metavar == "TIME").then(|| fio::time(&text).ok()).flatten();
        match time {
            Some(time) if time.subsec_nanos() > 0 => text,
            Some(time) if time.is_zero() => "0".to_owned(),
            Some(time) if time.as_secs() >= 120 && time.as_secs() % 60 == 0 => {
                format!("{}m", time.as_secs() / 60)
            }
            Some(time) => format!("{}s", time.as_secs()),
            None => text,
        }
    }

    /// Whether the value is within bounds.
    pub fn within(&self, work: &Workload) -> Result<(), ValueError> {
        let text = self.text(work);
        let (Some((least, most)), Ok(Bytes(number))) = (self.bounds, fio::size(&text)) else { return Ok(()) };
        if (least..=most).contains(&number) {
            return Ok(());
        }
        if number == 0 && least == 1 && most > 4096 {
            let fix = self.fix.unwrap_or("use 1 or more, or leave it out");
            return Err(ValueError::new("0 reads nothing", fix));
        }
        Err(ValueError::new(format!("{text} is out of range"), self.between(least, most)))
    }

    /// Checks bounds and conditions.
    pub fn check(&self, work: &Workload) -> Result<(), ValueError> {
        (self.rule)(work).and_then(|()| self.within(work))
    }

    /// Sets it to a value within bounds; on an error the workload stays unchanged.
    pub fn take(&self, work: &mut Workload, text: &str) -> Result<(), ValueError> {
        let mut changed = work.clone();
        self.set(&mut changed, text).and_then(|()| self.within(&changed))?;
        *work = changed;
        Ok(())
    }

    /// Whether its name alone means 1.
    pub fn is_switch(&self) -> bool {
        self.metavar == "0|1"
    }

    /// Its help with a capital.
    pub fn sentence(&self) -> String {
        let (first, rest) = self.help.split_at(1);
        first.to_ascii_uppercase() + rest
    }
}

/// The table of `docs/options.md`.
pub fn markdown() -> String {
    let default = Workload::default();
    let mut text = String::from("| option | values | default | what it does | form | arms | in fio |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for option in OPTIONS {
        let names = [&[option.name], option.aliases].concat().join("`, `");
        let values = match (option.metavar, option.bounds) {
            (_, Some((least, most))) if most <= 4096 => format!("{least} to {most}"),
            (metavar, _) => metavar.replace('|', " or "),
        };
        let form = if option.form.is_some() { "yes" } else { "" };
        let arm = match option.arm {
            Arm::No => "",
            Arm::One => "one",
            Arm::Every => "one, every",
        };
        let fio = match option.fio {
            Fio::Value | Fio::WhenOn => "yes",
            Fio::OfIoUring => "with `io_uring`",
            Fio::Missing => "",
        };
        let (short, help) = (option.short(&default), option.sentence());
        let _infallible =
            writeln!(text, "| `{names}` | {values} | {short} | {help} | {form} | {arm} | {fio} |");
    }
    text
}

/// Options and their values, as users give them to change a workload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given(pub Vec<(&'static str, String)>);

impl Given {
    /// Of a text such as `iodepth=8 numjobs=2`.
    pub fn read(text: &str) -> Result<Self, ValueError> {
        let unknown = || ValueError::new("not an option", "use iodepth=8 numjobs=2");
        let one = |word: &str| {
            let (name, value) = word.split_once('=').ok_or_else(unknown)?;
            Self::one(find(name).ok_or_else(unknown)?, value)
        };
        text.split_whitespace().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// One option with its value in iodyno's own spelling.
    pub fn one(option: &WorkloadOption, value: &str) -> Result<(&'static str, String), ValueError> {
        let mut work = Workload::default();
        option.set(&mut work, value)?;
        Ok((option.name, option.text(&work)))
    }

    /// Sets them.
    pub fn apply(&self, work: &mut Workload) {
        for (option, value) in self.0.iter().filter_map(|(name, value)| Some((find(name)?, value))) {
            // Values have been read before.
            let _ = option.set(work, value);
        }
    }

    /// Whether this option is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| *given == name)
    }
}

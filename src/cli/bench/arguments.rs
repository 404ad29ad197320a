//! The options of `iodyno bench`: fio's names, with fio's meaning.
//!
//! Here: [`BenchArgs`] and the [`Workload`] they make. Not here: running it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use crate::{
    cli::Complaint,
    machine::processor::parse_cpu_list,
    model::{EngineKind, Pattern, Target, Workload, fio as values},
    units::Bytes,
};

/// Options that a job file gives for each of its sections; beside `--fio` they would have no meaning.
const SAID_BY_A_JOB_FILE: [&str; 39] = [
    "filename",
    "rw",
    "bs",
    "bssplit",
    "iodepth",
    "numjobs",
    "runtime",
    "ramp_time",
    "size",
    "direct",
    "hipri",
    "hybrid_poll",
    "fixedbufs",
    "registerfiles",
    "ioengine",
    "offset",
    "io_size",
    "cpus_allowed",
    "cpus_allowed_policy",
    "numa_cpu_nodes",
    "sqthread_poll",
    "iodepth_batch_submit",
    "iodepth_batch_complete_min",
    "randseed",
    "rate_iops",
    "gtod_reduce",
    "exact_timing",
    "name",
    "directory",
    "filesize",
    "time_based",
    "overwrite",
    "do_verify",
    "verify",
    "rwmixwrite",
    "rwmixread",
    "fsync",
    "end_fsync",
    "trim_percentage",
];

/// `iodyno bench`.
#[derive(Debug, Clone, Args)]
#[command(rename_all = "snake_case")]
#[command(
    after_help = "Exit status: 0 every read came back; 1 some failed, as the result says; 2 nothing could be read of a \
                        target, or the test could not be run, with one line that says why."
)]
pub struct BenchArgs {
    /// Drives and files to read, `A:B`; `\:` is a colon within a name. With --size, files that are not there are laid out
    #[arg(long, value_name = "PATHS")]
    filename: Option<String>,
    /// randread or read
    #[arg(long, visible_alias = "readwrite", value_name = "PATTERN", default_value = "randread",
        value_parser = values::pattern)]
    rw: Pattern,
    /// Bytes of one read, k = 1024
    #[arg(long, visible_alias = "blocksize", value_name = "SIZE", default_value = "4k", value_parser = values::size)]
    bs: Bytes,
    /// Several sizes with their shares, 4k/60:64k/40
    #[arg(long, value_name = "LIST", value_parser = values::shares)]
    bssplit: Option<values::Shares>,
    /// Reads under way per job
    #[arg(long, value_name = "N", default_value_t = 32)]
    iodepth: u32,
    /// Jobs per drive or file
    #[arg(long, value_name = "N", default_value_t = 1)]
    numjobs: u32,
    /// How long is counted: 30, 30s, 2m; 10 unless an amount ends the test. 0 until --size is read
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    runtime: Option<Duration>,
    /// Time that is not counted before
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::time)]
    ramp_time: Duration,
    /// Where the part of each target begins that is read
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = values::size)]
    offset: Bytes,
    /// Bytes of each target that are read, all without it; the size of a file laid out
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    size: Option<Bytes>,
    /// A job ends after so many bytes
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    io_size: Option<Bytes>,
    /// Past the page cache
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "1", default_missing_value = "1",
        value_parser = values::switch)]
    direct: bool,
    /// Polled completions
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1",
        value_parser = values::switch)]
    hipri: bool,
    /// With --hipri: sleeps for a while before it polls, which costs less processor time; Linux 6.13
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1",
        value_parser = values::switch)]
    hybrid_poll: bool,
    /// Buffers registered with the ring
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "1", default_missing_value = "1",
        value_parser = values::switch)]
    fixedbufs: bool,
    /// Files registered with the ring
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "1", default_missing_value = "1",
        value_parser = values::switch)]
    registerfiles: bool,
    /// `io_uring`, `io_uring_cmd` (NVMe commands), libaio, psync or posixaio
    #[arg(long, value_name = "ENGINE", default_value = "io_uring", value_parser = values::engine)]
    ioengine: EngineKind,
    /// A kernel thread submits
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1",
        value_parser = values::switch)]
    sqthread_poll: bool,
    /// Most reads handed over in one call; adapts without it
    #[arg(long, visible_alias = "iodepth_batch", value_name = "N")]
    iodepth_batch_submit: Option<u32>,
    /// Completions waited for in one call: 0 never sleeps, which takes a whole processor; adapts without it
    #[arg(long, visible_alias = "iodepth_batch_complete", value_name = "N")]
    iodepth_batch_complete_min: Option<u32>,
    /// Seed of the random offsets
    #[arg(long, value_name = "N")]
    randseed: Option<u64>,
    /// Reads per second and job at most
    #[arg(long, value_name = "N", value_parser = rate)]
    rate_iops: Option<u32>,
    /// Processors that workers run on, 0-3,8; those near each drive without it
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus_allowed: Option<Numbers>,
    /// split keeps each worker on one processor, cores before their siblings
    #[arg(long, value_name = "shared|split", default_value = "shared", value_parser = ["shared", "split"])]
    cpus_allowed_policy: String,
    /// NUMA nodes whose processors workers run on
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    numa_cpu_nodes: Option<Numbers>,
    /// Latency is not measured
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1",
        value_parser = values::switch)]
    gtod_reduce: bool,
    /// Latencies begin when reads are handed over and end one by one, as fio's clat does; two calls a batch
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_value = "0", default_missing_value = "1",
        value_parser = values::switch)]
    exact_timing: bool,
    /// One JSON document in fio's shape instead of text
    #[arg(long)]
    json: bool,
    /// Files laid out for the test stay
    #[arg(long)]
    keep: bool,
    /// Reads nothing: prints the job file that makes fio do the same
    #[arg(long = "emit-fio", conflicts_with = "json")]
    emit_fio: bool,
    /// Runs the read jobs of a fio job file; `-` reads standard input
    #[arg(long, value_name = "JOBFILE", conflicts_with_all = SAID_BY_A_JOB_FILE)]
    fio: Option<PathBuf>,
    /// With --fio: runs what iodyno can do of the file, and lists the rest as `left_out` in the JSON
    #[arg(long = "ignore-unsupported", alias = "ignore_unsupported", requires = "fio")]
    ignore_unsupported: bool,
    #[command(flatten)]
    taken_along: TakenAlong,
    #[command(flatten)]
    refused: Refused,
}

/// Options of commands people paste: used where they mean something here, noted where not.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Taken from fio commands", rename_all = "snake_case")]
struct TakenAlong {
    /// The name of the jobs in the JSON document
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The folder that relative names are in
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The same as --size for a file laid out
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    filesize: Option<Bytes>,
    /// json is the same as --json
    #[arg(long = "output-format", alias = "output_format", value_name = "FORMAT")]
    output_format: Option<String>,
    /// 0 ends a job that has read its part (--size) before its --runtime, as a job file does
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    time_based: Option<bool>,
    /// No effect: targets are reported one by one, and their total
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    group_reporting: Option<bool>,
    /// No effect: iodyno only ever reads
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    readonly: Option<bool>,
    /// No effect: direct reads take no advice
    #[arg(long, value_name = "HINT", num_args = 0..=1, default_missing_value = "1")]
    fadvise_hint: Option<String>,
    /// No effect: --json is the output for scripts
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    minimal: Option<bool>,
}

/// Options that make fio write. Switched off they are taken along.
#[derive(Debug, Clone, Args)]
#[command(rename_all = "snake_case")]
struct Refused {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    overwrite: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    do_verify: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    verify: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    rwmixwrite: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    rwmixread: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    fsync: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    end_fsync: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    trim_percentage: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "1")]
    allow_mounted_write: Option<String>,
}

fn rate(text: &str) -> Result<u32, String> {
    // fio takes read,write,trim rates; reads come first.
    let first = text.split(',').next().unwrap_or_default();
    let number = values::size(first).ok().and_then(|number| u32::try_from(number.0).ok());
    number.ok_or_else(|| "no number of reads per second; write it as 10000 or 10k".to_owned())
}

/// Numbers of processors or nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbers(Vec<u32>);

/// `0-3,8`.
fn cpus(text: &str) -> Result<Numbers, String> {
    match parse_cpu_list(text) {
        Ok(list) if !list.is_empty() => Ok(Numbers(list)),
        _ => Err("no list of numbers; write it as 0-3,8".to_owned()),
    }
}

impl BenchArgs {
    /// The workload, with targets as far as they are named; none when `--filename` is missing.
    pub(super) fn workload(&self) -> Result<Workload, Complaint> {
        self.refused.check()?;
        let named = self.filename.as_deref().map(values::names).unwrap_or_default();
        let folder = self.taken_along.directory.clone().unwrap_or_default();
        let targets = named.into_iter().map(|path| Target { path: folder.join(path), drive: None }).collect();
        let runtime = match self.runtime {
            None if self.io_size.is_some() => None,
            None => Workload::default().runtime,
            Some(runtime) => Some(runtime).filter(|runtime| !runtime.is_zero()),
        };
        Ok(Workload {
            targets,
            pattern: self.rw,
            block_size: self.bs,
            block_split: self.bssplit.clone().map(|shares| shares.0).unwrap_or_default(),
            depth: self.iodepth,
            jobs: self.numjobs,
            engine: self.ioengine,
            direct: self.direct,
            hipri: self.hipri,
            hybrid_poll: self.hybrid_poll,
            fixed_buffers: self.fixedbufs,
            register_files: self.registerfiles,
            submission_poll: self.sqthread_poll,
            batch_submit: self.iodepth_batch_submit,
            batch_complete_min: self.iodepth_batch_complete_min,
            runtime,
            // Where an amount ends a job in any case, it means nothing.
            time_based: self.taken_along.time_based.unwrap_or(true)
                || self.io_size.is_some()
                || runtime.is_none(),
            ramp: self.ramp_time,
            offset: self.offset,
            size: self.size.or(self.taken_along.filesize),
            io_size: self.io_size,
            rate_iops: self.rate_iops,
            seed: self.randseed.unwrap_or(Workload::default().seed),
            cpus_allowed: self.cpus_allowed.clone().map(|list| list.0).unwrap_or_default(),
            numa_cpu_nodes: self.numa_cpu_nodes.clone().map(|list| list.0).unwrap_or_default(),
            pinned: self.cpus_allowed_policy == "split",
            latency: !self.gtod_reduce,
            exact_timing: self.exact_timing,
        })
    }

    /// Whether one JSON document is asked for.
    pub(super) fn json(&self) -> bool {
        self.json
            || self.taken_along.output_format.as_deref().is_some_and(|format| format.starts_with("json"))
    }

    /// Whether files laid out stay.
    pub(super) fn keep(&self) -> bool {
        self.keep
    }

    /// Whether a job file for fio is asked for instead of a run.
    pub(super) fn emit_fio(&self) -> bool {
        self.emit_fio
    }

    /// The job file to run instead of what the other options say.
    pub(super) fn job_file(&self) -> Option<&Path> {
        self.fio.as_deref()
    }

    /// Whether a job file may ask for more than iodyno does.
    pub(super) fn ignore_unsupported(&self) -> bool {
        self.ignore_unsupported
    }

    /// The same, reading a file of this name in its `--directory`.
    pub(super) fn reading(&self, name: &str) -> Self {
        Self { filename: Some(name.replace(':', "\\:")), ..self.clone() }
    }

    /// `--name`, or what fio calls a job without one.
    pub(super) fn job_name(&self) -> &str {
        self.taken_along.name.as_deref().unwrap_or("iodyno")
    }

    /// A sentence for each option that was taken and means nothing here.
    pub(super) fn notes(&self) -> Vec<String> {
        let TakenAlong { output_format, group_reporting, fadvise_hint, minimal, .. } = &self.taken_along;
        [
            (
                group_reporting.is_some() && self.numjobs > 1,
                "--group_reporting: jobs are always summed per target",
            ),
            (
                self.ioengine == EngineKind::IoUringCmd,
                "--ioengine io_uring_cmd: the rows are the block layer's counts, which NVMe commands pass by",
            ),
            (fadvise_hint.is_some(), "--fadvise_hint: without effect"),
            (minimal == &Some(true), "--minimal: without effect; --json is the output for scripts"),
            (
                output_format.as_deref().is_some_and(|format| !matches!(format, "normal" | "json" | "json+")),
                "--output-format: only normal and json are known",
            ),
        ]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, note)| note.to_owned())
        .collect()
    }
}

impl Refused {
    fn check(&self) -> Result<(), Complaint> {
        let Self {
            overwrite,
            do_verify,
            verify,
            rwmixwrite,
            rwmixread,
            fsync,
            end_fsync,
            trim_percentage,
            allow_mounted_write,
        } = self;
        let options = [
            ("--overwrite", overwrite, "0"),
            ("--do_verify", do_verify, "0"),
            ("--verify", verify, "none"),
            ("--rwmixwrite", rwmixwrite, "0"),
            ("--rwmixread", rwmixread, "100"),
            ("--fsync", fsync, "0"),
            ("--end_fsync", end_fsync, "0"),
            ("--trim_percentage", trim_percentage, "0"),
            ("--allow_mounted_write", allow_mounted_write, "0"),
        ];
        for (option, value, harmless) in options {
            if let Some(value) = value
                && !matches!(value.as_str(), "0" | "none")
                && value != harmless
            {
                return Err(Complaint::new(
                    format!("{option} {value}"),
                    "it is for runs that write, and iodyno only ever reads",
                    "leave it out",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::*;
    use crate::report::commands;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn parse(line: &str) -> Result<BenchArgs, clap::Error> {
        Line::try_parse_from(std::iter::once("bench").chain(line.split_whitespace())).map(|line| line.bench)
    }

    fn workload(line: &str) -> Workload {
        parse(line).unwrap().workload().unwrap()
    }

    #[test]
    fn without_options_it_is_the_contracts_default() {
        let default = Workload { targets: Vec::new(), ..Workload::default() };
        assert_eq!(workload(""), default);
    }

    #[test]
    fn beside_a_job_file_stands_only_what_is_said_of_all_its_runs() {
        use clap::CommandFactory;
        let beside = [
            "fio",
            "emit_fio",
            "json",
            "keep",
            "ignore_unsupported",
            "output_format",
            "group_reporting",
            "readonly",
            "fadvise_hint",
            "minimal",
            "allow_mounted_write",
            "help",
        ];
        let command = Line::command();
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            assert!(beside.contains(&id) != SAID_BY_A_JOB_FILE.contains(&id), "{id}");
        }
        assert!(parse("--fio x --bs 4k").unwrap_err().to_string().contains("--bs"));
        assert!(parse("--fio x --json --keep").is_ok());
    }

    #[test]
    fn an_articles_command_is_taken_as_it_stands() {
        let line = "--readonly --name=onessd --filename=/dev/nvme0n1 --filesize=100% --bs=4k --direct=1";
        assert!(parse(line).is_err(), "a share of a drive is no size");
        let line = "--readonly --name=onessd --filename=/dev/nvme0n1 --filesize=8g --bs=4k --direct=1 --overwrite=0 \
                    --numjobs=3 --iodepth=32 --time_based=1 --runtime=3600 --ioengine=io_uring --registerfiles \
                    --fixedbufs --gtod_reduce=1 --group_reporting --rw=randread --hipri";
        let workload = workload(line);
        assert_eq!(
            (workload.jobs, workload.hipri, workload.latency, workload.size),
            (3, true, false, Some(Bytes(8 << 30)))
        );
        assert_eq!(workload.runtime, Some(Duration::from_hours(1)));
    }

    #[test]
    fn switches_are_bare_or_have_a_value_either_way() {
        assert!(!workload("--direct 0").direct && !workload("--direct=0").direct);
        assert!(
            workload("--hipri --bs 8k").hipri && workload("--hipri=1").hipri && !workload("--hipri=0").hipri
        );
        assert!(workload("--registerfiles --bs=8k").register_files);
        assert!(parse("--direct=maybe").is_err());
    }

    #[test]
    fn what_would_write_is_refused_in_one_line() {
        for line in ["--rw=write", "--rw=randrw", "--readwrite=randwrite"] {
            assert!(parse(line).unwrap_err().to_string().contains("only ever reads"), "{line}");
        }
        for line in ["--overwrite=1", "--do_verify=1", "--verify=crc32c", "--rwmixwrite=30", "--fsync=1"] {
            let complaint = parse(line).unwrap().workload().unwrap_err().to_string();
            assert!(complaint.contains("only ever reads") && complaint.lines().count() == 1, "{complaint}");
        }
        assert!(
            parse("--overwrite=0 --do_verify=0 --verify=none --rwmixread=100").unwrap().workload().is_ok()
        );
    }

    #[test]
    fn an_amount_alone_is_not_cut_off_by_the_default_runtime() {
        assert_eq!(workload("--io_size 1g").runtime, None);
        assert_eq!(workload("--io_size 1g --runtime 5").runtime, Some(Duration::from_secs(5)));
        assert_eq!((workload("--runtime 0").runtime, workload("--offset=1m").offset), (None, Bytes(1 << 20)));
    }

    #[test]
    fn places_for_workers_are_lists() {
        let asked = workload("--cpus_allowed 0-2,5 --cpus_allowed_policy=split --numa_cpu_nodes=1");
        assert_eq!(
            (asked.cpus_allowed, asked.numa_cpu_nodes, asked.pinned),
            (vec![0, 1, 2, 5], vec![1], true)
        );
        assert!(parse("--cpus_allowed=a").is_err() && parse("--cpus_allowed=").is_err());
        assert!(parse("--cpus_allowed_policy=near").is_err());
    }

    #[test]
    fn names_are_in_their_folder() {
        let targets = workload("--directory=/mnt/x --filename=a:/dev/nvme0n1").targets;
        let paths: Vec<_> = targets.iter().map(|target| target.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/mnt/x/a", "/dev/nvme0n1"]);
    }

    proptest! {
        #[test]
        fn the_command_of_a_workload_is_that_workload(
            paths in prop::collection::vec("/[a-z0-9: ]{1,10}", 1..4),
            (pattern, engine) in (any::<bool>(), prop::sample::select(EngineKind::ALL.to_vec())),
            (block, depth, jobs) in (1u64..2000, 1u32..4097, 1u32..1025),
            switches in prop::array::uniform8(any::<bool>()),
            (batch_submit, batch_complete_min) in (prop::option::of(1u32..64), prop::option::of(0u32..64)),
            (runtime, ramp, time_based) in (prop::option::of(1u64..4_000_000), 0u64..4_000_000, any::<bool>()),
            size in prop::option::of(1u64..(1 << 40)),
            (rate_iops, seed) in (prop::option::of(1u32..1_000_000), any::<u64>()),
            (split, pinned) in (any::<bool>(), any::<bool>()),
            (offset, io_size) in (0u64..(1 << 40), prop::option::of(1u64..(1 << 40))),
            (cpus_allowed, numa_cpu_nodes) in (prop::sample::select(vec![vec![], vec![0, 1, 2, 8]]), prop::sample::select(vec![vec![], vec![1]])),
        ) {
            let [direct, hipri, hybrid_poll, fixed_buffers, register_files, submission_poll, latency, exact_timing] = switches;
            let workload = Workload {
                targets: paths.iter().map(|path| Target { path: path.into(), drive: None }).collect(),
                pattern: if pattern { Pattern::Random } else { Pattern::Sequential },
                block_size: Bytes(block * 512),
                block_split: if split { vec![(Bytes(4096), 60), (Bytes(65536), 40)] } else { Vec::new() },
                depth, jobs, engine, direct, hipri, hybrid_poll, fixed_buffers, register_files, submission_poll,
                batch_submit, batch_complete_min,
                runtime: runtime.map(Duration::from_millis),
                time_based: time_based || runtime.is_none() || io_size.is_some(),
                ramp: Duration::from_millis(ramp),
                size: size.map(Bytes),
                offset: Bytes(offset),
                io_size: io_size.map(Bytes),
                rate_iops, seed, latency, exact_timing, cpus_allowed, numa_cpu_nodes, pinned,
            };
            let words = commands::iodyno(&workload, &[]);
            let parsed = Line::try_parse_from(&words[1..]).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(parsed.bench.workload().unwrap(), workload);
        }
    }
}

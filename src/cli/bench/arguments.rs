//! The options of `iodyno bench`: fio's names, with fio's meaning.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::job_options;
use crate::{
    model::{
        EngineKind, Target, Workload,
        fio::{self as values, ValueError},
        options::{self, Given, OPTIONS, WorkloadOption},
    },
    units::Bytes,
};

#[derive(Debug, Clone, Args)]
#[command(rename_all = "snake_case")]
#[command(
    after_help = "Exit status: 0 all reads succeeded; 1 some failed, see the result; 2 no read of a target \
                        succeeded, or the test could not run: one line says why."
)]
pub(crate) struct BenchArgs {
    /// Drives and files to read, `A:B`; `\:` is a colon in a name. With --size, missing files are laid out
    #[arg(long, value_name = "PATHS")]
    filename: Option<String>,
    #[command(flatten)]
    options: OptionArgs<false>,
    /// Print JSON in fio's format instead of text
    #[arg(long)]
    json: bool,
    /// Keep files laid out for the test
    #[arg(long)]
    pub(super) keep: bool,
    /// Print the job file that makes fio do the same, and read nothing
    #[arg(long = "emit-fio", conflicts_with = "json")]
    pub(super) emit_fio: bool,
    /// Run the read jobs of a fio job file; `-` is standard input
    #[arg(long, value_name = "JOBFILE", conflicts_with_all = job_options::taken().chain(["name"]))]
    pub(super) fio: Option<PathBuf>,
    /// With --fio: run what iodyno supports and list the rest as `left_out` in the JSON
    #[arg(long = "ignore-unsupported", alias = "ignore_unsupported", requires = "fio")]
    pub(super) ignore_unsupported: bool,
    #[command(flatten)]
    taken_along: TakenAlong,
}

/// Options of pasted fio commands; those without effect are noted.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accepted for fio's command lines", rename_all = "snake_case")]
struct TakenAlong {
    /// Job name in the JSON document
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Directory of relative file names
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Same as --size for a file laid out
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    filesize: Option<Bytes>,
    /// json: same as --json
    #[arg(long = "output-format", alias = "output_format", value_name = "FORMAT")]
    output_format: Option<String>,
    /// No effect: each target and the total are reported
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    group_reporting: Option<bool>,
    /// No effect: iodyno only reads
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    readonly: Option<bool>,
    /// No effect: `O_DIRECT` reads take no hint
    #[arg(long, value_name = "HINT", num_args = 0..=1, default_missing_value = "1")]
    fadvise_hint: Option<String>,
    /// No effect: use --json in scripts
    #[arg(long, value_name = "0|1", num_args = 0..=1, default_missing_value = "1", value_parser = values::switch)]
    minimal: Option<bool>,
}

/// Workload options of a command: all, or those that every arm of an experiment takes.
#[derive(Debug, Clone)]
pub(crate) struct OptionArgs<const EVERY_ARM: bool>(pub(in crate::cli) Given);

impl<const EVERY_ARM: bool> OptionArgs<EVERY_ARM> {
    fn rows() -> impl Iterator<Item = &'static WorkloadOption> {
        OPTIONS.iter().filter(|option| !EVERY_ARM || option.arm == options::Arm::Every)
    }
}

impl<const EVERY_ARM: bool> Args for OptionArgs<EVERY_ARM> {
    fn augment_args(command: Command) -> Command {
        if EVERY_ARM {
            return command.args(Self::rows().map(|option| argument(option).help_heading("For every arm")));
        }
        let refused = job_options::REFUSED.map(|(option, _)| {
            let check = move |value: &str| job_options::refuse(option, value);
            Arg::new(option)
                .long(option)
                .hide(true)
                .num_args(0..=1)
                .default_missing_value("1")
                .value_parser(check)
        });
        let default = Workload::default();
        let argument = |option: &'static WorkloadOption| match option.short(&default) {
            // The default of runtime depends on --io_size.
            value if value.is_empty() || option.name == "runtime" => argument(option),
            value => argument(option).help(format!("{} [default: {value}]", option.sentence())),
        };
        command.args(Self::rows().map(argument)).args(refused)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const EVERY_ARM: bool> FromArgMatches for OptionArgs<EVERY_ARM> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |option: &WorkloadOption| matches.get_one::<(&'static str, String)>(option.name).cloned();
        Ok(Self(Given(Self::rows().filter_map(given).collect())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An option as an argument; a test checks its bounds before it starts.
fn argument(option: &'static WorkloadOption) -> Arg {
    let given = |value: &str| match value {
        "" => Err(ValueError::new("it has no value", "write one, or leave it out")),
        _ => Given::one(option, value),
    };
    let argument = Arg::new(option.name)
        .long(option.name)
        .visible_aliases(option.aliases.iter().copied())
        .value_name(option.metavar)
        .help(option.sentence())
        .value_parser(given);
    if option.is_switch() { argument.num_args(0..=1).default_missing_value("1") } else { argument }
}

/// The workload of a command line or of a section of a job file.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) filename: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) filesize: Option<Bytes>,
    pub(super) options: Given,
}

impl Asked {
    /// The workload, with targets as far as they are named; none when `--filename` is missing.
    pub(super) fn workload(&self) -> Workload {
        let named = self.filename.as_deref().map(values::names).unwrap_or_default();
        let folder = self.directory.clone().unwrap_or_default();
        let targets = named.into_iter().map(|path| Target { path: folder.join(path), drive: None }).collect();
        let mut work = Workload { targets, ..Workload::default() };
        self.options.apply(&mut work);
        if work.io_size.is_some() && !self.options.has("runtime") {
            work.runtime = None;
        }
        // No effect where an amount of data ends the job.
        work.time_based |= work.io_size.is_some() || work.runtime.is_none();
        work.size = work.size.or(self.filesize);
        work
    }

    /// The same, reading a file of this name in its `--directory`.
    pub(super) fn reading(self, name: &str) -> Self {
        Self { filename: Some(name.replace(':', "\\:")), ..self }
    }
}

impl BenchArgs {
    pub(super) fn asked(&self) -> Asked {
        Asked {
            filename: self.filename.clone(),
            directory: self.taken_along.directory.clone(),
            filesize: self.taken_along.filesize,
            options: self.options.0.clone(),
        }
    }

    pub(in crate::cli) fn json(&self) -> bool {
        self.json
            || self.taken_along.output_format.as_deref().is_some_and(|format| format.starts_with("json"))
    }

    /// `--name`, or fio's default: the program's name.
    pub(super) fn job_name(&self) -> &str {
        self.taken_along.name.as_deref().unwrap_or("iodyno")
    }

    /// A sentence for each option without effect.
    pub(super) fn notes(&self) -> Vec<String> {
        let TakenAlong { output_format, group_reporting, fadvise_hint, minimal, .. } = &self.taken_along;
        let work = self.asked().workload();
        [
            (
                group_reporting.is_some() && work.jobs > 1,
                "--group_reporting: no effect; jobs are always summed per target",
            ),
            (
                work.engine == EngineKind::IoUringCmd,
                "--ioengine io_uring_cmd: rows show block-layer counters, which lack NVMe passthrough",
            ),
            (fadvise_hint.is_some(), "--fadvise_hint: no effect"),
            (minimal == &Some(true), "--minimal: no effect; use --json in scripts"),
            (
                output_format.as_deref().is_some_and(|format| !matches!(format, "normal" | "json" | "json+")),
                "--output-format: only normal and json are supported",
            ),
        ]
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, note)| note.to_owned())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use std::time::Duration;

    use super::*;
    use crate::{model::Pattern, report::commands};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    fn parse(line: &str) -> Result<BenchArgs, clap::Error> {
        Line::try_parse_from(std::iter::once("bench").chain(line.split_whitespace())).map(|line| line.bench)
    }

    fn workload(line: &str) -> Workload {
        parse(line).unwrap().asked().workload()
    }

    #[test]
    fn without_options_it_is_the_contracts_default() {
        let default = Workload { targets: Vec::new(), ..Workload::default() };
        assert_eq!(workload(""), default);
    }

    #[test]
    fn options_of_a_workload_conflict_with_a_job_file() {
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
            let is_said = id == "name" || job_options::taken().any(|option| option == id);
            assert!(beside.contains(&id) != is_said, "{id}");
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
            assert!(parse(line).unwrap_err().to_string().contains("iodyno only reads"), "{line}");
        }
        for line in ["--overwrite=1", "--do_verify=1", "--verify=crc32c", "--rwmixwrite=30", "--fsync=1"] {
            assert!(parse(line).unwrap_err().to_string().contains("iodyno only reads"), "{line}");
        }
        assert!(parse("--overwrite=0 --do_verify=0 --verify=none --rwmixread=100").is_ok());
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
            switches in prop::array::uniform7(any::<bool>()),
            (batch_submit, batch_complete_min) in (prop::option::of(1u32..64), prop::option::of(0u32..64)),
            (runtime, ramp, time_based) in (prop::option::of(1u64..4_000_000), 0u64..4_000_000, any::<bool>()),
            size in prop::option::of(1u64..(1 << 40)),
            (rate_iops, seed) in (prop::option::of(1u32..1_000_000), any::<u64>()),
            (split, pinned) in (any::<bool>(), any::<bool>()),
            (offset, io_size) in (0u64..(1 << 40), prop::option::of(1u64..(1 << 40))),
            (cpus_allowed, numa_cpu_nodes) in (prop::sample::select(vec![vec![], vec![0, 1, 2, 8]]), prop::sample::select(vec![vec![], vec![1]])),
        ) {
            let [direct, hipri, hybrid_poll, fixed_buffers, register_files, submission_poll, latency] = switches;
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
                rate_iops, seed, latency, cpus_allowed, numa_cpu_nodes, pinned,
                ..Workload::default()
            };
            let words = commands::iodyno(&workload, &[]);
            let parsed = Line::try_parse_from(&words[1..]).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(parsed.bench.asked().workload(), workload);
        }
    }
}

//! `--fio JOBFILE`: what a job file of fio asks for, as runs of iodyno's.
//!
//! Here: the file's sections, the option each line means, which sections run together, and a sentence for all that is
//! not done. Not here: opening the file, running. The format is that of fio(1), "Job file format".

use std::{collections::HashSet, error::Error, ffi::OsString};

use clap::{
    Args, Command, FromArgMatches,
    error::{ContextKind, ContextValue},
};

use super::{Planned, arguments::BenchArgs};
use crate::text::Label;

/// What fio does where a job file does not say otherwise; iodyno's own defaults are for its own command line.
const DEFAULTS: [(&str, &str); 7] = [
    ("rw", "read"),
    ("iodepth", "1"),
    ("ioengine", "psync"),
    ("direct", "0"),
    ("fixedbufs", "0"),
    ("registerfiles", "0"),
    ("runtime", "0"),
];

/// Options that hold here whatever they say: they name a section, put it in order, or ask for what is always done.
const HELD: [&str; 10] = [
    "name",
    "stonewall",
    "wait_for_previous",
    "new_group",
    "thread",
    "norandommap",
    "randrepeat",
    "cmd_type",
    "description",
    "group_reporting",
];

/// A section of a job file with all that is in force for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    name: String,
    /// From the global sections before it and its own, in the file's order.
    options: Vec<Line>,
}

/// `option=value`; a bare option has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    /// 1 is the first of the file.
    number: usize,
    option: String,
    value: Option<String>,
}

/// A job file as iodyno understands it.
#[derive(Debug)]
pub struct JobFile {
    /// To be run one after the other.
    pub(super) runs: Vec<Planned>,
    /// What is done differently or not at all, a sentence each.
    pub notes: Vec<String>,
}

impl JobFile {
    /// Takes a job file's text apart. `variable` knows the values of `${NAME}`.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut notes = Vec::new();
        let mut runs: Vec<Planned> = Vec::new();
        let mut may_join = false;
        for section in sections(text, &mut notes) {
            match section.planned(&variable, &mut notes) {
                Ok(planned) => {
                    let alone = section.has("stonewall") || section.has("wait_for_previous");
                    match runs.last_mut() {
                        Some(before) if may_join && !alone && before.joins(&planned) => {
                            before.join(planned);
                        }
                        before => {
                            if before.is_some() && may_join && !alone {
                                notes.push(format!(
                                    "[{}]: runs after the section before it, not beside it, for it asks for something else",
                                    section.shown()
                                ));
                            }
                            runs.push(planned);
                        }
                    }
                    may_join = true;
                }
                Err(why) => notes.push(format!("[{}]: not run: {why}", section.shown())),
            }
        }
        Self { runs, notes }
    }
}

/// The sections that are jobs, each with the options of the global ones before it.
fn sections(text: &str, notes: &mut Vec<String>) -> Vec<Section> {
    let mut global: Vec<Line> = Vec::new();
    let mut jobs: Vec<Section> = Vec::new();
    let mut in_global = true;
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            in_global = name == "global";
            if !in_global {
                jobs.push(Section { name: name.to_owned(), options: global.clone() });
            }
            continue;
        }
        if line.starts_with("include ") {
            notes.push(format!("line {number}: {}: files are not included", Label::new(line)));
            continue;
        }
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        let line = Line { number, option: option.to_owned(), value };
        match jobs.last_mut() {
            Some(job) if !in_global => job.options.push(line),
            _ => global.push(line),
        }
    }
    jobs
}

impl Section {
    fn shown(&self) -> Label {
        Label::new(&self.name)
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|line| line.option == option && line.value.as_deref() != Some("0"))
    }

    /// The run it asks for, or why there is none.
    fn planned(
        &self,
        variable: &impl Fn(&str) -> Option<String>,
        notes: &mut Vec<String>,
    ) -> Result<Planned, String> {
        let known = known_options();
        let mut options: Vec<(String, String)> =
            DEFAULTS.map(|(option, value)| (option.to_owned(), value.to_owned())).to_vec();
        let mut set = |option: &str, value: String| {
            let option = canonical(option);
            options.retain(|(before, _)| before != option);
            options.push((option.to_owned(), value));
        };
        for line in &self.options {
            let value = line.value.as_deref().map(|value| expanded(value, variable)).transpose()?;
            match (line.option.as_str(), value) {
                ("buffered", value) => {
                    let buffered = value.as_deref() != Some("0");
                    set("direct", if buffered { "0" } else { "1" }.to_owned());
                }
                // All of the target, which is what no size means.
                ("size" | "filesize", Some(value)) if value == "100%" => {}
                // What is cached stays so.
                ("invalidate", Some(value)) if value == "0" => {}
                (option, _) if HELD.contains(&option) => {}
                (option, value) if known.contains(option) => {
                    set(option, value.unwrap_or_else(|| "1".to_owned()));
                }
                (option, _) => {
                    let note = format!("line {}: {} is not done here", line.number, Label::new(option));
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        let words = options.into_iter().map(|(option, value)| format!("--{option}={value}"));
        let args = parsed(words)?;
        let mut planned = Planned::of(&args, &self.name).map_err(|complaint| complaint.to_string())?;
        if planned.workload.targets.is_empty() {
            if planned.workload.size.is_none() {
                return Err("it names no file and no size of one; give it a filename".to_owned());
            }
            // fio's name for the first file of a job that names none.
            let args = args.reading(&format!("{}.0.0", self.name));
            planned = Planned::of(&args, &self.name).map_err(|complaint| complaint.to_string())?;
        }
        if planned.workload.targets.len() > 1 {
            notes.push(format!(
                "[{}]: its files are read side by side, each with the whole depth; fio goes around them",
                self.shown()
            ));
        }
        Ok(planned)
    }
}

/// Every option of `iodyno bench`, by every name it has, that a job file may use.
fn known_options() -> HashSet<String> {
    let command = BenchArgs::augment_args(Command::new("bench"));
    let names = command.get_arguments().flat_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
    });
    names.filter(|name| !matches!(name.as_str(), "fio" | "emit-fio" | "json" | "keep")).collect()
}

/// The name an option has here, if fio has several for it.
fn canonical(option: &str) -> &str {
    match option {
        "readwrite" => "rw",
        "blocksize" => "bs",
        "iodepth_batch" => "iodepth_batch_submit",
        "iodepth_batch_complete" => "iodepth_batch_complete_min",
        other => other,
    }
}

/// With every `${NAME}` replaced.
fn expanded(value: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("a ${ has no }; close it")?;
        out.push_str(before);
        out.push_str(&variable(name).ok_or_else(|| format!("${{{}}} is not set; set it", Label::new(name)))?);
        rest = after;
    }
    Ok(out + rest)
}

fn parsed(words: impl Iterator<Item = String>) -> Result<BenchArgs, String> {
    let command = BenchArgs::augment_args(Command::new("bench").no_binary_name(true));
    let matches =
        command.try_get_matches_from(words.map(OsString::from)).map_err(|error| in_words(&error))?;
    BenchArgs::from_arg_matches(&matches).map_err(|error| in_words(&error))
}

/// `size=50%: no size; write it as 4k, 1m or 512`, or clap's own first line.
fn in_words(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = context(ContextKind::InvalidArg).and_then(|option| option.split_whitespace().next());
    if let (Some(option), Some(value), Some(why)) =
        (option, context(ContextKind::InvalidValue), error.source())
    {
        return Label::new(&format!("{}={value}: {why}", option.trim_start_matches('-'))).to_string();
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    Label::new(line.strip_prefix("error: ").unwrap_or(line)).to_string()
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, time::Duration};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        model::{EngineKind, Pattern},
        units::Bytes,
    };

    fn parse(text: &str) -> JobFile {
        JobFile::parse(text, |name| (name == "DRIVE").then(|| "/dev/nvme7n1".to_owned()))
    }

    #[test]
    fn sections_that_ask_for_the_same_are_one_run_of_several_targets() {
        let file = parse(
            "; two drives\n[global]\nrw=randread\nbs=4k\ndirect=1\nioengine=io_uring\niodepth=32\nruntime=30\n\
             time_based\n\n[one]\nfilename=/dev/nvme0n1\n[two]\nfilename=${DRIVE}\n",
        );
        assert_eq!(file.notes, Vec::<String>::new());
        let [run] = &file.runs[..] else { panic!("{:?}", file.runs) };
        assert_eq!(run.names, ["one", "two"]);
        let workload = &run.workload;
        let paths: Vec<_> = workload.targets.iter().map(|target| target.path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("/dev/nvme0n1"), "/dev/nvme7n1".into()]);
        assert_eq!((workload.pattern, workload.depth, workload.direct), (Pattern::Random, 32, true));
        assert_eq!(workload.runtime, Some(Duration::from_secs(30)));
        assert!(!workload.fixed_buffers && !workload.register_files, "fio's defaults, not iodyno's");
    }

    #[test]
    fn what_is_not_said_is_as_fio_has_it() {
        let file = parse("[a]\nfilename=/dev/nvme0n1\nsize=100%\nbuffered=1\n");
        let workload = &file.runs[0].workload;
        assert_eq!(
            (workload.pattern, workload.engine, workload.depth, workload.direct, workload.runtime),
            (Pattern::Sequential, EngineKind::Psync, 1, false, None)
        );
        assert_eq!((workload.size, workload.block_size), (None, Bytes(4096)));
        assert!(file.notes.is_empty(), "{:?}", file.notes);
    }

    #[test]
    fn a_wall_or_another_workload_makes_another_run() {
        let file = parse(
            "[global]\nfilename=/dev/nvme0n1\nrw=randread\n[a]\n[b]\nstonewall\n[c]\nblocksize=64k\n[d]\nbs=64k\n",
        );
        let names: Vec<_> = file.runs.iter().map(|run| run.names.clone()).collect();
        assert_eq!(names, [vec!["a"], vec!["b"], vec!["c", "d"]]);
        assert_eq!(file.notes.len(), 1, "{:?}", file.notes);
        assert!(file.notes[0].starts_with("[c]: runs after the section before it"), "{:?}", file.notes);
    }

    #[test]
    fn what_would_write_or_makes_no_sense_is_named_and_the_rest_is_run() {
        let file = parse(
            "[global]\nfilename=/dev/nvme0n1\n[w]\nrw=randwrite\n[v]\nrw=read\nverify=crc32c\n[s]\nsize=50%\n\
             [n]\nfilename=${NONE}\n[r]\nrw=randread\nexitall\nnuma_mem_policy=local\ninclude other\n",
        );
        assert_eq!(file.runs.len(), 1, "{:?}", file.runs);
        assert_eq!(file.runs[0].names, ["r"]);
        let said = file.notes.join("\n");
        for words in [
            "[w]: not run: rw=randwrite: it would write",
            "[v]: not run: --verify crc32c: it is for runs that write",
            "[s]: not run: size=50%: no size; write it as",
            "${NONE} is not set",
            "line 14: exitall is not done here",
            "line 15: numa_mem_policy is not done here",
            "line 16: include other: files are not included",
        ] {
            assert!(said.contains(words), "{words} in {said}");
        }
    }

    #[test]
    fn a_job_without_a_file_has_fios_name_for_one() {
        let file = parse("[lay]\nsize=64m\ndirectory=/mnt/x\n[none]\n");
        assert_eq!(file.runs[0].workload.targets[0].path, PathBuf::from("/mnt/x/lay.0.0"));
        assert!(file.notes[0].contains("[none]: not run: it names no file"), "{:?}", file.notes);
    }

    #[test]
    fn what_is_emitted_is_read_back_as_it_was() {
        let all = "--filename=/dev/a:/mnt/x\\:y --rw=read --bssplit=4k/60:64k/40 --iodepth=8 --numjobs=2 --direct=1 \
                   --hipri=1 --runtime=7 --ramp_time=2 --size=1g --rate_iops=500 --randseed=9 --gtod_reduce=1 \
                   --iodepth_batch_submit=2 --iodepth_batch_complete_min=4 --sqthread_poll=1";
        let asked = parsed(all.split_whitespace().map(str::to_owned)).unwrap().workload().unwrap();
        let file = parse(&crate::report::fio_options::job_file(&asked));
        assert!(file.notes.is_empty(), "{:?}", file.notes);
        assert_eq!(file.runs.len(), 1);
        assert_eq!(file.runs[0].workload, asked);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(\\[|\\]|=|;|\n|global|rw|size|\\$\\{|\\}|\\PC){0,64}") {
            let file = parse(&text);
            for note in file.notes {
                prop_assert!(!note.chars().any(char::is_control), "{note:?}");
            }
        }
    }
}

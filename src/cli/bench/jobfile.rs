//! `--fio JOBFILE`: a job file of fio as runs of iodyno (fio(1), "Job file format").

use std::{collections::HashSet, hash::BuildHasher, rc::Rc};

use super::{
    Planned,
    arguments::Asked,
    arithmetic,
    job_options::{Rule, canonical, refuse, rule},
};
use crate::{
    machine::Machine,
    model::{
        Pattern,
        fio::{self as values, ValueError},
        options::{Given, OPTIONS, find},
    },
    text::Label,
};

/// A section of a job file.
#[derive(Debug)]
struct Section<'a> {
    name: &'a str,
    /// Options of the global sections before it: the last line of each.
    global: &'a [Line<'a>],
    own: &'a [Line<'a>],
}

/// `option=value`; a bare option has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line<'a> {
    /// 1 is the first of the file.
    number: usize,
    /// Name of its section.
    section: Rc<str>,
    option: &'a str,
    value: Option<&'a str>,
}

/// Numbers of this host that job files use by name (`$ncpus`), as fio takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keywords {
    /// `$pagesize`, bytes.
    pub page_size: u64,
    /// `$mb_memory`, MiB.
    pub memory: u64,
    /// `$ncpus`: online CPUs.
    pub cpus: u64,
}

impl Keywords {
    /// Those of a machine.
    pub(super) fn of(machine: &Machine) -> Self {
        Self {
            page_size: rustix::param::page_size() as u64,
            memory: machine.host.memory.get().map_or(0, |bytes| bytes.0 >> 20),
            cpus: machine.processors.cpus.len() as u64,
        }
    }

    fn named(self) -> [(&'static str, u64); 3] {
        [("$pagesize", self.page_size), ("$mb_memory", self.memory), ("$ncpus", self.cpus)]
    }
}

/// A parsed job file.
#[derive(Debug, Default)]
pub struct JobFile {
    /// The supported runs, in their order.
    pub(super) runs: Vec<Planned>,
    /// Unsupported options with their section, each once.
    pub unsupported: Vec<String>,
    /// Differences from fio, each once.
    pub notes: Vec<String>,
    /// Unsupported options behind [`MOST`].
    pub(super) more: usize,
    /// Hashes of all remarks.
    pub(super) said: HashSet<u64>,
}

/// Remarks of each kind; a job file has a handful.
const MOST: usize = 1000;

/// Bytes of a job's name, as fio has it (`FIO_JOBNAME_SIZE`).
const MOST_OF_NAME: usize = 127;

impl JobFile {
    /// Parses the text of a job file. `variable` returns the values of `${NAME}`.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>, keywords: Keywords) -> Self {
        let (mut outside, mut file) = (Self::default(), Self::default());
        let expand = |line: &Line<'_>| line.expanded(&variable, keywords);
        sections(text, &mut |line| outside.unsupported(line), &mut |section| file.plan(section, &expand));
        // Lines of no section first.
        for line in std::mem::take(&mut file.unsupported) {
            outside.unsupported(&line);
        }
        Self { unsupported: outside.unsupported, more: outside.more + file.more, ..file }
    }

    fn plan(&mut self, section: &Section<'_>, expand: &impl Fn(&Line<'_>) -> Result<Option<String>, String>) {
        let mut planned = match section.planned(expand, self) {
            Ok(planned) => planned,
            Err(why) => return self.unsupported(&format!("[{}] {why}", section.shown())),
        };
        if let Some(before) = self.runs.last_mut().filter(|_| !section.has("stonewall")) {
            if before.joins(&mut planned) {
                return before.join(planned);
            }
            self.note(&format!(
                "[{}]: runs after the previous section, not at the same time: their options differ",
                section.shown()
            ));
        }
        self.runs.push(planned);
    }

    fn unsupported(&mut self, line: &str) {
        let line = Label::new(line);
        match self.is_new(&line) {
            true if self.unsupported.len() < MOST => self.unsupported.push(line.to_string()),
            true => self.more += 1,
            false => {}
        }
    }

    fn note(&mut self, line: &str) {
        let last = "further differences from fio are not listed";
        let line = Label::new(if self.notes.len() < MOST { line } else { last });
        if self.is_new(&line) {
            self.notes.push(line.to_string());
        }
    }

    fn is_new(&mut self, remark: &Label) -> bool {
        let hash = self.said.hasher().hash_one(remark);
        self.said.insert(hash)
    }
}

/// Calls `each` with every section that is a job, one after the other: each may have all options of the global ones before it.
/// `wrong` is called with lines that no section takes.
fn sections(text: &str, wrong: &mut dyn FnMut(&str), each: &mut dyn FnMut(&Section<'_>)) {
    let (mut global, mut own): (Vec<Line<'_>>, Vec<Line<'_>>) = Default::default();
    // Unknown options of global sections, until a job follows.
    let mut unknown: Vec<Line<'_>> = Vec::new();
    // The section that lines belong to, and whether it is global.
    let mut current: Option<(Rc<str>, bool)> = None;
    let mut end = |current: &Option<(Rc<str>, bool)>, global: &[Line<'_>], own: &mut Vec<Line<'_>>| {
        if let Some((name, false)) = current.as_ref().map(|(name, is_global)| (&**name, *is_global)) {
            each(&Section { name, global, own });
        }
        own.clear();
    };
    // Editors of Windows begin a text with a byte order mark.
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        // A comment begins anywhere in a line, as fio's parser has it.
        let (line, number) = (line.split([';', '#']).next().unwrap_or_default().trim(), index + 1);
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            end(&current, &global, &mut own);
            let is_global = name.starts_with("global");
            if !is_global {
                unknown.drain(..).for_each(|line| wrong(&line.is_unknown()));
            }
            current = Some((name[..name.floor_char_boundary(MOST_OF_NAME)].into(), is_global));
            continue;
        }
        let mut refuse = |why: &str| wrong(&format!("line {number}: {}: {why}", Label::new(line)));
        let Some((section, is_global)) =
            current.as_ref().filter(|_| !line.starts_with("include ") && !line.contains('\0'))
        else {
            refuse(match line {
                _ if line.starts_with("include ") => "include is not supported",
                _ if line.contains('\0') => "has a NUL byte",
                _ => "is before the first section",
            });
            continue;
        };
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim(), Some(value.trim())),
            None => (line, None),
        };
        let line = Line { number, section: Rc::clone(section), option, value };
        if *is_global && matches!(rule(canonical(line.option)), Rule::Unknown) {
            unknown.push(line);
        } else if *is_global {
            global.retain(|before| before.key() != line.key());
            global.push(line);
        } else {
            own.push(line);
        }
    }
    end(&current, &global, &mut own);
}

impl Line<'_> {
    /// `[a] line 5: rate=1m`.
    fn shown(&self) -> String {
        let value = self.value.map(|value| format!("={value}")).unwrap_or_default();
        let text = Label::new(&format!("{}{value}", self.option));
        format!("[{}] line {}: {text}", Label::new(&self.section), self.number)
    }

    fn is_unknown(&self) -> String {
        format!("{} is unknown", self.shown())
    }

    /// The option it sets; `buffered` is the opposite of `direct`.
    fn key(&self) -> &str {
        match canonical(self.option) {
            "buffered" => "direct",
            other => other,
        }
    }

    /// The value with every `${NAME}` and keyword replaced, and computed if it has a keyword.
    fn expanded(
        &self,
        variable: &impl Fn(&str) -> Option<String>,
        keywords: Keywords,
    ) -> Result<Option<String>, String> {
        let Some(value) = self.value else { return Ok(None) };
        let mut value = with_variables(value, variable)?;
        let mut replaced = false;
        for (keyword, number) in keywords.named() {
            replaced |= value.contains(keyword);
            value = value.replace(keyword, &number.to_string());
        }
        if replaced && value.contains(['+', '-', '*', '/']) {
            let computed = arithmetic::value(&value);
            value = computed.ok_or("not an integer expression; use a number")?.to_string();
        }
        Ok(Some(value))
    }
}

impl Section<'_> {
    fn shown(&self) -> Label {
        Label::new(self.name)
    }

    /// Whether a switch is on.
    fn has(&self, option: &str) -> bool {
        self.in_force().iter().any(|line| line.key() == option && line.value != Some("0"))
    }

    /// The value an option was given.
    fn value(&self, option: &str) -> Option<&str> {
        self.in_force().iter().find(|line| line.key() == option)?.value
    }

    /// The last line of each option.
    fn in_force(&self) -> Vec<&Line<'_>> {
        let mut later = HashSet::new();
        let options = self.global.iter().chain(self.own).rev();
        let mut found: Vec<&Line<'_>> = options.filter(|line| later.insert(line.key())).collect();
        found.reverse();
        found
    }

    /// Its run, or why there is none.
    fn planned(
        &self,
        expand: &impl Fn(&Line<'_>) -> Result<Option<String>, String>,
        file: &mut JobFile,
    ) -> Result<Planned, String> {
        let asked = asked(self.taken(expand, file)?)?;
        let mut planned = Planned::of(&asked, self.name);
        if planned.workload.targets.is_empty() {
            if planned.workload.size.is_none() {
                return Err("has neither filename nor size; add a filename".to_owned());
            }
            // fio's name for the first file of a job that names none.
            planned = Planned::of(&asked.reading(&format!("{}.0.0", self.name)), self.name);
        }
        let workload = &planned.workload;
        if workload.targets.len() > 1 {
            file.note(&format!(
                "[{}]: its files are read at the same time, each with the full iodepth; fio alternates",
                self.shown()
            ));
        }
        if workload.pattern == Pattern::Random && !self.has("norandommap") {
            file.note(&format!(
                "[{}]: random offsets may repeat, as with norandommap; fio first reads every block once",
                self.shown()
            ));
        }
        if !workload.direct
            && ["invalidate", "fadvise_hint"].iter().any(|option| self.value(option) != Some("0"))
        {
            file.note(&format!(
                "[{}]: the page cache is not dropped, as with invalidate=0 and fadvise_hint=0",
                self.shown()
            ));
        }
        Ok(planned)
    }

    /// Its options of `iodyno bench`.
    fn taken(
        &self,
        expand: &impl Fn(&Line<'_>) -> Result<Option<String>, String>,
        file: &mut JobFile,
    ) -> Result<Vec<(String, String)>, String> {
        // Defaults are fio's.
        let default = |(option, value): (&str, &str)| (option.to_owned(), value.to_owned());
        let defaults = OPTIONS.iter().filter_map(|option| Some((option.name, option.fio_default?)));
        let mut options: Vec<(String, String)> = defaults.map(default).collect();
        for line in self.in_force() {
            let value = expand(line).map_err(|why| format!("line {}: {}: {why}", line.number, line.key()))?;
            let value = value.unwrap_or_else(|| "1".to_owned());
            match (rule(canonical(line.option)), line.key()) {
                (Rule::Same, _) => {}
                (Rule::Noted, _) => file.note(&format!("{} has no effect", line.shown())),
                (Rule::Only(allowed), _) if allowed.contains(&value.as_str()) => {}
                (Rule::Only(_) | Rule::Unsupported, _) => {
                    file.unsupported(&format!("{} is not supported", line.shown()));
                }
                (Rule::Unknown, _) => file.unsupported(&line.is_unknown()),
                // The whole target, as without a size.
                (Rule::Taken, "size" | "filesize") if value == "100%" => {}
                (Rule::Taken, key) => {
                    let value = match (line.option, value.as_str()) {
                        ("buffered", "0") => "1".to_owned(),
                        ("buffered", _) => "0".to_owned(),
                        _ => value,
                    };
                    options.retain(|(before, _)| before != key);
                    options.push((key.to_owned(), value));
                }
            }
        }
        let given = |option: &str| options.iter().find(|(given, _)| given == option).map(|(_, value)| value);
        let is_timed =
            given("runtime").and_then(|time| values::time(time).ok()).is_some_and(|time| !time.is_zero());
        if is_timed && given("time_based").is_some_and(|value| value != "0") {
            // fio reads until the time is over, whatever the amount.
            options.retain(|(option, _)| option != "io_size");
        }
        Ok(options)
    }
}

/// With every `${NAME}` replaced.
fn with_variables(value: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("unclosed ${; add }")?;
        out.push_str(before);
        out.push_str(&variable(name).ok_or_else(|| format!("${{{}}} is not set; set it", Label::new(name)))?);
        rest = after;
    }
    Ok(out + rest)
}

fn asked(options: Vec<(String, String)>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    for (option, value) in options {
        let why = |error: ValueError| Label::new(&format!("{option}={value}: {error}")).to_string();
        match option.as_str() {
            "filename" => asked.filename = Some(value),
            "directory" => asked.directory = Some(value.into()),
            "filesize" => asked.filesize = Some(values::size(&value).map_err(why)?),
            _ => match find(&option) {
                Some(row) => asked.options.0.push(Given::one(row, &value).map_err(why)?),
                None => refuse(&option, &value)
                    .map_err(|error| Label::new(&format!("--{option} {value}: {error}")).to_string())?,
            },
        }
    }
    Ok(asked)
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
        let variable = |name: &str| (name == "DRIVE").then(|| "/dev/nvme7n1".to_owned());
        JobFile::parse(text, variable, Keywords { page_size: 4096, memory: 2048, cpus: 6 })
    }

    #[test]
    fn control_characters_of_a_line_are_shown_as_such() {
        for line in [
            "bsspl\u{1c}t=4k/60",
            "bsspl\u{1c}t=4k/60^64k/4size=$mb_memory",
            "size=4k\u{1c}",
            "numjobs=\u{1b}[2J",
            "rw=\u{9b}read",
            "name\u{7}",
        ] {
            let file = parse(&format!("[a\u{1b}b]\nfilename=x\n{line}\n"));
            let said: Vec<String> = file.notes.into_iter().chain(file.unsupported).collect();
            assert!(!said.is_empty(), "{line:?}");
            assert!(!said.concat().contains(char::is_control), "{said:?}");
        }
    }

    #[test]
    fn sections_that_ask_for_the_same_are_one_run_of_several_targets() {
        let file = parse(
            "; two drives\n[global]\nrw=randread\nnorandommap\nbs=4k\ndirect=1\nioengine=io_uring\niodepth=32\nruntime=30\n\
             time_based\n\n[one]\nfilename=/dev/nvme0n1\n[two]\nfilename=${DRIVE}\n",
        );
        assert_eq!((file.notes, file.unsupported), (vec![], vec![]));
        let [run] = &file.runs[..] else { panic!("{:?}", file.runs) };
        assert_eq!(run.names, ["one", "two"].map(Into::into));
        let workload = &run.workload;
        let paths: Vec<_> = workload.targets.iter().map(|target| target.path.clone()).collect();
        assert_eq!(paths, [PathBuf::from("/dev/nvme0n1"), "/dev/nvme7n1".into()]);
        assert_eq!((workload.pattern, workload.depth, workload.direct), (Pattern::Random, 32, true));
        assert_eq!(workload.runtime, Some(Duration::from_secs(30)));
        assert!(!workload.fixed_buffers && !workload.register_files, "fio's defaults, not iodyno's");
    }

    #[test]
    fn missing_options_have_fios_defaults() {
        let file = parse("[a]\nfilename=/dev/nvme0n1\nsize=100%\nbuffered=1\ninvalidate=0\nfadvise_hint=0\n");
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
            "[global]\nfilename=/dev/nvme0n1\nrw=randread\nnorandommap\ndirect=1\n[a]\n[b]\nstonewall\n[c]\nblocksize=64k\n[d]\nbs=64k\n",
        );
        let names: Vec<_> = file.runs.iter().map(|run| run.names.clone()).collect();
        assert_eq!(names.iter().map(|names| names.join(" ")).collect::<Vec<_>>(), ["a", "b", "c d"]);
        assert_eq!(file.notes.len(), 1, "{:?}", file.notes);
        assert!(file.notes[0].starts_with("[c]: runs after the previous section"), "{:?}", file.notes);
    }

    #[test]
    fn files_of_a_section_share_its_name() {
        let files = vec!["x"; 1000].join(":");
        let file = parse(&format!("[{}]\nfilename={files}\nrw=read\n", "n".repeat(MOST_OF_NAME)));
        let names = &file.runs[0].names;
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.as_ptr() == names[0].as_ptr()), "one copy");
    }

    #[test]
    fn a_byte_order_mark_is_no_text_and_a_nul_is_refused() {
        let file = parse("\u{feff}[a]\nfilename=/dev/nvme0n1\nrw=read\n[b]\nfilename=/tmp/x\0y\n");
        assert_eq!(&*file.runs[0].names[0], "a");
        assert!(file.unsupported[0].ends_with(": has a NUL byte"), "{:?}", file.unsupported);
    }

    #[test]
    fn what_is_not_done_is_named_with_section_and_option_and_the_rest_is_run() {
        let file = parse(
            "rw=read\n[global]\nfilename=/dev/nvme0n1\nrate=1m\n[w]\nrw=randwrite\n[v]\nrw=read\nverify=crc32c\n\
             [s]\nsize=50%\n[n]\nfilename=${NONE}\n[r]\nrate=0\nrw=randread\nexitall\nnuma_mem_policy=local\n\
             include other\nreadonly\nloops=1\nbuffered=0\n",
        );
        assert_eq!(file.runs.len(), 1, "{:?}", file.runs);
        assert_eq!(file.runs[0].names, ["r".into()]);
        assert!(file.runs[0].workload.direct);
        let expected = [
            "line 1: rw=read: is before the first section",
            "line 19: include other: include is not supported",
            "[global] line 4: rate=1m is not supported",
            "[w] rw=randwrite: would write, and iodyno only reads; use randread or read",
            "[v] --verify crc32c: is for writing, and iodyno only reads; leave it out",
            "[s] size=50%: not a size; use 4k, 1m or 512",
            "[n] line 13: filename: ${NONE} is not set; set it",
            "[r] line 17: exitall is not supported",
            "[r] line 20: readonly is unknown",
        ];
        assert_eq!(file.unsupported, expected);
        assert_eq!(file.notes[0], "[r] line 18: numa_mem_policy=local has no effect");
        assert!(file.notes[1].starts_with("[r]: random offsets may repeat"), "{:?}", file.notes);
    }

    #[test]
    fn unsupported_options_are_refused_unless_at_fios_default() {
        let unsupported = |option: &str| parse(&format!("[a]\nfilename=x\n{option}\n")).unsupported;
        for option in [
            "bsrange=4k-64k",
            "blocksize_range=1k-4k",
            "rate=10m",
            "thinktime=100",
            "random_distribution=zipf:1.1",
            "loops=3",
            "startdelay=2",
            "number_ios=100",
            "iodepth_low=4",
            "percentage_random=50",
            "zonemode=strided",
            "read_iolog=trace",
            "steadystate=iops:1%",
            "ioscheduler=none",
            "nr_files=4",
            "no_such_option=1",
        ] {
            assert_eq!(unsupported(option).len(), 1, "{option}: {:?}", unsupported(option));
            assert!(unsupported(option)[0].starts_with(&format!("[a] line 3: {option} is ")), "{option}");
        }
        for option in
            ["rate=0", "thinktime=0", "random_distribution=random", "loops=1", "thread", "wait_for_previous"]
        {
            assert_eq!(unsupported(option), [""; 0], "{option}");
        }
    }

    #[test]
    fn comments_begin_anywhere_and_numbers_of_the_host_are_computed_with() {
        let file = parse(
            "[global] ; all\nfilename=/tmp/f#g\nbs=$pagesize*2;x\n\t# c\n[a]\niodepth=2*$ncpus ; deep\nnumjobs=$ncpus\n\
             size=$mb_memory/2 # bytes\n",
        );
        assert_eq!(file.unsupported, [""; 0]);
        let workload = &file.runs[0].workload;
        assert_eq!(workload.targets[0].path, PathBuf::from("/tmp/f"));
        assert_eq!((workload.block_size, workload.depth, workload.jobs), (Bytes(8192), 12, 6));
        assert_eq!(workload.size, Some(Bytes(1024)));
        let wrong = parse("[a]\nfilename=x\nsize=$mb_memory*1m\n").unsupported;
        assert_eq!(wrong, ["[a] line 3: size: not an integer expression; use a number"]);
    }

    #[test]
    fn an_amount_or_the_time_ends_a_job_whichever_is_first_unless_it_is_time_based() {
        let workload = |options: &str| {
            let file = parse(&format!("[a]\nfilename=x\n{options}"));
            assert_eq!(file.unsupported, [""; 0]);
            file.runs[0].workload.clone()
        };
        let span = Bytes(64 << 20);
        let capped = workload("size=8m\nruntime=5\n");
        assert_eq!(
            (capped.runtime, capped.amount(Bytes(8 << 20))),
            (Some(Duration::from_secs(5)), Some(Bytes(8 << 20)))
        );
        assert_eq!(workload("runtime=5\n").amount(span), Some(span));
        assert_eq!(workload("size=8m\ntimeout=5\ntime_based\n").amount(span), None);
        assert_eq!(workload("size=8m\nio_size=1m\nruntime=5\n").amount(span), Some(Bytes(1 << 20)));
        assert_eq!(workload("size=8m\nio_limit=1m\nruntime=5\ntime_based=1\n").amount(span), None);
        assert_eq!(
            workload("size=8m\ntime_based=1\n").amount(span),
            Some(span),
            "no time, nothing to be based on"
        );
    }

    #[test]
    fn a_job_without_a_file_has_fios_name_for_one() {
        let file = parse("[global]\ndirect=1\n[lay]\nsize=64m\ndirectory=/mnt/x\n[none]\n");
        assert_eq!(file.runs[0].workload.targets[0].path, PathBuf::from("/mnt/x/lay.0.0"));
        assert_eq!(file.unsupported, ["[none] has neither filename nor size; add a filename"]);
    }

    #[test]
    fn what_is_emitted_is_read_back_as_it_was() {
        let all = "--filename=/dev/a:/mnt/x\\:y --rw=read --bssplit=4k/60:64k/40 --iodepth=8 --numjobs=2 --direct=1 \
                   --hipri=1 --runtime=7 --ramp_time=2 --size=1g --rate_iops=500 --randseed=9 --gtod_reduce=1 \
                   --iodepth_batch_submit=2 --iodepth_batch_complete_min=4 --sqthread_poll=1";
        let words = all.split_whitespace().map(|word| word.trim_start_matches("--").split_once('=').unwrap());
        let words = words.map(|(option, value)| (option.to_owned(), value.to_owned()));
        let asked = asked(words.collect()).unwrap().workload();
        let file = parse(&crate::report::fio_options::job_file(&asked));
        assert_eq!((file.notes, file.unsupported), (vec![], vec![]));
        assert_eq!(file.runs.len(), 1);
        assert_eq!(file.runs[0].workload, asked);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(\\[|\\]|=|;|\n|global|rw|size|\\$\\{|\\}|\\PC){0,64}") {
            let file = parse(&text);
            for note in file.notes.into_iter().chain(file.unsupported) {
                prop_assert!(!note.chars().any(char::is_control), "{note:?}");
            }
        }
    }
}

//! `iodyno bench`: a read test without a screen, in fio's words.

mod arguments;
mod arithmetic;
mod job_options;
pub mod jobfile;

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use arguments::BenchArgs;
pub(super) use arguments::OptionArgs;

use self::arguments::Asked;
use self::jobfile::{JobFile, Keywords};
use super::{Complaint, Failure, Status, failure, print, say, signals};
use crate::{
    capacity,
    engine::EngineError,
    machine::Machine,
    model::{DriveName, RunSample, RunState, TargetSummary, Workload},
    report::{
        self,
        dstat::{self, HEADING},
        fio_json::{Finished, FioDocument},
    },
    runtime::{
        clock::Clock,
        run::{Ended, Look, Row, Testbed},
        run_history,
        session::TestFiles,
        startup,
    },
    source::origin::Origin,
    text::Label,
    units,
};

/// Rows under one heading.
const ROWS: usize = 22;

/// One run that is going to be made.
#[derive(Debug, Clone)]
struct Planned {
    workload: Workload,
    /// The job's name for each target.
    names: Vec<String>,
    /// Whether files laid out stay.
    keep: bool,
}

impl Planned {
    fn of(asked: &Asked, name: &str) -> Self {
        let workload = asked.workload();
        let names = vec![name.to_owned(); workload.targets.len()];
        Self { workload, names, keep: false }
    }

    /// Whether the two ask for the same, apart from what they read.
    fn joins(&self, other: &Self) -> bool {
        let without = |planned: &Self| Workload { targets: Vec::new(), ..planned.workload.clone() };
        without(self) == without(other)
    }

    fn join(&mut self, other: Self) {
        self.workload.targets.extend(other.workload.targets);
        self.names.extend(other.names);
    }
}

/// Runs `iodyno bench`.
pub fn run(args: &BenchArgs, origin: &Origin) -> Result<Status, Failure> {
    let captured = || {
        let fix = "leave --open and --sysroot out, or use --demo for a simulated test";
        Complaint::new("bench", "a captured machine cannot be tested", fix)
    };
    if !origin.is_live() && !origin.is_demo() {
        return Err(captured().into());
    }
    let root = origin.open()?;
    let bed = Testbed::new(origin, &root, startup::read(&*root), Clock::real()).ok_or_else(captured)?;
    let JobFile { runs, unsupported: left_out, mut notes } = match args.job_file() {
        Some(path) => from_job_file(path, args, &bed.read.machine)?,
        None => JobFile {
            runs: vec![Planned { keep: args.keep(), ..Planned::of(&args.asked(), args.job_name()) }],
            unsupported: Vec::new(),
            notes: Vec::new(),
        },
    };
    let bench = Bench { args, bed, signal: signals::signals()? };
    for note in args.notes() {
        say(&note);
        notes.push(note);
    }
    if args.emit_fio() {
        let runs = runs.into_iter().map(|planned| Ok(bench.targets_of(planned)?.workload));
        print(&report::fio_options::job_file_of_runs(&runs.collect::<Result<Vec<_>, Failure>>()?))?;
        return Ok(Status::Done);
    }
    let mut finished = Vec::new();
    let mut status = Status::Done;
    for planned in runs {
        let planned = bench.targets_of(planned)?;
        let (ended, run) = bench.carry_out(planned)?;
        finished.extend(run);
        status = ended;
        if matches!(status, Status::Stopped(_)) {
            break;
        }
    }
    if let Some(document) = FioDocument::new(&finished).filter(|_| args.json()) {
        print(&report::json::text(&document.unlike_fio(left_out, notes)))?;
    }
    match status {
        Status::Stopped(_) => Ok(status),
        _ => judged(finished.iter().flat_map(|finished| &finished.run.targets)),
    }
}

/// The job file's runs.
///
/// # Errors
/// A file that cannot be read; one that asks for what iodyno does not do, with every such option; one without a read job.
fn from_job_file(path: &Path, args: &BenchArgs, machine: &Machine) -> Result<JobFile, Failure> {
    let name = path.to_string_lossy();
    let text =
        if path == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.map_err(|error| {
        Complaint::new(&name, failure::words(&error), "name a readable job file, or - for standard input")
    })?;
    let variable = |variable: &str| std::env::var(variable).ok();
    let mut file = JobFile::parse(&text, variable, Keywords::of(machine));
    if !file.unsupported.is_empty() && !args.ignore_unsupported() {
        let fix = "change the file, or add --ignore-unsupported to run the rest";
        return Err(Complaint::new(&name, file.unsupported.join("; "), fix).into());
    }
    if file.runs.is_empty() {
        let wrong = ["no section can be run".to_owned()].into_iter().chain(file.unsupported);
        return Err(Complaint::new(
            &name,
            wrong.collect::<Vec<_>>().join("; "),
            "add a section with rw=read or rw=randread and a filename",
        )
        .into());
    }
    for run in &mut file.runs {
        run.keep = args.keep();
    }
    let left_out = file.unsupported.iter().map(|what| format!("left out: {what}"));
    for remark in left_out.chain(file.notes.iter().cloned()) {
        say(&format!("{}: {remark}", Label::new(&name)));
    }
    Ok(file)
}

/// The machine that is tested, and how.
struct Bench<'a> {
    args: &'a BenchArgs,
    bed: Testbed,
    signal: Arc<AtomicUsize>,
}

impl Bench<'_> {
    /// The run with the drive of each target, checked.
    fn targets_of(&self, mut planned: Planned) -> Result<Planned, Failure> {
        self.bed.resolve(&mut planned.workload)?;
        planned.names.resize(planned.workload.targets.len(), self.args.job_name().to_owned());
        planned.workload.validate()?;
        Ok(planned)
    }

    /// Starts a run, prints rows while it goes, then its summary. No run comes of one that was stopped before its start.
    fn carry_out(&self, planned: Planned) -> Result<(Status, Option<Finished>), Failure> {
        let Planned { workload, names, keep } = planned;
        let expected = self.bed.expected(&workload);
        let mut rows = Rows::new(self.args.json(), &self.bed.read.machine);
        let stops = |_| self.signal.load(Ordering::Relaxed) != 0;
        let ended = self.bed.run(workload, TestFiles::kept(keep), stops, |look| rows.look(look));
        let stopped = u8::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|number| *number != 0);
        let status = stopped.map_or(Status::Done, Status::Stopped);
        let mut ended: Ended = match ended {
            Err(Stop::Load(EngineError::Stopped)) if stopped.is_some() => return Ok((status, None)),
            Err(Stop::Load(error)) => return Err(error.into()),
            Err(Stop::Print(failure)) => return Err(failure),
            Ok(ended) => ended,
        };
        let learned = self.bed.judge(&mut ended);
        for sentence in capacity::refutations(&self.bed.read.machine, &self.bed.read.limits, &learned) {
            say(&sentence);
        }
        let mut kept = vec![run_history::remember(&learned)];
        if !self.bed.simulated() {
            kept.push(run_history::keep(&self.bed.record(&ended, &expected)));
        }
        kept.into_iter().filter_map(Result::err).for_each(|error| say(&error.to_string()));
        if !self.args.json() {
            print(&format!("\n{}", report::summary::text(&ended.run, &expected)))?;
        }
        Ok((status, Some(Finished { run: ended.run, names, expected, seconds: ended.each })))
    }
}

/// Why a run has no result.
enum Stop {
    Load(EngineError),
    Print(Failure),
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Load(error)
    }
}

/// How tests end that nobody stopped: whether their reads came back.
fn judged<'a>(targets: impl Iterator<Item = &'a TargetSummary> + Clone) -> Result<Status, Failure> {
    let mut unread = targets.clone().filter(|target| target.ios == 0);
    if let Some(target) = unread.next() {
        let error = target.first_error.as_ref().map(Label::to_string);
        let fix = if error.is_some() {
            "check `dmesg`, or test other targets"
        } else {
            "use a longer --runtime, or a smaller --bs or --iodepth"
        };
        let more = match unread.count() {
            0 => String::new(),
            more => format!(", nor from {}", units::counted(more, "more target")),
        };
        let why = error.unwrap_or_else(|| "no read completed during the run".to_owned());
        let wrong = format!("no read succeeded{more}: {why}");
        return Err(Complaint::new(target.name.as_str(), wrong, fix).into());
    }
    let sound = targets.into_iter().all(|target| target.errors == 0 && target.first_error.is_none());
    Ok(if sound { Status::Done } else { Status::No })
}

/// The rows of a run, one a second.
struct Rows {
    /// Prints nothing: for JSON.
    quiet: bool,
    drives: Vec<DriveName>,
    printed: usize,
}

impl Rows {
    fn new(quiet: bool, machine: &Machine) -> Self {
        let drives = machine.hardware_drives().map(|drive| drive.name.clone()).collect();
        Self { quiet, drives, printed: 0 }
    }

    fn look(&mut self, look: &Look) -> Result<(), Stop> {
        let rates = match &look.row {
            Some(Row::Preparing(busy_with)) => {
                progress(busy_with);
                return Ok(());
            }
            Some(Row::Rates(rates)) if !self.quiet => rates,
            _ => return Ok(()),
        };
        let sample = &look.sample;
        let row = dstat::Row::of_rates(rates, &tested(sample, &self.drives));
        let mut text = String::new();
        if self.printed.is_multiple_of(ROWS) {
            text = format!("{}{HEADING}", if sample.simulated { "SIMULATED\n" } else { "" });
        }
        self.printed += 1;
        let state = if sample.state == RunState::Ramping { "  not counted yet" } else { "" };
        print(&format!("{text}{}{state}\n", row.line())).map(drop).map_err(Stop::Print)
    }
}

/// The drives under test; `all` where that cannot be told.
fn tested(sample: &RunSample, all: &[DriveName]) -> Vec<DriveName> {
    let drives: Option<Vec<DriveName>> = sample.targets.iter().map(|target| target.drive.clone()).collect();
    let mut drives = drives.unwrap_or_else(|| all.to_vec());
    drives.sort();
    drives.dedup();
    drives
}

/// What it is busy with, on standard error; on a terminal one line that is written over.
fn progress(line: &str) {
    let mut errors = io::stderr();
    // There is nowhere left to complain about standard error.
    let _ =
        if errors.is_terminal() { write!(errors, "\r\x1b[K{line}\r") } else { writeln!(errors, "{line}") };
}

#[cfg(test)]
mod tests;

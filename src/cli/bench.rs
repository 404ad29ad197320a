//! `iodyno bench`: a read test without a screen, in fio's words.
//!
//! Here: choosing engine and targets, a row a second, the end by time or by signal. Not here: reading (`load`), what is
//! printed (`report`).

mod arguments;
mod arithmetic;
mod job_options;
pub mod jobfile;
pub(super) mod targets;

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub use arguments::BenchArgs;
pub(super) use arguments::OptionArgs;

use self::arguments::Asked;
use self::jobfile::{JobFile, Keywords};
use super::{Complaint, Failure, Status, failure, print, say, signals};
use crate::{
    app::MachineRead,
    capacity::{self, Expected},
    counters::{Counters, Rates, rates},
    findings::validity::{OwnReads, Watch},
    load::{Engine, LoadError, RealEngine, Simulated},
    machine::Machine,
    model::{DriveName, RunRecord, RunSample, RunState, RunSummary, Seconds, TargetSummary, Workload},
    report::{
        self,
        dstat::{HEADING, Row},
        fio_json::{Finished, FioDocument},
    },
    runtime::{
        demo_counters::DemoCounters,
        opening, places,
        session::{Session, now},
    },
    source::{self, SysRoot, origin::Origin},
    store,
    text::Label,
    units,
};

/// How often a run is looked at: how soon a signal and the end are noticed.
const LOOK: Duration = Duration::from_millis(25);
/// The time of a row, and the least that the last row of a run may have.
const ROW: Duration = Duration::from_secs(1);
const LAST_ROW: Duration = Duration::from_millis(900);
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
    if !origin.is_live() && !origin.is_demo() {
        return Err(Complaint::new(
            "bench",
            "a captured machine cannot be tested",
            "leave --open and --sysroot out, or use --demo for a simulated test",
        )
        .into());
    }
    let root = origin.open()?;
    let read = opening::read(&*root);
    let JobFile { runs, unsupported: left_out, mut notes } = match args.job_file() {
        Some(path) => from_job_file(path, args, &read.machine)?,
        None => JobFile {
            runs: vec![Planned { keep: args.keep(), ..Planned::of(&args.asked(), args.job_name()) }],
            unsupported: Vec::new(),
            notes: Vec::new(),
        },
    };
    let bench = Bench { args, origin, read, root, signal: signals::signals()? };
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
        Complaint::new(
            &name,
            failure::words(&error),
            "name a job file that can be read, or - for standard input",
        )
    })?;
    let variable = |variable: &str| std::env::var(variable).ok();
    let mut file = JobFile::parse(&text, variable, Keywords::of(machine));
    if !file.unsupported.is_empty() && !args.ignore_unsupported() {
        let fix = "change the file, or add --ignore-unsupported to run the rest";
        return Err(Complaint::new(&name, file.unsupported.join("; "), fix).into());
    }
    if file.runs.is_empty() {
        let wrong = ["no section of it can be run".to_owned()].into_iter().chain(file.unsupported);
        return Err(Complaint::new(
            &name,
            wrong.collect::<Vec<_>>().join("; "),
            "give it a section with rw=read or rw=randread and a filename",
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
    origin: &'a Origin,
    root: Arc<dyn SysRoot>,
    read: MachineRead,
    signal: Arc<AtomicUsize>,
}

impl Bench<'_> {
    /// The run with the drive of each target, checked.
    fn targets_of(&self, mut planned: Planned) -> Result<Planned, Failure> {
        if self.origin.is_live() {
            places::find_drives(&mut planned.workload, &*self.root, &self.read.machine);
        } else {
            targets::name_drives(&mut planned.workload, &self.read.machine)?;
            planned.names.resize(planned.workload.targets.len(), self.args.job_name().to_owned());
        }
        planned.workload.validate()?;
        Ok(planned)
    }

    /// Starts a run, prints rows while it goes, then its summary. No run comes of one that was stopped before its start.
    fn carry_out(&self, planned: Planned) -> Result<(Status, Option<Finished>), Failure> {
        let (machine, limits) = (&self.read.machine, &self.read.limits);
        let Planned { workload, names, keep } = planned;
        let expected = capacity::expected(machine, limits, &workload);
        let engine: Arc<dyn Engine> = if self.origin.is_live() {
            Arc::new(RealEngine::on(machine))
        } else {
            Arc::new(Simulated::new(machine, limits, workload.seed))
        };
        let live = self.origin.is_live().then_some(&*self.root);
        let demo = opening::demo_counters(self.origin, &*self.root, &self.read);
        let mut rows = Rows::new(live, demo, machine, Watch::begin(machine, &workload));
        rows.quiet = self.args.json();
        rows.begin(&workload);
        let session =
            if keep { Session::start_and_keep(engine, workload) } else { Session::start(engine, workload) };
        loop {
            thread::sleep(LOOK);
            let sample = session.sample();
            let ends = sample.state == RunState::Ended || self.signal.load(Ordering::Relaxed) != 0;
            rows.look(&sample, ends)?;
            if ends {
                break;
            }
        }
        let outcome = session.finish();
        let stopped = u8::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|number| *number != 0);
        let status = stopped.map_or(Status::Done, Status::Stopped);
        match outcome {
            Ok(mut run) => {
                self.learn(&rows.watch, &mut run);
                if self.origin.is_live() {
                    self.keep(&run, &expected, rows.seconds);
                }
                if !self.args.json() {
                    print(&format!("\n{}", report::summary::text(&run, &expected)))?;
                }
                Ok((status, Some(Finished { run, names, expected, seconds: rows.each })))
            }
            Err(LoadError::Stopped) if stopped.is_some() => Ok((status, None)),
            Err(error) => Err(anyhow::Error::new(error).into()),
        }
    }

    /// Says what is wrong with the result, and keeps what it teaches about the machine.
    fn learn(&self, watch: &Watch, run: &mut RunSummary) {
        let (machine, limits) = (&self.read.machine, &self.read.limits);
        let live = self.origin.is_live();
        // Heat is as it is now.
        let after = if live { opening::read(&*self.root).machine } else { Arc::clone(machine) };
        watch.judge(&after, run);
        let learned = if live {
            capacity::learned(machine, limits, run, watch.beside(&after, run))
        } else {
            Vec::new()
        };
        for sentence in capacity::refutations(machine, limits, &learned) {
            say(&sentence);
        }
        if let Err(error) = store::remember(&store::folder(), &learned) {
            say(&format!("{}: {error}; the measured limit is not remembered", store::folder().display()));
        }
    }

    /// Keeps a run for sheets made later.
    fn keep(&self, run: &RunSummary, expected: &[Option<Expected>], seconds: Seconds) {
        let boot = self.read.machine.host.boot_id.value();
        let record = RunRecord::new(boot, run.clone(), expected, seconds);
        if let Err(error) = store::keep(&store::folder(), &record) {
            say(&format!("{}: {error}; a sheet will not have this run", store::folder().display()));
        }
    }
}

/// How tests end that nobody stopped: whether their reads came back.
fn judged<'a>(targets: impl Iterator<Item = &'a TargetSummary> + Clone) -> Result<Status, Failure> {
    let mut unread = targets.clone().filter(|target| target.ios == 0);
    if let Some(target) = unread.next() {
        let error = target.first_error.as_ref().map(Label::to_string);
        let fix = if error.is_some() {
            "look into the kernel's log, and test other targets"
        } else {
            "use a longer --runtime, or a smaller --bs or --iodepth"
        };
        let more = match unread.count() {
            0 => String::new(),
            more => format!(", nor of {}", units::counted(more, "more target")),
        };
        let why = error.unwrap_or_else(|| "no read completed within the run".to_owned());
        let wrong = format!("no read of it succeeded{more}: {why}");
        return Err(Complaint::new(target.name.as_str(), wrong, fix).into());
    }
    let sound = targets.into_iter().all(|target| target.errors == 0 && target.first_error.is_none());
    Ok(if sound { Status::Done } else { Status::No })
}

/// The rows of a run, one a second.
struct Rows<'a> {
    /// Where counters come from; nothing in a demo.
    root: Option<&'a dyn SysRoot>,
    /// What a demo's counters would show.
    demo: Option<DemoCounters>,
    /// What went on beside the test.
    watch: Watch,
    /// Its rate, second by second.
    seconds: Seconds,
    /// Each target's.
    each: Vec<Seconds>,
    /// Looks without printing: for JSON.
    quiet: bool,
    drives: Vec<DriveName>,
    previous: Option<Look>,
    printed: usize,
}

/// What was seen at one moment.
struct Look {
    at: Instant,
    counters: Option<Counters>,
    sample: RunSample,
}

impl<'a> Rows<'a> {
    fn new(
        root: Option<&'a dyn SysRoot>,
        demo: Option<DemoCounters>,
        machine: &Machine,
        watch: Watch,
    ) -> Self {
        let drives = machine.hardware_drives().map(|drive| drive.name.clone()).collect();
        let seconds = Seconds::default();
        let each = Vec::new();
        Self { root, demo, watch, seconds, each, quiet: false, drives, previous: None, printed: 0 }
    }

    /// The test begins.
    fn begin(&mut self, workload: &Workload) {
        if let Some(demo) = &mut self.demo {
            demo.begin(workload);
        }
    }

    /// Looks at the counters when reads begin to count, every second, and when the run `ends`. Prints a row for each second,
    /// or nearly one at the end.
    fn look(&mut self, sample: &RunSample, ends: bool) -> Result<(), Failure> {
        self.seconds.take(sample);
        self.each.resize_with(sample.targets.len(), Seconds::default);
        for (seconds, target) in self.each.iter_mut().zip(&sample.targets) {
            seconds.take_bytes(sample.state, sample.at, target.bytes);
        }
        if self.demo.is_some() {
            return self.look_at_demo(sample);
        }
        let at = now();
        let begins = sample.state == RunState::Running && !self.counts();
        let previous = self.previous.as_ref();
        if !begins && !ends && previous.is_some_and(|look| at.duration_since(look.at) < ROW) {
            return Ok(());
        }
        if let Some(preparing) = &sample.preparing {
            if previous.is_some() {
                progress(preparing);
            }
            self.previous = Some(Look { at, counters: None, sample: sample.clone() });
            return Ok(());
        }
        let look = Look { at, counters: self.root.map(source::counters::read), sample: sample.clone() };
        if let Some(before) = self.previous.replace(look) {
            self.take(&before, ends)?;
        }
        Ok(())
    }

    /// Whether the last look was at reads that count.
    fn counts(&self) -> bool {
        self.previous.as_ref().is_some_and(|look| look.sample.state == RunState::Running)
    }

    /// Takes the stretch between a look and the one that followed it.
    fn take(&mut self, before: &Look, ends: bool) -> Result<(), Failure> {
        let Some(look) = &self.previous else { return Ok(()) };
        let Some((earlier, later)) = before.counters.as_ref().zip(look.counters.as_ref()) else {
            return Ok(());
        };
        let elapsed = look.at - before.at;
        let (rates, sample) = (rates(earlier, later, elapsed), look.sample.clone());
        if before.sample.state == RunState::Running {
            self.watch.take(&rates, &OwnReads::between(&before.sample, &sample));
        }
        let least = if ends { LAST_ROW } else { ROW };
        if elapsed < least { Ok(()) } else { self.show(&rates, &sample) }
    }

    fn look_at_demo(&mut self, sample: &RunSample) -> Result<(), Failure> {
        let Some((rates, own)) = self.demo.as_mut().and_then(|demo| demo.look(sample)) else { return Ok(()) };
        if sample.state == RunState::Running && sample.at >= rates.elapsed {
            self.watch.take(&rates, &own);
        }
        self.show(&rates, sample)
    }

    fn show(&mut self, rates: &Rates, sample: &RunSample) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let row = Row::of_rates(rates, &tested(sample, &self.drives));
        if self.printed.is_multiple_of(ROWS) {
            let simulated = if sample.simulated { "SIMULATED\n" } else { "" };
            print(&format!("{simulated}{HEADING}"))?;
        }
        self.printed += 1;
        let state = match sample.state {
            RunState::Ramping => "  not counted yet",
            _ => "",
        };
        print(&format!("{}{state}\n", row.line())).map(drop)
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

//! `iodyno bench`: a read test without a screen, in fio's words.

mod arguments;
mod arithmetic;
mod job_options;
pub mod jobfile;

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::Path,
    sync::Arc,
};

pub(super) use self::arguments::{BenchArgs, OptionArgs};
use self::{
    arguments::Asked,
    jobfile::{JobFile, Keywords},
};
use super::{
    Complaint, Failure, Progress, Status, captured, columns,
    failure::{self, unread},
    judge, print, print_text, print_toned, say,
    signals::Signal,
    units,
};
use crate::{
    capacity,
    counters::Rates,
    engine::EngineError,
    findings::{self, Inputs},
    machine::Machine,
    model::{DriveName, RunSample, RunState, TargetSummary, Workload},
    pull,
    report::{
        self, dstat,
        fio_json::{Finished, FioDocument},
    },
    runtime::{
        access,
        clock::Clock,
        run::{Look, Row, Testbed},
        run_history,
        session::TestFiles,
        startup,
    },
    source::origin::Origin,
    text::Label,
};

/// Rows under one heading.
const ROWS: usize = 22;

#[derive(Debug, Clone)]
struct Planned {
    workload: Workload,
    /// The job's name for each target, which may be thousands.
    names: Vec<Arc<str>>,
}

impl Planned {
    fn of(asked: &Asked, name: &str) -> Self {
        let workload = asked.workload();
        let names = vec![Arc::from(name); workload.targets.len()];
        Self { workload, names }
    }

    /// Whether the two differ in nothing but their targets.
    fn joins(&mut self, other: &mut Self) -> bool {
        // The rest is compared without copies of the targets, which may be thousands.
        let own = std::mem::take(&mut self.workload.targets);
        let others = std::mem::take(&mut other.workload.targets);
        let joins = self.workload == other.workload;
        (self.workload.targets, other.workload.targets) = (own, others);
        joins
    }

    fn join(&mut self, other: Self) {
        self.workload.targets.extend(other.workload.targets);
        self.names.extend(other.names);
    }
}

/// Status 1 when a read failed.
pub(super) fn run(args: &BenchArgs, origin: &Origin) -> Result<Status, Failure> {
    if !origin.is_live() && !origin.is_demo() {
        return Err(captured("bench").into());
    }
    let root = origin.open()?;
    let bed =
        Testbed::new(origin, &root, startup::read(&*root), Clock::real()).ok_or_else(|| captured("bench"))?;
    let JobFile { runs, unsupported: left_out, mut notes, .. } = match &args.fio {
        Some(path) => from_job_file(path, args, &bed.read.machine)?,
        None => JobFile { runs: vec![Planned::of(&args.asked(), args.job_name())], ..JobFile::default() },
    };
    let bench = Bench { args, bed, signal: Signal::watch()? };
    for note in args.notes() {
        say(&note);
        notes.push(note);
    }
    if args.emit_fio {
        let runs = runs.into_iter().map(|planned| Ok(bench.targets_of(planned)?.workload));
        let runs = runs.collect::<Result<Vec<_>, Failure>>()?;
        for target in runs.iter().flat_map(|workload| &workload.targets) {
            if let Some(why) = report::fio_options::unwritable(target) {
                let fix = "rename the file, or leave --emit-fio out";
                return Err(Complaint::new(target.path.to_string_lossy(), why, fix).into());
            }
        }
        print(&report::fio_options::job_file_of_runs(&runs))?;
        return Ok(Status::Done);
    }
    let mut finished = Vec::new();
    let mut status = Status::Done;
    for planned in runs {
        let (ended, run) = bench.carry_out(bench.targets_of(planned)?)?;
        finished.extend(run);
        status = ended;
        if matches!(status, Status::Stopped(_)) {
            break;
        }
    }
    if args.json()
        && let Some(document) = FioDocument::new(&finished, left_out, notes)
    {
        print(&report::json::text(&document))?;
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
    let text = if path == Path::new("-") { short(io::stdin()) } else { File::open(path).and_then(short) };
    let text = text.map_err(|error| {
        Complaint::new(&name, failure::words(&error), "name a readable job file, or - for standard input")
    })?;
    let variable = |variable: &str| std::env::var(variable).ok();
    let mut file = JobFile::parse(&text, variable, Keywords::of(machine));
    if !file.unsupported.is_empty() && !args.ignore_unsupported {
        let fix = "change the file, or add --ignore-unsupported to run the rest";
        return Err(Complaint::new(&name, first_of(&file.unsupported, file.more), fix).into());
    }
    if file.runs.is_empty() {
        let (mut wrong, more) = (file.unsupported, file.more);
        wrong.insert(0, "no section can be run".to_owned());
        let fix = "add a section with rw=read or rw=randread and a filename";
        return Err(Complaint::new(&name, first_of(&wrong, more), fix).into());
    }
    file.unsupported.extend((file.more > 0).then(|| format!("{} more", file.more)));
    let left_out = file.unsupported.iter().map(|what| format!("left out: {what}"));
    for remark in left_out.chain(file.notes.iter().cloned()) {
        say(&format!("{}: {remark}", Label::new(&name)));
    }
    Ok(file)
}

/// The first of these remarks, and the number of the others; `more` are not among them.
fn first_of(remarks: &[String], more: usize) -> String {
    const SHOWN: usize = 12;
    let shown = &remarks[..remarks.len().min(SHOWN)];
    let more = remarks.len() - shown.len() + more;
    let more = (more > 0).then(|| format!("and {more} more"));
    shown.iter().cloned().chain(more).collect::<Vec<_>>().join("; ")
}

/// The text of a job file.
fn short(file: impl Read) -> io::Result<String> {
    const MOST: u64 = 1 << 20;
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        return Err(io::Error::other("longer than 1 MiB, so no job file"));
    }
    Ok(text)
}

struct Bench<'a> {
    args: &'a BenchArgs,
    bed: Testbed,
    signal: Signal,
}

impl Bench<'_> {
    /// The run with the drive of each target, checked.
    fn targets_of(&self, mut planned: Planned) -> Result<Planned, Failure> {
        self.bed.resolve(&mut planned.workload)?;
        planned.names.resize(planned.workload.targets.len(), self.args.job_name().into());
        planned.workload.validate()?;
        Ok(planned)
    }

    /// Carries a run out, prints its rows and its summary. A run stopped before its start has no result.
    fn carry_out(&self, planned: Planned) -> Result<(Status, Option<Finished>), Failure> {
        let Planned { workload, names } = planned;
        let targets = workload.targets.clone();
        let expected = self.bed.expected(&workload);
        let mut rows = Rows::new(self.args.json(), &self.bed.read.machine);
        let ended = self.bed.run(workload, TestFiles::kept(self.args.keep), |look| {
            rows.look(look);
            self.signal.received().is_none() && rows.out.failed.is_none()
        });
        if let Some(failure) = rows.out.failed {
            return Err(failure);
        }
        let stopped = self.signal.received();
        let status = stopped.map_or(Status::Done, Status::Stopped);
        let mut ended = match ended {
            Err(EngineError::Stopped) if stopped.is_some() => return Ok((status, None)),
            ended => ended
                .map_err(|error| unread(&access::failed(&self.bed.read.machine, &targets, error), "bench"))?,
        };
        judge(&self.bed, &mut ended);
        let mut expected = expected;
        capacity::latency::explain(&ended.run, &mut expected);
        if !self.bed.simulated()
            && let Err(error) = run_history::keep(&self.bed.record(&ended, &expected))
        {
            say(&error.to_string());
        }
        let (machine, limits) = (&self.bed.read.machine, &self.bed.read.limits);
        let findings = findings::check(&Inputs::at_rest(machine, limits));
        let (headline, drives) =
            pull::of_run(machine, limits, &findings, &ended.run, units(self.args.json()));
        if !self.args.json() {
            let summary = report::summary::text(&ended.run, &expected);
            print_text(&format!("\n{summary}\n"))?;
            print_toned(&report::summary::point(&ended.run, &headline, &drives, columns(), units(false)))?;
        }
        let potentials = drives.into_iter().map(|drive| drive.potential).collect();
        Ok((status, Some(Finished { run: ended.run, names, expected, potentials, seconds: ended.each })))
    }
}

/// The status of tests that were not stopped.
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
            more => format!(", nor from {}", crate::units::counted(more, "more target")),
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
    out: Progress,
    drives: Vec<DriveName>,
    printed: usize,
    /// Cells of a line.
    width: usize,
    /// Whether the row above was not counted.
    was_ramping: bool,
}

impl Rows {
    fn new(quiet: bool, machine: &Machine) -> Self {
        let drives = machine.hardware_drives().map(|drive| drive.name.clone()).collect();
        let width = columns().unwrap_or(usize::MAX);
        Self { out: Progress::new(quiet), drives, printed: 0, width, was_ramping: false }
    }

    fn look(&mut self, look: &Look) {
        match &look.row {
            Some(Row::Preparing(busy_with)) => progress(busy_with),
            Some(Row::Rates(rates)) => self.print(rates, &look.sample),
            None => {}
        }
    }

    fn print(&mut self, rates: &Rates, sample: &RunSample) {
        let text = self.text(rates, sample);
        self.out.print(&text);
    }

    /// The row, with the heading once a screenful.
    fn text(&mut self, rates: &Rates, sample: &RunSample) -> String {
        const RAMPING: &str = "  not counted yet";
        let shown = dstat::Shown::fitting(self.width);
        let mut text = String::new();
        if self.printed.is_multiple_of(ROWS) {
            let [titles, names] = shown.heading();
            text = format!("{}{titles}\n{names}\n", if sample.simulated { "SIMULATED\n" } else { "" });
        }
        self.printed += 1;
        let is_ramping = sample.state == RunState::Ramping;
        let has_room = shown.width() + RAMPING.len() <= self.width;
        // Without room behind the rows they have it in a line above them.
        if !has_room && is_ramping != self.was_ramping {
            text.push_str(if is_ramping { "not counted yet:\n" } else { "counted:\n" });
        }
        self.was_ramping = is_ramping;
        let row = dstat::Row::of_rates(rates, &tested(sample, &self.drives)).line(shown);
        text + &row + if is_ramping && has_room { RAMPING } else { "" } + "\n"
    }
}

/// The drives under test; `all` where they are unknown.
fn tested(sample: &RunSample, all: &[DriveName]) -> Vec<DriveName> {
    let drives: Option<Vec<DriveName>> = sample.targets.iter().map(|target| target.drive.clone()).collect();
    let mut drives = drives.unwrap_or_else(|| all.to_vec());
    drives.sort();
    drives.dedup();
    drives
}

/// Writes to standard error; on a terminal each line replaces the one before.
fn progress(line: &str) {
    let mut errors = io::stderr();
    // An error of standard error cannot be reported.
    let _ =
        if errors.is_terminal() { write!(errors, "\r\x1b[K{line}\r") } else { writeln!(errors, "{line}") };
}

#[cfg(test)]
mod tests;

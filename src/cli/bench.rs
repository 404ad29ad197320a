//! `iodyno bench`: a read test without a screen, in fio's words.
//!
//! Here: choosing engine and targets, a row a second, the end by time or by signal. Not here: reading (`load`), what is
//! printed (`report`).

mod arguments;
mod targets;
mod values;

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

pub use arguments::BenchArgs;

use super::{Complaint, Failure, Status, print};
use crate::{
    capacity::{self, Expected},
    counters::{Counters, Rates, rates},
    findings::validity::Watch,
    load::{Engine, LoadError, RealEngine, Simulated},
    machine::Machine,
    model::{DriveName, RunSample, RunState, RunSummary, Workload},
    report::{
        self,
        dstat::{HEADING, Row},
        fio_json::FioDocument,
    },
    runtime::{
        demo_counters::DemoCounters,
        opening,
        session::{Session, now},
    },
    source::{self, SysRoot, origin::Origin},
    store,
};

/// How often a run is looked at: how soon a signal and the end are noticed.
const LOOK: Duration = Duration::from_millis(25);
/// Rows under one heading.
const ROWS: usize = 22;

/// Runs `iodyno bench`.
pub fn run(args: &BenchArgs, origin: &Origin) -> Result<Status, Failure> {
    let mut workload = args.workload()?;
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
    let (machine, limits) = (Arc::clone(&read.machine), Arc::clone(&read.limits));
    let engine: Arc<dyn Engine> = if origin.is_live() {
        targets::find_drives(&mut workload, &*root, &machine);
        Arc::new(RealEngine::on(&machine))
    } else {
        targets::name_drives(&mut workload, &machine)?;
        Arc::new(Simulated::new(&machine, &limits, workload.seed))
    };
    workload.validate()?;
    for note in args.notes() {
        say(&note);
    }
    let expected = capacity::expected(&machine, &limits, &workload);
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let value = usize::try_from(number).unwrap_or_default();
        flag::register_usize(number, Arc::clone(&signal), value).map_err(|error| {
            Complaint::new("signals", error.to_string(), "run it where signals can be caught")
        })?;
    }
    let live = origin.is_live().then_some(&*root);
    let learn = |watch: &Watch, run: &mut RunSummary| {
        let live = origin.is_live();
        // Heat is as it is now.
        let after = if live { opening::read(&*root).machine } else { Arc::clone(&machine) };
        watch.judge(&after, run);
        let limits = if live { capacity::learned(&machine, &limits, run) } else { Vec::new() };
        if let Err(error) = store::remember(&store::folder(), &limits) {
            say(&format!("{}: {error}; the measured limit is not remembered", store::folder().display()));
        }
    };
    let test = Test { args, expected: &expected, signal: &signal, learn: &learn };
    let watch = Watch::begin(&machine, &workload);
    let mut rows = Rows::new(live, opening::demo_counters(origin, &*root, &read), &machine, watch);
    rows.quiet = args.json();
    rows.begin(&workload);
    test.run(engine, workload, &mut rows)
}

/// A test, with what goes along with it.
struct Test<'a> {
    args: &'a BenchArgs,
    expected: &'a [Option<Expected>],
    /// The number of the signal that ends it; 0 while none came.
    signal: &'a AtomicUsize,
    /// Says what is wrong with the result, and keeps what it teaches about the machine.
    learn: &'a dyn Fn(&Watch, &mut RunSummary),
}

impl Test<'_> {
    /// Starts it, prints rows while it goes, then its summary.
    fn run(
        &self,
        engine: Arc<dyn Engine>,
        workload: Workload,
        rows: &mut Rows<'_>,
    ) -> Result<Status, Failure> {
        let session = if self.args.keep() {
            Session::start_and_keep(engine, workload)
        } else {
            Session::start(engine, workload)
        };
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
        match (outcome, stopped) {
            (Ok(mut run), stopped) => {
                (self.learn)(&rows.watch, &mut run);
                if self.args.json() {
                    print(&report::json::text(&FioDocument::new(&run, self.args.job_name(), self.expected)))?;
                } else {
                    print(&format!("\n{}", report::summary::text(&run, self.expected)))?;
                }
                Ok(stopped.map_or(Status::Done, Status::Stopped))
            }
            (Err(LoadError::Stopped), Some(number)) => Ok(Status::Stopped(number)),
            (Err(error), _) => Err(anyhow::Error::new(error).into()),
        }
    }
}

/// The rows of a run, one a second.
struct Rows<'a> {
    /// Where counters come from; nothing in a demo.
    root: Option<&'a dyn SysRoot>,
    /// What a demo's counters would show.
    demo: Option<DemoCounters>,
    /// What went on beside the test.
    watch: Watch,
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
}

impl<'a> Rows<'a> {
    fn new(
        root: Option<&'a dyn SysRoot>,
        demo: Option<DemoCounters>,
        machine: &Machine,
        watch: Watch,
    ) -> Self {
        let drives = machine.hardware_drives().map(|drive| drive.name.clone()).collect();
        Self { root, demo, watch, quiet: false, drives, previous: None, printed: 0 }
    }

    /// The test begins.
    fn begin(&mut self, workload: &Workload) {
        if let Some(demo) = &mut self.demo {
            demo.begin(workload);
        }
    }

    /// Prints a row if a second has passed since the last one, or nearly so when the run `ends`.
    fn look(&mut self, sample: &RunSample, ends: bool) -> Result<(), Failure> {
        if let Some(demo) = &mut self.demo {
            let rates = demo.look(sample);
            return rates.map_or(Ok(()), |rates| self.show(&rates, sample));
        }
        let at = now();
        let second = Duration::from_millis(if ends { 900 } else { 1000 });
        if self.previous.as_ref().is_some_and(|look| at.duration_since(look.at) < second) {
            return Ok(());
        }
        if let Some(preparing) = &sample.preparing {
            if self.previous.is_some() {
                say(preparing);
            }
            self.previous = Some(Look { at, counters: None });
            return Ok(());
        }
        let look = Look { at, counters: self.root.map(source::counters::read) };
        let before =
            self.previous.as_ref().and_then(|previous| Some((previous.at, previous.counters.as_ref()?)));
        if let Some(((earlier, before), after)) = before.zip(look.counters.as_ref()) {
            self.show(&rates(before, after, at - earlier), sample)?;
        }
        self.previous = Some(look);
        Ok(())
    }

    fn show(&mut self, rates: &Rates, sample: &RunSample) -> Result<(), Failure> {
        if sample.state == RunState::Running && sample.at >= rates.elapsed {
            self.watch.take(rates);
        }
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

/// A line beside the results, on standard error.
fn say(line: &str) {
    let mut errors = io::stderr();
    // On a terminal, progress stays on one line. There is nowhere left to complain about standard error.
    let _ =
        if errors.is_terminal() { write!(errors, "\r\x1b[K{line}\r") } else { writeln!(errors, "{line}") };
}

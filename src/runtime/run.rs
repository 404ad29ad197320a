//! [`Run`]: the one way to run a test, for the screen, `render`, `bench`, `sheet --simulate` and experiments.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    clock::Clock,
    session::{Session, TestFiles},
    startup, target_resolver,
};
use crate::{
    app::MachineRead,
    capacity::{self, Expected},
    counters::{Counters, Memory, Rates, rates},
    engine::{Engine, EngineError, RealEngine, simulated},
    findings::validity::{OwnReads, RunMonitor},
    machine::{Machine, Measured},
    model::{RunRecord, RunSample, RunState, RunSummary, Seconds, Target, Workload},
    source::{self, SysRoot, counters::CountersReader, origin::Origin},
};

/// Interval between looks at a test.
pub(crate) const LOOK: Duration = Duration::from_millis(25);
/// The same of simulated drives, in counted time.
const COUNTED_LOOK: Duration = Duration::from_millis(100);
/// The time of a row of counters, and the minimum of a run's last row.
const ROW: Duration = Duration::from_secs(1);
const LAST_ROW: Duration = Duration::from_millis(900);

/// The machine whose drives are tested, and the engine that reads them.
pub(crate) struct Testbed {
    /// The machine.
    pub read: MachineRead,
    /// Where this machine is read; a demo's drives are simulated.
    root: Option<Arc<dyn SysRoot>>,
    engine: Arc<dyn Engine>,
    /// Of a demo, as it was captured.
    memory: Option<Memory>,
    clock: Clock,
}

impl Testbed {
    /// This machine, or a demo with simulated drives; `None` for captures and folders.
    pub(crate) fn new(
        origin: &Origin,
        root: &Arc<dyn SysRoot>,
        read: MachineRead,
        clock: Clock,
    ) -> Option<Self> {
        match origin {
            Origin::Live => {
                let engine = Arc::new(RealEngine::on(&read.machine));
                Some(Self { read, root: Some(Arc::clone(root)), engine, memory: None, clock })
            }
            Origin::Demo(_) => {
                let memory = source::counters::read(&**root).memory;
                Some(Self { memory, ..Self::simulating(read, clock) })
            }
            Origin::Capture(_) | Origin::Sysroot(_) => None,
        }
    }

    fn simulating(read: MachineRead, clock: Clock) -> Self {
        let engine = startup::simulated(&read);
        Self { read, root: None, engine, memory: None, clock }
    }

    /// Memory of a demo, as it was captured.
    pub(super) fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// Whether the engine is simulated.
    pub(crate) fn simulated(&self) -> bool {
        self.root.is_none()
    }

    /// Takes the machine after a change of settings.
    pub(crate) fn renew(&mut self, read: &MachineRead) {
        self.read = read.clone();
        self.engine = match self.root {
            Some(_) => Arc::new(RealEngine::on(&read.machine)),
            None => startup::simulated(read),
        };
    }

    /// Fills in the drive of each target, where it is known.
    ///
    /// # Errors
    /// A target that is no drive of a demo; more threads or open files than there may be.
    pub fn resolve(&self, workload: &mut Workload) -> Result<(), EngineError> {
        self.engine.check_limits(workload)?;
        let machine = &self.read.machine;
        match &self.root {
            Some(root) => target_resolver::find_drives(workload, &**root, machine),
            None => target_resolver::name_drives(workload, machine)?,
        }
        Ok(())
    }

    /// Expected rates of the targets.
    pub fn expected(&self, workload: &Workload) -> Vec<Option<Expected>> {
        capacity::expected(&self.read.machine, &self.read.limits, workload)
    }

    /// Starts a run, with rows of counters where they are simulated or wanted.
    pub fn start(&self, mut workload: Workload, files: TestFiles, counts: bool) -> Result<Run, EngineError> {
        self.resolve(&mut workload)?;
        let rows = match &self.root {
            Some(root) => counts.then(|| Rows::of(root, ROW)),
            None => Some(Rows::Demo {
                read: self.read.clone(),
                memory: self.memory,
                workload: Box::new(workload.clone()),
                previous: None,
            }),
        };
        let (engine, clock) = (Arc::clone(&self.engine), self.clock.clone());
        Run::start(engine, workload, &self.read.machine, files, clock, rows)
    }

    /// Runs a workload to its end, or until `goes_on` returns false for a look.
    pub(crate) fn run(
        &self,
        workload: Workload,
        files: TestFiles,
        mut goes_on: impl FnMut(&Look) -> bool,
    ) -> Result<Ended, EngineError> {
        let mut run = self.start(workload, files, true)?;
        let mut stops = false;
        let step = if self.simulated() { COUNTED_LOOK } else { LOOK };
        loop {
            self.clock.pass(step);
            let look = run.look(stops);
            stops = !goes_on(&look);
            if look.ends {
                return run.finish();
            }
        }
    }

    /// Judges a finished run by the temperatures of now; the limits it measured.
    pub(crate) fn judge(&self, ended: &mut Ended) -> Vec<Measured> {
        ended.after = self.root.as_ref().map(|root| startup::read(&**root).machine);
        let after = ended.after.as_ref().unwrap_or(&self.read.machine);
        ended.watch.conclude(&self.read.machine, &self.read.limits, after, &mut ended.run)
    }

    /// Temperatures of the targets' drives now, degrees Celsius; simulated drives have none.
    pub(crate) fn celsius(&self, targets: &[Target]) -> Vec<Option<f64>> {
        let Some(root) = &self.root else { return Vec::new() };
        let machine = &self.read.machine;
        let of = |target: &Target| {
            source::block::celsius(&**root, &machine.pci, machine.drive(target.drive.as_ref()?)?)
        };
        targets.iter().map(of).collect()
    }

    /// Adds measurements to the machine, and what follows from them to its limits.
    pub(crate) fn learn(&mut self, learned: Vec<Measured>) {
        if !learned.is_empty() {
            let mut machine = Machine::clone(&self.read.machine);
            machine.measured.extend(learned);
            self.renew(&startup::with_limits((machine, self.read.problems.clone())));
        }
    }

    /// The stored form of a run.
    pub(crate) fn record(&self, ended: &Ended, expected: &[Option<Expected>]) -> RunRecord {
        let boot = self.read.machine.host.boot_id.value();
        RunRecord::new(boot, ended.run.clone(), expected, ended.seconds.clone())
    }
}

/// Runs and judges a workload on the simulated drives of a demo, without waiting for it.
pub fn simulate(read: &MachineRead, workload: Workload) -> Result<RunRecord, EngineError> {
    /// Ends a workload without an end of its own.
    const LONGEST: Duration = Duration::from_hours(1);
    let clock = Clock::counted();
    let bed = Testbed::simulating(read.clone(), clock.clone());
    let mut expected = bed.expected(&workload);
    let mut ended = bed.run(workload, TestFiles::default(), |_| clock.elapsed() < LONGEST)?;
    bed.judge(&mut ended);
    capacity::latency::explain(&ended.run, &mut expected);
    Ok(bed.record(&ended, &expected))
}

/// A test in progress. Dropped, it stops.
pub(crate) struct Run {
    session: Session,
    clock: Clock,
    rows: Option<Rows>,
    watch: RunMonitor,
    seconds: Seconds,
    each: Vec<Seconds>,
}

/// A look at a test.
pub(crate) struct Look {
    pub sample: RunSample,
    /// The row of the last second, once a second.
    pub row: Option<Row>,
    /// Whether it is the last one.
    pub ends: bool,
}

/// A row, once a second.
pub(crate) enum Row {
    Rates(Box<Rates>),
    /// The preparation in progress.
    Preparing(String),
}

/// A finished run.
pub(crate) struct Ended {
    /// Its result.
    pub run: RunSummary,
    /// Other activity during it.
    pub watch: RunMonitor,
    /// Its rate, second by second.
    pub seconds: Seconds,
    /// Each target's.
    pub each: Vec<Seconds>,
    /// The machine as it was read after the run; `None` of simulated drives, and before it is judged.
    pub after: Option<Arc<Machine>>,
}

impl Run {
    /// Starts a run of an engine on a machine that was read just before.
    pub(super) fn start(
        engine: Arc<dyn Engine>,
        workload: Workload,
        machine: &Machine,
        files: TestFiles,
        clock: Clock,
        rows: Option<Rows>,
    ) -> Result<Self, EngineError> {
        let watch = RunMonitor::begin(machine, &workload);
        let session = Session::start(engine, workload, files, clock.clone())?;
        Ok(Self { session, clock, rows, watch, seconds: Seconds::default(), each: Vec::new() })
    }

    pub fn sample(&self) -> RunSample {
        self.session.sample()
    }

    /// A look at the test, the last one if it has ended or `ends` now.
    pub fn look(&mut self, ends: bool) -> Look {
        let sample = self.sample();
        let ends = ends || sample.state == RunState::Ended;
        self.seconds.take(&sample);
        self.each.resize_with(sample.targets.len(), Seconds::default);
        for (seconds, target) in self.each.iter_mut().zip(&sample.targets) {
            seconds.take_bytes(sample.state, sample.at, target.bytes);
        }
        let rows = self.rows.as_mut();
        let row = rows.and_then(|rows| rows.look(&sample, ends, self.clock.now(), &mut self.watch));
        Look { sample, row, ends }
    }

    /// Holds the workers, or lets them go on.
    pub fn pause(&self, holds: bool) {
        self.session.pause(holds);
    }

    /// Ends it before its time.
    pub fn stop(&self) {
        self.session.stop();
    }

    /// Stops it if it still runs.
    pub fn finish(self) -> Result<Ended, EngineError> {
        let Self { session, watch, seconds, each, .. } = self;
        Ok(Ended { run: session.finish()?, watch, seconds, each, after: None })
    }
}

/// Counters while a test runs.
pub(super) enum Rows {
    /// Of the simulated kernel; `memory` is that of the capture.
    Demo { read: MachineRead, memory: Option<Memory>, workload: Box<Workload>, previous: Option<RunSample> },
    Kernel {
        root: Arc<dyn SysRoot>,
        every: Duration,
        reader: Box<CountersReader>,
        previous: Option<Box<Moment>>,
        /// Memory for the next counters.
        spare: Box<Counters>,
    },
}

/// Counters and sample of one moment.
pub(super) struct Moment {
    at: Instant,
    counters: Option<Box<Counters>>,
    sample: RunSample,
}

impl Rows {
    /// Rows of the kernel's counters.
    pub(super) fn of(root: &Arc<dyn SysRoot>, every: Duration) -> Self {
        let (reader, spare) = Default::default();
        Self::Kernel { root: Arc::clone(root), every, reader, previous: None, spare }
    }

    /// Reads the counters when reads begin to count, every second, and when the run `ends`. Returns a row for each second,
    /// or nearly one at the end.
    fn look(&mut self, sample: &RunSample, ends: bool, now: Instant, watch: &mut RunMonitor) -> Option<Row> {
        let (root, every, reader, previous, spare) = match self {
            Self::Demo { read, memory, workload, previous } => {
                if previous.as_ref().is_some_and(|earlier| sample.at < earlier.at + ROW) {
                    return None;
                }
                let earlier = previous.replace(sample.clone())?;
                let rates =
                    simulated::rates(&read.machine, &read.limits, workload, *memory, &earlier, sample);
                if sample.state == RunState::Running && sample.at >= rates.elapsed {
                    watch.take(&rates, &OwnReads::between(&earlier, sample));
                }
                return Some(Row::Rates(Box::new(rates)));
            }
            Self::Kernel { root, every, reader, previous, spare } => (root, *every, reader, previous, spare),
        };
        let counts = |moment: &Moment| moment.sample.state == RunState::Running;
        let begins = sample.state == RunState::Running && !previous.as_deref().is_some_and(counts);
        let due = previous.as_ref().is_none_or(|moment| now - moment.at >= every);
        if !begins && !ends && !due {
            return None;
        }
        let counters = sample.preparing.is_none().then(|| {
            reader.read(&**root, false, spare);
            std::mem::take(spare)
        });
        let before = previous.replace(Box::new(Moment { at: now, counters, sample: sample.clone() }))?;
        if let Some(busy_with) = &sample.preparing {
            return Some(Row::Preparing(busy_with.clone()));
        }
        let later = previous.as_ref()?.counters.as_ref()?;
        let elapsed = now - before.at;
        let rates = rates(before.counters.as_ref()?, later, elapsed);
        if counts(&before) {
            watch.take(&rates, &OwnReads::between(&before.sample, sample));
        }
        *spare = before.counters.unwrap_or_default();
        let least = if ends { LAST_ROW } else { ROW };
        (elapsed >= least).then(|| Row::Rates(Box::new(rates)))
    }
}

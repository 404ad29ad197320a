//! [`Shared`]: the shared state. Changed by `app` alone.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    ask::SharedChange,
    experiments::Experiments,
    inquiry::Inquiry,
    judged::Judged,
    key_names::KeyNames,
    load::Load,
    message::{Kept, MachineRead},
    pull::Pulls,
    series::Series,
    settings::Settings,
    test::{Test, Tests},
    theme::{Palette, Theme},
};
pub use crate::report::dossier::Mode;
use crate::{
    capacity::{
        self, Potential,
        bottleneck::{self, Bottleneck},
        flow::Places,
    },
    counters::{Rates, activity::Activity},
    findings::{self, Inputs, Load as TestLoad, MachineFindings, validity::RunMonitor},
    machine::{Drive, Machine},
    model::{DriveName, Limits, NodeIndex, Problem, Target, Workload},
    pull::{self, Outcome, Pull},
    report::why::tables::Split,
    text::Label,
    units::{Bytes, UnitSystem},
};

/// The state several screens use.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Where the machine comes from.
    pub mode: Mode,
    /// The machine.
    pub machine: Arc<Machine>,
    /// Read errors of the machine.
    pub problems: Vec<Problem>,
    /// Limits of its links and drives.
    pub limits: Arc<Limits>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Time since the program started.
    pub now: Duration,
    /// Keys of commands, for texts that name them.
    pub keys: KeyNames,
    /// GB/s or GiB/s.
    pub units: UnitSystem,
    /// Colours and characters.
    pub theme: Theme,
    /// Themes by name, among them the user's own.
    pub themes: Vec<(String, Theme)>,
    /// Rates of the last counters.
    pub rates: Option<Rates>,
    /// What threads and processes do, while a screen shows it.
    pub activity: Activity,
    /// Current rate of every drive.
    pub load: Load,
    /// Busy time and iowait of all CPUs in the last minute, percent.
    pub cpu: [Series; 2],
    /// Bottlenecks, the most expensive first.
    pub bottlenecks: Vec<Bottleneck>,
    /// Findings.
    pub findings: Judged,
    /// What follows from machine and limits alone.
    derived: Option<Arc<Derived>>,
    /// Drives marked for tests and for changes of settings.
    pub marks: BTreeSet<DriveName>,
    /// Files that tests and experiments read instead of drives, each with its drive where that is known.
    pub files: Vec<Target>,
    /// How many bytes of each are read, and laid out where a file is not there.
    pub file_size: Option<Bytes>,
    /// Why one of them cannot be read, where it is not there.
    pub missing_file: Option<String>,
    /// The drive the tree's cursor is on.
    pub cursor: Option<DriveName>,
    /// The test in progress and those before it.
    pub tests: Tests,
    /// The pull in progress, and the last one.
    pub pulls: Pulls,
    /// The experiment in progress and those before it.
    pub experiments: Experiments,
    /// The file whose path is or was measured.
    pub inquiry: Option<Inquiry>,
    /// Runs and experiments that were kept before this start.
    pub kept: Kept,
    /// Settings, staged changes, what stands changed.
    pub settings: Settings,
}

/// What follows from a machine and its limits alone, with what it was made of.
#[derive(Debug)]
struct Derived {
    machine: Arc<Machine>,
    limits: Arc<Limits>,
    units: UnitSystem,
    findings: MachineFindings,
    places: Places,
    /// Bottlenecks with all drives busy, whatever is read now.
    at_rest: Vec<Bottleneck>,
}

/// Compares a test with what its targets should and could read.
pub(crate) fn compare(machine: &Machine, limits: &Limits, test: &mut Test) {
    test.expected = capacity::expected(machine, limits, &test.workload);
    test.potentials = capacity::potentials(machine, limits, &test.workload);
    let rate = |one: &Potential| (one.bytes_per_second.0, one.iops);
    let rates: Vec<_> = test.potentials.iter().map(|one| one.as_ref().map(rate)).collect();
    let (bytes, _) = capacity::potential::together(machine, &test.workload, &rates);
    test.potential_total = rates.iter().any(Option::is_some).then_some(bytes);
}

/// Counters of one look at the machine.
#[derive(Debug, Clone)]
pub struct Look {
    /// Rates since the look before.
    pub rates: Rates,
    /// CPUs, threads, interrupts, processes and pressure.
    pub activity: Activity,
}

impl Shared {
    /// The latest look, if there were two.
    pub fn look(&self) -> Option<Look> {
        Some(Look { rates: self.rates.clone()?, activity: self.activity.clone() })
    }

    /// The state at the start of the program.
    pub fn new(mode: Mode, read: MachineRead, size: (u16, u16)) -> Self {
        let mut shared = Self {
            mode,
            machine: read.machine,
            problems: read.problems,
            limits: read.limits,
            size,
            now: Duration::ZERO,
            keys: KeyNames::default(),
            units: UnitSystem::default(),
            theme: Theme::COLOUR,
            themes: Palette::ALL.map(|(palette, word, _)| (word.to_owned(), Theme::new(palette))).into(),
            rates: None,
            activity: Activity::default(),
            load: Load::default(),
            cpu: Default::default(),
            bottlenecks: Vec::new(),
            findings: Judged::default(),
            derived: None,
            marks: BTreeSet::new(),
            files: Vec::new(),
            file_size: None,
            missing_file: None,
            cursor: None,
            tests: Tests::default(),
            pulls: Pulls::default(),
            experiments: Experiments::default(),
            inquiry: None,
            kept: Kept::default(),
            settings: Settings::default(),
        };
        shared.settings.read(&shared.machine);
        shared.judge();
        shared
    }

    /// Words what tests and the last pull came to, by the findings and in the units of now.
    pub fn word(&mut self) {
        let Self { machine, limits, units, findings, tests, pulls, .. } = self;
        for test in &mut tests.all {
            if let Some(summary) = test.summary() {
                test.headline = pull::of_run(machine, limits, &findings.list, summary, *units).0.text;
            }
        }
        for (pull, outcome) in [&mut pulls.ended, &mut pulls.former].into_iter().flatten() {
            *outcome = Self::outcome(machine, limits, pull, *units);
        }
    }

    /// What a pull that has ended found, by the findings of the machine at rest.
    fn outcome(machine: &Machine, limits: &Limits, pull: &Pull, units: UnitSystem) -> Outcome {
        let findings = findings::check(&Inputs { units, ..Inputs::at_rest(machine, limits) });
        Outcome::new(machine, limits, &findings, pull, units)
    }

    /// Ends the pull in progress; false where it measured nothing and the one before it is shown again.
    pub fn end_pull(&mut self) -> bool {
        let Some(pull) = self.pulls.running.take() else { return true };
        let outcome = Self::outcome(&self.machine, &self.limits, &pull, self.units);
        self.pulls.end(pull, outcome)
    }

    /// Takes CPU times of `at`.
    pub fn take_cpu(&mut self, rates: &Rates, at: Duration) {
        if let Some(split) = rates.cpu.map(Split::from) {
            let [busy, iowait] = &mut self.cpu;
            busy.push(at, split.busy());
            iowait.push(at, split.iowait);
        }
    }

    /// A test of this workload, about to begin.
    pub fn test_of(&self, workload: Workload) -> Test {
        let watch = RunMonitor::begin(&self.machine, &workload);
        let mut test = Test::new(workload, Vec::new(), watch);
        compare(&self.machine, &self.limits, &mut test);
        test
    }

    /// Whether panels have boxes; on smaller terminals a rule at the top is all a panel gets.
    pub fn is_boxed(&self) -> bool {
        self.size.1 >= 30 && self.size.0 >= 100
    }

    /// The drives that tests and experiments are about: the marked ones, else all hardware that stays in place.
    pub fn tested_drives(&self) -> impl Iterator<Item = &Drive> {
        self.machine.drives.iter().filter(|drive| {
            if self.marks.is_empty() { drive.is_fixed() } else { self.marks.contains(&drive.name) }
        })
    }

    /// Drives among these targets that something uses.
    pub fn in_use(&self, targets: &[Target]) -> Vec<&Drive> {
        let drive = |target: &Target| {
            let drive = self.machine.drive(target.drive.as_ref()?)?;
            // The drive below a file is always in use.
            (drive.target().path == target.path && !drive.used_by.is_empty()).then_some(drive)
        };
        targets.iter().filter_map(drive).collect()
    }

    /// Whether the user has to agree before these targets are read: live drives in use, once per start and set of drives.
    pub fn must_ask(&self, targets: &[Target]) -> bool {
        !self.is_simulated() && !self.pulls.is_agreed(targets) && !self.in_use(targets).is_empty()
    }

    /// Whether a file's path is being measured.
    pub fn measures_file(&self) -> bool {
        self.inquiry.as_ref().is_some_and(Inquiry::is_running)
    }

    /// Whether this machine's drives can be tested: the live one's and a demo's simulated ones.
    pub fn can_test(&self) -> bool {
        matches!(self.mode, Mode::Live | Mode::Demo(_))
    }

    /// Whether a test or an experiment runs.
    pub fn is_measuring(&self) -> bool {
        self.tests.running().is_some() || self.experiments.running().is_some()
    }

    /// Why the drives of an opened machine cannot be tested; `None` where they can be.
    pub fn untestable(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Live | Mode::Demo(_) => None,
            _ if self.machine.pasted.is_some() => {
                Some("A text's drives cannot be tested; `iodyno --demo` tests simulated ones")
            }
            Mode::Capture => {
                Some("A capture's drives cannot be tested; `iodyno --demo` tests simulated ones")
            }
            Mode::Folder => {
                Some("The drives of a copy cannot be tested; `iodyno --demo` tests simulated ones")
            }
        }
    }

    /// The first folder or file of which a part is not read, and how many others there are.
    pub fn cut(&self) -> Option<String> {
        let (first, others) = self.machine.cuts.split_first()?;
        let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
        Some(format!("{}: {}{more}", first.path, first.reason))
    }

    /// What to say where there is no finding.
    pub fn no_findings(&self) -> String {
        if self.machine.pasted.is_some() {
            self.keys.fill("No finding in what this text shows; {help} lists what it lacks.")
        } else if let Some(cut) = self.cut() {
            format!("No finding in what was read; {cut}")
        } else {
            "No finding limits this machine.".to_owned()
        }
    }

    /// Whether the figures on the screen come from simulated drives.
    pub fn is_simulated(&self) -> bool {
        matches!(self.mode, Mode::Demo(_))
    }

    /// Why tests cannot read one of these files: a demo has drives alone.
    pub fn unreadable(&self, files: &[PathBuf]) -> Option<String> {
        let missing = |path: &&PathBuf| self.machine.drive_at(path).is_none();
        let path = files.iter().find(missing).filter(|_| self.is_simulated())?;
        let path = Label::new(&path.to_string_lossy());
        Some(format!("filename={path}: no such drive in the demo, which has no files"))
    }

    /// Whether changes can be made: simulated ones on a demo, real ones as root.
    pub fn can_tune(&self) -> bool {
        match self.mode {
            Mode::Demo(_) => true,
            Mode::Live => self.machine.host.root.get() == Some(true),
            Mode::Capture | Mode::Folder => false,
        }
    }

    /// Why changes cannot be made here, if they cannot.
    pub fn why_not_tune(&self) -> Option<&'static str> {
        match self.mode {
            _ if self.can_tune() => None,
            Mode::Live => Some("needs root"),
            _ => Some("not this machine"),
        }
    }

    /// Number of settings this run changed that still stand so.
    pub fn standing(&self) -> usize {
        self.settings.own().count()
    }

    /// What follows from the machine of now; made anew when another one was read.
    fn derived(&mut self) -> Arc<Derived> {
        if let Some(known) = self.derived.as_ref().filter(|known| self.is_of_now(known)) {
            return Arc::clone(known);
        }
        let Self { machine, limits, units, .. } = &*self;
        let inputs = Inputs { units: *units, ..Inputs::at_rest(machine, limits) };
        let places = Places::new(machine, limits);
        let made = Arc::new(Derived {
            findings: MachineFindings::new(&inputs),
            at_rest: bottleneck::find_in(&places, machine, limits, None, &[]),
            places,
            machine: Arc::clone(machine),
            limits: Arc::clone(limits),
            units: *units,
        });
        self.derived = Some(Arc::clone(&made));
        made
    }

    /// What follows from the machine of now, if it was made.
    fn derived_now(&self) -> Option<&Derived> {
        self.derived.as_deref().filter(|known| self.is_of_now(known))
    }

    /// The findings of machine and limits alone, if they were looked for in this machine.
    pub fn machine_findings(&self) -> Option<&MachineFindings> {
        self.derived_now().map(|known| &known.findings)
    }

    /// The root complex of the most expensive bottleneck with all drives busy: a test that has begun to read does not change it.
    pub fn crowded_root(&self) -> Option<NodeIndex> {
        let first = self.derived_now()?.at_rest.first()?;
        Some(self.machine.pci.root_of(first.node))
    }

    fn is_of_now(&self, known: &Derived) -> bool {
        Arc::ptr_eq(&known.machine, &self.machine)
            && Arc::ptr_eq(&known.limits, &self.limits)
            && known.units == self.units
    }

    /// Looks for bottlenecks again, by the load of now.
    pub(crate) fn find_bottlenecks(&mut self) {
        let derived = self.derived();
        let Self { machine, limits, load, .. } = &*self;
        let moves = |drives: &[DriveName]| load.of(drives);
        let moves: Option<bottleneck::Moves> = load.is_busy().then_some(&moves);
        self.bottlenecks = bottleneck::find_in(&derived.places, machine, limits, moves, &self.bottlenecks);
    }

    /// Looks for findings again: after a new reading, new counters, a test that began or ended.
    pub fn judge(&mut self) {
        let derived = self.derived();
        // A test that failed says nothing about the machine.
        let test = self.tests.all.back().filter(|test| !matches!(test.result, Some(Err(_))));
        let load = test.map(|test| TestLoad {
            workload: &test.workload,
            summary: test.summary(),
            watch: Some(&test.watch),
        });
        // What a test does to the machine is judged by what was counted while it ran.
        let rates = test.map_or(self.rates.as_ref(), |test| test.watch.rates());
        let (machine, limits, units) = (&self.machine, &self.limits, self.units);
        let judged = Judged::with(
            &derived.findings,
            &Inputs { rates, load, units, ..Inputs::at_rest(machine, limits) },
        );
        // Another load may follow a test that has ended.
        let has_ended = test.is_some_and(|test| test.result.is_some());
        self.findings = if has_ended && self.rates.is_some() {
            let now = Inputs { rates: self.rates.as_ref(), units, ..Inputs::at_rest(machine, limits) };
            let now = Judged::with(&derived.findings, &now);
            judged.and_now(machine, now)
        } else {
            judged
        };
    }

    /// Marks all of `drives`, or unmarks them when they are all marked.
    pub fn mark_all_of(&mut self, drives: &[DriveName]) {
        mark_all(&mut self.marks, drives);
    }

    /// Makes a change that a screen asked for.
    pub fn apply(&mut self, change: SharedChange) {
        use SharedChange as Change;
        match change {
            Change::Mark(drives) => self.mark_all_of(&drives),
            Change::Cursor(drive) => self.cursor = drive,
            Change::Files(paths, size) => {
                let machine = &self.machine;
                let own = |path: &Path| machine.drives.iter().find(|drive| drive.target().path == path);
                let target =
                    |path: PathBuf| Target { drive: own(&path).map(|drive| drive.name.clone()), path };
                self.files = paths.into_iter().map(target).collect();
                (self.file_size, self.missing_file) = (size, None);
            }
            Change::Stage(setting, devices, new) => self.settings.stage(setting, &devices, new),
            Change::Unstage(setting, devices) => {
                self.settings.unstage(setting, &devices);
            }
            Change::UnstageAll => self.settings.staged.clear(),
            Change::AwaitSettings => self.settings.busy = true,
            Change::LeaveWhenBack => self.settings.leaving = true,
            Change::BeginTest(test) => self.tests.begin(*test),
            Change::AskPull(pull) => self.pulls.asked = Some(*pull),
            Change::BeginPull => self.pulls.begin(),
            Change::LeavePull => self.pulls.leave(),
            Change::OtherPull => self.pulls.swap(),
            Change::BeginFile(request) => self.inquiry = Some(Inquiry::new(request)),
            Change::StopFile => self.inquiry.iter_mut().for_each(|inquiry| inquiry.stopping = true),
            Change::BeginExperiment(plan) => self.experiments.begin(*plan),
            Change::CloseExperiment => self.experiments.shown = None,
            Change::TurnExperiment(own) => flip(&mut self.experiments.posted, own),
        }
    }
}

/// Removes a member of a set, or adds it.
pub(crate) fn flip<T: Ord>(set: &mut BTreeSet<T>, member: T) {
    if !set.remove(&member) {
        set.insert(member);
    }
}

/// Marks all of `drives`, or unmarks them when they are all marked.
pub(super) fn mark_all(marks: &mut BTreeSet<DriveName>, drives: &[DriveName]) {
    if drives.iter().all(|drive| marks.contains(drive)) {
        marks.retain(|drive| !drives.contains(drive));
    } else {
        marks.extend(drives.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{self, origin::Origin};

    fn read(demo: &str) -> MachineRead {
        let (machine, problems) = source::read_machine(&*Origin::Demo(demo.to_owned()).open().unwrap());
        let limits = Arc::new(capacity::limits(&machine));
        MachineRead { machine: Arc::new(machine), problems, limits }
    }

    #[test]
    fn another_machine_other_limits_and_other_units_are_judged_anew() {
        let mut shared = Shared::new(Mode::Live, read("threadripper-before"), (120, 40));
        let is_of_now = |shared: &mut Shared| {
            shared.judge();
            shared.find_bottlenecks();
            let Shared { machine, limits, units, .. } = &*shared;
            let inputs = Inputs { units: *units, ..Inputs::at_rest(machine, limits) };
            assert_eq!(shared.findings.list, findings::check(&inputs));
            let places = Places::new(machine, limits);
            assert_eq!(shared.bottlenecks, bottleneck::find_in(&places, machine, limits, None, &[]));
            (shared.findings.list.clone(), shared.bottlenecks.clone())
        };
        let mut seen = vec![is_of_now(&mut shared)];
        shared.units = shared.units.toggled();
        seen.push(is_of_now(&mut shared));
        shared.limits = Arc::new(Limits::default());
        seen.push(is_of_now(&mut shared));
        MachineRead { machine: shared.machine, limits: shared.limits, .. } = read("laptop");
        seen.push(is_of_now(&mut shared));
        for (at, one) in seen.iter().enumerate() {
            assert!(seen[at + 1..].iter().all(|other| other != one), "{at}");
        }
    }
}

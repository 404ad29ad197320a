//! The state of the screen, how it changes and where its regions are.
//!
//! Here: [`App`], [`Message`], [`Effect`], the pure [`update`], the layout, [`COMMANDS`](commands::COMMANDS). Not here:
//! drawing, reading, threads, the clock. What a key does is in [`act`], what the mouse does in [`mod@pointer`].

pub mod screen;
pub mod commands;
pub mod keymap;
pub mod message;
pub mod effect;
pub mod series;
pub mod load;
pub mod strip;
pub mod tree;
pub mod findings;
pub mod tune;
pub mod dyno;
pub mod whatif;
pub mod sheet;
pub mod slots;
pub mod overlay;
pub mod layout;
pub mod act;
pub mod pointer;

use std::{sync::Arc, time::Duration};

use self::{
    dyno::Dyno,
    findings::Findings,
    layout::Layout,
    load::Load,
    overlay::Overlay,
    sheet::Sheet,
    slots::Slots,
    strip::{Strip, StripRow},
    tree::Tree,
    tune::Tune,
    whatif::WhatIf,
};
pub use self::{
    effect::Effect,
    message::{MachineRead, Message},
    screen::Screen,
};
use crate::{
    capacity::{
        self,
        bottleneck::{self, Bottleneck},
    },
    counters::Rates,
    findings::{is_depth_one, validity::Watch},
    machine::{Machine, Measured},
    model::{DriveName, Limits, Problem, RunSample, RunSummary},
    report::dossier::Provenance,
    text::Label,
    units::UnitSystem,
};

/// Where the machine on the screen comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// This computer.
    Live,
    /// A built-in demo, by name: its drives are simulated.
    Demo(Label),
    /// A capture, by file name.
    Capture(Label),
    /// A folder of files, by name.
    Folder(Label),
}

impl Mode {
    /// What a sheet says of it.
    pub fn provenance(&self) -> Provenance {
        match self {
            Self::Live => Provenance::Live,
            Self::Demo(name) => Provenance::Demo(name.clone()),
            Self::Capture(_) => Provenance::Capture,
            Self::Folder(_) => Provenance::Folder,
        }
    }
}

/// A line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub problem: bool,
}

/// Everything the screen shows.
#[derive(Debug, Clone)]
pub struct App {
    /// Where the machine comes from.
    pub mode: Mode,
    /// The machine.
    pub machine: Arc<Machine>,
    /// What could not be read of it.
    pub problems: Vec<Problem>,
    /// What its places can carry.
    pub limits: Arc<Limits>,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Time since the program started.
    pub now: Duration,
    /// The screen shown.
    pub screen: Screen,
    /// GB/s or GiB/s.
    pub units: UnitSystem,
    /// The last line that the text in front can begin with: only its picture knows, and says so. Nothing that was drawn is
    /// longer than its place: [`usize::MAX`].
    pub text_end: usize,
    /// What lies over the screen.
    pub overlay: Option<Overlay>,
    /// The line above the footer.
    pub notice: Option<Notice>,
    /// The machine screen.
    pub tree: Tree,
    /// The findings screen.
    pub findings: Findings,
    /// The tune screen.
    pub tune: Tune,
    /// The dyno screen.
    pub dyno: Dyno,
    /// The what-if screen.
    pub whatif: WhatIf,
    /// The sheet screen.
    pub sheet: Sheet,
    /// Cards in other slots.
    pub slots: Slots,
    /// The strip at the foot.
    pub strip: Strip,
    /// What every drive reads now.
    pub load: Load,
    /// What holds the machine back, the most expensive first.
    pub bottlenecks: Vec<Bottleneck>,
    rates: Option<Rates>,
}

impl App {
    /// A screen of this machine, on the first tab.
    pub fn new(mode: Mode, read: MachineRead, size: (u16, u16)) -> Self {
        let mut app = Self {
            mode,
            machine: read.machine,
            problems: read.problems,
            limits: read.limits,
            size,
            now: Duration::ZERO,
            screen: Screen::Machine,
            units: UnitSystem::default(),
            text_end: usize::MAX,
            overlay: None,
            notice: None,
            tree: Tree::default(),
            findings: Findings::default(),
            tune: Tune::default(),
            dyno: Dyno::default(),
            whatif: WhatIf::default(),
            sheet: Sheet::default(),
            slots: Slots::default(),
            strip: Strip::default(),
            load: Load::default(),
            bottlenecks: Vec::new(),
            rates: None,
        };
        app.judge();
        app.tune.read(&app.machine);
        app.slots.read(&app.machine, &app.limits, app.units);
        app.refresh();
        app
    }

    /// Where everything is right now.
    pub fn layout(&self) -> Layout {
        Layout::new(self)
    }

    /// Whether this machine's drives can be tested: the live one's and a demo's simulated ones.
    pub fn can_test(&self) -> bool {
        matches!(self.mode, Mode::Live | Mode::Demo(_))
    }

    /// Whether the figures on the screen come from simulated drives.
    pub fn is_simulated(&self) -> bool {
        matches!(self.mode, Mode::Demo(_))
    }

    /// Tells the user something.
    pub fn tell(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), problem: false });
    }

    /// Tells the user that something went wrong.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), problem: true });
    }

    /// Makes what follows from the state: rows, bottlenecks.
    fn refresh(&mut self) {
        let height = usize::from(self.layout().tree_rows.height);
        self.tree.refresh(&self.machine, &self.load, height);
        let height = usize::from(self.layout().finding_rows.height);
        self.findings.scroll_to_selection(height);
        let area = self.layout().tune_rows;
        self.tune.scroll_to_cursor(area.width, usize::from(area.height));
        self.refresh_whatif();
        let height = usize::from(self.layout().slot_rows.height);
        self.slots.scroll_to_cursor(height);
        let reads = |drives: &[DriveName]| self.load.of(drives);
        let reads: Option<bottleneck::Reads> = self.load.is_busy().then_some(&reads);
        self.bottlenecks = bottleneck::find(&self.machine, &self.limits, reads);
        if self.screen == Screen::Sheet {
            sheet::refresh(self);
        }
    }

    fn refresh_whatif(&mut self) {
        let cursor = self.tree.row().and_then(|row| row.drive().cloned());
        let (can_test, simulated) = (self.can_test(), self.is_simulated());
        let experiments = &mut self.whatif.experiments;
        experiments.refresh(&self.machine, &self.tree.marks, cursor.as_ref(), can_test, simulated);
        let height = usize::from(self.layout().experiment_rows.height);
        self.whatif.experiments.scroll_to_selection(height);
    }

    /// Takes where the experiment stands; what it came to is kept, and offered for the sheet.
    fn take_progress(&mut self, progress: whatif::Progress, now: Duration) -> Vec<Effect> {
        // A demo has no counters that would show it.
        if self.is_simulated() {
            self.strip.push_reads(now, progress.reads);
        }
        let boot = self.machine.host.boot_id.value();
        let Some((at, record)) = self.whatif.experiments.take(progress, boot) else { return Vec::new() };
        self.sheet.offer_experiment(at);
        let live = self.mode == Mode::Live;
        live.then(|| Effect::KeepExperiment(Box::new(record))).into_iter().collect()
    }

    /// Takes what was kept before this start.
    fn take_kept(&mut self, kept: message::Kept) {
        if let Some(note) = kept.note() {
            self.tell(note);
        }
        self.sheet.take_kept(kept);
    }

    /// Looks for findings again: after a new reading, new counters, a test that began or ended.
    fn judge(&mut self) {
        // A test that failed says nothing about the machine.
        let test = self.dyno.tests.back().filter(|test| !matches!(test.result, Some(Err(_))));
        let load = test.map(|test| crate::findings::Load {
            workload: &test.workload,
            summary: test.summary(),
            watch: Some(&test.watch),
        });
        // What a test does to the machine is judged by what was counted while it ran.
        let rates = test.map_or(self.rates.as_ref(), |test| test.watch.rates());
        self.findings.judge(&self.machine, &self.limits, rates, load, self.units);
    }

    /// Writes every rate in the other units.
    fn switch_units(&mut self) {
        self.units = self.units.toggled();
        self.slots.read(&self.machine, &self.limits, self.units);
        self.judge();
    }

    fn take_machine(&mut self, read: MachineRead) {
        self.machine = read.machine;
        self.problems = read.problems;
        self.limits = read.limits;
        self.tune.read(&self.machine);
        self.slots.read(&self.machine, &self.limits, self.units);
        self.judge();
    }

    /// Whether what is going on is judged by idle states: a test that makes one read at a time.
    pub fn asks_for_idle_states(&self) -> bool {
        self.dyno.running().is_some_and(|test| is_depth_one(&test.workload))
    }

    fn take_rates(&mut self, rates: &Rates, at: Duration) {
        // A loop device or an md array would count what the drive below it counts already.
        let hardware =
            |name: &DriveName| self.machine.drive(name).is_some_and(|drive| !drive.kind.is_software());
        let row = StripRow::from_rates(rates, hardware);
        if self.dyno.running().is_none() {
            self.load = Load::from_rates(rates);
            self.strip.push_reads(at, row.disk.map_or(0.0, |(read, _)| read));
        }
        if let Some(test) = self.dyno.running_mut() {
            test.watch(rates, at);
        }
        self.strip.push_row(row);
        self.rates = Some(rates.clone());
        self.judge();
    }

    fn take_sample(&mut self, sample: &RunSample, now: Duration) {
        let Some(test) = self.dyno.running_mut() else { return };
        if test.learn_drives(sample) {
            test.expected = capacity::expected(&self.machine, &self.limits, &test.workload);
            test.watch = Watch::begin(&self.machine, &test.workload);
        }
        test.take(sample, now);
        let rates = test
            .targets
            .iter()
            .filter_map(|t| Some((t.drive.clone()?, t.curves.bytes.last().unwrap_or(0.0))));
        self.load = Load::from_test(rates);
        let bytes = test.total.bytes.last().unwrap_or(0.0);
        self.strip.push_reads(now, bytes);
    }

    /// Drives that may not be read have file systems that may: a file there is offered in the form, to be taken or left.
    fn offer_file(&mut self) {
        let Some(test) = self.dyno.running() else { return };
        let Some(offer) = dyno::file_offer(&test.workload.targets, &self.machine) else { return };
        self.screen = Screen::Dyno;
        self.tell(format!(
            "{} may not be read: Enter takes a file of {} on it, Esc leaves it",
            offer.drive,
            self.units.size(offer.size)
        ));
        self.dyno.form.offer(&offer);
    }

    /// What a test on this machine teaches about it.
    fn learned(&self, result: &Result<RunSummary, String>) -> Vec<Measured> {
        match (&self.mode, result) {
            (Mode::Live, Ok(run)) => {
                let beside = self
                    .dyno
                    .running()
                    .map_or_else(capacity::Beside::default, |test| test.watch.beside(&self.machine, run));
                capacity::learned(&self.machine, &self.limits, run, beside)
            }
            _ => Vec::new(),
        }
    }

    fn end_run(&mut self, mut result: Result<RunSummary, String>, now: Duration) -> Vec<Effect> {
        if let (Ok(run), Some(test)) = (&mut result, self.dyno.running()) {
            test.watch.judge(&self.machine, run);
        }
        // A spoilt result teaches nothing, so it is judged first.
        let learned = self.learned(&result);
        for sentence in capacity::refutations(&self.machine, &self.limits, &learned) {
            self.warn(sentence);
        }
        if let Err(why) = &result {
            self.warn(why.clone());
            if is_refusal(why) {
                self.offer_file();
            }
        } else if self.overlay.as_ref().is_some_and(|overlay| *overlay == Overlay::Quit) {
            self.overlay = None;
        }
        if let Some(test) = self.dyno.running_mut() {
            test.end(result);
        }
        self.load = Load::default();
        self.strip.push_reads(now, 0.0);
        self.judge();
        let kept = self.dyno.tests.back().and_then(|test| test.record(self.machine.host.boot_id.value()));
        let kept = kept.filter(|_| self.mode == Mode::Live).map(|record| Effect::KeepRun(Box::new(record)));
        let learned = Some(learned).filter(|learned| !learned.is_empty()).map(Effect::Remember);
        learned.into_iter().chain(kept).collect()
    }
}

/// Whether a test failed because its target may not be read (EACCES, EPERM).
fn is_refusal(why: &str) -> bool {
    why.contains("EACCES") || why.contains("EPERM")
}

/// How the state changes: the only place where it does.
pub fn update(app: &mut App, message: Message) -> Vec<Effect> {
    let mut effects = Vec::new();
    if matches!(message, Message::Machine(_) | Message::Tuned(_) | Message::RunEnded(..)) {
        app.sheet.forget();
    }
    match message {
        Message::Key(key) => effects = act::key(app, key),
        Message::Paste(text) => act::paste(app, &text),
        Message::Mouse(mouse) => effects = pointer::mouse(app, mouse),
        Message::Resize(columns, rows) => app.size = (columns, rows),
        Message::Tick(now) => {
            app.now = now;
            return effects;
        }
        Message::Machine(read) => app.take_machine(*read),
        Message::Tuned(answer) => effects = tune::act::take(app, *answer),
        Message::Rates(rates, at) => app.take_rates(&rates, at),
        Message::Sample(sample, now) => app.take_sample(&sample, now),
        Message::Progress(progress, now) => effects = app.take_progress(*progress, now),
        Message::Remembered(Ok(())) => effects.push(Effect::ReadMachine),
        Message::Saved(Ok(name)) => app.tell(format!("Saved as {name}")),
        Message::Copied(Ok(line)) => app.tell(line),
        Message::Remembered(Err(why)) | Message::Saved(Err(why)) | Message::Copied(Err(why)) => app.warn(why),
        Message::Recalled(kept) => match *kept {
            Ok(kept) => app.take_kept(kept),
            Err(why) => app.warn(why),
        },
        Message::RunEnded(result, now) => effects = app.end_run(*result, now),
    }
    app.refresh();
    effects
}

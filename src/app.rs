//! The state: what all screens share, their own states, what lies over them; and how it changes.

pub mod tabs;
pub mod commands;
mod frame;
mod stats_bar;
mod cpu_panel;
mod notice;
mod overlay;
mod over;
mod palette;
mod search;
mod pull;
mod run_end;
mod trail;
pub mod draw;
pub(crate) mod layout;
mod act;
mod keys;
mod pointer;
mod configured;
mod wanted;
pub mod glossary;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use self::{
    layout::Layout,
    overlay::Overlay,
    search::Search,
    stats_bar::{StatsBar, StatsRow},
};
pub use crate::ui::{Effect, MachineRead, Message, Mode, Opened, ScreenId, key as keymap, message};
use crate::{
    counters::{Rates, activity::Activity},
    findings::validity::RunMonitor,
    model::{Choice, DriveName, Failed, RunSample, Target},
    screens::{News, Screen, Screens, saved_rules, widgets::words::as_fields},
    ui::{
        Ask, Asks, Notice, Shared, SharedChange, Subject,
        answer::Answer,
        command::Row,
        experiments::Progress,
        message::Kept,
        settings::{Done, not_restored, summary},
        shared::compare,
    },
    units::counted,
};

pub(crate) use self::act::asks_before_leaving;
pub use self::commands::bind;
pub(crate) use self::configured::names;

pub(crate) const MACHINE: ScreenId = ScreenId("machine");
const TUNE: ScreenId = ScreenId("tune");
const PULL: ScreenId = ScreenId("pull");
const DYNO: ScreenId = ScreenId("dyno");
pub(crate) const FINDINGS: ScreenId = ScreenId("findings");
const WHAT_IF: ScreenId = ScreenId("what-if");
const SLOTS: ScreenId = ScreenId("slots");
const WHY_FILE: ScreenId = ScreenId("why-file");
const WHY: ScreenId = ScreenId("why");
/// Screens that show rates at any time.
const HAS_RATES: [ScreenId; 3] = [MACHINE, PULL, SLOTS];

/// Everything the screen shows.
#[derive(Debug, Clone)]
pub struct App {
    /// The state several screens use.
    pub shared: Shared,
    /// The screen shown.
    pub screen: ScreenId,
    /// The screens that led to it since the last tab, the latest last: Esc goes back through them.
    trail: Vec<ScreenId>,
    /// The screen before the last tab.
    before: Option<ScreenId>,
    /// The screens.
    pub screens: Screens,
    /// What lies over the screen.
    pub(crate) overlay: Option<Overlay>,
    /// What is looked for in a text over the screen.
    search: Search,
    /// The line above the footer.
    pub notice: Option<Notice>,
    /// When a notice that is no problem goes by itself.
    notice_until: Duration,
    /// Whether the notice answers a write: what asked for it over the screen has closed itself.
    is_answer: bool,
    /// The bar at the foot.
    pub(crate) stats_bar: StatsBar,
    /// The files that tests read before those of now.
    files_before: Option<Vec<PathBuf>>,
    /// Who chose the theme.
    theme_choice: configured::ThemeChoice,
    /// What kind of machine the program began with, while another one is shown.
    began: Option<Mode>,
}

impl App {
    /// A screen of this machine, on the first tab.
    pub fn new(mode: Mode, read: MachineRead, size: (u16, u16)) -> Self {
        let mut app = Self {
            shared: Shared::new(mode, read, size),
            screen: MACHINE,
            trail: Vec::new(),
            before: None,
            screens: Screens::default(),
            overlay: None,
            search: Search::default(),
            notice: None,
            notice_until: Duration::ZERO,
            is_answer: false,
            stats_bar: StatsBar::default(),
            files_before: None,
            theme_choice: configured::ThemeChoice::default(),
            began: None,
        };
        app.shared.keys = commands::key_names();
        for news in [News::Machine, News::Findings] {
            app.hear(news);
        }
        app.refresh();
        if let Some(cut) = app.shared.cut() {
            app.warn(cut);
        }
        app
    }

    /// Where everything is right now.
    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self)
    }

    /// Shows a notice.
    pub(crate) fn tell(&mut self, text: impl Into<String>) {
        self.note(&text.into(), false);
    }

    /// Shows a notice that stays until a key, or until another one: reading may take long.
    pub(crate) fn tell_until_key(&mut self, text: impl Into<String>) {
        self.tell(text);
        self.notice_until = Duration::MAX;
    }

    /// Shows a notice of a problem.
    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.note(&text.into(), true);
    }

    /// Shows the path of a saved file, as it is, and what shows it.
    fn tell_saved(&mut self, path: &str) {
        let is_picture = Path::new(path).extension().is_some_and(|ending| ending == "svg");
        if Path::new(path).extension().is_some_and(|ending| ending == "rules") {
            self.put(saved_rules(&self.shared, path), false);
        } else {
            let with = if is_picture { "Saved. A browser shows it:" } else { "Saved. To show it: less" };
            self.put(format!("{with} {path}"), false);
        }
        self.is_answer = true;
    }

    /// Shows a notice with keys in place of commands.
    fn note(&mut self, text: &str, problem: bool) {
        self.put(self.shared.keys.fill(&as_fields(text)), problem);
    }

    fn put(&mut self, text: String, problem: bool) {
        self.notice_until = self.shared.now + notice::reading_time(&text);
        (self.notice, self.is_answer) = (Some(Notice { text, problem }), false);
    }

    /// Lays something over the screen.
    fn lay(&mut self, overlay: Overlay) -> Vec<Effect> {
        (self.overlay, self.search) = (Some(overlay), Search::default());
        Vec::new()
    }

    fn hand(&mut self, screen: ScreenId, subject: &Subject) -> Vec<Effect> {
        let Some(taker) = self.screens.get_mut(screen) else { return Vec::new() };
        let asks = taker.take(subject, &self.shared);
        self.grant(asks)
    }

    /// Grants what a screen asks for.
    fn grant(&mut self, asks: Asks) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.shared.measures_file() && asks.iter().any(Ask::begins_reads) {
            self.tell("The path of a file is being measured: {stop} stops it");
            return effects;
        }
        for ask in asks {
            match ask {
                Ask::Effect(effect) => effects.push(effect),
                Ask::Notice(notice) => self.note(&notice.text, notice.problem),
                Ask::Show(screen, subject) => effects.extend(self.open(screen, subject)),
                Ask::Hand(screen, subject) => effects.extend(self.hand(screen, &subject)),
                Ask::Open(screen) => effects.extend(self.lay(Overlay::Screen(screen, 0))),
                Ask::Close => self.overlay = None,
                Ask::Agree(reads) => self.overlay = Some(Overlay::Confirm(reads, 0)),
                Ask::Command(name) => effects.extend(commands::run(self, name)),
                Ask::Change(change) => {
                    let is_test = matches!(change, SharedChange::BeginTest(_));
                    let is_pull = matches!(change, SharedChange::BeginPull);
                    let is_file = matches!(change, SharedChange::Files(..));
                    if let SharedChange::Files(paths, _) = &change {
                        let before: Vec<PathBuf> =
                            self.shared.files.iter().map(|file| file.path.clone()).collect();
                        self.files_before = (before != *paths).then_some(before);
                    }
                    let is_recorded = is_test || matches!(change, SharedChange::TurnExperiment(_));
                    self.shared.apply(change);
                    if is_recorded {
                        self.hear(News::Record);
                    }
                    if is_file && self.shared.files.iter().any(|file| file.drive.is_none()) {
                        effects.push(Effect::FindDrives(self.shared.files.clone(), self.shared.file_size));
                    }
                    if is_test {
                        self.judge();
                    }
                    if is_pull {
                        effects.extend(self.go_on());
                    }
                }
            }
        }
        effects
    }

    /// Informs all screens of a change.
    fn hear(&mut self, news: News) {
        self.screens.hear(news, &self.shared);
    }

    /// Makes what follows from the state: rows, bottlenecks, the screen shown.
    fn refresh(&mut self) -> Vec<Effect> {
        self.shared.find_bottlenecks();
        let body = self.layout().body;
        let Some(screen) = self.screens.get_mut(self.screen) else { return Vec::new() };
        let asks = screen.refresh(&self.shared, body);
        self.grant(asks)
    }

    /// Takes where the experiment stands; what it came to is kept, and offered for the sheet.
    fn take_progress(&mut self, progress: Progress, now: Duration) -> Vec<Effect> {
        // A demo has no counters: the tree and the curve show what the experiment reads.
        if self.shared.is_simulated() {
            if progress.account.has_ended() {
                self.shared.load.end_test(now, false);
            } else {
                self.shared.load.take_experiment(&progress.reads, now);
            }
            self.push_curve(now, 0.0);
            // Rows of an earlier test would stand beside the curve of this experiment.
            self.stats_bar.rows.clear();
        }
        let boot = self.shared.machine.host.boot_id.value();
        let experiments = &mut self.shared.experiments;
        let (is_stopped, was_running) = (experiments.stopping, experiments.running().is_some());
        let record = experiments.take(progress, boot);
        if was_running && experiments.running().is_none() && self.screen != WHAT_IF {
            let how = if is_stopped { "was stopped" } else { "has ended" };
            self.tell(format!(
                "The experiment {how}: {{what-if}} shows its result and what became of settings"
            ));
        } else if record.is_some() {
            // A line about the experiment in progress is over with it.
            self.notice = None;
        }
        let Some(record) = record else { return Vec::new() };
        self.overlay.take_if(|overlay| matches!(overlay, Overlay::Quit));
        self.hear(News::Record);
        let live = self.shared.mode == Mode::Live;
        live.then(|| Effect::KeepExperiment(Box::new(record))).into_iter().collect()
    }

    /// Takes what was kept before this start.
    fn take_kept(&mut self, kept: Kept) {
        if let Some(note) = kept.note() {
            self.tell(note);
        }
        self.shared.kept = kept;
        self.hear(News::Record);
    }

    /// Looks for findings again.
    fn judge(&mut self) {
        self.shared.judge();
        self.hear(News::Findings);
    }

    /// Writes every rate in the other units.
    fn switch_units(&mut self) -> Vec<Effect> {
        self.shared.units = self.shared.units.toggled();
        self.hear(News::Units);
        self.judge();
        self.shared.word();
        Vec::new()
    }

    /// Shows a machine that was opened, on the screen shown now; a broken file leaves the present one.
    fn take_opened(&mut self, opened: Result<Opened, Failed>) {
        let opened = match opened {
            Ok(opened) => opened,
            Err(why) => return self.warn(why.to_string()),
        };
        let units = self.shared.units;
        let screen = if self.screen == PULL { MACHINE } else { self.screen };
        let opening = Self::new(opened.mode, opened.read, self.shared.size);
        let before = std::mem::replace(self, opening);
        self.inherit(before);
        self.screen = screen;
        if self.shared.units != units {
            self.switch_units();
        }
        let unused = self.shared.machine.pasted.as_ref().map_or(0, |pasted| pasted.unused_lines);
        let unused = if unused > 0 {
            format!("; {{help}} lists {}", counted(unused, "unused line"))
        } else {
            String::new()
        };
        self.tell(format!("Opened {}; {{close}} goes back{unused}", opened.name));
    }

    /// Takes the drives of files. A missing one is refused; where an arm named it, the files before it stay.
    fn take_found(&mut self, files: Vec<Target>, missing: Option<Failed>) -> Vec<Effect> {
        // They may have been changed meanwhile.
        if !files.iter().map(|file| &file.path).eq(self.shared.files.iter().map(|file| &file.path)) {
            return Vec::new();
        }
        self.shared.files = files;
        self.shared.missing_file = missing.as_ref().map(ToString::to_string);
        let Some(why) = missing else { return Vec::new() };
        self.warn(why.to_string());
        let before = self.files_before.take().filter(|_| self.screen == WHAT_IF);
        let mut effects = before.map_or_else(Vec::new, |before| self.hand(DYNO, &Subject::Files(before)));
        if self.screen == WHAT_IF {
            effects.extend(self.hand(WHAT_IF, &Subject::NoSuchFile));
        }
        self.files_before = None;
        effects
    }

    fn take_machine(&mut self, read: MachineRead) {
        let before = std::mem::replace(&mut self.shared.machine, read.machine);
        if let Some(cut) = self.shared.cut().filter(|_| before.cuts != self.shared.machine.cuts) {
            self.warn(cut);
        }
        self.shared.problems = read.problems;
        self.shared.limits = read.limits;
        if self.shared.mode == Mode::Live {
            let Shared { pulls, machine, tests, .. } = &mut self.shared;
            pulls.see(machine, tests.running());
            pulls.note_others(&before, machine);
        }
        self.shared.settings.read(&self.shared.machine);
        self.hear(News::Machine);
        self.judge();
    }

    /// Takes changed settings, with the values of the machine as it was read.
    fn take_settings(&mut self) {
        self.shared.settings.read(&self.shared.machine);
        self.hear(News::Machine);
    }

    /// Takes what came of a request to change settings.
    fn take_answer(&mut self, answer: Answer) -> Vec<Effect> {
        let settings = &mut self.shared.settings;
        settings.busy = false;
        settings.change_log = answer.change_log;
        settings.session = answer.session;
        let first = settings.dead.is_empty() && answer.made.is_empty() && answer.restored.is_empty();
        settings.dead = answer.dead;
        let last_words = not_restored(&answer.restored);
        let made = answer.made.into_iter().map(|(change, outcome)| Done::Made(change, outcome));
        let restored = answer.restored.into_iter().map(|(step, restored)| Done::Restored(step, restored));
        let done: Vec<Done> = made.chain(restored).collect();
        self.shared.pulls.note_settings(&done);
        let came = (!done.is_empty()).then(|| summary(&done));
        let is_as_asked = done.iter().all(|done| done.is_good() || done.is_left_alone());
        let leaving = std::mem::take(&mut settings.leaving) && is_as_asked && answer.error.is_none();
        if !done.is_empty() {
            settings.done = done;
        }
        if let Some(read) = answer.machine {
            self.take_machine(read);
        } else {
            self.take_settings();
        }
        if leaving {
            let quit = if last_words.is_empty() { Effect::Quit } else { Effect::QuitWith(last_words) };
            return vec![Effect::KeepChanges, quit];
        }
        let has_come = answer.error.is_some() || came.is_some();
        match (answer.error, came) {
            (Some(why), _) => self.warn(why.to_string()),
            (None, Some((text, true))) => self.tell(text),
            (None, Some((text, false))) => self.warn(text),
            (None, None) => {}
        }
        self.is_answer |= has_come;
        if first && self.overlay.is_none() {
            return self.hand(TUNE, &Subject::LeftBehind);
        }
        Vec::new()
    }

    /// Whether a command does something now.
    pub(crate) fn offers(&self, row: &Row) -> bool {
        let pulls = &self.shared.pulls;
        let is_running = self.shared.is_measuring();
        let screen = self.screens.get(self.screen);
        let does = match row.name {
            "stop" => act::can_stop(&self.shared),
            "why file" => {
                self.shared.mode == Mode::Live && !is_running && act::HAS_FILES.contains(&self.screen.0)
            }
            "close" => self.began.is_some(),
            "next match" | "previous match" => screen.is_some_and(Screen::has_next_match),
            // That page has its own key for it.
            "pull" if self.screen == PULL => false,
            // While one is in progress the command shows it.
            "pull" => self.shared.can_test() && (!is_running || pulls.running.is_some()),
            // Below this width no curve has the unit on other screens.
            "units" => {
                self.shared.can_test() && self.shared.size.0 >= layout::CURVES
                    || HAS_RATES.contains(&self.screen)
            }
            name => self.shared.can_test() || !commands::needs_machine(name),
        };
        let body = self.layout().body;
        does && screen.is_none_or(|screen| {
            screen.offers(row.name, &self.shared) && screen.acts_in(row.name, &self.shared, body)
        })
    }

    /// Whether the key of the help opens it: in a field it is text, and over a screen it opens none.
    pub(crate) fn offers_help(&self) -> bool {
        let is_field = |screen: &dyn Screen| !screen.field_hints().is_empty();
        self.overlay.is_none() && !self.screens.get(self.screen).is_some_and(is_field)
    }

    /// A command with the footer's word for it in this state, if it does something now.
    pub(crate) fn offered(&self, row: Row) -> Option<Row> {
        let pulls =
            row.name == "pull" && (self.shared.pulls.running.is_some() || self.shared.pulls.is_unseen);
        let own = || self.screens.get(self.screen)?.hint(row.name, &self.shared);
        let hint = match row.name {
            _ if pulls && self.shared.pulls.running.is_none() => "show result",
            _ if pulls => "show pull",
            // The machine that is here needs no other.
            "open" if self.shared.can_test() => "",
            "close" if self.began == Some(Mode::Live) => "live machine",
            "back" if !self.trail.is_empty() || tabs::home(self.screen) != self.screen => {
                own().unwrap_or("back")
            }
            _ => own().unwrap_or(row.hint),
        };
        self.offers(&row).then_some(Row { hint, ..row })
    }

    fn take_rates(&mut self, rates: &Rates, at: Duration) {
        let Shared { machine, load, .. } = &mut self.shared;
        let drives = machine.drives_by_name();
        let is_summed = |name: &DriveName| drives.get(name).is_some_and(|drive| !drive.is_on_drives());
        let row = StatsRow::from_rates(rates, is_summed);
        let is_counted = |name: &DriveName| drives.get(name).is_none_or(|drive| drive.is_counted());
        load.take_rates(rates, is_counted, at);
        if self.shared.tests.running().is_none() {
            self.push_curve(at, 0.0);
        }
        if let Some(test) = self.shared.tests.running_mut() {
            test.watch(rates, at);
        }
        self.shared.take_cpu(rates, at);
        self.stats_bar.push_row(row);
        self.shared.rates = Some(rates.clone());
        if self.shared.mode == Mode::Live && !self.asks_for_activity() {
            // It is of another time than these rates.
            self.shared.activity = Activity::default();
        }
        self.judge();
    }

    fn take_sample(&mut self, sample: &RunSample, now: Duration) {
        let Some(test) = self.shared.tests.running_mut() else { return };
        if test.learn_drives(sample) {
            compare(&self.shared.machine, &self.shared.limits, test);
            test.watch = RunMonitor::begin(&self.shared.machine, &test.workload);
        }
        test.take(sample, now);
        let (reads, total) = (test.drive_reads(), test.total.bytes.last().unwrap_or(0.0));
        let is_seen = !test.is_cached() && !test.is_paused();
        self.shared.load.take_test(reads, now);
        self.push_curve(now, if is_seen { total } else { 0.0 });
    }

    /// Adds a point to the curve of all drives. A test of a file or of a software drive reads `tested` bytes per second,
    /// which the hardware's counters may show late or not at all.
    fn push_curve(&mut self, now: Duration, tested: f64) {
        let total = self.shared.load.total(&self.shared.machine).unwrap_or_default();
        self.stats_bar.push_point(now, total.read.bytes.max(tested), total.write.bytes);
    }
}

/// How the state changes: the only place where it does.
pub fn update(app: &mut App, message: Message) -> Vec<Effect> {
    let mut effects = Vec::new();
    let steps = app.trail.len();
    if matches!(
        message,
        Message::Machine(_) | Message::Tuned(_) | Message::Journal(_) | Message::RunEnded(..)
    ) {
        app.hear(News::Record);
    }
    match message {
        Message::Key(key) => effects = keys::key(app, key),
        Message::Paste(text) => effects = keys::paste(app, &text),
        Message::Mouse(mouse) => effects = pointer::mouse(app, mouse),
        Message::Resize(columns, rows) => app.shared.size = (columns, rows),
        Message::Background { is_light } => app.follow_background(is_light),
        Message::Opened(opened) => app.take_opened(*opened),
        Message::Tick(now) => {
            app.shared.now = now;
            // On low terminals it hides the footer's hints, among them the undo of what it reports.
            if now >= app.notice_until {
                app.notice.take_if(|notice| !notice.problem);
            }
            return effects;
        }
        Message::Machine(read) => app.take_machine(*read),
        Message::Tuned(answer) => effects = app.take_answer(*answer),
        Message::Journal(change_log) => {
            app.shared.settings.change_log = *change_log;
            app.take_settings();
        }
        Message::Rates(rates, at) => app.take_rates(&rates, at),
        Message::Activity(activity) => app.shared.activity = *activity,
        Message::Sample(sample, now) => app.take_sample(&sample, now),
        Message::Progress(progress, now) => effects = app.take_progress(*progress, now),
        Message::File(news) => {
            app.shared.inquiry.iter_mut().for_each(|inquiry| inquiry.take((*news).clone()));
            if !app.shared.measures_file() {
                // A line about the measurement in progress is over with it.
                app.notice = None;
            }
            if matches!(app.overlay, Some(Overlay::Quit)) && !app.shared.measures_file() {
                app.overlay = None;
            }
        }
        Message::Remembered(Ok(())) => effects.push(Effect::ReadMachine),
        Message::Saved(Ok(path)) => app.tell_saved(&path),
        Message::Copied(Ok(line)) => app.tell(line),
        Message::Remembered(Err(why)) | Message::Saved(Err(why)) | Message::Copied(Err(why)) => {
            app.warn(why.to_string());
        }
        Message::Recalled(kept) => match *kept {
            Ok(kept) => app.take_kept(kept),
            Err(why) => app.warn(why.to_string()),
        },
        Message::Chosen(Choice::Columns, line) => effects = app.hand(MACHINE, &Subject::Columns(line)),
        Message::Chosen(choice, name) => app.take_theme(choice, &name),
        Message::Found(files, missing) => effects = app.take_found(files, missing),
        Message::Refused(why) => {
            app.shared.pulls.refuse(&app.shared.machine, &why);
            app.warn(why.to_string());
        }
        Message::RunEnded(result, now) => effects = app.end_run(*result, now),
    }
    // One message is one step, over however many screens it led.
    app.trail.truncate(steps + 1);
    effects.extend(app.refresh());
    effects
}

//! [`Effects`]: the interpreter of effects, with a clock (real or counted) and a terminal or none.

mod conclusion;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::AtomicBool,
        mpsc::{RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

use signal_hook::consts::{SIGHUP, SIGINT};

use super::{
    access, beside, clipboard,
    clock::Clock,
    experiment_thread,
    inbox::{Inbox, Outlet, Outside},
    opening,
    run::{Row, Run, Testbed},
    run_history::{self, MOST},
    sampler::Sampler,
    saving,
    session::TestFiles,
    settings_thread,
    signals::status_of,
    startup, target_resolver,
    terminal::Screen,
    why::Measuring,
    worker::Worker,
};
use crate::{
    app::{App, Effect, MachineRead, Message, draw, keymap::Key, update},
    engine::simulated,
    machine::Machine,
    model::{Choice, Failed, RunState, Workload},
    source::{SysRoot, origin::Origin},
    store,
    ui::{Opening, inquiry::FileRequest, picture},
};

/// Interval between looks at a test.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// The time of a row of a demo at rest.
const SECOND: Duration = Duration::from_secs(1);

/// The end of the program.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaving {
    /// The exit status: 0, or 128 + the signal.
    pub status: u8,
    /// Printed after the terminal is restored.
    pub last_words: String,
    /// Whether the user decided about changed settings.
    by_user: bool,
}

/// Carries effects out. Without a terminal nothing is written to disk, no setting of a live machine is changed, and every
/// effect is done at once, in order.
pub(super) struct Effects {
    /// Dropped first, before tests end.
    pub(super) screen: Option<Screen>,
    // An experiment restores its settings before the session of the screen ends.
    experiments: Option<Worker<experiment_thread::Request>>,
    settings: Option<Worker<settings_thread::Request>>,
    run: Option<Run>,
    measuring: Option<Measuring>,
    /// Laid out for the run, or for all runs of a pull.
    files: Option<TestFiles>,
    testbed: Option<Testbed>,
    /// The state of the first machine while another one is shown. Its tests, samplers and settings go on.
    first: Option<Box<App>>,
    /// Root of a live machine.
    live: Option<Arc<dyn SysRoot>>,
    pub(super) sampler: Option<Sampler>,
    pub(super) clock: Clock,
    look_at: Instant,
    /// When a demo at rest counts its next second.
    rest_at: Option<Instant>,
    sender: Sender<Outside>,
    inbox: Inbox,
    pub(super) leaving: Option<Leaving>,
    /// The last copied text.
    pub(super) copied: String,
}

impl Effects {
    pub(super) fn new(
        origin: &Origin,
        root: Arc<dyn SysRoot>,
        app: &App,
        screen: Option<Screen>,
        clock: Clock,
        (outlet, inbox): (&Outlet, Inbox),
    ) -> io::Result<Self> {
        let (inline, sender) = (screen.is_none(), outlet.sender());
        let read = MachineRead {
            machine: Arc::clone(&app.shared.machine),
            problems: app.shared.problems.clone(),
            limits: Arc::clone(&app.shared.limits),
        };
        // `render` never changes a live machine.
        let service =
            startup::settings_of(origin, &root, || (Machine::clone(&read.machine), read.problems.clone()))
                .filter(|_| origin.is_demo() || !inline);
        let experiments = service.clone().map(|service| {
            let (sender, clock, root) = (sender.clone(), clock.clone(), Arc::clone(&root));
            let time = clock.clone();
            experiment_thread::start(service, root, clock, inline, move |progress| {
                send(&sender, Message::Progress(Box::new(progress), time.elapsed()));
            })
        });
        let settings = service.map(|service| {
            let sender = sender.clone();
            settings_thread::start(service, inline, move |message| send(&sender, message))
        });
        let mut effects = Self {
            screen,
            experiments: experiments.transpose()?,
            settings: settings.transpose()?,
            run: None,
            measuring: None,
            files: None,
            testbed: Testbed::new(origin, &root, read, clock.clone()),
            first: None,
            live: origin.is_live().then_some(root),
            sampler: None,
            look_at: clock.now(),
            rest_at: None,
            clock,
            sender,
            inbox,
            leaving: None,
            copied: String::new(),
        };
        if origin.is_live() {
            let machine = Arc::clone(&app.shared.machine);
            effects.beside(move || {
                let kept = run_history::recall(&machine, MOST).map_err(Failed::from);
                Some(Message::Recalled(Box::new(kept)))
            });
        }
        if !inline {
            for choice in [Choice::Columns, Choice::Theme, Choice::ConsoleTheme] {
                // One that cannot be read is the default one.
                let kept = move || store::choice(&store::folder(), choice).ok()?;
                effects.beside(move || Some(Message::Chosen(choice, kept()?)));
            }
            effects.tune(settings_thread::Request::Look);
        }
        Ok(effects)
    }

    /// The next message or signal; `None` without one within `most`, or when the next look at the test is due.
    pub(super) fn next(&self, most: Duration) -> Option<Outside> {
        let due = self.run.as_ref().map(|_| self.look_at).into_iter().chain(self.rest_at).min();
        let due = due.map(|due| due.saturating_duration_since(self.clock.now()));
        match self.inbox.next(due.map_or(most, |due| due.min(most))) {
            Ok(outside) => Some(outside),
            Err(RecvTimeoutError::Timeout) => None,
            // Impossible: `self` has a sender.
            Err(RecvTimeoutError::Disconnected) => Some(Outside::Signal(SIGHUP)),
        }
    }

    pub(super) fn take(&mut self, app: &mut App, outside: Outside) -> io::Result<()> {
        match outside {
            Outside::Message(message) | Outside::Typed(message) => self.send(app, message),
            Outside::Stop => {
                self.carry_out(app, Effect::Suspend)?;
                self.tick(app);
                Ok(())
            }
            Outside::Signal(signal) => {
                self.leaving = Some(Leaving { status: status_of(signal), ..Leaving::default() });
                Ok(())
            }
        }
    }

    /// Updates the state with a message and carries out its effects.
    pub(super) fn send(&mut self, app: &mut App, message: Message) -> io::Result<()> {
        if self.first.is_some() && !is_for_shown(&message) {
            return self.with_first(app, |effects, first| effects.send(first, message));
        }
        if matches!(&message, Message::Opened(opened) if opened.is_ok()) && self.first.is_none() {
            self.first = Some(Box::new(app.clone()));
        }
        if let Message::Tuned(answer) = &message
            && let (Some(read), Some(testbed)) = (&answer.machine, &mut self.testbed)
        {
            testbed.renew(read);
        }
        // Once a second. An experiment writes to the journal, and reading that would disturb its runs.
        let follows = matches!(message, Message::Rates(..)) && app.follows_journal();
        let effects = update(app, message);
        if follows {
            self.tune(settings_thread::Request::Follow);
        }
        if app.shared.tests.running().is_none() {
            self.files = None;
        }
        for effect in effects {
            self.carry_out(app, effect)?;
            if self.leaving.is_some() {
                return Ok(());
            }
        }
        self.drain(app)
    }

    /// Begins to read counters of a live machine.
    pub(super) fn sample(
        &mut self,
        root: Arc<dyn SysRoot>,
        over: Arc<AtomicBool>,
        interval: Duration,
    ) -> io::Result<()> {
        let (sender, clock) = (self.sender.clone(), self.clock.clone());
        self.sampler = Some(Sampler::start(root, sender, clock, over, interval)?);
        Ok(())
    }

    /// Has sampled what the screen shows.
    pub(super) fn watch(&self, app: &App) {
        if let Some(sampler) = &self.sampler {
            let (idle, activity) = (app.asks_for_idle_states(), app.asks_for_activity());
            sampler.watch(idle, activity, app.asks_for_profile_and_stacks());
            sampler.watch_settings(app.asks_for_settings());
        }
    }

    pub(super) fn tick(&self, app: &mut App) {
        update(app, Message::Tick(self.clock.elapsed()));
    }

    /// Runs `job` with the state of the first machine, shown or not.
    fn with_first<T>(&mut self, app: &mut App, job: impl FnOnce(&mut Self, &mut App) -> T) -> T {
        let Some(mut first) = self.first.take() else { return job(self, app) };
        let result = job(self, &mut first);
        self.first = Some(first);
        result
    }

    /// Shows the first machine again.
    fn go_back(&mut self, app: &mut App) {
        let Some(first) = self.first.take() else {
            app.warn("No other machine was opened; `:open PATH` opens one");
            return;
        };
        let size = app.shared.size;
        *app = *first;
        app.shared.size = size;
        (app.overlay, app.notice) = (None, None);
        update(app, Message::Tick(self.clock.elapsed()));
    }

    /// What an opened machine asks for that only the first one can do.
    fn refuse_opened(app: &mut App, effect: &Effect) -> bool {
        use Effect as E;
        let is_of_first = matches!(
            effect,
            E::StartRun(_)
                | E::CheckAccess(_)
                | E::PauseRun
                | E::ResumeRun
                | E::StopRun
                | E::MeasureFile(_)
                | E::StopFile
                | E::BeginExperiment(_)
                | E::StopExperiment
                | E::MeasureLonger(_)
                | E::ApplyChanges(_)
                | E::UndoChanges(_)
                | E::KeepDead(_)
                | E::KeepChanges
                | E::ReadMachine
        );
        if is_of_first && !matches!(effect, E::ReadMachine) {
            app.warn("An opened machine cannot be tested or changed; `:open` without a path goes back");
        }
        is_of_first
    }

    /// Looks at the test if it is due; whether it was.
    pub(super) fn look_if_due(&mut self, app: &mut App) -> io::Result<bool> {
        let due = self.run.is_some() && self.clock.now() >= self.look_at;
        if due {
            self.look(app)?;
        }
        Ok(due)
    }

    /// Counts a second of a demo at rest if it is over; whether it was.
    pub(super) fn rest_if_due(&mut self, app: &mut App) -> io::Result<bool> {
        self.with_first(app, |effects, app| {
            if !app.rests() {
                effects.rest_at = None;
                return Ok(false);
            }
            let now = effects.clock.now();
            if now < *effects.rest_at.get_or_insert(now + SECOND) {
                return Ok(false);
            }
            effects.rest_at = Some(now + SECOND);
            let memory = effects.testbed.as_ref().and_then(Testbed::memory);
            let (rates, activity) = simulated::at_rest(&app.shared.machine, memory);
            effects.send(app, Message::Activity(Box::new(activity)))?;
            effects.send(app, Message::Rates(Box::new(rates), effects.clock.elapsed()))?;
            Ok(true)
        })
    }

    /// Looks at the test and, without a screen, at the experiment.
    pub(super) fn look(&mut self, app: &mut App) -> io::Result<()> {
        self.with_first(app, Self::look_at_run)?;
        if let Some(experiments) = &mut self.experiments {
            experiments.look();
        }
        self.drain(app)
    }

    fn carry_out(&mut self, app: &mut App, effect: Effect) -> io::Result<()> {
        if self.first.is_some() {
            if Self::refuse_opened(app, &effect) {
                return Ok(());
            }
            if matches!(effect, Effect::Quit | Effect::QuitWith(_)) {
                // The first machine may have a test or changed settings to ask about.
                self.go_back(app);
                return self.send(app, Message::Key(Key::Char('q')));
            }
        }
        match effect {
            Effect::Open(Opening::First) => self.go_back(app),
            Effect::Open(opening) => self.beside(move || {
                let opened = opening::open(opening)?;
                Some(Message::Opened(Box::new(opened)))
            }),
            Effect::StartRun(workload) => return self.start(app, *workload),
            Effect::CheckAccess(targets) => {
                let machine = Arc::clone(&app.shared.machine);
                self.beside(move || {
                    let mut refused = targets.iter().filter_map(|one| access::check(&one.path, None).err());
                    Some(Message::Refused(access::failed(&machine, &targets, refused.next()?)))
                });
            }
            Effect::PauseRun => self.run.iter().for_each(|run| run.pause(true)),
            Effect::ResumeRun => self.run.iter().for_each(|run| run.pause(false)),
            Effect::StopRun => {
                self.run.iter().for_each(Run::stop);
                return self.look_at_run(app);
            }
            Effect::MeasureFile(request) => self.measure_file(request),
            Effect::StopFile => self.measuring.iter().for_each(Measuring::stop),
            Effect::BeginExperiment(plan) => self.experiment(experiment_thread::Request::Begin(plan)),
            Effect::StopExperiment => self.experiment(experiment_thread::Request::Stop),
            Effect::MeasureLonger(time) => self.experiment(experiment_thread::Request::Longer(time)),
            Effect::ApplyChanges(changes) => self.tune(settings_thread::Request::Apply(changes)),
            Effect::UndoChanges(which) => self.tune(settings_thread::Request::Undo(which)),
            Effect::KeepDead(sessions) => self.tune(settings_thread::Request::KeepDead(sessions)),
            Effect::KeepChanges => {
                self.tune(settings_thread::Request::Keep);
                self.settings.iter_mut().for_each(Worker::end);
            }
            Effect::FindDrives(targets, size) => {
                let (live, machine) = (self.live.clone(), Arc::clone(&app.shared.machine));
                self.beside(move || {
                    let mut workload = Workload { targets, ..Workload::default() };
                    target_resolver::find_drives(&mut workload, &*live?, &machine);
                    let missing = access::missing(&workload.targets, size).map(Failed::from);
                    Some(Message::Found(workload.targets, missing))
                });
            }
            Effect::SavePicture => {
                let theme = app.shared.theme;
                let drawn = draw::picture(app, theme);
                self.save(app.screen.0, "svg", move || picture::svg(&drawn, theme.palette));
            }
            Effect::Save(text, extension) => {
                let word = if extension == "rules" { "udev" } else { "sheet" };
                self.save(word, extension, move || text);
            }
            Effect::Remember(limits) => self.beside_on_disk(move || {
                let kept = run_history::remember(&limits).map_err(Failed::from);
                Some(Message::Remembered(kept))
            }),
            Effect::KeepRun(record) => self.keep(record),
            Effect::KeepExperiment(record) => self.keep(record),
            Effect::KeepChoice(choice, line) => self.beside_on_disk(move || {
                let failed = run_history::keep_choice(choice, &line).err()?;
                Some(Message::Remembered(Err(failed.into())))
            }),
            Effect::Copy(text, format) => {
                let sent = match &mut self.screen {
                    Some(screen) => screen.copy(&text, format)?,
                    None => {
                        clipboard::sequence(&text, false).map(|_| clipboard::sent(text.len(), format, false))
                    }
                };
                self.copied = text;
                return self.send(app, Message::Copied(sent));
            }
            Effect::ReadMachine => self.sampler.iter().for_each(Sampler::ask),
            Effect::Redraw => self.screen.iter_mut().for_each(Screen::forget),
            Effect::Suspend => return self.screen.as_mut().map_or(Ok(()), Screen::suspend),
            Effect::Quit => self.leave(0, String::new(), true),
            Effect::QuitWith(last_words) => self.leave(0, last_words, true),
            Effect::Interrupt => self.leave(status_of(SIGINT), String::new(), false),
        }
        Ok(())
    }

    fn leave(&mut self, status: u8, last_words: String, by_user: bool) {
        self.leaving = Some(Leaving { status, last_words, by_user });
    }

    fn experiment(&mut self, request: experiment_thread::Request) {
        if let Some(experiments) = &mut self.experiments {
            experiments.ask(request);
        }
    }

    fn tune(&mut self, request: settings_thread::Request) {
        if let Some(settings) = &mut self.settings {
            settings.ask(request);
        }
    }

    /// Measures the path of a file of this machine; a demo and a capture have none.
    fn measure_file(&mut self, request: FileRequest) {
        let Some(root) = self.live.clone() else { return };
        let sender = self.sender.clone();
        self.measuring = Some(Measuring::start(request, root, self.screen.is_none(), move |news| {
            send(&sender, Message::File(Box::new(news)));
        }));
    }

    fn start(&mut self, app: &mut App, workload: Workload) -> io::Result<()> {
        let Some(testbed) = &self.testbed else {
            let why = "a capture cannot be tested: its drives are not here";
            return self.refuse(app, Failed::new(why, None));
        };
        let targets = workload.targets.clone();
        // The counters of a live machine are the sampler's.
        match testbed.start(workload, self.files.get_or_insert_default().clone(), false) {
            Ok(run) => {
                self.run = Some(run);
                self.look_at = self.clock.now() + LOOK;
                Ok(())
            }
            Err(error) => {
                let why = access::failed(&app.shared.machine, &targets, error);
                self.refuse(app, why)
            }
        }
    }

    fn refuse(&mut self, app: &mut App, why: Failed) -> io::Result<()> {
        self.send(app, Message::RunEnded(Box::new(Err(why)), self.clock.elapsed()))
    }

    /// Looks at the test; a finished one is summed up on a thread.
    fn look_at_run(&mut self, app: &mut App) -> io::Result<()> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let (look, at) = (run.look(false), self.clock.elapsed());
        self.look_at = self.clock.now() + LOOK;
        // The next look at the counters is of this test alone.
        let test = app.shared.tests.running().filter(|test| test.reads_since.is_none());
        if test.is_some() && look.sample.state != RunState::Preparing {
            self.sampler.iter().for_each(Sampler::look);
        }
        self.send(app, Message::Sample(Box::new(look.sample), at))?;
        if let Some(Row::Rates(rates)) = look.row {
            let test = app.shared.tests.running().filter(|test| test.simulated);
            let activity = test.map(|test| simulated::activity(&app.shared.machine, &test.workload, &rates));
            if let Some(activity) = activity {
                self.send(app, Message::Activity(Box::new(activity)))?;
            }
            self.send(app, Message::Rates(rates, at))?;
        }
        if look.ends
            && let Some(run) = self.run.take()
        {
            let (clock, live, sender) = (self.clock.clone(), self.live.clone(), self.sender.clone());
            let machine = Arc::clone(&app.shared.machine);
            let test = app.shared.tests.running();
            let targets = test.map(|test| test.workload.targets.clone()).unwrap_or_default();
            self.beside(move || {
                let result = run.finish().map(|ended| (ended.run, ended.seconds));
                let result = result.map_err(|error| access::failed(&machine, &targets, error));
                let at = clock.elapsed();
                // Temperatures and thermal counters are judged as of the end of the test.
                if let Some(root) = live {
                    send(&sender, Message::Machine(Box::new(startup::read(&*root))));
                }
                Some(Message::RunEnded(Box::new(result), at))
            });
        }
        self.drain(app)
    }

    /// Without a screen, takes all messages of finished effects.
    pub(super) fn drain(&mut self, app: &mut App) -> io::Result<()> {
        while self.screen.is_none()
            && let Ok(outside) = self.inbox.try_next()
        {
            self.take(app, outside)?;
        }
        Ok(())
    }

    /// Runs a job on a thread, or at once without a screen, and sends its message.
    fn beside(&self, job: impl FnOnce() -> Option<Message> + Send + 'static) {
        let sender = self.sender.clone();
        let job = move || job().into_iter().for_each(|message| send(&sender, message));
        if self.screen.is_some() {
            beside::or_here(job);
        } else {
            job();
        }
    }

    /// The same for jobs that write to disk.
    fn beside_on_disk(&self, job: impl FnOnce() -> Option<Message> + Send + 'static) {
        if self.screen.is_some() {
            self.beside(job);
        }
    }

    /// Saves a text in a new file in the current folder.
    fn save(&self, word: &'static str, ending: &'static str, text: impl FnOnce() -> String + Send + 'static) {
        self.beside_on_disk(move || {
            Some(Message::Saved(saving::save(Path::new("."), word, ending, &text())))
        });
    }

    /// Stores a run or an experiment for later sheets; a message follows only if that fails.
    fn keep<T: store::Kept + Send + 'static>(&self, record: Box<T>) {
        self.beside_on_disk(move || {
            let failed = run_history::keep(&*record).err()?;
            Some(Message::Remembered(Err(failed.into())))
        });
    }
}

impl Drop for Effects {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

/// Whether a message is for the machine shown; all others are answers to the first one.
const fn is_for_shown(message: &Message) -> bool {
    matches!(
        message,
        Message::Key(_)
            | Message::Paste(_)
            | Message::Mouse(_)
            | Message::Resize(..)
            | Message::Tick(_)
            | Message::Opened(_)
            | Message::Saved(_)
            | Message::Copied(_)
    )
}

fn send(sender: &Sender<Outside>, message: Message) {
    // The receiver is gone only when the program ends.
    let _ = sender.send(Outside::Message(message));
}

//! A screen without a terminal: keys go in, pictures come out. A demo's clock is counted, not read, so that the same
//! keys give the same picture; a live machine takes the time it takes.

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use ratatui::buffer::Buffer;

use super::{
    clipboard,
    demo_counters::DemoCounters,
    desk::Desk,
    effects::LOOK,
    now, opening,
    proving::{Clock, Proving},
    recall::{MOST, recall},
    tuning::Tuning,
};
use crate::{
    app::{App, Effect, Message, keymap::Key, tune::answer::Answer, update, whatif::Progress},
    load::{Engine, Running},
    model::RunState,
    source::origin::{OpenError, Origin},
    view::{picture, theme::Theme},
};

/// A screen without a terminal.
pub struct Headless {
    /// The state.
    pub app: App,
    engine: Option<Arc<dyn Engine>>,
    counters: Option<DemoCounters>,
    tuning: Option<(Tuning, Receiver<Answer>)>,
    proving: Option<(Proving, Receiver<Option<Progress>>)>,
    /// What was printed on leaving.
    pub last_words: String,
    /// What was copied last.
    pub copied: String,
    running: Option<Box<dyn Running>>,
    base: Instant,
    elapsed: Duration,
    live: bool,
    left: bool,
}

impl Headless {
    /// Opens a machine on a screen of that size.
    pub fn open(origin: &Origin, size: (u16, u16)) -> Result<Self, OpenError> {
        let root = origin.open()?;
        let read = opening::read_or_refuse(&*root)?;
        let engine = opening::engine(origin, &read);
        let counters = opening::demo_counters(origin, &*root, &read);
        // Pictures of a live machine never change it.
        let desk = if origin.is_demo() { Desk::new(origin, &root) } else { None };
        let proving = desk.clone().map(|desk| {
            let (sender, receiver) = mpsc::channel();
            let proving = Proving::start(desk, Arc::clone(&root), Clock::Counted, move |progress| {
                // Nobody listens only when the program ends.
                let _ = sender.send(progress);
            });
            (proving, receiver)
        });
        let tuning = desk.map(|desk| {
            let (sender, receiver) = mpsc::channel();
            let tuning = Tuning::start(desk, move |answer| {
                // Nobody listens only when the program ends.
                let _ = sender.send(answer);
            });
            (tuning, receiver)
        });
        let mut app = App::new(opening::mode(origin), read, size);
        let live = origin.is_live();
        if live {
            let kept = recall(&app.shared.machine, MOST).map_err(|error| error.to_string());
            update(&mut app, Message::Recalled(Box::new(kept)));
        }
        Ok(Self {
            app,
            engine,
            counters,
            tuning,
            proving,
            last_words: String::new(),
            copied: String::new(),
            running: None,
            base: now(),
            elapsed: Duration::ZERO,
            live,
            left: false,
        })
    }

    /// Whether a key has left the program.
    pub fn has_left(&self) -> bool {
        self.left
    }

    /// Presses keys, one after another.
    pub fn press(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            self.send(Message::Key(key));
        }
    }

    /// Hands a message to the state and carries out what it asks for.
    pub fn send(&mut self, message: Message) {
        for effect in update(&mut self.app, message) {
            self.carry_out(effect);
        }
    }

    /// Lets time go on.
    pub fn wait(&mut self, time: Duration) {
        let until = self.elapsed + time;
        while self.elapsed < until && !self.left {
            let step = LOOK.min(until.saturating_sub(self.elapsed));
            if self.live {
                thread::sleep(step);
            }
            self.elapsed += step;
            update(&mut self.app, Message::Tick(self.elapsed));
            self.look();
            self.look_at_experiment();
        }
    }

    /// The picture now.
    pub fn picture(&self, theme: Theme) -> Buffer {
        picture::of(&self.app, theme)
    }

    fn clock(&self) -> Instant {
        if self.live { now() } else { self.base + self.elapsed }
    }

    fn carry_out(&mut self, effect: Effect) {
        let clock = self.clock();
        let Some(effect) = self.tune(effect).and_then(|effect| self.prove(effect)) else { return };
        match (effect, &mut self.running) {
            (Effect::StartRun(workload), _) => {
                if let Some(counters) = &mut self.counters {
                    counters.begin(&workload);
                }
                let started = self.engine.as_ref().map(|engine| engine.start(&workload, clock));
                match started {
                    Some(Ok(running)) => self.running = Some(running),
                    Some(Err(error)) => self.end(Err(error.to_string())),
                    None => self.end(Err("nothing here can be tested".to_owned())),
                }
            }
            (Effect::PauseRun, Some(running)) => running.pause(clock),
            (Effect::ResumeRun, Some(running)) => running.resume(clock),
            (Effect::StopRun, Some(running)) => {
                running.stop(clock);
                self.look();
            }
            (Effect::Copy(text, format), _) => {
                let told =
                    clipboard::sequence(&text, false).map(|_| clipboard::sent(text.len(), format, false));
                self.copied = text;
                self.send(Message::Copied(told));
            }
            (Effect::Quit | Effect::Interrupt, _) => self.left = true,
            (Effect::QuitWith(text), _) => {
                self.last_words = text;
                self.left = true;
            }
            _ => {}
        }
    }

    /// Carries out an effect of an experiment and waits until that is done; gives back what is none.
    fn prove(&mut self, effect: Effect) -> Option<Effect> {
        let Some((proving, answers)) = &self.proving else { return Some(effect) };
        match effect {
            Effect::BeginExperiment(plan) => proving.begin(*plan),
            Effect::StopExperiment => proving.stop(),
            Effect::MeasureLonger(time) => proving.longer(time),
            other => return Some(other),
        }
        // Nobody answers only after a panic, which has been told.
        if let Ok(Some(progress)) = answers.recv() {
            update(&mut self.app, Message::Progress(Box::new(progress), self.elapsed));
        }
        None
    }

    /// Looks at the experiment under way.
    fn look_at_experiment(&mut self) {
        let clock = self.clock();
        if self.app.shared.experiments.running().is_none() {
            return;
        }
        let Some((proving, answers)) = &self.proving else { return };
        proving.look(clock);
        if let Ok(Some(progress)) = answers.recv() {
            update(&mut self.app, Message::Progress(Box::new(progress), self.elapsed));
        }
    }

    /// Carries out an effect of changes to settings and waits for the answer; gives back what is none.
    fn tune(&mut self, effect: Effect) -> Option<Effect> {
        let Some((tuning, answers)) = &mut self.tuning else { return Some(effect) };
        match effect {
            Effect::ApplyChanges(changes) => tuning.apply(changes),
            Effect::UndoChanges(which) => tuning.undo(which),
            Effect::KeepDead(sessions) => tuning.keep_dead(sessions),
            Effect::KeepChanges => tuning.keep(),
            other => return Some(other),
        }
        if let Ok(answer) = answers.recv() {
            if let (Some(read), Some(counters)) = (&answer.machine, &mut self.counters) {
                counters.renew(read);
                self.engine = Some(opening::simulated(read));
            }
            self.send(Message::Tuned(Box::new(answer)));
        }
        None
    }

    fn look(&mut self) {
        let clock = self.clock();
        let Some(running) = &mut self.running else { return };
        let sample = running.sample(clock);
        let ended = sample.state == RunState::Ended;
        let rates = self.counters.as_mut().and_then(|counters| counters.look(&sample));
        update(&mut self.app, Message::Sample(Box::new(sample), self.elapsed));
        if let Some((rates, _)) = rates {
            update(&mut self.app, Message::Rates(Box::new(rates), self.elapsed));
        }
        if ended && let Some(running) = self.running.take() {
            self.end(Ok(running.finish(clock)));
        }
    }

    fn end(&mut self, result: Result<crate::model::RunSummary, String>) {
        update(&mut self.app, Message::RunEnded(Box::new(result), self.elapsed));
    }
}

//! Carrying effects out: the test under way, and its looks ten times a second.

use std::{
    path::Path,
    sync::{Arc, mpsc::Sender},
    thread,
    time::{Duration, Instant},
};

use super::{
    demo_counters::DemoCounters,
    input::Outside,
    now, opening, places,
    proving::Proving,
    recall::{MOST, recall},
    saving,
    session::Session,
    tuning::Tuning,
};
use crate::{
    app::{Effect, MachineRead, Message},
    load::Engine,
    machine::{Machine, Measured},
    model::{RunState, Workload},
    source::SysRoot,
    store,
};

/// Between two looks at a test.
pub const LOOK: Duration = Duration::from_millis(100);

/// What carries effects out.
pub struct Effects {
    // Dropped first: an experiment puts its settings back before the session of the screen ends.
    proving: Option<Proving>,
    tuning: Option<Tuning>,
    engine: Option<Arc<dyn Engine>>,
    counters: Option<DemoCounters>,
    root: Option<Arc<dyn SysRoot>>,
    sender: Sender<Outside>,
    started: Instant,
    session: Option<Session>,
    look_at: Instant,
}

impl Effects {
    /// With the engine that tests this machine, if it can be tested, and where it is read again when a test has ended, if
    /// a test changes what is read.
    pub fn new(
        (tuning, proving): (Option<Tuning>, Option<Proving>),
        engine: Option<Arc<dyn Engine>>,
        counters: Option<DemoCounters>,
        root: Option<Arc<dyn SysRoot>>,
        sender: Sender<Outside>,
        started: Instant,
    ) -> Self {
        Self { proving, tuning, engine, counters, root, sender, started, session: None, look_at: started }
    }

    /// Carries out an effect of changes to settings; gives back what is none.
    pub fn tune(&mut self, effect: Effect) -> Option<Effect> {
        let Some(tuning) = &mut self.tuning else { return Some(effect) };
        match effect {
            Effect::ApplyChanges(changes) => tuning.apply(changes),
            Effect::UndoChanges(which) => tuning.undo(which),
            Effect::KeepDead(sessions) => tuning.keep_dead(sessions),
            Effect::KeepChanges => tuning.keep(),
            other => return Some(other),
        }
        None
    }

    /// Carries out an effect of an experiment; gives back what is none.
    pub fn prove(&mut self, effect: Effect) -> Option<Effect> {
        let Some(proving) = &self.proving else { return Some(effect) };
        match effect {
            Effect::BeginExperiment(plan) => proving.begin(*plan),
            Effect::StopExperiment => proving.stop(),
            Effect::MeasureLonger(time) => proving.longer(time),
            other => return Some(other),
        }
        None
    }

    /// Puts back what this run changed: the end was not the user's word.
    pub fn put_back(&mut self) {
        if let Some(proving) = &mut self.proving {
            proving.end();
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.put_back();
        }
    }

    /// Settings changed: drives are tested as they are now.
    pub fn renew(&mut self, read: &MachineRead) {
        if let Some(counters) = &mut self.counters {
            counters.renew(read);
        }
        self.engine = self.engine.as_deref().map(|engine| opening::renewed(engine, read));
    }

    /// Carries out an effect of a test; others are the main loop's.
    pub fn test(&mut self, effect: Effect) {
        match (effect, &self.session) {
            (Effect::StartRun(workload), _) => self.start(*workload),
            (Effect::PauseRun, Some(session)) => session.pause(),
            (Effect::ResumeRun, Some(session)) => session.resume(),
            (Effect::StopRun, Some(session)) => session.stop(),
            _ => {}
        }
    }

    fn start(&mut self, mut workload: Workload) {
        match &self.engine {
            Some(engine) => {
                if let Some(root) = &self.root {
                    for target in workload.targets.iter_mut().filter(|target| target.drive.is_none()) {
                        target.drive = places::drive_of(&target.path, &**root);
                    }
                }
                if let Some(counters) = &mut self.counters {
                    counters.begin(&workload);
                }
                self.session = Some(Session::start(Arc::clone(engine), workload));
                self.look_at = now() + LOOK;
            }
            None => self.tell(Err("the drives of a capture are not here; nothing can be tested".to_owned())),
        }
    }

    fn tell(&self, result: Result<crate::model::RunSummary, String>) {
        // Nobody listens only when the program ends.
        let _ = self.sender.send(Outside::Message(Message::RunEnded(Box::new(result), now() - self.started)));
    }

    /// Keeps what a test measured; the answer comes when it is on disk, or could not be put there.
    pub fn remember(&self, limits: Vec<Measured>) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let folder = store::folder();
            let kept = store::remember(&folder, &limits).map_err(|error| {
                format!(
                    "{}: {error}; the measured limit is not remembered",
                    store::measured_limits(&folder).display()
                )
            });
            let _ = sender.send(Outside::Message(Message::Remembered(kept)));
        });
    }

    /// Makes a text and saves it under a name of its own in the folder iodyno was started in.
    pub fn save(
        &self,
        word: &'static str,
        ending: &'static str,
        text: impl FnOnce() -> String + Send + 'static,
    ) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let saved = saving::save(Path::new("."), word, ending, &text());
            let _ = sender.send(Outside::Message(Message::Saved(saved)));
        });
    }

    /// Keeps a run or an experiment for sheets made later; there is an answer only when that fails.
    pub fn keep<T: store::Kept + Send + 'static>(&self, record: T) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let folder = store::folder();
            if let Err(error) = store::keep(&folder, &record) {
                let line =
                    format!("{}: {error}; sheets made later lack it", store::file::<T>(&folder).display());
                // Nobody listens only when the program ends.
                let _ = sender.send(Outside::Message(Message::Remembered(Err(line))));
            }
        });
    }

    /// Looks for what was kept before this start.
    pub fn recall(&self, machine: Arc<Machine>) {
        let sender = self.sender.clone();
        thread::spawn(move || {
            let kept = recall(&machine, MOST).map_err(|error| error.to_string());
            // Nobody listens only when the program ends.
            let _ = sender.send(Outside::Message(Message::Recalled(Box::new(kept))));
        });
    }

    /// Answers a copy.
    pub fn copied(&self, told: Result<String, String>) {
        // Nobody listens only when the program ends.
        let _ = self.sender.send(Outside::Message(Message::Copied(told)));
    }

    /// When the test wants to be looked at next.
    pub fn due(&self) -> Option<Instant> {
        self.session.as_ref().map(|_| self.look_at)
    }

    /// Looks at the test if it is time; a test that ended is summed up beside the screen.
    pub fn look(&mut self) -> Option<Message> {
        let at = now();
        let session = self.session.as_ref().filter(|_| at >= self.look_at)?;
        self.look_at = at + LOOK;
        let sample = session.sample();
        let rates = self.counters.as_mut().and_then(|counters| counters.look(&sample));
        if let Some((rates, _)) = rates {
            let message = Message::Rates(Box::new(rates), at - self.started);
            // Nobody listens only when the program ends.
            let _ = self.sender.send(Outside::Message(message));
        }
        if sample.state == RunState::Ended
            && let Some(session) = self.session.take()
        {
            let (sender, started, root) = (self.sender.clone(), self.started, self.root.clone());
            thread::spawn(move || {
                let result = session.finish().map_err(|error| error.to_string());
                let ended = now() - started;
                // Heat, and the drives' thermal counters, are judged as the test left them.
                if let Some(root) = root {
                    let read = Message::Machine(Box::new(opening::read(&*root)));
                    let _ = sender.send(Outside::Message(read));
                }
                let message = Message::RunEnded(Box::new(result), ended);
                let _ = sender.send(Outside::Message(message));
            });
        }
        Some(Message::Sample(Box::new(sample), at - self.started))
    }
}

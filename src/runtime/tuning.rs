//! [`Tuning`]: settings changed and put back beside the screen, one request at a time, in a session of the journal.
//!
//! Here: the thread, its session, what a request does in which order. Not here: what a change is (`tune`), what the
//! screen makes of an answer (`app`).

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

use super::desk::{Desk, unix_millis};
use crate::{
    app::tune::answer::{Answer, Undoing},
    tune::{
        Change, Outcome, Tuner,
        journal::{Event, JournalError, Purpose, Record},
        settings::resets,
        tuner::TuneError,
        undo::Which,
    },
};

/// Something to be done to settings.
#[derive(Debug)]
enum Request {
    /// See what stands changed; what a dead experiment changed is put back.
    Look,
    Apply(Vec<Change>),
    Undo(Undoing),
    /// What these dead sessions changed stays.
    KeepDead(Vec<String>),
    /// The session ends; what it changed stays.
    Keep,
    /// The session ends; what it changed is put back.
    PutBack,
}

/// The thread that changes settings.
pub struct Tuning {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Tuning {
    /// Starts the thread. Every request is answered once.
    pub fn start(desk: Arc<Desk>, answer: impl Fn(Answer) + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || desk.work(&receiver, &answer));
        Self { requests: Some(sender), thread: Some(thread) }
    }

    /// Asks what stands changed.
    pub fn look(&self) {
        self.ask(Request::Look);
    }

    /// Makes changes in their order.
    pub fn apply(&self, changes: Vec<Change>) {
        self.ask(Request::Apply(changes));
    }

    /// Puts changes back.
    pub fn undo(&self, which: Undoing) {
        self.ask(Request::Undo(which));
    }

    /// Leaves what dead sessions changed as it is.
    pub fn keep_dead(&self, sessions: Vec<String>) {
        self.ask(Request::KeepDead(sessions));
    }

    /// Ends the session with its changes standing, and waits for it.
    pub fn keep(&mut self) {
        self.ask(Request::Keep);
        self.end();
    }

    /// Ends the session, puts its changes back, and waits for it.
    pub fn put_back(&mut self) {
        self.ask(Request::PutBack);
        self.end();
    }

    fn ask(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // A thread that panicked has ended the program already.
            let _ = requests.send(request);
        }
    }

    fn end(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        self.end();
    }
}

impl Desk {
    fn work(&self, requests: &Receiver<Request>, tell: &dyn Fn(Answer)) {
        let mut tuner = None;
        while let Ok(request) = requests.recv() {
            let mut answer = Answer::default();
            if let Err(error) = self.carry_out(request, &mut tuner, &mut answer) {
                answer.error = Some(error.to_string());
            }
            if let Err(error) = self.account(tuner.as_ref(), &mut answer) {
                answer.error.get_or_insert(error.to_string());
            }
            tell(answer);
        }
        if let Some(tuner) = tuner {
            // What still stands is offered at the next start.
            let _ = tuner.close();
        }
    }

    fn carry_out<'a>(
        &'a self,
        request: Request,
        tuner: &mut Option<Tuner<'a>>,
        answer: &mut Answer,
    ) -> Result<(), TuneError> {
        match request {
            Request::Look => {
                answer.restored = self.recover()?;
                answer.error = self.damage()?.into_iter().next();
                if !answer.restored.is_empty() {
                    answer.machine = Some(self.read());
                }
            }
            Request::Apply(changes) => self.apply(tuner, changes, answer)?,
            Request::Undo(which) => self.undo(tuner, &which, answer)?,
            Request::KeepDead(sessions) => {
                for session in sessions {
                    let (boot, time) = (self.boot().to_owned(), unix_millis());
                    self.journal().append(&Record { time, boot, session, event: Event::Keep })?;
                }
            }
            Request::Keep => {
                if let Some(tuner) = tuner.take() {
                    tuner.keep()?;
                }
            }
            Request::PutBack => {
                if tuner.is_some() {
                    self.undo(tuner, &Undoing::Own, answer)?;
                }
            }
        }
        Ok(())
    }

    /// The session, opened at the first change.
    fn session<'a, 'b>(&'a self, tuner: &'b mut Option<Tuner<'a>>) -> Result<&'b Tuner<'a>, JournalError> {
        match tuner {
            Some(tuner) => Ok(tuner),
            None => Ok(tuner.insert(self.open(Purpose::Screen)?)),
        }
    }

    fn apply<'a>(
        &'a self,
        tuner: &mut Option<Tuner<'a>>,
        changes: Vec<Change>,
        answer: &mut Answer,
    ) -> Result<(), TuneError> {
        let read = self.read();
        let tuner = self.session(tuner)?;
        let mut written: Vec<Change> = Vec::new();
        for mut change in changes {
            // What a change a moment ago reset reads otherwise than when it was staged: that is no stranger's doing.
            let reset = written
                .iter()
                .any(|other| other.device == change.device && resets(other.setting.0, change.setting.0));
            if reset && let Ok(now) = self.actuator().read(&change.file) {
                change.from = now;
            }
            let outcome = tuner.apply(&read.machine, &change).map_err(|error| error.to_string());
            if matches!(outcome, Ok(Outcome::Accepted | Outcome::Adjusted { .. } | Outcome::Changed { .. })) {
                written.push(change.clone());
            }
            answer.made.push((change, outcome));
        }
        answer.machine = Some(self.read());
        Ok(())
    }

    fn undo<'a>(
        &'a self,
        tuner: &mut Option<Tuner<'a>>,
        which: &Undoing,
        answer: &mut Answer,
    ) -> Result<(), TuneError> {
        let tuner = self.session(tuner)?;
        let own = [tuner.session()];
        let dead: Vec<&str>;
        let which = match which {
            Undoing::Own => Which::Sessions(&own),
            Undoing::Files(files) => Which::Files(files),
            Undoing::Sessions(sessions) => {
                dead = sessions.iter().map(String::as_str).filter(|id| self.journal().is_dead(id)).collect();
                Which::Sessions(&dead)
            }
        };
        answer.restored = self.put_back(tuner, &which)?;
        answer.machine = Some(self.read());
        Ok(())
    }

    fn account(&self, tuner: Option<&Tuner<'_>>, answer: &mut Answer) -> Result<(), JournalError> {
        answer.session = tuner.map(|tuner| tuner.session().to_owned());
        answer.ledger = self.ledger()?;
        let own = answer.session.as_ref();
        answer.dead = self.dead()?.1.into_iter().filter(|id| Some(id) != own).collect();
        Ok(())
    }
}

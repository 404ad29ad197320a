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
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    opening,
    pretend_root::{self, PretendRoot},
};
use crate::{
    app::{
        MachineRead,
        tune::answer::{Answer, Undoing},
    },
    source::{SysRoot, origin::Origin},
    tune::{
        Actuator, Change, Live, Outcome, SETTINGS, Tuner,
        journal::{Event, Journal, JournalError, Ledger, Purpose, Record},
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

/// What changes are made with.
struct Desk {
    root: Arc<dyn SysRoot>,
    actuator: Arc<dyn Actuator + Send + Sync>,
    journal: Journal,
    boot: String,
    may_write: bool,
}

impl Tuning {
    /// Starts the thread for a machine whose settings can be changed: this one, or a demo, whose changes are pretended.
    /// Every request is answered once.
    pub fn start(
        origin: &Origin,
        root: &Arc<dyn SysRoot>,
        read: &MachineRead,
        answer: impl Fn(Answer) + Send + 'static,
    ) -> Option<Self> {
        let desk = Desk::new(origin, root, read)?;
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || desk.work(&receiver, &answer));
        Some(Self { requests: Some(sender), thread: Some(thread) })
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
    fn new(origin: &Origin, root: &Arc<dyn SysRoot>, read: &MachineRead) -> Option<Self> {
        if origin.is_demo() {
            let kernel = Arc::new(pretend_root::kernel(&**root, &read.machine));
            return Some(Self {
                root: Arc::new(PretendRoot::new(Arc::clone(root), Arc::clone(&kernel))),
                actuator: kernel,
                journal: Journal::in_memory(),
                boot: "demo".to_owned(),
                may_write: true,
            });
        }
        let boot = read.machine.host.boot_id.value()?.to_string();
        let is_root = rustix::process::geteuid().is_root();
        let journal = Journal::new(crate::store::folder());
        let (root, actuator) = (Arc::clone(root), Arc::new(Live));
        origin.is_live().then_some(Self { root, actuator, journal, boot, may_write: is_root })
    }

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
                let experiments = self.dead(Some(Purpose::Experiment))?;
                if self.may_write && !experiments.is_empty() {
                    self.undo(tuner, &Undoing::Sessions(experiments), answer)?;
                }
            }
            Request::Apply(changes) => self.apply(tuner, changes, answer)?,
            Request::Undo(which) => self.undo(tuner, &which, answer)?,
            Request::KeepDead(sessions) => {
                for session in sessions {
                    let (boot, time) = (self.boot.clone(), unix_millis());
                    self.journal.append(&Record { time, boot, session, event: Event::Keep })?;
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
            None => Ok(tuner.insert(Tuner::open(
                &self.journal,
                &*self.actuator,
                Purpose::Screen,
                &self.boot,
                &unix_millis,
            )?)),
        }
    }

    fn apply<'a>(
        &'a self,
        tuner: &mut Option<Tuner<'a>>,
        changes: Vec<Change>,
        answer: &mut Answer,
    ) -> Result<(), TuneError> {
        let read = opening::read(&*self.root);
        let tuner = self.session(tuner)?;
        let mut written: Vec<Change> = Vec::new();
        for mut change in changes {
            // What a change a moment ago reset reads otherwise than when it was staged: that is no stranger's doing.
            let reset = written.iter().any(|other| other.device == change.device && resets(other, &change));
            if reset && let Ok(now) = self.actuator.read(&change.file) {
                change.from = now;
            }
            let outcome = tuner.apply(&read.machine, &change).map_err(|error| error.to_string());
            if matches!(outcome, Ok(Outcome::Accepted | Outcome::Adjusted { .. })) {
                written.push(change.clone());
            }
            answer.made.push((change, outcome));
        }
        answer.machine = Some(opening::read(&*self.root));
        Ok(())
    }

    fn undo<'a>(
        &'a self,
        tuner: &mut Option<Tuner<'a>>,
        which: &Undoing,
        answer: &mut Answer,
    ) -> Result<(), TuneError> {
        let read = opening::read(&*self.root);
        let tuner = self.session(tuner)?;
        let ledger = self.ledger()?.without_living(&self.journal, Some(tuner.session()));
        let own = [tuner.session()];
        let dead: Vec<&str>;
        let which = match which {
            Undoing::Own => Which::Sessions(&own),
            Undoing::Files(files) => Which::Files(files),
            Undoing::Sessions(sessions) => {
                dead = sessions.iter().map(String::as_str).filter(|id| self.journal.is_dead(id)).collect();
                Which::Sessions(&dead)
            }
        };
        answer.restored = tuner.undo(&read.machine, &ledger, &which, false)?;
        answer.machine = Some(opening::read(&*self.root));
        Ok(())
    }

    fn ledger(&self) -> Result<Ledger, JournalError> {
        Ok(Ledger::of(&self.journal.read()?, &self.boot))
    }

    /// Sessions that died with changes standing, of one purpose or of any but experiments.
    fn dead(&self, purpose: Option<Purpose>) -> Result<Vec<String>, JournalError> {
        let sessions = self.ledger()?.sessions;
        let wanted = |found: Purpose| purpose.map_or(found != Purpose::Experiment, |only| found == only);
        Ok(sessions
            .into_iter()
            .filter(|(id, found)| wanted(*found) && self.journal.is_dead(id))
            .map(|(id, _)| id)
            .collect())
    }

    fn account(&self, tuner: Option<&Tuner<'_>>, answer: &mut Answer) -> Result<(), JournalError> {
        answer.session = tuner.map(|tuner| tuner.session().to_owned());
        answer.ledger = self.ledger()?;
        let own = answer.session.as_ref();
        answer.dead = self.dead(None)?.into_iter().filter(|id| Some(id) != own).collect();
        Ok(())
    }
}

/// Whether the kernel changes the setting of `change` along with that of `other`.
fn resets(other: &Change, change: &Change) -> bool {
    SETTINGS.iter().any(|row| row.id == other.setting && row.also.contains(&change.setting))
}

/// Milliseconds since 1970, for the journal.
pub fn unix_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

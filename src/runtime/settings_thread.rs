//! The screen's requests to the [`SettingsService`], carried out in one session of the journal.

use std::{io, sync::Arc};

use super::{startup, worker::Worker};
use crate::{
    app::Message,
    model::Failed,
    tune::{
        Change, SettingsService, Tuner,
        change_log::ChangeLog,
        journal::{JournalError, Purpose, Stamp},
        tuner::TuneError,
        undo::Which,
    },
    ui::answer::{Answer, Undoing},
};

pub(super) enum Request {
    /// Reports changed settings, and restores those of a killed experiment.
    Look,
    /// Reports changed settings if the journal has changed since the last report.
    Follow,
    Apply(Vec<Change>),
    Undo(Undoing),
    /// Keeps the changes of these ended sessions.
    KeepDead(Vec<String>),
    /// Ends the session and keeps its changes.
    Keep,
}

/// Starts a worker for them; every request is answered once, but for one to follow the journal.
pub(super) fn start(
    service: Arc<SettingsService>,
    inline: bool,
    answer: impl Fn(Message) + Send + 'static,
) -> io::Result<Worker<Request>> {
    Worker::start(inline, move || {
        let mut session = Session { service, tuner: None, seen: None };
        move |request: Option<Request>| {
            match request {
                Some(Request::Follow) => {
                    session.follow().into_iter().for_each(|log| answer(Message::Journal(Box::new(log))));
                }
                Some(request) => answer(Message::Tuned(Box::new(session.answer(request)))),
                None => {}
            }
            false
        }
    })
}

struct Session {
    service: Arc<SettingsService>,
    /// Opened at the first change.
    tuner: Option<Tuner<'static>>,
    /// The journal's at the last report.
    seen: Option<Stamp>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // Changes left are offered for undo at the next start.
        let _ = self.tuner.take().map(Tuner::close);
    }
}

impl Session {
    fn answer(&mut self, request: Request) -> Answer {
        let mut answer = Answer::default();
        if let Err(error) = self.carry_out(request, &mut answer) {
            answer.error = Some(error.into());
        }
        if let Err(error) = self.account(&mut answer) {
            answer.error.get_or_insert(error.into());
        }
        answer
    }

    fn carry_out(&mut self, request: Request, answer: &mut Answer) -> Result<(), TuneError> {
        let service = Arc::clone(&self.service);
        match request {
            Request::Look => {
                answer.restored = service.recover()?;
                answer.error = service.damage()?.into_iter().next().map(|line| Failed::new(line, None));
                if answer.restored.is_empty() {
                    return Ok(());
                }
            }
            Request::Apply(changes) => {
                let made = service.apply(self.tuner()?, changes);
                answer.made = made.map(|(change, outcome)| (change, outcome.map_err(Failed::from))).collect();
            }
            // Without a change no session is opened.
            Request::Undo(Undoing::Own) if self.tuner.is_none() => return Ok(()),
            Request::Undo(which) => {
                let tuner = self.tuner()?;
                let own = [tuner.session()];
                let kept = if which == Undoing::Own { service.kept_by_others(tuner)? } else { Vec::new() };
                let dead: Vec<&str>;
                let which = match &which {
                    Undoing::Own => Which::Sessions(&own),
                    Undoing::Files(files) => Which::Files(files),
                    Undoing::Sessions(sessions) => {
                        let ids = sessions.iter().map(String::as_str);
                        dead = ids.filter(|id| service.journal.is_dead(id)).collect();
                        Which::Sessions(&dead)
                    }
                };
                answer.restored = service.undo(tuner, &which, false)?;
                answer.restored.extend(kept);
            }
            Request::Follow => return Ok(()),
            Request::KeepDead(sessions) => return Ok(service.keep_dead(&sessions)?),
            Request::Keep => return self.tuner.take().map_or(Ok(()), |tuner| service.keep_session(tuner)),
        }
        answer.machine = Some(startup::with_limits(service.read()));
        Ok(())
    }

    fn tuner(&mut self) -> Result<&Tuner<'static>, TuneError> {
        match &mut self.tuner {
            Some(tuner) => Ok(tuner),
            none => Ok(none.insert(self.service.open(Purpose::Screen)?)),
        }
    }

    /// The changed settings, if the journal has changed since the last report and can be read.
    fn follow(&mut self) -> Option<ChangeLog> {
        let is_new = self.service.journal.stamp() != self.seen;
        is_new.then(|| self.change_log().ok()).flatten()
    }

    fn change_log(&mut self) -> Result<ChangeLog, JournalError> {
        self.seen = self.service.journal.stamp();
        match &self.tuner {
            Some(tuner) => self.service.change_log_with(tuner),
            None => self.service.change_log(),
        }
    }

    fn account(&mut self, answer: &mut Answer) -> Result<(), TuneError> {
        answer.session = self.tuner.as_ref().map(|tuner| tuner.session().to_owned());
        answer.change_log = self.change_log()?;
        let own = answer.session.as_ref();
        answer.dead = self.service.dead()?.1.into_iter().filter(|id| Some(id) != own).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::mpsc};

    use super::*;
    use crate::{
        model::DriveName,
        tune::{
            Actuator, Device, Wanted, fake_kernel::FakeKernel, journal::Journal, settings::find,
            testing::machine_with_queue,
        },
    };

    #[test]
    fn what_another_process_keeps_is_reported_once() {
        let files = BTreeMap::from([("/sys/q/nomerges".to_owned(), "0".to_owned())]);
        let kernel = Arc::new(FakeKernel::new(files.clone()));
        let folder = tempfile::tempdir().unwrap();
        let service = Arc::new(SettingsService {
            actuator: kernel as Arc<dyn Actuator + Send + Sync>,
            journal: Journal::new(folder.path()),
            boot: Some("b".to_owned()),
            may_write: true,
            machine: Box::new(move || (machine_with_queue("loop7", &files), Vec::new())),
            clock: || 1,
        });
        let (sender, told) = mpsc::channel();
        let mut worker = start(Arc::clone(&service), true, move |message| {
            sender.send(message).unwrap();
        })
        .unwrap();
        let wanted = Wanted::new(Device::Drive(DriveName::new("loop7")), find("nomerges").unwrap(), "2");
        let planned = service.plan(&[wanted]).unwrap();
        worker.ask(Request::Apply(planned.clone()));
        let Message::Tuned(answer) = told.recv().unwrap() else { panic!("no answer") };
        let own = answer.session.unwrap();
        assert!(answer.change_log.entries[0].is_open_in(&own));
        worker.ask(Request::Follow);
        assert!(told.try_recv().is_err(), "only this process has written");
        let other = service.open(Purpose::Command).unwrap();
        other.apply(&service.read().0, &planned[0]).unwrap();
        other.keep().unwrap();
        worker.ask(Request::Follow);
        let Message::Journal(change_log) = told.recv().unwrap() else { panic!("no report") };
        assert!(!change_log.entries[0].is_open_in(&own));
        worker.ask(Request::Follow);
        assert!(told.try_recv().is_err(), "it is known");
    }
}

//! The screen's requests to the [`SettingsService`], carried out in one session of the journal.

use std::{io, sync::Arc};

use super::{startup, worker::Worker};
use crate::{
    model::Failed,
    tune::{Change, SettingsService, Tuner, journal::Purpose, tuner::TuneError, undo::Which},
    ui::answer::{Answer, Undoing},
};

pub(super) enum Request {
    /// Reports changed settings, and restores those of a killed experiment.
    Look,
    Apply(Vec<Change>),
    Undo(Undoing),
    /// Keeps the changes of these ended sessions.
    KeepDead(Vec<String>),
    /// Ends the session and keeps its changes.
    Keep,
}

/// Starts a worker for them; every request is answered once.
pub(super) fn start(
    service: Arc<SettingsService>,
    inline: bool,
    answer: impl Fn(Answer) + Send + 'static,
) -> io::Result<Worker<Request>> {
    Worker::start(inline, move || {
        let mut session = Session { service, tuner: None };
        move |request: Option<Request>| {
            if let Some(request) = request {
                answer(session.answer(request));
            }
            false
        }
    })
}

struct Session {
    service: Arc<SettingsService>,
    /// Opened at the first change.
    tuner: Option<Tuner<'static>>,
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
                (answer.restored, _) = service.recover()?;
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
            Request::KeepDead(sessions) => return Ok(service.keep_dead(&sessions)?),
            Request::Keep => return self.tuner.take().map_or(Ok(()), Tuner::keep),
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

    fn account(&self, answer: &mut Answer) -> Result<(), TuneError> {
        answer.session = self.tuner.as_ref().map(|tuner| tuner.session().to_owned());
        answer.change_log = match &self.tuner {
            Some(tuner) => self.service.change_log_with(tuner)?,
            None => self.service.change_log()?,
        };
        let own = answer.session.as_ref();
        answer.dead = self.service.dead()?.1.into_iter().filter(|id| Some(id) != own).collect();
        Ok(())
    }
}

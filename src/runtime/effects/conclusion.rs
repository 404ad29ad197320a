//! The test in progress when the screen is left: what it measured is stored, as that of a stopped test.

use std::time::Duration;

use super::Effects;
use crate::{
    app::{App, Effect, Message, update},
    runtime::{
        clock::Clock,
        inbox::{Inbox, Outside},
        run_history, settings_thread,
        worker::Worker,
    },
    ui::{answer::Undoing, settings::not_restored},
};

/// How long the result of a test that was stopped before is waited for.
const LEAVE: Duration = Duration::from_secs(2);

impl Effects {
    /// Stops the test in progress and stores its result. Gives the terminal back first; what cannot be stored is said after it.
    pub(in crate::runtime) fn conclude(&mut self, app: &mut App) {
        let mut first = self.first.take();
        let app = first.as_deref_mut().unwrap_or(app);
        if app.shared.tests.running().is_none() {
            return;
        }
        drop(self.screen.take());
        let Some(ended) = self.ended() else { return };
        for effect in update(app, ended) {
            let kept = match effect {
                Effect::KeepRun(record) => run_history::keep(&*record),
                Effect::Remember(limits) => run_history::remember(&limits),
                _ => Ok(()),
            };
            if let (Err(error), Some(leaving)) = (kept, &mut self.leaving) {
                leaving.last_words.push_str(&error.to_string());
                leaving.last_words.push('\n');
            }
        }
    }

    /// Restores settings changed by this run after a signal, an error of the terminal or a panic: the user has decided nothing.
    /// What could not be restored, a line each.
    pub(in crate::runtime) fn put_back(&mut self) -> String {
        let mut left = String::new();
        if self.leaving.as_ref().is_some_and(|leaving| leaving.by_user) {
            return left;
        }
        self.experiments.iter_mut().for_each(Worker::end);
        self.tune(settings_thread::Request::Undo(Undoing::Own));
        self.settings.iter_mut().for_each(Worker::end);
        while let Ok(outside) = self.inbox.try_next() {
            if let Outside::Message(Message::Tuned(answer)) = outside {
                // The last answer is that of the undo.
                left = not_restored(&answer.restored);
                left.extend(answer.error.map(|error| format!("{error}\n")));
            }
        }
        left
    }

    /// The result of the test: of one that was stopped before it is on its way.
    fn ended(&mut self) -> Option<Message> {
        if let Some(run) = self.run.take() {
            let ended = run.finish().ok()?;
            return Some(Message::RunEnded(Box::new(Ok((ended.run, ended.seconds))), self.clock.elapsed()));
        }
        awaited(&self.inbox, &self.clock)
    }
}

/// The result of a test that was stopped before, where it comes in time.
fn awaited(inbox: &Inbox, clock: &Clock) -> Option<Message> {
    let until = clock.now() + LEAVE;
    // Keys without end do not hold it up.
    while let left = until.saturating_duration_since(clock.now())
        && !left.is_zero()
    {
        if let Outside::Message(message @ Message::RunEnded(..)) = inbox.next_at_end(left).ok()? {
            return Some(message);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Failed, runtime::inbox::inbox};

    #[test]
    fn a_signal_that_ends_the_program_hides_no_result_and_the_wait_ends() {
        let (outlet, inbox) = inbox();
        outlet.end(15).unwrap();
        let ended = Message::RunEnded(Box::new(Err(Failed::new("stopped", None))), Duration::ZERO);
        outlet.sender().send(Outside::Message(ended)).unwrap();
        let clock = Clock::real();
        assert!(matches!(awaited(&inbox, &clock), Some(Message::RunEnded(..))));
        outlet.end(15).unwrap();
        assert!(awaited(&inbox, &clock).is_none(), "none comes");
    }
}

//! The test in progress when the screen is left: what it measured is stored, as that of a stopped test.

use std::time::Duration;

use super::Effects;
use crate::{
    app::{App, Effect, Message, update},
    runtime::{inbox::Outside, run_history},
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

    /// The result of the test: of one that was stopped before it is on its way.
    fn ended(&mut self) -> Option<Message> {
        if let Some(run) = self.run.take() {
            let ended = run.finish().ok()?;
            return Some(Message::RunEnded(Box::new(Ok((ended.run, ended.seconds))), self.clock.elapsed()));
        }
        let until = self.clock.now() + LEAVE;
        // Keys without end, or a terminal that is gone, have something to say at any time: only the clock ends the wait.
        loop {
            let left = until.saturating_duration_since(self.clock.now());
            if left.is_zero() {
                return None;
            }
            if let Outside::Message(message @ Message::RunEnded(..)) = self.inbox.next(left).ok()? {
                return Some(message);
            }
        }
    }
}

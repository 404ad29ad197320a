//! From one run of a pull to the next, and to its end.

use super::{App, Effect, overlay::Overlay};
use crate::ui::{Ask, SharedChange};

impl App {
    /// Begins the next run of the pull in progress; after the last one, judges it.
    pub(super) fn go_on(&mut self) -> Vec<Effect> {
        let Some(pull) = &self.shared.pulls.running else { return Vec::new() };
        let Some(step) = pull.next() else {
            if matches!(self.overlay, Some(Overlay::Quit)) {
                self.overlay = None;
            }
            if !self.shared.end_pull() {
                self.tell("Stopped before anything was measured: this is the pull before it");
            }
            return Vec::new();
        };
        let mut test = self.shared.test_of(step.workload.clone());
        test.pull = Some(pull.number());
        let mut effects = self.grant(vec![Ask::Change(SharedChange::BeginTest(Box::new(test)))]);
        effects.push(Effect::StartRun(Box::new(step.workload)));
        effects
    }
}

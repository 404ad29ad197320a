//! From one run of a pull to the next, and to its end.

use super::{App, Effect};
use crate::{
    findings::{self, Inputs},
    pull::Outcome,
    ui::SharedChange,
};

impl App {
    /// Begins the next run of the pull in progress; after the last one, judges it.
    pub(super) fn go_on(&mut self) -> Vec<Effect> {
        let Some(pull) = &self.shared.pulls.running else { return Vec::new() };
        if let Some(step) = pull.next() {
            let test = self.shared.test_of(step.workload.clone());
            let begin = SharedChange::BeginTest(Box::new(test));
            let mut effects = self.grant(vec![crate::ui::Ask::Change(begin)]);
            effects.push(Effect::StartRun(Box::new(step.workload)));
            return effects;
        }
        let (machine, limits) = (&self.shared.machine, &self.shared.limits);
        let findings =
            findings::check(&Inputs { units: self.shared.units, ..Inputs::at_rest(machine, limits) });
        let outcome = Outcome::new(machine, limits, &findings, pull, self.shared.units);
        self.shared.pulls.ended = self.shared.pulls.running.take().map(|pull| (pull, outcome));
        Vec::new()
    }
}

//! The end of a run, of a test or of a pull.

use std::time::Duration;

use super::{App, DYNO, Effect, overlay::Overlay};
use crate::{
    capacity,
    model::{Failed, RunSummary, Seconds},
    ui::{Mode, Shared, Subject},
};

impl App {
    /// Takes the result of a run: into the figures, the sheet and what is known of the machine.
    pub(super) fn end_run(
        &mut self,
        mut result: Result<(RunSummary, Seconds), Failed>,
        now: Duration,
    ) -> Vec<Effect> {
        let Shared { machine, limits, tests, .. } = &self.shared;
        let mut learned = Vec::new();
        // A line about the test in progress is over with it.
        let is_pull = self.shared.pulls.running.is_some();
        if result.is_ok() && !is_pull {
            self.notice = None;
        }
        if let (Ok((run, _)), Some(test)) = (&mut result, tests.running()) {
            learned = test.watch.conclude(machine, limits, machine, run);
        }
        for sentence in capacity::refutations(&self.shared.machine, &self.shared.limits, &learned) {
            self.warn(sentence);
        }
        let mut effects = Vec::new();
        if let Err(why) = &result
            && why.is_stop()
        {
            self.notice.take_if(|notice| !notice.problem);
            // The pull's page and the dyno say so by themselves.
            if !is_pull && self.screen != DYNO {
                self.tell("Stopped before the first read: nothing was measured");
            }
        } else if let Err(why) = &result {
            self.warn(why.to_string());
            // A question under the fingers of a person who reads or writes elsewhere would take a key meant for that.
            if !why.files().is_empty() && self.shared.pulls.running.is_none() && self.overlay.is_none() {
                effects = self.hand(DYNO, &Subject::Refused(why.files().to_vec()));
            }
        } else if matches!(self.overlay, Some(Overlay::Quit)) && self.shared.pulls.running.is_none() {
            self.overlay = None;
        }
        let keeps = !self.shared.pulls.is_step_on_the_way();
        if let Some(test) = self.shared.tests.running_mut() {
            test.end(result);
        }
        if let Some(test) = self.shared.tests.all.back() {
            self.shared.pulls.take(test, &self.shared.machine);
        }
        self.shared.load.end_test(now, self.shared.mode == Mode::Live);
        self.stats_bar.push_point(now, 0.0, 0.0);
        self.judge();
        self.shared.word();
        let live = self.shared.mode == Mode::Live;
        let boot = self.shared.machine.host.boot_id.value();
        let record =
            self.shared.tests.all.back().filter(|_| live && keeps).and_then(|test| test.record(boot));
        if !learned.is_empty() {
            effects.push(Effect::Remember(learned));
        }
        effects.extend(record.map(|record| Effect::KeepRun(Box::new(record))));
        if !keeps {
            self.shared.tests.all.pop_back();
        }
        effects.extend(self.go_on());
        effects
    }
}

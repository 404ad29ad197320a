//! [`Pulls`]: the pull that waits for consent, the one in progress, the last one that ended.

use std::time::Duration;

use crate::{
    machine::Machine,
    model::{Failed, RunSummary, Target},
    pull::{Done, Outcome, Phase, Pull, Step},
    tune::settings::differing,
};

use super::{settings::Done as Written, test::Test};

/// Pulls of this start.
#[derive(Debug, Clone, Default)]
pub struct Pulls {
    /// Asked for, and not agreed to yet.
    pub asked: Option<Pull>,
    /// In progress.
    pub running: Option<Pull>,
    /// The last one that ended, with what it found.
    pub ended: Option<(Pull, Outcome)>,
    /// Beside a stopped one, the last one that was finished; in its place, the stopped one.
    pub former: Option<(Pull, Outcome)>,
    /// The last one ended while another screen was shown, and its page was not shown since.
    pub is_unseen: bool,
    /// Pulls begun.
    count: u32,
    /// The sets of drives that the user agreed to read in this start.
    agreed: Vec<Vec<Target>>,
}

/// Whether every run of it was carried out.
fn is_finished((pull, outcome): &(Pull, Outcome)) -> bool {
    pull.stopped().is_none() && pull.failed().is_none() && outcome.headline.figures.is_some()
}

impl Pulls {
    /// Whether the user agreed to read these targets before.
    pub fn is_agreed(&self, targets: &[Target]) -> bool {
        self.agreed.iter().any(|set| targets.iter().all(|target| set.contains(target)))
    }

    /// The user agreed to read these targets.
    pub fn agree(&mut self, targets: Vec<Target>) {
        if !self.is_agreed(&targets) {
            self.agreed.push(targets);
        }
    }

    /// Begins the pull that waits.
    pub fn begin(&mut self) {
        let Some(pull) = self.asked.take() else { return };
        self.agree(pull.targets().to_vec());
        self.is_unseen = false;
        self.count += 1;
        self.running = Some(pull.numbered(self.count));
        let kept = [self.ended.take(), self.former.take()];
        self.former = kept.into_iter().flatten().find(is_finished);
    }

    /// Takes what the pull in progress came to. One that was stopped before it measured anything leaves the one before it:
    /// then false.
    pub fn end(&mut self, pull: Pull, outcome: Outcome) -> bool {
        let is_empty = outcome.drives.is_empty() && pull.failed().is_none();
        if is_empty && self.former.is_some() {
            self.ended = self.former.take();
            return false;
        }
        let ended = (pull, outcome);
        if is_finished(&ended) {
            self.former = None;
        }
        self.ended = Some(ended);
        true
    }

    /// Shows the other one of a stopped and a finished pull.
    pub fn swap(&mut self) {
        if self.former.is_some() {
            std::mem::swap(&mut self.ended, &mut self.former);
        }
    }

    /// Drops the pull that waits.
    pub fn leave(&mut self) {
        self.asked = None;
        if self.ended.is_none() && self.running.is_none() {
            self.ended = self.former.take();
        }
    }

    /// The one for the sheet: the last that was finished, else the last.
    pub fn finished(&self) -> Option<&(Pull, Outcome)> {
        let both = [&self.ended, &self.former];
        both.into_iter().flatten().find(|ended| is_finished(ended)).or(self.ended.as_ref())
    }

    /// The run in progress.
    pub fn step(&self) -> Option<Step> {
        self.running.as_ref()?.next()
    }

    /// Takes the end of the run in progress; drives that may not be read are offered as files.
    pub fn take(&mut self, test: &Test, machine: &Machine) {
        let Some((pull, step)) = self.running.as_mut().and_then(|pull| pull.next().map(|step| (pull, step)))
        else {
            return;
        };
        let Some(result) = test.result.clone() else { return };
        let files = result.as_ref().err().map(|why| why.files().to_vec()).unwrap_or_default();
        if test.stopping && result.is_err() {
            pull.stop();
        } else if !files.is_empty() {
            (self.asked, self.running) = (Some(pull.on_files(machine, files)), None);
        } else {
            pull.take(Done { step, result, seconds: test.seconds.clone(), each: test.each.clone() });
        }
    }

    /// Offers files in place of the drives of the pull that waits: they may not be read.
    pub fn refuse(&mut self, machine: &Machine, why: &Failed) {
        if let Some(pull) = self.asked.as_ref().filter(|_| !why.files().is_empty()) {
            self.asked = Some(pull.on_files(machine, why.files().to_vec()));
        }
    }

    /// Takes a reading of the machine: temperatures and links.
    pub fn see(&mut self, machine: &Machine, running: Option<&Test>) {
        let at = running.map_or(Duration::ZERO, |test| test.elapsed);
        self.asked.iter_mut().for_each(|pull| pull.see(machine, false, at));
        self.running.iter_mut().for_each(|pull| pull.see(machine, true, at));
    }

    /// Takes writes of settings while one is in progress.
    pub fn note_settings(&mut self, done: &[Written]) {
        let Some(pull) = &mut self.running else { return };
        for (setting, device) in done.iter().filter_map(Written::changed) {
            pull.note_setting(setting, &device);
        }
    }

    /// Notes settings with another value in the later of two readings while one is in progress.
    pub fn note_others(&mut self, before: &Machine, now: &Machine) {
        let Some(pull) = &mut self.running else { return };
        for (setting, device, value) in differing(before, now) {
            pull.note_other(setting.0, &device, value.as_str());
        }
    }

    /// Number and name of the phase in progress: `2 of 5: all drives together`.
    pub fn place(&self) -> Option<String> {
        let pull = self.running.as_ref()?;
        Some(pull.place(&pull.next()?))
    }

    /// Whether the run in progress is a step on the way, which no sheet lists.
    pub fn is_step_on_the_way(&self) -> bool {
        self.step().is_some_and(|step| matches!(step.phase, Phase::Alone | Phase::Jobs(_)))
    }

    /// Time read so far and time left at most, with what the run in progress has read.
    pub fn time(&self, running: Option<&Test>) -> Option<(Duration, Duration)> {
        let pull = self.running.as_ref()?;
        let read =
            |run: &RunSummary| run.targets.iter().map(|target| target.runtime).max().unwrap_or_default();
        let done: Duration = pull.done().iter().filter_map(|done| done.result.as_ref().ok().map(read)).sum();
        let now = running.map_or(Duration::ZERO, |test| test.elapsed);
        Some((done + now, pull.time_left().saturating_sub(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{capacity, machine::Drive, model::Reading, pull::Series, source, units::UnitSystem};

    #[test]
    fn a_setting_that_another_program_changes_during_a_pull_is_named() {
        let before = source::testing::demo("threadripper-before");
        let targets: Vec<Target> = before.hardware_drives().map(Drive::target).collect();
        let mut now = before.clone();
        let queue = &mut now.drives[0].queue;
        queue.nomerges = Reading::known(queue.nomerges.path(), 2);
        let words = |was: &Machine, is: &Machine| {
            let running = Some(Pull::new(was, targets.clone(), Series::Guided, None));
            let mut pulls = Pulls { running, ..Pulls::default() };
            pulls.note_others(was, is);
            let mut pull = pulls.running.unwrap();
            pull.stop();
            let limits = capacity::limits(is);
            Outcome::new(is, &limits, &[], &pull, UnitSystem::Decimal).headline.text
        };
        let said = words(&before, &now);
        let name = &before.drives[0].name;
        assert!(said.contains(&format!("Another program changed nomerges of {name} to 2 during")), "{said}");
        assert!(!words(&now, &now.clone()).contains("program"), "nothing changed");
    }
}

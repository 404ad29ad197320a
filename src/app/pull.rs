//! From one run of a pull to the next, and to its end.

use super::{App, DYNO, Effect, PULL, overlay::Overlay};
use crate::ui::{Ask, SharedChange, Subject};

impl App {
    /// Begins the next run of the pull in progress; after the last one, judges it.
    pub(super) fn go_on(&mut self) -> Vec<Effect> {
        let Some(pull) = &self.shared.pulls.running else { return Vec::new() };
        let Some(step) = pull.next() else {
            if matches!(self.overlay, Some(Overlay::Quit)) {
                self.overlay = None;
            }
            if !self.shared.end_pull() {
                self.tell("Stopped before the first read: this is the earlier pull");
            } else if self.screen != PULL {
                self.shared.pulls.is_unseen = true;
                // Who waits for it looks at something else meanwhile.
                self.tell_until_key(self.ended_pull());
            } else {
                // What it was waited for is on the screen.
                self.notice.take_if(|notice| !notice.problem);
            }
            return Vec::new();
        };
        let mut test = self.shared.test_of(step.workload.clone());
        test.pull = Some(pull.number());
        let mut effects = self.grant(vec![Ask::Change(SharedChange::BeginTest(Box::new(test)))]);
        effects.push(Effect::StartRun(Box::new(step.workload)));
        effects
    }

    /// Asks for a pull; one that ended unseen is shown first.
    pub(super) fn ask_pull(&mut self) -> Vec<Effect> {
        if let Some(why) = self.shared.untestable() {
            self.tell(why);
            return Vec::new();
        }
        let subject = (!self.shared.pulls.is_unseen).then_some(Subject::Pull);
        self.open(PULL, subject)
    }

    /// The figure of the pull that ended while another screen was shown.
    fn ended_pull(&self) -> String {
        let ended = self.shared.pulls.ended.as_ref();
        let again = if self.screen == DYNO { " again" } else { "" };
        match ended.map_or("", |(_, outcome)| outcome.headline.parts().0) {
            "" => format!("The pull has ended without a headline. {{dyno}}{again} shows its runs"),
            figure => format!("The pull has ended: {figure} {{dyno}}{again} shows its headline"),
        }
    }
}

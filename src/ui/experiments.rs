//! The experiment in progress, and what those before it came to.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    experiment::{Account, Phase, Plan},
    model::{DriveName, ExperimentId, ExperimentRecord, Failed},
    text::Label,
    ui::load::Way,
};

/// Where an experiment stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Its account.
    pub account: Account,
    /// Unix seconds of its beginning; 0 where time is counted.
    pub started: i64,
    /// What the run in progress reads of each drive.
    pub reads: Vec<(DriveName, Way)>,
    /// The figure arms are compared by, of the run in progress, where it can be told before its end.
    pub now: Option<f64>,
    /// Time since it began.
    pub elapsed: Duration,
}

/// Experiments of this start.
#[derive(Debug, Clone, Default)]
pub struct Experiments {
    /// The one on the what-if screen instead of the list.
    pub shown: Option<Progress>,
    /// Whether it was asked to end.
    pub stopping: bool,
    /// Those that ended with a result, oldest first.
    pub done: Vec<ExperimentRecord>,
    /// Which of them is the one on the screen.
    pub done_at: Option<usize>,
    /// Which of them are in the sheet.
    pub posted: BTreeSet<usize>,
}

impl Experiments {
    /// The experiment in progress.
    pub fn running(&self) -> Option<&Account> {
        self.shown.as_ref().map(|shown| &shown.account).filter(|account| !account.has_ended())
    }

    /// The one that ended because its drives may not be read, with the files that can be.
    pub fn refused(&self) -> Option<(&Account, &Failed)> {
        let account = self.shown.as_ref().map(|shown| &shown.account)?;
        let why = account.refused.as_ref().filter(|_| account.has_ended() && account.rounds == 0)?;
        Some((account, why))
    }

    /// The one shown instead of the list: not one whose drives may not be read.
    pub fn on_screen(&self) -> Option<&Progress> {
        self.shown.as_ref().filter(|_| self.refused().is_none())
    }

    /// Takes an experiment that is about to begin.
    pub fn begin(&mut self, plan: Plan) {
        let account = Account::new(plan);
        self.shown =
            Some(Progress { account, started: 0, reads: Vec::new(), now: None, elapsed: Duration::ZERO });
        self.stopping = false;
        self.done_at = None;
    }

    /// Takes what became of the one on the screen; the record when it has just ended with a result.
    pub fn take(&mut self, progress: Progress, boot: Option<&Label>) -> Option<ExperimentRecord> {
        // An experiment that is no longer shown is ignored.
        let shown = self.shown.as_ref()?;
        if shown.account.plan.experiment.id != progress.account.plan.experiment.id {
            return None;
        }
        self.stopping &= progress.account.phase != Phase::Ended;
        let ends = !shown.account.has_ended() && progress.account.has_result();
        let record = ends.then(|| progress.account.record(boot, progress.started));
        self.shown = Some(progress);
        let record = record?;
        // An extended experiment replaces its earlier record.
        let at = *self.done_at.get_or_insert(self.done.len());
        self.done.truncate(at);
        self.done.push(record.clone());
        // The newest verdict is in the sheet until it is taken out, as runs are.
        self.posted.insert(at);
        Some(record)
    }

    /// What keeping the winner would write: its settings, where it has any.
    pub fn winner(&self) -> Option<(ExperimentId, usize)> {
        let account = &self.shown.as_ref().filter(|shown| shown.account.has_ended())?.account;
        let winner = account.winner()?;
        (!account.plan.arms[winner].settings.is_empty()).then_some((account.plan.experiment.id, winner))
    }
}

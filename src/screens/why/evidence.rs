//! [`Evidence`]: means of the last looks, from which the sentence and the panels are made: one look has few samples of threads.

use std::{collections::VecDeque, time::Duration};

use crate::{
    counters::{
        Rates,
        activity::{Activity, ProcessRates},
    },
    report::stat::Averages,
    ui::{Mode, Shared},
};

/// Looks behind the means, a second each.
const LOOKS: usize = 4;
/// Looks in a row without a load after which earlier ones are forgotten.
const QUIET_LOOKS: usize = 2;
/// Bytes per second of drives below which nothing but logs moves, and of read and write calls below which only pipes and consoles do.
const QUIET: f64 = 2e6;
const QUIET_CALLS: f64 = 20e6;

/// The last looks at a live machine under one load, and their means.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    looks: VecDeque<Look>,
    means: Option<(Rates, Activity)>,
    with_test: bool,
}

#[derive(Debug, Clone)]
struct Look {
    rates: Rates,
    activity: Activity,
    is_quiet: bool,
}

impl Evidence {
    /// Takes the look of now; whether it is the first under another load.
    pub(super) fn take(&mut self, shared: &Shared) -> bool {
        let with_test = shared.tests.running().is_some();
        let (Some(rates), Some(_), Mode::Live) = (&shared.rates, &shared.activity.threads, &shared.mode)
        else {
            // A demo's figures are means already; what was not sampled is no evidence.
            *self = Self::default();
            return false;
        };
        let is_quiet = is_quiet(shared, rates);
        // The profile has looks of its own.
        let activity = Activity { profile: None, ..shared.activity.clone() };
        self.looks.push_back(Look { rates: rates.clone(), activity, is_quiet });
        let last = |count: usize| self.looks.iter().rev().take(count);
        let ends =
            last(QUIET_LOOKS).all(|look| look.is_quiet) && self.looks.iter().any(|look| !look.is_quiet);
        let begins = !is_quiet && self.looks.iter().rev().skip(1).all(|look| look.is_quiet);
        let is_other = ends || begins || self.with_test != with_test;
        let kept = if is_other { 1 } else { LOOKS };
        self.looks.drain(..self.looks.len().saturating_sub(kept));
        self.with_test = with_test;
        let mut averages = Averages::default();
        self.looks.iter().for_each(|look| averages.add(&look.rates, &look.activity));
        self.means = averages.means();
        is_other
    }

    /// The time that the means are of, where they are of several looks.
    pub(super) fn time(&self) -> Option<Duration> {
        let (rates, _) = self.means.as_ref()?;
        (self.looks.len() > 1).then_some(rates.elapsed)
    }

    /// Rates and activity that sentence and panels show; `None` before the first rates.
    pub(super) fn shown<'a>(&'a self, shared: &'a Shared) -> Option<(&'a Rates, &'a Activity)> {
        match (&self.means, &shared.mode) {
            (Some((rates, activity)), Mode::Live) => Some((rates, activity)),
            _ => Some((shared.rates.as_ref()?, &shared.activity)),
        }
    }
}

/// Whether hardly any bytes move.
fn is_quiet(shared: &Shared, rates: &Rates) -> bool {
    let disks = shared.machine.drives.iter().filter_map(|drive| rates.disks.get(&drive.name));
    let drives: f64 = disks.map(|disk| disk.read_bytes + disk.written_bytes).sum();
    let called = |process: &ProcessRates| {
        process.called_read.unwrap_or_default() + process.called_write.unwrap_or_default()
    };
    let calls: f64 = shared.activity.processes.iter().flatten().map(called).sum();
    drives < QUIET && calls < QUIET_CALLS
}

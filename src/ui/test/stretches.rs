//! Counters and looks at a test come from different threads: what the test read between two readings of the counters.

use std::{collections::VecDeque, time::Duration};

use crate::{
    counters::Rates,
    findings::validity::{OwnReads, RunMonitor},
    model::{DriveName, RunSample, RunState},
};

/// Looks and stretches of counters older than this are of no use to each other.
const KEPT: Duration = Duration::from_secs(5);

/// Stretches of counters that wait for the next look at the test.
#[derive(Debug, Clone, Default)]
pub(super) struct Stretches {
    looks: VecDeque<Look>,
    waiting: VecDeque<(Rates, Duration)>,
}

/// What the test had read at one moment, by target: drive, reads, bytes.
#[derive(Debug, Clone)]
struct Look {
    now: Duration,
    read: Vec<(Option<DriveName>, f64, f64)>,
}

impl Stretches {
    /// Counters of a stretch that ended at `at`.
    pub(super) fn counted(&mut self, rates: &Rates, at: Duration) {
        self.waiting.push_back((rates.clone(), at));
    }

    /// A look at the test.
    pub(super) fn sampled(&mut self, sample: &RunSample, now: Duration) {
        let has_begun = !self.looks.is_empty() || sample.state == RunState::Running;
        if !has_begun {
            return;
        }
        let read = sample.targets.iter().map(|seen| (seen.drive.clone(), seen.ios as f64, seen.bytes as f64));
        self.looks.push_back(Look { now, read: read.collect() });
        while self.looks.get(1).is_some_and(|look| look.now + KEPT < now) {
            self.looks.pop_front();
        }
    }

    /// Gives `watch` each stretch that lies between two looks, with what the test read in it.
    pub(super) fn settle(&mut self, watch: &mut RunMonitor) {
        let Some((first, last)) = self.looks.front().zip(self.looks.back()) else {
            self.waiting.clear();
            return;
        };
        let (first, last) = (first.now, last.now);
        while let Some((rates, at)) = self.waiting.pop_front_if(|(_, at)| *at <= last) {
            let Some(from) = at.checked_sub(rates.elapsed).filter(|from| *from >= first) else { continue };
            let before = self.at(from);
            let own =
                self.at(at).into_iter().zip(before).map(|((drive, ios, bytes), (_, earlier, fewer))| {
                    (drive, (ios - earlier).max(0.0), (bytes - fewer).max(0.0))
                });
            watch.take(&rates, &OwnReads::of(own));
        }
    }

    /// What had been read at a moment, from the looks around it.
    fn at(&self, moment: Duration) -> Vec<(Option<DriveName>, f64, f64)> {
        let later = self.looks.partition_point(|look| look.now < moment);
        let (Some(before), Some(after)) =
            (self.looks.get(later.saturating_sub(1)), self.looks.get(later).or(self.looks.back()))
        else {
            return Vec::new();
        };
        let span = after.now.saturating_sub(before.now).as_secs_f64();
        let share = if span > 0.0 { moment.saturating_sub(before.now).as_secs_f64() / span } else { 1.0 };
        let between = |before: f64, after: f64| before + (after - before) * share;
        let pairs = before.read.iter().zip(&after.read);
        pairs.map(|(b, a)| (a.0.clone(), between(b.1, a.1), between(b.2, a.2))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        counters::DiskRates,
        model::{LatencySummary, TargetSample, Workload, run::testing},
        source,
        text::Label,
    };

    fn sample(state: RunState, bytes: u64) -> RunSample {
        RunSample {
            at: Duration::ZERO,
            state,
            preparing: None,
            targets: vec![TargetSample {
                name: Label::new("/dev/nvme0n1"),
                drive: Some(DriveName::new("nvme0n1")),
                ios: bytes / 4096,
                bytes,
                errors: 0,
                latency: LatencySummary::default(),
                failed: None,
            }],
            batch: String::new(),
            simulated: false,
        }
    }

    /// A test that speeds up by 100 MB/s each second, looked at every 100 ms from 1.03 s on; counters are read at whole
    /// seconds and show `shown` of what it read.
    fn doubts(shown: f64) -> Vec<String> {
        let machine = source::testing::demo("x570");
        let read = |ms: u64| 50 * ms.saturating_sub(1030).pow(2);
        let (mut stretches, mut watch) = (Stretches::default(), RunMonitor::default());
        for ms in (930..6000).step_by(10) {
            if ms % 1000 == 0 {
                let bytes = shown * (read(ms) - read(ms - 1000)) as f64;
                let disk = DiskRates { read_bytes: bytes, ..DiskRates::default() };
                let disks = BTreeMap::from([(DriveName::new("nvme0n1"), disk)]);
                let rates = Rates { elapsed: Duration::from_secs(1), disks, ..Rates::default() };
                stretches.counted(&rates, Duration::from_millis(ms));
            }
            if ms % 100 == 30 {
                let state = if ms < 1030 { RunState::Preparing } else { RunState::Running };
                stretches.sampled(&sample(state, read(ms)), Duration::from_millis(ms));
            }
            stretches.settle(&mut watch);
        }
        assert_eq!(watch.rates().unwrap().elapsed, Duration::from_secs(3), "2.03 s to 5 s, whole");
        let mut run = testing::run(&["nvme0n1"], read(6000), Workload::default());
        watch.judge(&machine, &mut run);
        run.targets.remove(0).invalid_because
    }

    #[test]
    fn looks_at_other_moments_than_the_counters_are_compared_all_the_same() {
        assert_eq!(doubts(1.0), [""; 0]);
        assert_eq!(doubts(1.3), ["other reads from nvme0n1 meanwhile, 30 % of the bytes that the test read"]);
    }
}

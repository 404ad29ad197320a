//! [`Evidence`]: means of the last looks, from which the sentence and the panels are made: one look has few samples of threads.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use super::{
    programs::{Program, programs},
    waits,
};
use crate::{
    counters::{
        Rates,
        activity::{Activity, ProcessRates},
    },
    machine::Machine,
    report::stat::Averages,
};

/// Rates and activity of one time.
pub(crate) type Shown<'a> = (&'a Rates, &'a Activity);

/// Looks behind the means, a second each.
const LOOKS: usize = 4;
/// Looks in a row without a load after which earlier ones are forgotten.
const QUIET_LOOKS: usize = 2;
/// Bytes per second of drives below which nothing but logs moves, and of read and write calls below which only pipes and consoles do.
const QUIET: f64 = 2e6;
const QUIET_CALLS: f64 = 20e6;

/// The last looks at a live machine under one load, and their means.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    looks: VecDeque<Look>,
    means: Option<(Rates, Activity)>,
    with_test: bool,
    /// The means are of the load before: none of this one has been taken yet.
    is_of_before: bool,
}

#[derive(Debug, Clone)]
struct Look {
    rates: Rates,
    activity: Activity,
    is_quiet: bool,
    /// Drives move next to nothing, whatever programs read and write elsewhere.
    is_still: bool,
    /// The load began or ended in its time.
    is_part: bool,
}

impl Evidence {
    /// Takes the look of now; whether it is the first under another load. Without sampled threads it is no evidence.
    pub(crate) fn take(&mut self, machine: &Machine, (rates, now): Shown<'_>, with_test: bool) -> bool {
        let is_first = std::mem::take(&mut self.is_of_before);
        if now.threads.is_none() {
            *self = Self::default();
            return is_first;
        }
        let is_still = is_still(machine, rates);
        let is_quiet = is_still && calls_little(now);
        // The profile has looks of its own.
        let activity = Activity { profile: None, ..now.clone() };
        self.looks.push_back(Look { rates: rates.clone(), activity, is_quiet, is_still, is_part: false });
        let last = |count: usize| self.looks.iter().rev().take(count);
        let ends =
            last(QUIET_LOOKS).all(|look| look.is_quiet) && self.looks.iter().any(|look| !look.is_quiet);
        let begins = !is_quiet && self.looks.iter().rev().skip(1).all(|look| look.is_quiet);
        let means = self.means.as_ref().map(|(_, activity)| activity);
        // In a quiet look after others, short programs that move bytes may only pause.
        let may_pause = is_quiet && self.looks.iter().any(|look| !look.is_quiet);
        let has_ended = !may_pause && means.is_some_and(|means| has_ended(means, now));
        let has_begun = means.is_some_and(|means| has_begun(means, now));
        let is_other = is_first || ends || begins || has_begun || has_ended || self.with_test != with_test;
        let began_before = self.looks.iter().rev().skip(1).any(|look| is_part_of_load(&look.activity, now));
        let kept = if is_other || began_before { 1 } else { LOOKS };
        let is_part = has_begun || has_ended || begins && self.looks.len() > 1;
        self.looks.drain(..self.looks.len().saturating_sub(kept));
        // A whole look tells more of a load than one in which it began.
        if !is_quiet && self.looks.len() > 1 {
            self.looks.retain(|look| !look.is_part);
        }
        if let Some(look) = self.looks.back_mut() {
            look.is_part = is_part;
        }
        self.with_test = with_test;
        let mut averages = Averages::default();
        // Until a load has clearly ended, looks without it would only dilute it.
        let is_idle = self.looks.iter().all(|look| look.is_quiet);
        let counted = self.looks.iter().filter(|look| is_idle || !look.is_quiet);
        counted.for_each(|look| averages.add(&look.rates, &look.activity));
        self.means = averages.means();
        if let (Some((_, Activity { processes: Some(means), .. })), Some(now)) =
            (&mut self.means, &now.processes)
        {
            fold_ended(means, now);
        }
        is_other
    }

    /// Another load began or ended since the look before: the look of now spans both and is evidence of neither. Means stay those of
    /// the load before until the next look.
    pub(crate) fn change(&mut self) {
        self.looks.clear();
        self.is_of_before = true;
    }

    /// Whether the means are still those of the load before.
    pub(crate) const fn is_of_before(&self) -> bool {
        self.is_of_before
    }

    /// Whether the look of now has no load, and the means are of those before it that have one: it adds nothing to them.
    pub(crate) fn is_paused(&self) -> bool {
        self.looks.back().is_some_and(|look| look.is_quiet) && self.looks.iter().any(|look| !look.is_quiet)
    }

    /// The last looks in a row without I/O of drives, where the means have a burst of one before them.
    pub(crate) fn looks_after_burst(&self) -> usize {
        let after = self.looks.iter().rev().take_while(|look| look.is_still).count();
        if after < self.looks.len() { after } else { 0 }
    }

    /// The time that the means are of, where they are of several looks.
    pub(crate) fn time(&self) -> Option<Duration> {
        let (rates, _) = self.means.as_ref()?;
        (self.looks.len() > 1).then_some(rates.elapsed)
    }

    /// The means; `None` before the first look.
    pub(crate) fn means(&self) -> Option<Shown<'_>> {
        self.means.as_ref().map(|(rates, activity)| (rates, activity))
    }
}

/// Adds short processes that are gone by now to the row of those that ended.
fn fold_ended(means: &mut Vec<ProcessRates>, now: &[ProcessRates]) {
    let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
    let (gone, mut stay): (Vec<_>, Vec<_>) = std::mem::take(means).into_iter().partition(|process| {
        !process.has_ended && now.iter().all(|one| (one.pid, one.has_ended) != (process.pid, false))
    });
    for process in gone {
        match stay.iter_mut().find(|one| one.has_ended && one.command == process.command) {
            Some(ended) => {
                ended.read_bytes = sum(ended.read_bytes, process.read_bytes);
                ended.written_bytes = sum(ended.written_bytes, process.written_bytes);
                ended.called_read = sum(ended.called_read, process.called_read);
                ended.called_write = sum(ended.called_write, process.called_write);
                ended.cpus += process.cpus;
            }
            None => stay.push(process),
        }
    }
    stay.sort_by(ProcessRates::order);
    *means = stay;
}

/// Whether the program that moves most now began in the time of a look before: its waits for a CPU are not known there, and samples hardly
/// found its threads. Beside a later look the means would have all of its waits for a CPU and a part of the others.
fn is_part_of_load(before: &Activity, now: &Activity) -> bool {
    let is_kernel = |program: &Program| waits::is_kernel(now.threads.as_ref(), &program.command);
    let (before, now) = (programs(before, 0), programs(now, 0));
    let moving = now.iter().filter(|program| program.moved() > 0.0 && !is_kernel(program));
    let most = moving.max_by(|a, b| a.moved().total_cmp(&b.moved()));
    most.filter(|most| most.delayed().is_some()).is_some_and(|most| {
        let same = before.iter().find(|program| program.command == most.command);
        same.is_some_and(|program| program.delayed().is_none())
    })
}

/// Whether a program that did most of something in earlier looks is gone: those looks are of another load.
fn has_ended(means: &Activity, now: &Activity) -> bool {
    /// CPUs that a program keeps busy to be the load.
    const BUSY: f64 = 0.5;
    let (before, after) = (programs(means, 0), programs(now, 0));
    let kinds = now.threads.iter().flat_map(|threads| &threads.kinds);
    let living: BTreeSet<&str> = kinds.map(|(kind, _)| kind.command.as_str()).collect();
    let is_kernel = |command: &str| waits::is_kernel(means.threads.as_ref(), command);
    let is_there =
        |command: &str| living.contains(command) || after.iter().any(|program| program.command == command);
    let figures = |program: &Program| {
        [
            program.moved() / QUIET,
            (program.called_read + program.called_write) / QUIET_CALLS,
            program.cpus / BUSY,
        ]
    };
    (0..3).any(|at| {
        let all: f64 = before.iter().map(|program| figures(program)[at]).sum();
        let most = before.iter().find(|program| 2.0 * figures(program)[at] > all.max(2.0));
        most.is_some_and(|program| !is_kernel(&program.command) && !is_there(&program.command))
    })
}

/// Whether a program moves many times what all did in earlier looks: these are of another load.
fn has_begun(means: &Activity, now: &Activity) -> bool {
    /// Bytes per second that are a load.
    const LEAST: f64 = 20e6;
    /// More than a program that pauses in all looks but one.
    const TIMES: f64 = 2.0 * LOOKS as f64;
    let before: f64 = programs(means, 0).iter().map(Program::moved).sum();
    let is_kernel = |program: &Program| waits::is_kernel(now.threads.as_ref(), &program.command);
    let after = programs(now, 0);
    let moved = after.iter().filter(|program| !is_kernel(program)).map(Program::moved);
    moved.fold(0.0, f64::max) >= f64::max(LEAST, TIMES * before)
}

/// Whether drives move hardly any bytes.
fn is_still(machine: &Machine, rates: &Rates) -> bool {
    let disks = machine.drives.iter().filter_map(|drive| rates.disks.get(&drive.name));
    disks.map(|disk| disk.read_bytes + disk.written_bytes).sum::<f64>() < QUIET
}

/// Whether read and write calls move hardly any.
fn calls_little(activity: &Activity) -> bool {
    let called = |process: &ProcessRates| {
        process.called_read.unwrap_or_default() + process.called_write.unwrap_or_default()
    };
    activity.processes.iter().flatten().map(called).sum::<f64>() < QUIET_CALLS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counters::activity::{ThreadActivity, ThreadKind},
        source,
        text::Label,
    };

    fn process(pid: u32, name: &str, has_ended: bool, written: f64) -> ProcessRates {
        ProcessRates {
            pid,
            has_ended,
            command: Label::new(name),
            read_bytes: None,
            written_bytes: Some(written),
            called_read: None,
            called_write: None,
            cpus: 0.25,
            is_nice: false,
            delayed: None,
            drives: None,
        }
    }

    #[test]
    fn a_program_that_ended_is_no_evidence_of_what_goes_on() {
        let machine = source::testing::demo("laptop");
        let look = |of: &[(&str, f64, f64)], asleep: &[&str]| {
            let kind = |name: &&str| {
                let command = Label::new(name);
                let (syscall, wchan, stack) = (None, None, None);
                (ThreadKind { state: 'S', command, is_kernel: false, syscall, wchan, stack }, 1.0)
            };
            let processes = of.iter().map(|(name, written, cpus)| {
                let pid = name.bytes().next().map_or(0, u32::from);
                let called_write = Some(*written);
                ProcessRates { called_write, cpus: *cpus, ..process(pid, name, false, *written) }
            });
            let kinds = asleep.iter().map(kind).collect();
            let threads = ThreadActivity { kinds, samples: 4, ..ThreadActivity::default() };
            let rates = Rates { elapsed: Duration::from_secs(1), ..Rates::default() };
            let processes = Some(processes.collect());
            (rates, Activity { threads: Some(threads), processes, ..Activity::default() })
        };
        let after = |last: (Rates, Activity)| {
            let mut evidence = Evidence::default();
            let both = look(&[("fio", 80e6, 1.2), ("dd", 30e6, 0.2), ("yes", 0.0, 0.1)], &["fio", "dd"]);
            for _ in 0..3 {
                evidence.take(&machine, (&both.0, &both.1), false);
            }
            let is_other = evidence.take(&machine, (&last.0, &last.1), false);
            let means = evidence.means().unwrap().1.processes.clone().unwrap();
            (is_other, means.iter().map(|one| one.command.to_string()).collect::<Vec<_>>())
        };
        let dd = || ("dd", 30e6, 0.2);
        assert_eq!(after(look(&[dd()], &["dd"])), (true, vec!["dd".to_owned()]));
        let all = vec!["fio".to_owned(), "dd".to_owned(), "yes".to_owned()];
        assert_eq!(after(look(&[dd()], &["dd", "fio"])), (false, all.clone()), "it sleeps");
        assert_eq!(after(look(&[("fio", 80e6, 0.2)], &["fio"])), (false, all), "the lesser one ended");
    }

    #[test]
    fn a_look_in_which_the_load_began_is_not_joined_with_whole_ones() {
        let machine = source::testing::demo("laptop");
        let look = |cpus: f64, waits: f64, delayed: Option<f64>| {
            let (command, syscall) = (Label::new("fio"), Some(Label::new("io_getevents")));
            let wchan = Some(Label::new("read_events"));
            let kind = ThreadKind { state: 'S', command, is_kernel: false, syscall, wchan, stack: None };
            let kinds = vec![(kind, waits)];
            let threads = ThreadActivity { kinds, samples: 4, ..ThreadActivity::default() };
            let fio =
                ProcessRates { called_write: Some(80e6), cpus, delayed, ..process(7, "fio", false, 80e6) };
            let rates = Rates { elapsed: Duration::from_secs(1), ..Rates::default() };
            (rates, Activity { threads: Some(threads), processes: Some(vec![fio]), ..Activity::default() })
        };
        let mut evidence = Evidence::default();
        let mut means = |(rates, activity): (Rates, Activity)| {
            evidence.take(&machine, (&rates, &activity), false);
            let (rates, activity) = evidence.means().unwrap();
            let fio = &activity.processes.as_ref().unwrap()[0];
            let waits = activity.threads.as_ref().unwrap().kinds[0].1;
            (rates.elapsed.as_secs(), fio.cpus, waits, fio.delayed)
        };
        assert_eq!(means(look(0.1, 0.1, None)), (1, 0.1, 0.1, None));
        assert_eq!(means(look(0.2, 0.8, Some(0.3))), (1, 0.2, 0.8, Some(0.3)), "a first pair of samples");
        assert_eq!(means(look(0.2, 0.8, Some(0.3))).0, 2);
        assert_eq!(means(look(0.2, 0.8, None)).0, 3, "too many others moved more");
        assert_eq!(means(look(0.2, 0.8, Some(0.3))).0, 1);
    }

    #[test]
    fn a_look_in_which_the_load_began_leaves_the_means_after_a_whole_one() {
        let machine = source::testing::demo("laptop");
        let mut evidence = Evidence::default();
        let mut means = |name: &str, written: f64| {
            let called_write = Some(written);
            let of = ProcessRates { called_write, delayed: Some(0.0), ..process(7, name, false, written) };
            let rates = Rates { elapsed: Duration::from_secs(1), ..Rates::default() };
            let threads = Some(ThreadActivity { samples: 4, ..ThreadActivity::default() });
            let activity = Activity { threads, processes: Some(vec![of]), ..Activity::default() };
            let is_other = evidence.take(&machine, (&rates, &activity), false);
            let (_, activity) = evidence.means().unwrap();
            (is_other, activity.processes.as_ref().unwrap()[0].written_bytes.unwrap())
        };
        assert_eq!(means("dd", 0.0), (false, 0.0));
        assert_eq!(means("dd", 40e6), (true, 40e6), "a part of a second");
        assert_eq!(means("dd", 400e6), (true, 400e6), "many times as much");
        assert_eq!(means("dd", 200e6), (false, 200e6), "the first whole one");
        assert_eq!(means("dd", 400e6), (false, 300e6));
    }

    #[test]
    fn short_processes_that_are_gone_are_in_the_row_of_those_that_ended() {
        let now = [process(7, "dd", true, 50.0), process(9, "dd", false, 10.0)];
        let mut means = vec![
            process(7, "dd", true, 40.0),
            process(8, "dd", false, 5.0),
            process(9, "dd", false, 10.0),
            process(6, "cp", false, 1.0),
        ];
        fold_ended(&mut means, &now);
        let rows: Vec<_> =
            means.iter().map(|one| (one.pid, one.has_ended, one.written_bytes, one.cpus)).collect();
        assert_eq!(
            rows,
            [(7, true, Some(45.0), 0.5), (9, false, Some(10.0), 0.25), (6, false, Some(1.0), 0.25)]
        );
    }
}

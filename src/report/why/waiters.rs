//! The threads that wait for I/O, of the program that moves most.

use super::{
    Facts,
    busy::full,
    programs::{OwnTime, Program},
    waits::{self, Wait, Waiters},
};

impl<'a> Facts<'a> {
    pub(super) fn waiters(&self, wait: Wait) -> Option<Waiters<'a>> {
        // Busy CPUs are found running while they wait for a CPU.
        let few = self.least(0.3, 0.2);
        let is_full = full(self).is_some();
        let part = if is_full { few } else { self.least(0.5, 0.35) };
        // A thread that waits although several of its I/Os are in flight has time left: it is not what they wait for.
        let is_part = |waiters: &Waiters<'_>| {
            let is_one = waiters.is_one_thread() && !is_full;
            !waiters.is_one_each() && (is_one || waiters.is_most_of_them(few))
        };
        let of_several = || self.waiters_of(wait, self.least(0.2, 0.12)).filter(is_part);
        let waiters = self.waiters_of(wait, part).or_else(of_several)?;
        let is_for_drives = matches!(wait, Wait::Completion | Wait::PageCache);
        let is_there = !is_for_drives || self.are_in_drives(&waiters, self.least(0.25, 0.15));
        is_there.then_some(waiters)
    }

    /// Threads of a command of which at least this part waits so.
    pub(super) fn waiters_of(&self, wait: Wait, part: f64) -> Option<Waiters<'a>> {
        let threads = self.inputs.activity.threads.as_ref()?;
        // Others wait as well while one program moves most. Its own threads may have names that no program has.
        let is_test = self.inputs.test.is_some();
        let unnamed = self.mover().filter(|mover| !is_test && mover.may_be_in_others(threads));
        let is_unnamed = |command: &str| {
            unnamed.is_some_and(|mover| mover.is_another || command != waits::WORKERS)
                && waits::may_have_io(threads, command)
                && self.programs.iter().all(|program| program.command != command)
        };
        let counts = |command: &str| match (self.inputs.test, &self.mover) {
            (None, Some(mover)) => command == mover || is_unnamed(command),
            (Some(_), _) if command == waits::WORKERS => true,
            _ => waits::may_have_io(threads, command) && self.is_large(command),
        };
        let found = Waiters::most(threads, wait, (self.mover.as_deref(), self.inputs.said), counts);
        let is_worker = |mover: &&Program| !is_test && mover.command == waits::WORKERS;
        let found = found.map(|waiters| match unnamed.or_else(|| self.mover().filter(is_worker)) {
            Some(mover) => waiters.of_program(&mover.name),
            None => waiters,
        });
        let found = found.map(|waiters| match self.mover().filter(|_| !is_test) {
            Some(mover) if waiters.is_of(&mover.command) => waiters.of_kind(|active| mover.kind_of(active)),
            _ => waiters,
        });
        let found = found.map(|waiters| {
            let share = self.waiting_share(waiters.command());
            waiters.by_share(threads, share)
        });
        let found = found.filter(|waiters| waiters.is_most_of_them(part));
        found.filter(|waiters| self.inputs.test.is_none_or(|test| waiters.is_most_of(test)))
    }

    /// The one thread that waits for one I/O after the other, by the time in which a drive has that in flight: a thread that waits for
    /// 50 us at a time is seldom found waiting.
    pub(super) fn one_at_a_time(&self) -> Option<Waiters<'a>> {
        let (_, disk) = self.deepest?;
        let is_one = (self.least(0.5, 0.4)..self.most(1.2, 1.5)).contains(&disk.queue_depth);
        let waiters = self.waiters_of(Wait::Completion, 0.1).filter(|_| is_one)?;
        (waiters.is_one_each() && waiters.is_one_thread()).then_some(waiters)
    }

    /// Whether the threads of the program that moves most wait for I/O most of the time, where no test runs.
    pub(super) fn mover_waits(&self) -> bool {
        // It speaks against the rule that asks.
        let part = self.most(0.3, 0.5);
        let waits_on_io = || {
            if let Some(own) = OwnTime::of(self) {
                return Some(own.is_waiting(part));
            }
            let (command, threads) = self.mover.as_deref().zip(self.inputs.activity.threads.as_ref())?;
            let (running, active) = waits::running(threads, command);
            let waiting = active - running;
            Some(waiting >= part && waiting >= part * active)
        };
        self.inputs.test.is_none()
            && self.mover.is_some()
            && (self.one_at_a_time().is_some()
                || self.one_in_flight().is_some()
                || waits_on_io() == Some(true))
    }
}

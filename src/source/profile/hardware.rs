//! [`HardwareReader`]: cycles and instructions of all CPUs, from the hardware's counters.

use std::{io, time::Duration};

use perf_event::{Builder, Counter, events::Hardware as Event};

use super::events::{online, refusal};
use crate::{
    counters::profile::Hardware,
    model::{Problem, ProblemKind, errno_name},
    source::SysRoot,
};

/// Open counters, and what they counted so far.
#[derive(Default)]
pub struct HardwareReader {
    counters: Vec<(u32, [Counted; 2])>,
    at: Option<Duration>,
}

/// A counter with its last value.
struct Counted {
    counter: Counter,
    last: u64,
}

impl std::fmt::Debug for HardwareReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.counters.iter().map(|(cpu, _)| cpu)).finish()
    }
}

impl HardwareReader {
    /// What all CPUs counted since the last look, per second; the first look opens the counters and has nothing.
    pub fn look(&mut self, root: &dyn SysRoot, now: Duration) -> Option<Result<Hardware, Problem>> {
        if let Err(problem) = self.open(root) {
            *self = Self::default();
            return Some(Err(problem));
        }
        let [mut cycles, mut instructions] = [0, 0];
        for (_, [of_cycles, of_instructions]) in &mut self.counters {
            cycles += of_cycles.grown();
            instructions += of_instructions.grown();
        }
        let before = self.at.replace(now)?;
        let seconds = now.saturating_sub(before).as_secs_f64();
        (seconds > 0.0).then(|| {
            Ok(Hardware { cycles: cycles as f64 / seconds, instructions: instructions as f64 / seconds })
        })
    }

    /// Opens counters of CPUs that came online, and closes those of others.
    fn open(&mut self, root: &dyn SysRoot) -> Result<(), Problem> {
        let cpus = online(root)?;
        self.counters.retain(|(cpu, _)| cpus.contains(cpu));
        for cpu in cpus {
            if self.counters.iter().any(|(open, _)| *open == cpu) {
                continue;
            }
            let both = Counted::open(Event::CPU_CYCLES, cpu)
                .and_then(|cycles| Ok([cycles, Counted::open(Event::INSTRUCTIONS, cpu)?]));
            match both {
                Ok(both) => self.counters.push((cpu, both)),
                Err(error) => match error.raw_os_error() {
                    // It went offline.
                    Some(libc::ENODEV) => {}
                    Some(libc::ENOENT | libc::EOPNOTSUPP) => {
                        let name = error.raw_os_error().and_then(errno_name).unwrap_or_default();
                        let why = format!("{name}: no hardware counters, as in most virtual machines");
                        return Err(Problem::new(ProblemKind::Absent, super::events::CALL, why));
                    }
                    _ => return Err(refusal(&error, root)),
                },
            }
        }
        Ok(())
    }
}

impl Counted {
    fn open(event: Event, cpu: u32) -> io::Result<Self> {
        let mut builder = Builder::new(event);
        builder.any_pid().one_cpu(cpu as usize).include_kernel().enabled(true);
        Ok(Self { counter: builder.build()?, last: 0 })
    }

    /// What was counted since the last time; of counters that took turns with others, as much as they would have counted.
    fn grown(&mut self) -> u64 {
        let Ok(read) = self.counter.read_count_and_time() else { return 0 };
        let now = scaled(read.count, read.time_enabled, read.time_running);
        now.saturating_sub(std::mem::replace(&mut self.last, now))
    }
}

/// A count over the time the event was enabled, of one over the time it was on the hardware.
fn scaled(count: u64, enabled: u64, running: u64) -> u64 {
    if running == 0 || running >= enabled {
        return count;
    }
    let scaled = u128::from(count) * u128::from(enabled) / u128::from(running);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::root::LiveRoot;

    #[test]
    fn counters_of_this_machine_grow_or_say_why_not() {
        let counted = || {
            let mut reader = HardwareReader::default();
            reader.look(&LiveRoot, Duration::ZERO).unwrap_or_else(|| {
                std::hint::black_box((0_u64..1 << 22).map(std::hint::black_box).sum::<u64>());
                reader.look(&LiveRoot, Duration::from_secs(1)).expect("the counters are open")
            })
        };
        // A hypervisor may keep a counter for itself for a while.
        let grew = (0..5).any(|_| match counted() {
            Ok(Hardware { cycles, instructions }) => cycles > 1e6 && instructions > 1e5,
            Err(problem) => {
                assert_eq!(&*problem.path, "perf_event_open");
                assert!(problem.reason.contains(": "), "names the reason or the fix: {problem:?}");
                true
            }
        });
        assert!(grew, "neither grew nor said why not, five times");
    }

    proptest! {
        #[test]
        fn a_count_is_scaled_by_the_time_it_was_not_counted(
            count in 0_u64..1 << 50, enabled in 1_u64..1 << 50, part in 1_u64..8,
        ) {
            let running = (enabled / part).max(1);
            let scaled = scaled(count, enabled, running) as f64;
            let exact = count as f64 * enabled as f64 / running as f64;
            prop_assert!((scaled - exact).abs() <= 1.0 + exact * 1e-9);
            prop_assert_eq!(super::scaled(count, enabled, enabled), count);
            prop_assert_eq!(super::scaled(count, enabled, 0), count);
        }
    }
}

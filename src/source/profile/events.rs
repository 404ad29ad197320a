//! [`Events`]: one software clock event for each CPU, whose samples are read without waiting.

use std::{collections::HashMap, io};

use perf_event::{Builder, SampleFlag, Sampler, events::Software};

use super::record::{Record, Sample};
use crate::{
    model::{Problem, ProblemKind, cpu_list::parse_cpu_list, error_words},
    source::{SysRoot, root::text},
};

/// Samples of each CPU per second: not in step with timers of 100 or 1000 Hz.
const HERTZ: u64 = 99;
/// Bytes of a CPU's ring: some 340 samples of 24 bytes.
const RING: usize = 8192;
/// What a refusal is called.
pub(super) const CALL: &str = "perf_event_open";

/// Open events by CPU.
#[derive(Default)]
pub(super) struct Events(Vec<(u32, Sampler)>);

impl Events {
    /// Opens an event for each CPU that is online, and closes those of others.
    pub(super) fn open(&mut self, root: &dyn SysRoot) -> Result<(), Problem> {
        let cpus = online(root)?;
        self.0.retain(|(cpu, _)| cpus.contains(cpu));
        for cpu in cpus {
            if self.0.iter().any(|(open, _)| *open == cpu) {
                continue;
            }
            match event(cpu) {
                Ok(event) => self.0.push((cpu, event)),
                // It went offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => {
                    self.0.clear();
                    return Err(refusal(&error, root));
                }
            }
        }
        Ok(())
    }

    /// Adds the samples since the last time; the number of those that were lost.
    pub(super) fn drain(&mut self, samples: &mut HashMap<Sample, u64>) -> u64 {
        let mut lost = 0;
        for (_, event) in &mut self.0 {
            // What is written meanwhile is read the next time.
            for _ in 0..RING / 16 {
                let Some(record) = event.next_record() else { break };
                match Record::parse(record.ty(), record.misc(), &record.to_contiguous()) {
                    Record::Sample(sample) => *samples.entry(sample).or_default() += 1,
                    Record::Lost(records) => lost += records,
                    Record::Other => {}
                }
            }
        }
        lost
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(cpu, _)| cpu)).finish()
    }
}

/// The CPUs that are online.
pub(super) fn online(root: &dyn SysRoot) -> Result<Vec<u32>, Problem> {
    const ONLINE: &str = "/sys/devices/system/cpu/online";
    let cpus = root.read(ONLINE).map_err(|error| error.into_problem(ONLINE))?;
    parse_cpu_list(&String::from_utf8_lossy(&cpus))
        .map_err(|why| Problem::new(ProblemKind::Malformed, ONLINE, why))
}

/// The clock of a CPU, sampling all that it executes.
fn event(cpu: u32) -> io::Result<Sampler> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.any_pid().one_cpu(cpu as usize).include_kernel().enabled(true);
    builder.sample_frequency(HERTZ).sample(SampleFlag::IP | SampleFlag::TID);
    builder.build()?.sampled(RING)
}

/// Why events could not be opened, and what to set.
pub(super) fn refusal(error: &io::Error, root: &dyn SysRoot) -> Problem {
    let paranoid = text(root, "/proc/sys/kernel/perf_event_paranoid");
    let paranoid: Option<i32> = paranoid.value().and_then(|level| level.trim().parse().ok());
    let words = error_words(error);
    let (kind, fix) = match (error.raw_os_error(), paranoid) {
        (Some(libc::EACCES | libc::EPERM), Some(level)) if level > 0 => (
            ProblemKind::Denied,
            format!("run as root, or set kernel.perf_event_paranoid to 0 (now {level})"),
        ),
        (Some(libc::EACCES | libc::EPERM), _) => (
            ProblemKind::Denied,
            "allow it in the seccomp filter or security policy, or set kernel.perf_event_mlock_kb higher"
                .to_owned(),
        ),
        (Some(libc::ENOSYS), _) => (
            ProblemKind::Absent,
            "the kernel needs CONFIG_PERF_EVENTS, the container a seccomp filter that allows it".to_owned(),
        ),
        (Some(libc::EMFILE), _) => {
            (ProblemKind::Denied, "each CPU needs an open file; raise `ulimit -n`".to_owned())
        }
        _ => return Problem::new(ProblemKind::Malformed, CALL, words),
    };
    Problem::new(kind, CALL, format!("{words}; {fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(errno: i32, paranoid: Option<i32>) -> String {
        let folder = tempfile::tempdir().unwrap();
        if let Some(level) = paranoid {
            let setting = "proc/sys/kernel/perf_event_paranoid";
            crate::source::profile::tests::put(folder.path(), setting, &format!("{level}\n"));
        }
        let root = crate::source::root::FolderRoot::new(folder.path());
        let problem = refusal(&io::Error::from_raw_os_error(errno), &root);
        format!("{}: {}", problem.path, problem.reason)
    }

    #[test]
    fn refusals_say_what_to_set() {
        assert_eq!(
            reason(libc::EACCES, Some(2)),
            "perf_event_open: EACCES: Permission denied; run as root, or set kernel.perf_event_paranoid to 0 (now 2)"
        );
        assert!(reason(libc::EPERM, Some(-1)).contains("seccomp"));
        assert!(reason(libc::EPERM, None).contains("seccomp"));
        assert!(reason(libc::ENOSYS, Some(4)).contains("CONFIG_PERF_EVENTS"));
        assert!(reason(libc::EMFILE, Some(4)).contains("ulimit -n"));
        assert_eq!(reason(libc::EIO, None), "perf_event_open: EIO: Input/output error");
    }
}

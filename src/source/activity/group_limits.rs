//! [`LimitsReader`]: limits of the control groups of processes that move bytes.

use std::collections::{BTreeMap, HashMap};

use crate::{
    model::{GroupLimits, LimitKind},
    source::{SysRoot, cgroups, root},
};

/// Samples after which the limits of a process are looked up again.
const SAME_LIMITS: u64 = 5;

/// What was found of each process.
#[derive(Debug, Default)]
pub(super) struct LimitsReader {
    sample: u64,
    known: HashMap<u32, Known>,
}

#[derive(Debug)]
struct Known {
    /// When the process began, and the sample in which it was looked at.
    started: u64,
    looked: u64,
    limits: GroupLimits,
}

impl LimitsReader {
    /// Limits of these processes, each with its start, where they have any.
    pub(super) fn sample(
        &mut self,
        root: &dyn SysRoot,
        processes: impl Iterator<Item = (u32, u64)>,
        into: &mut BTreeMap<u32, GroupLimits>,
    ) {
        into.clear();
        self.sample += 1;
        let sample = self.sample;
        // Processes of one group have the same.
        let mut groups: HashMap<String, GroupLimits> = HashMap::new();
        for (pid, started) in processes {
            let is_known = |known: &Known| known.started == started && sample < known.looked + SAME_LIMITS;
            if !self.known.get(&pid).is_some_and(is_known) {
                let group = root::text(root, &format!("/proc/{pid}/cgroup"));
                let group = group.value().cloned().unwrap_or_default();
                let limits = groups.entry(group).or_insert_with_key(|group| {
                    // A target of latency delays others.
                    let io = cgroups::limits_of(root, group, |kind| kind != LimitKind::Latency);
                    GroupLimits { io, cpu: cgroups::cpu_quota_of(root, group) }
                });
                self.known.insert(pid, Known { started, looked: sample, limits: limits.clone() });
            }
            if let Some(known) = self.known.get(&pid).filter(|known| known.limits != GroupLimits::default()) {
                into.insert(pid, known.limits.clone());
            }
        }
        self.known.retain(|_, known| sample < known.looked + SAME_LIMITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::capture::{Capture, TextRoot};

    #[test]
    fn a_process_has_the_limits_of_its_group() {
        let look = |limit: u64| {
            let mut capture = Capture::default();
            let group = "/sys/fs/cgroup/blkio/slow";
            for (path, text) in [
                ("/proc/3/cgroup".to_owned(), "7:blkio:/slow\n".to_owned()),
                ("/proc/4/cgroup".to_owned(), "7:blkio:/\n".to_owned()),
                (format!("{group}/blkio.throttle.write_bps_device"), format!("254:0 {limit}\n")),
            ] {
                capture.answers.entry(path).or_default().read = Some(Ok(text.into()));
            }
            TextRoot::from(capture)
        };
        let (mut reader, mut limits) = (LimitsReader::default(), BTreeMap::new());
        let mut found = |limit, started| {
            reader.sample(&look(limit), [(3, started), (4, 70)].into_iter(), &mut limits);
            let of = |(pid, limits): (&u32, &GroupLimits)| {
                limits.io.iter().map(|limit| (*pid, limit.kind, limit.value)).collect::<Vec<_>>()
            };
            limits.iter().flat_map(of).collect::<Vec<_>>()
        };
        let of = |value| vec![(3, LimitKind::WrittenBytes, value)];
        assert_eq!(found(20_000_000, 70), of(20_000_000));
        assert_eq!(found(30_000_000, 70), of(20_000_000), "looked up now and then");
        assert_eq!(found(30_000_000, 99), of(30_000_000), "another process of that number");
        for _ in 0..4 {
            let _ = found(40_000_000, 99);
        }
        assert_eq!(found(40_000_000, 99), of(40_000_000));
    }
}

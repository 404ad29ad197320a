//! [`LimitsReader`]: limits of the control groups, and of the affinity, of processes that move bytes.

use std::collections::{BTreeMap, HashMap};

use crate::{
    model::{GroupLimits, LimitKind, MemoryLimit},
    source::{
        SysRoot,
        cgroups::{self, MemoryFile},
        root,
    },
    text::Label,
};

/// Samples after which the limits of a process are looked up again.
const SAME_LIMITS: u64 = 5;

/// What was found of each process.
#[derive(Debug, Default)]
pub(super) struct LimitsReader {
    sample: u64,
    known: HashMap<u32, Known>,
    /// How often memory limits were reached up to the last sample, by the file that sets each.
    reached: HashMap<String, u64>,
}

#[derive(Debug)]
struct Known {
    /// When the process began, and the sample in which it was looked at.
    started: u64,
    looked: u64,
    limits: GroupLimits,
    memory: Vec<MemoryFile>,
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
        let mut groups: HashMap<String, (GroupLimits, Vec<MemoryFile>)> = HashMap::new();
        let (before, mut counted) = (std::mem::take(&mut self.reached), HashMap::new());
        for (pid, started) in processes {
            let is_known = |known: &Known| known.started == started && sample < known.looked + SAME_LIMITS;
            if !self.known.get(&pid).is_some_and(is_known) {
                let group = root::text(root, &format!("/proc/{pid}/cgroup"));
                let group = group.value().cloned().unwrap_or_default();
                let only_cpu = only_cpu(root, pid);
                let (limits, memory) = groups.entry(group).or_insert_with_key(|group| {
                    // A target of latency delays others.
                    let io = cgroups::limits_of(root, group, |kind| kind != LimitKind::Latency);
                    let cpu = cgroups::cpu_quota_of(root, group);
                    let limits = GroupLimits { io, cpu, ..GroupLimits::default() };
                    (limits, cgroups::memory_limits_of(root, group))
                });
                let limits = GroupLimits { only_cpu, ..limits.clone() };
                self.known.insert(pid, Known { started, looked: sample, limits, memory: memory.clone() });
            }
            let Some(known) = self.known.get(&pid) else { continue };
            let reached = known.memory.iter().filter_map(|file| {
                let now = match counted.get(&file.path) {
                    Some(now) => *now,
                    None => file.reached(root).inspect(|now| _ = counted.insert(file.path.clone(), *now))?,
                };
                let reached = now.checked_sub(*before.get(&file.path)?).filter(|times| *times > 0)?;
                let path = Label::new(&file.path).as_str().into();
                Some(MemoryLimit { path, bytes: file.bytes, reached })
            });
            // Those above count what their groups reach too: of equal ones the innermost.
            let memory = reached.max_by_key(|limit| limit.reached);
            let limits = GroupLimits { memory, ..known.limits.clone() };
            if limits != GroupLimits::default() {
                into.insert(pid, limits);
            }
        }
        self.reached = counted;
        self.known.retain(|_, known| sample < known.looked + SAME_LIMITS);
    }
}

/// The CPU that a process is pinned to: a list of one number.
fn only_cpu(root: &dyn SysRoot, pid: u32) -> Option<u32> {
    let status = root::text(root, &format!("/proc/{pid}/status"));
    let allowed = status.value()?.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    allowed.trim().parse().ok()
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

    #[test]
    fn a_memory_limit_that_is_reached_and_a_single_cpu_are_found() {
        let look = |parent: u64, own: u64, cpus: &str| {
            let mut capture = Capture::default();
            for (path, text) in [
                ("/proc/3/cgroup", "0::/a/b\n".to_owned()),
                ("/proc/3/status", format!("Name:\tdd\nCpus_allowed_list:\t{cpus}\n")),
                ("/sys/fs/cgroup/a/memory.max", "67108864\n".to_owned()),
                ("/sys/fs/cgroup/a/memory.events", format!("low 0\nhigh 0\nmax {parent}\noom 0\n")),
                ("/sys/fs/cgroup/a/b/memory.max", "max\n".to_owned()),
                ("/sys/fs/cgroup/a/b/memory.high", "33554432\n".to_owned()),
                ("/sys/fs/cgroup/a/b/memory.events", format!("low 0\nhigh {own}\nmax 0\noom 0\n")),
            ] {
                capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(text.into()));
            }
            TextRoot::from(capture)
        };
        let (mut reader, mut limits) = (LimitsReader::default(), BTreeMap::new());
        let mut found = |parent, own, cpus| {
            reader.sample(&look(parent, own, cpus), [(3, 70)].into_iter(), &mut limits);
            let limit = limits.get(&3).and_then(|limits: &GroupLimits| limits.memory.clone());
            limit.map(|limit| (limit.path.to_string(), limit.bytes, limit.reached))
        };
        assert_eq!(found(5, 7, "1"), None, "one look is no rate");
        let row = |file: &str, bytes, times| Some((format!("/sys/fs/cgroup/a/{file}"), bytes, times));
        assert_eq!(found(5, 17, "1"), row("b/memory.high", 32 << 20, 10));
        assert_eq!(found(25, 18, "1"), row("memory.max", 64 << 20, 20));
        assert_eq!(found(25, 18, "1"), None);
        assert_eq!(limits.get(&3).and_then(|limits| limits.only_cpu), Some(1));
        for _ in 0..2 {
            reader.sample(&look(25, 18, "0-1"), [(3, 71)].into_iter(), &mut limits);
        }
        assert_eq!(limits.get(&3), None, "it may run on both");
    }

    #[test]
    fn a_memory_limit_of_cgroup_v1_is_found() {
        let look = |limit: u64, failures: u64| {
            let mut capture = Capture::default();
            for (path, text) in [
                ("/proc/3/cgroup", "4:memory:/slow\n".to_owned()),
                ("/sys/fs/cgroup/memory/slow/memory.limit_in_bytes", format!("{limit}\n")),
                ("/sys/fs/cgroup/memory/slow/memory.failcnt", format!("{failures}\n")),
            ] {
                capture.answers.entry(path.to_owned()).or_default().read = Some(Ok(text.into()));
            }
            TextRoot::from(capture)
        };
        for (limit, expected) in [(1 << 25, Some(900)), (9_223_372_036_854_771_712, None)] {
            let (mut reader, mut limits) = (LimitsReader::default(), BTreeMap::new());
            for failures in [100, 1000] {
                reader.sample(&look(limit, failures), [(3, 70)].into_iter(), &mut limits);
            }
            let memory = limits.get(&3).and_then(|limits: &GroupLimits| limits.memory.as_ref());
            assert_eq!(memory.map(|memory| memory.reached), expected);
        }
    }
}

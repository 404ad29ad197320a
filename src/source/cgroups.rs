//! Limits of the control groups that a process runs in: `io.max`, `io.latency`, `cpu.max`, `memory.max` and `memory.high` of cgroup
//! v2, `blkio.throttle.*`, `cpu.cfs_*` and `memory.limit_in_bytes` of v1 (Documentation/admin-guide/cgroup-v2.rst,
//! cgroup-v1/blkio-controller.rst, cgroup-v1/memory.rst, Documentation/scheduler/sched-bwc.rst).

use crate::{
    model::{CpuQuota, IoLimit, LimitKind},
    source::root::{self, SysRoot},
    text::Label,
};

/// Mount points: v2 alone, v2 beside v1 (which then has the I/O controller), v1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
const BLKIO: &str = "/sys/fs/cgroup/blkio";
const CPU: &str = "/sys/fs/cgroup/cpu";
const MEMORY: &str = "/sys/fs/cgroup/memory";

/// Files of cgroup v2, with the key of a limit.
const KEYS: [(&str, &str, LimitKind); 5] = [
    ("io.max", "rbps", LimitKind::ReadBytes),
    ("io.max", "riops", LimitKind::ReadIops),
    ("io.max", "wbps", LimitKind::WrittenBytes),
    ("io.max", "wiops", LimitKind::WriteIops),
    ("io.latency", "target", LimitKind::Latency),
];

/// Files of cgroup v1, each with one number a device.
const THROTTLES: [(&str, LimitKind); 4] = [
    ("blkio.throttle.read_bps_device", LimitKind::ReadBytes),
    ("blkio.throttle.read_iops_device", LimitKind::ReadIops),
    ("blkio.throttle.write_bps_device", LimitKind::WrittenBytes),
    ("blkio.throttle.write_iops_device", LimitKind::WriteIops),
];

/// Bytes of a cgroup's path, with its end (`PATH_MAX`).
const MOST_OF_PATH: usize = 4096;

/// Folders of a cgroup's path that are read. Containers within containers have some ten.
const MOST_DEPTH: usize = 128;

/// All read limits of this process' cgroups and their ancestors.
pub(super) fn io_limits(root: &dyn SysRoot) -> Vec<IoLimit> {
    let groups = root::text(root, "/proc/self/cgroup");
    limits_of(root, groups.value().map(String::as_str).unwrap_or_default(), |kind| !kind.is_of_writes())
}

/// Limits of these kinds of the cgroups in `groups`, the text of `/proc/PID/cgroup`, and of their ancestors.
pub(super) fn limits_of(
    root: &dyn SysRoot,
    groups: &str,
    counts: impl Fn(LimitKind) -> bool,
) -> Vec<IoLimit> {
    let mut limits = Vec::new();
    let lines = |file: String| {
        let text = root::text(root, &file).value().cloned().unwrap_or_default();
        text.lines().map(|line| (file.clone(), line.to_owned())).collect::<Vec<_>>()
    };
    for folder in folders_of(groups, &UNIFIED, None) {
        for name in ["io.max", "io.latency"] {
            let lines = lines(format!("{folder}/{name}"));
            let all = lines.iter().flat_map(|(file, line)| unified(name, file, line));
            limits.extend(all.filter(|limit| counts(limit.kind)));
        }
    }
    for folder in folders_of(groups, &[BLKIO], Some("blkio")) {
        for (name, kind) in THROTTLES.into_iter().filter(|(_, kind)| counts(*kind)) {
            let lines = lines(format!("{folder}/{name}"));
            limits.extend(lines.iter().filter_map(|(file, line)| throttle(kind, file, line)));
        }
    }
    limits
}

/// The least CPU time that the cgroups in `groups` and their ancestors allow.
pub(super) fn cpu_quota_of(root: &dyn SysRoot, groups: &str) -> Option<CpuQuota> {
    let numbers = |file: &str| -> Vec<f64> {
        let text = root::text(root, file).value().cloned().unwrap_or_default();
        // `max` and -1 are no quota.
        text.split_whitespace().map_while(|word| word.parse::<u64>().ok()).map(|us| us as f64).collect()
    };
    let made = |path: String, quota: f64, period: f64| {
        (period > 0.0).then(|| CpuQuota { path: Label::new(&path).as_str().into(), cpus: quota / period })
    };
    let unified = folders_of(groups, &UNIFIED, None).into_iter().filter_map(|folder| {
        let path = format!("{folder}/cpu.max");
        let [quota, period] = numbers(&path)[..] else { return None };
        made(path, quota, period)
    });
    let older = folders_of(groups, &[CPU], Some("cpu")).into_iter().filter_map(|folder| {
        let path = format!("{folder}/cpu.cfs_quota_us");
        let [quota] = numbers(&path)[..] else { return None };
        let [period] = numbers(&format!("{folder}/cpu.cfs_period_us"))[..] else { return None };
        made(path, quota, period)
    });
    unified.chain(older).min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// A memory limit, and where the kernel counts how often it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryFile {
    /// The file that sets it.
    pub(super) path: String,
    pub(super) bytes: u64,
    counter: String,
    /// Of several counters in that file.
    key: Option<&'static str>,
}

impl MemoryFile {
    /// How often it was reached.
    pub(super) fn reached(&self, root: &dyn SysRoot) -> Option<u64> {
        let text = root::text(root, &self.counter);
        let text = text.value()?;
        let Some(key) = self.key else { return text.trim().parse().ok() };
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
        value.trim().parse().ok()
    }
}

/// Memory limits of the cgroups in `groups` and of their ancestors, topmost first.
pub(super) fn memory_limits_of(root: &dyn SysRoot, groups: &str) -> Vec<MemoryFile> {
    /// v1 has a number instead of `max`: the largest page count.
    const NO_LIMIT: u64 = 1 << 62;
    let made = |folder: &str, name: &str, counter: &str, key: Option<&'static str>| {
        let path = format!("{folder}/{name}");
        let bytes = root::text(root, &path).value()?.trim().parse().ok()?;
        (bytes < NO_LIMIT).then(|| MemoryFile { path, bytes, counter: format!("{folder}/{counter}"), key })
    };
    let unified = folders_of(groups, &UNIFIED, None);
    let unified = unified.iter().flat_map(|folder| {
        [("memory.max", "max"), ("memory.high", "high")]
            .into_iter()
            .filter_map(move |(name, key)| made(folder, name, "memory.events", Some(key)))
    });
    let older = folders_of(groups, &[MEMORY], Some("memory"));
    let older =
        older.iter().filter_map(|folder| made(folder, "memory.limit_in_bytes", "memory.failcnt", None));
    unified.chain(older).collect()
}

/// Folders of the cgroup in `groups`, the text of `/proc/PID/cgroup`, and of its ancestors, topmost first: of that controller of v1,
/// or of v2. A controller is in one hierarchy.
fn folders_of(groups: &str, mounts: &[&str], controller: Option<&str>) -> Vec<String> {
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_its = match controller {
            None => number == "0" && controllers.is_empty(),
            Some(controller) => controllers.split(',').any(|one| one == controller),
        };
        is_its.then_some(path)
    });
    let path = path.filter(|path| path.len() < MOST_OF_PATH);
    path.iter().flat_map(|path| mounts.iter().flat_map(|mount| folders(mount, path))).collect()
}

/// The cgroup at `path` and its ancestors, topmost first. A cgroup outside of the namespace has no folder.
fn folders(mount: &str, path: &str) -> Vec<String> {
    let mut folders = vec![mount.to_owned()];
    let steps = path.split('/').filter(|step| !step.is_empty());
    for step in steps.take_while(|step| !matches!(*step, "." | "..")).take(MOST_DEPTH) {
        let above = folders.last().map_or(mount, String::as_str);
        folders.push(format!("{above}/{step}"));
    }
    folders
}

/// `259:0 rbps=max wbps=max riops=1000 wiops=max`, `259:0 target=75`.
fn unified(name: &str, file: &str, line: &str) -> Vec<IoLimit> {
    let mut words = line.split_whitespace();
    let Some(device) = words.next() else { return Vec::new() };
    let limit = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let (_, _, kind) = KEYS.iter().find(|(of, known, _)| *of == name && *known == key)?;
        // `max` is no limit.
        made(file, device, *kind, value)
    };
    words.filter_map(limit).collect()
}

/// `259:0 1000`.
fn throttle(kind: LimitKind, file: &str, line: &str) -> Option<IoLimit> {
    let (device, value) = line.split_once(' ')?;
    made(file, device, kind, value.trim())
}

fn made(file: &str, device: &str, kind: LimitKind, value: &str) -> Option<IoLimit> {
    let value = value.parse().ok().filter(|value| *value > 0)?;
    Some(IoLimit { path: Label::new(file).as_str().into(), device: Label::new(device), kind, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::capture::{Capture, TextRoot};

    fn limits(files: &[(&str, &str)]) -> Vec<(String, String, LimitKind, u64)> {
        let mut capture = Capture::default();
        for (path, text) in files {
            capture.answers.entry((*path).to_owned()).or_default().read = Some(Ok(text.as_bytes().to_vec()));
        }
        let limits = io_limits(&TextRoot::from(capture)).into_iter();
        limits
            .map(|limit| (limit.path.to_string(), limit.device.to_string(), limit.kind, limit.value))
            .collect()
    }

    #[test]
    fn limits_of_the_own_group_and_of_all_above_it_are_found() {
        let found = limits(&[
            ("/proc/self/cgroup", "0::/a.slice/b.scope\n"),
            (
                "/sys/fs/cgroup/a.slice/io.max",
                "259:0 rbps=1048576 wbps=max riops=max wiops=7\n8:0 rbps=max\n",
            ),
            ("/sys/fs/cgroup/a.slice/b.scope/io.max", "259:0 rbps=max wbps=max riops=1000 wiops=max\n"),
            ("/sys/fs/cgroup/a.slice/b.scope/io.latency", "8:0 target=75\n"),
            ("/sys/fs/cgroup/c.slice/io.max", "259:0 riops=1\n"),
        ]);
        let row = |path: &str, device: &str, kind, value| {
            (format!("/sys/fs/cgroup/a.slice/{path}"), device.to_owned(), kind, value)
        };
        assert_eq!(
            found,
            [
                row("io.max", "259:0", LimitKind::ReadBytes, 1 << 20),
                row("b.scope/io.max", "259:0", LimitKind::ReadIops, 1000),
                row("b.scope/io.latency", "8:0", LimitKind::Latency, 75),
            ]
        );
    }

    #[test]
    fn of_lines_that_no_kernel_writes_few_folders_are_read() {
        let folders = |groups: &str| folders_of(groups, &UNIFIED, None);
        assert_eq!(folders(&"0::/a\n".repeat(400_000)).len(), 4);
        assert_eq!(folders(&format!("0::{}\n", "/a".repeat(2_000))).len(), 2 * (MOST_DEPTH + 1));
        assert_eq!(folders(&format!("0::{}\n", "/a".repeat(30_000))), Vec::<String>::new());
    }

    #[test]
    fn the_least_cpu_time_of_a_group_and_those_above_it_is_found() {
        let quota = |files: &[(&str, &str)]| {
            let mut capture = Capture::default();
            for (path, text) in files {
                let text = Some(Ok(text.as_bytes().to_vec()));
                capture.answers.entry(format!("/sys/fs/cgroup/{path}")).or_default().read = text;
            }
            let groups = "4:cpuset:/x\n3:cpu,cpuacct:/x\n0::/a/b\n";
            let found = cpu_quota_of(&TextRoot::from(capture), groups)?;
            Some((found.path.to_string(), found.cpus))
        };
        let row = |path: &str, cpus| Some((format!("/sys/fs/cgroup/{path}"), cpus));
        assert_eq!(quota(&[("a/b/cpu.max", "max 100000\n")]), None);
        let above = ("a/cpu.max", "150000 100000\n");
        assert_eq!(quota(&[above, ("a/b/cpu.max", "max 100000\n")]), row("a/cpu.max", 1.5));
        assert_eq!(quota(&[above, ("a/b/cpu.max", "5000 10000\n")]), row("a/b/cpu.max", 0.5));
        let period = ("cpu/x/cpu.cfs_period_us", "50000\n");
        let older = |text| quota(&[period, ("cpu/x/cpu.cfs_quota_us", text)]);
        assert_eq!(older("10000\n"), row("cpu/x/cpu.cfs_quota_us", 0.2));
        assert_eq!(older("-1\n"), None);
        assert_eq!(quota(&[("a/cpu.max", "1 0\n")]), None, "a period of nothing");
    }

    #[test]
    fn the_older_hierarchy_and_containers_are_understood() {
        let found = limits(&[
            ("/proc/self/cgroup", "9:cpu:/x\n7:net,blkio:/x\n0::/../y\nnonsense\n"),
            ("/sys/fs/cgroup/blkio/x/blkio.throttle.read_iops_device", "7:0 500\n"),
            ("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "7:0 4096\nodd\n"),
            ("/sys/fs/cgroup/io.max", "254:0 riops=10\n"),
        ]);
        let kinds: Vec<_> =
            found.iter().map(|(_, device, kind, value)| (device.as_str(), *kind, *value)).collect();
        assert_eq!(
            kinds,
            [
                ("254:0", LimitKind::ReadIops, 10),
                ("7:0", LimitKind::ReadBytes, 4096),
                ("7:0", LimitKind::ReadIops, 500)
            ]
        );
        assert_eq!(limits(&[]), []);
    }
}

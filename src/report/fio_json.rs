//! A run as fio's JSON document, with fields of iodyno's own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

use super::json::VERSION;
use crate::{
    capacity::{Expected, Potential},
    model::{Effective, EngineKind, LatencySummary, RunSummary, Seconds, TargetSummary, Workload},
    text::Label,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FioDocument {
    #[serde(rename = "fio version")]
    fio_version: String,
    timestamp: i64,
    interrupted: bool,
    simulated: bool,
    effective: Effective,
    /// Options of a job file that were not run.
    left_out: Vec<String>,
    /// Differences from fio.
    notes: Vec<String>,
    jobs: Vec<Job>,
}

/// A finished run, with job name, expected rate, potential and rate over time of each target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    pub run: RunSummary,
    pub names: Vec<Arc<str>>,
    pub expected: Vec<Option<Expected>>,
    pub potentials: Vec<Option<Potential>>,
    pub seconds: Vec<Seconds>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Job {
    jobname: String,
    /// Counts the runs, from 0.
    groupid: usize,
    error: u32,
    /// Of this run: a job file's runs may differ.
    effective: Effective,
    /// Seconds, as fio counts them.
    elapsed: u64,
    #[serde(rename = "job options")]
    options: BTreeMap<&'static str, String>,
    read: Read,
    latency_ns: Entries<f64>,
    latency_us: Entries<f64>,
    latency_ms: Entries<f64>,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    cpu_ns_per_io: CpuPerIo,
    calls: u64,
    depth_reached: Option<f64>,
    interrupts_per_io: Option<f64>,
    errors: u64,
    first_error: Option<Label>,
    valid: bool,
    invalid_because: Vec<String>,
    expected: Option<Expected>,
    potential: Option<Potential>,
    simulated: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Read {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    /// By the seconds of the run: KiB/s.
    bw_min: u64,
    bw_max: u64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: usize,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: usize,
    clat_ns: Option<Clat>,
    /// From submission on: the same as `clat_ns`, as the clock is read before submission; `None` with exact timing.
    lat_ns: Option<Lat>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Lat {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Clat {
    #[serde(flatten)]
    spread: Lat,
    /// `"1.000000": 4048`, ascending.
    percentile: Entries<u64>,
}

/// An object of fio's with its keys in fio's order.
#[derive(Debug, Clone, PartialEq)]
struct Entries<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Entries<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Percent of the reads by latency, up to each of [`LatencySummary::LIMITS`] in a unit: 0 nanoseconds, 1 microseconds,
/// 2 milliseconds.
fn ranges(latency: Option<&LatencySummary>, unit: usize) -> Entries<f64> {
    let (nanoseconds, limits) = (1000_u64.pow([0, 1, 2][unit]), LatencySummary::LIMITS.len());
    let share = |at: usize| {
        let count = latency.and_then(|latency| Some(*latency.within.get(at)? as f64 / latency.count as f64));
        100.0 * count.unwrap_or(0.0)
    };
    let end = if unit == 2 { limits } else { 10 * (unit + 1) };
    let name = |at: usize| (LatencySummary::LIMITS[at] / nanoseconds).to_string();
    let beyond = (unit == 2).then(|| (">=2000".to_owned(), share(limits)));
    Entries((10 * unit..end).map(|at| (name(at), share(at))).chain(beyond).collect())
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CpuPerIo {
    user: f64,
    system: f64,
}

impl FioDocument {
    /// The document of consecutive runs, with options left out of a job file and other differences from fio; `None` of no
    /// run.
    pub(crate) fn new(runs: &[Finished], left_out: Vec<String>, notes: Vec<String>) -> Option<Self> {
        let first = &runs.first()?.run;
        let jobs = runs.iter().enumerate().flat_map(|(group, finished)| finished.jobs(group));
        Some(Self {
            fio_version: format!("iodyno {VERSION}"),
            timestamp: first.started,
            interrupted: runs.iter().any(|finished| finished.run.interrupted),
            simulated: first.simulated,
            effective: first.effective.clone(),
            left_out,
            notes,
            jobs: jobs.collect(),
        })
    }
}

impl Finished {
    fn jobs(&self, group: usize) -> impl Iterator<Item = Job> {
        (0..self.run.targets.len()).map(move |index| self.job(group, index))
    }

    fn job(&self, group: usize, index: usize) -> Job {
        let (run, target) = (&self.run, &self.run.targets[index]);
        let name = self.names.get(index).map_or("iodyno", |name| &**name);
        let rates = self.seconds.get(index).map_or(&[][..], |seconds| &seconds.rates);
        let seconds = target.runtime.as_secs_f64();
        let jobs = f64::from(run.workload.jobs.max(1));
        let share = |spent: Duration| {
            if seconds > 0.0 { 100.0 * spent.as_secs_f64() / seconds / jobs } else { 0.0 }
        };
        let per_io = |spent: Duration| {
            if target.ios > 0 { spent.as_secs_f64() * 1e9 / target.ios as f64 } else { 0.0 }
        };
        Job {
            jobname: name.to_owned(),
            groupid: group,
            effective: run.effective.clone(),
            error: target.errno.map_or(0, i32::unsigned_abs),
            elapsed: target.runtime.as_secs() + 1,
            options: options(&run.workload, target, name),
            read: read(run, target, rates),
            latency_ns: ranges(target.latency.as_ref(), 0),
            latency_us: ranges(target.latency.as_ref(), 1),
            latency_ms: ranges(target.latency.as_ref(), 2),
            usr_cpu: share(target.cpu_user),
            sys_cpu: share(target.cpu_system),
            ctx: target.context_switches,
            majf: target.major_faults,
            minf: target.minor_faults,
            cpu_ns_per_io: CpuPerIo { user: per_io(target.cpu_user), system: per_io(target.cpu_system) },
            calls: target.calls,
            depth_reached: target.depth_reached,
            interrupts_per_io: target.interrupts_per_read,
            errors: target.errors,
            first_error: target.first_error.clone(),
            valid: target.invalid_because.is_empty(),
            invalid_because: target.invalid_because.clone(),
            expected: self.expected.get(index).cloned().flatten(),
            potential: self.potentials.get(index).cloned().flatten(),
            simulated: run.simulated,
        }
    }
}

fn read(run: &RunSummary, target: &TargetSummary, rates: &[f64]) -> Read {
    let bytes_per_read = if target.ios > 0 { target.bytes as f64 / target.ios as f64 } else { f64::INFINITY };
    // Other engines have no exact timing.
    let is_exact = run.workload.exact_timing && run.effective.engine == EngineKind::IoUring;
    let (bw, iops) = (Spread::of(rates, 1024.0), Spread::of(rates, bytes_per_read));
    Read {
        io_bytes: target.bytes,
        io_kbytes: target.bytes >> 10,
        bw_bytes: whole(target.bytes_per_second()),
        bw: whole(target.bytes_per_second()) >> 10,
        iops: target.iops(),
        runtime: u64::try_from(target.runtime.as_millis()).unwrap_or(u64::MAX),
        total_ios: target.ios,
        bw_min: whole(bw.min),
        bw_max: whole(bw.max),
        bw_mean: bw.mean,
        bw_dev: bw.deviation,
        bw_samples: rates.len(),
        iops_min: whole(iops.min),
        iops_max: whole(iops.max),
        iops_mean: iops.mean,
        iops_stddev: iops.deviation,
        iops_samples: rates.len(),
        clat_ns: target.latency.as_ref().map(clat),
        lat_ns: target.latency.as_ref().filter(|_| !is_exact).map(lat),
    }
}

/// Zeros without values, as fio has it.
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Of bytes per second, in units of `unit` bytes.
    fn of(rates: &[f64], unit: f64) -> Self {
        let count = rates.len() as f64;
        let values = || rates.iter().map(|rate| rate / unit);
        let mean = if rates.is_empty() { 0.0 } else { values().sum::<f64>() / count };
        let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
        Self {
            min: values().reduce(f64::min).unwrap_or(0.0),
            max: values().reduce(f64::max).unwrap_or(0.0),
            mean,
            deviation: if rates.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
        }
    }
}

const fn lat(latency: &LatencySummary) -> Lat {
    let LatencySummary { min, max, mean, stddev, count, .. } = *latency;
    Lat { min, max, mean, stddev, count }
}

fn clat(latency: &LatencySummary) -> Clat {
    let percentiles = latency.percentiles.iter().map(|(percent, ns)| (format!("{percent:.6}"), *ns));
    Clat { spread: lat(latency), percentile: Entries(percentiles.collect()) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are positive and saturate"
)]
fn whole(rate: f64) -> u64 {
    rate as u64
}

/// Options that repeat the run, as fio prints them.
fn options(workload: &Workload, target: &TargetSummary, name: &str) -> BTreeMap<&'static str, String> {
    let names = [("name", name.to_owned()), ("filename", target.name.to_string())];
    workload.options().map(|(option, value)| (option.name, value)).chain(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::tests::run;

    fn finished() -> Finished {
        let mut seconds = Seconds::default();
        seconds.rates = vec![204_800_000.0, 409_600_000.0];
        Finished {
            run: run(),
            names: vec!["test".into()],
            expected: vec![],
            potentials: vec![],
            seconds: vec![seconds],
        }
    }

    #[test]
    fn ranges_of_latency_are_fios_and_hold_every_read() {
        let mut within = vec![0; LatencySummary::LIMITS.len() + 1];
        (within[9], within[16], within[31]) = (1, 2, 1);
        let latency = LatencySummary { count: 4, within, ..LatencySummary::default() };
        let of = |unit| serde_json::to_value(ranges(Some(&latency), unit)).unwrap();
        assert_eq!((of(0)["1000"].as_f64(), of(0)["2"].as_f64()), (Some(25.0), Some(0.0)));
        assert_eq!((of(1)["250"].as_f64(), of(2)[">=2000"].as_f64()), (Some(50.0), Some(25.0)));
        let keys = |unit: usize| of(unit).as_object().unwrap().len();
        assert_eq!((keys(0), keys(1), keys(2)), (10, 10, 12));
        assert_eq!(serde_json::to_value(ranges(None, 2)).unwrap()["2"], 0.0);
    }

    #[test]
    fn the_document_has_the_names_and_units_that_readers_of_fio_rely_on() {
        let document =
            serde_json::to_value(FioDocument::new(&[finished(), finished()], vec![], vec![])).unwrap();
        assert_eq!(document["fio version"], format!("iodyno {VERSION}"));
        let job = &document["jobs"][0];
        assert_eq!(job["jobname"], "test");
        assert_eq!((job["groupid"].as_u64(), document["jobs"][1]["groupid"].as_u64()), (Some(0), Some(1)));
        assert_eq!(job["read"]["iops"], 50_000.0);
        assert_eq!(job["read"]["bw"], 200_000);
        assert_eq!(job["read"]["bw_bytes"], 204_800_000);
        assert_eq!(job["read"]["runtime"], 2000);
        assert_eq!(job["read"]["clat_ns"]["N"], 100_000);
        assert_eq!(job["read"]["clat_ns"]["percentile"]["99.990000"], 900_000);
        assert_eq!(
            (job["read"]["bw_min"].as_u64(), job["read"]["bw_mean"].as_f64()),
            (Some(200_000), Some(300_000.0))
        );
        assert_eq!(
            (job["read"]["iops_max"].as_u64(), job["read"]["iops_samples"].as_u64()),
            (Some(100_000), Some(2))
        );
        let deviation = job["read"]["iops_stddev"].as_f64().unwrap();
        assert!((deviation - 50_000.0 / 2_f64.sqrt()).abs() < 1.0, "{deviation}");
        assert_eq!(job["read"]["lat_ns"]["mean"], job["read"]["clat_ns"]["mean"]);
        assert_eq!(job["usr_cpu"], 5.0);
        assert_eq!(job["cpu_ns_per_io"]["system"], 2000.0);
        assert_eq!((job["valid"].as_bool(), job["simulated"].as_bool()), (Some(true), Some(false)));
        assert!(job["expected"].is_null());
        assert_eq!(job["job options"]["bs"], "4k");
        assert_eq!(document["effective"]["engine"], "io_uring");
    }

    #[test]
    fn the_error_of_a_job_is_the_errno_of_its_first_error() {
        let mut run = run();
        run.targets[0].first_error = Some(Label::new("ENODEV: No such device on /dev/nvme0n1 at byte 0"));
        run.targets[0].errno = Some(libc::ENODEV);
        let finished = Finished {
            run,
            names: vec!["test".into()],
            expected: vec![],
            potentials: vec![],
            seconds: vec![],
        };
        let document = serde_json::to_value(FioDocument::new(&[finished], vec![], vec![]).unwrap()).unwrap();
        assert_eq!(document["jobs"][0]["error"], libc::ENODEV);
    }

    #[test]
    fn the_whole_latency_is_left_out_where_timing_was_exact_and_only_there() {
        let mut run = run();
        run.workload.exact_timing = true;
        let of = |run: &RunSummary| serde_json::to_value(read(run, &run.targets[0], &[])).unwrap();
        assert!(of(&run)["lat_ns"].is_null() && !of(&run)["clat_ns"].is_null());
        run.effective.engine = EngineKind::Psync;
        assert_eq!(of(&run)["lat_ns"]["mean"], of(&run)["clat_ns"]["mean"]);
    }
}

//! The last run: start, workload, and results by drive.
//!
//! Files on one drive count together; targets without a known drive have no `drive` label. Paths are in no label.

use super::{page::Page, serial_hash};
use crate::{
    machine::Machine,
    model::{DriveName, RunRecord, TargetSummary},
};

/// The targets of one drive.
struct Part<'a> {
    drive: Option<&'a DriveName>,
    serial_hash: String,
    /// With their expected bytes per second.
    targets: Vec<(&'a TargetSummary, Option<f64>)>,
}

impl Part<'_> {
    fn labels(&self) -> [(&str, &str); 2] {
        [("drive", self.drive.map_or("", DriveName::as_str)), ("serial_hash", &self.serial_hash)]
    }

    fn sum(&self, of: impl Fn(&TargetSummary) -> f64) -> f64 {
        self.targets.iter().map(|(target, _)| of(target)).sum()
    }

    /// The worst of its targets, in seconds.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let of = |target: &TargetSummary| target.latency.as_ref()?.percentile(percent);
        let worst = self.targets.iter().filter_map(|(target, _)| of(target)).max()?;
        Some(worst as f64 / 1e9)
    }
}

pub(super) fn families(machine: &Machine, record: &RunRecord, page: &mut Page) {
    let run = &record.run;
    let parts = parts(machine, record);
    page.family("iodyno_last_run_info", "Workload of the last read test.");
    let (workload, engine) = (run.workload.title(), run.effective.engine.name());
    page.sample(&[("workload", workload.as_str()), ("engine", engine)], 1.0);
    page.family("iodyno_last_run_timestamp_seconds", "Start of the last read test, Unix time.");
    page.sample::<&str>(&[], run.started as f64);
    page.family("iodyno_last_run_duration_seconds", "Measured time.");
    let longest = run.targets.iter().map(|target| target.runtime.as_secs_f64()).fold(0.0, f64::max);
    page.sample::<&str>(&[], longest);
    let mut family = |name: &str, help: &str, value: &dyn Fn(&Part<'_>) -> Option<f64>| {
        page.family(name, help);
        for part in &parts {
            page.sample(&part.labels(), value(part));
        }
    };
    family("iodyno_last_run_reads_per_second", "Reads completed (IOPS).", &|part| {
        Some(part.sum(TargetSummary::iops))
    });
    family("iodyno_last_run_bytes_per_second", "Bytes read.", &|part| {
        Some(part.sum(TargetSummary::bytes_per_second))
    });
    family("iodyno_last_run_expected_bytes_per_second", "Expected bytes read per second.", &|part| {
        part.targets.iter().map(|(_, expected)| *expected).sum()
    });
    family("iodyno_last_run_read_errors", "Reads that failed.", &|part| {
        Some(part.sum(|target| target.errors as f64))
    });
    family("iodyno_last_run_valid", "1 if the result is valid.", &|part| {
        let valid = part.targets.iter().all(|(target, _)| target.invalid_because.is_empty());
        Some(f64::from(u8::from(valid)))
    });
    page.family("iodyno_last_run_latency_seconds", "Completion latency at this percentile.");
    for part in &parts {
        for (percent, name) in [(50.0, "50"), (99.0, "99"), (99.9, "99.9")] {
            let [drive, hash] = part.labels();
            page.sample(&[drive, hash, ("percentile", name)], part.percentile(percent));
        }
    }
}

/// Targets by drive, in the order of the run.
fn parts<'a>(machine: &Machine, record: &'a RunRecord) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    for (index, target) in record.run.targets.iter().enumerate() {
        let expected = record.expected.get(index).and_then(Option::as_ref).map(|one| one.bytes_per_second);
        let name = target.drive.as_ref();
        if let Some(part) = parts.iter_mut().find(|part| part.drive == name) {
            part.targets.push((target, expected));
        } else {
            let serial_hash = name.and_then(|name| machine.drive(name)).map(serial_hash).unwrap_or_default();
            parts.push(Part { drive: name, serial_hash, targets: vec![(target, expected)] });
        }
    }
    parts
}

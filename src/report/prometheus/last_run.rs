//! The last run: start, workload, and results by drive.
//!
//! Files on one drive count together, apart from reads of the drive itself: they have `target="file"`. Targets without a
//! known drive have no `drive` label. Paths are in no label.

use super::{page::Page, serial_hash};
use crate::{
    capacity::{self, Potential},
    machine::Machine,
    model::{DriveName, Expectation, Limits, RunRecord, TargetSummary},
};

/// The drive under test, or the files on it.
struct Part<'a> {
    drive: Option<&'a DriveName>,
    is_file: bool,
    serial_hash: String,
    /// Of the drive, also where files on it were read.
    potential: Option<Potential>,
    /// With their expected rates.
    targets: Vec<(&'a TargetSummary, Option<&'a Expectation>)>,
}

impl Part<'_> {
    fn labels(&self) -> [(&str, &str); 3] {
        let target = if self.is_file { "file" } else { "" };
        [
            ("drive", self.drive.map_or("", DriveName::as_str)),
            ("serial_hash", &self.serial_hash),
            ("target", target),
        ]
    }

    /// `None` unless each target has one.
    fn expected(&self, of: fn(&Expectation) -> f64) -> Option<f64> {
        self.targets.iter().map(|(_, expected)| expected.map(of)).sum()
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

pub(super) fn families(machine: &Machine, limits: &Limits, record: &RunRecord, page: &mut Page) {
    let run = &record.run;
    let parts = parts(machine, limits, record);
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
    let help = "Bytes per second expected of the drive in this run: its potential within the limits of links and CPUs.";
    family("iodyno_last_run_expected_bytes_per_second", help, &|part| {
        part.expected(|expected| expected.bytes_per_second)
    });
    let help = "Reads per second expected of the drive in this run: its potential within the limits of links and CPUs.";
    family("iodyno_last_run_expected_reads_per_second", help, &|part| {
        part.expected(|expected| expected.iops)
    });
    family("iodyno_last_run_read_errors", "Reads that failed.", &|part| {
        Some(part.sum(|target| target.errors as f64))
    });
    family("iodyno_last_run_valid", "1 if the result is valid.", &|part| {
        let valid = part.targets.iter().all(|(target, _)| target.invalid_because.is_empty());
        Some(f64::from(u8::from(valid)))
    });
    for (name, help, value) in OF_POTENTIAL {
        page.family(name, help);
        for part in &parts {
            let Some(potential) = &part.potential else { continue };
            let [drive, hash, target] = part.labels();
            page.sample(&[drive, hash, target, ("basis", potential.basis.name())], value(potential));
        }
    }
    page.family("iodyno_last_run_latency_seconds", "Completion latency at this percentile.");
    for part in &parts {
        for (percent, name) in [(50.0, "50"), (99.0, "99"), (99.9, "99.9")] {
            let [drive, hash, target] = part.labels();
            page.sample(&[drive, hash, target, ("percentile", name)], part.percentile(percent));
        }
    }
}

/// Name, help and value of a family about potential.
type Row = (&'static str, &'static str, fn(&Potential) -> f64);

const OF_POTENTIAL: [Row; 2] = [
    (
        "iodyno_last_run_potential_bytes_per_second",
        "Bytes per second that the drive could read of this workload in any slot; an upper bound where the basis is link.",
        |potential| potential.bytes_per_second.0,
    ),
    (
        "iodyno_last_run_potential_reads_per_second",
        "Reads per second that the drive could complete of this workload in any slot; an upper bound where the basis is link.",
        |potential| potential.iops,
    ),
];

/// Targets by drive, in the order of the run.
fn parts<'a>(machine: &Machine, limits: &Limits, record: &'a RunRecord) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let potentials = capacity::potentials(machine, limits, &record.run.workload);
    for (index, target) in record.run.targets.iter().enumerate() {
        let expected = record.expected.get(index).and_then(Option::as_ref);
        let drive = target.drive.as_ref();
        let is_file = drive.is_some() && !target.name.as_str().starts_with("/dev/");
        if let Some(part) = parts.iter_mut().find(|part| (part.drive, part.is_file) == (drive, is_file)) {
            part.targets.push((target, expected));
            continue;
        }
        let serial_hash = drive.and_then(|name| machine.drive(name)).map(serial_hash).unwrap_or_default();
        let potential = potentials.get(index).cloned().flatten();
        parts.push(Part { drive, is_file, serial_hash, potential, targets: vec![(target, expected)] });
    }
    for part in &mut parts {
        let bytes = part.sum(TargetSummary::bytes_per_second);
        let iops = part.sum(TargetSummary::iops);
        part.potential = part.potential.take().map(|potential| potential.at_least(bytes, iops));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Seconds, Workload, run::testing},
        source,
        text::Label,
        units::Bytes,
    };

    /// Metrics of a run of large reads of three drives of a demo.
    fn metrics(change: impl Fn(&mut RunRecord)) -> String {
        let machine = source::testing::demo("threadripper-before");
        let limits = capacity::limits(&machine);
        let workload = Workload { block_size: Bytes(1 << 20), ..Workload::default() };
        let run = testing::run(&["nvme0n1", "nvme1n1", "nvme2n1"], 4_000_000_000 * 10, workload);
        let expected = capacity::expected(&machine, &limits, &run.workload);
        let mut record = RunRecord::new(None, run, &expected, Seconds::default());
        change(&mut record);
        let mut page = Page::default();
        families(&machine, &limits, &record, &mut page);
        page.text
    }

    fn values(text: &str, family: &str) -> Vec<f64> {
        let samples = text.lines().filter(|line| line.starts_with(&format!("{family}{{")));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn each_drive_has_its_measured_expected_and_potential_rate() {
        let text = metrics(|_| {});
        for (kind, per) in [("bytes", 1.0), ("reads", f64::from(1 << 20))] {
            let of = |what: &str| values(&text, &format!("iodyno_last_run_{what}{kind}_per_second"));
            let (measured, expected, potential) = (of(""), of("expected_"), of("potential_"));
            assert_eq!((measured.len(), expected.len(), potential.len()), (3, 3, 3), "{text}");
            for ((measured, expected), potential) in measured.iter().zip(&expected).zip(&potential) {
                assert!((measured * per / 4e9 - 1.0).abs() < 1e-3, "{measured}");
                assert!(measured < expected && expected <= potential, "{measured} {expected} {potential}");
                assert!((7.0e9..7.3e9).contains(&(potential * per)), "{potential}");
            }
        }
        assert!(text.contains("basis=\"published\"") && !text.contains("target="), "{text}");
    }

    #[test]
    fn a_file_is_no_drive_and_a_drive_without_figures_has_none() {
        let text = metrics(|record| record.run.targets[1].name = Label::new("/home/data/file"));
        let of_file = "drive=\"nvme1n1\",serial_hash=";
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(of_file)).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.contains("target=\"file\"")), "{text}");
        assert!(!text.contains("/home"), "{text}");
        let text = metrics(|record| {
            record.expected[1] = None;
            record.run.workload.targets[1].drive = None;
        });
        assert_eq!(values(&text, "iodyno_last_run_potential_bytes_per_second").len(), 2, "{text}");
        assert_eq!(values(&text, "iodyno_last_run_expected_reads_per_second").len(), 2, "{text}");
    }

    #[test]
    fn a_result_above_the_potential_raises_it() {
        let text = metrics(|record| record.run.targets[0].ios *= 4);
        let potential = values(&text, "iodyno_last_run_potential_reads_per_second");
        assert!((potential[0] / potential[1] - 16e9 / 7.14e9).abs() < 0.05, "{potential:?}");
    }
}

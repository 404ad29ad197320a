//! Whether the figure of a test is the drives' own.

use super::{Check, Detection, Evidence, Gain, Inputs, Row, Subject};
use crate::model::{FindingId, Severity, TargetSummary};

pub(super) const TEST_NOT_VALID: Row = Row {
    id: FindingId("test-not-valid"),
    title: "the result does not measure the drive",
    fires: "a test read zeros, a sparse or trimmed area, through the page cache, from a file whose file system hides the drive, too \
            briefly, CPU-bound, beside other I/O, or while an array of its stack was synchronised",
    why: "The result measures the machine, not the drive.",
    remedy: "{remedy}",
    generally: "Repeat the test without what disturbs it, or do not compare the result.",
    wrong_if: "That was meant to be measured.",
    needs_load: true,
    check: Check::Many(test_not_valid),
    ..Row::PLAIN
};

fn test_not_valid(inputs: &Inputs) -> Vec<Detection> {
    let Some(load) = inputs.load else { return Vec::new() };
    let cpu_bound = || {
        let title = "CPU-bound: all CPUs are busy, so the test measures the CPUs, not the drives";
        Detection::new(Severity::Info, title)
            .about([Subject::cpus()])
            .with_evidence([Evidence::new("/proc/stat", "idle and waiting below 5 %")])
            .with_gain(Gain::words("none", ""))
            .fill("remedy", "Fewer workers, bigger blocks, or polled completions.")
    };
    match load.summary {
        Some(run) => {
            let doubtful = run.targets.iter().filter(|target| !target.invalid_because.is_empty());
            doubtful.map(|target| invalid(inputs, target)).collect()
        }
        None => inputs.is_cpu_full().then(cpu_bound).into_iter().collect(),
    }
}

fn invalid(inputs: &Inputs, target: &TargetSummary) -> Detection {
    let reasons = &target.invalid_because;
    let drive = target.drive.as_ref().and_then(|name| inputs.machine.drive(name));
    let about = drive.map_or_else(Subject::host, Subject::drive);
    Detection::new(
        Severity::Warning,
        format!("{}: not a measure of the drive: {}", target.name, reasons.join("; ")),
    )
    .about([about])
    .with_evidence(reasons.iter().map(|reason| Evidence::new(target.name.as_str(), reason.clone())))
    .with_gain(Gain::words("none", ""))
    .fill("remedy", "Repeat the test without that, or do not compare the result.")
}

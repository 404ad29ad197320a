//! The document of `iodyno sheet --format json`, for `iodyno compare` and scripts.

use serde::Serialize;

use super::{DriveRow, DrivesDocument, NodeRow, TreeDocument};
use crate::{
    findings::{Finding, NotMade},
    model::{ExperimentRecord, Problem, RunRecord},
    report::{
        commands,
        dossier::{Dossier, Mode},
        known,
        sheet::{Choice, Part, numbered},
        spread,
        tune::Row,
    },
    text::Label,
};

/// Omitted parts have no field.
#[derive(Debug, Serialize)]
pub struct SheetDocument<'a> {
    /// `sheet`.
    document: &'static str,
    /// Whether the figures come from simulated drives.
    simulated: bool,
    /// `live`, `demo`, `capture`, `folder`.
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<MachineRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_complexes: Option<Vec<NodeRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drives: Option<Vec<DriveRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a [Finding]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_judged: Option<&'a [NotMade]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Vec<SettingRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<RunRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    experiments: Option<Vec<ExperimentRow<'a>>>,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct MachineRow {
    processor: Option<String>,
    threads: usize,
    memory_bytes: Option<u64>,
    board: Option<String>,
    product: Option<String>,
    bios: Option<String>,
    distribution: Option<String>,
    kernel: Option<String>,
    command_line: Option<String>,
    io_uring: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct SettingRow<'a> {
    device: &'a str,
    setting: &'static str,
    value: Option<&'a str>,
    found_value: Option<&'a str>,
    default_value: Option<&'a str>,
}

/// A run with derived figures and commands.
#[derive(Debug, Serialize)]
pub struct RunRow<'a> {
    title: String,
    bytes_per_second: f64,
    iops: f64,
    /// 95 % interval of the mean by its seconds.
    interval: Option<(f64, f64)>,
    command: String,
    fio_command: String,
    #[serde(flatten)]
    record: &'a RunRecord,
}

/// An experiment with the command that repeats it.
#[derive(Debug, Serialize)]
struct ExperimentRow<'a> {
    command: String,
    #[serde(flatten)]
    record: &'a ExperimentRecord,
}

impl<'a> RunRow<'a> {
    fn new(record: &'a RunRecord, origin: &[String]) -> Self {
        let run = &record.run;
        Self {
            title: run.workload.title(),
            bytes_per_second: run.bytes_per_second(),
            iops: run.iops(),
            interval: spread::mean(&record.seconds.rates).map(|interval| (interval.low, interval.high)),
            command: commands::line(&commands::iodyno(&run.workload, origin)),
            fio_command: commands::line(&commands::fio(&run.workload)),
            record,
        }
    }
}

impl<'a> SheetDocument<'a> {
    /// The document of a dossier's chosen parts.
    pub fn new(dossier: &'a Dossier, choice: &Choice) -> Self {
        let has = |part| choice.parts.contains(&part);
        let tree =
            has(Part::Tree).then(|| TreeDocument::new(&dossier.machine, &dossier.limits, &dossier.problems));
        let drives = has(Part::Tree).then(|| DrivesDocument::new(&dossier.machine, &dossier.problems));
        let placed = |problem: &Problem| dossier.machine.placed(problem.clone());
        let mut problems: Vec<Problem> = dossier.problems.iter().map(placed).collect();
        problems.extend(tree.iter().flat_map(|document| document.problems.iter().cloned()));
        problems.extend(drives.iter().flat_map(|document| document.problems.iter().cloned()));
        let mut problems = dossier.shared(problems);
        problems.sort();
        problems.dedup();
        let origin = dossier.origin();
        let runs = || {
            let chosen = numbered(&dossier.runs, &choice.without_runs);
            chosen.into_iter().map(|(_, run)| RunRow::new(run, &origin)).collect()
        };
        let experiments = || {
            let row = |record: &'a ExperimentRecord| ExperimentRow {
                command: commands::line(&commands::experiment(record, &origin)),
                record,
            };
            let chosen = numbered(&dossier.experiments, &choice.without_experiments);
            chosen.into_iter().map(|(_, record)| row(record)).collect()
        };
        Self {
            document: "sheet",
            simulated: dossier.is_simulated(),
            origin: match dossier.mode {
                Mode::Live => "live",
                Mode::Demo(_) => "demo",
                Mode::Capture => "capture",
                Mode::Folder => "folder",
            },
            machine: (has(Part::Machine) || has(Part::Versions)).then(|| machine(dossier)),
            root_complexes: tree.map(|document| document.root_complexes),
            drives: drives.map(|document| document.drives),
            findings: has(Part::Findings).then_some(dossier.findings.as_slice()),
            not_judged: has(Part::Findings).then_some(dossier.not_judged.as_slice()),
            settings: has(Part::Settings).then(|| dossier.settings.iter().map(setting).collect()),
            runs: has(Part::Runs).then(runs),
            experiments: has(Part::Experiments).then(experiments),
            problems,
        }
    }
}

fn machine(dossier: &Dossier) -> MachineRow {
    let (host, processors) = (&dossier.machine.host, &dossier.machine.processors);
    MachineRow {
        processor: known(&processors.model),
        threads: processors.count(),
        memory_bytes: host.memory.get().map(|memory| memory.0),
        board: known(&host.board),
        product: known(&host.product),
        bios: known(&host.bios),
        distribution: known(&host.distribution),
        kernel: known(&host.kernel),
        command_line: known(&host.command_line),
        io_uring: host.io_uring.value().map(|ring| ring.flags.iter().map(ToString::to_string).collect()),
    }
}

fn setting(row: &Row) -> SettingRow<'_> {
    SettingRow {
        device: &row.device,
        setting: row.setting.0,
        value: row.value.as_ref().map(Label::as_str),
        found_value: row.found_value.as_deref(),
        default_value: row.default_value.as_deref(),
    }
}

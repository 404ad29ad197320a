//! [`Dossier`]: all there is to say of a machine, gathered once, before it is worded.
//!
//! What tells whose machine it is goes here, from the data itself: findings and settings are judged again on a machine
//! without names, so that no sentence can quote one.

use crate::{
    capacity,
    findings::{self, Finding, Inputs, Load, validity::RunMonitor},
    machine::Machine,
    model::{ExperimentRecord, Limits, Problem, RunRecord},
    redact::Redactor,
    text::Label,
    tune::{Device, change_log::ChangeLog},
};

use super::tune::{Row, rows};

/// Where a machine comes from, as far as a reader need know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// The computer iodyno ran on.
    Live,
    /// A built-in demo, by name.
    Demo(Label),
    /// A capture.
    Capture,
    /// A folder of files.
    Folder,
}

/// What a dossier is made from.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// Where the machine comes from.
    pub provenance: &'a Provenance,
    /// The machine as it was read.
    pub machine: &'a Machine,
    /// What could not be read of it.
    pub problems: &'a [Problem],
    /// What stands changed since boot.
    pub change_log: &'a ChangeLog,
    /// What went on beside the last run, if somebody watched.
    pub watch: Option<&'a RunMonitor>,
    /// Runs, the oldest first.
    pub runs: &'a [RunRecord],
    /// Experiments, the oldest first.
    pub experiments: &'a [ExperimentRecord],
    /// Serials, names, paths and addresses stay as they are.
    pub with_serials: bool,
}

/// All there is to say.
#[derive(Debug)]
pub struct Dossier {
    /// Where the machine comes from.
    pub provenance: Provenance,
    /// The machine.
    pub machine: Machine,
    /// What its places can carry.
    pub limits: Limits,
    /// What could not be read of it.
    pub problems: Vec<Problem>,
    /// What holds it back, most costly first.
    pub findings: Vec<Finding>,
    /// Every setting of every drive and the processors.
    pub settings: Vec<Row>,
    /// Runs, the oldest first.
    pub runs: Vec<RunRecord>,
    /// Experiments, the oldest first.
    pub experiments: Vec<ExperimentRecord>,
    /// Replaces what is left of names in a finished text; `None` when they stay.
    redactor: Option<Redactor>,
}

impl Dossier {
    /// Gathers it.
    pub fn new(material: &Material<'_>) -> Self {
        let mut redactor = (!material.with_serials).then(|| Redactor::of_machine(material.machine));
        let (machine, problems, runs, experiments) = match &mut redactor {
            Some(redactor) => (
                redactor.machine(material.machine),
                material.problems.iter().map(|problem| without_names(redactor, problem)).collect(),
                material.runs.iter().map(|record| anonymous(redactor, record)).collect(),
                material.experiments.iter().map(|record| redactor.experiment(record)).collect(),
            ),
            None => (
                material.machine.clone(),
                material.problems.to_vec(),
                material.runs.to_vec(),
                material.experiments.to_vec(),
            ),
        };
        let limits = capacity::limits(&machine);
        let load = runs.last().map(|record| Load {
            workload: &record.run.workload,
            summary: Some(&record.run),
            watch: material.watch,
        });
        let rates = material.watch.and_then(RunMonitor::rates);
        let evidence = Inputs { rates, load, ..Inputs::at_rest(&machine, &limits) };
        let findings = findings::check(&evidence);
        let live = *material.provenance == Provenance::Live;
        let drives = machine.hardware_drives().map(|drive| Device::Drive(drive.name.clone()));
        let settings = drives
            .chain([Device::Cpu])
            .flat_map(|device| rows(&machine, material.change_log, &device, live))
            .collect();
        let provenance = material.provenance.clone();
        Self { provenance, machine, limits, problems, findings, settings, runs, experiments, redactor }
    }

    /// Whether names and serials were left out.
    pub fn is_redacted(&self) -> bool {
        self.redactor.is_some()
    }

    /// Whether its figures come from simulated drives.
    pub fn is_simulated(&self) -> bool {
        matches!(self.provenance, Provenance::Demo(_))
    }

    /// The options that name the machine to `iodyno`.
    pub fn origin(&self) -> Vec<String> {
        match &self.provenance {
            Provenance::Demo(name) => vec!["--demo".to_owned(), name.to_string()],
            _ => Vec::new(),
        }
    }

    /// The last look at a text that goes out: ids, serials and addresses that got through get pseudonyms after all.
    pub fn finished(&self, text: &str) -> String {
        match &self.redactor {
            Some(redactor) => redactor.clone().finished(text),
            None => text.to_owned(),
        }
    }
}

fn anonymous(redactor: &mut Redactor, record: &RunRecord) -> RunRecord {
    RunRecord { boot: Label::default(), run: redactor.run(&record.run), ..record.clone() }
}

fn without_names(redactor: &mut Redactor, problem: &Problem) -> Problem {
    Problem {
        path: redactor.sweep(&problem.path).into(),
        reason: redactor.worldly(&problem.reason).into(),
        kind: problem.kind,
    }
}

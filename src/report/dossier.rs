//! [`Dossier`]: the data of a sheet.
//!
//! Names and serials are replaced in the machine itself, and findings and settings are computed from that machine, so that
//! no sentence quotes one.

use crate::{
    capacity,
    findings::{self, Finding, Inputs, Load, NotMade, validity::RunMonitor},
    machine::Machine,
    model::{ExperimentRecord, Limits, Problem, RunRecord},
    pull,
    redact::Redactor,
    text::Label,
    tune::{Device, change_log::ChangeLog},
    units::UnitSystem,
};

use super::{
    check::CheckDocument,
    tune::{Row, rows},
};

/// Where a machine comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// This computer.
    Live,
    /// A built-in demo, by name: its drives are simulated.
    Demo(Label),
    /// A capture.
    Capture,
    /// A folder of files.
    Folder,
}

/// The input of a dossier.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// Where the machine comes from.
    pub mode: &'a Mode,
    /// The machine as it was read.
    pub machine: &'a Machine,
    /// Its values that could not be read.
    pub problems: &'a [Problem],
    /// Lines of the last pull, its headline first; empty without one.
    pub pull: &'a [String],
    /// Settings changed since boot.
    pub change_log: &'a ChangeLog,
    /// Other activity during the last run, where it was monitored.
    pub watch: Option<&'a RunMonitor>,
    /// Runs, the oldest first.
    pub runs: &'a [RunRecord],
    /// Experiments, the oldest first.
    pub experiments: &'a [ExperimentRecord],
    /// Serials, names, paths and addresses stay as they are.
    pub with_serials: bool,
}

/// The data of a sheet.
#[derive(Debug)]
pub struct Dossier {
    /// Where the machine comes from.
    pub mode: Mode,
    /// The machine.
    pub machine: Machine,
    /// Its limits.
    pub limits: Limits,
    /// Its values that could not be read.
    pub problems: Vec<Problem>,
    /// Its findings, most severe first.
    pub findings: Vec<Finding>,
    /// The checks that were not made.
    pub not_judged: Vec<NotMade>,
    /// The headline of the last pull with its further lines, else of the last run; empty without either.
    pub headline: Vec<String>,
    /// Every setting of every drive and of the CPUs.
    pub settings: Vec<Row>,
    /// Runs, the oldest first.
    pub runs: Vec<RunRecord>,
    /// Experiments, the oldest first.
    pub experiments: Vec<ExperimentRecord>,
    /// Replaces names left in a finished text; `None` with serials.
    redactor: Option<Redactor>,
}

impl Dossier {
    /// Gathers it.
    pub fn new(material: &Material<'_>) -> Self {
        let mut redactor = (!material.with_serials).then(|| Redactor::of_machine(material.machine));
        let (machine, problems, runs, experiments) = match &mut redactor {
            Some(redactor) => (
                redactor.machine(material.machine),
                material.problems.iter().map(|problem| redactor.problem(problem)).collect(),
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
        let mut not_made = findings::not_made(&evidence, &findings);
        if matches!(material.mode, Mode::Capture | Mode::Folder) {
            findings::untestable(&mut not_made);
        }
        let not_judged = CheckDocument::new(&machine, &findings, not_made, &problems).into_not_judged();
        let headline = match (material.pull, runs.last()) {
            ([], Some(last)) => {
                let at_rest = findings::check(&Inputs::at_rest(&machine, &limits));
                let units = UnitSystem::Decimal;
                vec![pull::of_run(&machine, &limits, &at_rest, &last.run, units).0.text]
            }
            (lines, _) => lines.to_vec(),
        };
        let live = *material.mode == Mode::Live;
        let drives = machine.hardware_drives().map(|drive| Device::Drive(drive.name.clone()));
        let settings = rows(&machine, material.change_log, drives.chain([Device::Cpu]), live);
        let mode = material.mode.clone();
        Self {
            mode,
            machine,
            limits,
            problems,
            findings,
            not_judged,
            headline,
            settings,
            runs,
            experiments,
            redactor,
        }
    }

    /// Whether names and serials are replaced.
    pub fn is_redacted(&self) -> bool {
        self.redactor.is_some()
    }

    /// Whether its figures come from simulated drives.
    pub fn is_simulated(&self) -> bool {
        matches!(self.mode, Mode::Demo(_))
    }

    /// The command-line options of the machine.
    pub fn origin(&self) -> Vec<String> {
        match &self.mode {
            Mode::Demo(name) => vec!["--demo".to_owned(), name.to_string()],
            _ => Vec::new(),
        }
    }

    /// Problems without what they quote of files.
    pub fn shared(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let Some(redactor) = &self.redactor else { return problems };
        let mut redactor = redactor.clone();
        problems.iter().map(|problem| redactor.problem(problem)).collect()
    }

    /// A finished text with pseudonyms for the ids, serials and addresses left in it.
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

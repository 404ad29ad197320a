//! `iodyno sheet`: the summary for a forum post.

use std::{io, sync::Arc};

use clap::{Args, ValueEnum};

use super::{Complaint, Failure, Status, failure::words, print, print_text, say, tune};
use crate::{
    app::{MachineRead, message::Kept},
    experiment::{
        EXPERIMENTS, Experiment, Scene, Terms,
        plan::{Subject, Wishes},
    },
    findings::{self, Finding, Inputs},
    machine::{Drive, Machine},
    model::{ExperimentRecord, RunRecord, Target, Workload},
    report::{
        dossier::{Dossier, Material},
        sheet::{self, Choice, PARTS, Part},
    },
    runtime::{
        experiment,
        run::simulate,
        run_history::{HistoryError, MOST, recall},
        startup,
    },
    screens,
    source::{SysRoot, origin::Origin},
    tune::SettingsService,
    ui::{picture, theme::Theme},
    units::Bytes,
};

#[derive(Debug, Args)]
pub(super) struct SheetArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Parts to print, comma-separated: machine, tree, findings, settings, runs, experiments, commands, versions
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = part)]
    only: Vec<Part>,
    /// Number of recent runs and experiments of this boot to include; none in a demo
    #[arg(long, value_name = "N", default_value_t = MOST)]
    runs: usize,
    /// Add simulated tests of all drives and the experiment for the first finding; demos only
    #[arg(long)]
    simulate: bool,
    /// Keep serials, host and user names, mount paths and network addresses
    #[arg(long)]
    with_serials: bool,
}

/// A format, as the command line takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For GitHub, Discourse, Reddit
    Markdown,
    /// For phpBB, `XenForo`, `vBulletin`
    Bbcode,
    /// 80 columns
    Text,
    /// For `iodyno compare` and scripts
    Json,
    /// SVG picture of the text
    Svg,
}

impl Format {
    const fn of_text(self) -> sheet::Format {
        match self {
            Self::Markdown => sheet::Format::Markdown,
            Self::Bbcode => sheet::Format::Bbcode,
            Self::Text | Self::Svg => sheet::Format::Text,
            Self::Json => sheet::Format::Json,
        }
    }

    /// Prints the text, or a picture of it.
    pub(super) fn print(self, text: impl Fn(sheet::Format) -> String) -> Result<Status, Failure> {
        let text = text(self.of_text());
        let palette = Theme::COLOUR.palette;
        match self {
            Self::Svg => print(&picture::svg(&screens::sheet::picture(&text, Theme::COLOUR), palette)),
            Self::Json => print(&text),
            Self::Markdown | Self::Bbcode | Self::Text => print_text(&text),
        }
    }
}

fn part(word: &str) -> Result<Part, String> {
    let known = PARTS.iter().find(|row| row.word == word).map(|row| row.part);
    known.ok_or_else(|| {
        let words: Vec<&str> = PARTS.iter().map(|row| row.word).collect();
        format!("no such part; use some of {}", words.join(","))
    })
}

pub(super) fn run(args: &SheetArgs, origin: &Origin) -> Result<Status, Failure> {
    let root = super::open(origin)?;
    let read = startup::read_or_refuse(&*root)?;
    let service = startup::settings(origin, &root);
    // A journal that cannot be read, or not soon, was reported before.
    let read_soon = |service| tune::read_soon(service, SettingsService::change_log).ok()?.ok();
    let change_log = service.as_ref().and_then(read_soon).unwrap_or_default();
    let (results, unread) = results(args, origin, service.as_ref(), &root, &read)?;
    let dossier = Dossier::new(&Material {
        mode: &startup::mode(origin),
        machine: &read.machine,
        problems: &read.problems,
        pull: &[],
        change_log: &change_log,
        watch: None,
        runs: &results.runs,
        experiments: &results.experiments,
        with_serials: args.with_serials,
    });
    let mut choice = Choice::default();
    if !args.only.is_empty() {
        choice.parts = args.only.iter().copied().collect();
    }
    args.format.print(|format| sheet::text(&dossier, &choice, format))?;
    let shows = |part| choice.parts.contains(&part);
    let needs_results = [Part::Runs, Part::Experiments, Part::Commands].into_iter().any(shows);
    match unread.filter(|_| needs_results) {
        Some(unread) => Err(unread.into()),
        None => Ok(Status::Done),
    }
}

/// Stored results of this boot, or simulated ones; and why stored ones cannot be read.
fn results(
    args: &SheetArgs,
    origin: &Origin,
    service: Option<&Arc<SettingsService>>,
    root: &Arc<dyn SysRoot>,
    read: &MachineRead,
) -> Result<(Kept, Option<Complaint>), Failure> {
    if args.simulate {
        if !origin.is_demo() {
            let fix = "run `iodyno bench`, then print the sheet";
            return Err(Complaint::new("--simulate", "works with demos only", fix).into());
        }
        let experiments = service.and_then(|service| simulated_experiment(service, root, read));
        let experiments = experiments.into_iter().collect();
        return Ok((Kept { runs: simulated_runs(read)?, experiments, foreign: 0 }, None));
    }
    if !origin.is_live() {
        return Ok((Kept::default(), None));
    }
    match recall(&read.machine, args.runs) {
        Ok(kept) => {
            kept.note().iter().for_each(|note| say(note));
            Ok((kept, None))
        }
        // Another user's folder has no results of this one.
        Err(HistoryError { path, error, .. }) if error.kind() == io::ErrorKind::PermissionDenied => {
            say(&format!("{}: {}; the sheet lacks runs and experiments", path.display(), words(&error)));
            Ok((Kept::default(), None))
        }
        Err(HistoryError { path, error, .. }) => {
            let wrong = format!("{}: the sheet lacks runs and experiments", words(&error));
            let fix = "check the file, or leave these parts out with --only";
            Ok((Kept::default(), Some(Complaint::new(path.to_string_lossy(), wrong, fix))))
        }
    }
}

/// A test of large reads and one of small reads, each of all hardware drives at once.
fn simulated_runs(read: &MachineRead) -> Result<Vec<RunRecord>, Failure> {
    let targets = all_drives(&read.machine);
    let sizes = [Bytes(512 << 10), Bytes(4 << 10)];
    let run = |block_size| {
        let workload = Workload { targets: targets.clone(), block_size, ..Workload::default() };
        simulate(read, workload).map_err(Failure::from)
    };
    sizes.into_iter().map(run).collect()
}

/// The experiment for the first finding that has one.
fn simulated_experiment(
    service: &Arc<SettingsService>,
    root: &Arc<dyn SysRoot>,
    read: &MachineRead,
) -> Option<ExperimentRecord> {
    let findings = findings::check(&Inputs::at_rest(&read.machine, &read.limits));
    let proves = |finding: &Finding| EXPERIMENTS.iter().find(|row| row.proves.contains(&finding.id.0));
    let targets = all_drives(&read.machine);
    let wishes = Wishes::default();
    let plan = |row: &'static Experiment| {
        let count = if row.subject == Subject::OneDrive { 1 } else { targets.len() };
        let targets = &targets[..count.min(targets.len())];
        let scene = Scene { machine: &read.machine, targets, simulated: true, wishes: &wishes };
        row.plan(&scene, Terms::default()).ok()
    };
    let plan = findings.iter().filter_map(proves).find_map(plan);
    plan.map(|plan| experiment::run(plan, service, root, |_| None).0.record(None, 0))
}

fn all_drives(machine: &Machine) -> Vec<Target> {
    machine.hardware_drives().map(Drive::target).collect()
}

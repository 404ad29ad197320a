//! `iodyno sheet`: what goes into a forum post.
//!
//! Here: the command's options, and where its runs come from. Not here: what it says (`report::sheet`).

use clap::{Args, ValueEnum};

use super::{Complaint, Failure, Status, failure::words, print};
use crate::{
    app::MachineRead,
    machine::{Drive, Machine},
    model::{RunRecord, Target, Workload},
    report::{
        dossier::{Dossier, Material},
        sheet::{self, Choice, PARTS, Part},
    },
    runtime::{opening, rehearsal},
    source::origin::Origin,
    store,
    tune::{journal::Journal, ledger::Ledger},
    units::Bytes,
};

/// Options of `iodyno sheet`.
#[derive(Debug, Args)]
pub(super) struct SheetArgs {
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// Only these parts, with commas between them: machine, tree, findings, settings, runs, commands, versions
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = part)]
    only: Vec<Part>,
    /// The last runs of this machine since it started; of a demo there are none
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// With a simulated test of all drives, big reads and small ones; for demos alone
    #[arg(long)]
    simulate: bool,
    /// Keep serials, host and user names, mount paths and addresses as they are
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
}

impl From<Format> for sheet::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Bbcode => Self::Bbcode,
            Format::Text => Self::Text,
            Format::Json => Self::Json,
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

/// Reads the machine and prints its sheet.
pub(super) fn run(args: &SheetArgs, origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let read = opening::read(&*root);
    let dossier = Dossier::new(&Material {
        provenance: &opening::mode(origin).provenance(),
        machine: &read.machine,
        problems: &read.problems,
        ledger: &ledger(origin, &read.machine)?,
        watch: None,
        runs: &runs(args, origin, &read)?,
        with_serials: args.with_serials,
    });
    let mut choice = Choice::default();
    if !args.only.is_empty() {
        choice.parts = args.only.iter().copied().collect();
    }
    print(&sheet::text(&dossier, &choice, args.format.into()))
}

/// The runs that were kept of this boot, or a demo's simulated ones.
fn runs(args: &SheetArgs, origin: &Origin, read: &MachineRead) -> Result<Vec<RunRecord>, Failure> {
    if args.simulate {
        if !origin.is_demo() {
            let fix = "run `iodyno bench`: its runs are in the next sheet";
            return Err(Complaint::new("--simulate", "only a demo's drives are simulated", fix).into());
        }
        return simulated(read);
    }
    if !origin.is_live() {
        return Ok(Vec::new());
    }
    let folder = store::folder();
    let boot = read.machine.host.boot_id.value().map_or("", |boot| boot.as_str());
    store::recent_runs(&folder, boot, args.runs).map_err(|error| {
        let fix = "correct its permissions, or leave runs out with --runs 0";
        Complaint::new(store::runs(&folder).to_string_lossy(), words(&error), fix).into()
    })
}

/// A test of big reads and one of small ones, each on all hardware drives at once.
fn simulated(read: &MachineRead) -> Result<Vec<RunRecord>, Failure> {
    let target =
        |drive: &Drive| Target { path: drive.name.device_file().into(), drive: Some(drive.name.clone()) };
    let targets: Vec<Target> = read.machine.hardware_drives().map(target).collect();
    let sizes = [Bytes(512 << 10), Bytes(4 << 10)];
    let run = |block_size| {
        let workload = Workload { targets: targets.clone(), block_size, ..Workload::default() };
        rehearsal::run(read, &workload).map_err(|error| Failure::from(anyhow::Error::new(error)))
    };
    sizes.into_iter().map(run).collect()
}

/// What stands changed on this machine since it started.
fn ledger(origin: &Origin, machine: &Machine) -> Result<Ledger, Failure> {
    let boot = machine.host.boot_id.value().filter(|_| origin.is_live());
    Ok(match boot {
        Some(boot) => Ledger::of(&Journal::new(store::folder()).read()?, boot.as_str()),
        None => Ledger::default(),
    })
}

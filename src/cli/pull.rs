//! `iodyno pull`: the guided test without a screen.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use clap::{Args, ValueEnum};

use super::{Complaint, Failure, Status, captured, columns, judge, print, say, signals::Signal};
use crate::{
    engine::EngineError,
    findings::{self, Inputs},
    machine::{Drive, Machine},
    model::{Failed, Seconds, Target, Workload, fio},
    pull::{Done, Outcome, Pull, Series, file_on},
    report::{
        json,
        pull::{PullDocument, text},
    },
    runtime::{clock::Clock, run::Testbed, session::TestFiles, startup},
    source::origin::Origin,
    units::{Bytes, UnitSystem, counted},
};

/// Options of `iodyno pull`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Reads only, but for files that --size lays out; changes no setting. Ctrl-C ends it with a partial result.\n\
                        Exit status: 0 done; 1 a phase could not run; 2 it could not start; 130 stopped by Ctrl-C."
)]
pub(super) struct PullArgs {
    /// Drives to read, such as nvme0n1; default all that are not removable
    #[arg(value_name = "DRIVE")]
    drives: Vec<String>,
    /// Drives and files to read, `A:B`; with --size, missing files are laid out and removed afterwards
    #[arg(long, value_name = "PATHS", conflicts_with = "drives")]
    filename: Option<String>,
    /// Size of files to lay out
    #[arg(long, value_name = "SIZE", value_parser = fio::size, requires = "filename")]
    size: Option<Bytes>,
    /// Read all drives together for this many minutes, to see whether they throttle
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1440))]
    minutes: Option<u32>,
    /// Run another series
    #[arg(long, value_name = "NAME", conflicts_with = "minutes")]
    profile: Option<Profile>,
    /// Do not ask before reading
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A series with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// CrystalDiskMark's read rows: SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1
    Cdm,
}

/// Runs the series on this machine, or on a demo's simulated drives without waiting for them.
pub(super) fn run(args: &PullArgs, origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let clock = if origin.is_demo() { Clock::counted() } else { Clock::real() };
    let mut bed =
        Testbed::new(origin, &root, startup::read(&*root), clock).ok_or_else(|| captured("pull"))?;
    let targets = args.targets(&bed)?;
    let series = if args.profile.is_some() { Series::CrystalDiskMark } else { Series::Guided };
    let long = args.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    let pull = Pull::new(&bed.read.machine, targets, series, long).with_size(args.size);
    if !bed.simulated() && !args.agreed(&bed.read.machine, &pull)? {
        return Ok(Status::Done);
    }
    let signal = Signal::watch()?;
    let pull = args.carry_out(&mut bed, pull, &signal);
    let machine = &bed.read.machine;
    let findings = findings::check(&Inputs::at_rest(machine, &bed.read.limits));
    let outcome = Outcome::new(machine, &bed.read.limits, &findings, &pull, UnitSystem::Decimal);
    print(&if args.json {
        json::text(&PullDocument::new(&pull, &outcome))
    } else {
        text(&pull, &outcome, columns())
    })?;
    if pull.failed().is_some_and(|(_, why)| why.is_refusal())
        && let Some(file) = pull.targets().iter().find_map(|target| file_on(machine, target))
    {
        say(&format!("or read a file: iodyno pull --filename {} --size 1g", file.path.display()));
    }
    Ok(match signal.received() {
        Some(number) => Status::Stopped(number),
        None if pull.failed().is_some() => Status::No,
        None => Status::Done,
    })
}

impl PullArgs {
    /// What is read, with the drive of each.
    fn targets(&self, bed: &Testbed) -> Result<Vec<Target>, Failure> {
        let machine = &bed.read.machine;
        let target = |name: &String| {
            let plain = name.trim_start_matches("/dev/");
            let drive =
                machine.hardware_drives().chain(&machine.drives).find(|drive| drive.name.as_str() == plain);
            drive.map(Drive::target).ok_or_else(|| {
                Complaint::new(name, "no such drive", "see `iodyno drives`, or use --filename for a file")
            })
        };
        let targets = match &self.filename {
            Some(names) => {
                let named = fio::names(names).into_iter().map(|path| Target { path, drive: None });
                let mut workload = Workload { targets: named.collect(), ..Workload::default() };
                bed.resolve(&mut workload)?;
                workload.targets
            }
            None if !self.drives.is_empty() => self.drives.iter().map(target).collect::<Result<_, _>>()?,
            None => machine.drives.iter().filter(|drive| drive.is_fixed()).map(Drive::target).collect(),
        };
        if targets.is_empty() {
            let fix = "name a file: --filename /home/iodyno.test --size 4g";
            return Err(Complaint::new("pull", "no drive to read", fix).into());
        }
        Ok(targets)
    }

    /// Says what is read, and asks where there is a terminal; without one, drives in use need `--yes`.
    fn agreed(&self, machine: &Machine, pull: &Pull) -> Result<bool, Failure> {
        // The drive below a file is always mounted.
        let used = |target: &Target| {
            let drive = target.drive.as_ref().and_then(|name| machine.drive(name));
            let whole = drive.filter(|drive| drive.target().path == target.path);
            whole.and_then(|drive| drive.used_by.first()).map(ToString::to_string)
        };
        let mut in_use = 0;
        for target in pull.targets() {
            let using = used(target);
            in_use += usize::from(using.is_some());
            let using = using.map_or_else(String::new, |using| format!(" (in use: {using})"));
            say(&format!("reads {}{using}", target.path.display()));
        }
        if let Some(few) = pull.representatives() {
            say(&format!(
                "{few} of {} drives, one of each model and link, are read alone",
                pull.targets().len()
            ));
        }
        if let Some(size) = pull.size() {
            let size = UnitSystem::Decimal.size(size);
            say(&format!("a missing file is written first, {size}, and removed afterwards"));
        }
        say(&format!("at most {} s of reads; changes no setting", pull.time_left().as_secs()));
        if self.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            if in_use == 0 {
                return Ok(true);
            }
            let wrong = format!("{} in use, and no terminal to ask on", counted(in_use, "drive"));
            return Err(Complaint::new("pull", wrong, "add --yes, or name other drives").into());
        }
        // There is nowhere left to complain about standard error.
        let _ = write!(io::stderr(), "Enter or y starts, n leaves: ");
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).unwrap_or_default();
        Ok(read > 0 && ["", "y", "yes"].contains(&answer.trim()))
    }

    /// Runs the series to its end, or until a signal comes.
    fn carry_out(&self, bed: &mut Testbed, mut pull: Pull, signal: &Signal) -> Pull {
        let files = TestFiles::default();
        let shows = !self.json && !bed.simulated();
        while let Some(step) = pull.next() {
            if shows {
                say(&format!("{:>3} s left  {}", pull.time_left().as_secs(), step.title()));
            }
            let ended = bed.run(step.workload.clone(), files.clone(), |_| signal.received().is_none());
            let (result, seconds) = match ended {
                Ok(mut ended) => {
                    let learned = judge(bed, &mut ended);
                    // What a phase measured counts for the next ones.
                    bed.learn(learned);
                    (Ok(ended.run), ended.seconds)
                }
                Err(EngineError::Stopped) => {
                    pull.stop();
                    break;
                }
                Err(error) => (Err(Failed::from(error)), Seconds::default()),
            };
            pull.take(Done { step, result, seconds });
        }
        pull
    }
}

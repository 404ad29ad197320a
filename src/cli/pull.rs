//! `iodyno pull`: the guided test without a screen.

mod consent;
mod targets;

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Failure, Status, captured, columns, judge, print, print_text, say, signals::Signal, units};
use crate::{
    engine::EngineError,
    findings::{self, Inputs},
    model::{RunState, Seconds, Workload, fio},
    pull::{Condition, Done, Outcome, Pull, Series, Step},
    report::{
        json,
        pull::{PullDocument, text},
    },
    runtime::{
        access,
        clock::Clock,
        run::{Ended, Look, Row, Testbed},
        session::TestFiles,
        startup,
    },
    source::origin::Origin,
    tune::settings::differing,
    units::Bytes,
};

/// Interval of temperatures during a run.
const TEMPERATURES: Duration = Duration::from_secs(5);
/// Interval of lines about a run that takes minutes.
const LINES: Duration = Duration::from_secs(10);

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

impl PullArgs {
    /// Whether it asks nothing and prints nothing before its document.
    pub(super) const fn is_quiet(&self) -> bool {
        self.json && self.yes
    }
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
    let targets = args.targets(&bed, origin)?;
    if !bed.simulated() {
        args.check(&bed, &targets)?;
    }
    let series = if args.profile.is_some() { Series::CrystalDiskMark } else { Series::Guided };
    let long = args.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    let pull = Pull::new(&bed.read.machine, targets, series, long).with_size(args.size);
    if !bed.simulated() && !args.agreed(&bed.read.machine, &pull)? {
        return Ok(Status::Done);
    }
    let signal = Signal::watch()?;
    let mut progress = Progress::new(!args.json && !bed.simulated());
    let pull = carry_out(&mut bed, pull, &mut progress, Step::time, |_, _| signal.received().is_none());
    let machine = &bed.read.machine;
    let findings = findings::check(&Inputs::at_rest(machine, &bed.read.limits));
    let outcome = Outcome::new(machine, &bed.read.limits, &findings, &pull, units(args.json));
    if args.json {
        print(&json::text(&PullDocument::new(&pull, &outcome)))?;
    } else {
        print_text(&text(&pull, &outcome, columns(), units(false)))?;
    }
    if let Some((_, why)) = pull.failed().filter(|(_, why)| !why.files().is_empty()) {
        let files = if why.files().len() == 1 { "a file" } else { "files" };
        say(&format!("read {files} instead: {}", access::file_command("pull", why.files())));
    }
    Ok(match signal.received() {
        Some(number) => Status::Stopped(number),
        None if pull.failed().is_some() => Status::No,
        None => Status::Done,
    })
}

/// Runs the series to its end, each run for its `time`, or until `goes_on` returns false. Files that it laid out are removed.
fn carry_out(
    bed: &mut Testbed,
    mut pull: Pull,
    progress: &mut Progress,
    time: impl Fn(&Step) -> Duration,
    goes_on: impl Fn(&Step, &Look) -> bool,
) -> Pull {
    let files = TestFiles::default();
    while let Some(step) = pull.next() {
        progress.begin(&pull, &step);
        let workload = Workload { runtime: Some(time(&step)), ..step.workload.clone() };
        let ended = bed.run(workload, files.clone(), |look| {
            progress.look(bed, &mut pull, &step, look);
            goes_on(&step, look)
        });
        let (result, seconds, each) = match ended {
            Ok(mut ended) => {
                let learned = judge(bed, &mut ended);
                // What a phase measured counts for the next ones.
                bed.learn(learned);
                let Ended { run, seconds, each, after, .. } = ended;
                let read = run.targets.iter().map(|target| target.runtime).max().unwrap_or_default();
                if let Some(machine) = &after {
                    pull.see(machine, true, read);
                    for (setting, device, value) in differing(&bed.read.machine, machine) {
                        pull.note_other(setting.0, &device, value.as_str());
                    }
                }
                (Ok(run), seconds, each)
            }
            Err(EngineError::Stopped) => {
                pull.stop();
                break;
            }
            Err(error) => {
                let why = access::failed(&bed.read.machine, pull.targets(), error);
                (Err(why), Seconds::default(), Vec::new())
            }
        };
        pull.take(Done { step, result, seconds, each });
    }
    pull
}

/// Lines about the run in progress, and its temperatures.
struct Progress {
    shows: bool,
    /// When temperatures were read last.
    felt: Option<Duration>,
    /// When a line was written last.
    said: Duration,
}

impl Progress {
    fn new(shows: bool) -> Self {
        Self { shows, felt: None, said: Duration::ZERO }
    }

    fn begin(&mut self, pull: &Pull, step: &Step) {
        (self.felt, self.said) = (None, Duration::ZERO);
        if self.shows {
            let (left, place) = (pull.time_left().as_secs(), pull.place(step));
            say(&format!("{left:>3} s left  {place}: {}", step.workload.title()));
        }
    }

    fn look(&mut self, bed: &Testbed, pull: &mut Pull, step: &Step, look: &Look) {
        if self.shows
            && let Some(Row::Preparing(busy_with)) = &look.row
        {
            say(&format!("            {busy_with}"));
        }
        let at = look.sample.at;
        if bed.simulated() || look.sample.state != RunState::Running {
            return;
        }
        if self.felt.is_none_or(|felt| at >= felt + TEMPERATURES) {
            self.felt = Some(at);
            pull.feel(&bed.celsius(pull.targets()), at);
        }
        if self.shows && at >= self.said + LINES && step.time() > 2 * LINES {
            self.said = at;
            let hottest = pull.conditions().iter().flatten().filter_map(Condition::celsius).reduce(f64::max);
            let hottest =
                hottest.map_or_else(String::new, |celsius| format!(", hottest drive {celsius:.0} °C"));
            let bytes: u64 = look.sample.targets.iter().map(|target| target.bytes).sum();
            let mean = units(false).rate(crate::units::BytesPerSecond(bytes as f64 / at.as_secs_f64()));
            say(&format!(
                "            {} of {} s, {mean} on average{hottest}",
                at.as_secs(),
                step.time().as_secs()
            ));
        }
    }
}

#[cfg(test)]
mod tests;

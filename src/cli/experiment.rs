//! `iodyno experiment`: experiments without a screen.

use std::{sync::Arc, time::Duration};

use clap::{Args, Subcommand};

use super::{
    Complaint, Failure, Progress, Status, bench::OptionArgs, captured, columns, failure::unread, say, show,
    signals::Signal, tune,
};
use crate::{
    experiment::{
        Account, EXPERIMENTS, Experiment, Needs, Plan, Scene, Terms,
        account::{Ending, StoppedBy},
        plan::{Subject, Wishes},
        table,
    },
    machine::Machine,
    model::{Metric, Target, Workload, fio},
    report::experiment as text,
    runtime::{experiment, run_history, startup, target_resolver},
    source::{SysRoot, origin::Origin},
    text::Label,
    tune::SettingsService,
    units::counted,
};

#[derive(Debug, Args)]
pub(super) struct ExperimentArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List experiments with their question, duration and needs
    List {
        #[command(flatten)]
        on: On,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run one and print its verdict; all settings are restored
    Run(Box<RunArgs>),
}

#[derive(Debug, Args)]
struct On {
    /// Drives and files to read, `A:B`; in a demo, default those the question is about
    #[arg(long, value_name = "PATHS")]
    filename: Option<String>,
}

#[derive(Debug, Args)]
#[command(rename_all = "snake_case")]
struct RunArgs {
    /// A name that `iodyno experiment list` prints
    name: String,
    #[command(flatten)]
    on: On,
    /// Smallest difference that counts: 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    margin: f64,
    /// Confidence level of intervals: 95% or 0.95
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = share)]
    confidence: f64,
    /// Measured time per run: 2, 500ms
    #[arg(long, value_name = "TIME", default_value = "2", value_parser = fio::time)]
    runtime: Duration,
    /// Warm-up of each run
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = fio::time)]
    ramp_time: Duration,
    /// Minimum rounds, 8 or more
    #[arg(long, value_name = "N", default_value_t = Terms::FEWEST_ROUNDS,
        value_parser = clap::value_parser!(u32).range(i64::from(Terms::FEWEST_ROUNDS)..=100_000))]
    rounds: u32,
    /// Maximum duration [default: 10m, or what the minimum rounds take]
    #[arg(long = "max-time", value_name = "TIME", value_parser = fio::time)]
    max_time: Option<Duration>,
    /// Seed for the order of arms
    #[arg(long, value_name = "N")]
    randseed: Option<u64>,
    /// An arm of `own`: "LABEL: scheduler=none bs=4k iodepth=32"; twice or more
    #[arg(long = "arm", value_name = "ARM")]
    arms: Vec<String>,
    /// Compared metric: iops, `bytes_per_second`, `cpu_ns_per_io`, `latency_p99`
    #[arg(long, value_name = "FIGURE", value_parser = metric)]
    metric: Option<Metric>,
    #[command(flatten)]
    every_arm: OptionArgs<true>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / unit);
    share
        .filter(|share| (0.000_1..0.999_9).contains(share))
        .ok_or_else(|| "not a share; use 2% or 0.02".to_owned())
}

fn metric(text: &str) -> Result<Metric, String> {
    const ALL: [Metric; 4] = [Metric::Iops, Metric::BytesPerSecond, Metric::CpuNsPerIo, Metric::LatencyP99];
    let names: Vec<&str> = ALL.iter().map(|metric| metric.name()).collect();
    ALL.into_iter()
        .find(|metric| metric.name() == text)
        .ok_or_else(|| format!("no such figure; use one of {}", names.join(", ")))
}

impl ExperimentArgs {
    /// Whether it prints nothing before its document.
    pub(super) const fn is_quiet(&self) -> bool {
        matches!(&self.action, Action::Run(args) if args.json) || matches!(self.action, Action::List { .. })
    }
}

/// Status 1 without an answer.
pub(super) fn run(args: &ExperimentArgs, origin: &Origin) -> Result<Status, Failure> {
    match &args.action {
        Action::List { on, json } => list(on, *json, origin),
        Action::Run(args) => {
            if !origin.is_live() && !origin.is_demo() {
                return Err(captured("experiment").into());
            }
            tune::recover(origin, tune::Need::GoOn)?;
            args.run(origin)
        }
    }
}

fn list(on: &On, json: bool, origin: &Origin) -> Result<Status, Failure> {
    let root = origin.open()?;
    let (machine, _) = startup::machine(&*root);
    let wishes = Wishes::default();
    let rows = EXPERIMENTS
        .iter()
        .map(|row| {
            let targets = on.targets(origin, &*root, &machine, row)?;
            let scene =
                Scene { machine: &machine, targets: &targets, simulated: origin.is_demo(), wishes: &wishes };
            let plan = if origin.is_live() || origin.is_demo() {
                row.plan(&scene, Terms::default())
            } else {
                Err(Needs::its_drives(&machine))
            };
            Ok((row, plan))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    show(json, &text::ListDocument::new(&rows), |_| text::list(&rows, columns()))
}

impl On {
    /// The named targets; without a name, in a demo, those of the experiment.
    fn targets(
        &self,
        origin: &Origin,
        root: &dyn SysRoot,
        machine: &Machine,
        row: &Experiment,
    ) -> Result<Vec<Target>, Failure> {
        let named = self.filename.as_deref().map(fio::names).unwrap_or_default();
        let targets = named.into_iter().map(|path| Target { path, drive: None }).collect();
        let mut workload = Workload { targets, ..Workload::default() };
        if origin.is_demo() {
            target_resolver::name_drives(&mut workload, machine)?;
        } else {
            target_resolver::find_drives(&mut workload, root, machine);
        }
        if self.filename.is_none() && row.subject == Subject::OneDrive {
            workload.targets.truncate(1);
        }
        Ok(workload.targets)
    }
}

impl RunArgs {
    fn run(&self, origin: &Origin) -> Result<Status, Failure> {
        let unknown = || {
            let names: Vec<&str> = EXPERIMENTS.iter().map(|row| row.id.0).collect();
            Complaint::new(&self.name, "no such experiment", format!("there are {}", names.join(" ")))
        };
        let row = table::find(&self.name).ok_or_else(unknown)?;
        if !self.arms.is_empty() && row.id.0 != "own" {
            let fix = "use `experiment run own`, or leave --arm out";
            return Err(Complaint::new("--arm", format!("{} has fixed arms", self.name), fix).into());
        }
        let root = origin.open()?;
        let (machine, _) = startup::machine(&*root);
        let targets = self.on.targets(origin, &*root, &machine, row)?;
        if targets.is_empty() {
            let fix =
                "add --filename with a drive, or with a file as in --filename /var/tmp/iodyno.test --size 1g";
            return Err(Complaint::new("--filename", "no drive or file to read", fix).into());
        }
        let wishes =
            Wishes { options: self.every_arm.0.clone(), arms: self.arms.clone(), metric: self.metric };
        let scene =
            Scene { machine: &machine, targets: &targets, simulated: origin.is_demo(), wishes: &wishes };
        let mut plan = row
            .plan(&scene, self.terms())
            .map_err(|needs| Complaint::new(&self.name, needs.to_string(), "see `iodyno experiment list`"))?;
        if self.max_time.is_none() {
            plan.allow_least_time();
        }
        if plan.terms.most_time < plan.least_time() {
            let rounds = counted(plan.terms.least_rounds as usize, "round");
            let why = format!("too short for {rounds} of {}", counted(plan.arms.len(), "run"));
            let fix =
                format!("use {} s or more, or a shorter --runtime", plan.least_time().as_secs_f64().ceil());
            return Err(Complaint::new("--max-time", why, fix).into());
        }
        let service = startup::settings(origin, &root).filter(|service| service.boot.is_some());
        let cannot = || Complaint::new("experiment", "this machine's boot id cannot be read", "mount /proc");
        self.carry_out(plan, &service.ok_or_else(cannot)?, &root)
    }

    fn terms(&self) -> Terms {
        Terms {
            margin: self.margin,
            confidence: self.confidence,
            measured: self.runtime,
            warm_up: self.ramp_time,
            least_rounds: self.rounds,
            most_time: self.max_time.unwrap_or(Terms::default().most_time),
            seed: self.randseed.unwrap_or(Terms::default().seed),
        }
    }

    /// Runs it until its end or a signal; every changed setting is restored before the result is printed.
    fn carry_out(
        &self,
        plan: Plan,
        service: &Arc<SettingsService>,
        root: &Arc<dyn SysRoot>,
    ) -> Result<Status, Failure> {
        let signal = Signal::watch()?;
        let mut out = Progress::new(self.json);
        let print = |out: &mut Progress, words: &str| out.print(&text::folded(words, columns()));
        print(&mut out, &text::heading(&plan));
        let (mut rounds, mut discarded) = (0, 0);
        let (account, started) = experiment::run(plan, service, root, |account| {
            if account.rounds > rounds {
                rounds = account.rounds;
                print(&mut out, &text::round(account));
            }
            if account.thrown_out.len() > discarded {
                discarded = account.thrown_out.len();
                print(&mut out, &text::discarded(account));
            }
            let by_signal = signal.received().map(|number| StoppedBy::Signal(signal_name(number)));
            by_signal.or_else(|| out.failed.as_ref().map(|_| StoppedBy::ClosedOutput))
        });
        if account.has_result() && !account.plan.simulated {
            let boot = service.boot.as_deref().map(Label::new);
            if let Err(error) = run_history::keep(&account.record(boot.as_ref(), started)) {
                say(&error.to_string());
            }
        }
        if let Some(failure) = out.failed {
            return Err(failure);
        }
        if let Some(why) = account.refused.as_ref().filter(|_| account.rounds == 0) {
            return Err(unread(why, &format!("experiment run {}", self.name)));
        }
        if let (Some(Ending::Failed(why)), 0) = (&account.ending, account.rounds) {
            // Without a round there is no result to print.
            let fix = "check `dmesg`, or choose other targets or options";
            let is_restored = account.restored == Some(true) && !account.samples.is_empty();
            let restored = if is_restored { " (all settings restored)" } else { "" };
            return Err(Complaint::from_line(why, fix).and(restored).into());
        }
        show(self.json, &account.record(None, started), |_| text::result(&account, columns()))?;
        Ok(signal.received().map_or_else(|| status(&account), Status::Stopped))
    }
}

fn signal_name(number: u8) -> &'static str {
    signal_hook::low_level::signal_name(number.into()).unwrap_or("that ended the program")
}

/// Status 0 if every arm has a verdict.
fn status(account: &Account) -> Status {
    let open = |arm| account.effect(arm).is_none_or(|effect| !effect.verdict.is_answer());
    let unanswered = account.compared().any(open) || account.compared().next().is_none();
    if unanswered || account.restored != Some(true) { Status::No } else { Status::Done }
}

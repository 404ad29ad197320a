//! [`Experiment`], a question, and [`Plan`], that question on one machine: arms with settings and workloads, and terms.

use std::time::Duration;

use crate::{
    machine::{Drive, Machine},
    model::{ExperimentId, Metric, Pattern, SettingId, Target, Workload},
    tune::Device,
    units::Bytes,
};

/// One question.
pub struct Experiment {
    /// Its name on the command line.
    pub id: ExperimentId,
    /// The question.
    pub question: &'static str,
    /// What is compared, a few words.
    pub arms: &'static str,
    /// What it changes while it runs; empty for nothing but the workload.
    pub changes: &'static str,
    /// What it needs, beyond something to read from.
    pub needs: &'static str,
    /// What arms are compared by.
    pub metric: Metric,
    /// What somebody found, with the source; empty where nobody said.
    pub found: &'static str,
    /// What it means when `{arm}` is better than `{baseline}`.
    pub if_better: &'static str,
    /// When it is worse.
    pub if_worse: &'static str,
    /// When there is no difference.
    pub if_same: &'static str,
    /// Findings that it proves or refutes.
    pub proves: &'static [&'static str],
    /// What it is about where nobody says what to read.
    pub subject: Subject,
    /// The workload that arms are variations of.
    pub workload: fn() -> Workload,
    /// Its arms on a machine, or what is missing there.
    pub make: fn(&Scene<'_>, &Workload) -> Arms,
}

impl PartialEq for Experiment {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.0)
    }
}

/// Arms, or what is missing, in words that end a sentence with "needs".
pub(crate) type Arms = Result<Vec<Arm>, String>;

/// What an experiment is made for.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The machine as it was read.
    pub machine: &'a Machine,
    /// What is read, each with its drive where that is known.
    pub targets: &'a [Target],
    /// Whether drives are simulated: then only what the model knows the cost of can be tried.
    pub simulated: bool,
    /// What the user wants otherwise than the row has it.
    pub wishes: &'a Wishes,
}

/// Parts of the workload that the user sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wishes {
    /// `--rw`.
    pub pattern: Option<Pattern>,
    /// `--bs`.
    pub block_size: Option<Bytes>,
    /// `--iodepth`.
    pub depth: Option<u32>,
    /// `--numjobs`.
    pub jobs: Option<u32>,
    /// `--direct`.
    pub direct: Option<bool>,
    /// `--size`.
    pub size: Option<Bytes>,
    /// `--rate_iops`.
    pub rate_iops: Option<u32>,
    /// Arms of `own`, as they were written.
    pub arms: Vec<String>,
    /// The figure that arms of `own` are compared by.
    pub metric: Option<Metric>,
}

/// What a question is about where nobody says what to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One drive.
    OneDrive,
    /// All of them.
    AllDrives,
}

/// How long and how sure.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Differences below this share are none: 0.02.
    pub margin: f64,
    /// How sure intervals are: 0.95.
    pub confidence: f64,
    /// Time of a run that counts.
    pub measured: Duration,
    /// Time of a run before that.
    pub warm_up: Duration,
    /// No verdict before this many rounds.
    pub least_rounds: u32,
    /// No round begins after this.
    pub most_time: Duration,
    /// Seed of the order of arms and of the blocks they read.
    pub seed: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            margin: 0.02,
            confidence: 0.95,
            measured: Duration::from_secs(2),
            warm_up: Duration::from_millis(300),
            least_rounds: 8,
            most_time: Duration::from_mins(10),
            seed: 0x1007_d140,
        }
    }
}

impl Terms {
    /// Fewer rounds than these prove nothing.
    pub(crate) const FEWEST_ROUNDS: u32 = 8;
}

/// A setting and the value an arm gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: SettingId,
    /// The value.
    pub value: String,
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// A few words: `mq-deadline`.
    pub label: String,
    /// Set before each of its runs, put back after it. In this order.
    pub settings: Vec<Assignment>,
    /// What it does; runtime, ramp and seed are the driver's.
    pub workload: Workload,
    /// Whether processors are kept out of deep sleep meanwhile (`/dev/cpu_dma_latency`).
    pub awake: bool,
    /// Arms whose figures of the same round, each times its factor, it is held against. None: it is the baseline.
    pub against: Vec<(usize, f64)>,
}

/// An experiment on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its row.
    pub experiment: &'static Experiment,
    /// What arms are compared by.
    pub metric: Metric,
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How long and how sure.
    pub terms: Terms,
    /// Whether drives are simulated.
    pub simulated: bool,
    /// All that is read, by one arm or another.
    pub targets: Vec<Target>,
    /// What the user wanted otherwise than the row has it.
    pub wishes: Wishes,
}

/// Between the end of a run and the beginning of the next one: settings are put back, set and read back.
const CHANGE_OVER: Duration = Duration::from_millis(200);

impl Arm {
    /// An arm that changes nothing but the workload, held against the first one.
    pub(crate) fn new(label: impl Into<String>, workload: Workload) -> Self {
        Self { label: label.into(), settings: Vec::new(), workload, awake: false, against: vec![(0, 1.0)] }
    }

    /// The same with the setting at that value on every drive under test.
    #[must_use]
    pub(crate) fn setting(mut self, drives: &[&Drive], setting: SettingId, value: &str) -> Self {
        self.settings.extend(drives.iter().map(|drive| Assignment {
            device: Device::Drive(drive.name.clone()),
            setting,
            value: value.to_owned(),
        }));
        self
    }
}

impl Experiment {
    /// The experiment on a machine, or what it needs that is not there.
    pub fn plan(&'static self, scene: &Scene<'_>, terms: Terms) -> Result<Plan, String> {
        if scene.targets.is_empty() {
            return Err("a drive or a file to read from".to_owned());
        }
        let arms = (self.make)(scene, &scene.workload((self.workload)()))?;
        for arm in &arms {
            arm.workload.validate().map_err(|error| format!("another workload: {error}"))?;
        }
        let metric = scene.wishes.metric.unwrap_or(self.metric);
        Ok(Plan {
            experiment: self,
            metric,
            arms,
            terms,
            simulated: scene.simulated,
            targets: scene.targets.to_vec(),
            wishes: scene.wishes.clone(),
        })
    }
}

impl Plan {
    /// How long it takes at least: the round that is not counted, and the fewest that are.
    pub(crate) fn least_time(&self) -> Duration {
        self.round_time() * (self.terms.least_rounds + 1)
    }

    /// How long a round of all arms takes.
    pub(crate) fn round_time(&self) -> Duration {
        let arms = u32::try_from(self.arms.len()).unwrap_or(u32::MAX);
        (self.terms.measured + self.terms.warm_up + CHANGE_OVER) * arms
    }

    /// The arm that the others are held against; of several the first.
    pub(crate) fn baseline(&self) -> usize {
        self.arms.iter().position(|arm| arm.against.is_empty()).unwrap_or(0)
    }

    /// Whether any arm changes a setting.
    pub(crate) fn changes_settings(&self) -> bool {
        self.arms.iter().any(|arm| !arm.settings.is_empty())
    }

    /// What is tested, for a title: targets and the part of the workload that all arms share.
    pub(crate) fn subject(&self) -> String {
        let arm = self.arms.get(self.baseline());
        let targets = arm.map_or(&[][..], |arm| &arm.workload.targets);
        let name = |target: &Target| match &target.drive {
            Some(drive) if target.path.as_os_str() == drive.device_file().as_str() => drive.to_string(),
            _ => crate::text::Label::new(&target.path.to_string_lossy()).to_string(),
        };
        let all = match targets {
            [] => String::new(),
            [one] => name(one),
            many => format!("{} drives", many.len()),
        };
        format!("{all}, {}", arm.map_or_else(String::new, |arm| arm.workload.title()))
    }
}

impl<'a> Scene<'a> {
    /// The drives under test, as far as targets are drives or lie on one; each once.
    pub(crate) fn drives(&self) -> Vec<&'a Drive> {
        let mut drives: Vec<&'a Drive> = Vec::new();
        for drive in self.targets.iter().filter_map(|target| self.machine.drive(target.drive.as_ref()?)) {
            if !drives.iter().any(|seen| seen.name == drive.name) {
                drives.push(drive);
            }
        }
        drives
    }

    /// The workload of a row with the user's wishes.
    pub(crate) fn workload(&self, row: Workload) -> Workload {
        let wishes = self.wishes;
        Workload {
            targets: self.targets.to_vec(),
            pattern: wishes.pattern.unwrap_or(row.pattern),
            block_size: wishes.block_size.unwrap_or(row.block_size),
            depth: wishes.depth.unwrap_or(row.depth),
            // More workers than processors measure the scheduler of tasks.
            jobs: wishes.jobs.unwrap_or_else(|| row.jobs.min(self.processors())),
            direct: wishes.direct.unwrap_or(row.direct),
            size: wishes.size.or(row.size),
            rate_iops: wishes.rate_iops.or(row.rate_iops),
            ..row
        }
    }

    /// Hardware threads, at least one.
    pub(crate) fn processors(&self) -> u32 {
        u32::try_from(self.machine.processors.count()).unwrap_or(u32::MAX).max(1)
    }
}

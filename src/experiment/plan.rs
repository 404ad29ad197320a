//! [`Experiment`], a question, and [`Plan`], that question on one machine: arms with settings and workloads, and terms.

use std::time::Duration;

use super::looks;
use crate::{
    machine::{Drive, Machine},
    model::{ExperimentId, Metric, SettingId, Target, Workload, options::Given},
    text::Label,
    tune::Device,
    units::{Bytes, counted},
};

/// One row of `EXPERIMENTS`.
pub struct Experiment {
    /// Its name on the command line.
    pub id: ExperimentId,
    /// The question.
    pub question: &'static str,
    /// The compared arms, in short.
    pub arms: &'static str,
    /// Settings it changes; empty if only the workload.
    pub changes: &'static str,
    /// Requirements besides a target.
    pub needs: &'static str,
    /// The compared metric.
    pub metric: Metric,
    /// A published result with its source; empty if there is none.
    pub found: &'static str,
    /// The conclusion if `{arm}` is better than `{baseline}`.
    pub if_better: &'static str,
    /// The conclusion if it is worse.
    pub if_worse: &'static str,
    /// The conclusion without a difference.
    pub if_same: &'static str,
    /// The name of the value that grows from arm to arm; empty if none does.
    pub ladder: &'static str,
    /// Findings that it confirms or refutes.
    pub proves: &'static [&'static str],
    /// The default targets.
    pub subject: Subject,
    /// The base workload.
    pub workload: fn() -> Workload,
    /// Makes the arms for a machine.
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

/// Arms, or what is missing.
pub(crate) type Arms = Result<Vec<Arm>, Needs>;

/// What an experiment needs that a machine or a request lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("needs {0}")]
pub struct Needs(pub String);

impl<T: Into<String>> From<T> for Needs {
    fn from(what: T) -> Self {
        Self(what.into())
    }
}

impl Needs {
    /// The drives of a machine that was opened are not here.
    pub(crate) fn its_drives(machine: &Machine) -> Self {
        let whose = if machine.pasted.is_some() { "text" } else { "capture" };
        format!("this machine or a demo: a {whose}'s drives are not here").into()
    }
}

/// The inputs of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The machine as it was read.
    pub machine: &'a Machine,
    /// Targets, each with its drive where known.
    pub targets: &'a [Target],
    /// Whether drives are simulated: then only settings that the model covers can be tried.
    pub simulated: bool,
    /// The user's overrides of the row.
    pub wishes: &'a Wishes,
}

/// The user's overrides of a row's workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wishes {
    /// Options of the workload.
    pub options: Given,
    /// Arms of `own`, as the user wrote them.
    pub arms: Vec<String>,
    /// The metric of `own`.
    pub metric: Option<Metric>,
}

/// Default targets of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One drive.
    OneDrive,
    /// All drives.
    AllDrives,
}

/// Duration, confidence and margin of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Smaller differences, as a share, count as none: 0.02.
    pub margin: f64,
    /// Confidence level of the intervals: 0.95.
    pub confidence: f64,
    /// Measured time of a run.
    pub measured: Duration,
    /// Ramp time of a run.
    pub warm_up: Duration,
    /// Minimum rounds for a verdict.
    pub least_rounds: u32,
    /// No round starts after this time.
    pub most_time: Duration,
    /// Seed for the order of arms and of block offsets.
    pub seed: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            margin: 0.02,
            confidence: 0.95,
            measured: Duration::from_secs(2),
            warm_up: Duration::from_millis(300),
            least_rounds: Self::FEWEST_ROUNDS,
            most_time: Duration::from_mins(10),
            seed: 0x1007_d140,
        }
    }
}

impl Terms {
    pub(crate) const FEWEST_ROUNDS: u32 = 8;
}

/// A setting and its value in an arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: SettingId,
    /// The value.
    pub value: String,
}

/// One compared variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Short label: `mq-deadline`.
    pub label: String,
    /// Written before each run in this order, restored after it.
    pub settings: Vec<Assignment>,
    /// The workload; the driver sets runtime, ramp and seed.
    pub workload: Workload,
    /// Whether CPUs are held out of deep idle states during a run (`/dev/cpu_dma_latency`).
    pub awake: bool,
    /// Whether simulated reads find free memory for the page cache, not memory full of pages. On a real machine nothing sets that.
    pub free_memory: bool,
    /// Whether it is left out where the engine refuses its workload.
    pub optional: bool,
    /// Compared with the sum of these arms' figures of the same round, each times its factor. Empty: it is the
    /// baseline.
    pub against: Vec<(usize, f64)>,
}

/// An experiment on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its row.
    pub experiment: &'static Experiment,
    /// The compared metric.
    pub metric: Metric,
    /// The compared arms.
    pub arms: Vec<Arm>,
    /// Duration, confidence and margin of an experiment.
    pub terms: Terms,
    /// Whether drives are simulated.
    pub simulated: bool,
    /// The targets of all arms.
    pub targets: Vec<Target>,
    /// The user's overrides of the row.
    pub wishes: Wishes,
}

/// Estimated time between runs, to restore, write and verify settings.
const CHANGE_OVER: Duration = Duration::from_millis(200);

impl Arm {
    /// An arm without settings, compared with the first arm.
    pub(crate) fn new(label: impl Into<String>, workload: Workload) -> Self {
        Self {
            label: label.into(),
            settings: Vec::new(),
            workload,
            awake: false,
            free_memory: false,
            optional: false,
            against: vec![(0, 1.0)],
        }
    }

    /// Adds the setting on every given drive.
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
    pub fn plan(&'static self, scene: &Scene<'_>, terms: Terms) -> Result<Plan, Needs> {
        if scene.targets.is_empty() {
            return Err("a drive or a file to read from".into());
        }
        let mut arms = (self.make)(scene, &scene.workload((self.workload)()))?;
        // Arms that name no baseline are compared with the first.
        if arms.iter().all(|arm| !arm.against.is_empty())
            && let Some(first) = arms.first_mut()
        {
            first.against.clear();
        }
        for arm in &arms {
            arm.workload.validate().map_err(|error| format!("another workload: {error}"))?;
        }
        let metric = scene.wishes.metric.unwrap_or_else(|| self.metric_of(&arms));
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

    /// I/Os of different sizes are compared by their bytes.
    fn metric_of(&self, arms: &[Arm]) -> Metric {
        let mut blocks = arms.iter().map(|arm| arm.workload.largest_block());
        let first = blocks.next();
        let is_mixed = self.metric == Metric::Iops && blocks.any(|block| Some(block) != first);
        if is_mixed { Metric::BytesPerSecond } else { self.metric }
    }
}

impl Plan {
    /// The same on files of this size.
    ///
    /// # Errors
    /// It needs drives, or more targets.
    pub fn on_files(&self, machine: &Machine, files: &[Target], size: Bytes) -> Result<Self, Needs> {
        let mut wishes = self.wishes.clone();
        wishes.options.0.push(("size", size.0.to_string()));
        let scene = Scene { machine, targets: files, simulated: self.simulated, wishes: &wishes };
        self.experiment.plan(&scene, self.terms.clone())
    }

    /// Minimum duration: the warm-up round and the fewest counted rounds.
    pub(crate) fn least_time(&self) -> Duration {
        self.round_time() * (self.terms.least_rounds + 1)
    }

    /// Rounds after which a verdict can fall, as far as the time allows.
    pub(crate) fn looks(&self) -> Vec<u32> {
        let most = self.terms.most_time.as_nanos() / self.round_time().as_nanos().max(1);
        looks::all(self.terms.least_rounds).filter(|round| u128::from(*round) < most).collect()
    }

    /// The level of the intervals at a look.
    pub(crate) fn look_level(&self) -> f64 {
        let compared = self.arms.iter().filter(|arm| !arm.against.is_empty()).count();
        looks::level(self.terms.confidence, compared, 0)
    }

    /// Raises the maximum duration to the minimum: many arms may need more than the default.
    pub(crate) fn allow_least_time(&mut self) {
        self.terms.most_time = self.terms.most_time.max(self.least_time());
    }

    pub(crate) fn round_time(&self) -> Duration {
        let arms = u32::try_from(self.arms.len()).unwrap_or(u32::MAX);
        (self.terms.measured + self.terms.warm_up + CHANGE_OVER) * arms
    }

    /// An arm's workload with the runtime and ramp time of a run.
    pub(crate) fn timed(&self, arm: usize) -> Workload {
        let terms = &self.terms;
        Workload { runtime: Some(terms.measured), ramp: terms.warm_up, ..self.arms[arm].workload.clone() }
    }

    /// The baseline arm; of several the first.
    pub(crate) fn baseline(&self) -> usize {
        self.arms.iter().position(|arm| arm.against.is_empty()).unwrap_or(0)
    }

    pub(crate) fn changes_settings(&self) -> bool {
        self.arms.iter().any(|arm| !arm.settings.is_empty())
    }

    /// Title: what all arms read, and the baseline's workload; of arms that a user wrote with different ones every arm's.
    pub(crate) fn subject(&self) -> String {
        let titles: Vec<String> = self.arms.iter().map(|arm| arm.workload.title()).collect();
        let baseline = titles.get(self.baseline()).map_or("", String::as_str);
        // Arms of a row vary what their labels say.
        if self.is_custom() && titles.iter().any(|title| title != baseline) {
            let each = self.arms.iter().zip(&titles).map(|(arm, title)| format!("{title} ({})", arm.label));
            return format!("{}, {}", self.targets_in_words(), each.collect::<Vec<_>>().join("; "));
        }
        format!("{}, {baseline}", self.targets_in_words())
    }

    /// `nvme0n1`, `10 drives`: what all arms read.
    pub(super) fn targets_in_words(&self) -> String {
        let name = |target: &Target| match &target.drive {
            Some(drive) if is_whole(target) => drive.to_string(),
            _ => Label::new(&target.path.to_string_lossy()).to_string(),
        };
        let targets = self.read();
        match targets.as_slice() {
            [] => String::new(),
            [one] => name(one),
            many if many.iter().all(|target| is_whole(target)) => counted(many.len(), "drive"),
            many => counted(many.len(), "target"),
        }
    }

    /// What any arm reads, each once: a drive's character device is the drive.
    fn read(&self) -> Vec<&Target> {
        let mut all: Vec<&Target> = Vec::new();
        for target in self.arms.iter().flat_map(|arm| &arm.workload.targets) {
            let is_same =
                |other: &&Target| other.path == target.path || is_whole(other) && other.drive == target.drive;
            if !all.iter().any(is_same) {
                all.push(target);
            }
        }
        all
    }
}

/// Whether a target is a drive as a whole, by its block device.
fn is_whole(target: &Target) -> bool {
    target.drive.as_ref().is_some_and(|drive| target.path.as_os_str() == drive.device_file().as_str())
}

impl<'a> Scene<'a> {
    /// The drives of the targets, without duplicates.
    pub(crate) fn drives(&self) -> Vec<&'a Drive> {
        let mut drives: Vec<&'a Drive> = Vec::new();
        for drive in self.targets.iter().filter_map(|target| self.machine.drive(target.drive.as_ref()?)) {
            if !drives.iter().any(|seen| seen.name == drive.name) {
                drives.push(drive);
            }
        }
        drives
    }

    /// The workload of a row with the user's overrides.
    pub(crate) fn workload(&self, row: Workload) -> Workload {
        // More workers than CPUs would measure the task scheduler.
        let jobs = row.jobs.min(self.processors());
        let mut work = Workload { targets: self.targets.to_vec(), jobs, ..row };
        self.wishes.options.apply(&mut work);
        work
    }

    /// Refuses to change settings without root.
    pub(crate) fn may_write(&self) -> Result<(), Needs> {
        if self.simulated || self.machine.host.root.get() == Some(true) {
            return Ok(());
        }
        Err("root, to change a setting: run iodyno with sudo".into())
    }

    /// Online CPUs, at least one.
    pub(crate) fn processors(&self) -> u32 {
        u32::try_from(self.machine.processors.count()).unwrap_or(u32::MAX).max(1)
    }
}

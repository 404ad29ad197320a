//! [`Row`]: a published figure, how the model used it, and what the model says of it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use iodyno::{
    capacity::{self, Expected, processor},
    machine::Machine,
    model::{Limits, PageCache, Reading, Target, Workload},
    source::{self, capture::TextRoot, demo},
    text::Label,
    units::{self, Bytes, TransferRate},
};

use crate::constants::{Constant, Constants};

/// How a row was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Constants are fitted to it.
    Fitted,
    /// No constant is fitted to it, but the form of the model, or a constant, was chosen with it in view.
    Seen,
    /// Neither.
    Predicted,
}

/// What the model says of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The figure.
    Figure(f64),
    /// The model has none.
    NoPrediction(String),
}

/// What a row's figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Bytes per second.
    Rate,
    /// Reads per second.
    Iops,
    /// Requests per second that reach the drives.
    Requests,
    /// Share of all hardware threads, percent.
    Processors,
    /// CPU time of the workers alone, percent of all hardware threads.
    Workers,
    /// Bytes per second of all drives' own limits, added up.
    Sum,
    /// A ratio of two costs of a read.
    Ratio,
}

/// One published figure.
pub struct Row {
    pub work: &'static str,
    pub used: Use,
    /// Constants that the model's figure depends on.
    pub depends: &'static [Constant],
    /// The row of which this is the same number once more.
    pub repeats: Option<&'static str>,
    pub demo: &'static str,
    pub drives: usize,
    pub block: u64,
    pub depth: u32,
    /// Workers for each drive.
    pub jobs: u32,
    pub twist: Twist,
    pub metric: Metric,
    pub published: f64,
    /// Words of what must limit it.
    pub limit: Option<&'static str>,
    /// Why the model is more than 10 % off, or has no figure.
    pub why: Option<&'static str>,
}

/// What is changed of a demo's machine or of the plain workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    None,
    /// The drive's link trained at 8 GT/s.
    Gen3,
    /// Through the page cache, with or without readahead.
    Buffered {
        memory: PageCache,
        readahead: bool,
    },
    MqDeadline,
    /// With poll queues.
    Polled,
    /// The cost of the other article's CPU, at this one's clock.
    OtherCpu,
    /// The model has no such case.
    Unmodelled,
}

impl Use {
    /// Its word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Seen => "seen",
            Self::Predicted => "predicted",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Fitted => "Fitted: constants were made from these",
            Self::Seen => {
                "Seen: no constant was made from these, but the form of the model was chosen with them in view"
            }
            Self::Predicted => "Predicted: neither",
        }
    }
}

impl Metric {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate | Self::Sum => format!("{:.2} GB/s", value / 1e9),
            Self::Iops | Self::Requests => format!("{} /s", units::count(value)),
            Self::Processors | Self::Workers => format!("{value:.2} %"),
            Self::Ratio => format!("{value:.3}"),
        }
    }
}

impl Row {
    /// How far the model is off, as a share of what was published.
    pub fn off(&self, model: f64) -> f64 {
        model / self.published - 1.0
    }

    /// The limit in words.
    pub fn limit(&self) -> anyhow::Result<String> {
        let (machine, limits) = self.machine(None)?;
        let expected = capacity::expected(&machine, &limits, &self.workload(&machine));
        Ok(expected.into_iter().flatten().next().context("a target without a known limit")?.because)
    }

    /// The model's figure, with other constants than those in `assets/` if there are some.
    pub fn figure(&self, constants: Option<&Constants>) -> anyhow::Result<f64> {
        let (machine, limits) = self.machine(constants)?;
        let workload = self.workload(&machine);
        let expected: Vec<Expected> = capacity::expected(&machine, &limits, &workload)
            .into_iter()
            .collect::<Option<_>>()
            .context("a target without a known limit")?;
        let iops: f64 = expected.iter().map(|one| one.iops).sum();
        let processors = limits.processors.as_ref().context("nothing is known of the processors")?;
        let cycles = |one: &Expected| one.cycles_per_read.unwrap_or(0.0);
        Ok(match self.metric {
            Metric::Rate => expected.iter().map(|one| one.bytes_per_second.0).sum(),
            Metric::Iops => iops,
            Metric::Requests => iops * self.requests(&machine)?,
            Metric::Processors | Metric::Workers => {
                let used: f64 = expected.iter().map(|one| one.iops * cycles(one)).sum();
                processors.busy_threads(used) / f64::from(processors.threads) * 100.0
            }
            Metric::Sum => sum_of_drives(&limits),
            Metric::Ratio if self.depends == [Constant::Polled] => processors.path.polled.factor,
            Metric::Ratio => processors.path.engine.first().context("no engine")?.factor,
        })
    }

    /// Requests that the block layer makes of a read.
    fn requests(&self, machine: &Machine) -> anyhow::Result<f64> {
        Ok(processor::requests(machine.drives.first().context("no drive")?, Bytes(self.block)).0)
    }

    /// Requests that the block layer makes of a read, on the demo.
    pub fn split(&self) -> anyhow::Result<f64> {
        self.requests(&read(self.demo)?)
    }

    pub fn is_x(&self) -> bool {
        self.demo.starts_with("x570")
    }

    /// Cycles per second that its workers have.
    pub fn capacity(&self) -> anyhow::Result<f64> {
        self.capacity_of(self.workers())
    }

    /// Cycles per second that so many busy threads have.
    pub fn capacity_of(&self, threads: u32) -> anyhow::Result<f64> {
        Ok(self.machine(None)?.1.processors.context("a CPU")?.capacity(threads))
    }

    /// Cycles per second of its published share of the CPUs, at one thread a core.
    pub fn busy(&self) -> anyhow::Result<f64> {
        let processors = self.machine(None)?.1.processors.context("a CPU")?;
        Ok(self.published / 100.0 * f64::from(processors.threads) * processors.hertz)
    }

    /// Published bytes per second.
    pub fn rate(&self) -> f64 {
        if self.metric == Metric::Rate { self.published } else { self.published * self.block as f64 }
    }

    /// Bytes per second that the links carry with these constants, the CPUs left out.
    pub fn link(&self, constants: &Constants) -> anyhow::Result<f64> {
        let (machine, mut limits) = self.machine(Some(constants))?;
        limits.processors = None;
        let expected = capacity::expected(&machine, &limits, &self.workload(&machine));
        Ok(expected.into_iter().flatten().map(|one| one.bytes_per_second.0).sum())
    }

    /// Workers on all drives.
    pub fn workers(&self) -> u32 {
        self.jobs.saturating_mul(u32::try_from(self.drives).unwrap_or(u32::MAX))
    }

    fn workload(&self, machine: &Machine) -> Workload {
        let target = |number: usize| {
            let name = format!("nvme{number}n1");
            let drive = machine
                .drives
                .iter()
                .find(|drive| drive.name.as_str() == name)
                .map(|drive| drive.name.clone());
            Target { path: format!("/dev/{name}").into(), drive }
        };
        Workload {
            targets: (0..self.drives).map(target).collect(),
            block_size: Bytes(self.block),
            depth: self.depth,
            jobs: self.jobs,
            direct: !matches!(self.twist, Twist::Buffered { .. }),
            hipri: self.twist == Twist::Polled,
            ..Workload::default()
        }
    }

    /// The demo's machine as the row has it, and its limits.
    fn machine(&self, constants: Option<&Constants>) -> anyhow::Result<(Machine, Limits)> {
        let mut machine = read(self.demo)?;
        if self.twist == Twist::Gen3 {
            let nodes: Vec<_> = machine.drives.iter().filter_map(|drive| drive.node).collect();
            for node in nodes {
                if let Some(link) = machine.pci.nodes.get_mut(node.0).and_then(|node| node.link.as_mut()) {
                    link.speed =
                        Reading::known("a Gen3 slot", TransferRate::from_code(3).context("a speed")?);
                }
            }
        }
        for drive in &mut machine.drives {
            let queue = &mut drive.queue;
            match self.twist {
                Twist::Buffered { readahead: false, .. } => {
                    queue.read_ahead_kb = Reading::known("hdparm -a 0", 0);
                }
                Twist::MqDeadline => {
                    queue.scheduler = queue.scheduler.clone().map(|choice| iodyno::machine::queue::Choice {
                        current: Label::new("mq-deadline"),
                        ..choice
                    });
                }
                Twist::Polled => queue.io_poll = Reading::known("poll queues", 1),
                _ => {}
            }
        }
        if let Some(constants) = constants {
            constants.apply_to_machine(&mut machine);
        }
        let mut limits = capacity::limits(&machine);
        if let Some(constants) = constants {
            constants.apply(&machine, &mut limits);
        }
        if let Twist::Buffered { memory, .. } = self.twist {
            limits.page_cache = memory;
        }
        Ok((machine, limits))
    }
}

/// A demo's machine, read once.
pub fn read(name: &'static str) -> anyhow::Result<Machine> {
    static READ: Mutex<BTreeMap<&'static str, Machine>> = Mutex::new(BTreeMap::new());
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(machine) = known.get(name) {
        return Ok(machine.clone());
    }
    let demo = demo::find(name).context("no such demo")?;
    let machine = source::read_machine(&TextRoot::parse(&demo.capture())?).0;
    known.insert(name, machine.clone());
    Ok(machine)
}

fn sum_of_drives(limits: &Limits) -> f64 {
    limits.drives.values().map(|limit| limit.bytes_per_second.0).sum()
}

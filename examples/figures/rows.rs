//! The published figures, one row each, and how the model arrives at its own.
//!
//! What the model is calibrated on stands in `assets/`; a predicted figure stands nowhere but here, beside the prediction.
//!
//! Poder 2021 and Regalis 2023 are the articles that `assets/drives.toml` names.

use anyhow::Context as _;
use iodyno::{
    capacity::{self, Expected, processor},
    machine::Machine,
    model::{Limits, Reading, Target, Workload},
    source::{self, capture::TextRoot, demo},
    text::Label,
    units::{self, Bytes, TransferRate},
};

/// How a row was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The tables were made from it.
    Calibrated,
    /// The model has to say it by itself.
    Predicted,
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
    /// Reads per second that the processors could make if the drives could.
    ProcessorIops,
    /// Bytes per second of all drives' own limits, added up.
    Sum,
}

/// One published figure.
pub struct Row {
    pub work: &'static str,
    pub used: Use,
    pub demo: &'static str,
    pub drives: usize,
    pub block: u64,
    pub depth: u32,
    /// Workers for each drive.
    pub jobs: u32,
    pub twist: Twist,
    pub metric: Metric,
    pub published: f64,
    /// Why the model is more than 10 % off, if it is.
    pub why: Option<&'static str>,
}

/// What is changed of a demo's machine or of the plain workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    None,
    /// The drive's link trained at 8 GT/s.
    Gen3,
    Buffered,
    BufferedWithoutReadahead,
    MqDeadline,
    Polled,
}

const KIB: u64 = 1024;
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

const T: Row = Row {
    work: "",
    used: Use::Calibrated,
    demo: "threadripper-after",
    drives: 1,
    block: 4 * KIB,
    depth: 32,
    jobs: 3,
    twist: Twist::None,
    metric: Metric::Iops,
    published: 0.0,
    why: None,
};

const X: Row = Row { demo: "x570-formatted", depth: 128, jobs: 1, ..T };

const P: Use = Use::Predicted;

const SIBLINGS: &str = "calibrated on 3 workers with a core each, at the 3.9 GHz that the article states; 32 workers on 16 cores share each core with a \
     sibling, and 3 busy cores may run at this model's boost clock (AMD: 4.3 GHz): 11.2 k cycles a read at that clock, and 32 workers at 3.9 GHz make \
     11.1 M. The article names no clock beside its tests, so neither is calibrated. The drives' own limit, which the row above includes, is met first";

/// All rows of both machines.
pub const ROWS: &[Row] = &[
    Row { work: "T 1 drive, 4 KiB, 1 worker", jobs: 1, published: 450e3, ..T },
    Row { work: "T 1 drive, 4 KiB, 3 workers", published: 1_149e3, ..T },
    Row {
        work: "T 1 drive, 1 MiB, 3 workers",
        block: 1024 * KIB,
        metric: Metric::Rate,
        published: 6_811.0 * MIB,
        ..T
    },
    Row {
        work: "T   the same, requests after the split at 512 KiB",
        block: 1024 * KIB,
        metric: Metric::Requests,
        published: 13.8e3,
        ..T
    },
    Row {
        work: "T   the same, processors (24 of psn's 100 samples of 32)",
        block: 1024 * KIB,
        metric: Metric::Processors,
        published: 0.75,
        ..T
    },
    Row {
        work: "T 1 drive, buffered, page cache full (2 953 to 3 593 MiB/s)",
        block: 1024 * KIB,
        twist: Twist::Buffered,
        metric: Metric::Rate,
        published: 3_273.0 * MIB,
        ..T
    },
    Row {
        work: "T 1 drive, buffered, readahead 0",
        block: 1024 * KIB,
        twist: Twist::BufferedWithoutReadahead,
        metric: Metric::Rate,
        published: 4_011.0 * MIB,
        ..T
    },
    Row {
        work: "T 1 drive, 4 KiB, 3 workers, mq-deadline (523 to 532 k)",
        twist: Twist::MqDeadline,
        published: 527.5e3,
        ..T
    },
    Row {
        work: "T 10 drives, 1 MiB, both cards under one root complex",
        demo: "threadripper-before",
        drives: 10,
        block: 1024 * KIB,
        metric: Metric::Rate,
        published: 50.0 * GIB,
        ..T
    },
    Row { work: "X 1 drive, 4 KiB, 1 process", published: 420e3, ..X },
    Row { work: "X 1 drive, 8 KiB, 1 process", block: 8 * KIB, published: 341e3, ..X },
    Row { work: "X 1 drive, 16 KiB, 1 process", block: 16 * KIB, published: 305e3, ..X },
    Row { work: "X 1 drive, 32 KiB, 1 process", block: 32 * KIB, published: 229e3, ..X },
    Row { work: "X 1 drive, 4 KiB, 16 processes", jobs: 16, published: 1_800e3, ..X },
    Row { work: "X 4 drives, 4 KiB, 16 processes", drives: 4, jobs: 4, published: 5_556e3, ..X },
    Row {
        work: "T the same drive on a Gen3 link (stated)",
        used: P,
        block: 1024 * KIB,
        twist: Twist::Gen3,
        metric: Metric::Rate,
        published: 3_500e6,
        ..T
    },
    Row {
        work: "T 10 drives, 512 KiB, cards on separate root complexes",
        used: P,
        drives: 10,
        block: 512 * KIB,
        metric: Metric::Rate,
        published: 66.0 * GIB,
        ..T
    },
    Row { work: "T   the same, reads", used: P, drives: 10, block: 512 * KIB, published: 138e3, ..T },
    Row {
        work: "T   the same, processors",
        used: P,
        drives: 10,
        block: 512 * KIB,
        metric: Metric::Processors,
        published: 7.5,
        ..T
    },
    Row {
        work: "T 10 drives, 64 KiB",
        used: P,
        drives: 10,
        block: 64 * KIB,
        metric: Metric::Rate,
        published: 66.0 * GIB,
        ..T
    },
    Row { work: "T   the same, reads", used: P, drives: 10, block: 64 * KIB, published: 1.08e6, ..T },
    Row {
        work: "T   the same, processors",
        used: P,
        drives: 10,
        block: 64 * KIB,
        metric: Metric::Processors,
        published: 25.0,
        ..T
    },
    Row {
        work: "T 10 drives, 4 KiB, --hipri, 32 workers (11.0 to 11.1 M)",
        used: P,
        drives: 10,
        jobs: 4,
        twist: Twist::Polled,
        published: 11.05e6,
        ..T
    },
    Row {
        work: "T   the same by the processors alone",
        used: P,
        drives: 10,
        jobs: 4,
        twist: Twist::Polled,
        metric: Metric::ProcessorIops,
        published: 11.05e6,
        why: Some(SIBLINGS),
        ..T
    },
    Row {
        work: "T sum of the drives' own limits",
        used: P,
        drives: 10,
        metric: Metric::Sum,
        published: 66.5 * GIB,
        ..T
    },
    Row { work: "X 1 drive, 64 KiB, 1 process", used: P, block: 64 * KIB, published: 115e3, ..X },
    Row { work: "X 1 drive, 128 KiB", used: P, block: 128 * KIB, published: 57.3e3, ..X },
    Row { work: "X 1 drive, 256 KiB", used: P, block: 256 * KIB, published: 28.7e3, ..X },
    Row { work: "X 1 drive, 512 KiB", used: P, block: 512 * KIB, published: 14.3e3, ..X },
    Row { work: "X 1 drive, 1 MiB", used: P, block: 1024 * KIB, published: 7.1e3, ..X },
    Row {
        work: "X 4 drives, 32 KiB, 16 processes",
        used: P,
        drives: 4,
        jobs: 4,
        block: 32 * KIB,
        published: 914e3,
        ..X
    },
    Row { work: "X 4 drives, 256 KiB", used: P, drives: 4, jobs: 4, block: 256 * KIB, published: 115e3, ..X },
    Row {
        work: "X 4 drives, 512 KiB",
        used: P,
        drives: 4,
        jobs: 4,
        block: 512 * KIB,
        published: 57.2e3,
        ..X
    },
    Row { work: "X 4 drives, 1 MiB", used: P, drives: 4, jobs: 4, block: 1024 * KIB, published: 28.5e3, ..X },
    Row {
        work: "X   the same, bytes",
        used: P,
        drives: 4,
        jobs: 4,
        block: 1024 * KIB,
        metric: Metric::Rate,
        published: 30.0e9,
        ..X
    },
];

impl Use {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Calibrated => "Calibrated: the tables under assets/ were made from these",
            Self::Predicted => "Predicted: these stand in no table",
        }
    }
}

impl Metric {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate | Self::Sum => format!("{:.2} GB/s", value / 1e9),
            Self::Iops | Self::ProcessorIops | Self::Requests => format!("{} /s", units::count(value)),
            Self::Processors => format!("{value:.2} %"),
        }
    }
}

impl Row {
    /// What the model says.
    pub fn model(&self) -> anyhow::Result<f64> {
        let machine = self.machine()?;
        let limits = capacity::limits(&machine);
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
            Metric::Requests => {
                let drive = machine.drives.first().context("no drive")?;
                iops * processor::requests(drive, workload.block_size).0
            }
            Metric::Processors => {
                let used: f64 = expected.iter().map(|one| one.iops * cycles(one)).sum();
                used / (processors.hertz * f64::from(processors.threads)) * 100.0
            }
            Metric::ProcessorIops => processors.iops(workload.block_size, processors.threads),
            Metric::Sum => sum_of_drives(&limits),
        })
    }

    /// How far the model is off, as a share of what was published.
    pub fn off(&self, model: f64) -> f64 {
        model / self.published - 1.0
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
            direct: !matches!(self.twist, Twist::Buffered | Twist::BufferedWithoutReadahead),
            hipri: self.twist == Twist::Polled,
            ..Workload::default()
        }
    }

    fn machine(&self) -> anyhow::Result<Machine> {
        let demo = demo::find(self.demo).context("no such demo")?;
        let (mut machine, _) = source::read_machine(&TextRoot::parse(&demo.capture())?);
        let nodes: Vec<_> = machine.drives.iter().filter_map(|drive| drive.node).collect();
        match self.twist {
            Twist::Gen3 => {
                for node in nodes {
                    if let Some(link) = machine.pci.nodes.get_mut(node.0).and_then(|node| node.link.as_mut())
                    {
                        link.speed =
                            Reading::known("a Gen3 slot", TransferRate::from_code(3).context("a speed")?);
                    }
                }
            }
            Twist::BufferedWithoutReadahead => {
                for drive in &mut machine.drives {
                    drive.queue.read_ahead_kb = Reading::known("hdparm -a 0", 0);
                }
            }
            Twist::MqDeadline => {
                for drive in &mut machine.drives {
                    drive.queue.scheduler = drive.queue.scheduler.clone().map(|choice| {
                        iodyno::machine::queue::Choice { current: Label::new("mq-deadline"), ..choice }
                    });
                }
            }
            Twist::None | Twist::Buffered | Twist::Polled => {}
        }
        Ok(machine)
    }
}

fn sum_of_drives(limits: &Limits) -> f64 {
    limits.drives.values().map(|limit| limit.bytes_per_second.0).sum()
}

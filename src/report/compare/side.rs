//! One side of a comparison: a sheet's JSON document.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    machine::hop,
    model::{ExperimentRecord, RunSummary, Seconds, TargetSummary},
    units::{Lanes, TransferRate},
};

/// A sheet. Omitted parts are `None`.
#[derive(Debug, Deserialize)]
pub struct Side {
    /// `sheet`.
    document: String,
    /// Whether its figures come from simulated drives.
    pub(super) simulated: bool,
    pub(super) machine: Option<BTreeMap<String, Value>>,
    root_complexes: Option<Vec<Node>>,
    drives: Option<Vec<Drive>>,
    pub(super) settings: Option<Vec<Setting>>,
    pub(super) findings: Option<Vec<Finding>>,
    pub(super) runs: Option<Vec<Run>>,
    pub(super) experiments: Option<Vec<ExperimentRecord>>,
}

#[derive(Debug, Deserialize)]
struct Node {
    address: String,
    name: Option<String>,
    class: Option<String>,
    link: Option<Link>,
    limit: Option<Limit>,
    drives: Vec<String>,
    children: Vec<Self>,
}

#[derive(Debug, Deserialize)]
struct Link {
    speed_gts: Option<f64>,
    width: Option<u8>,
}

#[derive(Debug, Deserialize)]
struct Limit {
    bytes_per_second: f64,
}

#[derive(Debug, Deserialize)]
struct Drive {
    name: String,
    model: Option<String>,
    firmware: Option<String>,
    lba_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Setting {
    pub device: String,
    #[serde(rename = "setting")]
    pub id: String,
    pub value: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    pub id: String,
    pub title: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Run {
    #[serde(rename = "run")]
    pub summary: RunSummary,
    pub seconds: Seconds,
}

/// A device and its place in the tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    /// Its root complex and address: `0000:40, 0000:41:00.0`.
    pub at: String,
    /// Current link: `16 GT/s x4`.
    pub link: Option<String>,
    /// Limit of the path to its root complex, bytes per second.
    pub limit: Option<f64>,
    /// Model, firmware and block size of a drive; the name of another device.
    pub what: String,
}

impl Side {
    /// Parses a document of `iodyno sheet --format json`.
    ///
    /// # Errors
    /// What is wrong with a text that is none: `is not a sheet`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let side: Self = serde_json::from_str(text).map_err(|error| {
            format!("is not a JSON sheet (line {}, column {})", error.line(), error.column())
        })?;
        if side.document == "sheet" { Ok(side) } else { Err("is not a sheet".to_owned()) }
    }

    /// Drives by name, and displays, network adapters and accelerators by theirs (the second of a kind with its number);
    /// `None` when the tree was left out.
    pub(super) fn places(&self) -> Option<BTreeMap<String, Place>> {
        let mut places = BTreeMap::new();
        for root in self.root_complexes.as_ref()? {
            for child in &root.children {
                self.collect(root, child, &mut places);
            }
        }
        Some(places)
    }

    fn collect(&self, root: &Node, node: &Node, places: &mut BTreeMap<String, Place>) {
        let place = |what: String| Place {
            at: format!("{}, {}", root.address, node.address),
            link: node.link.as_ref().and_then(Link::words),
            limit: node.limit.as_ref().map(|limit| limit.bytes_per_second),
            what,
        };
        for drive in &node.drives {
            places.insert(drive.clone(), place(self.drive(drive)));
        }
        let takes_lanes = node
            .class
            .as_deref()
            .is_some_and(|class| ["0x02", "0x03", "0x12"].iter().any(|base| class.starts_with(base)));
        if let (true, [], Some(name)) = (takes_lanes, node.drives.as_slice(), &node.name) {
            let numbered = (2..).map(|number| format!("{name} #{number}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !places.contains_key(name));
            places.extend(free.map(|free| (free, place(name.clone()))));
        }
        for child in &node.children {
            self.collect(root, child, places);
        }
    }

    fn drive(&self, name: &str) -> String {
        let drive = self.drives.iter().flatten().find(|drive| drive.name == name);
        let Some(drive) = drive else { return String::new() };
        let blocks = drive.lba_bytes.map(|bytes| format!("{bytes} B"));
        let parts = [drive.model.clone(), drive.firmware.clone(), blocks];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Link {
    fn words(&self) -> Option<String> {
        Some(hop::sentence((TransferRate::from_gts(self.speed_gts?)?, Lanes(self.width?))))
    }
}

impl Run {
    /// Drives it read, and files without a known drive, sorted.
    pub fn targets(&self) -> Vec<String> {
        let name = |target: &TargetSummary| {
            target.drive.as_ref().map_or_else(|| target.name.to_string(), ToString::to_string)
        };
        let mut names: Vec<String> = self.summary.targets.iter().map(name).collect();
        names.sort_unstable();
        names
    }

    /// The worst 99th percentile of its targets, nanoseconds.
    pub fn p99(&self) -> Option<u64> {
        self.summary.targets.iter().filter_map(|target| target.latency.as_ref()?.percentile(99.0)).max()
    }
}

//! The tables of `assets/`: published figures, and ids that identify chipsets.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, de::DeserializeOwned};

use crate::model::ReadPath;

/// How sure a row of the chipset table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Seen in a dump of a real machine or a reliable source.
    Verified,
    /// Common knowledge.
    Common,
}

impl Mark {
    /// In words for a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Common => "common knowledge",
        }
    }
}

/// A host bridge whose root complex has a known limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RootComplex {
    pub vendor: u16,
    pub device: u16,
    pub name: String,
    /// Part of the model name of the CPU it was measured with.
    pub processor: String,
    /// Root complexes with this host bridge, where the CPU is not known.
    pub root_complexes: usize,
    pub bytes_per_second: f64,
    pub because: String,
    pub source: String,
}

/// Drive models with a published measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriveModel {
    pub models: Vec<String>,
    /// The end of the names of models with the measured capacity, where others are in the row.
    pub capacity: Option<String>,
    pub bytes_per_second: Option<f64>,
    pub iops: Option<f64>,
    pub because: String,
    pub source: String,
}

impl DriveModel {
    /// The measurement and its source.
    pub fn words(&self) -> String {
        format!("{} ({})", self.because, self.source)
    }

    /// The same of a model; of one with another capacity that the figure is not its own.
    pub fn words_of(&self, model: &str) -> String {
        let other = self.capacity.as_ref().filter(|capacity| !model.ends_with(capacity.as_str()));
        let of_other = other.map_or_else(String::new, |capacity| format!("figure of the {capacity} model, "));
        of_other + &self.words()
    }
}

/// Cost of reads on one CPU model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Processor {
    /// Part of the model name.
    pub model: String,
    pub hertz: f64,
    /// Cycles of a 4 KiB request by one worker.
    pub cycles: f64,
    /// Cost grows with this power of the size.
    pub growth: f64,
    /// Error of the cost, as a share in either direction.
    pub error: f64,
    pub source: String,
}

/// CPUs without a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Other {
    pub error: f64,
}

/// `processors.toml`.
#[derive(Debug, Deserialize)]
pub(super) struct Costs {
    pub processor: Vec<Processor>,
    pub other: Other,
    #[serde(flatten)]
    pub path: ReadPath,
}

/// A chipset whose uplink is a PCI Express link, known by its upstream switch port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AmdChipset {
    pub vendor: u16,
    pub device: u16,
    pub name: String,
}

/// Ports whose links are fakes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Internal {
    pub vendor: u16,
    pub devices: Vec<u16>,
    pub name: String,
    pub mark: Mark,
}

/// Intel chipsets with the same DMI, known by their LPC or eSPI bridge. Without speed and lanes: chipsets with
/// undocumented DMI.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dmi {
    /// Megatransfers per second.
    pub speed: Option<u32>,
    pub lanes: Option<u8>,
    pub mark: Mark,
    /// Part of the CPU's model name without which there are fewer lanes.
    pub lanes_need_processor: Option<String>,
    pub otherwise_lanes: Option<u8>,
    pub bridges: Vec<(u16, String)>,
}

/// `chipsets.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chipsets {
    pub chipset: Vec<AmdChipset>,
    pub internal: Vec<Internal>,
    pub dmi: Vec<Dmi>,
}

const ROOT_COMPLEXES: &str = include_str!("../../assets/root-complexes.toml");
const DRIVES: &str = include_str!("../../assets/drives.toml");
const PROCESSORS: &str = include_str!("../../assets/processors.toml");
const CHIPSETS: &str = include_str!("../../assets/chipsets.toml");

fn table<T: DeserializeOwned>(text: &str) -> Option<T> {
    toml::from_str(text).ok()
}

/// The rows of a file with one table.
fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    table::<BTreeMap<String, Vec<T>>>(text).into_iter().flat_map(BTreeMap::into_values).flatten().collect()
}

/// Root complexes with a published limit.
pub(super) fn root_complexes() -> &'static [RootComplex] {
    static ROWS: LazyLock<Vec<RootComplex>> = LazyLock::new(|| rows(ROOT_COMPLEXES));
    &ROWS
}

/// Drives with published figures.
pub(super) fn drive_models() -> &'static [DriveModel] {
    static ROWS: LazyLock<Vec<DriveModel>> = LazyLock::new(|| rows(DRIVES));
    &ROWS
}

/// CPU cost of reads.
pub(super) fn costs() -> Option<&'static Costs> {
    static TABLE: LazyLock<Option<Costs>> = LazyLock::new(|| table(PROCESSORS));
    TABLE.as_ref()
}

/// Chipsets and the ports inside them.
pub(super) fn chipsets() -> &'static Chipsets {
    static TABLE: LazyLock<Chipsets> = LazyLock::new(|| table(CHIPSETS).unwrap_or_default());
    &TABLE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::units::TransferRate;

    #[test]
    fn every_table_can_be_read() {
        toml::from_str::<BTreeMap<String, Vec<RootComplex>>>(ROOT_COMPLEXES).unwrap();
        toml::from_str::<BTreeMap<String, Vec<DriveModel>>>(DRIVES).unwrap();
        toml::from_str::<Costs>(PROCESSORS).unwrap();
        toml::from_str::<Chipsets>(CHIPSETS).unwrap();
    }

    #[test]
    fn every_published_figure_is_positive_and_names_its_source() {
        for row in root_complexes() {
            assert!(row.bytes_per_second > 1e9 && !row.because.is_empty(), "{row:?}");
            assert!(!row.source.is_empty() && !row.name.is_empty());
        }
        let mut models = BTreeSet::new();
        for row in drive_models() {
            assert!(row.bytes_per_second.or(row.iops).is_some_and(|figure| figure > 1e5), "{row:?}");
            assert!(!row.because.is_empty() && !row.source.is_empty());
            assert!(row.models.iter().all(|model| models.insert(model)), "a model has one row");
        }
    }

    #[test]
    fn every_cost_is_positive_and_names_its_source_and_error() {
        let costs = costs().unwrap();
        for row in &costs.processor {
            assert!(row.cycles > 1e3 && (0.0..1.0).contains(&row.growth), "{}", row.model);
            assert!((1e9..1e10).contains(&row.hertz) && !row.source.is_empty());
            assert!((0.01..costs.other.error).contains(&row.error), "another CPU is known worse");
        }
        let path = &costs.path;
        let named = path.scheduler.iter().chain(&path.engine);
        assert!(named.clone().all(|row| !row.name.is_empty()));
        for row in named.chain([&path.smt, &path.several, &path.polled]) {
            assert!(row.factor > 0.1 && row.cycles >= 0.0 && row.error > 0.0, "{row:?}");
            assert!(!row.source.is_empty() && !row.source.contains("iodyno"), "{row:?} cites somebody else");
        }
        let cache = &path.page_cache;
        assert!(cache.free > 0.0 && cache.full > cache.free && !cache.source.is_empty());
    }

    #[test]
    fn every_chipset_is_named_once_with_a_link_that_exists() {
        let table = chipsets();
        let mut seen = BTreeSet::new();
        for row in &table.chipset {
            assert!(seen.insert((row.vendor, row.device)) && row.name.starts_with("AMD "), "{row:?}");
        }
        for row in &table.internal {
            assert!(row.devices.iter().all(|device| seen.insert((row.vendor, *device))), "{row:?}");
            assert!(!row.name.is_empty() && row.mark == Mark::Verified);
        }
        for row in &table.dmi {
            assert_eq!(row.speed.is_some(), row.lanes.is_some(), "{row:?}");
            assert!(row.speed.is_none_or(|speed| TransferRate::from_mega(speed).is_some()), "{row:?}");
            assert!(row.lanes.is_none_or(|lanes| [4, 8].contains(&lanes)), "{row:?}");
            assert_eq!(row.lanes_need_processor.is_some(), row.otherwise_lanes.is_some());
            for (device, name) in &row.bridges {
                assert!(seen.insert((0x8086, *device)), "{name} has two rows");
                assert!(name.len() >= 3 && name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
            }
        }
    }
}

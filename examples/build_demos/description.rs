//! The descriptions under `assets/demos`, as they are written.

use serde::Deserialize;

/// A PCI function of `parts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub class: u32,
    #[serde(default)]
    pub revision: u8,
    pub kind: Option<Kind>,
    pub driver: Option<String>,
    pub link: Option<String>,
    pub max: Option<String>,
    #[serde(default)]
    pub payload: u16,
    #[serde(default)]
    pub slot: bool,
    pub subsystem: Option<String>,
}

/// Device/port types of the PCI Express capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Endpoint = 0,
    LegacyEndpoint = 1,
    RootPort = 4,
    Upstream = 5,
    Downstream = 6,
}

/// A drive model of `models.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    #[serde(rename = "model")]
    pub name: String,
    pub firmware: String,
    pub serial: String,
    pub size: u64,
    pub formats: Vec<(u64, u8)>,
    pub mdts: u8,
    pub warning: u16,
    pub critical: u16,
}

/// One file of `machines/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub payload: u16,
    pub numa_node: i32,
    pub iommu: bool,
    pub iommu_type: Option<String>,
    pub host: Host,
    pub cpu: Cpu,
    pub queue: Queue,
    #[serde(default)]
    pub mounts: Vec<Mount>,
    pub demo: Vec<Demo>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub name: String,
    pub distribution: String,
    pub kernel: String,
    pub command_line: String,
    pub board_vendor: String,
    pub board: String,
    pub vendor: String,
    pub product: String,
    pub bios: String,
    pub bios_date: String,
    pub memory_kib: u64,
    pub free_kib: u64,
    pub buffers_kib: u64,
    pub cached_kib: u64,
    pub modules: Option<Modules>,
    pub aspm_policy: String,
    pub ring_refused: Vec<String>,
    pub ring_features: u32,
    pub memlock_kib: u64,
    #[serde(default)]
    pub battery: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modules {
    pub count: u8,
    pub mib: u32,
    pub mts: u16,
    pub r#type: u8,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    pub model: String,
    pub family: u32,
    pub number: u32,
    pub stepping: u32,
    pub cores: u32,
    pub mhz: f64,
    pub max_khz: u64,
    pub governor: String,
    pub governors: String,
    pub driver: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    pub scheduler: String,
    pub nr_requests: u32,
    pub max_sectors_kb: u32,
    pub max_hw_sectors_kb: u32,
    pub generic: bool,
    pub aspm_files: Vec<String>,
    pub diskseq: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub part: String,
    pub number: u32,
    pub point: String,
    pub filesystem: String,
    pub start: u64,
    pub sectors: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    pub name: String,
    #[serde(default)]
    pub lba_format: u8,
    pub tree: Option<String>,
    pub tree_of: Option<String>,
}

//! Metrics of a machine in Prometheus' text format 0.0.4, for the textfile collector.
//!
//! Base units (seconds, bytes, transfers per second). Drives are labelled by a hash of model and serial number: the same on
//! every machine and after every boot.

mod last_run;
mod page;

use std::{collections::BTreeMap, fmt::Write as _};

use sha2::{Digest, Sha256};

use page::{Kind, Page};

use super::{json::VERSION, known};
use crate::{
    findings::Finding,
    machine::{Drive, Machine, Nvme, PciNode},
    model::{Limits, Problem, RunRecord, Severity},
};

/// What the metrics are made of.
pub struct Metrics<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What could not be read of it.
    pub problems: &'a [Problem],
    /// What its places can carry.
    pub limits: &'a Limits,
    /// What holds it back.
    pub findings: &'a [Finding],
    /// The last run since it started, if one was kept.
    pub last_run: Option<&'a RunRecord>,
}

/// All families that have a sample, each with its help and type.
pub fn text(metrics: &Metrics<'_>) -> String {
    let mut page = Page::default();
    let Metrics { machine, problems, limits, findings, last_run } = *metrics;
    page.family("iodyno_info", Kind::Gauge, "Version of iodyno.");
    page.sample(&[("version", VERSION)], 1.0);
    page.family("iodyno_problems", Kind::Gauge, "Values that could not be read.");
    page.sample(&[], problems.len() as f64);
    findings_of(findings, &mut page);
    links(machine, &mut page);
    drives(machine, limits, &mut page);
    if let Some(record) = last_run {
        last_run::families(machine, record, &mut page);
    }
    page.text
}

/// The label of a drive: 12 hexadecimal digits of SHA-256 over its model and serial number; empty without a serial.
pub fn serial_hash(drive: &Drive) -> String {
    let Some(serial) = known(&drive.serial).filter(|serial| !serial.is_empty()) else { return String::new() };
    let mut hash = Sha256::new();
    hash.update(known(&drive.model).unwrap_or_default());
    hash.update([0]);
    hash.update(serial);
    hash.finalize().iter().take(6).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn findings_of(findings: &[Finding], page: &mut Page) {
    page.family("iodyno_findings", Kind::Gauge, "Findings of this severity.");
    for severity in [Severity::High, Severity::Warning, Severity::Info] {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        page.sample(&[("severity", severity.name())], count as f64);
    }
    page.family("iodyno_finding_subjects", Kind::Gauge, "Drives and devices with this finding.");
    let mut subjects: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for finding in findings {
        *subjects.entry((finding.id.0, finding.severity)).or_default() += finding.subjects.len();
    }
    for ((id, severity), count) in subjects {
        page.sample(&[("id", id), ("severity", severity.name())], count as f64);
    }
}

fn links(machine: &Machine, page: &mut Page) {
    let all = || machine.pci.nodes.iter().filter_map(|node| Some((node, node.link.as_ref()?)));
    let rate = |rate: crate::units::TransferRate| rate.gts() * 1e9;
    let mut family = |name: &str, help: &str, value: &dyn Fn(&crate::machine::Link) -> Option<f64>| {
        page.family(name, Kind::Gauge, help);
        for (node, link) in all() {
            if let Some(value) = value(link) {
                page.sample(&of_node(machine, node).labels(), value);
            }
        }
    };
    family("iodyno_pcie_link_transfers_per_second", "Current transfer rate per lane at this end.", &|link| {
        link.speed.get().map(rate)
    });
    family(
        "iodyno_pcie_link_max_transfers_per_second",
        "Maximum transfer rate per lane of this end.",
        &|link| link.max_speed.get().map(rate),
    );
    family("iodyno_pcie_link_width_lanes", "Current link width at this end.", &|link| {
        link.width.get().map(|lanes| f64::from(lanes.0))
    });
    family("iodyno_pcie_link_max_width_lanes", "Maximum link width of this end.", &|link| {
        link.max_width.get().map(|lanes| f64::from(lanes.0))
    });
    page.family(
        "iodyno_pcie_correctable_errors_total",
        Kind::Counter,
        "Correctable errors (AER) since boot.",
    );
    for node in &machine.pci.nodes {
        let total = node.aer_correctable.value().and_then(|errors| {
            errors.iter().find(|(name, _)| name.as_str() == "TOTAL_ERR_COR").map(|(_, total)| *total)
        });
        if let Some(total) = total {
            page.sample(&of_node(machine, node).labels(), total as f64);
        }
    }
}

/// What a function is called, and the first drive that hangs on it; ports and others have none.
struct NodeNames {
    address: String,
    drive: String,
    serial_hash: String,
}

fn of_node(machine: &Machine, node: &PciNode) -> NodeNames {
    let own = |drive: &&Drive| {
        drive.node.and_then(|index| machine.pci.nodes.get(index.0)).is_some_and(|own| own.path == node.path)
    };
    let drive = machine.hardware_drives().find(own);
    NodeNames {
        address: node.address.to_string(),
        drive: drive.map(|drive| drive.name.to_string()).unwrap_or_default(),
        serial_hash: drive.map(serial_hash).unwrap_or_default(),
    }
}

impl NodeNames {
    fn labels(&self) -> [(&str, &str); 3] {
        [("address", &self.address), ("drive", &self.drive), ("serial_hash", &self.serial_hash)]
    }
}

/// How a family of drives gets its value.
type OfDrive = (&'static str, Kind, &'static str, fn(&Drive) -> Option<f64>);

/// One row a family.
const OF_DRIVES: &[OfDrive] = &[
    ("iodyno_drive_size_bytes", Kind::Gauge, "Size of the drive.", |drive| {
        drive.size.get().map(|size| size.0 as f64)
    }),
    (
        "iodyno_drive_logical_block_bytes",
        Kind::Gauge,
        "Logical block size of the LBA format in use.",
        |drive| drive.lba_bytes().map(|bytes| bytes as f64),
    ),
    ("iodyno_drive_temperature_celsius", Kind::Gauge, "Composite temperature.", |drive| {
        drive.temperature.as_ref()?.now.get()
    }),
    (
        "iodyno_drive_temperature_max_celsius",
        Kind::Gauge,
        "Warning temperature threshold (WCTEMP).",
        |drive| drive.temperature.as_ref()?.max.get(),
    ),
    ("iodyno_nvme_critical_warning", Kind::Gauge, "Critical warning bits of the SMART log.", |drive| {
        smart(drive, |smart| f64::from(smart.critical_warning))
    }),
    ("iodyno_nvme_available_spare_ratio", Kind::Gauge, "Available spare.", |drive| {
        smart(drive, |smart| f64::from(smart.spare_percent) / 100.0)
    }),
    ("iodyno_nvme_used_ratio", Kind::Gauge, "Percentage used as a ratio; may exceed 1.", |drive| {
        smart(drive, |smart| f64::from(smart.used_percent) / 100.0)
    }),
    ("iodyno_nvme_media_errors_total", Kind::Counter, "Media and data integrity errors.", |drive| {
        smart(drive, |smart| smart.media_errors as f64)
    }),
    ("iodyno_nvme_unsafe_shutdowns_total", Kind::Counter, "Unsafe shutdowns.", |drive| {
        smart(drive, |smart| smart.unsafe_shutdowns as f64)
    }),
    ("iodyno_nvme_power_on_seconds_total", Kind::Counter, "Power-on time.", |drive| {
        smart(drive, |smart| smart.power_on_hours as f64 * 3600.0)
    }),
    ("iodyno_nvme_read_bytes_total", Kind::Counter, "Data units read, of 512000 B.", |drive| {
        smart(drive, |smart| smart.read as f64)
    }),
    ("iodyno_nvme_written_bytes_total", Kind::Counter, "Data units written, of 512000 B.", |drive| {
        smart(drive, |smart| smart.written as f64)
    }),
    ("iodyno_nvme_warm_seconds_total", Kind::Counter, "Time above the warning temperature.", |drive| {
        smart(drive, |smart| f64::from(smart.warning_minutes) * 60.0)
    }),
    ("iodyno_nvme_hot_seconds_total", Kind::Counter, "Time above the critical temperature.", |drive| {
        smart(drive, |smart| f64::from(smart.critical_minutes) * 60.0)
    }),
    ("iodyno_nvme_thermal_transitions_total", Kind::Counter, "Thermal throttling transitions.", |drive| {
        smart(drive, |smart| f64::from(smart.thermal_transitions.0) + f64::from(smart.thermal_transitions.1))
    }),
];

fn smart(drive: &Drive, value: impl Fn(&crate::machine::Smart) -> f64) -> Option<f64> {
    drive.nvme.as_ref().and_then(|nvme: &Nvme| nvme.smart.value()).map(value)
}

fn drives(machine: &Machine, limits: &Limits, page: &mut Page) {
    let named: Vec<(&Drive, String, String)> =
        machine.hardware_drives().map(|drive| (drive, drive.name.to_string(), serial_hash(drive))).collect();
    page.family("iodyno_drive_info", Kind::Gauge, "Model and firmware of the drive.");
    for (drive, name, hash) in &named {
        let model = known(&drive.model).unwrap_or_default();
        let firmware = known(&drive.firmware).unwrap_or_default();
        let labels = [
            ("drive", name.as_str()),
            ("serial_hash", hash),
            ("kind", drive.kind.name()),
            ("model", &model),
            ("firmware", &firmware),
        ];
        page.sample(&labels, 1.0);
    }
    for (family, kind, help, value) in OF_DRIVES {
        page.family(family, *kind, help);
        for (drive, name, hash) in &named {
            if let Some(value) = value(drive) {
                page.sample(&[("drive", name), ("serial_hash", hash)], value);
            }
        }
    }
    page.family(
        "iodyno_drive_limit_bytes_per_second",
        Kind::Gauge,
        "Read limit of the drive, with its basis.",
    );
    for (drive, name, hash) in &named {
        if let Some(limit) = limits.drives.get(&drive.name) {
            let labels = [("drive", name.as_str()), ("serial_hash", hash), ("basis", limit.basis.name())];
            page.sample(&labels, limit.bytes_per_second.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_only_counters_end_in_total() {
        for (name, kind, help, _) in OF_DRIVES {
            assert_eq!(name.ends_with("_total"), matches!(kind, Kind::Counter), "{name}");
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
        }
    }
}

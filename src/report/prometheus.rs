//! Metrics of a machine in Prometheus' text format 0.0.4, for the textfile collector.
//!
//! Base units (seconds, bytes, transfers per second). Drives are labelled by a hash of model and serial number: the same on
//! every machine and after every boot.

mod last_run;
mod page;

use std::{collections::BTreeMap, fmt::Write as _};

use sha2::{Digest, Sha256};

use page::Page;

use super::{json::VERSION, known};
use crate::{
    findings::Finding,
    machine::{Drive, Link, Machine, PciNode, Smart},
    model::{Limits, Problem, RunRecord, Severity},
};

pub(crate) struct Metrics<'a> {
    pub machine: &'a Machine,
    pub problems: &'a [Problem],
    pub limits: &'a Limits,
    pub findings: &'a [Finding],
    /// The last stored run of this boot.
    pub last_run: Option<&'a RunRecord>,
}

/// All families that have a sample, each with its help and type.
pub(crate) fn text(metrics: &Metrics<'_>) -> String {
    let mut page = Page::default();
    let Metrics { machine, problems, limits, findings, last_run } = *metrics;
    page.family("iodyno_info", "Version of iodyno.");
    page.sample(&[("version", VERSION)], 1.0);
    page.family("iodyno_problems", "Values that could not be read.");
    page.sample::<&str>(&[], problems.len() as f64);
    findings_of(findings, &mut page);
    links(machine, &mut page);
    drives(machine, limits, &mut page);
    if let Some(record) = last_run {
        last_run::families(machine, limits, record, &mut page);
    }
    page.text
}

/// The label of a drive: 12 hexadecimal digits of SHA-256 over its model and serial number; empty without a serial.
fn serial_hash(drive: &Drive) -> String {
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
    page.family("iodyno_findings", "Findings of this severity.");
    for severity in [Severity::High, Severity::Warning, Severity::Info] {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        page.sample(&[("severity", severity.name())], count as f64);
    }
    page.family("iodyno_finding_subjects", "Drives and devices with this finding.");
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
    for (family, help, value) in OF_LINKS {
        page.family(family, help);
        for (node, link) in all() {
            page.sample(&of_node(machine, node), value(link));
        }
    }
    page.family("iodyno_pcie_correctable_errors_total", "Correctable errors (AER) since boot.");
    for node in &machine.pci.nodes {
        let total = node.aer_correctable.value().and_then(|errors| {
            errors.iter().find(|(name, _)| name.as_str() == "TOTAL_ERR_COR").map(|(_, total)| *total)
        });
        page.sample(&of_node(machine, node), total.map(|total| total as f64));
    }
}

type Labels<const N: usize> = [(&'static str, String); N];

/// Address and first drive of a function; a function without a drive has none.
fn of_node(machine: &Machine, node: &PciNode) -> Labels<3> {
    let own = |drive: &&Drive| {
        drive.node.and_then(|index| machine.pci.nodes.get(index.0)).is_some_and(|own| own.path == node.path)
    };
    let [name, hash] = of_drive(machine.hardware_drives().find(own));
    [("address", node.address.to_string()), name, hash]
}

fn of_drive(drive: Option<&Drive>) -> Labels<2> {
    let name = drive.map(|drive| drive.name.to_string()).unwrap_or_default();
    [("drive", name), ("serial_hash", drive.map(serial_hash).unwrap_or_default())]
}

/// Name, help and value of a family.
type Row<T> = (&'static str, &'static str, fn(&T) -> Option<f64>);

const OF_LINKS: &[Row<Link>] = &[
    ("iodyno_pcie_link_transfers_per_second", "Current transfer rate per lane at this end.", |link| {
        link.speed.get().map(|rate| rate.gts() * 1e9)
    }),
    ("iodyno_pcie_link_max_transfers_per_second", "Maximum transfer rate per lane of this end.", |link| {
        link.max_speed.get().map(|rate| rate.gts() * 1e9)
    }),
    ("iodyno_pcie_link_width_lanes", "Current link width at this end.", |link| {
        link.width.get().map(|lanes| lanes.0.into())
    }),
    ("iodyno_pcie_link_max_width_lanes", "Maximum link width of this end.", |link| {
        link.max_width.get().map(|lanes| lanes.0.into())
    }),
];

const OF_DRIVES: &[Row<Drive>] = &[
    ("iodyno_drive_size_bytes", "Size of the drive.", |drive| drive.size.get().map(|size| size.0 as f64)),
    ("iodyno_drive_logical_block_bytes", "Logical block size of the LBA format in use.", |drive| {
        drive.lba_bytes().map(|bytes| bytes as f64)
    }),
    ("iodyno_drive_temperature_celsius", "Composite temperature.", |drive| {
        drive.temperature.as_ref()?.now.get()
    }),
    ("iodyno_drive_temperature_max_celsius", "Warning temperature threshold (WCTEMP).", |drive| {
        drive.temperature.as_ref()?.max.get()
    }),
];

/// Name, help and value of a family from the SMART log.
type SmartRow = (&'static str, &'static str, fn(&Smart) -> f64);

const OF_SMART: &[SmartRow] = &[
    ("iodyno_nvme_critical_warning", "Critical warning bits of the SMART log.", |log| {
        log.critical_warning.into()
    }),
    ("iodyno_nvme_available_spare_ratio", "Available spare.", |log| f64::from(log.spare_percent) / 100.0),
    ("iodyno_nvme_used_ratio", "Percentage used as a ratio; may exceed 1.", |log| {
        f64::from(log.used_percent) / 100.0
    }),
    ("iodyno_nvme_media_errors_total", "Media and data integrity errors.", |log| log.media_errors as f64),
    ("iodyno_nvme_unsafe_shutdowns_total", "Unsafe shutdowns.", |log| log.unsafe_shutdowns as f64),
    ("iodyno_nvme_power_on_seconds_total", "Power-on time.", |log| log.power_on_hours as f64 * 3600.0),
    ("iodyno_nvme_read_bytes_total", "Data units read, of 512000 B.", |log| log.read as f64),
    ("iodyno_nvme_written_bytes_total", "Data units written, of 512000 B.", |log| log.written as f64),
    ("iodyno_nvme_warm_seconds_total", "Time above the warning temperature.", |log| {
        f64::from(log.warning_minutes) * 60.0
    }),
    ("iodyno_nvme_hot_seconds_total", "Time above the critical temperature.", |log| {
        f64::from(log.critical_minutes) * 60.0
    }),
    ("iodyno_nvme_thermal_transitions_total", "Thermal throttling transitions.", |log| {
        f64::from(log.thermal_transitions.0) + f64::from(log.thermal_transitions.1)
    }),
];

fn drives(machine: &Machine, limits: &Limits, page: &mut Page) {
    let drives: Vec<_> = machine.hardware_drives().map(|drive| (drive, of_drive(Some(drive)))).collect();
    page.family("iodyno_drive_info", "Model and firmware of the drive.");
    for (drive, [name, hash]) in &drives {
        let kind = ("kind", drive.kind.name().to_owned());
        let model = ("model", known(&drive.model).unwrap_or_default());
        let firmware = ("firmware", known(&drive.firmware).unwrap_or_default());
        page.sample(&[name.clone(), hash.clone(), kind, model, firmware], 1.0);
    }
    for (family, help, value) in OF_DRIVES {
        page.family(family, help);
        for (drive, labels) in &drives {
            page.sample(labels, value(drive));
        }
    }
    for (family, help, value) in OF_SMART {
        page.family(family, help);
        for (drive, labels) in &drives {
            page.sample(labels, drive.nvme.as_ref().and_then(|nvme| nvme.smart.value()).map(value));
        }
    }
    page.family("iodyno_drive_limit_bytes_per_second", "Read limit of the drive, with its basis.");
    for (drive, [name, hash]) in &drives {
        if let Some(limit) = limits.drives.get(&drive.name) {
            let basis = ("basis", limit.basis.name().to_owned());
            page.sample(&[name.clone(), hash.clone(), basis], limit.bytes_per_second.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helps_are_sentences_of_one_line() {
        let links = OF_LINKS.iter().map(|(name, help, _)| (name, help));
        let drives = OF_DRIVES.iter().map(|(name, help, _)| (name, help));
        for (name, help) in links.chain(drives).chain(OF_SMART.iter().map(|(name, help, _)| (name, help))) {
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
        }
    }
}

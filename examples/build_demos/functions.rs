//! The PCI functions: `/sys/devices/pciDDDD:BB/...`, `/sys/bus/pci`, IOMMU groups.

use std::collections::BTreeMap;

use super::{
    Everything,
    config_space::{self, Registers},
    description::{Kind, Part},
    files::Files,
    tree::{self, Function, Width},
};

/// Writes the files of all functions.
pub fn write(files: &mut Files, all: &Everything, tree: &[Function]) -> anyhow::Result<()> {
    let mut groups = Groups::default();
    for function in tree {
        let part = all.part(function.id)?;
        let group = all.machine.iommu.then(|| groups.of(function));
        one(files, all, tree, function, part)?;
        if let Some(group) = group {
            let folder = format!("/sys/kernel/iommu_groups/{group}");
            files.link(format!("{}/iommu_group", function.path), &folder);
            files.link(format!("{folder}/devices/{}", function.address), &function.path);
            if let Some(kind) = &all.machine.iommu_type {
                files.line(format!("{folder}/type"), kind);
            }
        }
    }
    Ok(())
}

/// IOMMU groups: one for each device with all its functions.
#[derive(Default)]
struct Groups {
    by_device: BTreeMap<(u32, u8, u8), usize>,
}

impl Groups {
    fn of(&mut self, function: &Function) -> usize {
        let next = self.by_device.len();
        let address = function.address;
        *self.by_device.entry((address.domain, address.bus, address.device)).or_insert(next)
    }
}

fn one(
    files: &mut Files,
    all: &Everything,
    tree: &[Function],
    function: &Function,
    part: &Part,
) -> anyhow::Result<()> {
    let path = &function.path;
    let address = function.address;
    let (now, max) = link(function, part)?;
    let subsystem = part.subsystem.as_deref().map(tree::id).transpose()?.unwrap_or(function.id);
    let numa = all.machine.numa_node;
    files.line(format!("{path}/vendor"), format_args!("{:#06x}", function.id.0));
    files.line(format!("{path}/device"), format_args!("{:#06x}", function.id.1));
    files.line(format!("{path}/subsystem_vendor"), format_args!("{:#06x}", subsystem.0));
    files.line(format!("{path}/subsystem_device"), format_args!("{:#06x}", subsystem.1));
    files.line(format!("{path}/class"), format_args!("{:#08x}", part.class));
    files.line(format!("{path}/revision"), format_args!("{:#04x}", part.revision));
    files.line(format!("{path}/numa_node"), numa);
    files.line(format!("{path}/local_cpulist"), format_args!("0-{}", all.cpus() - 1));
    files.line(format!("{path}/power/control"), if function.buses.is_some() { "auto" } else { "on" });
    files.line(format!("{path}/power/runtime_status"), "active");
    files.link(format!("{path}/subsystem"), "/sys/bus/pci");
    files.link(format!("/sys/bus/pci/devices/{address}"), path);
    if let Some(driver) = &part.driver {
        let folder = format!("/sys/bus/pci/drivers/{driver}");
        files.link(format!("{path}/driver"), &folder);
        files.link(format!("{folder}/{address}"), path);
    }
    if let Some((secondary, subordinate)) = function.buses {
        files.line(format!("{path}/secondary_bus_number"), secondary);
        files.line(format!("{path}/subordinate_bus_number"), subordinate);
    }
    if let (Some(now), Some(max)) = (now, max) {
        files.line(format!("{path}/current_link_speed"), speed_words(now));
        files.line(format!("{path}/current_link_width"), now.lanes);
        files.line(format!("{path}/max_link_speed"), speed_words(max));
        files.line(format!("{path}/max_link_width"), max.lanes);
    }
    if reports_errors(part) {
        files.bytes(format!("{path}/aer_dev_correctable"), correctable(function.errors).into_bytes());
    }
    if matches!(part.kind, Some(Kind::Endpoint)) && part.driver.as_deref() == Some("nvme") {
        for name in &all.machine.queue.aspm_files {
            files.line(format!("{path}/link/{name}"), 0);
        }
    }
    let registers = Registers {
        function,
        part,
        now,
        max,
        payload: payload(all, tree, function, part)?,
        multifunction: tree.iter().any(|other| other.address != address && same_device(other, function)),
        subsystem,
    };
    files.bytes(format!("{path}/config"), config_space::bytes(&registers));
    Ok(())
}

/// Current and maximum values of this end of a link.
pub fn link(function: &Function, part: &Part) -> anyhow::Result<(Option<Width>, Option<Width>)> {
    let of_part = |text: &Option<String>| text.as_deref().map(Width::parse).transpose();
    let now = function.link.or(of_part(&part.link)?);
    // A tree gives a port's maximum only if it differs from the trained value.
    let max = match function.max {
        Some(max) => Some(max),
        None if function.link.is_some() && part.max.is_none() => now,
        None => of_part(&part.max)?.or(now),
    };
    Ok((now, max))
}

/// Max Payload Size as the firmware set it: the machine's on the paths of drives, 128 B where an end can do no more.
fn payload(all: &Everything, tree: &[Function], function: &Function, part: &Part) -> anyhow::Result<u16> {
    let mut least = all.machine.payload.min(part.payload.max(128));
    for other in tree {
        let below = other.path.starts_with(&format!("{}/", function.path));
        let above = function.path.starts_with(&format!("{}/", other.path));
        if (below && other.buses.is_none()) || above {
            least = least.min(all.part(other.id)?.payload.max(128));
        }
    }
    Ok(least)
}

fn same_device(one: &Function, other: &Function) -> bool {
    let place =
        |function: &Function| (function.address.domain, function.address.bus, function.address.device);
    place(one) == place(other)
}

fn speed_words(link: Width) -> String {
    format!("{:.1} GT/s PCIe", link.speed.gts())
}

/// Ports and drives have Advanced Error Reporting here.
fn reports_errors(part: &Part) -> bool {
    part.slot || part.class == 0x01_08_02
}

/// `aer_dev_correctable`: receiver errors, and the bad packets a noisy link makes of some.
fn correctable(errors: u64) -> String {
    let packets = errors / 100;
    format!(
        "RxErr {}\nBadTLP {packets}\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR {errors}\n",
        errors - packets
    )
}

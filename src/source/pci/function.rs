//! Reads the files of one PCI function.

use std::{collections::BTreeMap, sync::Arc};

use super::{kind, link};
use crate::{
    machine::{Express, PciNode, pci::NodeAddress},
    model::{PciAddress, Reading},
    source::{
        SysRoot,
        config_space::{self, ConfigError, ConfigSpace},
        ids,
        root::{self, quoted},
    },
    text::Label,
};

/// Files of `link/` (`Documentation/ABI/testing/sysfs-bus-pci`).
const ASPM: [&str; 7] =
    ["clkpm", "l0s_aspm", "l1_1_aspm", "l1_1_pcipm", "l1_2_aspm", "l1_2_pcipm", "l1_aspm"];

/// Data read once for all functions.
pub(super) struct Shared {
    /// Cooling devices of ports by the port's address.
    cooling: BTreeMap<PciAddress, Arc<str>>,
    /// Slot names by `DDDD:BB:DD`.
    slots: BTreeMap<String, Label>,
    /// Whether this kernel has link files for every PCI Express device, so that a device without them is conventional
    /// PCI.
    has_link_files: bool,
}

impl Shared {
    pub(super) fn read(root: &dyn SysRoot) -> Self {
        let release = root::label(root, "/proc/sys/kernel/osrelease");
        let has_link_files = release.value().is_some_and(|release| is_since_4_13(release.as_str()));
        Self { cooling: cooling_devices(root), slots: slots(root), has_link_files }
    }
}

/// Linux 4.13 added `current_link_speed` and the other link files.
fn is_since_4_13(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (4, 13),
        _ => false,
    }
}

/// Cooling devices of ports: `/sys/class/thermal/cooling_device*/type` of `PCIe_Port_Link_Speed_<BDF>`.
fn cooling_devices(root: &dyn SysRoot) -> BTreeMap<PciAddress, Arc<str>> {
    let folder = "/sys/class/thermal";
    let names = root.list(folder).unwrap_or_default();
    names
        .iter()
        .filter(|name| name.starts_with("cooling_device"))
        .filter_map(|name| {
            let path = format!("{folder}/{name}");
            let kind = root::label(root, &format!("{path}/type"));
            let address = kind.value()?.as_str().strip_prefix("PCIe_Port_Link_Speed_")?.parse().ok()?;
            Some((address, Arc::from(path)))
        })
        .collect()
}

/// `/sys/bus/pci/slots/NAME/address`, which names a device without its function.
fn slots(root: &dyn SysRoot) -> BTreeMap<String, Label> {
    let folder = "/sys/bus/pci/slots";
    let names = root.list(folder).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| {
            let address = root::label(root, &format!("{folder}/{name}/address"));
            Some((address.value()?.to_string(), Label::new(name)))
        })
        .collect()
}

/// The function at `path`; `None` if it disappeared, or has no file at all in a copy.
pub(super) fn read(root: &dyn SysRoot, shared: &Shared, address: PciAddress, path: &str) -> Option<PciNode> {
    let file = |name: &str| format!("{path}/{name}");
    let class = root::hex(root, &file("class")).and_then(|value| narrow::<u32>(value, 0xff_ffff));
    let vendor = id(root, &file("vendor"));
    if !class.is_known() && !vendor.is_known() {
        match root.list(path) {
            Err(error) if error.is_absent() => return None,
            Ok(names) if names.is_empty() && root.pasted().is_none() => return None,
            _ => {}
        }
    }
    let device = id(root, &file("device"));
    let subsystem_device = id(root, &file("subsystem_device"));
    let subsystem = id(root, &file("subsystem_vendor"))
        .and_then(|vendor| Ok((vendor, subsystem_device.get().ok_or("its device id cannot be read")?)));
    let config = configuration(root, shared, path);
    let words = ids::words(root, address);
    let express = stated(express(&config), &words);
    let iommu_group = iommu_group(root, &file("iommu_group"));
    let cooling_path = shared.cooling.get(&address).cloned();
    let link = link::read(root, path, &express);
    let mut names = ids::names(root, &vendor, &device, &class);
    ids::complete(&mut names, &words);
    let port_type = express.value().and_then(|express| express.port_type).or_else(|| ids::port_type(&words));
    Some(PciNode {
        address: NodeAddress::Device(address),
        kind: kind::of(&class, port_type),
        parent: None,
        children: Vec::new(),
        path: path.into(),
        names,
        numa_node: root::numa_node(root, &file("numa_node")),
        local_cpus: root::label(root, &file("local_cpulist")),
        iommu_type: iommu_type(root, &iommu_group),
        iommu_group,
        driver: root::link_name(root, &file("driver")),
        buses: buses(root, path, &class, &config),
        is_below_gap: false,
        link,
        aer_correctable: aer(root, &file("aer_dev_correctable")),
        aspm: aspm(root, &file("link")),
        power_control: root::label(root, &file("power/control")),
        cooling: cooling(root, cooling_path.as_deref(), path),
        cooling_path,
        slot: slot(root, &file("label"), address, &shared.slots),
        class,
        vendor,
        device,
        subsystem,
        express,
    })
}

fn id(root: &dyn SysRoot, path: &str) -> Reading<u16> {
    root::hex(root, path).and_then(|value| narrow(value, u64::from(u16::MAX)))
}

fn narrow<T: TryFrom<u64>>(value: u64, most: u64) -> Result<T, String> {
    let wrong = || format!("{value:#x}: more than {most:#x}");
    if value > most { Err(wrong()) } else { T::try_from(value).map_err(|_| wrong()) }
}

/// The `config` file, except of conventional PCI devices (in a virtual machine each word costs an exit) and of devices in
/// D3cold, which a read would wake.
fn configuration(root: &dyn SysRoot, shared: &Shared, path: &str) -> Reading<Vec<u8>> {
    let file = format!("{path}/config");
    let link_file = || root::text(root, &format!("{path}/max_link_speed"));
    if shared.has_link_files && link_file().is_absent() {
        return Reading::absent(file, "no link files: a conventional PCI device");
    }
    let power = root::label(root, &format!("{path}/power_state"));
    if power.value().is_some_and(|state| *state == "D3cold") {
        return Reading::absent(file, "in D3cold; reading would wake the device");
    }
    root::reading(&file, root.read_start(&file, config_space::WANTED))
}

fn express(config: &Reading<Vec<u8>>) -> Reading<Express> {
    let Some(bytes) = config.value() else {
        return config.clone().and_then(|_| Err(String::new()));
    };
    let path = config.path();
    match ConfigSpace::new(bytes).and_then(|config| config.express()) {
        Ok(express) => Reading::known(path, express),
        Err(error @ ConfigError::NeedsRoot) => Reading::denied(path, error.to_string()),
        Err(error @ ConfigError::NotExpress) => Reading::absent(path, error.to_string()),
        Err(error) => Reading::malformed(path, error.to_string()),
    }
}

/// Without the registers that an opened text does not state.
fn stated(express: Reading<Express>, words: &[u8]) -> Reading<Express> {
    let Some(registers) = ids::registers(words) else { return express };
    let has = |name: &str| registers.as_str().split(' ').any(|stated| stated == name);
    express.map(|it| Express {
        port_type: it.port_type.filter(|_| has("type")),
        slot_implemented: it.slot_implemented.filter(|_| has("slot")),
        payload_supported: it.payload_supported.filter(|_| has("DevCap")),
        extended_tags_supported: it.extended_tags_supported.filter(|_| has("DevCap-tags")),
        payload: it.payload.filter(|_| has("DevCtl-sizes")),
        read_request: it.read_request.filter(|_| has("DevCtl-sizes")),
        relaxed_ordering: it.relaxed_ordering.filter(|_| has("DevCtl")),
        extended_tags: it.extended_tags.filter(|_| has("DevCtl")),
        correctable_error: it.correctable_error.filter(|_| has("DevSta")),
        max_width: it.max_width.filter(|_| has("LnkCap")),
        width: it.width.filter(|_| has("LnkSta")),
        aspm_enabled: it.aspm_enabled.filter(|_| has("LnkCtl")),
        ..it
    })
}

fn iommu_group(root: &dyn SysRoot, path: &str) -> Reading<u32> {
    root::link_name(root, path)
        .and_then(|name| name.as_str().parse().map_err(|_| quoted(name.as_str(), "not a group number")))
}

fn iommu_type(root: &dyn SysRoot, group: &Reading<u32>) -> Reading<Label> {
    match group.get() {
        Some(group) => root::label(root, &format!("/sys/kernel/iommu_groups/{group}/type")),
        None => group.clone().and_then(|_| Err(String::new())),
    }
}

/// Secondary and subordinate bus of a bridge, from their files (since 4.13) or configuration space.
fn buses(
    root: &dyn SysRoot,
    path: &str,
    class: &Reading<u32>,
    config: &Reading<Vec<u8>>,
) -> Option<(u8, u8)> {
    if class.get().is_some_and(|class| !kind::is_bridge_class(class)) {
        return None;
    }
    let file = |name: &str| root::number::<u8>(root, &format!("{path}/{name}")).get();
    file("secondary_bus_number")
        .zip(file("subordinate_bus_number"))
        .or_else(|| ConfigSpace::new(config.value()?).ok()?.buses())
}

fn aer(root: &dyn SysRoot, path: &str) -> Reading<BTreeMap<Label, u64>> {
    root::text(root, path).and_then(|text| {
        text.lines()
            .map(|line| {
                let counter = line
                    .rsplit_once(' ')
                    .and_then(|(name, count)| Some((Label::new(name), count.trim().parse::<u64>().ok()?)));
                counter.ok_or_else(|| quoted(line, "not an error counter"))
            })
            .collect()
    })
}

fn aspm(root: &dyn SysRoot, folder: &str) -> BTreeMap<&'static str, Reading<bool>> {
    let names = root.list(folder).unwrap_or_default();
    ASPM.into_iter()
        .filter(|known| names.iter().any(|name| name == known))
        .map(|known| (known, root::flag(root, &format!("{folder}/{known}"))))
        .collect()
}

fn cooling(root: &dyn SysRoot, device: Option<&str>, path: &str) -> Reading<(u64, u64)> {
    let Some(device) = device else {
        return Reading::absent(path, "no cooling device for this link (ports have one since Linux 6.13)");
    };
    let most = root::number::<u64>(root, &format!("{device}/max_state"));
    root::number::<u64>(root, &format!("{device}/cur_state"))
        .and_then(|now| Ok((now, most.get().ok_or("its max_state cannot be read")?)))
}

/// The firmware's label of the device, else the name of its slot.
fn slot(
    root: &dyn SysRoot,
    label: &str,
    address: PciAddress,
    slots: &BTreeMap<String, Label>,
) -> Option<Label> {
    let PciAddress { domain, bus, device, .. } = address;
    root::label(root, label)
        .value()
        .or_else(|| slots.get(&format!("{domain:04x}:{bus:02x}:{device:02x}")))
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_as_numbers() {
        for (release, since) in
            [("6.18.44-fc", true), ("4.13", true), ("4.9.0-13-amd64", false), ("3.10.0", false), ("", false)]
        {
            assert_eq!(is_since_4_13(release), since, "{release}");
        }
    }
}

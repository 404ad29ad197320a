//! Links of sysfs: `ls -l /sys/class/nvme`, `/sys/block`, `/sys/bus/pci/devices`; their paths alone, as `readlink -f` and `find`
//! print them; `ls -l /dev/disk/by-path`; `nvme list-subsys`. They have the bridges above a function, and the names of controllers
//! and drives.
//!
//! ```text
//! nvme0 -> ../../devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0
//! /sys/class/nvme/nvme0/device -> ../../../0000:01:00.0
//! pci-0000:01:00.0-nvme-1 -> ../../nvme0n1
//! /sys/kernel/iommu_groups/15/devices/0000:01:00.0
//!  +- nvme0 pcie 0000:01:00.0 live
//! ```

use std::borrow::Cow;

use super::{
    drives::{is_controller, is_namespace},
    facts::{self, Facts, Line, NVME_CONTROLLER, PCI_BRIDGE, learn},
    lsblk::is_drive,
    sections::Kind,
};
use crate::model::PciAddress;

pub(super) const KIND: Kind = Kind {
    begins: |line, next| {
        let is_link = |next: &str| target(next).is_some() || is_entry(next) && next.contains("devices/");
        target(line).is_some()
            || is_subsystem(line)
            || line.starts_with("total ") && next.is_some_and(is_link)
    },
    continues: is_entry,
    tolerates: 3,
    read,
};

/// Parts of a path: a domain has at most 256 buses.
const MOST_PARTS: usize = 300;

/// What a line names.
#[derive(Debug, PartialEq, Eq)]
enum Target<'a> {
    /// A path from a root bus.
    Device {
        path: &'a str,
    },
    /// A function, and the controller whose `device` it is; the command that lists it.
    Controller {
        name: &'a str,
        function: PciAddress,
        command: &'static str,
    },
    /// A function, and the drive that `by-path` leads to.
    Drive {
        name: &'a str,
        function: PciAddress,
    },
    Group {
        group: u32,
        function: PciAddress,
    },
}

fn target(line: &str) -> Option<Target<'_>> {
    let line = line.trim();
    let Some((left, right)) = line.split_once(" -> ") else {
        // `udevadm info` prints a letter before its path.
        let path = line.strip_prefix("P: ").unwrap_or(line);
        let is_path = path.starts_with('/') && !path.contains(char::is_whitespace);
        let of_path = || group(path).or_else(|| device(path));
        return if is_path { of_path() } else { of_subsystem(line) };
    };
    let name = left.rsplit(' ').next().unwrap_or(left);
    device(right).or_else(|| controller(name, right)).or_else(|| by_path(name, right))
}

/// `../../devices/pci0000:00/0000:00:01.1/...`.
fn device(path: &str) -> Option<Target<'_>> {
    let path = path.strip_prefix("/sys").unwrap_or(path).trim_start_matches(['.', '/']);
    let path = path.strip_prefix("devices/")?;
    root_bus(path.split('/').next()?)?;
    Some(Target::Device { path })
}

/// `/sys/class/nvme/nvme0/device`, and `../../../0000:01:00.0`.
fn controller<'a>(name: &'a str, path: &str) -> Option<Target<'a>> {
    let name = name.strip_suffix("/device")?.rsplit('/').next()?;
    let function = path.strip_prefix("../")?.rsplit('/').next()?.parse().ok()?;
    is_controller(name).then_some(Target::Controller { name, function, command: "ls -l /sys/class/nvme" })
}

/// ` +- nvme0 pcie 0000:01:00.0 live`; newer versions print `traddr=0000:01:00.0`.
fn of_subsystem(line: &str) -> Option<Target<'_>> {
    let mut words = line.strip_prefix("+- ")?.split_whitespace();
    let name = words.next().filter(|name| is_controller(name))?;
    words.next().filter(|transport| *transport == "pcie")?;
    let place = words.next()?;
    let function = place.strip_prefix("traddr=").unwrap_or(place).split(',').next()?.parse().ok()?;
    Some(Target::Controller { name, function, command: "nvme list-subsys" })
}

/// The number of `nvme-subsys0 - NQN=...`.
fn number_of_subsystem(line: &str) -> Option<u32> {
    line.strip_prefix("nvme-subsys")?.split(' ').next()?.parse().ok()
}

/// The controller of ` +- nvme0 tcp ...`, with any transport.
fn controller_of_subsystem(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("+- ")?.split_whitespace().next().filter(|name| is_controller(name))
}

/// `pci-0000:01:00.0-nvme-1`, and `../../nvme0n1`.
fn by_path<'a>(name: &str, path: &'a str) -> Option<Target<'a>> {
    let place = name.rsplit('/').next()?.strip_prefix("pci-")?;
    let function = place.split('-').next()?.parse().ok()?;
    let name = path.strip_prefix("../../")?;
    is_drive(name).then_some(Target::Drive { name, function })
}

/// `/sys/kernel/iommu_groups/15/devices/0000:01:00.0`.
fn group(path: &str) -> Option<Target<'_>> {
    let (group, function) = path.strip_prefix("/sys/kernel/iommu_groups/")?.split_once("/devices/")?;
    Some(Target::Group { group: group.parse().ok()?, function: function.parse().ok()? })
}

/// `pci0000:00`.
fn root_bus(part: &str) -> Option<(u32, u8)> {
    facts::root_bus(part.strip_prefix("pci")?)
}

/// `nvme-subsys0 - NQN=nqn.1994-11.com.samsung:nvme:980PRO`.
fn is_subsystem(line: &str) -> bool {
    line.starts_with("nvme-subsys") && line.contains(" - NQN=")
}

/// A line of such a list: also a link to a device of no function, as of a loop device, the number of blocks, and a subsystem.
fn is_entry(line: &str) -> bool {
    const STARTS: [&str; 5] = ["lrwxrwxrwx", "total ", "nvme-subsys", "hostnqn=", "iopolicy="];
    let line = line.trim();
    line == "\\" || STARTS.iter().any(|start| line.starts_with(start)) || target(line).is_some()
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut any = false;
    let mut command = "ls -l /sys/bus/pci/devices";
    let mut subsystem: Option<u32> = None;
    for line in lines.iter().filter(|line| !line.text.is_empty()) {
        let number = line.number;
        let found = target(&line.text);
        any |= found.is_some();
        if is_subsystem(&line.text) {
            subsystem = number_of_subsystem(&line.text);
        } else if let (Some(number), Some(name)) = (subsystem, controller_of_subsystem(&line.text)) {
            facts.subsystems.entry(number).or_default().insert(name.to_owned());
        }
        match found {
            Some(Target::Device { path }) => {
                command = path_of_device(path, facts, number).unwrap_or(command);
            }
            Some(Target::Controller { name, function, command: of_controller }) => {
                facts.controllers.entry(name.to_owned()).or_insert((function, number));
                facts.function(function, number);
                command = of_controller;
            }
            Some(Target::Drive { name, function }) => {
                let class = is_namespace(name).then_some(NVME_CONTROLLER);
                drive(name, function, class, facts, number);
                command = "ls -l /dev/disk/by-path";
            }
            Some(Target::Group { group, function }) => {
                learn(&mut facts.function(function, number).iommu_group, group, number);
                command = "find /sys/kernel/iommu_groups";
            }
            None if is_entry(&line.text) => {}
            None => facts.notes.unused_text(line, "not a link of sysfs"),
        }
        if facts.is_too_many() {
            break;
        }
    }
    any.then(|| command.into())
}

/// Takes the root buses, bridges and names of a path; the answer is a command that lists such links, if it has a name.
fn path_of_device(path: &str, facts: &mut Facts, line: usize) -> Option<&'static str> {
    let mut root: Option<(u32, u8)> = None;
    let mut above: Option<PciAddress> = None;
    let mut last: Option<PciAddress> = None;
    let mut parts = path.split('/').take(MOST_PARTS).peekable();
    while let Some(part) = parts.peek() {
        let on_root = |address: &PciAddress| root.is_some_and(|(domain, _)| domain == address.domain);
        if let Some((domain, bus)) = root_bus(part) {
            facts.roots.entry((domain, bus)).or_insert(line);
            if let Some(vmd) = last {
                facts.behind.entry(domain).or_insert(vmd);
            }
            (root, above) = (Some((domain, bus)), None);
        } else if let Some(address) = part.parse::<PciAddress>().ok().filter(on_root) {
            if let Some(bridge) = above {
                learn(&mut facts.function(bridge, line).class, PCI_BRIDGE, line);
            }
            let function = facts.function(address, line);
            function.parent = function.parent.or(above);
            (above, last) = (Some(address), Some(address));
        } else {
            break;
        }
        parts.next();
    }
    let function = last?;
    let names: Vec<&str> = parts.collect();
    match names.as_slice() {
        ["nvme", controller, rest @ ..] if is_controller(controller) => {
            facts.controllers.entry((*controller).to_owned()).or_insert((function, line));
            let Some(name) = rest.first().filter(|name| is_own_namespace(name)) else {
                return Some("ls -l /sys/class/nvme");
            };
            facts.controller_of.entry((*name).to_owned()).or_insert((*controller).to_owned());
            drive(name, function, None, facts, line);
            Some("ls -l /sys/block")
        }
        [bus, .., "block", name] if is_drive(name) => {
            drive(name, function, None, facts, line);
            let transport =
                [("ata", "sata"), ("usb", "usb")].iter().find(|(start, _)| bus.starts_with(start));
            let known = &mut facts.drive(name, line).transport;
            *known = known.take().or(transport.map(|(_, name)| (*name).to_owned()));
            Some("ls -l /sys/block")
        }
        _ => None,
    }
}

/// Not a path device of native multipath, `nvme0c0n1`, which is no drive.
fn is_own_namespace(name: &str) -> bool {
    is_namespace(name) && !name.contains('c')
}

fn drive(name: &str, function: PciAddress, class: Option<u32>, facts: &mut Facts, line: usize) {
    let known = facts.function(function, line);
    if let Some(class) = class {
        learn(&mut known.class, class, line);
    }
    let drive = facts.drive(name, line);
    drive.address = drive.address.or(Some(function));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_functions_controllers_drives_and_groups() {
        let function: PciAddress = "0000:01:00.0".parse().unwrap();
        let path = "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0";
        for (line, expected) in [
            (
                format!("lrwxrwxrwx 1 root root 0 Nov  1 12:00 nvme0 -> ../../devices/{path}"),
                Target::Device { path },
            ),
            (format!("/sys/devices/{path}"), Target::Device { path }),
            (format!("P: /devices/{path}"), Target::Device { path }),
            (
                "/sys/class/nvme/nvme0/device -> ../../../0000:01:00.0".to_owned(),
                Target::Controller { name: "nvme0", function, command: "ls -l /sys/class/nvme" },
            ),
            (
                " +- nvme0 pcie 0000:01:00.0 live".to_owned(),
                Target::Controller { name: "nvme0", function, command: "nvme list-subsys" },
            ),
            (
                " +- nvme0 pcie traddr=0000:01:00.0 live".to_owned(),
                Target::Controller { name: "nvme0", function, command: "nvme list-subsys" },
            ),
            (
                "pci-0000:01:00.0-nvme-1 -> ../../nvme0n1".to_owned(),
                Target::Drive { name: "nvme0n1", function },
            ),
            (
                "/sys/kernel/iommu_groups/15/devices/0000:01:00.0".to_owned(),
                Target::Group { group: 15, function },
            ),
        ] {
            assert_eq!(target(&line).as_ref(), Some(&expected), "{line}");
        }
        for line in [
            "lrwxrwxrwx 1 root root 0 Nov  1 12:00 loop0 -> ../devices/virtual/block/loop0",
            "pci-0000:01:00.0-nvme-1-part1 -> ../../nvme0n1p1",
            "[    1.2] input: Power Button as /devices/pci0000:00/0000:00:01.1/input/input2",
            "../../devices/pci0000:0/0000:00:01.1",
            "nvme0 -> ../../devices/pcix",
            " +- nvme0 tcp traddr=10.0.0.1,trsvcid=4420 live",
            " +-00.0  Foo",
            "/etc/devices/pci0000:00/0000:00:01.1",
        ] {
            assert_eq!(target(line), None, "{line}");
        }
    }
}

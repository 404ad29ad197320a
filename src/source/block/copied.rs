//! Drives of a copy whose `/sys/block` has folders in place of links: their controller or host is looked up in the folders
//! of PCI functions.

use std::collections::HashMap;

use crate::{
    machine::PciTree,
    model::{NodeIndex, PciAddress},
    source::{
        nvme::is_controller,
        root::{SysRoot, file_name, is_numbered, label, parent},
    },
};

/// Whether a block device's folder lies directly in the folder of links.
pub(super) fn is_copied(path: &str) -> bool {
    parent(path) == "/sys/block"
}

/// Whether a kernel name is that of hardware: a copy may lack its link `device`, which software devices do not have.
pub(super) fn is_hardware_name(name: &str) -> bool {
    let is_lettered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            (1..=3).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_lowercase())
        })
    };
    ["sd", "vd", "hd", "xvd", "dasd"].into_iter().any(is_lettered)
}

/// What lies below PCI functions, by name (`nvme0`, `virtio1`, `host2`): the function and the folder.
pub(super) type Hosts = HashMap<String, (NodeIndex, String)>;

/// Looks up what is below each function, if a block device is a folder.
pub(super) fn hosts(root: &dyn SysRoot, tree: &PciTree, names: &[String]) -> Hosts {
    let mut hosts = Hosts::new();
    let is_folder = |name: &String| {
        let path = format!("/sys/block/{name}");
        root.link(&path).is_err() && root.list(&path).is_ok()
    };
    if !names.iter().any(is_folder) {
        return hosts;
    }
    for (index, node) in tree.iter() {
        let below = |folder: &str| root.list(&format!("{}{folder}", node.path)).unwrap_or_default();
        for name in below("") {
            if is_numbered(&name, "virtio") || is_numbered(&name, "host") {
                hosts.entry(name.clone()).or_insert((index, format!("{}/{name}", node.path)));
            } else if is_numbered(&name, "ata") {
                for host in below(&format!("/{name}")).into_iter().filter(|host| is_numbered(host, "host")) {
                    hosts.entry(host.clone()).or_insert((index, format!("{}/{name}/{host}", node.path)));
                }
            } else if name == "nvme" {
                for controller in below("/nvme").into_iter().filter(|name| is_controller(name)) {
                    let folder = format!("{}/nvme/{controller}", node.path);
                    hosts.entry(controller).or_insert((index, folder));
                }
            }
        }
    }
    hosts
}

/// The folder of the NVMe controller of a namespace: its number is in the name of a hidden path, in the link `device`, or in the
/// namespace's own name.
pub(super) fn controller(
    root: &dyn SysRoot,
    name: &str,
    hidden: Option<&str>,
    hosts: &Hosts,
) -> Option<String> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let own = digits(name.strip_prefix("nvme")?);
    let device = format!("/sys/block/{name}/device");
    let linked = root.link(&device).ok().map(|target| file_name(&target).to_owned());
    let of_path = hidden.or(Some(name)).and_then(|path| path.split_once('c')).map(|(_, rest)| digits(rest));
    let controller = of_path
        .map(|number| format!("nvme{number}"))
        .or(linked.filter(|target| is_controller(target)))
        .unwrap_or_else(|| format!("nvme{own}"));
    let class = format!("/sys/class/nvme/{controller}");
    let is_there = |folder: &str| label(root, &format!("{folder}/model")).is_known();
    if let Some((_, folder)) = hosts.get(&controller).filter(|(_, folder)| is_there(folder)) {
        return Some(folder.clone());
    }
    Some(if is_there(&class) || !is_there(&device) { class } else { device })
}

/// The folder of the device of a disk: that of its SCSI address or virtio number, else `device` itself.
pub(super) fn device(root: &dyn SysRoot, path: &str, hosts: &Hosts) -> Option<String> {
    let target = root.link(&format!("{path}/device")).ok()?;
    let name = file_name(&target);
    if let Some((_, folder)) = hosts.get(name) {
        return Some(folder.clone());
    }
    // HOST:CHANNEL:TARGET:LUN
    let (numbers, _) = name.rsplit_once(':')?;
    let (_, folder) = hosts.get(&format!("host{}", numbers.split(':').next()?))?;
    Some(format!("{folder}/target{numbers}/{name}"))
}

/// The function of a drive whose path does not name one: by the folder it was found in, or by what its controller says.
pub(super) fn function(root: &dyn SysRoot, device: &str, hosts: &Hosts) -> Option<NodeOrAddress> {
    let found = hosts.values().find(|(_, folder)| device.starts_with(folder.as_str()));
    if let Some((index, _)) = found {
        return Some(NodeOrAddress::Node(*index));
    }
    let of_link = || root.link(&format!("{device}/device")).ok()?.rsplit('/').next()?.parse().ok();
    let address = label(root, &format!("{device}/address"));
    address.value().and_then(|text| text.as_str().parse().ok()).or_else(of_link).map(NodeOrAddress::Address)
}

/// A function that was found, or only its address.
pub(super) enum NodeOrAddress {
    Node(NodeIndex),
    Address(PciAddress),
}

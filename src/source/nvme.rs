//! NVMe: controllers, namespaces, native multipath, Identify and SMART.

pub(crate) mod messages;
pub mod records;

use std::collections::BTreeMap;

use super::root::{
    RootError, SysRoot, bytes, file_name, is_numbered, label, number, parent, quoted, resolve,
};
use crate::{
    machine::{Nvme, drive::Namespace},
    model::{DriveName, Reading},
    text::Label,
};

/// Hidden path devices (`nvme0c1n1`) with their folders, by the namespace they lead to (`nvme0n1`).
pub(super) type Paths = BTreeMap<String, Vec<(String, String)>>;

/// The location of a namespace.
pub(super) struct Location {
    /// The controller's folder, links resolved.
    pub controller_path: String,
    /// Hidden path devices of this namespace.
    pub paths: Vec<String>,
}

/// Whether a block device is a path of native multipath: `nvmeScCnN`.
pub(super) fn is_hidden_path(name: &str) -> bool {
    DriveName::new(name).namespace_of_path().is_some()
}

pub(super) fn hidden_paths(root: &dyn SysRoot, names: &[String]) -> Paths {
    let mut paths = Paths::new();
    for name in names {
        let Some(namespace) = DriveName::new(name).namespace_of_path() else { continue };
        let Ok(folder) = resolve(root, &format!("/sys/block/{name}")) else { continue };
        paths.entry(namespace.to_string()).or_default().push((name.clone(), folder));
    }
    paths
}

/// The controller of the namespace `name` in the folder `path`: its parent folder, or, for a namespace below its
/// subsystem (`/sys/devices/virtual/nvme-subsystem`), that of its first path.
pub(super) fn locate(root: &dyn SysRoot, name: &str, path: &str, paths: &Paths) -> Option<Location> {
    name.strip_prefix("nvme")?;
    let above = parent(path);
    let hidden = paths.get(name).map(Vec::as_slice).unwrap_or_default();
    let controller_path = match hidden.first() {
        Some((_, folder)) => parent(folder).to_owned(),
        None if is_controller(file_name(above)) => above.to_owned(),
        None => {
            let members = root.list(above).unwrap_or_default();
            let member = members.iter().find(|member| is_controller(member))?;
            resolve(root, &format!("{above}/{member}")).ok()?
        }
    };
    Some(Location { controller_path, paths: hidden.iter().map(|(name, _)| name.clone()).collect() })
}

/// `nvme0`; `nvme@41:00.0` of a text that names only the function.
pub(super) fn is_controller(name: &str) -> bool {
    is_numbered(name, "nvme") || name.starts_with("nvme@")
}

/// The path at which a root made from texts says that a text has a namespace's formats, but not the one in use.
pub(super) fn no_format_in_use(name: &str) -> String {
    format!("/ioctl/{name}/identify-ns FLBAS")
}

/// States of a controller (`nvme_sysfs_show_state` in the kernel).
const STATES: [&str; 7] = ["new", "live", "resetting", "connecting", "deleting", "deleting (no IO)", "dead"];

fn lacks_format_in_use(root: &dyn SysRoot, name: &str) -> bool {
    root.pasted().is_some() && root.read(&no_format_in_use(name)).is_ok()
}

/// NVMe properties.
pub(super) fn read(root: &dyn SysRoot, name: &str, path: &str, location: &Location) -> Nvme {
    let controller = file_name(&location.controller_path);
    let at = |file: &str| format!("{}/{file}", location.controller_path);
    let state = label(root, &at("state"));
    // A resetting or dead controller does not answer, and its driver would block.
    let answers = state.value().is_none_or(|state| *state == "live");
    let ask = |question: String| -> Reading<Vec<u8>> {
        match (answers, state.value()) {
            _ if is_hidden_path(name) => Reading::absent(question, "read from its multipath drive"),
            (false, Some(state)) => {
                let state = STATES.iter().find(|known| *state == **known).unwrap_or(&"in an unknown state");
                Reading::absent(question, format!("not read: the controller is {state}"))
            }
            _ => bytes(root, &question),
        }
    };
    Nvme {
        controller: Label::new(controller),
        controller_path: location.controller_path.as_str().into(),
        nsid: number(root, &format!("{path}/nsid")),
        namespace: ask(format!("/ioctl/{name}/identify-ns")).and_then(|record| {
            let namespace = records::namespace(&record)?;
            let in_use = namespace.in_use.filter(|_| !lacks_format_in_use(root, name));
            Ok(Namespace { in_use, ..namespace })
        }),
        identity: ask(format!("/ioctl/{name}/identify-ctrl")).and_then(|record| records::controller(&record)),
        smart: ask(format!("/ioctl/{controller}/smart-log")).and_then(|record| records::smart(&record)),
        apst: ask(format!("/ioctl/{controller}/apst")).and_then(|answer| match answer.trim_ascii() {
            b"0" => Ok(false),
            b"1" => Ok(true),
            other => Err(quoted(&String::from_utf8_lossy(other), "neither 0 nor 1")),
        }),
        diagnostics: diagnostics(root, [&location.controller_path, path]),
        paths: location.paths.iter().map(|path| DriveName::new(path)).collect(),
        generic: generic(root, name),
        state,
    }
}

/// Numbers of the `diag` folders; kernels without them have none.
fn diagnostics(root: &dyn SysRoot, folders: [&str; 2]) -> BTreeMap<Label, Reading<u64>> {
    let mut counters = BTreeMap::new();
    for folder in folders.map(|folder| format!("{folder}/diag")) {
        for name in root.list(&folder).unwrap_or_default() {
            let counter = number::<u64>(root, &format!("{folder}/{name}"));
            if counter.is_known() {
                counters.insert(Label::new(&name), counter);
            }
        }
    }
    counters
}

/// The generic character device of a namespace: `ng0n1` for `nvme0n1`.
fn generic(root: &dyn SysRoot, name: &str) -> Option<Label> {
    let generic = name.strip_prefix("nvme").map(|rest| format!("ng{rest}"))?;
    match root.link(&format!("/sys/class/nvme-generic/{generic}")) {
        Ok(_) => Some(Label::new(&format!("/dev/{generic}"))),
        Err(RootError::Errno(_) | RootError::NotHere(_)) => None,
    }
}

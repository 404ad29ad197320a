//! The host: name, board, memory and kernel.

use std::{path::Path, sync::Arc};

use procfs::process::MountInfo;

use super::{
    cgroups,
    root::{self, SysRoot, errno_number, errno_words, quoted},
    smbios,
};
use crate::{
    machine::{Host, IoUring},
    model::Reading,
    text::Label,
    units::Bytes,
};

/// Module parameters that are read, `MODULE/NAME`, below `/sys/module/MODULE/parameters/`.
const PARAMETERS: [&str; 2] = ["nvme/poll_queues", "nvme_core/default_ps_max_latency_us"];

const DMI: &str = "/sys/class/dmi/id";

pub(crate) fn read(root: &dyn SysRoot) -> Host {
    // A folder or capture has the files at the link's target; older captures have them at the link's path.
    let folder = root::resolve(root, DMI).unwrap_or_else(|_| DMI.to_owned());
    let dmi = |name: &str| root::label(root, &format!("{folder}/{name}"));
    Host {
        name: probed(root, "name").or(|| root::label(root, "/proc/sys/kernel/hostname")),
        distribution: probed(root, "distribution").or(|| distribution(root)),
        kernel: root::label(root, "/proc/sys/kernel/osrelease").or(|| probed(root, "kernel")),
        command_line: root::label(root, "/proc/cmdline"),
        board: joined(dmi("board_vendor"), &dmi("board_name"), |vendor, name| format!("{vendor} {name}")),
        product: joined(dmi("sys_vendor"), &dmi("product_name"), |vendor, name| format!("{vendor} {name}")),
        bios: joined(dmi("bios_version"), &dmi("bios_date"), |version, date| format!("{version} ({date})")),
        memory: memory(root),
        modules: smbios::memory_modules(root),
        slots: smbios::board_slots(root),
        io_uring_disabled: root::number(root, "/proc/sys/kernel/io_uring_disabled"),
        io_uring: root::text(root, "/probe/io_uring").and_then(|text| io_uring(&text)),
        module_parameters: PARAMETERS
            .into_iter()
            .filter_map(|parameter| Some((parameter, module_parameter(root, parameter)?)))
            .collect(),
        root: root::number::<u32>(root, "/probe/euid").map(|user| user == 0),
        boot_id: boot_id(root),
        io_limits: cgroups::io_limits(root),
        sys_read_only: sys_read_only(root),
    }
}

pub(crate) fn boot_id(root: &dyn SysRoot) -> Reading<Label> {
    root::label(root, "/proc/sys/kernel/random/boot_id")
}

fn sys_read_only(root: &dyn SysRoot) -> Reading<bool> {
    root::text(root, "/proc/self/mountinfo")
        .and_then(|text| read_only(&text, "/sys").ok_or_else(|| "/sys is not mounted".to_owned()))
}

/// Whether the last mount on `point` is read-only: by its own options or those of its file system.
fn read_only(mountinfo: &str, point: &str) -> Option<bool> {
    let mut mounts = mountinfo.lines().rev().filter_map(|line| MountInfo::from_line(line).ok());
    let mount = mounts.find(|mount| mount.mount_point == Path::new(point))?;
    Some([mount.mount_options, mount.super_options].iter().any(|options| options.contains_key("ro")))
}

/// One line of `/probe/host`, `KEY=VALUE`.
fn probed(root: &dyn SysRoot, key: &str) -> Reading<Label> {
    root::text(root, "/probe/host").and_then(|text| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.map(Label::new).filter(|label| !label.is_empty()).ok_or_else(|| format!("no line {key}="))
    })
}

/// `PRETTY_NAME` of os-release(5).
fn distribution(root: &dyn SysRoot) -> Reading<Label> {
    root::text(root, "/etc/os-release").and_then(|text| {
        let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        name.map(|name| Label::new(name.trim_matches(['"', '\'']))).ok_or_else(|| "no PRETTY_NAME".to_owned())
    })
}

/// Joins two readings; the first alone if the second is missing.
fn joined(
    first: Reading<Label>,
    second: &Reading<Label>,
    both: impl FnOnce(&Label, &Label) -> String,
) -> Reading<Label> {
    match (first.value(), second.value()) {
        (Some(one), Some(two)) => Reading::known(first.path(), Label::new(&both(one, two))),
        (None, Some(_)) => second.clone(),
        _ => first,
    }
}

fn memory(root: &dyn SysRoot) -> Reading<Bytes> {
    root::text(root, "/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).ok_or("no MemTotal")?;
        let kib = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
        kib.and_then(|kib| kib.checked_mul(1024)).map(Bytes).ok_or_else(|| quoted(line, "not a size in kB"))
    })
}

/// Lines `flag NAME accepted` and `flag NAME refused ERRNO`.
fn io_uring(text: &str) -> Result<IoUring, String> {
    let mut ring = IoUring { flags: Vec::new(), refused: Vec::new() };
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["flag", name, "accepted"] => ring.flags.push(harmless(name)),
            // Of earlier versions: a probe without enough locked memory, and feature bits.
            ["flag", _, "refused", "ENOMEM"] | ["features", _] => {}
            ["flag", name, "refused", errno] => {
                let why = errno_number(errno).map_or_else(|| errno.to_owned(), errno_words);
                ring.refused.push((harmless(name), harmless(&why)));
            }
            _ => return Err(quoted(line, "not a flag")),
        }
    }
    Ok(ring)
}

fn harmless(text: &str) -> Arc<str> {
    Label::new(text).as_str().into()
}

/// `None` if the module is not loaded.
fn module_parameter(root: &dyn SysRoot, parameter: &str) -> Option<Reading<Label>> {
    let (module, name) = parameter.split_once('/')?;
    let reading = root::label(root, &format!("/sys/module/{module}/parameters/{name}"));
    (!reading.is_absent()).then_some(reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_tell_what_they_took_and_why_not() {
        let ring = io_uring("flag IOPOLL accepted\nflag SQPOLL refused EPERM\nfeatures 5\n").unwrap();
        assert_eq!(ring.flags, ["IOPOLL".into()]);
        assert_eq!(ring.refused, [("SQPOLL".into(), "EPERM: Operation not permitted".into())]);
        let short_of_memory =
            io_uring("flag IOPOLL accepted\nflag SQPOLL refused ENOMEM\nfeatures 5\n").unwrap();
        assert!(short_of_memory.refused.is_empty(), "{short_of_memory:?}");
        assert!(io_uring("flag X\n").is_err());
    }

    #[test]
    fn the_last_mount_of_a_place_counts() {
        let mounts = "22 1 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                      23 1 0:22 / /proc rw - proc proc rw\n\
                      90 22 0:21 / /sys ro,nosuid - sysfs sysfs rw\n\
                      91 90 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(read_only(mounts, "/sys"), Some(true));
        assert_eq!(read_only(mounts, "/proc"), Some(false));
        assert_eq!(read_only("", "/sys"), None);
    }
}

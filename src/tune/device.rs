//! [`Device`]: the device of a setting; [`Identity`]: the same drive later, under whatever name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    machine::{Drive, DriveKind, Machine},
    model::{DriveName, PciAddress, SettingId},
    text::Label,
};

/// The driver of a controller in the journal, which is no row of `SETTINGS`.
pub const DRIVER: SettingId = SettingId("driver");

/// The device of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// A drive by its kernel name.
    Drive(DriveName),
    /// A PCI function.
    Pci(PciAddress),
    /// All CPUs.
    Cpu,
}

impl Device {
    /// The drives of a machine, and its CPUs.
    pub fn all(machine: &Machine) -> Vec<Self> {
        let drives = machine.drives.iter().map(|drive| Self::Drive(drive.name.clone()));
        drives.chain([Self::Cpu]).collect()
    }
}

/// A device beyond its name, so that a change is undone on the same one. Records of earlier versions lack some fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Identity {
    /// The name when the change was made: `nvme0n1`, `0000:41:00.0`, `cpu`.
    pub name: String,
    /// Model and serial number of a drive that has one. Two ports of an NVMe drive, or the units of an array, share it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub serial: Option<String>,
    /// `diskseq`: unique within a boot; a rebind changes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diskseq: Option<u64>,
    /// `wwid` of NVMe namespaces and SCSI units. Two ports of one NVMe namespace share it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wwid: Option<String>,
    /// Namespace id of an NVMe drive.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nsid: Option<u32>,
    /// The device's folder below /sys/devices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
}

/// The drive of a machine that an identity stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Located<'a> {
    /// This one.
    At(&'a Drive),
    /// No similar one.
    Gone,
    /// It is not in its place, and these are similar: none of them is written.
    Doubtful(Vec<&'a Drive>),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drive(name) => name.fmt(f),
            Self::Pci(address) => address.fmt(f),
            Self::Cpu => f.pad("cpu"),
        }
    }
}

impl FromStr for Device {
    type Err = std::convert::Infallible;

    /// `cpu`, a PCI address, else a drive's name, with or without `/dev/` before it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.parse::<PciAddress>() {
            _ if text == "cpu" => Self::Cpu,
            Ok(address) => Self::Pci(address),
            Err(_) => Self::Drive(DriveName::new(text.strip_prefix("/dev/").unwrap_or(text))),
        })
    }
}

impl Identity {
    /// The identity of a device of this machine.
    pub fn of(machine: &Machine, device: &Device) -> Self {
        let name = device.to_string();
        match device {
            Device::Drive(drive) => {
                let Some(drive) = machine.drive(drive) else { return Self { name, ..Self::default() } };
                Self {
                    name,
                    serial: serial_of(drive),
                    diskseq: drive.diskseq.get().filter(|_| !outlives_media(drive)),
                    wwid: wwid_of(drive).map(str::to_owned),
                    nsid: nsid_of(drive),
                    path: Some(drive.path.to_string()),
                }
            }
            Device::Pci(address) => {
                let path = machine.pci.find(*address).map(|node| machine.pci.node(node).path.to_string());
                Self { name, path, ..Self::default() }
            }
            Device::Cpu => Self { name, ..Self::default() },
        }
    }

    /// The drive of `machine`: the one of that name and folder if all else agrees, else the only similar one in the same
    /// PCI function.
    pub fn locate<'a>(&self, machine: &'a Machine) -> Located<'a> {
        // A drive and the paths to it have one serial number.
        let is_path = DriveName::new(&self.name).namespace_of_path().is_some();
        let kind = if is_path { &machine.paths } else { &machine.drives };
        let looks: Vec<&Drive> = kind.iter().filter(|drive| self.looks_like(drive)).collect();
        let fits: Vec<&Drive> =
            looks.iter().copied().filter(|drive| self.is_in_the_place_of(drive)).collect();
        let stayed = |drive: &&&Drive| {
            drive.name == DriveName::new(&self.name)
                && self.path.as_deref().is_none_or(|path| path == &*drive.path)
        };
        let same_disk = |drive: &&&Drive| self.diskseq.is_some() && drive.diskseq.get() == self.diskseq;
        if let Some(drive) = fits.iter().find(stayed) {
            return Located::At(drive);
        }
        match (&*fits.iter().filter(same_disk).collect::<Vec<_>>(), &*fits) {
            ([drive], _) => Located::At(drive),
            (_, [drive]) => Located::At(drive),
            (_, []) if looks.is_empty() => Located::Gone,
            (_, []) => Located::Doubtful(looks),
            _ => Located::Doubtful(fits),
        }
    }

    /// The drive of `machine`; `None` when it is gone or in doubt.
    pub fn find<'a>(&self, machine: &'a Machine) -> Option<&'a Drive> {
        match self.locate(machine) {
            Located::At(drive) => Some(drive),
            Located::Gone | Located::Doubtful(_) => None,
        }
    }

    /// The name of the drive whose folder its path is, where that is not this one's: such a record is not iodyno's.
    pub(super) fn other_name(&self) -> Option<&str> {
        let (_, folder) = self.path.as_deref()?.rsplit_once('/')?;
        (folder != self.name).then_some(folder)
    }

    /// Whether `now`, of the same name, is another drive, or the same one with a new queue after a rebind.
    pub(super) fn has_left(&self, now: &Self) -> bool {
        let same = [
            agree(self.serial.as_ref(), now.serial.as_ref()),
            agree(self.wwid.as_ref(), now.wwid.as_ref()),
            agree(self.diskseq, now.diskseq),
        ];
        same.contains(&Some(false))
    }

    /// Whether all known fields agree, and at least one that distinguishes drives does.
    fn looks_like(&self, drive: &Drive) -> bool {
        let serial = serial_of(drive);
        let (serial, wwid) =
            (agree(self.serial.as_ref(), serial.as_ref()), agree(self.wwid.as_deref(), wwid_of(drive)));
        let nsid = agree(self.nsid, nsid_of(drive));
        if [serial, wwid, nsid].contains(&Some(false)) {
            return false;
        }
        if serial == Some(true) || wwid == Some(true) {
            return true;
        }
        match self.diskseq {
            // Without a serial number, a drive with a new diskseq is another one.
            Some(sequence) => drive.diskseq.get() == Some(sequence),
            None => self.serial.is_none() && self.wwid.is_none() && drive.name == DriveName::new(&self.name),
        }
    }

    fn is_in_the_place_of(&self, drive: &Drive) -> bool {
        agree(self.path.as_deref().and_then(place), place(&drive.path)) != Some(false)
    }
}

/// Whether two values are equal; `None` where one is unknown.
fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<bool> {
    Some(one? == other?)
}

/// The PCI function of a folder. Folders below it get new numbers after a rebind.
fn place(path: &str) -> Option<PciAddress> {
    path.split('/').rev().find_map(|part| part.parse().ok())
}

/// Whether its queue keeps its settings while what it holds is another one, which has a `diskseq` of its own: loop devices,
/// nbd, card readers (`inc_diskseq` in the kernel's block/genhd.c).
fn outlives_media(drive: &Drive) -> bool {
    drive.kind == DriveKind::Loop
        || drive.name.as_str().starts_with("nbd")
        || drive.removable.get() == Some(true)
}

fn serial_of(drive: &Drive) -> Option<String> {
    let serial = drive.serial.value()?;
    let model = drive.model.value().map_or("", |model| model.as_str());
    let namespace = nsid_of(drive).map_or(String::new(), |id| format!(" ns{id}"));
    Some(format!("{model} {serial}{namespace}").trim().to_owned())
}

fn wwid_of(drive: &Drive) -> Option<&str> {
    drive.wwid.value().map(Label::as_str)
}

fn nsid_of(drive: &Drive) -> Option<u32> {
    drive.nvme.as_ref().and_then(|nvme| nvme.nsid.get())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{model::Reading, tune::testing::machine_with_queue};

    /// A drive: name, PCI function, serial number, wwid, diskseq. Empty texts and 0 are not known.
    type Seen = (&'static str, &'static str, &'static str, &'static str, u64);

    fn drive((name, function, serial, wwid, sequence): Seen) -> Drive {
        let mut drive = machine_with_queue(name, &BTreeMap::new()).drives.remove(0);
        let known = |text: &str| match text {
            "" => Reading::absent("/x", "none"),
            text => Reading::known("/x", text.into()),
        };
        drive.kind = if name.starts_with("loop") { DriveKind::Loop } else { DriveKind::Virtio };
        drive.path = match function {
            "" => format!("/sys/devices/virtual/block/{name}").into(),
            function => format!("/sys/devices/pci0000:00/{function}/block/{name}").into(),
        };
        (drive.serial, drive.wwid) = (known(serial), known(wwid));
        drive.diskseq =
            if sequence == 0 { Reading::absent("/x", "none") } else { Reading::known("/x", sequence) };
        drive
    }

    fn machine(drives: &[Seen]) -> Machine {
        let drives = drives.iter().copied().map(drive).collect();
        Machine { drives, ..machine_with_queue("none", &BTreeMap::new()) }
    }

    /// Where the drive `name` of the first machine is in the second: its name, `gone`, or `? A B`.
    fn located(name: &str, then: &[Seen], now: &[Seen]) -> String {
        let identity = Identity::of(&machine(then), &Device::Drive(DriveName::new(name)));
        match identity.locate(&machine(now)) {
            Located::At(drive) => drive.name.to_string(),
            Located::Gone => "gone".to_owned(),
            Located::Doubtful(drives) => {
                drives.iter().fold("?".to_owned(), |all, drive| format!("{all} {}", drive.name))
            }
        }
    }

    const A: &str = "0000:01:00.0";
    const B: &str = "0000:02:00.0";

    #[test]
    fn devices_are_told_apart_by_their_form() {
        let parse = |text: &str| text.parse::<Device>().unwrap();
        assert_eq!(parse("cpu"), Device::Cpu);
        assert!(matches!(parse("0000:41:00.0"), Device::Pci(_)));
        assert_eq!(parse("/dev/nvme0n1"), parse("nvme0n1"));
    }

    #[test]
    fn twins_are_told_apart_by_name_and_place() {
        // The two ports of one NVMe drive.
        let ports = [("nvme0n1", A, "S", "w", 1), ("nvme1n1", B, "S", "w", 2)];
        assert_eq!(located("nvme0n1", &ports, &ports), "nvme0n1");
        assert_eq!(located("nvme1n1", &ports, &ports), "nvme1n1");
        let swapped = [("nvme0n1", B, "S", "w", 3), ("nvme1n1", A, "S", "w", 4)];
        assert_eq!(located("nvme1n1", &ports, &swapped), "nvme0n1", "followed by its place");
        assert_eq!(located("nvme1n1", &ports, &ports[..1]), "? nvme0n1", "its twin is another device");
        let taken = [("nvme1n1", A, "S", "w", 1)];
        assert_eq!(located("nvme1n1", &ports, &taken), "? nvme1n1", "also under its name");
    }

    #[test]
    fn units_of_one_function_are_told_apart_by_wwid_or_not_at_all() {
        let units = [("sda", A, "S", "w1", 1), ("sdb", A, "S", "w2", 2)];
        assert_eq!(located("sdb", &units, &[("sdd", A, "S", "w1", 8), ("sdc", A, "S", "w2", 9)]), "sdc");
        let alike = [("sda", A, "S", "", 1), ("sdb", A, "S", "", 2)];
        assert_eq!(located("sdb", &alike, &alike), "sdb");
        assert_eq!(located("sdb", &alike, &[("sdc", A, "S", "", 8), ("sdd", A, "S", "", 9)]), "? sdc sdd");
        assert_eq!(
            located("sdb", &alike, &[("sdc", A, "S", "", 2), ("sdd", A, "S", "", 9)]),
            "sdc",
            "by diskseq"
        );
        let no_diskseq = [("sda", A, "S", "", 0), ("sdb", A, "S", "", 0)];
        assert_eq!(located("sdb", &no_diskseq, &no_diskseq), "sdb");
    }

    #[test]
    fn without_a_serial_number_a_drive_is_itself_only_while_it_stays() {
        let disks = [("vda", A, "", "", 1), ("vdb", B, "", "", 2)];
        assert_eq!(located("vdb", &disks, &disks), "vdb");
        assert_eq!(located("vdb", &disks, &[("vda", A, "", "", 1), ("vdb", B, "", "", 3)]), "gone");
        let loops = [("loop0", "", "", "", 5)];
        assert_eq!(located("loop0", &loops, &loops), "loop0");
        assert_eq!(located("loop0", &loops, &[("loop0", "", "", "", 6)]), "loop0", "its queue stays");
        let changed = |now| {
            let of = |seen| Identity::of(&machine(seen), &Device::Drive(DriveName::new(seen[0].0)));
            of(&disks[..1]).has_left(&of(&[now]))
        };
        assert!(changed(("vda", A, "", "", 7)) && !changed(disks[0]));
        let of_loops = |sequence| {
            Identity::of(
                &machine(&[("loop0", "", "", "", sequence)]),
                &Device::Drive(DriveName::new("loop0")),
            )
        };
        assert!(!of_loops(5).has_left(&of_loops(6)));
    }

    #[test]
    fn a_drive_that_left_its_driver_and_came_back_is_followed_in_its_place_alone() {
        let then = [("nvme0n1", A, "S", "w", 1), ("nvme1n1", B, "T", "v", 2)];
        assert_eq!(located("nvme0n1", &then, &[then[1], ("nvme2n1", A, "S", "w", 3)]), "nvme2n1");
        assert_eq!(located("nvme0n1", &then, &[("nvme0n1", A, "S", "w", 3)]), "nvme0n1");
        assert_eq!(
            located("nvme0n1", &then, &[("nvme0n1", A, "U", "u", 3)]),
            "gone",
            "another drive in its place"
        );
        assert_eq!(located("nvme0n1", &then, &[("nvme0n1", "0000:09:00.0", "S", "w", 3)]), "? nvme0n1");
    }

    #[test]
    fn what_earlier_versions_wrote_still_names_a_drive() {
        let old = |text: &str| serde_json::from_str::<Identity>(text).unwrap();
        let now =
            machine(&[("nvme0n1", A, "S", "w", 1), ("nvme1n1", B, "S", "w", 2), ("nvme2n1", B, "T", "v", 3)]);
        let name = |identity: Identity| identity.find(&now).map(|drive| drive.name.to_string());
        assert_eq!(name(old(r#"{"name":"nvme1n1","serial":"S"}"#)).as_deref(), Some("nvme1n1"));
        assert_eq!(name(old(r#"{"name":"nvme7n1","serial":"T"}"#)).as_deref(), Some("nvme2n1"));
        assert_eq!(name(old(r#"{"name":"nvme7n1","serial":"S"}"#)), None, "two of them fit");
        assert_eq!(name(old(r#"{"name":"loop0","diskseq":3}"#)).as_deref(), Some("nvme2n1"));
        assert_eq!(name(old(r#"{"name":"cpu"}"#)), None);
    }
}

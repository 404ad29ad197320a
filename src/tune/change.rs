//! A change, the device it is on, and what became of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::actuator::write_for;
use crate::{
    machine::{Drive, Machine},
    model::{DriveName, PciAddress, SettingId},
};

/// What a setting is changed on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// A drive by its kernel name.
    Drive(DriveName),
    /// A PCI function.
    Pci(PciAddress),
    /// All processors.
    Cpu,
}

/// Who a device is beyond its name of the day, so that a change is undone on the drive it was made on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The name when the change was made: `nvme0n1`, `0000:41:00.0`, `cpu`.
    pub name: String,
    /// Model and serial number of a drive that has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub serial: Option<String>,
    /// `diskseq` of a drive without a serial: unique within a boot.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diskseq: Option<u64>,
}

/// One value to be written to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is changed on.
    pub device: Device,
    /// Who that is.
    pub identity: Identity,
    /// Which setting.
    pub setting: SettingId,
    /// The file.
    pub file: String,
    /// The value before.
    pub from: String,
    /// The value asked for.
    pub to: String,
}

/// What became of a write: a successful one proves nothing, so it is what was read back that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The file now shows what was asked.
    Accepted,
    /// The write succeeded and the file shows something else than before and than asked.
    Adjusted {
        /// What it shows.
        now: String,
    },
    /// The write succeeded and the file shows what it showed before.
    Ignored,
    /// The kernel refused; the error in words.
    Refused {
        /// `EINVAL: Invalid argument`.
        error: String,
    },
}

impl Outcome {
    /// From what was there, what was asked and what was read back after a write that succeeded.
    pub fn read_back(from: &str, to: &str, now: &str) -> Self {
        if now == to {
            Self::Accepted
        } else if now == from {
            Self::Ignored
        } else {
            Self::Adjusted { now: now.to_owned() }
        }
    }
}

impl Change {
    /// The shell command that makes it.
    pub fn command(&self) -> String {
        command(&self.to, &self.file)
    }
}

/// The shell command that makes the setting `file` read `value`.
pub fn command(value: &str, file: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let (file, text) = write_for(file, value);
    format!("echo {} | sudo tee {}", quoted(&text), quoted(&file))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Adjusted { now } => write!(f, "adjusted by the kernel to {now}"),
            Self::Ignored => f.write_str("ignored by the kernel"),
            Self::Refused { error } => write!(f, "refused ({error})"),
        }
    }
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
    /// Of a device of this machine.
    pub fn of(machine: &Machine, device: &Device) -> Self {
        let drive = match device {
            Device::Drive(name) => machine.drive(name),
            _ => None,
        };
        let serial = drive.and_then(serial_of);
        let diskseq = if serial.is_some() { None } else { drive.and_then(|drive| drive.diskseq.get()) };
        Self { name: device.to_string(), serial, diskseq }
    }

    /// The drive of `machine` this is now, whatever its name has become; `None` when it is gone.
    pub fn find<'a>(&self, machine: &'a Machine) -> Option<&'a Drive> {
        machine.drives.iter().find(|drive| match (&self.serial, self.diskseq) {
            (Some(serial), _) => serial_of(drive).as_ref() == Some(serial),
            (None, Some(sequence)) => drive.diskseq.get() == Some(sequence),
            (None, None) => drive.name.as_str() == self.name,
        })
    }
}

fn serial_of(drive: &Drive) -> Option<String> {
    let serial = drive.serial.value()?;
    let model = drive.model.value().map_or("", |model| model.as_str());
    let namespace =
        drive.nvme.as_ref().and_then(|nvme| nvme.nsid.get()).map_or(String::new(), |id| format!(" ns{id}"));
    Some(format!("{model} {serial}{namespace}").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_back_decides() {
        assert_eq!(Outcome::read_back("none", "mq-deadline", "mq-deadline"), Outcome::Accepted);
        assert_eq!(Outcome::read_back("1", "7", "1"), Outcome::Ignored);
        assert_eq!(
            Outcome::read_back("128", "99999999", "99999996"),
            Outcome::Adjusted { now: "99999996".into() }
        );
        assert_eq!(Outcome::read_back("1", "1", "1"), Outcome::Accepted);
    }

    #[test]
    fn devices_are_told_apart_by_their_form() {
        let parse = |text: &str| text.parse::<Device>().unwrap();
        assert_eq!(parse("cpu"), Device::Cpu);
        assert!(matches!(parse("0000:41:00.0"), Device::Pci(_)));
        assert_eq!(parse("/dev/nvme0n1"), parse("nvme0n1"));
    }
}

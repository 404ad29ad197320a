//! Names of things: PCI addresses, drives, settings, findings, severities.

use std::{borrow::Borrow, fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer};

use crate::text::Label;

/// A PCI function: `DDDD:BB:DD.F`, with domains of up to eight hexadecimal digits (VMD counts from 0x10000).
///
/// Ordered as the bus is: by domain, bus, device, function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// PCI segment, also called domain.
    pub domain: u32,
    /// Bus, 0 to 255.
    pub bus: u8,
    /// Device, 0 to 31.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

/// Text that is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a PCI address; use 0000:41:00.0")]
pub struct BadAddress(pub String);

impl FromStr for PciAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (domain, rest) = text.split_once(':')?;
            let (bus, rest) = rest.split_once(':')?;
            let (device, function) = rest.split_once('.')?;
            let hex = |digits: &str, least: usize, most: usize| {
                let fits =
                    (least..=most).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
                fits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
            };
            let address = Self {
                domain: hex(domain, 4, 8)?,
                bus: u8::try_from(hex(bus, 2, 2)?).ok()?,
                device: u8::try_from(hex(device, 2, 2)?).ok()?,
                function: u8::try_from(hex(function, 1, 1)?).ok()?,
            };
            (address.device < 32 && address.function < 8).then_some(address)
        };
        parse().ok_or_else(|| BadAddress(Label::new(text).to_string()))
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        f.pad(&format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"))
    }
}

impl Serialize for PciAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A node's place in a machine's PCI tree. Only meaningful for the machine it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct NodeIndex(pub usize);

/// The kernel's name of a whole block device: `nvme0n1`, `sda`, `loop3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DriveName(pub Label);

impl DriveName {
    /// From the kernel's word.
    pub fn new(raw: &str) -> Self {
        Self(Label::new(raw))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Its device file, `/dev/NAME` (`!` in a kernel name stands for `/`).
    pub fn device_file(&self) -> String {
        format!("/dev/{}", self.as_str().replace('!', "/"))
    }

    /// `nvme0n1` for `nvme0c1n1`, a path device of native NVMe multipath; `None` for other names.
    pub fn namespace_of_path(&self) -> Option<Self> {
        let (subsystem, rest) = self.as_str().strip_prefix("nvme")?.split_once('c')?;
        let (controller, namespace) = rest.split_once('n')?;
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let numbers = [subsystem, controller, namespace];
        numbers.into_iter().all(is_number).then(|| Self::new(&format!("nvme{subsystem}n{namespace}")))
    }
}

impl Borrow<str> for DriveName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for DriveName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The id of a row of `FINDINGS`: `link-downtrained`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FindingId(pub &'static str);

/// The id of a row of `SETTINGS`: `scheduler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SettingId(pub &'static str);

/// The id of a row of `EXPERIMENTS`: `block-size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ExperimentId(pub &'static str);

/// Severity of a finding on this machine. Ordered: `Info < Warning < High`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs something on this machine.
    Warning,
    /// Costs at least 15 % of what the machine could do, or data is at risk.
    High,
}

impl Severity {
    /// Its mark on every screen and in every text: a shape, as colour alone is not enough. ASCII output has `^` for `▲`.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::High => "▲",
            Self::Warning => "!",
            Self::Info => "·",
        }
    }

    /// CONTRACT's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::High => "high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_and_write_the_same_and_sort_as_the_bus_does() {
        for text in ["0000:00:00.0", "10000:e1:1f.7", "deadbeef:ff:00.1"] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "00:00.0",
            "0000:00:20.0",
            "0000:00:00.8",
            "0000:0:00.0",
            "0000:00:00.0 ",
            "g000:00:00.0",
            "+000:00:00.0",
        ] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
        let low: PciAddress = "0000:ff:00.0".parse().unwrap();
        let high: PciAddress = "10000:00:00.0".parse().unwrap();
        assert!(low < high);
    }
}

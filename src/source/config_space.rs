//! PCI configuration space: header, capability list and PCI Express capability (PCI Express Base Specification,
//! sections 7.5.1 and 7.5.3), parsed from untrusted bytes.

use crate::{
    machine::{
        Express,
        pci::{NO_RESPONSE, NOT_EXPRESS},
    },
    units::TransferRate,
};

/// Bytes of configuration space that are read. The rest (extended capabilities) costs the CPU about
/// a microsecond per word on real ports, a millisecond per device.
pub(crate) const WANTED: usize = 256;

/// Bytes readable without privileges: the header without capabilities.
const HEADER: usize = 64;

/// Id of the PCI Express capability.
const EXPRESS: u8 = 0x10;

/// Why the space or its PCI Express capability cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No complete header.
    #[error("{0} bytes, a header has 64")]
    TooShort(usize),
    /// A device that does not respond reads as ones.
    #[error("{}", NO_RESPONSE)]
    Silent,
    /// The kernel shows capabilities to root only.
    #[error("only 64 bytes are readable; run as root for the capabilities")]
    NeedsRoot,
    /// The capability list ends without one.
    #[error("{}", NOT_EXPRESS)]
    NotExpress,
    /// The list loops or the capability exceeds the space.
    #[error("invalid capability list at {0:#04x}")]
    Broken(u8),
}

/// One device's configuration space, at least a header of it.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSpace<'a> {
    bytes: &'a [u8],
}

impl<'a> ConfigSpace<'a> {
    /// Takes the bytes as the `config` file gives them: 64, 256 or 4096, or what was left of them.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ConfigError> {
        if bytes.len() < HEADER {
            return Err(ConfigError::TooShort(bytes.len()));
        }
        if bytes[..HEADER].iter().all(|byte| *byte == 0xff) {
            return Err(ConfigError::Silent);
        }
        Ok(Self { bytes })
    }

    /// Secondary and subordinate bus (bytes 0x19 and 0x1a) of a bridge, `None` for other header types.
    pub(crate) fn buses(&self) -> Option<(u8, u8)> {
        (self.header_type() == 1).then(|| self.byte(0x19).zip(self.byte(0x1a))).flatten()
    }

    /// The capability list in order: id and offset, or the offset where the list is broken.
    pub(crate) fn capabilities(&self) -> Vec<Result<(u8, u8), u8>> {
        const MOST: usize = (WANTED - HEADER) / 4;
        let mut found = Vec::new();
        let has_list = self.word(0x06).is_some_and(|status| status & 0x10 != 0);
        let start = if self.header_type() == 2 { 0x14 } else { 0x34 };
        let mut next = if has_list { self.byte(start).unwrap_or(0) & 0xfc } else { 0 };
        while usize::from(next) >= HEADER {
            let entry = self.byte(usize::from(next)).zip(self.byte(usize::from(next) + 1));
            let Some((id, after)) = entry.filter(|(id, _)| *id != 0xff && found.len() < MOST) else {
                found.push(Err(next));
                break;
            };
            found.push(Ok((id, next)));
            next = after & 0xfc;
        }
        found
    }

    /// The PCI Express capability.
    pub fn express(&self) -> Result<Express, ConfigError> {
        let capabilities = self.capabilities();
        let at = capabilities.iter().find_map(|entry| match entry {
            Ok((EXPRESS, at)) => Some(*at),
            _ => None,
        });
        match (at, capabilities.last()) {
            (Some(at), _) => self.express_at(usize::from(at)).ok_or(ConfigError::Broken(at)),
            (None, Some(Err(_))) if self.bytes.len() == HEADER => Err(ConfigError::NeedsRoot),
            (None, Some(Err(at))) => Err(ConfigError::Broken(*at)),
            (None, _) => Err(ConfigError::NotExpress),
        }
    }

    fn express_at(&self, at: usize) -> Option<Express> {
        let capabilities = self.word(at + 0x02)?;
        let device_capabilities = self.long(at + 0x04)?;
        let device_control = self.word(at + 0x08)?;
        let device_status = self.word(at + 0x0a)?;
        // Version 1 omits registers that a device type does not need; version 2 has all, reserved ones as zero. A
        // truncated register makes the whole capability unreadable: it must not read as zero.
        let version = capabilities & 0xf;
        let is_integrated = matches!((capabilities >> 4) & 0xf, 9 | 10);
        let has_link = version >= 2 || !is_integrated;
        let link_capabilities = if has_link { self.long(at + 0x0c)? } else { 0 };
        let link_control = if has_link { self.word(at + 0x10)? } else { 0 };
        let link_status = if has_link { self.word(at + 0x12)? } else { 0 };
        let link_control_2 = if version >= 2 { self.word(at + 0x30)? } else { 0 };
        let bits =
            |value: u32, shift: u32, width: u32| ((value >> shift) & ((1 << width) - 1)).to_le_bytes()[0];
        let size = |code: u8| 128_u16 << code;
        let control = u32::from(device_control);
        let status = u32::from(link_status);
        Some(Express {
            port_type: Some(bits(capabilities.into(), 4, 4)),
            slot_implemented: Some(capabilities & (1 << 8) != 0),
            payload_supported: Some(size(bits(device_capabilities, 0, 3))),
            payload: Some(size(bits(control, 5, 3))),
            read_request: Some(size(bits(control, 12, 3))),
            relaxed_ordering: Some(control & (1 << 4) != 0),
            extended_tags: Some(control & (1 << 8) != 0),
            extended_tags_supported: Some(device_capabilities & (1 << 5) != 0),
            correctable_error: Some(device_status & 1 != 0),
            max_speed: TransferRate::from_code(bits(link_capabilities, 0, 4)),
            max_width: Some(bits(link_capabilities, 4, 6)),
            speed: TransferRate::from_code(bits(status, 0, 4)),
            width: Some(bits(status, 4, 6)),
            aspm_enabled: Some(bits(link_control.into(), 0, 2)),
            target_speed: TransferRate::from_code(bits(link_control_2.into(), 0, 4)),
        })
    }

    fn header_type(&self) -> u8 {
        self.byte(0x0e).unwrap_or(0) & 0x7f
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.bytes.get(at..at + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn long(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A device with one capability at `at`, made of `registers`.
    fn device(at: u8, registers: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; WANTED];
        bytes[0x06] = 0x10;
        bytes[0x34] = at;
        bytes[usize::from(at)..usize::from(at) + registers.len()].copy_from_slice(registers);
        bytes
    }

    #[test]
    fn without_privilege_the_capabilities_are_denied_and_not_missing() {
        let bytes = device(0x70, &[EXPRESS, 0, 0x42, 0x01]);
        let express = |bytes: &[u8]| ConfigSpace::new(bytes).unwrap().express();
        assert_eq!(express(&bytes[..64]), Err(ConfigError::NeedsRoot));
        assert!(express(&bytes).is_ok());
        assert_eq!(express(&[0; 64]), Err(ConfigError::NotExpress));
        for end in [0x72, 0x80, 0x90, 0xa1] {
            assert_eq!(express(&bytes[..end]), Err(ConfigError::Broken(0x70)), "cut at {end:#x}");
        }
        assert!(express(&bytes[..0xa2]).is_ok());
    }

    #[test]
    fn a_list_that_leads_to_itself_ends() {
        let bytes = device(0x40, &[0x01, 0x40]);
        assert_eq!(ConfigSpace::new(&bytes).unwrap().express(), Err(ConfigError::Broken(0x40)));
    }

    #[test]
    fn a_silent_device_and_a_short_file_are_told_apart() {
        assert_eq!(ConfigSpace::new(&[0xff; 256]).unwrap_err(), ConfigError::Silent);
        assert_eq!(ConfigSpace::new(&[0; 63]).unwrap_err(), ConfigError::TooShort(63));
    }

    proptest! {
        #[test]
        fn no_bytes_whatever_break_the_parser(mut bytes in prop::collection::vec(any::<u8>(), 0..4200)) {
            if let Some(status) = bytes.get_mut(6) {
                *status |= 0x10;
            }
            if let Ok(config) = ConfigSpace::new(&bytes) {
                prop_assert!(config.capabilities().len() <= 49);
                let _ = config.express();
                let _ = config.buses();
            }
        }
    }
}

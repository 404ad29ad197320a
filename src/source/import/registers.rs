//! Configuration space from lspci's words: the header and the PCI Express capability, with the registers that the words state.

use super::facts::{ExpressWords, Function, Known, LinkWords, learn};
use crate::{source::config_space::ConfigSpace, units::TransferRate};

/// Bytes readable without privileges.
const HEADER: usize = 64;

/// Configuration space up to the end of the PCI Express capability.
const SPACE: usize = 256;

/// The configuration space of a function, or the reason why its words do not make one.
pub(super) fn config(function: &Function) -> Result<Vec<u8>, String> {
    if function.silent.is_some() {
        return Ok(vec![0xff; HEADER]);
    }
    let mut bytes = vec![0; HEADER];
    put(&mut bytes, 0, &function.vendor.map_or(0, |it| it.value).to_le_bytes());
    put(&mut bytes, 2, &function.device.map_or(0, |it| it.value).to_le_bytes());
    if let Some(buses) = function.buses {
        bytes[0x0e] = 1;
        (bytes[0x19], bytes[0x1a]) = buses.value;
    }
    let Some(express) = &function.express else {
        return match (function.denied, function.has_body) {
            // The kernel shows capabilities to root only: their list leads out of what is readable.
            (Some(_), _) => {
                (bytes[0x06], bytes[0x34]) = (0x10, 0x40);
                Ok(bytes)
            }
            (None, true) => Ok(bytes),
            (None, false) => Err("the text has no registers; `lspci -vv` as root shows them".to_owned()),
        };
    };
    let at = usize::from(express.at);
    if at == 0 {
        return Err("the text shows links, not the whole capability; `lspci -vv` as root shows it".to_owned());
    }
    if at < HEADER || at % 4 != 0 || at + 0x34 > SPACE {
        return Err(format!("the text has the capability at {at:#x}, which no device has"));
    }
    bytes.resize(SPACE, 0);
    (bytes[0x06], bytes[0x34]) = (0x10, express.at);
    capability(express, &mut bytes[at..])?;
    Ok(bytes)
}

/// Takes ids, class and bus numbers from a hex dump, where the words do not have them.
pub(super) fn complete(function: &mut Function) {
    let Some(dump) = function.config.take() else { return };
    if let Ok(space) = ConfigSpace::new(&dump.value) {
        let word = |at: usize| Some(u16::from_le_bytes([*dump.value.get(at)?, *dump.value.get(at + 1)?]));
        let class =
            dump.value.get(0x09..0x0c).map(|class| u32::from_le_bytes([class[0], class[1], class[2], 0]));
        let known = |slot: &mut Option<Known<u16>>, value: Option<u16>| {
            if let Some(value) = value {
                learn(slot, value, dump.line);
            }
        };
        known(&mut function.vendor, word(0x00));
        known(&mut function.device, word(0x02));
        if let Some(class) = class {
            learn(&mut function.class, class, dump.line);
        }
        // A CardBus bridge (header type 2) has its numbers in the same places.
        let of_cardbus = || Some((*dump.value.get(0x19)?, *dump.value.get(0x1a)?));
        let is_cardbus = dump.value[0x0e] & 0x7f == 2;
        if let Some(buses) = space.buses().or_else(|| of_cardbus().filter(|_| is_cardbus)) {
            learn(&mut function.buses, buses, dump.line);
        }
        // Header type 0 alone has the subsystem's ids here.
        if let (Some(vendor), Some(device), None) = (word(0x2c), word(0x2e), space.buses())
            && vendor != 0
        {
            learn(&mut function.subsystem, (vendor, device), dump.line);
        }
    }
    function.config = Some(dump);
}

fn capability(words: &ExpressWords, bytes: &mut [u8]) -> Result<(), String> {
    let lacks = |register: &str| format!("the text has no {register}; `lspci -vv` as root shows it");
    let port_type = words.port_type.ok_or("the text does not name the type of this port")?;
    let (supported, tags) = words.device_capabilities.ok_or_else(|| lacks("DevCap"))?.value;
    let (payload, request) = words.sizes.ok_or_else(|| lacks("DevCtl"))?.value;
    let is_integrated = matches!(port_type, 9 | 10);
    if !is_integrated && (words.link_capabilities.is_none() || words.link_status.is_none()) {
        return Err(lacks("LnkCap or LnkSta"));
    }
    let flags = u16::from(words.version) | (u16::from(port_type) << 4) | (u16::from(words.slot) << 8);
    put(bytes, 0x00, &[0x10, 0]);
    put(bytes, 0x02, &flags.to_le_bytes());
    put(bytes, 0x04, &(size_code(supported) | (u32::from(tags) << 5)).to_le_bytes());
    let control = (size_code(payload) << 5)
        | (size_code(request) << 12)
        | (u32::from(words.relaxed_ordering) << 4)
        | (u32::from(words.extended_tags) << 8);
    put(bytes, 0x08, &control.to_le_bytes()[..2]);
    if let Some(link) = words.link_capabilities {
        put(bytes, 0x0c, &link_bits(link.value).to_le_bytes());
    }
    put(bytes, 0x10, &[words.aspm.map_or(0, |it| it.value), 0]);
    if let Some(link) = words.link_status {
        put(bytes, 0x12, &link_bits(link.value).to_le_bytes()[..2]);
    }
    put(bytes, 0x30, &[words.target_speed.map_or(0, |it| speed_code(it.value)), 0]);
    Ok(())
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// 128 bytes is 0, 256 is 1.
fn size_code(bytes: u16) -> u32 {
    (bytes / 128).trailing_zeros().min(7)
}

fn link_bits(link: LinkWords) -> u32 {
    let width = u32::from(link.width.unwrap_or(0) & 0x3f);
    u32::from(link.speed.map_or(0, speed_code)) | (width << 4)
}

fn speed_code(speed: TransferRate) -> u8 {
    (1..=6).find(|code| TransferRate::from_code(*code) == Some(speed)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_come_back_as_they_were_worded() {
        let speed = TransferRate::from_mega(16_000);
        let link = |speed, width| Some(Known::new(LinkWords { speed, width: Some(width) }, 1));
        let mut words = ExpressWords {
            at: 0x70,
            version: 2,
            port_type: Some(4),
            slot: true,
            device_capabilities: Some(Known::new((512, true), 1)),
            sizes: Some(Known::new((256, 4096), 1)),
            relaxed_ordering: true,
            extended_tags: false,
            link_capabilities: link(speed, 16),
            link_status: link(TransferRate::from_mega(8_000), 4),
            aspm: Some(Known::new(2, 1)),
            target_speed: Some(Known::new(speed.unwrap(), 1)),
            line: 1,
        };
        let function =
            |words: &ExpressWords| Function { express: Some(words.clone()), ..Function::default() };
        let bytes = config(&function(&words)).unwrap();
        let express = ConfigSpace::new(&bytes).unwrap().express().unwrap();
        assert_eq!((express.port_type, express.slot_implemented), (4, true));
        assert_eq!((express.payload_supported, express.payload, express.read_request), (512, 256, 4096));
        assert_eq!(
            (express.relaxed_ordering, express.extended_tags, express.extended_tags_supported),
            (true, false, true)
        );
        assert_eq!((express.max_speed, express.max_width), (speed, 16));
        assert_eq!((express.speed, express.width), (TransferRate::from_mega(8_000), 4));
        assert_eq!((express.aspm_enabled, express.target_speed), (2, speed));
        words.sizes = None;
        assert!(config(&function(&words)).unwrap_err().contains("DevCtl"), "a missing register is no zero");
    }
}

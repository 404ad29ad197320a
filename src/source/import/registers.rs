//! Configuration space from lspci's words: the header and the PCI Express capability, with the registers that the words state.

use super::facts::{ExpressWords, Facts, Function, Known, LinkWords, learn};
use crate::{model::PciAddress, source::config_space::ConfigSpace, units::TransferRate};

/// Bytes readable without privileges.
const HEADER: usize = 64;

/// Configuration space up to the end of the PCI Express capability.
const SPACE: usize = 256;

/// Where a capability stands whose offset the text does not show.
const ANYWHERE: u8 = 0x40;

/// The configuration space of a function, or the reason why its words do not make one.
pub(super) fn config(function: &Function) -> Result<Vec<u8>, String> {
    // `lspci -x` shows the header alone: the capability may stand in words.
    let header = function.config.as_ref().map(|dump| &dump.value);
    if header.is_some_and(|dump| dump.len() != HEADER) || header.is_some() && function.express.is_none() {
        return Err("the hex dump has it".to_owned());
    }
    if function.silent.is_some() {
        return Ok(vec![0xff; HEADER]);
    }
    let mut bytes = header.cloned().unwrap_or_else(|| vec![0; HEADER]);
    if header.is_none() {
        put(&mut bytes, 0, &function.vendor.map_or(0, |it| it.value).to_le_bytes());
        put(&mut bytes, 2, &function.device.map_or(0, |it| it.value).to_le_bytes());
        if let Some(buses) = function.buses {
            bytes[0x0e] = 1;
            (bytes[0x19], bytes[0x1a]) = buses.value;
        }
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
    if !states_registers(express) {
        return Err("the text shows links, not the whole capability; `lspci -vv` as root shows it".to_owned());
    }
    let offset = if express.at == 0 { ANYWHERE } else { express.at };
    let at = usize::from(offset);
    if at < HEADER || at % 4 != 0 || at + 0x34 > SPACE {
        return Err(format!("the text has the capability at {at:#x}, which no device has"));
    }
    bytes.resize(SPACE, 0);
    (bytes[0x06], bytes[0x34]) = (bytes[0x06] | 0x10, offset);
    capability(express, &mut bytes[at..]);
    Ok(bytes)
}

/// Whether a text has registers of the capability beside the links.
fn states_registers(words: &ExpressWords) -> bool {
    let ExpressWords {
        payload_supported,
        tags_supported,
        sizes,
        control,
        correctable_error,
        target_speed,
        ..
    } = words;
    payload_supported.is_some()
        || tags_supported.is_some()
        || sizes.is_some()
        || control.is_some()
        || correctable_error.is_some()
        || target_speed.is_some()
}

/// The registers that the words state, by names of which `source::pci` takes the values; `None` if they state all.
pub(super) fn stated(function: &Function) -> Option<String> {
    let words = function.express.as_ref()?;
    let is_integrated = matches!(words.port_type, Some(9 | 10));
    let all = [
        ("type", words.port_type.is_some()),
        ("slot", words.slot.is_some()),
        ("DevCap", words.payload_supported.is_some()),
        ("DevCap-tags", words.tags_supported.is_some()),
        ("DevCtl-sizes", words.sizes.is_some()),
        ("DevCtl", words.control.is_some()),
        ("DevSta", words.link_correctable_error().is_some()),
        ("LnkCap", is_integrated || words.link_capabilities.is_some()),
        ("LnkCtl", is_integrated || words.aspm.is_some()),
        ("LnkSta", is_integrated || words.link_status.is_some()),
    ];
    let is_whole = all.iter().all(|(_, is_stated)| *is_stated);
    let has_dump = function.config.as_ref().is_some_and(|dump| dump.value.len() > HEADER);
    let names: Vec<&str> =
        all.into_iter().filter(|(_, is_stated)| *is_stated).map(|(name, _)| name).collect();
    (!is_whole && !has_dump).then(|| names.join(" "))
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

fn capability(words: &ExpressWords, bytes: &mut [u8]) {
    let value = |known: Option<Known<u16>>| known.map_or(128, |it| it.value);
    let (payload, request) = words.sizes.map_or((128, 128), |it| it.value);
    let (relaxed, tags) = words.control.map_or((false, false), |it| it.value);
    let has_slot = words.slot == Some(true);
    let port_type = words.port_type.unwrap_or(0);
    let flags = u16::from(words.version) | (u16::from(port_type) << 4) | (u16::from(has_slot) << 8);
    put(bytes, 0x00, &[0x10, 0]);
    put(bytes, 0x02, &flags.to_le_bytes());
    let tags_supported = words.tags_supported.is_some_and(|it| it.value);
    let supported = size_code(value(words.payload_supported)) | (u32::from(tags_supported) << 5);
    put(bytes, 0x04, &supported.to_le_bytes());
    let control = (size_code(payload) << 5)
        | (size_code(request) << 12)
        | (u32::from(relaxed) << 4)
        | (u32::from(tags) << 8);
    put(bytes, 0x08, &control.to_le_bytes()[..2]);
    put(bytes, 0x0a, &[u8::from(words.link_correctable_error().is_some_and(|it| it.value)), 0]);
    if let Some(link) = words.link_capabilities {
        put(bytes, 0x0c, &link_bits(link.value).to_le_bytes());
    }
    put(bytes, 0x10, &[words.aspm.map_or(0, |it| it.value), 0]);
    if let Some(link) = words.link_status {
        put(bytes, 0x12, &link_bits(link.value).to_le_bytes()[..2]);
    }
    put(bytes, 0x30, &[words.target_speed.map_or(0, |it| speed_code(it.value)), 0]);
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

/// Names links whose ends state another speed or width: both ends of one link have the same.
pub(super) fn compare_ends(facts: &mut Facts) {
    /// Device/port types: root port, downstream port of a switch.
    const PORTS: [u8; 2] = [4, 6];
    let mut sentences = Vec::new();
    for (address, port) in &facts.functions {
        let Some((express, buses)) = port.express.as_ref().zip(port.buses) else { continue };
        if express.port_type.is_some_and(|port_type| !PORTS.contains(&port_type)) {
            continue;
        }
        let device = PciAddress { bus: buses.value.0, device: 0, function: 0, ..*address };
        let below = facts.functions.get(&device).filter(|_| device.bus > address.bus);
        let ends = below.and_then(|below| express.link_status.zip(below.express.as_ref()?.link_status));
        if let Some((above, below)) = ends.filter(|(above, below)| !above.value.agrees(below.value)) {
            sentences.push(format!(
                "The ends of one link differ: port {address} has {} in line {}, {device} has {} in line {}.",
                above.value.words(),
                above.line,
                below.value.words(),
                below.line
            ));
        }
    }
    for sentence in sentences {
        facts.contradiction(sentence);
    }
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
            slot: Some(true),
            payload_supported: Some(Known::new(512, 1)),
            tags_supported: Some(Known::new(true, 1)),
            sizes: Some(Known::new((256, 4096), 1)),
            control: Some(Known::new((true, false), 1)),
            correctable_error: Some(Known::new(true, 1)),
            link_error: None,
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
        assert_eq!((express.port_type, express.slot_implemented), (Some(4), Some(true)));
        assert_eq!(
            (express.payload_supported, express.payload, express.read_request),
            (Some(512), Some(256), Some(4096))
        );
        assert_eq!(
            (express.relaxed_ordering, express.extended_tags, express.extended_tags_supported),
            (Some(true), Some(false), Some(true))
        );
        assert_eq!((express.max_speed, express.max_width), (speed, Some(16)));
        assert_eq!((express.speed, express.width), (TransferRate::from_mega(8_000), Some(4)));
        assert_eq!((express.aspm_enabled, express.target_speed), (Some(2), speed));
        assert_eq!(express.correctable_error, Some(true));
        assert_eq!(stated(&function(&words)), None, "all of them");
        words.sizes = None;
        let names = stated(&function(&words)).unwrap();
        assert!(
            !names.contains("DevCtl-sizes") && names.contains("LnkCap"),
            "a missing register is no zero: {names}"
        );
    }
}

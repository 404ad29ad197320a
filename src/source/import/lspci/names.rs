//! Ids and classes behind the names that lspci prints.

use std::borrow::Cow;

use super::body::{hex, word};
use crate::{
    model::PciAddress,
    source::{
        ids,
        import::{
            facts::{Function, Known},
            identity::Identity,
            prompt::{is_prompt, is_snip},
        },
    },
    text::Label,
};

/// Name and ids of a function: `Samsung Electronics Co Ltd Device [144d:a80a]`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in super::super) struct Name {
    pub text: String,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
    /// The ids are in the text itself, not found by the name.
    pub is_exact: bool,
}

impl Name {
    /// A name with its ids; an unknown device is `Intel Corporation Device` and needs its id.
    pub fn of_ids(name: &str, vendor: u16, device: u16) -> Self {
        let name = name.trim();
        let text = if name.ends_with(" Device") { format!("{name} {device:04x}") } else { name.to_owned() };
        Self { text, vendor: Some(vendor), device: Some(device), is_exact: true }
    }

    /// Parses what stands behind the class, without revision and interface.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some((vendor, device)) = pair(text) {
            return Self { vendor: Some(vendor), device: Some(device), is_exact: true, ..Self::default() };
        }
        if let Some((name, ids)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('['))
            && let Some((vendor, device)) = pair(ids)
        {
            return Self::of_ids(name, vendor, device);
        }
        // `Device 144d:a80a`: a vendor without a name.
        if let Some((vendor, device)) = text.strip_prefix("Device ").and_then(pair) {
            return Self { vendor: Some(vendor), device: Some(device), is_exact: true, ..Self::default() };
        }
        let (vendor, device) = ids::of_name(text);
        Self { text: text.to_owned(), vendor, device, is_exact: false }
    }

    /// What it states of the device, with the class of its line, if that is stated.
    pub fn identity(&self, class: Option<u32>) -> Identity<'_> {
        let class = class.map(|class| class >> 16);
        let Self { text, vendor, device, is_exact } = self;
        let (vendor, device) = (*vendor, *device);
        Identity { class, is_listed: class.is_some(), name: text, vendor, device, is_exact: *is_exact }
    }
}

/// Two parts of a name that a program broke: without a blank where the list of ids has that name alone.
pub(super) fn joined(before: &str, rest: &str, device: impl Fn(&str) -> Option<u16>) -> String {
    let [apart, fused] = [" ", ""].map(|between| format!("{before}{between}{rest}"));
    if device(&apart).is_none() && device(&fused).is_some() { fused } else { apart }
}

/// Whether a line is the rest of a function's wrapped first line: plain words, no prompt and no line of the body.
pub(super) fn is_rest(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty()
        && !is_prompt(text)
        && !is_snip(text)
        && !text.starts_with(['$', '#', '!', '-', '+', '|', '<'])
        && !text.contains("]#")
        && !text.contains("]$")
        && word(text).is_none()
        && hex(line).is_none()
        && !text.contains('@')
        && (!without_ids(text).contains(':') || is_part_of_function(text))
}

/// Whether a text names a function of a device as the list of ids does: `Device 24: Function 0 [1022:1448]`.
fn is_part_of_function(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(device, function)| {
        let device = device.rsplit_once("Device ").map_or("", |(_, number)| number);
        !device.is_empty()
            && device.bytes().all(|byte| byte.is_ascii_hexdigit())
            && function.starts_with("Function ")
    })
}

/// A text up to the ids in brackets that end a name: `NVMe Controller [1179:010f] (rev 01)`.
fn without_ids(text: &str) -> &str {
    let name = text.split("(rev ").next().unwrap_or(text);
    let name = name.split("(prog-if ").next().unwrap_or(name).trim_end();
    let Some((start, ids)) = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) else {
        return text;
    };
    if pair(ids).is_some() { start } else { text }
}

/// `144d:a80a`.
pub(super) fn pair(text: &str) -> Option<(u16, u16)> {
    let (vendor, device) = text.trim().split_once(':')?;
    Some((four(vendor)?, four(device)?))
}

/// Four hexadecimal digits.
pub(in super::super) fn four(digits: &str) -> Option<u16> {
    let fits = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fits.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// The class (24 bits) that lspci prints as `Non-Volatile memory controller [0108]`, `Class 0108` or `0108`, and its name.
pub(super) fn class(text: &str, interface: Option<u8>) -> (Option<u32>, Option<Label>) {
    const NVM: u16 = 0x0108;
    const NVM_EXPRESS: u8 = 2;
    let text = text.trim();
    let bare = text.strip_prefix("Class ").unwrap_or(text);
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    let (code, name) = match (four(bare), bracketed) {
        (Some(code), _) => (Some(code), None),
        (None, Some((name, code))) if four(code).is_some() => (four(code), Some(name.trim())),
        _ => (ids::class_of_name(text), Some(text)),
    };
    // A list without `-v` has no interface; controllers of this class are NVM Express.
    let interface = interface.unwrap_or(if code == Some(NVM) { NVM_EXPRESS } else { 0 });
    let class = code.map(|code| (u32::from(code) << 8) | u32::from(interface));
    (class, name.map(Label::new).filter(|name| !name.as_str().is_empty()))
}

/// The class of a device in a drawing, which shows names only: from its words.
pub(super) fn class_by_words(name: &str, vendor: Option<u16>) -> Option<u32> {
    const NVIDIA: u16 = 0x10de;
    const ATI: u16 = 0x1002;
    const WORDS: [(&str, u32); 20] = [
        // "Volume Management Device NVMe RAID Controller" is no drive, nor is "M.2 NVMe RAID Controller" of an adapter.
        ("Volume Management Device", 0x01_04_00),
        ("RAID", 0x01_04_00),
        ("NVMe", 0x01_08_02),
        ("Non-Volatile", 0x01_08_02),
        ("SSD", 0x01_08_02),
        ("Optane", 0x01_08_02),
        ("SATA", 0x01_06_01),
        ("AHCI", 0x01_06_01),
        ("Ethernet", 0x02_00_00),
        ("Wi-Fi", 0x02_80_00),
        ("Wireless", 0x02_80_00),
        ("Audio", 0x04_03_00),
        ("USB", 0x0c_03_30),
        ("SMBus", 0x0c_05_00),
        ("IOMMU", 0x08_06_00),
        ("LPC", 0x06_01_00),
        ("ISA Bridge", 0x06_01_00),
        ("Root Complex", 0x06_00_00),
        ("Host Bridge", 0x06_00_00),
        ("Data Fabric", 0x06_00_00),
    ];
    let found = WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, class)| *class);
    let graphics = || vendor.filter(|vendor| [NVIDIA, ATI].contains(vendor)).map(|_| 0x03_00_00);
    found.or_else(graphics)
}

/// What the id lists name of these ids, for words that tell a device's class.
pub(super) fn listed(name: &Name) -> Option<Label> {
    let (vendor, device) = (name.vendor?, name.device?);
    ids::built_in_name(vendor, device)
}

/// Sets name and ids of a function where they are not known yet: never the device of one vendor with another vendor.
pub(in super::super) fn learn(function: &mut Function, name: &Name, line: usize) {
    let label = Label::new(&name.text);
    if !label.as_str().is_empty() && function.name.is_none() {
        function.name = Some(Known::new(label, line));
    }
    let Some(vendor) = name.vendor else { return };
    // A drawing's ids are found by its names.
    if name.is_exact && !function.has_exact_ids {
        (function.vendor, function.device) = (None, None);
    }
    if function.vendor.is_none() {
        function.vendor = Some(Known::new(vendor, line));
        function.has_exact_ids = name.is_exact;
    }
    if let Some(device) = name.device
        && function.device.is_none()
        && function.vendor.is_some_and(|known| known.value == vendor)
    {
        function.device = Some(Known::new(device, line));
        function.has_exact_ids = name.is_exact;
    }
}

/// What a function's first line states.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct First<'a> {
    pub class: Cow<'a, str>,
    pub name: Name,
    /// Whether ids stand behind the name.
    pub has_ids: bool,
    pub subsystem: Option<(u16, u16)>,
    pub interface: Option<u8>,
    pub driver: Option<Label>,
}

/// A driver's name, which becomes a folder's.
pub(super) fn driver(name: &str) -> Label {
    Label::new(&name.replace('/', " "))
}

/// With or without a domain.
pub(super) fn address(place: &str) -> Option<PciAddress> {
    // Every word that begins a line is tried: most are no address by their form, and the error of each would cost its text.
    let has_form = |place: &str| {
        place.len() <= "00000000:00:00.0".len()
            && place.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
    };
    match has_form(place).then(|| place.matches(':').count())? {
        1 => format!("0000:{place}").parse().ok(),
        2 => place.parse().ok(),
        _ => None,
    }
}

/// Sets a number that is not known yet.
pub(super) fn learn_number(slot: &mut Option<Known<u32>>, value: &str, line: usize) {
    if let Ok(value) = value.trim().parse() {
        super::super::facts::learn(slot, value, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_their_ids() {
        for (text, vendor, device) in [
            ("Samsung Electronics Co Ltd Device a80a", Some(0x144d), Some(0xa80a)),
            ("Samsung Electronics Co Ltd NVMe SSD [144d:a80a]", Some(0x144d), Some(0xa80a)),
            ("8086:29c0", Some(0x8086), Some(0x29c0)),
            ("Device 1e4b:1602", Some(0x1e4b), Some(0x1602)),
            ("Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex", Some(0x1022), Some(0x1480)),
            ("Intel Corporation of no such name", Some(0x8086), None),
            ("nonsense", None, None),
        ] {
            let name = Name::parse(text);
            assert_eq!((name.vendor, name.device), (vendor, device), "{text}");
        }
    }

    #[test]
    fn a_broken_name_is_that_of_the_list_of_ids() {
        let device = |text: &str| Name::parse(text).device;
        for (before, rest, whole) in [
            (
                "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Com",
                "plex",
                "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex",
            ),
            (
                "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root",
                "Complex",
                "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex",
            ),
            ("No such", "name", "No such name"),
        ] {
            assert_eq!(joined(before, rest, device), whole);
        }
    }

    #[test]
    fn classes_are_found_by_name_and_by_number() {
        for (text, interface, code) in [
            ("Non-Volatile memory controller", None, Some(0x01_08_02)),
            ("Non-Volatile memory controller [0108]", Some(2), Some(0x01_08_02)),
            ("3D controller", None, Some(0x03_02_00)),
            ("PCI bridge [0604]", Some(0), Some(0x06_04_00)),
            ("Class 0600", None, Some(0x06_00_00)),
            ("0106", Some(1), Some(0x01_06_01)),
            ("No such thing", None, None),
        ] {
            assert_eq!(class(text, interface).0, code, "{text}");
        }
    }
}

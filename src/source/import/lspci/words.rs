//! Registers of the PCI Express capability in lspci's words.

use super::{
    super::facts::{ExpressWords, LinkWords, learn},
    register::Register,
};
use crate::units::TransferRate;

/// The number of a slot in `SltCap`: `Slot #1, PowerLimit 75W`; boards that number none have 0.
pub(super) fn slot(text: &str) -> Option<u32> {
    number(text.split_once("Slot #")?.1).filter(|slot| *slot > 0)
}

/// Registers of a text that does not show the capability itself.
pub(super) fn without_capability(line: usize) -> ExpressWords {
    ExpressWords { line, version: 2, ..ExpressWords::default() }
}

/// Device/port type by its words.
pub(super) fn port_type(text: &str) -> Option<u8> {
    const TYPES: [(&str, u8); 10] = [
        ("PCI-Express to PCI", 7),
        ("PCI/PCI-X to PCI-Express", 8),
        ("PCI to PCI-Express", 8),
        ("Root Complex Integrated Endpoint", 9),
        ("Root Complex Event Collector", 10),
        ("Root Port", 4),
        ("Upstream Port", 5),
        ("Downstream Port", 6),
        ("Legacy Endpoint", 1),
        ("Endpoint", 0),
    ];
    TYPES.iter().find(|(words, _)| text.contains(words)).map(|(_, code)| *code)
}

/// `[70] Express (v2) Root Port (Slot+), MSI 00`: the capability, without its registers.
pub(super) fn capability(text: &str, line: usize) -> Option<ExpressWords> {
    let (at, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let at = u8::from_str_radix(at.trim(), 16).ok()?;
    let rest = rest.strip_prefix("Express ")?;
    let version = rest.strip_prefix("(v").and_then(|rest| rest.split_once(')'));
    Some(ExpressWords {
        line,
        at,
        version: version
            .and_then(|(version, _)| version.parse().ok())
            .filter(|version| *version < 16)
            .unwrap_or(2),
        port_type: port_type(rest),
        slot: Some(rest.contains("(Slot+)")),
        ..ExpressWords::default()
    })
}

/// Takes a register's words into the capability. Whether the link is marked "(downgraded)", by speed and by width.
pub(super) fn register(express: &mut ExpressWords, register: &Register) -> (bool, bool) {
    let (text, at) = (register.words.as_str(), |word: &str| register.line_of(word));
    match register.name {
        "DevCap" => {
            if let Some(payload) = size(text, "MaxPayload ") {
                learn(&mut express.payload_supported, payload, at("MaxPayload"));
            }
            if text.contains("ExtTag") {
                learn(&mut express.tags_supported, text.contains("ExtTag+"), at("ExtTag"));
            }
        }
        "DevCtl" => {
            if let Some(sizes) = size(text, "MaxPayload ").zip(size(text, "MaxReadReq ")) {
                learn(&mut express.sizes, sizes, at("MaxPayload"));
            }
            if text.contains("RlxdOrd") {
                learn(
                    &mut express.control,
                    (text.contains("RlxdOrd+"), text.contains("ExtTag+")),
                    at("RlxdOrd"),
                );
            }
        }
        "DevSta" if text.contains("CorrErr") => {
            learn(&mut express.correctable_error, text.contains("CorrErr+"), at("CorrErr"));
        }
        "CESta" => {
            const OF_LINK: [&str; 5] = ["RxErr+", "BadTLP+", "BadDLLP+", "Rollover+", "Timeout+"];
            let is_link = OF_LINK.iter().any(|error| text.contains(error));
            learn(&mut express.link_error, is_link, register.line());
        }
        "LnkCap" if text.contains("Width") => learn(&mut express.link_capabilities, link(text), at("Speed")),
        "LnkCtl" => {
            let aspm = text.split(';').next().unwrap_or_default();
            let is_on = aspm.contains("Enabled");
            let bits =
                u8::from(is_on && aspm.contains("L0s")) | (u8::from(is_on && aspm.contains("L1")) << 1);
            if aspm.contains("ASPM") {
                learn(&mut express.aspm, bits, at("ASPM"));
            }
        }
        "LnkSta" if text.contains("Width") => {
            let is_new = express.link_status.is_none();
            learn(&mut express.link_status, link(text), at("Speed"));
            let (speed, width) = text.split_once("Width").unwrap_or((text, ""));
            let width = width.split(',').next().unwrap_or_default();
            return (is_new && speed.contains("(downgraded)"), is_new && width.contains("(downgraded)"));
        }
        "LnkCtl2" => {
            if let Some(speed) = text.split_once("Target Link Speed: ").and_then(|(_, rest)| rate(rest)) {
                learn(&mut express.target_speed, speed, at("Target Link Speed"));
            }
        }
        // Windows' programs: `8GT/s x4 (max 16GT/s x16)`.
        "LnkSta" => {
            let (now, most) = text.split_once("(max ").unwrap_or((text, ""));
            for (slot, words) in [(&mut express.link_status, now), (&mut express.link_capabilities, most)] {
                if let Some(link) = link_state(words) {
                    learn(slot, link, at("GT/s"));
                }
            }
        }
        _ => {}
    }
    (false, false)
}

/// `Speed 16GT/s (ok), Width x4`.
fn link(text: &str) -> LinkWords {
    let speed = text.split_once("Speed ").and_then(|(_, rest)| rate(rest));
    let width = text.split_once("Width x").and_then(|(_, rest)| number(rest.trim_start()));
    LinkWords { speed, width: width.and_then(|width| u8::try_from(width).ok()) }
}

/// `16GT/s x4`.
pub(super) fn link_state(text: &str) -> Option<LinkWords> {
    let (speed, width) = text.split_once(" x")?;
    let width = number(width).and_then(|width| u8::try_from(width).ok());
    Some(LinkWords { speed: Some(rate(speed)?), width })
}

/// `8GT/s`, `2.5 GT/s`; pciutils before 3.0 wrote `2.5Gb/s`.
fn rate(text: &str) -> Option<TransferRate> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = text[end..].trim_start();
    let is_rate = unit.starts_with("GT/s") || unit.starts_with("Gb/s");
    is_rate.then(|| TransferRate::parse(&format!("{} GT/s", &text[..end]))).flatten()
}

/// The bytes behind a word: a power of two from 128 to 4096.
fn size(text: &str, word: &str) -> Option<u16> {
    let value = number(text.split_once(word)?.1)?;
    u16::try_from(value).ok().filter(|size| (128..=4096).contains(size) && size.is_power_of_two())
}

fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, text: &str) -> (ExpressWords, (bool, bool)) {
        let mut express = ExpressWords::default();
        let marks = register(&mut express, &Register::new(name, text, 1));
        (express, marks)
    }

    #[test]
    fn links_are_read_in_the_words_of_all_versions() {
        for (text, mega, width, marks) in [
            ("Speed 8GT/s, Width x4, TrErr- Train- SlotClk+", 8_000, 4, (false, false)),
            ("Speed 16GT/s (ok), Width x4 (ok)", 16_000, 4, (false, false)),
            ("Speed 8GT/s (downgraded), Width x4 (ok)", 8_000, 4, (true, false)),
            ("Speed 16GT/s, Width x8 (downgraded)", 16_000, 8, (false, true)),
            ("Speed 2.5GT/s (downgraded), Width x1 (downgraded)", 2_500, 1, (true, true)),
            ("Speed 2.5Gb/s, Width x16", 2_500, 16, (false, false)),
        ] {
            let (express, found) = read("LnkSta", text);
            let link = express.link_status.unwrap().value;
            assert_eq!((link.speed, link.width), (TransferRate::from_mega(mega), Some(width)), "{text}");
            assert_eq!(found, marks, "{text}");
        }
        let unknown = read("LnkSta", "Speed unknown, Width x0").0.link_status.unwrap().value;
        assert_eq!(unknown, LinkWords { speed: None, width: Some(0) });
    }

    #[test]
    fn sizes_and_power_management_are_read() {
        let control =
            read("DevCtl", "Report errors: + RlxdOrd+ ExtTag+ MaxPayload 256 bytes, MaxReadReq 512 bytes").0;
        assert_eq!(control.sizes.unwrap().value, (256, 512));
        assert_eq!(control.control.unwrap().value, (true, true));
        assert_eq!(read("DevCtl", "MaxPayload 300 bytes, MaxReadReq 512 bytes").0.sizes, None);
        for (text, bits) in
            [("ASPM Disabled; RCB 64 bytes", 0), ("ASPM L1 Enabled; RCB", 2), ("ASPM L0s L1 Enabled;", 3)]
        {
            assert_eq!(read("LnkCtl", text).0.aspm.unwrap().value, bits, "{text}");
        }
        let target = read("LnkCtl2", "Target Link Speed: 32GT/s, EnterCompliance-").0.target_speed;
        assert_eq!(target.unwrap().value, TransferRate::from_mega(32_000).unwrap());
    }

    #[test]
    fn ports_are_told_by_their_type() {
        for (text, code, slot) in [
            ("[58] Express (v2) Root Port (Slot+), MSI 00", Some(4), true),
            ("[70] Express Endpoint, MSI 00", Some(0), false),
            ("[40] Express (v2) Downstream Port (Slot-), IntMsgNum 0", Some(6), false),
            ("[a0] Express (v1) PCI-Express to PCI/PCI-X Bridge, MSI 00", Some(7), false),
            ("[48] Express (v2) Root Complex Integrated Endpoint, MSI 00", Some(9), false),
        ] {
            let express = capability(text, 1).unwrap();
            assert_eq!((express.port_type, express.slot), (code, Some(slot)), "{text}");
        }
        assert_eq!(capability("[50] Power Management version 3", 1), None);
    }
}

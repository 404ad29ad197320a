//! Lines of a function's body: the words that they begin with, and rows of its hex dump.

/// Words at the beginning of body lines, without the colon.
const WORDS: [&str; 81] = [
    "Type",
    "Driver in use",
    "Driver",
    "Subsystem",
    "Physical Slot",
    "NUMA node",
    "IOMMU group",
    "Kernel driver in use",
    "Kernel modules",
    "DeviceName",
    "Device-Name",
    "Bus",
    "Capabilities",
    "DevCap",
    "DevCtl",
    "DevSta",
    "LnkCap",
    "LnkCtl",
    "LnkSta",
    "LnkCtl2",
    "LnkCap2",
    "LnkSta2",
    "LnkCtl3",
    "DevCap2",
    "DevCtl2",
    "SltCap",
    "SltCtl",
    "SltSta",
    "RootCap",
    "RootCtl",
    "RootSta",
    "RootCmd",
    "Flags",
    "Control",
    "Status",
    "Latency",
    "Interrupt",
    "Region 0",
    "Region 1",
    "Region 2",
    "Region 3",
    "Region 4",
    "Region 5",
    "Memory at",
    "I/O ports at",
    "I/O behind bridge",
    "Memory behind bridge",
    "Prefetchable memory behind bridge",
    "Secondary status",
    "BridgeCtl",
    "PriDiscTmr-",
    "Expansion ROM at",
    "Address",
    "Masking",
    "Vector table",
    "PBA",
    "Device Specific Information",
    "UESta",
    "UEMsk",
    "UESvrt",
    "CESta",
    "CEMsk",
    "AERCap",
    "HeaderLog",
    "ErrorSrc",
    "ARICap",
    "ARICtl",
    "ACSCap",
    "ACSCtl",
    "AtomicOpsCap",
    "AtomicOpsCtl",
    "IDOReq-",
    "10BitTagReq-",
    "LaneErrStat",
    "L1SubCap",
    "L1SubCtl1",
    "L1SubCtl2",
    "Transmit Margin",
    "Compliance De-emphasis",
    "Compliance Preset/De-emphasis",
    "EqualizationPhase2-",
];

/// The known word that a body line begins with, and what follows its colon.
pub(super) fn word(line: &str) -> Option<(&'static str, &str)> {
    WORDS.iter().find_map(|word| {
        let rest = line.strip_prefix(word)?;
        let value = rest.strip_prefix(':').or_else(|| rest.strip_prefix([' ', '\t']))?;
        Some((*word, value.trim()))
    })
}

/// `00: 86 80 e0 29`: offset and bytes.
pub(super) fn hex(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, row) = line.trim().split_once(": ")?;
    let is_offset = (2..=3).contains(&offset.len()) && offset.bytes().all(|digit| digit.is_ascii_hexdigit());
    let offset = usize::from_str_radix(offset, 16).ok().filter(|offset| is_offset && offset % 16 == 0)?;
    let byte = |digits: &str| u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2);
    let bytes: Vec<u8> = row.split_ascii_whitespace().map(byte).collect::<Option<_>>()?;
    (1..=16).contains(&bytes.len()).then_some((offset, bytes))
}

/// Whether a line has bits of a register and its values alone: `EccDis+ ForceEccEn- DDRMaxSize=Unlimited`.
pub(super) fn is_bits(line: &str) -> bool {
    let (mut words, mut bits, mut values) = (0, 0, 0);
    for word in line.split_whitespace() {
        let bare = word.trim_end_matches(',');
        let is_name = bare.starts_with(|c: char| c.is_ascii_alphanumeric());
        words += 1;
        bits += usize::from(is_name && bare.ends_with(['+', '-']));
        values += usize::from(is_name && bare.contains('='));
    }
    bits > 0 && bits + values > 1 && (bits + values) * 2 > words
}

/// Registers as pciutils before 3.0 named them.
pub(super) fn old_register(text: &str) -> Option<(&'static str, &str)> {
    const OLD: [(&str, &str); 4] = [
        ("Link: Supported ", "LnkCap"),
        ("Link: ", "LnkSta"),
        ("Device: Supported: ", "DevCap"),
        ("Device: ", "DevCtl"),
    ];
    let (prefix, name) = OLD.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let value = &text[prefix.len()..];
    let has_value = value.contains("Width x") || value.contains("MaxPayload");
    has_value.then_some((*name, value))
}

/// Whether a line belongs to the body of a function.
pub(super) fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim_start().starts_with(['$', '#', '|', '+', '\\', '-'])
        || word(line.trim_start()).is_some()
        || hex(line).is_some()
        || is_bits(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_registers_are_no_prose() {
        for line in [
            "CapA: Peg60Dis- Peg12Dis+ Peg11Dis+ DmiWidth=x4",
            "1NDis- CDDis- X2APICEn+ CDID=0 CRID=5",
            "DDR3MaxFreq=2666MHz LPDDR3En+",
        ] {
            assert!(is_bits(line), "{line}");
        }
        for line in [
            "",
            "---- ---- ----",
            "+-01.0  C++ and A-",
            "NAME=\"sda\" SIZE=\"1T\"",
            "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro",
            "it runs on x86+ and",
        ] {
            assert!(!is_bits(line), "{line}");
        }
    }
}

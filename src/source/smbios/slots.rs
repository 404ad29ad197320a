//! System slots (type 9): the board's names of its slots, and the PCI addresses that belong to each.

use super::{SYSTEM_SLOT, Structure, decoded};
use crate::{machine::BoardSlot, model::PciAddress, source::root::RootError, text::Label, units::Lanes};

/// The slots among these structures.
pub fn slots_of(tables: &[u8]) -> Vec<BoardSlot> {
    decoded(tables, SYSTEM_SLOT, slot)
}

/// `None` for a slot without a name, which says nothing.
pub(super) fn slot(structure: &Structure<'_>) -> Option<BoardSlot> {
    let name = structure.string(0x04);
    // Offset 0x12 has the number of peer groups, five bytes each: segment group, bus, device and function, width.
    let peers = structure.byte(0x12).map_or(0, usize::from);
    let places = [0x0d].into_iter().chain((0..peers).map(|peer| 0x13 + 5 * peer));
    let mut addresses: Vec<PciAddress> = places.filter_map(|at| address(structure, at)).collect();
    addresses.dedup();
    let slot = BoardSlot {
        lanes: lanes(structure.byte(0x06)),
        is_used: match structure.byte(0x07) {
            Some(3) => Some(false),
            Some(4) => Some(true),
            _ => None,
        },
        addresses,
        name,
    };
    (!slot.name.is_empty()).then_some(slot)
}

/// `None` where the firmware has no address: all bits set.
fn address(structure: &Structure<'_>, at: usize) -> Option<PciAddress> {
    let (segment, bus, place) = (structure.word(at)?, structure.byte(at + 2)?, structure.byte(at + 3)?);
    let is_none = bus == 0xff && (place == 0xff || segment == 0xffff);
    (!is_none).then(|| PciAddress {
        domain: segment.into(),
        bus,
        device: place >> 3,
        function: place & 0b111,
    })
}

/// Slot Data Bus Width (7.10.2), of PCI Express.
fn lanes(code: Option<u8>) -> Option<Lanes> {
    let lanes = match code? {
        0x08 => 1,
        0x09 => 2,
        0x0a => 4,
        0x0b => 8,
        0x0c => 12,
        0x0d => 16,
        0x0e => 32,
        _ => return None,
    };
    Some(Lanes(lanes))
}

/// Name, lanes, `used` or `free`, addresses, separated by tabs; `-` for unknown.
pub(super) fn to_line(slot: &BoardSlot) -> String {
    let lanes = slot.lanes.map_or("-".to_owned(), |lanes| lanes.0.to_string());
    let used = match slot.is_used {
        Some(true) => "used",
        Some(false) => "free",
        None => "-",
    };
    let addresses: Vec<String> = slot.addresses.iter().map(ToString::to_string).collect();
    let addresses = if addresses.is_empty() { "-".to_owned() } else { addresses.join(" ") };
    format!("{}\t{lanes}\t{used}\t{addresses}\n", slot.name)
}

pub(super) fn from_text(text: &str) -> Result<Vec<BoardSlot>, RootError> {
    text.lines().map(|line| from_line(line).ok_or(RootError::Errno(libc::EILSEQ))).collect()
}

fn from_line(line: &str) -> Option<BoardSlot> {
    let [name, lanes, used, addresses] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    Some(BoardSlot {
        name: Label::new(name),
        lanes: if lanes == "-" { None } else { Some(Lanes(lanes.parse().ok()?)) },
        is_used: match used {
            "used" => Some(true),
            "free" => Some(false),
            "-" => None,
            _ => return None,
        },
        addresses: match addresses {
            "-" => Vec::new(),
            list => list.split(' ').map(|address| address.parse().ok()).collect::<Option<_>>()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slots of an ASUS TRX40 board, written after the specification's figure; peers make the last one.
    const TABLE: &[u8] = include_bytes!("../../../tests/fixtures/smbios-slots.bin");

    fn names(slots: &[BoardSlot]) -> Vec<&str> {
        slots.iter().map(|slot| slot.name.as_str()).collect()
    }

    #[test]
    fn a_table_gives_names_lanes_use_and_addresses() {
        let slots = slots_of(TABLE);
        assert_eq!(names(&slots), ["PCIEX16_1", "PCIEX16_2", "M.2_1", "M.2_2", "HYPER_M.2"]);
        assert_eq!(slots[0].lanes, Some(Lanes(16)));
        assert_eq!((slots[0].is_used, slots[1].is_used), (Some(true), Some(false)));
        assert_eq!(slots[0].addresses, ["0000:06:00.0".parse().unwrap()]);
        assert_eq!(slots[1].addresses, [], "all bits set is no address");
        assert_eq!(slots[2].lanes, Some(Lanes(4)));
        let peers: Vec<String> = slots[4].addresses.iter().map(ToString::to_string).collect();
        assert_eq!(peers, ["0000:41:00.0", "0000:42:00.0", "0000:43:00.0", "0000:44:00.0"]);
        let text: String = slots.iter().map(to_line).collect();
        assert_eq!(from_text(&text).unwrap(), slots, "{text}");
        for wrong in ["a\n", "a\t-\tperhaps\t-\n", "a\tx4\tused\t-\n", "a\t4\tused\tnowhere\n"] {
            assert!(from_text(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_slot_of_version_2_0_has_no_address() {
        // 12 bytes; the address came with version 2.6.
        let mut bytes = vec![SYSTEM_SLOT, 0x0c, 0, 0, 1, 0xa5, 0x0d, 4, 4, 1, 0, 0];
        bytes.extend(b"J6B2\0\0");
        let slots = slots_of(&bytes);
        assert_eq!(names(&slots), ["J6B2"]);
        assert!(slots[0].addresses.is_empty());
        bytes[4] = 0;
        assert!(slots_of(&bytes).is_empty(), "no name, no slot");
    }

    proptest! {
        #[test]
        fn no_tables_whatever_break_the_parser(tables in prop::collection::vec(any::<u8>(), 0..400)) {
            for slot in slots_of(&tables) {
                prop_assert!(!slot.name.is_empty());
                prop_assert!(slot.addresses.len() <= 256, "one and its peers");
                prop_assert_eq!(from_text(&to_line(&slot)).unwrap(), vec![slot]);
            }
        }

        #[test]
        fn a_table_cut_anywhere_is_no_panic(cut in 0..TABLE.len()) {
            prop_assert!(slots_of(&TABLE[..cut]).len() <= 5);
        }
    }
}

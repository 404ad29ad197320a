//! Parses Identify and SMART records. Pure functions over untrusted bytes.

use crate::{
    machine::{
        LbaFormat, Smart,
        drive::{Controller, Namespace},
    },
    units::Bytes,
};

/// Length of an Identify data structure (NVM Express Base Specification, Identify command).
pub(crate) const IDENTIFY_BYTES: usize = 4096;

/// Length of the SMART / Health Information log page.
pub(crate) const SMART_BYTES: usize = 512;

/// Smallest memory page a controller may have (CAP.MPSMIN 0), the unit of MDTS.
const PAGE_BYTES: u64 = 4096;

/// A Data Unit of the SMART log: a thousand blocks of 512 B.
const DATA_UNIT_BYTES: u128 = 512_000;

/// Little-endian numbers at an offset.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn sized<'a>(bytes: &'a [u8], length: usize, what: &str) -> Result<Record<'a>, String> {
        match bytes.len() {
            found if found < length => Err(format!("{found} bytes; {what} has {length}")),
            _ if bytes.iter().all(|byte| *byte == 0) => Err(format!("{what} is all zeros")),
            _ => Ok(Record(bytes)),
        }
    }

    /// `length` bytes at `at`, at most 16, as a number; bytes beyond the end count as zero.
    fn number(&self, at: usize, length: usize) -> u128 {
        let field = self.0.get(at..at + length).unwrap_or_default();
        field.iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte))
    }

    fn u8(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or_default()
    }

    fn u16(&self, at: usize) -> u16 {
        u16::try_from(self.number(at, 2)).unwrap_or_default()
    }

    fn u32(&self, at: usize) -> u32 {
        u32::try_from(self.number(at, 4)).unwrap_or_default()
    }

    fn u128(&self, at: usize) -> u128 {
        self.number(at, 16)
    }
}

/// Identify Namespace (NVM Command Set Specification, Identify Namespace data structure).
pub fn namespace(bytes: &[u8]) -> Result<Namespace, String> {
    const MOST_FORMATS: u16 = 64;
    const MOST_LOW_FORMATS: u16 = 16;
    let record = Record::sized(bytes, IDENTIFY_BYTES, "Identify Namespace")?;
    // NLBAF is zero-based; NULBAF further formats follow.
    let formats = u16::from(record.u8(25)) + 1 + u16::from(record.u8(82));
    if formats > MOST_FORMATS {
        return Err(format!("{formats} LBA formats; there are at most {MOST_FORMATS}"));
    }
    let flbas = record.u8(26);
    let high_bits = if formats > MOST_LOW_FORMATS { (flbas >> 5) & 0b11 } else { 0 };
    let in_use = (flbas & 0b1111) | (high_bits << 4);
    if u16::from(in_use) >= formats {
        return Err(format!("LBA format {in_use} in use, of {formats}"));
    }
    let format = |index: u16| {
        let at = 128 + 4 * usize::from(index);
        let size_shift = u32::from(record.u8(at + 2));
        LbaFormat {
            index: u8::try_from(index).unwrap_or(u8::MAX),
            data_bytes: (9..64).contains(&size_shift).then(|| 1 << size_shift),
            metadata_bytes: record.u16(at),
            relative_performance: record.u8(at + 3) & 0b11,
        }
    };
    Ok(Namespace { formats: (0..formats).map(format).collect(), in_use: Some(in_use) })
}

/// Identify Controller (NVM Express Base Specification, Identify Controller data structure).
pub fn controller(bytes: &[u8]) -> Result<Controller, String> {
    let record = Record::sized(bytes, IDENTIFY_BYTES, "Identify Controller")?;
    let largest_transfer = match record.u8(77) {
        0 => None,
        shift => Some(
            PAGE_BYTES
                .checked_mul(1_u64.checked_shl(u32::from(shift)).unwrap_or_default())
                .filter(|bytes| *bytes != 0)
                .map(Bytes)
                .ok_or_else(|| format!("MDTS of 2^{shift} pages"))?,
        ),
    };
    Ok(Controller {
        largest_transfer,
        format_supported: record.u16(256) & 0b10 != 0,
        format_all: record.u8(524) & 0b1 != 0,
    })
}

/// SMART / Health Information log page (NVM Express Base Specification, log page 02h).
pub fn smart(bytes: &[u8]) -> Result<Smart, String> {
    let record = Record::sized(bytes, SMART_BYTES, "the SMART log")?;
    let data_units = |at: usize| record.u128(at).saturating_mul(DATA_UNIT_BYTES);
    Ok(Smart {
        critical_warning: record.u8(0),
        // Kelvins.
        celsius: i32::from(record.u16(1)) - 273,
        spare_percent: record.u8(3),
        spare_threshold_percent: record.u8(4),
        used_percent: record.u8(5),
        read: data_units(32),
        written: data_units(48),
        power_on_hours: record.u128(128),
        unsafe_shutdowns: record.u128(144),
        media_errors: record.u128(160),
        error_log_entries: record.u128(176),
        warning_minutes: record.u32(192),
        critical_minutes: record.u32(196),
        thermal_transitions: (record.u32(216), record.u32(220)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(length: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (at, field) in fields {
            bytes[*at..*at + field.len()].copy_from_slice(field);
        }
        bytes
    }

    #[test]
    fn a_namespace_offers_its_formats_as_nvme_cli_lists_them() {
        // 0: 512 B, good; 1: 512 B with 8 B of metadata; 2: 4096 B, best; in use 0.
        let bytes = record(
            IDENTIFY_BYTES,
            &[
                (25, &[2]),
                (26, &[0x10]),
                (128, &[0, 0, 9, 2]),
                (132, &[8, 0, 9, 0xfe]),
                (136, &[0, 0, 12, 0]),
                (140, &[0, 0, 13, 0]),
            ],
        );
        let namespace = namespace(&bytes).unwrap();
        assert_eq!(namespace.in_use, Some(0), "bit 4 says how metadata travels");
        let formats: Vec<_> = namespace
            .formats
            .iter()
            .map(|format| {
                (format.index, format.data_bytes, format.metadata_bytes, format.relative_performance)
            })
            .collect();
        assert_eq!(formats, [(0, Some(512), 0, 2), (1, Some(512), 8, 2), (2, Some(4096), 0, 0)]);
    }

    #[test]
    fn more_than_sixteen_formats_use_the_high_bits_of_the_index() {
        let bytes = record(IDENTIFY_BYTES, &[(25, &[17]), (26, &[0x21]), (128 + 4 * 17, &[0, 0, 12, 0])]);
        let found = namespace(&bytes).unwrap();
        assert_eq!((found.in_use, found.formats.len()), (Some(17), 18));
        assert_eq!(found.formats[17].data_bytes, Some(4096));
        assert_eq!(found.formats[0].data_bytes, None, "LBADS 0: not available");
        let few = record(IDENTIFY_BYTES, &[(25, &[1]), (26, &[0x21])]);
        assert_eq!(namespace(&few).unwrap().in_use, Some(1), "the high bits are reserved here");
        assert!(namespace(&record(IDENTIFY_BYTES, &[(25, &[1]), (26, &[7])])).is_err());
    }

    #[test]
    fn a_controller_has_a_largest_transfer_and_format_support() {
        let bytes = record(IDENTIFY_BYTES, &[(77, &[7]), (256, &[0x17, 0]), (524, &[1])]);
        let found = controller(&bytes).unwrap();
        assert_eq!(found.largest_transfer, Some(Bytes(512 << 10)));
        assert!(found.format_supported && found.format_all);
        let none = controller(&record(IDENTIFY_BYTES, &[(0, &[1])])).unwrap();
        assert_eq!(none.largest_transfer, None);
        assert!(controller(&record(IDENTIFY_BYTES, &[(77, &[255])])).is_err());
        assert!(controller(&record(IDENTIFY_BYTES, &[(77, &[55])])).is_err());
    }

    #[test]
    fn a_smart_log_counts_in_its_own_units() {
        let bytes = record(
            SMART_BYTES,
            &[
                (0, &[4]),
                (1, &310_u16.to_le_bytes()),
                (3, &[100, 10, 101]),
                (32, &3_u128.to_le_bytes()),
                (48, &u128::MAX.to_le_bytes()),
                (128, &9000_u128.to_le_bytes()),
                (144, &12_u128.to_le_bytes()),
                (160, &1_u128.to_le_bytes()),
                (192, &5_u32.to_le_bytes()),
                (196, &6_u32.to_le_bytes()),
                (216, &7_u32.to_le_bytes()),
                (220, &8_u32.to_le_bytes()),
            ],
        );
        let found = smart(&bytes).unwrap();
        assert_eq!((found.critical_warning, found.celsius, found.used_percent), (4, 37, 101));
        assert_eq!((found.read, found.written), (1_536_000, u128::MAX));
        assert_eq!((found.power_on_hours, found.unsafe_shutdowns, found.media_errors), (9000, 12, 1));
        assert_eq!((found.warning_minutes, found.critical_minutes), (5, 6));
        assert_eq!(found.thermal_transitions, (7, 8));
    }

    #[test]
    fn short_and_empty_records_say_so() {
        assert_eq!(namespace(&[0; 100]).unwrap_err(), "100 bytes; Identify Namespace has 4096");
        assert_eq!(smart(&[0; SMART_BYTES]).unwrap_err(), "the SMART log is all zeros");
    }

    proptest! {
        #[test]
        fn no_record_upsets_the_readers(seed in proptest::collection::vec(any::<u8>(), 1..64), length in 0_usize..5000) {
            let bytes: Vec<u8> = seed.iter().copied().cycle().take(length).collect();
            prop_assert!(length >= 4096 || (namespace(&bytes).is_err() && controller(&bytes).is_err()));
            prop_assert!(length >= SMART_BYTES || smart(&bytes).is_err());
        }
    }
}

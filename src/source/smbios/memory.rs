//! Memory devices (type 17).

use super::{MEMORY_DEVICE, Structure, decoded};
use crate::{machine::MemoryModule, source::root::RootError, text::Label, units::Bytes};

/// The memory devices among these structures.
pub fn modules_of(tables: &[u8]) -> Vec<MemoryModule> {
    decoded(tables, MEMORY_DEVICE, module)
}

#[expect(clippy::unnecessary_wraps, reason = "a decoder of structures, some of which are nothing")]
pub(super) fn module(structure: &Structure<'_>) -> Option<MemoryModule> {
    // 0xffff refers to the wider field of version 3.3; 0 is unknown.
    let speed = |at: usize, wide: usize| match structure.word(at)? {
        0 => None,
        0xffff => structure.long(wide).filter(|speed| *speed != 0),
        speed => Some(speed.into()),
    };
    Some(MemoryModule {
        locator: structure.string(0x10),
        bank: structure.string(0x11),
        size: match structure.word(0x0c) {
            None | Some(0 | 0xffff) => None,
            Some(0x7fff) => structure.long(0x1c).map(|mib| Bytes(u64::from(mib & 0x7fff_ffff) << 20)),
            Some(kib) if kib & 0x8000 != 0 => Some(Bytes(u64::from(kib & 0x7fff) << 10)),
            Some(mib) => Some(Bytes(u64::from(mib) << 20)),
        },
        rated_mts: speed(0x15, 0x54),
        configured_mts: speed(0x20, 0x58),
    })
}

/// Six columns separated by tabs, `-` for unknown. The fourth, in earlier versions the data width, is unused.
pub(super) fn to_line(module: &MemoryModule) -> String {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    format!(
        "{}\t{}\t{}\t-\t{}\t{}\n",
        module.locator,
        module.bank,
        number(module.size.map(|size| size.0)),
        number(module.rated_mts.map(u64::from)),
        number(module.configured_mts.map(u64::from)),
    )
}

pub(super) fn from_text(text: &str) -> Result<Vec<MemoryModule>, RootError> {
    fn number<T: std::str::FromStr>(column: &str) -> Result<Option<T>, RootError> {
        let wrong = |_| RootError::Errno(libc::EILSEQ);
        if column == "-" { Ok(None) } else { column.parse().map(Some).map_err(wrong) }
    }
    let module = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
        [locator, bank, size, _, rated, configured] => Ok(MemoryModule {
            locator: Label::new(locator),
            bank: Label::new(bank),
            size: number(size)?.map(Bytes),
            rated_mts: number(rated)?,
            configured_mts: number(configured)?,
        }),
        _ => Err(RootError::Errno(libc::EILSEQ)),
    };
    text.lines().map(module).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{END_OF_TABLE, MEMORY_DEVICE},
        *,
    };

    fn memory_device(size: u16, speed: u16, configured: u16) -> Vec<u8> {
        let mut bytes = vec![0; 0x5c];
        (bytes[0], bytes[1]) = (MEMORY_DEVICE, 0x5c);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0x0c, &size.to_le_bytes());
        put(0x10, &[1, 2]);
        put(0x15, &speed.to_le_bytes());
        put(0x1c, &65_536_u32.to_le_bytes());
        put(0x20, &configured.to_le_bytes());
        put(0x54, &72_000_u32.to_le_bytes());
        bytes.extend(b"DIMM_A1\0BANK 0\0\0");
        bytes
    }

    #[test]
    fn a_module_below_its_rating_tells_both_speeds() {
        let mut tables = vec![0, 4, 0, 0, 0, 0];
        tables.extend(memory_device(16_384, 3200, 2133));
        tables.extend(memory_device(0, 0, 0));
        tables.extend(memory_device(0x7fff, 0xffff, 5600));
        tables.extend([END_OF_TABLE, 4, 0, 0, 0, 0]);
        tables.extend(memory_device(1, 1, 1));
        let modules = modules_of(&tables);
        assert_eq!(modules.len(), 3);
        assert_eq!(modules[0].locator, "DIMM_A1");
        assert_eq!(modules[0].bank, "BANK 0");
        assert_eq!(modules[0].size, Some(Bytes(16 << 30)));
        assert_eq!((modules[0].rated_mts, modules[0].configured_mts), (Some(3200), Some(2133)));
        assert_eq!((modules[1].size, modules[1].rated_mts), (None, None));
        assert_eq!(modules[2].size, Some(Bytes(64 << 30)));
        assert_eq!(modules[2].rated_mts, Some(72_000));
        let text: String = modules.iter().map(to_line).collect();
        assert_eq!(from_text(&text).unwrap(), modules);
        assert!(from_text("a\tb\n").is_err());
    }

    #[test]
    fn a_short_structure_of_an_old_version_has_what_it_has() {
        let mut bytes = memory_device(1024, 800, 0);
        bytes.drain(0x15..0x5c);
        bytes[1] = 0x15;
        let modules = modules_of(&bytes);
        assert_eq!(modules[0].size, Some(Bytes(1 << 30)));
        assert_eq!(modules[0].rated_mts, None);
        assert_eq!(modules[0].locator, "DIMM_A1");
    }

    proptest! {
        #[test]
        fn no_tables_whatever_break_the_parser(tables in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(modules_of(&tables).len() <= tables.len() / 4, "a structure has four bytes at least");
        }

        #[test]
        fn a_memory_device_cut_anywhere_is_no_panic(cut in 0_usize..120) {
            let bytes = memory_device(0x7fff, 0xffff, 0xffff);
            prop_assert!(modules_of(&bytes[..cut.min(bytes.len())]).len() <= 1);
        }
    }
}

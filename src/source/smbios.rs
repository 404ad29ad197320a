//! Memory modules from the firmware's tables (SMBIOS Reference Specification 3.7, sections 6.1 and 7.18).
//!
//! The tables are long and contain serial numbers: the live machine answers `/probe/memory-modules` with the relevant
//! fields, and captures contain those alone. In a folder the tables themselves are read.

use super::root::{RootError, SysRoot};
use crate::{machine::MemoryModule, model::Reading, text::Label, units::Bytes};

const PROBE: &str = "/probe/memory-modules";
const TABLES: &str = "/sys/firmware/dmi/tables/DMI";
const ENTRIES: &str = "/sys/firmware/dmi/entries";

/// Structure type of a memory device, and of the one that ends the tables.
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;

/// The machine's memory slots, including empty ones.
pub(super) fn read(root: &dyn SysRoot) -> Reading<Vec<MemoryModule>> {
    let answer = match root.read(PROBE) {
        Ok(text) => from_text(&String::from_utf8_lossy(&text)),
        Err(error) if error.is_absent() => from_tables(root),
        Err(error) => Err(error),
    };
    match answer {
        Ok(modules) if modules.is_empty() => Reading::absent(TABLES, "the firmware reports no memory device"),
        Ok(modules) => Reading::known(TABLES, modules),
        Err(error) => error.into_reading(TABLES),
    }
}

/// The answer to `/probe/memory-modules` from `root`'s tables.
pub(super) fn probe(root: &dyn SysRoot) -> Result<Vec<u8>, RootError> {
    from_tables(root).map(|modules| modules.iter().map(to_line).collect::<String>().into_bytes())
}

fn from_tables(root: &dyn SysRoot) -> Result<Vec<MemoryModule>, RootError> {
    match root.read(TABLES) {
        Ok(tables) => Ok(parse(&tables)),
        Err(error) if error.is_absent() => from_entries(root),
        Err(error) => Err(error),
    }
}

/// The same structures from one file each, in the order of their numbers.
fn from_entries(root: &dyn SysRoot) -> Result<Vec<MemoryModule>, RootError> {
    let mut numbers: Vec<u32> =
        root.list(ENTRIES)?.iter().filter_map(|name| name.strip_prefix("17-")?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut modules = Vec::new();
    for number in numbers {
        modules.extend(parse(&root.read(&format!("{ENTRIES}/17-{number}/raw"))?));
    }
    Ok(modules)
}

/// The memory devices among these structures. Stops at a truncated structure.
pub(crate) fn parse(mut tables: &[u8]) -> Vec<MemoryModule> {
    let mut modules = Vec::new();
    while let [kind, length, ..] = tables {
        let length = usize::from(*length);
        let Some(formatted) = tables.get(..length).filter(|_| length >= 4 && *kind != END_OF_TABLE) else {
            break;
        };
        let behind = &tables[length..];
        let strings = behind.windows(2).position(|pair| pair == [0, 0]).map_or(behind, |end| &behind[..end]);
        if *kind == MEMORY_DEVICE {
            modules.push(module(formatted, strings));
        }
        tables = behind.get(strings.len() + 2..).unwrap_or_default();
    }
    modules
}

fn module(formatted: &[u8], strings: &[u8]) -> MemoryModule {
    let word = |at: usize| Some(u16::from_le_bytes(formatted.get(at..at + 2)?.try_into().ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(formatted.get(at..at + 4)?.try_into().ok()?));
    let string = |at: usize| {
        let number = formatted.get(at).copied().map_or(0, usize::from);
        let text = number.checked_sub(1).and_then(|index| strings.split(|byte| *byte == 0).nth(index));
        Label::from_bytes(text.unwrap_or_default())
    };
    // 0xffff refers to the wider field of version 3.3; 0 is unknown.
    let speed = |at: usize, wide: usize| match word(at)? {
        0 => None,
        0xffff => long(wide).filter(|speed| *speed != 0),
        speed => Some(speed.into()),
    };
    MemoryModule {
        locator: string(0x10),
        bank: string(0x11),
        size: match word(0x0c) {
            None | Some(0 | 0xffff) => None,
            Some(0x7fff) => long(0x1c).map(|mib| Bytes(u64::from(mib & 0x7fff_ffff) << 20)),
            Some(kib) if kib & 0x8000 != 0 => Some(Bytes(u64::from(kib & 0x7fff) << 10)),
            Some(mib) => Some(Bytes(u64::from(mib) << 20)),
        },
        rated_mts: speed(0x15, 0x54),
        configured_mts: speed(0x20, 0x58),
    }
}

/// Six columns separated by tabs, `-` for unknown. The fourth, in earlier versions the data width, is unused.
fn to_line(module: &MemoryModule) -> String {
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

fn from_text(text: &str) -> Result<Vec<MemoryModule>, RootError> {
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

    use super::*;

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
        let modules = parse(&tables);
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
        let modules = parse(&bytes);
        assert_eq!(modules[0].size, Some(Bytes(1 << 30)));
        assert_eq!(modules[0].rated_mts, None);
        assert_eq!(modules[0].locator, "DIMM_A1");
    }

    proptest! {
        #[test]
        fn no_tables_whatever_break_the_parser(tables in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(parse(&tables).len() <= tables.len() / 4, "a structure has four bytes at least");
        }

        #[test]
        fn a_memory_device_cut_anywhere_is_no_panic(cut in 0_usize..120) {
            let bytes = memory_device(0x7fff, 0xffff, 0xffff);
            prop_assert!(parse(&bytes[..cut.min(bytes.len())]).len() <= 1);
        }
    }
}

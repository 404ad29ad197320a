//! Memory modules and slots from the firmware's tables (SMBIOS Reference Specification 3.7, sections 6.1, 7.10 and 7.18).
//!
//! The tables are long and contain serial numbers: the live machine answers `/probe/memory-modules` and
//! `/probe/board-slots` with the relevant fields, and captures contain those alone. In a folder the tables themselves are
//! read.

mod memory;
mod places;
mod slots;

pub use memory::modules_of;
pub use slots::slots_of;

use super::root::{RootError, SysRoot};
use crate::{
    machine::{BoardSlot, MemoryModule, PciTree},
    model::Reading,
};

/// The firmware's tables.
pub(super) const TABLES: &str = "/sys/firmware/dmi/tables/DMI";
const ENTRIES: &str = "/sys/firmware/dmi/entries";
const MEMORY_PROBE: &str = "/probe/memory-modules";
const SLOT_PROBE: &str = "/probe/board-slots";

/// Structure types of a slot, a memory device, and the end of the tables.
const SYSTEM_SLOT: u8 = 9;
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;

/// The machine's memory slots, including empty ones.
pub(super) fn memory_modules(root: &dyn SysRoot) -> Reading<Vec<MemoryModule>> {
    read(root, MEMORY_PROBE, MEMORY_DEVICE, memory::from_text, memory::module, "memory device")
}

/// The slots that the board's firmware names, including empty ones.
pub(super) fn board_slots(root: &dyn SysRoot) -> Reading<Vec<BoardSlot>> {
    read(root, SLOT_PROBE, SYSTEM_SLOT, slots::from_text, slots::slot, "system slot")
}

/// Gives functions the names of their slots.
pub(super) fn name_slots(tree: &mut PciTree, slots: &[BoardSlot]) {
    places::name(tree, slots);
}

/// The answer to `/probe/memory-modules` from `root`'s tables.
pub(super) fn memory_probe(root: &dyn SysRoot) -> Result<Vec<u8>, RootError> {
    let modules = from_tables(root, MEMORY_DEVICE, memory::module)?;
    Ok(modules.iter().map(memory::to_line).collect::<String>().into_bytes())
}

/// The answer to `/probe/board-slots` from `root`'s tables.
pub(super) fn slot_probe(root: &dyn SysRoot) -> Result<Vec<u8>, RootError> {
    let slots = from_tables(root, SYSTEM_SLOT, slots::slot)?;
    Ok(slots.iter().map(slots::to_line).collect::<String>().into_bytes())
}

fn read<T>(
    root: &dyn SysRoot,
    probe: &str,
    kind: u8,
    from_text: fn(&str) -> Result<Vec<T>, RootError>,
    decode: fn(&Structure<'_>) -> Option<T>,
    name: &str,
) -> Reading<Vec<T>> {
    let answer = match root.read(probe) {
        Ok(text) => from_text(&String::from_utf8_lossy(&text)),
        Err(error) if error.is_absent() => from_tables(root, kind, decode),
        Err(error) => Err(error),
    };
    match answer {
        Ok(found) if found.is_empty() => Reading::absent(TABLES, format!("the firmware reports no {name}")),
        Ok(found) => Reading::known(TABLES, found),
        Err(error) => error.into_reading(TABLES),
    }
}

fn from_tables<T>(
    root: &dyn SysRoot,
    kind: u8,
    decode: fn(&Structure<'_>) -> Option<T>,
) -> Result<Vec<T>, RootError> {
    match root.read(TABLES) {
        Ok(tables) => Ok(decoded(&tables, kind, decode)),
        Err(error) if error.is_absent() => from_entries(root, kind, decode),
        Err(error) => Err(error),
    }
}

/// The same structures from one file each, in the order of their numbers.
fn from_entries<T>(
    root: &dyn SysRoot,
    kind: u8,
    decode: fn(&Structure<'_>) -> Option<T>,
) -> Result<Vec<T>, RootError> {
    let prefix = format!("{kind}-");
    let mut numbers: Vec<u32> =
        root.list(ENTRIES)?.iter().filter_map(|name| name.strip_prefix(&prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut found = Vec::new();
    for number in numbers {
        found.extend(decoded(&root.read(&format!("{ENTRIES}/{kind}-{number}/raw"))?, kind, decode));
    }
    Ok(found)
}

fn decoded<T>(tables: &[u8], kind: u8, decode: fn(&Structure<'_>) -> Option<T>) -> Vec<T> {
    structures(tables).filter(|structure| structure.kind() == kind).filter_map(|one| decode(&one)).collect()
}

/// One structure: its formatted area and its strings.
struct Structure<'a> {
    formatted: &'a [u8],
    strings: &'a [u8],
}

/// The structures of these tables, up to the end mark or a truncated one.
fn structures(mut tables: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    std::iter::from_fn(move || {
        let [kind, length, ..] = tables else { return None };
        let length = usize::from(*length);
        let formatted = tables.get(..length).filter(|_| length >= 4 && *kind != END_OF_TABLE)?;
        let behind = &tables[length..];
        let strings = behind.windows(2).position(|pair| pair == [0, 0]).map_or(behind, |end| &behind[..end]);
        tables = behind.get(strings.len() + 2..).unwrap_or_default();
        Some(Structure { formatted, strings })
    })
}

impl Structure<'_> {
    fn kind(&self) -> u8 {
        self.formatted.first().copied().unwrap_or(END_OF_TABLE)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(self.formatted.get(at..at + 2)?.try_into().ok()?))
    }

    fn long(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.formatted.get(at..at + 4)?.try_into().ok()?))
    }

    /// The string whose number is at `at`; empty for number 0 and for one that is not there.
    fn string(&self, at: usize) -> crate::text::Label {
        let number = self.byte(at).map_or(0, usize::from);
        let text = number.checked_sub(1).and_then(|index| self.strings.split(|byte| *byte == 0).nth(index));
        crate::text::Label::from_bytes(text.unwrap_or_default())
    }
}

//! Columns of an `lsblk` table whose cells contain blanks or are empty: they are below their headings.

use std::collections::BTreeMap;

use super::drives::lsblk_size;

/// Columns whose cells end where the heading ends. Others begin where it begins.
const RIGHT: [&str; 12] = [
    "RM",
    "SIZE",
    "RO",
    "ROTA",
    "LOG-SEC",
    "PHY-SEC",
    "RA",
    "ALIGNMENT",
    "MIN-IO",
    "OPT-IO",
    "RQ-SIZE",
    "HOTPLUG",
];

/// Columns that are empty for some devices.
const EMPTY: [&str; 8] =
    ["FSTYPE", "FSVER", "LABEL", "UUID", "PARTLABEL", "PARTUUID", "MOUNTPOINT", "MOUNTPOINTS"];

#[derive(Debug)]
pub(super) struct Columns(Vec<Column>);

#[derive(Debug)]
struct Column {
    name: String,
    start: usize,
    end: usize,
}

impl Columns {
    /// Those of a heading with models, which contain blanks, or with columns that are empty for some devices; other tables are
    /// read by their words.
    pub fn new(heading: &str) -> Option<Self> {
        if !heading.is_ascii() {
            return None;
        }
        let mut columns = Vec::new();
        let mut end = 0_usize;
        for name in heading.split_whitespace() {
            let start = end + heading.get(end..)?.find(name)?;
            end = start + name.len();
            columns.push(Column { name: name.to_owned(), start, end });
        }
        let columns = Self(columns);
        // Behind a cell that may be empty a size is no longer at its place among the words of a row.
        let place = |name: &str| columns.0.iter().position(|column| column.name == name);
        let size = place("SIZE");
        let is_before_size = |name: &&str| size.is_some_and(|size| place(name).is_some_and(|at| at < size));
        let needs_places = ["MODEL", "SCHED", "TRAN"].iter().any(|name| columns.has(name))
            || EMPTY.iter().any(is_before_size);
        needs_places.then_some(columns)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column.name == name)
    }

    /// The cells of a row, by heading; `None` if its words are not below the headings.
    pub fn cells(&self, row: &str) -> Option<BTreeMap<&str, String>> {
        // A mark of the drawing is one column wide.
        let row = row.trim_end().replace(['\u{251c}', '\u{2514}', '\u{2502}', '\u{2500}'], "-");
        let is_blank = |at: usize| row.as_bytes().get(at).is_none_or(|byte| *byte == b' ');
        let mut cells = BTreeMap::new();
        // From the last column on: where the one behind begins.
        let mut next = row.len();
        for Column { name, start, end } in self.0.iter().rev() {
            let is_right = RIGHT.contains(&name.as_str());
            let is_below = if is_right { is_blank(*end) } else { *start == 0 || is_blank(*start - 1) };
            let from = match row.get(..*end) {
                Some(before) if is_right => before.rfind(' ').map_or(0, |at| at + 1),
                None if is_right => row.len(),
                _ => (*start).min(row.len()),
            };
            let cell = row.get(from..next).filter(|_| is_below && row.is_ascii())?.trim();
            let is_number =
                cell.bytes().all(|byte| byte.is_ascii_digit()) || name == "SIZE" && !cell.contains(' ');
            if is_right && !is_number {
                return None;
            }
            cells.insert(name.as_str(), cell.to_owned());
            next = from;
        }
        let has_size = cells.get("SIZE").is_none_or(|size| lsblk_size(size).is_some());
        has_size.then_some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_below_their_headings() {
        let columns = Columns::new("NAME    MODEL                       SIZE ROTA SERIAL").unwrap();
        let row = "nvme0n1 Samsung SSD 980 PRO 1TB   931.5G    0 S5GX";
        let cells = columns.cells(row).unwrap();
        assert_eq!(cells["NAME"], "nvme0n1");
        assert_eq!(cells["MODEL"], "Samsung SSD 980 PRO 1TB");
        assert_eq!([&cells["SIZE"], &cells["ROTA"], &cells["SERIAL"]], ["931.5G", "0", "S5GX"]);
        let short = columns.cells("vda                                 256G    1").unwrap();
        assert_eq!([&short["MODEL"], &short["SIZE"], &short["SERIAL"]], ["", "256G", ""]);
        let part = columns.cells("\u{2514}\u{2500}vda1                              256G    1").unwrap();
        assert_eq!([&part["SIZE"], &part["ROTA"]], ["256G", "1"]);
        for row in ["nvme0n1 Samsung SSD 980 PRO 1TB 931.5G 0 S5GX", "nvme0n1", "nvme0n1 Samsung\u{a0}SSD"] {
            assert!(columns.cells(row).is_none(), "{row}");
        }
        assert!(Columns::new("NAME  SIZE").is_none());
    }
}

//! Sizes of drives and of their logical blocks, which several listings of one text may state.

use super::facts::{DriveFacts, Facts, Known, Rounding, Size};
use crate::units::{Bytes, UnitSystem};

const SIZE: &str = "size";
const BLOCK: &str = "queue/logical_block_size";

/// Unit of the file `size`.
const SECTOR: u64 = 512;

/// What one listing states of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub size: Option<Size>,
    /// Bytes of a logical block.
    pub block: Option<u64>,
}

impl Facts {
    /// Sets a drive's size and block size; a size in bytes replaces a rounded one. A listing that contradicts an earlier one
    /// about either is not used for both: the size is counted in these blocks. The answer is whether it is used.
    pub fn geometry(&mut self, name: &str, stated: Geometry, line: usize) -> bool {
        let (known, first) = self.known_geometry(name, line);
        let is_other = |known: Size| stated.size.is_some_and(|stated| !stated.agrees(known));
        if known.size.is_some_and(is_other)
            || known.block.zip(stated.block).is_some_and(|(known, stated)| known != stated)
        {
            self.contradicted(name, (known, first), (stated, line));
            return false;
        }
        let drive = self.drive(name, line);
        let mut put = |file: &str, value: u64| {
            drive.files.insert(file.to_owned(), Known { value: value.to_string(), line });
        };
        if let (Some(block), None) = (stated.block, known.block) {
            put(BLOCK, block);
        }
        if let Some(size) = stated.size
            && known.size.is_none_or(|known| size.is_exact() && !known.is_exact())
        {
            put(SIZE, size.bytes / SECTOR);
            drive.rounding = size.rounding;
        }
        true
    }

    /// What earlier listings state, and the line of the first.
    fn known_geometry(&self, name: &str, line: usize) -> (Geometry, usize) {
        let file = |file: &str| self.drives.get(name)?.files.get(file);
        let number = |known: &Known<String>| known.value.parse::<u64>().ok();
        let bytes = file(SIZE).and_then(number).map(|sectors| sectors.saturating_mul(SECTOR));
        let first = [SIZE, BLOCK].into_iter().filter_map(file).map(|known| known.line).min();
        let rounding = self.drives.get(name).and_then(|drive| drive.rounding);
        let size = bytes.map(|bytes| Size { bytes, rounding });
        (Geometry { size, block: file(BLOCK).and_then(number) }, first.unwrap_or(line))
    }

    fn contradicted(&mut self, name: &str, (known, first): (Geometry, usize), other: (Geometry, usize)) {
        let (stated, line) = other;
        self.notes.unused(line, &format!("its size or block size contradicts line {first}"));
        self.contradiction(format!(
            "{name} has {} in line {first} and {} in line {line}: line {first} is used.",
            known.words(),
            stated.words()
        ));
    }
}

impl DriveFacts {
    /// Its size in the words of the text, where these have fewer digits.
    pub fn rounded_size(&self) -> Option<String> {
        let bytes = self.files.get(SIZE)?.value.parse::<u64>().ok()?.saturating_mul(SECTOR);
        Size { bytes, rounding: self.rounding }.rounded_words()
    }
}

impl Geometry {
    /// `1.6 TB in blocks of 512 B`.
    fn words(&self) -> String {
        let block = self.block.map(|block| format!("blocks of {block} B"));
        let decimal = |size: Size| UnitSystem::Decimal.size(Bytes(size.bytes));
        let size = self.size.map(|size| size.rounded_words().unwrap_or_else(|| decimal(size)));
        [size, block].into_iter().flatten().collect::<Vec<_>>().join(" in ")
    }
}

impl Size {
    pub fn is_exact(self) -> bool {
        self.rounding.is_none()
    }

    /// As the text has it, where its last digit is worth more than the third digit in powers of ten: `3.6 TiB` may be 3.90 TB
    /// or 4.01 TB.
    pub fn rounded_words(self) -> Option<String> {
        const LETTERS: &str = "KMGTPE";
        let Rounding { unit, digits } = self.rounding?;
        let power = usize::try_from(unit.trailing_zeros() / 10).ok()?;
        let letter = LETTERS.chars().nth(power.checked_sub(1)?).filter(|_| unit.is_power_of_two())?;
        let half = 0.5 * unit as f64 / 10_f64.powi(i32::from(digits));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range of the size")]
        let beside = |part: f64| UnitSystem::Decimal.size(Bytes((self.bytes as f64 + part).max(0.0) as u64));
        let number = self.bytes as f64 / unit as f64;
        (beside(-half) != beside(half)).then(|| format!("{number:.*} {letter}iB", usize::from(digits)))
    }

    /// Whether both may be the size of one drive. lsblk rounds to `1.8T`, which is 6 % wide around `1T`.
    fn agrees(self, other: Self) -> bool {
        const PART: u64 = 16;
        let difference = self.bytes.abs_diff(other.bytes);
        if self.is_exact() && other.is_exact() {
            difference < SECTOR
        } else {
            difference <= self.bytes.max(other.bytes) / PART
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::drives::{lsblk_size, size_of},
        *,
    };

    fn size(bytes: u64, is_exact: bool) -> Size {
        Size { bytes, rounding: (!is_exact).then_some(Rounding { unit: 1 << 30, digits: 1 }) }
    }

    fn stated(bytes: u64, is_exact: bool, block: Option<u64>) -> Geometry {
        Geometry { size: Some(size(bytes, is_exact)), block }
    }

    #[test]
    fn a_listing_that_contradicts_another_is_not_mixed_with_it() {
        const ROUNDED: u64 = 1_600_000_000_000;
        const EXACT: u64 = 1_600_321_314_816;
        let mut facts = Facts::default();
        assert!(facts.geometry("nvme0n1", stated(ROUNDED, false, Some(512)), 1));
        assert!(!facts.geometry("nvme0n1", stated(8 * EXACT, true, Some(4096)), 3));
        assert!(!facts.geometry("nvme0n1", stated(EXACT, true, Some(4096)), 5), "another block size");
        let (known, line) = facts.known_geometry("nvme0n1", 0);
        assert_eq!((known, line), (stated(ROUNDED, false, Some(512)), 1));
        assert!(facts.contradictions[0].contains("in line 1 and 12.8 TB"), "{:?}", facts.contradictions);
        assert!(facts.geometry("nvme0n1", stated(EXACT, true, None), 7));
        assert_eq!(facts.known_geometry("nvme0n1", 0).0, stated(EXACT, true, Some(512)));
    }

    #[test]
    fn a_size_of_two_digits_keeps_the_words_of_its_text() {
        let words = |word: &str| lsblk_size(word).unwrap().rounded_words();
        for (word, expected) in
            [("3,6T", "3.6 TiB"), ("1.8T", "1.8 TiB"), ("7T", "7.0 TiB"), ("1G", "1.0 GiB")]
        {
            assert_eq!(words(word).as_deref(), Some(expected));
        }
        for word in ["931.5G", "465,8G", "1000204886016", "512B"] {
            assert_eq!(words(word), None, "{word}");
        }
        assert_eq!(size_of("1.74", "TiB").unwrap().rounded_words().unwrap(), "1.74 TiB");
        assert_eq!(size_of("4.00", "TB").unwrap().rounded_words(), None, "as the text has it");
    }

    #[test]
    fn rounded_sizes_agree_with_exact_ones() {
        let terabyte = size(1_000_204_886_016, true);
        assert!(terabyte.agrees(size(1_000_190_509_056, false)), "931.5G");
        assert!(terabyte.agrees(size(999_653_638_144, false)), "931G");
        assert!(!terabyte.agrees(size(2_000_000_000_000, false)));
        assert!(!terabyte.agrees(size(1_000_204_890_112, true)));
    }
}

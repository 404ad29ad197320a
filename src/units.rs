//! Quantities and their text: bytes, rates, lanes, transfer rates, microseconds; GB/s or GiB/s.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A data rate in bytes per second; never negative, never NaN.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub f64);

/// A link width in lanes, 1 to 32 (PCI Express Base Specification, Link Capabilities Register).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lanes(pub u8);

/// A raw signalling rate per lane and direction, in megatransfers per second (2500 is 2.5 GT/s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferRate {
    mega: u32,
}

/// A duration in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Micros(pub f64);

/// Powers of ten or of two for rates and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnitSystem {
    /// kB, MB, GB: powers of ten, as links, vendors and fio's `MB/s` count.
    #[default]
    Decimal,
    /// KiB, MiB, GiB: powers of two, as dstat and fio's `MiB/s` count.
    Binary,
}

/// Units of sizes in powers of ten and of two; rates have `/s` behind them.
const DECIMAL: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
/// Suffixes of counts in powers of ten.
const COUNTS: [&str; 3] = ["k", "M", "G"];
/// Units of time of [`Micros`].
const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];
/// Units that other values have.
const OTHERS: [&str; 9] = ["%", "IOPS", "GT/s", "°C", "GHz", "MHz", "min", "h", "bytes"];

impl UnitSystem {
    /// The other system.
    #[must_use]
    pub(crate) const fn toggled(self) -> Self {
        match self {
            Self::Decimal => Self::Binary,
            Self::Binary => Self::Decimal,
        }
    }

    /// The unit of large rates: `GB/s` or `GiB/s`.
    pub(crate) const fn giga_per_second(self) -> &'static str {
        match self {
            Self::Decimal => "GB/s",
            Self::Binary => "GiB/s",
        }
    }

    /// The unit of small ones: `kB/s` or `KiB/s`.
    pub(crate) const fn kilo_per_second(self) -> &'static str {
        match self {
            Self::Decimal => "kB/s",
            Self::Binary => "KiB/s",
        }
    }

    /// Bytes of that unit.
    pub(crate) const fn giga(self) -> f64 {
        match self {
            Self::Decimal => 1e9,
            Self::Binary => 1_073_741_824.0,
        }
    }

    /// The top of an axis that is round in GB/s, as the same round number of this unit, which is not below it.
    pub(crate) fn axis(self, top: f64) -> f64 {
        top * self.giga() / Self::Decimal.giga()
    }

    /// A rate in units of [`Self::giga_per_second`].
    pub(crate) fn in_giga(self, rate: BytesPerSecond) -> f64 {
        rate.0 / self.giga()
    }

    /// A rate with its unit, three significant digits: `7.20 GB/s`, `812 MB/s`, `3.35 GiB/s`.
    pub fn rate(self, rate: BytesPerSecond) -> String {
        let (number, unit) = self.scaled(rate.0);
        format!("{} {unit}/s", three_digits(number))
    }

    /// A size with its unit, three significant digits: `1.00 TB`, `931 GiB`.
    pub(crate) fn size(self, bytes: Bytes) -> String {
        let (number, unit) = self.scaled(bytes.0 as f64);
        if unit == "B" { format!("{} B", bytes.0) } else { format!("{} {unit}", three_digits(number)) }
    }

    /// A number of bytes below 1000 or 1024 of a unit, and that.
    pub(crate) fn scaled(self, value: f64) -> (f64, &'static str) {
        let (base, names) = match self {
            Self::Decimal => (1000.0, DECIMAL),
            Self::Binary => (1024.0, BINARY),
        };
        let mut number = value;
        let mut unit = names[0];
        for name in names {
            unit = name;
            // 999.5 would round to four digits.
            if number < 999.5 || name == names[5] {
                break;
            }
            number /= base;
        }
        (number, unit)
    }
}

/// A count with a suffix in powers of ten, four characters of number at most: `999`, `450 k`, `1.15 M`.
pub fn count(value: f64) -> String {
    let [kilo, mega, giga] = COUNTS;
    let (number, suffix) = match value {
        v if v < 999.5 => return format!("{v:.0}"),
        v if v < 999.5e3 => (v / 1e3, kilo),
        v if v < 999.5e6 => (v / 1e6, mega),
        v => (v / 1e9, giga),
    };
    format!("{} {suffix}", three_digits(number))
}

/// A number with its noun: `1 drive`, `8 drives`.
pub(crate) fn counted<N: fmt::Display + PartialEq + Copy + From<u8>>(number: N, one: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {one}{plural}")
}

/// Names in their order, and many of them by their count: `nvme0n1`, `nvme0n1 and nvme1n1`, `8 drives (nvme0n1 ... nvme7n1)`.
pub(crate) fn names_of<'a>(count: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match names.into_iter().collect::<Vec<_>>()[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        [first, second] => format!("{first} and {second}"),
        [first, .., last] => format!("{count} ({first} ... {last})"),
    }
}

/// A number with its noun and a verb that agrees: `1 drive fetches`, `8 drives fetch`.
pub(crate) fn counted_with_verb(number: usize, noun: &str, (one, many): (&str, &str)) -> String {
    format!("{} {}", counted(number, noun), if number == 1 { one } else { many })
}

/// A mean of counts: `8.0`, `31.5`, `1.15 M`, and below one `0.04`.
pub(crate) fn mean(value: f64) -> String {
    match value {
        v if v < 1.0 => format!("{v:.2}"),
        v if v < 999.5 => format!("{v:.1}"),
        v => count(v),
    }
}

/// A block size as fio writes it: `4k`, `1m`, `512`.
pub(crate) fn block_size(bytes: Bytes) -> String {
    match bytes.0 {
        0 => "0".to_owned(),
        b if b % (1 << 30) == 0 => format!("{}g", b >> 30),
        b if b % (1 << 20) == 0 => format!("{}m", b >> 20),
        b if b % (1 << 10) == 0 => format!("{}k", b >> 10),
        b => b.to_string(),
    }
}

/// A number with three significant digits and no exponent: `7.20`, `39.4`, `812`.
pub(crate) fn three_digits(number: f64) -> String {
    // The sum of nothing is -0.0.
    match number + 0.0 {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

impl TransferRate {
    /// Rates of the generations 1 to 6, in megatransfers per second.
    const GENERATIONS: [u32; 6] = [2500, 5000, 8000, 16000, 32000, 64000];

    /// From megatransfers per second; `None` unless it is a PCI Express rate.
    pub fn from_mega(mega: u32) -> Option<Self> {
        Self::GENERATIONS.contains(&mega).then_some(Self { mega })
    }

    /// From the code of the Link Capabilities and Link Status registers, 1 to 6.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::GENERATIONS.get(usize::from(code).checked_sub(1)?).map(|mega| Self { mega: *mega })
    }

    /// From sysfs: a number followed by `GT/s`, `16.0 GT/s PCIe` (since 5.7) or `16 GT/s`.
    ///
    /// `None` for `Unknown`, `Unknown speed` and everything else that is not a PCI Express rate.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, rest) = text.trim().split_once(' ')?;
        Self::from_gts(number.parse().ok().filter(|_| rest.starts_with("GT/s"))?)
    }

    /// From gigatransfers per second; `None` unless it is a PCI Express rate.
    pub(crate) fn from_gts(gts: f64) -> Option<Self> {
        let near = |mega: &u32| (gts * 1000.0 - f64::from(*mega)).abs() < 0.5;
        Self::GENERATIONS.into_iter().find(near).map(|mega| Self { mega })
    }

    /// Gigatransfers per second.
    pub fn gts(self) -> f64 {
        f64::from(self.mega) / 1000.0
    }

    /// The generation of PCI Express, 1 to 6.
    pub fn generation(self) -> u8 {
        (1..)
            .zip(Self::GENERATIONS)
            .find(|(_, mega)| *mega == self.mega)
            .map_or(6, |(generation, _)| generation)
    }

    /// Bytes per second, lane and direction after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, and at
    /// 64 GT/s 236 of every 256 bytes of a FLIT (PCI Express Base Specification 6.0, Physical Layer).
    pub fn lane_bytes_per_second(self) -> BytesPerSecond {
        let raw = f64::from(self.mega) * 1e6 / 8.0;
        BytesPerSecond(match self.mega {
            2500 | 5000 => raw * 8.0 / 10.0,
            8000 | 16000 | 32000 => raw * 128.0 / 130.0,
            _ => raw * 236.0 / 256.0,
        })
    }
}

impl fmt::Display for TransferRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mega.is_multiple_of(1000) {
            write!(f, "{} GT/s", self.mega / 1000)
        } else {
            write!(f, "{} GT/s", self.gts())
        }
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

impl fmt::Display for Micros {
    /// `870 ns`, `24.1 us`, `3.09 ms`, `1.20 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [nanoseconds, microseconds, milliseconds, seconds] = TIMES;
        match self.0 {
            us if us < 0.9995 => write!(f, "{:.0} {nanoseconds}", us * 1e3),
            us if us < 999.5 => write!(f, "{} {microseconds}", three_digits(us)),
            us if us < 999.5e3 => write!(f, "{} {milliseconds}", three_digits(us / 1e3)),
            us => write!(f, "{} {seconds}", three_digits(us / 1e6)),
        }
    }
}

/// The words of a text for lines: a number stays with its next groups of three digits and with its unit.
pub(crate) fn unbroken(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let all = rest?;
        let is_end = |at: &usize| !goes_on(&all[..*at], &all[at + 1..]);
        let end = all.match_indices(' ').map(|(at, _)| at).find(is_end);
        rest = end.map(|at| &all[at + 1..]);
        Some(&all[..end.unwrap_or(all.len())])
    })
}

/// Whether what follows a blank belongs to the number before it.
fn goes_on(before: &str, after: &str) -> bool {
    /// Groups of a number: longer ones are lists of small numbers.
    const GROUPS: usize = 3;
    // Most words are neither, and are not looked for.
    let may_go_on = before.ends_with(|end: char| end.is_ascii_digit())
        || COUNTS.iter().any(|count| before.ends_with(count));
    if !may_go_on {
        return false;
    }
    let last = before.rsplit(' ').next().unwrap_or_default();
    let is_number = |word: &str| word.ends_with(|end: char| end.is_ascii_digit());
    if !is_number(last) && !COUNTS.contains(&last) {
        return false;
    }
    let next = after.split(' ').next().unwrap_or_default();
    let digits = last.trim_start_matches(['(', '+', '-', '±', '~']);
    let is_group = digits.len() <= 3
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && next.bytes().take_while(u8::is_ascii_digit).count() == 3
        && before.matches(' ').count() < GROUPS;
    let unit = next.trim_end_matches(['.', ',', ';', ':', ')']);
    let is_scaled = || {
        let number = before.rsplit(' ').nth(1).unwrap_or_default();
        COUNTS.contains(&last) && is_number(number)
    };
    is_number(last) && (is_group || is_unit(unit)) || is_scaled() && is_unit(unit)
}

/// Whether a word is a unit that a number can have.
fn is_unit(word: &str) -> bool {
    let size = word.strip_suffix("/s").unwrap_or(word);
    let sizes = || DECIMAL.iter().chain(&BINARY).any(|unit| *unit == size);
    sizes() || COUNTS.iter().chain(&TIMES).chain(&OTHERS).any(|unit| *unit == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_below_one_keeps_its_digits() {
        assert_eq!([0.04, 0.949, 1.0, 8.0, 31.46].map(mean), ["0.04", "0.95", "1.0", "8.0", "31.5"]);
    }

    #[test]
    fn transfer_rates_are_read_in_the_words_of_old_and_new_kernels() {
        for (text, mega) in [
            ("2.5 GT/s PCIe", 2500),
            ("2.5 GT/s", 2500),
            ("5 GT/s", 5000),
            ("5.0 GT/s PCIe", 5000),
            ("16.0 GT/s PCIe\n", 16000),
            ("64.0 GT/s PCIe", 64000),
        ] {
            assert_eq!(TransferRate::parse(text), TransferRate::from_mega(mega), "{text}");
        }
        for text in ["Unknown", "Unknown speed", "33 MHz PCI", "", "GT/s", "17 GT/s", "NaN GT/s"] {
            assert_eq!(TransferRate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_gen4_x4_link_carries_the_published_7_877_gb_per_second() {
        let lane = TransferRate::from_mega(16000).unwrap().lane_bytes_per_second();
        assert_eq!(format!("{:.3}", lane.0 * 4.0 / 1e9), "7.877");
        let old = TransferRate::from_mega(2500).unwrap().lane_bytes_per_second();
        assert!((old.0 - 250e6).abs() < 1.0);
    }

    #[test]
    fn rates_and_sizes_keep_three_digits_and_their_unit() {
        let decimal = UnitSystem::Decimal;
        assert_eq!(decimal.rate(BytesPerSecond(7.2e9)), "7.20 GB/s");
        assert_eq!(decimal.rate(BytesPerSecond(999.6e6)), "1.00 GB/s");
        assert_eq!(decimal.rate(BytesPerSecond(0.0)), "0.00 B/s");
        assert_eq!(decimal.rate(BytesPerSecond(-0.0)), "0.00 B/s");
        assert_eq!(UnitSystem::Binary.rate(BytesPerSecond(7.2e9)), "6.71 GiB/s");
        assert_eq!(decimal.size(Bytes(1_000_204_886_016)), "1.00 TB");
        assert_eq!(decimal.size(Bytes(512)), "512 B");
        assert_eq!(count(1_149_000.0), "1.15 M");
        assert_eq!(count(450_000.0), "450 k");
        assert_eq!(block_size(Bytes(4096)), "4k");
        assert_eq!(block_size(Bytes(1 << 20)), "1m");
        assert_eq!(Micros(0.870).to_string(), "870 ns");
        assert_eq!(Micros(3090.0).to_string(), "3.09 ms");
    }

    #[test]
    fn a_number_is_not_broken() {
        let words = |text| unbroken(text).collect::<Vec<_>>();
        assert_eq!(words("less 2 x 6 811 MiB/s"), ["less", "2", "x", "6 811 MiB/s"]);
        assert_eq!(words("2 953 to 3 593,"), ["2 953", "to", "3 593,"]);
        assert_eq!(words("1.80 M IOPS (61 %)."), ["1.80 M IOPS", "(61 %)."]);
        assert_eq!(words("1 234 567 of 12"), ["1 234 567", "of", "12"]);
        assert_eq!(words("nvme0 980 PRO, 4 2048"), ["nvme0", "980", "PRO,", "4", "2048"]);
        assert_eq!(words(""), [""]);
        assert_eq!(words("a  b "), ["a", "", "b", ""]);
        assert_eq!(words("the M of a G"), ["the", "M", "of", "a", "G"]);
    }

    #[test]
    fn a_value_stays_with_every_unit_that_is_written() {
        let systems = [UnitSystem::Decimal, UnitSystem::Binary];
        let scales = || (0..6).map(|power| 1200_f64.powi(power));
        let sizes =
            systems.iter().flat_map(|units| (0..6).map(|power| units.size(Bytes(1200_u64.pow(power)))));
        let rates = systems.iter().flat_map(|units| scales().map(|rate| units.rate(BytesPerSecond(rate))));
        let counts = scales().take(4).map(|number| format!("{} IOPS", count(number)));
        let times = (0..4).map(|power| Micros(0.5 * 1200_f64.powi(power)).to_string());
        let speed = TransferRate::from_mega(2500).unwrap().to_string();
        let others = [speed, "43 °C".to_owned(), "5.0 GHz".to_owned(), "±10 %".to_owned()];
        for value in sizes.chain(rates).chain(counts).chain(times).chain(others) {
            let text = format!("at ({value}), then");
            let expected = format!("({value}),");
            assert_eq!(unbroken(&text).collect::<Vec<_>>(), ["at", expected.as_str(), "then"]);
        }
    }
}

//! How numbers and names are worded, the same on every screen.

use crate::{
    machine::{
        Machine, PciNode,
        pci::{NodeKind, bracketed, short_vendor},
    },
    model::{Basis, NodeIndex, options},
    ui::theme::Meaning,
    units::{BytesPerSecond, UnitSystem, count, three_digits},
};

/// A rate in GB/s or GiB/s, the number alone, four characters at most below 1000; below a tenth of it, where two decimals are
/// one digit, it is in MB/s or kB/s: `31M`, `2.0M`, `430k`.
pub fn giga(units: UnitSystem, bytes_per_second: f64) -> String {
    giga_from(LEAST, units, bytes_per_second)
}

/// Parts of a GB/s below which a figure is in MB/s, and a label of an axis: those are round.
const LEAST: f64 = 0.0995;
const LEAST_LABEL: f64 = 0.00995;

fn giga_from(least: f64, units: UnitSystem, bytes_per_second: f64) -> String {
    let value = units.in_giga(BytesPerSecond(bytes_per_second.max(0.0)));
    if value >= least || !is_small(units, bytes_per_second) {
        return three_digits(value);
    }
    let base = units.giga().cbrt();
    let mega = value * base;
    match mega {
        9.95.. => format!("{mega:.0}M"),
        0.95.. => format!("{mega:.1}M"),
        _ => format!("{:.0}k", mega * base),
    }
}

/// The same before a unit that is written out: a small rate has more decimals, never another unit.
pub fn giga_before_unit(units: UnitSystem, bytes_per_second: f64) -> String {
    let value = units.in_giga(BytesPerSecond(bytes_per_second.max(0.0)));
    if value < LEAST_LABEL && is_small(units, bytes_per_second) {
        // Below it four decimals are zero.
        return if value < 0.000_05 { "<0.0001".to_owned() } else { format!("{value:.4}") };
    }
    three_digits(value)
}

/// Whether a rate that is not zero would show no more than one digit in GB/s.
pub fn is_small(units: UnitSystem, bytes_per_second: f64) -> bool {
    let giga = units.in_giga(BytesPerSecond(bytes_per_second));
    giga < LEAST && giga * units.giga().cbrt().powi(2) >= 0.5
}

/// From this share of its potential on a drive is as fast as it can be.
const GOOD: f64 = 0.95;
/// Below this share a loss is a problem.
const BAD: f64 = 0.70;

/// What the bars of drives mean, for the help.
pub const BARS: [(&str, Meaning, &str); 4] = [
    ("▆▆▆▆", Meaning::Good, "at least 95 % of what the drive could read"),
    ("▆▆▆·", Meaning::Warning, "less, lost to a known limit"),
    ("▆▆··", Meaning::Problem, "less than 70 %, lost to a known limit"),
    ("▆···", Meaning::Load, "less, with no known limit: its potential is only the rate of its link"),
];

/// The meaning of a bar that is `share` of a potential. What a known limit takes is a warning or a problem; a drive that is
/// short of the rate of its link alone (`at_most`), or still speeds up, may be as fast as it can be.
pub fn bar_meaning(share: f64, is_limited: bool, at_most: bool) -> Meaning {
    match share {
        share if share >= GOOD => Meaning::Good,
        _ if !is_limited && at_most => Meaning::Load,
        share if share < BAD => Meaning::Problem,
        _ => Meaning::Warning,
    }
}

/// A rate with its unit.
pub fn rate(units: UnitSystem, bytes_per_second: f64) -> String {
    if is_small(units, bytes_per_second) {
        return units.rate(BytesPerSecond(bytes_per_second));
    }
    format!("{} {}", giga(units, bytes_per_second), units.giga_per_second())
}

/// The unit of the rates in a title: once where one suits all, else behind each of them.
#[derive(Debug, Clone, Copy)]
pub struct RateUnit {
    units: UnitSystem,
    /// That of the largest, `MB`, and its bytes.
    shared: Option<(&'static str, f64)>,
}

impl RateUnit {
    /// The least part of the unit with which a rate has it: less would have one digit.
    const LEAST: f64 = 0.1;

    /// That of these rates; one of zero takes any.
    pub fn of(units: UnitSystem, rates: impl IntoIterator<Item = f64>) -> Self {
        let moving: Vec<f64> = rates.into_iter().filter(|rate| rate.round() >= 1.0).collect();
        let most = moving.iter().copied().reduce(f64::max).unwrap_or_else(|| units.giga());
        let (number, name) = units.scaled(most);
        let bytes = most / number;
        let is_for_all = moving.iter().all(|rate| *rate >= Self::LEAST * bytes);
        Self { units, shared: is_for_all.then_some((name, bytes)) }
    }

    /// A rate, with its unit where that is not the one of all.
    pub fn write(self, rate: f64) -> String {
        match self.shared {
            _ if rate.round() < 1.0 => if self.shared.is_some() { "0.00" } else { "0" }.to_owned(),
            Some((_, bytes)) if rate >= Self::LEAST * bytes => three_digits(rate / bytes),
            _ => self.units.rate(BytesPerSecond(rate)),
        }
    }

    /// The unit of all, for the end of a title; empty where each has its own.
    pub fn at_the_end(self) -> String {
        self.shared.map_or_else(String::new, |(name, _)| format!("{name}/s"))
    }

    /// The same with a blank before it, for a title that goes on.
    pub fn behind(self) -> String {
        self.shared.map_or_else(String::new, |_| format!(" {}", self.at_the_end()))
    }

    /// A label of the axis: without a unit where the title has the usual one.
    pub fn label(self, rate: f64) -> String {
        if self.at_the_end() == self.units.giga_per_second() {
            return giga_from(LEAST_LABEL, self.units, rate);
        }
        let (number, name) = self.units.scaled(rate);
        if rate < 1.0 { "0".to_owned() } else { three_digits(number) + name[..1].trim_matches('B') }
    }
}

/// Reads per second with their unit.
pub fn iops(value: f64) -> String {
    let text = count(value);
    if text.contains(' ') {
        format!("{text}IOPS").replace(" k", " k ").replace(" M", " M ")
    } else {
        format!("{text} IOPS")
    }
}

/// Nanoseconds with the unit that suits them.
pub fn nanoseconds(value: f64) -> String {
    crate::units::Micros(value / 1e3).to_string()
}

/// The word for where a limit comes from.
pub const fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "measured",
        Basis::Published => "published",
        Basis::Link => "link speed",
        Basis::Table => "from a table",
    }
}

/// A place in the tree, in a sentence: `root complex 0000:40`, `switch 0000:02:00.0`.
pub fn place(machine: &Machine, node: NodeIndex) -> String {
    let data = machine.pci.node(node);
    let word = match data.kind {
        NodeKind::RootComplex => "root complex",
        NodeKind::RootPort => "port",
        NodeKind::SwitchUpstream => "the uplink of switch",
        NodeKind::SwitchDownstream => "switch port",
        NodeKind::Bridge => "bridge",
        // Where drives share it, what they share is the way from the chipset to the CPU.
        NodeKind::Endpoint if data.class.get().is_some_and(|class| class >> 8 == 0x06_01) => "the chipset of",
        NodeKind::Endpoint => "device",
    };
    format!("{word} {}", data.address)
}

/// A device's name, short: vendor's first word, and the bracketed product name where there is one.
pub fn short_name(node: &PciNode) -> String {
    let vendor = node.names.vendor.as_ref().map(|vendor| short_vendor(vendor.as_str()));
    let device = match (&node.names.device, node.device.get()) {
        (Some(name), _) => bracketed(name.as_str()).unwrap_or(name.as_str()).to_owned(),
        (None, Some(id)) => format!("device {id:04x}"),
        (None, None) => String::new(),
    };
    // A text's name of a device may have the vendor's in it.
    let by_id =
        || node.vendor.get().filter(|_| node.names.device.is_none()).map(|id| format!("vendor {id:04x}"));
    let vendor = vendor.or_else(by_id).unwrap_or_default();
    if device.starts_with(&vendor) { device } else { format!("{vendor} {device}").trim().to_owned() }
}

/// A text with fields of forms and arms in place of options: `add --size 1G` of the command line is `add size=1G` there. A
/// command that is quoted, or begins with `iodyno`, stays as the shell takes it.
pub fn as_fields(text: &str) -> String {
    let command = text.find("iodyno ").unwrap_or(text.len());
    let (text, rest) = text.split_at(command);
    let quoted = |(at, part): (usize, &str)| if at % 2 == 1 { part.to_owned() } else { unquoted(part) };
    let parts: Vec<String> = text.split('`').enumerate().map(quoted).collect();
    parts.join("`") + rest
}

fn unquoted(text: &str) -> String {
    let mut parts = text.split("--");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, after) = part.split_at(end);
        if name != "filename" && options::find(name).is_none() {
            out += "--";
        }
        out += name;
        let is_value = |c: char| c.is_ascii_digit() || c == '/';
        match after.strip_prefix(' ').filter(|value| value.starts_with(is_value) || name == "ioengine") {
            Some(value) => out = format!("{out}={value}"),
            None => out += after,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_not_zero_does_not_look_like_zero() {
        let decimal = |bytes| giga(UnitSystem::Decimal, bytes);
        let shown =
            [0.0, 400.0, 4_096.0, 949e3, 960e3, 2.048e6, 9.9e6, 9.96e6, 31.4e6, 99.6e6, 1.2e9].map(decimal);
        assert_eq!(
            shown,
            ["0.00", "0.00", "4k", "949k", "1.0M", "2.0M", "9.9M", "10M", "31M", "0.10", "1.20"]
        );
        assert_eq!(giga(UnitSystem::Binary, 2_097_152.0), "2.0M");
        assert_eq!(rate(UnitSystem::Decimal, 2.048e6), "2.05 MB/s");
        assert_eq!(rate(UnitSystem::Decimal, 0.0), "0.00 GB/s");
    }

    #[test]
    fn rates_of_a_title_have_three_digits_and_one_unit_where_they_can() {
        let title = |units: UnitSystem, rates: [f64; 3]| {
            let unit = RateUnit::of(units, rates);
            let [read, written, most] = rates.map(|rate| unit.write(rate));
            format!("{read} {written} {} max {most}", unit.at_the_end())
        };
        let decimal = |rates| title(UnitSystem::Decimal, rates);
        assert_eq!(decimal([1.2e9, 3.4e9, 5e9]), "1.20 3.40 GB/s max 5.00");
        assert_eq!(decimal([1.2e9, 0.5e9, 3e9]), "1.20 0.50 GB/s max 3.00");
        assert_eq!(decimal([9.92e6, 0.0, 10.1e6]), "9.92 0.00 MB/s max 10.1");
        assert_eq!(decimal([102_400.0, 0.0, 1.2e9]), "102 kB/s 0  max 1.20 GB/s");
        assert_eq!(decimal([20e6, 9.2e3, 0.2]), "20.0 MB/s 9.20 kB/s  max 0");
        assert_eq!(decimal([0.0; 3]), "0.00 0.00 GB/s max 0.00");
        assert_eq!(title(UnitSystem::Binary, [2_097_152.0, 0.0, 4_194_304.0]), "2.00 0.00 MiB/s max 4.00");
    }

    #[test]
    fn an_axis_has_its_unit_where_the_title_has_another_one() {
        let labels = |rate: f64| {
            let unit = RateUnit::of(UnitSystem::Decimal, [rate]);
            [0.0, 5e5, 1e8, 1e9].map(|value| unit.label(value)).join(" ")
        };
        assert_eq!(labels(2e9), "0.00 500k 0.10 1.00");
        assert_eq!(labels(100e3), "0 500k 100M 1.00G");
        assert_eq!(RateUnit::of(UnitSystem::Decimal, [300.0]).label(300.0), "300");
    }

    #[test]
    fn before_a_unit_a_small_rate_has_no_other_unit() {
        let decimal = |bytes| giga_before_unit(UnitSystem::Decimal, bytes);
        let shown = [0.0, 4_096.0, 949e3, 2.048e6, 9.9e6, 12e6, 1.2e9].map(decimal);
        assert_eq!(shown, ["0.00", "<0.0001", "0.0009", "0.0020", "0.0099", "0.01", "1.20"]);
    }

    #[test]
    fn options_of_the_command_line_are_fields_on_the_screen() {
        for (option, field) in [
            (
                "check the path, or add --size 1G to lay a file out",
                "check the path, or add size=1G to lay a file out",
            ),
            ("use --ioengine psync --direct 0", "use ioengine=psync direct=0"),
            ("use fewer --numjobs, or raise it", "use fewer numjobs, or raise it"),
            ("name it, as in --filename /dev/md0", "name it, as in filename=/dev/md0"),
            ("Theme a: `iodyno --theme a --size 1`", "Theme a: `iodyno --theme a --size 1`"),
            ("run iodyno bench --filename /a", "run iodyno bench --filename /a"),
            ("mdadm --manage md0", "mdadm --manage md0"),
        ] {
            assert_eq!(as_fields(option), field);
        }
    }

    #[test]
    fn rates_of_reads_have_three_digits_and_a_unit() {
        assert_eq!(iops(1_149_000.0), "1.15 M IOPS");
        assert_eq!(iops(450_000.0), "450 k IOPS");
        assert_eq!(iops(17.0), "17 IOPS");
    }
}

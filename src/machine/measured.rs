//! Limits and costs measured by tests on this machine, stored between starts.

use std::fmt;

use super::{Drive, Machine, pci::NodeAddress};
use crate::{
    model::PciAddress,
    text::Label,
    units::{Bytes, BytesPerSecond},
};

/// A result of a test on this machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// The measured limit of a root complex.
    RootComplex(MeasuredLimit),
    /// The measured CPU cost of reads.
    Reads(ReadCost),
    /// A result above a limit.
    Exceeded(Exceeded),
    /// The rate of a drive that was its own limit.
    Alone(Alone),
}

/// The rate of a drive while nothing but the drive limited it, with its run. Namespaces of a controller share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Alone {
    /// Drive model, `_` in place of spaces.
    pub model: Label,
    /// Its serial number: the figure holds for this drive only.
    pub serial: Label,
    /// Reads of this size.
    pub size: ReadSize,
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// Reads per second.
    pub iops: f64,
    /// The run.
    pub run: Label,
}

/// Workloads that drives are limited in by different parts of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadSize {
    /// 128 KiB and more: bytes per second.
    Large,
    /// 4 KiB at random: reads per second.
    Small,
}

/// A result above a limit, with its run: lower limits there are wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Exceeded {
    /// Where.
    pub at: ExceededAt,
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// Reads per second.
    pub iops: f64,
    /// The run.
    pub run: Label,
}

/// What a result refutes the limits of.
#[derive(Debug, Clone, PartialEq)]
pub enum ExceededAt {
    /// The link or uplink of a function, with vendor and device id: with another device it is another link.
    Function(PciAddress, (u16, u16)),
    /// The published limit of a drive model, `_` in place of spaces.
    Model(Label),
}

/// The measured limit of a root complex, with its run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLimit {
    /// The root complex.
    pub root_complex: NodeAddress,
    /// Vendor and device id of its host bridge: the figure holds for this one only.
    pub bridge: (u16, u16),
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// The run: `8 drives, 1m randread, depth 32, 1 job, 2026-11-21`.
    pub run: Label,
}

/// The CPU cost of a read in a CPU-bound test, with its run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCost {
    /// The CPU model, `_` in place of spaces: the figure holds for this one only.
    pub processor: Label,
    /// Concurrent workers.
    pub workers: u32,
    /// Bytes of a read.
    pub block: Bytes,
    /// CPU cycles per read.
    pub cycles: f64,
    /// CPU clock in hertz.
    pub hertz: f64,
    /// The run.
    pub run: Label,
}

/// First word of a [`ReadCost`] line.
const READS: &str = "reads";

/// First word of an [`Exceeded`] line.
const BEYOND: &str = "beyond";

/// First word of an [`Alone`] line.
const ALONE: &str = "alone";

/// In place of the address in an [`Exceeded`] line about a model.
const MODEL: &str = "model";

/// `144d:a80c`.
fn ids(text: &str) -> Option<(u16, u16)> {
    let (vendor, device) = text.split_once(':')?;
    let id = |digits| u16::from_str_radix(digits, 16).ok();
    Some((id(vendor)?, id(device)?))
}

impl Measured {
    /// Parses a stored line; `None` if it is malformed.
    pub fn parse(line: &str) -> Option<Self> {
        // A label would write it as a space or not at all, and the line would have another number of words.
        if line.chars().any(|c| c != ' ' && (c.is_whitespace() || c.is_control())) {
            return None;
        }
        match line.split(' ').next() {
            Some(READS) => ReadCost::parse(line).map(Self::Reads),
            Some(BEYOND) => Exceeded::parse(line).map(Self::Exceeded),
            Some(ALONE) => Alone::parse(line).map(Self::Alone),
            _ => MeasuredLimit::parse(line).map(Self::RootComplex),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootComplex(limit) => limit.fmt(f),
            Self::Reads(cost) => cost.fmt(f),
            Self::Exceeded(exceeded) => exceeded.fmt(f),
            Self::Alone(alone) => alone.fmt(f),
        }
    }
}

/// A whole number that a double holds exactly, so that a line is written as it was read.
fn amount(text: &str) -> Option<f64> {
    const MOST: u64 = 1 << f64::MANTISSA_DIGITS;
    text.parse::<u64>().ok().filter(|amount| *amount <= MOST).map(|amount| amount as f64)
}

impl Exceeded {
    /// A drive's model in the form of [`ExceededAt::Model`].
    pub(crate) fn model_of(drive: &Drive) -> Option<Label> {
        drive.model.value().map(|model| Label::new(&model.as_str().replace(' ', "_")))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(6, ' ').skip(1);
        let (place, what) = (parts.next()?, parts.next()?);
        let at = if place == MODEL {
            ExceededAt::Model(Some(Label::new(what)).filter(|model| !model.is_empty())?)
        } else {
            ExceededAt::Function(place.parse().ok()?, ids(what)?)
        };
        let rate = amount(parts.next()?)?;
        let iops = amount(parts.next()?)?;
        let run = Label::new(parts.next()?);
        (rate > 0.0 && !what.is_empty() && !run.is_empty()).then_some(())?;
        Some(Self { at, bytes_per_second: BytesPerSecond(rate), iops, run })
    }
}

impl fmt::Display for Exceeded {
    /// `beyond 0000:41:00.0 144d:a80c 7600000000 58000 1 drive, 128k randread, depth 32, 1 job, 2026-11-21`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            ExceededAt::Function(address, (vendor, device)) => {
                write!(f, "{BEYOND} {address} {vendor:04x}:{device:04x}")?;
            }
            ExceededAt::Model(model) => write!(f, "{BEYOND} {MODEL} {model}")?,
        }
        write!(f, " {:.0} {:.0} {}", self.bytes_per_second.0, self.iops, self.run)
    }
}

impl ReadSize {
    const ALL: [Self; 2] = [Self::Large, Self::Small];

    const fn name(self) -> &'static str {
        match self {
            Self::Large => "large",
            Self::Small => "small",
        }
    }
}

impl Alone {
    /// Model and serial number of a drive in the form of this line; `None` if one of them is unknown, or if the serial
    /// number has spaces within: it would be no word of the line.
    pub(crate) fn identity_of(drive: &Drive) -> Option<(Label, Label)> {
        let serial = drive.serial.value()?.as_str().trim();
        let is_word = !serial.is_empty() && !serial.contains(' ');
        Some((Exceeded::model_of(drive).filter(|model| !model.is_empty())?, Label::new(serial)))
            .filter(|_| is_word)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(7, ' ').skip(1);
        let (model, serial) = (Label::new(parts.next()?), Label::new(parts.next()?));
        let size = parts.next()?;
        let size = ReadSize::ALL.into_iter().find(|one| one.name() == size)?;
        let rate = amount(parts.next()?)?;
        let iops = amount(parts.next()?)?;
        let run = Label::new(parts.next()?);
        let sound = rate > 0.0 && iops > 0.0 && !model.is_empty() && !serial.is_empty() && !run.is_empty();
        let bytes_per_second = BytesPerSecond(rate);
        sound.then_some(Self { model, serial, size, bytes_per_second, iops, run })
    }
}

impl fmt::Display for Alone {
    /// `alone Samsung_SSD_980_PRO_1TB S5P2NG0R123456 large 6600000000 6294 1 drive, 1m read, depth 32, 1 job, 2026-11-21`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, serial, size, bytes_per_second, iops, run } = self;
        write!(f, "{ALONE} {model} {serial} {} {:.0} {iops:.0} {run}", size.name(), bytes_per_second.0)
    }
}

impl MeasuredLimit {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let (domain, bus) = parts.next()?.split_once(':')?;
        let bridge = ids(parts.next()?)?;
        let rate = amount(parts.next()?)?;
        let run = Label::new(parts.next()?);
        (rate > 0.0 && !run.is_empty()).then_some(())?;
        Some(Self {
            root_complex: NodeAddress::Root {
                domain: u32::from_str_radix(domain, 16).ok()?,
                bus: u8::from_str_radix(bus, 16).ok()?,
            },
            bridge,
            bytes_per_second: BytesPerSecond(rate),
            run,
        })
    }
}

impl fmt::Display for MeasuredLimit {
    /// `0000:40 1022:1480 41200000000 8 drives, 1m randread, depth 32, 1 job, 2026-11-21`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (vendor, device) = self.bridge;
        let rate = self.bytes_per_second.0;
        write!(f, "{} {vendor:04x}:{device:04x} {rate:.0} {}", self.root_complex, self.run)
    }
}

impl ReadCost {
    /// This machine's CPU model in the form of [`Self::processor`].
    pub(crate) fn processor_of(machine: &Machine) -> Option<Label> {
        machine.processors.model.value().map(|model| Label::new(&model.as_str().replace(' ', "_")))
    }

    /// Whether several workers read at once, which raises the cost of each read.
    pub(crate) const fn is_together(&self) -> bool {
        self.workers > 1
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(7, ' ').skip(1);
        let workers: u32 = parts.next()?.parse().ok()?;
        let block: u64 = parts.next()?.parse().ok()?;
        let cycles = amount(parts.next()?)?;
        let hertz = amount(parts.next()?)?;
        let (processor, run) = (Label::new(parts.next()?), Label::new(parts.next()?));
        let sound = workers > 0 && block > 0 && cycles > 0.0 && hertz > 0.0;
        (sound && !processor.is_empty() && !run.is_empty()).then_some(())?;
        Some(Self { processor, workers, block: Bytes(block), cycles, hertz, run })
    }
}

impl fmt::Display for ReadCost {
    /// `reads 1 4096 10714 4500000000 AMD_Ryzen_9_5950X 1 drive, 4k randread, depth 32, 1 job, 2026-11-21`: workers,
    /// bytes of a read, cycles of a read, hertz, processor, run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, workers, block, cycles, hertz, run } = self;
        write!(f, "{READS} {workers} {} {cycles:.0} {hertz:.0} {processor} {run}", block.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let line = "0000:40 1022:1480 41200000000 8 drives, 1m randread, depth 32, 1 job, 2026-11-21";
        let Some(Measured::RootComplex(limit)) = Measured::parse(line) else { panic!("{line}") };
        assert_eq!(limit.to_string(), line);
        assert_eq!(limit.root_complex, NodeAddress::Root { domain: 0, bus: 0x40 });
        let line = "reads 1 4096 10714 4500000000 AMD_Ryzen_9_5950X 1 drive, 4k randread, depth 32, 1 job, 2026-11-21";
        let Some(Measured::Reads(cost)) = Measured::parse(line) else { panic!("{line}") };
        assert_eq!(cost.to_string(), line);
        assert_eq!((cost.processor.as_str(), cost.block), ("AMD_Ryzen_9_5950X", Bytes(4096)));
        assert!(cost.run.as_str().starts_with("1 drive, "));
        for line in [
            "beyond 0000:41:00.0 144d:a80c 7600000000 58000 1 drive, 128k randread, 2026-11-21",
            "beyond 10000:e1:00.0 144d:a80c 7600000000 0 1 drive, 128k randread, 2026-11-21",
            "beyond model Samsung_SSD_980_PRO_1TB 7600000000 58000 1 drive, 128k randread, 2026-11-21",
        ] {
            let Some(Measured::Exceeded(exceeded)) = Measured::parse(line) else { panic!("{line}") };
            assert_eq!(exceeded.to_string(), line);
        }
        for size in ["large", "small"] {
            let line = format!(
                "alone Samsung_SSD_980_PRO_1TB S5P2NG0R1 {size} 6600000000 6294 1 drive, 1m read, 2026-11-21"
            );
            let Some(Measured::Alone(alone)) = Measured::parse(&line) else { panic!("{line}") };
            assert_eq!((alone.to_string(), alone.iops), (line, 6294.0));
        }
        for line in [
            "",
            "alone",
            "alone A S huge 5 5 x",
            "alone A S large 0 5 x",
            "alone A S small 5 0 x",
            "alone A  large 5 5 x",
            "alone A S large 5 5 ",
            "alone A S\tT large 5 5 x",
            "0000:40",
            "0000:40 1022:1480 18446744073709551614 x",
            "beyond model M 9007199254740993 1 x",
            "0000:40 1022:1480 0 x",
            "0000:40 1022:1480 -5 x",
            "40 1022:1480 5 x",
            "0000:40 1022:1480 5 ",
            "reads",
            "beyond",
            "beyond 0000:41:00.0 144d 1 1 x",
            "beyond model  5 5 x",
            "beyond model \0 5 5 x",
            "beyond 0000:41:00.0 144d:a80c 0 0 x",
            "reads 1 4096 10714 0 AMD x",
            "reads 0 4096 10714 1 AMD x",
            "reads 1 4096 NaN 1 AMD x",
            "reads 1 4096 5 1 AMD ",
        ] {
            assert_eq!(Measured::parse(line), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_something_measured_or_nothing(line in "((reads( [0-9]{1,20}){4}|alone A B (large|small) [0-9]{1,20} [0-9]{1,20}) )?\\PC*") {
            if let Some(measured) = Measured::parse(&line) {
                // Numbers are kept to as many digits as a double has.
                let again = Measured::parse(&measured.to_string());
                prop_assert_eq!(again.map(|again| again.to_string()), Some(measured.to_string()));
            }
        }
    }
}

//! What tests on this machine found out about it, kept between starts.

use std::fmt;

use super::{Machine, pci::NodeAddress};
use crate::{
    text::Label,
    units::{Bytes, BytesPerSecond},
};

/// Something that a test found out.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// What a root complex carried.
    RootComplex(MeasuredLimit),
    /// What reads cost the processors.
    Reads(ReadCost),
}

/// What a root complex was seen to carry, with the run that showed it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLimit {
    /// The root complex.
    pub root_complex: NodeAddress,
    /// Vendor and device id of its host bridge: with another processor or board the figure means nothing.
    pub bridge: (u16, u16),
    /// Payload bytes per second.
    pub bytes_per_second: BytesPerSecond,
    /// The run: `8 drives, 1m randread, depth 32, 1 job, 2026-11-21`.
    pub run: Label,
}

/// What a read was seen to cost when the processors were what held a test back, with the run that showed it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCost {
    /// The processor's model, `_` in place of spaces: on another one the figure means nothing.
    pub processor: Label,
    /// Workers that read at the same time.
    pub workers: u32,
    /// Bytes of a read.
    pub block: Bytes,
    /// Cycles of a hardware thread for each read.
    pub cycles: f64,
    /// Cycles per second of a hardware thread meanwhile.
    pub hertz: f64,
    /// The run.
    pub run: Label,
}

/// The first word of a [`ReadCost`]'s line.
const READS: &str = "reads";

impl Measured {
    /// From its line; `None` for what is none.
    pub fn parse(line: &str) -> Option<Self> {
        if line.split(' ').next() == Some(READS) {
            ReadCost::parse(line).map(Self::Reads)
        } else {
            MeasuredLimit::parse(line).map(Self::RootComplex)
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RootComplex(limit) => limit.fmt(f),
            Self::Reads(cost) => cost.fmt(f),
        }
    }
}

impl MeasuredLimit {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(4, ' ');
        let (domain, bus) = parts.next()?.split_once(':')?;
        let (vendor, device) = parts.next()?.split_once(':')?;
        let rate: u64 = parts.next()?.parse().ok()?;
        let run = Label::new(parts.next()?);
        let id = |digits| u16::from_str_radix(digits, 16).ok();
        (rate > 0 && !run.is_empty()).then_some(())?;
        Some(Self {
            root_complex: NodeAddress::Root {
                domain: u32::from_str_radix(domain, 16).ok()?,
                bus: u8::from_str_radix(bus, 16).ok()?,
            },
            bridge: (id(vendor)?, id(device)?),
            bytes_per_second: BytesPerSecond(rate as f64),
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
    /// The model of this machine's processors as [`Self::processor`] has it.
    pub fn processor_of(machine: &Machine) -> Option<Label> {
        machine.processors.model.value().map(|model| Label::new(&model.as_str().replace(' ', "_")))
    }

    /// Whether several workers read: each pays for the others' company.
    pub const fn is_together(&self) -> bool {
        self.workers > 1
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(7, ' ').skip(1);
        let workers: u32 = parts.next()?.parse().ok()?;
        let block: u64 = parts.next()?.parse().ok()?;
        let cycles: u64 = parts.next()?.parse().ok()?;
        let hertz: u64 = parts.next()?.parse().ok()?;
        let (processor, run) = (Label::new(parts.next()?), Label::new(parts.next()?));
        let sound = workers > 0 && block > 0 && cycles > 0 && hertz > 0;
        (sound && !processor.is_empty() && !run.is_empty()).then_some(())?;
        let (cycles, hertz) = (cycles as f64, hertz as f64);
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
            "",
            "0000:40",
            "0000:40 1022:1480 0 x",
            "0000:40 1022:1480 -5 x",
            "40 1022:1480 5 x",
            "0000:40 1022:1480 5 ",
            "reads",
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
        fn any_text_is_something_measured_or_nothing(line in "(reads( [0-9]{1,20}){4} )?\\PC*") {
            if let Some(measured) = Measured::parse(&line) {
                // Numbers are kept to as many digits as a double has.
                let again = Measured::parse(&measured.to_string());
                prop_assert_eq!(again.map(|again| again.to_string()), Some(measured.to_string()));
            }
        }
    }
}

//! What tests on this machine found out about it, kept between starts.

use std::fmt;

use super::pci::NodeAddress;
use crate::{text::Label, units::BytesPerSecond};

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

impl MeasuredLimit {
    /// From its line; `None` for what is none.
    pub fn parse(line: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let line = "0000:40 1022:1480 41200000000 8 drives, 1m randread, depth 32, 1 job, 2026-11-21";
        let limit = MeasuredLimit::parse(line).unwrap();
        assert_eq!(limit.to_string(), line);
        assert_eq!(limit.root_complex, NodeAddress::Root { domain: 0, bus: 0x40 });
        for line in [
            "",
            "0000:40",
            "0000:40 1022:1480 0 x",
            "0000:40 1022:1480 -5 x",
            "40 1022:1480 5 x",
            "0000:40 1022:1480 5 ",
        ] {
            assert_eq!(MeasuredLimit::parse(line), None, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_limit_or_none(line in any::<String>()) {
            if let Some(limit) = MeasuredLimit::parse(&line) {
                prop_assert_eq!(MeasuredLimit::parse(&limit.to_string()), Some(limit));
            }
        }
    }
}

//! Addresses and buses as `lspci -t` draws them.

use super::super::facts;
use crate::model::PciAddress;

/// Columns of a device and function: `03.1`.
pub(super) const LENGTH: usize = 4;

/// `03.1` at the beginning as its number on the bus.
pub(super) fn place(text: &str) -> Option<u8> {
    let address = format!("0000:00:{}", text.get(..LENGTH)?).parse::<PciAddress>().ok()?;
    Some(address.device << 3 | address.function)
}

/// `00:06.0` or `556f:00:02.0` at the beginning: the address and its length.
pub(super) fn whole_address(text: &str, domain: u32) -> Option<(PciAddress, usize)> {
    let length = text.find(['-', ' ']).unwrap_or(text.len());
    let place = &text[..length];
    let colons = place.bytes().filter(|byte| *byte == b':').count();
    let address = match colons {
        1 => format!("{domain:04x}:{place}").parse(),
        2 => place.parse(),
        _ => return None,
    };
    Some((address.ok()?, length))
}

/// `[0000:60]` at the beginning: domain, bus and length.
pub(super) fn root_bus(text: &str) -> Option<((u32, u8), usize)> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    Some((facts::root_bus(inside)?, inside.len() + 2))
}

/// `[61]`, `[02-06]` or `[0000:02-06]` at the beginning: secondary and subordinate bus, and length.
pub(super) fn buses(text: &str) -> Option<((u8, u8), usize)> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    let range = inside.rsplit_once(':').map_or(inside, |(_, range)| range);
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let bus = |digits: &str| u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2);
    Some(((bus(first)?, bus(last)?), inside.len() + 2))
}

//! A function's first line: its address or path, and what follows.

use super::{
    groups::{self, Front},
    names::address,
};
use crate::model::PciAddress;

/// `0000:41:00.0 Non-Volatile memory controller: ...`: the first line of a function.
pub(super) fn is_first(line: &str) -> bool {
    header(line).is_some()
}

/// Address, and what follows it, of a function's first line.
pub(super) fn header(line: &str) -> Option<(PciAddress, &str)> {
    let Front { rest: line, ids, .. } = groups::front(line);
    let end = line.find([' ', '\t']).unwrap_or(line.len());
    let (place, rest) = line.split_at(end);
    let address = if place.contains('/') {
        path(place)?.last().copied()?
    } else {
        address(place).filter(|_| (7..=16).contains(&place.len()))?
    };
    // Behind ids, class and name stand in columns.
    let in_columns = ids.is_some() && rest.trim().contains("  ");
    described(address, rest).or_else(|| in_columns.then(|| (address, rest.trim())))
}

/// The same of `00:01.1/00.0 ...`, as `-P` prints it: a function on the bus behind a bridge, whose number `secondary` knows.
pub(super) fn header_below(
    line: &str,
    secondary: impl Fn(PciAddress) -> Option<u8>,
) -> Option<(PciAddress, &str)> {
    let line = line.trim_start();
    let (place, rest) = line.split_at(line.find([' ', '\t'])?);
    let (first, below) = place.split_once('/')?;
    let function = below.split('/').try_fold(address(first)?, |bridge, part| {
        let PciAddress { domain, .. } = bridge;
        format!("{domain:04x}:{:02x}:{part}", secondary(bridge)?).parse().ok()
    })?;
    described(function, rest)
}

fn described(address: PciAddress, rest: &str) -> Option<(PciAddress, &str)> {
    let rest = rest.trim();
    let is_function = rest.contains(": ") || rest.ends_with(':') || rest.starts_with('"');
    is_function.then_some((address, rest))
}

/// The bridges above a function and itself, as `-PP` prints them: `0000:00:00.0/01:00.0/02:05.0`.
pub(super) fn path(place: &str) -> Option<Vec<PciAddress>> {
    const MOST: usize = 256;
    let mut parts = place.split('/').take(MOST);
    let first = address(parts.next()?)?;
    let rest = parts.map(|part| address(part).map(|at| PciAddress { domain: first.domain, ..at }));
    std::iter::once(Some(first)).chain(rest).collect()
}

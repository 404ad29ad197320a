//! A function's first line: its address or path, and what follows.

use super::{
    groups::{self, Front},
    names::{self, First, Name, address},
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

/// Whether a line begins with a function's address and a class, also where it was broken before the colon: it is never the
/// rest of another line.
pub(in super::super) fn begins_line(line: &str) -> bool {
    let rest = groups::front(line).rest;
    let (place, behind) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let starts = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '"';
    (7..=16).contains(&place.len()) && address(place).is_some() && behind.trim_start().starts_with(starts)
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

/// Whether ids in brackets end a name.
pub(super) fn names_ids(name: &str) -> bool {
    let ids = name.trim_end().strip_suffix(']').and_then(|name| name.rsplit_once('['));
    ids.is_some_and(|(_, ids)| names::pair(ids).is_some())
}

/// What a first line states behind its address.
pub(super) fn head(rest: &str) -> First<'_> {
    let columns = || rest.split_once("  ").map(|(class, name)| (class, name.trim_start()));
    let parts = rest.split_once(": ").or_else(columns);
    let (class, name) = parts.unwrap_or((rest.trim_end_matches(':'), ""));
    // A device that did not respond shows ones.
    let responds = !name.contains("(rev ff)");
    let interface =
        name.split_once("(prog-if ").and_then(|(_, rest)| u8::from_str_radix(rest.get(..2)?, 16).ok());
    let interface = interface.filter(|_| responds);
    // Some programs print no blank before it.
    let end = name.find("(rev ").or_else(|| name.find("(prog-if ")).unwrap_or(name.len());
    let name = name[..end].trim_end();
    // BusyBox prints a driver behind the ids: `Class 0108: 144d:a808 nvme`.
    let with_driver =
        name.split_once(' ').filter(|(ids, driver)| names::pair(ids).is_some() && !driver.contains(' '));
    let (name, driver) = match with_driver {
        Some((ids, driver)) => (ids, Some(names::driver(driver))),
        None => (name, None),
    };
    First {
        class: class.into(),
        has_ids: names_ids(name),
        name: Name::parse(name),
        subsystem: None,
        interface,
        driver,
    }
}

/// Whether a first line has the number of its class and ends before the ids of its device: `-nn` prints both.
pub(super) fn lacks_ids(rest: &str) -> bool {
    let First { class, has_ids, .. } = head(rest);
    class.ends_with(']') && !rest.starts_with('"') && !has_ids
}

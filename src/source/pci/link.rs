//! A link as one end reports it.
//!
//! The files exist since kernel 4.13, for PCI Express devices only. Link Capabilities and Link Status registers fill
//! gaps.

use crate::{
    machine::{Express, Link, pci::NO_LANES},
    model::Reading,
    source::{
        SysRoot,
        root::{self, quoted},
    },
    units::{Lanes, TransferRate},
};

/// Root complex integrated endpoint and event collector: on the root bus itself, without a link.
const INTEGRATED: [u8; 2] = [9, 10];

/// A speed field, `None` for a reserved code, beside the width that the same register has.
type Speed = (u8, Option<TransferRate>);

/// The link of the function at `path`, if it has one.
pub(super) fn read(root: &dyn SysRoot, path: &str, express: &Reading<Express>) -> Option<Link> {
    let registers = express.value();
    if registers.and_then(|express| express.port_type).is_some_and(|port| INTEGRATED.contains(&port)) {
        return None;
    }
    // A text may state other registers alone.
    let has_link = registers.is_some_and(|express| express.max_width.or(express.width).is_some());
    let speed = |file: &str, register: &str, of: fn(&Express) -> Option<Speed>| {
        let second = || {
            second(express, register, of, |(_, speed)| {
                speed.ok_or_else(|| "a reserved link speed".to_owned())
            })
        };
        speed(root, &format!("{path}/{file}")).or(second)
    };
    let width = |file: &str, register: &str, of: fn(&Express) -> Option<u8>| {
        let second = || second(express, register, of, |width| lanes(width.into()));
        let of_file = width(root, &format!("{path}/{file}"));
        // A register with 0 lanes is an answer, a missing file is none.
        if of_file.is_absent() && has_link { second() } else { of_file.or(second) }
    };
    let link = Link {
        speed: speed("current_link_speed", "LnkSta", |it| Some((it.width?, it.speed))),
        width: width("current_link_width", "LnkSta", |it| it.width),
        max_speed: speed("max_link_speed", "LnkCap", |it| Some((it.max_width?, it.max_speed))),
        max_width: width("max_link_width", "LnkCap", |it| it.max_width),
    };
    let nothing = link.speed.is_absent()
        && link.width.is_absent()
        && link.max_speed.is_absent()
        && link.max_width.is_absent();
    (!nothing || has_link).then_some(link)
}

/// A register's value as a reading, the register's name appended to the path.
fn second<T, R>(
    express: &Reading<Express>,
    register: &str,
    of: fn(&Express) -> Option<R>,
    value: impl FnOnce(R) -> Result<T, String>,
) -> Reading<T> {
    let path = format!("{} {register}", express.path());
    match express.value().and_then(of).map(value) {
        Some(Ok(value)) => Reading::known(path, value),
        Some(Err(wrong)) => Reading::malformed(path, wrong),
        None => Reading::absent(path, "no PCI Express registers"),
    }
}

fn speed(root: &dyn SysRoot, path: &str) -> Reading<TransferRate> {
    root::text(root, path).and_then(|text| {
        TransferRate::parse(&text).ok_or_else(|| quoted(&text, "not a PCI Express link speed"))
    })
}

fn width(root: &dyn SysRoot, path: &str) -> Reading<Lanes> {
    root::number::<u64>(root, path).and_then(lanes)
}

/// Valid widths; 0 is a link that is down, 63 a device that reads as ones, 255 the kernel's unknown.
fn lanes(width: u64) -> Result<Lanes, String> {
    match width {
        1 | 2 | 4 | 8 | 12 | 16 | 32 => u8::try_from(width).map(Lanes).map_err(|error| error.to_string()),
        0 => Err(NO_LANES.to_owned()),
        other => Err(quoted(&other.to_string(), "not a PCI Express link width")),
    }
}

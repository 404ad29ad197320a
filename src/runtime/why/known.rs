//! Steps that no test measures: the published rate of the drive, its link, the links to the root complex.

use super::{reads::LARGE, stack::Level};
use crate::{
    app::MachineRead,
    capacity,
    machine::Drive,
    model::Limit,
    units::{BytesPerSecond, UnitSystem},
    waterfall::{Layer, Rate, Step},
};

/// The steps of the drive at the bottom of the path, each with its rate or why there is none.
pub(super) fn steps(read: &MachineRead, lowest: Option<&Level>) -> Vec<Step> {
    let name = lowest.map_or("drive", |level| &level.name);
    let of = |layer, rate: Result<Limit, String>| {
        let (rate, because) = match rate {
            Ok(limit) => (Rate::Known(limit.bytes_per_second.0, limit.basis), limit.because),
            Err(why) => (Rate::Unknown(why), String::new()),
        };
        Step { layer, name: name.to_owned(), rate, because }
    };
    let drives = drives(read, lowest);
    let added = |rate: &dyn Fn(&Drive) -> Result<Limit, String>| {
        let limits = drives.as_ref().map_err(Clone::clone)?.iter().map(|drive| rate(drive));
        together(limits.collect::<Result<_, _>>()?)
    };
    let published = |drive: &Drive| {
        let own = capacity::potential::of_drive(&read.machine, &read.limits, drive, LARGE.0 as f64);
        let own = own.ok_or_else(|| format!("no published rate is known for the model of {}", drive.name))?;
        Ok(Limit {
            bytes_per_second: own.bytes_per_second,
            basis: own.basis,
            because: own.because,
            node: None,
        })
    };
    let link = |drive: &Drive| {
        let limit = drive.node.and_then(|node| read.limits.hop(node));
        limit.cloned().ok_or_else(|| no_link(drive))
    };
    let path = match drives.as_deref() {
        Ok([]) | Err(_) => added(&link),
        Ok([drive]) => {
            let limit = drive.node.and_then(|node| read.limits.path(node));
            limit.cloned().ok_or_else(|| no_link(drive))
        }
        Ok(several) => paths(read, several),
    };
    vec![of(Layer::Drive, added(&published)), of(Layer::Link, added(&link)), of(Layer::Controller, path)]
}

fn no_link(drive: &Drive) -> String {
    format!("{} has no PCIe link with a known speed", drive.name)
}

/// The sum of limits of drives that are read at once; of one drive its own.
fn together(limits: Vec<Limit>) -> Result<Limit, String> {
    let (count, sum) = (limits.len(), limits.iter().map(|limit| limit.bytes_per_second.0).sum());
    let weakest = limits.into_iter().max_by_key(|limit| limit.basis);
    let weakest = weakest.ok_or("no block device below the file is known")?;
    let because =
        if count > 1 { format!("{count} drives together; {}", weakest.because) } else { weakest.because };
    Ok(Limit { bytes_per_second: BytesPerSecond(sum), because, ..weakest })
}

/// What the links above several drives carry at once, shared ones counted once.
fn paths(read: &MachineRead, drives: &[&Drive]) -> Result<Limit, String> {
    let drives = drives.iter().copied();
    let total = capacity::total_of(&read.machine, &read.limits, drives.clone(), UnitSystem::Decimal);
    if let Some(unknown) = drives.clone().find(|drive| !total.shares.contains_key(&drive.name)) {
        return Err(no_link(unknown));
    }
    let basis = total.shares.values().map(|share| share.basis).max();
    Ok(Limit {
        bytes_per_second: total.at_most_bytes_per_second,
        basis: basis.ok_or("no block device below the file is known")?,
        because: total.because,
        node: None,
    })
}

/// The hardware drives at the bottom.
fn drives<'a>(read: &'a MachineRead, lowest: Option<&Level>) -> Result<Vec<&'a Drive>, String> {
    let level = lowest.ok_or("no block device below the file is known")?;
    let mut drives: Vec<&Drive> = Vec::new();
    for path in &level.paths {
        let part = path.strip_prefix("/dev").unwrap_or(path).to_string_lossy();
        let drive = read
            .machine
            .whole(&part)
            .ok_or_else(|| format!("{part} is not among the drives that were read"))?;
        if drives.iter().all(|known| known.name != drive.name) {
            drives.push(drive);
        }
    }
    Ok(drives)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{runtime::startup, source::origin::Origin};

    fn level(names: &[&str]) -> Level {
        Level {
            layer: Layer::Drive,
            name: names.join(" + "),
            paths: names.iter().map(|name| PathBuf::from("/dev").join(name)).collect(),
            offset: 0,
            read_ahead: None,
            buffered: false,
            small_requests: None,
            pieces: None,
        }
    }

    fn of(level: Option<&Level>) -> Vec<Step> {
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        steps(&startup::read(&*root), level)
    }

    #[test]
    fn a_known_drive_has_its_rate_its_link_and_its_path() {
        let steps = of(Some(&level(&["nvme0n1"])));
        assert_eq!(
            steps.iter().map(|step| step.layer).collect::<Vec<_>>(),
            [Layer::Drive, Layer::Link, Layer::Controller]
        );
        for step in steps {
            assert!(matches!(step.rate, Rate::Known(rate, _) if rate > 1e9), "{step:?}");
            assert!(!step.because.is_empty());
        }
    }

    #[test]
    fn members_of_an_array_are_added_up_where_they_share_nothing() {
        let root = Origin::Demo("threadripper-before".to_owned()).open().unwrap();
        let read = startup::read(&*root);
        let rates = |names: &[&str]| -> Vec<f64> {
            let steps = steps(&read, Some(&level(names)));
            steps.iter().map(|step| step.rate.value().unwrap_or_else(|| panic!("{step:?}")) / 1e9).collect()
        };
        let one = rates(&["nvme0n1"]);
        let names: Vec<String> = (0..8).map(|number| format!("nvme{number}n1")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let eight = rates(&names);
        assert!(
            (eight[0] - 8.0 * one[0]).abs() < 0.01 && (eight[1] - 8.0 * one[1]).abs() < 0.01,
            "{one:?} {eight:?}"
        );
        assert!((39.0..40.0).contains(&eight[2]), "they share a root complex: {eight:?}");
        assert_eq!(rates(&["nvme0n1", "nvme0n1"]), one, "two parts of one drive");
    }

    #[test]
    fn whatever_is_not_known_says_why() {
        for (level, says) in [
            (None, "no block device"),
            (Some(level(&["sda", "nvme0n1"])), "sda is not among the drives"),
            (Some(level(&["vdz"])), "not among the drives"),
        ] {
            for step in of(level.as_ref()) {
                assert!(matches!(&step.rate, Rate::Unknown(why) if why.contains(says)), "{step:?}");
            }
        }
    }
}

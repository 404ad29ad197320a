//! Steps that no test measures: the published rate of the drive, its link, the links to the root complex.

use super::{reads::LARGE, stack::Level};
use crate::{
    app::MachineRead,
    capacity,
    machine::Drive,
    model::Limit,
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
    let drive = drive(read, lowest);
    let known = |rate: &dyn Fn(&Drive) -> Result<Limit, String>| drive.clone().and_then(rate);
    let published = known(&|drive| {
        let own = capacity::potential::of_drive(&read.machine, &read.limits, drive, LARGE.0 as f64);
        let limit = own.map(|own| Limit {
            bytes_per_second: own.bytes_per_second,
            basis: own.basis,
            because: own.because,
            node: None,
        });
        limit.ok_or_else(|| "no published rate is known for its model".to_owned())
    });
    let no_link = || "it has no PCIe link with a known speed".to_owned();
    let link = known(&|drive| {
        let limit = drive.node.and_then(|node| read.limits.hop(node));
        limit.cloned().ok_or_else(no_link)
    });
    let path = known(&|drive| {
        let limit = drive.node.and_then(|node| read.limits.path(node));
        limit.cloned().ok_or_else(no_link)
    });
    vec![of(Layer::Drive, published), of(Layer::Link, link), of(Layer::Controller, path)]
}

/// The one hardware drive at the bottom.
fn drive<'a>(read: &'a MachineRead, lowest: Option<&Level>) -> Result<&'a Drive, String> {
    let level = lowest.ok_or("no block device below the file is known")?;
    if level.paths.len() > 1 {
        return Err("several drives: `iodyno drives` and `iodyno check` have each".to_owned());
    }
    let found = read.machine.drives.iter().find(|drive| drive.name.as_str() == level.name);
    found.ok_or_else(|| "it is not among the drives that were read".to_owned())
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
            paths: names.iter().map(PathBuf::from).collect(),
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
    fn whatever_is_not_known_says_why() {
        for (level, says) in [
            (None, "no block device"),
            (Some(level(&["sda", "sdb"])), "several drives"),
            (Some(level(&["vdz"])), "not among the drives"),
        ] {
            for step in of(level.as_ref()) {
                assert!(matches!(&step.rate, Rate::Unknown(why) if why.contains(says)), "{step:?}");
            }
        }
    }
}

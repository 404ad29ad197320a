//! Drives that share the chipset's uplink with other devices.

use super::{
    Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    inputs::{names, verb},
};
use crate::{
    capacity::{
        chipset::{self, Chipset},
        flow,
    },
    machine::Drive,
    model::{FindingId, NodeIndex, Severity},
};

pub(super) const CHIPSET_UPLINK: Row = Row {
    id: FindingId("chipset-uplink"),
    title: "drive behind the chipset",
    fires: "an NVMe drive has a chipset above it: AMD's by the id of its upstream port, Intel's by the id of its LPC or eSPI bridge",
    why: "All devices behind a chipset share its one link to the CPU: the drive, USB, SATA, the network, other slots.",
    source: "computed from the uplink and the links below it",
    remedy: "Move the drive to an M.2 slot of the CPU, or a card to one of its slots; the board's manual \
             lists them.",
    risk: Risk::Hardware,
    wrong_if: "Nothing else behind the chipset is busy while the drive is.",
    check: chipset_uplink,
    ..Row::PLAIN
};

fn with_drives<'a>(inputs: &Inputs<'a>) -> Vec<(Chipset, Vec<&'a Drive>)> {
    let mut found: Vec<(Chipset, Vec<&Drive>)> = Vec::new();
    for drive in inputs.nvme() {
        let Some(chipset) = drive.node.and_then(|node| chipset::above(inputs.machine, node)) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| known.node == chipset.node) {
            Some((_, drives)) => drives.push(drive),
            None => found.push((chipset, vec![drive])),
        }
    }
    found
}

/// Whether a node's link is the uplink of a chipset.
pub(super) fn is_uplink(inputs: &Inputs, node: NodeIndex) -> bool {
    with_drives(inputs).iter().any(|(chipset, _)| chipset.node == node || chipset.uplink == node)
}

fn chipset_uplink(inputs: &Inputs) -> Vec<Detection> {
    with_drives(inputs).into_iter().map(|(chipset, drives)| behind(inputs, &chipset, &drives)).collect()
}

fn behind(inputs: &Inputs, chipset: &Chipset, drives: &[&Drive]) -> Detection {
    let tree = &inputs.machine.pci;
    let uplink = inputs.limits.hop(chipset.uplink);
    // Several ports of an Intel chipset share its uplink.
    let places = flow::places(inputs.machine, inputs.limits);
    let place = places.into_iter().find(|place| place.ways.contains(&chipset.uplink));
    let wanted = place.and_then(|place| flow::arriving(inputs.machine, inputs.limits, &place.ways));
    let carries = uplink.map_or_else(
        || "the limit of its uplink is unknown".to_owned(),
        |limit| format!("its uplink carries {} for all behind it", inputs.rate(limit.bytes_per_second.0)),
    );
    let title = format!(
        "{} {} behind the chipset {}; {carries}",
        names(drives),
        verb(drives, "is", "are"),
        chipset.name
    );
    let short = uplink.zip(wanted).map(|(limit, wanted)| wanted - limit.bytes_per_second.0);
    // Except for rounding, a drive whose link is as fast as the uplink loses nothing while nothing else is busy.
    let (severity, gain) = match short {
        Some(short) if short > 0.01 * wanted.unwrap_or(0.0) => {
            (inputs.weigh(short), inputs.gain(short, CHIPSET_UPLINK.source))
        }
        Some(_) => (
            Severity::Info,
            Gain::words("only while something else behind the chipset is busy", CHIPSET_UPLINK.source),
        ),
        None => (Severity::Info, Gain::unknown(CHIPSET_UPLINK.source)),
    };
    let path = &tree.node(chipset.node).path;
    let mut proofs = vec![Evidence::new(&**path, format!("the chipset, {}", tree.node(chipset.node).name()))];
    proofs.extend(uplink.map(|limit| Evidence::new(&*tree.node(chipset.uplink).path, limit.because.clone())));
    proofs.extend(drives.iter().map(|drive| Evidence::new(&*drive.path, "behind it")));
    Detection::new(severity, title)
        .about(drives.iter().map(|drive| Subject::drive(drive)))
        .about([Subject::of_node(inputs.machine, chipset.node)])
        .with_evidence(proofs)
        .with_gain(gain)
}

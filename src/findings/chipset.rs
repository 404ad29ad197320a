//! Drives that share the chipset's uplink with other devices.

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    inputs::{grouped, names, verb},
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
    of_machine: true,
    names_limit: true,
    check: Check::Many(chipset_uplink),
    ..Row::PLAIN
};

fn with_drives<'a>(inputs: &Inputs<'a>) -> Vec<(Chipset, Vec<&'a Drive>)> {
    let behind =
        inputs.nvme().filter_map(|drive| Some((chipset::above(inputs.machine, drive.node?)?, drive)));
    let groups = grouped(behind.map(|(chipset, drive)| (chipset.node, (chipset, drive))));
    let parts = groups.into_values().filter_map(|found| {
        let drives = found.iter().map(|(_, drive)| *drive).collect();
        Some((found.into_iter().next()?.0, drives))
    });
    parts.collect()
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
    let places = flow::Places::new(inputs.machine, inputs.limits);
    let place = places.list.iter().find(|place| place.ways.contains(&chipset.uplink));
    let wanted = place.and_then(|place| places.arriving(inputs.machine, inputs.limits, &place.ways));
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
    let source = CHIPSET_UPLINK.source;
    let (severity, gain) = match uplink.zip(wanted) {
        Some((limit, wanted)) if flow::exceeds(wanted, limit) => {
            let short = wanted - limit.bytes_per_second.0;
            (inputs.weigh(short), inputs.gain(short, source))
        }
        // A drive whose link is as fast as the uplink loses nothing while nothing else is busy.
        Some(_) => {
            (Severity::Info, Gain::words("only while something else behind the chipset is busy", source))
        }
        None => (Severity::Info, Gain::unknown(source)),
    };
    let node = tree.node(chipset.node);
    Detection::new(severity, title)
        .about(drives.iter().map(|drive| Subject::drive(drive)))
        .about([Subject::of_node(inputs.machine, chipset.node)])
        .with_evidence([Evidence::new(&*node.path, format!("the chipset, {}", node.name()))])
        .with_evidence(
            uplink.map(|limit| Evidence::new(&*tree.node(chipset.uplink).path, limit.because.clone())),
        )
        .with_evidence(drives.iter().map(|drive| Evidence::new(&*drive.path, "behind it")))
        .with_gain(gain)
}

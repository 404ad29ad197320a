//! Links with one end known: slower than the drive, and nothing says what the port can do.

use std::collections::BTreeSet;

use super::{
    Check, Detection, Evidence, Inputs, Risk, Row,
    inputs::grouped,
    links::{self, subject_words},
};
use crate::{
    capacity::link,
    machine::{
        HopLink, Link, NodeKind,
        hop::{Pair, sentence, short},
    },
    model::{FindingId, NodeIndex, Reading},
};

pub(super) const LINK_BELOW_DRIVE: Row = Row {
    id: FindingId("link-below-drive"),
    title: "link slower than the drive",
    fires: "a drive's link runs below what the drive can do, and the capability of its port is not known",
    why: "Each lost generation and each halved width halves the link's bandwidth. Either the slot is slower than the drive, or \
          the link came up slower than both ends could be.",
    source: "computed from the link's speed, width and encoding; at most the drive's own rate",
    remedy: "Look at the port's LnkCap: `sudo lspci -vv` on that machine lists it above the drive. If it equals the drive's, \
             reseat the drive; if it is lower, move the drive to a faster slot.",
    risk: Risk::Hardware,
    wrong_if: "The link was in power saving when read, or the drive is passed through to a virtual machine whose host has the \
               port.",
    of_machine: true,
    names_limit: true,
    check: Check::Many(link_below_drive),
    ..Row::PLAIN
};

fn link_below_drive(inputs: &Inputs) -> Vec<Detection> {
    let functions: BTreeSet<NodeIndex> = inputs.nvme().filter_map(|drive| drive.node).collect();
    let found = functions.into_iter().filter_map(|node| Some((slow(inputs, node)?, node)));
    grouped(found).into_iter().map(|((now, most), nodes)| detection(inputs, now, most, &nodes)).collect()
}

/// Now and at most, if the drive's end says both and the port says nothing.
fn slow(inputs: &Inputs, node: NodeIndex) -> Option<(Pair, Pair)> {
    let tree = &inputs.machine.pci;
    let link = HopLink::above(inputs.machine, node)?;
    // A text may have the drive and nothing above it.
    let is_alone = inputs.machine.pasted.is_some()
        && (tree.node(node).is_below_gap
            || tree.node(node).parent.is_none_or(|above| tree.node(above).kind == NodeKind::RootComplex));
    let is_real = link::is_real(tree, node) || is_alone && link::no_limit(tree, node).is_none();
    let is_judged = is_real && !inputs.limits.refuted.contains_key(&node);
    (is_judged && link.port_most.is_none() && link.is_slow()).then_some((link.now?, link.device_most?))
}

fn detection(inputs: &Inputs, now: Pair, most: Pair, nodes: &[NodeIndex]) -> Detection {
    let then = links::retrained(inputs, &nodes.iter().map(|node| (*node, most)).collect::<Vec<_>>());
    let (severity, gain) = links::weighed(inputs, then.as_ref(), LINK_BELOW_DRIVE.source);
    let about = links::subjects_at(inputs, nodes);
    let which = if nodes.len() == 1 { "its link runs" } else { "their links run" };
    let title = format!(
        "{}: {which} at {}, the drive could do {}; {} not known",
        subject_words(&about),
        sentence(now),
        short(most),
        unknown_end(inputs, nodes)
    );
    let (is_slow, is_narrow) = (now.0 < most.0, now.1 < most.1);
    let evidence = nodes.iter().flat_map(|node| {
        let link = inputs.machine.pci.node(*node).link.iter();
        link.flat_map(move |link: &Link| {
            let speed = [shown(&link.speed), shown(&link.max_speed)].map(|proof| proof.filter(|_| is_slow));
            let width = [shown(&link.width), shown(&link.max_width)].map(|proof| proof.filter(|_| is_narrow));
            speed.into_iter().chain(width)
        })
    });
    Detection::new(severity, title).about(about).with_evidence(evidence.flatten()).with_gain(gain)
}

/// What is not known of the links: their ports, or the capability of ports that the tree has.
fn unknown_end(inputs: &Inputs, nodes: &[NodeIndex]) -> &'static str {
    let has_port = |node: &NodeIndex| {
        let node = inputs.machine.pci.node(*node);
        let above = node.parent.filter(|_| !node.is_below_gap);
        above.is_some_and(|above| inputs.machine.pci.node(above).kind != NodeKind::RootComplex)
    };
    match (nodes.iter().all(has_port), nodes.len()) {
        (true, 1) => "the LnkCap of its port is",
        (true, _) => "the LnkCap of their ports is",
        (false, 1) => "the port is",
        (false, _) => "the ports are",
    }
}

fn shown(reading: &Reading<impl ToString>) -> Option<Evidence> {
    Some(Evidence::at(reading, reading.value()?.to_string()))
}

//! Links without drives behind them: graphics, network and capture cards, host adapters.
//!
//! Their gain is the bandwidth of the link; the drives gain nothing, so that it is no sum of theirs.

use std::collections::BTreeSet;

use super::{
    Detection, Evidence, Gain, Inputs, Risk, Subject,
    capped::blamed,
    chipset, free_slots,
    inputs::place,
    judged::{Judged, blame, error_counts, judged, raw},
};
use crate::{
    capacity::link_state,
    machine::{
        Machine, NodeKind,
        hop::{sentence, short, speed_sentence},
    },
    model::{NodeIndex, Severity},
};

const SOURCE: &str = "computed from speed, width and encoding of the link";

/// Links with true registers on no drive's path, each once, at the first function below its port.
pub(super) fn links<'a>(inputs: &Inputs<'a>) -> Vec<Judged<'a>> {
    let tree = &inputs.machine.pci;
    let functions = inputs.machine.hardware_drives().flat_map(|drive| inputs.machine.functions_of(drive));
    let way: BTreeSet<NodeIndex> = functions.flat_map(|node| tree.whole_ancestry(node)).collect();
    // A text may lack the class of a port, and the link of a card's first function.
    let ports = tree.iter().filter(|(_, node)| node.kind != NodeKind::RootComplex);
    let apart = ports.filter(|(_, port)| !port.children.iter().any(|function| way.contains(function)));
    apart.filter_map(|(_, port)| first_judged(inputs, &port.children)).collect()
}

/// The first link of functions below one port that can be judged.
fn first_judged<'a>(inputs: &Inputs<'a>, functions: &[NodeIndex]) -> Option<Judged<'a>> {
    let tree = &inputs.machine.pci;
    let outside = functions.iter().filter(|function| !link_state::is_inside_card(tree, **function));
    outside.copied().find_map(|function| judged(inputs, function))
}

/// `NVIDIA Quadro P620 (0000:41:00.0)`; a card behind its own switch by its chip.
fn name(machine: &Machine, link: &Judged) -> String {
    let tree = &machine.pci;
    // A chipset has other devices behind it than its own.
    let below =
        if crate::capacity::chipset::is_port(link.device) { Vec::new() } else { tree.subtree(link.child) };
    let ends = below.iter().map(|at| tree.node(*at)).filter(|node| node.kind == NodeKind::Endpoint);
    let product = ends.chain([link.device]).find_map(crate::machine::PciNode::product);
    let address = link.device.address;
    product.map_or_else(|| address.to_string(), |product| format!("{product} ({address})"))
}

/// The gain of a faster link. Drives behind a storage controller would have it, and none is known there.
fn carried(inputs: &Inputs, link: &Judged, now: f64, then: f64) -> Gain {
    const STORAGE: u32 = 0x01;
    let tree = &inputs.machine.pci;
    let is_storage = |at: &NodeIndex| tree.node(*at).class.get().is_some_and(|class| class >> 16 == STORAGE);
    let drives = if tree.subtree(link.child).iter().any(is_storage) {
        "no drive is known behind it"
    } else {
        "drives gain nothing"
    };
    let text =
        format!("its link could carry {} instead of {}; {drives}", inputs.rate(then), inputs.rate(now));
    Gain { estimate: true, ..Gain::words(text, SOURCE) }
}

pub(super) fn downtrained(inputs: &Inputs, link: &Judged) -> Option<Detection> {
    let tree = &inputs.machine.pci;
    let sleeps = link_state::lowers_speed(tree, link.child);
    let is_narrow = link.is_narrow();
    let is_fault = link.is_below() && (link.cap().is_none() || is_narrow) && (is_narrow || !sleeps);
    if !is_fault {
        return None;
    }
    let name = name(inputs.machine, link);
    let (title, now) = if sleeps && link.now.0 < link.most.0 {
        let title = format!(
            "{name}: its link runs at {}, could be {} ({} while idle)",
            link.now.1,
            link.most.1,
            speed_sentence(link.now.0)
        );
        (title, (link.most.0, link.now.1))
    } else {
        (format!("{name}: its link runs at {}, could be {}", sentence(link.now), short(link.most)), link.now)
    };
    let errors = error_counts(&[link.device, link.port]);
    let blame = blame("The device", link, !errors.is_empty());
    let proofs = link.shortfall().into_iter().filter(|proof| !sleeps || proof.path.ends_with("_width"));
    Some(
        Detection::new(Severity::Warning, title)
            .about([Subject::of_node(inputs.machine, link.child)])
            .with_evidence(proofs)
            .with_evidence(errors)
            .with_gain(carried(inputs, link, raw(now), raw(link.most)))
            .fill("blame", blame),
    )
}

pub(super) fn slot_limited(inputs: &Inputs, link: &Judged) -> Option<Detection> {
    if raw(link.most) >= raw(link.device_most) || chipset::is_uplink(inputs, link.child) {
        return None;
    }
    let name = name(inputs.machine, link);
    let slot = link.port.slot.as_ref().map_or_else(|| "the slot".to_owned(), |slot| format!("slot {slot}"));
    let title = format!("{name}: could do {}, {slot} gives {}", short(link.device_most), sentence(link.most));
    let detection = Detection::new(Severity::Info, title)
        .about([Subject::of_node(inputs.machine, link.child)])
        .with_evidence(link.proofs());
    let port = link.device.parent?;
    Some(match free_slots::better_free_slot(inputs, port, raw(link.most)) {
        Some((target, rate)) => detection
            .with_gain(carried(inputs, link, raw(link.most), rate))
            .fill("what", "the card")
            .fill("target", target),
        None => detection
            .with_gain(Gain::words(
                if inputs.machine.pasted.is_some() {
                    "none in this text: no free slot there gives the card more"
                } else {
                    "none: no free slot gives the card more"
                },
                SOURCE,
            ))
            .with_remedy("Nothing to do, unless the card needs more than the slot gives.", Risk::None),
    })
}

pub(super) fn capped(inputs: &Inputs, link: &Judged) -> Option<Detection> {
    let cap = link.cap()?;
    let lowest = crate::units::TransferRate::from_code(1);
    // A display's driver may lower the target while the display idles.
    if link_state::lowers_speed(&inputs.machine.pci, link.child) && Some(cap) == lowest {
        return None;
    }
    let (severity, gain) = if link.now.0 < link.most.0 {
        let gain =
            carried(inputs, link, raw((cap.min(link.most.0), link.now.1)), raw((link.most.0, link.now.1)));
        (Severity::Warning, gain)
    } else {
        (Severity::Info, Gain::words("none until the link trains again", SOURCE))
    };
    let title = format!(
        "{}: port {} is capped at {}, both ends can do {}",
        name(inputs.machine, link),
        place(link.port),
        speed_sentence(cap),
        speed_sentence(link.most.0)
    );
    let target = format!("{}/config LnkCtl2", link.port.path);
    let detection = Detection::new(severity, title)
        .about([Subject::of_node(inputs.machine, link.child)])
        .with_evidence([Evidence::new(target, format!("Target Link Speed {cap}"))])
        .with_evidence(link.proofs())
        .with_gain(gain);
    Some(blamed(inputs, detection, link.port, cap))
}

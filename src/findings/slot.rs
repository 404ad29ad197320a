//! The narrowest hop on a drive's path where it runs at its capability: a slot, a switch uplink, a port of an older
//! generation.

use std::collections::BTreeSet;

use super::{
    Check, Detection, Gain, Inputs, Risk, Row, Subject, cards, chipset,
    free_slots::{free_slots, most_of},
    inputs::{grouped, place, total},
    judged::{Judged, judged, raw},
    links::{self, NOTHING, subject_words, subjects},
};
use crate::{
    capacity::{
        self, Slot,
        exchange::{Exchanged, exchange},
        slots,
    },
    machine::{
        Machine,
        hop::{Pair, sentence, short},
    },
    model::{FindingId, NodeIndex, Severity},
    units::{Lanes, counted},
};

pub(super) const SLOT_LIMITED: Row = Row {
    id: FindingId("slot-limited"),
    title: "slot slower than the device",
    fires: "the narrowest hop on a drive's path runs at its port's or switch's maximum, and that is less than the drive's own \
            link could use: a warning or more if a free slot would give more; or a card without drives is in such a slot",
    why: "No link is at fault: the slot, or the switch above it, is slower than the device.",
    source: "computed from speed, width and encoding of the links",
    remedy: "Move {what} to {target}.",
    generally: "Move the drive or card to a slot that gives more; the finding names one that is free.",
    risk: Risk::Hardware,
    wrong_if: "The port's capability register does not describe the slot (some boards report x16 for a slot wired x4), or the free \
               port leads to no socket.",
    of_machine: true,
    names_limit: true,
    check: Check::Many(slot_limited),
    ..Row::PLAIN
};

/// The narrow part of a path: slots, grouped by the capability of drive and slot, or the uplink above one switch.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Narrow {
    Slot { device: Pair, most: Pair },
    Uplink { switch: NodeIndex, device: Pair },
}

fn slot_limited(inputs: &Inputs) -> Vec<Detection> {
    // Namespaces of one controller share its link.
    let functions: BTreeSet<NodeIndex> = inputs.nvme().filter_map(|drive| drive.node).collect();
    let found = functions.into_iter().filter_map(|node| {
        let own = judged(inputs, node)?;
        let hop = judged(inputs, inputs.limits.path(node)?.node?)?;
        let narrow = if hop.child == node {
            Narrow::Slot { device: own.device_most, most: hop.most }
        } else {
            Narrow::Uplink { switch: hop.child, device: own.device_most }
        };
        // Other findings cover faulty links and shared chipsets.
        let is_own = raw(hop.most) < raw(own.device_most) && !chipset::is_uplink(inputs, hop.child);
        is_own.then_some((narrow, own))
    });
    let drives = grouped(found).into_iter().map(|(narrow, held)| detection(inputs, &narrow, &held));
    drives.chain(cards::links(inputs).iter().filter_map(|link| cards::slot_limited(inputs, link))).collect()
}

fn detection(inputs: &Inputs, narrow: &Narrow, held: &[Judged]) -> Detection {
    let drives = subjects(inputs, held);
    let names = subject_words(&drives);
    let many = if held.len() == 1 { "the drive" } else { "the drives" };
    let own_ports: Vec<NodeIndex> =
        held.iter().filter_map(|link| port_of(inputs.machine, link.child)).collect();
    let (detection, offer) = match narrow {
        Narrow::Slot { device, most } => {
            let slot = match held {
                [one] => one.port.slot.as_ref().map(|slot| format!("slot {slot}")),
                _ => None,
            };
            let slot = slot.unwrap_or_else(|| "the slot".to_owned());
            let title = format!("{names}: could do {}, {slot} gives {}", short(*device), sentence(*most));
            let proofs = held.iter().flat_map(Judged::proofs);
            let detection = Detection::new(Severity::Info, title).about(drives).with_evidence(proofs);
            (detection.fill("what", many), best_offer(inputs, &own_ports))
        }
        Narrow::Uplink { switch, device } => {
            let hop = judged(inputs, *switch);
            let most = hop.as_ref().map_or_else(String::new, |hop| sentence(hop.most));
            let address = inputs.machine.pci.node(*switch).address;
            let title =
                format!("{names}: could do {}, the link above switch {address} gives {most}", short(*device));
            let detection = Detection::new(Severity::Info, title)
                .about([Subject::of_node(inputs.machine, *switch)])
                .about(drives)
                .with_evidence(hop.iter().flat_map(Judged::proofs))
                .with_evidence(held.iter().flat_map(Judged::proofs));
            let card = port_of(inputs.machine, *switch).and_then(|port| best_offer(inputs, &[port]));
            let apart = best_offer(inputs, &own_ports);
            let gain = |offer: &Option<Offer>| offer.as_ref().map_or(0.0, |offer| offer.gain);
            if gain(&card) >= gain(&apart) {
                (detection.fill("what", format!("the card with switch {address}")), card)
            } else {
                (detection.fill("what", many), apart)
            }
        }
    };
    if let Some(offer) = offer {
        let gain = inputs.gain(offer.gain, SLOT_LIMITED.source);
        return detection
            .with_severity(inputs.weigh(offer.gain))
            .with_gain(gain)
            .fill("target", offer.target);
    }
    let loss = loss(inputs, narrow, held, None);
    let faster = fastest_port(inputs.machine)
        .map(|port| (port, self::loss(inputs, narrow, held, Some(port))))
        .filter(|(_, gain)| *gain > NOTHING);
    let source = SLOT_LIMITED.source;
    // A text may be an excerpt.
    let is_text = inputs.machine.pasted.is_some();
    let here = if is_text { "in this text" } else { "on this machine" };
    let (gain, remedy, risk) = match faster {
        Some((_, gain)) => (
            inputs.gain(gain, source),
            if is_text {
                "No free slot in this text is faster. A port of it can do {port}: swap {what} with the device there."
            } else {
                "No free slot is faster. A port of this machine can do {port}: swap {what} with the device there."
            },
            Risk::Hardware,
        ),
        None if loss > NOTHING => {
            let text = format!("none {here}; a faster slot would bring {}", inputs.rate(loss));
            let remedy = "No slot {here} is faster: nothing to do.";
            (Gain::words(text, source), remedy, Risk::None)
        }
        None => (
            Gain::words("none: another limit is lower", source),
            "Nothing to do: a faster slot would not raise its throughput.",
            Risk::None,
        ),
    };
    let port = faster.map_or_else(String::new, |(port, _)| sentence(port));
    detection.with_gain(gain).with_remedy(remedy, risk).fill("port", port).fill("here", here)
}

/// The fastest port of this machine that a drive could use.
fn fastest_port(machine: &Machine) -> Option<Pair> {
    let ports = machine.pci.iter().filter(|(index, _)| slots::is_slot(&machine.pci, *index));
    let most = ports.filter_map(|(index, _)| most_of(machine, index));
    most.map(|(speed, width)| (speed, width.min(Lanes(4)))).max_by(|a, b| raw(*a).total_cmp(&raw(*b)))
}

/// Gain of all drives together if the hop had the capability of the drives' own links, or of a slot in its place.
fn loss(inputs: &Inputs, narrow: &Narrow, held: &[Judged], slot: Option<Pair>) -> f64 {
    let rate = |machine: &Machine| total(machine, &capacity::limits(machine));
    let run_at = |pairs: Vec<(NodeIndex, Pair)>| links::retrained(inputs, &pairs);
    let difference = match narrow {
        Narrow::Slot { device, most } => {
            let at = |pair: Pair| run_at(held.iter().map(|link| (link.child, pair)).collect());
            let could = slot.map_or(*device, |slot| (slot.0.min(device.0), slot.1.min(device.1)));
            at(could).zip(at(*most)).map(|(then, now)| rate(&then) - rate(&now))
        }
        // The link above a switch moves with its card: only a free slot can replace it.
        Narrow::Uplink { .. } if slot.is_some() => None,
        Narrow::Uplink { switch, .. } => judged(inputs, *switch)
            .and_then(|hop| run_at(vec![(*switch, hop.most)]))
            .map(|now| total(&now, &capacity::limits_without(&now, &[*switch])) - rate(&now)),
    };
    difference.unwrap_or(0.0)
}

fn port_of(machine: &Machine, node: NodeIndex) -> Option<NodeIndex> {
    machine.pci.node(node).parent
}

/// Free slots for the devices on some ports, and the gain of all drives together after moving them.
struct Offer {
    gain: f64,
    /// `the free slot 0000:00:03.1 (Gen4 x4)`.
    target: String,
}

/// Maximum devices moved and slots tried for one finding.
const MOST: usize = 8;

/// Targets for the devices on these ports, one after the other, with the highest rate of all drives together; `None`
/// if no free slot gives more.
fn best_offer(inputs: &Inputs, ports: &[NodeIndex]) -> Option<Offer> {
    let now = inputs.total();
    let mut then = Exchanged::nothing(inputs.machine);
    let mut reached = now;
    let mut targets = Vec::new();
    for port in ports.iter().take(MOST) {
        let Some(port) = then.now(*port) else { continue };
        let machine = &then.machine;
        let moves = free_slots(machine, port).into_iter().take(MOST).map(|free| {
            let next = exchange(machine, &Slot::of([port]), &Slot::of([free]));
            (total(&next.machine, &capacity::limits(&next.machine)), free, next)
        });
        let Some((rate, free, next)) = moves.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) else {
            continue;
        };
        if rate > reached + NOTHING {
            let most = most_of(machine, free).map_or_else(String::new, |most| format!(" ({})", short(most)));
            let was = then.was.get(free.0).copied().flatten();
            let port = was.map_or(machine.pci.node(free), |was| inputs.machine.pci.node(was));
            targets.push(format!("{}{most}", place(port)));
            then = std::mem::replace(&mut then, Exchanged::nothing(inputs.machine)).then(next);
            reached = rate;
        }
    }
    let target = match targets.as_slice() {
        [] => return None,
        [one] => format!("the free slot {one}"),
        many => format!("the {} {}", counted(many.len(), "free slot"), many.join(", ")),
    };
    Some(Offer { gain: reached - now, target })
}

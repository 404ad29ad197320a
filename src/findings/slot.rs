//! The narrowest hop on a drive's path where it runs at its capability: a slot, a switch uplink, a port of an older
//! generation.

use std::collections::BTreeSet;

use super::{
    Check, Detection, Gain, Inputs, Risk, Row, Subject, SubjectKind, cards, chipset,
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
    let loss = loss(inputs, narrow, held);
    let swap = match narrow {
        Narrow::Slot { .. } => best_swap(inputs, held),
        // The link above a switch moves with its card.
        Narrow::Uplink { .. } => None,
    };
    let source = SLOT_LIMITED.source;
    // A text may be an excerpt.
    let is_text = inputs.machine.pasted.is_some();
    let here = if is_text { "in this text" } else { "on this machine" };
    let (gain, remedy, risk) = match &swap {
        Some(swap) => (
            inputs.gain(swap.gain, source),
            "No free slot {here} is faster. {port} can do {speed}: swap {mover} with {other} there.",
            Risk::Hardware,
        ),
        None if loss > NOTHING => {
            let text = format!("none {here}; a faster slot would bring {}", inputs.rate(loss));
            let remedy = "No free slot {here} is faster, and no swap gains: nothing to do.";
            (Gain { out_of_reach: Some(loss), ..Gain::words(text, source) }, remedy, Risk::None)
        }
        None => (
            Gain::words("none: another limit is lower", source),
            "Nothing to do: a faster slot would not raise its throughput.",
            Risk::None,
        ),
    };
    let detection = detection.with_gain(gain).with_remedy(remedy, risk).fill("here", here);
    match swap {
        Some(Swap { port, speed, what, other, .. }) => {
            detection.fill("port", port).fill("speed", speed).fill("mover", what).fill("other", other)
        }
        None => detection,
    }
}

/// An exchange with the device in a faster slot.
struct Swap {
    /// Gain of all drives together.
    gain: f64,
    /// `Slot 3 (0000:00:01.2)`.
    port: String,
    speed: String,
    /// The drive that moves.
    what: String,
    /// The device that makes room.
    other: String,
}

/// The exchange of one of these drives with a device in a faster slot that gains most; `None` if none gains. A link
/// that trained below both its ends may have a bad slot, and a graphics card would lose by it.
fn best_swap(inputs: &Inputs, held: &[Judged]) -> Option<Swap> {
    const DISPLAY: u32 = 0x03;
    let (machine, tree, now) = (inputs.machine, &inputs.machine.pci, inputs.total());
    let candidates = tree.iter().filter(|(port, node)| {
        let sound = |child: &NodeIndex| judged(inputs, *child).is_none_or(|link| !link.is_below());
        let is_display =
            |child: &NodeIndex| tree.node(*child).class.get().is_some_and(|it| it >> 16 == DISPLAY);
        !node.children.is_empty()
            && node.children.iter().all(sound)
            && !node.children.iter().any(is_display)
            && slots::is_slot(tree, *port)
    });
    let mut faster: Vec<(Pair, NodeIndex)> =
        candidates.filter_map(|(port, _)| Some((most_of(machine, port)?, port))).collect();
    faster.sort_by(|a, b| raw((b.0.0, b.0.1.min(Lanes(4)))).total_cmp(&raw((a.0.0, a.0.1.min(Lanes(4))))));
    let swaps = held.iter().take(MOST).filter_map(|link| {
        let (own, from) = (port_of(machine, link.child)?, Slot::of([port_of(machine, link.child)?]));
        let could =
            |(speed, width): Pair| raw((speed.min(link.device_most.0), width.min(link.device_most.1)));
        let faster = faster.iter().filter(|(pair, port)| *port != own && could(*pair) > could(link.most));
        let tried = faster.take(MOST).filter_map(|(pair, port)| {
            let to = Slot::of([*port]);
            slots::can_change_places(tree, &from, &to).then_some(())?;
            let then = exchange(machine, &from, &to).machine;
            let gain = total(&then, &capacity::limits(&then)) - now;
            (gain > NOTHING).then_some((gain, *pair, *port))
        });
        let best = tried.reduce(|best, next| if next.0 > best.0 + NOTHING { next } else { best });
        best.map(|best| (best, link))
    });
    let best = swaps.reduce(|best, next| if next.0.0 > best.0.0 + NOTHING { next } else { best });
    let ((gain, pair, port), link) = best?;
    let child = *tree.node(port).children.first()?;
    let drives = links::subjects_at(inputs, &[child]);
    let is_drive = drives.iter().any(|subject| subject.kind == SubjectKind::Drive);
    let product = tree.node(child).product().unwrap_or_else(|| tree.node(child).name());
    Some(Swap {
        gain,
        port: format!("Port {}", place(tree.node(port))),
        speed: short(pair),
        what: subject_words(&subjects(inputs, std::slice::from_ref(link))),
        other: if is_drive { subject_words(&drives) } else { product },
    })
}

/// Gain of all drives together if the hop had the capability of the drives' own links.
fn loss(inputs: &Inputs, narrow: &Narrow, held: &[Judged]) -> f64 {
    let rate = |machine: &Machine| total(machine, &capacity::limits(machine));
    let run_at = |pairs: Vec<(NodeIndex, Pair)>| links::retrained(inputs, &pairs);
    let difference = match narrow {
        Narrow::Slot { device, most } => {
            let at = |pair: Pair| run_at(held.iter().map(|link| (link.child, pair)).collect());
            at(*device).zip(at(*most)).map(|(then, now)| rate(&then) - rate(&now))
        }
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

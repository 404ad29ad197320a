//! The tree: shared root complexes and hops, bifurcation, VMD.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject, chipset,
    inputs::{count_drives, drives, names, severity},
};
use crate::{
    capacity::{
        self, Slot, Total,
        bottleneck::{self, Bottleneck},
        exchange::{Exchanged, exchange},
        flow, slots,
    },
    machine::{Drive, DriveKind, Machine, NodeKind, PciNode, PciTree, pci::NodeAddress},
    model::{Basis, FindingId, NodeIndex, Severity},
};

pub(super) const SHARED_ROOT_COMPLEX: Row = Row {
    id: FindingId("shared-root-complex"),
    title: "drives share one root complex",
    fires: "drives of several slots are under one root complex (a pciDDDD:BB folder) while another one with a slot wide enough \
            has none; and either their combined demand is above the root complex's known limit, or its limit \
            is unknown",
    why: "All devices under a root complex share its path to memory. Tanel Poder (2021) got 50 GiB/s from ten drives with two quad \
          cards under one root complex, and 66 GiB/s after one card swapped slots with the graphics card.",
    source: "computed from the limits of the tree, the root complex's own {basis} among them",
    remedy: "Swap {what} with {other} in {target}.",
    generally: "Move a drive to a slot of another root complex, or swap it with a card there.",
    risk: Risk::Hardware,
    wrong_if: "The drives are never busy at the same time, or the root complex carries more than assumed: run all \
               its drives at once to measure it.",
    of_machine: true,
    names_limit: true,
    check: Check::Many(shared_root_complex),
    ..Row::PLAIN
};

pub(super) const OVERSUBSCRIBED_HOP: Row = Row {
    id: FindingId("oversubscribed-hop"),
    title: "drives oversubscribe their shared link",
    fires: "the path limits of the drives below a switch, bridge, root complex or slot with several functions add up to more \
            than its own limit, and the drives are fast enough to fill it (namespaces of one controller count once): above 1.0 \
            information, above 1.5 a warning",
    why: "Each drive alone gets its full speed; all together they share the hop's limit.",
    source: "computed from the limits of the tree",
    remedy: "Spread the drives over several slots, or do not expect full speed from all at once.",
    risk: Risk::Hardware,
    wrong_if: "The drives are never busy at the same time.",
    of_machine: true,
    names_limit: true,
    check: Check::Many(oversubscribed_hop),
    ..Row::PLAIN
};

pub(super) const BIFURCATION_MISSING: Row = Row {
    id: FindingId("bifurcation-missing"),
    title: "a wide slot shows one narrow drive",
    fires: "a port with a slot of at least x8 has a single x4 drive behind it",
    why: "A card for several drives without a switch needs the slot split into x4 links; otherwise only its first drive appears.",
    remedy: "How many drives does the card in that slot hold? If more than one, set the slot's bifurcation to {split} in the \
             BIOS (some call it PCIe RAID mode).",
    generally: "If the card in that slot holds several drives, set the slot's bifurcation in the BIOS: x4x4 of a x8 slot, \
                x4x4x4x4 of a x16 slot.",
    risk: Risk::Firmware,
    wrong_if: "The card holds one drive.",
    of_machine: true,
    check: Check::Many(bifurcation_missing),
    ..Row::PLAIN
};

pub(super) const BEHIND_VMD_OR_RAID: Row = Row {
    id: FindingId("behind-vmd-or-raid"),
    title: "drives behind VMD",
    fires: "a drive's PCI domain is 0x10000 or above, or the vmd driver is bound above it",
    why: "The drives share VMD's interrupt vectors, and their real root ports are hidden from the kernel.",
    remedy: "Information only. VMD can be disabled in the BIOS, but a system installed with it may not boot then.",
    wrong_if: "The domain belongs to another host bridge with a large number.",
    of_machine: true,
    check: Check::One(behind_vmd),
    ..Row::PLAIN
};

/// A slot with drives in it.
struct Card<'a> {
    slot: Slot,
    drives: Vec<&'a Drive>,
    wants: f64,
}

/// The slots with drives by the outermost root complex whose bus they are on, and all slots below each outermost root complex
/// without drives.
struct Cards<'a> {
    places: flow::Places,
    free: Vec<(NodeIndex, Vec<Slot>)>,
    by_root: BTreeMap<NodeIndex, Vec<Card<'a>>>,
    drive_nodes: HashSet<NodeIndex>,
}

impl<'a> Cards<'a> {
    fn new(inputs: &Inputs<'a>) -> Self {
        let (machine, tree) = (inputs.machine, &inputs.machine.pci);
        let places = flow::Places::new(machine, inputs.limits);
        let mut below: BTreeMap<NodeIndex, Vec<&Drive>> = BTreeMap::new();
        for drive in inputs.nvme().filter(|drive| is_real_nvme(inputs, drive)) {
            let functions = machine.functions_of(drive);
            let above: BTreeSet<_> = functions.into_iter().flat_map(|at| tree.whole_ancestry(at)).collect();
            for at in above {
                below.entry(at).or_default().push(drive);
            }
        }
        let slots = slots::all(machine);
        let mut by_root: BTreeMap<NodeIndex, Vec<Card>> = BTreeMap::new();
        for slot in &slots {
            // On the root bus, or on a root bus of VMD below it.
            let bus = tree.node(slot.ports[0]).parent;
            let Some(bus) = bus.filter(|bus| tree.node(*bus).kind == NodeKind::RootComplex) else { continue };
            let drives = slot.ports.iter().filter_map(|port| below.get(port));
            let drives: Vec<&Drive> = drives.flatten().copied().collect();
            if drives.is_empty() {
                continue;
            }
            // Demand through the ports, limited by their own links.
            let wants = places.arriving(machine, inputs.limits, &slot.ports).unwrap_or(0.0);
            let card = Card { slot: slot.clone(), drives, wants };
            by_root.entry(tree.outermost_root(bus)).or_default().push(card);
        }
        let mut by_place: BTreeMap<NodeIndex, Vec<Slot>> = BTreeMap::new();
        for slot in slots {
            by_place.entry(tree.outermost_root(slot.ports[0])).or_default().push(slot);
        }
        let free = capacity::outermost_roots(tree).filter(|root| !below.contains_key(root));
        let free = free.map(|root| (root, by_place.remove(&root).unwrap_or_default())).collect();
        Self { places, free, by_root, drive_nodes: slots::drive_nodes(machine) }
    }

    /// Root complexes without drives, the slots there, and the cards that could move from `root` to them.
    fn moves(&self, root: NodeIndex) -> impl Iterator<Item = (NodeIndex, &[Slot], &Card<'a>)> {
        let targets = self.free.iter().filter(move |(target, _)| *target != root);
        targets.flat_map(move |(target, slots)| {
            let cards = self.by_root.get(&root).into_iter().flatten();
            cards.map(move |card| (*target, slots.as_slice(), card))
        })
    }

    /// The best of these slots for a card, if it has room for all of it.
    fn slot_for(&self, tree: &PciTree, slots: &[Slot], card: &Card) -> Option<Slot> {
        let slot = slots::best_of(tree, slots, &self.drive_nodes, &card.slot, &[])?;
        let lanes = slot.lanes(tree).or_else(|| slot.lanes_of_graphics(tree))?;
        (lanes >= card.slot.needs(tree)).then_some(slot)
    }

    /// Whether its drives could read more than a root complex carries, and one of its cards could move.
    fn is_shared(&self, inputs: &Inputs, root: NodeIndex) -> bool {
        let cards = self.by_root.get(&root).map_or(&[][..], Vec::as_slice);
        crowding(inputs, root, cards).is_some()
            && self
                .moves(root)
                .any(|(_, slots, card)| self.slot_for(&inputs.machine.pci, slots, card).is_some())
    }
}

fn is_real_nvme(inputs: &Inputs, drive: &Drive) -> bool {
    let is_emulated = |node: NodeIndex| inputs.machine.pci.node(node).is_emulated();
    drive.kind == DriveKind::Nvme && !drive.node.is_some_and(is_emulated)
}

/// A card that could move to a slot of another root complex.
struct Offer<'c, 'a> {
    card: &'c Card<'a>,
    target: NodeIndex,
    slot: Slot,
}

/// Cards under a root complex that limits them, and the best move of one of them.
struct Bunch<'c, 'a> {
    root: NodeIndex,
    cards: &'c [Card<'a>],
    wanted: f64,
    offer: Offer<'c, 'a>,
}

/// The best move of a card from `root` to a root complex without drives: the one with the highest rate there.
fn best_offer<'c, 'a>(inputs: &Inputs<'a>, all: &'c Cards<'a>, root: NodeIndex) -> Option<Offer<'c, 'a>> {
    let own = |node| inputs.limits.hop(node).map_or(f64::INFINITY, |limit| limit.bytes_per_second.0);
    let mut best: Option<(f64, Offer)> = None;
    for (target, slots, card) in all.moves(root) {
        let rate = own(target).min(card.wants);
        // The first of the best; a slot is looked for only where it would bring more.
        if best.as_ref().is_none_or(|(most, _)| rate > *most)
            && let Some(slot) = all.slot_for(&inputs.machine.pci, slots, card)
        {
            best = Some((rate, Offer { card, target, slot }));
        }
    }
    best.map(|(_, offer)| offer)
}

impl Offer<'_, '_> {
    /// The difference of the rates with the move and `now`; `None` if a limit is unknown. The drives of other root complexes read
    /// as much as before.
    fn gain(&self, machine: &Machine, now: &Total) -> Option<f64> {
        let root = machine.pci.outermost_root(self.card.slot.ports[0]);
        let part = Exchanged::part(machine, &[root, self.target]);
        let slot = |slot: &Slot| {
            slot.ports.iter().map(|port| part.now(*port)).collect::<Option<Vec<_>>>().map(Slot::of)
        };
        let then = exchange(&part.machine, &slot(&self.card.slot)?, &slot(&self.slot)?).machine;
        let shares = part.machine.drives.iter().filter_map(|drive| now.shares.get(&drive.name));
        let today: f64 = shares.map(|share| share.bytes_per_second.0).sum();
        Some(capacity::total(&then, &capacity::limits(&then)).bytes_per_second?.0 - today)
    }

    /// What is in the slot; `None` of a free one.
    fn other(&self, tree: &PciTree) -> Option<NodeIndex> {
        self.slot.ports.iter().find_map(|port| tree.node(*port).children.first().copied())
    }
}

/// Lanes of one x16 slot: with fewer lanes of drives a root complex is hardly the limit.
const ONE_SLOT: u32 = 16;

fn shared_root_complex(inputs: &Inputs) -> Vec<Detection> {
    let cards = Cards::new(inputs);
    let now = LazyCell::new(|| capacity::total(inputs.machine, inputs.limits));
    bunches(inputs, &cards).map(|bunch| bunched(inputs, &bunch, || &now)).collect()
}

fn bunches<'c, 'a>(inputs: &'c Inputs<'a>, all: &'c Cards<'a>) -> impl Iterator<Item = Bunch<'c, 'a>> {
    all.by_root.iter().filter_map(move |(root, cards)| {
        let wanted = crowding(inputs, *root, cards)?;
        Some(Bunch { root: *root, cards, wanted, offer: best_offer(inputs, all, *root)? })
    })
}

/// What the drives of these cards under a root complex could read, if it is more than the root complex carries.
fn crowding(inputs: &Inputs, root: NodeIndex, cards: &[Card]) -> Option<f64> {
    let tree = &inputs.machine.pci;
    let wanted: f64 = cards.iter().map(|card| card.wants).sum();
    let lanes: u32 = cards.iter().map(|card| card.slot.needs(tree)).sum();
    // Without link speeds, as in a drawing of the tree, the demand is unknown.
    let known = inputs.limits.hop(root).filter(|_| wanted > 0.0);
    let carries = known.map_or(lanes <= ONE_SLOT, |limit| wanted <= limit.bytes_per_second.0);
    (cards.len() > 1 && !carries).then_some(wanted)
}

/// `now` is all drives together today.
fn bunched<'t>(inputs: &Inputs, bunch: &Bunch, now: impl FnOnce() -> &'t Total) -> Detection {
    let tree = &inputs.machine.pci;
    let Bunch { root, cards, wanted, offer } = bunch;
    let (root, wanted, limit) = (*root, *wanted, inputs.limits.hop(*root));
    let drives: Vec<_> = cards.iter().flat_map(|card| card.drives.iter().copied()).collect();
    let (name, target) = (tree.node(root).address, tree.node(offer.target).address);
    let title = format!("{} share root complex {name} while {target} has none", count_drives(&drives));
    let ports: Vec<_> =
        offer.card.slot.ports.iter().map(|port| tree.node(*port).address.to_string()).collect();
    let moved = format!(
        "the {} that holds {} ({} behind {})",
        // A drawing shows ports and no card.
        if inputs.machine.pasted.is_some() { "card or slot" } else { "card" },
        first_to_last(&offer.card.drives),
        count_drives(&offer.card.drives),
        range(&ports)
    );
    let port = tree.node(offer.slot.ports[0]);
    let port = port.slot.as_ref().map_or_else(
        || format!("port {}", port.address),
        |slot| format!("slot {slot}, port {}", port.address),
    );
    let in_the_way = offer.other(tree);
    let (other, place) = match in_the_way {
        Some(other) => {
            let (kind, name) = card_name(tree.node(other));
            (kind, format!("{target} ({name}, {port})"))
        }
        None => ("", format!("{target} ({port})")),
    };
    let of_root = |value: String| Evidence::new(&*tree.node(root).path, value);
    let wants =
        (wanted > 0.0).then(|| of_root(format!("its drives could read {} together", inputs.rate(wanted))));
    let carries = limit.map(|limit| {
        of_root(format!("carries {}, {}", inputs.rate(limit.bytes_per_second.0), limit.because))
    });
    let below = drives.iter().map(|drive| Evidence::new(&*drive.path, format!("under root complex {name}")));
    let subjects: Vec<Subject> = std::iter::once(Subject::of_node(inputs.machine, root))
        .chain(drives.iter().map(|drive| Subject::drive(drive)))
        .collect();
    let is_weighed = wanted > 0.0 && !inputs.is_known(SHARED_ROOT_COMPLEX.id, &title, &subjects);
    let gain = limit.filter(|_| is_weighed).and_then(|_| {
        let now = now();
        Some((now.bytes_per_second?.0, offer.gain(inputs.machine, now)?))
    });
    let (severity, gain) = match (limit, gain) {
        (Some(limit), Some((now, gain))) => {
            let word = match limit.basis {
                Basis::Measured => "measured",
                Basis::Published => "published",
                Basis::Link | Basis::Table => "known",
            };
            let carries = format!("{word} {}", inputs.rate(limit.bytes_per_second.0));
            let source = SHARED_ROOT_COMPLEX.source.replace("{basis}", &carries);
            (severity(gain, now), inputs.gain(gain, source))
        }
        (Some(_), None) => {
            let which = if wanted > 0.0 {
                "not every drive has a known link or rate"
            } else {
                "no link speed of these drives is known"
            };
            (Severity::Warning, Gain::words("unknown", which))
        }
        (None, _) => (
            Severity::Warning,
            Gain::words(
                format!("unknown: no published limit of {name}; run its drives at once to measure it"),
                "no measured or published limit for this host bridge",
            ),
        ),
    };
    let detection = Detection::new(severity, title);
    let detection = match in_the_way {
        Some(_) => detection.fill("other", other),
        None => detection.with_remedy("Move {what} to a free slot of {target}.", Risk::Hardware),
    };
    detection
        .about(subjects)
        .with_evidence(wants.into_iter().chain(carries))
        .with_evidence([Evidence::new(&*tree.node(offer.target).path, "no drive below")])
        .with_evidence(below)
        .with_gain(gain)
        .fill("what", moved)
        .fill("target", place)
}

/// `nvme0n1 to nvme3n1`, `nvme0n1 and nvme1n1`.
fn first_to_last(drives: &[&Drive]) -> String {
    match drives {
        [first, _, .., last] if drives.len() > 2 => format!("{} to {}", first.name, last.name),
        few => names(few),
    }
}

/// The kind of a device in plain words, and its name.
fn card_name(node: &PciNode) -> (&'static str, String) {
    let kind = match node.class.get().map(|class| class >> 16) {
        Some(0x02) => "the network card",
        Some(0x03) => "the graphics card",
        _ => "the card",
    };
    (kind, node.product().unwrap_or_else(|| node.name()))
}

/// `0000:40:03.1-0000:40:03.4`, or the only one.
fn range(ports: &[String]) -> String {
    match ports {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.clone(),
        [] => String::new(),
    }
}

fn oversubscribed_hop(inputs: &Inputs) -> Vec<Detection> {
    // `shared-root-complex` and `chipset-uplink` have the others.
    let cards = Cards::new(inputs);
    let mut short = bottleneck::find_in(&cards.places, inputs.machine, inputs.limits, None, &[]);
    short.retain(|short| !cards.is_shared(inputs, short.node) && !chipset::is_uplink(inputs, short.node));
    short.sort_by_key(|short| short.node);
    short.iter().map(|short| oversubscribed(inputs, short)).collect()
}

fn oversubscribed(inputs: &Inputs, short: &Bottleneck) -> Detection {
    let tree = &inputs.machine.pci;
    let ratio = short.possible / short.limit;
    let drives: Vec<&Drive> = short.drives.iter().filter_map(|name| inputs.machine.drive(name)).collect();
    let trusted = drives.iter().all(|drive| drive.node.is_some_and(|at| both_ends_known(tree, at)));
    let severity = if ratio > 1.5 && trusted { Severity::Warning } else { Severity::Info };
    let node = tree.node(short.node);
    let title =
        format!("{} together need {ratio:.2} times the limit of {}", count_drives(&drives), node.address);
    let gain = Gain {
        text: format!("about +{} with all of them busy", inputs.rate(short.cost())),
        ..inputs.gain(short.cost(), OVERSUBSCRIBED_HOP.source)
    };
    Detection::new(severity, title)
        .about([Subject::of_node(inputs.machine, short.node)])
        .about(drives.into_iter().map(Subject::drive))
        .with_evidence([
            Evidence::new(
                &*node.path,
                format!("carries {} ({})", inputs.rate(short.limit), short.source.because),
            ),
            Evidence::new(&*node.path, format!("drives below could read {}", inputs.rate(short.possible))),
        ])
        .with_gain(gain)
}

/// Whether both ends of the link above a node report their capability; emulated switches do not.
fn both_ends_known(tree: &PciTree, node: NodeIndex) -> bool {
    let most = |index| {
        tree.node(index).link.as_ref().is_some_and(|l| l.max_speed.is_known() && l.max_width.is_known())
    };
    most(node) && tree.node(node).parent.is_some_and(most)
}

fn bifurcation_missing(inputs: &Inputs) -> Vec<Detection> {
    inputs.nvme().filter_map(|drive| wide_slot(&inputs.machine.pci, drive)).collect()
}

fn wide_slot(tree: &PciTree, drive: &Drive) -> Option<Detection> {
    let node = tree.node(drive.node?);
    let port = tree.node(node.parent?);
    let (own, slot) = (node.link.as_ref()?.max_width.get()?, port.link.as_ref()?.max_width.get()?);
    // Without configuration space it is unknown whether it is a slot.
    let is_slot = port.kind == NodeKind::RootPort && port.express.value()?.slot_implemented?;
    let title = format!("{}: one {own} drive in the {slot} slot {}", drive.name, port.address);
    (is_slot && slot.0 >= 8 && own.0 == 4 && port.children.len() == 1).then(|| {
        Detection::new(Severity::Info, title)
            .about([Subject::drive(drive)])
            .with_evidence([
                Evidence::new(format!("{}/max_link_width", port.path), slot.to_string()),
                Evidence::new(format!("{}/max_link_width", node.path), own.to_string()),
            ])
            .fill("split", "x4".repeat(usize::from(slot.0 / 4)))
    })
}

fn behind_vmd(inputs: &Inputs) -> Option<Detection> {
    let tree = &inputs.machine.pci;
    let is_behind = |at: NodeIndex| {
        let far = matches!(tree.node(at).address, NodeAddress::Device(address) if address.domain >= 0x10000);
        let host = tree.node(tree.root_of(at)).parent.map(|parent| tree.node(parent));
        far || host.is_some_and(|host| host.driver.value().is_some_and(|driver| *driver == *"vmd"))
    };
    let found = inputs.nvme().filter(|drive| drive.node.is_some_and(is_behind));
    let found: Vec<_> =
        found.map(|drive| (drive, [Evidence::new(&*drive.path, "PCI domain 0x10000 or above")])).collect();
    let title = format!("{} behind Intel VMD", names(&drives(&found)));
    Detection::of_drives(Severity::Info, title, found)
}

//! The tree, narrow enough for a forum's code box: root complexes, and below them what has drives or takes lanes.
//!
//! A port and the one device behind it are one row, named by the port's place on the bus. Drives that differ in nothing but
//! their name stand behind the first few of them when they are many.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Block, Choice, Dossier};
use crate::{
    machine::{
        Drive, HopLink, Machine, NodeKind, PciNode, drive,
        hop::Pair,
        pci::{NodeAddress, bracketed, short_vendor},
    },
    model::{NodeIndex, Severity},
    units::{BytesPerSecond, UnitSystem, counted, three_digits},
};

/// Columns of the names.
const NAME: usize = 42;
/// Drives of one kind in a row that are all shown.
const MOST_ALIKE: usize = 12;
/// And how many of them when there are more.
const SHOWN: usize = 3;

/// A place several drives want more of than it carries, or that a finding points at.
const HELD: &str = "▲";
/// A link that is slower than both its ends can be.
const SLOW: &str = "▼";
/// A slot that holds a device to less than the device can.
const SLOT: &str = "▽";

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let mut lines = vec![format!("{:<NAME$} GT/s now  at most  GB/s", "")];
    let mut tree = Tree { dossier, machine: &dossier.machine, lines: Vec::new() };
    for root in dossier.machine.pci.roots() {
        tree.root(root);
    }
    tree.elsewhere();
    let used = |mark: &str| tree.lines.iter().any(|line| line.contains(mark));
    let legend: Vec<&str> = [
        (HELD, "▲ a finding points here"),
        (SLOW, "▼ slower than both ends can be"),
        (SLOT, "▽ the slot holds it back"),
    ]
    .into_iter()
    .filter_map(|(mark, meaning)| used(mark).then_some(meaning))
    .collect();
    lines.append(&mut tree.lines);
    if !legend.is_empty() {
        lines.extend([String::new(), legend.join("   ")]);
    }
    vec![Block::Box(lines)]
}

struct Tree<'a> {
    dossier: &'a Dossier,
    machine: &'a Machine,
    lines: Vec<String>,
}

/// A row below a root complex.
struct Below {
    /// The node nearest to the root complex, which names its place.
    head: NodeIndex,
    /// The device, or the bridge with several below it.
    tail: NodeIndex,
}

impl Tree<'_> {
    fn root(&mut self, root: NodeIndex) {
        let node = self.machine.pci.node(root);
        let drives = self.drives_below(root);
        let under = match (node.kind, node.parent) {
            (NodeKind::RootComplex, Some(parent)) => {
                format!(", under {}", self.machine.pci.node(parent).address)
            }
            _ => String::new(),
        };
        let what = if drives == 0 { "no drives".to_owned() } else { counted(drives, "drive") };
        let name = format!("{} root complex{under}, {what}", node.address);
        let limit = self.dossier.limits.hop(root).map(|limit| (limit.bytes_per_second, limit.basis.name()));
        self.row(&name, None, limit, &self.marks(root, None));
        self.below(root, "");
    }

    /// What is below a node, behind the lines that lead to it.
    fn below(&mut self, node: NodeIndex, guides: &str) {
        let children: Vec<Below> = self
            .machine
            .pci
            .node(node)
            .children
            .iter()
            .filter(|child| self.matters(**child))
            .map(|child| Below { head: *child, tail: self.tail(*child) })
            .collect();
        let mut at = 0;
        while let Some(child) = children.get(at) {
            let alike = self.alike(&children[at..]);
            let shown = if alike > MOST_ALIKE { SHOWN } else { alike };
            for (number, below) in children[at..at + shown].iter().enumerate() {
                let last = at + number + 1 == children.len();
                self.child(below, guides, last);
            }
            if shown < alike {
                let last = at + alike == children.len();
                let names =
                    |below: &Below| self.drives_at(below.tail).first().map(|drive| drive.name.to_string());
                let to = children.get(at + alike - 1).and_then(names).unwrap_or_default();
                let like =
                    self.drives_at(child.tail).first().map_or(String::new(), |drive| drive.name.to_string());
                let name = format!("{guides}{}{} more like {like}, to {to}", elbow(last), alike - shown);
                self.row(&name, None, None, "");
            }
            at += alike;
        }
    }

    fn child(&mut self, below: &Below, guides: &str, last: bool) {
        let tree = &self.machine.pci;
        let node = tree.node(below.tail);
        let place = place(tree.node(below.head));
        let lead = format!("{guides}{}{place} ", elbow(last));
        let link = HopLink::above(self.machine, below.tail);
        let path =
            self.dossier.limits.path(below.tail).map(|limit| (limit.bytes_per_second, limit.basis.name()));
        let marks = self.marks(below.tail, Some(below.head));
        let drives = self.drives_at(below.tail);
        let own: Vec<(String, Option<(BytesPerSecond, &'static str)>)> = drives
            .iter()
            .map(|drive| {
                let limit = self.dossier.limits.drive(&drive.name);
                let limit = limit.map(|limit| (limit.bytes_per_second, limit.basis.name()));
                (format!("{} {}", drive.name, drive.short_model()), limit)
            })
            .collect();
        match own.as_slice() {
            [] => {
                let kind = match node.kind {
                    NodeKind::SwitchUpstream => "switch ",
                    _ => "",
                };
                self.row(&format!("{lead}{kind}{}", device(node)), link, path, &marks);
            }
            [(name, limit)] => self.row(&format!("{lead}{name}"), link, *limit, &marks),
            several => {
                self.row(&format!("{lead}{}", counted(several.len(), "drive")), link, path, &marks);
                let guides = format!("{guides}{}", trunk(last));
                for (number, (name, limit)) in several.iter().enumerate() {
                    let name = format!("{guides}{}{name}", elbow(number + 1 == several.len()));
                    self.row(&name, None, *limit, "");
                }
            }
        }
        self.below(below.tail, &format!("{guides}{}", trunk(last)));
    }

    /// Hardware that hangs on no PCI function.
    fn elsewhere(&mut self) {
        let drives: Vec<String> = self
            .machine
            .hardware_drives()
            .filter(|drive| drive.node.is_none())
            .map(|drive| format!("{} {}", drive.name, drive.short_model()))
            .collect();
        for name in drives {
            self.row(&format!("not on PCI: {name}"), None, None, "");
        }
    }

    fn row(
        &mut self,
        name: &str,
        link: Option<HopLink>,
        limit: Option<(BytesPerSecond, &'static str)>,
        marks: &str,
    ) {
        let pair = |pair: Option<Pair>| {
            pair.map_or_else(String::new, |pair| format!("{} {:<3}", Gts(pair.0.gts()), pair.1.to_string()))
        };
        let (now, most) = link.map_or_else(Default::default, |link| (pair(link.now), pair(link.most)));
        let rate =
            limit.map_or_else(String::new, |(rate, _)| three_digits(UnitSystem::Decimal.in_giga(rate)));
        let basis = limit.map_or("", |(_, basis)| basis);
        let line = format!("{}  {now:>7}  {most:>7} {rate:>5} {marks:<1} {basis}", padded(name, NAME));
        self.lines.push(line.trim_end().to_owned());
    }

    /// Its own marks, the most important first; one is shown.
    fn marks(&self, node: NodeIndex, head: Option<NodeIndex>) -> String {
        let link = HopLink::above(self.machine, node);
        let pointed = self.dossier.findings.iter().filter(|finding| finding.severity > Severity::Info);
        let is_pointed = pointed.flat_map(|finding| finding.subjects.iter()).any(|subject| {
            subject.node(self.machine).is_some_and(|at| at == node || Some(at) == head)
                && (subject.kind != crate::findings::SubjectKind::Drive)
        });
        let mark = match link {
            // A display's link goes to sleep with it.
            Some(link) if link.is_slow() && self.drives_below(node) > 0 => SLOW,
            Some(link) if link.is_slot_limited() => SLOT,
            _ if is_pointed => HELD,
            _ => "",
        };
        mark.to_owned()
    }

    fn drives_at(&self, node: NodeIndex) -> Vec<&Drive> {
        self.machine.drives.iter().filter(|drive| drive.node == Some(node)).collect()
    }

    fn drives_below(&self, node: NodeIndex) -> usize {
        let below = self.machine.pci.subtree(node);
        let is_below = |drive: &&Drive| drive.node.is_some_and(|at| below.contains(&at));
        drive::count(self.machine.hardware_drives().filter(is_below))
    }

    /// Whether drives hang at or below a node, or something that takes lanes a drive could want. Root complexes within
    /// the tree (VMD) have rows of their own.
    fn matters(&self, node: NodeIndex) -> bool {
        let tree = &self.machine.pci;
        if tree.node(node).kind == NodeKind::RootComplex {
            return false;
        }
        let matters = |at: NodeIndex| !self.drives_at(at).is_empty() || takes_lanes(tree.node(at));
        let root = tree.root_of(node);
        tree.subtree(node).into_iter().any(|at| matters(at) && tree.root_of(at) == root)
    }

    /// The last node of the chain of bridges that lead to one thing that matters.
    fn tail(&self, head: NodeIndex) -> NodeIndex {
        let tree = &self.machine.pci;
        let mut at = head;
        while tree.node(at).kind != NodeKind::Endpoint {
            let mut below = tree.node(at).children.iter().filter(|child| self.matters(**child));
            match (below.next(), below.next()) {
                (Some(only), None) => at = *only,
                _ => break,
            }
        }
        at
    }

    /// How many rows from the first on differ in nothing but their drive's name; at least 1.
    fn alike(&self, rows: &[Below]) -> usize {
        let likeness = |below: &Below| match self.drives_at(below.tail).as_slice() {
            [drive] => {
                let link = HopLink::above(self.machine, below.tail);
                Some((drive.model.value().cloned(), link.map(|link| (link.now, link.most))))
            }
            _ => None,
        };
        let Some(first) = rows.first().and_then(likeness) else { return 1 };
        rows.iter().take_while(|row| likeness(row).as_ref() == Some(&first)).count()
    }
}

/// A rate without a unit: `16`, `2.5`.
struct Gts(f64);

impl std::fmt::Display for Gts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.fract() == 0.0 { write!(f, "{:.0}", self.0) } else { write!(f, "{}", self.0) }
    }
}

fn elbow(last: bool) -> &'static str {
    if last { "└ " } else { "├ " }
}

fn trunk(last: bool) -> &'static str {
    if last { "  " } else { "│ " }
}

/// Device and function on its bus: `01.1`.
fn place(node: &PciNode) -> String {
    match node.address {
        NodeAddress::Device(address) => format!("{:02x}.{:x}", address.device, address.function),
        NodeAddress::Root { .. } => node.address.to_string(),
    }
}

/// Displays, network adapters, accelerators.
fn takes_lanes(node: &PciNode) -> bool {
    let base = node.class.get().map(|class| class >> 16);
    node.kind == NodeKind::Endpoint && matches!(base, Some(0x02 | 0x03 | 0x12))
}

/// Vendor and product as people call them.
fn device(node: &PciNode) -> String {
    match (&node.names.vendor, &node.names.device) {
        (Some(vendor), Some(device)) => {
            let device = bracketed(device.as_str()).unwrap_or(device.as_str());
            format!("{} {device}", short_vendor(vendor.as_str()))
        }
        _ => node.name(),
    }
}

/// A text of exactly so many columns.
fn padded(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return format!("{text}{}", " ".repeat(columns - text.width()));
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + c.width().unwrap_or_default() + 1 > columns {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    let gap = columns.saturating_sub(kept.width());
    kept + &" ".repeat(gap)
}

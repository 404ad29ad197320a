//! From a machine to the rows of its tree: what is merged into one row, what is folded, what stands for its like.
//!
//! A port and the one device behind it are one row, named by the port's place on the bus and the device's name. Devices
//! that matter neither to storage nor to the lanes it shares are folded into one row per parent. When the rows are more
//! than the screen has, drives that differ in nothing but their name are gathered behind the first few.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{super::load::Load, Sort, open_by_default};
use crate::{
    machine::{
        Drive, Machine, PciNode,
        pci::{NodeAddress, NodeKind},
    },
    model::{DriveName, NodeIndex},
};

/// Which row it is, whatever its position: survives a new reading of the machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    /// A root complex, a bridge with several things below, a device.
    Node(String),
    /// A drive that has a row of its own.
    Drive(DriveName),
    /// The folded devices of this parent.
    Folded(String),
    /// The rest of the drives like this one.
    Alike(DriveName),
    /// Drives without a place in the tree.
    Group(Group),
}

/// Drives without a place in the PCI tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Hardware elsewhere: platform devices, MMC, virtual machines' odd ones.
    NotOnPci,
    /// Loop devices, zram, md, device mapper.
    Software,
}

/// What a row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// A root complex.
    Root,
    /// A bridge with several things below it.
    Port,
    /// A device, with the ports above it that lead to nothing else.
    Device,
    /// One of several drives of a device, or a drive without a PCI device.
    Drive,
    /// Devices folded away, as words with their counts.
    Folded {
        /// How many functions.
        count: usize,
        /// What sort: `USB`, `SATA`.
        words: Vec<&'static str>,
    },
    /// Drives like the one above.
    Alike,
    /// Drives without a PCI device.
    Group(Group),
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub key: RowKey,
    /// What it shows.
    pub kind: RowKind,
    /// The lines that lead to it: `│ ├ `.
    pub guides: String,
    /// How deep it is, 0 for a root complex.
    pub depth: usize,
    /// The port nearest to the root complex that is part of this row; names its place on the bus.
    pub head: Option<NodeIndex>,
    /// The node whose link it shows.
    pub node: Option<NodeIndex>,
    /// Drives at or below it.
    pub drives: Vec<DriveName>,
    /// Whether what is below is shown; `None` when nothing is below.
    pub open: Option<bool>,
}

impl Row {
    /// Whether the row itself stands for a drive or several.
    pub fn is_drive(&self) -> bool {
        match self.kind {
            RowKind::Device => !self.drives.is_empty() && self.open.is_none(),
            RowKind::Drive | RowKind::Alike => true,
            _ => false,
        }
    }

    /// The one drive it stands for.
    pub fn drive(&self) -> Option<&DriveName> {
        match (self.is_drive(), self.drives.as_slice()) {
            (true, [only]) => Some(only),
            _ => None,
        }
    }
}

/// What the rows are made from.
pub(super) struct Flattening<'a> {
    pub machine: &'a Machine,
    pub toggled: &'a BTreeSet<RowKey>,
    pub everything: bool,
    pub sort: Sort,
    pub load: &'a Load,
    pub height: usize,
}

struct Item {
    key: RowKey,
    kind: RowKind,
    head: Option<NodeIndex>,
    node: Option<NodeIndex>,
    drives: Vec<DriveName>,
    below: Vec<Item>,
}

/// All rows, top to bottom.
pub(super) fn flatten(flattening: &Flattening<'_>) -> Vec<Row> {
    let forest = Forest::new(flattening);
    let items = forest.items();
    // As many of each kind of drive as fit; all of them if possible.
    let mut rows = Vec::new();
    for keep in [usize::MAX, 6, 5, 4, 3, 2, 1] {
        rows.clear();
        let printer = Printer { toggled: flattening.toggled, machine: flattening.machine, keep };
        printer.print(&items, "", 0, &mut rows);
        if flattening.everything || rows.len() <= flattening.height {
            break;
        }
    }
    rows
}

struct Forest<'a> {
    of: &'a Flattening<'a>,
    drives: BTreeMap<NodeIndex, Vec<&'a Drive>>,
    nested: BTreeMap<NodeIndex, Vec<NodeIndex>>,
    matters: Vec<bool>,
}

impl<'a> Forest<'a> {
    fn new(of: &'a Flattening<'a>) -> Self {
        let tree = &of.machine.pci;
        let mut drives: BTreeMap<NodeIndex, Vec<&Drive>> = BTreeMap::new();
        for drive in &of.machine.drives {
            for node in of.machine.functions_of(drive) {
                drives.entry(node).or_default().push(drive);
            }
        }
        let mut nested: BTreeMap<NodeIndex, Vec<NodeIndex>> = BTreeMap::new();
        let mut matters = vec![false; tree.nodes.len()];
        for (index, node) in tree.iter() {
            matters[index.0] = drives.contains_key(&index) || takes_lanes(node);
            if let (NodeKind::RootComplex, Some(parent)) = (node.kind, node.parent)
                && !tree.node(parent).children.contains(&index)
            {
                nested.entry(parent).or_default().push(index);
            }
        }
        // Parents stand before their children, so one walk from the end carries what matters up to the roots.
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent
                && matters[index]
            {
                matters[parent.0] = true;
            }
        }
        Self { of, drives, nested, matters }
    }

    fn node(&self, index: NodeIndex) -> &'a PciNode {
        self.of.machine.pci.node(index)
    }

    fn items(&self) -> Vec<Item> {
        let machine = self.of.machine;
        let tops = machine.pci.roots().filter(|root| self.node(*root).parent.is_none());
        let mut items: Vec<Item> = tops.map(|root| self.item(root)).collect();
        for group in [Group::NotOnPci, Group::Software] {
            let wanted = |drive: &&Drive| match group {
                Group::NotOnPci => drive.node.is_none() && !drive.kind.is_software(),
                Group::Software => drive.kind.is_software() && drive.node.is_none(),
            };
            let drives: Vec<&Drive> = machine.drives.iter().filter(wanted).collect();
            if !drives.is_empty() {
                items.push(Item {
                    key: RowKey::Group(group),
                    kind: RowKind::Group(group),
                    head: None,
                    node: None,
                    drives: drives.iter().map(|drive| drive.name.clone()).collect(),
                    below: self.sorted(drives.into_iter().map(|drive| drive_item(drive, None)).collect()),
                });
            }
        }
        items
    }

    fn below(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let nested = self.nested.get(&index).into_iter().flatten().copied();
        self.node(index).children.iter().copied().chain(nested)
    }

    /// The last node of the chain of bridges from `index` on that lead to one device only.
    fn tail(&self, index: NodeIndex) -> NodeIndex {
        let mut at = index;
        loop {
            let node = self.node(at);
            if matches!(node.kind, NodeKind::Endpoint | NodeKind::RootComplex) {
                return at;
            }
            let below: Vec<NodeIndex> = self.below(at).collect();
            at = match below.as_slice() {
                [only] => *only,
                several if !self.of.everything && self.one_device(several) => {
                    // The function that matters names the row; audio beside a display does not.
                    several.iter().copied().find(|f| self.matters[f.0]).unwrap_or(several[0])
                }
                _ => return at,
            };
        }
    }

    /// Whether these are functions of one device, at most one of which matters.
    fn one_device(&self, functions: &[NodeIndex]) -> bool {
        let slot = |index: &NodeIndex| match self.node(*index).address {
            NodeAddress::Device(address) if self.node(*index).kind == NodeKind::Endpoint => {
                Some((address.domain, address.bus, address.device))
            }
            _ => None,
        };
        let Some(first) = functions.first().and_then(slot) else { return false };
        functions.iter().all(|function| slot(function) == Some(first))
            && functions.iter().filter(|function| self.drives.contains_key(function)).count() <= 1
    }

    fn item(&self, head: NodeIndex) -> Item {
        let tail = self.tail(head);
        let node = self.node(tail);
        let own: &[&Drive] = self.drives.get(&tail).map_or(&[], Vec::as_slice);
        let mut below: Vec<Item> = match own {
            [_] | [] => Vec::new(),
            several => several.iter().map(|drive| drive_item(drive, Some(tail))).collect(),
        };
        let (shown, folded): (Vec<NodeIndex>, Vec<NodeIndex>) =
            self.below(tail).partition(|child| self.of.everything || self.matters[child.0]);
        below.extend(shown.into_iter().map(|child| self.item(child)));
        let mut drives: Vec<DriveName> = own.iter().map(|drive| drive.name.clone()).collect();
        if own.len() > 1 {
            drives.clear();
        }
        drives.extend(below.iter().flat_map(|item| item.drives.iter().cloned()));
        let mut below = self.sorted(below);
        if !folded.is_empty() {
            below.push(self.folded(tail, &folded));
        }
        let kind = match node.kind {
            NodeKind::RootComplex => RowKind::Root,
            NodeKind::Endpoint => RowKind::Device,
            _ if below.is_empty() => RowKind::Device,
            _ => RowKind::Port,
        };
        let key = RowKey::Node(self.node(head).address.to_string());
        Item { key, kind, head: Some(head), node: Some(tail), drives, below }
    }

    fn folded(&self, parent: NodeIndex, heads: &[NodeIndex]) -> Item {
        let tree = &self.of.machine.pci;
        let inside: Vec<NodeIndex> = heads.iter().flat_map(|head| tree.subtree(*head)).collect();
        let mut words: Vec<&'static str> = Vec::new();
        for index in &inside {
            if let Some(word) = class_word(self.node(*index))
                && !words.contains(&word)
            {
                words.push(word);
            }
        }
        let key = RowKey::Folded(self.node(parent).address.to_string());
        let mut below: Vec<Item> = heads.iter().map(|head| self.plain_item(*head)).collect();
        below.sort_by_key(|item| item.head);
        let kind = RowKind::Folded { count: inside.len(), words };
        Item { key, kind, head: None, node: None, drives: Vec::new(), below }
    }

    /// An item of something folded, with everything below it as it is.
    fn plain_item(&self, head: NodeIndex) -> Item {
        let below: Vec<Item> = self.below(head).map(|child| self.plain_item(child)).collect();
        let kind = if below.is_empty() { RowKind::Device } else { RowKind::Port };
        let key = RowKey::Node(self.node(head).address.to_string());
        Item { key, kind, head: Some(head), node: Some(head), drives: Vec::new(), below }
    }

    fn sorted(&self, mut items: Vec<Item>) -> Vec<Item> {
        match self.of.sort {
            Sort::Bus => {}
            Sort::Load => {
                items.sort_by(|a, b| self.of.load.of(&b.drives).total_cmp(&self.of.load.of(&a.drives)));
            }
            Sort::Name => items.sort_by_cached_key(|item| self.sort_name(item)),
        }
        items
    }

    fn sort_name(&self, item: &Item) -> (bool, String) {
        let first = item.drives.first().map(|drive| natural(drive.as_str()));
        let device = || item.node.map(|node| self.node(node).name()).unwrap_or_default();
        (first.is_none(), first.unwrap_or_else(device))
    }
}

fn drive_item(drive: &Drive, node: Option<NodeIndex>) -> Item {
    let key = RowKey::Drive(drive.name.clone());
    let drives = vec![drive.name.clone()];
    Item { key, kind: RowKind::Drive, head: None, node, drives, below: Vec::new() }
}

/// A name with its numbers padded, so that nvme10n1 comes after nvme9n1.
fn natural(name: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
        } else {
            if !digits.is_empty() {
                let _ = write!(out, "{:0>8}", std::mem::take(&mut digits));
            }
            out.push(c);
        }
    }
    out
}

struct Printer<'a> {
    toggled: &'a BTreeSet<RowKey>,
    machine: &'a Machine,
    keep: usize,
}

impl Printer<'_> {
    fn print(&self, items: &[Item], guides: &str, depth: usize, rows: &mut Vec<Row>) {
        let mut at = 0;
        while at < items.len() {
            let alike = self.alike(&items[at..]);
            let kept = alike.min(self.keep);
            let hidden = alike - kept;
            let shown = if hidden < 2 { alike } else { kept };
            for (offset, item) in items[at..at + shown].iter().enumerate() {
                let last = at + offset + 1 == items.len();
                self.print_one(item, guides, depth, last, rows);
            }
            if shown < alike {
                self.print_rest(
                    &items[at..at + alike],
                    shown,
                    guides,
                    (depth, at + alike == items.len()),
                    rows,
                );
            }
            at += alike;
        }
    }

    fn print_rest(
        &self,
        items: &[Item],
        shown: usize,
        guides: &str,
        (depth, last): (usize, bool),
        rows: &mut Vec<Row>,
    ) {
        let Some(first) = items.first().and_then(|item| item.drives.first()) else { return };
        let drives: Vec<DriveName> =
            items[shown..].iter().flat_map(|item| item.drives.iter().cloned()).collect();
        let key = RowKey::Alike(first.clone());
        let open = self.is_open(&key, &RowKind::Alike);
        let guide = format!("{guides}{}", elbow(depth, last && !open));
        let kind = RowKind::Alike;
        rows.push(Row { key, kind, guides: guide, depth, head: None, node: None, drives, open: Some(open) });
        if open {
            let rest = &items[shown..];
            for (offset, item) in rest.iter().enumerate() {
                self.print_one(item, guides, depth, last && offset + 1 == rest.len(), rows);
            }
        }
    }

    fn print_one(&self, item: &Item, guides: &str, depth: usize, last: bool, rows: &mut Vec<Row>) {
        let open = (!item.below.is_empty()).then(|| self.is_open(&item.key, &item.kind));
        rows.push(Row {
            key: item.key.clone(),
            kind: item.kind.clone(),
            guides: format!("{guides}{}", elbow(depth, last)),
            depth,
            head: item.head,
            node: item.node,
            drives: item.drives.clone(),
            open,
        });
        if open == Some(true) {
            let guides = format!(
                "{guides}{}",
                if depth == 0 {
                    ""
                } else if last {
                    "  "
                } else {
                    "│ "
                }
            );
            self.print(&item.below, &guides, depth + 1, rows);
        }
    }

    fn is_open(&self, key: &RowKey, kind: &RowKind) -> bool {
        open_by_default(kind) != self.toggled.contains(key)
    }

    /// How many items from the first on differ in nothing but their names; at least 1.
    fn alike(&self, items: &[Item]) -> usize {
        let Some(first) = items.first().and_then(|item| self.likeness(item)) else { return 1 };
        items.iter().take_while(|item| self.likeness(item).as_ref() == Some(&first)).count()
    }

    fn likeness(&self, item: &Item) -> Option<String> {
        let [name] = item.drives.as_slice() else { return None };
        if !item.below.is_empty() {
            return None;
        }
        let drive = self.machine.drive(name)?;
        let link = item.node.and_then(|node| self.machine.pci.node(node).link.as_ref());
        let link = link.map(|l| (l.speed.get(), l.width.get(), l.max_speed.get(), l.max_width.get()));
        Some(format!("{:?} {:?} {link:?}", drive.kind, drive.model.value()))
    }
}

fn elbow(depth: usize, last: bool) -> &'static str {
    match (depth, last) {
        (0, _) => "",
        (_, false) => "├ ",
        (_, true) => "└ ",
    }
}

/// Whether a device takes lanes that drives could want: displays, network adapters, accelerators.
fn takes_lanes(node: &PciNode) -> bool {
    let base = node.class.get().map(|class| class >> 16);
    node.kind == NodeKind::Endpoint && matches!(base, Some(0x02 | 0x03 | 0x12))
}

/// A short word for a device's class (PCI Code and ID Assignment Specification); `None` for glue nobody asks for.
pub fn class_word(node: &PciNode) -> Option<&'static str> {
    let class = node.class.get()?;
    Some(match class >> 8 {
        0x0106 => "SATA",
        0x0107 => "SAS",
        0x0108 => "NVMe",
        0x0104 => "RAID",
        0x0100..=0x01ff => "storage",
        0x0280 => "Wi-Fi",
        0x0200..=0x02ff => "network",
        0x0300..=0x03ff => "display",
        0x0401 | 0x0403 => "audio",
        0x0600 => "host bridge",
        0x0601 => "LPC",
        0x0604 => "port",
        0x0806 => "IOMMU",
        0x0c03 => "USB",
        0x0c05 => "SMBus",
        0x1000..=0x10ff => "crypto",
        0x1200..=0x12ff => "accelerator",
        _ => return None,
    })
}

/// Everything a row can be found by, in lower case.
pub fn search_text(machine: &Machine, row: &Row) -> String {
    let mut text = String::new();
    for index in [row.head, row.node].into_iter().flatten() {
        let node = machine.pci.node(index);
        let driver = node.driver.value().map_or("", |driver| driver.as_str());
        let _ = write!(text, "{} {} {driver} ", node.address, node.name());
    }
    if row.is_drive() {
        for drive in row.drives.iter().filter_map(|name| machine.drive(name)) {
            let model = drive.model.value().map_or("", |model| model.as_str());
            let serial = drive.serial.value().map_or("", |serial| serial.as_str());
            let _ = write!(text, "{} {model} {serial} {} ", drive.name, drive.kind.name());
        }
    }
    if let RowKind::Folded { words, .. } = &row.kind {
        text.push_str(&words.join(" "));
    }
    text.to_lowercase()
}

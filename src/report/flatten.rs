//! Flattens a PCI tree into rows for the screen, `iodyno tree`, the sheet and what-if.

mod class;

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use class::{class_word, is_nvme, takes_lanes};

use crate::{
    machine::{Drive, DriveKind, HopLink, Machine, PciNode, hop::Pair, pci::NodeKind},
    model::{DriveName, NodeIndex},
    text::{Label, natural},
};

/// Identifies a row across readings of the machine.
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
    /// Drives outside the tree.
    Group(Group),
    /// A member of an array or volume: the device above it, and the drive or partition.
    Member(DriveName, Label),
}

/// Drives outside the PCI tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Hardware elsewhere: platform devices, MMC, virtual machines' odd ones.
    NotOnPci,
    /// Devices made of others: md, device mapper, bcache.
    Arrays,
    /// Loop devices, zram, other software devices.
    Software,
}

/// Kinds of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// A root complex.
    Root,
    /// A bridge with several things below it.
    Port,
    /// A device, with the ports above it that lead only to it.
    Device,
    /// One of several drives of a device, or a drive without a PCI device.
    Drive,
    /// Devices folded away.
    Folded {
        /// Their functions.
        nodes: Vec<NodeIndex>,
        /// Their classes: `USB`, `SATA`.
        words: Vec<&'static str>,
    },
    /// Further drives like the ones above.
    Alike,
    /// Drives without a PCI device.
    Group(Group),
}

/// One row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Stable across readings.
    pub key: RowKey,
    /// Its kind.
    pub kind: RowKind,
    /// Its guide lines: `│ ├ `.
    pub guides: String,
    /// Depth, 0 for a root complex.
    pub depth: usize,
    /// The port of this row nearest to the root complex; names its place on the bus.
    pub head: Option<NodeIndex>,
    /// The node whose link it shows.
    pub node: Option<NodeIndex>,
    /// Drives at or below it.
    pub drives: Vec<DriveName>,
    /// Whether rows below it are shown; `None` without rows below.
    pub open: Option<bool>,
}

impl Row {
    fn new(key: RowKey, kind: RowKind, nodes: [Option<NodeIndex>; 2], drives: Vec<DriveName>) -> Self {
        let [head, node] = nodes;
        Self { key, kind, guides: String::new(), depth: 0, head, node, drives, open: None }
    }

    /// Whether it represents one or several drives.
    pub fn is_drive(&self) -> bool {
        match self.kind {
            RowKind::Device => !self.drives.is_empty() && self.open.is_none(),
            RowKind::Drive | RowKind::Alike => true,
            _ => false,
        }
    }

    /// Its drive, if it represents one.
    pub fn drive(&self) -> Option<&DriveName> {
        match (self.is_drive(), self.drives.as_slice()) {
            (true, [only]) => Some(only),
            _ => None,
        }
    }

    fn is_open_by_default(&self) -> bool {
        !matches!(self.kind, RowKind::Folded { .. } | RowKind::Alike | RowKind::Group(Group::Software))
    }
}

/// The order of rows: the tree in bus order, or drives and devices of all root complexes in one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The tree in bus order.
    #[default]
    Bus,
    /// The busiest first.
    Load,
    /// By drive name and model.
    Name,
    /// By a column, the largest value first.
    Column(&'static str),
    /// By a column, the smallest value first.
    Reversed(&'static str),
}

impl Sort {
    /// Its name in a heading.
    pub fn name(self) -> String {
        match self {
            Self::Bus => "in bus order".to_owned(),
            Self::Load => "by load".to_owned(),
            Self::Name => "by name".to_owned(),
            Self::Column(name) => format!("by {name}, largest first"),
            Self::Reversed(name) => format!("by {name}, smallest first"),
        }
    }

    /// The next one without a column, cyclic.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Bus => Self::Load,
            Self::Load => Self::Name,
            Self::Name | Self::Column(_) | Self::Reversed(_) => Self::Bus,
        }
    }

    /// Its column.
    pub const fn column(self) -> Option<&'static str> {
        match self {
            Self::Column(name) | Self::Reversed(name) => Some(name),
            _ => None,
        }
    }
}

/// The rows of the machine screen.
pub(crate) struct Screen<'a> {
    pub machine: &'a Machine,
    /// Rows opened or closed by the user.
    pub toggled: &'a BTreeSet<RowKey>,
    /// Nothing is folded.
    pub everything: bool,
    pub sort: Sort,
    /// Value of a row in the column that is sorted by; bytes per second when sorted by load.
    pub value: &'a dyn Fn(&Row) -> Option<f64>,
    /// Rows that fit; alike drives are gathered where there are more.
    pub height: usize,
    /// Rows up to which software devices are unfolded by themselves.
    pub spacious: usize,
}

impl Screen<'_> {
    /// All rows, top to bottom.
    pub fn rows(&self) -> Vec<Row> {
        let tree = &self.machine.pci;
        let mut flattener = Flattener::new(self.machine, Merge::Chain);
        (flattener.is_nested, flattener.folds) = (true, !self.everything);
        flattener.shown = unfolded(self.machine, &BTreeSet::new());
        flattener.shown.iter_mut().for_each(|shown| *shown |= self.everything);
        let mut items = flattener.roots(tree.roots().filter(|root| tree.node(*root).parent.is_none()));
        items.extend(flattener.groups());
        if self.sort != Sort::Bus {
            // Of loop devices there may be many: by name they are below all others.
            let is_last =
                |item: &Item| self.sort == Sort::Name && item.row.kind == RowKind::Group(Group::Software);
            let (last, first): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_last);
            let sorted = |items| {
                let mut leaves = Vec::new();
                self.leaves(items, &mut leaves);
                leaves.sort_by(|a, b| self.order(a, b));
                leaves
            };
            return [first, last].into_iter().flat_map(sorted).collect();
        }
        let (mut toggled, software) = (Cow::Borrowed(self.toggled), RowKey::Group(Group::Software));
        if default_rows(&items) <= self.spacious && !toggled.to_mut().remove(&software) {
            toggled.to_mut().insert(software);
        }
        // As many of each kind of drive as fit.
        let mut rows = Vec::new();
        for keep in [usize::MAX, 6, 5, 4, 3, 2, 1] {
            let gathering = Gathering { most: keep.saturating_add(1), shown: keep };
            rows = printed(self.machine, &items, &toggled, gathering);
            if self.everything || rows.len() <= self.height {
                break;
            }
        }
        rows
    }

    /// The rows of drives, devices and arrays alone, without other devices that are folded by themselves.
    fn leaves(&self, items: Vec<Item>, rows: &mut Vec<Row>) {
        for Item { row, below } in items {
            match row.kind {
                RowKind::Folded { .. } if !self.everything => {}
                // The members of an array have rows of their own.
                RowKind::Drive => rows.push(row),
                RowKind::Device if below.is_empty() => rows.push(row),
                _ => self.leaves(below, rows),
            }
        }
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let first = |row: &Row| row.drives.first().map(ToString::to_string);
        let device = |row: &Row| row.node.map(|node| self.machine.pci.node(node).name());
        match self.sort {
            Sort::Bus => Ordering::Equal,
            // A row without a value comes last either way.
            Sort::Load | Sort::Column(_) | Sort::Reversed(_) => match ((self.value)(a), (self.value)(b)) {
                (Some(a), Some(b)) if matches!(self.sort, Sort::Reversed(_)) => a.total_cmp(&b),
                (Some(a), Some(b)) => b.total_cmp(&a),
                (a, b) => a.is_none().cmp(&b.is_none()),
            },
            Sort::Name => match (first(a), first(b)) {
                (Some(a), Some(b)) => natural(&a, &b),
                (None, None) => device(a).cmp(&device(b)),
                (a, b) => a.is_none().cmp(&b.is_none()),
            },
        }
    }
}

/// The nodes that are not folded, by index: those at or above drives, devices that take lanes and `marked` ones.
pub(crate) fn unfolded(machine: &Machine, marked: &BTreeSet<NodeIndex>) -> Vec<bool> {
    Flattener { is_nested: true, ..Flattener::new(machine, Merge::Chain) }.mattering(marked)
}

/// The rows of the sheet: root complexes with drives, devices that take lanes, marked ones. Many alike drives are gathered.
pub(crate) fn sheet(machine: &Machine, marked: &BTreeSet<NodeIndex>) -> Vec<Row> {
    let mut flattener = Flattener::new(machine, Merge::Chain);
    flattener.shown = flattener.mattering(marked);
    let items = flattener.roots(machine.pci.roots());
    printed(machine, &items, &BTreeSet::new(), Gathering { most: 12, shown: 3 })
}

/// The rows of slots: the `shown` nodes, each device in the row of the port it is plugged into, each drive in its own.
pub(crate) fn slots(machine: &Machine, shown: Vec<bool>) -> Vec<Row> {
    let mut flattener = Flattener::new(machine, Merge::Slot);
    let roots: Vec<NodeIndex> = machine.pci.roots().filter(|root| shown[root.0]).collect();
    flattener.shown = shown;
    let items = flattener.roots(roots.into_iter());
    printed(machine, &items, &BTreeSet::new(), Gathering { most: usize::MAX, shown: usize::MAX })
}

/// Visits a forest top to bottom, with the guide lines and depth of each node; `visit` returns its children.
pub(crate) fn walk<T>(
    siblings: Vec<T>,
    guides: &str,
    depth: usize,
    visit: &mut impl FnMut(T, String, usize) -> Vec<T>,
) {
    let count = siblings.len();
    for (at, node) in siblings.into_iter().enumerate() {
        let (elbow, trunk) = match (depth, at + 1 == count) {
            (0, _) => ("", ""),
            (_, true) => ("└ ", "  "),
            (_, false) => ("├ ", "│ "),
        };
        let below = visit(node, format!("{guides}{elbow}"), depth);
        walk(below, &format!("{guides}{trunk}"), depth + 1, visit);
    }
}

#[derive(Debug, Clone)]
struct Item {
    row: Row,
    below: Vec<Item>,
}

/// More than `most` alike siblings are gathered behind the first few.
#[derive(Clone, Copy)]
struct Gathering {
    most: usize,
    shown: usize,
}

fn printed(machine: &Machine, items: &[Item], toggled: &BTreeSet<RowKey>, most: Gathering) -> Vec<Row> {
    let is_open = |row: &Row| row.is_open_by_default() != toggled.contains(&row.key);
    let drives = machine.drives_by_name();
    let likeness = |item: &Item| likeness(machine, &drives, item);
    let mut rows = Vec::new();
    walk(gathered(items, most, &likeness, &is_open), "", 0, &mut |item, guides, depth| {
        let is_gathered = item.row.kind == RowKind::Alike;
        let open = (is_gathered || !item.below.is_empty()).then(|| is_open(&item.row));
        rows.push(Row { guides, depth, open, ..item.row.clone() });
        match item {
            Cow::Borrowed(item) if open == Some(true) => gathered(&item.below, most, &likeness, &is_open),
            _ => Vec::new(),
        }
    });
    rows
}

/// Rows of items as they are by themselves, software devices unfolded.
fn default_rows(items: &[Item]) -> usize {
    let is_open = |row: &Row| row.is_open_by_default() || row.kind == RowKind::Group(Group::Software);
    items.iter().map(|item| 1 + if is_open(&item.row) { default_rows(&item.below) } else { 0 }).sum()
}

/// Siblings with one row for alike drives beyond the first few, followed by them if it is open.
fn gathered<'a, L: PartialEq>(
    mut items: &'a [Item],
    most: Gathering,
    likeness: &impl Fn(&Item) -> Option<L>,
    is_open: &impl Fn(&Row) -> bool,
) -> Vec<Cow<'a, Item>> {
    let mut siblings = Vec::new();
    while let Some(first) = items.first() {
        let of_first = likeness(first);
        let is_alike = |item: &&Item| of_first.is_some() && likeness(item) == of_first;
        let count = items.iter().take_while(is_alike).count().max(1);
        let (alike, others) = items.split_at(count);
        let (shown, rest) = alike.split_at(if count > most.most { most.shown } else { count });
        siblings.extend(shown.iter().map(Cow::Borrowed));
        if let (Some(name), false) = (first.row.drives.first(), rest.is_empty()) {
            let drives = rest.iter().flat_map(|item| item.row.drives.clone()).collect();
            let row = Row::new(RowKey::Alike(name.clone()), RowKind::Alike, [None; 2], drives);
            let open = is_open(&row);
            siblings.push(Cow::Owned(Item { row, below: Vec::new() }));
            siblings.extend(rest.iter().filter(|_| open).map(Cow::Borrowed));
        }
        items = others;
    }
    siblings
}

/// What rows of alike drives have in common: kind, model, the link now and at most.
type Likeness<'a> = (DriveKind, Option<&'a Label>, Option<(Option<Pair>, Option<Pair>)>);

/// A row of one drive without its name.
fn likeness<'a>(
    machine: &Machine,
    drives: &BTreeMap<&DriveName, &'a Drive>,
    item: &Item,
) -> Option<Likeness<'a>> {
    let drive = match item.row.drives.as_slice() {
        [name] if item.below.is_empty() => drives.get(name)?,
        _ => return None,
    };
    let link = item.row.node.and_then(|node| HopLink::above(machine, node)).map(|link| (link.now, link.most));
    Some((drive.kind, drive.model.value(), link))
}

/// Nodes merged into one row.
#[derive(Clone, Copy, PartialEq)]
enum Merge {
    /// The bridges that lead to one device only, with the device.
    Chain,
    /// A port with the device plugged into it.
    Slot,
}

struct Flattener<'a> {
    machine: &'a Machine,
    merge: Merge,
    /// Root complexes below a device (VMD) are below it, not at the top.
    is_nested: bool,
    /// Hidden devices are folded into one row for each parent.
    folds: bool,
    /// Nodes that have rows, by index.
    shown: Vec<bool>,
    drives: BTreeMap<NodeIndex, Vec<&'a Drive>>,
    nested: Vec<NodeIndex>,
}

impl<'a> Flattener<'a> {
    fn new(machine: &'a Machine, merge: Merge) -> Self {
        let mut drives: BTreeMap<NodeIndex, Vec<&Drive>> = BTreeMap::new();
        for drive in &machine.drives {
            for node in machine.functions_of(drive) {
                drives.entry(node).or_default().push(drive);
            }
        }
        let nested = machine.pci.roots().filter(|root| machine.pci.node(*root).parent.is_some()).collect();
        let (is_nested, folds, shown) = (false, false, Vec::new());
        Self { machine, merge, is_nested, folds, shown, drives, nested }
    }

    fn node(&self, index: NodeIndex) -> &'a PciNode {
        self.machine.pci.node(index)
    }

    /// Nodes at or above drives, NVMe controllers, devices that take lanes a drive could use, or `further` ones.
    fn mattering(&self, further: &BTreeSet<NodeIndex>) -> Vec<bool> {
        let tree = &self.machine.pci;
        let is_named = |index: NodeIndex| self.drives.contains_key(&index) || further.contains(&index);
        let mut matters: Vec<bool> =
            tree.iter().map(|(index, node)| is_named(index) || is_nvme(node) || takes_lanes(node)).collect();
        // Parents precede their children, so one pass from the end reaches the roots.
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent
                && matters[index]
                && (self.is_nested || node.kind != NodeKind::RootComplex)
            {
                matters[parent.0] = true;
            }
        }
        matters
    }

    fn roots(&self, roots: impl Iterator<Item = NodeIndex>) -> Vec<Item> {
        roots.map(|root| self.item(root, root)).collect()
    }

    fn groups(&self) -> Vec<Item> {
        let group = |group: Group| {
            let is_in = |drive: &&Drive| drive.node.is_none() && self.group_of(drive) == group;
            let drives = self.machine.drives.iter().filter(is_in);
            let below: Vec<Item> = match group {
                Group::Arrays => drives
                    .filter(|drive| self.is_topmost(drive))
                    .map(|drive| self.array_item(drive, RowKey::Drive(drive.name.clone()), &mut Vec::new()))
                    .collect(),
                _ => drives.map(|drive| drive_item(drive, [None; 2])).collect(),
            };
            let drives = below.iter().flat_map(|item| item.row.drives.clone()).collect();
            let row = Row::new(RowKey::Group(group), RowKind::Group(group), [None; 2], drives);
            Item { row, below }
        };
        let groups = [Group::NotOnPci, Group::Arrays, Group::Software].map(group);
        groups.into_iter().filter(|group| !group.below.is_empty()).collect()
    }

    fn group_of(&self, drive: &Drive) -> Group {
        match self.machine.layer(drive.name.as_str()) {
            Some(layer) if layer.is_stacked() => Group::Arrays,
            _ if drive.kind.is_software() => Group::Software,
            _ => Group::NotOnPci,
        }
    }

    /// Whether no other array or volume lies on it.
    fn is_topmost(&self, drive: &Drive) -> bool {
        let above = self.machine.devices_above(drive.name.as_str());
        !above.iter().any(|other| other.name != drive.name && self.group_of(other) == Group::Arrays)
    }

    /// An array with its members; `open` has the devices above it, against circles in captures.
    fn array_item(&self, drive: &'a Drive, key: RowKey, open: &mut Vec<&'a DriveName>) -> Item {
        let nodes = if drive.kind.is_software() { [None; 2] } else { [drive.node; 2] };
        let row = Row::new(key, RowKind::Drive, nodes, vec![drive.name.clone()]);
        let mut below = Vec::new();
        if !open.contains(&&drive.name) {
            open.push(&drive.name);
            let parts = self.machine.layer(drive.name.as_str()).map_or(&[][..], |layer| &layer.below);
            for part in parts {
                let Some(member) = self.machine.whole(part.as_str()) else { continue };
                let key = RowKey::Member(drive.name.clone(), part.clone());
                below.push(self.array_item(member, key, open));
            }
            open.pop();
        }
        Item { row, below }
    }

    fn below(&self, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        let is_below = move |root: &NodeIndex| self.is_nested && self.node(*root).parent == Some(index);
        self.node(index).children.iter().copied().chain(self.nested.iter().copied().filter(is_below))
    }

    fn shown_below(&self, index: NodeIndex) -> Vec<NodeIndex> {
        self.below(index).filter(|child| self.shown[child.0]).collect()
    }

    /// The rows below `head`.
    fn items(&self, head: NodeIndex) -> Vec<Item> {
        let is_port = matches!(self.node(head).kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let tails = match self.merge {
            Merge::Chain => return vec![self.item(head, self.tail(head))],
            Merge::Slot if is_port => self.shown_below(head),
            Merge::Slot => Vec::new(),
        };
        // Of a card with several functions the first has a row, and each with drives.
        let has_row = |(at, tail): &(usize, NodeIndex)| {
            *at == 0 || self.machine.pci.subtree(*tail).iter().any(|node| self.drives.contains_key(node))
        };
        let tails = if tails.is_empty() { vec![head] } else { tails };
        let tails = tails.into_iter().enumerate().filter(has_row);
        tails
            .flat_map(|(_, tail)| match self.own(tail) {
                [] | [_] => vec![self.item(head, tail)],
                several => several.iter().map(|drive| drive_item(drive, [Some(head), Some(tail)])).collect(),
            })
            .collect()
    }

    fn own(&self, node: NodeIndex) -> &[&'a Drive] {
        self.drives.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The end of the chain of bridges from `index` on that lead to one device only.
    fn tail(&self, index: NodeIndex) -> NodeIndex {
        let mut at = index;
        while !matches!(self.node(at).kind, NodeKind::Endpoint | NodeKind::RootComplex) {
            let below: Vec<NodeIndex> =
                if self.folds { self.below(at).collect() } else { self.shown_below(at) };
            at = match below.as_slice() {
                [only] => *only,
                several if self.folds && self.one_device(several) => {
                    // The function that matters names the row; audio beside a display does not.
                    several.iter().copied().find(|f| self.shown[f.0]).unwrap_or(several[0])
                }
                _ => break,
            };
        }
        at
    }

    /// Whether these are functions of one device, at most one of which has drives.
    fn one_device(&self, functions: &[NodeIndex]) -> bool {
        self.machine.pci.are_one_device(functions)
            && functions.iter().filter(|function| self.drives.contains_key(function)).count() <= 1
    }

    fn item(&self, head: NodeIndex, tail: NodeIndex) -> Item {
        let (one, several) = match self.own(tail) {
            [one] => (Some(one.name.clone()), &[][..]),
            several => (None, several),
        };
        let mut below: Vec<Item> =
            several.iter().map(|drive| drive_item(drive, [None, Some(tail)])).collect();
        let (shown, rest): (Vec<NodeIndex>, Vec<NodeIndex>) =
            self.below(tail).partition(|child| self.shown[child.0]);
        below.extend(shown.into_iter().flat_map(|child| self.items(child)));
        let drives = one.into_iter().chain(below.iter().flat_map(|item| item.row.drives.clone())).collect();
        if self.folds && !rest.is_empty() {
            below.push(self.folded(tail, &rest));
        }
        let kind = match self.node(tail).kind {
            NodeKind::RootComplex => RowKind::Root,
            NodeKind::Endpoint => RowKind::Device,
            _ if below.is_empty() => RowKind::Device,
            _ => RowKind::Port,
        };
        let key = RowKey::Node(self.node(head).address.to_string());
        Item { row: Row::new(key, kind, [Some(head), Some(tail)], drives), below }
    }

    fn folded(&self, parent: NodeIndex, heads: &[NodeIndex]) -> Item {
        let tree = &self.machine.pci;
        let inside: Vec<NodeIndex> = heads.iter().flat_map(|head| tree.subtree(*head)).collect();
        let mut words: Vec<&'static str> = Vec::new();
        for word in inside.iter().filter_map(|index| class_word(self.node(*index))) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let key = RowKey::Folded(self.node(parent).address.to_string());
        let mut below: Vec<Item> = heads.iter().map(|head| self.plain_item(*head)).collect();
        below.sort_by_key(|item| item.row.head);
        let kind = RowKind::Folded { nodes: inside, words };
        Item { row: Row::new(key, kind, [None; 2], Vec::new()), below }
    }

    /// An item of a folded device, with all nodes below it.
    fn plain_item(&self, head: NodeIndex) -> Item {
        let below: Vec<Item> = self.below(head).map(|child| self.plain_item(child)).collect();
        let kind = if below.is_empty() { RowKind::Device } else { RowKind::Port };
        let key = RowKey::Node(self.node(head).address.to_string());
        Item { row: Row::new(key, kind, [Some(head); 2], Vec::new()), below }
    }
}

fn drive_item(drive: &Drive, nodes: [Option<NodeIndex>; 2]) -> Item {
    let key = RowKey::Drive(drive.name.clone());
    Item { row: Row::new(key, RowKind::Drive, nodes, vec![drive.name.clone()]), below: Vec::new() }
}

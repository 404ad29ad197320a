//! [`Figures`]: what a row of the tree stands for, its rates, its limit and its link; columns and facts show them.

use super::layers;
use crate::{
    capacity::{Potential, link_state, potential},
    machine::{Drive, HopLink, Machine, NodeKind},
    model::{DriveName, Limits, NodeIndex},
    report::flatten::{Group, Row, RowKind},
    ui::{
        Shared,
        load::{Flow, LoadSource, hop_limit, possible, topmost},
    },
};

pub(super) use link_state::LinkState;

/// Reads so large that their number limits no drive, bytes.
pub(super) const LARGE: f64 = 1_048_576.0;

/// Why a drive has no rates, whole and for narrow rows.
pub(super) use crate::report::stat::IOSTATS_OFF as UNCOUNTED;
pub(super) const UNCOUNTED_IN_SHORT: &str = "iostats 0";
/// Before a sum that lacks drives whose counters are off.
pub(super) const AT_LEAST: char = '>';

/// A row with what is known of it now.
pub(super) struct Figures<'a> {
    pub shared: &'a Shared,
    pub row: &'a Row,
    /// The drives whose counters make up its rates.
    pub counted: Vec<DriveName>,
    /// Their rates; `None` where nothing counts them.
    pub flow: Option<Flow>,
}

impl<'a> Figures<'a> {
    pub fn new(shared: &'a Shared, row: &'a Row) -> Self {
        let path = path(&shared.machine, row);
        let counted = match (path, &row.kind) {
            // What comes by this path alone is counted at the path.
            (Some(path), _) => vec![path.name.clone()],
            (None, RowKind::Group(Group::Software | Group::Arrays)) => topmost(&shared.machine, &row.drives),
            _ => row.drives.clone(),
        };
        let flow = shared.load.sum(&counted);
        Self { shared, row, counted, flow }
    }

    /// The drive, on a row of one.
    pub fn drive(&self) -> Option<&'a Drive> {
        self.shared.machine.drive(self.row.drive()?)
    }

    /// A drive of the row, where nothing counts what its drives read and write: their `iostats` is 0.
    pub fn uncounted(&self) -> Option<&'a Drive> {
        let has_counters = self.shared.load.source != LoadSource::Nothing;
        let is_blind = has_counters && self.flow.is_none();
        self.left_out().next().filter(|_| is_blind && self.left_out().count() == self.counted.len())
    }

    /// Drives that nothing counts: the rates of the row lack theirs.
    pub fn left_out(&self) -> impl Iterator<Item = &'a Drive> {
        let Shared { machine, load, .. } = self.shared;
        let not_seen = self.counted.iter().filter(|name| load.drive(name).is_none());
        not_seen.filter_map(|name| machine.drive(name)).filter(|drive| !drive.is_counted())
    }

    /// A sum that lacks a drive is at least so much.
    pub fn at_least(&self, figure: String) -> String {
        if self.left_out().next().is_some() { format!("{AT_LEAST}{figure}") } else { figure }
    }

    /// Whether the row's drives were counted in the last minute.
    pub fn has_minute(&self) -> bool {
        self.flow.is_some() || self.shared.load.has_history(&self.counted)
    }

    /// Bytes per second this row can carry in one direction. Of a port that includes the link below it, which its row shows.
    pub fn limit(&self) -> Option<f64> {
        let (tree, limits) = (&self.shared.machine.pci, &self.shared.limits);
        let is_port =
            |at: &NodeIndex| matches!(tree.node(*at).kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let below = self.row.node.filter(is_port).and_then(|port| tree.first_below(port));
        self.limit_above().into_iter().chain(below.and_then(|at| hop_limit(limits, at))).reduce(f64::min)
    }

    /// The same without a link below it.
    fn limit_above(&self) -> Option<f64> {
        let (machine, limits, row) = (&self.shared.machine, &self.shared.limits, self.row);
        match row.kind {
            RowKind::Folded { .. } | RowKind::Group(_) => None,
            RowKind::Alike => possible(machine, limits, &row.drives),
            // A narrower link above, such as a chipset's uplink, limits a device without drives too.
            _ if row.drives.is_empty() => Some(limits.path(row.node?)?.bytes_per_second.0),
            _ => match row.drive() {
                Some(name) if path(machine, row).is_none() => {
                    layers::limit(machine, limits, name).or_else(|| possible(machine, limits, &row.drives))
                }
                // A path carries what its links do, whatever other paths carry.
                _ => narrowest(machine, limits, row.head, row.node?),
            },
        }
    }

    /// What the row's drive could read with nothing in its way.
    pub fn potential(&self) -> Option<Potential> {
        potential::of_drive(&self.shared.machine, &self.shared.limits, self.drive()?, LARGE)
    }

    /// Whether the row's drive could read more than its path carries.
    pub fn is_held_back(&self) -> bool {
        let could = self.potential().map(|could| could.bytes_per_second.0);
        could.zip(self.limit()).is_some_and(|(could, limit)| limit < 0.95 * could)
    }

    /// Whether several drives share what this row stands for.
    pub fn is_shared(&self) -> bool {
        self.row.drives.len() > 1 && self.row.kind != RowKind::Alike
    }

    /// The link of the row's place and its state.
    pub fn link(&self) -> Option<(HopLink, LinkState)> {
        let node = self.row.node.filter(|_| self.row.kind != RowKind::Drive)?;
        self.link_of(node).map(|(_, link, state)| (link, state))
    }

    /// The link of the row's function, that of a drive's controller too, with the node below it.
    pub fn place_of_link(&self) -> Option<(NodeIndex, HopLink, LinkState)> {
        self.link_of(self.row.node?)
    }

    /// Whether the row's device lowered the speed of its link while idle.
    pub fn is_asleep(&self) -> bool {
        self.place_of_link().is_some_and(|(place, ..)| link_state::is_asleep(&self.shared.machine, place))
    }

    fn link_of(&self, node: NodeIndex) -> Option<(NodeIndex, HopLink, LinkState)> {
        let machine = &self.shared.machine;
        let place =
            if self.row.drives.is_empty() { link_state::slowest(machine, self.row.head, node) } else { node };
        let found = HopLink::above(machine, place)?;
        Some((place, found, link_state::state(machine, place)))
    }

    /// Nodes that the row stands for, from its device up to the port at its head.
    pub fn nodes(&self) -> Vec<NodeIndex> {
        let Some(node) = self.row.node.filter(|_| self.row.kind != RowKind::Drive) else { return Vec::new() };
        link_state::chain(&self.shared.machine.pci, self.row.head, node)
    }

    /// Correctable errors since boot of each end of the row's link that counts them, the device's first: of a row that stands for a
    /// chain of bridges, of every link in it. On rows of a controller's drives the link is the controller's.
    pub fn errors(&self) -> Vec<(NodeIndex, u64)> {
        let tree = &self.shared.machine.pci;
        let ends = match (&self.row.kind, self.row.node) {
            (RowKind::Drive, Some(node)) => link_state::chain(tree, tree.node(node).parent, node),
            _ => self.nodes(),
        };
        let total = |at: &NodeIndex| tree.node(*at).aer_correctable.value()?.get("TOTAL_ERR_COR").copied();
        ends.into_iter().filter_map(|at| Some((at, total(&at)?))).collect()
    }

    /// Firmware's name of the slot that the row's device is in.
    pub fn slot(&self) -> Option<&'a str> {
        let nodes = self.nodes().into_iter().map(|node| self.shared.machine.pci.node(node));
        nodes.filter_map(|node| node.slot.as_ref()).map(crate::text::Label::as_str).next()
    }
}

/// The path by which a row reaches its drive, where there are several.
pub(super) fn path<'a>(machine: &'a Machine, row: &Row) -> Option<&'a Drive> {
    let [name] = row.drives.as_slice() else { return None };
    machine.path_through(machine.drive(name)?, row.node?)
}

/// The lowest limit of the hops that one row stands for, from the port at its head down to its device.
fn narrowest(machine: &Machine, limits: &Limits, head: Option<NodeIndex>, node: NodeIndex) -> Option<f64> {
    let hops = link_state::chain(&machine.pci, head, node);
    hops.into_iter().filter_map(|at| hop_limit(limits, at)).reduce(f64::min)
}

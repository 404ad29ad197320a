//! The tree: a row per place, with its link, and its load as a bar against its limit.

use ratatui::layout::Rect;

use super::{Areas, Tree, search_text};
use crate::{
    capacity::{bottleneck::FULL, potential},
    machine::{Drive, HopLink, Machine, hop::COLUMN_WIDTH, pci::NodeKind},
    model::{DriveName, NodeIndex},
    report::flatten::{Group, Row, RowKind, Sort},
    screens::widgets::{
        bottleneck_panel::FULL_MARK,
        findings,
        paint::{Brush, Piece, cells, piece, write_fitting},
        words::{giga, short_name},
    },
    ui::{
        Shared,
        load::{LoadSource, hop_limit, possible},
        theme::Meaning,
    },
    units::counted,
};

/// A link that is slower than both its ends can be.
const SLOW_MARK: char = '▼';
/// A slot that holds a device to less than the device can.
const SLOT_MARK: char = '▽';

/// Where the columns stand, from the left edge of the rows.
struct Columns {
    name: u16,
    link: u16,
    load: u16,
    bar: u16,
    bar_width: u16,
}

const LOAD_WIDTH: u16 = 12;

/// Reads so large that their number limits no drive, bytes.
const LARGE: f64 = 1_048_576.0;

impl Columns {
    fn new(area: Rect) -> Self {
        let bar_width = match area.width {
            ..72 => 6,
            72..90 => 8,
            90..110 => 18,
            _ => 30,
        };
        let bar = area.width - bar_width;
        let load = bar - LOAD_WIDTH - 1;
        let link = load - COLUMN_WIDTH - 2;
        // The cell before the link column holds its mark.
        Self { name: link - 2, link, load, bar, bar_width }
    }
}

pub(super) fn draw(state: &Tree, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let area = areas.rows;
    let columns = Columns::new(area);
    brush.panel(areas.tree, &title(state, shared), &[]);
    heading(shared, brush, areas.head, &columns);
    let names = name_width(shared);
    let searched = state.searched();
    let shown = state.rows.iter().enumerate().skip(state.top).take(usize::from(area.height));
    for (y, (index, row)) in (area.y..).zip(shown) {
        let painter = RowPainter { shared, row, columns: &columns, area, y, names };
        painter.draw(brush, index == state.selected, &searched);
    }
    more_below(state, areas, brush);
}

fn title(state: &Tree, shared: &Shared) -> Vec<Piece> {
    let mut pieces = vec![piece("PCIe tree", Meaning::Heading)];
    if state.sort != Sort::Bus {
        pieces.push(piece(format!(", siblings {}", state.sort.name()), Meaning::Quiet));
    }
    if !shared.marks.is_empty() {
        pieces.push(piece(format!("  ● {} marked", shared.marks.len()), Meaning::Marked));
    }
    pieces
}

fn heading(shared: &Shared, brush: &mut Brush<'_>, head: Rect, columns: &Columns) {
    let load = match shared.load.source {
        LoadSource::Nothing => format!("limit {}", shared.units.giga_per_second()),
        _ => format!("{} of limit", shared.units.giga_per_second()),
    };
    let load = format!("{load:>12}");
    for (x, text) in [(columns.link, "link"), (columns.load, load.as_str())] {
        let text = if brush.boxed { text.to_owned() } else { format!("{text} ") };
        brush.text(head.x + x, head.y, head.width - x, &text, Meaning::Quiet);
    }
}

/// A word at the lower edge when rows are out of sight.
fn more_below(state: &Tree, areas: &Areas, brush: &mut Brush<'_>) {
    let seen = state.top + usize::from(areas.rows.height);
    let hidden = state.rows.len().saturating_sub(seen);
    let above = state.top;
    if !brush.boxed || hidden + above == 0 {
        return;
    }
    let text = match (above, hidden) {
        (0, below) => format!(" ↓ {below} more "),
        (above, 0) => format!(" ↑ {above} more "),
        (above, below) => format!(" ↑ {above}  ↓ {below} more "),
    };
    let panel = areas.tree;
    brush.write_right(panel.right() - 1, panel.bottom() - 1, &[piece(text, Meaning::Quiet)]);
}

/// The widest name of a drive, so that models stand in a column of their own.
fn name_width(shared: &Shared) -> u16 {
    let drives = shared.machine.drives.iter().filter(|drive| !drive.kind.is_software());
    drives.map(|drive| cells(drive.name.as_str())).max().unwrap_or(0).min(12)
}

struct RowPainter<'a> {
    shared: &'a Shared,
    row: &'a Row,
    columns: &'a Columns,
    area: Rect,
    y: u16,
    names: u16,
}

impl RowPainter<'_> {
    fn draw(&self, brush: &mut Brush<'_>, selected: bool, searched: &str) {
        self.gutter(brush, selected);
        let start = self.area.x + 2;
        let mut x = brush.text(start, self.y, self.columns.name, &self.row.guides, Meaning::Lines);
        let first = x;
        let pieces = self.name();
        let place = self.row.node.filter(|_| self.row.kind != RowKind::Drive);
        let link = place.and_then(|node| HopLink::above(&self.shared.machine, node));
        // A row without a link uses that column for its name, up to the mark of a finding.
        let end = if link.is_some() { self.columns.name } else { self.columns.load - 2 };
        let room = (self.area.x + end).saturating_sub(x + 1);
        x = write_fitting(brush, x, self.y, room, &pieces);
        let found = !searched.is_empty() && search_text(&self.shared.machine, self.row).contains(searched);
        let name = Rect { x: first, y: self.y, width: x - first, height: 1 };
        if selected {
            brush.shade(name, Meaning::Selected);
        } else if found {
            brush.shade(name, Meaning::Field);
        }
        self.link(brush, link);
        self.load(brush);
    }

    fn gutter(&self, brush: &mut Brush<'_>, selected: bool) {
        if selected {
            brush.text(self.area.x, self.y, 1, "›", Meaning::Brand);
        }
        let marks = &self.shared.marks;
        let marked = self.row.drives.iter().filter(|drive| marks.contains(*drive)).count();
        let mark = match marked {
            0 => return,
            n if n == self.row.drives.len() => "●",
            _ => "○",
        };
        brush.text(self.area.x + 1, self.y, 1, mark, Meaning::Marked);
    }

    fn name(&self) -> Vec<Piece> {
        let fold = match self.row.open {
            Some(true) => "▾ ",
            Some(false) => "▸ ",
            None => "",
        };
        let mut pieces = vec![piece(fold, Meaning::Quiet)];
        match &self.row.kind {
            RowKind::Root => pieces.extend(self.root_name()),
            RowKind::Port | RowKind::Device => pieces.extend(self.device_name()),
            RowKind::Drive => pieces.extend(self.drive_name()),
            RowKind::Folded { count, words } => {
                let more = words.iter().filter(|word| !matches!(**word, "host bridge" | "port" | "IOMMU"));
                let listed: Vec<&str> = more.copied().take(4).collect();
                let tail = if listed.is_empty() { String::new() } else { format!(": {}", listed.join(", ")) };
                pieces.push(piece(format!("{count} folded{tail}"), Meaning::Quiet));
            }
            RowKind::Alike => {
                let names = [self.row.drives.first(), self.row.drives.last()];
                let names: Vec<&str> = names.into_iter().flatten().map(DriveName::as_str).collect();
                pieces.push(piece(format!("{} more like it", self.row.drives.len()), Meaning::Text));
                pieces.push(piece(format!("  {}", names.join(" to ")), Meaning::Quiet));
            }
            RowKind::Group(group) => {
                let word = match group {
                    Group::NotOnPci => "not on PCI",
                    Group::Software => "software drives",
                };
                pieces.push(piece(word, Meaning::Text));
                pieces.push(piece(format!("  {}", counted(self.count(), "drive")), Meaning::Quiet));
            }
        }
        pieces
    }

    /// How many drives are below.
    fn count(&self) -> usize {
        self.shared.machine.count_of(&self.row.drives)
    }

    fn root_name(&self) -> Vec<Piece> {
        let Some(node) = self.row.node else { return Vec::new() };
        let drives = match self.count() {
            0 => ", no drives".to_owned(),
            n => format!(", {}", counted(n, "drive")),
        };
        vec![
            piece(self.shared.machine.pci.node(node).address.to_string(), Meaning::Figure),
            piece(" root complex", Meaning::Text),
            piece(drives, Meaning::Quiet),
        ]
    }

    fn device_name(&self) -> Vec<Piece> {
        let (Some(head), Some(index)) = (self.row.head, self.row.node) else { return Vec::new() };
        let tree = &self.shared.machine.pci;
        let mut pieces = vec![piece(format!("{} ", tree.node(head).address.place()), Meaning::Quiet)];
        let node = tree.node(index);
        if self.row.drive().is_some() {
            pieces.extend(self.drive_name());
            return pieces;
        }
        let word = match node.kind {
            NodeKind::SwitchUpstream | NodeKind::SwitchDownstream if self.row.kind == RowKind::Port => {
                "switch "
            }
            NodeKind::RootPort if self.row.open.is_none() => "empty port ",
            _ => "",
        };
        pieces.push(piece(word, Meaning::Text));
        pieces.push(piece(short_name(node), Meaning::Text));
        if self.count() > 1 {
            pieces.push(piece(format!("  {}", counted(self.count(), "drive")), Meaning::Quiet));
        }
        pieces
    }

    /// The path by which this row reaches its drive, where there are several.
    fn path(&self) -> Option<&Drive> {
        let [name] = self.row.drives.as_slice() else { return None };
        let machine = &self.shared.machine;
        machine.path_through(machine.drive(name)?, self.row.node?)
    }

    fn drive_name(&self) -> Vec<Piece> {
        let Some(name) = self.row.drives.first() else { return Vec::new() };
        let model = self.shared.machine.drive(name).map(Drive::short_model).unwrap_or_default();
        let path = self.path().map_or_else(String::new, |path| format!("  path {}", path.name));
        let padded = format!("{name:<wide$}", wide = usize::from(self.names));
        vec![piece(padded, Meaning::Drive), piece(format!("{path}  {model}"), Meaning::Quiet)]
    }

    /// The mark of the worst finding here, or of a place that holds the drives below it back.
    fn finding_mark(&self, node: NodeIndex) -> Option<(&'static str, Meaning)> {
        let worst = self.shared.findings.marked.get(&node).map(|severity| findings::mark(*severity));
        let holds_back = self.shared.bottlenecks.iter().any(|bottleneck| bottleneck.node == node);
        worst.or_else(|| holds_back.then_some((FULL_MARK, Meaning::Warning)))
    }

    fn link(&self, brush: &mut Brush<'_>, link: Option<HopLink>) {
        if let Some((mark, meaning)) = self.row.node.and_then(|node| self.finding_mark(node)) {
            let x = self.area.x + self.columns.load - 2;
            brush.text(x, self.y, 1, mark, meaning);
        }
        let Some(link) = link else { return };
        let judged = !self.row.drives.is_empty();
        let x = self.area.x + self.columns.link;
        let (mark, meaning) = match (judged, link.is_slow(), link.is_slot_limited()) {
            (true, true, _) => (Some(SLOW_MARK), Meaning::Warning),
            (true, false, true) => (Some(SLOT_MARK), Meaning::Quiet),
            (true, false, false) => (None, Meaning::Text),
            (false, _, _) => (None, Meaning::Quiet),
        };
        if let Some(mark) = mark {
            brush.text(x - 2, self.y, 1, &mark.to_string(), meaning);
        }
        brush.text(x, self.y, COLUMN_WIDTH, &link.column(), meaning);
    }

    fn load(&self, brush: &mut Brush<'_>) {
        let limit = self.limit();
        let known = self.shared.load.source != LoadSource::Nothing && !self.row.drives.is_empty();
        if limit.is_none() && !known {
            return;
        }
        // What comes by this path alone is counted at the path.
        let path = self.path().map(|path| path.name.clone());
        let load =
            path.map_or_else(|| self.shared.load.of(&self.row.drives), |path| self.shared.load.of(&[path]));
        let share = limit.map_or(0.0, |limit| load / limit);
        let full = share >= FULL;
        let meaning = match (full, self.shares() || self.is_held_back()) {
            (true, true) => Meaning::Warning,
            (true, false) => Meaning::Good,
            (false, _) => Meaning::Load,
        };
        let figure = if known && load > 1e6 { Meaning::Figure } else { Meaning::Quiet };
        let left = if known { giga(self.shared.units, load) } else { String::new() };
        let (of, limit) = match limit {
            Some(limit) => (if known { " of " } else { "    " }, giga(self.shared.units, limit)),
            None => ("    ", String::new()),
        };
        let x = self.area.x + self.columns.load;
        let x = brush.text(x, self.y, 4, &format!("{left:>4}"), figure);
        let x = brush.text(x, self.y, 4, of, Meaning::Quiet);
        brush.text(x, self.y, 4, &format!("{limit:>4}"), Meaning::Quiet);
        if known && share > 0.0 {
            let x = self.area.x + self.columns.bar;
            brush.bar(x, self.y, self.columns.bar_width, share, meaning);
        }
    }

    /// Bytes per second this row can carry.
    fn limit(&self) -> Option<f64> {
        let limits = &self.shared.limits;
        match self.row.kind {
            RowKind::Folded { .. } | RowKind::Group(_) => None,
            RowKind::Alike => possible(&self.shared.machine, limits, &self.row.drives),
            // A narrower link above, such as a chipset's uplink, limits a device without drives too.
            _ if self.row.drives.is_empty() => Some(limits.path(self.row.node?)?.bytes_per_second.0),
            _ => match self.row.drive() {
                Some(_) if self.path().is_none() => possible(&self.shared.machine, limits, &self.row.drives),
                // A path carries what its links do, whatever other paths carry.
                _ => self
                    .row
                    .node
                    .and_then(|node| narrowest(&self.shared.machine, limits, self.row.head, node)),
            },
        }
    }

    /// Whether the row's drive could read more than its path carries.
    fn is_held_back(&self) -> bool {
        let (machine, limits) = (&self.shared.machine, &self.shared.limits);
        let drive = self.row.drive().and_then(|name| machine.drive(name));
        let potential = drive.and_then(|drive| potential::of_drive(machine, limits, drive, LARGE));
        potential.zip(self.limit()).is_some_and(|(could, limit)| limit < 0.95 * could.bytes_per_second.0)
    }

    /// Whether several drives share what this row stands for.
    fn shares(&self) -> bool {
        self.row.drives.len() > 1 && self.row.kind != RowKind::Alike
    }
}

/// The lowest limit of the hops that one row stands for, from the port at its head down to its device.
fn narrowest(
    machine: &Machine,
    limits: &crate::model::Limits,
    head: Option<NodeIndex>,
    node: NodeIndex,
) -> Option<f64> {
    let mut lowest = hop_limit(limits, node);
    for above in machine.pci.ancestry(node) {
        if let Some(limit) = hop_limit(limits, above) {
            lowest = Some(lowest.map_or(limit, |low: f64| low.min(limit)));
        }
        if Some(above) == head {
            break;
        }
    }
    lowest
}

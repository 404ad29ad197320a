//! The machine screen: the PCIe tree, the facts of the selected row, what holds the machine back.

mod choice;
mod column_list;
mod columns;
mod curves;
mod draw;
mod fact;
mod facts;
mod facts_pane;
mod figures;
mod finding;
mod layers;
mod row_name;
mod tree_rows;
mod update;

use std::collections::BTreeSet;

use ratatui::layout::{Constraint, Layout, Rect};

use self::{
    choice::Choice,
    columns::{Room, column},
    figures::Figures,
};
use super::{
    Run,
    widgets::{findings, paint::inner, scroll::kept_in_sight, span::Selection},
};
use crate::{
    machine::Machine,
    model::{DriveName, NodeIndex, Severity},
    report::flatten::{self, Row, RowKey, Sort},
    ui::{
        About, Asks, Command,
        Key::{self, Char},
        ScreenId, Shared, TextField,
        command::{command, pair},
        load::LoadSource,
        shared::flip,
        theme::Meaning,
    },
};

pub(super) const ABOUT: About = About {
    id: ScreenId("machine"),
    digit: '1',
    name: "Machine",
    help: "Show the machine: the PCIe tree, links, limits and load",
    purpose: "The PCIe tree of this machine: each link's current and maximum speed, and its load.",
    mark: 0,
    marks: &[
        ("▲", Meaning::Problem, "a finding that costs at least 15 %, or an oversubscribed shared link"),
        ("!", Meaning::Warning, "a finding with a cost; see Findings"),
        ("▼", Meaning::Warning, "a link is downtrained: below what both ends can do"),
        ("▽", Meaning::Quiet, "the slot is slower than the card or drive in it"),
        ("●", Meaning::Marked, "marked for the test; ○ some of the drives below are"),
        ("▾ ▸", Meaning::Lines, "unfolded and folded row"),
        ("rd ▆", Meaning::Load, "reads against the limit; every PCIe link carries as much in each direction"),
        ("wr ▆", Meaning::Writes, "writes against the limit"),
        ("▆▆▆▆", Meaning::Good, "a drive that fills its own link: the best possible"),
        ("▲ ▆▆▆▆", Meaning::Warning, "a full shared link or root complex: the bottleneck"),
        (
            "(3.32 GB/s)",
            Meaning::Figure,
            "beside a finding: lost, and no free slot of this machine brings it back; +: gain",
        ),
        ("idle", Meaning::Quiet, "a display or accelerator lowered its link's speed while idle: no fault"),
        ("%util", Meaning::Quiet, "- on drives with several queues: they take more I/O at 100 %"),
        (">1.80", Meaning::Quiet, "at least so much: a drive below is not counted, its iostats is 0"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Tree>>] = &[
    pair("←→", command(240, &[Key::Left, Char('h')], "fold", "fold", "Fold the row, or go to its parent", |tree, _| { tree.left(); Asks::new() })),
    command(250, &[Key::Right, Char('l')], "", "unfold", "Unfold the row, or go to its first child", |tree, _| { tree.right(); Asks::new() }),
    command(280, &[Char('n')], "next", "next drive", "Jump to the next drive; after a find, to its next match", |tree, shared| tree.next(1, shared)),
    command(290, &[Char('N')], "", "previous drive", "Jump to the previous drive; after a find, to its previous match", |tree, shared| tree.next(-1, shared)),
    command(300, &[Char(' ')], "mark", "mark", "Mark the drive for the test, or every drive below this row", Tree::mark),
    command(320, &[Key::Enter], "details", "details", "Show all facts of the selected row, or unfold it", Tree::details),
    command(350, &[Char('/')], "find", "find", "Find by name, model, address or driver; Enter keeps the matches, {next drive} and {previous drive} go on, Esc ends", |tree, _| { tree.find = Some(TextField::default()); Asks::new() }),
    command(360, &[Char('s')], "sort", "sort", "List drives and devices by load, then by name, then show the tree; {columns}: any column", Tree::next_sort),
    command(362, &[Char('>')], "", "next column", "Sort drives and devices in one list by the next column, the largest first", |tree, shared| tree.sort_by(shared, 1)),
    command(364, &[Char('<')], "", "previous column", "Sort drives and devices in one list by the column before", |tree, shared| tree.sort_by(shared, -1)),
    command(366, &[Char('R'), Char('I')], "", "reverse", "Reverse the order of the column sorted by", Tree::reverse),
    command(368, &[Char('c')], "columns", "columns", "Sort by a column, choose the columns of the tree and their order", Tree::choose),
    command(372, &[Char('J')], "", "text down", "Scroll the text of Bottleneck down", |tree, _| tree.scroll_full(1)),
    command(374, &[Char('K')], "", "text up", "Scroll the text of Bottleneck up", |tree, _| tree.scroll_full(-1)),
    command(369, &[], "", "hottest", "Sort drives of all root complexes by temperature, the hottest first", Tree::by_temperature),
    command(370, &[Char('z')], "all devices", "every device", "Show every device, or fold those unrelated to drives", |tree, _| { tree.everything = !tree.everything; Asks::new() }),
    command(380, &[Char('p')], "paths", "paths", "Show the path each value was read from", |tree, _| { tree.paths = !tree.paths; Asks::new() }),
    command(450, &[Char('w')], "slots", "what if", "Show this row's card in another slot, as a hypothetical move", Tree::move_this),
];

/// The tree on the screen.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Rows as they stand now, top to bottom.
    pub rows: Vec<Row>,
    /// Index of the selected row.
    pub selected: usize,
    /// Index of the first row shown.
    pub top: usize,
    /// Rows whose folding differs from what it is by itself.
    pub toggled: BTreeSet<RowKey>,
    /// Nothing is folded away.
    pub everything: bool,
    /// The order of rows.
    pub sort: Sort,
    /// Whether the facts beside the tree show the path each was read from.
    pub paths: bool,
    /// The field behind `/`, while it is open.
    pub find: Option<TextField>,
    /// A find has opened the fold selected: it goes on to the first (1) or last (-1) match inside.
    enters: Option<isize>,
    /// Lines by which the facts beside the tree are scrolled down.
    facts_top: usize,
    /// Findings above the first one shown below the tree.
    found_top: usize,
    /// Lines by which the text about full links is scrolled down, and the most of them.
    full_top: usize,
    full_end: usize,
    /// The span of time that is selected on its curves.
    selection: Selection,
    choice: Choice,
    /// Whether the configuration file has columns, and an order.
    has_own_columns: bool,
    has_own_sort: bool,
    /// The cursor in the list of columns, while that is open.
    choosing: Option<usize>,
    /// Rows up to which software devices are unfolded by themselves.
    spacious: usize,
    /// Room for columns when rows were last made.
    room: Room,
    /// What the rows leave to others.
    rest: Rest,
    found: String,
    /// Its matches stay marked.
    is_kept: bool,
    /// Which of how many rows that match the field is selected; 0 where another row is.
    matches: (usize, usize),
    selected_key: Option<RowKey>,
    /// The node or drive to select once it has a row.
    wanted: Option<(NodeIndex, Option<DriveName>)>,
}

/// Names of the columns.
pub(super) fn column_names() -> Vec<&'static str> {
    columns::COLUMNS.iter().map(|column| column.name).collect()
}

/// Before the order in the kept line; no column begins so.
const SORT: &str = "sort=";

/// The order of a word: bus, load, name, a column, or a column in reverse.
fn sort_of(word: &str) -> Sort {
    let named = |name: &str| column(name).map(|column| column.name);
    match word.strip_prefix('-') {
        Some(name) => named(name).map_or(Sort::Bus, Sort::Reversed),
        None if word == "load" => Sort::Load,
        None if word == "name" => Sort::Name,
        None => named(word).map_or(Sort::Bus, Sort::Column),
    }
}

impl Tree {
    /// Takes columns and order from the configuration file.
    pub(crate) fn configure(&mut self, columns: Option<&str>, sort: Option<&str>) {
        if let Some(line) = columns {
            self.choice = Choice::parse(line);
        }
        self.sort = sort_of(sort.unwrap_or("bus"));
        (self.has_own_columns, self.has_own_sort) = (columns.is_some(), sort.is_some());
    }

    /// Takes columns and order from the tree of another machine.
    pub(crate) fn inherit(&mut self, before: Self) {
        (self.choice, self.sort) = (before.choice, before.sort);
        (self.has_own_columns, self.has_own_sort) = (before.has_own_columns, before.has_own_sort);
    }

    /// Takes what [`Self::kept_line`] wrote at an earlier start; the configuration file wins.
    fn restore(&mut self, line: &str) {
        if !self.has_own_columns {
            self.choice = Choice::parse(line);
        }
        let word = line.split_whitespace().find_map(|word| word.strip_prefix(SORT));
        if !self.has_own_sort {
            self.sort = word.map_or(self.sort, sort_of);
        }
    }

    /// Columns and order as one line.
    pub(crate) fn kept_line(&self) -> String {
        let sort = match self.sort {
            Sort::Bus => "bus".to_owned(),
            Sort::Load => "load".to_owned(),
            Sort::Name => "name".to_owned(),
            Sort::Column(name) => name.to_owned(),
            Sort::Reversed(name) => format!("-{name}"),
        };
        format!("{} {SORT}{sort}", self.choice.line())
    }

    /// Makes the rows for the places that suit them.
    fn arrange(&mut self, shared: &Shared, area: Rect) {
        let beside = Areas::new(Rest::default(), shared, area);
        // Software devices take no rows that facts and findings fill.
        let is_stackable = shared.is_boxed() && area.width >= STACKED;
        let others = if is_stackable { 3 + FACTS.1 } else { FACTS.1 - LOW };
        self.spacious = usize::from(beside.rows.height.saturating_sub(others));
        self.make(shared, beside.rows);
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        let fits = rows.saturating_add(3 + FACTS.0) <= beside.tree.height;
        let stacked = (fits && shared.is_boxed() && area.width >= STACKED).then_some(rows);
        let below = if area.width < BESIDE { beside.rows.height.saturating_sub(rows) } else { 0 };
        let wanted = || facts_pane::rows(self, shared, area.width);
        // Under load curves fill what the tree leaves, else findings with their remedies.
        let spare = match stacked {
            _ if !shared.is_boxed() || shared.load.is_busy() => 0,
            Some(rows) => beside.tree.height.saturating_sub(rows + 3 + wanted().clamp(FACTS.0, FACTS.1)),
            None => beside.rows.height.saturating_sub(rows.saturating_add(1)),
        };
        let panel = inner(beside.verdict, shared.is_boxed());
        // Only before the first load: a panel that grows and shrinks with each burst would move the others.
        let room = if self.room.has_load { 0 } else { usize::from(panel.height.saturating_add(spare)) };
        let rows_of = |count: usize| u16::try_from(count).unwrap_or(u16::MAX).saturating_sub(panel.height);
        let spare = if spare > 0 { spare.min(rows_of(findings::rows(shared, panel.width, room))) } else { 0 };
        let below = if below == 0 { 0 } else { below.min(wanted().saturating_sub(LOW)) };
        let when_wide = (fits && shared.is_boxed()).then_some(rows);
        self.rest = Rest { stacked, when_wide, spare, below };
        if stacked.is_some() {
            self.make(shared, Areas::new(self.rest, shared, area).rows);
        }
    }

    /// Makes the rows afresh, `height` of them to be seen, with the selection on what is wanted or on the row it was on.
    fn make(&mut self, shared: &Shared, rows: Rect) {
        let height = rows.height;
        self.room.rows = rows.width;
        self.room.has_counters = shared.can_test();
        self.room.sorted = self.order().column();
        self.list(shared, height);
        if let Some((node, drive)) = self.wanted.take()
            && !self.reveal(&shared.machine, node, drive.as_ref())
        {
            // What the list and the folded tree leave out has a row in the whole tree.
            self.sort = Sort::Bus;
            self.list(shared, height);
            if !self.reveal(&shared.machine, node, drive.as_ref()) {
                self.toggled.clear();
                self.everything = true;
                self.list(shared, height);
                self.reveal(&shared.machine, node, drive.as_ref());
            }
        }
        let rows: Vec<Figures<'_>> = self.rows.iter().map(|row| Figures::new(shared, row)).collect();
        for figures in &rows {
            self.room.has_load |= figures.flow.is_some_and(|flow| flow.bytes() > 0.0);
            self.room.filled.add(figures);
        }
        self.room.names = tree_rows::names(shared, rows.iter());
        self.room.is_counted |= shared.load.source != LoadSource::Nothing;
        self.top = kept_in_sight(self.top, self.selected, self.rows.len(), height);
    }

    fn list(&mut self, shared: &Shared, height: u16) {
        self.rows = flatten::Screen {
            machine: &shared.machine,
            toggled: &self.toggled,
            everything: self.everything,
            sort: self.order(),
            value: &|row| self.value(shared, row),
            height: usize::from(height),
            spacious: self.spacious,
        }
        .rows();
        let at = self.selected_key.as_ref().and_then(|key| self.rows.iter().position(|row| row.key == *key));
        self.selected = match (at, &self.selected_key) {
            (Some(at), _) => at,
            (None, None) => self.rows.iter().position(Row::is_drive).unwrap_or(0),
            (None, Some(_)) => self.selected,
        };
        self.enter_fold(&shared.machine);
        self.select(self.selected);
        if self.enters.is_some() {
            // What was found there is folded, too.
            self.list(shared, height);
        }
    }

    /// The order of rows: that of the bus where it goes by rates and there are none.
    fn order(&self) -> Sort {
        let is_counted = match self.sort {
            Sort::Load => true,
            sort => sort.column().and_then(column).is_some_and(|column| column.is_counted),
        };
        if is_counted && !self.room.has_counters { Sort::Bus } else { self.sort }
    }

    /// What rows are sorted by.
    fn value(&self, shared: &Shared, row: &Row) -> Option<f64> {
        let figures = Figures::new(shared, row);
        match self.sort.column() {
            Some(name) => column(name).and_then(|column| (column.key)(&figures)),
            None => figures.flow.map(|flow| flow.bytes()),
        }
    }

    /// The selected row.
    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Selects the row at `index`, or the last one.
    fn select(&mut self, index: usize) {
        let index = index.min(self.rows.len().saturating_sub(1));
        self.selected = index;
        let key = self.rows.get(index).map(|row| row.key.clone());
        if self.selected_key != key {
            (self.selected_key, self.facts_top) = (key, 0);
        }
    }

    /// Selects the row that shows `node`, or `drive` where several hang on one device; false when no row does.
    fn reveal(&mut self, machine: &Machine, node: NodeIndex, drive: Option<&DriveName>) -> bool {
        let shows_drive = |row: &Row| row.drive().is_some_and(|own| Some(own) == drive);
        let shows_node = |row: &Row| {
            let ports =
                |from| machine.pci.ancestry(from).take_while(|at| row.head != machine.pci.node(*at).parent);
            row.node == Some(node)
                || row.head == Some(node)
                || row.node.is_some_and(|from| row.head.is_some() && ports(from).any(|at| at == node))
        };
        let at = self.rows.iter().position(shows_drive).or_else(|| self.rows.iter().position(shows_node));
        if let Some(at) = at {
            self.select(at);
        }
        at.is_some()
    }

    /// Jumps to the next (`step` 1) or previous (-1) match of a find, else drive.
    fn next(&mut self, step: isize, shared: &Shared) -> Asks {
        if self.is_kept {
            self.find_next(&shared.machine, step);
            self.count_matches(&shared.machine);
        } else {
            self.step_drive(step);
        }
        Asks::new()
    }

    /// Whether a row besides the selected one stands for drives.
    fn has_other_drive(&self) -> bool {
        self.rows.iter().enumerate().any(|(at, row)| at != self.selected && row.is_drive())
    }

    /// Jumps to the next (`step` 1) or previous (-1) row that stands for drives, around the corner.
    fn step_drive(&mut self, step: isize) {
        self.step_to(step, Row::is_drive);
    }

    fn step_to(&mut self, step: isize, wanted: impl Fn(&Row) -> bool) {
        let count = self.rows.len().cast_signed();
        let here = self.selected.cast_signed();
        let next = (1..=count).map(|distance| (here + step * distance).rem_euclid(count).cast_unsigned());
        if let Some(index) = next.into_iter().find(|index| wanted(&self.rows[*index])) {
            self.select(index);
        }
    }

    /// Opens or closes the selected row; false when there is nothing to open.
    fn toggle(&mut self) -> bool {
        let Some(row) = self.row() else { return false };
        if row.open.is_none() {
            return false;
        }
        let key = row.key.clone();
        flip(&mut self.toggled, key);
        true
    }

    /// Left: closes an open row, else goes to the row above it in the tree.
    fn left(&mut self) {
        let Some(row) = self.row() else { return };
        if row.open == Some(true) {
            self.toggle();
            return;
        }
        let depth = row.depth;
        if let Some(above) = self.rows[..self.selected].iter().rposition(|row| row.depth < depth) {
            self.select(above);
        }
    }

    /// Right: opens a closed row, else goes to the first row below it in the tree.
    fn right(&mut self) {
        let Some(row) = self.row() else { return };
        if row.open == Some(false) {
            self.toggle();
        } else if self.rows.get(self.selected + 1).is_some_and(|below| below.depth > row.depth) {
            self.select(self.selected + 1);
        }
    }
}

/// From this width on the facts stand below a tree that leaves room: the tree then has room for every column.
const STACKED: u16 = 150;
/// The least and the most rows of the facts below the tree, with their frame, where no curves stand beside them.
const FACTS: (u16, u16) = (9, 18);
/// From this width on facts stand beside the tree.
const BESIDE: u16 = 100;
/// The least rows of facts below the tree on narrower terminals.
const LOW: u16 = 4;

/// Terminals beyond this width have room for every column.
const WIDEST: u16 = 400;

/// The first of these widths that has something which all wider ones have.
fn first_width(widths: std::ops::Range<u16>, has: impl Fn(u16) -> bool) -> Option<u16> {
    let (mut first, mut end) = (widths.start, widths.end);
    while first < end {
        let middle = first.midpoint(end);
        if has(middle) { end = middle } else { first = middle + 1 }
    }
    (first < widths.end).then_some(first)
}

/// What the rows of the tree leave to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Rest {
    /// Rows of the tree where the facts stand below it.
    stacked: Option<u16>,
    /// The same on a wide terminal.
    when_wide: Option<u16>,
    /// Empty rows that findings fill.
    spare: u16,
    /// Empty rows above facts on narrow terminals, which facts fill.
    below: u16,
}

/// Where everything is.
struct Areas {
    /// The tree's panel.
    tree: Rect,
    /// The row of its column headings.
    head: Rect,
    /// Its rows.
    rows: Rect,
    /// The facts of the selected row.
    facts: Rect,
    /// What holds the machine back.
    verdict: Rect,
}

impl Areas {
    /// The facts beside the tree, or below it on narrow terminals and on wide ones where all `stacked` rows fit above.
    fn new(rest: Rest, shared: &Shared, area: Rect) -> Self {
        use Constraint::{Fill, Length};
        // On low terminals the tree has the row of a second finding that costs nothing.
        let second = shared.findings.list.get(1).map(|finding| finding.severity);
        let has_two = shared.load.is_busy() || second.is_some_and(|severity| severity > Severity::Info);
        let height = match (shared.is_boxed(), area.height) {
            (false, _) => 2 + u16::from(has_two),
            (true, ..36) => 4,
            (true, 36..40) => 5,
            (true, _) => {
                let findings = u16::try_from(shared.findings.list.len()).unwrap_or(u16::MAX);
                (area.height / 5).clamp(5, 10).min(findings.max(4).saturating_add(2))
            }
        };
        let [above, verdict] = Layout::vertical([Fill(1), Length(height + rest.spare)]).areas(area);
        let facts = (area.width * 31 / 100).clamp(31, 64);
        let [tree, facts] = if let Some(rows) = rest.stacked.filter(|_| area.width >= STACKED) {
            let left = above.height.saturating_sub(rows + 3);
            Layout::vertical([Fill(1), Length(left.max(FACTS.0))]).areas(above)
        } else if area.width >= BESIDE {
            Layout::horizontal([Fill(1), Length(facts)]).areas(above)
        } else {
            Layout::vertical([Fill(1), Length(LOW + rest.below)]).areas(above)
        };
        let inside = inner(tree, shared.is_boxed());
        // Without a box the headings stand in the rule at the top.
        let (head, rows) = if shared.is_boxed() {
            let [head, rows] = Layout::vertical([Length(1), Fill(1)]).areas(inside);
            (head, rows)
        } else {
            (Rect { y: tree.y, height: 1, ..inside }, inside)
        };
        Self { tree, head, rows, facts, verdict }
    }
}

//! The state of the machine screen: which row is selected, which are open, marked, searched.

use std::{collections::BTreeSet, fmt::Write as _};

use tui_input::Input;

use crate::{
    machine::Machine,
    model::{DriveName, NodeIndex},
    report::flatten::{Row, RowKey, RowKind, Screen, Sort},
    ui::load::Load,
};

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
    /// The order of siblings.
    pub sort: Sort,
    /// Whether the facts beside the tree show the path each was read from.
    pub paths: bool,
    /// The field behind `/`, while it is open.
    pub find: Option<Input>,
    /// How far the facts of the selected row are scrolled down.
    pub facts_top: usize,
    found: String,
    selected_key: Option<RowKey>,
}

impl Tree {
    /// Makes the rows afresh, with the selection on the row it was on, and `height` rows to be seen.
    pub fn refresh(&mut self, machine: &Machine, load: &Load, height: usize) {
        self.rows = Screen {
            machine,
            toggled: &self.toggled,
            everything: self.everything,
            sort: self.sort,
            load: &|drives| load.of(drives),
            height,
        }
        .rows();
        let at = self.selected_key.as_ref().and_then(|key| self.rows.iter().position(|row| row.key == *key));
        self.selected = match (at, &self.selected_key) {
            (Some(at), _) => at,
            (None, None) => self.rows.iter().position(Row::is_drive).unwrap_or(0),
            (None, Some(_)) => self.selected,
        };
        self.select(self.selected);
        self.scroll_to_selection(height);
    }

    /// The selected row.
    pub fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// Selects the row at `index`, or the last one.
    pub fn select(&mut self, index: usize) {
        let index = index.min(self.rows.len().saturating_sub(1));
        let key = self.rows.get(index).map(|row| row.key.clone());
        if key != self.selected_key {
            self.facts_top = 0;
        }
        self.selected = index;
        self.selected_key = key;
    }

    /// Selects the row that shows `node`, or `drive` where several hang on one device; false when no row does.
    pub fn reveal(&mut self, machine: &Machine, node: NodeIndex, drive: Option<&DriveName>) -> bool {
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

    /// Folds nothing away any more.
    pub fn unfold_all(&mut self) {
        self.toggled.clear();
        self.everything = true;
    }

    /// Moves the selection by `step` rows.
    pub fn step(&mut self, step: isize) {
        self.select(self.selected.saturating_add_signed(step));
    }

    /// Jumps to the next (`step` 1) or previous (-1) row that stands for drives, around the corner.
    pub fn step_drive(&mut self, step: isize) {
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
    pub fn toggle(&mut self) -> bool {
        let Some(row) = self.row() else { return false };
        if row.open.is_none() {
            return false;
        }
        let key = row.key.clone();
        if !self.toggled.remove(&key) {
            self.toggled.insert(key);
        }
        true
    }

    /// Left: closes an open row, else goes to the row above it in the tree.
    pub fn left(&mut self) {
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
    pub fn right(&mut self) {
        let Some(row) = self.row() else { return };
        if row.open == Some(false) {
            self.toggle();
        } else if self.rows.get(self.selected + 1).is_some_and(|below| below.depth > row.depth) {
            self.select(self.selected + 1);
        }
    }

    /// The next order of siblings.
    pub fn next_sort(&mut self) {
        self.sort = self.sort.next();
    }

    /// Opens the field behind `/`.
    pub fn open_find(&mut self) {
        self.find = Some(Input::default());
    }

    /// Leaves the field; an empty one goes to the next match of what was looked for before.
    pub fn close_find(&mut self, machine: &Machine) {
        let Some(input) = self.find.take() else { return };
        if input.value().is_empty() {
            self.find_next(machine, 1);
        } else {
            input.value().clone_into(&mut self.found);
        }
    }

    /// Selects the first row from here on that matches the field.
    pub fn find_here(&mut self, machine: &Machine) -> bool {
        let text = self.find.as_ref().map(|input| input.value().to_lowercase()).unwrap_or_default();
        let matches = |row: &Row| search_text(machine, row).contains(&text);
        if text.is_empty() || self.row().is_some_and(&matches) {
            return true;
        }
        let before = self.selected;
        self.step_to(1, matches);
        self.selected != before
    }

    /// Goes to the next or previous match.
    pub fn find_next(&mut self, machine: &Machine, step: isize) {
        let field = self.find.as_ref().map(|input| input.value().to_lowercase());
        let text = field.filter(|text| !text.is_empty()).unwrap_or_else(|| self.found.to_lowercase());
        if !text.is_empty() {
            self.step_to(step, |row| search_text(machine, row).contains(&text));
        }
    }

    /// What the rows are searched for right now, in lower case; empty for nothing.
    pub fn searched(&self) -> String {
        self.find.as_ref().map(|input| input.value().to_lowercase()).unwrap_or_default()
    }

    /// Moves the first row shown so that the selection is among `height` rows.
    fn scroll_to_selection(&mut self, height: usize) {
        if height == 0 {
            return;
        }
        let lowest = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp(self.selected.saturating_sub(height - 1), self.selected).min(lowest);
    }
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

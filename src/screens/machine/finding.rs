//! Find on the machine screen: the rows that match, and folds that hide a match.

use std::fmt::Write as _;

use super::Tree;
use crate::{
    machine::Machine,
    report::flatten::{Row, RowKind},
    ui::TextField,
};

impl Tree {
    /// Leaves the field; an empty one goes to the next match of what was looked for before.
    pub(super) fn close_find(&mut self, machine: &Machine) {
        let Some(input) = self.find.take() else { return };
        if input.value().is_empty() {
            self.is_kept = !self.found.is_empty();
            self.find_next(machine, 1);
        } else {
            input.value().clone_into(&mut self.found);
            self.is_kept = true;
        }
    }

    /// Selects the first row from here on that matches the field.
    pub(super) fn find_here(&mut self, machine: &Machine) {
        let text = self.searched();
        let matches = |row: &Row| is_match(machine, row, &text);
        if text.is_empty() {
            return;
        }
        if !self.row().is_some_and(matches) {
            self.step_to(1, matches);
        }
        self.unfold_found(machine, &text, 1);
    }

    /// Opens the fold that was found: what matches is inside.
    fn unfold_found(&mut self, machine: &Machine, text: &str, step: isize) {
        if self.row().is_some_and(|row| folded_matches(machine, row, text) > 0) && self.toggle() {
            self.enters = Some(step);
        }
    }

    /// Selects the first or the last match of a fold that a find has opened.
    pub(super) fn enter_fold(&mut self, machine: &Machine) {
        let (Some(step), Some(fold)) = (self.enters.take(), self.row()) else { return };
        let text = self.searched();
        let is_inside = |row: &Row| row.drives.iter().any(|drive| fold.drives.contains(drive));
        let below = self.rows.iter().enumerate().skip(self.selected + 1);
        let mut found = below.filter(|(_, row)| is_inside(row) && is_match(machine, row, &text));
        let found = if step < 0 { found.next_back() } else { found.next() };
        if let Some((index, _)) = found {
            self.select(index);
            self.unfold_found(machine, &text, step);
        }
        self.count_matches(machine);
    }

    /// Counts what matches the field: a row that stands for several drives counts as so many.
    pub(super) fn count_matches(&mut self, machine: &Machine) {
        let text = self.searched();
        self.matches = (0, 0);
        let is_found = |row: &Row| !text.is_empty() && is_match(machine, row, &text);
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| is_found(row)) {
            if at == self.selected {
                self.matches.0 = self.matches.1 + 1;
            }
            self.matches.1 += folded_matches(machine, row, &text).max(1);
        }
    }

    /// Goes to the next or previous match.
    pub(super) fn find_next(&mut self, machine: &Machine, step: isize) {
        let field = self.searched();
        let text = if field.is_empty() { self.found.to_lowercase() } else { field };
        if !text.is_empty() {
            self.step_to(step, |row| is_match(machine, row, &text));
            self.unfold_found(machine, &text, step);
        }
    }

    /// The search text in lower case, of the open field or of the find that is kept; empty for none.
    pub(super) fn searched(&self) -> String {
        let field = self.find.as_ref().map(TextField::value);
        field.or(self.is_kept.then_some(&*self.found)).unwrap_or_default().to_lowercase()
    }
}

/// Whether a row is found by a text in lower case. What matches of an open fold are its rows.
fn is_match(machine: &Machine, row: &Row, text: &str) -> bool {
    let is_open_fold = row.kind == RowKind::Alike && row.open == Some(true);
    !is_open_fold && search_text(machine, row).contains(text) || folded_matches(machine, row, text) > 0
}

/// How many drives below a folded row match a text in lower case that is not its own.
fn folded_matches(machine: &Machine, row: &Row, text: &str) -> usize {
    let has_own_text = row.kind != RowKind::Alike;
    if row.open != Some(false) || has_own_text && search_text(machine, row).contains(text) {
        return 0;
    }
    texts_of_drives(machine, row).filter(|one| one.to_lowercase().contains(text)).count()
}

/// What each drive of a row can be found by.
fn texts_of_drives<'a>(machine: &'a Machine, row: &'a Row) -> impl Iterator<Item = String> + 'a {
    row.drives.iter().filter_map(|name| machine.drive(name)).map(|drive| {
        let model = drive.model.value().map_or("", |model| model.as_str());
        let serial = drive.serial.value().map_or("", |serial| serial.as_str());
        format!("{} {model} {serial} {} ", drive.name, drive.kind.name())
    })
}

/// Everything a row can be found by, in lower case.
pub(super) fn search_text(machine: &Machine, row: &Row) -> String {
    let mut text = String::new();
    for index in [row.head, row.node].into_iter().flatten() {
        let node = machine.pci.node(index);
        let driver = node.driver.value().map_or("", |driver| driver.as_str());
        let _ = write!(text, "{} {} {driver} ", node.address, node.name());
    }
    if row.is_drive() {
        text.extend(texts_of_drives(machine, row));
    }
    if let RowKind::Folded { words, .. } = &row.kind {
        text.push_str(&words.join(" "));
    }
    text.to_lowercase()
}

//! Keys and mouse on the machine screen.

use ratatui::layout::{Position, Rect};
use tui_input::Input;

use super::{ABOUT, Areas, Tree, draw, facts_pane};
use crate::{
    report::flatten::Row,
    screens::{
        Over, Screen, Step,
        widgets::paint::{Brush, Piece, hints, piece},
    },
    ui::{Ask, Asks, Key, ScreenId, Shared, SharedChange, Subject, ask::tell, key::edit, theme::Meaning},
};

impl Screen for Tree {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let rows = step.rows(Areas::new(shared, area).rows.height);
        self.select(self.selected.saturating_add_signed(rows));
        Asks::new()
    }

    /// Puts the cursor on a row; one that is closed opens, as does the one the cursor is on.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(shared, area);
        if areas.verdict.contains(at) {
            return vec![Ask::Show(ScreenId("findings"), None)];
        }
        if areas.facts.contains(at) {
            return self.details(shared);
        }
        let index = self.top + usize::from(at.y.saturating_sub(areas.rows.y));
        if !areas.rows.contains(at) || index >= self.rows.len() {
            return Asks::new();
        }
        let again = self.selected == index;
        self.select(index);
        match self.row().and_then(|row| row.open) {
            Some(is_open) if again || !is_open => {
                self.toggle();
            }
            None if again => return self.details(shared),
            _ => {}
        }
        Asks::new()
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.make(shared, Areas::new(shared, area).rows.height);
        let cursor = self.row().and_then(|row| row.drive().cloned());
        vec![Ask::Change(SharedChange::Cursor(cursor))]
    }

    fn take(&mut self, subject: &Subject, _shared: &Shared) -> Asks {
        if let Subject::Node(node, drive) = subject {
            self.wanted = Some((*node, drive.clone()));
        }
        Asks::new()
    }

    fn field(&mut self) -> Option<&mut Input> {
        self.find.as_mut()
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        match key {
            None => {
                self.find_here(&shared.machine);
            }
            Some(Key::Esc) => self.find = None,
            Some(Key::Enter) => self.close_find(&shared.machine),
            Some(Key::Down | Key::Tab) => self.find_next(&shared.machine, 1),
            Some(Key::Up | Key::BackTab) => self.find_next(&shared.machine, -1),
            Some(key) => {
                let Some(input) = self.find.as_mut() else { return Asks::new() };
                edit(input, key);
                if !self.find_here(&shared.machine) {
                    return vec![tell("No such row")];
                }
            }
        }
        Asks::new()
    }

    fn field_hints(&self) -> Vec<Piece> {
        let Some(input) = &self.find else { return Vec::new() };
        let mut pieces = vec![
            piece("find ", Meaning::Quiet),
            piece(format!("{}▏", input.value()), Meaning::Field),
            piece("   ", Meaning::Text),
        ];
        pieces.extend(hints(&[("Enter", "keep"), ("↑↓", "other matches"), ("Esc", "cancel")]));
        pieces
    }

    fn over(&self, shared: &Shared, width: u16) -> Option<Over> {
        facts_pane::over(self, shared, width)
    }

    fn over_key(&mut self, _key: Key, command: Option<&str>, _shared: &Shared) -> Option<Asks> {
        match command? {
            "paths" => {
                self.paths = !self.paths;
                Some(Asks::new())
            }
            "units" => Some(vec![Ask::Command("units")]),
            "back" | "help" | "quit" | "details" | "fold" => Some(vec![Ask::Close]),
            _ => None,
        }
    }
}

impl Tree {
    /// Marks the drives of the row, or unmarks them when all are marked.
    pub(super) fn mark(&mut self, shared: &Shared) -> Asks {
        let drives = self.row().map(|row| row.drives.clone()).unwrap_or_default();
        if drives.is_empty() {
            return vec![tell("No drive at or below this row")];
        }
        let marked = match drives.iter().filter(|drive| !shared.marks.contains(*drive)).count() {
            0 => shared.marks.len() - drives.len(),
            new => shared.marks.len() + new,
        };
        let text = match marked {
            0 => "No drive is marked: a test runs on every hardware drive".to_owned(),
            1 => "1 drive marked for the test".to_owned(),
            n => format!("{n} drives marked for the test"),
        };
        if self.row().is_some_and(Row::is_drive) {
            self.step_drive(1);
        }
        vec![Ask::Change(SharedChange::Mark(drives)), tell(text)]
    }

    /// Opens a row that is closed, else all facts of it.
    pub(super) fn details(&mut self, _shared: &Shared) -> Asks {
        let closed = self.row().is_some_and(|row| row.open == Some(false) || row.node.is_none());
        if closed && self.toggle() { Asks::new() } else { vec![Ask::Open(ABOUT.id)] }
    }

    pub(super) fn next_sort(&mut self, _shared: &Shared) -> Asks {
        self.sort = self.sort.next();
        vec![tell(format!("Siblings sorted {}", self.sort.name().replacen("bus", "in bus", 1)))]
    }

    /// Opens the slots page with the card of the row.
    pub(super) fn move_this(&mut self, shared: &Shared) -> Asks {
        let node = self.row().and_then(|row| {
            // Rows that stand for several drives have no place of their own.
            let first = row.drives.first().and_then(|name| shared.machine.drive(name)?.node);
            row.node.or(first)
        });
        vec![Ask::Show(ScreenId("slots"), node.map(|node| Subject::Node(node, None)))]
    }
}

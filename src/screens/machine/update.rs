//! Keys and mouse on the machine screen.

use ratatui::layout::{Position, Rect};

use super::{
    ABOUT, Areas, BESIDE, Rest, STACKED, Tree, WIDEST, choice, column_list, curves, draw, facts_pane,
    first_width, tree_rows,
};
use crate::{
    findings::Finding,
    model::{Choice, FindingId},
    report::flatten::{Row, Sort},
    screens::{
        Over, Screen, Step,
        widgets::{
            bottleneck_panel, find,
            graph::TimeAxis,
            paint::{Brush, Piece, inner},
            scroll::scrolled,
            span::{NO_SAMPLE, Selection},
        },
    },
    ui::{Ask, Asks, Effect, Key, ScreenId, Shared, SharedChange, Subject, TextField, ask::tell},
};

impl Screen for Tree {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let rows = step.rows(Areas::new(self.rest, shared, area).rows.height);
        self.select(self.selected.saturating_add_signed(rows));
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self.rest, shared, area);
        if areas.facts.contains(at) {
            let end = facts_pane::end(self, shared, curves::places(self, shared, areas.facts).0);
            self.facts_top = scrolled(self.facts_top, step, end, 0);
        } else if areas.verdict.contains(at) {
            let (full, found) = draw::below(shared, areas.verdict);
            if let Some(panel) = full.filter(|panel| panel.contains(at)) {
                self.full_top = bottleneck_panel::scrolled(shared, panel, self.full_top, step);
            } else if let Some(panel) = found {
                let rows = inner(panel, shared.is_boxed()).height;
                self.found_top = scrolled(self.found_top, step, shared.findings.list.len(), rows);
            }
        } else {
            return self.step(Step::Rows(step), shared, area);
        }
        Asks::new()
    }

    fn selection(&mut self) -> Option<&mut Selection> {
        Some(&mut self.selection)
    }

    fn axis_at(&self, at: Position, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        curves::axis_at(self, shared, at, &Areas::new(self.rest, shared, area))
    }

    /// A click on a curve is one on the facts beside it.
    fn release(&mut self, shared: &Shared) -> Asks {
        if self.selection.end() {
            return self.details(shared);
        }
        if self.selection.span.is_some_and(|span| !curves::has_points(self, shared, span)) {
            self.selection.span = None;
            return vec![tell(NO_SAMPLE)];
        }
        Asks::new()
    }

    /// Puts the cursor on a row; one that is closed opens, as does the one the cursor is on. A heading sorts by its column, and
    /// once more in reverse; the place above the names sorts by bus.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self.rest, shared, area);
        if areas.verdict.contains(at) {
            return vec![Ask::Show(ScreenId("findings"), None)];
        }
        if self.begin_span(at, shared, area) {
            return Asks::new();
        }
        if areas.facts.contains(at) {
            return self.details(shared);
        }
        if areas.head.contains(at) {
            self.sort = match tree_rows::column_at(self, &areas, at.x) {
                Some(name) if self.sort == Sort::Column(name) => Sort::Reversed(name),
                Some(name) => Sort::Column(name),
                None => Sort::Bus,
            };
            return self.sorted();
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
        self.arrange(shared, area);
        let (full, _) = draw::below(shared, Areas::new(self.rest, shared, area).verdict);
        self.full_end = full.map_or(0, |panel| bottleneck_panel::end(shared, panel));
        if self.find.is_some() || self.is_kept {
            self.count_matches(&shared.machine);
        }
        let cursor = self.row().and_then(|row| row.drive().cloned());
        vec![Ask::Change(SharedChange::Cursor(cursor))]
    }

    fn take(&mut self, subject: &Subject, _shared: &Shared) -> Asks {
        match subject {
            Subject::Node(node, drive) => self.wanted = Some((*node, drive.clone())),
            Subject::Columns(line) => self.restore(line),
            _ => {}
        }
        Asks::new()
    }

    fn finding(&self, shared: &Shared) -> Option<FindingId> {
        let node = self.row()?.node?;
        let is_here = |finding: &&Finding| {
            finding.subjects.iter().any(|subject| subject.node(&shared.machine) == Some(node))
        };
        shared.findings.loud().find(is_here).map(|finding| finding.id)
    }

    /// Clears the span that is selected on curves, else ends a find whose matches are kept, else unmarks all drives.
    fn back(&mut self, shared: &Shared) -> Option<Asks> {
        if self.selection.span.take().is_some() || std::mem::take(&mut self.is_kept) {
            return Some(Asks::new());
        }
        shared.clear_marks()
    }

    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        match command {
            "back" if self.selection.span.is_some() => Some("clear span"),
            "back" if self.is_kept => Some("end find"),
            "back" if !shared.marks.is_empty() => Some("unmark"),
            "sort" if self.next_order() == Sort::Bus => Some("tree"),
            _ => None,
        }
    }

    fn offers(&self, command: &str, _shared: &Shared) -> bool {
        match command {
            // A list has drives alone at its top, and nothing to fold.
            "next drive" if self.is_kept => self.matches.1 > 1,
            "next drive" => self.order() == Sort::Bus && self.has_other_drive(),
            "fold" => self.order() == Sort::Bus,
            "mark" => self.row().is_some_and(|row| !row.drives.is_empty()),
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        let place = || curves::places(self, shared, Areas::new(self.rest, shared, area).facts).0;
        command != "paths" || !facts_pane::has_paths(self, shared, place())
    }

    fn field(&mut self) -> Option<&mut TextField> {
        self.find.as_mut()
    }

    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        match key {
            None => {
                self.find_here(&shared.machine);
            }
            Some(Key::Esc) => (self.find, self.is_kept) = (None, false),
            Some(Key::Enter) => self.close_find(&shared.machine),
            Some(Key::Down | Key::Tab) => self.find_next(&shared.machine, 1),
            Some(Key::Up | Key::BackTab) => self.find_next(&shared.machine, -1),
            Some(key) => {
                let Some(input) = self.find.as_mut() else { return Asks::new() };
                input.press(key);
                self.find_here(&shared.machine);
            }
        }
        self.count_matches(&shared.machine);
        Asks::new()
    }

    fn keeps_find(&self) -> bool {
        self.is_kept
    }

    fn next_match(&mut self, step: isize, shared: &Shared) {
        self.next(step, shared);
    }

    fn field_hints(&self) -> Vec<Piece> {
        self.find.as_ref().map_or_else(Vec::new, |input| find::field_hints(input, self.matches))
    }

    fn over(&self, shared: &Shared, width: u16) -> Option<Over> {
        match self.choosing {
            Some(cursor) => {
                let rest = Rest { stacked: self.rest.when_wide, ..self.rest };
                let rows = |width| Areas::new(rest, shared, Rect::new(0, 0, width, shared.size.1)).rows.width;
                // A wider terminal has narrower rows where facts come beside them.
                let places = [0..BESIDE, BESIDE..STACKED, STACKED..WIDEST];
                let from = |cells: u16| {
                    let widths = places.iter().map(|at| at.start.max(shared.size.0)..at.end);
                    widths.into_iter().find_map(|at| first_width(at, |width| rows(width) >= cells))
                };
                Some(column_list::over(
                    (&self.choice, shared),
                    (cursor, self.sort.column()),
                    self.room,
                    &from,
                    width,
                ))
            }
            None => facts_pane::over(self, shared, width),
        }
    }

    fn over_hints(&self, _shared: &Shared) -> Vec<Piece> {
        self.choosing.map_or_else(Vec::new, |_| column_list::keys())
    }

    fn over_key(&mut self, key: Key, command: Option<&str>, _shared: &Shared) -> Option<Asks> {
        if let Some(cursor) = self.choosing {
            return Some(self.choosing_key(cursor, key, command));
        }
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
        if self.row().is_some_and(Row::is_drive) {
            self.step_drive(1);
        }
        shared.mark_and_tell(drives, "back")
    }

    /// Opens a row that is closed, else all facts of it.
    pub(super) fn details(&mut self, _shared: &Shared) -> Asks {
        // A group has no facts of its own; an array has, and its members fold with the arrows.
        let is_group = |row: &Row| row.node.is_none() && row.drive().is_none();
        let closed = self.row().is_some_and(|row| row.open == Some(false) || is_group(row));
        if closed && self.toggle() { Asks::new() } else { vec![Ask::Open(ABOUT.id)] }
    }

    pub(super) fn next_sort(&mut self, _shared: &Shared) -> Asks {
        self.sort = self.next_order();
        self.sorted()
    }

    /// The order after this one, without that by load where nothing is counted.
    fn next_order(&self) -> Sort {
        let next = self.order().next();
        if next == Sort::Load && !self.room.has_counters { next.next() } else { next }
    }

    /// The keys that lead from a list back to the tree, one after the other.
    pub(super) fn keys_to_tree(&self) -> Option<&'static str> {
        match self.order() {
            Sort::Bus => None,
            order if order.next() == Sort::Bus => Some("{sort}"),
            _ => Some("{sort} twice"),
        }
    }

    /// Sorts by the column of temperatures.
    pub(super) fn by_temperature(&mut self, _shared: &Shared) -> Asks {
        let at = self.choice.all().position(|(column, _)| column.name == "temp");
        self.sort = Sort::Bus;
        self.sort_by_chosen(at.unwrap_or_default())
    }

    /// Sorts by the next column (`step` 1) or the one before (-1) of those shown, around the corner.
    pub(super) fn sort_by(&mut self, _shared: &Shared, step: isize) -> Asks {
        let shown = self.choice.shown(self.room);
        let here = self.sort.column().and_then(|name| shown.iter().position(|column| column.name == name));
        let count = shown.len().cast_signed();
        let next = match (here, step > 0) {
            (Some(here), _) => (here.cast_signed() + step).rem_euclid(count.max(1)),
            (None, true) => 0,
            (None, false) => count - 1,
        };
        if let Some(column) = usize::try_from(next).ok().and_then(|next| shown.get(next)) {
            self.sort = Sort::Column(column.name);
        }
        self.sorted()
    }

    /// Says the new order, and keeps it for the next start.
    fn sorted(&self) -> Asks {
        let kept =
            if self.has_own_sort { "the next start has the file's order" } else { "kept for the next start" };
        let told = tell(format!("Sorted {}; {kept}. {{columns}} sorts by any column", self.sort.name()));
        vec![told, Ask::Effect(Effect::KeepChoice(Choice::Columns, self.kept_line()))]
    }

    pub(super) fn reverse(&mut self, _shared: &Shared) -> Asks {
        self.sort = match self.sort {
            Sort::Column(name) => Sort::Reversed(name),
            Sort::Reversed(name) => Sort::Column(name),
            Sort::Bus | Sort::Load | Sort::Name => {
                return vec![tell("Not sorted by a column: {next column} sorts by the first")];
            }
        };
        self.sorted()
    }

    /// Scrolls the text about full links by a line down (`step` 1) or up (-1).
    pub(super) fn scroll_full(&mut self, step: isize) -> Asks {
        if self.full_end == 0 {
            return vec![tell("Bottleneck has no lines out of sight")];
        }
        self.full_top = scrolled(self.full_top, step, self.full_end, 0);
        Asks::new()
    }

    /// Opens the list of columns.
    pub(super) fn choose(&mut self, _shared: &Shared) -> Asks {
        self.choosing = Some(0);
        vec![Ask::Open(ABOUT.id)]
    }

    /// A key in the list of columns.
    fn choosing_key(&mut self, cursor: usize, key: Key, command: Option<&str>) -> Asks {
        let last = self.choice.all().count().saturating_sub(1);
        let mut at = cursor;
        match (key, command) {
            (Key::Enter, _) => return self.sort_by_chosen(cursor),
            (Key::Char(' '), _) => {
                let name = self.choice.all().nth(cursor).map(|(column, _)| column.name);
                let sorted = name.filter(|name| self.sort.column() == Some(name));
                let is_lent = sorted.is_some_and(|name| !self.choice.shows(name, self.room));
                if !is_lent {
                    self.choice.turn(cursor, self.room);
                }
                if sorted.is_some_and(|name| !self.choice.shows(name, self.room)) {
                    self.sort = Sort::Bus;
                }
            }
            (Key::Char('<') | Key::Left, _) => at = self.choice.shift(cursor, -1),
            (Key::Char('>') | Key::Right, _) => at = self.choice.shift(cursor, 1),
            (Key::Delete, _) => (self.choice, self.sort) = (choice::Choice::default(), Sort::Bus),
            (Key::Up, _) | (_, Some("up")) => at = cursor.saturating_sub(1),
            (Key::Down, _) | (_, Some("down")) => at = (cursor + 1).min(last),
            (_, Some("first" | "page up")) => at = 0,
            (_, Some("last" | "page down")) => at = last,
            (_, Some("back" | "quit" | "columns")) => {
                self.choosing = None;
                return vec![Ask::Close, Ask::Effect(Effect::KeepChoice(Choice::Columns, self.kept_line()))];
            }
            (Key::Char(letter), _) => at = self.choice.named_from(cursor, letter).unwrap_or(cursor),
            _ => {}
        }
        self.choosing = Some(at);
        Asks::new()
    }

    /// Sorts by the column at `index` of the list, which is shown as long as that is the order, and closes the list.
    fn sort_by_chosen(&mut self, index: usize) -> Asks {
        let Some(name) = self.choice.all().nth(index).map(|(column, _)| column.name) else {
            return Asks::new();
        };
        self.sort = match self.sort {
            Sort::Column(now) if now == name => Sort::Reversed(name),
            _ => Sort::Column(name),
        };
        self.choosing = None;
        let mut asks = self.sorted();
        asks.insert(0, Ask::Close);
        asks
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

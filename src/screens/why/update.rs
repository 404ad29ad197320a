//! Keys and mouse on the Why screen.

use std::time::Duration;

use ratatui::layout::{Position, Rect};

use super::{COMMANDS, FIND, Places, SLEEPING, STACKS, Source, Why, draw, draw::Contents, steady::Steady};
use crate::{
    report::why::{PANELS, Panel, Sentence, evidence::Evidence, look},
    screens::{
        News, Screen, Step,
        widgets::{
            find::Find,
            graph::TimeAxis,
            paint::Brush,
            scroll::scrolled,
            span::{NO_SAMPLE, Selection},
        },
    },
    ui::{Asks, Mode, Shared, ask::tell},
};

/// Whether the rates of now are of the time since the test began to read.
fn is_of_test(shared: &Shared) -> bool {
    /// Time between a look and its news.
    const LATE: Duration = Duration::from_millis(50);
    let since = shared.tests.running().and_then(|test| test.reads_since);
    let rates = shared.rates.as_ref();
    since.zip(rates).is_some_and(|(since, rates)| since + rates.elapsed <= shared.now + LATE)
}

impl Screen for Why {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let Some((sentence, places, contents)) = self.shown(shared, area) else { return Asks::new() };
        let focus = self.focus(&sentence);
        if let Some((_, place)) = places.panels.iter().find(|(panel, _)| *panel == focus) {
            self.scroll(focus, step.rows(place.height), contents.scrolls(focus, shared, *place));
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        if let Some((_, places, contents)) = self.shown(shared, area)
            && let Some((panel, place)) = places.panels.iter().find(|(_, place)| place.contains(at))
        {
            self.scroll(*panel, step, contents.scrolls(*panel, shared, *place));
        }
        Asks::new()
    }

    fn selection(&mut self) -> Option<&mut Selection> {
        Some(&mut self.selection)
    }

    fn axis_at(&self, at: Position, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        let (_, places, contents) = self.shown(shared, area)?;
        let (panel, place) = places.panels.iter().find(|(_, place)| place.contains(at))?;
        let curves = contents.curves(*panel, shared, *place);
        curves.contains(at).then(|| self.history.axis(shared, curves))?
    }

    fn release(&mut self, _shared: &Shared) -> Asks {
        self.selection.end();
        if self.selection.span.is_some_and(|span| !self.history.has_points(span)) {
            self.selection.span = None;
            return vec![tell(NO_SAMPLE)];
        }
        Asks::new()
    }

    /// Chooses a panel; the heading of a column sorts by it, and once more in reverse. On curves a span begins.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        self.begin_span(at, shared, area);
        if let Some((_, places, contents)) = self.shown(shared, area)
            && let Some((panel, place)) = places.panels.iter().find(|(_, place)| place.contains(at))
        {
            self.chosen = Some(*panel);
            if let Some(column) = contents.column_at(*panel, shared, *place, at) {
                let is_same = self.sorts.get(panel) == Some(&(column, false));
                self.sorts.insert(*panel, (column, is_same));
                self.tops.remove(panel);
            }
        }
        Asks::new()
    }

    fn hear(&mut self, news: News, shared: &Shared) {
        self.now = None;
        // Findings follow every look at the counters.
        if news == News::Findings && self.history.take(shared) {
            self.is_new = true;
            let with_test = shared.tests.running().is_some();
            let load = shared.tests.running().map(|test| test.workload.clone());
            let is_other_test = self.load != load;
            if is_other_test {
                self.load = load;
                if shared.mode == Mode::Live {
                    self.evidence.change();
                    if !is_of_test(shared) {
                        return;
                    }
                } else {
                    self.evidence = Evidence::default();
                }
            }
            // A pause counts nothing.
            let is_reading = shared.tests.running().is_some_and(|test| !test.is_paused());
            if is_reading && matches!(shared.mode, Mode::Demo(_)) {
                self.of_test = shared.look();
            }
            let rates = shared.rates.as_ref().filter(|_| shared.mode == Mode::Live);
            let is_other_load = rates.is_some_and(|rates| {
                self.evidence.take(&shared.machine, (rates, &shared.activity), with_test)
            });
            let is_other = is_other_load || is_other_test;
            if !self.is_counted(shared) {
                self.steady = Steady::default();
            } else if self.evidence.is_paused() && !is_other {
                // One burst is not found twice.
            } else if let after @ 1.. = self.evidence.looks_after_burst()
                && self.steady.is_of_little()
                && !is_other
            {
                self.steady.rest(after);
            } else if let Source::Now(found) = self.found(shared, |inputs| look(inputs, self.steady.rule())) {
                self.steady.take(found, with_test, is_other);
            }
        }
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.now = Some(self.source_of(shared));
        if std::mem::take(&mut self.is_new) {
            self.has_profile_right = self.is_better_right(shared, area).unwrap_or(self.has_profile_right);
        }
        self.count_matches(shared);
        Asks::new()
    }

    fn find(&self) -> Option<&Find> {
        Some(&self.find)
    }

    fn find_mut(&mut self) -> Option<&mut Find> {
        Some(&mut self.find)
    }

    fn find_rows(&self, shared: &Shared) -> (Vec<String>, usize) {
        let Some(panel) = self.found_panel(shared) else { return (Vec::new(), 0) };
        (self.texts(panel, shared), self.tops.get(&panel).copied().unwrap_or(0))
    }

    fn go_to_match(&mut self, row: usize, shared: &Shared) {
        if let Some(panel) = self.found_panel(shared) {
            self.tops.insert(panel, row);
        }
    }

    fn back(&mut self, _shared: &Shared) -> Option<Asks> {
        if self.selection.span.take().is_some() || self.find.end() {
            return Some(Asks::new());
        }
        if self.is_large {
            self.is_large = false;
        } else {
            self.chosen.take()?;
        }
        Some(Asks::new())
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let is_own = COMMANDS.iter().any(|own| own.row.name == command);
        match self.source(shared) {
            Source::Nothing(_) => !is_own,
            Source::Now(_) => command != STACKS || shared.mode == Mode::Live,
        }
    }

    fn hint(&self, command: &str, _shared: &Shared) -> Option<&'static str> {
        match command {
            "back" if self.selection.span.is_some() => Some("clear span"),
            "back" if self.find.is_kept() => Some("end find"),
            "enlarge" if self.is_large => Some("all panels"),
            _ => None,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        if command == FIND {
            return self.has_rows(shared);
        }
        let Source::Now(sentence) = self.source(shared) else { return command != "up" };
        let panels = |state: &Self| state.panels(Places::split(shared, area, &sentence)[1], &sentence);
        match command {
            "enlarge" => panels(&Self { is_large: false, ..self.clone() }).len() > 1,
            SLEEPING => panels(self).contains(&Panel::Threads) && draw::has_sleeping(self, shared),
            "up" => self.shown(shared, area).is_some_and(|(sentence, places, contents)| {
                let focus = self.focus(&sentence);
                let place = places.panels.iter().find(|(one, _)| *one == focus);
                place.is_some_and(|(_, place)| contents.scrolls(focus, shared, *place) > 0)
            }),
            _ => true,
        }
    }

    fn needs_activity(&self) -> bool {
        true
    }

    fn needs_profile(&self, shared: &Shared, area: Rect) -> bool {
        let Source::Now(sentence) = self.source(shared) else { return false };
        let body = Places::split(shared, area, &sentence)[1];
        self.panels(body, &sentence).contains(&Panel::Profile)
    }

    fn needs_stacks(&self) -> bool {
        self.with_stacks
    }
}

impl Why {
    fn shown(&self, shared: &Shared, area: Rect) -> Option<(Sentence, Places, Contents)> {
        let Source::Now(sentence) = self.source(shared) else { return None };
        let contents = Contents::new(self, shared);
        let places =
            Places::new(self, shared, area, &sentence, |panel, width| contents.rows(panel, shared, width));
        Some((sentence, places, contents))
    }

    /// Whether the profile stands better on the right; `None` where that makes little difference, so that panels stay where they are
    /// while tables change by a row or two.
    fn is_better_right(&self, shared: &Shared, area: Rect) -> Option<bool> {
        /// Rows that more panels show to be worth the change.
        const GAIN: u16 = 3;
        let Source::Now(sentence) = self.source(shared) else { return None };
        let contents = Contents::new(self, shared);
        let rows = |panel, width| contents.rows(panel, shared, width);
        let [left, right] = [false, true].map(|has_profile_right| {
            let state = Self { has_profile_right, ..self.clone() };
            Places::new(&state, shared, area, &sentence, rows).lacking(rows)
        });
        match () {
            () if left == 0 || right >= left + GAIN => Some(false),
            () if left >= right + GAIN => Some(true),
            () => None,
        }
    }

    /// The panel that a find looks in; none without figures.
    fn found_panel(&self, shared: &Shared) -> Option<Panel> {
        let Source::Now(sentence) = self.source(shared) else { return None };
        Some(self.focus(&sentence))
    }

    /// The rows of its table.
    fn texts(&self, panel: Panel, shared: &Shared) -> Vec<String> {
        Contents::new(self, shared).texts(panel)
    }

    /// Whether it has any.
    fn has_rows(&self, shared: &Shared) -> bool {
        self.found_panel(shared).is_some_and(|panel| Contents::new(self, shared).has_rows(panel))
    }

    /// Opens the field of a find.
    pub(super) fn find_row(&mut self, shared: &Shared) -> Asks {
        if !self.has_rows(shared) {
            return vec![tell(
                "This panel has no rows to find: {previous panel} and {next panel} choose another",
            )];
        }
        self.find.open();
        Asks::new()
    }

    /// Scrolls a panel, of which `most` lines can be out of sight.
    fn scroll(&mut self, panel: Panel, step: isize, most: usize) {
        let top = self.tops.entry(panel).or_default();
        *top = scrolled(*top, step, most, 0);
    }

    /// Sorts the table of the chosen panel by the next (1) or previous (-1) column, around the corner.
    pub(super) fn sort_by(&mut self, shared: &Shared, step: isize) -> Asks {
        let Source::Now(sentence) = self.source(shared) else { return Asks::new() };
        let panel = self.focus(&sentence);
        let columns = Contents::new(self, shared).columns(panel).cast_signed();
        if columns == 0 {
            return vec![tell(
                "This panel has no table to sort: {previous panel} and {next panel} choose another",
            )];
        }
        let next = match self.sorts.get(&panel) {
            Some((at, _)) => (at.cast_signed() + step).rem_euclid(columns),
            None if step > 0 => 0,
            None => columns - 1,
        };
        self.sorts.insert(panel, (next.cast_unsigned(), false));
        Asks::new()
    }

    /// Reverses the order of the chosen panel's table.
    pub(super) fn reverse(&mut self, shared: &Shared) -> Asks {
        let Source::Now(sentence) = self.source(shared) else { return Asks::new() };
        match self.sorts.get_mut(&self.focus(&sentence)) {
            Some((_, is_reversed)) => *is_reversed = !*is_reversed,
            None => return vec![tell("Not sorted by a column: {sort column} sorts by the first")],
        }
        Asks::new()
    }

    /// Chooses the panel on the left or right.
    pub(super) fn sideways(&mut self, by: isize, shared: &Shared) -> Asks {
        let first = match self.source(shared) {
            Source::Now(sentence) => self.focus(&sentence),
            Source::Nothing(_) => return Asks::new(),
        };
        let at = PANELS.iter().position(|panel| *panel == first).unwrap_or_default();
        let next = at.cast_signed().saturating_add(by).rem_euclid(PANELS.len().cast_signed());
        self.chosen = PANELS.get(next.cast_unsigned()).copied();
        Asks::new()
    }

    /// Shows kernel stacks of threads, or hides them.
    pub(super) fn switch_stacks(&mut self, shared: &Shared) -> Asks {
        if shared.mode != Mode::Live {
            return vec![tell("A demo has no kernel stacks")];
        }
        self.with_stacks = !self.with_stacks;
        Asks::new()
    }

    /// Gives the chosen panel all the room, or the others their places again.
    pub(super) fn enlarge(&mut self, shared: &Shared) -> Asks {
        if matches!(self.source(shared), Source::Now(_)) {
            self.is_large = !self.is_large;
        }
        Asks::new()
    }
}

//! The screens, one folder each, and the widgets they share. A new screen is a folder and its lines here.

pub(crate) mod widgets;
mod machine;
mod findings;
pub mod dyno;
mod pull;
pub(crate) mod sheet;
mod slots;
mod tune;
mod whatif;
mod why;
mod why_file;

use std::ops::Range;

use ratatui::layout::{Position, Rect};

pub(crate) use self::tune::saved_rules;
use self::widgets::{
    find::Find,
    graph::TimeAxis,
    paint::{Brush, Piece},
    span::Selection,
};
use crate::model::FindingId;
use crate::ui::{About, Asks, Key, ScreenId, Shared, Subject, TextField, command::Row};

/// The action of a screen's command.
pub(crate) type Run<S> = fn(&mut S, &Shared) -> Asks;

/// Changes of the shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// The machine was read again, or its settings were.
    Machine,
    /// Rates are written in other units.
    Units,
    /// The machine was judged again.
    Findings,
    /// The content of a sheet: a run or an experiment ended, settings changed.
    Record,
}

/// Names of the tree's columns.
pub(crate) fn column_names() -> Vec<&'static str> {
    machine::column_names()
}

/// How far a movement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Rows up (negative) or down.
    Rows(isize),
    /// Pages up or down.
    Pages(isize),
    /// To the first (negative) or the last row.
    End(isize),
}

impl Step {
    /// Rows, where a page has `height` of them: one stays in sight, unless the page has only a few.
    pub(crate) fn rows(self, height: u16) -> isize {
        const FEW: u16 = 4;
        match self {
            Self::Rows(rows) => rows,
            Self::Pages(pages) => {
                let page = if height <= FEW { height.max(1) } else { height - 1 };
                pages * isize::from(page.cast_signed())
            }
            Self::End(side) => side * (isize::MAX / 2),
        }
    }
}

/// A screen: its own state. What it does not own it reads from [`Shared`] and asks for.
pub(crate) trait Screen {
    /// Draws it.
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>);

    /// Moves the cursor or the text.
    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks;

    /// The left button was pressed at a cell of its area.
    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks;

    /// The wheel was turned up (negative) or down at a cell of its area: it scrolls what is there.
    fn wheel(&mut self, step: isize, _at: Position, shared: &Shared, area: Rect) -> Asks {
        self.step(Step::Rows(step), shared, area)
    }

    /// The span that the mouse selects on its curves, on a screen that has some.
    fn selection(&mut self) -> Option<&mut Selection> {
        None
    }

    /// The time axis of the curve at a cell of its area.
    fn axis_at(&self, _at: Position, _shared: &Shared, _area: Rect) -> Option<TimeAxis> {
        None
    }

    /// The left button went down, maybe on a curve; whether it did.
    fn begin_span(&mut self, at: Position, shared: &Shared, area: Rect) -> bool {
        let axis = self.axis_at(at, shared, area);
        self.selection().is_some_and(|selection| selection.begin(at, axis.as_ref()))
    }

    /// The mouse moved with the left button down, maybe out of its area: on a curve it selects a span.
    fn drag(&mut self, at: Position, shared: &Shared, area: Rect) {
        let began = self.selection().and_then(|selection| selection.began());
        let axis = began.and_then(|began| self.axis_at(began, shared, area));
        if let Some((selection, axis)) = self.selection().zip(axis) {
            selection.extend(at, &axis);
        }
    }

    /// The left button went up after a press in its area.
    fn release(&mut self, _shared: &Shared) -> Asks {
        Asks::new()
    }

    /// Something has changed, whether it is shown or not.
    fn hear(&mut self, _news: News, _shared: &Shared) {}

    /// Makes what follows from the state, after every message while it is shown.
    fn refresh(&mut self, _shared: &Shared, _area: Rect) -> Asks {
        Asks::new()
    }

    /// Takes what it should show.
    fn take(&mut self, _subject: &Subject, _shared: &Shared) -> Asks {
        Asks::new()
    }

    /// Goes back by one step of its own; `None` when there is none and the screen is left.
    fn back(&mut self, _shared: &Shared) -> Option<Asks> {
        None
    }

    /// Whether it shows threads and processes: they are sampled only while it is shown.
    fn needs_activity(&self) -> bool {
        false
    }

    /// Whether it shows settings: their files are looked at only while it is shown.
    fn needs_settings(&self) -> bool {
        false
    }

    /// Whether the CPU profile has a place on it, sampled likewise.
    fn needs_profile(&self, _shared: &Shared, _area: Rect) -> bool {
        false
    }

    /// Whether it shows kernel stacks of threads.
    fn needs_stacks(&self) -> bool {
        false
    }

    /// Whether a command does something now: the footer shows its hint only then.
    fn offers(&self, _command: &str, _shared: &Shared) -> bool {
        true
    }

    /// Whether a command does something in this room: a list that is in sight as a whole does not move.
    fn acts_in(&self, _command: &str, _shared: &Shared, _area: Rect) -> bool {
        true
    }

    /// The footer's word for a command where the state makes it another than the table's.
    fn hint(&self, _command: &str, _shared: &Shared) -> Option<&'static str> {
        None
    }

    /// The finding under the cursor, which the help explains.
    fn finding(&self, _shared: &Shared) -> Option<FindingId> {
        None
    }

    /// A heading and terms that help explains besides marks and keys.
    fn terms(&self) -> Option<(&'static str, Vec<[&'static str; 2]>)> {
        None
    }

    /// The mark behind its name in the tabs.
    fn mark(&self, _shared: &Shared) -> Option<String> {
        None
    }

    /// The find in the rows of its list, on a screen that has one.
    fn find(&self) -> Option<&Find> {
        None
    }

    /// The same, for its keys.
    fn find_mut(&mut self) -> Option<&mut Find> {
        None
    }

    /// The rows that it looks in, as texts, and the one from which it goes on.
    fn find_rows(&self, _shared: &Shared) -> (Vec<String>, usize) {
        (Vec::new(), 0)
    }

    /// Goes to a row that has a match.
    fn go_to_match(&mut self, _row: usize, _shared: &Shared) {}

    /// Counts the matches anew, as rows come and go.
    fn count_matches(&mut self, shared: &Shared) {
        if self.find().is_some_and(|find| !find.word().is_empty()) {
            let (rows, at) = self.find_rows(shared);
            self.find_mut().into_iter().for_each(|find| find.count(&rows, at));
        }
    }

    /// The text field that is open: keys are text then.
    fn field(&mut self) -> Option<&mut TextField> {
        self.find_mut()?.field()
    }

    /// A key while its field is open, or after text was pasted into it (no key).
    fn field_key(&mut self, key: Option<Key>, shared: &Shared) -> Asks {
        let (rows, at) = self.find_rows(shared);
        if let Some(row) = self.find_mut().and_then(|find| find.key(key, &rows, at)) {
            self.go_to_match(row, shared);
        }
        Asks::new()
    }

    /// Hints for the footer while its field is open.
    fn field_hints(&self) -> Vec<Piece> {
        self.find().map_or_else(Vec::new, Find::hints)
    }

    /// Whether the matches of a find stay marked.
    fn keeps_find(&self) -> bool {
        self.find().is_some_and(Find::is_kept)
    }

    /// Whether such a find has another match to go to.
    fn has_next_match(&self) -> bool {
        self.find().is_some_and(Find::has_next)
    }

    /// Goes to the next (1) or previous (-1) match of the find that is kept.
    fn next_match(&mut self, step: isize, shared: &Shared) {
        let (rows, at) = self.find_rows(shared);
        if let Some(row) = self.find().and_then(|find| find.next(&rows, at, step)) {
            self.go_to_match(row, shared);
        }
    }

    /// What it lays over the screens, as `Ask::Open` asked for.
    fn over(&self, _shared: &Shared, _width: u16) -> Option<Over> {
        None
    }

    /// The keys that answer it, for the footer; none where it is only read and Esc closes it.
    fn over_hints(&self, _shared: &Shared) -> Vec<Piece> {
        Vec::new()
    }

    /// A key while that lies over the screens; `command` is what it means on the screen below. `None` when it means
    /// nothing to it, and at most moves the text.
    fn over_key(&mut self, _key: Key, _command: Option<&str>, _shared: &Shared) -> Option<Asks> {
        None
    }
}

/// A text over the screens.
#[derive(Debug, Clone)]
pub(crate) struct Over {
    /// Its heading.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Vec<Piece>>,
    /// Columns and rows it takes at most.
    pub size: (u16, u16),
    /// The lines under its cursor, which stay in sight.
    pub cursor: Option<Range<usize>>,
}

/// Makes the struct of all states and the dispatch from one list.
macro_rules! screens {
    ($($name:ident: $State:ident,)*) => {
        /// The states of all screens.
        #[derive(Debug, Clone, Default)]
        #[expect(missing_docs, reason = "each is described in its folder")]
        pub struct Screens {
            $(pub $name: $name::$State,)*
        }

        /// All screens, in the order of their digits; pages follow the screen whose digit they have.
        pub(crate) const SCREENS: &[About] = &[$($name::ABOUT),*];

        impl Screens {
            /// One screen.
            pub(crate) fn get(&self, id: ScreenId) -> Option<&dyn Screen> {
                $(if id == $name::ABOUT.id { return Some(&self.$name); })*
                None
            }

            /// One screen, to be changed.
            pub(crate) fn get_mut(&mut self, id: ScreenId) -> Option<&mut dyn Screen> {
                $(if id == $name::ABOUT.id { return Some(&mut self.$name); })*
                None
            }

            /// Informs all of them of a change.
            pub(crate) fn hear(&mut self, news: News, shared: &Shared) {
                $(self.$name.hear(news, shared);)*
            }

            /// Carries out a command of a screen.
            pub(crate) fn run(&mut self, id: ScreenId, name: &str, shared: &Shared) -> Option<Asks> {
                $(if id == $name::ABOUT.id {
                    let command = $name::COMMANDS.iter().find(|command| command.row.name == name)?;
                    return Some((command.run)(&mut self.$name, shared));
                })*
                None
            }
        }

        /// The commands of all screens.
        pub(crate) fn rows() -> Vec<(ScreenId, Row)> {
            let mut rows = Vec::new();
            $(rows.extend($name::COMMANDS.iter().map(|command| ($name::ABOUT.id, command.row)));)*
            rows
        }
    };
}

screens! {
    machine: Tree,
    findings: Findings,
    tune: Tune,
    dyno: Dyno,
    pull: Pull,
    whatif: WhatIf,
    why: Why,
    why_file: WhyFile,
    sheet: Sheet,
    slots: Slots,
}

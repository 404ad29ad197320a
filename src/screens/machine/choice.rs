//! [`Choice`]: which columns the user wants, in which order; kept between starts as one line of text.

use super::columns::{BARS, COLUMNS, Column, FORMS, LEAST_BARS, Room, column};

/// Whether a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Where the terminal is wide enough for it.
    ByWidth,
    /// As long as it fits at all.
    Always,
    /// Nowhere.
    Never,
}

/// All columns in the user's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    order: Vec<(&'static str, Show)>,
}

/// Cells that a row's name keeps whatever columns there are, the marks before it included.
const NAME: u16 = 28;

/// The last column to give way: what a drive reads says little without it.
const LIMIT: &str = "limit";

/// Columns that are no less than names.
const KEPT: [&str; 3] = ["link", "read", "write"];

impl Default for Choice {
    fn default() -> Self {
        Self { order: COLUMNS.iter().map(|column| (column.name, Show::ByWidth)).collect() }
    }
}

impl Choice {
    /// From the line that [`Self::line`] wrote. Words that name no column are left out; columns without a word follow in their
    /// own order.
    pub fn parse(line: &str) -> Self {
        let mut order: Vec<(&'static str, Show)> = Vec::new();
        for word in line.split_whitespace() {
            let (show, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
                (Some(name), _) => (Show::Always, name),
                (_, Some(name)) => (Show::Never, name),
                _ => (Show::ByWidth, word),
            };
            if let Some(column) =
                column(name).filter(|column| order.iter().all(|(own, _)| *own != column.name))
            {
                order.push((column.name, show));
            }
        }
        let missing =
            Self::default().order.into_iter().filter(|(name, _)| order.iter().all(|(own, _)| own != name));
        let missing: Vec<_> = missing.collect();
        order.extend(missing);
        Self { order }
    }

    /// The choice as one line.
    pub fn line(&self) -> String {
        let word = |(name, show): &(&str, Show)| match show {
            Show::ByWidth => (*name).to_owned(),
            Show::Always => format!("+{name}"),
            Show::Never => format!("-{name}"),
        };
        self.order.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// All columns with whether they are shown, in order.
    pub fn all(&self) -> impl Iterator<Item = (&'static Column, Show)> {
        self.order.iter().filter_map(|(name, show)| Some((column(name)?, *show)))
    }

    /// The columns that there is room for, in order.
    pub fn shown(&self, room: Room) -> Vec<&'static Column> {
        self.fitted(room).1
    }

    /// The same with the room they have, in which bars may be narrower.
    pub fn fitted(&self, mut room: Room) -> (Room, Vec<&'static Column>) {
        let sorted = room.sorted;
        let mut shown: Vec<(&'static Column, Show)> = self
            .all()
            .filter(|(column, show)| match show {
                _ if sorted == Some(column.name) => true,
                Show::ByWidth => column.is_by_itself(room),
                Show::Always => true,
                Show::Never => false,
            })
            .collect();
        // What was asked for stays longer than what is there by itself, and of that what needs least.
        let rank = |(at, (column, show)): (usize, &(&'static Column, Show))| {
            let last = (!KEPT.contains(&column.name), column.name != LIMIT);
            (sorted != Some(column.name), *show == Show::ByWidth, column.from, last, at)
        };
        while taken(&shown, room) + NAME > room.rows {
            let Some(last) = (0..shown.len()).max_by_key(|at| rank((*at, &shown[*at]))) else { break };
            shown.remove(last);
        }
        // Names of drives before bars and before columns that need room. Before the limit leaves, links and names are shorter.
        let mut form = 0;
        while !leaves_names(&shown, room, form) {
            let gives_way = |(column, show): &(&'static Column, Show)| {
                *show == Show::ByWidth && sorted != Some(column.name) && !KEPT.contains(&column.name)
            };
            let last =
                shown.iter().enumerate().filter(|(_, one)| gives_way(one)).max_by_key(|one| rank(*one));
            let Some((at, (column, _))) = last else { break };
            let from = column.from;
            let least = if from > 0 { BARS } else { LEAST_BARS };
            let has_bars = shown.iter().any(|(column, _)| column.name == "load");
            if let Some(narrower) = room.narrower_bars(least).filter(|_| has_bars) {
                room = narrower;
            } else if from > 0 {
                // Columns that come together leave together.
                shown.retain(|one| one.0.from != from || !gives_way(one));
            } else if column.name == LIMIT && form + 1 < FORMS {
                form += 1;
            } else {
                shown.remove(at);
            }
        }
        (room, shown.into_iter().map(|(column, _)| column).collect())
    }

    /// Whether the column of that name is shown whatever rows are sorted by.
    pub fn shows(&self, name: &str, room: Room) -> bool {
        self.shown(Room { sorted: None, ..room }).iter().any(|column| column.name == name)
    }

    /// Shows the column at `index`, or hides it, whatever rows are sorted by.
    pub fn turn(&mut self, index: usize, room: Room) {
        let room = Room { sorted: None, ..room };
        let shown = self.shown(room);
        let Some((name, show)) = self.order.get_mut(index) else { return };
        let is_shown = shown.iter().any(|column| column.name == *name);
        let by_itself = column(name).is_some_and(|column| column.is_by_itself(room));
        *show = match (is_shown, *show) {
            // Not there by itself: again as wide terminals have it.
            (true, Show::Always) if !by_itself => Show::ByWidth,
            (true, _) => Show::Never,
            (false, Show::Never) if by_itself => Show::ByWidth,
            (false, _) => Show::Always,
        };
    }

    /// The next column from `index` on whose name begins with a letter, around the corner.
    pub fn named_from(&self, index: usize, letter: char) -> Option<usize> {
        let begins = |at: &usize| {
            let first = self.order[*at].0.chars().find(|c| c.is_alphanumeric());
            first.is_some_and(|first| first.eq_ignore_ascii_case(&letter))
        };
        let count = self.order.len();
        (1..=count).map(|step| (index + step) % count).find(begins)
    }

    /// Moves the column at `index` by one place; its new place.
    pub fn shift(&mut self, index: usize, step: isize) -> usize {
        let to = index.saturating_add_signed(step).min(self.order.len().saturating_sub(1));
        if index < self.order.len() {
            self.order.swap(index, to);
        }
        to
    }
}

/// Whether these columns leave names of drives in this form whole.
fn leaves_names(columns: &[(&'static Column, Show)], room: Room, form: usize) -> bool {
    let begins_with_link = columns.first().is_some_and(|(column, _)| column.name == "link");
    room.leaves_names(taken(columns, room), begins_with_link, form)
}

/// Cells that columns take with the gaps before them.
fn taken(columns: &[(&'static Column, Show)], room: Room) -> u16 {
    columns.iter().map(|(column, _)| (column.width)(room) + 1).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::columns::{Filled, FormNames, Names},
        *,
    };

    fn room(rows: u16) -> Room {
        let (has_load, is_counted, has_counters) = (true, true, true);
        Room { rows, has_load, is_counted, has_counters, filled: Filled::ALL, ..Room::default() }
    }

    fn names(choice: &Choice, width: u16) -> Vec<&'static str> {
        choice.shown(room(width)).iter().map(|column| column.name).collect()
    }

    #[test]
    fn columns_appear_as_the_terminal_grows() {
        let choice = Choice::default();
        assert_eq!(names(&choice, 78), ["link", "read", "write", "limit", "load"]);
        let idle = choice.shown(Room { has_load: false, ..room(78) });
        assert!(!idle.iter().any(|column| column.name == "load"), "names take the cells of empty bars");
        let without = |names: &[&str], width| {
            let filled = names.iter().fold(Filled::ALL, |filled, name| filled.without(name));
            let shown = choice.shown(Room { filled, ..room(width) });
            shown.iter().map(|column| column.name).collect::<Vec<_>>()
        };
        let bare = without(&["link", "limit"], 79);
        assert_eq!(bare, ["read", "write", "r/s", "w/s"], "cells of empty columns go to others");
        let all = without(&["temp", "AER", "slot", "potential"], 300);
        assert_eq!(all.len(), COLUMNS.len() - 4, "a column that no device fills is not there: {all:?}");
        let wide = names(&choice, 134);
        assert_eq!(
            wide,
            [
                "link", "read", "write", "limit", "load", "r/s", "w/s", "r_await", "w_await", "aqu-sz",
                "temp", "minute"
            ]
        );
        assert_eq!(names(&choice, 232).len(), COLUMNS.len());
        let capture = Room { has_load: false, is_counted: false, has_counters: false, ..room(300) };
        let shown: Vec<_> = choice.shown(capture).iter().map(|column| column.name).collect();
        assert_eq!(shown, ["link", "limit", "potential", "temp", "AER", "slot"], "a capture has no rates");
        for column in COLUMNS {
            assert!(
                names(&choice, column.from.max(78)).contains(&column.name),
                "{} does not fit where it should first be shown",
                column.name
            );
        }
    }

    #[test]
    fn names_of_drives_come_before_bars_and_before_columns_that_need_room() {
        let mut names = Names::default();
        names.add(47, Some((None, "Gen4 x4")));
        let (mut choice, of) =
            (Choice::default(), move |rows| Room { names: FormNames([names; FORMS]), ..room(rows) });
        let shown = |choice: &Choice, rows| {
            let (room, columns) = choice.fitted(of(rows));
            let bars = columns.iter().find(|column| column.name == "load").map(|column| (column.width)(room));
            (bars, columns.len())
        };
        assert_eq!(shown(&choice, 77), (Some(LEAST_BARS), 5), "bars are narrower");
        assert_eq!(shown(&choice, 76), (None, 4), "bars leave");
        assert_eq!(shown(&choice, 70), (None, 3), "the limit leaves");
        assert_eq!(shown(&choice, 60), (None, 3), "links and rates stay");
        // r_await and w_await have room for themselves, and none for the name.
        assert_eq!(shown(&choice, 111), (Some(BARS), 9));
        names.add(50, Some((None, "Gen4 x4")));
        let (bars, columns) = choice.fitted(Room { names: FormNames([names; FORMS]), ..room(111) });
        assert!(
            !columns.iter().any(|column| column.name.ends_with("_await")),
            "they leave together: {bars:?}"
        );
        choice.order.iter_mut().for_each(|(_, show)| *show = Show::Always);
        assert!(shown(&choice, 77).1 > 5, "what the user asked for stays");
    }

    #[test]
    fn links_and_names_are_shorter_before_the_limit_leaves() {
        let name = |end, link| {
            let mut names = Names::default();
            names.add(end, Some((Some('▼'), link)));
            names
        };
        let [whole, now] = ["Gen3 x4 < Gen4 x4", "Gen3 x4"];
        let names = FormNames([name(47, whole), name(47, now), name(33, now), name(24, now)]);
        let mut choice = Choice::default();
        let has = |choice: &Choice, rows| {
            let shown = choice.shown(Room { names, ..room(rows) });
            ["limit", "load"].map(|name| shown.iter().any(|column| column.name == name))
        };
        assert_eq!(has(&choice, 89), [true, true]);
        assert_eq!([88, 73, 59, 56].map(|rows| has(&choice, rows)), [[true, false]; 4]);
        choice.order.swap(3, 4);
        assert_eq!(has(&choice, 60), [true, false], "whatever their order");
    }

    #[test]
    fn a_column_is_turned_moved_and_kept() {
        let mut choice = Choice::default();
        let at =
            |choice: &Choice, name: &str| choice.all().position(|(column, _)| column.name == name).unwrap();
        choice.turn(at(&choice, "link"), room(78));
        assert!(!names(&choice, 78).contains(&"link"));
        choice.turn(at(&choice, "aqu-sz"), room(78));
        assert!(names(&choice, 78).contains(&"aqu-sz"), "asked for below its width");
        choice.turn(at(&choice, "aqu-sz"), room(78));
        let is_as_before = choice.all().any(|one| one.0.name == "aqu-sz" && one.1 == Show::ByWidth);
        assert!(is_as_before, "a second time takes it back");
        choice.turn(at(&choice, "aqu-sz"), room(78));
        let write = choice.shift(at(&choice, "write"), -1);
        assert_eq!(names(&choice, 78), ["write", "read", "limit", "load", "aqu-sz"]);
        assert_eq!(choice.shift(write, -5), 0);
        let kept = Choice::parse(&choice.line());
        assert_eq!(kept, choice, "{}", choice.line());
        choice.turn(at(&choice, "link"), room(78));
        assert!(names(&choice, 78).contains(&"link"));
    }

    #[test]
    fn a_line_of_another_version_is_read_as_far_as_it_goes() {
        let choice = Choice::parse("+%util flux -read link link");
        let first: Vec<_> = choice.all().take(4).map(|(column, show)| (column.name, show)).collect();
        assert_eq!(
            first,
            [
                ("%util", Show::Always),
                ("read", Show::Never),
                ("link", Show::ByWidth),
                ("write", Show::ByWidth)
            ]
        );
        assert_eq!(Choice::parse(""), Choice::default());
    }

    proptest! {
        #[test]
        fn any_line_gives_every_column_once_and_never_more_than_fits(line in "[-+ a-z%/_]{0,120}", width in 78u16..300) {
            let choice = Choice::parse(&line);
            let mut all: Vec<_> = choice.all().map(|(column, _)| column.name).collect();
            all.sort_unstable();
            let mut known: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
            known.sort_unstable();
            prop_assert_eq!(all, known);
            let taken: u16 = choice.shown(room(width)).iter().map(|column| (column.width)(room(width)) + 1).sum();
            prop_assert!(taken + NAME <= width);
            prop_assert_eq!(Choice::parse(&choice.line()), choice);
        }
    }
}

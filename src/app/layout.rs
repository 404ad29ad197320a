//! [`Layout`]: the frame's regions for a size and a state. The view draws into it, the mouse is looked up in it.
//!
//! ```text
//!  title
//!  tabs
//!  ┌ body, by screen ────────────────────────┐
//!  │                                         │
//!  └─────────────────────────────────────────┘
//!  ┌ dstat ───────────┐┌ CPUs ┐┌ reads ──────┐
//!  └──────────────────┘└──────┘└─────────────┘
//!  message
//!  hints
//! ```
//! From 30 rows and 100 columns on panels have boxes; below that a panel has only a rule at the top. CPUs have a panel from 160
//! columns on, but on Why, which has one itself. Below 80 columns there are no curves; below 24 rows the table has one row.

use ratatui::layout::{
    Constraint::{Fill, Length},
    Layout as Split, Position, Rect,
};

use super::{App, TUNE, WHY, commands, notice, overlay::Overlay, palette, tabs};
use crate::{
    screens::widgets::paint::cells,
    ui::{About, ScreenId, command::Row, glyphs::GlyphSet, key_names::KeyNames},
};

/// The smallest terminal that holds a screen.
pub(crate) const SMALLEST: (u16, u16) = (60, 20);

/// From this height on a row is blank between boxes and hints.
const AIRY: u16 = 36;

/// From this width on the stats bar has curves.
pub(super) const CURVES: u16 = 80;

/// What is under a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hit {
    Nothing,
    Tab(ScreenId),
    /// A hint of the footer, or `? help`.
    Command(&'static str),
    /// A row of the overlay, counted from its top edge.
    OverlayRow(usize),
}

/// Regions of the frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// The terminal is smaller than [`SMALLEST`].
    pub too_small: bool,
    /// Panels have boxes.
    pub boxed: bool,
    /// The first row.
    pub title: Rect,
    /// The second row.
    pub tabs: Rect,
    /// The screen's own.
    pub body: Rect,
    /// The stats bar's table.
    pub dstat: Rect,
    /// The stats bar's CPUs; empty where there is no room.
    pub cpus: Rect,
    /// The stats bar's curves.
    pub reads: Rect,
    /// The rows for a message, as many as it needs, above `hints`.
    pub message: Rect,
    /// The last row.
    pub hints: Rect,
    /// What lies over the screen.
    pub overlay: Rect,
}

impl Layout {
    /// The regions for the state's size.
    pub fn new(app: &App) -> Self {
        let (columns, rows) = app.shared.size;
        let too_small = columns < SMALLEST.0 || rows < SMALLEST.1;
        // Nothing of it is drawn then; keys still find screens of a size that they can be drawn in.
        let (width, height) = (columns.max(SMALLEST.0), rows.max(SMALLEST.1));
        let boxed = app.shared.is_boxed();
        let all = Rect::new(0, 0, width, height);
        let bar = match (boxed, height) {
            // Without counters it would say only that.
            _ if !app.shared.can_test() => 0,
            (false, ..24) => 3,
            (false, _) => 4,
            (true, ..50) => 7,
            // A demo counts nothing before its first test.
            _ if app.shared.is_simulated() && app.stats_bar.reads.last().is_none() => 7,
            (true, 50..60) => 9,
            (true, _) => (height / 5).min(20),
        };
        // Boxes stand apart from the hints, where no line of theirs needs the row.
        let gap = u16::from(boxed && height >= AIRY);
        let heights = [Length(1), Length(1), Fill(1), Length(bar), Length(gap), Length(1)];
        let [title, tabs, body, bar, gap, hints] = Split::vertical(heights).areas(all);
        // A message stands in the gap and on what is above it: the stats bar gives it rows, and nothing else moves.
        let rows = notice::rows(app, width).max(gap.height);
        let message = Rect { y: hints.y - rows, height: rows, ..hints };
        let bar = Rect { height: bar.height.saturating_sub(rows - gap.height), ..bar };
        let table = dstat_width(width);
        let cpus = if width >= 160 && app.screen != WHY { (width - table) * 45 / 100 } else { 0 };
        let [dstat, cpus, reads] = Split::horizontal([Length(table), Length(cpus), Fill(1)]).areas(bar);
        let below_tabs = Rect { y: body.y, height: hints.y - gap.height - body.y, ..all };
        let overlay = overlay_area(app, below_tabs, hints.y - rows);
        Self { too_small, boxed, title, tabs, body, dstat, cpus, reads, message, hints, overlay }
    }

    /// What is under a cell.
    pub(super) fn hit(&self, app: &App, column: u16, row: u16) -> Hit {
        let at = Position::new(column, row);
        if self.too_small {
            return Hit::Nothing;
        }
        if app.overlay.is_some() {
            let inside = self.overlay.contains(at);
            return if inside { Hit::OverlayRow(usize::from(row - self.overlay.y)) } else { Hit::Nothing };
        }
        if let Some((_, screen)) =
            tabs(&app.shared.keys, self.tabs, app.screen).into_iter().find(|(area, _)| area.contains(at))
        {
            return Hit::Tab(screen);
        }
        if self.title.contains(at) && column + 8 >= self.title.width && app.offers_help() {
            return Hit::Command("help");
        }
        if let Some((_, row)) = hints(self.hints, app.shared.theme.glyphs, app.screen, |row| app.offered(row))
            .into_iter()
            .find(|(area, _)| area.contains(at))
        {
            return Hit::Command(row.name);
        }
        Hit::Nothing
    }
}

/// From this width on tabs have marks.
const MARKS: u16 = 80;

/// Cells behind a tab for its mark where marks have no place: of staged values, which nothing else shows.
pub(super) fn mark_room(tab: &About, area: Rect) -> u16 {
    u16::from(area.width < MARKS && tab.id == TUNE)
}

/// From this width on tabs have their counts beside the mark of a test that runs.
const COUNTED: u16 = 75;

/// Cells of a tab's mark with the gap before it, where marks have a place.
fn mark_cells(tab: &About, area: Rect) -> u16 {
    let is_count = tab.mark > 1;
    match (tab.mark, area.width >= if is_count { COUNTED } else { MARKS }) {
        (0, _) | (_, false) => 0,
        (mark, true) => mark + mark_gap(tab, area),
    }
}

/// Cells between a tab's name and its mark: none before a count in parentheses.
pub(super) fn mark_gap(tab: &About, area: Rect) -> u16 {
    u16::from(area.width >= 100 && tab.mark == 1)
}

/// The tabs' places in their row.
pub(super) fn tabs(keys: &KeyNames, area: Rect, shown: ScreenId) -> Vec<(Rect, ScreenId)> {
    let gap = if area.width < 100 { 1 } else { 2 };
    let mut x = area.x + 1 + key_range(keys, area).map_or(0, |range| cells(&range));
    let mut places = Vec::new();
    for tab in tabs::tabs() {
        let width = cells(&tab_key(keys, area, tab))
            + cells(tab_name(keys, area, tab, shown))
            + mark_cells(tab, area);
        places.push((Rect::new(x, area.y, width, area.height), tab.id));
        x += width + gap + mark_room(tab, area);
    }
    places
}

/// From this width on all names have room behind their keys, and the mark of a test that runs.
const ROOMY: u16 = 71;

/// The keys of all tabs before the first one, `1-8: `, where the row has no room for each key and a blank behind it.
pub(super) fn key_range(keys: &KeyNames, area: Rect) -> Option<String> {
    if area.width >= ROOMY {
        return None;
    }
    let digits: Option<Vec<u8>> = tabs::tabs().map(|tab| keys.of(tab.id.0).parse().ok()).collect();
    let digits = digits?;
    let are_in_order = digits.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let (first, last) = (digits.first()?, digits.last()?);
    are_in_order.then(|| format!("{first}-{last}: "))
}

/// A tab's key with the blank behind it; nothing behind the range of all keys.
pub(super) fn tab_key(keys: &KeyNames, area: Rect, tab: &About) -> String {
    if key_range(keys, area).is_some() { String::new() } else { format!("{} ", keys.of(tab.id.0)) }
}

/// The name of a tab. Where the user's longer keys leave some names no room, the longest are initials.
pub(super) fn tab_name(keys: &KeyNames, area: Rect, tab: &About, shown: ScreenId) -> &'static str {
    /// Cells for the mark of a test that runs.
    const RUNNING: u16 = 3;
    let wide =
        |tab: &About| cells(&tab_key(keys, area, tab)) + cells(initial(tab)) + 1 + mark_room(tab, area);
    let range = key_range(keys, area).map_or(0, |range| cells(&range));
    let mut room = area.width.saturating_sub(RUNNING + range + tabs::tabs().map(wide).sum::<u16>());
    let mut by_length: Vec<&About> = tabs::tabs().collect();
    by_length.sort_by_key(|tab| (tab.id != tabs::home(shown), cells(tab.name)));
    for one in by_length {
        let more = cells(one.name) - cells(initial(one));
        let is_whole = more <= room;
        if one.id == tab.id {
            return if is_whole { one.name } else { initial(tab) };
        }
        room -= if is_whole { more } else { 0 };
    }
    initial(tab)
}

fn initial(tab: &About) -> &'static str {
    tab.name.get(..1).unwrap_or(tab.name)
}

/// Commands that end, make, take back or keep something: on narrow terminals their hints are the last to go.
const KEPT: [&str; 13] = [
    "quit",
    "stop",
    "back",
    "apply",
    "undo all",
    "undo one",
    "close",
    "export",
    "save",
    "copy",
    "open",
    "older run",
    "compare",
];

/// Commands that begin what a screen is for: they follow.
const BEGINNING: [&str; 6] = ["pull", "run", "start", "start again", "move card", "best move"];

/// The next ones, from [`LEADING_FROM`] columns on: they lead to the other matches of a find and to all other commands.
const LEADING: [&str; 4] = ["next match", "next drive", "palette", "sort"];
const LEADING_FROM: u16 = 80;
/// The hint that a find is kept by.
const END_FIND: &str = "end find";

/// The first hint to go below [`PLENTY`] columns: arrows move the cursor in every program.
const OBVIOUS: &str = "move";
const PLENTY: u16 = 100;

/// The hints' places in the footer, as many as fit, each with its command as it is offered now. The way out keeps its place at
/// the end.
pub(super) fn hints(
    area: Rect,
    glyphs: GlyphSet,
    screen: ScreenId,
    offered: impl Fn(Row) -> Option<Row>,
) -> Vec<(Rect, Row)> {
    let wide = |row: &Row| cells(&glyphs.keys(&row.hint_keys())) + 1 + cells(row.hint) + 2;
    let mut rows: Vec<Row> =
        commands::of(screen).filter_map(offered).filter(|row| !row.hint.is_empty()).collect();
    rows.sort_by_key(|row| (row.name == "quit", row.place));
    let mut room = area.width;
    // The other matches of a find that is kept have a place on narrow terminals too.
    let matches = if rows.iter().any(|row| row.hint == END_FIND) { 2 } else { 0 };
    let rank = |row: &&Row| {
        let leading = LEADING.iter().take(if area.width >= LEADING_FROM { LEADING.len() } else { matches });
        let kept = KEPT.iter().chain(&BEGINNING).chain(leading).position(|kept| *kept == row.name);
        let is_obvious = row.hint == OBVIOUS && area.width < PLENTY;
        kept.unwrap_or(KEPT.len() + BEGINNING.len() + LEADING.len() + usize::from(is_obvious))
    };
    let mut by_rank: Vec<&Row> = rows.iter().collect();
    by_rank.sort_by_key(rank);
    let mut fitting: Vec<&Row> = Vec::new();
    for row in by_rank {
        // A key of the user's own can bring a command to a screen that has a page of the same word.
        let is_new = fitting.iter().all(|other| other.hint != row.hint);
        if is_new && wide(row) <= room {
            room -= wide(row);
            fitting.push(row);
        }
    }
    let fitting: Vec<u16> = fitting.into_iter().map(|row| row.place).collect();
    let mut x = area.x + 1;
    let shown = rows.into_iter().filter(|row| fitting.contains(&row.place));
    let place = |row: Row| {
        let place = Rect::new(x, area.y, wide(&row) - 2, 1);
        x += wide(&row);
        (place, row)
    };
    shown.map(place).collect()
}

/// The least columns of the screen to be seen on each side of what lies over it.
const BESIDE_OVERLAY: u16 = 4;

/// What lies over the screen, in the middle of `all` and above the row `end`.
fn overlay_area(app: &App, all: Rect, end: u16) -> Rect {
    let (width, height) = match app.overlay {
        None => return Rect::default(),
        Some(Overlay::Quit) => (52, 5),
        Some(Overlay::Confirm(..)) => (76, 16),
        Some(Overlay::Screen(id, _)) => {
            let over = app.screens.get(id).and_then(|screen| screen.over(&app.shared, all.width));
            over.map_or((0, 0), |over| over.size)
        }
        Some(Overlay::Palette(_)) => (palette::width(app), 22),
        Some(Overlay::Help(_) | Overlay::Glossary(_)) => (100, 48),
    };
    // A few columns beside it would show letters of the screen below, cut from their words.
    let width = if width + 2 * BESIDE_OVERLAY > all.width { all.width } else { width };
    let height = height.min(end.saturating_sub(all.y));
    let y = (all.y + (all.height - height) / 2).min(end - height);
    Rect::new((all.width - width) / 2, y, width, height)
}

fn dstat_width(width: u16) -> u16 {
    match width {
        ..80 => width,
        80..100 => 48,
        // The curve beside it has room for its figures and their unit.
        100..106 => 71,
        106..160 => 75,
        160..240 => 88,
        _ => 104,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laptop() -> crate::ui::MachineRead {
        let origin = crate::source::origin::Origin::Demo("laptop".to_owned());
        let (machine, problems) = crate::source::read_machine(&*origin.open().unwrap());
        let limits = crate::capacity::limits(&machine).into();
        crate::ui::MachineRead { machine: machine.into(), problems, limits }
    }

    #[test]
    fn the_way_out_is_in_every_footer_and_nothing_overlaps() {
        for width in 80..=220 {
            for tab in tabs::tabs() {
                let area = Rect::new(0, 23, width, 1);
                let places = hints(area, GlyphSet::Braille, tab.id, Some);
                assert_eq!(places.last().map(|(_, row)| row.name), Some("quit"), "{} {width}", tab.name);
                assert!(places.windows(2).all(|pair| pair[0].0.right() < pair[1].0.x));
                assert!(places.iter().all(|(place, _)| place.right() < area.right()));
            }
        }
    }

    #[test]
    fn what_lies_over_the_screen_leaves_enough_of_it_beside_or_nothing() {
        let read = laptop();
        for width in SMALLEST.0..=160 {
            let mut app = App::new(crate::ui::Mode::Live, read.clone(), (width, 24));
            for overlay in
                [Overlay::Help(0), Overlay::Palette(super::super::overlay::Palette::default()), Overlay::Quit]
            {
                app.overlay = Some(overlay);
                let area = app.layout().overlay;
                let beside = (area.x, width - area.right());
                let is_whole = beside == (0, 0);
                assert!(is_whole || beside.0 >= 4 && beside.1 >= 4, "{width}: {beside:?}");
            }
        }
    }

    #[test]
    fn no_tab_is_cut_on_the_smallest_terminal() {
        let keys = commands::key_names();
        for width in SMALLEST.0..=120 {
            let area = Rect::new(0, 1, width, 1);
            for shown in tabs::tabs() {
                let names: Vec<&str> = tabs::tabs().map(|tab| tab_name(&keys, area, tab, shown.id)).collect();
                let is_whole = |(name, tab): (&&str, &About)| tab.name == *name;
                assert!(names.iter().zip(tabs::tabs()).all(is_whole), "{width}: {names:?}");
                let is_apart = |tab: &About| {
                    ["", " "].contains(&tab_key(&keys, area, tab).trim_start_matches(tab.digit))
                };
                assert!(tabs::tabs().all(is_apart) && (width >= ROOMY || key_range(&keys, area).is_some()));
                let places = tabs(&keys, area, shown.id);
                assert!(
                    places.iter().all(|(place, _)| place.right() + 3 <= area.right()),
                    "{width}: {places:?}"
                );
            }
        }
    }

    #[test]
    fn a_narrow_footer_keeps_what_takes_back_or_begins_before_what_is_nice_to_have() {
        let area = Rect::new(0, 19, 60, 1);
        let places = hints(area, GlyphSet::Braille, ScreenId("tune"), Some);
        let names: Vec<&str> = places.iter().map(|(_, row)| row.name).collect();
        assert!(
            ["apply", "undo one", "undo all", "quit"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
        assert!(!names.contains(&"export"), "{names:?}");
        let is_now = |row: &Row| !["stop", "open", "close"].contains(&row.name);
        let places = hints(area, GlyphSet::Braille, ScreenId("slots"), |row| Some(row).filter(is_now));
        let names: Vec<&str> = places.iter().map(|(_, row)| row.name).collect();
        assert!(
            ["pull", "move card", "best move", "quit"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
    }

    #[test]
    fn the_stats_bar_of_a_capture_leaves_its_rows_to_the_screen() {
        let read = laptop();
        let bar = |mode| Layout::new(&App::new(mode, read.clone(), (300, 100))).dstat.height;
        assert_eq!((bar(crate::ui::Mode::Live), bar(crate::ui::Mode::Capture)), (20, 0));
    }
}

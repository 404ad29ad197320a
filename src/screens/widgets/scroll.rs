//! Lists and texts longer than their place: the first line shown, and the mark of lines out of sight.

use std::ops::Range;

use ratatui::layout::Rect;

use super::paint::{Brush, cells, piece};
use crate::ui::theme::Meaning;

/// Words before the counts of lines above and below.
pub type Ways<'a> = (&'a str, &'a str);

/// Arrow keys move the list.
pub const ROWS: Ways<'static> = ("↑ ", "↓ ");
/// Left and right move the list.
pub const COLUMNS: Ways<'static> = ("← ", "→ ");
/// Page keys move the text.
pub const PAGES: Ways<'static> = ("{page up}: ", "{page down}: ");

/// The first line shown after a step, of a text of `lines` in `rows`; steps past the end lead to it.
pub fn scrolled(top: usize, step: isize, lines: usize, rows: u16) -> usize {
    let end = lines.saturating_sub(usize::from(rows));
    top.min(end).saturating_add_signed(step).min(end)
}

/// The first row shown of `count` so that the selected one is among `rows`.
pub fn kept_in_sight(top: usize, selected: usize, count: usize, rows: u16) -> usize {
    let rows = usize::from(rows);
    if rows == 0 {
        return top;
    }
    top.clamp(selected.saturating_sub(rows - 1), selected).min(count.saturating_sub(rows))
}

/// The same for an entry of several lines; where it has more than `rows` its first ones are shown.
pub fn range_in_sight(top: usize, selected: &Range<usize>, count: usize, rows: u16) -> usize {
    let last = kept_in_sight(top, selected.end.saturating_sub(1), count, rows);
    kept_in_sight(last, selected.start, count, rows)
}

/// How many of `count` lines are out of sight above and below `rows`, of which the first is `top`.
pub fn out_of_sight(top: usize, count: usize, rows: u16) -> (usize, usize) {
    (top.min(count), count.saturating_sub(top.saturating_add(rows.into())))
}

/// `↑ 3  ↓ 5 more` as the screen shows it, with its keys and glyphs; empty where all lines are in sight.
pub fn shown(brush: &Brush<'_>, ways: Ways<'_>, hidden: (usize, usize)) -> String {
    brush.theme.glyphs.arrows(&brush.fill(&words(ways, hidden)))
}

/// Cells of a title's rule that the mark of a list takes where there is no box.
pub fn in_rule(brush: &Brush<'_>, hidden: (usize, usize)) -> u16 {
    match cells(&shown(brush, ROWS, hidden)) {
        0 => 0,
        _ if brush.boxed => 0,
        wide => wide.saturating_sub(cells(MORE)) + 4,
    }
}

/// What gives way where the mark has little room.
const MORE: &str = " more";

fn words((up, down): Ways<'_>, (above, below): (usize, usize)) -> String {
    let above = (above > 0).then(|| format!("{up}{above}"));
    let below = (below > 0).then(|| format!("{down}{below}"));
    let parts: Vec<String> = above.into_iter().chain(below).collect();
    if parts.is_empty() { String::new() } else { parts.join("  ") + MORE }
}

/// Writes on a panel how many lines are above and below: on the lower edge of a box, else in the rule of its title, without words where
/// these have no room, else over the end of the title: never over a row. A word that the mark would cut goes whole.
pub fn mark(brush: &mut Brush<'_>, panel: Rect, ways: Ways<'_>, hidden: (usize, usize)) {
    let text = shown(brush, ways, hidden);
    if text.is_empty() || panel.height < 2 {
        return;
    }
    let text = format!(" {text} ");
    let (right, bottom) = (panel.right().saturating_sub(1), panel.bottom().saturating_sub(1));
    if brush.boxed {
        brush.write_right(right, bottom, &[piece(text, Meaning::Quiet)]);
        return;
    }
    let short = format!(" {} ", shown(brush, ROWS, hidden).trim_end_matches(MORE));
    for text in [&text, &short] {
        if let Some(right) = free_rule(brush, panel, cells(text) + 2) {
            brush.write_right(right - 1, panel.y, &[piece(text, Meaning::Quiet)]);
            return;
        }
    }
    // Behind the title's rule stand headings of columns, or a note.
    let is_rule = |x: &u16| brush.buffer.cell((*x, panel.y)).is_some_and(|cell| cell.symbol() == "─");
    let rule = (panel.x..panel.right()).skip_while(|x| !is_rule(x)).take_while(is_rule).last();
    let end = rule.map_or(panel.right(), |x| x + 1);
    let mut x = end.saturating_sub(cells(&short) + 1);
    if x <= panel.x {
        return;
    }
    brush.write_right(end - 1, panel.y, &[piece(short, Meaning::Quiet)]);
    brush.text(end - 1, panel.y, 1, "─", Meaning::Lines);
    while x > panel.x
        && brush.buffer.cell((x - 1, panel.y)).is_some_and(|cell| ![" ", "─"].contains(&cell.symbol()))
    {
        x -= 1;
        brush.text(x, panel.y, 1, "─", Meaning::Lines);
    }
}

/// Where `wide` cells of a panel's rule end that nothing is written on, the rightmost ones.
fn free_rule(brush: &Brush<'_>, panel: Rect, wide: u16) -> Option<u16> {
    let mut free = 0;
    for x in (panel.x..panel.right()).rev() {
        let is_free = brush.buffer.cell((x, panel.y)).is_some_and(|cell| cell.symbol() == "─");
        free = if is_free { free + 1 } else { 0 };
        if wide > 0 && free == wide {
            return Some(x + wide);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::ui::theme::Theme;

    #[test]
    fn both_directions_are_counted() {
        assert_eq!(words(ROWS, (0, 0)), "");
        assert_eq!(words(ROWS, (0, 5)), "↓ 5 more");
        assert_eq!(words(ROWS, (3, 5)), "↑ 3  ↓ 5 more");
        assert_eq!(words(PAGES, (3, 0)), "{page up}: 3 more", "its keys stand there on a panel");
        assert_eq!(out_of_sight(2, 10, 5), (2, 3));
        assert_eq!(out_of_sight(9, 3, 5), (3, 0));
    }

    /// A panel of 24 cells and 3 rows with this title and last row, and the mark of these lines.
    fn marked(boxed: bool, title: &str, last: &str, hidden: (usize, usize)) -> Vec<String> {
        let panel = Rect::new(0, 0, 24, 3);
        let mut buffer = Buffer::empty(panel);
        let mut brush = Brush::new(&mut buffer, Theme::PLAIN, boxed);
        let inner = brush.panel(panel, &[piece(title, Meaning::Heading)], &[]);
        brush.text(inner.x, 2 - u16::from(boxed), inner.width, last, Meaning::Text);
        mark(&mut brush, panel, ROWS, hidden);
        let rows = buffer.content.chunks(24);
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect()).collect()
    }

    #[test]
    fn a_mark_covers_no_word() {
        assert_eq!(marked(true, "t", "", (1, 2))[2], "└─────── ↑ 1  ↓ 2 more ┘");
        assert_eq!(marked(false, "t", "row", (1, 2))[0], " t ───── ↑ 1  ↓ 2 more ─");
        assert_eq!(marked(false, "a title", "row", (1, 2))[0], " a title ──── ↑ 1  ↓ 2 ─");
        let full = marked(false, "a title of many cells", "name   7.14 GB/s", (0, 2));
        assert_eq!(full[0], " a title of many ─ ↓ 2 ─");
        assert_eq!(full[2], " name   7.14 GB/s       ", "no figure of a row is covered");
        assert_eq!(marked(false, "t", "row", (0, 0))[0], " t ─────────────────────");
    }
}

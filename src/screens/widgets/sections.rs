//! Sections of facts in the rows that a panel leaves: whole ones, in as few columns as hold them.

use ratatui::layout::Rect;

use super::paint::{Brush, Piece, piece};
use crate::ui::theme::Meaning;

/// Lines under a heading.
pub type Section = Vec<Vec<Piece>>;

/// The first line of a section, with a note behind its name.
pub fn heading(name: &str, note: &str) -> Vec<Piece> {
    vec![piece(name, Meaning::Heading), piece(format!("  {note}"), Meaning::Quiet)]
}

/// The rows of a place behind a text of `lines` and a blank row.
pub fn after(area: Rect, lines: usize) -> Rect {
    let used = u16::try_from(lines + 1).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + used, height: area.height - used, ..area }
}

/// Cells of a column: the least, and the most while there is room for another one.
const COLUMN: (u16, u16) = (64, 150);
/// Cells between two columns.
const GAP: u16 = 3;
/// The most columns.
const MOST: u16 = 4;

/// Draws the sections that `of` makes for a column's width, the first ones before others where there is too little room.
pub fn fill(brush: &mut Brush<'_>, area: Rect, of: impl Fn(u16) -> Vec<Section>) {
    if let Some(filled) = best(area, of) {
        filled.draw(brush, area);
    }
}

/// The same of the first of these that has room for all its sections, or of the last.
pub fn fill_with_most<T: Copy>(
    brush: &mut Brush<'_>,
    area: Rect,
    most: &[T],
    of: impl Fn(T, u16) -> Vec<Section>,
) {
    let filled = |one: &T| best(area, |width| of(*one, width));
    let Some(least) = most.last().and_then(filled) else { return };
    // Where there is no room for the least, there is none for more.
    let more = most.iter().filter(|_| least.is_whole()).filter_map(filled).find(Filled::is_whole);
    more.unwrap_or(least).draw(brush, area);
}

/// The fewest columns that hold all sections, or those that hold most; `None` without a row.
fn best(area: Rect, of: impl Fn(u16) -> Vec<Section>) -> Option<Filled> {
    if area.height == 0 {
        return None;
    }
    let columns_of = |wide: u16| ((area.width + GAP) / (wide + GAP)).clamp(1, MOST);
    let least = area.width.div_ceil(COLUMN.1).clamp(1, MOST);
    let rows = usize::from(area.height);
    let mut best: Option<Filled> = None;
    for columns in least..=columns_of(COLUMN.0).max(least) {
        let wide = area.width.saturating_sub((columns - 1) * GAP) / columns;
        let sections = of(wide);
        let places = balanced(&sections, columns.into(), rows);
        let filled = Filled { wide, sections, places };
        let is_whole = filled.is_whole();
        if best.as_ref().is_none_or(|best| filled.shown() > best.shown()) {
            best = Some(filled);
        }
        if is_whole {
            break;
        }
    }
    best
}

/// Column and first row of a section; `None` where it has no room.
type Place = Option<(usize, usize)>;

/// Sections with their places in columns of `wide` cells.
struct Filled {
    wide: u16,
    sections: Vec<Section>,
    places: Vec<Place>,
}

impl Filled {
    fn shown(&self) -> usize {
        self.places.iter().flatten().count()
    }

    fn is_whole(&self) -> bool {
        self.places.iter().all(Option::is_some)
    }

    fn draw(&self, brush: &mut Brush<'_>, area: Rect) {
        let cells = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        for (section, place) in self.sections.iter().zip(&self.places) {
            let Some((column, row)) = place else { continue };
            let (x, y) = (area.x + cells(*column) * (self.wide + GAP), area.y + cells(*row));
            brush.lines(Rect { x, y, width: self.wide, height: cells(section.len()) }, section, 0);
        }
    }
}

/// Places in columns as high as each other, where all sections have room in `rows`.
fn balanced(sections: &[Section], columns: usize, rows: usize) -> Vec<Place> {
    let all = placed(sections, columns, rows);
    if all.iter().any(Option::is_none) {
        return all;
    }
    let lines = sections.iter().map(|section| section.len() + 1).sum::<usize>();
    let lower = (lines.div_ceil(columns).saturating_sub(1)..rows).map(|rows| placed(sections, columns, rows));
    lower.into_iter().find(|places| places.iter().all(Option::is_some)).unwrap_or(all)
}

fn placed(sections: &[Section], columns: usize, rows: usize) -> Vec<Place> {
    let mut used = vec![0; columns];
    let place = |section: &Section| {
        let after = |used: usize| if used == 0 { 0 } else { used + 1 };
        let column = (0..columns).find(|column| after(used[*column]) + section.len() <= rows)?;
        let row = after(used[column]);
        used[column] = row + section.len();
        Some((column, row))
    };
    sections.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::ui::theme::Theme;

    fn drawn(size: (u16, u16), heights: &[usize]) -> Vec<String> {
        drawn_with_most(size, &[heights])
    }

    /// The first of these heights of sections that has room, or the last.
    fn drawn_with_most(size: (u16, u16), most: &[&[usize]]) -> Vec<String> {
        let area = Rect::new(0, 0, size.0, size.1);
        let mut buffer = Buffer::empty(area);
        let mut brush = Brush::new(&mut buffer, Theme::PLAIN, false);
        let section = |(at, height): (usize, &usize)| {
            (0..*height).map(|line| vec![piece(format!("{at}.{line}"), Meaning::Text)]).collect()
        };
        fill_with_most(&mut brush, area, most, |heights, _| {
            heights.iter().enumerate().map(section).collect()
        });
        let rows = buffer.content.chunks(size.0.into());
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim().to_owned())
            .collect()
    }

    #[test]
    fn the_most_that_leaves_room_for_all_sections_is_drawn() {
        let most: [&[usize]; 3] = [&[5, 3], &[3, 2], &[1, 1]];
        let rows = |height| drawn_with_most((60, height), &most).iter().filter(|row| !row.is_empty()).count();
        assert_eq!([9, 8, 6, 5, 3].map(rows), [8, 5, 5, 2, 2]);
        assert_eq!(drawn_with_most((60, 2), &most), ["0.0", ""], "the least is cut where it has no room");
    }

    #[test]
    fn sections_stand_below_each_other_and_beside_where_there_is_no_room() {
        assert_eq!(drawn((140, 6), &[2, 3]), ["0.0", "0.1", "", "1.0", "1.1", "1.2"]);
        let beside: Vec<Vec<String>> = drawn((140, 4), &[2, 3])
            .iter()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        assert_eq!(beside, [vec!["0.0", "1.0"], vec!["0.1", "1.1"], vec!["1.2"], vec![]]);
        assert_eq!(drawn((60, 4), &[2, 3, 1]), ["0.0", "0.1", "", "2.0"], "half a section is none");
    }
}

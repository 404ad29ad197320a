//! Rows of cells as aligned text.

use unicode_width::UnicodeWidthStr;

use super::{
    cut,
    toned::{Tone, Toned},
};

/// Spaces between columns.
const GAP: usize = 2;

/// Minimum width of the last column; below it optional columns are left out.
const LEAST_LAST: usize = 20;

/// Most columns of a cell, and of one in the last column; names of texts and firmware have any length.
const MOST_CELL: usize = 80;
const MOST_LAST: usize = 400;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub heading: &'static str,
    /// Numbers are right-aligned.
    pub right: bool,
    /// Left out on narrow terminals.
    pub optional: bool,
}

impl Column {
    pub(crate) const fn left(heading: &'static str) -> Self {
        Self { heading, right: false, optional: false }
    }

    pub(crate) const fn right(heading: &'static str) -> Self {
        Self { right: true, ..Self::left(heading) }
    }

    pub(crate) const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// The last column is as long as its text, or cut at `width`. Empty columns are left out.
pub(crate) fn text(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    toned(columns, rows, width, |_, _| Tone::Plain).plain().to_owned()
}

/// The same with a tone for each cell, by row and column; headings are quiet.
pub(crate) fn toned(
    columns: &[Column],
    rows: &[Vec<String>],
    width: Option<usize>,
    tone: impl Fn(usize, usize) -> Tone,
) -> Toned {
    let filled = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
    let mut shown: Vec<usize> = (0..columns.len()).filter(|at| filled(*at)).collect();
    let mut widths: Vec<usize> =
        widths(columns, rows).into_iter().map(|width| width.min(MOST_CELL)).collect();
    while let Some(width) = width
        && let Some(last) = shown.last().copied()
        && let before = shown.iter().filter(|at| **at != last).map(|at| widths[*at] + GAP).sum::<usize>()
        && before + LEAST_LAST > width
        && let Some(at) = shown.iter().rposition(|at| columns[*at].optional)
    {
        shown.remove(at);
    }
    if let Some(last) = shown.last() {
        widths[*last] = 0;
    }
    let headings: Vec<String> = columns.iter().map(|column| column.heading.to_owned()).collect();
    let mut text = Toned::default();
    for (number, row) in std::iter::once(&headings).chain(rows).enumerate() {
        let mut line = String::new();
        let mut tones = Vec::new();
        for at in &shown {
            let most = if shown.last() == Some(at) { MOST_LAST } else { MOST_CELL };
            let cell = cut(row.get(*at).map_or("", String::as_str), most);
            let padding = " ".repeat(widths[*at].saturating_sub(cell.width()));
            let (before, after) = if columns[*at].right { (&*padding, "") } else { ("", &*padding) };
            line.push_str(before);
            let from = line.len();
            line.extend([&*cell, after, &" ".repeat(GAP)]);
            let own = number.checked_sub(1).map_or(Tone::Quiet, |row| tone(row, *at));
            tones.push((from, from + cell.len(), own));
        }
        let line = cut(line.trim_end(), width.unwrap_or(usize::MAX));
        let mut done = 0;
        for (from, to, own) in tones {
            // A cut line is shorter, and ends in another character.
            let (from, to) = (line.floor_char_boundary(from), line.floor_char_boundary(to));
            text.push(&line[done..from]);
            text.push_toned(own, &line[from..to]);
            done = to;
        }
        text.push(&line[done..]);
        text.push("\n");
    }
    text
}

fn widths(columns: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
    columns
        .iter()
        .enumerate()
        .map(|(at, column)| column.heading.width().max(widest(at).unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] =
        [Column::left("name"), Column::right("size").optional(), Column::left("model")];

    fn rows() -> Vec<Vec<String>> {
        [["a", "1 TB", "Något långt namn på en disk"], ["bbbbbb", "12 TB", "東芝 KIOXIA"]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec()
    }

    #[test]
    fn columns_line_up_and_numbers_are_right_aligned() {
        let expected =
            "name     size  model\na        1 TB  Något långt namn på en disk\nbbbbbb  12 TB  東芝 KIOXIA\n";
        assert_eq!(text(&COLUMNS, &rows(), None), expected);
    }

    #[test]
    fn a_narrow_terminal_loses_the_optional_column_first_and_then_the_ends_of_lines() {
        let narrow = text(&COLUMNS, &rows(), Some(30));
        assert!(narrow.starts_with("name    model\n"), "{narrow}");
        for width in 1..60 {
            let cut = text(&COLUMNS, &rows(), Some(width));
            assert!(cut.lines().all(|line| line.width() <= width), "{width}: {cut}");
        }
    }

    #[test]
    fn a_long_name_makes_no_long_lines() {
        let long = "\u{6f22}A".repeat(50_000);
        let rows = vec![[long.as_str(), "1 TB", &long].map(str::to_owned).to_vec()];
        let table = text(&COLUMNS, &rows, None);
        assert!(table.lines().all(|line| line.width() < 500), "{table}");
        assert!(table.contains("\u{2026}   1 TB  "), "{table}");
    }

    #[test]
    fn empty_columns_are_not_shown() {
        let rows = vec![vec!["a".to_owned(), String::new(), "m".to_owned()]];
        assert_eq!(text(&COLUMNS, &rows, None), "name  model\na     m\n");
    }
}

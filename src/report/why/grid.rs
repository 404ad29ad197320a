//! [`Grid`]: a table whose widths do not depend on its rows, for the screen, for rows that follow each other and for CSV.

use std::cmp::Ordering;

use unicode_width::UnicodeWidthStr;

use crate::{report::cut, units};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Col {
    pub(crate) name: &'static str,
    /// Width in cells; the heading is no longer.
    pub(crate) width: usize,
    /// Its width where there is room for more.
    pub(crate) most: usize,
    pub(crate) is_number: bool,
    /// Where there is no room, all columns with the highest value go first; 0 stays.
    pub(crate) drop: u8,
}

pub(crate) const fn number(name: &'static str, width: usize, drop: u8) -> Col {
    Col { name, width, most: width, is_number: true, drop }
}

pub(crate) const fn word(name: &'static str, width: usize, drop: u8) -> Col {
    Col { name, width, most: width, is_number: false, drop }
}

impl Col {
    /// The same column, up to `most` cells wide where there is room.
    pub(crate) const fn up_to(self, most: usize) -> Self {
        Self { most, ..self }
    }
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    /// With so many decimals.
    Number(f64, usize),
    /// `120k` in text, the number in CSV.
    Count(f64),
    /// Not known: a dash in text, nothing in CSV.
    Unknown,
}

/// How a row stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    #[default]
    Plain,
    /// Of the kernel.
    Kernel,
    /// Near a limit.
    Hot,
    /// Nothing moves here.
    Quiet,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) mark: Mark,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<Col>,
    pub(crate) rows: Vec<Row>,
}

/// Cells between columns.
const GAP: usize = 1;

impl Cell {
    pub(crate) fn number(value: Option<f64>, decimals: usize) -> Self {
        value.map_or(Self::Unknown, |value| Self::Number(value, decimals))
    }

    pub(crate) fn count(value: Option<f64>) -> Self {
        value.map_or(Self::Unknown, Self::Count)
    }

    pub(crate) fn text<T: ToString + ?Sized>(text: &T) -> Self {
        Self::Text(text.to_string())
    }

    fn order(&self, other: &Self, is_reversed: bool) -> Ordering {
        let turned = |order: Ordering| if is_reversed { order.reverse() } else { order };
        match (self, other) {
            (Self::Unknown, Self::Unknown) => Ordering::Equal,
            (Self::Unknown, _) => Ordering::Greater,
            (_, Self::Unknown) => Ordering::Less,
            (Self::Text(a), Self::Text(b)) => turned(a.cmp(b)),
            (Self::Number(a, _) | Self::Count(a), Self::Number(b, _) | Self::Count(b)) => {
                turned(b.total_cmp(a))
            }
            (Self::Text(_), _) => Ordering::Greater,
            (_, Self::Text(_)) => Ordering::Less,
        }
    }

    /// In so many cells; a number that needs more has fewer decimals.
    fn shown(&self, width: usize) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(value, decimals) => {
                let with = |decimals: usize| format!("{value:.decimals$}");
                let fits = (1..=*decimals).rev().map(with).find(|text| text.len() <= width);
                fits.unwrap_or_else(|| with(0))
            }
            // A blank would end the column for awk and cut.
            Self::Count(value) => units::count(*value).replace(' ', ""),
            Self::Unknown => "-".to_owned(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
            Self::Number(value, _) | Self::Count(value) => {
                let text = format!("{value:.3}");
                // Numbers of processes and CPUs are whole.
                text.strip_suffix(".000").map_or(text.clone(), str::to_owned)
            }
            Self::Unknown => String::new(),
        }
    }
}

impl Grid {
    /// Indexes of the columns that fit into `room` cells.
    pub(crate) fn fitting(&self, room: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let wide = |shown: &[usize]| shown.iter().map(|at| self.columns[*at].width + GAP).sum::<usize>();
        while wide(&shown) > room.saturating_add(GAP)
            && let Some(drop) = shown.iter().map(|at| self.columns[*at].drop).max().filter(|drop| *drop > 0)
        {
            shown.retain(|at| self.columns[*at].drop != drop);
        }
        shown
    }

    /// The heading of these columns in `room` cells.
    pub(crate) fn heading(&self, shown: &[usize], room: usize) -> String {
        self.line(shown, room, |at, _| self.columns[at].name.to_owned())
    }

    /// A row of these columns in `room` cells; the last column takes what is left.
    pub(crate) fn row(&self, row: &Row, shown: &[usize], room: usize) -> String {
        self.line(shown, room, |at, width| {
            row.cells.get(at).map_or_else(String::new, |cell| cell.shown(width))
        })
    }

    /// Widths of these columns: what `room` leaves goes in equal parts to those that may be wider, whatever the rows hold.
    fn widths(&self, shown: &[usize], room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = shown.iter().map(|at| self.columns[*at].width).collect();
        let gaps = shown.len().saturating_sub(1) * GAP;
        let mut left = room.saturating_sub(widths.iter().sum::<usize>() + gaps);
        // The last word has what is left anyway.
        let last = shown.len().saturating_sub(1);
        let most = |at: usize| {
            let column = self.columns[shown[at]];
            if at == last && !column.is_number { column.width } else { column.most }
        };
        while left > 0 {
            let narrow: Vec<usize> = (0..shown.len()).filter(|at| widths[*at] < most(*at)).collect();
            if narrow.is_empty() {
                break;
            }
            for at in narrow.into_iter().take(left) {
                widths[at] += 1;
                left -= 1;
            }
        }
        widths
    }

    /// The columns among `shown` with their place in a line of `room` cells: index, first cell, cells.
    pub(crate) fn places(&self, shown: &[usize], room: usize) -> Vec<(usize, usize, usize)> {
        let mut x = 0;
        let mut places = Vec::new();
        let widths = self.widths(shown, room);
        for (at, (column, width)) in shown.iter().zip(widths).enumerate() {
            let is_number = self.columns[*column].is_number;
            // The last word has all that is left.
            let is_open = at + 1 == shown.len() && !is_number;
            let wide = if is_open { room.saturating_sub(x).max(width) } else { width };
            places.push((*column, x, wide));
            x += wide + GAP;
        }
        places
    }

    /// Sorts the first `rows` rows and the others each by a column: numbers from the largest, words from A, unless it is reversed.
    /// What is not known comes last.
    pub(crate) fn sort(&mut self, column: usize, is_reversed: bool, rows: usize) {
        let order = |a: &Row, b: &Row| match (a.cells.get(column), b.cells.get(column)) {
            (Some(a), Some(b)) => a.order(b, is_reversed),
            _ => Ordering::Equal,
        };
        let end = rows.min(self.rows.len());
        let (first, others) = self.rows.split_at_mut(end);
        first.sort_by(order);
        others.sort_by(order);
    }

    fn line(&self, shown: &[usize], room: usize, text: impl Fn(usize, usize) -> String) -> String {
        let mut line = String::new();
        for (at, (column, width)) in shown.iter().zip(self.widths(shown, room)).enumerate() {
            let (text, is_number) = (text(*column, width), self.columns[*column].is_number);
            let is_last = at + 1 == shown.len();
            // A number is never cut: it would be another number.
            let text = match (is_number, is_last) {
                (true, _) => text,
                (false, true) => cut(&text, room.saturating_sub(line.width())),
                (false, false) => cut(&text, width),
            };
            let padding = " ".repeat(width.saturating_sub(text.width()));
            let (before, after) = if is_number { (&*padding, "") } else { ("", &*padding) };
            line.extend([before, &text, if is_last { "" } else { after }]);
            if !is_last {
                line.push_str(&" ".repeat(GAP));
            }
        }
        line.trim_end().to_owned()
    }

    /// Names of the columns, for CSV.
    pub(crate) fn csv_heading(&self) -> String {
        self.columns.iter().map(|column| column.name).collect::<Vec<_>>().join(",")
    }

    /// Rows, for CSV.
    pub(crate) fn csv_rows(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| row.cells.iter().map(Cell::csv).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid() -> Grid {
        Grid {
            columns: vec![word("name", 6, 0), number("r/s", 8, 0), number("%util", 6, 1), word("why", 4, 0)],
            rows: vec![Row {
                cells: vec![
                    Cell::text("nvme0n1p1"),
                    Cell::Number(12.5, 2),
                    Cell::Unknown,
                    Cell::text("a, \"b\" and more"),
                ],
                mark: Mark::Plain,
            }],
        }
    }

    #[test]
    fn columns_that_matter_least_go_first_and_texts_are_cut_with_a_mark() {
        let grid = grid();
        let all = grid.fitting(100);
        assert_eq!(all, [0, 1, 2, 3]);
        assert_eq!(grid.heading(&all, 100), "name        r/s  %util why");
        assert_eq!(grid.row(&grid.rows[0], &all, 100), "nvme0…    12.50      - a, \"b\" and more");
        assert_eq!(grid.row(&grid.rows[0], &all, 30), "nvme0…    12.50      - a, \"b\"…");
        assert_eq!(grid.fitting(24), [0, 1, 3]);
    }

    #[test]
    fn what_a_wide_line_leaves_goes_to_the_columns_that_may_be_wider() {
        let mut grid = grid();
        grid.columns[0] = word("name", 6, 0).up_to(10);
        let all = grid.fitting(100);
        assert_eq!(grid.row(&grid.rows[0], &all, 28), "nvme0n…    12.50      - a, …");
        assert_eq!(grid.row(&grid.rows[0], &all, 30), "nvme0n1p1    12.50      - a, …");
        let wide = "nvme0n1p1     12.50      - a, \"b\" and more";
        assert_eq!(grid.row(&grid.rows[0], &all, 60), wide, "no wider than its most");
        assert_eq!(grid.heading(&all, 60), "name            r/s  %util why");
    }

    #[test]
    fn columns_of_one_group_go_together_and_large_numbers_leave_decimals_out() {
        let mut grid = grid();
        grid.columns =
            vec![word("name", 4, 0), number("merged", 6, 3), number("r/s", 8, 0), number("%", 6, 3)];
        assert_eq!(grid.fitting(27), [0, 1, 2, 3]);
        assert_eq!(grid.fitting(26), [0, 2], "no half of a group");
        for (value, text) in [(99_999.994, "99999.99"), (999_999.9, "999999.9"), (1_150_000.4, "1150000")] {
            grid.rows[0].cells[2] = Cell::Number(value, 2);
            assert_eq!(grid.row(&grid.rows[0], &[2], 8), format!("{text:>8}"));
        }
    }

    #[test]
    fn csv_quotes_what_holds_commas_and_leaves_out_what_is_not_known() {
        let grid = grid();
        assert_eq!(grid.csv_heading(), "name,r/s,%util,why");
        let rows: Vec<String> = grid.csv_rows().collect();
        assert_eq!(rows, ["nvme0n1p1,12.500,,\"a, \"\"b\"\" and more\""]);
    }

    #[test]
    fn rows_are_sorted_by_a_column_those_that_matter_before_the_others() {
        let mut grid = grid();
        let row = |name: &str, rate: Cell| Row {
            cells: vec![Cell::text(name), rate, Cell::Unknown, Cell::Unknown],
            mark: Mark::Plain,
        };
        let rate = |value| Cell::Number(value, 0);
        let rows =
            vec![row("b", rate(1.0)), row("c", Cell::Unknown), row("a", rate(3.0)), row("d", rate(9.0))];
        for (column, is_reversed, expected) in
            [(1, false, "abcd"), (1, true, "bacd"), (0, false, "abcd"), (0, true, "cbad")]
        {
            grid.rows.clone_from(&rows);
            grid.sort(column, is_reversed, 3);
            let names: String = grid.rows.iter().map(|row| row.cells[0].shown(9)).collect();
            assert_eq!(names, expected, "{column} {is_reversed}");
        }
    }

    #[test]
    fn headings_have_the_places_they_are_written_at() {
        let grid = grid();
        for room in [24, 30, 100] {
            let shown = grid.fitting(room);
            let line = grid.heading(&shown, room);
            for (column, x, wide) in grid.places(&shown, room) {
                let cell: String = line.chars().skip(x).take(wide).collect();
                assert_eq!(cell.trim(), grid.columns[column].name, "{room}");
            }
        }
    }

    proptest! {
        #[test]
        fn lines_fit_where_numbers_do(text in "[a-z 中\",]{0,30}", value in 0.0f64..1e5, room in 24usize..80) {
            let mut grid = grid();
            grid.rows[0].cells = vec![
                Cell::text(&text), Cell::Number(value, 1), Cell::Count(value), Cell::text(&text),
            ];
            let shown = grid.fitting(room);
            prop_assert!(grid.row(&grid.rows[0], &shown, room).width() <= room);
        }
    }
}

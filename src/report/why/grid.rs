//! [`Grid`]: a table for rows that follow each other, whose widths do not depend on them, for the screen, where they may, and for CSV.

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
    /// Whether [`Grid::lines`] breaks its texts; the last column alone.
    pub(crate) is_stack: bool,
    /// Where there is no room, all columns with the highest value go first; 0 stays.
    pub(crate) drop: u8,
}

pub(crate) const fn number(name: &'static str, width: usize, drop: u8) -> Col {
    Col { name, width, most: width, is_number: true, is_stack: false, drop }
}

pub(crate) const fn word(name: &'static str, width: usize, drop: u8) -> Col {
    Col { name, width, most: width, is_number: false, is_stack: false, drop }
}

/// A column of `a <- b <- c`.
pub(crate) const fn stack(name: &'static str, width: usize) -> Col {
    Col { is_stack: true, ..word(name, width, 0) }
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
    /// Names of drives; `nvme0n1 and 3 more` or `4 drives` where they have no room.
    Drives(Vec<String>),
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

/// Cells of a line that no terminal shows: it has whole texts, the longest beyond their columns.
pub(crate) const ENDLESS: usize = usize::MAX;

/// Cells between columns.
const GAP: usize = 1;

/// A column's place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its index among the grid's.
    pub(crate) column: usize,
    /// Its first cell.
    pub(crate) x: usize,
    pub(crate) cells: usize,
}

/// The columns that a line of `room` cells shows.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) places: Vec<Place>,
    room: usize,
}

impl Layout {
    fn new(shown: &[usize], widths: &[usize], room: usize) -> Self {
        let mut x = 0;
        let place = |(column, cells): (&usize, &usize)| {
            let place = Place { column: *column, x, cells: *cells };
            x = x.saturating_add(*cells).saturating_add(GAP);
            place
        };
        Self { places: shown.iter().zip(widths).map(place).collect(), room }
    }
}

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
            (Self::Drives(a), Self::Drives(b)) => turned(a.cmp(b)),
            (Self::Number(a, _) | Self::Count(a), Self::Number(b, _) | Self::Count(b)) => {
                turned(b.total_cmp(a))
            }
            (Self::Text(_), _) | (Self::Drives(_), Self::Number(..) | Self::Count(_)) => Ordering::Greater,
            (_, Self::Text(_)) | (Self::Number(..) | Self::Count(_), Self::Drives(_)) => Ordering::Less,
        }
    }

    /// In so many cells; a number that needs more has fewer decimals.
    fn shown(&self, width: usize) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Drives(names) => {
                let forms = Self::forms(names);
                let fits = forms.iter().find(|form| form.width() <= width);
                fits.or(forms.last()).cloned().unwrap_or_default()
            }
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

    /// Names of drives, the longest form first.
    fn forms(names: &[String]) -> Vec<String> {
        let all = names.join(" ");
        match names {
            [] | [_] => vec![all],
            [first, others @ ..] => {
                vec![all, format!("{first} and {} more", others.len()), units::counted(names.len(), "drive")]
            }
        }
    }

    /// Cells that show all of it, or of several drives the first and the number of others.
    fn need(&self, is_short: bool) -> usize {
        match self {
            Self::Drives(names) => {
                let forms = Self::forms(names);
                let widths = forms.iter().take(1 + usize::from(is_short)).map(|form| form.width());
                widths.min().unwrap_or_default()
            }
            _ => self.shown(usize::MAX).width(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Self::Drives(names) => names.join(" "),
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
        self.fitting_of(room, |at| self.columns[at].width)
    }

    /// The same, where a column takes as many cells as `cells` says.
    fn fitting_of(&self, room: usize, cells: impl Fn(usize) -> usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let wide = |shown: &[usize]| shown.iter().map(|at| cells(*at) + GAP).sum::<usize>();
        while wide(&shown) > room.saturating_add(GAP)
            && let Some(drop) = shown.iter().map(|at| self.columns[*at].drop).max().filter(|drop| *drop > 0)
        {
            shown.retain(|at| self.columns[*at].drop != drop);
        }
        shown
    }

    /// The columns that fit into `room` cells, each as wide as its heading says, whatever the rows hold: rows that follow each other
    /// stay below their heading.
    pub(crate) fn layout(&self, room: usize) -> Layout {
        let shown = self.fitting(room);
        let widths = self.widths(&shown, room);
        Layout::new(&shown, &widths, room)
    }

    /// The cells that a column's heading and rows need.
    fn need(&self, column: usize, is_short: bool) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        let needs = cells.map(|cell| cell.need(is_short));
        needs.chain([self.columns[column].name.width()]).max().unwrap_or_default()
    }

    /// The columns of a table that is drawn as a whole: one that needs less than its width leaves the rest to others, first to one that
    /// would be left out, then to texts that would be cut.
    pub(crate) fn layout_by_need(&self, room: usize) -> Layout {
        let least: Vec<usize> = (self.columns.iter().enumerate())
            .map(|(at, column)| column.width.min(self.need(at, true)))
            .collect();
        let shown = self.fitting_of(room, |at| least[at]);
        let mut widths = self.widths(&shown, room);
        let used = widths.iter().sum::<usize>() + shown.len().saturating_sub(1) * GAP;
        let (mut free, mut over) = (room.saturating_sub(used), used.saturating_sub(room));
        let needs = |is_short| shown.iter().map(|at| self.need(*at, is_short)).collect::<Vec<usize>>();
        let lack = |needs: &[usize]| {
            widths.iter().zip(needs).map(|(has, need)| need.saturating_sub(*has)).sum::<usize>()
        };
        let spare = |needs: &[usize]| {
            widths.iter().zip(needs).map(|(has, need)| has.saturating_sub(*need)).sum::<usize>()
        };
        let whole = needs(false);
        let needs = if lack(&whole) + over <= spare(&whole) + free { whole } else { needs(true) };
        let take = |widths: &mut Vec<usize>| {
            let spare = |at: &usize| widths[*at].saturating_sub(needs[*at]);
            let most = (0..widths.len()).filter(|at| spare(at) > 0).max_by_key(spare);
            most.map(|at| widths[at] -= 1)
        };
        while over > 0 && take(&mut widths).is_some() {
            over -= 1;
        }
        // As many columns as possible are whole.
        let mut lacking: Vec<usize> = (0..shown.len()).filter(|at| needs[*at] > widths[*at]).collect();
        lacking.sort_by_key(|at| needs[*at] - widths[*at]);
        for at in lacking {
            while widths[at] < needs[at] {
                if free > 0 {
                    free -= 1;
                } else if take(&mut widths).is_none() {
                    break;
                }
                widths[at] += 1;
            }
        }
        Layout::new(&shown, &widths, room)
    }

    /// The heading of these columns.
    pub(crate) fn heading(&self, layout: &Layout) -> String {
        self.line(layout, |at, _| self.columns[at].name.to_owned())
    }

    /// A row of these columns; the last column takes what is left.
    pub(crate) fn row(&self, row: &Row, layout: &Layout) -> String {
        self.line(layout, |at, width| row.cells.get(at).map_or_else(String::new, |cell| cell.shown(width)))
    }

    /// A row of these columns with all functions of its stack: what the last column has no room for goes in lines below it.
    pub(crate) fn lines(&self, row: &Row, layout: &Layout) -> Vec<String> {
        let last = layout.places.last().filter(|place| self.columns[place.column].is_stack);
        let (Some(place), true) = (last, layout.room != ENDLESS) else { return vec![self.row(row, layout)] };
        let Some(Cell::Text(text)) = row.cells.get(place.column) else { return vec![self.row(row, layout)] };
        let mut parts = functions(text, place.cells).into_iter();
        let first = Cell::Text(parts.next().unwrap_or_default());
        let line = self.line(layout, |at, width| match row.cells.get(at) {
            Some(_) if at == place.column => first.shown(width),
            cell => cell.map_or_else(String::new, |cell| cell.shown(width)),
        });
        let others = parts.map(|part| " ".repeat(place.x) + &cut(&part, place.cells));
        std::iter::once(line).chain(others).collect()
    }

    /// Widths of these columns: what `room` leaves goes in equal parts to those that may be wider.
    fn widths(&self, shown: &[usize], room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = shown.iter().map(|at| self.columns[*at].width).collect();
        let gaps = shown.len().saturating_sub(1) * GAP;
        let mut left = room.saturating_sub(widths.iter().sum::<usize>() + gaps);
        let last = shown.len().saturating_sub(1);
        let is_open = |at: usize| at == last && !self.columns[shown[at]].is_number;
        while left > 0 {
            let narrow: Vec<usize> = (0..shown.len())
                .filter(|at| !is_open(*at) && widths[*at] < self.columns[shown[*at]].most)
                .collect();
            if narrow.is_empty() {
                break;
            }
            for at in narrow.into_iter().take(left) {
                widths[at] += 1;
                left -= 1;
            }
        }
        // The last word has all that is left.
        if let Some(width) = widths.last_mut().filter(|_| is_open(last)) {
            *width += left;
        }
        widths
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

    fn line(&self, layout: &Layout, text: impl Fn(usize, usize) -> String) -> String {
        let mut line = String::new();
        for (at, Place { column, cells, .. }) in layout.places.iter().enumerate() {
            let is_number = self.columns[*column].is_number;
            let is_last = at + 1 == layout.places.len();
            let room = if is_last && !is_number { layout.room.saturating_sub(line.width()) } else { *cells };
            let text = text(*column, room);
            // A number is never cut: it would be another number.
            let is_whole = is_number || layout.room == ENDLESS;
            let text = if is_whole { text } else { cut(&text, room) };
            // The last word may have all cells of a line without an end.
            let blanks = if is_last && !is_number { 0 } else { cells.saturating_sub(text.width()) };
            let padding = " ".repeat(blanks);
            line.extend(if is_number { [padding, text] } else { [text, padding] });
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

/// A stack in lines of at most `width` cells, as far as functions allow.
fn functions(stack: &str, width: usize) -> Vec<String> {
    const CALLED_BY: &str = " <-";
    let mut lines: Vec<String> = Vec::new();
    let mut functions = stack.split(" <- ").peekable();
    while let Some(function) = functions.next() {
        let end = if functions.peek().is_some() { CALLED_BY } else { "" };
        match lines.last_mut() {
            Some(line) if line.width() + 1 + function.width() + end.len() <= width => {
                line.extend([" ", function, end]);
            }
            _ => lines.push(format!("{function}{end}")),
        }
    }
    lines
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
        assert_eq!(grid.fitting(100), [0, 1, 2, 3]);
        assert_eq!(grid.heading(&grid.layout(100)), "name        r/s  %util why");
        assert_eq!(grid.row(&grid.rows[0], &grid.layout(100)), "nvme0…    12.50      - a, \"b\" and more");
        assert_eq!(grid.row(&grid.rows[0], &grid.layout(30)), "nvme0…    12.50      - a, \"b\"…");
        assert_eq!(grid.fitting(24), [0, 1, 3]);
    }

    #[test]
    fn what_a_wide_line_leaves_goes_to_the_columns_that_may_be_wider() {
        let mut grid = grid();
        grid.columns[0] = word("name", 6, 0).up_to(10);
        assert_eq!(grid.row(&grid.rows[0], &grid.layout(28)), "nvme0n…    12.50      - a, …");
        assert_eq!(grid.row(&grid.rows[0], &grid.layout(30)), "nvme0n1p1    12.50      - a, …");
        let wide = "nvme0n1p1     12.50      - a, \"b\" and more";
        assert_eq!(grid.row(&grid.rows[0], &grid.layout(60)), wide, "no wider than its most");
        assert_eq!(grid.heading(&grid.layout(60)), "name            r/s  %util why");
    }

    #[test]
    fn a_column_that_would_be_cut_has_the_cells_that_others_do_not_need() {
        let row = |command: &str, wchan: &str| Row {
            cells: vec![Cell::Number(0.5, 2), Cell::text(command), Cell::text(wchan)],
            mark: Mark::Plain,
        };
        let mut grid = Grid {
            columns: vec![number("threads", 7, 0), word("command", 18, 0).up_to(30), word("wchan", 20, 0)],
            rows: vec![row("dd", "folio_wait_bit_common"), row("rustc", "blk_mq_freeze_queue_wait")],
        };
        let shown = |grid: &Grid, at: usize, room| grid.row(&grid.rows[at], &grid.layout_by_need(room));
        assert_eq!(
            grid.row(&grid.rows[1], &grid.layout(47)),
            "   0.50 rustc              blk_mq_freeze_queue…"
        );
        assert_eq!(shown(&grid, 1, 47), "   0.50 rustc          blk_mq_freeze_queue_wait");
        let usual = grid.layout(90);
        assert_eq!(grid.layout_by_need(90).places, usual.places, "where nothing is cut, places stay");
        grid.rows.push(row("[kworker/u*:*+iou_exit]", "-"));
        assert_eq!(shown(&grid, 2, 56), "   0.50 [kworker/u*:*+iou_exit] -");
        assert_eq!(shown(&grid, 1, 56), "   0.50 rustc                   blk_mq_freeze_queue_wait");
        assert_eq!(
            shown(&grid, 2, 52),
            "   0.50 [kworker/u*:*+iou_exit] -",
            "what lacks least is whole first"
        );
        assert_eq!(shown(&grid, 1, 52), "   0.50 rustc                   blk_mq_freeze_queue…");
    }

    #[test]
    fn a_column_goes_only_where_the_others_need_its_cells() {
        let mut grid = grid();
        grid.rows[0].cells[0] = Cell::text("sda");
        // 6 + 8 + 6 + 4 cells and three gaps are 27; these rows need 4, 5, 5 and 4 of them.
        let names = |grid: &Grid, room| grid.heading(&grid.layout_by_need(room));
        assert_eq!(names(&grid, 23), "name   r/s %util why", "all four");
        grid.rows[0].cells[1] = Cell::Number(123_456.75, 2);
        assert!(!names(&grid, 23).contains("%util"), "{}", names(&grid, 23));
    }

    #[test]
    fn what_a_line_has_no_room_for_of_a_stack_goes_below_it() {
        let grid = Grid {
            columns: vec![word("command", 8, 0), stack("kernel stack", 12)],
            rows: vec![Row {
                cells: vec![Cell::text("dd"), Cell::text("schedule <- io_schedule <- vfs_read")],
                mark: Mark::Plain,
            }],
        };
        let lines = |room| grid.lines(&grid.rows[0], &grid.layout(room));
        assert_eq!(lines(26), ["dd       schedule <-", "         io_schedule <-", "         vfs_read"]);
        assert_eq!(lines(40), ["dd       schedule <- io_schedule <-", "         vfs_read"]);
        assert_eq!(lines(ENDLESS), ["dd       schedule <- io_schedule <- vfs_read"]);
    }

    #[test]
    fn drives_have_all_their_names_or_a_count_in_words() {
        let names = ["nvme0n1", "nvme1n1", "nvme10n1"].map(str::to_owned).to_vec();
        let row = |names| Row { cells: vec![Cell::text("dd"), Cell::Drives(names)], mark: Mark::Plain };
        let grid = Grid {
            columns: vec![word("command", 16, 0), word("drives", 9, 0)],
            rows: vec![row(names), row(vec!["vda".to_owned()])],
        };
        let shown = |room| grid.row(&grid.rows[0], &grid.layout_by_need(room));
        assert_eq!(shown(60), "dd               nvme0n1 nvme1n1 nvme10n1");
        assert_eq!(shown(32), "dd      nvme0n1 nvme1n1 nvme10n1");
        assert_eq!(shown(31), "dd           nvme0n1 and 2 more");
        assert_eq!(shown(26), "dd      nvme0n1 and 2 more");
        assert_eq!(shown(25), "dd      3 drives");
        assert_eq!(grid.row(&grid.rows[1], &grid.layout(26)), "dd               vda");
        let endless = [grid.layout(usize::MAX), grid.layout_by_need(usize::MAX)];
        for layout in endless {
            assert_eq!(grid.row(&grid.rows[1], &layout), "dd               vda", "output to a file");
        }
        assert_eq!(grid.csv_rows().next().unwrap(), "dd,nvme0n1 nvme1n1 nvme10n1");
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
            assert_eq!(grid.row(&grid.rows[0], &Layout::new(&[2], &[8], 8)), format!("{text:>8}"));
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
            for layout in [grid.layout(room), grid.layout_by_need(room)] {
                let line = grid.heading(&layout);
                for Place { column, x, cells } in layout.places {
                    let cell: String = line.chars().skip(x).take(cells).collect();
                    assert_eq!(cell.trim(), grid.columns[column].name, "{room}");
                }
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
            for layout in [grid.layout(room), grid.layout_by_need(room)] {
                prop_assert!(grid.row(&grid.rows[0], &layout).width() <= room);
            }
        }
    }
}

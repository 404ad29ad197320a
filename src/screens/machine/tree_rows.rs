//! The tree: a row per place with its marks and name, and the columns that fit.

use ratatui::layout::Rect;

use super::{
    Areas, Tree,
    columns::{
        Cell, Column, FORMS, FormNames, LINK_LEAD, Room, column, link_beside_slot, link_in_form,
        words_left_out,
    },
    figures::{AT_LEAST, Figures, UNCOUNTED, UNCOUNTED_IN_SHORT},
    finding::search_text,
    row_name::RowNames,
};
use crate::{
    capacity::link_state,
    model::NodeIndex,
    report::flatten::{Row, RowKind, Sort},
    screens::widgets::{
        bottleneck_panel::FULL_MARK,
        findings,
        paint::{Brush, Piece, cells, cut, fit, piece, width, write_fitting},
        scroll::{self, out_of_sight},
        words::is_small,
    },
    ui::{Shared, load::Flow, theme::Meaning},
};

/// Cells before a name: the cursor, the mark for tests, the mark of a finding.
const GUTTER: u16 = 4;

/// The column of links, whose texts may begin further left.
const LINK: &str = "link";

/// Cells of a row that a long link leaves to its name.
const LEAST_NAME: u16 = 22;

/// A column with where it stands, from the left edge of the rows.
struct Placed {
    column: &'static Column,
    x: u16,
    width: u16,
}

/// Where a row's link begins, from the left edge of the rows: behind the place of its mark. A longer one begins further left, as far
/// as the `columns` behind it are not blank. One that would cut a name of `needed` cells makes room by the `blanks` behind it, where
/// those are enough.
fn link_start(usual: u16, link: &str, (columns, blanks): (u16, u16), needed: u16) -> u16 {
    let start = usual.min(columns.saturating_sub(cells(link))).max(LEAST_NAME.min(usual));
    if (start + 1..=blanks.saturating_sub(cells(link))).contains(&needed) { needed } else { start }
}

/// The columns that rows of this width have, on their right.
fn placed(state: &Tree, width: u16) -> Vec<Placed> {
    let (room, columns) = state.choice.fitted(Room { rows: width, ..state.room });
    let taken: u16 = columns.iter().map(|column| (column.width)(room) + 1).sum();
    let mut x = width.saturating_sub(taken);
    let place = |column: &'static Column| {
        let own = (column.width)(room);
        let placed = Placed { column, x: x + 1, width: own };
        x += own + 1;
        placed
    };
    columns.into_iter().map(place).collect()
}

/// The column whose heading is at `x`.
pub(super) fn column_at(state: &Tree, areas: &Areas, x: u16) -> Option<&'static str> {
    let x = x.checked_sub(areas.head.x)?;
    let columns = placed(state, areas.rows.width);
    columns.iter().find(|at| (at.x..at.x + at.width).contains(&x)).map(|at| at.column.name)
}

pub(super) fn draw(state: &Tree, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let area = areas.rows;
    let columns = placed(state, area.width);
    // Without a box the headings stand in the same row.
    let room = if brush.boxed {
        area.width
    } else {
        columns.first().map_or(area.width, |first| first.x.saturating_sub(2))
    };
    let hidden = out_of_sight(state.top, state.rows.len(), areas.rows.height);
    // The mark of hidden rows lies over the end of the title.
    let free = room.saturating_sub(if hidden == (0, 0) { 0 } else { HIDDEN_MARK });
    brush.panel(areas.tree, &cut(&title(state, shared, (room, free)), room), &[]);
    heading(state, brush, areas.head, &columns);
    let names = RowNames::new(shared);
    let searched = state.searched();
    let shown = state.rows.iter().enumerate().skip(state.top).take(usize::from(area.height));
    for (y, (index, row)) in (area.y..).zip(shown) {
        let painter = RowPainter { shared, row, columns: &columns, area, y, names: &names };
        painter.draw(brush, index == state.selected, &searched);
    }
    scroll::mark(brush, areas.tree, scroll::ROWS, hidden);
}

/// What the letters behind smaller rates stand for, where a row has one.
fn letters(shared: &Shared) -> Option<String> {
    let flows = || shared.machine.drives.iter().filter_map(|drive| shared.load.drive(&drive.name));
    let is_small =
        |flow: Flow| [flow.read.bytes, flow.write.bytes].iter().any(|bytes| is_small(shared.units, *bytes));
    let unit = shared.units.giga_per_second();
    let letters = || format!("; M {}, k {}", unit.replacen('G', "M", 1), shared.units.kilo_per_second());
    flows().any(is_small).then(letters)
}

/// Cells of ` ↑ 12 ↓ 345 `.
const HIDDEN_MARK: u16 = 13;

/// The title in `room` cells, of which `free` are not covered by the mark of hidden rows: there a find keeps its count.
fn title(state: &Tree, shared: &Shared, (room, free): (u16, u16)) -> Vec<Piece> {
    let order = state.order();
    let is_found = state.is_kept && state.find.is_none();
    let what = |room| what(state, order, room);
    let tree = state.keys_to_tree();
    let tree = tree.map(|keys| piece(shared.keys.fill(&format!("  {keys}: tree")), Meaning::Key));
    let giga = shared.units.giga_per_second();
    let unit = piece(format!("  {giga}"), Meaning::Quiet);
    let has_find = state.find.is_some() || state.is_kept;
    let letters = letters(shared)
        .filter(|_| !has_find)
        .map(|letters| piece(format!("  {giga}{letters}"), Meaning::Quiet));
    let whats = [what(room), what(0)];
    let titles = |unit: &Piece| {
        let keyed = whats
            .iter()
            .map(|what| [std::slice::from_ref(what), tree.as_slice(), std::slice::from_ref(unit)].concat());
        let plain = whats.iter().map(|what| vec![what.clone(), unit.clone()]);
        keyed.chain(plain).collect::<Vec<_>>()
    };
    // No other place explains the letters; the palette has the keys, too.
    let ways: Vec<Vec<Piece>> = letters.iter().chain([&unit]).flat_map(titles).collect();
    let fitting = ways.iter().find(|way| width(way) <= free).or(ways.last());
    let mut whole = fitting.cloned().unwrap_or_default();
    if is_found {
        let found = found(state, shared);
        let brief = [what(0)];
        let ways = [
            [&whole[..], &found].concat(),
            [&brief[..], &found].concat(),
            [&brief[..], &found[..1]].concat(),
        ];
        let fitting = ways.into_iter().find(|way| width(way) <= free);
        whole = fitting.unwrap_or_else(|| found[..1].to_vec());
    }
    if !shared.marks.is_empty() {
        whole.push(piece(format!("  ● {} marked", shared.marks.len()), Meaning::Marked));
    }
    whole
}

/// What the rows are and how they are sorted.
fn what(state: &Tree, order: Sort, room: u16) -> Piece {
    let what = match order {
        Sort::Bus => "PCIe tree".to_owned(),
        Sort::Column(name) if room < 60 => format!("Sorted by {name}"),
        Sort::Reversed(name) if room < 60 => format!("Sorted by {name}, reversed"),
        order if room < 60 => format!("Sorted {}", order.name()),
        _ if state.everything => format!("All drives and devices {}", order.name()),
        _ => format!("Drives and devices {}", order.name()),
    };
    piece(what, Meaning::Heading)
}

/// The keys of a find that is kept.
const WAYS: &str = "  {next drive} next, {previous drive} previous, {back} ends it";

/// The find that is kept with the count of its matches, and its keys.
fn found(state: &Tree, shared: &Shared) -> Vec<Piece> {
    let (place, keys) = match state.matches {
        (_, 0) => ("no match (0)".to_owned(), "  {back} ends it"),
        (0, all) => (format!("{all} found"), WAYS),
        (at, all) => (format!("{at} of {all}"), WAYS),
    };
    let find = piece(format!("  find {}: {place}", fit(&state.found, 16)), Meaning::Figure);
    vec![find, piece(shared.keys.fill(keys), Meaning::Key)]
}

fn heading(state: &Tree, brush: &mut Brush<'_>, head: Rect, columns: &[Placed]) {
    for Placed { column, x, width } in columns {
        let is_sorted = state.order().column() == Some(column.name);
        let meaning = if is_sorted { Meaning::Brand } else { Meaning::Quiet };
        let (x, wide) = (head.x + x, usize::from(*width));
        let text = match column.name {
            // Each half has its own word, as long as it fits.
            "load" => {
                let half = usize::from(width / 2);
                format!("{:<half$} {:<half$}", "rd", "wr")
            }
            "link" | "slot" | "minute" => format!("{:<wide$}", fit(column.heading, *width)),
            _ => format!("{:>wide$}", column.heading),
        };
        // Without a box the headings stand in the rule at the top.
        let (lead, text) = if brush.boxed {
            (x, text)
        } else {
            let blanks = text.len() - text.trim_start().len();
            let lead = u16::try_from(blanks).unwrap_or(0);
            (x + lead - 1, format!(" {} ", text.trim()))
        };
        let end = head.right() + u16::from(!brush.boxed);
        brush.text(lead, head.y, end.saturating_sub(lead), &text, meaning);
    }
}

/// Where a row's name ends, the gap behind it included, from the left edge of the rows.
fn name_end(row: &Row, name: &[Piece]) -> u16 {
    GUTTER + cells(&row.guides) + width(name) + 1
}

/// The cells that names of drives need in these rows, in each form.
pub(super) fn names<'a>(shared: &Shared, rows: impl Iterator<Item = &'a Figures<'a>>) -> FormNames {
    let (mut needed, names) = (FormNames::default(), RowNames::new(shared));
    for figures in rows {
        let is_software = || figures.drive().is_some_and(|drive| drive.kind.is_software());
        if !figures.row.is_drive() || is_software() {
            continue;
        }
        let link = column(LINK).map(|column| (column.cell)(figures));
        for (form, needed) in needed.0.iter_mut().enumerate() {
            let end = name_end(figures.row, &names.of(figures.row, words_left_out(form)));
            match &link {
                Some(Cell::Text(mark, text, _)) => needed.add(end, Some((*mark, link_in_form(text, form)))),
                _ => needed.add(end, None),
            }
        }
    }
    needed
}

/// Where a cell begins: the mark of a sum that lacks drives may take the gap before its column.
fn start_of(placed: &Placed, cell: &Cell) -> u16 {
    let is_longer = |text: &str| text.starts_with(AT_LEAST) && cells(text) > placed.width;
    placed.x - u16::from(matches!(cell, Cell::Figure(text, _) if is_longer(text)))
}

/// The text of the link among cells.
fn link_of<'a>(shown: &'a mut [(&Placed, Cell)]) -> Option<&'a mut String> {
    shown.iter_mut().find_map(|(placed, cell)| match cell {
        Cell::Text(_, text, _) if placed.column.name == LINK => Some(text),
        _ => None,
    })
}

struct RowPainter<'a> {
    shared: &'a Shared,
    row: &'a Row,
    columns: &'a [Placed],
    area: Rect,
    y: u16,
    names: &'a RowNames<'a>,
}

/// Forms of the row of another device: its name may lose more words.
const DEVICE_FORMS: usize = FORMS + 4;

/// What a row shows.
struct Shown<'a> {
    name: Vec<Piece>,
    cells: Vec<(&'a Placed, Cell)>,
    /// The place of the link.
    link: std::ops::Range<u16>,
    /// Where the first cell begins.
    end: u16,
}

impl RowPainter<'_> {
    fn draw(&self, brush: &mut Brush<'_>, selected: bool, searched: &str) {
        self.gutter(brush, selected);
        let figures = Figures::new(self.shared, self.row);
        let Shown { name, cells: shown, link, end } = self.fitting(&figures);
        let start = self.area.x + GUTTER;
        let first = brush.text(start, self.y, end.saturating_sub(GUTTER), &self.row.guides, Meaning::Lines);
        let room = (self.area.x + end).saturating_sub(first + 1);
        let x = write_fitting(brush, first, self.y, room, &name);
        let found = !searched.is_empty() && search_text(&self.shared.machine, self.row).contains(searched);
        let name = Rect { x: first, y: self.y, width: x - first, height: 1 };
        if selected {
            brush.shade(name, Meaning::Selected);
        } else if found {
            brush.shade(name, Meaning::Field);
        }
        if end < self.area.width {
            findings::leader(brush, x, self.area.x + end, self.y);
        }
        if let Some(place) = self.of_reason(&figures, &shown) {
            let text = if place.len() < UNCOUNTED.len() { UNCOUNTED_IN_SHORT } else { UNCOUNTED };
            let (x, room) = (self.area.x + place.start, place.end - place.start);
            brush.text(x, self.y, room, &fit(text, room), Meaning::Quiet);
        }
        for (placed, cell) in shown {
            self.cell(brush, &figures, (placed, &link), cell);
        }
    }

    /// The place of the reason why a row has no rates: from the first column that counters fill up to the next cell.
    fn of_reason(&self, figures: &Figures<'_>, shown: &[(&Placed, Cell)]) -> Option<std::ops::Range<u16>> {
        let first = shown.iter().find(|(placed, _)| placed.column.is_counted)?.0.x;
        let next = shown.iter().find(|(placed, cell)| placed.x > first && *cell != Cell::Blank);
        let end = next.map_or(self.area.width, |(placed, cell)| start_of(placed, cell) - 1);
        let has_room = usize::from(end - first) >= UNCOUNTED_IN_SHORT.len();
        figures.uncounted().filter(|_| has_room).map(|_| first..end)
    }

    /// Name and cells in the first form that leaves the name whole, or in the first of all.
    fn fitting(&self, figures: &Figures<'_>) -> Shown<'_> {
        let cells: Vec<(&Placed, Cell)> =
            self.columns.iter().map(|placed| (placed, (placed.column.cell)(figures))).collect();
        let shown = |form: usize| {
            let mut cells = cells.clone();
            for (placed, cell) in &mut cells {
                if let (LINK, Cell::Text(_, text, _)) = (placed.column.name, cell) {
                    *text = link_in_form(text, form).to_owned();
                }
            }
            let name = self.names.of(self.row, words_left_out(form));
            let cells = self.beside_slot(figures, cells, name_end(self.row, &name));
            self.arranged(figures, name, cells)
        };
        let is_whole = |one: &Shown<'_>| name_end(self.row, &one.name) <= one.end;
        let whole = shown(0);
        if self.row.is_drive() {
            return if is_whole(&whole) {
                whole
            } else {
                (1..FORMS).map(shown).find(is_whole).unwrap_or(whole)
            };
        }
        self.with_whole_link(figures, &cells).unwrap_or_else(|| {
            if is_whole(&whole) {
                whole
            } else {
                (1..DEVICE_FORMS).map(shown).find(is_whole).unwrap_or(whole)
            }
        })
    }

    /// Where name and link stand beside these cells.
    fn arranged<'a>(
        &self,
        figures: &Figures<'_>,
        name: Vec<Piece>,
        cells: Vec<(&'a Placed, Cell)>,
    ) -> Shown<'a> {
        let link = self.link(figures, &cells, name_end(self.row, &name));
        // A row without a link uses that column for its name.
        let end = cells.iter().find(|(_, cell)| *cell != Cell::Blank);
        let end = end.map_or(self.area.width, |(at, cell)| match cell {
            // The mark's place is the name's where the link has none.
            Cell::Text(mark, ..) if at.column.name == LINK => {
                link.start - if mark.is_some() { LINK_LEAD } else { 0 }
            }
            _ => start_of(at, cell),
        });
        let end = self.of_reason(figures, &cells).map_or(end, |place| place.start.min(end));
        Shown { name, cells, link, end }
    }

    /// The link of a device with what it could be, beside a name that loses words, and is cut where that is not enough; `None` where
    /// there is no room for both.
    fn with_whole_link<'a>(&self, figures: &Figures<'_>, shown: &[(&'a Placed, Cell)]) -> Option<Shown<'a>> {
        let mut shown = shown.to_vec();
        let text = link_of(&mut shown)?;
        if let Some(longer) = link_beside_slot(figures) {
            *text = longer;
        }
        let length = cells(text);
        if link_in_form(text, 1) == text {
            return None;
        }
        let form = |left_out| self.arranged(figures, self.names.of(self.row, left_out), shown.clone());
        let has_link = |one: &Shown<'_>| one.link.len() >= usize::from(length);
        let is_whole = |one: &Shown<'_>| name_end(self.row, &one.name) <= one.end && has_link(one);
        // The name of a port ends with the count of its drives, which stays.
        let cut = || Some(form(0)).filter(|one| self.row.drives.is_empty() && has_link(one));
        (0..DEVICE_FORMS).map(form).find(is_whole).or_else(cut)
    }

    /// The cells with the link beside what its device could do in another slot, where the name stays whole all the same.
    fn beside_slot<'a>(
        &self,
        figures: &Figures<'_>,
        shown: Vec<(&'a Placed, Cell)>,
        needed: u16,
    ) -> Vec<(&'a Placed, Cell)> {
        let Some(longer) = link_beside_slot(figures) else { return shown };
        let (length, mut beside) = (cells(&longer), shown.clone());
        let Some(text) = link_of(&mut beside) else { return shown };
        *text = longer;
        let place = self.link(figures, &beside, needed);
        let is_whole = place.start >= needed + LINK_LEAD && place.start + length <= place.end;
        if is_whole { beside } else { shown }
    }

    /// The place of the row's link beside a name that needs its cells up to `needed`.
    fn link(&self, figures: &Figures<'_>, shown: &[(&Placed, Cell)], needed: u16) -> std::ops::Range<u16> {
        let mut rest = shown.iter().skip_while(|(placed, _)| placed.column.name != LINK);
        let Some((placed, Cell::Text(mark, text, _))) = rest.next() else { return 0..0 };
        let next = rest.find(|(_, cell)| *cell != Cell::Blank);
        let columns = next.map_or(self.area.width, |(next, cell)| start_of(next, cell) - 1);
        let blanks = next.map_or(self.area.width, |(next, cell)| match cell {
            Cell::Figure(text, _) => (start_of(next, cell) + next.width.saturating_sub(cells(text))) - 1,
            _ => next.x - 1,
        });
        let reason = self.of_reason(figures, shown).map_or(self.area.width, |place| place.start - 1);
        let (columns, blanks) = (columns.min(reason), blanks.min(reason));
        let lead = if mark.is_some() { LINK_LEAD } else { 0 };
        let start = link_start(placed.x + LINK_LEAD, text, (columns, blanks), needed + lead);
        start..blanks.max(start)
    }

    fn cell(
        &self,
        brush: &mut Brush<'_>,
        figures: &Figures<'_>,
        (placed, link): (&Placed, &std::ops::Range<u16>),
        cell: Cell,
    ) {
        let (x, y, width) = (self.area.x + placed.x, self.y, placed.width);
        match cell {
            Cell::Blank => {}
            Cell::Figure(ref text, meaning) => {
                let x = self.area.x + start_of(placed, &cell);
                let width = self.area.x + placed.x + width - x;
                let text = fit(text, width);
                brush.text(x + width - cells(&text).min(width), y, width, &text, meaning);
            }
            Cell::Text(mark, text, meaning) => {
                let (x, width) = if placed.column.name == LINK {
                    (self.area.x + link.start, link.end - link.start)
                } else {
                    (x, width)
                };
                if let Some(mark) = mark {
                    brush.text(x.saturating_sub(LINK_LEAD), y, 1, &mark.to_string(), meaning);
                }
                brush.text(x, y, width, &fit(&text, width), meaning);
            }
            Cell::Bars([(read, reads), (write, writes)]) => {
                let half = width / 2;
                brush.bar(x, y, half, read, reads);
                brush.bar(x + width - half, y, half, write, writes);
            }
            Cell::Minute => {
                let parts = self.shared.load.last_minute(&figures.counted, usize::from(width));
                sparkline(brush, x, y, &parts);
            }
        }
    }

    fn gutter(&self, brush: &mut Brush<'_>, selected: bool) {
        if selected {
            brush.text(self.area.x, self.y, 1, "›", Meaning::Brand);
        }
        if let Some((mark, meaning)) = self.finding_mark() {
            brush.text(self.area.x + 2, self.y, 1, mark, meaning);
        }
        let marks = &self.shared.marks;
        let marked = self.row.drives.iter().filter(|drive| marks.contains(*drive)).count();
        let mark = match marked {
            0 => return,
            n if n == self.row.drives.len() => "●",
            _ => "○",
        };
        brush.text(self.area.x + 1, self.y, 1, mark, Meaning::Marked);
    }

    /// The mark of the worst finding at the places that this row stands for, or of one that holds the drives below it back.
    fn finding_mark(&self) -> Option<(&'static str, Meaning)> {
        let places = self.places();
        let worst = places.iter().filter_map(|node| self.shared.findings.marked.get(node)).max();
        let holds_back = self.shared.bottlenecks.iter().any(|bottleneck| places.contains(&bottleneck.node));
        let full = || holds_back.then_some((FULL_MARK, Meaning::Warning));
        worst.map(|severity| findings::mark(*severity)).or_else(full)
    }

    /// Its chain of bridges; where rows below it are folded away, their places too.
    fn places(&self) -> Vec<NodeIndex> {
        let (machine, row) = (&self.shared.machine, self.row);
        let tree = &machine.pci;
        match (&row.kind, row.open) {
            (RowKind::Folded { nodes, .. }, Some(false)) => nodes.clone(),
            (RowKind::Alike, Some(false)) => {
                let drives = row.drives.iter().filter_map(|name| machine.drive(name));
                drives.flat_map(|drive| machine.functions_of(drive)).collect()
            }
            (RowKind::Root | RowKind::Port | RowKind::Device, Some(false)) => {
                row.head.or(row.node).map(|top| tree.subtree(top)).unwrap_or_default()
            }
            (RowKind::Port | RowKind::Device, _) => {
                row.node.map(|node| link_state::chain(tree, row.head, node)).unwrap_or_default()
            }
            _ => row.node.into_iter().collect(),
        }
    }
}

/// What the bars of parts are scaled to: the largest, and at least 1 MB/s. The last part, which is not over, counts where it is larger
/// by more than a step: its first samples would change the bars before it with every second.
fn scale_of(parts: &[Option<f64>]) -> f64 {
    let (last, past) = parts.split_last().map_or((None, parts), |(last, past)| (*last, past));
    let most = past.iter().flatten().copied().fold(1e6, f64::max);
    last.filter(|last| *last > most * 1.125).unwrap_or(most)
}

/// Eighths of a cell for each part; a blank where nothing was counted.
fn sparkline(brush: &mut Brush<'_>, x: u16, y: u16, parts: &[Option<f64>]) {
    let most = scale_of(parts);
    let style = brush.theme.style(Meaning::Load);
    for (x, part) in (x..).zip(parts) {
        if let Some(value) = part {
            brush.cell(x, y, eighths(value / most), style);
        }
    }
}

/// The block that is that share of a cell high; the lowest for nothing.
fn eighths(share: f64) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let at = BLOCKS.iter().enumerate().rev().find(|(index, _)| share * 8.0 >= *index as f64 + 0.5);
    at.map_or(BLOCKS[0], |(_, block)| *block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_sparkline_rise() {
        let line: String = (0..=8).map(|eighth| eighths(f64::from(eighth) / 8.0)).collect();
        assert_eq!(line, "▁▁▂▃▄▅▆▇█");
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the scale is one of the parts")]
    fn a_part_that_is_not_over_leaves_the_bars_before_it_as_they_are() {
        let scale = |last| scale_of(&[None, Some(4e9), Some(2e9), last]);
        assert_eq!([None, Some(0.0), Some(4.4e9)].map(scale), [4e9; 3]);
        assert_eq!((scale(Some(8e9)), scale_of(&[Some(5.0)]), scale_of(&[])), (8e9, 1e6, 1e6));
    }
}

//! The facts of the selected row: beside the tree, below it on narrow screens, and all of them over it on request.

use std::sync::Arc;

use ratatui::layout::Rect;

use super::{Tree, fact::Fact, facts};
use crate::{
    screens::{
        Over,
        widgets::{
            paint::{self, Brush, Piece, cells, fit, fit_end, hanging, label, paragraph, piece},
            scroll,
        },
    },
    ui::{Shared, theme::Meaning},
};

const LABEL: usize = 10;
const LABEL_CELLS: u16 = 10;
/// The least width of a column of facts, and the cells between two.
const COLUMN: u16 = 60;
const GAP: u16 = 3;

pub(super) fn draw(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(row) = state.row() else { return };
    let title = [piece(facts::heading(shared, row), Meaning::Heading)];
    let facts = facts::of_row(shared, row);
    let form = Form::new(state, &facts, paint::inner(panel, brush.boxed));
    let note =
        if form.paths == Paths::Hidden { Vec::new() } else { vec![piece("with paths", Meaning::Quiet)] };
    let inner = brush.panel(panel, &title, &note);
    if let Some(uneven) = Uneven::of(&facts, state.paths, inner) {
        let [first, second] = uneven.lines(&facts, state.paths);
        brush.lines(Rect { width: uneven.first, ..inner }, &first, 0);
        let x = inner.x + uneven.first + GAP;
        brush.lines(Rect { x, width: uneven.second, ..inner }, &second, 0);
        return;
    }
    let top = state.facts_top.min(end(state, shared, panel));
    if is_narrow(inner) {
        let hidden = TwoColumns::of(&facts, state.paths, inner, top).draw(brush, inner);
        scroll::mark(brush, panel, ("↑ ", &shared.keys.fill("{details}: ")), (top, hidden));
        return;
    }
    let Form { columns, wide, .. } = form;
    let lines = form.lines(&facts);
    let mut rest = lines.get(top..).unwrap_or_default();
    // Columns are as high as each other.
    let each = rest.len().div_ceil(usize::from(columns)).min(usize::from(inner.height));
    for column in 0..columns {
        let (here, next) = rest.split_at(rest.len().min(each));
        let place = Rect { x: inner.x + column * (wide + GAP), width: wide, ..inner };
        brush.lines(place, here, 0);
        rest = next;
    }
    scroll::mark(brush, panel, ("↑ ", &shared.keys.fill("{details}: ")), (top, rest.len()));
}

/// Whether facts stand in two columns, a line each: below the tree on narrow terminals.
const fn is_narrow(inside: Rect) -> bool {
    inside.width >= 70 && inside.width < 98
}

/// Rows with which a place as wide as this shows all facts, its frame included.
pub(super) fn rows(state: &Tree, shared: &Shared, width: u16) -> u16 {
    let Some(row) = state.row() else { return 0 };
    let facts = facts::of_row(shared, row);
    let frame = Rect { width, height: 100, ..Rect::default() };
    let inside = paint::inner(frame, shared.is_boxed());
    let uneven = Uneven::of(&facts, state.paths, inside);
    let lines = if let Some(uneven) = uneven {
        uneven.lines(&facts, state.paths).map(|lines| lines.len()).into_iter().max().unwrap_or_default()
    } else {
        let form = Form::of(most_columns(inside), Paths::asked(state.paths), inside);
        form.lines(&facts).len().div_ceil(usize::from(form.columns))
    };
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame.height - inside.height)
}

/// The most columns of facts that a place has.
fn most_columns(inside: Rect) -> u16 {
    (inside.width / COLUMN).max(1)
}

/// How facts stand in a place: the columns, their cells, and how the path of each stands below it.
#[derive(Clone, Copy)]
struct Form {
    columns: u16,
    wide: u16,
    paths: Paths,
}

/// How paths stand below their facts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    Hidden,
    /// In one line, cut at its beginning.
    Cut,
    /// In as many lines as it takes.
    Whole,
}

impl Paths {
    const fn asked(paths: bool) -> Self {
        if paths { Self::Cut } else { Self::Hidden }
    }
}

impl Form {
    fn of(columns: u16, paths: Paths, inside: Rect) -> Self {
        Self { columns, wide: inside.width.saturating_sub((columns - 1) * GAP) / columns, paths }
    }

    fn lines(self, facts: &[Fact]) -> Vec<Vec<Piece>> {
        lines(facts, self.wide, self.paths, false)
    }

    fn fits(self, facts: &[Fact], inside: Rect) -> bool {
        self.lines(facts).len() <= usize::from(inside.height) * usize::from(self.columns)
    }

    /// The fewest columns that fit.
    fn fitting(facts: &[Fact], paths: Paths, inside: Rect) -> Option<Self> {
        let mut all = (1..=most_columns(inside)).map(|columns| Self::of(columns, paths, inside));
        all.find(|form| form.fits(facts, inside))
    }

    /// That of a wide place with room to spare, which has the paths unasked.
    fn rich(facts: &[Fact], inside: Rect) -> Option<Self> {
        Self::fitting(facts, Paths::Whole, inside).filter(|_| most_columns(inside) > 1)
    }

    fn new(state: &Tree, facts: &[Fact], inside: Rect) -> Self {
        let paths = Paths::asked(state.paths);
        Self::rich(facts, inside)
            .or_else(|| Self::fitting(facts, paths, inside))
            .unwrap_or_else(|| Self::of(most_columns(inside), paths, inside))
    }
}

/// Two columns of facts in a narrow place, as wide as their values need: none of them takes cells that the other one lacks.
#[derive(Clone, Copy)]
struct Uneven {
    /// The facts in the first one.
    count: usize,
    /// The cells of each.
    first: u16,
    second: u16,
}

impl Uneven {
    /// The columns that show all facts in the fewest lines; `None` where none does, or where the place is no narrow one.
    fn of(facts: &[Fact], paths: bool, inside: Rect) -> Option<Self> {
        if !is_narrow(inside) {
            return None;
        }
        let wanted = |fact: &Fact| one_line(fact, false).1;
        let bounds = inside.width * 3 / 10..=inside.width * 7 / 10;
        let mut widths: Vec<u16> = facts.iter().map(wanted).filter(|width| bounds.contains(width)).collect();
        widths.push(inside.width.saturating_sub(GAP) / 2);
        widths.sort_unstable();
        widths.dedup();
        // A fact with a label and no path takes one line wherever its words fit.
        let in_one = |fact: &Fact| {
            let is_short = !paths && !fact.label.is_empty();
            let label = cells(fact.label).max(LABEL_CELLS);
            is_short.then(|| paint::prose_cells(&fact.value, fact.meaning).saturating_add(label))
        };
        let fitting: Vec<Option<u16>> = facts.iter().map(in_one).collect();
        let height = |(fact, fitting): (&Fact, &Option<u16>), width: u16| {
            if fitting.is_some_and(|fitting| fitting <= width) {
                return 1;
            }
            lines(std::slice::from_ref(fact), width, Paths::asked(paths), false).len()
        };
        let heights = |width: u16| -> Vec<usize> {
            facts.iter().zip(&fitting).map(|fact| height(fact, width)).collect()
        };
        let of_width = |first: u16| {
            let second = inside.width.saturating_sub(first + GAP);
            let (left, right) = (heights(first), heights(second));
            let sums =
                |count: usize| [left[..count].iter().sum::<usize>(), right[count..].iter().sum::<usize>()];
            // As high as each other, the first one higher by a line.
            let count = (1..facts.len().max(2)).min_by_key(|count| {
                let [above, beside] = sums(*count);
                (above.max(beside), above < beside)
            })?;
            let [above, beside] = sums(count);
            (above.max(beside) <= usize::from(inside.height))
                .then_some((above + beside, Self { count, first, second }))
        };
        widths.into_iter().filter_map(of_width).min_by_key(|(lines, _)| *lines).map(|(_, uneven)| uneven)
    }

    fn lines(self, facts: &[Fact], paths: bool) -> [Vec<Vec<Piece>>; 2] {
        let (first, second) = facts.split_at(self.count.min(facts.len()));
        [(first, self.first), (second, self.second)]
            .map(|(facts, width)| lines(facts, width, Paths::asked(paths), false))
    }
}

/// Whether a place shows the paths unasked.
pub(super) fn has_paths(state: &Tree, shared: &Shared, panel: Rect) -> bool {
    let inside = paint::inner(panel, shared.is_boxed());
    state.row().is_some_and(|row| Form::rich(&facts::of_row(shared, row), inside).is_some())
}

/// How many lines of the facts can be scrolled out of sight.
pub(super) fn end(state: &Tree, shared: &Shared, panel: Rect) -> usize {
    let Some(row) = state.row() else { return 0 };
    let inside = paint::inner(panel, shared.is_boxed());
    let facts = facts::of_row(shared, row);
    if Uneven::of(&facts, state.paths, inside).is_some() {
        return 0;
    }
    let rows = usize::from(inside.height);
    if is_narrow(inside) {
        let is_end = |top: &usize| TwoColumns::of(&facts, state.paths, inside, *top).below == 0;
        return (0..facts.len()).find(is_end).unwrap_or_default();
    }
    let form = Form::new(state, &facts, inside);
    form.lines(&facts).len().saturating_sub(rows * usize::from(form.columns))
}

/// All of them, in lines of at most `width` cells.
pub(super) fn over(state: &Tree, shared: &Shared, width: u16) -> Option<Over> {
    let row = state.row()?;
    let lines = lines(&facts::of_row(shared, row), width, Paths::asked(state.paths), true);
    Some(Over { title: facts::heading(shared, row), lines, size: (96, 60), cursor: None })
}

/// Facts in two columns of a narrow place that has no room for all lines of all of them. The columns are as wide as shows most facts
/// with all their lines; others go out of sight.
struct TwoColumns<'a> {
    /// The facts shown, each with its column, its first row, and whether it has all its lines.
    shown: Vec<(&'a Fact, usize, usize, bool)>,
    /// Where each column begins, and its cells.
    columns: [(u16, u16); 2],
    paths: bool,
    /// Facts below those shown.
    below: usize,
}

impl<'a> TwoColumns<'a> {
    fn of(facts: &'a [Fact], paths: bool, inner: Rect, top: usize) -> Self {
        let rows = usize::from(inner.height);
        let named: Vec<&Fact> = facts.iter().filter(|fact| !fact.label.is_empty()).skip(top).collect();
        let first: Vec<&Fact> = named.iter().copied().take(rows * 2).collect();
        let (left, right) = first.split_at(first.len().min(rows));
        let wanted = |facts: &[&Fact]| facts.iter().map(|fact| one_line(fact, paths).1).max();
        let widths = [left, right].map(|facts| wanted(facts).unwrap_or_default());
        let by_widths = split(widths, inner.width);
        let bounds = inner.width * 3 / 10..=inner.width * 7 / 10;
        let others = first.iter().map(|fact| one_line(fact, paths).1).filter(|width| bounds.contains(width));
        let others = others.filter(|_| !paths).map(|width| (width + GAP, GAP));
        let columns_of =
            |(second, gap): (u16, u16)| [(0, second - gap), (second, inner.width.saturating_sub(second))];
        let place = |columns: &[(u16, u16); 2]| -> Vec<(usize, usize, bool)> {
            let lines = |fact: &Fact, column: usize| match value_lines(fact, columns[column].1).len() {
                lines if lines <= rows && !paths => lines,
                _ => 1,
            };
            let (mut column, mut row) = (0, 0);
            let mut placed = Vec::new();
            for fact in &first {
                if column == 0 && row + lines(fact, 0) > rows {
                    (column, row) = (1, 0);
                }
                let height = lines(fact, column);
                if row + height > rows {
                    break;
                }
                placed.push((column, row, height > 1));
                row += height;
            }
            placed
        };
        let forms = std::iter::once(by_widths).chain(others).map(columns_of);
        let forms = forms.map(|columns| (place(&columns), columns));
        // The first of those that are as good.
        let most = forms.reduce(|best, form| if form.0.len() > best.0.len() { form } else { best });
        let (placed, columns) = most.unwrap_or_default();
        let below = named.len() - placed.len();
        let shown = first.into_iter().zip(placed);
        let shown = shown.map(|(fact, (column, row, is_whole))| (fact, column, row, is_whole)).collect();
        Self { shown, columns, paths, below }
    }

    /// Draws them; how many are cut or have no room.
    fn draw(&self, brush: &mut Brush<'_>, inner: Rect) -> usize {
        let mut hidden = self.below;
        for (fact, column, row, is_whole) in &self.shown {
            let (x, width) = self.columns[*column];
            let y = inner.y + u16::try_from(*row).unwrap_or_default();
            let place = Rect { x: inner.x + x, y, width, height: inner.bottom().saturating_sub(y) };
            if *is_whole && !self.paths {
                brush.lines(place, &value_lines(fact, width), 0);
                continue;
            }
            let (text, wanted) = one_line(fact, self.paths);
            let room = width.saturating_sub(LABEL_CELLS);
            let is_path = self.paths && fact.path.as_ref().is_some_and(|path| !is_line(path));
            let value = if is_path { fit_end(&text, room) } else { fit(&text, room) };
            hidden += usize::from(wanted > width);
            brush.write(place.x, y, width, &[label(fact.label, LABEL), piece(value, fact.meaning)]);
        }
        hidden
    }
}

/// A fact's value, or its path, with the cells that it takes behind its label.
fn one_line(fact: &Fact, paths: bool) -> (Arc<str>, u16) {
    let text = fact.path.clone().filter(|_| paths).unwrap_or_else(|| fact.value.clone().into());
    let wanted = cells(&text).saturating_add(LABEL_CELLS);
    (text, wanted)
}

/// A fact's value in lines of at most `width` cells behind its label.
fn value_lines(fact: &Fact, width: u16) -> Vec<Vec<Piece>> {
    hanging(label(fact.label, LABEL), &fact.value, fact.meaning, width)
}

/// Cells up to the second of two columns whose longest lines are that wide, with the gap before it.
fn split([first, second]: [u16; 2], width: u16) -> (u16, u16) {
    // Both whole, with a narrower gap where that is needed; else the first gets what it needs up to three fifths.
    let gap = (2..=GAP).rev().find(|gap| first.saturating_add(second).saturating_add(*gap) <= width);
    if let Some(gap) = gap {
        return ((first + gap).max(width / 2).min(width - second), gap);
    }
    // What the first one does not need is the other's.
    let least = if second > width / 2 { width * 4 / 10 } else { width / 2 };
    let at = first.saturating_add(GAP).clamp(least, width * 6 / 10);
    (at, at.saturating_sub(first).clamp(2, GAP))
}

/// Whether a value stands in a line of an opened text, not in a file.
fn is_line(path: &str) -> bool {
    path.starts_with("line ")
}

/// Facts as lines of at most `width` cells, with the path under each as `paths` says, and all there is to say when `whole`.
fn lines(facts: &[Fact], width: u16, paths: Paths, whole: bool) -> Vec<Vec<Piece>> {
    let mut out = Vec::new();
    for fact in facts {
        let wide =
            fact.label.is_empty() && fact.path.is_none() && fact.value.len() + LABEL > usize::from(width);
        if wide {
            out.extend(paragraph(&fact.value, Meaning::Quiet, width));
            continue;
        }
        out.extend(value_lines(fact, width));
        if let Some(more) = fact.more.as_ref().filter(|_| whole || paths != Paths::Hidden) {
            out.extend(hanging(label("", LABEL), more, Meaning::Quiet, width));
        }
        if let Some(path) = fact.path.as_ref().filter(|_| paths != Paths::Hidden) {
            if paths == Paths::Whole || is_line(path) {
                out.extend(hanging(piece("  ", Meaning::Quiet), path, Meaning::Quiet, width));
            } else {
                out.push(vec![piece(
                    format!("  {}", fit_end(path, width.saturating_sub(2))),
                    Meaning::Quiet,
                )]);
            }
        }
    }
    out
}

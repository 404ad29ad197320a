//! The facts of the selected row: beside the tree, below it on narrow screens, and all of them over it on request.

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
/// The least width of a column of facts, and the cells between two.
const COLUMN: u16 = 60;
const GAP: u16 = 3;

pub(super) fn draw(state: &Tree, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(row) = state.row() else { return };
    let title = [piece(facts::heading(shared, row), Meaning::Heading)];
    let facts = facts::of_row(shared, row);
    let form = Form::new(state, &facts, paint::inner(panel, brush.boxed));
    let note = if form.paths { vec![piece("with paths", Meaning::Quiet)] } else { Vec::new() };
    let inner = brush.panel(panel, &title, &note);
    if let Some(uneven) = Uneven::of(&facts, state.paths, inner) {
        let [first, second] = uneven.lines(&facts, state.paths);
        brush.lines(Rect { width: uneven.first, ..inner }, &first, 0);
        let x = inner.x + uneven.first + GAP;
        brush.lines(Rect { x, width: uneven.second, ..inner }, &second, 0);
        return;
    }
    let top = state.facts_top.min(end(state, shared, panel));
    if is_cut_in_two(state, &facts, inner) {
        let hidden = two_columns(state.paths, brush, inner, &facts, top);
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
    } else if is_narrow(inside) {
        let two = facts.iter().filter(|fact| !fact.label.is_empty()).count().div_ceil(2);
        wrapped(state, &facts, inside).map_or(two, |form| form.lines(&facts).len().div_ceil(2).max(two))
    } else {
        let form = Form::of(most_columns(inside), state.paths, inside);
        form.lines(&facts).len().div_ceil(usize::from(form.columns))
    };
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(frame.height - inside.height)
}

/// The two columns of a narrow place with lines that go on below, where a line each would cut a value.
fn wrapped(state: &Tree, facts: &[Fact], inside: Rect) -> Option<Form> {
    let form = Form::of(2, state.paths, inside);
    let room = form.wide.saturating_sub(u16::try_from(LABEL).unwrap_or_default());
    let is_cut = |fact: &Fact| !fact.label.is_empty() && cells(&fact.value) > room;
    (is_narrow(inside) && facts.iter().any(is_cut)).then_some(form)
}

/// The same, where it shows all.
fn wrapped_whole(state: &Tree, facts: &[Fact], inside: Rect) -> Option<Form> {
    wrapped(state, facts, inside).filter(|form| form.fits(facts, inside))
}

/// Whether a narrow place has two columns of a line each.
fn is_cut_in_two(state: &Tree, facts: &[Fact], inside: Rect) -> bool {
    is_narrow(inside) && wrapped_whole(state, facts, inside).is_none()
}

/// The most columns of facts that a place has.
fn most_columns(inside: Rect) -> u16 {
    (inside.width / COLUMN).max(1)
}

/// How facts stand in a place: the columns, their cells, and whether the path of each stands below it.
#[derive(Clone, Copy)]
struct Form {
    columns: u16,
    wide: u16,
    paths: bool,
}

impl Form {
    fn of(columns: u16, paths: bool, inside: Rect) -> Self {
        Self { columns, wide: inside.width.saturating_sub((columns - 1) * GAP) / columns, paths }
    }

    fn lines(self, facts: &[Fact]) -> Vec<Vec<Piece>> {
        lines(facts, self.wide, self.paths, false)
    }

    fn fits(self, facts: &[Fact], inside: Rect) -> bool {
        self.lines(facts).len() <= usize::from(inside.height) * usize::from(self.columns)
    }

    /// The fewest columns that fit.
    fn fitting(facts: &[Fact], paths: bool, inside: Rect) -> Option<Self> {
        let mut all = (1..=most_columns(inside)).map(|columns| Self::of(columns, paths, inside));
        all.find(|form| form.fits(facts, inside))
    }

    /// That of a wide place with room to spare, which has the paths unasked.
    fn rich(facts: &[Fact], inside: Rect) -> Option<Self> {
        Self::fitting(facts, true, inside).filter(|_| most_columns(inside) > 1)
    }

    fn new(state: &Tree, facts: &[Fact], inside: Rect) -> Self {
        if let Some(form) = wrapped_whole(state, facts, inside) {
            return form;
        }
        Self::rich(facts, inside)
            .or_else(|| Self::fitting(facts, state.paths, inside))
            .unwrap_or_else(|| Self::of(most_columns(inside), state.paths, inside))
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
        /// Below it either column would be too narrow for the values that the other one makes room for.
        const LEAST: u16 = 90;
        if !is_narrow(inside) || inside.width < LEAST {
            return None;
        }
        let wanted =
            |fact: &Fact| cells(&fact.value).saturating_add(u16::try_from(LABEL).unwrap_or_default());
        let bounds = inside.width * 3 / 10..=inside.width * 7 / 10;
        let mut widths: Vec<u16> = facts.iter().map(wanted).filter(|width| bounds.contains(width)).collect();
        widths.push(inside.width.saturating_sub(GAP) / 2);
        widths.sort_unstable();
        widths.dedup();
        let heights = |width: u16| -> Vec<usize> {
            facts.iter().map(|fact| lines(std::slice::from_ref(fact), width, paths, false).len()).collect()
        };
        let of_width = |first: u16| {
            let second = inside.width.saturating_sub(first + GAP);
            let (left, right) = (heights(first), heights(second));
            let sums =
                |count: usize| [left[..count].iter().sum::<usize>(), right[count..].iter().sum::<usize>()];
            // As high as each other, the first one higher by a line.
            let count = (0..=facts.len()).min_by_key(|count| {
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
        [lines(first, self.first, paths, false), lines(second, self.second, paths, false)]
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
    if is_cut_in_two(state, &facts, inside) {
        let named = facts.iter().filter(|fact| !fact.label.is_empty()).count();
        return named.saturating_sub(rows * 2);
    }
    let form = Form::new(state, &facts, inside);
    form.lines(&facts).len().saturating_sub(rows * usize::from(form.columns))
}

/// All of them, in lines of at most `width` cells.
pub(super) fn over(state: &Tree, shared: &Shared, width: u16) -> Option<Over> {
    let row = state.row()?;
    let lines = lines(&facts::of_row(shared, row), width, state.paths, true);
    Some(Over { title: facts::heading(shared, row), lines, size: (96, 60), cursor: None })
}

/// The first facts side by side, a line each; how many are cut or have no room.
fn two_columns(paths: bool, brush: &mut Brush<'_>, inner: Rect, facts: &[Fact], top: usize) -> usize {
    let rows = usize::from(inner.height);
    let shown = || facts.iter().filter(|fact| !fact.label.is_empty()).skip(top).take(rows * 2);
    let text = |fact: &Fact| fact.path.clone().filter(|_| paths).unwrap_or_else(|| fact.value.clone().into());
    let longest = |facts: &mut dyn Iterator<Item = &Fact>| {
        let longest = facts.map(|fact| cells(&text(fact))).max().unwrap_or_default();
        longest.saturating_add(u16::try_from(LABEL).unwrap_or_default())
    };
    let wanted = [longest(&mut shown().take(rows)), longest(&mut shown().skip(rows))];
    let (first, gap) = split(wanted, inner.width);
    let named = facts.iter().filter(|fact| !fact.label.is_empty()).count();
    let mut hidden = named.saturating_sub(top + rows * 2);
    for (index, fact) in shown().enumerate() {
        let (column, row) = (index / rows, index % rows);
        let (x, wide) =
            if column == 0 { (0, first - gap) } else { (first, inner.width.saturating_sub(first)) };
        let y = (inner.y..inner.bottom()).nth(row).unwrap_or(inner.y);
        let label = label(fact.label, LABEL);
        let room = wide.saturating_sub(cells(&label.0));
        let is_path = paths && fact.path.as_ref().is_some_and(|path| !is_line(path));
        let value = if is_path { fit_end(&text(fact), room) } else { fit(&text(fact), room) };
        hidden += usize::from(cells(&text(fact)) > room);
        brush.write(inner.x + x, y, wide, &[label, piece(value, fact.meaning)]);
    }
    hidden
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
    (first.saturating_add(GAP).clamp(least, width * 6 / 10), GAP)
}

/// Whether a value stands in a line of an opened text, not in a file.
fn is_line(path: &str) -> bool {
    path.starts_with("line ")
}

/// Facts as lines of at most `width` cells, with the path under each when `paths`, and all there is to say when `whole`.
fn lines(facts: &[Fact], width: u16, paths: bool, whole: bool) -> Vec<Vec<Piece>> {
    let mut out = Vec::new();
    for fact in facts {
        let wide =
            fact.label.is_empty() && fact.path.is_none() && fact.value.len() + LABEL > usize::from(width);
        if wide {
            out.extend(paragraph(&fact.value, Meaning::Quiet, width));
            continue;
        }
        out.extend(hanging(label(fact.label, LABEL), &fact.value, fact.meaning, width));
        if let Some(more) = fact.more.as_ref().filter(|_| whole || paths) {
            out.extend(hanging(label("", LABEL), more, Meaning::Quiet, width));
        }
        if let Some(path) = fact.path.as_ref().filter(|_| paths) {
            if is_line(path) {
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

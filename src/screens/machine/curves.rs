//! The last minute of the selected row: rates, and where there is room IOPS, time of a request, requests in flight.

use ratatui::layout::{Constraint::Fill, Layout, Position, Rect};

use super::{Areas, Tree, columns::mean_wait, facts, facts_pane, figures::Figures};
use crate::{
    screens::widgets::{
        graph::{Curve, Graph, TimeAxis, sample},
        paint::{Brush, Piece, piece, width},
        span::Span,
        words::RateUnit,
    },
    ui::{
        Shared,
        load::{Flow, Minute},
        series::{Scale, Series, WINDOW},
        theme::Meaning,
    },
    units::count,
};

/// The least rows of a graph with its title.
const LEAST: u16 = 7;
/// The least cells and rows of a graph beside others.
const BESIDE: (u16, u16) = (60, 10);

/// A graph: its curves (reads, then writes) with their names and values of now, the least top of its axis, how a value is written,
/// its unit.
struct Kind<'a> {
    names: [&'static str; 2],
    now: [Option<f64>; 2],
    curves: [Option<&'a Series>; 2],
    least: f64,
    label: &'a dyn Fn(f64) -> String,
    /// How a value of now or of a span is written, where that is another way than on the axis.
    figure: Option<fn(f64) -> String>,
    unit: &'static str,
    /// Of bytes per second, the unit of the values of now.
    rate: Option<RateUnit>,
    limit: Option<f64>,
}

impl Kind<'_> {
    /// How a value is written before the unit at the end, and that.
    fn write(&self, rate: Option<RateUnit>, value: f64) -> String {
        let figure = || self.figure.map_or_else(|| (self.label)(value), |figure| figure(value));
        rate.map_or_else(figure, |rate| rate.write(value))
    }

    fn unit(&self, rate: Option<RateUnit>) -> String {
        rate.map_or_else(|| self.unit.to_owned(), RateUnit::at_the_end)
    }

    /// The curves' names and values of now; two need more than colours to be told apart.
    fn figures(&self, has_second: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let colours = [Meaning::Load, Meaning::Writes];
        for (((_, value), word), meaning) in self
            .curves
            .iter()
            .zip(self.now)
            .zip(self.names)
            .zip(colours)
            .filter(|(((curve, _), _), _)| curve.is_some())
        {
            let value = value.map_or_else(|| "-".to_owned(), |value| self.write(self.rate, value));
            pieces.extend(has_second.then(|| piece(sample(meaning == Meaning::Load), meaning)));
            pieces.push(piece(word, meaning));
            pieces.push(piece(format!(" {value}  "), Meaning::Figure));
        }
        pieces.push(piece(self.unit(self.rate), Meaning::Quiet));
        pieces
    }

    /// The figures of a span.
    fn words(&self, span: Span, shared: &Shared, room: u16) -> String {
        let curves = self.names.into_iter().zip(self.curves);
        let curves: Vec<_> = curves.filter_map(|(name, series)| Some((name, name, series?))).collect();
        let rates = || span.rates(self.curves.into_iter().flatten());
        let rate = self.rate.map(|_| RateUnit::of(shared.units, rates()));
        span.words(&curves, &|value| self.write(rate, value), &self.unit(rate), room)
    }
}

/// Where facts that stand below the tree and the curves are.
pub(super) fn places(state: &Tree, shared: &Shared, below: Rect) -> (Rect, Rect) {
    let has_minute = || state.row().is_some_and(|row| Figures::new(shared, row).has_minute());
    if state.rest.stacked.is_none() || !has_minute() {
        return (below, Rect::default());
    }
    let rows = facts_pane::rows(state, shared, below.width);
    let (facts, curves) = if below.height >= rows + BESIDE.1 {
        (Rect { height: rows, ..below }, Rect { y: below.y + rows, height: below.height - rows, ..below })
    } else {
        let width = below.width / 2;
        let curves = Rect { x: below.right() - width, width, ..below };
        (Rect { width: below.width - width, ..below }, curves)
    };
    (facts, Rect { x: curves.x + 1, width: curves.width.saturating_sub(2), ..curves })
}

/// The place of the curves: beside or below the facts, or in the rows that the tree leaves free.
pub(super) fn place(state: &Tree, shared: &Shared, areas: &Areas) -> Rect {
    if state.rest.stacked.is_some() {
        return places(state, shared, areas.facts).1;
    }
    let area = areas.rows;
    let used = u16::try_from(state.rows.len()).unwrap_or(u16::MAX).min(area.height);
    // Below an empty row.
    let free = area.height.saturating_sub(used + 1);
    Rect { y: area.bottom() - free, height: free, ..area }
}

/// As many graphs as fit: the rates first.
pub(super) fn draw(state: &Tree, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let Some(row) = state.row().filter(|_| area.height >= LEAST) else { return };
    let figures = Figures::new(shared, row);
    if !figures.has_minute() {
        return;
    }
    let now = |of: fn(&Flow) -> f64| figures.flow.as_ref().map(of);
    let waits = figures.flow.map_or([None; 2], |flow| [flow.read.await_ms, flow.write.await_ms]);
    let units = shared.units;
    let Minute { read, written, reads, writes, read_await, write_await, in_flight } =
        &shared.load.history(&figures.counted);
    let per_second = |value: f64| count(value).replace(' ', "");
    let short = |value: f64| if value < 9.995 { format!("{value:.2}") } else { per_second(value) };
    let bytes_now = [now(|flow| flow.read.bytes), now(|flow| flow.write.bytes)];
    let rate = match bytes_now {
        [None, None] => RateUnit::of(units, [read.window_most(), written.window_most()]),
        of_now => RateUnit::of(units, of_now.into_iter().flatten()),
    };
    let bytes = |value: f64| rate.label(value);
    let kind = |names, now, curves, (least, label, unit)| Kind {
        names,
        now,
        curves,
        least,
        label,
        figure: None,
        unit,
        rate: None,
        limit: None,
    };
    let directions = ["reads", "writes"];
    let both = |reads, writes| [Some(reads), Some(writes)];
    let mut kinds: [Kind<'_>; 4] = [
        kind(directions, bytes_now, both(read, written), (1e8, &bytes, "")),
        kind(
            directions,
            [now(|flow| flow.read.requests), now(|flow| flow.write.requests)],
            both(reads, writes),
            (100.0, &per_second, "IOPS"),
        ),
        kind(["r_await", "w_await"], waits, both(read_await, write_await), (0.1, &short, "ms")),
        kind(
            ["in flight", ""],
            [now(|flow| flow.queue_depth), None],
            [Some(in_flight), None],
            (1.0, &short, "requests (aqu-sz)"),
        ),
    ];
    let most = read.window_most().max(written.window_most());
    kinds[0].rate = Some(rate);
    kinds[2].figure = Some(mean_wait);
    kinds[0].limit = figures.limit().filter(|limit| most > limit / 4.0);
    for (at, (kind, place)) in kinds.iter().zip(grid(area)).enumerate() {
        let name = if at == 0 { facts::heading(shared, row) + "  " } else { String::new() };
        graph(kind, (piece(name, Meaning::Heading), state.selection.span), shared, place, brush);
    }
}

/// The history of the selected row, where curves of it are shown.
fn minute(state: &Tree, shared: &Shared) -> Option<Minute> {
    let figures = Figures::new(shared, state.row()?);
    figures.has_minute().then(|| shared.load.history(&figures.counted))
}

/// Whether the curves of the selected row have a point in the span.
pub(super) fn has_points(state: &Tree, shared: &Shared, span: Span) -> bool {
    minute(state, shared).is_some_and(|minute| span.figures(&minute.read).is_some())
}

/// The time axis of the graph at a cell.
pub(super) fn axis_at(state: &Tree, shared: &Shared, at: Position, areas: &Areas) -> Option<TimeAxis> {
    let area = place(state, shared, areas);
    if area.height < LEAST {
        return None;
    }
    let place = grid(area).into_iter().find(|place| place.contains(at))?;
    TimeAxis::new(below_title(place), WINDOW, shared.load.at, &minute(state, shared)?.read)
}

/// The place of a graph below its title.
const fn below_title(area: Rect) -> Rect {
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

/// Places of up to four graphs.
fn grid(area: Rect) -> Vec<Rect> {
    let columns = (area.width / BESIDE.0).clamp(1, 4);
    let count = (columns * (area.height / BESIDE.1).max(1)).min(4);
    // Two and two rather than three and one.
    let columns = if count == 4 && columns == 3 { 2 } else { columns.min(count) };
    let rows = Layout::vertical(vec![Fill(1); usize::from(count.div_ceil(columns))]).split(area);
    let cells = rows.iter().flat_map(|row| {
        Layout::horizontal(vec![Fill(1); usize::from(columns)]).spacing(2).split(*row).to_vec()
    });
    cells.take(usize::from(count)).collect()
}

fn graph(
    kind: &Kind<'_>,
    (name, span): (Piece, Option<Span>),
    shared: &Shared,
    area: Rect,
    brush: &mut Brush<'_>,
) {
    let Kind { curves, least, label, rate, limit, .. } = kind;
    let most = curves.iter().flatten().map(|series| series.window_most()).fold(0.0, f64::max);
    let mut scale = Scale::new(*least);
    scale.fit(shared.load.at, most.max(limit.unwrap_or_default()));
    let [first, second] = curves;
    let second = second.and_then(|series| Curve::above_ground(series, Meaning::Writes, scale.top()));
    let mut open = Brush::new(brush.buffer, brush.theme, false);
    let room = open.title_room(area.width).saturating_sub(width(std::slice::from_ref(&name)));
    let figures = match span {
        Some(span) => vec![piece(kind.words(span, shared, room), Meaning::Figure)],
        None => kind.figures(second.is_some()),
    };
    open.panel(Rect { height: 1, ..area }, &[vec![name], figures].concat(), &[]);
    let mut drawn: Vec<Curve<'_>> = Vec::new();
    drawn.extend(first.map(|series| Curve { series, meaning: Meaning::Load, filled: true }));
    drawn.extend(second);
    let graph = Graph {
        curves: drawn,
        top: if rate.is_some() { shared.units.axis(scale.top()) } else { scale.top() },
        label,
        level: limit.map(|limit| (limit, format!("limit {}", label(limit)))),
        window: WINDOW,
    };
    let inside = below_title(area);
    graph.draw(brush, inside, shared.load.at);
    let axis = first.and_then(|series| TimeAxis::new(inside, WINDOW, shared.load.at, series));
    if let Some((axis, span)) = axis.zip(span) {
        axis.mark(span.from, span.to, brush);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_room_has_more_graphs_and_they_fill_it() {
        let count = |width, height| grid(Rect::new(0, 0, width, height)).len();
        assert_eq!([count(79, 16), count(79, 24), count(98, 9), count(150, 12)], [1, 2, 1, 2]);
        assert_eq!([count(198, 23), count(298, 57), count(298, 9)], [4, 4, 4]);
        for (width, height) in [(79, 16), (79, 45), (198, 23), (298, 57), (240, 12)] {
            let area = Rect::new(3, 5, width, height);
            let places = grid(area);
            let bottom = places.iter().map(|place| place.bottom()).max();
            let right = places.iter().map(|place| place.right()).max();
            assert_eq!((bottom, right), (Some(area.bottom()), Some(area.right())), "{width}x{height}");
        }
    }
}

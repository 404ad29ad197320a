//! The span of time that the mouse selects on a curve: its place and its figures.

use std::time::Duration;

use ratatui::layout::{Position, Rect};

use super::{Areas, Curve, Dyno, Plot};
use crate::{
    screens::widgets::{
        graph::TimeAxis,
        paint::{cells, inner},
        words::{giga, nanoseconds},
    },
    ui::{Shared, series::Series, test::Test},
    units::{UnitSystem, count},
};

/// A span, from one moment to a later one; times are since the start of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub from: Duration,
    pub to: Duration,
}

/// What the mouse selects.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// The selected span.
    pub span: Option<Span>,
    /// The cell where the button went down on a curve, and the span of its column.
    begun: Option<(Position, Span)>,
}

/// Mean, minimum and maximum of the points in a span.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    mean: f64,
    least: f64,
    most: f64,
}

impl Span {
    /// The span of a column of an axis.
    fn of(axis: &TimeAxis, column: u16) -> Self {
        let (from, to) = axis.moments(column);
        Self { from, to }
    }

    fn with(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    fn seconds(self) -> f64 {
        self.to.saturating_sub(self.from).as_secs_f64()
    }

    fn figures(self, series: &Series) -> Option<Figures> {
        let inside = series.points().filter(|(at, _)| (self.from..=self.to).contains(at));
        let values: Vec<f64> = inside.map(|(_, value)| value).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Figures { mean: values.iter().sum::<f64>() / values.len() as f64, least, most })
    }

    /// Whether the curve has a point in it.
    pub(super) fn has_points(self, curve: Curve, test: &Test) -> bool {
        let series = match curve {
            Curve::Throughput => &test.total.bytes,
            Curve::Iops => &test.total.iops,
            Curve::Latency => &test.total.p99,
        };
        self.figures(series).is_some()
    }

    /// `throughput  3.2 s: mean 6.52, min 6.10, max 6.90 GB/s`, in as many words as fit.
    pub(super) fn words(self, curve: Curve, test: &Test, units: UnitSystem, room: u16) -> String {
        let name = super::draw::curve_name(curve);
        let seconds = self.seconds();
        let (series, unit, write): (&Series, &str, fn(UnitSystem, f64) -> String) = match curve {
            Curve::Throughput => (&test.total.bytes, units.giga_per_second(), giga),
            Curve::Iops => (&test.total.iops, "IOPS", |_, value| count(value)),
            Curve::Latency => (&test.total.p99, "p99", |_, value| nanoseconds(value)),
        };
        let Some(Figures { mean, least, most }) = self.figures(series) else {
            return format!("{name}  {seconds:.1} s: nothing read");
        };
        let [mean, least, most] = [mean, least, most].map(|value| write(units, value));
        let forms = [
            format!("{name}  {seconds:.1} s: mean {mean}, min {least}, max {most} {unit}"),
            format!("{seconds:.1} s: mean {mean}, min {least}, max {most} {unit}"),
            format!("{seconds:.1} s: mean {mean}, {least} to {most}"),
        ];
        let fitting = forms.iter().find(|form| cells(form) <= room);
        fitting.unwrap_or(&forms[2]).clone()
    }
}

impl Dyno {
    /// The axis of the curve at a cell, where a test is shown.
    fn axis_at(&self, at: Position, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        let test = self.shown(&shared.tests)?;
        let areas = Areas::new(self, shared, area);
        let (_, panel) = areas.plots.iter().find(|(plot, area)| *plot != Plot::Heat && area.contains(at))?;
        TimeAxis::new(inner(*panel, shared.is_boxed()), test.window(), super::draw::newest(test, shared))
    }

    /// The button went down on a curve: a span that is shown goes, else one may begin.
    pub(super) fn begin_span(&mut self, at: Position, shared: &Shared, area: Rect) -> bool {
        if self.selection.span.take().is_some() {
            self.selection.begun = None;
            return true;
        }
        let column = self.axis_at(at, shared, area).map(|axis| Span::of(&axis, at.x));
        self.selection.begun = column.map(|column| (at, column));
        column.is_some()
    }

    /// The mouse moved: the span reaches from the column where the button went down to this one.
    pub(super) fn extend_span(&mut self, at: Position, shared: &Shared, area: Rect) {
        let Some((began, first)) = self.selection.begun else { return };
        if at.x == began.x && self.selection.span.is_none() {
            return;
        }
        if let Some(axis) = self.axis_at(began, shared, area) {
            self.selection.span = Some(first.with(Span::of(&axis, at.x)));
        }
    }

    /// The button went up; whether it was a click, with no span.
    pub(super) fn end_span(&mut self) -> bool {
        self.selection.begun.take().is_some() && self.selection.span.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_points_inside() {
        let mut series = Series::default();
        for (second, value) in [(1, 100.0), (2, 4.0), (3, 8.0), (4, 6.0), (5, 100.0)] {
            series.push(Duration::from_secs(second), value);
        }
        let span = |from, to| Span { from: Duration::from_secs(from), to: Duration::from_secs(to) };
        let figures = span(2, 4).figures(&series);
        assert_eq!(figures, Some(Figures { mean: 6.0, least: 4.0, most: 8.0 }));
        assert_eq!(span(6, 9).figures(&series), None);
        assert!((span(4, 6).with(span(1, 2)).seconds() - 5.0).abs() < 1e-9);
    }
}

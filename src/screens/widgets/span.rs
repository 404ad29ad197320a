//! A span of time that the mouse selects on a curve, and the figures of a series in it.

use std::time::Duration;

use ratatui::layout::Position;

use super::{graph::TimeAxis, paint::cells};
use crate::ui::series::Series;

/// Of a span that was selected where the curves have no sample.
pub const NO_SAMPLE: &str = "Nothing was read in that span of time";

/// A span, from one moment to a later one; times are since the start of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first moment.
    pub from: Duration,
    /// Its last moment.
    pub to: Duration,
}

/// What the mouse selects on curves.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The selected span.
    pub span: Option<Span>,
    /// The cell where the button went down on a curve, and the span of its column.
    begun: Option<(Position, Span)>,
    /// That button cleared a span.
    cleared: bool,
}

/// Mean, minimum and maximum of the points in a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
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

    /// The part since the first sample of an axis, where there is one.
    fn since_first(self, axis: &TimeAxis) -> Self {
        if self.to < axis.first() { self } else { Self { from: self.from.max(axis.first()), ..self } }
    }

    /// Its length.
    pub fn seconds(self) -> f64 {
        self.to.saturating_sub(self.from).as_secs_f64()
    }

    /// The figures of the points in it; `None` without one.
    pub fn figures(self, series: &Series) -> Option<Figures> {
        let inside = series.points().filter(|(at, _)| (self.from..=self.to).contains(at));
        let values: Vec<f64> = inside.map(|(_, value)| value).collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Figures { mean: values.iter().sum::<f64>() / values.len() as f64, least, most })
    }

    /// What [`Self::words`] has of curves of rates.
    pub fn rates<'a>(self, curves: impl IntoIterator<Item = &'a Series>) -> Vec<f64> {
        let mut figures = curves.into_iter().filter_map(|series| self.figures(series));
        let first = figures.next();
        let means = first.map(|first| [first.mean, first.most]).into_iter().flatten();
        means.chain(figures.map(|one| one.mean)).collect()
    }

    /// The figures of one or two curves in it: `3.2 s mean: reads 6.52, max 6.90  writes 0.00 GB/s`, in as many words as fit. A
    /// curve has a name and a short one.
    pub fn words(
        self,
        curves: &[(&str, &str, &Series)],
        write: &dyn Fn(f64) -> String,
        unit: &str,
        room: u16,
    ) -> String {
        let seconds = self.seconds();
        let joined = |is_short: bool, has_most: bool| -> String {
            let figures = curves.iter().enumerate().map(|(at, (name, short, series))| {
                let name = if is_short { short } else { name };
                match self.figures(series) {
                    Some(Figures { mean, most, .. }) if has_most && at == 0 => {
                        format!("{name} {}, max {}", write(mean), write(most))
                    }
                    Some(Figures { mean, .. }) => format!("{name} {}", write(mean)),
                    None => format!("{name} -"),
                }
            });
            figures.collect::<Vec<_>>().join(if is_short { " " } else { "  " })
        };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let forms = [
            format!("{seconds:.1} s mean: {}{unit}", joined(false, true)),
            format!("{seconds:.1} s mean: {}{unit}", joined(false, false)),
            format!("{seconds:.1} s: {}{unit}", joined(true, false)),
        ];
        let fitting = forms.into_iter().find(|form| cells(form) <= room);
        fitting.unwrap_or_else(|| format!("{seconds:.1} s: {}", joined(true, false)))
    }
}

impl Selection {
    /// The button went down: a span may begin where `axis` is, and one that is shown goes. Whether either is so.
    pub fn begin(&mut self, at: Position, axis: Option<&TimeAxis>) -> bool {
        self.begun = axis.map(|axis| (at, Span::of(axis, at.x)));
        self.cleared = axis.and_then(|_| self.span.take()).is_some();
        axis.is_some()
    }

    /// The cell where the button went down, while it is down.
    pub fn began(&self) -> Option<Position> {
        self.begun.map(|(at, _)| at)
    }

    /// The mouse moved: the span reaches from the column where the button went down to this one.
    pub fn extend(&mut self, at: Position, axis: &TimeAxis) {
        let Some((began, first)) = self.begun else { return };
        if at.x != began.x || self.span.is_some() {
            self.span = Some(first.with(Span::of(axis, at.x)).since_first(axis));
        }
    }

    /// The button went up; whether it was a click, with no span before and after it.
    pub fn end(&mut self) -> bool {
        let is_click = self.begun.take().is_some() && self.span.is_none();
        is_click && !self.cleared
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

//! The span of time that the mouse selects on the curves of a test: its place and its words.

use std::time::Duration;

use ratatui::layout::{Position, Rect};

use super::{Areas, Curve, Dyno, Plot};
use crate::{
    screens::widgets::{
        graph::TimeAxis,
        paint::{cells, inner},
        span::{Figures, Span},
        words::{RateUnit, nanoseconds},
    },
    ui::{Shared, series::Series, test::Test},
    units::{UnitSystem, count},
};

/// The moment at the right edge of a test's curves.
pub(super) fn newest(test: &Test, shared: &Shared) -> Duration {
    test.total.bytes.points().next_back().map_or(shared.now, |(at, _)| at)
}

/// The time axis of a test's curves in a panel of this inside.
pub(super) fn axis(test: &Test, inside: Rect, shared: &Shared) -> Option<TimeAxis> {
    TimeAxis::new(inside, test.window(), newest(test, shared), &test.total.bytes)
}

pub(super) const fn curve_name(curve: Curve) -> &'static str {
    match curve {
        Curve::Throughput => "throughput",
        Curve::Iops => "IOPS",
        Curve::Latency => "latency",
    }
}

const fn series(curve: Curve, test: &Test) -> &Series {
    match curve {
        Curve::Throughput => &test.total.bytes,
        Curve::Iops => &test.total.iops,
        Curve::Latency => &test.total.p99,
    }
}

/// Whether the curve has a point in the span.
pub(super) fn has_points(span: Span, curve: Curve, test: &Test) -> bool {
    span.figures(series(curve, test)).is_some()
}

/// The unit of the rates in the title of the throughput: of those of now, or of a selected span.
pub(super) fn rate_unit(test: &Test, span: Option<Span>, units: UnitSystem) -> RateUnit {
    let series = &test.total.bytes;
    let rates = match span.and_then(|span| span.figures(series)) {
        Some(Figures { mean, least, most }) => [mean, least, most],
        None => [test.bytes_per_second(), series.most(), 0.0],
    };
    RateUnit::of(units, rates)
}

/// `throughput  3.2 s: mean 6.52, min 6.10, max 6.90 GB/s`, in as many words as fit.
pub(super) fn words(span: Span, curve: Curve, test: &Test, units: UnitSystem, room: u16) -> String {
    let name = curve_name(curve);
    let seconds = span.seconds();
    let rate = rate_unit(test, Some(span), units);
    let (unit, write): (String, &dyn Fn(f64) -> String) = match curve {
        Curve::Throughput => (rate.at_the_end(), &|value| rate.write(value)),
        Curve::Iops => ("IOPS".to_owned(), &count),
        Curve::Latency => ("p99".to_owned(), &nanoseconds),
    };
    let Some(Figures { mean, least, most }) = span.figures(series(curve, test)) else {
        return format!("{name}  {seconds:.1} s: nothing read");
    };
    let [mean, least, most] = [mean, least, most].map(write);
    let figures = format!("{seconds:.1} s: mean {mean}, min {least}, max {most} {unit}");
    let figures = figures.trim_end();
    let forms = [
        format!("{name}  {figures}"),
        figures.to_owned(),
        format!("{seconds:.1} s: mean {mean}, {least} to {most}"),
    ];
    let fitting = forms.iter().find(|form| cells(form) <= room);
    fitting.unwrap_or(&forms[2]).clone()
}

impl Dyno {
    /// The axis of the curve at a cell, where a test is shown.
    pub(super) fn axis_of_curve(&self, at: Position, shared: &Shared, area: Rect) -> Option<TimeAxis> {
        let test = self.shown(&shared.tests)?;
        let areas = Areas::new(self, shared, area);
        let (_, panel) = areas.plots.iter().find(|(plot, area)| *plot != Plot::Heat && area.contains(at))?;
        axis(test, inner(*panel, shared.is_boxed()), shared)
    }
}

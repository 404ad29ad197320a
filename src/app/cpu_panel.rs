//! The CPUs in the stats bar.

use ratatui::layout::Rect;

use super::{App, Mode};
use crate::{
    report::why::tables::{self, Split},
    screens::widgets::{
        cpus::Cpus,
        graph::{Curve, Graph, sample},
        paint::{Brush, inner, paragraph, piece},
    },
    ui::{
        series::{Series, WINDOW},
        theme::Meaning,
    },
};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>, area: Rect) {
    if area.is_empty() {
        return;
    }
    let inside = inner(area, brush.boxed);
    let rates = app.shared.rates.as_ref();
    let all = rates.map_or_else(Vec::new, |rates| {
        rates.cpus.iter().map(|(cpu, shares)| (*cpu, Split::from(*shares))).collect()
    });
    let cpus = Cpus::new(all.iter().copied(), &tables::nodes(&app.shared.machine));
    let name = "CPUs";
    let mut title = vec![piece(name, Meaning::Heading)];
    if !all.is_empty() {
        title.extend(cpus.legend(inside, area.width.saturating_sub(10)));
    }
    brush.panel(area, &title, &[]);
    if all.is_empty() {
        let text = match app.shared.mode {
            Mode::Demo(_) => "No counters until a test runs.",
            _ => "Counting; first bars after one second.",
        };
        brush.lines(inside, &paragraph(text, Meaning::Quiet, inside.width), 0);
        return;
    }
    let used = u16::try_from(cpus.draw(brush, inside)).unwrap_or(u16::MAX);
    let free = inside.height.saturating_sub(used);
    if free >= LEAST {
        curve(app, brush, Rect { y: inside.bottom() - free, height: free, ..inside });
    }
}

/// The top of the curves.
const PERCENT: f64 = 100.0;
/// The least rows of curves with their caption.
const LEAST: u16 = 5;

/// Busy time and iowait of the last minute, in the rows that bars leave.
fn curve(app: &App, brush: &mut Brush<'_>, area: Rect) {
    let percent = |value: f64| format!("{value:.0}%");
    let [busy, iowait] = &app.shared.cpu;
    let value = |series: &Series| percent(series.last().unwrap_or_default());
    let line = Curve::above_ground(iowait, Meaning::Curve(3), PERCENT);
    let sample = |filled, meaning| piece(if line.is_some() { sample(filled) } else { "" }, meaning);
    let caption = [
        sample(true, Meaning::Load),
        piece("all busy", Meaning::Load),
        piece(format!(" {}  ", value(busy)), Meaning::Quiet),
        sample(false, Meaning::Curve(3)),
        piece("iowait", Meaning::Curve(3)),
        piece(format!(" {}", value(iowait)), Meaning::Quiet),
    ];
    brush.write(area.x, area.y, area.width, &caption);
    let mut curves = vec![Curve { series: busy, meaning: Meaning::Load, filled: true }];
    curves.extend(line);
    let graph = Graph { curves, top: PERCENT, label: &percent, level: None, window: WINDOW };
    let now = busy.points().next_back().map_or(app.shared.now, |(at, _)| at);
    graph.draw(brush, Rect { y: area.y + 1, height: area.height - 1, ..area }, now);
}

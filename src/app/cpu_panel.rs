//! The CPUs in the stats bar.

use ratatui::layout::Rect;

use super::{App, Mode};
use crate::{
    report::why::tables::{self, Split},
    screens::widgets::{
        cpus::Cpus,
        paint::{Brush, inner, piece},
    },
    ui::theme::Meaning,
};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>, area: Rect) {
    if area.width == 0 {
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
            Mode::Capture | Mode::Folder => "Captures and texts have no live counters.",
            Mode::Demo(_) => "No counters until a test runs.",
            Mode::Live => "Counting; first bars after one second.",
        };
        brush.text(inside.x, inside.y, inside.width, text, Meaning::Quiet);
        return;
    }
    cpus.draw(brush, inside);
}

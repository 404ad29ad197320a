//! The what-if screen: the list of experiments, or the one under way with its arms, intervals and verdict.

mod arms;
mod intervals;
mod list;
mod words;

use super::paint::Brush;
use crate::app::App;

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    match &app.shared.experiments.shown {
        None => list::draw(app, brush),
        Some(shown) => {
            arms::draw(app, brush, shown);
            intervals::draw(app, brush, shown);
            words::draw(app, brush, shown);
        }
    }
}

//! All settings of the device under the cursor, where a tall terminal leaves room; below them as many in full as fit.

use ratatui::layout::Rect;

use super::{Tune, about::about};
use crate::{
    screens::widgets::{
        paint::{Brush, cells, fit, piece},
        scroll::{self, kept_in_sight, out_of_sight},
        sections::{self, Section, heading},
    },
    ui::{Shared, theme::Meaning},
};

/// Cells of a setting's name, its value and its default.
const NAME: u16 = 22;
const VALUE: u16 = 16;
/// The least cells for what a setting does.
const LEAST: u16 = 40;

pub(super) fn draw(tune: &Tune, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let settings = &shared.settings;
    let Some(device) = tune.device(settings).filter(|_| panel.height > 0) else { return };
    let is_wide = panel.width >= 2 + NAME + 2 * VALUE + LEAST;
    let title = [
        piece(device.to_string(), Meaning::Drive),
        piece("  all settings", Meaning::Heading),
        piece(if is_wide { "  now, default, what it does" } else { "  now, default" }, Meaning::Quiet),
    ];
    let inner = brush.panel(panel, &title, &[]);
    let there: Vec<usize> = (0..settings.matrix.columns.len())
        .filter(|column| settings.cell_at(tune.row, *column).is_some())
        .collect();
    let selected = there.iter().position(|column| *column == tune.column).unwrap_or(0);
    let top = kept_in_sight(0, selected, there.len(), inner.height);
    for (y, column) in (inner.y..inner.bottom()).zip(there.iter().skip(top)) {
        let (Some(setting), Some(cell)) =
            (settings.matrix.columns.get(*column), settings.cell_at(tune.row, *column))
        else {
            continue;
        };
        let is_here = *column == tune.column;
        let (lead, name) = if is_here { ("› ", Meaning::Heading) } else { ("  ", Meaning::Text) };
        let value = fit(&settings.text(tune.row, *column), VALUE - 1);
        let meaning = if cell.is_changed() { Meaning::Warning } else { Meaning::Figure };
        let default = cell.default.as_deref().unwrap_or("-");
        let pieces = [
            piece(lead, Meaning::Brand),
            piece(format!("{:<wide$}", setting.id.0, wide = usize::from(NAME)), name),
            piece(format!("{value:<wide$}", wide = usize::from(VALUE)), meaning),
            piece(format!("{:<wide$}", fit(default, VALUE - 1), wide = usize::from(VALUE)), Meaning::Quiet),
        ];
        let x = brush.write(inner.x, y, inner.width, &pieces);
        let room = inner.right().saturating_sub(x);
        if room < LEAST {
            continue;
        }
        // The first sentence, as far as it fits.
        let help = setting.help.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let help = if cells(setting.help) <= room { setting.help } else { help };
        brush.text(x, y, room, &fit(help, room), Meaning::Quiet);
    }
    scroll::mark(brush, panel, scroll::COLUMNS, out_of_sight(top, there.len(), inner.height));
    // The next ones first.
    let others: Vec<usize> =
        there.iter().cycle().skip(selected + 1).take(there.len().saturating_sub(1)).copied().collect();
    sections::fill(brush, sections::after(inner, there.len()), |width| {
        others.iter().filter_map(|column| in_full(tune, shared, *column, width)).collect()
    });
}

/// A setting of the device with all there is to know of it.
fn in_full(tune: &Tune, shared: &Shared, column: usize, width: u16) -> Option<Section> {
    let settings = &shared.settings;
    let device = tune.device(settings)?;
    let (setting, cell) = (settings.matrix.columns.get(column)?, settings.cell_at(tune.row, column)?);
    let mut lines = vec![heading(setting.id.0, &settings.text(tune.row, column))];
    about(&mut lines, shared, (device, setting, cell), width);
    Some(lines)
}

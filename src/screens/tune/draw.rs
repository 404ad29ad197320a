//! The tune screen: drives by settings, all about the cell under the cursor, what is staged and what was done.

use ratatui::layout::Rect;

use super::{
    Areas, Tune,
    about::{LABEL, about, field},
    heading_lines, over, settings_of,
};
use crate::{
    screens::widgets::{
        paint::{
            Brush, Piece, cells, fit, hanging, inner, key_hints, label, open_field, paragraph, piece,
            simulated, width,
        },
        scroll::{self, out_of_sight},
    },
    tune::{Device, Outcome, Setting, cell::Cell, settings::Risk},
    ui::{Shared, settings::Done, theme::Meaning},
    units::counted,
};

pub(super) fn draw(tune: &Tune, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(shared, area);
    if shared.settings.matrix.devices.is_empty() {
        let inner = brush.panel(area, &heading(shared), &[]);
        brush.lines(inner, &paragraph(&shared.keys.fill(why_nothing(shared)), Meaning::Text, inner.width), 0);
        return;
    }
    matrix(tune, shared, &areas, brush);
    setting(tune, shared, areas.setting, brush);
    staged(tune, shared, areas.staged, brush);
    settings_of::draw(tune, shared, areas.all, brush);
}

/// Why nothing can be set here, and what helps: an opened text, or no device with settings.
pub(super) fn why_nothing(shared: &Shared) -> &'static str {
    let settings = &shared.settings;
    let (rows, columns) = (settings.matrix.devices.len(), settings.matrix.columns.len());
    let has_value =
        |row| (0..columns).any(|at| settings.cell_at(row, at).is_some_and(|cell| cell.value.is_some()));
    match (shared.machine.pasted.is_some(), rows) {
        (false, _) => "This machine has no drives, and so no settings of drives.",
        (true, 0) => {
            "The text has no drives: nothing can be tuned here. {open} opens another one: `lspci -vv` and `lsblk -t` of a machine with \
             drives, in one text."
        }
        (true, _) if (0..rows).any(has_value) => {
            "An opened text is only shown: nothing can be tuned here. The text lacks the values marked ?."
        }
        (true, _) => {
            "The text has no values of settings: nothing can be tuned here. `lsblk -t` in the same text has scheduler, readahead and \
             requests."
        }
    }
}

fn matrix(tune: &Tune, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let settings = &shared.settings;
    let (head, rows) = (areas.head, areas.rows);
    let shown = tune.columns_shown(settings, rows.width);
    let heading = heading(shared);
    let room = brush.title_room(areas.matrix.width).saturating_sub(width(&heading));
    let hidden = out_of_sight(tune.top, settings.matrix.devices.len(), rows.height);
    // Without a box the mark of rows out of sight stands in the same rule.
    let mark = if hidden == (0, 0) || brush.boxed { 0 } else { MARK };
    brush.panel(areas.matrix, &heading, &legend(tune, shared, shown.len(), room.saturating_sub(mark)));
    for (column, x, _) in &shown {
        let Some(setting) = settings.matrix.columns.get(*column) else { continue };
        let lines = heading_lines(setting.label);
        let top = head.y + 2u16.saturating_sub(u16::try_from(lines.len()).unwrap_or(2));
        let meaning = if *column == tune.column { Meaning::Heading } else { Meaning::Quiet };
        for (y, line) in (top..head.bottom()).zip(&lines) {
            brush.text(head.x + x, y, head.width.saturating_sub(*x), line, meaning);
        }
    }
    for (y, (row, device)) in
        (rows.y..rows.bottom()).zip(settings.matrix.devices.iter().enumerate().skip(tune.top))
    {
        name(shared, brush, Rect { y, height: 1, ..rows }, device, row == tune.row);
        for (column, x, wide) in &shown {
            let area =
                Rect { x: rows.x + x, y, width: (*wide).min(rows.width.saturating_sub(*x)), height: 1 };
            cell(tune, shared, brush, area, row, *column);
        }
    }
    scroll::mark(brush, areas.matrix, scroll::ROWS, hidden);
}

/// `Settings  2 staged, 3 stand changed`.
fn heading(shared: &Shared) -> Vec<Piece> {
    let mut title = vec![piece("Settings", Meaning::Heading)];
    let staged = shared.settings.staged.len();
    if staged > 0 {
        title.push(piece(format!("  {staged} staged"), Meaning::Marked));
    }
    let standing = shared.standing();
    if standing > 0 {
        title.push(piece(format!("  {} changed", counted(standing, "setting")), Meaning::Warning));
    }
    if shared.settings.busy {
        title.push(piece("  writing", Meaning::Warning));
    }
    if let Some(why) = shared.why_not_tune() {
        title.push(piece(format!("  {why}: staged values become commands"), Meaning::Quiet));
    }
    title
}

/// The marks' meaning and the visible part of the table, in as many words as the room of the note holds.
fn legend(tune: &Tune, shared: &Shared, shown: usize, room: u16) -> Vec<Piece> {
    let all = shared.settings.matrix.columns.len();
    let columns = (shown < all).then(|| {
        let from = tune.left;
        let before = if from > 0 { "‹ " } else { "" };
        let after = if from + shown < all { " ›" } else { "" };
        piece(format!("{before}columns {}-{} of {all}{after}", from + 1, from + shown), Meaning::Quiet)
    });
    let with = |default: &str| -> Vec<Piece> {
        let gap = if columns.is_some() { "  " } else { "" };
        let marks = [
            piece("*", Meaning::Warning),
            piece(" changed  ", Meaning::Quiet),
            piece("~", Meaning::Drive),
            piece(format!(" not {default}{gap}"), Meaning::Quiet),
        ];
        marks.into_iter().chain(columns.clone()).collect()
    };
    let forms = ["the kernel's default", "default"].map(with);
    let fitting = forms.into_iter().find(|note| width(note) + NOTE <= room);
    fitting.unwrap_or_else(|| columns.into_iter().collect())
}

fn name(shared: &Shared, brush: &mut Brush<'_>, row: Rect, device: &Device, selected: bool) {
    let marked = matches!(device, Device::Drive(name) if shared.marks.contains(name));
    let (symbol, meaning) = match (marked, selected) {
        (true, _) => ("●", Meaning::Marked),
        (false, true) => ("›", Meaning::Brand),
        (false, false) => (" ", Meaning::Text),
    };
    let weight = match (device, selected) {
        (_, true) => Meaning::Heading,
        (Device::Drive(_), _) => Meaning::Drive,
        _ => Meaning::Text,
    };
    let pieces = [piece(symbol, meaning), piece(" ", Meaning::Text), piece(device.to_string(), weight)];
    brush.write(row.x, row.y, row.width, &pieces);
}

fn cell(tune: &Tune, shared: &Shared, brush: &mut Brush<'_>, area: Rect, row: usize, column: usize) {
    let settings = &shared.settings;
    let (Some(device), Some(setting)) =
        (settings.matrix.devices.get(row), settings.matrix.columns.get(column))
    else {
        return;
    };
    let here = (row, column) == (tune.row, tune.column);
    if let (true, Some(input)) = (here, &tune.edit) {
        brush.write(area.x, area.y, area.width, &[open_field(input, area.width)]);
        return;
    }
    let text = settings.text(row, column);
    let known = settings.cell_at(row, column);
    let meaning = match known {
        None => Meaning::Lines,
        Some(_) if settings.staged_for(device, setting.id).is_some() => Meaning::Marked,
        Some(cell) if cell.is_changed() => Meaning::Warning,
        Some(cell) if cell.value.is_none() || setting.risk != Risk::Live => Meaning::Quiet,
        Some(cell) if cell.is_unusual() => Meaning::Drive,
        Some(_) => Meaning::Text,
    };
    let text = fit(&text, area.width);
    brush.text(area.x, area.y, area.width, &text, meaning);
    if here {
        brush.shade(Rect { width: cells(&text).max(1), ..area }, Meaning::Selected);
    }
}

/// Cells around a note and between it and the title.
const NOTE: u16 = 4;
/// Cells of the mark of rows out of sight.
const MARK: u16 = 12;

fn setting(tune: &Tune, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some((device, row)) = tune.device(&shared.settings).zip(tune.setting(&shared.settings)) else {
        return;
    };
    let title =
        [piece(device.to_string(), Meaning::Drive), piece(format!("  {}", row.id.0), Meaning::Heading)];
    let inner = brush.panel(panel, &title, &[]);
    let hidden = brush.lines(inner, &words(tune, shared, panel), tune.detail_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
}

/// All about the cell under the cursor, in lines that fit the panel.
pub(super) fn words(tune: &Tune, shared: &Shared, panel: Rect) -> Vec<Vec<Piece>> {
    let width = inner(panel, shared.is_boxed()).width;
    let Some((device, row)) = tune.device(&shared.settings).zip(tune.setting(&shared.settings)) else {
        return Vec::new();
    };
    let Some(cell) = tune.cell(&shared.settings) else {
        return paragraph(&format!("{device} has no such setting."), Meaning::Quiet, width);
    };
    let mut lines = vec![values(shared, device, row, cell)];
    let targets = tune.targets(shared).len();
    if targets > 1 {
        field(&mut lines, "marked", &format!("a change applies to {targets} drives"), Meaning::Marked, width);
    }
    about(&mut lines, shared, (device, row, cell), width);
    lines
}

/// `now none → mq-deadline staged   before none   default 128`.
fn values(shared: &Shared, device: &Device, row: &Setting, cell: &Cell) -> Vec<Piece> {
    let mut line = vec![label("now", LABEL)];
    let now = cell.value.as_ref().map_or("unknown", |value| value.as_str());
    line.push(piece(now, Meaning::Figure));
    if let Some(staged) = shared.settings.staged_for(device, row.id) {
        line.push(piece(format!(" → {}", staged.value), Meaning::Marked));
        line.push(piece(" staged", Meaning::Quiet));
    }
    if let Some(found) = cell.found.as_ref().filter(|_| cell.is_changed()) {
        line.push(piece("   before ", Meaning::Quiet));
        line.push(piece(format!("{found}*"), Meaning::Warning));
    }
    if let Some(default) = &cell.default {
        line.push(piece("   default ", Meaning::Quiet));
        line.push(piece(default.clone(), Meaning::Text));
    }
    line
}

/// Staged values, and below them the results of the last writes.
fn staged(tune: &Tune, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    if panel.width == 0 {
        return;
    }
    let title = if shared.settings.staged.is_empty() { "Changes" } else { "Staged" };
    let inner = brush.panel(panel, &[piece(title, Meaning::Heading)], simulated(shared.is_simulated()));
    let lines = changes(shared, inner.width);
    let hidden = brush.lines(inner, &lines, tune.changes_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
}

pub(super) fn changes(shared: &Shared, room: u16) -> Vec<Vec<Piece>> {
    let settings = &shared.settings;
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    for staged in &settings.staged {
        let from = staged.changes.first().map_or("", |change| change.from.as_str());
        lines.push(vec![
            piece(format!("{:<10}", staged.device), Meaning::Drive),
            piece(format!("{:<18}", staged.setting.0), Meaning::Text),
            piece(format!("{from} → {}", staged.value), Meaning::Marked),
        ]);
    }
    if !settings.staged.is_empty() {
        lines.push(key_hints(&shared.keys, &[("apply", "shows the writes"), ("undo one", "drops one")]));
        lines.push(Vec::new());
    }
    lines.extend(settings.done.iter().flat_map(|done| outcome(done, room)));
    for prospect in settings.left_alone().filter(|prospect| !settings.has_undone(&prospect.step)) {
        let lead = format!("{} {} ", prospect.step.device.name, prospect.step.setting);
        let words = over::set_since(prospect);
        lines.extend(hanging(piece(lead, Meaning::Text), &words, Meaning::Warning, room));
    }
    if shared.standing() > 0 {
        let (by, _) = over::whose(shared);
        let text = format!("undoes the {} {by} changed", counted(shared.standing(), "setting"));
        lines.push(key_hints(&shared.keys, &[("undo all", &text)]));
    }
    if lines.is_empty() && shared.machine.pasted.is_some() {
        return paragraph(&shared.keys.fill(why_nothing(shared)), Meaning::Quiet, room);
    }
    if lines.is_empty() {
        let texts = [
            "Nothing staged, nothing changed.",
            "{next value} and {previous value} select a value, {edit value} edits it; {mark row} marks drives, so that a change applies to \
             all of them. Nothing is written before {apply} shows every write and Enter confirms.",
        ];
        lines.extend(texts.iter().flat_map(|text| paragraph(&shared.keys.fill(text), Meaning::Quiet, room)));
    }
    lines
}

/// `✓ nvme0n1 scheduler none → mq-deadline  accepted`, in two lines where one is too short.
fn outcome(done: &Done, room: u16) -> Vec<Vec<Piece>> {
    let (symbol, meaning) = match done {
        _ if done.is_good() => ("✓ ", Meaning::Good),
        Done::Made(_, Ok(Outcome::Adjusted { .. })) => ("≈ ", Meaning::Warning),
        Done::Made(_, Ok(Outcome::Ignored)) => ("○ ", Meaning::Warning),
        _ => ("! ", Meaning::Problem),
    };
    let head = vec![piece(symbol, meaning), piece(done.what(), Meaning::Text)];
    let came = done.came_to();
    if width(&head) + 2 + cells(&came) <= room {
        return vec![[head, vec![piece("  ", Meaning::Text), piece(came, meaning)]].concat()];
    }
    [vec![head], hanging(piece("    ", meaning), &came, meaning, room)].concat()
}

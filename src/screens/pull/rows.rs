//! The drives of a pull: what each reads now, read alone, and could read; its link and temperature.

use ratatui::layout::Rect;

use super::Pull;
use crate::{
    capacity::{Potential, potential::of_drive},
    machine::hop,
    model::{Basis, Target},
    pull::{Condition, DriveResult, Phase, Pull as Pulled, is_small},
    screens::widgets::{
        paint::{Brush, cells, fit, fit_name, piece},
        scroll::{self, out_of_sight},
        words::{bar_meaning, giga_before_unit, rate},
    },
    ui::{Shared, theme::Meaning},
    units::{UnitSystem, count},
};

/// From this width on the panel has columns with headings.
const WIDE: u16 = 110;
/// Block of the large reads, bytes.
const LARGE: f64 = 1_048_576.0;

/// A drive's row.
pub(super) struct Row {
    name: String,
    /// Bytes and reads per second: now, else with all others, else alone.
    measured: Option<(f64, f64)>,
    /// Bytes per second alone.
    alone: Option<f64>,
    expected: Option<f64>,
    potential: Option<Potential>,
    /// The limit that keeps it below its potential.
    limited_by: Option<String>,
    condition: Option<Condition>,
    /// Whether the run in progress reads it.
    is_read: bool,
    /// The last words of its row: its limit, or its user.
    note: Option<String>,
}

/// The drives of the pull that waits, of the one in progress as they read now, of the last one.
pub(super) fn rows(shared: &Shared) -> Vec<Row> {
    let pulls = &shared.pulls;
    if let Some(pull) = pulls.asked.as_ref().or(pulls.running.as_ref()) {
        let targets = pull.targets().iter().zip(pull.conditions());
        let row = |(target, condition): (&Target, &Option<Condition>)| {
            let row = Row { condition: condition.clone(), ..waiting(shared, target) };
            if pulls.running.is_some() { reading(shared, target, row) } else { row }
        };
        return targets.map(row).collect();
    }
    let of = |drive: &DriveResult| Row {
        name: drive.name.clone(),
        measured: drive.measured.or(drive.alone).map(|bytes| (bytes, 0.0)),
        alone: drive.alone,
        expected: drive.expected,
        potential: drive.potential.clone(),
        limited_by: drive.limit().map(str::to_owned),
        condition: drive.condition.clone(),
        is_read: true,
        note: drive.limit().map(str::to_owned),
    };
    let Some((pull, outcome)) = &pulls.ended else { return Vec::new() };
    if outcome.drives.is_empty() {
        return pull.targets().iter().map(|target| waiting(shared, target)).collect();
    }
    outcome.drives.iter().map(of).collect()
}

/// Before it is read.
fn waiting(shared: &Shared, target: &Target) -> Row {
    let drive = target.drive.as_ref().and_then(|name| shared.machine.drive(name));
    let whole = drive.filter(|drive| drive.target().path == target.path);
    let user = whole.and_then(|drive| drive.used_by.first());
    Row {
        name: target.path.to_string_lossy().trim_start_matches("/dev/").to_owned(),
        measured: None,
        alone: None,
        expected: None,
        potential: drive.and_then(|drive| of_drive(&shared.machine, &shared.limits, drive, LARGE)),
        limited_by: None,
        condition: None,
        is_read: false,
        note: user.map(|user| format!("in use: {user}")),
    }
}

/// With what the run in progress reads of it, or what an earlier one read.
fn reading(shared: &Shared, target: &Target, row: Row) -> Row {
    let pull = shared.pulls.running.as_ref();
    let runs = pull.into_iter().flat_map(Pulled::done).filter(|done| done.step.phase == Phase::Alone);
    let mut runs = runs.filter(|done| done.step.workload.targets.contains(target));
    let alone = runs.find_map(|done| Some(done.result.as_ref().ok()?.bytes_per_second()));
    let now = shared.tests.running().and_then(|test| {
        let index = test.workload.targets.iter().position(|other| other.path == target.path)?;
        Some((test, index))
    });
    let row = Row { alone, note: None, ..row };
    match now {
        Some((test, index)) => Row {
            measured: test.reads(index).zip(test.reads_per_second(index)),
            expected: test.expected_of(index),
            potential: test.potentials.get(index).cloned().flatten(),
            is_read: true,
            ..row
        },
        None => Row { measured: alone.map(|bytes| (bytes, bytes / LARGE)), ..row },
    }
}

impl Row {
    /// Measured over potential; `None` before anything was read, and without a potential.
    fn share(&self) -> Option<f64> {
        let (bytes, _) = self.measured?;
        Some(bytes / self.potential.as_ref()?.bytes_per_second.0.max(1.0))
    }

    fn meaning(&self, share: f64, is_running: bool) -> Meaning {
        let at_most = self.potential.as_ref().is_none_or(|potential| potential.basis == Basis::Link);
        bar_meaning(share, self.limited_by.is_some(), at_most || is_running)
    }

    /// `3.58 of 7.14 GB/s`; of small reads `400 k of 1.15 M IOPS`.
    fn figures(&self, units: UnitSystem, is_small: bool) -> String {
        let at_most =
            if self.potential.as_ref().is_some_and(|one| one.basis == Basis::Link) { "at most " } else { "" };
        let measured = |write: &dyn Fn(f64, f64) -> String| {
            self.measured.map_or_else(|| "-".to_owned(), |(bytes, iops)| write(bytes, iops))
        };
        match (&self.potential, is_small && self.is_read) {
            (Some(potential), true) => {
                let now = measured(&|_, iops| count(iops));
                format!("{now} of {at_most}{} IOPS", count(potential.iops))
            }
            (Some(potential), false) => {
                let now = measured(&|bytes, _| giga_before_unit(units, bytes));
                format!("{now} of {at_most}{}", rate(units, potential.bytes_per_second.0))
            }
            (None, true) => measured(&|_, iops| format!("{} IOPS", count(iops))),
            (None, false) => measured(&|bytes, _| rate(units, bytes)),
        }
    }

    /// Cells between its name and its bar: link and temperature.
    fn state(&self) -> [String; 2] {
        let condition = self.condition.as_ref();
        let link = condition.and_then(Condition::link).map(hop::short);
        let celsius = condition.and_then(Condition::celsius).map(|celsius| format!("{celsius:.0} °C"));
        [link, celsius].map(|cell| cell.unwrap_or_else(|| "-".to_owned()))
    }

    /// Cells behind its figures: alone and expected.
    /// They are of large reads: small ones say nothing.
    fn compared(&self, units: UnitSystem, is_small: bool) -> [String; 2] {
        [self.alone, self.expected]
            .map(|one| one.filter(|_| !is_small))
            .map(|one| one.map_or_else(|| "-".to_owned(), |bytes| rate(units, bytes)))
    }
}

/// Draws the panel.
pub(super) fn draw(state: &Pull, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let rows = rows(shared);
    if rows.is_empty() || area.height < 2 {
        return;
    }
    let together = match (&shared.pulls.asked, &shared.pulls.running, &shared.pulls.ended) {
        (Some(_), ..) => "to be read",
        (_, Some(_), _) => "now or alone, of what each could read",
        (.., Some((_, outcome))) if outcome.drives.is_empty() => "not read",
        (.., Some((_, outcome))) if outcome.headline.figures.is_none() => "alone, of what each could read",
        _ => "all together, of what each could read",
    };
    let is_files = rows.iter().all(|row| row.name.starts_with('/'));
    let what = if is_files { "Files" } else { "Drives" };
    let title = [piece(what, Meaning::Heading), piece(format!("  {together}"), Meaning::Quiet)];
    let mut inner = brush.panel(area, &title, &[]);
    let is_small = shared.pulls.step().is_some_and(|step| is_small(&step.workload));
    let is_wide = inner.width >= WIDE;
    let widest = |texts: &mut dyn Iterator<Item = u16>| texts.max().unwrap_or(0);
    let figures: Vec<String> = rows.iter().map(|row| row.figures(shared.units, is_small)).collect();
    let wide = widest(&mut figures.iter().map(|figure| cells(figure))).max(cells("rate"));
    let bar = if is_wide { (inner.width / 6).min(40) } else { (inner.width / 4).clamp(10, 60) };
    // A bar gives way to the words behind it, which would be cut.
    let note = |row: &Row| row.note.as_deref().map_or(0, cells);
    let notes = widest(&mut rows.iter().map(note));
    // Without columns a note stands behind the figure of its row.
    let behind =
        |(row, figure): (&Row, &String)| cells(figure) + if note(row) > 0 { 2 + note(row) } else { 0 };
    let words = widest(&mut rows.iter().zip(&figures).map(behind)) + 2;
    let others = if is_wide { LINK + CELSIUS + 2 * RATE + 8 + wide + 4 + notes } else { words };
    let least = if is_wide { cells(SHARE) } else { LEAST_BAR };
    // A name takes what nothing else needs.
    let longest = widest(&mut rows.iter().map(|row| cells(&row.name)));
    let name = longest.min(inner.width.saturating_sub(others + least).max(NAME));
    let name = name.max(if is_wide { cells("drive") } else { 0 });
    let others = others + name;
    let bar = bar.min(inner.width.saturating_sub(others)).max(least.min(bar));
    let columns = Columns { name, bar, figures: wide, is_wide, is_small };
    if is_wide {
        columns.headings(if is_files { "file" } else { "drive" }, brush, inner);
        inner = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    }
    for (y, (row, figure)) in (inner.y..inner.bottom()).zip(rows.iter().zip(&figures).skip(state.top)) {
        columns.row(brush, shared, Rect { y, height: 1, ..inner }, row, figure);
    }
    let ways = if rows.len() > usize::from(inner.height) { scroll::ROWS } else { scroll::PAGES };
    scroll::mark(brush, area, ways, out_of_sight(state.top, rows.len(), inner.height));
}

/// Lines that the panel takes besides its rows, without its frame.
pub(super) fn heading(width: u16) -> u16 {
    u16::from(width >= WIDE)
}

/// Widths of the columns.
struct Columns {
    name: u16,
    bar: u16,
    figures: u16,
    is_wide: bool,
    /// Whether I/Os per second are shown, not bytes.
    is_small: bool,
}

/// `Gen4 x16`, `100 °C`, `7.11 GB/s`.
const LINK: u16 = 8;
const CELSIUS: u16 = 6;
const RATE: u16 = 9;
/// The heading of bars, which they stay as wide as; without headings a bar gives room away down to these cells.
const SHARE: &str = "of its potential";
const LEAST_BAR: u16 = 4;
/// Cells that a name has at least.
const NAME: u16 = 20;

impl Columns {
    fn headings(&self, what: &str, brush: &mut Brush<'_>, line: Rect) {
        let mut x = line.x;
        for (word, width) in [
            (what, self.name),
            ("link", LINK),
            ("temp", CELSIUS),
            (SHARE, self.bar),
            ("rate", self.figures),
            ("alone", RATE),
            ("expected", RATE),
            ("limit", line.right().saturating_sub(x)),
        ] {
            let room = width.min(line.right().saturating_sub(x));
            brush.text(x, line.y, room, &fit(word, room), Meaning::Quiet);
            x += width + 2;
        }
    }

    fn row(&self, brush: &mut Brush<'_>, shared: &Shared, line: Rect, row: &Row, figure: &str) {
        let gap = if self.is_wide { 2 } else { 1 };
        let (y, mut x) = (line.y, line.x);
        brush.text(x, y, self.name, &fit_name(&row.name, self.name), Meaning::Drive);
        x += self.name + gap;
        if self.is_wide {
            for (cell, width) in row.state().iter().zip([LINK, CELSIUS]) {
                brush.text(x, y, width, &fit(cell, width), Meaning::Text);
                x += width + gap;
            }
        }
        if let Some(share) = row.share() {
            let is_running = shared.pulls.running.is_some();
            let meaning = if row.is_read { row.meaning(share, is_running) } else { Meaning::Quiet };
            brush.bar(x, y, self.bar, share, meaning);
        }
        x += self.bar + gap;
        let room = line.right().saturating_sub(x);
        let meaning = if row.is_read { Meaning::Figure } else { Meaning::Quiet };
        let end = brush.text(x, y, room, &fit(figure, room), meaning);
        x += self.figures + 2;
        if self.is_wide {
            for cell in row.compared(shared.units, self.is_small) {
                brush.text(x, y, RATE, &fit(&cell, RATE), Meaning::Text);
                x += RATE + gap;
            }
        }
        if let Some(note) = &row.note {
            // A long one begins before its column where the row's own figure leaves cells.
            let x =
                if self.is_wide { x } else { x.min(line.right().saturating_sub(cells(note))).max(end + 2) };
            let room = line.right().saturating_sub(x);
            brush.text(x, y, room, &fit(note, room), Meaning::Quiet);
        }
    }
}

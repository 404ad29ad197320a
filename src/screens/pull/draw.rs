//! How the pull's page looks.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Areas, Pull};
use crate::{
    capacity::Potential,
    model::Basis,
    pull::{DriveResult, Outcome, Phase, is_small},
    screens::widgets::{
        paint::{Brush, Piece, cells, fit, hints, paragraph, piece, simulated},
        words::{bar_meaning, giga, rate},
    },
    ui::{Shared, test::TargetCurves, theme::Meaning},
    units::{UnitSystem, count, counted},
};

/// A drive's row.
pub(super) struct Row {
    name: String,
    /// Bytes and reads per second with all others, or now.
    measured: Option<(f64, f64)>,
    potential: Option<Potential>,
    /// The limit that keeps it below its potential.
    limited_by: Option<String>,
}

pub(super) fn draw(state: &Pull, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(shared, area);
    let note = simulated(shared.is_simulated());
    let inner = brush.panel(areas.head, &[piece("Pull", Meaning::Heading)], note);
    brush.lines(inner, &head(shared, inner.width), 0);
    if let Some((done, left)) = shared.pulls.time(shared.tests.running()) {
        let share = done.as_secs_f64() / (done + left).as_secs_f64().max(1e-9);
        brush.bar(inner.x, inner.y + 1, inner.width, share, Meaning::Brand);
    }
    drives(state, shared, areas.drives, brush);
}

/// Consent, progress, headline, or what a pull is: lines of at most `width` cells.
pub(super) fn head(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let pulls = &shared.pulls;
    let quiet = |text: &str| paragraph(text, Meaning::Quiet, width);
    if let Some(pull) = &pulls.asked {
        let seconds = pull.time_left().as_secs();
        let ask = match pull.size() {
            None => {
                let drives = counted(pull.targets().len(), "drive");
                format!("Read {drives} for at most {seconds} s? It reads only and changes no setting.")
            }
            Some(size) => {
                let (size, files) = (shared.units.size(size), counted(pull.targets().len(), "file"));
                format!(
                    "The drives may not be read here. Read {files} of {size} for at most {seconds} s instead?"
                )
            }
        };
        let mut lines = paragraph(&ask, Meaning::Figure, width);
        if pull.size().is_some() {
            lines.extend(pull.targets().iter().map(|target| {
                vec![piece(
                    format!("{} is written first and removed afterwards", target.path.display()),
                    Meaning::Warning,
                )]
            }));
        }
        let large =
            if pull.targets().len() > 1 { "Each drive alone, then all together" } else { "Large reads" };
        lines.extend(quiet(&format!("{large}; 4 KiB random reads; latency at depth 1.")));
        if let Some(few) = pull.representatives() {
            lines.extend(quiet(&format!("Alone: {few} drives, one of each model and link.")));
        }
        let whole = pull.targets().iter().filter(|_| pull.size().is_none());
        let in_use = whole.filter_map(|target| {
            let drive = shared.machine.drive(target.drive.as_ref()?)?;
            Some(format!("{} in use: {}", drive.name, drive.used_by.first()?))
        });
        lines.extend(in_use.map(|line| vec![piece(fit(&line, width), Meaning::Warning)]));
        lines.push(hints(&[("Enter", "start"), ("Esc", "cancel")]));
        return lines;
    }
    if let Some((step, (_, left))) = pulls.step().zip(pulls.time(shared.tests.running())) {
        let preparing = shared.tests.running().and_then(|test| test.preparing.clone());
        return vec![
            vec![
                piece(phase(&step.phase), Meaning::Figure),
                piece(fit(&format!("  {}", step.title()), width.saturating_sub(24)), Meaning::Text),
            ],
            Vec::new(),
            vec![
                piece(
                    preparing.map_or_else(String::new, |busy_with| format!("{busy_with}  ")),
                    Meaning::Warning,
                ),
                piece(format!("{} left at most", seconds(left)), Meaning::Text),
                piece("  x", Meaning::Key),
                piece(" stop", Meaning::Quiet),
                piece("  d", Meaning::Key),
                piece(" curves", Meaning::Quiet),
            ],
        ];
    }
    match &pulls.ended {
        Some((_, outcome)) => headline(outcome, width),
        None => quiet(
            "A pull reads each drive alone, then all together, and names the limit between them: one sentence with figure, \
             loss, cause, remedy and gain. It reads only. r starts it.",
        ),
    }
}

/// The figure in the color of its share, then the rest of the sentence and the further lines.
fn headline(outcome: &Outcome, width: u16) -> Vec<Vec<Piece>> {
    let text = &outcome.headline.text;
    let end = text.find(").").map_or(0, |end| end + 2);
    let (figure, rest) = text.split_at(end);
    let is_limited = !outcome.headline.lost_to.is_empty();
    let meaning =
        outcome.headline.share().map_or(Meaning::Figure, |share| bar_meaning(share, is_limited, false));
    let mut lines = paragraph(figure, meaning, width);
    if end == 0 {
        lines.clear();
    }
    lines.extend(paragraph(rest.trim_start(), Meaning::Text, width));
    for line in &outcome.lines {
        lines.extend(paragraph(line, Meaning::Quiet, width));
    }
    for doubt in &outcome.doubts {
        lines.extend(paragraph(doubt, Meaning::Warning, width));
    }
    lines
}

/// `41 s`.
fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64().ceil())
}

const fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Alone => "1 of 4: each drive alone",
        Phase::Together => "2 of 4: all together",
        Phase::Jobs(_) => "3 of 4: how many jobs",
        Phase::Random => "3 of 4: random reads",
        Phase::Latency => "4 of 4: latency",
        Phase::Row(name) => name,
    }
}

/// The drives: those of the run in progress as they read now, else those of the last pull.
pub(super) fn rows(shared: &Shared) -> Vec<Row> {
    let running = shared.pulls.running.as_ref().and_then(|_| shared.tests.running());
    if let Some(test) = running {
        let row = |(index, target): (usize, &TargetCurves)| Row {
            name: target.name.as_str().trim_start_matches("/dev/").to_owned(),
            measured: test.reads(index).zip(target.curves.iops.last()),
            potential: test.potentials.get(index).cloned().flatten(),
            limited_by: None,
        };
        return test.targets.iter().enumerate().map(row).collect();
    }
    let of = |drive: &DriveResult| Row {
        name: drive.name.clone(),
        measured: drive.measured.or(drive.alone).map(|bytes| (bytes, 0.0)),
        potential: drive.potential.clone(),
        limited_by: drive.limit().map(str::to_owned),
    };
    shared.pulls.ended.iter().flat_map(|(_, outcome)| &outcome.drives).map(of).collect()
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
        match (&self.potential, is_small) {
            (Some(potential), true) => {
                let now = measured(&|_, iops| count(iops));
                format!("{now} of {at_most}{} IOPS", count(potential.iops))
            }
            (Some(potential), false) => {
                let now = measured(&|bytes, _| giga(units, bytes));
                format!("{now} of {at_most}{}", rate(units, potential.bytes_per_second.0))
            }
            (None, true) => measured(&|_, iops| format!("{} IOPS", count(iops))),
            (None, false) => measured(&|bytes, _| rate(units, bytes)),
        }
    }
}

fn drives(state: &Pull, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let rows = rows(shared);
    if rows.is_empty() || area.height < 3 {
        return;
    }
    let together = if shared.pulls.running.is_some() { "now" } else { "all together" };
    let title = [
        piece("Drives", Meaning::Heading),
        piece(format!("  {together}, of what each could read"), Meaning::Quiet),
    ];
    let inner = brush.panel(area, &title, &[]);
    let is_small = shared.pulls.step().is_some_and(|step| is_small(&step.workload));
    let name = rows.iter().map(|row| cells(&row.name)).max().unwrap_or(0).min(20);
    let figures: Vec<String> = rows.iter().map(|row| row.figures(shared.units, is_small)).collect();
    let wide = figures.iter().map(|figure| cells(figure)).max().unwrap_or(0);
    let bar = (inner.width / 4).clamp(10, 60);
    for (y, (row, figure)) in (inner.y..inner.bottom()).zip(rows.iter().zip(&figures).skip(state.top)) {
        brush.text(inner.x, y, name, &fit(&row.name, name), Meaning::Drive);
        let x = inner.x + name + 1;
        if let Some(share) = row.share() {
            brush.bar(x, y, bar, share, row.meaning(share, shared.pulls.running.is_some()));
        }
        let x = x + bar + 1;
        brush.text(x, y, inner.right().saturating_sub(x), figure, Meaning::Figure);
        if let Some(limit) = &row.limited_by {
            let x = x + wide + 2;
            let room = inner.right().saturating_sub(x);
            brush.text(x, y, room, &fit(limit, room), Meaning::Quiet);
        }
    }
    brush.more(area, rows.len().saturating_sub(state.top + usize::from(inner.height)));
}

//! The workload's form and the list of tests before.

use ratatui::layout::Rect;

use super::{
    Areas, Dyno,
    form::{FIELDS, Form},
};
use crate::{
    model::{Pattern, RunSummary, Workload},
    screens::widgets::{
        paint::{Brush, Piece, cells, fit, fit_end, open_field, paragraph, piece, width},
        scroll::{self, kept_in_sight, out_of_sight},
        words::rate,
    },
    ui::{
        Shared,
        marks::{fitting, names},
        test::Test,
        theme::Meaning,
    },
    units::{UnitSystem, block_size, count, counted},
};

const LABEL: u16 = 14;
/// Cells of the names of marked drives in the title.
const MOST_NAMES: usize = 79;

pub(super) fn draw(state: &Dyno, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let form = &state.form;
    let chosen = state.targets(shared).len();
    // The longest first.
    let what = match (form.files.len(), shared.marks.is_empty()) {
        _ if shared.pulls.running.is_some() => vec!["the pull runs".to_owned()],
        (1, _) => vec!["a file".to_owned()],
        (2.., _) => vec![counted(chosen, "file")],
        (0, true) if chosen == 1 => vec![counted(chosen, "drive")],
        (0, true) => vec![format!("all {}", counted(chosen, "drive")), format!("all {chosen}")],
        (0, false) => marked(shared),
    };
    let rows = areas.form_rows;
    let top = form_top(state, rows);
    let hidden = out_of_sight(top, FIELDS.len(), rows.height);
    let shown = state.ended(shared);
    let heading = if shown.is_some_and(|test| !is_of(form, test)) { "next test" } else { "workload" };
    let title = title(
        (heading, form.profile()),
        &what,
        brush.title_room(areas.form.width).saturating_sub(1) - scroll::in_rule(brush, hidden),
    );
    brush.panel(areas.form, &title, &[]);
    for (y, (index, field)) in (rows.y..rows.bottom()).zip(FIELDS.iter().enumerate().skip(top)) {
        let selected = index == form.at;
        if selected {
            brush.text(rows.x, y, 1, "›", Meaning::Brand);
        }
        let label = if selected { Meaning::Text } else { Meaning::Quiet };
        brush.text(rows.x + 2, y, LABEL, field.name, label);
        let x = rows.x + 2 + LABEL;
        let room = rows.right().saturating_sub(x);
        let editing = selected.then_some(form.edit.as_ref()).flatten();
        if let Some(input) = editing {
            brush.write(x, y, room, &[open_field(input, room)]);
            continue;
        }
        let value = field.show(form);
        let label = cells(field.name) + 1;
        let shown = match value.as_str() {
            // Where the title has no room for names, they are here.
            "" if field.name == "filename" && !shared.marks.is_empty() => {
                let names = names(&shared.marks, usize::from(room + LABEL - label));
                names.unwrap_or_else(|| format!("{} marked", shared.marks.len()))
            }
            "" => field.empty.to_owned(),
            // A path takes the free cells behind its field's name; of a longer one the end tells most.
            path if field.name == "filename" => fit_end(path, room + LABEL - label),
            value => fit(value, room),
        };
        let meaning = if value.is_empty() { Meaning::Quiet } else { Meaning::Figure };
        let x = x.min(rows.right().saturating_sub(cells(&shown)));
        let end = brush.text(x, y, rows.right().saturating_sub(x), &shown, meaning);
        if selected {
            let area = Rect { x, y, width: end - x, height: 1 };
            brush.shade(area, Meaning::Selected);
        }
    }
    help(state, shared, rows, brush);
    scroll::mark(brush, areas.form, scroll::ROWS, hidden);
}

/// Whether a test ran with the values that the form has, whatever it read.
fn is_of(form: &Form, test: &Test) -> bool {
    let values = |workload: &Workload| Workload { targets: Vec::new(), ..workload.clone() };
    values(&form.workload) == values(&test.workload)
}

/// Names of the marked drives, from all of them to the first one, then their count.
fn marked(shared: &Shared) -> Vec<String> {
    let mut forms = fitting(&shared.marks, MOST_NAMES);
    forms.reverse();
    forms.push(format!("{} marked", shared.marks.len()));
    forms
}

/// The profile's name and what is read behind the heading, in whole parts: the drives count most, then the name. `what` has
/// forms of the drives, the longest first.
fn title((heading, profile): (&'static str, Option<&str>), what: &[String], room: u16) -> Vec<Piece> {
    let heading = piece(heading, Meaning::Heading);
    let quiet = |text: &str| piece(format!("  {text}"), Meaning::Quiet);
    let mut titles: Vec<Vec<Piece>> = Vec::new();
    if let Some(name) = profile {
        for what in what {
            titles.push(vec![heading.clone(), quiet(name), quiet(what)]);
            titles.push(vec![piece(name, Meaning::Heading), quiet(what)]);
        }
        titles.push(vec![piece(name, Meaning::Heading)]);
    }
    titles.extend(what.iter().map(|what| vec![heading.clone(), quiet(what)]));
    titles.push(vec![heading]);
    let fits = |title: &&Vec<Piece>| width(title) <= room;
    titles.iter().find(fits).or(titles.last()).cloned().unwrap_or_default()
}

/// The first field shown: the selected one is in sight.
pub(super) fn form_top(state: &Dyno, rows: Rect) -> usize {
    kept_in_sight(0, state.form.at, FIELDS.len(), rows.height)
}

/// Help of the field, below the fields.
fn help(state: &Dyno, shared: &Shared, rows: Rect, brush: &mut Brush<'_>) {
    let fields = u16::try_from(FIELDS.len()).unwrap_or(0);
    let below = Rect { y: rows.y + fields, height: rows.height.saturating_sub(fields), ..rows };
    if below.height > 0 {
        brush.lines(below, &help_in(state.form.field().help, shared, below), 0);
    }
}

/// Help of a field in the rows of `area`: where they are too few, its first phrases and the key that shows all of it.
pub(super) fn help_in(text: &str, shared: &Shared, area: Rect) -> Vec<Vec<Piece>> {
    let more = shared.keys.fill("… {help} shows all");
    let ends = text.match_indices([',', ';']).filter(|(at, _)| text[at + 1..].starts_with(' '));
    let parts: Vec<String> = ends.map(|(end, _)| format!("{} {more}", &text[..end])).collect();
    let forms = std::iter::once(text.to_owned()).chain(parts.into_iter().rev()).chain([more.clone()]);
    let mut lines = forms.map(|form| paragraph(&form, Meaning::Quiet, area.width));
    lines.find(|lines| lines.len() <= usize::from(area.height)).unwrap_or_default()
}

/// From this width on the figures of tests have their words.
const NAMED: u16 = 30;

/// Tests before, the newest first.
pub(super) fn past(state: &Dyno, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    if panel.height < 2 {
        return;
    }
    // Where figures have lost their word.
    let beside = if panel.width < NAMED && !shared.tests.all.is_empty() {
        "  k, M: IOPS".to_owned()
    } else {
        format!("  {}", shared.tests.all.len())
    };
    let title = [piece("tests", Meaning::Heading), piece(beside, Meaning::Quiet)];
    let inner = brush.panel(panel, &title, &[]);
    if shared.tests.all.is_empty() {
        let words = if shared.can_test() { "none yet" } else { "none: not testable" };
        brush.lines(inner, &paragraph(&shared.keys.fill(words), Meaning::Quiet, inner.width), 0);
        return;
    }
    let top = past_top(state, shared, inner.height);
    let runs = shared.tests.all.iter().rev().enumerate().skip(top);
    for (y, (back, test)) in (inner.y..inner.bottom()).zip(runs) {
        let is_shown = back == state.back;
        let figure = match &test.result {
            None if test.is_paused() => "paused".to_owned(),
            None => "running".to_owned(),
            Some(Err(why)) if why.is_stop() => "stopped".to_owned(),
            Some(Err(_)) => "failed".to_owned(),
            Some(Ok(summary)) => headline(shared.units, summary),
        };
        let w = &test.workload;
        let what = format!(
            "{} {} d{} j{}",
            block_size(w.block_size),
            if w.pattern == Pattern::Random { "rand" } else { "seq" },
            w.depth,
            w.jobs
        );
        if is_shown {
            brush.text(inner.x, y, 1, "›", Meaning::Brand);
        }
        let meaning = if is_shown { Meaning::Text } else { Meaning::Quiet };
        let room = inner.width.saturating_sub(2);
        let (what, figure) = row_of(&what, figure, room);
        brush.text(inner.x + 2, y, room, &what, meaning);
        brush.write_right(inner.right(), y, &[piece(" ", Meaning::Text), piece(figure, Meaning::Figure)]);
    }
    let hidden = out_of_sight(top, shared.tests.all.len(), inner.height);
    scroll::mark(brush, panel, ("] newer: ", "[ older: "), hidden);
}

/// A test's workload and its figure in so many cells, with a blank between them: the figure goes without its word before the
/// workload loses one, and what is lost has a mark.
fn row_of(what: &str, figure: String, room: u16) -> (String, String) {
    let bare = figure.trim_end_matches(" IOPS").to_owned();
    if cells(what) + 1 + cells(&figure) <= room {
        return (what.to_owned(), figure);
    }
    let room = room.saturating_sub(cells(&bare) + 1);
    if cells(what) <= room {
        return (what.to_owned(), bare);
    }
    let words: Vec<&str> = what.split(' ').collect();
    let forms = (1..words.len()).rev().map(|kept| format!("{} …", words[..kept].join(" ")));
    let fitting = forms.into_iter().find(|form| cells(form) <= room);
    (fitting.unwrap_or_else(|| "…".to_owned()), bare)
}

/// The first test shown in a list of so many rows.
pub(super) fn past_top(state: &Dyno, shared: &Shared, rows: u16) -> usize {
    kept_in_sight(0, state.back, shared.tests.all.len(), rows)
}

/// Small blocks are about reads, big ones about bytes.
fn headline(units: UnitSystem, summary: &RunSummary) -> String {
    if summary.workload.block_size.0 < 64 << 10 {
        format!("{} IOPS", count(summary.iops()))
    } else {
        rate(units, summary.bytes_per_second())
    }
}

//! The list of experiments and all about the selected one, or the one that was begun.

use ratatui::layout::Rect;

use super::{
    Entry, WhatIf,
    about::{self, changes, explained, field, listed, more, writes},
    account_areas, arms, intervals, list_areas, past, words,
};
use crate::{
    experiment::verdict::in_words,
    pull::FILE_SIZE,
    screens::{
        Screen as _,
        widgets::{
            file_offer,
            paint::{
                Brush, Piece, cells, fit, fit_end, hints, inner, key_hints, open_field, paragraph, piece,
                simulated,
            },
            scroll::{self, out_of_sight},
            sections,
        },
    },
    text::Label,
    ui::{Shared, theme::Meaning},
};

pub(super) fn draw(state: &WhatIf, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    if let Some(shown) = shared.experiments.on_screen() {
        let [upper, axis, below] = account_areas(state, &shown.account, shared, area);
        arms::draw(shared, shown, (upper, state.arms_top), brush);
        intervals::draw(&shown.account, axis, brush);
        words::draw(state, shared, shown, below, brush);
    } else {
        let [panel, about] = list_areas(area);
        let (panel, [missing, verdicts, tested]) = past::areas(state, shared, panel, brush.boxed);
        list(state, shared, panel, brush);
        if let Some(missing) = missing {
            past::missing(state, missing, brush);
        }
        if let Some(verdicts) = verdicts {
            past::draw(shared, verdicts, brush);
        }
        if let Some(tested) = tested {
            past::tested(shared, tested, brush);
        }
        detail(state, shared, about, brush);
    }
}

fn list(state: &WhatIf, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let here = state.list.iter().filter(|entry| entry.plan.is_ok()).count();
    let on = match shared.files.as_slice() {
        [] => String::new(),
        [file] => format!("on {}", Label::new(&file.path.to_string_lossy())),
        files => format!("on {} files", files.len()),
    };
    let word = if on.is_empty() { "available here" } else { "here" };
    let available = format!("  {here} of {} {word} ", state.list.len());
    let room = inner(panel, brush.boxed).width.saturating_sub(cells(&available) + 22);
    // What the screen is for, where the title has room for it beside the marks of the panel.
    let purpose = ": what is faster?";
    let brief = format!("  {here} of {} here ", state.list.len());
    let marks = if brush.boxed { 14 } else { 24 };
    let whole = cells("Experiments") + cells(purpose) + cells(&brief) + marks;
    let has_room = on.is_empty() && whole <= panel.width;
    let available = if has_room { brief } else { available };
    let title = [
        piece("Experiments", Meaning::Heading),
        piece(if has_room { purpose } else { "" }, Meaning::Heading),
        piece(available, Meaning::Quiet),
        piece(fit_end(&on, room), Meaning::Figure),
    ];
    let area = brush.panel(panel, &title, &[piece("min time", Meaning::Quiet)]);
    let rows = state.list.iter().enumerate().skip(state.top);
    for (y, (index, entry)) in (area.y..area.bottom()).zip(rows) {
        row(brush, Rect { y, height: 1, ..area }, entry, index == state.selected);
    }
    scroll::mark(brush, panel, scroll::ROWS, out_of_sight(state.top, state.list.len(), area.height));
}

fn row(brush: &mut Brush<'_>, row: Rect, entry: &Entry, selected: bool) {
    let time = entry.plan.as_ref().map_or_else(
        |_| piece("not here", Meaning::Quiet),
        |plan| piece(in_words(plan.least_time()).replace("about ", ""), Meaning::Figure),
    );
    let meaning = if entry.plan.is_ok() { Meaning::Text } else { Meaning::Quiet };
    if selected {
        brush.text(row.x, row.y, 1, "›", Meaning::Brand);
    }
    // A blank between it and the time.
    let room = row.width.saturating_sub(cells(&time.0) + 3);
    let text = fit(entry.row.question, room);
    let end = brush.text(row.x + 2, row.y, room, &text, meaning);
    if selected {
        brush.shade(Rect { x: row.x + 2, width: end.saturating_sub(row.x + 2), ..row }, Meaning::Selected);
    }
    brush.write_right(row.right(), row.y, &[time]);
}

fn detail(state: &WhatIf, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(entry) = state.entry() else { return };
    let title = [piece(entry.row.id.0, Meaning::Heading)];
    let inner = brush.panel(panel, &title, simulated(shared.is_simulated()));
    let lines = lines(state, shared, entry, inner.width);
    let hidden = brush.lines(inner, &lines, state.words_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
    if state.edit.is_none() {
        let free = sections::after(inner, lines.len());
        sections::fill(brush, free, |width| about::others(state, width));
    }
    open_arm(state, brush, inner);
}

/// What an arm may be: settings of the drives and options of the workload.
const EXAMPLES: [&str; 4] = [
    "settings and options, such as: scheduler=none bs=4k iodepth=64; filename=FILE reads a file",
    "such as: scheduler=none bs=4k iodepth=64 filename=FILE",
    "such as: scheduler=none bs=4k filename=FILE",
    "such as: scheduler=none bs=4k",
];

/// The arm of `own` that is being written, on the last row of the panel, with an example above it.
fn open_arm(state: &WhatIf, brush: &mut Brush<'_>, inner: Rect) {
    let Some((arm, input)) = &state.edit else { return };
    let y = inner.bottom().saturating_sub(1);
    let example = EXAMPLES.iter().find(|text| cells(text) <= inner.width).unwrap_or(&EXAMPLES[3]);
    if inner.height > 1 {
        let blank = " ".repeat(inner.width.into());
        brush.text(inner.x, y - 1, inner.width, &blank, Meaning::Text);
        brush.text(inner.x, y - 1, inner.width, example, Meaning::Quiet);
    }
    let letter = if *arm == 0 { "A" } else { "B" };
    let pieces =
        [piece(format!("{letter}  "), Meaning::Key), open_field(input, inner.width.saturating_sub(3))];
    brush.write(inner.x, y, inner.width, &pieces);
}

/// Hints of those commands that do something now, as the footer has them.
fn offers(state: &WhatIf, shared: &Shared, commands: &[(&str, &str)]) -> Option<Vec<Piece>> {
    let offered: Vec<(&str, &str)> =
        commands.iter().filter(|(command, _)| state.offers(command, shared)).copied().collect();
    (!offered.is_empty()).then(|| key_hints(&shared.keys, &offered))
}

/// The arms as the user wrote them.
fn written(lines: &mut Vec<Vec<Piece>>, state: &WhatIf, width: u16) {
    for (letter, text) in ["A", "B"].into_iter().zip(&state.own) {
        field(lines, letter, text, Meaning::Marked, width);
    }
}

pub(super) fn lines(state: &WhatIf, shared: &Shared, entry: &Entry, width: u16) -> Vec<Vec<Piece>> {
    let row = entry.row;
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    if let Some((_, why)) = shared.experiments.refused() {
        let question = file_offer::question(shared, why.files(), FILE_SIZE, None);
        lines.extend(file_offer::lines(
            &question,
            why.files(),
            &[("Enter", "start"), ("Esc", "cancel")],
            width,
        ));
        lines.extend(paragraph(&why.to_string(), Meaning::Quiet, width));
        lines.push(Vec::new());
    }
    lines.extend(paragraph(row.question, Meaning::Figure, width));
    match &entry.plan {
        Ok(plan) => {
            if plan.is_custom() {
                written(&mut lines, state, width);
            } else {
                let labels: Vec<&str> = plan.arms.iter().map(|arm| explained(&arm.label)).collect();
                listed(&mut lines, "arms", &labels, Meaning::Marked, width);
            }
            field(&mut lines, "reads", &plan.subject(), Meaning::Text, width);
            let back = if plan.changes_settings() { ", restored after every run" } else { "" };
            field(&mut lines, "changes", &format!("{}{back}", changes(row)), Meaning::Text, width);
            writes(&mut lines, shared, plan, width);
            let takes = format!(
                "{} to {}: every arm in balanced random order, at least {} rounds, until every comparison is decided",
                in_words(plan.least_time()),
                in_words(plan.terms.most_time),
                plan.terms.least_rounds
            );
            field(&mut lines, "takes", &takes, Meaning::Text, width);
        }
        Err(needs) => {
            if row.id.0 == "own" {
                written(&mut lines, state, width);
            } else {
                field(&mut lines, "arms", row.arms, Meaning::Text, width);
            }
            field(&mut lines, "not here", &format!("it {needs}"), Meaning::Warning, width);
        }
    }
    if row.id.0 != "own" && !row.needs.is_empty() {
        field(&mut lines, "needs", row.needs, Meaning::Text, width);
    }
    let found = if row.found.is_empty() { "no published result" } else { row.found };
    field(&mut lines, "known", found, Meaning::Quiet, width);
    if shared.experiments.refused().is_some() {
        return lines;
    }
    lines.push(Vec::new());
    if state.edit.is_some() {
        lines.push(hints(&state.edit_keys()));
    } else if row.id.0 == "own" {
        lines.extend(offers(state, shared, &[("custom arms", "edits its arms"), ("start", "starts")]));
    } else {
        let starts = [("start", "starts"), ("stop", "stops it at any time")];
        lines.extend(offers(state, shared, &starts).filter(|_| entry.plan.is_ok()));
    }
    lines.push(Vec::new());
    more(&mut lines, row, entry.plan.as_ref().ok(), width);
    lines
}

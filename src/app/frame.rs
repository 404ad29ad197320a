//! The frame: title bar, tabs, footer with its message, the text for a terminal that is too small.

use super::{App, Mode, layout, notice, over, tabs};
use crate::{
    machine::{Machine, Pasted},
    model::RunState,
    screens::widgets::paint::{self, Brush, Piece, cells, fit, piece, width},
    text::Label,
    ui::theme::Meaning,
    units::counted,
};

/// `iodyno  host · CPU · 32 CPUs · Linux 5.8.0 · 10 drives        DEMO · SIMULATED   ? help`.
pub(crate) fn title(app: &App, brush: &mut Brush<'_>) {
    let area = app.layout().title;
    let help = [piece(app.shared.keys.of("help"), Meaning::Key), piece(" help ", Meaning::Quiet)];
    // What stands before it keeps its place.
    let help = if app.offers_help() {
        help.to_vec()
    } else {
        vec![piece(" ".repeat(width(&help).into()), Meaning::Text)]
    };
    let right = [mode(app), vec![piece("   ", Meaning::Text)], help].concat();
    let room = area.width.saturating_sub(width(&right) + 2);
    let machine = &app.shared.machine;
    let known = |label: Option<&Label>| label.map(ToString::to_string).unwrap_or_default();
    let host = known(machine.host.name.value());
    // The bar has room for the version; what a distribution adds to it is in the details.
    let version = |kernel: &Label| kernel.as_str().split('-').next().unwrap_or_default().to_owned();
    let kernel =
        machine.host.kernel.value().map(|kernel| format!("Linux {}", version(kernel))).unwrap_or_default();
    let model = known(machine.processors.model.value());
    let model =
        ["AMD ", "Intel "].iter().find_map(|vendor| model.strip_prefix(vendor)).unwrap_or(&model).to_owned();
    let cpus = machine.processors.count();
    let cpus = if cpus > 0 || machine.pasted.is_none() { counted(cpus, "CPU") } else { String::new() };
    let parts = [host, model, cpus, kernel, counted(machine.drive_count(), "drive")];
    let room_of_line = room.saturating_sub(9);
    let line = match &machine.pasted {
        Some(pasted) => described(machine, pasted, &joined(&parts), room_of_line),
        None => fit(&joined(&whole(parts.into(), room_of_line)), room_of_line),
    };
    let left = [piece(" iodyno", Meaning::Brand), piece(format!("  {line}"), Meaning::Text)];
    brush.write(area.x, area.y, room, &left);
    brush.write_right(area.right(), area.y, &right);
}

/// The first part, and those behind it that fit whole.
fn whole(parts: Vec<String>, room: u16) -> Vec<String> {
    parts.into_iter().filter(|part| !part.is_empty()).fold(Vec::new(), |mut shown, part| {
        shown.push(part);
        if shown.len() > 1 && cells(&joined(&shown)) > room {
            shown.pop();
        }
        shown
    })
}

fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

/// The commands of a text, what it lacks and the rest of the title, in the longest form that fits:
/// `lspci -vv, no drive models, no drives' queues · 2 drives`, `lspci -vv and 2 more; lacks models, queues`.
fn described(machine: &Machine, pasted: &Pasted, rest: &str, room: u16) -> String {
    let links = || machine.pci.iter().filter_map(|(_, node)| node.link.as_ref());
    let lacks = [
        (links().any(|link| link.speed.is_known()), "link speeds"),
        (machine.drives.iter().any(|drive| drive.model.is_known()), "drive models"),
        (machine.drives.iter().any(|drive| drive.queue.hardware_queues.is_known()), "drives' queues"),
    ];
    let lacks: Vec<&str> = lacks.iter().filter(|(is_known, _)| !is_known).map(|(_, words)| *words).collect();
    let noun = |words: &&str| words.rsplit(' ').next().unwrap_or_default().to_owned();
    let nouns = lacks.iter().map(noun).collect::<Vec<_>>().join(", ");
    let with = |kind: &str, lead: &str, lacks: &str| {
        if lacks.is_empty() { kind.to_owned() } else { format!("{kind}{lead}{lacks}") }
    };
    let (kind, brief) = (pasted.kind(), pasted.brief_kind());
    let [named, named_briefly] = [&kind, &brief].map(|kind| with(kind, "; lacks ", &nouns));
    let whole = with(&kind, ", no ", &lacks.join(", no "));
    let forms = [
        joined(&[whole, rest.to_owned()]),
        joined(&[named.clone(), rest.to_owned()]),
        named,
        joined(&[named_briefly.clone(), rest.to_owned()]),
        named_briefly,
        brief,
    ];
    let fits = |form: &&String| cells(form) <= room;
    forms.iter().find(fits).cloned().unwrap_or_default()
}

fn mode(app: &App) -> Vec<Piece> {
    let (word, meaning) = match &app.shared.mode {
        _ if app.shared.machine.pasted.is_some() => ("TEXT", Meaning::NotLive),
        Mode::Live => ("LIVE", Meaning::Live),
        Mode::Demo(_) => ("DEMO", Meaning::NotLive),
        Mode::Capture => ("CAPTURE", Meaning::NotLive),
        Mode::Folder => ("FOLDER", Meaning::NotLive),
    };
    let mut pieces = vec![piece(word, meaning)];
    if app.shared.is_simulated() {
        pieces.extend([piece(" · ", Meaning::Quiet), piece("SIMULATED", Meaning::NotLive)]);
    } else if app.shared.mode == Mode::Live && app.shared.machine.host.root.get() == Some(false) {
        pieces.push(piece(" · not root", Meaning::Quiet));
    }
    pieces
}

pub(crate) fn tabs(app: &App, brush: &mut Brush<'_>) {
    let (keys, row) = (&app.shared.keys, app.layout().tabs);
    let range = layout::key_range(keys, row).unwrap_or_default();
    brush.text(row.x + 1, row.y, cells(&range), &range, Meaning::Key);
    for ((area, screen), tab) in layout::tabs(keys, row, app.screen).into_iter().zip(tabs::tabs()) {
        let shown = tabs::home(app.screen) == screen;
        let (key, name) = (layout::tab_key(keys, row, tab), layout::tab_name(keys, row, tab, app.screen));
        let styles = if shown { [Meaning::Brand, Meaning::Brand] } else { [Meaning::Key, Meaning::Quiet] };
        let own = app.screens.get(screen).and_then(|screen| screen.mark(&app.shared));
        let gap = usize::from(layout::mark_gap(tab, row));
        let mark = own.map_or_else(String::new, |mark| " ".repeat(gap) + &mark);
        let digit = key.trim_end();
        let pieces = [
            piece(digit, styles[0]),
            piece(&key[digit.len()..], Meaning::Text),
            piece(name, styles[1]),
            piece(mark, Meaning::Warning),
        ];
        brush.write(area.x, area.y, area.width + layout::mark_room(tab, row), &pieces);
        if shown {
            brush.shade(ratatui::layout::Rect { width: cells(&key) + cells(name), ..area }, Meaning::Field);
        }
    }
    let Some((state, subject, time)) = running(app) else { return };
    let state = [piece("● ", Meaning::Warning), piece(state, Meaning::Text)];
    // The phases of a pull have long names.
    let gap = if app.shared.pulls.running.is_some() { " " } else { "  " };
    let subject = piece(format!("{gap}{subject}"), Meaning::Quiet);
    let time = piece(format!("  {time}"), Meaning::Figure);
    let end = layout::tabs(keys, row, app.screen).last().map_or(0, |(area, _)| area.right());
    let room = row.right().saturating_sub(end + 2);
    // Narrow screens show the state and the time, the narrowest the state alone, or its mark.
    let lines = [vec![subject, time.clone()], vec![time], Vec::new()];
    let word = vec![piece("  ", Meaning::Text), state[1].clone()];
    let lines: Vec<Vec<Piece>> = lines
        .into_iter()
        .map(|rest| [&state[..], &rest].concat())
        .chain([word, vec![piece("●", Meaning::Warning)]])
        .collect();
    if let Some(line) = lines.iter().find(|line| width(line) <= room) {
        brush.write_right(row.right() - 1, row.y, line);
    }
}

/// State, subject and time of the running test or experiment, beside the tabs on every screen.
fn running(app: &App) -> Option<(&'static str, String, String)> {
    let pulls = &app.shared.pulls;
    if let Some(((_, left), place)) = pulls.time(app.shared.tests.running()).zip(pulls.place()) {
        return Some(("pull", place, format!("{:.0} s left", left.as_secs_f64().ceil())));
    }
    if let Some(inquiry) = app.shared.inquiry.as_ref().filter(|inquiry| inquiry.is_running()) {
        let file = inquiry.request.file.file_name().unwrap_or_default().to_string_lossy();
        let step = inquiry.step.as_ref();
        let test = step.map_or_else(String::new, |step| format!("test {} of {}", step.done + 1, step.all));
        return Some(("why", Label::new(&file).to_string(), test));
    }
    let Some(test) = app.shared.tests.running() else {
        let account = app.shared.experiments.running()?;
        let rounds = match account.round {
            0 => "warming up".to_owned(),
            round => format!("round {round}"),
        };
        return Some(("experiment", account.plan.experiment.id.0.to_owned(), rounds));
    };
    let word = match test.state {
        _ if test.stopping => "stopping",
        RunState::Preparing => "preparing",
        RunState::Ramping => "warming up",
        RunState::Running => "running",
        RunState::Paused => "paused",
        RunState::Ended => "ending",
    };
    let time = match test.workload.runtime {
        Some(all) => format!("{:.0} of {} s", test.elapsed.as_secs_f64(), all.as_secs()),
        None => format!("{:.0} s", test.elapsed.as_secs_f64()),
    };
    Some((word, test.preparing.clone().unwrap_or_else(|| test.workload.title()), time))
}

pub(crate) fn footer(app: &App, brush: &mut Brush<'_>) {
    let (message, hints) = (app.layout().message, app.layout().hints);
    let notice = notice::lines(app, message.width);
    if !notice.is_empty() {
        brush.clear(message);
    }
    for (y, line) in (message.y..message.bottom()).zip(&notice) {
        brush.write(message.x + 1, y, message.width.saturating_sub(2), line);
    }
    if let Some(pieces) = over::hints(app).or_else(|| field_hints(app)) {
        let glyphs = app.shared.theme.glyphs;
        let as_shown = |(text, meaning): Piece| match meaning {
            Meaning::Key => piece(glyphs.keys(&text), meaning),
            _ => piece(text, meaning),
        };
        let pieces = pieces.into_iter().map(as_shown).collect();
        let room = hints.width.saturating_sub(2);
        brush.write(hints.x + 1, hints.y, room, &paint::fit_hints(pieces, room));
        return;
    }
    for (area, command) in layout::hints(hints, app.shared.theme.glyphs, app.screen, |row| app.offered(row)) {
        let keys = command.hint_keys();
        let pieces =
            [piece(keys, Meaning::Key), piece(" ", Meaning::Text), piece(command.hint, Meaning::Quiet)];
        brush.write(area.x, area.y, area.width, &pieces);
    }
}

/// While a field is open, keys are text: the footer says how to leave.
fn field_hints(app: &App) -> Option<Vec<Piece>> {
    let hints = app.screens.get(app.screen).filter(|_| app.overlay.is_none())?.field_hints();
    (!hints.is_empty()).then_some(hints)
}

pub(crate) fn too_small(app: &App, brush: &mut Brush<'_>) {
    let (columns, rows) = app.shared.size;
    let (wide, high) = layout::SMALLEST;
    let lines = [
        format!("iodyno needs {wide} columns and {high} rows;"),
        format!("this terminal has {columns} and {rows}."),
        app.shared.keys.fill("Make it larger, or press {quit}."),
    ];
    let top = rows.saturating_sub(3) / 2;
    for (y, line) in (top..).zip(&lines) {
        let x = columns.saturating_sub(cells(line)) / 2;
        brush.text(x, y, columns, line, Meaning::Text);
    }
}

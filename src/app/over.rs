//! Overlays: help, the palette, texts of screens, the question before leaving.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{App, commands, glossary, overlay::Overlay, palette, tabs::about};
use crate::{
    findings,
    screens::{
        Screen,
        widgets::{
            find,
            paint::{self, Brush, Piece, cells, hanging, paragraph, piece},
            scroll::{self, range_in_sight},
        },
    },
    ui::{ask::Reads, theme::Meaning},
    units::counted,
};

/// Lines of an opened text that help names as unused.
const MOST_UNUSED: usize = 20;

/// Marks of every screen, for the help.
const MARKS: &[(&str, Meaning, &str)] = &[
    ("›", Meaning::Brand, "the cursor of a list, or the panel that keys move"),
    ("…", Meaning::Text, "text that is cut: a wider terminal shows all of it, and on Machine {details}"),
    (
        "↑ 3  ↓ 5",
        Meaning::Quiet,
        "lines out of sight above and below; a key before the number scrolls to them",
    ),
    (
        "●",
        Meaning::Warning,
        "beside a tab: a test or an experiment runs; (1) beside Findings counts ▲ and !; * beside Tune: \
         values are staged, or this run changed settings",
    ),
];

/// What the mouse does, for the help.
const MOUSE: &[(&str, &str)] = &[
    ("click", "Show a tab, select a row, sort by a heading, run what the footer names"),
    ("wheel", "Scroll the list or the text under the pointer"),
    ("drag", "On a curve: the figures of that span of time; a click or {back} clears it"),
    ("Shift", "With it most terminals select text, as in other programs"),
];

/// The answers to the question before leaving what runs, in its box and in the footer.
const QUIT: [(&str, &str); 2] = [("y", "stop it and quit"), ("Esc", "or Enter: go on")];

/// Where things are kept, for the help.
const FILES: &[(&str, &str)] = &[
    ("settings", "`iodyno config` prints keys, colours and units with the path of their file"),
    ("changes", "`iodyno tune list` prints the changed settings of drives, `iodyno tune undo` restores them"),
];

/// Title, lines, and the lines under the cursor.
type Text = (String, Vec<Vec<Piece>>, Option<Range<usize>>);

/// The text over the screen, as wide as its area.
fn text(app: &App, area: Rect) -> Option<Text> {
    let width = area.width.saturating_sub(4);
    let (title, lines) = match app.overlay {
        Some(Overlay::Help(_)) => {
            (format!("{}: keys and marks", about(app.screen).name), help_lines(app, width))
        }
        Some(Overlay::Confirm(ref reads, _)) => {
            ("Drives in use".to_owned(), confirm_lines(app, reads, width))
        }
        Some(Overlay::Glossary(_)) => ("Glossary".to_owned(), glossary::lines(&app.shared.keys, width)),
        Some(Overlay::Screen(id, _)) => {
            let over = app.screens.get(id)?.over(&app.shared, width)?;
            return Some((over.title, over.lines, over.cursor));
        }
        _ => return None,
    };
    Some((title, lines, None))
}

/// Whether what lies over the screen is a text to read, in which a word can be found.
pub(super) fn is_text(app: &App) -> bool {
    match app.overlay {
        Some(Overlay::Help(_) | Overlay::Glossary(_)) => true,
        Some(Overlay::Screen(id, _)) => {
            let screen = app.screens.get(id);
            let takes_keys = |screen: &dyn Screen| {
                let over = screen.over(&app.shared, app.shared.size.0);
                over.is_none_or(|over| over.cursor.is_some()) || !screen.over_hints(&app.shared).is_empty()
            };
            screen.is_some_and(|screen| !takes_keys(screen))
        }
        _ => false,
    }
}

/// The lines of the text over the screen that have a match of the word looked for.
pub(super) fn matches(app: &App) -> Vec<usize> {
    let lines = text(app, app.layout().overlay).map(|(_, lines, _)| lines);
    find::highlighted(lines.unwrap_or_default(), app.search.text()).1
}

/// The last line that the text over the screen can begin with.
pub(super) fn end(app: &App) -> usize {
    let area = app.layout().overlay;
    let rows = usize::from(area.height.saturating_sub(2));
    text(app, area).map_or(0, |(_, lines, _)| lines.len().saturating_sub(rows))
}

/// The keys of what lies over the screen, for the footer: those of the screen below mean nothing then.
pub(super) fn hints(app: &App) -> Option<Vec<Piece>> {
    let keys = &app.shared.keys;
    let matches = matches(app).len();
    if let Some(hints) = app.search.field_hints(matches) {
        return Some(hints);
    }
    let [find, next, previous] = ["find", "next drive", "previous drive"].map(|command| keys.of(command));
    let find = (find.as_str(), "find");
    if !app.search.text().is_empty() && is_text(app) {
        let both = format!("{next} {previous}");
        let others = (matches > 1).then_some((both.as_str(), "other matches"));
        return Some(paint::hints(
            &others.into_iter().chain([find, ("Esc", "end find")]).collect::<Vec<_>>(),
        ));
    }
    let scroll = (end(app) > 0).then_some(("↑↓", "scroll"));
    Some(match app.overlay.as_ref()? {
        Overlay::Help(_) => {
            let help = keys.of("help");
            let keys = scroll.into_iter().chain([find, (help.as_str(), "glossary"), ("Esc", "close")]);
            paint::hints(&keys.collect::<Vec<_>>())
        }
        Overlay::Glossary(_) => {
            paint::hints(&scroll.into_iter().chain([find, ("Esc", "close")]).collect::<Vec<_>>())
        }
        Overlay::Palette(state) if commands::argument_of_open(state.input.value()).is_some() => {
            paint::hints(&[("Enter", "open"), ("Esc", "cancel")])
        }
        Overlay::Palette(_) => paint::hints(&[("↑↓", "select"), ("Enter", "run"), ("Esc", "cancel")]),
        Overlay::Quit => paint::hints(&QUIT),
        Overlay::Confirm(..) => paint::hints(&[("Enter", "start"), ("Esc", "cancel")]),
        Overlay::Screen(id, _) => {
            let own = app.screens.get(*id).map(|screen| screen.over_hints(&app.shared));
            let read = || {
                let find = is_text(app).then_some(find);
                let keys = scroll.into_iter().chain(find).chain([("Esc", "close")]);
                paint::hints(&keys.collect::<Vec<_>>())
            };
            own.filter(|own| !own.is_empty()).unwrap_or_else(read)
        }
    })
}

/// Whether it asks something: then its text names Esc.
fn is_question(app: &App) -> bool {
    match &app.overlay {
        Some(Overlay::Confirm(..)) => true,
        Some(Overlay::Screen(id, _)) => {
            app.screens.get(*id).is_some_and(|screen| !screen.over_hints(&app.shared).is_empty())
        }
        _ => false,
    }
}

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    let area = app.layout().overlay;
    match &app.overlay {
        None => {}
        Some(
            Overlay::Help(top) | Overlay::Glossary(top) | Overlay::Screen(_, top) | Overlay::Confirm(_, top),
        ) => {
            if let Some((title, lines, cursor)) = text(app, area) {
                let rows = area.height.saturating_sub(2);
                let top = cursor.map_or(*top, |at| range_in_sight(*top, &at, lines.len(), rows));
                let keys = match app.overlay {
                    Some(Overlay::Help(_)) => "{help} glossary   Esc closes",
                    _ if is_question(app) => "",
                    _ => "Esc closes",
                };
                let (lines, matches) = find::highlighted(lines, app.search.text());
                let title = title + &app.search.words(matches.len());
                scrolled(brush, area, &title, &lines, top, &app.shared.keys.fill(keys));
            }
        }
        Some(Overlay::Palette(state)) => {
            open(brush, area, "commands");
            palette::draw(app, brush, state, area);
        }
        Some(Overlay::Quit) => {
            let shared = &app.shared;
            let what = match (shared.pulls.running.is_some(), shared.experiments.running().is_some()) {
                (true, _) => "A pull is running",
                (_, true) => "An experiment is running",
                _ => "A test is running",
            };
            let inner = open(brush, area, what);
            brush.write(inner.x, inner.y + 1, inner.width, &paint::hints(&QUIT));
            let writes = shared.settings.writes().len();
            let next = match (writes, shared.standing()) {
                (0, 0) => String::new(),
                (0, changed) => format!("The next question: {} changed", counted(changed, "setting")),
                _ => format!("The next question: {} staged", counted(writes, "write")),
            };
            brush.text(inner.x, inner.y + 2, inner.width, &next, Meaning::Quiet);
        }
    }
}

/// Clears the area and frames it; a box on every size, for it floats.
fn open(brush: &mut Brush<'_>, area: Rect, title: &str) -> Rect {
    brush.clear(area);
    let mut boxed = Brush::new(brush.buffer, brush.theme, true);
    boxed.panel(area, &[piece(title, Meaning::Heading)], &[])
}

fn scrolled(brush: &mut Brush<'_>, area: Rect, title: &str, lines: &[Vec<Piece>], top: usize, keys: &str) {
    let needed = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = Rect { height: area.height.min(needed), ..area };
    let inner = open(brush, area, title);
    let hidden = brush.lines(inner, lines, top);
    let words = scroll::shown(brush, scroll::ROWS, hidden);
    let gap = if words.is_empty() || keys.is_empty() { "" } else { "   " };
    if !words.is_empty() || !keys.is_empty() {
        let hint = format!(" {words}{gap}{keys} ");
        brush.write_right(area.right() - 1, area.bottom() - 1, &[piece(hint, Meaning::Quiet)]);
    }
}

/// The question before drives in use are read, with the users of each.
fn confirm_lines(app: &App, reads: &Reads, width: u16) -> Vec<Vec<Piece>> {
    let text = match reads.settings.join(", ") {
        none if none.is_empty() => {
            "A test reads these drives at full speed; programs that use them get slower. It writes nothing."
                .to_owned()
        }
        settings => format!(
            "An experiment reads these drives at full speed; programs that use them get slower. Between \
             runs it changes {settings}, which it restores at its end. It writes no data."
        ),
    };
    let mut lines = paragraph(&text, Meaning::Text, width);
    lines.push(paint::hints(&[("Enter", "starts the reads"), ("Esc", "cancels")]));
    lines.push(Vec::new());
    for drive in app.shared.in_use(&reads.targets) {
        let lead = piece(format!("{:<10} ", drive.name), Meaning::Drive);
        let users: Vec<String> = drive.used_by.iter().map(ToString::to_string).collect();
        lines.extend(hanging(lead, &users.join(", "), Meaning::Text, width));
    }
    lines
}

fn help_lines(app: &App, width: u16) -> Vec<Vec<Piece>> {
    let about = about(app.screen);
    let explained = |mark: &str, meaning: Meaning, text: &str| {
        let gap = if cells(mark) > 11 { "  " } else { " " };
        hanging(piece(format!("{mark:<11}{gap}"), meaning), text, Meaning::Text, width)
    };
    let keys = |on| {
        let makes_sense = |name| app.shared.can_test() || !commands::needs_machine(name);
        let rows = commands::ALL.iter().filter(move |(own, row)| *own == on && makes_sense(row.name));
        rows.flat_map(|(_, row)| explained(&row.key_words().join(" "), Meaning::Key, row.help))
    };
    let mut lines = Vec::new();
    let finding = app.screens.get(app.screen).and_then(|screen| screen.finding(&app.shared));
    let finding = finding
        .and_then(|id| findings::row(id.0))
        .map_or_else(Vec::new, |row| [explanation(row, width), vec![Vec::new()]].concat());
    lines.extend(paragraph(&app.shared.keys.fill(about.purpose), Meaning::Text, width));
    if let Some(pasted) = &app.shared.machine.pasted {
        lines.push(Vec::new());
        lines.push(vec![piece(format!("Opened text: {}", pasted.kind()), Meaning::Heading)]);
        lines.extend(
            pasted
                .lacks
                .iter()
                .chain(&pasted.contradictions)
                .flat_map(|lack| paragraph(lack, Meaning::Text, width)),
        );
        let unused = pasted.unused.iter().take(MOST_UNUSED).flat_map(|line| {
            explained(&format!("line {}", line.line), Meaning::Quiet, &format!("not used: {}", line.reason))
        });
        lines.extend(unused);
        let rest = pasted.unused_lines.saturating_sub(MOST_UNUSED);
        if rest > 0 {
            lines.push(vec![piece(format!("and {} not used", counted(rest, "more line")), Meaning::Quiet)]);
        }
    }
    lines.push(Vec::new());
    lines.extend(about.marks.iter().chain(MARKS).flat_map(|(mark, meaning, text)| {
        let mark = mark.replace('▆', &app.shared.theme.bar(*meaning).to_string());
        let mark = app.shared.theme.glyphs.arrows(&app.shared.keys.fill(&mark));
        explained(&mark, *meaning, &app.shared.keys.fill(text))
    }));
    lines.push(Vec::new());
    lines.extend(finding);
    lines.extend(keys(Some(about.id)));
    if let Some((heading, terms)) = app.screens.get(app.screen).and_then(Screen::terms) {
        lines.push(Vec::new());
        lines.push(vec![piece(heading, Meaning::Heading)]);
        lines.extend(terms.into_iter().flat_map(|[term, text]| explained(term, Meaning::Text, text)));
    }
    lines.push(Vec::new());
    lines.push(vec![piece("Everywhere", Meaning::Heading)]);
    lines.extend(keys(None));
    for (heading, rows) in [("Mouse", MOUSE), ("Files", FILES)] {
        lines.push(Vec::new());
        lines.push(vec![piece(heading, Meaning::Heading)]);
        lines.extend(
            rows.iter().flat_map(|(what, text)| explained(what, Meaning::Key, &app.shared.keys.fill(text))),
        );
    }
    lines
}

/// A finding as `iodyno check --explain` has it.
fn explanation(row: &findings::Row, width: u16) -> Vec<Vec<Piece>> {
    let field = |label: &str, text: &str| {
        hanging(piece(format!("{label:<11} "), Meaning::Quiet), text, Meaning::Text, width)
    };
    let mut lines = paragraph(&format!("{}: {}", row.id.0, row.title), Meaning::Heading, width);
    lines.extend(field("when", &format!("{}.", row.fires)));
    lines.extend(field("why", row.why));
    lines.extend(field("wrong if", row.wrong_if));
    lines.extend(field("also by", &format!("iodyno check --explain {}", row.id.0)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings::FINDINGS, model::options::OPTIONS};

    #[test]
    fn what_is_said_of_a_finding_names_fields_of_the_form() {
        let words = |lines: Vec<Vec<Piece>>| -> String {
            lines.into_iter().flatten().map(|(text, _)| text + " ").collect()
        };
        for row in FINDINGS {
            let remedies = [row.remedy, row.generally].map(|text| words(paragraph(text, Meaning::Text, 200)));
            let text = words(explanation(row, 200)) + &remedies.concat();
            let option = OPTIONS.iter().find(|option| text.contains(&format!("--{}", option.name)));
            assert!(option.is_none(), "{:?} names {:?}", row.id, option.map(|option| option.name));
        }
        let polls = findings::row("no-poll-queues").map(|row| words(explanation(row, 200)));
        assert!(polls.is_some_and(|text| text.contains("Polled completions (hipri)")));
    }
}

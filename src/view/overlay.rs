//! What lies over a screen: help, the palette, all facts of a row, the question before leaving.

use ratatui::layout::Rect;

use super::{
    facts, facts_pane,
    paint::{Brush, Piece, fit, piece, wrap},
    theme::Meaning,
    tree_rows::{FULL_MARK, SLOT_MARK, SLOW_MARK},
    tune_overlay,
};
use crate::app::{
    App, Screen,
    commands::{COMMANDS, Command, On},
    overlay::{Overlay, Palette},
};

pub(super) fn draw(app: &App, brush: &mut Brush<'_>) {
    let area = brush.layout.overlay;
    let width = area.width.saturating_sub(4);
    match &app.overlay {
        None => {}
        Some(Overlay::Help(top)) => {
            let title = format!("{}: keys and marks", app.screen.tab().name);
            scrolled(brush, area, &title, &help_lines(app, width), *top);
        }
        Some(Overlay::Facts(top)) => {
            let Some(row) = app.tree.row() else { return };
            let facts = facts::of_row(app, row);
            let lines = facts_pane::lines(&facts, width, app.tree.paths, true);
            scrolled(brush, area, &facts::heading(app, row), &lines, *top);
        }
        Some(Overlay::Palette(palette)) => draw_palette(app, brush, area, palette),
        Some(Overlay::Review(top)) => {
            let (title, lines) = tune_overlay::review(app, width);
            scrolled(brush, area, &title, &lines, *top);
        }
        Some(Overlay::Standing) => {
            let (title, lines) = tune_overlay::standing(app);
            scrolled(brush, area, &title, &lines, 0);
        }
        Some(Overlay::LeftBehind) => {
            let (title, lines) = tune_overlay::left_behind(app);
            scrolled(brush, area, &title, &lines, 0);
        }
        Some(Overlay::Quit) => {
            let inner = open(brush, area, "A test is running");
            let line = [
                piece("q", Meaning::Key),
                piece(" stops it and leaves   ", Meaning::Text),
                piece("Esc", Meaning::Key),
                piece(" stays", Meaning::Text),
            ];
            brush.write(inner.x, inner.y + 1, inner.width, &line);
        }
    }
}

/// Clears the area and frames it; a box on every size, for it floats.
fn open(brush: &mut Brush<'_>, area: Rect, title: &str) -> Rect {
    brush.clear(area);
    let layout = crate::app::layout::Layout { boxed: true, ..brush.layout.clone() };
    let mut boxed = Brush::new(brush.buffer, brush.theme, &layout);
    boxed.panel(area, &[piece(title, Meaning::Heading)], &[])
}

fn scrolled(brush: &mut Brush<'_>, area: Rect, title: &str, lines: &[Vec<Piece>], top: usize) {
    let needed = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = Rect { height: area.height.min(needed), ..area };
    let inner = open(brush, area, title);
    let (top, below) = brush.lines(inner, lines, top);
    let hint = match (top, below) {
        (0, 0) => " Esc closes ".to_owned(),
        (_, 0) => " ↑ more   Esc closes ".to_owned(),
        (_, below) => format!(" ↓ {below} more   Esc closes "),
    };
    brush.write_right(area.right() - 1, area.bottom() - 1, &[piece(hint, Meaning::Quiet)]);
}

fn help_lines(app: &App, width: u16) -> Vec<Vec<Piece>> {
    let screen = app.screen;
    let explained = |(mark, meaning, text): (String, Meaning, &str)| -> Vec<Vec<Piece>> {
        let lead = |line| piece(format!("{:<12}", if line == 0 { &*mark } else { "" }), meaning);
        let texts = wrap(text, width.saturating_sub(12)).into_iter().enumerate();
        texts.map(|(line, text)| vec![lead(line), piece(text, Meaning::Text)]).collect()
    };
    let commands = |on| {
        COMMANDS.iter().filter(move |command| command.on == on).flat_map(|command| explained(keys(command)))
    };
    let purpose = wrap(screen.tab().purpose, width).into_iter().map(|line| vec![piece(line, Meaning::Text)]);
    let mut lines: Vec<Vec<Piece>> = purpose.collect();
    lines.push(Vec::new());
    lines.extend(commands(On::Only(screen)));
    lines.push(Vec::new());
    lines.extend(marks(screen).into_iter().flat_map(explained));
    lines.push(Vec::new());
    lines.push(vec![piece("Everywhere", Meaning::Heading)]);
    lines.extend(commands(On::Every));
    lines
}

fn keys(command: &Command) -> (String, Meaning, &'static str) {
    let keys: Vec<String> = command.keys.iter().map(ToString::to_string).collect();
    (keys.join(" "), Meaning::Key, command.help)
}

fn marks(screen: Screen) -> Vec<(String, Meaning, &'static str)> {
    match screen {
        Screen::Machine => vec![
            (
                FULL_MARK.to_string(),
                Meaning::Problem,
                "a finding that costs at least 15 %, or a shared place that is too narrow",
            ),
            ("!".to_string(), Meaning::Warning, "a finding that costs something; Findings tells which"),
            (
                SLOW_MARK.to_string(),
                Meaning::Warning,
                "a drive's link runs slower or narrower than both its ends can",
            ),
            (SLOT_MARK.to_string(), Meaning::Quiet, "the slot holds the drive to less than the drive can"),
            ("●".to_string(), Meaning::Marked, "marked for the test; ○ some of the drives below are"),
            ("████".to_string(), Meaning::Load, "load against the limit of the link it crosses"),
            (
                "████".to_string(),
                Meaning::Good,
                "a drive that reads all its own link carries: as good as it gets",
            ),
            ("████".to_string(), Meaning::Warning, "a shared place that is full: the bottleneck"),
        ],
        Screen::Findings => vec![
            (
                "▲".to_string(),
                Meaning::Problem,
                "high: costs at least 15 % of what the machine could do, or data is at risk",
            ),
            ("!".to_string(), Meaning::Warning, "warning: costs something on this machine"),
            (
                "·".to_string(),
                Meaning::Quiet,
                "information: worth knowing; what every machine has as delivered is one row",
            ),
        ],
        Screen::Tune => vec![
            ("*".to_string(), Meaning::Warning, "iodyno changed it: not the value it found first since boot"),
            ("~".to_string(), Meaning::Drive, "not the kernel's default, where that is known"),
            ("none→mq".to_string(), Meaning::Marked, "staged: nothing is written before a review and Enter"),
            ("- ?".to_string(), Meaning::Quiet, "no such setting here; there, but it cannot be read"),
            (
                "poll queues".to_string(),
                Meaning::Quiet,
                "are made when the driver probes a drive; never reset one probed without",
            ),
        ],
        Screen::Dyno => vec![
            (
                "──".to_string(),
                Meaning::Brand,
                "all targets together; each target has the colour of its name",
            ),
            ("┈┈".to_string(), Meaning::Lines, "the limit of the place that is full"),
            ("█▓▒░".to_string(), Meaning::Good, "share of reads that took about that long, per moment"),
            (FULL_MARK.to_string(), Meaning::Warning, "the figure is not the drive's own, and why"),
        ],
        Screen::WhatIf => vec![
            (
                "▁▄█".to_string(),
                Meaning::Brand,
                "the figure of a round; all arms share one scale, which begins at 0",
            ),
            (
                "┣━●━┫".to_string(),
                Meaning::Brand,
                "where the ratio to the baseline lies; the dot is its middle",
            ),
            ("░░│░░".to_string(), Meaning::Lines, "the margin around no difference"),
            ("▲ ▼ = ?".to_string(), Meaning::Text, "better, worse, no difference, open"),
        ],
        Screen::Sheet => vec![
            ("[x] [ ]".to_string(), Meaning::Key, "in the sheet, and not; each run has a box of its own"),
            (
                "names".to_string(),
                Meaning::Text,
                "stay out, with serials, mount paths and addresses, until their box is checked",
            ),
            (
                "PgUp PgDn".to_string(),
                Meaning::Key,
                "scroll what will be posted; that text is what is copied",
            ),
        ],
        Screen::Slots => vec![
            ("▸ ●".to_string(), Meaning::Marked, "what moves: where it is today, where it would be"),
            ("◂".to_string(), Meaning::Warning, "what gives way and takes its place in return"),
            (
                "4.92".to_string(),
                Meaning::Figure,
                "what a drive gets with all drives busy, of what its path carries",
            ),
            ("7.14".to_string(), Meaning::Good, "more than today; in the colour of problems, less"),
        ],
    }
}

fn draw_palette(app: &App, brush: &mut Brush<'_>, area: Rect, palette: &Palette) {
    let inner = open(brush, area, "commands");
    let field =
        format!("{:<wide$}", format!(": {}▏", palette.input.value()), wide = usize::from(inner.width));
    brush.text(inner.x, inner.y, inner.width, &field, Meaning::Field);
    let found = palette.matches(app.screen);
    let rows = usize::from(inner.height.saturating_sub(1));
    let top = palette.selected.saturating_sub(rows.saturating_sub(1));
    for (y, (index, command)) in (inner.y + 1..inner.bottom()).zip(found.iter().enumerate().skip(top)) {
        let key = command.keys.first().map(ToString::to_string).unwrap_or_default();
        let help = fit(command.help, inner.width.saturating_sub(28));
        let pieces = [
            piece(format!(" {:<17}", command.name), Meaning::Text),
            piece(format!("{key:<9}"), Meaning::Key),
            piece(help, Meaning::Quiet),
        ];
        brush.write(inner.x, y, inner.width, &pieces);
        if index == palette.selected {
            brush.shade(Rect { y, height: 1, width: 18, ..inner }, Meaning::Selected);
        }
    }
    if found.is_empty() {
        brush.text(inner.x + 1, inner.y + 1, inner.width, "no command of that name here", Meaning::Quiet);
    }
}

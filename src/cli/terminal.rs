//! Text on a terminal at standard output: its width, and whether it is coloured.

use std::{
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::OnceLock,
};

use unicode_width::UnicodeWidthStr;

use super::{
    Failure, Status,
    display::{self, DisplayOptions, variable},
    print,
};
use crate::{
    report::{
        self,
        toned::{Tone, Toned},
    },
    ui::{
        picture,
        theme::{Meaning, Palette, Theme},
    },
    units::UnitSystem,
};

/// Columns of the terminal at standard output; `None` without one, where lines have no limit.
pub(super) fn columns() -> Option<usize> {
    columns_of(&io::stdout())
}

/// The same of the terminal at this stream.
pub(super) fn columns_of(out: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !out.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(out)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

/// A line for standard error as a terminal of so many columns shows it whole: broken between words.
pub(super) fn in_columns(line: &str, columns: Option<usize>) -> String {
    const LEAD: &str = "iodyno: ";
    let whole = format!("{LEAD}{line}");
    match columns.filter(|columns| whole.width() > *columns) {
        Some(columns) => report::wrapped(LEAD, line, columns).join("\n"),
        None => whole,
    }
}

/// How the command line asks for colours and characters.
static DISPLAY: OnceLock<DisplayOptions> = OnceLock::new();

/// Takes how the command line asks for colours and characters.
pub(super) fn look(display: &DisplayOptions) {
    // There is one command line.
    let _ = DISPLAY.set(display.clone());
}

/// Units of rates in texts, of the configuration file; JSON has bytes, and words beside them in powers of ten.
pub(super) fn units(json: bool) -> UnitSystem {
    if json { UnitSystem::Decimal } else { display::said().config.units }
}

/// A text in the characters of the terminal, the pipe or the file that `out` is.
pub(super) fn in_characters(text: &str, out: &impl IsTerminal) -> String {
    let display = DISPLAY.get().cloned().unwrap_or_default();
    let is_terminal = out.is_terminal();
    // Mistakes in the file are not for here: this prints them.
    let glyphs = display.glyphs(&display::configuration().config, is_terminal);
    if is_terminal { glyphs.text(text) } else { glyphs.drawn(text) }
}

/// Prints a text that is no document for programs, in the characters of standard output.
pub(super) fn print_text(text: &str) -> Result<Status, Failure> {
    print(&in_characters(text, &io::stdout()))
}

/// Prints a text: on a terminal in its characters, and coloured if it has colours, by the theme of the screen.
pub(super) fn print_toned(text: &Toned) -> Result<Status, Failure> {
    if !io::stdout().is_terminal() {
        return print_text(text.plain());
    }
    let display = DISPLAY.get().cloned().unwrap_or_default();
    let theme = display.of_terminal(&display::said().config)?;
    print(&written(text, theme, variable("TERM").as_deref()))
}

/// The text by a theme, for a terminal of this TERM.
fn written(text: &Toned, theme: Theme, term: Option<&str>) -> String {
    let is_dumb = term.is_none_or(|term| term == "dumb" || term.is_empty());
    let is_plain = is_dumb || theme.palette == Palette::Plain;
    theme.glyphs.text(&if is_plain { text.plain().to_owned() } else { coloured(text, theme) })
}

/// The text with escape sequences.
fn coloured(text: &Toned, theme: Theme) -> String {
    let mut out = String::new();
    for (tone, part) in text.parts() {
        match meaning(tone) {
            Some(meaning) => out.push_str(&picture::styled(theme.style(meaning), part)),
            None => out.push_str(part),
        }
    }
    out
}

const fn meaning(tone: Tone) -> Option<Meaning> {
    Some(match tone {
        Tone::Plain => return None,
        Tone::Quiet => Meaning::Quiet,
        Tone::Heading => Meaning::Heading,
        Tone::Drive => Meaning::Drive,
        Tone::Figure => Meaning::Figure,
        Tone::Good => Meaning::Good,
        Tone::Warning => Meaning::Warning,
        Tone::Problem => Meaning::Problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::glyphs::GlyphSet;

    #[test]
    fn colours_and_characters_are_those_of_the_theme_where_the_terminal_has_them() {
        let mut text = Toned::default();
        text.push_toned(Tone::Problem, "▲ full");
        let dark = Theme::new(Palette::Dark);
        let written = |theme, term| written(&text, theme, term);
        assert_eq!(written(dark, Some("xterm")), coloured(&text, dark));
        assert_ne!(written(dark, Some("xterm")), written(Theme::COLOUR, Some("xterm")));
        for (theme, term) in [(Theme::PLAIN, Some("xterm")), (dark, Some("dumb")), (dark, None)] {
            assert_eq!(written(theme, term), "▲ full");
        }
        assert!(written(Theme::PLAIN.with_glyphs(GlyphSet::Ascii), Some("vt100")).is_ascii());
    }

    #[test]
    fn a_long_complaint_breaks_between_words_on_a_terminal_alone() {
        let complaint = display::why_no_screen(Some("dumb")).map(|why| why.to_string()).unwrap_or_default();
        assert_eq!(in_columns(&complaint, None), format!("iodyno: {complaint}"));
        let lines = in_columns(&complaint, Some(80));
        assert!(lines.lines().count() > 1 && lines.lines().all(|line| line.width() <= 80), "{lines}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&lines), words(&format!("iodyno: {complaint}")));
        assert_eq!(in_columns("   3 s left  a  b", Some(80)), "iodyno:    3 s left  a  b");
    }

    #[test]
    fn only_what_means_something_is_coloured() {
        let mut text = Toned::default();
        text.push("a ");
        text.push_toned(Tone::Problem, "b\nc");
        text.push("\n");
        let red = "\u{1b}[0;1;31m";
        assert_eq!(coloured(&text, Theme::COLOUR), format!("a {red}b\u{1b}[0m\n{red}c\u{1b}[0m\n"));
    }
}

//! Text on a terminal at standard output: its width, and whether it is coloured.

use std::{
    ffi::OsStr,
    io::{self, IsTerminal},
};

use super::{Failure, Status, display::variable, print};
use crate::{
    report::toned::{Tone, Toned},
    ui::{
        glyphs::GlyphSet,
        picture,
        theme::{Meaning, Palette, Theme},
    },
};

/// Columns of the terminal at standard output; `None` without one, where lines have no limit.
pub(super) fn columns() -> Option<usize> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(&out)
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

/// Prints a text: on a terminal in its characters, and coloured if it has colours.
pub(super) fn print_toned(text: &Toned) -> Result<Status, Failure> {
    if !io::stdout().is_terminal() {
        return print(text.plain());
    }
    let (no_color, term) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
    let glyphs = GlyphSet::of_terminal(variable("TERM").as_deref(), &variable);
    match theme(no_color.as_deref(), term.as_deref()) {
        // Dark and light have colours of their own where the terminal names its background.
        Some(_) => print(&glyphs.text(&coloured(text, Theme::new(Palette::of_terminal(&variable))))),
        None => print(&glyphs.text(text.plain())),
    }
}

/// The theme of a terminal; `None` for one without escape sequences, and where `NO_COLOR` is set (no-color.org).
fn theme(no_color: Option<&OsStr>, term: Option<&OsStr>) -> Option<Theme> {
    let is_dumb = term.is_none_or(|term| term == "dumb" || term.is_empty());
    let theme = Theme::from_environment(no_color);
    (theme == Theme::COLOUR && !is_dumb).then_some(theme)
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

    #[test]
    fn colours_need_a_terminal_that_has_them_and_no_wish_against_them() {
        let theme = |no_color: Option<&str>, term: Option<&str>| {
            theme(no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert_eq!(theme(None, Some("xterm")), Some(Theme::COLOUR));
        assert_eq!(theme(Some(""), Some("xterm")), Some(Theme::COLOUR), "empty means unset");
        assert_eq!(theme(Some("1"), Some("xterm")), None);
        assert_eq!(theme(None, Some("dumb")), None);
        assert_eq!(theme(None, None), None);
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

//! Text on a terminal at standard output: its width, and whether it is coloured.

use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
};

use super::{
    Failure, Status,
    display::{self, DisplayOptions, variable},
    print,
};
use crate::{
    report::toned::{Tone, Toned},
    ui::{
        picture,
        theme::{Meaning, Palette, Theme},
    },
    units::UnitSystem,
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

/// Prints a text: on a terminal in its characters, and coloured if it has colours, by the theme of the screen.
pub(super) fn print_toned(text: &Toned) -> Result<Status, Failure> {
    if !io::stdout().is_terminal() {
        return print(text.plain());
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
    fn only_what_means_something_is_coloured() {
        let mut text = Toned::default();
        text.push("a ");
        text.push_toned(Tone::Problem, "b\nc");
        text.push("\n");
        let red = "\u{1b}[0;1;31m";
        assert_eq!(coloured(&text, Theme::COLOUR), format!("a {red}b\u{1b}[0m\n{red}c\u{1b}[0m\n"));
    }
}

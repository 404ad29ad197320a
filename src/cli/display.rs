//! Options of how screens look, and what the terminal's environment says where they are not given.

use std::env;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::Complaint;
use crate::ui::{
    glyphs::GlyphSet,
    theme::{Palette, Theme},
};

/// How screens look; default by the terminal.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct DisplayOptions {
    /// Colours: 16, dark, light, high-contrast, plain, or a theme of the configuration file
    #[arg(long, global = true, value_name = "NAME", help_heading = "Display")]
    pub theme: Option<String>,
    /// Characters; default by locale and TERM
    #[arg(long, global = true, value_name = "SET", help_heading = "Display",
          value_parser = PossibleValuesParser::new(GlyphSet::ALL.map(|(_, word)| word))
              .map(|word| GlyphSet::from_word(&word).unwrap_or_default()))]
    pub glyphs: Option<GlyphSet>,
}

impl DisplayOptions {
    /// The theme for this terminal.
    pub(super) fn of_terminal(&self) -> Result<Theme, Complaint> {
        let term = variable("TERM");
        let palette = Palette::of_terminal(&variable);
        let glyphs = self.glyphs.unwrap_or_else(|| GlyphSet::of_terminal(term.as_deref(), &variable));
        Ok(self.named()?.unwrap_or_else(|| Theme::new(palette)).with_glyphs(glyphs))
    }

    /// The theme of a picture, which depends on no terminal.
    pub(super) fn of_picture(&self) -> Result<Theme, Complaint> {
        Ok(self.named()?.unwrap_or(Theme::COLOUR).with_glyphs(self.glyphs.unwrap_or_default()))
    }

    fn named(&self) -> Result<Option<Theme>, Complaint> {
        let Some(name) = &self.theme else { return Ok(None) };
        if let Some(palette) = Palette::from_word(name) {
            return Ok(Some(Theme::new(palette)));
        }
        let known = Palette::ALL.map(|(_, word, _)| word).join(", ");
        Err(Complaint::new(format!("--theme {name}"), "no such theme", format!("use {known}")))
    }
}

/// A variable of the environment that is UTF-8.
pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Why the full screen cannot be shown on a terminal of this TERM.
pub(super) fn why_no_screen(term: Option<&str>) -> Option<Complaint> {
    let term = term.unwrap_or_default();
    (term.is_empty() || term == "dumb").then(|| {
        Complaint::new(
            format!("TERM={term}"),
            "the screen needs a terminal that can move its cursor",
            "use `iodyno tree`, `iodyno check` or `iodyno pull`, or set TERM to the terminal's type",
        )
    })
}

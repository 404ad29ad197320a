//! Options of how screens look, and what the terminal's environment says where they are not given.

use std::{
    env,
    fmt::Write as _,
    sync::{Once, OnceLock},
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{Complaint, Failure, Status, print, say};
use crate::{
    app,
    config::{self, AUTO, Config, Place},
    model::Choice,
    text::Label,
    ui::{
        glyphs::GlyphSet,
        theme::{Palette, Theme},
    },
};

/// How screens look; default by the terminal.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct DisplayOptions {
    /// Colours: auto, 16, dark, light, console, high-contrast, plain, or a theme of the configuration file
    #[arg(long, global = true, value_name = "NAME", help_heading = "Display")]
    pub theme: Option<String>,
    /// Characters; default by locale and TERM
    #[arg(long, global = true, value_name = "SET", help_heading = "Display",
          value_parser = PossibleValuesParser::new(GlyphSet::ALL.map(|(_, word)| word))
              .map(|word| GlyphSet::from_word(&word).unwrap_or_default()))]
    pub glyphs: Option<GlyphSet>,
}

impl DisplayOptions {
    /// The theme for this terminal: an option, else the configuration file, else the environment.
    pub(super) fn of_terminal(&self, config: &Config) -> Result<Theme, Complaint> {
        let palette = Palette::of_terminal(&variable);
        let glyphs = self.glyphs(config, true);
        // NO_COLOR wins over the file, and an option over both (no-color.org).
        let is_auto = self.theme.as_deref() == Some(AUTO);
        let of_file = config.theme.as_ref().filter(|_| palette != Palette::Plain && !is_auto);
        let of_file = of_file.and_then(|name| config.theme_named(name));
        Ok(self.named(config)?.or(of_file).unwrap_or_else(|| Theme::new(palette)).with_glyphs(glyphs))
    }

    /// The characters of a terminal, or of a pipe or a file: an option, else the configuration file, else the environment.
    pub(super) fn glyphs(&self, config: &Config, is_terminal: bool) -> GlyphSet {
        self.glyphs.or(config.glyphs).unwrap_or_else(|| {
            if is_terminal {
                GlyphSet::of_terminal(variable("TERM").as_deref(), &variable)
            } else {
                GlyphSet::of_pipe(&variable)
            }
        })
    }

    /// Whether neither an option nor the file nor the environment says which theme: the terminal is asked for its background.
    pub(super) fn asks_terminal(&self, config: &Config) -> bool {
        !self.is_chosen(config) && Palette::asks_terminal(&variable)
    }

    /// The terminal for which a theme chosen by key is kept: one of another terminal may be unreadable on the Linux console.
    /// `None` where an option, the file or the environment names the theme.
    pub(super) fn keeps_theme(&self, config: &Config) -> Option<Choice> {
        let is_free = self.theme.is_none() && !self.is_chosen(config);
        match Palette::of_terminal(&variable) {
            _ if !is_free => None,
            Palette::Plain => None,
            Palette::Console => Some(Choice::ConsoleTheme),
            _ => Some(Choice::Theme),
        }
    }

    /// Whether an option or the file names a theme.
    fn is_chosen(&self, config: &Config) -> bool {
        let is_named = |name: &String| name != AUTO;
        self.theme.as_ref().map_or_else(|| config.theme.as_ref().is_some_and(is_named), is_named)
    }

    /// Refuses a theme that nobody has, whether the command shows colours or not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.is_own() {
            self.named(&configuration().config)?;
        }
        Ok(())
    }

    /// Whether the option names a theme that only a configuration file can have.
    fn is_own(&self) -> bool {
        self.theme.as_ref().is_some_and(|name| name != AUTO && Palette::from_word(name).is_none())
    }

    /// The theme of a picture, which depends on no terminal and no file unless an option names one.
    pub(super) fn of_picture(&self) -> Result<Theme, Failure> {
        let config = if self.is_own() { said().config.clone() } else { Config::default() };
        let theme = self.named(&config)?.unwrap_or(Theme::COLOUR);
        Ok(theme.with_glyphs(self.glyphs.unwrap_or_default()))
    }

    /// A configuration with the options of the command line.
    fn over(&self, config: Config) -> Result<Config, Complaint> {
        self.named(&config)?;
        Ok(Config {
            theme: self.theme.clone().or(config.theme.clone()).filter(|name| name != AUTO),
            glyphs: self.glyphs.or(config.glyphs),
            ..config
        })
    }

    fn named(&self, config: &Config) -> Result<Option<Theme>, Complaint> {
        let Some(name) = self.theme.as_ref().filter(|name| *name != AUTO) else { return Ok(None) };
        if let Some(theme) = config.theme_named(name) {
            return Ok(Some(theme));
        }
        let known = config.known_themes();
        Err(Complaint::new(format!("--theme {name}"), "no such theme", format!("use {known}")))
    }
}

/// The theme for this terminal by its environment alone.
pub(super) fn auto_theme() -> Theme {
    Theme::new(Palette::of_terminal(&variable))
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

/// The user's configuration, where it is, and its mistakes, a line each.
pub(super) struct Configured {
    place: Place,
    pub config: Config,
    pub mistakes: Vec<String>,
}

/// The user's configuration, read once. Mistakes are for the screen, or for [`said`].
pub(super) fn configuration() -> &'static Configured {
    static CONFIGURED: OnceLock<Configured> = OnceLock::new();
    CONFIGURED.get_or_init(|| {
        let defaults = |place, mistakes| Configured { place, config: Config::default(), mistakes };
        let found = match config::of_process() {
            Ok(found) => found,
            Err(unread) => {
                let fix = format!("{}, until then the defaults apply", unread.fix);
                let complaint = Complaint::new(unread.place, unread.why, fix);
                return defaults(Place::Nowhere, vec![complaint.to_string()]);
            }
        };
        let (path, text) = match (found.path, found.text) {
            (Some(path), Some(text)) => (path, text),
            (Some(path), None) => return defaults(Place::Missing(path), Vec::new()),
            (None, _) => return defaults(Place::Nowhere, Vec::new()),
        };
        let (config, wrong) = config::read(&text, &app::names());
        let line = |wrong: config::Wrong| Label::new(&format!("{}:{}: {wrong}", path.display(), wrong.line));
        let mistakes = wrong.into_iter().map(|wrong| line(wrong).to_string()).collect();
        Configured { place: Place::File(path), config, mistakes }
    })
}

/// The same for commands: mistakes are printed once on standard error.
pub(super) fn said() -> &'static Configured {
    static SAID: Once = Once::new();
    let configured = configuration();
    SAID.call_once(|| configured.mistakes.iter().for_each(|line| say(line)));
    configured
}

#[derive(Debug, Clone, Args)]
pub(super) struct ConfigArgs {
    /// Print the defaults, whatever the file contains
    #[arg(long)]
    defaults: bool,
}

/// `iodyno config`: the effective configuration as a file, a comment for each key.
///
/// Options of the command line win over the file, as they do on the screen. The exit status of a file with mistakes is 1.
pub(super) fn print_config(args: &ConfigArgs, display: &DisplayOptions) -> Result<Status, Failure> {
    let (place, config, is_right) = if args.defaults {
        (&Place::Nowhere, Config::default(), true)
    } else {
        let Configured { place, config, mistakes } = said();
        (place, display.over(config.clone())?, mistakes.is_empty())
    };
    print(&format!("{}{}", config.text(place), commands_with_keys()))?;
    Ok(if is_right { Status::Done } else { Status::No })
}

/// All commands with their usual keys, as comments for `[keys]`.
fn commands_with_keys() -> String {
    let mut text = "\n# Commands with their usual keys, for [keys]\n".to_owned();
    for row in app::names().keys {
        let keys: Vec<String> = row.keys.iter().map(|key| format!("{:?}", key.notation())).collect();
        let _ = writeln!(text, "# {:?} = [{}]", row.command, keys.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_cannot_move_its_cursor_is_told_which_commands_to_use() {
        for term in [None, Some(""), Some("dumb")] {
            let complaint = why_no_screen(term).map(|complaint| complaint.to_string()).unwrap_or_default();
            assert!(complaint.contains("use `iodyno tree`, `iodyno check`"), "{complaint}");
        }
        assert!(why_no_screen(Some("vt100")).is_none());
    }

    #[test]
    fn an_option_wins_over_the_file() {
        let names = config::Names::default();
        let text = "theme = \"dark\"\nglyphs = \"ascii\"\n";
        let config = config::read(text, &names).0;
        let with = |theme: Option<&str>, glyphs| {
            let options = DisplayOptions { theme: theme.map(str::to_owned), glyphs };
            options.of_terminal(&config).map(|theme| (theme.palette, theme.glyphs))
        };
        let options = DisplayOptions { theme: Some("light".to_owned()), glyphs: None };
        let printed =
            options.over(config.clone()).map(|config| config.text(&Place::Nowhere)).unwrap_or_default();
        assert!(printed.contains("theme = \"light\"") && printed.contains("glyphs = \"ascii\""), "{printed}");
        let light = with(Some("light"), Some(GlyphSet::Blocks));
        assert_eq!(light, Ok((Palette::Light, GlyphSet::Blocks)));
        assert_eq!(with(None, None).map(|(_, glyphs)| glyphs), Ok(GlyphSet::Ascii));
        assert!(
            with(Some("pink"), None)
                .is_err_and(|why| why.to_string().contains("no such theme; use auto, 16"))
        );
    }
}

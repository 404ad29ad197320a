//! The user's configuration, applied at the start; and the way from one theme to the next.

use super::{App, Effect};
use crate::{
    config::{AUTO, Config, Names},
    model::Choice,
    screens,
    ui::theme::{Palette, Theme},
};

/// Names that a configuration file may use.
pub(crate) fn names() -> Names {
    Names {
        commands: super::commands::names(),
        keys: super::commands::usual_keys(),
        columns: screens::column_names(),
    }
}

/// Who chose the theme.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThemeChoice {
    /// Where one chosen by key is kept for the next start; nowhere if it was asked for otherwise.
    keeps: Option<Choice>,
    /// The name of the one that the user chose by key, now or before.
    own: Option<String>,
    /// What the terminal's environment and background choose.
    auto: Option<Theme>,
}

impl App {
    /// Applies a configuration; the theme is that of the terminal or of an option, which wins. `keeps` is where one chosen by
    /// key is kept for the next start.
    pub(crate) fn configure(&mut self, config: &Config, theme: Theme, keeps: Option<Choice>) {
        self.theme_choice.keeps = keeps;
        let glyphs = theme.glyphs;
        let themes = config.theme_names().into_iter().filter_map(|name| {
            let theme = config.theme_named(&name)?;
            Some((name, theme.with_glyphs(glyphs)))
        });
        (self.shared.themes, self.shared.theme) = (themes.collect(), theme);
        if self.shared.units != config.units {
            self.switch_units();
        }
        self.screens.machine.configure(config.columns.as_deref(), config.sort.as_deref());
        self.screens.dyno.form.workload = config.workload.clone();
        self.screens.dyno.form.profiles.clone_from(&config.profiles);
        self.refresh();
    }

    /// Shows the first mistake of the configuration file, and how many more there are, until a key.
    pub(crate) fn warn_of_mistakes(&mut self, mistakes: &[String]) {
        let Some((first, others)) = mistakes.split_first() else { return };
        let more = match others.len() {
            0 => String::new(),
            more => format!(" ({more} more: `iodyno config` prints them)"),
        };
        self.put(format!("{first}{more}"), true);
    }

    /// Takes from the machine before what is the user's and not the machine's.
    pub(super) fn inherit(&mut self, before: Self) {
        (self.shared.themes, self.shared.theme) = (before.shared.themes, before.shared.theme);
        self.theme_choice = before.theme_choice;
        self.began = before.began.or(Some(before.shared.mode));
        self.screens.machine.inherit(before.screens.machine);
        let (form, old) = (&mut self.screens.dyno.form, before.screens.dyno.form);
        (form.workload, form.profiles) = (old.workload, old.profiles);
        self.refresh();
    }

    /// Takes what the terminal's environment chooses, as `auto` shows it.
    pub(crate) const fn follow_terminal(&mut self, auto: Theme) {
        self.theme_choice.auto = Some(auto);
    }

    fn auto_theme(&self) -> Theme {
        self.theme_choice.auto.unwrap_or(Theme::COLOUR).with_glyphs(self.shared.theme.glyphs)
    }

    /// Takes the colours for this background in place of the terminal's own sixteen; a theme that the user chose stays.
    pub(super) fn follow_background(&mut self, is_light: bool) {
        let (now, auto) = (self.shared.theme, self.auto_theme());
        if auto != Theme::COLOUR.with_glyphs(now.glyphs) {
            return;
        }
        let palette = if is_light { Palette::Light } else { Palette::Dark };
        let follows = Theme::new(palette).with_glyphs(now.glyphs);
        self.theme_choice.auto = Some(follows);
        if self.theme_choice.own.is_none() && now == auto {
            self.shared.theme = follows;
        }
    }

    /// Shows the next theme: behind the last one what the terminal chooses.
    pub(super) fn next_theme(&mut self) -> Vec<Effect> {
        let (now, auto) = (self.shared.theme, self.auto_theme());
        let themes =
            self.shared.themes.iter().map(|(name, theme)| (name.as_str(), theme.with_glyphs(now.glyphs)));
        let themes: Vec<(&str, Theme)> = themes.chain([(AUTO, auto)]).collect();
        let is_now = |(name, theme): &(&str, Theme)| match self.theme_choice.own.as_deref() {
            Some(own) => own == *name,
            None if now == auto => *name == AUTO,
            None => *theme == now,
        };
        let at = themes.iter().position(is_now).unwrap_or(themes.len() - 1);
        let mut behind = themes.iter().cycle().skip(at + 1).take(themes.len());
        // One that looks the same as `auto` would seem to do nothing behind it.
        let is_other = |(_, theme): &&(&str, Theme)| themes[at].0 != AUTO || *theme != now;
        let Some((name, theme)) = behind.find(is_other).copied() else { return Vec::new() };
        let name = name.to_owned();
        self.shared.theme = theme;
        self.theme_choice.own = Some(name.clone());
        let chosen = if name == AUTO {
            format!("auto: {} on this terminal", theme.palette.word())
        } else {
            name.clone()
        };
        if let Some(choice) = self.theme_choice.keeps {
            self.tell(format!("Theme {chosen}, also at the next start"));
            return vec![Effect::KeepChoice(choice, name)];
        }
        if auto.palette == Palette::Plain {
            self.tell(format!(
                "Theme {chosen}, for this start: TERM or NO_COLOR says that there are no colours"
            ));
            return Vec::new();
        }
        self.tell(format!(
            "Theme {chosen}. To keep it: theme = \"{name}\" in the file that `iodyno config` names"
        ));
        Vec::new()
    }

    /// Takes the theme that was chosen by key at an earlier start; what this start was asked for wins.
    pub(super) fn take_theme(&mut self, choice: Choice, name: &str) {
        let glyphs = self.shared.theme.glyphs;
        let kept = self.shared.themes.iter().find(|(known, _)| known == name).map(|(_, theme)| *theme);
        let is_free = self.theme_choice.keeps == Some(choice) && self.theme_choice.own.is_none();
        if let Some(theme) = kept.filter(|_| is_free) {
            (self.shared.theme, self.theme_choice.own) = (theme.with_glyphs(glyphs), Some(name.to_owned()));
        }
    }
}

#[cfg(test)]
mod fixes;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Message, Mode, update},
        capacity, config,
        report::flatten::Sort,
        source::{self, origin::Origin},
        ui::{Key, MachineRead, glyphs::GlyphSet},
    };

    #[test]
    fn another_machine_is_shown_as_the_user_chose() {
        let mut app = app();
        let text = "columns = [\"+temp\"]\nsort = \"-temp\"\n[workload]\nbs = \"64k\"\n[profiles.one]\niodepth = 1\n";
        let config = config::read(text, &names()).0;
        let theme = Theme::new(Palette::Console).with_glyphs(GlyphSet::Blocks);
        app.configure(&config, theme, Some(Choice::Theme));
        let read = self::app().shared;
        let read = MachineRead { machine: read.machine, problems: Vec::new(), limits: read.limits };
        let opened = crate::ui::message::Opened { name: "a text".to_owned(), mode: Mode::Capture, read };
        let kept = app.screens.machine.kept_line();
        update(&mut app, Message::Opened(Box::new(Ok(opened))));
        assert_eq!((app.shared.theme, app.shared.themes.len()), (theme, Palette::ALL.len()));
        assert_eq!(app.screens.machine.kept_line(), kept);
        let form = &app.screens.dyno.form;
        assert_eq!((form.workload.block_size.0, form.profiles.len()), (65536, 1));
    }

    #[test]
    fn mistakes_of_the_file_are_a_notice_that_stays_until_a_key() {
        let mut app = app();
        app.warn_of_mistakes(&[]);
        assert!(app.notice.is_none());
        app.warn_of_mistakes(&[
            "/c.toml:3: colour: no such key; use theme".to_owned(),
            "/c.toml:4: x".to_owned(),
        ]);
        let notice = app.notice.clone().unwrap();
        assert_eq!(
            notice.text,
            "/c.toml:3: colour: no such key; use theme (1 more: `iodyno config` prints them)"
        );
        assert!(notice.problem);
        update(&mut app, Message::Tick(std::time::Duration::from_mins(10)));
        assert!(app.notice.is_some());
        update(&mut app, Message::Key(Key::Down));
        assert!(app.notice.is_none());
    }

    #[test]
    fn the_background_chooses_colours_unless_the_user_does() {
        let mut app = app();
        for (is_light, palette) in [(true, Palette::Light), (false, Palette::Dark)] {
            app.follow_terminal(Theme::COLOUR);
            app.shared.theme = Theme::COLOUR.with_glyphs(GlyphSet::Blocks);
            update(&mut app, Message::Background { is_light });
            assert_eq!(app.shared.theme, Theme::new(palette).with_glyphs(GlyphSet::Blocks));
        }
        app.shared.theme = Theme::new(Palette::HighContrast);
        update(&mut app, Message::Background { is_light: true });
        assert_eq!(app.shared.theme.palette, Palette::HighContrast);
    }

    #[test]
    fn a_theme_chosen_by_key_is_there_again_at_the_next_start() {
        let mut first = app();
        first.configure(&Config::default(), Theme::COLOUR, Some(Choice::Theme));
        let effects = update(&mut first, Message::Key(Key::Ctrl('t')));
        let [Effect::KeepChoice(Choice::Theme, name)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(
            first.notice.map(|notice| notice.text).unwrap(),
            format!("Theme {name}, also at the next start")
        );
        let kept = || Message::Chosen(Choice::Theme, name.clone());
        let mut next = app();
        next.configure(&Config::default(), Theme::COLOUR, Some(Choice::Theme));
        update(&mut next, kept());
        assert_eq!(next.shared.theme, first.shared.theme);
        update(&mut next, Message::Background { is_light: true });
        assert_eq!(next.shared.theme, first.shared.theme, "the user chose it");
        // The Linux console has a theme of its own.
        let mut console = app();
        console.configure(&Config::default(), Theme::new(Palette::Console), Some(Choice::ConsoleTheme));
        update(&mut console, kept());
        assert_eq!(console.shared.theme, Theme::new(Palette::Console));
        update(&mut console, Message::Chosen(Choice::ConsoleTheme, "light".to_owned()));
        assert_eq!(console.shared.theme, Theme::new(Palette::Light));
        // An option or the file wins, and the notice says where to keep another one.
        let mut named = app();
        named.configure(&Config::default(), Theme::new(Palette::Light), None);
        update(&mut named, kept());
        assert_eq!(named.shared.theme, Theme::new(Palette::Light));
        assert_eq!(update(&mut named, Message::Key(Key::Ctrl('t'))), []);
        assert!(named.notice.is_some_and(|notice| notice.text.contains("`iodyno config`")));
        // A terminal without colours shows no kept theme, and neither keeps one nor names a place that would.
        let mut plain = app();
        plain.configure(&Config::default(), Theme::PLAIN, None);
        plain.follow_terminal(Theme::PLAIN);
        update(&mut plain, kept());
        assert_eq!(plain.shared.theme, Theme::PLAIN);
        assert_eq!(update(&mut plain, Message::Key(Key::Ctrl('t'))), []);
        assert!(plain.notice.is_some_and(|notice| notice.text.ends_with("says that there are no colours")));
    }

    #[test]
    fn the_themes_end_with_what_the_terminal_chooses() {
        let mut app = app();
        app.configure(&Config::default(), Theme::COLOUR, Some(Choice::Theme));
        app.follow_terminal(Theme::COLOUR);
        update(&mut app, Message::Background { is_light: true });
        let mut names = Vec::new();
        for _ in 0..=Palette::ALL.len() {
            let effects = update(&mut app, Message::Key(Key::Ctrl('t')));
            let [Effect::KeepChoice(_, name)] = &effects[..] else { panic!("{effects:?}") };
            names.push(name.clone());
        }
        assert_eq!(names, ["16", "dark", "light", "console", "high-contrast", "plain", "auto"]);
        assert_eq!(app.shared.theme, Theme::new(Palette::Light));
        let told = app.notice.clone().map(|notice| notice.text).unwrap();
        assert_eq!(told, "Theme auto: light on this terminal, also at the next start");
        // Kept as auto, the next start follows its own terminal.
        let mut next = self::app();
        next.configure(&Config::default(), Theme::new(Palette::Dark), Some(Choice::Theme));
        next.follow_terminal(Theme::new(Palette::Dark));
        update(&mut next, Message::Chosen(Choice::Theme, "auto".to_owned()));
        assert_eq!(next.shared.theme.palette, Palette::Dark);
        // A theme that looks as auto does is passed over, so that every press changes something.
        let mut sixteen = self::app();
        update(&mut sixteen, Message::Key(Key::Ctrl('t')));
        assert_eq!(sixteen.shared.theme.palette, Palette::Dark);
    }

    fn app() -> App {
        let (machine, problems) = source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap());
        let limits = Arc::new(capacity::limits(&machine));
        let read = MachineRead { machine: Arc::new(machine), problems, limits };
        App::new(Mode::Capture, read, (120, 40))
    }

    #[test]
    fn every_key_of_the_file_reaches_its_screen() {
        let text = "theme = \"a\"\nunits = \"GiB/s\"\ncolumns = [\"+temp\"]\nsort = \"-temp\"\n\
                    [workload]\nbs = \"64k\"\n[profiles.one]\niodepth = 1\n[themes.a]\nbase = \"dark\"\n";
        let config = config::read(text, &names()).0;
        let mut app = app();
        app.configure(&config, config.theme_named("a").unwrap(), None);
        assert_eq!(app.shared.units, config.units);
        assert_eq!(app.screens.machine.sort, Sort::Reversed("temp"));
        assert!(app.screens.machine.kept_line().starts_with("+temp "));
        assert_eq!(app.screens.dyno.form.workload, config.workload);
        assert_eq!(app.screens.dyno.form.next_profile(), "one");
        update(&mut app, Message::Chosen(Choice::Columns, "-temp sort=load".to_owned()));
        assert!(app.screens.machine.kept_line().starts_with("+temp "), "the file wins");
        for _ in 0..app.shared.themes.len() {
            let before = app.shared.theme;
            update(&mut app, Message::Key(Key::Ctrl('t')));
            assert_ne!(app.shared.theme, before);
        }
        assert_eq!(app.shared.themes.len(), 7);
    }
}

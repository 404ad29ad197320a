//! The user's configuration file: [`KEYS`] has one row per key; the reader, `iodyno config` and the documents follow from it.

mod keys;
mod location;
mod reader;
mod trust;

use std::{fmt::Write as _, path::PathBuf, time::Duration};

pub(crate) use self::location::of_process;
pub use self::{
    keys::{KEYS, markdown},
    reader::{Wrong, read},
};
use crate::{
    model::Workload,
    text::Label,
    ui::{
        Key,
        glyphs::GlyphSet,
        theme::{Palette, Theme},
    },
    units::UnitSystem,
};

/// The value of a key that the terminal decides.
pub(crate) const AUTO: &str = "auto";

/// Everything the file can say.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Name of the theme; `None` is chosen by the terminal.
    pub theme: Option<String>,
    /// Characters; `None` is chosen by locale and TERM.
    pub glyphs: Option<GlyphSet>,
    /// GB/s or GiB/s.
    pub units: UnitSystem,
    /// Columns of the tree, in the form of the state folder's file; `None` is the choice made on the screen.
    pub columns: Option<String>,
    /// Order of siblings: `bus`, `load`, `name`, a column, or `-` and a column.
    pub sort: Option<String>,
    /// Time between two looks at the counters.
    pub interval: Duration,
    /// The form's workload at the start.
    pub workload: Workload,
    /// Named workloads of the form.
    pub profiles: Vec<(String, Workload)>,
    /// Commands with their keys, instead of their usual ones.
    pub keys: Vec<(String, Vec<Key>)>,
    /// Themes of the user's own.
    pub themes: Vec<(String, Theme)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            theme: None,
            glyphs: None,
            units: UnitSystem::default(),
            columns: None,
            sort: None,
            interval: Duration::from_secs(1),
            workload: Workload::default(),
            profiles: Vec::new(),
            keys: Vec::new(),
            themes: Vec::new(),
        }
    }
}

/// The keys of a command before a file gives it others.
#[derive(Debug, Clone, Copy)]
pub struct UsualKeys {
    /// The screen it is for; `None` is every one.
    pub screen: Option<&'static str>,
    /// The command's name.
    pub command: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Names that the file may use and that belong to other modules.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Commands.
    pub commands: Vec<&'static str>,
    /// Usual keys of commands.
    pub keys: Vec<UsualKeys>,
    /// Columns of the tree.
    pub columns: Vec<&'static str>,
}

/// Where a configuration is, for its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In this file.
    File(PathBuf),
    /// Nowhere yet: this file would be read.
    Missing(PathBuf),
    /// In no file.
    Nowhere,
}

impl Config {
    /// The theme of that name: one of the file's, else a built-in one.
    pub fn theme_named(&self, name: &str) -> Option<Theme> {
        let own = self.themes.iter().find(|(known, _)| known == name).map(|(_, theme)| *theme);
        own.or_else(|| Palette::from_word(name).map(Theme::new))
    }

    /// Names of all themes, the built-in ones first.
    pub fn theme_names(&self) -> Vec<String> {
        let built_in = Palette::ALL.iter().map(|(_, word, _)| (*word).to_owned());
        let own = self.themes.iter().map(|(name, _)| name.clone());
        built_in.filter(|word| self.themes.iter().all(|(name, _)| name != word)).chain(own).collect()
    }

    /// Every name that stands for a theme, for a message about another one.
    pub(crate) fn known_themes(&self) -> String {
        format!("{AUTO}, {}", self.theme_names().join(", "))
    }

    /// The whole configuration as a file, with a comment for each key.
    pub fn text(&self, place: &Place) -> String {
        let shown = |path: &PathBuf| Label::new(&path.to_string_lossy());
        let mut text = match place {
            Place::File(path) => format!("# {}\n", shown(path)),
            Place::Missing(path) => {
                format!("# these are the defaults; {} would change them and is not there\n", shown(path))
            }
            Place::Nowhere => "# these are the defaults\n".to_owned(),
        };
        for key in KEYS {
            let _ = write!(text, "\n# {}\n# {}\n", key.help, key.values);
            text.push_str(&(key.print)(self));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        let usual = |screen, command, keys| UsualKeys { screen, command, keys };
        Names {
            commands: vec!["pull", "units", "theme", "paths", "undo all", "down", "quit", "what-if"],
            columns: vec!["link", "read", "write", "temp"],
            keys: vec![
                usual(None, "pull", &[Key::Char('r')]),
                usual(None, "down", &[Key::Down, Key::Char('j')]),
                usual(None, "quit", &[Key::Char('q')]),
                usual(Some("machine"), "paths", &[Key::Char('w')]),
                usual(Some("tune"), "undo all", &[Key::Char('w')]),
            ],
        }
    }

    /// The configuration of a text without mistakes.
    fn right(text: &str) -> Config {
        let (config, wrong) = read(text, &names());
        assert_eq!(wrong, [], "{text}");
        config
    }

    /// The only mistake of a text.
    fn mistake(text: &str) -> Wrong {
        let [wrong] = <[Wrong; 1]>::try_from(read(text, &names()).1).unwrap();
        wrong
    }

    const FULL: &str = r##"
theme = "mine"
glyphs = "ascii"
units = "GiB/s"
columns = ["link", "+temp", "-write"]
sort = "-temp"
interval = 0.5

[workload]
bs = "64k"
iodepth = 8

[profiles.latency]
bs = "4k"
iodepth = 1

[keys]
pull = "p"
units = ["U", "<C-u>"]

[themes.mine]
base = "dark"
warning = "#ff8000"
lines = 245
good = "light-green"
curves = ["red", 3]
"##;

    #[test]
    fn a_full_file_is_read_and_printed_as_it_was() {
        let config = right(FULL);
        assert_eq!((config.theme.as_deref(), config.glyphs), (Some("mine"), Some(GlyphSet::Ascii)));
        assert_eq!(config.columns.as_deref(), Some("link +temp -write"));
        assert_eq!((config.workload.depth, config.workload.block_size.0), (8, 64 << 10));
        assert_eq!(config.profiles[0].1.depth, 1);
        assert_eq!(config.keys[1].1, [Key::Char('U'), Key::Ctrl('u')]);
        assert!(config.theme_named("mine").is_some_and(|theme| theme.palette == Palette::Dark));
        let text = config.text(&Place::Nowhere);
        let profile = text.split("[profiles.latency]").nth(1).unwrap();
        assert!(
            profile.contains("rw = \"randread\"") && profile.contains("bs = \"4k\""),
            "defaults too: {text}"
        );
        let again = right(&text);
        assert_eq!(again, config, "{}", config.text(&Place::Nowhere));
    }

    #[test]
    fn a_path_with_a_line_end_stays_a_comment() {
        for place in [Place::File("/a\nb\u{1b}[2J".into()), Place::Missing("/a\nb".into())] {
            let text = Config::default().text(&place);
            let (first, second) = (text.lines().next().unwrap(), text.lines().nth(1).unwrap());
            assert!(first.starts_with("# ") && first.contains("/a") && second.is_empty(), "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn the_defaults_are_printed_as_a_file_that_gives_them() {
        let text = Config::default().text(&Place::Nowhere);
        assert_eq!(right(&text), Config::default(), "{text}");
        assert_eq!(right(""), Config::default());
        for key in KEYS {
            assert!(text.contains(key.name), "{}", key.name);
            assert!(text.contains(key.help) && markdown().contains(key.help), "{}", key.name);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_the_fix() {
        for (text, line, says) in [
            ("colour = 1", 1, "colour: no such key; use theme, glyphs"),
            ("\n\nunits = \"MB\"", 3, "units: \"MB\" is not one of its values; use \"GB/s\" or \"GiB/s\""),
            ("theme = 1", 1, "theme: not a text; use \""),
            ("theme = \"pink\"", 1, "theme: \"pink\" is no theme; use auto, 16, dark"),
            ("interval = 100", 1, "interval: out of range; use 0.2 to 3 seconds"),
            ("columns = [\"lynk\"]", 1, "columns: no column \"lynk\"; use link, read"),
            ("sort = \"-heat\"", 1, "sort: no column \"heat\"; use bus, load, name"),
            ("[workload]\n\nbs = \"4q\"", 3, "workload.bs: not a size; use 4k, 1m or 512"),
            ("[workload]\ndepth = 3", 2, "workload.depth: no such option; use rw, bs"),
            ("[profiles]\nx = 3", 2, "profiles.x: not a table; use [profiles.x]"),
            ("profiles = \"a\"", 1, "profiles: not a table; use [profiles.NAME]"),
            ("workload = 3", 1, "workload: not a table; use [workload]"),
            ("[keys]\nfly = \"f\"", 2, "keys.fly: no such command; use "),
            ("[keys]\npuul = \"f\"", 2, "keys.puul: no such command; use pull"),
            (
                "[keys]\nunits = \"q\"",
                2,
                "keys.units: q is the key of quit; use another key, or bind quit too",
            ),
            ("[keys]\npaths = \"q\"", 2, "keys.paths: q is the key of quit"),
            ("[keys]\nquit = []", 2, "keys.quit: needs a key; use \"q\""),
            ("[keys]\n\npull = \"w\"", 3, "keys.pull: w is the key of paths"),
            ("[keys]\npull = \"<Foo>\"", 2, "keys.pull: <Foo> is no key; use letters"),
            ("[keys]\npull = \"Space\"", 2, "keys.pull: \"Space\" is not one key; use \"<Space>\""),
            ("[keys]\npull = \"ab\"", 2, "keys.pull: \"ab\" is not one key; use \"p\", \"<C-p>\", \"<F5>\""),
            ("[keys]\npull = \"p\"\nunits = \"p\"", 3, "keys.units: p means pull too; use another key"),
            ("[themes.a]\nwarming = \"red\"", 2, "themes.a.warming: no such colour; use base, curves, text"),
            ("[themes.a]\nwarning = \"rad\"", 2, "themes.a.warning: \"rad\" is no colour; use a name"),
            ("[themes.a]\nlines = 256", 2, "themes.a.lines: 256 is no colour; use a name"),
            ("theme = \n", 1, "string"),
            ("[workload]\niodepth = -1", 2, "workload.iodepth: not a number; use 1 to 4096"),
            ("[workload]\nnumjobs = -1", 2, "workload.numjobs: not a number; use 1 to 1024"),
            ("[workload]\nprefetch = \"-1\"", 2, "workload.prefetch: not a size; use 4096 to 1g"),
            ("[workload]\nrate_iops = -1", 2, "workload.rate_iops: not a number; use 32 or 10k"),
            ("[profiles]\nrw = \"read\"", 2, "profiles.rw: not a table; use [profiles.NAME]"),
            ("[theme.mine]\nbase = \"dark\"", 1, "theme: not a text; use [themes.mine]"),
            ("[theme]\nbase = \"dark\"", 1, "theme: not a text; use [themes.NAME]"),
            (
                "[workload]\niodepth = 8\nbs = 1000",
                3,
                "workload.bs: block size 1000 is not supported; use a multiple of 512 B",
            ),
            ("[workload]\nrw = \"read\"\nbssplit = \"1000/100\"", 3, "workload.bssplit: block size 1000 is"),
            (
                "[profiles.a]\ndirect = 0\nhipri = 1",
                3,
                "profiles.a.hipri: polled completions need O_DIRECT; add direct = 1 or leave hipri out",
            ),
            (
                "[workload]\nuncached = 1",
                2,
                "workload.uncached: needs buffered reads of io_uring; use it with direct = 0 and ioengine = \"io_uring\"",
            ),
            (
                "[workload]\nprefetch = \"1m\"",
                2,
                "use it with rw = \"read\" and ioengine = \"mmap\", or ioengine = \"psync\" direct = 0",
            ),
            (
                "[workload]\nhipri = 1\nioengine = \"psync\"",
                2,
                "workload.hipri: psync cannot poll for completions; use ioengine = \"io_uring\", or leave hipri out",
            ),
            (
                "[workload]\nbs = \"4k\"\nblocksize = \"8k\"",
                3,
                "workload.blocksize: bs has another value above; use one of both names",
            ),
            ("columns = [\n  \"link\",\n  \"lynk\",\n]", 3, "columns: no column \"lynk\"; use link, read"),
            (
                "columns = [\"+link\", \"-link\"]",
                1,
                "columns: \"-link\" is the column of \"+link\" again; use each column once",
            ),
            ("[keys]\npull = [\n\"p\",\n\"<Foo>\"]", 4, "keys.pull: <Foo> is no key"),
            (
                "[keys]\npull = \"<C-i>\"",
                2,
                "keys.pull: terminals send Tab for Ctrl-I; use <Tab> or another key",
            ),
            ("[keys]\npull = \"<C-m>\"", 2, "keys.pull: terminals send Enter for Ctrl-M; use <Enter> or"),
            (
                "[keys]\npull = \"\\u001B\"",
                2,
                "keys.pull: U+001B is a control or invisible character; use \"p\"",
            ),
            ("[keys]\npull = \"\\u202E\"", 2, "keys.pull: U+202E is a control or invisible character; use"),
        ] {
            let wrong = mistake(text);
            assert_eq!(wrong.line, line, "{text:?}: {wrong}");
            assert!(wrong.to_string().contains(says), "{text:?}: {wrong}");
            assert!(!wrong.to_string().contains('\n'), "{wrong}");
        }
    }

    #[test]
    fn a_mistake_leaves_the_rest_of_the_file() {
        let text = r#"
theme = "mine"
units = "MB"
colour = 1
columns = ["link", "lynk", "+temp"]
interval = 0.5
sort = 3

[workload]
bs = "64k"
depth = 3
iodepth = 8

[profiles]
wrong = 3
latency = { iodepth = 1, bs = "4q" }

[keys]
units = "<Foo>"
pull = "p"
paths = "q"

[themes.mine]
base = "dork"
warning = "rad"
lines = 245
"#;
        let (config, wrong) = read(text, &names());
        let lines: Vec<usize> = wrong.iter().map(|wrong| wrong.line).collect();
        assert_eq!(lines, [3, 4, 5, 7, 11, 15, 16, 19, 21, 24, 25], "{wrong:?}");
        assert_eq!((config.theme.as_deref(), config.units), (Some("mine"), UnitSystem::default()));
        assert_eq!(config.columns.as_deref(), Some("link +temp"));
        assert_eq!((config.interval, config.sort), (Duration::from_millis(500), None));
        assert_eq!((config.workload.depth, config.workload.block_size.0), (8, 64 << 10));
        assert_eq!((config.profiles.len(), config.profiles[0].1.depth), (1, 1));
        assert_eq!(config.keys, [("pull".to_owned(), vec![Key::Char('p')])]);
        let lines = config.themes[0].1.painted().0;
        assert_eq!(lines.len(), 1, "{lines:?}");
        // The keys of a command that are left out are taken by no other one.
        let (config, wrong) = read("[keys]\nquit = \"<Foo>\"\npull = \"q\"", &names());
        assert_eq!((config.keys.len(), wrong.len()), (0, 2), "{wrong:?}");
        // Without TOML there is no rest.
        let (config, wrong) = read("theme = \"dark\"\nunits = [", &names());
        assert_eq!((config, wrong[0].line), (Config::default(), 2));
        assert!(wrong[0].to_string().ends_with("; correct it, until then the defaults apply"), "{wrong:?}");
    }

    #[test]
    fn a_command_is_known_with_its_words_joined() {
        let config = right("[keys]\nwhatif = \"p\"");
        assert_eq!(config.keys, [("what-if".to_owned(), vec![Key::Char('p')])]);
        assert_eq!(right(&config.text(&Place::Nowhere)), config);
    }

    #[test]
    fn of_options_an_engine_cannot_use_the_others_hold() {
        let text = "[workload]\nhipri = 1\nhybrid_poll = 1\nioengine = \"psync\"\nbs = \"8k\"";
        let (config, wrong) = read(text, &names());
        let work = &config.workload;
        assert_eq!((wrong.len(), work.hipri, work.hybrid_poll), (1, false, false), "{wrong:?}");
        assert_eq!((work.engine.name(), work.block_size.0), ("psync", 8192));
        assert_eq!(right(&config.text(&Place::Nowhere)), config);
    }

    #[test]
    fn a_key_may_be_taken_from_a_command_that_has_another_one() {
        for text in [
            "[keys]\nunits = \"q\"\nquit = \"Q\"",
            "[keys]\nquit = \"Q\"\nunits = \"q\"",
            "[keys]\nunits = \"j\"",
            "[keys]\npaths = \"W\"",
            "[keys]\nquit = \"q\"",
            "[keys]\nquit = \"F10\"\npull = \"<F5>\"",
        ] {
            right(text);
        }
        let wrong = mistake("[keys]\npuul = \"f\"").to_string();
        assert!(wrong.len() < 120 && wrong.contains("iodyno config"), "{wrong}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in "\\PC{0,80}") {
            for wrong in read(&text, &names()).1 {
                prop_assert!(!wrong.to_string().contains('\n') && wrong.line >= 1);
            }
        }

        #[test]
        fn any_pile_of_its_words_is_read_and_printed_alike(
            lines in proptest::collection::vec(
                "(theme|units|sort|interval|columns|\\[workload\\]|\\[keys\\]|\\[themes\\.a\\]|bs|iodepth|pull|base|good)( = (\"(dark|load|4k|x|red|GiB/s)\"|[0-9]{1,3}|\\[\"link\"\\]))?",
                0..12,
            )
        ) {
            let text = lines.join("\n");
            let config = read(&text, &names()).0;
            prop_assert_eq!(read(&config.text(&Place::Nowhere), &names()), (config, Vec::new()));
        }
    }
}

//! Characters and themes of every screen: within ASCII and the console's fonts, over all demos, and every drawn one in the table.

use std::{fs, path::Path, time::Duration};

use iodyno::{
    app::{keymap, tabs},
    runtime::headless::Headless,
    source::{demo::DEMOS, origin::Origin},
    ui::{
        glyphs::{GLYPHS, GlyphSet},
        theme::{Palette, Theme},
    },
};

/// Keys that show more than a screen at rest: overlays, tests, verdicts, staged values.
const KEYS: [(&str, &str, u64); 9] = [
    ("machine", "?", 0),
    ("machine", ":mark", 0),
    ("machine", "<Enter>", 0),
    ("pull", "r", 70),
    ("dyno", "r", 12),
    ("what-if", "<Enter>", 80),
    ("tune", "l+a", 0),
    ("slots", "b", 0),
    ("sheet", "f", 0),
];

/// Every screen of every demo, at rest and after keys, handed to `check`.
fn over_all_screens(mut check: impl FnMut(&Headless, &str)) {
    for demo in DEMOS {
        for size in [(80, 24), (120, 40)] {
            let open = || Headless::open(&Origin::Demo(demo.name.to_owned()), size).expect("demos open");
            let mut headless = open();
            for about in tabs::tabs().chain(tabs::pages()) {
                headless.app.screen = about.id;
                headless.wait(Duration::ZERO);
                headless.send(iodyno::app::Message::Resize(size.0, size.1));
                check(&headless, &format!("{} {} {size:?}", demo.name, about.id.0));
            }
            if size.0 == 80 {
                continue;
            }
            for (screen, keys, seconds) in KEYS {
                let mut headless = open();
                headless.app.screen = tabs::from_word(screen).expect("a screen");
                headless.send(iodyno::app::Message::Resize(size.0, size.1));
                headless.press(keymap::parse(keys).expect("keys are well written"));
                headless.wait(Duration::from_secs(seconds));
                check(&headless, &format!("{} {screen} {keys}", demo.name));
            }
        }
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn no_screen_leaves_its_set_and_no_theme_changes_the_text() {
    over_all_screens(|headless, what| {
        let text = |palette| iodyno::ui::picture::text(&headless.picture(Theme::new(palette)));
        let plain = text(Palette::Plain);
        for palette in [Palette::Light, Palette::Console, Palette::HighContrast] {
            assert_eq!(text(palette), plain, "{what} in {}", palette.word());
        }
        for set in [GlyphSet::Ascii, GlyphSet::Blocks] {
            let picture = headless.picture(Theme::COLOUR.with_glyphs(set));
            let shown: Vec<char> = picture.content().iter().flat_map(|cell| cell.symbol().chars()).collect();
            let wrong: Vec<&char> = shown.iter().filter(|c| !set.has(**c)).collect();
            assert!(wrong.is_empty(), "{what} in {set}: {wrong:?}");
            if set == GlyphSet::Ascii {
                assert!(shown.iter().all(|c| u32::from(*c) <= 0x7e), "{what}");
            }
            // Names of these machines are ASCII: a question mark more is a glyph without a row.
            let unknown = |theme: Theme| {
                let picture = headless.picture(theme);
                picture.content().iter().filter(|cell| cell.symbol() == "?").count()
            };
            assert_eq!(unknown(Theme::COLOUR.with_glyphs(set)), unknown(Theme::COLOUR), "{what} in {set}");
        }
    });
}

/// Marks that stand alone before a name or beside a value; frames, bars and curves explain themselves by their titles.
const MARKS: &str = "▲▼▽●○▾▸◂✓≈↩…‹›!";

/// Whether a character stands in a cell of its own.
fn is_drawn(rows: &[Vec<char>], mark: char) -> bool {
    let blank = |row: &[char], at: usize| row.get(at).is_none_or(|c| " │".contains(*c));
    rows.iter().any(|row| {
        (0..row.len())
            .any(|at| row[at] == mark && (mark != '!' || at > 0 && blank(row, at - 1) && blank(row, at + 1)))
    })
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn help_explains_every_mark_that_its_screen_draws() {
    let mut missing = std::collections::BTreeSet::new();
    over_all_screens(|headless, what| {
        let mut app = headless.app.clone();
        app.notice = None;
        let rows = |app: &iodyno::app::App| -> Vec<Vec<char>> {
            let picture = iodyno::ui::picture::text(&iodyno::app::draw::picture(app, Theme::PLAIN));
            picture.lines().map(|line| line.chars().collect()).collect()
        };
        let drawn = rows(&app);
        let mut help = String::new();
        for key in keymap::parse("?<PageDown><PageDown>").expect("keys are well written") {
            let _ = iodyno::app::update(&mut app, iodyno::app::Message::Key(key));
            help.extend(rows(&app).into_iter().flatten());
        }
        // What lies over a screen has words of its own.
        if !help.contains("keys and marks") {
            return;
        }
        for mark in MARKS.chars().filter(|mark| is_drawn(&drawn, *mark) && !help.contains(*mark)) {
            missing.insert(format!("{} of {}", mark, what.split(' ').nth(1).unwrap_or_default()));
        }
    });
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_glyph_of_the_sources_is_in_the_table() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut missing = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.ends_with("ui/glyphs.rs") || path.ends_with("tests.rs") {
                continue;
            }
            let whole = fs::read_to_string(&path).expect("text");
            let code = whole.split("#[cfg(test)]\n").next().unwrap_or_default();
            let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
            for c in code.flat_map(str::chars).filter(|c| !c.is_ascii()) {
                let is_braille = ('\u{2800}'..='\u{28ff}').contains(&c);
                if !is_braille && !GLYPHS.iter().any(|glyph| glyph.braille == c) {
                    missing.push((path.clone(), c));
                }
            }
        }
    }
    assert!(missing.is_empty(), "rows are missing in ui/glyphs.rs: {missing:?}");
}

/// A sign and a bar of a screen stand in its help with what they mean, in every set of characters.
#[test]
fn signs_and_bars_of_every_screen_are_in_its_help() {
    const LAID_OVER: [&str; 3] = ["?", ":mark", "<Enter>"];
    const SIGNS: &str = "▲▼▽○▾▸◂✓≈↩";
    let mut seen = 0;
    for demo in ["threadripper-before", "laptop"] {
        let more = [("tune", "l+a<Enter>", 0), ("what-if", "r", 5), ("machine", "n<Space>", 0)];
        for (screen, keys, seconds) in KEYS.into_iter().chain(more).filter(|row| !LAID_OVER.contains(&row.1))
        {
            let mut headless = Headless::open(&Origin::Demo(demo.to_owned()), (120, 40)).expect("demos open");
            headless.app.screen = tabs::from_word(screen).expect("a screen");
            headless.send(iodyno::app::Message::Resize(120, 40));
            headless.press(keymap::parse(keys).expect("keys are well written"));
            headless.wait(Duration::from_secs(seconds));
            let shown = |headless: &Headless, set| {
                let mut theme = Theme::new(Palette::Plain);
                theme.glyphs = set;
                iodyno::ui::picture::text(&headless.picture(theme))
            };
            let [signs, bars] = [GlyphSet::Braille, GlyphSet::Ascii].map(|set| shown(&headless, set));
            // The review of writes lies over its screen.
            let help = if keys == "l+a" { "<Esc>?" } else { "?" };
            headless.press(keymap::parse(help).expect("keys are well written"));
            headless.send(iodyno::app::Message::Resize(120, 200));
            let help = shown(&headless, GlyphSet::Braille);
            // Frames below the tabs, and lines of messages, have none.
            for sign in SIGNS.chars().filter(|sign| signs.contains(*sign)) {
                assert!(help.contains(sign), "{sign} on {screen} after {keys}: {signs}");
                seen += 1;
            }
            headless.app.shared.theme.glyphs = GlyphSet::Ascii;
            let help = shown(&headless, GlyphSet::Ascii);
            for bar in ["XX", "%%"].into_iter().filter(|bar| bars.contains(bar)) {
                assert!(help.contains(bar), "{bar} on {screen} after {keys}: {bars}");
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

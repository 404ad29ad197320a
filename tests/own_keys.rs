//! Every command bound to a key of its own: no text names a usual one. A program of its own, as keys are bound once.

use std::time::Duration;

use iodyno::{
    app::{self, ScreenId, commands, keymap::Key, tabs},
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{
        picture::text,
        theme::{Meaning, Theme},
    },
};
use ratatui::buffer::Cell;

/// The screens, and those that are pages of others.
fn screens() -> impl Iterator<Item = ScreenId> {
    tabs::tabs().chain(tabs::pages()).map(|about| about.id)
}

/// Binds every command to a Cyrillic letter, as no text has one.
fn bind_all() -> Vec<(String, Vec<Key>)> {
    let names = commands::names();
    let letters = ('А'..='я').chain('ѐ'..='ҁ').chain('Ҋ'..='ӿ');
    let bound: Vec<_> =
        names.iter().zip(letters).map(|(name, key)| ((*name).to_owned(), vec![Key::Char(key)])).collect();
    assert_eq!(bound.len(), names.len());
    bound
}

/// Whether a word is a usual key.
fn is_usual(word: &str) -> bool {
    let is_sign = word.chars().count() == 1 && word.is_ascii() && !["-", "|", "[", "]", "0"].contains(&word);
    is_sign || ["Enter", "Esc", "Space", "Backspace", "PgUp", "PgDn"].contains(&word)
}

/// Words of a text that are usual keys of commands.
fn usual_keys(text: &str) -> Vec<String> {
    const VERBS: [&str; 23] = [
        "stops", "runs", "starts", "shows", "opens", "edits", "selects", "marks", "makes", "tries", "undoes",
        "drops", "adds", "saves", "asks", "switches", "sorts", "lists", "measures", "resumes", "has", "on",
        "reviews",
    ];
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches([',', ';', ':', '.', '(', ')'])).collect();
    // "14.4 to 20.4 M on" has a unit.
    let is_count = |at: usize| {
        matches!(words[at], "k" | "M") && at > 0 && words[at - 1].ends_with(|end: char| end.is_ascii_digit())
    };
    let mut found: Vec<String> = words
        .windows(2)
        .enumerate()
        .filter(|(at, _)| !is_count(*at))
        .map(|(_, pair)| pair)
        .filter(|pair| {
            pair[0].len() == 1 && is_usual(pair[0]) && VERBS.contains(&pair[1]) && pair != &["s", "on"]
                || pair[0].len() > 1 && is_usual(pair[0])
                || pair[0] == "press" && pair[1].is_ascii()
        })
        .map(|pair| pair.join(" "))
        .collect();
    // The review has keys of its own.
    found.retain(|words| words != "Enter confirms");
    found.extend(words.iter().filter(|word| word.starts_with('{')).map(ToString::to_string));
    found
}

/// Pieces that are drawn as keys and are usual ones.
fn drawn_keys(headless: &Headless) -> Vec<String> {
    let picture = headless.picture(Theme::COLOUR);
    let key = Theme::COLOUR.style(Meaning::Key);
    let is_key =
        |cell: &Cell| (Some(cell.fg), cell.modifier) == (key.fg, key.add_modifier) && cell.symbol() != " ";
    let mut found = Vec::new();
    for row in picture.content().chunks(usize::from(picture.area.width)) {
        for run in row.chunk_by(|one, two| is_key(one) == is_key(two)).filter(|run| is_key(&run[0])) {
            let text: String = run.iter().map(Cell::symbol).collect();
            found.extend(text.split(' ').filter(|word| is_usual(word)).map(ToOwned::to_owned));
        }
    }
    found
}

/// Words that stand behind two keys of the footer.
fn hints_twice(picture: &str) -> Vec<&str> {
    let footer = picture.lines().last().unwrap_or_default().trim();
    let hints: Vec<&str> =
        footer.split("  ").filter_map(|hint| hint.split_once(' ')).map(|(_, hint)| hint).collect();
    let mut twice = hints.clone();
    twice.retain(|hint| hints.iter().filter(|other| *other == hint).count() > 1);
    twice
}

#[test]
fn no_screen_names_a_key_that_its_command_has_lost() {
    let bound = bind_all();
    app::bind(&bound);
    let key = |name: &str| bound.iter().find(|(own, _)| own == name).map(|(_, keys)| keys[0]).expect(name);
    let (mut seen, mut faults) = (0, Vec::new());
    for screen in screens() {
        for size in [(60, 20), (80, 24), (120, 40), (200, 60), (40, 12)] {
            for demo in ["threadripper-before", "laptop"] {
                let origin = Origin::Demo(demo.to_owned());
                let mut headless = Headless::open(&origin, size).expect("demos open");
                let way = match screen.0 {
                    "why-file" => "why file",
                    own => own,
                };
                headless.press([key(way)]);
                let mut look = |headless: &Headless, what: &str| {
                    let text = text(&headless.picture(Theme::PLAIN));
                    let wrong = [usual_keys(&text), drawn_keys(headless)].concat();
                    if !wrong.is_empty() {
                        faults.push(format!("{screen:?} {size:?} {what}: {wrong:?}\n{text}"));
                    }
                    let hints = hints_twice(&text);
                    if !hints.is_empty() {
                        faults.push(format!("{screen:?} {size:?} {what}: twice {hints:?}\n{text}"));
                    }
                    seen += 1;
                };
                look(&headless, "as it opens");
                headless.press([key("stop")]);
                look(&headless, "a notice");
                headless.press([key("pull")]);
                headless.wait(Duration::from_millis(1500));
                look(&headless, "a test runs");
                headless.press([key("back")]);
                look(&headless, "goes back");
                headless.press([key("stop")]);
                headless.wait(Duration::from_millis(1500));
                look(&headless, "at its end");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen > 400, "{seen}");
}

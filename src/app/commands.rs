//! Everything a key can do: the commands of every screen, and those of each.
//!
//! Dispatch, the footer's hints, the `?` help, the `:` palette and `docs/keys.md` are all made from their rows.

mod matches;

use std::{
    fmt::Write as _,
    sync::{LazyLock, OnceLock},
};

#[cfg(test)]
use self::matches::matching;
pub(super) use self::matches::{Found, found, run_found};
use super::{
    App, Effect, act,
    overlay::{Overlay, Palette},
    tabs::{about, neighbour, tabs},
};
use crate::{
    config::UsualKeys,
    screens::{self, Step},
    ui::{
        About, Command,
        Key::{self, Char, Ctrl},
        Opening, ScreenId,
        command::{Row, command, pair},
        key_names::KeyNames,
    },
};

/// The action of a command.
type Run = fn(&mut App) -> Vec<Effect>;

#[rustfmt::skip]
const EVERYWHERE: &[Command<Run>] = &[
    command(80, &[Key::Tab], "", "next screen", "Go to the screen on the right", |app| app.show(neighbour(app.screen, 1), None)),
    command(90, &[Key::BackTab], "", "previous screen", "Go to the screen on the left", |app| app.show(neighbour(app.screen, -1), None)),
    command(100, &[Char('r')], "pull", "pull", "Run the pull: each drive alone, all together, random reads, latency; one headline", App::ask_pull),
    command(120, &[Char('x')], "stop", "stop", "Stop the running test; its result so far counts", act::stop),
    pair("↑↓", command(130, &[Key::Up, Char('k')], "move", "up", "Move up", |app| act::step(app, Step::Rows(-1)))),
    command(140, &[Key::Down, Char('j')], "", "down", "Move down", |app| act::step(app, Step::Rows(1))),
    command(310, &[Char('*')], "", "mark all", "Mark every drive, or unmark all", act::mark_all),
    command(610, &[Key::PageUp], "", "page up", "Move up by a page", |app| act::step(app, Step::Pages(-1))),
    command(620, &[Key::PageDown], "", "page down", "Move down by a page", |app| act::step(app, Step::Pages(1))),
    command(630, &[Key::Home, Char('g')], "", "first", "Go to the first row", |app| act::step(app, Step::End(-1))),
    command(640, &[Key::End, Char('G')], "", "last", "Go to the last row", |app| act::step(app, Step::End(1))),
    command(650, &[Char('u')], "units", "units", "Switch every rate between GB/s (powers of ten) and GiB/s (powers of two)", App::switch_units),
    command(657, &[Char('n')], "next", "next match", "Go to the next match of a find that is kept", |app| act::next_match(app, 1)),
    command(658, &[Char('N')], "", "previous match", "Go to the previous match of a find that is kept", |app| act::next_match(app, -1)),
    command(660, &[Char('?')], "", "help", "Explain this screen: its keys and its marks", |app| app.lay(Overlay::Help(0))),
    command(665, &[Ctrl('g')], "", "glossary", "Explain terms: GT/s, root complex, MPS, MDTS, await and others; {help} in the help shows it too", |app| app.lay(Overlay::Glossary(0))),
    command(670, &[Char(':')], "palette", "palette", "Find a command or a profile by its name", |app| app.lay(Overlay::Palette(Palette::default()))),
    command(672, &[Char('y')], "why file", "why file", "Measure each step from the drive to a program that reads a file; name the slowest", act::why_file),
    command(675, &[Ctrl('o')], "open", "open", "Open a capture or a text of lspci: open PATH, or paste it; without a path goes back", |app| app.lay(Overlay::Palette(Palette::open()))),
    command(677, &[Ctrl('r')], "close", "close", "Close the opened text or capture: go back to the machine that the program began with", |_| vec![Effect::Open(Opening::First)]),
    command(680, &[Key::Esc], "", "back", "Close the overlay or field, or go back", act::back),
    command(685, &[Ctrl('t')], "", "theme", "Show the next theme: 16 colours, dark, light, console, high contrast, plain, your own, auto", App::next_theme),
    command(690, &[Ctrl('l')], "", "redraw", "Redraw the screen and read the machine again", |_| vec![Effect::Redraw, Effect::ReadMachine]),
    command(700, &[Ctrl('p')], "", "screenshot", "Save this screen as SVG in the current directory", |_| vec![Effect::SavePicture]),
    command(710, &[Ctrl('z')], "", "suspend", "Suspend to the shell; fg resumes", |_| vec![Effect::Suspend]),
    command(720, &[Char('q')], "quit", "quit", "Quit; asks if a test is running or settings are changed", act::quit),
    command(730, &[Ctrl('c')], "", "quit now", "Stop everything and quit without asking", |_| vec![Effect::Interrupt]),
];

/// Commands that read or test drives, which a capture, a folder or a text does not have. Values can be staged there: they
/// become commands.
const OF_MACHINES: [&str; 22] = [
    "custom arms",
    "keep winner",
    "mark",
    "mark all",
    "more rounds",
    "other pull",
    "pause",
    "pause pull",
    "profile",
    "prove",
    "pull",
    "pull again",
    "pull page",
    "run",
    "sleeping threads",
    "start",
    "start again",
    "stop",
    "try live",
    "undo all",
    "undo kept",
    "why file",
];

/// Whether a command does nothing on a machine that cannot be tested.
pub(super) fn needs_machine(name: &str) -> bool {
    OF_MACHINES.contains(&name)
}

/// `1` to `9`, for the commands that show a screen.
const DIGITS: [Key; 9] =
    [Char('1'), Char('2'), Char('3'), Char('4'), Char('5'), Char('6'), Char('7'), Char('8'), Char('9')];

/// The rows of all commands in their order, with the screen that each is for; `None` is every one.
pub(super) static ALL: LazyLock<Vec<(Option<ScreenId>, Row)>> = LazyLock::new(|| {
    let mut rows: Vec<_> = usual_rows().collect();
    rows.sort_by_key(|(_, row)| row.place);
    if let Some(bound) = BOUND.get() {
        rebind(&mut rows, bound);
    }
    let keys = names_of(&rows);
    for (_, row) in rows.iter_mut().filter(|(_, row)| row.help.contains('{')) {
        row.help = String::leak(keys.fill(row.help));
    }
    rows
});

/// The key of each command, as the footer writes it.
pub(super) fn key_names() -> KeyNames {
    names_of(&ALL)
}

fn names_of(rows: &[(Option<ScreenId>, Row)]) -> KeyNames {
    let key = |row: &Row| row.keys.first().map(ToString::to_string).unwrap_or_default();
    KeyNames::new(rows.iter().map(|(_, row)| (row.name, key(row))))
}

/// Keys of the configuration file.
static BOUND: OnceLock<Vec<(String, Vec<Key>)>> = OnceLock::new();

/// Gives commands other keys; once, before the first key is looked up.
pub fn bind(keys: &[(String, Vec<Key>)]) {
    if !keys.is_empty() {
        // A second configuration is impossible: a process reads one.
        let _ = BOUND.set(keys.to_vec());
    }
}

/// Puts keys into the rows. They live as long as the program, and mean nothing else where they are bound.
fn rebind(rows: &mut [(Option<ScreenId>, Row)], bound: &[(String, Vec<Key>)]) {
    for (name, keys) in bound {
        let Some(at) = rows.iter().position(|(_, row)| row.name == name) else { continue };
        let on = rows[at].0;
        for (other, row) in
            rows.iter_mut().filter(|(other, _)| on.is_none() || other.is_none() || *other == on)
        {
            let left: Vec<Key> = row.keys.iter().filter(|key| !keys.contains(key)).copied().collect();
            if left.len() < row.keys.len() && (other.is_some() == on.is_some() || on.is_none()) {
                row.keys = Vec::leak(left);
            }
        }
        (rows[at].1.keys, rows[at].1.pair) = (Vec::leak(keys.clone()), "");
    }
}

/// Names of all commands.
pub fn names() -> Vec<&'static str> {
    usual_rows().map(|(_, row)| row.name).collect()
}

/// The keys of all commands before a file gives them others.
pub(super) fn usual_keys() -> Vec<UsualKeys> {
    let usual = |(screen, row): (Option<ScreenId>, Row)| UsualKeys {
        screen: screen.map(|screen| screen.0),
        command: row.name,
        keys: row.keys,
    };
    usual_rows().map(usual).collect()
}

/// All commands as they are before a file gives them other keys.
fn usual_rows() -> impl Iterator<Item = (Option<ScreenId>, Row)> {
    let shows = tabs().map(|about| (None, show(about.digit, about.id.0, about.help)));
    let every = EVERYWHERE.iter().map(|command| (None, command.row));
    let own = screens::rows().into_iter().map(|(screen, row)| (Some(screen), row));
    shows.chain(every).chain(own)
}

/// The command that shows a screen.
fn show(digit: char, name: &'static str, help: &'static str) -> Row {
    let at = usize::from(digit as u8 - b'1');
    let place = u16::from(digit as u8 - b'0');
    Row { place, keys: &DIGITS[at..=at], hint: "", name, help, pair: "" }
}

/// The commands on a screen, in their order; its own take their keys from those of every screen.
pub fn of(screen: ScreenId) -> impl Iterator<Item = Row> {
    on(&ALL, screen)
}

/// Those among `rows`.
fn on(rows: &[(Option<ScreenId>, Row)], screen: ScreenId) -> impl Iterator<Item = Row> {
    let own = move |key: &Key| rows.iter().any(|(on, row)| *on == Some(screen) && row.keys.contains(key));
    let here = move |(on, row): &&(Option<ScreenId>, Row)| {
        on.map_or_else(|| !row.keys.first().is_some_and(own), |on| on == screen)
    };
    rows.iter().filter(here).map(|(_, row)| *row)
}

/// Whether the pull's key begins one on `screen`: others have their own meaning for it.
pub(super) fn begins_pull(screen: ScreenId) -> bool {
    of(screen).any(|row| ["pull", "pull again"].contains(&row.name))
}

/// What follows the word `open`; `None` for other text, and for the word alone before a blank.
pub(super) fn argument_of_open(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix("open").filter(|rest| rest.starts_with(' '))
}

/// The command `key` means on `screen`.
pub(super) fn lookup(key: Key, screen: ScreenId) -> Option<Row> {
    of(screen).find(|row| row.keys.contains(&key))
}

/// Carries out the command of that name.
pub(super) fn run(app: &mut App, name: &str) -> Vec<Effect> {
    if let Some(about) = tabs().find(|about| about.id.0 == name) {
        return app.show(about.id, None);
    }
    if let Some(command) = EVERYWHERE.iter().find(|command| command.row.name == name) {
        return (command.run)(app);
    }
    let asks = app.screens.run(app.screen, name, &app.shared);
    app.grant(asks.unwrap_or_default())
}

/// Where a letter has a meaning, when the screen shown has none for it.
pub(super) fn elsewhere(key: Key) -> Option<String> {
    if !matches!(key, Char(letter) if letter != ' ') {
        return None;
    }
    let row = |on| ALL.iter().find(|(screen, row)| *screen == Some(on) && row.keys.contains(&key));
    let found: Vec<(&About, &Row)> = tabs().filter_map(|about| Some((about, &row(about.id)?.1))).collect();
    if let [(about, row)] = found[..] {
        return Some(format!("{key} is a key of {} ({}): {{{}}} shows it", about.name, row.name, about.id.0));
    }
    let names: Vec<&str> = found.iter().map(|(about, _)| about.name).collect();
    let keys: Vec<String> = found.iter().map(|(about, _)| format!("{{{}}}", about.id.0)).collect();
    let (last, names) = names.split_last()?;
    Some(format!("{key} is a key of {} and {last}: {} show them", names.join(", "), keys.join(", ")))
}

/// The table for `docs/keys.md`.
pub fn markdown() -> String {
    let mut text = String::from("| key | where | what it does |\n|---|---|---|\n");
    for (on, row) in ALL.iter() {
        let keys: Vec<String> = row.key_words().iter().map(|key| format!("`{key}`")).collect();
        let place = on.map_or("everywhere", |screen| about(screen).name);
        let _ = writeln!(text, "| {} | {place} | {} |", keys.join(" "), row.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_and_no_name_has_two_rows() {
        for (index, (one_on, one)) in ALL.iter().enumerate() {
            for (two_on, two) in &ALL[index + 1..] {
                assert!(one.name != two.name && one.place != two.place, "{} and {}", one.name, two.name);
                let together = one_on.is_none() || two_on.is_none() || one_on == two_on;
                let shared = one.keys.iter().find(|key| together && two.keys.contains(key));
                // `r` is the pull, `y` a file and `n` a match but where a screen has something of its own.
                let everywhere = ["pull", "why file", "next match", "previous match"]
                    .iter()
                    .any(|name| [one.name, two.name].contains(name));
                let is_own = one_on != two_on && everywhere;
                assert!(shared.is_none() || is_own, "{shared:?} means {} and {}", one.name, two.name);
            }
        }
    }

    #[test]
    fn bound_keys_mean_their_command_and_nothing_else_there() {
        let mut rows = ALL.clone();
        let bound =
            [("units".to_owned(), vec![Char('r')]), ("columns".to_owned(), vec![Char('n'), Char('C')])];
        rebind(&mut rows, &bound);
        let on = |screen, key: Key| -> Vec<&str> {
            on(&rows, screen).filter(|row| row.keys.contains(&key)).map(|row| row.name).collect()
        };
        let of = |key| on(super::super::MACHINE, key);
        assert_eq!(on(super::super::FINDINGS, Char('n')), ["next match"], "the columns are Machine's");
        assert_eq!(of(Char('r')), ["units"]);
        assert_eq!(of(Char('n')), ["columns"]);
        assert_eq!((of(Char('u')), of(Char('c')).contains(&"columns")), (Vec::new(), false));
        assert_eq!(of(Char('N')), ["previous drive"]);
    }

    #[test]
    fn commands_of_machines_exist_and_are_not_offered_without_one() {
        for name in OF_MACHINES {
            let (on, _) = ALL.iter().find(|(_, row)| row.name == name).unwrap();
            let screen = on.unwrap_or(super::super::MACHINE);
            assert!(!matching(screen, false, name).iter().any(|(_, row)| row.name == name), "{name}");
        }
        assert_eq!(matching(super::super::MACHINE, false, "open /tmp/some file")[0].1.name, "open");
    }

    #[test]
    fn every_command_says_what_it_does_in_one_line() {
        for (_, row) in ALL.iter() {
            assert!(!row.name.is_empty(), "{row:?}");
            assert!(!row.keys.is_empty() || row.hint.is_empty(), "offered without a key: {row:?}");
            assert!(row.help.len() <= 96 && !row.help.ends_with('.'), "{}", row.help);
            assert!(row.hint.len() <= 12, "{}", row.hint);
        }
        assert_eq!(markdown().lines().count(), ALL.len() + 2);
    }
}

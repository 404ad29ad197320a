//! [`Command`]: one row of what a key can do.

use super::key::Key;

/// One command; `F` is the function that carries it out.
#[derive(Debug, Clone, Copy)]
pub struct Command<F> {
    /// What help, palette, footer and `docs/keys.md` show of it.
    pub row: Row,
    /// The action.
    pub run: F,
}

/// The shown part of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Its place in help, palette, footer and `docs/keys.md`.
    pub place: u16,
    /// Its keys, the one to advertise first.
    pub keys: &'static [Key],
    /// Its word in the footer; empty where the footer need not tell.
    pub hint: &'static str,
    /// Its name in the palette.
    pub name: &'static str,
    /// What it does, one line.
    pub help: &'static str,
    /// The keys its hint shows, where one hint stands for a pair of commands.
    pub pair: &'static str,
}

/// A row of a table of commands.
pub const fn command<F>(
    place: u16,
    keys: &'static [Key],
    hint: &'static str,
    name: &'static str,
    help: &'static str,
    run: F,
) -> Command<F> {
    Command { row: Row { place, keys, hint, name, help, pair: "" }, run }
}

/// The same with the keys of a hint that stands for two commands.
pub const fn pair<F: Copy>(pair: &'static str, command: Command<F>) -> Command<F> {
    Command { row: Row { pair, ..command.row }, run: command.run }
}

impl Row {
    /// Its keys as help and `docs/keys.md` write them; without a key, what the palette finds it by.
    pub fn key_words(&self) -> Vec<String> {
        match self.keys {
            [] => vec![format!(":{}", self.name)],
            keys => keys.iter().map(ToString::to_string).collect(),
        }
    }

    /// The keys its hint shows.
    pub fn hint_keys(&self) -> String {
        if self.pair.is_empty() {
            self.keys.first().map(ToString::to_string).unwrap_or_default()
        } else {
            self.pair.to_owned()
        }
    }
}

//! [`Key`]: one press of a key, and the notation `jj<Enter><C-c>` of `iodyno render --keys`.

use std::fmt;

/// One press of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A printable character, the space among them.
    Char(char),
    /// A letter with the control key held.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// F1 to F12.
    Function(u8),
}

const NAMES: &[(Key, &str, &str)] = &[
    (Key::Enter, "Enter", "Enter"),
    (Key::Esc, "Esc", "Esc"),
    (Key::Tab, "Tab", "Tab"),
    (Key::BackTab, "S-Tab", "Shift-Tab"),
    (Key::Backspace, "BS", "Backspace"),
    (Key::Delete, "Del", "Delete"),
    (Key::Up, "Up", "↑"),
    (Key::Down, "Down", "↓"),
    (Key::Left, "Left", "←"),
    (Key::Right, "Right", "→"),
    (Key::PageUp, "PageUp", "PgUp"),
    (Key::PageDown, "PageDown", "PgDn"),
    (Key::Home, "Home", "Home"),
    (Key::End, "End", "End"),
    (Key::Char(' '), "Space", "Space"),
    (Key::Char('<'), "lt", "<"),
];

impl fmt::Display for Key {
    /// As footers and help write it: `↑`, `Space`, `Ctrl-C`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, _, shown)) = NAMES.iter().find(|(key, _, _)| key == self) {
            return f.pad(shown);
        }
        match self {
            Self::Char(c) => f.pad(&c.to_string()),
            Self::Ctrl(c) => f.pad(&format!("Ctrl-{}", c.to_ascii_uppercase())),
            Self::Function(number) => f.pad(&format!("F{number}")),
            _ => Ok(()),
        }
    }
}

impl Key {
    /// As [`parse`] reads it: `<Up>`, `<Space>`, `<C-c>`.
    pub fn notation(self) -> String {
        if let Some((_, name, _)) = NAMES.iter().find(|(key, _, _)| *key == self) {
            return format!("<{name}>");
        }
        match self {
            Self::Char(c) => c.to_string(),
            Self::Ctrl(c) => format!("<C-{c}>"),
            Self::Function(number) => format!("<F{number}>"),
            _ => String::new(),
        }
    }
}

/// Keys that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no key; use letters, <Enter> <Esc> <Tab> <Space> <Up> <PageDown> <F5> <C-c> and the like, <lt> for <"
)]
pub struct BadKeys(String);

impl BadKeys {
    /// What was read for a key.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Reads `jj<Enter>`: characters stand for themselves, names stand in angle brackets.
///
/// # Errors
/// The name that is no key's.
pub fn parse(notation: &str) -> Result<Vec<Key>, BadKeys> {
    let mut keys = Vec::new();
    let mut rest = notation;
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let name = rest[1..].split_once('>').map(|(name, _)| name);
            let begin = |text: &str| text.chars().take(12).collect::<String>();
            let name = name.ok_or_else(|| BadKeys(begin(rest)))?;
            keys.push(named(name).ok_or_else(|| BadKeys(format!("<{}>", begin(name))))?);
            rest = &rest[name.len() + 2..];
        } else {
            keys.push(if c == '\n' { Key::Enter } else { Key::Char(c) });
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(keys)
}

fn named(name: &str) -> Option<Key> {
    // Footers have names of their own.
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    if let Some((key, _, _)) = NAMES.iter().find(|(_, known, shown)| is_name(known) || is_name(shown)) {
        return Some(*key);
    }
    if let Some(key) = function_key(name) {
        return Some(key);
    }
    let letter = ["C-", "c-", "Ctrl-"].into_iter().find_map(|control| name.strip_prefix(control))?;
    let mut letters = letter.chars();
    match (letters.next(), letters.next()) {
        (Some(c), None) if c.is_ascii_alphabetic() => Some(Key::Ctrl(c.to_ascii_lowercase())),
        _ => None,
    }
}

/// `F1` to `F12`.
fn function_key(name: &str) -> Option<Key> {
    let number = name.strip_prefix(['F', 'f'])?.parse().ok()?;
    (1..=12).contains(&number).then_some(Key::Function(number))
}

/// Reads one key: a character, a name in angle brackets, or a function key without them.
///
/// # Errors
/// A name that is no key's; `Ok(None)` for several keys and for none.
pub fn parse_one(text: &str) -> Result<Option<Key>, BadKeys> {
    if let Some(key) = function_key(text) {
        return Ok(Some(key));
    }
    let keys = parse(text)?;
    let [key] = keys[..] else { return Ok(None) };
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation_names_every_key() {
        assert_eq!(
            parse("j1<Enter><C-c><lt><space>é").unwrap(),
            [
                Key::Char('j'),
                Key::Char('1'),
                Key::Enter,
                Key::Ctrl('c'),
                Key::Char('<'),
                Key::Char(' '),
                Key::Char('é')
            ]
        );
        for (key, name, shown) in NAMES {
            for written in [format!("<{name}>"), format!("<{shown}>"), key.notation()] {
                assert_eq!(parse(&written).unwrap(), [*key], "{written}");
            }
        }
        assert_eq!(parse("<Ctrl-C>").unwrap(), [Key::Ctrl('c')]);
    }

    #[test]
    fn function_keys_are_keys_with_and_without_brackets() {
        for number in 1..=12 {
            let key = Key::Function(number);
            assert_eq!(parse(&key.notation()).unwrap(), [key]);
            assert_eq!(parse_one(&key.to_string()), Ok(Some(key)));
        }
        assert_eq!((parse_one("p"), parse_one("pp")), (Ok(Some(Key::Char('p'))), Ok(None)));
        assert!(parse_one("<F13>").is_err() && parse_one("<F0>").is_err());
        assert_eq!(parse_one("F"), Ok(Some(Key::Char('F'))));
    }

    #[test]
    fn bad_notation_is_refused_by_name() {
        for bad in ["<", "<Nope>", "<C-1>", "<C->", "a<Enter"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for bad in ["<Nope>", "<", "<Enter"] {
            assert!(parse(bad).unwrap_err().to_string().starts_with(&format!("{bad} is no key")));
        }
    }
}

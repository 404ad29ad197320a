//! [`KeyNames`]: the key of every command. Texts name commands in braces, so that keys of the user's own stand in them.

use std::collections::BTreeMap;

/// The first key of every command, by the command's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyNames(BTreeMap<&'static str, String>);

impl KeyNames {
    /// From names of commands and their keys.
    pub fn new(names: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(names.into_iter().collect())
    }

    /// The key of a command; one without a key is found in the palette.
    pub fn of(&self, command: &str) -> String {
        let key = self.0.get(command).filter(|key| !key.is_empty());
        key.cloned().unwrap_or_else(|| format!(":{command}"))
    }

    /// A text with keys in place of commands: `{stop} stops it` becomes `x stops it`. Other braces stay.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let command = after.split_once('}').filter(|(name, _)| self.0.contains_key(name));
            rest = if let Some((name, behind)) = command {
                filled.push_str(&self.of(name));
                behind
            } else {
                filled.push('{');
                after
            };
        }
        filled + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_braces_become_keys_and_other_braces_stay() {
        let keys = KeyNames::new([
            ("stop", "x".to_owned()),
            ("page up", "PgUp".to_owned()),
            ("bare", String::new()),
        ]);
        assert_eq!(keys.fill("{stop} stops it, {page up} scrolls"), "x stops it, PgUp scrolls");
        assert_eq!(keys.fill("/srv/{a}{stop}{"), "/srv/{a}x{");
        assert_eq!((keys.of("bare"), keys.of("other")), (":bare".to_owned(), ":other".to_owned()));
    }
}

//! [`Label`]: text from outside, neutralized before it reaches a screen, a terminal or a sheet.

pub(crate) mod alike;

use std::{
    borrow::{Borrow, Cow},
    cmp::Ordering,
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize};

/// A short single-line text from outside: a model name, a path, a driver, a host name.
///
/// Trimmed, with runs of white space as one space. Characters that control a terminal or are invisible (control characters,
/// bidirectional overrides, zero-width marks, private use) are replaced by `U+FFFD`. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Label(Arc<str>);

impl Label {
    /// Neutralizes `raw`. At most 4096 characters are kept.
    pub fn new(raw: &str) -> Self {
        const MOST: usize = 4096;
        let trimmed = raw.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if trimmed.len() <= MOST && is_printable_ascii(trimmed) && !trimmed.contains("  ") {
            return Self(trimmed.into());
        }
        let mut text = String::with_capacity(raw.len().min(MOST));
        let mut space = false;
        for c in trimmed.chars().take(MOST) {
            if c.is_whitespace() {
                space = true;
                continue;
            }
            if std::mem::take(&mut space) {
                text.push(' ');
            }
            text.push(if is_harmless(c) { c } else { char::REPLACEMENT_CHARACTER });
        }
        Self(text.into())
    }

    /// Neutralizes bytes that may be invalid UTF-8.
    pub(crate) fn from_bytes(raw: &[u8]) -> Self {
        Self::new(&String::from_utf8_lossy(raw))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `kworker/*:*H` of `kworker/12:34H`: numbered commands share a name. A long word of letters and digits behind a blank, as compilers
/// name threads after parts of a program, is one star. Fills `short`; the length.
pub(crate) fn starred(command: &[u8], short: &mut [u8]) -> usize {
    const LONG: usize = 8;
    let mut length = 0;
    let mut put = |byte: u8| {
        let is_again = byte == b'*' && length > 0 && short[length - 1] == b'*';
        if !is_again && length < short.len() {
            short[length] = byte;
            length += 1;
        }
    };
    for (at, word) in command.split(|byte| *byte == b' ').enumerate() {
        if at > 0 {
            put(b' ');
        }
        let is_mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
        if at > 0 && word.len() >= LONG && is_mixed && word.iter().all(u8::is_ascii_alphanumeric) {
            put(b'*');
        } else {
            for byte in word {
                put(if byte.is_ascii_digit() { b'*' } else { *byte });
            }
        }
    }
    length
}

/// The same of a name: `kswapd*` of `kswapd0`.
pub(crate) fn starred_name(name: &str) -> String {
    let mut short = vec![0; name.len()];
    let length = starred(name.as_bytes(), &mut short);
    String::from_utf8_lossy(&short[..length]).into_owned()
}

/// A command's whole output: other than line ends, tabs and colours (`ESC [ ... m`), characters that control a terminal or
/// are invisible are replaced. The last guard behind [`Label`].
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || is_harmless(c);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = rest.strip_prefix("\u{1b}[").and_then(|tail| {
            let end = tail.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':'))?;
            tail[end..].starts_with('m').then_some(end + 3)
        });
        let length = colour.unwrap_or(c.len_utf8());
        let replaced = if colour.is_some() || is_plain(c) { &rest[..length] } else { "\u{fffd}" };
        out.push_str(replaced);
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// A JSON document with those characters as escapes (`\u202e`), which only its strings can contain.
pub(crate) fn escaped_json(text: String) -> String {
    use fmt::Write as _;

    let is_plain = |c: char| c == '\n' || is_harmless(c);
    if text.chars().all(is_plain) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if is_plain(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        out
    })
}

/// Whether all of a text is ASCII and [`is_harmless`]: nearly all texts are.
pub(crate) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Whether a character has no effect on a terminal and is visible.
pub(crate) fn is_harmless(c: char) -> bool {
    !matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'            // C0, DEL, C1
        | '\u{ad}' | '\u{61c}'                              // soft hyphen, Arabic letter mark
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' // zero width marks, line separators, bidirectional marks
        | '\u{2060}'..='\u{206f}' | '\u{feff}'              // invisible operators, isolates, byte order mark
        | '\u{e000}'..='\u{f8ff}'                           // private use
        | '\u{fff0}'..='\u{fffb}'
        // The rest of Unicode's Default_Ignorable_Code_Point: fillers, joiners, vowel separators, variation selectors.
        | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}')
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Borrow<str> for Label {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Label {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl PartialEq<str> for Label {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|raw| Self::new(&raw))
    }
}

/// Compares names with their numbers as numbers: `nvme9n1` before `nvme10n1`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let split = |text: &str| -> Vec<(String, u64)> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(digits);
            let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
            parts.push((word.to_owned(), tail[..end].parse().unwrap_or(0)));
            rest = &tail[end..];
        }
        parts
    };
    split(a).cmp(&split(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_goes_and_escape_sequences_lose_their_teeth() {
        assert_eq!(Label::new("Samsung SSD 980 PRO 1TB                 "), "Samsung SSD 980 PRO 1TB");
        assert_eq!(Label::new("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(Label::new("x\ty\nz\0\0"), "x y z");
        assert_eq!(Label::new("abc\u{202e}def"), "abc\u{fffd}def");
    }

    #[test]
    fn output_keeps_colours_and_loses_every_other_control() {
        let kept = "a\t\u{1b}[1;38;5;4mb\u{1b}[0m\n";
        assert_eq!(printable(kept), kept);
        for (text, expected) in [
            ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
            ("\u{9b}31m\u{202e}\u{200b}\u{2028}", "\u{fffd}31m\u{fffd}\u{fffd}\u{fffd}"),
            ("a\u{180e}b\u{3164}\u{ffa0}\u{fe0f}", "a\u{fffd}b\u{fffd}\u{fffd}\u{fffd}"),
            ("\u{1b}", "\u{fffd}"),
            ("\u{1b}[", "\u{fffd}["),
            ("a\rb", "a\u{fffd}b"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }

    proptest! {
        #[test]
        fn printable_ascii_keeps_its_words(raw in "[ -~]{0,40}") {
            let words: Vec<&str> = raw.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert!(is_printable_ascii(&raw) && raw.chars().all(is_harmless));
            let label = Label::new(&raw);
            prop_assert_eq!(label.as_str(), words.join(" "));
        }

        #[test]
        fn printable_ascii_is_harmless(raw in "[ -~\\x00-\\x20\\x7f-\u{ff}]{0,3}") {
            prop_assert!(!is_printable_ascii(&raw) || raw.chars().all(is_harmless));
            prop_assert_eq!(is_printable_ascii(&raw), raw.is_ascii() && raw.chars().all(is_harmless));
        }

        #[test]
        fn a_json_document_is_ascii_where_it_would_be_invisible_and_means_the_same(text in any::<String>()) {
            let json = escaped_json(serde_json::to_string(&text).unwrap());
            prop_assert!(json.chars().all(is_harmless), "{}", json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn no_output_holds_more_than_text_and_colours(text in any::<String>()) {
            let printed = printable(&text).replace("\u{1b}[", "");
            prop_assert!(printed.chars().all(|c| c == '\n' || c == '\t' || is_harmless(c)));
        }

        #[test]
        fn no_label_ever_holds_a_control_character(raw in any::<String>()) {
            let label = Label::new(&raw);
            prop_assert!(label.as_str().chars().all(|c| !c.is_control() && is_harmless(c)));
            prop_assert_eq!(Label::new(label.as_str()), label.clone(), "made twice is made once");
        }
    }
}

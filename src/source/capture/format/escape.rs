//! Escapes of the capture format.

use std::{borrow::Cow, fmt::Write as _};

/// Position of a text, which decides how spaces are escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One word of several: every space is escaped.
    Word,
    /// The rest of a line: only trailing spaces are escaped.
    Line,
}

/// Appends `text`, escaped.
pub(super) fn escape(out: &mut String, text: &str, place: Place) {
    let kept_end = text.trim_end_matches([' ', '\t']).len();
    for (at, c) in text.char_indices() {
        match c {
            '\\' => out.push_str("\\\\"),
            ' ' if place == Place::Word || at >= kept_end => out.push_str("\\s"),
            '\t' if place == Place::Word || at >= kept_end => out.push_str("\\t"),
            '\t' => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if crate::text::is_harmless(c) => out.push(c),
            // Writing to a String cannot fail.
            c => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
}

/// A line's unescaped text, and whether a newline follows (no backslash at its end).
pub(super) fn unescape(line: &str) -> Result<(Cow<'_, str>, bool), String> {
    if !line.contains('\\') {
        return Ok((Cow::Borrowed(line), true));
    }
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            None => return Ok((text.into(), false)),
            Some('\\') => text.push('\\'),
            Some('s') => text.push(' '),
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('e') => {}
            Some('u') => {
                let (code, rest) = chars
                    .as_str()
                    .strip_prefix('{')
                    .and_then(|rest| rest.split_once('}'))
                    .ok_or("\\u without {hex}")?;
                let number = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
                text.push(number.ok_or_else(|| format!("\\u{{{code}}} is not a character"))?);
                chars = rest.chars();
            }
            Some(other) => return Err(format!("\\{other} is not an escape")),
        }
    }
    Ok((text.into(), true))
}

/// Unescapes a word or rest of line that must not end in a lone backslash.
pub(super) fn unescape_name(word: &str) -> Result<Cow<'_, str>, String> {
    match unescape(word)? {
        (name, true) => Ok(name),
        (_, false) => Err("a lone backslash at the end".to_owned()),
    }
}

//! [`Opening`]: another machine to show in place of this one.

use std::path::PathBuf;

/// Texts pasted at least this long are no file names.
const MOST_PATH: usize = 4096;

/// What to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A capture, a text of lspci and other tools, or a folder with `sys` in it.
    File(PathBuf),
    /// A pasted text.
    Text(String),
    /// The machine that the program began with.
    First,
}

impl Opening {
    /// A text as a terminal pastes it: the name of a file that was dropped, or lines of a listing. `None`: a word.
    pub fn from_paste(pasted: &str) -> Option<Self> {
        // Terminals send a carriage return for each line end.
        let text = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next()?.trim();
        if lines.next().is_some() {
            return Some(Self::Text(text));
        }
        let bare = first.trim_start_matches(['\'', '"']);
        let is_path = ["/", "./", "../", "~/", "file://"].iter().any(|start| bare.starts_with(start));
        is_path.then(|| Self::from_words(first)).flatten()
    }

    /// The argument of `:open`, quoted or not; empty for the first machine. `None`: too long for a path.
    pub fn from_words(words: &str) -> Option<Self> {
        let words = words.trim();
        if words.is_empty() {
            return Some(Self::First);
        }
        let path = path(words);
        (path.len() < MOST_PATH).then(|| Self::File(path.into()))
    }
}

/// A path without what shells and file managers put around it: quotes, backslashes, `file://` with `%20`.
fn path(words: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some(inner) = words.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner.replace("'\\''", "'");
        }
    }
    if let Some(address) = words.strip_prefix("file://") {
        return decoded(&address[address.find('/').unwrap_or(0)..]);
    }
    let mut out = String::with_capacity(words.len());
    let mut chars = words.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

/// With `%20` as the byte that it stands for.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits =
            tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(path: &str) -> Opening {
        Opening::File(path.into())
    }

    #[test]
    fn a_dropped_file_name_loses_its_quoting() {
        for (pasted, expected) in [
            ("/tmp/a.txt", "/tmp/a.txt"),
            ("'/tmp/my file' ", "/tmp/my file"),
            ("\"/tmp/my file\"", "/tmp/my file"),
            ("/tmp/my\\ file", "/tmp/my file"),
            ("file:///tmp/my%20file\r", "/tmp/my file"),
            ("file://host/tmp/%C3%A4", "/tmp/\u{e4}"),
            ("~/lspci.txt", "~/lspci.txt"),
            ("'/tmp/it'\\''s'", "/tmp/it's"),
        ] {
            assert_eq!(Opening::from_paste(pasted), Some(file(expected)), "{pasted}");
        }
    }

    #[test]
    fn lines_are_a_text_and_a_word_is_neither() {
        let text = "00:00.0 Host bridge\r00:01.0 PCI bridge\r";
        let opening = Opening::from_paste(text);
        assert_eq!(opening, Some(Opening::Text("00:00.0 Host bridge\n00:01.0 PCI bridge\n".to_owned())));
        for word in ["randread", "", "\r\n", "4k"] {
            assert_eq!(Opening::from_paste(word), None, "{word}");
        }
        assert_eq!(Opening::from_words("  "), Some(Opening::First));
        assert_eq!(Opening::from_words("lspci.txt"), Some(file("lspci.txt")));
    }

    proptest! {
        #[test]
        fn no_paste_upsets_it(text in any::<String>(), word in "[%/\\\\'\"a-f0-9~:.]{0,40}") {
            let _ = Opening::from_paste(&text);
            let _ = Opening::from_paste(&word);
            let _ = Opening::from_paste(&format!("file://{word}"));
        }
    }
}

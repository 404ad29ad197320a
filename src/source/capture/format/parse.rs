//! Parses the text of a capture. Captures are untrusted: everything is checked, nothing is guessed.

use std::borrow::Cow;

use super::{
    super::{
        Capture, MAGIC,
        archive::{Archive, Question},
    },
    CaptureError, MOST_ENTRIES, MOST_TEXT, VERSION,
    escape::{unescape, unescape_name},
};
use crate::{
    source::root::{MOST_BYTES, RootError, errno_number, is_plain},
    text::Label,
};

/// Parses a capture.
///
/// # Errors
/// The line that does not fit.
pub fn parse(text: &str) -> Result<Capture, CaptureError> {
    archive(text).map(Archive::into_capture)
}

/// As [`parse`], to be asked only.
pub(in crate::source::capture) fn archive(text: &str) -> Result<Archive, CaptureError> {
    Parser::new(text).run()
}

struct Parser<'a> {
    lines: std::iter::Peekable<std::str::Split<'a, char>>,
    /// Number of the current line.
    line: usize,
    /// Bytes of content so far.
    total: usize,
    /// Answers and names so far.
    entries: usize,
    archive: Archive,
}

type Parsed<T> = Result<T, String>;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let body = text.strip_suffix('\n').unwrap_or(text);
        Self {
            lines: body.split('\n').peekable(),
            line: 0,
            total: text.len(),
            entries: 0,
            archive: Archive::for_text(text.len()),
        }
    }

    fn run(mut self) -> Result<Archive, CaptureError> {
        let parsed = self.parse();
        if let Some(line) = self.archive.index() {
            // Before the line that is wrong, if one is.
            return Err(CaptureError { line, wrong: "given twice".to_owned() });
        }
        match parsed {
            Ok(()) => Ok(self.archive),
            Err(wrong) => Err(CaptureError { line: self.line, wrong }),
        }
    }

    fn parse(&mut self) -> Parsed<()> {
        self.header()?;
        while let Some(line) = self.next_line() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            check_characters(line)?;
            self.count_entry()?;
            self.entry(line)?;
        }
        Ok(())
    }

    fn next_line(&mut self) -> Option<&'a str> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line)
    }

    /// The next line of a body, without its indentation.
    fn next_indented(&mut self) -> Parsed<Option<&'a str>> {
        let Some(body) = self.lines.peek().and_then(|line| line.strip_prefix("  ")) else { return Ok(None) };
        self.next_line();
        check_characters(body)?;
        Ok(Some(body))
    }

    fn header(&mut self) -> Parsed<()> {
        let first = self.next_line().unwrap_or_default();
        if self.total > MOST_TEXT {
            return Err(format!("longer than {} MiB", MOST_TEXT >> 20));
        }
        let version = first.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' '));
        let version = version.ok_or_else(|| format!("does not begin with \"{MAGIC} {VERSION}\""))?;
        if version != VERSION.to_string() {
            return Err(format!("format {}; this iodyno reads {VERSION}", quote(version)));
        }
        while let Some(line) = self.next_line() {
            if line.is_empty() {
                break;
            }
            if line.starts_with('#') {
                continue;
            }
            check_characters(line)?;
            let (name, remark) = line
                .split_once(':')
                .ok_or("the header needs lines of `name: text` and an empty line at its end")?;
            let remark = remark.strip_prefix(' ').unwrap_or(remark);
            self.archive.notes.push((unescape_name(name)?.into_owned(), unescape_name(remark)?.into_owned()));
        }
        Ok(())
    }

    fn entry(&mut self, line: &'a str) -> Parsed<()> {
        let (keyword, rest) =
            line.split_once(' ').ok_or_else(|| format!("{} is not an entry", quote(line)))?;
        match keyword {
            "dir" => {
                let path = absolute(rest)?;
                let names = self.names()?;
                self.archive.list(self.line, &path, &names);
            }
            "link" => {
                let (path, target) = rest.split_once(' ').ok_or("a link needs a path and a target")?;
                let target = unescape_name(target)?;
                self.archive.link(self.line, &absolute(path)?, &target);
            }
            "file" => {
                let (path, line) = rest.split_once(' ').unwrap_or((rest, ""));
                let path = absolute(path)?;
                let (text, newline) = unescape(line)?;
                let newline = if newline { &b"\n"[..] } else { &[] };
                self.content(&path, &[text.as_bytes(), newline])?;
            }
            "text" => {
                let path = absolute(rest)?;
                let content = self.text_body()?;
                self.content(&path, &[content.as_bytes()])?;
            }
            "hex" => {
                let (path, length) = rest.split_once(' ').ok_or("hex needs a path and a length")?;
                let path = absolute(path)?;
                let length = length
                    .parse()
                    .ok()
                    .filter(|length| *length <= MOST_BYTES)
                    .ok_or_else(|| format!("{} is not a length up to {MOST_BYTES}", quote(length)))?;
                self.count(length)?;
                let content = self.hex_body(length)?;
                self.archive.read(self.line, &path, &[&content]);
            }
            "fail" | "none" => self.error(keyword, rest)?,
            other => return Err(format!("{} is not a kind of entry", quote(other))),
        }
        Ok(())
    }

    fn names(&mut self) -> Parsed<Vec<Cow<'a, str>>> {
        let mut names = Vec::new();
        while let Some(line) = self.next_indented()? {
            let name = unescape_name(line)?;
            if name.is_empty() || name == "." || name == ".." || name.contains('/') {
                return Err(format!("{} is not a name in a folder", quote(&name)));
            }
            self.count_entry()?;
            names.push(name);
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("the same name twice in this folder".to_owned());
        }
        Ok(names)
    }

    fn text_body(&mut self) -> Parsed<String> {
        let mut content = String::new();
        while let Some(line) = self.next_indented()? {
            let (text, newline) = unescape(line)?;
            content.push_str(&text);
            if !newline {
                break;
            }
            content.push('\n');
        }
        Ok(content)
    }

    fn hex_body(&mut self, length: usize) -> Parsed<Vec<u8>> {
        let mut content: Vec<u8> = Vec::with_capacity(length);
        let mut last_row = 0..0;
        let mut repeating = false;
        while let Some(line) = self.next_indented()? {
            if line == "*" {
                if repeating || last_row.is_empty() {
                    return Err("`*` without a row to repeat".to_owned());
                }
                repeating = true;
                continue;
            }
            let (offset, row) = line.split_once(':').ok_or("a row is `offset: bytes`")?;
            let offset = usize::from_str_radix(offset, 16).map_err(|_| "not a hexadecimal offset")?;
            if std::mem::take(&mut repeating) {
                if offset > length || offset < content.len() {
                    return Err(format!("row {offset:04x} is out of order"));
                }
                while content.len() < offset {
                    content.extend_from_within(last_row.clone());
                }
            }
            if offset != content.len() {
                return Err(format!("row {offset:04x} where {:04x} is next", content.len()));
            }
            for byte in row.split_ascii_whitespace() {
                let digits = byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
                let byte = u8::from_str_radix(byte, 16).ok().filter(|_| digits);
                content.push(byte.ok_or("bytes are two hexadecimal digits each")?);
            }
            if content.len() > length {
                return Err(format!("more than the {length} bytes announced"));
            }
            last_row = offset..content.len();
        }
        if content.len() != length || repeating {
            return Err(format!("{} of the {length} bytes announced", content.len()));
        }
        Ok(content)
    }

    fn content(&mut self, path: &str, content: &[&[u8]]) -> Parsed<()> {
        let length = content.iter().map(|part| part.len()).sum();
        if length > MOST_BYTES {
            return Err(format!("a file of more than {MOST_BYTES} bytes"));
        }
        self.count(length)?;
        self.archive.read(self.line, path, content);
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Parsed<()> {
        self.total += bytes;
        // The text itself counts too, so a capture without repetition may use half of it.
        if self.total > 2 * MOST_TEXT {
            return Err(format!("contents of more than {} MiB", MOST_TEXT >> 20));
        }
        Ok(())
    }

    fn count_entry(&mut self) -> Parsed<()> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(format!("more than {MOST_ENTRIES} files and names, which no machine has"));
        }
        Ok(())
    }

    fn error(&mut self, keyword: &str, rest: &str) -> Parsed<()> {
        let mut words = rest.splitn(3, ' ');
        let (Some(question), Some(path), Some(why)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("{keyword} needs a question, a path and a reason"));
        };
        let error = if keyword == "none" {
            RootError::NotHere(unescape_name(why)?.into_owned())
        } else {
            let errno = errno_number(why).or_else(|| why.parse().ok().filter(|number| *number > 0));
            RootError::Errno(errno.ok_or_else(|| format!("{} is not an errno", quote(why)))?)
        };
        let path = absolute(path)?;
        let question = match question {
            "read" => Question::Read,
            "link" => Question::Link,
            "list" => Question::List,
            other => return Err(format!("{} is not read, link or list", quote(other))),
        };
        self.archive.error(self.line, &path, question, &error);
        Ok(())
    }
}

/// A normalized absolute path: without `.`, `..`, doubled or trailing slashes.
fn absolute(word: &str) -> Parsed<Cow<'_, str>> {
    let path = unescape_name(word)?;
    if !is_plain(&path) {
        return Err(format!("{} is not a plain absolute path", quote(&path)));
    }
    Ok(path)
}

/// Lines contain printable characters and tabs only; all else is escaped.
fn check_characters(line: &str) -> Parsed<()> {
    if line.ends_with('\r') {
        return Err("ends in CR LF; convert the file to LF".to_owned());
    }
    if crate::text::is_printable_ascii(line) {
        return Ok(());
    }
    match line.chars().find(|c| *c != '\t' && !crate::text::is_harmless(*c)) {
        Some(c) => Err(format!("contains U+{:04X}, which must be escaped in a capture", u32::from(c))),
        None => Ok(()),
    }
}

fn quote(text: &str) -> String {
    let short: String = Label::new(text).as_str().chars().take(40).collect();
    format!("{short:?}")
}

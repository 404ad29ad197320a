//! Writes the text of a capture.

use std::fmt::Write as _;

use super::{
    super::{Answers, Capture, MAGIC},
    VERSION,
    escape::{Place, escape},
};
use crate::source::root::{RootError, errno_name};

const ROW: usize = 16;

/// The text of a capture; the same answers always give the same text.
pub fn write(capture: &Capture) -> String {
    let mut out = format!("{MAGIC} {VERSION}\n");
    for (name, remark) in &capture.notes {
        escape(&mut out, name, Place::Word);
        out.push_str(": ");
        escape(&mut out, remark, Place::Line);
        out.push('\n');
    }
    out.push('\n');
    for (path, answers) in &capture.answers {
        write_answers(&mut out, path, answers);
    }
    out
}

fn write_answers(out: &mut String, path: &str, answers: &Answers) {
    match &answers.list {
        None => {}
        Some(Err(error)) => write_error(out, "list", path, error),
        Some(Ok(names)) => {
            open(out, "dir", path);
            out.push('\n');
            for name in names {
                write_line(out, name);
            }
        }
    }
    match &answers.link {
        None => {}
        Some(Err(error)) => write_error(out, "link", path, error),
        Some(Ok(target)) => {
            open(out, "link", path);
            out.push(' ');
            escape(out, target, Place::Line);
            out.push('\n');
        }
    }
    match &answers.read {
        None => {}
        Some(Err(error)) => write_error(out, "read", path, error),
        Some(Ok(content)) => write_content(out, path, content),
    }
}

fn open(out: &mut String, keyword: &str, path: &str) {
    out.push_str(keyword);
    out.push(' ');
    escape(out, path, Place::Word);
}

fn write_error(out: &mut String, question: &str, path: &str, error: &RootError) {
    match error {
        RootError::Errno(errno) => {
            open(out, &format!("fail {question}"), path);
            match errno_name(*errno) {
                Some(name) => out.extend([" ", name]),
                None => drop(write!(out, " {errno}")),
            }
        }
        RootError::NotHere(why) => {
            open(out, &format!("none {question}"), path);
            out.push(' ');
            escape(out, why, Place::Line);
        }
    }
    out.push('\n');
}

fn write_line(out: &mut String, line: &str) {
    out.push_str("  ");
    escape(out, line, Place::Line);
    out.push('\n');
}

fn write_content(out: &mut String, path: &str, content: &[u8]) {
    let Some(text) = as_text(content) else { return write_hex(out, path, content) };
    let (body, end) = match text.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (text, "\\\n"),
    };
    if !body.contains('\n') {
        open(out, "file", path);
        if !body.is_empty() || end != "\n" {
            out.push(' ');
        }
        escape(out, body, Place::Line);
        out.push_str(end);
        return;
    }
    open(out, "text", path);
    out.push('\n');
    let mut lines = body.split('\n').peekable();
    while let Some(line) = lines.next() {
        // Editors strip trailing white space, so an empty line is written as an escape.
        out.push_str(if line.is_empty() { "  \\e" } else { "  " });
        escape(out, line, Place::Line);
        out.push_str(if lines.peek().is_some() { "\n" } else { end });
    }
}

/// The content as text, unless it is binary.
fn as_text(content: &[u8]) -> Option<&str> {
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127);
    std::str::from_utf8(content).ok().filter(|_| !content.iter().any(is_binary))
}

fn write_hex(out: &mut String, path: &str, content: &[u8]) {
    open(out, "hex", path);
    let _ = writeln!(out, " {}", content.len());
    let mut previous: Option<&[u8]> = None;
    let mut starred = false;
    let rows = content.len().div_ceil(ROW);
    for (index, row) in content.chunks(ROW).enumerate() {
        if previous == Some(row) && index + 1 < rows {
            if !std::mem::replace(&mut starred, true) {
                out.push_str("  *\n");
            }
            continue;
        }
        starred = false;
        previous = Some(row);
        let _ = write!(out, "  {:04x}:", index * ROW);
        for byte in row {
            let _ = write!(out, " {byte:02x}");
        }
        out.push('\n');
    }
}

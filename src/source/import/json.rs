//! JSON documents of nvme-cli and lsblk.

use std::borrow::Cow;

use serde_json::Deserializer;

use super::{
    document::Value,
    facts::{Facts, Line},
    lsblk,
    numbers::in_range,
    nvme_list,
    sections::Kind,
};

pub(super) const KIND: Kind =
    Kind { begins: |line, _| line.trim_start().starts_with('{'), continues: is_part, tolerates: 0, read };

/// Whether a line is a part of a document: a bracket, a string, or a value of a list on a line of its own.
fn is_part(line: &str) -> bool {
    let line = line.trim();
    let value = line.trim_end_matches(',');
    line.starts_with(['{', '}', '[', ']', '"', ',', '\u{201c}', '\u{201d}'])
        || ["null", "true", "false"].contains(&value)
        || value.parse::<f64>().is_ok() && value.len() <= 24
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let is_other = facts.is_another_machine("document", lines, |lines, alone| _ = read_alone(lines, alone));
    if is_other { None } else { read_alone(lines, facts) }
}

/// Several documents may follow each other.
fn read_alone(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let first = lines.first()?.number;
    let text: String = lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
    // Forums and word processors put typographic quotation marks around words.
    let text = if text.contains(QUOTES) { text.replace(QUOTES, "\"") } else { text };
    let text = in_range(&text);
    let mut command = None;
    for document in Deserializer::from_str(&text).into_iter::<Value>() {
        let document = match document {
            Ok(document) => document,
            Err(wrong) => {
                // The place is counted from the listing's first line, and the reason alone is wanted.
                let words = wrong.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                let why = format!("a JSON document that is cut or invalid ({words})");
                let whole = (command.is_none()).then(|| closed(&text)).flatten();
                let found = whole.and_then(|(whole, end)| {
                    let document = serde_json::from_str(&whole).ok()?;
                    Some((take(document, first, facts)?, text[..end].matches('\n').count()))
                });
                let used = found.map_or(0, |(of, used)| {
                    command = Some(of.into());
                    used + 1
                });
                lines.iter().skip(used).for_each(|line| facts.notes.unused_text(line, &why));
                break;
            }
        };
        match take(document, first, facts) {
            Some(of) => command = Some(of.into()),
            None => {
                for line in lines {
                    facts.notes.unused_text(line, "a JSON document of neither nvme-cli nor lsblk");
                }
            }
        }
    }
    command
}

/// The command of a document whose values were taken.
fn take(document: Value, line: usize, facts: &mut Facts) -> Option<&'static str> {
    if nvme_list::json(&document, line, facts) {
        Some("nvme list -o json")
    } else if lsblk::json(document, line, facts) {
        Some("lsblk -J")
    } else {
        None
    }
}

/// Quotation marks of a JSON document that was pasted through a program for letters.
const QUOTES: [char; 2] = ['\u{201c}', '\u{201d}'];

/// A document that was cut: up to the last object that is whole, and the length of that part.
fn closed(text: &str) -> Option<(String, usize)> {
    let (mut open, mut whole, mut is_string, mut is_escaped) = (Vec::new(), None, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                if open.pop() != Some(char::from(byte)) {
                    break;
                }
                if byte == b'}' {
                    whole = Some((at + 1, open.clone()));
                }
            }
            _ => {}
        }
    }
    let (end, open) = whole?;
    let rest: String = open.iter().rev().collect();
    Some((format!("{}{rest}", &text[..end]), end))
}

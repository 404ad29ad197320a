//! JSON documents of nvme-cli and lsblk.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

use super::{
    facts::{Facts, Line},
    lsblk, nvme_list,
    sections::Kind,
};

pub(super) const KIND: Kind =
    Kind { begins: |line, _| line.trim_start().starts_with('{'), continues: is_part, tolerates: 0, read };

/// Whether a line is a part of a document: a bracket, a string, or a value of a list on a line of its own.
fn is_part(line: &str) -> bool {
    let line = line.trim();
    let value = line.trim_end_matches(',');
    line.starts_with(['{', '}', '[', ']', '"', ','])
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
    let mut command = None;
    for document in Deserializer::from_str(&text).into_iter::<Value>() {
        let document = match document {
            Ok(document) => document,
            Err(wrong) => {
                // The place is counted from the listing's first line, and the reason alone is wanted.
                let words = wrong.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                for line in lines {
                    facts
                        .notes
                        .unused_text(line, &format!("a JSON document that is cut or invalid ({words})"));
                }
                break;
            }
        };
        if nvme_list::json(&document, first, facts) {
            command = Some("nvme list -o json".into());
        } else if lsblk::json(&document, first, facts) {
            command = Some("lsblk -J".into());
        } else {
            for line in lines {
                facts.notes.unused_text(line, "a JSON document of neither nvme-cli nor lsblk");
            }
        }
    }
    command
}

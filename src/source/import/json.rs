//! JSON documents of nvme-cli and lsblk.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

use super::{
    facts::{Facts, Line},
    lsblk, nvme_list,
    sections::Kind,
};

pub(super) const KIND: Kind = Kind {
    begins: |line, _| line.trim_start().starts_with('{'),
    continues: |line| line.trim_start().starts_with(['{', '}', '[', ']', '"', ',']),
    tolerates: 0,
    read,
};

/// Several documents may follow each other.
fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let first = lines.first()?.number;
    let text: String = lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
    let mut command = None;
    for document in Deserializer::from_str(&text).into_iter::<Value>() {
        let Ok(document) = document else {
            facts.notes.unused(first, "a JSON document that is cut or invalid");
            break;
        };
        if nvme_list::json(&document, first, facts) {
            command = Some("nvme list -o json".into());
        } else if lsblk::json(&document, first, facts) {
            command = Some("lsblk -J".into());
        } else {
            facts.notes.unused(first, "a JSON document of neither nvme-cli nor lsblk");
        }
    }
    command
}

//! `/proc/interrupts`.

use std::borrow::Cow;

use super::{
    facts::{Facts, Known, Line},
    sections::Kind,
};

pub(super) const KIND: Kind = Kind {
    begins: |line, _| {
        let mut words = line.split_whitespace();
        words.next() == Some("CPU0") && words.all(|word| word.starts_with("CPU"))
    },
    continues: |line| {
        let mut words = line.split_whitespace();
        let is_row = words
            .next()
            .and_then(|word| word.strip_suffix(':'))
            .is_some_and(|name| name.len() <= 4 && name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        is_row && words.next().is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
    },
    tolerates: 0,
    read,
};

/// The table as it is: the reader of a live machine reads it.
fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let first = lines.first()?.number;
    let text: String =
        lines.iter().filter(|line| !line.text.is_empty()).flat_map(|line| [&*line.text, "\n"]).collect();
    facts
        .files
        .entry("/proc/interrupts".to_owned())
        .or_insert(Known { value: text.into_bytes(), line: first });
    Some("/proc/interrupts".into())
}

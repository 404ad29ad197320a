//! The reader: TOML with the place of each value, so that what is wrong names its line.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Config, KEYS, Names};
use crate::text::Label;

/// What is wrong in the file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{about}")]
pub struct Wrong {
    /// Line, from 1.
    pub line: usize,
    /// `KEY: PROBLEM; use FIX`.
    about: String,
}

/// What the readers of keys share: names of other modules, and the mistakes so far.
pub(super) struct Reader<'a> {
    pub(super) names: &'a Names,
    wrong: Vec<Wrong>,
}

impl Reader<'_> {
    /// The value, or `None` for a mistake, which is kept: the rest of the file holds.
    pub(super) fn keep<T>(&mut self, value: Result<T, Wrong>) -> Option<T> {
        value.map_err(|wrong| self.wrong.push(wrong)).ok()
    }
}

/// A value with its name and its place.
pub(super) struct Item<'a> {
    /// With the tables it is in.
    name: String,
    own: String,
    value: &'a DeValue<'a>,
    line: usize,
    source: &'a str,
}

/// Reads a configuration, and its mistakes by line. A wrong key or value keeps its default and the rest holds; a text that is
/// not TOML gives the defaults.
pub fn read(text: &str, names: &Names) -> (Config, Vec<Wrong>) {
    let mut config = Config::default();
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, &span));
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            let about =
                format!("not TOML: {}; correct it, until then the defaults apply", Label::new(&message));
            return (config, vec![Wrong { line, about }]);
        }
    };
    let mut reader = Reader { names, wrong: Vec::new() };
    for item in items(table.get_ref(), "", text) {
        let table = format!("[{}", item.name);
        let key = KEYS.iter().find(|key| {
            key.name == item.name || key.name.trim_end_matches(']').trim_end_matches(".NAME") == table
        });
        let Some(key) = key else {
            let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            reader.wrong.push(item.wrong("no such key", known.join(", ")));
            continue;
        };
        let read = (key.read)(&mut config, &item, &mut reader);
        reader.keep(read);
    }
    // Themes of the file stand behind the key that names one.
    let is_known = config.theme.as_ref().is_none_or(|name| config.theme_named(name).is_some());
    if let Some(name) = config.theme.take_if(|_| !is_known) {
        let known = config.known_themes();
        let at = items(table.get_ref(), "", text).into_iter().find(|item| item.name == "theme");
        reader.wrong.extend(at.map(|item| item.wrong(format!("{name:?} is no theme"), known)));
    }
    reader.wrong.sort_by_key(|wrong| wrong.line);
    (config, reader.wrong)
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

/// The members of a table in the order of the file.
fn items<'a>(table: &'a DeTable<'a>, of: &str, source: &'a str) -> Vec<Item<'a>> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(name, _)| name.span().start);
    let item = |(name, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
        let own: &std::borrow::Cow<'_, str> = name.get_ref();
        let name_of = if of.is_empty() { own.to_string() } else { format!("{of}.{own}") };
        Item {
            name: name_of,
            own: own.to_string(),
            value: value.get_ref(),
            line: line_of(source, &name.span()),
            source,
        }
    };
    members.into_iter().map(item).collect()
}

impl<'a> Item<'a> {
    /// The last part of its name.
    pub(super) fn own_name(&self) -> &str {
        &self.own
    }

    /// As the header of a table.
    pub(super) fn header(&self) -> String {
        format!("[{}]", self.name)
    }

    /// What is wrong with it.
    pub(super) fn wrong(&self, problem: impl AsRef<str>, fix: impl AsRef<str>) -> Wrong {
        let about = format!("{}: {}; use {}", self.name, problem.as_ref(), fix.as_ref());
        Wrong { line: self.line, about: Label::new(&about).to_string() }
    }

    /// What another module says is wrong with it.
    pub(super) fn said(&self, line: &str) -> Wrong {
        Wrong { line: self.line, about: Label::new(&format!("{}: {line}", self.name)).to_string() }
    }

    /// It has none of these values.
    pub(super) fn not_one_of(&self, known: &str) -> Wrong {
        let text = self.scalar().map_or_else(|| "this".to_owned(), |text| text_of(&text, self.is_text()));
        self.wrong(format!("{text} is not one of its values"), known)
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub(super) fn is_text(&self) -> bool {
        self.value.is_str()
    }

    pub(super) fn text(&self, example: &str) -> Result<&'a str, Wrong> {
        self.value.as_str().ok_or_else(|| self.wrong("not a text", example))
    }

    pub(super) fn number(&self, example: &str) -> Result<f64, Wrong> {
        let text = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.wrong("not a number", example)),
        };
        text.parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(|| self.wrong("not a number", example))
    }

    /// A text, number or switch, as an option takes it; `None` for lists, tables and the like.
    pub(super) fn scalar(&self) -> Option<String> {
        Some(match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(switch) => u8::from(*switch).to_string(),
            _ => return None,
        })
    }

    /// The items of a list; a value alone is a list of one.
    pub(super) fn items(&self, example: &str) -> Result<Vec<Self>, Wrong> {
        if self.value.is_table() {
            return Err(self.wrong("not a list", example));
        }
        let item = |value: &'a DeValue<'a>, line| Self {
            name: self.name.clone(),
            own: self.own.clone(),
            value,
            line,
            source: self.source,
        };
        Ok(match self.value.as_array() {
            Some(array) => {
                array.iter().map(|one| item(one.get_ref(), line_of(self.source, &one.span()))).collect()
            }
            None => vec![item(self.value, self.line)],
        })
    }

    /// The members of a table.
    pub(super) fn members(&self, example: &str) -> Result<Vec<Self>, Wrong> {
        let table = self.value.as_table().ok_or_else(|| self.wrong("not a table", example))?;
        Ok(items(table, &self.name, self.source))
    }
}

/// A value as it stands in the file.
pub(super) fn text_of(text: &str, is_text: bool) -> String {
    if is_text { format!("{text:?}") } else { text.to_owned() }
}

/// A positive number without its fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(super) fn rounded(number: f64) -> u64 {
    number.round() as u64
}

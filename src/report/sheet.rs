//! The sheet, a summary for a forum post: machine, findings, settings, runs, experiments.

mod machine;
mod tree;
mod findings;
mod settings;
mod runs;
mod experiments;
mod markdown;
mod bbcode;
mod plain;

use std::collections::BTreeSet;

pub(crate) use experiments::repeated;
pub(super) use experiments::{effect_words, title as experiment_title};

use super::{dossier::Dossier, json, wrapped};
use crate::text::is_harmless;

/// Columns of a code box, as forums show without a scroll bar.
pub const BOX: usize = 78;

/// Indent of the lines below the title of a run or experiment.
const INDENT: &str = "   ";

/// A part that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is described by its row of PARTS")]
pub enum Part {
    Machine,
    Tree,
    Findings,
    Settings,
    Runs,
    Experiments,
    Commands,
    Versions,
}

/// One part.
#[derive(Debug, Clone, Copy)]
pub struct PartRow {
    /// The part.
    pub part: Part,
    /// Its word for the command line.
    pub word: &'static str,
    /// Its label in a list.
    pub name: &'static str,
    /// Its blocks.
    blocks: fn(&Dossier, &Choice) -> Vec<Block>,
}

/// All parts, in the order of a sheet.
pub static PARTS: &[PartRow] = &[
    PartRow { part: Part::Machine, word: "machine", name: "machine", blocks: machine::blocks },
    PartRow { part: Part::Tree, word: "tree", name: "tree with its links", blocks: tree::blocks },
    PartRow { part: Part::Findings, word: "findings", name: "findings", blocks: findings::blocks },
    PartRow { part: Part::Settings, word: "settings", name: "unusual settings", blocks: settings::blocks },
    PartRow { part: Part::Runs, word: "runs", name: "runs", blocks: runs::blocks },
    PartRow {
        part: Part::Experiments,
        word: "experiments",
        name: "experiments",
        blocks: experiments::blocks,
    },
    PartRow { part: Part::Commands, word: "commands", name: "commands", blocks: runs::commands },
    PartRow {
        part: Part::Versions,
        word: "versions",
        name: "kernel and versions",
        blocks: machine::versions,
    },
];

/// Format of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// CommonMark, as GitHub, Discourse and Reddit take it.
    #[default]
    Markdown,
    /// BBCode, as phpBB, XenForo and vBulletin take it.
    Bbcode,
    /// Plain text of 80 columns.
    Text,
    /// One JSON document, for `iodyno compare` and scripts.
    Json,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Bbcode, Self::Text, Self::Json];

    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|format| *format == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "Markdown",
            Self::Bbcode => "BBCode",
            Self::Text => "plain text",
            Self::Json => "JSON",
        }
    }

    /// Extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Bbcode => "bbcode",
            Self::Text => "txt",
            Self::Json => "json",
        }
    }
}

/// The contents of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its parts.
    pub parts: BTreeSet<Part>,
    /// Omitted runs, from 0 for the oldest.
    pub without_runs: BTreeSet<usize>,
    /// Omitted experiments, likewise.
    pub without_experiments: BTreeSet<usize>,
}

impl Default for Choice {
    /// Everything.
    fn default() -> Self {
        Self {
            parts: PARTS.iter().map(|row| row.part).collect(),
            without_runs: BTreeSet::new(),
            without_experiments: BTreeSet::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    Plain(String),
    Strong(String),
    Code(String),
}

/// A block of a sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Title(String),
    Heading(String),
    /// A paragraph.
    Text(Vec<Span>),
    /// One line each.
    List(Vec<Vec<Span>>),
    /// Lines of at most [`BOX`] columns that keep their columns.
    Box(Vec<String>),
}

/// The sheet in one of its formats.
pub fn text(dossier: &Dossier, choice: &Choice, format: Format) -> String {
    dossier.finished(&match format {
        Format::Json => json::text(&json::SheetDocument::new(dossier, choice)),
        _ => written(blocks(dossier, choice), format),
    })
}

/// Blocks in a format for people.
pub(super) fn written(mut blocks: Vec<Block>, format: Format) -> String {
    blocks.iter_mut().for_each(Block::clean);
    match format {
        Format::Markdown => markdown::text(&blocks),
        Format::Bbcode => bbcode::text(&blocks),
        Format::Text | Format::Json => plain::text(&blocks),
    }
}

fn blocks(dossier: &Dossier, choice: &Choice) -> Vec<Block> {
    let mut blocks = vec![Block::Title(machine::title(dossier))];
    if dossier.is_simulated() {
        blocks.push(Block::Text(vec![
            Span::Strong("SIMULATED.".to_owned()),
            Span::Plain(" A demo machine: no drive was read for these figures.".to_owned()),
        ]));
    }
    if let Some((headline, rest)) = dossier.headline.split_first() {
        blocks.push(Block::Text(vec![Span::Strong(headline.clone())]));
        blocks.extend((!rest.is_empty()).then(|| plain_text(rest.join(" "))));
    }
    for row in PARTS.iter().filter(|row| choice.parts.contains(&row.part)) {
        blocks.extend((row.blocks)(dossier, choice));
    }
    blocks
}

impl Block {
    /// Replaces unprintable characters: text of a file read for a comparison is no [`Label`](crate::text::Label).
    fn clean(&mut self) {
        let clean = |text: &mut String| {
            *text = text.replace(|c| !is_harmless(c), &char::REPLACEMENT_CHARACTER.to_string());
        };
        match self {
            Self::Title(text) | Self::Heading(text) => clean(text),
            Self::Text(spans) => spans.iter_mut().for_each(|span| clean(span.text_mut())),
            Self::List(items) => items.iter_mut().flatten().for_each(|span| clean(span.text_mut())),
            Self::Box(lines) => lines.iter_mut().for_each(clean),
        }
    }
}

impl Span {
    fn text_mut(&mut self) -> &mut String {
        match self {
            Self::Plain(text) | Self::Strong(text) | Self::Code(text) => text,
        }
    }
}

/// All but the omitted ones, with their numbers from 1.
pub(super) fn numbered<'a, T>(all: &'a [T], without: &BTreeSet<usize>) -> Vec<(usize, &'a T)> {
    let all = all.iter().enumerate().filter(|(index, _)| !without.contains(index));
    all.map(|(index, one)| (index + 1, one)).collect()
}

/// A time at the end of a line: `; 2026-11-21 19:40 UTC`; empty where it is unknown.
fn date(started: i64) -> String {
    let date = (started > 0).then(|| jiff::Timestamp::from_second(started).ok()).flatten();
    date.map(|date| date.strftime("; %F %H:%M UTC").to_string()).unwrap_or_default()
}

/// A paragraph without marks.
pub(super) fn plain_text(text: impl Into<String>) -> Block {
    Block::Text(vec![Span::Plain(text.into())])
}

/// Words in lines of at most [`BOX`] columns: the first behind `lead`, the others as far in.
pub(super) fn boxed(lead: &str, words: &str) -> Vec<String> {
    wrapped(lead, words, BOX)
}

//! A sheet as Markdown (CommonMark), as GitHub, Discourse and Reddit take it.
//!
//! A paragraph is one line, as forums turn a line's end into a break. Text from outside cannot become markup: special
//! characters are escaped, and links and mentions become code.

use super::{Block, Span};
use crate::report::ended;

/// The blocks, an empty line between two.
pub(super) fn text(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("## {}\n", escaped(text)),
        Block::Heading(text) => format!("### {}\n", escaped(text)),
        Block::Text(text) => format!("{}\n", spans(text)),
        Block::List(items) => ended(items.iter().map(|item| format!("- {}", spans(item)))),
        Block::Box(lines) => fenced(lines),
    }
}

fn spans(spans: &[Span]) -> String {
    let text = |text: &str| if is_link(text) { code(text) } else { escaped(text) };
    let spans = spans.iter().map(|span| match span {
        Span::Plain(words) => text(words),
        Span::Strong(words) => format!("**{}**", text(words)),
        Span::Code(words) => code(words),
    });
    let out: String = spans.collect();
    // The first character of a line may begin a list, a heading or a rule; digits before a dot and a blank begin a numbered
    // list (CommonMark 5.2): `7.00` begins none.
    let digits = out.len() - out.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut behind = out[digits..].chars();
    let (first, next) = (behind.next(), behind.next());
    match (digits, first) {
        (0, Some('#' | '=' | '>' | ':')) => format!("\\{out}"),
        (0, Some('+' | '-')) if next.is_none_or(|next| !next.is_ascii_digit()) => format!("\\{out}"),
        (1.., Some('.' | ')')) if next.is_none_or(char::is_whitespace) => {
            format!("{}\\{}", &out[..digits], &out[digits..])
        }
        _ => out,
    }
}

/// Whether a forum turns it into a link or a mention.
fn is_link(text: &str) -> bool {
    let is_address = |at: usize| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let word = text[at + 1..].split(|c| !is_part(c)).next().unwrap_or_default();
        let is_mention = !text[..at].ends_with(is_part) && !word.is_empty();
        // `nvme@07:00.0` is neither: a dot of an address is in the word behind the `@`.
        is_mention || word.trim_end_matches('.').contains('.')
    };
    let is_any = text.match_indices('@').any(|(at, _)| is_address(at));
    text.contains("://") || is_any || text.to_ascii_lowercase().contains("www.")
}

/// With a backslash before every special character; `!` is one before a bracket alone, which has its own. An underscore within a word marks nothing (CommonMark), and people read it so.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\n').chars().peekable();
    while let Some(c) = chars.next() {
        let is_within = c == '_'
            && out.ends_with(char::is_alphanumeric)
            && chars.peek().is_some_and(|next| next.is_alphanumeric());
        if !is_within
            && matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '#')
        {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Between more backquotes than it has in a row.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

fn fenced(lines: &[String]) -> String {
    let fence = "`".repeat(lines.iter().map(|line| longest_run(line)).max().unwrap_or_default().max(2) + 1);
    let rows = ended(lines.iter().map(|line| line.trim_end().to_owned()));
    format!("{fence}text\n{rows}{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_be_markup_is_none() {
        let line = |text: &str| spans(&[Span::Plain(text.to_owned())]);
        assert_eq!(line("a_b _c_ *c* [d](e) <b>"), "a_b \\_c\\_ \\*c\\* \\[d\\](e) \\<b\\>");
        assert_eq!(line("# no heading"), "\\# no heading");
        assert_eq!(line("1. no list"), "1\\. no list");
        assert_eq!(line("- no list"), "\\- no list");
        assert_eq!(line("10 drives"), "10 drives");
        assert_eq!(line("7.00 of 7.14 GB/s"), "7.00 of 7.14 GB/s");
        assert_eq!(line("-0.5 % and +1"), "-0.5 % and +1");
        assert_eq!((line("7."), line("7) x"), line("---")), ("7\\.".into(), "7\\) x".into(), "\\---".into()));
        assert_eq!(line("stopped! ![a](b)"), "stopped! !\\[a\\](b)");
        assert_eq!(line("see http://x"), "`see http://x`");
        assert_eq!(line("hi @bob"), "`hi @bob`");
        assert_eq!(line("to bob@example.org."), "`to bob@example.org.`");
        assert_eq!(line("nvme@07:00.0, nvme@0000:41:00.0: *"), "nvme@07:00.0, nvme@0000:41:00.0: \\*");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(fenced(&["```".to_owned()]), "````text\n```\n````\n");
    }

    proptest! {
        #[test]
        fn every_mark_is_escaped(text in "[\\PC]{0,40}") {
            let out = escaped(&text);
            let mut chars = out.chars();
            let mut back = String::new();
            while let Some(c) = chars.next() {
                // An underscore between letters is none.
                let is_within = c == '_' && back.ends_with(char::is_alphanumeric);
                prop_assert!(is_within || !"`*_[]<>".contains(c), "{}", out);
                back.push(if c == '\\' { chars.next().unwrap() } else { c });
            }
            prop_assert_eq!(back, text);
        }

        #[test]
        fn a_box_ends_where_it_should(lines in prop::collection::vec("[`a ]{0,8}", 0..6)) {
            let text = fenced(&lines);
            let fence = text.split("text").next().unwrap().to_owned();
            let closing: Vec<&str> = text.lines().skip(1).filter(|line| line.starts_with(&fence)).collect();
            prop_assert_eq!(closing.len(), 1);
        }

        #[test]
        fn code_ends_where_it_should(text in "[`ab ]{1,20}") {
            let out = code(&text);
            let fence = longest_run(&text) + 1;
            prop_assert!(out.starts_with(&"`".repeat(fence)) && out.ends_with(&"`".repeat(fence)));
        }
    }
}

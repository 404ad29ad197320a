//! A sheet as plain text of 80 columns.

use unicode_width::UnicodeWidthStr;

use super::{BOX, Block, Span};
use crate::report::{ended, wrapped};

/// The blocks, an empty line between two.
pub(super) fn text(blocks: &[Block]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let follows_heading = number > 0 && matches!(blocks[number - 1], Block::Heading(_));
        if number > 0 && !follows_heading {
            lines.push(String::new());
        }
        match block {
            Block::Title(text) => lines.extend(underlined(text, '=')),
            Block::Heading(text) => lines.extend(underlined(text, '-')),
            Block::Text(spans) => lines.extend(wrapped("", &words(spans), BOX)),
            Block::List(items) => {
                lines.extend(items.iter().flat_map(|item| wrapped("* ", &words(item), BOX)));
            }
            Block::Box(rows) => lines.extend(rows.iter().cloned()),
        }
    }
    ended(lines.iter().map(|line| line.trim_end().to_owned()))
}

fn underlined(text: &str, with: char) -> Vec<String> {
    let mut lines = wrapped("", text, BOX);
    let wide = lines.iter().map(|line| line.width()).max().unwrap_or_default();
    lines.push(with.to_string().repeat(wide));
    lines
}

fn words(spans: &[Span]) -> String {
    let text = spans.iter().map(|span| match span {
        Span::Plain(text) | Span::Strong(text) | Span::Code(text) => text.as_str(),
    });
    text.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_separated_and_lines_fit() {
        let long = "word ".repeat(40);
        let blocks = [
            Block::Title("Ten drives".to_owned()),
            Block::Heading("Findings".to_owned()),
            Block::List(vec![vec![
                Span::Strong("High.".to_owned()),
                Span::Plain(format!(" {}", long.trim_end())),
            ]]),
            Block::Box(vec!["a  b".to_owned()]),
        ];
        let text = text(&blocks);
        assert!(text.starts_with("Ten drives\n==========\n\nFindings\n--------\n* High. word"), "{text}");
        assert!(text.contains("\n  word word") && text.ends_with("\n\na  b\n"), "{text}");
        assert!(text.lines().all(|line| line.width() <= BOX));
    }
}

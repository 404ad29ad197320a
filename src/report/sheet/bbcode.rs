//! A sheet as BBCode, as phpBB, XenForo and vBulletin take it: bold, lists and code boxes, which all of them have.
//!
//! BBCode cannot escape a bracket, so brackets of text from outside become parentheses.

use super::{Block, Span};
use crate::report::ended;

/// An empty line between paragraphs, none at boxes and lists, which forums set apart.
pub(super) fn text(blocks: &[Block]) -> String {
    let is_apart = |at: usize| matches!(blocks.get(at), Some(Block::Box(_) | Block::List(_)));
    let mut text = String::new();
    for (at, one) in blocks.iter().enumerate() {
        if at > 0 && !is_apart(at) && !is_apart(at - 1) {
            text.push('\n');
        }
        text.push_str(&block(one));
    }
    text
}

fn block(block: &Block) -> String {
    match block {
        Block::Title(text) => format!("[size=5][b]{}[/b][/size]\n", harmless(text)),
        Block::Heading(text) => format!("[b]{}[/b]\n", harmless(text)),
        Block::Text(text) => format!("{}\n", spans(text)),
        Block::List(items) => {
            let items = ended(items.iter().map(|item| format!("[*]{}", spans(item))));
            format!("[list]\n{items}[/list]\n")
        }
        Block::Box(lines) => {
            let rows = ended(lines.iter().map(|line| harmless(line.trim_end())));
            format!("[code]\n{rows}[/code]\n")
        }
    }
}

fn spans(spans: &[Span]) -> String {
    let text = spans.iter().map(|span| match span {
        Span::Plain(text) => linkless(text),
        Span::Strong(text) => format!("[b]{}[/b]", linkless(text)),
        // Inline code is not in every dialect; a fixed font is.
        Span::Code(text) => format!("[font=monospace]{}[/font]", linkless(text)),
    });
    text.collect()
}

fn harmless(text: &str) -> String {
    text.replace('[', "(").replace(']', ")")
}

/// Outside code boxes forums turn addresses into links; a space prevents it.
fn linkless(text: &str) -> String {
    harmless(text).replace("://", ": //").replace("www.", "www .")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_are_iodynos_alone() {
        let blocks = [
            Block::Title("x [b]bold[/b]".to_owned()),
            Block::List(vec![vec![Span::Code("a[/font][img]http://x[/img]".to_owned())]]),
            Block::Box(vec!["row[/code][url=x]".to_owned()]),
        ];
        assert_eq!(
            text(&blocks),
            "[size=5][b]x (b)bold(/b)[/b][/size]\n[list]\n[*][font=monospace]a(/font)(img)http: //x(/img)[/font]\n\
             [/list]\n[code]\nrow(/code)(url=x)\n[/code]\n"
        );
    }

    proptest! {
        #[test]
        fn no_text_brings_a_tag(text in any::<String>()) {
            prop_assert!(!linkless(&text).contains(['[', ']']) && !linkless(&text).contains("://"));
        }
    }
}

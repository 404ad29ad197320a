//! A whole sheet as a picture.

use ratatui::{buffer::Buffer, layout::Rect};

use super::draw::styled;
use crate::{
    screens::widgets::paint::{cells, piece},
    ui::theme::{Meaning, Theme},
};

/// A sheet in plain text as a picture: headings stand out, their lines step back, marks of the tree are seen.
pub fn picture(text: &str, theme: Theme) -> Buffer {
    let lines: Vec<&str> = text.lines().collect();
    let width = lines.iter().map(|line| cells(line)).max().unwrap_or_default().saturating_add(2);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let mut picture = Buffer::empty(Rect::new(0, 0, width, height));
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '=' || c == '-');
    for (y, line) in (0..height).zip(&lines) {
        let next = lines.get(usize::from(y) + 1);
        let pieces = if is_rule(line) {
            vec![piece(*line, Meaning::Quiet)]
        } else if next.is_some_and(|next| is_rule(next)) {
            vec![piece(*line, Meaning::Heading)]
        } else {
            styled(line, true, false)
        };
        let mut x = 1;
        for (text, meaning) in pieces {
            picture.set_string(x, y, &text, theme.style(meaning));
            x = x.saturating_add(cells(&text));
        }
    }
    picture
}

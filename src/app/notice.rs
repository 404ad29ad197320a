//! The notice in lines: as many rows of the frame as its text needs.

use std::time::Duration;

use super::App;
use crate::{
    screens::widgets::paint::{Piece, cells, fit, piece, wrap},
    ui::theme::Meaning,
};

/// Rows it takes at most.
const MOST: usize = 4;

/// How long a notice that is no problem stays without a key.
pub(super) fn reading_time(text: &str) -> Duration {
    // Slow readers take in 20 characters a second.
    Duration::from_secs(4) + Duration::from_millis(50) * u32::from(cells(text))
}

/// Rows that the notice needs on a terminal of `width` columns; 0 without one.
pub(super) fn rows(app: &App, width: u16) -> u16 {
    u16::try_from(lines(app, width).len()).unwrap_or(0)
}

/// The notice in lines; a text longer than [`MOST`] of them ends in a mark.
pub(super) fn lines(app: &App, width: u16) -> Vec<Vec<Piece>> {
    let Some(notice) = &app.notice else { return Vec::new() };
    let lead = if notice.problem { "! " } else { "" };
    let room = width.saturating_sub(2 + cells(lead));
    let mut texts = wrap(&app.shared.theme.glyphs.arrows(&notice.text), room);
    if texts.len() > MOST {
        let rest = texts.split_off(MOST - 1).join(" ");
        texts.push(fit(&rest, room));
    }
    let leads = std::iter::once(lead.to_owned()).chain(std::iter::repeat(" ".repeat(lead.len())));
    let line = |(lead, text)| vec![piece(lead, Meaning::Problem), piece(text, Meaning::Text)];
    leads.zip(texts).map(line).collect()
}

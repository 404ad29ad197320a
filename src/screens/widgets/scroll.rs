//! Where a list or a text begins that is longer than its place.

/// The first line shown after a step, of a text of `lines` in `rows`; steps past the end lead to it.
pub fn scrolled(top: usize, step: isize, lines: usize, rows: u16) -> usize {
    let end = lines.saturating_sub(usize::from(rows));
    top.min(end).saturating_add_signed(step).min(end)
}

/// The first row shown of `count` so that the selected one is among `rows`.
pub fn kept_in_sight(top: usize, selected: usize, count: usize, rows: u16) -> usize {
    let rows = usize::from(rows);
    if rows == 0 {
        return top;
    }
    top.clamp(selected.saturating_sub(rows - 1), selected).min(count.saturating_sub(rows))
}

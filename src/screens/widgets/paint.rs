//! [`Brush`]: writing styled text, panels and bars into the buffer, never beyond their area.

use std::sync::LazyLock;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Clear, Widget},
};
use unicode_width::UnicodeWidthStr;

use super::words::as_fields;
use crate::{
    capacity::bottleneck::FULL,
    report,
    ui::{
        TextField,
        key_names::KeyNames,
        theme::{Meaning, Theme},
    },
    units::unbroken,
};

/// A buffer with the theme it is drawn by.
pub struct Brush<'a> {
    /// The target.
    pub buffer: &'a mut Buffer,
    /// Styles.
    pub theme: Theme,
    /// Panels have boxes.
    pub boxed: bool,
    /// Keys that marks of scrolling name.
    pub keys: Option<&'a KeyNames>,
}

/// A piece of text with its meaning.
pub type Piece = (String, Meaning);

/// A piece.
pub fn piece(text: impl Into<String>, meaning: Meaning) -> Piece {
    (text.into(), meaning)
}

/// How many cells pieces take.
pub fn width(pieces: &[Piece]) -> u16 {
    pieces.iter().map(|(text, _)| cells(text)).sum()
}

/// How many cells a text takes.
pub fn cells(text: &str) -> u16 {
    // Most texts are ASCII, and a frame measures thousands.
    let cells = if text.is_ascii() { text.len() } else { text.width() };
    u16::try_from(cells).unwrap_or(u16::MAX)
}

/// `text`, cut to `most` cells with an ellipsis where something is missing.
pub fn fit(text: &str, most: u16) -> String {
    report::cut(text, most.into())
}

/// `text`, cut behind a word where more than one cell of it has room.
pub fn fit_words(text: &str, most: u16) -> String {
    let mut ends = text.match_indices(' ').map(|(at, _)| format!("{} …", &text[..at]));
    let fitting = ends.rfind(|kept| cells(kept) <= most);
    match fitting {
        _ if cells(text) <= most => text.to_owned(),
        Some(kept) => kept,
        None => fit(text, most),
    }
}

/// `text`, cut at its beginning: the end of a path says more.
pub fn fit_end(text: &str, most: u16) -> String {
    if cells(text) <= most {
        return text.to_owned();
    }
    let keep = usize::from(most.saturating_sub(1));
    let count = text.chars().count();
    let tail: String = text.chars().skip(count.saturating_sub(keep)).collect();
    if most > 0 { format!("…{tail}") } else { String::new() }
}

/// The name of a drive or a file, cut to `most` cells: files of one folder differ at the end.
pub fn fit_name(name: &str, most: u16) -> String {
    if name.starts_with('/') { fit_end(name, most) } else { fit(name, most) }
}

/// `text` broken at spaces into lines of at most `most` cells; words longer than that are broken too.
pub fn wrap(text: &str, most: u16) -> Vec<String> {
    let most = most.max(4);
    // Most texts fit: looking for their words would cost more than all the rest.
    if cells(text) <= most {
        return vec![text.trim_start_matches(' ').to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut used = 0;
    for mut word in unbroken(text) {
        while let Some(line) = lines.last_mut() {
            let gap = u16::from(!line.is_empty());
            let wide = cells(word);
            if wide.saturating_add(used + gap) <= most {
                if gap == 1 {
                    line.push(' ');
                }
                line.push_str(word);
                used += gap + wide;
                break;
            }
            if line.is_empty() {
                let head = fit_chars(word, most);
                // A path goes on after a slash.
                let end = head.rfind('/').map_or(head.len(), |slash| slash + 1);
                line.push_str(&word[..end]);
                word = &word[end..];
            }
            lines.push(String::new());
            used = 0;
        }
    }
    lines
}

/// `text` in lines of at most `most` cells behind `lead`, which stands in the first line only.
pub fn hanging(lead: Piece, text: &str, meaning: Meaning, most: u16) -> Vec<Vec<Piece>> {
    let indent = cells(&lead.0);
    let blank = piece(" ".repeat(usize::from(indent)), lead.1);
    let leads = std::iter::once(lead).chain(std::iter::repeat(blank));
    let lines = leads.zip(wrap(&prose(text, meaning), most.saturating_sub(indent)));
    lines.map(|(lead, line)| vec![lead, piece(line, meaning)]).collect()
}

/// `text` in lines of at most `most` cells.
pub fn paragraph(text: &str, meaning: Meaning, most: u16) -> Vec<Vec<Piece>> {
    wrap(&prose(text, meaning), most).into_iter().map(|line| vec![piece(line, meaning)]).collect()
}

/// A text as the screen words it: it has fields where the command line has options. A command to copy stays.
fn prose(text: &str, meaning: Meaning) -> String {
    if meaning == Meaning::Key { text.to_owned() } else { as_fields(text) }
}

/// The cells that a text takes in one line, as the screen words it.
pub fn prose_cells(text: &str, meaning: Meaning) -> u16 {
    cells(&prose(text, meaning))
}

/// A label, padded to `wide` cells.
pub fn label(text: &str, wide: usize) -> Piece {
    piece(format!("{text:<wide$}"), Meaning::Quiet)
}

/// An open text field of `room` cells: the end of its text with the cursor. What the next letter replaces is shown as selected.
pub fn open_field(field: &TextField, room: u16) -> Piece {
    let text = fit_end(&format!("{}▏", field.value()), room);
    let meaning = if field.is_replaced() { Meaning::Selected } else { Meaning::Field };
    piece(format!("{text:<wide$}", wide = usize::from(room)), meaning)
}

/// The note of a panel whose figures are simulated.
pub fn simulated(is_simulated: bool) -> &'static [Piece] {
    static NOTE: LazyLock<[Piece; 1]> = LazyLock::new(|| [piece("SIMULATED", Meaning::NotLive)]);
    if is_simulated { &*NOTE } else { &[] }
}

/// As many of the first characters as fit.
pub fn fit_chars(text: &str, most: u16) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += cells(c.encode_utf8(&mut [0; 4]));
        used <= most
    };
    text.chars().take_while(fits).collect()
}

/// As much of these pieces as fits into a room, the last one cut with a mark.
pub fn cut(pieces: &[Piece], room: u16) -> Vec<Piece> {
    let mut left = room;
    let mut out = Vec::new();
    for (text, meaning) in pieces {
        let text = fit(text, left);
        left -= cells(&text);
        out.push(piece(text, *meaning));
    }
    out
}

/// The inside of a panel.
pub fn inner(panel: Rect, boxed: bool) -> Rect {
    let (edge, foot) = if boxed { (2, 1) } else { (1, 0) };
    Rect {
        x: panel.x + edge.min(panel.width),
        y: panel.y + 1.min(panel.height),
        width: panel.width.saturating_sub(2 * edge),
        height: panel.height.saturating_sub(1 + foot),
    }
}

/// Hints of keys, as in the footer.
pub fn hints(keys: &[(&str, &str)]) -> Vec<Piece> {
    let hint =
        |(key, word): &(&str, &str)| [piece(*key, Meaning::Key), piece(format!(" {word}  "), Meaning::Quiet)];
    keys.iter().flat_map(hint).collect()
}

/// Hints in a room: without those before the last one, which leaves, as far as there is none; then an open field shows the end
/// of its text.
pub fn fit_hints(mut pieces: Vec<Piece>, room: u16) -> Vec<Piece> {
    if let Some((last, _)) = pieces.last_mut() {
        last.truncate(last.trim_end().len());
    }
    let mut hints: Vec<usize> = pieces
        .iter()
        .enumerate()
        .filter(|(_, (_, meaning))| *meaning == Meaning::Key)
        .map(|(at, _)| at)
        .collect();
    while width(&pieces) > room && hints.len() > 1 {
        let [.., from, to] = hints[..] else { break };
        pieces.drain(from..to);
        hints.pop();
    }
    let over = width(&pieces).saturating_sub(room);
    if let Some((text, _)) =
        pieces.iter_mut().find(|(_, meaning)| *meaning == Meaning::Field).filter(|_| over > 0)
    {
        *text = fit_end(text, cells(text).saturating_sub(over));
    }
    pieces
}

/// Hints of commands, with their keys of now.
pub fn key_hints(keys: &KeyNames, commands: &[(&str, &str)]) -> Vec<Piece> {
    commands.iter().flat_map(|(command, word)| hints(&[(&keys.of(command), word)])).collect()
}

/// Writes pieces into a room; the last one is cut where it is too long.
pub fn write_fitting(brush: &mut Brush<'_>, x: u16, y: u16, room: u16, pieces: &[Piece]) -> u16 {
    let end = x + room;
    pieces.iter().fold(x, |x, (text, meaning)| {
        let left = end.saturating_sub(x);
        brush.text(x, y, left, &fit(text, left), *meaning)
    })
}

/// As many parts of a list as there is room for: half a part is none.
pub fn whole_parts(list: &str, room: u16) -> &str {
    let ends = list.match_indices(", ").map(|(at, _)| at).chain([list.len()]);
    let fitting = ends.map(|end| &list[..end]).filter(|part| cells(part) <= room);
    fitting.last().unwrap_or_default()
}

impl<'a> Brush<'a> {
    /// One over all of a buffer.
    pub fn new(buffer: &'a mut Buffer, theme: Theme, boxed: bool) -> Self {
        Self { buffer, theme, boxed, keys: None }
    }

    /// The same, which names keys of the user's own.
    pub fn naming(self, keys: &'a KeyNames) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// A text with keys in place of commands.
    pub fn fill(&self, text: &str) -> String {
        self.keys.map_or_else(|| text.to_owned(), |keys| keys.fill(text))
    }

    /// Writes lines of a text from the `top`th on, or from the last that leaves no room; how many are above and below.
    pub fn lines(&mut self, area: Rect, lines: &[Vec<Piece>], top: usize) -> (usize, usize) {
        let rows = usize::from(area.height);
        let end = lines.len().saturating_sub(rows);
        let top = top.min(end);
        for (y, line) in (area.y..area.bottom()).zip(lines.iter().skip(top)) {
            self.write(area.x, y, area.width, line);
        }
        (top, end - top)
    }

    /// Writes pieces from `x` on, at most `most` cells; returns the column after them.
    pub fn write(&mut self, x: u16, y: u16, most: u16, pieces: &[Piece]) -> u16 {
        let area = self.buffer.area;
        if y >= area.bottom() || x >= area.right() {
            return x;
        }
        let glyphs = self.theme.glyphs;
        let span = |(text, meaning): &'_ Piece| {
            let text = if *meaning == Meaning::Key { glyphs.keys(text) } else { text.clone() };
            Span::styled(text, self.theme.style(*meaning))
        };
        let spans: Vec<Span<'_>> = pieces.iter().map(span).collect();
        let most = most.min(area.right() - x);
        let line = Line::from(spans);
        let wide = u16::try_from(line.width()).unwrap_or(u16::MAX).min(most);
        // Drops the style of the cells below, for instance of a box's edge.
        self.buffer.set_style(Rect::new(x, y, wide, 1), Style::reset());
        self.buffer.set_line(x, y, &line, most).0
    }

    /// Writes one piece.
    pub fn text(&mut self, x: u16, y: u16, most: u16, text: &str, meaning: Meaning) -> u16 {
        self.write(x, y, most, &[piece(text, meaning)])
    }

    /// Writes pieces so that they end at `right`.
    pub fn write_right(&mut self, right: u16, y: u16, pieces: &[Piece]) {
        let wide = width(pieces);
        self.write(right.saturating_sub(wide), y, wide, pieces);
    }

    /// Writes one character.
    pub fn cell(&mut self, x: u16, y: u16, symbol: char, style: Style) {
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_char(symbol).set_style(style);
        }
    }

    /// Lays a style over an area.
    pub fn shade(&mut self, area: Rect, meaning: Meaning) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, self.theme.style(meaning));
    }

    /// Draws a panel's frame with its title on the left and a note on the right; returns its inside.
    pub fn panel(&mut self, area: Rect, title: &[Piece], note: &[Piece]) -> Rect {
        if area.height == 0 || area.width < 4 {
            return Rect { width: 0, height: 0, ..area };
        }
        let borders = if self.boxed { Borders::ALL } else { Borders::TOP };
        let frame = Block::new().borders(borders).border_style(self.theme.style(Meaning::Lines));
        frame.render(area.intersection(self.buffer.area), self.buffer);
        let edge = if self.boxed { 2 } else { 1 };
        let room = self.title_room(area.width) + 2;
        let blank = [piece(" ", Meaning::Text)];
        // A part that has no room goes whole: half a figure is a wrong one.
        let fits = |parts: &usize| width(&title[..*parts]) <= self.title_room(area.width);
        let parts = (1..=title.len()).rev().find(fits).unwrap_or(title.len().min(1));
        let title = cut(&title[..parts], self.title_room(area.width));
        let end = self.write(area.x + edge - 1, area.y, room, &[&blank[..], &title, &blank].concat());
        if !note.is_empty() && end + width(note) + 2 < area.right() {
            self.write_right(area.right() - (edge - 1), area.y, &[&blank, note, &blank].concat());
        }
        inner(area, self.boxed)
    }

    /// The cells that a panel of `width` has for its title.
    pub fn title_room(&self, width: u16) -> u16 {
        width.saturating_sub(if self.boxed { 5 } else { 3 })
    }

    /// Empties an area.
    pub fn clear(&mut self, area: Rect) {
        Clear.render(area.intersection(self.buffer.area), self.buffer);
    }

    /// A bar `share` (0 to 1) full; the empty part is a faint track. Only what is full looks full: the last cell waits
    /// for the last percent; the first one shows whatever is worth a tenth of it.
    pub fn bar(&mut self, x: u16, y: u16, cells: u16, share: f64, meaning: Meaning) {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        let full = match share * f64::from(cells) {
            _ if share >= FULL => f64::from(cells),
            part if (0.1..1.0).contains(&part) => 1.0,
            part => part.floor(),
        };
        let filled = self.theme.style(meaning);
        let full_cell = self.theme.bar(meaning);
        let track = self.theme.style(Meaning::Lines);
        for cell in 0..cells {
            // Three quarters of a row high, so that bars in neighbouring rows stay apart.
            let (symbol, style) = if f64::from(cell) < full { (full_cell, filled) } else { ('·', track) };
            self.cell(x + cell, y, symbol, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_small_share_has_a_cell_and_only_a_full_one_has_all() {
        let drawn = |share: f64| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
            Brush::new(&mut buffer, Theme::PLAIN, false).bar(0, 0, 8, share, Meaning::Load);
            buffer.content.iter().filter(|cell| cell.symbol() == "▆").count()
        };
        assert_eq!([0.0, 0.01, 3.12 / 39.4, 0.5, 0.94, 1.0].map(drawn), [0, 0, 1, 4, 7, 8]);
    }

    #[test]
    fn a_title_that_fills_its_panel_has_a_blank_on_both_sides() {
        for (boxed, picture) in [(true, "┌ reads ─┐"), (false, " writes0 ─")] {
            let area = Rect::new(0, 0, 10, 3);
            let mut buffer = Buffer::empty(area);
            let mut brush = Brush::new(&mut buffer, Theme::PLAIN, boxed);
            let title = if boxed { "reads" } else { "writes0" };
            assert_eq!(cells(title), brush.title_room(10));
            brush.panel(area, &[piece(title, Meaning::Text)], &[]);
            let row: String = buffer.content.iter().take(10).map(ratatui::buffer::Cell::symbol).collect();
            assert_eq!(row, picture);
        }
    }

    #[test]
    fn a_list_is_cut_between_its_parts() {
        let list = "nvme0n1, 4k randread, qd32";
        assert_eq!(
            [5, 7, 19, 20, 25, 26].map(|room| whole_parts(list, room)),
            ["", "nvme0n1", "nvme0n1", "nvme0n1, 4k randread", "nvme0n1, 4k randread", list]
        );
    }

    #[test]
    fn hints_that_have_no_room_go_whole_and_the_way_out_stays() {
        let field = |text: &str| {
            let keys = hints(&[("Enter", "keep"), ("↑↓", "other matches"), ("Esc", "cancel")]);
            [
                vec![
                    piece("find ", Meaning::Quiet),
                    piece(text, Meaning::Field),
                    piece("  1 of 10  ", Meaning::Figure),
                ],
                keys,
            ]
            .concat()
        };
        let fitted = |text: &str, room| -> String {
            fit_hints(field(text), room).into_iter().map(|(text, _)| text).collect()
        };
        assert_eq!(fitted("nvme▏", 80), "find nvme▏  1 of 10  Enter keep  ↑↓ other matches  Esc cancel");
        assert_eq!(fitted("nvme▏", 58), "find nvme▏  1 of 10  Enter keep  Esc cancel");
        assert_eq!(fitted("nvme▏", 40), "find nvme▏  1 of 10  Esc cancel");
        assert_eq!(fitted("a longer word▏", 38), "find …onger word▏  1 of 10  Esc cancel");
        assert_eq!(fit_hints(Vec::new(), 10), Vec::new());
    }

    #[test]
    fn texts_are_cut_where_they_say_least() {
        assert_eq!(fit("Samsung SSD 980 PRO", 8), "Samsung…");
        assert_eq!(fit_end("/sys/block/nvme0n1/queue/scheduler", 12), "…e/scheduler");
        assert_eq!(wrap("held back by root complex", 12), ["held back by", "root complex"]);
        assert_eq!(fit("anything", 0), "");
        // As in a text of several lines: no blanks lead.
        assert_eq!(wrap("  held  back", 12), ["held  back"]);
    }

    proptest! {
        #[test]
        fn wrapped_lines_fit_and_lose_nothing(text in "[a-z äß中 ]{0,80}", most in 4u16..40) {
            let lines = wrap(&text, most);
            prop_assert!(lines.iter().all(|line| cells(line) <= most));
            let letters = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }

        #[test]
        fn paths_go_on_after_a_slash(names in proptest::collection::vec("[a-z0-9:.]{1,12}", 1..12)) {
            let path = format!("/{}", names.join("/"));
            let lines = wrap(&path, 20);
            prop_assert!(lines.iter().rev().skip(1).all(|line| line.ends_with('/')), "{:?}", lines);
            prop_assert_eq!(lines.concat(), path);
        }

        #[test]
        fn what_was_cut_fits(text in any::<String>(), most in 0u16..30) {
            prop_assert!(cells(&fit(&text, most)) <= most.max(cells(&text).min(most)));
        }
    }
}

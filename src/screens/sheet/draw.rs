//! Check boxes for what goes in, and the text as it will be posted.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Areas, Sheet, check_boxes};
use crate::{
    report::sheet::Format,
    screens::widgets::{
        paint::{Brush, Piece, cells, fit, piece, width},
        scroll::{self, out_of_sight},
    },
    ui::{
        Shared,
        theme::{Meaning, Theme},
    },
    units::{Bytes, UnitSystem},
};

pub(super) fn draw(sheet: &Sheet, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(sheet, shared, area);
    boxes(sheet, &areas, brush);
    preview(sheet, &areas, brush);
}

fn boxes(sheet: &Sheet, areas: &Areas, brush: &mut Brush<'_>) {
    brush.panel(areas.boxes, &[piece("In the sheet", Meaning::Heading)], &[]);
    let places = check_boxes(areas.box_rows, sheet.boxes().len(), sheet.at);
    let above = places.first().map_or(0, |(first, _)| *first);
    let below = places.last().map_or(0, |(last, _)| sheet.boxes().len().saturating_sub(last + 1));
    for (index, area) in places {
        let Some(which) = sheet.boxes().get(index).cloned() else { continue };
        let checked = sheet.is_checked(&which);
        let mark = if checked { "[x] " } else { "[ ] " };
        let room = area.width.saturating_sub(7);
        let name = fit(&sheet.name(&which, room), room);
        let weight = if checked { Meaning::Text } else { Meaning::Quiet };
        let cursor = if index == sheet.at { "› " } else { "  " };
        let pieces = [piece(cursor, Meaning::Brand), piece(mark, Meaning::Key), piece(name, weight)];
        brush.write(area.x, area.y, area.width, &pieces);
        if index == sheet.at {
            let name = Rect { x: area.x + 6, width: area.width.saturating_sub(7), ..area };
            brush.shade(name, Meaning::Selected);
        }
    }
    scroll::mark(brush, areas.boxes, scroll::ROWS, (above, below));
}

fn preview(sheet: &Sheet, areas: &Areas, brush: &mut Brush<'_>) {
    let size = UnitSystem::Decimal.size(Bytes(sheet.text.len() as u64));
    let hidden = out_of_sight(sheet.top, sheet.lines.len(), areas.preview_rows.height);
    let mark = scroll::shown(brush, scroll::PAGES, hidden);
    // The other formats give way to the mark of hidden lines with its key.
    let beside = cells("Preview  ") + if brush.boxed { 6 } else { cells(&mark) + 6 };
    let names = Format::ALL.iter().map(|format| cells(format.name()) + 1).sum::<u16>();
    let has_room = beside + names <= areas.preview.width;
    let mut title = vec![piece("Preview", Meaning::Heading), piece("  ", Meaning::Text)];
    for format in Format::ALL.into_iter().filter(|format| has_room || *format == sheet.format) {
        let weight = if format == sheet.format { Meaning::Brand } else { Meaning::Quiet };
        title.push(piece(format!("{} ", format.name()), weight));
    }
    let area = areas.preview_rows;
    let (first, rows) = (sheet.top, usize::from(area.height));
    let last = (first + rows).min(sheet.lines.len());
    let lines = format!("{}-{last} of {}", first + 1, sheet.lines.len());
    // A blank at each end of both, and the rule between them.
    let room = areas.preview.width.saturating_sub(width(&title) + 8);
    let notes = [format!("{size}  {lines}"), lines];
    // Without a box the mark of hidden lines, with its key, stands in the rule of the title.
    let has_mark = hidden != (0, 0) && !brush.boxed;
    let note = notes.iter().find(|note| cells(note) <= room && !has_mark);
    let note: Vec<_> = note.map(|note| piece(note, Meaning::Quiet)).into_iter().collect();
    brush.panel(areas.preview, &title, &note);
    let inside = sheet.lines.iter().take(first).filter(|line| is_fence(line)).count() % 2 == 1;
    let mut in_box = inside;
    for (y, line) in (area.y..area.bottom()).zip(sheet.lines.iter().skip(first)) {
        let fence = is_fence(line);
        brush.write(area.x, y, area.width, &styled(line, in_box, fence));
        in_box ^= fence;
    }
    scroll::mark(brush, areas.preview, scroll::PAGES, hidden);
}

/// Whether a line begins or ends a box.
fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line == "[code]" || line == "[/code]"
}

/// A line of the sheet: headings stand out, marks of the format step back, marks of the tree are seen.
fn styled(line: &str, in_box: bool, fence: bool) -> Vec<Piece> {
    if fence || line == "[list]" || line == "[/list]" {
        return vec![piece(line, Meaning::Quiet)];
    }
    let is_heading =
        !in_box && (line.starts_with('#') || line.starts_with("[b]") || line.starts_with("[size"));
    if is_heading {
        return vec![piece(line, Meaning::Heading)];
    }
    let mut marks = line.char_indices().filter(|(_, c)| ['▲', '▼', '▽', '!'].contains(c));
    // In running text it is a mark of punctuation.
    let is_mark =
        |(at, c): &(usize, char)| *c != '!' || line[..*at].ends_with(' ') && line[at + 1..].starts_with(' ');
    let Some((at, mark)) = marks.find(is_mark) else {
        return vec![piece(line, Meaning::Text)];
    };
    let behind = at + mark.len_utf8();
    vec![
        piece(&line[..at], Meaning::Text),
        piece(&line[at..behind], Meaning::Warning),
        piece(&line[behind..], Meaning::Text),
    ]
}

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

//! A drawn screen as SVG 1.1, as a terminal with a dark or a light background shows it.
//!
//! Lines, blocks and braille are drawn as shapes, so that curves and frames join whatever font the viewer has; everything
//! else is text, held to its columns.

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};
use unicode_width::UnicodeWidthStr;

use super::{colour_number, rows};
use crate::ui::theme::Palette;

/// A cell, in SVG user units; even numbers, so that halves and eighths of blocks fall on pixels.
const WIDTH: u32 = 8;
const HEIGHT: u32 = 16;
/// From a row's top to the line that letters stand on.
const BASELINE: u32 = 12;
/// Around the picture.
const MARGIN: u32 = 8;

/// xterm's sixteen colours, with a softer blue: the usual one cannot be read on black.
const PALETTE: [&str; 16] = [
    "#000000", "#cd3131", "#0dbc79", "#d7ba2f", "#4a90e2", "#bc3fbc", "#11a8cd", "#d0d0d0", "#7f7f7f",
    "#f14c4c", "#23d18b", "#f5f543", "#6cb0ff", "#d670d6", "#29b8db", "#ffffff",
];

/// Colours of text and background that have no colour of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Paper {
    text: &'static str,
    background: &'static str,
}

const DARK: Paper = Paper { text: "#d0d0d0", background: "#101216" };
const LIGHT: Paper = Paper { text: "#24292f", background: "#ffffff" };

/// The picture as one SVG document, on the background that the theme is for.
pub fn svg(picture: &Buffer, palette: Palette) -> String {
    let paper = if palette == Palette::Light { LIGHT } else { DARK };
    let background = paper.background;
    let (columns, lines) = (u32::from(picture.area.width), u32::from(picture.area.height));
    let (width, height) = (columns * WIDTH + 2 * MARGIN, lines * HEIGHT + 2 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{background}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\" xml:space=\"preserve\" font-size=\"13\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n"
    );
    for (line, row) in (0..).zip(rows(picture)) {
        for run in runs(row, paper) {
            run.draw(&row[run.start..run.end], line * HEIGHT, &mut out);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Cells side by side that look alike.
struct Run {
    start: usize,
    end: usize,
    look: Look,
}

#[derive(Clone, PartialEq, Eq)]
struct Look {
    ink: String,
    /// `None` where the background shows through.
    paper: Option<String>,
    modifier: Modifier,
}

impl Look {
    fn of(cell: &Cell, plain: Paper) -> Self {
        let (ink, paper) = (hexadecimal(cell.fg), hexadecimal(cell.bg));
        let (text, background) = (plain.text.to_owned(), plain.background.to_owned());
        let modifier = cell.modifier;
        if modifier.contains(Modifier::REVERSED) {
            Self { ink: paper.unwrap_or(background), paper: Some(ink.unwrap_or(text)), modifier }
        } else {
            Self { ink: ink.unwrap_or(text), paper, modifier }
        }
    }
}

/// A colour as `#rrggbb`; `None` for the terminal's own.
fn hexadecimal(colour: Color) -> Option<String> {
    let hex = |red: u8, green: u8, blue: u8| format!("#{red:02x}{green:02x}{blue:02x}");
    match colour {
        Color::Rgb(red, green, blue) => Some(hex(red, green, blue)),
        Color::Indexed(number @ 0..16) => Some(PALETTE[usize::from(number)].to_owned()),
        // xterm's cube of 6 levels, then 24 greys.
        Color::Indexed(number @ 16..232) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let at = number - 16;
            Some(hex(level(at / 36), level(at / 6 % 6), level(at % 6)))
        }
        Color::Indexed(number) => {
            let grey = 8 + 10 * (number - 232);
            Some(hex(grey, grey, grey))
        }
        colour => colour_number(colour).map(|number| PALETTE[number].to_owned()),
    }
}

fn runs(row: &[Cell], paper: Paper) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, cell) in row.iter().enumerate() {
        let look = Look::of(cell, paper);
        match runs.last_mut() {
            Some(run) if run.look == look => run.end = at + 1,
            _ => runs.push(Run { start: at, end: at + 1, look }),
        }
    }
    runs
}

impl Run {
    fn draw(&self, cells: &[Cell], top: u32, out: &mut String) {
        let left = column(self.start);
        if let Some(paper) = &self.look.paper {
            let width = column(self.end) - left;
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" fill=\"{paper}\"/>"
            );
        }
        let (mut shapes, mut strokes) = (String::new(), String::new());
        let mut words: Vec<(usize, String)> = Vec::new();
        let mut joins = false;
        for (offset, cell) in cells.iter().enumerate() {
            let (symbol, at) = (cell.symbol(), self.start + offset);
            let mut letters = symbol.chars();
            let one = letters.next().filter(|_| letters.next().is_none()).unwrap_or('\0');
            if filled(one, column(at), top, &mut shapes) || stroked(one, column(at), top, &mut strokes) {
                joins = false;
            } else if symbol.trim().is_empty() {
                // The cell behind a wide character is empty; one blank does not end a text.
                match words.last_mut() {
                    Some((_, text)) if joins && !text.ends_with(' ') && symbol == " " => text.push(' '),
                    _ => joins = false,
                }
            } else {
                match words.last_mut() {
                    Some((_, text)) if joins => text.push_str(symbol),
                    _ => words.push((at, symbol.to_owned())),
                }
                joins = true;
            }
        }
        let Look { ink, modifier, .. } = &self.look;
        let dim = if modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
        if !shapes.is_empty() {
            let _ = writeln!(out, "<path fill=\"{ink}\"{dim} d=\"{}\"/>", shapes.trim_end());
        }
        if !strokes.is_empty() {
            let _ = writeln!(out, "<path fill=\"none\" stroke=\"{ink}\"{dim} d=\"{}\"/>", strokes.trim_end());
        }
        let bold = if modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
        let italic = if modifier.contains(Modifier::ITALIC) { " font-style=\"italic\"" } else { "" };
        let line =
            if modifier.contains(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
        for (at, text) in words {
            let text = text.trim_end();
            let length = u32::try_from(text.width()).unwrap_or(0) * WIDTH;
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
                 fill=\"{ink}\"{bold}{italic}{line}{dim}>{}</text>",
                column(at),
                top + BASELINE,
                escaped(text)
            );
        }
    }
}

fn column(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(0) * WIDTH
}

/// Block elements (U+2580 to U+2590) and braille (U+2800 on) as areas; false when the character is neither.
fn filled(character: char, left: u32, top: u32, path: &mut String) -> bool {
    let mut rectangle = |x: u32, y: u32, width: u32, height: u32| {
        let _ = write!(path, "M{} {}h{width}v{height}h-{width}z ", left + x, top + y);
    };
    match character {
        '\u{2581}'..='\u{2588}' => {
            let height = HEIGHT * (u32::from(character) - 0x2580) / 8;
            rectangle(0, HEIGHT - height, WIDTH, height);
        }
        '\u{2589}'..='\u{258f}' => rectangle(0, 0, WIDTH * (0x2590 - u32::from(character)) / 8, HEIGHT),
        '\u{2801}'..='\u{28ff}' => {
            // Dots 1 to 8 (Unicode 15, chapter 21.1): three down on the left, three on the right, then the lowest two.
            const DOTS: [(u32, u32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
            let bits = u32::from(character) - 0x2800;
            for (bit, (x, y)) in DOTS.into_iter().enumerate() {
                if bits >> bit & 1 == 1 {
                    rectangle(1 + x * WIDTH / 2, 1 + y * HEIGHT / 4, 2, 2);
                }
            }
        }
        _ => return false,
    }
    true
}

/// Light box drawing (U+2500 to U+253C) as lines from the middle; false when the character is none.
fn stroked(character: char, left: u32, top: u32, path: &mut String) -> bool {
    // Towards the left, the right, the top, the foot.
    let arms = match character {
        '─' => [true, true, false, false],
        '│' => [false, false, true, true],
        '┌' => [false, true, false, true],
        '┐' => [true, false, false, true],
        '└' => [false, true, true, false],
        '┘' => [true, false, true, false],
        '├' => [false, true, true, true],
        '┤' => [true, false, true, true],
        '┬' => [true, true, false, true],
        '┴' => [true, true, true, false],
        '┼' => [true, true, true, true],
        _ => return false,
    };
    let (x, y) = (left + WIDTH / 2, top + HEIGHT / 2);
    let ends = [(left, y), (left + WIDTH, y), (x, top), (x, top + HEIGHT)];
    for (_, (to_x, to_y)) in arms.into_iter().zip(ends).filter(|(arm, _)| *arm) {
        let _ = write!(path, "M{x} {y}L{to_x} {to_y} ");
    }
    true
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::{layout::Rect, style::Style};

    use super::*;

    fn drawn(text: &str, style: Style) -> String {
        let mut picture = Buffer::empty(Rect::new(0, 0, 12, 1));
        picture.set_string(0, 0, text, style);
        svg(&picture, Palette::Sixteen)
    }

    #[test]
    fn text_stands_in_its_columns_with_its_colours() {
        let out = drawn(" a<b  c", Style::new().fg(Color::Red).bg(Color::White).add_modifier(Modifier::BOLD));
        assert!(out.contains("<rect x=\"0\" y=\"0\" width=\"56\" height=\"16\" fill=\"#ffffff\"/>"), "{out}");
        assert!(out.contains("<text x=\"8\" y=\"12\" textLength=\"24\""), "{out}");
        assert!(out.contains("fill=\"#cd3131\" font-weight=\"bold\">a&lt;b</text>"), "{out}");
        assert!(out.contains("<text x=\"48\"") && out.contains(">c</text>"), "{out}");
    }

    #[test]
    fn reversed_cells_change_ink_for_paper() {
        let out = drawn("x", Style::new().fg(Color::Green).add_modifier(Modifier::REVERSED));
        assert!(out.contains(&format!("fill=\"{}\">x</text>", DARK.background)), "{out}");
        assert!(out.contains("height=\"16\" fill=\"#0dbc79\"/>"), "{out}");
    }

    #[test]
    fn all_256_colours_have_a_value_and_a_light_theme_a_light_ground() {
        let hex = |number| hexadecimal(Color::Indexed(number)).unwrap_or_default();
        assert_eq!(
            (hex(16), hex(24), hex(231), hex(255)),
            ("#000000".into(), "#005f87".into(), "#ffffff".into(), "#eeeeee".into())
        );
        assert!((0..=255).all(|number| hex(number).len() == 7));
        let picture = Buffer::empty(Rect::new(0, 0, 1, 1));
        assert!(svg(&picture, Palette::Light).contains(LIGHT.background));
    }

    #[test]
    fn blocks_dots_and_lines_are_shapes() {
        let out = drawn("▄▌⡀─┘", Style::new());
        assert!(!out.contains("<text"), "{out}");
        // The lower half of the first cell, the left half of the second, dot 7 of the third.
        assert!(out.contains("d=\"M0 8h8v8h-8z M8 0h4v16h-4z M17 13h2v2h-2z\""), "{out}");
        assert!(out.contains("d=\"M28 8L24 8 M28 8L32 8 M36 8L32 8 M36 8L36 0\""), "{out}");
    }

    proptest! {
        #[test]
        fn whatever_stands_on_it_the_document_is_well_formed(text in "\\PC{0,12}") {
            let out = drawn(&text, Style::new());
            let tags = out.matches('<').count();
            prop_assert_eq!(tags, out.matches('>').count());
            prop_assert_eq!(out.matches("<text").count(), out.matches("</text>").count());
            prop_assert!(!out.chars().any(|c| c.is_control() && c != '\n'), "{out}");
        }
    }
}

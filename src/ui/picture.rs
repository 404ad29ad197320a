//! A drawn screen as text: plain, with a terminal's escape sequences, or as SVG.

mod svg;

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier, Style},
};

pub use svg::svg;

/// The picture's characters, without blanks at the ends of lines.
pub fn text(picture: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(picture) {
        let line: String = row.iter().map(Cell::symbol).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The picture with the escape sequences a terminal colours it by.
pub fn ansi(picture: &Buffer) -> String {
    let mut out = String::new();
    for row in rows(picture) {
        let mut worn = String::new();
        for cell in row {
            let codes = codes(cell);
            if codes != worn {
                let _ = write!(out, "\x1b[0{codes}m");
                worn = codes;
            }
            out.push_str(cell.symbol());
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

/// A text in a style, line by line, with the escape sequences a terminal colours it by.
pub fn styled(style: Style, text: &str) -> String {
    let mut cell = Cell::default();
    let codes = codes(cell.set_style(style));
    let line =
        |line: &str| if line.is_empty() { String::new() } else { format!("\x1b[0{codes}m{line}\x1b[0m") };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn rows(picture: &Buffer) -> impl Iterator<Item = &[Cell]> {
    picture.content().chunks(usize::from(picture.area.width.max(1)))
}

/// Select Graphic Rendition parameters (ECMA-48, 8.3.117) after the reset.
fn codes(cell: &Cell) -> String {
    const MODIFIERS: [(Modifier, u8); 5] = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ];
    let mut out = String::new();
    for (modifier, code) in MODIFIERS {
        if cell.modifier.contains(modifier) {
            let _ = write!(out, ";{code}");
        }
    }
    for (colour, base) in [(cell.fg, 30), (cell.bg, 40)] {
        match colour {
            Color::Indexed(number) => {
                let _ = write!(out, ";{};5;{number}", base + 8);
            }
            Color::Rgb(red, green, blue) => {
                let _ = write!(out, ";{};2;{red};{green};{blue}", base + 8);
            }
            colour => {
                if let Some(number) = colour_number(colour) {
                    let bright = if number < 8 { number } else { number - 8 + 60 };
                    let _ = write!(out, ";{}", base + bright);
                }
            }
        }
    }
    out
}

/// A terminal's sixteen colours by their numbers; the bright ones are 8 to 15.
#[rustfmt::skip]
const COLOURS: [Color; 16] = [
    Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray,
    Color::DarkGray, Color::LightRed, Color::LightGreen, Color::LightYellow, Color::LightBlue,
    Color::LightMagenta, Color::LightCyan, Color::White,
];

fn colour_number(colour: Color) -> Option<usize> {
    COLOURS.iter().position(|known| *known == colour)
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;
    use crate::ui::theme::{Meaning, Theme};

    #[test]
    fn ansi_says_a_style_once_for_a_run_of_cells() {
        let mut picture = Buffer::empty(Rect::new(0, 0, 4, 1));
        picture.set_string(0, 0, "ab", Theme::COLOUR.style(Meaning::Warning));
        assert_eq!(ansi(&picture), "\u{1b}[0;1;33mab\u{1b}[0m  \u{1b}[0m\n");
        assert_eq!(text(&picture), "ab\n");
        picture.set_string(0, 0, "ab", Style::new().fg(Color::Indexed(94)).bg(Color::Rgb(1, 2, 3)));
        assert!(ansi(&picture).starts_with("\u{1b}[0;1;38;5;94;48;2;1;2;3mab"), "{:?}", ansi(&picture));
    }
}

//! `iodyno render`: a picture of any screen of any machine, without a terminal.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    process::ExitCode,
    str::FromStr,
    time::Duration,
};

use clap::{Args, ValueEnum};
use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use crate::{
    app::{
        Screen,
        commands::CommandId,
        keymap::{self, Key},
        layout::SMALLEST,
        screen::SCREENS,
    },
    runtime::headless::Headless,
    source::origin::Origin,
    view::theme::Theme,
};

/// What `iodyno render` is asked for.
#[derive(Debug, Clone, Args)]
pub struct RenderArgs {
    /// The screen: machine, dyno
    #[arg(default_value = "machine", value_parser = screen)]
    pub screen: Screen,
    /// Columns and rows
    #[arg(long, default_value = "120x40", value_name = "WxH")]
    pub size: Size,
    /// Keys pressed before: letters, and names such as `<Enter>` `<Space>` `<C-c>`
    #[arg(long, default_value = "", value_name = "KEYS")]
    pub keys: Keys,
    /// Plain text, or text with the colours of a terminal
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Seconds that pass after the keys; a demo's clock is only counted
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    pub seconds: f64,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Characters alone.
    Text,
    /// With ANSI escape sequences for colours.
    Ansi,
}

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u16, pub u16);

/// Keys, in the notation of [`keymap::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(pub Vec<Key>);

impl FromStr for Keys {
    type Err = keymap::BadKeys;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        keymap::parse(text).map(Self)
    }
}

/// A size that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write columns and rows from 1x1 to 500x200, {}x{} for instance", SMALLEST.0, SMALLEST.1)]
pub struct BadSize;

impl FromStr for Size {
    type Err = BadSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (columns, rows) = text.split_once('x').ok_or(BadSize)?;
        match (columns.parse(), rows.parse()) {
            (Ok(columns @ 1..=500), Ok(rows @ 1..=200)) => Ok(Self(columns, rows)),
            _ => Err(BadSize),
        }
    }
}

fn screen(word: &str) -> Result<Screen, String> {
    let known: Vec<&str> = SCREENS.iter().map(|tab| tab.word).collect();
    Screen::from_word(word).ok_or_else(|| format!("no such screen; use {}", known.join(" or ")))
}

/// Draws the screen and prints it.
///
/// # Errors
/// Origins that cannot be opened, a standard output that cannot be written.
pub fn run(args: &RenderArgs, origin: &Origin) -> anyhow::Result<ExitCode> {
    if !(0.0..=3600.0).contains(&args.seconds) {
        anyhow::bail!("--seconds {}: is no time to wait; use 0 to 3600", args.seconds);
    }
    let mut headless = Headless::open(origin, (args.size.0, args.size.1))?;
    crate::app::act::command(&mut headless.app, CommandId::Show(args.screen));
    headless.press(args.keys.0.iter().copied());
    headless.wait(Duration::from_secs_f64(args.seconds));
    let picture = headless.picture(Theme::COLOUR);
    let text = match args.format {
        Format::Text => text(&picture),
        Format::Ansi => ansi(&picture),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

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
        if let Some(code) = colour_code(colour) {
            let _ = write!(out, ";{}", base + code);
        }
    }
    out
}

/// The colour's number among the sixteen; bright ones start at 60.
const fn colour_code(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_columns_and_rows() {
        assert_eq!("120x40".parse(), Ok(Size(120, 40)));
        for bad in ["", "120", "0x40", "120x", "501x40", "80x24x2", "-1x4"] {
            assert_eq!(bad.parse::<Size>(), Err(BadSize), "{bad}");
        }
    }

    #[test]
    fn ansi_says_a_style_once_for_a_run_of_cells() {
        let mut picture = Buffer::empty(ratatui::layout::Rect::new(0, 0, 4, 1));
        let warning = Theme::COLOUR.style(crate::view::theme::Meaning::Warning);
        picture.set_string(0, 0, "ab", warning);
        assert_eq!(ansi(&picture), "\u{1b}[0;1;33mab\u{1b}[0m  \u{1b}[0m\n");
        assert_eq!(text(&picture), "ab\n");
    }
}

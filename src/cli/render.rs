//! `iodyno render`: a picture of any screen of any machine, without a terminal.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    str::FromStr,
    time::Duration,
};

use crate::{
    app::draw::picture,
    app::{
        Message, ScreenId,
        keymap::{self, Key},
        layout::SMALLEST,
        tabs,
    },
    runtime::headless::Headless,
    source::origin::Origin,
    ui::theme::Theme,
};
use clap::{Args, ValueEnum};

/// What `iodyno render` is asked for.
#[derive(Debug, Clone, Args)]
pub struct RenderArgs {
    /// The screen: machine, findings, tune, dyno...
    #[arg(default_value = "machine", value_parser = screen)]
    pub screen: ScreenId,
    /// Size in columns and rows
    #[arg(long, default_value = "120x40", value_name = "WxH")]
    pub size: Size,
    /// Keys to press first: letters, and names such as `<Enter>` `<Space>` `<C-c>`
    #[arg(long, default_value = "", value_name = "KEYS")]
    pub keys: Keys,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Seconds after the keys; simulated in a demo
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    pub seconds: f64,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Plain text.
    Text,
    /// Text with ANSI colours.
    Ansi,
    /// SVG picture of the terminal.
    Svg,
}

/// Size in columns and rows.
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
#[error("use columns and rows from 1x1 to 500x200, such as {}x{}", SMALLEST.0, SMALLEST.1)]
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

fn screen(word: &str) -> Result<ScreenId, String> {
    let known: Vec<&str> = tabs::tabs().into_iter().chain(tabs::pages()).map(|about| about.id.0).collect();
    tabs::from_word(word).ok_or_else(|| format!("no such screen; use {}", known.join(" or ")))
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
    headless.app.show(args.screen, None);
    // What the screen shows is made when something happens to it.
    headless.send(Message::Resize(args.size.0, args.size.1));
    headless.press(args.keys.0.iter().copied());
    headless.wait(Duration::from_secs_f64(args.seconds));
    let drawn = headless.picture(Theme::COLOUR);
    let text = match args.format {
        Format::Text => picture::text(&drawn),
        Format::Ansi => picture::ansi(&drawn),
        Format::Svg => picture::svg(&drawn),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
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
}

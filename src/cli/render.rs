//! `iodyno render`: a picture of any screen of any machine, without a terminal.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Complaint, DisplayOptions, Failure, Status, print};
use crate::{
    app::{
        Message, ScreenId,
        keymap::{self, Key},
        layout::SMALLEST,
        tabs,
    },
    runtime::headless::Headless,
    source::origin::Origin,
    ui::picture,
};

#[derive(Debug, Clone, Args)]
pub(super) struct RenderArgs {
    /// The screen: machine, findings, tune, dyno...
    #[arg(default_value = "machine", value_parser = screen)]
    screen: ScreenId,
    /// Size in columns and rows
    #[arg(long, default_value = "120x40", value_name = "WxH", value_parser = size)]
    size: (u16, u16),
    /// Keys to press first: letters, and names such as `<Enter>` `<Space>` `<C-c>`
    #[arg(long, default_value = "", value_name = "KEYS", value_parser = keymap::parse)]
    keys: Keys,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Seconds after the keys; simulated in a demo
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    seconds: f64,
    /// Keys to press after that time
    #[arg(long, default_value = "", value_name = "KEYS", value_parser = keymap::parse)]
    then: Keys,
}

/// An alias, as clap takes a `Vec` for an option given several times.
type Keys = Vec<Key>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// Text with ANSI colours.
    Ansi,
    /// SVG picture of the terminal.
    Svg,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    if let Some((columns, rows)) = text.split_once('x')
        && let (Ok(columns @ 1..=500), Ok(rows @ 1..=200)) = (columns.parse(), rows.parse())
    {
        return Ok((columns, rows));
    }
    Err(format!("use columns and rows from 1x1 to 500x200, such as {}x{}", SMALLEST.0, SMALLEST.1))
}

fn screen(word: &str) -> Result<ScreenId, String> {
    let known: Vec<&str> = tabs::tabs().chain(tabs::pages()).map(|about| about.id.0).collect();
    tabs::from_word(word).ok_or_else(|| format!("no such screen; use {}", known.join(" or ")))
}

pub(super) fn run(args: &RenderArgs, origin: &Origin, display: &DisplayOptions) -> Result<Status, Failure> {
    if !(0.0..=3600.0).contains(&args.seconds) {
        let option = format!("--seconds {}", args.seconds);
        return Err(Complaint::new(option, "is no time to wait", "use 0 to 3600").into());
    }
    let theme = display.of_picture()?;
    let mut headless = Headless::open(origin, args.size)?;
    super::progress::opened();
    headless.app.shared.theme = theme;
    headless.app.show(args.screen, None);
    // A screen computes its rows when it gets a message.
    headless.send(Message::Resize(args.size.0, args.size.1));
    headless.press(args.keys.iter().copied());
    headless.wait(Duration::from_secs_f64(args.seconds));
    headless.press(args.then.iter().copied());
    let theme = headless.app.shared.theme;
    let drawn = headless.picture(theme);
    print(&match args.format {
        Format::Text => picture::text(&drawn),
        Format::Ansi => picture::ansi(&drawn),
        Format::Svg => picture::svg(&drawn, theme.palette),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_columns_and_rows() {
        assert_eq!(size("120x40"), Ok((120, 40)));
        for bad in ["", "120", "0x40", "120x", "501x40", "80x24x2", "-1x4"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}

//! The table of roles: for each meaning its weight and its colour in every built-in theme.

use std::fmt::Write as _;

use ratatui::style::{Color, Modifier};

use super::{CURVES, Meaning, Palette};

/// A row: one colour of a theme.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// Its name in a theme of the configuration file.
    pub name: &'static str,
    /// What is drawn with it.
    pub help: &'static str,
    /// Its meanings.
    pub meanings: &'static [Meaning],
    /// Its weight.
    modifier: Modifier,
    sixteen: Option<Color>,
    /// Number of one of 256 colours.
    dark: Option<u8>,
    light: Option<u8>,
    contrast: Option<Color>,
}

const NONE: Modifier = Modifier::empty();
const BOLD: Modifier = Modifier::BOLD;
const DIM: Modifier = Modifier::DIM;

/// All of them. Dark and light colours have a contrast of 4.5 to 1 and more on black or white, lines of 2.5 and more
/// (the figures are computed in the tests).
#[rustfmt::skip]
pub const ROLES: [Role; 16] = [
    role("text", "ordinary text", &[Meaning::Text], NONE, None, None, None, Some(Color::White)),
    role("background", "behind everything", &[], NONE, None, None, None, Some(Color::Black)),
    role("quiet", "labels, models, explanations", &[Meaning::Quiet], DIM, None, Some(248), Some(240), Some(Color::White)),
    role("lines", "boxes, guides of the tree, empty parts of bars", &[Meaning::Lines], DIM, None, Some(243), Some(246), Some(Color::Gray)),
    role("heading", "headings and figures", &[Meaning::Heading, Meaning::Figure], BOLD, None, None, None, Some(Color::White)),
    role("key", "keys, the shown tab", &[Meaning::Brand, Meaning::Key], BOLD, Some(Color::Cyan), Some(80), Some(24), Some(Color::LightYellow)),
    role("drive", "names of drives", &[Meaning::Drive], NONE, Some(Color::Cyan), Some(80), Some(24), Some(Color::LightCyan)),
    role("selected", "the selected row, reversed", &[Meaning::Selected], Modifier::REVERSED, None, None, None, Some(Color::White)),
    role("marked", "marked drives, staged values, SIMULATED", &[Meaning::Marked, Meaning::NotLive], BOLD, Some(Color::Magenta), Some(177), Some(90), Some(Color::LightMagenta)),
    role("good", "as fast as it can be", &[Meaning::Good], NONE, Some(Color::Green), Some(114), Some(22), Some(Color::LightGreen)),
    role("reads", "reads, load below the limit", &[Meaning::Load], NONE, Some(Color::LightBlue), Some(75), Some(25), Some(Color::LightCyan)),
    role("writes", "writes", &[Meaning::Writes], NONE, Some(Color::Magenta), Some(176), Some(127), Some(Color::LightMagenta)),
    role("warning", "slower than it could be, a full shared link", &[Meaning::Warning], BOLD, Some(Color::Yellow), Some(221), Some(94), Some(Color::LightYellow)),
    role("problem", "something failed, a finding of severity high", &[Meaning::Problem], BOLD, Some(Color::Red), Some(210), Some(124), Some(Color::LightRed)),
    role("field", "a field that takes text, underlined", &[Meaning::Field], Modifier::UNDERLINED, None, None, None, Some(Color::White)),
    role("live", "the mode LIVE", &[Meaning::Live], BOLD, Some(Color::Green), Some(114), Some(22), Some(Color::LightGreen)),
];

#[expect(clippy::too_many_arguments, reason = "a row of the table")]
const fn role(
    name: &'static str,
    help: &'static str,
    meanings: &'static [Meaning],
    modifier: Modifier,
    sixteen: Option<Color>,
    dark: Option<u8>,
    light: Option<u8>,
    contrast: Option<Color>,
) -> Role {
    Role { name, help, meanings, modifier, sixteen, dark, light, contrast }
}

impl Role {
    /// Its colour in a built-in theme; `None` is the terminal's own.
    pub const fn colour(&self, palette: Palette) -> Option<Color> {
        match palette {
            Palette::Sixteen => self.sixteen,
            Palette::Dark => indexed(self.dark),
            Palette::Light => indexed(self.light),
            Palette::Console => bright(self.sixteen),
            Palette::HighContrast => self.contrast,
            Palette::Plain => None,
        }
    }

    /// Its weight: where a grey of its own keeps it in the background, it is not dim too.
    pub(super) fn modifier(&self, palette: Palette) -> Modifier {
        match palette {
            Palette::Dark | Palette::Light | Palette::HighContrast => self.modifier - DIM,
            Palette::Console if self.meanings.contains(&Meaning::Quiet) => self.modifier - DIM,
            Palette::Console | Palette::Sixteen | Palette::Plain => self.modifier,
        }
    }
}

/// The bright one of a pair of the sixteen colours.
const fn bright(colour: Option<Color>) -> Option<Color> {
    match colour {
        Some(Color::Red) => Some(Color::LightRed),
        Some(Color::Green) => Some(Color::LightGreen),
        Some(Color::Yellow) => Some(Color::LightYellow),
        Some(Color::Blue) => Some(Color::LightBlue),
        Some(Color::Magenta) => Some(Color::LightMagenta),
        Some(Color::Cyan) => Some(Color::LightCyan),
        other => other,
    }
}

const fn indexed(number: Option<u8>) -> Option<Color> {
    match number {
        Some(number) => Some(Color::Indexed(number)),
        None => None,
    }
}

/// Colours of curves.
pub(super) const fn curves(palette: Palette) -> [Color; CURVES] {
    const SIXTEEN: [Color; CURVES] = [
        Color::Cyan,
        Color::Green,
        Color::Magenta,
        Color::Yellow,
        Color::LightBlue,
        Color::LightRed,
        Color::LightCyan,
        Color::LightGreen,
        Color::LightMagenta,
        Color::LightYellow,
        Color::Blue,
        Color::Red,
    ];
    const CONSOLE: [Color; CURVES] = [
        Color::LightCyan,
        Color::LightGreen,
        Color::LightMagenta,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightRed,
        Color::White,
        Color::Cyan,
        Color::Green,
        Color::Magenta,
        Color::Yellow,
        Color::Gray,
    ];
    const CONTRAST: [Color; CURVES] = [
        Color::LightCyan,
        Color::LightGreen,
        Color::LightMagenta,
        Color::LightYellow,
        Color::White,
        Color::LightRed,
        Color::LightCyan,
        Color::LightGreen,
        Color::LightMagenta,
        Color::LightYellow,
        Color::White,
        Color::LightRed,
    ];
    match palette {
        Palette::Dark => numbered([80, 114, 176, 221, 75, 210, 123, 157, 219, 229, 111, 203]),
        Palette::Light => numbered([24, 22, 90, 94, 25, 124, 30, 64, 133, 130, 61, 160]),
        Palette::Console => CONSOLE,
        Palette::HighContrast => CONTRAST,
        Palette::Sixteen | Palette::Plain => SIXTEEN,
    }
}

const fn numbered(numbers: [u8; CURVES]) -> [Color; CURVES] {
    let mut colours = [Color::Reset; CURVES];
    let mut at = 0;
    while at < CURVES {
        colours[at] = Color::Indexed(numbers[at]);
        at += 1;
    }
    colours
}

/// The table for `docs/configuration.md`.
pub fn markdown() -> String {
    let mut text = String::from("| colour | used for |\n|---|---|\n");
    for row in &ROLES {
        let _ = writeln!(text, "| `{}` | {} |", row.name, row.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of xterm's 256 colours from 16 on: a cube of 6 levels, then 24 greys.
    fn rgb(number: u8) -> [f64; 3] {
        if number >= 232 {
            return [f64::from(8 + 10 * u16::from(number - 232)); 3];
        }
        let level = |n: u8| if n == 0 { 0.0 } else { f64::from(55 + 40 * u16::from(n)) };
        let at = number - 16;
        [level(at / 36), level(at / 6 % 6), level(at % 6)]
    }

    /// WCAG 2.2: relative luminance.
    fn luminance(rgb: [f64; 3]) -> f64 {
        let part = |value: f64| {
            let value = value / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(rgb[0]) + 0.7152 * part(rgb[1]) + 0.0722 * part(rgb[2])
    }

    fn contrast(one: [f64; 3], two: [f64; 3]) -> f64 {
        let (a, b) = (luminance(one), luminance(two));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn colours_can_be_read_on_the_backgrounds_they_are_for() {
        let black = [0.0; 3];
        let solarized_dark = [0.0, 43.0, 54.0];
        let white = [255.0; 3];
        let solarized_light = [253.0, 246.0, 227.0];
        for row in &ROLES {
            let least = if row.name == "lines" { 2.5 } else { 4.5 };
            for (number, grounds) in
                [(row.dark, [black, solarized_dark]), (row.light, [white, solarized_light])]
            {
                for ground in grounds {
                    let is = number.map_or(f64::INFINITY, |number| contrast(rgb(number), ground));
                    assert!(is >= least, "{} {number:?} on {ground:?}: {is:.2}", row.name);
                }
            }
        }
        for (palette, grounds) in
            [(Palette::Dark, [black, solarized_dark]), (Palette::Light, [white, solarized_light])]
        {
            for colour in curves(palette) {
                let Color::Indexed(number) = colour else { panic!("{colour:?}") };
                for ground in grounds {
                    assert!(contrast(rgb(number), ground) >= 3.0, "curve {number} on {ground:?}");
                }
            }
        }
    }

    /// The sixteen colours of the Linux console and of xterm, as the kernel and xterm set them.
    fn sixteen(colour: Color, is_console: bool) -> [f64; 3] {
        let (dark, low, high) = if is_console { (170.0, 85.0, 255.0) } else { (205.0, 0.0, 255.0) };
        match colour {
            Color::Blue if !is_console => [0.0, 0.0, 238.0],
            Color::LightBlue if !is_console => [92.0, 92.0, 255.0],
            Color::Yellow if is_console => [170.0, 85.0, 0.0],
            Color::Red => [dark, 0.0, 0.0],
            Color::Green => [0.0, dark, 0.0],
            Color::Yellow => [dark, dark, 0.0],
            Color::Blue => [0.0, 0.0, dark],
            Color::Magenta => [dark, 0.0, dark],
            Color::Cyan => [0.0, dark, dark],
            Color::LightRed => [high, low, low],
            Color::LightGreen => [low, high, low],
            Color::LightYellow => [high, high, low],
            Color::LightBlue => [low, low, high],
            Color::LightMagenta => [high, low, high],
            Color::LightCyan => [low, high, high],
            Color::White => [high; 3],
            _ => [dark; 3],
        }
    }

    #[test]
    fn sixteen_colours_can_be_read_on_black() {
        for (palette, is_console, least) in [(Palette::Console, true, 4.0), (Palette::Sixteen, false, 3.5)] {
            for row in ROLES.iter().filter(|row| row.name != "background") {
                let is = row.colour(palette).map(|colour| contrast(sixteen(colour, is_console), [0.0; 3]));
                assert!(is.is_none_or(|is| is >= least), "{} of {}: {is:.2?}", row.name, palette.word());
            }
            // Ten drives have curves of their own on the largest demo.
            for colour in &curves(palette)[..10] {
                let is = contrast(sixteen(*colour, is_console), [0.0; 3]);
                assert!(is >= 2.5, "curve {colour} of {}: {is:.2}", palette.word());
            }
        }
        for row in ROLES.iter().filter(|row| row.name != "lines") {
            assert!(!row.modifier(Palette::Console).contains(DIM), "{}: dim is dark grey there", row.name);
        }
    }

    #[test]
    fn no_theme_draws_lines_in_a_colour_that_a_palette_hides() {
        // Colour 8 of Solarized Dark is its background.
        for (palette, _, _) in Palette::ALL {
            for row in &ROLES {
                assert_ne!(row.colour(palette), Some(Color::DarkGray), "{}", row.name);
            }
        }
    }

    #[test]
    fn every_meaning_has_one_role() {
        let all = [
            Meaning::Text,
            Meaning::Quiet,
            Meaning::Lines,
            Meaning::Heading,
            Meaning::Brand,
            Meaning::Figure,
            Meaning::Drive,
            Meaning::Key,
            Meaning::Selected,
            Meaning::Marked,
            Meaning::Good,
            Meaning::Load,
            Meaning::Writes,
            Meaning::Warning,
            Meaning::Problem,
            Meaning::Field,
            Meaning::Live,
            Meaning::NotLive,
        ];
        for meaning in all {
            let rows = ROLES.iter().filter(|row| row.meanings.contains(&meaning)).count();
            assert_eq!(rows, 1, "{meaning:?}");
        }
    }
}

//! Styles named by what they mean. The sixteen colours of every terminal are enough; without colour, weight and
//! reversal carry what matters, and no meaning rests on colour alone.

use ratatui::style::{Color, Modifier, Style};

/// What styles look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    colour: bool,
}

/// Meaning of a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Ordinary text.
    Text,
    /// Text that matters less: labels, models, explanations.
    Quiet,
    /// Lines of boxes, guides of the tree, empty parts of bars.
    Lines,
    /// Headings of panels.
    Heading,
    /// The name of the program, the tab shown.
    Brand,
    /// A number that matters.
    Figure,
    /// A drive's name.
    Drive,
    /// A key to press.
    Key,
    /// The selected row.
    Selected,
    /// Marked for the test.
    Marked,
    /// As good as it gets.
    Good,
    /// Carried load below the limit; of two directions, reads.
    Load,
    /// Carried writes below the limit.
    Writes,
    /// A shared place that is full, something slower than it could be.
    Warning,
    /// Something went wrong.
    Problem,
    /// A field that takes text.
    Field,
    /// The mode: live.
    Live,
    /// The mode: simulated, capture.
    NotLive,
    /// The n-th curve of several.
    Curve(usize),
}

/// All of the sixteen colours that are neither black, white nor grey.
const CURVES: [Color; 12] = [
    Color::Cyan,
    Color::Green,
    Color::Magenta,
    Color::Yellow,
    Color::Blue,
    Color::LightRed,
    Color::LightCyan,
    Color::LightGreen,
    Color::LightMagenta,
    Color::LightYellow,
    Color::LightBlue,
    Color::Red,
];

impl Theme {
    /// With the terminal's sixteen colours.
    pub const COLOUR: Self = Self { colour: true };
    /// Without colour.
    pub const PLAIN: Self = Self { colour: false };

    /// As the environment asks: `NO_COLOR` set to anything but nothing turns colour off (no-color.org).
    pub fn from_environment(no_color: Option<&std::ffi::OsStr>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) { Self::PLAIN } else { Self::COLOUR }
    }

    /// The style of a meaning.
    pub fn style(self, meaning: Meaning) -> Style {
        let (colour, modifiers) = match meaning {
            Meaning::Text => (None, Modifier::empty()),
            Meaning::Quiet => (None, Modifier::DIM),
            Meaning::Lines => (Some(Color::DarkGray), Modifier::DIM),
            Meaning::Heading | Meaning::Figure => (None, Modifier::BOLD),
            Meaning::Brand | Meaning::Key => (Some(Color::Cyan), Modifier::BOLD),
            Meaning::Drive => (Some(Color::Cyan), Modifier::empty()),
            Meaning::Selected => (None, Modifier::REVERSED),
            Meaning::Marked | Meaning::NotLive => (Some(Color::Magenta), Modifier::BOLD),
            Meaning::Good => (Some(Color::Green), Modifier::empty()),
            Meaning::Load => (Some(Color::Blue), Modifier::empty()),
            Meaning::Writes => (Some(Color::Magenta), Modifier::empty()),
            Meaning::Warning => (Some(Color::Yellow), Modifier::BOLD),
            Meaning::Problem => (Some(Color::Red), Modifier::BOLD),
            Meaning::Field => (None, Modifier::UNDERLINED),
            Meaning::Live => (Some(Color::Green), Modifier::BOLD),
            Meaning::Curve(index) => (Some(CURVES[index % CURVES.len()]), Modifier::empty()),
        };
        let style = Style::new().add_modifier(modifiers);
        match (meaning, colour) {
            // Reversal must not depend on what was written below it.
            (Meaning::Selected, _) => style.fg(Color::Reset).remove_modifier(Modifier::DIM | Modifier::BOLD),
            // Without colour the dim modifier alone keeps lines in the background.
            (Meaning::Lines, Some(colour)) if self.colour => style.fg(colour).remove_modifier(Modifier::DIM),
            (_, Some(colour)) if self.colour => style.fg(colour),
            _ => style,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_leaves_no_colour() {
        let theme = Theme::from_environment(Some("1".as_ref()));
        assert_eq!(theme, Theme::PLAIN);
        assert_eq!(Theme::from_environment(Some("".as_ref())), Theme::COLOUR);
        for meaning in [Meaning::Good, Meaning::Problem, Meaning::Lines, Meaning::Curve(7), Meaning::Selected]
        {
            assert!(matches!(theme.style(meaning).fg, None | Some(Color::Reset)));
            assert_eq!(theme.style(meaning).bg, None);
        }
    }
}

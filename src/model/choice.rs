//! [`Choice`]: what the user chooses on the screen and finds again at the next start.

/// A choice that is kept between starts, one line of text each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Columns of the tree, and its order.
    Columns,
    /// Name of the theme.
    Theme,
    /// Name of the theme on the Linux console, where one of another terminal may be unreadable.
    ConsoleTheme,
}

impl Choice {
    /// Its word, which is its file in the state folder.
    pub fn word(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Theme => "theme",
            Self::ConsoleTheme => "console-theme",
        }
    }
}

//! The state of overlays: help, the palette, texts of screens, the question before leaving.

use crate::ui::{ScreenId, TextField, ask::Reads};

/// A panel over the screen that takes the keys.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// Keys and marks of the screen, with the first line shown.
    Help(usize),
    /// Terms, with the first line shown.
    Glossary(usize),
    /// Commands by name.
    Palette(Palette),
    /// A text of a screen, with the first line shown.
    Screen(ScreenId, usize),
    /// A test runs: quit all the same?
    Quit,
    /// Drives in use would be read; with the first line shown.
    Confirm(Reads, usize),
}

impl Overlay {
    /// The first line shown of a text.
    pub(crate) fn top(&mut self) -> Option<&mut usize> {
        match self {
            Self::Help(top) | Self::Glossary(top) | Self::Screen(_, top) | Self::Confirm(_, top) => Some(top),
            Self::Palette(_) | Self::Quit => None,
        }
    }
}

/// The palette: a field and the commands that match it.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    /// The text to match.
    pub input: TextField,
    /// Index of the selected match.
    pub selected: usize,
}

impl Palette {
    /// With the beginning of `open PATH`.
    pub(crate) fn open() -> Self {
        Self { input: TextField::begun("open "), selected: 0 }
    }
}

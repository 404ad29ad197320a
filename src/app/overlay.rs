//! What can lie over a screen: help, the palette, texts of screens, the question before leaving.

use tui_input::Input;

use crate::ui::ScreenId;

/// Something that lies over the screen and takes the keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// The keys and marks of the screen; scrolled down by so many rows.
    Help(usize),
    /// Commands by name.
    Palette(Palette),
    /// What a screen lays over the others; scrolled down by so many rows.
    Screen(ScreenId, usize),
    /// A test runs: leave all the same?
    Quit,
}

/// The palette: a field and the commands that match it.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    /// What was written.
    pub input: Input,
    /// Which match is selected.
    pub selected: usize,
}

impl PartialEq for Palette {
    fn eq(&self, other: &Self) -> bool {
        self.input.value() == other.input.value() && self.selected == other.selected
    }
}

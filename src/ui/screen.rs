//! [`ScreenId`]: which screen; [`About`]: what the frame says of one.

use super::theme::Meaning;

/// A screen, by its word in `iodyno render`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScreenId(pub &'static str);

/// The frame's texts for a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Which screen.
    pub id: ScreenId,
    /// Its digit; fixed for good. A screen with the digit of one before it is a page of that one and has no tab.
    pub digit: char,
    /// Text of the tab.
    pub name: &'static str,
    /// Help of the command that shows it.
    pub help: &'static str,
    /// Purpose of the screen, one sentence.
    pub purpose: &'static str,
    /// Cells of the longest mark behind its name in the tab.
    pub mark: u16,
    /// The marks that its help explains.
    pub marks: &'static [(&'static str, Meaning, &'static str)],
}

//! The page of a file's path: the rate of each step from the drive to a program, and the step that loses most.

mod draw;
mod lines;
mod update;
#[cfg(test)]
mod tests;

use super::Run;
use crate::ui::{About, Command, Key::Char, ScreenId, TextField, command::command, theme::Meaning};

pub(super) const ABOUT: About = About {
    id: ScreenId("why-file"),
    digit: '6',
    name: "Why FILE",
    help: "",
    purpose: "Measures each step between a drive and a program that reads a file, and names the step that loses most. It only reads.",
    mark: 0,
    marks: &[
        ("▆▆ !", Meaning::Problem, "the step that loses most: 15 % or more of what the step below reads"),
        ("▆▆", Meaning::Load, "what a step reads, of the fastest step"),
        ("-", Meaning::Quiet, "not in this path, or not measured yet"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<WhyFile>>] = &[
    command(604, &[Char('r')], "again", "measure again", "Measure the path of the same file again", update::again),
    command(605, &[Char('d')], "drop pages", "drop pages", "Drop the clean pages of this file, then measure; changes no data", update::drop_pages),
];

/// The page's state.
#[derive(Debug, Clone, Default)]
pub struct WhyFile {
    /// The question for a file, while it is open.
    field: Option<TextField>,
    /// The screen to go back to.
    from: Option<ScreenId>,
    /// The first line shown.
    top: usize,
    /// Whether the file in place of a folder was put into the field.
    is_offered: bool,
}

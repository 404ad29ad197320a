//! What can lie over a screen: help, the palette, all facts of a row, the question before leaving.

use tui_input::Input;

use super::{
    commands::{COMMANDS, Command},
    screen::Screen,
};

/// Something that lies over the screen and takes the keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// The keys and marks of the screen; scrolled down by so many rows.
    Help(usize),
    /// Commands by name.
    Palette(Palette),
    /// Everything about the selected row; scrolled down by so many rows.
    Facts(usize),
    /// A test runs: leave all the same?
    Quit,
    /// The writes that are staged, before they are made; scrolled down by so many rows.
    Review(usize),
    /// Changes stand: keep them, undo them, export them?
    Standing,
    /// A session died with changes standing: undo them?
    LeftBehind,
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

impl Palette {
    /// Commands of `screen` whose name or description holds every word written; names that begin with it come first.
    pub fn matches(&self, screen: Screen) -> Vec<&'static Command> {
        let text = self.input.value().to_lowercase();
        let holds = |command: &&Command| {
            let all = format!("{} {}", command.name, command.help).to_lowercase();
            command.on.includes(screen) && text.split_whitespace().all(|word| all.contains(word))
        };
        let mut found: Vec<&'static Command> = COMMANDS.iter().filter(holds).collect();
        found.sort_by_key(|command| {
            (!command.name.starts_with(text.trim()), !command.name.contains(text.trim()))
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::commands::CommandId;

    #[test]
    fn a_name_is_found_before_a_description() {
        let palette = Palette { input: Input::new("run".into()), selected: 0 };
        assert_eq!(palette.matches(Screen::Dyno)[0].id, CommandId::Run);
        let palette = Palette { input: Input::new("mark every".into()), selected: 0 };
        assert!(palette.matches(Screen::Machine).iter().any(|command| command.id == CommandId::MarkAll));
    }
}

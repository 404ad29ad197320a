//! [`COMMANDS`]: everything a key can do, one row each.
//!
//! Dispatch, the footer's hints, the `?` help, the `:` palette and `docs/keys.md` are all made from these rows.
//! Not here: what a command does to the state (`app::update`).

use std::fmt::Write as _;

use super::{
    keymap::Key,
    screen::{SCREENS, Screen},
};

/// What a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is described by its row of COMMANDS")]
pub enum CommandId {
    Show(Screen),
    NextScreen,
    PreviousScreen,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Fold,
    Unfold,
    ChoiceBefore,
    ChoiceAfter,
    CellBefore,
    CellAfter,
    ValueBefore,
    ValueAfter,
    Write,
    MarkRow,
    TakeBack,
    Review,
    UndoAll,
    Details,
    GoThere,
    Edit,
    NextDrive,
    PreviousDrive,
    Mark,
    MarkAll,
    Find,
    Sort,
    Everything,
    Paths,
    Run,
    Pause,
    Stop,
    MoveThis,
    OpenSlots,
    PickUp,
    PutDown,
    SlowerSlot,
    FasterSlot,
    BestMove,
    TryLive,
    Curve,
    CheckBox,
    NextFormat,
    Copy,
    Save,
    OlderRun,
    NewerRun,
    Begin,
    Arms,
    Longer,
    KeepWinner,
    ToSheet,
    PutBack,
    Prove,
    Units,
    Help,
    Palette,
    Back,
    Redraw,
    Screenshot,
    Suspend,
    Quit,
    Leave,
}

/// On which screens a command exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// All of them.
    Every,
    /// This one.
    Only(Screen),
}

impl On {
    /// Whether `screen` is among them.
    pub fn includes(self, screen: Screen) -> bool {
        match self {
            Self::Every => true,
            Self::Only(only) => only == screen,
        }
    }

    fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Only(one), Self::Only(two)) => one == two,
            _ => true,
        }
    }
}

/// One command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Which.
    pub id: CommandId,
    /// Its keys, the one to advertise first.
    pub keys: &'static [Key],
    /// Its name in the palette.
    pub name: &'static str,
    /// What it does, one line.
    pub help: &'static str,
    /// Its word in the footer; empty where the footer need not tell.
    pub hint: &'static str,
    /// Where it exists.
    pub on: On,
}

const fn row(
    id: CommandId,
    keys: &'static [Key],
    on: On,
    hint: &'static str,
    name: &'static str,
    help: &'static str,
) -> Command {
    Command { id, keys, name, help, hint, on }
}

use CommandId as Id;
use Key::{Char, Ctrl};

const MACHINE: On = On::Only(Screen::Machine);
const FINDINGS: On = On::Only(Screen::Findings);
const TUNE: On = On::Only(Screen::Tune);
const DYNO: On = On::Only(Screen::Dyno);
const WHATIF: On = On::Only(Screen::WhatIf);
const SHEET: On = On::Only(Screen::Sheet);
const SLOTS: On = On::Only(Screen::Slots);

/// All commands; the footer shows hints in this order.
#[rustfmt::skip]
pub const COMMANDS: &[Command] = &[
    row(Id::Show(Screen::Machine), &[Char('1')], On::Every, "", "machine", "Show the machine: the PCIe tree, links, limits and load"),
    row(Id::Show(Screen::Findings), &[Char('2')], On::Every, "", "findings", "Show the findings: what holds this machine back, and what to do"),
    row(Id::Show(Screen::Tune), &[Char('3')], On::Every, "", "tune", "Show the settings: drives by settings, to be changed live and put back"),
    row(Id::Show(Screen::Dyno), &[Char('4')], On::Every, "", "dyno", "Show the dyno: read tests and their curves"),
    row(Id::Show(Screen::WhatIf), &[Char('5')], On::Every, "", "what-if", "Show what-if: experiments that end in a verdict"),
    row(Id::Show(Screen::Sheet), &[Char('7')], On::Every, "", "sheet", "Show the sheet: what goes into a forum post, to be copied or saved"),
    row(Id::NextScreen, &[Key::Tab], On::Every, "", "next screen", "Go to the screen on the right"),
    row(Id::PreviousScreen, &[Key::BackTab], On::Every, "", "previous screen", "Go to the screen on the left"),
    row(Id::Run, &[Char('r')], On::Every, "run", "run", "Run the workload on the marked drives, on all of them when none is marked"),
    row(Id::Pause, &[Char(' ')], DYNO, "pause", "pause", "Pause the test, or let it go on"),
    row(Id::Stop, &[Char('x')], On::Every, "stop", "stop", "Stop the test under way; what it read so far counts"),
    row(Id::Up, &[Key::Up, Char('k')], On::Every, "move", "up", "Move up"),
    row(Id::Down, &[Key::Down, Char('j')], On::Every, "", "down", "Move down"),
    row(Id::CellBefore, &[Key::Left, Char('h')], TUNE, "", "setting before", "Go to the setting on the left"),
    row(Id::CellAfter, &[Key::Right, Char('l')], TUNE, "", "setting after", "Go to the setting on the right"),
    row(Id::ValueAfter, &[Char('+'), Char('=')], TUNE, "change", "next value", "Stage the next of the cell's usual values"),
    row(Id::ValueBefore, &[Char('-')], TUNE, "", "value before", "Stage the one before"),
    row(Id::Write, &[Key::Enter], TUNE, "write", "write", "Write a value into the cell; Enter stages it, Esc leaves it as it was"),
    row(Id::MarkRow, &[Char(' ')], TUNE, "mark", "mark row", "Mark the drive: a change in a marked row goes to every marked drive"),
    row(Id::Review, &[Char('a')], TUNE, "apply", "apply", "Review the exact writes that are staged, then apply them"),
    row(Id::TakeBack, &[Key::Backspace, Key::Delete], TUNE, "take back", "take back", "Drop what is staged in the cell, or put back what iodyno found there"),
    row(Id::UndoAll, &[Char('U')], TUNE, "undo all", "undo all", "Put back everything this run has changed, the scheduler first, and verify it"),
    row(Id::Fold, &[Key::Left, Char('h')], MACHINE, "fold", "fold", "Fold the row, or go to the one it hangs under"),
    row(Id::Unfold, &[Key::Right, Char('l')], MACHINE, "", "unfold", "Unfold the row, or go to the first one below it"),
    row(Id::ChoiceBefore, &[Key::Left, Char('h')], DYNO, "change", "choice before", "The choice before in the field"),
    row(Id::ChoiceAfter, &[Key::Right, Char('l')], DYNO, "", "choice after", "The next choice in the field"),
    row(Id::NextDrive, &[Char('n')], MACHINE, "next drive", "next drive", "Jump to the next drive"),
    row(Id::PreviousDrive, &[Char('N')], MACHINE, "", "previous drive", "Jump to the drive before"),
    row(Id::Mark, &[Char(' ')], MACHINE, "mark", "mark", "Mark the drive for the test, or every drive below this row"),
    row(Id::MarkAll, &[Char('*')], On::Every, "", "mark all", "Mark every drive, or none when all are marked"),
    row(Id::Details, &[Key::Enter], MACHINE, "details", "details", "Everything about the selected row; a folded one opens"),
    row(Id::GoThere, &[Key::Enter], FINDINGS, "show there", "show there", "Go to the place on the machine screen that the finding is about"),
    row(Id::Edit, &[Key::Enter], DYNO, "edit", "edit", "Write into the field; Enter takes it, Esc leaves it as it was"),
    row(Id::Find, &[Char('/')], MACHINE, "find", "find", "Find by name, model, address or driver; Enter keeps the match, arrows go to the next"),
    row(Id::Sort, &[Char('s')], MACHINE, "sort", "sort", "Sort siblings by bus, by load, by name"),
    row(Id::Everything, &[Char('z')], MACHINE, "all devices", "every device", "Show every device, or fold the ones that do not matter here"),
    row(Id::Paths, &[Char('p')], MACHINE, "paths", "paths", "Show the path each value was read from"),
    row(Id::PickUp, &[Char(' ')], SLOTS, "pick up", "pick up", "Pick up the card of this row; again: this drive alone; again: put it back"),
    row(Id::PutDown, &[Key::Enter], SLOTS, "put down", "put down", "Put what is carried into this slot, or below this root complex"),
    row(Id::SlowerSlot, &[Char('-')], SLOTS, "slot speed", "slower slot", "A slot one generation slower for what is picked up"),
    row(Id::FasterSlot, &[Char('+'), Char('=')], SLOTS, "", "faster slot", "A slot one generation faster for what is picked up"),
    row(Id::BestMove, &[Char('b')], SLOTS, "best move", "best move", "The move that wins most away from the crowded root complex"),
    row(Id::TryLive, &[Char('t')], SLOTS, "try live", "try live", "Stage the slower link on the tune screen, where it is applied and put back"),
    row(Id::MoveThis, &[Char('w')], MACHINE, "what if", "what if", "Pick up the card of this row in thought, to see it in another slot"),
    row(Id::Curve, &[Char('c')], DYNO, "curve", "curve", "Show another curve: throughput, IOPS, latency"),
    row(Id::CheckBox, &[Char(' '), Key::Enter], SHEET, "in or out", "in or out", "Put the part under the cursor into the sheet, or leave it out"),
    row(Id::NextFormat, &[Char('f')], SHEET, "format", "format", "Write it in the next format: Markdown, BBCode, plain text, JSON"),
    row(Id::Copy, &[Char('y')], SHEET, "copy", "copy", "Copy the sheet to the terminal's clipboard, through tmux and ssh too"),
    row(Id::Save, &[Char('w')], SHEET, "save", "save", "Save the sheet to a new file in the folder iodyno was started in"),
    row(Id::OlderRun, &[Char('[')], DYNO, "older run", "older run", "Show the run before"),
    row(Id::NewerRun, &[Char(']')], DYNO, "", "newer run", "Show the run after"),
    row(Id::Begin, &[Key::Enter], WHATIF, "begin", "begin", "Begin the selected experiment; it says first what it changes and puts it back"),
    row(Id::OpenSlots, &[Char('w')], WHATIF, "slots", "slots", "Show the slots page: cards moved to other slots in thought"),
    row(Id::Arms, &[Char('e')], WHATIF, "own arms", "own arms", "Write the two arms of your own question: LABEL: scheduler=none bs=4k iodepth=32"),
    row(Id::Longer, &[Char('m')], WHATIF, "longer", "measure longer", "Give an experiment that has ended more rounds"),
    row(Id::KeepWinner, &[Char('K')], WHATIF, "keep winner", "keep winner", "Write the winner's settings, to stay until they are undone"),
    row(Id::ToSheet, &[Char('s')], WHATIF, "to sheet", "to sheet", "Put the verdict into the sheet, or leave it out again"),
    row(Id::PutBack, &[Char('b')], WHATIF, "put back", "put back", "Put back what was kept of an experiment"),
    row(Id::Prove, &[Char('w')], FINDINGS, "what if", "prove", "Open what would prove the finding: its experiment, or its card in another slot"),
    row(Id::PageUp, &[Key::PageUp], On::Every, "", "page up", "Move up by a page"),
    row(Id::PageDown, &[Key::PageDown], On::Every, "", "page down", "Move down by a page"),
    row(Id::First, &[Key::Home, Char('g')], On::Every, "", "first", "Go to the first row"),
    row(Id::Last, &[Key::End, Char('G')], On::Every, "", "last", "Go to the last row"),
    row(Id::Units, &[Char('u')], On::Every, "units", "units", "Switch every rate between GB/s (powers of ten) and GiB/s (powers of two)"),
    row(Id::Help, &[Char('?')], On::Every, "", "help", "Explain this screen: its keys and its marks"),
    row(Id::Palette, &[Char(':')], On::Every, "palette", "palette", "Find a command by its name"),
    row(Id::Back, &[Key::Esc], On::Every, "", "back", "Go back: close what is open, leave the field"),
    row(Id::Redraw, &[Ctrl('l')], On::Every, "", "redraw", "Draw the screen afresh and read the machine again"),
    row(Id::Screenshot, &[Ctrl('p')], On::Every, "", "screenshot", "Save this screen as a picture (SVG) in the folder iodyno was started in"),
    row(Id::Suspend, &[Ctrl('z')], On::Every, "", "suspend", "Back to the shell; fg returns"),
    row(Id::Quit, &[Char('q')], On::Every, "quit", "quit", "Leave; asks while a test runs or changes to settings stand"),
    row(Id::Leave, &[Ctrl('c')], On::Every, "", "leave at once", "Stop everything and leave without asking"),
];

/// The key to advertise for a command.
pub fn key_of(id: CommandId) -> Option<Key> {
    COMMANDS.iter().find(|command| command.id == id).and_then(|command| command.keys.first().copied())
}

/// The command `key` means on `screen`.
pub fn lookup(key: Key, screen: Screen) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.keys.contains(&key) && command.on.includes(screen))
}

/// The table for `docs/keys.md`.
pub fn markdown() -> String {
    let mut text = String::from("| key | where | what it does |\n|---|---|---|\n");
    for command in COMMANDS {
        let keys: Vec<String> = command.keys.iter().map(|key| format!("`{key}`")).collect();
        let place = match command.on {
            On::Every => "everywhere",
            On::Only(screen) => screen.tab().name,
        };
        let _ = writeln!(text, "| {} | {place} | {} |", keys.join(" "), command.help);
    }
    text
}

/// Pairs of commands that one key could mean at once, and screens whose tab no command shows. Empty, or the table is wrong.
pub fn conflicts() -> Vec<String> {
    let mut found = Vec::new();
    for (index, one) in COMMANDS.iter().enumerate() {
        for two in &COMMANDS[index + 1..] {
            if one.id == two.id || one.name == two.name {
                found.push(format!("{} has two rows", one.name));
            }
            for key in one.keys.iter().filter(|key| two.keys.contains(key)) {
                if one.on.overlaps(two.on) {
                    found.push(format!("{key} means {} and {}", one.name, two.name));
                }
            }
        }
    }
    for tab in SCREENS {
        let shown = COMMANDS.iter().any(|c| c.id == Id::Show(tab.screen) && c.keys == [Char(tab.digit)]);
        if !shown {
            found.push(format!("{} has no command on {}", tab.name, tab.digit));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_and_every_tab_has_its_digit() {
        assert_eq!(conflicts(), Vec::<String>::new());
    }

    #[test]
    fn every_command_says_what_it_does_in_one_line() {
        for command in COMMANDS {
            assert!(!command.keys.is_empty() && !command.name.is_empty(), "{command:?}");
            assert!(command.help.len() <= 96 && !command.help.ends_with('.'), "{}", command.help);
            assert!(command.hint.len() <= 12, "{}", command.hint);
        }
        assert_eq!(markdown().lines().count(), COMMANDS.len() + 2);
    }
}

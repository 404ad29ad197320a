//! The state of the tune screen: the matrix of devices by settings, the cursor in it, what is staged, what was done.
//!
//! Here: [`Tune`], its movements, staging. What a key does there is in [`act`]; what runtime answers in [`answer`]. Not
//! here: writing settings (`tune`), how cells look (`view::tune`).

pub mod answer;
pub mod act;

use tui_input::Input;
use unicode_width::UnicodeWidthStr;

use crate::{
    machine::Machine,
    model::SettingId,
    tune::{
        Change, Device, Outcome, SETTINGS, Setting,
        cell::{Cell, DIFFER},
        ledger::{Entry, Ledger},
        settings::{Risk, rank},
        tuner::{Restored, planned},
        undo::Step,
    },
};

/// Drives by settings.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// The rows: drives in their order, then the processors.
    pub devices: Vec<Device>,
    /// The columns: settings that any of them has.
    pub columns: Vec<&'static Setting>,
    /// By row and column; `None` where a device has no such setting.
    pub cells: Vec<Vec<Option<Cell>>>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.0)
    }
}

/// A value that waits to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: SettingId,
    /// The value.
    pub value: String,
    /// The writes it takes.
    pub changes: Vec<Change>,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// A change, or why nothing was written.
    Made(Change, Result<Outcome, String>),
    /// A value put back, or not.
    Restored(Step, Restored),
}

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Tune {
    /// What there is.
    pub matrix: Matrix,
    /// The cursor's row.
    pub row: usize,
    /// The cursor's column.
    pub column: usize,
    /// The first row shown.
    pub top: usize,
    /// The first column shown.
    pub left: usize,
    /// Lines by which the text about the cell is scrolled down.
    pub detail_top: usize,
    /// What waits to be applied, in the order of the writes.
    pub staged: Vec<Staged>,
    /// The text of the cell while it is being written.
    pub edit: Option<Input>,
    /// What stands changed since boot.
    pub ledger: Ledger,
    /// This run's session.
    pub session: Option<String>,
    /// Sessions that died with changes standing.
    pub dead: Vec<String>,
    /// What the last writes came to.
    pub done: Vec<Done>,
    /// An answer is awaited.
    pub busy: bool,
    /// Leave when everything is put back.
    pub leaving: bool,
}

/// Cells between columns.
pub const GAP: u16 = 2;
/// Rows of a heading.
pub const HEADING: u16 = 2;

impl Tune {
    /// Takes a new reading of the machine.
    pub fn read(&mut self, machine: &Machine) {
        let drives = machine.drives.iter().map(|drive| Device::Drive(drive.name.clone()));
        let devices: Vec<Device> = drives.chain([Device::Cpu]).collect();
        let under = (self.device().cloned(), self.setting().map(|row| row.id));
        let all: Vec<Vec<Option<Cell>>> = devices
            .iter()
            .map(|device| SETTINGS.iter().map(|row| Cell::of(machine, &self.ledger, device, row)).collect())
            .collect();
        let has = |column: usize| all.iter().any(|row| row[column].is_some());
        let kept: Vec<usize> = (0..SETTINGS.len()).filter(|column| has(*column)).collect();
        let row_of = |row: Vec<Option<Cell>>| -> Vec<Option<Cell>> {
            row.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, cell)| cell).collect()
        };
        let columns: Vec<&'static Setting> = kept.iter().map(|column| &SETTINGS[*column]).collect();
        let cells: Vec<_> = all.into_iter().map(row_of).collect();
        // A device without any setting has no row.
        let (devices, cells) =
            devices.into_iter().zip(cells).filter(|(_, row)| row.iter().any(Option::is_some)).unzip();
        self.matrix = Matrix { devices, columns, cells };
        // The cursor stays on its device and setting, wherever they are now.
        if let Some(row) = self.matrix.devices.iter().position(|device| Some(device) == under.0.as_ref()) {
            self.row = row;
        }
        if let Some(column) = self.matrix.columns.iter().position(|row| Some(row.id) == under.1) {
            self.column = column;
        }
        self.step(0, 0);
        let devices = &self.matrix.devices;
        self.staged.retain(|staged| devices.contains(&staged.device));
    }

    /// The device under the cursor.
    pub fn device(&self) -> Option<&Device> {
        self.matrix.devices.get(self.row)
    }

    /// The setting under the cursor.
    pub fn setting(&self) -> Option<&'static Setting> {
        self.matrix.columns.get(self.column).copied()
    }

    /// The cell under the cursor.
    pub fn cell(&self) -> Option<&Cell> {
        self.cell_at(self.row, self.column)
    }

    /// The cell at a place.
    pub fn cell_at(&self, row: usize, column: usize) -> Option<&Cell> {
        self.matrix.cells.get(row)?.get(column)?.as_ref()
    }

    /// What is staged for a device's setting.
    pub fn staged_for(&self, device: &Device, setting: SettingId) -> Option<&Staged> {
        self.staged.iter().find(|staged| staged.device == *device && staged.setting == setting)
    }

    /// What the last write of a device's setting came to.
    pub fn last_of(&self, device: &Device, setting: SettingId) -> Option<&Done> {
        self.done.iter().rev().find(|done| match done {
            Done::Made(change, _) => change.device == *device && change.setting == setting,
            Done::Restored(step, _) => step.device.name == device.to_string() && step.setting == setting.0,
        })
    }

    /// Moves the cursor.
    pub fn step(&mut self, rows: isize, columns: isize) {
        if columns != 0 {
            self.detail_top = 0;
        }
        let within =
            |at: usize, step, count: usize| at.saturating_add_signed(step).min(count.saturating_sub(1));
        self.row = within(self.row, rows, self.matrix.devices.len());
        self.column = within(self.column, columns, self.matrix.columns.len());
    }

    /// Moves what is shown so that the cursor is among it.
    pub fn scroll_to_cursor(&mut self, width: u16, height: usize) {
        if height > 0 {
            let lowest = self.matrix.devices.len().saturating_sub(height);
            self.top = self.top.clamp(self.row.saturating_sub(height - 1), self.row).min(lowest);
        }
        self.left = self.left.min(self.column);
        while self.left < self.column && !self.columns_shown(width).iter().any(|(at, ..)| *at == self.column)
        {
            self.left += 1;
        }
    }

    /// The columns that fit into `width` cells from the first one shown on: index, first cell, cells.
    pub fn columns_shown(&self, width: u16) -> Vec<(usize, u16, u16)> {
        let mut x = self.name_width() + GAP;
        let mut shown = Vec::new();
        for column in self.left..self.matrix.columns.len() {
            let wide = self.column_width(column);
            if x + wide > width && !shown.is_empty() {
                break;
            }
            shown.push((column, x, wide));
            x += wide + GAP;
        }
        shown
    }

    /// Cells of the column of names: a mark and the longest name.
    pub fn name_width(&self) -> u16 {
        let longest = self.matrix.devices.iter().map(|device| device.to_string().width()).max();
        2 + u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
    }

    fn column_width(&self, column: usize) -> u16 {
        let heading = in_two_lines(self.matrix.columns[column].label);
        let widest = (0..self.matrix.devices.len()).map(|row| self.text(row, column).width()).max();
        u16::try_from(heading.max(widest.unwrap_or(0))).unwrap_or(u16::MAX)
    }

    /// What a cell says: its value, with `old→new` where one is staged, and marks behind it: `*` changed since iodyno
    /// found it, `~` not the kernel's default.
    pub fn text(&self, row: usize, column: usize) -> String {
        let (Some(device), Some(setting)) = (self.matrix.devices.get(row), self.matrix.columns.get(column))
        else {
            return String::new();
        };
        let Some(cell) = self.cell_at(row, column) else { return "-".to_owned() };
        let value = cell.value.as_ref().map_or("?", |value| value.as_str());
        if let Some(staged) = self.staged_for(device, setting.id) {
            return format!("{value}→{}", staged.value);
        }
        let mark = match (cell.is_changed(), cell.is_unusual()) {
            (true, _) => "*",
            (_, true) => "~",
            _ => "",
        };
        format!("{value}{mark}")
    }

    /// Stages a value on some devices; the one it has already means that nothing is staged there.
    ///
    /// # Errors
    /// Why it cannot be asked for on the first device that cannot take it; nothing is staged then.
    pub fn stage(&mut self, machine: &Machine, devices: &[Device], value: &str) -> Result<(), String> {
        let Some(setting) = self.setting() else { return Ok(()) };
        refuse(setting)?;
        let mut new = Vec::new();
        for device in devices {
            let changes = planned(machine, device, setting, value).map_err(|error| error.to_string())?;
            let changes: Vec<Change> =
                changes.into_iter().filter(|change| change.from != change.to).collect();
            new.push(Staged {
                device: device.clone(),
                setting: setting.id,
                value: value.to_owned(),
                changes,
            });
        }
        self.staged.retain(|staged| staged.setting != setting.id || !devices.contains(&staged.device));
        self.staged.extend(new.into_iter().filter(|staged| !staged.changes.is_empty()));
        // The scheduler resets others, so it is written first.
        self.staged.sort_by_key(|staged| rank(staged.setting.0));
        Ok(())
    }

    /// The choice `step` places from the one staged or there now; `None` where there are no choices.
    pub fn choice(&self, step: isize) -> Option<String> {
        let cell = self.cell()?;
        let now = match self.staged_for(self.device()?, self.setting()?.id) {
            Some(staged) => staged.value.clone(),
            None => cell.value.as_ref().map(ToString::to_string)?,
        };
        let count = cell.choices.len();
        let at = cell.choices.iter().position(|choice| *choice == now);
        let next = match at {
            Some(at) => at.saturating_add_signed(step).min(count.saturating_sub(1)),
            None => nearest(&cell.choices, &now, step),
        };
        cell.choices.get(next).cloned()
    }

    /// Every write that is staged, in order.
    pub fn writes(&self) -> Vec<Change> {
        self.staged.iter().flat_map(|staged| staged.changes.iter().cloned()).collect()
    }

    /// What this run changed and what still stands so.
    pub fn own(&self) -> impl Iterator<Item = &Entry> {
        let session = self.session.as_ref();
        self.ledger.entries.iter().filter(move |entry| session.is_some_and(|id| entry.open.contains_key(id)))
    }

    /// What sessions that died changed and what still stands so.
    pub fn left_behind(&self) -> impl Iterator<Item = &Entry> {
        self.ledger.entries.iter().filter(|entry| self.dead.iter().any(|id| entry.open.contains_key(id)))
    }

    /// The files to put back when the cell under the cursor is.
    pub fn files_of_cell(&self) -> Vec<String> {
        let mut files = self.cell().map(|cell| cell.files.clone()).unwrap_or_default();
        files.retain(|file| self.ledger.found(file).is_some());
        files
    }
}

/// The least width in which a heading takes two lines.
fn in_two_lines(heading: &str) -> usize {
    let breaks =
        heading.match_indices(' ').map(|(at, _)| heading[..at].width().max(heading[at + 1..].width()));
    breaks.min().unwrap_or_else(|| heading.width()).max(4)
}

/// A staged change is written to a file; what takes more than that is not staged here.
fn refuse(setting: &Setting) -> Result<(), String> {
    match setting.risk {
        Risk::Live => Ok(()),
        Risk::Shown => Err(format!("{} is shown only: a wrong belief there loses data", setting.label)),
        Risk::Rebind => Err(format!(
            "{} are made when the driver probes a drive: `iodyno tune set DRIVE {}=N --rebind`, or boot with nvme.{}=N",
            setting.label, setting.id.0, setting.id.0
        )),
    }
}

/// Where among `choices` the way from a value that is none of them leads; numbers go to the next one that way.
fn nearest(choices: &[String], now: &str, step: isize) -> usize {
    let Ok(now) = now.parse::<i64>() else { return 0 };
    let number = |choice: &String| choice.parse::<i64>().ok();
    let found = if step > 0 {
        choices.iter().position(|choice| number(choice).is_some_and(|n| n > now))
    } else {
        choices.iter().rposition(|choice| number(choice).is_some_and(|n| n < now))
    };
    found.unwrap_or(if step > 0 { choices.len().saturating_sub(1) } else { 0 })
}

/// Whether a value stands for several that differ.
pub fn differ(cell: &Cell) -> bool {
    cell.value.as_ref().is_some_and(|value| *value == DIFFER)
}

//! The state of the tune screen: the matrix of devices by settings, the cursor in it, what is staged, what was done.
//!
//! Here: [`Tune`], its movements, staging. What a key does there is in [`act`]; what runtime answers in [`answer`]. Not
//! here: writing settings (`tune`), how cells look (`view::tune`).

pub mod act;

pub use crate::ui::answer;

use tui_input::Input;
use unicode_width::UnicodeWidthStr;

use crate::{
    model::SettingId,
    tune::{
        Device, Setting,
        cell::{Cell, DIFFER},
    },
    ui::settings::Settings,
};

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Tune {
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
    /// The text of the cell while it is being written.
    pub edit: Option<Input>,
    /// The device and the setting under the cursor.
    under: (Option<Device>, Option<SettingId>),
}

/// Cells between columns.
pub const GAP: u16 = 2;
/// Rows of a heading.
pub const HEADING: u16 = 2;

impl Tune {
    /// Keeps the cursor on the device and the setting it was on, wherever they are now.
    pub fn follow(&mut self, settings: &Settings) {
        if let Some(row) =
            settings.matrix.devices.iter().position(|device| Some(device) == self.under.0.as_ref())
        {
            self.row = row;
        }
        if let Some(column) = settings.matrix.columns.iter().position(|row| Some(row.id) == self.under.1) {
            self.column = column;
        }
        self.step(settings, 0, 0);
    }

    /// The device under the cursor.
    pub fn device<'a>(&self, settings: &'a Settings) -> Option<&'a Device> {
        settings.matrix.devices.get(self.row)
    }

    /// The setting under the cursor.
    pub fn setting(&self, settings: &Settings) -> Option<&'static Setting> {
        settings.matrix.columns.get(self.column).copied()
    }

    /// The cell under the cursor.
    pub fn cell<'a>(&self, settings: &'a Settings) -> Option<&'a Cell> {
        settings.cell_at(self.row, self.column)
    }

    /// Moves the cursor.
    pub fn step(&mut self, settings: &Settings, rows: isize, columns: isize) {
        if columns != 0 {
            self.detail_top = 0;
        }
        let within =
            |at: usize, step, count: usize| at.saturating_add_signed(step).min(count.saturating_sub(1));
        self.row = within(self.row, rows, settings.matrix.devices.len());
        self.column = within(self.column, columns, settings.matrix.columns.len());
    }

    /// Moves what is shown so that the cursor is among it.
    pub fn scroll_to_cursor(&mut self, settings: &Settings, width: u16, height: usize) {
        if height > 0 {
            let lowest = settings.matrix.devices.len().saturating_sub(height);
            self.top = self.top.clamp(self.row.saturating_sub(height - 1), self.row).min(lowest);
        }
        self.left = self.left.min(self.column);
        while self.left < self.column
            && !self.columns_shown(settings, width).iter().any(|(at, ..)| *at == self.column)
        {
            self.left += 1;
        }
        self.under = (self.device(settings).cloned(), self.setting(settings).map(|row| row.id));
    }

    /// The columns that fit into `width` cells from the first one shown on: index, first cell, cells.
    pub fn columns_shown(&self, settings: &Settings, width: u16) -> Vec<(usize, u16, u16)> {
        let mut x = Self::name_width(settings) + GAP;
        let mut shown = Vec::new();
        for column in self.left..settings.matrix.columns.len() {
            let wide = Self::column_width(settings, column);
            if x + wide > width && !shown.is_empty() {
                break;
            }
            shown.push((column, x, wide));
            x += wide + GAP;
        }
        shown
    }

    /// Cells of the column of names: a mark and the longest name.
    pub fn name_width(settings: &Settings) -> u16 {
        let longest = settings.matrix.devices.iter().map(|device| device.to_string().width()).max();
        2 + u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
    }

    fn column_width(settings: &Settings, column: usize) -> u16 {
        let heading = in_two_lines(settings.matrix.columns[column].label);
        let widest = (0..settings.matrix.devices.len()).map(|row| settings.text(row, column).width()).max();
        u16::try_from(heading.max(widest.unwrap_or(0))).unwrap_or(u16::MAX)
    }

    /// The choice `step` places from the one staged or there now; `None` where there are no choices.
    pub fn choice(&self, settings: &Settings, step: isize) -> Option<String> {
        let cell = self.cell(settings)?;
        let now = match settings.staged_for(self.device(settings)?, self.setting(settings)?.id) {
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

    /// The files to put back when the cell under the cursor is.
    pub fn files_of_cell(&self, settings: &Settings) -> Vec<String> {
        let mut files = self.cell(settings).map(|cell| cell.files.clone()).unwrap_or_default();
        files.retain(|file| settings.ledger.found(file).is_some());
        files
    }
}

/// The least width in which a heading takes two lines.
fn in_two_lines(heading: &str) -> usize {
    let breaks =
        heading.match_indices(' ').map(|(at, _)| heading[..at].width().max(heading[at + 1..].width()));
    breaks.min().unwrap_or_else(|| heading.width()).max(4)
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

//! The tune screen: the matrix of devices by settings, the cursor in it, what is staged, what was done.

mod about;
mod draw;
mod over;
mod rules;
mod settings_of;
mod update;

use ratatui::layout::{Constraint, Layout, Rect};
use unicode_width::UnicodeWidthStr;

pub(crate) use self::rules::saved_rules;
use super::{
    Run,
    widgets::{paint::inner, scroll::kept_in_sight},
};
use crate::{
    model::SettingId,
    tune::{
        Device, Setting,
        cell::{Cell, DIFFER},
    },
    ui::{
        About, Command,
        Key::{self, Char},
        ScreenId, Shared, TextField,
        command::{command, pair},
        settings::Settings,
        theme::Meaning,
    },
};

pub(super) const ABOUT: About = About {
    id: ScreenId("tune"),
    digit: '3',
    name: "Tune",
    help: "Show the settings of each drive: change them live, undo changes",
    purpose: "Settings by drive: stage values, review the writes, apply them, check the results, undo them.",
    mark: 1,
    marks: &[
        ("*", Meaning::Warning, "changed by iodyno since boot"),
        ("~", Meaning::Drive, "not the kernel's default, where that is known"),
        ("none→mq", Meaning::Marked, "staged: nothing is written before a review and Enter"),
        ("‹ ›", Meaning::Quiet, "more settings to the left and right"),
        ("●", Meaning::Marked, "marked: a change is for all marked drives"),
        (
            "✓ ≈ ○ ↩ !",
            Meaning::Text,
            "written; adjusted by the kernel; ignored by it; undone; refused or not as asked for",
        ),
        ("- ?", Meaning::Quiet, "no such setting here; present but not readable"),
        (
            "poll queues",
            Meaning::Quiet,
            "made when the driver probes a drive: unbind it and bind it again, never reset it",
        ),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Tune>>] = &[
    pair("←→", command(150, &[Key::Left, Char('h')], "column", "previous setting", "Go to the setting on the left", |tune, shared| tune.sideways(-1, shared))),
    command(160, &[Key::Right, Char('l')], "", "next setting", "Go to the setting on the right", |tune, shared| tune.sideways(1, shared)),
    pair("+ -", command(170, &[Char('+'), Char('=')], "change", "next value", "Stage the next of the cell's usual values", |tune, shared| tune.choose(1, shared))),
    command(180, &[Char('-')], "", "previous value", "Stage the previous usual value", |tune, shared| tune.choose(-1, shared)),
    command(190, &[Key::Enter], "edit", "edit value", "Edit the cell's value; Enter stages it, Esc cancels", Tune::open),
    command(200, &[Char(' ')], "mark", "mark row", "Mark the drive: a change applies to all marked drives", Tune::mark_row),
    command(210, &[Char('a')], "apply", "apply", "Review the staged writes, then apply them", |tune, shared| tune.unless_held(shared, Tune::review)),
    command(220, &[Key::Backspace, Key::Delete], "undo", "undo one", "Drop the staged value, or restore the value before iodyno", Tune::undo_one),
    command(225, &[Char('E')], "udev rules", "export", "Show udev rules that set the changed settings at every boot; w saves them", Tune::show_export),
    command(230, &[Char('U')], "undo all", "undo all", "Undo all changes of this run, the scheduler first, and verify each", |tune, shared| tune.unless_held(shared, |_, shared| update::undo_all(shared))),
];

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Tune {
    /// The cursor's row.
    row: usize,
    /// The cursor's column.
    column: usize,
    /// The first row shown.
    top: usize,
    /// The first column shown.
    left: usize,
    /// Lines by which the text about the cell is scrolled down.
    detail_top: usize,
    /// Lines by which staged values and results are scrolled down.
    changes_top: usize,
    /// The text of the cell while it is being written.
    pub edit: Option<TextField>,
    /// The device and the setting under the cursor.
    under: (Option<Device>, Option<SettingId>),
    /// Where values were staged here, in their order.
    steps: Vec<(SettingId, Vec<Device>)>,
    /// The text of its overlay.
    laid: Laid,
}

/// Texts of its overlay.
#[derive(Debug, Clone, Copy, Default)]
enum Laid {
    /// The writes that are staged, before they are made.
    #[default]
    Review,
    /// Changes stand: keep them, undo them, export them?
    Standing,
    /// Values are staged and would be lost.
    Staged,
    /// The rules that would set what stands changed.
    Export,
    /// A session died with changes standing: undo them?
    LeftBehind,
}

/// Cells between columns.
const GAP: u16 = 2;
/// Rows of a heading.
const HEADING: u16 = 2;

impl Tune {
    /// Keeps the cursor on the device and the setting it was on, wherever they are now.
    fn follow(&mut self, settings: &Settings) {
        if let Some(row) =
            settings.matrix.devices.iter().position(|device| Some(device) == self.under.0.as_ref())
        {
            self.row = row;
        }
        if let Some(column) = settings.matrix.columns.iter().position(|row| Some(row.id) == self.under.1) {
            self.column = column;
        }
        self.move_by(settings, 0, 0);
        self.remember(settings);
    }

    /// Where a change at the cursor goes: from the row of a drive to all marked drives, if any is marked, else to its row.
    fn targets(&self, shared: &Shared) -> Vec<Device> {
        let devices = &shared.settings.matrix.devices;
        self.target_rows(shared).into_iter().filter_map(|row| devices.get(row).cloned()).collect()
    }

    /// The rows of these.
    fn target_rows(&self, shared: &Shared) -> Vec<usize> {
        let settings = &shared.settings;
        let is_marked =
            |device: &Device| matches!(device, Device::Drive(name) if shared.marks.contains(name));
        let devices = settings.matrix.devices.iter().enumerate();
        let marked: Vec<usize> =
            devices.filter(|(_, device)| is_marked(device)).map(|(row, _)| row).collect();
        match self.device(settings) {
            Some(Device::Drive(_)) if !marked.is_empty() => marked,
            Some(_) => vec![self.row],
            None => Vec::new(),
        }
    }

    /// The row whose value a change starts from: that of the cursor where the change goes there, else the first one it goes to.
    fn first_target(&self, shared: &Shared) -> usize {
        let rows = self.target_rows(shared);
        if rows.contains(&self.row) { self.row } else { rows.first().copied().unwrap_or(self.row) }
    }

    /// The device under the cursor.
    fn device<'a>(&self, settings: &'a Settings) -> Option<&'a Device> {
        settings.matrix.devices.get(self.row)
    }

    /// The setting under the cursor.
    fn setting(&self, settings: &Settings) -> Option<&'static Setting> {
        settings.matrix.columns.get(self.column).copied()
    }

    /// The cell under the cursor.
    fn cell<'a>(&self, settings: &'a Settings) -> Option<&'a Cell> {
        settings.cell_at(self.row, self.column)
    }

    /// Moves the cursor.
    fn move_by(&mut self, settings: &Settings, rows: isize, columns: isize) {
        if columns != 0 {
            self.detail_top = 0;
        }
        let within =
            |at: usize, step, count: usize| at.saturating_add_signed(step).min(count.saturating_sub(1));
        self.row = within(self.row, rows, settings.matrix.devices.len());
        self.column = within(self.column, columns, settings.matrix.columns.len());
    }

    /// Moves what is shown so that the cursor is among it.
    fn scroll_to_cursor(&mut self, settings: &Settings, width: u16, height: u16) {
        self.top = kept_in_sight(self.top, self.row, settings.matrix.devices.len(), height);
        self.left = self.left.min(self.column);
        while self.left < self.column
            && !self.columns_shown(settings, width).iter().any(|(at, ..)| *at == self.column)
        {
            self.left += 1;
        }
        self.remember(settings);
    }

    /// Remembers what is under the cursor.
    fn remember(&mut self, settings: &Settings) {
        self.under = (self.device(settings).cloned(), self.setting(settings).map(|row| row.id));
    }

    /// The columns that fit into `width` cells from the first one shown on: index, first cell, cells.
    fn columns_shown(&self, settings: &Settings, width: u16) -> Vec<(usize, u16, u16)> {
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
    fn name_width(settings: &Settings) -> u16 {
        let longest = settings.matrix.devices.iter().map(|device| device.to_string().width()).max();
        2 + u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX)
    }

    fn column_width(settings: &Settings, column: usize) -> u16 {
        let heading = widest(&heading_lines(settings.matrix.columns[column].label)).max(4);
        let widest = (0..settings.matrix.devices.len()).map(|row| settings.text(row, column).width()).max();
        u16::try_from(heading.max(widest.unwrap_or(0))).unwrap_or(u16::MAX)
    }

    /// The choice `step` places from the one staged or there now; `None` where there are no choices.
    fn choice(&self, shared: &Shared, step: isize) -> Option<String> {
        let settings = &shared.settings;
        let row = self.first_target(shared);
        let cell = settings.cell_at(row, self.column)?;
        let now = match settings.staged_for(settings.matrix.devices.get(row)?, self.setting(settings)?.id) {
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

    /// The files to restore when the cell under the cursor is: those of all devices that a change goes to.
    fn changed_files(&self, shared: &Shared) -> Vec<String> {
        let settings = &shared.settings;
        let (targets, devices) = (self.targets(shared), settings.matrix.devices.iter());
        let rows = devices.enumerate().filter(|(_, device)| targets.contains(device));
        let cells = rows.filter_map(|(row, _)| settings.cell_at(row, self.column));
        let files = cells.flat_map(|cell| cell.files.iter());
        files.filter(|file| settings.change_log.found(file).is_some()).cloned().collect()
    }
}

/// A heading in one or two lines, broken where it takes the least width: at a blank, or after a `_` of an attribute's name.
fn heading_lines(heading: &str) -> Vec<&str> {
    let breaks = heading.match_indices([' ', '_']).map(|(at, mark)| {
        let head = if mark == "_" { &heading[..=at] } else { &heading[..at] };
        [head, &heading[at + 1..]]
    });
    match breaks.min_by_key(|lines| widest(lines)) {
        Some(lines) if heading.width() > 4 => lines.to_vec(),
        _ => vec![heading],
    }
}

fn widest(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.width()).max().unwrap_or_default()
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
fn differ(cell: &Cell) -> bool {
    cell.value.as_ref().is_some_and(|value| *value == DIFFER)
}

/// Rows of the panel about a cell where all settings of its device are below it, also in few columns, and the least rows of those.
const WORDS: u16 = 15;
const WORDS_NARROW: u16 = 16;
const LEAST: u16 = 8;

/// Where everything is.
struct Areas {
    /// The matrix of settings.
    matrix: Rect,
    /// The rows of its headings.
    head: Rect,
    /// Its rows.
    rows: Rect,
    /// All about the cell under the cursor.
    setting: Rect,
    /// Staged values and results; empty on narrow terminals.
    staged: Rect,
    /// All settings of the device; empty where there is no room.
    all: Rect,
}

impl Areas {
    /// The matrix is as high as it needs to be, up to six tenths of the area.
    fn new(shared: &Shared, area: Rect) -> Self {
        let frame = HEADING + if shared.is_boxed() { 2 } else { 1 };
        let devices = u16::try_from(shared.settings.matrix.devices.len().max(1)).unwrap_or(u16::MAX);
        let height = devices.saturating_add(frame).min(area.height * 6 / 10);
        let [matrix, below] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area);
        let inside = inner(matrix, shared.is_boxed());
        let [head, rows] = Layout::vertical([Constraint::Length(HEADING), Constraint::Fill(1)]).areas(inside);
        let mut areas =
            Self { matrix, head, rows, setting: below, staged: Rect::default(), all: Rect::default() };
        // Where more rows are free than the words about a cell take.
        let rows = if area.width < 100 { WORDS_NARROW } else { WORDS };
        let below = if below.height >= rows + LEAST {
            let [words, all] = Layout::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(below);
            (areas.setting, areas.all) = (words, all);
            words
        } else {
            below
        };
        if area.width >= 100 {
            let width = Constraint::Length(area.width * 55 / 100);
            [areas.setting, areas.staged] = Layout::horizontal([width, Constraint::Fill(1)]).areas(below);
        }
        areas
    }
}

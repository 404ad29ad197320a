//! [`COLUMNS`]: the columns of the tree, one row each. A new column is a row here and its test.

use super::figures::{Figures, LARGE, LinkState};
use crate::{
    capacity::bottleneck::FULL,
    report::flatten::RowKind,
    screens::widgets::{paint::cells, words::giga},
    ui::{load::Flow, theme::Meaning},
    units::count,
};

/// Room for columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Room {
    /// Cells of a row.
    pub rows: u16,
    /// Whether a drive has read or written since the start.
    pub has_load: bool,
    /// Whether drives were counted since the start.
    pub is_counted: bool,
    /// Whether this machine has counters: a capture has none.
    pub has_counters: bool,
    /// The columns in which a row has shown something since the start.
    pub filled: Filled,
    /// The column that rows are sorted by: without it the order could not be told from the rows.
    pub sorted: Option<&'static str>,
    /// The cells that names of drives need in each [form](FORMS).
    pub names: FormNames,
    /// Cells of the bars where names leave them fewer than they have by width.
    pub bars: Option<u16>,
}

/// Forms of a row: name and link whole; the link without what it could be; the name without its last word too, or its last two.
pub(super) const FORMS: usize = 4;

/// How many words a form leaves out of a name.
pub(super) const fn words_left_out(form: usize) -> usize {
    form.saturating_sub(1)
}

/// A link's text in a form.
pub(super) fn link_in_form(text: &str, form: usize) -> &str {
    if form == 0 { text } else { text.split(" < ").next().unwrap_or(text) }
}

/// Cells that names of drives need, the widest row's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Names {
    /// Before the second column, with the link and its mark.
    pub with_link: u16,
    /// Before the first column, where that is not the link.
    pub alone: u16,
}

/// The same in each form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FormNames(pub [Names; FORMS]);

impl Names {
    /// Adds a row whose name needs cells up to `end`, the gap behind it included, with its link.
    pub fn add(&mut self, end: u16, link: Option<(Option<char>, &str)>) {
        // A row without a link has the cells of that column but one for its name.
        let with_link = link.map_or(end.saturating_sub(1), |(mark, text)| {
            end + cells(text) + if mark.is_some() { LINK_LEAD } else { 0 }
        });
        self.with_link = self.with_link.max(with_link);
        self.alone = self.alone.max(end);
    }
}

impl Room {
    /// Whether columns of these cells, their gaps included, leave names in this form whole.
    pub fn leaves_names(self, taken: u16, begins_with_link: bool, form: usize) -> bool {
        let names = self.names.0[form];
        let (behind, needed) = if begins_with_link {
            (taken.saturating_sub(LINK_LEAD + LINK + 1), names.with_link)
        } else {
            (taken.saturating_sub(1), names.alone)
        };
        behind + needed <= self.rows
    }

    /// The same with bars of fewer cells; `None` where they have no more than `least`.
    pub fn narrower_bars(self, least: u16) -> Option<Self> {
        let now = bars_width(self);
        (now > least).then(|| Self { bars: Some(now.saturating_sub(2).max(least)), ..self })
    }
}

/// Cells of the bars: as many as the width of rows gives them, or as names leave.
fn bars_width(room: Room) -> u16 {
    room.bars.unwrap_or(match room.rows {
        rows @ 110..160 => 7 + (rows - 110).min(8) / 2 * 2,
        160..200 => 15,
        200.. => 21,
        _ => BARS,
    })
}

/// Cells of bars on narrow terminals, and the least with which one shows anything.
pub(super) const BARS: u16 = 7;
pub(super) const LEAST_BARS: u16 = 5;

/// A set of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Filled(u32);

impl Filled {
    /// All columns.
    #[cfg(test)]
    pub const ALL: Self = Self(u32::MAX);

    fn bit(name: &str) -> u32 {
        COLUMNS.iter().position(|column| column.name == name).map_or(0, |at| 1 << at)
    }

    /// Whether a row has shown something in that column.
    pub fn has(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    /// Without that column.
    #[cfg(test)]
    pub fn without(self, name: &str) -> Self {
        Self(self.0 & !Self::bit(name))
    }

    /// Adds the columns in which this row shows something.
    pub fn add(&mut self, figures: &Figures<'_>) {
        for (at, column) in COLUMNS.iter().enumerate() {
            if self.0 & (1 << at) == 0 && (column.cell)(figures) != Cell::Blank {
                self.0 |= 1 << at;
            }
        }
    }
}

/// Why rows do not show a column by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// Rows of fewer cells than this.
    Narrow(u16),
    /// Nothing was counted yet.
    NotCounted,
    /// No device has such a value.
    NoValue,
}

/// Cells of a link's mark, before the link.
pub(super) const LINK_LEAD: u16 = 2;
/// Cells of `Gen4 x16`; a longer link begins further left and shortens its own row's name.
const LINK: u16 = 8;
/// Rows from which bars need no load and rates no count: narrower ones leave their cells to names.
const IDLE_BARS: u16 = 110;

/// A column of the tree.
pub(super) struct Column {
    /// Its name, which is kept between starts.
    pub name: &'static str,
    /// Its heading.
    pub heading: &'static str,
    /// What it shows, with its unit.
    pub help: &'static str,
    /// Cells it takes.
    pub width: fn(Room) -> u16,
    /// The narrowest rows in which it is shown unless the user decides otherwise.
    pub from: u16,
    /// Its figures come from counters.
    pub is_counted: bool,
    /// What it shows of a row.
    pub cell: fn(&Figures<'_>) -> Cell,
    /// What rows are sorted by; `None` comes last.
    pub key: fn(&Figures<'_>) -> Option<f64>,
}

impl Column {
    /// Whether rows show it unless the user decides otherwise.
    pub fn is_by_itself(&self, room: Room) -> bool {
        self.absent(room).is_none()
    }

    /// Why rows do not show it unless the user decides otherwise.
    pub fn absent(&self, room: Room) -> Option<Absent> {
        if let Some(cause) = self.cause(room) {
            return Some(cause);
        }
        // What no device has leaves its cells to the columns behind it.
        let before = COLUMNS.iter().filter(|column| column.from <= self.from);
        let left: u16 = before
            .filter(|column| column.cause(room) == Some(Absent::NoValue))
            .map(|column| (column.width)(room) + 1)
            .sum();
        let from = self.from.saturating_sub(left);
        (from > room.rows).then_some(Absent::Narrow(from))
    }

    /// Why rows of any width do not show it.
    fn cause(&self, room: Room) -> Option<Absent> {
        let is_wide = room.rows >= IDLE_BARS;
        if self.is_counted && !room.has_counters {
            return Some(Absent::NoValue);
        }
        match self.name {
            "read" | "write" => (!room.is_counted && !is_wide).then_some(Absent::NotCounted),
            // Bars are of a limit.
            "load" if !room.filled.has("limit") => Some(Absent::NoValue),
            "load" => (!room.has_load && !is_wide).then_some(Absent::NotCounted),
            name if room.filled.has(name) => None,
            _ if room.is_counted || !self.is_counted => Some(Absent::NoValue),
            _ => Some(Absent::NotCounted),
        }
    }
}

/// What a column shows of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// Nothing: the row has no such value.
    Blank,
    /// A figure, to the right.
    Figure(String, Meaning),
    /// A text, to the left, with a mark before it.
    Text(Option<char>, String, Meaning),
    /// Two bars side by side, read and write, each with its share of the limit.
    Bars([(f64, Meaning); 2]),
    /// The last minute as a sparkline.
    Minute,
}

/// A link that is slower than both its ends can be.
pub(super) const SLOW_MARK: char = '▼';
/// A slot that holds a device to less than the device can.
pub(super) const SLOT_MARK: char = '▽';

/// The column of slot names.
pub(super) const SLOT: &str = "slot";

/// All columns in their order. The first five are on every terminal, bars and the limit as far as names of drives leave room for
/// them; those of counters that need more room than facts beside the
/// tree leave from 100 cells on begin above [`STACKED`](super::STACKED), so that a wider terminal never shows fewer.
pub(super) const COLUMNS: &[Column] = &[
    Column {
        name: "link",
        heading: "  link",
        help: "link now, and its maximum if that is more",
        width: |_| LINK_LEAD + LINK,
        from: 0,
        is_counted: false,
        cell: link,
        key: |figures| {
            let (speed, width) = figures.link()?.0.now?;
            Some(speed.lane_bytes_per_second().0 * f64::from(width.0))
        },
    },
    Column {
        name: "read",
        heading: "read",
        help: "GB/s read (GiB/s after {units}); small rates with M for MB/s or k for kB/s",
        width: |_| 4,
        from: 0,
        is_counted: true,
        cell: |figures| rate(figures, |flow| flow.read.bytes),
        key: |figures| Some(figures.flow?.read.bytes),
    },
    Column {
        name: "write",
        heading: "write",
        help: "GB/s written (GiB/s after {units}); small rates with M for MB/s or k for kB/s",
        width: |_| 5,
        from: 0,
        is_counted: true,
        cell: |figures| rate(figures, |flow| flow.write.bytes),
        key: |figures| Some(figures.flow?.write.bytes),
    },
    Column {
        name: "limit",
        heading: "limit",
        help: "GB/s that the narrowest hop or the drive can carry in one direction",
        width: |_| 5,
        from: 0,
        is_counted: false,
        cell: |figures| {
            // A link that sleeps carries more once it is awake.
            let Some(limit) = figures.limit().filter(|_| !figures.is_asleep()) else { return Cell::Blank };
            let meaning = if figures.is_held_back() { Meaning::Warning } else { Meaning::Quiet };
            Cell::Figure(giga(figures.shared.units, limit), meaning)
        },
        key: |figures| figures.limit(),
    },
    Column {
        name: "load",
        heading: "read write",
        help: "bars: reads on the left, writes on the right, each against the limit",
        width: bars_width,
        from: 0,
        is_counted: true,
        cell: bars,
        key: |figures| Some(figures.flow?.bytes() / figures.limit()?),
    },
    Column {
        name: "potential",
        heading: "potential",
        help: "GB/s the drive could read with nothing in its way: published, or at most its own link",
        width: |_| 9,
        from: 215,
        is_counted: false,
        cell: |figures| {
            let Some(could) = figures.potential() else { return Cell::Blank };
            let meaning = if figures.is_held_back() { Meaning::Warning } else { Meaning::Quiet };
            Cell::Figure(giga(figures.shared.units, could.bytes_per_second.0), meaning)
        },
        key: |figures| Some(figures.potential()?.bytes_per_second.0),
    },
    Column {
        name: "r/s",
        heading: "r/s",
        help: "reads per second, after merging; of a test's targets the reads of the test",
        width: |_| 6,
        from: 98,
        is_counted: true,
        cell: |figures| requests(figures, |flow| flow.read.requests),
        key: |figures| Some(figures.flow?.read.requests),
    },
    Column {
        name: "w/s",
        heading: "w/s",
        help: "writes per second, after merging",
        width: |_| 6,
        from: 98,
        is_counted: true,
        cell: |figures| requests(figures, |flow| flow.write.requests),
        key: |figures| Some(figures.flow?.write.requests),
    },
    Column {
        // Both waits or none: one alone would be taken for that of all I/Os.
        name: "r_await",
        heading: "r_await",
        help: "mean milliseconds of a read, in the queue and in the drive (iostat's r_await, with <1 where that shows 0.00)",
        width: |_| 7,
        from: 111,
        is_counted: true,
        cell: |figures| milliseconds(figures, |flow| flow.read.await_ms),
        key: |figures| figures.flow?.read.await_ms,
    },
    Column {
        name: "w_await",
        heading: "w_await",
        help: "mean milliseconds of a write (iostat's w_await)",
        width: |_| 7,
        from: 111,
        is_counted: true,
        cell: |figures| milliseconds(figures, |flow| flow.write.await_ms),
        key: |figures| figures.flow?.write.await_ms,
    },
    Column {
        name: "aqu-sz",
        heading: "aqu-sz",
        help: "mean requests in flight (iostat's aqu-sz)",
        width: |_| 6,
        from: 118,
        is_counted: true,
        cell: |figures| {
            let Some(flow) = figures.flow else { return Cell::Blank };
            figure(flow.queue_depth, figures.at_least(short(flow.queue_depth)))
        },
        key: |figures| Some(figures.flow?.queue_depth),
    },
    Column {
        name: "rareq-sz",
        heading: "rareq-sz",
        help: "mean KiB of a read (iostat's rareq-sz)",
        width: |_| 8,
        from: 172,
        is_counted: true,
        cell: |figures| kibibytes(figures, |flow| flow.read.request_bytes()),
        key: |figures| figures.flow?.read.request_bytes(),
    },
    Column {
        name: "wareq-sz",
        heading: "wareq-sz",
        help: "mean KiB of a write (iostat's wareq-sz)",
        width: |_| 8,
        from: 181,
        is_counted: true,
        cell: |figures| kibibytes(figures, |flow| flow.write.request_bytes()),
        key: |figures| figures.flow?.write.request_bytes(),
    },
    Column {
        name: "%util",
        heading: "%util",
        help: "share of time with a request in flight; - on drives with several queues, where it says nothing",
        width: |_| 5,
        from: 187,
        is_counted: true,
        cell: |figures| match (figures.drive(), utilisation(figures)) {
            (_, Some(share)) => figure(share, format!("{share:.0}")),
            (Some(_), None) if figures.flow.is_some() => Cell::Figure("-".to_owned(), Meaning::Quiet),
            _ => Cell::Blank,
        },
        key: utilisation,
    },
    Column {
        name: "temp",
        heading: "temp",
        help: "temperature of the drive, °C",
        width: |_| 5,
        from: 124,
        is_counted: false,
        cell: |figures| {
            let Some(heat) = figures.drive().and_then(|drive| drive.temperature.as_ref()) else {
                return Cell::Blank;
            };
            let Some(now) = heat.now.get() else { return Cell::Blank };
            let most = heat.max.get().or(heat.critical.get());
            let meaning = if most.is_some_and(|most| now >= most) { Meaning::Warning } else { Meaning::Text };
            Cell::Figure(format!("{now:.0} °C"), meaning)
        },
        key: |figures| figures.drive()?.temperature.as_ref()?.now.get(),
    },
    Column {
        name: "AER",
        heading: "AER",
        help: "correctable PCI Express errors since boot at both ends of the link",
        width: |_| 6,
        from: 194,
        is_counted: false,
        cell: |figures| match errors(figures) {
            None => Cell::Blank,
            Some(0) => Cell::Figure("0".to_owned(), Meaning::Quiet),
            Some(errors) => Cell::Figure(short(errors as f64), Meaning::Warning),
        },
        key: |figures| Some(errors(figures)? as f64),
    },
    Column {
        name: SLOT,
        heading: "slot",
        help: "the board's name of the slot (SMBIOS)",
        width: |_| 12,
        from: 208,
        is_counted: false,
        cell: |figures| match figures.slot() {
            Some(slot) => Cell::Text(None, slot.to_owned(), Meaning::Quiet),
            None => Cell::Blank,
        },
        key: |_| None,
    },
    Column {
        name: "minute",
        heading: "minute",
        help: "reads and writes together over the last minute, scaled to the row's maximum",
        width: |room| match room.rows {
            ..170 => 8,
            170..215 => 12,
            _ => 16,
        },
        from: 132,
        is_counted: true,
        cell: |figures| if figures.has_minute() { Cell::Minute } else { Cell::Blank },
        key: |figures| Some(figures.flow?.bytes()),
    },
];

/// The column of that name.
pub(super) fn column(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

/// The link of a row in words, with its state.
fn link_text(figures: &Figures<'_>) -> Option<(String, LinkState)> {
    let (link, state) = figures.link()?;
    let text = match state {
        LinkState::Down => "no link".to_owned(),
        _ if figures.is_asleep() => link.column_asleep(),
        _ => link.column(),
    };
    Some((text, state))
}

/// The link of a device that its slot limits, beside what the device could do in another slot.
pub(super) fn link_beside_slot(figures: &Figures<'_>) -> Option<String> {
    let (link, state) = figures.link()?;
    (state == LinkState::SlotLimited).then(|| link.column_of_device())
}

fn link(figures: &Figures<'_>) -> Cell {
    let Some((text, state)) = link_text(figures) else { return Cell::Blank };
    let (mark, meaning) = match state {
        LinkState::Slow => (Some(SLOW_MARK), Meaning::Warning),
        LinkState::SlotLimited => (Some(SLOT_MARK), Meaning::Quiet),
        LinkState::Idle | LinkState::Down => (None, Meaning::Quiet),
        LinkState::Fine | LinkState::Unknown if figures.row.drives.is_empty() => (None, Meaning::Quiet),
        LinkState::Fine | LinkState::Unknown => (None, Meaning::Text),
    };
    Cell::Text(mark, text, meaning)
}

/// A figure that is quiet when it is nothing.
fn figure(value: f64, text: String) -> Cell {
    Cell::Figure(text, if value > 0.0 { Meaning::Text } else { Meaning::Quiet })
}

fn rate(figures: &Figures<'_>, of: fn(&Flow) -> f64) -> Cell {
    let Some(bytes) = figures.flow.as_ref().map(of) else { return Cell::Blank };
    let meaning = if bytes > LARGE { Meaning::Figure } else { Meaning::Quiet };
    Cell::Figure(figures.at_least(giga(figures.shared.units, bytes)), meaning)
}

fn requests(figures: &Figures<'_>, of: fn(&Flow) -> f64) -> Cell {
    let Some(requests) = figures.flow.as_ref().map(of) else { return Cell::Blank };
    figure(requests, figures.at_least(short(requests)))
}

fn milliseconds(figures: &Figures<'_>, of: fn(&Flow) -> Option<f64>) -> Cell {
    let Some(time) = figures.flow.as_ref().map(of) else { return Cell::Blank };
    let meaning = if time.is_some() { Meaning::Text } else { Meaning::Quiet };
    Cell::Figure(time.map_or_else(|| "-".to_owned(), mean_wait), meaning)
}

/// A mean wait of I/Os in milliseconds. None takes 0.00 ms.
pub(super) fn mean_wait(milliseconds: f64) -> String {
    match milliseconds {
        // The kernel counts whole milliseconds: of a few I/Os it may count none.
        0.0 => "<1".to_owned(),
        time if time < 0.005 => "<0.01".to_owned(),
        time => three(time),
    }
}

fn kibibytes(figures: &Figures<'_>, of: fn(&Flow) -> Option<f64>) -> Cell {
    match figures.flow.as_ref().map(of) {
        None => Cell::Blank,
        Some(None) => Cell::Figure("-".to_owned(), Meaning::Quiet),
        Some(Some(bytes)) => figure(bytes, three(bytes / 1024.0)),
    }
}

/// Two digits after the point where there is room for them.
fn three(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Counts as dstat writes them: `138k`, `1.15M`; below ten with a digit, for means.
fn short(value: f64) -> String {
    match value {
        value if value <= 0.0 => "0".to_owned(),
        value if value < 9.95 => format!("{value:.1}"),
        value => count(value).replace(' ', ""),
    }
}

fn utilisation(figures: &Figures<'_>) -> Option<f64> {
    let drive = figures.drive()?;
    figures.flow?.utilisation.filter(|_| drive.has_utilisation())
}

/// Correctable errors of both ends; drives of one controller leave them to its row.
fn errors(figures: &Figures<'_>) -> Option<u64> {
    let of_ends = figures.errors().into_iter().filter(|_| figures.row.kind != RowKind::Drive);
    of_ends.map(|(_, total)| total).reduce(u64::saturating_add)
}

fn bars(figures: &Figures<'_>) -> Cell {
    let Some((flow, limit)) = figures.flow.zip(figures.limit()) else { return Cell::Blank };
    let is_bad = figures.is_shared() || figures.is_held_back();
    let share = |bytes: f64| if limit > 0.0 { bytes / limit } else { 0.0 };
    let [read, write] = [share(flow.read.bytes), share(flow.write.bytes)];
    let meaning = |share: f64, below: Meaning| match (share >= FULL, is_bad) {
        (true, true) => Meaning::Warning,
        (true, false) => Meaning::Good,
        (false, _) => below,
    };
    Cell::Bars([(read, meaning(read, Meaning::Load)), (write, meaning(write, Meaning::Writes))])
}

#[cfg(test)]
mod tests;

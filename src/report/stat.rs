//! What `iodyno stat` prints: tables of one interval as text and CSV, one JSON object a line, averages.

mod averages;
mod line;
mod uncounted;

use jiff::{Timestamp, tz::TimeZone};

pub(crate) use self::{
    averages::Averages,
    line::Line,
    uncounted::{IOSTATS_OFF, Uncounted},
};
use crate::{
    counters::{
        DiskRates, Rates, SideRates,
        activity::{Activity, ProcessRates, ThreadActivity},
    },
    machine::{Drive, Machine},
    model::DriveName,
    report::{
        dstat,
        why::{
            grid::{Cell, ENDLESS, Grid, Mark, Row, number, word},
            profile, tables,
        },
    },
};

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// dstat's rows.
    Dstat,
    /// iostat's extended columns.
    Iostat,
    /// mpstat's columns.
    Cpu,
    /// Interrupts by queue and CPU.
    Interrupts,
    /// Threads that run or wait for a device.
    Threads,
    /// Processes that read or write.
    Processes,
    /// What CPUs execute.
    Profile,
}

/// An interval, or several as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) rates: &'a Rates,
    pub(crate) activity: &'a Activity,
    /// Its end.
    pub(crate) time: Timestamp,
    /// All intervals as one.
    pub(crate) is_average: bool,
    /// Several end within a second: their times have tenths.
    pub(crate) has_tenths: bool,
}

/// Bytes of sysstat's MB and kB.
const MEBI: f64 = 1_048_576.0;
const KIBI: f64 = 1024.0;

#[cfg(test)]
impl<'a> Interval<'a> {
    /// All seconds of a test as one, at the epoch.
    pub(crate) const fn average(machine: &'a Machine, rates: &'a Rates, activity: &'a Activity) -> Self {
        Self { machine, rates, activity, time: Timestamp::UNIX_EPOCH, is_average: true, has_tenths: false }
    }
}

impl Interval<'_> {
    /// The rows of a table for so many cells.
    pub(crate) fn grid(&self, table: Table, room: usize) -> Grid {
        let Self { machine, rates, activity, .. } = *self;
        match table {
            Table::Dstat => dstat::Row::of_rates(rates, &summed(machine)).grid(),
            Table::Iostat => iostat(self),
            Table::Cpu => tables::cpus(machine, rates),
            Table::Interrupts => tables::interrupts(machine, rates, false),
            Table::Threads => threads(activity, room),
            Table::Processes => {
                let moves = |rates: &ProcessRates| rates.moved() > 0.0 || !rates.has_bytes();
                tables::processes(activity, (MEBI, ["rMB/s", "wMB/s"]), moves)
            }
            Table::Profile => profile::rows(activity),
        }
    }

    /// Drives of these tables' rows and sums that the kernel does not count.
    pub(crate) fn uncounted(&self, tables: &[Table]) -> Vec<Uncounted<'_>> {
        let (has_rows, is_summed) = (tables.contains(&Table::Iostat), tables.contains(&Table::Dstat));
        let summed = summed(self.machine);
        let mut all = Uncounted::all(self);
        all.retain(|one| has_rows || (is_summed && summed.contains(&one.drive.name)));
        all
    }

    /// `12:30:05`, `12:30:05.2`, local, or `average`.
    pub(crate) fn clock(&self) -> String {
        let clock = if self.is_average {
            "average".to_owned()
        } else {
            let format = if self.has_tenths { "%H:%M:%S.%1f" } else { "%H:%M:%S" };
            self.time.to_zoned(TimeZone::system()).strftime(format).to_string()
        };
        format!("{clock:0$}", self.clock_width())
    }

    /// Cells of the time.
    const fn clock_width(&self) -> usize {
        if self.has_tenths { 10 } else { 8 }
    }

    /// dstat's groups that a line of `width` cells has room for, and whether it also has room for the time, which they go before.
    fn dstat(&self, width: usize) -> (dstat::Shown, bool) {
        let shown = dstat::Shown::fitting(width);
        (shown, shown.width() <= self.room(width))
    }

    /// Cells behind the time.
    const fn room(&self, width: usize) -> usize {
        if width == ENDLESS { width } else { width.saturating_sub(self.clock_width() + 1) }
    }

    /// Rows of a table behind their time, without the heading; each at most `width` cells.
    pub(crate) fn text(&self, table: Table, width: usize) -> Vec<String> {
        let clock = self.clock();
        if table == Table::Dstat {
            let (shown, has_time) = self.dstat(width);
            let row = dstat::Row::of_rates(self.rates, &summed(self.machine)).line(shown);
            return match (has_time, self.is_average) {
                (true, _) => vec![format!("{clock} {row}")],
                // Behind the row it would be in the next line of the terminal.
                (false, true) => vec![format!("average of {:.1} s:", self.rates.elapsed.as_secs_f64()), row],
                (false, false) => vec![row],
            };
        }
        let room = self.room(width);
        let grid = self.grid(table, room);
        let layout = grid.layout(room);
        let lines = |row| {
            let lines = grid.lines(row, &layout).into_iter().enumerate();
            lines.map(|(at, line)| format!("{:1$} {line}", if at == 0 { &*clock } else { "" }, clock.len()))
        };
        grid.rows.iter().flat_map(lines).collect()
    }

    /// The heading above them.
    pub(crate) fn heading(&self, table: Table, width: usize) -> String {
        if table == Table::Dstat {
            let (shown, has_time) = self.dstat(width);
            let ([titles, names], time) = (shown.heading(), self.clock_width());
            return if has_time {
                format!("{:-<time$} {titles}\n{:time$} {names}", "", "time")
            } else {
                format!("{titles}\n{names}")
            };
        }
        let room = self.room(width);
        let grid = self.grid(table, room);
        format!("{:1$} {2}", "time", self.clock_width(), grid.heading(&grid.layout(room)))
    }

    /// Columns of a table that a line of `width` cells has no room for.
    pub(crate) fn left_out(&self, table: Table, width: usize) -> Vec<&'static str> {
        if table == Table::Dstat {
            let (shown, has_time) = self.dstat(width);
            return (!has_time).then_some("time").into_iter().chain(shown.left_out()).collect();
        }
        let names = |room| {
            let grid = self.grid(table, room);
            let shown = grid.fitting(room);
            shown.into_iter().map(|at| grid.columns[at].name).collect::<Vec<_>>()
        };
        let shown = names(self.room(width));
        names(ENDLESS).into_iter().filter(|name| !shown.contains(name)).collect()
    }

    /// Lines of CSV behind their time, RFC 3339.
    pub(crate) fn csv(&self, table: Table) -> Vec<String> {
        let time = if self.is_average { "average".to_owned() } else { format!("{:.3}", self.time) };
        self.grid(table, ENDLESS).csv_rows().map(|row| format!("{time},{row}")).collect()
    }

    /// The heading of the CSV.
    pub(crate) fn csv_heading(&self, table: Table) -> String {
        format!("time,{}", self.grid(table, ENDLESS).csv_heading())
    }
}

/// Threads with the share of all threads that were seen.
fn threads(activity: &Activity, room: usize) -> Grid {
    let column = number("%seen", 5, 4);
    let mut grid = tables::threads(activity, false, room.saturating_sub(column.width + 1));
    let seen = activity.threads.as_ref().and_then(ThreadActivity::seen_percent);
    grid.columns.insert(1, column);
    for row in &mut grid.rows {
        row.cells.insert(1, Cell::number(seen, 0));
    }
    grid
}

fn summed(machine: &Machine) -> Vec<DriveName> {
    machine.summed_drives().map(|drive| drive.name.clone()).collect()
}

/// Whole drives with counters, software ones only while they move something; `None` for one that the kernel does not count.
fn disks<'a>(interval: &Interval<'a>) -> impl Iterator<Item = (&'a Drive, Option<&'a DiskRates>)> {
    let Interval { machine, rates, .. } = *interval;
    let uncounted: Vec<&DriveName> =
        Uncounted::all(interval).iter().map(|uncounted| &uncounted.drive.name).collect();
    let all = machine.drives.iter().filter_map(|drive| Some((drive, rates.disks.get(&drive.name)?)));
    let all = all.map(move |(drive, disk)| (drive, Some(disk).filter(|_| !uncounted.contains(&&drive.name))));
    all.filter(|(drive, disk)| {
        !drive.kind.is_software() || disk.is_none_or(|disk| disk.reads + disk.writes > 0.0)
    })
}

/// The columns of `iostat -xm`, with its units: MB is 2^20 bytes, kB 2^10, waits are milliseconds.
fn iostat(interval: &Interval<'_>) -> Grid {
    // A cut name may be that of several drives; the kernel's have up to 31 characters.
    let longest = interval.machine.drives.iter().map(|drive| drive.name.as_str().len()).max();
    let longest = longest.unwrap_or_default();
    let columns = vec![
        word("Device", longest.clamp(8, 15), 0).up_to(longest.clamp(16, 31)),
        number("r/s", 8, 0).up_to(9),
        number("rMB/s", 7, 0).up_to(9),
        number("rrqm/s", 8, 3),
        number("%rrqm", 6, 3),
        number("r_await", 7, 0),
        number("rareq-sz", 8, 2),
        number("w/s", 8, 0).up_to(9),
        number("wMB/s", 7, 0).up_to(9),
        number("wrqm/s", 8, 3),
        number("%wrqm", 6, 3),
        number("w_await", 7, 0),
        number("wareq-sz", 8, 2),
        number("d/s", 8, 5),
        number("dMB/s", 9, 5),
        number("drqm/s", 8, 5),
        number("%drqm", 6, 5),
        number("d_await", 7, 5),
        number("dareq-sz", 8, 5),
        number("f/s", 8, 4),
        number("f_await", 7, 4),
        // It makes room for a long name.
        number("aqu-sz", 6, 1).up_to(7),
        number("%util", 5, 0).up_to(6),
    ];
    let numbers = columns.len() - 1;
    let row = |(drive, disk): (&Drive, Option<&DiskRates>)| {
        let name = Cell::text(drive.name.as_str());
        let Some(disk) = disk else {
            let cells = std::iter::once(name).chain(std::iter::repeat_n(Cell::Unknown, numbers)).collect();
            return Row { cells, mark: Mark::Plain };
        };
        let DiskRates { reads, read_bytes, writes, written_bytes, reads_merged, writes_merged, .. } = *disk;
        let side = |ios: f64, bytes: f64, merged: f64, wait: Option<f64>| {
            let share = if ios + merged > 0.0 { 100.0 * merged / (ios + merged) } else { 0.0 };
            // sysstat prints zero where nothing was read.
            let size = if ios > 0.0 { bytes / ios / KIBI } else { 0.0 };
            [(ios, 2), (bytes / MEBI, 2), (merged, 2), (share, 2), (wait.unwrap_or(0.0), 2), (size, 2)]
        };
        let mut cells = vec![name];
        let read = side(reads, read_bytes, reads_merged, disk.read_await_ms);
        let write = side(writes, written_bytes, writes_merged, disk.write_await_ms);
        let SideRates { ios, bytes, merged, await_ms } = disk.discards;
        let discard = side(ios, bytes, merged, await_ms);
        let flush = [(disk.flushes.ios, 2), (disk.flushes.await_ms.unwrap_or(0.0), 2)];
        let all = [&read[..], &write, &discard, &flush].concat();
        cells.extend(all.into_iter().map(|(value, decimals)| Cell::Number(value, decimals)));
        cells.extend([Cell::Number(disk.queue_depth, 2), Cell::Number(disk.utilisation, 2)]);
        Row { cells, mark: Mark::Plain }
    };
    Grid { columns, rows: disks(interval).map(row).collect() }
}

#[cfg(test)]
mod tests;

//! Rows as dstat prints them: `run blk new|usr sys idl wai stl| used  free  buff  cach| read  writ| read  writ`.

use super::why::grid::{self, Cell, Grid, Mark, number};
use crate::{
    counters::{CpuShares, Memory, Rates},
    model::DriveName,
};

/// One second; unknown values are dashes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// Runnable and blocked processes; new ones per second.
    pub processes: Option<[f64; 3]>,
    /// Shares of all CPUs.
    pub cpu: Option<CpuShares>,
    /// Memory now.
    pub memory: Option<Memory>,
    /// Reads and writes per second.
    pub requests: Option<[f64; 2]>,
    /// Bytes read and written per second.
    pub bytes: Option<[f64; 2]>,
}

/// A group of columns.
struct Group {
    /// With its unit.
    title: &'static str,
    /// dstat's own names.
    names: &'static str,
    /// Where there is no room, the group with the highest value goes first; 0 stays.
    drop: u8,
}

const GROUPS: [Group; 5] = [
    Group { title: "---procs---", names: "run blk new", drop: 2 },
    Group { title: "---total-usage, %--", names: "usr sys idl wai stl", drop: 0 },
    Group { title: "----memory-usage, B----", names: " used  free  buff  cach", drop: 3 },
    Group { title: "--io, 1/s--", names: " read  writ", drop: 1 },
    Group { title: "--dsk, B/s-", names: " read  writ", drop: 0 },
];

/// The groups that a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown([bool; GROUPS.len()]);

impl Shown {
    pub(crate) const ALL: Self = Self([true; GROUPS.len()]);

    /// Those that fit into `room` cells.
    pub(crate) fn fitting(room: usize) -> Self {
        let mut shown = Self::ALL;
        while shown.width() > room
            && let Some((at, _)) =
                shown.groups().filter(|(_, group)| group.drop > 0).max_by_key(|(_, group)| group.drop)
        {
            shown.0[at] = false;
        }
        shown
    }

    fn groups(self) -> impl Iterator<Item = (usize, &'static Group)> {
        GROUPS.iter().enumerate().filter(move |(at, _)| self.0[*at])
    }

    /// Cells of a line.
    pub(crate) fn width(self) -> usize {
        self.groups().map(|(_, group)| group.names.len() + 1).sum::<usize>().saturating_sub(1)
    }

    /// Titles and names of the columns.
    pub(crate) fn heading(self) -> [String; 2] {
        let joined = |part: fn(&Group) -> &'static str, between| {
            self.groups().map(|(_, group)| part(group)).collect::<Vec<_>>().join(between)
        };
        [joined(|group| group.title, " "), joined(|group| group.names, "|")]
    }

    /// Names of the columns that are left out.
    pub(crate) fn left_out(self) -> Vec<&'static str> {
        let hidden = GROUPS.iter().zip(self.0).filter(|(_, is_shown)| !is_shown);
        hidden.flat_map(|(group, _)| group.names.split_whitespace()).collect()
    }
}

impl Row {
    /// Disk columns are sums over `drives`.
    pub fn of_rates(rates: &Rates, drives: &[DriveName]) -> Self {
        let disks = || drives.iter().filter_map(|drive| rates.disks.get(drive));
        let known = disks().next().is_some();
        let processes = rates.running.zip(rates.blocked).zip(rates.forks);
        Self {
            processes: processes.map(|((running, blocked), new)| [running as f64, blocked as f64, new]),
            cpu: rates.cpu,
            memory: rates.memory,
            requests: known
                .then(|| [disks().map(|disk| disk.reads).sum(), disks().map(|disk| disk.writes).sum()]),
            bytes: known.then(|| {
                [disks().map(|disk| disk.read_bytes).sum(), disks().map(|disk| disk.written_bytes).sum()]
            }),
        }
    }

    /// The same figures for CSV; a blank is not known.
    pub fn grid(&self) -> Grid {
        const NAMES: [&str; 16] = [
            "run", "blk", "new", "usr", "sys", "idl", "wai", "stl", "used", "free", "buff", "cach",
            "io_read", "io_writ", "dsk_read", "dsk_writ",
        ];
        fn cells<const N: usize>(values: Option<[f64; N]>) -> impl Iterator<Item = Cell> {
            values
                .map_or([None; N], |values| values.map(Some))
                .into_iter()
                .map(|value| Cell::number(value, 3))
        }
        let cpu = self.cpu.map(|cpu| [cpu.usr, cpu.sys, cpu.idl, cpu.wai, cpu.stl]);
        let memory = self.memory.map(|m| [m.used, m.free, m.buffers, m.cached].map(|bytes| bytes as f64));
        let first = cells(self.processes).chain(cells(cpu)).chain(cells(memory));
        let cells = first.chain(cells(self.requests)).chain(cells(self.bytes)).collect();
        let columns = NAMES.map(|name| number(name, 8, 0)).to_vec();
        Grid { columns, rows: vec![grid::Row { cells, mark: Mark::Plain }] }
    }

    pub fn line(&self, shown: Shown) -> String {
        let cpu = self.cpu.map(|cpu| [cpu.usr, cpu.sys, cpu.idl, cpu.wai, cpu.stl]);
        let memory = self.memory.map(|m| [m.used, m.free, m.buffers, m.cached].map(|bytes| bytes as f64));
        let groups = [
            group(self.processes, plain),
            group(cpu, |share| share.map_or_else(|| dash(3), |share| format!("{share:>3.0}"))),
            group(memory, |value| scaled(value, &BYTES)),
            group(self.requests, |value| scaled(value, &COUNTS)),
            group(self.bytes, |value| scaled(value, &BYTES)),
        ];
        let groups: Vec<&str> = shown.groups().map(|(at, _)| groups[at].as_str()).collect();
        groups.join("|").trim_end().to_owned()
    }
}

/// How a column is scaled.
struct Scale {
    base: f64,
    units: [char; 6],
    /// Whether numbers have decimals where they fit.
    decimals: bool,
}

const BYTES: Scale = Scale { base: 1024.0, units: ['B', 'k', 'M', 'G', 'T', 'P'], decimals: false };
const COUNTS: Scale = Scale { base: 1000.0, units: [' ', 'k', 'M', 'G', 'T', 'P'], decimals: true };

fn group<const N: usize>(values: Option<[f64; N]>, cell: impl Fn(Option<f64>) -> String) -> String {
    values.map_or([None; N], |values| values.map(Some)).map(cell).join(" ")
}

fn plain(value: Option<f64>) -> String {
    value.map_or_else(|| dash(3), |value| format!("{:>3}", fitted(value, 3)))
}

fn dash(width: usize) -> String {
    format!("{:>width$}", "-")
}

/// Four characters of number and one of unit: `1145k`, `13.8k`, ` 249G`, `   0 `.
fn scaled(value: Option<f64>, scale: &Scale) -> String {
    const WIDTH: usize = 4;
    let Some(mut value) = value else { return dash(WIDTH) + " " };
    if value.round() < 1.0 {
        return format!("{:>WIDTH$} ", 0);
    }
    let mut unit = scale.units[0];
    for next in scale.units {
        unit = next;
        if format!("{value:.0}").len() <= WIDTH {
            break;
        }
        value /= scale.base;
    }
    let number = if scale.decimals { fitted(value, WIDTH) } else { format!("{value:.0}") };
    format!("{number:>WIDTH$}{unit}")
}

fn fitted(value: f64, width: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let whole = format!("{value:.0}");
    let decimals = width.saturating_sub(whole.len() + 1);
    let exact = format!("{value:.decimals$}");
    if exact.len() <= width { exact } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_published_11_m_iops_run_reads_as_dstat_wrote_it() {
        let (m, g) = (1_048_576_u64, 1_073_741_824_u64);
        let row = Row {
            processes: Some([32.0, 0.0, 0.0]),
            cpu: Some(CpuShares { usr: 27.0, sys: 73.0, ..CpuShares::default() }),
            memory: Some(Memory { used: 2232 * m, free: 249 * g, buffers: 61 * m, cached: 568 * m }),
            requests: Some([11.1e6, 0.0]),
            bytes: Some([42.0 * g as f64, 0.0]),
        };
        assert_eq!(
            row.line(Shown::ALL),
            " 32   0   0| 27  73   0   0   0|2232M  249G   61M  568M|11.1M    0 |  42G    0"
        );
    }

    #[test]
    fn numbers_take_the_forms_dstat_gives_them() {
        let counts = |value| scaled(Some(value), &COUNTS);
        for (value, text) in [
            (1_145_000.0, "1145k"),
            (13_800.0, "13.8k"),
            (5947.0, "5947 "),
            (54.0, "54.0 "),
            (7.0, "7.00 "),
            (0.0, "   0 "),
            (138_000.0, " 138k"),
        ] {
            assert_eq!(counts(value), text);
        }
        assert_eq!(scaled(Some(6807.0 * 1_048_576.0), &BYTES), "6807M");
        assert_eq!(scaled(Some(52.0 * 1024.0), &BYTES), "  52k");
        assert_eq!((plain(Some(3.0)), plain(Some(75.0))), ("3.0".to_owned(), " 75".to_owned()));
        for value in [0.4, 0.6, 9999.4, 9999.6, 1e18, 1e30] {
            assert!(scaled(Some(value), &COUNTS).len() >= 5);
        }
    }

    #[test]
    fn what_is_not_known_is_a_dash_in_its_column() {
        let row = Row { requests: Some([1000.0, 0.0]), ..Row::default() };
        assert_eq!(
            row.line(Shown::ALL),
            "  -   -   -|  -   -   -   -   -|   -     -     -     - |1000     0 |   -     -"
        );
        let columns = |line: &str| line.match_indices('|').map(|(at, _)| at).collect::<Vec<_>>();
        for room in 0..=80 {
            let shown = Shown::fitting(room);
            let [titles, names] = shown.heading();
            assert_eq!((titles.len(), names.len()), (shown.width(), shown.width()));
            let line = row.line(shown);
            assert_eq!(columns(&line), columns(&names), "{room}");
            assert!(columns(&line).iter().all(|at| titles.as_bytes()[*at] == b' '), "{titles}");
            assert!(line.len() <= room.max(31), "{line}");
        }
    }

    #[test]
    fn a_narrow_line_leaves_groups_out_memory_first() {
        let names = |room| Shown::fitting(room).heading()[1].clone();
        assert_eq!(
            names(79),
            "run blk new|usr sys idl wai stl| used  free  buff  cach| read  writ| read  writ"
        );
        assert_eq!(names(78), "run blk new|usr sys idl wai stl| read  writ| read  writ");
        assert_eq!(names(54), "usr sys idl wai stl| read  writ| read  writ");
        assert_eq!(names(0), "usr sys idl wai stl| read  writ");
        assert_eq!(Shown::fitting(78).left_out(), ["used", "free", "buff", "cach"]);
        assert_eq!(Shown::ALL.left_out(), [""; 0]);
    }
}

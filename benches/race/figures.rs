//! What runs came to, and their table.

use std::{fmt::Write as _, fs};

/// CPU time spent so far, seconds: by ended children of this process, and by the whole machine.
#[derive(Clone, Copy)]
pub struct Spent {
    children: f64,
    machine: f64,
}

/// One run.
#[derive(Clone, Copy)]
pub struct Figure {
    iops: f64,
    process_ns: f64,
    machine_ns: f64,
}

impl Spent {
    /// `cutime` and `cstime` of `proc_pid_stat(5)`; everything but idle and iowait of the first row of `proc_stat(5)`.
    pub fn so_far() -> Self {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let (_, fields) = own.rsplit_once(')').unwrap();
        let children = sum(fields.split_whitespace().skip(13).take(2));
        let all = fs::read_to_string("/proc/stat").unwrap();
        let row = || all.lines().next().unwrap().split_whitespace().skip(1);
        let machine = sum(row().take(8)) - sum(row().skip(3).take(2));
        Self { children: children / ticks, machine: machine / ticks }
    }

    pub fn since(self, earlier: Self) -> Self {
        Self { children: self.children - earlier.children, machine: self.machine - earlier.machine }
    }
}

fn sum<'a>(fields: impl Iterator<Item = &'a str>) -> f64 {
    fields.map(|field| field.parse::<f64>().unwrap()).sum()
}

impl Figure {
    pub fn new(iops: f64, seconds: f64, spent: Spent) -> Self {
        let each = 1e9 / (iops * seconds).max(1.0);
        Self { iops, process_ns: spent.children * each, machine_ns: spent.machine * each }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// All racers of a course, the first compared with each of them round by round.
pub fn table(course: &str, rounds: usize, names: &[&str], figures: &[Vec<Figure>]) -> String {
    let mut text = format!("\n{course}, {rounds} rounds\n\n");
    text.push_str("| | IOPS | iodyno / it | CPU ns a read | machine ns a read |\n|---|---|---|---|---|\n");
    for (name, runs) in names.iter().zip(figures) {
        let ratios = || figures[0].iter().zip(runs).map(|(own, its)| own.iops / its.iops);
        let (least, most) = ratios().fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(r), m.max(r)));
        let of = |pick: fn(&Figure) -> f64| median(runs.iter().map(pick));
        let (iops, ratio) = (of(|run| run.iops), median(ratios()));
        let (process, machine) = (of(|run| run.process_ns), of(|run| run.machine_ns));
        writeln!(
            text,
            "| {name} | {iops:.0} | {ratio:.3} ({least:.3} to {most:.3}) | {process:.0} | {machine:.0} |"
        )
        .unwrap();
    }
    text
}

//! What runs came to, their table, and whether a bar is met.

use std::{fmt::Write as _, fs};

use iodyno::experiment::statistics::{Interval, log_ratios, median};

/// CPU time spent so far, seconds: by ended children of this process, and by the whole machine.
#[derive(Clone, Copy)]
pub struct Spent {
    children: f64,
    machine: f64,
}

/// One run.
#[derive(Clone, Copy)]
pub struct Figure {
    pub iops: f64,
    process_ns: f64,
    machine_ns: f64,
}

/// A bar for iodyno, the first racer.
#[derive(Clone, Copy)]
pub struct Bar {
    pub against: Rival,
    /// Least IOPS, as a multiple of the rival's.
    pub iops: f64,
    /// Most CPU time per read, as a multiple of the rival's.
    pub process_ns: Option<f64>,
}

/// The rival of a bar.
#[derive(Clone, Copy)]
pub enum Rival {
    Named(&'static str),
    /// The rival with the highest median, in rounds of its own: the highest of several equal ones was also lucky.
    Best,
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

fn all(runs: &[Figure], of: fn(&Figure) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

fn iops(runs: &[Figure]) -> Vec<f64> {
    all(runs, |run| run.iops)
}

/// The median of the rounds' ratios, with the interval of their geometric mean at 95 %.
fn ratio(own: &[f64], its: &[f64]) -> (f64, String) {
    let logs = log_ratios(own, its);
    let middle = median(&logs).unwrap().exp();
    let interval = Interval::of(&logs, 0.95).map(|interval| interval.ratios());
    let words = interval.map_or_else(String::new, |(_, low, high)| format!(" ({low:.3} to {high:.3})"));
    (middle, format!("{middle:.3}{words}"))
}

/// All racers of a course, the first compared with each of them round by round.
pub fn table(course: &str, names: &[&str], figures: &[Vec<Figure>]) -> String {
    let rounds = figures[0].len();
    let mut text = format!("\n**{course}**, {rounds} rounds\n\n");
    text.push_str("| | IOPS | iodyno's / its | CPU ns a read | machine ns a read |\n|---|---|---|---|---|\n");
    for (name, runs) in names.iter().zip(figures) {
        let of = |pick| median(&all(runs, pick)).unwrap();
        let (rate, process) = (of(|run| run.iops), of(|run| run.process_ns));
        let machine = of(|run| run.machine_ns);
        let ratio = ratio(&iops(&figures[0]), &iops(runs)).1;
        writeln!(text, "| {name} | {rate:.0} | {ratio} | {process:.0} | {machine:.0} |").unwrap();
    }
    text.push('\n');
    text
}

/// The racer with the highest median, without the first; `None` without another.
pub fn fastest(figures: &[Vec<Figure>]) -> Option<usize> {
    let median_of = |place: &usize| median(&iops(&figures[*place])).unwrap();
    (1..figures.len()).max_by(|a, b| median_of(a).total_cmp(&median_of(b)))
}

/// Whether iodyno reaches a bar against this rival, a line.
pub fn verdict(bar: &Bar, name: &str, own: &[Figure], its: &[Figure]) -> String {
    let met = |met: bool| if met { "met" } else { "NOT MET" };
    let (reached, words) = ratio(&iops(own), &iops(its));
    let (rounds, least) = (own.len(), bar.iops);
    let met_iops = met(reached >= least);
    let mut text = format!("- against {name}, {rounds} rounds: IOPS {words}, bar {least:.2}: {met_iops}");
    if let Some(most) = bar.process_ns {
        let (process, words) = ratio(&all(own, |run| run.process_ns), &all(its, |run| run.process_ns));
        let machine = ratio(&all(own, |run| run.machine_ns), &all(its, |run| run.machine_ns)).1;
        let met = met(process <= most);
        write!(text, "; CPU a read {words}, bar {most:.2}: {met}; the machine's {machine}").unwrap();
    }
    text.push('\n');
    text
}

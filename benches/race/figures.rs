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

/// What iodyno, the first racer, is to reach.
#[derive(Clone, Copy)]
pub struct Bar {
    pub against: Rival,
    /// Its reads per second as a multiple of the rival's.
    pub iops: f64,
    /// Its processor time for a read as a multiple of the rival's, the most it may be.
    pub process_ns: Option<f64>,
}

/// Whom a bar is about.
#[derive(Clone, Copy)]
pub enum Rival {
    Named(&'static str),
    /// Whoever has the highest median.
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

/// The median of the rounds' ratios, with the interval of their geometric mean at 95 %.
fn ratio(own: &[f64], its: &[f64]) -> (f64, String) {
    let logs = log_ratios(own, its);
    let middle = median(&logs).unwrap().exp();
    let interval = Interval::of(&logs, 0.95).map(|interval| interval.ratios());
    let words = interval.map_or_else(String::new, |(_, low, high)| format!(" ({low:.3} to {high:.3})"));
    (middle, format!("{middle:.3}{words}"))
}

/// All racers of a course, the first compared with each of them round by round.
pub fn table(course: &str, names: &[&str], figures: &[Vec<Figure>], bars: &[Bar]) -> String {
    let rounds = figures[0].len();
    let mut text = format!("\n**{course}**, {rounds} rounds\n\n");
    text.push_str("| | IOPS | iodyno's / its | CPU ns a read | machine ns a read |\n|---|---|---|---|---|\n");
    let iops = |runs: &[Figure]| all(runs, |run| run.iops);
    for (name, runs) in names.iter().zip(figures) {
        let of = |pick| median(&all(runs, pick)).unwrap();
        let (rate, process) = (of(|run| run.iops), of(|run| run.process_ns));
        let machine = of(|run| run.machine_ns);
        let ratio = ratio(&iops(&figures[0]), &iops(runs)).1;
        writeln!(text, "| {name} | {rate:.0} | {ratio} | {process:.0} | {machine:.0} |").unwrap();
    }
    text.push('\n');
    for bar in bars {
        let median_of = |place: &usize| median(&iops(&figures[*place])).unwrap();
        let place = match bar.against {
            Rival::Named(wanted) => names.iter().position(|name| *name == wanted),
            Rival::Best => (1..names.len()).max_by(|a, b| median_of(a).total_cmp(&median_of(b))),
        };
        // A competitor may not be installed.
        let Some(place) = place else { continue };
        let (reached, words) = ratio(&iops(&figures[0]), &iops(&figures[place]));
        let met = |met: bool| if met { "met" } else { "NOT MET" };
        write!(
            text,
            "- against {}: IOPS {words}, bar {:.2}: {}",
            names[place],
            bar.iops,
            met(reached >= bar.iops)
        )
        .unwrap();
        if let Some(most) = bar.process_ns {
            let cpu = |place: usize, of| all(&figures[place], of);
            let (process, words) = ratio(&cpu(0, |run| run.process_ns), &cpu(place, |run| run.process_ns));
            let machine = ratio(&cpu(0, |run| run.machine_ns), &cpu(place, |run| run.machine_ns)).1;
            let met = met(process <= most);
            write!(text, "; CPU a read {words}, bar {most:.2}: {met}; the machine's {machine}").unwrap();
        }
        text.push('\n');
    }
    text
}

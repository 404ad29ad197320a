//! The stats bar at the foot of every screen: a row a second as dstat prints it, bars of the CPUs where there is room, and
//! the curves of all reads and writes.

use std::{collections::VecDeque, time::Duration};

use ratatui::layout::Rect;

use super::{App, Mode, WHAT_IF, WHY, commands, cpu_panel};
use crate::{
    counters::{CpuShares, Memory, Rates},
    screens::widgets::{
        graph::{Curve, Graph, TimeAxis, sample},
        paint::{Brush, Piece, cells, inner, piece, width},
        span::Selection,
        words::RateUnit,
    },
    ui::{
        series::{Scale, Series, WINDOW},
        theme::Meaning,
    },
};

/// How many rows are kept.
const KEPT: usize = 60;

/// One second. A value that was not counted is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StatsRow {
    /// Runnable processes.
    pub running: Option<u64>,
    /// Blocked processes.
    pub blocked: Option<u64>,
    /// New processes per second.
    pub forks: Option<f64>,
    /// Shares of all CPUs, percent.
    pub cpu: Option<CpuShares>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Interrupts and context switches per second.
    pub system: Option<(f64, f64)>,
    /// Reads and writes per second of all drives.
    pub io: Option<(f64, f64)>,
    /// Bytes read and written per second of all drives.
    pub disk: Option<(f64, f64)>,
}

/// State of the stats bar.
#[derive(Debug, Clone)]
pub struct StatsBar {
    /// Rows, newest last.
    pub rows: VecDeque<StatsRow>,
    /// Bytes read per second of all drives.
    pub reads: Series,
    /// Bytes written per second of all drives.
    pub writes: Series,
    /// The top of their axis.
    pub scale: Scale,
    /// The span of time that is selected on them.
    pub(super) selection: Selection,
}

impl StatsRow {
    /// From counters; `is_summed` tells devices from those that would count the same bytes twice.
    pub fn from_rates(rates: &Rates, is_summed: impl Fn(&crate::model::DriveName) -> bool) -> Self {
        let disks = || rates.disks.iter().filter(|(name, _)| is_summed(name)).map(|(_, disk)| disk);
        let counted = !rates.disks.is_empty();
        Self {
            running: rates.running,
            blocked: rates.blocked,
            forks: rates.forks,
            cpu: rates.cpu,
            memory: rates.memory,
            system: rates
                .context_switches
                .filter(|_| !rates.interrupts.is_empty())
                .map(|switches| (rates.interrupts.iter().sum(), switches)),
            io: counted.then(|| (disks().map(|d| d.reads).sum(), disks().map(|d| d.writes).sum())),
            disk: counted
                .then(|| (disks().map(|d| d.read_bytes).sum(), disks().map(|d| d.written_bytes).sum())),
        }
    }
}

impl Default for StatsBar {
    fn default() -> Self {
        // 0.1 GB/s: what an idle machine reads now and then stays near the ground.
        Self {
            rows: VecDeque::new(),
            reads: Series::default(),
            writes: Series::default(),
            scale: Scale::new(1e8),
            selection: Selection::default(),
        }
    }
}

impl StatsBar {
    /// Adds a row.
    pub fn push_row(&mut self, row: StatsRow) {
        self.rows.push_back(row);
        if self.rows.len() > KEPT {
            self.rows.pop_front();
        }
    }

    /// Adds a point to the curves, bytes per second.
    pub fn push_point(&mut self, now: Duration, read: f64, written: f64) {
        self.reads.push(now, read);
        self.writes.push(now, written);
        self.scale.fit(now, self.reads.window_most().max(self.writes.window_most()));
    }

    /// The time axis of the curves in `area`, where there is a point.
    pub(super) fn axis(&self, area: Rect, is_boxed: bool) -> Option<TimeAxis> {
        let (now, _) = self.reads.points().next_back()?;
        TimeAxis::new(inner(area, is_boxed), WINDOW, now, &self.reads)
    }
}

/// A group of dstat's columns.
struct Group {
    /// The least width of the table in which it is shown.
    from: u16,
    heading: &'static str,
    cells: fn(&StatsRow) -> Vec<Option<f64>>,
    format: fn(f64) -> String,
    width: usize,
}

const GROUPS: &[Group] = &[
    Group {
        from: 0,
        heading: "run blk new",
        cells: |row| vec![row.running.map(|n| n as f64), row.blocked.map(|n| n as f64), row.forks],
        format: |value| format!("{value:.0}"),
        width: 3,
    },
    Group {
        from: 0,
        heading: "usr sys idl wai stl",
        cells: |row| {
            let share = |of: fn(&CpuShares) -> f64| row.cpu.as_ref().map(of);
            vec![share(|c| c.usr), share(|c| c.sys), share(|c| c.idl), share(|c| c.wai), share(|c| c.stl)]
        },
        format: |value| format!("{value:.0}"),
        width: 3,
    },
    Group {
        from: 67,
        heading: " used  free  buff  cach",
        cells: |row| {
            let bytes = |of: fn(&Memory) -> u64| row.memory.as_ref().map(|m| of(m) as f64);
            vec![bytes(|m| m.used), bytes(|m| m.free), bytes(|m| m.buffers), bytes(|m| m.cached)]
        },
        format: binary,
        width: 5,
    },
    Group {
        from: 94,
        heading: "  int   csw",
        cells: |row| vec![row.system.map(|system| system.0), row.system.map(|system| system.1)],
        format: decimal,
        width: 5,
    },
    Group {
        from: 82,
        // dstat's words with its headings above them; bytes have these too.
        heading: "  r/s   w/s",
        cells: |row| vec![row.io.map(|io| io.0), row.io.map(|io| io.1)],
        format: decimal,
        width: 5,
    },
    Group {
        from: 0,
        heading: " read  writ",
        cells: |row| vec![row.disk.map(|disk| disk.0), row.disk.map(|disk| disk.1)],
        format: binary,
        width: 5,
    },
];

pub(crate) fn draw(app: &App, brush: &mut Brush<'_>) {
    let (left, right) = (app.layout().dstat, app.layout().reads);
    // Captures and texts have no live counters, and no bar.
    if left.is_empty() {
        return;
    }
    let width = inner(left, brush.boxed).width;
    let shown: Vec<&Group> = GROUPS.iter().filter(|group| width >= group.from).collect();
    let note = unit_note(shown.len());
    let title = [piece("dstat", Meaning::Heading), piece(format!("  {note}"), Meaning::Quiet)];
    let inner = brush.panel(left, &title, &[]);
    table(app, brush, inner, &shown);
    cpu_panel::draw(app, brush, app.layout().cpus);
    curve(app, brush, right);
}

/// dstat's own units, said once.
const fn unit_note(shown: usize) -> &'static str {
    match shown {
        3 => "% of CPU, disk in B/s, K = 1024",
        4 => "processes, % of CPU, memory in B, disk in B/s, K = 1024",
        6 => "processes, % of CPU, memory in B, per s: int, csw, I/O, disk in B, K = 1024",
        _ => "processes, % of CPU, memory in B, I/O per s, disk in B/s, K = 1024",
    }
}

fn table(app: &App, brush: &mut Brush<'_>, inner: Rect, shown: &[&Group]) {
    let heading: Vec<&str> = shown.iter().map(|group| group.heading).collect();
    brush.text(inner.x, inner.y, inner.width, &heading.join("|"), Meaning::Quiet);
    let body = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    if app.stats_bar.rows.is_empty() {
        let shared = &app.shared;
        let text = match shared.mode {
            Mode::Demo(_) if shared.experiments.running().is_some() && app.screen == WHAT_IF => {
                "A demo's experiment has no counters."
            }
            Mode::Demo(_) if shared.experiments.running().is_some() && app.layout().reads.is_empty() => {
                "Experiment: {what-if} shows its runs."
            }
            Mode::Demo(_) if shared.experiments.running().is_some() => {
                "Experiment: its reads are in the curve."
            }
            Mode::Demo(_) if shared.tests.running().is_none() && commands::begins_pull(app.screen) => {
                "No counters until a test runs: press {pull}"
            }
            Mode::Demo(_) if shared.tests.running().is_none() => "No counters until a test runs.",
            _ => "Counting; first row after one second.",
        };
        brush.text(body.x, body.y, body.width, &app.shared.keys.fill(text), Meaning::Quiet);
        return;
    }
    let rows = usize::from(body.height);
    let newest = app.stats_bar.rows.len().saturating_sub(rows);
    for (y, row) in (body.y..).zip(app.stats_bar.rows.iter().skip(newest)) {
        let mut x = body.x;
        for (index, group) in shown.iter().enumerate() {
            if index > 0 {
                x = brush.text(x, y, 1, "|", Meaning::Lines);
            }
            x = group_cells(brush, group, row, x, y);
        }
    }
}

fn group_cells(brush: &mut Brush<'_>, group: &Group, row: &StatsRow, mut x: u16, y: u16) -> u16 {
    for (index, value) in (group.cells)(row).into_iter().enumerate() {
        if index > 0 {
            x += 1;
        }
        let text = value.map_or_else(|| "-".to_owned(), group.format);
        let meaning = if value.is_some_and(|value| value >= 0.5) { Meaning::Text } else { Meaning::Quiet };
        let text = format!("{text:>wide$}", wide = group.width);
        x = brush.text(x, y, cells(&text), &text, meaning);
    }
    x
}

fn curve(app: &App, brush: &mut Brush<'_>, area: Rect) {
    let bar = &app.stats_bar;
    let units = app.shared.units;
    let is_counted = bar.reads.last().is_some();
    let last = |series: &Series| series.last().unwrap_or(0.0);
    let most = bar.reads.most().max(bar.writes.most());
    let rates = match bar.selection.span {
        Some(span) => span.rates([&bar.reads, &bar.writes]),
        None => vec![last(&bar.reads), last(&bar.writes), most],
    };
    let rate = RateUnit::of(units, rates);
    let lines = Curve::above_ground(&bar.writes, Meaning::Writes, bar.scale.top());
    // Two curves need more than colours to be told apart.
    let sample = |filled, meaning| piece(if lines.is_some() { sample(filled) } else { "" }, meaning);
    let in_words = |[reads, gap, writes]: [&'static str; 3], unit: &str| {
        let figure = |series| {
            piece(
                if is_counted { format!(" {}", rate.write(last(series))) } else { String::new() },
                Meaning::Figure,
            )
        };
        vec![
            sample(true, Meaning::Load),
            piece(reads, Meaning::Load),
            figure(&bar.reads),
            piece(gap, Meaning::Text),
            sample(false, Meaning::Writes),
            piece(writes, Meaning::Writes),
            figure(&bar.writes),
            piece(unit, Meaning::Quiet),
        ]
    };
    // Short words keep whole figures on narrow terminals.
    let frame = if brush.boxed { 5 } else { 3 };
    // Figures of other panels of that screen may be means of a longer time.
    let is_beside_means = app.screen == WHY && is_counted;
    let seconds = app.shared.rates.as_ref().map_or(1.0, |rates| rates.elapsed.as_secs_f64());
    let unit = rate.behind();
    let leads = [format!("last {seconds:.0} s: "), format!("{seconds:.0} s: "), String::new()];
    let brief = ["rd", " ", "wr"];
    // The unit is that of the axis: it goes last.
    let words = [(["reads", "  ", "writes"], &*unit), (brief, &unit)];
    let leads = leads.iter().filter(|lead| is_beside_means || lead.is_empty());
    let titles = leads.flat_map(|lead| words.map(|(words, unit)| (&**lead, words, unit)));
    let titles = titles.chain([("", ["r", " ", "w"], &*unit), ("", brief, "")]);
    let titles =
        titles.map(|(lead, words, unit)| [vec![piece(lead, Meaning::Quiet)], in_words(words, unit)].concat());
    let titles: Vec<Vec<Piece>> = titles.collect();
    let fits = |title: &&Vec<Piece>| width(title) + frame <= area.width;
    let mut title = titles.iter().find(fits).or(titles.last()).cloned().unwrap_or_default();
    let max = piece(format!("  max {}", rate.write(most)), Meaning::Quiet);
    if is_counted && width(&title) + width(std::slice::from_ref(&max)) + 4 < area.width {
        title.push(max);
    }
    if let Some(span) = bar.selection.span {
        let curves = [("reads", "rd", &bar.reads), ("writes", "wr", &bar.writes)];
        let room = area.width.saturating_sub(frame);
        let words = span.words(&curves, &|value| rate.write(value), &rate.at_the_end(), room);
        title = vec![piece(words, Meaning::Figure)];
    }
    let inner = brush.panel(area, &title, &[]);
    let now = bar.reads.points().next_back().map_or(app.shared.now, |(at, _)| at);
    let mut curves = vec![Curve { series: &bar.reads, meaning: Meaning::Load, filled: true }];
    curves.extend(lines);
    let graph = Graph {
        curves,
        top: units.axis(bar.scale.top()),
        label: &|value| rate.label(value),
        level: None,
        window: WINDOW,
    };
    graph.draw(brush, inner, now);
    if let Some((axis, span)) = TimeAxis::new(inner, WINDOW, now, &bar.reads).zip(bar.selection.span) {
        axis.mark(span.from, span.to, brush);
    }
}

/// As dstat writes bytes: powers of 1024, up to four digits, `2402M`, `51.1G`.
fn binary(value: f64) -> String {
    suffixed(value, 1024.0, ["B", "k", "M", "G", "T"])
}

/// As dstat writes counts: `138k`, `11.1M`.
fn decimal(value: f64) -> String {
    suffixed(value, 1000.0, ["", "k", "M", "G", "T"])
}

fn suffixed(value: f64, base: f64, suffixes: [&str; 5]) -> String {
    let mut number = value;
    let mut at = 0;
    while number >= 1000.0 && at < 4 {
        number /= base;
        at += 1;
    }
    if value < 0.5 {
        return "0".to_owned();
    }
    let decimals = usize::from(at > 0 && number < 99.95);
    format!("{number:.decimals$}{}", suffixes[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_has_every_word_of_the_headings() {
        let terms = crate::app::glossary::TERMS.iter();
        let explained: String = terms
            .filter(|(_, text)| text.contains("dstat"))
            .flat_map(|(term, text)| [*term, " ", *text, " "])
            .collect();
        for word in GROUPS.iter().flat_map(|group| group.heading.split_whitespace()) {
            let is_there =
                explained.split(|c: char| c != '/' && !c.is_ascii_alphanumeric()).any(|one| one == word);
            assert!(is_there, "{word}");
        }
        for term in ["arm", "baseline", "hipri", "verdict", "wbt"] {
            assert!(crate::app::glossary::TERMS.iter().any(|(known, _)| *known == term), "{term}");
        }
    }

    #[test]
    fn numbers_fit_their_columns_as_dstat_writes_them() {
        assert_eq!(binary(66.0 * 1024f64.powi(3)), "66.0G");
        assert_eq!(decimal(11_100_000.0), "11.1M");
        assert_eq!(decimal(138_000.0), "138k");
        assert_eq!(binary(0.0), "0");
        assert_eq!(binary(1023.0), "1.0k");
        for group in GROUPS {
            let cells = (group.cells)(&StatsRow::default()).len();
            assert_eq!(group.heading.len(), cells * (group.width + 1) - 1, "{}", group.heading);
        }
        for value in [1.0, 999.0, 1000.0, 1e6, 99.96 * 1024.0, 1e12, 1e15] {
            assert!(binary(value).len() <= 5 && decimal(value).len() <= 5, "{value}");
        }
    }
}

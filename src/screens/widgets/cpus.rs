//! CPUs by kind of time: a bar for each, a heat map for hundreds, NUMA nodes apart; idle ones folded where there are many.

use std::collections::BTreeMap;

use ratatui::layout::Rect;

use super::paint::{Brush, Piece, cells, piece};
use crate::{
    report::why::tables::{BUSY, KINDS, MUCH_IRQ, Split},
    ui::theme::Meaning,
    units::counted,
};

/// One row of bars.
#[derive(Clone, Copy)]
enum Entry {
    Node(u32),
    Cpu(u32, Split),
    /// This many that are idle.
    Idle(usize),
}

/// CPUs to draw.
#[derive(Clone)]
pub(crate) struct Cpus {
    entries: Vec<Entry>,
    /// The same with idle CPUs folded, for bars.
    folded: Vec<Entry>,
}

/// From this many CPUs on, idle ones are folded.
const MANY: usize = 8;

/// How CPUs are drawn.
enum Shape {
    /// A bar each with a figure for every kind of time.
    Figures,
    /// Bars in this many columns.
    Bars(usize),
    /// A heat map with this many cells for each.
    Heat(u16),
}

/// Kinds in the order of their legend, where those that bars have come first if room is short: usr sys irq softirq iowait steal nice guest.
const LEGEND: [usize; 8] = [0, 2, 3, 4, 7, 5, 1, 6];

/// Without idle CPUs, which are counted at the end of their node.
fn folded(entries: &[Entry]) -> Vec<Entry> {
    const IDLE: f64 = 99.0;
    let is_idle = |entry: &&Entry| matches!(entry, Entry::Cpu(_, split) if split.idle >= IDLE);
    let cpus = entries.iter().filter(|entry| matches!(entry, Entry::Cpu(..))).count();
    if cpus <= MANY {
        return entries.to_vec();
    }
    let mut folded: Vec<Entry> = Vec::new();
    let mut idle = 0;
    for entry in entries {
        match entry {
            Entry::Node(_) => {
                folded.extend((idle > 0).then_some(Entry::Idle(idle)));
                idle = 0;
                folded.push(*entry);
            }
            entry if is_idle(&entry) => idle += 1,
            entry => folded.push(*entry),
        }
    }
    folded.extend((idle > 0).then_some(Entry::Idle(idle)));
    folded
}

/// The least width of a bar with its label and figure.
const LEAST_BAR: u16 = 18;
/// The least width with a figure for each kind of time.
const WITH_FIGURES: u16 = 72;
/// Width of the label of a row of the heat map.
const LABEL: u16 = 9;
/// Width of one figure.
const FIGURE: u16 = 6;

/// Cells below which nothing is drawn.
const LEAST_WIDTH: u16 = 8;

impl Cpus {
    /// In the order of NUMA nodes, where there are several.
    pub(crate) fn new(cpus: impl Iterator<Item = (u32, Split)>, nodes: &BTreeMap<u32, u32>) -> Self {
        let mut all: Vec<(Option<u32>, u32, Split)> =
            cpus.map(|(cpu, split)| (nodes.get(&cpu).copied(), cpu, split)).collect();
        all.sort_by_key(|(node, cpu, _)| (*node, *cpu));
        let mut entries = Vec::new();
        let mut before = None;
        for (node, cpu, split) in all {
            if node != before {
                entries.extend(node.map(Entry::Node));
                before = node;
            }
            entries.push(Entry::Cpu(cpu, split));
        }
        let folded = folded(&entries);
        Self { entries, folded }
    }

    /// The same with a bar for each idle CPU too, where those have room in `rows`.
    pub(crate) fn unfolded(&self, width: u16, rows: u16) -> Option<Self> {
        let all = Self { entries: self.entries.clone(), folded: self.entries.clone() };
        (all.folded.len() > self.folded.len() && all.rows(width) <= usize::from(rows)).then_some(all)
    }

    /// The sign of each kind of time that a bar has, as many as fit; of a heat map its figures.
    pub(crate) fn legend(&self, area: Rect, room: u16) -> Vec<Piece> {
        if let Shape::Heat(cells) = self.shape(area) {
            let text = if cells == 1 { "  5 = 50 % busy" } else { "  % busy" };
            return vec![piece(text, Meaning::Quiet)];
        }
        let most = self.most();
        let mut order: Vec<usize> = LEGEND.into_iter().filter(|at| most[*at] > 0.0).collect();
        order.sort_by(|a, b| most[*b].total_cmp(&most[*a]));
        let mut left = room;
        let fits = |at: &usize| {
            let needed = u16::try_from(KINDS[*at].1.len() + 4).unwrap_or(u16::MAX);
            let rest = left.checked_sub(needed);
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        let shown: Vec<usize> = order.into_iter().take_while(fits).collect();
        let shown = LEGEND.into_iter().filter(|at| shown.contains(at)).map(|at| KINDS[at]);
        let entry = |(sign, name)| {
            [piece(format!("  {sign}"), meaning(sign)), piece(format!(" {name}"), Meaning::Quiet)]
        };
        shown.flat_map(entry).collect()
    }

    /// The largest share that a CPU has of each kind of time, in the order of [`KINDS`]; zero where it draws no cell.
    fn most(&self) -> [f64; KINDS.len()] {
        const LEAST: f64 = 1.0;
        let mut most = [0.0; KINDS.len()];
        for entry in &self.entries {
            let Entry::Cpu(_, split) = entry else { continue };
            for (most, part) in most.iter_mut().zip(split.parts()) {
                *most = part.max(*most);
            }
        }
        most.map(|part| if part < LEAST { 0.0 } else { part })
    }

    /// Rows of a bar for each, in columns where there are many.
    pub(crate) fn rows(&self, width: u16) -> usize {
        const FEW: usize = 16;
        let columns = if self.folded.len() <= FEW { 1 } else { usize::from((width / 30).max(1)) };
        self.folded.len().div_ceil(columns) + usize::from(columns == 1 && width >= WITH_FIGURES)
    }

    /// The same in two columns, where others need the rows.
    pub(crate) fn least_rows(&self, width: u16) -> usize {
        let columns = if width / 2 >= LEAST_BAR { 2 } else { 1 };
        self.folded.len().div_ceil(columns).min(self.rows(width))
    }

    /// As large as they fit: bars with figures, bars, bars in columns, a heat map.
    fn shape(&self, area: Rect) -> Shape {
        let rows = usize::from(area.height);
        if self.folded.len() < rows && area.width >= WITH_FIGURES {
            return Shape::Figures;
        }
        let columns = self.folded.len().div_ceil(rows.max(1)).max(1);
        if u16::try_from(columns).is_ok_and(|columns| area.width / columns >= LEAST_BAR) {
            return Shape::Bars(columns);
        }
        // Percent where there is room for it, else tenths.
        Shape::Heat(if self.heat_rows(area.width, 4) <= rows { 4 } else { 1 })
    }

    /// The rows that they take there.
    pub(crate) fn taken(&self, area: Rect) -> usize {
        if area.height == 0 || area.width < LEAST_WIDTH {
            return 0;
        }
        match self.shape(area) {
            Shape::Figures => self.folded.len() + 1,
            Shape::Bars(columns) => self.folded.len().div_ceil(columns),
            Shape::Heat(cells) => self.heat_rows(area.width, cells),
        }
    }

    /// Draws them; the rows it took.
    pub(crate) fn draw(&self, brush: &mut Brush<'_>, area: Rect) -> usize {
        if area.height == 0 || area.width < LEAST_WIDTH {
            return 0;
        }
        match self.shape(area) {
            Shape::Figures => {
                Self::figures_heading(brush, area);
                let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
                self.bars(brush, below, 1, true);
            }
            Shape::Bars(columns) => self.bars(brush, area, columns, false),
            Shape::Heat(cells) => self.heat(brush, area, cells),
        }
        self.taken(area)
    }

    /// CPUs in a row of a heat map: a round number is easier to count.
    fn per_row(width: u16, cells: u16) -> usize {
        let most = usize::from(width.saturating_sub(LABEL) / cells).max(1);
        if most >= 8 { most / 8 * 8 } else { most }
    }

    fn heat_rows(&self, width: u16, cells: u16) -> usize {
        let per_row = Self::per_row(width, cells);
        let nodes = self.entries.split(|entry| matches!(entry, Entry::Node(_)));
        nodes.map(|cpus| cpus.len().div_ceil(per_row)).sum()
    }

    fn figures_heading(brush: &mut Brush<'_>, area: Rect) {
        let names = ["usr", "nice", "sys", "irq", "soft", "steal", "guest", "wait", "idle"];
        let x = area.right().saturating_sub(FIGURE * 9);
        for (x, name) in (x..).step_by(usize::from(FIGURE)).zip(names) {
            brush.text(x, area.y, FIGURE, &format!("{name:>6}"), Meaning::Quiet);
        }
    }

    fn bars(&self, brush: &mut Brush<'_>, area: Rect, columns: usize, with_figures: bool) {
        // Columns are as long as each other.
        let rows = self.folded.len().div_ceil(columns).clamp(1, usize::from(area.height).max(1));
        let wide = area.width / u16::try_from(columns).unwrap_or(1);
        for (at, entry) in self.folded.iter().enumerate().take(rows * columns) {
            let column = u16::try_from(at / rows).unwrap_or(0);
            let y = area.y + u16::try_from(at % rows).unwrap_or(0);
            let (x, gap) = (area.x + column * wide, u16::from(columns > 1) * 2);
            match entry {
                Entry::Node(node) => {
                    brush.text(x, y, wide, &format!("node {node}"), Meaning::Heading);
                }
                Entry::Idle(count) => {
                    let text = format!("     {} idle", counted(*count, "CPU"));
                    brush.text(x, y, wide, &text, Meaning::Quiet);
                }
                Entry::Cpu(cpu, split) => {
                    let place = Rect { x, y, width: wide - gap, height: 1 };
                    bar_of(brush, place, *cpu, *split, with_figures);
                }
            }
        }
    }

    /// Busy time of each CPU in percent, or in tenths where a CPU has one cell. Each node begins a row.
    fn heat(&self, brush: &mut Brush<'_>, area: Rect, cells: u16) {
        let per_row = Self::per_row(area.width, cells);
        let (mut y, mut column, mut node) = (area.y, per_row, None);
        let mut is_first = true;
        for (at, entry) in self.entries.iter().enumerate() {
            match entry {
                Entry::Node(number) => (node, column) = (Some(*number), per_row),
                Entry::Idle(_) => {}
                Entry::Cpu(cpu, split) => {
                    if column >= per_row {
                        y += u16::from(!is_first);
                        is_first = false;
                        column = 0;
                        if y >= area.bottom() {
                            let rest = self.entries.len() - at;
                            brush.write_right(
                                area.right(),
                                area.bottom() - 1,
                                &[(format!(" {rest} more "), Meaning::Quiet)],
                            );
                            return;
                        }
                        let label = node.map_or_else(
                            || format!("{cpu:>7}"),
                            |node| format!("{:>7}", format!("{node}:{cpu}")),
                        );
                        brush.text(area.x, y, LABEL - 1, &label, Meaning::Quiet);
                    }
                    let x = area.x + LABEL + u16::try_from(column).unwrap_or(0) * cells;
                    let text = match cells {
                        1 => format!("{:.0}", (split.busy() / 10.0).floor().min(9.0)),
                        _ => format!("{:>3.0}", split.busy()),
                    };
                    brush.text(x, y, cells, &text, heat_meaning(*split));
                    column += 1;
                }
            }
        }
    }
}

fn heat_meaning(split: Split) -> Meaning {
    match split.busy() {
        _ if split.interrupts() >= MUCH_IRQ => Meaning::Problem,
        busy if busy >= BUSY => Meaning::Warning,
        busy if busy >= 10.0 => Meaning::Load,
        _ => Meaning::Quiet,
    }
}

const fn meaning(kind: char) -> Meaning {
    match kind {
        'u' => Meaning::Load,
        's' => Meaning::Drive,
        'h' => Meaning::Problem,
        'x' | 't' => Meaning::Warning,
        '·' => Meaning::Lines,
        _ => Meaning::Quiet,
    }
}

/// `  3 uuuussssssss········  72 %`, with figures of every kind where there is room.
fn bar_of(brush: &mut Brush<'_>, place: Rect, cpu: u32, split: Split, with_figures: bool) {
    let Rect { x, y, width, .. } = place;
    let label = format!("{cpu:>4} ");
    brush.text(x, y, 5, &label, Meaning::Quiet);
    let figures = if with_figures { FIGURE * 9 } else { 6 };
    let room = width.saturating_sub(5 + figures);
    for cell in 0..room {
        let kind = kind_at(split, (f64::from(cell) + 0.5) / f64::from(room) * 100.0);
        let style = brush.theme.style(meaning(kind));
        brush.cell(x + 5 + cell, y, kind, style);
    }
    if with_figures {
        let xs = (place.right().saturating_sub(figures)..).step_by(usize::from(FIGURE));
        for ((x, part), (kind, _)) in xs.zip(split.parts()).zip(KINDS) {
            let style = match kind {
                '·' => Meaning::Quiet,
                _ if part < 0.5 => Meaning::Lines,
                'h' | 'x' if part >= MUCH_IRQ => Meaning::Problem,
                _ => Meaning::Figure,
            };
            brush.text(x, y, FIGURE, &format!("{part:>6.0}"), style);
        }
        return;
    }
    let text = format!("{:>4.0} %", split.busy());
    brush.text(place.right().saturating_sub(cells(&text)), y, 6, &text, figure_meaning(split));
}

fn figure_meaning(split: Split) -> Meaning {
    match heat_meaning(split) {
        Meaning::Load => Meaning::Figure,
        other => other,
    }
}

/// The kind of time at a percentage of the bar.
fn kind_at(split: Split, percent: f64) -> char {
    let mut end = 0.0;
    for ((kind, _), part) in KINDS.iter().zip(split.parts()) {
        end += part;
        if percent < end {
            return *kind;
        }
    }
    '·'
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::ui::theme::{Palette, Theme};

    #[test]
    fn a_bar_has_each_kind_in_its_share() {
        let split = Split { usr: 25.0, sys: 50.0, irq: 10.0, idle: 15.0, ..Split::default() };
        let bar: String = (0..20).map(|cell| kind_at(split, (f64::from(cell) + 0.5) * 5.0)).collect();
        assert_eq!(bar, "uuuuusssssssssshh···");
    }

    fn idle(cpus: std::ops::Range<u32>) -> impl Iterator<Item = (u32, Split)> {
        cpus.map(|cpu| (cpu, Split { idle: 100.0, ..Split::default() }))
    }

    #[test]
    fn idle_cpus_of_many_are_one_row_for_each_node() {
        let busy = [(3, Split { sys: 97.0, idle: 3.0, ..Split::default() })];
        let all = || idle(0..3).chain(busy).chain(idle(4..32));
        let one = Cpus::new(all(), &BTreeMap::new());
        assert_eq!(one.folded.len(), 2);
        assert!(matches!(one.folded[..], [Entry::Cpu(3, _), Entry::Idle(31)]));
        assert_eq!(one.rows(80), 3, "with a heading");
        let nodes = (0..32).map(|cpu| (cpu, cpu / 16)).collect();
        let two = Cpus::new(all(), &nodes);
        let counts: Vec<usize> = two
            .folded
            .iter()
            .filter_map(|entry| if let Entry::Idle(count) = entry { Some(*count) } else { None })
            .collect();
        assert_eq!(counts, [15, 16]);
        assert_eq!(Cpus::new(idle(0..8), &BTreeMap::new()).folded.len(), 8, "few CPUs are all shown");
    }

    #[test]
    fn columns_of_bars_end_where_the_rows_below_them_begin() {
        let busy = |cpu| (cpu, Split { usr: 90.0, idle: 10.0, ..Split::default() });
        let cpus = Cpus::new((0..20).map(busy), &BTreeMap::new());
        let area = Rect::new(0, 0, 60, 17);
        let mut buffer = Buffer::empty(area);
        let used = cpus.draw(&mut Brush::new(&mut buffer, Theme::new(Palette::Dark), true), area);
        assert_eq!(used, 10, "two columns of ten");
        let last =
            (0..area.height).filter(|y| (0..area.width).any(|x| buffer[(x, *y)].symbol() != " ")).max();
        assert_eq!(last, Some(9));
    }

    #[test]
    fn the_legend_has_whole_entries_and_fits() {
        let area = Rect::new(0, 0, 40, 8);
        let idle = Cpus::new(idle(0..4), &BTreeMap::new());
        assert!(idle.legend(area, 90).is_empty(), "no bar has a sign");
        let every = Split {
            usr: 20.0,
            nice: 10.0,
            sys: 10.0,
            irq: 10.0,
            softirq: 10.0,
            steal: 10.0,
            guest: 10.0,
            iowait: 10.0,
            idle: 10.0,
        };
        let cpus = Cpus::new([(0, every)].into_iter(), &BTreeMap::new());
        for room in 0..90 {
            let text: String = cpus.legend(area, room).into_iter().map(|(text, _)| text).collect();
            assert!(cells(&text) <= room, "{text:?} in {room}");
            assert!(text.is_empty() || text.starts_with("  u usr"), "{text:?}");
        }
        let all: String = cpus.legend(area, 90).into_iter().map(|(text, _)| text).collect();
        assert_eq!(all, "  u usr  s sys  h irq  x softirq  w iowait  t steal  n nice  g guest");
        let nice = Split { nice: 50.0, steal: 10.0, sys: 5.0, idle: 35.0, ..Split::default() };
        let legend = Cpus::new([(0, nice)].into_iter(), &BTreeMap::new()).legend(area, 30);
        let text: String = legend.into_iter().map(|(text, _)| text).collect();
        assert_eq!(text, "  s sys  t steal  n nice", "what the bars have");
        let many =
            Cpus::new((0..512).map(|cpu| (cpu, Split { usr: 50.0, ..Split::default() })), &BTreeMap::new());
        assert_eq!(many.legend(area, 90)[0].0, "  5 = 50 % busy");
    }

    #[test]
    fn nodes_are_apart_only_where_there_are_several() {
        let cpus = || (0..4).map(|cpu| (cpu, Split::default()));
        assert_eq!(Cpus::new(cpus(), &BTreeMap::new()).rows(80), 5);
        let nodes = [(0, 1), (1, 0), (2, 1), (3, 0)].into();
        let order: Vec<Option<u32>> = Cpus::new(cpus(), &nodes)
            .entries
            .iter()
            .map(|entry| match entry {
                Entry::Node(_) => None,
                Entry::Cpu(cpu, _) => Some(*cpu),
                Entry::Idle(_) => panic!("nothing is folded here"),
            })
            .collect();
        assert_eq!(order, [None, Some(1), Some(3), None, Some(0), Some(2)]);
    }
}

//! CPUs by kind of time: a bar for each, a heat map for hundreds, NUMA nodes apart.

use std::collections::BTreeMap;

use ratatui::layout::Rect;

use crate::{
    report::why::tables::{BUSY, KINDS, MUCH_IRQ, Split},
    screens::widgets::paint::{Brush, cells},
    ui::theme::Meaning,
};

/// One row of bars.
#[derive(Clone, Copy)]
enum Entry {
    Node(u32),
    Cpu(u32, Split),
}

/// CPUs to draw.
pub(super) struct Cpus {
    entries: Vec<Entry>,
}

/// The least width of a bar with its label and figure.
const LEAST_BAR: u16 = 18;
/// The least width with a figure for each kind of time.
const WITH_FIGURES: u16 = 72;
/// Width of the label of a row of the heat map.
const LABEL: u16 = 9;
/// Width of one figure.
const FIGURE: u16 = 5;

impl Cpus {
    /// In the order of NUMA nodes, where there are several.
    pub(super) fn new(cpus: impl Iterator<Item = (u32, Split)>, nodes: &BTreeMap<u32, u32>) -> Self {
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
        Self { entries }
    }

    /// Rows of a bar for each, in columns where there are many.
    pub(super) fn rows(&self, width: u16) -> usize {
        const FEW: usize = 16;
        let columns = if self.entries.len() <= FEW { 1 } else { usize::from((width / 30).max(1)) };
        self.entries.len().div_ceil(columns) + usize::from(columns == 1 && width >= WITH_FIGURES)
    }

    /// Draws them as large as they fit: bars with figures, bars, bars in columns, a heat map. The rows it took.
    pub(super) fn draw(&self, brush: &mut Brush<'_>, area: Rect) -> usize {
        if area.height == 0 || area.width < 8 {
            return 0;
        }
        let rows = usize::from(area.height);
        if self.entries.len() < rows && area.width >= WITH_FIGURES {
            Self::figures_heading(brush, area);
            let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
            self.bars(brush, below, 1, true);
            return self.entries.len() + 1;
        }
        let columns = self.entries.len().div_ceil(rows).max(1);
        let fits = u16::try_from(columns).is_ok_and(|columns| area.width / columns >= LEAST_BAR);
        if fits {
            self.bars(brush, area, columns, false);
            self.entries.len().div_ceil(columns)
        } else {
            // Percent where there is room for it, else tenths.
            let cells = if self.heat_rows(area.width, 4) <= rows { 4 } else { 1 };
            self.heat(brush, area, cells);
            self.heat_rows(area.width, cells)
        }
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
            brush.text(x, area.y, FIGURE, &format!("{name:>5}"), Meaning::Quiet);
        }
    }

    fn bars(&self, brush: &mut Brush<'_>, area: Rect, columns: usize, with_figures: bool) {
        let rows = usize::from(area.height).max(1);
        let wide = area.width / u16::try_from(columns).unwrap_or(1);
        for (at, entry) in self.entries.iter().enumerate().take(rows * columns) {
            let column = u16::try_from(at / rows).unwrap_or(0);
            let y = area.y + u16::try_from(at % rows).unwrap_or(0);
            let (x, gap) = (area.x + column * wide, u16::from(columns > 1) * 2);
            match entry {
                Entry::Node(node) => {
                    brush.text(x, y, wide, &format!("node {node}"), Meaning::Heading);
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
            brush.text(x, y, FIGURE, &format!("{part:>5.0}"), style);
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
    use super::*;

    #[test]
    fn a_bar_has_each_kind_in_its_share() {
        let split = Split { usr: 25.0, sys: 50.0, irq: 10.0, idle: 15.0, ..Split::default() };
        let bar: String = (0..20).map(|cell| kind_at(split, (f64::from(cell) + 0.5) * 5.0)).collect();
        assert_eq!(bar, "uuuuusssssssssshh···");
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
            })
            .collect();
        assert_eq!(order, [None, Some(1), Some(3), None, Some(0), Some(2)]);
    }
}

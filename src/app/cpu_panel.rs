//! The CPUs in the stats bar: a bar each by kind of time, or a heat map where there are too many for bars.

use ratatui::layout::Rect;

use super::{App, Mode};
use crate::{
    counters::CpuShares,
    screens::widgets::paint::{Brush, Piece, cells, inner, piece},
    ui::theme::Meaning,
    units::counted,
};

/// A kind of CPU time: its word, sign and style, and its share in percent.
type Kind = (&'static str, char, Meaning, fn(&CpuShares) -> f64);

/// In the order in which they fill a bar.
const KINDS: [Kind; 5] = [
    ("usr", '█', Meaning::Good, |cpu| cpu.usr),
    ("sys", '▓', Meaning::Load, |cpu| cpu.sys - cpu.irq),
    ("irq", '▒', Meaning::Warning, |cpu| cpu.irq),
    ("wai", '░', Meaning::Quiet, |cpu| cpu.wai),
    ("stl", '▚', Meaning::Problem, |cpu| cpu.stl),
];

/// Busy shares from which a cell of the heat map has a sign.
const SHADES: [(f64, char); 5] = [(80.0, '█'), (50.0, '▓'), (20.0, '▒'), (5.0, '░'), (0.0, '·')];

/// Cells of a CPU's number and its percentage, with the gaps around its bar.
const TEXT: u16 = 9;
/// The shortest bar.
const SHORTEST: u16 = 8;

pub(super) fn draw(app: &App, brush: &mut Brush<'_>, area: Rect) {
    if area.width == 0 {
        return;
    }
    let rates = app.shared.rates.as_ref();
    let cpus: Vec<(String, CpuShares)> = rates.map_or_else(Vec::new, |rates| {
        let each = rates.cpus.iter().map(|(number, shares)| (number.to_string(), *shares));
        let all = rates.cpu.filter(|_| rates.cpus.is_empty()).map(|all| ("all".to_owned(), all));
        each.chain(all).collect()
    });
    let inside = inner(area, brush.boxed);
    let columns = columns(cpus.len(), inside);
    brush.panel(area, &title(columns.is_none(), area.width), &[]);
    if cpus.is_empty() {
        let text = match app.shared.mode {
            Mode::Capture | Mode::Folder => "A capture has no live counters.",
            Mode::Demo(_) => "No counters until a test runs.",
            Mode::Live => "Counting; first bars after one second.",
        };
        brush.text(inside.x, inside.y, inside.width, text, Meaning::Quiet);
        return;
    }
    match columns {
        Some(columns) => bars(brush, inside, &cpus, columns),
        None => heat(brush, inside, &cpus),
    }
}

fn title(is_heat: bool, room: u16) -> Vec<Piece> {
    let mut title = vec![piece("CPUs", Meaning::Heading)];
    if is_heat {
        const LEGENDS: [&str; 2] = ["  busy: · 0 %  ░ 5 %  ▒ 20 %  ▓ 50 %  █ 80 %", "  █ busy from 80 %"];
        let fits = |legend: &&&str| cells("CPUs") + cells(legend) + 4 <= room;
        title.extend(LEGENDS.iter().find(fits).map(|legend| piece(*legend, Meaning::Quiet)));
        return title;
    }
    let fits = usize::from(room.saturating_sub(10) / 7);
    for (word, sign, meaning, _) in KINDS.iter().take(fits) {
        title.push(piece(format!("  {sign}"), *meaning));
        title.push(piece(format!(" {word}"), Meaning::Quiet));
    }
    title
}

/// How many columns of bars hold so many CPUs; `None` when even the shortest do not fit.
fn columns(count: usize, area: Rect) -> Option<u16> {
    let rows = usize::from(area.height.max(1));
    let needed = u16::try_from(count.div_ceil(rows)).ok()?.max(1);
    (needed * (TEXT + SHORTEST) <= area.width).then_some(needed)
}

fn bars(brush: &mut Brush<'_>, area: Rect, cpus: &[(String, CpuShares)], columns: u16) {
    let rows = cpus.len().div_ceil(usize::from(columns)).max(1);
    let each = area.width / columns;
    let length = each - TEXT;
    for (index, (name, shares)) in cpus.iter().enumerate() {
        let (column, row) = (index / rows, index % rows);
        let x = area.x + u16::try_from(column).unwrap_or(u16::MAX).saturating_mul(each);
        let y = area.y + u16::try_from(row).unwrap_or(u16::MAX);
        let x = brush.text(x, y, 4, &format!("{name:>3} "), Meaning::Quiet);
        for (at, kind) in (x..x + length).zip(cells_of(shares, length)) {
            let (sign, meaning) =
                kind.map_or(('·', Meaning::Lines), |(_, sign, meaning, _)| (*sign, *meaning));
            brush.cell(at, y, sign, brush.theme.style(meaning));
        }
        let busy = busy(shares);
        let meaning = if busy >= 1.0 { Meaning::Text } else { Meaning::Quiet };
        brush.text(x + length, y, 4, &format!("{busy:>4.0}"), meaning);
    }
}

/// The kind that each cell of a bar of `length` shows; `None` is idle. Shares are rounded together, so that they never take more
/// cells than there are.
fn cells_of(shares: &CpuShares, length: u16) -> Vec<Option<&'static Kind>> {
    let mut out = Vec::new();
    let mut sum = 0.0;
    for kind in &KINDS {
        sum += (kind.3)(shares).max(0.0);
        let end = (sum / 100.0 * f64::from(length)).round();
        while (out.len() as f64) < end && out.len() < usize::from(length) {
            out.push(Some(kind));
        }
    }
    out.resize(usize::from(length), None);
    out
}

/// Everything but idle time and waiting for I/O, in percent.
fn busy(shares: &CpuShares) -> f64 {
    (100.0 - shares.idl - shares.wai).clamp(0.0, 100.0)
}

/// A cell for each CPU, with the number of the first in front of a row.
fn heat(brush: &mut Brush<'_>, area: Rect, cpus: &[(String, CpuShares)]) {
    const NUMBER: u16 = 5;
    let across = usize::from((area.width.saturating_sub(NUMBER) / 8 * 8).max(8));
    let rows = usize::from(area.height);
    let all = cpus.len().div_ceil(across);
    // The last row says how many are left out.
    let shown = if all > rows { rows.saturating_sub(1) } else { all };
    for (y, row) in (area.y..).zip(cpus.chunks(across).take(shown)) {
        let name = row.first().map_or("", |(name, _)| name);
        let x = brush.text(area.x, y, NUMBER, &format!("{name:>4} "), Meaning::Quiet);
        for (x, (_, shares)) in (x..).zip(row) {
            let (sign, meaning) = shade(shares);
            brush.cell(x, y, sign, brush.theme.style(meaning));
        }
    }
    let hidden = cpus.len().saturating_sub(shown * across);
    if hidden > 0 && rows > 0 {
        let text = format!("… and {}", counted(hidden, "more CPU"));
        brush.text(area.x, area.bottom() - 1, area.width.min(cells(&text)), &text, Meaning::Quiet);
    }
}

/// The sign for how busy a CPU is, in the style of the kind of time that takes most.
fn shade(shares: &CpuShares) -> (char, Meaning) {
    let busy = busy(shares);
    let sign = SHADES.iter().find(|(least, _)| busy >= *least).map_or('·', |(_, sign)| *sign);
    let kinds = KINDS.iter().filter(|(word, ..)| *word != "wai");
    let most = kinds.max_by(|a, b| (a.3)(shares).total_cmp(&(b.3)(shares)));
    (sign, most.filter(|_| busy >= 5.0).map_or(Meaning::Lines, |(_, _, meaning, _)| *meaning))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(usr: f64, sys: f64, irq: f64, wai: f64) -> CpuShares {
        CpuShares {
            usr,
            sys: sys + irq,
            irq,
            wai,
            idl: 100.0 - usr - sys - irq - wai,
            ..CpuShares::default()
        }
    }

    fn drawn(shares: &CpuShares, length: u16) -> String {
        cells_of(shares, length).iter().map(|kind| kind.map_or('·', |kind| kind.1)).collect()
    }

    #[test]
    fn a_bar_has_a_part_for_each_kind_of_time() {
        assert_eq!(drawn(&shares(30.0, 20.0, 10.0, 20.0), 10), "███▓▓▒░░··");
        assert_eq!(drawn(&shares(0.0, 0.0, 0.0, 0.0), 4), "····");
        assert_eq!(drawn(&shares(100.0, 0.0, 0.0, 0.0), 4), "████");
        assert!((busy(&shares(30.0, 20.0, 10.0, 20.0)) - 60.0).abs() < 1e-9, "iowait is not busy");
    }

    #[test]
    fn a_cell_of_the_map_shows_what_takes_most() {
        assert_eq!(shade(&shares(5.0, 10.0, 80.0, 0.0)), ('█', Meaning::Warning));
        assert_eq!(shade(&shares(40.0, 10.0, 0.0, 50.0)), ('▓', Meaning::Good));
        assert_eq!(shade(&shares(0.0, 0.0, 0.0, 100.0)), ('·', Meaning::Lines));
    }

    #[test]
    fn bars_give_way_to_the_map_when_they_do_not_fit() {
        let area = Rect::new(0, 0, 60, 10);
        assert_eq!(columns(2, area), Some(1));
        assert_eq!(columns(30, area), Some(3));
        assert_eq!(columns(256, area), None);
    }

    proptest! {
        #[test]
        fn a_bar_is_as_long_as_it_is(parts in prop::array::uniform5(0.0..100.0f64), length in 0u16..60) {
            let [usr, sys, irq, wai, stl] = parts;
            let any = CpuShares { usr, sys, wai, stl, irq, ..CpuShares::default() };
            prop_assert_eq!(cells_of(&any, length).len(), usize::from(length));
        }
    }
}

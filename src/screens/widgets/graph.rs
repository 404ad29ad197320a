//! The rolling graph: curves of Braille dots over a scale that stays put, with its unit and its time.

use std::time::Duration;

use ratatui::layout::Rect;

use super::paint::{Brush, cells, piece};
use crate::ui::{series::Series, theme::Meaning};

/// One curve.
pub struct Curve<'a> {
    /// Its points.
    pub series: &'a Series,
    /// Its style.
    pub meaning: Meaning,
    /// Filled down to zero.
    pub filled: bool,
}

impl<'a> Curve<'a> {
    /// A line over a filled curve; `None` along the ground, where it would hide the lowest dots of the other.
    pub fn above_ground(series: &'a Series, meaning: Meaning, top: f64) -> Option<Self> {
        (series.window_most() > top / 100.0).then_some(Self { series, meaning, filled: false })
    }
}

/// How a curve is drawn, before its name in a title: an area or a line. Not every terminal has colours.
pub const fn sample(filled: bool) -> &'static str {
    if filled { "⣿ " } else { "⠒ " }
}

/// A graph.
pub struct Graph<'a> {
    /// Curves, the last one on top.
    pub curves: Vec<Curve<'a>>,
    /// The value at the top.
    pub top: f64,
    /// How a value is written beside the axis.
    pub label: &'a dyn Fn(f64) -> String,
    /// A level to mark with a dotted line, with its word.
    pub level: Option<(f64, String)>,
    /// How much time is shown.
    pub window: Duration,
}

/// Columns the axis takes.
const AXIS: u16 = 6;
/// Points further apart than this are not joined: nothing was seen between them.
const GAP: Duration = Duration::from_secs(3);

/// The place of a graph's curves in its area.
fn plot_of(area: Rect) -> Option<Rect> {
    let foot = u16::from(area.height >= 4);
    let has_room = area.width >= AXIS + 8 && area.height >= 2;
    has_room.then(|| Rect { x: area.x + AXIS, width: area.width - AXIS, height: area.height - foot, ..area })
}

/// The columns of a graph and their moments.
pub struct TimeAxis {
    plot: Rect,
    window: Duration,
    now: Duration,
    /// The first sample of the curves.
    first: Duration,
}

impl TimeAxis {
    /// The one of a graph in `area` whose curves begin with `series`; `None` where it has no room.
    pub fn new(area: Rect, window: Duration, now: Duration, series: &Series) -> Option<Self> {
        let first = series.points().next().map_or(now, |(at, _)| at);
        Some(Self { plot: plot_of(area)?, window, now, first })
    }

    /// The first sample of the curves.
    pub const fn first(&self) -> Duration {
        self.first
    }

    /// The first and the last moment of a column; one beside the plot counts as its first or last.
    pub fn moments(&self, column: u16) -> (Duration, Duration) {
        let index = column.clamp(self.plot.left(), self.plot.right() - 1) - self.plot.x;
        let moment = |edge: u16| {
            let back = 1.0 - f64::from(edge) / f64::from(self.plot.width);
            self.now.saturating_sub(self.window.mul_f64(back.clamp(0.0, 1.0)))
        };
        (moment(index), moment(index + 1))
    }

    /// The columns whose middles lie in a span.
    fn columns(&self, from: Duration, to: Duration) -> impl Iterator<Item = u16> {
        (self.plot.left()..self.plot.right()).filter(move |column| {
            let (first, last) = self.moments(*column);
            let middle = (first + last) / 2;
            from <= middle && middle <= to
        })
    }

    /// Marks a span: lines at its ends where no curve is, a heavy line on the time axis.
    pub fn mark(&self, from: Duration, to: Duration, brush: &mut Brush<'_>) {
        let style = brush.theme.style(Meaning::Brand);
        let columns: Vec<u16> = self.columns(from, to).collect();
        for x in columns.first().into_iter().chain(columns.last()) {
            for y in self.plot.top()..self.plot.bottom() {
                if brush.buffer.cell((*x, y)).is_some_and(|cell| cell.symbol() == " ") {
                    brush.cell(*x, y, '│', style);
                }
            }
        }
        for x in columns {
            // Words on the axis stay whole.
            if brush.buffer.cell((x, self.plot.bottom())).is_some_and(|cell| cell.symbol() == "─") {
                brush.cell(x, self.plot.bottom(), '━', style);
            }
        }
    }
}

impl Graph<'_> {
    /// Draws into `area`; the right edge is `now`.
    pub fn draw(&self, brush: &mut Brush<'_>, area: Rect, now: Duration) {
        let Some(plot) = plot_of(area) else { return };
        self.axis(brush, area, plot);
        if plot.height < area.height {
            self.time_axis(brush, plot);
        }
        self.mark_level(brush, plot);
        let mut below: Option<Dots> = None;
        for curve in &self.curves {
            let mut dots = Dots::new(plot);
            dots.trace(curve, self.top, self.window, now);
            if let Some(area) = &below {
                dots.leave_ground(area);
            }
            dots.paint(brush, plot, curve.meaning);
            if curve.filled {
                below = Some(dots);
            }
        }
    }

    fn axis(&self, brush: &mut Brush<'_>, area: Rect, plot: Rect) {
        let line = brush.theme.style(Meaning::Lines);
        for y in plot.top()..plot.bottom() {
            brush.cell(plot.x - 1, y, '│', line);
        }
        let most: u16 = match plot.height {
            9.. => 4,
            3.. => 2,
            _ => 1,
        };
        let steps = [4, 2].into_iter().find(|steps| *steps <= most && self.are_exact(*steps)).unwrap_or(1);
        for step in 0..=steps {
            let share = f64::from(step) / f64::from(steps);
            let y = plot.y + share_of(plot.height - 1, 1.0 - share);
            // Zero belongs to the lower edge, where the time axis names it.
            if step == 0 && area.height > plot.height {
                continue;
            }
            let text = (self.label)(share * self.top);
            brush.write_right(plot.x - 1, y, &[piece(text, Meaning::Quiet)]);
            brush.cell(plot.x - 1, y, '┤', line);
        }
        if area.height > plot.height {
            brush.write_right(plot.x - 1, plot.bottom(), &[piece("0", Meaning::Quiet)]);
        }
    }

    /// Whether so many steps have labels that no rounding makes uneven, as 0.03, 0.05 and 0.07 are below 0.10, and 22 is below 45.
    fn are_exact(&self, steps: u16) -> bool {
        const TOLERANCE: f64 = 0.005;
        let number = |share: f64| {
            let label = (self.label)(share * self.top);
            let end = label.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(label.len());
            Some((label[..end].parse::<f64>().ok()?, label[end..].to_owned()))
        };
        let Some((top, unit)) = number(1.0) else { return true };
        (1..steps).map(|step| f64::from(step) / f64::from(steps)).all(|share| {
            let is_even = |label: f64| (label - share * top).abs() <= TOLERANCE * share * top;
            number(share).is_none_or(|(label, own)| own != unit || is_even(label))
        })
    }

    fn mark_level(&self, brush: &mut Brush<'_>, plot: Rect) {
        let Some((level, word)) = &self.level else { return };
        if *level > self.top || *level <= 0.0 {
            return;
        }
        let y = plot.y + share_of(plot.height - 1, 1.0 - level / self.top);
        let style = brush.theme.style(Meaning::Lines);
        for x in plot.left()..plot.right() {
            brush.cell(x, y, '┈', style);
        }
        brush.text(plot.x + 1, y, plot.width, &format!(" {word} "), Meaning::Quiet);
    }

    fn time_axis(&self, brush: &mut Brush<'_>, plot: Rect) {
        let line = brush.theme.style(Meaning::Lines);
        brush.cell(plot.x - 1, plot.bottom(), '└', line);
        for x in plot.left()..plot.right() {
            brush.cell(x, plot.bottom(), '─', line);
        }
        let (seconds, now) = (self.window.as_secs(), " now ");
        let forms = [format!(" {seconds} s ago "), format!(" -{seconds} s ")];
        let fits = |form: &&String| cells(form) + cells(now) + 2 < plot.width;
        let back = forms.iter().find(fits).unwrap_or(&forms[0]);
        brush.text(plot.x + 1, plot.bottom(), plot.width, back, Meaning::Quiet);
        if fits(&back) {
            brush.write_right(plot.right() - 1, plot.bottom(), &[piece(now, Meaning::Quiet)]);
        }
    }
}

/// `share` (0 to 1) of `most`, rounded.
pub fn share_of(most: u16, share: f64) -> u16 {
    let value = (f64::from(most) * share.clamp(0.0, 1.0)).round();
    (0..=most).rev().find(|candidate| f64::from(*candidate) <= value).unwrap_or(0)
}

/// A grid of Braille dots, two by four to a cell.
struct Dots {
    width: usize,
    height: usize,
    bits: Vec<u8>,
}

impl Dots {
    fn new(plot: Rect) -> Self {
        let (width, height) = (usize::from(plot.width), usize::from(plot.height));
        Self { width, height, bits: vec![0; width * height] }
    }

    fn set(&mut self, x: usize, y: usize) {
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if x < self.width * 2 && y < self.height * 4 {
            self.bits[y / 4 * self.width + x / 2] |= BITS[y % 4][x % 2];
        }
    }

    fn trace(&mut self, curve: &Curve<'_>, top: f64, window: Duration, now: Duration) {
        let levels = self.levels(curve.series, top, window, now);
        let mut before: Option<usize> = None;
        for (x, level) in levels.into_iter().enumerate() {
            let Some(level) = level else {
                before = None;
                continue;
            };
            let lowest = if curve.filled { self.height * 4 - 1 } else { level };
            let (from, to) = match before {
                Some(before) if !curve.filled => (level.min(before), level.max(before)),
                _ => (level, lowest),
            };
            for y in from..=to.max(level) {
                self.set(x, y);
            }
            before = Some(level);
        }
    }

    /// Takes away the cells on the ground that an area below fills: without these it would float.
    fn leave_ground(&mut self, area: &Self) {
        let ground = self.bits.len().saturating_sub(self.width);
        for (own, below) in self.bits.iter_mut().zip(&area.bits).skip(ground) {
            if *below == u8::MAX {
                *own = 0;
            }
        }
    }

    /// The dot row of the curve in every dot column: the mean of the points that fall there, or on the way between two.
    fn levels(&self, series: &Series, top: f64, window: Duration, now: Duration) -> Vec<Option<usize>> {
        let columns = self.width * 2;
        let mut sums = vec![(0.0, 0u32); columns];
        let at = |time: Duration| {
            let back = now.saturating_sub(time).as_secs_f64() / window.as_secs_f64();
            (1.0 - back) * (columns as f64 - 1.0)
        };
        let mut add = |position: f64, value: f64| {
            if let Some(slot) = index(position, columns).and_then(|column| sums.get_mut(column)) {
                slot.0 += value;
                slot.1 += 1;
            }
        };
        let joins = |then: Duration, time: Duration| {
            time.saturating_sub(then) <= GAP && !series.is_split_before(time)
        };
        let mut before: Option<(Duration, f64)> = None;
        for (time, value) in series.points() {
            if let Some((then, old)) = before.filter(|(then, _)| joins(*then, time)) {
                let (from, to) = (at(then), at(time));
                let between = (to - from).ceil().max(1.0);
                let mut step = 1.0;
                while step < between {
                    let share = step / between;
                    add(from + (to - from) * share, old + (value - old) * share);
                    step += 1.0;
                }
            }
            add(at(time), value);
            before = Some((time, value));
        }
        let rows = (self.height * 4) as f64 - 1.0;
        let level = |(sum, count): (f64, u32)| {
            let share = (sum / f64::from(count) / top).clamp(0.0, 1.0);
            index((1.0 - share) * rows, self.height * 4)
        };
        sums.into_iter().map(|slot| if slot.1 == 0 { None } else { level(slot) }).collect()
    }

    fn paint(&self, brush: &mut Brush<'_>, plot: Rect, meaning: Meaning) {
        let style = brush.theme.style(meaning);
        for (row, y) in (plot.top()..plot.bottom()).enumerate() {
            for (column, x) in (plot.left()..plot.right()).enumerate() {
                let bits = self.bits[row * self.width + column];
                if bits != 0
                    && let Some(symbol) = char::from_u32(0x2800 + u32::from(bits))
                {
                    brush.cell(x, y, symbol, style);
                }
            }
        }
    }
}

/// A position as an index below `count`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be within 0..count")]
fn index(position: f64, count: usize) -> Option<usize> {
    let rounded = position.round();
    (rounded >= 0.0 && rounded < count as f64).then_some(rounded as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn columns_follow_each_other_in_time_and_fill_the_window(width in 14u16..200, seconds in 1u64..3600) {
            let (window, now) = (Duration::from_secs(seconds), Duration::from_hours(2));
            let axis = TimeAxis::new(Rect::new(3, 0, width, 6), window, now, &Series::default()).unwrap();
            let columns: Vec<_> = (axis.plot.left()..axis.plot.right()).map(|x| axis.moments(x)).collect();
            prop_assert!(columns.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1));
            prop_assert_eq!((columns[0].0, columns[columns.len() - 1].1), (now.saturating_sub(window), now));
            prop_assert_eq!(axis.moments(0), columns[0]);
            prop_assert_eq!(axis.moments(u16::MAX - 1), columns[columns.len() - 1]);
            prop_assert_eq!(axis.columns(now.saturating_sub(window), now).count(), columns.len());
        }
    }

    #[test]
    fn shares_land_on_rows() {
        assert_eq!(share_of(9, 0.0), 0);
        assert_eq!(share_of(9, 1.0), 9);
        assert_eq!(share_of(9, 0.5), 5);
        assert_eq!(share_of(9, f64::MAX), 9);
    }

    #[test]
    fn labels_that_rounding_makes_uneven_are_left_out() {
        let exact = |top, label: &dyn Fn(f64) -> String| {
            Graph { top, label, window: Duration::from_mins(1), curves: Vec::new(), level: None }.are_exact(4)
        };
        let giga = |value: f64| format!("{:.2}", value / 1e9);
        assert!(!exact(0.1e9, &giga), "0.03, 0.05, 0.07 and 0.10");
        assert!(exact(2e9, &giga) && exact(0.4e9, &giga) && exact(1e9, &giga));
        assert!(exact(1e6, &|value| format!("{value} reads")), "words are taken as they are");
        let whole = |value: f64| format!("{value:.0}");
        let kilo = |value: f64| format!("{:.0}k", value / 1e3);
        assert!(!exact(90.0, &whole) && !exact(90e3, &kilo), "22.5 would be 22");
        assert!(exact(80.0, &whole) && exact(80e3, &kilo));
        let mega = |value: f64| if value < 1e6 { kilo(value) } else { format!("{:.2}M", value / 1e6) };
        assert!(exact(1e6, &mega), "750k below 1.00M");
    }

    #[test]
    fn the_middle_of_an_axis_has_its_label_from_three_rows_on_and_zero_one_row() {
        let labels = |height: u16, top: f64| -> Vec<String> {
            let area = Rect::new(0, 0, 30, height);
            let mut buffer = ratatui::buffer::Buffer::empty(area);
            let label = |value: f64| format!("{value:.1}");
            let graph =
                Graph { top, label: &label, window: Duration::from_mins(1), curves: Vec::new(), level: None };
            graph.draw(
                &mut Brush::new(&mut buffer, crate::ui::theme::Theme::PLAIN, false),
                area,
                Duration::ZERO,
            );
            let cell = |x, y| buffer.cell((x, y)).map_or(" ", ratatui::buffer::Cell::symbol);
            let row = |y| (0..AXIS - 1).map(|x| cell(x, y)).collect::<String>().trim().to_owned();
            (0..height).map(row).collect()
        };
        assert_eq!(labels(2, 2.0), ["2.0", "0.0"]);
        assert_eq!(labels(3, 2.0), ["2.0", "1.0", "0.0"]);
        assert_eq!(labels(4, 2.0), ["2.0", "1.0", "", "0"]);
        assert_eq!(labels(5, 2.0), ["2.0", "", "1.0", "", "0"]);
        assert_eq!(labels(5, 0.5), ["0.5", "", "", "", "0"], "0.25 would be 0.2");
    }

    #[test]
    fn a_line_on_the_ground_leaves_the_area_below_it_whole() {
        let (mut high, mut low) = (Series::default(), Series::default());
        for second in 0..=60 {
            let at = Duration::from_secs(second);
            high.push(at, 8.0);
            low.push(at, if second < 30 { 0.1 } else { 5.0 });
        }
        let area = Rect::new(0, 0, 40, 5);
        let mut buffer = ratatui::buffer::Buffer::empty(area);
        let curve = |series, filled| Curve { series, meaning: Meaning::Text, filled };
        let graph = Graph {
            top: 10.0,
            label: &|value| format!("{value:.0}"),
            window: Duration::from_mins(1),
            curves: vec![curve(&high, true), curve(&low, false)],
            level: None,
        };
        let theme = crate::ui::theme::Theme::PLAIN;
        graph.draw(&mut Brush::new(&mut buffer, theme, false), area, Duration::from_mins(1));
        let row = |y| (AXIS..40).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        assert_eq!(row(3), "⣿".repeat(34), "the lowest row");
        assert!((1..3).any(|y| !row(y).ends_with('⣿')), "the line is seen above: {} {}", row(1), row(2));
    }

    #[test]
    fn a_short_pause_stays_open_too() {
        let mut series = Series::default();
        for second in 0..=10 {
            if second == 5 {
                series.split();
            }
            if second != 4 {
                series.push(Duration::from_secs(second), 5.0);
            }
        }
        let dots = Dots::new(Rect::new(0, 0, 30, 2));
        let levels = dots.levels(&series, 10.0, Duration::from_secs(10), Duration::from_secs(10));
        let gap = levels.iter().filter(|level| level.is_none()).count();
        assert!((10..=12).contains(&gap), "2 of 10 seconds: {levels:?}");
    }

    #[test]
    fn a_constant_curve_is_a_straight_line_and_a_gap_stays_open() {
        let mut series = Series::default();
        for second in [0, 1, 2, 50, 51] {
            series.push(Duration::from_secs(second), 5.0);
        }
        let dots = Dots::new(Rect::new(0, 0, 30, 2));
        let levels = dots.levels(&series, 10.0, Duration::from_mins(1), Duration::from_mins(1));
        assert!(levels.iter().flatten().all(|level| *level == 4), "{levels:?}");
        assert!(levels[20].is_none() && levels[0].is_some() && levels[50].is_some());
    }
}

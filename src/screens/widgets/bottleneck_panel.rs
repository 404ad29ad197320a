//! The sentence that says what holds the machine back, and what that costs.

use ratatui::layout::Rect;

use super::{
    paint::{Brush, Piece, cells, hanging, inner, paragraph, piece, width},
    scroll::{self, Ways},
    words::{basis, giga_before_unit, place, rate},
};
use crate::{
    capacity::{
        bottleneck::{Bottleneck, Direction},
        expected::Expected,
    },
    ui::{Shared, load::LoadSource, test::Test, theme::Meaning},
    units::counted,
};

/// The mark of a place that is full.
pub const FULL_MARK: &str = "▲";

/// Draws the bottlenecks from line `top` on, with `beside` on the right of the title as far as it fits, and `ways` to the lines out
/// of sight.
pub fn draw(
    shared: &Shared,
    panel: Rect,
    (top, ways): (usize, Ways<'_>),
    beside: &[Piece],
    brush: &mut Brush<'_>,
) {
    let mut heading = vec![piece("Bottleneck", Meaning::Heading)];
    let found = found(shared).len();
    if found > 1 {
        heading.push(piece(format!("  {found} found"), Meaning::Quiet));
    }
    let lines = lines(shared, inner(panel, brush.boxed));
    // Without a box the mark of hidden lines stands in the title's rule.
    let below = lines.len().saturating_sub(usize::from(inner(panel, brush.boxed).height));
    let mark =
        if brush.boxed || below == 0 { 0 } else { cells(&scroll::shown(brush, ways, (below, below))) + 4 };
    let room = panel.width.saturating_sub(width(&heading) + 8 + mark);
    // A part that has no room goes whole, as in titles.
    let whole = (0..=beside.len()).rev().find(|parts| width(&beside[..*parts]) <= room).unwrap_or_default();
    let inside = brush.panel(panel, &heading, &beside[..whole]);
    let hidden = brush.lines(inside, &lines, top);
    scroll::mark(brush, panel, ways, hidden);
}

/// Scrolls the text of its panel by `step` lines.
pub fn scrolled(shared: &Shared, panel: Rect, top: usize, step: isize) -> usize {
    let inside = inner(panel, shared.is_boxed());
    scroll::scrolled(top, step, lines(shared, inside).len(), inside.height)
}

/// How many lines of it can be scrolled out of sight.
pub fn end(shared: &Shared, panel: Rect) -> usize {
    let inside = inner(panel, shared.is_boxed());
    lines(shared, inside).len().saturating_sub(usize::from(inside.height))
}

/// How many lines of `width` cells it has to say.
pub fn count(shared: &Shared, width: u16) -> usize {
    lines(shared, Rect::new(0, 0, width, 0)).len()
}

/// Under load only a place that is full holds anything back.
fn found(shared: &Shared) -> Vec<&Bottleneck> {
    let busy = shared.load.is_busy();
    shared.bottlenecks.iter().filter(|found| !busy || found.is_full()).collect()
}

/// The place under load that holds most back, in words: what every screen names as the limit.
pub fn full(shared: &Shared) -> Option<String> {
    let first = shared.bottlenecks.iter().find(|found| found.is_full());
    first.filter(|_| shared.load.is_busy()).map(|found| words(shared, found))
}

/// The sentences; the first one's reason behind it where there is room for all, else behind the last one.
fn lines(shared: &Shared, inner: Rect) -> Vec<Vec<Piece>> {
    let found = found(shared);
    let mut lines: Vec<Vec<Piece>> =
        found.iter().flat_map(|bottleneck| sentence(shared, bottleneck, inner.width)).collect();
    if let Some(first) = found.first() {
        let reason = reason(shared, first, inner.width);
        let has_room = lines.len() + reason.len() <= usize::from(inner.height);
        let at = if has_room { sentence(shared, first, inner.width).len() } else { lines.len() };
        lines.splice(at..at, reason);
    } else if shared.tests.running().is_some_and(Test::is_paused) {
        let text = shared.keys.fill("The test is paused: {pause} resumes it.");
        lines.extend(paragraph(&text, Meaning::Quiet, inner.width));
    } else if let Some(test) = shared.tests.running() {
        lines.extend(expectations(shared, test, inner.width));
        if !lines.is_empty() && test.reached().is_none() {
            let text = shared.keys.fill("What is expected is not reached: {why} names the limit.");
            lines.extend(paragraph(&text, Meaning::Quiet, inner.width));
        }
    }
    if lines.is_empty() {
        lines = paragraph(&nothing(shared), Meaning::Quiet, inner.width);
    }
    lines
}

/// What the targets of a test read against what was expected, and what limits them by that expectation, one sentence for
/// all that are limited by the same: `10 drives read 15.6 of 18.4 GB/s expected: one worker's CPU, ...`.
pub fn expectations(shared: &Shared, test: &Test, width: u16) -> Vec<Vec<Piece>> {
    let known = || test.expected.iter().enumerate().filter_map(|(index, one)| Some((index, one.as_ref()?)));
    // Latency is one cause of all drives.
    if let Some(in_flight) = test.latency_bound() {
        let targets: Vec<usize> = known().map(|(index, _)| index).collect();
        let reads = rate(shared.units, sum(&targets, |index| test.reads(index)));
        let text =
            format!("{} {reads}: latency-bound, {in_flight} in flight per drive.", who_reads(test, &targets));
        return paragraph(&text, Meaning::Text, width);
    }
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, expected) in known() {
        let kind = expected.kind_of_limit();
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, targets)) => targets.push(index),
            None => groups.push((kind, vec![index])),
        }
    }
    groups.sort_by_key(|(_, targets)| std::cmp::Reverse(targets.len()));
    let lines = merged(test, groups).into_iter().flat_map(|(kind, targets)| {
        let reads = giga_before_unit(shared.units, sum(&targets, |index| test.reads(index)));
        let expected = rate(shared.units, sum(&targets, |index| test.expected_of(index)));
        let limits = || targets.iter().filter_map(|index| test.expected[*index].as_ref());
        let limit = Expected::limit_of_all(limits().filter(|expected| expected.kind_of_limit() == kind));
        let is_of_all = limits().all(|expected| expected.kind_of_limit() == kind);
        let others = if is_of_all { "" } else { "; the others alike" };
        let who = who_reads(test, &targets);
        let text = format!("{who} {reads} of {expected} expected: {limit}{others}");
        paragraph(&text, Meaning::Text, width)
    });
    lines.collect()
}

/// The first of these sentences in one line; `None` before the test's first figures.
pub fn expectation(shared: &Shared, test: &Test) -> Option<String> {
    let first = expectations(shared, test, u16::MAX).into_iter().next()?;
    let has_read = (0..test.targets.len()).any(|index| test.reads(index).is_some_and(|reads| reads > 0.0));
    has_read.then(|| first.iter().map(|(text, _)| text.as_str()).collect())
}

fn sum(targets: &[usize], of: impl Fn(usize) -> Option<f64>) -> f64 {
    targets.iter().filter_map(|index| of(*index)).sum()
}

/// `nvme0n1 reads`, `10 drives read`.
fn who_reads(test: &Test, targets: &[usize]) -> String {
    match targets {
        [one] => {
            let drive = test.targets.get(*one).and_then(|target| target.drive.as_ref());
            format!("{} reads", drive.map_or_else(String::new, ToString::to_string))
        }
        many => format!("{} read", counted(many.len(), "drive")),
    }
}

/// The groups, the largest first, without those whose drives should read as much each as those of a larger one: equal drives have
/// one sentence, whichever of two equal limits is named.
fn merged<'a>(test: &Test, groups: Vec<(&'a str, Vec<usize>)>) -> Vec<(&'a str, Vec<usize>)> {
    const ALIKE: f64 = 0.02;
    let each =
        |targets: &[usize]| sum(targets, |index| test.expected_of(index)) / targets.len().max(1) as f64;
    let mut kept: Vec<(&str, Vec<usize>)> = Vec::new();
    for (kind, targets) in groups {
        let own = each(&targets);
        match kept.iter_mut().find(|(_, larger)| (each(larger) - own).abs() <= ALIKE * own) {
            Some((_, larger)) => larger.extend(targets),
            None => kept.push((kind, targets)),
        }
    }
    kept
}

fn sentence(shared: &Shared, found: &Bottleneck, width: u16) -> Vec<Vec<Piece>> {
    let mark = piece(format!("{FULL_MARK} "), Meaning::Warning);
    hanging(mark, &words(shared, found), Meaning::Text, width)
}

/// `8 drives share root complex 0000:40: they could read 57.6 GB/s, it carries 39.4 GB/s (published). That costs 18.2 GB/s.`
fn words(shared: &Shared, found: &Bottleneck) -> String {
    let units = shared.units;
    let place = place(&shared.machine, found.node);
    let drives = counted(shared.machine.count_of(&found.drives), "drive");
    let (limit, possible) = (rate(units, found.limit), rate(units, found.possible));
    let cost = rate(units, found.cost());
    let source = basis(found.source.basis);
    match found.load {
        Some(load) => match found.direction {
            Direction::Read => format!(
                "{place} is full: {} of {limit}. {cost} lost: its {drives} could read {possible}.",
                giga_before_unit(units, load)
            ),
            // What a drive could write is not known: its links bound it.
            Direction::Write => format!(
                "{place} is full: {} of {limit} written. The links of its {drives} carry {possible}.",
                giga_before_unit(units, load)
            ),
        },
        None => format!(
            "{drives} share {place}: they could read {possible}, it carries {limit} ({source}). That costs {cost}."
        ),
    }
}

/// Where the limit comes from.
fn reason(shared: &Shared, found: &Bottleneck, width: u16) -> Vec<Vec<Piece>> {
    let place = place(&shared.machine, found.node);
    let text = format!("The limit of {place}, {}: {}", rate(shared.units, found.limit), found.source.because);
    hanging(piece("  ", Meaning::Text), &text, Meaning::Quiet, width)
}

fn nothing(shared: &Shared) -> String {
    match shared.load.source {
        LoadSource::Test if shared.load.is_busy() => {
            shared.keys.fill(
                "No rate is expected of these reads: no link, no published figure, no earlier test. {why} names the limit.",
            )
        }
        source => {
            let shared_by = match shared.machine.drive_count() {
                0 => return "No drives.".into(),
                1 => "One drive: it shares nothing.",
                _ => "No shared link or root complex is full.",
            };
            // A demo's reads without a test are those of an experiment, which have no CPUs and threads.
            let is_busy =
                source == LoadSource::Counters && shared.load.is_busy() && !shared.is_simulated();
            let more = if is_busy { " {why} shows what else limits." } else { "" };
            format!("{shared_by}{}", shared.keys.fill(more))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        capacity, source,
        ui::{Mode, message::MachineRead},
    };

    #[test]
    fn one_drive_shares_nothing_and_no_drive_is_called_so() {
        let whole = source::testing::demo("laptop");
        for (drives, text) in [(0, "No drives."), (1, "One drive: it shares nothing.")] {
            let mut machine = whole.clone();
            machine.drives.truncate(drives);
            assert_eq!(machine.drive_count(), drives);
            let limits = Arc::new(capacity::limits(&machine));
            let read = MachineRead { machine: Arc::new(machine), problems: Vec::new(), limits };
            assert_eq!(nothing(&Shared::new(Mode::Live, read, (80, 24))), text);
        }
    }

    #[test]
    fn reads_of_which_nothing_is_expected_have_a_limit_all_the_same() {
        let machine = source::testing::demo("laptop");
        let limits = Arc::new(capacity::limits(&machine));
        let read = MachineRead { machine: Arc::new(machine), problems: Vec::new(), limits };
        let mut shared = Shared::new(Mode::Live, read, (80, 24));
        let drive = shared.machine.drives[0].name.clone();
        let way = crate::ui::load::Way { bytes: 1e9, requests: 1e5, await_ms: None };
        shared.load.take_test([(drive, way)], std::time::Duration::from_secs(1));
        let text = nothing(&shared);
        assert!(text.starts_with("No rate is expected") && text.ends_with("names the limit."), "{text}");
    }
}

//! The sentence that says what holds the machine back, and what that costs.

use ratatui::layout::Rect;

use super::{
    paint::{Brush, Piece, cells, cut, fit, hanging, paragraph, piece, width, wrap},
    words::{basis, giga, place, rate},
};
use crate::{
    capacity::bottleneck::{Bottleneck, Direction},
    ui::{Shared, load::LoadSource, test::Test, theme::Meaning},
    units::counted,
};

/// The mark of a place that is full.
pub const FULL_MARK: &str = "▲";

/// Draws what holds the machine back, with `beside` on the right of its title as far as it fits.
pub fn draw(shared: &Shared, panel: Rect, beside: &[Piece], brush: &mut Brush<'_>) {
    // Under load only a place that is full holds anything back.
    let busy = shared.load.is_busy();
    let found: Vec<&Bottleneck> =
        shared.bottlenecks.iter().filter(|found| !busy || found.is_full()).collect();
    let mut heading = vec![piece("Bottleneck", Meaning::Heading)];
    if found.len() > 1 {
        heading.push(piece(format!("  {} found", found.len()), Meaning::Quiet));
    }
    let inner = brush.panel(panel, &heading, &cut(beside, panel.width.saturating_sub(width(&heading) + 8)));
    let sentences = found.iter().flat_map(|bottleneck| sentence(shared, bottleneck, inner.width));
    let mut lines: Vec<Vec<Piece>> = sentences.collect();
    // The first sentence first; its reason where there is room; then the next ones.
    if let Some(first) = found.first().filter(|_| lines.len() < usize::from(inner.height)) {
        let at = sentence(shared, first, inner.width).len();
        let room = usize::from(inner.height) - lines.len();
        lines.splice(at..at, reason(shared, first, inner.width, room));
    } else if let Some(test) = shared.tests.running() {
        lines.extend(expectations(shared, test, inner.width));
    }
    if lines.is_empty() {
        lines = paragraph(&nothing(shared), Meaning::Quiet, inner.width);
    }
    brush.lines(inner, &marked(lines, inner.width, inner.height), 0);
}

/// The lines that have room; the last one has a mark where more follow.
fn marked(mut lines: Vec<Vec<Piece>>, width: u16, height: u16) -> Vec<Vec<Piece>> {
    if lines.len() > usize::from(height) {
        lines.truncate(usize::from(height));
        if let Some((text, meaning)) = lines.last_mut().and_then(Vec::pop) {
            let before = lines.last().map_or(0, |line| self::width(line));
            let room = width.saturating_sub(before);
            let text = fit(&format!("{} and more", text.trim_end()), room.min(cells(text.trim_end()) + 1));
            if let Some(line) = lines.last_mut() {
                line.push(piece(text, meaning));
            }
        }
    }
    lines
}

/// What the targets of a test read against what was expected, and what limits them by that expectation, one sentence for
/// all that are limited by the same: `10 drives read 15.6 of 18.4 GB/s expected: one worker's CPU, ...`.
pub fn expectations(shared: &Shared, test: &Test, width: u16) -> Vec<Vec<Piece>> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, expected) in test.expected.iter().enumerate() {
        let Some(expected) = expected else { continue };
        match groups.iter_mut().find(|(because, _)| *because == expected.because) {
            Some((_, targets)) => targets.push(index),
            None => groups.push((&expected.because, vec![index])),
        }
    }
    groups.sort_by_key(|(_, targets)| std::cmp::Reverse(targets.len()));
    let mut lines = Vec::new();
    for (because, targets) in groups {
        let sum =
            |of: &dyn Fn(usize) -> Option<f64>| targets.iter().filter_map(|index| of(*index)).sum::<f64>();
        let reads = sum(&|index| test.reads(index));
        let expected = sum(&|index| test.expected_of(index));
        let who = match targets.as_slice() {
            [one] => test
                .targets
                .get(*one)
                .and_then(|target| target.drive.as_ref())
                .map_or_else(String::new, ToString::to_string),
            many => counted(many.len(), "drive"),
        };
        let verb = if targets.len() == 1 { "reads" } else { "read" };
        let (reads, expected) = (giga(shared.units, reads), rate(shared.units, expected));
        let text = format!("{who} {verb} {reads} of {expected} expected: {because}");
        lines.extend(paragraph(&text, Meaning::Text, width));
    }
    lines
}

/// `▲ 8 drives share root complex 0000:40: it carries 39.4 GB/s, they could read 57.6 GB/s.   costs 18.2 GB/s`.
fn sentence(shared: &Shared, found: &Bottleneck, width: u16) -> Vec<Vec<Piece>> {
    let units = shared.units;
    let place = place(&shared.machine, found.node);
    let drives = counted(shared.machine.count_of(&found.drives), "drive");
    let (limit, possible) = (rate(units, found.limit), rate(units, found.possible));
    let cost = rate(units, found.cost());
    let source = basis(found.source.basis);
    let text = match found.load {
        Some(load) => match found.direction {
            Direction::Read => format!(
                "{place} is full: {} of {limit}. {cost} lost: its {drives} could read {possible}.",
                giga(units, load)
            ),
            // What a drive could write is not known: its links bound it.
            Direction::Write => format!(
                "{place} is full: {} of {limit} written. The links of its {drives} carry {possible}.",
                giga(units, load)
            ),
        },
        None => format!(
            "{drives} share {place}: they could read {possible}, it carries {limit} ({source}). That costs {cost}."
        ),
    };
    hanging(piece(format!("{FULL_MARK} "), Meaning::Warning), &text, Meaning::Text, width)
}

/// Where the limit comes from, in at most `room` lines.
fn reason(shared: &Shared, found: &Bottleneck, width: u16, room: usize) -> Vec<Vec<Piece>> {
    let limit = &found.source;
    let wide = width.saturating_sub(2);
    let mut lines =
        wrap(&format!("The limit of {}: {}", rate(shared.units, found.limit), limit.because), wide);
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} and more"), wide.min(cells(last) + 1));
        }
    }
    let indented =
        lines.into_iter().map(|line| vec![piece("  ", Meaning::Text), piece(line, Meaning::Quiet)]);
    indented.collect()
}

fn nothing(shared: &Shared) -> String {
    match shared.load.source {
        LoadSource::Test if shared.load.is_busy() => {
            "No limit known for these reads: no link, no published figure, no earlier test.".into()
        }
        _ => match shared.machine.drive_count() {
            0 => "No drives.".into(),
            1 => "One drive: it shares nothing.".into(),
            _ => "No shared link or root complex is full.".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        capacity,
        source::{self, origin::Origin},
        ui::{Mode, message::MachineRead},
    };

    #[test]
    fn lines_without_room_leave_a_mark() {
        let lines = |text: &str, width| paragraph(text, Meaning::Text, width);
        let text = |lines: &[Vec<Piece>]| -> Vec<String> {
            lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
        };
        let all = lines("two drives read less than expected", 12);
        assert_eq!(text(&all), ["two drives", "read less", "than", "expected"]);
        assert_eq!(text(&marked(all.clone(), 12, 2)), ["two drives", "read less…"]);
        assert_eq!(marked(all.clone(), 12, 4), all);
        let full = lines("twelve cells and more", 12);
        assert_eq!(text(&marked(full, 12, 1)), ["twelve cell…"]);
    }

    #[test]
    fn one_drive_shares_nothing_and_no_drive_is_called_so() {
        let (whole, _) = source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap());
        for (drives, text) in [(0, "No drives."), (1, "One drive: it shares nothing.")] {
            let mut machine = whole.clone();
            machine.drives.truncate(drives);
            assert_eq!(machine.drive_count(), drives);
            let limits = Arc::new(capacity::limits(&machine));
            let read = MachineRead { machine: Arc::new(machine), problems: Vec::new(), limits };
            assert_eq!(nothing(&Shared::new(Mode::Live, read, (80, 24))), text);
        }
    }
}

//! How findings are written in a line, the same on every screen.

use ratatui::layout::Rect;

use super::{
    find::highlighted,
    paint::{Brush, Piece, cells, fit, hanging, piece, width},
    sections::{self, Section},
    words::{iops, rate},
};
use crate::{
    experiment::EXPERIMENTS,
    findings::{self, Finding, Gain, Risk},
    model::{FindingId, Severity},
    ui::{Shared, theme::Meaning},
    units::{UnitSystem, counted},
};

/// Findings that a card in another slot would do away with: whether it would is seen on the slots page.
pub const MOVES: [&str; 2] = ["shared-root-complex", "slot-limited"];

/// Where a finding leads: the word of its key.
pub fn leads_to(finding: FindingId) -> &'static str {
    if MOVES.contains(&finding.0) { "slots" } else { "experiment" }
}

/// Whether a finding has a slot to move to, or an experiment that can run here.
pub fn opens_what_if(shared: &Shared, finding: &Finding) -> bool {
    if MOVES.contains(&finding.id.0) {
        return finding.remedy.risk != Risk::None;
    }
    shared.can_test() && EXPERIMENTS.iter().any(|row| row.proves.contains(&finding.id.0))
}

/// The mark of a severity: a shape, as colour alone is not enough.
pub const fn mark(severity: Severity) -> (&'static str, Meaning) {
    let meaning = match severity {
        Severity::High => Meaning::Problem,
        Severity::Warning => Meaning::Warning,
        Severity::Info => Meaning::Quiet,
    };
    (severity.mark(), meaning)
}

/// `3 found, 1 high` beside the title.
fn summary(shared: &Shared) -> String {
    let number =
        |severity| shared.findings.list.iter().filter(|finding| finding.severity == severity).count();
    let words = [
        (number(Severity::High), "high"),
        (number(Severity::Warning), "warning"),
        (number(Severity::Info), "info"),
    ];
    let parts: Vec<_> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

/// `Findings  2 high, 1 info`.
pub fn title(shared: &Shared) -> Vec<Piece> {
    let summary = summary(shared);
    let summary =
        (!summary.is_empty()).then(|| piece(format!("  {summary}{}", under_load(shared)), Meaning::Quiet));
    std::iter::once(piece("Findings", Meaning::Heading)).chain(summary).collect()
}

/// Whether it comes and goes with a test or what is counted now.
fn is_under_load(shared: &Shared, finding: &Finding) -> bool {
    !shared.tests.all.is_empty() && findings::row(finding.id.0).is_some_and(|row| !row.of_machine)
}

/// `, 3 under load`: the findings whose rows say so.
fn under_load(shared: &Shared) -> String {
    let count = shared.findings.list.iter().filter(|finding| is_under_load(shared, finding)).count();
    if count == 0 { String::new() } else { format!(", {count} {}", when(shared)) }
}

/// When such findings were counted: those of a test stay after its end.
fn when(shared: &Shared) -> &'static str {
    let is_loaded = shared.tests.running().is_some() || shared.load.is_busy();
    if is_loaded { "under load" } else { "in last test" }
}

/// Mark, title and gain in one row; a title beside no gain has all of it. Matches of `word` are marked. Where the
/// title ends and the gain begins.
pub fn with_gain(
    shared: &Shared,
    brush: &mut Brush<'_>,
    row: Rect,
    (finding, word): (&Finding, &str),
    selected: bool,
) -> (u16, u16) {
    let gain = [piece(short_gain(shared.units, &finding.gain), Meaning::Figure)];
    let taken = match width(&gain) {
        0 => 0,
        gain => gain + 2,
    };
    let line = Rect { width: row.width.saturating_sub(taken), ..row };
    let end = line_of(shared, brush, line, (finding, word), selected);
    brush.write_right(row.right(), row.y, &gain);
    (end, row.right() - width(&gain))
}

/// Mark and title in one row; where the title ends.
fn line_of(
    shared: &Shared,
    brush: &mut Brush<'_>,
    row: Rect,
    (finding, word): (&Finding, &str),
    selected: bool,
) -> u16 {
    let (symbol, meaning) = mark(finding.severity);
    let note = is_under_load(shared, finding).then(|| piece(format!("  {}", when(shared)), Meaning::Quiet));
    // The panel's title counts them too: the note goes before a word of the finding does.
    let has_room = |note: &Piece| 2 + cells(&finding.title) + cells(&note.0) <= row.width;
    let is_short_anyway = 2 + cells(&finding.title) > row.width;
    let note: Vec<Piece> = note.into_iter().filter(|note| is_short_anyway || has_room(note)).collect();
    let title = in_short(&finding.title, row.width.saturating_sub(2 + width(&note)));
    let weight = if finding.severity == Severity::Info { Meaning::Quiet } else { Meaning::Text };
    brush.text(row.x, row.y, 1, symbol, meaning);
    let (lines, _) = highlighted(vec![vec![piece(title, weight)]], word);
    let pieces = lines.concat();
    let end = brush.write(row.x + 2, row.y, row.width.saturating_sub(2), &pieces);
    if selected {
        brush.shade(Rect { x: row.x + 2, width: end.saturating_sub(row.x + 2), ..row }, Meaning::Selected);
    }
    brush.write(end, row.y, row.right().saturating_sub(end), &note)
}

/// A title in so many cells: of a list its first words and a count, else its first clause and an ellipsis. The finding's details
/// have all of it.
fn in_short(title: &str, room: u16) -> String {
    let fits = |text: &String| cells(text) <= room;
    if cells(title) <= room {
        return title.to_owned();
    }
    let list = title.split_once(": ").map(|(name, list)| (name, list.split(", ").collect::<Vec<_>>()));
    let list = list.filter(|(_, words)| words.len() > 2 && words.iter().all(|word| !word.contains(' ')));
    let counted = list.iter().flat_map(|(name, words)| {
        let kept = (1..words.len()).rev().map(|kept| words.split_at(kept));
        kept.map(|(kept, rest)| format!("{name}: {} and {} more", kept.join(", "), rest.len()))
            .collect::<Vec<_>>()
    });
    let clauses = title.rmatch_indices("; ").chain(title.rmatch_indices(", ")).filter(|_| list.is_none());
    let clauses = clauses.map(|(end, _)| format!("{} …", &title[..end]));
    let mut forms = counted.chain(clauses);
    forms.find(fits).unwrap_or_else(|| fit(title, room))
}

/// `+17.7 GB/s`; `(3.32 GB/s)` where nothing here reaches it; nothing where it is unknown.
pub fn short_gain(units: UnitSystem, gain: &Gain) -> String {
    match (gain.bytes_per_second, gain.iops) {
        (Some(bytes), _) => format!("+{}", rate(units, bytes)),
        (None, Some(count)) => format!("+{}", iops(count)),
        (None, None) => {
            gain.out_of_reach.map_or_else(String::new, |bytes| format!("({})", rate(units, bytes)))
        }
    }
}

/// A gap from which dots lead over, cells.
const LEADER: u16 = 24;

/// Dots from a name to figures that are far from it.
pub fn leader(brush: &mut Brush<'_>, from: u16, to: u16, y: u16) {
    if to.saturating_sub(from) < LEADER {
        return;
    }
    let style = brush.theme.style(Meaning::Lines);
    for x in (from + 2..to.saturating_sub(3)).filter(|x| x % 2 == 0) {
        brush.cell(x, y, '.', style);
    }
}

/// All findings, the most severe first and those that are for information last.
pub fn ordered(shared: &Shared) -> impl Iterator<Item = &Finding> {
    let quiet = shared.findings.list.iter().filter(|finding| finding.severity == Severity::Info);
    shared.findings.loud().chain(quiet)
}

/// The count of findings and the worst one, for a row that something else shares: `▲ 4 findings, 1 under load; the worst: 8 drives share ...`.
pub fn worst(shared: &Shared) -> Vec<Piece> {
    let Some(first) = ordered(shared).next() else {
        return vec![piece("no finding", Meaning::Quiet)];
    };
    let (symbol, meaning) = mark(first.severity);
    vec![
        piece(format!("{symbol} "), meaning),
        piece(counted(shared.findings.list.len(), "finding") + &under_load(shared), Meaning::Text),
        piece(format!("; the worst: {}", first.title), Meaning::Quiet),
    ]
}

/// What stands below the title of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Details {
    /// Why it matters, and the remedy.
    Remedy,
    /// Also when it is wrong, and so much evidence; the findings screen has all of it.
    All(usize),
}

/// Evidence below the title of a finding, where there is no room for more.
pub const EVIDENCE: usize = 3;

/// Lines of a finding below its title.
fn details(finding: &Finding, which: Details, width: u16) -> Vec<Vec<Piece>> {
    let mut texts = vec![finding.why.clone(), finding.remedy.text.clone()];
    if let Details::All(most) = which {
        texts.push(format!("Wrong if: {}", finding.wrong_if));
        for proof in finding.evidence.iter().take(most) {
            let text = format!("Evidence: {}  {}", proof.value, proof.path);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    let texts = texts.iter().filter(|text| !text.is_empty());
    texts.flat_map(|text| hanging(piece("  ", Meaning::Quiet), text, Meaning::Quiet, width)).collect()
}

/// A finding with all its details and at most so much evidence, for places beside the list.
pub fn section(finding: &Finding, evidence: usize, width: u16) -> Vec<Vec<Piece>> {
    let (symbol, meaning) = mark(finding.severity);
    let title = hanging(piece(format!("{symbol} "), meaning), &finding.title, Meaning::Text, width);
    title.into_iter().chain(details(finding, Details::All(evidence), width)).collect()
}

/// A finding that only a test can show.
pub fn unjudged(id: FindingId, width: u16) -> Option<Section> {
    let row = findings::row(id.0)?;
    let mut lines = vec![sections::heading(row.title, "checked while a test runs")];
    for text in [row.why, &format!("Found if: {}.", row.fires)] {
        lines.extend(hanging(piece("  ", Meaning::Quiet), text, Meaning::Quiet, width));
    }
    Some(lines)
}

/// Rows of all findings with their details.
fn detailed_rows(shared: &Shared, which: Details, width: u16) -> usize {
    ordered(shared).map(|finding| 1 + details(finding, which, width).len()).sum::<usize>().max(1)
}

/// The most details of all findings for which a panel has as many rows; `None`: titles alone fit, or less.
pub fn fitting_details(shared: &Shared, width: u16, rows: usize) -> Option<Details> {
    [Details::All(EVIDENCE), Details::Remedy]
        .into_iter()
        .find(|which| detailed_rows(shared, *which, width) <= rows)
}

/// Rows of all findings, with the details that fit `room` rows.
pub fn rows(shared: &Shared, width: u16, room: usize) -> usize {
    let details = if room == 0 { None } else { fitting_details(shared, width, room) };
    details.map_or(shared.findings.list.len(), |which| detailed_rows(shared, which, width))
}

/// All findings with their details, for panels that have as many rows.
pub fn detailed(shared: &Shared, brush: &mut Brush<'_>, which: Details, area: Rect) {
    let mut y = area.y;
    for (at, finding) in ordered(shared).enumerate() {
        strip(shared, brush, Rect { y, height: 1, ..area }, at);
        let lines = details(finding, which, area.width);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        brush.lines(Rect { y: y + 1, height: rows, ..area }, &lines, 0);
        y += 1 + rows;
    }
    if shared.findings.list.is_empty() {
        strip(shared, brush, area, 0);
    }
}

/// The panel of findings on the machine screen: as many as there are rows, the most severe first, from the `top`th on.
pub fn strip(shared: &Shared, brush: &mut Brush<'_>, area: Rect, top: usize) {
    let shown = ordered(shared).skip(top);
    for (y, finding) in (area.y..area.bottom()).zip(shown) {
        let row = Rect { y, height: 1, ..area };
        let (end, gain) = with_gain(shared, brush, row, (finding, ""), false);
        if gain < row.right() {
            leader(brush, end, gain, y);
        }
    }
    if shared.findings.list.is_empty() {
        brush.text(area.x, area.y, area.width, &shared.no_findings(), Meaning::Quiet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_without_room_keeps_words_of_its_list_or_its_first_clause() {
        let list = "8 settings at default: readahead, iostats, nomerges, wbt";
        assert_eq!(in_short(list, 60), list);
        assert_eq!(in_short(list, 54), "8 settings at default: readahead, iostats and 2 more");
        assert_eq!(in_short(list, 44), "8 settings at default: readahead and 3 more");
        assert_eq!(in_short(list, 20), "8 settings at defau…", "no form fits");
        let clauses = "2 drives use 512 B blocks; by their own rating 4096 B are faster";
        assert_eq!(in_short(clauses, 60), "2 drives use 512 B blocks …");
        assert_eq!(
            in_short("card: could do Gen4 x8, the slot gives Gen4 x4", 40),
            "card: could do Gen4 x8 …"
        );
    }
}

//! Today's slots beside those of the machine as it would be, and what that changes.

use ratatui::layout::Rect;

use super::{
    Areas, Slots,
    details::{self, labelled},
};
use crate::{
    capacity::Total,
    machine::{Machine, hop},
    report::whatif::rows::{Mark, Row},
    screens::widgets::{
        find::highlighted,
        findings,
        paint::{Brush, Piece, cells, cut, inner, paragraph, piece, width, write_fitting},
        scroll::{self, out_of_sight},
        sections,
        words::{giga, rate},
    },
    ui::{Shared, theme::Meaning},
    units::{BytesPerSecond, counted},
    whatif::{Prediction, assumption::names},
};

pub(super) fn draw(state: &Slots, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(state, shared, area);
    let (today, then) = (areas.today, areas.then);
    let height = areas.rows.height;
    let (above, below) = (state.today.len(), state.then.len());
    let hidden = [above, below].map(|count| out_of_sight(state.top, count, height));
    let title = fitting(brush, today, &today_titles(state, shared), hidden[0]);
    let note = unit(brush, shared, today, &title, hidden[0]);
    let area = brush.panel(today, &title, &note);
    side(state, shared, brush, area, &Side { machine: &shared.machine, rows: &state.today, before: None });
    let title = fitting(brush, then, &then_titles(state, shared), hidden[1]);
    let note = unit(brush, shared, then, &title, hidden[1]);
    let area = brush.panel(then, &title, if state.then.is_empty() { &[] } else { &note });
    if let Some(Ok(prediction)) = &state.prediction {
        let machine = &prediction.moved.then.machine;
        let shares = Some(&prediction.before);
        side(state, shared, brush, area, &Side { machine, rows: &state.then, before: shares });
    } else {
        let words = beside(state, shared, area);
        brush.lines(area, &words, 0);
        if has_cursor(state, shared, then) {
            brush.lines(sections::after(area, words.len()), &details::cursor(state, shared, area.width), 0);
        }
    }
    scroll::mark(brush, today, scroll::ROWS, hidden[0]);
    if !state.then.is_empty() {
        scroll::mark(brush, then, scroll::ROWS, hidden[1]);
    }
    text(state, shared, &areas, brush);
}

/// The unit of the figures, as long as the title and that mark leave room: the mark would cover a row else.
fn unit(
    brush: &Brush<'_>,
    shared: &Shared,
    panel: Rect,
    title: &[Piece],
    hidden: (usize, usize),
) -> Vec<Piece> {
    let room =
        brush.title_room(panel.width).saturating_sub(width(title) + scroll::in_rule(brush, hidden) + 3);
    let giga = shared.units.giga_per_second();
    let words =
        [format!("{giga} with all busy"), giga.to_owned()].into_iter().find(|words| cells(words) <= room);
    words.map(|words| piece(words, Meaning::Quiet)).into_iter().collect()
}

/// The longest of these titles that fits beside the mark of rows out of sight, which stands in its rule where there is no box.
fn fitting(brush: &Brush<'_>, panel: Rect, titles: &[Vec<Piece>], hidden: (usize, usize)) -> Vec<Piece> {
    let room = match scroll::in_rule(brush, hidden) {
        0 => brush.title_room(panel.width),
        mark => panel.width.saturating_sub(mark + 2),
    };
    let fitting = titles.iter().find(|title| width(title) <= room).or(titles.last());
    fitting.map(|title| cut(title, room)).unwrap_or_default()
}

/// The titles of the left side, the longest first: what moves stays, the words before it give way.
fn today_titles(state: &Slots, shared: &Shared) -> Vec<Vec<Piece>> {
    let Some(picked) = &state.picked else {
        let found = state.find.title().unwrap_or_else(|| piece("  as they are", Meaning::Quiet));
        return vec![vec![piece("Slots", Meaning::Heading), found]];
    };
    let word = if picked.dropped { "moved" } else { "moving" };
    let names = names(&shared.machine, &picked.functions);
    let short = names.strip_prefix("the card with ").unwrap_or(&names);
    let marked = |text: String| piece(text, Meaning::Marked);
    let before = || piece("Before", Meaning::Heading);
    let mut titles = vec![
        vec![before(), marked(format!("  ● {word} {names}"))],
        vec![before(), marked(format!("  ● {word} {short}"))],
        vec![before(), marked(format!("  ● {short}"))],
        vec![marked(format!("● {short}"))],
    ];
    if short != names {
        titles.push(vec![marked(format!("● {}", counted(picked.functions.len(), "drive")))]);
    }
    let words: Vec<&str> = short.split(' ').collect();
    let kept = (1..words.len()).rev().map(|kept| vec![marked(format!("● {} …", words[..kept].join(" ")))]);
    titles.extend(kept);
    titles
}

/// The same of the right side: the slot's speed, then its place in the rows too.
fn then_titles(state: &Slots, shared: &Shared) -> Vec<Vec<Piece>> {
    let after = || piece("After", Meaning::Heading);
    let Some(picked) = &state.picked else {
        return vec![vec![after(), piece("  a move, on paper", Meaning::Quiet)]];
    };
    let marked = |text: String| piece(text, Meaning::Marked);
    let place = picked.under.map(|under| shared.machine.pci.node(under).address);
    let speed = picked.speed.map(|speed| {
        let words =
            if place.is_some() { format!("Gen{}", speed.generation()) } else { hop::speed_sentence(speed) };
        marked(format!("  in a {words} slot"))
    });
    let brief = picked.speed.map(|speed| marked(format!("  Gen{}", speed.generation())));
    let under = place.map(|place| marked(format!("  under {place}")));
    let there = place.map(|place| marked(format!("  {place}")));
    let parts = [[&speed, &under], [&brief, &under], [&brief, &there], [&speed, &None], [&brief, &None]];
    let titles = parts.into_iter().map(|parts| {
        std::iter::once(after()).chain(parts.into_iter().flatten().cloned()).collect::<Vec<_>>()
    });
    titles.chain([vec![after()]]).collect()
}

const SLOWER: &str = "Press {slower slot} for a slower slot.";
const BEST: &str = "Press {best move} for the best move.";
const BEST_OR_SLOWER: &str = "Press {best move} for the best move or {slower slot} for a slower slot.";
const ON_CARD: &str = "{move card} selects the card under the cursor; this side then shows the machine with the card at the cursor.";
pub(super) const NO_CARD: &str = "No device of this machine is a card in a slot: there is nothing to move.";
const ON_PART: &str =
    "This row is a part of the machine: go to a card, to move it or to try another slot speed.";

/// How to begin, or why a move is impossible: the words in place of the tree after a move. Blank lines part them where those fit.
pub(super) fn beside(state: &Slots, shared: &Shared, area: Rect) -> Vec<Vec<Piece>> {
    let texts = match &state.prediction {
        Some(Err(why)) => vec![
            (format!("{} does not work: {}.", why.about, why.wrong), Meaning::Warning),
            (format!("Instead: {}.", why.fix), Meaning::Text),
        ],
        _ => guide(state, shared).iter().map(|(text, meaning)| (shared.keys.fill(text), *meaning)).collect(),
    };
    let parts: Vec<_> = texts.iter().map(|(text, meaning)| paragraph(text, *meaning, area.width)).collect();
    let with_gaps = parts.iter().map(Vec::len).sum::<usize>() + parts.len().saturating_sub(1);
    let gap: &[Vec<Piece>] = if with_gaps <= usize::from(area.height) { &[Vec::new()] } else { &[] };
    parts.join(gap)
}

/// How to begin.
fn guide(state: &Slots, shared: &Shared) -> Vec<(&'static str, Meaning)> {
    if state.is_carrying() {
        let is_drive = state.row().is_some_and(|row| row.drive.is_some());
        let drops = match (state.is_on_picked(), state.part(shared).is_some()) {
            (false, _) => "{move card} drops it there.",
            (true, true) if is_drive => "{move card} drops it there; here it selects this drive alone.",
            (true, true) => "{move card} drops it there; here it selects this device alone.",
            (true, false) => "{move card} drops it there; here it puts the card back.",
        };
        let keys = "{slower slot} and {faster slot} change the slot's generation. {back} cancels.";
        return vec![
            ("Go to its new place: a root complex, a slot, or a card to swap with.", Meaning::Text),
            (drops, Meaning::Quiet),
            (keys, Meaning::Quiet),
        ];
    }
    let (begins, also) = match (state.is_on_card(shared), state.has_way()) {
        (true, false) => (ON_CARD, SLOWER),
        (true, true) => (ON_CARD, BEST_OR_SLOWER),
        _ if !state.has_cards(shared) => (NO_CARD, ""),
        // A root complex has no slot of its own: no other speed is tried.
        (false, false) => (ON_PART, ""),
        (false, true) => (ON_PART, BEST),
    };
    let question = if begins == NO_CARD { "" } else { "What would a card reach in another slot?" };
    let lines = [
        (question, Meaning::Heading),
        (begins, Meaning::Text),
        (also, Meaning::Text),
        ("No hardware is changed.", Meaning::Quiet),
    ];
    lines.into_iter().filter(|(text, _)| !text.is_empty()).collect()
}

/// One of the two trees.
struct Side<'a> {
    machine: &'a Machine,
    rows: &'a [Row],
    /// What drives got before the move; `None` for today's side, which has the cursor.
    before: Option<&'a Total>,
}

/// Cells of the right columns: the link, what it gets, of what, the bar.
const LINK: u16 = 9;
const BUSY: u16 = 13;
/// Cells of the rate alone.
const RATE: u16 = 4;
const BAR: u16 = 12;
/// Cells of the rate without its limit, on panels narrower than that.
const BUSY_ALONE: (u16, u16) = (5, 36);

/// The columns of a side.
struct Columns {
    has_link: bool,
    has_bar: bool,
    /// Cells of the rate and, where there is room, the limit.
    busy: u16,
    /// Cells of all of them.
    right: u16,
    /// Cells of the longest drive's name.
    names: u16,
}

impl Columns {
    fn new(rows: &[Row], width: u16) -> Self {
        let (has_link, has_bar) = (width >= 44, width >= 78);
        let busy = if width < BUSY_ALONE.1 { BUSY_ALONE.0 } else { BUSY };
        let right = busy + if has_link { LINK } else { 0 } + if has_bar { BAR } else { 0 };
        let names = rows.iter().filter_map(|row| row.drive.as_ref()).map(|name| cells(name.as_str())).max();
        Self { has_link, has_bar, busy, right, names: names.unwrap_or(0) }
    }

    /// Whether a row has something in the columns of figures: a rate, or a root complex its limit.
    const fn has_figures(&self, row: &Row) -> bool {
        has_rate(row) || row.limit.is_some() && row.depth == 0 && self.busy == BUSY
    }

    /// How a row of a machine stands in `area`. A name takes the room of columns that are blank in its row.
    fn laid(&self, machine: &Machine, row: &Row, area: Rect) -> Laid {
        let link = row.link.filter(|_| self.has_link).map(hop::short);
        let figures =
            if self.has_figures(row) { self.right - if self.has_link { LINK } else { 0 } } else { 0 };
        let blank = if has_rate(row) { 0 } else { figures.min(RATE) };
        let needed = cells(&row.guides) + width(&label(machine, row, self.names, u16::MAX));
        let from_right = match &link {
            None => figures - blank,
            // A link without figures behind it gives way to a longer name.
            Some(link) if figures == 0 && needed > area.width.saturating_sub(self.right + MARKS + 1) => {
                cells(link)
            }
            Some(_) => self.right,
        };
        let gap = u16::from(from_right > 0);
        let room = area.width.saturating_sub(MARKS + from_right + gap);
        Laid { link, link_at: area.right().saturating_sub(from_right), figures, needed, room }
    }
}

/// The places of a row's parts.
struct Laid {
    link: Option<String>,
    link_at: u16,
    /// Cells of the figures at the right edge.
    figures: u16,
    /// Cells that guides and name need.
    needed: u16,
    /// Cells that they have.
    room: u16,
}

/// Cells of the cursor and the marks before a name.
const MARKS: u16 = 3;

/// How many names a tree of this width cuts.
pub(super) fn cut_names(state: &Slots, shared: &Shared, area: Rect) -> usize {
    let columns = Columns::new(&state.today, area.width);
    let is_cut = |row: &&Row| {
        let laid = columns.laid(&shared.machine, row, area);
        laid.needed > laid.room
    };
    state.today.iter().filter(|row| row.depth > 0).filter(is_cut).count()
}

/// The name of the row under the cursor, where its place cuts it.
fn cut_name(state: &Slots, shared: &Shared, area: Rect) -> Option<String> {
    let row = state.row()?;
    let laid = Columns::new(&state.today, area.width).laid(&shared.machine, row, area);
    let name = if row.depth == 0 { None } else { Some(row.name.clone()) };
    name.filter(|name| {
        let shown = cells(&row.guides) + cells(&row.place) + 1 + cells(name);
        laid.needed > laid.room && shown > laid.room
    })
}

fn side(state: &Slots, shared: &Shared, brush: &mut Brush<'_>, area: Rect, side: &Side<'_>) {
    let columns = Columns::new(side.rows, area.width);
    for (y, (index, row)) in (area.y..area.bottom()).zip(side.rows.iter().enumerate().skip(state.top)) {
        let Laid { link, link_at, figures, room, .. } = columns.laid(side.machine, row, area);
        let selected = side.before.is_none() && index == state.selected;
        if selected {
            brush.text(area.x, y, 1, "›", Meaning::Brand);
        }
        let (mark, meaning) = mark(row.mark, side.before.is_none());
        brush.text(area.x + 1, y, 1, mark, meaning);
        let x = brush.text(area.x + MARKS, y, room, &row.guides, Meaning::Lines);
        let room_here = (area.x + MARKS + room).saturating_sub(x);
        let pieces = label(side.machine, row, columns.names, room_here);
        let pieces = highlighted(vec![pieces], state.find.word()).0.concat();
        let end = write_fitting(brush, x, y, room_here, &pieces);
        if selected {
            brush.shade(Rect { x, y, width: end.saturating_sub(x), height: 1 }, Meaning::Selected);
        }
        let blank = if has_rate(row) { 0 } else { RATE };
        let first = match (&link, figures) {
            (Some(_), _) => Some(link_at),
            (None, 0) => None,
            (None, _) => Some(area.right().saturating_sub(figures) + blank),
        };
        if let Some(first) = first {
            findings::leader(brush, end, first, y);
        }
        if let Some(link) = link {
            brush.text(link_at, y, LINK, &link, Meaning::Quiet);
        }
        if figures > 0 {
            let x = area.right().saturating_sub(figures);
            let figures = Figures { wide: columns.busy, has_bar: columns.has_bar, before: side.before };
            figures.draw(shared, brush, x, y, row);
        }
    }
}

/// Whether a row has a rate, which of a drive may be unknown.
const fn has_rate(row: &Row) -> bool {
    row.busy.is_some() || row.drive.is_some()
}

/// Marks of the moved card and its swap; arrows point to the other side.
const fn mark(mark: Mark, is_today: bool) -> (&'static str, Meaning) {
    match (mark, is_today) {
        (Mark::Moves, true) => ("▸", Meaning::Marked),
        (Mark::Moves, false) => ("●", Meaning::Marked),
        (Mark::GivesWay, _) => ("◂", Meaning::Warning),
        (Mark::Changes | Mark::Same, _) => (" ", Meaning::Text),
    }
}

/// A name; words that tell little are left out where there is no room for them.
fn label(machine: &Machine, row: &Row, wide: u16, room: u16) -> Vec<Piece> {
    if row.depth == 0 {
        let address = piece(row.place.clone(), Meaning::Figure);
        let kind = format!(" {}", machine.kind_of_root(row.node));
        let whole = [piece(kind, Meaning::Text), piece(format!(", {}", row.name), Meaning::Quiet)];
        let short = piece(format!("  {}", row.name), Meaning::Quiet);
        return if cells(&row.place) + width(&whole) <= room {
            [vec![address], whole.to_vec()].concat()
        } else {
            vec![address, short]
        };
    }
    let place = piece(format!("{} ", row.place), Meaning::Quiet);
    let model = row.drive.as_ref().and_then(|name| machine.drive(name)).map(|drive| machine.model_of(drive));
    match (&row.drive, model) {
        (Some(_), Some(model)) => {
            let name = format!("{:<wide$}", row.name, wide = usize::from(wide));
            let pieces =
                vec![place, piece(name, Meaning::Drive), piece(format!("  {model}"), Meaning::Quiet)];
            // Half a model is none.
            let keeps = if room < 24 && width(&pieces) > room { 2 } else { 3 };
            pieces.into_iter().take(keeps).collect()
        }
        _ => vec![place, piece(row.name.clone(), Meaning::Text)],
    }
}

/// How the figures of a row are drawn.
struct Figures<'a> {
    /// Cells of the rate and, where there is room, the limit.
    wide: u16,
    has_bar: bool,
    before: Option<&'a Total>,
}

impl Figures<'_> {
    /// The rate of a row with all drives busy and the limit of its path; coloured by the difference to before.
    fn draw(&self, shared: &Shared, brush: &mut Brush<'_>, x: u16, y: u16, row: &Row) {
        let share = |rate: Option<BytesPerSecond>| rate.map(|rate| rate.0);
        let (busy, limit) = (share(row.busy), share(row.limit));
        let full = busy.zip(limit).is_some_and(|(busy, limit)| busy >= limit * 0.995);
        let was = self.before.zip(row.drive.as_ref()).and_then(|(before, drive)| before.shares.get(drive));
        let meaning = match (was.map(|was| was.bytes_per_second.0), busy) {
            (Some(was), Some(now)) if now > was * 1.001 => Meaning::Good,
            (Some(was), Some(now)) if now < was * 0.999 => Meaning::Problem,
            _ if full && row.depth == 0 => Meaning::Warning,
            _ => Meaning::Figure,
        };
        let left = busy.map_or_else(|| "?".to_owned(), |busy| giga(shared.units, busy));
        let limit_text = limit.map_or_else(|| "   ?".to_owned(), |limit| giga(shared.units, limit));
        // A longer name may stand in the place of no rate.
        let shown = if has_rate(row) { format!("{left:>4}") } else { String::new() };
        brush.text(x, y, RATE, &shown, meaning);
        let x = x + RATE;
        if self.wide < BUSY {
            return;
        }
        let x = brush.text(x, y, 8, &format!(" of {limit_text:>4}"), Meaning::Quiet);
        if let (true, Some(busy), Some(limit)) = (self.has_bar, busy, limit) {
            let colour = if full && row.depth == 0 { Meaning::Warning } else { Meaning::Load };
            brush.bar(x + 2, y, BAR - 1, busy / limit, colour);
        }
    }
}

/// Totals with bars, then findings, changed paths and assumptions.
fn text(state: &Slots, shared: &Shared, areas: &Areas, brush: &mut Brush<'_>) {
    let panel = areas.text;
    let made = state.made();
    let area = brush.panel(panel, &[piece("All drives at once", Meaning::Heading)], &[]);
    let Some(today) = state.total() else { return };
    let most =
        made.map_or(0.0, |made| made.after.at_most_bytes_per_second.0).max(today.at_most_bytes_per_second.0);
    total(shared, brush, Rect { height: 1, ..area }, ("before", today), most, None);
    if let Some(made) = made {
        let row = Rect { y: area.y + 1, height: 1, ..area };
        total(shared, brush, row, ("after", &made.after), most, Some(made));
    }
    let (rest, lines) = words(state, shared, areas);
    let hidden = brush.lines(rest, &lines, state.detail_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
    let free = sections::after(rest, lines.len());
    let with_cursor = state.made().is_some() || !has_cursor(state, shared, areas.then);
    sections::fill(brush, free, |width| {
        let most = usize::from(free.height);
        let own = with_cursor.then(|| details::cursor(state, shared, width));
        own.into_iter().chain(details::sections(state, shared, width, most)).collect()
    });
}

/// Whether the facts of the row under the cursor have room beside the tree, below the words there.
fn has_cursor(state: &Slots, shared: &Shared, then: Rect) -> bool {
    let inside = inner(then, shared.is_boxed());
    let rest = sections::after(inside, beside(state, shared, inside).len());
    details::cursor(state, shared, inside.width).len() <= usize::from(rest.height)
}

/// The words below the totals, with their place.
pub(super) fn words(state: &Slots, shared: &Shared, areas: &Areas) -> (Rect, Vec<Vec<Piece>>) {
    let (today, panel) = (areas.rows, areas.text);
    let area = inner(panel, shared.is_boxed());
    let totals = 1 + u16::from(state.made().is_some());
    let rest = Rect { y: area.y + totals, height: area.height.saturating_sub(totals), ..area };
    let lines = match (state.total(), state.made()) {
        (Some(today), Some(made)) => differences(shared, made, today, rest.width),
        (Some(today), None) => labelled("by", &today.because, Meaning::Quiet, rest.width),
        (None, _) => Vec::new(),
    };
    let cut = cut_name(state, shared, today).map(|name| labelled("row", &name, Meaning::Text, rest.width));
    let lines = lines.into_iter().chain(cut.unwrap_or_default()).collect();
    (rest, lines)
}

/// `then  ▆▆▆▆▆▆▆▆·· 71.4 GB/s  +17.7 GB/s  published`.
fn total(
    shared: &Shared,
    brush: &mut Brush<'_>,
    area: Rect,
    (name, total): (&str, &Total),
    most: f64,
    made: Option<&Prediction>,
) {
    let x = brush.text(area.x, area.y, 10, &format!("{name:<10}"), Meaning::Quiet);
    let bar = (area.width / 3).clamp(10, 60);
    let known = total.bytes_per_second.map(|rate| rate.0);
    brush.bar(x, area.y, bar, known.unwrap_or(0.0) / most.max(1.0), Meaning::Load);
    let mut pieces = vec![piece("  ", Meaning::Text)];
    pieces.push(match known {
        Some(sum) => piece(format!("{:>9}", rate(shared.units, sum)), Meaning::Figure),
        None => piece("unknown", Meaning::Warning),
    });
    match made.map(Prediction::gain) {
        Some(Some(gain)) if gain.abs() < 1e6 => pieces.push(piece("  no difference", Meaning::Text)),
        Some(Some(gain)) if gain > 0.0 => {
            pieces.push(piece(format!("  +{}", rate(shared.units, gain)), Meaning::Good));
        }
        Some(Some(gain)) => pieces.push(piece(format!("  -{}", rate(shared.units, -gain)), Meaning::Problem)),
        _ => {}
    }
    let basis = total.basis.map_or_else(
        || {
            let most = rate(shared.units, total.at_most_bytes_per_second.0);
            total.at_most_by.map_or_else(String::new, |by| format!("  at most {most} by {by}"))
        },
        |basis| format!("  {}", basis.name()),
    );
    if width(&pieces) + cells(&basis) <= area.right().saturating_sub(x + bar) {
        pieces.push(piece(basis, Meaning::Quiet));
    }
    brush.write(x + bar, area.y, area.right().saturating_sub(x + bar), &pieces);
}

fn differences(shared: &Shared, made: &Prediction, today: &Total, width: u16) -> Vec<Vec<Piece>> {
    let mut lines = Vec::new();
    for finding in &made.findings_gone {
        lines.extend(labelled("✓ fixed", &finding.title, Meaning::Good, width));
    }
    for finding in &made.findings_new {
        let (mark, meaning) = findings::mark(finding.severity);
        lines.extend(labelled(&format!("{mark} new"), &finding.title, meaning, width));
    }
    for change in made.changes.iter().filter(|change| change.kind == "drive" && change.before != change.after)
    {
        let word = |value: Option<BytesPerSecond>| {
            value.map_or_else(|| "unknown".to_owned(), |value| rate(shared.units, value.0))
        };
        let words = format!("path of {} {} → {}", change.name, word(change.before), word(change.after));
        lines.extend(labelled("limit", &words, Meaning::Text, width));
    }
    for (at, assumption) in made.moved.assumptions.iter().enumerate() {
        let label = if at == 0 { "assumes" } else { "" };
        lines.extend(labelled(label, &assumption.to_string(), Meaning::Text, width));
    }
    lines.extend(labelled("before by", &today.because, Meaning::Quiet, width));
    lines.extend(labelled("after by", &made.after.because, Meaning::Quiet, width));
    lines
}

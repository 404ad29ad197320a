//! How the Why screen looks: the sentence, then panels with the evidence.

use std::{borrow::Cow, collections::BTreeMap};

use ratatui::layout::{Position, Rect};

use super::{LEAST, Places, Rows, Source, Why, at_rest, history};
use crate::{
    report::why::{
        PANELS, Panel, Sentence,
        grid::{Grid, Mark, Place},
        lines::{self, Line},
        profile, tables,
    },
    screens::widgets::{
        cpus::Cpus,
        find::highlighted,
        paint::{Brush, Piece, hanging, inner, label, paragraph, piece, simulated, width},
        scroll::{self, out_of_sight},
        sections,
    },
    ui::{Mode, Shared, test::Test, theme::Meaning},
    units::counted,
};

/// What the panels hold.
pub(super) struct Contents {
    cpus: Cpus,
    threads: Grid,
    interrupts: Grid,
    profile: Grid,
    /// Functions that are more than noise.
    matter: usize,
    /// Those that move something or use much CPU time.
    processes: Grid,
    drives: Grid,
    lines: Vec<(Panel, Line)>,
    /// A panel has the whole screen, and room for whole sentences above its table.
    is_large: bool,
}

pub(super) fn draw(state: &Why, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    match state.source(shared) {
        Source::Nothing(why) => {
            let inside =
                brush.panel(area, &[piece("Why", Meaning::Heading)], simulated(shared.is_simulated()));
            let mut lines = paragraph(&shared.keys.fill(why), Meaning::Quiet, inside.width);
            lines.push(Vec::new());
            let of =
                |panel| hanging(label(name(panel), LABEL + 2), content(panel), Meaning::Quiet, inside.width);
            lines.extend(PANELS.into_iter().flat_map(of));
            brush.lines(inside, &lines, 0);
            // A live machine has its figures within a second.
            if shared.mode != Mode::Live {
                at_rest::draw(shared, sections::after(inside, lines.len()), brush);
            }
        }
        Source::Now(sentence) => now(state, shared, area, &sentence, brush),
    }
}

fn now(state: &Why, shared: &Shared, area: Rect, sentence: &Sentence, brush: &mut Brush<'_>) {
    let contents = Contents::new(state, shared);
    let places =
        Places::new(state, shared, area, sentence, |panel, width| contents.rows(panel, shared, width));
    let mut title = vec![piece("Why", Meaning::Heading)];
    if state.is_after_test(shared) {
        let words = match state.ended_pull(shared) {
            Some((run, _)) => format!("  figures: as the last test ended, {run}"),
            None => "  as the last test ended".to_owned(),
        };
        title.push(piece(words, Meaning::Quiet));
    }
    if state.is_between_loads(shared) {
        title.push(piece("  figures: of the load before", Meaning::Quiet));
    } else if let Some(time) = state.evidence.time() {
        title.push(piece(format!("  figures: means of {:.0} s", time.as_secs_f64()), Meaning::Quiet));
    }
    if !places.hidden.is_empty() {
        let names: Vec<&str> = places.hidden.iter().map(|panel| name(*panel)).collect();
        title.push(piece(shared.keys.fill("  {previous panel}{next panel}"), Meaning::Key));
        title.push(piece(format!(" {}", names.join(", ")), Meaning::Quiet));
    }
    let note = simulated(shared.is_simulated());
    // The names of panels give way to their number.
    if !places.hidden.is_empty() && width(&title) + width(note) + 6 > places.sentence.width {
        title.pop();
        title.push(piece(format!(" {}", counted(places.hidden.len(), "more panel")), Meaning::Quiet));
    }
    let inside = brush.panel(places.sentence, &title, note);
    brush.lines(inside, &paragraph(&sentence.text, Meaning::Figure, inside.width), 0);
    let focus = state.focus(sentence);
    for (panel, place) in &places.panels {
        contents.draw(*panel, *panel == focus, shared, *place, state, brush);
    }
}

/// Whether there are threads that sleep.
pub(super) fn has_sleeping(state: &Why, shared: &Shared) -> bool {
    let activity = state.shown_of(shared).map_or(&shared.activity, |(_, activity)| activity);
    let [all, others] = [true, false].map(|all| tables::threads(activity, all, room(state, shared)));
    all.rows.len() != others.rows.len()
}

const fn name(panel: Panel) -> &'static str {
    match panel {
        Panel::Cpus => "CPUs",
        Panel::Threads => "Threads",
        Panel::Interrupts => "Interrupts",
        Panel::Profile => "Profile",
        Panel::Processes => "Processes",
        Panel::Pressure => "Pressure",
    }
}

/// What a panel shows.
const fn content(panel: Panel) -> &'static str {
    match panel {
        Panel::Cpus => "time of each CPU: usr, nice, sys, irq, softirq, steal, guest, iowait, idle",
        Panel::Threads => "state, command, system call and wait channel",
        Panel::Interrupts => "by drive, queue and CPU; I/Os per interrupt",
        Panel::Profile => "functions that CPUs execute, folded into words",
        Panel::Processes => "bytes to and from block devices, CPU time",
        Panel::Pressure => "waits for I/O, memory and CPUs; CPU time of an I/O",
    }
}

/// Cells in which no row of a table is cut.
const WHOLE: usize = 1000;

/// Rows of a table that whole reasons above it leave.
const FEW_ROWS: usize = 8;

/// Bytes per second of a process that its columns show as more than 0.00.
const LEAST_MOVED: f64 = 5_000.0;

/// CPUs that a process keeps busy to be shown without I/O: others may wait for these CPUs.
const LEAST_CPU: f64 = 0.1;

/// A line about it, beside its name.
fn note(panel: Panel, state: &Why, shared: &Shared) -> String {
    let activity = state.shown_of(shared).map_or(&shared.activity, |(_, activity)| activity);
    match panel {
        // The legend, which the widget writes.
        Panel::Cpus => String::new(),
        Panel::Threads => activity.threads.as_ref().map_or_else(String::new, |threads| {
            format!("{} of {} seen, programs with I/O first", threads.seen, threads.total)
        }),
        Panel::Interrupts => "per drive, queue and CPU".to_owned(),
        Panel::Profile => profile::note(activity),
        Panel::Processes => "to and from block devices, loop included".to_owned(),
        Panel::Pressure => "waits, memory, cost of an I/O".to_owned(),
    }
}

impl Contents {
    pub(super) fn new(state: &Why, shared: &Shared) -> Self {
        let (machine, is_large) = (&shared.machine, state.is_large);
        let (rates, activity) = state.shown_of(shared).unzip();
        let activity = activity.unwrap_or(&shared.activity);
        let (unit, names) = tables::rates_of(shared.units);
        let threads = tables::threads(activity, state.with_sleeping, room(state, shared));
        let processes = tables::processes(activity, (unit, names), |rates| {
            rates.moved() >= LEAST_MOVED || rates.cpus >= LEAST_CPU
        });
        let (profile, matter) = profile::functions(&shared.activity);
        let sorts = &state.sorts;
        let Some(rates) = rates else {
            let interrupts = Grid { columns: Vec::new(), rows: Vec::new() };
            let cpus = Cpus::new(std::iter::empty(), &BTreeMap::new());
            let lines = Vec::new();
            return Self {
                cpus,
                threads,
                interrupts,
                profile,
                matter,
                processes,
                drives: Grid { columns: Vec::new(), rows: Vec::new() },
                lines,
                is_large,
            }
            .sorted(sorts);
        };
        let mut lines = Vec::new();
        let mut add = |panel, more: Vec<Line>| lines.extend(more.into_iter().map(|line| (panel, line)));
        add(Panel::Cpus, lines::cpus(machine, rates));
        add(Panel::Interrupts, lines::interrupts(machine, rates));
        add(Panel::Threads, lines::threads(machine, activity));
        add(Panel::Profile, profile::lines(&shared.activity));
        add(Panel::Processes, lines::processes(machine, activity));
        // First what the running test costs, for a low panel cuts the end.
        let running = shared.tests.running().filter(|_| !state.is_between_loads(shared));
        if let Some(test) = running {
            add(Panel::Pressure, lines::per_io_now(machine, rates, activity, test.iops()));
        }
        add(Panel::Pressure, lines::pressure(rates, &activity.problems));
        let iops = running.map_or_else(
            || {
                let last = shared.tests.all.back().and_then(|test| test.summary());
                add(Panel::Pressure, last.map(lines::per_io_of).unwrap_or_default());
                let disks = machine.summed_drives().filter_map(|drive| rates.disks.get(&drive.name));
                disks.map(|disk| disk.reads + disk.writes).sum()
            },
            Test::iops,
        );
        add(Panel::Pressure, lines::cycles(activity, iops));
        // The reasons are those of a kernel, which a demo has not.
        lines.retain(|(_, line)| line.is_known || !shared.is_simulated());
        let cpus = rates.cpus.iter().map(|(cpu, shares)| (*cpu, (*shares).into()));
        Self {
            cpus: Cpus::new(cpus, &tables::nodes(machine)),
            threads,
            interrupts: tables::interrupts(machine, rates, shared.is_simulated()),
            profile,
            matter,
            processes,
            drives: tables::drives(machine, rates, unit, names),
            lines,
            is_large,
        }
        .sorted(sorts)
    }

    /// With its tables in the order that the user chose.
    fn sorted(mut self, sorts: &BTreeMap<Panel, (usize, bool)>) -> Self {
        for (panel, (column, is_reversed)) in sorts {
            let (grid, rows) = match panel {
                Panel::Threads => (&mut self.threads, usize::MAX),
                Panel::Interrupts => (&mut self.interrupts, usize::MAX),
                Panel::Profile => (&mut self.profile, self.matter),
                Panel::Processes => (&mut self.processes, usize::MAX),
                Panel::Cpus | Panel::Pressure => continue,
            };
            grid.sort(*column, *is_reversed, rows);
        }
        self
    }

    /// How many columns the table of a panel has.
    pub(super) fn columns(&self, panel: Panel) -> usize {
        self.grid(panel).map_or(0, |(grid, _)| grid.columns.len())
    }

    /// The column whose heading is at a cell of a panel's place.
    pub(super) fn column_at(
        &self,
        panel: Panel,
        shared: &Shared,
        place: Rect,
        at: Position,
    ) -> Option<usize> {
        let (grid, _) = self.grid(panel)?;
        let area = inner(place, shared.is_boxed());
        let lines = u16::try_from(self.lines(panel, area.width, area.height).len()).unwrap_or(u16::MAX);
        if at.y != area.y.saturating_add(lines) || grid.rows.is_empty() {
            return None;
        }
        let (x, room) = (usize::from(at.x.checked_sub(area.x)?), usize::from(area.width));
        let places = grid.layout_by_need(room).places;
        places.iter().find(|at| (at.x..at.x + at.cells).contains(&x)).map(|at| at.column)
    }

    /// The rows of a panel's table as texts to find words in.
    pub(super) fn texts(&self, panel: Panel) -> Vec<String> {
        let Some((grid, rows)) = self.grid(panel) else { return Vec::new() };
        let layout = grid.layout(WHOLE);
        grid.rows.iter().take(rows).map(|row| grid.row(row, &layout)).collect()
    }

    /// Whether the table of a panel has any.
    pub(super) fn has_rows(&self, panel: Panel) -> bool {
        self.grid(panel).is_some_and(|(grid, rows)| rows > 0 && !grid.rows.is_empty())
    }

    /// The table of a panel, and the rows that matter.
    fn grid(&self, panel: Panel) -> Option<(&Grid, usize)> {
        match panel {
            Panel::Threads => Some((&self.threads, self.threads.rows.len())),
            Panel::Interrupts => Some((&self.interrupts, self.interrupts.rows.len())),
            Panel::Profile => Some((&self.profile, self.matter)),
            Panel::Processes => Some((&self.processes, self.processes.rows.len())),
            Panel::Cpus | Panel::Pressure => None,
        }
    }

    /// Lines above a table, at most `width` cells. Where they would take a table's rows, what it lacks is said in short.
    pub(super) fn lines(&self, panel: Panel, width: u16, height: u16) -> Vec<Vec<Piece>> {
        let of = || self.lines.iter().filter(|(of, _)| *of == panel).map(|(_, line)| line);
        let whole: Vec<Vec<Piece>> = of().flat_map(|line| written(line, width)).collect();
        let table = match (panel, self.grid(panel)) {
            _ if self.is_large => 0,
            (Panel::Cpus, _) => self.cpus.rows(width),
            (_, grid) => grid.map_or(0, |(_, rows)| rows.clamp(1, FEW_ROWS) + 1),
        };
        if table == 0 || whole.len() + table <= usize::from(height) {
            return whole;
        }
        let (known, unknown): (Vec<&Line>, Vec<&Line>) = of().partition(|line| line.is_known);
        let lead = |line: &&Line| {
            let text = line.in_short(unknown.iter().copied());
            hanging(label(&format!("{} ", line.name), LABEL), &text, Meaning::Quiet, width)
        };
        // Lines of one name are one.
        let first = |at: &usize| unknown[..*at].iter().all(|line| line.name != unknown[*at].name);
        let leads = (0..unknown.len()).filter(first).flat_map(|at| lead(&unknown[at]));
        known.into_iter().flat_map(|line| written(line, width)).chain(leads).collect()
    }

    /// What stands in place of a table without rows.
    fn nothing(&self, panel: Panel) -> &'static str {
        let is_whole = !self.lines.iter().any(|(of, line)| *of == panel && !line.is_known);
        match panel {
            Panel::Processes if is_whole => "no process reads or writes",
            Panel::Threads if is_whole => "no thread runs or waits for a device",
            _ => "nothing to show",
        }
    }

    /// Rows that fill it, with its frame.
    pub(super) fn rows(&self, panel: Panel, shared: &Shared, width: u16) -> Rows {
        let (edges, frame) = if shared.is_boxed() { (4, 2) } else { (2, 1) };
        let inside = width.saturating_sub(edges);
        let (needed, all) = match (panel, self.grid(panel)) {
            (Panel::Cpus, _) => (self.cpus.rows(inside), 0),
            (_, Some((grid, rows))) => (rows.max(1) + 1, grid.rows.len() + 1),
            (_, None) => (0, 0),
        };
        let least = if panel == Panel::Cpus { self.cpus.least_rows(inside) } else { needed };
        // Reasons in short, so that evidence has its rows first.
        let [short, whole] = [0, u16::MAX].map(|height| self.lines(panel, inside, height).len());
        let rows = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(frame);
        let has_curve = history::has_curves(panel, shared);
        let most = if has_curve { u16::MAX } else { rows(whole + all.max(needed)) };
        Rows { least: rows(short + least), needed: rows(short + needed), most }
    }

    /// How many lines can be scrolled out of sight in `place`.
    pub(super) fn scrolls(&self, panel: Panel, shared: &Shared, place: Rect) -> usize {
        let inside = inner(place, shared.is_boxed());
        let lines = self.lines(panel, inside.width, inside.height).len();
        let body = usize::from(inside.height).saturating_sub(lines + 1);
        match self.grid(panel) {
            Some((_, rows)) => rows.saturating_sub(body),
            None if panel == Panel::Pressure => lines.saturating_sub(usize::from(inside.height)),
            None => 0,
        }
    }

    fn draw(
        &self,
        panel: Panel,
        is_focus: bool,
        shared: &Shared,
        place: Rect,
        state: &Why,
        brush: &mut Brush<'_>,
    ) {
        let (top, sort) = (state.tops.get(&panel).copied().unwrap_or(0), state.sorts.get(&panel));
        let mark = if is_focus { piece("› ", Meaning::Brand) } else { piece("", Meaning::Text) };
        let mut title = vec![mark, piece(name(panel), Meaning::Heading)];
        let area = inner(place, brush.boxed);
        let lines = self.lines(panel, area.width, area.height);
        if panel == Panel::Cpus {
            let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
            let body = Rect { height: area.height - used, ..area };
            title.extend(self.cpus.legend(body, place.width.saturating_sub(12)));
        } else {
            if let Some(((column, is_reversed), (grid, _))) = sort.zip(self.grid(panel))
                && let Some(column) = grid.columns.get(*column)
            {
                let order = if *is_reversed { ", reversed" } else { "" };
                title.push(piece(format!("  by {}{order}", column.name), Meaning::Brand));
            }
            let found = state.find.title().filter(|_| is_focus);
            let note = || piece(format!("  {}", note(panel, state, shared)), Meaning::Quiet);
            title.push(found.unwrap_or_else(note));
        }
        let area = brush.panel(place, &title, &[]);
        let top_of_lines = if panel == Panel::Pressure { top } else { 0 };
        let hidden = brush.lines(area, &lines, top_of_lines);
        let (body, above, curves) = self.parts(panel, shared, area, lines.len());
        match self.grid(panel) {
            Some((grid, rows)) => {
                // Its line tells that it is being sampled.
                if panel != Panel::Profile || shared.activity.profile.is_some() {
                    let word = if is_focus { state.find.word() } else { "" };
                    if grid.rows.is_empty() {
                        let words = self.nothing(panel);
                        brush.text(above.x, above.y, above.width, words, Meaning::Quiet);
                    }
                    table((grid, word), rows, above, (top, sort.map(|(column, _)| *column)), place, brush);
                }
            }
            None if panel == Panel::Cpus => {
                let (cpus, area) = self.cpus_in(body);
                cpus.draw(brush, area);
            }
            None => {
                scroll::mark(brush, place, scroll::PAGES, hidden);
                self.of_drives(body, brush);
            }
        }
        let when = (state.is_after_test(shared), state.selection.span);
        state.history.draw(panel, shared, when, curves, brush);
    }
}

/// Rows of curves below the table of drives.
const CURVES: u16 = 12;

impl Contents {
    /// Below the lines of a panel its body, in that the place of its table, and that of its curves.
    fn parts(&self, panel: Panel, shared: &Shared, area: Rect, lines: usize) -> (Rect, Rect, Rect) {
        let used = u16::try_from(lines).unwrap_or(u16::MAX).min(area.height);
        let body = Rect { y: area.y + used, height: area.height - used, ..area };
        let (above, curves) = match (panel, self.grid(panel)) {
            _ if !history::has_curves(panel, shared) => (body, Rect::default()),
            (_, Some((grid, rows))) => history::split(body, rows.max(1) + 1, grid.rows.len() > rows),
            (Panel::Cpus, None) => {
                let (cpus, area) = self.cpus_in(body);
                history::split(body, cpus.taken(area), false)
            }
            (_, None) => {
                history::split(body, self.rows_of_drives(body).map_or(0, |(_, _, taken)| taken), false)
            }
        };
        (body, above, curves)
    }

    /// The place of a panel's curves.
    pub(super) fn curves(&self, panel: Panel, shared: &Shared, place: Rect) -> Rect {
        let area = inner(place, shared.is_boxed());
        self.parts(panel, shared, area, self.lines(panel, area.width, area.height).len()).2
    }

    /// The CPUs as they have room in a panel's body, and their place there.
    fn cpus_in(&self, body: Rect) -> (Cow<'_, Cpus>, Rect) {
        let rows = body.height.saturating_sub(history::MOST + 1);
        match self.cpus.unfolded(body.width, rows) {
            Some(all) => (Cow::Owned(all), Rect { height: rows, ..body }),
            None => (Cow::Borrowed(&self.cpus), body),
        }
    }

    /// Rows of the table of drives that curves leave room for, with its heading; drives that have none, and all rows it takes.
    fn rows_of_drives(&self, body: Rect) -> Option<(usize, usize, usize)> {
        let free = usize::from(body.height.saturating_sub(CURVES + 2));
        if free < 3 || self.drives.rows.is_empty() {
            return None;
        }
        let all = self.drives.rows.len() + 1;
        let hidden = if all > free { all + 1 - free } else { 0 };
        let rows = all - hidden;
        Some((rows, hidden, rows + 1 + usize::from(hidden > 0)))
    }

    /// The rates of drives in the rows that curves leave.
    fn of_drives(&self, body: Rect, brush: &mut Brush<'_>) {
        let Some((rows, hidden, _)) = self.rows_of_drives(body) else { return };
        let place = Rect { y: body.y + 1, height: u16::try_from(rows).unwrap_or(u16::MAX), ..body };
        table((&self.drives, ""), 0, place, (0, None), Rect::default(), brush);
        if hidden > 0 {
            let words = format!("{} with less", counted(hidden, "drive"));
            brush.text(body.x, place.bottom(), body.width, &words, Meaning::Quiet);
        }
    }
}

/// Cells of a row in a panel's table.
fn room(state: &Why, shared: &Shared) -> usize {
    let columns = if state.is_large { 1 } else { (shared.size.0 / LEAST.1).clamp(1, 3) };
    usize::from((shared.size.0 / columns).saturating_sub(if shared.is_boxed() { 4 } else { 2 }))
}

/// Cells of a line's name.
const LABEL: usize = 10;

fn written(line: &Line, width: u16) -> Vec<Vec<Piece>> {
    let meaning = match (line.is_known, line.is_hot) {
        (false, _) => Meaning::Quiet,
        (true, true) => Meaning::Warning,
        (true, false) => Meaning::Text,
    };
    hanging(label(&format!("{} ", line.name), LABEL), &line.text, meaning, width)
}

/// Heading and rows; `rows` of them matter, the others fill what is left. Matches of `word` are marked.
fn table(
    (grid, word): (&Grid, &str),
    rows: usize,
    area: Rect,
    (top, sorted): (usize, Option<usize>),
    panel: Rect,
    brush: &mut Brush<'_>,
) {
    if area.height == 0 || grid.rows.is_empty() {
        return;
    }
    let room = usize::from(area.width);
    let layout = grid.layout_by_need(room);
    brush.text(area.x, area.y, area.width, &grid.heading(&layout), Meaning::Quiet);
    if let Some(Place { x, cells: wide, .. }) =
        layout.places.iter().copied().find(|at| Some(at.column) == sorted)
    {
        let cells = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let heading = Rect { x: area.x + cells(x), width: cells(wide), height: 1, ..area };
        brush.shade(heading.intersection(area), Meaning::Brand);
    }
    let height = usize::from(area.height - 1);
    let top = top.min(rows.saturating_sub(height));
    for (y, row) in (area.y + 1..area.bottom()).zip(grid.rows.iter().skip(top)) {
        let meaning = match row.mark {
            Mark::Plain => Meaning::Text,
            Mark::Kernel => Meaning::Marked,
            Mark::Hot => Meaning::Warning,
            Mark::Quiet => Meaning::Quiet,
        };
        let (lines, _) = highlighted(vec![vec![piece(grid.row(row, &layout), meaning)]], word);
        brush.lines(Rect { y, height: 1, ..area }, &lines, 0);
    }
    scroll::mark(brush, panel, scroll::ROWS, out_of_sight(top, rows, area.height - 1));
}

//! The Why screen: where the time goes, with the reason in one sentence above the evidence.

mod at_rest;
mod draw;
mod history;
mod steady;
mod update;

use std::collections::BTreeMap;

use ratatui::layout::{Constraint, Layout, Rect};

use super::{
    Run,
    widgets::{bottleneck_panel, find::Find, paint::wrap, span::Selection},
};
use crate::{
    model::Workload,
    report::why::{
        Inputs, PANELS, Panel, Sentence, TestNow,
        evidence::{Evidence, Shown},
        not_yet, sentence,
    },
    ui::{
        About, Asks, Command,
        Key::{self, Char},
        Look, Mode, ScreenId, Shared,
        command::{command, pair},
        test::Test,
        theme::Meaning,
    },
};

pub(super) const ABOUT: About = About {
    id: ScreenId("why"),
    digit: '6',
    name: "Why",
    help: "Show why it is not faster: CPUs, interrupts, profile, threads, processes, pressure",
    purpose: "Where the time goes during a test or any other load; the first line names the limit.",
    mark: 0,
    marks: &[
        ("u n s", Meaning::Load, "CPU time of programs (usr), at low priority (nice), of the kernel (sys)"),
        ("h x", Meaning::Warning, "in hard interrupts (irq) and in soft ones (softirq)"),
        (
            "t g w",
            Meaning::Quiet,
            "taken by the hypervisor (steal), by guests; idle with I/O in flight (iowait)",
        ),
        ("0-9", Meaning::Figure, "heat map: a digit for each CPU; 5 is 50 to 59 % busy"),
        ("·", Meaning::Lines, "idle; of more than 8 CPUs those with 99 % idle time are counted in one row"),
        (
            "R D S",
            Meaning::Text,
            "thread state: runs, waits for a device, sleeps; the count is the mean over samples",
        ),
        ("[kswapd]", Meaning::Marked, "a thread of the kernel"),
        ("wchan", Meaning::Text, "the kernel function in which a thread waits; * stands for a number"),
        (
            "I/O/intr",
            Meaning::Text,
            "reads, writes, discards and flushes that one interrupt reports; more is cheaper",
        ),
        (
            "irqs disabled",
            Meaning::Text,
            "profile: code that ran with interrupts disabled; the timer saw it when they were enabled again",
        ),
        ("scanned", Meaning::Text, "pages looked at to free memory: the page cache is full and in the way"),
    ],
};

const STACKS: &str = "kernel stacks";
const SLEEPING: &str = "sleeping threads";
const FIND: &str = "find row";

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Why>>] = &[
    pair("←→", command(151, &[Key::Left, Char('h')], "panel", "previous panel", "Go to the panel on the left", |why, shared| why.sideways(-1, shared))),
    command(161, &[Key::Right, Char('l')], "", "next panel", "Go to the panel on the right", |why, shared| why.sideways(1, shared)),
    command(191, &[Key::Enter], "enlarge", "enlarge", "Give the panel the whole screen, or all panels their places again", Why::enlarge),
    command(195, &[Char('>')], "", "sort column", "Sort the panel's table by the next column; a click on a heading sorts by it", |why, shared| why.sort_by(shared, 1)),
    command(196, &[Char('<')], "", "sort column before", "Sort the panel's table by the column before", |why, shared| why.sort_by(shared, -1)),
    command(197, &[Char('R')], "", "reverse order", "Reverse the order of the column sorted by", Why::reverse),
    command(201, &[Char('s')], "sleeping", SLEEPING, "Show threads that sleep as well, or hide them", |why, _| { why.with_sleeping = !why.with_sleeping; Asks::new() }),
    command(211, &[Char('t')], "stacks", STACKS, "Show kernel stacks of threads as well, or hide them", Why::switch_stacks),
    command(642, &[Char('/')], "find", FIND, "Find rows of the panel's table; Enter keeps the matches, {next match} and {previous match} go on, Esc ends", Why::find_row),
];

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Why {
    /// The panel that keys scroll; the sentence chooses until the user does.
    chosen: Option<Panel>,
    /// That panel alone.
    is_large: bool,
    /// Lines by which panels are scrolled down.
    tops: BTreeMap<Panel, usize>,
    /// Threads that sleep are shown too.
    with_sleeping: bool,
    /// What is looked for in the chosen panel's table.
    find: Find,
    /// Kernel stacks of threads are sampled and shown.
    with_stacks: bool,
    /// The column that the table of a panel is sorted by, and whether in reverse.
    sorts: BTreeMap<Panel, (usize, bool)>,
    /// Curves of the last minute.
    history: history::History,
    /// The span of time that is selected on them.
    selection: Selection,
    /// What the test of the last look reads; `None` without a test.
    load: Option<Workload>,
    /// Means of the last looks.
    evidence: Evidence,
    /// A low table of functions stands on the right, where rows of others on the left would be hidden.
    has_profile_right: bool,
    /// Figures have come since that was decided.
    is_new: bool,
    /// The last look at a test of a demo, whose counters at rest say nothing.
    of_test: Option<Look>,
    /// The sentence that they agree on.
    steady: steady::Steady,
    /// What there is to show since the last message: the footer asks for it at each of its commands.
    now: Option<Source>,
}

/// What there is to show.
#[derive(Debug, Clone)]
enum Source<T = Sentence> {
    /// Rates and activity of now.
    Now(T),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

impl Why {
    /// What there is to show.
    fn source(&self, shared: &Shared) -> Source {
        self.now.clone().unwrap_or_else(|| self.source_of(shared))
    }

    /// The sentence that looks agree on, above figures of now, or of the end of a demo's test.
    fn source_of(&self, shared: &Shared) -> Source {
        if self.is_between_loads(shared) {
            let has_figures = self.evidence.means().is_some() || self.of_test.is_some();
            // The Machine screen shows the test's own counts before a look at the kernel's.
            let test = shared.tests.running();
            let expected = || bottleneck_panel::expectation(shared, test?);
            let counted = bottleneck_panel::full(shared).or_else(expected);
            let before = |last: &Sentence| match test {
                Some(_) => format!("Before this run: {}", last.text),
                None => last.text.clone(),
            };
            return match self.steady.last().filter(|_| has_figures) {
                Some(last) => {
                    Source::Now(Sentence { text: counted.unwrap_or_else(|| before(last)), ..last.clone() })
                }
                None => Source::Nothing("Counting; first figures of this load after a whole second."),
            };
        }
        if matches!(shared.mode, Mode::Demo(_)) && shared.experiments.running().is_some() {
            return Source::Nothing(
                "A demo simulates the reads of an experiment alone, without CPUs, threads and interrupts. {what-if} shows its runs.",
            );
        }
        let judged = |inputs: &Inputs<'_>| {
            if self.is_counted(shared) || inputs.full.is_some() { sentence(inputs) } else { not_yet(inputs) }
        };
        match (self.found(shared, judged), self.steady.last()) {
            (Source::Now(now), _) => Source::Now(self.steady.of(now, shared.tests.running().is_some())),
            (Source::Nothing(_), Some(last)) => Source::Now(self.of_ended(shared, last)),
            (nothing, None) => nothing,
        }
    }

    /// The sentence of a test that has ended; of the last run of a pull behind what the pull found.
    fn of_ended(&self, shared: &Shared, last: &Sentence) -> Sentence {
        let text = match self.ended_pull(shared) {
            Some((run, found)) => format!("The pull: {found} Its last run, {run}: {}", last.text),
            None => last.text.clone(),
        };
        Sentence { text, ..last.clone() }
    }

    /// The last run of the pull that the last test was of, and the pull's headline.
    fn ended_pull<'a>(&self, shared: &'a Shared) -> Option<(String, &'a str)> {
        let number = shared.tests.all.back()?.pull.filter(|_| self.is_after_test(shared))?;
        let (pull, outcome) = shared.pulls.ended.as_ref().filter(|(pull, _)| pull.number() == number)?;
        let run = pull.short_name(&pull.done().last()?.step);
        Some((run, &outcome.headline.text))
    }

    /// Whether a test began, ended or was replaced since the last look that is evidence: that look is of the load before.
    fn is_between_loads(&self, shared: &Shared) -> bool {
        let load = shared.tests.running().map(|test| &test.workload);
        match shared.mode {
            Mode::Live => self.evidence.is_of_before() || load != self.load.as_ref(),
            // At rest a demo has no load.
            Mode::Demo(_) => load.is_some() && load != self.load.as_ref() && self.of_test.is_some(),
            Mode::Capture | Mode::Folder => false,
        }
    }

    /// Whether threads and processes of a live load were counted over a whole interval: rates alone name no limit. Those of a test are
    /// judged with what the test counts.
    fn is_counted(&self, shared: &Shared) -> bool {
        shared.mode != Mode::Live || shared.tests.running().is_some() || self.evidence.means().is_some()
    }

    /// What `of` finds in this state.
    fn found<T>(&self, shared: &Shared, of: impl FnOnce(&Inputs<'_>) -> T) -> Source<T> {
        let test = shared.tests.running();
        let is_at_rest = test.is_none();
        match shared.mode {
            Mode::Capture if shared.machine.pasted.is_some() => {
                return Source::Nothing(
                    "A text has no counters over time. `iodyno` alone shows this machine.",
                );
            }
            Mode::Capture | Mode::Folder => {
                return Source::Nothing(
                    "A capture has no counters over time. `iodyno` alone shows this machine.",
                );
            }
            Mode::Demo(_) if is_at_rest => {
                return Source::Nothing(
                    "A demo has no load of its own. {pull} runs the pull on its simulated drives; this screen then shows where the time goes.",
                );
            }
            Mode::Demo(_) | Mode::Live => {}
        }
        let Some((rates, activity)) = self.shown_of(shared) else {
            return Source::Nothing("Counting; first figures after one second.");
        };
        let reached = test.and_then(Test::reached_in_words);
        let test = test.map(|test| TestNow {
            workers: test.workload.targets.len() * usize::try_from(test.workload.jobs).unwrap_or(1),
            is_polled: test.workload.hipri,
            is_buffered: !test.workload.direct,
            reached: reached.as_deref(),
            is_cpu_bound: test
                .reached()
                .is_some_and(|expected| expected.node.is_none() && !expected.is_latency),
        });
        let full = bottleneck_panel::full(shared);
        let full = full.as_deref();
        let inputs = Inputs {
            machine: &shared.machine,
            rates,
            activity,
            test,
            full,
            named: self.steady.named(),
            said: self.steady.said(),
            own: std::process::id(),
            units: shared.units,
        };
        Source::Now(of(&inputs))
    }

    /// Rates and activity that sentence and panels show: means of the last looks at a live machine. A demo's figures are means already;
    /// at rest they are those of its last test.
    fn shown_of<'a>(&'a self, shared: &'a Shared) -> Option<Shown<'a>> {
        let kept = match shared.mode {
            Mode::Live => self.evidence.means(),
            _ => self
                .of_test
                .as_ref()
                .filter(|_| self.is_after_test(shared))
                .map(|of| (&of.rates, &of.activity)),
        };
        kept.or_else(|| Some((shared.rates.as_ref()?, &shared.activity)))
    }

    /// Whether the figures are those of a demo's test that has ended.
    fn is_after_test(&self, shared: &Shared) -> bool {
        let is_at_rest = shared.tests.running().is_none();
        matches!(shared.mode, Mode::Demo(_)) && is_at_rest && self.of_test.is_some()
    }

    /// The panel that keys scroll.
    fn focus(&self, sentence: &Sentence) -> Panel {
        self.chosen.unwrap_or(sentence.panels[0])
    }

    /// Panels in their order, as many as fit; those that the sentence is about and the chosen one come before others.
    fn panels(&self, body: Rect, sentence: &Sentence) -> Vec<Panel> {
        let focus = self.focus(sentence);
        if self.is_large {
            return vec![focus];
        }
        let columns = (body.width / LEAST.1).clamp(1, 3);
        let rows = (body.height / LEAST.0).max(1);
        let rank = |panel: &Panel| match panel {
            panel if *panel == focus => 0,
            panel => sentence.panels.iter().position(|one| one == panel).map_or(2, |_| 1),
        };
        let mut by_rank: Vec<Panel> = PANELS.to_vec();
        by_rank.sort_by_key(|panel| (rank(panel), *panel));
        let mut shown: Vec<Panel> = by_rank.into_iter().take(usize::from(columns * rows)).collect();
        shown.sort_unstable();
        shown
    }
}

/// Rows of the sentence's panel.
fn sentence_rows(shared: &Shared, width: u16, text: &str) -> u16 {
    let (edges, frame) = if shared.is_boxed() { (4, 2) } else { (2, 1) };
    u16::try_from(wrap(text, width.saturating_sub(edges)).len()).unwrap_or(1) + frame
}

/// The least rows of a panel with its frame, and the least columns.
const LEAST: (u16, u16) = (6, 58);

/// Rows of a panel.
#[derive(Debug, Clone, Copy)]
struct Rows {
    /// Rows of what matters, drawn smaller where other panels lack rows.
    least: u16,
    /// Rows of what matters.
    needed: u16,
    /// The most that it fills.
    most: u16,
}

impl Rows {
    fn at_least(self, rows: u16) -> Self {
        Self { least: self.least.max(rows), needed: self.needed.max(rows), most: self.most.max(rows) }
    }
}

/// The places of panels below the sentence, and the panels that have none.
struct Places {
    sentence: Rect,
    /// The place of all panels.
    body: Rect,
    panels: Vec<(Panel, Rect)>,
    hidden: Vec<Panel>,
}

impl Places {
    /// The sentence's place and that of all panels.
    fn split(shared: &Shared, area: Rect, sentence: &Sentence) -> [Rect; 2] {
        let rows = sentence_rows(shared, area.width, &sentence.text);
        Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(area)
    }

    /// The panels that are shown, each in its place. `rows` has those of each panel with its frame.
    fn new(
        state: &Why,
        shared: &Shared,
        area: Rect,
        sentence: &Sentence,
        rows: impl Fn(Panel, u16) -> Rows,
    ) -> Self {
        let [top, body] = Self::split(shared, area, sentence);
        let shown = state.panels(body, sentence);
        let hidden = PANELS.into_iter().filter(|panel| !shown.contains(panel)).collect();
        if state.is_large {
            return Self {
                sentence: top,
                body,
                panels: shown.into_iter().map(|panel| (panel, body)).collect(),
                hidden,
            };
        }
        let columns = (body.width / LEAST.1).clamp(1, 3);
        let columns = usize::from(columns).min(shown.len());
        let mut split: Vec<Vec<Panel>> = vec![Vec::new(); columns];
        for panel in &shown {
            split[column_of(*panel, &shown, columns, state.has_profile_right)].push(*panel);
        }
        split.retain(|column| !column.is_empty());
        let widths = vec![Constraint::Fill(1); split.len()];
        let mut panels = Vec::new();
        for (column, place) in split.iter().zip(Layout::horizontal(widths).split(body).iter()) {
            let wants: Vec<Rows> =
                column.iter().map(|panel| rows(*panel, place.width).at_least(LEAST.0)).collect();
            for (panel, rect) in column.iter().zip(heights(*place, &wants)) {
                panels.push((*panel, rect));
            }
        }
        Self { sentence: top, body, panels, hidden }
    }

    /// Rows that columns lack for what their panels need.
    fn lacking(&self, rows: impl Fn(Panel, u16) -> Rows) -> u16 {
        let mut needed: BTreeMap<u16, u16> = BTreeMap::new();
        for (panel, place) in &self.panels {
            let rows = rows(*panel, place.width).at_least(LEAST.0).least;
            let sum = needed.entry(place.x).or_default();
            *sum = sum.saturating_add(rows);
        }
        needed.values().map(|needed| needed.saturating_sub(self.body.height)).sum()
    }
}

/// CPUs and what they execute on the left, threads and processes beside them, interrupts and pressure where the least is.
fn column_of(panel: Panel, shown: &[Panel], columns: usize, has_profile_right: bool) -> usize {
    let at = shown.iter().position(|one| *one == panel).unwrap_or_default();
    match (columns, panel) {
        (1, _) => 0,
        // Few panels stand side by side.
        (columns, _) if shown.len() <= columns => at,
        (2, Panel::Profile) if has_profile_right => 1,
        (_, Panel::Cpus | Panel::Profile) | (2, Panel::Interrupts) => 0,
        (3.., Panel::Interrupts | Panel::Pressure) => 2,
        _ => 1,
    }
}

/// Places below each other. Where there is room for what all need, they are as high as each other, as far as one needs no more and
/// fills no less: what a table needs changes every second. Where there is too little, panels are drawn smaller that can be; then those
/// that need less than their part get it, and the others share what is left.
fn heights(place: Rect, wants: &[Rows]) -> Vec<Rect> {
    let all = |of: &dyn Fn(&Rows) -> u16| wants.iter().map(|want| u32::from(of(want))).sum::<u32>();
    let room = u32::from(place.height);
    let least = |want: &Rows| if all(&|want| want.needed) <= room { want.needed } else { want.least };
    let has_room = all(&least) <= room;
    let of = |part: u16, want: &Rows| -> u16 {
        let least = least(want);
        if has_room { part.clamp(least, want.most) } else { part.min(least) }
    };
    // The largest part that fits; one row more is for the first of those that can use it.
    let fits = |part: &u16| all(&|want| of(*part, want)) <= room;
    let part = (0..=place.height).take_while(fits).last().unwrap_or_default();
    let mut got: Vec<u16> = wants.iter().map(|want| of(part, want)).collect();
    let mut left = place.height.saturating_sub(got.iter().sum());
    for (got, want) in got.iter_mut().zip(wants) {
        let more = u16::from(of(part + 1, want) > *got).min(left);
        *got += more;
        left -= more;
    }
    if let Some(last) = got.last_mut() {
        *last += left;
    }
    let mut y = place.y;
    let rect = |height: u16| {
        let rect = Rect { y, height, ..place };
        y += height;
        rect
    };
    got.into_iter().map(rect).collect()
}

#[cfg(test)]
mod tests;

//! The findings screen: what was found as a list, and all about the selected one below it.

mod draw;
mod update;

use ratatui::layout::{Constraint, Layout, Rect};

use super::{
    Run,
    widgets::{find::Find, paint::inner, scroll::kept_in_sight},
};
use crate::{
    findings::{Finding, Subject},
    model::FindingId,
    ui::{
        About, Asks, Command,
        Key::{self, Char},
        ScreenId, Shared,
        command::command,
        theme::Meaning,
    },
};

pub(super) const ABOUT: About = About {
    id: ScreenId("findings"),
    digit: '2',
    name: "Findings",
    help: "Show the findings: what limits this machine, and how to fix it",
    purpose: "What limits this machine, most severe first: evidence, cost, remedy and risk.",
    mark: 4,
    marks: &[
        ("▲", Meaning::Problem, "high: costs at least 15 % of what the machine could do, or data is at risk"),
        ("!", Meaning::Warning, "warning: has a cost on this machine"),
        ("·", Meaning::Quiet, "information: no cost shown; default settings share one row"),
        ("+17.7 GB/s", Meaning::Figure, "gain of the remedy: about this much more, measured or estimated"),
        ("(3.32 GB/s)", Meaning::Figure, "what is lost here, and no free slot of this machine brings back"),
    ],
};

#[rustfmt::skip]
pub(super) const COMMANDS: &[Command<Run<Findings>>] = &[
    command(330, &[Key::Enter], "show in tree", "show in tree", "Go to the finding's row on the machine screen", Findings::go_there),
    command(600, &[Char('w')], "what if", "prove", "Open the finding's experiment, or its card in another slot", Findings::prove),
    command(652, &[Char('/')], "find", "find finding", "Find a finding by its title or id; Enter keeps the matches, {next match} and {previous match} go on, Esc ends", |findings, _| { findings.find.open(); Asks::new() }),
];

/// The screen's state.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Index of the selected one.
    pub selected: usize,
    /// Index of the first one shown.
    top: usize,
    /// Lines by which the text about the selected one is scrolled down.
    pub detail_top: usize,
    /// What is looked for in the list.
    find: Find,
    /// Id and subjects of the selected one.
    about: Option<(FindingId, Vec<Subject>)>,
}

impl Findings {
    /// The selected one.
    pub fn finding<'a>(&self, shared: &'a Shared) -> Option<&'a Finding> {
        shared.findings.list.get(self.selected)
    }

    /// Selects the one at `index`, or the last.
    fn select(&mut self, index: usize, shared: &Shared) {
        self.selected = index.min(shared.findings.list.len().saturating_sub(1));
        self.detail_top = 0;
        self.remember(shared);
    }

    /// Remembers what the selected one is.
    fn remember(&mut self, shared: &Shared) {
        self.about = self.finding(shared).map(|finding| (finding.id, finding.subjects.clone()));
    }

    /// Keeps the selection on the finding it was on.
    fn follow(&mut self, shared: &Shared) {
        let about = self.about.take();
        let same = |finding: &Finding| {
            about.as_ref().is_some_and(|(id, subjects)| finding.id == *id && finding.subjects == *subjects)
        };
        match shared.findings.list.iter().position(same) {
            Some(at) => self.selected = at,
            None => self.select(self.selected, shared),
        }
        self.remember(shared);
    }

    /// Texts by which the findings are found.
    fn texts(shared: &Shared) -> Vec<String> {
        shared.findings.list.iter().map(|one| format!("{} {}", one.title, one.id.0)).collect()
    }

    /// Keeps the selected one in sight.
    fn scroll(&mut self, shared: &Shared, area: Rect) {
        let rows = Areas::new(shared, area).rows.height;
        self.top = kept_in_sight(self.top, self.selected, shared.findings.list.len(), rows);
    }
}

/// Where everything is.
struct Areas {
    /// The list's panel.
    list: Rect,
    /// Its rows.
    rows: Rect,
    /// The panel about the selected one.
    detail: Rect,
}

impl Areas {
    /// The list is as high as it needs to be, up to half of the area.
    fn new(shared: &Shared, area: Rect) -> Self {
        let frame = if shared.is_boxed() { 2 } else { 1 };
        let rows = u16::try_from(shared.findings.list.len().max(1)).unwrap_or(u16::MAX);
        let height = rows.saturating_add(frame).min(area.height / 2);
        let [list, detail] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area);
        Self { list, rows: inner(list, shared.is_boxed()), detail }
    }
}

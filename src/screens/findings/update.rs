//! Keys and mouse on the findings screen.

use ratatui::layout::{Position, Rect};

use super::{Areas, Findings, draw};
use crate::{
    findings::{Subject as About, SubjectKind},
    model::{FindingId, NodeIndex},
    screens::{
        News, Screen, Step,
        widgets::{
            find::Find,
            findings::{MOVES, leads_to, opens_what_if},
            paint::{Brush, inner},
            scroll::scrolled,
        },
    },
    ui::{Ask, Asks, ScreenId, Shared, SharedChange, Subject, ask::tell},
};

impl Screen for Findings {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Step::Pages(_) = step {
            let rows = inner(Areas::new(shared, area).detail, shared.is_boxed()).height;
            self.scroll_detail(step.rows(rows), shared, area);
        } else {
            self.select(self.selected.saturating_add_signed(step.rows(0)), shared);
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        if Areas::new(shared, area).detail.contains(at) {
            self.scroll_detail(step, shared, area);
            return Asks::new();
        }
        self.step(Step::Rows(step), shared, area)
    }

    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let rows = Areas::new(shared, area).rows;
        let index = self.top + usize::from(at.y.saturating_sub(rows.y));
        if !rows.contains(at) || index >= shared.findings.list.len() {
            return Asks::new();
        }
        if index == self.selected {
            return self.go_there(shared);
        }
        self.select(index, shared);
        Asks::new()
    }

    /// The text about a finding is longer than its panel on most terminals: its reasons stand at its end.
    fn hint(&self, command: &str, shared: &Shared) -> Option<&'static str> {
        match command {
            "page down" if !shared.findings.list.is_empty() => Some("scroll"),
            "back" if self.find.is_kept() => Some("end find"),
            "prove" => self.finding(shared).map(|finding| leads_to(finding.id)),
            _ => None,
        }
    }

    fn hear(&mut self, news: News, shared: &Shared) {
        if news == News::Findings {
            self.follow(shared);
        }
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.scroll(shared, area);
        self.count_matches(shared);
        Asks::new()
    }

    fn take(&mut self, subject: &Subject, shared: &Shared) -> Asks {
        if let Subject::Finding(id) = subject
            && let Some(index) = shared.findings.list.iter().position(|finding| finding.id == *id)
        {
            self.select(index, shared);
        }
        Asks::new()
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        match command {
            "show in tree" => self.place(shared).is_some(),
            "prove" => Self::finding(self, shared).is_some_and(|finding| {
                let needs_none = MOVES.contains(&finding.id.0) || shared.experiments.running().is_none();
                needs_none && opens_what_if(shared, finding)
            }),
            "up" | "find finding" => shared.findings.list.len() > 1,
            _ => true,
        }
    }

    fn acts_in(&self, command: &str, shared: &Shared, area: Rect) -> bool {
        command != "page down" || self.detail_in(shared, area).is_some_and(|(lines, rows)| lines > rows)
    }

    /// Ends a find whose matches are kept.
    fn back(&mut self, _shared: &Shared) -> Option<Asks> {
        self.find.end().then(Asks::new)
    }

    fn find(&self) -> Option<&Find> {
        Some(&self.find)
    }

    fn find_mut(&mut self) -> Option<&mut Find> {
        Some(&mut self.find)
    }

    fn find_rows(&self, shared: &Shared) -> (Vec<String>, usize) {
        (Self::texts(shared), self.selected)
    }

    fn go_to_match(&mut self, row: usize, shared: &Shared) {
        self.select(row, shared);
    }

    fn finding(&self, shared: &Shared) -> Option<FindingId> {
        Self::finding(self, shared).map(|finding| finding.id)
    }

    fn mark(&self, shared: &Shared) -> Option<String> {
        match shared.findings.loud().count() {
            0 => None,
            loud @ 1..=9 => Some(format!("({loud})")),
            _ => Some("(9+)".to_owned()),
        }
    }
}

impl Findings {
    /// Scrolls the text about the selected finding by `step` lines.
    fn scroll_detail(&mut self, step: isize, shared: &Shared, area: Rect) {
        let Some((lines, rows)) = self.detail_in(shared, area) else { return };
        self.detail_top = scrolled(self.detail_top, step, lines, rows.try_into().unwrap_or(u16::MAX));
    }

    /// Lines of that text and the rows for them.
    fn detail_in(&self, shared: &Shared, area: Rect) -> Option<(usize, usize)> {
        let finding = self.finding(shared)?;
        let (inside, _) = draw::halves(inner(Areas::new(shared, area).detail, shared.is_boxed()));
        Some((draw::detail_lines(shared, finding, inside.width).len(), inside.height.into()))
    }

    /// What the selected one is about and has a place in the tree, the first of its subjects.
    fn place<'a>(&self, shared: &'a Shared) -> Option<(&'a About, NodeIndex)> {
        let subjects = &self.finding(shared)?.subjects;
        subjects.iter().find_map(|subject| Some((subject, subject.node(&shared.machine)?)))
    }

    /// Shows where on the machine screen the selected finding is.
    pub(super) fn go_there(&mut self, shared: &Shared) -> Asks {
        let Some((subject, node)) = self.place(shared) else {
            return vec![tell("This finding is about the whole machine: it has no row in the tree")];
        };
        let drive = shared.machine.drives.iter().find(|drive| drive.name.as_str() == subject.name);
        let subject = Subject::Node(node, drive.map(|drive| drive.name.clone()));
        vec![Ask::Show(ScreenId("machine"), Some(subject))]
    }

    /// Opens what would prove the selected finding: the slots page with its card, or the experiment.
    pub(super) fn prove(&mut self, shared: &Shared) -> Asks {
        let Some(found) = self.finding(shared) else { return Asks::new() };
        let (finding, leads_on) = (found.id, opens_what_if(shared, found));
        let experiments = ScreenId("what-if");
        if !leads_on {
            return vec![tell(format!("No slot move and no experiment here tests {}", finding.0))];
        }
        if MOVES.contains(&finding.0) {
            let subject = self.place(shared).map(|(subject, node)| match subject.kind {
                SubjectKind::RootComplex => Subject::Crowded(node),
                _ => Subject::Node(node, None),
            });
            // Esc leads from there to the experiments; what would be measured is selected then.
            return vec![
                Ask::Hand(experiments, Subject::Finding(finding)),
                Ask::Show(ScreenId("slots"), subject),
            ];
        }
        if shared.experiments.running().is_some() {
            return vec![tell("An experiment is running: {stop} stops it")];
        }
        vec![
            Ask::Change(SharedChange::CloseExperiment),
            Ask::Show(experiments, Some(Subject::Finding(finding))),
        ]
    }
}

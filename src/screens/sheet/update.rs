//! Keys and mouse on the sheet screen.

use ratatui::layout::{Position, Rect};

use super::{Areas, CheckBox, Sheet, check_boxes, draw};
use crate::{
    screens::{
        News, Screen, Step,
        widgets::{paint::Brush, scroll::scrolled},
    },
    ui::{Ask, Asks, Effect, Shared, SharedChange, shared::flip},
};

impl Screen for Sheet {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        if let Step::Rows(rows) = step {
            let last = self.boxes().len().saturating_sub(1);
            self.at = self.at.saturating_add_signed(rows).min(last);
        } else {
            let rows = Areas::new(self, shared, area).preview_rows.height;
            self.top = scrolled(self.top, step.rows(rows), self.lines.len(), rows);
        }
        Asks::new()
    }

    fn wheel(&mut self, step: isize, at: Position, shared: &Shared, area: Rect) -> Asks {
        let areas = Areas::new(self, shared, area);
        if areas.boxes.contains(at) {
            return self.step(Step::Rows(step), shared, area);
        }
        let rows = areas.preview_rows.height;
        self.top = scrolled(self.top, 3 * step, self.lines.len(), rows);
        Asks::new()
    }

    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        let places = check_boxes(Areas::new(self, shared, area).box_rows, self.boxes().len(), self.at);
        match places.into_iter().find(|(_, place)| place.contains(at)) {
            Some((index, _)) => {
                self.at = index;
                self.toggle(shared)
            }
            None => Asks::new(),
        }
    }

    fn hear(&mut self, news: News, _shared: &Shared) {
        if matches!(news, News::Machine | News::Record) {
            // It is made anew when it is shown next.
            self.dossier = None;
        }
    }

    fn refresh(&mut self, shared: &Shared, area: Rect) -> Asks {
        self.make(shared, area);
        let rows = Areas::new(self, shared, area).preview_rows.height;
        self.top = scrolled(self.top, 0, self.lines.len(), rows);
        self.step(Step::Rows(0), shared, area)
    }
}

impl Sheet {
    /// Puts in or leaves out what the cursor is on.
    pub(super) fn toggle(&mut self, _shared: &Shared) -> Asks {
        match self.boxes().get(self.at) {
            Some(CheckBox::Part(part)) => flip(&mut self.choice.parts, *part),
            Some(CheckBox::Run(run)) => {
                let number = self.number(*run);
                flip(&mut self.choice.without_runs, number);
            }
            Some(CheckBox::Experiment(at)) => match at.checked_sub(self.kept.1) {
                Some(own) => return vec![Ask::Change(SharedChange::TurnExperiment(own))],
                None => flip(&mut self.choice.without_experiments, *at),
            },
            Some(CheckBox::Names) => {
                self.with_serials = !self.with_serials;
                self.dossier = None;
            }
            None => {}
        }
        self.text.clear();
        Asks::new()
    }

    /// Goes to the next format, at its beginning.
    pub(super) fn next_format(&mut self, _shared: &Shared) -> Asks {
        self.format = self.format.next();
        self.top = 0;
        self.text.clear();
        Asks::new()
    }

    /// To the clipboard of the terminal.
    pub(super) fn copy(&mut self, _shared: &Shared) -> Asks {
        vec![Ask::Effect(Effect::Copy(self.text.clone(), self.format.name()))]
    }

    /// Into a new file of the folder iodyno was started in.
    pub(super) fn save(&mut self, _shared: &Shared) -> Asks {
        vec![Ask::Effect(Effect::Save(self.text.clone(), self.format.extension()))]
    }
}

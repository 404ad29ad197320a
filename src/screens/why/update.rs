//! Keys and mouse on the Why screen.

use ratatui::layout::{Position, Rect};

use super::{COMMANDS, Places, STACKS, Source, Why, draw, draw::Contents, source};
use crate::{
    report::why::{PANELS, Panel, Sentence},
    screens::{
        News, Screen, Step,
        widgets::{paint::Brush, scroll::scrolled},
    },
    ui::{Asks, Mode, Shared, ask::tell},
};

impl Screen for Why {
    fn draw(&self, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
        draw::draw(self, shared, area, brush);
    }

    fn step(&mut self, step: Step, shared: &Shared, area: Rect) -> Asks {
        let Some((sentence, places, contents)) = self.shown(shared, area) else { return Asks::new() };
        let focus = self.focus(&sentence);
        if let Some((_, place)) = places.panels.iter().find(|(panel, _)| *panel == focus) {
            let most = contents.scrolls(focus, shared, *place);
            let top = self.tops.entry(focus).or_default();
            *top = scrolled(*top, step.rows(place.height), most, 0);
        }
        Asks::new()
    }

    fn press(&mut self, at: Position, shared: &Shared, area: Rect) -> Asks {
        if let Some((_, places, _)) = self.shown(shared, area)
            && let Some((panel, _)) = places.panels.iter().find(|(_, place)| place.contains(at))
        {
            self.chosen = Some(*panel);
        }
        Asks::new()
    }

    fn hear(&mut self, news: News, shared: &Shared) {
        // Findings follow every look at the counters.
        if news == News::Findings {
            self.history.take(shared);
        }
    }

    fn back(&mut self, _shared: &Shared) -> Option<Asks> {
        if self.is_large {
            self.is_large = false;
        } else {
            self.chosen.take()?;
        }
        Some(Asks::new())
    }

    fn offers(&self, command: &str, shared: &Shared) -> bool {
        let is_own = COMMANDS.iter().any(|own| own.row.name == command);
        match source(shared) {
            Source::Nothing(_) => !is_own,
            Source::Now(_) => command != STACKS || shared.mode == Mode::Live,
        }
    }

    fn needs_activity(&self) -> bool {
        true
    }

    fn needs_profile(&self, shared: &Shared, area: Rect) -> bool {
        let Source::Now(sentence) = source(shared) else { return false };
        let body = Places::split(shared, area, &sentence)[1];
        self.panels(body, &sentence).contains(&Panel::Profile)
    }

    fn needs_stacks(&self) -> bool {
        self.with_stacks
    }
}

impl Why {
    fn shown(&self, shared: &Shared, area: Rect) -> Option<(Sentence, Places, Contents)> {
        let Source::Now(sentence) = source(shared) else { return None };
        let contents = Contents::new(self, shared);
        let places =
            Places::new(self, shared, area, &sentence, |panel, width| contents.rows(panel, shared, width));
        Some((sentence, places, contents))
    }

    /// Chooses the panel on the left or right.
    pub(super) fn sideways(&mut self, by: isize, shared: &Shared) -> Asks {
        let first = match source(shared) {
            Source::Now(sentence) => self.focus(&sentence),
            Source::Nothing(_) => return Asks::new(),
        };
        let at = PANELS.iter().position(|panel| *panel == first).unwrap_or_default();
        let next = at.cast_signed().saturating_add(by).rem_euclid(PANELS.len().cast_signed());
        self.chosen = PANELS.get(next.cast_unsigned()).copied();
        Asks::new()
    }

    /// Shows kernel stacks of threads, or hides them.
    pub(super) fn switch_stacks(&mut self, shared: &Shared) -> Asks {
        if shared.mode != Mode::Live {
            return vec![tell("A demo has no kernel stacks")];
        }
        self.with_stacks = !self.with_stacks;
        Asks::new()
    }

    /// Gives the chosen panel all the room, or the others their places again.
    pub(super) fn enlarge(&mut self, shared: &Shared) -> Asks {
        if matches!(source(shared), Source::Now(_)) {
            self.is_large = !self.is_large;
        }
        Asks::new()
    }
}

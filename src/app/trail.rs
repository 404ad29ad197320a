//! From one screen to another, and which way Esc leads back.

use super::{App, DYNO, Effect, MACHINE, PULL, WHY_FILE, tabs};
use crate::ui::{ScreenId, Subject};

/// Screens that Esc goes back through.
const LONGEST_TRAIL: usize = 8;

impl App {
    /// Shows another screen, with what it should show.
    pub(crate) fn show(&mut self, screen: ScreenId, subject: Option<Subject>) -> Vec<Effect> {
        let shows_pull = screen == DYNO && subject.is_none() && self.shared.pulls.is_unseen;
        let screen = if shows_pull { PULL } else { screen };
        self.shared.pulls.is_unseen &= screen != PULL;
        if screen == MACHINE {
            self.before = None;
        } else if tabs::home(self.screen) != tabs::home(screen) {
            self.before = Some(self.screen);
        }
        (self.screen, self.trail) = (screen, Vec::new());
        subject.map_or_else(Vec::new, |subject| self.hand(screen, &subject))
    }

    /// Shows a screen that another one opens, to which Esc leads back.
    pub(super) fn open(&mut self, screen: ScreenId, subject: Option<Subject>) -> Vec<Effect> {
        // The pull's page asks for the first screen to be left.
        let is_left = (self.screen, screen) == (PULL, MACHINE);
        let mut trail = std::mem::take(&mut self.trail);
        let screen = if is_left { trail.last().copied().unwrap_or(MACHINE) } else { screen };
        // Whatever the pull's page opens leads back to it.
        if trail.last() == Some(&screen) && (is_left || self.screen != PULL) {
            trail.pop();
        } else if ![screen, WHY_FILE].contains(&self.screen) && !is_left {
            trail.push(self.screen);
        }
        trail.drain(..trail.len().saturating_sub(LONGEST_TRAIL));
        let before = self.before;
        let effects = self.show(screen, subject);
        (self.trail, self.before) = (trail, before);
        effects
    }
}

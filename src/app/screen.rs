//! [`SCREENS`]: the tabs, one row each, and [`PAGES`]: screens behind them.
//!
//! A new screen is a row here, a file of state beside this one and a file in `view`. Not here: what a screen shows.

/// A full screen of its own, reached by its tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Screen {
    /// The PCI tree and what hangs on it.
    Machine,
    /// What holds the machine back.
    Findings,
    /// Settings, drive by drive.
    Tune,
    /// Read tests.
    Dyno,
    /// Experiments.
    WhatIf,
    /// What goes into a forum post.
    Sheet,
    /// Cards in other slots: a page of the what-if tab.
    Slots,
}

/// One tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tab {
    /// Which screen.
    pub screen: Screen,
    /// Its digit; fixed for good, so that fingers need not learn twice when screens are added.
    pub digit: char,
    /// What the tab says.
    pub name: &'static str,
    /// What `iodyno render` calls it.
    pub word: &'static str,
    /// What the screen is for, one sentence.
    pub purpose: &'static str,
}

/// All tabs, left to right.
pub const SCREENS: &[Tab] = &[
    Tab {
        screen: Screen::Machine,
        digit: '1',
        name: "Machine",
        word: "machine",
        purpose: "The PCIe tree of this machine: every link now and at most, and the load each place carries.",
    },
    Tab {
        screen: Screen::Findings,
        digit: '2',
        name: "Findings",
        word: "findings",
        purpose: "What holds this machine back, most costly first: what was read, what it costs, what to do at which risk.",
    },
    Tab {
        screen: Screen::Tune,
        digit: '3',
        name: "Tune",
        word: "tune",
        purpose: "Settings by drive: stage values, review the writes, apply them, see what became of each, put them back.",
    },
    Tab {
        screen: Screen::Dyno,
        digit: '4',
        name: "Dyno",
        word: "dyno",
        purpose: "Read tests: set a workload, run it on the marked drives, watch the curves.",
    },
    Tab {
        screen: Screen::WhatIf,
        digit: '5',
        name: "What-if",
        word: "what-if",
        purpose: "Experiments: one question, arms in interleaved rounds, a verdict; every setting is put back.",
    },
    Tab {
        screen: Screen::Sheet,
        digit: '7',
        name: "Sheet",
        word: "sheet",
        purpose: "What goes into a forum post: choose its parts and its format, then copy or save what you see.",
    },
];

/// Screens without a tab of their own: reached by a key of the screen whose digit they have, and left to it.
pub const PAGES: &[Tab] = &[Tab {
    screen: Screen::Slots,
    digit: '5',
    name: "Slots",
    word: "slots",
    purpose: "Cards moved in thought: pick one up, see what it would change in another slot, put it down. Nothing is touched.",
}];

impl Screen {
    /// Its row of [`SCREENS`] or [`PAGES`].
    pub fn tab(self) -> &'static Tab {
        SCREENS.iter().chain(PAGES).find(|tab| tab.screen == self).unwrap_or(&SCREENS[0])
    }

    /// The screen whose tab it is shown under: itself, unless it is one of [`PAGES`].
    #[must_use]
    pub fn home(self) -> Self {
        SCREENS.iter().find(|tab| tab.digit == self.tab().digit).map_or(self, |tab| tab.screen)
    }

    /// Whether its tab has room for a mark behind its name: findings that count, changes, something that runs.
    pub fn has_mark(self) -> bool {
        matches!(self, Self::Findings | Self::Tune | Self::Dyno | Self::WhatIf)
    }

    /// The screen of that word, for `iodyno render`.
    pub fn from_word(word: &str) -> Option<Self> {
        let tabs = SCREENS.iter().chain(PAGES);
        tabs.into_iter().find(|tab| tab.word.eq_ignore_ascii_case(word)).map(|tab| tab.screen)
    }

    /// The one `step` tabs to the right, around the corner.
    #[must_use]
    pub fn neighbour(self, step: isize) -> Self {
        let here = SCREENS.iter().position(|tab| tab.screen == self.home()).unwrap_or(0);
        let there = (here.cast_signed() + step).rem_euclid(SCREENS.len().cast_signed());
        SCREENS[there.cast_unsigned()].screen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_has_one_tab_with_a_digit_and_a_word_of_its_own() {
        for (index, tab) in SCREENS.iter().enumerate() {
            assert_eq!(tab.screen.tab(), tab);
            assert_eq!(Screen::from_word(tab.word), Some(tab.screen));
            for other in &SCREENS[index + 1..] {
                assert!(other.digit > tab.digit && other.word != tab.word);
            }
        }
        assert_eq!(Screen::Machine.neighbour(-1).neighbour(1), Screen::Machine);
        for page in PAGES {
            assert_eq!((page.screen.tab(), Screen::from_word(page.word)), (page, Some(page.screen)));
            assert_ne!(page.screen.home(), page.screen, "{} has no tab of its own", page.name);
            assert!(SCREENS.iter().all(|tab| tab.word != page.word));
        }
    }
}

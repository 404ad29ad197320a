//! The tabs: which screens there are, and the way from one to the next.

use crate::{
    screens::SCREENS,
    ui::{About, ScreenId},
};

/// Screens with a tab, left to right: the first of each digit.
pub fn tabs() -> impl Iterator<Item = &'static About> {
    SCREENS.iter().filter(|about| home(about.id) == about.id)
}

/// Screens without a tab of their own: reached by a key of the screen whose digit they have.
pub fn pages() -> impl Iterator<Item = &'static About> {
    SCREENS.iter().filter(|about| home(about.id) != about.id)
}

/// The frame's texts for a screen.
pub fn about(id: ScreenId) -> &'static About {
    SCREENS.iter().find(|about| about.id == id).unwrap_or(&SCREENS[0])
}

/// The screen whose tab it is shown under: itself, unless it is a page.
pub(super) fn home(id: ScreenId) -> ScreenId {
    let digit = about(id).digit;
    SCREENS.iter().find(|about| about.digit == digit).map_or(id, |about| about.id)
}

/// The screen of that word, with or without its hyphens, for `iodyno render`.
pub fn from_word(word: &str) -> Option<ScreenId> {
    let bare = |word: &str| word.replace('-', "").to_ascii_lowercase();
    SCREENS.iter().map(|about| about.id).find(|id| bare(id.0) == bare(word))
}

/// The one `step` tabs to the right, around the corner.
pub(super) fn neighbour(id: ScreenId, step: isize) -> ScreenId {
    let tabs: Vec<ScreenId> = tabs().map(|about| about.id).collect();
    let here = tabs.iter().position(|tab| *tab == home(id)).unwrap_or(0);
    let there = (here.cast_signed() + step).rem_euclid(tabs.len().cast_signed());
    tabs[there.cast_unsigned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_has_a_word_of_its_own_and_pages_have_a_home() {
        let all = SCREENS;
        for (index, one) in all.iter().enumerate() {
            assert_eq!((about(one.id), from_word(one.id.0)), (one, Some(one.id)));
            assert!(all[index + 1..].iter().all(|other| other.id != one.id && other.digit >= one.digit));
        }
        assert_eq!(from_word("whatif"), Some(ScreenId("what-if")));
        let first = SCREENS[0].id;
        assert_eq!(neighbour(neighbour(first, -1), 1), first);
        assert_eq!(pages().count() + tabs().count(), all.len());
    }
}

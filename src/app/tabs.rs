//! The tabs: which screens there are, and the way from one to the next.

use crate::{
    screens::SCREENS,
    ui::{About, ScreenId},
};

/// All screens, in the order of their digits; pages stand behind the screen whose digit they have.
pub fn abouts() -> Vec<&'static About> {
    let mut all: Vec<&About> = SCREENS.iter().collect();
    all.sort_by_key(|about| about.digit);
    all
}

/// Screens with a tab, left to right.
pub fn tabs() -> Vec<&'static About> {
    let mut all = abouts();
    all.dedup_by_key(|about| about.digit);
    all
}

/// Screens without a tab of their own: reached by a key of the screen whose digit they have, and left to it.
pub fn pages() -> Vec<&'static About> {
    abouts().into_iter().filter(|about| home(about.id) != about.id).collect()
}

/// What the frame says of a screen.
pub fn about(id: ScreenId) -> &'static About {
    let found = abouts().into_iter().find(|about| about.id == id);
    found.unwrap_or(&SCREENS[0])
}

/// The screen whose tab it is shown under: itself, unless it is a page.
pub fn home(id: ScreenId) -> ScreenId {
    let digit = about(id).digit;
    tabs().into_iter().find(|about| about.digit == digit).map_or(id, |about| about.id)
}

/// The screen of that word, for `iodyno render`.
pub fn from_word(word: &str) -> Option<ScreenId> {
    abouts().into_iter().map(|about| about.id).find(|id| id.0.eq_ignore_ascii_case(word))
}

/// The one `step` tabs to the right, around the corner.
pub fn neighbour(id: ScreenId, step: isize) -> ScreenId {
    let tabs = tabs();
    let here = tabs.iter().position(|about| about.id == home(id)).unwrap_or(0);
    let there = (here.cast_signed() + step).rem_euclid(tabs.len().cast_signed());
    tabs[there.cast_unsigned()].id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_screen_has_a_word_of_its_own_and_pages_have_a_home() {
        let all = abouts();
        for (index, one) in all.iter().enumerate() {
            assert_eq!((about(one.id), from_word(one.id.0)), (*one, Some(one.id)));
            assert!(all[index + 1..].iter().all(|other| other.id != one.id && other.digit >= one.digit));
        }
        let first = tabs()[0].id;
        assert_eq!(neighbour(neighbour(first, -1), 1), first);
        assert_eq!(pages().len() + tabs().len(), all.len());
    }
}

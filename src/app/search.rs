//! Finding a word in a text over the screen: `/` as in the tree.

use super::{App, Effect, over, overlay::Overlay};
use crate::{
    screens::widgets::{find, paint::Piece},
    ui::{Key, TextField},
};

/// What is looked for in the text over the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search {
    /// The field, while it is open.
    pub field: Option<TextField>,
    /// The word whose matches stay marked.
    kept: String,
    /// Which match was gone to last, from 0.
    at: usize,
}

impl Search {
    /// The word looked for; empty for none.
    pub fn text(&self) -> &str {
        self.field.as_ref().map_or(&self.kept, |field| field.value())
    }

    /// The match gone to, from 1, and how many lines have one.
    fn place(&self, matches: usize) -> (usize, usize) {
        (if matches == 0 { 0 } else { self.at.min(matches - 1) + 1 }, matches)
    }

    /// The footer's hints while the field is open.
    pub fn field_hints(&self, matches: usize) -> Option<Vec<Piece>> {
        Some(find::field_hints(self.field.as_ref()?, self.place(matches)))
    }

    /// The word whose matches are marked, with the one gone to, behind a title.
    pub fn words(&self, matches: usize) -> String {
        let (at, all) = self.place(matches);
        if self.kept.is_empty() || self.field.is_some() {
            return String::new();
        }
        match all {
            0 => format!("  find {}: no match (0)", self.kept),
            _ => format!("  find {}: {at} of {all}", self.kept),
        }
    }
}

/// A key for the search; `None` where it is for the text itself.
pub(super) fn key(app: &mut App, key: Key) -> Option<Vec<Effect>> {
    if !over::is_text(app) {
        return None;
    }
    // The tree's own keys, which the configuration file may name.
    let is = |command: &str| key.to_string() == app.shared.keys.of(command);
    let (finds, next, previous) = (is("find"), is("next drive"), is("previous drive"));
    let search = &mut app.search;
    let is_open = search.field.is_some();
    let is_kept = !is_open && !search.kept.is_empty();
    match key {
        Key::Esc if is_open || is_kept => *search = Search::default(),
        Key::Enter if is_open => {
            let word = search.field.take().map(|field| field.value().to_owned());
            search.kept = word.unwrap_or_default();
        }
        Key::Down | Key::Tab if is_open => step(app, 1),
        Key::Up | Key::BackTab if is_open => step(app, -1),
        key if is_open => {
            search.field.as_mut()?.press(key);
            typed(app);
        }
        _ if finds => search.field = Some(TextField::default()),
        _ if is_kept && next => step(app, 1),
        _ if is_kept && previous => step(app, -1),
        _ => return None,
    }
    Some(Vec::new())
}

/// After the word was changed: goes to its first match from the first line shown on.
pub(super) fn typed(app: &mut App) {
    let matches = over::matches(app);
    let top = app.overlay.as_mut().and_then(Overlay::top).map_or(0, |top| *top);
    let at = matches.iter().position(|line| *line >= top).unwrap_or(0);
    show(app, &matches, at);
}

/// Goes to the next (1) or previous (-1) match, around the corner.
fn step(app: &mut App, step: isize) {
    let matches = over::matches(app);
    if !matches.is_empty() {
        let at = app.search.at.min(matches.len() - 1).cast_signed() + step;
        show(app, &matches, at.rem_euclid(matches.len().cast_signed()).cast_unsigned());
    }
}

/// Puts a match in sight, with lines above it.
fn show(app: &mut App, matches: &[usize], at: usize) {
    const ABOVE: usize = 2;
    app.search.at = at;
    let end = over::end(app);
    let rows = usize::from(app.layout().overlay.height.saturating_sub(2));
    if let Some((line, top)) = matches.get(at).zip(app.overlay.as_mut().and_then(Overlay::top))
        && !(*top..*top + rows).contains(line)
    {
        *top = line.saturating_sub(ABOVE).min(end);
    }
}

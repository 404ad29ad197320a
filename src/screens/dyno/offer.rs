//! The question whether files are read in place of drives that may not be read.

use super::Dyno;
use crate::{
    screens::{
        Over,
        widgets::{
            file_offer,
            paint::{Piece, hints},
        },
    },
    ui::{Ask, Asks, Key, Shared},
};

/// Its keys, in its box and in the footer.
const KEYS: [(&str, &str); 2] = [("Enter", "start"), ("Esc", "cancel")];

/// The question with size and paths of the files, in lines of at most `width` cells.
pub(super) fn over(state: &Dyno, shared: &Shared, width: u16) -> Option<Over> {
    let (files, size) = state.form.offered.as_ref()?;
    // The form's size goes before that of the offer.
    let size = state.form.workload.size.unwrap_or(*size);
    let question = file_offer::question(shared, files, size, None);
    let lines = file_offer::lines(&question, files, &KEYS, width);
    Some(Over { title: "Files instead of drives".to_owned(), lines, size: (76, 16), cursor: None })
}

pub(super) fn key_hints() -> Vec<Piece> {
    hints(&KEYS)
}

/// A key while the question is shown; `command` is what it means on the screen below.
pub(super) fn key(state: &mut Dyno, key: Key, command: Option<&str>, shared: &Shared) -> Option<Asks> {
    let mut asks = vec![Ask::Close];
    match key {
        Key::Enter | Key::Char('y') if state.form.take_offer() => asks.extend(state.run(shared)),
        Key::Esc | Key::Char('n') => state.form.offered = None,
        _ if command == Some("quit") => state.form.offered = None,
        _ => return None,
    }
    Some(asks)
}

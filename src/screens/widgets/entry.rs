//! Entries of a list with descriptions: a line each; the selected one shows all its words.

use super::paint::{Piece, cells, fit_words, piece, width, wrap};
use crate::ui::theme::Meaning;

/// A description with fewer cells beside its name wraps below it.
const BESIDE: u16 = 36;
/// Indent of a description below its name.
const BELOW: u16 = 2;

/// The lines of an entry in `most` cells: `lead`, which takes the same cells in every entry, and the description, cut behind a word
/// to one line unless it is to be whole.
pub fn lines(lead: Vec<Piece>, text: &str, meaning: Meaning, is_whole: bool, most: u16) -> Vec<Vec<Piece>> {
    let indent = width(&lead);
    let room = most.saturating_sub(indent);
    if !is_whole || cells(text) <= room {
        return vec![[lead, vec![piece(fit_words(text, room), meaning)]].concat()];
    }
    let (indent, first) = if room < BESIDE { (BELOW, Some(Vec::new())) } else { (indent, None) };
    let blank = vec![piece(" ".repeat(indent.into()), Meaning::Text)];
    let texts = wrap(text, most.saturating_sub(indent)).into_iter().map(|line| vec![piece(line, meaning)]);
    let rests = first.into_iter().chain(texts);
    let leads = std::iter::once(lead).chain(std::iter::repeat(blank));
    leads.zip(rests).map(|(lead, rest)| [lead, rest].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(is_whole: bool, most: u16) -> Vec<String> {
        let lead = vec![piece(format!("{:<12}", "sort"), Meaning::Text)];
        let text = |line: Vec<Piece>| line.into_iter().map(|(text, _)| text).collect::<String>();
        let entry = "List drives and devices by load, then by name, then show the tree";
        lines(lead, entry, Meaning::Quiet, is_whole, most).into_iter().map(text).collect()
    }

    #[test]
    fn an_entry_takes_its_width_and_the_selected_one_the_lines_it_needs() {
        assert_eq!(drawn(true, 80).len(), 1);
        assert_eq!(drawn(false, 48), ["sort        List drives and devices by load, …"]);
        let beside =
            ["sort        List drives and devices by load,", "            then by name, then show the tree"];
        assert_eq!(drawn(true, 48), beside);
        let below =
            ["sort        ", "  List drives and devices by load, then", "  by name, then show the tree"];
        assert_eq!(drawn(true, 40), below);
    }
}

//! Finding a word: matches in the lines of a text, and the footer while the word is written.

use super::paint::{Piece, hints, piece};
use crate::ui::{TextField, theme::Meaning};

/// The lines with every match of `text` painted as a field, and the lines that have one. Case makes no difference.
pub fn highlighted(lines: Vec<Vec<Piece>>, text: &str) -> (Vec<Vec<Piece>>, Vec<usize>) {
    let wanted: Vec<char> = text.chars().map(lower).collect();
    if wanted.is_empty() {
        return (lines, Vec::new());
    }
    let mut found = Vec::new();
    let painted = lines.into_iter().enumerate().map(|(index, line)| {
        let (line, has_match) = painted(line, &wanted);
        if has_match {
            found.push(index);
        }
        line
    });
    let lines = painted.collect();
    (lines, found)
}

fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// A line with its matches painted, and whether it has one.
fn painted(line: Vec<Piece>, wanted: &[char]) -> (Vec<Piece>, bool) {
    let mut letters: Vec<(char, Meaning)> =
        line.iter().flat_map(|(text, meaning)| text.chars().map(|letter| (letter, *meaning))).collect();
    let is_at =
        |at: &usize| letters[*at..].iter().zip(wanted).all(|((letter, _), one)| lower(*letter) == *one);
    let starts: Vec<usize> = (0..(letters.len() + 1).saturating_sub(wanted.len())).filter(is_at).collect();
    if starts.is_empty() {
        return (line, false);
    }
    for start in starts {
        letters[start..start + wanted.len()].iter_mut().for_each(|(_, meaning)| *meaning = Meaning::Field);
    }
    let groups = letters.chunk_by(|(_, one), (_, other)| one == other);
    let pieces =
        groups.map(|group| piece(group.iter().map(|(letter, _)| letter).collect::<String>(), group[0].1));
    (pieces.collect(), true)
}

/// The footer while the word is written: the match shown and how many there are, and the keys.
pub fn field_hints(input: &TextField, (at, all): (usize, usize)) -> Vec<Piece> {
    let count = match (input.value().is_empty(), all) {
        (true, _) => String::new(),
        (_, 0) => "no match (0)   ".to_owned(),
        _ => format!("{at} of {all}   "),
    };
    let mut pieces = vec![
        piece("find ", Meaning::Quiet),
        piece(format!("{}▏", input.value()), Meaning::Field),
        piece("   ", Meaning::Text),
        piece(count, Meaning::Figure),
    ];
    let keep = (all > 0).then_some(("Enter", "keep"));
    let others = (all > 1).then_some(("↑↓", "other matches"));
    let keys = keep.into_iter().chain(others).chain([("Esc", "cancel")]);
    pieces.extend(hints(&keys.collect::<Vec<_>>()));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_painted_over_pieces_and_counted_by_line() {
        let line = |text: &str| vec![piece(&text[..2], Meaning::Key), piece(&text[2..], Meaning::Text)];
        let (lines, found) = highlighted(vec![line("GT/s and gt/S"), line("none"), line("xGT/s")], "gt/s");
        assert_eq!(found, [0, 2]);
        let of = |line: &[Piece]| -> Vec<(String, bool)> {
            line.iter().map(|(text, meaning)| (text.clone(), *meaning == Meaning::Field)).collect()
        };
        let own = |text: &str, is_match| (text.to_owned(), is_match);
        assert_eq!(of(&lines[0]), [own("GT/s", true), own(" and ", false), own("gt/S", true)]);
        assert_eq!(of(&lines[2]), [own("x", false), own("GT/s", true)]);
        assert_eq!(highlighted(vec![line("none")], "").1, Vec::<usize>::new());
        assert_eq!(highlighted(vec![line("none")], "a longer word").1, Vec::<usize>::new());
    }
}

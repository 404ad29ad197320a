//! Finding a word: matches in the lines of a text or the rows of a list, and the footer while the word is written.

use super::paint::{Piece, hints, piece};
use crate::ui::{Key, TextField, theme::Meaning};

/// A find in the rows of a list.
#[derive(Debug, Clone, Default)]
pub struct Find {
    /// The field, while it is open.
    field: Option<TextField>,
    /// The word whose matches stay marked.
    kept: String,
    /// The match that is selected, from 1, and how many there are.
    matches: (usize, usize),
}

impl Find {
    /// Opens the field; an empty one goes on with the word before.
    pub fn open(&mut self) {
        self.field = Some(TextField::default());
    }

    /// The open field.
    pub fn field(&mut self) -> Option<&mut TextField> {
        self.field.as_mut()
    }

    /// The word whose matches are marked; empty for none.
    pub fn word(&self) -> &str {
        self.field.as_ref().map_or(&self.kept, |field| field.value())
    }

    /// Whether the matches of a word stay marked.
    pub fn is_kept(&self) -> bool {
        self.field.is_none() && !self.kept.is_empty()
    }

    /// Whether such a word has a match besides the one selected.
    pub fn has_next(&self) -> bool {
        let (at, all) = self.matches;
        self.is_kept() && all > usize::from(at > 0)
    }

    /// Unmarks the matches; whether there were any to unmark.
    pub fn end(&mut self) -> bool {
        let was = std::mem::take(self);
        was.is_kept()
    }

    /// Takes a key of the open field, or its changed text (no key): the row to select, of which `at` is selected now.
    pub fn key(&mut self, key: Option<Key>, rows: &[String], at: usize) -> Option<usize> {
        match key {
            Some(Key::Esc) => {
                *self = Self::default();
                None
            }
            Some(Key::Enter) => {
                let word = self.field.take().map(|field| field.value().to_owned()).unwrap_or_default();
                if word.is_empty() {
                    return self.next(rows, at, 1);
                }
                self.kept = word;
                None
            }
            Some(Key::Down | Key::Tab) => self.next(rows, at, 1),
            Some(Key::Up | Key::BackTab) => self.next(rows, at, -1),
            key => {
                if let Some((key, field)) = key.zip(self.field.as_mut()) {
                    field.press(key);
                }
                let places = self.places(rows);
                places.iter().find(|place| **place >= at).or(places.first()).copied()
            }
        }
    }

    /// The next (1) or previous (-1) match, around the corner.
    pub fn next(&self, rows: &[String], at: usize, step: isize) -> Option<usize> {
        let places = self.places(rows);
        let next = if step > 0 {
            places.iter().find(|place| **place > at).or(places.first())
        } else {
            places.iter().rev().find(|place| **place < at).or(places.last())
        };
        next.copied()
    }

    /// Counts the matches, of which the one at row `at` is selected.
    pub fn count(&mut self, rows: &[String], at: usize) {
        let places = self.places(rows);
        let place = places.iter().position(|place| *place == at).map_or(0, |place| place + 1);
        self.matches = (place, places.len());
    }

    fn places(&self, rows: &[String]) -> Vec<usize> {
        let word = self.word().to_lowercase();
        let is_match = |(_, row): &(usize, &String)| !word.is_empty() && row.to_lowercase().contains(&word);
        rows.iter().enumerate().filter(is_match).map(|(at, _)| at).collect()
    }

    /// The footer while the field is open.
    pub fn hints(&self) -> Vec<Piece> {
        self.field.as_ref().map_or_else(Vec::new, |field| field_hints(field, self.matches))
    }

    /// The word whose matches stay marked, behind the title of the list.
    pub fn title(&self) -> Option<Piece> {
        let (at, all) = self.matches;
        let place = if all == 0 { "no match (0)".to_owned() } else { format!("{at} of {all}") };
        self.is_kept().then(|| piece(format!("  find {}: {place}", self.kept), Meaning::Figure))
    }
}

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
    fn a_find_goes_to_the_next_match_around_the_corner() {
        let rows = ["nvme0n1", "GPU", "nvme1n1", "NIC"].map(str::to_owned);
        let mut find = Find::default();
        find.open();
        let typed: Vec<Option<usize>> =
            "NV".chars().map(|letter| find.key(Some(Key::Char(letter)), &rows, 1)).collect();
        assert_eq!(typed, [Some(2), Some(2)], "from the selected row on, in any case");
        assert_eq!(
            [find.key(Some(Key::Down), &rows, 2), find.key(Some(Key::Up), &rows, 0)],
            [Some(0), Some(2)]
        );
        assert!(!find.is_kept() && find.key(Some(Key::Enter), &rows, 2).is_none() && find.is_kept());
        find.count(&rows, 2);
        assert_eq!(find.title().map(|(text, _)| text).as_deref(), Some("  find NV: 2 of 2"));
        find.open();
        assert_eq!(find.key(Some(Key::Enter), &rows, 2), Some(0), "an empty field goes on");
        assert!(find.end() && !find.end());
    }

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

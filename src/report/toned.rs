//! Text with the meaning of its parts, for terminals that show colours.

use std::ops::Range;

/// What a part of a text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Labels and explanations.
    Quiet,
    Heading,
    Drive,
    Figure,
    /// At least 95 % of what is possible.
    Good,
    /// It costs something.
    Warning,
    /// It costs much, or failed.
    Problem,
}

/// A text, and the tones of its parts in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Toned {
    text: String,
    tones: Vec<(Range<usize>, Tone)>,
}

impl Toned {
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(crate) fn push_toned(&mut self, tone: Tone, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        if tone != Tone::Plain && from < self.text.len() {
            self.tones.push((from..self.text.len(), tone));
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let from = self.text.len();
        self.text.push_str(&other.text);
        self.tones.extend(other.tones.iter().map(|(at, tone)| (at.start + from..at.end + from, *tone)));
    }

    /// Adds lines whose first one begins with `lead`.
    pub(crate) fn push_behind(&mut self, tone: Tone, lead: &str, lines: &str, rest: Tone) {
        let words = lines.strip_prefix(lead);
        if words.is_some() {
            self.push_toned(tone, lead);
        }
        self.push_toned(rest, words.unwrap_or(lines));
    }

    /// The text alone.
    pub(crate) fn plain(&self) -> &str {
        &self.text
    }

    /// All parts in order.
    pub(crate) fn parts(&self) -> Vec<(Tone, &str)> {
        let mut parts = Vec::new();
        let mut at = 0;
        for (range, tone) in &self.tones {
            let (between, part) = (self.text.get(at..range.start), self.text.get(range.clone()));
            parts.extend(between.filter(|text| !text.is_empty()).map(|text| (Tone::Plain, text)));
            parts.extend(part.map(|text| (*tone, text)));
            at = range.end;
        }
        parts.extend(self.text.get(at..).filter(|text| !text.is_empty()).map(|text| (Tone::Plain, text)));
        parts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_the_text(pieces in prop::collection::vec(("\\PC{0,5}", any::<bool>()), 0..9)) {
            let (mut whole, mut text) = (Toned::default(), String::new());
            for (piece, is_loud) in &pieces {
                let mut one = Toned::default();
                one.push_toned(if *is_loud { Tone::Problem } else { Tone::Plain }, piece);
                whole.append(&one);
                text.push_str(piece);
            }
            let parts = whole.parts();
            prop_assert_eq!(parts.iter().map(|(_, part)| *part).collect::<String>(), text.clone());
            prop_assert_eq!(whole.plain(), text);
            let loud = parts.iter().filter(|(tone, _)| *tone == Tone::Problem).count();
            prop_assert_eq!(loud, pieces.iter().filter(|(piece, is_loud)| *is_loud && !piece.is_empty()).count());
        }
    }
}

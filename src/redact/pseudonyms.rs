//! Running numbers in the shape of the originals.

use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
};

/// The form of a pseudonym.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// Letters and digits.
    Text,
    /// Hexadecimal digits; separators and case of one id may vary.
    Hex,
    /// Four decimal numbers up to 255.
    Ipv4,
}

/// Numbers passed over because their pseudonym is an original.
const MOST_TRIES: usize = 16;

/// Originals with a pseudonym of their own. A machine has some thousand; further ones have pseudonyms in common.
const MOST_ORIGINALS: usize = 1 << 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Pseudonyms {
    /// Number of an original, by shape; for hexadecimal ids by digits alone.
    numbers: HashMap<(Shape, String), u64>,
    counts: HashMap<Shape, u64>,
    /// Issued pseudonyms, which must not be replaced again.
    given: HashSet<String>,
}

impl Pseudonyms {
    /// The pseudonym of `original`, always the same one.
    pub(super) fn of(&mut self, original: &str, shape: Shape) -> String {
        let key = |text: &str| match shape {
            Shape::Hex => {
                text.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase()).collect()
            }
            _ => text.to_owned(),
        };
        let own = (shape, key(original));
        let is_full = self.numbers.len() >= MOST_ORIGINALS;
        let number = match self.numbers.get(&own) {
            Some(number) => *number,
            // Only what was no original before: an original may look like a pseudonym that is issued later.
            None if self.given.contains(original) => return original.to_owned(),
            None if is_full => return another(original, MOST_ORIGINALS as u64, shape),
            None => {
                let count = self.counts.entry(shape).or_default();
                *count += 1;
                // Short words have few pseudonyms, so the search ends.
                for _ in 0..MOST_TRIES {
                    if !self.numbers.contains_key(&(shape, key(&shaped(original, *count, shape)))) {
                        break;
                    }
                    *count += 1;
                }
                self.numbers.insert(own, *count);
                *count
            }
        };
        let pseudonym = another(original, number, shape);
        if !self.given.contains(&pseudonym) {
            self.given.insert(pseudonym.clone());
        }
        pseudonym
    }
}

/// [`shaped`], in another range of numbers where the original would stay.
fn another(original: &str, number: u64, shape: Shape) -> String {
    let pseudonym = shaped(original, number, shape);
    if pseudonym == original { shaped(original, number + 900, shape) } else { pseudonym }
}

/// `number` in the shape of `original`: same length in bytes, letters for letters, all else unchanged.
fn shaped(original: &str, number: u64, shape: Shape) -> String {
    if shape == Shape::Ipv4 {
        return shaped_ipv4(original, number);
    }
    let mut digits: Vec<u8> = number.to_string().into_bytes();
    let mut reversed: Vec<u8> = Vec::with_capacity(original.len());
    let mut kept = 0;
    for (at, c) in original.char_indices().rev() {
        // `\040` in kernel tables is one character and stays.
        if kept == 0 && is_octal_escape(original, at) {
            kept = 4;
        }
        if kept > 0 || !(c.is_alphanumeric()) {
            kept -= usize::from(kept > 0);
            let mut buffer = [0; 4];
            reversed.extend(c.encode_utf8(&mut buffer).bytes().rev());
            continue;
        }
        for _ in 0..c.len_utf8() {
            reversed.push(digits.pop().unwrap_or(filler(c, shape)));
        }
    }
    reversed.reverse();
    String::from_utf8_lossy(&reversed).into_owned()
}

/// Whether the character at `at` is the last of a backslash and three digits.
fn is_octal_escape(text: &str, at: usize) -> bool {
    let Some(start) = at.checked_sub(3) else { return false };
    match text.as_bytes().get(start..=at) {
        Some([b'\\', digits @ ..]) => digits.iter().all(|digit| (b'0'..=b'7').contains(digit)),
        _ => false,
    }
}

fn filler(c: char, shape: Shape) -> u8 {
    match c {
        _ if shape == Shape::Hex => b'0',
        c if c.is_ascii_digit() => b'0',
        c if c.is_uppercase() => b'X',
        _ => b'x',
    }
}

/// Each number keeps its count of digits.
fn shaped_ipv4(original: &str, number: u64) -> String {
    let Ok(address) = original.parse::<Ipv4Addr>() else { return original.to_owned() };
    let mut rest = number;
    let mut parts: Vec<String> = address
        .octets()
        .iter()
        .rev()
        .map(|octet| {
            let (least, most) = match octet {
                0..10 => (0, 10),
                10..100 => (10, 100),
                _ => (100, 256),
            };
            let part = least + rest % (most - least);
            rest /= most - least;
            part.to_string()
        })
        .collect();
    parts.reverse();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pseudonym_has_the_shape_of_its_original() {
        let mut pseudonyms = Pseudonyms::default();
        assert_eq!(pseudonyms.of("S4EWNX0R123456", Shape::Text), "X0XXXX0X000001");
        assert_eq!(pseudonyms.of("S4EWNX0R123456", Shape::Text), "X0XXXX0X000001");
        assert_eq!(pseudonyms.of("bob\\040smith-2", Shape::Text), "xxx\\040xxxxx-2");
        let id = "6B1DCB5E-00aa-4d3c-9c1e-0123456789ab";
        assert_eq!(pseudonyms.of(id, Shape::Hex), "00000000-0000-0000-0000-000000000001");
        assert_eq!(
            pseudonyms.of(&id.replace('-', "").to_lowercase(), Shape::Hex),
            "00000000000000000000000000000001"
        );
        assert_eq!(pseudonyms.of("192.168.1.10", Shape::Ipv4), "100.100.0.11");
        assert_eq!(
            pseudonyms.of("X0XXXX0X000001", Shape::Text),
            "X0XXXX0X000001",
            "one given out is no original"
        );
        assert_eq!(pseudonyms.of("00004", Shape::Text), "00003");
    }

    #[test]
    fn an_original_that_looks_like_a_pseudonym_keeps_its_own() {
        let mut pseudonyms = Pseudonyms::default();
        let once: Vec<String> =
            ["x3", "ab", "mo", "qr"].iter().map(|word| pseudonyms.of(word, Shape::Text)).collect();
        assert_eq!(once, ["x1", "x2", "x4", "x5"], "x3 is another word's name");
        let again: Vec<String> =
            ["x3", "ab", "mo", "qr"].iter().map(|word| pseudonyms.of(word, Shape::Text)).collect();
        assert_eq!(again, once);
    }

    #[test]
    fn more_originals_than_a_machine_has_share_a_pseudonym() {
        let mut pseudonyms = Pseudonyms::default();
        let mut of = |at: usize| pseudonyms.of(&format!("name{at:08}"), Shape::Text);
        let last = of(0);
        (1..MOST_ORIGINALS).for_each(|at| _ = of(at));
        assert_eq!([of(MOST_ORIGINALS), of(MOST_ORIGINALS + 1)], ["xxxx00065536"; 2]);
        assert_eq!(of(0), last, "those before keep their own");
        assert_eq!(pseudonyms.numbers.len(), MOST_ORIGINALS);
    }

    proptest! {
        #[test]
        fn every_pseudonym_is_as_long_and_never_the_original(original in "[\\PC\\\\0-7]{0,3}[A-Za-z0-9]{4}[\\PC]{0,9}") {
            let pseudonym = Pseudonyms::default().of(&original, Shape::Text);
            prop_assert_eq!(pseudonym.len(), original.len());
            prop_assert_ne!(pseudonym, original);
        }

        #[test]
        fn addresses_stay_addresses_of_the_same_length(bits in any::<u32>(), number in 1_u64..2000) {
            let original = Ipv4Addr::from_bits(bits).to_string();
            let pseudonym = shaped(&original, number, Shape::Ipv4);
            prop_assert_eq!(pseudonym.len(), original.len());
            prop_assert!(pseudonym.parse::<Ipv4Addr>().is_ok());
        }
    }
}

//! Drawings whose marks a program for letters replaced: dashes by long ones, and lines by signs of box drawing.

use std::borrow::Cow;

use super::drawing::{is_branch, is_first};

/// Dashes that stand for one, two, three or four.
const DASHES: std::ops::RangeInclusive<char> = '\u{2010}'..='\u{2015}';

/// The sign of minus, for one.
const MINUS: char = '\u{2212}';

/// The mark that a sign stands for.
fn mark(sign: char) -> Option<char> {
    match sign {
        '\u{2500}' | '\u{2501}' | '\u{2574}' | '\u{2576}' | MINUS => Some('-'),
        '\u{2502}' | '\u{2503}' | '\u{00a6}' => Some('|'),
        '\u{251c}' | '\u{2523}' | '\u{252c}' | '\u{2533}' | '\u{253c}' => Some('+'),
        // Japanese and Korean code pages show a backslash as the sign of a currency.
        '\u{2514}' | '\u{2517}' | '\u{2570}' | '\u{a5}' | '\u{ffe5}' | '\u{20a9}' | '\u{ffe6}' => Some('\\'),
        _ => DASHES.contains(&sign).then_some('-'),
    }
}

/// A line of a drawing with the marks of lspci. Other lines, such as those of `lsblk`, are left as they are.
pub(in super::super) fn redrawn(line: Cow<'_, str>) -> Cow<'_, str> {
    if line.is_ascii() || !line.contains(|sign| mark(sign).is_some()) {
        return line;
    }
    let is_drawn =
        |sign: char| sign.is_ascii_hexdigit() || " \t|+\\-[]:.".contains(sign) || mark(sign).is_some();
    let (drawn, name) = line.split_at(line.find(|sign| !is_drawn(sign)).unwrap_or(line.len()));
    let redrawn = with_marks(drawn) + name;
    if is_first(&redrawn) || is_branch(&redrawn) { Cow::Owned(redrawn) } else { line }
}

fn with_marks(drawn: &str) -> String {
    let mut marked = String::with_capacity(drawn.len());
    let mut rest = drawn;
    while let Some(sign) = rest.chars().next() {
        let plain = mark(sign).unwrap_or(sign);
        let is_dash = |sign: char| mark(sign).unwrap_or(sign) == '-';
        if plain != '-' {
            marked.push(plain);
            rest = &rest[sign.len_utf8()..];
            continue;
        }
        let end = rest.find(|sign| !is_dash(sign)).unwrap_or(rest.len());
        let (dashes, behind) = rest.split_at(end);
        let count = if dashes.chars().any(|sign| DASHES.contains(&sign)) {
            drawn_dashes(&marked, behind)
        } else {
            dashes.chars().count()
        };
        marked.extend(std::iter::repeat_n('-', count));
        rest = behind;
    }
    marked
}

/// The number of dashes that lspci draws between what stands before and behind them.
fn drawn_dashes(before: &str, behind: &str) -> usize {
    let bus = before.strip_suffix(']').and_then(|before| before.rsplit_once('['));
    let is_root = bus.map(|(_, bus)| bus.contains(':'));
    match (is_root, behind.chars().next()) {
        (None, _) | (Some(true), Some('+' | '\u{252c}' | '\u{2533}') | None) => 1,
        (Some(true), _) => 3,
        (Some(false), Some(device)) if device.is_ascii_hexdigit() => 4,
        (Some(false), _) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWING: &str = "\
-+-[0000:60]-+-00.0  AMD Root Complex
 |           +-03.1-[61-63]--+-00.0  Samsung Device a80a
 |           |               \\-00.1  Samsung \u{2014} Device
 |           \\-03.2-[64]--
 \\-[0000:00]---01.1-[01]----00.0  Samsung Device a80a
";

    fn all(text: &str) -> String {
        text.lines().map(|line| redrawn(line.into()) + "\n").collect()
    }

    #[test]
    fn dashes_and_boxes_are_marks() {
        let boxes = |from: char| match from {
            '-' => '\u{2500}',
            '|' => '\u{2502}',
            '\\' => '\u{2514}',
            '+' => '\u{251c}',
            other => other,
        };
        let boxed: String = DRAWING
            .lines()
            .map(|line| {
                let end = line.find("  ").filter(|at| *at > 20).unwrap_or(line.len());
                let end = line.find("  Samsung").or(line.find("  AMD")).unwrap_or(end);
                line[..end].chars().map(boxes).collect::<String>() + &line[end..] + "\n"
            })
            .collect();
        assert!(boxed.contains("\u{251c}\u{2500}03.1\u{2500}[61\u{2500}63]"), "{boxed}");
        for text in [
            DRAWING.replace("--", "\u{2013}"),
            DRAWING.replace("---", "\u{2014}").replace("--", "\u{2013}"),
            DRAWING.replace("----", "\u{2014}").replace("---", "\u{2014}").replace("--", "\u{2014}"),
            DRAWING.replace("--", "\u{2014}").replace("[61-63]", "[61\u{2013}63]"),
            DRAWING.replace("+-", "+\u{2013}").replace("\\-", "\\\u{2013}"),
            boxed,
        ] {
            assert_eq!(all(&text), DRAWING, "{text}");
        }
    }

    #[test]
    fn other_lines_are_left() {
        for line in [
            "\u{251c}\u{2500}sda1   8:1    0  512M  0 part /boot",
            "\u{2514}\u{2500}nvme0n1p1 259:1",
            "\u{2502} 01:00.0 Host bridge: Foo",
            "01:00.0 Non-Volatile memory controller: Foo \u{2014} Bar",
            "A text \u{2014} with dashes",
        ] {
            assert_eq!(redrawn(line.into()), line);
        }
    }
}

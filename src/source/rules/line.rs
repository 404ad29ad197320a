//! [`Line`]: a line of a rules file, as the answer to `/probe/boot-rules` contains it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub path: String,
    /// Counted from 1.
    pub number: usize,
    /// Continued lines are joined.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}:{}", self.path, self.number, self.text)
    }
}

/// Malformed lines are skipped.
pub(super) fn parse(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        // No scanned path contains a colon, digits and another colon.
        let (path, rest) = line.split_once(':')?;
        let (number, text) = rest.split_once(':')?;
        let number = number.parse().ok().filter(|number| *number > 0)?;
        path.starts_with('/').then(|| Line { path: path.to_owned(), number, text: text.to_owned() })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_read_as_they_were_written(path in "/[a-z./-]{0,20}", number in 1_usize..9999, text in "[^\n\r]{0,40}") {
            let line = Line { path, number, text };
            prop_assert_eq!(parse(&line.to_string()), [line]);
        }

        #[test]
        fn any_answer_is_read(text in any::<String>()) {
            for line in parse(&text) {
                prop_assert!(line.number > 0 && line.path.starts_with('/'));
            }
        }
    }
}

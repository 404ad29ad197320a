//! Shell commands and udev rules in lines: what is copied from a narrow place is still the same command.

use super::paint::{Piece, cells, fit_chars, piece};
use crate::ui::theme::Meaning;

/// What reads the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A shell: a backslash in quotes would be a part of the word.
    Shell,
    /// udev, which joins lines before it looks for quotes.
    Udev,
}

/// Ends a line that goes on in the next one.
const GOES_ON: &str = " \\";

/// A command in lines of at most `width` cells, behind `indent` blanks where its words have room there. All lines but the last
/// end in a backslash.
pub fn command(text: &str, reader: Reader, indent: usize, width: u16, meaning: Meaning) -> Vec<Vec<Piece>> {
    let words = words(text, reader);
    let indent_cells = u16::try_from(indent).unwrap_or(u16::MAX);
    let room = width.saturating_sub(indent_cells);
    let longest = words.iter().map(|word| cells(word)).max().unwrap_or_default();
    let fits = longest.saturating_add(cells(GOES_ON)) <= room || cells(text) <= room;
    // Blanks before the rest of a broken word would make it another word.
    let (indent, room) = if fits { (indent, room) } else { (0, width.max(LEAST)) };
    let lead = piece(" ".repeat(indent), Meaning::Text);
    lines(&words, reader, room).into_iter().map(|line| vec![lead.clone(), piece(line, meaning)]).collect()
}

/// A file of udev rules: comments stay comments in every line.
pub fn rules(text: &str, width: u16, meaning: Meaning) -> Vec<Vec<Piece>> {
    let of_line = |line: &str| match line.strip_prefix("# ") {
        Some(words) => {
            let comment = super::paint::wrap(words, width.saturating_sub(2));
            comment.into_iter().map(|words| vec![piece(format!("# {words}"), meaning)]).collect()
        }
        None => command(line, Reader::Udev, 0, width, meaning),
    };
    text.lines().flat_map(of_line).collect()
}

/// The least cells of a line.
const LEAST: u16 = 8;

/// Parts between which a line may end: of a shell's command no blank in quotes does.
fn words(text: &str, reader: Reader) -> Vec<&str> {
    let mut quote = None;
    let is_gap = |letter: char| {
        match quote {
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => {}
        }
        letter == ' ' && (quote.is_none() || reader == Reader::Udev)
    };
    text.split(is_gap).collect()
}

fn lines(words: &[&str], reader: Reader, room: u16) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, word) in words.iter().enumerate() {
        let after = if at + 1 == words.len() { 0 } else { cells(GOES_ON) };
        let is_first = at == 0;
        if let Some(line) = lines.last_mut() {
            let gap = u16::from(!is_first);
            if cells(line) + gap + cells(word) + after <= room {
                line.extend([if is_first { "" } else { " " }, word]);
                continue;
            }
            if !is_first {
                line.push_str(GOES_ON);
                lines.push(String::new());
            }
        }
        let mut parts = broken(word, reader, room.saturating_sub(after)).into_iter();
        if let (Some(line), Some(part)) = (lines.last_mut(), parts.next()) {
            line.push_str(&part);
        }
        lines.extend(parts);
    }
    lines
}

/// A word longer than a line, broken behind a slash where it has one. A shell takes quoted parts that follow each other as one word.
fn broken(word: &str, reader: Reader, room: u16) -> Vec<String> {
    let quote = match word.chars().next() {
        Some(first @ ('\'' | '"')) if reader == Reader::Shell && word.ends_with(first) => Some(first),
        _ => None,
    };
    let mut parts = Vec::new();
    let mut rest = word.to_owned();
    while cells(&rest) > room {
        let ends = if quote.is_some() { 2 } else { 1 };
        let head = fit_chars(&rest, room.saturating_sub(ends).max(2));
        let end = head.rfind('/').map(|slash| slash + 1).filter(|end| *end > 2).unwrap_or(head.len());
        let (head, tail) = rest.split_at(end);
        let close = quote.map(String::from).unwrap_or_default();
        parts.push(format!("{head}{close}\\"));
        rest = format!("{close}{tail}");
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULER: &str = "echo 'none' | sudo tee '/sys/block/nvme0n1/queue/scheduler'";

    fn shown(text: &str, reader: Reader, indent: usize, width: u16) -> Vec<String> {
        let lines = command(text, reader, indent, width, Meaning::Key);
        lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
    }

    /// What a shell makes of lines: a backslash joins two of them, blanks part words.
    fn joined(lines: &[String]) -> String {
        let text = lines.join("\n").replace("\\\n", "").replace("''", "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash() {
        assert_eq!(shown(SCHEDULER, Reader::Shell, 2, 80), [format!("  {SCHEDULER}")]);
        assert_eq!(
            shown(SCHEDULER, Reader::Shell, 2, 46),
            ["  echo 'none' | sudo tee \\", "  '/sys/block/nvme0n1/queue/scheduler'"]
        );
    }

    #[test]
    fn a_blank_in_quotes_ends_no_line_of_a_shell() {
        let text = "sh -c 'echo one two three four'";
        assert_eq!(shown(text, Reader::Shell, 0, 28), ["sh -c \\", "'echo one two three four'"]);
        assert_eq!(shown(text, Reader::Udev, 0, 28), ["sh -c 'echo one two three \\", "four'"]);
    }

    #[test]
    fn a_path_longer_than_a_line_is_the_same_word_for_a_shell() {
        for width in 12..70 {
            let lines = shown(SCHEDULER, Reader::Shell, 10, width);
            assert!(lines.iter().all(|line| cells(line) <= width), "{width}: {lines:#?}");
            assert_eq!(joined(&lines), SCHEDULER, "{width}: {lines:#?}");
        }
    }

    #[test]
    fn a_comment_of_rules_is_one_in_every_line() {
        let text =
            "# scheduler: was none, set to mq-deadline\nKERNEL==\"nvme*n*\", ATTR{queue/scheduler}=\"none\"";
        let lines: Vec<String> = rules(text, 36, Meaning::Text)
            .iter()
            .map(|line| line.iter().map(|(text, _)| text.as_str()).collect())
            .collect();
        assert_eq!(
            lines,
            [
                "# scheduler: was none, set to",
                "# mq-deadline",
                "KERNEL==\"nvme*n*\", \\",
                "ATTR{queue/scheduler}=\"none\""
            ]
        );
    }
}

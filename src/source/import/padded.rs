//! Blanks with which a terminal or a form ended every line: they are no marks of format=flowed.

use std::borrow::Cow;

use super::{facts::Line, wrapped};

/// Lines that follow each other.
const LEAST: usize = 3;

/// Such lines among them that were not broken.
const SHORT: usize = 2;

/// Columns within which no program breaks lines.
const NARROW: usize = 50;

/// Takes away the blanks at the ends of lines that follow each other and all have some. A mail breaks lines behind blanks only
/// where the next word would have been too wide.
pub(super) fn trim(lines: &mut [Line], text: &str) {
    if wrapped::is_flowed(text) {
        return;
    }
    let mut from = 0;
    while from < lines.len() {
        let run = lines[from..].iter().take_while(|line| line.text.ends_with([' ', '\t'])).count();
        let padded = &mut lines[from..from + run];
        from += run + 1;
        if run < LEAST || padded.windows(2).filter(|pair| would_fit(&pair[0], &pair[1])).count() < SHORT {
            continue;
        }
        for line in padded {
            match &mut line.text {
                Cow::Borrowed(text) => *text = text.trim_end(),
                Cow::Owned(text) => text.truncate(text.trim_end().len()),
            }
        }
    }
}

/// Whether the first word of the next line, with the blanks before it, would have stood in this one.
fn would_fit(line: &Line, next: &Line) -> bool {
    let start = next.text.len() - next.text.trim_start().len();
    let word = next.text.split_whitespace().next().map_or(0, str::len);
    line.text.trim_end().len() + 1 + start + word < NARROW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed(text: &str) -> String {
        let line = |(at, line)| Line { number: at + 1, text: Cow::Borrowed(line) };
        let mut lines: Vec<Line> = text.lines().enumerate().map(line).collect();
        trim(&mut lines, text);
        lines.iter().flat_map(|line| [&*line.text, "\n"]).collect()
    }

    #[test]
    fn blanks_at_the_ends_of_all_lines_go_and_those_of_a_mail_stay() {
        let drawing = "-[0000:00]-+-00.0\n           +-01.0-[01]----00.0\n           \\-02.0\n";
        let padded: String =
            drawing.lines().flat_map(|line| [format!("{line:80}"), "\n".to_owned()]).collect();
        assert_eq!(trimmed(&padded), drawing);
        assert_eq!(trimmed(&drawing.replace('\n', " \n")), drawing);
        let words = "Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root ";
        let flowed = format!("{words}\n{words}\n{words}\nComplex\n");
        assert_eq!(trimmed(&flowed), flowed);
        let declared = format!("Content-Type: text/plain; format=flowed\n{padded}");
        assert_eq!(trimmed(&declared), declared);
    }
}

//! Bars that mail programs and tables of forums put before all lines: `| 01:00.0 Non-Volatile memory controller: ...`.

use std::borrow::Cow;

use super::facts::Line;

const BARS: [char; 2] = ['|', '\u{2502}'];

/// Levels of quotations that are undone.
const DEEPEST: usize = 4;

/// Takes away the bars of runs of lines that all begin with one. Lines of a drawing do too: a run is a quotation only if one of
/// its lines begins a listing without its bar alone. Empty lines end no run.
pub(super) fn undo(lines: &mut [Line], begins: impl Fn(&str, Option<&str>) -> bool) {
    for _ in 0..DEEPEST {
        let mut any = false;
        let mut from = 0;
        while let Some(start) = (from..lines.len()).find(|at| bar(&lines[*at].text).is_some()) {
            let is_run = |line: &Line| line.text.is_empty() || bar(&line.text).is_some();
            let end = (start..lines.len()).find(|at| !is_run(&lines[*at])).unwrap_or(lines.len());
            let run = &mut lines[start..end];
            if is_quotation(run, &begins) {
                strip(run);
                any = true;
            }
            from = end;
        }
        if !any {
            return;
        }
    }
}

/// The text behind a bar at the beginning of a line.
fn bar(line: &str) -> Option<&str> {
    line.strip_prefix(BARS)
}

/// The text behind all bars, each with its blank; `None` if there are more than quotations have.
fn bare(line: &str) -> Option<&str> {
    let mut text = line;
    for _ in 0..DEEPEST {
        let Some(rest) = bar(text) else { break };
        text = rest.strip_prefix(' ').unwrap_or(rest);
    }
    bar(text).is_none().then_some(text)
}

fn is_quotation(run: &[Line], begins: impl Fn(&str, Option<&str>) -> bool) -> bool {
    let with = |at: usize| run.get(at).map(|line| &*line.text);
    let without = |at: usize| with(at).and_then(bare);
    let begins = |line: Option<&str>, next: Option<&str>| line.is_some_and(|line| begins(line, next));
    (0..run.len()).any(|at| begins(without(at), without(at + 1)) && !begins(with(at), with(at + 1)))
}

/// Takes the bars away, with the blank behind them if all have one; of a table those behind the lines too.
fn strip(run: &mut [Line]) {
    let has_end = |line: &Line| line.text.trim_end().ends_with(BARS);
    let is_table = run.iter().all(|line| line.text.is_empty() || line.text.len() > 1 && has_end(line));
    let has_blank =
        run.iter().filter_map(|line| bar(&line.text)).all(|text| text.is_empty() || text.starts_with(' '));
    for line in run {
        let Some(text) = bar(&line.text) else { continue };
        let text = text.strip_prefix(' ').filter(|_| has_blank).unwrap_or(text);
        let text = if is_table { text.trim_end().trim_end_matches(BARS).trim_end() } else { text };
        line.text = Cow::Owned(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::import::KINDS;

    fn joined(lines: impl Iterator<Item = String>) -> String {
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    fn undone(text: &str) -> String {
        let line = |(at, line)| Line { number: at + 1, text: Cow::Borrowed(line) };
        let mut lines: Vec<Line> = text.lines().enumerate().map(line).collect();
        undo(&mut lines, |line, next| KINDS.iter().any(|kind| (kind.begins)(line, next)));
        joined(lines.iter().map(|line| line.text.to_string()))
    }

    #[test]
    fn bars_before_all_lines_of_a_listing_are_no_part_of_it() {
        let plain =
            "01:00.0 Non-Volatile memory controller: X\n\tLnkSta:\tSpeed 8GT/s, Width x4\n\n02:00.0 Y: Z\n";
        let drawing =
            "-+-[0000:60]-+-00.0  A\n |           \\-03.1-[61]----00.0  B\n \\-[0000:00]---00.0  C\n";
        let table = "nvme0n1  1.00 TB / 1.00 TB\nnvme1n1  1.00 TB / 1.00 TB\n";
        for text in [plain, drawing, table] {
            let with = |mark: &str| joined(text.lines().map(|line| format!("{mark}{line}")));
            for mark in ["| ", "|", "\u{2502} ", "| | "] {
                assert_eq!(undone(&with(mark)), text, "{mark}");
            }
            let prose = format!("He wrote:\n{}\nregards\n", with("| "));
            assert_eq!(undone(&prose), format!("He wrote:\n{text}\nregards\n"));
            let rows = joined(text.lines().map(|line| format!("| {line} |")));
            assert_eq!(undone(&rows), text, "a table");
        }
    }

    #[test]
    fn bars_of_a_drawing_stay() {
        for text in [
            "-+-[0000:60]-+-00.0  A\n |           \\-03.1-[61]----00.0  B\n \\-[0000:00]---00.0  C\n",
            "-+-[0000:60]-+-00.0  A\n|           +-00.2  B\n|           \\-03.1-[61]----00.0  C\n",
            "|  +-00.0  A\n|  +-01.0-[01]----00.0  B\n|  \\-02.0  C\n",
            "|\n|  |  +-00.0\n",
            "| a | b |\n|---|---|\n| c | d |\n",
        ] {
            assert_eq!(undone(text), text);
        }
    }
}

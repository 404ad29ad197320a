//! Lines that a terminal or `fold` broke at a fixed column, also within words.

use super::{
    drives::{is_controller, is_namespace, short},
    facts::Line,
    lsblk, lspci,
    prompt::is_prompt,
};

/// Least columns of such lines.
const NARROW: usize = 60;

/// Columns between tab stops.
const TAB: usize = 8;

/// Longest joined line.
const MOST: usize = 4096;

/// Joins lines that were broken at a fixed column: the longest lines of the listings all end there, go on in the next, and few
/// others do. What stood there is not known of a single broken line, which its reader joins with a blank.
pub(super) fn unfold(lines: &mut Vec<Line>, begins: impl Fn(&str, Option<&str>) -> bool) {
    let text = |at: usize| lines.get(at).map_or("", |line| &*line.text);
    let has_tabs = lines.iter().any(|line| line.text.starts_with('\t'));
    let goes_on = |at: usize, in_table: bool| {
        let (line, next) = (text(at), text(at + 1));
        let is_rest = is_rest(line, next, has_tabs, in_table);
        is_rest && (starts_with_branch(next) || !begins(next, lines.get(at + 2).map(|line| &*line.text)))
    };
    let of_listing = (0..lines.len()).map(|at| (at, width(text(at))));
    let of_listing = of_listing.filter(|(at, width)| *width >= NARROW / 2 && is_of_listing(text(*at)));
    let of_listing: Vec<(usize, usize)> = of_listing.collect();
    let Some(widest) = of_listing.iter().map(|(_, width)| *width).max().filter(|width| *width >= NARROW)
    else {
        return;
    };
    let (mut subjects, mut broken, mut others) = (Vec::new(), 0, 0);
    for (at, width) in of_listing.into_iter().filter(|(at, _)| goes_on(*at, is_table(text(*at)))) {
        if width == widest {
            subjects.push(subject(text(at)));
            broken += 1;
        } else if width + 1 < widest {
            // Rows of a table may end at one column by themselves; its heading and its rule do not.
            if is_rule(text(at)) || is_heading(text(at)) {
                return;
            }
            others += 1;
        }
    }
    subjects.sort_unstable();
    subjects.dedup();
    if subjects.len() < 2 || broken <= others {
        return;
    }
    let (mut rests, mut in_table) = (Vec::with_capacity(lines.len()), false);
    for at in 0..lines.len() {
        in_table = is_table(text(at)) || in_table && rests.last() == Some(&true);
        rests.push(goes_on(at, in_table));
    }
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    let mut before = None;
    for (at, line) in lines.iter_mut().enumerate() {
        let own = width(&line.text);
        // A blank at the end of a line may be lost.
        let between = match before {
            Some(width) if width == widest => Some(""),
            Some(width) if width + 1 == widest => Some(" "),
            _ => None,
        };
        match (between, joined.last_mut()) {
            (Some(between), Some(last)) if last.text.len() < MOST => {
                let text = last.text.to_mut();
                text.push_str(between);
                text.push_str(&line.text);
            }
            _ => joined.push(Line { number: line.number, text: std::mem::take(&mut line.text) }),
        }
        before = rests[at].then_some(own);
    }
    *lines = joined;
}

/// Columns that a line takes.
fn width(line: &str) -> usize {
    line.chars().fold(0, |at, letter| if letter == '\t' { (at / TAB + 1) * TAB } else { at + 1 })
}

/// What a line is about: lines of one register are often equally long.
fn subject(line: &str) -> &str {
    let line = line.trim_start();
    if line.starts_with(['|', '+', '\\', '-']) {
        line
    } else {
        line.split_whitespace().next().unwrap_or(line)
    }
}

/// A row of a table, or a line of lspci: of a body, a function's first one, or of a drawing.
fn is_of_listing(line: &str) -> bool {
    is_table(line)
        || (lspci::LIST.begins)(line, None)
        || (lspci::LIST.continues)(line)
        || (lspci::DRAWING.begins)(line, None)
        || (lspci::DRAWING.continues)(line)
}

fn starts_with_branch(line: &str) -> bool {
    ["+-", "\\-"].iter().any(|branch| line.trim_start().starts_with(branch))
}

/// The dashes below a heading.
fn is_rule(line: &str) -> bool {
    line.bytes().all(|byte| byte == b'-' || byte == b' ')
}

fn is_heading(line: &str) -> bool {
    ["Node", "Device", "Subsystem"].contains(&line.split_whitespace().next().unwrap_or_default())
}

/// A row, a heading or a rule of a table of nvme-cli.
fn is_table(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let name = short(first);
    is_heading(line)
        || first.starts_with("---")
        || is_namespace(name)
        || is_controller(name)
        || name.starts_with("nvme-subsys")
}

/// Whether a line may be the rest of the one before, which may be a part of a row of a table.
fn is_rest(line: &str, next: &str, has_tabs: bool, in_table: bool) -> bool {
    let start = next.trim_start_matches(' ');
    let blanks = next.len() - start.len();
    let first = start.split_whitespace().next().unwrap_or_default();
    if line.is_empty() || first.is_empty() || next.starts_with('\t') || is_prompt(next) {
        return false;
    }
    if in_table {
        return !is_table(next) || is_rule(line) && is_rule(next);
    }
    let is_time = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
    let is_of_kernel =
        start.strip_prefix('[').and_then(|rest| rest.split_once('.')).is_some_and(|it| is_time(it.0));
    let is_other = is_of_kernel
        || start.starts_with(['|', '{', '}', '"', '\u{251c}', '\u{2514}', '\u{2502}'])
        || is_table(next)
        || lspci::is_unread(next)
        || lspci::begins_line(next)
        || lsblk::is_drive(short(first));
    // A line of a body that lost its indentation begins with a known word.
    let is_body = blanks == 0 && !has_tabs && lspci::is_body(next);
    // In a drawing two blanks stand before a name, and a line without a device ends within the blanks before its branch.
    let is_drawing = (lspci::DRAWING.begins)(line, None) || (lspci::DRAWING.continues)(line);
    let is_start = line.ends_with(' ') && line.trim_matches([' ', '|']).is_empty();
    let is_open = !starts_with_branch(next) || line.ends_with('-') || is_start;
    let fits = blanks <= 1 + usize::from(is_drawing) || is_start;
    fits && !is_other && !is_body && !is_dump(start) && is_open
}

/// A row of a hex dump: `00: 86 80 e0 29`.
fn is_dump(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(offset, row)| {
        (2..=3).contains(&offset.len())
            && [offset, row]
                .iter()
                .all(|text| text.bytes().all(|byte| byte == b' ' || byte.is_ascii_hexdigit()))
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::source::import::KINDS;

    fn unfolded(text: &str) -> String {
        let line = |(at, line)| Line { number: at + 1, text: Cow::Borrowed(line) };
        let mut lines: Vec<Line> = text.lines().enumerate().map(line).collect();
        unfold(&mut lines, |line, next| KINDS.iter().any(|kind| (kind.begins)(line, next)));
        lines.iter().flat_map(|line| [&*line.text, "\n"]).collect()
    }

    /// As `fold -w` does.
    fn folded(text: &str, columns: usize) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let mut piece = String::new();
            for letter in line.chars() {
                piece.push(letter);
                if width(&piece) > columns {
                    piece.pop();
                    out += &piece;
                    out.push('\n');
                    piece = letter.to_string();
                }
            }
            out += &piece;
            out.push('\n');
        }
        out
    }

    const LIST: &str = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 (prog-if 02 [NVM Express])
\tSubsystem: Samsung Electronics Co Ltd SSD 970 EVO/PRO
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 0.000W
";

    const DRAWING: &str = r"-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex and more words
           +-01.2-[01-09]----00.0-[02-09]--+-02.0-[03]----00.0  Realtek Semiconductor Co., Ltd. RTL8125 2.5GbE Controller
           |                               \-05.0-[06]----00.0  Realtek Semiconductor Co., Ltd. RTL8111/8168/8411
           \-03.1-[0a]----00.0  Seagate Technology PLC FireCuda 530 SSD and a name that is longer
";

    #[test]
    fn lines_broken_within_words_are_whole() {
        for columns in NARROW..=120 {
            for text in [LIST, DRAWING] {
                let broken = text.lines().filter(|line| width(line) > columns).count();
                if broken > 1 {
                    assert_eq!(unfolded(&folded(text, columns)), text, "{columns}");
                }
            }
        }
    }

    #[test]
    fn lines_that_no_column_broke_stay() {
        let body = LIST.repeat(3);
        let stripped: String = body.lines().flat_map(|line| [line.trim(), "\n"]).collect();
        for text in [LIST, DRAWING, &stripped] {
            assert_eq!(unfolded(text), text);
        }
        let soft = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe\nSSD Controller\n02:00.0 Non-Volatile memory controller: Samsung Electronics Company\nLtd. SSD\n";
        assert_eq!(unfolded(soft), soft);
    }
}

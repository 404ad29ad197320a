//! What programs did to the lines of a whole text: numbers or marks of a patch in front of them, and line breaks where a mail
//! was too wide.

use std::borrow::Cow;

use super::{dmesg, facts::Line, lsblk, lspci, prompt::is_prompt};

/// Columns of a mail's lines: RFC 3676 recommends 78, programs wrap at 66 to 80.
const NARROW: usize = 66;
const WIDE: usize = 80;

/// Longest joined line.
const MOST: usize = 4096;

/// Takes away what a program put in front of each line; whether there was any.
pub(super) fn bare(lines: &mut [Line]) -> bool {
    let is_patch = unpatch(lines);
    unnumber(lines) || is_patch
}

/// Takes away the marks of a patch that adds a text: each line has one. Lines of a drawing begin with `+-` too.
fn unpatch(lines: &mut [Line]) -> bool {
    const LEAST: usize = 3;
    let is_head = |text: &str| {
        ["+++ ", "--- ", "@@ ", "diff ", "index ", "new file"].iter().any(|it| text.starts_with(it))
    };
    let is_added = |line: &Line| !line.text.trim().is_empty() && !is_head(&line.text);
    let added = || lines.iter().filter(|line| is_added(line));
    let is_patch = added().all(|line| line.text.starts_with('+'))
        && added().nth(LEAST - 1).is_some()
        && !added().all(|line| line.text.starts_with("+-"));
    if is_patch {
        lines.iter_mut().filter(|line| is_added(line)).for_each(|line| cut_front(line, 1));
    }
    is_patch
}

/// Takes away the numbers of `grep -n`: `1016:02:00.1 Ethernet`, `1017-` for lines around a match; and of `cat -n`: blanks, a
/// number and a tab. Without this the numbers read as PCI domains.
fn unnumber(lines: &mut [Line]) -> bool {
    const LEAST: usize = 3;
    let mut last = 0;
    let mut numbered = 0;
    let mut is_small = false;
    for line in lines.iter().filter(|line| !line.text.trim().is_empty() && line.text != "--") {
        let Some((number, rest)) = number(&line.text).filter(|(number, _)| *number > last) else {
            return false;
        };
        // `01:00.0 ...` and domains of VMD (`10000:e1:00.0`) grow too.
        if is_place(rest) {
            return false;
        }
        is_small |= number < 0x1000;
        (last, numbered) = (number, numbered + 1);
    }
    if numbered < LEAST || !is_small {
        return false;
    }
    for line in lines {
        if let Some(length) = number(&line.text).map(|(_, rest)| line.text.len() - rest.len()) {
            cut_front(line, length);
        } else if line.text == "--" {
            line.text = Cow::Borrowed("");
        }
    }
    true
}

/// A line's number without leading zeros, and what stands behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    /// Columns of a number of `cat -n`, before its tab. Programs write blanks for the tab, and none at the end of a line.
    const COLUMNS: usize = 6;
    let start = text.trim_start_matches(' ');
    let length = start.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = start.split_at(length);
    let of_cat = || {
        let is_right = start.len() < text.len() && text.len() - rest.len() == COLUMNS;
        let behind = if rest.is_empty() { Some(rest) } else { rest.strip_prefix("  ") };
        behind.filter(|_| is_right && length > 0)
    };
    let rest = rest
        .strip_prefix('\t')
        .or_else(|| rest.strip_prefix([':', '-']).filter(|_| start.len() == text.len()))
        .or_else(of_cat)?;
    (length <= 8 && !digits.starts_with('0'))
        .then(|| digits.parse().ok().map(|number| (number, rest)))
        .flatten()
}

/// `00.0 ` of an address that a number was taken from.
fn is_place(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    matches!(bytes, [a, b, b'.', c, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() && c.is_ascii_digit())
}

fn cut_front(line: &mut Line, length: usize) {
    match &mut line.text {
        Cow::Borrowed(text) => *text = &text[length..],
        Cow::Owned(text) => _ = text.drain(..length),
    }
}

/// Whether a text declares format=flowed.
pub(super) fn is_flowed(text: &str) -> bool {
    text.lines().take(200).any(|line| line.contains("format=flowed"))
}

/// Joins the lines of format=flowed (RFC 3676): one that ends in a blank goes on in the next, and one that begins with a blank
/// has one more than it had.
pub(super) fn unflow(lines: &mut Vec<Line>, text: &str) {
    let is_declared = is_flowed(text);
    let breaks = |at: usize| Some(is_break(&lines.get(at)?.text, &lines.get(at + 1)?.text));
    let count = (0..lines.len()).filter(|at| breaks(*at) == Some(true)).take(2).count();
    if count == 0 || !is_declared && (count < 2 || lines.iter().any(|line| could_break(&line.text))) {
        return;
    }
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    let mut goes_on = false;
    for at in 0..lines.len() {
        let next = lines.get(at + 1).map(|next| is_break(&lines[at].text, &next.text));
        let line = &mut lines[at];
        match joined.last_mut().filter(|last| goes_on && last.text.len() < MOST) {
            Some(last) => {
                let text = last.text.to_mut();
                text.push_str(line.text.strip_prefix(' ').unwrap_or(&line.text));
            }
            None => joined.push(Line { number: line.number, text: std::mem::take(&mut line.text) }),
        }
        goes_on = next == Some(true);
    }
    *lines = joined;
}

/// Whether a line was broken here: it ends in a blank, and the next word would have been too wide for it. Rows and rules of
/// tables end in blanks of their own, also those of lsblk, which begin with a drive or a mark of its drawing.
fn is_break(line: &str, next: &str) -> bool {
    if line.trim().is_empty() || begins_own(next) {
        return false;
    }
    let first = next.split_whitespace().next().unwrap_or_default();
    let word = next.len() - next.trim_start().len() + first.len();
    let is_layer =
        ["|-", "`-", "\u{251c}", "\u{2514}", "\u{2502}"].iter().any(|mark| first.starts_with(mark));
    let is_drive = lsblk::is_drive(first) && next.trim() != first;
    // A branch of a drawing is not the rest of a line, unless that has nothing but the marks before it.
    let is_branch = ["+-", "\\-"].iter().any(|mark| next.trim_start_matches([' ', '|']).starts_with(mark))
        && !line.trim_matches([' ', '|']).is_empty();
    let is_row = first.starts_with("---") || first.starts_with("/dev/") || is_layer || is_drive || is_branch;
    line.ends_with(' ') && !is_row && line.len() >= NARROW / 2 && word > 0 && line.len() + word > NARROW
}

/// Whether a line is the rest of none: a function's first one, a line of its body, one of the kernel log, a prompt.
fn begins_own(line: &str) -> bool {
    /// Blanks behind which a mail breaks no line.
    const INDENTED: &str = "   ";
    let is_branch = ["|", "+-", "\\-"].iter().any(|mark| line.trim_start().starts_with(mark));
    line.starts_with('\t')
        || line.starts_with(INDENTED) && !is_branch
        || lspci::begins_line(line)
        || lspci::is_unread(line)
        || lspci::begins_register(line)
        || dmesg::is_stamped(line)
        || is_prompt(line)
}

/// Whether a line is wider than a mail's and has a blank where it would have been broken.
fn could_break(line: &str) -> bool {
    let start = line.len() - line.trim_start().len();
    line.len() > WIDE + 1
        && line.trim_end().as_bytes().get(start..WIDE).is_some_and(|narrow| narrow.contains(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(text: &str) -> Vec<(usize, String)> {
        let mut lines: Vec<Line> = text
            .lines()
            .enumerate()
            .map(|(at, line)| Line { number: at + 1, text: Cow::Borrowed(line) })
            .collect();
        bare(&mut lines);
        unflow(&mut lines, text);
        lines.into_iter().map(|line| (line.number, line.text.into_owned())).collect()
    }

    #[test]
    fn numbers_of_grep_are_no_domains() {
        let text = "1016:02:00.1 Ethernet controller: X\n1017-\tSubsystem: Y\n--\n1030:03:00.0 Z: A\n";
        let expected =
            [(1, "02:00.1 Ethernet controller: X"), (2, "\tSubsystem: Y"), (3, ""), (4, "03:00.0 Z: A")];
        assert_eq!(undone(text), expected.map(|(at, line)| (at, line.to_owned())));
        for kept in [
            "01:00.0 A: B\n02:00.0 A: B\n03:00.0 A: B\n",
            "10000:e1:00.0 A: B\n10001:e1:00.0 A: B\n10002:e1:00.0 A: B\n",
            "0001:01:00.0 A: B\n0002:01:00.0 A: B\n0003:01:00.0 A: B\n",
            "1:02:00.0 A: B\n1:03:00.0 A: B\n1:04:00.0 A: B\n",
        ] {
            let lines: Vec<String> = undone(kept).into_iter().map(|(_, line)| line).collect();
            assert_eq!(lines.join("\n") + "\n", kept);
        }
    }

    #[test]
    fn numbers_of_cat_and_marks_of_patches_go() {
        let plain = "-[0000:00]-+-00.0  A\n           +-01.0-[01]----00.0  B\n\n01:00.0 C: D\n\tLnkSta: Speed 8GT/s\n";
        let with = |front: fn(usize) -> String| {
            let lines = plain.lines().enumerate().map(|(at, line)| format!("{}{line}\n", front(at + 1)));
            undone(&lines.collect::<String>()).into_iter().map(|(_, line)| line + "\n").collect::<String>()
        };
        assert_eq!(with(|at| format!("{at:6}\t")), plain);
        assert_eq!(with(|at| format!("{at:6}  ")), plain, "a tab that became blanks");
        assert_eq!(with(|_| "+".to_owned()), plain);
        for kept in
            ["+-00.0  A\n+-01.0-[01]----00.0  B\n+-02.0  C\n", "+00:00.0 A: B\n00:01.0 A: B\n+00:02.0 A: B\n"]
        {
            let lines: Vec<String> = undone(kept).into_iter().map(|(_, line)| line).collect();
            assert_eq!(lines.join("\n") + "\n", kept);
        }
    }

    #[test]
    fn flowed_lines_are_joined_and_other_blanks_kept() {
        let first = "-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root ";
        let second = "            +-00.2  Advanced Micro Devices, Inc. [AMD] Starship/Matisse of ";
        let text = format!("{first}\nComplex\n{second}\nIOMMU\n");
        let joined = [(1, format!("{first}Complex")), (3, format!("{second}IOMMU"))];
        assert_eq!(undone(&text), joined);
        // A line that no mail program left alone: the blanks at the ends are the listing's own.
        let wide = format!("{text}{}\n", "word ".repeat(40));
        assert_eq!(undone(&wide).len(), 5);
        let declared = format!("Content-Type: text/plain; format=flowed\n{wide}");
        assert_eq!(undone(&declared).len(), 4);
    }
}

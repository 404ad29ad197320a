//! Machine and Why at the four sizes of their pictures: nothing is cut beside cells that are free.

use crate::screen::{after, shown};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (300, 100)];

const DEMOS: [&str; 3] = ["threadripper-before", "x570", "laptop"];

/// Keys and seconds: the machine at rest, in a test and after one, findings, and why at rest, in a test and after one.
const STATES: [(&str, u64); 8] =
    [("1", 0), ("1jjj", 0), ("4r1", 6), ("4r1", 14), ("2", 0), ("6", 0), ("4r6", 6), ("4r6", 14)];

/// Blanks that may stand between two columns: labels of facts are padded.
const GAP: usize = 4;

/// The place of a cell between the edges of its panel: first cell, end.
fn between(row: &[char], at: usize) -> (usize, usize) {
    let is_edge = |sign: &char| *sign == '│';
    let from = row[..at].iter().rposition(is_edge).map_or(0, |edge| edge + 1);
    let end = row[at..].iter().position(is_edge).map_or(row.len(), |edge| at + edge);
    (from, end)
}

/// Cells beside the one at `(x, y)` that are blank in all rows of its table, gaps between columns apart.
fn free(rows: &[Vec<char>], x: usize, y: usize) -> usize {
    let (from, end) = between(&rows[y], x);
    let part = |y: usize| -> Option<Vec<char>> {
        let row = rows.get(y)?;
        let part: Vec<char> = (from..end).map(|x| row.get(x).copied().unwrap_or(' ')).collect();
        let is_text = part.iter().any(|sign| *sign != ' ') && !part.iter().any(|sign| "─│┤".contains(*sign));
        is_text.then_some(part)
    };
    let above = (0..y).rev().map_while(part);
    let table: Vec<Vec<char>> = above.chain((y..).map_while(part)).collect();
    let is_blank: Vec<bool> = (0..end - from).map(|at| table.iter().all(|row| row[at] == ' ')).collect();
    let runs = is_blank.chunk_by(|one, next| one == next).filter(|run| run[0]);
    runs.map(|run| run.len().saturating_sub(GAP)).sum()
}

/// Rows that are cut although they have room, and titles that are cut.
fn cut(picture: &str) -> Vec<String> {
    let rows: Vec<Vec<char>> = picture.lines().map(|line| line.chars().collect()).collect();
    let mut cut = Vec::new();
    for (y, row) in rows.iter().enumerate() {
        let marks = row.iter().enumerate().filter(|(_, sign)| **sign == '…');
        for (x, _) in marks {
            let is_title = row.windows(3).any(|part| part == ['─'; 3]);
            if is_title || free(&rows, x, y) > 0 {
                cut.push(row.iter().collect());
            }
        }
    }
    cut
}

#[test]
fn nothing_is_cut_beside_free_cells_at_any_size() {
    let mut all = Vec::new();
    for demo in DEMOS {
        for size in SIZES {
            for (keys, seconds) in STATES {
                let picture = shown(&after(demo, size, keys, seconds));
                let cut =
                    cut(&picture).into_iter().map(|row| format!("{demo} {size:?} {keys} {seconds}: {row}"));
                all.extend(cut);
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn why_hides_no_row_beside_a_column_that_has_room() {
    for demo in DEMOS {
        let picture = shown(&after(demo, (120, 40), "4r6", 6));
        assert!(!picture.contains('↓'), "{demo}: {picture}");
    }
}

#[test]
fn why_at_rest_fills_the_rows_of_its_panel() {
    for demo in DEMOS {
        for (size, most) in [((120, 40), 3), ((200, 60), 4), ((300, 100), 8)] {
            let picture = shown(&after(demo, size, "6", 0));
            let inside: Vec<&str> =
                picture.lines().skip(3).take_while(|line| line.starts_with('│')).collect();
            let is_empty = |line: &&&str| line.chars().all(|sign| sign == ' ' || sign == '│');
            let empty = inside.iter().rev().take_while(is_empty).count();
            assert!(empty <= most, "{demo} {size:?}: {empty} empty rows\n{picture}");
        }
    }
}

#[test]
fn a_finding_of_the_last_test_is_whole_before_it_says_so() {
    for demo in DEMOS {
        let picture = shown(&after(demo, (120, 40), "4r2", 14));
        assert!(picture.contains("in last test") && !picture.contains('…'), "{demo}: {picture}");
    }
}

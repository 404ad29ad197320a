//! Tall and small terminals: no large blank area, no name cut beside free cells, pages that page, commands that can be copied.

use iodyno::{app::Message, runtime::headless::Headless};

use crate::screen::{open, press, shown};

fn at(demo: &str, size: (u16, u16), keys: &str) -> Headless {
    let mut headless = open(demo, size);
    press(&mut headless, keys);
    headless
}

#[test]
fn a_page_of_the_text_about_slots_has_none_of_the_lines_before() {
    let mut headless = at("threadripper-before", (80, 24), "8-");
    let text = |headless: &Headless| {
        let picture = shown(headless);
        let rows = picture.lines().skip_while(|line| !line.starts_with(" after "));
        rows.skip(1).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut seen = text(&headless);
    press(&mut headless, "<PageDown>");
    let next = text(&headless);
    assert!(next.iter().all(|line| !seen.contains(line)), "{seen:?} {next:?}");
    seen.extend(next);
    press(&mut headless, "<PageUp>");
    assert_eq!(text(&headless), seen[..2], "and back");
}

#[test]
fn a_title_of_a_finding_without_a_gain_reaches_the_edge() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let picture = shown(&at("laptop", size, "2"));
        let edge = if size.0 >= 100 { 4 } else { 1 };
        for line in picture.lines().skip(3).take(8).filter(|line| line.contains('…')) {
            let is_gain = line.trim_end_matches([' ', '│']).ends_with(|c: char| c != '…');
            let end = line.trim_end_matches([' ', '│']).chars().count();
            assert!(is_gain || end + edge >= usize::from(size.0), "{end} of {size:?}: {line}\n{picture}");
        }
    }
}

/// Lines of a command joined as a shell and udev do.
fn joined(lines: &[&str]) -> String {
    lines.join(" ").replace("\\ ", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_of_findings_and_rules_can_be_copied() {
    for size in [(60, 60), (80, 40), (120, 40)] {
        let picture = shown(&at("x570", size, "2"));
        let lines: Vec<&str> = picture.lines().map(|line| line.trim_matches(['│', ' '])).collect();
        let first = lines.iter().position(|line| line.starts_with("nvme format ")).expect("the command");
        let end = first + lines[first..].iter().position(|line| !line.ends_with('\\')).expect("an end");
        let command = joined(&lines[first..=end]);
        let formats = (0..4).map(|at| format!("nvme format --lbaf=1 /dev/nvme{at}n1"));
        assert_eq!(command, formats.collect::<Vec<_>>().join("; "), "{size:?}");
    }
    let mut headless = at("x570", (60, 20), "3l+a<Enter>E");
    for size in [(60, 40), (80, 24), (110, 40)] {
        headless.send(Message::Resize(size.0, size.1));
        let picture = shown(&headless);
        let lines: Vec<&str> = picture.lines().map(|line| line.trim_matches(['│', ' '])).collect();
        let first = lines.iter().position(|line| line.starts_with("ACTION=="));
        let first = first.unwrap_or_else(|| panic!("{size:?}: {picture}"));
        let end = first + lines[first..].iter().position(|line| !line.ends_with('\\')).expect("an end");
        let rule = joined(&lines[first..=end]);
        assert!(rule.ends_with('"') && rule.matches('"').count() % 2 == 0, "{size:?}: {rule}\n{picture}");
        assert!(rule.contains(", ATTR{queue/"), "{size:?}: {rule}");
    }
}

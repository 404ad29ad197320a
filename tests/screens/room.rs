//! Tall and small terminals: no large blank area, no name cut beside free cells, pages that page, commands that can be copied.

use iodyno::{app::Message, runtime::headless::Headless};

use crate::screen::{open, press, shown};

const SLOTS: &str = "8";
const WHY: &str = "6";

fn at(demo: &str, size: (u16, u16), keys: &str) -> Headless {
    let mut headless = open(demo, size);
    press(&mut headless, keys);
    headless
}

/// Rows of the largest blank block of `wide` columns.
fn blank_rows(picture: &str, wide: usize) -> usize {
    let rows: Vec<Vec<char>> = picture.lines().map(|line| line.chars().collect()).collect();
    let most = rows.iter().map(Vec::len).max().unwrap_or_default();
    let mut largest = 0;
    for x in (0..most.saturating_sub(wide)).step_by(4) {
        let is_blank =
            |row: &Vec<char>| row.get(x..x + wide).is_some_and(|part| part.iter().all(|c| *c == ' '));
        let run = rows.chunk_by(|one, next| is_blank(one) == is_blank(next));
        largest = run.filter(|run| is_blank(&run[0])).map(<[_]>::len).max().unwrap_or(0).max(largest);
    }
    largest
}

#[test]
fn tall_terminals_have_no_large_blank_area_at_rest() {
    for demo in ["threadripper-before", "x570", "laptop"] {
        for (size, most) in [((120, 40), 10), ((200, 60), 16), ((300, 100), 45)] {
            for keys in [SLOTS, WHY] {
                let picture = shown(&at(demo, size, keys));
                let wide = usize::from(size.0 / 2);
                let blank = blank_rows(&picture, wide);
                assert!(blank <= most, "{demo} {size:?} {keys}: {blank} blank rows\n{picture}");
            }
        }
    }
}

#[test]
fn findings_fill_a_wide_terminal() {
    for demo in ["threadripper-before", "x570", "laptop"] {
        let picture = shown(&at(demo, (300, 100), "2"));
        let blank = blank_rows(&picture, 150);
        assert!(blank <= 20, "{demo}: {blank} blank rows\n{picture}");
    }
}

#[test]
fn other_findings_stand_beside_the_selected_one_on_a_wide_terminal() {
    let picture = shown(&at("threadripper-before", (300, 100), "2jj"));
    let detail = picture.find("┌ ring-features").unwrap_or_else(|| panic!("{picture}"));
    // Columns are read one after the other.
    let place = |words: &str| {
        let lines = picture[detail..].lines().enumerate();
        let mut found =
            lines.filter_map(|(row, line)| Some((line[..line.find(words)?].chars().count(), row)));
        found.next().unwrap_or_else(|| panic!("{words}\n{picture}"))
    };
    let next = place("· 8 settings at default");
    assert_eq!(place("│ · io_uring features missing").1, next.1, "the next one first");
    assert!(next < place("▲ 8 drives share root complex"), "{picture}");
    assert!(place("▲ 8 drives share root complex") < place("Other I/O disturbs a test"), "{picture}");
    assert!(place("evidence  0 ").0 >= next.0, "settings have their values: {picture}");
    let narrow = shown(&at("threadripper-before", (200, 60), "2jj"));
    assert!(!narrow.contains("Other I/O disturbs a test"), "{narrow}");
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
fn names_of_slots_use_the_columns_that_their_row_has_free() {
    let picture = shown(&at("x570", (120, 40), SLOTS));
    assert!(picture.contains("AMD/ATI Radeon PRO W6600 "), "{picture}");
    for size in [(60, 20), (70, 24), (80, 24), (100, 30), (120, 40)] {
        let picture = shown(&at("x570", size, SLOTS));
        for line in picture.lines().filter(|line| line.contains('…') && line.contains("├ ")) {
            let after = line.split('…').nth(1).unwrap_or_default();
            assert!(!after.starts_with("   "), "{size:?} {line}\n{picture}");
        }
    }
}

#[test]
fn a_title_of_a_finding_without_a_gain_reaches_the_edge() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let picture = shown(&at("laptop", size, "2"));
        let edge = if size.0 >= 100 { 4 } else { 1 };
        // A title may keep its first clause alone.
        let is_cut = |line: &&str| line.replace(" …", "").contains('…');
        for line in picture.lines().skip(3).take(8).filter(is_cut) {
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
        assert!(
            rule.ends_with('"') && rule.matches('"').count().is_multiple_of(2),
            "{size:?}: {rule}\n{picture}"
        );
        assert!(rule.contains(", ATTR{queue/"), "{size:?}: {rule}");
    }
}

#[test]
fn a_find_works_on_findings_and_slots() {
    for (keys, word, row, matches) in [
        ("2", "lazy", "the IOMMU translates in lazy mode", "find lazy: 1 of 1"),
        ("8", "FIRECUDA", "nvme0n1", "find FIRECUDA: 1 of 4"),
    ] {
        let mut headless = at("x570", (120, 40), &format!("{keys}/{word}"));
        let picture = shown(&headless);
        assert!(picture.lines().last().is_some_and(|line| line.contains("Enter keep")), "{picture}");
        let selected = |picture: &str| picture.lines().find(|line| line.contains('›')).map(str::to_owned);
        assert!(selected(&picture).is_some_and(|line| line.contains(row)), "{picture}");
        press(&mut headless, "<Enter>");
        let picture = shown(&headless);
        assert!(picture.contains(matches) && picture.contains("Esc end find"), "{picture}");
        press(&mut headless, "/<Enter>");
        let next = shown(&headless);
        let is_only = matches.ends_with("of 1");
        assert_eq!(selected(&next) == selected(&picture), is_only, "{next}");
        press(&mut headless, "<Esc>");
        assert!(!shown(&headless).contains("  find "), "{}", shown(&headless));
    }
}

#[test]
fn names_and_sentences_are_whole_where_a_panel_beside_them_can_give_way() {
    let slots = |size| shown(&at("x570", size, SLOTS));
    for (size, name) in
        [((100, 30), "FireCuda 530 ZP1000GM30013 "), ((160, 50), "Gigabit Ethernet Controller ")]
    {
        let picture = slots(size);
        let rows: Vec<&str> =
            picture.lines().filter(|line| line.contains("├ 03.") || line.contains("└ 05.")).collect();
        assert!(rows.iter().any(|row| row.contains(name)), "{picture}");
    }
    assert!(!slots((100, 30)).lines().any(|line| line.contains("FireCuda") && line.contains('…')));
    let experiments = shown(&at("x570", (100, 30), "5"));
    assert!(experiments.contains("Which drives share a limit that the tree hides? "), "{experiments}");
    let cpus = shown(&at("x570", (160, 50), "1"));
    assert!(!cpus.contains("No counters until a test run │"), "{cpus}");
    // Help of a field that has a place elsewhere is not begun here.
    let form = shown(&at("threadripper-before", (72, 22), "4"));
    assert_eq!(form.matches("a file to read, several").count(), 1, "{form}");
}

#[test]
fn the_mark_of_a_link_stands_at_its_figure() {
    let picture = shown(&at("threadripper-before", (200, 60), SLOTS));
    assert!(picture.contains("3.94●"), "{picture}");
}

#[test]
fn tall_terminals_explain_settings_and_experiments_in_their_free_rows() {
    for demo in ["threadripper-before", "x570", "laptop"] {
        for (size, most) in [((200, 60), 12), ((300, 100), 30)] {
            for keys in ["3", "5"] {
                let picture = shown(&at(demo, size, keys));
                let blank = blank_rows(&picture, usize::from(size.0 / 4));
                assert!(blank <= most, "{demo} {size:?} {keys}: {blank} blank rows\n{picture}");
            }
        }
    }
}

/// Below a verdict stand every round and what the experiment compares.
#[test]
fn a_verdict_leaves_no_large_blank_area_on_tall_terminals() {
    for (size, most) in [((200, 60), 8), ((300, 100), 16)] {
        let mut headless = at("x570", size, "5<Enter>");
        headless.wait(std::time::Duration::from_secs(400));
        let picture = shown(&headless);
        assert!(picture.contains("┌ Verdict") && picture.contains("┌ Runs, the latest first"), "{picture}");
        let blank = blank_rows(&picture, usize::from(size.0 / 2));
        assert!(blank <= most, "{size:?}: {blank} blank rows\n{picture}");
    }
    // A lower terminal has the verdict alone.
    let mut headless = at("x570", (100, 30), "5<Enter>");
    headless.wait(std::time::Duration::from_secs(400));
    assert!(!shown(&headless).contains("Runs, the latest first"), "{}", shown(&headless));
}

#[test]
fn tune_shows_all_settings_on_tall_terminals_of_80_columns() {
    for demo in ["threadripper-before", "x570"] {
        let picture = shown(&at(demo, (80, 60), "3"));
        assert!(picture.contains("all settings") && picture.contains("latency_tolerance_us"), "{picture}");
        assert!(blank_rows(&picture, 40) <= 8, "{demo}: {picture}");
        assert!(!shown(&at(demo, (80, 24), "3")).contains("all settings"));
    }
}

#[test]
fn the_palette_pages() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut palette = at("laptop", size, ":");
        let first = shown(&palette);
        // The first one takes the cursor to the last row in sight.
        press(&mut palette, "<PageDown><PageDown>");
        let second = shown(&palette);
        let rows = |picture: &str| -> Vec<String> {
            picture.lines().filter(|line| line.contains('│')).map(str::to_owned).collect()
        };
        let (before, after) = (rows(&first), rows(&second));
        let kept = after.iter().skip(1).filter(|row| before.contains(row)).count();
        assert!(kept * 2 < after.len(), "{size:?}: {first}\n{second}");
        press(&mut palette, "<PageUp><PageUp>");
        assert_eq!(shown(&palette), first);
    }
}

//! What a new user needs to be told: where a list is sorted, which figure is of what, which key leads back.

use std::{collections::BTreeSet, time::Duration};

use crate::screen::{footer, open, press, shown};
use iodyno::{
    app::{Message, Mode},
    ui::{
        glyphs::GlyphSet,
        picture::text,
        theme::{Palette, Theme},
    },
};

#[test]
fn an_order_other_than_the_bus_is_one_list_over_all_root_complexes() {
    for (size, title) in
        [((80, 24), "Sorted by temp"), ((120, 40), "Drives and devices by temp, largest first")]
    {
        for keys in ["ct<Enter>", ":temperature<Enter>", ":temp<Enter>", ":hottest<Enter>"] {
            let mut headless = open("threadripper-before", size);
            press(&mut headless, keys);
            press(&mut headless, "g");
            let list = shown(&headless);
            assert!(list.contains(title), "{keys} {size:?}\n{list}");
            let at = |name: &str| list.find(name).unwrap_or(usize::MAX);
            // 49, 48, 46 and 43 degrees, under two root complexes.
            for (warmer, cooler) in [("nvme9n1", "nvme4n1"), ("nvme2n1", "nvme4n1"), ("nvme4n1", "nvme8n1")] {
                assert!(at(warmer) < at(cooler), "{warmer} {cooler} {size:?}\n{list}");
            }
            assert!(list.contains("0000:20:01.2 nvme9n1") && !list.contains("root complex, "), "{list}");
            let keys = footer(&headless);
            assert!(keys.contains("s tree") && !keys.contains("fold"), "{keys}");
            press(&mut headless, "s");
            assert!(shown(&headless).contains("0000:20 root complex, 2 drives"), "{}", shown(&headless));
        }
    }
}

#[test]
fn a_place_without_a_row_in_the_list_is_shown_in_the_tree() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "ct<Enter>2<Enter>");
    let tree = shown(&headless);
    assert!(tree.lines().any(|line| line.contains('›') && line.contains("0000:40 root complex")), "{tree}");
}

#[test]
fn the_footer_of_an_opened_text_names_the_way_back() {
    const LSPCI: &str = "3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 [1179:011a]\n\
                         00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\n";
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("laptop", size);
        let before = shown(&headless);
        assert!(!footer(&headless).contains("Ctrl-R"), "{}", footer(&headless));
        headless.send(Message::Paste(LSPCI.to_owned()));
        let notice = headless.app.notice.take().expect("a notice").text;
        assert!(notice.contains("Ctrl-R goes back"), "{notice}");
        assert!(footer(&headless).contains("Ctrl-R close"), "{}", shown(&headless));
        press(&mut headless, "<C-r>");
        assert_eq!(shown(&headless), before);
        headless.send(Message::Paste(LSPCI.to_owned()));
        press(&mut headless, ":live<Enter>");
        assert_eq!(shown(&headless), before, "the palette finds it by what users call it");
        assert!(matches!(headless.app.shared.mode, Mode::Demo(_)));
    }
}

#[test]
fn the_keys_of_a_finished_experiment_stand_in_the_footer_alone() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "5<Enter>");
        headless.wait(Duration::from_secs(5));
        let running = shown(&headless).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(running.contains("also after x"), "{}", shown(&headless));
        headless.wait(Duration::from_mins(15));
        let picture = shown(&headless);
        let keys = footer(&headless);
        for hint in ["m more rounds", "s drop from sheet", "d runs", "Esc back"] {
            assert!(keys.contains(hint), "{hint}: {keys}");
            assert_eq!(picture.matches(hint).count(), 1, "{hint}\n{picture}");
        }
        press(&mut headless, "d");
        assert!(footer(&headless).contains("d verdict"), "{}", footer(&headless));
    }
}

#[test]
fn boxes_of_the_sheet_are_whole_in_its_preview_and_in_a_hundred_columns() {
    for demo in ["threadripper-before", "x570", "laptop"] {
        for size in [(80, 24), (100, 35), (113, 35), (114, 35), (160, 50)] {
            let mut headless = open(demo, size);
            press(&mut headless, "7");
            let lines: Vec<String> = shown(&headless).lines().map(str::to_owned).collect();
            let text = headless.app.screens.sheet.text.clone();
            let inside: Vec<&str> = text.split("```").skip(1).step_by(2).flat_map(str::lines).collect();
            assert!(inside.iter().all(|line| line.chars().count() <= 78), "{text}");
            let first = inside.iter().find(|line| line.starts_with("board")).copied().unwrap_or_default();
            assert!(lines.iter().any(|line| line.contains(first)), "{demo} {size:?}\n{}", lines.join("\n"));
        }
    }
}

#[test]
fn a_card_stands_in_the_sheet_with_the_link_of_its_slot() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "7");
    let text = &headless.app.screens.sheet.text;
    let row = text.lines().find(|line| line.contains("Radeon")).unwrap_or_default();
    assert!(row.contains("Gen4 x4 ") && row.contains('▽') && !row.contains("x16"), "{row}");
    assert!(text.contains("io_uring features missing") && !text.contains("io\\_uring"), "{text}");
}

#[test]
fn every_mark_of_the_help_differs_in_ascii() {
    for screen in 1..=8 {
        let mut headless = open("threadripper-before", (120, 60));
        headless.app.shared.theme = Theme::new(Palette::Plain).with_glyphs(GlyphSet::Ascii);
        press(&mut headless, &format!("{screen}?"));
        let picture = text(&headless.picture(headless.app.shared.theme));
        // The marks stand between the purpose and the keys, each at the beginning of its line.
        let rows = picture.lines().filter_map(|line| line.split_once("| | ").map(|(_, rest)| rest));
        let marks: Vec<&str> = rows
            .skip_while(|row| !row.trim().starts_with('|'))
            .skip(1)
            .take_while(|row| !row.trim().starts_with('|'))
            .map(|row| row.get(..11).unwrap_or_default().trim())
            .filter(|mark| !mark.is_empty())
            .collect();
        let different: BTreeSet<&str> = marks.iter().copied().collect();
        assert_eq!(different.len(), marks.len(), "{screen}: {marks:?}\n{picture}");
    }
}

#[test]
fn a_wide_terminal_is_filled_for_a_small_machine() {
    for demo in ["laptop", "x570", "threadripper-before"] {
        for size in [(200, 60), (300, 100)] {
            let headless = open(demo, size);
            let picture = shown(&headless);
            let is_empty = |line: &&str| line.chars().all(|c| matches!(c, '│' | ' '));
            let empty = picture.lines().filter(is_empty).count();
            assert!(empty * 5 <= usize::from(size.1), "{demo} {size:?}: {empty} empty rows\n{picture}");
        }
    }
}

#[test]
fn the_form_says_that_its_values_are_of_the_next_test() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "4");
    assert!(shown(&headless).contains("┌ workload"), "{}", shown(&headless));
    press(&mut headless, "1r");
    headless.wait(Duration::from_secs(150));
    press(&mut headless, "4");
    let picture = shown(&headless);
    assert!(picture.contains("┌ next test  all 4 drives"), "{picture}");
    assert!(picture.contains("┌ Result  4k randread"), "{picture}");
    // Equal drives have one sentence.
    assert!(picture.contains("│ 4 drives read ") && !picture.contains("nvme0n1 reads"), "{picture}");
}

#[test]
fn settings_at_their_default_are_the_last_finding() {
    for demo in ["threadripper-before", "threadripper-after", "laptop", "x570", "x570-formatted"] {
        let headless = open(demo, (120, 40));
        let list = &headless.app.shared.findings.list;
        let at = list.iter().position(|finding| finding.title.contains("at default"));
        assert!(at.is_none_or(|at| at + 1 == list.len()), "{demo}");
    }
}

#[test]
fn figures_beside_findings_are_explained() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "2?");
        let mut help = String::new();
        for _ in 0..20 {
            help += &shown(&headless);
            press(&mut headless, "<PageDown>");
        }
        assert!(help.contains("gain of the remedy") && help.contains("no free slot"), "{help}");
    }
}

#[test]
fn authors_of_quoted_figures_are_in_the_glossary() {
    let terms = iodyno::app::glossary::TERMS;
    for (term, title) in
        [("Poder 2021", "Achieving 11M IOPS"), ("Regalis 2023", "X570"), ("posted MSI", "Linux")]
    {
        let found = terms.iter().find(|(known, _)| *known == term);
        assert!(found.is_some_and(|(_, text)| text.contains(title)), "{term}");
    }
}

#[test]
fn the_page_of_pulls_names_what_has_to_stop_first() {
    let mut headless = open("x570", (120, 40));
    press(&mut headless, "4r");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "p");
    let picture = shown(&headless);
    let words = picture.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("x stops the test or experiment in progress; then r starts the pull."),
        "{picture}"
    );
}

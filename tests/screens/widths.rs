//! Terminals of every width: a wider one shows no less, and what is out of sight is marked.

use std::{collections::BTreeSet, time::Duration};

use iodyno::{
    app::{Message, keymap},
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{glyphs::GlyphSet, theme::Theme},
};

fn open(demo: &str, size: (u16, u16), keys: &str) -> Headless {
    let mut headless = Headless::open(&Origin::Demo(demo.to_owned()), size).expect("demos open");
    headless.press(keymap::parse(keys).expect("keys are well written"));
    headless
}

fn shown(headless: &Headless) -> String {
    iodyno::ui::picture::text(&headless.picture(Theme::PLAIN))
}

/// The columns of the tree by its line of headings.
fn columns(picture: &str) -> BTreeSet<String> {
    const ALL: [&str; 18] = [
        "link",
        "read",
        "write",
        "limit",
        "rd",
        "wr",
        "potential",
        "r/s",
        "w/s",
        "r_await",
        "w_await",
        "aqu-sz",
        "rareq-sz",
        "wareq-sz",
        "temp",
        "AER",
        "slot",
        "minute",
    ];
    // In the title's rule, or below it in a box.
    let heading = picture.lines().skip(2).take(2).find(|line| line.contains(" link ")).unwrap_or_default();
    // The facts stand beside it.
    let words: BTreeSet<&str> = heading.split([' ', '─', '│']).collect();
    ALL.iter().filter(|name| words.contains(**name)).map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_wider_terminal_never_shows_fewer_columns() {
    no_column_is_lost(&[24, 40], 3);
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn a_wider_terminal_never_shows_fewer_columns_at_every_width() {
    no_column_is_lost(&[24, 30, 40], 1);
}

/// On terminals of these heights, as their width grows by `step`.
fn no_column_is_lost(heights: &[u16], step: usize) {
    for (demo, keys) in [("threadripper-before", "r"), ("laptop", "")] {
        let mut headless = open(demo, (120, 40), keys);
        if !keys.is_empty() {
            headless.wait(Duration::from_secs(5));
            headless.press(keymap::parse("1").expect("a key"));
        }
        for &height in heights {
            let mut before = BTreeSet::new();
            for width in (60..=300).step_by(step) {
                headless.send(Message::Resize(width, height));
                let now = columns(&shown(&headless));
                let lost: Vec<_> = before.difference(&now).collect();
                assert!(
                    lost.is_empty(),
                    "{demo} {keys} {width}x{height} lost {lost:?}: {}",
                    shown(&headless)
                );
                before = now;
            }
            // At rest no row fills the columns of counters.
            let least = if keys.is_empty() { 9 } else { 14 };
            assert!(before.len() >= least, "{demo} {keys} {height}: {before:?}");
        }
    }
}

#[test]
fn names_are_whole_where_cells_are_free() {
    for (demo, size, name) in [
        ("threadripper-before", (100, 30), "980 PRO 500GB"),
        ("threadripper-before", (110, 30), "980 PRO 500GB"),
        ("threadripper-before", (110, 30), "Aquantia Atlantic 10G"),
        ("laptop", (120, 40), "970 EVO Plus 1TB"),
        ("laptop", (120, 40), "GeForce RTX 3070 Mobile"),
        ("laptop", (80, 24), "980 PRO 1TB"),
    ] {
        let picture = shown(&open(demo, size, ""));
        assert!(picture.contains(name), "{name} at {size:?}: {picture}");
    }
    assert!(columns(&shown(&open("threadripper-before", (100, 30), ""))).contains("limit"));
}

#[test]
fn nothing_of_the_laptop_is_cut_beside_free_cells() {
    for (size, whole) in [
        (
            (80, 24),
            &["Chipset Switch Upstream Port Gen3 x4", "could be Gen4 x4", "512 B, the only format"][..],
        ),
        ((80, 24), &["RTX 3070 Mobile / Max-Q", "Gen1 x16, idle"]),
        ((100, 30), &["GeForce RTX 3070 Mobile / Max-Q"]),
        ((120, 40), &["Chipset Switch Upstream Port Gen3 x4"]),
    ] {
        let picture = shown(&open("laptop", size, ""));
        for text in whole {
            assert!(picture.contains(text), "{text} at {size:?}: {picture}");
        }
    }
    let picture = shown(&open("x570", (80, 24), ""));
    assert!(picture.contains("FireCuda 530 ZP1000GM30013  "), "{picture}");
    assert!(!picture.lines().any(|line| line.contains("model") && line.contains('…')), "{picture}");
}

const DEMOS: [&str; 5] = ["threadripper-before", "threadripper-after", "x570", "x570-formatted", "laptop"];

/// Machine while all drives are read.
fn under_load(demo: &str) -> Headless {
    let mut loaded = open(demo, (120, 40), "r");
    loaded.wait(Duration::from_secs(25));
    loaded.press(keymap::parse("1").expect("a key"));
    loaded
}

/// Machine at rest, and under load.
fn at_rest_and_under_load(demo: &str) -> Vec<Headless> {
    vec![open(demo, (120, 40), ""), under_load(demo)]
}

/// Names of drives that are cut in a tree whose rows have a bar or a column that needs room.
fn cut_beside_optional_columns(headless: &Headless) -> Vec<String> {
    const KEPT: [&str; 3] = ["link", "read", "write"];
    let picture = shown(headless);
    let optional = columns(&picture).into_iter().any(|name| !KEPT.contains(&&*name));
    let cut = |line: &&str| {
        let row = line.split(" Gen").next().unwrap_or_default();
        let is_drive = [" nvme", " more "].iter().any(|word| row.contains(word));
        is_drive && (row.contains("├ ") || row.contains("└ ")) && row.contains('…')
    };
    picture.lines().filter(cut).filter(|_| optional).map(str::to_owned).collect()
}

#[test]
fn a_drives_name_is_whole_before_bars_and_optional_columns() {
    for demo in DEMOS {
        for mut headless in at_rest_and_under_load(demo) {
            for size in [(70, 24), (80, 24), (100, 24), (100, 30), (120, 40)] {
                headless.send(Message::Resize(size.0, size.1));
                let cut = cut_beside_optional_columns(&headless);
                assert!(cut.is_empty(), "{demo} {size:?}: {cut:?}\n{}", shown(&headless));
            }
        }
    }
}

#[test]
#[ignore = "a sweep, run by .ci/long in the release build"]
fn a_drives_name_is_whole_before_bars_at_every_size() {
    for demo in DEMOS {
        for mut headless in at_rest_and_under_load(demo) {
            for (width, height) in
                (60..=200).step_by(10).flat_map(|width| [24, 40, 60].map(|rows| (width, rows)))
            {
                headless.send(Message::Resize(width, height));
                let cut = cut_beside_optional_columns(&headless);
                assert!(cut.is_empty(), "{demo} {width}x{height}: {cut:?}\n{}", shown(&headless));
            }
        }
    }
}

#[test]
fn a_row_that_is_whole_at_80_columns_is_whole_on_wider_terminals() {
    for (demo, model) in [("x570", "FireCuda 530 ZP1000GM30013"), ("laptop", "970 EVO Plus 1TB")] {
        let mut headless = under_load(demo);
        for size in [(80, 24), (100, 30), (120, 40)] {
            // Beside facts, which have the whole name, the number of the model gives its cells to the limit.
            let model = if (demo, size.0) == ("x570", 100) { "FireCuda 530" } else { model };
            headless.send(Message::Resize(size.0, size.1));
            let picture = shown(&headless);
            let is_whole = |line: &str| line.contains("nvme1n1") && line.contains(&format!("{model} "));
            assert!(picture.lines().any(is_whole), "{demo} {size:?}: {picture}");
        }
    }
}

#[test]
fn a_rate_has_its_limit_beside_it_at_every_width() {
    for demo in ["x570", "laptop", "threadripper-before"] {
        let mut headless = under_load(demo);
        for width in (60..=120).step_by(5) {
            headless.send(Message::Resize(width, if width < 80 { 20 } else { 30 }));
            let picture = shown(&headless);
            assert!(columns(&picture).contains("limit"), "{demo} {width}: {picture}");
            let is_cut = |line: &str| line.contains(" nvme") && line.contains("… Gen");
            assert!(!picture.lines().any(is_cut), "{demo} {width}: {picture}");
        }
    }
}

#[test]
fn a_link_and_a_name_are_whole_where_their_row_has_room() {
    // The bars leave first, then what a link could be, then words of the name.
    for (demo, width, row) in [
        ("laptop", 80, "nvme0n1  980 PRO 1TB   ▼ Gen3 x4 < Gen4 x4 3.51"),
        ("laptop", 100, "nvme0n1  980 PRO 1TB       ▼ Gen3 x4  3.51"),
        ("laptop", 100, "nvme1n1  970 EVO Plus 1TB Gen3 x4 3.52"),
        ("x570", 60, "nvme0n1  FireCuda 530 "),
        ("x570", 110, "nvme0n1  FireCuda 530 ZP1000GM30013 Gen4 x4"),
    ] {
        let mut headless = under_load(demo);
        headless.send(Message::Resize(width, if width < 80 { 20 } else { 30 }));
        assert!(shown(&headless).contains(row), "{demo} {width}, {row}: {}", shown(&headless));
    }
}

#[test]
fn a_slot_is_compared_with_its_device_at_rest_and_under_load() {
    for mut headless in at_rest_and_under_load("x570") {
        for size in [(80, 24), (100, 30), (120, 40), (200, 60)] {
            headless.send(Message::Resize(size.0, size.1));
            let picture = shown(&headless);
            let is_compared =
                |line: &str| line.contains("Radeon PRO W6600 ") && line.contains("▽ Gen4 x4 < Gen4 x8");
            assert!(picture.lines().any(is_compared), "{size:?}: {picture}");
        }
    }
}

#[test]
fn facts_go_on_in_free_rows_before_they_are_cut() {
    // Folded, the chipset leaves rows to the facts; under load there are three.
    let picture = shown(&open("laptop", (80, 24), "jhk"));
    assert!(picture.contains("(8 GT/s), could be Gen4 x4 "), "{picture}");
    let mut headless = under_load("laptop");
    headless.send(Message::Resize(80, 24));
    let picture = shown(&headless);
    assert!(picture.contains("could be\n") && picture.contains("latency"), "{picture}");
    // Facts that have room stand in two columns, none of them cut or broken between the two.
    let picture = shown(&open("laptop", (80, 24), "gh"));
    let facts: Vec<&str> =
        picture.lines().skip_while(|line| !line.starts_with(" root complex 0000:00")).collect();
    assert!(facts[1].starts_with(" name      Advanced Micro Devices, Inc. [AMD]"), "{picture}");
    assert!(facts[..4].iter().all(|line| !line.contains('…')), "{picture}");
    // A row without named facts has its sentences.
    assert!(shown(&open("laptop", (80, 24), "G")).contains("Devices that hold no drives"));
}

#[test]
fn keys_scroll_the_text_of_the_bottleneck() {
    let mut headless = under_load("laptop");
    headless.send(Message::Resize(80, 24));
    let title = |headless: &Headless| {
        let picture = shown(headless);
        picture.lines().find(|line| line.contains("Bottleneck")).unwrap_or_default().to_owned()
    };
    assert!(title(&headless).contains(" J ↓ 1 more "), "{}", title(&headless));
    for (keys, mark) in
        [("J", " K ↑ 1 more "), ("J", " K ↑ 1 more "), ("K", " J ↓ 1 more "), ("K", " J ↓ 1 more ")]
    {
        headless.press(keymap::parse(keys).expect("a key"));
        assert!(title(&headless).contains(mark), "{keys}: {}", shown(&headless));
    }
    headless.send(Message::Resize(200, 60));
    headless.press(keymap::parse("J").expect("a key"));
    assert!(shown(&headless).contains("Bottleneck has no lines out of sight"), "{}", shown(&headless));
}

#[test]
fn the_title_of_a_list_names_the_keys_that_lead_back_to_the_tree() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        for (keys, back) in [("s", "s twice: tree"), ("ss", "s: tree"), (">", "s: tree"), (">R", "s: tree")] {
            let mut headless = open("laptop", size, keys);
            let title = shown(&headless).lines().nth(2).unwrap_or_default().to_owned();
            assert!(title.contains(&format!("  {back}  ")), "{size:?} {keys}: {title}");
            headless.press(keymap::parse(if keys == "s" { "ss" } else { "s" }).expect("keys"));
            let title = shown(&headless).lines().nth(2).unwrap_or_default().to_owned();
            assert!(title.contains("PCIe tree  GB/s"), "{size:?} {keys}: {title}");
        }
    }
}

#[test]
fn the_tab_of_findings_has_its_count_where_names_leave_room() {
    let mut headless = under_load("laptop");
    for width in [75, 79, 80, 120] {
        headless.send(Message::Resize(width, 24));
        let picture = shown(&headless);
        let tabs = picture.lines().nth(1).unwrap_or_default();
        assert!(tabs.contains("2 Findings(1) ") && tabs.contains('●'), "{width}: {tabs}");
    }
}

#[test]
fn a_tab_s_digit_stands_apart_from_its_name() {
    for width in [60, 67, 68, 70, 71, 79] {
        let mut headless = under_load("laptop");
        headless.send(Message::Resize(width, 20));
        let picture = shown(&headless);
        let tabs = picture.lines().nth(1).unwrap_or_default();
        let glued = |pair: (char, char)| pair.0.is_ascii_digit() && pair.1.is_alphabetic();
        assert!(!tabs.chars().zip(tabs.chars().skip(1)).any(glued), "{width}: {tabs}");
        assert!(tabs.contains(" Findings") && tabs.contains('●'), "{width}: {tabs}");
    }
}

#[test]
fn help_and_palette_are_named_on_every_screen_of_80_columns() {
    let states = ["1", "2", "3", "4", "5", "6", "7", "8", "r", "3l+", "3l+a<Enter>", "4r", "5<Enter>"];
    for keys in states {
        let mut headless = open("threadripper-before", (80, 24), keys);
        // What was applied is said over the hints.
        headless.wait(Duration::from_secs(8));
        let picture = shown(&headless);
        let (first, last) =
            (picture.lines().next().unwrap_or_default(), picture.lines().last().unwrap_or_default());
        assert!(first.contains("? help"), "{keys}: {picture}");
        assert!(last.contains(": palette") && last.contains("q quit"), "{keys}: {picture}");
    }
    let machine = shown(&open("threadripper-before", (80, 24), ""));
    for hint in ["s sort", "Enter details", "Space mark"] {
        assert!(machine.contains(hint), "{hint}: {machine}");
    }
}

#[test]
fn parts_of_the_title_are_whole_or_not_there() {
    for (demo, size, line) in [
        ("laptop", (80, 24), "laptop · Ryzen 9 5900X · 24 CPUs · 2 drives  "),
        ("threadripper-before", (80, 24), "linux02 · Ryzen Threadripper PRO 3955WX  "),
        ("threadripper-before", (120, 40), "32 CPUs · Linux 5.8.0 · 10 drives"),
    ] {
        let picture = shown(&open(demo, size, ""));
        let title = picture.lines().next().unwrap_or_default();
        assert!(title.contains(line), "{title}");
    }
}

#[test]
fn nothing_of_the_screen_shows_beside_or_below_a_dialog_of_80_columns() {
    for keys in ["?", ":", "?<C-g>"] {
        let picture = shown(&open("laptop", (80, 24), keys));
        let lines: Vec<&str> = picture.lines().collect();
        let inside = &lines[3..lines.len() - 2];
        assert!(lines[2].starts_with('┌') && lines[lines.len() - 2].starts_with('└'), "{picture}");
        assert!(inside.iter().all(|line| line.starts_with('│') && line.ends_with('│')), "{picture}");
    }
}

#[test]
fn headings_and_facts_of_small_terminals_stand_apart() {
    for size in [(60, 20), (80, 24), (99, 30)] {
        for demo in ["laptop", "threadripper-before"] {
            let picture = shown(&open(demo, size, "G"));
            let is_heading =
                |line: &&str| line.contains("link") && line.contains("limit") && line.contains("PCIe tree");
            let heading = picture.lines().find(is_heading).unwrap_or_else(|| panic!("{picture}"));
            for glued in ["─link", "─read", "write─", "limit─", "wr─", "─limit"] {
                assert!(!heading.contains(glued), "{glued}: {heading}");
            }
        }
    }
    let facts = shown(&open("laptop", (80, 24), ""));
    assert!(facts.contains("published   ") && !facts.contains("published limit"), "{facts}");
}

#[test]
fn rows_of_the_settings_out_of_sight_are_counted() {
    for (size, hidden) in [((80, 24), 4), ((60, 20), 6)] {
        let picture = shown(&open("threadripper-before", size, "3"));
        assert!(picture.contains(&format!("↓ {hidden}")), "{size:?}: {picture}");
    }
    assert!(shown(&open("threadripper-before", (80, 24), "3")).contains("columns 1-"));
    let picture = shown(&open("threadripper-before", (200, 60), "3"));
    for name in ["nomerges", "affinity", "wbt_lat_", "random"] {
        assert!(picture.contains(name), "{name}: {picture}");
    }
}

#[test]
fn ascii_names_arrow_keys() {
    let mut headless = open("laptop", (120, 40), "");
    let theme = Theme::PLAIN.with_glyphs(GlyphSet::Ascii);
    headless.app.shared.theme = theme;
    let picture = iodyno::ui::picture::text(&headless.picture(theme));
    assert!(picture.contains("Up Dn move") && picture.contains("Lt Rt fold"), "{picture}");
}

#[test]
fn the_palette_shows_whole_descriptions_where_there_is_room() {
    let picture = shown(&open("laptop", (200, 60), ":machine"));
    assert!(picture.contains("Show the machine: the PCIe tree, links, limits and load"), "{picture}");
}

#[test]
fn the_palette_cuts_no_description_where_the_terminal_is_wide() {
    for (width, height) in [(100, 30), (120, 40), (140, 40), (150, 40), (200, 60)] {
        for screen in 1..=8 {
            let mut palette = open("threadripper-before", (width, height), &format!("{screen}:"));
            let mut last = String::new();
            for page in 0.. {
                let picture = shown(&palette);
                if picture == last {
                    break;
                }
                let inside = picture.lines().filter_map(|line| line.split('│').nth(1));
                let cut: Vec<&str> = inside.filter(|line| line.trim_end().ends_with('…')).collect();
                assert!(cut.is_empty(), "{width}x{height}, {screen}, page {page}: {cut:?}");
                last = picture;
                palette.press(keymap::parse("<PageDown>").expect("a key"));
            }
        }
    }
}

/// Everything between the edges of the box over the screen, its breaks as blanks.
fn words_of(picture: &str) -> String {
    let inside = picture.lines().filter_map(|line| line.strip_prefix('│')?.strip_suffix('│'));
    inside.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_selected_entry_of_a_list_shows_all_its_words() {
    for size in [(60, 20), (80, 24)] {
        let mut palette = open("x570", size, ":mark");
        let mut columns = open("x570", size, "c");
        for words in [
            "Mark the drive for the test, or every drive below this row",
            "Mark every drive, or unmark all",
            "Tune: Mark the drive: a change applies to all marked drives",
        ] {
            let picture = shown(&palette);
            assert!(words_of(&picture).contains(words), "{words} at {size:?}: {picture}");
            palette.press(keymap::parse("<Down>").expect("a key"));
        }
        for words in
            ["link now, and its maximum if that is more", "small rates with M for MB/s or k for kB/s"]
        {
            let picture = shown(&columns);
            assert!(words_of(&picture).contains(words), "{words} at {size:?}: {picture}");
            columns.press(keymap::parse("<Down>").expect("a key"));
        }
        let last = shown(&open("x570", size, "cGkk"));
        let words = "correctable PCI Express errors since boot at both ends of the link";
        assert!(words_of(&last).contains(words), "the last row is in sight at {size:?}: {last}");
    }
}

#[test]
fn a_notice_leaves_the_keys_and_the_screen_where_they_are() {
    for size in [(60, 20), (80, 24), (100, 30), (120, 40)] {
        let mut headless = open("x570", size, "3");
        let before = shown(&headless);
        headless.press(keymap::parse("x").expect("a key"));
        let after = shown(&headless);
        let rows = |picture: &str| picture.lines().map(str::to_owned).collect::<Vec<_>>();
        let (before, noted) = (rows(&before), rows(&after));
        assert_eq!(before.last(), noted.last(), "{size:?}: {after}");
        assert!(noted[noted.len() - 2].contains("No test is running: r starts one"), "{size:?}: {after}");
        let bar = before.iter().position(|line| line.contains(" dstat ")).expect("the stats bar");
        assert_eq!(before[..=bar], noted[..=bar], "{size:?}: {after}");
    }
    // Over a box that takes all rows.
    let picture = shown(&open("x570", (80, 24), "3l+a<Enter>Ey"));
    let mut end = picture.lines().rev();
    assert!(end.next().is_some_and(|line| line.contains("q quit") || line.contains("w save")), "{picture}");
    assert!(end.next().is_some_and(|line| line.contains("udev rules sent to")), "{picture}");
}

#[test]
fn no_line_is_hidden_beside_a_blank_row() {
    let mut headless = open("laptop", (100, 30), "4r");
    headless.wait(Duration::from_secs(3));
    let picture = shown(&headless);
    assert!(!picture.contains("more ┘") && !picture.contains(" more ─"), "{picture}");
    let last = picture.lines().rev().nth(1).unwrap_or_default();
    assert!(last.starts_with('└'), "{picture}");
    assert!(picture.lines().all(|line| !line.is_empty() && !line.starts_with("  ")), "{picture}");
    // Before the first test the targets' place explains the field under the cursor of a low form.
    for (size, keys, words) in [
        ((60, 20), "4", "filename  a file to read,"),
        ((80, 24), "4jjjj", "numjobs  threads per drive"),
        ((120, 40), "4", "Rate, IOPS and latency of each target, once a test runs."),
    ] {
        let picture = shown(&open("x570", size, keys));
        assert!(picture.contains(words) && !picture.contains("PgDn"), "{size:?}: {picture}");
    }
    // Higher terminals have a row between boxes and keys.
    let high = shown(&open("laptop", (120, 40), "4"));
    assert_eq!(high.lines().rev().nth(1), Some(""), "{high}");
}

#[test]
fn figures_far_from_their_names_have_a_leader() {
    for (size, keys, row, figure) in [
        ((300, 100), "8", "01.1 nvme0n1", "Gen4 x4"),
        ((300, 100), "8", "0000:40 root complex, 8 drives", "39.4 of"),
        ((300, 100), "8", "0000:60 root complex, no drives", "of 39.4"),
        ((200, 60), "8", "03.1 NVIDIA Quadro P620", "Gen3 x16"),
        ((200, 60), "2", "8 drives share root complex", "+17.7 GB/s"),
    ] {
        let picture = shown(&open("threadripper-before", size, keys));
        let line = picture.lines().find(|line| line.contains(row)).unwrap_or_default();
        let between = line.split(row).nth(1).and_then(|rest| rest.split(figure).next()).unwrap_or_default();
        let gap = between.split(|sign| sign != ' ').map(str::len).max();
        assert!(between.contains(" . . . ") && gap < Some(24), "{row}: {line}");
    }
}

#[test]
fn the_list_of_columns_says_why_one_has_no_value_at_every_width() {
    for size in [(80, 24), (120, 40)] {
        let picture = shown(&open("x570", size, "c<End>"));
        let inside = picture.lines().map(|line| line.trim_matches(['│', ' ']));
        let text: Vec<&str> = inside.flat_map(str::split_whitespace).collect();
        let text = text.join(" ");
        assert!(text.contains("(SMBIOS); not available here: not in this capture"), "{picture}");
    }
}

//! Pictures of the screens, kept under `snapshots/`: each at three sizes in one demo, others where they differ in kind.
//!
//! A picture is the text of the screen, then the runs of styles in every row: column, length, style. What the terminal's
//! own `Display` leaves out, colours and weights, is so part of what is compared.

use std::{fmt::Write as _, time::Duration};

use iodyno::{
    app::{ScreenId, keymap, tabs},
    runtime::headless::Headless,
    screens::dyno::form::FIELDS,
    source::origin::Origin,
    ui::{picture::text, theme::Theme},
};
use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn driven(demo: &str, screen: ScreenId, size: (u16, u16), keys: &str, seconds: u64) -> Headless {
    let mut headless = Headless::open(&Origin::Demo(demo.to_owned()), size).expect("demos open");
    headless.press([keymap::Key::Char(tabs::about(screen).digit)]);
    headless.press(keymap::parse(keys).expect("keys are well written"));
    headless.wait(Duration::from_secs(seconds));
    headless
}

fn picture(demo: &str, screen: ScreenId, size: (u16, u16), keys: &str, seconds: u64) -> Buffer {
    driven(demo, screen, size, keys, seconds).picture(Theme::COLOUR)
}

/// `3+12 bold cyan` for every run of cells that are not plain.
fn styles(picture: &Buffer) -> String {
    let mut out = String::new();
    for (y, row) in picture.content().chunks(usize::from(picture.area.width)).enumerate() {
        let mut runs: Vec<String> = Vec::new();
        let mut start = 0;
        while start < row.len() {
            let style = style(&row[start]);
            let length = row[start..].iter().take_while(|cell| self::style(cell) == style).count();
            if !style.is_empty() {
                runs.push(format!("{start}+{length} {style}"));
            }
            start += length;
        }
        if !runs.is_empty() {
            let _ = writeln!(out, "{y:>2}: {}", runs.join(" | "));
        }
    }
    out
}

fn style(cell: &Cell) -> String {
    // A blank's colour is not seen.
    let blank = cell.symbol() == " " && !cell.modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED);
    if blank {
        return String::new();
    }
    let mut words: Vec<String> = Vec::new();
    for (name, _) in cell.modifier.iter_names() {
        words.push(name.to_lowercase());
    }
    for colour in [cell.fg, cell.bg].into_iter().filter(|colour| *colour != Color::Reset) {
        words.push(colour.to_string().to_lowercase());
    }
    words.join(" ")
}

fn check(name: &str, picture: &Buffer) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, format!("{}\n{}", text(picture), styles(picture))));
}

/// The demo whose screens are kept at every size; others are kept where they differ in kind.
const FIRST: &str = "threadripper-before";
const MIDDLE: (u16, u16) = SIZES[1];

fn kept(name: &str, demo: &str, screen: &'static str, size: (u16, u16), keys: &str, seconds: u64) {
    let headless = driven(demo, ScreenId(screen), size, keys, seconds);
    // A picture that is named after a screen shows that screen, whatever the keys open.
    let named = name.replace('_', "-");
    if tabs::tabs().any(|about| about.id.0 == named) {
        assert_eq!(headless.app.screen.0, named);
    }
    let name = format!("{name}__{}__{}x{}", demo.replace('-', "_"), size.0, size.1);
    check(&name, &headless.picture(Theme::COLOUR));
}

#[test]
fn every_screen_at_three_sizes() {
    for size in SIZES {
        kept("machine", FIRST, "machine", size, "", 0);
        kept("findings", FIRST, "findings", size, "", 0);
        kept("tune", FIRST, "tune", size, "", 0);
        kept("dyno", FIRST, "dyno", size, "jj<Enter><C-u>512k<Enter>r", 12);
        kept("what_if", FIRST, "what-if", size, "", 0);
        kept("why", FIRST, "dyno", size, "jj<Enter><C-u>64k<Enter>r6", 8);
        kept("sheet", FIRST, "sheet", size, "", 0);
        kept("slots_slower", FIRST, "machine", size, "w-", 0);
    }
}

#[test]
fn machines_of_other_kinds() {
    for demo in ["laptop", "threadripper-after", "x570"] {
        kept("machine", demo, "machine", MIDDLE, "", 0);
        kept("findings", demo, "findings", MIDDLE, "", 0);
    }
    kept("findings", "laptop", "findings", SIZES[0], "", 0);
    kept("dyno", "laptop", "dyno", MIDDLE, "jj<Enter><C-u>512k<Enter>r", 12);
    kept("dyno", "x570-formatted", "dyno", MIDDLE, "jj<Enter><C-u>512k<Enter>r", 12);
    kept("sheet", "x570", "sheet", MIDDLE, "", 0);
    kept("slots_slower", "laptop", "machine", MIDDLE, "w-", 0);
}

#[test]
fn a_sheet_with_runs_in_every_format() {
    for (name, keys) in [("markdown", ""), ("bbcode", "f"), ("text", "ff"), ("json", "fff")] {
        let mut headless = Headless::open(&Origin::Demo(FIRST.to_owned()), MIDDLE).expect("demos open");
        headless.press(keymap::parse("4r").expect("keys"));
        headless.wait(Duration::from_secs(12));
        headless.press(keymap::parse(&format!("7jjj<Space>{keys}<PageDown>")).expect("keys"));
        check(&format!("sheet_{name}__{}x{}", MIDDLE.0, MIDDLE.1), &headless.picture(Theme::COLOUR));
    }
}

#[test]
fn settings_staged_reviewed_and_changed() {
    let staged = "jj<Space><Space>k+l<Enter><C-u>4099<Enter>";
    for (name, keys) in [
        ("tune_staged", ""),
        ("tune_review", "a"),
        ("tune_changed", "a<Enter>"),
        ("tune_tested", "a<Enter>4r"),
        ("tune_leaving", "a<Enter>q"),
        ("tune_undone", "a<Enter>U"),
    ] {
        let seconds = if name == "tune_tested" { 12 } else { 0 };
        kept(name, FIRST, "tune", MIDDLE, &format!("{staged}{keys}"), seconds);
    }
    kept("tune_review", FIRST, "tune", SIZES[0], &format!("{staged}a"), 0);
    kept("tune_leaving", FIRST, "tune", SIZES[0], &format!("{staged}a<Enter>q"), 0);
}

#[test]
fn an_experiment_in_progress_and_its_verdict() {
    kept("what_if_under_way", FIRST, "what-if", MIDDLE, "<Enter>", 24);
    for size in SIZES {
        kept("what_if_verdict", FIRST, "what-if", size, "<Enter>", 60);
    }
    kept("what_if_ladder", FIRST, "what-if", MIDDLE, "jjjjjj<Enter>", 260);
    for size in [SIZES[0], MIDDLE] {
        kept("what_if_runs", FIRST, "what-if", size, "<Enter>d", 60);
    }
    kept("what_if_drives", FIRST, "what-if", MIDDLE, "jjjjjjjj<Enter>", 80);
    kept("what_if_own", FIRST, "what-if", MIDDLE, "Gejj", 0);
}

#[test]
fn the_full_root_complex_under_load() {
    for size in &SIZES[..2] {
        kept("machine_under_load", FIRST, "machine", *size, "4jj<Enter><C-u>512k<Enter>r1", 8);
    }
}

#[test]
fn a_pull_in_progress_and_its_headline() {
    kept("pull_running", FIRST, "machine", MIDDLE, "r", 18);
    for size in SIZES {
        kept("pull", FIRST, "machine", size, "r", 60);
    }
    kept("pull", "laptop", "machine", MIDDLE, "r", 60);
    kept("pull", "x570", "machine", SIZES[0], "r", 60);
}

#[test]
fn what_lies_over_a_screen() {
    for (name, keys) in
        [("help", "?"), ("palette", ":mark"), ("details", "<Enter>"), ("paths", "p"), ("find", "/quadro")]
    {
        kept(name, FIRST, "machine", MIDDLE, keys, 0);
    }
}

#[test]
fn a_terminal_that_is_too_small_is_told_so() {
    check("too_small__59x20", &picture("laptop", ScreenId("machine"), (59, 20), "", 0));
    for screen in tabs::tabs() {
        kept(&screen.id.0.replace('-', "_"), FIRST, screen.id.0, (60, 20), "", 0);
    }
}

#[test]
fn no_colour_leaves_no_colour_anywhere() {
    let mut headless =
        Headless::open(&Origin::Demo("threadripper-before".to_owned()), (120, 40)).expect("demos open");
    headless.press(keymap::parse("r").expect("a key"));
    headless.wait(Duration::from_secs(3));
    let picture = headless.picture(Theme::PLAIN);
    assert!(picture.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
}

#[test]
fn only_the_winner_of_an_experiment_is_green() {
    let mut headless =
        Headless::open(&Origin::Demo("threadripper-before".to_owned()), (200, 60)).expect("demos open");
    headless.press(keymap::parse("5<Enter>").expect("keys are well written"));
    headless.wait(Duration::from_mins(5));
    let picture = headless.picture(Theme::COLOUR);
    let rows = picture.content().chunks(usize::from(picture.area.width));
    let mut slower = 0;
    for row in rows {
        let text: String = row.iter().map(Cell::symbol).collect();
        let has = |word: &str| text.contains(word);
        slower += usize::from(has("] worse"));
        let is_green = row.iter().any(|cell| matches!(cell.fg, Color::Green | Color::LightGreen));
        assert!(!is_green || !has("worse"), "{text}");
        // The baseline, to which the other arm lost.
        assert!(is_green || !has("   none ") || !has("baseline"), "{text}");
    }
    assert!(slower > 0, "an arm is slower\n{}", text(&picture));
}

#[test]
fn every_size_draws_without_leaving_the_buffer() {
    for (columns, rows) in [
        (1, 1),
        (60, 20),
        (61, 23),
        (79, 24),
        (80, 23),
        (81, 25),
        (99, 29),
        (100, 30),
        (131, 33),
        (160, 50),
        (300, 90),
    ] {
        for screen in tabs::tabs() {
            picture("threadripper-before", screen.id, (columns, rows), "r?", 1);
        }
    }
}

#[test]
fn cards_in_other_slots() {
    for (name, keys) in
        [("slots_best", "wb"), ("slots_carrying", "nnw<Down><Down><Down>"), ("slots_refused", "nnwgjj")]
    {
        kept(name, FIRST, "machine", MIDDLE, keys, 0);
    }
}

#[test]
fn every_field_of_the_form_says_all_that_it_takes_where_there_is_room() {
    for (size, form) in [((100, 30), 35), ((120, 40), 35), ((200, 60), 44)] {
        for (down, field) in FIELDS.iter().enumerate() {
            let picture = picture("threadripper-before", ScreenId("dyno"), size, &"j".repeat(down), 0);
            let rows = text(&picture);
            let column: Vec<String> = rows
                .lines()
                .map(|row| {
                    row.chars().take(form).filter(|sign| *sign != '│').collect::<String>().trim().to_owned()
                })
                .collect();
            assert!(column.join(" ").contains(field.help), "{size:?} {}: {column:#?}", field.name);
        }
    }
}

//! The mouse of a real terminal: SGR sequences through a pty, and what the screen shows after them.

#[path = "common/terminal.rs"]
mod terminal;
#[path = "common/wheel.rs"]
mod wheel;

use std::{thread, time::Duration};

use portable_pty::CommandBuilder;
use tempfile::TempDir;
use terminal::Terminal;

/// Buttons and motions as xterm numbers them (SGR mode 1006).
const LEFT: u8 = 0;
const DRAG: u8 = 32;
const WHEEL_UP: u8 = 64;
const WHEEL_DOWN: u8 = 65;

/// Keeps what the clicks sort by in a folder of its own.
fn open(demo: &str, size: (u16, u16), state: &TempDir) -> Terminal {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno"));
    command.args(["--demo", demo]);
    let terminal = Terminal::run(command, state.path(), size);
    terminal.wait_for_text("root complex");
    assert!(terminal.look(|screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None));
    terminal
}

fn contents(terminal: &Terminal) -> String {
    terminal.look(vt100::Screen::contents)
}

/// Column and row of a word, from 0.
fn place(terminal: &Terminal, word: &str) -> (u16, u16) {
    terminal.wait_for_text(word);
    let picture = contents(terminal);
    let (row, line) = picture.lines().enumerate().find(|(_, line)| line.contains(word)).expect("it is there");
    let column = line[..line.find(word).expect("it is there")].chars().count();
    (u16::try_from(column).expect("a column"), u16::try_from(row).expect("a row"))
}

/// What the terminal sends; its columns and rows begin at 1.
fn send(terminal: &mut Terminal, button: u8, (column, row): (u16, u16), is_release: bool) {
    let end = if is_release { 'm' } else { 'M' };
    terminal.press(&format!("\x1b[<{button};{};{}{end}", column + 1, row + 1));
}

fn click(terminal: &mut Terminal, at: (u16, u16)) {
    send(terminal, LEFT, at, false);
    send(terminal, LEFT, at, true);
}

fn drag(terminal: &mut Terminal, from: (u16, u16), to: (u16, u16)) {
    send(terminal, LEFT, from, false);
    let middle = (from.0.midpoint(to.0), from.1.midpoint(to.1));
    for at in [middle, to] {
        send(terminal, LEFT + DRAG, at, false);
    }
    send(terminal, LEFT, to, true);
}

/// A moment in which the screen would have changed.
fn settle() {
    thread::sleep(Duration::from_millis(400));
}

/// A test of the Dyno that has ended, so that its picture stays; where the curve's panel begins.
fn ended_test(size: (u16, u16), state: &TempDir) -> (Terminal, (u16, u16)) {
    let mut terminal = open("x570", size, state);
    terminal.press("4r");
    terminal.wait_for("a running test", |screen| screen.contents().contains('●'));
    thread::sleep(Duration::from_secs(4));
    terminal.press("x");
    terminal.wait_for("the end of the test", |screen| !screen.contents().contains('●'));
    let at = place(&terminal, "throughput  ");
    (terminal, at)
}

#[test]
fn a_drag_selects_a_span_wherever_it_ends_and_the_next_one_replaces_it() {
    for size in [(80, 24), (120, 40)] {
        let state = tempfile::tempdir().expect("a folder");
        let (mut terminal, (_, y)) = ended_test(size, &state);
        let seconds = |terminal: &Terminal| -> f64 {
            terminal.wait_for_text(" s: mean ");
            let picture = contents(terminal);
            let before = picture.split(" s: mean ").next().unwrap_or_default();
            before.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("seconds")
        };
        let right = place(&terminal, " now ").0;
        drag(&mut terminal, (right - 14, y + 2), (right - 8, y + 2));
        let short = seconds(&terminal);
        // Without a click in between, released over another panel and beyond the right edge of the screen.
        drag(&mut terminal, (right - 16, y + 2), (size.0 - 1, size.1 - 2));
        terminal.wait_for("a longer span", |screen| {
            let picture = screen.contents();
            picture.contains(" s: mean ") && !picture.contains(&format!("{short:.1} s: mean"))
        });
        assert!(seconds(&terminal) > short, "{}", contents(&terminal));
        terminal.press("\x1b");
        terminal.wait_for("no span", |screen| !screen.contents().contains(" s: mean "));
        terminal.press("q");
        terminal.ends_with(0);
    }
}

#[test]
fn a_drag_on_the_curve_of_every_screen_shows_its_figures() {
    for size in [(80, 24), (120, 40)] {
        let state = tempfile::tempdir().expect("a folder");
        let mut terminal = open("x570", size, &state);
        terminal.press("4r");
        terminal.wait_for("a running test", |screen| screen.contents().contains('●'));
        thread::sleep(Duration::from_secs(4));
        terminal.press("1");
        let right = size.0 - 3;
        let y = place(&terminal, "dstat").1 + 2;
        drag(&mut terminal, (right - 10, y), (size.0 - 1, 2));
        terminal.wait_for("its figures", |screen| {
            let picture = screen.contents();
            picture.contains(" s mean: reads ") || picture.contains(" s: rd ")
        });
        terminal.press("\x1b");
        terminal.wait_for("the latest figures", |screen| {
            !screen.contents().contains(" s mean: reads ") && !screen.contents().contains(" s: rd ")
        });
        assert!(contents(&terminal).contains("PCIe tree"), "Esc stays on the screen");
        terminal.press("\u{3}");
        terminal.ends_with(130);
    }
}

#[test]
fn a_drag_from_elsewhere_selects_nothing() {
    let state = tempfile::tempdir().expect("a folder");
    let (mut terminal, (x, y)) = ended_test((120, 40), &state);
    let form = place(&terminal, "iodepth");
    drag(&mut terminal, form, (x + 20, y + 2));
    settle();
    assert!(!contents(&terminal).contains(" s: mean "), "{}", contents(&terminal));
    // The button goes down on the curve and its release is lost; then another drag begins in the form.
    send(&mut terminal, LEFT, (x + 20, y + 2), false);
    drag(&mut terminal, form, (x + 30, y + 2));
    settle();
    assert!(!contents(&terminal).contains(" s: mean "), "{}", contents(&terminal));
    assert!(contents(&terminal).contains("throughput  "), "and it is no click on the curve");
    terminal.press("q");
    terminal.ends_with(0);
}

#[test]
fn clicks_show_tabs_and_run_what_the_footer_offers() {
    for size in [(80, 24), (120, 40)] {
        let state = tempfile::tempdir().expect("a folder");
        let mut terminal = open("threadripper-before", size, &state);
        for (tab, panel) in [
            ("2 Findings", "gain "),
            ("3 Tune", "readahead"),
            ("4 Dyno", "numjobs"),
            ("5 What-if", "Experiments"),
            ("6 Why", "CPUs"),
            ("7 Sheet", "In the sheet"),
            ("8 Slots", "Slots  as they are"),
            ("1 Machine", "PCIe tree"),
        ] {
            let at = place(&terminal, tab);
            click(&mut terminal, at);
            terminal.wait_for_text(panel);
        }
        let at = place(&terminal, "? help");
        click(&mut terminal, at);
        terminal.wait_for_text("keys and marks");
        // Beside what lies over the screen.
        click(&mut terminal, (0, size.1 - 1));
        terminal.wait_for("the help closed", |screen| !screen.contents().contains("keys and marks"));
        let at = place(&terminal, "n next");
        click(&mut terminal, at);
        terminal.wait_for_text("nvme8n1");
        let at = place(&terminal, "q quit");
        click(&mut terminal, at);
        terminal.ends_with(0);
    }
}

#[test]
fn a_click_on_a_heading_sorts_and_one_on_a_row_selects() {
    let state = tempfile::tempdir().expect("a folder");
    let mut terminal = open("threadripper-before", (120, 40), &state);
    let heading = place(&terminal, "     limit");
    let heading = (heading.0 + 6, heading.1);
    click(&mut terminal, heading);
    terminal.wait_for_text("by limit, largest first");
    click(&mut terminal, heading);
    terminal.wait_for_text("by limit, smallest first");
    let row = place(&terminal, "nvme9n1");
    click(&mut terminal, row);
    terminal.wait_for("the cursor there", |screen| {
        screen.contents().lines().any(|line| line.contains('›') && line.contains("nvme9n1"))
    });
    terminal.press("q");
    terminal.ends_with(0);
}

#[test]
fn the_wheel_turns_every_list_there_and_back() {
    for (keys, word) in [("1", "nvme0n1")].into_iter().chain(wheel::LISTS) {
        let state = tempfile::tempdir().expect("a folder");
        let mut terminal = open("threadripper-before", (80, 24), &state);
        terminal.press(keys);
        let at = place(&terminal, word);
        settle();
        let before = contents(&terminal);
        for _ in 0..20 {
            send(&mut terminal, WHEEL_DOWN, at, false);
        }
        let changed = |screen: &vt100::Screen| screen.contents() != before;
        terminal.wait_for(&format!("{keys} {word} scrolled"), changed);
        settle();
        let after = contents(&terminal);
        for _ in 0..3 {
            send(&mut terminal, WHEEL_UP, at, false);
        }
        terminal.wait_for(&format!("{keys} {word} back"), |screen| screen.contents() != after);
        terminal.press("\u{3}");
        terminal.ends_with(130);
    }
}

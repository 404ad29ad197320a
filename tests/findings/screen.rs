//! Keys of the findings screen.

use std::sync::Arc;

use iodyno::{
    app::draw,
    app::{self, App, MachineRead, Message, Mode, ScreenId, keymap},
    capacity,
    source::{self, capture::TextRoot, demo},
    ui::theme::Theme,
};

use super::scene::label;

/// A demo on a screen of that size, after those keys.
fn opened(name: &str, size: (u16, u16), keys: &str) -> App {
    let (machine, problems) =
        source::read_machine(&TextRoot::parse(&demo::find(name).unwrap().capture()).unwrap());
    let limits = Arc::new(capacity::limits(&machine));
    let read = MachineRead { machine: Arc::new(machine), problems, limits };
    let mut app = App::new(Mode::Demo(label(name)), read, size);
    for key in keymap::parse(keys).unwrap() {
        app::update(&mut app, Message::Key(key));
    }
    app
}

fn drawn(app: &App) -> String {
    let (width, height) = app.shared.size;
    let mut buffer = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, width, height));
    draw::draw(app, Theme::PLAIN, &mut buffer);
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_most_costly_finding_is_on_top_with_its_gain_on_every_size() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let app = opened("threadripper-before", size, "2");
        let text = drawn(&app);
        let line = text.lines().find(|line| line.contains("›")).unwrap();
        assert!(line.contains("▲ 8 drives share root complex 0000:40"), "{size:?}: {line}");
        assert!(line.contains("+17.7 GB/s"), "{size:?}: {line}");
        assert!(text.contains("hardware: power down"), "{size:?}\n{text}");
    }
}

#[test]
fn enter_goes_to_the_place_the_finding_is_about() {
    let app = opened("threadripper-before", (120, 40), "2<Enter>");
    assert_eq!(app.screen, ScreenId("machine"));
    let node = app.screens.machine.row().and_then(|row| row.node).unwrap();
    assert_eq!(app.shared.machine.pci.node(node).address.to_string(), "0000:40");
    let app = opened("laptop", (80, 24), "2j<Enter>");
    assert_eq!(app.screens.machine.row().unwrap().drive().unwrap().as_str(), "nvme1n1");
}

#[test]
fn enter_opens_what_was_folded_on_the_way() {
    let folded = opened("laptop", (120, 40), "gh");
    assert!(folded.screens.machine.rows.len() < 4, "the root complex is folded");
    let app = opened("laptop", (120, 40), "gh2<Enter>");
    assert_eq!(app.screens.machine.row().unwrap().drive().unwrap().as_str(), "nvme0n1");
}

#[test]
fn a_finding_about_the_whole_machine_has_no_place() {
    let app = opened("laptop", (120, 40), "2GkK<Enter>");
    let about = app.screens.findings.finding(&app.shared).unwrap();
    assert_eq!(about.id.0, "ring-features");
    assert_eq!(app.screen, ScreenId("findings"));
    assert!(app.notice.unwrap().text.contains("no row in the tree"));
}

#[test]
fn the_tree_marks_where_findings_point() {
    let text = drawn(&opened("threadripper-before", (120, 40), ""));
    let row = |text: &str, name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row(&text, "0000:40 root complex").contains('▲'), "{text}");
    assert!(!row(&text, "0000:60 root complex").contains('▲'), "{text}");
    let drives = drawn(&opened("x570", (120, 40), ""));
    let marked = drives.lines().filter(|line| line.contains("FireCuda") && line.contains(" ! ")).count();
    assert_eq!(marked, 4, "{drives}");
}

#[test]
fn figures_follow_the_units() {
    let text = drawn(&opened("threadripper-before", (120, 40), "2u"));
    assert!(text.contains("+16.5 GiB/s"), "{text}");
}

#[test]
fn no_sentence_of_a_finding_keeps_the_other_units() {
    for name in demo::DEMOS.iter().map(|demo| demo.name) {
        let mut app = opened(name, (200, 60), "u");
        let tree = drawn(&app);
        assert!(!tree.contains("GB/s"), "{name}\n{tree}");
        app::update(&mut app, Message::Key(keymap::Key::Char('2')));
        for at in 0..app.shared.findings.list.len() {
            let text = drawn(&app);
            assert!(!text.contains("GB/s"), "{name}, finding {at}\n{text}");
            app::update(&mut app, Message::Key(keymap::Key::Char('j')));
        }
        let in_binary = app.shared.findings.list.clone();
        app::update(&mut app, Message::Key(keymap::Key::Char('u')));
        assert!(
            app.shared.findings.list != in_binary
                || in_binary.iter().all(|f| f.gain.bytes_per_second.is_none())
        );
    }
}

#[test]
fn page_down_scrolls_the_text_and_a_new_selection_starts_at_its_top() {
    let down = opened("threadripper-before", (80, 24), "2<PageDown>");
    assert!(down.screens.findings.detail_top > 0);
    assert_eq!(down.screens.findings.selected, 0);
    let next = opened("threadripper-before", (80, 24), "2<PageDown>j");
    assert_eq!((next.screens.findings.detail_top, next.screens.findings.selected), (0, 1));
}

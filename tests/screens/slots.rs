//! The slots page: moves of cards with keys and mouse, and their undo.

use std::{sync::Arc, time::Duration};

use iodyno::{
    app::{
        MachineRead, Message, Mode, ScreenId, keymap,
        message::{Mouse, MouseAction},
    },
    capacity,
    machine::pci::NodeAddress,
    model::Reading,
    runtime::headless::Headless,
    source::origin::Origin,
    text::Label,
    ui::theme::Theme,
    units::TransferRate,
};

fn open(keys: &str) -> Headless {
    let mut headless =
        Headless::open(&Origin::Demo("threadripper-before".to_owned()), (120, 40)).expect("demos open");
    press(&mut headless, keys);
    headless
}

fn press(headless: &mut Headless, keys: &str) {
    headless.press(keymap::parse(keys).expect("keys are well written"));
}

fn shown(headless: &Headless) -> String {
    iodyno::ui::picture::text(&headless.picture(Theme::PLAIN))
}

/// Predicted gain of all drives, GB/s.
fn gain(headless: &Headless) -> Option<f64> {
    let prediction = headless.app.screens.slots.prediction.as_ref()?.as_ref().ok()?;
    Some((prediction.gain()? / 1e8).round() / 10.0)
}

#[test]
fn a_card_is_moved_from_the_machine_screen_and_restored() {
    let mut headless = open("nnw");
    assert_eq!(headless.app.screen, ScreenId("slots"));
    assert!(shown(&headless).contains("moving the card with nvme0n1 to nvme3n1"), "{}", shown(&headless));
    assert_eq!(gain(&headless), None, "nothing is predicted before it goes anywhere");
    press(&mut headless, "<End><Up>");
    assert_eq!(gain(&headless), Some(17.7), "over the root complex 0000:60");
    press(&mut headless, "<Enter><Up><Up>");
    assert_eq!(gain(&headless), Some(17.7), "put down, it stays when the cursor goes on");
    let picture = shown(&headless);
    for words in ["moved the card", "under 0000:60", "+17.7 GB/s", "✓ fixed", "◂ ├ 01.1 NVIDIA Quadro P620"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    press(&mut headless, "u");
    assert!(shown(&headless).contains("+16.5 GiB/s"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(headless.app.screens.slots.is_carrying(), "Esc undoes one step: the card is in the hand again");
    press(&mut headless, "<Esc>");
    assert_eq!(
        (gain(&headless), headless.app.screen),
        (None, ScreenId("slots")),
        "Esc puts the card back before it leaves"
    );
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("machine"), "the page is left to the screen that opened it");
}

#[test]
fn a_move_that_a_finding_proposes_is_undone_by_esc() {
    let mut headless = open("2w");
    assert!(shown(&headless).contains("● moved the card with nvme0n1"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert_eq!((headless.app.screen, gain(&headless)), (ScreenId("slots"), None), "one step is undone");
    assert!(!shown(&headless).contains("● moved"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert_eq!(headless.app.screen, ScreenId("findings"), "with nothing to undo Esc leads back");
    // The same move proposed again is no second step.
    press(&mut headless, "8b2w<Esc>");
    assert_eq!((headless.app.screen, gain(&headless)), (ScreenId("slots"), None));
}

#[test]
fn small_panels_keep_names_and_figures() {
    let mut headless = open("8");
    for (size, keys) in [((60, 20), "G"), ((80, 24), "G"), ((60, 20), "b"), ((80, 24), "b")] {
        headless.send(Message::Resize(size.0, size.1));
        press(&mut headless, keys);
        let picture = shown(&headless);
        assert!(!picture.contains("nvm…"), "{picture}");
        let body = |line: &&str| line.contains(" more") || line.contains("↑") && line.contains("↓");
        // The keys below the panels are no mark.
        let panels = picture.lines().rev().skip(1);
        for line in panels.filter(body).filter(|line| line.contains("root complex") || line.contains(':')) {
            assert!(line.contains('─'), "the mark covers a row: {picture}");
        }
    }
    headless.send(Message::Resize(60, 20));
    press(&mut headless, "<Esc><Esc>g");
    assert!(shown(&headless).contains("nvme8n1"), "{}", shown(&headless));
}

#[test]
fn the_experiments_lead_to_the_page_and_it_leads_back() {
    let mut headless = open("5");
    assert!(shown(&headless).contains("w card moves"), "{}", shown(&headless));
    press(&mut headless, "w");
    assert_eq!((headless.app.screen, headless.app.screens.slots.is_carrying()), (ScreenId("slots"), false));
    press(&mut headless, "b<Esc><Esc>");
    assert_eq!(headless.app.screen, ScreenId("what-if"));
}

#[test]
fn one_drive_of_a_card_is_moved_and_restored() {
    let mut headless = open("nnw<Space>");
    assert!(shown(&headless).contains("moving nvme0n1 "), "{}", shown(&headless));
    press(&mut headless, "<End><Up>");
    assert_eq!(gain(&headless), Some(7.1), "what one drive reads beside seven");
    press(&mut headless, "<Home><Down><Down><Down><Space>");
    let moved = headless.app.screens.slots.picked.as_ref().expect("put down elsewhere, not picked up anew");
    assert!(moved.dropped);
}

#[test]
fn impossible_moves_have_a_reason() {
    let mut headless = open("nnwgjj");
    let picture = shown(&headless);
    assert!(
        picture.contains("0000:20 does not work: its widest slot")
            && picture.contains("use 0000:40, 0000:60"),
        "{picture}"
    );
    press(&mut headless, "<Esc>t");
    assert!(shown(&headless).contains("Choose a slower slot with - first"), "{}", shown(&headless));
    press(&mut headless, "jj----");
    assert!(shown(&headless).contains("generations 1 to 6"), "{}", shown(&headless));
}

#[test]
fn the_best_move_is_one_key_and_the_mouse_does_the_rest() {
    let mut headless = open("wb");
    assert_eq!(gain(&headless), Some(17.7));
    press(&mut headless, "<Esc><Esc>");
    let click = |headless: &mut Headless, name: &str| {
        let text = shown(headless);
        // Today's side.
        let shows = |line: &str| line.chars().take(60).collect::<String>().contains(name);
        let row = text.lines().skip(3).position(shows).expect(name) + 3;
        let row = u16::try_from(row).expect("a row");
        headless.send(Message::Mouse(Mouse { column: 11, row, action: MouseAction::Press }));
    };
    click(&mut headless, "nvme5n1");
    click(&mut headless, "nvme5n1");
    assert!(shown(&headless).contains("moving the card with nvme4n1 to nvme7n1"), "{}", shown(&headless));
    click(&mut headless, "NVIDIA Quadro P620");
    assert_eq!(gain(&headless), Some(17.7), "the other card wins the same");
    click(&mut headless, "NVIDIA Quadro P620");
    assert!(shown(&headless).contains("moved the card with nvme4n1"), "{}", shown(&headless));
}

#[test]
fn another_machine_makes_a_move_void() {
    let mut headless = open("wb");
    let mut machine = (*headless.app.shared.machine).clone();
    headless.send(read(machine.clone()));
    assert_eq!(gain(&headless), Some(17.7), "the same machine read again");
    let last = machine.pci.nodes.last_mut().expect("it has nodes");
    last.address = NodeAddress::Device("0000:7f:00.0".parse().expect("an address"));
    headless.send(read(machine));
    assert!(headless.app.screens.slots.picked.is_none() && gain(&headless).is_none());
}

fn read(machine: iodyno::machine::Machine) -> Message {
    let limits = Arc::new(capacity::limits(&machine));
    Message::Machine(Box::new(MachineRead { machine: Arc::new(machine), problems: Vec::new(), limits }))
}

#[test]
fn a_slower_slot_is_tried_live_where_the_kernel_has_a_cooling_device() {
    let mut headless = open("w--t");
    assert!(shown(&headless).contains("no cooling device"), "{}", shown(&headless));
    let mut machine = (*headless.app.shared.machine).clone();
    let drive =
        machine.hardware_drives().find(|drive| drive.name.as_str() == "nvme8n1").and_then(|drive| drive.node);
    let port = drive.and_then(|drive| machine.pci.node(drive).parent).expect("it hangs on a port");
    let folder = "/sys/class/thermal/cooling_device0";
    machine.pci.nodes[port.0].cooling = Reading::known(format!("{folder}/cur_state"), (0, 3));
    machine.pci.nodes[port.0].cooling_path = Some(folder.into());
    headless.send(read(machine));
    headless.app.shared.mode = Mode::Demo(Label::new("threadripper-before"));
    press(&mut headless, "t");
    assert_eq!(headless.app.screen, ScreenId("tune"));
    let staged = &headless.app.shared.settings.staged;
    assert_eq!(staged.len(), 1, "{}", shown(&headless));
    assert_eq!((staged[0].setting.0, staged[0].value.as_str()), ("link_speed", "2"), "gen4 held to gen2");
    let speed = headless.app.screens.slots.picked.as_ref().and_then(|picked| picked.speed);
    assert_eq!(speed, TransferRate::from_code(2));
}

#[test]
fn a_drop_is_confirmed_and_esc_leads_to_where_the_page_was_opened_from() {
    let mut headless = open("8");
    press(&mut headless, "b<Enter>");
    let picture = shown(&headless);
    assert!(
        picture.contains("choose a drive or a card with ↑ ↓") && !picture.contains("name a drive"),
        "{picture}"
    );
    press(&mut headless, "<Esc><Esc>");
    assert_eq!(headless.app.screen, ScreenId("machine"), "as from every other tab");
    let headless = open("nnw<End><Up><Space>");
    let picture = shown(&headless);
    assert!(picture.contains("on paper: +17.7 GB/s with all drives busy. Esc undoes it"), "{picture}");
    assert_eq!(gain(&headless), Some(17.7));
}

#[test]
fn a_card_that_is_put_back_is_no_step_to_undo() {
    let mut headless = open("8<Space>");
    assert!(headless.app.screens.slots.is_carrying(), "{}", shown(&headless));
    // Of a card with several drives the second press takes this one alone.
    for _ in 0..2 {
        if headless.app.screens.slots.is_carrying() {
            press(&mut headless, "<Space>");
        }
    }
    let picture = shown(&headless);
    assert!(headless.app.screens.slots.picked.is_none() && picture.contains("as they are"), "{picture}");
    assert!(!picture.contains("undo move"), "{picture}");
    press(&mut headless, "<Esc>");
    assert!(!headless.app.screens.slots.is_carrying(), "the card is in the hand again");
    let unmoved = open("8<Esc>");
    assert_eq!(headless.app.screen, unmoved.app.screen, "{}", shown(&headless));
}

fn demo(name: &str, size: (u16, u16), keys: &str) -> Headless {
    let mut headless = Headless::open(&Origin::Demo(name.to_owned()), size).expect("demos open");
    press(&mut headless, keys);
    headless
}

/// The functions of a graphics card have one device: none of them moves alone.
#[test]
fn a_card_of_one_device_has_no_part_to_move_alone() {
    let mut headless = demo("threadripper-before", (80, 24), "8G<Space>");
    let picked = headless.app.screens.slots.picked.clone().unwrap();
    assert!(picked.functions.len() > 1, "graphics and sound: {picked:?}");
    let picture = shown(&headless);
    assert!(picture.contains("here it puts"), "{picture}");
    assert!(!picture.contains("alone"), "{picture}");
    press(&mut headless, "<Space>");
    assert!(headless.app.screens.slots.picked.is_none(), "it is put back: {}", shown(&headless));
    // A drive of a card with four moves alone first.
    let mut headless = demo("threadripper-before", (120, 40), "8");
    let rows = &headless.app.screens.slots.today;
    headless.app.screens.slots.selected = rows.iter().position(|row| row.name == "nvme1n1").unwrap();
    press(&mut headless, "<Space>");
    assert!(shown(&headless).contains("this drive alone"), "{}", shown(&headless));
    press(&mut headless, "<Space>");
    assert_eq!(headless.app.screens.slots.picked.as_ref().unwrap().functions.len(), 1);
    assert!(!shown(&headless).contains("this drive alone"), "{}", shown(&headless));
}

#[test]
fn titles_of_small_slots_name_what_moves() {
    for (keys, size, [left, right]) in [
        ("8b", (80, 24), ["● nvme0n1 to nvme3n1 ─", "After  under 0000:60 ─"]),
        ("8b", (60, 20), ["● 4 drives ─", "After  0000:60 ─"]),
        ("8<Space>", (80, 24), ["Before  ● Aquantia Atlantic 10G ─", "After ─"]),
        ("8<Space>", (60, 20), ["Aquantia", "After ─"]),
        ("8G<Space>", (80, 24), ["Before  ● moving NVIDIA Quadro P620 ─", "After ─"]),
        ("8b--", (80, 24), ["● nvme0n1 to nvme3n1 ─", "After  Gen2  under 0000:60 ─"]),
    ] {
        let picture = shown(&demo("threadripper-before", size, keys));
        let title = picture.lines().nth(2).unwrap();
        assert!(title.contains(left) && title.contains(right), "{size:?}: {picture}");
        let cut = |word: &str| word.ends_with('…') && word != "…";
        assert!(!title.split(' ').any(cut), "no word is cut: {title}");
    }
}

/// On a machine without cards no row is one to go to.
#[test]
fn slots_without_a_card_say_so() {
    let mut headless = demo("laptop", (80, 24), "8");
    let slots = &mut headless.app.screens.slots;
    slots.today.truncate(1);
    slots.selected = 0;
    let picture = shown(&headless);
    assert!(picture.contains("No device of this machine"), "{picture}");
    assert!(!picture.contains("go to a card") && !picture.contains("What would a card"), "{picture}");
    press(&mut headless, "<Space>");
    assert!(!shown(&headless).contains("choose a drive"), "{}", shown(&headless));
}

/// The best move is offered where a card has another place.
#[test]
fn the_best_move_is_offered_where_there_is_one() {
    let offers = |name: &str| {
        let mut headless = demo(name, (80, 24), "4r8");
        headless.wait(Duration::from_secs(3));
        let before = headless.app.screens.slots.picked.clone();
        let offers = shown(&headless).contains("b best move") || shown(&headless).contains("Press b");
        press(&mut headless, "b");
        (offers, headless.app.screens.slots.picked != before)
    };
    for name in ["threadripper-before", "threadripper-after", "x570", "laptop"] {
        let (offered, moves) = offers(name);
        assert!(!offered || moves, "{name}");
    }
}

#[test]
fn the_best_move_is_found_while_a_test_or_an_experiment_starts() {
    for keys in ["r", "5<Enter>"] {
        let mut headless = open(keys);
        press(&mut headless, "8");
        let mut offered = Vec::new();
        for _ in 0..4 {
            headless.wait(Duration::from_secs(1));
            offered.push(shown(&headless).contains("Press b for the best move"));
        }
        assert_eq!(offered, [true; 4], "{keys} {}", shown(&headless));
        press(&mut headless, "b");
        assert_eq!(gain(&headless), Some(17.7), "{keys} {}", shown(&headless));
        press(&mut headless, "b");
        assert!(shown(&headless).contains("This is the best move already"), "{keys} {}", shown(&headless));
    }
}

#[test]
fn a_name_has_the_cells_of_a_rate_that_its_row_has_not() {
    let headless = demo("threadripper-before", (82, 24), "8");
    let picture = shown(&headless);
    assert!(picture.contains("0000:00 root complex, no drives  of 39.4"), "{picture}");
    assert!(picture.contains("0000:20  2 drives "), "{picture}");
}

//! Screens that are not folders of their own yet, for the rest of `app`.

use tui_input::Input;

use super::{App, Effect, MACHINE, hit::Hit, overlay::Overlay};
use crate::report::flatten::Row as TreeRow;
use crate::{
    screens::{Step, widgets::scroll::scroll},
    ui::{
        About, Command,
        Key::{self, Char},
        ScreenId, Subject,
        command::{Row, command, pair},
        field::edit,
        theme::Meaning,
    },
};

/// What a command does.
pub(super) type Run = fn(&mut App) -> Vec<Effect>;

/// What a command brings about that changes the state alone.
const NOTHING: Vec<Effect> = Vec::new();

pub(super) const SCREENS: &[About] = &[About {
    id: MACHINE,
    digit: '1',
    name: "Machine",
    help: "Show the machine: the PCIe tree, links, limits and load",
    purpose: "The PCIe tree of this machine: every link now and at most, and the load each place carries.",
    has_mark: false,
    marks: &[
        ("▲", Meaning::Problem, "a finding that costs at least 15 %, or a shared place that is too narrow"),
        ("!", Meaning::Warning, "a finding that costs something; Findings tells which"),
        ("▼", Meaning::Warning, "a drive's link runs slower or narrower than both its ends can"),
        ("▽", Meaning::Quiet, "the slot holds the drive to less than the drive can"),
        ("●", Meaning::Marked, "marked for the test; ○ some of the drives below are"),
        ("████", Meaning::Load, "load against the limit of the link it crosses"),
        ("████", Meaning::Good, "a drive that reads all its own link carries: as good as it gets"),
        ("████", Meaning::Warning, "a shared place that is full: the bottleneck"),
    ],
}];

#[rustfmt::skip]
const MACHINE_COMMANDS: &[Command<Run>] = &[
    pair("←→", command(240, &[Key::Left, Char('h')], "fold", "fold", "Fold the row, or go to the one it hangs under", |app| { app.tree.left(); NOTHING })),
    command(250, &[Key::Right, Char('l')], "", "unfold", "Unfold the row, or go to the first one below it", |app| { app.tree.right(); NOTHING }),
    command(280, &[Char('n')], "next drive", "next drive", "Jump to the next drive", |app| { app.tree.step_drive(1); NOTHING }),
    command(290, &[Char('N')], "", "previous drive", "Jump to the drive before", |app| { app.tree.step_drive(-1); NOTHING }),
    command(300, &[Char(' ')], "mark", "mark", "Mark the drive for the test, or every drive below this row", mark),
    command(320, &[Key::Enter], "details", "details", "Everything about the selected row; a folded one opens", details),
    command(350, &[Char('/')], "find", "find", "Find by name, model, address or driver; Enter keeps the match, arrows go to the next", |app| { app.tree.open_find(); NOTHING }),
    command(360, &[Char('s')], "sort", "sort", "Sort siblings by bus, by load, by name", sort),
    command(370, &[Char('z')], "all devices", "every device", "Show every device, or fold the ones that do not matter here", |app| { app.tree.everything = !app.tree.everything; NOTHING }),
    command(380, &[Char('p')], "paths", "paths", "Show the path each value was read from", |app| { app.tree.paths = !app.tree.paths; NOTHING }),
    command(450, &[Char('w')], "what if", "what if", "Pick up the card of this row in thought, to see it in another slot", move_this),
];

/// The commands of a screen.
pub(super) fn commands(screen: ScreenId) -> &'static [Command<Run>] {
    match screen {
        MACHINE => MACHINE_COMMANDS,
        _ => &[],
    }
}

/// The rows of all their commands.
pub(super) fn rows() -> impl Iterator<Item = (ScreenId, Row)> {
    let of = |about: &'static About| commands(about.id).iter().map(|command| (about.id, command.row));
    SCREENS.iter().flat_map(of)
}

/// The text field that is open on the screen shown.
pub(super) fn field(app: &mut App) -> Option<&mut Input> {
    match app.screen {
        MACHINE => app.tree.find.as_mut(),
        _ => None,
    }
}

/// A key while that field is open; no key after text was pasted into it.
pub(super) fn field_key(app: &mut App, key: Option<Key>) {
    match (app.screen, key) {
        (MACHINE, Some(key)) => find_key(app, key),
        (MACHINE, None) => {
            app.tree.find_here(&app.shared.machine);
        }
        _ => {}
    }
}

/// Moves the cursor or the text.
pub(super) fn step(app: &mut App, step: Step) {
    let page = app.layout().tree_rows.height;
    let (end, rows) = (app.text_end, step.rows(page));
    match (app.screen, step) {
        (MACHINE, _) => app.tree.step(rows),
        _ => {}
    }
}

/// Takes what the screen should show.
pub(super) fn take(app: &mut App, screen: ScreenId, subject: &Subject) {
    match (screen, subject) {
        (MACHINE, Subject::Node(node, drive)) => {
            let machine = app.shared.machine.clone();
            app.refresh();
            if !app.tree.reveal(&machine, *node, drive.as_ref()) {
                app.tree.unfold_all();
                app.refresh();
                app.tree.reveal(&machine, *node, drive.as_ref());
            }
        }
        _ => {}
    }
}

/// The mark behind its name in the tabs.
pub(crate) fn tab_mark(app: &App, screen: ScreenId) -> Option<String> {
    let is_marked = match screen {
        _ => false,
    };
    is_marked.then(|| "●".to_owned())
}

/// A press in the screen's area.
pub(super) fn press(app: &mut App, hit: &Hit) -> Vec<Effect> {
    match *hit {
        Hit::TreeRow(index) if index < app.tree.rows.len() => {
            let again = app.tree.selected == index;
            app.tree.select(index);
            let row = app.tree.row();
            if row.is_some_and(|row| row.open == Some(false))
                || (again && row.is_some_and(|r| r.open.is_some()))
            {
                app.tree.toggle();
            } else if again {
                return details(app);
            }
        }
        Hit::Findings => return app.show(ScreenId("findings"), None),
        Hit::Facts => return details(app),
        _ => {}
    }
    Vec::new()
}

fn sort(app: &mut App) -> Vec<Effect> {
    app.tree.next_sort();
    app.tell(format!("Siblings stand {}", app.tree.sort.name().replacen("bus", "in bus", 1)));
    Vec::new()
}

/// Opens the slots page with the card of the tree's row.
fn move_this(app: &mut App) -> Vec<Effect> {
    let node = app.tree.row().and_then(|row| {
        // Rows that stand for several drives have no place of their own.
        let first = row.drives.first().and_then(|name| app.shared.machine.drive(name)?.node);
        row.node.or(first)
    });
    app.show(ScreenId("slots"), node.map(|node| Subject::Node(node, None)))
}

fn mark(app: &mut App) -> Vec<Effect> {
    let drives = app.tree.row().map(|row| row.drives.clone()).unwrap_or_default();
    app.shared.mark_all_of(&drives);
    if drives.is_empty() {
        app.tell("No drive at or below this row");
    } else {
        let text = match app.shared.marks.len() {
            0 => "No drive is marked: a test runs on every hardware drive".to_owned(),
            1 => "1 drive marked for the test".to_owned(),
            n => format!("{n} drives marked for the test"),
        };
        app.tell(text);
        if app.tree.row().is_some_and(TreeRow::is_drive) {
            app.tree.step_drive(1);
        }
    }
    Vec::new()
}

fn details(app: &mut App) -> Vec<Effect> {
    let closed = app.tree.row().is_some_and(|row| row.open == Some(false) || row.node.is_none());
    if !(closed && app.tree.toggle()) {
        return app.lay(Overlay::Facts(0));
    }
    Vec::new()
}

pub(super) fn run(app: &mut App) -> Vec<Effect> {
    if let Some(asks) = app.screens.get_mut(app.screen).and_then(|screen| screen.run(&app.shared)) {
        return app.grant(asks);
    }
    let asks = app.screens.dyno.run(&app.shared);
    app.grant(asks)
}

pub(super) fn stop(app: &mut App) -> Vec<Effect> {
    if app.shared.experiments.running().is_some() {
        app.shared.experiments.stopping = true;
        return vec![Effect::StopExperiment];
    }
    let Some(test) = app.shared.tests.running_mut() else {
        app.tell("No test is running: r starts one");
        return Vec::new();
    };
    test.stopping = true;
    vec![Effect::StopRun]
}

fn find_key(app: &mut App, key: Key) {
    match key {
        Key::Esc => app.tree.find = None,
        Key::Enter => app.tree.close_find(&app.shared.machine),
        Key::Down | Key::Tab => app.tree.find_next(&app.shared.machine, 1),
        Key::Up | Key::BackTab => app.tree.find_next(&app.shared.machine, -1),
        key => {
            let Some(input) = app.tree.find.as_mut() else { return };
            edit(input, key);
            if !app.tree.find_here(&app.shared.machine) {
                app.tell("No such row");
            }
        }
    }
}

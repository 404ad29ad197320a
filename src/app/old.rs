//! Screens that are not folders of their own yet, for the rest of `app`.

use tui_input::Input;

use super::{App, DYNO, Effect, MACHINE, dyno, hit::Hit, overlay::Overlay};
use crate::report::flatten::Row as TreeRow;
use crate::{
    screens::{News, Step, widgets::scroll::scroll},
    ui::{
        About, Command,
        Key::{self, Char},
        ScreenId, Subject,
        command::{Row, command, pair},
        field::edit,
        test::Test,
        theme::Meaning,
    },
};

/// What a command does.
pub(super) type Run = fn(&mut App) -> Vec<Effect>;

/// What a command brings about that changes the state alone.
const NOTHING: Vec<Effect> = Vec::new();

pub(super) const SCREENS: &[About] = &[
    About {
        id: MACHINE,
        digit: '1',
        name: "Machine",
        help: "Show the machine: the PCIe tree, links, limits and load",
        purpose: "The PCIe tree of this machine: every link now and at most, and the load each place carries.",
        has_mark: false,
        marks: &[
            (
                "▲",
                Meaning::Problem,
                "a finding that costs at least 15 %, or a shared place that is too narrow",
            ),
            ("!", Meaning::Warning, "a finding that costs something; Findings tells which"),
            ("▼", Meaning::Warning, "a drive's link runs slower or narrower than both its ends can"),
            ("▽", Meaning::Quiet, "the slot holds the drive to less than the drive can"),
            ("●", Meaning::Marked, "marked for the test; ○ some of the drives below are"),
            ("████", Meaning::Load, "load against the limit of the link it crosses"),
            ("████", Meaning::Good, "a drive that reads all its own link carries: as good as it gets"),
            ("████", Meaning::Warning, "a shared place that is full: the bottleneck"),
        ],
    },
    About {
        id: DYNO,
        digit: '4',
        name: "Dyno",
        help: "Show the dyno: read tests and their curves",
        purpose: "Read tests: set a workload, run it on the marked drives, watch the curves.",
        has_mark: true,
        marks: &[
            ("──", Meaning::Brand, "all targets together; each target has the colour of its name"),
            ("┈┈", Meaning::Lines, "the limit of the place that is full"),
            ("█▓▒░", Meaning::Good, "share of reads that took about that long, per moment"),
            ("▲", Meaning::Warning, "the figure is not the drive's own, and why"),
        ],
    },
];

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

#[rustfmt::skip]
const DYNO_COMMANDS: &[Command<Run>] = &[
    command(110, &[Char(' ')], "pause", "pause", "Pause the test, or let it go on", pause),
    pair("←→", command(260, &[Key::Left, Char('h')], "change", "choice before", "The choice before in the field", |app| choose(app, -1))),
    command(270, &[Key::Right, Char('l')], "", "choice after", "The next choice in the field", |app| choose(app, 1)),
    command(340, &[Key::Enter], "edit", "edit", "Write into the field; Enter takes it, Esc leaves it as it was", |app| { app.dyno.form.begin_edit(); NOTHING }),
    command(460, &[Char('c')], "curve", "curve", "Show another curve: throughput, IOPS, latency", |app| { app.dyno.curve = app.dyno.curve.next(); NOTHING }),
    pair("[ ]", command(510, &[Char('[')], "older run", "older run", "Show the run before", |app| { app.dyno.step_history(1, app.shared.tests.all.len()); NOTHING })),
    command(520, &[Char(']')], "", "newer run", "Show the run after", |app| { app.dyno.step_history(-1, app.shared.tests.all.len()); NOTHING }),
];

/// The commands of a screen.
pub(super) fn commands(screen: ScreenId) -> &'static [Command<Run>] {
    match screen {
        MACHINE => MACHINE_COMMANDS,
        DYNO => DYNO_COMMANDS,
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
        DYNO => app.dyno.form.edit.as_mut(),
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
        (DYNO, Some(key)) => form_key(app, key),
        _ => {}
    }
}

/// Moves the cursor or the text.
pub(super) fn step(app: &mut App, step: Step) {
    let page = app.layout().tree_rows.height;
    let (end, rows) = (app.text_end, step.rows(page));
    match (app.screen, step) {
        (MACHINE, _) => app.tree.step(rows),
        (DYNO, Step::Pages(pages)) => scroll(&mut app.dyno.result_top, pages * 2, end),
        (DYNO, _) => app.dyno.form.step(rows),
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
        DYNO => app.shared.tests.running().is_some(),
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
        Hit::Field(index) => {
            app.dyno.form.edit = None;
            let again = app.dyno.form.at == index;
            app.dyno.form.at = index;
            if again && !app.dyno.form.step_choice(1) {
                app.dyno.form.begin_edit();
            }
        }
        Hit::Curve => app.dyno.curve = app.dyno.curve.next(),
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

fn choose(app: &mut App, step: isize) -> Vec<Effect> {
    if !app.dyno.form.step_choice(step) {
        app.tell("This field has no choices: Enter opens it for text");
    }
    Vec::new()
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
    if app.shared.experiments.running().is_some() {
        app.tell("An experiment is running: x ends it and puts everything back");
        return Vec::new();
    }
    if !app.shared.can_test() {
        app.tell("The drives of a capture are not here to be tested; --demo shows a test on simulated ones");
        return Vec::new();
    }
    if app.shared.tests.running().is_some() {
        app.tell("A test is running: x stops it");
        return Vec::new();
    }
    let targets = dyno::targets(&app.dyno.form, &app.shared.marks, &app.shared.machine);
    let workload = dyno::workload(&app.dyno.form, targets);
    if let Err(wrong) = workload.validate() {
        app.warn(wrong.to_string());
        return Vec::new();
    }
    let expected = crate::capacity::expected(&app.shared.machine, &app.shared.limits, &workload);
    let watch = crate::findings::validity::Watch::begin(&app.shared.machine, &workload);
    app.shared.tests.begin(Test::new(workload.clone(), expected, watch));
    app.dyno.show_newest();
    app.hear(News::Record);
    app.judge();
    vec![Effect::StartRun(Box::new(workload))]
}

fn pause(app: &mut App) -> Vec<Effect> {
    use crate::model::RunState;
    match app.shared.tests.running().map(|test| test.state) {
        Some(RunState::Paused) => vec![Effect::ResumeRun],
        Some(_) => vec![Effect::PauseRun],
        None => {
            app.tell("No test is running: r starts one");
            Vec::new()
        }
    }
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

fn form_key(app: &mut App, key: Key) {
    let form = &mut app.dyno.form;
    match key {
        Key::Esc => form.edit = None,
        Key::Enter | Key::Tab | Key::Down => {
            if let Err(wrong) = form.accept_edit() {
                app.warn(wrong);
            } else if key != Key::Enter {
                form.step(1);
            }
        }
        key => {
            if let Some(input) = form.edit.as_mut() {
                edit(input, key);
            }
        }
    }
}

//! Keys: fields and what lies over the screen take it, else it is a command.

use std::ops::ControlFlow;

use super::{
    App, Effect, TUNE, act,
    commands::{self, Found},
    over,
    overlay::{Overlay, Palette},
    search,
    tabs::tabs,
};
use crate::{
    screens::{Step, dyno::form::Form, widgets::scroll::scrolled},
    ui::{Key, Opening, ScreenId, TextField},
};

/// A key was pressed.
pub fn key(app: &mut App, key: Key) -> Vec<Effect> {
    let is_answered = app.notice.take().is_some() && app.is_answer;
    if key == Key::Ctrl('c') {
        return vec![Effect::Interrupt];
    }
    if app.overlay.is_some() {
        return overlay_key(app, key);
    }
    if field(app).is_some() {
        return field_key(app, Some(key));
    }
    let Some(row) = commands::lookup(key, app.screen) else {
        if let Some(elsewhere) = commands::elsewhere(key) {
            app.tell(elsewhere);
        }
        return Vec::new();
    };
    // Esc for what lay over the screen comes when that has closed itself.
    if row.name == "back" && is_answered && app.screen == TUNE && app.shared.marks.is_empty() {
        return Vec::new();
    }
    commands::run(app, row.name)
}

/// The text field that is open on the screen shown.
fn field(app: &mut App) -> Option<&mut TextField> {
    app.screens.get_mut(app.screen)?.field()
}

fn field_key(app: &mut App, key: Option<Key>) -> Vec<Effect> {
    let Some(screen) = app.screens.get_mut(app.screen) else { return Vec::new() };
    let asks = screen.field_key(key, &app.shared);
    app.grant(asks)
}

/// Asks for another machine.
fn open(app: &mut App, opening: Opening) -> Vec<Effect> {
    if opening != Opening::First {
        app.tell_until_key("Reading ...");
    }
    vec![Effect::Open(opening)]
}

/// Puts pasted text into the open field; without one, a file name or a listing opens as a machine.
pub fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    let is_field = matches!(app.overlay, Some(Overlay::Palette(_)))
        || app.search.field.is_some()
        || app.overlay.is_none() && field(app).is_some();
    // After `open` the text itself can be pasted instead of its path.
    let is_listing = match &app.overlay {
        Some(Overlay::Palette(palette)) => {
            commands::argument_of_open(palette.input.value()).is_some() && text.trim().contains(['\r', '\n'])
        }
        _ => false,
    };
    if (!is_field || is_listing)
        && let Some(opening) = Opening::from_paste(text)
    {
        app.overlay = None;
        return open(app, opening);
    }
    let line: String =
        text.split(['\r', '\n']).next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    let over = app.overlay.is_some();
    let open = match &mut app.overlay {
        Some(Overlay::Palette(palette)) => Some(&mut palette.input),
        Some(_) => app.search.field.as_mut(),
        None => field(app),
    };
    let Some(open) = open else {
        app.tell("No field is open for text; a file name or a text of lspci opens it as a machine");
        return Vec::new();
    };
    for c in line.chars().take(4096) {
        open.insert(c);
    }
    if app.search.field.is_some() {
        search::typed(app);
    }
    if over { Vec::new() } else { field_key(app, None) }
}

/// The movement a command stands for.
fn movement(command: &str) -> Option<Step> {
    Some(match command {
        "up" => Step::Rows(-1),
        "down" => Step::Rows(1),
        "page up" => Step::Pages(-1),
        "page down" => Step::Pages(1),
        "first" => Step::End(-1),
        "last" => Step::End(1),
        _ => return None,
    })
}

fn overlay_key(app: &mut App, key: Key) -> Vec<Effect> {
    if let Some(effects) = search::key(app, key) {
        return effects;
    }
    let (end, height) = (over::end(app), app.layout().overlay.height.saturating_sub(2));
    let Some(overlay) = app.overlay.as_mut() else { return Vec::new() };
    let can_test = app.shared.can_test();
    // Without the frame and the field.
    let page = usize::from(height.saturating_sub(1)).max(1);
    // Other keys may be bound to these commands, but what lies over the screen names the usual ones.
    let meant = match key {
        Key::Esc => Some("back"),
        Key::Up => Some("up"),
        Key::Down => Some("down"),
        key => commands::lookup(key, app.screen).map(|row| row.name),
    };
    if let Overlay::Screen(id, _) = *overlay
        && let Some(screen) = app.screens.get_mut(id)
        && let Some(asks) = screen.over_key(key, meant, &app.shared)
    {
        return app.grant(asks);
    }
    let step = meant.and_then(movement);
    if let (
        Overlay::Help(top) | Overlay::Glossary(top) | Overlay::Screen(_, top) | Overlay::Confirm(_, top),
        Some(step),
    ) = (&mut *overlay, step)
    {
        *top = scrolled(*top, step.rows(height), end, 0);
        return Vec::new();
    }
    match overlay {
        Overlay::Help(_) if meant == Some("help") => return app.lay(Overlay::Glossary(0)),
        Overlay::Help(_) | Overlay::Glossary(_) => match meant {
            Some(name @ ("paths" | "units")) => return commands::run(app, name),
            // A key of a tab leads there from the help too.
            Some(name) if tabs().any(|about| about.id.0 == name) => {
                app.overlay = None;
                return commands::run(app, name);
            }
            Some("back" | "help" | "quit" | "details" | "show there" | "edit" | "fold") => {
                app.overlay = None;
            }
            _ => {}
        },
        Overlay::Palette(palette)
            if key == Key::Enter && commands::argument_of_open(palette.input.value()).is_some() =>
        {
            let words = commands::argument_of_open(palette.input.value()).and_then(Opening::from_words);
            match words {
                Some(Opening::First) => {
                    app.overlay = None;
                    return open(app, Opening::First);
                }
                // The field stays until the machine is there: a wrong path can be mended.
                Some(opening) => return open(app, opening),
                None => app.warn("open: the path is too long; open a shorter one"),
            }
        }
        Overlay::Palette(palette) => {
            match palette_key((app.screen, can_test), &app.screens.dyno.form, (palette, page), key) {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(chosen) => {
                    let text = palette.input.value().to_owned();
                    app.overlay = None;
                    return chosen.map_or_else(Vec::new, |found| commands::run_found(app, found, &text));
                }
            }
        }
        Overlay::Confirm(..) => match key {
            Key::Enter | Key::Char('y') => return agree(app),
            Key::Esc | Key::Char('n') => app.overlay = None,
            _ if meant == Some("quit") => app.overlay = None,
            _ => {}
        },
        Overlay::Quit => match key {
            Key::Char('y') => return act::stop_and_leave(app),
            // The key that raised the question does not answer it: pressed twice it loses nothing.
            Key::Esc | Key::Enter | Key::Char('n') => app.overlay = None,
            _ => {}
        },
        Overlay::Screen(..) => {}
    }
    Vec::new()
}

/// A key in the palette with its rows in sight; breaks where it closes it, with the command to run.
fn palette_key(
    here: (ScreenId, bool),
    form: &Form,
    (palette, page): (&mut Palette, usize),
    key: Key,
) -> ControlFlow<Option<Found>> {
    let found = commands::found(here, form, palette.input.value());
    let last = found.len().saturating_sub(1);
    match key {
        Key::Esc => return ControlFlow::Break(None),
        Key::Enter => return ControlFlow::Break(found.get(palette.selected).cloned()),
        Key::Up => palette.selected = palette.selected.saturating_sub(1),
        Key::Down | Key::Tab => palette.selected = (palette.selected + 1).min(last),
        Key::PageUp => palette.selected = palette.selected.saturating_sub(page),
        Key::PageDown => palette.selected = (palette.selected + page).min(last),
        key => {
            palette.input.press(key);
            palette.selected = 0;
        }
    }
    ControlFlow::Continue(())
}

/// Begins reading drives in use after the user has agreed: carries out the command that asked.
fn agree(app: &mut App) -> Vec<Effect> {
    let Some(Overlay::Confirm(asked, _)) = app.overlay.take() else { return Vec::new() };
    app.shared.pulls.agree(asked.targets);
    commands::run(app, asked.command)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{MachineRead, Message, Mode, update},
        capacity,
        model::SettingId,
        source::{self, origin::Origin},
        tune::{
            Device,
            change_log::{ChangeLog, Opened},
            testing::change_log_of,
        },
        ui::command::Row,
    };

    /// A demo's machine as the live one, whose nvme8n1 is in use.
    fn live() -> App {
        let demo = Origin::Demo("threadripper-before".to_owned());
        let (machine, problems) = source::read_machine(&*demo.open().unwrap());
        let limits = Arc::new(capacity::limits(&machine));
        let read = MachineRead { machine: Arc::new(machine), problems, limits };
        App::new(Mode::Live, read, (120, 40))
    }

    /// The commands that a footer of `width` cells offers.
    fn footer(app: &App, width: u16) -> Vec<Row> {
        let area = ratatui::layout::Rect::new(0, 0, width, 1);
        let places =
            crate::app::layout::hints(area, app.shared.theme.glyphs, app.screen, |row| app.offered(row));
        places.into_iter().map(|(_, row)| row).collect()
    }

    fn starts(effects: &[Effect]) -> bool {
        effects.iter().any(|effect| matches!(effect, Effect::StartRun(_)))
    }

    #[test]
    fn drives_in_use_are_read_after_one_question_for_each_set() {
        let mut app = live();
        let press = |app: &mut App, one: char| key(app, Key::Char(one));
        press(&mut app, '4');
        assert!(!starts(&press(&mut app, 'r')) && matches!(app.overlay, Some(Overlay::Confirm(..))));
        key(&mut app, Key::Esc);
        assert!(app.overlay.is_none() && app.shared.tests.running().is_none());
        press(&mut app, 'r');
        assert!(starts(&key(&mut app, Key::Enter)) && app.overlay.is_none());
        app.shared.tests.all.clear();
        assert!(starts(&press(&mut app, 'r')), "it is asked once");
        app.shared.tests.all.clear();
        let all: Vec<_> = app.shared.machine.hardware_drives().map(|drive| drive.name.clone()).collect();
        app.shared.mark_all_of(&all[..1]);
        assert!(starts(&press(&mut app, 'r')), "a part of what was agreed to");
    }

    #[test]
    fn the_question_before_an_experiment_names_the_settings_that_it_changes() {
        let mut app = live();
        key(&mut app, Key::Char('5'));
        app.refresh();
        let mut asked = Vec::new();
        for _ in 0..40 {
            key(&mut app, Key::Enter);
            if let Some(Overlay::Confirm(reads, _)) = &app.overlay {
                asked.push(reads.settings.join(", "));
            }
            key(&mut app, Key::Esc);
            key(&mut app, Key::Char('5'));
            key(&mut app, Key::Down);
        }
        assert!(asked.iter().any(|settings| settings.starts_with("scheduler of ")), "{asked:?}");
        assert!(asked.iter().any(String::is_empty), "block sizes are no settings: {asked:?}");
    }

    #[test]
    fn marking_all_a_second_time_unmarks_drives_of_software_too() {
        let mut app = live();
        let all = app.shared.machine.hardware_drives().count();
        let array = crate::model::DriveName::new("md0");
        app.shared.mark_all_of(std::slice::from_ref(&array));
        key(&mut app, Key::Char('*'));
        assert_eq!(app.shared.marks.len(), all + 1);
        key(&mut app, Key::Char('*'));
        assert!(app.shared.marks.is_empty(), "{:?}", app.shared.marks);
        key(&mut app, Key::Char('*'));
        assert!(app.shared.marks.len() == all && !app.shared.marks.contains(&array));
    }

    #[test]
    fn drives_that_nothing_uses_are_read_without_a_question() {
        let mut app = live();
        let free = app.shared.machine.hardware_drives().find(|drive| drive.used_by.is_empty());
        let free = free.map(|drive| drive.name.clone()).unwrap();
        app.shared.mark_all_of(&[free]);
        key(&mut app, Key::Char('4'));
        assert!(starts(&key(&mut app, Key::Char('r'))));
    }

    #[test]
    fn the_footer_offers_what_does_something_now() {
        let mut app = live();
        let hints = |app: &App| -> Vec<&str> { footer(app, 200).into_iter().map(|row| row.name).collect() };
        key(&mut app, Key::Char('4'));
        assert!(
            hints(&app).contains(&"run") && !hints(&app).contains(&"pause") && !hints(&app).contains(&"stop")
        );
        key(&mut app, Key::Char('r'));
        key(&mut app, Key::Enter);
        let shown = hints(&app);
        assert!(!shown.contains(&"run") && shown.contains(&"pause") && shown.contains(&"stop"), "{shown:?}");
        key(&mut app, Key::Char('5'));
        let shown = hints(&app);
        for not_now in ["start", "keep winner", "more rounds", "undo kept", "pull"] {
            assert!(!shown.contains(&not_now), "{not_now} of {shown:?}");
        }
        key(&mut app, Key::Char('3'));
        assert!(!hints(&app).contains(&"apply") && !hints(&app).contains(&"export"), "{:?}", hints(&app));
        key(&mut app, Key::Char('8'));
        assert!(!hints(&app).contains(&"drop here"), "{:?}", hints(&app));
    }

    #[test]
    fn an_export_counts_the_lines_of_the_journal_that_could_not_be_read() {
        let mut app = live();
        key(&mut app, Key::Char('3'));
        app.shared.settings.change_log.unread = 20;
        assert!(footer(&app, 200).iter().any(|row| row.name == "export"));
        let saved = |app: &mut App| {
            key(app, Key::Char('E'));
            let effects = key(app, Key::Char('w'));
            let saved = effects.into_iter().find_map(|effect| match effect {
                Effect::Save(text, _) => Some(text),
                _ => None,
            });
            saved.unwrap()
        };
        let lines = "20 lines of the journal could not be read\n";
        assert_eq!(saved(&mut app), format!("# no readable change since boot; {lines}"));
        let changed = change_log_of(&[("nvme0n1", "nomerges", "0", "2")]);
        app.shared.settings.change_log = ChangeLog { unread: 20, ..changed };
        let rules = saved(&mut app);
        assert!(rules.contains("nomerges") && rules.ends_with(&format!("# left out: {lines}")), "{rules}");
    }

    #[test]
    fn what_others_have_kept_or_restored_since_is_no_change_of_this_run() {
        let mut app = live();
        let nvme0n1 = Device::Drive(crate::model::DriveName::new("nvme0n1"));
        let cell = app.shared.settings.cell(&nvme0n1, SettingId("nomerges")).unwrap().clone();
        let of_nomerges = |old: &str, new: &str| {
            let mut log = change_log_of(&[("nvme0n1", "nomerges", old, new)]);
            log.entries[0].file.clone_from(&cell.files[0]);
            log
        };
        let changed = of_nomerges("1", "0");
        app.shared.settings.session = Some(changed.entries[0].by.clone());
        update(&mut app, Message::Journal(Box::new(changed)));
        assert_eq!(app.shared.standing(), 1);
        assert!(!key(&mut app, Key::Char('q')).contains(&Effect::Quit), "it asks");
        // Another process keeps it while the question stands.
        update(&mut app, Message::Journal(Box::default()));
        assert_eq!(app.shared.standing(), 0);
        assert!(key(&mut app, Key::Char('u')).contains(&Effect::Quit), "there is nothing to undo");
        // The file has its value from before again.
        let mut restored = of_nomerges("0", "2");
        assert_eq!(cell.value.unwrap().as_str(), "0");
        update(&mut app, Message::Journal(Box::new(restored.clone())));
        assert_eq!(app.shared.standing(), 0);
        // Or the one from before an earlier change that was kept.
        restored.entries[0].open[0].found = "1".to_owned();
        update(&mut app, Message::Journal(Box::new(restored)));
        assert_eq!(app.shared.standing(), 0);
        assert_eq!(key(&mut app, Key::Char('q')), [Effect::KeepChanges, Effect::Quit]);
    }

    /// The tune screen after this run changed `nomerges` and `rq_affinity` of nvme0n1, whose files have 0 and 1.
    fn after_changes(nomerges: [&str; 2], rq_affinity: [&str; 2]) -> App {
        let mut app = live();
        key(&mut app, Key::Char('3'));
        let log = changes(&app, nomerges, rq_affinity);
        app.shared.settings.session = Some("1".to_owned());
        update(&mut app, Message::Journal(Box::new(log)));
        app
    }

    fn changes(app: &App, nomerges: [&str; 2], rq_affinity: [&str; 2]) -> ChangeLog {
        let nvme0n1 = Device::Drive(crate::model::DriveName::new("nvme0n1"));
        let rows = [("nomerges", nomerges, "0"), ("rq_affinity", rq_affinity, "1")];
        let mut log = change_log_of(&rows.map(|(id, [old, new], _)| ("nvme0n1", id, old, new)));
        for (entry, (id, _, now)) in log.entries.iter_mut().zip(rows) {
            let cell = app.shared.settings.cell(&nvme0n1, SettingId(id)).unwrap();
            assert_eq!(cell.value.as_ref().unwrap().as_str(), now);
            entry.file.clone_from(&cell.files[0]);
        }
        log
    }

    fn picture(app: &App) -> String {
        let buffer = crate::app::draw::picture(app, app.shared.theme);
        let row = |y| (0..120).map(|x| buffer[(x, y)].symbol()).collect::<String>() + "\n";
        (0..40).map(row).collect()
    }

    #[test]
    fn only_what_an_undo_restores_is_promised_and_what_others_set_is_named() {
        let mut app = after_changes(["1", "0"], ["0", "2"]);
        assert_eq!(app.shared.standing(), 1);
        let shown = picture(&app);
        assert!(
            shown.contains("1 setting changed") && shown.contains("U undoes the 1 setting this run changed")
        );
        assert!(shown.contains("nvme0n1 rq_affinity another program set 1"), "in Changes: {shown}");
        assert!(!key(&mut app, Key::Char('q')).contains(&Effect::Quit));
        let shown = picture(&app);
        assert!(shown.contains("1 setting changed by this run"), "{shown}");
        assert!(shown.contains("before 1, now 0"), "{shown}");
        assert!(shown.contains("another program set 1 since: left alone"), "{shown}");
        assert!(!shown.contains("before 0"), "{shown}");
        let undo = Effect::UndoChanges(crate::ui::answer::Undoing::Own);
        assert_eq!(key(&mut app, Key::Char('u')), std::slice::from_ref(&undo));
        // What is left alone is no reason to stay.
        let left = app.shared.settings.left_alone().next().unwrap();
        let answer = crate::ui::answer::Answer {
            session: app.shared.settings.session.clone(),
            restored: vec![(left.step.clone(), left.what.clone())],
            ..Default::default()
        };
        let line = "nvme0n1 rq_affinity: changed to 1 by another program; not restored, `iodyno tune undo --force` \
                    sets 0\n";
        assert_eq!(
            update(&mut app, Message::Tuned(Box::new(answer))),
            [Effect::KeepChanges, Effect::QuitWith(line.to_owned())]
        );
        // Where others have set everything, there is no promise, and no question.
        let mut app = after_changes(["1", "2"], ["0", "2"]);
        let shown = picture(&app);
        assert!(app.shared.standing() == 0 && !shown.contains("U undoes"), "{shown}");
        assert!(key(&mut app, Key::Char('U')).is_empty());
        let shown = picture(&app);
        assert!(shown.contains("left alone: another program set 0"), "{shown}");
        assert_eq!(key(&mut app, Key::Char('q')), [undo]);
        assert!(app.shared.settings.leaving);
    }

    #[test]
    fn what_a_living_iodyno_has_set_since_is_not_promised() {
        let mut app = after_changes(["1", "0"], ["0", "1"]);
        let mut log = app.shared.settings.change_log.clone();
        assert_eq!(app.shared.standing(), 2);
        for entry in &mut log.entries {
            entry.open.push(Opened {
                session: "2".to_owned(),
                found: "7".to_owned(),
                host: None,
                tags: None,
            });
            entry.by = "2".to_owned();
        }
        update(&mut app, Message::Journal(Box::new(log.clone())));
        assert_eq!(app.shared.standing(), 0);
        key(&mut app, Key::Char('U'));
        let shown = picture(&app);
        assert!(shown.contains("left alone: an iodyno still running set 0; undo it there"), "{shown}");
        // That one has left its undo to this one.
        for entry in &mut log.entries {
            entry.open.pop();
            entry.by = "1".to_owned();
            entry.is_passed_on = true;
        }
        update(&mut app, Message::Journal(Box::new(log)));
        assert!(picture(&app).contains("undoes the 2 settings this run and another"));
        key(&mut app, Key::Char('q'));
        let shown = picture(&app);
        assert!(shown.contains("2 settings changed by this run and another"), "{shown}");
        assert!(shown.contains("restore the values before both, then quit"), "{shown}");
    }

    #[test]
    fn a_question_whose_settings_others_have_restored_offers_to_quit_alone() {
        let mut app = after_changes(["1", "0"], ["0", "1"]);
        assert!(key(&mut app, Key::Char('q')) == [Effect::ReadMachine]);
        assert!(key(&mut app, Key::Char('q')).is_empty(), "the key that raised it does not answer it");
        let log = changes(&app, ["0", "2"], ["1", "2"]);
        update(&mut app, Message::Journal(Box::new(log)));
        let shown = picture(&app);
        assert!(shown.contains("No setting is left to undo") && !shown.contains("0 settings"), "{shown}");
        assert!(!shown.contains("keep") && !shown.contains("udev rule can"), "{shown}");
        assert_eq!(key(&mut app, Key::Char('q')), [Effect::KeepChanges, Effect::Quit]);
    }

    #[test]
    fn a_pull_that_waits_offers_its_answers_and_one_that_runs_is_shown() {
        let mut app = live();
        let hints = |app: &App| -> Vec<(String, &str)> {
            footer(app, 80).into_iter().map(|row| (row.hint_keys(), row.hint)).collect()
        };
        key(&mut app, Key::Char('r'));
        assert!(app.shared.pulls.asked.is_some());
        let shown = hints(&app);
        for hint in [("Enter", "start"), ("Esc", "cancel"), ("q", "quit")] {
            assert!(shown.contains(&(hint.0.to_owned(), hint.1)), "{hint:?} of {shown:?}");
        }
        key(&mut app, Key::Enter);
        for screen in ['1', '6'] {
            key(&mut app, Key::Char(screen));
            let shown = hints(&app);
            let of_pull: Vec<_> = shown.iter().filter(|(key, _)| key == "r").collect();
            assert!(of_pull.iter().all(|(_, hint)| *hint == "show pull"), "{shown:?}");
            assert!(shown.contains(&("x".to_owned(), "stop")), "{shown:?}");
        }
    }

    #[test]
    fn y_asks_for_a_file_on_the_drive_under_the_cursor_and_no_test_begins_while_it_is_read() {
        let mut app = live();
        let node = app.shared.machine.drives.iter().find(|drive| drive.name.as_str() == "nvme8n1").unwrap();
        let subject = crate::ui::Subject::Node(node.node.unwrap(), Some(node.name.clone()));
        app.show(ScreenId("machine"), Some(subject));
        app.refresh();
        key(&mut app, Key::Char('y'));
        assert_eq!(app.screen, ScreenId("why-file"));
        let asked = field(&mut app).map(|field| field.value().to_owned()).unwrap();
        assert_eq!(asked, "/var/tmp/", "its root file system");
        let effects = key(&mut app, Key::Enter);
        assert!(matches!(&effects[..], [Effect::MeasureFile(request)] if request.file.ends_with("var/tmp")));
        key(&mut app, Key::Char('4'));
        assert!(!starts(&key(&mut app, Key::Char('r'))) || app.overlay.is_some());
        assert!(!starts(&key(&mut app, Key::Enter)), "drives in use were agreed to, and are not read");
        let mut quits = app.clone();
        key(&mut quits, Key::Char('q'));
        assert!(matches!(quits.overlay, Some(Overlay::Quit)));
        assert_eq!(key(&mut app, Key::Char('x')), [Effect::StopFile]);
    }

    #[test]
    fn y_in_a_demo_shows_the_page_that_says_why_not() {
        let mut app = live();
        app.shared.mode = Mode::Demo("threadripper-before".into());
        assert_eq!(key(&mut app, Key::Char('y')), []);
        assert_eq!((app.screen, field(&mut app).is_none()), (ScreenId("why-file"), true));
        assert_eq!(key(&mut app, Key::Esc), []);
        assert_eq!(app.screen, crate::app::MACHINE);
    }

    #[test]
    fn a_digit_in_the_help_leads_to_its_screen_and_a_second_question_mark_to_the_terms() {
        let mut app = live();
        key(&mut app, Key::Char('?'));
        key(&mut app, Key::Char('6'));
        assert_eq!((app.screen, app.overlay.is_none()), (ScreenId("why"), true));
        key(&mut app, Key::Char('?'));
        key(&mut app, Key::Char('?'));
        assert!(matches!(app.overlay, Some(Overlay::Glossary(0))));
        key(&mut app, Key::Esc);
        assert!(app.overlay.is_none());
    }
}

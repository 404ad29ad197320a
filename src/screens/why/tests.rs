//! Places of panels at every size.

use std::sync::Arc;

use proptest::prelude::*;

use super::{draw::Contents, *};
use crate::{
    capacity,
    counters::{
        Rates,
        activity::{Activity, ThreadActivity},
    },
    model::{Problem, ProblemKind},
    screens::{News, Screen},
    source::{self, origin::Origin},
    ui::message::MachineRead,
};

proptest! {
    #[test]
    fn heights_fill_their_column_and_no_panel_takes_anothers_need(
        height in 1u16..200, wants in proptest::collection::vec((1u16..100, 0u16..100), 1..5),
    ) {
        let wants: Vec<Rows> =
            wants.into_iter().map(|(needed, more)| Rows { least: needed, needed, most: needed + more }).collect();
        let place = Rect::new(0, 3, 10, height);
        let got = heights(place, &wants);
        prop_assert_eq!(got.iter().map(|rect| rect.height).sum::<u16>(), height);
        prop_assert_eq!(got[0].y, 3);
        for pair in got.windows(2) {
            prop_assert_eq!(pair[0].bottom(), pair[1].y);
        }
        if wants.iter().map(|want| want.needed).sum::<u16>() <= height {
            prop_assert!(got.iter().zip(&wants).all(|(rect, want)| rect.height >= want.needed));
        }
        let all: u16 = wants.iter().map(|want| want.most).sum();
        if all >= height {
            prop_assert!(got.iter().zip(&wants).all(|(rect, want)| rect.height <= want.most), "no empty rows");
        }
    }
}

#[test]
fn a_column_with_room_keeps_its_heights_while_tables_change() {
    let rows = |needed| Rows { least: needed, needed, most: u16::MAX };
    let at = |first: u16, second: u16| heights(Rect::new(0, 0, 60, 40), &[rows(first), rows(second)])[1].y;
    assert_eq!([at(6, 8), at(12, 9), at(19, 20), at(7, 18)], [20; 4]);
    assert_eq!(at(28, 6), 28, "what a panel needs it has");
}

#[test]
fn a_panel_that_can_be_smaller_leaves_its_rows_to_one_that_lacks_them() {
    let [cpus, table] = [(9, 14), (14, 14)].map(|(least, needed)| Rows { least, needed, most: needed });
    let of = |height| {
        heights(Rect::new(0, 0, 60, height), &[cpus, table])
            .iter()
            .map(|rect| rect.height)
            .collect::<Vec<_>>()
    };
    assert_eq!([of(28), of(26), of(23)], [[14, 14], [12, 14], [9, 14]]);
}

fn shared(size: (u16, u16)) -> Shared {
    shared_of("laptop", size)
}

fn shared_of(demo: &str, size: (u16, u16)) -> Shared {
    let (machine, problems) = source::read_machine(&*Origin::Demo(demo.to_owned()).open().unwrap());
    let limits = capacity::limits(&machine);
    let read = MachineRead { machine: Arc::new(machine), problems, limits: Arc::new(limits) };
    let mut shared = Shared::new(Mode::Live, read, size);
    shared.rates = Some(Rates::default());
    shared
}

#[test]
fn every_panel_has_a_place_or_is_named_as_hidden() {
    for (width, height) in [(80, 17), (100, 24), (120, 29), (200, 49), (300, 89)] {
        let shared = shared((width, height + 12));
        let Source::Now(sentence) = Why::default().found(&shared, sentence) else {
            panic!("there are rates")
        };
        for chosen in PANELS.map(Some).into_iter().chain([None]) {
            let state = Why { chosen, ..Why::default() };
            let area = Rect::new(0, 2, width, height);
            let nine = |_, _| Rows { least: 9, needed: 9, most: 9 };
            let places = Places::new(&state, &shared, area, &sentence, nine);
            let shown: Vec<Panel> = places.panels.iter().map(|(panel, _)| *panel).collect();
            let mut all = [shown.clone(), places.hidden.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, PANELS, "{width}x{height}");
            assert!(shown.contains(&state.focus(&sentence)));
            assert!(
                shown.len() >= 2 && (width < 120 || shown.len() == PANELS.len()),
                "{width}x{height}: {shown:?}"
            );
            let cells: u32 = places.panels.iter().map(|(_, rect)| rect.area()).sum();
            assert_eq!(cells, u32::from(width) * u32::from(height - places.sentence.height), "no gap");
        }
    }
}

#[test]
fn the_sentence_chooses_the_panels_until_the_user_does() {
    let shared = shared((80, 24));
    let mut state = Why::default();
    let Source::Now(sentence) = Why::default().found(&shared, sentence) else { panic!("there are rates") };
    assert_eq!(state.focus(&sentence), sentence.panels[0]);
    state.sideways(1, &shared);
    assert_eq!(state.focus(&sentence), Panel::Threads);
    state.sideways(-2, &shared);
    assert_eq!(state.focus(&sentence), Panel::Pressure);
    state.enlarge(&shared);
    assert!(Screen::back(&mut state, &shared).is_some() && Screen::back(&mut state, &shared).is_some());
    assert!(state.chosen.is_none() && Screen::back(&mut state, &shared).is_none());
}

#[test]
fn the_footer_offers_no_key_without_panels() {
    let offered = |shared: &Shared| {
        let state = Why::default();
        let rows = COMMANDS.iter().filter(|command| state.offers(command.row.name, shared));
        rows.map(|command| command.row.name).collect::<Vec<_>>()
    };
    let mut shared = shared((80, 24));
    assert_eq!(offered(&shared).len(), COMMANDS.len());
    shared.rates = None;
    assert!(offered(&shared).is_empty(), "nothing counted yet");
    shared.mode = Mode::Demo("laptop".into());
    assert!(offered(&shared).is_empty(), "no test runs");
    let state = Why::default();
    assert!(state.offers("quit", &shared), "keys of other tables work");
    let mut state = state;
    state.enlarge(&shared);
    assert!(!state.is_large);
}

#[test]
fn what_a_table_lacks_has_one_row_where_the_table_needs_the_others() {
    let mut shared = shared((120, 40));
    let problem = |file: &str, reason: &str| {
        Problem::new(ProblemKind::Denied, format!("/proc/1/task/1/{file}"), reason.to_owned())
    };
    let [refused, hidden] =
        ["EPERM: operation not permitted, by privilege", "EACCES: permission denied, by a security policy"];
    let threads = ThreadActivity {
        problems: vec![problem("syscall", refused), problem("wchan", refused), problem("stack", hidden)],
        seen: 9,
        refused: 9,
        ..ThreadActivity::default()
    };
    shared.activity = Activity { threads: Some(threads), ..Activity::default() };
    let contents = |is_large| Contents::new(&Why { is_large, ..Why::default() }, &shared);
    // The frame, the heading and one row of the table, and one row of reasons: whole ones have what is left.
    assert_eq!(contents(false).rows(Panel::Threads, &shared, 60).needed, 2 + 2 + 1);
    let lines = |is_large, height| contents(is_large).lines(Panel::Threads, 56, height).len();
    assert_eq!([lines(false, 6), lines(false, 5), lines(true, 5)], [4, 1, 4]);
    let short = |width| -> Vec<String> {
        let lines = contents(false).lines(Panel::Threads, width, 3);
        lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
    };
    assert_eq!(short(56), ["unread    syscall and wchan, EPERM; stack, EACCES"]);
    assert_eq!(
        short(36),
        ["unread    syscall and wchan, EPERM;", "          stack, EACCES"],
        "it ends on the next row"
    );
    let said: Vec<String> = crate::report::why::lines::threads(&shared.machine, &shared.activity)
        .into_iter()
        .map(|line| line.text)
        .collect();
    assert_eq!(
        said,
        [
            "not available here: syscall and wchan, EPERM (operation not permitted, by privilege)",
            "not available here: stack, EACCES (permission denied, by a security policy)"
        ],
        "files of one reason are one line"
    );
    let threads = shared.activity.threads.as_mut().unwrap();
    threads.refused = 5;
    threads.problems.truncate(2);
    // As it is where the kernel shows 0 for the wait channel because the system call is refused.
    threads.problems[1] = problem("wchan", "the kernel shows 0, as /proc/1/task/1/syscall is refused: EPERM");
    let lines = crate::report::why::lines::threads(&shared.machine, &shared.activity);
    let said: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    assert_eq!(
        said,
        [
            "not available here: syscall and wchan of 5 of 9 threads, EPERM (operation not permitted, by privilege)"
        ],
        "wait channels of the others are shown"
    );
}

/// A look of a live screen at fio, which waits for its reads, beside a CPU hog that keeps it from its CPU in some looks.
fn look_at(shared: &mut Shared, second: u64, waits: f64) {
    use crate::{
        counters::{
            CpuShares, DiskRates,
            activity::{ProcessRates, ThreadKind},
        },
        text::Label,
    };
    let drive = shared.machine.hardware_drives().next().unwrap().name.clone();
    let busy = CpuShares { usr: 98.0, idl: 2.0, ..CpuShares::default() };
    let disk = DiskRates { reads: 20e3, read_bytes: 80e6, queue_depth: 12.0, ..DiskRates::default() };
    shared.now = std::time::Duration::from_secs(second);
    shared.rates = Some(Rates {
        elapsed: std::time::Duration::from_secs(1),
        cpu: Some(busy),
        cpus: (0..2).map(|cpu| (cpu, busy)).collect(),
        disks: std::iter::once((drive, disk)).collect(),
        ..Rates::default()
    });
    let process = |pid, name, read, cpus| ProcessRates {
        pid,
        has_ended: false,
        command: Label::new(name),
        read_bytes: Some(read),
        written_bytes: Some(0.0),
        called_read: Some(read),
        called_write: Some(0.0),
        cpus,
        is_nice: false,
        delayed: None,
        drives: None,
    };
    let kind = |state, wchan: Option<&str>| ThreadKind {
        state,
        command: Label::new("fio"),
        is_kernel: false,
        syscall: None,
        wchan: wchan.map(Label::new),
        stack: None,
    };
    let kinds = vec![(kind('S', Some("io_cqring_wait")), waits), (kind('R', None), 1.0 - waits)];
    let threads = ThreadActivity { kinds, samples: 4, seen: 2, total: 2, ..ThreadActivity::default() };
    let processes = vec![process(1, "fio", 80e6, 0.2), process(2, "yes", 0.0, 1.7)];
    shared.activity = Activity { threads: Some(threads), processes: Some(processes), ..Activity::default() };
}

#[test]
fn a_hog_beside_reads_that_wait_now_and_then_does_not_alternate_with_the_drives() {
    let mut shared = shared((120, 40));
    let mut state = Why::default();
    let mut rules = Vec::new();
    // Looks of few samples: fio is found waiting in all of them, in none, or in half.
    for (second, waits) in
        [0.5, 1.0, 0.0, 1.0, 0.25, 0.75, 0.0, 1.0, 0.5, 0.0, 1.0, 0.25].into_iter().enumerate()
    {
        look_at(&mut shared, second as u64, waits);
        state.hear(News::Findings, &shared);
        let Source::Now(sentence) = state.source(&shared) else { panic!("there are rates") };
        rules.push(sentence.rule);
    }
    let changes = rules.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes <= 1, "{rules:?}");
    // fio always waits now: the hog is not in its way.
    for second in 12..18 {
        look_at(&mut shared, second, 1.0);
        state.hear(News::Findings, &shared);
    }
    let Source::Now(sentence) = state.source(&shared) else { panic!("there are rates") };
    assert_eq!(sentence.rule, "drives");
    assert!(sentence.text.starts_with("fio waits for completions (io_cqring_wait)"), "{}", sentence.text);
}

#[test]
fn bursts_beside_a_hog_leave_the_sentence_as_it_is() {
    // Written by a program that the samples find, or by the kernel for one that is gone; and calls of the hog, as of `yes > /dev/null`.
    for (is_known, called) in [(true, 0.0), (false, 0.0), (true, 5e9), (false, 5e9)] {
        let mut shared = shared((120, 40));
        let mut state = Why::default();
        let mut rules = Vec::new();
        for second in 0..24 {
            look_at(&mut shared, second, 1.0);
            let has_burst = [4, 9, 12].contains(&second) || second >= 18;
            let processes = shared.activity.processes.as_mut().unwrap();
            processes[1].called_write = Some(called);
            if !has_burst || !is_known && second < 18 {
                processes.remove(0);
            }
            let disks = &mut shared.rates.as_mut().unwrap().disks;
            if second < 18 {
                for disk in disks.values_mut() {
                    disk.reads = 600.0;
                }
            }
            if !has_burst {
                disks.clear();
            }
            state.hear(News::Findings, &shared);
            let Source::Now(sentence) = state.source(&shared) else { panic!("there are rates") };
            assert!(second >= 18 || sentence.text.contains("busy"), "{second}: {}", sentence.text);
            assert!(!sentence.text.contains("not known"), "{second}: {}", sentence.text);
            rules.push(sentence.rule);
        }
        let rest = if called > 0.0 { "idle" } else { "little-io" };
        assert_eq!(rules[1..18], [rest; 17], "{is_known} {called}");
        assert_eq!(rules[20], "drives", "a load that goes on has its limit");
    }
}

#[test]
fn no_limit_is_named_before_threads_and_processes_were_counted() {
    let mut shared = shared((120, 40));
    let mut state = Why::default();
    let said = |state: &Why, shared: &Shared| {
        let Source::Now(sentence) = state.source(shared) else { panic!("there are rates") };
        (sentence.rule, sentence.text)
    };
    // Both CPUs are busy, as where the program itself has just begun.
    look_at(&mut shared, 0, 1.0);
    shared.activity = Activity::default();
    state.hear(News::Findings, &shared);
    let words = "Drives read 80.0 MB/s; limit not known yet: two seconds are compared first";
    assert_eq!(said(&state, &shared), ("counting", words.to_owned()));
    look_at(&mut shared, 1, 1.0);
    state.hear(News::Findings, &shared);
    let busy = "Drives read 80.0 MB/s; CPUs are 98 % busy (usr 98 %), most of the time with yes";
    assert_eq!(said(&state, &shared), ("counting", busy.to_owned()), "one look is no proof of a limit");
    look_at(&mut shared, 2, 1.0);
    state.hear(News::Findings, &shared);
    assert_eq!(said(&state, &shared).0, "drives", "no sentence of before is in its way");
    // Another screen was shown meanwhile.
    look_at(&mut shared, 3, 1.0);
    shared.activity = Activity::default();
    state.hear(News::Findings, &shared);
    assert_eq!(said(&state, &shared).0, "counting");
}

#[test]
fn a_load_that_ends_takes_its_sentence_along_and_panels_show_what_the_sentence_is_made_of() {
    let mut shared = shared((120, 40));
    let mut state = Why::default();
    for second in 0..6 {
        look_at(&mut shared, second, if second == 5 { 0.0 } else { 1.0 });
        state.hear(News::Findings, &shared);
    }
    let Source::Now(sentence) = state.source(&shared) else { panic!("there are rates") };
    let contents = Contents::new(&state, &shared);
    let (_, activity) = state.shown_of(&shared).unwrap();
    let waits = &activity.threads.as_ref().unwrap().kinds;
    assert_eq!(sentence.rule, "drives", "{}", sentence.text);
    assert!(waits.iter().any(|(kind, mean)| kind.state == 'S' && (*mean - 0.75).abs() < 1e-9), "{waits:?}");
    assert!(contents.rows(Panel::Threads, &shared, 60).needed > 4, "both kinds have a row");
    for (second, rule) in [(6, "drives"), (7, "idle")] {
        look_at(&mut shared, second, 0.0);
        shared.rates.as_mut().unwrap().disks.clear();
        shared.activity.processes = Some(Vec::new());
        state.hear(News::Findings, &shared);
        let Source::Now(now) = state.source(&shared) else { panic!("there are rates") };
        assert_eq!(now.rule, rule, "{}", now.text);
        assert!(
            rule == "idle" || now.text == sentence.text,
            "its last second does not dilute it: {}",
            now.text
        );
    }
}

#[test]
fn threads_that_sleep_are_hidden_until_they_are_asked_for_whatever_room_there_is() {
    use crate::{counters::activity::ThreadKind, text::Label};
    let mut shared = shared((200, 60));
    let kind = |state, command, wchan| ThreadKind {
        state,
        command: Label::new(command),
        is_kernel: false,
        syscall: None,
        wchan: Some(Label::new(wchan)),
        stack: None,
    };
    let kinds = vec![
        (kind('R', "gzip", "-"), 1.0),
        (kind('S', "fio", "io_cqring_wait"), 1.0),
        (kind('S', "bash", "do_wait"), 3.0),
    ];
    let threads = ThreadActivity { kinds, samples: 1, ..ThreadActivity::default() };
    shared.activity = Activity { threads: Some(threads), ..Activity::default() };
    let drawn = |with_sleeping| {
        let state = Why { with_sleeping, ..Why::default() };
        let area = Rect::new(0, 0, 200, 49);
        let mut buffer = ratatui::buffer::Buffer::empty(area);
        let mut brush =
            crate::screens::widgets::paint::Brush::new(&mut buffer, crate::ui::theme::Theme::PLAIN, true);
        state.draw(&shared, area, &mut brush);
        let text: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        ["gzip", "io_cqring_wait", "do_wait"].map(|word| text.contains(word))
    };
    assert_eq!(drawn(false), [true, true, false], "one that waits for I/O does not sleep");
    assert_eq!(drawn(true), [true; 3]);
}

#[test]
fn each_test_of_a_pull_has_its_own_sentence_from_its_first_whole_look_on() {
    use crate::{findings::validity::RunMonitor, model::Workload, ui::test::Test};
    let mut shared = shared((120, 40));
    let mut state = Why::default();
    let begin = |shared: &mut Shared, jobs| {
        let workload = Workload { jobs, ..Workload::default() };
        shared.tests.begin(Test::new(workload, Vec::new(), RunMonitor::default()));
        assert!(shared.tests.running().is_some());
    };
    let rule = |state: &Why, shared: &Shared| {
        let Source::Now(sentence) = state.source(shared) else { panic!("there are rates") };
        sentence.rule
    };
    let title = |state: &Why, shared: &Shared| {
        let area = Rect::new(0, 0, 120, 30);
        let mut buffer = ratatui::buffer::Buffer::empty(area);
        let mut brush =
            crate::screens::widgets::paint::Brush::new(&mut buffer, crate::ui::theme::Theme::PLAIN, true);
        state.draw(shared, area, &mut brush);
        (0..120).map(|x| buffer[(x, 0)].symbol()).collect::<String>()
    };
    begin(&mut shared, 1);
    assert!(matches!(state.source(&shared), Source::Nothing(_)), "rates of before the test");
    look_at(&mut shared, 0, 1.0);
    state.hear(News::Findings, &shared);
    assert!(matches!(state.source(&shared), Source::Nothing(_)), "it spans the begin of the test");
    for second in 1..4 {
        look_at(&mut shared, second, 0.0);
        state.hear(News::Findings, &shared);
    }
    assert_eq!(rule(&state, &shared), "other-programs");
    assert!(title(&state, &shared).contains("means of 3 s"), "{}", title(&state, &shared));
    begin(&mut shared, 8);
    let mut idle = |second| {
        look_at(&mut shared, second, 0.0);
        let rates = shared.rates.as_mut().unwrap();
        rates.cpu = rates.cpu.map(|shares| crate::counters::CpuShares { usr: 18.0, idl: 82.0, ..shares });
        let means = |state: &Why| state.shown_of(&shared).and_then(|(rates, _)| rates.cpu).unwrap().usr;
        let before = (rule(&state, &shared), means(&state));
        state.hear(News::Findings, &shared);
        (before, (rule(&state, &shared), means(&state)), title(&state, &shared))
    };
    let (before, mixed, title) = idle(4);
    assert_eq!((before, mixed), (("other-programs", 98.0), ("other-programs", 98.0)), "of the test before");
    assert!(title.contains("figures: of the load before"), "{title}");
    let (_, (rule, busy), title) = idle(5);
    assert!(rule != "other-programs" && busy < 19.0, "the first whole look: {rule} {busy}");
    assert!(!title.contains("figures"), "{title}");
    // Its first look began with its reads.
    begin(&mut shared, 2);
    shared.tests.running_mut().unwrap().reads_since = Some(std::time::Duration::from_secs(6));
    look_at(&mut shared, 7, 0.0);
    state.hear(News::Findings, &shared);
    let Source::Now(sentence) = state.source(&shared) else { panic!("there are rates") };
    assert_eq!(sentence.rule, "other-programs", "{}", sentence.text);
}

#[test]
fn a_full_place_has_the_same_words_here_and_on_the_machine_screen() {
    let mut shared = shared_of("threadripper-before", (120, 40));
    let mut state = Why::default();
    let load = |shared: &mut Shared, each: f64| {
        let names: Vec<_> = (0..8).map(|number| format!("nvme{number}n1")).collect();
        let disk = crate::counters::DiskRates { read_bytes: each, reads: 1e4, ..Default::default() };
        let disks = names.iter().map(|name| (crate::model::DriveName::new(name), disk));
        let rates = shared.rates.as_mut().unwrap();
        rates.disks = disks.collect();
        let (rates, now) = (rates.clone(), shared.now);
        shared.load.take_rates(&rates, |_| true, now);
        shared.find_bottlenecks();
    };
    // A hog takes the CPUs meanwhile.
    for second in 0..3 {
        look_at(&mut shared, second, 0.0);
        load(&mut shared, 1e9);
        state.hear(News::Findings, &shared);
    }
    let rule = |state: &Why, shared: &Shared| {
        let Source::Now(sentence) = state.source(shared) else { panic!("there are rates") };
        (sentence.rule, sentence.text)
    };
    assert_eq!((rule(&state, &shared).0, bottleneck_panel::full(&shared)), ("other-programs", None));
    for second in 3..5 {
        look_at(&mut shared, second, 0.0);
        load(&mut shared, 4.95e9);
        state.hear(News::Findings, &shared);
        let (rule, text) = rule(&state, &shared);
        assert_eq!((rule, Some(&text)), ("full", bottleneck_panel::full(&shared).as_ref()));
        assert!(text.starts_with("root complex 0000:40 is full: 39.6 of 39.4 GB/s."), "{text}");
    }
    look_at(&mut shared, 5, 0.0);
    load(&mut shared, 1e9);
    state.hear(News::Findings, &shared);
    assert_ne!(rule(&state, &shared).0, "full", "the Machine screen names none either");
}

fn drawn(state: &Why, shared: &Shared) -> String {
    let (width, height) = shared.size;
    let area = Rect::new(0, 0, width, height - 11);
    let mut buffer = ratatui::buffer::Buffer::empty(area);
    let mut brush =
        crate::screens::widgets::paint::Brush::new(&mut buffer, crate::ui::theme::Theme::PLAIN, true);
    state.draw(shared, area, &mut brush);
    buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect()
}

#[test]
fn a_tall_terminal_has_idle_cpus_and_drives_and_no_idle_process() {
    use crate::{
        counters::{CpuShares, DiskRates},
        text::Label,
    };
    let filled = |size| {
        let mut shared = shared_of("threadripper-before", size);
        look_at(&mut shared, 0, 1.0);
        let process = shared.activity.processes.as_ref().unwrap()[0].clone();
        let idle = crate::counters::activity::ProcessRates {
            command: Label::new("sleeper"),
            read_bytes: Some(0.0),
            cpus: 0.0,
            ..process
        };
        shared.activity.processes.as_mut().unwrap().push(idle);
        let rates = shared.rates.as_mut().unwrap();
        let of = |cpu| if cpu < 2 { 50.0 } else { 100.0 };
        rates.cpus = (0..32).map(|cpu| (cpu, CpuShares { idl: of(cpu), ..CpuShares::default() })).collect();
        let names = (0..10).map(|number| format!("nvme{number}n1"));
        rates.disks = names.map(|name| (crate::model::DriveName::new(&name), DiskRates::default())).collect();
        drawn(&Why::default(), &shared)
    };
    let tall = filled((300, 100));
    for words in ["  31 ", "nvme9n1", "aqu-sz"] {
        assert!(tall.contains(words), "{words}: {tall}");
    }
    assert!(!tall.contains("sleeper"), "it moves nothing: {tall}");
    let low = filled((120, 40));
    assert!(low.contains("30 CPUs idle") && !low.contains("aqu-sz"), "{low}");
}

#[test]
fn a_find_marks_rows_of_the_chosen_panel_and_scrolls_to_them() {
    use crate::ui::Key;
    let mut shared = shared((120, 40));
    look_at(&mut shared, 0, 1.0);
    let process = shared.activity.processes.as_ref().unwrap()[0].clone();
    let named = |number: usize| crate::counters::activity::ProcessRates {
        command: crate::text::Label::new(&format!("reader{number}")),
        ..process.clone()
    };
    shared.activity.processes = Some((0..50).map(named).collect());
    let mut state = Why { chosen: Some(Panel::Processes), ..Why::default() };
    let area = Rect::new(0, 0, 120, 29);
    state.find_row(&shared);
    for letter in "READER4".chars() {
        state.field_key(Some(Char(letter)), &shared);
    }
    assert_eq!(state.tops[&Panel::Processes], 4);
    state.field_key(Some(Key::Enter), &shared);
    state.find_row(&shared);
    state.field_key(Some(Key::Enter), &shared);
    state.refresh(&shared, area);
    let text = drawn(&state, &shared);
    assert!(text.contains("find READER4: 2 of 11") && text.contains("reader40"), "{text}");
    assert!(Screen::back(&mut state, &shared).is_some() && !drawn(&state, &shared).contains("find READER4"));
}

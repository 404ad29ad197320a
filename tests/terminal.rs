//! The program in a real terminal: it starts, draws, follows a resize, runs a test, leaves, and gives the terminal back.

#![expect(clippy::disallowed_methods, reason = "the loop device's settings are put back by the test itself")]

#[path = "common/loop_device.rs"]
mod loop_device;
#[path = "common/terminal.rs"]
mod terminal;

use std::{
    fs, io::Read, os::unix::fs::PermissionsExt, path::Path, process::Command, sync::PoisonError, thread,
    time::Duration,
};

use loop_device::LoopDevice;
use portable_pty::{CommandBuilder, PtySize};
use rustix::process::{Pid, Signal, kill_process};
use terminal::Terminal;

#[test]
fn a_test_runs_the_size_changes_and_the_terminal_comes_back() {
    let mut terminal = Terminal::start(&["--demo", "threadripper-before"]);
    terminal.wait_for_text("root complex");
    assert!(terminal.look(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    terminal.press("4r");
    terminal.wait_for_text("● running");
    terminal.resize(24, 80);
    terminal.wait_for("the smaller screen", |screen| {
        screen.contents_between(23, 0, 23, 79).contains("stop") && screen.contents().contains("workload")
    });
    terminal.resize(10, 40);
    terminal.wait_for_text("iodyno needs 60 columns");
    terminal.resize(40, 120);
    terminal.wait_for_text("throughput");
    terminal.press("q");
    terminal.wait_for_text("A test is running");
    terminal.press("y");
    terminal.ends_with(0);
}

#[test]
fn control_c_leaves_at_once_with_the_status_of_an_interrupt() {
    let mut terminal = Terminal::start(&["--demo", "laptop"]);
    terminal.wait_for_text("root complex");
    terminal.press("r\u{3}");
    terminal.ends_with(130);
}

#[test]
fn signals_give_the_terminal_back() {
    for (signal, status) in [
        (Signal::TERM, 143),
        (Signal::QUIT, 131),
        (Signal::HUP, 129),
        (Signal::USR1, 138),
        (Signal::XCPU, 152),
        (Signal::STKFLT, 144),
    ] {
        let terminal = Terminal::start(&["--demo", "laptop"]);
        terminal.wait_for_text("root complex");
        terminal.signal(signal);
        terminal.ends_with(status);
    }
}

#[test]
fn signals_for_real_time_give_the_terminal_back() {
    // Those between them and 32 are the C library's own.
    for signal in [35, 50, 64] {
        let terminal = Terminal::start(&["--demo", "laptop"]);
        terminal.wait_for_text("root complex");
        let id = terminal.child.process_id().expect("it runs").to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status();
        assert!(sent.expect("kill runs").success());
        terminal.ends_with(128 + signal);
    }
}

#[test]
fn signals_of_program_errors_give_the_terminal_back_and_end_the_program() {
    for (signal, name) in [
        (Signal::ABORT, "Aborted"),
        (Signal::SYS, "Bad system call"),
        (Signal::TRAP, "Trace/breakpoint trap"),
        (Signal::SEGV, "Segmentation fault"),
        (Signal::BUS, "Bus error"),
        (Signal::ILL, "Illegal instruction"),
        (Signal::FPE, "Floating point exception"),
    ] {
        let mut terminal = Terminal::start(&["--demo", "laptop"]);
        let modes = terminal.modes();
        terminal.wait_for_text("root complex");
        assert_ne!(terminal.modes(), modes, "raw");
        terminal.signal(signal);
        let status = terminal.child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(name));
        assert_eq!(terminal.modes(), modes, "{name}");
        terminal.ends_as_before();
    }
}

#[test]
fn a_program_error_behind_a_terminal_that_takes_no_output_ends_the_program() {
    let mut terminal = Terminal::start(&["--demo", "laptop"]);
    let modes = terminal.modes();
    terminal.wait_for_text("root complex");
    terminal.stall();
    terminal.signal(Signal::ABORT);
    assert!(terminal.ends_soon().is_some());
    assert_eq!(terminal.modes(), modes);
}

#[test]
fn without_any_of_its_threads_the_screen_ends_with_a_line_that_says_so() {
    if Command::new("strace").arg("-V").output().is_err() {
        loop_device::skip::skipped("strace does not run");
        return;
    }
    for number in 1..=5 {
        let mut command = CommandBuilder::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
        command.arg(format!("inject=clone3:error=EAGAIN:when={number}+"));
        command.args([env!("CARGO_BIN_EXE_iodyno"), "--demo", "laptop"]);
        let terminal = Terminal::run(command, Path::new(terminal::STATE), (120, 40)).ends_with(2);
        terminal.wait_for_text("iodyno: cannot start a thread: ");
    }
}

#[test]
fn a_terminal_that_answers_no_query_is_drawn_again_after_control_l_and_job_control() {
    let mut terminal = Terminal::start(&["--demo", "laptop"]);
    terminal.wait_for_text("root complex");
    terminal.look(|screen| assert!(screen.alternate_screen()));
    terminal.screen.lock().unwrap_or_else(PoisonError::into_inner).process(b"\x1b[2J");
    assert!(!terminal.look(|screen| screen.contents().contains("root complex")));
    terminal.press("\u{c}");
    terminal.wait_for_text("root complex");

    terminal.signal(Signal::TSTP);
    terminal.wait_for("the shell's screen", |screen| !screen.alternate_screen());
    terminal.signal(Signal::CONT);
    terminal.wait_for_text("root complex");
    assert!(terminal.look(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    terminal.press("q");
    terminal.ends_with(0);
}

#[test]
fn a_terminal_that_takes_no_output_delays_neither_keys_nor_signals() {
    for (signal, status) in [(Some(Signal::TERM), 143), (None, 0)] {
        let mut terminal = Terminal::start(&["--demo", "threadripper-before"]);
        terminal.wait_for_text("root complex");
        terminal.stall();
        terminal.leave(signal);
        assert_eq!(terminal.ends_soon(), Some(status));
        // What a terminal finds that goes on after the end.
        let mut rest = Vec::new();
        let _closed = terminal.master.try_clone_reader().expect("a reader").read_to_end(&mut rest);
        terminal.screen.lock().unwrap_or_else(PoisonError::into_inner).process(&rest);
        assert!(terminal.look(|screen| !screen.alternate_screen() && !screen.hide_cursor()), "{signal:?}");
    }
}

#[test]
fn settings_are_restored_when_the_terminal_takes_no_output() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().expect("a folder");
    let before = device.read_settings();
    for (signal, status) in [(Some(Signal::TERM), 143), (None, 0)] {
        let mut terminal = on_the_scheduler_of(&device, state.path());
        change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
        terminal.stall();
        terminal.leave(signal);
        assert_eq!(terminal.ends_soon(), Some(status), "{signal:?}");
        assert_eq!(device.read_settings(), before, "{signal:?}");
    }
}

/// Quitting asks while a test runs; a terminal that takes no output cannot show the question.
#[test]
fn a_test_is_left_without_a_question_that_nobody_sees() {
    let mut terminal = Terminal::start(&["--demo", "threadripper-before"]);
    terminal.wait_for_text("root complex");
    terminal.press("4r");
    terminal.wait_for_text("● running");
    terminal.stall();
    terminal.leave(None);
    assert_eq!(terminal.ends_soon(), Some(0));
}

/// As of the command line: what a test had measured when the screen was left is stored.
#[test]
fn a_test_that_is_running_when_the_screen_is_left_is_stored() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
    let (path, state) = (folder.path().join("file"), folder.path().join("state"));
    fs::write(&path, vec![7; 8 << 20]).expect("a file");
    // `y` answers the question; a signal asks none; `x` stops the test just before.
    for (index, (keys, signal)) in
        [("qy", None), ("xq", None), ("", Some(Signal::TERM)), ("x", Some(Signal::TERM))]
            .into_iter()
            .enumerate()
    {
        let mut terminal = Terminal::start_with(&[], &state);
        terminal.wait_for_text("LIVE");
        terminal.press("4\r");
        terminal.wait_for_text("▏");
        terminal.press(&format!("{}\r", path.display()));
        terminal.wait_for_text("a file");
        terminal.press("r");
        terminal.wait_for_text("● running");
        thread::sleep(Duration::from_millis(500));
        for key in keys.chars() {
            terminal.press(&key.to_string());
            thread::sleep(Duration::from_millis(if key == 'q' { 500 } else { 0 }));
        }
        if let Some(signal) = signal {
            terminal.signal(signal);
        }
        terminal.ends_with(if signal.is_some() { 143 } else { 0 });
        let stored = fs::read_to_string(state.join("runs")).unwrap_or_default();
        assert_eq!(stored.lines().count(), index + 1, "{keys:?}: {stored}");
        assert!(stored.contains("\"interrupted\":true"), "{stored}");
    }
}

#[test]
fn a_terminal_of_absurd_size_is_drawn_in_part() {
    let mut terminal = Terminal::start(&["--demo", "laptop"]);
    terminal.wait_for_text("root complex");
    let size = PtySize { rows: 30_000, cols: 30_000, pixel_width: 0, pixel_height: 0 };
    terminal.master.resize(size).expect("a new size");
    thread::sleep(Duration::from_millis(300));
    terminal.resize(40, 120);
    terminal.press("4");
    terminal.wait_for_text("workload");
    terminal.press("q");
    terminal.ends_with(0);
}

#[test]
fn the_live_machine_is_drawn_and_left() {
    let mut terminal = Terminal::start(&[]);
    terminal.wait_for_text("LIVE");
    terminal.press("q");
    terminal.ends_with(0);
}

/// Opens the tune screen with the cursor on the scheduler of `device`.
fn on_the_scheduler_of(device: &LoopDevice, state: &Path) -> Terminal {
    to_the_scheduler_of(device, Terminal::start_with(&[], state))
}

fn to_the_scheduler_of(device: &LoopDevice, mut terminal: Terminal) -> Terminal {
    terminal.wait_for_text("PCIe tree");
    terminal.press("3");
    terminal.wait_for_text("Settings");
    let wanted = format!(" {}  scheduler", device.name);
    for step in 0..1000 {
        // A busy machine draws late: the cursor has moved on when its row is seen, and comes by again.
        for _ in 0..8 {
            if terminal.look(|screen| screen.contents().contains(&wanted)) {
                return terminal;
            }
            thread::sleep(Duration::from_millis(20));
        }
        terminal.press(if step / 10 % 2 == 0 { "j" } else { "k" });
    }
    panic!("no row of {}: {}", device.name, terminal.look(vt100::Screen::contents));
}

fn change_the_scheduler(terminal: &mut Terminal, device: &LoopDevice, [from, to]: [&str; 2]) {
    terminal.press("+");
    terminal.wait_for_text("1 staged");
    terminal.press("a");
    terminal.wait_for_text("1 write to make");
    assert_eq!(device.setting("scheduler").as_deref(), Some(from), "nothing is written before Enter");
    terminal.press("\r");
    terminal.wait_for_text("1 of 1 applied");
    assert_eq!(device.setting("scheduler").as_deref(), Some(to));
}

#[test]
fn what_another_program_set_is_left_at_the_end_and_named_after_it() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    // Requests of a scheduler go with it where an undo sets none.
    device.write("scheduler", "mq-deadline");
    device.write("nr_requests", "100");
    let before = device.setting("nr_requests").expect("a number of requests");
    for signal in [None, Some(Signal::TERM)] {
        let state = tempfile::tempdir().expect("a folder");
        let mut terminal = on_the_scheduler_of(&device, state.path());
        change_the_scheduler(&mut terminal, &device, ["mq-deadline", "kyber"]);
        device.write("nr_requests", "64");
        terminal.wait_for_text("1 setting changed");
        if let Some(signal) = signal {
            terminal.signal(signal);
        } else {
            terminal.press("q");
            terminal.wait_for_text("another program set 64 since: left alone");
            terminal.press("u");
        }
        let terminal = terminal.ends_with(if signal.is_some() { 143 } else { 0 });
        terminal.wait_for_text(&format!(
            "nr_requests: changed to 64 by another program; not restored, `iodyno tune undo --force` sets {before}"
        ));
        let left = ["scheduler", "nr_requests"].map(|setting| device.setting(setting));
        assert_eq!(left, [Some("mq-deadline".to_owned()), Some("64".to_owned())], "{signal:?}");
        let said = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
            let output =
                command.env("IODYNO_STATE_DIR", state.path()).args(arguments).output().expect("it runs");
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        };
        assert!(!said(&["tune", "list", &device.name]).contains("left settings changed"), "{signal:?}");
        let forced = said(&["tune", "undo", "--force"]);
        assert_eq!(device.setting("nr_requests").as_ref(), Some(&before), "as the line says: {forced}");
    }
}

#[test]
fn settings_of_a_real_device_are_changed_undone_and_put_back_after_every_end() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().expect("a folder");
    let before = device.read_settings();

    let mut terminal = on_the_scheduler_of(&device, state.path());
    change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
    terminal.press("U");
    terminal.wait_for_text("restored");
    assert_eq!(device.read_settings(), before, "undone");
    change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
    terminal.press("q");
    terminal.wait_for_text("changed by this run");
    terminal.press("u");
    terminal.ends_with(0);
    assert_eq!(device.read_settings(), before, "undone on leaving");

    let mut terminal = on_the_scheduler_of(&device, state.path());
    change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
    let mut other = on_the_scheduler_of(&device, state.path());
    assert!(!other.look(|screen| screen.contents().contains("left changed")), "the first one lives");
    other.press("q");
    other.ends_with(0);
    terminal.press("\u{3}");
    terminal.ends_with(130);
    assert_eq!(device.read_settings(), before, "put back when interrupted");

    let mut terminal = on_the_scheduler_of(&device, state.path());
    change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
    let pid = terminal.child.process_id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    kill_process(pid.expect("it has a number"), Signal::KILL).expect("it is killed");
    terminal.child.wait().expect("it ends");
    assert_ne!(device.read_settings(), before, "nobody put it back");
    let mut terminal = Terminal::start_with(&[], state.path());
    terminal.wait_for_text("left changed by an iodyno whose end is not recorded");
    // Enter is "later".
    terminal.press("\r");
    terminal.wait_for("no question", |screen| !screen.contents().contains("left changed"));
    assert_ne!(device.read_settings(), before, "Enter undoes nothing");
    terminal.press("q");
    terminal.ends_with(0);
    let mut terminal = Terminal::start_with(&[], state.path());
    terminal.wait_for_text("left changed by an iodyno whose end is not recorded");
    terminal.press("u");
    terminal.wait_for_text("restored");
    assert_eq!(device.read_settings(), before, "put back at the next start");
    terminal.press("q");
    terminal.ends_with(0);
}

#[test]
fn a_terminal_that_hangs_up_while_it_is_drawn_on_puts_settings_back() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().expect("a folder");
    let before = device.read_settings();
    let tries = std::env::var("IODYNO_HANG_UPS").ok().and_then(|tries| tries.parse().ok()).unwrap_or(8);
    for hang_up in 1..=tries {
        let mut terminal = on_the_scheduler_of(&device, state.path());
        change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
        // A different moment of a frame each time.
        thread::sleep(Duration::from_millis(hang_up * 7 % 33));
        let status = terminal.hang_up();
        assert_eq!(device.read_settings(), before, "hang-up {hang_up} of {tries}, status {status}");
        assert_eq!(status, 129, "hang-up {hang_up} of {tries}");
    }
}

#[test]
fn a_terminal_that_is_closed_while_the_program_is_stopped_has_the_status_of_a_hang_up() {
    let terminal = Terminal::start(&["--demo", "laptop"]);
    terminal.wait_for_text("root complex");
    assert_eq!(terminal.hang_up_while_stopped(), 129);
}

/// Waits until an experiment has changed a setting.
fn wait_until_changed(device: &LoopDevice, before: &std::collections::BTreeMap<String, String>) {
    let changed = (0..24_000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        device.read_settings() != *before
    });
    assert!(changed, "the experiment changed nothing in two minutes");
}

#[test]
fn a_terminal_that_vanishes_while_an_experiment_runs_puts_settings_back() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().expect("a folder");
    let before = device.read_settings();
    let path = device.device().display().to_string();
    let arms = ["--arm", "found: bs=4k", "--arm", "other: scheduler=mq-deadline read_ahead_kb=512 bs=4k"];
    let mut run =
        vec!["experiment", "run", "own", "--filename", &path, "--max-time", "10m", "--runtime", "100ms"];
    run.extend(arms);
    let terminal = Terminal::start_with(&run, state.path());
    wait_until_changed(&device, &before);
    let status = terminal.hang_up();
    assert_eq!(device.read_settings(), before, "the command");
    // Whether the signal comes first or a line that cannot be written.
    assert_eq!(status, 129);
    let terminal = Terminal::start_with(&["bench", "--filename", &path, "--runtime", "60"], state.path());
    terminal.wait_for_text("total-usage");
    assert_eq!(terminal.hang_up(), 129, "a test");

    // The full screen: the first experiment is the scheduler's, the marked drive the loop device.
    let mut terminal = on_the_scheduler_of(&device, state.path());
    terminal.press(" ");
    terminal.press("5");
    terminal.wait_for_text("Does the scheduler cost anything");
    terminal.press("\r");
    wait_until_changed(&device, &before);
    let status = terminal.hang_up();
    assert_eq!((status, device.read_settings()), (129, before), "the full screen");
}

#[test]
fn on_the_smallest_screen_changes_are_kept_undone_and_exported_on_leaving() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let state = tempfile::tempdir().expect("a folder");
    let before = device.read_settings();
    for (key, stays) in [("u", false), ("k", true), ("e", true)] {
        let small = Terminal::run(CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno")), state.path(), (80, 24));
        let mut terminal = to_the_scheduler_of(&device, small);
        terminal.wait_for("the way out in the footer", |screen| {
            screen.contents_between(23, 0, 23, 79).contains("q quit")
        });
        change_the_scheduler(&mut terminal, &device, ["none", "mq-deadline"]);
        terminal.press("q");
        for choice in ["undo: restore", "keep: they stay", "keep, and print why no udev rule"] {
            terminal.wait_for_text(choice);
        }
        terminal.press(key);
        let terminal = terminal.ends_with(0);
        assert_eq!(
            device.setting("scheduler").as_deref(),
            Some(if stays { "mq-deadline" } else { "none" }),
            "{key}"
        );
        if key == "e" {
            // A loop device has no name that lasts.
            terminal.wait_for_text("left out: scheduler of loop");
        }
        // A kept change is nobody's left-over: the next start asks nothing.
        let mut next = Terminal::start_with(&[], state.path());
        next.wait_for_text("PCIe tree");
        next.press("q");
        next.ends_with(0);
        let undone = Command::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(["tune", "undo", "--all"])
            .env("IODYNO_STATE_DIR", state.path())
            .status();
        assert!(undone.expect("it runs").success());
        assert_eq!(device.read_settings(), before);
    }
}

#[test]
fn without_privilege_staged_changes_become_the_commands_to_run() {
    let Some(device) = LoopDevice::new(16 << 20) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let program = home.path().join("iodyno");
    // Not by this process: another thread's child would inherit the open copy, which could not be run then.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_iodyno")).arg(&program).status();
    assert!(copied.expect("cp runs").success(), "a copy that anybody may run");
    for path in [home.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("it is ours");
    }
    let mut command = CommandBuilder::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program);
    let mut terminal =
        to_the_scheduler_of(&device, Terminal::run(command, &home.path().join("state"), (120, 40)));
    terminal.wait_for_text("not root");
    terminal.press("+");
    terminal.wait_for_text("1 staged");
    terminal.press("a");
    terminal.wait_for_text("needs root: the commands for 1 write");
    terminal.press("p");
    let terminal = terminal.ends_with(0);
    terminal.wait_for_text("echo 'mq-deadline' | sudo tee '/sys/");
    assert_eq!(device.setting("scheduler").as_deref(), Some("none"));
}

#[test]
fn text_is_coloured_on_a_terminal_alone_and_ends_with_the_point() {
    let bench = ["bench", "--demo", "laptop", "--filename", "nvme0n1", "--bs", "1m", "--runtime", "1"];
    for (arguments, end) in [
        (&["check", "--demo", "laptop"][..], "most costly: "),
        (&["tree", "--demo", "laptop"], "▲ 1 high"),
        // The last line: colours come after the first figure.
        (&bench, " of 7.14 GB/s ("),
    ] {
        for is_coloured in [true, false] {
            let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno"));
            command.args(arguments);
            command.env("NO_COLOR", if is_coloured { "" } else { "1" });
            let terminal = Terminal::run(command, Path::new(terminal::STATE), (120, 60));
            terminal.wait_for_text(end);
            let has_colour = terminal.look(|screen| {
                let (rows, columns) = screen.size();
                let colour = |row, column| screen.cell(row, column).map(vt100::Cell::fgcolor);
                let mut cells =
                    (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
                cells.any(|(row, column)| colour(row, column).is_some_and(|one| one != vt100::Color::Default))
            });
            assert_eq!(has_colour, is_coloured, "{arguments:?}");
            terminal.ends_with(0);
        }
        let output = Command::new(env!("CARGO_BIN_EXE_iodyno")).args(arguments).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains(end) && !text.contains('\u{1b}'), "{text}");
    }
}

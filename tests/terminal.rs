//! The program in a real terminal: it starts, draws, follows a resize, runs a test, leaves, and gives the terminal back.

use std::{
    io::{Read, Write},
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("no terminal is empty")
}

/// A program in a terminal of its own.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pty");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno"));
        command.args(arguments);
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).expect("it starts");
        let parser = vt100::Parser::new(cells(size.rows), cells(size.cols), 0);
        let screen = Arc::new(Mutex::new(parser));
        let mut output = pair.master.try_clone_reader().expect("a reader");
        let seen = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                seen.lock().unwrap_or_else(PoisonError::into_inner).process(&buffer[..read]);
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Self { master: pair.master, keys, child, screen }
    }

    fn look<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen())
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are taken");
        self.keys.flush().expect("keys are taken");
    }

    fn wait_for(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        const LOOK: Duration = Duration::from_millis(20);
        let came = (0..1000).any(|_| {
            let there = self.look(&wanted);
            if !there {
                thread::sleep(LOOK);
            }
            there
        });
        assert!(came, "{what} did not come:\n{}", self.look(vt100::Screen::contents));
    }

    fn wait_for_text(&self, text: &str) {
        self.wait_for(text, |screen| screen.contents().contains(text));
    }

    fn resize(&self, rows: u16, cols: u16) {
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).expect("a new size");
        self.screen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .screen_mut()
            .set_size(NonZero::new(rows).expect("some rows"), NonZero::new(cols).expect("some columns"));
    }

    /// Waits for the end; the terminal must be as it was before.
    fn ends_with(mut self, status: u32) {
        let ended = self.child.wait().expect("it ends");
        assert_eq!(ended.exit_code(), status);
        self.wait_for("the terminal as it was", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }
}

#[test]
fn a_test_runs_the_size_changes_and_the_terminal_comes_back() {
    let mut terminal = Terminal::start(&["--demo", "threadripper-before"]);
    terminal.wait_for_text("root complex");
    assert!(terminal.look(|screen| screen.alternate_screen() && screen.bracketed_paste()));
    terminal.press("4r");
    terminal.wait_for_text("● running");
    terminal.resize(24, 80);
    terminal.wait_for("the smaller screen", |screen| {
        screen.contents_between(23, 0, 23, 79).contains("run") && screen.contents().contains("workload")
    });
    terminal.resize(10, 40);
    terminal.wait_for_text("iodyno needs 80 columns");
    terminal.resize(40, 120);
    terminal.wait_for_text("throughput");
    terminal.press("q");
    terminal.wait_for_text("A test is running");
    terminal.press("q");
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
fn sigterm_gives_the_terminal_back() {
    let terminal = Terminal::start(&["--demo", "laptop"]);
    terminal.wait_for_text("root complex");
    let process = terminal.child.process_id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
    let process = rustix::process::Pid::from_raw(process).expect("a process");
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it is ours");
    terminal.ends_with(143);
}

#[test]
fn the_live_machine_is_drawn_and_left() {
    let mut terminal = Terminal::start(&[]);
    terminal.wait_for_text("LIVE");
    terminal.press("q");
    terminal.ends_with(0);
}

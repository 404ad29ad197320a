//! A program in a terminal of its own: what it shows, keys and the mouse.

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZero,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, kill_process},
};

/// A folder that root can make where others look for one that is not there would spoil their tests.
pub const STATE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/terminal-state");

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("no terminal is empty")
}

/// A program in a terminal of its own.
pub struct Terminal {
    pub master: Box<dyn MasterPty + Send>,
    pub keys: Box<dyn Write + Send>,
    pub child: Box<dyn Child + Send + Sync>,
    pub screen: Arc<Mutex<vt100::Parser>>,
    /// Reads what is drawn, until the next output after `hung_up` is set.
    reader: JoinHandle<()>,
    hung_up: Arc<AtomicBool>,
}

#[allow(dead_code, reason = "not every test does all of it")]
impl Terminal {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Path::new(STATE))
    }

    /// With the journal in `state`.
    pub fn start_with(arguments: &[&str], state: &Path) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_iodyno"));
        command.args(arguments);
        Self::run(command, state, (120, 40))
    }

    pub fn run(mut command: CommandBuilder, state: &Path, (cols, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pty");
        command.env("TERM", "xterm-256color");
        command.env("IODYNO_STATE_DIR", state);
        let child = pair.slave.spawn_command(command).expect("it starts");
        let parser = vt100::Parser::new(cells(size.rows), cells(size.cols), 0);
        let screen = Arc::new(Mutex::new(parser));
        let mut output = pair.master.try_clone_reader().expect("a reader");
        let seen = Arc::clone(&screen);
        let hung_up = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&hung_up);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                seen.lock().unwrap_or_else(PoisonError::into_inner).process(&buffer[..read]);
                if over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let keys = pair.master.take_writer().expect("a writer");
        Self { master: pair.master, keys, child, screen, reader, hung_up }
    }

    /// Closes the terminal, as a window that is closed or a connection that drops, while the program draws: its exit status.
    pub fn hang_up(mut self) -> u32 {
        self.hung_up.store(true, Ordering::Relaxed);
        self.press("jkjkjkjkjkjk");
        self.reader.join().expect("the program draws");
        drop((self.keys, self.master));
        self.child.wait().expect("it ends").exit_code()
    }

    /// Stops the program by job control and closes the terminal meanwhile: its exit status. The kernel continues it.
    pub fn hang_up_while_stopped(mut self) -> u32 {
        self.hung_up.store(true, Ordering::Relaxed);
        self.signal(Signal::TSTP);
        self.reader.join().expect("the program restores the terminal");
        let stat = format!("/proc/{}/stat", self.child.process_id().expect("it runs"));
        let is_stopped = (0..6000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "))
        });
        assert!(is_stopped, "the program did not stop in two minutes");
        drop((self.keys, self.master));
        self.child.wait().expect("it ends").exit_code()
    }

    /// Takes no more output and stays open, as a stopped terminal or a dead serial line, until the program cannot write: the
    /// kernel keeps 64 KiB for a terminal that does not read.
    pub fn stall(&mut self) {
        self.hung_up.store(true, Ordering::Relaxed);
        let name = self.master.tty_name().expect("a name");
        let terminal = File::options().read(true).custom_flags(libc::O_NOCTTY).open(name).expect("it opens");
        let is_full = || {
            let mut terminal = [PollFd::new(&terminal, PollFlags::OUT)];
            poll(&mut terminal, Some(&Timespec::default())).expect("it is polled");
            !terminal[0].revents().contains(PollFlags::OUT)
        };
        let mut full = 0;
        for _ in 0..12_000 {
            self.press("2j4j");
            thread::sleep(Duration::from_millis(10));
            full = if is_full() { full + 1 } else { 0 };
            // Room comes and goes while the reader's last output is taken.
            if full > 100 {
                return;
            }
        }
        panic!("the terminal took all output for two minutes");
    }

    /// Ends it, by `q` where no signal is given: when it has had time to know that nothing is taken. On a busy machine that
    /// may be later: then the question is closed, and `q` is pressed again.
    pub fn leave(&mut self, signal: Option<Signal>) {
        if let Some(signal) = signal {
            return self.signal(signal);
        }
        for _ in 0..10 {
            thread::sleep(Duration::from_secs(2));
            self.press("1q");
            let ended = (0..250).any(|_| {
                thread::sleep(Duration::from_millis(20));
                self.child.try_wait().expect("it is ours").is_some()
            });
            if ended {
                return;
            }
            self.press("\u{1b}");
        }
    }

    pub fn signal(&self, signal: Signal) {
        let id = self.child.process_id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(id.expect("it runs"), signal).expect("it is ours");
    }

    /// The exit status, if it ends soon.
    pub fn ends_soon(&mut self) -> Option<u32> {
        (0..6000).find_map(|_| {
            thread::sleep(Duration::from_millis(20));
            self.child.try_wait().expect("it is ours").map(|status| status.exit_code())
        })
    }

    pub fn look<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen())
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are taken");
        self.keys.flush().expect("keys are taken");
    }

    pub fn wait_for(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        const LOOK: Duration = Duration::from_millis(20);
        let came = (0..6000).any(|_| {
            let there = self.look(&wanted);
            if !there {
                thread::sleep(LOOK);
            }
            there
        });
        assert!(came, "{what} did not come:\n{}", self.look(vt100::Screen::contents));
    }

    pub fn wait_for_text(&self, text: &str) {
        self.wait_for(text, |screen| screen.contents().contains(text));
    }

    pub fn resize(&self, rows: u16, cols: u16) {
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).expect("a new size");
        self.screen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .screen_mut()
            .set_size(NonZero::new(rows).expect("some rows"), NonZero::new(cols).expect("some columns"));
    }

    /// Waits for the end; the terminal must be as it was before. What was printed after it may still be on its way.
    pub fn ends_with(mut self, status: u32) -> Self {
        let ended = self.child.wait().expect("it ends");
        assert_eq!(ended.exit_code(), status);
        self.ends_as_before();
        self
    }

    /// Waits for the terminal as it was before.
    pub fn ends_as_before(&self) {
        self.wait_for("the terminal as it was", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
    }

    /// Whether lines are edited, and keys are echoed and make signals.
    pub fn modes(&self) -> rustix::termios::LocalModes {
        let terminal = File::options()
            .read(true)
            .custom_flags(libc::O_NOCTTY)
            .open(self.master.tty_name().expect("a name"))
            .expect("it opens");
        rustix::termios::tcgetattr(terminal).expect("a terminal").local_modes
    }
}

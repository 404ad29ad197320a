//! The terminal: raw mode, alternate screen, mouse, bracketed paste.
//!
//! They are restored when [`Screen`] is dropped, when a thread panics, before a signal of a program error ends the program, and
//! around a stop by job control.

use std::{
    fs::File,
    io::{self, Write},
    mem,
    os::fd::OwnedFd,
    panic,
    sync::{
        Once, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    queue,
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
        LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{
    backend::{Backend, CrosstermBackend},
    buffer::Buffer,
    layout::Rect,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr},
};

use super::{clipboard, faults, output};
use crate::{
    app::{App, draw},
    model::Failed,
};

/// Whether the terminal is in raw mode.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether a thread panicked: its message is on the terminal and must not be overdrawn.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// What a signal handler needs: it may neither allocate nor wait for a lock.
static AT_ONCE: OnceLock<AtOnce> = OnceLock::new();

struct AtOnce {
    terminal: OwnedFd,
    /// Those before raw mode.
    modes: Termios,
    /// The sequences that restore the terminal.
    bytes: Vec<u8>,
}

/// The largest frame, in columns and rows. A terminal may report any size; two frames of this one take 40 MB.
const LARGEST: (u16, u16) = (1000, 500);
/// A frame is dropped when the one before it is not written within this time.
const FRAME_WAIT: Duration = Duration::from_millis(20);
/// How long a terminal may take for its last output. Then only its modes are restored.
const RESTORE_WAIT: Duration = Duration::from_millis(500);

/// OSC 11 of xterm's ctlseqs: "What is the text background colour?"
const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";

/// CAN ends an escape sequence that was cut off (ECMA-48 8.3.6).
const CANCEL: &[u8] = b"\x18";

/// The terminal in raw mode. Nothing here waits for an answer of the terminal: some give none.
pub struct Screen {
    /// The frame that the terminal shows, and room for the next.
    shown: Buffer,
    next: Buffer,
    /// Whether the terminal's content is unknown: the next frame is sent whole.
    is_unknown: bool,
    bytes: Vec<u8>,
}

impl Screen {
    pub fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                PANICKED.store(true, Ordering::SeqCst);
                restore();
                before(info);
            }));
        });
        if AT_ONCE.get().is_none() {
            let terminal = device()?;
            let modes = tcgetattr(&terminal)?;
            let _is_first = AT_ONCE.set(AtOnce { terminal, modes, bytes: cut_off()? });
            faults::watch(restore_at_once)?;
        }
        take()?;
        let (shown, next) = (Buffer::default(), Buffer::default());
        Ok(Self { shown, next, is_unknown: true, bytes: Vec::new() })
    }

    /// Draws the state, and sends the cells that changed. Whether it did: while the terminal still takes the frame before,
    /// the frame is dropped.
    pub fn draw(&mut self, app: &App) -> io::Result<bool> {
        if PANICKED.load(Ordering::SeqCst) {
            return Ok(true);
        }
        if !output::is_written_within(FRAME_WAIT) {
            return Ok(false);
        }
        let (columns, rows) = app.shared.size;
        let area = Rect::new(0, 0, columns, rows);
        self.next.resize(area);
        self.next.reset();
        draw::draw(app, app.shared.theme, &mut self.next);
        queue!(self.bytes, BeginSynchronizedUpdate)?;
        if mem::take(&mut self.is_unknown) || self.shown.area != area {
            queue!(self.bytes, Clear(ClearType::All))?;
            self.shown.resize(area);
            self.shown.reset();
        }
        CrosstermBackend::new(&mut self.bytes).draw(self.shown.diff(&self.next).into_iter())?;
        queue!(self.bytes, EndSynchronizedUpdate)?;
        mem::swap(&mut self.shown, &mut self.next);
        output::write(&mut self.bytes)?;
        Ok(true)
    }

    /// Sends a text to the terminal's clipboard; the line for the user.
    pub fn copy(&mut self, text: &str, format: &str) -> io::Result<Result<String, Failed>> {
        let tmux = std::env::var_os("TMUX").is_some_and(|session| !session.is_empty());
        let sequence = match clipboard::sequence(text, tmux) {
            Ok(sequence) => sequence,
            Err(why) => return Ok(Err(why)),
        };
        self.bytes.write_all(sequence.as_bytes())?;
        output::write(&mut self.bytes)?;
        Ok(Ok(clipboard::sent(text.len(), format, tmux)))
    }

    /// Asks for the colour of the background; an answer comes as a message.
    pub fn ask_background(&mut self) -> io::Result<()> {
        self.bytes.write_all(ASK_BACKGROUND)?;
        output::write(&mut self.bytes)
    }

    /// The next frame is sent whole.
    pub fn forget(&mut self) {
        self.is_unknown = true;
    }

    /// The next frame sends every cell again, without an empty screen in between: another program wrote over the last one.
    pub fn repaint(&mut self) {
        for cell in &mut self.shown.content {
            cell.set_symbol("\0");
        }
    }

    /// Restores the terminal, stops this process for job control, and takes the terminal again.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.forget();
        take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// The terminal that keys come from: standard input, or that of the session.
pub fn device() -> io::Result<OwnedFd> {
    let stdin = rustix::stdio::stdin();
    if isatty(stdin) { Ok(rustix::io::dup(stdin)?) } else { Ok(File::open("/dev/tty")?.into()) }
}

/// The size of the terminal in columns and rows, at most the largest frame's.
pub fn size() -> io::Result<(u16, u16)> {
    let (columns, rows) = crossterm::terminal::size()?;
    Ok((columns.min(LARGEST.0), rows.min(LARGEST.1)))
}

/// Whether a thread panicked since the terminal was taken.
pub fn panicked() -> bool {
    PANICKED.load(Ordering::SeqCst)
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let taken =
        send(|bytes| queue!(bytes, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide));
    if taken.is_err() {
        restore();
    }
    taken
}

/// Restores the terminal, once.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    // A closed terminal fails here; its modes are restored in any case.
    let _ = leave(&mut bytes).and_then(|()| output::write(&mut bytes));
    if !output::is_written_within(RESTORE_WAIT) {
        // A stopped one takes no frame: it finds this when it goes on. The frame may end within a sequence.
        output::replace(cut_off().unwrap_or_default());
        output::is_written_within(FRAME_WAIT);
    }
    let _ = disable_raw_mode();
}

/// Restores the terminal in a signal handler. One that takes no output gets its modes back.
fn restore_at_once() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let Some(AtOnce { terminal, modes, bytes }) = AT_ONCE.get() else { return };
    let screen = rustix::stdio::stdout();
    let mut takes = [PollFd::new(&screen, PollFlags::OUT)];
    let wait = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    if poll(&mut takes, Some(&wait)).is_ok_and(|ready| ready > 0) {
        let _ = rustix::io::write(screen, bytes);
    }
    let _ = tcsetattr(terminal, OptionalActions::Now, modes);
}

fn leave(bytes: &mut Vec<u8>) -> io::Result<()> {
    queue!(bytes, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show)
}

/// What restores a terminal whose last frame may end within a sequence.
fn cut_off() -> io::Result<Vec<u8>> {
    let mut bytes = CANCEL.to_vec();
    queue!(bytes, EndSynchronizedUpdate)?;
    leave(&mut bytes)?;
    Ok(bytes)
}

fn send(sequences: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = Vec::new();
    sequences(&mut bytes)?;
    output::write(&mut bytes)
}

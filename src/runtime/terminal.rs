//! The terminal: raw mode, alternate screen, mouse, bracketed paste.
//!
//! They are restored when [`Screen`] is dropped, when a thread panics, and around a stop by job control.

use std::{
    io::{self, BufWriter, Stdout, Write, stdout},
    mem::ManuallyDrop,
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute, queue,
    terminal::{
        BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
        disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{Terminal, backend::CrosstermBackend};

use super::clipboard;
use crate::{
    app::{App, draw},
    model::Failed,
    ui::theme::Theme,
};

/// Whether the terminal is in raw mode.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether a thread panicked: its message is on the terminal and must not be overdrawn.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The terminal in raw mode.
pub struct Screen {
    /// Never dropped: ratatui then shows the cursor, and where that fails writes to standard error, which panics on a
    /// closed terminal. [`restore`] shows the cursor.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    theme: Theme,
}

impl Screen {
    pub fn theme(&self) -> Theme {
        self.theme
    }

    pub fn open(theme: Theme) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                PANICKED.store(true, Ordering::SeqCst);
                restore();
                before(info);
            }));
        });
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, stdout())));
        match terminal {
            Ok(terminal) => Ok(Self { terminal: ManuallyDrop::new(terminal), theme }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Draws the state; only cells that changed are sent.
    pub fn draw(&mut self, app: &mut App) -> io::Result<()> {
        if PANICKED.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| draw::draw(app, self.theme, frame.buffer_mut()))?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()
    }

    /// Sends a text to the terminal's clipboard; the line for the user.
    pub fn copy(&mut self, text: &str, format: &str) -> io::Result<Result<String, Failed>> {
        let tmux = std::env::var_os("TMUX").is_some_and(|session| !session.is_empty());
        let sequence = match clipboard::sequence(text, tmux) {
            Ok(sequence) => sequence,
            Err(why) => return Ok(Err(why)),
        };
        self.terminal.backend_mut().write_all(sequence.as_bytes())?;
        self.terminal.backend_mut().flush()?;
        Ok(Ok(clipboard::sent(text.len(), format, tmux)))
    }

    /// Clears the terminal, so that the next frame is sent whole.
    pub fn forget(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Restores the terminal, stops this process for job control, and takes the terminal again.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        take()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether a thread panicked since the terminal was taken.
pub fn panicked() -> bool {
    PANICKED.load(Ordering::SeqCst)
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let taken = execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste, Hide);
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
    let mut out = stdout();
    // A closed terminal fails here; the rest is tried in any case.
    let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

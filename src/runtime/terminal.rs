//! The terminal: taken when the screen opens, given back on every way out.
//!
//! Raw mode, the alternate screen, the mouse, bracketed paste. They are put back when [`Screen`] is dropped, when any
//! thread panics, and around a stop by job control.

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
        disable_raw_mode, enable_raw_mode, size,
    },
};
use ratatui::{Terminal, backend::CrosstermBackend};

use super::clipboard;
use crate::{
    app::{App, draw},
    model::Failed,
    ui::theme::Theme,
};

/// Whether the terminal is ours right now.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether a thread panicked: what it said is on the terminal, and nothing may be drawn over it.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours.
pub struct Screen {
    /// Never dropped: ratatui then shows the cursor, and where that fails writes to standard error, which panics on a
    /// terminal that hung up. [`give_back`] shows the cursor.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stdout>>>>,
    theme: Theme,
}

impl Screen {
    /// The colours it is drawn in.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Takes the terminal.
    pub fn open(theme: Theme) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                PANICKED.store(true, Ordering::SeqCst);
                give_back();
                before(info);
            }));
        });
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, stdout())));
        match terminal {
            Ok(terminal) => Ok(Self { terminal: ManuallyDrop::new(terminal), theme }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Columns and rows.
    pub fn size() -> io::Result<(u16, u16)> {
        size()
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

    /// Sends a text to the terminal's clipboard; the line that says so, or why not.
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

    /// Forgets what is on the terminal, so that the next picture is sent whole.
    pub fn forget(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Gives the terminal back, stops this process as job control wants it, and takes the terminal again afterwards.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        take()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
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
        give_back();
    }
    taken
}

/// Puts everything back, once.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    // A terminal that is gone cannot be told anything; the rest is tried all the same.
    let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

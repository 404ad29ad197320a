//! The thread that writes to the terminal: a terminal that takes nothing (stopped, a slow line) blocks only this thread.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    termios::{Action, QueueSelector, tcflow, tcflush},
};

use super::{beside, clock};

static STATE: Mutex<State> = Mutex::new(State {
    waiting: Vec::new(),
    is_writing: false,
    is_started: false,
    is_given_up: false,
    moved_at: None,
    failed: None,
});
static CHANGED: Condvar = Condvar::new();

struct State {
    /// Bytes that the thread has not begun to write.
    waiting: Vec<u8>,
    is_writing: bool,
    is_started: bool,
    /// What is being written is left where it is.
    is_given_up: bool,
    /// When the terminal last took something, or was first given what it has not taken.
    moved_at: Option<Instant>,
    /// The error of a write, for the next caller.
    failed: Option<Errno>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_writing
    }
}

/// Queues bytes for the terminal and returns at once; `bytes` is empty afterwards.
///
/// # Errors
/// Those of a former write (EIO: the terminal is closed), and of starting the thread.
pub(super) fn write(bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut state = lock();
    if let Some(errno) = state.failed {
        return Err(errno.into());
    }
    if !state.is_started {
        beside::start(write_for_ever)?;
        state.is_started = true;
    }
    state.waiting.append(bytes);
    CHANGED.notify_all();
    Ok(())
}

/// Drops what the terminal has not taken yet, and queues `bytes` in its place: what the terminal shows first when it takes
/// output again.
pub(super) fn replace(bytes: Vec<u8>) {
    let mut state = lock();
    state.is_given_up = state.is_writing;
    state.waiting = bytes;
    CHANGED.notify_all();
    drop(state);
    // A flush makes room without waking who waits for it; stopping and starting the output does. A pipe has neither.
    let terminal = rustix::stdio::stdout();
    let _ = tcflush(terminal, QueueSelector::OFlush);
    let _ = tcflow(terminal, Action::OOff).and_then(|()| tcflow(terminal, Action::OOn));
}

/// Waits until everything is written, `most` at the longest; whether it is.
pub(super) fn is_written_within(most: Duration) -> bool {
    let waited = CHANGED.wait_timeout_while(lock(), most, |state| !state.is_idle());
    waited.unwrap_or_else(PoisonError::into_inner).0.is_idle()
}

/// How long the terminal has taken nothing of what it was given.
pub(super) fn stuck_for() -> Duration {
    let state = lock();
    let since = state.moved_at.filter(|_| !state.is_idle());
    since.map_or(Duration::ZERO, |since| since.elapsed())
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_for_ever() {
    let mut bytes = Vec::new();
    loop {
        let is_idle = |state: &mut State| state.waiting.is_empty();
        let mut state = CHANGED.wait_while(lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.waiting, &mut bytes);
        state.is_writing = true;
        state.moved_at = Some(clock::now());
        drop(state);
        let written = write_all(&bytes);
        bytes.clear();
        let mut state = lock();
        state.is_writing = false;
        state.is_given_up = false;
        if let Err(errno) = written {
            state.failed = Some(errno);
            state.waiting.clear();
        }
        CHANGED.notify_all();
    }
}

fn write_all(mut bytes: &[u8]) -> Result<(), Errno> {
    /// Bytes of a write, after which the rest can be given up.
    const PIECE: usize = 1024;
    let terminal = rustix::stdio::stdout();
    while !bytes.is_empty() && !lock().is_given_up {
        match rustix::io::write(terminal, &bytes[..bytes.len().min(PIECE)]) {
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                lock().moved_at = Some(clock::now());
            }
            Err(Errno::INTR) => {}
            // Another program made the terminal non-blocking. A failed poll is followed by a failed write.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&terminal, PollFlags::OUT)], None);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

//! A line on a terminal's standard error while a command works without output.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::runtime::clock::Clock;

/// Time without output before the line appears.
const QUIET: Duration = Duration::from_secs(2);
/// Interval of its seconds.
const TICK: Duration = Duration::from_millis(500);

/// When output was last written, and whether the line stands below it.
#[derive(Debug)]
struct Line {
    clock: Clock,
    last: Duration,
    stands: bool,
}

/// The line of the command in progress.
static LINE: Mutex<Option<Line>> = Mutex::new(None);

/// A command in progress; its line goes when it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    /// Closed at the end of the command.
    _over: Option<mpsc::Sender<()>>,
}

impl Progress {
    /// Of the command `name`, if it works without output and standard error is a terminal.
    pub(super) fn begin(name: Option<&'static str>) -> Self {
        let Some(name) = name.filter(|_| io::stderr().is_terminal()) else { return Self { _over: None } };
        let (over, ends) = mpsc::channel::<()>();
        let line = Line { clock: Clock::real(), last: Duration::ZERO, stands: false };
        *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        thread::spawn(move || {
            while ends.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                show(name);
            }
        });
        Self { _over: Some(over) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(mut line) = LINE.lock().unwrap_or_else(PoisonError::into_inner).take() {
            clear(&mut line);
        }
    }
}

/// Before output: takes the line away; it comes back after two more seconds without output.
pub(super) fn output() {
    if let Some(line) = LINE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        clear(line);
        line.last = line.clock.elapsed();
    }
}

fn show(name: &str) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(line) = line.as_mut() else { return };
    if let Some(text) = text(name, line.clock.elapsed(), line.last) {
        line.stands = true;
        // An error of standard error cannot be reported.
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

/// The line after `elapsed`, where output was last written at `last`.
fn text(name: &str, elapsed: Duration, last: Duration) -> Option<String> {
    (elapsed >= last + QUIET).then(|| format!("iodyno {name}: {} s, Ctrl-C stops it", elapsed.as_secs()))
}

/// Takes the line away if it stands.
fn clear(line: &mut Line) {
    if std::mem::take(&mut line.stands) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_comes_after_two_quiet_seconds() {
        let second = Duration::from_secs;
        assert_eq!(text("why", second(1), Duration::ZERO), None);
        assert_eq!(text("why", second(3), Duration::ZERO).unwrap(), "iodyno why: 3 s, Ctrl-C stops it");
        assert_eq!(text("why", second(3), second(2)), None, "output came a second ago");
    }
}

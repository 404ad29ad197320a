//! A line on a terminal's standard error while a command works without output. That a file to open gives no content is said
//! once without a terminal too.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::{runtime::clock::Clock, source::origin::Origin, text::Label};

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
    /// The pipe or device that is being read, until its content is there.
    input: Option<String>,
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
    /// Of the command `name` that works without output, or without a name of one that opens `origin`.
    pub(super) fn begin(name: Option<&'static str>, origin: &Origin) -> Self {
        let (input, is_terminal) = (input(origin), io::stderr().is_terminal());
        if input.is_none() && (name.is_none() || !is_terminal) {
            return Self { _over: None };
        }
        let (over, ends) = mpsc::channel::<()>();
        let line = Line { clock: Clock::real(), last: Duration::ZERO, stands: false, input };
        *LINE.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        let thread = thread::Builder::new().spawn(move || {
            while ends.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if is_terminal {
                    show(name);
                } else if say_waiting() {
                    break;
                }
            }
        });
        // Without a thread there is no line.
        Self { _over: thread.is_ok().then_some(over) }
    }
}

/// A file to open that may give its content late, or never: a pipe without a writer.
fn input(origin: &Origin) -> Option<String> {
    let Origin::Capture(path) = origin else { return None };
    let is_stdin = path.as_os_str() == "-";
    let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir());
    if is_stdin {
        return (!is_file(Path::new("/dev/stdin"))).then(|| "standard input".to_owned());
    }
    (path.exists() && !is_file(path)).then(|| Label::new(&path.to_string_lossy()).to_string())
}

/// After the machine was opened.
pub(super) fn opened() {
    if let Some(line) = LINE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        line.input = None;
    }
}

/// Says without a terminal what is waited for; whether nothing is left to say.
fn say_waiting() -> bool {
    let line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Line { clock, input: Some(input), .. }) = line.as_ref() else { return true };
    let is_late = clock.elapsed() >= QUIET;
    if is_late {
        let _ = writeln!(io::stderr(), "iodyno: {input}: waiting for its content");
    }
    is_late
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

fn show(name: Option<&str>) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(line) = line.as_mut() else { return };
    let words = match &line.input {
        Some(input) => format!(", waiting for the content of {input}"),
        None if name.is_none() => return clear(line),
        None => String::new(),
    };
    if let Some(text) = text(name, &words, line.clock.elapsed(), line.last) {
        line.stands = true;
        // An error of standard error cannot be reported.
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

/// The line after `elapsed`, where output was last written at `last`.
fn text(name: Option<&str>, words: &str, elapsed: Duration, last: Duration) -> Option<String> {
    let program = name.map_or_else(|| "iodyno".to_owned(), |name| format!("iodyno {name}"));
    (elapsed >= last + QUIET).then(|| format!("{program}: {} s{words}, Ctrl-C stops it", elapsed.as_secs()))
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
        let of_why = |elapsed, last| text(Some("why"), "", elapsed, last);
        assert_eq!(of_why(second(1), Duration::ZERO), None);
        assert_eq!(of_why(second(3), Duration::ZERO).unwrap(), "iodyno why: 3 s, Ctrl-C stops it");
        assert_eq!(of_why(second(3), second(2)), None, "output came a second ago");
        let of_screen = text(None, ", waiting for the content of a", second(2), Duration::ZERO);
        assert_eq!(of_screen.unwrap(), "iodyno: 2 s, waiting for the content of a, Ctrl-C stops it");
    }
}

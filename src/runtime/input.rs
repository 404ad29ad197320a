//! Keys, mouse and paste from the terminal, and signals and sizes from the system, as messages.

use std::{
    collections::VecDeque,
    io, mem,
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use signal_hook::{
    consts::{SIGHUP, SIGTSTP, SIGWINCH},
    iterator::Signals,
};
use termina::{
    Event, Parser,
    escape::osc::{ColorOrQuery, DynamicColorNumber, Osc},
    event::{KeyCode, KeyEvent, KeyEventKind, Modifiers, MouseButton, MouseEventKind},
    style::RgbColor,
};

use super::{
    beside,
    inbox::{Outlet, Outside},
    signals::ending,
    terminal,
};
use crate::{
    app::{
        Message,
        keymap::Key,
        message::{Mouse, MouseAction},
    },
    source::origin,
};

/// Interval at which the thread checks whether it should end.
const LOOK: Duration = Duration::from_secs(1);
/// Time limit for the next byte of a key: 24 bytes at 9600 baud, and not noticeable for Escape itself.
const REST: Duration = Duration::from_millis(25);
/// Time limit for the next byte of a paste.
const PASTE_REST: Duration = Duration::from_secs(1);
/// Longest answer of a terminal in bytes, without its brackets: `11;rgb:ffff/ffff/dddd`.
const MOST_ANSWERED: usize = 40;
/// Bytes read at once that no hand types: with lines among them they are a paste of a terminal that has no brackets for it.
const BURST: usize = 128;
/// Bytes kept of a paste: one more than a text may have, so that a longer one is refused and not cut.
const MOST_PASTED: usize = origin::MOST_READ + 1;

/// The byte of Ctrl-C.
const CTRL_C: u8 = 3;
/// Brackets of a paste (xterm's ctlseqs: Bracketed Paste Mode).
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Starts the thread that reads the terminal; it ends soon after `over` is set.
///
/// # Errors
/// Standard input is no terminal and /dev/tty cannot be opened.
pub(super) fn start(outlet: Outlet, over: Arc<AtomicBool>) -> io::Result<()> {
    let terminal = terminal::device()?;
    beside::start(move || {
        let mut keys = Keys::default();
        while !over.load(Ordering::Relaxed) {
            let Ok(events) = next(&terminal, &mut keys) else {
                // The terminal is closed.
                let _ = outlet.end(SIGHUP);
                return;
            };
            for message in events.into_iter().filter_map(translate) {
                if outlet.typed(message, &over).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// Events of the bytes that arrive within the time limit.
fn next(terminal: &impl AsFd, keys: &mut Keys) -> Result<Vec<Event>, Errno> {
    let wait = Timespec::try_from(keys.patience()).ok();
    match poll(&mut [PollFd::new(terminal, PollFlags::IN)], wait.as_ref()) {
        Ok(0) => return Ok(keys.rest()),
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    }
    let mut bytes = [0; 4096];
    match rustix::io::read(terminal, &mut bytes) {
        Ok(0) => Err(Errno::IO),
        Ok(count) => Ok(keys.take(bytes.get(..count).unwrap_or_default())),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
        Err(errno) => Err(errno),
    }
}

/// Bytes to events. The bytes of a key may arrive one by one, and the end of a paste may never arrive.
#[derive(Default)]
struct Keys {
    parser: Parser,
    /// Whether bytes came since the last time limit: the last may be the beginning of a key.
    is_fed: bool,
    /// The text of a paste that is open.
    pasted: Option<Vec<u8>>,
    /// Bytes so far of an answer that is open (OSC 1...): its rest is no key, however late it comes. `None` without one.
    answer: Option<usize>,
    /// The latest bytes, as many as a bracket of a paste has.
    latest: VecDeque<u8>,
}

impl Keys {
    fn patience(&self) -> Duration {
        match (&self.pasted, self.is_fed) {
            (Some(_), _) => PASTE_REST,
            (None, true) if self.answer.is_some() => PASTE_REST,
            (None, true) => REST,
            (None, false) => LOOK,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.is_fed = true;
        if self.pasted.is_none() && self.answer.is_none() && is_burst(bytes) {
            self.pasted = Some(Vec::new());
        }
        let mut events = Vec::new();
        for byte in bytes {
            let follows_escape = self.latest.back() == Some(&b'\x1b');
            if self.latest.len() == PASTE.len() {
                self.latest.pop_front();
            }
            self.latest.push_back(*byte);
            if let Some(text) = &mut self.pasted {
                if text.len() < MOST_PASTED {
                    text.push(*byte);
                }
                if self.latest.iter().eq(PASTE_END) {
                    events.extend(self.end_paste());
                }
            } else if self.latest.iter().eq(PASTE) {
                (self.parser, self.pasted) = (Parser::default(), Some(Vec::new()));
            } else {
                events.extend(self.take_key(*byte, follows_escape));
            }
        }
        events
    }

    /// A byte outside of pastes. What began as an answer and cannot be one is dropped, and so is any beginning before a control
    /// character, which no key has within: Ctrl-C gets through whatever came before it.
    fn take_key(&mut self, byte: u8, follows_escape: bool) -> Vec<Event> {
        let is_control = byte < b' ' && byte != b'\x1b';
        let is_open = self.answer.is_some();
        let is_end = is_open && matches!(byte, b'\x07' | b'\\');
        self.answer = match self.answer {
            None if follows_escape && matches!(byte, b']' | b'P') => Some(0),
            // Of strings only OSC 10 and 11 are asked for: Alt-] and Alt-P are keys.
            Some(0) if byte != b'1' => self.drop_beginning(),
            Some(count) if count == MOST_ANSWERED => self.drop_beginning(),
            Some(_) if is_end || is_control => None,
            answer => answer.map(|count| count + 1),
        };
        let mut events = Vec::new();
        if is_control && !is_end && (is_open || byte == CTRL_C || !follows_escape) {
            events = self.flush();
        }
        self.parser.parse(&[byte], true);
        events.extend(std::iter::from_fn(|| self.parser.pop()));
        events
    }

    fn drop_beginning(&mut self) -> Option<usize> {
        self.parser = Parser::default();
        None
    }

    /// A key whose bytes also begin another. Other beginnings are dropped.
    fn flush(&mut self) -> Vec<Event> {
        let mut parser = mem::take(&mut self.parser);
        parser.parse(&[], false);
        std::iter::from_fn(|| parser.pop()).collect()
    }

    /// What is there when nothing more came: a key whose bytes also begin another, a paste without an end.
    fn rest(&mut self) -> Vec<Event> {
        (self.is_fed, self.answer) = (false, None);
        let key = self.flush();
        self.end_paste().into_iter().chain(key).collect()
    }

    fn end_paste(&mut self) -> Option<Event> {
        let text = self.pasted.take()?;
        let text = text.strip_suffix(PASTE_END).unwrap_or(&text);
        Some(Event::Paste(String::from_utf8_lossy(text).into_owned()))
    }
}

/// Whether bytes are text of several lines, too many for keys.
fn is_burst(bytes: &[u8]) -> bool {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let is_text = |byte: &u8| is_line_end(byte) || *byte == b'\t' || !byte.is_ascii_control();
    bytes.len() >= BURST && bytes.iter().any(is_line_end) && bytes.iter().all(is_text)
}

pub(super) fn start_signals(outlet: Outlet) -> io::Result<()> {
    let mut signals = Signals::new(ending().chain([SIGTSTP, SIGWINCH]))?;
    let sender = outlet.sender();
    beside::start(move || {
        for signal in signals.forever() {
            let sent = match signal {
                SIGTSTP => sender.send(Outside::Stop),
                SIGWINCH => {
                    // A terminal without a size keeps the one it had.
                    let Ok((columns, rows)) = terminal::size() else { continue };
                    sender.send(Outside::Message(Message::Resize(columns, rows)))
                }
                signal => outlet.end(signal),
            };
            if sent.is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

fn translate(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => translate_key(key).map(Message::Key),
        Event::Mouse(mouse) => {
            let action = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseAction::Press,
                MouseEventKind::Drag(MouseButton::Left) => MouseAction::Drag,
                MouseEventKind::Up(MouseButton::Left) => MouseAction::Release,
                MouseEventKind::ScrollUp => MouseAction::WheelUp,
                MouseEventKind::ScrollDown => MouseAction::WheelDown,
                _ => return None,
            };
            Some(Message::Mouse(Mouse { column: mouse.column, row: mouse.row, action }))
        }
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Osc(Osc::ChangeDynamicColors(DynamicColorNumber::TextBackgroundColor, colours)) => {
            let [ColorOrQuery::Color(RgbColor { red, green, blue })] = colours[..] else { return None };
            // Weights of ITU-R BT.601, in thousandths.
            let brightness = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
            Some(Message::Background { is_light: brightness > 127_500 })
        }
        _ => None,
    }
}

fn translate_key(key: KeyEvent) -> Option<Key> {
    if key.modifiers.intersects(Modifiers::ALT | Modifiers::SUPER) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(Modifiers::CONTROL) => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Escape => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Function(number @ 1..=12) => Key::Function(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn codes(events: Vec<Event>) -> Vec<KeyCode> {
        let code = |event| if let Event::Key(key) = event { Some(key.code) } else { None };
        events.into_iter().filter_map(code).collect()
    }

    /// Keys of bytes that come one by one, each within the time limit, and nothing after them.
    fn brought(bytes: &[u8]) -> Vec<KeyCode> {
        let mut keys = Keys::default();
        let mut events: Vec<Event> = bytes.iter().flat_map(|byte| keys.take(&[*byte])).collect();
        events.extend(keys.rest());
        codes(events)
    }

    #[test]
    fn a_key_whose_bytes_come_one_by_one_is_that_key() {
        use KeyCode::{Char, Delete, Down, Escape, PageDown, Up};
        assert_eq!(brought(b"\x1b[Bx"), [Down, Char('x')]);
        assert_eq!(brought(b"\x1bOA"), [Up]);
        assert_eq!(brought(b"\x1b[6~"), [PageDown]);
        assert_eq!(brought(b"\x1b[3~"), [Delete]);
        assert_eq!(brought(b"[A"), [Char('['), Char('A')]);
        assert_eq!(brought("ä".as_bytes()), [Char('ä')]);
        assert_eq!(brought(b"\x1b"), [Escape]);
        assert_eq!(brought(b""), []);
    }

    #[test]
    fn escape_and_keys_after_the_time_limit_are_keys_of_their_own() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b"), [], "it may be the beginning of a key");
        assert_eq!(codes(keys.rest()), [KeyCode::Escape]);
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
        assert_eq!(keys.take(b"\x1b[1"), []);
        assert_eq!(keys.rest(), [], "a key that never ended is none");
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
    }

    #[test]
    fn the_terminal_answers_with_its_background_and_its_answer_is_no_key() {
        for (answer, is_light) in [
            (&b"\x1b]11;rgb:ffff/ffff/dddd\x1b\\"[..], true),
            (b"\x1b]11;rgb:fdfd/f6f6/e3e3\x07", true),
            (b"\x1b]11;rgb:0000/2b2b/3636\x1b\\", false),
        ] {
            let mut keys = Keys::default();
            let (first, rest) = answer.split_at(9);
            assert_eq!(keys.take(first), []);
            assert_eq!(keys.patience(), PASTE_REST, "the rest may come late");
            let messages: Vec<_> = keys.take(rest).into_iter().filter_map(translate).collect();
            assert_eq!(messages, [Message::Background { is_light }]);
            assert_eq!(keys.patience(), REST);
            assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
        }
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b]11;rgb:ff"), []);
        assert_eq!(keys.rest(), [], "an answer that never ended is none");
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
    }

    #[test]
    fn strings_that_answer_nothing_swallow_no_keys() {
        use KeyCode::{Char, Up};
        let typed = |bytes: &[u8]| codes(Keys::default().take(bytes));
        assert_eq!(typed(b"\x1b]4rq"), [Char('4'), Char('r'), Char('q')], "Alt-] and keys");
        assert_eq!(typed(b"\x1bPq\x1b[A"), [Char('q'), Up], "Alt-P and keys");
        assert_eq!(typed(b"\x1b]1\x03"), [Char('c')], "Ctrl-C is no part of an answer");
        let mut keys = Keys::default();
        keys.take(b"\x1b]1");
        let swallowed = (0..100).take_while(|_| codes(keys.take(b"q")).is_empty()).count();
        assert_eq!(swallowed, MOST_ANSWERED - 1, "keys without a pause");
    }

    #[test]
    fn a_paste_without_an_end_ends_by_itself_and_keys_follow() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b[200~fast q"), []);
        assert_eq!(keys.patience(), PASTE_REST);
        assert_eq!(keys.rest(), [Event::Paste("fast q".to_owned())]);
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
        assert_eq!(keys.take(b"\x1b[200~one\x1b[201~"), [Event::Paste("one".to_owned())]);
        assert_eq!(keys.patience(), REST);
    }

    #[test]
    fn lines_that_come_at_once_are_a_paste_without_brackets() {
        let text = "01:00.0 Non-Volatile memory controller: Samsung\r".repeat(4);
        let mut keys = Keys::default();
        assert_eq!(keys.take(text.as_bytes()), []);
        assert_eq!(keys.take(b"quit\r"), [], "its rest");
        assert_eq!(keys.rest(), [Event::Paste(format!("{text}quit\r"))]);
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
        for typed in [&b"j\r"[..], &[b'j'; 2 * BURST], &b"\x1b[B\r".repeat(BURST)] {
            assert_ne!(keys.take(typed), [], "keys, or one that repeats");
        }
    }

    #[test]
    fn a_paste_too_long_is_refused_with_its_limit() {
        let mut keys = Keys::default();
        keys.take(PASTE);
        keys.pasted = Some(vec![b'x'; MOST_PASTED - 1]);
        assert_eq!(keys.take(b"xxx"), []);
        let Some(Event::Paste(text)) = keys.take(PASTE_END).pop() else { panic!("no paste") };
        assert!(text.len() <= MOST_PASTED && text.starts_with("xxx"), "{}", text.len());
        let refused =
            origin::open_content("pasted text", text.as_bytes()).err().map(|error| error.to_string());
        assert!(
            refused.as_ref().is_some_and(|why| why.contains("pasted text: longer than 32 MiB")),
            "{refused:?}"
        );
        assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
    }

    #[test]
    fn releases_and_foreign_modifiers_are_no_keys() {
        let key = |code, modifiers| translate_key(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('C'), Modifiers::CONTROL), Some(Key::Ctrl('c')));
        assert_eq!(key(KeyCode::Char('G'), Modifiers::SHIFT), Some(Key::Char('G')));
        assert_eq!(key(KeyCode::Char('x'), Modifiers::ALT), None);
        let released = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Enter) };
        assert_eq!(translate(Event::Key(released)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_and_keys_follow(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"\x1b[]OP<;0129~MmRu?>".to_vec())], 0..64),
            cut in 0_usize..64,
        ) {
            let mut keys = Keys::default();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            keys.take(first);
            keys.take(second);
            let last = keys.take(b"\x03").pop();
            let is_ctrl_c = last.as_ref().is_some_and(|event| {
                translate(event.clone()) == Some(Message::Key(Key::Ctrl('c')))
            });
            prop_assert!(is_ctrl_c || keys.pasted.is_some(), "{:?}", last);
            keys.rest();
            prop_assert_eq!(codes(keys.take(b"q")), [KeyCode::Char('q')]);
        }
    }
}

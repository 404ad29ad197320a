//! Keys, mouse, paste and size from the terminal, and signals from the system, as messages.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    thread,
    time::Duration,
};

use crossterm::event::{
    self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP},
    iterator::Signals,
};

use super::terminal;
use crate::app::{
    Message,
    keymap::Key,
    message::{Mouse, MouseAction},
};

/// A message or a signal.
#[derive(Debug)]
pub(super) enum Outside {
    Message(Message),
    /// A signal that ends the program.
    Signal(i32),
    /// SIGTSTP of job control.
    Stop,
}

/// Interval at which the thread checks whether it should end.
const LOOK: Duration = Duration::from_millis(200);

/// Time limit for the rest of a key's bytes after its Escape: 48 bytes at 9600 baud, and not noticeable for Escape itself.
const REST: Duration = Duration::from_millis(50);

/// Starts the thread that reads the terminal; it ends soon after `over` is set.
pub(super) fn start(sender: Sender<Outside>, over: Arc<AtomicBool>) {
    thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let outside: Vec<Outside> = match whole(&mut within) {
                Ok(events) => events.into_iter().filter_map(translate).map(Outside::Message).collect(),
                // The terminal is closed.
                Err(_) => vec![Outside::Signal(SIGHUP)],
            };
            let gone = matches!(outside[..], [Outside::Signal(_)]);
            if outside.into_iter().any(|one| sender.send(one).is_err()) || gone {
                return;
            }
        }
    });
}

fn within(time: Duration) -> io::Result<Option<Event>> {
    if event::poll(time)? { event::read().map(Some) } else { Ok(None) }
}

/// The next event, or several that begin like a key and are none. On a slow line a key's bytes arrive one by one, and
/// crossterm reads the first as Escape.
fn whole(next: &mut impl FnMut(Duration) -> io::Result<Option<Event>>) -> io::Result<Vec<Event>> {
    let mut events: Vec<Event> = next(LOOK)?.into_iter().collect();
    let is_escape = |event: &Event| matches!(event, Event::Key(key) if key.code == KeyCode::Esc);
    if !events.first().is_some_and(is_escape) {
        return Ok(events);
    }
    while let Some(event) = next(REST)? {
        events.push(event);
        let rest: Option<String> = events.iter().skip(1).map(character).collect();
        let Some(rest) = rest else { break };
        if let Some(code) = sequence(&rest) {
            return Ok(vec![Event::Key(KeyEvent::new(code, KeyModifiers::NONE))]);
        }
        if !begins_sequence(&rest) {
            break;
        }
    }
    Ok(events)
}

fn character(event: &Event) -> Option<char> {
    match event {
        Event::Key(KeyEvent { code: KeyCode::Char(c), .. }) => Some(*c),
        _ => None,
    }
}

/// The key by its bytes after Escape (ECMA-48, and xterm's ctlseqs: PC-style function keys).
fn sequence(rest: &str) -> Option<KeyCode> {
    Some(match rest {
        "[A" | "OA" => KeyCode::Up,
        "[B" | "OB" => KeyCode::Down,
        "[C" | "OC" => KeyCode::Right,
        "[D" | "OD" => KeyCode::Left,
        "[H" | "OH" | "[1~" | "[7~" => KeyCode::Home,
        "[F" | "OF" | "[4~" | "[8~" => KeyCode::End,
        "[3~" => KeyCode::Delete,
        "[5~" => KeyCode::PageUp,
        "[6~" => KeyCode::PageDown,
        "[Z" => KeyCode::BackTab,
        _ => return None,
    })
}

fn begins_sequence(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    matches!((bytes.next(), bytes.next(), bytes.next()), (Some(b'[' | b'O'), None | Some(b'0'..=b'9'), None))
}

pub(super) fn start_signals(sender: Sender<Outside>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            let outside = if signal == SIGTSTP { Outside::Stop } else { Outside::Signal(signal) };
            if sender.send(outside).is_err() {
                return;
            }
        }
    });
    Ok(())
}

fn translate(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => translate_key(key).map(Message::Key),
        Event::Mouse(mouse) => {
            let action = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseAction::Press,
                MouseEventKind::ScrollUp => MouseAction::WheelUp,
                MouseEventKind::ScrollDown => MouseAction::WheelDown,
                _ => return None,
            };
            Some(Message::Mouse(Mouse { column: mouse.column, row: mouse.row, action }))
        }
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(columns, rows) => {
            let (columns, rows) = terminal::shown_size((columns, rows));
            Some(Message::Resize(columns, rows))
        }
        _ => None,
    }
}

fn translate_key(key: KeyEvent) -> Option<Key> {
    if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
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
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of keys that come one after the other, each within the time.
    fn brought(keys: &[KeyCode]) -> Vec<KeyCode> {
        let mut keys = keys.iter().map(|code| Event::Key(KeyEvent::new(*code, KeyModifiers::NONE)));
        let events = whole(&mut |_| Ok(keys.next())).unwrap();
        let code = |event| if let Event::Key(key) = event { key.code } else { KeyCode::Null };
        events.into_iter().map(code).chain(keys.map(code)).collect()
    }

    #[test]
    fn a_key_whose_bytes_come_one_by_one_is_that_key() {
        use KeyCode::{Char, Delete, Down, Esc, PageDown, Up};
        assert_eq!(brought(&[Esc, Char('['), Char('B'), Char('x')]), [Down, Char('x')]);
        assert_eq!(brought(&[Esc, Char('O'), Char('A')]), [Up]);
        assert_eq!(brought(&[Esc, Char('['), Char('6'), Char('~')]), [PageDown]);
        assert_eq!(brought(&[Esc, Char('['), Char('3'), Char('~')]), [Delete]);
        for others in [
            &[Esc][..],
            &[Esc, Char('q')],
            &[Esc, Char('[')],
            &[Esc, Char('['), Char('x')],
            &[Esc, Up],
            &[Esc, Esc, Char('['), Char('A')],
            &[Char('['), Char('A')],
            &[],
        ] {
            assert_eq!(brought(others), others);
        }
    }

    #[test]
    fn releases_and_foreign_modifiers_are_no_keys() {
        let key = |code, modifiers| translate_key(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('C'), KeyModifiers::CONTROL), Some(Key::Ctrl('c')));
        assert_eq!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Key::Char('G')));
        assert_eq!(key(KeyCode::Char('x'), KeyModifiers::ALT), None);
        let released = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(translate(Event::Key(released)), None);
    }
}

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
    consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP},
    iterator::Signals,
};

use crate::app::{
    Message,
    keymap::Key,
    message::{Mouse, MouseAction},
};

/// Something from outside.
#[derive(Debug)]
pub enum Outside {
    /// For the state.
    Message(Message),
    /// A signal that ends the program.
    Signal(i32),
    /// Job control wants us to stop.
    Stop,
}

/// How often the thread looks whether it should end.
const LOOK: Duration = Duration::from_millis(200);

/// Starts the thread that reads the terminal; it ends soon after `over` is set.
pub fn start(sender: Sender<Outside>, over: Arc<AtomicBool>) {
    thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let event = match event::poll(LOOK) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let outside = match event {
                Ok(event) => translate(event).map(Outside::Message),
                // The terminal is gone.
                Err(_) => Some(Outside::Signal(SIGHUP)),
            };
            let gone = matches!(outside, Some(Outside::Signal(_)));
            if let Some(outside) = outside
                && (sender.send(outside).is_err() || gone)
            {
                return;
            }
        }
    });
}

/// Starts the thread that takes signals.
pub fn start_signals(sender: Sender<Outside>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP])?;
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
        Event::Resize(columns, rows) => Some(Message::Resize(columns, rows)),
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

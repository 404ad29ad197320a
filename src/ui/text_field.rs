//! [`TextField`]: a line of text that the user edits. What it is opened with is replaced by the first letter typed, unless a key that
//! moves or deletes comes first.

use tui_input::{Input, InputRequest};

use super::Key;

/// A line of text with its cursor.
#[derive(Debug, Clone, Default)]
pub struct TextField {
    input: Input,
    opened: Opened,
}

/// What a field was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Opened {
    /// A value that the first letter replaces.
    Value,
    /// A beginning; an absolute path replaces it.
    Beginning,
    /// It was edited since, or was empty.
    #[default]
    Edited,
}

impl TextField {
    /// Opened with the present value.
    pub fn new(value: impl Into<String>) -> Self {
        Self { input: Input::new(value.into()), opened: Opened::Value }
    }

    /// Opened with a beginning that the user goes on with.
    pub fn begun(beginning: impl Into<String>) -> Self {
        Self { input: Input::new(beginning.into()), opened: Opened::Beginning }
    }

    /// The text.
    pub fn value(&self) -> &str {
        self.input.value()
    }

    /// Whether the next letter replaces all of it.
    pub fn is_replaced(&self) -> bool {
        self.opened == Opened::Value && !self.value().is_empty()
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key) {
        let request = match key {
            Key::Char(c) => return self.insert(c),
            Key::Backspace => InputRequest::DeletePrevChar,
            Key::Delete => InputRequest::DeleteNextChar,
            Key::Left => InputRequest::GoToPrevChar,
            Key::Right => InputRequest::GoToNextChar,
            Key::Home | Key::Ctrl('a') => InputRequest::GoToStart,
            Key::End | Key::Ctrl('e') => InputRequest::GoToEnd,
            Key::Ctrl('w') => InputRequest::DeletePrevWord,
            Key::Ctrl('u') => InputRequest::DeleteLine,
            Key::Ctrl('k') => InputRequest::DeleteTillEnd,
            _ => return,
        };
        self.opened = Opened::Edited;
        self.input.handle(request);
    }

    /// Takes a typed or pasted letter.
    pub fn insert(&mut self, letter: char) {
        match std::mem::take(&mut self.opened) {
            Opened::Value => self.input.reset(),
            Opened::Beginning if letter == '/' && self.value().ends_with('/') => self.input.reset(),
            Opened::Beginning | Opened::Edited => {}
        }
        self.input.handle(InputRequest::InsertChar(letter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(mut field: TextField, keys: &str) -> String {
        for key in crate::ui::key::parse(keys).unwrap() {
            field.press(key);
        }
        field.value().to_owned()
    }

    #[test]
    fn the_first_letter_replaces_an_old_value_unless_it_was_edited() {
        for (keys, value) in [
            ("512", "512"),
            ("<End>0", "1280"),
            ("<BS>9", "129"),
            ("<Left><Del>", "12"),
            ("<C-u>7", "7"),
            ("", "128"),
            ("<Enter>", "128"),
        ] {
            assert_eq!(after(TextField::new("128"), keys), value, "{keys}");
        }
        assert_eq!(after(TextField::default(), "ab"), "ab");
        assert_eq!(after(TextField::begun("open "), "x"), "open x");
    }

    #[test]
    fn a_suggested_folder_goes_on_and_gives_way_to_an_absolute_path() {
        assert_eq!(after(TextField::begun("/var/tmp/"), "big"), "/var/tmp/big");
        assert_eq!(after(TextField::begun("/var/tmp/"), "/srv/big"), "/srv/big");
        assert_eq!(after(TextField::begun("/var/tmp"), "/big"), "/var/tmp/big");
    }
}

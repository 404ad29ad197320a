//! Numbers of JSON documents that no float can hold.

use std::borrow::Cow;

use super::document::Value;

/// What stands for a number that is larger than any float.
const TOO_LARGE: &str = "\u{0}number out of range";

/// Whether one of an object's own values is such a number: the device is not used.
pub(super) fn is_out_of_range(object: &Value) -> bool {
    object.fields().iter().any(|(_, value)| value.word() == Some(TOO_LARGE))
}

/// A document whose numbers are all in range: a single one that is not makes it unreadable.
pub(super) fn in_range(text: &str) -> Cow<'_, str> {
    /// The largest float has 309 digits, or an exponent.
    const LONG: usize = 5;
    let is_digit = |c: char| c.is_ascii_digit() || ['.', 'e', 'E', '+', '-'].contains(&c);
    let (mut kept, mut done, mut is_string, mut is_escaped) = (String::new(), 0, false, false);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ if is_string || !letter.is_ascii_digit() => {}
            _ => {
                while letters.next_if(|(_, next)| is_digit(*next)).is_some() {}
                let end = letters.peek().map_or(text.len(), |(end, _)| *end);
                let number = &text[at..end];
                if number.len() >= LONG && number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    kept.push_str(text[done..at].trim_end_matches('-'));
                    // JSON has no control characters within strings but escaped ones.
                    kept.push_str(&serde_json::Value::from(TOO_LARGE).to_string());
                    done = end;
                }
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[done..]);
    Cow::Owned(kept)
}

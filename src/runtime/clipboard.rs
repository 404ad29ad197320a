//! The terminal's clipboard: OSC 52, through tmux too.
//!
//! Terminals do not acknowledge it, so the line for the user has the number of bytes and the alternative.

use crossterm::{Command, clipboard::CopyToClipboard};

use crate::model::Failed;

/// Maximum bytes of a text: hterm and others cut the sequence at 100 000 bytes of base64 (osc52.sh of the Chromium
/// project).
const MOST: usize = 74_994;

/// The sequence that copies `text`. tmux takes it with `set-clipboard on`, and passes it on as a device control string with
/// `allow-passthrough on` (tmux(1)): it gets both.
pub(super) fn sequence(text: &str, tmux: bool) -> Result<String, Failed> {
    if text.len() > MOST {
        let line =
            format!("{} bytes exceed the terminals' limit of {MOST}; {{save}} saves the sheet", text.len());
        return Err(Failed::new(line, None));
    }
    let mut plain = String::new();
    CopyToClipboard::to_clipboard_from(text)
        .write_ansi(&mut plain)
        .map_err(|_| Failed::new("cannot encode the text for the clipboard; {save} saves the sheet", None))?;
    if !tmux {
        return Ok(plain);
    }
    let packed = plain.replace('\u{1b}', "\u{1b}\u{1b}");
    Ok(format!("{plain}\u{1b}Ptmux;{packed}\u{1b}\\"))
}

/// The line for the user.
pub(super) fn sent(bytes: usize, format: &str, tmux: bool) -> String {
    let way = if tmux { "through tmux (set-clipboard on)" } else { "to the terminal's clipboard" };
    format!("{bytes} bytes of {format} sent {way}; {{save}} saves a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_osc_52_with_the_text_in_base64() {
        assert_eq!(sequence("ab", false).unwrap(), "\u{1b}]52;c;YWI=\u{1b}\\");
    }

    #[test]
    fn tmux_gets_it_for_itself_and_to_hand_on() {
        let both = sequence("ab", true).unwrap();
        let (own, packed) = both.split_once("\u{1b}Ptmux;").unwrap();
        assert_eq!(own, sequence("ab", false).unwrap());
        assert_eq!(packed, "\u{1b}\u{1b}]52;c;YWI=\u{1b}\u{1b}\\\u{1b}\\");
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        assert!(sequence(&"x".repeat(MOST), false).is_ok());
        let line = sequence(&"x".repeat(MOST + 1), false).unwrap_err().to_string();
        assert!(line.starts_with("74995 bytes") && line.contains("{save} saves"), "{line}");
    }

    #[test]
    fn lines_for_the_user_fit_80_columns() {
        // On the screen the command's key stands in its place.
        let keyed = |line: String| line.replace("{save}", "w");
        for (bytes, tmux) in [(MOST, false), (MOST, true)] {
            let line = keyed(sent(bytes, "plain text", tmux));
            assert!(line.len() <= 78 && line.ends_with("w saves a file"), "{line}");
        }
        let refused = keyed(sequence(&"x".repeat(1_000_000), false).unwrap_err().to_string());
        assert!(refused.len() <= 78, "{refused}");
    }
}

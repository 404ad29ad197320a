//! A demo on a screen without a terminal: open it, press keys, read what it shows.

use iodyno::{
    app::keymap,
    runtime::headless::Headless,
    source::origin::Origin,
    ui::{picture::text, theme::Theme},
};

/// A demo on a screen of `size`.
pub fn open(demo: &str, size: (u16, u16)) -> Headless {
    Headless::open(&Origin::Demo(demo.to_owned()), size).expect("demos open")
}

/// Presses keys, written as for `render --keys`.
pub fn press(headless: &mut Headless, keys: &str) {
    headless.press(keymap::parse(keys).expect("keys are well written"));
}

/// The screen as text.
#[allow(dead_code, reason = "not every test needs it")]
pub fn shown(headless: &Headless) -> String {
    text(&headless.picture(Theme::PLAIN))
}

//! A demo on a screen without a terminal: open it, press keys, read what it shows.

use std::time::Duration;

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

/// A demo after these keys and as many seconds.
#[allow(dead_code, reason = "not every test needs it")]
pub fn after(demo: &str, size: (u16, u16), keys: &str, seconds: u64) -> Headless {
    let mut headless = open(demo, size);
    press(&mut headless, keys);
    headless.wait(Duration::from_secs(seconds));
    headless
}

/// Its words, wherever lines break.
#[allow(dead_code, reason = "not every test needs it")]
pub fn words(headless: &Headless) -> String {
    shown(headless).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last row.
#[allow(dead_code, reason = "not every test needs it")]
pub fn footer(headless: &Headless) -> String {
    shown(headless).lines().last().unwrap_or_default().trim_end().to_owned()
}

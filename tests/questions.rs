//! Questions and explanations: quitting with staged values, the palette over all screens, the order of the help.

#[path = "common/screen.rs"]
mod screen;

use iodyno::app::ScreenId;
use screen::{open, press, shown};

#[test]
fn quitting_asks_about_staged_values() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "3l+q");
    assert!(shown(&headless).contains("1 write staged and not applied"), "{}", shown(&headless));
    press(&mut headless, "<Esc>");
    assert!(!headless.has_left());
    press(&mut headless, "qa");
    assert!(shown(&headless).contains("1 write to make"), "{}", shown(&headless));
    press(&mut headless, "<Esc>qd");
    assert!(headless.has_left());
}

#[test]
fn the_palette_goes_to_the_screen_of_a_command() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, ":export<Enter>");
    assert_eq!(headless.app.screen, ScreenId("tune"));
    assert!(shown(&headless).contains("udev rules for the changed settings"), "{}", shown(&headless));
    press(&mut headless, "<Esc>:slots<Enter>");
    assert_eq!(headless.app.screen, ScreenId("slots"));
}

#[test]
fn help_begins_with_the_finding_and_the_marks() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "2?");
    let picture = shown(&headless);
    let at = |text: &str| picture.find(text).unwrap_or_else(|| panic!("{text}: {picture}"));
    assert!(at("check --explain shared-root-complex") < at("high: costs at least 15 %"));
    assert!(at("high: costs at least 15 %") < at("Go to the finding's row"));
    press(&mut headless, "?");
    assert!(shown(&headless).contains("Gigatransfers per second"), "{}", shown(&headless));
}

//! Pulls that are stopped, and those during which settings change: what they have is shown, and what they lack is named.

use std::time::Duration;

use crate::screen::{after, open, press, shown};
use iodyno::{
    app::{App, Message, ScreenId, draw::picture, keymap::Key, update},
    model::Failed,
    runtime::headless::Headless,
    ui::{picture::text, theme::Theme},
};

/// A pull after as many seconds.
fn pulling(size: (u16, u16), seconds: u64) -> Headless {
    after("threadripper-before", size, "r", seconds)
}

#[test]
fn a_pull_is_stopped_in_each_phase_with_what_it_has() {
    for (seconds, says) in [
        (1, "Alone, 1 of 10 drives read 7.11 GB/s."),
        (14, "of 71.4 GB/s (75 %)."),
        (25, "of 71.4 GB/s"),
        (36, "of 71.4 GB/s"),
        (42, "Latency at 4 KiB, depth 1"),
    ] {
        let mut headless = pulling((120, 40), seconds);
        press(&mut headless, "x");
        headless.wait(Duration::from_secs(2));
        assert!(headless.app.shared.pulls.running.is_none(), "{seconds} s");
        assert!(shown(&headless).contains(says), "{seconds} s: {}", shown(&headless));
    }
}

#[test]
fn the_headline_names_settings_that_changed_during_the_pull() {
    let said =
        "The setting read_ahead_kb of nvme8n1 changed during the pull: the figures mix old and new values.";
    for (change, is_said) in [("<Esc>3l+a<Enter>", true), ("<Esc>3l+a<Enter>U", true), ("<Esc>3", false)] {
        let mut headless = pulling((120, 40), 16);
        press(&mut headless, change);
        headless.wait(Duration::from_mins(1));
        press(&mut headless, "1r");
        let picture = shown(&headless);
        let words = picture.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains(said), is_said, "{change}: {picture}");
        let (pull, outcome) = headless.app.shared.pulls.ended.clone().expect("it has ended");
        // The sheet has no other line of it.
        assert_eq!(outcome.sheet().join(" ").contains(said), is_said, "{:?}", pull.stopped());
    }
}

#[test]
fn a_stopped_pull_names_its_phase_in_words() {
    let mut headless = pulling((120, 40), 16);
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    assert!(picture.contains("Stopped in phase 2 of 5, all drives together; later phases"), "{picture}");
}

#[test]
fn a_pull_stopped_among_the_drives_alone_shows_what_they_read() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut headless = pulling(size, 5);
        press(&mut headless, "x");
        headless.wait(Duration::from_secs(1));
        let picture = shown(&headless);
        assert!(picture.contains("Stopped before all drives were read together."), "{picture}");
        assert!(picture.matches("7.11 of 7.14 GB/s").count() >= 4, "{picture}");
    }
}

#[test]
fn a_stopped_pull_does_not_lose_the_finished_one() {
    const FIRST: &str = "53.5 of 71.4 GB/s (75 %).";
    let mut headless = pulling((120, 40), 60);
    assert!(!shown(&headless).contains("p shows the"), "there is one only");
    // Stopped at once: nothing was measured, so nothing replaces it.
    press(&mut headless, "rx");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    assert!(picture.contains(FIRST), "{picture}");
    assert!(picture.contains("Stopped before the first read: this is the earlier pull"), "{picture}");
    // Stopped while drives are read alone: both can be seen.
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(3));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(1));
    let picture = shown(&headless);
    assert!(picture.contains("Stopped before all drives were read together."), "{picture}");
    assert!(picture.contains(&format!("p shows the finished pull: {FIRST}")), "{picture}");
    // Its runs were of drives alone: the dyno has none of them, and shows no other pull's.
    press(&mut headless, "d");
    assert_eq!(headless.app.screen, ScreenId("pull"));
    assert!(shown(&headless).contains("No run of this pull has curves"), "{}", shown(&headless));
    // The sheet begins with the finished one.
    press(&mut headless, "s");
    assert!(shown(&headless).contains(FIRST), "{}", shown(&headless));
    press(&mut headless, "<Esc>p");
    let picture = shown(&headless);
    assert!(picture.lines().nth(3).unwrap().contains(FIRST), "{picture}");
    assert!(picture.contains("p shows the stopped pull: Stopped"), "{picture}");
    // Its runs are older than others by now.
    press(&mut headless, "4");
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(12));
    press(&mut headless, "pd");
    assert!(shown(&headless).contains("4k randread, depth 1, 1 job"), "{}", shown(&headless));
    // A whole one replaces both.
    press(&mut headless, "<Esc>r");
    headless.wait(Duration::from_mins(1));
    assert!(!shown(&headless).contains("p shows the"), "{}", shown(&headless));
}

#[test]
fn a_pull_stopped_before_its_first_read_names_the_key_that_starts_it() {
    let mut headless = open("x570", (120, 40));
    // Of one drive: its first run is one that the dyno keeps.
    press(&mut headless, "<Space>r");
    let mut app = headless.app.clone();
    let now = app.shared.now;
    let _ = update(&mut app, Message::Key(Key::Char('x')));
    let why = Failed::new("stopped before the first read: nothing was measured; run it again", None);
    let _ = update(&mut app, Message::RunEnded(Box::new(Err(why.stopped())), now));
    let seen = |app: &App| text(&picture(app, Theme::PLAIN));
    let picture = seen(&app);
    for words in ["Stopped in the first run: nothing was measured.", "r starts it again.", "Drives  not read"]
    {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    for words in ["shows their curves", "run it again", "d curves", "Rate over time"] {
        assert!(!picture.contains(words), "{words}: {picture}");
    }
    let _ = update(&mut app, Message::Key(Key::Char('4')));
    let _ = update(&mut app, Message::Key(Key::Char('4')));
    let picture = seen(&app);
    assert!(picture.contains("stopped") && !picture.contains("failed"), "{picture}");
    assert!(picture.contains("p shows its pull."), "{picture}");
}

//! What surprised a newcomer: keys that did another thing than the screen said, lists cut without a mark, texts that contradict.

use std::time::Duration;

use crate::screen::{after, footer, open, press, shown, words};
use iodyno::{
    app::{Message, ScreenId},
    runtime::headless::Headless,
};

fn notice(headless: &Headless) -> String {
    headless.app.notice.clone().map(|notice| notice.text).unwrap_or_default()
}

fn has_running(headless: &Headless) -> bool {
    headless.app.shared.experiments.running().is_some()
}

#[test]
fn a_find_and_a_list_of_tests_name_their_ends() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "/zzq<Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("find zzq: no match (0)  Esc") && !picture.contains("0 found"), "{picture}");
    press(&mut headless, "<Esc>4r");
    headless.wait(Duration::from_secs(15));
    for (key, end) in [("[", "oldest"), ("]", "newest")] {
        press(&mut headless, key);
        assert!(shown(&headless).contains(&format!("This is the {end} test")), "{}", shown(&headless));
    }
}

#[test]
fn enter_on_a_verdict_starts_nothing_and_r_runs_the_experiment_again() {
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "5<Enter>");
        headless.wait(Duration::from_mins(15));
        assert!(footer(&headless).contains("r again") && !footer(&headless).contains("Enter"));
        let verdict = shown(&headless);
        press(&mut headless, "<Enter>");
        assert!(!has_running(&headless), "{}", shown(&headless));
        assert_eq!(notice(&headless), "This experiment has ended: r runs it again, Esc shows the list");
        headless.app.notice = None;
        assert_eq!(shown(&headless), verdict);
        press(&mut headless, "r");
        assert!(has_running(&headless), "{}", shown(&headless));
        headless.wait(Duration::from_mins(15));
        press(&mut headless, "7");
        let text = headless.app.screens.sheet.text.clone();
        assert_eq!(text.matches("Does the scheduler cost anything? (scheduler)").count(), 2, "{text}");
        assert_eq!(text.matches("(scheduler), second run").count(), 1, "{text}");
        let name = if size.0 < 100 { "exp 2 scheduler" } else { "experiment 2: scheduler" };
        assert!(
            shown(&headless).contains(name) && !shown(&headless).contains("sche…"),
            "{}",
            shown(&headless)
        );
    }
}

#[test]
fn the_verdicts_of_two_runs_differ_in_the_list() {
    let mut headless = open("threadripper-before", (120, 40));
    for _ in 0..2 {
        press(&mut headless, "5<Enter>");
        headless.wait(Duration::from_mins(15));
        press(&mut headless, "<Esc>");
    }
    let picture = shown(&headless).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(picture.contains("second run"), "{}", shown(&headless));
}

#[test]
fn the_running_arm_is_in_sight_and_a_mark_says_that_the_list_goes_on() {
    for (size, rows) in [((60, 20), 10), ((80, 24), 13), ((120, 40), 22)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, &format!("5{}<Enter>", "j".repeat(9)));
        let mut seen = 0;
        for _ in 0..30 {
            headless.wait(Duration::from_secs(4));
            let picture = shown(&headless);
            assert!(has_running(&headless));
            assert!(picture.contains('▸'), "{size:?}: {picture}");
            let head = picture.lines().take(rows).collect::<Vec<_>>().join("\n");
            assert!(head.contains("↓ ") || head.contains("↑ "), "{size:?}: {picture}");
            seen += usize::from(head.contains("↑ "));
        }
        assert!(seen > 0, "the list moves with the running arm");
        press(&mut headless, "x");
        headless.wait(Duration::from_secs(10));
        assert!(!has_running(&headless));
        press(&mut headless, &"k".repeat(30));
        assert!(shown(&headless).contains("nvme0n1 "), "{}", shown(&headless));
        let top = shown(&headless);
        press(&mut headless, "jj");
        assert_ne!(shown(&headless), top, "arrows scroll the arms");
        // Below 100 columns it is the first hint to go.
        let hints = footer(&headless);
        assert!(size.0 < 100 || hints.contains("↑↓ move"), "{hints}");
    }
}

#[test]
fn an_experiment_that_reads_all_drives_says_so() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, &format!("5{}", "j".repeat(8)));
    assert!(shown(&headless).contains("reads    10 drives, 1m randread"), "{}", shown(&headless));
    press(&mut headless, "<Enter>");
    assert!(shown(&headless).contains("Do drives limit each other?  10 drives, 1m"), "{}", shown(&headless));
}

#[test]
fn no_rounds_are_added_to_an_experiment_without_one() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "5<Enter>");
    headless.wait(Duration::from_secs(2));
    press(&mut headless, "x");
    headless.wait(Duration::from_secs(5));
    assert!(!has_running(&headless));
    assert!(!footer(&headless).contains("more rounds"), "{}", footer(&headless));
    press(&mut headless, "x");
    assert_eq!(notice(&headless), "No experiment is running: r starts one");
    press(&mut headless, "m");
    assert!(notice(&headless).contains("No round was counted") && !has_running(&headless));
}

#[test]
fn a_setting_that_resets_another_says_when_and_that_an_undo_restores_it() {
    let mut headless = open("threadripper-before", (80, 24));
    press(&mut headless, "3");
    let picture = shown(&headless);
    let resets = "also resets requests, wbt_lat_usec and iosched; an undo restores them";
    assert!(picture.contains(resets), "{picture}");
    press(&mut headless, &"l".repeat(8));
    let picture = shown(&headless);
    let resets = "also resets readahead KiB on some kernels (6.18); an undo restores it";
    assert!(picture.contains("add_random") && picture.contains(resets), "{picture}");
}

#[test]
fn a_list_of_all_is_called_so_only_when_nothing_is_folded() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "s");
    assert!(shown(&headless).contains("┌ Drives and devices by load"), "{}", shown(&headless));
    press(&mut headless, "z");
    assert!(shown(&headless).contains("┌ All drives and devices by load"), "{}", shown(&headless));
}

#[test]
fn esc_leads_to_the_screen_before_and_pages_say_so() {
    let screen = |headless: &Headless| headless.app.screen.0;
    let mut headless = open("threadripper-before", (80, 24));
    for (keys, then) in [
        ("38<Esc>", "tune"),
        ("<Esc>", "machine"),
        ("2:slots<Enter><Esc>", "findings"),
        ("<Esc>", "machine"),
        ("35w", "slots"),
        ("<Esc>", "what-if"),
        ("<Esc>", "tune"),
        ("y", "why-file"),
        ("<Esc>", "tune"),
        ("<Esc>", "machine"),
        ("<Esc>", "machine"),
    ] {
        press(&mut headless, keys);
        assert_eq!(screen(&headless), then, "{keys}");
    }
    for size in [(60, 20), (80, 24), (120, 40)] {
        for keys in ["5w", "3y"] {
            let mut headless = open("threadripper-before", size);
            press(&mut headless, keys);
            assert!(footer(&headless).contains("Esc back"), "{keys}: {}", footer(&headless));
        }
    }
}

#[test]
fn esc_on_tune_takes_back_one_step_before_it_leaves() {
    let staged = |headless: &Headless| headless.app.shared.settings.staged.len();
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        // Two drives are marked for the second value.
        press(&mut headless, "3+l<Space><Space>+");
        assert_eq!((staged(&headless), headless.app.shared.marks.len()), (3, 2));
        for (keys, words, values, marks) in
            [("<Esc>", "Esc drop", 3, 0), ("<Esc>", "Esc drop", 1, 0), ("<Esc>", "", 0, 0)]
        {
            press(&mut headless, keys);
            assert_eq!((staged(&headless), headless.app.shared.marks.len()), (values, marks));
            assert_eq!(headless.app.screen.0, "tune");
            assert!(footer(&headless).contains(words), "{size:?}: {}", footer(&headless));
        }
        assert!(
            notice(&headless).contains("Dropped the staged scheduler of nvme8n1"),
            "{}",
            notice(&headless)
        );
        press(&mut headless, "<Esc>");
        assert_eq!(headless.app.screen.0, "machine");
        // What was taken back by its own key is no step.
        press(&mut headless, "3+<Backspace><Esc>");
        assert_eq!((headless.app.screen.0, staged(&headless)), ("machine", 0));
    }
}

#[test]
fn the_scheduler_none_is_explained_among_the_arms() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let picture = shown(&after("threadripper-before", size, "5", 0));
        assert!(picture.contains("arms     none (no scheduler) · mq-deadline"), "{size:?}: {picture}");
        let running = after("threadripper-before", size, "5<Enter>", 14);
        assert!(words(&running).contains(": arm "), "{size:?}: {}", shown(&running));
    }
}

#[test]
fn a_mistyped_option_of_an_arm_is_answered_in_whole_words() {
    for size in [(60, 20), (80, 24)] {
        let text = words(&after("threadripper-before", size, "5e filname=/x<Enter>", 0));
        assert!(text.contains("did you mean filename?"), "{size:?}: {text}");
        let text = words(&after("threadripper-before", size, "5e colour=red<Enter>", 0));
        assert!(text.contains("such as filename rw bs") && text.contains("show the others"), "{text}");
    }
}

#[test]
fn a_demo_refuses_a_file_by_every_path() {
    for keys in ["<Enter>", "<Tab>", "<Down>"] {
        let mut headless = open("laptop", (80, 24));
        press(&mut headless, &format!("4g<Enter>/etc/passwd{keys}"));
        assert_eq!(notice(&headless), "filename=/etc/passwd: no such drive in the demo, which has no files");
        let form = &headless.app.screens.dyno.form;
        assert!(form.files.is_empty() && form.edit.is_some(), "{keys}: {form:?}");
        press(&mut headless, "<Esc>");
        assert!(!shown(&headless).contains("/etc/passwd"), "{}", shown(&headless));
    }
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, "5e<C-u>one: bs=4k filename=/etc/passwd<Enter>");
    assert!(notice(&headless).contains("which has no files"), "{}", notice(&headless));
    press(&mut headless, "<Esc>4");
    assert!(headless.app.screens.dyno.form.files.is_empty());
    // Its drives have paths.
    press(&mut headless, "g<Enter>/dev/nvme1n1<Enter>");
    assert_eq!(headless.app.screens.dyno.form.files.len(), 1);
}

#[test]
fn the_footer_names_the_keys_that_a_screen_is_for() {
    for size in [(60, 20), (80, 24), (120, 40)] {
        let mut headless = open("threadripper-before", size);
        press(&mut headless, "3");
        assert!(footer(&headless).contains("←→ column") && footer(&headless).contains("Enter edit"));
        assert!(size.0 < 80 || shown(&headless).contains("~ not "), "{}", shown(&headless));
        press(&mut headless, "7");
        assert!(footer(&headless).contains("y copy"), "{}", footer(&headless));
        press(&mut headless, "3:mark<Enter>");
        assert_eq!(headless.app.shared.marks.len(), 1, "what has no room is in the palette");
    }
}

#[test]
fn the_legend_of_settings_covers_neither_title_nor_mark() {
    for width in 60..=160 {
        let mut headless = open("threadripper-before", (width, 24));
        press(&mut headless, "3");
        let title = shown(&headless).lines().nth(2).unwrap_or_default().to_owned();
        assert!(title.contains("Settings") && title.contains("of 18"), "{width}: {title}");
        assert!(title.contains('↓') && (width < 80 || title.contains("~ not ")), "{width}: {title}");
        press(&mut headless, "l+");
        let title = shown(&headless).lines().nth(2).unwrap_or_default().to_owned();
        assert!(title.contains("1 staged") && title.contains("of 18"), "{width}: {title}");
    }
}

#[test]
fn two_tests_compared_name_the_keys_that_choose_others() {
    let mut headless = open("laptop", (80, 24));
    for _ in 0..2 {
        press(&mut headless, "4r");
        headless.wait(Duration::from_secs(12));
    }
    press(&mut headless, "=");
    assert!(shown(&headless).contains("Two tests compared"), "{}", shown(&headless));
    assert_eq!(footer(&headless).trim(), "[ ] other tests  Esc close");
    press(&mut headless, "[");
    assert!(shown(&headless).contains("which is the oldest"), "{}", shown(&headless));
}

#[test]
fn questions_have_the_columns_beside_their_times() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "5");
    let row = |headless: &Headless, words: &str| shown(headless).lines().any(|line| line.contains(words));
    for question in [
        "Which drives share a limit that the tree hides?",
        "Which of two sets of settings and workloads is better?",
    ] {
        assert!(row(&headless, question), "{question}: {}", shown(&headless));
    }
    let mut headless = open("threadripper-before", (100, 30));
    press(&mut headless, "5");
    for question in ["Which block size saturates the drive?", "What does splitting large reads cost?"] {
        assert!(row(&headless, question), "{question}: {}", shown(&headless));
    }
}

#[test]
fn an_opened_text_is_no_machine_to_pull() {
    const LSPCI: &str = "3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 [1179:011a]\n\
                         00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\n";
    for size in [(80, 24), (120, 40)] {
        let mut headless = open("laptop", size);
        headless.send(Message::Paste(LSPCI.to_owned()));
        press(&mut headless, "r");
        assert_eq!(headless.app.screen, ScreenId("machine"));
        assert!(notice(&headless).starts_with("A text's drives cannot be tested"), "{}", notice(&headless));
        press(&mut headless, "?");
        assert!(shown(&headless).contains("Opened text: "), "{}", shown(&headless));
        assert!(!shown(&headless).contains("This machine:"), "{}", shown(&headless));
    }
}

#[test]
fn a_pull_ends_with_drives_in_sight_on_the_smallest_terminal() {
    for demo in ["threadripper-before", "x570", "laptop"] {
        let mut headless = open(demo, (60, 20));
        press(&mut headless, "r");
        headless.wait(Duration::from_mins(3));
        assert!(headless.app.shared.pulls.running.is_none());
        let picture = shown(&headless);
        let rows = picture.lines().skip_while(|line| !line.contains("Drives ")).skip(1);
        assert!(rows.take(2).any(|line| line.contains("nvme")), "{demo}: {picture}");
        assert!(picture.lines().next().is_some_and(|line| line.contains("iodyno")), "{picture}");
    }
}

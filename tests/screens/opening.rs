//! Another machine opened on the screen: by its name, dropped, or pasted as a text; and back.

use std::{io::Write, time::Duration};

use crate::screen::{open, press, shown};
use iodyno::{
    app::{Message, Mode},
    runtime::headless::Headless,
};

const LSPCI: &str = "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\n\
00:1d.0 PCI bridge [0604]: Intel Corporation Device [8086:a330]\n\
3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 NVMe SSD Controller [1179:011a]\n";

fn paste(headless: &mut Headless, text: &str) {
    headless.send(Message::Paste(text.to_owned()));
}

fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

#[test]
fn a_pasted_text_opens_and_the_way_back_shows_the_demo() {
    for size in [(80, 24), (120, 40), (200, 60)] {
        let mut headless = open("laptop", size);
        let before = shown(&headless);
        // As terminals send it.
        paste(&mut headless, &LSPCI.replace('\n', "\r"));
        assert_eq!(headless.app.shared.mode, Mode::Capture);
        let picture = shown(&headless);
        assert!(picture.contains("TEXT") && picture.contains("3d:00.0"), "{picture}");
        assert!(picture.lines().next().unwrap().contains("lspci"), "{picture}");
        press(&mut headless, ":open <Enter>");
        assert_eq!(shown(&headless), before);
    }
}

#[test]
fn the_title_of_a_text_names_its_listings_and_what_it_lacks_in_whole_words() {
    let drawing = "-[0000:00]-+-00.0  Intel Corporation Device 3ec2\n           \\-1d.0-[3d]----00.0  Toshiba Corporation XG6 NVMe SSD\n\n";
    let row = "/dev/nvme0n1     X      KXG60ZNV512G NVMe TOSHIBA 512GB  1   512.11  GB / 512.11  GB    512   B +  0 B   10604107\n\n";
    let links = "05:00.0 Ethernet controller: Realtek Device\n\tLnkCap: Speed 8GT/s, Width x1\n\tLnkSta: Speed 8GT/s, Width x1\n\n";
    let many = format!("{drawing}{LSPCI}\n{row}{links}");
    for (text, columns, title) in [
        (LSPCI, 80, "lspci -nn; lacks speeds, models, queues · 1 drive"),
        (LSPCI, 120, "lspci -nn, no link speeds, no drive models, no drives' queues · 1 drive"),
        (LSPCI, 60, "lspci -nn"),
        (&many, 80, "lspci -tv and 3 more; lacks queues · 1 drive"),
        (&many, 120, "lspci -tv, lspci -nn, nvme list and lspci -vv, no drives' queues · 1 drive"),
    ] {
        let mut headless = open("laptop", (columns, 24));
        paste(&mut headless, text);
        let picture = shown(&headless);
        let line = picture.lines().next().unwrap();
        let shown = line.trim_start().strip_prefix("iodyno").unwrap().split("TEXT").next().unwrap().trim();
        assert_eq!(shown, title, "{columns} columns");
        assert!(!picture.contains("none: no PCIe"), "a link that the text does not show: {picture}");
    }
}

#[test]
fn a_named_a_dropped_and_a_quoted_file_open() {
    let file = file(LSPCI);
    let path = file.path().display().to_string();
    for way in [format!("'{path}'"), path.clone(), format!("file://{path}\r")] {
        let mut headless = open("laptop", (120, 40));
        paste(&mut headless, &way);
        assert!(shown(&headless).contains("3d:00.0"), "{way}");
    }
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, &format!(":open {path}<Enter>"));
    assert!(shown(&headless).contains("3d:00.0"));
    assert!(shown(&headless).contains(&format!("Opened {path}")));
    // A path pasted behind the word is text of the palette.
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "<C-o>");
    paste(&mut headless, &path);
    press(&mut headless, "<Enter>");
    assert!(shown(&headless).contains("3d:00.0"));
}

#[test]
fn a_broken_file_leaves_the_machine_and_says_one_line() {
    let (folder, broken) = (tempfile::tempdir().unwrap(), file("hello"));
    for (path, words) in [
        ("/nowhere/at all".to_owned(), "No such file or directory"),
        (broken.path().display().to_string(), "contains no iodyno capture"),
        (folder.path().display().to_string(), "has no folder `sys`"),
        ("/dev/null".to_owned(), "neither a file nor a folder"),
    ] {
        let mut headless = open("laptop", (120, 40));
        press(&mut headless, &format!(":open {path}<Enter>"));
        let picture = shown(&headless);
        assert!(matches!(headless.app.shared.mode, Mode::Demo(_)));
        assert!(picture.contains(words) && picture.contains("DEMO"), "{picture}");
    }
    let mut headless = open("laptop", (120, 40));
    paste(&mut headless, "no listing\nat all\n");
    assert!(shown(&headless).contains("pasted text: contains no iodyno capture"), "{}", shown(&headless));
    press(&mut headless, ":open <Enter>");
    assert!(shown(&headless).contains("No other machine was opened"));
}

#[test]
fn commands_of_machines_are_not_offered_on_a_text() {
    let mut headless = open("laptop", (200, 60));
    let footer = |headless: &Headless| shown(headless).lines().last().unwrap().to_owned();
    assert!(footer(&headless).contains("pull") && footer(&headless).contains("mark"));
    paste(&mut headless, LSPCI);
    headless.app.notice = None;
    assert!(
        !footer(&headless).contains("pull") && !footer(&headless).contains("mark"),
        "{}",
        footer(&headless)
    );
    press(&mut headless, "?");
    let help = shown(&headless);
    assert!(help.contains("Opened text: lspci") && !help.contains("Run the pull"), "{help}");
    press(&mut headless, "<Esc>:pull");
    assert!(!shown(&headless).contains("Run the pull"), "{}", shown(&headless));
}

#[test]
fn a_test_goes_on_while_another_machine_is_shown() {
    let mut headless = open("threadripper-before", (120, 40));
    press(&mut headless, "n<Space>4r");
    headless.wait(Duration::from_secs(2));
    assert!(shown(&headless).contains("running"));
    paste(&mut headless, LSPCI);
    assert!(!shown(&headless).contains("● running"));
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(20));
    assert!(!shown(&headless).contains("Result"), "{}", shown(&headless));
    press(&mut headless, ":open <Enter>");
    let picture = shown(&headless);
    assert!(picture.contains("Result") && !picture.contains("● running"), "{picture}");
    // Quitting from a text asks what the first machine would ask.
    press(&mut headless, "r");
    headless.wait(Duration::from_secs(1));
    paste(&mut headless, LSPCI);
    press(&mut headless, "q");
    assert!(!headless.has_left() && shown(&headless).contains("A test is running"), "{}", shown(&headless));
    press(&mut headless, "y");
    assert!(headless.has_left());
}

#[test]
fn a_second_file_replaces_the_first_and_back_leads_to_the_machine() {
    let mut headless = open("laptop", (120, 40));
    paste(&mut headless, LSPCI);
    paste(&mut headless, &LSPCI.replace("3d:00.0", "4e:00.0"));
    assert!(shown(&headless).contains("4e:00.0"));
    press(&mut headless, ":open <Enter>");
    assert!(shown(&headless).contains("DEMO"));
}

#[test]
fn the_palette_says_what_open_takes_and_a_text_can_be_pasted_there() {
    let mut headless = open("laptop", (80, 24));
    press(&mut headless, ":open<Enter>");
    let picture = shown(&headless);
    assert!(
        picture.contains(": open") && picture.contains("Enter without a path, or Ctrl-R, goes back"),
        "{picture}"
    );
    assert!(!picture.contains("slot move"), "no other command is offered behind open: {picture}");
    paste(&mut headless, LSPCI);
    headless.wait(Duration::ZERO);
    assert!(shown(&headless).contains("nvme@3d:00.0"), "{}", shown(&headless));
    // A single line is a path, which can still be corrected.
    press(&mut headless, ":open<Enter>");
    paste(&mut headless, "/tmp/no such file");
    assert!(shown(&headless).contains(": open /tmp/no such file"), "{}", shown(&headless));
}

#[test]
fn an_open_field_takes_a_paste_as_text() {
    let mut headless = open("laptop", (120, 40));
    press(&mut headless, "/");
    paste(&mut headless, "nvme1\rsecond line");
    assert!(matches!(headless.app.shared.mode, Mode::Demo(_)));
    assert!(shown(&headless).contains("nvme1"));
}

//! Texts after what mail programs, forums and terminals do to them.

use iodyno::source::{SysRoot as _, import};

use super::imports::{machine, node, outline, text};

/// What mail programs, forums and terminals do to a text.
fn damages(text: &str) -> Vec<(&'static str, String)> {
    let lines = |each: &dyn Fn(&str) -> String| text.lines().map(each).collect::<Vec<_>>().join("\n");
    let numbered = |outside: &str, inside: &str| {
        let each = |(at, line)| format!("{outside}{:6}\t{inside}{line}\n", at + 1);
        text.lines().enumerate().map(each).collect::<String>()
    };
    let quoted_printable = text.replace('=', "=3D").replace('\t', "=09");
    let soft = quoted_printable.lines().map(|line| {
        let at = line
            .char_indices()
            .map(|(at, _)| at)
            .find(|at| *at >= 70 && !line[at.saturating_sub(3)..*at].contains('='));
        at.map_or_else(|| line.to_owned(), |at| format!("{}=\n{}", &line[..at], &line[at..]))
    });
    vec![
        ("quoted", lines(&|line| format!("> {line}"))),
        ("quoted twice", lines(&|line| format!("> > {line}"))),
        ("CRLF", lines(&|line| format!("{line}\r"))),
        ("indented", lines(&|line| format!("    {line}"))),
        ("quoted behind a tab", lines(&|line| format!("\t> {line}"))),
        ("added by a patch", lines(&|line| format!("+{line}"))),
        ("in BBCode", format!("[quote=\"bob\"]My box:[/quote]\n[code]{text}[/code]\n[b]Thanks[/b]\n")),
        ("numbered by cat", numbered("", "")),
        ("in Markdown", format!("Why is my RAID slow?\n\n```\n$ lspci\n{text}\n```\nThanks!\n")),
        ("quoted, then numbered by cat", numbered("", "> ")),
        ("numbered by cat, then quoted", numbered("> ", "")),
        (
            "in HTML",
            format!("<pre>{}</pre>", text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
        ),
        ("quoted-printable", soft.collect::<Vec<_>>().join("\n")),
        ("in UTF-8 with its mark", format!("\u{feff}{text}")),
        ("blanks at ends", lines(&|line| format!("{line}  "))),
    ]
}

#[test]
fn mails_and_forums_do_not_change_the_machine() {
    for name in [
        "threadripper-before.txt",
        "board-jetway-vvv.txt",
        "laptop-surface-nnvvv.txt",
        "x570-regalis.txt",
        "root-ports-aer.txt",
    ] {
        let text = text(name);
        let whole = outline(&machine(&text));
        for (damage, damaged) in damages(&text) {
            let same = outline(&machine(damaged)) == whole;
            assert!(same, "{name}, {damage}");
        }
    }
}

#[test]
fn a_drawing_moved_by_format_flowed_is_read() {
    let text = text("threadripper-before.txt");
    let whole = outline(&machine(&text));
    for moved in 1..4 {
        let lines = text.lines().enumerate();
        let flowed =
            lines.map(|(at, line)| if at == 0 { line.to_owned() } else { format!("{:moved$}{line}", "") });
        assert_eq!(outline(&machine(flowed.collect::<Vec<_>>().join("\n"))), whole, "by {moved} columns");
    }
    let cut = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    assert_eq!(outline(&machine(cut)), whole, "a blank less");
}

/// Nested last branches, in two root complexes and two domains.
const NESTED: &str = "\
-+-[0001:00]-+-00.0  Intel Host Bridge
 |           \\-1d.0-[02-05]----00.0-[03-05]--+-00.0-[04]----00.0  NVMe SSD A
 |                                           +-01.0-[05]--+-00.0  NVMe SSD B
 |                                           |            \\-00.1  NVMe SSD C
 |                                           \\-02.0-[06]--
 \\-[0000:00]-+-00.0  Intel Host Bridge
             +-1c.0-[01]----00.0  NVMe SSD D
             \\-1d.0-[02-05]----00.0-[03-05]--+-00.0-[04]----00.0  NVMe SSD E
                                             \\-01.0-[05]--+-00.0  NVMe SSD F
                                                          \\-00.1  NVMe SSD G
";

#[test]
fn a_drawing_that_lost_its_indentation_has_its_parents() {
    let drawings = ["threadripper-before.txt", "x570-regalis.txt", "forum-r7525-drawing.txt"].map(text);
    for text in drawings.iter().map(String::as_str).chain([NESTED]) {
        let whole = outline(&machine(text));
        let stripped = text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
        let collapsed = text
            .lines()
            .map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("\n");
        for (damage, damaged) in [("stripped", stripped), ("collapsed", collapsed)] {
            assert_eq!(outline(&machine(&damaged)), whole, "{damage}");
        }
    }
    let lacks = |text: &str| import::read(text.as_bytes()).unwrap().unwrap().pasted().unwrap().lacks.clone();
    let stripped = NESTED.lines().map(str::trim_start).collect::<Vec<_>>();
    let is_named = |lack: &String| lack.starts_with("The drawing in line 1 lost its indentation");
    assert_eq!(lacks(&stripped.join("\n")).iter().filter(|lack| is_named(lack)).count(), 1);
    assert!(!lacks(NESTED).iter().any(is_named));
    // With a line missing, buses in brackets are known and their bridges are not.
    let cut = [&stripped[..4], &stripped[5..7], &stripped[8..]].concat().join("\n");
    let of_cut = machine(&cut);
    for (address, above) in [
        ("0001:05:00.1", Some("0001:03:01.0")),
        ("0000:01:00.0", Some("0000:00:1c.0")),
        ("0000:05:00.0", None),
    ] {
        let parent = node(&of_cut, address).parent.map(|above| of_cut.pci.node(above).address.to_string());
        let above = above.map_or("0000:05", |above| above);
        assert_eq!(parent.as_deref(), Some(above), "{address}");
    }
    let lacks = lacks(&cut);
    assert!(lacks.iter().any(|lack| lack.starts_with("The bridge above 0000:05 is unknown")), "{lacks:?}");
}

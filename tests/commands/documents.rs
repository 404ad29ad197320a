//! README.md and the samples show the output of the program.
//!
//! `IODYNO_UPDATE=1 cargo test --test commands documents` writes them anew.

#![expect(clippy::disallowed_methods, reason = "documents are written anew when that is asked for")]

use std::{env, fs, path::Path, process::Command};

const MADE_BY: &str = "<!-- made by: iodyno ";

/// The document with every block that a command made as that command makes it now.
fn made_anew(document: &str) -> String {
    let mut anew = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        anew.push_str(line);
        anew.push('\n');
        if let Some(arguments) = line.strip_prefix(MADE_BY).and_then(|rest| rest.strip_suffix(" -->")) {
            let fence = lines.next().unwrap();
            assert!(fence.starts_with("```"), "a code block follows {line}");
            let rest = lines.by_ref().find(|line| *line == "```");
            assert!(rest.is_some(), "the code block after {line} ends");
            let text = printed_by(arguments);
            assert!(!text.contains("```"), "iodyno {arguments} ends the block it stands in");
            anew.extend([fence, "\n", &text, "```\n"]);
        }
    }
    anew
}

fn printed_by(arguments: &str) -> String {
    let iodyno = env!("CARGO_BIN_EXE_iodyno");
    let output = Command::new(iodyno).args(arguments.split(' ')).env_remove("NO_COLOR").output().unwrap();
    assert!(output.status.success(), "iodyno {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() > 2, "iodyno {arguments} printed {text}");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

fn is_current(name: &str, anew: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let document = fs::read_to_string(&path).unwrap_or_default();
    let anew = anew(&document);
    if env::var_os("IODYNO_UPDATE").is_some() {
        fs::write(&path, &anew).unwrap();
        return;
    }
    let changed = document.lines().zip(anew.lines()).position(|(was, is)| was != is);
    let line = changed.unwrap_or(document.lines().count().min(anew.lines().count())) + 1;
    assert!(
        document == anew,
        "{name} is not current from line {line} on; IODYNO_UPDATE=1 cargo test --test commands documents"
    );
}

#[test]
fn the_readme_shows_todays_screen_and_is_short() {
    is_current("README.md", made_anew);
    let lines = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert!(lines.lines().count() <= 150, "what is longer belongs to docs/");
}

#[test]
fn the_documents_hold_the_tables_of_the_program() {
    let tables = [
        ("keys", iodyno::app::commands::markdown()),
        ("findings", iodyno::findings::markdown()),
        ("experiments", iodyno::experiment::table::markdown()),
        ("settings", iodyno::tune::settings::markdown()),
        ("why", iodyno::report::why::markdown()),
        ("options", iodyno::model::options::markdown()),
        ("configuration", iodyno::config::markdown()),
        ("glossary", iodyno::app::glossary::markdown()),
        ("colours", iodyno::ui::theme::markdown()),
        ("characters", iodyno::ui::glyphs::markdown()),
    ];
    for (name, table) in tables {
        let columns = |line: &str| line.matches('|').count();
        assert!(table.lines().all(|line| columns(line) == columns(&table) / table.lines().count()), "{name}");
        let mark = format!("<!-- {name} -->\n");
        is_current(&format!("docs/{name}.md"), |document| {
            let (before, _) = document.split_once(&mark).unwrap();
            format!("{before}{mark}\n{}\n", table.trim_end())
        });
    }
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["README.md", "docs/performance.md", "examples/README.md"] {
        let document = fs::read_to_string(top.join(name)).unwrap();
        let links = document.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (link, _) in links.filter(|(link, _)| !link.starts_with("http")) {
            let file = link.split('#').next().unwrap();
            assert!(top.join(name).parent().unwrap().join(file).exists(), "{name} links to {link}");
        }
    }
}

/// The pictures of README and docs, each with the screen and keys it is drawn from, and what it has to show.
const PICTURES: [(&str, &str, &str); 12] = [
    ("machine", "machine --demo --keys jjjj", "PCIe tree"),
    ("findings", "findings --demo laptop", "remedy"),
    ("tune", "tune --demo --keys l+", "1 staged"),
    ("dyno", "dyno --demo --keys r --seconds 8", "running"),
    ("what-if", "what-if --demo", "Does the scheduler cost"),
    ("sheet", "sheet --demo", "In the sheet"),
    ("minute-1-start", "machine --demo", "8 drives share root complex 0000:40"),
    ("minute-2-pull", "machine --demo --keys r --seconds 18", "all drives together"),
    ("minute-3-headline", "machine --demo --keys r --seconds 60", "53.5 of 71.4 GB/s"),
    ("minute-4-finding", "machine --demo --keys r --seconds 60 --then <Enter>", "shared-root-complex"),
    ("minute-5-slot", "machine --demo --keys r --seconds 60 --then <Enter>w", "After"),
    ("minute-6-sheet", "machine --demo --keys r --seconds 60 --then <Enter>w7", "**53.5 of 71.4 GB/s"),
];

#[test]
fn pictures_are_what_the_program_draws() {
    for (name, screen, shows) in PICTURES {
        let text = printed_by(&format!("render {screen} --size 120x36"));
        assert!(text.contains(shows), "{name} shows no {shows:?}: {text}");
        is_current(&format!("docs/{name}.svg"), |_| {
            printed_by(&format!("render {screen} --size 120x36 --format svg"))
        });
    }
}

#[test]
fn samples_are_what_the_commands_print() {
    is_current("examples/README.md", made_anew);
}

/// Sample files with the whole output of a command.
const PRINTED: [(&str, &str); 1] =
    [("examples/ten-drives.fio", "bench --demo --rw=read --bs=1m --iodepth=8 --runtime=30 --emit-fio")];

#[test]
fn sample_files_are_what_their_commands_print() {
    for (name, arguments) in PRINTED {
        is_current(name, |_| printed_by(arguments));
        let told =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/README.md")).unwrap();
        assert!(told.contains(&format!("iodyno {arguments}")), "examples/README.md says how {name} is made");
    }
}

/// Whole files, each with the command that prints it.
const SHEETS: &[(&str, &str)] = &[
    ("examples/threadripper-before.sheet.md", "sheet --demo threadripper-before --simulate"),
    ("examples/x570.sheet.bbcode", "sheet --demo x570 --simulate --format bbcode"),
    ("examples/laptop.sheet.txt", "sheet --demo laptop --simulate --format text"),
    (
        "examples/threadripper.compare.md",
        "compare assets/demos/threadripper-before.capture assets/demos/threadripper-after.capture --format markdown",
    ),
];

#[test]
fn sample_sheets_are_what_the_program_makes() {
    for (file, arguments) in SHEETS {
        is_current(file, |_| {
            let iodyno = env!("CARGO_BIN_EXE_iodyno");
            let output = Command::new(iodyno).args(arguments.split(' ')).output().unwrap();
            assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        });
    }
}

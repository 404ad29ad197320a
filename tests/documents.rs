//! What README.md and the samples show is what the program prints today.
//!
//! `IODYNO_UPDATE=1 cargo test --test documents` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]
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
            anew.extend([fence, "\n", &printed_by(arguments), "```\n"]);
        }
    }
    anew
}

fn printed_by(arguments: &str) -> String {
    let iodyno = env!("CARGO_BIN_EXE_iodyno");
    let output = Command::new(iodyno).args(arguments.split(' ')).env_remove("NO_COLOR").output().unwrap();
    assert!(output.status.success(), "iodyno {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() > 2 && !text.contains("```"), "iodyno {arguments} printed {text}");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

fn is_current(name: &str, anew: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let document = fs::read_to_string(&path).unwrap();
    let anew = anew(&document);
    if env::var_os("IODYNO_UPDATE").is_some() {
        fs::write(&path, &anew).unwrap();
        return;
    }
    let changed = document.lines().zip(anew.lines()).position(|(was, is)| was != is);
    let line = changed.unwrap_or(document.lines().count().min(anew.lines().count())) + 1;
    assert!(
        document == anew,
        "{name} is not current from line {line} on; IODYNO_UPDATE=1 cargo test --test documents"
    );
}

/// The document with what stands between a mark and the next heading replaced.
fn replaced(document: &str, mark: &str, text: &str) -> String {
    let (before, rest) = document.split_once(mark).unwrap();
    let after = rest.find("\n## ").unwrap();
    format!("{before}{mark}\n\n{}\n{}", text.trim_end(), &rest[after..])
}

#[test]
fn the_readme_shows_todays_screen_and_tables() {
    let tables = [
        ("<!-- keys -->", iodyno::app::commands::markdown()),
        ("<!-- findings -->", iodyno::findings::markdown()),
        ("<!-- experiments -->", iodyno::experiment::table::markdown()),
        ("<!-- settings -->", iodyno::tune::settings::markdown()),
    ];
    for (mark, table) in &tables {
        let columns = |line: &str| line.matches('|').count();
        assert!(table.lines().all(|line| columns(line) == columns(table) / table.lines().count()), "{mark}");
    }
    is_current("README.md", |document| {
        let fill = |document: String, (mark, table): &(&str, String)| replaced(&document, mark, table);
        made_anew(&tables.iter().fold(document.to_owned(), fill))
    });
}

#[test]
fn samples_are_what_the_commands_print() {
    is_current("examples/README.md", made_anew);
}

/// Sample files that are what a command prints, whole.
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

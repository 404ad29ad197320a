//! Texts that mails and terminals broke at every width: the same drives and functions, or lines that are named as not used.

use std::collections::BTreeMap;

use iodyno::source::{SysRoot, import};

use crate::imports::{machine, outline, text};

/// How a program breaks lines.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Break {
    /// At blanks, which are lost.
    Soft,
    /// Behind blanks, which stay.
    SoftWithBlanks,
    /// At the column.
    Hard,
    /// At the column; blanks at the ends of lines are lost.
    HardWithoutBlanks,
}

const ALL: [Break; 4] = [Break::Soft, Break::SoftWithBlanks, Break::Hard, Break::HardWithoutBlanks];

/// Columns of a tab.
const TAB: usize = 8;

fn columns(line: &str) -> usize {
    line.chars().fold(0, |at, letter| if letter == '\t' { (at / TAB + 1) * TAB } else { at + 1 })
}

/// The bytes of a line that fit.
fn fitting(line: &str, width: usize) -> usize {
    let ends = line.char_indices().map(|(at, letter)| at + letter.len_utf8());
    ends.take_while(|end| columns(&line[..*end]) <= width).last().unwrap_or(line.len())
}

fn broken(text: &str, width: usize, how: Break) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while columns(rest) > width {
            let fits = fitting(rest, width);
            let start = rest.len() - rest.trim_start().len();
            let blank = rest[..fits].rfind(' ').filter(|at| *at > start);
            let end = match how {
                Break::Soft if rest[fits..].starts_with(' ') => fits,
                Break::Soft | Break::SoftWithBlanks => blank.map_or(fits, |at| at + 1),
                Break::Hard | Break::HardWithoutBlanks => fits,
            };
            let (first, behind) = rest.split_at(end);
            let (first, behind) = match how {
                Break::Soft => (first.trim_end(), behind.trim_start()),
                Break::HardWithoutBlanks => (first.trim_end(), behind),
                _ => (first, behind),
            };
            out += first;
            out.push('\n');
            rest = behind;
        }
        out += if matches!(how, Break::Soft | Break::HardWithoutBlanks) { rest.trim_end() } else { rest };
        out.push('\n');
    }
    out
}

type Drive = [Option<String>; 5];

/// Size, block size, model, serial number and firmware of each drive.
fn drives(text: &str) -> BTreeMap<String, Drive> {
    if import::read(text.as_bytes()).unwrap().is_none() {
        return BTreeMap::new();
    }
    let words = |drive: &iodyno::machine::Drive| {
        [
            drive.size.get().map(|size| size.0.to_string()),
            drive.queue.logical_block_size.get().map(|size| size.to_string()),
            drive.model.value().map(ToString::to_string),
            drive.serial.value().map(ToString::to_string),
            drive.firmware.value().map(ToString::to_string),
        ]
    };
    machine(text).drives.iter().map(|drive| (drive.name.to_string(), words(drive))).collect()
}

fn list(name: &str) -> String {
    let path = format!("{}/tests/fixtures/nvme-lists/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let table = text.find("\nNode ").or_else(|| text.find("Device  ")).unwrap();
    text[table..].trim_start().to_owned()
}

/// Three drives as nvme-cli 2 prints them.
fn newer() -> String {
    let row = |name: &str, generic: &str, serial: &str, model: &str, size: &str, firmware: &str| {
        format!(
            "{name:<21} {generic:<21} {serial:<20} {model:<40} {:<10} {size} / {size}    512   B +  0 B   {firmware:<8}\n",
            "0x1"
        )
    };
    let rule = |widths: [usize; 8]| widths.map(|width| "-".repeat(width)).join(" ");
    let heading = format!(
        "{:<21} {:<21} {:<20} {:<40} {:<10} {:<26} {:<16} {:<8}",
        "Node", "Generic", "SN", "Model", "Namespace", "Usage", "Format", "FW Rev"
    );
    let (two, half, quarter) = ("  2.00  TB", "500.11  GB", "250.06  GB");
    format!(
        "{heading}\n{}\n{}{}{}",
        rule([21, 21, 20, 40, 10, 26, 16, 8]),
        row("/dev/nvme0n1", "/dev/ng0n1", "PHLE8066001Y2P0DGN", "INTEL SSDPE2KE020T7", two, "QDV10170"),
        row(
            "/dev/nvme1n1",
            "/dev/ng1n1",
            "S6B0NL0T123456A",
            "Samsung SSD 980 PRO with Heatsink 1TB",
            half,
            "5B2QGXA7"
        ),
        row("/dev/nvme10n1", "/dev/ng10n1", "50026B7685F13C1E", "KINGSTON SNV2S250G", quarter, "ELFK0S.4"),
    )
}

#[test]
fn a_table_of_nvme_cli_has_the_same_drives_at_any_width() {
    let lists = ["nvme-list-columns.txt", "nvme-list-generic.txt", "nvme-list-powers-of-two.txt"].map(list);
    for table in [newer()].iter().chain(&lists) {
        let expected = drives(table);
        assert!(!expected.is_empty(), "{table}");
        for (width, how) in (60..=120).flat_map(|width| ALL.map(|how| (width, how))) {
            let text = broken(table, width, how);
            let found = drives(&text);
            if how != Break::HardWithoutBlanks {
                assert_eq!(found, expected, "{how:?} {width}\n{text}");
            }
            let root = import::read(text.as_bytes()).unwrap();
            let unused = root.and_then(|root| Some(root.pasted()?.unused_lines)).unwrap_or(1);
            for (name, [size, block, ..]) in &expected {
                let Some([found_size, found_block, ..]) = found.get(name) else {
                    assert!(unused > 0, "{name} is not named: {how:?} {width}\n{text}");
                    continue;
                };
                assert!(found_block.is_none() || found_block == block, "{name}: {how:?} {width}\n{text}");
                // The same usage stands in powers of two too, which rounds otherwise.
                let bytes = |size: &Option<String>| size.as_ref().map(|size| size.parse::<f64>().unwrap());
                let ratio = bytes(found_size).zip(bytes(size)).map_or(1.0, |(found, size)| found / size);
                assert!((0.99..1.01).contains(&ratio), "{name}: {how:?} {width}\n{text}");
            }
        }
    }
}

#[test]
fn prose_behind_a_table_is_no_part_of_it() {
    let table = newer();
    let expected = drives(&table);
    for prose in ["Thanks", "0 problems so far, / is fine", "It has 2 drives"] {
        let text = format!("{table}{prose}\n");
        for text in [broken(&text, 76, Break::Soft), text] {
            assert_eq!(drives(&text), expected, "{text}");
        }
    }
}

#[test]
fn listings_of_lspci_that_were_folded_are_read_as_before() {
    const FOLDED: [&str; 8] = [
        "threadripper-before.txt",
        "x570-regalis.txt",
        "server-hpe-skylake-vvv.txt",
        "server-gpu-vvv.txt",
        "laptop-hp-omen-v.txt",
        "mini-zbox-v.txt",
        "laptop-thinkpad-p15.txt",
        "server-supermicro.txt",
    ];
    let mut compared = 0;
    for (name, width) in FOLDED.iter().flat_map(|name| [80, 100, 132].map(|width| (name, width))) {
        let whole = text(name);
        let folded = broken(&whole, width, Break::Hard);
        if folded.lines().count() < whole.lines().count() + 2 {
            continue;
        }
        let (found, expected) = (machine(&folded), machine(&whole));
        assert_eq!(outline(&found), outline(&expected), "{name} {width}");
        for ((_, found), (_, expected)) in found.pci.iter().zip(expected.pci.iter()) {
            assert_eq!(found.name(), expected.name(), "{name} {width}");
        }
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}

//! `lsblk`, plain and `-J`.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use super::{
    blocks::{is_filesystem, is_member, is_name, learn_size},
    document::{Field, Value},
    drives::{drive_name, is_namespace, lsblk_size, put, put_device, short},
    facts::{Facts, Line},
    geometry::Geometry,
    lsblk_columns::Columns,
    numbers::is_out_of_range,
    sections::Kind,
};

/// `lsblk -P`: rows of `NAME="sda" SIZE="3.6T"`.
pub(super) const PAIRS: Kind = Kind {
    begins: |line, _| pairs(line).is_some(),
    continues: |line| pairs(line).is_some(),
    tolerates: 0,
    read: |lines, facts| {
        for line in lines {
            if facts.is_too_many() {
                break;
            }
            if let Some(row) = pairs(&line.text) {
                json_row(Value::Object(row.into()), None, line.number, facts);
            }
        }
        Some("lsblk -P".into())
    },
};

/// Names and values of a row with a device's name.
fn pairs(line: &str) -> Option<Vec<Field<'static>>> {
    let mut rest = line.trim();
    let mut found: Vec<Field> = Vec::new();
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_uppercase() || b"-_:%".contains(&byte));
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").filter(|(name, _)| !name.is_empty() && is_name(name))?;
        let (value, after) = after.split_once('"')?;
        // Newer versions print names that a shell can read.
        let name = name.to_ascii_lowercase().replace("maj_min", "maj:min").replace('_', "-");
        found.push((name.into(), Value::Word(unescaped(value).into())));
        rest = after.trim_start();
    }
    found.iter().any(|(name, _)| ["name", "kname"].contains(&&**name)).then_some(found)
}

/// A table with the default columns, or others that begin with names and have sizes, file systems or block sizes. People
/// also paste rows without their heading.
pub(super) const TABLE: Kind =
    Kind { begins: |line, _| is_heading(line) || is_default_row(line), continues, tolerates: 0, read };

/// Columns of `lsblk` without options.
const DEFAULT: [&str; 6] = ["NAME", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE"];

/// Columns that are never empty for a drive (a scheduler may be: `cell_of`); a row is read up to the first other one.
const FULL: [&str; 17] = [
    "NAME",
    "KNAME",
    "PATH",
    "MAJ:MIN",
    "RM",
    "SIZE",
    "RO",
    "TYPE",
    "ROTA",
    "LOG-SEC",
    "PHY-SEC",
    "SCHED",
    "RQ-SIZE",
    "RA",
    "ALIGNMENT",
    "MIN-IO",
    "OPT-IO",
];

/// Kinds of rows.
const TYPES: [&str; 17] = [
    "disk", "part", "crypt", "lvm", "mpath", "dm", "rom", "loop", "md", "linear", "raid0", "raid1", "raid4",
    "raid5", "raid6", "raid10", "bcache",
];

/// Devices on top of each other; a machine has a handful.
const MOST_LAYERS: usize = 64;

pub(super) fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    matches!(words.first(), Some(&"NAME" | &"KNAME"))
        && (has("SIZE") || has("LOG-SEC") || has("FSTYPE") && (has("MOUNTPOINT") || has("MOUNTPOINTS")))
}

/// The drawing's columns before a name, and what follows them.
fn drawn(line: &str) -> (usize, &str) {
    let marks = [' ', '\u{251c}', '\u{2514}', '\u{2502}', '\u{2500}', '|', '`', '-', '?', '\u{fffd}'];
    let rest = line.trim_start_matches(marks);
    let columns = line[..line.len() - rest.len()].chars().count();
    (columns, rest)
}

pub(super) fn without_drawing(line: &str) -> &str {
    drawn(line).1
}

/// A row of a partition or another layer begins with a line of the drawing.
fn is_layer(line: &str) -> bool {
    let line = line.trim_start();
    // Markdown has backticks around a command.
    line.starts_with(['\u{251c}', '\u{2514}', '\u{2502}', '|', '?', '\u{fffd}']) || line.starts_with("`-")
}

fn is_point(word: &str) -> bool {
    word.starts_with("[SWAP]") || word.starts_with('/') && !word.starts_with("/dev/")
}

/// A row with the default columns: `├─nvme0n1p1 259:1 0 512M 0 part /boot/efi`.
fn is_default_row(line: &str) -> bool {
    let (_, text) = drawn(line);
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[name, number, removable, size, read_only, kind, ..] = words.as_slice() else { return false };
    let is_flag = |word: &str| ["0", "1"].contains(&word);
    is_name(name)
        && number
            .split_once(':')
            .is_some_and(|pair| [pair.0, pair.1].iter().all(|part| part.parse::<u32>().is_ok()))
        && is_flag(removable)
        && lsblk_size(size).is_some()
        && is_flag(read_only)
        && TYPES.contains(&kind)
}

/// A kernel name of a drive.
pub(super) fn is_drive(name: &str) -> bool {
    let is_letters = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| {
            (1..=3).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_lowercase())
        })
    };
    is_namespace(name) || ["sd", "vd", "hd", "xvd"].into_iter().any(is_letters) || is_numbered(name, "mmcblk")
}

/// A kernel name of a drive, an array or the device mapper.
fn is_disk(name: &str) -> bool {
    is_drive(name) || ["sr", "md", "zram", "loop", "zd", "dm-"].iter().any(|start| is_numbered(name, start))
}

fn is_numbered(name: &str, start: &str) -> bool {
    name.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn continues(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else { return true };
    let has_size = words.iter().skip(1).take(6).any(|word| lsblk_size(word).is_some());
    let is_mount = line.starts_with(' ') && is_point(first);
    let first = short(first);
    is_layer(line)
        || is_mount
        || is_disk(first)
        // A name behind marks of a drawing that no program can read is a row too.
        || (is_name(first) || !first.is_ascii())
            && has_size
            && words.len() >= 3
            && words.iter().any(|word| TYPES.contains(word))
}

fn read(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let is_other = facts.is_another_machine("table", lines, |lines, alone| _ = read_alone(lines, alone));
    if is_other { None } else { read_alone(lines, facts) }
}

fn read_alone(lines: &[Line], facts: &mut Facts) -> Option<Cow<'static, str>> {
    let mut columns: Vec<String> = DEFAULT.map(str::to_owned).to_vec();
    let mut found = false;
    // Names of the rows above, by the columns where they begin.
    let mut above: Vec<(usize, Arc<str>)> = Vec::new();
    let mut has_types = true;
    // Of a table with models or other cells that may be empty.
    let mut aligned: Option<Columns> = None;
    let (mut has_mounts, mut ends_in_mounts) = (false, true);
    let (mut with_mounts, mut is_readable) = (BTreeSet::new(), true);
    let is_flat = is_flat(lines);
    if is_flat {
        facts.lacks.push(
            "The drawing of lsblk has lost its indentation, so what layers lie on is not known: `lsblk -J` shows it."
                .to_owned(),
        );
    }
    for line in lines {
        if is_heading(&line.text) {
            let words = line.text.split_whitespace().map(str::to_owned);
            has_types = line.text.contains("TYPE") && words.clone().any(|word| word == "TYPE");
            has_mounts = words.clone().any(|word| is_mounts(&word));
            ends_in_mounts = words.clone().next_back().is_some_and(|word| is_mounts(&word));
            aligned = Columns::new(&line.text);
            columns = words.take_while(|word| FULL.contains(&word.as_str())).collect();
            above.clear();
            continue;
        }
        let (column, text) = drawn(&line.text);
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(name) = words.first().map(|word| short(word)) else { continue };
        // A further mount point of the row above.
        if is_point(words[0]) && column > 0 {
            if let Some((_, last)) = above.last().filter(|(_, last)| facts.takes_block(last)) {
                facts.block(last, line.number).mounts.extend(last_point(text));
            }
            continue;
        }
        above.retain(|(at, _)| *at < column);
        if above.len() >= MOST_LAYERS {
            facts.notes.unused_text(line, "more devices on top of each other than are read");
            continue;
        }
        if !is_name(name) {
            facts.notes.unused_text(line, "a row of lsblk without a device's name");
            is_readable = false;
            continue;
        }
        let parent = above.last().map(|(_, name)| name.clone());
        above.push((column, name.into()));
        let kind = words
            .iter()
            .skip(1)
            .find(|word| has_types && TYPES.contains(word))
            .map_or_else(|| guessed(name, parent.as_deref()), |word| *word);
        let row = Row {
            name,
            kind,
            // Partitions are known by their names.
            parent: parent.filter(|_| !is_flat),
            filesystem: words.iter().skip(1).find(|word| is_filesystem(word)).copied(),
        };
        let by_heading = aligned.as_ref().and_then(|columns| columns.cells(&line.text));
        let below_heading = by_heading.iter().flatten().find(|(name, _)| is_mounts(name));
        let points: Vec<String> = match below_heading {
            Some((_, point)) => Some(unescaped(point)).filter(|point| is_point(point)).into_iter().collect(),
            None if ends_in_mounts => last_point(text).into_iter().collect(),
            None => words.iter().skip(1).filter(|word| is_point(word)).map(|word| unescaped(word)).collect(),
        };
        let cell = |column: &str| {
            let below = by_heading.as_ref().and_then(|cells| cells.get(column).cloned());
            below.or_else(|| cell_of(&columns, &words, column).map(str::to_owned))
        };
        layer(facts, &row, points.into_iter(), &cell, line.number);
        if has_mounts {
            with_mounts.insert(name.to_owned());
        }
        if kind == "disk" && drive_name(name).is_some() {
            if by_heading.is_none() && aligned.as_ref().is_some_and(|columns| columns.has("MODEL")) {
                facts.notes.unused_text(line, "a row of lsblk whose columns are not below the headings");
            }
            for (field, file) in [("MODEL", "model"), ("SERIAL", "serial")] {
                let below = by_heading.as_ref().and_then(|cells| cells.get(field));
                put_device(facts, name, file, below.map_or("", String::as_str), line.number);
            }
            // `lsblk -f` and `-t` have no sizes.
            let is_named = !columns.iter().any(|column| column == "SIZE");
            if is_named {
                facts.drive(name, line.number);
            }
            found |= drive(facts, name, &cell, line.number) || is_named;
            if facts.is_too_many() {
                break;
            }
        }
    }
    // The row of a drive's user may be one that could not be read.
    if is_readable {
        facts.with_mounts.extend(with_mounts);
    }
    found.then(|| "lsblk".into())
}

/// Whether the drawing of a table has lost its indentation: a branch follows the last one of its column.
fn is_flat(lines: &[Line]) -> bool {
    // Columns of branches, and whether the last one of them is drawn.
    let mut open: Vec<(usize, bool)> = Vec::new();
    lines.iter().any(|line| {
        let (column, text) = drawn(&line.text);
        if text.is_empty() || is_point(text) || is_heading(&line.text) {
            return false;
        }
        let mark =
            line.text[..line.text.len() - text.len()].trim_end_matches(['\u{2500}', '-']).chars().next_back();
        open.retain(|(at, _)| *at <= column);
        let is_branch = mark.is_some_and(|mark| ['\u{251c}', '\u{2514}', '|', '`'].contains(&mark));
        let is_last = mark.is_some_and(|mark| ['\u{2514}', '`'].contains(&mark));
        let is_behind_last = is_branch && open.last() == Some(&(column, true));
        open.retain(|(at, _)| *at < column);
        open.push((column, is_last));
        is_behind_last
    })
}

/// The mount point that ends a row, with its blanks. Two blanks and signs of a remark are no part of it.
fn last_point(row: &str) -> Option<String> {
    let starts = row.match_indices(['/', '[']).map(|(at, _)| at);
    let is_start = |at: &usize| row[..*at].ends_with([' ', '\t']) || *at == 0;
    let point = starts.filter(is_start).map(|at| &row[at..]).rfind(|point| is_point(point))?;
    let remarks = ["  ", "\t", " #", " <", " \u{2190}"];
    let end = remarks.iter().filter_map(|remark| point.find(remark)).min().unwrap_or(point.len());
    let point = point[..end].trim_end();
    // Nothing follows the name of the root's and of swap.
    let alone = ["/", "[SWAP]"].into_iter().find(|alone| point.split(' ').next() == Some(alone));
    Some(unescaped(alone.unwrap_or(point)))
}

/// A mount point without the escapes of `lsblk -r`: `/mnt/my\x20raid`.
fn unescaped(point: &str) -> String {
    let mut parts = point.split("\\x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut plain, part| {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(u8::is_ascii_graphic).or_else(|| code.filter(|code| *code == b' ')) {
            Some(code) => {
                plain.push(char::from(code));
                plain + &part[2..]
            }
            None => plain + "\\x" + part,
        }
    })
}

/// The word below a heading. Where the scheduler is empty, a number stands below its heading, and what follows is further left.
fn cell_of<'a>(columns: &[String], words: &[&'a str], name: &str) -> Option<&'a str> {
    let place = |name: &str| columns.iter().position(|column| column == name);
    let at = place(name)?;
    let is_shifted = place("SCHED").is_some_and(|scheduler| {
        at >= scheduler
            && words.get(scheduler).is_none_or(|word| word.starts_with(|c: char| c.is_ascii_digit()))
    });
    words.get(at).filter(|_| !is_shifted).copied()
}

/// The kind of a row of a table without TYPE.
fn guessed(name: &str, parent: Option<&str>) -> &'static str {
    match parent {
        Some(parent) if name.starts_with(parent) => "part",
        Some(_) if name.starts_with("md") => "md",
        Some(_) => "dm",
        None if name.starts_with("loop") => "loop",
        None if name.starts_with("sr") => "rom",
        None if is_numbered(name, "md") => "md",
        None => "disk",
    }
}

/// A kind without a copy of its own, if it is one of those known.
fn kind_of(kind: &str) -> Cow<'static, str> {
    let known = TYPES.into_iter().find(|known| *known == kind);
    known.map_or_else(|| Cow::Owned(kind.to_owned()), Cow::Borrowed)
}

struct Row<'a> {
    name: &'a str,
    kind: &'a str,
    parent: Option<Arc<str>>,
    filesystem: Option<&'a str>,
}

/// The heading of mount points.
fn is_mounts(heading: &str) -> bool {
    ["MOUNTPOINT", "MOUNTPOINTS"].contains(&heading)
}

/// Takes a row's place in the stack, its mounts and its queue.
fn layer(
    facts: &mut Facts,
    row: &Row,
    points: impl Iterator<Item = String>,
    cell: &dyn Fn(&str) -> Option<String>,
    line: usize,
) {
    let points: Vec<String> = points.collect();
    if ["rom", "loop"].contains(&row.kind)
        || row.kind == "disk" && points.is_empty() && !row.filesystem.is_some_and(is_member)
        || !facts.takes_block(row.name)
    {
        return;
    }
    let block = facts.block(row.name, line);
    // A table without TYPE shows less than one with it.
    if block.kind.is_empty() || !["dm", "md"].contains(&row.kind) {
        block.kind = kind_of(row.kind);
    }
    row.parent.iter().for_each(|parent| block.lies_on(parent));
    block.mounts.extend(points);
    learn_size(block, cell("SIZE").and_then(|word| lsblk_size(&word)));
    for (file, content) in files(cell) {
        block.files.entry(file).or_insert(content);
    }
    if let Some(size) = block_size(cell) {
        block.files.entry("queue/logical_block_size").or_insert(size.to_string());
    }
    block.filesystem = block.filesystem.take().or_else(|| row.filesystem.map(str::to_owned));
}

/// The document of `lsblk -J`, with or without `-O` and `-b`; whether it is one.
pub(super) fn json(mut document: Value, line: usize, facts: &mut Facts) -> bool {
    let Some(devices) = document.take_list("blockdevices") else { return false };
    for device in devices {
        json_row(device, None, line, facts);
    }
    true
}

fn json_row(mut device: Value, parent: Option<&Arc<str>>, line: usize, facts: &mut Facts) {
    let children = device.take_list("children").unwrap_or_default();
    let text = |field: &str| match device.get(field)? {
        Value::Word(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Flag(flag) => Some(u8::from(*flag).to_string()),
        _ => None,
    };
    let column = |name: &str| text(&name.to_ascii_lowercase());
    let Some(name) = text("kname").or_else(|| text("name")).filter(|_| !facts.is_too_many()) else { return };
    let name = short(&name);
    if is_out_of_range(&device) {
        facts.notes.unused(line, &format!("{name} has a number out of range"));
        return;
    }
    let kind = column("TYPE");
    if is_name(name) {
        let points = device.get("mountpoints").and_then(Value::list).into_iter().flatten();
        let points = points.filter_map(Value::word).map(str::to_owned).chain(text("mountpoint"));
        // `lsblk -P` has all in one value.
        let pairs = text("mountpoints").unwrap_or_default();
        let points = points.chain(pairs.split("\\x0a").map(str::to_owned));
        let points = points.filter(|point| is_point(point) && !point.contains('\n'));
        let filesystem = column("FSTYPE").filter(|word| is_filesystem(word));
        let row = Row {
            name,
            kind: kind.as_deref().unwrap_or_else(|| guessed(name, parent.map(|name| &**name))),
            parent: parent.cloned().or_else(|| Some(text("pkname").filter(|name| is_name(name))?.into())),
            filesystem: filesystem.as_deref(),
        };
        layer(facts, &row, points, &column, line);
        if ["mountpoint", "mountpoints"].iter().any(|field| device.get(field).is_some()) {
            facts.with_mounts.insert(name.to_owned());
        }
        if row.kind == "disk" && drive_name(name).is_some() {
            json_drive(facts, name, &column, line);
        }
    }
    let above = Arc::from(name);
    for child in children {
        json_row(child, is_name(name).then_some(&above), line, facts);
    }
}

fn json_drive(facts: &mut Facts, name: &str, column: &dyn Fn(&str) -> Option<String>, line: usize) {
    drive(facts, name, column, line);
    for (field, file) in [("MODEL", "model"), ("SERIAL", "serial")] {
        put_device(facts, name, file, &column(field).unwrap_or_default(), line);
    }
    let revision = if name.starts_with("nvme") { "firmware_rev" } else { "rev" };
    put_device(facts, name, revision, &column("REV").unwrap_or_default(), line);
}

/// Files of a device's folder that tables and documents state.
fn files(cell: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let is_number =
        |text: &String| (1..20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_device = |text: &String| {
        text.split_once(':')
            .is_some_and(|(major, minor)| [major, minor].map(str::to_owned).iter().all(is_number))
    };
    let is_word = |text: &String| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let numbers = [
        ("RM", "removable"),
        ("ROTA", "queue/rotational"),
        ("RA", "queue/read_ahead_kb"),
        ("RQ-SIZE", "queue/nr_requests"),
    ];
    let mut files: Vec<(&'static str, String)> =
        numbers.iter().filter_map(|(column, file)| Some((*file, cell(column).filter(is_number)?))).collect();
    files.extend(cell("MAJ:MIN").filter(is_device).map(|number| ("dev", number)));
    files.extend(cell("SCHED").filter(is_word).map(|word| ("queue/scheduler", format!("[{word}]"))));
    files
}

fn block_size(cell: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    cell("LOG-SEC").and_then(|word| word.parse().ok())
}

/// What tables and documents have; whether there was a size.
fn drive(facts: &mut Facts, name: &str, cell: &dyn Fn(&str) -> Option<String>, line: usize) -> bool {
    for (file, content) in files(cell) {
        put(facts, name, file, content, line);
    }
    if let Some(transport) = cell("TRAN").filter(|word| !word.is_empty()) {
        let drive = facts.drive(name, line);
        drive.transport = drive.transport.take().or(Some(transport));
    }
    let size = cell("SIZE").and_then(|word| lsblk_size(&word));
    let block = block_size(cell);
    if size.is_some() || block.is_some() {
        facts.geometry(name, Geometry { size, block }, line);
    }
    size.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SysRoot, import};

    fn points(text: &str, name: &str) -> Vec<String> {
        let line = |(at, text): (usize, &'static str)| Line { number: at + 1, text: text.into() };
        let text: &'static str = text.to_owned().leak();
        let lines: Vec<Line> = text.lines().enumerate().map(line).collect();
        let mut facts = Facts::default();
        read_alone(&lines, &mut facts);
        facts.blocks[name].mounts.iter().cloned().collect()
    }

    #[test]
    fn rows_that_are_not_read_are_counted_and_leave_no_drive_without_a_user() {
        let over = 3;
        let rows: Vec<String> = (1..=Facts::MOST_BLOCKS + over)
            .map(|at| format!(r#"{{"name":"sda{at}","type":"part","mountpoint":null}}"#))
            .collect();
        let drive = r#"{"name":"sda","type":"disk","size":1099511627776,"mountpoint":null,"children""#;
        let text = format!(r#"{{"blockdevices":[{drive}:[{}]}}]}}"#, rows.join(","));
        let pasted = SysRoot::pasted(&import::read(text.as_bytes()).unwrap().unwrap()).unwrap();
        let said = "3 rows of partitions and layers are not read: there are more than 16384.";
        assert!(pasted.lacks.iter().any(|lack| lack == said), "{:?}", pasted.lacks);
        assert!(pasted.with_mounts.is_empty(), "a row that is not read may be a user");
    }

    #[test]
    fn mount_points_have_their_blanks() {
        let heading = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 7.3T 0 disk\n";
        let row = "\u{2514}\u{2500}sda1 8:1 0 7.3T 0 part";
        for (cell, point) in [
            ("/media/bob/My Passport", "/media/bob/My Passport"),
            ("/mnt/My Data/x y", "/mnt/My Data/x y"),
            ("/ <- the system", "/"),
            ("/boot/efi # of Windows", "/boot/efi"),
            ("[SWAP]", "[SWAP]"),
        ] {
            assert_eq!(points(&format!("{heading}{row} {cell}"), "sda1"), [point]);
            assert_eq!(points(&format!("sda 8:0 0 7.3T 0 disk\n{row} {cell}"), "sda1"), [point]);
        }
        let further = format!("{heading}{row} /\n       /media/bob/My Passport");
        assert_eq!(points(&further, "sda1"), ["/", "/media/bob/My Passport"]);
        let columns =
            "NAME    MODEL     SIZE MOUNTPOINT        TRAN\nsda     WDC WD80  7.3T                   sata\n";
        let row = "\u{2514}\u{2500}sda1            7.3T /mnt/My Data/x y";
        assert_eq!(points(&format!("{columns}{row}"), "sda1"), ["/mnt/My Data/x y"]);
    }
}

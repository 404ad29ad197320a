//! The tree in the columns of a code box.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthStr;

use super::{BOX, Block, Choice, Dossier, boxed};
use crate::{
    capacity::link_state,
    findings,
    machine::{Drive, HopLink, Machine, NodeKind, drive},
    model::{DriveName, Limit, NodeIndex},
    report::{
        cut,
        flatten::{self, Row, RowKey, RowKind},
        marks::{self, Mark},
    },
    text::Label,
    units::{UnitSystem, counted, three_digits},
};

/// Columns behind the link without marks: `39.4  published`.
const BEHIND_LINK: usize = 17;

/// Marks by node.
type Marks = BTreeMap<NodeIndex, BTreeSet<Mark>>;

/// A line of the tree.
#[derive(Default)]
struct Line {
    name: String,
    link: String,
    rate: String,
    marks: BTreeSet<Mark>,
    basis: &'static str,
}

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let machine = &dossier.machine;
    let marks = marks::of(machine, &findings::marked(machine, &dossier.findings));
    let rows = flatten::sheet(machine, &marks.keys().copied().collect());
    let elsewhere = machine.hardware_drives().filter(|drive| drive.node.is_none());
    let elsewhere = elsewhere.map(|drive| {
        Line::new(format!("{}: {}", machine.outside_pci_of(drive), named(machine, drive)), None)
    });
    let lines: Vec<Line> = rows.iter().map(|row| line(dossier, &marks, row)).chain(elsewhere).collect();
    let head = Line { link: "link".to_owned(), rate: "GB/s".to_owned(), ..Line::default() };
    let widest = |of: fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let link_width = widest(|line| line.link.width()).max(head.link.len());
    let mark_width = widest(|line| line.marks.len()).max(1);
    let name_width = widest(|line| line.name.width()).min(BOX - BEHIND_LINK - mark_width - link_width - 2);
    let mut text: Vec<String> = [&head]
        .into_iter()
        .chain(&lines)
        .map(|Line { name, link, rate, marks, basis }| {
            let name = cut(name, name_width);
            let pad = " ".repeat(name_width.saturating_sub(name.width()));
            let marks: String = marks.iter().map(|mark| mark.symbol()).collect();
            let rest = format!("{rate:>5} {marks:<mark_width$} {basis}");
            format!("{name}{pad}  {link:<link_width$} {rest}").trim_end().to_owned()
        })
        .collect();
    let stacked = stacked(dossier);
    if !stacked.is_empty() {
        text.push(String::new());
        text.extend(stacked);
    }
    let is_used = |mark: &Mark| lines.iter().any(|line| line.marks.contains(mark));
    let legend = Mark::ALL.into_iter().filter(is_used);
    let legend: Vec<String> = legend.map(|mark| format!("{} {}", mark.symbol(), mark.meaning())).collect();
    if !legend.is_empty() {
        text.extend([String::new(), legend.join("   ")]);
    }
    vec![Block::Box(text)]
}

/// Most lines about file systems.
const FILE_SYSTEMS: usize = 8;

/// Arrays and volumes, each with what it is made of, and file systems with their mount options.
fn stacked(dossier: &Dossier) -> Vec<String> {
    let layers = &dossier.machine.layers;
    let names = |names: &[Label]| names.iter().map(Label::as_str).collect::<Vec<_>>().join(" ");
    let arrays = layers.devices.iter().filter(|(_, layer)| layer.is_stacked());
    let arrays = arrays.flat_map(|(name, layer)| {
        boxed(&format!("{name} "), &format!("{} of {}", layer.words(), names(&layer.below)))
    });
    let mut mounts: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for mount in &layers.file_systems {
        let devices = mount.devices.iter().map(Label::as_str);
        mounts.entry(mount.kind_and_options()).or_default().extend(devices);
    }
    mounts.retain(|_, devices| !devices.is_empty());
    let more = mounts.len().saturating_sub(FILE_SYSTEMS);
    let more = (more > 0).then(|| format!("and {} more", counted(more, "file system")));
    let mounts = mounts.into_iter().take(FILE_SYSTEMS).flat_map(|(words, devices)| {
        let devices: Vec<&str> = devices.into_iter().collect();
        boxed(&format!("{} ", devices.join(" ")), &words)
    });
    arrays.chain(mounts).chain(more).collect()
}

fn named(machine: &Machine, drive: &Drive) -> String {
    format!("{} {}", drive.name, machine.model_of(drive))
}

/// Name, link, limit and marks of a row.
fn line(dossier: &Dossier, marks: &Marks, row: &Row) -> Line {
    let (machine, limits, guides) = (&dossier.machine, &dossier.limits, &row.guides);
    let drive = row.drive().and_then(|name| machine.drive(name));
    let (Some(head), Some(node)) = (row.head.or(row.node), row.node) else {
        let to = row.drives.last().map_or("", DriveName::as_str);
        let like = if let RowKey::Alike(first) = &row.key { first.as_str() } else { "" };
        let nodes = row.drives.iter().filter_map(|name| machine.drive(name)?.node);
        let marks = nodes.filter_map(|node| marks.get(&node)).flatten().copied().collect();
        let name = format!("{guides}{} more like {like}, to {to}", row.drives.len());
        return Line { marks, ..Line::new(name, None) };
    };
    let (at, tree) = (machine.pci.node(node), &machine.pci);
    let place = tree.place_of(head);
    let below = drive::count(machine.drives_below(node));
    let (name, limit) = match (&row.kind, drive) {
        (RowKind::Root, _) => {
            let under = at.parent.map_or_else(String::new, |at| format!(", under {}", tree.node(at).address));
            let drives = if below == 0 { "no drives".to_owned() } else { counted(below, "drive") };
            let kind = machine.kind_of_root(node);
            (format!("{} {kind}{under}, {drives}", at.address), limits.hop(node))
        }
        (RowKind::Drive, Some(drive)) => {
            return Line::new(format!("{guides}{}", named(machine, drive)), limits.drive(&drive.name));
        }
        // One of several paths has the limit of that path.
        (_, Some(drive)) => match machine.path_through(drive, node) {
            Some(path) => {
                let model = machine.model_of(drive);
                (format!("{place} {} path {} {model}", drive.name, path.name), limits.path(node))
            }
            None => (format!("{place} {}", named(machine, drive)), limits.drive(&drive.name)),
        },
        (_, None) => {
            let own = machine.drives.iter().filter(|drive| drive.node == Some(node)).count();
            let switch = if at.kind == NodeKind::SwitchUpstream { "switch " } else { "" };
            let name = match own {
                0 => format!("{switch}{}", at.product().unwrap_or_else(|| at.name())),
                several => counted(several, "drive"),
            };
            (format!("{place} {name}"), limits.path(node))
        }
    };
    let slot = tree.node(head).slot.as_ref().or(at.slot.as_ref());
    let slot = slot.map_or_else(String::new, |slot| format!(" in {slot}"));
    // A card without drives is judged at its slot, as on the screen.
    let end = if row.drives.is_empty() { link_state::slowest(machine, Some(head), node) } else { node };
    let is_asleep = link_state::is_asleep(machine, end);
    let link = HopLink::above(machine, end);
    let link = link.map(|link| if is_asleep { link.column_asleep() } else { link.column() });
    let chain = link_state::chain(tree, Some(head), node);
    let marks = chain.iter().filter_map(|node| marks.get(node)).flatten().copied().collect();
    let link = link.unwrap_or_default();
    Line { link, marks, ..Line::new(format!("{guides}{name}{slot}"), limit) }
}

impl Line {
    fn new(name: String, limit: Option<&Limit>) -> Self {
        let giga = |limit: &Limit| three_digits(UnitSystem::Decimal.in_giga(limit.bytes_per_second));
        let rate = limit.map_or_else(String::new, giga);
        Self { name, rate, basis: limit.map_or("", |limit| limit.basis.name()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        machine::Machine,
        model::Severity,
        report::{
            dossier::{Material, Mode},
            sheet::{self, Format, Part},
        },
        source::{self, import},
        tune::change_log::ChangeLog,
    };

    fn dossier(machine: &Machine) -> Dossier {
        Dossier::new(&Material {
            mode: &Mode::Capture,
            machine,
            problems: &[],
            pull: &[],
            change_log: &ChangeLog::default(),
            watch: None,
            runs: &[],
            experiments: &[],
            with_serials: true,
        })
    }

    fn read(text: &[u8]) -> Machine {
        source::read_machine(&import::read(text).unwrap().unwrap()).0
    }

    fn sheet(dossier: &Dossier, part: Part) -> String {
        sheet::text(dossier, &Choice { parts: [part].into(), ..Choice::default() }, Format::Text)
    }

    #[test]
    fn every_mark_of_the_tree_is_in_the_sheet_with_its_meaning() {
        let mut found: BTreeSet<Mark> = BTreeSet::new();
        let folder = format!("{}/tests/fixtures/listings", env!("CARGO_MANIFEST_DIR"));
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.ends_with("README.md") {
                continue;
            }
            let dossier = dossier(&read(&fs::read(&path).unwrap()));
            let marks = marks::of(&dossier.machine, &findings::marked(&dossier.machine, &dossier.findings));
            let text = sheet(&dossier, Part::Tree);
            for mark in marks.values().flatten() {
                let meaning = format!("{} {}", mark.symbol(), mark.meaning());
                assert!(text.contains(&meaning), "{}: {meaning}\n{text}", path.display());
                assert!(text.matches(mark.symbol()).count() > 1, "{}: {text}", path.display());
            }
            found.extend(marks.values().flatten());
        }
        assert!(found.len() > 1, "{found:?}");
    }

    #[test]
    fn a_scheduler_that_check_reports_is_marked_and_a_changed_setting() {
        let text = b"01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983

$ lsblk -t
NAME      ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME
nvme0n1           0    512      0     512     512    0 mq-deadline    1023 128    0B
";
        let dossier = dossier(&read(text));
        assert!(dossier.findings.iter().any(|finding| finding.id.0 == "scheduler"), "{:?}", dossier.findings);
        let tree = sheet(&dossier, Part::Tree);
        let mark = Severity::Warning.mark();
        let row = tree.lines().find(|line| line.contains("nvme0n1")).unwrap();
        assert!(row.ends_with(mark) && tree.contains(&format!("{mark} warning finding")), "{tree}");
        let settings = sheet(&dossier, Part::Settings);
        let row = settings.lines().find(|line| line.starts_with("scheduler")).unwrap_or_default();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["scheduler", "mq-deadline", "none", "nvme0n1"]
        );
    }
}

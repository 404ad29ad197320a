//! The tree in the columns of a code box.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthStr;

use super::{BOX, Block, Choice, Dossier, boxed};
use crate::{
    capacity::link_state::{self, LinkState},
    findings::{Subject, SubjectKind},
    machine::{Drive, HopLink, Machine, NodeKind, drive, hop},
    model::{DriveName, Limit, NodeIndex, Severity},
    report::{
        cut,
        flatten::{self, Row, RowKey, RowKind},
    },
    text::Label,
    units::{UnitSystem, counted, three_digits},
};

/// Columns behind the link: `39.4 ▲ published`.
const BEHIND_LINK: usize = 18;

/// A link below the maximum of both its ends.
const SLOW: &str = "▼";
/// A slot below the maximum of its device.
const SLOT: &str = "▽";

pub(super) fn blocks(dossier: &Dossier, _: &Choice) -> Vec<Block> {
    let rows = flatten::sheet(&dossier.machine);
    let elsewhere = dossier.machine.hardware_drives().filter(|drive| drive.node.is_none());
    let outside = dossier.machine.outside_pci();
    let elsewhere = elsewhere.map(|drive| format!("{outside}: {}", named(&dossier.machine, drive)));
    let elsewhere = elsewhere.map(|name| columns(&name, None, None, ""));
    let lines = rows.iter().map(|row| line(dossier, row)).chain(elsewhere);
    let lines: Vec<[String; 3]> = lines.collect();
    let widest = |column: usize| lines.iter().map(|line| line[column].width()).max().unwrap_or(0);
    let link_width = widest(1).max("link".len());
    let name_width = widest(0).min(BOX - BEHIND_LINK - link_width - 2);
    let mut lines: Vec<String> = [["", "link", " GB/s"].map(str::to_owned)]
        .iter()
        .chain(&lines)
        .map(|[name, link, rest]| {
            let name = cut(name, name_width);
            let pad = " ".repeat(name_width.saturating_sub(name.width()));
            format!("{name}{pad}  {link:<link_width$} {rest}").trim_end().to_owned()
        })
        .collect();
    let stacked = stacked(dossier);
    if !stacked.is_empty() {
        lines.push(String::new());
        lines.extend(stacked);
    }
    let used = |mark: &str| lines.iter().any(|line| line.contains(&format!(" {mark}")));
    let of_findings =
        [Severity::High, Severity::Warning].map(|it| (it.mark(), format!("{} finding", it.name())));
    let of_links = [(SLOW, "link downtrained".to_owned()), (SLOT, "limited by the slot".to_owned())];
    let legend = of_findings.into_iter().chain(of_links).filter(|(mark, _)| used(mark));
    let legend: Vec<String> = legend.map(|(mark, meaning)| format!("{mark} {meaning}")).collect();
    if !legend.is_empty() {
        lines.extend([String::new(), legend.join("   ")]);
    }
    vec![Block::Box(lines)]
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

/// Name, link and limit of a row.
fn line(dossier: &Dossier, row: &Row) -> [String; 3] {
    let (machine, limits, guides) = (&dossier.machine, &dossier.limits, &row.guides);
    let drive = row.drive().and_then(|name| machine.drive(name));
    let (Some(head), Some(node)) = (row.head.or(row.node), row.node) else {
        let to = row.drives.last().map_or("", DriveName::as_str);
        let like = if let RowKey::Alike(first) = &row.key { first.as_str() } else { "" };
        return columns(&format!("{guides}{} more like {like}, to {to}", row.drives.len()), None, None, "");
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
            return columns(
                &format!("{guides}{}", named(machine, drive)),
                None,
                limits.drive(&drive.name),
                "",
            );
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
    let idles = link_state::state(machine, end) == LinkState::Idle;
    let link = HopLink::above(machine, end);
    let link = link.map(|link| match link.now {
        Some(now) if idles => format!("{}, idle", hop::short(now)),
        _ => link.column(),
    });
    columns(&format!("{guides}{name}{slot}"), link, limit, mark(dossier, end, head))
}

fn columns(name: &str, link: Option<String>, limit: Option<&Limit>, mark: &str) -> [String; 3] {
    let link = link.unwrap_or_default();
    let giga = |limit: &Limit| three_digits(UnitSystem::Decimal.in_giga(limit.bytes_per_second));
    let rate = limit.map_or_else(String::new, giga);
    let basis = limit.map_or("", |limit| limit.basis.name());
    [name.to_owned(), link, format!("{rate:>5} {mark:<1} {basis}")]
}

/// The most important mark of a row.
fn mark(dossier: &Dossier, node: NodeIndex, head: NodeIndex) -> &'static str {
    let pointed = dossier.findings.iter().filter(|finding| finding.severity > Severity::Info);
    let points = |subject: &Subject| {
        subject.kind != SubjectKind::Drive
            && subject.node(&dossier.machine).is_some_and(|at| at == node || at == head)
    };
    let pointed = pointed.filter(|finding| finding.subjects.iter().any(points));
    let worst = pointed.map(|finding| finding.severity).max();
    match link_state::state(&dossier.machine, node) {
        LinkState::Slow => SLOW,
        LinkState::SlotLimited => SLOT,
        _ => worst.map_or("", Severity::mark),
    }
}

//! The text of `iodyno tree`: one row per node, with links, limits and drives in columns, and the marks of findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{
    flatten,
    json::{LinkRow, NodeRow, TreeDocument},
    marks::{self, Mark},
    needs_root,
    table::{self, Column},
    toned::{Tone, Toned},
};
use crate::{
    capacity::link_state::{self, LinkState},
    findings::Finding,
    machine::{
        Drive, Machine, NodeKind,
        hop::{self, HopLink},
        pci::PciNode,
    },
    model::{DriveName, NodeIndex, Severity},
    units::{Lanes, TransferRate, UnitSystem, counted},
};

const COLUMNS: [Column; 8] = [
    Column::left("device"),
    Column::left(""),
    Column::left("link"),
    Column::left("slot").optional(),
    Column::right("path limit"),
    Column::left("basis").optional(),
    Column::left("drives"),
    Column::left("name"),
];

/// How the tree is written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// Columns of the terminal; `None` without a limit.
    pub width: Option<usize>,
    /// Nothing is folded away.
    pub all: bool,
    /// Units of limits.
    pub units: UnitSystem,
    /// Checks that could not be made, where some lack data.
    pub not_made: usize,
}

/// The tree with its marks. `marked` are the nodes that findings point at.
pub(crate) fn text(
    machine: &Machine,
    document: &TreeDocument,
    findings: &[Finding],
    marked: &BTreeMap<NodeIndex, Severity>,
    Look { width, all, units, not_made }: Look,
) -> Toned {
    let marks = marks::of(machine, marked);
    let unfolded = flatten::unfolded(machine, &marks.keys().copied().collect());
    let nodes = machine.pci.iter().filter(|(index, _)| all || unfolded[index.0]);
    let unfolded: BTreeSet<String> = nodes.map(|(_, node)| node.address.to_string()).collect();
    let marks = by_address(machine, marks);
    let links = links(machine);
    let root = |root| (machine.pci.node(root).address.to_string(), machine.kind_of_root(root));
    let kinds: BTreeMap<String, &str> = machine.pci.roots().map(root).collect();
    let (mut rows, mut worst, mut folded) = (Vec::new(), Vec::new(), 0);
    flatten::walk(document.root_complexes.iter().collect(), "", 0, &mut |node: &NodeRow, guides, depth| {
        let own = marks.get(&node.address).map_or(&[][..], Vec::as_slice);
        let kind = if depth == 0 { kinds.get(&node.address).copied().unwrap_or_default() } else { "" };
        rows.push(row(node, own, &guides, (kind, links.get(&node.address)), units));
        worst.push((own.first().copied(), own.iter().any(|mark| *mark >= Mark::SlowLink)));
        let (shown, hidden): (Vec<_>, Vec<_>) =
            node.children.iter().partition(|child| unfolded.contains(&child.address));
        folded += hidden.into_iter().map(count).sum::<usize>();
        shown
    });
    let tone = |row: usize, column: usize| {
        let (mark, has_slow_link) = worst.get(row).copied().unwrap_or_default();
        match (column, mark) {
            (1, Some(mark)) => mark.tone(),
            (2, _) if has_slow_link => Tone::Warning,
            (6, _) => Tone::Drive,
            (3 | 5 | 7, _) => Tone::Quiet,
            _ => Tone::Plain,
        }
    };
    let is_empty = rows.is_empty();
    let mut text = if is_empty { Toned::default() } else { table::toned(&COLUMNS, &rows, width, tone) };
    if folded > 0 {
        let words = format!(
            "{} folded: no drive, card or mark is below them; --all shows them\n",
            counted(folded, "device")
        );
        text.push_toned(Tone::Quiet, &words);
    }
    let others = others(machine);
    text.push(if is_empty { others.trim_start() } else { &others });
    text.push("\n");
    text.push_toned(Tone::Warning, &super::check::unread(machine, &document.problems));
    text.append(&counts(findings, &marks, not_made));
    text.push(&needs_root(&document.problems, "tree"));
    if let Some(pasted) = &machine.pasted {
        text.push(&super::pasted::text(pasted, width.unwrap_or(usize::MAX).max(60)));
    }
    text
}

/// Drives outside the PCI tree, and devices made of drives with what they are made of.
fn others(machine: &Machine) -> String {
    let outside = machine.drives.iter().filter(|drive| drive.node.is_none());
    let (made, hardware): (Vec<_>, Vec<_>) = outside.partition(|drive| drive.kind.is_software());
    let mut text = String::new();
    let mut by_heading: BTreeMap<&str, Vec<&Drive>> = BTreeMap::new();
    for drive in hardware {
        by_heading.entry(machine.outside_pci_of(drive)).or_default().push(drive);
    }
    for (heading, drives) in by_heading {
        let _ = writeln!(text, "\n{heading}");
        for drive in drives {
            let model = drive.model.value().map(|model| format!("  {model}"));
            let _ = writeln!(text, "  {}{}", drive.name, model.unwrap_or_default());
        }
    }
    let carriers = machine.carriers();
    let topmost: Vec<&Drive> =
        made.into_iter().filter(|drive| !carriers.contains(drive.name.as_str())).collect();
    if !topmost.is_empty() {
        text.push_str("\narrays, volumes and other software devices\n");
    }
    for level in topmost.iter().flat_map(|drive| machine.stack_below(drive.name.as_str())) {
        let _ = writeln!(text, "{}{}", "  ".repeat(level.depth + 1), level.words);
    }
    text
}

/// A node and all below it.
fn count(node: &NodeRow) -> usize {
    1 + node.children.iter().map(count).sum::<usize>()
}

/// Marks by address.
fn by_address(machine: &Machine, marks: BTreeMap<NodeIndex, BTreeSet<Mark>>) -> BTreeMap<String, Vec<Mark>> {
    let named = |(node, marks): (NodeIndex, BTreeSet<Mark>)| {
        (machine.pci.node(node).address.to_string(), marks.into_iter().collect())
    };
    marks.into_iter().map(named).collect()
}

/// `▲ 1 high, ▼ 1 link downtrained; details: iodyno check`.
fn counts(findings: &[Finding], marks: &BTreeMap<String, Vec<Mark>>, not_made: usize) -> Toned {
    let found = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let links = |mark: Mark| marks.values().flatten().filter(|one| **one == mark).count();
    let mut line = Toned::default();
    for mark in Mark::ALL {
        let (count, words) = match mark {
            Mark::High => (found(Severity::High), format!("{} high", found(Severity::High))),
            Mark::Warning => (found(Severity::Warning), counted(found(Severity::Warning), "warning")),
            Mark::SlowLink => (links(mark), format!("{} downtrained", counted(links(mark), "link"))),
            Mark::Slot => (links(mark), format!("{} limited by the slot", counted(links(mark), "link"))),
        };
        if count > 0 {
            line.push(if line.plain().is_empty() { "" } else { ", " });
            line.push_toned(mark.tone(), &format!("{} {words}", mark.symbol()));
        }
    }
    if line.plain().is_empty() {
        let tone = if not_made == 0 { Tone::Good } else { Tone::Warning };
        line.push_toned(tone, &super::check::no_findings(findings, not_made));
    }
    line.push("; details: iodyno check\n");
    line
}

/// Links of which both ends are known, by address: as on the screen one is below its maximum where both ends could do more, or
/// where the slot holds its device back, which the device's row is marked with.
fn links(machine: &Machine) -> BTreeMap<String, String> {
    let named = |(index, node): (NodeIndex, &PciNode)| {
        let link =
            HopLink::above(machine, index).filter(|link| link.now.is_some() && link.has_both_ends())?;
        let is_port = matches!(node.kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
        let text = match link_state::state(machine, index) {
            LinkState::Down => return None,
            _ if link_state::is_asleep(machine, index) => link.column_asleep(),
            LinkState::SlotLimited if !is_port => link.column_of_device(),
            _ => link.column(),
        };
        Some((node.address.to_string(), text))
    };
    machine.pci.iter().filter_map(named).collect()
}

fn row(
    node: &NodeRow,
    marks: &[Mark],
    guides: &str,
    (kind, link): (&str, Option<&String>),
    units: UnitSystem,
) -> Vec<String> {
    let limit = node.limit.as_ref();
    let under = node.parent.as_ref().filter(|_| node.kind == "root-complex");
    let under = under.map(|device| format!("under {device}")).unwrap_or_default();
    let name = [node.short_name.as_str(), &under].into_iter().filter(|part| !part.is_empty());
    let drives: Vec<&str> = node.drives.iter().map(DriveName::as_str).collect();
    let paths: Vec<&str> = node.paths.iter().map(DriveName::as_str).collect();
    let paths = if paths.is_empty() { String::new() } else { format!(" (path {})", paths.join(" ")) };
    vec![
        format!("{guides}{} {kind}", node.address).trim_end().to_owned(),
        marks.iter().map(|mark| mark.symbol()).collect(),
        link.cloned().or_else(|| node.link.as_ref().map(link_text)).unwrap_or_default(),
        node.slot.clone().unwrap_or_default(),
        limit.map(|limit| units.rate(limit.bytes_per_second)).unwrap_or_default(),
        limit.map(|limit| limit.basis.name().to_owned()).unwrap_or_default(),
        drives.join(" ") + &paths,
        name.collect::<Vec<_>>().join(", "),
    ]
}

fn link_text(link: &LinkRow) -> String {
    let ends = |gts: Option<f64>, width: Option<u8>| (gts.and_then(TransferRate::from_gts), width.map(Lanes));
    let now = ends(link.speed_gts, link.width);
    if link.state == LinkState::Idle.name() {
        return format!("{}, idle", hop::column(now, now));
    }
    hop::column(now, ends(link.max_speed_gts, link.max_width))
}

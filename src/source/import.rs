//! Reads texts of lspci and other tools that people paste into forums, as a [`SysRoot`](super::SysRoot).
//!
//! A text is cut into listings (`sections.rs`); each kind has a reader that turns its lines into [`facts`]; the facts make a
//! tree (`tree.rs`) and files of sysfs (`root.rs`), which the readers of a live machine read. What no listing states is
//! absent.

mod aer;
mod answers;
mod barred;
mod blocks;
mod differences;
mod dmesg;
mod document;
mod drives;
mod encoded;
mod facts;
mod fdisk;
mod folded;
mod geometry;
mod id_ctrl;
mod id_ns;
mod identify;
mod identity;
mod interrupts;
mod json;
mod lines;
mod links;
mod lsblk;
mod lsblk_columns;
mod lsblk_rows;
mod lspci;
mod makers;
mod markup;
mod mdstat;
mod nvme_list;
mod numbers;
mod nvme_rows;
mod padded;
mod prompt;
mod registers;
mod root;
mod sections;
mod tree;
mod wrapped;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use answers::PastedRoot;

use self::{
    differences::Side,
    facts::{DriveFacts, Facts, Function, Line, Notes},
    sections::Kind,
    tree::Tree,
};
use crate::{
    machine::{Pasted, pasted::Lines},
    units::{counted, counted_with_verb},
};

/// Bytes of a text: 4000 functions have half as many with `lspci -vvv`. More would take longer than 5 s.
pub(super) const MOST: usize = 32 << 20;

/// Why a text is no JSON: `number out of range at line 9 column 24`.
pub(super) fn broken_json(content: &[u8]) -> Option<String> {
    serde_json::from_slice::<document::Value>(content).err().map(|wrong| wrong.to_string())
}

/// All kinds of listings; the first that fits a line takes it.
const KINDS: &[Kind] = &[
    lspci::DRAWING,
    lspci::LIST,
    lspci::RECORDS,
    nvme_list::TABLE,
    id_ns::KIND,
    id_ctrl::KIND,
    lsblk::TABLE,
    lsblk::PAIRS,
    fdisk::KIND,
    mdstat::KIND,
    interrupts::KIND,
    dmesg::KIND,
    links::KIND,
    json::KIND,
];

/// Reads the listings of a text. `None`: it contains none.
///
/// # Errors
/// The text is larger than any machine's, in words.
pub fn read(content: &[u8]) -> Result<Option<PastedRoot>, String> {
    let text = lines::decode(content);
    if lines::is_binary(&text) {
        return Ok(None);
    }
    let begins = |line: &str, next: Option<&str>| KINDS.iter().any(|kind| (kind.begins)(line, next));
    let sides = differences::differences(&text);
    let lines = lines::split(&text, &sides, begins)?;
    let mut facts = Facts::default();
    note_old_side(&text, &sides, &mut facts.notes);
    let listings = sections::read(KINDS, &lines, &mut facts);
    drop(lines);
    bounded(&facts)?;
    dmesg::join(&mut facts);
    aer::join(&mut facts);
    identify::assign(&mut facts);
    drives::join(&mut facts);
    dmesg::name_drives(&mut facts);
    blocks::join(&mut facts);
    if facts.functions.is_empty() && facts.drives.is_empty() && facts.files.is_empty() {
        return Ok(None);
    }
    bounded(&facts)?;
    let count = facts.functions.len();
    if count > 0
        && facts.drives.is_empty()
        && facts.roots.is_empty()
        && facts.functions.values().all(Function::is_unread)
    {
        let listed = counted_with_verb(count, "function", ("is", "are"));
        return Err(format!("{listed} listed, none of them with class or ids"));
    }
    facts.functions.values_mut().for_each(registers::complete);
    registers::compare_ends(&mut facts);
    let tree = tree::build(&facts);
    let mut notes = std::mem::take(&mut facts.notes);
    // Contradictions are found after the lines behind them.
    notes.unused.sort_by_key(|unused| unused.line);
    let unused_lines = notes.count();
    let pasted = Pasted {
        listings,
        lacks: lacks(&facts, &tree),
        contradictions: std::mem::take(&mut facts.contradictions),
        unused: notes.unused,
        unused_lines,
        downgraded: std::mem::take(&mut facts.downgraded),
        without_bridge: tree
            .without_bridge
            .iter()
            .filter(|bus| tree.roots.contains_key(bus))
            .copied()
            .collect(),
        below_gaps: tree.below_gaps.clone(),
        lines: Lines::default(),
        words: HashMap::new(),
        sizes: BTreeMap::new(),
        with_mounts: std::mem::take(&mut facts.with_mounts),
    };
    Ok(Some(root::build(facts, &tree, pasted, &text)))
}

/// # Errors
/// More functions, drives or buses than any machine has, in words.
fn bounded(facts: &Facts) -> Result<(), String> {
    if facts.is_too_many() {
        return Err(format!("more than {} functions, drives or buses, which no machine has", Facts::MOST));
    }
    Ok(())
}

/// Notes the lines of `diff` that are not read.
fn note_old_side(text: &str, sides: &BTreeMap<usize, Side>, notes: &mut Notes) {
    if !sides.values().any(|side| *side == Side::Old) {
        return;
    }
    let is_old = |number: usize| sides.get(&number) == Some(&Side::Old);
    for (at, line) in text.lines().enumerate().filter(|(at, _)| is_old(at + 1)) {
        let line = Line { number: at + 1, text: line.into() };
        notes.unused_text(&line, "a line of the older file of `diff`; the newer one is read");
    }
}

/// Data that no listing of the text states, one sentence each.
fn lacks(facts: &Facts, tree: &Tree) -> Vec<String> {
    let mut lacks = facts.lacks.clone();
    let cuts = [
        (facts.cut_blocks, Facts::MOST_BLOCKS, "partitions and layers"),
        (facts.cut_limits, Facts::MOST_LIMITS, "limited links"),
    ];
    for (cut, most, what) in cuts.into_iter().filter(|(cut, ..)| *cut > 0) {
        let (rows, are) = (counted(cut, "row"), if cut == 1 { "is" } else { "are" });
        lacks.push(format!("{rows} of {what} {are} not read: there are more than {most}."));
    }
    let functions = || facts.functions.values();
    let count = facts.functions.len();
    let links = functions()
        .filter(|it| it.config.is_some() || it.express.as_ref().is_some_and(|it| it.link_status.is_some()));
    let has_links = links.count() > 0;
    let denied = functions().filter(|function| function.denied.is_some()).count();
    if denied > 0 {
        lacks.push(format!(
            "Registers of {} were denied: lspci ran without root.",
            counted(denied, "function")
        ));
    } else if count > 0 && !has_links && functions().all(|it| it.has_registers && it.express.is_none()) {
        lacks.push("No function has a PCI Express capability, so no link has a speed or width.".to_owned());
    } else if count > 0 && !has_links {
        lacks.push("No link has a speed or width: `sudo lspci -vv` shows them.".to_owned());
    }
    let unknown: BTreeSet<(u32, u8)> = tree.without_bridge.union(&tree.below_gaps).copied().collect();
    if !unknown.is_empty() {
        let names = unknown.iter().take(8).map(|(domain, bus)| format!("{domain:04x}:{bus:02x}"));
        let buses: Vec<String> = names.collect();
        let more = if unknown.len() > buses.len() { ", ..." } else { "" };
        lacks.push(format!(
            "The bridge above {}{more} is unknown: `lspci -v` or `lspci -t` shows it.",
            buses.join(", ")
        ));
    }
    let without_ids =
        functions().filter(|it| it.config.is_none() && (it.vendor.is_none() || it.device.is_none()));
    match without_ids.count() {
        0 => {}
        some => {
            let have = counted_with_verb(some, "function", ("has", "have"));
            lacks.push(format!("{have} no ids: `lspci -nn` shows them."));
        }
    }
    let is_bare = |drive: &DriveFacts| drive.files.is_empty() && drive.device_files.is_empty();
    if facts.drives.values().all(is_bare) && facts.like_all.is_none() && count > 0 {
        lacks.push(
            "Drives have no names, models or settings: add `nvme list -v` and `lsblk -O -J`.".to_owned(),
        );
    }
    if count == 0 && facts.drives.is_empty() {
        lacks.push(
            "The text shows no device and no drive: its checks need `nvme list -v` and `lsblk -O -J`."
                .to_owned(),
        );
    }
    if count == 0 {
        lacks.push("No PCI functions: add `sudo lspci -vv`.".to_owned());
    }
    let silent: BTreeSet<_> =
        facts.functions.iter().filter(|(_, it)| it.silent.is_some()).map(|(at, _)| at).collect();
    if !silent.is_empty() {
        let names: Vec<String> = silent.iter().take(8).map(ToString::to_string).collect();
        lacks.push(format!("{} did not respond (asleep or removed) when lspci ran.", names.join(", ")));
    }
    lacks
}

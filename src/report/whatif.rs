//! `iodyno whatif` as text and as JSON: both trees, changes, assumptions.

pub mod rows;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use self::rows::{Mark, Row, Slots};
use super::{
    json::{NodeRow, TreeDocument},
    wrap_onto,
};
use crate::{
    capacity::Total,
    findings::Finding,
    machine::{Machine, PciTree, hop},
    model::{Limits, NodeIndex, Problem, ProblemKind},
    units::{BytesPerSecond, UnitSystem},
    whatif::{Assumption, Prediction, difference::Change},
};

/// A hypothetical move and its prediction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub machine: &'a Machine,
    pub limits: &'a Limits,
    /// The value of `--under`.
    pub under: &'a str,
    pub prediction: &'a Prediction,
    /// Units of the text.
    pub units: UnitSystem,
    /// Those of the readers.
    pub problems: &'a [Problem],
}

#[derive(Debug, Serialize)]
pub(crate) struct WhatifDocument<'a> {
    moved: Vec<String>,
    displaced: Vec<String>,
    assumes: Vec<String>,
    under: &'a str,
    before: &'a Total,
    after: &'a Total,
    gain_bytes_per_second: Option<f64>,
    changes: &'a [Change],
    findings_gone: &'a [Finding],
    findings_new: &'a [Finding],
    addresses: Vec<NewAddress>,
    tree: Tree,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Tree {
    root_complexes: Vec<NodeRow>,
}

/// A function whose address changes.
#[derive(Debug, Serialize)]
struct NewAddress {
    today: String,
    then: String,
}

impl<'a> WhatifDocument<'a> {
    pub(crate) fn new(answer: &Answer<'a>) -> Self {
        let prediction = answer.prediction;
        let (moved, tree) = (&prediction.moved, &answer.machine.pci);
        let addresses =
            |nodes: &[NodeIndex]| nodes.iter().map(|node| tree.node(*node).address.to_string()).collect();
        let document = TreeDocument::new(&moved.then.machine, &prediction.limits, answer.problems);
        let mut problems = document.problems;
        let totals = [("before", &prediction.before), ("after", &prediction.after)];
        problems.extend(totals.into_iter().filter(|(_, total)| total.bytes_per_second.is_none()).map(
            |(name, total)| Problem {
                path: name.into(),
                reason: total.because.as_str().into(),
                kind: ProblemKind::Absent,
            },
        ));
        Self {
            moved: addresses(&moved.moved),
            displaced: addresses(&moved.displaced),
            assumes: prediction.moved.assumptions.iter().map(ToString::to_string).collect(),
            under: answer.under,
            before: &prediction.before,
            after: &prediction.after,
            gain_bytes_per_second: prediction.gain(),
            changes: &prediction.changes,
            findings_gone: &prediction.findings_gone,
            findings_new: &prediction.findings_new,
            addresses: new_addresses(tree, prediction),
            tree: Tree { root_complexes: document.root_complexes },
            problems,
        }
    }
}

fn new_addresses(today: &PciTree, prediction: &Prediction) -> Vec<NewAddress> {
    let then = &prediction.moved.then;
    let pair = |(now, was): (usize, &Option<NodeIndex>)| {
        let (today, then) = (today.node((*was)?).address, then.machine.pci.nodes.get(now)?.address);
        (today != then).then(|| NewAddress { today: today.to_string(), then: then.to_string() })
    };
    then.was.iter().enumerate().filter_map(pair).collect()
}

/// Columns between two trees.
const GAP: usize = 3;

/// Trees side by side if they fit in `width` columns, else one after the other.
pub(crate) fn text(answer: &Answer, width: usize) -> String {
    let (prediction, units) = (answer.prediction, answer.units);
    let (today, then) = (
        rows::today(answer.machine, answer.limits, &prediction.before, Some(prediction), Slots::TakingPart),
        rows::then(prediction, Slots::TakingPart),
    );
    let machine_then = &prediction.moved.then.machine;
    let both =
        |models| (lines(answer.machine, &today, models, units), lines(machine_then, &then, models, units));
    let side = |(today, then): &(Vec<String>, Vec<String>)| {
        today.iter().chain(then).map(|line| line.width()).max().unwrap_or_default()
    };
    let fits = |lines: &(Vec<String>, Vec<String>)| 2 * side(lines) + GAP <= width;
    // Without models' names if they fit only so.
    let beside = [true, false].map(both).into_iter().find(fits);
    let mut out = String::new();
    wrap_onto(&mut out, "", &heading(answer), width);
    out.push('\n');
    if let Some((today, then)) = beside {
        let side = today.iter().map(|line| line.width()).max().unwrap_or_default();
        let pad = |line: &str| format!("{line}{}", " ".repeat(side + GAP - line.width()));
        out.extend([&*pad("before"), "after\n"]);
        for at in 0..today.len().max(then.len()) {
            let (left, right) =
                (today.get(at).map_or("", String::as_str), then.get(at).map_or("", String::as_str));
            out.push_str(format!("{}{right}", pad(left)).trim_end());
            out.push('\n');
        }
    } else {
        let (today, then) = both(true);
        out.extend(["before\n", &today.join("\n"), "\n\nafter\n", &then.join("\n"), "\n"]);
    }
    let legend = format!(
        "> moves  < swaps  * changes; {} with all drives busy, of limit or potential",
        units.giga_per_second()
    );
    wrap_onto(&mut out, "  ", &legend, width);
    out.push('\n');
    out.push_str(&totals(answer, width));
    out.push_str(&differences(answer, width));
    out
}

fn heading(answer: &Answer) -> String {
    let moved = &answer.prediction.moved;
    if moved.then.machine == *answer.machine {
        return format!("{} is there already: nothing changes", what(answer));
    }
    let place = match answer.under.split_once('@') {
        Some((place, speed)) => format!("under {place}, in a {speed} slot"),
        None if answer.under.starts_with("gen") => format!("in a {} slot", answer.under),
        None => format!("under {}", answer.under),
    };
    format!("what if {} were {place}", what(answer))
}

fn what(answer: &Answer) -> String {
    let tree = &answer.machine.pci;
    let moved = &answer.prediction.moved.moved;
    let tops: Vec<NodeIndex> = moved
        .iter()
        .copied()
        .filter(|node| !tree.node(*node).parent.is_some_and(|above| moved.contains(&above)))
        .collect();
    let addresses: Vec<String> = tops.iter().map(|top| tree.node(*top).address.to_string()).collect();
    let range = match addresses.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        other => other.join(""),
    };
    format!("{} ({range})", crate::whatif::assumption::names(answer.machine, &tops))
}

fn lines(machine: &Machine, rows: &[Row], models: bool, units: UnitSystem) -> Vec<String> {
    let giga = |rate| crate::units::three_digits(units.in_giga(rate));
    let left: Vec<String> = rows.iter().map(|row| label(machine, row, models)).collect();
    let wide = left.iter().map(|text| text.width()).max().unwrap_or_default();
    rows.iter()
        .zip(left)
        .map(|(row, left)| {
            let link = row.link.map_or_else(String::new, hop::short);
            let busy = match (row.busy, row.limit) {
                (Some(busy), Some(limit)) => format!("{:>5} of {:>4}", giga(busy), giga(limit)),
                (Some(busy), None) => format!("{:>5} of    ?", giga(busy)),
                (None, _) if row.drive.is_some() => "    ?".to_owned(),
                (None, Some(limit)) if row.depth == 0 => format!("{:>5} of {:>4}", "", giga(limit)),
                _ => String::new(),
            };
            let mark = match row.mark {
                Mark::Same => " ",
                Mark::Changes => "*",
                Mark::GivesWay => "<",
                Mark::Moves => ">",
            };
            let pad = " ".repeat(wide - left.width());
            format!("{mark} {left}{pad}  {link:<8}  {busy}").trim_end().to_owned()
        })
        .collect()
}

/// `├ 01.1 nvme0n1 Samsung SSD 980 PRO 1TB`, branches and all.
fn label(machine: &Machine, row: &Row, models: bool) -> String {
    let drive = row.drive.as_ref().filter(|_| models).and_then(|name| machine.drive(name));
    let model = drive.and_then(|drive| {
        let known = drive.model.value().map(crate::text::Label::as_str);
        known.or_else(|| machine.model_by_function(drive))
    });
    let model = model.map_or_else(String::new, |model| format!(" {model}"));
    format!("{}{} {}{model}", row.guides, row.place, row.name)
}

/// Both totals with their limits, and the gain.
fn totals(answer: &Answer, width: usize) -> String {
    let (prediction, units) = (answer.prediction, answer.units);
    let mut out = String::new();
    for (name, total) in [("before", &prediction.before), ("after", &prediction.after)] {
        let words = match total.bytes_per_second {
            Some(sum) => format!("{} ({})", units.rate(sum), units.toggled().rate(sum)),
            None => "unknown".to_owned(),
        };
        let basis = total.basis.map_or_else(String::new, |basis| format!(", {}", basis.name()));
        field(&mut out, name, &format!("all drives at once {words}{basis}: {}", total.because), width);
    }
    let gain = match prediction.gain() {
        Some(gain) if gain.abs() < 1e6 => "nothing with all drives busy".to_owned(),
        Some(gain) if gain < 0.0 => format!("-{}", units.rate(BytesPerSecond(-gain))),
        Some(gain) => format!("+{}", units.rate(BytesPerSecond(gain))),
        None => prediction.unknown_gain().to_owned(),
    };
    field(&mut out, "gain", &gain, width);
    out
}

fn differences(answer: &Answer, width: usize) -> String {
    let prediction = answer.prediction;
    let mut out = String::new();
    for (name, findings) in [("fixed", &prediction.findings_gone), ("new", &prediction.findings_new)] {
        for finding in findings {
            field(&mut out, name, &format!("{} ({})", finding.title, finding.id.0), width);
        }
    }
    let paths =
        prediction.changes.iter().filter(|change| change.kind == "drive" && change.before != change.after);
    for change in paths {
        let word = |rate: Option<BytesPerSecond>| {
            rate.map_or_else(|| "unknown".to_owned(), |rate| answer.units.rate(rate))
        };
        field(
            &mut out,
            "path",
            &format!("{} {} → {}", change.name, word(change.before), word(change.after)),
            width,
        );
    }
    for assumption in &prediction.moved.assumptions {
        field(&mut out, "assumes", &Assumption::to_string(assumption), width);
    }
    out
}

fn field(out: &mut String, label: &str, value: &str, width: usize) {
    wrap_onto(out, &format!("{label:<9}"), value, width);
}

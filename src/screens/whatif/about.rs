//! Details of the selected experiment: the files it writes, its arms, the meaning of a verdict, and rounds.

use super::{Entry, WhatIf};
use crate::{
    experiment::{Experiment, Plan},
    findings,
    model::{Metric, SettingId},
    screens::widgets::{
        paint::{Piece, cells, hanging, label},
        sections::{Section, heading},
    },
    tune::Device,
    ui::{Shared, theme::Meaning},
};

/// Cells of a label.
const LABEL: usize = 9;

type Lines = Vec<Vec<Piece>>;

/// The label of an arm; `none` alone would read as no arm.
pub(super) fn explained(label: &str) -> &str {
    if label == "none" { "none (no scheduler)" } else { label }
}

/// The other experiments, those that can run here first: arms, settings and published results.
pub(super) fn others(state: &WhatIf, width: u16) -> Vec<Section> {
    let others =
        state.list.iter().enumerate().filter(|(at, _)| *at != state.selected).map(|(_, entry)| entry);
    let (here, missing): (Vec<&Entry>, Vec<&Entry>) = others.partition(|entry| entry.plan.is_ok());
    here.into_iter().chain(missing).map(|entry| other(entry, width)).collect()
}

fn other(entry: &Entry, width: u16) -> Section {
    let row = entry.row;
    let mut lines = vec![heading(row.question, row.id.0)];
    match &entry.plan {
        Ok(plan) => {
            let labels: Vec<&str> = plan.arms.iter().map(|arm| explained(&arm.label)).collect();
            listed(&mut lines, "arms", &labels, Meaning::Text, width);
        }
        Err(needs) => {
            field(&mut lines, "arms", row.arms, Meaning::Text, width);
            field(&mut lines, "not here", &format!("it {needs}"), Meaning::Quiet, width);
        }
    }
    let texts = [("changes", row.changes), ("needs", row.needs), ("known", row.found)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        field(&mut lines, name, text, Meaning::Quiet, width);
    }
    lines
}

/// What an experiment changes.
pub(super) fn changes(row: &Experiment) -> &'static str {
    if row.changes.is_empty() { "only the workload" } else { row.changes }
}

/// An experiment that was begun: what it reads and changes, its arms; the meaning of a verdict, and rounds.
pub(super) fn begun(plan: &Plan, width: u16) -> Vec<Section> {
    let row = plan.experiment;
    let mut what = vec![heading("Experiment", row.id.0)];
    field(&mut what, "reads", &plan.subject(), Meaning::Text, width);
    for (name, text) in [("changes", changes(row)), ("known", row.found)] {
        if !text.is_empty() {
            field(&mut what, name, text, Meaning::Text, width);
        }
    }
    arms(&mut what, plan, width);
    let mut how = vec![heading("Verdict", "what it means and when it falls")];
    verdicts(&mut how, row, Some(plan), width);
    rounds(&mut how, plan, width);
    vec![what, how]
}

/// Adds every arm in full, the meaning of a verdict, and rounds.
pub(super) fn more(lines: &mut Lines, row: &Experiment, plan: Option<&Plan>, width: u16) {
    if let Some(plan) = plan {
        arms(lines, plan, width);
    }
    verdicts(lines, row, plan, width);
    if let Some(plan) = plan {
        rounds(lines, plan, width);
    }
}

fn arms(lines: &mut Lines, plan: &Plan, width: u16) {
    for (index, arm) in plan.arms.iter().enumerate() {
        let mut words = vec![arm.workload.title()];
        let mut settings: Vec<(SettingId, &str, usize)> = Vec::new();
        for one in &arm.settings {
            match settings.iter_mut().find(|(id, value, _)| (*id, *value) == (one.setting, &*one.value)) {
                Some((.., devices)) => *devices += 1,
                None => settings.push((one.setting, &one.value, 1)),
            }
        }
        words.extend(settings.iter().map(|(id, value, devices)| match devices {
            1 => format!("{}={value}", id.0),
            devices => format!("{}={value} on {devices} devices", id.0),
        }));
        let label = if index == 0 { "each arm" } else { "" };
        field(lines, label, &format!("{}: {}", arm.label, words.join(", ")), Meaning::Text, width);
    }
}

/// A setting that arms write.
struct Write<'a> {
    setting: SettingId,
    values: Vec<&'a str>,
    now: &'a str,
    /// The devices with the same values.
    devices: Vec<&'a Device>,
}

/// The files that arms write, with their values.
pub(super) fn writes(lines: &mut Lines, shared: &Shared, plan: &Plan, width: u16) {
    for (index, write) in all_writes(shared, plan).iter().enumerate() {
        let label = if index == 0 { "writes" } else { "" };
        let others: Vec<String> = write.devices.iter().skip(1).map(ToString::to_string).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(", and that of {}", others.join(", ")) };
        let file =
            write.devices.first().map_or_else(String::new, |device| file(shared, device, write.setting));
        let line = format!("{file}{others}: {}; now {}", write.values.join(", "), write.now);
        field(lines, label, &line, Meaning::Text, width);
    }
}

fn all_writes<'a>(shared: &'a Shared, plan: &'a Plan) -> Vec<Write<'a>> {
    let mut each: Vec<Write<'_>> = Vec::new();
    for one in plan.arms.iter().flat_map(|arm| &arm.settings) {
        let known = each.iter_mut().find(|w| w.setting == one.setting && w.devices == [&one.device]);
        match known {
            Some(write) if write.values.contains(&&*one.value) => {}
            Some(write) => write.values.push(&one.value),
            None => each.push(Write {
                setting: one.setting,
                values: vec![&one.value],
                now: shared.settings.now(&one.device, one.setting).unwrap_or("not read"),
                devices: vec![&one.device],
            }),
        }
    }
    let mut all: Vec<Write<'_>> = Vec::new();
    for write in each {
        let same = |other: &&mut Write<'_>| {
            (other.setting, &other.values, other.now) == (write.setting, &write.values, write.now)
        };
        match all.iter_mut().find(same) {
            Some(other) => other.devices.extend(write.devices),
            None => all.push(write),
        }
    }
    all
}

/// The file of a device's setting, a drive's below `/sys/block`; of a setting with a file per CPU the first.
fn file(shared: &Shared, device: &Device, setting: SettingId) -> String {
    let files = shared.settings.cell(device, setting).map_or(&[][..], |cell| &cell.files);
    let Some(first) = files.first() else { return format!("{} of {device}", setting.0) };
    let drive = format!("/{device}/");
    let short = first.split_once(&*drive).filter(|_| matches!(device, Device::Drive(_)));
    let short = short.map_or_else(|| first.clone(), |(_, rest)| format!("/sys/block{drive}{rest}"));
    let more = files.len() - 1;
    if more == 0 { short } else { format!("{short} and {more} more") }
}

/// What a round is, when a verdict can fall, what counts as a difference.
fn rounds(lines: &mut Lines, plan: &Plan, width: u16) {
    let terms = &plan.terms;
    let round = format!(
        "{:.1} s: each arm once, {:.1} s measured after a ramp of {:.1} s; the first round is discarded",
        plan.round_time().as_secs_f64(),
        terms.measured.as_secs_f64(),
        terms.warm_up.as_secs_f64()
    );
    field(lines, "a round", &round, Meaning::Quiet, width);
    let looks: Vec<String> = plan.looks().iter().map(u32::to_string).collect();
    let looks = format!(
        "after round {} and at the end; each interval has {:.2} % confidence, so that all looks together have {:.0} %",
        looks.join(", "),
        plan.look_level() * 100.0,
        terms.confidence * 100.0
    );
    field(lines, "looks", &looks, Meaning::Quiet, width);
    let metric = match plan.metric {
        Metric::Iops => "IOPS",
        Metric::BytesPerSecond => "throughput",
        Metric::CpuNsPerIo => "CPU time per read",
        Metric::LatencyP99 => "p99 latency",
    };
    let margin = format!("{metric}; a difference below {:.0} % counts as none", terms.margin * 100.0);
    field(lines, "compares", &margin, Meaning::Quiet, width);
}

fn verdicts(lines: &mut Lines, row: &Experiment, plan: Option<&Plan>, width: u16) {
    let arms = plan.map_or(&[][..], |plan| &plan.arms);
    // Of several arms any may be better.
    let arm = match arms {
        [_, other] => other.label.as_str(),
        _ => "an arm",
    };
    let baseline = plan.map_or("the baseline", |plan| &plan.arms[plan.baseline()].label);
    for (label, template) in [("better", row.if_better), ("worse", row.if_worse), ("same", row.if_same)] {
        let text = template.replace("{arm}", arm).replace("{baseline}", baseline);
        let text = text.strip_prefix("an arm").map_or_else(|| text.clone(), |rest| format!("An arm{rest}"));
        if !text.is_empty() {
            field(lines, label, &text, Meaning::Quiet, width);
        }
    }
    let answers: Vec<String> = row.proves.iter().map(|id| finding(id)).collect();
    if !answers.is_empty() {
        field(lines, "findings", &format!("it tests: {}", answers.join("; ")), Meaning::Quiet, width);
    }
}

/// A finding by its title, with the name that `iodyno check --explain` takes.
fn finding(id: &str) -> String {
    findings::row(id).map_or_else(|| id.to_owned(), |row| format!("{} ({id})", row.title))
}

/// Adds a labelled text.
pub(super) fn field(lines: &mut Vec<Vec<Piece>>, name: &str, value: &str, meaning: Meaning, width: u16) {
    lines.extend(hanging(label(name, LABEL), value, meaning, width));
}

/// Adds a labelled list: a line breaks between its parts.
pub(super) fn listed(lines: &mut Vec<Vec<Piece>>, name: &str, parts: &[&str], meaning: Meaning, width: u16) {
    let room = width.saturating_sub(u16::try_from(LABEL).unwrap_or(u16::MAX));
    let mut rows: Vec<String> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let end = if index + 1 == parts.len() { "" } else { " ·" };
        match rows.last_mut().filter(|row| cells(row) + cells(part) + cells(end) < room) {
            Some(row) => *row = format!("{row} {part}{end}"),
            None => rows.push(format!("{part}{end}")),
        }
    }
    for (index, row) in rows.iter().enumerate() {
        field(lines, if index == 0 { name } else { "" }, row, meaning, width);
    }
}

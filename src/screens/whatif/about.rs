//! Details of the selected experiment: its arms, current settings, the meaning of a verdict, and rounds.

use super::Entry;
use crate::{
    experiment::Plan,
    findings,
    model::{Metric, SettingId},
    screens::widgets::paint::{Piece, hanging, label},
    tune::Device,
    ui::{Shared, theme::Meaning},
    units::counted,
};

/// Cells of a label.
const LABEL: usize = 9;

type Lines = Vec<Vec<Piece>>;

/// Adds every arm in full, settings now, the meaning of a verdict, and rounds.
pub(super) fn more(lines: &mut Lines, shared: &Shared, entry: &Entry, width: u16) {
    let plan = entry.plan.as_ref().ok();
    if let Some(plan) = plan {
        arms(lines, plan, width);
        settings_now(lines, shared, plan, width);
    }
    verdicts(lines, entry, plan, width);
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

/// Current values of the settings that arms change; devices with the same value together.
fn settings_now(lines: &mut Lines, shared: &Shared, plan: &Plan, width: u16) {
    let mut groups: Vec<(SettingId, String, Vec<&Device>)> = Vec::new();
    for one in plan.arms.iter().flat_map(|arm| &arm.settings) {
        let value = shared.settings.now(&one.device, one.setting).unwrap_or("not read").to_owned();
        match groups.iter_mut().find(|(id, now, _)| *id == one.setting && *now == value) {
            Some((.., devices)) if devices.contains(&&one.device) => {}
            Some((.., devices)) => devices.push(&one.device),
            None => groups.push((one.setting, value, vec![&one.device])),
        }
    }
    for (index, (id, value, devices)) in groups.iter().enumerate() {
        let on = match devices.as_slice() {
            [one] => one.to_string(),
            many => counted(many.len(), "device"),
        };
        let label = if index == 0 { "now" } else { "" };
        field(lines, label, &format!("{}={value} on {on}", id.0), Meaning::Text, width);
    }
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

fn verdicts(lines: &mut Lines, entry: &Entry, plan: Option<&Plan>, width: u16) {
    let row = entry.row;
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

//! Facts of arrays, volumes and what lies on a drive.

use super::fact::{Fact, fact, read};
use crate::{
    machine::{
        Drive, LayerKind, Machine,
        layers::{Dm, Md, Target},
    },
    model::DriveName,
    text::Label,
    ui::theme::Meaning,
    units,
};

/// What a row shows beside a drive's name: its model, or the kind of an array.
pub(super) fn title(machine: &Machine, drive: &Drive) -> String {
    match machine.layer(drive.name.as_str()) {
        Some(layer) if layer.is_stacked() => layer.words(),
        _ => drive.short_model(),
    }
}

/// The state of a member, unless it is in sync.
pub(super) fn member_state(machine: &Machine, array: &DriveName, part: &Label) -> Option<(String, Meaning)> {
    let md = machine.layer(array.as_str())?.md()?;
    let state = md.members.iter().find(|member| member.name == *part)?.state.value()?;
    let meaning = match state.as_str() {
        "in_sync" => return None,
        state if state.contains("faulty") => Meaning::Problem,
        _ => Meaning::Warning,
    };
    Some((state.to_string(), meaning))
}

/// The device's own layer, then everything that lies on it.
pub(super) fn of_drive(machine: &Machine, drive: &Drive) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(layer) = machine.layer(drive.name.as_str()) {
        match &layer.kind {
            LayerKind::Md(md) => about_array(md, &mut facts),
            LayerKind::Dm(dm) => about_mapping(dm, &mut facts),
            _ => {}
        }
        let below = machine.stack_below(drive.name.as_str()).into_iter().skip(1);
        for (at, level) in below.enumerate() {
            let label = if at == 0 { "made of" } else { "" };
            facts.push(fact(label, format!("{}{}", "  ".repeat(level.depth.saturating_sub(1)), level.words)));
        }
    }
    for (at, level) in machine.stack_above(drive).into_iter().enumerate() {
        let label = if at == 0 { "stack" } else { "" };
        facts.push(fact(label, format!("{}{}", "  ".repeat(level.depth), level.words)));
    }
    facts
}

fn about_array(md: &Md, facts: &mut Vec<Fact>) {
    facts.extend(read("array", &md.state, |state| format!("{}, {state}", md.level_name())));
    if md.degraded.get().is_some_and(|missing| missing > 0) {
        facts.extend(
            read("degraded", &md.degraded, |missing| {
                format!("{} missing", units::counted(*missing as usize, "member"))
            })
            .map(|found| Fact { meaning: Meaning::Problem, ..found }),
        );
    }
    if let Some(words) = md.sync_words() {
        let path = Some(md.sync_action.path().clone());
        facts.push(Fact { path, meaning: Meaning::Warning, ..fact("sync", words) });
    }
    if let Some(chunk) = md.chunk.get().filter(|chunk| chunk.0 > 0) {
        let stripe = md
            .stripe()
            .map_or_else(String::new, |stripe| format!(", full stripe {}", units::block_size(stripe)));
        facts.extend(read("chunk", &md.chunk, |_| format!("{}{stripe}", units::block_size(chunk))));
    }
    facts.extend(read("bitmap", &md.bitmap, |place| match (place.as_str(), md.bitmap_chunk.get()) {
        ("none", _) => "none".to_owned(),
        (place, Some(chunk)) => format!("at {place}, a bit for each {}", units::block_size(chunk)),
        (place, None) => format!("at {place}"),
    }));
    facts.extend(read("threads", &md.group_threads, |threads| match threads {
        0 => "group_thread_cnt 0: one thread for all stripes".to_owned(),
        threads => format!("group_thread_cnt {threads}"),
    }));
}

fn about_mapping(dm: &Dm, facts: &mut Vec<Fact>) {
    if let Some(title) = dm.title() {
        facts.push(fact("volume", title));
    }
    let words = |target: &Target| {
        let options = target.options.iter().map(Label::as_str);
        [target.kind.as_str()].into_iter().chain(options).collect::<Vec<_>>().join(" ")
    };
    facts.extend(read("table", &dm.targets, |targets| {
        let mut all: Vec<String> = targets.iter().map(words).collect();
        all.dedup();
        all.join("; ")
    }));
}

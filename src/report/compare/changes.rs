//! Differences of machines, places, links and settings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::side::{Place, Setting};
use crate::units::{BytesPerSecond, UnitSystem};

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Change {
    /// `machine`, `place`, `link`, `limit`, `device`, `setting`.
    pub kind: &'static str,
    pub what: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

pub(super) fn machine(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let words = |value: Option<&Value>| match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(all)) => Some(all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Some(other) => Some(other.to_string()),
    };
    names
        .into_iter()
        .filter_map(|name| {
            change("machine", &name.replace('_', " "), words(old.get(name)), words(new.get(name)))
        })
        .collect()
}

pub(super) fn places(old: &BTreeMap<String, Place>, new: &BTreeMap<String, Place>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let rate = |rate: f64| UnitSystem::Decimal.rate(BytesPerSecond(rate));
    let mut changes = Vec::new();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        let of = |pick: &dyn Fn(&Place) -> Option<String>| (before.and_then(pick), after.and_then(pick));
        let mut add = |kind, (before, after)| changes.extend(change(kind, name, before, after));
        add("place", of(&|place| Some(place.at.clone())));
        // For a device on one side only, its place is enough.
        if before.is_some() && after.is_some() {
            add("device", of(&|place| Some(place.what.clone())));
            add("link", of(&|place| place.link.clone()));
            add("limit", of(&|place| place.limit.map(rate)));
        }
    }
    changes
}

pub(super) fn settings(old: &[Setting], new: &[Setting]) -> Vec<Change> {
    let by_name = |all: &[Setting]| -> BTreeMap<(String, String), Option<String>> {
        all.iter().map(|row| ((row.device.clone(), row.id.clone()), row.value.clone())).collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    // A device on one side only is a change of place.
    let both = old.iter().filter_map(|(key, before)| Some((key, before, new.get(key)?)));
    both.filter_map(|((device, setting), before, after)| {
        change("setting", &format!("{device} {setting}"), before.clone(), after.clone())
    })
    .collect()
}

fn change(kind: &'static str, what: &str, before: Option<String>, after: Option<String>) -> Option<Change> {
    (before != after).then(|| Change { kind, what: what.to_owned(), before, after })
}

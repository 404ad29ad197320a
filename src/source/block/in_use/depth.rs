//! The depth of stacks of block devices.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::{Problem, ProblemKind},
    units::counted_with_verb,
};

/// Devices on top of each other that are read; a machine has a handful.
pub(super) const MOST: usize = 32;

/// What lies below each device, without devices on more than [`MOST`] others, and those in a circle. `whole` is the device of a
/// part.
pub(super) fn bounded<'a>(
    mut open: BTreeMap<String, BTreeSet<String>>,
    whole: impl Fn(&str) -> Option<&'a str>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    // From the drives up, one level each time.
    for _ in 0..MOST {
        let is_open = |part: &String| whole(part).is_some_and(|device| open.contains_key(device));
        let lowest = open.iter().filter(|(_, parts)| !parts.iter().any(is_open));
        let lowest: Vec<String> = lowest.map(|(device, _)| device.clone()).collect();
        found.extend(lowest.iter().filter_map(|device| open.remove_entry(device)));
    }
    if let Some(first) = open.keys().next() {
        let count = counted_with_verb(open.len(), "device", ("lies", "lie"));
        let why = format!("{count} on more than {MOST} others or in a circle; what is below is not read");
        problems.push(Problem::new(ProblemKind::Cut, format!("/sys/block/{first}/slaves"), why));
    }
    found
}

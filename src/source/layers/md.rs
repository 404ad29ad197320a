//! An md array: `/sys/block/mdN/md/*` (Documentation/admin-guide/md.rst).

use crate::{
    machine::layers::{Md, Member, Progress},
    model::Reading,
    source::root::{SysRoot, label, number, quoted},
    text::{Label, natural},
    units::Bytes,
};

pub(super) fn read(root: &dyn SysRoot, folder: &str) -> Md {
    let at = |file: &str| format!("{folder}/{file}");
    Md {
        level: label(root, &at("level")),
        disks: label(root, &at("raid_disks")).and_then(|text| first_number(&text)),
        chunk: number(root, &at("chunk_size")).map(Bytes),
        state: label(root, &at("array_state")),
        degraded: number(root, &at("degraded")),
        sync_action: label(root, &at("sync_action")),
        sync_speed: busy(label(root, &at("sync_speed"))).and_then(|text| {
            let kib: u64 = first_number(&text)?;
            kib.checked_mul(1024).map(Bytes).ok_or_else(|| quoted(text.as_str(), "not a speed in KiB/s"))
        }),
        sync_completed: busy(label(root, &at("sync_completed"))).and_then(|text| progress(text.as_str())),
        bitmap: label(root, &at("bitmap/location")),
        bitmap_chunk: number(root, &at("bitmap/chunksize")).map(Bytes),
        group_threads: number(root, &at("group_thread_cnt")),
        stripe_cache: number(root, &at("stripe_cache_size")),
        members: members(root, folder),
    }
}

/// During a reshape `raid_disks` has the new and the old number: `4 (3)`.
fn first_number<T: std::str::FromStr>(text: &Label) -> Result<T, String> {
    let first = text.as_str().split_ascii_whitespace().next().unwrap_or_default();
    first.parse().map_err(|_| quoted(text.as_str(), "not a number in range"))
}

/// `none` while nothing is synchronised.
fn busy(reading: Reading<Label>) -> Reading<Label> {
    match reading.value() {
        Some(word) if *word == "none" => Reading::absent(reading.path(), "nothing is synchronised"),
        _ => reading,
    }
}

/// `12345 / 67890`, in sectors.
fn progress(text: &str) -> Result<Progress, String> {
    let numbers = text.split_once('/').and_then(|(done, total)| {
        Some(Progress { done: done.trim().parse().ok()?, total: total.trim().parse().ok()? })
    });
    numbers.ok_or_else(|| quoted(text, "not the sectors done and in all"))
}

/// Folders `dev-NAME`, by slot; those without one last.
fn members(root: &dyn SysRoot, folder: &str) -> Vec<Member> {
    let names = root.list(folder).unwrap_or_default();
    let names = names.iter().filter_map(|name| name.strip_prefix("dev-"));
    let mut members: Vec<Member> = names
        .map(|name| Member {
            name: Label::new(name),
            state: label(root, &format!("{folder}/dev-{name}/state")),
            slot: number(root, &format!("{folder}/dev-{name}/slot")).get(),
        })
        .collect();
    members.sort_by(|a, b| {
        let slot = |member: &Member| (member.slot.is_none(), member.slot);
        slot(a).cmp(&slot(b)).then_with(|| natural(a.name.as_str(), b.name.as_str()))
    });
    members
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn progress_reads_what_the_kernel_prints_and_refuses_the_rest(done: u64, total: u64, other in "\\PC{0,12}") {
            prop_assert_eq!(progress(&format!("{done} / {total}")), Ok(Progress { done, total }));
            // Nothing that is printed otherwise makes it panic.
            let _ = progress(&other);
        }
    }

    #[test]
    fn a_reshape_counts_the_members_it_ends_with() {
        assert_eq!(first_number::<u32>(&Label::new("4 (3)")), Ok(4));
        assert!(first_number::<u32>(&Label::new("none")).is_err());
        assert!(progress("delayed").is_err());
    }
}

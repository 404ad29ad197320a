//! What the kernel makes of a setting when another one is written, where that is known.

use super::{
    actuator::Actuator,
    settings::{NO_SCHEDULER, NR_REQUESTS, READ_AHEAD, SCHEDULER, WBT, resets},
    tags,
};

/// The values that the file, of a queue, may have once `value` is written to the setting `changed` of that queue, the likeliest
/// first; none where that is not known.
pub fn becoming(actuator: &dyn Actuator, changed: &str, value: &str, file: &str) -> Vec<String> {
    let Some((queue, id)) = file.rsplit_once('/').filter(|(_, id)| resets(changed, id)) else {
        return Vec::new();
    };
    if changed == SCHEDULER.0 && id == NR_REQUESTS.0 {
        requests(actuator, file, value)
    } else if id == READ_AHEAD.0 {
        let asked = (changed == MAX_SECTORS).then_some(value);
        read_ahead(actuator, queue, asked).unwrap_or_default()
    } else if changed == SCHEDULER.0 && id == WBT.0 {
        throttling(actuator, queue, file, value).unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// The setting from which the kernel computes the readahead of rotational devices.
const MAX_SECTORS: &str = "max_sectors_kb";

/// What the kernel makes of a larger request than the drive's own limit, `max_hw_sectors_kb`, since Linux 6.12; other values as
/// they are.
pub fn clamped(actuator: &dyn Actuator, setting: &str, file: &str, value: &str) -> String {
    let most = || {
        let (queue, _) = file.rsplit_once('/').filter(|_| setting == MAX_SECTORS)?;
        let most = actuator.read(&format!("{queue}/max_hw_sectors_kb")).ok()?;
        let is_beyond = value.parse::<u64>().ok()? > most.parse::<u64>().ok()?;
        is_beyond.then_some(most)
    };
    most().unwrap_or_else(|| value.to_owned())
}

/// `bfq` turns the throttling of writeback off and leaves the default on, unless it was set by hand (`wbt_disable_default`,
/// `wbt_default_latency_nsec`, block/blk-wbt.c). Other schedulers leave it as it is.
fn throttling(actuator: &dyn Actuator, queue: &str, file: &str, scheduler: &str) -> Option<Vec<String>> {
    const BFQ: &str = "bfq";
    /// 2 ms of drives that do not rotate, 75 ms of those that do.
    const DEFAULTS: [&str; 2] = ["2000", "75000"];
    let now = actuator.read(file).ok()?;
    let scheduler_now = actuator.read(&format!("{queue}/{}", SCHEDULER.0)).ok()?;
    let others = if scheduler == BFQ {
        &["0"][..]
    } else if scheduler_now == BFQ {
        &DEFAULTS[..]
    } else {
        &[]
    };
    Some([now.as_str()].iter().chain(others).map(|value| (*value).to_owned()).collect())
}

/// Without a scheduler, tags that iodyno had changed are resized, by way of another number.
fn requests(actuator: &dyn Actuator, file: &str, scheduler: &str) -> Vec<String> {
    let Some(begins) = tags::requests_with(actuator, file, scheduler) else { return Vec::new() };
    let on_the_way = begins.parse::<u64>().ok().filter(|_| scheduler == NO_SCHEDULER);
    let on_the_way = on_the_way.and_then(|tags| tags.checked_sub(1)).map(|other| other.to_string());
    [begins].into_iter().chain(on_the_way).collect()
}

/// Readahead by new limits of a queue: twice the optimal I/O size, 128 KiB at least. Since Linux 6.18 it is twice the largest
/// request where a rotational device has no such size (`blk_apply_bdi_limits`, block/blk-settings.c).
fn read_ahead(actuator: &dyn Actuator, queue: &str, max_sectors: Option<&str>) -> Option<Vec<String>> {
    /// `VM_READAHEAD_PAGES`, KiB.
    const LEAST: u64 = 128;
    let number = |name: &str| actuator.read(&format!("{queue}/{name}")).ok()?.parse::<u64>().ok();
    let optimal = number("optimal_io_size")? / 1024;
    let largest = || max_sectors.map_or_else(|| number(MAX_SECTORS), |asked| asked.parse().ok());
    let twice = |kib: u64| kib.saturating_mul(2).max(LEAST).to_string();
    if optimal > 0 || number("rotational")? == 0 {
        return Some(vec![twice(optimal)]);
    }
    Some(vec![twice(largest()?), twice(optimal)])
}

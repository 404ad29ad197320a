//! The tags of a queue, which `nr_requests` does not always show.
//!
//! Without a scheduler a number written to `nr_requests` is the number of tags (`blk_mq_update_nr_requests`,
//! block/blk-mq.c). A scheduler has requests of its own, which the file then shows. Back at `none` the file shows the driver's
//! number, whatever the tags are (`elevator_disable`, block/elevator.c), and that number written once more is no change to the
//! kernel. So 4 requests, then a scheduler, then none leave a drive with 4 tags that shows 1023: seen on Linux 6.18, whose
//! debugfs shows the tags (`block/NAME/hctx0/tags`).

use std::io;

use super::{
    actuator::Actuator,
    settings::{NO_SCHEDULER, NR_REQUESTS, SCHEDULER},
    tunables,
    undo::Step,
};

/// The least number of requests: `BLKDEV_MIN_RQ`.
const LEAST: u64 = 4;

/// The numbers for this many tags without a scheduler, or for as many as `nr_requests` shows: another one, and that one.
pub fn resizing(actuator: &dyn Actuator, requests: &str, tags: Option<&str>) -> Option<[String; 2]> {
    let shown = actuator.read(requests).ok()?.parse::<u64>().ok().filter(|shown| *shown > LEAST)?;
    let tags = tags.and_then(|tags| tags.parse().ok()).unwrap_or(shown);
    let other = if tags == shown { shown - 1 } else { shown };
    Some([other, tags].map(|number| number.to_string()))
}

/// Writes these numbers, but none that the file shows: that is no change to the kernel.
pub fn resize(actuator: &dyn Actuator, requests: &str, numbers: &[String; 2]) -> io::Result<()> {
    let is_shown = |number: &&String| actuator.read(requests).is_ok_and(|now| now == **number);
    numbers.iter().filter(|number| !is_shown(number)).try_for_each(|number| actuator.write(requests, number))
}

/// The values to write for a step's target, in order; none where the file has it. A scheduler hides tags that iodyno has
/// changed, so it is put back by way of none, where they are resized.
pub fn way(step: &Step, steps: &[Step], now: &str) -> Vec<String> {
    let target = || step.target.clone();
    let by_none = || NO_SCHEDULER.to_owned();
    let requests = step.tags_beside(steps);
    let is_direct = step.setting != SCHEDULER.0 || step.target == NO_SCHEDULER || requests.is_none();
    match now {
        _ if is_direct && now == step.target => Vec::new(),
        _ if is_direct => vec![target()],
        // Only on its return does the file show the driver's number.
        NO_SCHEDULER => vec![target(), by_none(), target()],
        _ => vec![by_none(), target()],
    }
}

/// The file of the scheduler whose requests a step's file may show.
pub fn host_file(step: &Step) -> Option<String> {
    let (queue, _) = step.file.rsplit_once('/').filter(|_| step.setting == NR_REQUESTS.0)?;
    Some(format!("{queue}/{}", SCHEDULER.0))
}

/// The scheduler of the queue of a file of requests; none where it cannot be read.
pub fn scheduler(actuator: &dyn Actuator, requests: &str) -> Option<String> {
    let (queue, _) = requests.rsplit_once('/')?;
    tunables::scheduler(actuator, queue)
}

/// The scheduler whose requests a step's file shows, not the queue's tags.
pub fn scheduler_of(actuator: &dyn Actuator, step: &Step) -> Option<String> {
    let is_requests = step.setting == NR_REQUESTS.0;
    is_requests.then(|| scheduler(actuator, &step.file)).flatten().filter(|now| now != NO_SCHEDULER)
}

/// Whether a value of `nr_requests` is the one that a scheduler begins with, for a driver with this number of tags: the kernel
/// set it, and no program (`blk_mq_init_sched`, block/blk-mq-sched.c).
pub fn is_schedulers(setting: &str, value: &str, tags: &str) -> bool {
    let begins = tags.parse().map(schedulers);
    setting == NR_REQUESTS.0 && begins.is_ok_and(|begins| value == begins.to_string())
}

/// The number that a scheduler begins with, for a driver with this number of tags.
fn schedulers(tags: u64) -> u64 {
    /// `BLKDEV_DEFAULT_RQ`.
    const DEFAULT: u64 = 128;
    2 * tags.min(DEFAULT)
}

/// The driver's number of tags, which `nr_requests` shows when a scheduler is gone.
fn drivers(actuator: &dyn Actuator, requests: &str) -> Option<u64> {
    let (queue, _) = requests.rsplit_once('/')?;
    let (device, _) = queue.rsplit_once('/')?;
    actuator.read(&format!("{device}/mq/0/nr_tags")).ok()?.parse().ok()
}

/// What `nr_requests` shows once the scheduler is set, where the driver's number of tags is known.
pub fn requests_with(actuator: &dyn Actuator, requests: &str, scheduler: &str) -> Option<String> {
    let drivers = drivers(actuator, requests)?;
    Some(if scheduler == NO_SCHEDULER { drivers } else { schedulers(drivers) }.to_string())
}

/// Whether the kernel refuses that many requests: more than the driver has tags or, with a scheduler, than `MAX_SCHED_RQ`.
pub fn are_too_many(actuator: &dyn Actuator, file: &str, value: &str) -> bool {
    /// `MAX_SCHED_RQ`.
    const MOST: u64 = 2048;
    let is_requests = file.rsplit('/').next() == Some(NR_REQUESTS.0);
    let most =
        || if are_changed(actuator, NR_REQUESTS.0, file) { drivers(actuator, file) } else { Some(MOST) };
    is_requests && most().is_some_and(|most| value.parse::<u64>().is_ok_and(|value| value > most))
}

/// Whether a change of this file is one of the queue's tags.
pub fn are_changed(actuator: &dyn Actuator, setting: &str, file: &str) -> bool {
    setting == NR_REQUESTS.0 && scheduler(actuator, file).is_some_and(|now| now == NO_SCHEDULER)
}

/// The scheduler that hides the tags which a step is to restore, unless a step restores that one.
pub fn hidden_by(actuator: &dyn Actuator, step: &Step, steps: &[Step]) -> Option<String> {
    let now = scheduler_of(actuator, step).filter(|_| step.is_of_tags)?;
    let is_restored = scheduler_step(step, steps).is_some_and(|other| other.target == now);
    (!is_restored).then_some(now)
}

/// The step of an undo for the scheduler of the step's device.
pub fn scheduler_step<'a>(step: &Step, steps: &'a [Step]) -> Option<&'a Step> {
    steps.iter().find(|other| other.setting == SCHEDULER.0 && other.device.name == step.device.name)
}

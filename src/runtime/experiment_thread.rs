//! The screen's requests to experiments, of which one is in progress at a time.

use std::{sync::Arc, time::Duration};

use super::{clock::Clock, experiment::Underway, worker::Worker};
use crate::{
    experiment::Plan,
    model::{Metric, TargetSample},
    source::SysRoot,
    tune::SettingsService,
    ui::experiments::Progress,
};

/// Something to be done.
pub(super) enum Request {
    /// One in progress is ended and everything of it restored first.
    Begin(Box<Plan>),
    Stop,
    /// The one that ended gets more time.
    Longer(Duration),
}

/// Starts a worker for them; `told` takes where an experiment stands.
pub(super) fn start(
    service: Arc<SettingsService>,
    root: Arc<dyn SysRoot>,
    clock: Clock,
    inline: bool,
    told: impl Fn(Progress) + Send + 'static,
) -> Worker<Request> {
    Worker::start(inline, move || {
        let mut underway: Option<Underway> = None;
        move |request| {
            let busy = |one: &Underway| !one.account().has_ended();
            match (request, &mut underway) {
                (Some(Request::Begin(plan)), _) => {
                    drop(underway.take());
                    underway = Some(Underway::new(*plan, &service, &root, clock.clone()));
                }
                (Some(Request::Stop), Some(one)) => one.stop(),
                (Some(Request::Longer(time)), Some(one)) => one.longer(time),
                (None, Some(one)) if busy(one) => one.look(),
                _ => return false,
            }
            underway.as_ref().is_some_and(|one| {
                told(progress(one));
                busy(one)
            })
        }
    })
}

/// Where an experiment stands, with what the run in progress reads now.
fn progress(underway: &Underway) -> Progress {
    let (sample, account) = (underway.sample(), underway.account().clone());
    let rate = |of: fn(&TargetSample) -> u64| {
        let sample = sample.as_ref().filter(|sample| !sample.at.is_zero())?;
        Some(sample.targets.iter().map(of).sum::<u64>() as f64 / sample.at.as_secs_f64())
    };
    let reads = rate(|target| target.bytes);
    let now = match account.plan.metric {
        Metric::Iops => rate(|target| target.ios),
        Metric::BytesPerSecond => reads,
        Metric::CpuNsPerIo | Metric::LatencyP99 => None,
    };
    let (started, elapsed) = (underway.started(), underway.elapsed());
    Progress { account, started, reads: reads.unwrap_or(0.0), now, elapsed }
}

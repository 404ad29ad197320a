//! The screen's requests to experiments; one runs at a time.

use std::{sync::Arc, time::Duration};

use super::{clock::Clock, experiment::RunningExperiment, worker::Worker};
use crate::{
    experiment::Plan,
    model::{Metric, TargetSample},
    source::SysRoot,
    tune::SettingsService,
    ui::experiments::Progress,
};

pub(super) enum Request {
    /// Ends and restores an experiment in progress first.
    Begin(Box<Plan>),
    Stop,
    /// Gives the finished one more time.
    Longer(Duration),
}

/// Starts a worker for them; `report` takes the progress of an experiment.
pub(super) fn start(
    service: Arc<SettingsService>,
    root: Arc<dyn SysRoot>,
    clock: Clock,
    inline: bool,
    report: impl Fn(Progress) + Send + 'static,
) -> Worker<Request> {
    Worker::start(inline, move || {
        let mut running: Option<RunningExperiment> = None;
        move |request| {
            let busy = |one: &RunningExperiment| !one.account().has_ended();
            match (request, &mut running) {
                (Some(Request::Begin(plan)), _) => {
                    drop(running.take());
                    running = Some(RunningExperiment::new(*plan, &service, &root, clock.clone()));
                }
                (Some(Request::Stop), Some(one)) => one.stop(),
                (Some(Request::Longer(time)), Some(one)) => one.longer(time),
                (None, Some(one)) if busy(one) => one.look(),
                _ => return false,
            }
            running.as_ref().is_some_and(|one| {
                report(progress(one));
                busy(one)
            })
        }
    })
}

fn progress(running: &RunningExperiment) -> Progress {
    let (sample, account) = (running.sample(), running.account().clone());
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
    let (started, elapsed) = (running.started, running.elapsed());
    Progress { account, started, reads: reads.unwrap_or(0.0), now, elapsed }
}

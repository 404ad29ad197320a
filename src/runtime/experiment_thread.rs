//! The screen's requests to experiments; one runs at a time.

use std::{io, sync::Arc, time::Duration};

use super::{clock::Clock, experiment::RunningExperiment, worker::Worker};
use crate::{
    experiment::{Account, Phase, Plan, StoppedBy},
    model::{DriveName, Metric, RunSample, TargetSample},
    source::SysRoot,
    tune::SettingsService,
    ui::{experiments::Progress, load::Way},
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
) -> io::Result<Worker<Request>> {
    Worker::start(inline, move || {
        let mut running: Option<RunningExperiment> = None;
        move |request| {
            let busy = |one: &RunningExperiment| !one.account().has_ended();
            match (request, &mut running) {
                (Some(Request::Begin(plan)), _) => {
                    drop(running.take());
                    running = Some(RunningExperiment::new(*plan, &service, &root, clock.clone()));
                }
                (Some(Request::Stop), Some(one)) => one.stop(StoppedBy::Key),
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
    let now = match account.plan.metric {
        Metric::Iops => rate(|target| target.ios),
        Metric::BytesPerSecond => rate(|target| target.bytes),
        Metric::CpuNsPerIo | Metric::LatencyP99 => None,
    };
    let (started, elapsed) = (running.started, running.elapsed());
    let reads = sample.as_ref().map(|sample| drive_reads(&account, sample)).unwrap_or_default();
    Progress { account, started, reads, now, elapsed }
}

/// What the arm in progress reads of each drive, on average since its beginning.
fn drive_reads(account: &Account, sample: &RunSample) -> Vec<(DriveName, Way)> {
    let Phase::Running(arm) = account.phase else { return Vec::new() };
    let seconds = sample.at.as_secs_f64();
    let targets = account.plan.arms[arm].workload.targets.iter().zip(&sample.targets);
    let reads = targets.filter(|_| seconds > 0.0).filter_map(|(target, sample)| {
        let [bytes, requests] = [sample.bytes, sample.ios].map(|count| count as f64 / seconds);
        Some((target.drive.clone()?, Way { bytes, requests, await_ms: None }))
    });
    reads.collect()
}

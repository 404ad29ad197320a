//! [`Proving`]: the thread that carries experiments out beside the screen, one at a time.
//!
//! Here: the thread and its requests. Not here: what an experiment does (`experiment`, `runtime::experiment`).

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    desk::Desk,
    experiment::{LOOK, Underway},
    now,
};
use crate::{
    app::whatif::Progress,
    experiment::Plan,
    model::{Metric, RunSample, TargetSample},
    source::SysRoot,
};

/// Something to be done.
enum Request {
    Begin(Box<Plan>),
    /// The user wants it to end.
    Stop,
    /// It gets more time.
    Longer(Duration),
    /// Time has come this far: on a demo without a screen, whose clock is counted.
    Look(Instant),
}

/// The thread.
pub struct Proving {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// Whose clock experiments go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The machine's: the thread looks by itself.
    Real,
    /// The caller's: the thread looks when it is told the time, and answers each request once.
    Counted,
}

impl Proving {
    /// Starts the thread; `tell` hears where an experiment stands.
    pub fn start(
        desk: Arc<Desk>,
        root: Arc<dyn SysRoot>,
        clock: Clock,
        tell: impl Fn(Option<Progress>) + Send + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread =
            thread::spawn(move || Bench { desk: &desk, root: &*root, clock, tell: &tell }.work(&receiver));
        Self { requests: Some(sender), thread: Some(thread) }
    }

    /// Begins an experiment; one under way is ended and everything of it put back first.
    pub fn begin(&self, plan: Plan) {
        self.ask(Request::Begin(Box::new(plan)));
    }

    /// Ends the one under way.
    pub fn stop(&self) {
        self.ask(Request::Stop);
    }

    /// Gives the one that ended more time.
    pub fn longer(&self, time: Duration) {
        self.ask(Request::Longer(time));
    }

    /// Tells a thread with a counted clock the time.
    pub fn look(&self, at: Instant) {
        self.ask(Request::Look(at));
    }

    /// Ends whatever is under way, puts everything back, and waits for it.
    pub fn end(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has put everything back on its way out.
            let _ = thread.join();
        }
    }

    fn ask(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // A thread that panicked has ended the program already.
            let _ = requests.send(request);
        }
    }
}

impl Drop for Proving {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread works with.
struct Bench<'a> {
    desk: &'a Desk,
    root: &'a dyn SysRoot,
    clock: Clock,
    tell: &'a dyn Fn(Option<Progress>),
}

impl Bench<'_> {
    fn work(&self, requests: &Receiver<Request>) {
        let mut underway: Option<Underway<'_>> = None;
        let mut seen = now();
        loop {
            let busy = underway.as_ref().is_some_and(|one| !one.account().has_ended());
            let request = if busy && self.clock == Clock::Real {
                requests.recv_timeout(LOOK)
            } else {
                requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            let at = match request {
                Ok(Request::Begin(plan)) => {
                    // What is under way is dropped, and everything of it put back, before the next one begins.
                    drop(underway.take());
                    underway = Some(Underway::on(*plan, self.desk, self.root));
                    None
                }
                Ok(Request::Stop) => {
                    if let Some(one) = &mut underway {
                        one.stop();
                    }
                    None
                }
                Ok(Request::Longer(time)) => {
                    if let Some(one) = &mut underway {
                        one.longer(time);
                    }
                    None
                }
                Ok(Request::Look(at)) => Some(at),
                Err(RecvTimeoutError::Timeout) => Some(now()),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let (Some(at), Some(underway)) = (at, &mut underway) {
                underway.look(at);
                seen = at;
            }
            let progress = underway.as_mut().map(|underway| {
                let sample = underway.sample(seen);
                progress(underway, sample.as_ref(), seen)
            });
            if self.clock == Clock::Counted || progress.is_some() {
                (self.tell)(progress);
            }
        }
    }
}

/// Where an experiment stands, with what the run under way reads now.
fn progress(underway: &Underway<'_>, sample: Option<&RunSample>, at: Instant) -> Progress {
    let account = underway.account().clone();
    let rate = |of: fn(&TargetSample) -> u64| {
        let sample = sample.filter(|sample| !sample.at.is_zero())?;
        Some(sample.targets.iter().map(of).sum::<u64>() as f64 / sample.at.as_secs_f64())
    };
    let reads = rate(|target| target.bytes);
    let now = match account.plan.metric {
        Metric::Iops => rate(|target| target.ios),
        Metric::BytesPerSecond => reads,
        Metric::CpuNsPerIo | Metric::LatencyP99 => None,
    };
    let (started, elapsed) = (underway.started(), underway.elapsed(at));
    Progress { account, started, reads: reads.unwrap_or(0.0), now, elapsed }
}

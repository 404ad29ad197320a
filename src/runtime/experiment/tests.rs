use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::{
    engine::Running,
    experiment::{Scene, StoppedBy, Terms, account::Ending, plan::Wishes, table},
    model::WorkloadError,
    source::origin::Origin,
    tune::journal,
};

/// Simulated drives that record the setting before each run, and fail on request.
struct Watchful {
    service: Arc<SettingsService>,
    inner: Arc<dyn Engine>,
    file: String,
    seen: Mutex<Vec<(String, bool)>>,
    /// The start that fails, counted from 0.
    fails: usize,
    /// The error of every open.
    refuses: Option<i32>,
    starts: AtomicUsize,
}

impl Engine for Watchful {
    fn simulated(&self) -> bool {
        true
    }

    fn check(&self, _: &Workload) -> Result<(), EngineError> {
        self.refuses.map_or(Ok(()), |errno| {
            Err(crate::engine::refused(
                std::path::Path::new("/dev/nvme0n1"),
                &io::Error::from_raw_os_error(errno),
            ))
        })
    }

    fn start(&self, workload: &Workload, now: Instant) -> Result<Box<dyn Running>, EngineError> {
        let value = self.service.actuator.read(&self.file).unwrap();
        // A change is in the journal before the first read.
        let noted = !self.service.change_log().unwrap().entries.is_empty();
        self.seen.lock().unwrap().push((value, noted));
        if self.starts.fetch_add(1, Ordering::Relaxed) == self.fails {
            let error = WorkloadError { option: "bs", wrong: "fails".to_owned(), fix: "wait".to_owned() };
            return Err(error.into());
        }
        self.inner.start(workload, now)
    }
}

struct Scenery {
    service: Arc<SettingsService>,
    root: Arc<dyn SysRoot>,
    plan: Plan,
    file: String,
}

/// The question whether the scheduler costs anything, on one drive of a demo.
fn scenery() -> Scenery {
    let origin = Origin::Demo("threadripper-after".to_owned());
    let root = origin.open().unwrap();
    let service = startup::settings(&origin, &root).unwrap();
    let (machine, _) = service.read();
    let drive = machine.hardware_drives().next().unwrap();
    let file = drive.queue.scheduler.path().to_string();
    let targets = [drive.target()];
    let wishes = Wishes::default();
    let scene = Scene { machine: &machine, targets: &targets, simulated: true, wishes: &wishes };
    let plan = table::find("scheduler").unwrap().plan(&scene, Terms::default()).unwrap();
    Scenery { service, root, plan, file }
}

impl Scenery {
    fn watchful(&self, fails: usize) -> Arc<Watchful> {
        Arc::new(Watchful {
            service: Arc::clone(&self.service),
            inner: startup::simulated(&startup::with_limits(self.service.read())),
            file: self.file.clone(),
            seen: Mutex::default(),
            fails,
            refuses: None,
            starts: AtomicUsize::new(0),
        })
    }

    fn running(&self, engine: &Arc<Watchful>) -> RunningExperiment {
        let engine: Arc<dyn Engine> = Arc::<Watchful>::clone(engine);
        let new = RunningExperiment::new(self.plan.clone(), &self.service, &self.root, Clock::counted());
        RunningExperiment { reader: Reader::Engine(engine), ..new }
    }

    fn scheduler(&self) -> String {
        self.service.actuator.read(&self.file).unwrap()
    }
}

#[test]
fn a_target_that_cannot_be_opened_leaves_every_setting_unwritten() {
    let scenery = scenery();
    let before = scenery.scheduler();
    let mut watchful = scenery.watchful(usize::MAX);
    Arc::get_mut(&mut watchful).unwrap().refuses = Some(libc::EPERM);
    let mut running = scenery.running(&watchful);
    go_on(&mut running, 1000);
    assert!(running.account().has_ended());
    assert_eq!(scenery.scheduler(), before);
    let records = scenery.service.journal.contents().unwrap().records;
    let changes = records.iter().filter(|record| matches!(record.event, journal::Event::Change { .. }));
    assert_eq!(changes.count(), 0, "no setting was written, not even for a moment");
    assert!(watchful.seen.lock().unwrap().is_empty(), "nothing was read");
}

/// Goes on to its end, or for `most` looks.
fn go_on(running: &mut RunningExperiment, most: usize) {
    for _ in 0..most {
        if running.account().has_ended() {
            return;
        }
        running.look();
        running.clock.pass(Duration::from_millis(500));
    }
}

#[test]
fn every_run_reads_with_its_arms_settings_and_each_change_is_undone_before_the_next() {
    let scenery = scenery();
    let engine = scenery.watchful(usize::MAX);
    let mut running = scenery.running(&engine);
    go_on(&mut running, 10_000);
    assert_eq!(running.account().ending, Some(Ending::Decided));
    let seen = engine.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 18, "eight rounds and the one that warms up, two arms each");
    for (value, noted) in &seen {
        assert_eq!(
            value == "mq-deadline",
            *noted,
            "what is set stands in the journal, what is undone does not"
        );
    }
    assert_eq!(seen.iter().filter(|(value, _)| value == "mq-deadline").count(), 9);
    let records = scenery.service.journal.contents().unwrap().records;
    let steps: Vec<&str> = records
        .iter()
        .filter_map(|record| match &record.event {
            journal::Event::Open { purpose: journal::Purpose::Experiment, .. } => Some("open"),
            journal::Event::Change { .. } => Some("change"),
            journal::Event::Undone { file, .. } if *file == scenery.file => Some("undone"),
            journal::Event::Close => Some("close"),
            _ => None,
        })
        .collect();
    let mut expected = vec!["open"];
    // Putting back is a change of its own in the journal, written before it is made.
    (0..9).for_each(|_| expected.extend(["change", "change", "undone"]));
    expected.push("close");
    assert_eq!(steps, expected, "one session");
    assert_eq!(scenery.scheduler(), "none");
}

#[test]
fn a_failed_run_is_restored_and_its_round_discarded() {
    let scenery = scenery();
    let engine = scenery.watchful(5);
    let mut running = scenery.running(&engine);
    go_on(&mut running, 10_000);
    let account = running.account();
    assert_eq!((account.rounds, account.thrown_out.len()), (8, 1));
    assert_eq!(account.thrown_out[0].why, "--bs: fails; wait");
    assert_eq!((account.restored, scenery.scheduler().as_str()), (Some(true), "none"));
}

#[test]
fn dropped_or_stopped_at_any_moment_everything_is_as_it_was() {
    let scenery = scenery();
    let before = scenery.service.read();
    let mut met = 0;
    for looks in 1..40 {
        let engine = scenery.watchful(usize::MAX);
        let mut running = scenery.running(&engine);
        go_on(&mut running, looks);
        met += usize::from(scenery.scheduler() == "mq-deadline");
        if looks % 2 == 0 {
            running.stop(StoppedBy::Key);
            go_on(&mut running, 10);
            assert_eq!(running.account().ending, Some(Ending::Stopped(StoppedBy::Key)));
            assert_eq!(running.account().restored, Some(true));
        }
        drop(running);
        assert_eq!(scenery.service.read(), before, "after {looks} looks");
    }
    assert!(met > 5, "changed settings were met {met} times");
}

#[test]
fn a_panic_on_the_way_puts_everything_back() {
    let scenery = scenery();
    let engine = scenery.watchful(usize::MAX);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut running = scenery.running(&engine);
        while scenery.scheduler() == "none" {
            go_on(&mut running, 1);
        }
        panic!("in the middle of it");
    }));
    assert!(panicked.is_err());
    assert_eq!(scenery.scheduler(), "none");
}

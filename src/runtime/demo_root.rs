//! [`DemoRoot`]: a demo's files with its changed settings over them. [`DemoMachine`]: what is read of them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    machine::Machine,
    model::Problem,
    source::{SysRoot, root::RootError},
    tune::{fake_kernel::FakeKernel, settings::readings},
};

/// A root with the settings of a simulated kernel.
pub(super) struct DemoRoot {
    inner: Arc<dyn SysRoot>,
    kernel: Arc<FakeKernel>,
}

impl DemoRoot {
    pub(super) fn new(inner: Arc<dyn SysRoot>, kernel: Arc<FakeKernel>) -> Self {
        Self { inner, kernel }
    }
}

/// The machine of a demo. Only its settings change, and experiments come back to the same ones again and again: the machine is
/// kept for the latest of them.
pub(super) struct DemoMachine {
    root: DemoRoot,
    read: ReadRoot,
    kept: Mutex<VecDeque<Kept>>,
}

type ReadRoot = fn(&dyn SysRoot) -> (Machine, Vec<Problem>);

struct Kept {
    /// The settings it was read with.
    files: BTreeMap<String, String>,
    read: (Machine, Vec<Problem>),
}

/// The maximum of [`DemoMachine::kept`]: more than an experiment has arms.
const MOST_KEPT: usize = 8;

impl DemoMachine {
    /// `first` is the machine with the root's settings of now.
    pub(super) fn new(root: DemoRoot, read: ReadRoot, first: (Machine, Vec<Problem>)) -> Self {
        let kept = Kept { files: root.kernel.files(), read: first };
        Self { root, read, kept: Mutex::new(VecDeque::from([kept])) }
    }

    /// The machine with the settings of now.
    pub(super) fn read(&self) -> (Machine, Vec<Problem>) {
        let files = self.root.kernel.files();
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.iter().find(|kept| kept.files == files) {
            return kept.read.clone();
        }
        let read = (self.read)(&self.root);
        all.truncate(MOST_KEPT - 1);
        all.push_front(Kept { files, read: read.clone() });
        read
    }
}

/// The kernel of a demo, with the settings of its capture.
pub fn kernel(root: &dyn SysRoot, machine: &Machine) -> FakeKernel {
    // The NVMe driver changes io_poll; iodyno does not write it.
    let polled = machine.drives.iter().filter(|drive| drive.nvme.is_some());
    let polls = polled.map(|drive| drive.queue.io_poll.path().to_string());
    let paths = readings(machine).map(|reading| reading.path().to_string()).chain(polls);
    let files: BTreeMap<String, String> = paths
        .filter_map(|path| {
            let content = root.read(&path).ok()?;
            Some((path, String::from_utf8_lossy(&content).trim().to_owned()))
        })
        .collect();
    FakeKernel::new(files)
}

impl SysRoot for DemoRoot {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        match self.kernel.content(path) {
            Some(content) => Ok(content.into_bytes()),
            None => self.inner.read(path),
        }
    }

    fn read_start(&self, path: &str, most: usize) -> Result<Vec<u8>, RootError> {
        self.inner.read_start(path, most)
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.inner.link(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        self.inner.list(path)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{
        capacity,
        engine::{Engine, Simulated},
        machine::Drive,
        model::{Completion, RunSummary, Workload},
        runtime::clock::Clock,
        source::{self, origin::Origin},
        tune::actuator::Actuator,
    };

    /// A root that counts the files that are read.
    struct Counting(Arc<dyn SysRoot>, Arc<AtomicUsize>);

    impl SysRoot for Counting {
        fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read(path)
        }

        fn link(&self, path: &str) -> Result<String, RootError> {
            self.0.link(path)
        }

        fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
            self.0.list(path)
        }
    }

    #[test]
    fn settings_that_come_back_are_read_once() {
        let origin = Origin::Demo("x570".to_owned());
        let reads = Arc::new(AtomicUsize::new(0));
        let inner = Arc::new(Counting(origin.open().unwrap(), Arc::clone(&reads)));
        let first = source::read_machine(&*inner);
        let kernel = Arc::new(kernel(&*inner, &first.0));
        let root = DemoRoot::new(inner, Arc::clone(&kernel));
        let demo = DemoMachine::new(root, source::read_machine, first);
        let file = demo.read().0.hardware_drives().next().unwrap().queue.scheduler.path().to_string();
        let mut seen = Vec::new();
        for value in ["mq-deadline", "none", "mq-deadline", "none"] {
            kernel.write(&file, value).unwrap();
            let already = reads.load(Ordering::Relaxed);
            let now = demo.read().0;
            seen.push(reads.load(Ordering::Relaxed) > already);
            let queue = &now.hardware_drives().next().unwrap().queue;
            assert_eq!(queue.scheduler.value().unwrap().current.as_str(), value);
        }
        assert_eq!(
            seen,
            [true, false, false, false],
            "each of two settings is read once, that of the capture before"
        );
    }

    #[test]
    fn a_demo_polls_only_with_poll_queues() {
        let inner = Origin::Demo("x570".to_owned()).open().unwrap();
        let kernel = Arc::new(kernel(&*inner, &source::read_machine(&*inner).0));
        let root = DemoRoot::new(inner, Arc::clone(&kernel));
        let run = || -> RunSummary {
            let (machine, _) = source::read_machine(&root);
            let nvme = machine.hardware_drives().filter(|drive| drive.nvme.is_some());
            let targets = nvme.map(Drive::target);
            let workload = Workload { targets: targets.collect(), hipri: true, ..Workload::default() };
            let simulated = Simulated::new(&machine, &capacity::limits(&machine), 1);
            let now = Clock::counted().now();
            simulated.start(&workload, now).unwrap().finish(now)
        };
        let before = run().effective;
        assert_eq!(before.completion, Completion::Interrupts);
        assert!(before.fallbacks.iter().any(|said| said.starts_with("no poll queues on")), "{before:?}");
        kernel.write("/sys/module/nvme/parameters/poll_queues", "2").unwrap();
        let after = run().effective;
        assert_eq!(after.completion, Completion::Polled);
        assert!(!after.fallbacks.iter().any(|said| said.contains("poll queues")), "{after:?}");
    }
}

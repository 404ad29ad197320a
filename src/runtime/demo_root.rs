//! [`DemoRoot`]: a demo's files with its changed settings over them.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    machine::Machine,
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

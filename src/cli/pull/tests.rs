//! The series with the real engine on a file and on a loop device, in short runs, stopped in each phase.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Progress, Step, carry_out};
use crate::{
    loop_device::LoopDevice,
    model::{RunState, Target, Workload},
    pull::{Pull, Series},
    runtime::{clock::Clock, run::Testbed, startup},
    source::origin::Origin,
    units::Bytes,
};

const SIZE: Bytes = Bytes(16 << 20);

/// A pull of these paths, stopped in its phase of that name; `None` ends by itself.
fn pulled(paths: &[&Path], stops_in: Option<&'static str>) -> Pull {
    let root = Origin::Live.open().unwrap();
    let mut bed =
        Testbed::new(&Origin::Live, &root, startup::read(&*root), Clock::real()).expect("this machine");
    assert!(Arc::strong_count(&root) > 1, "it reads this machine");
    let targets = paths.iter().map(|path| Target { path: path.to_path_buf(), drive: None }).collect();
    let mut workload = Workload { targets, ..Workload::default() };
    bed.resolve(&mut workload).unwrap();
    let pull = Pull::new(&bed.read.machine, workload.targets, Series::Guided, None).with_size(Some(SIZE));
    let is_stopped = |step: &Step| stops_in == Some(step.phase.name());
    // The run that is stopped would read for its whole time.
    let time = |step: &Step| if is_stopped(step) { step.time() } else { Duration::from_millis(60) };
    carry_out(&mut bed, pull, &mut Progress::new(false), time, |step, look| {
        !(is_stopped(step) && look.sample.state == RunState::Running)
    })
}

const PHASES: [&str; 5] = ["alone", "together", "jobs", "random", "latency"];

#[test]
fn a_file_is_read_in_every_phase_stopped_in_each_and_removed() {
    // Not on a tmpfs, which may know no direct I/O.
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let paths = ["one", "other"].map(|name| folder.path().join(name));
    let paths = paths.each_ref().map(PathBuf::as_path);
    for phase in PHASES {
        let pull = pulled(&paths, Some(phase));
        assert_eq!((pull.stopped(), pull.failed()), (Some(phase), None));
        assert_eq!(pull.done().last().map(|done| done.step.phase.name()), Some(phase));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left after {phase}");
    }
    let has_read =
        |pull: &Pull| pull.done().iter().all(|done| done.result.as_ref().is_ok_and(|run| run.iops() > 0.0));
    // A machine that stops during a run of 60 ms reads nothing in it.
    let pull = (0..20).map(|_| pulled(&paths, None)).find(has_read).unwrap();
    let mut phases: Vec<_> = pull.done().iter().map(|done| done.step.phase.name()).collect();
    phases.dedup();
    assert_eq!((phases.as_slice(), pull.stopped(), pull.failed()), (PHASES.as_slice(), None, None));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_loop_device_is_read_in_every_phase_stopped_in_each_and_as_it_was() {
    let Some(device) = LoopDevice::new(SIZE.0) else { return };
    let path = device.device();
    let before = device.read_settings();
    for phase in PHASES.into_iter().filter(|phase| *phase != "alone").map(Some).chain([None]) {
        let pull = pulled(&[&path], phase);
        assert_eq!((pull.stopped(), pull.failed()), (phase, None));
        assert_eq!(device.read_settings(), before, "settings after {phase:?}");
        assert!(path.exists(), "a device is not removed");
    }
}

//! From an origin to the first state: the machine with its limits, the mode, the service that changes its settings.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use super::demo_root::{self, DemoMachine, DemoRoot};
use crate::{
    app::{MachineRead, Mode},
    capacity,
    engine::{Engine, Simulated},
    machine::Machine,
    model::Problem,
    redact,
    source::{
        self, SysRoot,
        origin::{OpenError, Origin},
    },
    store,
    text::Label,
    tune::{Live, SettingsService, journal::Journal},
};

/// The seed of every demo's simulated drives: the same keys give the same picture.
const SEED: u64 = 0x1007_d140;

/// Reads a machine and computes its limits.
pub fn read(root: &dyn SysRoot) -> MachineRead {
    with_limits(machine(root))
}

/// Reads a machine as it is shown: of boot files no word that is no setting's value.
pub(crate) fn machine(root: &dyn SysRoot) -> (Machine, Vec<Problem>) {
    shown(source::read_machine(root))
}

fn shown((mut machine, problems): (Machine, Vec<Problem>)) -> (Machine, Vec<Problem>) {
    redact::hide_unknown_values(&mut machine);
    (machine, problems)
}

/// The same.
///
/// # Errors
/// Neither a PCI device nor a block device could be read.
pub(crate) fn read_or_refuse(root: &dyn SysRoot) -> Result<MachineRead, OpenError> {
    source::read_or_refuse(root).map(shown).map(with_limits)
}

/// Computes the limits of a machine.
pub(crate) fn with_limits((machine, problems): (Machine, Vec<Problem>)) -> MachineRead {
    let limits = capacity::limits(&machine);
    MachineRead { machine: Arc::new(machine), problems, limits: Arc::new(limits) }
}

pub(crate) fn mode(origin: &Origin) -> Mode {
    match origin {
        Origin::Live => Mode::Live,
        Origin::Demo(name) => Mode::Demo(Label::new(name)),
        Origin::Capture(_) => Mode::Capture,
        Origin::Sysroot(_) => Mode::Folder,
    }
}

/// The simulated drives of a demo with its current settings.
pub(crate) fn simulated(read: &MachineRead) -> Arc<dyn Engine> {
    Arc::new(Simulated::new(&read.machine, &read.limits, SEED))
}

/// The settings of this machine, or of a demo, with kernel and journal in memory. `None` for captures and folders.
pub fn settings(origin: &Origin, root: &Arc<dyn SysRoot>) -> Option<Arc<SettingsService>> {
    settings_of(origin, root, || machine(&**root))
}

/// The same; `read` is the machine as this root has it.
pub(super) fn settings_of(
    origin: &Origin,
    root: &Arc<dyn SysRoot>,
    read: impl FnOnce() -> (Machine, Vec<Problem>),
) -> Option<Arc<SettingsService>> {
    let service = if origin.is_demo() {
        let read = read();
        let kernel = Arc::new(demo_root::kernel(&**root, &read.0));
        let demo = DemoMachine::new(DemoRoot::new(Arc::clone(root), Arc::clone(&kernel)), machine, read);
        SettingsService {
            actuator: kernel,
            journal: Journal::in_memory(),
            boot: Some("demo".to_owned()),
            may_write: true,
            machine: Box::new(move || demo.read()),
            clock: unix_millis,
        }
    } else {
        let root = Arc::clone(root);
        SettingsService {
            actuator: Arc::new(Live),
            journal: Journal::new(store::folder()),
            boot: source::host::boot_id(&*root).value().map(ToString::to_string),
            may_write: rustix::process::geteuid().is_root(),
            machine: Box::new(move || machine(&*root)),
            clock: unix_millis,
        }
    };
    (origin.is_live() || origin.is_demo()).then(|| Arc::new(service))
}

/// Milliseconds since 1970.
pub(super) fn unix_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! From an origin to the first state: the machine with its limits, the mode, the engine that tests it.

use std::sync::Arc;

use super::demo_counters::DemoCounters;
use crate::{
    app::{MachineRead, Mode},
    capacity,
    load::{Engine, RealEngine, Simulated},
    machine::Machine,
    model::Problem,
    source::{
        self, SysRoot,
        origin::{OpenError, Origin},
    },
    text::Label,
};

/// The seed of every demo's simulated drives: the same keys give the same picture.
const SEED: u64 = 0x1007_d140;

/// Reads a machine, with what follows from it.
pub fn read(root: &dyn SysRoot) -> MachineRead {
    with_limits(source::read_machine(root))
}

/// Reads a machine to show or judge it.
///
/// # Errors
/// Nothing of it could be read.
pub fn read_or_refuse(root: &dyn SysRoot) -> Result<MachineRead, OpenError> {
    source::read_or_refuse(root).map(with_limits)
}

fn with_limits((machine, problems): (Machine, Vec<Problem>)) -> MachineRead {
    let limits = capacity::limits(&machine);
    MachineRead { machine: Arc::new(machine), problems, limits: Arc::new(limits) }
}

/// The mode the title bar shows.
pub fn mode(origin: &Origin) -> Mode {
    match origin {
        Origin::Live => Mode::Live,
        Origin::Demo(name) => Mode::Demo(Label::new(name)),
        Origin::Capture(path) => Mode::Capture(Label::new(&path.to_string_lossy())),
        Origin::Sysroot(path) => Mode::Folder(Label::new(&path.to_string_lossy())),
    }
}

/// Counters of a demo; other machines have real ones, or none.
pub fn demo_counters(origin: &Origin, root: &dyn SysRoot, read: &MachineRead) -> Option<DemoCounters> {
    origin.is_demo().then(|| DemoCounters::new(read, source::counters::read(root).memory))
}

/// The simulated drives of a demo as its settings are now.
pub fn simulated(read: &MachineRead) -> Arc<dyn Engine> {
    Arc::new(Simulated::new(&read.machine, &read.limits, SEED))
}

/// The same kind of engine for a machine whose settings changed.
pub fn renewed(engine: &dyn Engine, read: &MachineRead) -> Arc<dyn Engine> {
    if engine.simulated() { simulated(read) } else { Arc::new(RealEngine::on(&read.machine)) }
}

/// What tests this machine's drives: the kernel, a model in a demo, nothing where the drives are elsewhere.
pub fn engine(origin: &Origin, read: &MachineRead) -> Option<Arc<dyn Engine>> {
    match origin {
        Origin::Live => Some(Arc::new(RealEngine::on(&read.machine))),
        Origin::Demo(_) => Some(simulated(read)),
        Origin::Capture(_) | Origin::Sysroot(_) => None,
    }
}

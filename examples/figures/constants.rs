//! [`Constant`]: what the capacity model cannot read from a machine; [`Constants`]: values of some of them.

use std::collections::BTreeMap;

use iodyno::{
    machine::Machine,
    model::{Basis, Limit, Limits},
    units::{Bytes, BytesPerSecond},
};

/// A number of `assets/` or of a demo that published figures gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constant {
    /// Cycles of a 4 KiB request by one worker, Threadripper PRO 3955WX.
    CyclesT,
    /// The power of the size that its cost grows with.
    GrowthT,
    /// The same for the Ryzen 9 5950X.
    CyclesX,
    GrowthX,
    /// Factor of several workers at once.
    Several,
    /// Cycles that mq-deadline adds.
    Deadline,
    /// Cycles per byte through the page cache.
    CacheFree,
    CacheFull,
    /// Factor of polled completions.
    Polled,
    /// Factor of libaio.
    Libaio,
    /// The 980 PRO's bytes and reads per second.
    Rate980,
    Iops980,
    /// Reads per second of a `FireCuda` 530.
    IopsFireCuda,
    /// Bytes per second of a root complex.
    RootComplex,
    /// Max Payload Size of the two workstations.
    PayloadT,
    PayloadX,
    /// Where the block layer splits reads (`max_sectors_kb`): read on a real machine.
    SplitT,
    SplitX,
    /// Work of a core with two busy threads: Linux's own figure, fitted to nothing.
    Smt,
}

/// Values of constants.
#[derive(Debug, Clone, Default)]
pub struct Constants(BTreeMap<Constant, f64>);

const PAGE: Bytes = Bytes(4096);

impl Constant {
    pub const ALL: [Self; 19] = [
        Self::CyclesT,
        Self::GrowthT,
        Self::CyclesX,
        Self::GrowthX,
        Self::Several,
        Self::Deadline,
        Self::CacheFree,
        Self::CacheFull,
        Self::Polled,
        Self::Libaio,
        Self::Rate980,
        Self::Iops980,
        Self::IopsFireCuda,
        Self::RootComplex,
        Self::PayloadT,
        Self::PayloadX,
        Self::SplitT,
        Self::SplitX,
        Self::Smt,
    ];

    /// Whether published figures of these workstations gave it.
    pub const fn is_free(self) -> bool {
        !matches!(self, Self::SplitT | Self::SplitX | Self::Smt)
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::CyclesT => "cycles(3955WX)",
            Self::GrowthT => "growth(3955WX)",
            Self::CyclesX => "cycles(5950X)",
            Self::GrowthX => "growth(5950X)",
            Self::Several => "several workers",
            Self::Deadline => "mq-deadline",
            Self::CacheFree => "page cache, free memory",
            Self::CacheFull => "page cache, memory full",
            Self::Polled => "polled",
            Self::Libaio => "libaio",
            Self::Rate980 => "bytes/s of a 980 PRO",
            Self::Iops980 => "IOPS of a 980 PRO",
            Self::IopsFireCuda => "IOPS of a FireCuda 530",
            Self::RootComplex => "root complex 1022:1480",
            Self::PayloadT => "MPS of T",
            Self::PayloadX => "MPS of X",
            Self::SplitT => "max_sectors_kb of T",
            Self::SplitX => "max_sectors_kb of X",
            Self::Smt => "SMT",
        }
    }

    /// Its value in `assets/`, as the limits of the workstations have it.
    pub fn shipped(self, t: (&Machine, &Limits), x: (&Machine, &Limits)) -> Option<f64> {
        let (cpu_t, cpu_x) = (t.1.processors.as_ref()?, x.1.processors.as_ref()?);
        let drive = |limits: &Limits| {
            let name = limits.drive_iops.keys().next()?;
            Some((limits.own.get(name).map(|own| own.bytes_per_second.0), limits.drive_iops.get(name)?.0))
        };
        let payload = |machine: &Machine| {
            let node = machine.pci.node(machine.drives.first()?.node?);
            Some(f64::from(node.express.value()?.payload?))
        };
        let split = |machine: &Machine| Some(machine.drives.first()?.queue.max_sectors_kb.get()? as f64);
        Some(match self {
            Self::CyclesT => cpu_t.cycles(PAGE, 1),
            Self::GrowthT => cpu_t.growth,
            Self::CyclesX => cpu_x.cycles(PAGE, 1),
            Self::GrowthX => cpu_x.growth,
            Self::Several => cpu_t.path.several.factor,
            Self::Deadline => cpu_t.path.scheduler.first()?.cycles,
            Self::CacheFree => cpu_t.path.page_cache.free,
            Self::CacheFull => cpu_t.path.page_cache.full,
            Self::Polled => cpu_t.path.polled.factor,
            Self::Libaio => cpu_t.path.engine.first()?.factor,
            Self::Rate980 => drive(t.1)?.0?,
            Self::Iops980 => drive(t.1)?.1,
            Self::IopsFireCuda => drive(x.1)?.1,
            Self::RootComplex => {
                let root = t.1.hops.values().find(|hop| hop.basis == Basis::Published)?;
                root.bytes_per_second.0
            }
            Self::PayloadT => payload(t.0)?,
            Self::PayloadX => payload(x.0)?,
            Self::SplitT => split(t.0)?,
            Self::SplitX => split(x.0)?,
            Self::Smt => cpu_t.path.smt.factor,
        })
    }
}

impl Constants {
    pub fn set(&mut self, constant: Constant, value: f64) {
        self.0.insert(constant, value);
    }

    pub fn get(&self, constant: Constant) -> Option<f64> {
        self.0.get(&constant).copied()
    }

    /// The same; a drive whose rate is missing has no limit of its own, as in the model.
    pub fn without_unknown_drives(mut self) -> Self {
        for constant in [Constant::Rate980, Constant::Iops980, Constant::IopsFireCuda] {
            self.0.entry(constant).or_insert(f64::INFINITY);
        }
        self
    }

    /// The same with each CPU's cost in the other's place.
    pub fn exchanged(&self) -> Self {
        use Constant::{CyclesT, CyclesX, GrowthT, GrowthX};
        let mut exchanged = self.clone();
        for (to, from) in [(CyclesT, CyclesX), (CyclesX, CyclesT), (GrowthT, GrowthX), (GrowthX, GrowthT)] {
            if let Some(value) = self.get(from) {
                exchanged.set(to, value);
            }
        }
        exchanged
    }

    /// Puts packet sizes into a machine.
    pub fn apply_to_machine(&self, machine: &mut Machine) {
        let payload = if is_x(machine) { Constant::PayloadX } else { Constant::PayloadT };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "128 to 4096")]
        let payload = self.get(payload).map(|bytes| bytes as u16);
        for node in &mut machine.pci.nodes {
            node.express = node.express.clone().map(|express| iodyno::machine::pci::Express {
                payload: payload.or(express.payload),
                ..express
            });
        }
    }

    /// Puts the rest into a machine's limits.
    pub fn apply(&self, machine: &Machine, limits: &mut Limits) {
        let is_x = is_x(machine);
        if let Some(cpu) = &mut limits.processors {
            let (cycles, growth) = if is_x {
                (Constant::CyclesX, Constant::GrowthX)
            } else {
                (Constant::CyclesT, Constant::GrowthT)
            };
            let several = self.get(Constant::Several).unwrap_or(cpu.path.several.factor);
            let cycles = self.get(cycles).unwrap_or_else(|| cpu.cycles(PAGE, 1));
            cpu.alone = vec![(PAGE, cycles)];
            cpu.together = vec![(PAGE, cycles * several)];
            let path = &mut cpu.path;
            let put = |constant, to: &mut f64| *to = self.get(constant).unwrap_or(*to);
            put(growth, &mut cpu.growth);
            put(Constant::CacheFree, &mut path.page_cache.free);
            put(Constant::CacheFull, &mut path.page_cache.full);
            put(Constant::Polled, &mut path.polled.factor);
            path.scheduler.iter_mut().for_each(|row| put(Constant::Deadline, &mut row.cycles));
            path.engine.iter_mut().for_each(|row| put(Constant::Libaio, &mut row.factor));
        }
        let iops = self.get(if is_x { Constant::IopsFireCuda } else { Constant::Iops980 });
        for (known, ..) in limits.drive_iops.values_mut() {
            *known = iops.unwrap_or(*known);
        }
        if let Some(rate) = self.get(Constant::Rate980).filter(|_| !is_x) {
            limits.own.values_mut().for_each(|limit| limit.bytes_per_second = BytesPerSecond(rate));
            for drive in machine.hardware_drives() {
                let path = drive.node.and_then(|node| limits.path(node)).into_iter();
                let lowest = path.chain(limits.own.get(&drive.name));
                let by_rate = |a: &&Limit, b: &&Limit| a.bytes_per_second.0.total_cmp(&b.bytes_per_second.0);
                let lowest = lowest.min_by(by_rate).cloned();
                limits.drives.extend(lowest.map(|limit| (drive.name.clone(), limit)));
            }
        }
        if let Some(rate) = self.get(Constant::RootComplex) {
            for limit in limits.hops.values_mut().filter(|limit| limit.basis == Basis::Published) {
                limit.bytes_per_second = BytesPerSecond(rate);
            }
        }
    }
}

fn is_x(machine: &Machine) -> bool {
    machine.processors.model.value().is_some_and(|model| model.as_str().contains("5950X"))
}

//! What else the machine did during a run: other I/O, other processes, temperature.

use std::collections::BTreeSet;

use super::{RunMonitor, on_top};
use crate::{
    machine::Machine,
    model::{DriveName, RunSummary, experiment::Surroundings},
};

impl RunMonitor {
    /// CPUs that other processes used during a finished run, and all CPUs. Interrupts and stolen time are no process's.
    pub(super) fn other_cpus(&self, run: &RunSummary) -> Option<(f64, f64)> {
        let seen = self.seen.as_ref()?;
        let (cpu, all) = (seen.cpu?, seen.cpus.len() as f64);
        let own = run.targets.iter().map(|target| {
            (target.cpu_user + target.cpu_system).as_secs_f64() / target.runtime.as_secs_f64().max(1e-9)
        });
        let busy = (100.0 - cpu.idl - cpu.wai - cpu.irq - cpu.stl) / 100.0 * all;
        (all > 0.0).then(|| ((busy - own.sum::<f64>()).max(0.0), all))
    }

    /// What else the machine did during a finished run.
    pub(crate) fn surroundings(&self, machine: &Machine, run: &RunSummary) -> Surroundings {
        let Some(seen) = &self.seen else { return Surroundings::default() };
        let drives = run.targets.iter().filter_map(|target| target.drive.as_ref());
        let drives: BTreeSet<&DriveName> = drives.collect();
        let seconds = seen.elapsed.as_secs_f64().max(1e-9);
        let others = |name: &&DriveName| {
            let disk = seen.disks.get(*name)?;
            let (_, own) = self.own.on(&on_top(machine, name));
            Some((disk.read_bytes + disk.written_bytes - own / seconds).max(0.0))
        };
        let others: Vec<f64> = drives.iter().filter_map(others).collect();
        let temperature = |name: &&DriveName| machine.drive(name)?.temperature.as_ref()?.now.get();
        Surroundings {
            other_io: (!others.is_empty()).then(|| others.iter().sum()),
            cpu_load: seen.cpu.map(|cpu| (100.0 - cpu.idl - cpu.wai).max(0.0)),
            other_cpus: self.other_cpus(run).map(|(others, _)| others),
            temperature: drives.iter().filter_map(temperature).reduce(f64::max),
            ..Surroundings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::OwnReads, *};
    use crate::{
        counters::{CpuShares, Rates},
        model::Workload,
        source,
    };

    #[test]
    fn cpus_that_other_processes_kept_busy_are_theirs() {
        let machine = source::testing::demo("x570");
        // Four CPUs without idle time, of which the test used so many.
        let judged = |cpus: f64, irq: f64| {
            let cpu = CpuShares { usr: 100.0, irq, ..CpuShares::default() };
            let rates = Rates {
                elapsed: Duration::from_secs(10),
                cpu: Some(cpu),
                cpus: (0..4).map(|number| (number, cpu)).collect(),
                ..Rates::default()
            };
            let mut watch = RunMonitor::default();
            watch.take(&rates, &OwnReads::default());
            let mut run = crate::model::run::testing::run(&["nvme0n1"], 1_000_000_000, Workload::default());
            run.targets[0].cpu_system = run.targets[0].runtime.mul_f64(cpus);
            watch.judge(&machine, &mut run);
            let others = watch.surroundings(&machine, &run).other_cpus.unwrap();
            (run.cpu_bound, others, run.targets.remove(0).invalid_because)
        };
        let (is_cpu_bound, others, why) = judged(1.0, 10.0);
        assert_eq!(why, ["all CPUs were busy, and other processes used 2.6 of 4: stop them"]);
        assert!(!is_cpu_bound && (others - 2.6).abs() < 1e-9, "{others}");
        let (is_cpu_bound, others, why) = judged(3.0, 20.0);
        assert!(is_cpu_bound && why[0].starts_with("CPU-bound: "), "{why:?}");
        assert!((others - 0.2).abs() < 1e-9, "{others}");
    }
}

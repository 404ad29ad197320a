//! Drives that work while the kernel's disk counters stand still.

use super::{DiskRates, Rates};
use crate::model::DriveName;

/// Interrupts per second of a drive's I/O queues from which it counts as working.
const WORKING: f64 = 100.0;

impl DiskRates {
    /// Whether no counter of it grew.
    pub(crate) fn is_still(&self) -> bool {
        self.reads + self.writes + self.utilisation <= 0.0
    }
}

impl Rates {
    /// NVMe drives whose I/O queues interrupt while none of their disk counters grows: `queue/iostats` is 0, or what they do
    /// bypasses the block layer (NVMe commands through io_uring). Polled I/O raises no interrupts and is not seen.
    pub fn uncounted(&self) -> Vec<DriveName> {
        let works = |name: &DriveName| {
            let Some(controller) = controller(name.as_str()) else { return false };
            let others =
                self.disks.iter().filter(|(other, _)| self::controller(other.as_str()) == Some(controller));
            others.into_iter().all(|(_, disk)| disk.is_still())
                && self.queue_interrupts(controller) >= WORKING
        };
        self.disks.keys().filter(|name| works(name)).cloned().collect()
    }

    /// Interrupts per second of the I/O queues of a controller (`nvme0`); queue 0 is the admin queue.
    pub(crate) fn queue_interrupts(&self, controller: &str) -> f64 {
        let is_its = |vector: &str| {
            let queue = vector.strip_prefix(controller).and_then(|rest| rest.strip_prefix('q'));
            queue.is_some_and(|queue| queue != "0")
        };
        let own = self.vectors.iter().filter(|(vector, _)| is_its(vector.as_str()));
        own.fold(0.0, |sum, (_, rate)| sum + rate)
    }
}

/// `nvme0` of `nvme0n1`; partitions, multipath paths and other disks have none.
fn controller(name: &str) -> Option<&str> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (instance, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    (digits(instance) && digits(namespace)).then(|| &name[..name.len() - namespace.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Label;

    fn rates(disks: &[(&str, f64)], vectors: &[(&str, f64)]) -> Rates {
        let disk = |reads| DiskRates { reads, ..DiskRates::default() };
        Rates {
            disks: disks.iter().map(|(name, reads)| (DriveName::new(name), disk(*reads))).collect(),
            vectors: vectors.iter().map(|(name, rate)| (Label::new(name), *rate)).collect(),
            ..Rates::default()
        }
    }

    fn uncounted(disks: &[(&str, f64)], vectors: &[(&str, f64)]) -> Vec<String> {
        rates(disks, vectors).uncounted().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_drive_that_interrupts_and_counts_nothing_is_named() {
        let vectors = [("nvme0q1", 9e3), ("nvme1q2", 9e3), ("nvme2q0", 9e3), ("nvme10q1", 9e3)];
        let disks = [("nvme0n1", 0.0), ("nvme0n1p1", 0.0), ("nvme1n1", 5e3), ("nvme2n1", 0.0), ("sda", 0.0)];
        assert_eq!(uncounted(&disks, &vectors), ["nvme0n1"], "nvme1 counts, nvme2 has the admin queue alone");
    }

    #[test]
    fn namespaces_of_one_controller_share_its_interrupts() {
        assert!(uncounted(&[("nvme0n1", 0.0), ("nvme0n2", 7.0)], &[("nvme0q1", 9e3)]).is_empty());
        assert!(uncounted(&[("nvme0n1", 0.0)], &[("nvme0q1", 3.0)]).is_empty(), "a few are housekeeping");
        let mut discarding = rates(&[("nvme0n1", 0.0)], &[("nvme0q1", 9e3)]);
        discarding.disks.values_mut().for_each(|disk| disk.utilisation = 40.0);
        assert!(discarding.uncounted().is_empty(), "discards count as busy time");
    }
}

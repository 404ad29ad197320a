//! Tests of devices and CPUs that come, go, wrap and begin again between two samples.

use std::{collections::BTreeMap, time::Duration};

use proptest::{collection::vec, prelude::*};

use super::{Counters, CpuTimes, DiskCounters, SideCounters, rates};
use crate::{model::DriveName, text::Label};

/// The kernel's milliseconds of a disk, and its interrupts of a CPU.
const RANGE: u64 = 1 << 32;

/// What one device, or one CPU, counts between two samples.
#[derive(Debug, Clone)]
struct Counted {
    /// Whether it is in the earlier and in the later sample.
    is_there: (bool, bool),
    start: u64,
    step: u64,
    /// It was replaced: the later sample counts from zero.
    began_again: bool,
}

fn counted() -> impl Strategy<Value = Counted> {
    let start = prop_oneof![0..1000_u64, RANGE - 1000..RANGE + 1000, 0..8 * RANGE];
    (any::<(bool, bool)>(), start, 0..1_000_000_u64, prop::bool::weighted(0.2))
        .prop_map(|(is_there, start, step, began_again)| Counted { is_there, start, step, began_again })
}

impl Counted {
    fn before(&self) -> Option<u64> {
        self.is_there.0.then_some(self.start)
    }

    fn after(&self) -> Option<u64> {
        let end = if self.began_again { self.step } else { self.start + self.step };
        self.is_there.1.then_some(end)
    }
}

fn disk(count: u64) -> DiskCounters {
    let ms = count % RANGE;
    DiskCounters {
        reads: count,
        read_bytes: count,
        read_ms: ms,
        writes: count,
        written_bytes: count,
        write_ms: ms,
        in_flight: 0,
        weighted_ms: ms,
        busy_ms: ms,
        reads_merged: count,
        writes_merged: count,
        discards: SideCounters { ios: count, merged: count, bytes: count, ms },
        flushes: SideCounters { ios: count, ms, ..SideCounters::default() },
    }
}

fn look(all: &[Counted], at: fn(&Counted) -> Option<u64>) -> Counters {
    let there = || (0_u32..).zip(all).filter_map(|(number, one)| Some((number, at(one)?)));
    let interrupts: Vec<u64> = there().map(|(_, count)| count % RANGE).collect();
    Counters {
        disks: there().map(|(number, count)| (DriveName::new(&format!("sd{number}")), disk(count))).collect(),
        cpus: there()
            .map(|(number, count)| (number, CpuTimes { user: count, idle: count, ..CpuTimes::default() }))
            .collect(),
        columns: there().map(|(number, _)| number).collect(),
        vectors: BTreeMap::from([(Label::new("nvme0q1"), interrupts.clone())]),
        posted: interrupts.clone(),
        interrupts,
        ..Counters::default()
    }
}

proptest! {
    #[test]
    fn a_rate_is_what_was_counted_or_is_absent(all in vec(counted(), 0..8), seconds in 1_u32..4) {
        let rates = rates(&look(&all, Counted::before), &look(&all, Counted::after), Duration::from_secs(seconds.into()));
        let mut columns = rates.columns.iter().zip(&rates.interrupts);
        for (number, one) in (0_u32..).zip(&all) {
            let true_rate = one.step as f64 / f64::from(seconds);
            let both = one.is_there.0 && one.is_there.1;
            let found = rates.disks.get(&DriveName::new(&format!("sd{number}")));
            prop_assert!(found.is_none() || both);
            prop_assert!(found.is_some() || !both || one.began_again, "{one:?}");
            if let Some(disk) = found {
                for rate in [disk.reads, disk.read_bytes, disk.writes, disk.written_bytes, disk.reads_merged, disk.queue_depth * 1e3] {
                    prop_assert!(rate >= 0.0 && rate <= true_rate + 1e-6, "{rate} of {one:?}");
                    prop_assert!(one.began_again || (rate - true_rate).abs() <= 1e-6 * true_rate.max(1.0), "{rate} of {one:?}");
                }
                prop_assert!((0.0..=100.0).contains(&disk.utilisation));
                prop_assert!(disk.read_await_ms.is_none_or(|ms| (0.0..=1.0).contains(&ms)), "{disk:?}");
            }
            prop_assert!(!rates.cpus.contains_key(&number) || both);
            if let Some(shares) = rates.cpus.get(&number) {
                prop_assert!([shares.usr, shares.idl].iter().all(|share| (0.0..=100.0).contains(share)), "{shares:?}");
            }
            if !rates.columns.is_empty() && both {
                let (column, rate) = columns.next().unwrap();
                prop_assert_eq!(*column, number);
                // A count that began again may pass for one that wrapped, by no more than a CPU can take.
                prop_assert!(*rate >= 0.0 && *rate <= if one.began_again { 10e6 } else { true_rate + 1e-6 }, "{rate} of {one:?}");
            }
        }
        let most = all.len() as f64 * 10e6;
        prop_assert!(rates.posted.is_none_or(|rate| (0.0..=most).contains(&rate)));
        prop_assert!(rates.vectors.values().all(|rate| (0.0..=most).contains(rate)));
    }
}

//! Any two texts as the tables of counters, one after the other: every rate is finite and none is negative.
#![no_main]

use std::time::Duration;

use iodyno::{
    counters::{Counters, rates},
    source::{
        capture::{Capture, TextRoot},
        counters::CountersReader,
    },
};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 8] = [
    "/proc/diskstats",
    "/proc/stat",
    "/proc/meminfo",
    "/proc/interrupts",
    "/proc/vmstat",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/pressure/cpu",
];

fuzz_target!(|texts: (&[u8], &[u8], u32)| {
    let (before, after, millis) = texts;
    let mut reader = CountersReader::default();
    let [before, after] = [before, after].map(|text| {
        let mut capture = Capture::default();
        for file in FILES {
            capture.answers.entry(file.to_owned()).or_default().read = Some(Ok(text.to_vec()));
        }
        let mut counters = Counters::default();
        reader.read(&TextRoot::from(capture), true, &mut counters);
        counters
    });
    let rates = rates(&before, &after, Duration::from_millis(millis.into()));
    let disks = rates.disks.values();
    let disks = disks.flat_map(|disk| [disk.reads, disk.read_bytes, disk.writes, disk.written_bytes, disk.queue_depth]);
    let cpus = rates.cpus.values().chain(&rates.cpu).flat_map(|cpu| [cpu.usr, cpu.sys, cpu.idl, cpu.wai, cpu.stl]);
    for rate in disks.chain(cpus).chain(rates.interrupts).chain(rates.vectors.into_values()).chain(rates.posted) {
        assert!(rate.is_finite() && rate >= 0.0, "{rate}");
    }
});

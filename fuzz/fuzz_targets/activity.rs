//! Any bytes as the files of a thread and of a process: no thread is seen twice, and no rate is negative.
#![no_main]

use std::time::Duration;

use iodyno::{
    counters::{
        ThreadCounts,
        activity::{Activity, ProcessSample, ThreadSample},
    },
    source::{
        activity::ActivityReader,
        capture::{Capture, TextRoot},
    },
};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 12] = [
    "/proc/7/stat",
    "/proc/7/syscall",
    "/proc/7/wchan",
    "/proc/7/io",
    "/proc/7/cgroup",
    "/proc/7/mountinfo",
    "/proc/7/fdinfo/3",
    "/proc/7/task/7/stat",
    "/proc/7/task/8/stat",
    "/proc/7/task/8/syscall",
    "/proc/7/task/8/wchan",
    "/proc/loadavg",
];

fuzz_target!(|texts: [[&[u8]; 12]; 2]| {
    let mut reader = ActivityReader::default();
    let mut counts = ThreadCounts::default();
    let (mut before, mut after) = (ProcessSample::default(), ProcessSample::default());
    for text in texts {
        let mut capture = Capture::default();
        for (file, text) in FILES.iter().zip(text) {
            capture.answers.entry((*file).to_owned()).or_default().read = Some(Ok(text.to_vec()));
        }
        for (folder, names) in [("/proc", &["7", "x"][..]), ("/proc/7/task", &["7", "8"]), ("/proc/7/fd", &["3"])] {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            capture.answers.entry(folder.to_owned()).or_default().list = Some(Ok(names));
        }
        let root = TextRoot::from(capture);
        let mut sample = ThreadSample::default();
        reader.threads(&root, &mut || true, &mut sample);
        assert!(sample.sampled == sample.threads.len() && sample.sampled <= sample.total);
        let mut tids: Vec<u32> = sample.threads.iter().map(|thread| thread.tid).collect();
        tids.dedup();
        assert_eq!(tids.len(), sample.sampled);
        counts.add(&sample);
        std::mem::swap(&mut before, &mut after);
        reader.processes(&root, &mut after);
    }
    let activity = Activity::between(Some(counts.take()), Some((&before, &after)), Duration::from_secs(1), 100.0);
    let threads = activity.threads.into_iter().flat_map(|threads| threads.kinds).map(|(_, mean)| mean);
    let processes = activity.processes.into_iter().flatten();
    let rates = processes.flat_map(|one| [Some(one.cpus), one.read_bytes, one.written_bytes]).flatten();
    for rate in threads.chain(rates) {
        assert!(rate.is_finite() && rate >= 0.0, "{rate}");
    }
});

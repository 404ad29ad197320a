//! [`RealEngine`]: reads real targets with the requested engine, or the best available instead.

use std::{collections::HashMap, path::Path, sync::Arc, time::Instant};

use crate::engine::{
    Engine, EngineError, Running,
    aio::libaio,
    aio::posixaio,
    checks, layout, mmap, psync, ring,
    ring::passthrough,
    ring::read_loop,
    target::Open,
    workers::{Work, WorkerPool},
};
use crate::{
    machine::Machine,
    model::{EngineKind, Workload, WorkloadError},
    text::Label,
};

/// Reads by io_uring, NVMe commands, native AIO, POSIX AIO, threads in pread, or page faults.
#[derive(Debug, Clone, Default)]
pub struct RealEngine {
    machine: Option<Arc<Machine>>,
}

impl RealEngine {
    /// An engine for the drives of this machine. NVMe passthrough needs one.
    pub fn on(machine: &Arc<Machine>) -> Self {
        Self { machine: Some(Arc::clone(machine)) }
    }

    /// Reads by NVMe commands, or by io_uring where a target does not support them.
    fn by_commands(&self, workload: &Workload) -> Result<WorkerPool, EngineError> {
        let machine = self.machine();
        let blocks = self.block_devices(workload);
        let opened = || -> Result<Vec<Open>, EngineError> {
            let mut opened = open(&blocks)?;
            for (open, target) in opened.iter_mut().zip(&workload.targets) {
                open.name = Label::new(&target.path.to_string_lossy());
            }
            Ok(opened)
        };
        let mut targets = opened()?;
        let converted = targets.iter_mut().try_for_each(|open| {
            let machine = machine.ok_or_else(|| "its drive is unknown".to_owned());
            machine
                .and_then(|machine| passthrough::convert(open, &blocks, machine))
                .map_err(|why| format!("NVMe passthrough cannot read {}: {why}; using io_uring", open.name))
        });
        match converted {
            Ok(()) => {
                let mut pool = WorkerPool::start(machine, workload, targets, 1, passthrough::work)?;
                if !workload.direct {
                    pool.explain(
                        "NVMe passthrough bypasses the page cache: --direct 0 has no effect".to_owned(),
                    );
                }
                Ok(pool)
            }
            Err(sentence) => {
                let mut pool = self.by_ring(&blocks, opened)?;
                pool.explain(sentence);
                Ok(pool)
            }
        }
    }

    /// The workload of NVMe commands on the block devices of its targets.
    fn block_devices(&self, workload: &Workload) -> Workload {
        let mut blocks = Workload { direct: true, ..workload.clone() };
        for target in &mut blocks.targets {
            if let Some(drive) = self.machine().and_then(|machine| machine.drive_of_generic(&target.path)) {
                target.path = drive.name.device_file().into();
            }
        }
        blocks
    }

    /// The workload as files are read: what a check opens in place of NVMe commands and mappings.
    fn as_files(&self, workload: &Workload) -> Workload {
        match workload.engine {
            EngineKind::IoUringCmd => self.block_devices(workload),
            EngineKind::Mmap => Workload { direct: false, ..workload.clone() },
            _ => workload.clone(),
        }
    }

    fn machine(&self) -> Option<&Machine> {
        self.machine.as_deref()
    }

    /// Reads by io_uring, or by threads where there is no ring or too few for all workers.
    fn by_ring(
        &self,
        workload: &Workload,
        opened: impl Fn() -> Result<Vec<Open>, EngineError>,
    ) -> Result<WorkerPool, EngineError> {
        let start = |targets| {
            ring::available()?;
            WorkerPool::start_shared(self.machine(), workload, targets, read_loop::work)
        };
        match start(opened()?) {
            Err(EngineError::Ring(error)) if checks::threads(workload).is_ok() => {
                self.instead(workload, opened()?, error.unavailable())
            }
            begun => begun,
        }
    }

    /// Threads with pread instead of the requested engine; `why` is the sentence about it.
    fn instead(
        &self,
        workload: &Workload,
        targets: Vec<Open>,
        why: String,
    ) -> Result<WorkerPool, EngineError> {
        let mut pool = self.with_threads(workload, targets, psync::work)?;
        pool.explain(why);
        Ok(pool)
    }

    /// Reads by page faults, or by pread where the kernel cannot report their errors.
    fn by_faults(&self, workload: &Workload) -> Result<WorkerPool, EngineError> {
        let buffered = Workload { direct: false, ..workload.clone() };
        let mut pool = match mmap::available() {
            Ok(()) => self.with_threads(&buffered, open(&buffered)?, mmap::work),
            Err(error) => self.instead(&buffered, open(&buffered)?, mmap::unavailable(error)),
        }?;
        if workload.direct {
            pool.explain("mmap reads through the page cache: --direct 1 has no effect".to_owned());
        }
        Ok(pool)
    }

    fn with_threads(
        &self,
        workload: &Workload,
        targets: Vec<Open>,
        work: Work,
    ) -> Result<WorkerPool, EngineError> {
        checks::threads(workload)?;
        WorkerPool::start(self.machine(), workload, targets, workload.depth, work)
    }
}

impl Engine for RealEngine {
    fn simulated(&self) -> bool {
        false
    }

    fn check_limits(&self, workload: &Workload) -> Result<(), EngineError> {
        checks::files(workload)?;
        let has_threads = match workload.engine {
            EngineKind::Psync | EngineKind::Mmap => true,
            EngineKind::IoUring => ring::available().is_err(),
            EngineKind::Libaio => libaio::available().is_err(),
            EngineKind::IoUringCmd | EngineKind::Posixaio | EngineKind::Simulated => false,
        };
        if has_threads {
            checks::threads(workload)?;
        }
        Ok(())
    }

    fn check(&self, workload: &Workload) -> Result<(), EngineError> {
        self.check_limits(workload)?;
        let blocks = self.as_files(workload);
        blocks.targets.iter().try_for_each(|target| {
            if blocks.size.is_some() && layout::is_missing(&target.path) {
                return layout::check_folder(&target.path);
            }
            Open::new(target, &blocks).map(drop)
        })
    }

    fn try_read(&self, workload: &Workload) -> Result<(), EngineError> {
        let files = self.as_files(workload);
        let open = |target| Open::new(target, &files).ok();
        files.targets.iter().filter_map(open).try_for_each(|open| checks::try_read(&open, &files))
    }

    fn start(&self, workload: &Workload, _: Instant) -> Result<Box<dyn Running>, EngineError> {
        let pool = match workload.engine {
            EngineKind::IoUring => self.by_ring(workload, || open(workload)),
            EngineKind::IoUringCmd => self.by_commands(workload),
            EngineKind::Libaio => match libaio::available() {
                Ok(()) => WorkerPool::start(self.machine(), workload, open(workload)?, 1, libaio::work),
                Err(error) => self.instead(workload, open(workload)?, libaio::unavailable(&error)),
            },
            EngineKind::Psync => self.with_threads(workload, open(workload)?, psync::work),
            EngineKind::Posixaio => {
                WorkerPool::start(self.machine(), workload, open(workload)?, 1, posixaio::work)
            }
            EngineKind::Mmap => self.by_faults(workload),
            EngineKind::Simulated => Err(WorkloadError {
                option: "ioengine",
                wrong: "the simulated engine cannot read this machine's drives".to_owned(),
                fix: "use io_uring".to_owned(),
            }
            .into()),
        };
        Ok(Box::new(pool?))
    }
}

/// Opens each target; a file that is several of them is probed once.
fn open(workload: &Workload) -> Result<Vec<Open>, EngineError> {
    let mut probed: HashMap<&Path, Vec<String>> = HashMap::new();
    let open = |target| {
        let mut open = Open::new(target, workload)?;
        let doubts = probed.entry(&target.path).or_insert_with(|| checks::doubts(&open, workload));
        open.doubts.clone_from(doubts);
        Ok(open)
    };
    workload.targets.iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Write,
        path::{Path, PathBuf},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::{
        engine::clock,
        model::{Pattern, RunState, RunSummary, Target, TargetSummary},
        units::Bytes,
    };

    /// A file of 4 MiB, none of it zeros, on a real file system.
    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("target");
        let content: Vec<u8> = (0..4_u32 << 20).map(|n| (n % 251) as u8 + 1).collect();
        let mut file = File::create(&path).unwrap();
        file.write_all(&content).unwrap();
        file.sync_all().unwrap();
        (folder, path)
    }

    fn workload(path: &Path) -> Workload {
        Workload {
            targets: vec![Target { path: path.to_owned(), drive: None }],
            runtime: Some(Duration::from_millis(120)),
            ..Workload::default()
        }
    }

    /// Runs a workload, again where the machine stopped for so long that a run by the clock has few reads or workers.
    fn run(workload: &Workload) -> RunSummary {
        for _ in 0..20 {
            let summary = run_once(workload);
            let has_reads =
                |target: &TargetSummary| target.ios > 10 && target.runtime > Duration::from_millis(30);
            if workload.runtime.is_none() || summary.targets.iter().all(has_reads) {
                return summary;
            }
        }
        run_once(workload)
    }

    fn run_once(workload: &Workload) -> RunSummary {
        let mut running = RealEngine::default().start(workload, clock::now()).unwrap();
        while running.sample(clock::now()).state != RunState::Ended {
            thread::sleep(Duration::from_millis(5));
        }
        running.finish(clock::now())
    }

    #[test]
    fn every_way_of_reading_a_file_reads_it_without_an_error() {
        let (_folder, path) = file();
        let plain = workload(&path);
        let spinning = Workload { batch_complete_min: Some(0), ..plain.clone() };
        for workload in [
            plain.clone(),
            Workload { fixed_buffers: false, ..plain.clone() },
            Workload { register_files: false, ..plain.clone() },
            Workload { register_files: false, fixed_buffers: false, latency: false, ..plain.clone() },
            Workload { pattern: Pattern::Sequential, block_size: Bytes(65536), jobs: 2, ..plain.clone() },
            Workload { block_split: vec![(Bytes(4096), 50), (Bytes(16384), 50)], ..plain.clone() },
            Workload { direct: false, ..plain.clone() },
            Workload { submission_poll: true, ..plain.clone() },
            Workload { engine: EngineKind::Psync, depth: 4, ..plain.clone() },
            Workload { engine: EngineKind::Libaio, ..plain.clone() },
            Workload { engine: EngineKind::Libaio, direct: false, latency: false, ..plain.clone() },
            Workload {
                engine: EngineKind::Posixaio,
                block_split: vec![(Bytes(4096), 50), (Bytes(8192), 50)],
                ..plain.clone()
            },
            Workload { engine: EngineKind::Posixaio, rate_iops: Some(2000), jobs: 2, ..plain.clone() },
            Workload { engine: EngineKind::Mmap, depth: 2, ..plain.clone() },
            Workload {
                engine: EngineKind::Mmap,
                pattern: Pattern::Sequential,
                prefetch: Some(Bytes(1 << 20)),
                depth: 1,
                ..plain.clone()
            },
            Workload { ramp: Duration::from_millis(50), ..plain.clone() },
            Workload { batch_submit: Some(1), batch_complete_min: Some(1), ..plain.clone() },
            spinning.clone(),
            Workload { submission_poll: true, ..spinning.clone() },
            Workload { engine: EngineKind::Libaio, ..spinning.clone() },
            Workload { engine: EngineKind::Posixaio, ..spinning },
            Workload { exact_timing: true, ..plain.clone() },
            Workload { exact_timing: true, rate_iops: Some(2000), jobs: 2, ..plain.clone() },
        ] {
            let summary = run(&workload);
            let target = &summary.targets[0];
            assert!(target.ios > 0 && target.errors == 0, "{}: {target:?}", workload.title());
            assert_eq!(
                target.latency.as_ref().map(|latency| latency.count),
                workload.latency.then_some(target.ios)
            );
            assert!(workload.block_split.is_empty() == (target.bytes == target.ios * workload.block_size.0));
            assert_eq!(summary.effective.engine, workload.engine);
            let reached = target.depth_reached.unwrap();
            assert!(
                reached > f64::from(workload.depth) / 8.0 || workload.rate_iops.is_some(),
                "{reached}: {}",
                workload.title()
            );
            // A worker that a busy machine lets begin late has counted for less.
            assert!(target.runtime >= Duration::from_millis(30), "{target:?}");
        }
    }

    #[test]
    fn a_file_that_is_many_targets_is_probed_once() {
        let (_folder, path) = file();
        let target = Target { path: path.clone(), drive: None };
        let many = Workload { targets: vec![target; 50], runtime: None, ..workload(&path) };
        let reads = || {
            let counts = std::fs::read_to_string("/proc/thread-self/io").unwrap();
            let count = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
            count.unwrap().parse::<u64>().unwrap()
        };
        let before = reads();
        assert_eq!(open(&many).unwrap().len(), 50);
        let count = reads() - before;
        assert!((64..100).contains(&count), "{count}");
    }

    #[test]
    fn an_amount_is_read_to_the_last_block_and_no_further() {
        let (_folder, path) = file();
        for engine in [
            EngineKind::IoUring,
            EngineKind::Psync,
            EngineKind::Libaio,
            EngineKind::Posixaio,
            EngineKind::Mmap,
        ] {
            let workload = Workload {
                runtime: None,
                size: Some(Bytes(1 << 20)),
                jobs: 2,
                depth: 8,
                engine,
                ..workload(&path)
            };
            let summary = run(&workload);
            assert_eq!((summary.targets[0].ios, summary.interrupted), (2 * 256, false));
        }
    }

    #[test]
    fn jobs_that_share_a_worker_are_read_evenly_and_paid_for_together() {
        let ((_one, first), (_other, second)) = (file(), file());
        // A busy disk would prefer one file; the page cache does not.
        let mut shared = Workload { direct: false, ..workload(&first) };
        shared.targets.push(Target { path: second, drive: None });
        // More jobs than CPUs.
        shared.jobs = 8 * u32::try_from(thread::available_parallelism().unwrap().get()).unwrap();
        shared.depth = 4;
        let summary = run(&shared);
        let [one, other] = &summary.targets[..] else { panic!() };
        assert!(one.ios > 10 && other.ios > 10 && one.errors + other.errors == 0, "{one:?} {other:?}");
        let ratio = one.ios as f64 / other.ios as f64;
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
        assert_eq!(one.latency.as_ref().map(|latency| latency.count), Some(one.ios));
        let reached = one.depth_reached.unwrap();
        assert!(reached > 0.0 && reached <= 4.1, "{reached}");

        let amount = Workload { runtime: None, size: Some(Bytes(1 << 20)), ..shared.clone() };
        let summary = run(&amount);
        let all = u64::from(shared.jobs) * 256;
        assert_eq!(summary.targets.iter().map(|target| target.ios).collect::<Vec<_>>(), [all, all]);
    }

    #[test]
    fn the_depth_reached_obeys_littles_law() {
        let files: Vec<_> = (0..10).map(|_| file()).collect();
        let mut shared =
            Workload { runtime: Some(Duration::from_millis(700)), direct: false, ..workload(&files[0].1) };
        let plain = shared.clone();
        shared.targets = files.iter().map(|(_, path)| Target { path: path.clone(), drive: None }).collect();
        for workload in [
            plain.clone(),
            Workload { direct: true, ..plain.clone() },
            Workload { exact_timing: true, ..plain.clone() },
            Workload { batch_submit: Some(4), batch_complete_min: Some(1), ..plain.clone() },
            Workload { rate_iops: Some(3000), ..plain.clone() },
            Workload { engine: EngineKind::Psync, depth: 4, ..plain.clone() },
            Workload { engine: EngineKind::Libaio, direct: true, jobs: 2, ..plain.clone() },
            Workload { engine: EngineKind::Posixaio, ..plain.clone() },
            shared.clone(),
            Workload { jobs: 3, direct: true, ..shared },
        ] {
            let summary = run(&workload);
            for target in &summary.targets {
                let depth = target.depth_reached.unwrap() * f64::from(workload.jobs);
                let law = target.iops() * target.latency.as_ref().unwrap().mean / 1e9;
                // Reads in flight at either end count for one side only, and latencies have buckets of 1 %.
                let slowest = target.latency.as_ref().unwrap().max as f64 / 1e9;
                let unsure = 0.05 + 2.0 * slowest / target.runtime.as_secs_f64();
                assert!(
                    (depth / law - 1.0).abs() < unsure,
                    "{depth} for {law}: {target:?}, {}",
                    workload.title()
                );
            }
        }
    }

    #[test]
    fn a_run_in_which_no_read_completed_is_invalid_and_says_what_to_do() {
        // A pipe: its read completes at the first write.
        let (reader, _writer) = std::io::pipe().unwrap();
        let target = Open {
            file: File::from(std::os::fd::OwnedFd::from(reader)),
            name: Label::new("pipe"),
            span: Bytes(1 << 20),
            namespace: None,
            doubts: Vec::new(),
        };
        let workload = workload(Path::new("pipe"));
        let running = WorkerPool::start_shared(None, &workload, vec![target], read_loop::work).unwrap();
        thread::sleep(Duration::from_millis(200));
        let summary = Box::new(running).finish(clock::now());
        let because = summary.targets[0].invalid_because.join("; ");
        assert!(because.contains("no read completed in "), "{because}");
        assert!(because.contains("32 reads of 4k in flight (128k): use a longer --runtime"), "{because}");
    }

    #[test]
    fn a_submitting_thread_is_had_or_a_sentence_says_why_not() {
        let (_folder, path) = file();
        let summary = run(&Workload { submission_poll: true, ..workload(&path) });
        assert!(summary.targets[0].ios > 10 && summary.targets[0].errors == 0, "{summary:?}");
        let effective = &summary.effective;
        let config = effective.ring_flags.iter().any(|flag| flag == "SQPOLL");
        let said = effective.fallbacks.iter().any(|sentence| sentence.contains("SQPOLL"));
        assert!(config != said, "{effective:?}");
    }

    #[test]
    fn exact_timing_leaves_the_call_that_hands_over_out() {
        let (_folder, path) = file();
        // The page cache answers within that call.
        let cached = Workload { direct: false, batch_submit: Some(32), ..workload(&path) };
        let exact = Workload { exact_timing: true, ..cached.clone() };
        let [whole, rest] = [cached, exact].map(|workload| run(&workload));
        let median = |run: &RunSummary| run.targets[0].latency.as_ref().unwrap().percentile(50.0).unwrap();
        assert!(median(&rest) < median(&whole) / 2, "{rest:?} against {whole:?}");
        assert!(rest.targets[0].calls > whole.targets[0].calls * rest.targets[0].ios / whole.targets[0].ios);
        assert!(rest.effective.batch.ends_with(", exact"), "{rest:?}");
    }

    #[test]
    fn polling_what_cannot_be_polled_says_so_and_reads_by_interrupts() {
        let (_folder, path) = file();
        let summary = run(&Workload { hipri: true, ..workload(&path) });
        assert!(summary.targets[0].ios > 10);
        let polled = summary.effective.completion == crate::model::Completion::Polled;
        let said = summary.effective.fallbacks.iter().any(|sentence| sentence.contains("cannot be polled"));
        assert!(polled != said, "{:?}", summary.effective);

        let slept = run(&Workload { hipri: true, hybrid_poll: true, ..workload(&path) });
        assert!(slept.targets[0].ios > 10 && slept.targets[0].errors == 0);
        let effective = &slept.effective;
        let config = effective.ring_flags.iter().any(|flag| flag == "HYBRID_IOPOLL");
        assert!(config == effective.fallbacks.is_empty(), "{effective:?}");
    }

    #[test]
    fn what_takes_no_nvme_commands_is_read_by_the_ring_and_says_why() {
        let (_folder, path) = file();
        let commands = Workload { engine: EngineKind::IoUringCmd, direct: false, ..workload(&path) };
        let summary = run(&commands);
        assert_eq!(summary.effective.engine, EngineKind::IoUring);
        assert!(summary.targets[0].ios > 10);
        let said = &summary.effective.fallbacks[0];
        assert!(said.contains("NVMe passthrough cannot read") && said.contains("using io_uring"), "{said}");
        assert!(summary.workload.direct, "commands and what stands in for them go past the cache");
    }

    #[test]
    fn a_pause_stops_reads_and_the_clock() {
        let (_folder, path) = file();
        let workload = Workload { runtime: None, size: None, ..workload(&path) };
        let endless = Workload { runtime: Some(Duration::from_secs(100)), ..workload };
        let mut running = RealEngine::default().start(&endless, clock::now()).unwrap();
        thread::sleep(Duration::from_millis(50));
        running.pause(clock::now());
        let before = running.sample(clock::now());
        // Reads in flight complete whenever the disk gets to them; then nothing does, for a second.
        let (mut after, mut still) = (before.clone(), 0);
        for _ in 0..1200 {
            thread::sleep(Duration::from_millis(100));
            let now = running.sample(clock::now());
            still = if now.targets[0].ios == after.targets[0].ios { still + 1 } else { 0 };
            after = now;
            if still == 10 {
                break;
            }
        }
        assert_eq!(still, 10, "reads go on");
        assert_eq!((before.state, before.at), (RunState::Paused, after.at));
        running.resume(clock::now());
        // On a busy machine the first read takes a while.
        let reads_again = (0..1200).any(|_| {
            thread::sleep(Duration::from_millis(50));
            running.sample(clock::now()).targets[0].ios > after.targets[0].ios + u64::from(endless.depth)
        });
        assert!(reads_again);
        let summary = running.finish(clock::now());
        assert!(summary.interrupted);
    }

    #[test]
    fn a_file_that_becomes_shorter_is_named_and_ends_only_its_own_workers() {
        let cut_while_read = || {
            let ((_one, short), (_other, whole)) = (file(), file());
            let mut workload = workload(&short);
            workload.runtime = Some(Duration::from_millis(500));
            workload.targets.push(Target { path: whole, drive: None });
            let mut running = RealEngine::default().start(&workload, clock::now()).unwrap();
            let mut is_cut = false;
            loop {
                let sample = running.sample(clock::now());
                if sample.state == RunState::Ended {
                    break running.finish(clock::now());
                }
                if !is_cut && sample.targets[0].ios > 0 {
                    File::options().write(true).open(&short).unwrap().set_len(0).unwrap();
                    is_cut = true;
                }
                thread::sleep(Duration::from_millis(5));
            }
        };
        // Where the machine stops for half a second, the run is over before the file is cut.
        let summary = (0..20).map(|_| cut_while_read()).find(|run| run.targets[0].first_error.is_some());
        let summary = summary.unwrap();
        let [short, whole] = &summary.targets[..] else { panic!() };
        let words = short.first_error.as_ref().unwrap().as_str();
        assert!(words.contains("0 of 4096 bytes") && words.contains("target at byte "), "{words}");
        assert!(
            short.invalid_because.iter().any(|why| why.starts_with("aborted")),
            "{:?}",
            short.invalid_because
        );
        assert_eq!((whole.errors, summary.interrupted), (0, false));
        assert!(whole.runtime > short.runtime);
    }
}

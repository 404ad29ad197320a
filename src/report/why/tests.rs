//! Every rule fires for what it names, and not before.

mod between;
mod by_drives;
mod by_process;
mod copies;
mod limits;
mod panel_lines;
mod other_programs;
mod own_rates;
mod own_time;
mod pipes;
mod reclaim;
mod steady_words;
mod syncs;
mod turns;
mod workers;

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{
    counters::{
        CpuShares, PagingRates, PressureShares,
        activity::{ProcessRates, ThreadActivity, ThreadKind},
    },
    source,
    text::Label,
};

/// The number of this process.
const OWN: u32 = 99;

struct Scene {
    machine: Machine,
    rates: Rates,
    activity: Activity,
    test: Option<TestNow<'static>>,
    full: Option<&'static str>,
}

impl Scene {
    /// The laptop's drive reads 1.2 GB/s; 4 CPUs are nearly idle.
    fn reading() -> Self {
        let mut scene = Self::idle();
        let drive = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk = DiskRates { reads: 300e3, read_bytes: 1.2e9, queue_depth: 32.0, ..DiskRates::default() };
        scene.rates.disks.insert(drive, disk);
        scene
    }

    fn idle() -> Self {
        let machine = source::testing::demo("laptop");
        let quiet = CpuShares { usr: 1.0, sys: 2.0, idl: 97.0, ..CpuShares::default() };
        let rates = Rates {
            elapsed: Duration::from_secs(1),
            cpu: Some(quiet),
            cpus: (0..4).map(|cpu| (cpu, quiet)).collect(),
            ..Rates::default()
        };
        Self { machine, rates, activity: Activity::default(), test: None, full: None }
    }

    fn cpu(mut self, cpu: u32, shares: CpuShares) -> Self {
        self.rates.cpus.insert(cpu, shares);
        self
    }

    fn all(mut self, shares: CpuShares) -> Self {
        self.rates.cpu = Some(shares);
        self
    }

    fn threads(mut self, kinds: &[(char, &str, &str, &str, f64)]) -> Self {
        let label = |text: &str| (!text.is_empty()).then(|| Label::new(text));
        let kind = |(state, command, syscall, wchan, mean): &(char, &str, &str, &str, f64)| {
            let kind = ThreadKind {
                state: *state,
                command: Label::new(command),
                is_kernel: command.starts_with("kswapd"),
                syscall: label(syscall),
                wchan: label(wchan),
                stack: None,
            };
            (kind, *mean)
        };
        let kinds = kinds.iter().map(kind).collect();
        self.activity.threads = Some(ThreadActivity { kinds, samples: 10, ..ThreadActivity::default() });
        self
    }

    fn process(mut self, command: &str, read: f64, called: f64, cpus: f64) -> Self {
        self.activity.processes.get_or_insert_default().push(ProcessRates {
            pid: 7,
            has_ended: false,
            command: Label::new(command),
            read_bytes: Some(read),
            written_bytes: Some(0.0),
            called_read: Some(called),
            called_write: Some(0.0),
            cpus,
            is_nice: false,
            delayed: None,
            drives: None,
        });
        self
    }

    fn test(mut self, workers: usize, is_polled: bool) -> Self {
        self.test =
            Some(TestNow { workers, is_polled, is_buffered: false, reached: None, is_cpu_bound: false });
        self
    }

    fn sentence(&self) -> Sentence {
        sentence(&self.inputs())
    }

    fn inputs(&self) -> Inputs<'_> {
        let Self { machine, rates, activity, test, full } = self;
        let (test, full, units) = (*test, *full, UnitSystem::Decimal);
        Inputs { machine, rates, activity, test, full, named: &[], said: "", own: OWN, units }
    }

    fn says(&self, rule: &str, text: &str) {
        let sentence = self.sentence();
        assert_eq!((sentence.rule, sentence.text.as_str()), (rule, text));
    }
}

fn irq(irq: f64, softirq: f64) -> CpuShares {
    CpuShares { sys: irq, irq, softirq, idl: 100.0 - irq, ..CpuShares::default() }
}

#[test]
fn a_cpu_full_of_interrupts_is_named() {
    Scene::reading()
        .cpu(3, irq(97.0, 10.0))
        .says("interrupts", "CPU 3 spends 97 % in irq: interrupts are the limit");
    Scene::reading()
        .cpu(2, irq(97.0, 60.0))
        .says("interrupts", "CPU 2 spends 97 % in softirq: interrupts are the limit");
    assert_ne!(Scene::reading().cpu(3, irq(79.0, 0.0)).sentence().rule, "interrupts");
}

#[test]
fn a_hypervisor_that_takes_the_time_is_named() {
    let all = CpuShares { usr: 30.0, sys: 25.0, idl: 5.0, stl: 40.0, ..CpuShares::default() };
    Scene::reading()
        .all(all)
        .says("steal", "The hypervisor takes 40 % of CPU time (steal): its host is the limit");
    let all = CpuShares { stl: 19.0, usr: 81.0, ..CpuShares::default() };
    assert_ne!(Scene::reading().all(all).sentence().rule, "steal");
}

#[test]
fn busy_cpus_are_the_limit_unless_they_poll_or_nothing_moves() {
    let all = CpuShares { usr: 28.0, sys: 71.0, idl: 1.0, ..CpuShares::default() };
    Scene::reading()
        .all(all)
        .says("cpus", "All 4 CPUs are busy (usr 28 %, sys 71 %): the CPUs are the limit");
    Scene::idle().all(all).says("idle", "Drives are idle; CPUs are 99 % busy (usr 28 %, sys 71 %)");
    let polls =
        "8 workers poll for completions: busy CPUs are no limit here, compare with the drives' potential";
    Scene::reading().all(all).test(8, true).says("polling", polls);
    assert_eq!(Scene::reading().all(all).test(8, false).sentence().rule, "cpus");
}

#[test]
fn a_shown_rule_stays_until_it_fails_clearly() {
    let all = |idle: f64| CpuShares { usr: 60.0, sys: 40.0 - idle, idl: idle, ..CpuShares::default() };
    let held = |scene: Scene, rule: &str| held(&scene, rule);
    assert_eq!(Scene::reading().all(all(9.0)).sentence().rule, "queue");
    assert_eq!(held(Scene::reading().all(all(9.0)), "cpus"), Some("cpus"));
    assert_eq!(held(Scene::reading().all(all(18.0)), "cpus"), None, "a fifth is idle");
    let stolen = CpuShares { usr: 70.0, idl: 15.0, stl: 15.0, ..CpuShares::default() };
    assert_eq!(held(Scene::reading().all(stolen), "steal"), Some("steal"));
    let rustc = |cpus| Scene::reading().all(all(2.0)).process("rustc", 0.0, 0.0, cpus);
    assert_eq!(rustc(1.6).sentence().rule, "cpus", "less than half of what is busy");
    assert_eq!(held(rustc(1.6), "other-programs"), Some("other-programs"));
    assert_eq!(held(rustc(1.0), "other-programs"), None);
    let with_fio = |waits| {
        let threads = [('D', "fio", "io_getevents", "read_events", waits), ('R', "fio", "", "", 1.0 - waits)];
        rustc(2.2).process("fio", 1.2e9, 1.2e9, 0.3).threads(&threads)
    };
    assert_eq!(with_fio(0.2).sentence().rule, "other-programs");
    assert_eq!(
        held(with_fio(0.4), "other-programs"),
        Some("other-programs"),
        "fio is found waiting now and then"
    );
    assert_eq!(held(with_fio(0.9), "other-programs"), None);
    assert_eq!(held(Scene::reading(), "moving"), None, "others take its place at once");
}

#[test]
fn throttled_writes_name_what_throttles_them() {
    let mut scene = Scene::reading().threads(&[('D', "fio", "io_submit", "rq_qos_wait", 0.9)]);
    for disk in scene.rates.disks.values_mut() {
        disk.written_bytes = std::mem::take(&mut disk.read_bytes);
    }
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let set = |scene: &mut Scene, us| {
        let drive = scene.machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
        drive.queue.wbt_lat_usec = crate::model::Reading::known("wbt_lat_usec", us);
    };
    set(&mut scene, 75_000);
    let words = "fio waits until throttling lets an I/O pass (rq_qos_wait)";
    let limit = format!("writeback throttling is the limit (wbt_lat_usec 75000 of {})", name.as_str());
    scene.says("throttling", &format!("{words}: {limit}"));
    set(&mut scene, 0);
    scene.says("throttling", &format!("{words}: a latency target throttles them (wbt or io.latency)"));
}

#[test]
fn workers_that_wait_for_completions_make_the_drives_the_limit() {
    let waiting = [('S', "read *", "io_uring_enter", "io_cqring_wait", 11.8), ('R', "read *", "", "", 0.2)];
    Scene::reading().threads(&waiting).test(12, false).says(
        "drives",
        "12 of 12 workers wait for completions (io_cqring_wait): the drives or their links are the limit",
    );
    let fio = [('D', "fio", "io_getevents", "read_events", 3.0), ('S', "fio", "futex", "futex_wait", 1.0)];
    Scene::reading().threads(&fio).says(
        "drives",
        "3 of 3 threads of fio wait for completions (read_events): the drives or their links are the limit",
    );
    let busy = [('S', "fio", "io_uring_enter", "io_cqring_wait", 1.0), ('R', "fio", "", "", 3.0)];
    assert_eq!(Scene::reading().threads(&busy).sentence().rule, "moving");
    Scene::idle().threads(&waiting).says("idle", "Drives are idle");
    let mut log = Scene::idle();
    let name = log.machine.hardware_drives().next().unwrap().name.clone();
    log.rates.disks.insert(name, DiskRates { writes: 9.0, written_bytes: 4e5, ..DiskRates::default() });
    log.says("idle", "Drives are idle");
    log.rates.disks.values_mut().next().unwrap().written_bytes = 1.5e6;
    log.says("idle", "Drives read and write little (1.50 MB/s)");
}

#[test]
fn one_io_at_a_time_is_limited_by_latency() {
    let mut scene = Scene::reading().threads(&[('D', "fio", "pread64", "__blkdev_direct_IO_simple", 0.9)]);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    (disk.queue_depth, disk.read_await_ms) = (0.94, Some(0.078));
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let name = name.as_str();
    let one = "fio has one I/O in flight at a time (queue depth 0.9): the latency of";
    scene.says("latency", &format!("{one} {name}, 78.0 us, is the limit"));
    scene.rates.disks.values_mut().next().unwrap().queue_depth = 1.4;
    let split = scene.sentence().text;
    assert!(split.contains(" waits for one call at a time while ") && !split.contains("splits"), "{split}");
    let limit = " has 1.4 I/Os in flight: the drives, their links or the latency of a call are the limit";
    assert!(split.contains(limit), "{split}");
    scene.rates.disks.values_mut().next().unwrap().queue_depth = 0.94;
    // Few samples find it waiting, beside busy CPUs: the drive has its read in flight nearly always.
    let all = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
    let kinds = [('D', "fio", "pread64", "__iomap_dio_rw", 0.2), ('R', "fio", "", "", 0.8)];
    let seldom =
        scene.threads(&kinds).all(all).process("fio", 1.2e9, 1.2e9, 0.3).process("yes", 0.0, 0.0, 3.0);
    let busy = "is the limit; CPUs are busy too";
    seldom.says("latency", &format!("{one} {name}, 78.0 us, {busy}"));
    let several = [('S', "fio", "io_uring_enter", "io_cqring_wait", 0.2), ('R', "fio", "", "", 0.8)];
    let several = seldom.threads(&several);
    assert_eq!(several.sentence().rule, "other-programs", "it has submitted more, which wait for it");
    let mut scene = Scene::reading().threads(&[('D', "fio", "pread64", "__blkdev_direct_IO_simple", 0.9)]);
    // Around the border the sentence stays.
    for (depth, first) in [(1.4, "latency"), (1.8, "drives")] {
        scene.rates.disks.values_mut().next().unwrap().queue_depth = depth;
        assert_eq!(scene.sentence().rule, first);
        assert_eq!(held(&scene, "latency"), Some("latency"), "{depth}");
        assert_eq!(held(&scene, "drives"), Some("drives"), "{depth}");
    }
    scene.rates.disks.values_mut().next().unwrap().queue_depth = 3.0;
    assert_eq!(held(&scene, "latency"), None);
}

#[test]
fn a_thread_that_runs_and_waits_by_turns_is_named() {
    let copies = |waiting: f64, running: f64| {
        let threads = [
            ('D', "cp", "read", "folio_wait_bit_common", waiting / 2.0),
            ('D', "cp", "write", "rq_qos_wait", waiting / 2.0),
            ('R', "cp", "", "", running),
        ];
        Scene::reading().threads(&threads).process("cp", 1.2e9, 1.2e9, running)
    };
    let limit = "its one thread is the limit";
    copies(0.4, 0.6).says("turns", &format!("cp waits for I/O 40 % of the time and runs the rest: {limit}"));
    copies(1.2, 1.8).says(
        "turns",
        "3 threads of cp wait for I/O 40 % of the time and run the rest: the number of threads is the limit",
    );
    assert_eq!(copies(0.1, 0.9).sentence().rule, "threads", "it hardly waits");
    assert_eq!(copies(0.1, 0.8).sentence().rule, "moving", "and runs less than one thread can");
    // A writer of 4k on a fast drive, which has its one I/O in flight less than half of the time.
    let writes = |waiting: f64, running: f64| {
        let threads = [('D', "fio", "pwrite64", "__iomap_dio_rw", waiting), ('R', "fio", "", "", running)];
        let mut scene = Scene::reading().threads(&threads).process("fio", 0.0, 0.0, running);
        scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(100e6);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 25e3, written_bytes: 100e6, queue_depth: 0.4, ..DiskRates::default() };
        disk.write_await_ms = Some(0.016);
        scene
    };
    let name = writes(0.4, 0.6).rates.disks.keys().next().unwrap().clone();
    let one = "of the time and runs the rest, with one I/O in flight at a time";
    let latency = format!("the latency of {}, 16.0 us,", name.as_str());
    let both = format!("fio waits for I/O 40 % {one}: its CPU time and {latency} are the limit");
    writes(0.4, 0.6).says("turns", &both);
    let waits = format!("fio waits for I/O 49 % {one}: {latency} is the limit");
    writes(0.49, 0.51).says("turns", &waits);
    // Few samples: the CPU time of the process tells how much of its time the one thread runs.
    let sampled = |waiting: f64| {
        let threads =
            [('S', "fio", "io_uring_enter", "io_cqring_wait", waiting), ('R', "fio", "", "", 1.0 - waiting)];
        Scene::reading().threads(&threads).process("fio", 1.2e9, 1.2e9, 0.4)
    };
    for waiting in [0.25, 0.5, 0.75] {
        assert_eq!(sampled(waiting).sentence().rule, "drives", "{waiting}");
    }
    assert_eq!(held(&copies(0.15, 0.85), "turns"), Some("turns"));
}

#[test]
fn a_software_drive_that_memory_serves_is_what_moves() {
    let mut scene = Scene::idle();
    let hardware = scene.machine.hardware_drives().next().unwrap().clone();
    let name = DriveName::new("loop0");
    let kind = crate::machine::DriveKind::Loop;
    scene.machine.drives.push(crate::machine::Drive { name: name.clone(), kind, ..hardware.clone() });
    let disk = |read_bytes, queue_depth| DiskRates {
        reads: read_bytes / 4096.0,
        read_bytes,
        queue_depth,
        ..DiskRates::default()
    };
    scene.rates.disks.insert(name, disk(400e6, 16.0));
    scene.rates.disks.insert(hardware.name.clone(), disk(20e3, 0.1));
    let mut scene = scene.threads(&[('S', "fio", "io_getevents", "read_events", 0.9)]);
    scene.says(
        "drives",
        "fio waits for completions (read_events): loop0, whose data is in memory, is the limit",
    );
    scene.rates.disks.insert(hardware.name, disk(390e6, 0.9));
    assert_eq!(scene.sentence().rule, "latency", "what it reads comes from the drive below it");
}

#[test]
fn what_keeps_cpus_busy_is_named_while_drives_are_idle() {
    let all = CpuShares { usr: 52.0, idl: 48.0, ..CpuShares::default() };
    let two = || {
        let mut scene = Scene::idle();
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene
    };
    let gzip = || two().all(all).process("gzip", 0.0, 96e6, 0.99);
    gzip().says("idle", "Drives are idle; gzip keeps one CPU busy for 96.0 MB/s of read calls");
    gzip()
        .process("rustc", 0.0, 0.0, 1.2)
        .says("idle", "Drives are idle; CPUs are 52 % busy (usr 52 %), most of the time with rustc");
    // Of a build most programs end before a sample.
    let full = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
    let build = two().all(full).process("rustc", 0.0, 0.0, 1.05);
    let only = "Both CPUs are busy, most of the time with rustc, which hardly reads or writes";
    build.says("little-io", &format!("{only}; drives do little and are no limit"));
}

/// The rule that stays while it is shown.
fn held(scene: &Scene, rule: &str) -> Option<&'static str> {
    look(&scene.inputs(), Some(rule)).shown.map(|sentence| sentence.rule)
}

#[test]
fn buffered_reads_and_writes_are_named_by_their_waits() {
    let read = [('D', "dd", "read", "folio_wait_bit_common", 0.8), ('R', "dd", "read", "", 0.2)];
    Scene::reading().threads(&read).says(
        "page-cache",
        "dd waits for pages to be read (folio_wait_bit_common): buffered reads are the limit, they wait for the page cache to fill",
    );
    let beside = [("fio/*", 0.7), ("rustfmt", 0.9)]
        .map(|(name, mean)| ('D', name, "read", "folio_wait_bit_common", mean));
    let both = || Scene::reading().threads(&beside);
    let named = |scene: Scene| scene.sentence().text.split(' ').next().unwrap_or_default().to_owned();
    assert_eq!(named(both()), "rustfmt", "more of them wait");
    assert_eq!(named(both().process("fio/7", 9e8, 9e8, 0.2).process("rustfmt", 1e6, 1e6, 0.9)), "fio/*");
    for (syscall, wchan) in [("write", "balance_dirty_pages"), ("fdatasync", "folio_wait_bit_common")] {
        let sentence = Scene::reading().threads(&[('D', "dd", syscall, wchan, 0.9)]).sentence();
        let text = format!(
            "dd waits for pages to be written ({wchan}): buffered writes wait for writeback to the drives"
        );
        assert_eq!((sentence.rule, sentence.text), ("writeback", text));
    }
    assert_eq!(
        Scene::reading().threads(&[('D', "kswapd*", "", "folio_wait_bit", 1.0)]).sentence().rule,
        "moving"
    );
}

#[test]
fn threads_of_what_reads_stand_before_others_that_run() {
    let running =
        [('R', "rustc", "", "", 4.0), ('R', "ld", "", "", 2.0), ('D', "fio", "read", "io_schedule", 1.0)];
    let commands = |scene: &Scene| -> Vec<String> {
        let grid = tables::threads(&scene.activity, false, 100);
        let command = |row: &grid::Row| match &row.cells[2] {
            grid::Cell::Text(command) => command.clone(),
            other => format!("{other:?}"),
        };
        grid.rows.iter().map(command).collect()
    };
    let scene = || Scene::reading().threads(&running).process("rustc", 1e3, 1e3, 1.0);
    assert_eq!(commands(&scene()), ["rustc", "ld", "fio"]);
    assert_eq!(commands(&scene().process("fio", 8e8, 8e8, 0.2)), ["fio", "rustc", "ld"]);
}

#[test]
fn threads_that_fill_their_cpus_and_one_that_reads_the_cache_are_named() {
    let running = [('R', "dd", "read", "", 0.98)];
    let full = CpuShares { sys: 95.0, idl: 5.0, ..CpuShares::default() };
    let dd = |scene: Scene| scene.threads(&running).process("dd", 1.2e9, 1.2e9, 0.99);
    dd(Scene::reading())
        .cpu(1, full)
        .says("threads", "dd keeps one CPU busy for 1.20 GB/s: one thread is the limit");
    let through =
        "dd keeps one CPU busy for 1.20 GB/s: one thread, which reads through the page cache, is the limit";
    let waiting = [('R', "dd", "read", "", 0.98), ('D', "dd", "read", "folio_wait_bit_common", 0.02)];
    dd(Scene::reading()).threads(&waiting).cpu(1, full).says("threads", through);
    assert_eq!(dd(Scene::reading()).sentence().rule, "threads", "from CPU to CPU it fills none");
    let idle = Scene::reading().threads(&running).process("dd", 1.2e9, 1.2e9, 0.04).cpu(1, full);
    assert_eq!(idle.sentence().rule, "moving", "another program fills the CPU");
    let workers = [('R', "read *", "", "", 1.95), ('S', "read *", "io_uring_enter", "io_cqring_wait", 0.05)];
    let test = |scene: Scene| scene.threads(&workers).cpu(1, full).test(2, false);
    test(Scene::reading())
        .cpu(2, full)
        .says("threads", "Workers keep 2 of 4 CPUs busy and hardly wait: the number of threads is the limit");
    let mut all = test(Scene::reading().cpu(0, full));
    all.rates.cpus.retain(|cpu, _| *cpu < 2);
    all.says("threads", "Workers keep all 2 CPUs busy and hardly wait: the CPUs are the limit");
    assert_eq!(test(Scene::reading()).sentence().rule, "moving", "only one CPU is full");
    Scene::idle().threads(&running).process("dd", 0.0, 3.2e9, 0.99).says(
        "cached",
        "dd keeps one CPU busy: one thread is the limit; its read calls return 3.20 GB/s, the drives read nothing",
    );
    let rest = "the rest comes from the page cache, a pipe or a device file such as /dev/urandom";
    Scene::idle()
        .process("dd", 0.0, 3.2e9, 0.4)
        .says("cached", &format!("Read calls of dd return 3.20 GB/s, the drives read nothing: {rest}"));
    let mut from_zero = Scene::reading().process("dd", 0.0, 3.2e9, 0.4);
    from_zero.activity.processes.as_mut().unwrap()[0].written_bytes = Some(3.2e9);
    assert_ne!(from_zero.sentence().rule, "cached", "it reads /dev/zero and writes to a drive");
}

#[test]
fn writes_that_stay_in_the_page_cache_are_named() {
    let dd = |mut scene: Scene, written: f64, cpus: f64| {
        scene = scene.process("dd", 0.0, written, cpus);
        scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(written);
        scene
    };
    let busy = CpuShares { sys: 100.0, ..CpuShares::default() };
    dd(Scene::idle(), 140e6, 0.5)
        .all(busy)
        .says("cached-writes", "dd writes 140 MB/s to the page cache; the drives write nothing");
    dd(Scene::idle(), 287e6, 0.97).says(
        "cached-writes",
        "dd keeps one CPU busy: one thread is the limit; it writes 287 MB/s to the page cache, the drives write \
         nothing",
    );
    let mut scene = dd(Scene::reading(), 140e6, 0.5);
    scene.rates.disks.values_mut().next().unwrap().written_bytes = 10e6;
    scene.says("cached-writes", "dd writes 140 MB/s to the page cache; the drives write 10.0 MB/s");
    scene.rates.disks.values_mut().next().unwrap().written_bytes = 100e6;
    assert_ne!(scene.sentence().rule, "cached-writes", "the drives write most of it");
    let mut copies = dd(Scene::reading(), 140e6, 0.5);
    copies.activity.processes.as_mut().unwrap()[0].read_bytes = Some(130e6);
    assert_ne!(copies.sentence().rule, "cached-writes", "it reads what it writes from a drive");
    let piped = dd(Scene::reading(), 140e6, 0.5).process("tar", 170e6, 170e6, 0.3);
    assert_ne!(piped.sentence().rule, "cached-writes", "another program does");
    assert_eq!(dd(Scene::idle(), 10e6, 0.5).sentence().rule, "idle");
}

#[test]
fn without_threads_the_queue_of_a_drive_speaks() {
    let mut scene = Scene::reading();
    let disk = scene.rates.disks.values_mut().next().unwrap();
    // One write beside many reads is not what takes the time.
    (disk.read_await_ms, disk.write_await_ms) = (Some(0.11), Some(1.0));
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let name = name.as_str();
    scene.says(
        "queue",
        &format!("{name} has 32.0 I/Os in flight, 110 us each: the drives or their links are the limit"),
    );
    scene.rates.disks.values_mut().next().unwrap().queue_depth = 0.5;
    scene.says("moving", "Drives read 1.20 GB/s; CPU 3 is the busiest with 3 %");
}

#[test]
fn no_interrupts_are_zero_and_not_minus_zero() {
    assert!(tables::all_vectors(&Rates::default()).is_sign_positive());
}

#[test]
fn every_rule_can_be_reached_and_is_in_the_document() {
    let tested = [
        "full",
        "interrupts",
        "steal",
        "polling",
        "reclaim",
        "pipe",
        "cgroup",
        "cpu-quota",
        "own-waits",
        "cpu-waits",
        "copy",
        "little-io",
        "other-programs",
        "cpus",
        "flushes",
        "file-lock",
        "between",
        "page-cache",
        "writeback",
        "throttling",
        "latency",
        "drives",
        "threads",
        "expected",
        "cached-writes",
        "cached",
        "turns",
        "queue",
        "moving",
        "idle",
    ];
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids, tested, "a rule without a test of its own");
    assert_eq!(markdown().lines().count(), RULES.len() + 2);
    assert!(RULES.iter().all(|rule| rule.panels[0] != rule.panels[1]));
}

proptest! {
    #[test]
    fn shares_exclude_each_other_and_add_up(parts in prop::array::uniform8(0.0f64..100.0)) {
        let [user, nice, system, idle, iowait, irq, softirq, steal] = parts;
        let total = parts.iter().sum::<f64>().max(1e-9);
        let share = |value: f64| 100.0 * value / total;
        let shares = CpuShares {
            usr: share(user + nice), nice: share(nice), sys: share(system + irq + softirq), irq: share(irq + softirq),
            softirq: share(softirq), idl: share(idle), wai: share(iowait), stl: share(steal),
            guest: share(user / 2.0 + nice / 3.0),
        };
        let parts = Split::from(shares).parts();
        prop_assert!(parts.iter().all(|part| *part >= -1e-6), "{parts:?}");
        prop_assert!((parts.iter().sum::<f64>() - 100.0).abs() < 1e-6 || total < 1e-6, "{parts:?}");
    }

    #[test]
    fn any_rates_have_a_sentence(read in 0.0f64..1e12, depth in 0.0f64..1e4, usr in 0.0f64..100.0, mean in 0.0f64..100.0) {
        let mut scene = Scene::reading().threads(&[('D', "fio", "read", "io_schedule", mean)]);
        let shares = CpuShares { usr, idl: 100.0 - usr, ..CpuShares::default() };
        scene = scene.all(shares).cpu(1, shares);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.read_bytes, disk.queue_depth) = (read, depth);
        let sentence = scene.sentence();
        prop_assert!(!sentence.text.is_empty() && !sentence.text.contains("NaN") && !sentence.text.contains("inf"));
    }
}

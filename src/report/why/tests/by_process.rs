//! Several processes of one name.

use super::*;

/// As a reader of one block after the other beside one of the same name with `rate_iops`.
#[test]
fn of_two_processes_of_one_name_the_one_that_reads_decides() {
    let threads = [
        ('D', "fio", "pread64", "__iomap_dio_rw", 0.8),
        ('R', "fio", "", "", 0.25),
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 0.95),
    ];
    let mut scene = Scene::reading().threads(&threads);
    scene = scene.process("fio", 564e6, 564e6, 0.23).process("fio", 1.23e6, 1.23e6, 0.01);
    scene.activity.processes.as_mut().unwrap().iter_mut().for_each(|one| one.delayed = Some(0.02));
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { reads: 8900.0, read_bytes: 565e6, queue_depth: 0.85, ..DiskRates::default() };
    (disk.utilisation, disk.read_await_ms) = (85.0, Some(0.095));
    let seen = scene.activity.threads.as_mut().unwrap();
    seen.with_io = Some(vec![seen.kinds[0].clone(), (seen.kinds[1].0.clone(), 0.2)]);
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let limit = format!("the latency of {}, 95.0 us, is the limit", name.as_str());
    let one = "one I/O in flight at a time (queue depth 0.8)";
    scene.says("latency", &format!("fio has {one}: {limit}"));
    // Two that read alike have one each.
    scene.activity.processes.as_mut().unwrap()[1].read_bytes = Some(560e6);
    scene.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 1.4);
    let each = "2 processes of fio have one I/O in flight each (queue depth 1.4)";
    scene.says("latency", &format!("{each}: {limit}"));
}

/// As fio with two jobs of buffered random reads: its parent sleeps all the time, the jobs wait for pages.
#[test]
fn a_parent_that_sleeps_while_its_jobs_wait_for_pages_is_no_limit() {
    let scene = |jobs: f64, utilisation: f64| {
        let waits = ('D', "fio", "pread64", "folio_wait_bit_common", 0.9 * jobs);
        let sleeps = ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 1.0);
        let mut scene = Scene::reading().threads(&[sleeps, waits, ('R', "fio", "", "", 0.1 * jobs)]);
        for moved in [20e6, 20e6, 0.0] {
            scene = scene.process("fio", moved, moved, 0.01);
        }
        let processes = scene.activity.processes.as_mut().unwrap();
        for one in processes {
            one.delayed = Some(0.01);
        }
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { reads: 9700.0, read_bytes: 40e6, ..DiskRates::default() };
        (disk.utilisation, disk.queue_depth) = (utilisation, utilisation / 90.0);
        scene
    };
    // The first looks have the jobs for a part of their time.
    for jobs in [0.6, 1.0, 1.2] {
        let sentence = scene(jobs, 81.0).sentence();
        assert_ne!(sentence.rule, "own-waits", "{jobs}: {}", sentence.text);
        assert_ne!(held(&scene(jobs, 81.0), "own-waits"), Some("own-waits"), "{jobs}");
    }
    // Its jobs began at the end of a look, of which the parent is known.
    let mut first = scene(0.3, 30.0);
    let threads = first.activity.threads.as_mut().unwrap();
    threads.with_io = Some(threads.kinds.clone());
    assert_ne!(first.sentence().rule, "own-waits", "{}", first.sentence().text);
}

/// As fio with `rw=randwrite direct=1 ioengine=psync` and two or four jobs.
#[test]
fn several_processes_with_one_write_each_are_limited_by_latency() {
    let writers = |number: u16, wchan: &str| {
        let jobs = f64::from(number);
        let threads = [('R', "fio", "", "", 0.7 * jobs), ('D', "fio", "pwrite64", wchan, 0.3 * jobs)];
        let mut scene = Scene::reading().threads(&threads);
        for _ in 0..number {
            scene = scene.process("fio", 0.0, 0.0, 0.14);
        }
        for process in scene.activity.processes.as_mut().unwrap() {
            (process.written_bytes, process.delayed) = (Some(39e6), Some(0.08));
        }
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 9500.0 * jobs, written_bytes: 39e6 * jobs, ..DiskRates::default() };
        (disk.queue_depth, disk.utilisation, disk.write_await_ms) = (0.75 * jobs, 80.0, Some(0.077));
        scene
    };
    let name = writers(2, "").rates.disks.keys().next().unwrap().clone();
    let limit = format!("the latency of {}, 77.0 us, is the limit", name.as_str());
    for (jobs, depth) in [(2, 1.5), (4, 3.0)] {
        let words =
            format!("{jobs} processes of fio have one I/O in flight each (queue depth {depth:.1}): {limit}");
        writers(jobs, "__iomap_dio_rw").says("latency", &words);
    }
    // Their writes cost both CPUs much.
    let mut busy = writers(2, "__iomap_dio_rw");
    for process in busy.activity.processes.as_mut().unwrap() {
        (process.cpus, process.delayed) = (0.37, Some(0.19));
    }
    assert_eq!(busy.sentence().rule, "latency", "{:?}", busy.sentence());
    busy.activity.processes.as_mut().unwrap().iter_mut().for_each(|process| process.cpus = 0.6);
    assert_ne!(busy.sentence().rule, "latency", "{:?}", busy.sentence());
    for wchan in ["balance_dirty_pages", "rq_qos_wait", "folio_wait_bit_common"] {
        let text = writers(2, wchan).sentence().text;
        assert!(!text.contains("one I/O in flight each"), "buffered: {text}");
    }
}

/// As `dd if=/dev/zero` to a file beside a program that writes to a drive.
#[test]
fn a_busy_thread_is_named_with_its_own_rate() {
    let scene = |written: f64, called: f64| {
        let mut scene = Scene::reading().threads(&[('R', "dd", "write", "", 0.98)]);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 190.0, written_bytes: 96.5e6, queue_depth: 0.3, ..DiskRates::default() };
        let mut scene = scene.process("dd", 0.0, 0.0, 0.97);
        let dd = &mut scene.activity.processes.as_mut().unwrap()[0];
        (dd.written_bytes, dd.called_write) = (Some(written), Some(called));
        scene
    };
    let dd = |rate: &str| format!("dd keeps one CPU busy for {rate}: one thread is the limit");
    scene(398e6, 398e6).says("threads", &dd("398 MB/s"));
    scene(90e6, 900e6).says("threads", &dd("900 MB/s"));
}

/// As `dd if=/dev/zero conv=notrunc` over a file whose pages are dirty: they are not counted as written again.
#[test]
fn calls_that_write_as_much_as_they_read_are_both_named() {
    let scene = |cpus: f64, write: f64| {
        let mut scene = Scene::idle().threads(&[('R', "dd", "", "", cpus)]).process("dd", 0.0, 3.96e9, cpus);
        scene.activity.processes.as_mut().unwrap()[0].called_write = Some(write);
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk = DiskRates { reads: 90.0, read_bytes: 11.6e6, ..DiskRates::default() };
        scene.rates.disks.insert(name, disk);
        scene
    };
    let both = "its read and write calls move 3.96 GB/s each, the drives read 11.6 MB/s and write nothing";
    scene(0.98, 3.96e9).says("cached", &format!("dd keeps one CPU busy: one thread is the limit; {both}"));
    let some = scene(0.5, 3.9e9).sentence().text;
    assert!(some.starts_with("dd's read and write calls move 3.96 GB/s each, the drives read"), "{some}");
    assert!(scene(0.98, 1e9).sentence().text.contains("its read calls return"), "it writes less");
}

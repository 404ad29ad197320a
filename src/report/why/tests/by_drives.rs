//! Figures of drives alone: short processes, and devices that memory serves.

use super::*;
use crate::{
    counters::{PressureShares, SideRates},
    machine::{Drive, DriveKind},
};

/// As `while :; do dd of=f bs=4k count=64 oflag=direct; done`, with so many I/Os in flight, and the time in which some task waits for one.
fn short_writers(depth: f64, io_some: f64) -> Scene {
    let mut scene = Scene::idle().threads(&[('S', "bash", "wait4", "do_wait", 1.0)]);
    scene = scene.process("dd", 0.0, 0.0, 0.2).process("dd", 0.0, 0.0, 0.003);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].has_ended, processes[0].written_bytes) = (true, Some(36e6));
    (processes[1].pid, processes[1].written_bytes) = (4711, Some(9e4));
    let name = scene.machine.hardware_drives().next().unwrap().name.clone();
    let disk = DiskRates { writes: 9000.0, written_bytes: 37e6, queue_depth: depth, ..DiskRates::default() };
    scene.rates.disks.insert(name, DiskRates { write_await_ms: Some(0.06), utilisation: 45.0, ..disk });
    scene.rates.pressure = Some(PressureShares { io_some, ..PressureShares::default() });
    scene
}

#[test]
fn short_writers_in_a_loop_are_limited_by_the_latency_of_their_drive() {
    let name = short_writers(0.6, 55.0).rates.disks.keys().next().unwrap().clone();
    let limit = format!("the latency of {}, 60.0 us, is the limit", name.as_str());
    let one = "have one I/O in flight at a time (queue depth 0.6)";
    short_writers(0.6, 55.0).says("latency", &format!("Short runs of dd {one}: {limit}"));
    let mut flushed = short_writers(0.6, 55.0);
    flushed.rates.disks.values_mut().for_each(|disk| {
        disk.flushes = SideRates { ios: 3000.0, await_ms: Some(0.06), ..SideRates::default() };
    });
    let flushes = "with 3000 flushes/s (fsync, O_SYNC or O_DSYNC)";
    flushed.says("latency", &format!("Short runs of dd {one}, {flushes}: {limit}"));
    let mut unnamed = short_writers(0.6, 55.0);
    unnamed.activity.processes.as_mut().unwrap().truncate(1);
    unnamed.activity.processes.as_mut().unwrap()[0].command = Label::new("a child of bash");
    unnamed.says("latency", &format!("Short processes that bash starts {one}: {limit}"));
    // Processes begin and end for most of the time.
    let few = short_writers(0.28, 25.0).sentence();
    let words =
        format!("Drives write 37.0 MB/s, most of it for short runs of dd; {} has 0.3 I/Os", name.as_str());
    assert!(few.rule == "moving" && few.text.starts_with(&words), "{few:?}");
    assert!(few.text.contains("in flight, 60.0 us each; CPU"), "{few:?}");
    // Of buffered writes the drive has some in flight while no task waits for them.
    assert_eq!(short_writers(0.6, 4.0).sentence().rule, "moving");
    assert_eq!(held(&short_writers(0.35, 20.0), "latency"), Some("latency"));
    let mut lives = short_writers(0.6, 55.0);
    lives.activity.processes.as_mut().unwrap()[0].has_ended = false;
    assert!(!lives.sentence().text.contains("hort runs"), "{:?}", lives.sentence());
}

#[test]
fn a_loop_device_that_memory_serves_is_no_drive() {
    let scene = |devices: &[(&str, f64, f64)]| {
        let mut scene = Scene::idle();
        let hardware = scene.machine.hardware_drives().next().unwrap().clone();
        for (name, read_bytes, written_bytes) in devices {
            let (name, kind) = (DriveName::new(name), DriveKind::Loop);
            scene.machine.drives.push(Drive { name: name.clone(), kind, ..hardware.clone() });
            let disk = DiskRates { reads: 900.0, read_bytes: *read_bytes, ..DiskRates::default() };
            scene.rates.disks.insert(name, DiskRates { written_bytes: *written_bytes, ..disk });
        }
        scene
    };
    let text = |devices: &[(&str, f64, f64)]| {
        let text = scene(devices).sentence().text;
        text.split(';').next().unwrap_or_default().to_owned()
    };
    assert_eq!(text(&[("loop0", 153e6, 0.0)]), "loop0 reads 153 MB/s from memory (page cache)");
    assert_eq!(text(&[("loop0", 0.0, 20e6)]), "loop0 writes 20.0 MB/s to memory (page cache)");
    let both = [("loop0", 80e6, 5e6), ("loop1", 90e6, 6e6)];
    assert_eq!(text(&both), "loop1 and loop0 read 170 MB/s and write 11.0 MB/s in memory (page cache)");
}

/// As a loop of `dd bs=1M count=400` over a file that is dropped from the page cache each time.
#[test]
fn short_writers_that_keep_a_drive_busy_are_limited_by_it() {
    let busy = |depth: f64, io_some: f64, utilisation: f64| {
        let mut scene = short_writers(depth, io_some);
        scene.rates.disks.values_mut().for_each(|disk| disk.utilisation = utilisation);
        scene
    };
    let name = busy(13.5, 80.0, 97.0).rates.disks.keys().next().unwrap().clone();
    let keep = |depth: &str| format!("Short runs of dd keep {depth} I/Os in flight on {}", name.as_str());
    let limit = "the drives or their links are the limit";
    busy(13.5, 80.0, 97.0).says("drives", &format!("{}, 60.0 us each: {limit}", keep("13.5")));
    // The kernel splits a direct call of a MiB.
    let limit = "the drives, their links or the latency of a call are the limit";
    busy(1.6, 80.0, 97.0).says("drives", &format!("{}, 60.0 us each: {limit}", keep("1.6")));
    assert_eq!(busy(13.5, 20.0, 97.0).sentence().rule, "moving", "nothing waits for them");
    assert_eq!(held(&busy(13.5, 40.0, 80.0), "drives"), Some("drives"));
    assert_eq!(busy(13.5, 80.0, 80.0).sentence().rule, "turns", "the drive has pauses");
}

#[test]
fn short_writers_that_run_and_wait_by_turns_are_limited_by_their_number() {
    let turns = |io_some: f64, cpus: f64| {
        let mut scene = short_writers(14.7, io_some);
        scene.rates.disks.values_mut().for_each(|disk| disk.utilisation = 80.0);
        scene.activity.processes.as_mut().unwrap()[0].cpus = cpus;
        scene
    };
    let words = "Short runs of dd wait for I/O 51 % of the time and run 35 %: they run one at a time, which is the limit";
    turns(51.2, 0.35).says("turns", words);
    assert_eq!(turns(51.2, 0.1).sentence().rule, "moving", "they do neither for a third of the time");
    assert_eq!(turns(90.0, 0.35).sentence().rule, "moving", "others wait too");
    assert_eq!(held(&turns(45.0, 0.28), "turns"), Some("turns"));
}

#[test]
fn short_readers_that_wait_for_pages_name_the_page_cache() {
    let scene = |wchan: &str, io_some: f64, depth: f64| {
        let threads = [('R', "dd", "", "", 0.25), ('D', "dd", "read", wchan, 0.19)];
        let mut scene = Scene::reading().threads(&threads).process("dd", 1.2e9, 1.2e9, 0.24);
        scene.activity.processes.as_mut().unwrap()[0].has_ended = true;
        scene.rates.pressure = Some(PressureShares { io_some, ..PressureShares::default() });
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.queue_depth, disk.utilisation) = (depth, 80.0);
        scene
    };
    let waits = "Short runs of dd wait for pages of the page cache, some task waits for I/O 62 % of the time";
    let limit = "buffered reads are the limit, they wait for the page cache to fill";
    let pages = |io_some, depth| scene("folio_wait_bit_common", io_some, depth);
    pages(61.6, 3.1).says("page-cache", &format!("{waits}: {limit}"));
    // The pressure panel beside it has the same figure, whatever the kernel's estimate of iowait.
    let iowait = pages(32.7, 3.1).all(CpuShares { wai: 15.0, idl: 85.0, ..CpuShares::default() });
    iowait.says("page-cache", &format!("{}: {limit}", waits.replace("62", "33")));
    assert_ne!(scene("__iomap_dio_rw", 61.6, 3.1).sentence().rule, "page-cache", "direct");
    assert_ne!(pages(20.0, 3.1).sentence().rule, "page-cache", "hardly anything waits");
    assert_ne!(pages(61.6, 1.0).sentence().rule, "page-cache", "one I/O in flight");
    let mut unseen = pages(61.6, 3.1);
    unseen.activity.threads.as_mut().unwrap().kinds.truncate(1);
    assert_eq!((unseen.sentence().rule, held(&unseen, "page-cache")), ("turns", Some("page-cache")));
}

/// As `while :; do dd if=/dev/zero of=f bs=64k count=1 conv=fsync; done`: a profile has most time in starting dd, and a sixth in `fsync`.
#[test]
fn short_writers_that_sync_for_little_of_the_time_are_limited_by_their_starts() {
    let scene = |cpus: f64, utilisation: f64, flushes: f64| {
        let threads = [('R', "dd", "", "", 0.3), ('S', "bash", "wait4", "do_wait", 4.7)];
        let mut scene = Scene::idle().threads(&threads);
        scene = scene.process("dd", 0.0, 33e6, cpus).process("bash", 0.0, 0.0, 0.08);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].has_ended, processes[0].written_bytes) = (true, Some(30.8e6));
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let flushes = SideRates { ios: flushes, await_ms: Some(0.02), ..SideRates::default() };
        let disk =
            DiskRates { writes: 1708.0, written_bytes: 33e6, queue_depth: 0.11, ..DiskRates::default() };
        let disk = DiskRates { write_await_ms: Some(0.036), utilisation, flushes, ..disk };
        scene.rates.disks.insert(name, disk);
        scene.rates.pressure = Some(PressureShares { io_some: 6.3, ..PressureShares::default() });
        let all = CpuShares { usr: 34.0, sys: 46.0, idl: 16.0, wai: 4.0, ..CpuShares::default() };
        scene.all(all)
    };
    let name = scene(0.45, 10.0, 560.0).rates.disks.keys().next().unwrap().clone();
    let name = name.as_str();
    let words = |runs: u32, busy: u32, limit: &str| {
        let flushes = "with 560 flushes/s (fsync, O_SYNC or O_DSYNC)";
        format!("Short runs of dd run {runs} % of the time, {name} is busy {busy} %, {flushes}: {limit}")
    };
    let starts = "starting programs one after the other is the limit";
    for (cpus, runs, busy) in [(0.45, 53, 10), (0.43, 51, 4), (0.50, 58, 8)] {
        scene(cpus, f64::from(busy), 560.0).says("turns", &words(runs, busy, starts));
    }
    let syncs = words(38, 60, &format!("syncs to {name} are the limit"));
    scene(0.3, 60.0, 560.0).says("turns", &syncs);
    assert_eq!(scene(0.45, 10.0, 2.0).sentence().rule, "moving", "the journal alone flushes");
    assert_eq!(held(&scene(0.3, 10.0, 100.0), "turns"), Some("turns"));
    // Some looks find the thread of a run.
    let found = [('R', "dd", "", "", 0.5), ('D', "dd", "openat", "submit_bio_wait", 0.5)];
    scene(0.45, 10.0, 560.0).threads(&found).says("turns", &words(53, 10, starts));
}

/// As `while :; do tar cf - FOLDER | cat >OUT; done` of cached files.
#[test]
fn both_ends_of_a_pipe_between_short_programs_are_named() {
    type Samples = [(char, &'static str, &'static str, &'static str, f64)];
    let scene = |cpus: f64, io_some: f64, of_cat: &Samples| {
        let threads = [('S', "bash", "wait4", "do_wait", 5.0), ('S', "tar", "write", "anon_pipe_write", 1.0)];
        let mut scene = Scene::idle().threads(&[&threads, of_cat].concat()).process("cat", 0.0, 971e6, cpus);
        let cat = &mut scene.activity.processes.as_mut().unwrap()[0];
        (cat.has_ended, cat.written_bytes) = (true, Some(443.9e6));
        scene.activity.children.insert(7, vec![Label::new("tar"), Label::new("cat")]);
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk =
            DiskRates { writes: 418.0, written_bytes: 456e6, queue_depth: 3.6, ..DiskRates::default() };
        let disk = DiskRates { write_await_ms: Some(7.9), utilisation: 44.0, ..disk };
        scene.rates.disks.insert(name, disk);
        scene.rates.pressure = Some(PressureShares { io_some, ..PressureShares::default() });
        let all = CpuShares { usr: 24.0, sys: 57.0, idl: 8.0, wai: 11.0, ..CpuShares::default() };
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene.all(all)
    };
    let waits = ('S', "cat", "read", "anon_pipe_read", 0.75);
    let runs = ('R', "cat", "", "", 1.0);
    for (cpus, io_some, words) in [
        (0.75, 24.8, "0.8 CPUs busy and wait for I/O 25"),
        (1.02, 29.4, "1.0 CPUs busy and wait for I/O 29"),
        (0.83, 26.8, "0.8 CPUs busy and wait for I/O 27"),
        (1.11, 24.0, "1.1 CPUs busy and wait for I/O 24"),
    ] {
        let words = format!(
            "Short runs of cat and tar keep {words} % of the time: they run one at a time, which is the limit"
        );
        for of_cat in [&[][..], &[waits], &[runs], &[waits, runs]] {
            scene(cpus, io_some, of_cat).says("turns", &words);
        }
    }
    // It is not known which of them wrote.
    let mut either = scene(0.75, 24.8, &[]);
    either.activity.processes.as_mut().unwrap()[0].command = Label::new("a child of bash");
    assert!(either.sentence().text.starts_with("Short runs of cat and tar keep 0.8 CPUs busy"));
    let mut alone = scene(0.53, 31.6, &[]);
    alone.activity.children.clear();
    let words = "Short runs of cat wait for I/O 32 % of the time and run 53 %: they run one at a time, which is the limit";
    alone.says("turns", words);
    // Waits of other tasks are in the pressure too.
    alone.activity.processes.as_mut().unwrap()[0].cpus = 0.76;
    assert!(alone.sentence().text.contains("29 % of the time and run 71 %"), "{:?}", alone.sentence());
}

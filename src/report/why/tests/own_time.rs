//! What the program that moves most does with its own time: it waits for a CPU, sleeps, syncs.

use super::*;
use crate::counters::profile::{Place, Profile, Samples};
use crate::counters::{SideRates, profile::Hardware};

/// Two CPUs, fio that reads beside a hog, and its waits for a CPU.
pub(super) fn beside_hog(threads: &[(char, &str, &str, &str, f64)], cpus: f64, delayed: f64) -> Scene {
    let all = CpuShares { usr: 90.0, sys: 9.0, idl: 1.0, ..CpuShares::default() };
    let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all).threads(threads);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    scene.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 0.3);
    let mut scene = scene.process("fio", 1.2e9, 1.2e9, cpus).process("hog", 0.0, 0.0, 1.6);
    scene.activity.processes.as_mut().unwrap()[0].delayed = Some(delayed);
    scene
}

/// As in a look at random reads beside a compiler: a sample finds fio running where it waits for a CPU.
pub(super) const READS: [(char, &str, &str, &str, f64); 3] = [
    ('R', "fio", "", "", 0.6),
    ('D', "fio", "pread64", "folio_wait_bit_common", 0.4),
    ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 1.0),
];

#[test]
fn a_thread_that_waits_for_a_cpu_does_not_wait_for_io() {
    beside_hog(&READS, 0.3, 0.5).says(
        "cpu-waits",
        "fio waits for a CPU 50 % of the time: both CPUs are the limit, most of the time busy with hog",
    );
    assert_eq!(beside_hog(&READS, 0.3, 0.2).sentence().rule, "page-cache", "it waits longer for I/O");
    assert_eq!(held(&beside_hog(&READS, 0.3, 0.34), "cpu-waits"), Some("cpu-waits"));
}

#[test]
fn no_affinity_is_named_for_waits_on_cpus_that_are_idle_on_average() {
    let with_busy = |usr: f64| {
        let shares = CpuShares { usr, idl: 100.0 - usr, ..CpuShares::default() };
        let scene = beside_hog(&READS, 0.3, 0.5).all(shares).cpu(0, shares).cpu(1, shares);
        scene.sentence().text
    };
    let waits = "fio waits for a CPU 50 % of the time";
    let hog = ", most of the time busy with hog";
    assert_eq!(with_busy(85.0), format!("{waits}: both CPUs are the limit{hog}"));
    assert_eq!(with_busy(40.0), format!("{waits}, although no CPU is always busy"));
}

/// As fio with 8 jobs of direct random I/O on 2 CPUs, half of whose time is iowait: each wait for a CPU is short.
#[test]
fn the_drive_is_the_limit_of_what_waits_longer_for_it_than_for_idle_cpus() {
    let all = CpuShares { usr: 20.0, sys: 24.0, wai: 50.0, idl: 6.0, ..CpuShares::default() };
    let reads = [('R', "fio", "", "", 3.6), ('D', "fio", "pread64", "blkdev_direct_IO", 4.4)];
    let scene = |delayed: f64| {
        let mut scene = beside_hog(&reads, 0.5, delayed).all(all).cpu(0, all).cpu(1, all);
        scene.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 4.0);
        scene
    };
    let drive = scene(3.0).rates.disks.keys().next().unwrap().clone();
    let waits =
        |cpu, io| format!("8 threads of fio wait for a CPU {cpu} % and for {drive} {io} % of the time");
    let said = |delayed: f64, said: &str| {
        let scene = scene(delayed);
        look(&Inputs { said, ..scene.inputs() }, Some("cpu-waits")).shown.unwrap().text
    };
    let limit = format!(": {drive} is the limit");
    assert_eq!(said(3.0, ""), format!("{}{limit}", waits(38, 56)));
    assert_eq!(said(3.7, ""), waits(46, 48), "neither of them alone");
    assert_eq!(said(3.7, &limit), format!("{}{limit}", waits(46, 48)), "the words stay");
}

#[test]
fn equal_waits_for_a_cpu_and_for_io_are_both_named() {
    let reads = [('R', "fio", "", "", 0.6), ('D', "fio", "io_getevents", "read_events", 0.4)];
    let scene = |delayed| beside_hog(&reads, 0.21, delayed);
    let name = scene(0.39).rates.disks.keys().next().unwrap().clone();
    let hog = "both CPUs are busy, most of the time with hog";
    scene(0.39).says(
        "cpu-waits",
        &format!("fio waits for a CPU 39 % and for {} 40 % of the time; {hog}", name.as_str()),
    );
    assert_ne!(scene(0.33).sentence().rule, "cpu-waits", "it waits 46 % for I/O");
    assert!(scene(0.46).sentence().text.starts_with("fio waits for a CPU 46 % of the time: both CPUs"));
    // The words that are shown stay where the waits change a little.
    for (now, shown) in [(0.43, 0.39), (0.43, 0.46), (0.46, 0.43), (0.41, 0.46)] {
        let said = scene(shown).sentence().text;
        let text =
            look(&Inputs { said: &said, ..scene(now).inputs() }, Some("cpu-waits")).shown.unwrap().text;
        assert_eq!(text.contains(" % and for "), said.contains(" % and for "), "{now} {shown}: {text}");
    }
    let few = [('R', "fio", "", "", 0.4), ('D', "fio", "io_getevents", "read_events", 0.1)];
    let text = beside_hog(&few, 0.1, 0.4).sentence().text;
    assert!(
        text.starts_with("fio waits for a CPU 40 % of the time: both"),
        "of the time of the look: {text}"
    );
}

#[test]
fn many_threads_that_wait_for_a_cpu_are_counted() {
    let mut scene = beside_hog(&[('R', "fio", "", "", 8.0)], 1.9, 6.0);
    scene.activity.processes.as_mut().unwrap().remove(1);
    scene.says("cpu-waits", "8 threads of fio wait for a CPU 75 % of the time: both CPUs are the limit");
}

#[test]
fn a_program_that_limits_its_own_rate_is_not_limited_by_others() {
    let sleeps = [
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 1.8),
        ('S', "fio", "futex", "futex_wait", 3.0),
        ('R', "fio", "", "", 0.2),
    ];
    let limit = "most of the time: neither drives nor CPUs are its limit";
    beside_hog(&sleeps, 0.05, 0.05)
        .says("own-waits", &format!("fio sleeps by itself (clock_nanosleep) {limit}"));
    let polls = [('S', "wget", "ppoll", "poll_schedule_timeout", 0.9), ('R', "wget", "", "", 0.1)];
    let mut scene = beside_hog(&polls, 0.05, 0.05);
    scene.activity.processes.as_mut().unwrap()[0].command = Label::new("wget");
    scene.says("own-waits", &format!("wget waits for events of files or sockets (ppoll) {limit}"));
    let mut deep = beside_hog(&sleeps, 0.05, 0.05);
    deep.rates.disks.values_mut().for_each(|disk| (disk.queue_depth, disk.utilisation) = (8.0, 95.0));
    assert_ne!(deep.sentence().rule, "own-waits", "a drive is busy");
}

/// As fio with `rate_iops` and 8 I/Os in flight: its parent and a helper sleep all the time, its job in between.
#[test]
fn a_program_that_sleeps_as_long_as_it_waits_for_io_limits_itself() {
    let scene = |slept: f64, waiting: f64| {
        let threads = [
            ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 1.0 + slept),
            ('S', "fio", "pselect6", "poll_schedule_timeout", 1.0),
            ('S', "fio", "io_getevents", "read_events", waiting),
            ('R', "fio", "", "", 1.0 - slept - waiting),
        ];
        let mut scene = Scene::reading().threads(&threads).process("fio", 8e6, 8e6, 0.11);
        scene = scene.process("fio", 0.0, 0.0, 0.01);
        scene.activity.processes.as_mut().unwrap()[0].delayed = Some(0.02);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { reads: 2000.0, read_bytes: 8e6, queue_depth: 0.6, ..DiskRates::default() };
        disk.utilisation = 60.0;
        scene
    };
    scene(0.27, 0.14).says(
        "own-waits",
        "fio sleeps by itself (clock_nanosleep) 27 % of the time: neither drives nor CPUs are its limit",
    );
    assert_eq!(scene(0.0, 0.9).sentence().rule, "latency", "the parent sleeps, its job never");
    // A rate that a drive nearly reaches: it waits longer for that, and has none in flight in between.
    scene(0.1, 0.85)
        .says("own-waits", "fio sleeps by itself (clock_nanosleep) 26 % of the time: it limits its own rate");
    let mut busy = scene(0.1, 0.85);
    busy.rates.disks.values_mut().for_each(|disk| disk.utilisation = 85.0);
    assert_eq!(busy.sentence().rule, "latency");
    assert_eq!(held(&scene(0.25, 0.3), "own-waits"), Some("own-waits"));
    let mut short = scene(0.06, 0.2);
    short.rates.disks.values_mut().for_each(|disk| disk.utilisation = 25.0);
    let text = short.sentence().text;
    assert!(text.contains("(clock_nanosleep) 61 % of the time"), "samples find it running: {text}");
    let mut two = scene(0.3, 0.15).process("fio", 8e6, 8e6, 0.11);
    two.activity.threads.as_mut().unwrap().kinds[2].1 += 1.0;
    assert_ne!(two.sentence().rule, "own-waits", "one of two jobs sleeps 30 % of the time");
}

/// A profile with this share of copying, percent.
fn copying(share: u64) -> Profile {
    let function =
        |name: &str| Place::Kernel { function: Some(Label::new(name)), module: None, by_idle_task: false };
    let hits = [(function("_copy_to_iter"), share), (function("vfs_read"), 100 - share)];
    Profile::of([&Samples { hits: hits.into(), ..Samples::default() }])
}

#[test]
fn one_thread_that_runs_or_waits_for_a_cpu_is_the_limit() {
    let all = CpuShares { usr: 9.0, sys: 90.0, idl: 1.0, ..CpuShares::default() };
    let dd = |cpus: f64, delayed: f64, waiting: f64| {
        let threads =
            [('R', "dd", "read", "", 1.0 - waiting), ('D', "dd", "read", "folio_wait_bit_common", waiting)];
        let mut scene = Scene::reading().all(all).threads(&threads).process("dd", 1.2e9, 1.2e9, cpus);
        scene.activity.processes.as_mut().unwrap()[0].delayed = Some(delayed);
        scene
    };
    for cpus in [0.8, 0.85] {
        let text = dd(cpus, 0.97 - cpus, 0.02).sentence().text;
        let words = format!(
            "dd runs {:.0} % and waits for a CPU {:.0} % of the time",
            100.0 * cpus,
            97.0 - 100.0 * cpus
        );
        let through = ", which reads through the page cache,";
        assert_eq!(text, format!("{words}: one thread{through} is the limit"));
        // Without a wait seen, what CPUs do tells it.
        let unseen = dd(cpus, 0.97 - cpus, 0.0);
        assert_eq!(unseen.sentence().text, format!("{words}: one thread is the limit"));
        for (copied, through) in [(86, through), (20, "")] {
            let mut profiled = dd(cpus, 0.97 - cpus, 0.0);
            profiled.activity.profile = Some(Ok(copying(copied)));
            assert_eq!(profiled.sentence().text, format!("{words}: one thread{through} is the limit"));
        }
    }
    assert_ne!(dd(0.5, 0.15, 0.35).sentence().rule, "threads", "it waits for I/O");
}

#[test]
fn other_programs_are_no_limit_of_what_never_waits_for_a_cpu() {
    let runs = [('R', "fio", "", "", 0.8), ('S', "fio", "read", "pipe_read", 0.4)];
    assert_eq!(beside_hog(&runs, 0.6, 0.2).sentence().rule, "other-programs");
    assert_eq!(beside_hog(&runs, 0.75, 0.02).sentence().rule, "moving");
}

#[test]
fn the_sentence_is_about_the_largest_load() {
    let waits = [
        ('D', "fio", "io_getevents", "read_events", 1.0),
        ('D', "dd", "write", "balance_dirty_pages", 2.0),
        ('D', "tar", "read", "io_schedule", 0.9),
    ];
    let scene = || Scene::reading().threads(&waits);
    // No program moves more than half, but dd moves little.
    let writer = |mut scene: Scene| {
        scene = scene.process("dd", 0.0, 0.0, 0.1);
        scene.activity.processes.as_mut().unwrap().last_mut().unwrap().written_bytes = Some(5e6);
        scene
    };
    let three = writer(scene().process("fio", 0.6e9, 0.6e9, 0.2).process("tar", 0.598e9, 0.598e9, 0.2));
    assert_eq!(three.sentence().rule, "drives", "{:?}", three.sentence());
    writer(scene().process("fio", 1.2e9, 1.2e9, 0.2))
        .says("drives", "fio waits for completions (read_events): the drives or their links are the limit");
    // The large reader is another user's.
    let hidden = |cpus| {
        let mut scene = writer(scene().process("fio", 0.0, 0.0, cpus));
        let fio = scene.activity.processes.as_mut().unwrap().first_mut().unwrap();
        (fio.read_bytes, fio.written_bytes, fio.called_read, fio.called_write) = (None, None, None, None);
        scene.activity.hidden = 1;
        scene
    };
    let of = |cpus| Facts::new(&hidden(cpus).inputs()).mover;
    assert_eq!((of(0.2), of(0.0).as_deref()), (None, Some("dd")), "what does not run moves nothing");
    assert_ne!(hidden(0.2).sentence().rule, "writeback", "{:?}", hidden(0.2).sentence());
    let test = [('S', "read *", "io_uring_enter", "io_cqring_wait", 4.0), waits[1]];
    let test = writer(Scene::reading().threads(&test).process("iodyno", 1.2e9, 1.2e9, 0.4)).test(4, false);
    assert_eq!(test.sentence().rule, "drives", "a test beside it");
}

#[test]
fn a_worker_of_a_loop_device_is_no_load_of_its_own() {
    let waits = [('D', "vdbench", "io_getevents", "read_events", 1.0)];
    for worker in ["kworker/u9:2-loop0", "kworker/u8:0+loop12", "loop0"] {
        let scene = Scene::reading().threads(&waits);
        let mut scene = scene.process("vdbench", 1.2e9, 1.2e9, 0.2).process(worker, 1.25e9, 0.0, 0.5);
        let words = "vdbench waits for completions (read_events)";
        scene.says("drives", &format!("{words}: the drives or their links are the limit"));
        // Two programs of which none moves more than half: the worker does not become the largest load.
        scene.activity.processes.as_mut().unwrap()[0].read_bytes = Some(0.6e9);
        let scene = scene.process("cat", 0.6e9, 0.6e9, 0.2);
        let text = scene.sentence().text;
        assert!(!text.contains("loop"), "{text}");
        assert_eq!(Facts::new(&scene.inputs()).mover, None, "{worker}");
    }
    let alone = Scene::reading().threads(&waits).process("loopback-7", 1.2e9, 1.2e9, 0.2);
    assert_eq!(Facts::new(&alone.inputs()).mover.as_deref(), Some("loopback-*"));
}

#[test]
fn writes_that_wait_for_flushes_are_named() {
    let writes = |wchan: &str| {
        let threads = [('D', "dd", "write", wchan, 0.6), ('R', "dd", "write", "", 0.4)];
        let full = CpuShares { sys: 95.0, idl: 5.0, ..CpuShares::default() };
        let mut scene = Scene::reading().threads(&threads).cpu(1, full).process("dd", 0.0, 0.0, 0.3);
        scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(23e6);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 3274.0, written_bytes: 23e6, queue_depth: 0.8, ..DiskRates::default() };
        disk.flushes = SideRates { ios: 830.0, await_ms: Some(0.4), ..SideRates::default() };
        scene
    };
    let limit = "syncs are the limit (fsync, O_SYNC or O_DSYNC)";
    let flushes = "with 830 flushes/s, 400 us each";
    let words = |wchan: &str| format!("dd waits until data is on the drive ({wchan}) {flushes}: {limit}");
    writes("submit_bio_wait").says("flushes", &words("submit_bio_wait"));
    assert_ne!(writes("__iomap_dio_rw").sentence().rule, "flushes", "a direct write ends before them");
    // Drives without a volatile cache have no flushes.
    let mut commits = writes("jbd2_log_wait_commit");
    commits.rates.disks.values_mut().next().unwrap().flushes = SideRates::default();
    commits.says("flushes", &format!("dd waits until data is on the drive (jbd2_log_wait_commit): {limit}"));
    // Samples find it running, its CPU time says that it hardly does.
    let runs = commits.threads(&[('R', "dd", "write", "", 1.0)]);
    assert_ne!(runs.sentence().rule, "threads", "{:?}", runs.sentence());
}

#[test]
fn buffered_reads_name_the_page_cache() {
    let waiting = [('S', "read *", "io_uring_enter", "io_cqring_wait", 4.0)];
    let mut scene = Scene::reading().threads(&waiting).test(4, false);
    scene.test.as_mut().unwrap().is_buffered = true;
    scene.says(
        "drives",
        "4 of 4 workers wait for completions (io_cqring_wait) of buffered reads, which fill the page cache: the drives or their links are the limit",
    );
    let turns = [('D', "fio", "pread64", "folio_wait_bit_common", 0.4), ('R', "fio", "", "", 0.6)];
    Scene::reading().threads(&turns).process("fio", 1.2e9, 1.2e9, 0.6).says(
        "turns",
        "fio waits for pages of the page cache 40 % of the time and runs the rest: its one thread is the limit",
    );
    // Without readahead each page is one I/O, which the drive's latency limits.
    let mut faults = Scene::reading().threads(&turns).process("fio", 80e6, 80e6, 0.51);
    let name = faults.rates.disks.keys().next().unwrap().clone();
    let disk = faults.rates.disks.values_mut().next().unwrap();
    (disk.queue_depth, disk.read_bytes, disk.read_await_ms) = (0.45, 80e6, Some(0.02));
    let words = "fio waits for pages of the page cache 49 % of the time and runs the rest";
    let limit =
        format!("with one I/O in flight at a time: the latency of {}, 20.0 us, is the limit", name.as_str());
    faults.says("turns", &format!("{words}, {limit}"));
}

#[test]
fn direct_writes_with_flushes_say_so_where_the_latency_limits_them() {
    let threads = [('D', "fio", "pwrite64", "__iomap_dio_rw", 0.9), ('R', "fio", "", "", 0.1)];
    let mut scene = Scene::reading().threads(&threads).process("fio", 0.0, 0.0, 0.1);
    scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(60e6);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { writes: 15e3, written_bytes: 60e6, queue_depth: 0.9, ..DiskRates::default() };
    (disk.utilisation, disk.write_await_ms, disk.flushes.ios) = (90.0, Some(0.026), 15e3);
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let flushes = "with 15000 flushes/s (fsync, O_SYNC or O_DSYNC)";
    let words =
        format!("one I/O in flight at a time (queue depth 0.9), {flushes}: the latency of {}", name.as_str());
    scene.says("latency", &format!("fio has {words}, 26.0 us, is the limit"));
    let process = &mut scene.activity.processes.as_mut().unwrap()[0];
    (process.read_bytes, process.written_bytes) = (Some(60e6), Some(0.0));
    assert!(!scene.sentence().text.contains("flushes"), "others flush: {:?}", scene.sentence());
}

#[test]
fn few_ios_have_no_cost_of_one() {
    let hardware = Some(Ok(Hardware { cycles: 2e9, instructions: 1e9 }));
    let activity = Activity { hardware, ..Activity::default() };
    let text = |iops| lines::cycles(&activity, iops).pop().unwrap().text;
    assert!(text(200.0).ends_with("10.0 M and 5.00 M instructions per I/O"), "{}", text(200.0));
    assert!(text(1.5).ends_with("each; no figure per I/O below 100 IOPS"), "{}", text(1.5));
}

/// As a look just after fio began: its parent sleeps, its job is in half of the samples.
#[test]
fn a_program_that_has_just_begun_does_not_wait_by_itself_or_run() {
    let begun = [('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 1.5), ('R', "fio", "", "", 0.2)];
    let mut scene = beside_hog(&begun, 0.05, 0.05);
    scene.activity.processes.as_mut().unwrap()[0].delayed = None;
    assert_ne!(scene.sentence().rule, "own-waits", "nothing is known of the sample before");
    let mut reads = beside_hog(&begun, 0.05, 0.05);
    reads.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 0.6);
    assert_ne!(reads.sentence().rule, "own-waits", "a drive has its reads in flight");
    let turns = [('D', "fio", "pread64", "folio_wait_bit_common", 0.4), ('R', "fio", "", "", 0.6)];
    let scene = |cpus| Scene::reading().threads(&turns).process("fio", 1.2e9, 1.2e9, cpus).sentence().rule;
    assert_eq!(scene(0.6), "turns");
    assert_ne!(scene(0.07), "turns", "its CPU time says that it hardly runs");
}

#[test]
fn no_more_threads_wait_for_a_cpu_than_there_are() {
    let mut scene =
        beside_hog(&[('R', "fio", "", "", 1.0), ('S', "fio", "wait4", "do_wait", 1.0)], 0.06, 380.0);
    scene.activity.processes.as_mut().unwrap().remove(1);
    scene.says("cpu-waits", "2 threads of fio wait for a CPU 97 % of the time: both CPUs are the limit");
}

#[test]
fn a_thread_of_the_journal_works_for_the_program() {
    let threads = [('D', "dd", "write", "submit_bio_wait", 0.6), ('R', "dd", "write", "", 0.3)];
    let mut scene =
        Scene::reading().threads(&threads).process("dd", 0.0, 0.0, 0.3).process("jbd2/vda-8", 0.0, 0.0, 0.0);
    for process in scene.activity.processes.as_mut().unwrap() {
        process.written_bytes = Some(4.5e6);
    }
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { writes: 3000.0, written_bytes: 9e6, queue_depth: 0.6, ..DiskRates::default() };
    disk.flushes = SideRates { ios: 1154.0, await_ms: Some(0.4), ..SideRates::default() };
    assert_ne!(scene.sentence().rule, "flushes", "two programs write alike");
    let kinds = &mut scene.activity.threads.as_mut().unwrap().kinds;
    let mut journal = kinds[0].clone();
    (journal.0.command, journal.0.is_kernel) = (Label::new("jbd*/vda-*"), true);
    kinds.push(journal);
    assert_eq!(scene.sentence().rule, "flushes", "{:?}", scene.sentence());
}

#[test]
fn a_counter_of_no_instructions_is_not_shown() {
    let hardware = Some(Ok(Hardware { cycles: 4e9, instructions: 1e4 }));
    let text = lines::cycles(&Activity { hardware, ..Activity::default() }, 1e4).pop().unwrap().text;
    assert_eq!(text, "4.00 G/s; instructions are not counted here");
}

#[test]
fn short_runs_of_a_program_are_named_with_their_flushes() {
    let mut scene = Scene::reading().threads(&[]).process("dd", 0.0, 0.0, 0.1);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { writes: 140.0, written_bytes: 46e6, queue_depth: 0.1, ..DiskRates::default() };
    disk.flushes = SideRates { ios: 45.0, await_ms: Some(0.6), ..SideRates::default() };
    let process = &mut scene.activity.processes.as_mut().unwrap()[0];
    (process.written_bytes, process.has_ended) = (Some(45e6), true);
    let text = scene.sentence().text;
    let words = "Drives write 46.0 MB/s, most of it for short runs of dd, with 45 flushes/s (fsync, O_SYNC or O_DSYNC)";
    assert!(text.starts_with(words), "{text}");
    scene.activity.processes.as_mut().unwrap()[0].has_ended = false;
    let text = scene.sentence().text;
    assert!(!text.contains("short runs"), "it lives: {text}");
}

/// As in the first looks at a job of fio with 8 I/Os in flight: its parent and a helper sleep, the job was seen in half of the passes.
#[test]
fn a_parent_that_waits_for_its_job_has_no_vote() {
    let threads = [
        ('S', "fio", "pselect6", "poll_schedule_timeout", 1.0),
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 0.88),
        ('S', "fio", "io_getevents", "read_events", 0.5),
        ('R', "fio", "", "", 0.12),
    ];
    let scene = |with_io: Option<usize>| {
        let mut scene = Scene::reading().threads(&threads).process("fio", 18.3e6, 0.0, 0.005);
        let mut scene = {
            scene.activity.processes.as_mut().unwrap()[0].delayed = Some(0.0);
            scene.process("fio", 0.0, 0.0, 0.065)
        };
        scene.activity.processes.as_mut().unwrap()[1].delayed = Some(0.03);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { reads: 274.0, read_bytes: 18e6, queue_depth: 0.3, ..DiskRates::default() };
        let seen = scene.activity.threads.as_mut().unwrap();
        seen.with_io = with_io.map(|with_io| seen.kinds[2..2 + with_io].to_vec());
        scene
    };
    assert_eq!(scene(None).sentence().rule, "own-waits", "it is not known which of them do I/O");
    assert_ne!(scene(Some(0)).sentence().rule, "own-waits", "the job was not seen yet");
    for with_io in [1, 2] {
        let sentence = scene(Some(with_io)).sentence();
        assert_eq!(sentence.rule, "latency", "{sentence:?}");
    }
}

/// As in the first look at it: the waits of its parent for a CPU are known, and it moved hardly anything.
#[test]
fn waits_for_a_cpu_of_a_parent_are_not_those_of_its_job() {
    let threads = [
        ('S', "fio", "pselect6", "poll_schedule_timeout", 1.0),
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 0.75),
        ('R', "fio", "", "", 0.25),
    ];
    let mut scene = Scene::reading().threads(&threads).process("fio", 16.65e6, 0.0, 0.0);
    scene = scene.process("fio", 4e3, 4e3, 0.12);
    scene.activity.processes.as_mut().unwrap()[1].delayed = Some(0.028);
    assert_ne!(scene.sentence().rule, "cpu-waits", "{:?}", scene.sentence());
    // Of many alike some are known.
    let mut many = Scene::reading().threads(&[('R', "fio", "", "", 8.0)]);
    for known in [Some(0.9), None, None, None] {
        many = many.process("fio", 5e6, 5e6, 0.1);
        many.activity.processes.as_mut().unwrap().last_mut().unwrap().delayed = known;
    }
    many.rates.disks.values_mut().for_each(|disk| disk.read_bytes = 20e6);
    let text = many.sentence().text;
    assert!(text.starts_with("8 threads of fio wait for a CPU 45 % "), "{text}");
}

/// As beside fio with fdatasync: this program saves its results, which is no load.
#[test]
fn a_thread_that_waits_for_its_log_is_no_load() {
    let threads = [
        ('D', "iodyno", "fsync", "jbd2_log_wait_commit", 0.9),
        ('R', "tar", "", "", 0.3),
        ('R', "cat", "", "", 0.3),
    ];
    let mut scene = Scene::reading().threads(&threads).process("tar", 0.6e9, 0.6e9, 0.3);
    scene = scene.process("cat", 0.6e9, 0.6e9, 0.3);
    assert_eq!(scene.sentence().rule, "writeback");
    let seen = scene.activity.threads.as_mut().unwrap();
    seen.with_io = Some(seen.kinds[1..].to_vec());
    assert_ne!(scene.sentence().rule, "writeback", "{:?}", scene.sentence());
}

/// As fio with `sync=1`, and with `fdatasync=1`: samples hardly find its waits, which take some microseconds each.
#[test]
fn a_writer_with_a_flush_for_every_few_writes_waits_for_syncs() {
    let scene = |kinds: &[(char, &str, &str, &str, f64)], cpus: f64, written: [f64; 2], flushes: f64| {
        let mut scene = Scene::reading().threads(kinds).process("fio", 0.0, 0.0, cpus);
        let process = &mut scene.activity.processes.as_mut().unwrap()[0];
        (process.written_bytes, process.delayed) = (Some(written[0]), Some(0.035));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 17_500.0, written_bytes: written[1], ..DiskRates::default() };
        (disk.queue_depth, disk.utilisation) = (0.84, 60.0);
        disk.flushes = SideRates { ios: flushes, await_ms: Some(0.0346), ..SideRates::default() };
        scene
    };
    let limit = "with 4375 flushes/s, 34.6 us each: syncs are the limit (fsync, O_SYNC or O_DSYNC)";
    let runs = [('R', "fio", "", "", 1.08)];
    let rates = [362e6, 362e6];
    scene(&runs, 0.31, rates, 4375.0).says("flushes", &format!("fio waits 68 % of the time {limit}"));
    let journal = [18e6, 54e6];
    let found = [
        ('R', "fio", "", "", 0.44),
        ('D', "fio", "fdatasync", "", 0.19),
        ('D', "fio", "", "folio_wait_bit", 0.12),
        ('D', "fio", "", "", 0.06),
        ('D', "fio", "", "__sync_dirty_buffer", 0.06),
        ('D', "fio", "fdatasync", "__sync_dirty_buffer", 0.06),
        ('D', "fio", "fdatasync", "folio_wait_bit", 0.06),
        ('R', "fio", "fdatasync", "", 0.06),
    ];
    let text = scene(&found, 0.4, journal, 4375.0).sentence().text;
    assert!(text.starts_with("fio waits until data is on the drive (") && text.contains(limit), "{text}");
    assert_ne!(scene(&runs, 0.31, rates, 60.0).sentence().rule, "flushes", "one for 290 writes");
    assert_ne!(scene(&runs, 0.31, [20e6, 362e6], 4375.0).sentence().rule, "flushes", "another one writes");
    let direct = [('R', "fio", "", "", 0.4), ('D', "fio", "pwrite64", "__iomap_dio_rw", 0.6)];
    assert_ne!(scene(&direct, 0.31, rates, 4375.0).sentence().rule, "flushes", "it ends before them");
}

/// As `dd bs=4k oflag=dsync` beside a compiler: half of the samples find it running, and the journal writes more than it does.
#[test]
fn a_writer_of_syncs_that_samples_often_find_running_waits_for_them() {
    let scene = |waiting: f64, cpus: f64, delayed: f64, flushes: f64| {
        let threads = [
            ('R', "dd", "write", "", 1.0 - waiting),
            ('D', "dd", "write", "folio_wait_bit", waiting),
            ('R', "rustc", "", "", 1.0),
        ];
        let busy = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
        let mut scene = Scene::reading().cpu(0, busy).threads(&threads);
        scene = scene.process("dd", 0.0, 0.0, cpus).process("rustc", 0.0, 0.0, 1.0);
        let dd = &mut scene.activity.processes.as_mut().unwrap()[0];
        (dd.written_bytes, dd.delayed) = (Some(21.7e6), Some(delayed));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 13_000.0, written_bytes: 53.4e6, ..DiskRates::default() };
        (disk.queue_depth, disk.utilisation) = (0.5, 60.0);
        disk.flushes = SideRates { ios: flushes, await_ms: Some(0.05), ..SideRates::default() };
        scene
    };
    let limit = "with 5291 flushes/s, 50.0 us each: syncs are the limit (fsync, O_SYNC or O_DSYNC)";
    let text = format!("dd waits until data is on the drive (folio_wait_bit) {limit}");
    for (waiting, cpus, delayed) in [(0.6, 0.3, 0.1), (0.48, 0.25, 0.3), (0.4, 0.35, 0.32), (0.35, 0.5, 0.15)]
    {
        scene(waiting, cpus, delayed, 5291.0).says("flushes", &text);
    }
    assert_eq!(held(&scene(0.3, 0.6, 0.15, 5291.0), "flushes"), Some("flushes"));
    // Another of two alike wait channels is in front at each look.
    let said = |said: &str, commits: f64| {
        let mut journal = scene(0.25, 0.3, 0.2, 5291.0);
        let kinds = &mut journal.activity.threads.as_mut().unwrap().kinds;
        let mut commit = kinds[1].clone();
        (commit.0.wchan, commit.1) = (Some(Label::new("jbd2_log_wait_commit")), commits);
        kinds.push(commit);
        look(&Inputs { said, ..journal.inputs() }, Some("flushes")).shown.unwrap().text
    };
    assert_eq!(said(&text, 0.3), text, "the words stay");
    let alike = said("", 0.3);
    assert_eq!(alike, format!("dd waits 62 % of the time {limit}"));
    let most = said(&text, 0.6);
    assert_eq!(most, format!("dd waits until data is on the drive (jbd2_log_wait_commit) {limit}"));
    assert_ne!(scene(0.4, 0.35, 0.32, 700.0).sentence().rule, "flushes", "one for 19 writes");
    assert_ne!(scene(0.35, 0.65, 0.05, 5291.0).sentence().rule, "flushes", "it runs most of the time");
}

#[test]
fn what_waits_for_a_cpu_too_does_not_run_the_rest() {
    let turns = [('D', "cp", "read", "folio_wait_bit_common", 0.4), ('R', "cp", "", "", 0.6)];
    let mut scene = Scene::reading().threads(&turns).process("cp", 1.2e9, 1.2e9, 0.35);
    let busy = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
    scene.activity.processes.as_mut().unwrap()[0].delayed = Some(0.25);
    let words = "cp waits for pages of the page cache 40 % and for a CPU 25 % of the time";
    let quiet = scene.sentence();
    let limit = "buffered reads are the limit, they wait for the page cache to fill";
    assert_eq!((quiet.rule, quiet.text), ("turns", format!("{words}: {limit}")));
    scene.cpu(2, busy).says("turns", &format!("{words}; CPU 2 is busy"));
}

/// As a loop of `cp` over an old file and `sync`: ext4 writes it back when it is closed.
#[test]
fn files_that_are_written_back_at_their_end_are_named() {
    let scene = |closing: f64| {
        let threads = [
            ('R', "cp", "", "", 0.4),
            ('D', "cp", "close", "ext4_wait_block_bitmap", closing),
            ('D', "cp", "close", "rq_qos_wait", 0.06),
            ('D', "sync", "fsync", "folio_wait_bit", 0.12),
        ];
        let mut scene = Scene::reading().threads(&threads).process("cp", 0.0, 800e6, 0.3);
        let process = &mut scene.activity.processes.as_mut().unwrap()[0];
        (process.written_bytes, process.has_ended) = (Some(790e6), true);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 198.0, written_bytes: 822e6, queue_depth: 5.7, ..DiskRates::default() };
        scene
    };
    scene(0.3).says(
        "writeback",
        "cp and sync wait in close or fsync 48 % of the time: writeback of the page cache to the drives is the limit",
    );
    assert_ne!(scene(0.05).sentence().rule, "writeback", "it copies most of the time");
}

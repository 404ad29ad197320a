//! Writers that sync, of which samples or counters tell little: short ones, and those beside busy CPUs.

use super::*;
use crate::counters::{PressureShares, SideRates};

/// As a loop of `dd bs=1M count=700 conv=fsync` over one file, which samples find waiting in `fsync` this part of the time.
fn short_runs(waiting: f64, written: f64) -> Scene {
    let threads = [('D', "dd", "fsync", "rq_qos_wait", waiting), ('R', "dd", "", "", 0.3)];
    let mut scene = Scene::idle().threads(&threads);
    scene.activity.threads.as_mut().unwrap().kinds.retain(|(_, mean)| *mean > 0.0);
    scene = scene.process("dd", 0.0, 0.0, 0.2).process("dd", 0.0, 0.0, 0.15).process("root", 0.0, 0.0, 0.5);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].has_ended, processes[0].written_bytes) = (true, Some(400e6));
    (processes[1].pid, processes[1].written_bytes) = (4711, Some(350e6));
    // Its bytes cannot be read: they may be what the journal and writeback of the second before moved.
    (processes[2].read_bytes, processes[2].written_bytes) = (None, None);
    let name = scene.machine.hardware_drives().next().unwrap().name.clone();
    let disk = DiskRates { writes: 1060.0, queue_depth: 38.0, utilisation: 80.0, ..DiskRates::default() };
    let disk = DiskRates { written_bytes: written, write_await_ms: Some(150.0), ..disk };
    scene.rates.disks.insert(name, disk);
    scene.rates.pressure = Some(PressureShares { io_some: 45.0, ..PressureShares::default() });
    scene
}

#[test]
fn short_writers_that_sync_at_their_end_have_one_sentence() {
    let limit = "writeback of the page cache to the drives is the limit";
    for written in [750e6, 1.06e9, 1.9e9] {
        let first = short_runs(0.16, written);
        let words = format!("dd waits in close or fsync 16 % of the time: {limit}");
        first.says("writeback", &words);
        // Some looks find none of them.
        for waiting in [0.0, 0.06, 0.3] {
            let scene = short_runs(waiting, written);
            let shown = look(&Inputs { said: &words, ..scene.inputs() }, Some("writeback")).shown;
            assert!(shown.is_some_and(|shown| shown.text.ends_with(limit)), "{waiting} {written}");
        }
    }
    let mut copies = short_runs(0.16, 750e6);
    copies.rates.pressure = Some(PressureShares { io_some: 12.0, ..PressureShares::default() });
    assert_ne!(copies.sentence().rule, "writeback", "tasks hardly wait for I/O");
}

/// As a script that writes 64 KiB and syncs, on ext4 on a loop device: its drive writes several times as much.
fn beside_shells(written: f64, all: f64, idl: f64) -> Scene {
    let threads = [('D', "python*", "fsync", "jbd2_log_wait_commit", 0.6), ('R', "python*", "", "", 0.4)];
    let busy = CpuShares { usr: 100.0 - idl, idl, ..CpuShares::default() };
    let mut scene = Scene::idle().threads(&threads).all(busy).cpu(0, busy).cpu(1, busy);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    scene = scene.process("python3", 0.0, 0.0, 0.03).process("bash", 0.0, 0.0, 1.6 - idl / 100.0);
    scene = scene.process("root", 0.0, 0.0, 0.1);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].written_bytes, processes[0].delayed) = (Some(written), Some(0.25));
    (processes[2].read_bytes, processes[2].written_bytes) = (None, None);
    let name = scene.machine.hardware_drives().next().unwrap().name.clone();
    let disk = DiskRates { writes: 3000.0, queue_depth: 0.15, utilisation: 10.0, ..DiskRates::default() };
    let flushes = SideRates { ios: 440.0, await_ms: Some(0.018), ..SideRates::default() };
    scene.rates.disks.insert(name, DiskRates { written_bytes: all, flushes, ..disk });
    scene
}

#[test]
fn a_writer_that_syncs_is_named_beside_busy_cpus() {
    let words = "python3 waits until data is on the drive (jbd2_log_wait_commit) with 440 flushes/s, 18.0 us each: syncs are the limit \
                 (fsync, O_SYNC or O_DSYNC)";
    for (written, all) in [(26.8e6, 85.9e6), (15e6, 29e6), (8e6, 15e6)] {
        beside_shells(written, all, 1.0).says("flushes", &format!("{words}; CPUs are busy too"));
        beside_shells(written, all, 30.0).says("flushes", words);
    }
    // A log beside a build.
    assert_ne!(beside_shells(1e6, 85.9e6, 1.0).sentence().rule, "flushes");
}

/// As a loop of `dd bs=1M count=200 conv=fsync` on a drive that writes 1 GB/s: samples find next to none of them.
#[test]
fn short_writers_that_sync_are_known_by_what_drives_count() {
    let scene = |flushes: f64, io_some: f64, cpus: f64, utilisation: f64| {
        let mut scene = Scene::idle().threads(&[('D', "dd", "", "folio_wait_bit", 0.06)]);
        scene = scene.process("dd", 0.0, 0.0, cpus).process("dd", 0.0, 0.0, 0.015);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].has_ended, processes[0].written_bytes) = (true, Some(891e6));
        (processes[1].pid, processes[1].written_bytes) = (4711, Some(52e6));
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk =
            DiskRates { writes: 260.0, written_bytes: 1.05e9, queue_depth: 12.2, ..DiskRates::default() };
        let flushes = SideRates { ios: flushes, ..SideRates::default() };
        let disk = DiskRates { utilisation, flushes, write_await_ms: Some(43.8), ..disk };
        scene.rates.disks.insert(name, disk);
        scene.rates.pressure = Some(PressureShares { io_some, ..PressureShares::default() });
        scene
    };
    let (who, limit) =
        ("Short runs of dd", "the time: writeback of the page cache to the drives is the limit");
    let words = format!("{who} write to the page cache, some task waits for I/O 63 % of {limit}");
    let each = scene(8.0, 63.0, 0.33, 60.0);
    each.says("writeback", &words);
    // The drive may be busy all the time, and some looks find threads in their waits or none.
    scene(8.0, 63.0, 0.33, 97.0).says("writeback", &words);
    scene(28.0, 63.0, 0.33, 60.0).threads(&[('D', "dd", "fsync", "", 0.66)]).says("writeback", &words);
    for waits in [("fsync", "folio_wait_bit", 0.25), ("", "rq_qos_wait", 0.06), ("", "folio_wait_bit", 0.0)] {
        let (call, wchan, mean) = waits;
        let found = scene(8.0, 63.0, 0.33, 60.0).threads(&[('D', "dd", call, wchan, mean)]);
        found.says("writeback", &words);
    }
    assert_eq!(held(&scene(0.6, 40.0, 0.5, 60.0), "writeback"), Some("writeback"));
    // Beside other programs one takes longer, and is found.
    let mut found = scene(8.0, 63.0, 0.33, 60.0);
    found.activity.processes.as_mut().unwrap()[1].written_bytes = Some(1.8e9);
    found.says("writeback", &words);
    found.activity.processes.as_mut().unwrap()[1].written_bytes = Some(3.6e9);
    assert_ne!(found.sentence().rule, "writeback", "most of it is of one that lives");
    assert_eq!(held(&found, "writeback"), Some("writeback"));
    assert_ne!(scene(0.2, 63.0, 0.33, 60.0).sentence().rule, "writeback", "the journal alone flushes");
    assert_ne!(scene(8.0, 30.0, 0.65, 60.0).sentence().rule, "writeback", "they run longer");
    let direct = each.threads(&[('D', "dd", "write", "__iomap_dio_rw", 0.06)]);
    assert_ne!(direct.sentence().rule, "writeback", "with O_DIRECT");
}

#[test]
fn pages_that_a_sync_submits_are_written_back() {
    use waits::Wait::{Completion, Writeback};
    for (call, wchan, wait) in [
        ("fsync", "io_schedule", Writeback),
        ("fdatasync", "blk_mq_get_tag", Writeback),
        ("pread64", "blk_mq_get_tag", Completion),
        ("fsync", "submit_bio_wait", Completion),
    ] {
        let scene = Scene::idle().threads(&[('D', "dd", call, wchan, 0.4)]);
        let kind = &scene.activity.threads.as_ref().unwrap().kinds[0].0;
        assert_eq!(waits::wait_of(kind), Some(wait), "{call}, {wchan}");
    }
}

/// As `dd` beside a loop that writes 4 KiB and syncs: the drive's flushes are those of the other one.
fn beside_syncs(threads: &[(char, &str, &str, &str, f64)], cpus: f64, flushes: f64) -> Scene {
    let other = ('D', "python*", "fsync", "jbd2_log_wait_commit", 0.8);
    let mut scene = Scene::idle().threads(&[threads, &[other]].concat());
    scene = scene.process("dd", 0.0, 0.0, cpus).process("python3", 0.0, 0.0, 0.05);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].written_bytes, processes[0].delayed) = (Some(900e6), Some(0.02));
    processes[1].written_bytes = Some(1e6);
    let name = scene.machine.hardware_drives().next().unwrap().name.clone();
    let disk = DiskRates { writes: 3600.0, queue_depth: 2.6, utilisation: 90.0, ..DiskRates::default() };
    let flushes = SideRates { ios: flushes, await_ms: Some(0.9), ..SideRates::default() };
    let disk = DiskRates { written_bytes: 901e6, write_await_ms: Some(0.7), flushes, ..disk };
    scene.rates.disks.insert(name, disk);
    scene
}

#[test]
fn flushes_of_another_program_are_not_charged_to_a_bulk_writer() {
    let run = ('R', "dd", "", "", 0.3);
    for (wait, rule) in [
        // Of a buffered one, throttled, and at its end with `conv=fsync`.
        (('D', "dd", "write", "balance_dirty_pages", 0.7), "writeback"),
        (('D', "dd", "write", "folio_wait_bit", 0.7), "writeback"),
        (('D', "dd", "write", "rq_qos_wait", 0.7), "throttling"),
        (('D', "dd", "fsync", "rq_qos_wait", 0.7), "writeback"),
        // Of a direct one, and where the call cannot be read.
        (('D', "dd", "write", "submit_bio_wait", 0.7), "drives"),
        (('D', "dd", "write", "__iomap_dio_rw", 0.7), "drives"),
        (('D', "dd", "", "rq_qos_wait", 0.7), "throttling"),
    ] {
        for flushes in [58.0, 400.0, 3441.0] {
            let sentence = beside_syncs(&[wait, run], 0.3, flushes).sentence();
            let text = &sentence.text;
            assert!(!text.contains("flushes") && !text.contains("syncs are"), "{wait:?}: {text}");
            assert!(sentence.rule == rule && text.starts_with("dd "), "{wait:?}: {sentence:?}");
        }
    }
    // No sample finds it waiting.
    let seldom = beside_syncs(&[('R', "dd", "", "", 1.0)], 0.3, 3441.0).sentence();
    assert_ne!(seldom.rule, "flushes", "{seldom:?}");
    // With one I/O in flight.
    let mut one = beside_syncs(&[('D', "dd", "write", "__iomap_dio_rw", 0.8), run], 0.2, 400.0);
    one.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 0.8);
    let one = one.sentence();
    assert!(one.rule == "latency" && !one.text.contains("flushes"), "{one:?}");
}

#[test]
fn a_program_that_syncs_itself_beside_another_one_waits_for_its_own_syncs() {
    let limit = "syncs are the limit (fsync, O_SYNC or O_DSYNC)";
    for (call, wchan) in [("fsync", "jbd2_log_wait_commit"), ("write", "blkdev_issue_flush")] {
        let scene = beside_syncs(&[('D', "dd", call, wchan, 0.7)], 0.05, 400.0);
        scene.says("flushes", &format!("dd waits until data is on the drive ({wchan}): {limit}"));
        let mut alone = scene;
        alone.activity.threads.as_mut().unwrap().kinds.retain(|(kind, _)| kind.command.as_str() == "dd");
        alone.says(
            "flushes",
            &format!(
                "dd waits until data is on the drive ({wchan}) with 400 flushes/s, 900 us each: {limit}"
            ),
        );
    }
    // A log that syncs once a second is in few samples.
    let mut log = beside_syncs(&[('D', "dd", "write", "submit_bio_wait", 0.7)], 0.05, 400.0);
    log.activity.threads.as_mut().unwrap().kinds[1].1 = 0.02;
    log.says(
        "flushes",
        &format!(
            "dd waits until data is on the drive (submit_bio_wait) with 400 flushes/s, 900 us each: {limit}"
        ),
    );
}

/// As a loop of `dd` with `O_DIRECT` beside fio that writes and syncs, which samples seldom find in `fsync`.
#[test]
fn flushes_of_a_program_beside_short_ones_are_not_theirs() {
    let scene = |synced: f64, flushes: f64| {
        let threads = [('S', "bash", "wait4", "do_wait", 1.0), ('R', "fio", "", "", 0.2)];
        let mut scene =
            Scene::idle().threads(&threads).process("dd", 0.0, 0.0, 0.2).process("fio", 0.0, 0.0, 0.2);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].has_ended, processes[0].written_bytes) = (true, Some(36e6));
        (processes[1].pid, processes[1].written_bytes) = (8, Some(synced));
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk =
            DiskRates { writes: 9000.0, written_bytes: 37e6, queue_depth: 0.6, ..DiskRates::default() };
        let flushes = SideRates { ios: flushes, await_ms: Some(0.06), ..SideRates::default() };
        let disk = DiskRates { write_await_ms: Some(0.06), utilisation: 45.0, flushes, ..disk };
        scene.rates.disks.insert(name, disk);
        scene.rates.pressure = Some(PressureShares { io_some: 55.0, ..PressureShares::default() });
        scene.sentence().text
    };
    let short = "Short runs of dd have one I/O in flight at a time (queue depth 0.6)";
    for (synced, flushes, are_its) in [(4e6, 1000.0, false), (0.0, 1000.0, true), (1e6, 1000.0, true)] {
        let text = scene(synced, flushes);
        assert!(text.starts_with(short), "{text}");
        assert_eq!(text.contains("1000 flushes/s"), are_its, "{synced}: {text}");
    }
}

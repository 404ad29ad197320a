//! The words of a sentence under one load, whose figures are never the same twice.

use super::*;

/// A sentence beside this one on the screen.
fn after(scene: &Scene, rule: &str, said: &str) -> String {
    look(&Inputs { said, ..scene.inputs() }, Some(rule)).shown.unwrap().text
}

/// As `dd bs=1M` with `O_DIRECT`: some looks find it waiting, some do not.
fn copies(sampled: f64, writes: bool) -> Scene {
    let call = if writes { "write" } else { "read" };
    let threads = [('D', "dd", call, "__iomap_dio_rw", sampled), ('R', "dd", "", "", 1.0 - sampled)];
    let busy = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
    let mut scene = Scene::reading().threads(&threads).all(busy).process("dd", 1.2e9, 1.2e9, 0.2);
    scene = scene.process("cc1", 0.0, 0.0, 3.5);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    let [reads, written] = if writes { [0.0, 1200.0] } else { [1200.0, 0.0] };
    *disk = DiskRates { reads, writes: written, utilisation: 88.0, queue_depth: 0.9, ..DiskRates::default() };
    (disk.read_bytes, disk.written_bytes) = (1e6 * reads, 1e6 * written);
    (disk.read_await_ms, disk.write_await_ms) = (Some(0.664), Some(0.664));
    let own = &mut scene.activity.processes.as_mut().unwrap()[0];
    (own.read_bytes, own.written_bytes) = (Some(1e6 * reads), Some(1e6 * written));
    (own.called_read, own.called_write) = (Some(1.2e9), Some(1.2e9));
    scene
}

#[test]
fn one_io_in_flight_has_the_same_words_whether_samples_found_it_waiting() {
    for writes in [false, true] {
        let name = copies(0.5, writes).rates.disks.keys().next().unwrap().clone();
        let one = "dd has one I/O in flight at a time (queue depth 0.9): the latency of";
        let words = format!("{one} {}, 664 us, is the limit; CPUs are busy too", name.as_str());
        for sampled in [0.05, 0.3, 0.5, 0.9] {
            copies(sampled, writes).says("latency", &words);
        }
    }
    // As fio with libaio at depth 1.
    for sampled in [0.05, 0.3, 0.5, 0.9] {
        let kinds = [('S', "dd", "io_getevents", "read_events", sampled), ('R', "dd", "", "", 1.0 - sampled)];
        let scene = copies(sampled, false).threads(&kinds);
        let text = scene.sentence().text;
        assert!(
            text.starts_with("dd has one I/O in flight at a time (queue depth 0.9)"),
            "{sampled}: {text}"
        );
    }
    // Buffered writes are in flight while it runs.
    let mut buffered = copies(0.05, true);
    buffered.activity.threads.as_mut().unwrap().kinds.remove(0);
    assert_ne!(buffered.sentence().rule, "latency");
}

/// As `dd bs=1M` with `O_DIRECT` on a device of `max_sectors_kb` 128.
#[test]
fn a_call_of_several_ios_need_not_fill_the_drive() {
    let mut scene = copies(0.9, false);
    scene.rates.disks.values_mut().next().unwrap().queue_depth = 6.5;
    let limit = "the drives, their links or the latency of a call are the limit; CPUs are busy too";
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let one = "dd waits for one call at a time";
    scene.says("drives", &format!("{one} while {} has 6.5 I/Os in flight: {limit}", name.as_str()));
    // Requests of that size are known to be pieces of a call.
    let drive = scene.machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
    drive.queue.max_sectors_kb = crate::model::Reading::known("max_sectors_kb", 128);
    assert!(!scene.sentence().text.contains("splits"), "its requests are larger");
    scene.rates.disks.values_mut().next().unwrap().reads = 1.2e9 / 131_072.0;
    let splits = format!("{one}, which the kernel splits into requests of 128 KiB (queue depth 6.5)");
    scene.says("drives", &format!("{splits}: {limit}"));
    // One that submits several is not limited by the time of one.
    let several = [('S', "dd", "io_uring_enter", "io_cqring_wait", 0.9)];
    assert!(!scene.threads(&several).sentence().text.contains("one call"));
}

#[test]
fn words_near_a_border_stay_as_they_are() {
    let deep = |depth| {
        let mut scene = copies(0.9, false);
        scene.rates.disks.values_mut().next().unwrap().queue_depth = depth;
        scene
    };
    for (depth, what) in [(1.1, "one I/O"), (1.2, "one call")] {
        let words = deep(depth).sentence().text;
        assert!(words.contains(what), "{depth}: {words}");
    }
    let io = deep(1.1).sentence().text;
    assert!(after(&deep(1.2), "latency", &io).contains("one I/O"));
    assert!(after(&deep(1.4), "latency", &io).contains("one call"));
    let left = |idl| copies(0.9, false).all(CpuShares { usr: 100.0 - idl, idl, ..CpuShares::default() });
    let (busy, free) = (left(1.0).sentence().text, left(30.0).sentence().text);
    let are_busy = |text: &str| text.ends_with("; CPUs are busy too");
    assert!(are_busy(&busy) && !are_busy(&free), "{busy} {free}");
    assert!(
        are_busy(&after(&left(9.0), "latency", &busy)) && !are_busy(&after(&left(9.0), "latency", &free))
    );
}

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

/// As `md5sum` of a large file that is not in the page cache, which waits for a CPU a little more or less each second.
#[test]
fn a_thread_that_fills_a_cpu_has_one_sentence() {
    let md5sum = |cpus: f64, delayed: f64, waiting: f64| {
        let threads = [
            ('R', "md*sum", "", "", 1.0 - waiting),
            ('D', "md*sum", "read", "folio_wait_bit_common", waiting),
        ];
        let mut scene = Scene::reading().threads(&threads).process("md5sum", 504e6, 504e6, cpus);
        scene.activity.threads.as_mut().unwrap().kinds.retain(|(_, mean)| *mean > 0.0);
        scene.activity.processes.as_mut().unwrap()[0].delayed = Some(delayed);
        scene.rates.disks.values_mut().for_each(|disk| disk.read_bytes = 504e6);
        scene
    };
    let busy = "md5sum keeps one CPU busy for 504 MB/s: one thread";
    let mut said = String::new();
    for (cpus, delayed, waiting) in [
        (0.89, 0.09, 0.0),
        (0.96, 0.03, 0.0),
        (0.85, 0.12, 0.0),
        (0.94, 0.04, 0.0),
        (0.95, 0.02, 0.0),
        (0.91, 0.08, 0.0),
    ] {
        let scene = md5sum(cpus, delayed, waiting);
        let found = look(&Inputs { said: &said, ..scene.inputs() }, Some("threads"));
        let shown = found.shown.unwrap_or_else(|| panic!("{:?}", found.first));
        assert_eq!(shown.text, format!("{busy} is the limit"), "{cpus} {delayed}");
        said = shown.text;
    }
    // Its source stays named where a sample finds none of its short waits.
    let through = format!("{busy}, which reads through the page cache, is the limit");
    let after = |waiting: f64, said: &str| {
        let scene = md5sum(0.94, 0.02, waiting);
        look(&Inputs { said, ..scene.inputs() }, Some("threads")).shown.unwrap().text
    };
    assert_eq!((after(0.03, ""), after(0.0, &through)), (through.clone(), through));
    // Beside a busy CPU the waits are the larger part.
    let text = md5sum(0.72, 0.27, 0.0).sentence().text;
    assert!(text.starts_with("md5sum runs 72 % and waits for a CPU 27 % of the time"), "{text}");
}

/// As `dd iflag=direct oflag=direct bs=1M`: reads as large as the drive allows, writes and those of a journal.
#[test]
fn a_thread_of_direct_calls_has_one_sentence() {
    let dd = |(call, wchan): (&str, &str), reads: f64, writes: f64, depth: f64| {
        let threads = [('D', "dd", call, wchan, 0.75), ('R', "dd", "", "", 0.25)];
        let mut scene = Scene::reading().threads(&threads).process("dd", 520e6, 520e6, 0.09);
        let process = &mut scene.activity.processes.as_mut().unwrap()[0];
        (process.written_bytes, process.delayed) = (Some(520e6), Some(0.02));
        let disk = DiskRates { reads, read_bytes: 521e6, read_await_ms: Some(0.6), ..DiskRates::default() };
        let disk = DiskRates { writes, written_bytes: 522e6, write_await_ms: Some(0.66), ..disk };
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let drive = scene.machine.drives.iter_mut().find(|drive| drive.name == name).unwrap();
        drive.queue.max_sectors_kb = crate::model::Reading::known("max_sectors_kb", 512);
        scene.rates.disks.insert(name, DiskRates { queue_depth: depth, utilisation: 88.0, ..disk });
        scene
    };
    let words =
        "dd waits for one call at a time, which the kernel splits into requests of 512 KiB (queue depth";
    let limit = "the drives, their links or the latency of a call are the limit";
    for call in [("read", "__iomap_dio_rw"), ("write", "__iomap_dio_rw"), ("write", "submit_bio_wait")] {
        for (reads, writes) in [(998.0, 1302.0), (993.0, 980.0), (1302.0, 1300.0)] {
            for (depth, rule) in [(1.3, "latency"), (1.45, "latency"), (1.55, "drives"), (1.9, "drives")] {
                let scene = dd(call, reads, writes, depth);
                let said = format!("{words} 1.5): {limit}");
                let found = look(&Inputs { said: &said, ..scene.inputs() }, Some(rule));
                let all = [found.first.text, found.shown.unwrap().text];
                let expected = format!("{words} {depth:.1}): {limit}");
                assert!(all.iter().all(|text| *text == expected), "{call:?} {reads} {depth}: {all:?}");
            }
        }
    }
}

/// As fio with `ioengine=mmap`: a thread in a page fault is in no system call, and some looks find none of its waits.
#[test]
fn reads_of_mapped_pages_name_the_page_cache_in_every_look() {
    let scene = |wchan: &str, sampled: f64| {
        let threads = [('D', "fio", "", wchan, sampled), ('R', "fio", "", "", 1.0 - sampled)];
        let mut scene = Scene::reading().threads(&threads).process("fio", 40e6, 0.0, 0.2);
        scene.activity.threads.as_mut().unwrap().kinds.retain(|(_, mean)| *mean > 0.0);
        scene.activity.processes.as_mut().unwrap()[0].delayed = Some(0.02);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { reads: 9700.0, read_bytes: 40e6, utilisation: 82.0, ..DiskRates::default() };
        (disk.queue_depth, disk.read_await_ms) = (0.8, Some(0.08));
        scene
    };
    let words = after(&scene("folio_wait_bit_common", 0.3), "latency", "");
    let pages = "fio has one I/O in flight at a time, for pages of the page cache (queue depth 0.8)";
    assert!(words.starts_with(pages), "{words}");
    let first = scene("folio_wait_bit_common", 0.3).sentence();
    assert_eq!(first.rule, "page-cache", "{first:?}");
    for said in [&words, &first.text] {
        for sampled in [0.0, 0.1, 0.3] {
            let text = after(&scene("folio_wait_bit_common", sampled), "latency", said);
            assert_eq!(text, words, "{sampled} {said}");
        }
    }
    // Another wait of the same fault is found as well.
    let mut both = scene("folio_wait_bit_common", 0.3);
    let (mut other, mean) = both.activity.threads.as_ref().unwrap().kinds[0].clone();
    other.wchan = Some(Label::new("blk_mq_get_tag"));
    both.activity.threads.as_mut().unwrap().kinds.push((other, mean / 2.0));
    assert_eq!(after(&both, "latency", &words), words);
    // A direct reader has none.
    let direct = after(&scene("__iomap_dio_rw", 0.3), "latency", &words);
    assert!(!direct.contains("page cache"), "{direct}");
}

#[test]
fn threads_that_wait_by_turns_are_counted_together() {
    let scene = |waiting: f64| {
        let wait = ('D', "fio", "pread64", "folio_wait_bit_common", waiting);
        let mut scene = Scene::reading().threads(&[wait, ('R', "fio", "", "", 2.0 - waiting)]);
        scene = scene.process("fio", 0.6e9, 0.6e9, 0.2);
        scene.process("fio", 0.6e9, 0.6e9, 0.2)
    };
    let wait = "threads of fio wait for pages to be read (folio_wait_bit_common)";
    for (waiting, words) in
        [(1.4, format!("2 {wait} 70 % of the time: ")), (1.1, format!("2 {wait} 55 % of the time: "))]
    {
        let text = scene(waiting).sentence().text;
        assert!(text.starts_with(&words), "{text}");
    }
    assert!(scene(2.0).sentence().text.starts_with(&format!("2 of 2 {wait}: ")));
}

#[test]
fn rounded_numbers_do_not_hide_that_all_threads_wait_by_turns() {
    let said = |waiting: f64, running: f64| {
        let kinds = [('D', "fio", "pread64", "__iomap_dio_rw", waiting), ('R', "fio", "", "", running)];
        let text = Scene::reading().threads(&kinds).process("fio", 1.2e9, 1.2e9, running).sentence().text;
        text.split(": ").next().unwrap_or_default().to_owned()
    };
    let wait = "wait for completions (__iomap_dio_rw)";
    assert_eq!(said(3.4, 0.2), format!("4 threads of fio {wait} 94 % of the time"));
    assert_eq!(said(6.9, 0.9), format!("8 threads of fio {wait} 88 % of the time"));
    assert_eq!(said(3.9, 0.1), format!("4 of 4 threads of fio {wait}"));
    assert_eq!(said(27.0, 5.0), format!("27 of 32 threads of fio {wait}"));
}

#[test]
fn before_two_looks_idle_drives_have_no_sentence() {
    let busy = CpuShares { usr: 90.0, idl: 10.0, ..CpuShares::default() };
    let idle = Scene::idle();
    assert_eq!(not_yet(&idle.inputs()).text, "Nothing is known yet: two seconds are compared first");
    let cpus = Scene::idle().all(busy).process("yes", 0.0, 0.0, 3.6);
    assert!(not_yet(&cpus.inputs()).text.starts_with("Drives are idle; CPUs are 90 % busy"));
    assert!(
        not_yet(&Scene::reading().inputs()).text.starts_with("Drives read 1.20 GB/s; limit not known yet")
    );
    // Between two loads it is known that drives are idle.
    assert_eq!(look(&idle.inputs(), None).measured.text, "Drives are idle");
}

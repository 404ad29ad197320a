//! Limits that the Machine screen names as well.

use super::*;

#[test]
fn a_test_that_reads_what_is_expected_names_its_limit() {
    let mut scene = Scene::reading().test(40, false);
    assert_ne!(scene.sentence().rule, "expected", "nothing is known of what it reaches");
    for (because, words) in [
        ("1.15 M IOPS a drive, published", "1.15 M IOPS a drive. Source: published"),
        ("root complex 0000:40, measured, here", "root complex 0000:40. Source: measured, here"),
        ("the drive: read alone, 1m", "the drive. Source: read alone, 1m"),
        ("CPUs", "CPUs"),
    ] {
        scene.test = Some(TestNow {
            workers: 40,
            is_polled: false,
            is_buffered: false,
            reached: Some(because),
            is_cpu_bound: false,
        });
        scene.says("expected", &format!("The test reads 1.20 GB/s, as expected. Limit: {words}"));
    }
}

#[test]
fn a_test_that_reads_what_is_expected_has_one_limit_whatever_cpus_do() {
    let all = CpuShares { usr: 28.0, sys: 71.0, idl: 1.0, ..CpuShares::default() };
    let mut scene = Scene::reading().all(all).cpu(3, irq(97.0, 10.0)).test(4, false);
    assert_eq!(scene.sentence().rule, "interrupts");
    scene.test.as_mut().unwrap().reached = Some("the drive: read alone, 1m");
    scene.says("expected", "The test reads 1.20 GB/s, as expected. Limit: the drive. Source: read alone, 1m");
    assert_eq!(held(&scene, "interrupts"), None);
    scene.test.as_mut().unwrap().is_cpu_bound = true;
    assert_eq!(scene.sentence().rule, "cpus", "which the Machine screen names as well");
}

#[test]
fn a_full_place_is_the_limit_before_all_others() {
    let all = CpuShares { usr: 28.0, sys: 71.0, idl: 1.0, ..CpuShares::default() };
    let mut scene = Scene::reading().all(all).cpu(3, irq(97.0, 10.0));
    let words = "root complex 0000:40 is full: 39.3 of 39.4 GB/s.";
    scene.full = Some(words);
    scene.says("full", words);
}

#[test]
fn a_thread_that_waits_for_several_ios_is_not_their_limit() {
    let fio = |wchan, waiting: f64| {
        let threads = [('S', "fio", "io_getevents", wchan, waiting), ('R', "fio", "", "", 1.0 - waiting)];
        Scene::reading().threads(&threads).process("fio", 1.2e9, 1.2e9, 1.0 - waiting)
    };
    let words = "fio waits for completions (read_events): the drives or their links are the limit";
    fio("read_events", 0.42).says("drives", words);
    assert_eq!(held(&fio("read_events", 0.42), "turns"), None);
    assert_eq!(held(&fio("read_events", 0.25), "drives"), Some("drives"));
    assert_eq!(fio("__iomap_dio_rw", 0.42).sentence().rule, "turns", "it has one in flight");
}

/// As fio with 8 jobs of buffered writes to one file.
#[test]
fn writers_of_one_file_wait_for_its_lock() {
    let scene = |locked: f64, call: &str, wchan: &str| {
        let threads = [
            ('D', "fio", call, wchan, locked),
            ('D', "fio", "write", "balance_dirty_pages", 0.3),
            ('R', "fio", "", "", 7.7 - locked),
        ];
        let mut scene = Scene::reading().threads(&threads).process("fio", 0.0, 0.0, 0.9);
        let fio = &mut scene.activity.processes.as_mut().unwrap()[0];
        (fio.written_bytes, fio.called_write, fio.delayed) = (Some(225e6), Some(225e6), Some(6.8 - locked));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { writes: 900.0, written_bytes: 225e6, queue_depth: 6.0, ..DiskRates::default() };
        scene
    };
    let text = |wchan: &str| {
        format!(
            "8 threads of fio wait for the lock of a file ({wchan}) 66 % of the time: writes to one file go one at a time"
        )
    };
    let own = "ext4_buffered_write_iter";
    scene(5.25, "pwrite64", own).says("file-lock", &text(own));
    // The call was not read, or the kernel names the semaphore.
    scene(5.25, "", own).says("file-lock", &text(own));
    let slow = "rwsem_down_write_slowpath";
    scene(5.25, "pwrite64", slow).says("file-lock", &text(slow));
    assert_ne!(scene(5.25, "mmap", slow).sentence().rule, "file-lock", "the lock of its memory");
    assert_ne!(scene(2.0, "pwrite64", own).sentence().rule, "file-lock", "a quarter of them");
    assert_eq!(held(&scene(3.5, "pwrite64", own), "file-lock"), Some("file-lock"));
}

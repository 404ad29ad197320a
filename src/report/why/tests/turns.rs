//! One thread that runs and waits for I/O by turns: what limits it, by what it does for longer.

use super::*;

/// A reader of one thread, which uses so much of a CPU, and the depth of the drive's queue.
fn reader(waits: &[(char, &str, &str, &str, f64)], cpus: f64, depth: f64) -> Scene {
    let command = waits[0].1;
    let mut scene = Scene::reading().threads(&[waits, &[('R', command, "", "", cpus)]].concat());
    scene = scene.process(command, 300e6, 300e6, cpus);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    let read = DiskRates { reads: 9e3, read_bytes: 300e6, queue_depth: depth, ..DiskRates::default() };
    *disk = DiskRates { read_await_ms: Some(0.05), utilisation: 55.0, ..read };
    scene
}

/// As tar of small files: it waits for their pages, and for blocks of the file system.
const FILES: [(char, &str, &str, &str, f64); 3] = [
    ('D', "tar", "read", "folio_wait_bit_common", 0.3),
    ('D', "tar", "openat", "__wait_on_buffer", 0.2),
    ('D', "tar", "newfstatat", "bit_wait_io", 0.15),
];

/// As `dd bs=1M` with `O_DIRECT`.
const CALLS: [(char, &str, &str, &str, f64); 1] = [('D', "dd", "read", "__iomap_dio_rw", 0.45)];

/// As `dd bs=1M` through the page cache.
const PAGES: [(char, &str, &str, &str, f64); 1] = [('D', "dd", "read", "folio_wait_bit_common", 0.45)];

const ITSELF: &str = "its one thread is the limit";

#[test]
fn a_thread_that_waits_for_longer_than_it_runs_is_not_its_own_limit() {
    for (scene, limit) in [
        (reader(&FILES, 0.35, 0.45), "with one I/O in flight at a time: the latency of"),
        (reader(&CALLS, 0.45, 2.6), ": the drives, their links or the latency of a call are the limit"),
        (reader(&PAGES, 0.45, 4.0), ": buffered reads are the limit, they wait for the page cache to fill"),
    ] {
        let sentence = scene.sentence();
        assert_eq!(sentence.rule, "turns", "{sentence:?}");
        assert!(sentence.text.contains(limit) && !sentence.text.contains(ITSELF), "{sentence:?}");
    }
}

#[test]
fn a_thread_is_its_own_limit_where_it_runs_more_than_half_of_the_time() {
    let deep = |cpus: f64| {
        let waits = [('D', "dd", "read", "folio_wait_bit_common", 1.0 - cpus)];
        reader(&waits, cpus, 4.0)
    };
    for cpus in [0.51, 0.6, 0.75] {
        let text = deep(cpus).sentence().text;
        assert!(text.ends_with(ITSELF), "{cpus}: {text}");
    }
    // Near the border the words stay as they are.
    let after = |cpus: f64, said: &str| {
        let scene = deep(cpus);
        look(&Inputs { said, ..scene.inputs() }, Some("turns")).shown.unwrap().text
    };
    let (itself, pages) = (deep(0.55).sentence().text, deep(0.52).sentence().text.replace(ITSELF, "pages"));
    assert!(after(0.45, &itself).ends_with(ITSELF) && !after(0.45, &pages).ends_with(ITSELF));
    assert!(!after(0.38, &itself).ends_with(ITSELF));
}

#[test]
fn a_thread_with_several_ios_in_flight_is_limited_by_drives_while_it_waits_for_them() {
    // As fio with libaio and iodepth=32, of which samples find few waits, or none in the first seconds.
    let fio = |waiting: f64| {
        let waits = [('S', "fio", "io_getevents", "read_events", waiting)];
        reader(&waits, 1.0 - waiting, 30.0)
    };
    let limit = "fio waits for completions (read_events): the drives or their links are the limit";
    for waiting in [0.22, 0.25, 0.33, 0.6] {
        fio(waiting).says("drives", limit);
    }
    let mut unseen = reader(&[('R', "fio", "", "", 0.3)], 0.7, 30.0);
    unseen.activity.processes.as_mut().unwrap()[0].cpus = 0.65;
    let sentence = unseen.sentence();
    assert!(!sentence.text.contains("thread is the limit"), "{sentence:?}");
}

#[test]
fn words_about_turns_stay_near_their_borders() {
    let after = |scene: &Scene, said: &str| {
        look(&Inputs { said, ..scene.inputs() }, Some("turns")).shown.unwrap().text
    };
    // Of two kinds of waits another one has more at each look.
    let files = |pages: f64, delayed: f64, depth: f64| {
        let mut waits = FILES;
        (waits[0].4, waits[1].4) = (pages, 0.5 - pages);
        let mut scene = reader(&waits, 0.35, depth);
        scene.activity.processes.as_mut().unwrap()[0].delayed = Some(delayed);
        scene
    };
    let (mixed, pages) = (files(0.2, 0.0, 0.45).sentence().text, files(0.4, 0.0, 0.45).sentence().text);
    assert!(mixed.starts_with("tar waits for I/O ") && pages.starts_with("tar waits for pages "), "{mixed}");
    for share in [0.25, 0.35] {
        let [first, then] = [&mixed, &pages].map(|said| after(&files(share, 0.0, 0.45), said));
        assert_eq!((first, then), (mixed.clone(), pages.clone()), "{share}");
    }
    // Short waits for a CPU, and a second I/O in flight now and then.
    let delays = after(&files(0.2, 0.15, 0.45), &mixed);
    assert!(delays.contains("% and for a CPU"), "{delays}");
    for (scene, is_one) in [(files(0.2, 0.08, 1.0), true), (files(0.2, 0.08, 2.0), false)] {
        assert!(after(&scene, &delays).contains("% and for a CPU"));
        assert!(!after(&scene, &mixed).contains("% and for a CPU"));
        assert!(after(&scene, &mixed).contains("one I/O in flight"));
        assert_eq!(after(&scene, "").contains("one I/O in flight"), is_one);
    }
}

/// As `find`, which reads directories and inodes.
#[test]
fn blocks_of_a_file_system_are_waited_for_as_completions_whatever_function_reads_them() {
    use waits::{Wait, wait_of};
    let wait = |syscall, wchan| {
        let scene = reader(&[('D', "find", syscall, wchan, 0.7)], 0.2, 0.7);
        wait_of(&scene.activity.threads.unwrap().kinds[0].0)
    };
    for wchan in ["__wait_on_buffer", "ext4_read_bh", "__ext4_get_inode_loc"] {
        assert_eq!(wait("newfstatat", wchan), Some(Wait::Completion), "{wchan}");
    }
    for syscall in ["write", "fsync"] {
        assert_eq!(wait(syscall, "__wait_on_buffer"), Some(Wait::Writeback), "{syscall}");
    }
}

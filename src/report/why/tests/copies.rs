//! One thread that copies through the page cache: one sentence, whatever it does most of the time in a second.

use super::*;

/// A second of `dd bs=1M` from a large cold file to another one: samples of its thread, its CPU time, what drives read and write.
struct Second {
    waits: &'static [(char, &'static str, &'static str, &'static str, f64)],
    cpus: f64,
    delayed: Option<f64>,
    bytes: [f64; 3],
    depth: f64,
}

/// As they were seen on a virtual machine: the drive writes nothing in the first seconds, more than is read later.
const SECONDS: [Second; 7] = [
    Second { waits: &[], cpus: 0.92, delayed: None, bytes: [447e6, 453e6, 0.7e6], depth: 0.8 },
    Second { waits: &[], cpus: 0.89, delayed: Some(0.02), bytes: [532e6, 527e6, 397e6], depth: 4.8 },
    Second {
        waits: &[('D', "dd", "read", "folio_wait_bit_common", 0.25)],
        cpus: 0.72,
        delayed: Some(0.06),
        bytes: [428e6, 428e6, 425e6],
        depth: 9.6,
    },
    Second {
        waits: &[('D', "dd", "read", "folio_wait_bit_common", 0.5)],
        cpus: 0.5,
        delayed: Some(0.03),
        bytes: [1191e6, 1191e6, 0.8e6],
        depth: 2.4,
    },
    Second {
        waits: &[
            ('D', "dd", "read", "folio_wait_bit_common", 0.75),
            ('D', "dd", "write", "ext4_da_get_block_prep", 0.25),
        ],
        cpus: 0.24,
        delayed: Some(0.01),
        bytes: [694e6, 697e6, 766e6],
        depth: 18.5,
    },
    Second {
        waits: &[
            ('D', "dd", "read", "folio_wait_bit_common", 0.25),
            ('D', "dd", "write", "ext4_da_get_block_prep", 0.5),
        ],
        cpus: 0.41,
        delayed: Some(0.04),
        bytes: [571e6, 567e6, 513e6],
        depth: 11.0,
    },
    Second {
        waits: &[('D', "dd", "write", "balance_dirty_pages", 0.75)],
        cpus: 0.2,
        delayed: Some(0.01),
        bytes: [260e6, 255e6, 800e6],
        depth: 40.0,
    },
];

impl Second {
    fn scene(&self) -> Scene {
        let Self { waits, cpus, delayed, bytes: [read, written, drives], depth } = *self;
        let waiting: f64 = waits.iter().map(|(.., mean)| mean).sum();
        let runs = ('R', "dd", "", "", 1.0 - waiting);
        let mut scene = Scene::idle().threads(&[waits, &[runs]].concat()).process("dd", read, read, cpus);
        let dd = &mut scene.activity.processes.as_mut().unwrap()[0];
        (dd.written_bytes, dd.called_write, dd.delayed) = (Some(written), Some(written), delayed);
        let all = CpuShares { usr: 20.0, sys: 57.0, idl: 7.0, wai: 16.0, ..CpuShares::default() };
        scene = scene.all(all).cpu(0, all).cpu(1, all);
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        let name = scene.machine.hardware_drives().next().unwrap().name.clone();
        let disk = DiskRates { reads: 110.0, read_bytes: read, queue_depth: depth, ..DiskRates::default() };
        let disk = DiskRates { writes: 350.0, written_bytes: drives, utilisation: 60.0, ..disk };
        scene.rates.disks.insert(name, DiskRates { write_await_ms: Some(20.0), ..disk });
        scene
    }
}

const LIMIT: &str = ": its one thread is the limit";
const WORDS: &str = "dd reads and writes through the page cache with one thread: it waits for reads ";

#[test]
fn a_copy_through_the_page_cache_has_one_sentence() {
    let mut said = String::new();
    for second in &SECONDS {
        let scene = second.scene();
        let found = look(&Inputs { said: &said, ..scene.inputs() }, Some("copy"));
        for sentence in [Some(found.first), found.shown] {
            let sentence = sentence.unwrap();
            assert!(
                sentence.rule == "copy" && sentence.text.starts_with(WORDS.trim_end_matches("for reads ")),
                "{sentence:?}"
            );
            said = sentence.text;
        }
    }
    let shares = "56 %, for writeback 19 % and runs 24 % of the time";
    SECONDS[4].scene().says("copy", &format!("{WORDS}{shares}"));
    SECONDS[6].scene().says("copy", "dd reads and writes through the page cache with one thread: it waits for writeback 79 % and runs 20 % of the time");
    // Another one has ended, of which means have more.
    let mut next = SECONDS[4].scene();
    next = next.process("dd", 415e6, 415e6, 0.0);
    let ended = next.activity.processes.as_mut().unwrap().last_mut().unwrap();
    (ended.pid, ended.has_ended, ended.written_bytes) = (6, true, Some(830e6));
    next.says("copy", &format!("{WORDS}{shares}"));
    // It has just begun, and is in no sample.
    let mut begun = SECONDS[3].scene().threads(&[]);
    begun.rates.pressure = Some(PressureShares { io_some: 64.6, ..PressureShares::default() });
    let shown = look(&Inputs { said: WORDS, ..begun.inputs() }, Some("copy")).shown.unwrap().text;
    assert_eq!(shown, format!("{WORDS}50 % and runs 50 % of the time"));
    // No wait was seen.
    SECONDS[1].scene().says("copy", &format!("{WORDS}9 % and runs 89 % of the time{LIMIT}"));
}

#[test]
fn the_thread_of_a_copy_that_fills_a_cpu_is_its_limit() {
    // As gzip of a large file.
    let gzip = |cpus: f64| {
        let mut second = SECONDS[1].scene().threads(&[('R', "dd", "", "", 1.0)]);
        let dd = &mut second.activity.processes.as_mut().unwrap()[0];
        (dd.cpus, dd.delayed) = (cpus, Some(0.0));
        second
    };
    let said = format!(
        "dd reads and writes through the page cache with one thread: it waits for reads 4 % and runs 96 % of the time{LIMIT}"
    );
    gzip(0.96).says("copy", &said);
    assert!(!gzip(0.78).sentence().text.ends_with(LIMIT));
    let stays = |cpus: f64| {
        let scene = gzip(cpus);
        look(&Inputs { said: &said, ..scene.inputs() }, Some("copy")).shown.unwrap().text
    };
    assert_eq!([0.78, 0.6].map(|cpus| stays(cpus).ends_with(LIMIT)), [true, false]);
}

#[test]
fn pages_that_kswapd_scans_are_no_limit_of_a_copy_unless_tasks_stall() {
    let scene = |memory_some: f64| {
        let mut scene = SECONDS[3].scene();
        let (scanned_by_kswapd, scanned_directly) = (290e3, 0.0);
        scene.rates.paging = Some(PagingRates { scanned_by_kswapd, scanned_directly, ..Default::default() });
        scene.rates.pressure = Some(PressureShares { memory_some, ..PressureShares::default() });
        scene
    };
    assert_eq!(scene(0.0).sentence().rule, "copy");
    assert_eq!(scene(30.0).sentence().rule, "reclaim");
    let mut reader = scene(0.0);
    reader.activity.processes.as_mut().unwrap()[0].written_bytes = Some(0.0);
    assert_eq!(reader.sentence().rule, "reclaim", "it only reads");
}

#[test]
fn what_is_no_buffered_copy_of_one_thread_has_a_sentence_of_its_own() {
    let change = |change: &dyn Fn(&mut Scene)| {
        let mut scene = SECONDS[4].scene();
        change(&mut scene);
        scene.sentence().rule
    };
    assert_eq!(change(&|_| {}), "copy");
    let dd = |scene: &mut Scene, written: f64| {
        scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(written);
    };
    let kinds = |scene: &mut Scene, change: fn(&mut ThreadKind)| {
        let threads = scene.activity.threads.as_mut().unwrap();
        threads.kinds.iter_mut().filter(|(kind, _)| kind.state == 'D').for_each(|(kind, _)| change(kind));
    };
    assert_ne!(change(&|scene| dd(scene, 100e6)), "copy");
    let direct = |kind: &mut ThreadKind| kind.wchan = Some(Label::new("__iomap_dio_rw"));
    assert_ne!(change(&|scene| kinds(scene, direct)), "copy");
    let syncs = |kind: &mut ThreadKind| kind.syscall = Some(Label::new("fsync"));
    assert_ne!(change(&|scene| kinds(scene, syncs)), "copy");
    let delays = |scene: &mut Scene| {
        let dd = &mut scene.activity.processes.as_mut().unwrap()[0];
        dd.delayed = Some(0.5);
    };
    assert_eq!(change(&delays), "cpu-waits");
}

//! Programs beside the one that moves most.

use super::*;

#[test]
fn other_programs_that_keep_the_cpus_busy_are_named() {
    let all = CpuShares { usr: 95.0, sys: 4.0, idl: 1.0, ..CpuShares::default() };
    let two = |mut scene: Scene| {
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene.all(all)
    };
    let fio = || two(Scene::reading()).process("fio", 1.2e9, 1.2e9, 0.3);
    fio().says("cpus", "Both CPUs are busy (usr 95 %, sys 4 %): the CPUs are the limit");
    let limit = "other programs are the limit";
    let says = |scene: Scene, who: &str| {
        scene.says("other-programs", &format!("Both CPUs are busy, most of the time with {who}: {limit}"));
    };
    let rustc = |cpus| fio().process("rustc", 0.0, 0.0, cpus);
    says(rustc(0.9).process("rustc", 0.0, 1e6, 0.7), "rustc");
    says(rustc(0.9).process("ld", 0.0, 0.0, 0.7), "rustc and others");
    says(rustc(0.7).process("ld", 0.0, 0.0, 0.7), "ld and rustc");
    let many = |last: &str| {
        ["cc1", "rustc", "ld", "as"]
            .into_iter()
            .fold(fio(), |scene, name| scene.process(name, 0.0, 0.0, if name == last { 0.39 } else { 0.4 }))
    };
    says(many("ld").process("perl", 0.0, 0.0, 0.1), "as, cc1 and others");
    let numbered = (0..4).fold(fio(), |scene, at| scene.process(&format!("rustc-{at}"), 0.0, 0.0, 0.4));
    says(numbered, "rustc-*");
    // What waits for its reads is not slowed down by others.
    let waits = |command: &str| {
        fio().process("rustc", 0.0, 1e6, 1.6).threads(&[('D', command, "read", "folio_wait_bit_common", 0.9)])
    };
    let words = "fio waits for pages to be read (folio_wait_bit_common): buffered reads are the limit, they wait for the page cache to fill; CPUs are busy too";
    waits("fio").says("page-cache", words);
    says(waits("tmux"), "rustc");
    // rustc writes what it makes: it is no program that hardly writes, and no limit of fio's.
    let mut writes = waits("fio");
    writes.activity.processes.as_mut().unwrap()[1].written_bytes = Some(40e6);
    writes.says("page-cache", words);
    let busy = "Both CPUs are busy (usr 95 %, sys 4 %): the CPUs are the limit";
    fio().process("gzip", 0.0, 30e6, 1.6).says("cpus", busy);
    fio().process("rustc", 0.0, 0.0, 0.9).says("cpus", busy);
    fio().process("kworker/0:1-kcryptd", 0.0, 0.0, 1.6).says("cpus", busy);
    fio().threads(&[('R', "kswapd*", "", "", 1.6)]).process("kswapd0", 0.0, 0.0, 1.6).says("cpus", busy);
    let mut one = fio().process("rustc", 0.0, 0.0, 0.9);
    one.rates.cpus.remove(&1);
    one.says("other-programs", &format!("The only CPU is busy, most of the time with rustc: {limit}"));
}

#[test]
fn a_thread_that_has_a_cpu_is_its_own_limit_beside_other_programs() {
    let all = CpuShares { usr: 60.0, sys: 39.0, idl: 1.0, ..CpuShares::default() };
    // Copies of a shell loop: short ones that ended, and the one of now.
    let copies = |cpus: f64| {
        let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all);
        scene.rates.cpus.retain(|cpu, _| *cpu < 2);
        scene = scene.process("dd", 1.0e9, 1.0e9, 0.8 * cpus).process("dd", 0.2e9, 0.2e9, 0.2 * cpus);
        scene.activity.processes.as_mut().unwrap()[0].has_ended = true;
        scene.process("yes", 0.0, 0.0, 1.9 - cpus).threads(&[('R', "dd", "", "", 0.85)])
    };
    copies(0.92).says("threads", "dd keeps one CPU busy for 1.20 GB/s: one thread is the limit");
    assert_eq!(copies(0.6).sentence().rule, "other-programs", "yes keeps it from its CPU");
}

/// Both CPUs are busy with hogs while fio reads.
fn beside_hogs(threads: &[(char, &str, &str, &str, f64)]) -> Scene {
    let all = CpuShares { usr: 90.0, sys: 9.0, idl: 1.0, ..CpuShares::default() };
    let mut scene = Scene::reading().all(all).cpu(0, all).cpu(1, all).threads(threads);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    scene.process("fio", 1.2e9, 1.2e9, 0.3).process("hog", 0.0, 0.0, 1.6)
}

#[test]
fn a_large_share_of_waits_for_io_is_the_limit_beside_busy_cpus() {
    let mixed = |page: f64, throttled: f64| {
        beside_hogs(&[
            ('D', "fio", "pread64", "folio_wait_bit_common", page),
            ('D', "fio", "pwrite64", "rq_qos_wait", throttled),
            ('R', "fio", "", "", 2.0 - page - throttled),
        ])
    };
    let reads = "buffered reads are the limit, they wait for the page cache to fill; CPUs are busy too";
    mixed(0.69, 0.44).says(
        "page-cache",
        &format!("1 of 2 threads of fio waits for pages to be read (folio_wait_bit_common): {reads}"),
    );
    let words = "fio waits for I/O 40 % of the time and runs or waits for a CPU the rest; CPUs are busy too";
    mixed(0.4, 0.4).says("turns", words);
    let busy = "Both CPUs are busy, most of the time with hog";
    mixed(0.2, 0.2).says("other-programs", &format!("{busy}: other programs are the limit"));
    let mut deep = mixed(0.2, 0.2);
    deep.rates.disks.values_mut().for_each(|disk| disk.utilisation = 97.0);
    let name = deep.rates.disks.keys().next().unwrap().clone();
    let limit = "has I/O in flight 97 % of the time: one of the two is the limit";
    deep.says("other-programs", &format!("{busy}; {} {limit}", name.as_str()));
}

#[test]
fn one_read_at_a_time_is_limited_by_latency_although_no_sample_finds_it_waiting() {
    let mut scene = beside_hogs(&[('R', "fio", "", "", 0.9)]);
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let disk = scene.rates.disks.values_mut().next().unwrap();
    (disk.queue_depth, disk.utilisation, disk.read_await_ms) = (0.85, 86.0, Some(0.09));
    // Their calls move much: they are no programs that hardly read or write.
    scene.activity.processes.as_mut().unwrap()[1].called_write = Some(9e9);
    let limit = "has one I/O in flight at a time (queue depth 0.8): the latency of";
    let words = format!("fio {limit} {}, 90.0 us, is the limit; CPUs are busy too", name.as_str());
    scene.says("latency", &words);
    scene.rates.disks.values_mut().next().unwrap().utilisation = 20.0;
    assert_eq!(scene.sentence().rule, "cpus");
}

#[test]
fn several_processes_with_one_read_each_are_limited_by_latency_although_samples_find_them_running() {
    let four = |depth: f64, wchan: &str| {
        let threads = [('R', "fio", "", "", 2.7), ('D', "fio", "pread64", wchan, 0.5)];
        let mut scene = Scene::reading().threads(&threads);
        for _ in 0..4 {
            scene = scene.process("fio", 45e6, 45e6, 0.12);
        }
        scene.activity.processes.as_mut().unwrap().iter_mut().for_each(|one| one.delayed = Some(0.12));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.read_bytes, disk.reads, disk.queue_depth) = (182e6, 44e3, depth);
        (disk.utilisation, disk.read_await_ms) = (75.0, Some(0.064));
        scene
    };
    let name = four(2.8, "").rates.disks.keys().next().unwrap().clone();
    let limit = format!("the latency of {}, 64.0 us, is the limit", name.as_str());
    let words = format!("4 processes of fio have one I/O in flight each (queue depth 2.8): {limit}");
    four(2.8, "__iomap_dio_rw").says("latency", &words);
    assert_ne!(four(32.0, "__iomap_dio_rw").sentence().text, words, "eight each");
    assert!(!four(2.8, "folio_wait_bit_common").sentence().text.contains("one I/O in flight each"));
}

#[test]
fn one_buffered_read_at_a_time_names_the_page_cache() {
    let threads = [('R', "fio", "", "", 0.9), ('D', "fio", "pread64", "folio_wait_bit_common", 0.1)];
    let mut scene = beside_hogs(&threads);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    (disk.queue_depth, disk.utilisation, disk.read_await_ms) = (0.85, 86.0, Some(0.09));
    scene.activity.processes.as_mut().unwrap()[1].called_write = Some(9e9);
    let text = scene.sentence().text;
    assert!(text.contains("at a time, for pages of the page cache (queue depth 0.8)"), "{text}");
}

#[test]
fn a_second_load_that_has_ended_is_not_named() {
    let several = [('S', "dd", "io_uring_enter", "io_cqring_wait", 1.0)];
    let mut scene = Scene::reading().threads(&several).process("dd", 1.1e9, 1.1e9, 0.05);
    let mut scene_of = |has_ended| {
        let mut ended =
            Scene::reading().process("bash", 91e6, 91e6, 0.0).activity.processes.unwrap().remove(0);
        ended.has_ended = has_ended;
        scene.activity.processes.as_mut().unwrap().truncate(1);
        scene.activity.processes.as_mut().unwrap().push(ended);
        scene.sentence().text
    };
    assert!(scene_of(false).contains("bash reads 91.0 MB/s beside it"), "{}", scene_of(false));
    assert!(!scene_of(true).contains("bash"));
}

#[test]
fn nice_programs_leave_the_cpus_to_others() {
    let nice = |fio_is_nice: bool| {
        let mut scene =
            beside_hogs(&[('D', "fio", "pread64", "__iomap_dio_rw", 0.25), ('R', "fio", "", "", 0.75)]);
        for process in scene.activity.processes.as_mut().unwrap() {
            process.is_nice = fio_is_nice || process.command.as_str() == "hog";
        }
        scene
    };
    let sentence = nice(false).sentence();
    assert!(!["cpus", "other-programs"].contains(&sentence.rule), "{sentence:?}");
    assert_eq!(nice(true).sentence().rule, "other-programs");
    let all = CpuShares { usr: 90.0, nice: 80.0, sys: 9.0, idl: 1.0, ..CpuShares::default() };
    assert_eq!(Scene::reading().all(all).sentence().rule, "queue", "processes are not known");
}

#[test]
fn the_page_cache_is_named_while_calls_return_much_more_than_drives_read() {
    let cached = |read: f64| {
        let mut scene = beside_hogs(&[('R', "dd", "", "", 0.5)]).process("dd", read, 6.4e9, 0.5);
        scene.activity.processes.as_mut().unwrap().remove(0);
        scene.rates.disks.values_mut().for_each(|disk| disk.read_bytes = read);
        scene
    };
    let words = "Read calls of dd return 6.40 GB/s, the drives read 3.00 MB/s: the rest comes from the page cache, \
                 a pipe or a device file such as /dev/urandom";
    cached(3e6).says("cached", words);
    assert_eq!(cached(2e9).sentence().rule, "other-programs");
    let mut alone = cached(3e6);
    alone.activity.processes.as_mut().unwrap().remove(0);
    alone.says("cached", words);
}

#[test]
fn a_trickle_of_io_beside_busy_cpus_has_no_limit_of_storage() {
    let trickle = |bytes: f64, ios: f64| {
        let mut scene = beside_hogs(&[('D', "cron", "read", "folio_wait_bit_common", 0.6)]);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].command, processes[0].read_bytes) = (Label::new("cron"), Some(bytes));
        (processes[0].called_read, processes[0].cpus) = (Some(bytes), 0.01);
        let disk = scene.rates.disks.values_mut().next().unwrap();
        *disk = DiskRates { reads: ios, read_bytes: bytes, queue_depth: 0.05, utilisation: 3.0, ..*disk };
        scene
    };
    let busy = "Both CPUs are busy, most of the time with hog, which hardly reads or writes";
    trickle(3e6, 250.0).says("little-io", &format!("{busy}; drives do little (3.00 MB/s) and are no limit"));
    // Less is a log of the system, of which there is none in some seconds.
    for bytes in [4e5, 2e4, 0.0] {
        trickle(bytes, 40.0).says("little-io", &format!("{busy}; drives do little and are no limit"));
    }
    // Beside a nice program as well, which leaves its time to others.
    let mut nice = trickle(3e6, 250.0).process("rustc", 0.0, 0.0, 0.5);
    let processes = nice.activity.processes.as_mut().unwrap();
    (processes[1].cpus, processes[2].is_nice) = (1.4, true);
    assert_eq!(nice.sentence().rule, "little-io", "{:?}", nice.sentence());
    // What keeps a drive busy may wait for it, however little it moves.
    let mut slow = trickle(3e6, 250.0);
    slow.rates.disks.values_mut().for_each(|disk| (disk.queue_depth, disk.utilisation) = (0.9, 92.0));
    assert_eq!(slow.sentence().rule, "page-cache", "{:?}", slow.sentence());
    assert_eq!(held(&trickle(25e6, 250.0), "little-io"), Some("little-io"));
    assert_ne!(trickle(25e6, 250.0).sentence().rule, "little-io");
}

#[test]
fn programs_that_are_named_stay_while_they_use_most() {
    let mut named: Vec<String> = Vec::new();
    let mut look_at = |cpus: &[(&str, f64)]| {
        let mut scene = beside_hogs(&[]);
        scene.activity.processes.as_mut().unwrap().pop();
        let scene = cpus.iter().fold(scene, |scene, (name, cpus)| scene.process(name, 0.0, 0.0, *cpus));
        let sentence =
            look(&Inputs { named: &named, ..scene.inputs() }, Some("other-programs")).shown.unwrap();
        named.clone_from(&sentence.named);
        let (_, with) = sentence.text.split_once("with ").unwrap();
        with.trim_end_matches(": other programs are the limit").to_owned()
    };
    let two = "cc1 and others";
    assert_eq!(look_at(&[("cc1", 0.9), ("as", 0.5), ("ld", 0.2)]), "cc1");
    assert_eq!(look_at(&[("cc1", 0.8), ("as", 0.7), ("ld", 0.1)]), two);
    assert_eq!(look_at(&[("cc1", 0.9), ("as", 0.6), ("ld", 0.1)]), two);
    assert_eq!(look_at(&[("cc1", 1.45), ("as", 0.1), ("ld", 0.05)]), two, "others still do something");
    assert_eq!(look_at(&[("cc1", 1.6)]), "cc1");
    assert_eq!(look_at(&[("cc1", 1.4), ("ld", 0.2)]), "cc1", "little beside it");
    assert_eq!(look_at(&[("cc1", 0.2), ("as", 0.5), ("ld", 0.9)]), "ld");
}

#[test]
fn another_iodyno_is_named_with_its_number() {
    let mut scene = beside_hogs(&[]);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[1].command, processes[1].pid) = (Label::new("iodyno"), 4711);
    let busy = "Both CPUs are busy, most of the time with another iodyno (PID 4711)";
    scene.says("other-programs", &format!("{busy}: other programs are the limit"));
    let mut idle = Scene::idle().process("iodyno", 0.0, 96e6, 0.99);
    idle.activity.processes.as_mut().unwrap()[0].pid = 4711;
    idle.says(
        "idle",
        "Drives are idle; another iodyno (PID 4711) keeps one CPU busy for 96.0 MB/s of read calls",
    );
    idle.activity.processes.as_mut().unwrap()[0].pid = OWN;
    idle.says("idle", "Drives are idle; iodyno keeps one CPU busy for 96.0 MB/s of read calls");
}

#[test]
fn threads_that_have_other_names_than_their_program_wait_for_it() {
    let reads = |wchan, waiting: f64| {
        let threads = [
            ('S', "iodyno", "futex", "futex_wait", 1.0),
            ('S', "read *", "io_uring_enter", wchan, waiting),
            ('R', "read *", "", "", 4.0 - waiting),
            ('R', "opt cgu.*", "", "", 2.0),
        ];
        let mut scene = Scene::reading().threads(&threads).process("iodyno", 1.2e9, 1.2e9, 0.6);
        let process = scene.activity.processes.as_mut().unwrap().last_mut().unwrap();
        (process.pid, process.delayed) = (4711, Some(0.1));
        scene
    };
    let limit = "the drives or their links are the limit";
    let who = "threads of another iodyno (PID 4711) wait for completions (io_cqring_wait)";
    reads("io_cqring_wait", 3.8).says("drives", &format!("4 {who} 82 % of the time: {limit}"));
    let words = format!("4 of 4 {who}: {limit}");
    let mut large = reads("io_cqring_wait", 3.9);
    let process = large.activity.processes.as_mut().unwrap().last_mut().unwrap();
    (process.cpus, process.delayed) = (0.07, Some(0.0));
    large.says("drives", &words);
    let mut slow = reads("io_cqring_wait", 0.2);
    slow.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 0.2);
    assert_ne!(slow.sentence().rule, "own-waits", "only its first thread sleeps: {:?}", slow.sentence());
}

#[test]
fn a_program_that_hardly_runs_takes_no_turns() {
    let scene = |waiting: f64| {
        let threads = [
            ('D', "cp", "read", "folio_wait_bit_common", waiting / 2.0),
            ('D', "cp", "write", "rq_qos_wait", waiting / 2.0),
            ('R', "cp", "", "", 1.0 - waiting),
        ];
        Scene::reading().threads(&threads).process("cp", 1.2e9, 1.2e9, 1.0 - waiting)
    };
    assert_eq!([0.6, 0.75].map(|waiting| scene(waiting).sentence().rule), ["turns"; 2]);
    assert_eq!([0.6, 0.75].map(|waiting| held(&scene(waiting), "turns")), [Some("turns"), None]);
}

#[test]
fn busy_cpus_are_named_beside_what_moves_where_neither_is_known_to_be_the_limit() {
    let mut scene = beside_hogs(&[('R', "dd", "", "", 0.4)]);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].command, processes[0].cpus, processes[0].delayed) = (Label::new("dd"), 0.9, Some(0.01));
    processes[1].is_nice = true;
    let busy = "CPUs are 99 % busy (usr 90 %, sys 9 %)";
    scene.says("moving", &format!("Drives read 1.20 GB/s; {busy}"));
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].cpus, processes[1].is_nice) = (0.3, false);
    scene.says("moving", &format!("Drives read 1.20 GB/s; {busy}, most of the time with hog"));
}

#[test]
fn a_second_load_that_is_named_stays_while_it_is_half_of_another() {
    let mut named: Vec<String> = Vec::new();
    let mut look_at = |cp: f64, tar: f64| {
        let scene = Scene::reading().threads(&[('D', "fio", "io_getevents", "read_events", 0.9)]);
        let scene = scene.process("fio", 1.2e9, 1.2e9, 0.1).process("cp", cp, cp, 0.1);
        let scene = scene.process("tar", tar, tar, 0.1);
        let sentence = sentence(&Inputs { named: &named, ..scene.inputs() });
        named = sentence.named;
        sentence.text.split_once("limit").unwrap().1.to_owned()
    };
    assert_eq!(look_at(90e6, 80e6), "; cp reads 90.0 MB/s beside it");
    assert_eq!(look_at(80e6, 90e6), "; cp reads 80.0 MB/s beside it");
    assert_eq!(look_at(40e6, 90e6), "; tar reads 90.0 MB/s beside it");
    assert_eq!(look_at(0.0, 0.0), "");
}

#[test]
fn a_program_with_hardly_any_of_the_bytes_is_not_named_beside_another() {
    let scene = |cp: f64| {
        let scene = Scene::reading().threads(&[('D', "fio", "io_getevents", "read_events", 0.9)]);
        scene.process("fio", 1.2e9, 1.2e9, 0.1).process("cp", cp, cp, 0.1)
    };
    let first = "fio waits for completions (read_events): the drives or their links are the limit";
    for little in [518e3, 1.2e6, 50e6] {
        scene(little).says("drives", first);
    }
    let both = format!("{first}; cp reads 70.0 MB/s beside it");
    scene(70e6).says("drives", &both);
    // It stays while it is half of that.
    let after = |cp: f64| {
        let scene = scene(cp);
        look(&Inputs { said: &both, ..scene.inputs() }, Some("drives")).shown.unwrap().text
    };
    assert_eq!(
        (after(40e6), after(20e6)),
        (format!("{first}; cp reads 40.0 MB/s beside it"), first.to_owned())
    );
}

#[test]
fn programs_that_keep_cpus_busy_beside_idle_drives_are_named_whatever_their_calls_read() {
    let all = CpuShares { usr: 20.0, sys: 31.0, idl: 49.0, ..CpuShares::default() };
    let mut scene = Scene::idle().all(all).process("true", 0.0, 16e6, 1.9);
    scene.activity.processes.as_mut().unwrap()[0].has_ended = true;
    let cpus = "CPUs are 51 % busy (usr 20 %, sys 31 %)";
    let words = scene.sentence().text;
    assert_eq!(words, format!("Drives are idle; {cpus}, most of the time with true"));
    scene.activity.processes.as_mut().unwrap()[0].command = Label::new("a child of sh");
    assert!(scene.sentence().text.ends_with("most of the time with short processes that sh starts"));
    let one = CpuShares { usr: 10.0, sys: 15.0, idl: 75.0, ..CpuShares::default() };
    let mut scene = Scene::idle().all(one).process("true", 0.0, 7e6, 0.98);
    assert!(scene.sentence().text.ends_with("true keeps one CPU busy for 7.00 MB/s of read calls"));
    scene.activity.processes.as_mut().unwrap()[0].has_ended = true;
    assert_eq!(scene.sentence().text, "Drives are idle; true keeps one CPU busy", "it reads its libraries");
}

#[test]
fn a_program_with_a_digit_in_its_name_keeps_it() {
    let full = CpuShares { usr: 95.0, idl: 5.0, ..CpuShares::default() };
    let threads = [('R', "md*sum", "", "", 0.98)];
    let scene = Scene::reading().threads(&threads).process("md5sum", 1.2e9, 1.2e9, 0.98).cpu(1, full);
    scene.says("threads", "md5sum keeps one CPU busy for 1.20 GB/s: one thread is the limit");
    let turns = [('D', "md*sum", "read", "folio_wait_bit_common", 0.4), ('R', "md*sum", "", "", 0.6)];
    let scene = Scene::reading().threads(&turns).process("md5sum", 1.2e9, 1.2e9, 0.6);
    assert!(scene.sentence().text.starts_with("md5sum waits for pages"), "{:?}", scene.sentence());
}

//! A program at the other end of a pipe.

use super::*;

/// As `dd iflag=direct | gzip`: samples find dd running when gzip has just taken what it wrote.
fn compressed(kinds: &[(char, &str, &str, &str, f64)]) -> Scene {
    let full = CpuShares { usr: 51.0, sys: 3.0, idl: 46.0, ..CpuShares::default() };
    let mut scene = Scene::reading().all(full).threads(kinds);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { reads: 83.0, read_bytes: 43.3e6, queue_depth: 0.1, utilisation: 5.0, ..*disk };
    disk.read_await_ms = Some(1.22);
    let mut scene = scene.process("dd", 43.2e6, 43.2e6, 0.032).process("gzip", 0.0, 43.1e6, 0.992);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].called_write, processes[0].delayed) = (Some(43.2e6), Some(0.015));
    processes[1].called_write = Some(43.1e6);
    scene
}

const FOUND: [(char, &str, &str, &str, f64); 4] = [
    ('R', "gzip", "", "", 1.0),
    ('R', "dd", "", "", 0.56),
    ('S', "dd", "write", "anon_pipe_write", 0.31),
    ('D', "dd", "read", "__iomap_dio_rw", 0.12),
];

#[test]
fn what_takes_the_data_of_a_reader_and_fills_a_cpu_is_the_limit() {
    let words = "gzip's one thread is the limit (99 % of a CPU): it reads what dd writes, 43.2 MB/s";
    compressed(&FOUND).says("pipe", words);
    let mut idle = compressed(&FOUND);
    idle.activity.processes.as_mut().unwrap()[1].cpus = 0.4;
    assert_ne!(idle.sentence().rule, "pipe", "{:?}", idle.sentence());
    // Its calls are about other data.
    let mut other = compressed(&FOUND);
    other.activity.processes.as_mut().unwrap()[1].called_read = Some(20e6);
    other.says("moving", "Drives read 43.3 MB/s; gzip keeps one CPU busy for 43.1 MB/s of write calls");
    assert_eq!(held(&compressed(&FOUND), "pipe"), Some("pipe"));
}

#[test]
fn what_gives_the_data_of_a_writer_and_fills_a_cpu_is_the_limit() {
    let mut scene = compressed(&[('R', "xz", "", "", 1.0), ('S', "dd", "read", "anon_pipe_read", 0.9)]);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].read_bytes, processes[0].written_bytes) = (Some(0.0), Some(43.2e6));
    (processes[1].command, processes[1].called_read) = (Label::new("xz"), Some(8e6));
    scene.says("pipe", "xz's one thread is the limit (99 % of a CPU): it writes what dd reads, 43.2 MB/s");
}

/// As `tar | cat > FILE`: each has waits at the pipe, and which of them moved more changes from second to second.
#[test]
fn of_two_ends_that_move_as_much_the_sentence_is_about_the_reader() {
    let kinds = [
        ('R', "tar", "", "", 0.4),
        ('S', "tar", "write", "anon_pipe_write", 0.6),
        ('R', "cat", "", "", 0.4),
        ('S', "cat", "read", "anon_pipe_read", 0.6),
    ];
    for written in [40e6, 43.2e6, 50e6] {
        let mut scene = compressed(&kinds);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].command, processes[0].cpus) = (Label::new("tar"), 0.35);
        processes[0].delayed = Some(0.05);
        (processes[1].command, processes[1].cpus) = (Label::new("cat"), 0.25);
        (processes[1].written_bytes, processes[1].called_write) = (Some(written), Some(written));
        let words = "tar waits for the other end of its pipe (anon_pipe_write) 60 % of the time: cat, which reads what";
        let text = scene.sentence().text;
        assert!(text.starts_with(words), "{written}: {text}");
    }
}

/// As in a loop of `dd | gzip`: of short processes neither CPU time nor bytes are known apart.
#[test]
fn a_reader_that_waits_for_its_pipe_names_what_empties_it() {
    let short = [
        ('R', "gzip", "", "", 0.25),
        ('D', "dd", "read", "__iomap_dio_rw", 0.06),
        ('R', "dd", "", "", 0.06),
        ('S', "dd", "write", "anon_pipe_write", 0.5),
    ];
    let mut scene = compressed(&short);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].read_bytes, processes[0].cpus, processes[0].delayed) = (Some(28e6), 0.36, None);
    (processes[1].read_bytes, processes[1].cpus) = (Some(15e6), 0.66);
    let words = "dd waits for the other end of its pipe (anon_pipe_write) 81 % of the time";
    scene.says("pipe", &format!("{words}: gzip, which reads what it writes, is the limit"));
    scene.activity.processes.as_mut().unwrap()[1].called_read = Some(1e6);
    scene.says("pipe", &format!("{words}: the program that reads what it writes is the limit"));
    // Other threads of a program wait for commands.
    scene.activity.threads.as_mut().unwrap().kinds[3].1 = 4.0;
    assert_ne!(scene.sentence().rule, "pipe", "{:?}", scene.sentence());
}

/// As `cat FILE | gzip | cat >OUT`, of a file in the page cache: drives are idle until writeback begins.
#[test]
fn two_processes_of_one_command_around_a_pipe_do_not_hide_its_limit() {
    let full = CpuShares { usr: 51.0, sys: 3.0, idl: 46.0, ..CpuShares::default() };
    let threads = [('R', "gzip", "", "", 0.99), ('S', "cat", "read", "anon_pipe_read", 0.9)];
    let mut scene = Scene::idle().all(full).threads(&threads);
    scene.rates.cpus.retain(|cpu, _| *cpu < 2);
    // The first cat reads twice what gzip writes, the second one writes that.
    scene = scene.process("cat", 0.0, 60e6, 0.02).process("gzip", 0.0, 40e6, 0.99);
    let processes = scene.activity.processes.as_mut().unwrap();
    (processes[0].written_bytes, processes[0].called_write) = (Some(20e6), Some(60e6));
    processes[1].called_write = Some(20e6);
    scene.says("pipe", "gzip's one thread is the limit (99 % of a CPU): it writes what cat reads, 20.0 MB/s");
    scene.activity.processes.as_mut().unwrap()[1].called_write = Some(33e6);
    let other = scene.sentence().text;
    assert!(other.ends_with("the program that writes what it reads is the limit"), "{other}");
}

/// As `tar cf - FOLDER | cat >OUT` of small files that are not in the page cache.
#[test]
fn who_reads_and_waits_is_named_before_who_writes_the_same_to_the_page_cache() {
    let threads = [('D', "tar", "read", "folio_wait_bit_common", 0.4), ('R', "tar", "", "", 0.6)];
    let mut scene = Scene::reading().threads(&threads);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    (disk.read_bytes, disk.queue_depth, disk.read_await_ms) = (86e6, 3.0, Some(0.05));
    let mut scene = scene.process("tar", 86e6, 80e6, 0.6).process("cat", 0.0, 84e6, 0.05);
    scene = scene.process("journald", 0.0, 0.0, 0.01);
    let processes = scene.activity.processes.as_mut().unwrap();
    processes[0].called_write = Some(84e6);
    (processes[1].written_bytes, processes[1].called_write) = (Some(84e6), Some(84e6));
    processes[2].written_bytes = Some(4e6);
    let words = "tar waits for pages of the page cache 40 % of the time and runs the rest";
    scene.says("turns", &format!("{words}: its one thread is the limit"));
}

/// As a writer on a loop device, whose kernel thread writes the same and more to the drive below.
#[test]
fn a_program_that_moves_nothing_is_not_the_one_that_moves_most() {
    let mut scene = Scene::idle().threads(&[('D', "dd", "fsync", "folio_wait_bit", 0.9)]);
    for (command, written) in [("bash", 0.0), ("dd", 1.22e9), ("kworker/u8:10", 1.25e9)] {
        scene = scene.process(command, 0.0, 0.0, 0.1);
        scene.activity.processes.as_mut().unwrap().last_mut().unwrap().written_bytes = Some(written);
    }
    let name = scene.machine.hardware_drives().next().unwrap().name.clone();
    let disk = DiskRates { writes: 300.0, written_bytes: 1.21e9, queue_depth: 9.0, ..DiskRates::default() };
    scene.rates.disks.insert(name, disk);
    let inputs = scene.inputs();
    let facts = Facts::new(&inputs);
    assert_eq!(facts.mover().map(|program| program.command.as_str()), Some("dd"));
}

/// As `tar | xz`: most samples find tar running, which uses a tenth of a CPU.
#[test]
fn the_wait_for_a_pipe_is_the_time_that_is_no_cpu_time() {
    let kinds = [
        ('R', "tar", "", "", 0.55),
        ('S', "tar", "write", "anon_pipe_write", 0.4),
        ('D', "tar", "read", "folio_wait_bit_common", 0.05),
    ];
    let scene = |delayed: Option<f64>| {
        let mut scene = compressed(&kinds);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].command, processes[0].cpus, processes[0].delayed) = (Label::new("tar"), 0.1, delayed);
        processes[1].cpus = 0.6;
        scene
    };
    let words = "tar waits for the other end of its pipe (anon_pipe_write) 76 % of the time";
    let limit = "gzip, which reads what it writes, is the limit";
    scene(Some(0.04)).says("pipe", &format!("{words}: {limit}"));
    assert_ne!(scene(None).sentence().rule, "pipe", "samples alone");
    // Each of two processes has its own share.
    let two = scene(Some(0.04)).process("tar", 0.0, 0.0, 0.0);
    assert_ne!(two.sentence().rule, "pipe", "{:?}", two.sentence());
}

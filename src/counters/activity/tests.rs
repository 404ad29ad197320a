//! Rates of processes, and of children that ended.

use super::*;

/// A process that began at tick 1 and has moved nothing.
fn process(command: &str) -> ProcessCounters {
    ProcessCounters {
        started: 1,
        parent: 0,
        command: Label::new(command),
        read_bytes: Some(0),
        written_bytes: Some(0),
        called_read: None,
        called_write: None,
        cpu: 0,
        is_nice: false,
        own: None,
        child_cpu: 0,
        child: None,
        delayed: None,
        drives: None,
    }
}

fn sample(all: &[(u32, ProcessCounters)]) -> ProcessSample {
    ProcessSample { processes: all.iter().cloned().collect(), ..ProcessSample::default() }
}

#[test]
fn a_process_that_began_since_the_last_sample_counts_from_zero() {
    let process = |started, read| ProcessCounters {
        started,
        read_bytes: Some(read),
        cpu: read / 100,
        ..process("fio")
    };
    let before =
        sample(&[(7, process(1, 1000)), (8, process(2, 500)), (6, process(1, 9)), (5, process(1, 9))]);
    let after = sample(&[
        (7, process(1, 5000)),
        (8, process(9, 600)),
        (9, process(3, 200)),
        (6, process(1, 9)),
        (5, process(1, 8)),
    ]);
    let rates = process_rates(&before, &after, Duration::from_secs(2), 100.0);
    let read: Vec<_> = rates.iter().map(|one| (one.pid, one.read_bytes, one.called_read, one.cpus)).collect();
    // 8 is another process of the same number, 6 did nothing, 5 has a counter that decreased.
    assert_eq!(
        read,
        [(7, Some(2000.0), None, 0.2), (8, Some(300.0), None, 0.03), (9, Some(100.0), None, 0.01)]
    );
    let all = ProcessSample::default();
    assert!(process_rates(&all, &after, Duration::from_secs(2), 100.0).is_empty(), "/proc could not be read");
}

#[test]
fn what_an_ended_child_moved_is_not_counted_again_in_its_parent() {
    let process = |started, parent, moved: [u64; 2]| ProcessCounters {
        started,
        parent,
        read_bytes: Some(moved[0]),
        written_bytes: None,
        called_read: Some(moved[1]),
        called_write: Some(0),
        ..process("sh")
    };
    let read = |before: &[(u32, ProcessCounters)], after: &[(u32, ProcessCounters)]| {
        let rates = process_rates(&sample(before), &sample(after), Duration::from_secs(1), 100.0);
        let of = |one: &ProcessRates| (one.pid, one.read_bytes, one.called_read);
        rates.iter().map(of).collect::<Vec<_>>()
    };
    let shell = |moved| (2, process(1, 1, moved));
    let dd = |started, parent, moved| (3, process(started, parent, moved));
    let before = [shell([10, 20]), dd(5, 2, [1000, 1200])];
    // 50 more that the child read after the earlier sample, 7 of the shell's own calls.
    let grown = [1060, 1277];
    assert_eq!(read(&before, &[shell(grown)]), [(2, Some(50.0), Some(57.0))]);
    let next = [shell(grown), dd(9, 2, [0, 8])];
    let both = [(2, Some(50.0), Some(57.0)), (3, Some(0.0), Some(8.0))];
    assert_eq!(read(&before, &next), both, "another process of its number");
    assert_eq!(read(&before, &[shell([10, 20])]), [], "a parent that has not waited");
    let own = [shell([910, 1120])];
    assert_eq!(read(&before, &own), [(2, Some(900.0), Some(1100.0))], "a parent that ignores SIGCHLD");
    let beside = [shell([10, 20]), dd(5, 1, [1000, 1200])];
    assert_eq!(read(&beside, &[shell(grown)]), [(2, Some(1050.0), Some(1257.0))], "not its child");

    // The parent ended too: what it had waited for comes to its own parent.
    let script = (4, process(2, 2, [100, 100]));
    let before = [shell([0, 0]), script, dd(5, 4, [1000, 1200])];
    assert_eq!(read(&before, &[shell([1100, 1302])]), [(2, Some(0.0), Some(2.0))]);
    let circle = [(6, process(1, 7, [1, 1])), (7, process(1, 6, [1, 1])), shell([0, 0])];
    assert_eq!(read(&circle, &[shell([1, 1])]), [(2, Some(1.0), Some(1.0))]);
}

#[test]
fn waits_for_a_cpu_are_a_mean_number_of_threads() {
    let rates = |before, after| {
        let sample = |delayed, cpu| sample(&[(2, ProcessCounters { cpu, delayed, ..process("fio") })]);
        process_rates(&sample(before, 0), &sample(after, 9), Duration::from_secs(2), 100.0)
            .pop()
            .unwrap()
            .delayed
    };
    assert_eq!(rates(Some(1_000_000_000), Some(2_000_000_000)), Some(0.5));
    assert_eq!(rates(None, Some(2_000_000_000)), None, "it moved less than others before");
    assert_eq!(rates(Some(2), Some(1)), None, "a thread has ended");
}

#[test]
fn short_children_are_named_and_their_shell_keeps_its_own() {
    let shell = |own: u64, of_children: u64, child_cpu| ProcessCounters {
        written_bytes: Some(of_children),
        called_read: Some(own + of_children),
        called_write: Some(of_children),
        cpu: 2,
        own: Some([Some(0), Some(0), Some(own), Some(0)]),
        child_cpu,
        child: Some(Label::new("dd")),
        ..process("bash")
    };
    let dd = ProcessCounters {
        parent: 7,
        command: Label::new("dd"),
        own: None,
        child: None,
        cpu: 10,
        ..shell(300, 300, 0)
    };
    // A child that the first sample saw ended, and others that no sample saw.
    let drives = Some(vec![DriveName::new("sda")]);
    let before = sample(&[(7, shell(10, 1000, 5)), (8, dd)]);
    let after = sample(&[(7, ProcessCounters { drives: drives.clone(), ..shell(15, 6000, 75) })]);
    let rates = process_rates(&before, &after, Duration::from_secs(1), 100.0);
    let of: Vec<_> =
        rates.iter().map(|one| (one.command.as_str(), one.pid, one.has_ended, one.written_bytes)).collect();
    assert_eq!(of, [("dd", 7, true, Some(4700.0)), ("bash", 7, false, Some(0.0))]);
    assert_eq!((rates[0].cpus, rates[1].called_read), (0.6, Some(5.0)));
    assert_eq!((&rates[0].drives, &rates[1].drives), (&None, &drives), "the files are the shell's");
    let with = |change: fn(&mut ProcessCounters)| {
        let [before, after] = [shell(10, 1000, 5), shell(15, 6000, 75)].map(|mut shell| {
            change(&mut shell);
            sample(&[(7, shell)])
        });
        process_rates(&before, &after, Duration::from_secs(1), 100.0)
    };
    // Children that no sample saw are not the shell's own.
    let rates = with(|shell| shell.child = None);
    let of: Vec<_> =
        rates.iter().map(|one| (one.command.as_str(), one.has_ended, one.written_bytes)).collect();
    assert_eq!(of, [("a child of bash", true, Some(5000.0)), ("bash", false, Some(0.0))]);
    // Without counters of its own they stay with the shell.
    let rates = with(|shell| shell.own = None);
    assert_eq!((rates.len(), rates[0].command.as_str(), rates[0].written_bytes), (1, "bash", Some(5000.0)));
}

#[test]
fn the_first_child_that_a_shell_waits_for_is_not_the_shell() {
    let process = |command, own: Option<u64>, moved: u64| ProcessCounters {
        read_bytes: Some(moved),
        called_read: Some(moved),
        called_write: Some(0),
        cpu: 1,
        own: own.map(|own| [Some(own), Some(0), Some(own), Some(0)]),
        child: own.map(|_| Label::new("dd")),
        ..process(command)
    };
    let read = |before: &[(u32, ProcessCounters)], after: ProcessCounters| {
        let rates = process_rates(&sample(before), &sample(&[(7, after)]), Duration::from_secs(1), 100.0);
        let of = |one: &ProcessRates| (one.command.to_string(), one.has_ended, one.read_bytes);
        rates.iter().map(of).collect::<Vec<_>>()
    };
    let row = |name: &str, has_ended, read| (name.to_owned(), has_ended, Some(read));
    let other = (9, process("init", None, 1));
    // It had read 10 bytes itself before it waited for the first child.
    let shell = (7, process("bash", None, 10));
    let both = [row("dd", true, 5000.0), row("bash", false, 2.0)];
    assert_eq!(read(&[shell, other.clone()], process("bash", Some(12), 5012)), both);
    let begun = [row("dd", true, 5000.0), row("bash", false, 12.0)];
    assert_eq!(read(std::slice::from_ref(&other), process("bash", Some(12), 5012)), begun, "it began since");
    // Threads that ended before leave their counters to the process.
    let threads = (7, process("bash", None, 4000));
    assert_eq!(read(&[threads, other], process("bash", Some(12), 5012)), [row("bash", false, 1012.0)]);
}

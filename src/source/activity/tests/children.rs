//! Children that ended: their names, and the counters of their parents.

use super::*;

/// The text of `/proc/PID/io` of a process that has written so many bytes.
fn io(bytes: u64) -> String {
    format!("rchar: {bytes}\nwchar: 2\nread_bytes: 0\nwrite_bytes: {bytes}\n")
}

#[test]
fn short_children_leave_their_name_and_their_shell_its_own_counters() {
    let machine = Machine::new();
    // Field 11: page faults of children that it has waited for; fields 16 and 17: their CPU time.
    let shell = |faults| format!("10 (bash) S 1 1 1 0 -1 0 0 {faults} 0 0 3 1 40 5 20 0 1 0 77 0\n");
    machine.put("proc/10/stat", &shell(900));
    machine.put("proc/10/io", &io(5 << 30));
    machine.put("proc/10/task/10/io", &io(4096));
    machine.put("proc/20/stat", &shell(0).replace("10 (bash)", "20 (sh)"));
    machine.put("proc/20/io", &io(7));
    for (pid, name, state) in [(11, "dd", 'R'), (12, "sleep", 'S')] {
        machine.put(
            &format!("proc/{pid}/stat"),
            &format!("{pid} ({name}) {state} 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n"),
        );
        machine.put(&format!("proc/{pid}/io"), &io(9));
    }
    let mut reader = ActivityReader::default();
    threads(&mut reader, &machine, &mut || true);
    let of = |sample: &ProcessSample, pid| {
        let process = &sample.processes[&pid];
        (process.own, process.child_cpu, process.child.as_ref().map(ToString::to_string))
    };
    let first = processes(&mut reader, &machine);
    let own = Some([Some(0), Some(4096), Some(4096), Some(2)]);
    assert_eq!(of(&first, 10), (own, 45, None), "dd lives: what was waited for is another one");
    assert_eq!(of(&first, 20), (None, 45, None), "it has waited for no child");
    // Between two children none is seen: the name stays.
    fs::remove_dir_all(machine.place("proc/11")).unwrap();
    fs::remove_file(machine.place("proc/12/stat")).unwrap();
    assert_eq!(of(&processes(&mut reader, &machine), 10), (own, 45, Some("dd".to_owned())));
}

#[test]
fn a_child_is_named_by_what_was_seen_before_its_parent_waited_for_it() {
    let machine = Machine::new();
    let stat = |faults: u32| format!("10 (bash) S 1 1 1 0 -1 0 0 {faults} 0 0 3 1 0 0 20 0 1 0 77 0\n");
    machine.put("proc/10/stat", &stat(0));
    machine.put("proc/10/io", &io(7));
    machine.put("proc/10/task/10/io", &io(7));
    machine.put("proc/11/stat", "11 (dd) R 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n");
    machine.put("proc/11/io", &io(9 << 20));
    let mut reader = ActivityReader::default();
    assert_eq!(processes(&mut reader, &machine).processes[&10].own, None, "it has waited for none");
    fs::remove_dir_all(machine.place("proc/11")).unwrap();
    machine.put("proc/10/stat", &stat(300));
    machine.put("proc/10/io", &io(7 + (12 << 20)));
    let shell = processes(&mut reader, &machine).processes[&10].clone();
    assert!(shell.own.is_some() && shell.child.is_some_and(|child| child.as_str() == "dd"));
}

#[test]
fn what_a_script_has_from_its_children_bears_their_name() {
    let machine = Machine::new();
    let stat = |pid: u32, name: &str, parent: u32, faults: u32| {
        let text = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 {faults} 0 0 3 1 0 0 20 0 1 0 77 0\n");
        machine.put(&format!("proc/{pid}/stat"), &text);
    };
    let put_io = |file: &str, bytes: u64| machine.put(file, &io(bytes));
    stat(10, "init", 1, 300);
    stat(11, "bash", 10, 300);
    stat(12, "dd", 11, 0);
    for (file, bytes) in [
        ("proc/10/io", 7),
        ("proc/10/task/10/io", 7),
        ("proc/11/io", 40 << 20),
        ("proc/11/task/11/io", 7),
        ("proc/12/io", 9 << 20),
    ] {
        put_io(file, bytes);
    }
    let mut reader = ActivityReader::default();
    processes(&mut reader, &machine);
    fs::remove_dir_all(machine.place("proc/12")).unwrap();
    processes(&mut reader, &machine);
    fs::remove_dir_all(machine.place("proc/11")).unwrap();
    put_io("proc/10/io", 60 << 20);
    let child = processes(&mut reader, &machine).processes[&10].child.clone();
    assert_eq!(child.as_ref().map(ToString::to_string).as_deref(), Some("dd"));
}

/// As `dd bs=4k count=64` in a loop: each ends before it has moved a MiB.
#[test]
fn a_child_that_has_just_begun_is_named_after_few_bytes() {
    let machine = Machine::new();
    machine.put("proc/10/stat", "10 (bash) S 1 1 1 0 -1 0 0 900 0 0 3 1 40 5 20 0 1 0 77 0\n");
    machine.put("proc/10/io", &io(5 << 30));
    machine.put("proc/10/task/10/io", &io(4096));
    let mut reader = ActivityReader::default();
    processes(&mut reader, &machine);
    for (pid, name, bytes) in [(11, "sleep", 9000), (12, "dd", 92 << 10)] {
        machine.put(
            &format!("proc/{pid}/stat"),
            &format!("{pid} ({name}) S 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n"),
        );
        machine.put(&format!("proc/{pid}/io"), &io(bytes));
    }
    processes(&mut reader, &machine);
    for pid in [11, 12] {
        fs::remove_dir_all(machine.place(&format!("proc/{pid}"))).unwrap();
    }
    let child = processes(&mut reader, &machine).processes[&10].child.clone();
    assert_eq!(child.as_ref().map(ToString::to_string).as_deref(), Some("dd"));
}

/// As a shell that runs this program and another one while it waits for `dd`.
#[test]
fn bytes_of_a_child_that_ended_never_bear_the_name_of_one_that_lives() {
    let machine = Machine::new();
    machine.put("proc/10/stat", "10 (sh) S 1 1 1 0 -1 0 0 900 0 0 3 1 40 5 20 0 1 0 77 0\n");
    machine.put("proc/10/io", &io(5 << 20));
    machine.put("proc/10/task/10/io", &io(4096));
    let child = |pid: u32, name: &str| {
        let stat = format!("{pid} ({name}) R 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n");
        machine.put(&format!("proc/{pid}/stat"), &stat);
        machine.put(&format!("proc/{pid}/io"), &io(9 << 20));
    };
    child(11, "python3");
    let mut reader = ActivityReader::default();
    let mut name = || {
        threads(&mut reader, &machine, &mut || true);
        let child = processes(&mut reader, &machine).processes[&10].child.clone();
        child.map(|child| child.to_string())
    };
    for _ in 0..3 {
        assert_eq!(name(), None, "it lives");
    }
    child(12, "dd");
    assert_eq!(name(), None, "both live");
    fs::remove_dir_all(machine.place("proc/12")).unwrap();
    assert_eq!(name().as_deref(), Some("dd"), "seen less often than the one that lives");
}

/// As `while :; do tar cf - FOLDER | cat >OUT; done`: the shell forks before it executes, and opens the file.
#[test]
fn a_child_that_has_executed_nothing_yet_gives_no_name() {
    let machine = Machine::new();
    machine.put("proc/10/stat", "10 (bash) S 1 1 1 0 -1 0 0 900 0 0 3 1 40 5 20 0 1 0 77 0\n");
    machine.put("proc/10/io", &io(5 << 20));
    machine.put("proc/10/task/10/io", &io(4096));
    let mut reader = ActivityReader::default();
    let mut look = |children: &[(u32, &str, char, u64)]| {
        for (pid, name, state, bytes) in children {
            let stat = format!("{pid} ({name}) {state} 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n");
            machine.put(&format!("proc/{pid}/stat"), &stat);
            machine.put(&format!("proc/{pid}/io"), &io(*bytes));
            machine.put(&format!("proc/{pid}/task/{pid}/stat"), &stat);
        }
        for _ in 0..3 {
            threads(&mut reader, &machine, &mut || true);
        }
        processes(&mut reader, &machine);
        for (pid, ..) in children {
            fs::remove_dir_all(machine.place(&format!("proc/{pid}"))).unwrap();
        }
        let sample = processes(&mut reader, &machine);
        let child = sample.processes[&10].child.as_ref().map(ToString::to_string);
        let beside = sample.children.get(&10).into_iter().flatten().map(ToString::to_string);
        (child, beside.collect::<Vec<_>>())
    };
    let cat = || Some("cat".to_owned());
    let forked = (13, "bash", 'D', 0);
    assert_eq!(look(&[forked]), (None, vec![]), "it is only forked");
    let both = [(11, "cat", 'R', 40 << 20), (12, "tar", 'R', 40 << 20), forked];
    let (child, beside) = look(&both);
    assert!(child.is_none() && beside.is_empty(), "one may follow the other: {child:?} {beside:?}");
    assert_eq!(look(&both), (None, vec!["cat".to_owned(), "tar".to_owned()]), "each may have written");
    let (child, beside) = look(&both[..1]);
    assert!(child == cat() && beside.len() == 2, "a sample lacks one of them: {child:?} {beside:?}");
    assert_eq!(look(&[forked]).0, cat(), "the last that did something");
    assert_eq!(look(&[(14, "bash", 'R', 40 << 20)]).0.as_deref(), Some("bash"), "a loop of its own");
    for _ in 0..4 {
        look(&[(15, "dd", 'R', 40 << 20)]);
    }
    assert_eq!(look(&[(15, "dd", 'R', 40 << 20)]), (Some("dd".to_owned()), vec![]));
}

/// As `while :; do tar cf - FOLDER | cat >/dev/null; done`: both are seen as often, one of them reads storage.
#[test]
fn bytes_of_storage_bear_the_name_of_the_child_that_moves_them() {
    let machine = Machine::new();
    machine.put("proc/10/stat", "10 (bash) S 1 1 1 0 -1 0 0 900 0 0 3 1 40 5 20 0 1 0 77 0\n");
    machine.put("proc/10/io", &io(5 << 20));
    machine.put("proc/10/task/10/io", &io(4096));
    let mut reader = ActivityReader::default();
    let mut look = |children: &[(u32, &str, u64)]| {
        for (pid, name, read) in children {
            let stat = format!("{pid} ({name}) R 10 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n");
            machine.put(&format!("proc/{pid}/stat"), &stat);
            let io = format!("rchar: {0}\nwchar: {0}\nread_bytes: {read}\nwrite_bytes: 0\n", 300 << 20);
            machine.put(&format!("proc/{pid}/io"), &io);
            machine.put(&format!("proc/{pid}/task/{pid}/stat"), &stat);
        }
        threads(&mut reader, &machine, &mut || true);
        processes(&mut reader, &machine);
        for (pid, ..) in children {
            fs::remove_dir_all(machine.place(&format!("proc/{pid}"))).unwrap();
        }
        let child = processes(&mut reader, &machine).processes[&10].child.clone();
        child.map(|child| child.to_string())
    };
    for _ in 0..3 {
        assert_eq!(look(&[(11, "cat", 0), (12, "tar", 300 << 20)]).as_deref(), Some("tar"));
    }
    for _ in 0..3 {
        look(&[(11, "cat", 0), (12, "tar", 0)]);
    }
    let both = [(11, "cp", 300 << 20), (12, "dd", 300 << 20)];
    assert_eq!(look(&both), None, "it is not known which of them read");
}

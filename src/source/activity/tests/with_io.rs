//! Threads of processes that do I/O, apart from others of their name.

use super::*;

/// Whether the threads of each of these processes count as those of I/O, which moved so many bytes between two samples.
fn with_io(moved: &[(u32, &str, u64)]) -> Vec<(u32, bool)> {
    let machine = Machine::new();
    for (pid, name, _) in moved {
        machine.process(&[*pid], name, 'S', 0);
        machine.put(&format!("proc/{pid}/io"), "read_bytes: 0\nwrite_bytes: 0\n");
    }
    let mut reader = ActivityReader::default();
    processes(&mut reader, &machine);
    for (pid, _, bytes) in moved {
        machine.put(&format!("proc/{pid}/io"), &format!("read_bytes: {bytes}\nwrite_bytes: 0\n"));
    }
    processes(&mut reader, &machine);
    let sample = threads(&mut reader, &machine, &mut || true);
    sample.threads.iter().map(|thread| (thread.tid, thread.has_io)).collect()
}

#[test]
fn of_two_processes_of_one_name_the_one_that_reads_counts() {
    let all = [(7, "fio", 600 << 20), (8, "fio", 1 << 20), (9, "dd", 1 << 20), (10, "tar", 4096)];
    assert_eq!(with_io(&all), [(7, true), (8, false), (9, true), (10, false)]);
    let numbered = [(7, "job1", 600 << 20), (8, "job2", 1 << 20)];
    assert_eq!(with_io(&numbered), [(7, true), (8, false)], "threads have job*");
    assert_eq!(with_io(&[(7, "fio", 90 << 20), (8, "fio", 30 << 20)]), [(7, true), (8, true)]);
}

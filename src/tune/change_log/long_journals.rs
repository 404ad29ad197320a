//! Journals of many files and many sessions: the work grows with them, not with their square.

use std::collections::BTreeMap;

use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::{
    machine::Machine,
    tune::{
        change::Outcome,
        dry_run::DryRun,
        fake_kernel::FakeKernel,
        foresight::{Undoer, prospects},
        testing::{change, machine_with_queue},
        undo::{Which, plan},
    },
};

fn record(session: usize, event: Event) -> Record {
    Record { time: 1, boot: "b".into(), session: format!("1-{session:x}"), event }
}

fn accepted(file: &str) -> Event {
    Event::Result { file: file.into(), outcome: Outcome::Accepted, affected: vec![] }
}

fn file(number: usize) -> String {
    format!("/sys/devices/virtual/block/nvme{number}n1/queue/read_ahead_kb")
}

/// A session that changes so many files.
fn of_files(count: usize) -> Vec<Record> {
    let changes = (0..count).map(file).flat_map(|file| [change(&file, "0", "1"), accepted(&file)]);
    let open = Event::Open { purpose: Purpose::Screen, pid: 1 };
    [open].into_iter().chain(changes).map(|event| record(1, event)).collect()
}

/// So many sessions that change a file and leave it.
fn of_sessions(count: usize) -> Vec<Record> {
    let file = file(0);
    let of_one = |session: usize| {
        let (old, new) = (session.to_string(), (session + 1).to_string());
        let open = Event::Open { purpose: Purpose::Screen, pid: 1 };
        [open, change(&file, &old, &new), accepted(&file)].map(|event| record(session, event))
    };
    (0..count).flat_map(of_one).collect()
}

/// So many sessions, each with a file, which it keeps.
fn of_kept(count: usize) -> Vec<Record> {
    let of_one = |session: usize| {
        let file = file(session);
        let open = Event::Open { purpose: Purpose::Command, pid: 1 };
        let events = [open, change(&file, "0", "1"), accepted(&file), Event::Keep { files: vec![] }];
        events.map(|event| record(session, event))
    };
    (0..count).flat_map(of_one).collect()
}

/// What a command without changes of its own does with a journal.
fn read(records: &[Record], machine: &Machine) {
    let change_log = ChangeLog::of(records, "b");
    let dead: Vec<&str> = change_log.sessions.keys().map(String::as_str).collect();
    let kernel = FakeKernel::new(BTreeMap::new());
    let undoer = Undoer { sessions: &dead, own: None, is_living: &|_| false };
    prospects(&DryRun::new(&kernel), &change_log, machine, undoer);
    let files: Vec<String> = change_log.entries.iter().map(|entry| entry.file.clone()).collect();
    for which in [Which::All, Which::Files(&files), Which::Sessions(&dead)] {
        plan(&change_log, &which, machine);
    }
}

/// Microseconds of this thread's CPU time.
fn cost(work: impl FnOnce()) -> i64 {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000 + now.tv_nsec / 1000
    };
    let begin = now();
    work();
    now() - begin
}

#[test]
fn eight_times_as_long_a_journal_costs_no_twenty_times_as_much() {
    let machine = machine_with_queue("loop0", &BTreeMap::new());
    for (what, records) in
        [("files", of_files as fn(usize) -> Vec<Record>), ("sessions", of_sessions), ("kept", of_kept)]
    {
        let least = |count| {
            let records = records(count);
            (0..3).map(|_| cost(|| read(&records, &machine))).min().unwrap_or_default()
        };
        let (short, long) = (least(2_500), least(20_000));
        assert!(long < 20 * short, "{what}: {short} and {long} us");
    }
}

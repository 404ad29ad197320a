//! Change logs of records.

use super::*;
use crate::tune::testing::change;

fn records(session: &str, events: Vec<Event>) -> Vec<Record> {
    let record = |event| Record { time: 1, boot: "b".into(), session: session.into(), event };
    events.into_iter().map(record).collect()
}

#[test]
fn an_undo_whose_value_another_program_replaced_has_restored_nothing() {
    let mut undo = change("/f", "512", "128");
    if let Event::Change { undo, .. } = &mut undo {
        *undo = true;
    }
    let result = |outcome| Event::Result { file: "/f".into(), outcome, affected: vec![] };
    let made = [change("/f", "128", "512"), result(Outcome::Accepted)];
    let undone = [undo, result(Outcome::Changed { now: "64".into() })];
    let all = [records("1-a", made.into()), records("2-a", undone.into())].concat();
    let entries = ChangeLog::of(&all, "b").entries;
    assert_eq!((entries.len(), &entries[0].last[..]), (1, &["64".to_owned()][..]));
    assert!(entries[0].is_open_in("1-a"));
}

#[test]
fn the_change_log_keeps_the_first_value_and_forgets_restored_ones() {
    let accepted =
        |file: &str| Event::Result { file: file.into(), outcome: Outcome::Accepted, affected: vec![] };
    let mut all = records(
        "1-a",
        vec![Event::Open { purpose: Purpose::Screen, pid: 1 }, change("/f", "128", "256"), accepted("/f")],
    );
    all.extend(records(
        "2-b",
        vec![change("/f", "256", "512"), accepted("/f"), change("/g", "0", "2"), accepted("/g")],
    ));
    let change_log = ChangeLog::of(&all, "b");
    assert_eq!(change_log.found("/f"), Some("128"));
    assert_eq!(change_log.entries[0].last, ["512"]);
    assert_eq!(change_log.entries[0].before(&["2-b"]), Some("256"));
    assert_eq!(change_log.entries[0].before(&["1-a", "2-b"]), Some("128"));
    assert_eq!(
        change_log.sessions.keys().collect::<Vec<_>>(),
        ["1-a"],
        "a session counts from its opening on"
    );
    all.extend(records(
        "2-b",
        vec![
            Event::Undone { file: "/f".into(), value: "128".into(), sessions: vec![] },
            Event::Keep { files: vec![] },
        ],
    ));
    let change_log = ChangeLog::of(&all, "b");
    assert_eq!(change_log.found("/f"), None);
    assert_eq!(change_log.found("/g"), Some("0"), "kept is still changed");
    assert!(change_log.entries[0].open.is_empty());
    assert_eq!(ChangeLog::of(&all, "another boot"), ChangeLog::default());
}

#[test]
fn a_kill_between_the_record_and_the_write_leaves_both_values_possible() {
    let change_log = ChangeLog::of(&records("1-a", vec![change("/f", "0", "1")]), "b");
    assert_eq!(change_log.entries[0].last, ["0", "1"]);
    let refused = Event::Result {
        file: "/f".into(),
        outcome: Outcome::Refused { error: "EINVAL".into() },
        affected: vec![],
    };
    let change_log = ChangeLog::of(&records("1-a", vec![change("/f", "0", "1"), refused]), "b");
    assert_eq!(change_log.entries, [], "a refused change changed nothing");
}

#[test]
fn a_session_without_a_record_of_its_end_is_not_known_to_be_killed() {
    for (purpose, who) in [(Purpose::Experiment, "an experiment"), (Purpose::Screen, "iodyno")] {
        let mut events = vec![Event::Open { purpose, pid: 1 }, change("/f", "0", "1")];
        let said =
            |events: &[Event]| ChangeLog::of(&records("1-a", events.to_vec()), "b").end_of("1-a").to_owned();
        let unknown = "was killed, or could not record its end, and left settings changed";
        assert_eq!(said(&events), format!("{who} {unknown}"));
        events.push(Event::Close);
        assert_eq!(said(&events), format!("{who} ended and left settings changed"));
    }
}

#[test]
fn a_change_after_an_undo_begins_with_what_it_finds() {
    let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
    let undone = || Event::Undone { file: "/f".into(), value: "128".into(), sessions: vec![] };
    let mut events =
        vec![change("/f", "128", "512"), accepted(), change("/f", "512", "128"), accepted(), undone()];
    // An administrator writes 776 here.
    events.extend([change("/f", "776", "64"), accepted()]);
    let change_log = ChangeLog::of(&records("1-a", events), "b");
    assert_eq!(change_log.found("/f"), Some("776"));
    assert_eq!(change_log.entries[0].before(&["1-a"]), Some("776"));
    let refused = Event::Result {
        file: "/f".into(),
        outcome: Outcome::Refused { error: "EINVAL".into() },
        affected: vec![],
    };
    let events = vec![change("/f", "128", "7"), refused, change("/f", "776", "64"), accepted()];
    assert_eq!(ChangeLog::of(&records("1-a", events), "b").found("/f"), Some("776"), "nor a refused one");
}

#[test]
fn another_drive_under_the_same_name_begins_anew() {
    let on = |sequence, event| match event {
        Event::Change { device, setting, file, old, new, affected, tags, host, undo, follows } => {
            let device = Identity { diskseq: Some(sequence), ..device };
            Event::Change { device, setting, file, old, new, affected, tags, host, undo, follows }
        }
        other => other,
    };
    let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
    let changes = |second| {
        let first = [on(7, change("/f", "128", "512")), accepted()];
        let then = [on(second, change("/f", "512", "64")), accepted()];
        ChangeLog::of(&records("1-a", [first, then].concat()), "b").found("/f").map(str::to_owned)
    };
    assert_eq!(changes(7).as_deref(), Some("128"));
    assert_eq!(changes(8).as_deref(), Some("512"), "what was found on the drive before is not its own");
}

#[test]
fn sessions_are_ordered_by_the_journal_and_not_by_their_clock() {
    let accepted = || Event::Result { file: "/f".into(), outcome: Outcome::Accepted, affected: vec![] };
    let mut all = records("19f-1-0", vec![change("/f", "0", "1"), accepted()]);
    // The clock was set back between the two.
    all.extend(records("18a-2-0", vec![change("/f", "1", "2"), accepted()]));
    let entry = &ChangeLog::of(&all, "b").entries[0];
    assert_eq!(entry.before(&["18a-2-0", "19f-1-0"]), Some("0"));
    assert_eq!(entry.sessions().collect::<Vec<_>>(), ["19f-1-0", "18a-2-0"]);
    all.extend(records(
        "3-c",
        vec![Event::Undone { file: "/f".into(), value: "1".into(), sessions: vec!["18a-2-0".into()] }],
    ));
    assert_eq!(ChangeLog::of(&all, "b").entries[0].by, "19f-1-0");
}

//! Changes of iodyno, killed or not, and other programs' in any order: an undo loses none of these without a word.

use proptest::prelude::*;

use super::{
    kills::{Deed, config, done},
    *,
};
use crate::tune::change_log::Entry;

/// What happens to a queue.
#[derive(Debug, Clone)]
enum Happening {
    /// `iodyno tune set` with this value, and the call before which it is killed.
    Own(&'static str, &'static str, Option<u32>),
    /// Another program writes this scheduler.
    Theirs(&'static str),
    /// It writes a number to this setting, which is not the kernel's, iodyno's, or one of before.
    Number(&'static str),
    /// `iodyno tune undo --all`, and the call before which it is killed.
    Undo(Option<u32>),
}

const OWN: &[(&str, &str)] = &[
    ("scheduler", "none"),
    ("scheduler", "mq-deadline"),
    ("scheduler", "kyber"),
    ("nr_requests", "50"),
    ("nr_requests", "100"),
    ("read_ahead_kb", "512"),
    ("iostats", "0"),
    ("iostats", "1"),
    ("rq_affinity", "2"),
];

/// The settings whose values are followed.
const NUMBERS: [&str; 2] = ["nr_requests", "read_ahead_kb"];

fn happening() -> impl Strategy<Value = Happening> {
    let own = (prop::sample::select(OWN), prop::option::weighted(0.4, 0..30u32))
        .prop_map(|((id, value), kill)| Happening::Own(id, value, kill));
    let theirs = prop::sample::select(&["none", "bfq", "mq-deadline"][..]).prop_map(Happening::Theirs);
    let number = prop::sample::select(&NUMBERS[..]).prop_map(Happening::Number);
    let undo = prop::option::weighted(0.5, 0..60u32).prop_map(Happening::Undo);
    prop_oneof![6 => own, 2 => theirs, 2 => number, 1 => undo]
}

/// A queue with this scheduler, of which it is known what new limits make of its readahead.
pub(super) fn with_limits(scheduler: &str) -> Kernel {
    let kernel = Kernel { has_tunables: false, ..with_tags("none", 128) };
    for (file, value) in [("optimal_io_size", "1310720"), ("rotational", "0")] {
        kernel.memory.files.lock().unwrap().insert(format!("/sys/q/{file}"), value.into());
    }
    kernel.write("/sys/q/scheduler", scheduler).unwrap();
    kernel
}

/// Whether a number that another program sets now is one of the tags of both, of which a scheduler hides which are whose
/// (docs/security.md).
fn are_hidden(journal: &Journal, id: &str) -> bool {
    let log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let has = |setting: &str, has_tags: bool| {
        let mut entries = log.entries.iter().filter(|entry| entry.setting == setting);
        entries.any(|entry| entry.tags.is_some() || !has_tags)
    };
    id == "nr_requests" && has(id, true) && has("scheduler", false)
}

/// Whether iodyno has set requests for a scheduler that another program set after iodyno's first change of these two. Which numbers
/// they go back to is not promised (docs/security.md).
#[derive(Debug, Default)]
struct ThirdScheduler {
    has_own: bool,
    has_theirs: bool,
    has_requests: bool,
}

impl ThirdScheduler {
    fn take(&mut self, happening: &Happening) {
        match happening {
            Happening::Own(id, ..) if ["scheduler", "nr_requests"].contains(id) => {
                self.has_requests |= self.has_theirs && *id == "nr_requests";
                self.has_own = true;
            }
            Happening::Theirs(_) => self.has_theirs |= self.has_own,
            Happening::Own(..) | Happening::Number(_) | Happening::Undo(_) => {}
        }
    }
}

/// Lets these happen, and undoes everything: the last values of other programs are left, or named.
/// Without `all` those that are not promised do not count.
fn kept_after(found: &str, happenings: &[Happening], all: bool) -> Result<(), TestCaseError> {
    let kernel = with_limits(found);
    let journal = Journal::in_memory();
    let mut theirs = BTreeMap::new();
    // What other programs set before or after an undo that is killed may be taken for what that undo resets.
    let mut is_half = false;
    let mut third = ThirdScheduler::default();
    let end = Happening::Undo(None);
    for (happening, number) in happenings.iter().chain([&end]).zip(1..) {
        third.take(happening);
        match happening {
            Happening::Own(id, value, kill) => {
                if third.has_requests && !all {
                    theirs.remove("nr_requests");
                }
                done(&kernel, &journal, &Deed::Set(vec![(*id, *value)]), *kill, number);
            }
            Happening::Theirs(value) => {
                kernel.write("/sys/q/scheduler", value).unwrap();
                // Requests go with their scheduler.
                theirs.remove("nr_requests");
            }
            Happening::Number(id) => {
                let value = (56 + 4 * number).to_string();
                kernel.write(&format!("/sys/q/{id}"), &value).unwrap();
                if is_half || are_hidden(&journal, id) || !all && third.has_requests && *id == "nr_requests" {
                    theirs.remove(id);
                } else {
                    theirs.insert(*id, value);
                }
            }
            Happening::Undo(kill) => {
                is_half = !is_undone(&kernel, &journal, &mut theirs, *kill, number)?;
                if is_half {
                    theirs.clear();
                }
            }
        }
    }
    Ok(())
}

/// Records, as the service does, what an undo has left to other programs.
fn let_go(journal: &Journal, report: &[(Step, Restored)], number: i64) {
    let left = report.iter().filter(|(_, what)| matches!(what, Restored::ModifiedExternally(_)));
    let files: Vec<String> = left.map(|(step, _)| step.recorded.clone()).collect();
    if !files.is_empty() {
        let event = Event::Keep { files };
        journal.append(&Record { time: number, boot: "boot".into(), session: "undo".into(), event }).unwrap();
    }
}

/// Undoes everything, unless a kill comes before its end; whether none did. It leaves these values of other programs, or names
/// them: those no longer count.
fn is_undone(
    kernel: &Kernel,
    journal: &Journal,
    theirs: &mut BTreeMap<&str, String>,
    kill: Option<u32>,
    number: i64,
) -> Result<bool, TestCaseError> {
    let log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
    let is_hosted = |entry: &Entry| ["scheduler", "nr_requests"].contains(&entry.setting.as_str());
    if !log.entries.iter().any(is_hosted) {
        // iodyno itself put its scheduler back, and said what that reset: nothing is left to undo.
        theirs.remove("nr_requests");
    }
    let Some(report) = done(kernel, journal, &Deed::UndoAll, kill, number) else { return Ok(false) };
    let_go(journal, &report, number);
    let now = kernel.files();
    for id in NUMBERS {
        let Some(value) = theirs.get(id).cloned() else { continue };
        let is_named = report.iter().any(|(step, what)| match what {
            Restored::ModifiedExternally(now) => step.setting == id && *now == value,
            Restored::Displaced { theirs, .. } => step.setting == id && *theirs == value,
            Restored::Refused(_) => step.setting == id,
            _ => false,
        });
        let stays = now[&format!("/sys/q/{id}")] == value;
        prop_assert!(stays || is_named, "{} {}, {}: {:?}", number, id, value, report);
        if !stays {
            theirs.remove(id);
        }
    }
    Ok(true)
}

/// What iodyno does and undoes again leaves a queue as other programs alone would, or the undo names the difference.
fn as_without_iodyno(found: &str, happenings: &[Happening]) -> Result<(), TestCaseError> {
    // What an undo names may stay, and may come back.
    let (kernel, alone, named_before) = (with_limits(found), with_limits(found), with_limits(found));
    let journal = Journal::in_memory();
    let theirs = |id: &str, value: &str| {
        for one in [&kernel, &alone, &named_before] {
            one.write(&format!("/sys/q/{id}"), value).unwrap();
        }
    };
    // Schedulers that iodyno has found or set.
    let mut passed = BTreeSet::new();
    let is_known = |value: &str, passed: &BTreeSet<String>| {
        let log = ChangeLog::of(&journal.contents().unwrap().records, "boot");
        let mut entries = log.entries.iter().chain(&log.companions);
        let is_its =
            |entry: &Entry| entry.setting == "scheduler" && (entry.may_have(value) || entry.found == value);
        [&kernel, &alone].iter().any(|one| one.files()["/sys/q/scheduler"] == value)
            || entries.any(is_its)
            || passed.contains(value)
    };
    let mut third = ThirdScheduler::default();
    let end = Happening::Undo(None);
    for (happening, number) in happenings.iter().chain([&end]).zip(1..) {
        third.take(happening);
        match happening {
            Happening::Own(id, value, _) => {
                if *id == "scheduler" {
                    passed.extend([kernel.files()["/sys/q/scheduler"].clone(), (*value).to_owned()]);
                }
                done(&kernel, &journal, &Deed::Set(vec![(*id, *value)]), None, number);
            }
            // What iodyno has found or set cannot be told from what another program sets then, nor its tags behind another's
            // scheduler from those of before (docs/security.md).
            Happening::Theirs(value) if is_known(value, &passed) => {}
            Happening::Theirs(value) => theirs("scheduler", value),
            Happening::Number(id) if are_hidden(&journal, id) => {}
            Happening::Number(id) => theirs(id, &(56 + 4 * number).to_string()),
            Happening::Undo(_) => {
                let report = done(&kernel, &journal, &Deed::UndoAll, None, number).unwrap();
                let_go(&journal, &report, number);
                let named =
                    |id: &str| report.iter().any(|(step, what)| step.setting == id && !what.is_whole());
                let [now, expected, before] = [&kernel, &alone, &named_before].map(Kernel::files);
                for id in ["scheduler", "nr_requests", "read_ahead_kb", "rq_affinity", "iostats"] {
                    let file = format!("/sys/q/{id}");
                    let [now, expected, before] = [&now, &expected, &before].map(|files| &files[&file]);
                    // Without a scheduler the kernel shows the driver's number until one is written, however many tags there are.
                    let has_its_tags = id == "nr_requests"
                        && kernel.files()["/sys/q/scheduler"] == "none"
                        && kernel.tags == alone.tags
                        && *now == alone.tags.get().to_string();
                    let is_promised = id != "nr_requests" || !third.has_requests;
                    let is_whole =
                        now == expected || now == before || has_its_tags || named(id) || !is_promised;
                    prop_assert!(is_whole, "{number} {id} {now}, not {expected}: {report:?}");
                    named_before.memory.write(&file, now).unwrap();
                }
                passed.clear();
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_undo_leaves_what_other_programs_alone_would(
        found in prop::sample::select(&["none", "mq-deadline", "bfq"][..]),
        happenings in prop::collection::vec(happening(), 1..8),
    ) {
        as_without_iodyno(found, &happenings)?;
    }

    #[test]
    fn no_value_of_another_program_is_lost_without_a_word(
        found in prop::sample::select(&["none", "mq-deadline", "bfq"][..]),
        happenings in prop::collection::vec(happening(), 1..8),
    ) {
        kept_after(found, &happenings, false)?;
    }
}

#[test]
fn requests_begin_anew_once_an_undo_has_left_the_tags_to_another_program() {
    let happenings = [
        Happening::Own("scheduler", "none", None),
        Happening::Number("nr_requests"),
        Happening::Own("nr_requests", "50", None),
        Happening::Undo(None),
        Happening::Theirs("bfq"),
        Happening::Own("nr_requests", "50", None),
    ];
    as_without_iodyno("mq-deadline", &happenings).unwrap();
}

#[test]
fn tags_of_another_program_that_the_kernel_does_not_show_are_restored() {
    let happenings = [
        Happening::Number("nr_requests"),
        Happening::Own("nr_requests", "50", None),
        Happening::Theirs("bfq"),
        Happening::Own("nr_requests", "50", None),
        Happening::Theirs("none"),
    ];
    as_without_iodyno("none", &happenings).unwrap();
}

#[test]
fn requests_of_another_program_that_a_killed_change_replaced_are_restored_or_named() {
    let happenings = [
        Happening::Own("scheduler", "mq-deadline", None),
        Happening::Theirs("bfq"),
        Happening::Number("nr_requests"),
        Happening::Own("nr_requests", "50", Some(4)),
        Happening::Own("scheduler", "none", None),
    ];
    kept_after("none", &happenings, true).unwrap();
}

#[test]
fn a_smaller_request_of_another_program_is_no_adjustment_of_a_killed_change() {
    let mut written = 0;
    for kill in 0..12 {
        let kernel = with_limits("none");
        for (file, value) in [("max_sectors_kb", "64"), ("max_hw_sectors_kb", "1280")] {
            kernel.memory.files.lock().unwrap().insert(format!("/sys/q/{file}"), value.into());
        }
        let journal = Journal::in_memory();
        done(&kernel, &journal, &Deed::Set(vec![("max_sectors_kb", "512")]), Some(kill), 1);
        if kernel.files()["/sys/q/max_sectors_kb"] != "512" {
            continue;
        }
        written += 1;
        kernel.write("/sys/q/max_sectors_kb", "128").unwrap();
        done(&kernel, &journal, &Deed::UndoAll, None, 2).unwrap();
        assert_eq!(kernel.files()["/sys/q/max_sectors_kb"], "128", "killed at call {kill}");
    }
    assert!(written > 0);
}

#[test]
fn readahead_that_another_program_sets_after_a_killed_change_of_limits_and_one_of_readahead_stays() {
    let happenings = [
        Happening::Own("iostats", "0", Some(3)),
        Happening::Number("read_ahead_kb"),
        Happening::Own("read_ahead_kb", "512", None),
        Happening::Number("read_ahead_kb"),
    ];
    for kill in 0..12 {
        let mut happenings = happenings.clone();
        happenings[0] = Happening::Own("iostats", "0", Some(kill));
        kept_after("none", &happenings, true).unwrap();
    }
}

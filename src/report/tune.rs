//! Settings, changes and the journal as text and JSON.

use std::{collections::HashMap, fmt::Write, path::Path};

use serde::Serialize;
use serde_json::json;

use super::toned::{Tone, Toned};
use crate::{
    machine::Machine,
    model::{Problem, Reading, SettingId},
    text::Label,
    tune::{
        Change, Device, Outcome, SETTINGS, Setting,
        cell::Cell,
        change,
        change_log::{ChangeLog, Entry},
        journal::{Event, Record},
        persist::Export,
        settings::{POLL_QUEUES, Risk, Value},
        tunables,
        tuner::{Along, Foreseen, Restored},
        undo::Step,
    },
    units::counted,
};

/// One setting on one device, with CONTRACT's names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The device.
    pub device: String,
    /// The setting's id.
    pub setting: SettingId,
    /// The current value; `null` with a problem if it cannot be read.
    pub value: Option<Label>,
    /// Its values.
    pub choices: Vec<String>,
    /// The value before iodyno's first change since boot.
    pub found_value: Option<String>,
    /// The kernel's default, where it is known.
    pub default_value: Option<String>,
    /// The file that sets it at boot, where one was found.
    pub set_by: Option<String>,
    /// Whether this user can change it.
    pub writable: bool,
    /// Why it is not writable.
    pub why_not: Option<String>,
    /// Why there is no value.
    #[serde(skip)]
    pub problem: Option<Problem>,
}

/// The settings of these devices.
pub(crate) fn rows(
    machine: &Machine,
    change_log: &ChangeLog,
    devices: impl IntoIterator<Item = Device>,
    live: bool,
) -> Vec<Row> {
    let first_values = change_log.first_values();
    let of = |device: Device| SETTINGS.iter().map(move |row| (device.clone(), row));
    devices
        .into_iter()
        .flat_map(of)
        .filter_map(|(device, row)| one(machine, &first_values, &device, row, live))
        .collect()
}

fn one(
    machine: &Machine,
    first_values: &HashMap<&str, &str>,
    device: &Device,
    row: &Setting,
    live: bool,
) -> Option<Row> {
    let cell = Cell::of(machine, first_values, device, row)?;
    let why_not = why_not(machine, row, &(row.read)(machine, device), live);
    // A long range has no list of values.
    let choices = if row.usual.is_empty() { cell.choices } else { Vec::new() };
    Some(Row {
        device: device.to_string(),
        setting: row.id,
        choices,
        found_value: cell.found.or_else(|| cell.value.as_ref().map(ToString::to_string)),
        default_value: cell.default,
        set_by: cell.set_by,
        writable: why_not.is_none(),
        why_not,
        problem: cell.problem.map(|problem| machine.placed(problem)),
        value: cell.value,
    })
}

fn why_not(machine: &Machine, row: &Setting, readings: &[Reading<Value>], live: bool) -> Option<String> {
    if row.risk == Risk::Shown {
        return Some("not tunable".to_owned());
    }
    if !live {
        return Some("not writable: another machine".to_owned());
    }
    if let Some(problem) = readings.iter().find_map(Reading::problem) {
        return Some(problem.reason.to_string());
    }
    match machine.host.root.get() {
        _ if machine.host.sys_read_only.get() == Some(true) => {
            Some("/sys is read-only: mount -o remount,rw /sys".to_owned())
        }
        Some(true) => None,
        _ => Some("needs root: run with sudo".to_owned()),
    }
}

pub(crate) fn json(rows: &[Row]) -> String {
    let mut problems: Vec<&Problem> = rows.iter().filter_map(|row| row.problem.as_ref()).collect();
    // Those of a text have no path of their own.
    problems.dedup();
    super::json::text(&json!({ "settings": rows, "problems": problems }))
}

/// A table per device.
pub(crate) fn table(rows: &[Row]) -> Toned {
    let mut text = Toned::default();
    for device in rows.chunk_by(|a, b| a.device == b.device) {
        text.push_toned(Tone::Drive, &device[0].device);
        text.push("\n");
        for row in device {
            let value = row.value.as_ref().map_or("-", |value| value.as_str());
            let changed = row.found_value.as_deref().filter(|found| *found != value);
            let mark = if changed.is_some() { '*' } else { ' ' };
            let tone = if changed.is_some() { Tone::Warning } else { Tone::Plain };
            text.push_toned(tone, &format!("{mark} {:<21} ", row.setting.0));
            let notes = notes(row, value, changed).join("; ");
            if notes.is_empty() {
                text.push_toned(Tone::Figure, value);
            } else {
                text.push_toned(Tone::Figure, &format!("{value:<14} "));
                text.push_toned(Tone::Quiet, &notes);
            }
            text.push("\n");
        }
        text.push("\n");
    }
    text
}

fn notes(row: &Row, value: &str, changed: Option<&str>) -> Vec<String> {
    let mut notes: Vec<String> = changed.map(|found| format!("before {found}")).into_iter().collect();
    let default = row.default_value.as_deref().filter(|default| *default != value && row.value.is_some());
    notes.extend(default.map(|default| format!("default {default}")));
    notes.extend(row.set_by.clone());
    notes.extend(row.why_not.clone());
    if row.writable && row.choices.len() > 1 {
        notes.push(format!("choices {}", row.choices.join(" ")));
    }
    notes
}

/// An applied change: old, requested and actual value; and what the kernel changed along with it.
pub(crate) fn applied(change: &Change, outcome: &Outcome, along: &[Along]) -> String {
    let setting = change.setting.0;
    let mut text = format!("{} {setting}: {} -> {}: {outcome}\n", change.device, change.from, change.to);
    for Along { device, setting: other, from, to } in along {
        let (from, to) = (Label::new(from), Label::new(to));
        let _infallible = writeln!(text, "{device} {other}: {from} -> {to}: changed along with {setting}");
    }
    text
}

/// A value that the file has. One that another session set is kept from now on: whether that session still runs.
pub(crate) fn already_there(
    device: &Device,
    setting: &Setting,
    value: &str,
    is_running: Option<bool>,
) -> String {
    let kept = match is_running {
        None => "",
        Some(true) => ", set by an iodyno still running; it stays when that one ends",
        Some(false) => ", set by an earlier iodyno and now kept",
    };
    format!("{device} {}: already {value}{kept}\n", setting.id.0)
}

/// Commands for these changes.
pub(crate) fn commands(changes: &[Change]) -> String {
    changes.iter().map(|change| change.command() + "\n").collect()
}

/// The commands of an undo, with comments for what they leave.
pub(crate) fn undo_commands(foreseen: &Foreseen, scope: &str) -> String {
    let commands = foreseen.writes.iter().map(|(file, value)| change::command(value, file) + "\n");
    let left: Vec<_> = foreseen.report.iter().filter(|(_, what)| *what != Restored::Back).cloned().collect();
    commands.collect::<String>() + &comments(&restored(&left, scope))
}

/// Lines as comments of a shell script.
pub(crate) fn comments(lines: &str) -> String {
    lines.lines().flat_map(|line| ["# ", line, "\n"]).collect()
}

/// The results of an undo, a line each; `scope` is that of the command, as in `tune undo --all`.
pub(crate) fn restored(report: &[(Step, Restored)], scope: &str) -> String {
    let mut text = String::new();
    for (step, restored) in report {
        let (device, setting) = (Label::new(&step.device.name), Label::new(&step.setting));
        let _infallible = writeln!(text, "{device} {setting}: {}", became(step, restored, scope));
    }
    text
}

/// The results of the undo with which a command begins, after a kill.
pub(crate) fn recovered(report: &[(Step, Restored)]) -> String {
    let (whole, others): (Vec<_>, Vec<_>) = report.iter().cloned().partition(|(_, what)| what.is_whole());
    let mut text = String::new();
    for (rows, what) in [(whole, "restored now"), (others, "not restored")] {
        if !rows.is_empty() {
            let head = "an earlier iodyno ended before it restored settings";
            let _infallible = write!(text, "{head}; {what}:\n{}", restored(&rows, ""));
        }
    }
    text
}

/// The changes that an undo of dead sessions is not for.
pub(crate) fn remaining(standing: &[(Entry, Option<String>)]) -> String {
    let mut text = String::new();
    for (entry, anothers) in standing {
        let (what, scope, target) = match (entry.left.first(), anothers) {
            (Some(left), _) => ("left to another program".to_owned(), "", &left.found),
            (None, Some(now)) => {
                let what = format!("kept, then changed to {} by another program", Label::new(now));
                (what, " --all", &entry.found)
            }
            (None, None) => continue,
        };
        let [device, setting, target] =
            [&entry.device.name, &entry.setting, target].map(|text| Label::new(text));
        let fix = format!("`iodyno tune undo{scope} --force` sets {target}");
        let _infallible = writeln!(text, "{device} {setting}: {what}; {fix}");
    }
    let is_kept = |(entry, anothers): &(Entry, Option<String>)| entry.left.is_empty() && anothers.is_none();
    if standing.iter().any(is_kept) {
        let only = if text.is_empty() { "only " } else { "" };
        let _infallible = writeln!(text, "{only}kept changes remain; --all undoes them");
    }
    text
}

/// Where the journal has no change; `unread` of its lines are damaged and could have one.
pub(crate) fn nothing_changed(unread: usize) -> String {
    match unread {
        0 => "no settings changed since boot".to_owned(),
        unread => {
            let lines = counted(unread, "line");
            format!("no readable change since boot; {lines} of the journal could not be read")
        }
    }
}

/// The text of an export, with what it leaves out.
pub(crate) fn export(export: &Export, unread: usize) -> String {
    let mut text = export.text.clone();
    for line in &export.left_out {
        let _infallible = writeln!(text, "# left out: {}", Label::new(line));
    }
    if text.is_empty() {
        return format!("# {}\n", nothing_changed(unread));
    }
    if unread > 0 {
        let lines = counted(unread, "line");
        let _infallible = writeln!(text, "# left out: {lines} of the journal could not be read");
    }
    text
}

fn became(step: &Step, restored: &Restored, scope: &str) -> String {
    let target = Label::new(&step.target);
    match restored {
        Restored::Back if step.setting == POLL_QUEUES.0 => {
            format!("restored to {target}; drives probed meanwhile keep their queues until probed again")
        }
        Restored::Back => format!("restored to {target}"),
        Restored::AlreadyThere => format!("already {target}"),
        Restored::Resized => format!("already {target}; the queue's tags are resized to it"),
        Restored::ModifiedExternally(now) => {
            let fix = format!("`iodyno tune undo{scope} --force` sets {target}");
            format!("changed to {} by another program; not restored, {fix}", Label::new(now))
        }
        Restored::LeftBefore(now) => {
            let fix = format!("`iodyno tune undo{scope} --force` sets {target}");
            format!("is {}; an earlier undo left it to another program; {fix}", Label::new(now))
        }
        Restored::Displaced { theirs, now, why } => {
            let [theirs, now, why] = [theirs, now, why].map(|text| Label::new(text));
            format!("is {now} now; another program's value {theirs} was not kept ({why})")
        }
        Restored::Held(now) => {
            format!("set to {} by an iodyno still running; undo it there", Label::new(now))
        }
        Restored::Kept => format!("kept by another iodyno; `iodyno tune undo --all` sets {target}"),
        Restored::Failed(why) => format!("is not {target}: {}", Label::new(why)),
        Restored::Gone if tunables::is_tunable(&step.setting) => {
            "its scheduler is not set; its settings went with it".to_owned()
        }
        Restored::Gone => "drive not present; its settings went with it".to_owned(),
        Restored::Empty => {
            let fix = "attach something, then undo";
            format!("not restored to {target}: the device holds nothing now and keeps its settings; {fix}")
        }
        Restored::Doubtful(drives) => format!(
            "its drive moved and may be {} now; nothing was written, `iodyno tune set` can set {target}",
            drives.join(" or ")
        ),
        Restored::Refused(why) => format!("not restored: {}", Label::new(why)),
    }
}

/// The journal: records of this boot, and the number of older ones.
pub(crate) fn journal(records: &[Record], unread: usize, boot: &str, path: &Path) -> String {
    let mut text = format!("{}\n", Label::new(&path.to_string_lossy()));
    let (now, older): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.boot == boot);
    for record in now {
        let time = jiff::Timestamp::from_millisecond(record.time);
        let time = time.map(|time| time.strftime("%F %T UTC").to_string()).unwrap_or_default();
        let what = match &record.event {
            Event::Open { purpose, pid } => format!("opened by process {pid} ({purpose:?})").to_lowercase(),
            Event::Change { device, setting, old, new, .. } => {
                format!("{} {setting}: {old} -> {new}", device.name)
            }
            Event::Tunables { scheduler, values, .. } => {
                let values = values.iter().map(|(name, value)| format!(" {name} {value}"));
                format!("  tunables of {scheduler}:{}", values.collect::<String>())
            }
            Event::Result { outcome, .. } => format!("  {outcome}"),
            Event::Undone { file, value, .. } => format!("{file} undone, now {value}"),
            Event::Left { device, setting, value, now, .. } => {
                format!("{} {setting}: not restored to {value}, left at {now}", device.name)
            }
            Event::Measured(gain) => {
                format!("{} {}: {} -> {}: {}", gain.device.name, gain.setting, gain.old, gain.new, gain.words)
            }
            Event::Keep { files } if files.is_empty() => "kept".to_owned(),
            Event::Keep { files } => format!("left to another program: {}", files.join(" ")),
            Event::Close => "closed".to_owned(),
        };
        let _infallible =
            writeln!(text, "{time}  {:<16}  {}", Label::new(&record.session), Label::new(&what));
    }
    if !older.is_empty() {
        let _infallible = writeln!(text, "{} records of earlier boots", older.len());
    }
    if records.is_empty() && unread == 0 {
        text.push_str("empty: no setting was changed yet\n");
    } else if unread > 0 {
        let _infallible = writeln!(text, "{} could not be read", counted(unread, "line"));
    }
    text
}

pub(crate) fn journal_json(records: &[Record]) -> String {
    super::json::text(&json!({ "records": records }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::testing::change_log_of;

    #[test]
    fn what_a_command_could_not_restore_is_not_said_to_be_restored() {
        let log = change_log_of(&[("loop7", "nomerges", "0", "2"), ("nvme0n1", "nomerges", "0", "2")]);
        let step = |at: usize| Step::untouched(log.entries[at].clone());
        let text = recovered(&[(step(0), Restored::Empty)]);
        assert!(
            !text.contains("restored now") && text.contains("settings; not restored:\nloop7 nomerges"),
            "{text}"
        );
        let text = recovered(&[(step(0), Restored::Empty), (step(1), Restored::Back)]);
        let heads: Vec<&str> = text.lines().filter(|line| line.ends_with(':')).collect();
        assert!(heads.len() == 2 && heads[0].ends_with("restored now:"), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line == "nvme0n1 nomerges: restored to 0"), "{text}");
        assert_eq!(recovered(&[]), "");
    }

    #[test]
    fn a_result_counts_as_advised_where_its_line_has_the_undo() {
        let log = change_log_of(&[("nvme0n1", "nomerges", "0", "2")]);
        let step = Step::untouched(log.entries[0].clone());
        let [theirs, now, why] = ["1", "0", "EINVAL"].map(str::to_owned);
        for what in [
            Restored::Back,
            Restored::AlreadyThere,
            Restored::Resized,
            Restored::ModifiedExternally(now.clone()),
            Restored::LeftBefore(now.clone()),
            Restored::Displaced { theirs, now: now.clone(), why: why.clone() },
            Restored::Held(now),
            Restored::Kept,
            Restored::Failed(why.clone()),
            Restored::Gone,
            Restored::Empty,
            Restored::Doubtful(Vec::new()),
            Restored::Refused(why),
        ] {
            let line = restored(&[(step.clone(), what.clone())], "");
            assert_eq!(line.contains("`iodyno tune undo"), what.is_advised(), "{line}");
        }
    }
}

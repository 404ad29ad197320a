//! [`Settings`]: the matrix of devices by settings, what is staged, what stands changed.

use crate::{
    machine::Machine,
    model::{Failed, SettingId},
    report::tune::restored,
    text::Label,
    tune::{
        Change, Device, Outcome, SETTINGS, Setting,
        cell::Cell,
        change_log::{ChangeLog, Entry},
        foresight::{Prospect, Shown, Undoer, prospects},
        settings::{Risk, find, rank},
        tuner::{Restored, TuneError, planned},
        undo::Step,
    },
};

/// Drives by settings.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// The rows: drives in their order, then the CPUs.
    pub devices: Vec<Device>,
    /// The columns: settings that any of them has.
    pub columns: Vec<&'static Setting>,
    /// By row and column; `None` where a device has no such setting.
    pub cells: Vec<Vec<Option<Cell>>>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.0)
    }
}

/// A value that waits to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// On what.
    pub device: Device,
    /// Which setting.
    pub setting: SettingId,
    /// The value.
    pub value: String,
    /// The writes it takes.
    pub changes: Vec<Change>,
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    /// A change, or why nothing was written.
    Made(Change, Result<Outcome, Failed>),
    /// A value restored, or not.
    Restored(Step, Restored),
}

/// Settings, what waits to be applied and what was done.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The matrix.
    pub matrix: Matrix,
    /// What waits to be applied, in the order of the writes.
    pub staged: Vec<Staged>,
    /// Settings changed since boot.
    pub change_log: ChangeLog,
    /// This run's session.
    pub session: Option<String>,
    /// Sessions that died and left changes.
    pub dead: Vec<String>,
    /// What an undo of this run's changes would come to.
    undo: Vec<Prospect>,
    /// The same of the sessions that died.
    undo_of_dead: Vec<Prospect>,
    /// Results of the last writes.
    pub done: Vec<Done>,
    /// An answer is awaited.
    pub busy: bool,
    /// Quit once everything is restored.
    pub leaving: bool,
}

impl Settings {
    /// Takes a new reading of the machine.
    pub fn read(&mut self, machine: &Machine) {
        let devices = Device::all(machine);
        let first_values = self.change_log.first_values();
        let all: Vec<Vec<Option<Cell>>> = devices
            .iter()
            .map(|device| SETTINGS.iter().map(|row| Cell::of(machine, &first_values, device, row)).collect())
            .collect();
        let has = |column: usize| all.iter().any(|row| row[column].is_some());
        let kept: Vec<usize> = (0..SETTINGS.len()).filter(|column| has(*column)).collect();
        let row_of = |row: Vec<Option<Cell>>| -> Vec<Option<Cell>> {
            row.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, cell)| cell).collect()
        };
        let columns: Vec<&'static Setting> = kept.iter().map(|column| &SETTINGS[*column]).collect();
        let cells: Vec<_> = all.into_iter().map(row_of).collect();
        // A device without any setting has no row.
        let (devices, cells) =
            devices.into_iter().zip(cells).filter(|(_, row)| row.iter().any(Option::is_some)).unzip();
        self.matrix = Matrix { devices, columns, cells };
        self.foresee(machine);
        let devices = &self.matrix.devices;
        self.staged.retain(|staged| devices.contains(&staged.device));
    }

    /// Plans the undos that are offered.
    fn foresee(&mut self, machine: &Machine) {
        if self.change_log.entries.is_empty() {
            (self.undo, self.undo_of_dead) = (Vec::new(), Vec::new());
            return;
        }
        let own = self.session.as_deref();
        let dead: Vec<&str> = self.dead.iter().map(String::as_str).collect();
        let is_living = |session: &str| !dead.contains(&session);
        let shown = Shown::of(machine, &self.change_log);
        let of = |sessions: &[&str]| {
            prospects(&shown, &self.change_log, machine, Undoer { sessions, own, is_living: &is_living })
        };
        let (undo, undo_of_dead) = (of(own.as_slice()), of(&dead));
        (self.undo, self.undo_of_dead) = (undo, undo_of_dead);
    }

    /// The cell at a place.
    pub fn cell_at(&self, row: usize, column: usize) -> Option<&Cell> {
        self.matrix.cells.get(row)?.get(column)?.as_ref()
    }

    /// The current value of a device's setting.
    pub fn now(&self, device: &Device, setting: SettingId) -> Option<&str> {
        self.cell(device, setting)?.value.as_ref().map(Label::as_str)
    }

    /// A device's setting.
    pub fn cell(&self, device: &Device, setting: SettingId) -> Option<&Cell> {
        let row = self.matrix.devices.iter().position(|other| other == device)?;
        let column = self.matrix.columns.iter().position(|other| other.id == setting)?;
        self.cell_at(row, column)
    }

    /// What is staged for a device's setting.
    pub fn staged_for(&self, device: &Device, setting: SettingId) -> Option<&Staged> {
        self.staged.iter().find(|staged| staged.device == *device && staged.setting == setting)
    }

    /// The result of the last write of a device's setting.
    pub fn last_of(&self, device: &Device, setting: SettingId) -> Option<&Done> {
        self.done.iter().rev().find(|done| match done {
            Done::Made(change, _) => change.device == *device && change.setting == setting,
            Done::Restored(step, _) => step.device.name == device.to_string() && step.setting == setting.0,
        })
    }

    /// What a cell says: its value, with `old→new` where one is staged, and marks behind it: `*` changed since iodyno
    /// found it, `~` not the kernel's default.
    pub fn text(&self, row: usize, column: usize) -> String {
        let (Some(device), Some(setting)) = (self.matrix.devices.get(row), self.matrix.columns.get(column))
        else {
            return String::new();
        };
        let Some(cell) = self.cell_at(row, column) else { return "-".to_owned() };
        let value = cell.value.as_ref().map_or("?", |value| value.as_str());
        if let Some(staged) = self.staged_for(device, setting.id) {
            return format!("{value}→{}", staged.value);
        }
        let mark = match (cell.is_changed(), cell.is_unusual()) {
            (true, _) => "*",
            (_, true) => "~",
            _ => "",
        };
        format!("{value}{mark}")
    }

    /// Every write that is staged, in order.
    pub fn writes(&self) -> Vec<Change> {
        self.staged.iter().flat_map(|staged| staged.changes.iter().cloned()).collect()
    }

    /// What this run changed and an undo of now restores.
    pub fn own(&self) -> impl Iterator<Item = &Prospect> {
        self.undo.iter().filter(|prospect| prospect.is_undone())
    }

    /// What this run changed and another program or another iodyno has set since: an undo leaves it alone.
    pub fn left_alone(&self) -> impl Iterator<Item = &Prospect> {
        self.undo.iter().filter(|prospect| prospect.is_anothers())
    }

    /// What this run changed and has neither kept nor undone.
    pub fn open(&self) -> impl Iterator<Item = &Entry> {
        let session = self.session.as_ref();
        self.change_log.entries.iter().filter(move |entry| session.is_some_and(|id| entry.is_open_in(id)))
    }

    /// Whether the last undo had a step for this file: its result is shown.
    pub fn has_undone(&self, step: &Step) -> bool {
        let is_its =
            |done: &Done| matches!(done, Done::Restored(other, _) if other.recorded == step.recorded);
        self.done.iter().any(is_its)
    }

    /// What sessions that died changed and an undo of now restores.
    pub fn left_behind(&self) -> impl Iterator<Item = &Prospect> {
        self.undo_of_dead.iter().filter(|prospect| prospect.is_undone())
    }

    /// Stages values, in place of those for the same setting and devices; one that takes no write is not staged.
    pub fn stage(&mut self, setting: SettingId, devices: &[Device], new: Vec<Staged>) {
        self.unstage(setting, devices);
        self.staged.extend(new.into_iter().filter(|staged| !staged.changes.is_empty()));
        // The scheduler resets others, so it is written first.
        self.staged.sort_by_key(|staged| rank(staged.setting.0));
    }

    /// Drops what is staged for these devices' setting; whether there was anything.
    pub fn unstage(&mut self, setting: SettingId, devices: &[Device]) -> bool {
        let before = self.staged.len();
        self.staged.retain(|staged| staged.setting != setting || !devices.contains(&staged.device));
        self.staged.len() < before
    }
}

/// A value for some devices, with the writes it takes.
///
/// # Errors
/// Why it cannot be asked for on the first device that cannot take it.
pub fn staged(
    machine: &Machine,
    setting: &Setting,
    devices: &[Device],
    value: &str,
) -> Result<Vec<Staged>, TuneError> {
    // A staged change is written to a file at once; settings that take more are not staged.
    match setting.risk {
        Risk::Live => {}
        Risk::Shown => return Err(TuneError::NotTunable(setting.label)),
        Risk::Rebind => {
            return Err(TuneError::NeedsRebind { label: setting.label, id: setting.id.0 });
        }
    }
    let one = |device: &Device| {
        let mut changes = planned(machine, device, setting, value)?;
        changes.retain(|change| change.from != change.to);
        Ok(Staged { device: device.clone(), setting: setting.id, value: value.to_owned(), changes })
    };
    devices.iter().map(one).collect()
}

/// How many of the last writes were made, with what the kernel adjusted and why the first of the others was not; and whether
/// all were.
pub fn summary(all: &[Done]) -> (String, bool) {
    let verb = if matches!(all.first(), Some(Done::Made(..))) { "applied" } else { "restored" };
    let made = all.iter().filter(|done| done.is_done()).count();
    let adjusted: Vec<&str> = all.iter().filter_map(Done::adjusted).collect();
    let share =
        if adjusted.len() == all.len() { String::new() } else { format!("{} of them ", adjusted.len()) };
    let adjusted = match &adjusted[..] {
        [] => String::new(),
        [now, others @ ..] if others.iter().all(|other| other == now) => {
            format!("; {share}adjusted by the kernel to {now}")
        }
        _ => format!("; {share}adjusted by the kernel"),
    };
    let others: Vec<String> = all.iter().filter(|done| !done.is_done()).map(Done::reason).collect();
    let why = match &others[..] {
        [] => String::new(),
        [why] => format!(": {why}"),
        [why, ..] => format!(": {why}. Changes has the reasons of all {}", others.len()),
    };
    (format!("{made} of {} {verb}{adjusted}{why}", all.len()), others.is_empty())
}

/// What an undo did not restore, a line each for after the screen.
pub fn not_restored(report: &[(Step, Restored)]) -> String {
    let is_left = |(_, what): &&(Step, Restored)| !what.is_whole();
    let left: Vec<_> = report.iter().filter(is_left).cloned().collect();
    restored(&left, "")
}

impl Done {
    /// Whether it is what was asked for.
    pub fn is_good(&self) -> bool {
        match self {
            Self::Made(_, outcome) => *outcome == Ok(Outcome::Accepted),
            Self::Restored(_, restored) => restored.is_whole(),
        }
    }

    /// Whether the file has what was written, or what the kernel made of it.
    fn is_done(&self) -> bool {
        self.is_good() || self.adjusted().is_some()
    }

    /// The setting and its device, where the file has another value now.
    pub fn changed(&self) -> Option<(&str, String)> {
        match self {
            Self::Made(change, Ok(Outcome::Accepted | Outcome::Adjusted { .. })) => {
                Some((change.setting.0, change.device.to_string()))
            }
            Self::Restored(step, Restored::Back) => Some((&step.setting, step.device.name.clone())),
            _ => None,
        }
    }

    /// What the kernel made of the value.
    fn adjusted(&self) -> Option<&str> {
        match self {
            Self::Made(_, Ok(Outcome::Adjusted { now })) => Some(now),
            _ => None,
        }
    }

    /// Whether an undo has left another program's value or another iodyno's.
    pub fn is_left_alone(&self) -> bool {
        let Self::Restored(_, what) = self else { return false };
        matches!(
            what,
            Restored::ModifiedExternally(_) | Restored::LeftBefore(_) | Restored::Held(_) | Restored::Kept
        )
    }

    /// Why it was not made, with the remedy where another program's value was left.
    pub fn reason(&self) -> String {
        let (device, setting) = match self {
            Self::Made(change, _) => (change.device.to_string(), change.setting.0),
            Self::Restored(step, _) => (step.device.name.clone(), step.setting.as_str()),
        };
        let remedy = match self {
            Self::Restored(step, Restored::Kept) => {
                format!("; {{undo one}} in its cell restores {}", step.target)
            }
            Self::Restored(step, Restored::ModifiedExternally(_) | Restored::LeftBefore(_)) => {
                let is_live = find(setting).is_some_and(|row| row.risk == Risk::Live);
                let by = if is_live { "{edit value} in its cell" } else { "`iodyno tune undo --force`" };
                format!("; {by} sets {} all the same", step.target)
            }
            _ => String::new(),
        };
        format!("{device} {setting}: {}{remedy}", self.came_to())
    }

    /// From where to where.
    pub fn step(&self) -> String {
        match self {
            Self::Made(change, _) => format!("{} → {}", change.from, change.to),
            Self::Restored(step, _) => format!("↩ {}", step.target),
        }
    }

    /// On what, which setting, from where to where.
    pub fn what(&self) -> String {
        match self {
            Self::Made(change, _) => {
                format!("{} {} {}", change.device, change.setting.0, self.step())
            }
            Self::Restored(step, _) => format!("{} {} {}", step.device.name, step.setting, self.step()),
        }
    }

    /// The result.
    pub fn came_to(&self) -> String {
        match self {
            Self::Made(_, Ok(outcome)) => outcome.to_string(),
            Self::Made(_, Err(why)) => format!("not written: {why}"),
            Self::Restored(_, Restored::Back) => "restored".to_owned(),
            Self::Restored(_, Restored::AlreadyThere) => "unchanged".to_owned(),
            Self::Restored(_, Restored::Resized) => {
                "unchanged; the queue's tags are resized to it".to_owned()
            }
            Self::Restored(_, Restored::ModifiedExternally(now) | Restored::LeftBefore(now)) => {
                format!("left alone: another program set {now}")
            }
            Self::Restored(_, Restored::Displaced { theirs, now, .. }) => {
                format!("is {now} now: another program's value {theirs} was not kept")
            }
            Self::Restored(_, Restored::Held(now)) => {
                format!("left alone: an iodyno still running set {now}; undo it there")
            }
            Self::Restored(_, Restored::Kept) => "left alone: another iodyno kept it".to_owned(),
            Self::Restored(_, Restored::Failed(why)) => format!("not restored: {why}"),
            Self::Restored(_, Restored::Gone) => "drive not present".to_owned(),
            Self::Restored(_, Restored::Empty) => "not restored: the device holds nothing now".to_owned(),
            Self::Restored(_, Restored::Doubtful(drives)) => {
                format!("not undone: may be {} now, check", drives.join(" or "))
            }
            Self::Restored(_, Restored::Refused(why)) => format!("not undone: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::Identity;

    #[test]
    fn an_undo_that_leaves_a_value_says_whose_it_is_and_what_restores_it() {
        let restored = |setting: &str, what| {
            let step = Step {
                device: Identity { name: "nvme0n1".to_owned(), ..Identity::default() },
                setting: setting.to_owned(),
                target: "0".to_owned(),
                recorded: String::new(),
                file: String::new(),
                expected: Vec::new(),
                sessions: Vec::new(),
                stays: false,
                is_asked: true,
                theirs: None,
                replaced: None,
                resets: None,
                host: None,
                is_of_tags: false,
                tags: None,
            };
            Done::Restored(step, what)
        };
        let left = |setting| restored(setting, Restored::ModifiedExternally("1".to_owned()));
        let (gone, back) = (restored("rq_affinity", Restored::Gone), restored("iostats", Restored::Back));
        let nomerges = "nvme0n1 nomerges: left alone: another program set 1; {edit value} in its cell sets 0 \
                        all the same";
        let queues = "nvme0n1 poll_queues: left alone: another program set 1; `iodyno tune undo --force` sets 0 \
                      all the same";
        for (all, says) in [
            (vec![left("nomerges")], format!("0 of 1 restored: {nomerges}")),
            (vec![left("poll_queues"), back.clone()], format!("1 of 2 restored: {queues}")),
            (
                vec![left("nomerges"), gone.clone()],
                format!("0 of 2 restored: {nomerges}. Changes has the reasons of all 2"),
            ),
            (
                vec![restored("iostats", Restored::Kept)],
                "0 of 1 restored: nvme0n1 iostats: left alone: another iodyno kept it; {undo one} in its cell \
                 restores 0"
                    .to_owned(),
            ),
            (vec![gone], "0 of 1 restored: nvme0n1 rq_affinity: drive not present".to_owned()),
        ] {
            assert_eq!(summary(&all), (says, false));
        }
        assert_eq!(summary(&[back]), ("1 of 1 restored".to_owned(), true));
    }
}

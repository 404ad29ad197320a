//! Plans an undo: the files, their order, and obstacles. The writes are `tuner`'s.
//!
//! The journal contains the changes, the machine the current files: a step's file is one that a row of `SETTINGS` yields for
//! a present device, or the driver of an NVMe function, and its value one that the row takes.

use std::collections::HashSet;

use super::{
    actuator::{NO_DRIVER, function_of, is_driver_name},
    change_log::{Beside, ChangeLog, Entry, Replaced, is_expected},
    device::{DRIVER, Device, Identity, Located},
    settings::{
        NO_SCHEDULER, NR_REQUESTS, POLL_QUEUES, Risk, SCHEDULER, Setting, Value, find, poll_queues, rank,
        resets, take_back,
    },
    tunables,
};
use crate::{machine::Machine, model::Reading, text::Label};

/// The changes to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which<'a> {
    /// Everything since boot, back to the first value.
    All,
    /// Everything on one device since boot.
    On(&'a Device),
    /// These files, back to the first value.
    Files(&'a [String]),
    /// Changes of these sessions, back to the value that the first of them found.
    Sessions(&'a [&'a str]),
}

/// One file to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The file, as the journal names it.
    pub recorded: String,
    /// The current file: a drive with a new name is found by its serial number.
    pub file: String,
    /// The device.
    pub device: Identity,
    /// The setting.
    pub setting: String,
    /// The value to restore.
    pub target: String,
    /// The values it has unless another program changed it.
    pub expected: Vec<String>,
    /// The sessions whose change this undoes; empty for all.
    pub sessions: Vec<String>,
    /// It keeps its own value, which an earlier step may reset.
    pub stays: bool,
    /// It was changed itself, not only along with another.
    pub is_asked: bool,
    /// Another program's value, which this undo keeps, also where one of its steps resets it.
    pub theirs: Option<String>,
    /// Another program's number of requests that iodyno has replaced since.
    pub replaced: Option<Replaced>,
    /// What a killed change of another file may have made of it: empty where that is not known, `None` where there is no such
    /// change.
    pub resets: Option<Vec<String>>,
    /// The scheduler whose number of requests the target is, as in [`Entry::found_host`].
    pub host: Option<String>,
    /// It was changed while it was the number of the queue's tags.
    pub is_of_tags: bool,
    /// The number of tags to restore behind a scheduler; the driver's where it is not known.
    pub tags: Option<String>,
}

/// The result of an undo for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It was restored.
    Back,
    /// It had the value already.
    AlreadyThere,
    /// It showed the value already, and the queue's tags were resized to it.
    Resized,
    /// Another program changed it to this value; it was left alone.
    ModifiedExternally(String),
    /// It has this value; an earlier undo left it to another program, and has reported that in its exit status.
    LeftBefore(String),
    /// The kernel refused another program's value after this undo had reset the file.
    Displaced {
        /// The other program's value.
        theirs: String,
        /// The value now.
        now: String,
        /// The kernel's error.
        why: String,
    },
    /// A living session has changed it to this value since.
    Held(String),
    /// Another process has kept it.
    Kept,
    /// It could not be read or written, or did not keep the value.
    Failed(String),
    /// Its drive is gone.
    Gone,
    /// Its device holds nothing now, and keeps its settings.
    Empty,
    /// Its drive is not in its place, and these are similar; none was written.
    Doubtful(Vec<String>),
    /// The journal's file or value may not be written, or a write would not restore it.
    Refused(String),
}

/// Class and subclass of NVMe controllers, without the interface.
const NVME_CLASS: u32 = 0x01_08;

impl Restored {
    /// Whether the file has the value to restore.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Back | Self::AlreadyThere | Self::Resized)
    }

    /// Whether its line in a report has the `iodyno tune undo` that restores the file.
    pub fn is_advised(&self) -> bool {
        matches!(self, Self::ModifiedExternally(_) | Self::LeftBefore(_) | Self::Kept)
    }

    /// Whether the undo has written to the file.
    pub fn is_undone(&self) -> bool {
        matches!(self, Self::Back | Self::Resized | Self::Displaced { .. })
    }
}

impl Step {
    /// Whether this step may reset the other's file.
    pub fn may_reset(&self, other: &Self) -> bool {
        let resets = |id, other| resets(id, other) || tunables::are_reset(id, other);
        self.device.name == other.device.name && resets(&self.setting, &other.setting)
    }

    /// The step of `nr_requests` beside a step of the same device, where iodyno has changed the tags.
    pub fn tags_beside<'a>(&self, steps: &'a [Self]) -> Option<&'a Self> {
        steps.iter().find(|other| {
            other.setting == NR_REQUESTS.0 && other.is_of_tags && other.device.name == self.device.name
        })
    }

    /// Whether the file has this value unless another program changed it.
    pub fn is_known(&self, value: &str) -> bool {
        value == self.target || is_expected(&self.setting, &self.expected, value)
    }

    /// Whether it keeps a value that the change which is undone has reset.
    pub fn is_taken_back(&self) -> bool {
        self.stays && !self.expected.contains(&self.target)
    }

    /// Whether it is the way of a scheduler that has its value, to the tags that it hides.
    pub fn is_detour(&self, change_log: &ChangeLog) -> bool {
        !self.stays
            && self.setting == SCHEDULER.0
            && change_log.companions.iter().any(|entry| entry.file == self.recorded)
    }

    /// Of an entry that is not restored, for reports only.
    pub fn untouched(entry: Entry) -> Self {
        Self {
            recorded: entry.file.clone(),
            file: entry.file,
            device: entry.device,
            setting: entry.setting,
            target: entry.found,
            expected: entry.last,
            sessions: Vec::new(),
            stays: false,
            is_asked: entry.asked,
            theirs: entry.theirs,
            replaced: None,
            resets: None,
            host: entry.found_host,
            is_of_tags: entry.tags.is_some(),
            tags: None,
        }
    }
}

/// The files to restore, in order, and the entries that are not restored, with the reason. A file that a step may reset
/// has a step of its own, which keeps its value.
pub fn plan(
    change_log: &ChangeLog,
    which: &Which<'_>,
    machine: &Machine,
) -> (Vec<Step>, Vec<(Entry, Restored)>) {
    let selection = Selection::of(which, change_log);
    let targets = change_log.entries.iter().map(|entry| (entry, selection.target(entry, machine)));
    let (meant, others): (Vec<_>, Vec<_>) = targets.partition(|(_, target)| target.is_some());
    let changed = Beside::of(meant.iter().map(|(entry, _)| *entry));
    let others = others.into_iter().map(|(entry, _)| entry).chain(&change_log.companions);
    // Tunables come back with their scheduler.
    let beside = others.filter(|entry| changed.may_change(entry) && !tunables::is_tunable(&entry.setting));
    let hiding = change_log.companions.iter().filter(|entry| changed.are_hidden_by(entry));
    let beside = beside.map(|entry| (entry, true, entry.beside().map(str::to_owned)));
    let hiding = hiding.map(|entry| (entry, false, Some(entry.found.clone())));
    let itself = meant.iter().map(|(entry, target)| (*entry, false, target.clone()));
    let mut steps = Vec::new();
    let mut left = Vec::new();
    for (entry, stays, value) in itself.chain(beside).chain(hiding) {
        let Some(target) = value else { continue };
        let opened = entry.first_of(|id| selection.has(id));
        let tags = opened.and_then(|opened| opened.tags.clone());
        let host = opened.map_or(&entry.found_host, |opened| &opened.host);
        // A change of the tags, which may have either number.
        let is_killed = entry.is_of_tags && entry.last.len() > 1;
        let on_the_way = is_killed.then(|| NO_SCHEDULER.to_owned());
        let replaced = entry.replaced.clone().filter(|replaced| !stays && replaced.value != target);
        match file_now(entry, machine).and_then(|place| place.taking(&target)) {
            Ok(file) => steps.push(Step {
                recorded: entry.file.clone(),
                file,
                device: entry.device.clone(),
                setting: entry.setting.clone(),
                target,
                // What an undo left to another program is that one's, whatever it sets.
                expected: if entry.is_let_go && !stays { Vec::new() } else { entry.last.clone() },
                sessions: entry.sessions().filter(|id| selection.has(id)).map(str::to_owned).collect(),
                stays,
                is_asked: entry.asked,
                theirs: entry.theirs.clone(),
                replaced,
                resets: entry.is_unsure.then(|| entry.resets.clone()),
                host: if stays { on_the_way } else { host.clone() },
                // Sessions that found the tags as they are have none to restore.
                is_of_tags: entry.tags.is_some()
                    && (entry.is_unsure || is_killed || tags.is_none() || tags != entry.tags),
                tags,
            }),
            Err(why) if !stays => left.push((entry.clone(), why)),
            Err(_) => {}
        }
    }
    // The way of a scheduler resizes the tags for the sessions that changed these.
    for at in 0..steps.len() {
        if steps[at].setting == SCHEDULER.0
            && let Some(requests) = steps[at].tags_beside(&steps)
        {
            let more = requests.sessions.clone();
            let sessions = &mut steps[at].sessions;
            sessions.extend(more);
            sessions.sort();
            sessions.dedup();
        }
    }
    steps.sort_by_key(|step| rank(&step.setting));
    (steps, left)
}

/// The changes to undo, for lookups.
struct Selection<'a> {
    which: &'a Which<'a>,
    /// Sessions, or files.
    names: HashSet<&'a str>,
    /// What may change along with these files.
    along: Option<Beside<'a>>,
}

impl<'a> Selection<'a> {
    fn of(which: &'a Which<'a>, change_log: &'a ChangeLog) -> Self {
        let names: HashSet<&str> = match which {
            Which::All | Which::On(_) => HashSet::new(),
            Which::Files(files) => files.iter().map(String::as_str).collect(),
            Which::Sessions(sessions) => sessions.iter().copied().collect(),
        };
        let is_named = |entry: &&Entry| names.contains(entry.file.as_str());
        let along =
            matches!(which, Which::Files(_)).then(|| Beside::of(change_log.entries.iter().filter(is_named)));
        Self { which, names, along }
    }

    /// Whether the session is one of those whose changes are undone.
    fn has(&self, session: &str) -> bool {
        matches!(self.which, Which::Sessions(_)) && self.names.contains(session)
    }

    /// The value to restore, if the entry is selected. A selected file takes along files that changed only with it.
    fn target(&self, entry: &Entry, machine: &Machine) -> Option<String> {
        let is_along = || self.along.as_ref().is_some_and(|along| along.may_change(entry));
        let is_meant = match self.which {
            Which::All => true,
            Which::On(device) => is_on(entry, device, machine),
            Which::Files(_) => self.names.contains(entry.file.as_str()) || !entry.asked && is_along(),
            Which::Sessions(_) => {
                return entry.first_of(|id| self.has(id)).map(|opened| opened.found.clone());
            }
        };
        is_meant.then(|| entry.found.clone())
    }
}

/// Whether the entry's drive is that one; for a drive in doubt, whether it was.
fn is_on(entry: &Entry, device: &Device, machine: &Machine) -> bool {
    let was = entry.device.name == device.to_string();
    match (device, entry.device.locate(machine)) {
        // By its name of today, or by its earlier one where that is free.
        (Device::Drive(name), Located::At(drive)) => {
            drive.name == *name || was && machine.drive(name).is_none()
        }
        _ => was,
    }
}

/// A file that may be written.
struct Place {
    file: String,
    takes: Takes,
}

/// The values of a file.
enum Takes {
    /// Those of a row of the table.
    Row(&'static Setting),
    /// Drivers of an NVMe function.
    Driver,
    /// Numbers of a scheduler's tunable.
    Number,
}

impl Place {
    /// The file, if it takes the value.
    fn taking(self, value: &str) -> Result<String, Restored> {
        let taken = match self.takes {
            Takes::Row(row) => take_back(row, value),
            // An undo binds a drive again; it never takes one from its driver.
            Takes::Driver if is_driver_name(value) && value != NO_DRIVER => Ok(()),
            Takes::Driver => Err("needs a driver name".to_owned()),
            Takes::Number if tunables::is_value(value) => Ok(()),
            Takes::Number => Err("takes a whole number".to_owned()),
        };
        let refused = |why| Restored::Refused(format!("{why}; {} was not written", Label::new(value)));
        taken.map(|()| self.file).map_err(refused)
    }
}

/// The current file of an entry.
///
/// # Errors
/// The drive is gone or in doubt, or the file is no setting of the device.
pub fn file_of(entry: &Entry, machine: &Machine) -> Result<String, Restored> {
    file_now(entry, machine).map(|place| place.file)
}

fn file_now(entry: &Entry, machine: &Machine) -> Result<Place, Restored> {
    let no_setting =
        || Restored::Refused("the journal names a file that is not a setting of this device".to_owned());
    if entry.setting == DRIVER.0 {
        // The function exists also while it is unbound.
        let node = function_of(&entry.file).and_then(|address| machine.pci.find(address));
        let class = node.and_then(|node| machine.pci.node(node).class.get());
        return match class {
            Some(class) if class >> 8 == NVME_CLASS => {
                Ok(Place { file: entry.file.clone(), takes: Takes::Driver })
            }
            _ => Err(no_setting()),
        };
    }
    let tunable = tunables::name_of(&entry.setting);
    let id = tunable.map_or(entry.setting.as_str(), |_| SCHEDULER.0);
    let row = find(id).filter(|row| row.risk != Risk::Shown).ok_or_else(no_setting)?;
    let (readings, moved) = if row.id == POLL_QUEUES {
        (poll_queues(machine).into_iter().collect(), false)
    } else {
        let (device, moved) = device_now(&entry.device, machine)?;
        ((row.read)(machine, &device), moved)
    };
    let file = |reading: &Reading<Value>| {
        let file = reading.path().to_string();
        let Some(name) = tunable else { return Some(file) };
        tunables::queue_of(&file).map(|queue| tunables::path(queue, name))
    };
    let files: Vec<String> = readings.iter().filter_map(file).collect();
    let file = match (files.contains(&entry.file), files.as_slice()) {
        (true, _) => entry.file.clone(),
        // A device with a new name: the setting's only file is this one.
        (false, [file]) if moved => file.clone(),
        _ => return Err(no_setting()),
    };
    Ok(Place { file, takes: tunable.map_or(Takes::Row(row), |_| Takes::Number) })
}

/// The changed device by its current name, and whether its files may have new names.
fn device_now(identity: &Identity, machine: &Machine) -> Result<(Device, bool), Restored> {
    let Ok(device) = identity.name.parse::<Device>();
    match device {
        Device::Cpu => Ok((device, false)),
        Device::Pci(address) => {
            let node = machine.pci.find(address).ok_or(Restored::Gone)?;
            let stayed = identity.path.as_deref().is_none_or(|path| path == &*machine.pci.node(node).path);
            if stayed { Ok((device, false)) } else { Err(Restored::Gone) }
        }
        Device::Drive(name) => match identity.locate(machine) {
            Located::At(drive) => {
                let stayed = identity.path.as_deref().map_or(drive.name == name, |path| path == &*drive.path);
                if let Some(other) = identity.other_name().filter(|_| !stayed) {
                    let (name, other) = (Label::new(&identity.name), Label::new(other));
                    return Err(Restored::Refused(format!(
                        "the journal names {name} and the folder of {other}"
                    )));
                }
                Ok((Device::Drive(drive.name.clone()), !stayed))
            }
            Located::Gone => Err(Restored::Gone),
            Located::Doubtful(drives) => {
                Err(Restored::Doubtful(drives.iter().map(|drive| drive.name.to_string()).collect()))
            }
        },
    }
}

//! Putting values back: in which order, and what stands in the way. Pure planning; the writes are `tuner`'s.
//!
//! The journal says what was changed; which file that is now, the machine says: a step's file is always one that a row of
//! `SETTINGS` yields for a device that is there, or the driver of an NVMe function, and its value one that the row takes.

use super::{
    actuator::{NO_DRIVER, function_of, is_driver_name},
    change_log::{ChangeLog, Entry},
    device::{DRIVER, Device, Identity, Located},
    settings::{POLL_QUEUES, Risk, Setting, Value, find, poll_queues, rank, resets, take_back},
};
use crate::{machine::Machine, model::Reading, text::Label};

/// Which changes are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which<'a> {
    /// Everything since boot, back to what iodyno found.
    All,
    /// Everything on one device since boot.
    On(&'a Device),
    /// These files, back to what iodyno found.
    Files(&'a [String]),
    /// What these sessions changed, back to what the first of them found.
    Sessions(&'a [&'a str]),
}

/// One file to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The file as the journal names it.
    pub recorded: String,
    /// The file as it is named now: a drive that came back under another name is followed by its serial number.
    pub file: String,
    /// Whose it is.
    pub device: Identity,
    /// Which setting.
    pub setting: String,
    /// The value to be there again.
    pub target: String,
    /// What it reads if nobody else touched it.
    pub expected: Vec<String>,
    /// The sessions whose change this undoes; empty for all of them.
    pub sessions: Vec<String>,
    /// It only stays as it is: what is put back before it may have changed it.
    pub stays: bool,
}

/// What became of one file in an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It has its value again.
    Back,
    /// It already had it.
    AlreadyThere,
    /// Somebody else changed it; it reads this and was left alone.
    ModifiedExternally(String),
    /// It could not be read, written or did not keep the value; in words.
    Failed(String),
    /// Its drive is gone.
    Gone,
    /// Its drive is not where it was, and these look like it; none was touched.
    Doubtful(Vec<String>),
    /// What the journal says is nothing that may be written; in words.
    Refused(String),
}

/// Class and subclass of NVMe controllers, without the interface.
const NVME_CLASS: u32 = 0x01_08;

impl Step {
    /// Whether putting this back may change the other along with it.
    pub fn may_reset(&self, other: &Self) -> bool {
        self.device.name == other.device.name && resets(&self.setting, &other.setting)
    }

    /// Of an entry that is not put back: for telling, not for writing.
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
        }
    }
}

/// The files to put back, those that reset others before what they reset; and the entries that are not put back, with the
/// reason. Files that are not meant and might be reset along with one that is have a step of their own, that they stay.
pub fn plan(
    change_log: &ChangeLog,
    which: &Which<'_>,
    machine: &Machine,
) -> (Vec<Step>, Vec<(Entry, Restored)>) {
    let meant: Vec<&Entry> = change_log
        .entries
        .iter()
        .filter(|entry| target(entry, which, change_log, machine).is_some())
        .collect();
    let beside = change_log.entries.iter().chain(&change_log.companions).filter(|entry| {
        let is_meant = meant.iter().any(|other| other.file == entry.file);
        !is_meant && meant.iter().any(|other| other.with.contains(&entry.file))
    });
    let mut steps = Vec::new();
    let mut left = Vec::new();
    for (entry, stays) in meant.iter().map(|entry| (*entry, false)).chain(beside.map(|entry| (entry, true))) {
        // The first of two values that a kill left possible is the one that was there.
        let value =
            if stays { entry.last.first().cloned() } else { target(entry, which, change_log, machine) };
        let Some(target) = value else { continue };
        match file_now(entry, machine).and_then(|place| place.taking(&target)) {
            Ok(file) => steps.push(Step {
                recorded: entry.file.clone(),
                file,
                device: entry.device.clone(),
                setting: entry.setting.clone(),
                target,
                expected: entry.last.clone(),
                sessions: match which {
                    Which::Sessions(sessions) => entry.open_in(sessions).map(str::to_owned).collect(),
                    _ => Vec::new(),
                },
                stays,
            }),
            Err(why) if !stays => left.push((entry.clone(), why)),
            Err(_) => {}
        }
    }
    steps.sort_by_key(|step| rank(&step.setting));
    (steps, left)
}

/// What an entry goes back to, if it is meant. A file that is named takes along what was changed with it alone.
fn target(entry: &Entry, which: &Which<'_>, change_log: &ChangeLog, machine: &Machine) -> Option<String> {
    let is_meant = match which {
        Which::All => true,
        Which::On(device) => is_on(entry, device, machine),
        Which::Files(files) => {
            let along = |other: &Entry| files.contains(&other.file) && other.with.contains(&entry.file);
            files.contains(&entry.file) || !entry.asked && change_log.entries.iter().any(along)
        }
        Which::Sessions(sessions) => return entry.before(sessions).map(str::to_owned),
    };
    is_meant.then(|| entry.found.clone())
}

/// Whether the entry's drive is that one now; of a drive in doubt, whether it was.
fn is_on(entry: &Entry, device: &Device, machine: &Machine) -> bool {
    let was = entry.device.name == device.to_string();
    match (device, entry.device.locate(machine)) {
        (Device::Drive(name), Located::At(drive)) => drive.name == *name,
        _ => was,
    }
}

/// A file that may be written: of a row of the table, or, without one, the driver of an NVMe function.
struct Place {
    file: String,
    row: Option<&'static Setting>,
}

impl Place {
    /// The file, if it takes the value.
    fn taking(self, value: &str) -> Result<String, Restored> {
        let taken = match self.row {
            Some(row) => take_back(row, value),
            // An undo binds a drive again; it never takes one from its driver.
            None if is_driver_name(value) && value != NO_DRIVER => Ok(()),
            None => Err("needs a driver name".to_owned()),
        };
        let refused = |why| Restored::Refused(format!("{why}; {} was not written", Label::new(value)));
        taken.map(|()| self.file).map_err(refused)
    }
}

/// The file of an entry on the machine as it is now, which is a setting's: it may be read and shown.
///
/// # Errors
/// Why there is none: a drive that is gone or in doubt, a file that is no setting of the device.
pub fn file_of(entry: &Entry, machine: &Machine) -> Result<String, Restored> {
    file_now(entry, machine).map(|place| place.file)
}

fn file_now(entry: &Entry, machine: &Machine) -> Result<Place, Restored> {
    let no_setting =
        || Restored::Refused("the journal names a file that is not a setting of this device".to_owned());
    if entry.setting == DRIVER.0 {
        // The function stays where it is, also while its drive is away.
        let node = function_of(&entry.file).and_then(|address| machine.pci.find(address));
        let class = node.and_then(|node| machine.pci.node(node).class.get());
        return match class {
            Some(class) if class >> 8 == NVME_CLASS => Ok(Place { file: entry.file.clone(), row: None }),
            _ => Err(no_setting()),
        };
    }
    let row = find(&entry.setting).filter(|row| row.risk != Risk::Shown).ok_or_else(no_setting)?;
    let (readings, moved) = if row.id == POLL_QUEUES {
        (poll_queues(machine).into_iter().collect(), false)
    } else {
        let (device, moved) = device_now(&entry.device, machine)?;
        ((row.read)(machine, &device), moved)
    };
    let own = |reading: &&Reading<Value>| **reading.path() == *entry.file;
    let reading = match (readings.iter().find(own), readings.as_slice()) {
        (Some(reading), _) => reading,
        // Under another name the one file of the setting is this one.
        (None, [reading]) if moved => reading,
        _ => return Err(no_setting()),
    };
    Ok(Place { file: reading.path().to_string(), row: Some(row) })
}

/// The device that was changed as it is called now, and whether its files may have other names than they had.
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
                Ok((Device::Drive(drive.name.clone()), !stayed))
            }
            Located::Gone => Err(Restored::Gone),
            Located::Doubtful(drives) => {
                Err(Restored::Doubtful(drives.iter().map(|drive| drive.name.to_string()).collect()))
            }
        },
    }
}

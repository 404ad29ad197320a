//! Putting values back: in which order, and what stands in the way. Pure planning; the writes are `tuner`'s.

use super::{
    change::{Device, Identity},
    ledger::{Entry, Ledger},
    rebind::DRIVER,
    settings::{POLL_QUEUES, SETTINGS, rank, resets},
};
use crate::{machine::Machine, model::DriveName};

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

impl Step {
    /// Whether putting this back may change the other along with it.
    pub fn may_reset(&self, other: &Self) -> bool {
        self.device == other.device && resets(&self.setting, &other.setting)
    }
}

/// The files to put back, those that reset others before what they reset; and the entries whose drive is gone. Files that
/// are not meant and might be reset along with one that is have a step of their own, that they stay.
pub fn plan(ledger: &Ledger, which: &Which<'_>, machine: &Machine) -> (Vec<Step>, Vec<Entry>) {
    let meant: Vec<&Entry> =
        ledger.entries.iter().filter(|entry| target(entry, which, ledger, machine).is_some()).collect();
    let beside = ledger.entries.iter().chain(&ledger.companions).filter(|entry| {
        let is_meant = meant.iter().any(|other| other.file == entry.file);
        !is_meant && meant.iter().any(|other| other.with.contains(&entry.file))
    });
    let mut steps = Vec::new();
    let mut gone = Vec::new();
    for (entry, stays) in meant.iter().map(|entry| (*entry, false)).chain(beside.map(|entry| (entry, true))) {
        // The first of two values that a kill left possible is the one that was there.
        let value = if stays { entry.last.first().cloned() } else { target(entry, which, ledger, machine) };
        match (file_now(entry, machine), value) {
            (Some(file), Some(target)) => steps.push(Step {
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
            (None, _) if !stays => gone.push(entry.clone()),
            _ => {}
        }
    }
    steps.sort_by_key(|step| rank(&step.setting));
    (steps, gone)
}

/// What an entry goes back to, if it is meant. A file that is named takes along what was changed with it alone.
fn target(entry: &Entry, which: &Which<'_>, ledger: &Ledger, machine: &Machine) -> Option<String> {
    let is_meant = match which {
        Which::All => true,
        Which::On(device) => is_on(entry, device, machine),
        Which::Files(files) => {
            let along = |other: &Entry| files.contains(&other.file) && other.with.contains(&entry.file);
            files.contains(&entry.file) || !entry.asked && ledger.entries.iter().any(along)
        }
        Which::Sessions(sessions) => return entry.before(sessions).map(str::to_owned),
    };
    is_meant.then(|| entry.found.clone())
}

fn is_on(entry: &Entry, device: &Device, machine: &Machine) -> bool {
    match device {
        Device::Drive(name) => entry.device.find(machine).is_some_and(|drive| drive.name == *name),
        other => entry.device.name == other.to_string(),
    }
}

/// The file of an entry on the machine as it is now; `None` when its drive is gone.
fn file_now(entry: &Entry, machine: &Machine) -> Option<String> {
    // The controller's driver and the driver's parameter stay where they are, also while the drive is away.
    if [DRIVER.0, POLL_QUEUES.0].contains(&entry.setting.as_str()) {
        return Some(entry.file.clone());
    }
    let is_drive = entry.device.serial.is_some() || entry.device.diskseq.is_some();
    if !is_drive {
        return Some(entry.file.clone());
    }
    let drive = entry.device.find(machine)?;
    if drive.name == DriveName::new(&entry.device.name) {
        return Some(entry.file.clone());
    }
    let row = SETTINGS.iter().find(|row| row.id.0 == entry.setting)?;
    let readings = (row.read)(machine, &Device::Drive(drive.name.clone()));
    readings.first().map(|reading| reading.path().to_string())
}

//! Putting values back: in which order, and what stands in the way. Pure planning; the writes are `tuner`'s.

use super::{
    change::{Device, Identity},
    journal::{Entry, Ledger},
    rebind::DRIVER,
    settings::{POLL_QUEUES, SETTINGS, rank},
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
}

/// The files to put back, the scheduler's before those it resets; and the entries whose drive is gone.
pub fn plan(ledger: &Ledger, which: &Which<'_>, machine: &Machine) -> (Vec<Step>, Vec<Entry>) {
    let mut steps = Vec::new();
    let mut gone = Vec::new();
    for entry in &ledger.entries {
        let target = match which {
            Which::All => Some(entry.found.as_str()),
            Which::On(device) => is_on(entry, device, machine).then_some(entry.found.as_str()),
            Which::Files(files) => files.contains(&entry.file).then_some(entry.found.as_str()),
            Which::Sessions(sessions) => entry.before(sessions),
        };
        let Some(target) = target else { continue };
        match file_now(entry, machine) {
            Some(file) => steps.push(Step {
                recorded: entry.file.clone(),
                file,
                device: entry.device.clone(),
                setting: entry.setting.clone(),
                target: target.to_owned(),
                expected: entry.last.clone(),
                sessions: match which {
                    Which::Sessions(sessions) => entry.open_in(sessions).map(str::to_owned).collect(),
                    _ => Vec::new(),
                },
            }),
            None => gone.push(entry.clone()),
        }
    }
    steps.sort_by_key(|step| rank(&step.setting));
    (steps, gone)
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

//! `iodyno tune set DRIVE poll_queues=N --rebind`: asked for by name, checked again right before, followed by serial.

use std::{
    io::{self, BufRead},
    thread,
    time::Duration,
};

use super::{Bench, Complaint, Failure, Status, print};
use crate::{
    model::DriveName,
    report::tune as report,
    runtime::desk::unix_millis,
    source::{SysRoot, open_files, read_machine},
    tune::{
        Change, Device, Live, Outcome, Tuner,
        journal::{Ledger, Purpose},
        rebind::{self, Rebind, RebindError},
        undo::Which,
    },
};

/// How often, every 200 ms, the drive is looked for when it comes back.
const LOOKS: u32 = 75;

impl Bench {
    /// Changes the number of poll queues and has the driver probe the drive again.
    pub(super) fn rebind(
        &self,
        root: &dyn SysRoot,
        device: &Device,
        queues: &str,
        changes: &[Change],
        dry_run: bool,
    ) -> Result<Status, Failure> {
        let Device::Drive(drive) = device else {
            return Err(
                Complaint::new("--rebind", "is for a drive", "name one that `iodyno drives` lists").into()
            );
        };
        let planned = checked(root, drive)?;
        if dry_run {
            return print(&format!("{}{}", report::commands(changes), planned.commands()));
        }
        print(&format!(
            "{drive} ({}) at {} leaves the nvme driver and comes back with {queues} poll queues asked for;\nwith it {}. \
             No mount, swap, holder or open file was found. Type {drive} to go on: ",
            planned.identity.serial.as_deref().unwrap_or_default(),
            planned.address,
            planned.parts.join(" "),
        ))?;
        let mut line = String::new();
        let _nothing_typed = io::stdin().lock().read_line(&mut line);
        if line.trim() != drive.as_str() {
            return Err(
                Complaint::new(drive.as_str(), "was not confirmed", "type its name when asked").into()
            );
        }
        let tuner = Tuner::open(&self.journal, &Live, Purpose::Command, &self.boot, &unix_millis)?;
        for change in changes {
            let outcome = tuner.apply(&self.machine, change)?;
            print(&report::applied(change, &outcome))?;
            if outcome != Outcome::Accepted {
                tuner.close()?;
                return Ok(Status::No);
            }
        }
        // Somebody may have taken it while the question stood.
        if let Err(error) = checked(root, drive).and_then(|now| Ok(now.carry_out(&Live)?)) {
            let ledger = Ledger::of(&self.journal.read()?, &self.boot);
            tuner.undo(&self.machine, &ledger, &Which::Sessions(&[tuner.session()]), false)?;
            tuner.close()?;
            return Err(error);
        }
        tuner.keep()?;
        came_back(root, &planned, queues)
    }
}

/// The plan, when nothing uses the drive right now.
fn checked(root: &dyn SysRoot, drive: &DriveName) -> Result<Rebind, Failure> {
    let planned = rebind::plan(&read_machine(root).0, drive)?;
    let files: Vec<String> = planned.parts.iter().map(|part| format!("/dev/{part}")).collect();
    let blocks: Vec<String> = files.iter().filter(|file| !file.starts_with("/dev/ng")).cloned().collect();
    match open_files::opener(root, &files).or_else(|| open_files::claimed(&blocks)) {
        Some(by) => Err(RebindError::InUse { drive: drive.clone(), by }.into()),
        None => Ok(planned),
    }
}

/// Waits for the drive, whatever its name is now, and says what it has become.
fn came_back(root: &dyn SysRoot, planned: &Rebind, queues: &str) -> Result<Status, Failure> {
    for _ in 0..LOOKS {
        thread::sleep(Duration::from_millis(200));
        let (machine, _) = read_machine(root);
        let Some(drive) = planned.identity.find(&machine) else { continue };
        let Some(polled) = drive.queue.io_poll.get() else { continue };
        let counted = drive.queue.hardware_queues.get().map_or(String::new(), |q| {
            format!(", {} default, {} read, {} poll queues", q.default, q.read, q.poll)
        });
        print(&format!("{} is back as {}: io_poll {polled}{counted}\n", planned.drive, drive.name))?;
        return Ok(if (polled == 1) == (queues != "0") { Status::Done } else { Status::No });
    }
    let (name, address) = (planned.drive.as_str(), planned.address);
    let fix = format!("look at `dmesg` and at /sys/bus/pci/devices/{address}");
    Err(Complaint::new(name, "did not come back within 15 s", fix).into())
}

//! `iodyno tune set DRIVE poll_queues=N --rebind`: asked for by name, checked again right before, followed by serial.

use std::io::{self, BufRead};

use super::{Bench, Complaint, Failure, Status, print};
use crate::{
    model::DriveName,
    report::tune as report,
    source::{
        SysRoot,
        open_files::{self, Number},
        read_machine,
    },
    tune::{
        Change, Device, Outcome, SettingsService,
        journal::Purpose,
        rebind::{self, Rebind, RebindError},
        undo::Which,
    },
};

impl Bench {
    /// Changes the number of poll queues and has the driver probe the drive again.
    pub(super) fn rebind(
        &self,
        root: &dyn SysRoot,
        device: &Device,
        queues: &str,
        changes: Vec<Change>,
        dry_run: bool,
    ) -> Result<Status, Failure> {
        let Device::Drive(drive) = device else {
            return Err(Complaint::new(
                "--rebind",
                "works with drives only",
                "name one that `iodyno drives` lists",
            )
            .into());
        };
        let planned = checked(root, drive)?;
        if dry_run {
            return print(&format!("{}{}", report::commands(&changes), planned.commands()));
        }
        print(&format!(
            "{drive} ({}) at {} will be unbound from the nvme driver and bound with poll_queues={queues};\naffected: {}. \
             It is not in use. Type {drive} to continue: ",
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
        let service = self.service()?;
        let tuner = service.open(Purpose::Command)?;
        let mut accepted = true;
        for (change, outcome) in service.apply(&tuner, changes) {
            let outcome = outcome?;
            print(&report::applied(&change, &outcome))?;
            accepted = outcome == Outcome::Accepted;
            if !accepted {
                break;
            }
        }
        if !accepted {
            tuner.close()?;
            return Ok(Status::No);
        }
        // Somebody may have taken it while the question stood.
        let now = checked(root, drive).and_then(|now| unclaimed(root, now));
        if let Err(error) = now.and_then(|now| Ok(now.carry_out(&tuner, &self.machine)?)) {
            service.undo(&tuner, &Which::Sessions(&[tuner.session()]), false)?;
            tuner.close()?;
            return Err(error);
        }
        tuner.keep()?;
        came_back(service, &planned, queues)
    }
}

/// The plan, when nothing uses the drive right now.
fn checked(root: &dyn SysRoot, drive: &DriveName) -> Result<Rebind, Failure> {
    let planned = rebind::plan(&read_machine(root).0, drive)?;
    match open_files::mapped(root, &planned.parts) {
        Some(by) => Err(RebindError::InUse { drive: drive.clone(), by }.into()),
        None => Ok(planned),
    }
}

/// The same plan, when the kernel lets every block device of it be opened exclusively. Opening is no harmless look: it
/// comes last, after the drive was named to confirm.
fn unclaimed(root: &dyn SysRoot, planned: Rebind) -> Result<Rebind, Failure> {
    let numbers = open_files::numbers(root);
    let is_block = |(number, name): &(&Number, &String)| {
        matches!(number, Number::Block(..)) && planned.parts.contains(name)
    };
    let blocks: Vec<String> =
        numbers.iter().filter(is_block).map(|(_, name)| format!("/dev/{name}")).collect();
    let by = if blocks.is_empty() {
        Some("its device number cannot be read, so its users are unknown".to_owned())
    } else {
        open_files::claimed(&blocks)
    };
    match by {
        Some(by) => Err(RebindError::InUse { drive: planned.drive, by }.into()),
        None => Ok(planned),
    }
}

/// Waits for the drive, whatever its name is now, and says what it has become.
fn came_back(service: &SettingsService, planned: &Rebind, queues: &str) -> Result<Status, Failure> {
    let back = service.wait_for(&planned.identity);
    let Some((name, polled, counted)) = back.as_ref().and_then(|drive| {
        let counted = drive.queue.hardware_queues.get().map_or(String::new(), |q| {
            format!(", {} default, {} read, {} poll queues", q.default, q.read, q.poll)
        });
        Some((&drive.name, drive.queue.io_poll.get()?, counted))
    }) else {
        let (name, address) = (planned.drive.as_str(), planned.address);
        let fix = format!("check `dmesg` and /sys/bus/pci/devices/{address}");
        return Err(Complaint::new(name, "did not reappear within 15 s", fix).into());
    };
    print(&format!("{} is now {name}: io_poll {polled}{counted}\n", planned.drive))?;
    Ok(if (polled == 1) == (queues != "0") { Status::Done } else { Status::No })
}

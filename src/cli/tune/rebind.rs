//! `iodyno tune set DRIVE poll_queues=N --rebind`: confirmed by name, checked again right before, found again by serial.

use std::io::{self, BufRead};

use super::{Complaint, Context, Failure, Status, is_whole, print_text};
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

impl Context {
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
            let fix = "name one that `iodyno drives` lists";
            return Err(Complaint::new("--rebind", "works with drives only", fix).into());
        };
        let planned = checked(root, drive)?;
        if dry_run {
            return print_text(&format!("{}{}", report::commands(&changes), planned.commands()));
        }
        print_text(&format!(
            "{drive} ({}) at {} will be unbound from the nvme driver and bound with poll_queues={queues};\naffected: {}. \
             It is not in use. Type {drive} to continue: ",
            planned.identity.serial.as_deref().unwrap_or_default(),
            planned.address,
            planned.parts.join(" "),
        ))?;
        let mut line = String::new();
        let _nothing_typed = io::stdin().lock().read_line(&mut line);
        if line.trim() != drive.as_str() {
            let fix = "type its name when asked";
            return Err(Complaint::new(drive.as_str(), "was not confirmed", fix).into());
        }
        let service = self.service()?;
        let tuner = service.open(Purpose::Command)?;
        let mut accepted = true;
        for (change, outcome) in service.apply(&tuner, changes) {
            let outcome = outcome?;
            print_text(&report::applied(&change, &outcome, &tuner.along()))?;
            accepted = outcome == Outcome::Accepted;
            if !accepted {
                break;
            }
        }
        if !accepted {
            tuner.close()?;
            return Ok(Status::No);
        }
        // It may be in use since the question.
        let now = checked(root, drive).and_then(|now| unclaimed(root, now));
        if let Err(error) = now.and_then(|now| Ok(now.carry_out(&tuner, &self.machine)?)) {
            let restored = service.undo(&tuner, &Which::Sessions(&[tuner.session()]), false);
            // The journal may have no room for the end; what is not restored is offered at the next start.
            let _ = tuner.close();
            let restored = match restored {
                Ok(restored) => restored,
                Err(undo) => return Err(error.and(&format!("; {undo}"))),
            };
            if !is_whole(&restored) {
                print_text(&report::restored(&restored, ""))?;
            }
            return Err(error);
        }
        tuner.keep()?;
        reappeared(service, &planned, queues)
    }
}

/// The plan, if the drive is not in use.
fn checked(root: &dyn SysRoot, drive: &DriveName) -> Result<Rebind, Failure> {
    let planned = rebind::plan(&read_machine(root).0, drive)?;
    match open_files::mapped(root, &planned.parts) {
        Some(by) => Err(RebindError::InUse { drive: drive.clone(), by }.into()),
        None => Ok(planned),
    }
}

/// The plan, if every block device of it can be opened exclusively. Opening has side effects, so it comes last, after the
/// confirmation.
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

/// Waits for the drive, under whatever name, and prints its queues.
fn reappeared(service: &SettingsService, planned: &Rebind, queues: &str) -> Result<Status, Failure> {
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
    print_text(&format!("{} is now {name}: io_poll {polled}{counted}\n", planned.drive))?;
    Ok(if (polled == 1) == (queues != "0") { Status::Done } else { Status::No })
}

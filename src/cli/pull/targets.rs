//! What a pull reads: drives by name, files, or all drives; and whether they can be read.

use super::PullArgs;
use crate::{
    cli::failure::{Complaint, Failure, unread},
    machine::Drive,
    model::{Target, Workload, fio},
    runtime::{access, run::Testbed},
    source::origin::Origin,
};

impl PullArgs {
    /// What is read, with the drive of each.
    pub(super) fn targets(&self, bed: &Testbed, origin: &Origin) -> Result<Vec<Target>, Failure> {
        let machine = &bed.read.machine;
        let target = |name: &String| {
            let plain = name.trim_start_matches("/dev/");
            let drive =
                machine.hardware_drives().chain(&machine.drives).find(|drive| drive.name.as_str() == plain);
            drive.map(Drive::target).ok_or_else(|| {
                let list = format!("`iodyno drives{}` lists them", options(origin));
                let file = if bed.simulated() { "" } else { "; --filename reads a file" };
                Complaint::new(name, "no such drive", format!("{list}{file}"))
            })
        };
        let targets = match &self.filename {
            Some(names) if bed.simulated() => {
                let names = fio::names(names);
                let names: Vec<String> =
                    names.iter().map(|path| path.to_string_lossy().into_owned()).collect();
                names.iter().map(target).collect::<Result<_, _>>()?
            }
            Some(names) => {
                let named = fio::names(names).into_iter().map(|path| Target { path, drive: None });
                let mut workload = Workload { targets: named.collect(), ..Workload::default() };
                bed.resolve(&mut workload)?;
                workload.targets
            }
            None if !self.drives.is_empty() => self.drives.iter().map(target).collect::<Result<_, _>>()?,
            None => machine.drives.iter().filter(|drive| drive.is_fixed()).map(Drive::target).collect(),
        };
        if targets.is_empty() {
            let fix = "name a file: --filename /home/iodyno.test --size 4g";
            return Err(Complaint::new("pull", "no drive to read", fix).into());
        }
        Ok(targets)
    }

    /// Refuses targets that cannot be read before anything is asked, as far as that is known without opening them.
    pub(super) fn check(&self, bed: &Testbed, targets: &[Target]) -> Result<(), Failure> {
        for target in targets {
            let Err(error) = access::check(&target.path, self.size) else { continue };
            return Err(unread(&access::failed(&bed.read.machine, targets, error), "pull"));
        }
        Ok(())
    }
}

/// The options of this machine, for commands in messages: ` --demo laptop`.
fn options(origin: &Origin) -> String {
    match origin {
        Origin::Demo(name) => format!(" --demo {name}"),
        _ => String::new(),
    }
}

//! What a pull says before it reads, and its question.

use std::io::{self, IsTerminal, Write};

use super::PullArgs;
use crate::{
    cli::{
        failure::{Complaint, Failure},
        say,
        terminal::units,
    },
    machine::Machine,
    model::Target,
    pull::Pull,
    units::counted,
};

impl PullArgs {
    /// Says what is read, and asks where there is a terminal; without one, drives in use need `--yes`.
    pub(super) fn agreed(&self, machine: &Machine, pull: &Pull) -> Result<bool, Failure> {
        // The drive below a file is always mounted.
        let used = |target: &Target| {
            let drive = target.drive.as_ref().and_then(|name| machine.drive(name));
            let whole = drive.filter(|drive| drive.target().path == target.path);
            whole.and_then(|drive| drive.used_by.first()).map(ToString::to_string)
        };
        let mut in_use = 0;
        for target in pull.targets() {
            let using = used(target);
            in_use += usize::from(using.is_some());
            let using = using.map_or_else(String::new, |using| format!(" (in use: {using})"));
            say(&format!("reads {}{using}", target.path.display()));
        }
        if let Some(few) = pull.representatives() {
            say(&format!(
                "{few} of {} drives, one of each model and link, are read alone",
                pull.targets().len()
            ));
        }
        if let Some(size) = pull.size() {
            let size = units(false).size(size);
            say(&format!("a missing file is written first, {size}, and removed afterwards"));
        }
        say(&format!("at most {} s of reads; changes no setting", pull.time_left().as_secs()));
        if self.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            if in_use == 0 {
                return Ok(true);
            }
            let wrong = format!("{} in use, and no terminal to ask on", counted(in_use, "drive"));
            return Err(Complaint::new("pull", wrong, "add --yes, or name other drives").into());
        }
        // There is nowhere left to complain about standard error.
        let _ = write!(io::stderr(), "Enter or y starts, n leaves: ");
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).unwrap_or_default();
        Ok(read > 0 && ["", "y", "yes"].contains(&answer.trim()))
    }
}

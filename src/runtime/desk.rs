//! [`Desk`]: where a machine's settings are changed: its files, what writes them, the journal.
//!
//! Here: opening it for this machine or for a demo, the account of what stands changed, what is put back without being
//! asked, and [`Hold`], the settings of an experiment. Not here: the thread beside the screen (`tuning`), what a change
//! is (`tune`).
//!
//! An experiment takes a hold, sets the values of an arm, runs its test, restores, sets the next arm, and ends:
//!
//! ```no_run
//! # use iodyno::{model::DriveName, runtime::desk::Desk, source::origin::Origin};
//! # use iodyno::tune::{Device, Wanted, settings, tuner};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let origin = Origin::Live;
//! let desk = Desk::new(&origin, &origin.open()?).ok_or("settings of this machine cannot be changed")?;
//! let hold = desk.hold()?;
//! let drive = Device::Drive(DriveName::new("nvme0n1"));
//! let row = settings::find("scheduler").ok_or("no such setting")?;
//! for (change, outcome) in hold.set(&[Wanted::new(drive, row, "mq-deadline")])? {
//!     println!("{} {}: {outcome}", change.device, change.setting.0);
//! }
//! // ... the arm's test ...
//! assert!(tuner::is_whole(&hold.restore()?), "every file reads again what it read before");
//! let report = hold.end()?;
//! # let _ = report;
//! # Ok(())
//! # }
//! ```
//!
//! Whatever way the hold ends, its changes do not stay: dropping it restores them; if the process is killed, the journal
//! knows what was changed, and the next start puts it back without asking.

use std::{
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{
    opening,
    pretend_root::{self, PretendRoot},
};
use crate::{
    app::MachineRead,
    experiment::worth::Worth,
    machine::Drive,
    source::{self, SysRoot, origin::Origin},
    tune::{
        Actuator, Change, Identity, Live, Outcome, Restored, Tuner, Wanted,
        device::DRIVER,
        journal::{Gain, Journal, JournalError, Purpose},
        ledger::{Entry, Ledger},
        tuner::{TuneError, changes},
        undo::{Step, Which},
    },
};

/// What changes are made with.
pub struct Desk {
    root: Arc<dyn SysRoot>,
    actuator: Arc<dyn Actuator + Send + Sync>,
    journal: Journal,
    boot: String,
    may_write: bool,
}

/// Files that were to be put back, each with what became of it.
pub type Report = Vec<(Step, Restored)>;

impl Desk {
    /// The desk of this machine, or of a demo, whose kernel is pretended and whose journal ends with the program. `None`
    /// for machines that are not here.
    pub fn new(origin: &Origin, root: &Arc<dyn SysRoot>) -> Option<Arc<Self>> {
        if origin.is_demo() {
            let kernel = Arc::new(pretend_root::kernel(&**root, &source::read_machine(&**root).0));
            return Some(Arc::new(Self {
                root: Arc::new(PretendRoot::new(Arc::clone(root), Arc::clone(&kernel))),
                actuator: kernel,
                journal: Journal::in_memory(),
                boot: "demo".to_owned(),
                may_write: true,
            }));
        }
        let boot = source::host::boot_id(&**root).value()?.to_string();
        let may_write = rustix::process::geteuid().is_root();
        let journal = Journal::new(crate::store::folder());
        let (root, actuator) = (Arc::clone(root), Arc::new(Live));
        origin.is_live().then(|| Arc::new(Self { root, actuator, journal, boot, may_write }))
    }

    /// The machine as it is now.
    pub fn read(&self) -> MachineRead {
        opening::read(&*self.root)
    }

    /// Whether settings can be written: by root, and on a demo.
    pub const fn may_write(&self) -> bool {
        self.may_write
    }

    /// The journal.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What reads and writes settings.
    pub fn actuator(&self) -> &dyn Actuator {
        &*self.actuator
    }

    /// The id of this boot.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Begins a session.
    pub fn open(&self, purpose: Purpose) -> Result<Tuner<'_>, JournalError> {
        Tuner::open(&self.journal, self.actuator(), purpose, &self.boot, &unix_millis)
    }

    /// What stands changed, as far as the journal's lines are whole.
    pub fn ledger(&self) -> Result<Ledger, JournalError> {
        Ok(Ledger::of(&self.journal.contents()?.records, &self.boot))
    }

    /// The journal's damaged lines, a sentence each.
    pub fn damage(&self) -> Result<Vec<String>, JournalError> {
        let path = self.journal.path();
        let damaged = self.journal.contents()?.damaged;
        Ok(damaged.iter().map(|damage| format!("{}: {damage}", path.display())).collect())
    }

    /// What killed experiments and screens left changed, a line each, with the command that undoes it; for commands that
    /// only read, and restore nothing.
    pub fn leftovers(&self) -> Result<Vec<String>, JournalError> {
        let (experiments, screens) = self.dead()?;
        let ledger = self.ledger()?;
        let words = |entry: &Entry| format!("{} {} (was {})", entry.device.name, entry.setting, entry.found);
        let line = |(what, dead): (&str, Vec<String>)| {
            let left = |entry: &&Entry| dead.iter().any(|id| entry.open.contains_key(id));
            let left: Vec<String> = ledger.entries.iter().filter(left).map(words).collect();
            let told = || {
                let left = left.join(", ");
                format!("{what} was killed and left changed: {left}; `iodyno tune undo` undoes it")
            };
            (!left.is_empty()).then(told)
        };
        Ok([("an experiment", experiments), ("iodyno", screens)].into_iter().filter_map(line).collect())
    }

    /// Sessions that died with changes standing: those whose changes are put back without asking, and those whose
    /// changes are offered.
    pub fn dead(&self) -> Result<(Vec<String>, Vec<String>), JournalError> {
        let ledger = self.ledger()?;
        let dead = ledger.sessions.keys().filter(|id| self.journal.is_dead(id)).cloned();
        Ok(dead.partition(|id| ledger.is_unasked(id)))
    }

    /// Puts back what needs no question; nothing where nothing may be written.
    pub fn recover(&self) -> Result<Report, TuneError> {
        let (unasked, _) = self.dead()?;
        if unasked.is_empty() || !self.may_write {
            return Ok(Report::new());
        }
        let tuner = self.open(Purpose::Experiment)?;
        let sessions: Vec<&str> = unasked.iter().map(String::as_str).collect();
        let report = self.put_back(&tuner, &Which::Sessions(&sessions))?;
        tuner.keep()?;
        for (step, _) in
            report.iter().filter(|(step, what)| step.setting == DRIVER.0 && *what == Restored::Back)
        {
            // Who reads the machine next should find the drive there.
            let _late = came_back_as(&*self.root, &step.device);
        }
        Ok(report)
    }

    /// Undoes in a session, all but what other living sessions have under their hands.
    pub fn put_back(&self, tuner: &Tuner<'_>, which: &Which<'_>) -> Result<Report, TuneError> {
        let ledger = self.ledger()?.without_living(&self.journal, Some(tuner.session()));
        let (machine, _) = source::read_machine(&*self.root);
        tuner.undo(&machine, &ledger, which, false)
    }

    /// Takes hold of settings for an experiment.
    ///
    /// # Errors
    /// Without the right to write settings, or where the journal cannot be written.
    pub fn hold(&self) -> Result<Hold<'_>, TuneError> {
        if !self.may_write {
            return Err(TuneError::NeedsRoot);
        }
        Ok(Hold { desk: self, tuner: Some(self.open(Purpose::Experiment)?) })
    }
}

/// The settings of an experiment: changed for an arm, put back between arms and at the end, and after a kill by the next
/// start.
pub struct Hold<'a> {
    desk: &'a Desk,
    /// Until the hold has ended.
    tuner: Option<Tuner<'a>>,
}

impl Hold<'_> {
    /// Makes every setting wanted so, the scheduler first since it resets others; each file with what the kernel made of
    /// it, read back. Files that have the value already are not among them.
    ///
    /// # Errors
    /// A value that cannot be asked for: nothing is written then. A write that could not be journaled, or a file that
    /// somebody else changed meanwhile: what was written before it stands until [`Self::restore`].
    pub fn set(&self, wanted: &[Wanted]) -> Result<Vec<(Change, Outcome)>, TuneError> {
        let Some(tuner) = &self.tuner else { return Ok(Vec::new()) };
        let (machine, _) = source::read_machine(&*self.desk.root);
        let plan = |wanted: &Wanted| {
            changes(&machine, self.desk.actuator(), &wanted.device, wanted.setting, &wanted.value)
        };
        let mut wanted: Vec<&Wanted> = wanted.iter().collect();
        wanted.sort_by_key(|wanted| wanted.setting.rank());
        for wanted in &wanted {
            plan(wanted)?;
        }
        let mut made = Vec::new();
        for wanted in wanted {
            // Planned anew: the change before may have reset this one's file.
            for change in plan(wanted)? {
                let outcome = tuner.apply(&machine, &change)?;
                made.push((change, outcome));
            }
        }
        Ok(made)
    }

    /// Puts back everything this hold changed, and verifies it. The hold goes on.
    ///
    /// # Errors
    /// A journal that cannot be read or written.
    pub fn restore(&self) -> Result<Report, TuneError> {
        let Some(tuner) = &self.tuner else { return Ok(Report::new()) };
        self.desk.put_back(tuner, &Which::Sessions(&[tuner.session()]))
    }

    /// Notes in the journal what settings were measured to be worth, for the rules that `tune export udev` writes.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn note(&self, measured: &[Worth]) -> Result<(), TuneError> {
        let Some(tuner) = self.tuner.as_ref().filter(|_| !measured.is_empty()) else { return Ok(()) };
        let (machine, _) = source::read_machine(&*self.desk.root);
        for Worth { winner, old, words } in measured {
            tuner.note(Gain {
                device: Identity::of(&machine, &winner.device),
                setting: winner.setting.0.to_owned(),
                old: old.clone(),
                new: winner.value.clone(),
                words: words.clone(),
            })?;
        }
        Ok(())
    }

    /// Puts everything back and ends the session. What could not be put back, as the report says, is tried once more at
    /// the next start.
    ///
    /// # Errors
    /// As for [`Self::restore`].
    pub fn end(mut self) -> Result<Report, TuneError> {
        let report = self.restore();
        if let Some(tuner) = self.tuner.take() {
            tuner.close()?;
        }
        report
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if self.tuner.is_some() {
            // What cannot be put back or told here, the next start puts back.
            let _ = self.restore();
            let _ = self.tuner.take().map(Tuner::close);
        }
    }
}

/// The drive, when its driver has it again, whatever its name is now; `None` when it has not come within 15 s.
pub fn came_back_as(root: &dyn SysRoot, identity: &Identity) -> Option<Drive> {
    (0..75).find_map(|_| {
        thread::sleep(Duration::from_millis(200));
        let (machine, _) = source::read_machine(root);
        identity.find(&machine).filter(|drive| drive.queue.io_poll.get().is_some()).cloned()
    })
}

/// Milliseconds since 1970, for the journal.
pub fn unix_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::Assignment,
        model::DriveName,
        tune::{Device, settings::find, tuner::is_whole},
    };

    fn desk() -> Arc<Desk> {
        let origin = Origin::Demo("threadripper-before".to_owned());
        Desk::new(&origin, &origin.open().unwrap()).unwrap()
    }

    fn wanted(drive: &str, id: &str, value: &str) -> Wanted {
        Wanted::new(Device::Drive(DriveName::new(drive)), find(id).unwrap(), value)
    }

    #[test]
    fn a_hold_sets_arms_and_leaves_everything_as_it_was() {
        let desk = desk();
        let before = desk.read().machine;
        let hold = desk.hold().unwrap();
        let arm = [
            wanted("nvme0n1", "nr_requests", "64"),
            wanted("nvme0n1", "scheduler", "mq-deadline"),
            wanted("nvme1n1", "read_ahead_kb", "4099"),
            wanted("nvme1n1", "scheduler", "none"),
        ];
        let made = hold.set(&arm).unwrap();
        let outcomes: Vec<_> = made.iter().map(|(change, outcome)| (change.setting.0, outcome)).collect();
        assert_eq!(
            outcomes,
            [
                ("scheduler", &Outcome::Accepted),
                ("read_ahead_kb", &Outcome::Adjusted { now: "4096".into() }),
                ("nr_requests", &Outcome::Accepted),
            ],
            "the scheduler first, what is so already not at all"
        );
        assert!(is_whole(&hold.restore().unwrap()));
        let winner = Assignment {
            device: arm[1].device.clone(),
            setting: arm[1].setting.id,
            value: arm[1].value.clone(),
        };
        let words = "0.5 times the reads per second".to_owned();
        hold.note(&[Worth { winner, old: "none".to_owned(), words }]).unwrap();
        assert_eq!(desk.read().machine, before, "between two arms");
        hold.set(&arm[..2]).unwrap();
        let report = hold.end().unwrap();
        assert!(is_whole(&report) && report.len() == 2, "{report:?}");
        assert_eq!(desk.read().machine, before);
        assert_eq!(desk.dead().unwrap(), (vec![], vec![]));
        let ledger = desk.ledger().unwrap();
        let device = Identity::of(&before, &arm[1].device);
        assert!(
            ledger
                .gain(&device, "scheduler", "mq-deadline")
                .is_some_and(|gain| gain.words.starts_with("0.5"))
        );
        assert_eq!(ledger.gain(&device, "scheduler", "none"), None);
    }

    #[test]
    fn a_wrong_value_writes_nothing_and_a_dropped_hold_restores() {
        let desk = desk();
        let before = desk.read().machine;
        let hold = desk.hold().unwrap();
        let arm = [wanted("nvme0n1", "scheduler", "mq-deadline"), wanted("nvme0n1", "nomerges", "7")];
        assert!(matches!(hold.set(&arm), Err(TuneError::BadValue { .. })));
        assert_eq!(desk.read().machine, before);
        hold.set(&arm[..1]).unwrap();
        assert_ne!(desk.read().machine, before);
        drop(hold);
        assert_eq!(desk.read().machine, before);
    }
}

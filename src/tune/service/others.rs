//! Files of a session that other sessions have changed or kept since.

use super::{Report, SettingsService};
use crate::tune::{
    Restored, Tuner,
    change_log::{ChangeLog, Entry},
    foresight::{Prospect, Undoer, prospects},
    journal::JournalError,
    tuner::TuneError,
    undo::{Step, Which},
};

impl SettingsService {
    /// What an undo does not restore because a living session has changed it since. The session's own change of it is undone
    /// in the journal: the undo of that other one then goes back to the value before both.
    pub(super) fn pass_on(&self, tuner: &Tuner<'_>, change_log: &ChangeLog, which: &Which<'_>) -> Report {
        let own = tuner.session();
        let is_meant = |entry: &&Entry| match which {
            Which::Sessions(sessions) => sessions.contains(&own) && entry.is_open_in(own),
            Which::Files(files) => files.contains(&entry.file),
            Which::All | Which::On(_) => false,
        };
        let living = change_log.living(&self.journal);
        let is_living = |session: &str| living.contains(session);
        let held = change_log.entries.iter().filter(|entry| entry.is_held(Some(own), is_living));
        held.filter(is_meant)
            .map(|entry| {
                let now = entry.last.last().cloned().unwrap_or_default();
                if entry.is_open_in(own) {
                    tuner.pass_on(&entry.file, &now);
                }
                (Step::untouched(entry.clone()), Restored::Held(now))
            })
            .collect()
    }

    /// Ends a session and keeps its changes: those whose file still has its value. One whose file has the value before it
    /// again is over; one that another program has set since is left to that one, as by an undo.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn keep_session(&self, tuner: Tuner<'_>) -> Result<(), TuneError> {
        // Without a journal that can be read, all of them are kept.
        let prospects = self.change_log_with(&tuner).map(|log| self.prospects_of(&tuner, &log));
        let mut left = Vec::new();
        for prospect in prospects.unwrap_or_default() {
            if prospect.is_over() {
                tuner.pass_on(&prospect.step.recorded, &prospect.now);
            } else if matches!(prospect.what, Restored::ModifiedExternally(_)) {
                left.push(prospect.step.recorded);
            }
        }
        if !left.is_empty() {
            // Where this has no record, it is kept with the rest.
            let _ = self.keep(tuner.session(), left);
        }
        tuner.keep()
    }

    fn prospects_of(&self, tuner: &Tuner<'_>, change_log: &ChangeLog) -> Vec<Prospect> {
        let own = tuner.session();
        let living = change_log.living(&self.journal);
        let is_living = |session: &str| living.contains(session);
        let undoer = Undoer { sessions: &[own], own: Some(own), is_living: &is_living };
        prospects(&self.actuator, change_log, &self.read().0, undoer)
    }

    /// What the session changed and another process has kept since: no undo of the session restores it.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub fn kept_by_others(&self, tuner: &Tuner<'_>) -> Result<Report, JournalError> {
        let change_log = self.change_log_with(tuner)?;
        let made = tuner.unrestored();
        let is_kept = |entry: &Entry| made.contains(&entry.file) && !entry.is_open_in(tuner.session());
        let kept = change_log.entries.into_iter().filter(is_kept);
        Ok(kept.map(|entry| (Step::untouched(entry), Restored::Kept)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use super::*;
    use crate::{
        model::DriveName,
        tune::{
            Actuator, Device, Wanted,
            fake_kernel::FakeKernel,
            journal::{Journal, Purpose},
            settings::find,
            testing::machine_with_queue,
        },
    };

    const FILE: &str = "/sys/q/nomerges";

    fn with_service(test: impl FnOnce(&SettingsService, &FakeKernel)) {
        let files = BTreeMap::from([(FILE.to_owned(), "0".to_owned())]);
        let kernel = Arc::new(FakeKernel::new(files.clone()));
        let folder = tempfile::tempdir().unwrap();
        let service = SettingsService {
            actuator: Arc::clone(&kernel) as Arc<dyn Actuator + Send + Sync>,
            journal: Journal::new(folder.path()),
            boot: Some("b".to_owned()),
            may_write: true,
            machine: Box::new(move || (machine_with_queue("loop7", &files), Vec::new())),
            clock: || 1,
        };
        test(&service, &kernel);
    }

    fn set(service: &SettingsService, tuner: &Tuner<'_>, value: &str) {
        let device = Device::Drive(DriveName::new("loop7"));
        let wanted = Wanted::new(device, find("nomerges").unwrap(), value);
        assert_eq!(service.apply(tuner, service.plan(&[wanted]).unwrap()).count(), 1);
    }

    #[test]
    fn of_two_sessions_that_both_undo_the_later_restores_the_value_before_both() {
        with_service(|service, kernel| {
            let first = service.open(Purpose::Screen).unwrap();
            set(service, &first, "1");
            let second = service.open(Purpose::Screen).unwrap();
            set(service, &second, "2");
            let report = service.undo(&first, &Which::Sessions(&[first.session()]), false).unwrap();
            assert_eq!(report[0].1, Restored::Held("2".to_owned()));
            assert_eq!((report.len(), kernel.read(FILE).unwrap()), (1, "2".to_owned()));
            first.keep().unwrap();
            let report = service.undo(&second, &Which::Sessions(&[second.session()]), false).unwrap();
            assert_eq!((report[0].1.clone(), kernel.read(FILE).unwrap()), (Restored::Back, "0".to_owned()));
            second.keep().unwrap();
            assert_eq!(service.change_log().unwrap().entries, []);
        });
    }

    #[test]
    fn what_another_process_has_kept_is_named_by_the_undo_that_leaves_it() {
        with_service(|service, _| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            assert_eq!(service.kept_by_others(&screen).unwrap(), []);
            let command = service.open(Purpose::Command).unwrap();
            set(service, &command, "1");
            command.keep().unwrap();
            let kept = service.kept_by_others(&screen).unwrap();
            assert_eq!((kept.len(), &kept[0].1, kept[0].0.target.as_str()), (1, &Restored::Kept, "0"));
            let own = [screen.session()];
            assert_eq!(service.undo(&screen, &Which::Sessions(&own), false).unwrap(), []);
        });
    }

    /// Of the first value 0 a command has made 1 and kept it, and a session that died has made 2.
    fn kept_and_left(service: &SettingsService, purpose: Purpose) -> String {
        let command = service.open(Purpose::Command).unwrap();
        set(service, &command, "1");
        command.keep().unwrap();
        let dead = service.open(purpose).unwrap();
        set(service, &dead, "2");
        let id = dead.session().to_owned();
        dead.close().unwrap();
        id
    }

    #[test]
    fn the_value_of_an_undo_that_was_not_recorded_is_no_other_program_s() {
        with_service(|service, kernel| {
            let dead = kept_and_left(service, Purpose::Screen);
            // As an undo of everything leaves it on a full drive.
            kernel.write(FILE, "0").unwrap();
            assert_eq!(service.leftovers().unwrap(), Vec::<String>::new());
            let next = service.open_to_undo(Purpose::Command).unwrap();
            let report = service.undo(&next, &Which::Sessions(&[&dead]), false).unwrap();
            assert_eq!((report[0].0.target.as_str(), &report[0].1), ("0", &Restored::AlreadyThere));
            assert_eq!(service.change_log().unwrap().entries, []);
        });
        with_service(|service, kernel| {
            kept_and_left(service, Purpose::Screen);
            // As an undo of the dead session leaves it there.
            kernel.write(FILE, "1").unwrap();
            let next = service.open_to_undo(Purpose::Command).unwrap();
            let report = service.undo(&next, &Which::All, false).unwrap();
            assert_eq!((&report[0].1, kernel.read(FILE).unwrap().as_str()), (&Restored::Back, "0"));
        });
    }

    #[test]
    fn the_first_value_in_a_living_session_is_another_program_s() {
        with_service(|service, kernel| {
            let command = service.open(Purpose::Command).unwrap();
            set(service, &command, "1");
            command.keep().unwrap();
            let own = service.open(Purpose::Experiment).unwrap();
            set(service, &own, "2");
            kernel.write(FILE, "0").unwrap();
            let report = service.undo(&own, &Which::Sessions(&[own.session()]), false).unwrap();
            assert_eq!(report[0].1, Restored::ModifiedExternally("0".to_owned()));
        });
    }

    #[test]
    fn a_change_that_another_program_restored_is_over_when_the_session_keeps_the_rest() {
        with_service(|service, kernel| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            kernel.write(FILE, "0").unwrap();
            service.keep_session(screen).unwrap();
            kernel.write(FILE, "1").unwrap();
            assert_eq!(service.change_log().unwrap().entries, []);
        });
        with_service(|service, kernel| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            service.keep_session(screen).unwrap();
            assert_eq!(service.change_log().unwrap().entries[0].left, [], "its value is kept");
            let remaining = || {
                let (machine, _) = service.read();
                let standing = service.standing(&service.change_log().unwrap(), &machine);
                crate::report::tune::remaining(&standing)
            };
            assert_eq!(remaining(), "only kept changes remain; --all undoes them\n");
            kernel.write(FILE, "1").unwrap();
            assert_eq!(
                remaining(),
                "loop7 nomerges: kept, then changed to 1 by another program; `iodyno tune undo --all --force` sets 0\n"
            );
        });
    }

    #[test]
    fn what_another_program_set_is_not_kept_and_an_undo_by_force_restores_it() {
        with_service(|service, kernel| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            kernel.write(FILE, "1").unwrap();
            service.keep_session(screen).unwrap();
            let change_log = service.change_log().unwrap();
            let standing = service.standing(&change_log, &service.read().0);
            assert_eq!(
                crate::report::tune::remaining(&standing),
                "loop7 nomerges: left to another program; `iodyno tune undo --force` sets 0\n"
            );
            let sessions: Vec<String> = change_log.with_left().sessions.into_keys().collect();
            let sessions: Vec<&str> = sessions.iter().map(String::as_str).collect();
            let next = service.open_to_undo(Purpose::Command).unwrap();
            service.undo(&next, &Which::Sessions(&sessions), true).unwrap();
            assert_eq!(kernel.read(FILE).unwrap(), "0", "as the line says");
        });
    }

    #[test]
    fn the_line_about_a_dead_session_promises_what_its_undo_restores() {
        with_service(|service, kernel| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            screen.close().unwrap();
            kernel.write(FILE, "1").unwrap();
            assert_eq!(service.leftovers().unwrap(), Vec::<String>::new());
            kernel.write(FILE, "2").unwrap();
            assert!(service.leftovers().unwrap()[0].contains("loop7 nomerges (was 0)"));
        });
    }

    #[test]
    fn what_was_left_to_another_program_stands_until_its_file_is_restored() {
        with_service(|service, kernel| {
            kept_and_left(service, Purpose::Experiment);
            kernel.write(FILE, "7").unwrap();
            service.recover().unwrap();
            let standing = |now: &str| {
                kernel.write(FILE, now).unwrap();
                let (machine, _) = service.read();
                let standing = service.standing(&service.change_log().unwrap(), &machine);
                standing.iter().map(|(entry, _)| entry.left.len()).collect::<Vec<_>>()
            };
            assert_eq!((standing("7"), standing("1"), standing("0")), (vec![1], vec![0], vec![]));
        });
    }

    #[test]
    fn a_setting_that_has_its_first_value_is_not_named_as_left_changed() {
        with_service(|service, kernel| {
            let screen = service.open(Purpose::Screen).unwrap();
            set(service, &screen, "2");
            screen.close().unwrap();
            assert!(service.leftovers().unwrap()[0].contains("loop7 nomerges (was 0)"));
            kernel.write(FILE, "0").unwrap();
            assert_eq!(service.leftovers().unwrap(), Vec::<String>::new());
        });
    }
}

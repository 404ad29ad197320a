//! What the runtime samples or counts for the state of now.

use super::App;
use crate::{
    findings::{is_depth_one, is_one_at_a_time},
    report::why::lines::MOST_IDLE_CPUS,
    ui::Shared,
};

impl App {
    /// Whether idle states are shown, or what is going on is judged by them: a test or another load with one read in flight.
    pub(crate) fn asks_for_idle_states(&self) -> bool {
        let Shared { machine, rates, tests, .. } = &self.shared;
        let one_at_a_time = || {
            let mut hardware = machine.hardware_drives();
            hardware.any(|drive| {
                let disk = rates.as_ref().and_then(|rates| rates.disks.get(&drive.name));
                disk.is_some_and(is_one_at_a_time)
            })
        };
        match tests.running() {
            Some(test) if is_depth_one(&test.workload) => true,
            None if one_at_a_time() => true,
            _ => self.asks_for_activity() && machine.processors.cpus.len() <= MOST_IDLE_CPUS,
        }
    }

    /// Whether this is a demo whose counters go on without a test: they begin with its first test.
    pub(crate) fn rests(&self) -> bool {
        let Shared { rates, tests, experiments, .. } = &self.shared;
        let has_begun = rates.is_some() || self.stats_bar.reads.last().is_some();
        let is_busy =
            tests.running().is_some_and(|test| !test.is_paused()) || experiments.running().is_some();
        self.shared.is_simulated() && has_begun && !is_busy
    }

    /// Whether threads and processes are shown.
    pub(crate) fn asks_for_activity(&self) -> bool {
        self.screens.get(self.screen).is_some_and(crate::screens::Screen::needs_activity)
    }

    /// Whether settings are shown.
    pub(crate) fn asks_for_settings(&self) -> bool {
        self.screens.get(self.screen).is_some_and(crate::screens::Screen::needs_settings)
    }

    /// Whether what other processes keep or undo changes what is shown: the settings, or the count of this run's changes.
    pub(crate) fn follows_journal(&self) -> bool {
        let shown = self.asks_for_settings() || self.shared.settings.session.is_some();
        shown && self.shared.experiments.running().is_none()
    }

    /// Whether the CPU profile is shown, and kernel stacks of threads.
    pub(crate) fn asks_for_profile_and_stacks(&self) -> (bool, bool) {
        let screen = self.screens.get(self.screen).filter(|screen| screen.needs_activity());
        screen.map_or((false, false), |screen| {
            (screen.needs_profile(&self.shared, self.layout().body), screen.needs_stacks())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{MachineRead, Message, Mode, update},
        capacity,
        counters::{DiskRates, Rates, activity::Activity},
        model::DriveName,
        source::{self, origin::Origin},
        ui::ScreenId,
    };

    /// The laptop as the live machine, with these reads of nvme0n1.
    fn reading(disk: DiskRates) -> App {
        let (machine, problems) = source::read_machine(&*Origin::Demo("laptop".to_owned()).open().unwrap());
        let limits = Arc::new(capacity::limits(&machine));
        let read = MachineRead { machine: Arc::new(machine), problems, limits };
        let mut app = App::new(Mode::Live, read, (120, 40));
        let disks = [(DriveName::new("nvme0n1"), disk)].into();
        app.shared.rates = Some(Rates { disks, ..Rates::default() });
        app
    }

    #[test]
    fn idle_states_are_read_for_one_read_in_flight_and_for_who_looks_at_them() {
        let disk = |reads: f64, queue_depth: f64| DiskRates { reads, queue_depth, ..DiskRates::default() };
        assert!(reading(disk(12e3, 0.98)).asks_for_idle_states());
        assert!(!reading(disk(12e3, 8.0)).asks_for_idle_states(), "several reads in flight");
        assert!(!reading(disk(10.0, 0.9)).asks_for_idle_states(), "hardly any read");
        let mut app = reading(DiskRates::default());
        assert!(!app.asks_for_idle_states());
        app.screen = ScreenId("why");
        assert!(app.asks_for_idle_states(), "the Why screen shows them");
        let mut machine = (*app.shared.machine).clone();
        let cpu = machine.processors.cpus[0].clone();
        machine.processors.cpus = vec![cpu; 256];
        app.shared.machine = Arc::new(machine);
        assert!(!app.asks_for_idle_states(), "too many CPUs for a line on the screen");
    }

    #[test]
    fn a_test_with_one_read_in_flight_asks_for_idle_states() {
        let mut app = reading(DiskRates::default());
        let target = app.shared.machine.drives[0].target();
        for (depth, asks) in [(1, true), (32, false)] {
            let workload = crate::model::Workload {
                targets: vec![target.clone()],
                depth,
                jobs: 1,
                ..Default::default()
            };
            let test = app.shared.test_of(workload);
            app.shared.tests.begin(test);
            assert_eq!(app.asks_for_idle_states(), asks, "depth {depth}");
        }
    }

    #[test]
    fn threads_of_another_time_do_not_stand_beside_the_rates_of_now() {
        let mut app = reading(DiskRates::default());
        app.screen = ScreenId("why");
        let now = std::time::Duration::from_secs;
        let activity = Activity { hidden: 3, ..Activity::default() };
        update(&mut app, Message::Activity(Box::new(activity)));
        update(&mut app, Message::Rates(Box::default(), now(1)));
        assert_eq!(app.shared.activity.hidden, 3);
        app.screen = ScreenId("machine");
        update(&mut app, Message::Rates(Box::default(), now(2)));
        assert_eq!(app.shared.activity, Activity::default(), "they are not sampled there");
    }
}

//! The thread that reads counters and links every second, and now and then the whole machine, while the screen is open; threads,
//! processes and the CPU profile while they are shown.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

use super::{
    activity_sampler::{self, ActivitySampler, Profiling},
    beside,
    clock::Clock,
    inbox::Outside,
    settings_files::SettingsFiles,
    startup,
};
use crate::{
    app::Message,
    counters::{self, Counters},
    source::{self, SysRoot, counters::CountersReader},
};

/// Interval of the whole machine, for temperatures and settings, while drives move data.
const WHOLE: Duration = Duration::from_secs(10);
/// The same while they do not: most of what an idle screen costs is this reading.
const WHOLE_AT_REST: Duration = Duration::from_secs(30);
/// A stretch so short has no rates worth showing.
const SHORT: Duration = Duration::from_millis(250);
/// Bytes per second of all drives below which they are at rest: logs, and what runs beside.
const REST: f64 = 1e6;

/// The thread's end for requests.
pub(super) struct Sampler {
    asked: Sender<Ask>,
    wanted: Arc<Wanted>,
}

/// What is sampled beside counters and links.
#[derive(Debug, Default)]
struct Wanted {
    idle_states: AtomicBool,
    activity: AtomicBool,
    profile: AtomicBool,
    stacks: AtomicBool,
    settings: AtomicBool,
}

impl Wanted {
    fn sampled(&self) -> activity_sampler::Wanted {
        let profile =
            if self.profile.load(Ordering::Relaxed) { Profiling::LastLooks } else { Profiling::Off };
        let stacks = self.stacks.load(Ordering::Relaxed);
        let [threads, processes, workers, hardware] = [true; 4];
        activity_sampler::Wanted { threads, stacks, processes, workers, profile, hardware }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Machine,
    /// The load changes now.
    Look,
    /// Something is wanted that was not.
    Wake,
}

impl Sampler {
    /// Starts it; it ends when `over` is set or the receiver is gone.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        root: Arc<dyn SysRoot>,
        sender: Sender<Outside>,
        clock: Clock,
        over: Arc<AtomicBool>,
        interval: Duration,
    ) -> io::Result<Self> {
        let (asked, asking) = mpsc::channel();
        let wanted = Arc::new(Wanted::default());
        let watch = Watch { root, sender, clock, over, interval, wanted: Arc::clone(&wanted) };
        beside::start(move || watch.run(&asking))?;
        Ok(Self { asked, wanted })
    }

    /// Switches idle states, which with hundreds of CPUs take longer than all other counters, threads and processes, and with them
    /// the CPU profile and kernel stacks of threads.
    pub fn watch(&self, idle_states: bool, activity: bool, (profile, stacks): (bool, bool)) {
        self.wanted.stacks.store(stacks, Ordering::Relaxed);
        self.wanted.idle_states.store(idle_states, Ordering::Relaxed);
        self.wanted.profile.store(profile, Ordering::Relaxed);
        if !self.wanted.activity.swap(activity, Ordering::Relaxed) && activity {
            self.send(Ask::Wake);
        }
    }

    /// Switches looks at the files of settings: where one has changed, the whole machine is read.
    pub fn watch_settings(&self, settings: bool) {
        if !self.wanted.settings.swap(settings, Ordering::Relaxed) && settings {
            self.send(Ask::Machine);
        }
    }

    /// Requests a reading of the whole machine.
    pub fn ask(&self) {
        self.send(Ask::Machine);
    }

    /// Requests a look now: the next one, an interval later, spans no load of before.
    pub fn look(&self) {
        self.send(Ask::Look);
    }

    fn send(&self, ask: Ask) {
        // The thread may have ended.
        let _ = self.asked.send(ask);
    }
}

struct Watch {
    root: Arc<dyn SysRoot>,
    sender: Sender<Outside>,
    clock: Clock,
    over: Arc<AtomicBool>,
    /// Of counters and links.
    interval: Duration,
    wanted: Arc<Wanted>,
}

/// Counters of the last look and of the one before: their memory is used in turn.
struct Counted {
    reader: CountersReader,
    last: Counters,
    before: Counters,
    at: Duration,
}

impl Watch {
    fn run(&self, asking: &Receiver<Ask>) {
        let mut counted = Counted {
            reader: CountersReader::default(),
            last: Counters::default(),
            before: Counters::default(),
            at: Duration::ZERO,
        };
        self.count(&mut counted);
        let (mut next_look, mut read_at) = (counted.at + self.interval, counted.at);
        let mut seen: Option<ActivitySampler> = None;
        let (mut settings, mut switches): (Option<SettingsFiles>, Option<SettingsFiles>) = (None, None);
        loop {
            let next_pass = seen.as_ref().and_then(ActivitySampler::next_pass);
            let next = next_pass.map_or(next_look, |pass| next_look.min(pass));
            let ask = match asking.recv_timeout(next.saturating_sub(self.clock.elapsed())) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (asked, mut changes) = (ask == Some(Ask::Machine), ask == Some(Ask::Look));
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let now = self.clock.elapsed();
            if !self.wanted.activity.load(Ordering::Relaxed) {
                seen = None;
            } else if let Some(seen) = &mut seen {
                seen.want(self.wanted.sampled());
                seen.pass_if_due(&*self.root, &self.clock);
            } else {
                seen = Some(ActivitySampler::begin(self.wanted.sampled(), &*self.root, &self.clock));
                // Its first look spans the same whole interval as the rates beside it.
                changes = true;
            }
            if now < next_look && !asked && !changes {
                continue;
            }
            next_look = now + self.interval;
            if changes && now < counted.at + SHORT {
                self.count(&mut counted);
                // What it did in that time is of the load before.
                if let Some(seen) = &mut seen {
                    seen.look(&*self.root, &self.clock);
                }
                continue;
            }
            let rates = self.count(&mut counted);
            let whole = if moved(&rates) > REST { WHOLE } else { WHOLE_AT_REST };
            // Both arrive together: one frame shows them, and what follows the rates is made from both.
            let due = seen.as_mut().filter(|seen| seen.is_due(now));
            let activity = due.map(|seen| Message::Activity(Box::new(seen.look(&*self.root, &self.clock))));
            let messages = [activity, Some(Message::Rates(Box::new(rates), counted.at))];
            if !messages.into_iter().flatten().all(|message| self.send(message)) {
                return;
            }
            settings = settings.filter(|_| self.wanted.settings.load(Ordering::Relaxed));
            let have_changed = |files: &mut Option<SettingsFiles>| {
                files.as_mut().is_some_and(|it| it.have_changed(&*self.root))
            };
            let (is_set, is_switched) = (have_changed(&mut settings), have_changed(&mut switches));
            // The machine may have changed before this thread started: the first look reads it again.
            if counted.reader.hardware_changed(&*self.root)
                || asked
                || is_set
                || is_switched
                || counted.at >= read_at + whole
            {
                read_at = counted.at;
                let read = startup::read(&*self.root);
                let is_wanted = self.wanted.settings.load(Ordering::Relaxed);
                let before = settings.take();
                settings = is_wanted.then(|| SettingsFiles::of(&read.machine, &*self.root, before));
                switches = Some(SettingsFiles::of_counters(&read.machine, &*self.root, switches.take()));
                // Names are known now: 2 MiB that a screen need not hold for days.
                source::forget_lists();
                if !self.send(Message::Machine(Box::new(read))) {
                    return;
                }
            }
        }
    }

    /// Reads counters; their rates since the last time.
    fn count(&self, counted: &mut Counted) -> counters::Rates {
        std::mem::swap(&mut counted.last, &mut counted.before);
        let idle_states = self.wanted.idle_states.load(Ordering::Relaxed);
        counted.reader.read(&*self.root, idle_states, &mut counted.last);
        let at = self.clock.elapsed();
        let elapsed = at.saturating_sub(std::mem::replace(&mut counted.at, at));
        counters::rates(&counted.before, &counted.last, elapsed)
    }

    fn send(&self, message: Message) -> bool {
        self.sender.send(Outside::Message(message)).is_ok()
    }
}

/// Bytes per second of all block devices.
fn moved(rates: &counters::Rates) -> f64 {
    rates.disks.values().map(|disk| disk.read_bytes + disk.written_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::queue::Queue,
        model::Reading,
        runtime::demo_root::{self, DemoRoot},
        source::origin::Origin,
        tune::{Actuator, fake_kernel::FakeKernel},
    };

    /// A sampler of the laptop, what it tells, and how it ends.
    fn of_laptop(interval: Duration) -> (Sampler, Receiver<Outside>, Arc<AtomicBool>) {
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        let (sender, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let sampler = Sampler::start(root, sender, Clock::real(), Arc::clone(&over), interval).unwrap();
        (sampler, told, over)
    }

    /// A demo's kernel, and the machines that a sampler of it tells of, each within 20 messages.
    struct OfKernel {
        kernel: Arc<FakeKernel>,
        sampler: Sampler,
        told: Receiver<Outside>,
        over: Arc<AtomicBool>,
    }

    impl OfKernel {
        fn new() -> Self {
            let demo = Origin::Demo("laptop".to_owned()).open().unwrap();
            let machine = source::read_machine(&*demo).0;
            let kernel = Arc::new(demo_root::kernel(&*demo, &machine));
            let root = Arc::new(DemoRoot::new(demo, Arc::clone(&kernel)));
            let (sender, told) = mpsc::channel();
            let over = Arc::new(AtomicBool::new(false));
            let pace = Duration::from_millis(20);
            let sampler = Sampler::start(root, sender, Clock::real(), Arc::clone(&over), pace).unwrap();
            Self { kernel, sampler, told, over }
        }

        fn next(&self) -> Option<Queue> {
            self.told.iter().take(20).find_map(|outside| match outside {
                Outside::Message(Message::Machine(read)) => Some(read.machine.drives[0].queue.clone()),
                _ => None,
            })
        }

        fn set(&self, reading: &Reading<u64>, value: &str) {
            self.kernel.write(&reading.path(), value).unwrap();
        }
    }

    impl Drop for OfKernel {
        fn drop(&mut self) {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_setting_that_another_program_changes_is_read_while_settings_are_wanted() {
        let watched = OfKernel::new();
        let nomerges = watched.next().unwrap().nomerges;
        watched.set(&nomerges, "1");
        assert!(watched.next().is_none(), "settings are not shown");
        watched.sampler.watch_settings(true);
        assert_eq!(watched.next().unwrap().nomerges.get(), Some(1), "the values of now");
        watched.set(&nomerges, "2");
        assert_eq!(watched.next().map(|queue| queue.nomerges.get()), Some(Some(2)));
    }

    #[test]
    fn counters_that_another_program_switches_are_noticed_at_the_next_look() {
        let watched = OfKernel::new();
        let iostats = watched.next().unwrap().iostats;
        for (value, read) in [("0", 0), ("1", 1)] {
            watched.set(&iostats, value);
            assert_eq!(watched.next().map(|queue| queue.iostats.get()), Some(Some(read)));
        }
    }

    #[test]
    fn the_first_look_reads_the_machine_again() {
        let (_sampler, told, over) = of_laptop(Duration::from_secs(1));
        let messages: Vec<_> = told.iter().take(2).collect();
        over.store(true, Ordering::Relaxed);
        assert!(matches!(
            messages[..],
            [Outside::Message(Message::Rates(..)), Outside::Message(Message::Machine(_))]
        ));
    }

    #[test]
    fn a_look_that_is_asked_for_comes_before_its_time_and_the_next_one_an_interval_later() {
        let interval = Duration::from_secs(2);
        let (sampler, told, over) = of_laptop(interval);
        let mut elapsed = told.iter().filter_map(|outside| match outside {
            Outside::Message(Message::Rates(rates, _)) => Some(rates.elapsed),
            _ => None,
        });
        elapsed.next();
        std::thread::sleep(Duration::from_millis(500));
        sampler.look();
        let (asked, next) = (elapsed.next().unwrap(), elapsed.next().unwrap());
        over.store(true, Ordering::Relaxed);
        // Between the times at which counters were read: on a busy machine later than asked for. At the usual time the next one
        // would come after three quarters of an interval.
        assert!(asked < interval * 3 / 4 && next > interval * 4 / 5, "{asked:?} {next:?}");
    }

    #[test]
    fn the_first_activity_is_of_a_whole_interval_like_the_rates_beside_it() {
        let interval = Duration::from_secs(1);
        let (sampler, told, over) = of_laptop(interval);
        std::thread::sleep(interval / 2);
        let clock = Clock::real();
        sampler.watch(false, true, (false, false));
        let activity = told.iter().find(|outside| matches!(outside, Outside::Message(Message::Activity(_))));
        let took = clock.elapsed();
        let rates = told.recv();
        over.store(true, Ordering::Relaxed);
        assert!(activity.is_some() && took >= interval, "{took:?}");
        let Ok(Outside::Message(Message::Rates(rates, _))) = rates else { panic!("rates follow") };
        assert!(
            rates.elapsed >= interval * 9 / 10 && rates.elapsed < interval * 3 / 2,
            "{:?}",
            rates.elapsed
        );
    }

    #[test]
    fn threads_and_processes_are_sampled_while_they_are_wanted() {
        let (sender, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let root = Origin::Live.open().unwrap();
        let sampler =
            Sampler::start(root, sender, Clock::real(), Arc::clone(&over), Duration::from_secs(1)).unwrap();
        sampler.watch(false, true, (false, false));
        let first = told.recv().unwrap();
        assert!(
            matches!(first, Outside::Message(Message::Activity(_))),
            "rates of a look are judged beside its activity"
        );
        let mut activities = std::iter::once(first).chain(told.iter()).filter_map(|outside| match outside {
            Outside::Message(Message::Activity(activity)) => Some(*activity),
            _ => None,
        });
        let found =
            activities.find(|activity| activity.processes.as_ref().is_some_and(|all| !all.is_empty()));
        let threads = found.and_then(|activity| activity.threads).unwrap();
        assert!(threads.samples > 0 && threads.seen > 0 && threads.seen <= threads.total, "{threads:?}");
        sampler.watch(false, false, (false, false));
        // Some may have been on their way.
        let mut rates_alone = 0;
        let ends = told.iter().take(100).any(|outside| {
            match outside {
                Outside::Message(Message::Activity(_)) => rates_alone = 0,
                Outside::Message(Message::Rates(..)) => rates_alone += 1,
                _ => {}
            }
            rates_alone == 3
        });
        over.store(true, Ordering::Relaxed);
        assert!(ends, "activities go on");
    }
}

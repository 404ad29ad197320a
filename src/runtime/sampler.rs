//! The thread that reads counters and links every second, and the whole machine every ten, while the screen is open.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use super::{clock::Clock, input::Outside, startup};
use crate::{
    app::Message,
    counters::{self, Counters},
    source::{self, SysRoot},
};

/// Interval of counters and links.
const LOOK: Duration = Duration::from_secs(1);
/// Interval of the whole machine, for temperatures and settings.
const WHOLE: Duration = Duration::from_secs(10);

/// The thread's end for requests.
pub(super) struct Sampler {
    asked: Sender<()>,
    idle_states: Arc<AtomicBool>,
}

impl Sampler {
    /// Starts it; it ends when `over` is set or the receiver is gone.
    pub fn start(
        root: Arc<dyn SysRoot>,
        sender: Sender<Outside>,
        clock: Clock,
        over: Arc<AtomicBool>,
    ) -> Self {
        let (asked, asking) = mpsc::channel();
        let idle_states = Arc::new(AtomicBool::new(false));
        let watch = Watch { root, sender, clock, over, idle_states: Arc::clone(&idle_states) };
        thread::spawn(move || watch.run(&asking));
        Self { asked, idle_states }
    }

    /// Switches idle states: with hundreds of CPUs they take longer than all other counters.
    pub fn count_idle_states(&self, wanted: bool) {
        self.idle_states.store(wanted, Ordering::Relaxed);
    }

    /// Requests a reading of the whole machine.
    pub fn ask(&self) {
        // The thread may have ended.
        let _ = self.asked.send(());
    }
}

struct Watch {
    root: Arc<dyn SysRoot>,
    sender: Sender<Outside>,
    clock: Clock,
    over: Arc<AtomicBool>,
    idle_states: Arc<AtomicBool>,
}

impl Watch {
    fn count(&self) -> Counters {
        let read = if self.idle_states.load(Ordering::Relaxed) {
            source::counters::read
        } else {
            source::counters::read_without_idle_states
        };
        read(&*self.root)
    }

    fn run(&self, asking: &Receiver<()>) {
        let mut counted = self.count();
        let mut counted_at = self.clock.elapsed();
        // The machine may have changed before this thread started: the first look reads it again.
        let mut links = Vec::new();
        let mut read_at = counted_at;
        loop {
            let asked = match asking.recv_timeout(LOOK) {
                Ok(()) => true,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let at = self.clock.elapsed();
            let seen = self.count();
            let rates = counters::rates(&counted, &seen, at.saturating_sub(counted_at));
            (counted, counted_at) = (seen, at);
            if !self.send(Message::Rates(Box::new(rates), at)) {
                return;
            }
            let seen = signature(&*self.root);
            if asked || seen != links || at >= read_at + WHOLE {
                (links, read_at) = (seen, at);
                if !self.send(Message::Machine(Box::new(startup::read(&*self.root)))) {
                    return;
                }
            }
        }
    }

    fn send(&self, message: Message) -> bool {
        self.sender.send(Outside::Message(message)).is_ok()
    }
}

/// Changes when a device comes or goes or a link retrains: names, and every link's speed and width.
fn signature(root: &dyn SysRoot) -> Vec<Vec<u8>> {
    const DEVICES: &str = "/sys/bus/pci/devices";
    let names = |folder: &str| root.list(folder).unwrap_or_default();
    let mut seen = vec![names("/sys/block").join(" ").into_bytes()];
    for device in names(DEVICES) {
        for file in ["current_link_speed", "current_link_width"] {
            // Many devices have no link.
            seen.push(root.read(&format!("{DEVICES}/{device}/{file}")).unwrap_or_default());
        }
        seen.push(device.into_bytes());
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::origin::Origin;

    #[test]
    fn the_first_look_reads_the_machine_again() {
        let root = Origin::Demo("laptop".to_owned()).open().unwrap();
        let (sender, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let _sampler = Sampler::start(root, sender, Clock::real(), Arc::clone(&over));
        let messages: Vec<_> = told.iter().take(2).collect();
        over.store(true, Ordering::Relaxed);
        assert!(matches!(
            messages[..],
            [Outside::Message(Message::Rates(..)), Outside::Message(Message::Machine(_))]
        ));
    }
}

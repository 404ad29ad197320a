//! The thread that looks at the machine while the screen is open: counters every second, links every second, everything
//! now and then.

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

/// Between two looks at counters and links: what changed is on the screen within twice that.
const LOOK: Duration = Duration::from_secs(1);
/// Between two readings of the whole machine, for temperatures and whatever no link tells.
const WHOLE: Duration = Duration::from_secs(10);

/// The thread, to be asked for a new reading.
pub struct Sampler {
    asked: Sender<()>,
    idle_states: Arc<AtomicBool>,
}

impl Sampler {
    /// Starts it; it ends when `over` is set or nobody listens any more.
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

    /// Counts idle states from now on, or leaves them: with hundreds of processors they take longer than all else.
    pub fn count_idle_states(&self, wanted: bool) {
        self.idle_states.store(wanted, Ordering::Relaxed);
    }

    /// Asks for a reading of the whole machine.
    pub fn ask(&self) {
        // A thread that ended has nothing more to read.
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
        // The machine was read before this thread began: what changed since then shows at the first look.
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
            if !self.tell(Message::Rates(Box::new(rates), at)) {
                return;
            }
            let seen = signature(&*self.root);
            if asked || seen != links || at >= read_at + WHOLE {
                (links, read_at) = (seen, at);
                if !self.tell(Message::Machine(Box::new(startup::read(&*self.root)))) {
                    return;
                }
            }
        }
    }

    fn tell(&self, message: Message) -> bool {
        self.sender.send(Outside::Message(message)).is_ok()
    }
}

/// What changes when a device comes or goes or a link trains anew: names, and every link's speed and width.
fn signature(root: &dyn SysRoot) -> Vec<Vec<u8>> {
    const DEVICES: &str = "/sys/bus/pci/devices";
    let names = |folder: &str| root.list(folder).unwrap_or_default();
    let mut seen = vec![names("/sys/block").join(" ").into_bytes()];
    for device in names(DEVICES) {
        for file in ["current_link_speed", "current_link_width"] {
            // Many devices have no link; that too is part of what is seen.
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

//! A screen without a terminal, for `render` and tests. A demo's clock is counted, so that the same keys give the same
//! picture.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ratatui::buffer::Buffer;

use super::{
    clock::Clock,
    effects::{Effects, LOOK},
    inbox::inbox,
    startup,
};
use crate::{
    app::{App, Message, draw, keymap::Key},
    source::{
        SysRoot,
        origin::{OpenError, Origin},
    },
    ui::theme::Theme,
};

/// A screen without a terminal.
pub struct Headless {
    /// The state.
    pub app: App,
    effects: Effects,
    /// A live machine, whose counters are read while time passes.
    live: Option<Arc<dyn SysRoot>>,
    /// Ends the thread that reads them.
    over: Arc<AtomicBool>,
}

/// Interval of counters.
const SAMPLING: Duration = Duration::from_secs(1);
/// How much later than a second its counters may arrive.
const LATE: Duration = Duration::from_millis(200);

impl Headless {
    /// Opens a machine on a screen of that size.
    pub fn open(origin: &Origin, size: (u16, u16)) -> Result<Self, OpenError> {
        let root = origin.open()?;
        let mut app = App::new(startup::mode(origin), startup::read_or_refuse(&*root)?, size);
        let clock = Clock::of(!origin.is_live());
        let live = origin.is_live().then(|| Arc::clone(&root));
        let (outlet, inbox) = inbox();
        let mut effects = Effects::new(origin, root, &app, None, clock, (&outlet, inbox))
            .map_err(|error| no_thread(&error))?;
        done(&effects.drain(&mut app));
        Ok(Self { app, effects, live, over: Arc::default() })
    }

    /// Whether a key has quit the program.
    pub fn has_left(&self) -> bool {
        self.effects.leaving.is_some()
    }

    /// The text printed on quitting.
    pub fn last_words(&self) -> &str {
        self.effects.leaving.as_ref().map_or("", |leaving| &leaving.last_words)
    }

    /// The last copied text.
    pub fn copied(&self) -> &str {
        &self.effects.copied
    }

    /// Presses keys, one after another.
    pub fn press(&mut self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.send(Message::Key(key)));
    }

    /// Updates the state with a message and carries out its effects.
    pub fn send(&mut self, message: Message) {
        done(&self.effects.send(&mut self.app, message));
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Duration) {
        let mut until = self.effects.clock.elapsed() + time;
        if let Some(root) = self.live.take().filter(|_| time >= SAMPLING) {
            done(&self.effects.sample(root, Arc::clone(&self.over), SAMPLING));
        }
        if self.effects.sampler.is_some() {
            until += LATE;
        }
        while !self.has_left() && self.effects.clock.elapsed() < until {
            self.effects.clock.pass(LOOK.min(until.saturating_sub(self.effects.clock.elapsed())));
            self.effects.tick(&mut self.app);
            done(&self.effects.look(&mut self.app));
            done(&self.effects.rest_if_due(&mut self.app).map(|_| ()));
            self.effects.watch(&self.app);
        }
    }

    /// The current picture.
    pub fn picture(&self, theme: Theme) -> Buffer {
        draw::picture(&self.app, theme)
    }
}

impl Drop for Headless {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Only effects on a terminal can fail.
fn no_thread(error: &io::Error) -> OpenError {
    OpenError { path: "render".to_owned(), wrong: error.to_string(), fix: "try it again".to_owned() }
}

fn done(result: &io::Result<()>) {
    debug_assert!(result.is_ok(), "{result:?}");
}

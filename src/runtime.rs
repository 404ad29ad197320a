//! What touches the world: the terminal, threads, the clock, signals, effects, tests under way.
//!
//! One thread draws and changes the state; another reads the terminal, another the machine; a test has its own. All of
//! them speak to the first through one channel. Not here: what a message does to the state (`app`).

pub mod session;
pub mod experiment;
pub mod proving;
pub mod opening;
pub mod places;
pub mod terminal;
pub mod input;
pub mod sampler;
pub mod effects;
pub mod demo_counters;
pub mod pretend_root;
pub mod desk;
pub mod tuning;
pub mod headless;
pub mod saving;
pub mod rehearsal;
pub mod recall;
pub mod clipboard;

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::{
    effects::Effects,
    input::Outside,
    proving::{Clock, Proving},
    sampler::Sampler,
    terminal::Screen,
};
use crate::{
    app::{App, Effect, Message, update},
    source::origin::Origin,
    view::{picture, theme::Theme},
};

/// Between two pictures at least.
const FRAME: Duration = Duration::from_millis(33);

/// Shows a machine full screen until the user leaves. The exit status is 0, or 128 and the signal that ended it.
///
/// # Errors
/// Origins that cannot be opened; a terminal that is none, with the commands that need none.
pub fn run(origin: &Origin) -> anyhow::Result<ExitCode> {
    let started = now();
    if !io::stdout().is_terminal() {
        anyhow::bail!(
            "standard output: is no terminal; use `iodyno tree`, `iodyno drives`, `iodyno check` or `iodyno bench`, \
             or `iodyno render machine` for a picture"
        );
    }
    let root = origin.open()?;
    let read = opening::read_or_refuse(&*root)?;
    let engine = opening::engine(origin, &read);
    let counters = opening::demo_counters(origin, &*root, &read);
    let theme = Theme::from_environment(std::env::var_os("NO_COLOR").as_deref());
    let (sender, receiver) = mpsc::channel();
    let over = Arc::new(AtomicBool::new(false));
    input::start_signals(sender.clone())?;
    let mut screen = Screen::open(theme)?;
    let mut app = App::new(opening::mode(origin), read.clone(), Screen::size()?);
    screen.draw(&mut app)?;
    input::start(sender.clone(), Arc::clone(&over));
    let desk = desk::Desk::new(origin, &root);
    let proving = desk.clone().map(|desk| {
        let sender = sender.clone();
        Proving::start(desk, Arc::clone(&root), Clock::Real, move |progress| {
            let message = progress.map(|progress| Message::Progress(Box::new(progress), now() - started));
            // Nobody listens only when the program ends.
            let _ = message.map(|message| sender.send(Outside::Message(message)));
        })
    });
    let tuning = desk.map(|desk| {
        let sender = sender.clone();
        tuning::Tuning::start(desk, move |answer| {
            // Nobody listens only when the program ends.
            let _ = sender.send(Outside::Message(Message::Tuned(Box::new(answer))));
        })
    });
    if let Some(tuning) = &tuning {
        tuning.look();
    }
    let again = origin.is_live().then(|| Arc::clone(&root));
    let sampler = origin.is_live().then(|| Sampler::start(root, sender.clone(), started, Arc::clone(&over)));
    let effects = Effects::new((tuning, proving), engine, counters, again, sender, started);
    if origin.is_live() {
        effects.recall(Arc::clone(&app.shared.machine));
    }
    let mut main =
        Main { screen, effects, sampler, receiver, started, last_words: String::new(), user_left: false };
    let status = main.run(&mut app).or_else(hung_up);
    over.store(true, Ordering::Relaxed);
    // The test ends and the terminal comes back before anything is said.
    let last_words = std::mem::take(&mut main.last_words);
    drop(main);
    io::stdout().write_all(last_words.as_bytes())?;
    if terminal::panicked() { Ok(ExitCode::from(101)) } else { status.map(ExitCode::from) }
}

struct Main {
    screen: Screen,
    effects: Effects,
    sampler: Option<Sampler>,
    receiver: Receiver<Outside>,
    started: Instant,
    /// Printed when the terminal is given back.
    last_words: String,
    /// The user quit, and chose what becomes of changed settings.
    user_left: bool,
}

impl Drop for Main {
    /// Any other end, be it a signal, an error of the terminal or a panic, restores the settings that this run changed.
    fn drop(&mut self) {
        if !self.user_left {
            self.effects.put_back();
        }
    }
}

impl Main {
    fn run(&mut self, app: &mut App) -> anyhow::Result<u8> {
        let mut changed = true;
        let mut drawn_at = self.started;
        loop {
            let at = now();
            let frame_due = drawn_at + FRAME;
            if changed && at >= frame_due {
                self.screen.draw(app)?;
                (changed, drawn_at) = (false, now());
            }
            let frame = changed.then_some(frame_due);
            let wait = [frame, self.effects.due()]
                .into_iter()
                .flatten()
                .min()
                .map_or(FRAME * 30, |due| due - at.min(due));
            let outside = match self.receiver.recv_timeout(wait) {
                Ok(outside) => Some(outside),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
            if terminal::panicked() {
                return Ok(101);
            }
            update(app, Message::Tick(now() - self.started));
            if let Some(sampler) = &self.sampler {
                sampler.count_idle_states(app.asks_for_idle_states());
            }
            let looked = self.effects.look().map(Outside::Message);
            for outside in outside.into_iter().chain(looked) {
                changed = true;
                if let Some(status) = self.take(app, outside)? {
                    return Ok(status);
                }
            }
        }
    }

    /// Takes something from outside; the exit status when it means to leave.
    fn take(&mut self, app: &mut App, outside: Outside) -> anyhow::Result<Option<u8>> {
        let message = match outside {
            Outside::Message(message) => message,
            Outside::Stop => {
                self.screen.suspend()?;
                Message::Tick(now() - self.started)
            }
            Outside::Signal(signal) => return Ok(Some(status_of(signal))),
        };
        if let Message::Tuned(answer) = &message
            && let Some(read) = &answer.machine
        {
            self.effects.renew(read);
        }
        for effect in update(app, message) {
            match effect {
                Effect::Quit => {
                    self.user_left = true;
                    return Ok(Some(0));
                }
                Effect::QuitWith(text) => {
                    self.user_left = true;
                    self.last_words = text;
                    return Ok(Some(0));
                }
                Effect::Interrupt => return Ok(Some(status_of(SIGINT))),
                Effect::Suspend => self.screen.suspend()?,
                Effect::Redraw => self.screen.forget()?,
                Effect::SavePicture => {
                    let picture = picture::of(app, self.screen.theme());
                    self.effects.save(app.screen.0, "svg", move || picture::svg(&picture));
                }
                Effect::Remember(limits) => self.effects.remember(limits),
                Effect::KeepRun(record) => self.effects.keep(*record),
                Effect::KeepExperiment(record) => self.effects.keep(*record),
                Effect::Copy(text, format) => {
                    let told = self.screen.copy(&text, format)?;
                    self.effects.copied(told);
                }
                Effect::Save(text, extension) => self.effects.save("sheet", extension, move || text),
                Effect::ReadMachine => {
                    if let Some(sampler) = &self.sampler {
                        sampler.ask();
                    }
                }
                effect => {
                    let left = self.effects.tune(effect).and_then(|effect| self.effects.prove(effect));
                    if let Some(effect) = left {
                        self.effects.test(effect);
                    }
                }
            }
        }
        Ok(None)
    }
}

/// A terminal that hung up refuses every call with EIO, often before its SIGHUP arrives: the same end, the same status.
fn hung_up(error: anyhow::Error) -> anyhow::Result<u8> {
    let errno = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    if errno == Some(libc::EIO) { Ok(status_of(SIGHUP)) } else { Err(error) }
}

/// 128 and the number of the signal, as shells report it.
fn status_of(signal: i32) -> u8 {
    match signal {
        SIGINT => 130,
        SIGTERM => 143,
        SIGHUP => 129,
        _ => 1,
    }
}

#[expect(clippy::disallowed_methods, reason = "the runtime is where the clock is read")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

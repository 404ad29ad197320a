//! Terminal, threads, clock, signals, effects, tests in progress.
//!
//! One thread draws and changes the state. The threads that read the terminal, the machine and a test send it messages
//! through one channel.

pub(crate) mod access;
pub mod clock;
pub(crate) mod session;
pub mod run;
pub mod experiment;
pub mod startup;
pub(crate) mod target_resolver;
pub(crate) mod run_history;
pub(crate) mod why;
pub mod demo_root;
pub mod headless;
pub(crate) mod beside;
mod clipboard;
mod console;
mod effects;
mod experiment_thread;
mod faults;
mod inbox;
mod input;
mod opening;
mod output;
mod pace;
pub(crate) mod activity_sampler;
mod sampler;
mod saving;
mod settings_files;
mod settings_thread;
pub(crate) mod signals;
mod terminal;
mod worker;

use std::{
    io::{self, Write},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use signal_hook::consts::SIGHUP;

use self::{
    clock::Clock, console::KernelConsole, effects::Effects, pace::Pace, sampler::Sampler, signals::status_of,
    terminal::Screen,
};
use crate::{
    app::{self, App},
    config::Config,
    model::Choice,
    source::{SysRoot, origin::Origin},
    ui::theme::Theme,
};

/// Shows a machine full screen until the user quits. The exit status is 0, or 128 + the signal.
///
/// `mistakes` are those of the configuration file. The theme follows the terminal's background where `asks` is set and the
/// terminal answers; one chosen by key is kept where `keeps` says. `auto` is the one for this terminal, whatever was asked for.
///
/// # Errors
/// The machine cannot be read, or the terminal not be used.
pub(crate) fn run(
    origin: &Origin,
    root: Arc<dyn SysRoot>,
    (config, mistakes): (&Config, &[String]),
    theme: Theme,
    (asks, keeps, auto): (bool, Option<Choice>, Theme),
) -> anyhow::Result<ExitCode> {
    let clock = Clock::real();
    let read = startup::read_or_refuse(&*root)?;
    let (outlet, inbox) = inbox::inbox();
    let over = Arc::new(AtomicBool::new(false));
    input::start_signals(outlet.clone())?;
    let mut screen = Screen::open()?;
    app::bind(&config.keys);
    let mut app = App::new(startup::mode(origin), read, terminal::size()?);
    app.configure(config, theme, keeps);
    app.follow_terminal(auto);
    app.warn_of_mistakes(mistakes);
    screen.draw(&app)?;
    if asks {
        screen.ask_background()?;
    }
    input::start(outlet.clone(), Arc::clone(&over))?;
    let sampler = origin.is_live().then(|| {
        let (root, over) = (Arc::clone(&root), Arc::clone(&over));
        Sampler::start(root, outlet.sender(), clock.clone(), over, config.interval)
    });
    let sampler = sampler.transpose()?;
    let mut effects = Effects::new(origin, root, &app, Some(screen), clock, (&outlet, inbox))?;
    effects.sampler = sampler;
    let status = until_left(&mut app, &mut effects).or_else(hung_up);
    over.store(true, Ordering::Relaxed);
    if effects.leaving.is_some() {
        effects.conclude(&mut app);
    }
    // The test ends and the terminal is restored before anything is printed.
    let last_words = effects.leaving.as_ref().map(|leaving| leaving.last_words.clone()).unwrap_or_default();
    let left = effects.put_back();
    drop(effects);
    io::stdout().write_all(last_words.as_bytes())?;
    // After SIGHUP there is no terminal.
    let _ = io::stderr().write_all(left.as_bytes());
    if terminal::panicked() { Ok(ExitCode::from(101)) } else { status.map(ExitCode::from) }
}

/// Draws, takes messages and signals and looks at the test until the user quits; the exit status.
fn until_left(app: &mut App, effects: &mut Effects) -> anyhow::Result<u8> {
    /// A terminal that took nothing for so long shows no question.
    const DEAD: Duration = Duration::from_secs(1);
    let mut pace = Pace::new(effects.clock.clone());
    let mut console = KernelConsole::watch();
    loop {
        if console.as_mut().is_some_and(|console| console.is_overwritten(effects.clock.elapsed())) {
            effects.screen.iter_mut().for_each(Screen::repaint);
            pace.change();
        }
        let wait = pace.wait();
        let outside = effects.next(wait);
        if pace.is_due(wait, outside.is_some()) {
            pace.draw(effects.screen.as_mut().map_or(Ok(true), |screen| screen.draw(app))?);
        }
        if terminal::panicked() {
            return Ok(101);
        }
        let had_notice = app.notice.is_some();
        effects.tick(app);
        effects.watch(app);
        let mut changed = outside.is_some() || had_notice != app.notice.is_some();
        if let Some(outside) = outside {
            let asked = app::asks_before_leaving(app);
            effects.take(app, outside)?;
            if !asked && app::asks_before_leaving(app) && output::stuck_for() >= DEAD {
                // Nobody can read the question: all is put back, as after a signal.
                return Ok(0);
            }
        }
        if effects.leaving.is_none() {
            changed |= effects.look_if_due(app)? | effects.rest_if_due(app)?;
        }
        if changed {
            pace.change();
        }
        if let Some(leaving) = &effects.leaving {
            return Ok(leaving.status);
        }
    }
}

/// A closed terminal fails with EIO, often before SIGHUP arrives, and /dev/tty with ENXIO after a stop: all have the status of
/// SIGHUP.
fn hung_up(error: anyhow::Error) -> anyhow::Result<u8> {
    let errno = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    if matches!(errno, Some(libc::EIO | libc::ENXIO)) { Ok(status_of(SIGHUP)) } else { Err(error) }
}

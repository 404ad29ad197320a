//! The signals that end the program in order: settings and the terminal are restored first.

use libc::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGPWR, SIGQUIT, SIGSTKFLT, SIGTERM, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, c_int,
};

const ENDING: [c_int; 13] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGPWR, SIGIO,
    SIGSTKFLT,
];

/// All that end a program by default (signal(7)), but KILL, those of program errors (`faults`), and PIPE and XFSZ, which are
/// errors of writes.
pub(crate) fn ending() -> impl Iterator<Item = c_int> {
    ENDING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// 128 + the signal, as in shells.
pub(crate) fn status_of(signal: c_int) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}

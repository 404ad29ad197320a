//! What touches the world: the terminal, threads, the clock, signals, effects, tests under way.

pub mod session;

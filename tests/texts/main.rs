//! Captures, copies of /sys and texts of other tools: what is read of them, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "../common/program.rs"]
mod program;
#[path = "../common/skip.rs"]
mod skip;

mod continued;
mod contrary;
mod copies;
mod damaged;
mod doubtful;
mod fleet;
mod imports;
mod lsblk;
mod joined;
mod layouts;
mod lspci;
mod multipath;
mod opened;
mod pasted;
mod posts;
mod readers;
mod relisted;
mod stated;
mod unreadable;
mod variants;
mod wrapped;

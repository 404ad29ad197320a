//! The commands over demos and captures: what they print and how they end.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "../common/program.rs"]
mod program;
#[path = "../common/records.rs"]
mod records;
#[path = "../common/skip.rs"]
mod skip;

mod captures;
mod characters;
mod cli;
mod complaints;
mod documents;
mod experiments;
mod fio_jobs;
mod sheets;
mod undo_scope;

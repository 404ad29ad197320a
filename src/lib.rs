//! iodyno, a dynamometer for storage. `ARCHITECTURE.md` describes its modules.
//!
//! Read in this order: data ([`units`], [`text`], [`model`], [`machine`], [`counters`]), its readers ([`source`]), limits
//! and findings, tests, then state, screen and command line.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod units;
pub mod text;
pub mod model;
pub mod machine;
pub mod counters;
pub mod store;
pub mod source;
pub mod redact;
pub mod capacity;
pub mod findings;
pub mod whatif;
pub mod tune;
pub mod experiment;
pub mod engine;
pub mod pull;
pub mod waterfall;
pub mod report;
pub mod ui;
pub mod config;
pub mod screens;
pub mod app;
pub mod runtime;
pub mod cli;

#[cfg(test)]
#[path = "../tests/common/loop_device.rs"]
#[allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test's own device and settings"
)]
mod loop_device;

//! iodyno, a dynamometer for storage. See `ARCHITECTURE.md` for the house this library is built as.
//!
//! Read in this order: data ([`units`], [`text`], [`model`], [`machine`], [`counters`]), how it is read ([`source`]),
//! what follows from it, how tests are run, then state, screen and the edges.

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
pub mod report;
pub mod ui;
pub mod screens;
pub mod app;
pub mod runtime;
pub mod cli;

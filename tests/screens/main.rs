//! The screens, driven by keys over demos, captures and texts: no terminal, no device.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "../common/program.rs"]
mod program;
#[path = "../common/screen.rs"]
mod screen;
#[path = "../common/wheel.rs"]
mod wheel;

mod answers;
mod at_rest;
mod fields;
mod footers;
mod glyphs;
mod hesitations;
mod journeys;
mod learning;
mod mouse;
mod offers;
mod on_screen;
mod opening;
mod pictures;
mod plain_words;
mod pull;
mod questions;
mod rebind;
mod room;
mod slots;
mod stopped_pulls;
mod surprises;
mod told;
mod verdicts;
mod whatif;
mod whole;
mod widths;

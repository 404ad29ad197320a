//! The state of the screen, how it changes and where its regions are.
//!
//! Here: `App`, `Message`, `Effect`, `update`, the layout, `COMMANDS`. Not here: drawing, reading, threads, the clock.

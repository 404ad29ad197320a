//! What several screens draw.

pub mod cpus;
pub mod paint;
pub mod scroll;
pub mod entry;
pub mod find;
pub mod span;
pub mod words;
pub mod file_offer;
pub mod findings;
pub mod bottleneck_panel;
pub mod graph;
pub mod heat;
pub mod shell;
pub mod sections;

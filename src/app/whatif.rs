//! The state of the what-if screen.
//!
//! Here: [`WhatIf`]. The experiments are in [`experiments`], what keys do in [`act`]. Not here: carrying anything out.

pub mod experiments;
pub mod act;

pub use crate::ui::experiments::Progress;
pub use experiments::Experiments;

/// The what-if screen.
#[derive(Debug, Clone, Default)]
pub struct WhatIf {
    /// Experiments on this machine.
    pub experiments: Experiments,
}

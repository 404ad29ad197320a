//! Interrupt vectors of the drives (`counters` has their counts).

use crate::{model::Reading, text::Label};

/// Interrupts of drives in `/proc/interrupts` and `/proc/irq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Interrupts {
    /// Vectors of NVMe queues, by number.
    pub vectors: Vec<Vector>,
    /// Whether `/proc/interrupts` has a `PMN` row: this kernel was built with posted MSI.
    pub posted_msi_row: Reading<bool>,
}

/// One vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// Linux interrupt number.
    pub number: u32,
    /// The kernel's name for it: `nvme0q3`.
    pub name: Label,
    /// `/proc/irq/N/effective_affinity_list`.
    pub affinity: Reading<Vec<u32>>,
}

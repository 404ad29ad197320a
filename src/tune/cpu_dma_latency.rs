//! [`CpuDmaLatency`]: keeps processors out of sleep, as latency-critical programs ask the kernel to.
//!
//! The kernel's file for it, `/dev/cpu_dma_latency` (`Documentation/power/pm_qos_interface.rst`), is no storage device: what
//! is written is the longest wake-up allowed, and the wish ends with the file descriptor, so that even a kill undoes it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
};

/// The file.
pub const FILE: &str = "/dev/cpu_dma_latency";

/// Processors stay awake until this is dropped.
#[derive(Debug)]
pub struct CpuDmaLatency {
    _wish: File,
}

impl CpuDmaLatency {
    /// Asks for wake-ups of no more than 0 microseconds.
    ///
    /// # Errors
    /// Without root, or on kernels without that file.
    pub fn hold() -> io::Result<Self> {
        let mut wish = OpenOptions::new().write(true).open(FILE)?;
        wish.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _wish: wish })
    }
}

//! [`CpuDmaLatency`]: keeps CPUs out of deep idle states, by the kernel's power management interface.
//!
//! `/dev/cpu_dma_latency` (`Documentation/power/pm_qos_interface.rst`) is no storage device: it takes the longest allowed
//! wake-up. The request ends with the file descriptor, so that a kill undoes it too.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
};

/// The file.
pub const FILE: &str = "/dev/cpu_dma_latency";

/// CPUs stay out of deep idle states until this is dropped.
#[derive(Debug)]
pub struct CpuDmaLatency {
    _request: File,
}

impl CpuDmaLatency {
    /// Requests wake-ups within 0 microseconds.
    ///
    /// # Errors
    /// Without root, or on kernels without that file.
    pub fn hold() -> io::Result<Self> {
        let mut request = OpenOptions::new().write(true).open(FILE)?;
        request.write_all(&0_i32.to_ne_bytes())?;
        Ok(Self { _request: request })
    }
}

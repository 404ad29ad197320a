//! Read engines: workers that read as fast as the kernel lets them, and count.
//!
//! Here: opening targets, the engines, latency histograms, batching. Devices are opened `O_RDONLY` and nothing here knows
//! a write opcode. Not here: threads of the screen, the meaning of a result.

//! Reading a machine: from the live kernel, a folder on disk, a capture or a demo, all through [`SysRoot`].
//!
//! Here: one reader per subtree, each turning files into readings of [`crate::machine`] or [`crate::counters`]. Every
//! path asked for goes through the root, so what was read can be written down and read again. Not here: judging what was
//! read, and writing anything.

pub mod root;
pub mod rules;
pub mod capture;
pub mod block;
pub mod nvme;
mod nvme_ioctl;
mod probe;
pub mod ids;
pub mod config_space;
pub mod pci;
pub mod demo;
pub mod origin;

pub use root::{RootError, SysRoot};

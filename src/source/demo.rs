//! Built-in demos: captures of machines that people published, embedded in the program.
//!
//! Here: the table of demos. Their captures lie under `assets/demos` and are read like any other.

/// A demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demo {
    /// The word for `--demo`: `threadripper-before`.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: &'static str,
    /// Its capture.
    pub capture: &'static str,
}

/// All demos; the first is what `--demo` alone opens.
pub const DEMOS: &[Demo] = &[];

/// The demo of that name.
pub fn find(name: &str) -> Option<&'static Demo> {
    DEMOS.iter().find(|demo| demo.name == name)
}

//! Built-in demos: captures of machines that people published, embedded in the program.
//!
//! Here: the table of demos. Their captures lie under `assets/demos`, where `cargo run --example build_demos` writes them
//! from compact descriptions, and are read like any other.

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
pub const DEMOS: &[Demo] = &[
    Demo {
        name: "threadripper-before",
        title: "ThreadRipper PRO with ten 980 PRO, eight of them under one root complex",
        capture: include_str!("../../assets/demos/threadripper-before.capture"),
    },
    Demo {
        name: "threadripper-after",
        title: "the same after one card moved: four drives under each of two root complexes",
        capture: include_str!("../../assets/demos/threadripper-after.capture"),
    },
    Demo {
        name: "x570",
        title: "Ryzen 5950X on X570 with four FireCuda 530 as delivered, 512 B blocks",
        capture: include_str!("../../assets/demos/x570.capture"),
    },
    Demo {
        name: "x570-formatted",
        title: "the same, drives formatted to 4096 B blocks",
        capture: include_str!("../../assets/demos/x570-formatted.capture"),
    },
    Demo {
        name: "laptop",
        title: "B550 laptop: one drive's link trained at half speed, one drive behind the chipset",
        capture: include_str!("../../assets/demos/laptop.capture"),
    },
];

/// The demo of that name.
pub fn find(name: &str) -> Option<&'static Demo> {
    DEMOS.iter().find(|demo| demo.name == name)
}

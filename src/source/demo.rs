//! Built-in demos: captures of published machines, written to `assets/demos` by `cargo run --example build_demos`.

use super::packed::{Packed, packed};

/// A demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demo {
    /// Name for `--demo`: `threadripper-before`.
    pub name: &'static str,
    /// One line about it.
    pub title: &'static str,
    packed: Packed,
}

/// All demos; the first is what `--demo` alone opens.
pub const DEMOS: &[Demo] = &[
    Demo {
        name: "threadripper-before",
        title: "Threadripper PRO with ten 980 PRO, eight of them under one root complex",
        packed: packed!("threadripper-before.capture"),
    },
    Demo {
        name: "threadripper-after",
        title: "the same after one card moved: four drives under each of two root complexes",
        packed: packed!("threadripper-after.capture"),
    },
    Demo {
        name: "x570",
        title: "Ryzen 5950X on X570 with four FireCuda 530 as delivered, 512 B blocks",
        packed: packed!("x570.capture"),
    },
    Demo {
        name: "x570-formatted",
        title: "the same, drives formatted to 4096 B blocks",
        packed: packed!("x570-formatted.capture"),
    },
    Demo {
        name: "laptop",
        title: "B550 laptop: one drive's link trained at half speed, one drive behind the chipset",
        packed: packed!("laptop.capture"),
    },
];

impl Demo {
    /// Its capture's text.
    pub fn capture(&self) -> String {
        String::from_utf8_lossy(&self.packed.text()).into_owned()
    }
}

/// The demo of that name.
pub fn find(name: &str) -> Option<&'static Demo> {
    DEMOS.iter().find(|demo| demo.name == name)
}

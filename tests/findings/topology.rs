//! Shared root complexes, hops and slots.

use iodyno::model::Severity;

use super::scene::*;

crate::rows! {
    shared_root_complex "shared-root-complex" {
        fires: demo("threadripper-before"),
        silent: demo("threadripper-after"),
    }
    oversubscribed_hop "oversubscribed-hop" {
        fires: crowded(),
        silent: x570(),
    }
    chipset_uplink "chipset-uplink" {
        fires: laptop(),
        silent: x570(),
    }
    bifurcation_missing "bifurcation-missing" {
        fires: wide_slot(),
        silent: x570(),
    }
    behind_vmd_or_raid "behind-vmd-or-raid" {
        fires: x570().with(|machine| {
            for node in &mut machine.pci.nodes {
                if let iodyno::machine::pci::NodeAddress::Device(address) = &mut node.address {
                    address.domain = 0x10000;
                }
            }
        }),
        silent: x570(),
    }
}

/// Eight drives under one root complex, and nowhere to move them.
fn crowded() -> Scene {
    demo("threadripper-before")
        .file("/sys/devices/pci0000:60/0000:60:03.1/max_link_width", "4")
        .file("/sys/devices/pci0000:60/0000:60:03.1/current_link_width", "4")
}

/// One drive in a slot of eight lanes.
fn wide_slot() -> Scene {
    x570().file("/sys/devices/pci0000:00/0000:00:03.1/max_link_width", "8")
}

#[test]
fn the_split_of_a_slot_has_its_lanes() {
    for (lanes, split) in [("8", "x4x4"), ("16", "x4x4x4x4")] {
        let scene = x570().file("/sys/devices/pci0000:00/0000:00:03.1/max_link_width", lanes);
        let text = scene.one("bifurcation-missing").remedy.text;
        assert!(text.contains(&format!("bifurcation to {split} in")), "{text}");
    }
}

#[test]
fn the_shared_root_complex_names_card_target_and_gain() {
    let finding = demo("threadripper-before").one("shared-root-complex");
    assert_eq!(finding.severity, Severity::High);
    assert_eq!(finding.title, "8 drives share root complex 0000:40 while 0000:60 has none");
    let gain = finding.gain.bytes_per_second.unwrap();
    assert!((16.5e9..18.5e9).contains(&gain), "{gain}: published 50 -> 66 GiB/s");
    assert!(finding.remedy.text.contains("0000:60:03.1"), "{}", finding.remedy.text);
    assert!(finding.gain.source.contains("published 39.4 GB/s"), "{}", finding.gain.source);
    assert_eq!(finding.subjects.len(), 9, "the root complex and its drives");
}

#[test]
fn without_a_known_limit_of_the_host_bridge_nothing_is_claimed() {
    let scene = demo("threadripper-before").with(|machine| {
        for node in &mut machine.pci.nodes {
            if node.kind == iodyno::machine::NodeKind::RootComplex {
                node.device = iodyno::model::Reading::known("/sys/x/device", 0xffff_u16);
            }
        }
    });
    let finding = scene.one("shared-root-complex");
    assert_eq!(finding.gain.bytes_per_second, None);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.gain.text.contains("measure"), "{}", finding.gain.text);
}

#[test]
fn with_nowhere_to_go_the_same_drives_are_an_oversubscribed_hop() {
    let scene = crowded();
    assert_eq!(scene.severity("shared-root-complex"), None);
    assert_eq!(scene.severity("oversubscribed-hop"), Some(Severity::Info), "1.4 to 1.5 times");
}

#[test]
fn one_shortage_is_told_once() {
    assert_eq!(demo("threadripper-before").severity("oversubscribed-hop"), None);
    assert_eq!(laptop().severity("oversubscribed-hop"), None);
}

#[test]
fn a_single_root_complex_that_carries_its_drives_is_no_finding() {
    for name in ["x570", "laptop"] {
        assert_eq!(demo(name).severity("shared-root-complex"), None, "{name}");
    }
}

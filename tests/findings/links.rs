//! Links and packets.

use iodyno::{
    findings::{Risk, SubjectKind},
    model::{PciAddress, Reading, Severity},
    units::{Lanes, TransferRate},
};

use super::scene::*;

const DEVCTL: usize = 0x08;
const LNKCTL2: usize = 0x30;

crate::rows! {
    link_downtrained "link-downtrained" {
        fires: laptop(),
        silent: x570(),
    }
    slot_limited "slot-limited" {
        fires: gen3_slot(),
        silent: laptop(),
    }
    link_below_drive "link-below-drive" {
        fires: half_known("8.0 GT/s PCIe"),
        silent: half_known("16.0 GT/s PCIe"),
    }
    link_capped_by_software "link-capped-by-software" {
        fires: capped(),
        silent: laptop(),
    }
    link_errors "link-errors" {
        fires: laptop().rates(|rates| { rates.aer.insert(address("0000:00:01.1"), 3.0); }),
        silent: laptop().rates(|rates| { rates.aer.insert(address("0000:00:01.1"), 0.0); }),
    }
    payload_size "payload-size" {
        fires: x570().express("0000:0a:00.0", DEVCTL, |word| word & !0xe0),
        silent: x570(),
    }
    relaxed_ordering_off "relaxed-ordering-off" {
        fires: x570().express("0000:0a:00.0", DEVCTL, |word| word & !0x10),
        silent: x570().express("0000:0a:00.0", DEVCTL, |word| word | 0x10),
    }
    ext_tags_off "ext-tags-off" {
        fires: x570().express("0000:0a:00.0", DEVCTL, |word| word & !0x100).express("0000:0a:00.0", 0x04, |word| word | 0x20),
        silent: x570().express("0000:0a:00.0", DEVCTL, |word| word | 0x100),
    }
    read_request "read-request" {
        fires: x570().express("0000:0a:00.0", DEVCTL, |word| word & !0x7000),
        silent: x570().express("0000:0a:00.0", DEVCTL, |word| (word & !0x7000) | 0x2000),
    }
    aspm_on "aspm-on" {
        fires: sleepy().test(&["nvme0n1"], |work| work.depth = 1),
        silent: sleepy().test(&["nvme0n1"], |_| {}),
    }
}

fn address(text: &str) -> PciAddress {
    text.parse().unwrap()
}

fn sleepy() -> Scene {
    laptop().file(&format!("{LAPTOP_DRIVE}/link/l1_aspm"), "1")
}

/// The laptop's first drive at full speed, in a slot that can do less.
pub fn gen3_slot() -> Scene {
    laptop().file(&format!("{LAPTOP_PORT}/max_link_speed"), "8.0 GT/s PCIe")
}

/// The port's target is 8 GT/s.
pub fn capped() -> Scene {
    laptop().express("0000:00:01.1", LNKCTL2, |word| (word & !0xf) | 3)
}

#[test]
fn the_downtrained_link_names_both_ends_and_what_it_costs() {
    let finding = laptop().one("link-downtrained");
    assert_eq!(finding.subjects[0].name, "nvme0n1");
    assert_eq!(finding.severity, Severity::High);
    assert!(finding.title.contains("Gen3 x4 (8 GT/s), could be Gen4 x4"), "{}", finding.title);
    assert!(finding.remedy.text.contains("0000:00:01.1"), "{}", finding.remedy.text);
    let errors = "registers do not show a fault of drive, contacts or cable; its corrected errors point to a bad signal.";
    assert!(finding.remedy.text.ends_with(errors), "{}", finding.remedy.text);
    let gain = finding.gain.bytes_per_second.unwrap();
    assert!((3.0e9..4.0e9).contains(&gain), "{gain}");
    assert!(finding.evidence.iter().any(|proof| proof.path.ends_with("0000:00:01.1/max_link_speed")));
    assert!(finding.evidence.iter().any(|proof| proof.value.contains("1846")), "both ends' errors");
}

#[test]
fn a_link_that_is_slow_while_its_drive_is_tested_was_not_asleep() {
    let awake = |scene: Scene| {
        let finding = scene.one("link-downtrained");
        finding.evidence.iter().any(|proof| proof.value.contains("the link was active"))
    };
    assert!(awake(laptop().test(&["nvme0n1"], |_| {})));
    assert!(!awake(laptop().test(&["nvme1n1"], |_| {})), "another drive's test shows nothing");
    assert!(!awake(laptop()));
}

#[test]
fn a_gen4_drive_in_a_gen3_slot_is_slot_limited_and_no_alarm() {
    let scene = gen3_slot();
    assert_eq!(scene.severity("link-downtrained"), None);
    assert_eq!(scene.severity("slot-limited"), Some(Severity::Info));
}

#[test]
fn a_link_that_was_told_to_be_slow_blames_who_told_it() {
    let scene = capped();
    assert_eq!(scene.severity("link-downtrained"), None, "one link, one finding");
    let finding = scene.one("link-capped-by-software");
    assert_eq!(finding.remedy.risk, Risk::Firmware);
    assert!(finding.evidence.iter().any(|proof| proof.path.ends_with("LnkCtl2")));
}

/// The port's target is 2.5 GT/s, on a kernel that lowers it itself when a link does not train.
pub fn lowered_by_the_kernel() -> Scene {
    laptop()
        .express("0000:00:01.1", LNKCTL2, |word| (word & !0xf) | 1)
        .file("/proc/sys/kernel/osrelease", "6.6.8")
}

#[test]
fn the_kernel_and_the_firmware_are_told_apart() {
    let by_kernel = lowered_by_the_kernel().one("link-capped-by-software");
    assert!(by_kernel.remedy.text.contains("72780f796468"), "{}", by_kernel.remedy.text);
    let older =
        lowered_by_the_kernel().file("/proc/sys/kernel/osrelease", "6.1.0").one("link-capped-by-software");
    assert_eq!(older.remedy.risk, Risk::Firmware);
    assert!(capped().one("link-capped-by-software").remedy.text.contains("BIOS"));
    let cooled = lowered_by_the_kernel().with(|machine| {
        let port = machine.pci.find(address("0000:00:01.1")).unwrap();
        machine.pci.nodes[port.0].cooling = Reading::known("/test", (2, 3));
        machine.pci.nodes[port.0].cooling_path = Some("/sys/class/thermal/cooling_device9".into());
    });
    let cooled = cooled.one("link-capped-by-software");
    assert_eq!(
        cooled.remedy.command.unwrap(),
        "echo 0 | sudo tee /sys/class/thermal/cooling_device9/cur_state"
    );
}

#[test]
fn a_drive_is_judged_below_a_port_without_a_slot_and_a_tunnel_is_not() {
    // The slot bit of PCI Express Capabilities: a drive soldered to the board has none.
    let soldered = laptop().express("0000:00:01.1", 0x02, |word| word & !0x100);
    assert_eq!(soldered.severity("link-downtrained"), Some(Severity::High));
    let tunnel = laptop().with(|machine| {
        let port = machine.pci.find(address("0000:00:01.1")).unwrap();
        machine.pci.nodes[port.0].names.device = Some(label("JHL7540 Thunderbolt 3 Bridge"));
    });
    assert_eq!(tunnel.severity("slot-limited"), None);
    assert_eq!(tunnel.severity("link-downtrained"), None);
}

/// The laptop's first drive in a port of the first generation with one lane.
fn gen1_slot() -> Scene {
    let ends = [LAPTOP_PORT, LAPTOP_DRIVE];
    let scene = ends.iter().fold(laptop(), |scene, end| {
        scene
            .file(&format!("{end}/current_link_speed"), "2.5 GT/s PCIe")
            .file(&format!("{end}/current_link_width"), "1")
    });
    scene
        .file(&format!("{LAPTOP_PORT}/max_link_speed"), "2.5 GT/s PCIe")
        .file(&format!("{LAPTOP_PORT}/max_link_width"), "1")
}

/// The laptop's drive at this speed below a port of which nothing is known.
fn half_known(speed: &str) -> Scene {
    laptop().file(&format!("{LAPTOP_DRIVE}/current_link_speed"), speed).with(|machine| {
        let port = machine.pci.node(machine.drives[0].node.unwrap()).parent.unwrap();
        machine.pci.nodes[port.0].link = None;
    })
}

#[test]
fn a_link_below_an_unknown_port_is_judged_by_its_drive() {
    let finding = half_known("8.0 GT/s PCIe").one("link-below-drive");
    assert!(
        finding.title.starts_with("nvme0n1: its link runs at Gen3 x4 (8 GT/s), the drive could do Gen4 x4;"),
        "{}",
        finding.title
    );
    assert!(finding.severity >= Severity::Warning, "{finding:#?}");
    assert!(finding.gain.bytes_per_second.unwrap() > 3e9, "{finding:#?}");
    assert_eq!(finding.evidence.len(), 2);
}

#[test]
fn a_port_of_the_first_generation_is_named_with_its_cost() {
    let finding = gen1_slot().one("slot-limited");
    assert_eq!(finding.title, "nvme0n1: could do Gen4 x4, the slot gives Gen1 x1 (2.5 GT/s)");
    assert_eq!(finding.severity, Severity::Info, "no free slot gives more");
    assert!(finding.gain.out_of_reach.unwrap() > 6e9, "{finding:#?}");
    assert!(!finding.remedy.text.contains("swap the"), "not with the graphics card: {}", finding.remedy.text);
    // Without the graphics card.
    let finding = gen1_slot().unplugged("/sys/devices/pci0000:00/0000:00:03.1").one("slot-limited");
    assert_eq!(finding.severity, Severity::High);
    assert!(finding.gain.bytes_per_second.unwrap() > 6e9, "{finding:#?}");
    assert_eq!(finding.remedy.text, "Move the drive to the free slot 0000:00:03.1 (Gen4 x16).");
}

#[test]
fn a_narrow_link_above_a_switch_is_named_for_a_single_drive() {
    // All drives but one are gone from the laboratory's switch, whose slot now has one lane of the third generation.
    let narrow = |machine: &mut iodyno::machine::Machine| {
        let switch = machine.pci.find(address("0000:21:00.0")).unwrap();
        let below = machine.pci.subtree(switch);
        let kept = machine.pci.find(address("0000:23:00.0")).unwrap();
        machine.drives.retain(|drive| drive.node.is_none_or(|at| at == kept || !below.contains(&at)));
        let port = machine.pci.node(switch).parent.unwrap();
        for (end, is_port) in [(port, true), (switch, false)] {
            let link = machine.pci.nodes[end.0].link.as_mut().unwrap();
            let (speed, width) = (TransferRate::from_mega(8_000).unwrap(), Lanes(1));
            link.speed = Reading::known("/test/current_link_speed", speed);
            link.width = Reading::known("/test/current_link_width", width);
            if is_port {
                link.max_speed = Reading::known("/test/max_link_speed", speed);
                link.max_width = Reading::known("/test/max_link_width", width);
            }
        }
    };
    let capture = include_str!("../fixtures/c-narrow-switch.capture");
    let capture = iodyno::source::capture::TextRoot::parse(capture).unwrap().into_capture();
    let finding = Scene::from(capture)
        .with(narrow)
        .look()
        .into_iter()
        .find(|finding| finding.id.0 == "slot-limited" && finding.title.contains("0000:21:00.0"))
        .unwrap();
    assert!(
        finding
            .title
            .ends_with("could do Gen4 x4, the link above switch 0000:21:00.0 gives Gen3 x1 (8 GT/s)"),
        "{finding:#?}"
    );
    assert_eq!(finding.subjects[0].name, "0000:21:00.0");
    assert!(finding.gain.text.contains("a faster slot would bring 5."), "{finding:#?}");
}

#[test]
fn a_link_with_impossible_values_is_not_judged() {
    for (file, text) in [
        ("current_link_speed", "Unknown"),
        ("current_link_width", "0"),
        ("max_link_width", "255"),
        ("max_link_speed", ""),
    ] {
        let scene = laptop().file(&format!("{LAPTOP_DRIVE}/{file}"), text);
        let machine = scene.machine();
        let node = machine.drives[0].node.unwrap();
        let link = machine.pci.node(node).link.as_ref().unwrap();
        // Configuration space may have the value that sysfs lacks.
        if link.speed.is_known()
            && link.width.is_known()
            && link.max_speed.is_known()
            && link.max_width.is_known()
        {
            continue;
        }
        assert_eq!(scene.severity("link-downtrained"), None, "{file} {text:?}");
    }
}

#[test]
fn half_the_lanes_cost_half_and_are_the_same_finding() {
    let scene = laptop()
        .file(&format!("{LAPTOP_DRIVE}/current_link_speed"), "16.0 GT/s PCIe")
        .file(&format!("{LAPTOP_PORT}/current_link_speed"), "16.0 GT/s PCIe")
        .file(&format!("{LAPTOP_DRIVE}/current_link_width"), "2")
        .file(&format!("{LAPTOP_PORT}/current_link_width"), "2");
    let finding = scene.one("link-downtrained");
    assert!(finding.title.contains("Gen4 x2 (16 GT/s)"), "{}", finding.title);
    assert_eq!(finding.subjects[0].kind, SubjectKind::Drive);
}

#[test]
fn many_drives_with_the_same_trouble_are_one_finding() {
    let scene = x570().files_ending(":00.0/current_link_speed", "8.0 GT/s PCIe");
    let scene = (1..=4).fold(scene, |scene, port| {
        scene.file(&format!("/sys/devices/pci0000:00/0000:00:03.{port}/current_link_speed"), "8.0 GT/s PCIe")
    });
    let found = scene.look();
    let about_drives: Vec<_> = Scene::of(&found, "link-downtrained")
        .into_iter()
        .filter(|finding| finding.subjects.iter().any(|subject| subject.kind == SubjectKind::Drive))
        .collect();
    assert_eq!(about_drives.len(), 1);
    assert_eq!(about_drives[0].subjects.len(), 4);
}

/// The x570's network card behind port 0000:02:05.0, and its graphics card in a x4 slot of the chipset.
const NETWORK: &str = "0000:06:00.0";

fn at(machine: &iodyno::machine::Machine, text: &str) -> usize {
    machine.pci.find(address(text)).unwrap().0
}

/// Speed and width now and at most of a function and the port above it.
fn trained(machine: &mut iodyno::machine::Machine, device: &str, now: (u8, u8), most: [(u8, u8); 2]) {
    let child = at(machine, device);
    let port = machine.pci.nodes[child].parent.unwrap().0;
    for (end, most) in [child, port].into_iter().zip(most) {
        let node = &mut machine.pci.nodes[end];
        let pair = |(code, lanes)| (TransferRate::from_code(code).unwrap(), Lanes(lanes));
        let link = node.link.as_mut().unwrap();
        link.speed = Reading::known("/test/current_link_speed", pair(now).0);
        link.width = Reading::known("/test/current_link_width", pair(now).1);
        link.max_speed = Reading::known("/test/max_link_speed", pair(most).0);
        link.max_width = Reading::known("/test/max_link_width", pair(most).1);
    }
}

fn about_device<'a>(
    found: &'a [iodyno::findings::Finding],
    id: &str,
    name: &str,
) -> Vec<&'a iodyno::findings::Finding> {
    let is_it = |finding: &&iodyno::findings::Finding| {
        finding.id.0 == id && finding.subjects.iter().any(|subject| subject.name == name)
    };
    found.iter().filter(is_it).collect()
}

#[test]
fn a_network_card_below_its_capability_is_downtrained() {
    let found = x570().with(|machine| trained(machine, NETWORK, (1, 4), [(3, 4), (4, 4)])).look();
    let [finding] = about_device(&found, "link-downtrained", NETWORK)[..] else { panic!("{found:#?}") };
    assert_eq!((finding.severity, finding.subjects[0].kind), (Severity::Warning, SubjectKind::Device));
    assert!(
        finding.title.ends_with("(0000:06:00.0): its link runs at Gen1 x4 (2.5 GT/s), could be Gen3 x4"),
        "{}",
        finding.title
    );
    assert!(finding.gain.text.contains("drives gain nothing") && finding.gain.bytes_per_second.is_none());
    assert!(finding.remedy.text.contains("registers do not show a fault"), "{}", finding.remedy.text);
    is_complete(finding);
    let as_adapter = x570().with(|machine| {
        trained(machine, NETWORK, (1, 4), [(3, 4), (4, 4)]);
        let card = at(machine, NETWORK);
        machine.pci.nodes[card].class = Reading::known("/test/class", 0x01_0700);
    });
    let found = as_adapter.look();
    let [finding] = about_device(&found, "link-downtrained", NETWORK)[..] else { panic!("{found:#?}") };
    assert!(finding.gain.text.contains("no drive is known behind it"), "{}", finding.gain.text);
    let healthy = x570().with(|machine| trained(machine, NETWORK, (3, 4), [(3, 4), (4, 4)])).look();
    assert!(about_device(&healthy, "link-downtrained", NETWORK).is_empty());
}

#[test]
fn an_idle_display_is_asleep_and_one_on_half_its_lanes_is_not() {
    const DISPLAY: &str = "0000:06:00.0";
    assert!(about_device(&laptop().look(), "link-downtrained", DISPLAY).is_empty());
    let found = laptop().with(|machine| trained(machine, DISPLAY, (1, 8), [(4, 16), (4, 16)])).look();
    let [finding] = about_device(&found, "link-downtrained", DISPLAY)[..] else { panic!("{found:#?}") };
    assert!(
        finding.title.ends_with("its link runs at x8, could be x16 (Gen1 (2.5 GT/s) while idle)"),
        "{}",
        finding.title
    );
    assert!(finding.evidence.iter().all(|proof| proof.path.ends_with("_width")), "{:#?}", finding.evidence);
}

#[test]
fn a_card_in_a_smaller_slot_is_named_with_its_slot_and_a_free_one() {
    let found = x570().look();
    let [card] = about_device(&found, "slot-limited", "0000:03:00.0")[..] else { panic!("{found:#?}") };
    assert!(
        card.title.contains("Radeon PRO W6600")
            && card.title.contains("could do Gen4 x8, the slot gives Gen4 x4"),
        "{}",
        card.title
    );
    assert_eq!(card.severity, Severity::Info);
    let found = x570()
        .with(|machine| {
            let port = at(machine, "0000:02:02.0");
            machine.pci.nodes[port].slot = Some(label("PCIEX16_3"));
        })
        .look();
    let [card] = about_device(&found, "slot-limited", "0000:03:00.0")[..] else { panic!("{found:#?}") };
    assert!(card.title.contains("slot PCIEX16_3 gives"), "{}", card.title);
}

#[test]
fn the_cap_of_a_card_is_reported_unless_it_is_that_of_an_idle_display() {
    fn cap(machine: &mut iodyno::machine::Machine, port: &str, code: u8) {
        let port = at(machine, port);
        machine.pci.nodes[port].express = machine.pci.nodes[port].express.clone().map(|mut express| {
            express.target_speed = TransferRate::from_code(code);
            express
        });
    }
    let found = x570()
        .with(|machine| {
            trained(machine, NETWORK, (1, 4), [(3, 4), (4, 4)]);
            cap(machine, "0000:02:05.0", 1);
        })
        .look();
    let [capped] = about_device(&found, "link-capped-by-software", NETWORK)[..] else { panic!("{found:#?}") };
    assert!(
        capped.title.contains("is capped at Gen1 (2.5 GT/s), both ends can do Gen3 (8 GT/s)"),
        "{}",
        capped.title
    );
    assert!(about_device(&found, "link-downtrained", NETWORK).is_empty(), "software asked for it");
    is_complete(capped);
    let display = |code: u8| {
        let scene = if code == 1 {
            laptop().with(|machine| cap(machine, "0000:00:03.1", 1))
        } else {
            laptop().with(|machine| cap(machine, "0000:00:03.1", 3))
        };
        about_device(&scene.look(), "link-capped-by-software", "0000:06:00.0").len()
    };
    assert_eq!((display(1), display(3)), (0, 1));
}

#[test]
fn errors_on_a_link_without_drives_are_counted() {
    let found = x570()
        .rates(|rates| {
            rates.aer.insert(address(NETWORK), 2.0);
        })
        .look();
    assert_eq!(about_device(&found, "link-errors", NETWORK).len(), 1, "{found:#?}");
}

#[test]
fn errors_of_both_ends_of_a_link_are_one_count() {
    let found = laptop().rates(|rates| {
        rates.aer.insert(address("0000:00:01.1"), 0.9);
        rates.aer.insert(address("0000:01:00.0"), 0.5);
    });
    let found = found.look();
    let errors: Vec<_> = found.iter().filter(|finding| finding.id.0 == "link-errors").collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].title.ends_with("1.4 correctable errors per second at both ends of its link together"));
    assert_eq!(errors[0].severity, Severity::Warning, "more than one together");
}

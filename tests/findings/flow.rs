//! One flow through the tree, with VMD, namespaces, functions, packet sizes and hypervisors.

use std::sync::LazyLock;

use iodyno::{
    capacity,
    findings::{Finding, SubjectKind},
    machine::{Drive, Machine},
    model::{DriveName, Limits, NodeIndex, PciAddress, Reading, Severity},
    text::Label,
    units::{Lanes, TransferRate},
};
use proptest::{collection::vec, prelude::*};

use super::scene::*;

fn total(machine: &Machine) -> f64 {
    total_of(machine, &capacity::limits(machine))
}

fn total_of(machine: &Machine, limits: &Limits) -> f64 {
    capacity::total(machine, limits).at_most_bytes_per_second.0
}

fn function(machine: &Machine, address: &str) -> NodeIndex {
    machine.pci.find(address.parse::<PciAddress>().unwrap()).unwrap()
}

/// Subjects and gain of a finding, without names of places.
fn gist(found: &[Finding]) -> Vec<(&str, Severity, Option<f64>)> {
    let others = ["behind-vmd-or-raid", "defaults"];
    let about_links = found.iter().filter(|finding| !others.contains(&finding.id.0));
    let gain = |finding: &Finding| finding.gain.bytes_per_second.map(f64::round);
    about_links.map(|finding| (finding.id.0, finding.severity, gain(finding))).collect()
}

#[test]
fn vmd_changes_no_total_and_no_gain() {
    for (plain, root, ports) in [
        (laptop(), "0000:00", &["01.1"][..]),
        (x570(), "0000:00", &["03.1", "03.2"]),
        (demo("threadripper-before"), "0000:40", &["01.1", "01.2", "01.3", "01.4"]),
    ] {
        let vmd = plain.clone().behind_vmd(root, ports);
        let (machine, behind) = (plain.machine(), vmd.machine());
        assert_eq!(behind.drive_count(), machine.drive_count());
        let far = |drive: &&Drive| drive.path.contains("pci10000:e0");
        assert_eq!(behind.hardware_drives().filter(far).count(), ports.len());
        assert!((total(&machine) - total(&behind)).abs() < 1.0, "{} and {}", total(&machine), total(&behind));
        assert_eq!(gist(&plain.look()), gist(&vmd.look()));
        assert!(!Scene::of(&vmd.look(), "behind-vmd-or-raid").is_empty());
        let limits = capacity::limits(&behind);
        let root = behind.pci.iter().find(|(_, node)| node.address.to_string() == root).unwrap().0;
        let before = capacity::limits(&machine);
        let same =
            machine.pci.iter().find(|(_, node)| node.address == behind.pci.node(root).address).unwrap().0;
        assert_eq!(limits.oversubscription.get(&root), before.oversubscription.get(&same));
    }
}

#[test]
fn a_link_that_trained_low_behind_vmd_wins_what_it_wins_without() {
    let low = laptop().behind_vmd("0000:00", &["01.1"]).one("link-downtrained");
    let gain = low.gain.bytes_per_second.unwrap();
    assert!((3.0e9..4.0e9).contains(&gain), "{gain}");
    assert_eq!(low.severity, Severity::High);
}

/// Adds namespaces to the first drive's controller.
fn namespaces(machine: &mut Machine, more: usize) {
    let first = machine.drives[0].clone();
    for number in 2..2 + more {
        let mut namespace = first.clone();
        namespace.name = DriveName::new(&first.name.as_str().replace("n1", &format!("n{number}")));
        machine.drives.insert(number - 1, namespace);
    }
}

#[test]
fn namespaces_of_one_controller_are_one_drive() {
    let plain = x570();
    let four = x570().with(|machine| namespaces(machine, 3));
    let machine = four.machine();
    assert_eq!((machine.hardware_drives().count(), machine.drive_count()), (7, 4));
    assert!((total(&machine) - total(&plain.machine())).abs() < 1.0);
    let alone = x570().with(|machine| {
        machine.drives.truncate(1);
        namespaces(machine, 3);
    });
    let found = alone.look();
    for id in ["oversubscribed-hop", "shared-root-complex", "slot-limited"] {
        assert!(Scene::of(&found, id).iter().all(|finding| !is_of_drives(finding)), "{id}: {found:#?}");
    }
    assert!(capacity::limits(&alone.machine()).oversubscription.values().all(|ratio| *ratio <= 1.0));
    let small = alone.with(|machine| {
        let node = machine.drives[0].node.unwrap();
        let mut express = *machine.pci.node(node).express.value().unwrap();
        express.read_request = Some(128);
        machine.pci.nodes[node.0].express = Reading::known("/config", express);
    });
    assert_eq!(small.one("read-request").title, "1 drive fetches less than 512 B at once");
}

#[test]
fn two_controllers_on_one_link_share_it() {
    // The second drive becomes another function of the first one's card.
    let two = |machine: &mut Machine| {
        let (first, second) = (function(machine, "0000:0a:00.0"), function(machine, "0000:0b:00.0"));
        let port = machine.pci.node(first).parent.unwrap();
        let other = machine.pci.node(second).parent.unwrap();
        machine.pci.nodes[other.0].children.clear();
        machine.pci.nodes[port.0].children.push(second);
        machine.pci.nodes[second.0].parent = Some(port);
    };
    let machine = x570().with(two).machine();
    let limits = capacity::limits(&machine);
    let link = limits.hop(function(&machine, "0000:0a:00.0")).unwrap().bytes_per_second.0;
    let three = total(&x570().machine()) * 3.0 / 4.0;
    assert!((total_of(&machine, &limits) / three - 1.0).abs() < 0.01, "three links for four drives");
    let finding = x570().with(two).one("oversubscribed-hop");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.subjects.len(), 3, "{finding:#?}");
    assert!((finding.gain.bytes_per_second.unwrap() / link - 1.0).abs() < 0.05, "{finding:#?}");
    // A link that carries the drives' rates is not oversubscribed, whatever the width of their links.
    let wide = x570().with(two).with(|machine| {
        let functions = ["0000:0a:00.0", "0000:0b:00.0"].map(|address| function(machine, address));
        let port = machine.pci.node(functions[0]).parent.unwrap();
        for at in [functions[0], functions[1], port] {
            run_at(machine, at, 5, 8);
        }
        for drive in &mut machine.drives {
            drive.model = Reading::known("/model", Label::new("Samsung SSD 980 PRO 1TB"));
        }
    });
    assert!(capacity::limits(&wide.machine()).oversubscription.values().any(|ratio| *ratio > 1.9));
    assert_eq!(wide.severity("oversubscribed-hop"), None);
    // Controllers of one drive, such as virtual functions, need no more than the drive.
    let same = x570().with(two).with(|machine| machine.drives[1].serial = machine.drives[0].serial.clone());
    assert_eq!(same.severity("oversubscribed-hop"), None);
}

#[test]
fn disks_of_one_host_adapter_do_not_want_its_link_each() {
    let disks = x570().with(|machine| {
        let adapter = machine.drives[0].node;
        for drive in &mut machine.drives {
            (drive.kind, drive.nvme, drive.node) = (iodyno::machine::DriveKind::Sata, None, adapter);
        }
    });
    assert_eq!(disks.severity("oversubscribed-hop"), None);
    let found = disks.look();
    assert!(Scene::of(&found, "slot-limited").iter().all(|finding| !is_of_drives(finding)), "{found:#?}");
}

/// Whether a finding is about a drive, unlike that of the graphics card in a smaller slot.
fn is_of_drives(finding: &Finding) -> bool {
    finding.subjects.iter().any(|subject| subject.kind == SubjectKind::Drive)
}

#[test]
fn emulated_drives_have_no_limit_of_a_link() {
    for change in [
        |machine: &mut Machine| set_ids(machine, 0x1b36, 0x1b36),
        |machine: &mut Machine| set_ids(machine, 0x8086, 0x1af4),
        |machine: &mut Machine| set_ids(machine, 0x1af4, 0x1af4),
    ] {
        let scene = laptop().with(change);
        let machine = scene.machine();
        let limits = capacity::limits(&machine);
        let node = machine.drives[0].node.unwrap();
        assert_eq!((limits.hop(node), limits.path(node)), (None, None));
        for id in ["link-downtrained", "slot-limited"] {
            assert_eq!(scene.severity(id), None, "{id}");
        }
    }
    let real = laptop().machine();
    assert!(capacity::limits(&real).path(real.drives[0].node.unwrap()).is_some());
}

fn set_ids(machine: &mut Machine, vendor: u16, subsystem: u16) {
    let node = machine.drives[0].node.unwrap();
    let node = &mut machine.pci.nodes[node.0];
    node.vendor = Reading::known("/test/vendor", vendor);
    node.subsystem = Reading::known("/test/subsystem_vendor", (subsystem, 1));
    machine.drives[0].model = Reading::known("/test/model", Label::new("QEMU NVMe Ctrl"));
}

/// The switch of the laboratory's machine, its uplink set to packets of 512 B above drives that send `sizes`.
fn switch_with_packets(sizes: &[u16]) -> (Machine, NodeIndex, Vec<NodeIndex>) {
    let text = include_str!("../fixtures/c-narrow-switch.capture");
    let root = iodyno::source::capture::TextRoot::parse(text).unwrap();
    let mut machine = Scene::from(root.into_capture()).machine();
    let uplink = function(&machine, "0000:21:00.0");
    let below = machine.pci.subtree(uplink);
    let drives: Vec<NodeIndex> =
        machine.drives.iter().filter_map(|drive| drive.node).filter(|at| below.contains(at)).collect();
    let mut set = |at: NodeIndex, payload: u16| {
        let node = &mut machine.pci.nodes[at.0];
        node.express = node
            .express
            .clone()
            .map(|express| iodyno::machine::Express { payload: Some(payload), ..express });
    };
    for at in below.iter().filter(|at| !drives.contains(at)) {
        set(*at, 512);
    }
    for (at, size) in drives.iter().zip(sizes.iter().cycle()) {
        set(*at, *size);
    }
    let port = machine.pci.node(uplink).parent.unwrap();
    let node = &mut machine.pci.nodes[port.0];
    node.express =
        node.express.clone().map(|express| iodyno::machine::Express { payload: Some(512), ..express });
    (machine, uplink, drives)
}

#[test]
fn an_uplink_carries_the_packets_of_the_drives_below_it() {
    let line = TransferRate::from_mega(16_000).unwrap().lane_bytes_per_second().0 * 8.0;
    let share = |payload: f64| payload / (payload + 24.0);
    for (sizes, expected) in [
        (&[128][..], share(128.0)),
        (&[256], share(256.0)),
        // Equal bytes of each: their times add up.
        (&[128, 512], 2.0 / (1.0 / share(128.0) + 1.0 / share(512.0))),
    ] {
        let (machine, uplink, drives) = switch_with_packets(sizes);
        let limits = capacity::limits(&machine);
        let limit = limits.hop(uplink).unwrap();
        // One of the four has two lanes: half of the others' part in the mixture.
        let tolerance = if sizes.len() > 1 { 0.02 } else { 1e-9 };
        let rate = limit.bytes_per_second.0 / line;
        assert!((rate - expected).abs() < tolerance, "{sizes:?}: {rate} and {expected}: {}", limit.because);
        assert!(limit.because.contains("of the drives below (set here: 512)"), "{}", limit.because);
        let below: f64 = capacity::total(&machine, &limits)
            .shares
            .iter()
            .filter(|(name, _)| drives.contains(&machine.drive(name).unwrap().node.unwrap()))
            .map(|(_, share)| share.bytes_per_second.0)
            .sum();
        assert!((below / line - expected).abs() < tolerance, "{sizes:?}: {}", below / line);
    }
}

static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
    let captures = [
        include_str!("../fixtures/c-narrow-switch.capture"),
        include_str!("../fixtures/a-shared-rc.capture"),
    ];
    let captures =
        captures.map(|text| iodyno::source::capture::TextRoot::parse(text).unwrap().into_capture());
    let scenes = captures.into_iter().map(Scene::from);
    scenes.chain([laptop(), x570(), demo("threadripper-before")]).map(|scene| scene.machine()).collect()
});

/// A machine whose links run at any speed and width.
fn machine() -> impl Strategy<Value = Machine> {
    let links =
        vec((any::<prop::sample::Index>(), 1_u8..6, prop::sample::select(vec![1_u8, 2, 4, 8, 16])), 0..12);
    (0..MACHINES.len(), links).prop_map(|(at, links)| {
        let mut machine = MACHINES[at].clone();
        for (node, code, lanes) in links {
            let at = NodeIndex(node.index(machine.pci.nodes.len()));
            run_at(&mut machine, at, code, lanes);
        }
        machine
    })
}

fn run_at(machine: &mut Machine, at: NodeIndex, code: u8, lanes: u8) {
    let ends = machine.pci.node(at).parent.into_iter().chain([at]);
    for end in ends.collect::<Vec<_>>() {
        if let Some(link) = &mut machine.pci.nodes[end.0].link {
            link.speed = Reading::known("/test", TransferRate::from_code(code).unwrap());
            link.width = Reading::known("/test", Lanes(lanes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_total_is_at_most_what_drives_and_any_cut_of_the_tree_carry(machine in machine()) {
        let limits = capacity::limits(&machine);
        let total = capacity::total(&machine, &limits);
        let drives: f64 = machine.hardware_drives().filter_map(|drive| limits.drive(&drive.name)).map(|l| l.bytes_per_second.0).sum();
        prop_assert!(total.at_most_bytes_per_second.0 <= drives * (1.0 + 1e-9));
        for place in capacity::flow::places(&machine, &limits) {
            let taken = |drive: &&Drive| {
                let share = total.shares.get(&drive.name).map_or(0.0, |share| share.bytes_per_second.0);
                share * drive.node.and_then(|at| place.share(at)).unwrap_or(0.0)
            };
            let through: f64 = place.drives(&machine).iter().map(taken).sum();
            prop_assert!(through <= place.limit.bytes_per_second.0 * (1.0 + 1e-9), "{place:?}: {through}");
        }
    }

    #[test]
    fn a_faster_link_never_makes_the_total_less(
        machine in machine(), at in any::<prop::sample::Index>(), code in 1_u8..5, lanes in prop::sample::select(vec![1_u8, 2, 4, 8]),
    ) {
        let at = NodeIndex(at.index(machine.pci.nodes.len()));
        let (mut slow, mut fast) = (machine.clone(), machine);
        run_at(&mut slow, at, code, lanes);
        run_at(&mut fast, at, code + 1, lanes * 2);
        prop_assert!(total(&fast) >= total(&slow) * (1.0 - 1e-9));
    }

    #[test]
    fn without_a_hop_the_total_is_never_less(machine in machine(), at in any::<prop::sample::Index>()) {
        let at = NodeIndex(at.index(machine.pci.nodes.len()));
        // Some drives have no known limit but their own link.
        prop_assume!(!machine.drives.iter().any(|drive| drive.node == Some(at)));
        let without = capacity::limits_without(&machine, &[at]);
        prop_assert!(total_of(&machine, &without) >= total(&machine) * (1.0 - 1e-9));
    }
}

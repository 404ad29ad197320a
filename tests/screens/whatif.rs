//! Hypothetical moves: no device is lost, moving back restores every limit, and the published move gains as
//! published.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Output},
    sync::LazyLock,
};

use iodyno::{
    capacity::{self, exchange, slots},
    findings::{self, Inputs},
    machine::{Machine, NodeKind, pci::NodeAddress},
    model::{DriveName, Limits, NodeIndex},
    source::{self, capture::TextRoot, demo},
    units::{TransferRate, UnitSystem},
    whatif::{self, Assumption, Move, Moved, Prediction},
};
use proptest::prelude::*;
use serde_json::Value;

const GIB: f64 = 1_073_741_824.0;

fn read(text: &str) -> Machine {
    source::read_machine(&TextRoot::parse(text).unwrap()).0
}

fn open(name: &str) -> Machine {
    read(&demo::find(name).unwrap().capture())
}

/// Every demo and every capture of the tests.
fn machines() -> Vec<(String, Machine)> {
    static ALL: LazyLock<Vec<(String, Machine)>> = LazyLock::new(read_all);
    ALL.clone()
}

fn read_all() -> Vec<(String, Machine)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut all: Vec<_> = demo::DEMOS.iter().map(|demo| (demo.name.to_owned(), open(demo.name))).collect();
    for folder in ["tests/fixtures", "examples"] {
        for entry in fs::read_dir(format!("{root}/{folder}")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "capture") {
                all.push((path.display().to_string(), read(&fs::read_to_string(&path).unwrap())));
            }
        }
    }
    assert!(all.len() >= 8, "demos and captures are found");
    all
}

fn predict(machine: &Machine, devices: &str, under: &str) -> Prediction {
    let asked = Move::parse(machine, devices, under).unwrap();
    whatif::predict(machine, &capacity::limits(machine), &asked, UnitSystem::Decimal).unwrap()
}

fn refused(machine: &Machine, devices: &str, under: &str) -> String {
    let asked = Move::parse(machine, devices, under);
    let moved = asked.and_then(|asked| whatif::move_devices(machine, &asked));
    moved.unwrap_err().to_string()
}

/// Limits of a machine by names that a move does not change: each drive's path and own limit, each root complex's.
fn abilities(machine: &Machine, limits: &Limits) -> BTreeMap<String, (Option<u64>, Option<u64>)> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are positive and far below 2^64"
    )]
    let whole = |rate: f64| rate as u64;
    let rate = |limit: Option<&iodyno::model::Limit>| limit.map(|limit| whole(limit.bytes_per_second.0));
    let drives = machine.hardware_drives().map(|drive| {
        let path = drive.node.and_then(|node| limits.path(node));
        (drive.name.to_string(), (rate(path), rate(limits.drive(&drive.name))))
    });
    let roots = machine.pci.roots().map(|root| {
        let busy = limits.oversubscription.get(&root).map(|ratio| whole(ratio * 1e9));
        (machine.pci.node(root).address.to_string(), (rate(limits.hop(root)), busy))
    });
    drives.chain(roots).collect()
}

/// All functions that are not ports, without their addresses, sorted; the drives' names.
fn inventory(machine: &Machine) -> (Vec<String>, Vec<DriveName>) {
    let is_port = |kind| matches!(kind, NodeKind::RootPort | NodeKind::SwitchDownstream);
    let mut functions: Vec<String> = machine
        .pci
        .nodes
        .iter()
        .filter(|node| !is_port(node.kind))
        .map(|node| {
            format!("{:?} {} {:?} {:?}", node.kind, node.name(), node.class.value(), node.subsystem.value())
        })
        .collect();
    functions.sort();
    let mut drives: Vec<_> = machine.drives.iter().map(|drive| drive.name.clone()).collect();
    drives.sort();
    (functions, drives)
}

/// Checks the tree: parents and children match, addresses are unique, parents come first.
fn is_a_tree(machine: &Machine, name: &str) {
    let tree = &machine.pci;
    let mut addresses = BTreeMap::new();
    for (index, node) in tree.iter() {
        assert_eq!(addresses.insert(node.address, index), None, "{name}: {} is there once", node.address);
        if let Some(parent) = node.parent {
            assert!(parent < index, "{name}: parents come first");
            let is_child = tree.node(parent).children.contains(&index);
            assert!(is_child || node.kind == NodeKind::RootComplex, "{name}: {}", node.address);
            assert!(node.path.starts_with(&*tree.node(parent).path), "{name}: {}", node.path);
        }
        assert!(node.children.iter().all(|child| tree.node(*child).parent == Some(index)), "{name}");
    }
    for drive in machine.hardware_drives() {
        if let Some(node) = drive.node {
            assert!(
                drive.path.starts_with(&*tree.node(node).path),
                "{name}: {} at {}",
                drive.name,
                drive.path
            );
        }
    }
}

fn places(machine: &Machine) -> Vec<NodeIndex> {
    let tree = &machine.pci;
    let is_place = |kind| kind != NodeKind::Endpoint && kind != NodeKind::Bridge;
    tree.iter().filter(|(_, node)| is_place(node.kind)).map(|(index, _)| index).collect()
}

/// All possible devices: plugged-in functions, and their ports.
fn movables(machine: &Machine) -> Vec<NodeIndex> {
    let tree = &machine.pci;
    let slots = slots::all(machine);
    let ports = slots.iter().flat_map(|slot| slot.ports.iter().copied());
    ports.flat_map(|port| tree.node(port).children.iter().copied().chain([port])).collect()
}

#[test]
fn moving_the_card_of_source_p_brings_what_was_published() {
    let machine = open("threadripper-before");
    let prediction = predict(&machine, "0000:41:00.0-0000:44:00.0", "0000:60");
    let (before, after) = (
        prediction.before.bytes_per_second.unwrap().0 / GIB,
        prediction.after.bytes_per_second.unwrap().0 / GIB,
    );
    assert!((before - 50.0).abs() < 0.5, "published about 50 GiB/s, predicted {before:.2}");
    let rates = prediction.changes.iter().flat_map(|change| [change.before, change.busy_before]).flatten();
    assert!(
        rates.clone().count() > 0 && rates.clone().all(|rate| rate.0.is_sign_positive()),
        "no rate is -0.0"
    );
    assert!((after - 66.0).abs() < 0.7, "published 66 GiB/s, predicted {after:.2}");
    let gone: Vec<_> = prediction.findings_gone.iter().map(|finding| finding.id.0).collect();
    assert_eq!(gone, ["shared-root-complex"]);
    assert!(prediction.findings_new.is_empty(), "{:?}", prediction.findings_new);
    let assumes = |text: &str| prediction.moved.assumptions.iter().any(|one| one.to_string().contains(text));
    for text in [
        "are on one card",
        "into x4x4x4x4",
        "Quadro P620 runs at Gen3 x16 (8 GT/s) under load; its link is at Gen1 (2.5 GT/s) while idle",
        "takes NVIDIA Quadro P620",
    ] {
        assert!(assumes(text), "{text}: {:#?}", prediction.moved.assumptions);
    }
}

#[test]
fn the_predicted_tree_is_the_one_that_was_published_after_the_move() {
    let (machine, after) = (open("threadripper-before"), open("threadripper-after"));
    let prediction = predict(&machine, "0000:41:00.0-0000:44:00.0", "0000:60");
    let then = &prediction.moved.then.machine;
    let shape = |machine: &Machine| -> Vec<(NodeAddress, NodeKind, String)> {
        machine.pci.nodes.iter().map(|node| (node.address, node.kind, node.name())).collect()
    };
    let (predicted, published) = (shape(then), shape(&after));
    // A dummy function that the article's first listing leaves out.
    let published: Vec<_> = published.into_iter().filter(|row| row.0.to_string() != "0000:40:01.0").collect();
    assert!(predicted == published, "addresses as lspci showed them afterwards: {predicted:?}");
    let limits = capacity::limits(&after);
    for (index, node) in then.pci.iter() {
        let rate = |limits: &Limits, index| limits.path(index).map(|limit| limit.bytes_per_second);
        let published = after.pci.iter().find(|(_, other)| other.address == node.address).unwrap().0;
        assert_eq!(rate(&prediction.limits, index), rate(&limits, published), "{}", node.address);
    }
    let total = |total: &capacity::Total| total.bytes_per_second.unwrap().0;
    assert!((total(&prediction.after) - total(&capacity::total(&after, &limits))).abs() < 1.0);
}

#[test]
fn the_finding_and_the_prediction_win_the_same() {
    let mut compared = 0;
    for (name, machine) in machines() {
        let limits = capacity::limits(&machine);
        let found = findings::check(&Inputs::at_rest(&machine, &limits));
        for finding in found.iter().filter(|finding| finding.id.0 == "shared-root-complex") {
            // `Swap the card that holds ... (4 drives behind FIRST[-LAST]) with ... in ROOT (NAME, port PORT).`
            let text = finding.remedy.text.split_once(" behind ").unwrap().1;
            let (ports, rest) = text.split_once(')').unwrap();
            let (place, port) = rest.rsplit_once("port ").unwrap();
            let root = place.split_once(" (").unwrap().0.rsplit_once(' ').unwrap().1;
            let prediction = predict(&machine, ports, root);
            let port = port.trim_end_matches(").");
            assert_eq!(prediction.gain().is_some(), finding.gain.bytes_per_second.is_some(), "{name}");
            let difference = prediction.gain().unwrap_or(0.0) - finding.gain.bytes_per_second.unwrap_or(0.0);
            assert!(difference.abs() < 1.0, "{name}: {difference}");
            let to = prediction.moved.assumptions.iter().find_map(|one| match one {
                Assumption::SlotTakes { port, .. } => Some(port.clone()),
                _ => None,
            });
            assert_eq!(to.as_deref(), Some(port), "{name}: the same slot");
            compared += 1;
        }
    }
    assert!(compared >= 2, "the demo's and a capture's");
}

#[test]
fn a_slower_slot_halves_a_drive_as_published() {
    let machine = open("threadripper-before");
    let prediction = predict(&machine, "0000:20:01.1", "gen3");
    let share = &prediction.after.shares[&DriveName::new("nvme8n1")];
    let published = 3.5e9;
    assert!((share.bytes_per_second.0 / published - 1.0).abs() < 0.05, "{share:?}");
    assert!(prediction.findings_new.iter().any(|finding| finding.id.0 == "slot-limited"));
    assert_eq!(prediction.moved.moved.len(), 1, "a port gives what is plugged into it alone");
    let both = predict(&machine, "0000:41:00.0", "0000:60@gen3");
    let paths = ["nvme0n1", "nvme3n1"].map(|name| {
        let drive = both.moved.then.machine.drive(&DriveName::new(name)).unwrap();
        both.limits.path(drive.node.unwrap()).unwrap().because.clone()
    });
    assert_eq!(
        paths,
        ["Gen3 x4 (8 GT/s) at MPS 256, port 0000:60:03.1", "Gen3 x4 (8 GT/s) at MPS 256, port 0000:60:03.4"]
    );
    let up = predict(&machine, "nvme8n1", "gen5");
    assert!(up.changes.is_empty(), "the drive itself does 16 GT/s: {:?}", up.changes);
}

#[test]
fn every_move_keeps_every_device_and_moving_back_restores_every_limit() {
    let mut moves = 0;
    for (name, machine) in machines() {
        let limits = capacity::limits(&machine);
        let today = abilities(&machine, &limits);
        for device in movables(&machine) {
            for under in places(&machine) {
                let asked = Move { devices: vec![device], under: Some(under), speed: None };
                let Ok(moved) = whatif::move_devices(&machine, &asked) else { continue };
                let case = format!(
                    "{name}: {} under {}",
                    machine.pci.node(device).address,
                    machine.pci.node(under).address
                );
                check_one(&machine, &moved, &case);
                let back = moved_back(&machine, &moved, &case);
                // A downtrained link with a lower cap in between loses its old state.
                let is_low = moved.assumptions.iter().any(|one| match one {
                    Assumption::StaysLow { what, .. } => today.contains_key(what),
                    _ => false,
                });
                if !is_low {
                    assert_eq!(abilities(&back, &capacity::limits(&back)), today, "{case}, and back");
                }
                moves += 1;
            }
        }
    }
    assert!(moves > 500, "{moves} moves are possible");
}

fn check_one(machine: &Machine, moved: &Moved, case: &str) {
    let then = &moved.then.machine;
    is_a_tree(then, case);
    assert_eq!(inventory(then), inventory(machine), "{case}");
    let limits = capacity::limits(then);
    let total = capacity::total(then, &limits);
    let sum: f64 = then
        .hardware_drives()
        .filter_map(|drive| limits.drive(&drive.name).map(|limit| limit.bytes_per_second.0))
        .sum();
    assert!(total.at_most_bytes_per_second.0 <= sum * (1.0 + 1e-9), "{case}: more than the drives' limits");
    assert!(moved.moved.iter().all(|node| !moved.displaced.contains(node)), "{case}");
    if moved.displaced.is_empty() && moved.then == exchange::Exchanged::nothing(machine) {
        return;
    }
    assert!(moved.assumptions.iter().any(|one| matches!(one, Assumption::SlotTakes { .. })), "{case}");
}

/// Moves the devices back to their port.
fn moved_back(machine: &Machine, moved: &Moved, case: &str) -> Machine {
    let then = &moved.then;
    let tops: Vec<NodeIndex> = moved
        .moved
        .iter()
        .copied()
        .filter(|node| machine.pci.node(*node).parent.is_none_or(|above| !moved.moved.contains(&above)))
        .collect();
    let port = then.now(machine.pci.node(tops[0]).parent.unwrap()).unwrap();
    let ports: Vec<NodeIndex> =
        tops.iter().map(|top| then.machine.pci.node(then.now(*top).unwrap()).parent.unwrap()).collect();
    // A card moves back as a card; devices that moved alone move back alone.
    let devices = if moved.assumptions.iter().any(|one| matches!(one, Assumption::OneCard { .. })) {
        tops.iter().map(|top| then.now(*top).unwrap()).collect()
    } else {
        ports
    };
    let asked = Move { devices, under: Some(port), speed: None };
    let back = whatif::move_devices(&then.machine, &asked)
        .unwrap_or_else(|error| panic!("{case}, and back: {error}"));
    back.then.machine
}

#[test]
fn moving_to_where_it_is_changes_nothing() {
    for (name, machine) in machines() {
        for device in movables(&machine) {
            let tree = &machine.pci;
            let port = if slots::is_slot(tree, device) { device } else { tree.node(device).parent.unwrap() };
            if tree.node(port).children.is_empty() {
                continue;
            }
            for under in [port, tree.root_of(port)] {
                let asked = Move { devices: vec![device], under: Some(under), speed: None };
                let moved = whatif::move_devices(&machine, &asked).unwrap();
                assert_eq!(moved.then.machine, machine, "{name}: {}", tree.node(device).address);
                assert!(moved.displaced.is_empty());
            }
        }
    }
}

#[test]
fn cards_switches_and_sockets_are_told_apart() {
    let machine = open("threadripper-before");
    let moved = |devices: &str, under: &str| {
        let asked = Move::parse(&machine, devices, under).unwrap();
        let moved = whatif::move_devices(&machine, &asked).unwrap();
        let names = |nodes: &[NodeIndex]| -> Vec<String> {
            nodes.iter().map(|node| machine.pci.node(*node).address.to_string()).collect()
        };
        (names(&moved.moved).join(" "), names(&moved.displaced).join(" "))
    };
    let card = "0000:41:00.0 0000:42:00.0 0000:43:00.0 0000:44:00.0";
    let gpu = "0000:61:00.0 0000:61:00.1";
    assert_eq!(moved("42:00.0", "0000:60"), (card.into(), gpu.into()), "a drive takes its card along");
    assert_eq!(moved("nvme1n1", "0000:60:03.1"), (card.into(), gpu.into()));
    assert_eq!(
        moved("0000:40:01.2", "0000:60"),
        ("0000:42:00.0".into(), gpu.into()),
        "a port gives its own alone"
    );
    assert_eq!(
        moved("0000:61:00.0", "0000:40:01.3"),
        (gpu.into(), card.into()),
        "a wide card needs the whole slot"
    );
    assert_eq!(moved("0000:21:00.0", "0000:40:01.3"), ("0000:21:00.0".into(), "0000:43:00.0".into()));
    assert_eq!(
        moved("0000:21:00.0,0000:22:00.0", "0000:60"),
        ("0000:21:00.0 0000:22:00.0".into(), gpu.into()),
        "two neighbours that are named together are a card"
    );
    let switches = read(
        &fs::read_to_string(format!("{}/tests/fixtures/d-stock-qemu.capture", env!("CARGO_MANIFEST_DIR")))
            .unwrap(),
    );
    let asked = Move::parse(&switches, "0000:27:00.0", "0000:20:01.0").unwrap();
    let card = whatif::move_devices(&switches, &asked).unwrap();
    assert_eq!(card.moved.len(), 5, "a switch, its two ports and both drives");
    assert!(card.assumptions.iter().any(|one| matches!(one, Assumption::SwitchCard { .. })));
    let asked = Move::parse(&switches, "0000:26:00.0", "0000:20:01.0").unwrap();
    assert_eq!(
        whatif::move_devices(&switches, &asked).unwrap().moved.len(),
        1,
        "a port of the switch gives one drive"
    );
}

#[test]
fn a_root_complex_of_unknown_limit_makes_the_total_unknown() {
    let (_, machine) = machines().into_iter().find(|(name, _)| name.contains("fixtures/a-shared")).unwrap();
    let prediction = predict(&machine, "0000:21:00.0", "0000:a0");
    assert_eq!(
        (prediction.before.bytes_per_second, prediction.before.basis, prediction.gain()),
        (None, None, None)
    );
    assert!(prediction.before.because.contains("0000:20"), "{}", prediction.before.because);
    // With a measurement its limit is known, and others of its kind take it.
    let mut machine = machine;
    let root = machine.pci.roots().nth(1).unwrap();
    let node = machine.pci.node(root);
    let bridge = node.vendor.get().zip(node.device.get());
    if bridge.is_none() {
        let nodes: Vec<NodeIndex> = machine.pci.roots().collect();
        for root in nodes {
            machine.pci.nodes[root.0].vendor = iodyno::model::Reading::known("vendor", 0x8086);
            machine.pci.nodes[root.0].device = iodyno::model::Reading::known("device", 0x2020);
        }
    }
    let node = machine.pci.node(root);
    machine.measured.push(iodyno::machine::Measured::RootComplex(iodyno::machine::MeasuredLimit {
        root_complex: node.address,
        bridge: node.vendor.get().zip(node.device.get()).unwrap(),
        bytes_per_second: iodyno::units::BytesPerSecond(30e9),
        run: iodyno::text::Label::new("8 drives, 1m randread"),
    }));
    let prediction = predict(&machine, "0000:21:00.0", "0000:a0");
    let gain = prediction.gain().unwrap();
    assert!((gain - 6.63e9).abs() < 0.1e9, "{gain}: the eighth drive reads beside the other seven");
    assert!(prediction.after.because.contains("30.0 GB/s"), "{}", prediction.after.because);
}

#[test]
fn impossible_moves_are_refused_in_one_line_with_a_fix() {
    let machine = open("threadripper-before");
    for (devices, under, line) in [
        (
            "0000:99:00.0",
            "0000:60",
            "--move 0000:99:00.0: no such device on this machine; devices in slots: \
          0000:01:00.0, 0000:21:00.0, 0000:22:00.0, 0000:41:00.0 and 2 more",
        ),
        (
            "0000:4b:00.0",
            "0000:60",
            "--move 0000:4b:00.0: no such device on this machine; did you mean 0000:41:00.0? devices in slots: 0000:01:00.0, 0000:21:00.0, 0000:22:00.0, 0000:41:00.0 and 2 more",
        ),
        (
            "0000:44:00.0-0000:41:00.0",
            "0000:60",
            "--move 0000:44:00.0-0000:41:00.0: the range ends before it begins; write it in bus \
          order, 0000:41:00.0-0000:44:00.0",
        ),
        (
            "0000:40",
            "0000:60",
            "--move 0000:40: a root complex is part of the CPU; name a drive, a card or a port below it",
        ),
        (
            "0000:49:00.0",
            "0000:60",
            "--move 0000:49:00.0: it is in no slot: part of the CPU, the chipset or the board; devices in slots: 0000:01:00.0, 0000:21:00.0, 0000:22:00.0, 0000:41:00.0 and 2 more",
        ),
        (
            "0000:41:00.0",
            "0000:80",
            "--under 0000:80: no such place on this machine; did you mean 0000:00? name a root complex \
          (0000:00, 0000:20, 0000:40, 0000:60), a switch, a port, or a slot's speed as gen3",
        ),
        (
            "0000:41:00.0",
            "gen9",
            "--under gen9: no such place on this machine; name a root complex (0000:00, 0000:20, 0000:40, \
          0000:60), a switch, a port, or a slot's speed as gen3",
        ),
        (
            "0000:41:00.0",
            "0000:60@gen7",
            "--under 0000:60@gen7: not a PCI Express generation; write gen1 to gen6 behind the @, gen3 \
          for 8 GT/s",
        ),
        (
            "0000:41:00.0",
            "0000:61:00.0",
            "--under 0000:61:00.0: it is a device, not a slot; name its port, 0000:60:03.1, to \
          swap with it",
        ),
        (
            "0000:41:00.0",
            "0000:20",
            "--under 0000:20: its widest slot, 0000:20:01.1, has 4 lanes and the card needs 16; use 0000:40, \
          0000:60",
        ),
        (
            "0000:41:00.0",
            "0000:20:01.1",
            "--under 0000:20:01.1: the slot has 4 lanes and the card needs 16: some of its drives would \
          not appear; name another port, or a root complex to search for its best slot",
        ),
        (
            "0000:21:00.0,0000:41:00.0",
            "0000:60:03.1",
            "--under 0000:60:03.1: it is one slot for 2 cards; name a \
          root complex or a switch, or move one at a time",
        ),
        (
            "",
            "0000:60",
            "--move : no address; devices in slots: 0000:01:00.0, 0000:21:00.0, 0000:22:00.0, 0000:41:00.0 \
          and 2 more",
        ),
    ] {
        assert_eq!(refused(&machine, devices, under), line);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_sequence_of_moves_keeps_every_device(
        which in any::<prop::sample::Index>(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::option::of(1_u8..6)), 1..6),
    ) {
        let machines = machines();
        let (name, machine) = &machines[which.index(machines.len())];
        let mut now = machine.clone();
        for (device, under, speed) in steps {
            let (movables, places) = (movables(&now), places(&now));
            prop_assume!(!movables.is_empty());
            let asked = Move {
                devices: vec![movables[device.index(movables.len())]],
                under: Some(places[under.index(places.len())]),
                speed: speed.and_then(TransferRate::from_code),
            };
            if let Ok(moved) = whatif::move_devices(&now, &asked) {
                is_a_tree(&moved.then.machine, name);
                now = moved.then.machine;
            }
        }
        prop_assert_eq!(inventory(&now), inventory(machine));
    }

    #[test]
    fn no_words_make_it_panic(devices in "[0-9a-f:.,@-]{0,30}|\\PC{0,20}", under in "[0-9a-f:.@gen]{0,20}|\\PC{0,20}") {
        let machine = open("laptop");
        if let Ok(moved) = Move::parse(&machine, &devices, &under).and_then(|asked| whatif::move_devices(&machine, &asked)) {
            prop_assert_eq!(moved.then.machine.drives.len(), machine.drives.len());
        }
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iodyno")).args(arguments).output().unwrap()
}

#[test]
fn the_document_has_the_fields_scripts_rely_on() {
    let output = run(&[
        "whatif",
        "--demo",
        "threadripper-before",
        "--move",
        "0000:41:00.0-0000:44:00.0",
        "--under",
        "0000:60",
        "--json",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((document["schema"].as_u64(), document["under"].as_str()), (Some(1), Some("0000:60")));
    assert_eq!(document["moved"].as_array().unwrap().len(), 4);
    assert_eq!(document["displaced"], serde_json::json!(["0000:61:00.0", "0000:61:00.1"]));
    assert!(document["assumes"].as_array().unwrap().iter().all(Value::is_string));
    for side in ["before", "after"] {
        assert!(document[side]["bytes_per_second"].as_f64().unwrap() > 50e9, "{side}");
        assert_eq!(document[side]["basis"], "published");
        assert!(document[side]["because"].as_str().unwrap().contains("Poder 2021"));
    }
    assert_eq!(document["findings_gone"][0]["id"], "shared-root-complex");
    assert_eq!(document["findings_new"], serde_json::json!([]));
    let roots = document["tree"]["root_complexes"].as_array().unwrap();
    let sixty = roots.iter().find(|root| root["address"] == "0000:60").unwrap();
    assert!(sixty.to_string().contains("nvme3n1"));
    let moved = document["addresses"].as_array().unwrap();
    assert!(moved.contains(&serde_json::json!({"today": "0000:44:00.0", "then": "0000:64:00.0"})));
}

#[test]
fn the_command_works_on_captures_and_names_unknown_limits() {
    let capture = format!("{}/tests/fixtures/a-shared-rc.capture", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["whatif", "--open", &capture, "--move", "0000:21:00.0", "--under", "0000:a0"];
    let text = String::from_utf8(run(&arguments).stdout).unwrap();
    assert!(text.starts_with("what if nvme2n1 (0000:21:00.0) were under 0000:a0\n"), "{text}");
    assert!(text.contains("gain     unknown"), "{text}");
    let document: Value =
        serde_json::from_slice(&run(&[&arguments[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(document["before"]["bytes_per_second"], Value::Null);
    let problems = document["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem["path"] == "before"), "null has its reason");
    let wrong = run(&["whatif", "--demo", "--move", "0000:49:00.0", "--under", "0000:60"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&wrong.stderr).starts_with("iodyno: --move 0000:49:00.0: it is in no slot")
    );
}

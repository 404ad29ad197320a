//! What is read of laboratory machines and of this one, against what lspci says of them.

use std::{collections::BTreeSet, process::Command};

use crate::skip::skipped;
use iodyno::{
    machine::{NodeKind, PciNode, PciTree, pci::NodeAddress},
    model::{PciAddress, Problem},
    source::{SysRoot, capture::TextRoot, config_space::ConfigSpace, pci, read_machine, root::LiveRoot},
    units::{Lanes, TransferRate},
};

fn read(root: &dyn SysRoot) -> (PciTree, Vec<Problem>) {
    pci::read(root)
}

fn node<'a>(tree: &'a PciTree, address: &str) -> &'a PciNode {
    tree.iter().find(|(_, node)| node.address.to_string() == address).expect(address).1
}

/// The laboratory machines: a capture of the files, and what lspci 3.9 said in the same machine.
const LABORATORY: [(&str, &str, &str); 4] = [
    (
        include_str!("../fixtures/a-shared-rc.capture"),
        include_str!("../fixtures/a-shared-rc.lspci-tv.txt"),
        include_str!("../fixtures/a-shared-rc.lspci-vvv-xxxx.txt"),
    ),
    (
        include_str!("../fixtures/d-stock-qemu.capture"),
        include_str!("../fixtures/d-stock-qemu.lspci-tv.txt"),
        include_str!("../fixtures/d-stock-qemu.lspci-vvv-xxxx.txt"),
    ),
    (
        include_str!("../fixtures/lab-switch.capture"),
        include_str!("../fixtures/lab-switch.lspci-tv.txt"),
        include_str!("../fixtures/lab-switch.lspci-vvv-xxx.txt"),
    ),
    (
        include_str!("../fixtures/lab-desktop.capture"),
        include_str!("../fixtures/lab-desktop.lspci-tv.txt"),
        include_str!("../fixtures/lab-desktop.lspci-vvv-xxx.txt"),
    ),
];

#[test]
fn laboratory_machines_have_the_tree_of_lspci_tv() {
    for (capture, tree_of_lspci, _) in LABORATORY {
        let (tree, problems) = read(&TextRoot::parse(capture).unwrap());
        assert_eq!(problems, []);
        let ours: Vec<String> = tree
            .iter()
            .map(|(_, node)| match node.address {
                NodeAddress::Root { .. } => format!("[{}]", node.address),
                NodeAddress::Device(address) => format!("{:02x}.{}", address.device, address.function),
            })
            .collect();
        assert_eq!(ours, lspci_tv(tree_of_lspci));
        for (_, node) in tree.iter().filter(|(_, node)| node.buses.is_some()) {
            let (first, last) = node.buses.unwrap();
            let shown = if first == last {
                format!("-[{first:02x}]-")
            } else {
                format!("-[{first:02x}-{last:02x}]-")
            };
            assert!(tree_of_lspci.contains(&shown), "{shown}");
        }
    }
}

/// Root complexes as `[0000:20]` and devices as `04.0`, in the order of lspci's picture.
fn lspci_tv(picture: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in picture.lines() {
        // Two blanks behind a device lead to its name; an empty port ends the line.
        let mut blanks = line.match_indices("  ").map(|(at, _)| &line[..at]);
        let drawn = blanks.find(|before| before.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(line);
        for word in drawn.split(|c: char| !c.is_ascii_hexdigit() && !".:[]".contains(c)) {
            let is_root = word.starts_with('[') && word.ends_with(']') && word.contains(':');
            let is_device = word.len() == 4 && word.as_bytes()[2] == b'.' && !word.starts_with('[');
            if is_root || is_device {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// lspci's record of one device: its lines of words, and the bytes it dumped.
fn records(text: &str) -> Vec<(String, String, Vec<u8>)> {
    text.split("\n\n")
        .filter(|record| !record.trim().is_empty())
        .map(|record| {
            let address = record.split(' ').next().unwrap().to_owned();
            let bytes = record
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(at, _)| !at.starts_with('\t') && at.len() <= 3)
                .flat_map(|(_, hex)| hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()))
                .collect();
            (address, record.to_owned(), bytes)
        })
        .collect()
}

#[test]
fn registers_are_decoded_as_lspci_decodes_them() {
    let mut compared = 0;
    for (_, _, text) in LABORATORY {
        for (address, words, bytes) in records(text) {
            let express = ConfigSpace::new(&bytes).unwrap().express();
            let words = words.replace(" (downgraded)", "").replace(" (overdriven)", "").replace(" (ok)", "");
            let Some(line) = words.lines().find(|line| line.contains("] Express (")) else {
                assert!(express.is_err(), "{address}");
                continue;
            };
            let express = express.unwrap();
            compared += 1;
            let kind = match express.port_type.unwrap() {
                0 => "Endpoint",
                4 => "Root Port",
                5 => "Upstream Port",
                6 => "Downstream Port",
                9 => "Root Complex Integrated Endpoint",
                other => panic!("{address}: type {other}"),
            };
            assert!(line.contains(kind), "{address}: {line}");
            assert_eq!(Some(line.contains("(Slot+)")), express.slot_implemented, "{address}: {line}");
            let says = |part: String| assert!(words.contains(&part), "{address}: {part:?} in\n{words}");
            let sign = |on: Option<bool>| if on.unwrap() { '+' } else { '-' };
            let number = |size: Option<u16>| size.unwrap();
            says(format!(
                "MaxPayload {} bytes, MaxReadReq {} bytes",
                number(express.payload),
                number(express.read_request)
            ));
            says(format!("MaxPayload {} bytes, PhantFunc", number(express.payload_supported)));
            says(format!("RlxdOrd{} ExtTag{}", sign(express.relaxed_ordering), sign(express.extended_tags)));
            if let Some(speed) = express.max_speed {
                says(format!("Speed {}GT/s, Width x{}", speed.gts(), express.max_width.unwrap()));
            }
            if let Some(speed) = express.speed {
                says(format!("LnkSta:\tSpeed {}GT/s, Width x{}", speed.gts(), express.width.unwrap()));
            }
            if let Some(speed) = express.target_speed {
                says(format!("Target Link Speed: {}GT/s", speed.gts()));
            }
        }
    }
    assert!(compared >= 35, "{compared}");
}

#[test]
fn laboratory_machines_say_what_their_links_say() {
    let (capture, ..) = LABORATORY[1];
    let (tree, _) = read(&TextRoot::parse(capture).unwrap());
    let port = node(&tree, "0000:26:00.0");
    assert_eq!(port.kind, NodeKind::SwitchDownstream);
    let link = port.link.as_ref().unwrap();
    assert_eq!(link.speed.get(), TransferRate::from_mega(2500));
    assert_eq!(&*link.max_speed.problem().unwrap().reason, "\"Unknown\": not a PCI Express link speed");
    assert_eq!(&*link.max_width.problem().unwrap().reason, "0 lanes: no link is up");
    let (capture, ..) = LABORATORY[0];
    let (tree, _) = read(&TextRoot::parse(capture).unwrap());
    let card = node(&tree, "0000:a1:00.0").link.as_ref().unwrap();
    assert_eq!((card.speed.get(), card.width.get()), (TransferRate::from_mega(2500), Some(Lanes(16))));
    assert_eq!(node(&tree, "0000:a0").numa_node.get(), Some(Some(1)));
    assert_eq!(node(&tree, "0000:00").numa_node.get(), Some(None), "-1 is no node, and normal");
}

#[test]
fn laboratory_machines_are_read_whole() {
    for (capture, drives) in [(LABORATORY[0].0, 10), (LABORATORY[1].0, 6)] {
        let (machine, _) = read_machine(&TextRoot::parse(capture).unwrap());
        assert_eq!(machine.hardware_drives().count(), drives);
        assert_eq!(machine.processors.count(), 4);
        assert!(machine.host.kernel.is_known());
        assert!(machine.host.memory.is_known());
    }
}

#[test]
fn this_machine_has_the_devices_that_lspci_tells() {
    let Ok(lspci) = Command::new("lspci").arg("-D").output() else {
        eprintln!("no lspci here: nothing to compare with");
        return;
    };
    let told: BTreeSet<String> = String::from_utf8_lossy(&lspci.stdout)
        .lines()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    let (tree, problems) = read(&LiveRoot::new());
    let read: BTreeSet<String> = tree
        .iter()
        .filter(|(_, node)| matches!(node.address, NodeAddress::Device(_)))
        .map(|(_, node)| node.address.to_string())
        .collect();
    assert_eq!(read, told);
    assert_eq!(problems, []);
}

/// The functions in the rows of `iodyno tree`, in its order.
fn functions_of_tree(origin: &[&str]) -> Vec<String> {
    let tree =
        Command::new(env!("CARGO_BIN_EXE_iodyno")).args(["tree", "--all"]).args(origin).output().unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    let address = |line: &str| {
        line.split_whitespace().find(|word| word.parse::<PciAddress>().is_ok()).map(str::to_owned)
    };
    text.lines().filter_map(address).collect()
}

/// The functions lspci lists, one a paragraph or one a line.
fn functions_of_lspci(text: &str) -> Vec<String> {
    let address = |line: &str| {
        let word = line.split_whitespace().next().filter(|_| !line.starts_with(char::is_whitespace))?;
        let full = if word.len() > 7 { word.to_owned() } else { format!("0000:{word}") };
        full.parse::<PciAddress>().is_ok().then_some(full)
    };
    text.lines().filter_map(address).collect()
}

#[test]
fn the_tree_has_a_row_for_every_function_lspci_lists() {
    let sorted = |mut functions: Vec<String>| {
        functions.sort();
        functions
    };
    for name in ["a-shared-rc", "d-stock-qemu"] {
        let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        let listed =
            functions_of_lspci(&std::fs::read_to_string(format!("{path}.lspci-vvv-xxxx.txt")).unwrap());
        assert!(listed.len() >= 20, "{name}: {}", listed.len());
        let rows = functions_of_tree(&["--open", &format!("{path}.capture")]);
        assert_eq!(sorted(rows), sorted(listed), "{name}");
    }
    match Command::new("lspci").arg("-D").output() {
        Ok(lspci) if lspci.status.success() && !lspci.stdout.is_empty() => {
            assert_eq!(
                sorted(functions_of_tree(&[])),
                sorted(functions_of_lspci(&String::from_utf8(lspci.stdout).unwrap()))
            );
        }
        _ => skipped("there is no lspci here, or no PCI bus, to compare with"),
    }
}

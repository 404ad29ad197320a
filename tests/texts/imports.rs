//! Opened texts of lspci: real ones from lists, trackers and forums, damaged ones, hostile ones.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use iodyno::{
    machine::{Machine, NodeKind, PciNode, pci::NodeAddress},
    model::PciAddress,
    source::{SysRoot, import, read_machine},
};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/listings")
}

/// Names and contents of the real texts.
fn texts() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name != "README.md" {
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

pub fn text(name: &str) -> String {
    String::from_utf8(fs::read(folder().join(name)).unwrap()).unwrap()
}

pub fn machine(content: impl AsRef<[u8]>) -> Machine {
    read_machine(&import::read(content.as_ref()).unwrap().expect("a listing")).0
}

fn functions(machine: &Machine) -> usize {
    machine.pci.iter().filter(|(_, node)| matches!(node.address, NodeAddress::Device(_))).count()
}

pub fn node<'a>(machine: &'a Machine, address: &str) -> &'a PciNode {
    let address = NodeAddress::Device(address.parse().unwrap());
    machine.pci.iter().find(|(_, node)| node.address == address).unwrap().1
}

#[test]
fn names_that_mails_wrapped_are_whole() {
    let name = |file: &str, address: &str| {
        let machine = machine(text(file));
        node(&machine, address).names.device.as_ref().unwrap().to_string()
    };
    assert_eq!(name("mail-xps-thunderbolt-wrapped.txt", "0000:00:02.0"), "Raptor Lake-P [Iris Xe Graphics]");
    assert_eq!(name("mail-power9-domains-qp.txt", "0000:01:00.0"), "Turks XT [Radeon HD 6670/7670]");
    let usb = name("mail-power9-domains-qp.txt", "0003:01:00.0");
    assert_eq!(usb, "TUSB73x0 SuperSpeed USB 3.0 xHCI Host Controller");
    let pasted = machine(text("mail-visionfive2-wrapped-vvv.txt")).pasted.unwrap();
    assert!(pasted.unused.iter().all(|line| line.line != 8), "the third line of a name: {:?}", pasted.unused);
}

#[test]
fn names_are_the_words_of_the_text() {
    let named = |file: &str, address: &str| node(&machine(text(file)), address).name();
    assert_eq!(named("riscv-k3-vv.md", "0000:00:00.0"), "SpacemiT Device 0002");
    let drive = named("riscv-k3-vv.md", "0000:01:00.0");
    assert_eq!(drive, "Silicon Motion, Inc. SM2263EN/SM2263XT (DRAM-less) NVMe SSD Controllers");
    // An older list of ids has another name.
    let old = "01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller [144d:a80a]\n";
    assert_eq!(node(&machine(old), "0000:01:00.0").name(), "Samsung Electronics Co Ltd NVMe SSD Controller");
    let numbers = "01:00.0 0108: 144d:a80a\n";
    let listed = node(&machine(numbers), "0000:01:00.0").name();
    assert_eq!(listed, "Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO");
}

#[test]
fn an_adapter_that_a_drawing_names_raid_controller_is_no_drive() {
    let machine = machine(text("server-esc8000a-carrier-board.md"));
    let drives: Vec<_> = machine.drives.iter().map(|drive| drive.name.to_string()).collect();
    assert_eq!(drives.len(), 17, "{drives:?}");
    for address in ["0000:71:00.0", "0000:b1:00.0", "0000:e2:00.0"] {
        assert_eq!(node(&machine, address).class.get(), Some(0x01_04_00), "{address}");
    }
}

/// Each function with its parent, links, ids and name, without places in the text.
pub fn outline(machine: &Machine) -> Vec<String> {
    let row = |node: &PciNode| {
        let link = node
            .link
            .as_ref()
            .map(|link| (link.speed.get(), link.width.get(), link.max_speed.get(), link.max_width.get()));
        let ids = (node.class.get(), node.vendor.get(), node.device.get());
        format!("{} {:?} {ids:?} {link:?} {:?}", node.path, node.kind, node.express.value())
    };
    machine.pci.iter().map(|(_, node)| row(node)).collect()
}

#[test]
fn every_text_has_its_origin_in_the_index() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let listed: Vec<&str> =
        index.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let texts = texts();
    assert_eq!(texts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), listed);
    assert!(texts.len() >= 60, "{}", texts.len());
    assert!(texts.iter().map(|(_, text)| text.len()).sum::<usize>() < 1_500_000);
    for (name, text) in texts {
        assert!(text.split(|byte| *byte == b'\n').count() <= 362, "{name} is an excerpt");
    }
}

#[test]
fn every_text_opens_with_its_functions_and_the_lines_they_stand_on() {
    for (name, content) in texts() {
        let root = import::read(&content).unwrap().unwrap_or_else(|| panic!("{name} has a listing"));
        let (machine, problems) = read_machine(&root);
        assert!(functions(&machine) > 0, "{name}");
        assert!(
            problems.iter().all(|problem| !problem.path.starts_with("/sys/bus/pci")),
            "{name}: {problems:?}"
        );
        let pasted = root.pasted().unwrap();
        let text = String::from_utf8_lossy(&content).into_owned();
        let lines: Vec<&str> = text.split('\n').collect();
        for (_, node) in machine.pci.iter() {
            let NodeAddress::Device(PciAddress { device, function, .. }) = node.address else { continue };
            let place = pasted.place(&node.path).unwrap();
            let line: usize = place.strip_prefix("line ").unwrap().parse().unwrap();
            // quoted-printable breaks one line into several, which have the number of the first.
            let broken = lines[line - 1..].iter().take_while(|line| line.ends_with('=')).count();
            let whole = lines[line - 1..lines.len().min(line + broken)].concat();
            assert!(whole.contains(&format!("{device:02x}.{function}")), "{name}: {} {place}", node.path);
        }
    }
}

#[test]
fn eight_drives_behind_one_root_complex_are_found_in_a_drawing() {
    let check = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(["check", "--json", "--open"])
            .arg(folder().join(name))
            .output()
            .unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = document["findings"].as_array().unwrap().clone();
        findings
            .into_iter()
            .map(|finding| (finding["id"].as_str().unwrap().to_owned(), finding))
            .collect::<BTreeMap<_, _>>()
    };
    let before = check("threadripper-before.txt");
    let shared = &before["shared-root-complex"];
    assert_eq!(shared["title"], "8 drives share root complex 0000:40 while 0000:60 has none");
    assert_eq!(shared["gain"]["bytes_per_second"], serde_json::Value::Null, "the drawing has no link speeds");
    assert!(shared["remedy"]["text"].as_str().unwrap().contains("the graphics card in 0000:60"), "{shared}");
    assert!(
        shared["evidence"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["path"].as_str().unwrap().starts_with("line "))
    );
    let fine = ["threadripper-after.txt", "x570-regalis.txt"].map(check);
    for findings in fine {
        let ids: Vec<_> = findings.keys().collect();
        assert!(
            ids.iter().all(|id| !["shared-root-complex", "oversubscribed-hop"].contains(&id.as_str())),
            "{ids:?}"
        );
    }
    let drives = |name: &str, root: &str| {
        let machine = machine(text(name));
        let root = machine.pci.iter().find(|(_, node)| node.address.to_string() == root).unwrap().0;
        machine
            .hardware_drives()
            .filter(|drive| drive.node.is_some_and(|at| machine.pci.root_of(at) == root))
            .count()
    };
    assert_eq!(drives("threadripper-before.txt", "0000:40"), 8);
    assert_eq!(drives("threadripper-after.txt", "0000:40"), 4);
    assert_eq!(drives("x570-regalis.txt", "0000:00"), 4);
}

/// Link registers and sizes that `lspci -vv` prints of each function.
fn decoded_by_lspci(path: &Path) -> BTreeMap<String, [Option<String>; 4]> {
    let output = Command::new("lspci").args(["-D", "-vv", "-F"]).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found: BTreeMap<String, [Option<String>; 4]> = BTreeMap::new();
    let mut address = String::new();
    let between = |line: &str, from: &str, to: &[char]| {
        line.split_once(from).map(|(_, rest)| rest.split(to).next().unwrap_or(rest).to_owned())
    };
    for line in text.lines() {
        if !line.starts_with(['\t', ' ']) {
            line.split(' ').next().unwrap_or_default().clone_into(&mut address);
        }
        let link = |line: &str| {
            Some(format!(
                "{} {}",
                between(line, "Speed ", &[' ', ','])?,
                between(line, "Width ", &[' ', ','])?
            ))
        };
        let row = found.entry(address.clone()).or_default();
        if line.contains("LnkCap:") {
            row[0] = link(line);
        } else if line.contains("LnkSta:") {
            row[1] = link(line);
        } else if line.contains("MaxReadReq") {
            row[2] = between(line, "MaxPayload ", &[' ']);
            row[3] = between(line, "MaxReadReq ", &[' ']);
        }
    }
    found
}

#[test]
fn hex_dumps_are_decoded_as_lspci_decodes_them() {
    if Command::new("lspci").arg("--version").output().is_err() {
        return crate::skip::skipped("lspci is not installed");
    }
    let mut compared = 0;
    for (name, content) in texts() {
        let is_row = |line: &[u8]| {
            line.len() > 40 && line[2..].starts_with(b": ") && line[..2].iter().all(u8::is_ascii_hexdigit)
        };
        if !content.split(|byte| *byte == b'\n').any(is_row) {
            continue;
        }
        let machine = machine(&content);
        for (address, [capability, state, payload, request]) in decoded_by_lspci(&folder().join(&name)) {
            let (Some(payload), Some(request)) = (payload, request) else { continue };
            let express =
                node(&machine, &address).express.value().unwrap_or_else(|| panic!("{name} {address}"));
            let link = |speed: Option<iodyno::units::TransferRate>, width: u8| {
                format!(
                    "{} x{width}",
                    speed.map_or("unknown".to_owned(), |speed| format!("{}GT/s", speed.gts()))
                )
            };
            assert_eq!(
                (express.payload.unwrap().to_string(), express.read_request.unwrap().to_string()),
                (payload, request),
                "{name} {address}"
            );
            for (of_lspci, ours) in [
                (capability, link(express.max_speed, express.max_width.unwrap())),
                (state, link(express.speed, express.width.unwrap())),
            ] {
                if let Some(of_lspci) = of_lspci {
                    assert_eq!(of_lspci, ours, "{name} {address}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

#[test]
fn lines_that_were_not_used_are_named() {
    let content = "Hello all,\n\nhere is my lspci:\n01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a80a\n\nThanks\n";
    let pasted = import::read(content.as_bytes()).unwrap().unwrap().pasted().unwrap();
    let unused: Vec<_> = pasted.unused.iter().map(|line| (line.line, line.reason.to_string())).collect();
    assert_eq!(unused.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 6]);
    assert!(unused[0].1.starts_with("\"Hello all,\": not a line"), "{unused:?}");
    assert_eq!(
        (pasted.kind().as_str(), pasted.listings[0].line, pasted.listings[0].last_line),
        ("lspci", 4, 4)
    );
    assert_eq!(import::read(b"Hello all,\nno listing here\n").unwrap().map(|_| ()), None);
}

#[test]
fn a_mark_downgraded_is_kept_and_is_no_finding() {
    let root = import::read(text("riscv-visionfive2-drive.txt").as_bytes()).unwrap().unwrap();
    let pasted = root.pasted().unwrap();
    let marks: Vec<_> = pasted
        .downgraded
        .iter()
        .map(|mark| (mark.address.to_string(), mark.line, mark.speed, mark.width))
        .collect();
    assert_eq!(marks, [("0001:01:00.0".to_owned(), 20, true, true)]);
    let output = Command::new(env!("CARGO_BIN_EXE_iodyno"))
        .args(["check", "--json", "--open"])
        .arg(folder().join("riscv-visionfive2-drive.txt"))
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<_> =
        document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].to_string()).collect();
    assert!(
        !ids.iter().any(|id| id.contains("downtrained")),
        "the port's capability is not in the text: {ids:?}"
    );
}

#[test]
fn what_a_text_lacks_is_absent_and_named() {
    let silent = machine(text("forum-asleep-modem.txt"));
    let modem = node(&silent, "0000:02:00.0");
    assert_eq!(modem.class.get(), Some(0x0d_40_00));
    assert!(modem.express.problem().unwrap().reason.contains("does not respond"), "{:?}", modem.express);
    let denied = machine(text("server-vv-user.txt"));
    let denied = denied
        .pci
        .iter()
        .filter_map(|(_, node)| node.express.problem())
        .find(|it| it.reason.contains("run as root"));
    assert!(denied.is_some());
    let lacks =
        |name: &str| import::read(text(name).as_bytes()).unwrap().unwrap().pasted().unwrap().lacks.join(" ");
    assert!(lacks("threadripper-before.txt").contains("No link has a speed or width"));
    assert!(lacks("laptop-thinkpad-p1.txt").contains("The bridge above 0000:01"));
    assert!(lacks("forum-asleep-modem.txt").contains("0000:02:00.0 did not respond"));
    assert!(lacks("server-vv-user.txt").contains("lspci ran without root"));
}

#[test]
fn a_root_complex_of_vmd_is_below_its_function() {
    let machine = machine(text("mail-vmd-reflowed.txt"));
    let root = machine.pci.iter().find(|(_, node)| node.address.to_string() == "10000:e0").unwrap().1;
    assert_eq!(machine.pci.node(root.parent.unwrap()).address.to_string(), "0000:00:0e.0");
    assert_eq!(
        &*node(&machine, "10000:e1:00.0").path,
        "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0"
    );
}

#[test]
fn forms_for_programs_have_the_machine_of_the_plain_list() {
    let plain = "2e:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM174X [144d:a826]";
    let plain = machine(plain);
    let ids = |machine: &Machine| {
        let node = node(machine, "0000:2e:00.0");
        (node.class.get(), node.vendor.get(), node.device.get(), node.names.clone())
    };
    let record = "Slot:\t0000:2e:00.0\nClass:\tNon-Volatile memory controller [0108]\n\
        Vendor:\tSamsung Electronics Co Ltd [144d]\nDevice:\tNVMe SSD Controller PM174X [a826]\nProgIf:\t02\n";
    for text in [
        record.to_owned(),
        record.replace('\t', "    ").replace('\n', "\r\n"),
        record.replace("Slot:\t0000:", "Device:\t"),
        r#"2e:00.0 "Non-Volatile memory controller [0108]" "Samsung Electronics Co Ltd [144d]" "NVMe SSD Controller PM174X [a826]" -p02 "" """#.to_owned(),
    ] {
        assert_eq!(ids(&machine(&text)), ids(&plain), "{text}");
    }
    let bare = machine(r#"2e:00.0 "0108" "144d" "a826" -p02 "144d" "aa0a""#);
    assert_eq!(ids(&bare).0, ids(&plain).0);
    assert_eq!((ids(&bare).1, ids(&bare).2), (Some(0x144d), Some(0xa826)));
    let full =
        machine(format!("{record}PhySlot:\t7\nDriver:\tnvme\nModule:\tnvme\nNUMANode:\t1\nIOMMUGroup:\t8\n"));
    let full = node(&full, "0000:2e:00.0");
    assert_eq!(full.driver.value().map(ToString::to_string), Some("nvme".to_owned()));
    assert_eq!((full.numa_node.get(), full.iommu_group.get()), (Some(Some(1)), Some(8)));
}

#[test]
fn a_windows_drawing_has_parents_ports_and_links() {
    let switch = machine(text("windows-switch-t.txt"));
    let drive = node(&switch, "0000:04:00.0");
    assert!(drive.path.ends_with("/0000:00:1c.0/0000:01:00.0/0000:02:02.0/0000:04:00.0"), "{}", drive.path);
    assert_eq!(drive.link.as_ref().unwrap().width.get().unwrap().to_string(), "x2");
    assert_eq!(node(&switch, "0000:02:03.0").kind, NodeKind::SwitchDownstream);
    // A device without bus numbers, below which others are drawn, is their bridge.
    let below = machine(
        "-[0000:00]-\\-00:1c.0 [8086:a0bd]\r\n                  +-01:00.0 [10de:2684]  (16GT/s x16)\r\n                  \\-02:00.0 [8086:15f3]\r\n",
    );
    for address in ["0000:01:00.0", "0000:02:00.0"] {
        assert!(node(&below, address).path.contains("/0000:00:1c.0/"), "{address}");
    }
    let domains = machine(
        "-[3851:00]-\\-3851:00:00.0 [1414:b111]\n-[556f:00]-\\-556f:00:02.0 [15b3:1016]  (8GT/s x8)\n",
    );
    assert_eq!(&*node(&domains, "556f:00:02.0").path, "/sys/devices/pci556f:00/556f:00:02.0");
}

#[test]
fn names_and_ids_of_unusual_lines_are_read() {
    let laptop = machine(text("laptop-lg-quoted.txt"));
    let port = node(&laptop, "0000:00:1c.0");
    assert_eq!((port.vendor.get(), port.device.get()), (Some(0x8086), Some(0x3b42)), "no blank before (rev");
    let drive = machine(text("desktop-switch-optane.txt"));
    let names = &node(&drive, "0000:05:00.0").names;
    assert_eq!(names.vendor.as_ref().map(ToString::to_string).as_deref(), Some("Intel Corporation"));
    assert_eq!(
        names.device.as_ref().map(ToString::to_string).as_deref(),
        Some("NVMe Datacenter SSD [Optane]"),
        "a name of several devices"
    );
}

#[test]
fn bridges_of_paths_are_above_their_functions() {
    let machine = machine(text("arm-hikey970-paths.txt"));
    assert_eq!(
        &*node(&machine, "0000:03:00.0").path,
        "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0/0000:02:01.0/0000:03:00.0"
    );
    let kinds = ["0000:00:00.0", "0000:01:00.0", "0000:02:05.0"].map(|at| node(&machine, at).kind);
    assert_eq!(kinds, [NodeKind::RootPort, NodeKind::SwitchUpstream, NodeKind::SwitchDownstream]);
}

#[test]
fn a_function_alone_says_that_its_bridge_is_unknown() {
    let lacks =
        |text: &str| import::read(text.as_bytes()).unwrap().unwrap().pasted().unwrap().lacks.join(" ");
    assert!(lacks(&text("riscv-visionfive2-drive.txt")).contains("The bridge above 0001:01 is unknown"));
    assert!(
        !lacks("7f:08.0 System peripheral: Intel Corporation Sky Lake-E\n").contains("bridge above"),
        "a Xeon's own bus"
    );
}

#[test]
fn names_cannot_reach_the_terminal_raw() {
    let hostile = "01:00.0 Non-Volatile memory controller: Evil \u{1b}[2J\u{9b}31m\u{202e}Drive\u{200b} **bold** <b>x</b>\n\tKernel driver in use: ../../\u{1b}]0;x\u{7}\n\tPhysical Slot: \u{1b}[1A\n";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(hostile.as_bytes()).unwrap();
    for command in ["tree", "check"] {
        for json in [&["--json"][..], &[]] {
            let output = Command::new(env!("CARGO_BIN_EXE_iodyno"))
                .arg(command)
                .args(json)
                .arg("--open")
                .arg(file.path())
                .output()
                .unwrap();
            assert!(output.status.success());
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(
                !text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{7}']),
                "{command} {json:?}: {text}"
            );
        }
    }
}

#[test]
fn chains_circles_and_crowds_end() {
    let bridge = |bus: u32, secondary: u32| {
        format!(
            "{bus:02x}:00.0 PCI bridge: X\n\tBus: primary={bus:02x}, secondary={secondary:02x}, subordinate=ff\n"
        )
    };
    let deep = (0..255).map(|bus| bridge(bus, bus + 1)).collect::<Vec<_>>().concat();
    let machine_of_chain = machine(&deep);
    assert_eq!(functions(&machine_of_chain), 255);
    assert_eq!(machine_of_chain.pci.roots().count(), 1, "however deep it is");
    let (last, _) = machine_of_chain.pci.iter().last().unwrap();
    assert_eq!(machine_of_chain.pci.ancestry(last).count(), 256);
    let circle = bridge(1, 2) + &bridge(2, 1) + &bridge(3, 3);
    assert_eq!(functions(&machine(circle)), 3);
    let place = |at: u32| (at >> 16, (at >> 8) & 0xff, (at >> 3) & 0x1f, at & 7);
    let line = |(domain, bus, device, function)| {
        format!("{domain:04x}:{bus:02x}:{device:02x}.{function} PCI bridge: X")
    };
    let crowd = (0..40_000_u32).map(place).map(line).collect::<Vec<_>>().join("\n");
    assert!(import::read(crowd.as_bytes()).unwrap_err().contains("functions"));
    assert!(import::read("x\n".repeat(2_000_000).as_bytes()).unwrap_err().contains("lines"));
    let twice = "01:00.0 PCI bridge: X\n\tFlags: fast\n01:00.0 PCI bridge: Y\n\tFlags: slow\n";
    let root = import::read(twice.as_bytes()).unwrap().unwrap();
    assert_eq!(root.pasted().unwrap().unused[0].line, 3, "an address again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_upset_the_reader(content in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(Some(root)) = import::read(&content) {
            read_machine(&root);
        }
    }

    #[test]
    fn no_words_upset_the_reader(
        text in "([0-9a-f:. \n]|\\[|\\]|-|\\+|[|]|00:01.0 PCI bridge: |\n\tBus: primary=|secondary=0|, |\n\tLnkSta: |Speed |Width x|GT/s|\n\tCapabilities: \\[40\\] Express |-\\[0000:00\\]-|=3D|> |\n00: ){0,80}",
    ) {
        if let Ok(Some(root)) = import::read(text.as_bytes()) {
            let (machine, _) = read_machine(&root);
            for (index, _) in machine.pci.iter() {
                prop_assert!(machine.pci.ancestry(index).count() <= machine.pci.nodes.len());
            }
        }
    }

    #[test]
    fn shuffled_and_cut_lines_of_real_texts_are_read(at in any::<prop::sample::Index>(), seed: u64, keep in 1_usize..5) {
        let texts = texts();
        let (_, content) = at.get(&texts);
        let text = String::from_utf8_lossy(content).into_owned();
        let mut lines: Vec<&str> = text.lines().collect();
        let mut state = seed | 1;
        for one in (1..lines.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = usize::try_from(state >> 33).unwrap() % (one + 1);
            if one % keep == 0 {
                lines.swap(one, other);
            }
        }
        lines.truncate(lines.len() * keep / 4);
        if let Ok(Some(root)) = import::read(lines.join("\n").as_bytes()) {
            read_machine(&root);
        }
    }
}

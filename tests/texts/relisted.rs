//! Functions that one text lists twice: once with more of it, or on another machine.

use serde_json::Value;

use crate::{
    damaged::functions,
    stated::{document, finding, link},
};

const PORT: &str = "00:01.0 PCI bridge: Intel Corporation Sky Lake-E PCI Express Root Port A (rev 07) (prog-if 00 [Normal decode])\n";
const DRIVE: &str = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO (prog-if 02 [NVM Express])\n";
const BUS: &str = "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n";
const DENIED: &str = "\tCapabilities: <access denied>\n";

/// The sentences about what a text lacks and contradicts.
fn source(content: &str) -> String {
    let tree = document(content, "tree");
    format!("{} {}", tree["source"]["lacks"], tree["source"]["contradictions"])
}

/// Numbers of unused lines.
fn unused(content: &str) -> Vec<u64> {
    let tree = document(content, "tree");
    let lines = tree["source"]["unused_lines"].as_array().unwrap().iter();
    let mut lines: Vec<u64> = lines.map(|it| it["line"].as_u64().unwrap()).collect();
    lines.dedup();
    lines
}

fn parents(content: &str) -> Vec<(String, String)> {
    fn below(node: &Value, found: &mut Vec<(String, String)>) {
        let name = |node: &Value| node["address"].as_str().unwrap_or_default().to_owned();
        for child in node["children"].as_array().into_iter().flatten() {
            found.push((name(child), name(node)));
            below(child, found);
        }
    }
    let (tree, mut found) = (document(content, "tree"), Vec::new());
    for root in tree["root_complexes"].as_array().unwrap() {
        below(root, &mut found);
    }
    found.sort();
    found
}

fn parent(content: &str, address: &str) -> String {
    let found = parents(content).into_iter().find(|(child, _)| child == address);
    found.unwrap_or_else(|| panic!("{address} is not in the tree")).1
}

/// Registers of a port or a device with a link at half of its speed.
fn registers(kind: &str) -> String {
    format!(
        "\tCapabilities: [70] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1, Exit Latency L1 <64us\n\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4\n"
    )
}

fn whole() -> String {
    let (port, drive) = (registers("Root Port (Slot+)"), registers("Endpoint"));
    format!("$ sudo lspci -vv\n{PORT}{BUS}{port}\n{DRIVE}{drive}\tKernel driver in use: nvme\n")
}

#[test]
fn a_listing_with_more_completes_a_poorer_one_of_the_same_functions() {
    let without_root =
        format!("$ lspci -v\n{PORT}{BUS}{DENIED}\n{DRIVE}\tFlags: bus master, NUMA node 1\n{DENIED}\n");
    let old = format!(
        "$ lspci -v\n{PORT}\tFlags: bus master\n{BUS}\n{DRIVE}\tFlags: bus master, NUMA node 1\n\tCapabilities: [70] Express Endpoint, MSI 00\n\n"
    );
    let excerpt = format!(
        "{DRIVE}\tRegion 0: Memory at b9000000 (64-bit)\n\tNUMA node: 1\n\nCan you give me the output of lspci -vvvv?\n\n"
    );
    let whole = whole();
    for (poorer, is_sentence) in [(&without_root, false), (&old, false), (&excerpt, true)] {
        for text in [format!("{poorer}{whole}"), format!("{whole}\n{poorer}")] {
            assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 4.into()), "{text}");
            assert_eq!(link(&text, "0000:00:01.0"), (8.0.into(), 4.into()), "{text}");
            assert_eq!(finding(&text, "link-downtrained")["severity"], "high", "{text}");
            assert!(!source(&text).contains("denied"), "{}", source(&text));
            assert_eq!(functions(&text)["0000:01:00.0"]["driver"], "nvme", "{text}");
            let marks = document(&text, "tree")["source"]["downgraded"].as_array().unwrap().len();
            assert_eq!(marks, 2, "{text}");
        }
        let text = format!("{poorer}{whole}");
        assert!(unused(&text).len() <= usize::from(is_sentence), "{:?}", unused(&text));
    }
    // The same once more has nothing new.
    let twice = format!("{whole}\n{whole}");
    assert_eq!(unused(&twice), [17, 24]);
}

#[test]
fn a_listing_of_another_device_completes_nothing() {
    let subsystem = |ids: &str| format!("\tSubsystem: Samsung Electronics Co Ltd SSD [{ids}]\n");
    let poorer = format!("{DRIVE}{}{DENIED}\n", subsystem("144d:a801"));
    let other = format!("{DRIVE}{}{}", subsystem("144d:a812"), registers("Endpoint"));
    let text = format!("{poorer}My other machine:\n{other}");
    assert_eq!(functions(&text)["0000:01:00.0"]["link"], Value::Null);
    assert!(source(&text).contains("another Subsystem in line 7 than in line 2"), "{}", source(&text));
    let same = text.replace("a812", "a801");
    assert_eq!(link(&same, "0000:01:00.0"), (8.0.into(), 4.into()));
}

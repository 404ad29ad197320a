//! Facts of one device in several lines: drives of lists and functions, messages of the kernel, interrupts, bridges of paths.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    damaged::drives,
    stated::{check, document, finding, link},
};

const SM981: &str =
    "Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983";

fn row(name: &str, model: &str) -> String {
    format!(
        "/dev/{name}     S1                   {model:<40} 1           1.00  TB /   1.00  TB    512   B +  0 B   F1\n"
    )
}

fn addresses(content: &str) -> Vec<(String, Value)> {
    drives(content).into_iter().map(|(name, drive)| (name, drive["address"].clone())).collect()
}

fn lacks(content: &str) -> String {
    document(content, "tree")["source"]["lacks"].to_string()
}

/// Reasons of unused lines, by their number.
fn unused(content: &str) -> Vec<(u64, String)> {
    let document = document(content, "tree");
    let lines = document["source"]["unused_lines"].as_array().unwrap().iter();
    lines.map(|it| (it["line"].as_u64().unwrap(), it["reason"].as_str().unwrap().to_owned())).collect()
}

/// The state of a function's link.
fn state(content: &str, address: &str) -> Value {
    let tree = document(content, "tree");
    let mut open: Vec<&Value> = tree["root_complexes"].as_array().unwrap().iter().collect();
    while let Some(node) = open.pop() {
        if node["address"] == address {
            return node["link"]["state"].clone();
        }
        open.extend(node["children"].as_array().into_iter().flatten());
    }
    panic!("{address} is not in the tree");
}

#[test]
fn drives_of_a_list_with_fewer_functions_are_shown_once() {
    let named = |name: &str, address: Value| (name.to_owned(), address);
    let one = format!(
        "01:00.0 {SM981}\n\n{}{}",
        row("nvme0n1", "Samsung SSD 970 EVO Plus 1TB"),
        row("nvme1n1", "Samsung SSD 990 PRO 2TB")
    );
    let found = [named("nvme0n1", "0000:01:00.0".into()), named("nvme1n1", Value::Null)];
    assert_eq!(addresses(&one), found, "the name of the controller has the model");
    let makers = format!(
        "01:00.0 {}\n04:00.0 Non-Volatile memory controller: Sandisk Corp WD Black SN770\n\n{}",
        SM981.replace("SM981/PM981/PM983", "Device"),
        row("nvme0n1", "Samsung SSD 999")
    );
    let found = [named("nvme0n1", "0000:01:00.0".into()), named("nvme@04:00.0", "0000:04:00.0".into())];
    assert_eq!(addresses(&makers), found, "one function has a maker that may be the model's");
    let either = format!(
        "01:00.0 Non-Volatile memory controller: Kingston Technology Company, Inc. Device 5013\n\n{}{}",
        row("nvme0n1", "KINGSTON SKC3000"),
        row("nvme1n1", "KINGSTON SNV2S")
    );
    assert_eq!(addresses(&either), [named("nvme0n1", Value::Null), named("nvme1n1", Value::Null)]);
    assert!(lacks(&either).contains("They include the drives at 0000:01:00.0."), "{}", lacks(&either));
    let mounted = "-[0000:00]-+-1b.0-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983\n           \\-1d.0-[02]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983\nNAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT\nnvme0n1     259:0    0 931.5G  0 disk \n└─nvme0n1p1 259:1    0 931.5G  0 part /\n";
    let sentence = "Drives at 0000:01:00.0, 0000:02:00.0 may be listed twice";
    assert!(lacks(mounted).contains(sentence), "{}", lacks(mounted));
    let twins = format!(
        "01:00.0 {SM981}\n02:00.0 {SM981}\n\n{}{}",
        row("nvme0n1", "Samsung SSD 970 EVO Plus 1TB"),
        row("nvme1n1", "Samsung SSD 970 EVO Plus 1TB")
    );
    assert!(!lacks(&twins).contains("Drives have no names, models"), "{}", lacks(&twins));
}

#[test]
fn a_limiting_link_above_a_switch_has_its_state() {
    let text = "[    0.1] pci_bus 0000:00: root bus resource [bus 00-ff]
[    0.2] pci 0000:00:1c.4: [8086:a114] type 01 class 0x060400
[    0.2] pci 0000:02:00.0: [1b21:1806] type 01 class 0x060400
[    0.2] pci 0000:03:00.0: [1b21:1806] type 01 class 0x060400
[    0.2] pci 0000:04:00.0: [144d:a808] type 00 class 0x010802
[    0.3] pci 0000:00:1c.4: PCI bridge to [bus 02-04]
[    0.3] pci 0000:02:00.0: PCI bridge to [bus 03-04]
[    0.3] pci 0000:03:00.0: PCI bridge to [bus 04]
[    0.4] pci 0000:04:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x2 link at 0000:00:1c.4 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)
";
    assert_eq!(link(text, "0000:02:00.0"), (5.0.into(), 2.into()));
    assert_eq!(link(text, "0000:04:00.0"), (Value::Null, Value::Null));
    for end in ["0000:00:1c.4", "0000:02:00.0"] {
        assert_eq!(state(text, end), "unknown", "no line has the capability of {end}");
    }
}

#[test]
fn a_log_with_more_timeouts_than_are_kept_has_at_least_these() {
    let log = |count: usize| {
        (0..count).fold(String::new(), |mut log, at| {
            let _infallible = writeln!(log, "[  900.2{at:05}] nvme nvme1: I/O 12 QID 3 timeout, aborting");
            log
        })
    };
    let title = |count: usize| finding(&log(count), "nvme-errors")["title"].to_string();
    assert!(title(300).contains("at least 256 timeouts"), "{}", title(300));
    assert!(title(255).contains(": 255 timeouts"), "{}", title(255));
    let other = "[    1.0] nvme nvme0: pci function 0000:01:00.0\n[    1.1] nvme nvme0: 8/0/0 default/read/poll queues\n";
    assert!(check(other).contains("no lines about timeouts and resets"), "{}", check(other));
}

#[test]
fn interrupts_of_older_kernels_have_the_drives_of_their_numbers_and_names() {
    let table =
        |row: &str| format!("           CPU0       CPU1\n  31:       4000          0  {row}      nvme0q1\n");
    let numbered = table("IR-PCI-MSI 524289-edge");
    assert_eq!(addresses(&numbered), [("nvme0".to_owned(), "0000:01:00.0".into())]);
    let named = table("PCI-MSI-edge");
    assert_eq!(addresses(&named), [("nvme0".to_owned(), Value::Null)]);
    let listed = format!("{named}\n{}", row("nvme0n1", "KINGSTON SKC3000"));
    assert_eq!(addresses(&listed), [("nvme0n1".to_owned(), Value::Null)]);
}

#[test]
fn corrected_errors_of_the_kernel_log_are_those_of_their_function() {
    let end = |place: &str, kind: &str, more: &str| {
        let link = "Speed 16GT/s, Width x4";
        format!(
            "{place}{more}\n\tCapabilities: [70] Express (v2) {kind}, MSI 00\n\t\tDevSta:\tCorrErr- NonFatalErr-\n\t\tLnkCap:\tPort #0, {link}\n\t\tLnkSta:\t{link}\n\n"
        )
    };
    let buses = "\n\tBus: primary=00, secondary=02, subordinate=02, sec-latency=0";
    let lspci = end("00:1c.4 PCI bridge: Intel Corporation Device a114", "Root Port (Slot+)", buses)
        + &end(&format!("02:00.0 {SM981}"), "Endpoint", "");
    let log = |ids: &str| {
        format!(
            "[  123.1] pcieport 0000:00:1c.4: AER: Multiple Corrected error received: 0000:02:00.0
[  123.2] nvme 0000:02:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
[  123.3] nvme 0000:02:00.0:   device [{ids}] error status/mask=00000001/0000e000
[  123.4] nvme 0000:02:00.0:    [ 0] RxErr
[  124.4] pcieport 0000:00:1c.4: pciehp: Slot(1): Link Down
"
        )
    };
    let text = lspci.clone() + &log("144d:a808");
    let found = finding(&text, "link-errors");
    assert_eq!(found["subjects"][0]["name"], "nvme@02:00.0", "{found}");
    assert_eq!(found["evidence"][0]["path"], format!("line {}", lspci.lines().count() + 2));
    let reasons: Vec<String> = unused(&text).into_iter().map(|(_, reason)| reason).collect();
    let (aer, hotplug) = ("a message of AER; only corrected", "a message of hotplug");
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    for (reason, why) in reasons.iter().zip([aer, aer, hotplug]) {
        assert!(reason.contains(why), "{reason}");
    }
    let other = finding(&(lspci + &log("1c5c:174a")), "link-errors");
    assert_eq!(other, Value::Null, "another device");
    // The driver nvme alone has such a function, and the line has its ids.
    let alone = drives(&log("1c5c:174a"));
    assert_eq!(alone["nvme@02:00.0"]["address"], "0000:02:00.0");
}

#[test]
fn lines_that_a_patch_changes_are_named() {
    let text = format!(
        "--- before\n+++ after\n 01:00.0 {SM981}\n \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4\n \t\tLnkCtl:\tASPM Disabled\n-\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4\n+\t\tLnkSta:\tSpeed 16GT/s, Width x4\n \t\tLnkCtl2: Target Link Speed: 16GT/s\n"
    );
    let lines = unused(&text);
    let changed: Vec<u64> =
        lines.iter().filter(|(_, why)| why.contains("that a patch changes")).map(|(line, _)| *line).collect();
    assert_eq!(changed, [6, 7], "{lines:?}");
    assert_eq!(link(&text, "0000:01:00.0"), (Value::Null, Value::Null));
}

#[test]
fn a_mail_with_encoded_tabs_alone_is_decoded() {
    let text = format!(
        "01:00.0 {SM981}\n =09=09LnkCap:=09Port #0, Speed 16GT/s, Width x4\n =09=09LnkSta:=09Speed 8GT/s (downgraded), Width x4 (ok)\n"
    );
    assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 4.into()));
}

#[test]
fn a_root_port_is_on_a_root_bus() {
    let text = "00:00.0 Host bridge: Intel Corporation Xeon E7 v4/Xeon E5 v4 DMI2\n\tNUMA node: 0\n
80:02.0 PCI bridge: Intel Corporation Xeon E7 v4/Xeon E5 v4 PCI Express Root Port 2\n\tNUMA node: 1
\tBus: primary=80, secondary=81, subordinate=81, sec-latency=0\n
81:00.0 Non-Volatile memory controller: Intel Corporation PCIe Data Center SSD\n";
    assert!(!lacks(text).contains("The bridge above"), "{}", lacks(text));
}

#[test]
fn a_function_behind_a_bridge_of_a_path_is_on_its_secondary_bus() {
    let text = format!(
        "00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge\n\tBus: primary=00, secondary=03, subordinate=03, sec-latency=0\n\n00:01.1/00.0 {SM981}\n\tKernel driver in use: nvme\n"
    );
    assert_eq!(addresses(&text), [("nvme@03:00.0".to_owned(), "0000:03:00.0".into())]);
    let unknown = format!("00:01.0 Host bridge: X\n00:01.1/00.0 {SM981}\n");
    assert_eq!(addresses(&unknown), []);
}

#[test]
fn devices_hundreds_deep_are_cut() {
    let rows = (0..400).fold("sda 8:0 0 1T 0 disk\n".to_owned(), |mut rows, at| {
        let _infallible = writeln!(rows, "{}└─md{at} 9:{at} 0 1T 0 raid1", "│ ".repeat(at));
        rows
    });
    let tree = document(&rows, "tree");
    let reason = tree["source"]["unused_lines"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("on top of each other"), "{reason}");
    assert_eq!(tree["source"]["unused"], 400 - 63, "{tree}");
}

#[test]
fn buses_behind_one_bridge_of_a_drawing_are_below_it() {
    let drawing = "\
-[0000:00]-+-00.0  Intel Corporation Device 09a2
           +-02.0-[18-19]--+-[0000:18]-+-00.0  Mellanox Technologies MT27800 Family [ConnectX-5]
           |               |           \\-00.1  Mellanox Technologies MT27800 Family [ConnectX-5]
           |               \\-[0000:19]---00.2  Mellanox Technologies MT27800 Family [ConnectX-5 Virtual Function]
           \\-04.0-[1a]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller PM173X
";
    let tree = document(drawing, "tree");
    let roots = tree["root_complexes"].as_array().unwrap();
    assert_eq!(roots.len(), 1, "{tree}");
    let below = |address: &str| -> Vec<String> {
        let bridges = roots[0]["children"].as_array().unwrap();
        let bridge = bridges.iter().find(|node| node["address"] == address).unwrap();
        let children = bridge["children"].as_array().unwrap().iter();
        children.map(|node| node["address"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(below("0000:00:02.0"), ["0000:18:00.0", "0000:18:00.1", "0000:19:00.2"]);
    assert_eq!(below("0000:00:04.0"), ["0000:1a:00.0"]);
    assert_eq!(unused(drawing), []);
}

#[test]
fn a_listing_behind_the_links_of_its_function_names_it() {
    let links = "\
# lspci -vvs 41:00.0 | grep Lnk
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x4, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x4
";
    let listing = "\
# lspci -s 41:00.0
41:00.0 Non-Volatile memory controller: KIOXIA Corporation NVMe SSD Controller CD8
";
    for text in [format!("{links}{listing}"), format!("{listing}{links}")] {
        assert_eq!(drives(&text).len(), 1, "{text}");
        assert_eq!(unused(&text), [], "{text}");
    }
}

#[test]
fn marks_of_a_listing_behind_a_dump_are_kept() {
    let dump = "\
03:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1
00: 4d 14 0a a8 06 04 10 00 00 02 08 01 10 00 00 00
";
    let listing = "\
03:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (ok)
";
    let marks = |text: &str| document(text, "tree")["source"]["downgraded"].as_array().unwrap().len();
    for text in [format!("{dump}\n{listing}"), format!("{listing}\n{dump}"), listing.to_owned()] {
        assert_eq!(marks(&text), 1, "{text}");
    }
    assert_eq!(marks(&format!("{listing}\n{listing}\n{listing}")), 1, "of the first");
}

#[test]
fn a_port_whose_device_a_text_lacks_has_an_unknown_link() {
    let port = |link: &str| {
        format!(
            "00:01.0 PCI bridge: A\n\tBus: primary=00, secondary=01, subordinate=01\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4\n\t\tLnkSta:\t{link}\n"
        )
    };
    assert_eq!(state(&port("Speed 8GT/s (downgraded), Width x2 (downgraded)"), "0000:00:01.0"), "unknown");
    assert_eq!(state(&port("Speed 16GT/s, Width x4"), "0000:00:01.0"), "fine");
}

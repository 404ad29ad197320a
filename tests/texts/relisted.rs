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
pub fn source(content: &str) -> String {
    let tree = document(content, "tree");
    format!("{} {}", tree["source"]["lacks"], tree["source"]["contradictions"])
}

/// Numbers of unused lines.
pub fn unused(content: &str) -> Vec<u64> {
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

pub fn parent(content: &str, address: &str) -> String {
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
    // A function with capabilities, none of which is PCI Express.
    let usb = "00:14.0 USB controller: Intel Corporation Device a2af (prog-if 30 [XHCI])\n";
    let text =
        format!("{usb}{DENIED}\n$ sudo lspci -vv\n{usb}\tCapabilities: [70] Power Management version 2\n");
    assert!(!source(&text).contains("denied"), "{}", source(&text));
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

const LOG: &str = "[    0.2] pci 0000:00:00.0: [8086:0a04] type 00 class 0x060000
[    0.2] pci 0000:00:02.0: [8086:0a16] type 00 class 0x030000
[    0.2] pci 0000:00:1c.0: [8086:9c10] type 01 class 0x060400
[    0.2] pci 0000:00:1c.0: PCI bridge to [bus 01]
[    0.2] pci 0000:01:00.0: [144d:a808] type 00 class 0x010802
";

#[test]
fn the_last_buses_of_a_bridge_in_the_kernel_log_count() {
    let log = "[    3.827750] pci 0000:00:00.0: [f15e:0000] type 01 class 0x060400 PCIe Root Port
[    3.827844] pci 0000:00:00.0: PCI bridge to [bus 01-ff]
[    3.829345] pci 0000:01:00.0: [1b21:2824] type 01 class 0x060400 PCIe Switch Upstream Port
[    3.829398] pci 0000:01:00.0: PCI bridge to [bus 00]
[    3.830000] pci 0000:01:00.0: bridge configuration invalid ([bus 00-00]), reconfiguring
[    3.837513] pci 0000:02:04.0: [1b21:2824] type 01 class 0x060400 PCIe Switch Downstream Port
[    3.837563] pci 0000:02:04.0: PCI bridge to [bus 00-00]
[    3.838000] pci 0000:02:04.0: bridge configuration invalid ([bus 00-00]), reconfiguring
[    3.847743] pci 0000:06:00.0: [15b7:5002] type 00 class 0x010802 PCIe Endpoint
[    3.860414] pci_bus 0000:06: busn_res: [bus 06-ff] end is updated to 06
[    3.861727] pci 0000:02:04.0: PCI bridge to [bus 06]
[    3.861910] pci 0000:01:00.0: PCI bridge to [bus 02-07]
[    3.862000] pci 0000:00:00.0: PCI bridge to [bus 01-07]
";
    assert_eq!(parent(log, "0000:06:00.0"), "0000:02:04.0");
    assert_eq!(parent(log, "0000:02:04.0"), "0000:01:00.0");
    assert_eq!(unused(log), [0; 0]);
    // The registers are newer than a log that ends early.
    let early = log.lines().take(9).collect::<Vec<_>>().join("\n");
    let listed = format!(
        "{early}\n\n02:04.0 PCI bridge: ASMedia Technology Inc. Device 2824\n\tBus: primary=02, secondary=06, subordinate=06\n"
    );
    assert_eq!(parent(&listed, "0000:06:00.0"), "0000:02:04.0");
}

#[test]
fn a_range_of_buses_ends_where_the_kernel_found_its_last() {
    let log = |last: &str| {
        format!(
            "[   16.9] pci 0000:00:00.0: [0e8d:0801] type 01 class 0x060400
[   16.9] pci 0000:00:01.0: [0e8d:0801] type 01 class 0x060400
[   17.1] pci 0000:01:00.0: [1b21:0611] type 00 class 0x010185
[   17.3] pci 0000:00:00.0: PCI bridge to [bus 01-ff]
[   17.3] pci_bus 0000:01: busn_res: [bus 01-ff] end is updated to {last}
[   17.3] pci 0000:02:00.0: [144d:a808] type 00 class 0x010802
"
        )
    };
    assert_eq!(parent(&log("01"), "0000:02:00.0"), "0000:02");
    assert!(source(&log("01")).contains("The bridge above 0000:02 is unknown"), "{}", source(&log("01")));
    assert_eq!(unused(&log("01")), [0; 0]);
    assert_eq!(parent(&log("02"), "0000:02:00.0"), "0000:00:00.0");
}

#[test]
fn a_message_about_a_link_is_joined_where_a_mail_broke_it() {
    let text = "[   17.045699] pci 0000:00:00.0: [0e8d:0801] type 01 class 0x060400
[   17.164739] pci 0000:01:00.0: [1b21:0611] type 00 class
0x010185
[   17.258031] pci 0000:01:00.0: 2.000 Gb/s available PCIe bandwidth,
limited by 2.5 GT/s PCIe x1 link at 0000:00:00.0 (capable of 4.000
Gb/s with 5.0 GT/s PCIe x1 link)
[   17.317563] pci 0000:00:00.0: PCI bridge to [bus 01-ff]
";
    assert_eq!(link(text, "0000:01:00.0"), (2.5.into(), 1.into()));
    assert_eq!(unused(text), [0; 0]);
}

#[test]
fn devices_of_another_machine_are_not_mixed_with_the_first() {
    let list = "Second machine:
00:00.0 Host bridge [0600]: Intel Corporation Mobile 4 Series Chipset Memory Controller Hub [8086:2a40] (rev 07)
00:02.0 VGA compatible controller [0300]: Intel Corporation Mobile 4 Series Chipset Integrated Graphics Controller [8086:2a42] (rev 07)
00:1c.0 PCI bridge [0604]: Intel Corporation 82801I (ICH9 Family) PCI Express Port 1 [8086:2940] (rev 03)
01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO [144d:a80a]
";
    let plain: String = list
        .lines()
        .map(|line| {
            let line = line.split(" [8086:").next().unwrap().split(" [144d:").next().unwrap();
            line.replace(" [0600]", "").replace(" [0300]", "").replace(" [0604]", "").replace(" [0108]", "")
                + "\n"
        })
        .collect();
    for other in [list, &plain] {
        let text = format!("{LOG}\n{other}");
        assert_eq!(unused(&text), [7, 8, 9, 10, 11], "{text}");
        let found = functions(&text);
        assert_eq!(found["0000:01:00.0"]["device"], "0xa808", "{text}");
        assert_eq!(found["0000:00:00.0"]["device"], "0x0a04", "{text}");
        assert!(source(&text).contains("The list in line 8 has other devices"), "{}", source(&text));
        // The log after the list.
        let text = format!("{other}\n{LOG}");
        assert_eq!(unused(&text), [1, 7, 8, 9, 10, 11], "{text}");
        assert_eq!(functions(&text)["0000:01:00.0"]["device"], "0xa80a", "{text}");
    }
    let board = "[    0.39] pci 0000:00:00.0: [1d87:0100] type 01 class 0x060400
[    0.39] pci 0000:01:00.0: [144d:a808] type 00 class 0x010802
";
    let other = "On another board:

00:00.0 PCI bridge: Fuzhou Rockchip Electronics Co., Ltd Device 3566 (rev 01)
01:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Turks PRO [Radeon HD 7570]
01:00.1 Audio device: Advanced Micro Devices, Inc. [AMD/ATI] Turks HDMI Audio [Radeon HD 6500/6600 / 6700M Series]
";
    let text = format!("{board}\n{other}");
    assert_eq!(unused(&text), [4, 6, 7, 8]);
    assert!(!functions(&text).contains_key("0000:01:00.1"));
    let cut = format!("{board}\n01:00.0 VGA compatible controller: Advanced Micro Devices, Inc.\n");
    assert_eq!(unused(&cut), [4]);
    let names = "00:00.0 PCI bridge: SpacemiT Device 0001
01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983

My other machine:
00:00.0 Host bridge: Intel Corporation Haswell-ULT DRAM Controller (rev 0b)
00:02.0 VGA compatible controller: Intel Corporation Haswell-ULT Integrated Graphics Controller (rev 0b)
00:1c.0 PCI bridge: Intel Corporation 8 Series PCI Express Root Port 6 (rev e4)
02:00.0 Unassigned class [ff00]: Realtek Semiconductor Co., Ltd. RTS5227 PCI Express Card Reader (rev 01)
";
    assert_eq!(unused(names), [4, 5, 6, 7, 8]);
    assert!(!functions(names).contains_key("0000:00:02.0"));
}

#[test]
fn a_function_below_a_missing_bridge_is_not_at_the_link_of_the_one_above() {
    let port = |speed: &str, buses: &str| {
        format!(
            "{PORT}\tBus: primary=00, {buses}, sec-latency=0\n\tCapabilities: [70] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkCap:\tPort #0, Speed {speed}, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n\t\tSltCap:\tAttnBtn- PwrCtrl-\n\t\t\tSlot #3, PowerLimit 75.000W; Interlock- NoCompl+\n"
        )
    };
    let drive = |bus: &str, speed: &str| {
        let header = DRIVE.replacen("01:", &format!("{bus}:"), 1);
        format!(
            "{header}\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed {speed}, Width x4\n"
        )
    };
    let around = "secondary=01, subordinate=05";
    let text = port("16GT/s", around) + &drive("03", "16GT/s");
    assert_eq!(parent(&text, "0000:03:00.0"), "0000:00:01.0");
    let found = &functions(&text)["0000:03:00.0"];
    assert_eq!((&found["limit"], &found["link"]["state"]), (&Value::Null, &"fine".into()), "{found:#}");
    assert!(source(&text).contains("The bridge above 0000:03 is unknown"), "{}", source(&text));
    // Two drives, slower than they could be: their own ports may be as fast.
    let two = port("8GT/s", around) + &drive("03", "8GT/s (downgraded)") + &drive("04", "8GT/s (downgraded)");
    let check = document(&two, "check");
    let ids: Vec<&Value> = check["findings"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    for id in ["slot-limited", "oversubscribed-hop", "link-downtrained"] {
        assert!(!ids.contains(&&Value::from(id)), "{ids:?}");
    }
    assert!(finding(&two, "link-below-drive")["title"].to_string().contains("port"), "{ids:?}");
    let direct = port("8GT/s", "secondary=03, subordinate=03") + &drive("03", "8GT/s (downgraded)");
    assert_eq!(finding(&direct, "slot-limited")["severity"], "info");
}

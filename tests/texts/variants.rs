//! Forms of listings that other programs and loops of a shell print, and drives that listings name in part.

use std::fmt::Write as _;

use iodyno::source::{SysRoot as _, import};
use serde_json::Value;

use crate::{
    damaged::{drives, printed},
    stated::{check, document, link},
};

fn lacks(content: &str) -> String {
    document(content, "tree")["source"]["lacks"].to_string()
}

fn unused(content: &str) -> Value {
    document(content, "tree")["source"]["unused_lines"].clone()
}

fn addresses(content: &str) -> Vec<(String, Value)> {
    drives(content).into_iter().map(|(name, drive)| (name, drive["address"].clone())).collect()
}

fn named(rows: &[(&str, &str)]) -> Vec<(String, Value)> {
    rows.iter().map(|(name, address)| ((*name).to_owned(), (*address).into())).collect()
}

/// All functions of a text with the function above each, in order of address.
fn parents(content: &str) -> Vec<(String, String)> {
    fn walk(node: &Value, above: &str, found: &mut Vec<(String, String)>) {
        let address = node["address"].as_str().unwrap();
        if address.contains('.') {
            found.push((address.to_owned(), above.to_owned()));
        }
        node["children"].as_array().unwrap().iter().for_each(|child| walk(child, address, found));
    }
    let tree = document(content, "tree");
    let mut found = Vec::new();
    for root in tree["root_complexes"].as_array().unwrap() {
        walk(root, root["parent"].as_str().unwrap_or_default(), &mut found);
    }
    found.sort();
    found
}

fn function(content: &str, address: &str) -> Value {
    let tree = document(content, "tree");
    let mut open: Vec<&Value> = tree["root_complexes"].as_array().unwrap().iter().collect();
    while let Some(node) = open.pop() {
        if node["address"] == address {
            return node.clone();
        }
        open.extend(node["children"].as_array().into_iter().flatten());
    }
    panic!("{address} is not in the tree");
}

const TWO: &str = "\
00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex [1022:1480]
01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO [144d:a80a]
0c:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO [144d:a80a]
";

/// `lsblk -J`: without models.
fn lsblk(names: &[&str]) -> String {
    let disk = |name: &&str| {
        format!(
            r#"{{"name":"{name}", "maj:min":"259:0", "rm":false, "size":"931.5G", "ro":false, "type":"disk", "mountpoints":[null],
  "children": [
    {{"name":"{name}p1", "maj:min":"259:1", "rm":false, "size":"931.5G", "ro":false, "type":"part", "mountpoints":["/mnt/{name}"]}}
  ]
}}"#
        )
    };
    let disks: Vec<String> = names.iter().map(disk).collect();
    format!("{{\n\"blockdevices\": [\n{}\n]\n}}\n", disks.join(",\n"))
}

#[test]
fn drives_of_a_list_without_models_are_matched_in_order_and_counted_once() {
    let text = format!("$ lspci -nn\n{TWO}$ lsblk -J\n{}", lsblk(&["nvme0n1", "nvme1n1"]));
    assert_eq!(addresses(&text), named(&[("nvme0n1", "0000:01:00.0"), ("nvme1n1", "0000:0c:00.0")]));
    let sentence = "Drives nvme0, nvme1 are matched in order of address, which is not certain";
    assert!(lacks(&text).contains(sentence), "{}", lacks(&text));
    assert!(printed(&text, &["tree"]).contains(sentence));
    // Numbers are no words: nvme10 is behind nvme2.
    let functions = (1..=11)
        .map(|bus| format!("{bus:02x}:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd Device [144d:a80a]\n"))
        .collect::<Vec<_>>()
        .concat();
    let names: Vec<String> = (0..11).map(|number| format!("nvme{number}n1")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = drives(&format!("{functions}\n{}", lsblk(&names)));
    assert_eq!(found["nvme2n1"]["address"], "0000:03:00.0");
    assert_eq!(found["nvme10n1"]["address"], "0000:0b:00.0");
    // Another number of them, and a known controller out of order.
    let fewer = format!("{TWO}\n{}", lsblk(&["nvme0n1"]));
    assert_eq!(addresses(&fewer).len(), 3);
    let log = "[    1.0] nvme nvme0: pci function 0000:21:00.0\n";
    let order = format!("{TWO}\n{log}\n{}", lsblk(&["nvme0n1", "nvme1n1", "nvme2n1"]));
    assert!(!lacks(&order).contains("in order of address"), "{}", lacks(&order));
}

#[test]
fn groups_of_the_iommu_are_lists_of_functions() {
    let function_of = |place: &str, rest: &str| format!("{place} {rest}\n");
    let bridge = "00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Device [1022:1483]";
    let drive = "01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 [144d:a808]";
    let audio = "0b:00.3 Audio device [0403]: Advanced Micro Devices, Inc. [AMD] Device [1022:1487]";
    let line = function_of("IOMMU Group 2", bridge)
        + &function_of("IOMMU Group 15", drive)
        + &function_of("IOMMU Group 7", audio);
    let headings = format!(
        "IOMMU Group 2:\n\t{bridge}\nIOMMU Group 15:\n\t{drive}\n\tKernel driver in use: nvme\n\nIOMMU Group 7:\n\t{audio}\n"
    );
    let stripped = headings.replace('\t', "");
    let unraid = "IOMMU group 2:\t[1022:1483] 00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 1483
IOMMU group 15:\t[144d:a808] [R] 01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983
IOMMU group 7:\t[1022:1487] 0b:00.3 Audio device: Advanced Micro Devices, Inc. [AMD] Device 1487
";
    let columns = "\
Group 2:        [1022:1483] [R] 00:01.1  PCI bridge                               Device
Group 7:        [1022:1487]     0b:00.3  Audio device                             Device
Group 15:       [144d:a808] [R] 01:00.0  Non-Volatile memory controller           NVMe SSD Controller SM981/PM981/PM983
";
    for text in [line.as_str(), &headings, &stripped, unraid, columns] {
        assert_eq!(addresses(text), named(&[("nvme@01:00.0", "0000:01:00.0")]), "{text}");
        for (address, group, device) in
            [("0000:00:01.1", 2, "0x1483"), ("0000:01:00.0", 15, "0xa808"), ("0000:0b:00.3", 7, "0x1487")]
        {
            let found = function(text, address);
            assert_eq!((&found["iommu_group"], &found["device"]), (&group.into(), &device.into()), "{text}");
        }
        assert_eq!(unused(text), serde_json::json!([]), "{text}");
    }
    // A list behind the groups is in none of them.
    let other =
        format!("{headings}\n02:00.0 Ethernet controller [0200]: Intel Corporation I210 [8086:1533]\n");
    assert_eq!(function(&other, "0000:02:00.0")["iommu_group"], Value::Null);
}

#[test]
fn a_drawing_of_typographic_dashes_has_its_parents() {
    let drawing = "\
-+-[0000:20]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
 |           +-01.1-[21-23]----00.0-[22-23]--+-01.0-[23]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO
 |           |                               \\-02.0  ASMedia Technology Inc. Device 2824
 |           \\-08.1-[24]--
 \\-[0000:00]---01.1-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO
";
    let whole = parents(drawing);
    assert_eq!(whole.len(), 9, "{whole:?}");
    let boxes = |text: &str| -> String {
        let drawn = |line: &str| {
            let end = line.find("  A").or(line.find("  S")).unwrap_or(line.len());
            let signs = line[..end].replace('-', "─").replace('|', "│").replace('\\', "└").replace('+', "├");
            format!("{signs}{}\n", &line[end..])
        };
        text.lines().map(drawn).collect()
    };
    for changed in [
        drawing.replace("--", "–"),
        drawing.replace("----", "——").replace("---", "—").replace("--", "–"),
        drawing.replace("--", "—"),
        drawing.replace('|', "&#124;").replace('\\', "&#92;"),
        boxes(drawing),
    ] {
        assert_eq!(parents(&changed), whole, "{changed}");
    }
}

#[test]
fn pages_without_line_ends_have_those_of_their_tags() {
    let plain = "\
00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1, Exit Latency L1 <64us
\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (ok)
";
    let whole = (parents(plain), link(plain, "0000:01:00.0"));
    assert_eq!(whole.1, (8.0.into(), 4.into()));
    let escaped = plain.replace('<', "&lt;");
    let lines = |open: &str, close: &str| {
        let indented = |line: &str| format!("{open}{}{close}", line.replace('\t', "&nbsp;&nbsp;"));
        escaped.lines().map(indented).collect::<Vec<_>>().concat()
    };
    for page in [
        format!("<html><body><p>My box:</p><pre>{}</pre></body></html>", lines("", "<br>")),
        format!("Why is it slow?<br/><br/>{}Thanks", lines("", "<BR />")),
        format!("<div class=\"post\">{}</div>", lines("<p>", "</p>")),
        lines("<div>", "</div>"),
        format!("<ul>{}</ul>", lines("<li>", "</li>")),
    ] {
        assert_eq!((parents(&page), link(&page, "0000:01:00.0")), whole, "{page}");
    }
}

#[test]
fn links_of_sysfs_name_drives_and_their_bridges() {
    let link =
        |name: &str, target: &str| format!("lrwxrwxrwx 1 root root 0 Nov  1 12:00 {name} -> {target}\n");
    let first = "devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme1";
    let second = "devices/pci0000:00/0000:00:03.1/0000:0b:00.0/0000:0c:00.0/0000:0d:00.0/nvme/nvme0";
    let classes = format!(
        "$ ls -l /sys/class/nvme\ntotal 0\n{}{}",
        link("nvme0", &format!("../../{second}")),
        link("nvme1", &format!("../../{first}"))
    );
    assert_eq!(addresses(&classes), named(&[("nvme0", "0000:0d:00.0"), ("nvme1", "0000:01:00.0")]));
    let pairs = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    };
    let tree = [
        ("0000:00:01.1", "0000:00"),
        ("0000:00:03.1", "0000:00"),
        ("0000:01:00.0", "0000:00:01.1"),
        ("0000:0b:00.0", "0000:00:03.1"),
        ("0000:0c:00.0", "0000:0b:00.0"),
        ("0000:0d:00.0", "0000:0c:00.0"),
    ];
    assert_eq!(parents(&classes), pairs(&tree));
    assert_eq!(unused(&classes), serde_json::json!([]));
    let paths = format!("/sys/{first}\n/sys/{second}\n");
    assert_eq!(parents(&paths), pairs(&tree));
    let blocks = format!(
        "total 0\n{}{}{}{}",
        link("loop0", "../devices/virtual/block/loop0"),
        link("nvme0n1", &format!("../{second}/nvme0n1")),
        link("nvme1n1", &format!("../{first}/nvme1n1")),
        link("sda", "../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"),
    );
    let names = [("nvme0n1", "0000:0d:00.0"), ("nvme1n1", "0000:01:00.0"), ("sda", "0000:00:17.0")];
    assert_eq!(addresses(&blocks), named(&names));
    assert!(printed(&blocks, &["tree"]).contains("ls -l /sys/block"));
    // The drives of lsblk at the functions of lspci, in the order that the links have.
    let devices = link("/sys/class/nvme/nvme0/device", "../../../0000:0c:00.0")
        + &link("/sys/class/nvme/nvme1/device", "../../../0000:01:00.0");
    let by_path = link("pci-0000:0c:00.0-nvme-1", "../../nvme0n1")
        + &link("pci-0000:0c:00.0-nvme-1-part1", "../../nvme0n1p1")
        + &link("pci-0000:01:00.0-nvme-1", "../../nvme1n1");
    for links in [devices, by_path] {
        let text = format!("{TWO}\n{links}\n{}", lsblk(&["nvme0n1", "nvme1n1"]));
        assert_eq!(
            addresses(&text),
            named(&[("nvme0n1", "0000:0c:00.0"), ("nvme1n1", "0000:01:00.0")]),
            "{links}"
        );
        assert!(!lacks(&text).contains("nvme0"), "{}", lacks(&text));
    }
}

#[test]
fn a_domain_is_below_the_vmd_function_that_the_text_states() {
    let log = "\
[    1.0] pci 0000:64:00.5: [8086:28c0] type 00 class 0x010400
[    1.0] pci 0000:c9:00.5: [8086:28c0] type 00 class 0x010400
[    2.1] vmd 0000:c9:00.5: PCI host bridge to bus 10000:80
[    2.2] pci 10000:80:02.0: [8086:347a] type 01 class 0x060400
[    2.2] pci 10000:81:00.0: [8086:0b60] type 00 class 0x010802
[    2.3] pci 10000:80:02.0: PCI bridge to [bus 81]
[    3.1] vmd 0000:64:00.5: PCI host bridge to bus 10001:80
[    3.2] pci 10001:80:03.0: [8086:347b] type 01 class 0x060400
";
    let rows = parents(log);
    let roots = &document(log, "tree")["root_complexes"];
    let above = |address: &str| -> Value {
        roots.as_array().unwrap().iter().find(|root| root["address"] == address).unwrap()["parent"].clone()
    };
    assert_eq!(above("10000:80"), "0000:c9:00.5", "{rows:?}");
    assert_eq!(above("10001:80"), "0000:64:00.5", "{rows:?}");
    let path = "/sys/devices/pci0000:c9/0000:c9:00.5/pci10000:80/10000:80:02.0/10000:81:00.0/nvme/nvme0\n";
    let roots = document(path, "tree")["root_complexes"].clone();
    let nested = roots.as_array().unwrap().iter().find(|root| root["address"] == "10000:80").unwrap();
    assert_eq!(nested["parent"], "0000:c9:00.5");
    // A domain below itself.
    let cycle = "vmd 10000:81:00.0: PCI host bridge to bus 10000:80\npci 10000:81:00.0: [8086:0b60] type 00 class 0x010802\n";
    assert_eq!(drives(cycle).len(), 1);
    let below = "/sys/devices/pci0000:00/0000:05:00.0/pci10000:00/10000:01:00.0\n/sys/devices/pci10000:00/10000:01:00.0/0000:05:00.0/pci10000:00\n";
    assert_eq!(parents(below).len(), 2);
}

#[test]
fn lists_of_busybox_have_ids_and_drivers() {
    let plain = "\
00:00.0 Class 0600: 8086:1237
01:00.0 Class 0108: 144d:a808 nvme
02:00.0 Class 0200: 1af4:1000 virtio-pci
";
    let quoted = "\
00:00.0 \"Class 0600\" \"8086\" \"1237\" \"1af4\" \"1100\"
01:00.0 \"Class 0108\" \"144d\" \"a808\" \"144d\" \"a801\" \"nvme\"
02:00.0 \"Class 0200\" \"1af4\" \"1000\" \"1af4\" \"0001\" \"virtio-pci\"
";
    for text in [plain, quoted] {
        assert_eq!(addresses(text), named(&[("nvme@01:00.0", "0000:01:00.0")]), "{text}");
        for (address, class, device, driver) in [
            ("0000:00:00.0", "0x060000", "0x1237", Value::Null),
            ("0000:01:00.0", "0x010802", "0xa808", "nvme".into()),
            ("0000:02:00.0", "0x020000", "0x1000", "virtio-pci".into()),
        ] {
            let found = function(text, address);
            let stated = (&found["class"], &found["device"], &found["driver"]);
            assert_eq!(stated, (&class.into(), &device.into(), &driver), "{text}");
        }
    }
}

#[test]
fn the_number_of_a_slot_is_its_name() {
    let port = |slot: u32| {
        format!(
            "00:01.1 PCI bridge: A\n\tBus: primary=00, secondary=01, subordinate=01\n\tCapabilities: [58] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4\n\t\tSltCap:\tAttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug- Surprise-\n\t\t\tSlot #{slot}, PowerLimit 75W; Interlock- NoCompl+\n\t\tSltCtl:\tEnable: AttnBtn-\n"
        )
    };
    assert_eq!(function(&port(4), "0000:00:01.1")["slot"], "4");
    assert_eq!(function(&port(0), "0000:00:01.1")["slot"], Value::Null, "boards that number none");
    assert!(!check(&port(4)).is_empty());
}

#[test]
fn of_a_long_log_the_newest_messages_are_kept() {
    let log = (0..3000).fold(String::new(), |mut log, at| {
        let _infallible = writeln!(log, "[{at:5}.000000] nvme nvme0: I/O 12 QID 3 timeout, aborting");
        log
    });
    let root = import::read(log.as_bytes()).unwrap().unwrap();
    let kept = String::from_utf8(root.read("/probe/nvme-messages").unwrap()).unwrap();
    assert_eq!(kept.lines().count(), 256);
    assert!(kept.lines().next_back().unwrap().starts_with("[ 2999."), "{kept}");
}

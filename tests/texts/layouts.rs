//! Layouts of listings: broken lines, padded ones, other ends of lines, other code pages, lines without their function.

use serde_json::Value;

use crate::{
    damaged::functions,
    stated::{document, finding, link},
};

/// Addresses, each with that of its parent.
fn outline(content: &str) -> Vec<(String, Vec<String>)> {
    let below = |node: &Value| {
        let children = node["children"].as_array().unwrap().iter();
        children.map(|child| child["address"].as_str().unwrap().to_owned()).collect()
    };
    functions(content).into_iter().map(|(address, node)| (address, below(&node))).collect()
}

fn unused(content: &str) -> Vec<(u64, String)> {
    let document = document(content, "tree");
    let lines = document["source"]["unused_lines"].as_array().unwrap().iter();
    lines.map(|it| (it["line"].as_u64().unwrap(), it["reason"].as_str().unwrap().to_owned())).collect()
}

const PORT: &str = "\
00:1d.0 PCI bridge: Intel Corporation HM175 Chipset PCI Express Root Port (rev f1)
        Flags: bus master, fast devsel, latency 0, IRQ 123, IOMMU group 2
        Bus: primary=00, secondary=05, subordinate=05, sec-latency=0
        Kernel driver in use: pcieport
05:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM961/PM961
        Flags: bus master, fast devsel, latency 0, IRQ 16, NUMA node 0, IOMMU group 12
        Kernel driver in use: nvme
";

#[test]
fn a_group_in_a_line_of_its_own_is_the_rest_of_the_flags() {
    let expected = outline(PORT);
    assert_eq!(expected.len(), 3, "with its root bus");
    for (from, to) in [("IOMMU group ", "IOMMU\ngroup "), (", IOMMU group ", ",\nIOMMU group ")] {
        let text = PORT.replace(from, to);
        assert_eq!(outline(&text), expected, "{text}");
        for (address, driver, group) in [("0000:00:1d.0", "pcieport", 2), ("0000:05:00.0", "nvme", 12)] {
            let function = &functions(&text)[address];
            assert_eq!(
                (&function["driver"], &function["iommu_group"]),
                (&driver.into(), &group.into()),
                "{text}"
            );
        }
        assert_eq!(unused(&text), [], "{text}");
    }
}

const LIST: &str = "\
# lspci
00:00.0 PCI bridge: Qualcomm Device 0113
01:00.0 Non-Volatile memory controller: Phison Electronics Corporation E12 NVMe Controller (rev 01)
";

const DETAILS: &str = "\
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x2, ASPM L0s L1, Exit Latency L0s <4us, L1 <8us
\t\tLnkSta:\tSpeed 5GT/s, Width x2
";

#[test]
fn lines_of_a_body_behind_a_command_are_of_no_function() {
    for between in ["\n# lspci -nvv\n", "# lspci -nvv\n", "\n"] {
        let text = format!("{LIST}{between}{DETAILS}");
        assert_eq!(link(&text, "0000:01:00.0"), (Value::Null, Value::Null), "{text}");
        assert_eq!(finding(&text, "link-downtrained"), Value::Null, "{text}");
        let reasons = unused(&text);
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons.iter().all(|(_, why)| why.contains("a line of no function")), "{reasons:?}");
    }
    let selected = format!("{LIST}# lspci -nvv\n{DETAILS}# lspci -vvs 01:00.0 | grep Lnk\n{DETAILS}");
    assert_eq!(link(&selected, "0000:01:00.0"), (5.0.into(), 2.into()), "of the last command");
    assert_eq!(unused(&selected).len(), 2, "of the first command");
    let own = format!("{LIST}{DETAILS}");
    assert_eq!(link(&own, "0000:01:00.0"), (5.0.into(), 2.into()), "directly behind its function");
    let doubled = own.replace('\n', "\n\n");
    assert_eq!(link(&doubled, "0000:01:00.0"), (5.0.into(), 2.into()), "an empty line behind each");
}

const DRAWING: &str = r"# lspci -t
-+-[0000:00]-+-00.0
 |           +-01.1-[01]--+-00.0
 |           |            \-00.1
 |           \-18.7
 +-[0000:20]-+-00.0
 |           \-08.1-[22]--+-00.0
 |                        \-00.4
 \-[0000:60]-+-00.0
             +-03.1-[61-67]----00.0-[62-67]--+-02.0-[63]----00.0
             |                               \-04.0-[64]----00.0
             \-18.7
";

#[test]
fn blanks_at_the_ends_of_lines_do_not_matter() {
    let expected = outline(DRAWING);
    assert_eq!(expected.len(), 20, "with its root buses");
    let padded = |width: usize| {
        DRAWING.lines().flat_map(|line| [format!("{line:width$}"), "\n".to_owned()]).collect::<String>()
    };
    for text in [DRAWING.replace('\n', " \n"), padded(80), padded(132)] {
        assert_eq!(outline(&text), expected, "{text}");
        assert_eq!(unused(&text), [], "{text}");
    }
}

#[test]
fn lines_may_end_in_carriage_returns_alone() {
    let text = PORT.replace('\n', "\r");
    assert_eq!(outline(&text), outline(PORT));
    let ends = ["LnkSta: Speed 5GT/s, Width x2\r", "LnkCap: Port #0, Speed 8GT/s, Width x2\r"].join("\t\t");
    assert_eq!(link(&format!("{text}\t\t{ends}"), "0000:05:00.0"), (5.0.into(), 2.into()));
}

#[test]
fn a_folded_text_with_equals_signs_at_ends_of_lines_is_not_encoded() {
    let folded = PORT.replace(
        "        Kernel driver in use: pcieport\n",
        &"        L1SubCap: PCI-PM_L1.2+ PCI-PM_L1.1+ L1_PM_Substates+ PortTPowerOnTime=\n10us\n".repeat(3),
    );
    assert_eq!(outline(&folded), outline(PORT));
}

#[test]
fn a_currency_sign_is_the_backslash_of_other_code_pages() {
    for sign in ["\u{a5}", "\u{ffe5}", "\u{20a9}"] {
        assert_eq!(outline(&DRAWING.replace('\\', sign)), outline(DRAWING), "{sign}");
    }
}

#[test]
fn a_namespace_has_the_drive_of_its_command() {
    let fields = "nsze    : 0x773bd2b0(2000409264\u{2081}\u{2080})\nncap    : 0x773bd2b0\nflbas   : 0\nlbaf  0 : ms:0   lbads:9  rp:0 (in use)\n";
    for text in [
        format!("sudo nvme id-ns /dev/nvme1 -n 1 -H\nNVME Identify Namespace 1:\n{fields}"),
        format!("# nvme id-ns /dev/nvme1n1\n```\nNVME Identify Namespace 1:\n{fields}```\n"),
        format!("nvme id-ns /dev/nvme1n1\n\n```text\nNVME Identify Namespace 1:\n{fields}```\n"),
    ] {
        let found = crate::damaged::drives(&text);
        assert_eq!(found.len(), 1, "{text}");
        let size = &found["nvme1n1"]["size_bytes"];
        assert_eq!(*size, 2_000_409_264_u64 * 512, "{text}");
    }
}

#[test]
fn a_second_machine_with_another_first_function_is_not_used() {
    let other = "\
00:00.0 PCI bridge [0604]: Cadence Design Systems, Inc. Device [17cd:0100] (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0

91:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 [144d:a808]
\tKernel driver in use: nvme
";
    let first = format!(
        "00:00.0 Host bridge: Intel Corporation Sky Lake Host Bridge/DRAM Registers (rev 08)\n\n{PORT}"
    );
    let text = format!("{first}{other}");
    assert_eq!(outline(&text), outline(&first));
    let contradictions = document(&text, "tree")["source"]["contradictions"].to_string();
    assert!(contradictions.contains("it is not used; open it alone"), "{contradictions}");
}

#[test]
fn a_wrapped_name_may_have_a_colon() {
    let text = "\
00:18.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Renoir
Device 24: Function 0 [1022:1448]
00:18.1 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Renoir
Device 24: Function 1 [1022:1449]
";
    let found = functions(text);
    assert_eq!(found["0000:00:18.1"]["device"], "0x1449", "{}", found["0000:00:18.1"]);
    assert_eq!(unused(text), []);
}

#[test]
fn one_number_out_of_range_loses_one_drive() {
    let text = format!(
        r#"{{"blockdevices":[{{"name":"nvme0n1","size":{},"type":"disk"}},{{"name":"nvme1n1","size":1000204886016,"type":"disk"}}]}}"#,
        "1".repeat(400)
    );
    let found = crate::damaged::drives(&text);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme1n1"]);
    assert_eq!(found["nvme1n1"]["size_bytes"], 1_000_204_886_016_u64);
    let reasons = unused(&text);
    assert!(reasons.iter().any(|(_, why)| why == "nvme0n1 has a number out of range"), "{reasons:?}");
}

#[test]
fn a_long_name_makes_no_long_lines() {
    let slot = "\u{6f22}A".repeat(50_000);
    let text = format!("{PORT}\tPhysical Slot: {slot}\n");
    for command in ["tree", "drives"] {
        let printed = crate::damaged::printed(&text, &[command]);
        assert!(printed.lines().all(|line| line.chars().count() < 500), "{command}");
    }
}

#[test]
fn bits_of_a_register_without_their_indentation_end_no_function() {
    let bits = "\
Capabilities: [e0] Vendor Specific Information: Intel Capabilities v1
CapA: Peg60Dis- Peg12Dis+ Peg11Dis+ Peg10Dis- PeLWUDis- DmiWidth=x4
EccDis+ ForceEccEn- VTdDis- DmiG2Dis- PegG2Dis- DDRMaxSize=Unlimited
1NDis- CDDis- DDPCDis- X2APICEn+ PDCDis- IGDis- CDID=0 CRID=5
DDROCCAP+ OCEn- DDRWrtVrefEn- DDR3LEn+
CapB: ImguDis+ OCbySSKUCap- OCbySSKUEn- SMTCap+ CacheSzCap 0x2
";
    let stripped: String = PORT.lines().flat_map(|line| [line.trim(), "\n"]).collect();
    let text = stripped.replace("Kernel driver", &format!("{bits}Kernel driver"));
    for (address, driver) in [("0000:00:1d.0", "pcieport"), ("0000:05:00.0", "nvme")] {
        assert_eq!(functions(&text)[address]["driver"], driver);
    }
    assert_eq!(unused(&text), []);
}

#[test]
fn functions_behind_bridges_without_a_bus_are_named() {
    let bridges = (0..6).map(|at| format!("0001:00:02.{at} PCI bridge: IBM EADS-X PCI-X to PCI-X Bridge\n"));
    let cards =
        (0..6).map(|at| format!("0001:00:02.{at}/01.0 Ethernet controller: Intel Corporation 82557\n"));
    let text: String = bridges.chain(cards).collect();
    assert_eq!(functions(&text).len(), 7, "with their root bus");
    let reasons = unused(&text);
    assert_eq!(reasons.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [7, 8, 9, 10, 11, 12]);
    assert!(
        reasons.iter().all(|(_, why)| why.contains("behind a bridge whose bus no line shows")),
        "{reasons:?}"
    );
}

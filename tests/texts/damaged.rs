//! Texts as mail programs, forums and terminals left them: cut, wrapped, coloured, numbered, in any order; and what the program
//! must not claim about them.

use std::{collections::BTreeMap, fs, io::Write};

use crate::program::{iodyno, text};
use serde_json::Value;

/// What a command prints of a text.
pub fn printed(content: &str, arguments: &[&str]) -> String {
    let (mut file, state) = (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
    file.write_all(content.as_bytes()).unwrap();
    let arguments: Vec<&str> =
        arguments.iter().copied().chain(["--open", file.path().to_str().unwrap()]).collect();
    let output = iodyno(state.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{content}\n{}", text(&output));
    text(&output)
}

fn document(content: &str, command: &str) -> Value {
    serde_json::from_str(&printed(content, &[command, "--json"])).unwrap()
}

fn by_name(rows: &Value) -> BTreeMap<String, Value> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row.clone())).collect()
}

pub fn drives(content: &str) -> BTreeMap<String, Value> {
    by_name(&document(content, "drives")["drives"])
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect()
}

/// All functions of a text by address.
pub fn functions(content: &str) -> BTreeMap<String, Value> {
    let tree = document(content, "tree");
    let mut open: Vec<&Value> = tree["root_complexes"].as_array().unwrap().iter().collect();
    let mut found = BTreeMap::new();
    while let Some(node) = open.pop() {
        found.insert(node["address"].as_str().unwrap().to_owned(), node.clone());
        open.extend(node["children"].as_array().unwrap());
    }
    found
}

const LSBLK: &str = r#"{
   "blockdevices": [
      {
         "fsroots": [
             null
         ],
         "kname": "nvme0n1",
         "log-sec": 512,
         "model": "XG6",
         "name": "nvme0n1",
         "sched": "none",
         "size": "465.8G",
         "type": "disk"
      }
   ]
}
"#;

#[test]
fn lists_over_several_lines_and_documents_behind_lspci_are_read() {
    let one = &drives(LSBLK)["nvme0n1"];
    assert_eq!((&one["model"], &one["lba_bytes"]), (&"XG6".into(), &512.into()));
    // Indented as the body of a function is, and yet other listings.
    let body = "3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 [1179:011a]\n\tKernel driver in use: nvme\n";
    let table =
        "           CPU0       CPU1       \n 24:          1          0  IO-APIC   5-edge      nvme0q0\n";
    for text in [
        format!("{body}{LSBLK}{table}"),
        format!("{table}{body}{LSBLK}"),
        format!("{body}\n{table}\n{LSBLK}"),
    ] {
        let source = &document(&text, "tree")["source"];
        assert_eq!(
            (source["listings"].as_array().unwrap().len(), &source["unused"]),
            (3, &0.into()),
            "{source}"
        );
        let drives = drives(&text);
        assert_eq!((&drives["nvme0n1"]["address"], drives.len()), (&"0000:3d:00.0".into(), 1));
    }
    let cut = format!("{body}{}", &LSBLK[..150]);
    assert!(
        document(&cut, "tree")["source"]["unused"].as_u64().unwrap() > 3,
        "each line of a cut document is named"
    );
}

#[test]
fn a_drawing_without_its_first_lines_keeps_what_it_shows() {
    let drawing = r" |           +-03.1-[61]--+-00.0  NVIDIA Corporation GP107GL [Quadro P620]
 |           |            \-00.1  NVIDIA Corporation GP107GL High Definition Audio Controller
 |           \-08.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse PCIe Dummy Host Bridge
 +-[0000:40]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
 |           \-01.1-[41]----00.0  Samsung Electronics Co Ltd Device a80a
 \-[0000:00]---00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
";
    let found = functions(drawing);
    for address in
        ["0000:61:00.0", "0000:61:00.1", "0000:40:00.0", "0000:40:01.1", "0000:41:00.0", "0000:00:00.0"]
    {
        assert!(found.contains_key(address), "{address} of {:?}", found.keys());
    }
    assert_eq!(document(drawing, "tree")["source"]["unused"], 1, "the device whose bus is missing");
}

#[test]
fn markup_in_the_first_line_hides_no_function() {
    for markup in ["[QUOTE=foo][code]", "<html><body><pre>", "> <pre class=x>", "\u{1b}[01;31m"] {
        let first = "-+-[0000:40]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex\n";
        assert!(functions(&format!("{markup}{first}")).contains_key("0000:40:00.0"), "{markup}");
        let list = format!("{markup}00:00.0 Host bridge: Intel Corporation Device 9a04\n");
        assert!(functions(&list).contains_key("0000:00:00.0"), "{markup}");
    }
}

#[test]
fn wrapped_names_are_whole() {
    let list = "02:00.0 Non-Volatile memory controller [0108]: Toshiba America Info Systems \n\
NVMe Controller [1179:010f] (rev 01) (prog-if 02 [NVM Express])\n\
\tSubsystem: Toshiba America Info Systems NVMe Controller [1179:0001]\n";
    let function = &functions(list)["0000:02:00.0"];
    assert_eq!(
        (&function["vendor"], &function["device"]),
        (&"0x1179".into(), &"0x010f".into()),
        "{function}"
    );
    // With the blanks at the ends (format=flowed) and without.
    let flowed = r"-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root 
Complex
            +-00.2  Advanced Micro Devices, Inc. [AMD] Starship/Matisse of a 
IOMMU
            +-01.2-[01-09]----00.0-[02-09]--+-02.0-[03]----00.0  Realtek Semiconductor 
Co., Ltd. RTL8125 2.5GbE Controller
            |                               \-05.0-[06]----00.0  Realtek 
Semiconductor Co., Ltd. RTL8111/8168/8411 PCI Express Gigabit Ethernet 
Controller
            \-03.1-[0a]----00.0  Seagate Technology PLC FireCuda 530 SSD
";
    for text in [flowed.to_owned(), flowed.replace(" \n", "\n")] {
        let found = functions(&text);
        let name =
            "Realtek Semiconductor Co., Ltd. RTL8111/8168/8411 PCI Express Gigabit Ethernet Controller";
        assert_eq!(found["0000:06:00.0"]["name"], name);
        assert!(found.contains_key("0000:0a:00.0") && found.contains_key("0000:00:00.2"));
        let source = &document(&text, "tree")["source"];
        assert_eq!(source["unused"], 0, "{source}");
    }
}

#[test]
fn tables_folded_at_any_width_have_the_same_drives() {
    let dashes =
        |lengths: &[usize]| lengths.iter().map(|length| "-".repeat(*length) + " ").collect::<String>();
    let row = |name: &str| {
        let model = "INTEL SSDPE2KE020T7";
        format!(
            "{name:<16} PHLE8066001Y2P0DGN   {model:<40} 1           2.00  TB /   2.00  TB    512   B +  0 B   QDV10170\n"
        )
    };
    let heading = format!(
        "{:<16} {:<20} {:<40} {:<9} {:<26} {:<16} FW Rev  \n",
        "Node", "SN", "Model", "Namespace", "Usage", "Format"
    );
    let whole = format!(
        "{heading}{}\n{}{}",
        dashes(&[16, 20, 40, 9, 26, 16, 8]),
        row("/dev/nvme0n1"),
        row("/dev/nvme1n1")
    );
    let fold = |width: usize, at_blanks: bool| -> String {
        let mut out = String::new();
        for line in whole.lines() {
            let mut rest = line;
            while rest.len() > width {
                let blank = rest[..width].rfind(' ').filter(|_| at_blanks);
                let (start, end) = rest.split_at(blank.map_or(width, |at| at + 1));
                out.push_str(start);
                out.push('\n');
                rest = end;
            }
            out.push_str(rest);
            out.push('\n');
        }
        out
    };
    let expected = drives(&whole);
    assert_eq!(expected["nvme1n1"]["model"], "INTEL SSDPE2KE020T7");
    let rows_alone = whole.replace("T7                      1 ", "T7\n1 ");
    for text in [fold(80, false), fold(80, true), fold(100, true), fold(120, true), rows_alone] {
        let found = drives(&text);
        for name in ["nvme0n1", "nvme1n1"] {
            for field in ["model", "serial", "firmware", "size_bytes", "lba_bytes"] {
                assert_eq!(found[name][field], expected[name][field], "{name} {field}\n{text}");
            }
        }
    }
    let empty = "Node SN Model Namespace Usage Format FW Rev\n\n/dev/nvme0n1     50026B7685F13C1E     KINGSTON SNV2S250G                                250.06  GB / 250.06  GB    512   B +  0 B   ELFK0S.4\n";
    assert_eq!(drives(empty)["nvme0n1"]["model"], "KINGSTON SNV2S250G");
}

const LIMITED: &str = "[    4.763120] pci 0004:41:00.0: [1f40:2263] type 00 class 0x010802\n\
[    4.764004] pci 0004:41:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0004:40:00.0 (capable of 15.752 Gb/s with 8.0 GT/s PCIe x2 link)\n";

#[test]
fn a_limited_link_of_the_kernel_log_is_a_finding() {
    let found = functions(LIMITED);
    for address in ["0004:40:00.0", "0004:41:00.0"] {
        let link = &found[address]["link"];
        assert_eq!((&link["speed_gts"], &link["width"]), (&2.5.into(), &1.into()), "{address}: {link}");
    }
    assert_eq!(found["0004:41:00.0"]["vendor"], "0x1f40");
    let document = document(LIMITED, "check");
    assert!(ids(&document["findings"]).contains(&"link-below-drive"), "{document}");
    // A bridge that leads to another bus has a link of its own.
    let other = format!("{LIMITED}[    4.77] pci 0004:40:00.0: PCI bridge to [bus 42-43]\n");
    assert!(functions(&other)["0004:41:00.0"]["link"]["width"].is_null());
}

#[test]
fn checks_without_data_are_named_and_not_counted() {
    let drawing = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           \\-1d.0-[01]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n";
    let list = "01:00.0 Non-Volatile memory controller: Sandisk Corp WD Blue SN550 NVMe SSD\n";
    for (text, is_made) in [(drawing, "shared-root-complex"), (list, "")] {
        let document = document(text, "check");
        let not = ids(&document["not_judged"]);
        for id in ["link-downtrained", "slot-limited", "scheduler", "lba-512", "governor", "link-errors"] {
            assert!(not.contains(&id), "{id} of {text}");
        }
        assert!(!not.contains(&is_made), "{text}");
        let words = printed(text, &["check"]);
        assert!(words.contains("checks could not be made"), "{words}");
        let last = if is_made.is_empty() {
            "no check could be made with this text"
        } else {
            "checks could be made with this text (lspci -tv): none found a loss"
        };
        assert!(words.contains(last), "{words}");
        assert!(words.contains("not checked (the text has no speed and width of links"), "{words}");
        let words = printed(text, &["check", "--explain", "link-downtrained"]);
        assert!(
            words.contains("Not checked: the text has no speed") && !words.contains("Not found"),
            "{words}"
        );
    }
}

#[test]
fn a_drive_is_counted_once() {
    let listing = |models: [&str; 2]| {
        let row = |(at, model): (usize, &&str)| {
            format!(
                "/dev/nvme{at}n1     S{at}                   {model:<40} 1           2.00  TB /   2.00  TB    512   B +  0 B   F1\n"
            )
        };
        let rows: String = models.iter().enumerate().map(row).collect();
        let function = |bus: u8| {
            format!(
                "{bus}:00.0 Non-Volatile memory controller: Kingston Technology Company, Inc. Device 5013\n"
            )
        };
        format!("{}{}{rows}", function(41), function(42))
    };
    let same = drives(&listing(["KINGSTON SKC3000", "KINGSTON SKC3000"]));
    assert_eq!(same.len(), 2, "{same:?}");
    assert_eq!(same["nvme@41:00.0"]["model"], "KINGSTON SKC3000");
    assert_eq!(same["nvme@42:00.0"]["size_bytes"], 2_000_000_000_000_u64 / 512 * 512);
    assert!(same["nvme@41:00.0"]["serial"].is_null());
    let other = listing(["A1", "B2"]);
    assert_eq!(drives(&other).len(), 2);
    let lacks = document(&other, "tree")["source"]["lacks"].to_string();
    assert!(lacks.contains("`nvme list -v` or `ls -l /sys/block`"), "{lacks}");
    let vmd = "-+-[0000:00]-+-00.0  Intel Corporation Device 9a04\n |           \\-0e.0  Intel Corporation Volume Management Device NVMe RAID Controller\n \\-[10000:e0]---06.0-[e1]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n";
    assert_eq!(drives(vmd).len(), 1);
}

#[test]
fn listings_of_one_machine_give_the_same_in_any_order() {
    let drawing = "-[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex\n           \\-01.1-[41]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO\n";
    let numbers = "00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex [1022:1450]\n00:01.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge [1022:1483]\n41:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd Some Other [144d:a80c]\n";
    let ids = |text: &str| -> Vec<(String, Value, Value)> {
        functions(text)
            .into_iter()
            .map(|(at, node)| (at, node["vendor"].clone(), node["device"].clone()))
            .collect()
    };
    let first = ids(&format!("{drawing}\n{numbers}"));
    assert_eq!(first, ids(&format!("{numbers}\n{drawing}")));
    assert!(first.contains(&("0000:41:00.0".to_owned(), "0x144d".into(), "0xa80c".into())));
}

#[test]
fn bare_listings_of_one_drive_and_of_interrupts_open() {
    let bare = "NVME Identify Namespace 1:\nnsze    : 0x3a386030\nflbas   : 0\nnlbaf   : 1\nLBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)\nLBA Format  1 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0x1 Better\n";
    assert_eq!(drives(bare)["nvme@unnamed"]["lba_bytes"], 512);
    let table = "           CPU0       CPU1\n 24:          1          0  IO-APIC   5-edge      nvme0q0\n";
    assert!(printed(table, &["tree"]).contains("/proc/interrupts"));
}

#[test]
fn numbers_of_grep_are_no_domains() {
    let list = "1016:02:00.1 Ethernet controller: Intel Corporation Device 1563\n1020:03:00.0 Non-Volatile memory controller: Sandisk Corp WD Blue SN550 NVMe SSD\n1030:04:00.0 Host bridge: Intel Corporation Device 9a04\n";
    let found = functions(list);
    assert!(found.contains_key("0000:03:00.0") && !found.contains_key("1020:03:00.0"), "{:?}", found.keys());
}

#[test]
fn a_sheet_of_a_text_states_nothing_unknown() {
    let list = "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:3ec2]\n";
    let words = printed(list, &["sheet", "--format", "text"]);
    assert!(!words.contains("0 threads") && !words.contains("All settings have"), "{words}");
    assert!(!words.contains("from a capture") && words.contains("from a text of lspci"), "{words}");
}

#[test]
fn a_link_of_width_0_is_none() {
    let port = "00:1d.0 PCI bridge: Intel Corporation Device a330 (prog-if 00 [Normal decode])\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n\t\tDevCtl:\tMaxPayload 128 bytes, MaxReadReq 128 bytes\n\t\tLnkCap:\tPort #9, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x0 (downgraded)\n";
    let link = &functions(port)["0000:00:1d.0"]["link"];
    assert_eq!(link["state"], "none", "{link}");
    assert_eq!((&link["width"], &link["max_width"]), (&Value::from(0), &Value::from(4)), "{link}");
    let words = printed(port, &["tree", "--all"]);
    assert!(words.contains("no link, up to Gen3 x4"), "{words}");
    let capable_of_none = port.replace("Speed 8GT/s, Width x4", "Speed 8GT/s, Width x0");
    assert_eq!(functions(&capable_of_none)["0000:00:1d.0"]["link"]["max_width"], 0);
}

const ID_NS: &str = "# nvme id-ns /dev/nvme0n1 -H\nNVME Identify Namespace 1:\nnsze    : 0xba4d4ab0\nncap    : 0xba4d4ab0\n\n<snip>\n\nnlbaf   : 4\nflbas   : 0\n  [3:0] : 0\tLeast significant 4 bits of Current LBA Format Selected\n\n<snip>\nLBA Format  0 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0 Best (in use)\nLBA Format  1 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x1 Better\n";

#[test]
fn a_listing_that_a_person_cut_inside_is_read() {
    let drive = &drives(ID_NS)["nvme0n1"];
    assert_eq!(
        (drive["lba_bytes"].as_u64(), drive["size_bytes"].as_u64()),
        (Some(4096), Some(12_802_570_518_528))
    );
    let unused = document(ID_NS, "tree")["source"]["unused_lines"].clone();
    let lines: Vec<_> = unused.as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [6, 12], "{unused}");
}

#[test]
fn listings_that_contradict_each_other_are_not_mixed() {
    let row = "/dev/nvme0n1      /dev/ng0n1            S6EUNA0R500358       1.6TB NVMe Gen4 U.2 SSD                  0x1          1.60  TB /   1.60  TB    512   B +  0 B   REV.SN49\n\n";
    let text = format!("{row}{ID_NS}");
    let drive = &drives(&text)["nvme0n1"];
    assert_eq!(
        (drive["lba_bytes"].as_u64(), drive["size_bytes"].as_u64()),
        (Some(512), Some(1_600_000_000_000))
    );
    let named = "nvme0n1 has 1.60 TB in blocks of 512 B in line 1 and 12.8 TB in blocks of 4096 B in line 3";
    for command in ["tree", "check", "drives"] {
        let words = printed(&text, &[command]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(named), "{command}: {words}");
    }
    let unused =
        document(&format!("{text}\n\nno line of a listing\n"), "tree")["source"]["unused_lines"].clone();
    let lines: Vec<u64> =
        unused.as_array().unwrap().iter().map(|line| line["line"].as_u64().unwrap()).collect();
    assert!(lines.len() > 1 && lines.is_sorted(), "{unused}");
}

#[test]
fn a_line_with_several_contradictions_is_one_line() {
    let row = |serial: &str, model: &str, size: &str, firmware: &str| {
        format!(
            "/dev/nvme0n1     {serial:20} {model:40} 1         {size}  TB /   {size}  TB    512   B +  0 B   {firmware}\n\n"
        )
    };
    let text = row("S4EWNX0N123456", "Samsung SSD 970 EVO Plus 1TB", "1.00", "2B2QEXM7")
        + &row("S6Z1NJ0TA99999", "Samsung SSD 990 PRO 2TB", "2.00", "4B2QJXD7");
    let source = document(&text, "tree")["source"].clone();
    assert_eq!(source["contradictions"].as_array().map(Vec::len), Some(4), "{source}");
    assert_eq!(source["unused"].as_u64(), Some(1), "{source}");
    assert!(printed(&text, &["tree"]).contains("1 line not used (3)"));
}

#[test]
fn a_mark_in_place_of_lines_is_no_part_of_a_name() {
    let sandisk = "Sandisk Corp WD Black SN770 / PC SN740 256GB / PC SN560 (DRAM-less) NVMe SSD";
    let drawing = format!(
        "-[0000:00]-+-00.0  Intel Corporation Device 4660\n           +-1a.0-[03]----00.0  {sandisk}\n[...]\n           \\-1f.3  Intel Corporation Alder Lake-S HD Audio Controller\n"
    );
    let list = format!("03:00.0 Non-Volatile memory controller: {sandisk}\n[...]\n");
    for text in [drawing, list] {
        let name = functions(&text)["0000:03:00.0"]["name"].clone();
        assert!(name.as_str().is_some_and(|name| name.ends_with("NVMe SSD")), "{name}");
    }
}

#[test]
fn models_and_firmware_that_contradict_each_other_are_named() {
    let row = |model: &str, firmware: &str| {
        format!(
            "/dev/nvme0n1     S6EUNA0R500358       {model:40} 1         1.00  TB /   1.00  TB    512   B +  0 B   {firmware}\n\n"
        )
    };
    let contradictions = |text: &str| {
        let found = document(text, "drives")["source"]["contradictions"].clone();
        let rows: Vec<String> = serde_json::from_value(found).unwrap();
        rows
    };
    let updated = row("Samsung SSD 980 PRO 1TB", "4B2QGXA7") + &row("Samsung SSD 980 PRO 1TB", "5B2QGXA7");
    let sentence = "nvme0n1 has the firmware 4B2QGXA7 in line 1 and 5B2QGXA7 in line 3: line 1 is used.";
    assert_eq!(contradictions(&updated), [sentence]);
    assert!(printed(&updated, &["drives"]).contains("the text contradicts itself"));
    let other = row("Samsung SSD 980 PRO 1TB", "4B2QGXA7") + &row("KINGSTON SNV2S1000G", "4B2QGXA7");
    assert_eq!(contradictions(&other).len(), 1);
    let id_ctrl = "# nvme id-ctrl /dev/nvme0\nNVME Identify Controller:\nsn : S6EUNA0XXXXXXX\nmn : Samsung_SSD_980_PRO\nfr : 4B2QGXA7\n";
    assert_eq!(contradictions(&(row("Samsung SSD 980 PRO 1TB", "4B2QGXA7") + id_ctrl)), [""; 0]);
}

#[test]
fn a_drawing_quoted_with_bars_behind_a_fence_keeps_its_root_complex() {
    let text = fs::read_to_string(format!(
        "{}/tests/fixtures/listings/mail-strix-barred.txt",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap();
    let tree = document(&text, "tree");
    let roots: Vec<_> =
        tree["root_complexes"].as_array().unwrap().iter().map(|root| &root["address"]).collect();
    assert!(roots.contains(&&Value::from("0000:00")), "{roots:?}");
    assert!(!roots.contains(&&Value::from("0000:c3")), "{roots:?}");
    assert_eq!(functions(&text)["0000:c3:00.0"]["parent"], "0000:00:03.1");
}

#[test]
fn the_state_of_a_link_with_an_unknown_end_is_unknown() {
    let text = "0000:3b:00.0 Ethernet controller: Example NIC\n\tLnkCap: Port #0, Speed 32GT/s, Width x16\n\tLnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)\n";
    assert_eq!(functions(text)["0000:3b:00.0"]["link"]["state"], "unknown");
    let at_most = text.replace("Speed 16GT/s (downgraded), Width x8 (downgraded)", "Speed 32GT/s, Width x16");
    assert_eq!(functions(&at_most)["0000:3b:00.0"]["link"]["state"], "fine");
}

#[test]
fn the_output_of_grep_belongs_to_the_function_of_its_command() {
    let text = "$ sudo lspci -vvs 03:00.0 | grep -E 'LnkCap|LnkSta'   # RTX 5060 Ti\n    LnkCap:  Speed 32GT/s, Width x8   (PCIe Gen 5 x8)\n    LnkSta:  Speed 8GT/s (downgraded), Width x4 (downgraded)\n\n$ sudo lspci -vvs 07:00.0 | grep -E 'LnkCap|LnkSta'\n    LnkCap:  Speed 16GT/s, Width x16\n    LnkSta:  Speed 16GT/s, Width x16\n\n$ lspci -s 99:00.0\n$ lspci -s 08:00.0\n08:00.0 VGA compatible controller: NVIDIA Corporation Device 2204\n";
    let found = functions(text);
    assert_eq!(found["0000:03:00.0"]["link"]["max_speed_gts"], 32.0);
    assert_eq!(found["0000:07:00.0"]["link"]["width"], 16);
    assert!(!printed(text, &["check"]).contains("could not be read"));
    assert!(found.contains_key("0000:08:00.0") && !found.contains_key("0000:99:00.0"), "{:?}", found.keys());
}

#[test]
fn a_text_without_drives_or_capabilities_is_told_so() {
    let text = "00:03.0 SCSI storage controller: Red Hat, Inc. Virtio 1.0 block device\n\tControl: I/O+ Mem+ BusMaster+\n\tCapabilities: [98] MSI-X: Enable+ Count=3 Masked-\n";
    let words = printed(text, &["check"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!words.contains("no speed and width of links") && !words.contains("lspci -t"), "{words}");
    let drive = text.replace("SCSI storage controller", "Non-Volatile memory controller");
    let words = printed(&drive, &["check"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no device of the text has a PCI Express link"), "{words}");
    let tree = printed(text, &["tree"]);
    assert!(tree.contains("of 58 checks could not be made"), "{tree}");
}

#[test]
fn what_stands_in_place_of_a_root_complex_is_named() {
    let text = "2f:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a80a\n";
    assert!(printed(text, &["tree"]).contains("0000:2f bus, bridge unknown"));
    let list = "Node             SN                   Model                                    Namespace Usage                      Format           FW Rev\n---------------- -------------------- ---------------------------------------- --------- -------------------------- ---------------- --------\n/dev/nvme0n1     1                    A                                        1           2.00  TB /   2.00  TB    512   B +  0 B   F1\n";
    assert!(!printed(list, &["tree"]).starts_with('\n'), "a tree without functions has no empty lines");
}

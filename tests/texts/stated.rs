//! What texts of posts state: links without names, messages without drives, lists without drawings, values that a program broke
//! or a person marked.

use serde_json::Value;

use crate::damaged::{drives, printed};

pub fn check(content: &str) -> String {
    printed(content, &["check"]).split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn document(content: &str, command: &str) -> Value {
    serde_json::from_str(&printed(content, &[command, "--json"])).unwrap()
}

/// The finding of that id.
pub fn finding(content: &str, id: &str) -> Value {
    let document = document(content, "check");
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["id"] == id).cloned().unwrap_or(Value::Null)
}

fn places(finding: &Value) -> Vec<&str> {
    finding["evidence"].as_array().unwrap().iter().map(|proof| proof["path"].as_str().unwrap()).collect()
}

/// Speed and width of a function's link.
pub fn link(content: &str, address: &str) -> (Value, Value) {
    let tree = document(content, "tree");
    let mut open: Vec<&Value> = tree["root_complexes"].as_array().unwrap().iter().collect();
    while let Some(node) = open.pop() {
        if node["address"] == address {
            return (node["link"]["speed_gts"].clone(), node["link"]["width"].clone());
        }
        open.extend(node["children"].as_array().into_iter().flatten());
    }
    panic!("{address} is not in the tree");
}

fn users(content: &str, name: &str) -> String {
    let table = printed(content, &["drives"]);
    let line = table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.trim_end().rsplit("  ").next().unwrap().to_owned()
}

#[test]
fn a_slow_link_of_functions_without_class_is_a_finding() {
    let text = "[root@box ~]# lspci -vvv -s 41:00.0 | egrep -i 'lnk|numa'
        NUMA node: 2
                LnkCap: Port #0, Speed 16GT/s, Width x4, ASPM not supported
                LnkSta: Speed 2.5GT/s (downgraded), Width x4
[root@box ~]# lspci -vvv -s 40:01.1 | egrep -i 'lnk|bus:'
        Bus: primary=40, secondary=41, subordinate=41, sec-latency=0
                LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1
                LnkSta: Speed 2.5GT/s (downgraded), Width x4 (downgraded)
";
    let found = finding(text, "link-downtrained");
    assert_eq!(found["severity"], "warning", "{found}");
    assert!(!check(text).contains("none found a loss"));
    // Between ports whose kinds no line states.
    let below =
        text.replace("40:01.1", "3f:00.0").replace("primary=40, secondary=41", "primary=3f, secondary=41");
    assert_eq!(finding(&below, "link-downtrained")["severity"], "warning");
}

#[test]
fn a_slow_link_with_one_end_is_not_judged_beside_a_whole_one() {
    let link = |speed: &str, width: &str| {
        format!(
            "\tCapabilities: [58] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x8\n\
             \t\tLnkSta:\tSpeed {speed}, Width {width}\n"
        )
    };
    let port = link("16GT/s", "x8").replace("Endpoint", "Root Port (Slot+)");
    let whole = format!(
        "00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:1901]\n\tBus: primary=00, secondary=01, subordinate=01\n{port}\
         01:00.0 Ethernet controller [0200]: Mellanox Technologies Device [15b3:101d]\n{}",
        link("16GT/s", "x8")
    );
    assert!(check(&whole).contains("none found a loss"));
    let half = format!(
        "{whole}81:00.0 Serial Attached SCSI controller [0107]: Broadcom / LSI Device [1000:00af]\n{}",
        link("2.5GT/s", "x4")
    );
    let words = check(&half);
    assert!(words.contains("one end of a slow link"), "{words}");
    assert!(words.contains("no check could be made with this text"), "{words}");
}

#[test]
fn a_drive_without_its_port_is_no_link_inside_a_chip() {
    let link =
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4\n\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (ok)\n";
    let inside = format!(
        "00:07.1 PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Internal PCIe GPP Bridge 0 to bus[E:B] [1022:1484]\n\
         \tBus: primary=00, secondary=0a, subordinate=0a, sec-latency=0\n\tCapabilities: [58] Express (v2) Root Port (Slot-), MSI 00\n{link}\
         0a:00.0 Non-Essential Instrumentation [1300]: Advanced Micro Devices, Inc. [AMD] PCIe Dummy Function [1022:148a]\n\
         \tCapabilities: [64] Express (v2) Endpoint, MSI 00\n{link}"
    );
    assert!(check(&inside).contains("emulated or inside a chip"));
    let drive = "01:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller [144d:a808]\n\
                 \tCapabilities: [70] Express (v2) Endpoint, MSI 00\n";
    let words = check(&format!("{inside}{drive}{link}"));
    assert!(words.contains("one end of links") && !words.contains("inside a chip"), "{words}");
}

#[test]
fn timeouts_alone_are_a_finding_of_the_drive_that_they_name() {
    let timeouts = "[  900.200000] nvme nvme1: I/O 12 QID 3 timeout, aborting\n\
                    [  930.300000] nvme nvme1: I/O 12 QID 3 timeout, reset controller\n";
    let subject = |text: &str| finding(text, "nvme-errors")["subjects"][0]["name"].clone();
    assert_eq!(subject(timeouts), "nvme1");
    assert_eq!(places(&finding(timeouts, "nvme-errors")), ["line 2", "line 1"]);
    assert_eq!(drives(timeouts).len(), 1);
    let found = format!("[    2.102000] nvme nvme1: pci function 0000:02:00.0\n{timeouts}");
    assert_eq!((subject(&found), drives(&found).len()), ("nvme1".into(), 1));
    let lspci =
        |bus: u8| format!("{bus:02x}:00.0 Non-Volatile memory controller: Sandisk Corp Device 5009\n");
    let one = lspci(1) + "\n" + timeouts;
    assert_eq!((subject(&one), drives(&one).len()), ("nvme1".into(), 1));
    let two = lspci(1) + &lspci(2) + "\n" + timeouts;
    assert_eq!((subject(&two), drives(&two).len()), (Value::Null, 2));
    assert!(check(&two).contains("does not show the drives of the kernel's messages"), "{}", check(&two));
}

#[test]
fn lists_without_a_drawing_do_not_say_that_a_drive_has_no_user() {
    let list = "$ lsblk -r\nNAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 7.3T 0 disk \nsda1 8:1 0 7.3T 0 part \n\
                md127 9:127 0 21.8T 0 raid5 /mnt/my\\x20raid\nsdb 8:16 0 7.3T 0 disk \n";
    assert_eq!(["sda", "sdb"].map(|name| users(list, name)), ["?", "?"]);
    assert!(printed(list, &["drives"]).contains("mounted at /mnt/my raid ("));
    assert!(!printed(list, &["drives"]).contains("RAID5 of "));
    let plain = "$ lsblk -l\nNAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 7.3T 0 disk \nsda1 8:1 0 7.3T 0 part \n";
    assert_eq!(users(plain, "sda"), "none in lsblk");
    let members = "NAME        FSTYPE       SIZE MOUNTPOINT LABEL
sda                      3.6T
├─sda1      zfs_member   3.6T            tank
└─sda9                     8M
sdb         LVM2_member  3.6T
sdc                      3.6T
";
    assert_eq!(["sda", "sdb", "sdc"].map(|name| users(members, name)), ["?", "?", "none in lsblk"]);
}

#[test]
fn a_drawing_of_lsblk_in_another_character_set_is_read() {
    let table = "NAME        MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT
sda           8:0    0   7.3T  0 disk
├─sda1        8:1    0   512M  0 part  /boot
└─sda2        8:2    0   7.3T  0 part
  └─md127     9:127  0  21.8T  0 raid5 /mnt/raid
";
    let read_as = |marks: [&str; 3]| {
        let plain = table.replace('├', marks[0]).replace('└', marks[1]);
        plain.replace('─', marks[2])
    };
    let whole = printed(table, &["drives"]);
    assert!(whole.contains("md127 mounted at /mnt/raid"), "{whole}");
    for marks in [
        ["â”œ", "â””", "â”€"],
        ["â\u{94}\u{9c}", "â\u{94}\u{94}", "â\u{94}\u{80}"],
        ["Ôö£", "Ôöö", "ÔöÇ"],
        ["Γö£", "Γöö", "ΓöÇ"],
        ["?", "?", "?"],
    ] {
        assert_eq!(printed(&read_as(marks), &["drives"]), whole, "{marks:?}");
    }
    let unreadable = read_as(["¢", "¢", "¢"]);
    assert_eq!(users(&unreadable, "sda"), "?", "its rows could not be read");
}

const FUNCTION: &str = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 (prog-if 02 [NVM Express])\n\
    \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n";

#[test]
fn a_value_that_a_line_break_cut_is_whole() {
    let read = |status: &str| link(&format!("{FUNCTION}{status}"), "0000:01:00.0");
    for status in [
        "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x1\n6 (ok)\n\t\t\tTrErr- Train-\n",
        "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x1\n6 (ok)\n",
        "\t\tLnkSta:\tSpeed 1\n6GT/s (ok), Width x16\n",
        "\t\tLnkSta:\tSpeed 16GT/s, Width x\n16, TrErr-\n",
        "> \t\tLnkSta:\tSpeed 16GT/s, Width x1\n> 6, TrErr-\n",
    ] {
        assert_eq!(read(status), (16.0.into(), 16.into()), "{status}");
    }
    assert_eq!(read("\t\tLnkSta:\tSpeed 16GT/s, Width x1\n\nand so on\n"), (16.0.into(), 1.into()));
}

#[test]
fn emphasis_and_signs_within_a_value_are_no_part_of_it() {
    for status in [
        "Speed [b]8GT/s[/b] [color=red](downgraded)[/color], Width [b]x2[/b] (downgraded)",
        "Speed **8GT/s** (downgraded), Width *x2*",
        "Speed 8 GT/s, Width x 2",
        "Speed 8GT/s, Width \u{d7}2",
        "Speed `8GT/s`, Width <strong>x2</strong>",
    ] {
        let text = format!("{FUNCTION}\t\tLnkSta:\t{status}\n");
        assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 2.into()), "{status}");
    }
    let marked: String = FUNCTION.lines().flat_map(|line| [line, "\\\n"]).collect();
    let text = format!("{marked}\t\tLnkSta:\tSpeed 8GT/s, Width x2\\\n");
    assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 2.into()));
}

fn contradictions(content: &str) -> Vec<String> {
    let tree = document(content, "tree");
    let all = tree["source"]["contradictions"].as_array().unwrap().iter();
    all.map(|sentence| sentence.as_str().unwrap().to_owned()).collect()
}

#[test]
fn ends_of_one_link_that_differ_are_named() {
    let two = |width: &str| {
        format!(
            "00:1d.0 PCI bridge: Intel Corporation 200 Series PCH PCI Express Root Port #9\n\
             \tBus: primary=00, secondary=03, subordinate=03, sec-latency=0\n\
             \t\tLnkCap:\tPort #9, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x2\n\
             03:00.0 RAID bus controller: Broadcom / LSI MegaRAID SAS 2008 [Falcon] (rev 03)\n\
             \t\tLnkCap:\tPort #0, Speed 5GT/s, Width x8, ASPM L0s\n\t\tLnkSta:\tSpeed 8GT/s, Width {width}\n"
        )
    };
    assert_eq!(
        contradictions(&two("x8")),
        [
            "The ends of one link differ: port 0000:00:1d.0 has 8 GT/s x2 in line 4, 0000:03:00.0 has 8 GT/s x8 in line 7."
        ]
    );
    assert_eq!(contradictions(&two("x2")), [""; 0]);
    assert_eq!(contradictions(&two("x0")), [""; 0], "no link is up");
}

#[test]
fn a_function_that_is_listed_again_with_another_link_is_named() {
    let state = |status: &str| format!("{FUNCTION}\t\tLnkSta:\t{status}\n");
    let [before, after] = ["Speed 8GT/s, Width x2", "Speed 16GT/s, Width x16"].map(state);
    let text = format!("BEFORE:\n{before}\nAFTER:\n{after}");
    assert_eq!(
        contradictions(&text),
        ["0000:01:00.0 has LnkSta 8 GT/s x2 in line 4 and 16 GT/s x16 in line 9: line 4 is used."]
    );
    assert_eq!(link(&text, "0000:01:00.0"), (8.0.into(), 2.into()));
    assert_eq!(contradictions(&format!("{before}\n{before}")), [""; 0]);
}

#[test]
fn lines_of_formats_are_those_of_the_text() {
    let text = "sudo nvme id-ns -H /dev/nvme0n1 | grep LBA\n\
        \x20 [3:0] : 0     Current LBA Format Selected\n\
        LBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)\n\
        LBA Format  1 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0x1 Better\n";
    assert_eq!(places(&finding(text, "lba-512")), ["line 3", "line 4"]);
}

#[test]
fn listings_of_nvme_without_commands_are_of_one_drive() {
    let controller = "NVME Identify Controller:\nvid       : 0x144d\nsn        : S5GXNX0R123456B\n\
        mn        : Samsung SSD 980 PRO 1TB\nfr        : 3B2QGXA7\nmdts      : 7\n";
    let namespace = "NVME Identify Namespace 1:\nnsze    : 0x74706db0\nflbas   : 0\nlbaf  0 : ms:0   lbads:9  rp:0 (in use)\n";
    for text in
        [format!("{controller}{namespace}"), format!("{namespace}{controller}"), controller.to_owned()]
    {
        let found = drives(&text);
        assert_eq!(
            (found.len(), &found["nvme@unnamed"]["model"]),
            (1, &"Samsung SSD 980 PRO 1TB".into()),
            "{text}"
        );
    }
}

#[test]
fn a_drawing_whose_lines_a_page_shows_twice_has_each_device_once() {
    let drawing = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           +-1d.0-[01]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n           \\-1f.0  Intel Corporation Device a0a3\n";
    let doubled: String = drawing.lines().flat_map(|line| [line, "\n", line, "\n"]).collect();
    let tree = |text: &str| document(text, "tree")["root_complexes"].clone();
    assert_eq!(tree(&doubled), tree(drawing));
    assert_eq!(tree(&format!("{drawing}\n{drawing}")), tree(drawing));
}

#[test]
fn interrupts_alone_show_the_functions_that_they_name() {
    let head = "           CPU0       CPU1\n";
    let table =
        format!("{head} 130:          3          0  IR-PCI-MSIX-0000:01:00.0    0-edge      nvme0q0\n");
    assert_eq!(drives(&table)["nvme0"]["address"], "0000:01:00.0");
    let without = format!("{head} 24:          1          0  IO-APIC   5-edge      timer\n");
    assert!(printed(&without, &["tree"]).contains("The text shows no device and no drive"));
}

#[test]
fn a_document_of_lsblk_that_was_cut_has_what_stands_before_the_cut() {
    let whole = r#"{
   "blockdevices": [
      {"name":"sda", "size":"10.9T", "type":"disk", "mountpoints":[null],
         "children": [
            {"name":"sda1", "size":"10.9T", "type":"part", "mountpoints":["/srv"]}
         ]
      },
"#;
    for text in [
        format!("{whole}      {{\"name\":\"sdb\", \"size\":\"10.9T\", \"ro\":fal"),
        format!("{whole}...\n"),
        whole.replace("\"name\"", "\u{201c}name\u{201d}"),
    ] {
        assert_eq!(drives(&text).keys().collect::<Vec<_>>(), ["sda"], "{text}");
        assert!(users(&text, "sda").contains("sda1 mounted at /srv"), "{text}");
    }
}

#[test]
fn fdisk_speaks_german_and_lsblk_prints_pairs() {
    let german = "Festplatte /dev/nvme0n1: 931,51 GiB, 1000204886016 Bytes, 1953525168 Sektoren
Festplattenmodell: Samsung SSD 970 EVO Plus 1TB
Einheiten: Sektoren von 1 * 512 = 512 Bytes
Sektorgröße (logisch/physikalisch): 512 Bytes / 512 Bytes
E/A-Größe (minimal/optimal): 512 Bytes / 512 Bytes
Festplattenbezeichnungstyp: gpt

Gerät          Anfang       Ende   Sektoren  Größe Typ
/dev/nvme0n1p1   2048    1050623    1048576   512M EFI-System
";
    let drive = &drives(german)["nvme0n1"];
    assert_eq!((&drive["size_bytes"], &drive["lba_bytes"]), (&1_000_204_886_016_u64.into(), &512.into()));
    assert_eq!(drive["model"], "Samsung SSD 970 EVO Plus 1TB");
    assert!(!printed(german, &["tree"]).contains("not used"));
    let pairs = r#"$ lsblk -P -o NAME,SIZE,TYPE,MODEL,MOUNTPOINT,PKNAME
NAME="sda" SIZE="7.3T" TYPE="disk" MODEL="WDC WD80EFAX-68LHPN0" MOUNTPOINT="" PKNAME=""
NAME="sda1" SIZE="7.3T" TYPE="part" MODEL="" MOUNTPOINT="" PKNAME="sda"
NAME="md127" SIZE="21.8T" TYPE="raid5" MODEL="" MOUNTPOINT="/mnt/raid" PKNAME="sda1"
"#;
    assert_eq!(drives(pairs)["sda"]["model"], "WDC WD80EFAX-68LHPN0");
    assert!(users(pairs, "sda").contains("md127 mounted at /mnt/raid"));
}

#[test]
fn a_table_of_lsblk_with_a_broken_heading_has_its_cells() {
    let heading = "NAME    ALIGNMENT MIN-IO  OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE   RA WSAME";
    let rows = [
        "sda             0   4096       0    4096     512    1 mq-deadline      64  128   32M",
        "└─sda1          0   4096       0    4096     512    1 mq-deadline      64  128   32M",
        "nvme1n1         0   4096  131072    4096    4096    0 kyber           256 4096    0B",
    ];
    let lines = || std::iter::once(heading).chain(rows);
    let broken = |at: usize, is_trimmed: bool| {
        let halves = lines().map(|line| {
            let at = line.char_indices().nth(at).unwrap().0;
            let (before, after) = line.split_at(at);
            if is_trimmed {
                format!("> {}\n> {}\n", before.trim_end(), after.trim())
            } else {
                format!("{before}\n{after}\n")
            }
        });
        halves.collect::<String>()
    };
    let whole = lines().collect::<Vec<_>>().join("\n");
    let settings = |text: &str| {
        drives(text).into_iter().map(|(name, row)| (name, row["settings"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(settings(&whole).len(), 2);
    for (at, is_trimmed) in [(66, true), (71, false)] {
        assert_eq!(settings(&broken(at, is_trimmed)), settings(&whole), "{at}");
    }
}

#[test]
fn a_folded_card_with_a_finding_has_its_mark() {
    let card = |speed: &str| {
        format!(
            "00:1d.0 PCI bridge: Intel Corporation 200 Series PCH PCI Express Root Port #9\n\
             \tBus: primary=00, secondary=03, subordinate=03, sec-latency=0\n\
             \t\tLnkCap:\tPort #9, Speed 8GT/s, Width x8, ASPM L1\n\t\tLnkSta:\tSpeed {speed}, Width x8\n\
             03:00.0 RAID bus controller: Broadcom / LSI MegaRAID SAS-3 3108 [Invader] (rev 02)\n\
             \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8, ASPM L0s\n\t\tLnkSta:\tSpeed {speed}, Width x8\n"
        )
    };
    let row = |content: &str, keys: &str| {
        let screen = printed(content, &["render", "machine", "--size", "120x30", "--keys", keys]);
        screen.lines().find(|line| line.contains("folded: RAID")).unwrap().to_owned()
    };
    assert!(row(&card("2.5GT/s"), "").contains("! "), "{}", row(&card("2.5GT/s"), ""));
    assert!(!row(&card("8GT/s"), "").contains("! "));
}

//! Texts of nvme-cli, lsblk and the kernel beside lspci: drives with their models, sizes and functions; hostile names.

use std::{collections::BTreeMap, fs, io::Write};

use crate::program::{iodyno, text};
use proptest::prelude::*;
use serde_json::Value;

fn file(content: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

/// What a command prints of a text, and its status.
fn printed(content: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let (file, state) = (file(content), tempfile::tempdir().unwrap());
    let arguments: Vec<&str> =
        arguments.iter().copied().chain(["--open", file.path().to_str().unwrap()]).collect();
    let output = iodyno(state.path(), &arguments);
    (output.status.code(), text(&output))
}

/// The drives of a text by name.
fn drives(content: &str) -> BTreeMap<String, Value> {
    let (status, words) = printed(content, &["drives", "--json"]);
    assert_eq!(status, Some(0), "{words}");
    let document: Value = serde_json::from_str(&words).unwrap();
    let drives = document["drives"].as_array().unwrap().iter();
    drives.map(|drive| (drive["name"].as_str().unwrap().to_owned(), drive.clone())).collect()
}

fn fixture(name: &str) -> String {
    fs::read_to_string(format!("{}/tests/fixtures/nvme-lists/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

const LSPCI: &str = "00:1d.0 PCI bridge [0604]: Intel Corporation Device [8086:a330]\n\
3d:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 NVMe SSD Controller [1179:011a]\n\
3e:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO [144d:a80a]\n";

#[test]
fn tables_of_every_version_have_model_serial_size_and_format() {
    let toshiba = &drives(&fixture("nvme-list-columns.txt"))["nvme0n1"];
    assert_eq!(toshiba["model"], "KXG60ZNV512G NVMe TOSHIBA 512GB");
    assert_eq!(toshiba["serial"], "49MA23BZK03N");
    assert_eq!(toshiba["firmware"], "10604107");
    assert_eq!(toshiba["size_bytes"], 512_109_999_616_u64);
    assert_eq!(toshiba["lba_bytes"], 512);
    let intel = &drives(&fixture("nvme-list-generic.txt"))["nvme0n1"];
    assert_eq!(intel["model"], "INTEL SSDPE2KX080T8");
    assert_eq!(intel["firmware"], "VDV10182");
    assert_eq!(intel["size_bytes"], 8_000_000_000_000_u64);
    let two = drives(&fixture("nvme-list-powers-of-two.txt"));
    assert_eq!(two["nvme10n2"]["lba_bytes"], 4096);
    assert_eq!(two["nvme10n1"]["size_bytes"], 1_910_000_000_000_u64 / 512 * 512);
    assert_eq!(two["nvme10n1"]["model"], Value::Null);
}

#[test]
fn timeouts_of_a_pasted_kernel_log_are_a_finding() {
    let log = format!(
        "{}\n$ dmesg | grep nvme\n[    1.523112] nvme nvme0: pci function 0000:3d:00.0\n\
         [  331.024601] nvme nvme0: I/O 128 QID 4 timeout, aborting\n\
         Nov 23 22:55:18 attic kernel: nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n",
        fixture("nvme-list-columns.txt").trim_end()
    );
    let (status, words) = printed(&log, &["check", "--json"]);
    assert_eq!(status, Some(0), "{words}");
    let document: Value = serde_json::from_str(&words).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "nvme-errors").unwrap();
    let title = finding["title"].as_str().unwrap();
    assert!(title.ends_with("1 timeout, 1 reset after controller down in the kernel log"), "{title}");
    let evidence = finding["evidence"].to_string();
    assert!(evidence.contains("line ") && evidence.contains("QID 4 timeout"), "{evidence}");
    assert!(!evidence.contains("attic"), "{evidence}");
}

#[test]
fn a_list_of_controllers_alone_has_drives_and_their_functions() {
    let found = drives(&fixture("nvme-list-verbose.txt"));
    assert_eq!(
        (&found["nvme0n1"]["address"], &found["nvme0n1"]["size_bytes"]),
        (&"0000:3d:00.0".into(), &Value::Null)
    );
    assert_eq!(found["nvme0n1"]["model"], "KXG60ZNV512G NVMe TOSHIBA 512GB");
}

#[test]
fn a_wrapped_row_with_decimal_commas_is_one_drive() {
    let wrapped = "Node             SN                   Model                                    Namespace Usage\n\
---------------- --------------------\n\
/dev/nvme0n1     S5GXNF0R1             Samsung SSD 980 PRO 1TB                  1\n\
153,62  GB /   1,00  TB    512   B +  0 B\n\
5B2QGXA7\n";
    let drive = &drives(wrapped)["nvme0n1"];
    assert_eq!(drive["model"], "Samsung SSD 980 PRO 1TB");
    assert_eq!(drive["size_bytes"], 1_000_000_000_000_u64);
    assert_eq!(drive["firmware"], "5B2QGXA7");
}

#[test]
fn a_drive_joins_its_function_by_address_in_any_order() {
    let verbose = fixture("nvme-list-verbose.txt");
    let kernel = "[    1.2] nvme nvme0: pci function 0000:3d:00.0\n";
    let plain = fixture("nvme-list-columns.txt");
    for text in [
        format!("{LSPCI}\n{verbose}"),
        format!("{verbose}\n{LSPCI}"),
        format!("{kernel}{LSPCI}\n{plain}"),
        format!("{plain}\n{LSPCI}{kernel}"),
    ] {
        assert_eq!(drives(&text)["nvme0n1"]["address"], "0000:3d:00.0", "{text}");
    }
}

#[test]
fn a_drive_joins_by_an_unambiguous_model_and_else_the_text_says_so() {
    let row = |name: &str, model: &str| {
        format!("/dev/{name}     S1   {model}   1    1.00  TB /   1.00  TB    512   B +  0 B   FW1\n")
    };
    let one = drives(&format!(
        "{LSPCI}\n{}{}",
        row("nvme0n1", "Samsung SSD 980 PRO 1TB"),
        row("nvme1n1", "KXG60ZNV512G")
    ));
    assert_eq!(one["nvme0n1"]["address"], "0000:3e:00.0");
    let twins = LSPCI
        .replace("Toshiba Corporation XG6 NVMe SSD Controller", "Samsung PM9A1/PM9A3/980PRO")
        .replace("[1179:", "[144d:");
    let twins = format!(
        "{twins}\n{}{}",
        row("nvme0n1", "Samsung SSD 980 PRO 1TB"),
        row("nvme1n1", "Samsung SSD 980 PRO 1TB")
    );
    let found = drives(&twins);
    // It is not known which is which: both have their functions' names, and what the rows have in common.
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme@3d:00.0", "nvme@3e:00.0"]);
    let drive = &found["nvme@3d:00.0"];
    assert_eq!(
        (&drive["address"], &drive["model"]),
        (&"0000:3d:00.0".into(), &"Samsung SSD 980 PRO 1TB".into())
    );
}

#[test]
fn a_drive_is_never_joined_with_a_controller_of_another_maker() {
    let row = |model: &str| {
        format!("/dev/nvme1n1     S1   {model}   1    1.00  TB /   1.00  TB    512   B +  0 B   FW1\n")
    };
    let samsung = LSPCI.lines().filter(|line| !line.contains("Toshiba")).collect::<Vec<_>>().join("\n");
    let found = drives(&format!("{samsung}\n{}", row("WD_BLACK SN850X 2000GB")));
    assert_eq!(found["nvme1n1"]["address"], Value::Null, "{found:?}");
    assert_eq!(found["nvme1n1"]["model"], "WD_BLACK SN850X 2000GB");
    assert_eq!(found["nvme@3e:00.0"]["address"], "0000:3e:00.0");
    assert_eq!(found["nvme@3e:00.0"]["model"], Value::Null);
    for model in ["Samsung SSD 980 PRO 1TB", "Dell Ent NVMe 1TB"] {
        assert_eq!(
            drives(&format!("{samsung}\n{}", row(model)))["nvme1n1"]["address"],
            "0000:3e:00.0",
            "{model}"
        );
    }
}

#[test]
fn a_table_of_lsblk_with_models_is_read_by_its_columns() {
    let heading = "NAME        MODEL                       SIZE ROTA\n";
    let part = "\u{2514}\u{2500}nvme0n1p1                             512M    0\n";
    let found = drives(&format!(
        "{heading}nvme0n1     Samsung SSD 980 PRO 1TB   931.5G    0\n{part}\
         sda         WDC WD40EFRX-68N32N0        3.6T    1\n"
    ));
    assert_eq!(found["nvme0n1"]["model"], "Samsung SSD 980 PRO 1TB");
    assert_eq!(found["sda"]["model"], "WDC WD40EFRX-68N32N0");
    assert!(found.values().all(|drive| drive["size_bytes"].as_u64().unwrap() > 900 << 30), "{found:?}");
    let squeezed = format!("{heading}nvme0n1 Samsung SSD 980 PRO 1TB 931.5G 0\n");
    assert_eq!(drives(&squeezed)["nvme0n1"]["model"], Value::Null);
    let (_, words) = printed(&squeezed, &["tree", "--json"]);
    assert!(words.contains("not below the headings"), "{words}");
}

#[test]
fn a_text_is_not_captured() {
    let (file, state) = (file(LSPCI), tempfile::tempdir().unwrap());
    let (path, capture) = (file.path().to_str().unwrap(), state.path().join("x.capture"));
    let output = iodyno(state.path(), &["capture", "--open", path, capture.to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), words.lines().count()), (Some(2), 1), "{words}");
    assert!(
        words.contains(&format!("{path}: is a pasted text, not a machine; share the text itself")),
        "{words}"
    );
    assert!(output.stdout.is_empty() && !capture.exists());
}

#[test]
fn identify_data_gives_formats_and_exact_sizes() {
    let id_ns = "# nvme id-ns -H /dev/nvme0n1\nNVME Identify Namespace 1:\nnsze    : 0x74706db0\nnlbaf   : 1\nflbas   : 0\n\
  [4:4] : 0\tMetadata Transferred in Separate Contiguous Buffer\n\
LBA Format  0 : Metadata Size: 0   bytes - Data Size: 512 bytes - Relative Performance: 0x2 Good (in use)\n\
LBA Format  1 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0x1 Better\n";
    let id_ctrl = "# nvme id-ctrl /dev/nvme0n1\nNVME Identify Controller:\nvid       : 0x1bb1\nsn        : 7VS00X\n\
mn        : Seagate FireCuda 530 ZP1000GM30013\nfr        : SU6SM001\nmdts      : 9\noacs      : 0x17\n";
    for text in [format!("{id_ns}\n{id_ctrl}"), format!("{id_ctrl}\n{id_ns}")] {
        let drive = &drives(&text)["nvme0n1"];
        assert_eq!(drive["model"], "Seagate FireCuda 530 ZP1000GM30013");
        assert_eq!(drive["size_bytes"], 0x7470_6db0_u64 * 512);
        let formats = drive["lba_formats"].as_array().unwrap();
        assert_eq!(formats.len(), 2);
        assert_eq!((&formats[0]["in_use"], &formats[1]["data_bytes"]), (&Value::Bool(true), &4096.into()));
        assert_eq!(drive["format_supported"], true);
    }
    let found = printed(&format!("{LSPCI}\n{id_ns}"), &["check"]).1;
    assert!(found.contains("lba-format") || found.contains("4096"), "{found}");
}

#[test]
fn a_drive_of_a_text_without_its_function_is_not_said_to_be_off_pci() {
    let row = "/dev/nvme0n1     50026B7685F13C1E     KINGSTON SNV2S250G                                250.06  GB / 250.06  GB    512   B +  0 B   ELFK0S.4\n";
    let tree = printed(row, &["tree"]).1;
    assert!(tree.contains("PCI function unknown\n  nvme0n1  KINGSTON SNV2S250G"), "{tree}");
    assert!(printed(row, &["render", "machine", "--format", "text"]).1.contains("PCI function unknown"));
    let document: Value = serde_json::from_str(&printed(row, &["drives", "--json"]).1).unwrap();
    let problems = document["problems"].to_string();
    assert!(
        problems.contains("does not say which PCI function") && !problems.contains("/probe/"),
        "{problems}"
    );
}

#[test]
fn formats_without_the_one_in_use_are_shown_and_not_judged() {
    let row = |index: u8, bytes: u16, end: &str| {
        format!(
            "LBA Format  {index} : Metadata Size: 0   bytes - Data Size: {bytes} bytes - Relative Performance: 0 Best{end}\n"
        )
    };
    let text = |flbas: &str, end: &str| {
        let rows = row(0, 512, end) + &row(1, 4096, "");
        format!(
            "# nvme id-ns -H /dev/nvme0n1\nNVME Identify Namespace 1:\nnsze    : 0x74706db0\nnlbaf   : 1\n{flbas}{rows}"
        )
    };
    let lba = |text: &str| {
        let document: Value = serde_json::from_str(&printed(text, &["check", "--json"]).1).unwrap();
        let of = |rows: &Value| rows.as_array().unwrap().iter().find(|row| row["id"] == "lba-512").cloned();
        (of(&document["findings"]).is_some(), of(&document["not_judged"]))
    };
    let unknown = text("", "");
    let drive = &drives(&unknown)["nvme0n1"];
    let formats = drive["lba_formats"].as_array().unwrap();
    assert_eq!((&formats[0]["data_bytes"], &formats[1]["data_bytes"]), (&512.into(), &4096.into()));
    assert!(formats.iter().all(|format| format["in_use"].is_null()), "{formats:?}");
    assert!(drive["lba_bytes"].is_null() && drive["size_bytes"].is_null(), "blocks of unknown size: {drive}");
    let (is_found, not_made) = lba(&unknown);
    let because = not_made.unwrap()["because"].as_str().unwrap().to_owned();
    assert!(!is_found && because.contains("does not say which LBA format is in use"), "{because}");
    for known in [text("flbas   : 0\n", ""), text("", " (in use)")] {
        assert_eq!(drives(&known)["nvme0n1"]["lba_formats"][0]["in_use"], true);
        assert_eq!(lba(&known), (true, None));
    }
    let both = text("flbas   : 0\n", "") + &unknown;
    assert_eq!(drives(&both)["nvme0n1"]["lba_formats"][0]["in_use"], true, "the first listing counts");
}

#[test]
fn lsblk_has_kinds_sizes_and_settings() {
    let plain = "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS\n\
sda           8:0    0   3.6T  0 disk \n\u{251c}\u{2500}sda1        8:1    0   512M  0 part /boot\n\
nvme0n1     259:0    0 931.5G  0 disk \n\u{2514}\u{2500}nvme0n1p1 259:1    0 931.5G  0 part /\n                                     /home\n";
    let found = drives(plain);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
    assert_eq!(found["nvme0n1"]["size_bytes"], 1_000_190_509_056_u64);
    let json = r#"{
   "blockdevices": [
      {
         "name": "nvme0n1", "kname": "nvme0n1", "maj:min": "259:0", "model": "WD_BLACK SN850X 1000GB", "serial": "2231",
         "size": 1000204886016, "rota": false, "type": "disk", "sched": "none", "log-sec": 512, "ra": 128, "rm": false
      },
      {
         "name": "sr0", "type": "rom", "size": "1024M"
      }
   ]
}"#;
    let found = drives(&format!("{plain}\n{json}"));
    assert_eq!(found["nvme0n1"]["size_bytes"], 1_000_204_886_016_u64, "an exact size replaces a rounded one");
    assert_eq!(found["nvme0n1"]["model"], "WD_BLACK SN850X 1000GB");
    assert_eq!(found["nvme0n1"]["settings"]["scheduler"], "none");
    assert!(!found.contains_key("sr0"));
}

#[test]
fn rows_of_lsblk_without_their_heading_have_the_default_columns() {
    let rows = "sda           8:0    0   3.6T  0 disk \n\u{251c}\u{2500}sda1        8:1    0   512M  0 part /boot\n\
nvme0n1     259:0    0 931.5G  0 disk \n\u{2514}\u{2500}nvme0n1p1 259:1    0 931.5G  0 part /\n";
    let heading = "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS\n";
    for text in [rows.to_owned(), format!("my drives:\n{rows}and that is all"), rows.replace('\n', "\n> ")] {
        assert_eq!(drives(&text).len(), 2, "{text}");
        assert_eq!(in_use(&text), in_use(&format!("{heading}{rows}")), "{text}");
    }
    assert_eq!(in_use(rows)["nvme0n1"], ["nvme0n1p1 mounted at / (unknown file system)"]);
    assert_eq!(drives(rows)["sda"]["size_bytes"], drives(&format!("{heading}{rows}"))["sda"]["size_bytes"]);
}

#[test]
fn fdisk_has_models_sizes_and_sectors() {
    let text = "root@pc:~# fdisk -l
Disk /dev/nvme0n1: 931.51 GiB, 1000204886016 bytes, 1953525168 sectors
Disk model: Samsung SSD 980 PRO 1TB
Units: sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 4096 bytes
I/O size (minimum/optimal): 4096 bytes / 4096 bytes
Disklabel type: gpt
Disk identifier: 2D0A6F4E-0000-4B4E-8F4E-000000000000

Device           Start        End    Sectors   Size Type
/dev/nvme0n1p1    2048    1050623    1048576   512M EFI System
/dev/nvme0n1p2 1050624 1953523711 1952473088   931G Linux filesystem


Disk /dev/sda: 500.1 GB, 500107862016 bytes
255 heads, 63 sectors/track, 60801 cylinders, total 976773168 sectors
Units = sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 512 bytes

   Device Boot      Start         End      Blocks   Id  System
/dev/sda1   *        2048      499711      248832   83  Linux

Disk /dev/loop0: 63.46 MiB, 66547712 bytes, 129976 sectors
Units: sectors of 1 * 512 = 512 bytes
The primary GPT table is corrupt
";
    let found = drives(text);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
    let (nvme, sda) = (&found["nvme0n1"], &found["sda"]);
    assert_eq!(nvme["model"], "Samsung SSD 980 PRO 1TB");
    assert_eq!((&nvme["size_bytes"], &nvme["lba_bytes"]), (&1_000_204_886_016_u64.into(), &512.into()));
    assert_eq!((&sda["size_bytes"], &sda["model"]), (&500_107_862_016_u64.into(), &Value::Null));
    let document: Value = serde_json::from_str(&printed(text, &["tree", "--json"]).1).unwrap();
    assert_eq!(document["source"]["kind"], "fdisk -l");
    let unused = document["source"]["unused_lines"].as_array().unwrap().iter();
    let unused: Vec<u64> = unused.map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(unused, [23, 25], "a loop device, and words that say nothing of drives");
    // lsblk agrees, and has what is mounted.
    let both = format!("{text}nvme0n1p2 259:2 0 931G 0 part /\n");
    assert_eq!(in_use(&both)["nvme0n1"], ["nvme0n1p2 mounted at / (unknown file system)"]);
}

/// Users of each drive, as `drives --json` words them.
fn in_use(content: &str) -> BTreeMap<String, Vec<String>> {
    let words = |drive: &Value| {
        let users = drive["in_use_by"].as_array().unwrap().iter();
        users.map(|user| user.as_str().unwrap().to_owned()).collect()
    };
    drives(content).iter().map(|(name, drive)| (name.clone(), words(drive))).collect()
}

#[test]
fn the_topology_of_lsblk_has_block_sizes() {
    let text = "$ lsblk --topology\n\
NAME      ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME\n\
sda               0   4096      0    4096     512    1 mq-deadline     256 128    0B\n\
\u{2514}\u{2500}sda1            0    512      0     512     512    0 noop            128 128    0B\n\
nvme0n1           0    512      0     512     512    0 none           1023 128    0B\n";
    let found = drives(text);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
    assert_eq!(found["nvme0n1"]["lba_bytes"], 512);
    assert_eq!(
        (&found["sda"]["settings"]["rotational"], &found["sda"]["size_bytes"]),
        (&true.into(), &Value::Null)
    );
    let settings = |name: &str| {
        let of = &found[name]["settings"];
        [&of["scheduler"], &of["read_ahead_kb"], &of["nr_requests"]].map(ToString::to_string)
    };
    assert_eq!(settings("sda"), ["\"mq-deadline\"", "128", "256"]);
    assert_eq!(settings("nvme0n1"), ["\"none\"", "128", "1023"]);
    // Old kernels have no scheduler of some drives: the cells are below their headings, or further left.
    let text = "$ lsblk -t\n\
NAME      ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME\n\
nvme0n1           0    512      0     512     512    0                1023 128    0B\n";
    assert_eq!(drives(text)["nvme0n1"]["settings"]["read_ahead_kb"], 128);
    let squeezed = text.replace("                1023", " 1023");
    assert!(drives(&squeezed)["nvme0n1"]["settings"]["read_ahead_kb"].is_null());
}

#[test]
fn lsblk_has_partitions_layers_mounts_and_swap() {
    let plain = "root@nas:~# lsblk
NAME                      MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
loop0                       7:0    0  63.9M  1 loop  /snap/core20/2182
sda                         8:0    0   3.6T  0 disk
`-sda1                      8:1    0   3.6T  0 part
  `-md127                   9:127  0   3.6T  0 raid1 /srv
sdb                         8:16   0   3.6T  0 disk
`-sdb1                      8:17   0   3.6T  0 part
  `-md127                   9:127  0   3.6T  0 raid1 /srv
nvme0n1                   259:0    0 931.5G  0 disk
|-nvme0n1p2               259:2    0     2G  0 part  [SWAP]
`-nvme0n1p3               259:3    0 928.5G  0 part
  `-dm_crypt-0            253:0    0 928.4G  0 crypt
    `-ubuntu--vg-ubuntu--lv 253:1  0   100G  0 lvm   /
                                                     /home
";
    let found = in_use(plain);
    assert_eq!(
        found["nvme0n1"],
        [
            "nvme0n1p2 is swap",
            "ubuntu--vg-ubuntu--lv mounted at / (unknown file system) on dm_crypt-0 on nvme0n1p3",
            "ubuntu--vg-ubuntu--lv mounted at /home (unknown file system) on dm_crypt-0 on nvme0n1p3",
        ]
    );
    assert_eq!(found["sda"], ["md127 mounted at /srv (unknown file system) on sda1"]);
    assert!(found.contains_key("md127") && !found.contains_key("loop0"), "{:?}", found.keys());
    assert_eq!(drives(plain)["md127"]["model"], "raid1");
    let drawn = plain.replace("`-", "\u{2514}\u{2500}").replace("|-", "\u{251c}\u{2500}");
    assert_eq!(in_use(&drawn), found);

    let with_file_systems = "NAME        FSTYPE      FSVER LABEL UUID        FSAVAIL FSUSE% MOUNTPOINTS
nvme0n1
|-nvme0n1p1 vfat        FAT32       5A3C-1D2E    504.9M     1% /boot
`-nvme0n1p2 crypto_LUKS 2           8a7c2c3e-0000
  `-root    btrfs                   1a7c2c3e-0000    700G    20% /home
                                                               /
";
    assert_eq!(
        in_use(with_file_systems)["nvme0n1"],
        [
            "nvme0n1p1 mounted at /boot (vfat)",
            "root mounted at / (btrfs) on nvme0n1p2",
            "root mounted at /home (btrfs) on nvme0n1p2",
        ]
    );
    let json = r#"{"blockdevices": [{"name": "sda", "type": "disk", "size": "10G", "children": [
        {"name": "sda1", "type": "part", "fstype": "ext4", "mountpoints": ["/", null]},
        {"name": "sda2", "type": "part", "fstype": "swap", "mountpoint": "[SWAP]"}]}]}"#;
    assert_eq!(in_use(json)["sda"], ["sda1 mounted at / (ext4)", "sda2 is swap"]);
}

#[test]
fn prompts_and_fences_are_no_unused_lines() {
    let text = "```\nroot@host:~# lspci -nn\n\
        01:00.0 Non-Volatile memory controller [0108]: Toshiba Corporation XG6 NVMe SSD Controller [1179:011a]\n\
        root@host:~# lsblk\nNAME SIZE TYPE\nnvme0n1 1G disk\nroot@host:~# \n```\nIs this slow?\n";
    let document: Value = serde_json::from_str(&printed(text, &["tree", "--json"]).1).unwrap();
    let unused = document["source"]["unused_lines"].as_array().unwrap();
    assert_eq!(unused.iter().map(|row| row["line"].as_u64().unwrap()).collect::<Vec<_>>(), [9]);
}

#[test]
fn a_kernel_message_states_a_link() {
    let text = format!(
        "{LSPCI}[    0.9] pci 0000:3e:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at \
         0000:3e:00.0 (capable of 63.012 Gb/s with 16.0 GT/s PCIe x4 link)\n"
    );
    let (_, words) = printed(&text, &["tree", "--json"]);
    let flat = words.split_whitespace().collect::<String>();
    assert!(flat.contains(r#""speed_gts":8.0,"width":2,"max_speed_gts":16.0,"max_width":4"#), "{words}");
}

/// Names that attack terminals, documents and tables.
const HOSTILE: [&str; 14] = [
    "\u{1b}[2J\u{1b}[31mcsi",
    "\u{1b}]0;owned\u{7}osc",
    "\u{1b}P1$r\u{1b}\\dcs",
    "\u{9b}31mc1",
    "\u{202e}bidi\u{2066}",
    "zero\u{200b}\u{200d}\u{feff}width",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}",
    "[x](javascript:1)`|",
    "[b]bb[/b][/code][url=x]",
    "<script>alert(1)</script>",
    "</text><svg onload=x>&amp;",
    "\u{fdfd}\u{fdfd}\u{fdfd}",
    "| a | b |",
    "# *bold* _it_ ~~s~~",
];

fn hostile_text(name: &str) -> String {
    format!(
        "3d:00.0 Non-Volatile memory controller [0108]: {name} [1179:011a]\n\nNVME Identify Controller:\nsn        : {name}\n\
         mn        : {name}\nfr        : {name}\n\n\
         {{\"Devices\": [{{\"DevicePath\": \"/dev/nvme0n1\", \"ModelNumber\": {}, \"SerialNumber\": \"S\", \"SectorSize\": 512}}]}}\n",
        serde_json::to_string(name).unwrap()
    )
}

/// Whether nothing of an output controls a terminal; colours of `render --format ansi` alone are allowed.
fn is_tame(output: &str, has_colours: bool) -> bool {
    let mut rest = output.to_owned();
    if has_colours {
        while let Some(at) = rest.find("\u{1b}[") {
            let end = rest[at + 2..].find(|c: char| !c.is_ascii_digit() && !";:".contains(c)).unwrap_or(0);
            if !rest[at + 2 + end..].starts_with('m') {
                return false;
            }
            rest.replace_range(at..at + 3 + end, "");
        }
    }
    let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    rest.chars().all(|c| c == '\n' || c == '\t' || !c.is_control() && !is_hidden(c))
}

#[test]
fn hostile_names_reach_no_output() {
    for name in HOSTILE {
        let text = hostile_text(name);
        for arguments in [
            &["tree"][..],
            &["tree", "--json"],
            &["drives"],
            &["drives", "--json"],
            &["check"],
            &["check", "--json"],
            &["sheet", "--format", "markdown"],
            &["sheet", "--format", "bbcode"],
            &["sheet", "--format", "text"],
            &["sheet", "--format", "json"],
            &["sheet", "--format", "svg"],
            &["render", "machine", "--format", "text"],
            &["render", "sheet", "--format", "svg"],
            &["render", "tune", "--format", "text"],
        ] {
            let (_, words) = printed(&text, arguments);
            assert!(is_tame(&words, false), "{arguments:?} {name:?}: {words:?}");
            if arguments.last() == Some(&"svg") {
                assert!(!words.contains("<script") && !words.contains("onload=x>"), "{arguments:?}: {words}");
            }
        }
        let (_, words) = printed(&text, &["render", "machine", "--format", "ansi"]);
        assert!(is_tame(&words, true), "{name:?}: {words:?}");
        // Nothing is markup inside of fences and `[code]`, and one line of a name ends neither.
        let outside = |words: &str, fence: [&str; 2]| -> String {
            let mut parts = words.split(fence[0]);
            let first = parts.next().unwrap_or_default().to_owned();
            let rest = parts.enumerate().map(|(at, part)| match fence[0] == fence[1] {
                true if at % 2 == 0 => "",
                true => part,
                false => part.split_once(fence[1]).map_or(part, |(_, after)| after),
            });
            first + &rest.collect::<String>()
        };
        let (_, markdown) = printed(&text, &["sheet", "--format", "markdown"]);
        let markdown = outside(&markdown, ["\n```", "\n```"]);
        assert!(!markdown.contains("<script>") && !markdown.contains("](javascript:"), "{markdown}");
        let (_, bbcode) = printed(&text, &["sheet", "--format", "bbcode"]);
        let bbcode = outside(&bbcode, ["[code]", "[/code]"]);
        assert!(!bbcode.contains("[url=x]"), "{bbcode}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any lines near those of the listings are read or refused, never a panic, and a machine can be made of them.
    #[test]
    fn no_text_upsets_the_readers(lines in prop::collection::vec(prop_oneof![
        "(/dev/)?nvme[0-9]{1,3}(n[0-9]{1,2})?[ ]{1,4}[A-Za-z0-9 /.,+x-]{0,60}(1[.,]0 TB / 2 TB|512 B \\+ 0 B|pcie 0000:01:00.0)?[ A-Z0-9]{0,9}",
        "(Node|Device|NAME|CPU0|---).{0,60}",
        "(LBA Format|lbaf) +[0-9]{1,3} : .{0,30}(lbads:[0-9]{1,4}|Data Size: [0-9]{1,12}).{0,20}(\\(in use\\))?",
        "(nsze|flbas|sn|mdts) +: (0x)?[0-9a-f]{0,20}",
        "NVME Identify (Namespace|Controller).{0,6}",
        "# nvme id-(ns|ctrl) /dev/nvme[0-9]n[0-9]",
        "[{\\[\"}\\]].{0,40}",
        "pci 0000:[0-9a-f]{2}:00.0: .{0,20}limited by .{0,9} GT/s (PCIe )?x[0-9]{1,4} link at .{0,14}",
        ".{0,50}",
    ], 0..24)) {
        let file = file(&lines.join("\n"));
        let origin = iodyno::source::origin::Origin::Capture(file.path().to_owned());
        if let Ok(root) = origin.open() {
            let _ = iodyno::source::read_machine(&*root);
        }
    }
}

#[test]
fn more_functions_than_any_machine_has_are_refused_in_one_line() {
    let function = |number: usize| {
        let (bus, device) = (number / 256, number % 256);
        format!("{bus:02x}:{:02x}.{} Non-Volatile memory controller: X\n", device / 8, device % 8)
    };
    let text: String = (0..8193).map(function).collect();
    let (status, words) = printed(&text, &["tree"]);
    assert_eq!(status, Some(2));
    assert!(words.contains("more than 8192 functions") && words.trim().lines().count() == 1, "{words}");
}

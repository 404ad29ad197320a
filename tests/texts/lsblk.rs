//! Tables of lsblk: queues and kinds of layers, transports, drives without users.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::damaged::{drives, printed};

/// Users of each drive, as `drives --json` words them.
fn in_use(found: &BTreeMap<String, Value>, name: &str) -> Vec<String> {
    let users = found[name]["in_use_by"].as_array().unwrap().iter();
    users.map(|user| user.as_str().unwrap().to_owned()).collect()
}

#[test]
fn layers_have_their_queues_and_kinds() {
    let topology = "$ lsblk -t
NAME            ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED       RQ-SIZE  RA WSAME
sda                     0   4096      0    4096     512    1 mq-deadline     256 128    0B
└─sda1                  0   4096      0    4096     512    1 mq-deadline     256 128    0B
  └─md127               0   4096      0    4096     512    1                 128 512    0B
nvme0n1                 0    512      0     512     512    0 none           1023 128    0B
└─nvme0n1p3             0    512      0     512     512    0 none           1023 128    0B
  └─cryptroot           0    512      0     512    4096    0                 128 256    0B
    └─vg-root           0    512      0     512    4096    0 bfq             128 128    0B
";
    let types = "$ lsblk
NAME          MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS
sda             8:0    0   3.6T  0 disk
└─sda1          8:1    0   3.6T  0 part
  └─md127       9:127  0   3.6T  0 raid1 /srv
nvme0n1       259:0    0 931.5G  0 disk
└─nvme0n1p3   259:3    0 928.5G  0 part
  └─cryptroot 253:0    0 928.4G  0 crypt
    └─vg-root 253:1    0   100G  0 lvm   /
";
    for text in [format!("{topology}\n{types}"), format!("{types}\n{topology}")] {
        let found = drives(&text);
        let of = |name: &str| {
            let row = &found[name];
            let settings =
                ["read_ahead_kb", "rotational", "scheduler"].map(|field| row["settings"][field].to_string());
            format!("{} {}", settings.join(" "), row["lba_bytes"])
        };
        assert_eq!(of("md127"), "512 true null 512");
        assert_eq!(of("cryptroot"), "256 false null 4096");
        assert_eq!(of("vg-root"), "128 false \"bfq\" 4096");
        let layer = |name: &str| found[name]["layer"]["text"].as_str().unwrap().to_owned();
        assert_eq!(
            ["md127", "cryptroot", "vg-root"].map(layer),
            ["RAID1", "crypt cryptroot", "LVM volume vg/root"]
        );
    }
    // Without TYPE.
    let found = drives(topology);
    let layer = |name: &str| found[name]["layer"]["text"].as_str().unwrap().to_owned();
    assert_eq!(["md127", "cryptroot"].map(layer), ["md", "device mapper cryptroot"]);
}

const TYPES: &str = "$ lsblk -o NAME,TRAN,TYPE,SIZE,MODEL,MOUNTPOINTS
NAME            TRAN   TYPE    SIZE MODEL               MOUNTPOINTS
sda             sata   disk    3.6T WDC WD40EFRX        
└─sda1                 part    3.6T                     
  └─md127              raid1   3.6T                     /srv
sdb             usb    disk   14.9G Ultra               
sdc             sas    disk   14.9G HUS                 
nvme0n1         nvme   disk  931.5G Samsung SSD 980     
└─nvme0n1p3            part  931.5G                     
  └─cryptroot          crypt 931.5G                     
    └─vg-root          lvm     100G                     /
nvme1n1         nvme   disk  931.5G Samsung SSD 990     
";

#[test]
fn transports_are_those_of_lsblk() {
    let found = drives(TYPES);
    let kinds = ["sda", "sdb", "sdc", "nvme1n1"].map(|name| found[name]["kind"].as_str().unwrap());
    assert_eq!(kinds, ["SATA", "USB", "SCSI", "NVMe"]);
}

#[test]
fn rows_that_end_in_blanks_are_not_joined() {
    let found = drives(TYPES);
    assert_eq!(in_use(&found, "sda"), ["md127 mounted at /srv (unknown file system) on sda1"]);
    let users = in_use(&found, "nvme0n1");
    assert_eq!(users, ["vg-root mounted at / (unknown file system) on cryptroot on nvme0n1p3"]);
    assert_eq!(found["nvme1n1"]["model"], "Samsung SSD 990");
}

#[test]
fn drives_without_users_in_lsblk_are_not_unknown() {
    let users = |text: &str, name: &str| {
        let table = printed(text, &["drives"]);
        let line = table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.trim_end().rsplit("  ").next().unwrap().to_owned()
    };
    for name in ["sdb", "sdc", "nvme1n1"] {
        assert_eq!(users(TYPES, name), "none in lsblk");
    }
    assert_eq!(users("nvme0n1  259:0  0 931.5G  0 disk\n", "nvme0n1"), "?", "no heading");
    let json = r#"{"blockdevices":[{"name":"sda","size":1000204886016,"type":"disk","tran":"sata","mountpoints":[null]},
{"name":"sdb","size":1000204886016,"type":"disk"}]}"#;
    assert_eq!(["sda", "sdb"].map(|name| users(json, name)), ["none in lsblk", "?"]);
    assert_eq!(drives(json)["sda"]["kind"], "SATA");
}

#[test]
fn sizes_stand_below_their_heading_behind_cells_that_are_empty() {
    let found = drives(
        "$ lsblk -o NAME,FSTYPE,SIZE,MOUNTPOINT,LABEL
NAME        FSTYPE       SIZE MOUNTPOINT LABEL
sda                      3.6T
├─sda1      zfs_member   3.6T            tank
└─sda9                     8M
nvme0n1                931.5G
└─nvme0n1p2 btrfs        931G /
",
    );
    assert_eq!(found["sda"]["size_text"], "3.6 TiB");
    assert_eq!(found["nvme0n1"]["size_bytes"], 1_000_190_509_056_u64, "931.5 GiB");
    assert_eq!(in_use(&found, "nvme0n1"), ["nvme0n1p2 mounted at / (btrfs)"]);
}

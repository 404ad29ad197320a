//! Drives over roots made of text.

use super::*;
use crate::{
    machine::Use,
    model::PciAddress,
    source::{
        capture::TextRoot,
        root::{FolderRoot, LiveRoot, file_name},
    },
};

fn drives_in(body: &str) -> (Vec<Drive>, Vec<Problem>) {
    let root = TextRoot::parse(&format!("iodyno capture 1\n\n{body}")).unwrap();
    read(&root, &PciTree::default())
}

fn names(drives: &[Drive]) -> Vec<&str> {
    drives.iter().map(|drive| drive.name.as_str()).collect()
}

/// A block device with a size, `path` below `/sys/devices`.
fn disk(path: &str, sectors: u64) -> String {
    let name = path.rsplit('/').next().unwrap();
    format!(
        "link /sys/block/{name} ../devices/{path}\nfile /sys/devices/{path}/size {sectors}\n\
         file /sys/devices/{path}/dev 8:{sectors}\n"
    )
}

fn folder(names: &[&str]) -> String {
    names.iter().fold("dir /sys/block\n".to_owned(), |text, name| text + &format!("  {name}\n"))
}

#[test]
fn kinds_are_told_by_name_place_and_vendor() {
    let ata = "pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
    let usb = "pci0/0000:00:14.0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/block/sdb";
    let sas = "pci0/0000:03:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdc";
    let sata_on_sas = "pci0/0000:03:00.0/host0/port-0:1/end_device-0:1/target0:0:1/0:0:1:0/block/sdd";
    let all = [
        ata,
        usb,
        sas,
        sata_on_sas,
        "pci0/0000:00:02.0/virtio1/block/vda",
        "platform/mmc/mmc0/mmc0:0001/block/mmcblk0",
        "virtual/block/md127",
        "virtual/block/dm-0",
        "virtual/block/nullb0",
        "virtual/block/zram0",
        "virtual/block/loop0",
    ];
    let list: Vec<&str> = all.iter().map(|path| file_name(path)).collect();
    let mut body = folder(&list);
    for path in all {
        body += &disk(path, 8);
    }
    for (path, vendor) in [(usb, "ATA     "), (sas, "SEAGATE "), (sata_on_sas, "ATA     ")] {
        let device = path.rsplit_once("/block/").unwrap().0;
        let vendor = vendor.replace(' ', "\\s");
        body += &[
            format!("link /sys/devices/{path}/device ../../../{}\n", file_name(device)),
            format!("file /sys/devices/{device}/vendor {vendor}\n"),
            format!("file /sys/devices/{device}/model X1\n"),
        ]
        .concat();
    }
    let (drives, _) = drives_in(&body);
    let kinds: Vec<_> = drives.iter().map(|drive| (drive.name.as_str(), drive.kind.name())).collect();
    assert_eq!(
        kinds,
        [
            ("mmcblk0", "MMC"),
            ("sda", "SATA"),
            ("sdb", "SCSI"),
            ("sdc", "SCSI"),
            ("sdd", "SATA"),
            ("vda", "virtio"),
            ("dm-0", "dm"),
            ("loop0", "loop"),
            ("md127", "md"),
            ("nullb0", "software"),
            ("zram0", "zram"),
        ]
    );
    let model = |name: &str| {
        let drive = drives.iter().find(|drive| drive.name.as_str() == name).unwrap();
        drive.model.value().unwrap().to_string()
    };
    assert_eq!((model("sdc"), model("sdd")), ("SEAGATE X1".to_owned(), "X1".to_owned()));
}

#[test]
fn empty_software_and_drives_that_went_away_are_not_listed() {
    let mut body = folder(&["loop0", "loop1", "loop10", "loop9", "sda", "sdb", "zram0"]);
    for (name, sectors) in [("loop0", 0), ("loop1", 0), ("loop9", 8), ("loop10", 8), ("zram0", 0)] {
        body += &disk(&format!("virtual/block/{name}"), sectors);
    }
    body += "file /sys/devices/virtual/block/loop1/loop/backing_file /tmp/disk.img\n";
    body += "link /sys/block/sda ../devices/pci0/sda\nfail read /sys/devices/pci0/sda/size ENODEV\n";
    let (drives, _) = drives_in(&body);
    assert_eq!(names(&drives), ["loop1", "loop9", "loop10"]);
    assert_eq!(drives[0].backing_file.as_ref().unwrap(), &"/tmp/disk.img");
    let (none, problems) = drives_in("fail list /sys/block EACCES\n");
    assert!(none.is_empty());
    assert_eq!(problems.len(), 1);
}

#[test]
fn hidden_multipath_nodes_are_joined_to_their_namespace() {
    let hidden = "pci0000:20/0000:20:00.0/0000:21:00.0/nvme/nvme3/nvme1c3n1";
    let head = "virtual/nvme-subsystem/nvme-subsys1/nvme1n1";
    let body = folder(&["nvme1c3n1", "nvme1n1"])
        + &disk(hidden, 0)
        + &disk(head, 4096)
        + "file /sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/nvme/nvme3/model Fast\\s\n\
           file /sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/nvme/nvme3/queue_count 5\n\
           link /sys/class/nvme-generic/ng1n1 ../../devices/virtual/nvme-subsystem/nvme-subsys1/ng1n1\n\
           dir /sys/block/nvme1c3n1/mq\n  0\nfile /sys/block/nvme1c3n1/mq/0/cpu_list 0, 1\n";
    let (drives, _) = drives_in(&body);
    assert_eq!(names(&drives), ["nvme1n1"]);
    let nvme = drives[0].nvme.as_ref().unwrap();
    assert_eq!(nvme.controller, "nvme3");
    assert_eq!(nvme.paths, [DriveName::new("nvme1c3n1")]);
    assert_eq!(nvme.io_queues.get(), Some(4));
    assert_eq!(nvme.generic.as_ref().unwrap(), &"/dev/ng1n1");
    assert_eq!(drives[0].model.value().unwrap(), &"Fast");
    assert_eq!(drives[0].queue.hardware_queues.get().map(|queues| queues.default), Some(1));
}

#[test]
fn a_namespace_without_visible_paths_finds_its_controller_in_the_subsystem() {
    let body = folder(&["nvme0n1"])
        + &disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", 8)
        + "dir /sys/devices/virtual/nvme-subsystem/nvme-subsys0\n  model\n  nvme0n1\n  nvme7\n\
           link /sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme7 ../../../pci0/nvme/nvme7\n\
           file /sys/devices/pci0/nvme/nvme7/state resetting\n";
    let (drives, _) = drives_in(&body);
    let nvme = drives[0].nvme.as_ref().unwrap();
    assert_eq!(&*nvme.controller_path, "/sys/devices/pci0/nvme/nvme7");
    let why = nvme.smart.problem().unwrap().reason;
    assert_eq!(&*why, "not asked: the controller is resetting");
}

#[test]
fn uses_are_found_by_number_by_name_and_through_btrfs() {
    let with_parts = |name: &str, number: u32| {
        let path = format!("/sys/devices/pci0/block/{name}");
        format!(
            "link /sys/block/{name} ../devices/pci0/block/{name}\nfile {path}/size 9000\nfile {path}/dev 8:{number}\n\
             dir {path}\n  {name}1\n  {name}2\n  size\n\
             file {path}/{name}1/partition 1\nfile {path}/{name}1/start 2048\nfile {path}/{name}1/size 100\n\
             file {path}/{name}1/dev 8:{}\n\
             file {path}/{name}2/partition 2\nfile {path}/{name}2/start 40\nfile {path}/{name}2/size 100\n\
             file {path}/{name}2/dev 8:{}\n",
            number + 1,
            number + 2
        )
    };
    let body = folder(&["dm-0", "sda", "sdb"])
        + &with_parts("sda", 0)
        + &with_parts("sdb", 16)
        + &disk("virtual/block/dm-0", 8)
        + "file /sys/devices/virtual/block/dm-0/dm/name vg-home\n\
           dir /sys/devices/pci0/block/sda/sda2/holders\n  dm-0\n\
           dir /sys/fs/btrfs\n  0a\n  features\n\
           dir /sys/fs/btrfs/0a/devices\n  sda1\n  sdb\n\
           text /proc/self/mountinfo\n  1 0 0:30 /sub /data\\\\040dir rw - btrfs /dev/sdb rw\n\
           \x20 2 1 253:7 / /home rw,noatime shared:1 - ext4 /dev/mapper/vg-home rw\n\
           \x20 3 1 8:17 / /boot rw - vfat /dev/disk/by-label/EFI rw\n\
           text /proc/swaps\n  Filename Type Size Used Priority\n  /dev/sdb2 partition 1 0 -2\n";
    let (drives, problems) = drives_in(&body);
    assert_eq!(problems, []);
    let of = |name: &str| {
        let drive = drives.iter().find(|drive| drive.name.as_str() == name).unwrap();
        drive.used_by.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of("sda"), ["sda1 mounted at /data dir (btrfs)", "sda2 held by dm-0"]);
    assert_eq!(
        of("sdb"),
        ["sdb mounted at /data dir (btrfs)", "sdb1 mounted at /boot (vfat)", "sdb2 is swap"]
    );
    assert_eq!(of("dm-0"), ["dm-0 mounted at /home (ext4)"]);
    let starts: Vec<_> = drives[0].partitions.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(starts, ["sda2", "sda1"], "in order of their start");
}

#[test]
fn an_old_mount_table_names_the_root_device_only_on_the_command_line() {
    let body = folder(&["sda"])
        + &disk("pci0/block/sda", 8)
        + "fail read /proc/self/mountinfo ENOENT\n\
           text /proc/mounts\n  rootfs / rootfs rw 0 0\n  /dev/root / ext4 rw 0 0\n\
           file /proc/cmdline quiet root=/dev/sda rw\n";
    let (drives, _) = drives_in(&body);
    assert_eq!(
        drives[0].used_by,
        [Use::Mount { part: "sda".into(), point: "/".into(), filesystem: "ext4".into() }]
    );
}

#[test]
fn serial_numbers_of_scsi_disks_come_from_page_80() {
    let device = "/sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0";
    let disk_at = |page: &str| {
        let (drives, _) = drives_in(
            &(folder(&["sda"])
                + &disk("pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda", 8)
                + &format!(
                    "link {device}/block/sda/device ../../../0:0:0:0\nhex {device}/vpd_pg80 {page}\n"
                )),
        );
        drives[0].serial.clone()
    };
    let serial = disk_at("8\n  0000: 00 80 00 04 20 53 4e 31");
    assert_eq!(serial.value().unwrap(), &"SN1");
    assert!(disk_at("8\n  0000: 00 80 00 09 20 53 4e 31").problem().unwrap().reason.contains("cut off"));
    assert!(disk_at("2\n  0000: 00 80").problem().is_some());
}

/// Whatever machine this runs on: nothing is zero that was not read, and the root file system is found if it is a disk's.
#[test]
fn this_machine_reads_without_complaint() {
    let (drives, problems) = read(&LiveRoot::new(), &PciTree::default());
    assert_eq!(problems, []);
    for drive in &drives {
        assert!(drive.path.starts_with("/sys/devices/"), "{}", drive.path);
        assert!(drive.size.is_known() && drive.queue.logical_block_size.is_known(), "{}", drive.name);
    }
}

#[test]
fn a_drive_belongs_to_the_nearest_function_above_it() {
    let address: PciAddress = "0000:21:00.0".parse().unwrap();
    let nodes = HashMap::from([
        ("/sys/devices/pci0000:20", NodeIndex(0)),
        ("/sys/devices/pci0000:20/0000:20:00.0", NodeIndex(1)),
        ("/sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0", NodeIndex(2)),
    ]);
    let below = format!("/sys/devices/pci0000:20/0000:20:00.0/{address}/nvme/nvme0");
    assert_eq!(nearest(&nodes, &below), Some(NodeIndex(2)));
    assert_eq!(nearest(&nodes, "/sys/devices/pci0000:20/0000:20:00.0x/nvme"), Some(NodeIndex(0)));
    assert_eq!(nearest(&nodes, "/sys/devices/virtual/block/loop0"), None);
}

#[test]
fn a_folder_of_files_reads_like_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (none, problems) = read(&FolderRoot::new(folder.path()), &PciTree::default());
    assert!(none.is_empty());
    assert_eq!(&*problems[0].path, "/sys/block");
}

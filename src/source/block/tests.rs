//! Drives over roots made of text.

use super::*;
use crate::{
    machine::{Use, User},
    source::{
        capture::TextRoot,
        root::{FolderRoot, LiveRoot, file_name},
    },
};

fn drives_in(body: &str) -> (Vec<Drive>, Vec<Problem>) {
    let root = TextRoot::parse(&format!("iodyno capture 1\n\n{body}")).unwrap();
    let (drives, _, _, problems) = read(&root, &PciTree::default());
    (drives, problems)
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
            ("sdb", "USB"),
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
fn a_cd_rom_is_no_drive() {
    let cd = |name: &str, device_type: &str| {
        let path = format!("pci0/ata2/host1/target1:0:0/1:0:0:0/block/{name}");
        folder(&[name])
            + &disk(&path, 8)
            + &format!("link /sys/devices/{path}/device ../../../1:0:0:0\n{device_type}")
    };
    let of_type =
        |number: u32| format!("file /sys/devices/pci0/ata2/host1/target1:0:0/1:0:0:0/type {number}\n");
    assert_eq!(names(&drives_in(&cd("sr0", &of_type(5))).0), Vec::<&str>::new());
    assert_eq!(names(&drives_in(&cd("sr0", "")).0), Vec::<&str>::new());
    assert_eq!(names(&drives_in(&cd("sda", &of_type(0))).0), ["sda"]);
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
           link /sys/class/nvme-generic/ng1n1 ../../devices/virtual/nvme-subsystem/nvme-subsys1/ng1n1\n\
           dir /sys/block/nvme1c3n1/mq\n  0\nfile /sys/block/nvme1c3n1/mq/0/cpu_list 0, 1\n";
    let (drives, _) = drives_in(&body);
    assert_eq!(names(&drives), ["nvme1n1"]);
    let nvme = drives[0].nvme.as_ref().unwrap();
    assert_eq!(nvme.controller, "nvme3");
    assert_eq!(nvme.paths, [DriveName::new("nvme1c3n1")]);
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
    assert_eq!(&*why, "not read: the controller is resetting");
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
    assert_eq!(of("sda"), ["sda1 mounted at /data dir (btrfs)", "dm-0 mounted at /home (ext4) on sda2"]);
    assert_eq!(
        of("sdb"),
        ["sdb mounted at /data dir (btrfs)", "sdb1 mounted at /boot (vfat)", "sdb2 is swap"]
    );
    assert_eq!(of("dm-0"), ["dm-0 mounted at /home (ext4)"]);
    let starts: Vec<_> = drives[0].partitions.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(starts, ["sda2", "sda1"], "in order of their start");
}

/// A drive with one partition, and software devices above it, each with what its files say.
fn stacked(software: &[&str], more: &str) -> Vec<Drive> {
    let mut all = vec!["nvme0n1"];
    all.extend(software);
    let drive = "/sys/devices/pci0/nvme/nvme0/nvme0n1";
    let mut body = folder(&all)
        + &disk("pci0/nvme/nvme0/nvme0n1", 9000)
        + &format!(
            "dir {drive}\n  nvme0n1p1\n  size\nfile {drive}/nvme0n1p1/partition 1\nfile {drive}/nvme0n1p1/start 2048\n\
             file {drive}/nvme0n1p1/size 100\nfile {drive}/nvme0n1p1/dev 259:1\n\
             link /sys/class/nvme-generic/ng0n1 ../../devices/x\n"
        );
    for (number, name) in software.iter().enumerate() {
        body += &disk(&format!("virtual/block/{name}"), 100 + number as u64);
    }
    drives_in(&(body + more)).0
}

fn used(drives: &[Drive]) -> Vec<String> {
    drives[0].used_by.iter().map(ToString::to_string).collect()
}

const HOLDERS: &str = "/sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/holders";
const VIRTUAL: &str = "/sys/devices/virtual/block";

#[test]
fn every_layer_above_a_drive_counts() {
    let mounted =
        |number: &str| format!("text /proc/self/mountinfo\n  1 0 {number} / /mnt rw - ext4 /dev/x rw\n");
    let probe = |answer: &str| format!("text /probe/device-users\n  {answer}\n");
    let backing = |file: &str| format!("file {VIRTUAL}/loop0/loop/backing_file {file}\n");
    for (software, files, says) in [
        // A loop device on the partition, whose file system is mounted.
        (
            &["loop0"][..],
            backing("/dev/nvme0n1p1") + &mounted("8:100"),
            "loop0 mounted at /mnt (ext4) on nvme0n1p1",
        ),
        (&["loop0"], backing("/dev/nvme0n1p1"), "nvme0n1p1 held by loop0"),
        // The same by a name that only the kernel can follow.
        (
            &["loop0"],
            backing("/dev/disk/by-id/x") + &probe("stack nvme0n1p1 loop0"),
            "nvme0n1p1 held by loop0",
        ),
        // md, dm and a loop device on each other, told by holders and by slaves.
        (
            &["dm-0", "loop0", "md0"],
            format!("dir {HOLDERS}\n  md0\ndir {VIRTUAL}/dm-0/slaves\n  md0\n")
                + &backing("/dev/dm-0")
                + &mounted("8:101"),
            "loop0 mounted at /mnt (ext4) on dm-0 on md0 on nvme0n1p1",
        ),
        (
            &["dm-0"],
            format!("dir {HOLDERS}\n  dm-0\ntext /proc/swaps\n  Filename\n  /dev/dm-0 partition 1 0 -2\n"),
            "dm-0 is swap on nvme0n1p1",
        ),
        (
            &["dm-0"],
            format!("dir {HOLDERS}\n  dm-0\n") + &probe("open dm-0 71 qemu"),
            "dm-0 opened by qemu (process 71) on nvme0n1p1",
        ),
        // An array that is not started has no size and is no drive.
        (&[], format!("dir {HOLDERS}\n  md127\n"), "nvme0n1p1 held by md127"),
        (
            &[],
            "dir /sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1/bcache\n  dirty_data\n".to_owned(),
            "nvme0n1p1 held by bcache",
        ),
        // Mounted in another namespace, or let go lazily.
        (
            &[],
            "dir /sys/fs/ext4\n  features\n  nvme0n1p1\n".to_owned(),
            "nvme0n1p1 mounted in another mount namespace (ext4)",
        ),
        (
            &[],
            "dir /proc/fs/jbd2\n  nvme0n1p1-8\n".to_owned(),
            "nvme0n1p1 mounted in another mount namespace (ext4)",
        ),
        (
            &[],
            probe("mount nvme0n1p1 xfs /a\\\\040b 7 dockerd"),
            "nvme0n1p1 mounted at /a b (xfs) for dockerd (process 7)",
        ),
        (&[], probe("export nvme0n1p1 LIO iblock_0/disk"), "nvme0n1p1 exported by LIO iblock_0/disk"),
        (&[], probe("pool nvme0n1p1 tank"), "nvme0n1p1 in ZFS pool tank"),
        (&[], probe("open nvme0 7 smartd"), "nvme0 opened by smartd (process 7)"),
        (&[], probe("open ng0n1 7 a b"), "ng0n1 opened by a b (process 7)"),
    ] {
        assert_eq!(used(&stacked(software, &files)), [says]);
    }
}

#[test]
fn files_on_a_mounted_drive_are_users_of_it() {
    let table = "text /proc/self/mountinfo\n  1 0 259:1 / / rw - ext4 /dev/x rw\n  2 1 8:100 / /img rw - xfs /dev/loop0 rw\n";
    let files = table.to_owned()
        + &format!(
            "file {VIRTUAL}/loop0/loop/backing_file /a.img\nfile {VIRTUAL}/loop1/loop/backing_file /img/b (deleted)\n"
        )
        + "text /proc/swaps\n  Filename Type\n  /img/swap\\\\040file file 1 0 -2\n"
        + "text /probe/device-users\n  export-file /img/c LIO fileio_0/c\n";
    assert_eq!(
        used(&stacked(&["loop0", "loop1"], &files)),
        [
            "nvme0n1p1 mounted at / (ext4)",
            "loop0 mounted at /img (xfs) on nvme0n1p1",
            "swap file /img/swap file on loop0 on nvme0n1p1",
            "loop0 exported by LIO fileio_0/c on nvme0n1p1",
            "loop0 held by loop1 on nvme0n1p1",
        ]
    );
}

#[test]
fn a_lattice_or_circle_of_layers_ends() {
    let circle = format!(
        "dir {HOLDERS}\n  dm-0\ndir {VIRTUAL}/dm-0/holders\n  dm-1\n  dm-0\ndir {VIRTUAL}/dm-1/holders\n  dm-0\n"
    );
    assert_eq!(used(&stacked(&["dm-0", "dm-1"], &circle)), Vec::<String>::new());
    // Both legs of a mirror stand on the drive; its mount is listed once.
    let mirror = format!(
        "dir {HOLDERS}\n  dm-0\n  dm-1\ndir {VIRTUAL}/dm-0/holders\n  dm-2\ndir {VIRTUAL}/dm-1/holders\n  dm-2\n\
         text /proc/self/mountinfo\n  1 0 8:102 / /m rw - ext4 /dev/x rw\n"
    );
    assert_eq!(
        used(&stacked(&["dm-0", "dm-1", "dm-2"], &mirror)),
        ["dm-2 mounted at /m (ext4) on dm-0 on nvme0n1p1"]
    );
}

#[test]
fn users_that_could_not_be_read_are_told_of() {
    let unread = |files: &str| -> Vec<String> {
        let drives = stacked(&["loop0"], files);
        drives[0].users_unread.iter().map(|problem| problem.path.to_string()).collect()
    };
    let read = "text /proc/self/mountinfo\n  1 0 8:1 / / rw - ext4 x rw\nfile /proc/swaps Filename\n";
    let quiet = "hex /probe/device-users 0\n";
    let told = |line: &str| format!("{read}text /probe/device-users\n  {line}\n");
    assert_eq!(unread(&format!("{read}{quiet}")), Vec::<String>::new());
    assert_eq!(unread(read), ["/proc"], "a capture of an older version does not know");
    assert_eq!(unread(quiet), ["/proc/self/mountinfo"]);
    assert_eq!(unread(&told("unread /proc/7/fd EACCES: no")), ["/proc/7/fd"]);
    assert_eq!(unread(&told("unread-of nvme0n1p1 /run/x why")), ["/run/x"]);
    assert_eq!(unread(&told("unread-of loop0 /run/x why")), Vec::<String>::new());
    assert_eq!(unread(&told("no sense at all")), ["/probe/device-users"]);
    assert_eq!(unread(&format!("{read}{quiet}fail list {HOLDERS} EACCES\n")), [HOLDERS]);
    let rows = "  /dev/s partition 1 0 -2\n".repeat(33);
    let many = read.replace("file /proc/swaps Filename\n", &format!("text /proc/swaps\n  Filename\n{rows}"));
    let drives = stacked(&["loop0"], &format!("{many}{quiet}"));
    assert_eq!(drives[0].users_unread[0].reason.as_ref(), "33 rows of swap; the first 32 are read");
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
        [Use::of("sda", User::Mount { point: "/".into(), filesystem: "ext4".into() })]
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
    assert!(disk_at("8\n  0000: 00 80 00 09 20 53 4e 31").problem().unwrap().reason.contains("truncated"));
    assert!(disk_at("2\n  0000: 00 80").problem().is_some());
}

/// Whatever machine this runs on: nothing is zero that was not read, and the root file system is found if it is a
/// disk's.
#[test]
fn this_machine_reads_without_complaint() {
    let root = LiveRoot::new();
    let (tree, _) = crate::source::pci::read(&root);
    let (drives, _, _, problems) = read(&root, &tree);
    assert_eq!(problems, []);
    for drive in &drives {
        assert!(drive.path.starts_with("/sys/devices/"), "{}", drive.path);
        assert!(drive.size.is_known() && drive.queue.logical_block_size.is_known(), "{}", drive.name);
    }
}

#[test]
fn a_path_names_its_function_last() {
    let last = |path: &str| address_in(path).map(|address| address.to_string());
    let below = "/sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0/nvme/nvme0";
    assert_eq!(last(below).as_deref(), Some("0000:21:00.0"));
    let vmd = "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e1:00.0/nvme/nvme0";
    assert_eq!(last(vmd).as_deref(), Some("10000:e1:00.0"));
    assert_eq!(last("/sys/devices/pci0000:20/AMDI0040:00/mmc0"), None);
    assert_eq!(last("/sys/devices/virtual/block/loop0"), None);
}

#[test]
fn a_vendor_is_written_once() {
    let model = |vendor: &str, model: &str| {
        let read = |text: &str| Reading::known("/x", Label::new(text));
        scsi_model(&read(vendor), read(model)).value().map(ToString::to_string).unwrap()
    };
    assert_eq!(model("QEMU", "QEMU DVD-ROM"), "QEMU DVD-ROM");
    assert_eq!(model("SEAGATE", "ST4000NM"), "SEAGATE ST4000NM");
    assert_eq!(model("WD", "WDC Disk"), "WD WDC Disk");
    assert_eq!(model("ATA", "Samsung SSD"), "Samsung SSD");
}

#[test]
fn a_folder_of_files_reads_like_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (none, _, _, problems) = read(&FolderRoot::new(folder.path()), &PciTree::default());
    assert!(none.is_empty());
    assert_eq!(&*problems[0].path, "/sys/block");
}

//! Layers of captures.

use crate::{
    machine::Machine,
    source::{self, capture::TextRoot},
};

/// Four drives; md0 of two of them, degraded and recovering; device mapper on it with a file system; a loop device.
const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");

fn machine() -> Machine {
    source::read_machine(&TextRoot::parse(STACK).unwrap()).0
}

fn levels(levels: &[crate::machine::layers::Level]) -> Vec<String> {
    levels.iter().map(|level| format!("{}{}", "  ".repeat(level.depth), level.words)).collect()
}

#[test]
fn an_array_has_its_members_and_progress() {
    let machine = machine();
    let (drive, md) = machine.arrays().next().unwrap();
    assert_eq!(drive.name.as_str(), "md0");
    assert_eq!(md.level_name(), "RAID5");
    let members: Vec<_> = md.members.iter().map(|member| (member.name.as_str(), member.slot)).collect();
    assert_eq!(members, [("nvme0n1p1", Some(0)), ("nvme1n1", Some(1)), ("nvme2n1", Some(2))]);
    assert_eq!(md.sync_words().unwrap(), "recover 25.0 % at 205 MB/s per member, 62 min left");
    assert_eq!(md.stripe().unwrap().0, 2 * 524_288);
    let below: Vec<_> = machine.hardware_below("dm-0").iter().map(|drive| drive.name.to_string()).collect();
    assert_eq!(below, ["nvme0n1", "nvme1n1", "nvme2n1"]);
}

#[test]
fn the_stack_reads_from_the_drive_up_and_from_the_mount_down() {
    let machine = machine();
    let drive = machine.whole("nvme0n1p1").unwrap();
    assert_eq!(
        levels(&machine.stack_above(drive)),
        [
            "md0 RAID5, 2 of 3 members, recover 25.0 % at 205 MB/s per member, 62 min left, chunk 512k",
            "  dm-0 crypt cryptdata",
            "    /srv/data ext4, noatime, stripe=256",
            "      loop0 loop, through the page cache, /srv/data/image.raw",
        ]
    );
    let mount = machine.layers.file_systems.iter().find(|mount| mount.point == "/srv/data").unwrap();
    assert_eq!(mount.words(), "/srv/data ext4, noatime, stripe=256");
    assert_eq!(
        levels(&machine.stack_below(mount.devices[0].as_str())),
        [
            "dm-0 crypt cryptdata",
            "  md0 RAID5, 2 of 3 members, recover 25.0 % at 205 MB/s per member, 62 min left, chunk 512k",
            "    nvme0n1p1 of nvme0n1 Fast 1TB",
            "    nvme1n1 Fast 1TB",
            "    nvme2n1 Fast 1TB, spare",
        ]
    );
}

#[test]
fn a_loop_device_lies_on_the_file_system_of_its_file() {
    let machine = machine();
    let below = &machine.layer("loop0").unwrap().below;
    assert_eq!(below.iter().map(ToString::to_string).collect::<Vec<_>>(), ["dm-0"]);
    assert_eq!(machine.layer("loop0").unwrap().words(), "loop, through the page cache");
}

/// Two drives with one btrfs file system, its data on their way from single to raid1.
const BTRFS: &str = r"iodyno capture 1

dir /sys/block
  sda
  sdb
link /sys/block/sda ../devices/pci0/block/sda
link /sys/block/sdb ../devices/pci0/block/sdb
file /sys/devices/pci0/block/sda/size 9000
file /sys/devices/pci0/block/sda/dev 8:0
file /sys/devices/pci0/block/sdb/size 9000
file /sys/devices/pci0/block/sdb/dev 8:16
dir /sys/fs/btrfs
  0a
  features
dir /sys/fs/btrfs/0a/devices
  sda
  sdb
dir /sys/fs/btrfs/0a/allocation/data
  bytes_used
  raid1
  single
  total_bytes
dir /sys/fs/btrfs/0a/allocation/metadata
  raid1
file /proc/self/mountinfo 1 0 0:30 / /data rw,noatime - btrfs /dev/sdb rw
";

#[test]
fn btrfs_on_several_devices_has_its_profiles() {
    let (machine, _) = source::read_machine(&TextRoot::parse(BTRFS).unwrap());
    let mount = &machine.layers.file_systems[0];
    assert_eq!(mount.words(), "/data btrfs, 2 devices, data single and raid1, metadata raid1, noatime");
    for drive in &machine.drives {
        assert_eq!(levels(&machine.stack_above(drive)), [mount.words()], "{}", drive.name);
    }
    let old = BTRFS.replace("allocation", "elsewhere");
    let (machine, _) = source::read_machine(&TextRoot::parse(&old).unwrap());
    assert_eq!(machine.layers.file_systems[0].words(), "/data btrfs, 2 devices, noatime");
}

#[test]
fn volumes_have_the_names_that_lvm_gives_them() {
    let machine = machine();
    assert_eq!(machine.layer("dm-1").unwrap().words(), "LVM linear data-1/home");
}

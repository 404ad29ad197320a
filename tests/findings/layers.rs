//! Layers above the drives, and what drives report of themselves.

use iodyno::{
    findings::{Finding, Risk},
    machine::{DriveKind, Machine, Use, User},
    model::{Pattern, Reading, Severity},
    units::Bytes,
};

use super::{load::two_channels, scene::*};

crate::rows! {
    md_resync "md-resync" {
        fires: raid("raid1").with_md("sync_action", "check"),
        silent: raid("raid1"),
    }
    md_degraded "md-degraded" {
        fires: raid("raid5").with_md("degraded", "1"),
        silent: raid("raid5"),
    }
    md_bitmap "md-bitmap" {
        fires: raid("raid1").with_md("bitmap/location", "+8"),
        silent: raid("raid1").with_md("bitmap/location", "none"),
    }
    md_raid5_lock "md-raid5-lock" {
        fires: old_raid5(),
        silent: raid("raid5").with_md("group_thread_cnt", "4"),
    }
    md_members_differ "md-members-differ" {
        fires: raid("raid10").with(|machine| machine.drives[0].kind = DriveKind::Sata),
        silent: raid("raid10"),
    }
    md_queue "md-queue" {
        fires: raid("raid0").with_queue("read_ahead_kb", "128"),
        silent: raid("raid0"),
    }
    dm_crypt_workqueues "dm-crypt-workqueues" {
        fires: crypt("aes-xts-plain64 allow_discards"),
        silent: crypt("aes-xts-plain64 no_read_workqueue no_write_workqueue"),
    }
    memory_copies "memory-copies" {
        fires: pooled().with(two_channels),
        silent: x570().with(two_channels),
    }
    firmware_advisory "firmware-advisory" {
        fires: firmware("Samsung SSD 990 PRO 2TB", "3B2QJXD7"),
        silent: firmware("Samsung SSD 990 PRO 2TB", "4B2QJXD7"),
    }
    nvme_errors "nvme-errors" {
        fires: counted("command_retries_count", "7"),
        silent: counted("command_retries_count", "0"),
    }
}

impl Scene {
    /// Sets a file of the array's `md` folder.
    pub fn with_md(self, file: &str, text: &str) -> Self {
        self.file(&format!("/sys/devices/virtual/block/md0/md/{file}"), text)
    }

    fn with_queue(self, file: &str, text: &str) -> Self {
        self.file(&format!("/sys/devices/virtual/block/md0/queue/{file}"), text)
    }
}

/// The four drives as an array.
pub fn raid(level: &str) -> Scene {
    let members = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"];
    let chunk = if level == "raid1" { "0" } else { "524288" };
    let scene = x570().stacked(
        "md0",
        &members,
        &[
            ("md/level", level),
            ("md/raid_disks", "4"),
            ("md/chunk_size", chunk),
            ("md/array_state", "clean"),
            ("md/degraded", "0"),
            ("md/sync_action", "idle"),
            ("queue/read_ahead_kb", "8192"),
            ("queue/max_sectors_kb", "1280"),
            ("queue/max_hw_sectors_kb", "2048"),
        ],
    );
    (0..).zip(members).fold(scene, |scene, (slot, name)| {
        let slot: u32 = slot;
        scene
            .with_md(&format!("dev-{name}/state"), "in_sync")
            .with_md(&format!("dev-{name}/slot"), &slot.to_string())
    })
}

pub fn old_raid5() -> Scene {
    raid("raid5").with_md("group_thread_cnt", "4").file("/proc/sys/kernel/osrelease", "5.10.0-28-amd64")
}

/// An encrypted drive with this table.
pub fn crypt(parameters: &str) -> Scene {
    x570()
        .stacked("dm-0", &["nvme0n1"], &[("dm/name", "cryptdata"), ("dm/uuid", "CRYPT-LUKS2-00-cryptdata")])
        .file("/ioctl/dm-0/table", &format!("0 8000000000 crypt {parameters}"))
}

/// All drives in a pool of ZFS.
pub fn pooled() -> Scene {
    let scene = x570()
        .file("/proc/spl/kstat/zfs/arcstats", "9 1 0x01\nname type data\nsize 4 1024\nc_max 4 33554432");
    scene.with(|machine| {
        for drive in &mut machine.drives {
            drive.used_by.push(Use::of(drive.name.as_str(), User::Pool(label("tank"))));
        }
    })
}

/// The first drive with another model and firmware.
pub fn firmware(model: &str, revision: &str) -> Scene {
    x570().files_ending("/nvme/nvme0/model", model).files_ending("/nvme/nvme0/firmware_rev", revision)
}

fn counted(counter: &str, value: &str) -> Scene {
    let controller = x570().machine().drives[0].nvme.as_ref().unwrap().controller_path.clone();
    x570().file(&format!("{controller}/diag/{counter}"), value)
}

/// The drives as disks of a RAID controller.
pub fn behind_controller(machine: &mut Machine) {
    for drive in &mut machine.drives {
        drive.kind = DriveKind::Scsi;
        drive.nvme = None;
        let node = drive.node.unwrap();
        machine.pci.nodes[node.0].class = Reading::known("/test/class", 0x01_0400);
    }
}

fn evidence(finding: &Finding) -> String {
    finding
        .evidence
        .iter()
        .map(|proof| format!("{} = {}", proof.path, proof.value))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_resync_has_its_progress_speed_and_time_left() {
    let scene = raid("raid10")
        .with_md("sync_action", "resync")
        .with_md("sync_completed", "250000000 / 1000000000")
        .with_md("sync_speed", "500000");
    let finding = scene.one("md-resync");
    assert_eq!(finding.title, "md0: resync 25.0 % at 512 MB/s per member, 12 min left");
    assert_eq!(finding.remedy.text, "Wait until it ends: 12 min left. md/sync_speed_max bounds its speed.");
    assert_eq!(finding.remedy.command, None, "a resync is never stopped");
    assert_eq!(finding.severity, Severity::Warning);
    let check = raid("raid10").with_md("sync_action", "check").one("md-resync");
    assert_eq!(check.remedy.command.unwrap(), "echo idle | sudo tee /sys/block/md0/md/sync_action");
    assert_eq!(raid("raid10").with_md("sync_action", "frozen").severity("md-resync"), None);
}

#[test]
fn a_missing_member_is_data_at_risk() {
    let scene = raid("raid5").with_md("degraded", "1").with_md("dev-nvme2n1/state", "faulty");
    let finding = scene.one("md-degraded");
    assert_eq!(finding.severity, Severity::High);
    assert_eq!(finding.title, "md0: RAID5 with 3 of 4 members; nvme2n1 failed");
    assert_eq!(finding.remedy.risk, Risk::Hardware);
    assert!(evidence(&finding).contains("dev-nvme2n1/state = faulty"), "{}", evidence(&finding));
    let recovering = scene.with_md("sync_action", "recover").one("md-degraded");
    assert_eq!(recovering.remedy.risk, Risk::None, "{}", recovering.remedy.text);
}

#[test]
fn a_bitmap_counts_once_the_array_is_written_to() {
    let scene = raid("raid1").with_md("bitmap/location", "+8").with_md("bitmap/chunksize", "67108864");
    let is_folded =
        |scene: &Scene| scene.look().iter().any(|finding| finding.folds.iter().any(|id| id.0 == "md-bitmap"));
    assert!(is_folded(&scene));
    let written = scene.writes("md0", 500e6);
    assert!(!is_folded(&written));
    assert_eq!(written.one("md-bitmap").severity, Severity::Info);
}

#[test]
fn one_lock_is_that_of_old_kernels_and_one_thread_that_of_new_ones() {
    assert_eq!(old_raid5().one("md-raid5-lock").severity, Severity::Warning);
    assert_eq!(old_raid5().with_md("level", "raid10").severity("md-raid5-lock"), None);
    let one_thread = raid("raid6").with_md("group_thread_cnt", "0").writes("md0", 500e6).one("md-raid5-lock");
    assert_eq!(one_thread.severity, Severity::Info);
    assert_eq!(one_thread.remedy.command.unwrap(), "echo 4 | sudo tee /sys/block/md0/md/group_thread_cnt");
    let of_hard_disks = old_raid5().files_ending("/nvme0n1/queue/rotational", "1");
    assert_eq!(of_hard_disks.severity("md-raid5-lock"), None);
}

#[test]
fn members_differ_in_kind_rate_and_size() {
    let of_both = raid("raid10").with(|machine| machine.drives[0].kind = DriveKind::Sata);
    let finding = of_both.one("md-members-differ");
    assert!(finding.title.starts_with("md0: members of RAID10 differ: NVMe and SATA"), "{}", finding.title);
    assert_eq!(finding.evidence.len(), 4, "a line for each member");
    let smaller = raid("raid5").files_ending("/nvme3n1/size", "1000000000");
    assert_eq!(smaller.severity("md-members-differ"), Some(Severity::Info), "size alone costs no speed");
    let of_another_maker = raid("raid5").files_ending("/nvme3n1/size", "1914454664");
    assert_eq!(of_another_maker.severity("md-members-differ"), None, "2 % less");
    let meant = raid("raid1")
        .with_md("dev-nvme0n1/state", "in_sync,write_mostly")
        .with(|machine| machine.drives[0].kind = DriveKind::Sata);
    assert_eq!(meant.severity("md-members-differ"), None);
}

#[test]
fn an_array_is_as_fast_as_the_members_that_are_read_at_once() {
    let test = |depth, block: u64, pattern| {
        raid("raid0").test(&["md0"], move |work| {
            (work.depth, work.jobs, work.pattern) = (depth, 1, pattern);
            work.block_size = Bytes(block);
        })
    };
    let few = test(2, 131_072, Pattern::Sequential).one("md-queue");
    assert_eq!(few.title, "md0: the test reads from 1 of 4 members at once");
    assert_eq!(few.severity, Severity::Warning);
    assert_eq!(test(4, 524_288, Pattern::Sequential).severity("md-queue"), None);
    assert_eq!(test(4, 4096, Pattern::Random).severity("md-queue"), None);
    assert_eq!(
        test(3, 4096, Pattern::Random).one("md-queue").title,
        "md0: the test reads from 3 of 4 members at once"
    );
    let buffered = raid("raid0").with_queue("read_ahead_kb", "256").test(&["md0"], |work| {
        (work.direct, work.pattern) = (false, Pattern::Sequential);
    });
    let finding = buffered.one("md-queue");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.remedy.command.unwrap(), "echo 4096 | sudo tee /sys/block/md0/queue/read_ahead_kb");
    let split = raid("raid0").with_queue("max_sectors_kb", "128").one("md-queue");
    assert_eq!(split.remedy.command.unwrap(), "echo 512 | sudo tee /sys/block/md0/queue/max_sectors_kb");
}

#[test]
fn a_crypt_device_is_refreshed_by_its_name_and_unjudged_without_its_table() {
    let finding = crypt("aes-xts-plain64 no_read_workqueue").one("dm-crypt-workqueues");
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(
        finding.remedy.command.unwrap(),
        "sudo cryptsetup refresh --persistent --perf-no_write_workqueue cryptdata"
    );
    assert_eq!(finding.title, "dm-0: encryption of nvme0n1 goes through work queues");
    let tested = crypt("aes-xts-plain64").test(&["dm-0"], |_| {});
    assert_eq!(tested.severity("dm-crypt-workqueues"), Some(Severity::Warning));
    let unread = x570().stacked("dm-0", &["nvme0n1"], &[("dm/name", "x"), ("dm/uuid", "CRYPT-LUKS2-00-x")]);
    assert_eq!(unread.severity("dm-crypt-workqueues"), None);
    let slow = crypt("aes-xts-plain64").with(|machine| {
        machine.drives[0].kind = DriveKind::Sata;
        machine.drives[0].queue.rotational = Reading::known("/test", true);
    });
    assert_eq!(slow.severity("dm-crypt-workqueues"), None);
}

#[test]
fn flash_behind_a_controller_is_judged_as_flash() {
    let scene = x570().files_ending("/queue/scheduler", "none [mq-deadline]").with(behind_controller);
    let finding = scene.one("scheduler");
    assert_eq!(finding.severity, Severity::Info, "at rest");
    assert!(finding.gain.source.contains("PERC"), "{}", finding.gain.source);
    let tested = scene.clone().test(&["nvme0n1"], |_| {});
    assert_eq!(tested.severity("scheduler"), Some(Severity::Warning));
    let turning = scene.files_ending("/queue/rotational", "1");
    assert_eq!(turning.severity("scheduler"), None, "hard disks need a scheduler");
}

#[test]
fn a_stuck_sensor_shows_the_fault_of_the_firmware() {
    let scene = firmware("Samsung SSD 990 PRO 2TB", "1B2QJXD7");
    assert_eq!(scene.severity("firmware-advisory"), Some(Severity::Info));
    let stuck = scene.with(|machine| {
        machine.drives[0].temperature.as_mut().unwrap().now = Reading::known("/test/temp1_input", 84.0);
    });
    let finding = stuck.one("firmware-advisory");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(evidence(&finding).contains("/test/temp1_input = 84 °C"), "{}", evidence(&finding));
    assert!(finding.remedy.text.contains("4B2QJXD7"), "{}", finding.remedy.text);
    let queues = firmware("INTEL SSDPE2KX040T7", "QDV101D1").one("firmware-advisory");
    assert!(queues.remedy.text.contains("nvme.io_queue_depth"), "{}", queues.remedy.text);
}

#[test]
fn errors_that_grow_during_a_test_are_a_warning() {
    assert_eq!(counted("reset_count", "2").one("nvme-errors").title, "nvme0n1: since boot reset count 2");
    let log = "/ioctl/nvme0/smart-log";
    let grown = x570().test(&["nvme0n1"], |_| {}).watched().bytes(log, |bytes| bytes[176] += 3);
    let finding = grown.one("nvme-errors");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.title, "nvme0n1: during the test 3 new error log entries");
    let controller = x570().machine().drives[0].nvme.as_ref().unwrap().controller_path.clone();
    let retried = counted("command_retries_count", "7").test(&["nvme0n1"], |_| {}).watched();
    let retried = retried.file(&format!("{controller}/diag/command_retries_count"), "9");
    assert_eq!(retried.one("nvme-errors").title, "nvme0n1: during the test command retries count +2");
}

#[test]
fn the_kernel_log_names_timeouts_and_resets_of_a_drive() {
    let log = |lines: &str| x570().file("/probe/nvme-messages", lines);
    let stalled = "\
[  331.024601] nvme nvme0: I/O 128 QID 4 timeout, aborting
[  361.744612] nvme nvme0: I/O 128 QID 4 timeout, reset controller
[  402.100000] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff
[  403.200000] nvme nvme0: Device not ready; aborting reset, CSTS=0x1
[  404.000000] nvme nvme7: I/O 1 QID 1 timeout, aborting";
    let finding = log(stalled).one("nvme-errors");
    assert_eq!(
        finding.title,
        "nvme0n1: 2 timeouts, 1 reset after controller down, 1 failed reset in the kernel log"
    );
    assert_eq!(finding.severity, Severity::Warning);
    let words = evidence(&finding);
    let newest = "/dev/kmsg = [403.2 s] nvme0: Device not ready; aborting reset, CSTS=0x1";
    assert!(words.contains(newest) && !words.contains("aborting\n"), "{words}");
    assert!(!words.contains("[331.0 s]"), "the three newest: {words}");
    let reset = log("[   12.000000] nvme nvme1: resetting controller due to persistent internal error");
    let reset = reset.one("nvme-errors");
    assert_eq!((&*reset.title, reset.severity), ("nvme1n1: 1 reset in the kernel log", Severity::Info));
    assert_eq!(
        log("[    1.000000] nvme nvme0: 16/0/0 default/read/poll queues").severity("nvme-errors"),
        None
    );
    let counted = counted("reset_count", "2").file("/probe/nvme-messages", stalled).one("nvme-errors");
    assert!(counted.title.starts_with("nvme0n1: since boot reset count 2; 2 timeouts"), "{}", counted.title);
    let tested = log(stalled).test(&["nvme0n1"], |_| {}).watched();
    assert!(!tested.one("nvme-errors").title.contains("during the test"), "all of them are older");
    let later = format!("{stalled}\n[  900.000000] nvme nvme0: I/O 5 QID 1 timeout, completion polled");
    let later = tested.file("/probe/nvme-messages", &later).one("nvme-errors");
    assert_eq!(later.title, "nvme0n1: during the test 1 timeout in the kernel log");
}

#[test]
fn copies_count_where_memory_cannot_carry_them() {
    let finding = pooled().with(two_channels).one("memory-copies");
    assert!(finding.title.contains("with copies memory carries about 10.2 GB/s"), "{}", finding.title);
    assert!(evidence(&finding).contains("ARC up to"), "{}", evidence(&finding));
    assert_eq!(pooled().severity("memory-copies"), None, "unknown memory");
}

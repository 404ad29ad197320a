//! Drives.

use iodyno::{
    machine::{Machine, Use, User, drive::Temperature},
    model::{DriveName, Reading, Severity},
};

use super::scene::*;

crate::rows! {
    lba_512 "lba-512" {
        fires: x570(),
        silent: demo("x570-formatted"),
    }
    drive_hot "drive-hot" {
        fires: x570().with(|machine| heat(machine, 84.0)),
        silent: x570().with(|machine| heat(machine, 60.0)),
    }
    drive_worn "drive-worn" {
        fires: x570().bytes("/ioctl/nvme0/smart-log", |log| log[5] = 91),
        silent: x570(),
    }
    few_queues "few-queues" {
        fires: x570().with(|machine| queues(machine, 8)),
        silent: x570().with(|machine| queues(machine, 64)),
    }
    no_poll_queues "no-poll-queues" {
        fires: x570(),
        silent: x570().files_ending("/queue/io_poll", "1"),
    }
    remote_numa "remote-numa" {
        fires: two_nodes(1).test(&["nvme0n1"], |_| {}).busy(4, 90.0),
        silent: two_nodes(0).test(&["nvme0n1"], |_| {}).busy(4, 90.0),
    }
    in_use "in-use" {
        fires: laptop(),
        silent: x570().with(|machine| machine.drives.iter_mut().for_each(|drive| drive.used_by.clear())),
    }
    multipath "multipath" {
        fires: x570().with(|machine| {
            machine.drives[0].nvme.as_mut().unwrap().paths.push(DriveName::new("nvme0c0n1"));
        }),
        silent: x570(),
    }
    apst_latency "apst-latency" {
        fires: dozing().test(&["nvme0n1"], |work| work.depth = 1),
        silent: dozing().test(&["nvme0n1"], |_| {}),
    }
}

fn heat(machine: &mut Machine, now: f64) {
    let celsius = |file: &str, value| Reading::known(format!("/sys/hwmon/{file}"), value);
    machine.drives[0].temperature = Some(Temperature {
        now: celsius("temp1_input", now),
        max: celsius("temp1_max", 85.0),
        critical: celsius("temp1_crit", 95.0),
    });
}

fn queues(machine: &mut Machine, count: u32) {
    for drive in &mut machine.drives {
        let counted = iodyno::machine::queue::HardwareQueues { default: count, read: 0, poll: 0 };
        drive.queue.hardware_queues = Reading::known(format!("{}/mq", drive.path), counted);
    }
}

/// The first drive on node 0 or 1 of two; CPUs 0 to 3 belong to node 0.
fn two_nodes(home: u32) -> Scene {
    let change: fn(&mut Machine) =
        if home == 0 { |machine| split(machine, 0) } else { |machine| split(machine, 1) };
    x570().with(change)
}

fn split(machine: &mut Machine, home: u32) {
    machine.processors.numa = [(0, vec![0, 1, 2, 3]), (1, vec![4, 5, 6, 7])].into();
    machine.drives[0].numa_node = Reading::known("/sys/numa_node", Some(home));
}

fn dozing() -> Scene {
    x570().with(|machine| {
        machine.drives[0].nvme.as_mut().unwrap().apst = Reading::known("/ioctl/nvme0/apst", true);
    })
}

#[test]
fn the_format_the_drive_rates_better_is_a_warning() {
    let finding = x570().one("lba-512");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.subjects.len(), 4, "four drives, one finding");
    assert!(finding.title.ends_with("by their own rating 4096 B are faster"), "{}", finding.title);
    let states = |words: &str| finding.evidence.iter().any(|proof| proof.value.contains(words));
    assert!(states("(good), in use") && states("(better), offered"), "{:?}", finding.evidence);
    assert_eq!(finding.gain.bytes_per_second, None, "no invented percentage");
    assert_eq!(finding.remedy.risk, iodyno::findings::Risk::DestroysData);
    assert!(finding.remedy.command.unwrap().contains("nvme format --lbaf=1 /dev/nvme0n1"));
}

/// Formats of Identify Namespace start at byte 128, four bytes each; relative performance is bits 25:24.
fn rated(scene: Scene, format: usize, performance: u8) -> Scene {
    (0..4).fold(scene, |scene, drive| {
        scene.bytes(&format!("/ioctl/nvme{drive}n1/identify-ns"), |data| {
            data[128 + 4 * format + 3] = (data[128 + 4 * format + 3] & !3) | performance;
        })
    })
}

#[test]
fn formats_that_perform_the_same_are_information_and_a_worse_one_is_nothing() {
    assert_eq!(rated(x570(), 1, 2).severity("lba-512"), Some(Severity::Info));
    assert_eq!(rated(x570(), 1, 3).severity("lba-512"), None);
}

#[test]
fn a_format_with_other_metadata_is_no_replacement() {
    let scene = (0..4).fold(x570(), |scene, drive| {
        scene.bytes(&format!("/ioctl/nvme{drive}n1/identify-ns"), |data| data[128 + 4] = 8)
    });
    assert_eq!(scene.severity("lba-512"), None);
}

#[test]
fn a_drive_that_cannot_be_formatted_gets_no_command() {
    let locked = (0..4).fold(x570(), |scene, drive| {
        scene.bytes(&format!("/ioctl/nvme{drive}n1/identify-ctrl"), |data| data[256] &= !2)
    });
    assert_eq!(locked.one("lba-512").remedy.command, None);
    let wide = x570().bytes("/ioctl/nvme0n1/identify-ctrl", |data| data[524] |= 1);
    assert!(wide.one("lba-512").remedy.text.contains("every namespace"));
}

fn in_use_of(scene: &Scene) -> (String, String) {
    let remedy = scene.one("lba-512").remedy;
    (remedy.text, remedy.command.unwrap_or_default())
}

#[test]
fn no_command_destroys_a_drive_in_use_or_with_unknown_users() {
    let (free, commands) = in_use_of(&x570());
    assert!(!free.contains("No command") && commands.matches("nvme format").count() == 4, "{commands}");

    let used = x570().with(|machine| {
        let chain = vec![label("nvme0n1p1"), label("loop0")];
        let by = User::Mount { point: label("/mnt"), filesystem: label("xfs") };
        machine.drives[0].used_by = vec![Use { chain, by }];
    });
    let (text, commands) = in_use_of(&used);
    assert!(!commands.contains("/dev/nvme0n1") && commands.matches("nvme format").count() == 3, "{commands}");
    assert!(text.contains("No command for nvme0n1: loop0 mounted at /mnt (xfs) on nvme0n1p1."), "{text}");

    let unread = x570().with(|machine| {
        for drive in &mut machine.drives {
            let problem =
                Reading::<()>::denied("/proc/7/fd", "EACCES: permission denied; run as root").problem();
            drive.users_unread = problem.into_iter().collect();
        }
    });
    let (text, commands) = in_use_of(&unread);
    assert_eq!(commands, "");
    assert!(text.contains("its users cannot be read (/proc/7/fd: EACCES"), "{text}");
}

#[test]
fn a_namespace_in_use_elsewhere_is_in_use() {
    // The second drive as the same namespace by another controller, or as a further namespace of the controller.
    let twin = |nsid: u32, wide: bool| {
        let change: fn(&mut Machine) = match nsid {
            1 => |machine| share(machine, 1),
            _ => |machine| share(machine, 2),
        };
        let all = u8::from(wide);
        in_use_of(&x570().bytes("/ioctl/nvme0n1/identify-ctrl", move |data| data[524] = all).with(change))
    };
    let (text, commands) = twin(1, false);
    assert!(!commands.contains("/dev/nvme0n1") && !commands.contains("/dev/nvme1n1"), "{commands}");
    assert!(
        text.contains("nvme1n1 shares its data: nvme1n1 is swap") || text.contains("for instance"),
        "{text}"
    );
    assert!(twin(2, false).1.contains("/dev/nvme0n1"), "another namespace is not touched");
    assert!(!twin(2, true).1.contains("/dev/nvme0n1"), "unless a format goes for all");
}

fn share(machine: &mut Machine, nsid: u32) {
    let serial = machine.drives[0].serial.clone();
    machine.drives[1].serial = serial;
    machine.drives[1].used_by = vec![Use::of("nvme1n1", User::Swap)];
    for (drive, nsid) in [(0, 1), (1, nsid)] {
        machine.drives[drive].nvme.as_mut().unwrap().nsid = Reading::known("/sys/nsid", nsid);
    }
}

#[test]
fn repartitioning_is_not_advised_for_what_is_in_use() {
    let crooked = |machine: &mut Machine| {
        machine.drives[0].alignment_offset = Reading::known("/sys/alignment_offset", 512);
    };
    let free = x570().with(crooked).one("misaligned").remedy.text;
    assert!(free.starts_with("Repartition, starting at 1 MiB;"), "{free}");
    let used = x570().with(crooked).with(|machine| {
        machine.drives[0].used_by = vec![Use::of("nvme0n1", User::Swap)];
    });
    let text = used.one("misaligned").remedy.text;
    assert!(text.ends_with("not now: nvme0n1 is swap."), "{text}");
}

#[test]
fn wear_is_information_and_data_at_risk_is_high() {
    let worn = |at: usize, value| x570().bytes("/ioctl/nvme0/smart-log", move |log| log[at] = value);
    assert_eq!(worn(5, 85).severity("drive-worn"), Some(Severity::Info));
    assert_eq!(worn(5, 120).severity("drive-worn"), Some(Severity::Warning));
    assert_eq!(worn(160, 1).severity("drive-worn"), Some(Severity::Warning), "media errors");
    assert_eq!(worn(0, 4).severity("drive-worn"), Some(Severity::High), "critical warning");
    assert!(worn(0, 4).one("drive-worn").title.ends_with("warns of degraded reliability"));
    assert_eq!(worn(0, 2).severity("drive-worn"), None, "heat is no wear");
    assert_eq!(worn(3, 9).severity("drive-worn"), Some(Severity::High), "spare at its threshold of 10");
}

#[test]
fn the_critical_temperature_is_high_and_a_missing_threshold_is_nothing() {
    assert_eq!(x570().with(|machine| heat(machine, 96.0)).severity("drive-hot"), Some(Severity::High));
    let bare = x570().with(|machine| {
        heat(machine, 80.0);
        let temperature = machine.drives[0].temperature.as_mut().unwrap();
        temperature.max = Reading::absent("/sys/hwmon/temp1_max", "ENOENT");
        temperature.critical = Reading::absent("/sys/hwmon/temp1_crit", "ENOENT");
    });
    assert_eq!(bare.severity("drive-hot"), None);
}

/// The thermal counters of the first drive's SMART log after a test began: minutes above its warning and critical
/// temperature at 192 and 196, transitions of thermal management at 216 and 220.
fn during_a_test(at: usize, count: u8) -> Scene {
    let before = x570().bytes("/ioctl/nvme0/smart-log", |log| log[216] = 40);
    before.test(&["nvme0n1"], |_| {}).watched().bytes("/ioctl/nvme0/smart-log", move |log| log[at] += count)
}

#[test]
fn a_drive_that_throttles_during_a_test_is_hot_at_any_temperature() {
    let finding = during_a_test(216, 3).one("drive-hot");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.title.ends_with("during the test throttled lightly 3 times"), "{}", finding.title);
    assert!(finding.evidence.iter().any(|proof| proof.path == "/ioctl/nvme0/smart-log"));
    assert!(during_a_test(196, 1).one("drive-hot").title.contains("critical temperature for 1 minute"));
    assert_eq!(during_a_test(216, 0).severity("drive-hot"), None, "what it did before is no finding");
}

#[test]
fn asking_for_polling_without_poll_queues_is_a_warning_of_its_own() {
    let scene = x570().test(&["nvme0n1"], |work| work.hipri = true);
    let finding = scene.one("no-poll-queues");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.subjects.len(), 1);
}

#[test]
fn a_drive_name_no_kernel_would_give_gets_no_command() {
    let scene = x570().with(|machine| machine.drives[0].name = DriveName::new("x;reboot"));
    for finding in scene.look() {
        assert!(!finding.remedy.command.unwrap_or_default().contains("reboot"), "{}", finding.id.0);
    }
}

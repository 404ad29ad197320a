//! The host.

use iodyno::{
    counters::DiskRates,
    machine::{IdleState, IoUring, Machine, MemoryModule},
    model::{Reading, Severity},
    units::Bytes,
};

use super::scene::*;

crate::rows! {
    iommu_translating "iommu-translating" {
        fires: x570().files_ending("/type", "DMA"),
        silent: x570().files_ending("/type", "identity"),
    }
    governor "governor" {
        fires: x570().files_ending("/scaling_governor", "powersave"),
        silent: x570(),
    }
    deep_c_states "deep-c-states" {
        fires: sleepy(0, 9_000.0).test(&["nvme0n1"], |work| work.depth = 1),
        silent: sleepy(0, 300.0).test(&["nvme0n1"], |work| work.depth = 1),
    }
    io_uring_disabled "io-uring-disabled" {
        fires: x570().file("/proc/sys/kernel/io_uring_disabled", "2"),
        silent: x570().file("/proc/sys/kernel/io_uring_disabled", "0"),
    }
    ring_features "ring-features" {
        fires: x570().with(|machine| ring(machine, &[("NO_SQARRAY", "EINVAL")])),
        silent: x570().with(|machine| ring(machine, &[])),
    }
    mitigations "mitigations" {
        fires: x570().with(|machine| vulnerable(machine, "Mitigation: Retpolines")),
        silent: x570().with(|machine| vulnerable(machine, "Not affected")),
    }
    smt "smt" {
        fires: x570().with(|machine| threads(machine, true)),
        silent: x570().with(|machine| threads(machine, false)),
    }
    memory_below_rating "memory-below-rating" {
        fires: x570().with(|machine| memory(machine, 2133)),
        silent: x570().with(|machine| memory(machine, 3200)),
    }
    rule_reverts "rule-reverts" {
        fires: ruled("none [mq-deadline] kyber"),
        silent: ruled("none mq-deadline [kyber]"),
    }
}

/// 10 000 reads a second with interrupts on CPU 0, and a CPU that enters C2 this often.
fn sleepy(cpu: u32, entries: f64) -> Scene {
    let states: fn(&mut Machine) = |machine| {
        let state = |number: u32, name: &str, latency| IdleState {
            name: Reading::known(format!("/sys/cpuidle/state{number}/name"), label(name)),
            latency_us: Reading::known(format!("/sys/cpuidle/state{number}/latency"), latency),
            usage: Reading::known(format!("/sys/cpuidle/state{number}/usage"), 17000),
        };
        machine.processors.idle_states = vec![state(0, "POLL", 0), state(1, "C1", 1), state(2, "C2", 400)];
    };
    x570().with(states).busy(4, 20.0).rates(|rates| {
        let disk = DiskRates { reads: 10_000.0, read_await_ms: Some(0.5), ..DiskRates::default() };
        rates.disks = [(iodyno::model::DriveName::new("nvme0n1"), disk)].into();
        rates.interrupts = vec![10_200.0, 40.0, 40.0, 40.0];
        rates.idle = [((cpu, 1), 1_000.0), ((cpu, 2), entries)].into();
    })
}

#[test]
fn only_processors_that_wait_for_the_reads_are_said_to_sleep() {
    let depth_one = |scene: Scene| scene.test(&["nvme0n1"], |work| work.depth = 1);
    let finding = depth_one(sleepy(0, 9_000.0)).one("deep-c-states");
    assert_eq!(
        finding.title,
        "cpu0 enters C2 9.00 k times a second between 10.0 k reads; waking takes up to 400 us"
    );
    assert_eq!(finding.gain.text, "at most 400 us of the 500 us of a read");
    assert_eq!(finding.subjects[0].name, "cpu0");
    // Idle CPUs sleep deeply, as they should.
    assert_eq!(depth_one(sleepy(3, 9_000.0)).severity("deep-c-states"), None);
    // With many reads in flight no process waits for one of them.
    assert_eq!(sleepy(0, 9_000.0).test(&["nvme0n1"], |_| {}).severity("deep-c-states"), None);
    // A state that exists may be unused.
    let unused = depth_one(sleepy(0, 9_000.0)).rates(|rates| rates.idle.clear());
    assert_eq!(unused.severity("deep-c-states"), None);
}

fn ring(machine: &mut Machine, refused: &[(&str, &str)]) {
    let refused = refused.iter().map(|(flag, errno)| ((*flag).into(), (*errno).into())).collect();
    machine.host.io_uring = Reading::known("/probe/io_uring", IoUring { flags: Vec::new(), refused });
}

fn vulnerable(machine: &mut Machine, state: &str) {
    machine.processors.vulnerabilities = [(
        label("spectre_v2"),
        Reading::known("/sys/devices/system/cpu/vulnerabilities/spectre_v2", label(state)),
    )]
    .into();
}

fn threads(machine: &mut Machine, active: bool) {
    machine.processors.smt_active = Reading::known("/sys/devices/system/cpu/smt/active", active);
}

fn memory(machine: &mut Machine, configured: u32) {
    let module = |slot: u32| MemoryModule {
        locator: label(&format!("DIMM {slot}")),
        bank: label(&format!("P0 CHANNEL {}", if slot < 2 { "A" } else { "B" })),
        size: Some(Bytes(16 << 30)),
        rated_mts: Some(3200),
        configured_mts: Some(configured),
    };
    machine.host.modules = Reading::known("/sys/firmware/dmi/tables/DMI", (0..4).map(module).collect());
}

/// A rule sets kyber; the drives have another scheduler.
fn ruled(scheduler: &str) -> Scene {
    x570()
        .file(
            "/etc/udev/rules.d/60-scheduler.rules",
            "# of the distribution\nACTION==\"add|change\", KERNEL==\"nvme*\", ATTR{queue/scheduler}=\"kyber\"",
        )
        .files_ending("/queue/scheduler", scheduler)
}

#[test]
fn strict_translation_is_a_warning_lazy_is_information() {
    assert_eq!(x570().files_ending("/type", "DMA").severity("iommu-translating"), Some(Severity::Warning));
    let lazy = x570().files_ending("/type", "DMA-FQ").one("iommu-translating");
    assert_eq!(lazy.severity, Severity::Info);
    assert!(
        lazy.remedy.text.contains("iommu=pt") && lazy.remedy.text.contains("protection"),
        "{}",
        lazy.remedy.text
    );
}

#[test]
fn powersave_is_normal_where_hardware_manages_the_clock() {
    for driver in ["intel_pstate", "amd-pstate-epp"] {
        let scene =
            x570().files_ending("/scaling_governor", "powersave").files_ending("/scaling_driver", driver);
        assert_eq!(scene.severity("governor"), None, "{driver}");
    }
}

#[test]
fn a_refused_ring_is_a_finding_whatever_the_sysctl() {
    let scene = x570().with(|machine| {
        machine.host.io_uring = Reading::denied("/probe/io_uring", "EPERM: not permitted");
    });
    assert_eq!(scene.severity("io-uring-disabled"), Some(Severity::Warning));
}

#[test]
fn level_one_keeps_io_uring_from_the_unprivileged_only() {
    let level = || x570().file("/proc/sys/kernel/io_uring_disabled", "1");
    assert_eq!(level().severity("io-uring-disabled"), Some(Severity::Info), "the demo was read as root");
    let user = level().file("/probe/euid", "1000");
    assert_eq!(user.severity("io-uring-disabled"), Some(Severity::Warning));
}

#[test]
fn a_rule_that_sets_something_back_is_named_with_its_line() {
    let finding = ruled("[none] mq-deadline kyber").one("rule-reverts");
    assert!(finding.title.contains("60-scheduler.rules:2"), "{}", finding.title);
    assert_eq!(finding.severity, Severity::Info);
    let scheduler = ruled("none mq-deadline [kyber]").one("scheduler");
    assert!(scheduler.remedy.text.contains("60-scheduler.rules:2"), "{}", scheduler.remedy.text);
}

#[test]
fn rules_of_every_family_are_held_against_what_is_set() {
    let of = |scene: Scene| -> Vec<_> {
        scene.look().into_iter().filter(|finding| finding.id.0 == "rule-reverts").collect()
    };
    for (file, content, words) in [
        (
            "/proc/cmdline",
            "quiet nvme.poll_queues=4\n",
            "nvme driver: poll_queues is 0, but kernel argument /proc/cmdline:1 sets 4",
        ),
        (
            "/probe/boot-rules",
            "/etc/modprobe.d/nvme.conf:3:options nvme poll_queues=2\n",
            "nvme driver: poll_queues is 0, but module option /etc/modprobe.d/nvme.conf:3 sets 2",
        ),
        (
            "/probe/boot-rules",
            "/etc/tmpfiles.d/q.conf:2:w /sys/block/nvme*/queue/nomerges - - - - 2\n",
            "nomerges is 0, but tmpfiles.d line /etc/tmpfiles.d/q.conf:2 sets 2",
        ),
        (
            "/probe/boot-rules",
            "/etc/systemd/system/ra.service:6:ExecStart=/bin/sh -c 'echo 4099 > /sys/block/nvme0n1/queue/read_ahead_kb'\n",
            "nvme0n1: read_ahead_kb is 128, but systemd service /etc/systemd/system/ra.service:6 sets 4096",
        ),
        (
            "/probe/boot-rules",
            "/usr/lib/tuned/mine/tuned.conf:7:[disk]\n/usr/lib/tuned/mine/tuned.conf:8:readahead=>4096\n",
            "read_ahead_kb is 128, but tuned profile /usr/lib/tuned/mine/tuned.conf:8 sets 4096",
        ),
    ] {
        let found = of(x570().file("/sys/module/nvme/parameters/poll_queues", "0").file(file, content));
        assert_eq!(found.len(), 1, "{content}: {found:?}");
        assert!(found[0].title.contains(words), "{}", found[0].title);
    }
    // Rules that the kernel refuses, that match the current value, or that have no effect revert nothing.
    for line in [
        "/etc/systemd/system/a.service:6:ExecStart=/bin/sh -c 'echo bogus > /sys/block/nvme0n1/queue/scheduler'",
        "/etc/systemd/system/a.service:6:ExecStart=/bin/sh -c 'echo 130 > /sys/block/nvme0n1/queue/read_ahead_kb'",
        "/usr/lib/tuned/mine/tuned.conf:7:[disk]\n/usr/lib/tuned/mine/tuned.conf:8:readahead=>64",
    ] {
        assert!(of(x570().file("/probe/boot-rules", line)).is_empty(), "{line}");
    }
    assert!(of(x570().file("/proc/cmdline", "elevator=bogus")).is_empty());
}

#[test]
fn memory_a_step_below_its_rating_is_information() {
    assert_eq!(
        x570().with(|machine| memory(machine, 2133)).severity("memory-below-rating"),
        Some(Severity::Warning)
    );
    assert_eq!(
        x570().with(|machine| memory(machine, 2933)).severity("memory-below-rating"),
        Some(Severity::Info)
    );
}

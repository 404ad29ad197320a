//! The host.

use iodyno::{
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
        fires: sleepy().test(&["nvme0n1"], |work| work.depth = 1),
        silent: sleepy().test(&["nvme0n1"], |_| {}),
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

fn sleepy() -> Scene {
    x570().with(|machine| {
        machine.processors.idle_states = vec![IdleState {
            name: Reading::known("/sys/cpuidle/state2/name", label("C2")),
            latency_us: Reading::known("/sys/cpuidle/state2/latency", 400),
            usage: Reading::known("/sys/cpuidle/state2/usage", 17000),
            disabled: Reading::known("/sys/cpuidle/state2/disable", false),
        }];
    })
}

fn ring(machine: &mut Machine, refused: &[(&str, &str)]) {
    let refused = refused.iter().map(|(flag, errno)| ((*flag).into(), (*errno).into())).collect();
    machine.host.io_uring =
        Reading::known("/probe/io_uring", IoUring { flags: Vec::new(), refused, features: 0 });
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
        data_bits: Some(64),
        rated_mts: Some(3200),
        configured_mts: Some(configured),
    };
    machine.host.modules = Reading::known("/sys/firmware/dmi/tables/DMI", (0..4).map(module).collect());
}

/// A rule sets kyber; the drives say what they have.
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
fn a_ring_that_is_refused_is_a_finding_whatever_the_switch_says() {
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

//! Findings of a running test.

use std::time::Duration;

use iodyno::{
    machine::{Machine, MemoryModule},
    model::{Reading, RunSummary, Severity, TargetSummary, Workload},
    units::Bytes,
};

use super::scene::*;

crate::rows! {
    interrupt_load "interrupt-load" {
        fires: x570().busy(4, 40.0).rates(|rates| rates.interrupts = vec![10.0, 185e3, 10.0, 10.0]),
        silent: x570().busy(4, 40.0).rates(|rates| rates.interrupts = vec![50e3; 4]),
    }
    posted_msi_off "posted-msi-off" {
        fires: storm().with(|machine| intel(machine, Some(true))),
        silent: storm(),
    }
    memory_bandwidth "memory-bandwidth" {
        fires: x570().with(two_channels).test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 40e9, &[])),
        silent: x570().with(two_channels).test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 20e9, &[])),
    }
    test_not_valid "test-not-valid" {
        fires: x570().test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 7e9, &["it read zeros"])),
        silent: x570().test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 7e9, &[])),
    }
}

fn storm() -> Scene {
    x570().busy(4, 40.0).rates(|rates| rates.interrupts = vec![185e3; 4])
}

fn intel(machine: &mut Machine, row: Option<bool>) {
    machine.processors.vendor = Reading::known("/proc/cpuinfo", label("GenuineIntel"));
    machine.host.command_line = Reading::known("/proc/cmdline", label("ro quiet"));
    machine.posted_msi_row = match row {
        Some(row) => Reading::known("/proc/interrupts", row),
        None => Reading::absent("/proc/interrupts", "ENOENT"),
    };
}

/// Four modules on two channels of DDR4-3200: 51.2 GB/s.
fn two_channels(machine: &mut Machine) {
    let module = |slot: u32| MemoryModule {
        locator: label(&format!("DIMM {slot}")),
        bank: label(&format!("P0 CHANNEL {}", if slot < 2 { "A" } else { "B" })),
        size: Some(Bytes(16 << 30)),
        rated_mts: Some(3200),
        configured_mts: Some(3200),
    };
    machine.host.modules = Reading::known("/sys/firmware/dmi/tables/DMI", (0..4).map(module).collect());
}

fn ended(workload: &Workload, rate: f64, wrong: &[&str]) -> RunSummary {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate above zero")]
    let bytes = rate as u64;
    let target = TargetSummary {
        name: label("/dev/nvme0n1"),
        drive: workload.targets[0].drive.clone(),
        ios: bytes / 4096,
        bytes,
        runtime: Duration::from_secs(1),
        calls: 1,
        invalid_because: wrong.iter().map(ToString::to_string).collect(),
        ..TargetSummary::default()
    };
    RunSummary { workload: workload.clone(), targets: vec![target], simulated: true, ..RunSummary::default() }
}

#[test]
fn posted_msi_is_offered_only_where_the_kernel_has_it() {
    let offer = storm().with(|machine| intel(machine, Some(true))).one("posted-msi-off");
    assert!(offer.remedy.text.contains("intremap=posted_msi"), "{}", offer.remedy.text);
    let lacking = storm().with(|machine| intel(machine, Some(false))).one("posted-msi-off");
    assert!(!lacking.remedy.text.contains("intremap"), "{}", lacking.remedy.text);
    let given = storm().with(|machine| {
        intel(machine, Some(true));
        machine.host.command_line = Reading::known("/proc/cmdline", label("ro intremap=on,posted_msi"));
    });
    assert_eq!(given.severity("posted-msi-off"), None);
}

#[test]
fn a_result_that_is_not_the_drives_has_a_reason() {
    let scene =
        x570().test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 7e9, &["it read zeros", "too short"]));
    let finding = scene.one("test-not-valid");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.title.contains("it read zeros; too short"), "{}", finding.title);
}

#[test]
fn memory_is_judged_by_its_channels_not_its_modules() {
    let scene = x570().with(two_channels).test(&["nvme0n1"], |_| {}).ended(|work| ended(work, 40e9, &[]));
    let finding = scene.one("memory-bandwidth");
    assert!(
        finding.evidence[0].value.contains("2 memory channels") && finding.title.contains("78 %"),
        "{}",
        finding.title
    );
}

#[test]
fn at_rest_what_needs_a_test_is_named_as_not_judged() {
    use iodyno::{
        capacity,
        findings::{self, Inputs, Load},
    };
    let machine = x570().machine();
    let limits = capacity::limits(&machine);
    let rest = Inputs::at_rest(&machine, &limits);
    let ids: Vec<_> = findings::not_judged(&rest, &findings::check(&rest)).iter().map(|id| id.0).collect();
    for id in ["link-errors", "interrupt-load", "drive-hot", "test-not-valid"] {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
    let workload = Workload::default();
    let busy = Inputs { load: Some(Load { workload: &workload, summary: None, watch: None }), ..rest };
    assert!(findings::not_judged(&busy, &findings::check(&busy)).is_empty());
}

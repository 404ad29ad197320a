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
pub fn two_channels(machine: &mut Machine) {
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

/// Reads of nvme0n1 per second, their bytes each, and how many are in flight, without a test.
fn reads(reads: f64, bytes: f64, in_flight: f64) -> Scene {
    let disk = iodyno::counters::DiskRates {
        reads,
        read_bytes: reads * bytes,
        queue_depth: in_flight,
        ..iodyno::counters::DiskRates::default()
    };
    x570().rates(|rates| rates.disks = [(iodyno::model::DriveName::new("nvme0n1"), disk)].into())
}

fn not_judged(scene: &Scene) -> Vec<&'static str> {
    scene.not_judged().into_iter().map(|id| id.0).collect()
}

#[test]
fn what_other_programs_load_is_judged_without_a_test() {
    let idle = reads(3.0, 4096.0, 0.0).busy(4, 2.0);
    assert!(not_judged(&idle).contains(&"link-errors") && not_judged(&idle).contains(&"interrupt-load"));
    let busy = reads(1e5, 4096.0, 8.0).busy(4, 40.0);
    let left = not_judged(&busy);
    for id in ["link-errors", "interrupt-load", "nr-requests", "max-sectors"] {
        assert!(!left.contains(&id), "{id} in {left:?}");
    }
    for id in ["test-not-valid", "apst-latency", "deep-c-states", "drive-hot"] {
        assert!(left.contains(&id), "{id} needs more than this load: {left:?}");
    }
    let one = reads(12e3, 4096.0, 0.97).busy(4, 40.0);
    assert!(!not_judged(&one).contains(&"apst-latency"));
    assert!(not_judged(&one).contains(&"deep-c-states"), "idle states were not counted");
}

#[test]
fn one_read_after_another_shows_power_saving() {
    fn apst(machine: &mut Machine) {
        for drive in &mut machine.drives {
            let nvme = drive.nvme.as_mut().unwrap();
            nvme.apst = Reading::known("/ioctl/apst", true);
        }
    }
    let one = reads(12e3, 4096.0, 0.97).with(apst).one("apst-latency");
    assert_eq!(one.subjects.len(), 1, "the other drives are idle: {one:#?}");
    assert_eq!(reads(12e3, 4096.0, 4.0).with(apst).severity("apst-latency"), None, "several in flight");
    assert_eq!(reads(100.0, 4096.0, 0.97).with(apst).severity("apst-latency"), None, "too few to tell");
}

#[test]
fn reads_of_the_largest_size_are_split() {
    fn smaller(machine: &mut Machine) {
        for drive in &mut machine.drives {
            drive.queue.max_sectors_kb = Reading::known("/queue/max_sectors_kb", 128);
            drive.queue.max_hw_sectors_kb = Reading::known("/queue/max_hw_sectors_kb", 512);
        }
    }
    let full = reads(5e3, 131_072.0, 4.0).with(smaller).one("max-sectors");
    assert!(full.title.contains("its reads reach the maximum of 128 KiB"), "{}", full.title);
    assert_eq!(reads(5e3, 65_536.0, 4.0).with(smaller).severity("max-sectors"), None);
}

#[test]
fn a_single_queue_that_is_full_waits_for_requests() {
    fn single(machine: &mut Machine) {
        for drive in &mut machine.drives {
            drive.queue.nr_requests = Reading::known("/queue/nr_requests", 64);
            drive.queue.hardware_queues = Reading::known(
                "/mq",
                iodyno::machine::queue::HardwareQueues { default: 1, read: 0, poll: 0 },
            );
        }
    }
    let full = reads(5e4, 4096.0, 63.5).with(single).one("nr-requests");
    assert!(full.title.ends_with("all 64 requests are in flight"), "{}", full.title);
    assert_eq!(reads(5e4, 4096.0, 30.0).with(single).severity("nr-requests"), None);
}

#[test]
fn interrupts_belong_to_the_cpus_of_their_columns() {
    // CPU 1 is offline: the columns of /proc/interrupts are CPUs 0, 2 and 3.
    let scene = x570().busy(4, 10.0).rates(|rates| {
        rates.cpus.remove(&1);
        rates.columns = vec![0, 2, 3];
        rates.interrupts = vec![10.0, 150e3, 10.0];
    });
    let finding = scene.one("interrupt-load");
    let names: Vec<&str> = finding.subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(names, ["cpu2"]);
}

#[test]
fn the_memory_is_judged_by_what_all_drives_read() {
    let busy = reads(1e5, 400_000.0, 8.0).with(two_channels).one("memory-bandwidth");
    assert!(busy.title.starts_with("the drives read 40.0 GB/s, 78 %"), "{}", busy.title);
}

//! Limits of the demos, each with its reason.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::sync::LazyLock;

use iodyno::{
    capacity::{self, Expected, chipset},
    machine::{Drive, Machine, Measured, MeasuredLimit, pci::NodeAddress},
    model::{Basis, DriveName, Limit, Limits, NodeIndex, PageCache, Reading, Target, Workload},
    source::{self, capture::TextRoot, demo},
    units::{Bytes, BytesPerSecond, TransferRate},
};
use proptest::prelude::*;

fn open(name: &str) -> (Machine, Limits) {
    let root = TextRoot::parse(&demo::find(name).unwrap().capture()).unwrap();
    let (machine, problems) = source::read_machine(&root);
    assert!(problems.is_empty(), "{problems:?}");
    let limits = capacity::limits(&machine);
    (machine, limits)
}

fn node(machine: &Machine, address: &str) -> NodeIndex {
    machine.pci.iter().find(|(_, node)| node.address.to_string() == address).unwrap().0
}

fn gigabytes(limit: Option<&Limit>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| format!("{:.2}", limit.bytes_per_second.0 / 1e9))
}

#[test]
fn hops_paths_and_root_complexes_carry_what_is_published() {
    let (machine, limits) = open("threadripper-before");
    for (address, hop, path) in [
        ("0000:40", "39.40", "39.40"),
        ("0000:40:01.1", "none", "none"),
        ("0000:41:00.0", "7.20", "7.20"),
        ("0000:02:00.0", "14.40", "14.40"),
        // Behind the chipset's internal ports there is no link, but the uplink above is one.
        ("0000:03:08.0", "none", "14.40"),
        ("0000:04:00.0", "none", "14.40"),
        ("0000:49:00.0", "none", "none"),
    ] {
        let at = node(&machine, address);
        assert_eq!(
            (gigabytes(limits.hop(at)), gigabytes(limits.path(at))),
            (hop.into(), path.into()),
            "{address}"
        );
    }
    let of = |address: &str| limits.oversubscription.get(&node(&machine, address)).copied().unwrap();
    assert!((of("0000:40") - 8.0 * 7.2016 / 39.4).abs() < 0.001);
    assert!(of("0000:20") < 0.4);
    let link = limits.hop(node(&machine, "0000:44:00.0")).unwrap();
    assert_eq!(
        (link.basis, link.because.as_str()),
        (Basis::Link, "Gen4 x4 (16 GT/s) at MPS 256, port 0000:40:01.4")
    );
}

#[test]
fn every_limit_has_a_reason_and_a_positive_number() {
    for demo in demo::DEMOS {
        let (machine, limits) = open(demo.name);
        let all = limits.hops.values().chain(limits.paths.values()).chain(limits.drives.values());
        for limit in all.chain(&limits.memory) {
            assert!(limit.bytes_per_second.0.is_finite() && limit.bytes_per_second.0 > 0.0);
            assert!(limit.because.len() > 10, "{limit:?}");
        }
        assert_eq!(limits.drives.len(), machine.drives.len(), "{}: every drive has one", demo.name);
    }
}

#[test]
fn eight_channels_of_memory_carry_three_times_what_ten_drives_want() {
    let (_, limits) = open("threadripper-before");
    let memory = limits.memory.unwrap();
    assert_eq!(memory.because, "8 memory channels at 3200 MT/s, 8 bytes wide");
    assert!((memory.bytes_per_second.0 - 204.8e9).abs() < 1e6);
}

#[test]
fn the_drive_behind_the_chipset_shares_its_uplink_and_the_other_does_not() {
    let (machine, limits) = open("laptop");
    let of = |name: &str| {
        let drive = machine.drives.iter().find(|drive| drive.name.as_str() == name).unwrap();
        chipset::above(&machine, drive.node.unwrap())
    };
    assert_eq!(of("nvme0n1"), None);
    let chipset = of("nvme1n1").unwrap();
    assert_eq!(chipset.name, "AMD B550/A520");
    assert_eq!(gigabytes(limits.hop(chipset.uplink)), "3.60");
    assert_eq!(chipset.uplink, node(&machine, "0000:02:00.2"));
}

#[test]
fn what_was_measured_counts_before_what_was_published() {
    let (mut machine, _) = open("threadripper-before");
    let root = machine.pci.node(node(&machine, "0000:40"));
    machine.measured = vec![Measured::RootComplex(MeasuredLimit {
        root_complex: root.address,
        bridge: root.vendor.get().zip(root.device.get()).unwrap(),
        bytes_per_second: BytesPerSecond(41.5e9),
        run: "8 drives at once on 3 May".into(),
    })];
    let limits = capacity::limits(&machine);
    let limit = limits.hop(node(&machine, "0000:40")).unwrap();
    assert_eq!((limit.basis, limit.because.as_str()), (Basis::Measured, "8 drives at once on 3 May"));
    assert_eq!(limits.hop(node(&machine, "0000:60")).unwrap().basis, Basis::Published);
}

#[test]
fn without_configuration_space_a_link_is_limited_by_its_coding() {
    let (mut machine, _) = open("threadripper-before");
    for node in &mut machine.pci.nodes {
        node.express = Reading::denied("config", "EACCES");
    }
    let limits = capacity::limits(&machine);
    let limit = limits.hop(node(&machine, "0000:41:00.0")).unwrap();
    assert_eq!(format!("{:.3}", limit.bytes_per_second.0 / 1e9), "7.877");
    assert!(
        limit.because.contains("MPS cannot be read; at 256 B it would be 91 % of this"),
        "{}",
        limit.because
    );
    // False links inside the CPU are still known by their ids.
    assert_eq!(limits.hop(node(&machine, "0000:49:00.0")), None);
}

#[test]
fn a_link_is_as_slow_as_the_slower_word_of_its_ends_and_silent_ends_are_not_asked() {
    let (mut machine, _) = open("threadripper-before");
    let (port, drive) = (node(&machine, "0000:40:01.1"), node(&machine, "0000:41:00.0"));
    let link = |machine: &mut Machine, at: NodeIndex, speed: Reading<TransferRate>| {
        machine.pci.nodes[at.0].link.as_mut().unwrap().speed = speed;
    };
    link(&mut machine, port, Reading::known("x", TransferRate::from_code(3).unwrap()));
    assert_eq!(gigabytes(capacity::limits(&machine).hop(drive)), "3.60");
    link(&mut machine, port, Reading::malformed("x", "Unknown"));
    assert_eq!(gigabytes(capacity::limits(&machine).hop(drive)), "7.20");
    link(&mut machine, drive, Reading::malformed("x", "Unknown"));
    assert_eq!(gigabytes(capacity::limits(&machine).hop(drive)), "none");
}

/// The laptop's root bus with Intel's ids: an LPC bridge at 1f.0 and the drive's port at 1d.0.
fn with_intel_chipset(bridge: u16, model: &str) -> Machine {
    let (mut machine, _) = open("laptop");
    let lpc = node(&machine, "0000:00:14.3");
    let port = node(&machine, "0000:00:01.1");
    for (at, device, function, id) in [(lpc, 0x1f, 0, bridge), (port, 0x1d, 0, 0x7ab0)] {
        let node = &mut machine.pci.nodes[at.0];
        node.vendor = Reading::known("vendor", 0x8086);
        node.device = Reading::known("device", id);
        if let NodeAddress::Device(address) = &mut node.address {
            (address.device, address.function) = (device, function);
        }
    }
    machine.processors.model = Reading::known("/proc/cpuinfo", iodyno::text::Label::new(model));
    machine
}

#[test]
fn behind_an_intel_chipset_the_table_limits_dmi() {
    for (bridge, model, name, carries) in [
        (0x7a84, "12th Gen Intel Core i9-12900K", "Intel Z690", "14.40"),
        (0x7a86, "12th Gen Intel Core i5-12400", "Intel B660", "7.20"),
        (0x4385, "11th Gen Intel Core i7-11700K", "Intel Z590", "7.20"),
        (0x4385, "Intel Core i7-10700K", "Intel Z590", "3.60"),
        (0xa143, "Intel Core i5-6500", "Intel H110", "1.83"),
    ] {
        let machine = with_intel_chipset(bridge, model);
        let limits = capacity::limits(&machine);
        let port = node(&machine, "0000:00:1d.0");
        let dmi = limits.hop(port).unwrap();
        assert_eq!((dmi.basis, gigabytes(Some(dmi)).as_str()), (Basis::Table, carries), "{name}");
        assert!(dmi.because.starts_with(&format!("DMI of the {name}, ")), "{}", dmi.because);
        let chipset = chipset::above(&machine, node(&machine, "0000:01:00.0")).unwrap();
        assert_eq!((chipset.name.as_str(), chipset.uplink), (name, port));
        // Sharing counts at the chipset's bridge, once for all its ports.
        assert!(limits.oversubscription.contains_key(&node(&machine, "0000:00:1f.0")));
    }
    let undocumented = with_intel_chipset(0x1b81, "Intel Xeon");
    let drive = undocumented.drives.iter().find(|drive| drive.name.as_str() == "nvme0n1").unwrap();
    let chipset = chipset::above(&undocumented, drive.node.unwrap()).unwrap();
    assert_eq!(chipset.name, "Intel C741");
    let port = node(&undocumented, "0000:00:1d.0");
    assert_eq!(capacity::limits(&undocumented).hop(port), None, "no row, no guess");
    let unknown = with_intel_chipset(0x1234, "Intel Xeon");
    assert_eq!(capacity::limits(&unknown).hop(node(&unknown, "0000:00:1d.0")), None, "no row, no guess");
}

#[test]
fn a_thunderbolt_tunnel_is_never_judged() {
    let (mut machine, _) = open("laptop");
    let port = node(&machine, "0000:00:01.1");
    machine.pci.nodes[port.0].names.device =
        Some(iodyno::text::Label::new("Titan Ridge Thunderbolt 3 Bridge"));
    let limits = capacity::limits(&machine);
    assert_eq!(limits.path(node(&machine, "0000:01:00.0")), None);
}

#[test]
fn a_drive_without_known_limits_has_no_expected_rate() {
    let (mut machine, _) = open("laptop");
    let target =
        |name: &str| Target { path: format!("/dev/{name}").into(), drive: Some(DriveName::new(name)) };
    let workload = Workload { targets: vec![target("nvme0n1"), target("nvme1n1")], ..Workload::default() };
    let drive = machine.drives.iter_mut().find(|drive| drive.name.as_str() == "nvme1n1").unwrap();
    // As a virtio disk: no link, no published figure.
    drive.node = None;
    let limits = capacity::limits(&machine);
    let expected = capacity::expected(&machine, &limits, &workload);
    assert!(expected[0].as_ref().is_some_and(|expected| expected.because.contains("1 worker")));
    assert_eq!(expected[1], None);
    let buffered = Workload { direct: false, ..workload };
    assert!(
        capacity::expected(&machine, &limits, &buffered)[1].is_some(),
        "the page cache is the processors' work"
    );
}

fn workload(drives: usize, block: u64, jobs: u32) -> Workload {
    let target = |number: usize| {
        let name = format!("nvme{number}n1");
        Target { path: format!("/dev/{name}").into(), drive: Some(DriveName::new(&name)) }
    };
    let targets = (0..drives).map(target).collect();
    Workload { targets, block_size: Bytes(block), jobs, ..Workload::default() }
}

fn first(machine: &Machine, limits: &Limits, workload: &Workload) -> Expected {
    capacity::expected(machine, limits, workload).into_iter().next().flatten().unwrap()
}

#[test]
fn a_limit_of_the_cpus_is_an_interval_and_one_of_a_link_is_not() {
    let (machine, limits) = open("threadripper-after");
    let small = first(&machine, &limits, &workload(1, 4096, 1));
    let (low, high) = (small.iops_low.unwrap(), small.iops_high.unwrap());
    assert!(
        (low * 1.1 / small.iops - 1.0).abs() < 1e-6 && (high / 1.1 / small.iops - 1.0).abs() < 1e-6,
        "{small:?}"
    );
    assert!(
        small.because.starts_with("1 worker at 8638 cycles per read \u{b1}10 %, this CPU"),
        "{}",
        small.because
    );
    let large = first(&machine, &limits, &workload(1, 1 << 20, 3));
    assert_eq!((large.iops_low, large.iops_high), (None, None), "{large:?}");
    let json = serde_json::to_value(&small).unwrap();
    assert!(
        json["iops_low"].as_f64() < json["iops"].as_f64()
            && json["iops"].as_f64() < json["iops_high"].as_f64()
    );
}

#[test]
fn another_cpu_gets_the_mean_cost_and_a_wider_interval() {
    let (mut machine, limits) = open("threadripper-after");
    let named = first(&machine, &limits, &workload(1, 4096, 1));
    machine.processors.model = Reading::known("/proc/cpuinfo", "Unknown 9000".into());
    let other = first(&machine, &capacity::limits(&machine), &workload(1, 4096, 1));
    assert!(
        other
            .because
            .contains("\u{b1}30 %, mean cost on other CPUs, Threadripper PRO 3955WX and Ryzen 9 5950X")
    );
    assert!(other.iops_high.unwrap() / other.iops > named.iops_high.unwrap() / named.iops);
}

#[test]
fn polling_counts_where_the_drives_have_poll_queues() {
    let (mut machine, limits) = open("threadripper-after");
    let polled = Workload { hipri: true, ..workload(10, 4096, 4) };
    let sum = |machine: &Machine| -> f64 {
        capacity::expected(machine, &limits, &polled).iter().flatten().map(|one| one.iops).sum()
    };
    let interrupts = sum(&machine);
    for drive in &mut machine.drives {
        drive.queue.io_poll = Reading::known("io_poll", 1);
    }
    assert!((sum(&machine) / interrupts * 0.678 - 1.0).abs() < 1e-6);
    let limit = first(&machine, &limits, &polled).because;
    assert!(limit.starts_with("all 32 hardware threads busy") && limit.contains("polled"), "{limit}");
}

#[test]
fn a_scheduler_without_a_published_cost_has_no_prediction() {
    let (mut machine, limits) = open("x570-formatted");
    let work = workload(1, 4096, 1);
    assert!(first(&machine, &limits, &work).cycles_per_read.is_some());
    for drive in &mut machine.drives {
        drive.queue.scheduler = drive
            .queue
            .scheduler
            .clone()
            .map(|choice| iodyno::machine::queue::Choice { current: "kyber".into(), ..choice });
    }
    let expected = first(&machine, &limits, &work);
    assert_eq!(expected.cycles_per_read, None);
    assert!(
        expected.because.ends_with("at most: no published cost of the kyber scheduler"),
        "{}",
        expected.because
    );
}

#[test]
fn buffered_reads_are_judged_by_full_memory_and_may_reach_what_free_memory_allows() {
    let (machine, limits) = open("threadripper-after");
    let buffered = Workload { direct: false, ..workload(1, 1 << 20, 3) };
    let full = first(&machine, &limits, &buffered);
    let free = Limits { page_cache: PageCache::Free, ..limits };
    let free = first(&machine, &free, &buffered);
    assert!(free.iops > 1.9 * full.iops, "{full:?} {free:?}");
    assert!((full.iops_high.unwrap() / free.iops - 1.0).abs() < 1e-6);
    assert!(full.because.contains("memory full of pages"), "{}", full.because);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_expected_lies_in_its_interval(
        drives in 1_usize..11, shift in 9_u32..21, jobs in 1_u32..20, depth in 1_u32..257,
        direct: bool, readahead in prop::sample::select(vec![0_u64, 128]),
    ) {
        static OPEN: LazyLock<(Machine, Limits)> = LazyLock::new(|| open("threadripper-before"));
        let (machine, limits) = &*OPEN;
        let mut machine = machine.clone();
        for drive in &mut machine.drives {
            drive.queue.read_ahead_kb = Reading::known("read_ahead_kb", readahead);
        }
        let work = Workload { depth, direct, ..workload(drives, 1 << shift, jobs) };
        for one in capacity::expected(&machine, limits, &work).into_iter().flatten() {
            prop_assert!(one.iops.is_finite() && one.iops > 0.0, "{:?}", one);
            let (low, high) = (one.iops_low.unwrap_or(one.iops), one.iops_high.unwrap_or(one.iops));
            prop_assert!(low <= one.iops * (1.0 + 1e-9) && one.iops <= high * (1.0 + 1e-9), "{:?}", one);
        }
    }
}

/// Texts of the tests: drawings without links among them.
fn texts() -> Vec<(String, Machine)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let entries =
        [root.to_owned(), format!("{root}/listings")].map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read(&path).ok().filter(|_| path.extension().is_some_and(|end| end == "txt"))?;
        let text = source::import::read(&text).ok()??;
        Some((path.display().to_string(), source::read_machine(&text).0))
    };
    paths.filter_map(read).collect()
}

#[test]
fn no_drive_without_a_known_link_or_rate_has_a_share_of_a_root_complex() {
    let mut unrated = 0;
    for (name, machine) in texts() {
        let limits = capacity::limits(&machine);
        let total = capacity::total(&machine, &limits);
        let targets = machine.drives.iter().map(Drive::target).collect();
        let expected = capacity::expected(&machine, &limits, &Workload { targets, ..Workload::default() });
        for (drive, expected) in machine.drives.iter().zip(expected) {
            let Some(node) = drive.node else { continue };
            let link = |at| machine.pci.node(at).link.as_ref();
            let has_link = |at| link(at).is_some_and(|it| it.speed.is_known() && it.width.is_known());
            let has_rate =
                limits.own.contains_key(&drive.name) || limits.drive_iops.contains_key(&drive.name);
            if !has_rate && !machine.pci.ancestry(node).any(has_link) {
                assert!(
                    !total.shares.contains_key(&drive.name) && expected.is_none(),
                    "{name} {}",
                    drive.name
                );
                assert!(limits.drive(&drive.name).is_none() && total.bytes_per_second.is_none(), "{name}");
                unrated += 1;
            }
        }
        if name.ends_with("threadripper-before.txt") {
            assert_eq!(total.at_most_by, Some("root complexes"));
            assert!((total.at_most_bytes_per_second.0 / 78.8e9 - 1.0).abs() < 1e-2, "{total:?}");
        }
    }
    assert!(unrated >= 20, "{unrated}");
}

#[test]
fn drives_of_a_drawing_whose_rate_is_published_want_it() {
    let is_drawing = |(name, _): &(String, Machine)| name.ends_with("threadripper-before.txt");
    let (_, mut machine) = texts().into_iter().find(is_drawing).unwrap();
    assert!(capacity::limits(&machine).oversubscription.is_empty(), "neither link nor rate is known");
    for drive in &mut machine.drives {
        drive.model = Reading::known("model", iodyno::text::Label::new("Samsung SSD 980 PRO 1TB"));
    }
    let limits = capacity::limits(&machine);
    assert!(!limits.oversubscription.is_empty());
    for (root, ratio) in &limits.oversubscription {
        let drives = machine.drives.iter().filter_map(|drive| drive.node);
        let drives = drives.filter(|node| machine.pci.root_of(*node) == *root).count();
        let own = limits.own.values().next().unwrap().bytes_per_second.0;
        let wanted = own * f64::from(u32::try_from(drives).unwrap());
        let limit = limits.hop(*root).unwrap().bytes_per_second.0;
        assert!((ratio / (wanted / limit) - 1.0).abs() < 1e-9, "{root:?} {ratio}");
    }
}

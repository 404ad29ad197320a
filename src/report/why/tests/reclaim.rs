//! Memory that is reclaimed for the page cache, and in a control group.

use super::*;
use crate::model::{GroupLimits, MemoryLimit};

#[test]
fn reclaim_is_named_with_the_direction_that_causes_it() {
    let mut scene = Scene::reading();
    let paging = PagingRates { scanned_by_kswapd: 120_000.0, ..PagingRates::default() };
    scene.rates.paging = Some(paging);
    scene.says("reclaim", "kswapd scans 120 k pages/s: buffered reads are the limit");
    scene.rates.paging = Some(PagingRates { scanned_directly: 90_000.0, ..paging });
    scene.says(
        "reclaim",
        "Tasks scan 90.0 k pages/s for free memory themselves (direct reclaim): buffered reads are the limit",
    );
    scene.rates.paging = Some(PagingRates { scanned_by_kswapd: 24_000.0, ..PagingRates::default() });
    assert_ne!(scene.sentence().rule, "reclaim");
    let mut scene = Scene::idle();
    scene.rates.paging = Some(paging);
    assert_eq!(scene.sentence().rule, "idle");
}

/// As dd with buffered writes in a group with `memory.max` of 32 MiB: `/proc/vmstat` counts none of its scanned pages.
#[test]
fn reclaim_in_a_control_group_is_named() {
    let dd = |waiting: f64, memory_some: f64, scanned_directly: f64| {
        let kinds = [('D', "dd", "write", "reclaim_throttle", waiting), ('R', "dd", "", "", 1.0 - waiting)];
        let mut scene = Scene::reading().threads(&kinds).process("dd", 0.0, 0.0, 0.22);
        let process = &mut scene.activity.processes.as_mut().unwrap()[0];
        (process.written_bytes, process.delayed) = (Some(560e6), Some(0.02));
        let disk =
            DiskRates { writes: 600.0, written_bytes: 560e6, queue_depth: 3.0, ..DiskRates::default() };
        scene.rates.disks.values_mut().for_each(|one| *one = disk);
        scene.rates.paging = Some(PagingRates { scanned_directly, ..PagingRates::default() });
        scene.rates.pressure = Some(PressureShares { memory_some, ..PressureShares::default() });
        scene
    };
    let limit =
        "the memory limit of its control group (memory.max or memory.high) makes it reclaim pages first";
    dd(0.7, 28.0, 0.0).says("reclaim", &format!("dd waits for free memory (reclaim_throttle): {limit}"));
    let mut runs = dd(0.05, 28.0, 0.0);
    runs.activity.processes.as_mut().unwrap()[0].cpus = 0.93;
    for other in [runs, dd(0.7, 2.0, 0.0), dd(0.7, 28.0, 3000.0)] {
        assert_ne!(other.sentence().rule, "reclaim", "{:?}", other.sentence());
    }
    assert_eq!(held(&dd(0.3, 6.0, 0.0), "reclaim"), Some("reclaim"));
}

/// As `dd` to a file in a group with `memory.max` of 32 MiB: samples find it running while it reclaims.
#[test]
fn the_memory_limit_of_a_group_that_is_reached_is_named() {
    let dd = |memory_some: f64, reached: u64, pid: u32| {
        let kinds = [('R', "dd", "write", "", 0.93), ('D', "dd", "write", "folio_wait_bit_common", 0.07)];
        let mut scene = Scene::reading().threads(&kinds).process("dd", 0.0, 0.0, 0.93);
        scene.activity.processes.as_mut().unwrap()[0].written_bytes = Some(560e6);
        let disk =
            DiskRates { writes: 600.0, written_bytes: 560e6, queue_depth: 3.0, ..DiskRates::default() };
        scene.rates.disks.values_mut().for_each(|one| *one = disk);
        scene.rates.paging = Some(PagingRates::default());
        scene.rates.pressure = Some(PressureShares { memory_some, ..PressureShares::default() });
        let path = "/sys/fs/cgroup/a/memory.max".into();
        let memory = (reached > 0).then_some(MemoryLimit { path, bytes: 32 << 20, reached });
        scene.activity.limits.insert(pid, GroupLimits { memory, ..GroupLimits::default() });
        scene
    };
    dd(28.0, 900, 7).says(
        "reclaim",
        "dd reaches the memory limit of its control group, 32.0 MiB (/sys/fs/cgroup/a/memory.max): pages are reclaimed first, some \
         task waits for memory 28 % of the time",
    );
    for other in [dd(28.0, 0, 7), dd(4.0, 900, 7), dd(28.0, 900, 8)] {
        assert_ne!(other.sentence().rule, "reclaim", "{:?}", other.sentence());
    }
    assert_eq!(held(&dd(6.0, 900, 7), "reclaim"), Some("reclaim"));
}

/// As `dd` that copies 500 MB/s: tasks scan 10 MB/s of it.
#[test]
fn few_scanned_pages_are_no_limit_unless_tasks_wait_for_them() {
    let copies = |scanned_directly, scanned_by_kswapd, memory_some| {
        let mut scene = Scene::reading();
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.read_bytes, disk.written_bytes) = (500e6, 500e6);
        scene.rates.paging =
            Some(PagingRates { scanned_by_kswapd, scanned_directly, ..PagingRates::default() });
        scene.rates.pressure = Some(PressureShares { memory_some, ..PressureShares::default() });
        scene
    };
    for few in [copies(9_000.0, 0.0, 0.0), copies(2_630.0, 30_000.0, 3.0)] {
        assert_ne!(few.sentence().rule, "reclaim", "{:?}", few.sentence());
        assert_eq!(held(&few, "reclaim"), None);
    }
    let said = |scene: Scene| scene.sentence().text.split(" pages/s").next().unwrap_or_default().to_owned();
    assert_eq!(said(copies(9_000.0, 0.0, 12.0)), "Tasks scan 9.00 k", "they wait for memory");
    assert_eq!(said(copies(70_000.0, 0.0, 0.0)), "Tasks scan 70.0 k", "a quarter of the bytes");
    assert_eq!(said(copies(3_000.0, 70_000.0, 0.0)), "kswapd scans 70.0 k");
    assert_eq!(held(&copies(45_000.0, 0.0, 0.0), "reclaim"), Some("reclaim"));
}

/// As `dd` of 2 GB/s through the page cache while kswapd frees nearly all of it.
#[test]
fn direct_reclaim_beside_much_more_of_kswapd_is_no_limit_unless_tasks_wait_for_it() {
    let scene = |scanned_directly, scanned_by_kswapd, memory_some| {
        let mut scene = Scene::reading();
        scene.rates.disks.values_mut().next().unwrap().read_bytes = 400e6;
        scene.rates.paging =
            Some(PagingRates { scanned_by_kswapd, scanned_directly, ..PagingRates::default() });
        scene.rates.pressure = Some(PressureShares { memory_some, ..PressureShares::default() });
        scene
    };
    let said = |scene: &Scene, before: &str| {
        let inputs = Inputs { said: before, ..scene.inputs() };
        let Found { first, shown, .. } = look(&inputs, (!before.is_empty()).then_some("reclaim"));
        let text = shown.unwrap_or(first).text;
        text.split(" pages/s").next().unwrap_or_default().to_owned()
    };
    let mostly_kswapd = scene(34_000.0, 193_000.0, 3.0);
    mostly_kswapd.says("reclaim", "kswapd scans 193 k pages/s: buffered reads are the limit");
    assert_eq!(said(&scene(34_000.0, 193_000.0, 12.0), ""), "Tasks scan 34.0 k", "they wait for memory");
    assert_eq!(said(&scene(65_000.0, 193_000.0, 3.0), ""), "Tasks scan 65.0 k", "a quarter of all pages");
    // Near the border the shown one stays.
    let [direct, kswapd] = [scene(65_000.0, 193_000.0, 3.0), mostly_kswapd].map(|of| of.sentence().text);
    let fifth = scene(50_000.0, 193_000.0, 3.0);
    assert_eq!(said(&fifth, &direct), "Tasks scan 50.0 k");
    assert_eq!(said(&fifth, &kswapd), "kswapd scans 193 k");
}

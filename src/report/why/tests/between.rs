//! Waits that no drive has in flight.

use super::*;
use crate::model::{CpuQuota, GroupLimits, IoLimit, LimitKind};

/// As `dd iflag=direct bs=128k` under a limit of 20 MB/s.
fn throttled(wchan: &str, depth: f64) -> Scene {
    let kinds = [('D', "dd", "read", wchan, 0.88), ('R', "dd", "", "", 0.12)];
    let mut scene = Scene::reading().threads(&kinds).process("dd", 19.98e6, 19.98e6, 0.007);
    let process = scene.activity.processes.as_mut().unwrap();
    process[0].delayed = Some(0.0014);
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { reads: 152.0, read_bytes: 20.0e6, queue_depth: depth, utilisation: 1.0, ..*disk };
    disk.read_await_ms = Some(0.195);
    scene
}

fn limited(mut scene: Scene, kind: LimitKind, value: u64) -> Scene {
    let drive = scene.machine.hardware_drives().next().unwrap();
    let device = drive.device_number.value().unwrap().clone();
    let path = "/sys/fs/cgroup/slow/io.max".into();
    scene
        .activity
        .limits
        .insert(7, GroupLimits { io: vec![IoLimit { path, device, kind, value }], ..GroupLimits::default() });
    scene
}

fn name(scene: &Scene) -> String {
    scene.rates.disks.keys().next().unwrap().as_str().to_owned()
}

#[test]
fn a_drive_that_has_hardly_an_io_in_flight_is_no_limit_of_what_waits_for_io() {
    for (wchan, wait) in [
        ("__iomap_dio_rw", "for completions"),
        ("folio_wait_bit_common", "for pages to be read"),
        ("read_events", "for completions"),
    ] {
        let scene = throttled(wchan, 0.03);
        let words = format!("dd waits {wait} ({wchan}) while {} has 0.03 I/Os in flight", name(&scene));
        let spent = "the time is spent between thread and drive (throttling, locks, file system)";
        scene.says("between", &format!("{words}: {spent}"));
        assert_ne!(throttled(wchan, 0.9).sentence().rule, "between");
    }
    assert_eq!(held(&throttled("__iomap_dio_rw", 0.3), "between"), Some("between"));
    assert_eq!(held(&throttled("__iomap_dio_rw", 0.2), "latency"), Some("latency"));
    assert_eq!(held(&throttled("__iomap_dio_rw", 0.03), "latency"), None);
    // What reads from a network as well.
    let mut network = throttled("folio_wait_bit_common", 0.03);
    network.activity.processes.as_mut().unwrap()[0].read_bytes = Some(90e6);
    assert_ne!(network.sentence().rule, "between", "{:?}", network.sentence());
}

#[test]
fn a_limit_of_the_control_group_is_named_where_it_is_reached() {
    let scene = throttled("__iomap_dio_rw", 0.03);
    let drive = name(&scene);
    limited(scene, LimitKind::ReadBytes, 20_000_000).says(
        "cgroup",
        &format!(
            "dd waits for completions (__iomap_dio_rw): a cgroup limits reads of {drive} to 20.0 MB/s (/sys/fs/cgroup/slow/io.max)"
        ),
    );
    let words = format!("a cgroup limits reads of {drive} to 155 IOPS");
    let deep = limited(throttled("read_events", 0.9), LimitKind::ReadIops, 155).sentence();
    assert!(deep.text.contains(&words), "reached, whatever is in flight: {deep:?}");
    let far = limited(throttled("__iomap_dio_rw", 0.9), LimitKind::ReadBytes, 90_000_000);
    assert_eq!(far.sentence().rule, "latency");
    // Programs without I/O fill the CPUs.
    let busy = CpuShares { usr: 99.0, idl: 1.0, ..CpuShares::default() };
    let busy = throttled("__iomap_dio_rw", 0.03).all(busy).process("hog", 0.0, 0.0, 3.8);
    assert_eq!(limited(busy, LimitKind::ReadBytes, 20_000_000).sentence().rule, "cgroup");
    let writes = limited(throttled("__iomap_dio_rw", 0.9), LimitKind::WrittenBytes, 20_000_000);
    assert_eq!(writes.sentence().rule, "latency", "it reads");
}

/// As `dd iflag=direct` in a group with `io.max` beside `dd` of another name without `oflag`.
#[test]
fn a_limit_of_the_control_group_is_named_beside_a_larger_program() {
    let both = |read: f64, waiting: f64| {
        let kinds = [
            ('D', "dd", "read", "__iomap_dio_rw", waiting),
            ('R', "dd", "", "", 1.0 - waiting),
            ('R', "tee", "write", "", 0.4),
            ('D', "tee", "write", "balance_dirty_pages", 0.6),
        ];
        let mut scene = throttled("__iomap_dio_rw", 8.0).threads(&kinds).process("tee", 0.0, 0.0, 0.4);
        let process = scene.activity.processes.as_mut().unwrap();
        process[0].read_bytes = Some(read);
        (process[1].pid, process[1].written_bytes) = (8, Some(153e6));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.read_bytes, disk.writes, disk.written_bytes) = (read, 300.0, 150e6);
        limited(scene, LimitKind::ReadBytes, 20_000_000)
    };
    let scene = both(19.9e6, 0.9);
    let limit =
        format!("a cgroup limits reads of {} to 20.0 MB/s (/sys/fs/cgroup/slow/io.max)", name(&scene));
    scene.says(
        "cgroup",
        &format!("dd waits for completions (__iomap_dio_rw): {limit}; tee writes 153 MB/s beside it"),
    );
    let mut larger = both(19.9e6, 0.9);
    larger.activity.processes.as_mut().unwrap()[1].written_bytes = Some(950e6);
    larger.rates.disks.values_mut().for_each(|disk| disk.written_bytes = 940e6);
    assert_eq!(larger.sentence().rule, "cgroup", "{:?}", larger.sentence());
    assert_eq!(held(&both(15e6, 0.5), "cgroup"), Some("cgroup"));
    for (read, waiting) in [(12e6, 0.9), (19.9e6, 0.1), (45e6, 0.9)] {
        assert_ne!(both(read, waiting).sentence().rule, "cgroup", "{read} {waiting}");
    }
}

/// As `dd iflag=direct` under `cpu.max` of `20000 100000`: a drive has one I/O in flight while it runs.
#[test]
fn a_program_that_uses_the_cpu_time_of_its_control_group_is_limited_by_it() {
    let scene = |cpus: f64, quota: f64| {
        let mut scene = throttled("__iomap_dio_rw", 0.7);
        scene.activity.processes.as_mut().unwrap()[0].cpus = cpus;
        let cpu = Some(CpuQuota { path: "/sys/fs/cgroup/slow/cpu.max".into(), cpus: quota });
        scene.activity.limits.insert(7, GroupLimits { cpu, ..GroupLimits::default() });
        scene
    };
    let words = "dd uses 0.19 of the 0.20 CPUs that its control group allows";
    scene(0.19, 0.2)
        .says("cpu-quota", &format!("{words}: the CPU quota is the limit (/sys/fs/cgroup/slow/cpu.max)"));
    let beside = |cpus: f64, read: f64| {
        let mut scene = scene(cpus, 0.2).process("dd", read, 0.0, 0.11);
        scene.activity.processes.as_mut().unwrap()[1].pid = 8;
        scene
    };
    let of_group = format!("{words}: the CPU quota is the limit (/sys/fs/cgroup/slow/cpu.max)");
    beside(0.19, 1e6).says("cpu-quota", &of_group);
    assert_ne!(beside(0.1, 1e6).sentence().rule, "cpu-quota", "the other one is in no group");
    assert_ne!(beside(0.19, 1e12).sentence().rule, "cpu-quota", "the other one moves nearly all");
    assert_ne!(scene(0.16, 0.2).sentence().rule, "cpu-quota");
    assert_eq!(held(&scene(0.16, 0.2), "cpu-quota"), Some("cpu-quota"));
    assert_ne!(scene(1.0, 4096.0).sentence().rule, "cpu-quota", "as many as the machine has");
}

/// As two processes of fio: one reads a drive in a group with `io.max`, the other one writes to a loop device.
#[test]
fn a_limit_of_a_drive_that_carries_little_is_no_limit_of_the_rest() {
    let kinds = [('D', "fio", "io_getevents", "read_events", 1.6), ('R', "fio", "", "", 0.4)];
    let scene = |written: f64| {
        let mut scene = throttled("read_events", 8.0).threads(&kinds).process("fio", 0.0, 0.0, 0.2);
        let processes = scene.activity.processes.as_mut().unwrap();
        (processes[0].command, processes[0].read_bytes) = (Label::new("fio"), Some(21e6));
        (processes[1].pid, processes[1].written_bytes) = (8, Some(written));
        let disk = scene.rates.disks.values_mut().next().unwrap();
        (disk.read_bytes, disk.writes, disk.written_bytes) = (21e6, 10.0, 1e6);
        limited(scene, LimitKind::ReadBytes, 21_000_000)
    };
    let limit =
        format!("cgroup limits reads of {} to 21.0 MB/s (/sys/fs/cgroup/slow/io.max)", name(&scene(0.0)));
    scene(1049e6).says("cgroup", &format!("A {limit}; most moves elsewhere: fio writes 1.05 GB/s"));
    let most = scene(10e6).sentence().text;
    assert!(most.ends_with(&format!(": a {limit}")), "{most}");
    // What a process outside the group reads does not reach its limit.
    let mut other = scene(0.0);
    let processes = other.activity.processes.as_mut().unwrap();
    (processes[0].read_bytes, processes[1].read_bytes) = (Some(1e6), Some(20e6));
    assert_ne!(other.sentence().rule, "cgroup", "{:?}", other.sentence());
}

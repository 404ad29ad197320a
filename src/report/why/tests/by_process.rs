//! Several processes of one name.

use super::*;

/// As a reader of one block after the other beside one of the same name with `rate_iops`.
#[test]
fn of_two_processes_of_one_name_the_one_that_reads_decides() {
    let threads = [
        ('D', "fio", "pread64", "__iomap_dio_rw", 0.8),
        ('R', "fio", "", "", 0.25),
        ('S', "fio", "clock_nanosleep", "hrtimer_nanosleep", 0.95),
    ];
    let mut scene = Scene::reading().threads(&threads);
    scene = scene.process("fio", 564e6, 564e6, 0.23).process("fio", 1.23e6, 1.23e6, 0.01);
    scene.activity.processes.as_mut().unwrap().iter_mut().for_each(|one| one.delayed = Some(0.02));
    let disk = scene.rates.disks.values_mut().next().unwrap();
    *disk = DiskRates { reads: 8900.0, read_bytes: 565e6, queue_depth: 0.85, ..DiskRates::default() };
    (disk.utilisation, disk.read_await_ms) = (85.0, Some(0.095));
    let seen = scene.activity.threads.as_mut().unwrap();
    seen.with_io = Some(vec![seen.kinds[0].clone(), (seen.kinds[1].0.clone(), 0.2)]);
    let name = scene.rates.disks.keys().next().unwrap().clone();
    let limit = format!("the latency of {}, 95.0 us, is the limit", name.as_str());
    let one = "one I/O at a time (queue depth 0.8)";
    scene.says("latency", &format!("fio waits in __iomap_dio_rw, {one}: {limit}"));
    // Two that read alike have one each.
    scene.activity.processes.as_mut().unwrap()[1].read_bytes = Some(560e6);
    scene.rates.disks.values_mut().for_each(|disk| disk.queue_depth = 1.4);
    let each = "2 processes of fio have one I/O in flight each (queue depth 1.4)";
    scene.says("latency", &format!("{each}: {limit}"));
}

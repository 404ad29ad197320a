//! Lines of panels.

use super::*;
use crate::counters::activity::WorkerRates;

#[test]
fn an_io_costs_as_many_interrupts_as_its_table_says() {
    let mut scene = Scene::reading();
    let drive = scene.machine.hardware_drives().next().unwrap();
    let controller = drive.nvme.as_ref().unwrap().controller.clone();
    // 300 k I/Os with 150 k interrupts; the test counts 100 k reads that were split in three.
    let vector = Label::new(&format!("{controller}q1"));
    scene.rates.vector_cpus.insert(vector, vec![(0, 150e3)]);
    scene.activity.workers = Some(WorkerRates { user: 0.1, system: 0.5, switches: 20e3 });
    let Scene { machine, rates, activity, .. } = &scene;
    let table = lines::interrupts(machine, rates);
    assert!(table[0].text.ends_with("150 k interrupts/s, 2.0 I/Os each"), "{}", table[0].text);
    let mut others = scene.rates.clone();
    let disk = others.disks.values_mut().next().unwrap();
    (disk.reads, disk.discards.ios, disk.flushes.ios) = (30e3, 90e3, 30e3);
    let table = lines::interrupts(machine, &others);
    assert!(table[0].text.ends_with("150 k interrupts/s, 1.0 I/Os each"), "{}", table[0].text);
    let costs = lines::per_io_now(machine, rates, activity, 100e3);
    // What other programs use is not in it.
    let own = "user 1.00 us, system 5.00 us of the workers' CPU, 0.20 context switches";
    assert_eq!(costs[0].text, own);
    assert_eq!(costs[1].text, "0.50 interrupts an I/O, 3.0 I/Os a read");
    let whole = lines::per_io_now(machine, rates, activity, 300e3);
    assert_eq!(whole[1].text, "0.50 interrupts an I/O");
}

#[test]
fn what_is_missing_names_what_refused_it() {
    let problem = |path: &str, reason: &str| {
        crate::model::Problem::new(crate::model::ProblemKind::Denied, path, reason)
    };
    let activity = Activity {
        processes: Some(Vec::new()),
        hidden: 3,
        listed: 9,
        problems: vec![problem("/proc/1/io", "EPERM: not permitted, by privilege or a security policy")],
        ..Activity::default()
    };
    let mut scene = Scene::idle();
    let line = lines::processes(&scene.machine, &activity).pop().unwrap();
    assert_eq!(
        line.text,
        "not available here: 3 of 9 processes, EPERM: not permitted, by privilege or a security policy (/proc/1/io)"
    );
    let mut denied = activity;
    denied.problems = vec![problem("/proc/1/io", "EACCES: permission denied; run as root")];
    for (root, text) in [
        (true, "EACCES: permission denied by a security policy"),
        (false, "EACCES: permission denied; run as root"),
    ] {
        scene.machine.host.root = crate::model::Reading::known("/probe/euid", root);
        let line = lines::processes(&scene.machine, &denied).pop().unwrap();
        assert!(line.text.ends_with(&format!("{text} (/proc/1/io)")), "{}", line.text);
    }
    let states = |scene: &Scene| lines::cpus(&scene.machine, &scene.rates).pop().unwrap();
    assert_eq!(states(&scene).text, "not sampled yet", "a rate needs two counts");
    let cpu = scene.machine.processors.cpus[0].clone();
    let few = std::mem::replace(&mut scene.machine.processors.cpus, vec![cpu; 128]);
    let many = "not available here: with 128 CPUs they are read only while one read is in flight";
    assert_eq!(states(&scene).text, many);
    scene.machine.processors.cpus = few;
    scene.machine.processors.idle_states.clear();
    assert_eq!(states(&scene).text, "not available here: no cpuidle driver (cpu0/cpuidle)");
    scene.rates.idle.insert((0, 2), 40.0);
    assert_eq!((states(&scene).name, states(&scene).text.as_str()), ("C-states", "state2 40/s"));
}

#[test]
fn processes_have_their_pid_and_share_in_the_narrowest_panel() {
    use crate::{counters::activity::ProcessRates, text::Label};
    /// Cells of a row in a panel of 58 with its frame.
    const LEAST: usize = 54;
    let process = |pid, command: &str, moved| ProcessRates {
        pid,
        has_ended: false,
        command: Label::new(command),
        read_bytes: Some(moved),
        written_bytes: Some(0.0),
        called_read: None,
        called_write: None,
        cpus: 0.125,
        is_nice: false,
        delayed: None,
        drives: Some(vec![DriveName::new("nvme0n1")]),
    };
    let of = |pids: [u32; 2], command: &str| {
        let processes = pids.map(|pid| process(pid, command, 1e9)).to_vec();
        Activity { processes: Some(processes), ..Activity::default() }
    };
    for units in [UnitSystem::Decimal, UnitSystem::Binary] {
        let shown = |activity: &Activity, room| {
            let grid = tables::processes(activity, tables::rates_of(units), |_| true);
            let layout = grid.layout_by_need(room);
            let rows = grid.rows.iter().map(|row| grid.row(row, &layout));
            std::iter::once(grid.heading(&layout)).chain(rows).collect::<Vec<_>>()
        };
        let names = ["PID", "command", "rd", "wr", "%share", "%CPU", "drives"];
        for room in LEAST..400 {
            let lines = shown(&of([13_339, 13_340], "fio"), room);
            let has = |name: &&str| lines[0].split_whitespace().any(|word| word == *name);
            assert!(names.iter().all(has), "{room}: {lines:?}");
            assert!(lines[1].contains("13339 fio") && lines[2].contains("13340 fio"), "{lines:?}");
            // The largest numbers, and the longest name of a program: only the share follows from others.
            let lines = shown(&of([4_194_303, 4_194_304], "postgres-writer"), room);
            let has = |name: &&str| lines[0].split_whitespace().any(|word| word == *name);
            assert!(names.iter().filter(|name| **name != "%share").all(has), "{room}: {lines:?}");
            assert!(lines[1].contains("4194303 ") && lines[2].contains("4194304 "), "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= room), "{room}: {lines:?}");
        }
    }
}

#[test]
fn drives_with_several_queues_have_no_utilisation() {
    let scene = Scene::reading();
    let cells = |default: u32| {
        let mut machine = scene.machine.clone();
        for drive in &mut machine.drives {
            let queues = crate::machine::queue::HardwareQueues { default, read: 0, poll: 0 };
            drive.queue.hardware_queues = crate::model::Reading::known("queues", queues);
        }
        let grid = tables::drives(&machine, &scene.rates, 1e6, ["rd MB/s", "wr MB/s"]);
        grid.rows[0].cells.last().cloned()
    };
    assert!(matches!(cells(1), Some(grid::Cell::Number(..))));
    assert!(matches!(cells(24), Some(grid::Cell::Unknown)));
}

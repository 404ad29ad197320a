//! A small machine for this module's tests: one drive whose queue files lie under `/sys/q`; and change logs.

use std::{collections::BTreeMap, str::FromStr};

use crate::{
    machine::{Drive, DriveKind, Host, Machine, PciTree, Processors, Queue, queue::Choice},
    model::{DriveName, Reading},
    text::Label,
    tune::{
        change::Outcome,
        change_log::ChangeLog,
        device::Identity,
        journal::{Event, Record},
    },
};

/// The event of a change to `file` of a loop device that has no serial number.
pub fn change(file: &str, old: &str, new: &str) -> Event {
    Event::Change {
        device: Identity { name: "loop0".into(), diskseq: Some(7), ..Identity::default() },
        setting: "read_ahead_kb".into(),
        file: file.into(),
        old: old.into(),
        new: new.into(),
        affected: Vec::new(),
        tags: false,
        undo: false,
        host: None,
        follows: false,
    }
}

/// The account of changes, each device, setting, value before and value after, all accepted.
pub fn change_log_of(changes: &[(&str, &str, &str, &str)]) -> ChangeLog {
    let record = |event| Record { time: 0, boot: "b".into(), session: "1".into(), event };
    let records: Vec<Record> = changes
        .iter()
        .flat_map(|(device, setting, old, new)| {
            let file = format!("/sys/q/{device}/{setting}");
            let device = Identity { name: (*device).into(), ..Identity::default() };
            let (old, new) = ((*old).to_owned(), (*new).to_owned());
            let change = Event::Change {
                device,
                setting: (*setting).into(),
                file: file.clone(),
                old,
                new,
                affected: vec![],
                tags: false,
                undo: false,
                host: None,
                follows: false,
            };
            [change, Event::Result { file, outcome: Outcome::Accepted, affected: vec![] }]
        })
        .map(record)
        .collect();
    ChangeLog::of(&records, "b")
}

fn none<T>() -> Reading<T> {
    Reading::absent("/nowhere", "not in this test")
}

/// The number in a file of the queue.
fn parsed<T: FromStr>(files: &BTreeMap<String, String>, file: &str) -> Reading<T> {
    let path = format!("/sys/q/{file}");
    match files.get(&path).and_then(|value| value.parse().ok()) {
        Some(value) => Reading::known(path, value),
        None => Reading::absent(path, "not in this test"),
    }
}

/// The machine.
pub fn machine_with_queue(name: &str, files: &BTreeMap<String, String>) -> Machine {
    let number = |file: &str| parsed::<u64>(files, file);
    let scheduler = match files.get("/sys/q/scheduler") {
        Some(current) => Reading::known(
            "/sys/q/scheduler",
            Choice { current: Label::new(current), choices: vec!["none".into(), "mq-deadline".into()] },
        ),
        None => none(),
    };
    let queue = Queue {
        scheduler,
        read_ahead_kb: number("read_ahead_kb"),
        nr_requests: number("nr_requests"),
        max_sectors_kb: number("max_sectors_kb"),
        max_hw_sectors_kb: none(),
        nomerges: number("nomerges"),
        rq_affinity: number("rq_affinity"),
        wbt_lat_usec: parsed(files, "wbt_lat_usec"),
        iostats: number("iostats"),
        add_random: number("add_random"),
        io_poll: none(),
        write_cache: none(),
        rotational: none(),
        logical_block_size: none(),
        optimal_io_size: none(),
        others: BTreeMap::new(),
        hardware_queues: none(),
    };
    let drive = Drive {
        name: DriveName::new(name),
        kind: DriveKind::Loop,
        path: "/sys/q/..".into(),
        node: None,
        device_number: none(),
        diskseq: Reading::known("/sys/diskseq", 42),
        model: none(),
        serial: none(),
        wwid: none(),
        firmware: none(),
        size: none(),
        removable: none(),
        alignment_offset: none(),
        numa_node: none(),
        queue,
        nvme: None,
        temperature: None,
        partitions: vec![],
        used_by: vec![],
        users_unread: vec![],
        backing_file: None,
        latency_tolerance_us: none(),
    };
    let processors = Processors {
        megahertz: none(),
        model: none(),
        vendor: none(),
        cpus: vec![],
        numa: BTreeMap::new(),
        smt_active: none(),
        idle_states: vec![],
        vulnerabilities: BTreeMap::new(),
    };
    Machine {
        host: silent_host(),
        pci: PciTree::default(),
        drives: vec![drive],
        paths: vec![],
        layers: crate::machine::Layers::default(),
        processors,
        posted_msi_row: none(),
        rules: Vec::new(),
        cuts: Vec::new(),
        measured: Vec::new(),
        driver_messages: none(),
        pasted: None,
    }
}

fn silent_host() -> Host {
    Host {
        name: none(),
        distribution: none(),
        kernel: none(),
        command_line: none(),
        board: none(),
        product: none(),
        bios: none(),
        memory: none(),
        modules: none(),
        slots: none(),
        io_uring_disabled: none(),
        io_uring: none(),
        module_parameters: BTreeMap::new(),
        root: none(),
        boot_id: none(),
        io_limits: Vec::new(),
        sys_read_only: none(),
    }
}

//! A drive with two ports under native NVMe multipath: both paths on the tree, in the tables, and tuned.

#![expect(clippy::format_push_string, reason = "a capture is written line by line, and speed is no matter")]

use iodyno::{
    capacity,
    findings::{self, Inputs},
    machine::Machine,
    model::DriveName,
    report::json::{DrivesDocument, TreeDocument},
    source::{capture::TextRoot, read_machine},
    tune::{Device, SETTINGS, device::Identity, rebind},
};

const PORTS: [(&str, &str, &str); 2] = [
    ("nvme0c0n1", "/sys/devices/pci0000:60/0000:60:00.0/0000:61:00.0", "nvme0"),
    ("nvme0c2n1", "/sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0", "nvme2"),
];
const HEAD: &str = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";

/// Files as Linux 6.12 shows them; the first path's link is trained down.
fn machine() -> Machine {
    let mut text = "iodyno capture 1\n\ndir /sys/block\n  nvme0c0n1\n  nvme0c2n1\n  nvme0n1\n\
                    dir /sys/bus/pci/devices\n  0000:20:00.0\n  0000:21:00.0\n  0000:60:00.0\n  0000:61:00.0\n"
        .to_owned();
    let mut file = |path: String, content: &str| text += &format!("file {path} {content}\n");
    for (file_name, content) in
        [("size", "4096"), ("dev", "259:1"), ("nsid", "1"), ("queue/read_ahead_kb", "128")]
    {
        file(format!("{HEAD}/{file_name}"), content);
    }
    for (path, function, controller) in PORTS {
        let port = function.rsplit_once('/').unwrap_or_default().0;
        let now = if controller == "nvme0" { "8.0 GT/s PCIe" } else { "16.0 GT/s PCIe" };
        for (folder, class) in [(port, "0x060400"), (function, "0x010802")] {
            for (name, content) in [
                ("class", class),
                ("vendor", "0x144d"),
                ("device", "0xa80c"),
                ("current_link_speed", now),
                ("max_link_speed", "16.0 GT/s PCIe"),
                ("current_link_width", "4"),
                ("max_link_width", "4"),
                ("power/control", "on"),
            ] {
                file(format!("{folder}/{name}"), content);
            }
        }
        let folder = format!("{function}/nvme/{controller}");
        for (name, content) in [
            ("model", "Fast"),
            ("serial", "SERIAL01"),
            ("state", "live"),
            (&format!("{path}/size"), "4096"),
            (&format!("{path}/nsid"), "1"),
            (&format!("{path}/queue/scheduler"), "none\\s[mq-deadline]"),
            (&format!("{path}/queue/nr_requests"), "1023"),
            (&format!("{path}/queue/read_ahead_kb"), "128"),
        ] {
            file(format!("{folder}/{name}"), content);
        }
    }
    file("/sys/module/nvme/parameters/poll_queues".to_owned(), "0");
    text += &format!("link /sys/block/nvme0n1 ../{}\n", HEAD.trim_start_matches("/sys/"));
    for (path, function, controller) in PORTS {
        let short = function.trim_start_matches("/sys/");
        let (port, _) = short.rsplit_once('/').unwrap_or_default();
        text += &format!("link /sys/block/{path} ../{short}/nvme/{controller}/{path}\n");
        for place in [port, short] {
            let (_, address) = place.rsplit_once('/').unwrap_or_default();
            text += &format!("link /sys/bus/pci/devices/{address} ../../../{place}\n");
        }
        text += &format!("link {function}/driver ../../../../bus/pci/drivers/nvme\n");
    }
    read_machine(&TextRoot::parse(&text).expect("a capture")).0
}

fn head() -> Device {
    Device::Drive(DriveName::new("nvme0n1"))
}

fn files(machine: &Machine, device: &Device, setting: &str) -> Vec<String> {
    let row = SETTINGS.iter().find(|row| row.id.0 == setting).expect("a setting");
    (row.read)(machine, device).iter().map(|reading| reading.path().to_string()).collect()
}

#[test]
fn both_controllers_have_the_drive_on_the_tree() {
    let machine = machine();
    let limits = capacity::limits(&machine);
    let tree = TreeDocument::new(&machine, &limits, &[]);
    let mut found: Vec<_> = tree
        .root_complexes
        .iter()
        .map(|root| &root.children[0].children[0])
        .map(|node| (node.address.as_str(), node.drives[0].as_str(), node.paths[0].as_str()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("0000:21:00.0", "nvme0n1", "nvme0c2n1"), ("0000:61:00.0", "nvme0n1", "nvme0c0n1")]);
    let drives = DrivesDocument::new(&machine, &[]);
    assert_eq!(drives.drives.len(), 1, "one drive");
    let paths: Vec<_> = drives.drives[0].paths.iter().map(|path| path.address.as_deref()).collect();
    assert_eq!(paths, [Some("0000:61:00.0"), Some("0000:21:00.0")]);
    assert_eq!(drives.drives[0].paths[1].settings.nr_requests, Some(1023));
}

#[test]
fn settings_of_the_drive_are_those_of_its_paths_and_each_path_has_its_own() {
    let machine = machine();
    let queue = |port: usize, file: &str| {
        let (path, function, controller) = PORTS[port];
        format!("{function}/nvme/{controller}/{path}/queue/{file}")
    };
    assert_eq!(files(&machine, &head(), "scheduler"), [queue(0, "scheduler"), queue(1, "scheduler")]);
    let read_ahead =
        [format!("{HEAD}/queue/read_ahead_kb"), queue(0, "read_ahead_kb"), queue(1, "read_ahead_kb")];
    assert_eq!(files(&machine, &head(), "read_ahead_kb"), read_ahead);
    let power = PORTS.map(|(_, function, _)| format!("{function}/power/control"));
    assert_eq!(files(&machine, &head(), "power_control"), [power[1].clone(), power[0].clone()]);
    assert_eq!(files(&machine, &head(), "poll_queues").len(), 1, "the driver's parameter is one");
    assert_eq!(files(&machine, &head(), "rq_affinity").len(), 1, "what none has is missed once");
    let path = Device::Drive(DriveName::new("nvme0c2n1"));
    assert_eq!(files(&machine, &path, "scheduler"), [queue(1, "scheduler")]);
    let identity = Identity::of(&machine, &path);
    assert_eq!(identity.find(&machine).map(|drive| drive.name.as_str()), Some("nvme0c2n1"));
}

#[test]
fn both_paths_are_judged() {
    let machine = machine();
    let limits = capacity::limits(&machine);
    let found = findings::check(&Inputs::at_rest(&machine, &limits));
    let of = |id: &str| found.iter().find(|finding| finding.id.0 == id).unwrap_or_else(|| panic!("no {id}"));
    assert!(of("link-downtrained").evidence.iter().any(|proof| proof.path.contains("0000:61:00.0")));
    let scheduler = of("scheduler");
    assert!(
        scheduler.title.starts_with("nvme0c2n1 and nvme0c0n1 run the mq-deadline"),
        "{}",
        scheduler.title
    );
    assert_eq!(of("multipath").title, "nvme0n1: 2 paths (nvme0c0n1, nvme0c2n1)");
    assert!(of("multipath").evidence.iter().any(|proof| proof.value == "nvme2 at 0000:21:00.0, live"));
}

#[test]
fn no_controller_of_several_is_bound_again() {
    let machine = machine();
    for name in ["nvme0n1", "nvme0c0n1"] {
        let error = rebind::plan(&machine, &DriveName::new(name)).expect_err("two paths").to_string();
        let named = "nvme0 (0000:61:00.0) and nvme2 (0000:21:00.0) lead to it";
        assert!(error.contains(named) && error.contains("boot with nvme.poll_queues=N"), "{error}");
    }
}

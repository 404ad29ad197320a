//! Readers over roots of every kind: folders with broken files, old kernels, odd trees, this machine.

use std::collections::{BTreeMap, BTreeSet};

use iodyno::{
    machine::{PciNode, PciTree},
    model::{Problem, ProblemKind},
    source::{
        RootError, SysRoot,
        capture::{Recorder, TextRoot},
        pci, read_machine,
        root::LiveRoot,
    },
    units::{Lanes, TransferRate},
};

/// A root made of files and links; folders are what they lie in.
#[derive(Default)]
struct Fake {
    files: BTreeMap<String, Result<Vec<u8>, RootError>>,
    links: BTreeMap<String, String>,
    denied: BTreeSet<String>,
}

impl Fake {
    fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.to_owned(), Ok(content.into()));
        self
    }

    fn fails(mut self, path: &str, errno: i32) -> Self {
        self.files.insert(path.to_owned(), Err(RootError::Errno(errno)));
        self
    }

    fn without(mut self, folder: &str) -> Self {
        self.files.retain(|path, _| !path.starts_with(folder));
        self
    }

    /// A function with its ids and, as `Some`, the four words of its link: speed, width, both at most.
    fn function(self, path: &str, class: &str, link: Option<[&str; 4]>) -> Self {
        let mut fake = self;
        let address = path.rsplit('/').next().unwrap().to_owned();
        let target = path.replace("/sys/", "../../../");
        fake.links.insert(format!("/sys/bus/pci/devices/{address}"), target);
        for (name, content) in
            [("class", class), ("vendor", "0x144d"), ("device", "0xa80a"), ("numa_node", "-1")]
        {
            fake = fake.file(&format!("{path}/{name}"), format!("{content}\n"));
        }
        let names = ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"];
        for (name, word) in names.iter().zip(link.into_iter().flatten()) {
            fake = fake.file(&format!("{path}/{name}"), format!("{word}\n"));
        }
        fake
    }
}

impl SysRoot for Fake {
    fn read(&self, path: &str) -> Result<Vec<u8>, RootError> {
        self.files.get(path).cloned().unwrap_or(Err(RootError::Errno(libc::ENOENT)))
    }

    fn link(&self, path: &str) -> Result<String, RootError> {
        self.links.get(path).cloned().ok_or(RootError::Errno(libc::ENOENT))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, RootError> {
        if self.denied.contains(path) {
            return Err(RootError::Errno(libc::EACCES));
        }
        let inside = format!("{path}/");
        let names: BTreeSet<String> = self
            .files
            .keys()
            .chain(self.links.keys())
            .filter_map(|known| known.strip_prefix(&inside)?.split('/').next().map(str::to_owned))
            .collect();
        if names.is_empty() { Err(RootError::Errno(libc::ENOENT)) } else { Ok(names.into_iter().collect()) }
    }
}

const BRIDGE: &str = "0x060400";
const NVME: &str = "0x010802";
const GEN4_X4: Option<[&str; 4]> = Some(["16.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "4"]);

const PORT: &str = "/sys/devices/pci0000:20/0000:20:01.1";
const DRIVE: &str = "/sys/devices/pci0000:20/0000:20:01.1/0000:21:00.0";

fn one_drive() -> Fake {
    Fake::default()
        .file("/proc/sys/kernel/osrelease", "6.12.1\n")
        .function(PORT, BRIDGE, GEN4_X4)
        .function(DRIVE, NVME, GEN4_X4)
}

fn read(root: &dyn SysRoot) -> (PciTree, Vec<Problem>) {
    pci::read(root)
}

fn node<'a>(tree: &'a PciTree, address: &str) -> &'a PciNode {
    tree.iter().find(|(_, node)| node.address.to_string() == address).expect(address).1
}

/// Address, kind and depth of every node, a line each.
fn outline(tree: &PciTree) -> Vec<String> {
    tree.iter()
        .map(|(index, node)| {
            let depth = tree.ancestry(index).count() - 1;
            format!("{}{} {}", "  ".repeat(depth), node.address, node.kind.name())
        })
        .collect()
}

#[test]
fn without_privilege_the_kinds_come_from_where_things_stand() {
    let switch = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
    let root = Fake::default()
        .function("/sys/devices/pci0000:00/0000:00:00.0", "0x060000", None)
        .function("/sys/devices/pci0000:00/0000:00:01.0", BRIDGE, GEN4_X4)
        .function(switch, BRIDGE, GEN4_X4)
        .function(&format!("{switch}/0000:02:08.0"), BRIDGE, GEN4_X4)
        .function(&format!("{switch}/0000:02:08.0/0000:03:00.0"), NVME, GEN4_X4)
        .function(&format!("{switch}/0000:02:0a.0"), BRIDGE, GEN4_X4)
        .function("/sys/devices/pci0000:00/0000:00:1e.0", BRIDGE, None);
    let (tree, problems) = read(&root);
    assert_eq!(problems, []);
    assert_eq!(
        outline(&tree),
        [
            "0000:00 root-complex",
            "  0000:00:00.0 endpoint",
            "  0000:00:01.0 root-port",
            "    0000:01:00.0 switch-upstream",
            "      0000:02:08.0 switch-downstream",
            "        0000:03:00.0 endpoint",
            "      0000:02:0a.0 switch-downstream",
            "  0000:00:1e.0 bridge",
        ]
    );
    assert!(node(&tree, "0000:00:1e.0").link.is_none(), "conventional PCI has no link");
}

#[test]
fn vmd_hangs_a_root_complex_of_a_long_domain_under_a_device() {
    let vmd = "/sys/devices/pci0000:00/0000:00:0e.0";
    let root = Fake::default()
        .function(vmd, "0x010400", None)
        .function(&format!("{vmd}/pci10000:e0/10000:e0:06.0"), BRIDGE, GEN4_X4)
        .function(&format!("{vmd}/pci10000:e0/10000:e0:06.0/10000:e1:00.0"), NVME, GEN4_X4)
        .function("/sys/devices/platform/vmbus/pcideadbeef:00/deadbeef:00:00.0", NVME, GEN4_X4);
    let (tree, problems) = read(&root);
    assert_eq!(problems, []);
    assert_eq!(
        outline(&tree),
        [
            "0000:00 root-complex",
            "  0000:00:0e.0 endpoint",
            "deadbeef:00 root-complex",
            "  deadbeef:00:00.0 endpoint",
            "10000:e0 root-complex",
            "  10000:e0:06.0 root-port",
            "    10000:e1:00.0 endpoint",
        ]
    );
    let above = node(&tree, "10000:e0").parent.expect("it hangs under the VMD device");
    assert_eq!(tree.node(above).address.to_string(), "0000:00:0e.0");
    assert_eq!(node(&tree, "deadbeef:00").parent, None);
    assert!(node(&tree, "0000:00:0e.0").children.is_empty(), "a root complex is told once");
}

#[test]
fn root_complexes_without_devices_are_told_too_and_in_bus_order() {
    let root =
        one_drive().file("/sys/devices/pci0000:a0/uevent", "").file("/sys/devices/pci0000:00/uevent", "");
    let (tree, _) = read(&root);
    let roots: Vec<String> = tree.roots().map(|index| tree.node(index).address.to_string()).collect();
    assert_eq!(roots, ["0000:00", "0000:20", "0000:a0"]);
}

#[test]
fn odd_link_words_are_quoted_and_never_a_zero() {
    for (file, word, reason) in [
        ("current_link_width", "0", "0 lanes: no link is up"),
        ("current_link_width", "63", "\"63\": not a PCI Express link width"),
        ("max_link_width", "255", "\"255\": not a PCI Express link width"),
        ("max_link_width", "x4", "\"x4\": not a number in range"),
        ("current_link_speed", "Unknown", "\"Unknown\": not a PCI Express link speed"),
        ("max_link_speed", "Unknown speed", "\"Unknown speed\": not a PCI Express link speed"),
        ("max_link_speed", "\u{1b}[2J", "\"\u{fffd}[2J\": not a PCI Express link speed"),
    ] {
        let (tree, problems) = read(&one_drive().file(&format!("{DRIVE}/{file}"), format!("{word}\n")));
        assert_eq!(problems, []);
        let link = node(&tree, "0000:21:00.0").link.as_ref().unwrap();
        let problem = match file {
            "current_link_speed" => link.speed.problem(),
            "current_link_width" => link.width.problem(),
            "max_link_speed" => link.max_speed.problem(),
            _ => link.max_width.problem(),
        };
        let problem = problem.expect(word);
        assert_eq!((problem.kind, &*problem.reason), (ProblemKind::Malformed, reason));
        assert_eq!(&*problem.path, format!("{DRIVE}/{file}"));
    }
}

#[test]
fn a_file_that_fails_costs_itself_alone() {
    for errno in [libc::EINVAL, libc::EIO, libc::EACCES, libc::EPERM, libc::ENODATA] {
        for file in [
            "class",
            "vendor",
            "device",
            "numa_node",
            "current_link_speed",
            "max_link_width",
            "config",
            "local_cpulist",
            "iommu_group",
            "power/control",
            "aer_dev_correctable",
        ] {
            let (tree, problems) = read(&one_drive().fails(&format!("{DRIVE}/{file}"), errno));
            assert_eq!(problems, [], "{file}");
            let drive = node(&tree, "0000:21:00.0");
            let known = [
                ("class", drive.class.is_known()),
                ("vendor", drive.vendor.is_known()),
                ("device", drive.device.is_known()),
                ("numa_node", drive.numa_node.is_known()),
            ];
            assert!(known.iter().all(|(name, known)| *known == (*name != file)), "{file}: {known:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_neutralised() {
    let root = one_drive()
        .file(&format!("{DRIVE}/power/control"), b"on\xff\x1b[31m\n".to_vec())
        .file(&format!("{DRIVE}/vendor"), b"0x\xc3\x28\n".to_vec());
    let (tree, _) = read(&root);
    let drive = node(&tree, "0000:21:00.0");
    assert_eq!(drive.power_control.value().unwrap().as_str(), "on\u{fffd}\u{fffd}[31m");
    assert_eq!(drive.vendor.problem().unwrap().kind, ProblemKind::Malformed);
}

#[test]
fn a_device_that_goes_away_is_left_out_and_said() {
    let (tree, problems) = read(&one_drive().without(DRIVE));
    assert_eq!(outline(&tree), ["0000:20 root-complex", "  0000:20:01.1 root-port"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(
        (problems[0].kind, &*problems[0].path),
        (ProblemKind::Absent, "/sys/bus/pci/devices/0000:21:00.0")
    );
}

#[test]
fn a_bridge_that_goes_away_leaves_its_drive_to_the_next_above() {
    let mut root = one_drive();
    root.links.remove("/sys/bus/pci/devices/0000:20:01.1");
    let (tree, _) = read(&root);
    assert_eq!(outline(&tree), ["0000:20 root-complex", "  0000:21:00.0 endpoint"]);
}

#[test]
fn a_folder_that_may_not_be_listed_is_a_problem_and_no_panic() {
    let mut root = one_drive();
    root.denied.insert("/sys/bus/pci/devices".to_owned());
    let (_, problems) = read(&root);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind, ProblemKind::Denied);
    let (_, problems) = read(&Fake::default());
    assert_eq!(problems[0].kind, ProblemKind::Absent, "a machine without PCI");
    let (_, problems) = read_machine(&Fake::default());
    assert!(problems.iter().any(|problem| problem.path.contains("cpu/online")), "{problems:?}");
}

#[test]
fn links_that_lead_anywhere_are_no_danger() {
    let mut root = one_drive();
    for (name, target) in [
        ("0000:22:00.0", "../../../devices/pci0000:20/0000:20:01.1/0000:21:00.0"),
        ("0000:23:00.0", "../../../../../.."),
        ("0000:24:00.0", ""),
        ("not an address", "../x"),
    ] {
        root.links.insert(format!("/sys/bus/pci/devices/{name}"), target.to_owned());
    }
    let (tree, problems) = read(&root);
    assert!(tree.nodes.len() >= 3);
    assert!(problems.iter().any(|problem| problem.path.contains("not an address")));
    for (index, node) in tree.iter() {
        assert!(tree.subtree(index).contains(&index));
        assert!(node.children.iter().all(|child| tree.node(*child).parent == Some(index)));
    }
}

/// A drive's first 256 bytes: a capability list with power management and PCI Express in it.
fn registers(link_capabilities: u32, link_status: u16) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x40;
    bytes[0x40..0x42].copy_from_slice(&[0x01, 0x70]);
    bytes[0x70..0x74].copy_from_slice(&[0x10, 0, 0x02, 0]);
    bytes[0x74..0x78].copy_from_slice(&0x8022_u32.to_le_bytes());
    bytes[0x78..0x7a].copy_from_slice(&0x2810_u16.to_le_bytes());
    bytes[0x7c..0x80].copy_from_slice(&link_capabilities.to_le_bytes());
    bytes[0x82..0x84].copy_from_slice(&link_status.to_le_bytes());
    bytes
}

#[test]
fn an_old_kernel_without_link_files_has_links_all_the_same() {
    let config = format!("{DRIVE}/config");
    let root = Fake::default()
        .file("/proc/sys/kernel/osrelease", "3.10.0-1160.el7.x86_64\n")
        .function(PORT, BRIDGE, None)
        .function(DRIVE, NVME, None)
        .file(&config, registers(0x44, 0x43));
    let (tree, _) = read(&root);
    let drive = node(&tree, "0000:21:00.0");
    let link = drive.link.as_ref().unwrap();
    assert_eq!(link.max_speed.get(), TransferRate::from_mega(16_000));
    assert_eq!(link.speed.get(), TransferRate::from_mega(8000));
    assert_eq!((link.width.get(), link.max_width.get()), (Some(Lanes(4)), Some(Lanes(4))));
    assert_eq!(&*link.speed.path(), format!("{config} LnkSta"));
    let express = drive.express.get().unwrap();
    assert_eq!(
        (express.payload_supported, express.payload, express.read_request),
        (Some(512), Some(128), Some(512))
    );
    let bits = (express.relaxed_ordering, express.extended_tags_supported, express.extended_tags);
    assert_eq!(bits, (Some(true), Some(true), Some(false)));
}

#[test]
fn a_config_file_that_is_cut_says_why() {
    let config = format!("{DRIVE}/config");
    let whole = registers(0x44, 0x43);
    for (length, kind) in [
        (256, None),
        (128, Some(ProblemKind::Malformed)),
        (64, Some(ProblemKind::Denied)),
        (63, Some(ProblemKind::Malformed)),
        (0, Some(ProblemKind::Malformed)),
    ] {
        let (tree, _) = read(&one_drive().file(&config, &whole[..length]));
        let drive = node(&tree, "0000:21:00.0");
        assert_eq!(drive.express.problem().map(|problem| problem.kind), kind, "{length} bytes");
        assert_eq!(drive.link.as_ref().unwrap().width.get(), Some(Lanes(4)), "the files still tell");
    }
}

#[test]
fn a_device_asleep_without_power_is_not_woken() {
    let root = one_drive()
        .file(&format!("{DRIVE}/power_state"), "D3cold\n")
        .file(&format!("{DRIVE}/config"), registers(0x44, 0x43));
    let recorder = Recorder::new(&root);
    let (tree, _) = read(&recorder);
    assert!(node(&tree, "0000:21:00.0").express.problem().unwrap().reason.contains("wake"));
    assert!(!recorder.recorded().answers.contains_key(&format!("{DRIVE}/config")));
}

#[test]
fn ports_with_a_cooling_device_and_slots_find_each_other() {
    let thermal = "/sys/class/thermal/cooling_device7";
    let root = one_drive()
        .file(&format!("{thermal}/type"), "PCIe_Port_Link_Speed_0000:20:01.1\n")
        .file(&format!("{thermal}/cur_state"), "1\n")
        .file(&format!("{thermal}/max_state"), "3\n")
        .file("/sys/class/thermal/cooling_device0/type", "Processor\n")
        .file("/sys/bus/pci/slots/5/address", "0000:21:00\n")
        .file(&format!("{PORT}/aer_dev_correctable"), "RxErr 3\nTOTAL_ERR_COR 3\n")
        .file(&format!("{PORT}/link/l1_aspm"), "1\n");
    let (tree, _) = read(&root);
    let port = node(&tree, "0000:20:01.1");
    assert_eq!(port.cooling.get(), Some((1, 3)));
    assert_eq!(port.cooling_path.as_deref(), Some(thermal));
    assert_eq!(port.aer_correctable.value().unwrap()["TOTAL_ERR_COR"], 3);
    assert_eq!(port.aspm["l1_aspm"].get(), Some(true));
    assert_eq!(node(&tree, "0000:21:00.0").slot.as_ref().unwrap().as_str(), "5");
}

#[test]
fn this_machine_recorded_is_this_machine_read_again() {
    let live = LiveRoot::new();
    let recorder = Recorder::new(&live);
    let (machine, problems) = read_machine(&recorder);
    let again = read_machine(&TextRoot::parse(&recorder.capture()).unwrap());
    assert_eq!(machine.pci, again.0.pci);
    assert_eq!(machine.processors, again.0.processors);
    assert_eq!(machine.host, again.0.host);
    assert_eq!((machine, problems), again);
}

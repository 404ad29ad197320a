//! Copies of /sys made with `cp`, whose folders of links hold folders: they read as the machine does, or say what is missing.
#![expect(
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and writes its own files"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::program::{iodyno, text};
use iodyno::source::{capture::format, demo};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

/// The files, links and folders of a demo below a folder.
fn laid_out(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let capture = format::parse(&demo::find(name).unwrap().capture()).unwrap();
    let at = |path: &str| folder.path().join(path.trim_start_matches('/'));
    for (path, answers) in &capture.answers {
        if path.starts_with("/probe/") || path.starts_with("/ioctl/") {
            continue;
        }
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        if let Some(Ok(target)) = &answers.link {
            symlink(target, at(path)).unwrap();
        } else if let Some(Ok(content)) = &answers.read {
            fs::write(at(path), content).unwrap();
        }
    }
    for (path, answers) in &capture.answers {
        for name in answers.list.iter().flatten().flatten() {
            let child = at(&format!("{path}/{name}"));
            if fs::symlink_metadata(&child).is_err() {
                fs::create_dir_all(child).unwrap();
            }
        }
    }
    folder
}

/// `cp -r FROM/NAME/ TO/NAME` of every name in a folder, as people copy it; errors of dangling links do not matter.
fn copied(from: &Path, to: &Path, folders: &[&str]) {
    for folder in folders {
        fs::create_dir_all(to.join(folder)).unwrap();
        let Ok(names) = fs::read_dir(from.join(folder)) else { continue };
        for name in names.map(|name| name.unwrap().file_name()) {
            let mut source = from.join(folder).join(&name).into_os_string();
            source.push("/");
            let status = Command::new("cp").arg("-r").arg(source).arg(to.join(folder).join(&name)).output();
            status.unwrap();
        }
    }
    Command::new("cp").arg("-r").arg(from.join("proc")).arg(to).output().unwrap();
}

const FOLDERS: [&str; 3] = ["sys/bus/pci/devices", "sys/block", "sys/class/nvme"];

fn document(command: &str, folder: &Path) -> Value {
    let state = tempfile::tempdir().unwrap();
    let output = iodyno(state.path(), &[command, "--json", "--sysroot", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Kind, parent, link and drives of each function by its address.
fn functions(tree: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open: Vec<&Value> = tree["root_complexes"].as_array().unwrap().iter().collect();
    while let Some(node) = open.pop() {
        let facts =
            ["kind", "parent", "class", "vendor", "link", "drives"].map(|field| node[field].to_string());
        found.insert(node["address"].as_str().unwrap().to_owned(), facts.join(" "));
        open.extend(node["children"].as_array().unwrap());
    }
    found
}

fn drives(document: &Value) -> Vec<String> {
    let facts = |drive: &Value| {
        let fields = ["name", "address", "model", "serial", "size_bytes", "lba_bytes", "default_queues"];
        fields.map(|field| drive[field].to_string()).join(" ")
    };
    document["drives"].as_array().unwrap().iter().map(facts).collect()
}

#[test]
fn a_folder_without_vendor_and_a_queue_without_files_are_named() {
    let copy = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &str| {
        let path = copy.path().join("sys").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("bus/pci/devices/0000:01:00.0/class", "0x010802\n");
    put("block/vda/size", "2048000\n");
    put("block/vda/dev", "253:0\n");
    fs::create_dir_all(copy.path().join("sys/block/vda/queue")).unwrap();
    let sysroot = copy.path().to_str().unwrap();
    for command in ["tree", "check"] {
        let said = text(&iodyno(copy.path(), &[command, "--sysroot", sysroot]));
        assert!(said.contains("1 of 1 PCI devices could not be read"), "{command}: {said}");
        assert!(said.contains("/sys/bus/pci/devices/0000:01:00.0/vendor: ENOENT"), "{command}: {said}");
    }
    let check: Value =
        serde_json::from_str(&text(&iodyno(copy.path(), &["check", "--json", "--sysroot", sysroot])))
            .unwrap();
    let not_made = check["not_judged"].as_array().unwrap();
    for id in ["lba-512", "scheduler", "readahead"] {
        let row = not_made.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id}"));
        assert!(row["because"].as_str().unwrap().contains("/sys/block/vda/queue ("), "{row}");
    }
}

#[test]
fn a_copy_with_folders_for_links_reads_as_the_machine() {
    for name in ["laptop", "threadripper-before", "x570"] {
        let whole = laid_out(name);
        let copy = tempfile::tempdir().unwrap();
        copied(whole.path(), copy.path(), &FOLDERS);
        let (is, was) = (document("tree", copy.path()), document("tree", whole.path()));
        assert!(functions(&was).len() > 20);
        for (_, words) in said(copy.path()) {
            assert!(!words.contains("could not be read"), "{name}: {words}");
        }
        assert_eq!(functions(&is), functions(&was), "{name}");
        assert_eq!(
            drives(&document("drives", copy.path())),
            drives(&document("drives", whole.path())),
            "{name}"
        );
    }
}

#[test]
fn a_copy_of_devices_alone_has_the_tree() {
    let whole = laid_out("threadripper-before");
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir_all(copy.path().join("sys")).unwrap();
    Command::new("cp")
        .arg("-r")
        .arg(whole.path().join("sys/devices"))
        .arg(copy.path().join("sys"))
        .output()
        .unwrap();
    let addresses =
        |folder: &Path| -> Vec<String> { functions(&document("tree", folder)).into_keys().collect() };
    assert_eq!(addresses(copy.path()), addresses(whole.path()));
    let [_, (_, check)] = said(copy.path());
    assert!(
        check.contains("0 drives") == check.contains("NVMe controllers, but no block devices"),
        "{check}"
    );
}

/// What `check` and `tree` print, and their statuses.
fn said(folder: &Path) -> [(Option<i32>, String); 2] {
    let state = tempfile::tempdir().unwrap();
    ["check", "tree"].map(|command| {
        let output = iodyno(state.path(), &[command, "--sysroot", folder.to_str().unwrap()]);
        (output.status.code(), text(&output))
    })
}

#[test]
fn links_that_lead_nowhere_are_no_clean_bill() {
    let whole = laid_out("laptop");
    let copy = tempfile::tempdir().unwrap();
    let copy_links = |folder: &str| {
        let to = copy.path().join(folder);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        Command::new("cp")
            .arg("-r")
            .arg(whole.path().join(folder))
            .arg(to.parent().unwrap())
            .output()
            .unwrap();
    };
    copy_links("sys/bus/pci/devices");
    for (status, words) in said(copy.path()) {
        assert_eq!(status, Some(2), "{words}");
        assert!(words.contains("a link to /sys/devices, which this copy lacks"), "{words}");
    }
    copied(whole.path(), copy.path(), &["sys/block"]);
    for (status, words) in said(copy.path()) {
        assert_eq!(status, Some(0), "{words}");
        assert!(words.contains("PCI devices could not be read and are not checked"), "{words}");
    }
}

#[test]
fn an_empty_folder_is_called_one() {
    let whole = laid_out("laptop");
    fs::create_dir(whole.path().join("sys/bus/pci/devices/0000:77:00.0")).unwrap();
    for (status, words) in said(whole.path()) {
        assert_eq!(status, Some(0), "{words}");
        let line = "(/sys/bus/pci/devices/0000:77:00.0: an empty folder: copy the files in it)";
        assert!(words.contains(line), "{words}");
    }
}

#[test]
fn a_drive_of_an_unlisted_function_has_no_address() {
    let whole = laid_out("laptop");
    let devices = whole.path().join("sys/bus/pci/devices");
    let before = document("drives", whole.path());
    let address = before["drives"][0]["address"].as_str().unwrap().to_owned();
    fs::remove_file(devices.join(&address)).unwrap();
    let after = document("drives", whole.path());
    assert_eq!(after["drives"].as_array().unwrap().len(), before["drives"].as_array().unwrap().len());
    let lost =
        after["drives"].as_array().unwrap().iter().find(|drive| drive["name"] == before["drives"][0]["name"]);
    assert_eq!(lost.unwrap()["address"], Value::Null);
    let reasons = after["problems"].to_string();
    assert!(reasons.contains(&format!("its PCI function {address} is not listed")), "{reasons}");
}

/// A function's folder with these files.
fn function(base: &Path, address: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = base.join("sys/bus/pci/devices").join(address);
    fs::create_dir_all(&folder).unwrap();
    for (name, content) in [("vendor", "0x144d"), ("device", "0xa80a")].iter().chain(files) {
        fs::write(folder.join(name), format!("{content}\n")).unwrap();
    }
    folder
}

#[test]
fn parents_come_from_names_and_bus_numbers_and_their_absence_is_said() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    function(base, "0000:00:00.0", &[("class", "0x060000")]);
    let bridge = ("class", "0x060400");
    // By its numbers; by the folder in it; by pci_bus; a bridge missing between; none at all.
    let numbers = [bridge, ("secondary_bus_number", "1"), ("subordinate_bus_number", "1")];
    function(base, "0000:00:01.0", &numbers);
    let by_name = function(base, "0000:00:02.0", &[bridge]);
    fs::create_dir(by_name.join("0000:02:00.0")).unwrap();
    let by_bus = function(base, "0000:00:03.0", &[bridge]);
    fs::create_dir_all(by_bus.join("pci_bus/0000:03")).unwrap();
    let wide = [bridge, ("secondary_bus_number", "4"), ("subordinate_bus_number", "8")];
    function(base, "0000:00:04.0", &wide);
    let vmd = function(base, "0000:00:0e.0", &[("class", "0x010400")]);
    fs::create_dir(vmd.join("pci10000:e0")).unwrap();
    for address in
        ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:06:00.0", "0000:7f:00.0", "10000:e0:06.0"]
    {
        function(base, address, &[("class", "0x010802")]);
    }
    let tree = document("tree", base);
    let found = functions(&tree);
    for (address, parent) in [
        ("0000:00:01.0", "0000:00"),
        ("0000:01:00.0", "0000:00:01.0"),
        ("0000:02:00.0", "0000:00:02.0"),
        ("0000:03:00.0", "0000:00:03.0"),
        ("0000:06:00.0", "0000:00:04.0"),
        ("0000:7f:00.0", "0000:00"),
        ("10000:e0:06.0", "10000:e0"),
        ("10000:e0", "0000:00:0e.0"),
    ] {
        assert!(found[address].contains(&format!("{parent:?}")), "{address}: {}", found[address]);
    }
    let problems: Vec<&Value> = tree["problems"].as_array().unwrap().iter().collect();
    let lost: Vec<_> =
        problems.iter().filter(|problem| problem["reason"].to_string().contains("no bridge above")).collect();
    assert_eq!(lost.len(), 1, "{problems:?}");
    assert!(lost[0]["path"].to_string().contains("0000:7f:00.0"));
}

/// A text that the generator makes of few addresses, so that they meet.
fn addresses() -> impl Strategy<Value = Vec<(u8, u8, u8, u8, Option<u8>)>> {
    prop::collection::vec((0_u8..2, 0_u8..6, 0_u8..6, 0_u8..6, prop::option::of(0_u8..6)), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the numbers and names are, every function is shown once, below a parent or a root complex.
    #[test]
    fn no_copied_function_is_lost(rows in addresses()) {
        let base = tempfile::tempdir().unwrap();
        let mut expected = std::collections::BTreeSet::new();
        for (domain, bus, secondary, subordinate, inside) in rows {
            let address = format!("{domain:04x}:{bus:02x}:00.0");
            let (secondary, subordinate) = (secondary.to_string(), subordinate.to_string());
            let files = [
                ("class", "0x060400"),
                ("secondary_bus_number", secondary.as_str()),
                ("subordinate_bus_number", subordinate.as_str()),
            ];
            let folder = function(base.path(), &address, &files);
            if let Some(inside) = inside {
                fs::create_dir_all(folder.join(format!("{domain:04x}:{inside:02x}:00.0"))).unwrap();
                fs::create_dir_all(folder.join(format!("pci0001:{inside:02x}"))).unwrap();
            }
            expected.insert(address);
        }
        let root = iodyno::source::origin::Origin::Sysroot(base.path().to_owned()).open().unwrap();
        let (tree, _) = iodyno::source::pci::read(&*root);
        let mut shown = Vec::new();
        for (index, node) in tree.iter() {
            if let iodyno::machine::pci::NodeAddress::Device(address) = node.address {
                shown.push(address.to_string());
                prop_assert!(node.parent.is_some_and(|parent| parent < index), "{address} has no parent before it");
            }
        }
        shown.sort();
        prop_assert_eq!(shown, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_drive_whose_function_is_not_listed_is_not_said_to_be_outside_pci() {
    let folder = tempfile::tempdir().unwrap();
    let sys = folder.path().join("sys");
    let write = |path: &str, content: &str| {
        fs::create_dir_all(sys.join(path).parent().unwrap()).unwrap();
        fs::write(sys.join(path), content).unwrap();
    };
    for (file, content) in [("class", "0x060400"), ("vendor", "0x8086"), ("device", "0x9d18")] {
        write(&format!("devices/pci0000:00/0000:00:1d.0/{file}"), content);
    }
    let drive = "devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1";
    write(&format!("{drive}/size"), "1000\n");
    for (link, target) in [
        ("bus/pci/devices/0000:00:1d.0", "../../../devices/pci0000:00/0000:00:1d.0".to_owned()),
        ("block/nvme0n1", format!("../{drive}")),
    ] {
        fs::create_dir_all(sys.join(link).parent().unwrap()).unwrap();
        symlink(target, sys.join(link)).unwrap();
    }
    let state = tempfile::tempdir().unwrap();
    let output = iodyno(state.path(), &["tree", "--sysroot", folder.path().to_str().unwrap()]);
    let words = text(&output);
    assert!(words.contains("PCI function not listed\n  nvme0n1"), "{words}");
    assert!(!words.contains("not on PCI"), "{words}");
}

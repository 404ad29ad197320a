//! Memory that an opened text takes. The only test of its program: the peak is the whole process's.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::fmt::Write as _;

use iodyno::source::{import, read_machine};

#[path = "common/peak.rs"]
mod peak;
use peak::peak;

/// A text of so many functions, two lines each, from the first function on.
fn text(class: &str, name: &str, functions: usize) -> String {
    (0..functions).fold(String::new(), |mut text, at| {
        let (domain, bus, device) = (at >> 13, (at >> 5) & 0xff, at & 0x1f);
        let line = format!("{domain:04x}:{bus:02x}:{device:02x}.0 {class}: {name}");
        let _infallible = writeln!(text, "{line}\n\tKernel driver in use: driver");
        text
    })
}

/// Reads a machine of so many functions.
fn read((class, name): (&str, &str), functions: usize) {
    let text = text(class, name, functions);
    let root = import::read(text.as_bytes()).unwrap().unwrap();
    let machine = read_machine(&root).0;
    assert_eq!(machine.pci.iter().filter(|(_, node)| node.parent.is_some()).count(), functions);
}

/// Reads a machine of a drive with so many partitions, as `lsblk -J` shows it.
fn read_partitions(count: usize) {
    let rows: Vec<String> = (1..=count)
        .map(|at| format!(r#"{{"name":"nvme0n1p{at}","type":"part","size":1073741824}}"#))
        .collect();
    let drive =
        format!(r#"{{"name":"nvme0n1","type":"disk","size":1099511627776,"children":[{}]}}"#, rows.join(","));
    let root = import::read(format!(r#"{{"blockdevices":[{drive}]}}"#).as_bytes()).unwrap().unwrap();
    assert_eq!(read_machine(&root).0.drives[0].partitions.len(), count);
}

/// The text of `fdisk -l` of so many disks.
fn disks(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let row = format!("Disk /dev/nvme{at}n1: 931.51 GiB, 1000204886016 bytes, 1953525168 sectors");
        let _infallible = writeln!(text, "{row}\n");
        text
    })
}

/// `docs/open.md` has these bounds.
#[test]
fn a_function_of_a_text_takes_three_kilobytes_and_a_drive_eight() {
    const FUNCTIONS: u32 = 4096;
    const PARTITIONS: u32 = 4000;
    const LINES: usize = 100_000;
    read_partitions(1);
    let network = ("Ethernet controller", "Intel Corporation Device 10c9");
    let drive = ("Non-Volatile memory controller", "Samsung Electronics Co Ltd Device a80a");
    // The list of ids is read once.
    for function in [network, drive] {
        read(function, 1);
    }
    let Some(before) = peak() else { return };
    // The greater ones last: the peak never falls.
    assert!(import::read("x\n".repeat(LINES).as_bytes()).unwrap().is_none());
    let bytes = (peak().unwrap_or(before) - before) / LINES as u64;
    eprintln!("lines: {bytes} bytes");
    assert!(bytes < 45, "{bytes} bytes for each line");
    read_partitions(PARTITIONS as usize);
    let bytes = (peak().unwrap_or(before) - before) / u64::from(PARTITIONS);
    eprintln!("partitions: {bytes} bytes");
    assert!(bytes < 1_600, "{bytes} bytes for each partition");
    for (function, most) in [(network, 3_200), (drive, 7_500)] {
        read(function, FUNCTIONS as usize);
        let bytes = (peak().unwrap_or(before) - before) / u64::from(FUNCTIONS);
        eprintln!("{}: {bytes} bytes", function.0);
        assert!(bytes < most, "{}: {bytes} bytes for each function", function.0);
    }
    let text = disks(100_000);
    assert!(import::read(text.as_bytes()).is_err(), "no machine has so many");
    let times = (peak().unwrap_or(before) - before) / text.len() as u64;
    eprintln!("fdisk: {times} times its text");
    assert!(times < 10, "{times} times the text");
}

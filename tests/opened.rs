//! Findings of opened texts: one order, remedies that name their place, and a sheet without code spans.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "common/program.rs"]
mod program;

use std::io::Write;

use program::{iodyno, text};

/// A link: speed and lanes that its end can have and those of now.
type Link<'a> = (&'a str, &'a str);

fn express(kind: &str, payload: u32, most: Link, now: Link) -> String {
    format!(
        "\tCapabilities: [58] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\
         \t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n\t\t\tMaxPayload {payload} bytes, MaxReadReq 512 bytes\n\
         \t\tLnkCap:\tPort #0, Speed {}, Width {}, ASPM L1, Exit Latency L1 <8us\n\t\tLnkSta:\tSpeed {}, Width {}\n",
        most.0, most.1, now.0, now.1
    )
}

/// A port with a slot and the drive in it.
fn slot(number: u8, name: &str, payload: u32, most: [Link; 2], now: Link) -> String {
    let bus = number + 5;
    let ends = ["Root Port (Slot+)", "Endpoint"];
    let [port, drive] = [0, 1].map(|end| express(ends[end], payload, most[end], now));
    format!(
        "00:01.{number} PCI bridge [0604]: AMD Matisse GPP Bridge [1022:1483]\n\
         \tBus: primary=00, secondary={bus:02x}, subordinate={bus:02x}, sec-latency=0\n{port}\
         {bus:02x}:00.0 Non-Volatile memory controller [0108]: {name}\n{drive}"
    )
}

const GEN3: Link = ("8GT/s", "x4");
const GEN4: Link = ("16GT/s", "x4");
const KC3000: &str = "Kingston KC3000 [2646:5013]";
const P1: &str = "Micron P1 [c0a9:2263]";

/// A Gen4 drive in a Gen3 slot, and a Gen3 drive in a Gen4 slot.
fn two(width: &str) -> String {
    slot(1, KC3000, 512, [GEN3, GEN4], GEN3) + &slot(2, P1, 512, [GEN4, GEN3], ("8GT/s", width))
}

fn printed(content: &str, arguments: &[&str]) -> String {
    let state = tempfile::tempdir().unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    let arguments: Vec<&str> =
        arguments.iter().copied().chain(["--open", file.path().to_str().unwrap()]).collect();
    text(&iodyno(state.path(), &arguments))
}

/// In one line.
fn check(content: &str) -> String {
    printed(content, &["check"]).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_swap_names_the_port_and_the_device_there() {
    let words = check(&two("x4"));
    let swap = "Port 0000:00:01.2 can do Gen4 x4: swap nvme@06:00.0 with nvme@07:00.0 there";
    let words_of = printed(&two("x4"), &["check", "--explain", "slot-limited"]);
    let remedy = words_of.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(remedy.contains(swap), "{remedy}");
    assert!(words.contains("slot-limited"), "{words}");
}

#[test]
fn a_port_that_trained_to_fewer_lanes_is_no_better_slot() {
    let remedy = printed(&two("x2"), &["check", "--explain", "slot-limited"]);
    assert!(remedy.contains("a faster slot would bring") && !remedy.contains("swap nvme"), "{remedy}");
    let words = check(&two("x2"));
    let last = words.rsplit_once("most ").unwrap().1;
    assert!(last.starts_with("severe: nvme@07:00.0"), "the slot costs more: {last}");
    assert!(
        words.contains("could do Gen4 x4, the slot gives Gen3 x4 (8 GT/s); none in this text; a faster slot"),
        "{words}"
    );
}

#[test]
fn a_sheet_of_a_text_has_no_code_spans_around_drives() {
    let sheet = printed(&two("x2"), &["sheet"]);
    assert!(sheet.contains("nvme@07:00.0: its link runs at") && !sheet.contains("`nvme@"), "{sheet}");
    assert!(!sheet.contains("`High") && !sheet.contains("`Warning"), "{sheet}");
    assert!(sheet.contains("mount paths and network addresses are omitted"), "{sheet}");
}

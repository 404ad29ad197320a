//! Findings of opened texts: one order, remedies that name their place, and a sheet without code spans.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use crate::program::{command, iodyno, text};

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

fn document(content: &str, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&printed(content, arguments)).unwrap()
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

#[test]
fn a_sheet_says_how_many_checks_could_not_be_made() {
    let list = "01:00.0 Non-Volatile memory controller: Sandisk Corp WD Blue SN550 NVMe SSD\n";
    for (content, has_checks) in [(list.to_owned(), false), (two("x4"), true)] {
        let checked = check(&content);
        assert_eq!(checked.contains("no check could be made"), !has_checks, "{checked}");
        for format in ["markdown", "bbcode", "text"] {
            let sheet = printed(&content, &["sheet", "--only", "findings", "--format", format]);
            let words = sheet.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(" checks could not be made."), "{format}: {sheet}");
            assert!(!words.contains("No finding limits this machine"), "{format}: {sheet}");
            assert!(has_checks || !words.contains("No finding"), "{format}: {sheet}");
            // The same number, where `check` has it.
            if let Some((before, _)) = checked.split_once(" checks could not be made") {
                let count = before.rsplit("; ").next().unwrap();
                assert!(words.contains(&format!("{count} checks could not be made.")), "{count}: {sheet}");
            }
        }
        let of_sheet = document(&content, &["sheet", "--format", "json"]);
        assert_eq!(of_sheet["not_judged"], document(&content, &["check", "--json"])["not_judged"]);
    }
}

/// Both ends with the status of their errors.
fn with_status(device: &str, errors: &str) -> String {
    let status = format!("\t\tDevSta:\t{device} NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-\n");
    let registers = format!("{status}\t\tLnkCap:\tPort #0, Speed");
    let corrected = if errors.is_empty() { String::new() } else { format!("\t\tCESta:\t{errors}\n") };
    let ends: Vec<String> = slot(1, KC3000, 512, [GEN4, GEN4], GEN4)
        .split_inclusive("\t\tLnkSta:\tSpeed 16GT/s, Width x4\n")
        .map(|end| end.replace("\t\tLnkCap:\tPort #0, Speed", &registers) + &corrected)
        .collect();
    ends.concat()
}

#[test]
fn a_corrected_error_of_a_link_is_a_hint_with_its_line() {
    const NONE: &str = "RxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr";
    let found = |text: &str| printed(text, &["check", "--explain", "link-errors"]);
    for text in [
        with_status("CorrErr+", ""),
        with_status("CorrErr+", "RxErr- BadTLP+ BadDLLP- Rollover- Timeout- AdvNonFatalErr-"),
        with_status("CorrErr+", "RxErr+ BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+"),
    ] {
        let words = found(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        let title = "nvme@06:00.0: its link reported a correctable error since boot; how many is not in the text, and a \
                     few are harmless";
        assert!(words.contains(title), "{words}");
        for (at, line) in text.lines().enumerate().filter(|(_, line)| line.contains("DevSta")) {
            assert!(words.contains(&format!("line {}: corrected error", at + 1)), "{line}: {words}");
        }
        let all = check(&text);
        assert!(!all.contains("severe") && !all.contains("warning link-errors"), "information: {all}");
    }
    for text in [
        with_status("CorrErr-", ""),
        // Requests that a device does not support, as of a bus scan.
        with_status("CorrErr+", &format!("{NONE}+")),
        two("x4"),
    ] {
        let words = check(&text);
        assert!(!words.contains("correctable error since boot"), "{words}");
    }
}

#[test]
fn a_card_whose_port_is_not_in_the_text_has_no_finding() {
    let link = |speed: &str, width: &str| format!("Speed {speed}, Width {width}");
    for (class, name) in [
        ("VGA compatible controller [0300]", "NVIDIA Corporation Device [10de:2684]"),
        ("Ethernet controller [0200]", "Mellanox Technologies Device [15b3:101d]"),
        ("Serial Attached SCSI controller [0107]", "Broadcom / LSI Device [1000:00af]"),
    ] {
        let card = format!(
            "41:00.0 {class}: {name}\n\tCapabilities: [58] Express (v2) Endpoint, MSI 00\n\
             \t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+\n\
             \t\tLnkCap:\tPort #0, {}\n\t\tLnkSta:\t{} (downgraded)\n",
            link("16GT/s", "x16"),
            link("2.5GT/s", "x4")
        );
        let json = printed(&card, &["check", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["findings"].as_array().unwrap().len(), 0, "{json}");
        let words = check(&card);
        assert!(words.contains("one end of links"), "{words}");
    }
}

#[test]
fn a_setting_of_a_text_has_its_line_and_no_file() {
    let rows = "nvme0n1     259:0    0 931.5G  0 disk\n";
    let lsblk = "{\"blockdevices\":[{\"name\":\"nvme0n1\",\"type\":\"disk\",\"size\":\"1G\",\"sched\":\"none\",\"ra\":128}]}\n";
    for text in [rows.to_owned(), lsblk.to_owned(), two("x4")] {
        let words =
            printed(&text, &["render", "tune", "--size", "140x40", "--format", "text", "--keys", "l"]);
        assert!(!words.contains("/sys/"), "{words}");
        let listed = printed(&text, &["tune", "list"]);
        assert!(!listed.contains("/sys/"), "{listed}");
    }
    let words = printed(lsblk, &["render", "tune", "--size", "140x40", "--format", "text", "--keys", "lj"]);
    assert!(words.contains("text     line 1:"), "{words}");
}

#[test]
fn experiments_on_a_text_say_that_it_is_a_text() {
    let listed = printed(&two("x4"), &["experiment", "list"]);
    assert!(listed.contains("a text's drives") && !listed.contains("a capture's drives"), "{listed}");
}

#[test]
fn a_text_of_devices_that_could_not_be_read_is_refused() {
    let asleep = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a80a (rev ff) (prog-if ff)\n\
                  \t!!! Unknown header type 7f\n\tKernel driver in use: nvme\n";
    let other = asleep.replace("01:00.0", "02:00.0");
    let silent = "none responded when lspci ran";
    for (text, command, why, has_text) in [
        (asleep.to_owned(), "check", silent, true),
        (format!("{asleep}{other}"), "check", silent, true),
        ("01:00.0 Foo: bar\n".to_owned(), "check", "none of them with class or ids", false),
        ("01:00.0 Foo: bar\n".to_owned(), "tree", "none of them with class or ids", false),
    ] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let output =
            iodyno(tempfile::tempdir().unwrap().path(), &[command, "--open", file.path().to_str().unwrap()]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(why) && words.lines().count() == 1, "{words}");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(!shown.is_empty(), has_text, "{shown}");
        assert!(!has_text || shown.contains("no check could be made"), "{shown}");
    }
    // One that can be read is shown with those that cannot.
    assert!(check(&format!("{asleep}{}", two("x4"))).contains("did not respond"));
}

#[test]
fn a_text_larger_than_any_machine_s_is_refused_in_one_line() {
    let many_lines = "x\n".repeat((1 << 20) + 1);
    for (content, length, why) in
        [("", 100_u64 << 20, "longer than 32 MiB"), (many_lines.as_str(), 0, "more than 524288 lines")]
    {
        let (mut file, state) = (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
        file.write_all(content.as_bytes()).unwrap();
        file.as_file().set_len(length.max(content.len() as u64)).unwrap();
        let output = iodyno(state.path(), &["check", "--open", file.path().to_str().unwrap()]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), words.lines().count()), (Some(2), 1), "{words}");
        assert!(words.contains(why) && output.stdout.is_empty(), "{words}");
    }
}

const LSBLK: &str = "\
00:01.0 PCI bridge: Intel Corporation Device 7a40
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
01:00.0 Non-Volatile memory controller: Seagate Technology PLC FireCuda 530 SSD

NAME        MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT
sda           8:0    0   3,6T  0 disk
`-md127       9:127  0   3,6T  0 raid1 /srv
nvme0n1     259:0    0 931,5G  0 disk
";

/// The row of a table that begins with that word.
fn row<'a>(table: &'a str, name: &str) -> &'a str {
    table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap()
}

#[test]
fn a_size_of_two_digits_is_shown_as_the_text_has_it() {
    let table = printed(LSBLK, &["drives"]);
    for (name, size) in [("sda", "3.6 TiB"), ("md127", "3.6 TiB"), ("nvme0n1", "1.00 TB")] {
        assert!(row(&table, name).contains(size), "{name}: {table}");
    }
    let document = document(LSBLK, &["drives", "--json"]);
    let of = |name: &str| {
        let drives = document["drives"].as_array().unwrap();
        drives.iter().find(|drive| drive["name"] == name).unwrap().clone()
    };
    assert_eq!((&of("sda")["size_text"], of("sda")["size_bytes"].is_u64()), (&"3.6 TiB".into(), true));
    assert!(of("nvme0n1").get("size_text").is_none(), "four digits");
    let facts = printed(LSBLK, &["render", "machine", "--size", "160x50", "--keys", "/sda<Enter>"]);
    assert!(facts.contains("3.6 TiB") && !facts.contains("3.96 TB"), "{facts}");
}

#[test]
fn users_of_a_drive_end_in_no_question_mark() {
    let table = printed(LSBLK, &["drives"]);
    let words = |name: &str| row(&table, name).trim_end().rsplit("  ").next().unwrap().to_owned();
    assert_eq!(words("md127"), "md127 mounted at /srv (unknown file system)");
    assert_eq!(words("nvme0n1"), "none in lsblk");
}

#[test]
fn every_form_of_a_sheet_names_a_drive_by_its_function() {
    let table = printed(LSBLK, &["drives"]);
    assert!(row(&table, "nvme0n1").contains("FireCuda 530 SSD"), "{table}");
    for format in ["markdown", "bbcode", "text", "svg"] {
        let sheet = printed(LSBLK, &["sheet", "--format", format]);
        assert!(sheet.contains("1 x FireCuda 530 SSD"), "{sheet}");
        assert!(sheet.contains("nvme0n1 FireCuda 530 SSD"), "{sheet}");
    }
    let listed = "Node          SN   Model                     Namespace Usage                    Format         FW Rev\n\
                  ------------- ---- ------------------------- --------- ------------------------ -------------- ------\n\
                  /dev/nvme0n1  1234 Samsung SSD 980 PRO 1TB   1         1.00 TB / 1.00 TB        512 B + 0 B    5B2Q\n";
    assert!(printed(listed, &["sheet"]).contains("1 x Samsung SSD 980 PRO 1TB (5B2Q)"));
}

#[test]
fn documents_of_a_text_have_lines_and_no_files() {
    const PORT: &str = "0000:00:01.2";
    let both = two("x2") + LSBLK;
    for arguments in [
        &["tree", "--json"][..],
        &["drives", "--json"],
        &["check", "--json"],
        &["sheet", "--format", "json"],
        &["tune", "list", "--json"],
        &["whatif", "--move", "0000:06:00.0", "--under", PORT, "--json"],
    ] {
        let words = printed(&both, arguments);
        for path in ["\"/sys/", "\"/proc", "\"/ioctl/"] {
            assert!(!words.contains(path), "{arguments:?}: {words}");
        }
    }
    let document = document(&both, &["drives", "--json"]);
    let problems = document["problems"].as_array().unwrap();
    let line = both.lines().position(|line| line.starts_with("sda")).unwrap() + 1;
    let of_line = |problem: &&serde_json::Value| problem["path"] == format!("line {line}");
    assert!(problems.iter().any(|problem| of_line(&problem)), "{problems:?}");
    assert!(problems.iter().any(|problem| problem["path"].is_null()), "values of no line: {problems:?}");
}

#[test]
fn a_pipe_without_a_writer_is_named_and_read_when_it_has_one() {
    let state = tempfile::tempdir().unwrap();
    let pipe = state.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = command(state.path(), &["tree", "--open", pipe.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, format!("iodyno: {}: waiting for its content\n", pipe.display()));
    std::fs::OpenOptions::new().append(true).open(&pipe).unwrap().write_all(LSBLK.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && text(&output).contains("FireCuda 530"), "{}", text(&output));
}

#[test]
fn a_long_name_of_a_device_leaves_its_link_what_it_could_be() {
    let name = "Intel Corporation Ethernet Controller X710 for 10GbE SFP+ Gigabit Backplane [8086:1572]";
    let card = slot(1, name, 512, [GEN3, ("8GT/s", "x8")], GEN3)
        .replace("Non-Volatile memory controller [0108]", "Ethernet controller [0200]");
    for size in ["80x24", "100x30", "120x40", "200x50"] {
        let picture = printed(&card, &["render", "--size", size]);
        let row = picture.lines().find(|line| line.contains("01.1 Intel")).unwrap_or_default();
        assert!(
            row.contains("Intel Ethernet Controller X") && row.contains("▽ Gen3 x4 < Gen3 x8"),
            "{size}: {picture}"
        );
    }
    let bare =
        card.replace("X710 for 10GbE SFP+", "X710-DA4/EN-2.0 for 10GbE/25GbE/40GbE/100GbE SFP28/QSFP28 V2");
    let picture = printed(&bare, &["render", "--size", "80x24"]);
    let row = picture.lines().find(|line| line.contains("01.1 Intel")).unwrap_or_default();
    assert!(row.contains('…') && row.contains("▽ Gen3 x4 < Gen3 x8"), "{picture}");
}

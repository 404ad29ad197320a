//! What `check` says of each text of the fixtures: reasons, findings and the last sentence agree with the text and with each other.

use std::{fs, io::Write, path::Path};

use crate::program::{iodyno, text};
use iodyno::{
    capacity,
    findings::{self, Finding, Inputs, NotMade},
    model::Severity,
    source::{import, read_machine},
};

/// Names and contents of the texts.
fn texts() -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = [fixtures.join("listings"), fixtures.clone(), fixtures.join("nvme-lists")];
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    let is_text = |path: &std::path::PathBuf| {
        let is_listing = path.extension().is_some_and(|ending| ending == "txt" || ending == "md");
        path.is_file() && is_listing && !path.ends_with("README.md")
    };
    let mut files: Vec<_> = files.filter(is_text).collect();
    files.sort();
    files.into_iter().map(|path| (path.to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

/// Findings and checks that were not made; `None` of a file that is no text of a machine.
fn judged(content: &[u8]) -> Option<(Vec<Finding>, Vec<NotMade>)> {
    let root = import::read(content).unwrap()?;
    let (machine, _) = read_machine(&root);
    let limits = capacity::limits(&machine);
    let inputs = Inputs::at_rest(&machine, &limits);
    let found = findings::check(&inputs);
    let not_made = findings::not_made(&inputs, &found);
    Some((found, not_made))
}

/// The bodies of NVMe controllers in a text of `lspci -v` and above: each line with its function's first line.
fn controllers(content: &[u8]) -> Vec<String> {
    let content = String::from_utf8_lossy(content);
    let mut bodies: Vec<String> = Vec::new();
    let mut is_inside = false;
    for line in content.lines() {
        let is_first = line.contains("Non-Volatile memory controller");
        if is_first {
            bodies.push(String::new());
        }
        is_inside = is_first || is_inside && line.starts_with([' ', '\t', '>']);
        if let Some(body) = bodies.last_mut().filter(|_| is_inside) {
            body.push_str(line);
            body.push('\n');
        }
    }
    bodies
}

#[test]
fn a_register_that_a_text_states_is_not_named_as_missing() {
    let mut stated = 0;
    for (name, content) in texts() {
        let Some((found, not_made)) = judged(&content) else { continue };
        let because = |id: &str| not_made.iter().find(|known| known.id.0 == id).map(|known| &*known.because);
        let bodies = controllers(&content);
        for (id, word) in [
            ("relaxed-ordering-off", "RlxdOrd"),
            ("read-request", "MaxReadReq "),
            ("remote-numa", "NUMA node"),
        ] {
            let is_stated = bodies.iter().any(|body| body.contains(word));
            stated += usize::from(is_stated);
            let lacks = because(id).is_some_and(|why| why.contains("the text"));
            assert!(
                !is_stated || !lacks,
                "{name}: {id} is not checked ({:?}), the text has {word}",
                because(id)
            );
        }
        // `CorrErr+` is a hint, no count.
        let is_hint = found.iter().any(|finding| finding.id.0 == "link-errors");
        let counters = because("link-errors");
        assert!(is_hint || counters.is_some_and(|why| why.contains("AER")), "{name}: {counters:?}");
        let numa = because("remote-numa").unwrap();
        assert!(!numa.contains("PCI Express"), "{name}: {numa}");
        // A finding was made with data.
        for finding in &found {
            assert_eq!(because(finding.id.0), None, "{name}: {} is found and not checked", finding.id.0);
        }
    }
    assert!(stated > 10, "the texts state registers: {stated}");
}

#[test]
fn controls_of_a_drive_without_sizes_and_links_are_checked() {
    let text = "5c:00.0 Non-Volatile memory controller [0108]: KIOXIA Corporation Device [1e0f:0025] (prog-if 02 [NVM Express])\n\
                \tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\
                \t\tDevCap:\tMaxPayload 1024 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited\n\
                \t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 25.000W\n\
                \t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n\
                \t\t\tRlxdOrd- ExtTag- PhantFunc- AuxPwr- NoSnoop+ FLReset-\n";
    let ids = |text: &str| -> (Vec<&str>, Vec<&str>) {
        let (found, not_made) = judged(text.as_bytes()).unwrap();
        (found.iter().map(|it| it.id.0).collect(), not_made.iter().map(|it| it.id.0).collect())
    };
    let (found, not_made) = ids(text);
    for id in ["relaxed-ordering-off", "ext-tags-off"] {
        assert!(found.contains(&id), "{id}: {found:?}");
    }
    assert!(not_made.contains(&"read-request") && not_made.contains(&"payload-size"), "{not_made:?}");
    // `grep DevC` leaves no capability.
    let cut: String = text
        .lines()
        .filter(|line| !line.contains("Capabilities"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(ids(&cut).0.contains(&"relaxed-ordering-off"), "{:?}", ids(&cut));
    let on = text.replace("RlxdOrd- ExtTag-", "RlxdOrd+ ExtTag+");
    let (found, not_made) = ids(&on);
    assert!(found.is_empty() && !not_made.contains(&"ext-tags-off"), "{found:?} {not_made:?}");
    // `lspci -vvx` has the header's bytes beside the words.
    let row = |at: usize| format!("{:02x}:{}\n", at * 16, " 00".repeat(16));
    let header: String = (0..4).map(row).collect();
    let header = header.replacen("00: 00 00 00 00", "00: 0f 1e 25 00", 1);
    assert!(ids(&format!("{text}{header}")).0.contains(&"ext-tags-off"));
}

#[test]
fn the_verdict_names_limits_that_are_information() {
    const LIMITS: [&str; 4] = ["slot-limited", "link-below-drive", "chipset-uplink", "oversubscribed-hop"];
    let mut quiet_limits = 0;
    for (name, content) in texts() {
        let Some((found, _)) = judged(&content) else { continue };
        if found.is_empty() || found.iter().any(|finding| finding.severity > Severity::Info) {
            continue;
        }
        let limits: Vec<&str> = found.iter().map(|it| it.id.0).filter(|id| LIMITS.contains(id)).collect();
        let state = tempfile::tempdir().unwrap();
        let words = text(&iodyno(state.path(), &["check", "--open", &name]));
        let says_nothing = words.contains("none found a loss") || words.contains("no limiting findings");
        assert_eq!(says_nothing, limits.is_empty(), "{name}: {limits:?}\n{words}");
        let last = words.trim_end().rsplit("\n\n").next().unwrap().replace('\n', " ");
        assert!(limits.iter().all(|id| last.contains(id)), "{name}: {last}");
        let tree = text(&iodyno(state.path(), &["tree", "--open", &name]));
        assert!(limits.is_empty() || !tree.contains("no limiting findings"), "{name}: {tree}");
        quiet_limits += limits.len();
    }
    assert!(quiet_limits > 2, "{quiet_limits}");
}

/// What a screen shows of a text, after keys.
fn screen(content: &str, name: &str, keys: &str) -> String {
    let (mut file, state) = (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
    file.write_all(content.as_bytes()).unwrap();
    let open = file.path().to_str().unwrap();
    let arguments = ["render", name, "--open", open, "--size", "130x60", "--format", "text", "--keys", keys];
    let output = iodyno(state.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}

/// A port of the first generation and a drive that can do more.
const SLOW_SLOT: &str = "00:1d.0 PCI bridge: Intel Corporation Device 9a04 (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0
\t\t\tExtTag- RBE+
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd- ExtTag- PhantFunc- AuxPwr- NoSnoop-
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x4, ASPM L1
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 2.5GT/s, Width x4
\t\tLnkCtl2: Target Link Speed: 2.5GT/s, EnterCompliance-
01:00.0 Non-Volatile memory controller: Sandisk Corp Device 5009 (prog-if 02 [NVM Express])
\tCapabilities: [40] Express (v2) Endpoint, MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\t\tExtTag+ RBE+
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
\t\t\tRlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1
\t\tLnkCtl:\tASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x4
";

#[test]
fn evidence_of_a_text_names_line_register_and_value() {
    let mut proofs = 0;
    for (name, content) in texts() {
        let Some((found, _)) = judged(&content) else { continue };
        for proof in found.iter().flat_map(|finding| &finding.evidence) {
            assert!(!proof.path.contains("/sys/"), "{name}: {proof:?}");
            let is_link = ["GT/s", "x"].iter().any(|word| proof.value.ends_with(word));
            assert!(!is_link || proof.value.contains("Lnk"), "{name}: {proof:?}");
            proofs += 1;
        }
        for finding in &found {
            let words = format!("{} {} {}", finding.title, finding.remedy.text, finding.gain.text);
            assert!(
                !words.contains("of this machine") && !words.contains("on this machine"),
                "{name}: {words}"
            );
        }
    }
    assert!(proofs > 20, "{proofs}");
    let (found, _) = judged(SLOW_SLOT.as_bytes()).unwrap();
    let slot = found.iter().find(|finding| finding.id.0 == "slot-limited").unwrap();
    let proofs: Vec<String> = slot.evidence.iter().map(|it| format!("{}: {}", it.path, it.value)).collect();
    assert!(proofs.contains(&"line 20: LnkCap: Speed 8 GT/s".to_owned()), "{proofs:?}");
    assert!(slot.remedy.text.starts_with("No free slot in this text is faster"), "{}", slot.remedy.text);
    let shown = screen(SLOW_SLOT, "findings", "");
    assert!(shown.contains("line 20: LnkCap: Speed 8 GT/s"), "{shown}");
    // There is no slot to move to, and no test to run.
    assert!(!shown.contains("what if") && !shown.contains("while a test runs"), "{shown}");
    assert!(
        screen(SLOW_SLOT, "findings", "w").contains("No slot move and no experiment here tests slot-limited")
    );
}

#[test]
fn paths_of_a_text_are_its_own_lines() {
    let shown = screen(SLOW_SLOT, "machine", "np<Enter>");
    for line in [
        "line 22: LnkSta:",
        "line 19: MaxPayload 256 bytes, MaxReadReq 512 bytes",
        "line 21: LnkCtl:",
        "line 13: 01:00.0 Non-Volatile memory controller",
    ] {
        assert!(shown.contains(line), "{line}:\n{shown}");
    }
    assert!(!shown.contains("Express (v2)"), "{shown}");
}

#[test]
fn no_test_of_a_text_is_offered() {
    for name in ["machine", "findings", "pull", "dyno", "what-if", "slots", "why"] {
        let shown = screen(SLOW_SLOT, name, "");
        assert!(!shown.contains("starts it") && !shown.contains("press r"), "{name}: {shown}");
        assert!(!shown.contains("r pull"), "{name}: {shown}");
    }
    assert!(screen(SLOW_SLOT, "pull", "").contains("A text's drives cannot be tested"));
}

#[test]
fn a_measured_ceiling_counts_for_its_platform_alone() {
    let ceilings = |content: &[u8]| {
        let root = import::read(content).unwrap().unwrap();
        let machine = read_machine(&root).0;
        let limits = capacity::limits(&machine);
        machine.pci.roots().filter(|root| limits.hop(*root).is_some()).count()
    };
    for (name, content) in texts() {
        let measured =
            ["threadripper-before.txt", "threadripper-after.txt"].iter().any(|it| name.ends_with(it));
        if judged(&content).is_some() {
            assert_eq!(ceilings(&content), if measured { 4 } else { 0 }, "{name}");
        }
    }
}

#[test]
fn a_root_complex_has_its_host_bridge_s_name() {
    let line = "00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD] Renoir Root Complex\n";
    let root = import::read(line.as_bytes()).unwrap().unwrap();
    let machine = read_machine(&root).0;
    let roots: Vec<String> = machine.pci.roots().map(|at| machine.pci.node(at).product().unwrap()).collect();
    assert_eq!(roots, ["AMD Renoir Root Complex"]);
}

#[test]
fn links_of_a_shell_loop_belong_to_its_functions() {
    let links = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4\n";
    let fast = links.replace("8GT/s (downgraded)", "16GT/s");
    let grep = "sudo lspci -s $d -vv | grep -E 'LnkCap:|LnkSta:'; done";
    let heads = ["01:00.0", "=== 0000:01:00.0 ===", "-- 01:00.0"];
    let echoed = heads.map(|head| {
        let other = head.replace("01:", "02:");
        format!("$ for d in $(lspci | grep -i nvme | cut -d' ' -f1); do echo $d; {grep}\n{head}\n{links}{other}\n{fast}")
    });
    let named = format!("$ for d in 01:00.0 02:00.0; do # nvme\n{links}{fast}")
        .replace("# nvme", &format!("{grep} # nvme"));
    let drive = |bus: u8| {
        format!("0{bus}:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd Device a80a\n")
    };
    let filtered = format!("{}{links}{}{fast}", drive(1), drive(2));
    for text in echoed.into_iter().chain([named, filtered]) {
        for text in [text.replace("\t\t", ""), text.replace("\t\t", "    "), text] {
            let root = import::read(text.as_bytes()).unwrap().unwrap();
            let machine = read_machine(&root).0;
            let speeds: Vec<_> = machine
                .hardware_drives()
                .map(|drive| {
                    machine.pci.node(drive.node.unwrap()).link.as_ref().unwrap().speed.get().unwrap().gts()
                })
                .collect();
            assert_eq!(speeds, [8.0, 16.0], "{text}");
        }
    }
}

#[test]
fn one_end_of_a_link_is_not_said_to_be_judged() {
    let because = |text: &str, id: &str| {
        let (_, not_made) = judged(text.as_bytes()).unwrap();
        not_made.into_iter().find(|known| known.id.0 == id).map(|known| known.because.into_owned())
    };
    let device = "5d:00.0 3D controller: NVIDIA Corporation Device 2330\n";
    let (cap, state) =
        ("LnkCap: Port #0, Speed 32GT/s, Width x16", "LnkSta: Speed 32GT/s, Width x4 (downgraded)");
    let of = |text: &str| because(text, "link-downtrained").unwrap();
    assert!(of(&format!("{device}\t{cap}\n\t{state}\n")).contains("one end of links"));
    assert!(of(&format!("{device}\t{state}\n")).contains("LnkSta or LnkCap"));
    assert!(of(device).contains("no speed and width of links"));
    let drive = "01:00.0 Non-Volatile memory controller: Sandisk Corp Device 5009\n";
    let both = format!("{drive}{device}\t{cap}\n\t{state}\n");
    assert!(because(&both, "link-below-drive").unwrap().contains("above drives"), "{both}");
    for (name, content) in texts() {
        let Some((found, not_made)) = judged(&content) else { continue };
        let says = |word: &str| not_made.iter().any(|known| known.because.contains(word));
        let words = String::from_utf8_lossy(&content);
        let is_whole = ["LnkSta:", "LnkCap:"].iter().all(|word| words.contains(word)) && found.is_empty();
        let is_denied = says("the text has no speed and width of links:") && is_whole;
        assert!(!is_denied, "{name}");
    }
}

#[test]
fn a_bus_without_its_bridge_is_no_root_complex_on_any_page() {
    let alone = &SLOW_SLOT[SLOW_SLOT.find("01:00.0").unwrap()..];
    let slots = screen(alone, "slots", "");
    assert!(slots.contains("0000:01 bus, bridge unknown"), "{slots}");
    // Without a port no link has a limit.
    assert!(!slots.contains("at most 0.00"), "{slots}");
    let sheet = screen(alone, "sheet", "");
    assert!(sheet.contains("0000:01 bus, bridge unknown, 1 drive"), "{sheet}");
}

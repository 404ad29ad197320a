//! What `check` says of each text of the fixtures: reasons, findings and the last sentence agree with the text and with each other.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "common/program.rs"]
mod program;

use std::{fs, path::Path};

use iodyno::{
    capacity,
    findings::{self, Finding, Inputs, NotMade},
    model::Severity,
    source::{import, read_machine},
};
use program::{iodyno, text};

/// Names and contents of the texts.
fn texts() -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = [fixtures.join("listings"), fixtures.clone(), fixtures.join("nvme-lists")];
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    let is_text = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.is_file() && !name.starts_with("README") && (name.ends_with(".txt") || name.ends_with(".md"))
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
        let counters = because("link-errors").unwrap();
        assert!(counters.contains("AER"), "{name}: {counters}");
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

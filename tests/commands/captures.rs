//! Captures of whole machines: what was recorded reads the same again, with pseudonyms too, and damaged ones never panic.
#![expect(
    clippy::disallowed_methods,
    reason = "a test ends where something is not there, and makes files to replace"
)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::Path,
    process::{Command, Output},
    sync::Arc,
};

use crate::skip::skipped;
use iodyno::{
    counters::Counters,
    machine::Machine,
    model::Problem,
    redact::capture_text,
    source::{
        self, SysRoot,
        capture::{Recorder, TextRoot},
        demo::DEMOS,
        origin::Origin,
    },
};
use proptest::prelude::*;

fn everything(root: &dyn SysRoot) -> (Machine, Vec<Problem>, Counters) {
    let (machine, problems) = source::read_machine(root);
    (machine, problems, source::counters::read(root))
}

/// This machine and every demo.
fn origins() -> Vec<Origin> {
    let demos = DEMOS.iter().map(|demo| Origin::Demo(demo.name.to_owned()));
    [Origin::Live].into_iter().chain(demos).collect()
}

fn opened(origin: &Origin) -> Arc<dyn SysRoot> {
    origin.open().unwrap()
}

#[test]
fn a_recorded_machine_reads_the_same_again() {
    for origin in origins() {
        let root = opened(&origin);
        let recorder = Recorder::new(&*root);
        let read = everything(&recorder);
        let text = recorder.capture();
        let again = TextRoot::parse(&text).unwrap();
        assert_eq!(everything(&again), read, "{origin:?}");

        let recorder = Recorder::new(&again);
        everything(&recorder);
        assert_eq!(recorder.capture(), text, "a capture of a capture is the same text");
    }
}

/// `iodyno capture` of a demo under this umask.
fn captured(umask: &str, words: &[&str], file: &Path) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_iodyno")]);
    command.args(["capture", "--demo", "laptop"]).args(words).arg(file).output().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_with_serials_is_its_owner_s_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(captured("0", &["--with-serials"], &at("private")).status.success());
    assert!(captured("022", &[], &at("shared")).status.success());
    assert_eq!((mode(&at("private")), mode(&at("shared"))), (0o600, 0o644));
    // A capture that is replaced keeps its mode, but for what others could read of serials.
    fs::set_permissions(at("shared"), Permissions::from_mode(0o640)).unwrap();
    assert!(captured("0", &[], &at("shared")).status.success());
    assert_eq!(mode(&at("shared")), 0o640);
    assert!(captured("0", &["--with-serials"], &at("shared")).status.success());
    assert_eq!(mode(&at("shared")), 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing unfinished is left");
}

#[test]
fn a_capture_that_is_replaced_keeps_its_owner_and_no_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    fs::write(at("target"), "").unwrap();
    symlink("target", at("link")).unwrap();
    let refused = captured("022", &[], &at("link"));
    assert!(refused.status.code() == Some(2) && said(&refused).contains("is a symbolic link"), "{refused:?}");
    assert_eq!(fs::metadata(at("target")).unwrap().len(), 0);
    symlink("nowhere", at("dangling")).unwrap();
    assert_eq!(captured("022", &[], &at("dangling")).status.code(), Some(2));
    assert!(!at("nowhere").exists());
    let refused = captured("022", &[], &at("folder/"));
    assert!(refused.status.code() == Some(2) && said(&refused).contains("is not a file name"), "{refused:?}");
    assert!(!at("folder").exists());
    if !rustix::process::geteuid().is_root() {
        skipped("only root gives files away");
        return;
    }
    fs::set_permissions(at("target"), Permissions::from_mode(0o600)).unwrap();
    chown(at("target"), Some(65_534), Some(65_534)).unwrap();
    assert!(captured("022", &["--with-serials"], &at("target")).status.success());
    let metadata = fs::metadata(at("target")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), mode(&at("target"))), (65_534, 65_534, 0o600));
    // Where others may put files, its owner could read what root writes.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    let refused = captured("022", &["--with-serials"], &at("target"));
    assert!(
        said(&refused).contains("belongs to user 65534 in a folder that other users can write to"),
        "{refused:?}"
    );
}

/// What a document of `check --json` says of a machine: severity, id and subjects of each finding, and what was not judged.
fn told(document: &str) -> Vec<[serde_json::Value; 3]> {
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    let listed = |field: &str| document[field].as_array().unwrap().clone();
    let findings = listed("findings");
    let judged = findings.iter().map(|found| ["severity", "id", "subjects"].map(|key| found[key].clone()));
    let open = listed("not_judged");
    let mut told: Vec<_> =
        judged.chain(open.iter().map(|left| ["", "id", "because"].map(|key| left[key].clone()))).collect();
    // The order is that of severity and gain, and the recorded one may be an older program's.
    told.sort_by_key(|one| one.each_ref().map(ToString::to_string));
    told
}

/// `tests/lab/run --fixtures` makes them: `check --json` was run inside, the capture has pseudonyms.
#[test]
fn what_was_found_inside_a_guest_is_found_in_its_capture() {
    for name in ["lab-switch", "lab-desktop"] {
        let fixture = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        let inside = fs::read_to_string(format!("{fixture}.check.json")).unwrap();
        let capture = format!("{fixture}.capture");
        let outside = Command::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(["check", "--json", "--open", &capture])
            .output()
            .unwrap();
        // Inside, a test could have begun.
        let outside = std::str::from_utf8(&outside.stdout).unwrap();
        let outside = told(&outside.replace("only a test on that machine shows it", "no test is running"));
        assert!(outside.iter().any(|[severity, ..]| severity == "info"), "{outside:?}");
        assert_eq!(outside, told(&inside), "{name}");
    }
}

#[test]
fn pseudonyms_change_nothing_but_who_it_is() {
    for origin in origins() {
        let root = opened(&origin);
        let recorder = Recorder::new(&*root);
        let (original, ..) = everything(&recorder);
        let text = capture_text(recorder.recorded(), false);
        let (mut machine, ..) = everything(&TextRoot::parse(&text).unwrap());
        machine.host.name.clone_from(&original.host.name);
        machine.host.command_line.clone_from(&original.host.command_line);
        machine.host.boot_id.clone_from(&original.host.boot_id);
        for (drive, before) in machine.drives.iter_mut().zip(&original.drives) {
            if let (Some(pseudonym), Some(serial)) = (drive.serial.value(), before.serial.value()) {
                assert_ne!(pseudonym, serial, "{origin:?} {}", drive.name);
                assert_eq!(pseudonym.as_str().len(), serial.as_str().len());
            }
            if let (Some(pseudonym), Some(wwid)) = (drive.wwid.value(), before.wwid.value()) {
                assert_ne!(pseudonym, wwid, "{origin:?} {}", drive.name);
            }
            drive.serial.clone_from(&before.serial);
            drive.wwid.clone_from(&before.wwid);
            assert_eq!(drive.used_by.len(), before.used_by.len());
            drive.used_by.clone_from(&before.used_by);
            drive.backing_file.clone_from(&before.backing_file);
        }
        // Mount points and options are pseudonyms.
        let kinds = |machine: &Machine| -> Vec<_> {
            machine
                .layers
                .file_systems
                .iter()
                .map(|mount| (mount.devices.clone(), mount.kind.clone()))
                .collect()
        };
        assert_eq!(kinds(&machine), kinds(&original), "{origin:?}");
        machine.layers.file_systems.clone_from(&original.layers.file_systems);
        assert_eq!(machine, original, "{origin:?}");
    }
}

/// One line of a capture, spoilt.
#[derive(Debug, Clone)]
enum Damage {
    Gone,
    Value(&'static str),
    Unreadable,
    /// The path keeps, the rest is another line's.
    Swapped(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    const VALUES: &[&str] = &[
        "",
        "0",
        "-1",
        "255",
        "Unknown",
        "[",
        "18446744073709551615",
        "99999999999999999999",
        "0-4294967295",
        "1e999",
    ];
    prop_oneof![
        Just(Damage::Gone),
        prop::sample::select(VALUES).prop_map(Damage::Value),
        Just(Damage::Unreadable),
        any::<prop::sample::Index>().prop_map(Damage::Swapped),
    ]
}

fn spoil(lines: &mut [String], at: prop::sample::Index, damage: &Damage) {
    let at = at.index(lines.len());
    let words: Vec<&str> = lines[at].splitn(3, ' ').collect();
    let [keyword, path, rest] = words[..] else { return };
    lines[at] = match (damage, keyword) {
        (Damage::Gone, "file" | "link" | "fail" | "none") => String::new(),
        (Damage::Value(value), "file") => format!("file {path} {value}"),
        (Damage::Unreadable, "file") => format!("fail read {path} EIO"),
        (Damage::Unreadable, "link") => format!("fail link {path} ENODEV"),
        (Damage::Swapped(other), "file" | "link") => {
            let kin: Vec<&String> = lines.iter().filter(|line| line.starts_with(keyword)).collect();
            let other = kin[other.index(kin.len())].splitn(3, ' ').nth(2).unwrap_or(rest);
            format!("{keyword} {path} {other}")
        }
        _ => return,
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_damaged_machine_is_still_read(
        demo in prop::sample::select(DEMOS),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..200),
    ) {
        let mut lines: Vec<String> = demo.capture().lines().map(str::to_owned).collect();
        for (at, damage) in &wounds {
            spoil(&mut lines, *at, damage);
        }
        // The header is not what is tried here.
        let header = demo.capture().lines().take_while(|line| !line.is_empty()).count();
        lines.splice(..header, demo.capture().lines().take(header).map(str::to_owned));
        let root = TextRoot::parse(&lines.join("\n")).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let recorder = Recorder::new(&root);
        let read = everything(&recorder);
        let again = TextRoot::parse(&recorder.capture()).unwrap();
        prop_assert_eq!(everything(&again), read);
        prop_assert!(TextRoot::parse(&capture_text(recorder.recorded(), false)).is_ok());
    }
}

#[test]
fn the_tree_names_arrays_with_what_they_are_made_of() {
    let tree = |machine: [&str; 2]| {
        let shown = Command::new(env!("CARGO_BIN_EXE_iodyno")).arg("tree").args(machine).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let shown = tree(["--open", "tests/fixtures/stack.capture"]);
    let arrays = shown.split_once("arrays, volumes and other software devices\n").map(|(_, arrays)| arrays);
    let lines: Vec<&str> = arrays.unwrap_or_default().lines().take_while(|line| !line.is_empty()).collect();
    let array = lines.iter().position(|line| line.trim_start().starts_with("md0 RAID5, 2 of 3 members"));
    assert!(array.is_some_and(|at| at > 0 && lines[at - 1].contains("dm-0 crypt")), "{shown}");
    assert!(array.is_some_and(|at| lines[at + 1].trim_start().starts_with("nvme0n1p1")), "{shown}");
    assert!(lines.iter().any(|line| line.contains("nvme2n1") && line.ends_with(", spare")), "{shown}");
    assert!(shown.contains("PCI function not listed\n  nvme0n1  Fast 1TB\n"), "{shown}");
    let laptop = tree(["--demo", "laptop"]);
    assert!(!laptop.contains("not on PCI") && !laptop.contains("not listed"), "{laptop}");
}

//! What other tools take from iodyno: metrics, manual pages, completions, pictures.
//!
//! Each is handed to the tool it is for; where that is not installed, the test says so and passes.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

use std::{
    collections::HashSet,
    io::Write,
    process::{Command, Output, Stdio},
};

const DEMOS: [&str; 5] = ["threadripper-before", "threadripper-after", "x570", "x570-formatted", "laptop"];

fn iodyno(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iodyno")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a tool says of a text on its standard input; nothing where there is no such tool.
fn checked_by(tool: &str, arguments: &[&str], text: &str) -> Option<Output> {
    let spawned = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        eprintln!("skipped: no {tool} here");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
fn metrics_pass_promtool_on_every_demo_and_here() {
    let machines = DEMOS.map(|demo| vec!["metrics", "--demo", demo]);
    for arguments in machines.into_iter().chain([vec!["metrics"]]) {
        let text = iodyno(&arguments);
        let Some(output) = checked_by("promtool", &["check", "metrics"], &text) else { return };
        let mut series: Vec<&str> = text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        series.sort_unstable();
        let count = series.len();
        series.dedup();
        assert_eq!(series.len(), count, "{arguments:?}: a series stands twice");
        let said =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.trim().is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn metrics_say_what_the_machine_has_and_keep_serials_to_themselves() {
    let text = iodyno(&["metrics", "--demo", "threadripper-before"]);
    for sample in [
        "iodyno_findings{severity=\"high\"} 1\n",
        "iodyno_pcie_link_transfers_per_second{address=\"0000:41:00.0\",drive=\"nvme0n1\",",
        "iodyno_pcie_link_width_lanes{address=\"0000:41:00.0\",drive=\"nvme0n1\",",
        "iodyno_finding_subjects{id=\"shared-root-complex\",severity=\"high\"} 9\n",
    ] {
        assert!(text.contains(sample), "{sample} in\n{text}");
    }
    let drives: serde_json::Value =
        serde_json::from_str(&iodyno(&["drives", "--demo", "threadripper-before", "--json"])).unwrap();
    let serials: Vec<&str> =
        drives["drives"].as_array().unwrap().iter().filter_map(|drive| drive["serial"].as_str()).collect();
    assert_eq!(serials.len(), 10);
    assert!(serials.iter().all(|serial| !text.contains(serial)));
    let hashes: HashSet<&str> = text
        .lines()
        .filter(|line| line.starts_with("iodyno_drive_info{"))
        .filter_map(|line| line.split("serial_hash=\"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(hashes.len(), 10, "each drive has a label of its own");
    assert!(hashes.iter().all(|hash| hash.len() == 12));
}

#[test]
fn manual_pages_are_sound() {
    for arguments in [&["man"][..], &["man", "bench"], &["man", "tune"], &["man", "check"]] {
        let page = iodyno(arguments);
        let Some(output) = checked_by("mandoc", &["-T", "lint", "-W", "warning"], &page) else { return };
        // Lists of possible values come with a line break too many; it shows nowhere.
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let faults: Vec<&str> =
            said.lines().filter(|line| !line.contains("skipping paragraph macro: br")).collect();
        assert!(faults.is_empty(), "{arguments:?}: {faults:?}");
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = iodyno(&["completions", "bash"]);
    let ask = "\nCOMP_WORDS=(iodyno bench --rate); COMP_CWORD=2; _iodyno iodyno --rate bench; echo \"${COMPREPLY[@]}\"\n\
               COMP_WORDS=(iodyno che); COMP_CWORD=1; _iodyno iodyno che iodyno; echo \"${COMPREPLY[@]}\"\n";
    let Some(output) = checked_by("bash", &["--norc"], &(script + ask)) else { return };
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        ["--rate_iops", "check"],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_picture_is_one_svg_document_with_the_screens_words() {
    let text = iodyno(&["render", "machine", "--demo", "--size", "120x40"]);
    let picture = iodyno(&["render", "machine", "--demo", "--size", "120x40", "--format", "svg"]);
    assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
    assert!(
        picture.contains("width=\"976\" height=\"656\""),
        "120 columns of 8 and 40 lines of 16, with a margin"
    );
    for word in ["Threadripper", "0000:40", "nvme0n1"] {
        assert!(text.contains(word) && picture.contains(word), "{word}");
    }
    let Some(output) = checked_by("rsvg-convert", &["-f", "png"], &picture) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

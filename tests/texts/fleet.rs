//! What other tools take from iodyno: metrics, manual pages, completions, pictures.
//!
//! Each is read by the tool it is for; where that is not installed, the test is skipped.

use std::{
    collections::HashSet,
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::skip::skipped;

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
        skipped(format_args!("no {tool} here"));
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
fn metrics_tell_the_last_run_that_was_kept() {
    let state = tempfile::tempdir().unwrap();
    let mut file = tempfile::Builder::new().prefix("read-me").tempfile().unwrap();
    file.write_all(&vec![7; 1 << 20]).unwrap();
    let here = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
        let output = command.args(arguments).env("IODYNO_STATE_DIR", state.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!here(&["metrics"]).contains("last_run"), "nothing was run yet");
    let bench =
        ["bench", "--json", "--direct", "0", "--ioengine", "psync", "--iodepth", "1", "--runtime", "1"];
    let names = ["--filename", file.path().to_str().unwrap()];
    let run: serde_json::Value = serde_json::from_str(&here(&[&bench[..], &names].concat())).unwrap();
    let text = here(&["metrics"]);
    let value = |start: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("{start} in {text}")).rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    let read = &run["jobs"][0]["read"];
    let close = |one: f64, other: &serde_json::Value| (one / other.as_f64().unwrap() - 1.0).abs() < 0.01;
    assert!(close(value("iodyno_last_run_reads_per_second"), &read["iops"]));
    assert!(close(value("iodyno_last_run_bytes_per_second"), &read["bw_bytes"]));
    assert!(value("iodyno_last_run_timestamp_seconds ") > 1.7e9);
    assert!((0.9..2.0).contains(&value("iodyno_last_run_duration_seconds ")));
    let p99 = text
        .lines()
        .find(|line| line.contains("latency_seconds") && line.contains("percentile=\"99\""))
        .unwrap();
    let p99: f64 = p99.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(close(p99 * 1e9, &read["clat_ns"]["percentile"]["99.000000"]));
    let told = text.lines().filter(|line| line.contains("last_run"));
    assert!(told.clone().count() > 20 && !text.contains("read-me"), "a path is in no label: {text}");
    if let Some(output) = checked_by("promtool", &["check", "metrics"], &text) {
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.trim().is_empty(), "{said}");
    }
}

#[test]
fn bench_json_has_what_fio_plot_reads() {
    let text = iodyno(&["bench", "--demo", "laptop", "--runtime", "3", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(document["fio version"].is_string());
    for job in document["jobs"].as_array().unwrap() {
        // fio-plot 1.1.21, jsonparsing_support.get_json_mapping
        for option in ["iodepth", "numjobs", "bs", "rw"] {
            assert!(job["job options"][option].is_string(), "{option}");
        }
        for figure in ["bw", "iops", "iops_stddev"] {
            assert!(job["read"][figure].is_number(), "{figure}");
        }
        assert!(job["read"]["lat_ns"]["mean"].is_number() && job["read"]["lat_ns"]["stddev"].is_number());
        for unit in ["latency_ns", "latency_us", "latency_ms"] {
            assert!(job[unit].as_object().unwrap().len() >= 10, "{unit}");
        }
        assert!(job["usr_cpu"].is_number() && job["sys_cpu"].is_number());
    }
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
    let sheet = iodyno(&["sheet", "--demo", "--simulate", "--format", "svg"]);
    assert!(
        sheet.starts_with("<svg xmlns=") && sheet.contains("Threadripper") && sheet.contains("Experiments")
    );
    for picture in [&picture, &sheet] {
        let Some(output) = checked_by("rsvg-convert", &["-f", "png"], picture) else { return };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

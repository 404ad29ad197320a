//! `bench --emit-fio` and `bench --fio`: fio runs iodyno's job files, and iodyno fio's.
//!
//! Where there is no fio, the comparisons are skipped. No speed is asserted: both hold a rate.
#![expect(
    clippy::disallowed_methods,
    reason = "job files and targets are written to a folder of the test's own"
)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::skip::skipped;
use serde_json::Value;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let content: Vec<u8> = (0..8_u32 << 20).map(|n| u8::try_from(n * 31 % 251).unwrap() + 1).collect();
    fs::write(folder.path().join("a"), &content).unwrap();
    fs::write(folder.path().join("b"), &content).unwrap();
    folder
}

fn bench(folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
    command.env("IODYNO_STATE_DIR", folder.join("state")).env("TARGETS", folder);
    command.current_dir(folder).arg("bench").args(options).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn fio(folder: &Path, arguments: &[&str]) -> Option<Output> {
    match Command::new("fio").current_dir(folder).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skipped(format_args!("no fio here ({error})"));
            None
        }
    }
}

/// Reads and reads per second of each job.
fn jobs(document: &str) -> Vec<(String, u64, f64)> {
    let document: Value = serde_json::from_str(document).unwrap();
    let jobs = document["jobs"].as_array().unwrap().iter().map(|job| {
        assert_eq!(job["error"], 0, "{job}");
        let read = &job["read"];
        (
            job["jobname"].as_str().unwrap().to_owned(),
            read["total_ios"].as_u64().unwrap(),
            read["iops"].as_f64().unwrap(),
        )
    });
    jobs.collect()
}

#[test]
fn fio_runs_the_emitted_job_and_agrees() {
    let folder = folder();
    let workloads: [&[&str]; 3] = [
        &["--filename=a:b", "--rate_iops=400", "--runtime=1", "--direct=0", "--numjobs=2", "--iodepth=4"],
        &[
            "--filename=a",
            "--rate_iops=1000",
            "--runtime=1",
            "--direct=0",
            "--ioengine=psync",
            "--iodepth=1",
            "--rw=read",
        ],
        // Ended by an amount: both read it once and no more.
        &["--filename=a", "--runtime=0", "--size=2m", "--rw=read", "--bs=64k", "--iodepth=2"],
    ];
    for workload in workloads {
        let file = printed(&bench(folder.path(), &[workload, &["--emit-fio"]].concat()));
        fs::write(folder.path().join("job.fio"), file).unwrap();
        let arguments = ["--readonly", "--output-format=json", "--output=theirs.json", "job.fio"];
        let Some(output) = fio(folder.path(), &arguments) else { return };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let theirs = jobs(&fs::read_to_string(folder.path().join("theirs.json")).unwrap());
        let ours = jobs(&printed(&bench(folder.path(), &[workload, &["--json"]].concat())));
        assert_eq!(theirs.len(), ours.len(), "{workload:?}");
        for ((_, their_reads, their_rate), (_, our_reads, our_rate)) in theirs.iter().zip(&ours) {
            if workload.contains(&"--runtime=0") {
                assert_eq!(our_reads, their_reads, "{workload:?}");
            } else {
                let ratio = our_rate / their_rate;
                assert!((0.95..1.05).contains(&ratio), "{our_rate} of {their_rate} in {workload:?}");
            }
        }
    }
}

const MIXED: &str = "[global]\nioengine=io_uring\nrw=randread\nruntime=300ms\ntime_based\nexitall\n\n\
    [one]\nfilename=${TARGETS}/a\n[two]\nfilename=b\n[wall]\nstonewall\nbs=64k\nfilename=a\n[bad]\nrw=write\n";

#[test]
fn a_job_file_that_asks_for_more_is_refused_in_one_line_or_runs_what_it_can() {
    let folder = folder();
    fs::write(folder.path().join("job.fio"), MIXED).unwrap();
    let refused = bench(folder.path(), &["--fio", "job.fio", "--json"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(refused.stderr).unwrap();
    let line = "iodyno: job.fio: [global] line 6: exitall is not supported; [bad] rw=write: would write, and iodyno \
                only reads; use randread or read; change the file, or add --ignore-unsupported to run the rest\n";
    assert_eq!(said, line);

    let output = bench(folder.path(), &["--fio", "job.fio", "--json", "--ignore-unsupported"]);
    let names: Vec<String> = jobs(&printed(&output))
        .into_iter()
        .map(|(name, reads, _)| {
            assert!(reads > 0);
            name
        })
        .collect();
    assert_eq!(names, ["one", "two", "wall"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("job.fio: left out: [global] line 6: exitall is not supported\n"), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["left_out"][0], "[global] line 6: exitall is not supported");
    assert!(document["left_out"][1].as_str().unwrap().starts_with("[bad] rw=write: would write"));
    assert!(document["notes"][0].as_str().unwrap().contains("random offsets may repeat"), "{document}");
    let group = |job: usize| document["jobs"][job]["groupid"].as_u64();
    assert_eq!((group(0), group(1), group(2)), (Some(0), Some(0), Some(1)));
    assert_eq!(document["jobs"][2]["job options"]["bs"], "64k");
    assert_eq!(document["jobs"][2]["job options"]["time_based"], "1");
}

#[test]
fn a_size_ends_a_job_before_its_runtime_as_in_fio() {
    let folder = folder();
    let file = "[global] ; of both\nrw=read\nbs=64k # big\nsize=8m\nruntime=5;s\n[a]\nfilename=a\nnumjobs=1*$ncpus\n\
                group_reporting=1\n";
    fs::write(folder.path().join("job.fio"), file).unwrap();
    let ours: Value =
        serde_json::from_str(&printed(&bench(folder.path(), &["--fio", "job.fio", "--json"]))).unwrap();
    let job = &ours["jobs"][0];
    let jobs: u64 = job["job options"]["numjobs"].as_str().unwrap().parse().unwrap();
    assert_eq!(job["read"]["io_bytes"].as_u64(), Some(jobs * (8 << 20)));
    assert_eq!(job["job options"]["time_based"], "0");
    let arguments = ["--readonly", "--output-format=json", "--output=theirs.json", "job.fio"];
    let Some(output) = fio(folder.path(), &arguments) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("theirs.json")).unwrap()).unwrap();
    assert_eq!(theirs["jobs"][0]["read"]["io_bytes"], job["read"]["io_bytes"]);
}

#[test]
fn every_option_of_fio_is_known() {
    let folder = folder();
    let Some(options) = fio(folder.path(), &["--cmdhelp"]) else { return };
    let mut names = String::from_utf8(options.stdout).unwrap();
    for engine in ["io_uring", "io_uring_cmd", "libaio"] {
        // An fio without one of them has no options of it.
        let help = fio(folder.path(), &[&format!("--enghelp={engine}")]).map(|output| output.stdout);
        names.push_str(&String::from_utf8(help.unwrap_or_default()).unwrap());
    }
    let names: Vec<&str> =
        names.lines().filter_map(|line| line.split_once(':').map(|(name, _)| name.trim())).collect();
    assert!(names.len() > 200, "{names:?}");
    let file = format!("[a]\nfilename=a\n{}=0\n", names.join("=0\n"));
    fs::write(folder.path().join("job.fio"), file).unwrap();
    let said = String::from_utf8(bench(folder.path(), &["--fio", "job.fio"]).stderr).unwrap();
    let unknown: Vec<&str> = said.split("; ").filter(|reason| reason.ends_with(" is unknown")).collect();
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn a_job_file_that_gives_nothing_to_run_is_one_line() {
    let folder = folder();
    fs::write(folder.path().join("job.fio"), "[w]\nrw=write\nfilename=a\n").unwrap();
    for (name, line) in [
        (
            "job.fio",
            "iodyno: job.fio: [w] rw=write: would write, and iodyno only reads; use randread or read; change the file, or add --ignore-unsupported to run the rest\n",
        ),
        (
            "none.fio",
            "iodyno: none.fio: No such file or directory; name a readable job file, or - for standard input\n",
        ),
    ] {
        let output = bench(folder.path(), &["--fio", name]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.ends_with(line)), (Some(2), true), "{said}");
    }
}

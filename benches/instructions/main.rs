//! Counts the user instructions of a read exactly, by single-stepping one worker between its system calls.
//!
//! `cargo bench --bench instructions -- [--calls N] [--target FILE] [--t-io-uring PATH]`. Without a target, a file of
//! 64 MiB of random data in the build folder, read through the page cache. The instructions between the return of one
//! `io_uring_enter` and the next are counted, and divided by the reads that these calls submitted. Other load has no
//! influence. For `x86_64`.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "ptrace has no safe wrapper"))]

#[cfg(target_arch = "x86_64")]
mod step;

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program whose worker is stepped.
struct Stepped {
    name: &'static str,
    command: Command,
}

fn main() {
    let mut calls = 200;
    let mut target = None;
    let mut rival = None;
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--calls" => calls = arguments.next().unwrap().parse().unwrap(),
            "--target" => target = arguments.next().map(PathBuf::from),
            "--t-io-uring" => rival = arguments.next(),
            // What cargo adds.
            "--bench" => {}
            other => panic!("{other}: not an option; see the head of this file"),
        }
    }
    let target = target.unwrap_or_else(own_file);
    // On one CPU, so that one worker reads all targets.
    let iodyno = |targets: usize, further: &[&str]| {
        let mut command = Command::new("taskset");
        let options = ["--rw=randread", "--bs=4k", "--iodepth=32", "--direct=0", "--runtime=600"];
        command.args(["-c", "0", env!("CARGO_BIN_EXE_iodyno"), "bench"]).args(options).args(further);
        command.arg("--filename").arg(vec![target.to_str().unwrap(); targets].join(":"));
        command
    };
    let full = ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32"];
    let untimed = [full[0], full[1], "--gtod_reduce=1"];
    let mut programs = vec![
        Stepped { name: "iodyno, latency on", command: iodyno(1, &full) },
        Stepped { name: "iodyno, latency off", command: iodyno(1, &untimed) },
        Stepped { name: "iodyno, latency on, 16 targets", command: iodyno(16, &full) },
    ];
    if let Some(rival) = rival {
        for (name, timed) in [("t/io_uring", "-t0"), ("t/io_uring, latency on", "-t1")] {
            let mut command = Command::new(&rival);
            command.args(["-d32", "-s32", "-c32", "-b4096", "-p0", "-O0", "-B1", "-F1", "-n1", timed]);
            command.arg(&target);
            programs.push(Stepped { name, command });
        }
    }
    let mut out = io::stdout();
    writeln!(out, "| 4 KiB random reads, page cache, depth 32 | user instructions a read | reads a call |")
        .unwrap();
    writeln!(out, "|---|---|---|").unwrap();
    for Stepped { name, mut command } in programs {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let counted = count(child, calls);
        let reads = counted.reads as f64;
        let (each, call) = (counted.instructions as f64 / reads, reads / counted.calls as f64);
        writeln!(out, "| {name} | {each:.1} | {call:.1} |").unwrap();
    }
}

/// 64 MiB of random data, in the page cache since they were just written or read.
fn own_file() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions.data");
    let mut random = File::open("/dev/urandom").unwrap().take(64 << 20);
    io::copy(&mut random, &mut File::create(&path).unwrap()).unwrap();
    path
}

/// Instructions stepped through, with their calls and reads.
struct Counted {
    instructions: u64,
    calls: u64,
    reads: u64,
}

#[cfg(target_arch = "x86_64")]
fn count(child: std::process::Child, calls: u64) -> Counted {
    step::count(child, calls)
}

#[cfg(not(target_arch = "x86_64"))]
fn count(mut child: std::process::Child, _: u64) -> Counted {
    child.kill().unwrap();
    panic!("only the instructions of x86_64 are stepped through");
}

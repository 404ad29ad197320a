//! Races `iodyno bench` against fio on the same targets, in interleaved rounds.
//!
//! `cargo bench --bench against_fio -- [--rounds N] [--seconds S] [TARGET...]`; without a target, a file of 1 GiB of random
//! data in the build folder. Needs fio. Prints medians, the median of the ratios within each round with their range, and
//! CPU time per read of the processes themselves.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]

use std::{
    env,
    fmt::Write as _,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A competitor: its name and the options it has beyond those all share.
struct Racer {
    name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
}

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

const RACERS: [Racer; 4] = [
    Racer { name: "iodyno", program: IODYNO, options: &["bench", "--json"] },
    Racer {
        name: "fio io_uring, registered, fixed",
        program: "fio",
        options: &["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"],
    },
    Racer { name: "fio io_uring as most run it", program: "fio", options: &["--ioengine=io_uring"] },
    Racer { name: "fio libaio", program: "fio", options: &["--ioengine=libaio"] },
];

/// What one run came to.
#[derive(Clone, Copy)]
struct Figure {
    iops: f64,
    cpu_ns_per_read: f64,
}

fn race(racer: &Racer, target: &Path, shared: &[String]) -> Figure {
    let mut command = Command::new(racer.program);
    command.args(racer.options).args(shared).arg("--filename").arg(target);
    if racer.program == "fio" {
        command.args(["--name=race", "--time_based=1", "--readonly", "--output-format=json"]);
    }
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}; install fio", racer.program));
    assert!(output.status.success(), "{}: {}", racer.name, String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let job = &document["jobs"][0];
    let iops = job["read"]["iops"].as_f64().unwrap();
    let percent = job["usr_cpu"].as_f64().unwrap() + job["sys_cpu"].as_f64().unwrap();
    Figure { iops, cpu_ns_per_read: percent / 100.0 * 1e9 / iops }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// A table of one target, all racers in every round.
fn table(target: &Path, rounds: usize, shared: &[String]) -> String {
    let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); RACERS.len()];
    for round in 0..rounds {
        for turn in 0..RACERS.len() {
            // Nobody always runs after the same one.
            let racer = (round + turn) % RACERS.len();
            figures[racer].push(race(&RACERS[racer], target, shared));
        }
    }
    let mut text = format!("\n{}: {}, {rounds} rounds\n\n", target.display(), shared.join(" "));
    text.push_str("| | IOPS | CPU ns a read | iodyno / it |\n|---|---|---|---|\n");
    for (racer, runs) in RACERS.iter().zip(&figures) {
        let ratios: Vec<f64> = figures[0].iter().zip(runs).map(|(own, its)| own.iops / its.iops).collect();
        let (least, most) = ratios.iter().fold((f64::MAX, 0.0_f64), |(l, m), r| (l.min(*r), m.max(*r)));
        let iops = median(runs.iter().map(|run| run.iops).collect());
        let cpu = median(runs.iter().map(|run| run.cpu_ns_per_read).collect());
        let ratio = median(ratios);
        writeln!(text, "| {} | {iops:.0} | {cpu:.0} | {ratio:.3} ({least:.3} to {most:.3}) |", racer.name)
            .unwrap();
    }
    text
}

/// A file of random data that neither compresses nor is sparse.
fn own_file() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("against_fio.data");
    if !path.metadata().is_ok_and(|metadata| metadata.len() == 1 << 30) {
        let mut random = File::open("/dev/urandom").unwrap().take(1 << 30);
        let mut file = File::create(&path).unwrap();
        io::copy(&mut random, &mut file).unwrap();
        file.sync_all().unwrap();
    }
    path
}

fn main() {
    let mut rounds = 9;
    let mut seconds = "3".to_owned();
    let mut targets = Vec::new();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().unwrap().parse().unwrap(),
            "--seconds" => seconds = arguments.next().unwrap(),
            // What cargo adds.
            "--bench" => {}
            _ => targets.push(PathBuf::from(argument)),
        }
    }
    if targets.is_empty() {
        targets.push(own_file());
    }
    let shared = |further: &[&str]| -> Vec<String> {
        let options = ["--rw=randread", "--bs=4k", "--iodepth=32", "--direct=1"];
        let runtime = format!("--runtime={seconds}");
        options.iter().chain(further).map(ToString::to_string).chain([runtime]).collect()
    };
    let mut out = io::stdout();
    for target in &targets {
        for options in [shared(&[]), shared(&["--rate_iops=5000"])] {
            let table = table(target, rounds, &options);
            out.write_all(table.as_bytes()).unwrap();
        }
    }
}

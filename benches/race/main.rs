//! Races `iodyno bench`, its latencies on, against fio and fio's `t/io_uring`, in interleaved rounds.
//!
//! `cargo bench --bench race -- [--rounds N] [--seconds S] [--fio PATH] [--t-io-uring PATH] [--device DEV]...`. On a file of
//! 1 GiB of random data in the build folder: through the page cache, past it, and over a loop device (root only); and on
//! the devices named, zram or `null_blk` for instance, which are only ever read. With one and two workers, and one worker
//! over 1, 4 and 16 targets. Prints Markdown: medians, the median of the ratios within the rounds with their range, and CPU time
//! per read, of the process and of the whole machine (`/proc/stat`).
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]

mod figures;
mod racers;

use std::{
    env,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

use figures::{Figure, table};
use racers::{Course, Programs};

fn main() {
    let mut programs = Programs { fio: "fio".to_owned(), t_io_uring: None };
    let (mut rounds, mut seconds, mut devices) = (9, 3, Vec::new());
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().unwrap().parse().unwrap(),
            "--seconds" => seconds = arguments.next().unwrap().parse().unwrap(),
            "--fio" => programs.fio = arguments.next().unwrap(),
            "--t-io-uring" => programs.t_io_uring = arguments.next(),
            "--device" => devices.extend(arguments.next().map(PathBuf::from)),
            // What cargo adds.
            "--bench" => {}
            other => panic!("{other}: not an option; see the head of benches/race/main.rs"),
        }
    }
    let file = own_file();
    let loop_device = LoopDevice::over(&file);
    let course = |name: &str, target: &Path, direct| Course {
        name: name.to_owned(),
        targets: vec![target.to_owned()],
        direct,
        workers: 1,
        seconds,
    };
    let mut courses = vec![course("page cache", &file, false), course("O_DIRECT file", &file, true)];
    courses.push(Course { workers: 2, ..course("page cache, 2 workers", &file, false) });
    for count in [4, 16] {
        let name = format!("page cache, {count} targets");
        courses.push(Course { targets: vec![file.clone(); count], ..course(&name, &file, false) });
    }
    courses.extend(loop_device.iter().map(|device| course("loop device", &device.0, true)));
    courses.extend(devices.iter().map(|device| course(&device.to_string_lossy(), device, true)));
    let mut out = io::stdout();
    for course in &courses {
        let racers = programs.racers(course);
        let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); racers.len()];
        for round in 0..rounds {
            if !course.direct {
                io::copy(&mut File::open(&file).unwrap(), &mut io::sink()).unwrap();
            }
            for turn in 0..racers.len() {
                // Nobody always runs after the same one.
                let place = (round + turn) % racers.len();
                figures[place].push(racers[place].run(course));
            }
        }
        let names: Vec<&str> = racers.iter().map(|racer| racer.name).collect();
        out.write_all(table(&course.name, rounds, &names, &figures).as_bytes()).unwrap();
    }
}

/// A file of random data that neither compresses nor is sparse.
fn own_file() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("race.data");
    if !path.metadata().is_ok_and(|metadata| metadata.len() == 1 << 30) {
        let mut random = File::open("/dev/urandom").unwrap().take(1 << 30);
        let mut file = File::create(&path).unwrap();
        io::copy(&mut random, &mut file).unwrap();
        file.sync_all().unwrap();
    }
    path
}

/// A loop device over a file, detached when it goes.
struct LoopDevice(PathBuf);

impl LoopDevice {
    /// `None` where none may be made.
    fn over(file: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--show", "-f", "-r"]).arg(file).output().ok()?;
        made.status.success().then(|| Self(String::from_utf8(made.stdout).unwrap().trim().into()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

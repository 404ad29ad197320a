//! Races `iodyno bench`, its latencies on, against fio and fio's `t/io_uring`, in interleaved rounds.
//!
//! `cargo bench --bench race -- [--rounds N] [--seconds S] [--fio PATH] [--t-io-uring PATH] [--device DEV]...
//! [--course TEXT]... [--against PATH]...`. `--against` races other builds of iodyno instead of fio and `t/io_uring`; a
//! course name that begins with `=` must match as a whole. Courses: a file of 1 GiB of random data in the build folder through
//! the page cache (with one and two workers, under the screen, 16 times at once), with `O_DIRECT`, and over a loop device (root
//! only); a new, empty zram device (root only); and the given devices, such as `null_blk`, which are only read. File and loop
//! device also at depths 1, 4 and 12. Then latencies at half of the peak rate, and the memory of a job. The file is locked
//! into memory where possible, or the kernel would reclaim its pages during the race. `--course` takes courses whose name
//! contains a text. Prints Markdown: medians, the median of the ratios within the
//! rounds with the interval of their geometric mean, CPU time per read, of the process and of the whole machine
//! (`/proc/stat`), and whether the bars are met; the fastest competitor is met in twice as many rounds of its own.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]
#![expect(clippy::disallowed_methods, reason = "a zram device of its own is set up through sysfs")]
#![expect(unsafe_code, reason = "a file is locked into memory through a mapping")]

mod courses;
mod figures;
mod job;
mod latency;
mod memory;
mod racers;
mod screen;

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use courses::Course;
use figures::{Figure, Rival, fastest, table, verdict};
use racers::Programs;
use rustix::mm::{self, MapFlags, ProtFlags};

fn main() {
    let mut programs = Programs { fio: "fio".to_owned(), t_io_uring: None };
    let mut builds: Vec<String> = Vec::new();
    let (mut rounds, mut seconds) = (9, 3);
    let (mut devices, mut wanted): (Vec<PathBuf>, Vec<String>) = (Vec::new(), Vec::new());
    let mut out = io::stdout();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().unwrap().parse().unwrap(),
            "--seconds" => seconds = arguments.next().unwrap().parse().unwrap(),
            "--fio" => programs.fio = arguments.next().unwrap(),
            "--t-io-uring" => programs.t_io_uring = arguments.next(),
            "--device" => devices.extend(arguments.next().map(PathBuf::from)),
            "--against" => builds.extend(arguments.next()),
            "--course" => wanted.extend(arguments.next()),
            // What cargo adds.
            "--bench" => {}
            other => panic!("{other}: not an option; see the head of benches/race/main.rs"),
        }
    }
    let file = own_file();
    lock(&file);
    let loop_device = LoopDevice::over(&file);
    let zram = Zram::new();
    devices.extend(zram.as_ref().map(|device| device.path.clone()));
    let device = loop_device.as_ref().map(|device| device.0.as_path());
    let is_meant =
        |name: &str, text: &str| text.strip_prefix('=').map_or(name.contains(text), |whole| name == whole);
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|text| is_meant(name, text));
    for mut course in courses::all(&programs, &file, device, &devices, seconds) {
        if !builds.is_empty() {
            course.compare(&builds);
        }
        if is_wanted(&course.name) {
            out.write_all(race(&course, rounds).as_bytes()).unwrap();
        }
    }
    let direct = [("O_DIRECT file", Some(file.as_path())), ("loop device", device)];
    for (name, target) in direct {
        let name = format!("latency, {name}");
        if let Some(target) = target.filter(|_| is_wanted(&name)) {
            let table = latency::compare(&name, &programs, target, rounds, seconds);
            out.write_all(table.as_bytes()).unwrap();
        }
    }
    if is_wanted("memory") {
        out.write_all(memory::of_a_job(&file).as_bytes()).unwrap();
    }
}

/// Rounds in which the fastest competitor is met once more, for one in which it was found.
const AGAIN: usize = 2;

fn race(course: &Course, rounds: usize) -> String {
    let names: Vec<&str> = course.racers.iter().map(|racer| racer.name.as_str()).collect();
    let everybody: Vec<usize> = (0..names.len()).collect();
    let figures = run(course, &everybody, rounds);
    let mut text = table(&course.name, &names, &figures);
    for bar in &course.bars {
        // A competitor may not be installed.
        match bar.against {
            Rival::Named(wanted) => {
                if let Some(place) = names.iter().position(|name| *name == wanted) {
                    text += &verdict(bar, wanted, &figures[0], &figures[place]);
                }
            }
            Rival::Best => {
                if let Some(place) = fastest(&figures) {
                    let pair = run(course, &[0, place], AGAIN * rounds);
                    text += &verdict(bar, names[place], &pair[0], &pair[1]);
                }
            }
        }
    }
    text
}

/// What these racers of a course come to, in interleaved rounds.
fn run(course: &Course, racers: &[usize], rounds: usize) -> Vec<Vec<Figure>> {
    let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); racers.len()];
    for round in 0..rounds {
        if let Some((file, direct)) = &course.warm {
            read_whole(file, *direct);
        }
        // The order changes, so that no racer always profits from the same predecessor, such as by a rested disk.
        let mut places: Vec<usize> = (0..racers.len()).collect();
        places.rotate_left(round / 2 % racers.len());
        if round % 2 == 1 {
            places.reverse();
        }
        for place in places {
            figures[place].push(course.racers[racers[place]].run());
        }
    }
    figures
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

/// Reads a file once, so that no racer is the first to do so.
fn read_whole(path: &Path, direct: bool) {
    let mut memory = vec![0_u8; (1 << 20) + 4096];
    let start = memory.as_ptr().align_offset(4096);
    let pages = &mut memory[start..start + (1 << 20)];
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut file = File::options().read(true).custom_flags(flags).open(path).unwrap();
    while file.read(pages).unwrap() > 0 {}
}

/// Keeps a file in the page cache until this process ends; `RLIMIT_MEMLOCK` may forbid it.
fn lock(path: &Path) {
    let file = File::open(path).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    // SAFETY: a new mapping, of which nothing is ever read through its address.
    let locked = unsafe {
        mm::mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &file, 0)
            .and_then(|start| mm::mlock(start, length))
    };
    if let Err(error) = locked {
        eprintln!("{}: not locked into memory ({error}); raise `ulimit -l`", path.display());
    }
}

/// A zram device of 1 GiB in which nothing was ever written, removed when it goes.
struct Zram {
    number: String,
    path: PathBuf,
}

impl Zram {
    /// `None` where none may be made.
    fn new() -> Option<Self> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        let made = Self { path: format!("/dev/zram{number}").into(), number };
        fs::write(format!("/sys/block/zram{}/disksize", made.number), "1G").ok()?;
        Some(made)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.number);
    }
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

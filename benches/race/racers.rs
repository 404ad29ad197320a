//! Who races, and how each is told to do the same: 4 KiB random reads at depth 32.

use std::{path::PathBuf, process::Command};

use serde_json::Value;

use super::figures::{Figure, Spent};

/// Where the competitors are.
pub struct Programs {
    pub fio: String,
    pub t_io_uring: Option<String>,
}

/// What is raced over.
pub struct Course {
    pub name: String,
    pub targets: Vec<PathBuf>,
    pub direct: bool,
    pub workers: usize,
    pub seconds: u32,
}

/// One competitor on one course.
pub struct Racer {
    pub name: &'static str,
    program: String,
    arguments: Vec<String>,
    /// Prints iterations as fio's `t/io_uring` does, not a JSON document.
    prints_lines: bool,
}

/// A pinned worker's processor, for courses of one worker and several targets.
const ONE_PROCESSOR: &str = "0";

impl Programs {
    /// iodyno first: the others are compared with it.
    pub fn racers(&self, course: &Course) -> Vec<Racer> {
        let plain = &["--ioengine=io_uring"][..];
        let fixed = &["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"][..];
        let batches = &[
            "--iodepth_batch_submit=32",
            "--iodepth_batch_complete_min=32",
            "--iodepth_batch_complete_max=32",
        ];
        let mut racers = vec![
            Racer::iodyno(course),
            self.fio("fio io_uring as most run it", course, plain),
            self.fio("fio io_uring, registered, fixed", course, fixed),
            self.fio("fio io_uring, registered, fixed, batches of 32", course, &[fixed, batches].concat()),
            self.fio("fio libaio", course, &["--ioengine=libaio"]),
        ];
        if let Some(path) = &self.t_io_uring {
            racers.push(Racer::t_io_uring("t/io_uring, batches of 32", path, course, 32));
            if course.direct {
                racers.push(Racer::t_io_uring("t/io_uring, batches of 8", path, course, 8));
            }
        }
        racers
    }

    fn fio(&self, name: &'static str, course: &Course, further: &[&str]) -> Racer {
        let mut arguments = course.options();
        arguments.extend(further.iter().map(ToString::to_string));
        let fixed = ["--name=race", "--time_based=1", "--readonly", "--invalidate=0", "--group_reporting=1"];
        arguments.extend(fixed.map(str::to_owned));
        // One process reads all targets; its depth is theirs together.
        arguments.push(format!("--iodepth={}", 32 * course.targets.len()));
        arguments.push("--output-format=json".to_owned());
        Racer { name, program: self.fio.clone(), arguments, prints_lines: false }
    }
}

impl Course {
    fn options(&self) -> Vec<String> {
        let targets: Vec<_> = self.targets.iter().map(|target| target.to_string_lossy()).collect();
        vec![
            "--rw=randread".to_owned(),
            "--bs=4k".to_owned(),
            format!("--direct={}", u8::from(self.direct)),
            format!("--numjobs={}", self.workers),
            format!("--runtime={}", self.seconds),
            format!("--filename={}", targets.join(":")),
        ]
    }
}

impl Racer {
    fn iodyno(course: &Course) -> Self {
        let own = env!("CARGO_BIN_EXE_iodyno").to_owned();
        let bench =
            ["bench", "--json", "--iodepth=32"].map(str::to_owned).into_iter().chain(course.options());
        // With a processor to itself one worker reads all targets.
        let (program, arguments) = if course.targets.len() > 1 {
            let pinned = ["-c", ONE_PROCESSOR, &own].map(str::to_owned);
            ("taskset".to_owned(), pinned.into_iter().chain(bench).collect())
        } else {
            (own, bench.collect())
        };
        Self { name: "iodyno", program, arguments, prints_lines: false }
    }

    fn t_io_uring(name: &'static str, path: &str, course: &Course, batch: usize) -> Self {
        let depth = 32 * course.targets.len();
        let mut arguments: Vec<String> = ["-b4096", "-p0", "-B1", "-F1"].map(str::to_owned).into();
        arguments.extend([
            format!("-d{depth}"),
            format!("-s{batch}"),
            format!("-c{batch}"),
            format!("-O{}", u8::from(course.direct)),
            format!("-n{}", course.workers),
            format!("-r{}", course.seconds),
        ]);
        arguments.extend(course.targets.iter().map(|target| target.to_string_lossy().into_owned()));
        Self { name, program: path.to_owned(), arguments, prints_lines: true }
    }

    pub fn run(&self, course: &Course) -> Figure {
        let before = Spent::so_far();
        let output = Command::new(&self.program).args(&self.arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.program));
        let spent = Spent::so_far().since(before);
        let text = String::from_utf8_lossy(&output.stdout);
        let iops = if self.prints_lines { of_lines(&text) } else { of_document(&text) };
        let iops =
            iops.unwrap_or_else(|| panic!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr)));
        Figure::new(iops, f64::from(course.seconds), spent)
    }
}

/// The sum over the jobs of a document of fio's shape.
fn of_document(text: &str) -> Option<f64> {
    let document: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    document["jobs"].as_array()?.iter().map(|job| job["read"]["iops"].as_f64()).sum()
}

/// The mean of the seconds that `t/io_uring` prints: `IOPS=1.38M, BW=5.4GiB/s, ...`.
fn of_lines(text: &str) -> Option<f64> {
    let seconds: Vec<f64> = text.lines().filter_map(|line| number(line.strip_prefix("IOPS=")?)).collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}

fn number(text: &str) -> Option<f64> {
    let text = text.split(',').next()?;
    let (digits, scale) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * scale)
}

//! The racers' command lines for the same workload, 4 KiB random reads at one depth per target, and their results.

use std::process::{Command, Output};

use serde_json::Value;

use super::{
    figures::{Figure, Spent},
    job::{Job, own},
    screen,
};

/// Where the competitors are.
pub struct Programs {
    pub fio: String,
    pub t_io_uring: Option<String>,
}

/// One competitor on one course.
#[derive(Clone)]
pub struct Racer {
    pub name: String,
    job: Job,
    way: Way,
}

#[derive(Clone)]
enum Way {
    /// Prints a document of fio's shape.
    Document(String, Vec<String>),
    /// Prints a line a second as fio's `t/io_uring` does.
    Lines(String, Vec<String>),
    /// iodyno's screen in a terminal.
    Screen,
}

impl Programs {
    pub fn fio(&self, name: &'static str, job: &Job, further: &[&str]) -> Racer {
        let mut arguments = job.options();
        arguments.extend(further.iter().map(ToString::to_string));
        let fixed = ["--name=race", "--time_based=1", "--readonly", "--invalidate=0", "--group_reporting=1"];
        arguments.extend(fixed.map(str::to_owned));
        // One process reads all targets; its depth is theirs together.
        arguments.push(format!("--iodepth={}", job.depth * job.targets.len()));
        arguments.push("--output-format=json".to_owned());
        Racer { name: name.to_owned(), job: job.clone(), way: Way::Document(self.fio.clone(), arguments) }
    }

    /// `None` where there is none.
    pub fn t_io_uring(&self, name: &'static str, job: &Job, batch: usize) -> Option<Racer> {
        let mut arguments: Vec<String> = ["-b4096", "-p0", "-B1", "-F1"].map(str::to_owned).into();
        arguments.extend([
            format!("-d{}", job.depth * job.targets.len()),
            format!("-s{batch}"),
            format!("-c{batch}"),
            format!("-O{}", u8::from(job.direct)),
            format!("-n{}", job.workers),
            format!("-r{}", job.seconds),
        ]);
        arguments.extend(job.targets.iter().map(|target| target.to_string_lossy().into_owned()));
        Some(Racer {
            name: name.to_owned(),
            job: job.clone(),
            way: Way::Lines(self.t_io_uring.clone()?, arguments),
        })
    }
}

impl Racer {
    pub fn iodyno(job: &Job) -> Self {
        Self { name: "iodyno".to_owned(), job: job.clone(), way: Way::Document(own(), bench(job).collect()) }
    }

    /// The same by another build of iodyno, its path its name; `None` where it is no program of its own.
    pub fn of_build(&self, path: &str) -> Option<Self> {
        let Way::Document(program, arguments) = &self.way else { return None };
        let with = |text: &String| if *text == own() { path.to_owned() } else { text.clone() };
        let way = Way::Document(with(program), arguments.iter().map(with).collect());
        Some(Self { name: path.to_owned(), job: self.job.clone(), way })
    }

    /// On one CPU, so that one worker reads all targets.
    pub fn one_worker(name: &'static str, job: &Job) -> Self {
        let arguments = ["-c", "0", &own()].map(str::to_owned).into_iter().chain(bench(job)).collect();
        Self { name: name.to_owned(), job: job.clone(), way: Way::Document("taskset".to_owned(), arguments) }
    }

    pub fn screen(job: &Job) -> Self {
        Self { name: "iodyno, its screen at 200x60".to_owned(), job: job.clone(), way: Way::Screen }
    }

    pub fn run(&self) -> Figure {
        let before = Spent::so_far();
        let iops = match &self.way {
            Way::Document(program, arguments) => {
                let output = output(program, arguments);
                of_document(&output).unwrap_or_else(|| panic!("{}: {output:?}", self.name))
            }
            Way::Lines(program, arguments) => {
                let output = output(program, arguments);
                of_lines(&output).unwrap_or_else(|| panic!("{}: {output:?}", self.name))
            }
            Way::Screen => screen::run(&self.job),
        };
        Figure::new(iops, f64::from(self.job.seconds), Spent::so_far().since(before))
    }
}

/// iodyno's arguments.
fn bench(job: &Job) -> impl Iterator<Item = String> {
    let fixed = ["bench".to_owned(), "--json".to_owned(), format!("--iodepth={}", job.depth)];
    fixed.into_iter().chain(job.options())
}

pub fn output(program: &str, arguments: &[String]) -> Output {
    Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// fio's JSON document in an output.
pub fn document(output: &Output) -> Option<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.get(text.find('{')?..)?).ok()
}

/// The sum over the jobs.
fn of_document(output: &Output) -> Option<f64> {
    document(output)?["jobs"].as_array()?.iter().map(|job| job["read"]["iops"].as_f64()).sum()
}

/// The mean of the seconds that `t/io_uring` prints: `IOPS=1.38M, BW=5.4GiB/s, ...`.
fn of_lines(output: &Output) -> Option<f64> {
    let text = String::from_utf8_lossy(&output.stdout);
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

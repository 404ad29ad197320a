//! Courses of the race: targets, racers and bars.

use std::{
    iter,
    path::{Path, PathBuf},
};

use super::{
    figures::{Bar, Rival},
    job::Job,
    racers::{Programs, Racer},
};

/// One comparison.
pub struct Course {
    pub name: String,
    /// iodyno first.
    pub racers: Vec<Racer>,
    pub bars: Vec<Bar>,
    /// A file read before every round, and whether with `O_DIRECT`.
    pub warm: Option<(PathBuf, bool)>,
}

const PLAIN: &str = "fio io_uring as most run it";
const FIXED: &str = "fio io_uring, registered, fixed";
const BATCHED: &str = "fio io_uring, registered, fixed, batches of 32";
const T_IO_URING: &str = "t/io_uring, batches of 32";

impl Course {
    /// Replaces all competitors by other builds of iodyno, as far as they can run the course.
    pub fn compare(&mut self, builds: &[String]) {
        let own = self.racers[0].clone();
        self.racers =
            iter::once(own.clone()).chain(builds.iter().filter_map(|build| own.of_build(build))).collect();
        self.bars.clear();
    }
}

/// All courses: over a file, a loop device on it where one can be made, and given devices.
pub fn all(
    programs: &Programs,
    file: &Path,
    loop_device: Option<&Path>,
    devices: &[PathBuf],
    seconds: u32,
) -> Vec<Course> {
    let cached = Job { targets: vec![file.to_owned()], direct: false, depth: 32, workers: 1, seconds };
    let bar = |against, iops| Bar { against: Rival::Named(against), iops, process_ns: None };
    let rival = |job: &Job| programs.t_io_uring(T_IO_URING, job, 32);
    let two = |job: &Job| Job { workers: 2, ..job.clone() };
    let many = |count| Job { targets: vec![file.to_owned(); count], ..cached.clone() };
    // A loop device reads from the page cache too; a virtual disk from a cache of its host.
    let hot = || Some((file.to_owned(), false));
    let past = || Some((file.to_owned(), true));
    let mut courses = Vec::new();
    let mut add = |name: &str, mut racers: Vec<Racer>, further: Vec<Option<Racer>>, bars, warm| {
        racers.extend(further.into_iter().flatten());
        courses.push(Course { name: name.to_owned(), racers, bars, warm });
    };
    add(
        "page cache",
        [vec![Racer::iodyno(&cached)], fio(programs, &cached)].concat(),
        vec![rival(&cached)],
        vec![bar(T_IO_URING, 0.98), bar(PLAIN, 1.8), bar(FIXED, 1.7), bar(BATCHED, 1.3)],
        hot(),
    );
    let job = two(&cached);
    add(
        "page cache, 2 workers",
        vec![Racer::iodyno(&job)],
        vec![rival(&job)],
        vec![bar(T_IO_URING, 0.98)],
        hot(),
    );
    add(
        "page cache, the screen drawing",
        vec![Racer::screen(&cached), Racer::iodyno(&cached)],
        vec![rival(&cached)],
        vec![bar("iodyno", 0.98), bar(T_IO_URING, 0.95)],
        hot(),
    );
    let one = "iodyno, 1 target";
    add(
        "page cache, 16 targets, 1 worker",
        vec![
            Racer::one_worker("iodyno, 16 targets", &many(16)),
            Racer::one_worker("iodyno, 4 targets", &many(4)),
            Racer::one_worker(one, &cached),
        ],
        vec![programs.t_io_uring("t/io_uring, 16 targets, batches of 32", &many(16), 32)],
        vec![bar(one, 0.95)],
        hot(),
    );
    let warm =
        |target: &Path| if loop_device == Some(target) { hot() } else { past().filter(|_| target == file) };
    let direct = |target: &Path, depth| Job {
        targets: vec![target.to_owned()],
        direct: true,
        depth,
        ..cached.clone()
    };
    let own: Vec<(String, &Path)> = [("O_DIRECT file".to_owned(), file)]
        .into_iter()
        .chain(loop_device.map(|device| ("loop device".to_owned(), device)))
        .collect();
    let devices = devices.iter().map(|device| (device.display().to_string(), device.as_path()));
    for (name, target) in own.iter().cloned().chain(devices) {
        let job = direct(target, cached.depth);
        add(
            &name,
            [vec![Racer::iodyno(&job)], fio(programs, &job)].concat(),
            vec![rival(&job), programs.t_io_uring("t/io_uring, batches of 8", &job, 8)],
            vec![Bar { against: Rival::Best, iops: 1.0, process_ns: Some(0.7) }],
            warm(target),
        );
    }
    // With few reads in flight the time between them decides, not the cost of a call.
    for depth in [1, 4, 12] {
        for (name, target) in &own {
            let job = direct(target, depth);
            add(
                &format!("{name}, depth {depth}"),
                [vec![Racer::iodyno(&job)], fio(programs, &job)].concat(),
                vec![programs.t_io_uring("t/io_uring, one at a time", &job, 1)],
                vec![Bar { against: Rival::Best, iops: 0.95, process_ns: None }],
                warm(target),
            );
        }
    }
    courses
}

/// fio in its ways.
fn fio(programs: &Programs, job: &Job) -> Vec<Racer> {
    let fixed = &["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"][..];
    let batches =
        &["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32", "--iodepth_batch_complete_max=32"];
    let mut racers = vec![
        programs.fio(PLAIN, job, &["--ioengine=io_uring"]),
        programs.fio(FIXED, job, fixed),
        programs.fio("fio libaio", job, &["--ioengine=libaio"]),
    ];
    if job.depth >= 32 {
        racers.push(programs.fio(BATCHED, job, &[fixed, batches].concat()));
    }
    racers
}

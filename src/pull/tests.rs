//! The series: which run is next, how long it takes, where it ends.

use super::*;
use crate::{
    capacity,
    machine::Smart,
    model::{Reading, run::testing},
    source,
    units::{Lanes, UnitSystem},
};

fn machine(name: &str) -> Machine {
    source::testing::demo(name)
}

fn all(machine: &Machine) -> Vec<Target> {
    machine.hardware_drives().map(Drive::target).collect()
}

/// Ends a step with so many reads per second and drive.
fn done(step: Step, iops: u64) -> Done {
    let drives: Vec<_> =
        step.workload.targets.iter().map(|target| target.drive.clone().unwrap().to_string()).collect();
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let run = testing::run(&drives, iops * 10 * step.workload.block_size.0, step.workload.clone());
    Done { step, result: Ok(run), seconds: Seconds::default(), each: Vec::new() }
}

/// Runs a series in which the jobs for each drive give these rates.
fn ran(mut pull: Pull, rate: impl Fn(u32) -> u64) -> Pull {
    while let Some(step) = pull.next() {
        let iops = rate(step.workload.jobs);
        pull.take(done(step, iops));
    }
    pull
}

#[test]
fn the_series_reads_each_drive_alone_then_all_and_ends_within_a_minute() {
    let machine = machine("threadripper-before");
    let pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    assert!(pull.time_left() <= Duration::from_mins(1), "{:?}", pull.time_left());
    let pull = ran(pull, |jobs| u64::from(jobs) * 100_000);
    let names: Vec<_> = pull.done().iter().map(|done| done.step.phase.name()).collect();
    assert_eq!(names[..11], [["alone"; 10].as_slice(), &["together"]].concat());
    // 32 CPUs: four jobs for each of ten drives are more workers than that already.
    assert_eq!(names[11..], ["jobs", "jobs", "jobs", "random", "latency"]);
    let title = |at: usize| pull.done()[at].step.title();
    assert_eq!(title(0), "nvme8n1: 1m read, depth 32, 1 job");
    assert_eq!(title(14), "10 drives together: 4k randread, depth 32, 4 jobs");
    assert_eq!(title(15), "10 drives together: 4k randread, depth 1, 1 job");
    assert_eq!((pull.time_left(), pull.failed(), pull.stopped()), (Duration::ZERO, None, None));
}

#[test]
fn the_time_left_never_grows() {
    let machine = machine("x570");
    let mut pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    let mut before = Duration::MAX;
    while let Some(step) = pull.next() {
        let left = pull.time_left();
        assert!(left < before && left >= step.time(), "{before:?} {left:?} {}", step.title());
        before = left;
        let iops = u64::from(step.workload.jobs.min(4)) * 100_000;
        pull.take(done(step, iops));
    }
}

#[test]
fn more_jobs_are_tried_while_they_give_more_and_the_fewest_that_do_are_taken() {
    let machine = machine("x570");
    let pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    let tried = |pull: &Pull| pull.tried().iter().map(|(jobs, _)| *jobs).collect::<Vec<_>>();
    let flat = ran(pull.clone(), |jobs| if jobs == 1 { 400_000 } else { 410_000 });
    assert_eq!((tried(&flat), flat.best_jobs()), (vec![1, 2], 1));
    let rises = ran(pull, |jobs| u64::from(jobs.min(4)) * 400_000);
    assert_eq!((tried(&rises), rises.best_jobs()), (vec![1, 2, 4, 8], 4));
}

#[test]
fn a_failed_or_interrupted_run_ends_the_series() {
    let machine = machine("laptop");
    let mut pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    let step = pull.next().unwrap();
    let mut cut = pull.clone();
    let mut first = done(step.clone(), 1000);
    first.result.as_mut().unwrap().interrupted = true;
    cut.take(first);
    assert_eq!((cut.next(), cut.stopped()), (None, Some("alone")));
    let result = Err(Failed::new("/dev/nvme0n1: EIO", None));
    pull.take(Done { step, result, seconds: Seconds::default(), each: Vec::new() });
    assert_eq!((pull.next(), pull.stopped()), (None, None));
    assert_eq!(pull.failed().unwrap().1.to_string(), "/dev/nvme0n1: EIO");
}

#[test]
fn of_many_drives_one_of_each_model_and_link_is_read_alone() {
    let machine = machine("laptop");
    let two = all(&machine);
    let many: Vec<Target> = two.iter().cycle().take(82).cloned().collect();
    let pull = Pull::new(&machine, many, Series::Guided, None);
    assert_eq!(pull.representatives(), Some(2));
    let one = Pull::new(&machine, two[..1].to_vec(), Series::Guided, None);
    assert_eq!(one.next().unwrap().phase, Phase::Together, "one drive is all drives");
}

#[test]
fn the_profile_has_the_block_sizes_queues_and_threads_of_its_rows() {
    let machine = machine("laptop");
    let pull = Pull::new(&machine, all(&machine), Series::CrystalDiskMark, None);
    let pull = ran(pull, |_| 1000);
    let rows: Vec<_> = pull
        .done()
        .iter()
        .map(|done| {
            let work = &done.step.workload;
            (done.step.phase.name(), work.pattern.name(), work.block_size.0, work.depth, work.jobs)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("SEQ1M Q8T1", "read", 1 << 20, 8, 1),
            ("SEQ128K Q32T1", "read", 128 << 10, 32, 1),
            ("RND4K Q32T16", "randread", 4096, 32, 16),
            ("RND4K Q1T1", "randread", 4096, 1, 1),
        ]
    );
}

#[test]
fn each_phase_counts_once_and_one_drive_has_no_phase_alone() {
    let machine = machine("laptop");
    let numbers = |targets: Vec<Target>| {
        let pull = Pull::new(&machine, targets, Series::Guided, None);
        let empty = pull.clone();
        let pull = ran(pull, |jobs| u64::from(jobs) * 100_000);
        let mut places: Vec<String> = pull.done().iter().map(|done| empty.place(&done.step)).collect();
        for place in &mut places {
            place.truncate(place.find(':').unwrap());
        }
        places.dedup();
        places
    };
    assert_eq!(numbers(all(&machine)), ["1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5"]);
    assert_eq!(numbers(all(&machine)[..1].to_vec()), ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]);
}

/// A machine whose first drive has that temperature, link width and number of thermal transitions.
fn heated(machine: &Machine, celsius: f64, width: u8, transitions: u32) -> Machine {
    let mut machine = machine.clone();
    let drive = &mut machine.drives[0];
    drive.temperature.as_mut().unwrap().now = Reading::known("/x", celsius);
    drive.nvme.as_mut().unwrap().smart = Reading::known(
        "/x",
        Smart {
            critical_warning: 0,
            celsius: 0,
            spare_percent: 100,
            spare_threshold_percent: 10,
            used_percent: 1,
            read: 0,
            written: 0,
            power_on_hours: 0,
            unsafe_shutdowns: 0,
            media_errors: 0,
            error_log_entries: 0,
            warning_minutes: 0,
            critical_minutes: 0,
            thermal_transitions: (transitions, 0),
        },
    );
    let node = drive.node.unwrap();
    machine.pci.nodes[node.0].link.as_mut().unwrap().width = Reading::known("/x", Lanes(width));
    machine
}

#[test]
fn a_throttled_drive_is_named_with_what_it_fell_to_when_and_how_hot_it_was() {
    let cool = heated(&machine("laptop"), 41.0, 4, 7);
    let long = Some(Duration::from_mins(1));
    let mut pull = Pull::new(&cool, all(&cool), Series::Guided, long);
    while let Some(step) = pull.next() {
        let is_large = step.phase == Phase::Together;
        if is_large {
            for at in (0..60).step_by(10) {
                let celsius = if at < 40 { 41.0 + at as f64 } else { 82.0 };
                pull.see(&heated(&cool, celsius, 4, 7), true, Duration::from_secs(at));
            }
            pull.see(&heated(&cool, 79.0, 2, 10), true, Duration::from_mins(1));
        }
        let mut done = done(step, 3_400);
        if is_large {
            let falls = [[7.1e9; 48].as_slice(), &[3.2e9; 12]].concat();
            let holds = vec![3.6e9; 60];
            let seconds = |rates| {
                let mut seconds = Seconds::default();
                (seconds.step, seconds.rates) = (1, rates);
                seconds
            };
            done.each = [falls, holds].map(seconds).to_vec();
        }
        pull.take(done);
    }
    let outcome = Outcome::new(&cool, &capacity::limits(&cool), &[], &pull, UnitSystem::Decimal);
    assert_eq!(
        outcome.doubts,
        [
            "nvme0n1 fell from 7.10 to 3.20 GB/s after 48 s at 82 °C; its SMART log counted: throttled lightly 3 times.",
            "The link of nvme0n1 changed from Gen3 x4 to Gen3 x2 during the pull.",
        ]
    );
    let condition = outcome.drives[0].condition.as_ref().unwrap();
    assert_eq!(condition.temperature_words().as_deref(), Some("before 41 °C, highest 82 °C, after 79 °C"));
    assert!(outcome.drives[1].fall.is_none() && outcome.is_steady().is_none_or(|steady| !steady));
}

#[test]
fn the_headline_of_an_invalid_run_says_so_behind_its_figure() {
    let machine = machine("laptop");
    let limits = capacity::limits(&machine);
    let mut run = testing::run(&["nvme0n1", "nvme1n1"], 4096 * 10_000, Workload::default());
    let words = |run: &RunSummary| of_run(&machine, &limits, &[], run, UnitSystem::Decimal).0.text;
    let valid = words(&run);
    assert!(!valid.contains("invalid"), "{valid}");
    let reason = "other reads from vda meanwhile";
    run.targets[0].invalid_because = vec![reason.to_owned()];
    run.targets[1].invalid_because = vec![reason.to_owned()];
    let once = words(&run);
    assert_eq!(once.replace(&format!(", invalid: {reason}"), ""), valid);
    assert!(once.split(". ").next().unwrap().contains(reason), "in its first sentence: {once}");
    run.targets[1].invalid_because.push("zeros".to_owned());
    assert!(words(&run).contains(&format!(", invalid: {reason} (and 1 more).")), "{}", words(&run));
}

#[test]
fn more_reasons_are_counted_and_say_where_they_are() {
    let machine = machine("laptop");
    let pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    let mut pull = ran(pull, |_| 1000);
    let mut last = pull.done.pop().unwrap();
    let targets = &mut last.result.as_mut().unwrap().targets;
    targets[0].invalid_because = vec!["sparse".to_owned(), "zeros".to_owned(), "buffered".to_owned()];
    targets[1].invalid_because = vec!["sparse".to_owned()];
    pull.done.push(last);
    let outcome = Outcome::new(&machine, &capacity::limits(&machine), &[], &pull, UnitSystem::Decimal);
    assert_eq!(outcome.reasons, ["nvme0n1 and nvme1n1: sparse", "nvme0n1: zeros", "nvme0n1: buffered"]);
    assert!(outcome.doubts[0].ends_with("drives: nvme0n1 and nvme1n1: sparse."), "{:?}", outcome.doubts);
    assert!(outcome.doubts[1].starts_with("2 more reasons like it: "), "{:?}", outcome.doubts);
}

#[test]
fn invalid_parts_of_a_pull_are_marked_behind_their_figures() {
    let machine = machine("laptop");
    let limits = capacity::limits(&machine);
    let words = |pull: &Pull| Outcome::new(&machine, &limits, &[], pull, UnitSystem::Decimal);
    let mut pull = ran(Pull::new(&machine, all(&machine), Series::Guided, None), |_| 1000);
    let valid = words(&pull);
    assert!(!valid.words().any(|line| line.contains("invalid")) && !valid.headline.is_invalid());
    let spoil = |pull: &mut Pull, is: fn(&Phase) -> bool| {
        for done in pull.done.iter_mut().filter(|done| is(&done.step.phase)) {
            done.result.as_mut().unwrap().targets[0].invalid_because = vec!["zeros".to_owned()];
        }
    };
    spoil(&mut pull, |phase| *phase == Phase::Random);
    let small = words(&pull);
    assert!(
        !small.headline.is_invalid() && small.lines[0].contains(", invalid, at 4 KiB random"),
        "{small:?}"
    );
    spoil(&mut pull, |phase| *phase == Phase::Together);
    let large = words(&pull);
    assert!(large.headline.is_invalid() && large.headline.parts().0.ends_with("%), invalid."), "{large:?}");
}

#[test]
fn the_number_of_jobs_has_its_reason() {
    let machine = machine("threadripper-before");
    let pull = Pull::new(&machine, all(&machine), Series::Guided, None);
    let why = |rate: fn(u32) -> u64| ran(pull.clone(), rate).why_jobs();
    assert_eq!(
        why(|jobs| u64::from(jobs) * 100_000),
        " (1 job: 1.00 M, 2: 2.00 M, 4: 4.00 M IOPS; the most)"
    );
    assert_eq!(
        why(|jobs| if jobs == 1 { 400_000 } else { 410_000 }),
        " (1 job: 4.00 M, 2: 4.10 M IOPS; more jobs gain under 5 %)"
    );
}

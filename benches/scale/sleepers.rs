//! Real threads that sleep, and passes over them.
#![expect(clippy::disallowed_methods, reason = "a budget is time that passes")]

use std::{
    io::{Read, Write},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use iodyno::{
    counters::activity::ThreadSample,
    experiment::statistics::median,
    source::{activity::ActivityReader, origin::Origin},
};

use super::Report;

/// The option with which this program starts itself.
pub const SLEEP: &str = "--sleep";
/// The time of a pass, as in `runtime/activity_sampler.rs`.
const BUDGET: Duration = Duration::from_millis(1);
/// Longer than the budget by the thread that was being read, and what the scheduler took.
const LONGEST: Duration = Duration::from_millis(2);
const PASSES: usize = 200;
const STACK: usize = 16 << 10;

/// Starts that many threads, prints their number, and sleeps until standard input ends.
pub fn sleep(count: usize) -> ExitCode {
    let started = (1..count).take_while(|_| {
        let sleeper = thread::Builder::new().stack_size(STACK);
        sleeper
            .spawn(|| {
                loop {
                    thread::park();
                }
            })
            .is_ok()
    });
    let all = 1 + started.count();
    println!("{all}");
    let _ = std::io::stdin().read(&mut [0]);
    ExitCode::SUCCESS
}

pub fn passes(report: &mut Report, count: usize) {
    let own = std::env::current_exe().unwrap();
    let mut child = Command::new(own)
        .args([SLEEP, &count.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 16];
    let length = child.stdout.as_mut().unwrap().read(&mut said).unwrap();
    let started = String::from_utf8_lossy(&said[..length]).trim().to_owned();
    report.row("threads started", &format!("{started} of {count}"), None);
    let root = Origin::Live.open().unwrap();
    let (mut reader, mut sample) = (ActivityReader::default(), ThreadSample::default());
    let (mut times, mut costs) = (Vec::new(), Vec::new());
    let (mut sampled, mut totals) = (Vec::new(), Vec::new());
    for _ in 0..PASSES {
        let (began, cost) = (Instant::now(), super::cpu_time());
        reader.threads(&*root, &mut || began.elapsed() < BUDGET, &mut sample);
        times.push(began.elapsed().as_secs_f64() * 1e3);
        costs.push((super::cpu_time() - cost) * 1e3);
        sampled.push(sample.sampled as f64);
        totals.push(sample.total as f64);
    }
    times.sort_by(f64::total_cmp);
    costs.sort_by(f64::total_cmp);
    let (each, all) = (median(&sampled).unwrap(), median(&totals).unwrap());
    let late = PASSES * 95 / 100;
    let bar = format!("{} ms", LONGEST.as_millis());
    let row = |all: &[f64]| format!("{:.2} ms, 95 % below {:.2} ms", median(all).unwrap(), all[late]);
    report.row("a pass, CPU time", &row(&costs), Some((&bar, costs[late] <= LONGEST.as_secs_f64() * 1e3)));
    report.row("a pass, elapsed time", &row(&times), None);
    report.row("threads sampled in a pass", &format!("{each:.0} of {all:.0}"), None);
    report.row("passes until all were sampled", &format!("{:.0}", (all / each).ceil()), None);
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.wait().unwrap();
}

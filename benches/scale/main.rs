//! Costs on a synthetic machine of 512 drives, 4 000 functions, 256 CPUs, 2 000 interrupt lines and 10 000 threads, beside their
//! bars; allocations of the sampling thread; passes over 10 000 real threads.
//!
//! `cargo bench --bench scale`. Prints Markdown; status 1 beyond a bar. `-- --sleepers N` changes the number of real threads.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]

mod allocator;
mod machine;
mod program;
mod sleepers;

use std::{fmt::Write as _, hint::black_box, io::Write as _, path::Path, process::ExitCode, time::Duration};

use iodyno::{
    app::{Message, keymap},
    capacity,
    counters::{
        self, Counters, ThreadCounts,
        activity::{Activity, ProcessSample, ThreadSample},
    },
    experiment::statistics::median,
    report::json::TreeDocument,
    runtime::headless::Headless,
    source::{
        SysRoot, activity::ActivityReader, capture::format, counters::CountersReader, import, origin::Origin,
        read_machine,
    },
    ui::{Mode, theme::Theme},
};
use machine::Memory;

#[global_allocator]
static COUNTING: allocator::Counting = allocator::Counting;

const REPETITIONS: usize = 15;
const PARSE: Duration = Duration::from_millis(20);
const FRAME: Duration = Duration::from_millis(5);
/// A key that moves a card: its prediction and the frame.
const KEY: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |option: &str| {
        let at = arguments.iter().position(|argument| argument == option)?;
        arguments.get(at + 1)?.parse().ok()
    };
    if let Some(count) = number(sleepers::SLEEP) {
        return sleepers::sleep(count);
    }
    let tree = machine::tree();
    let (before, after) = (Memory::new(&tree, 1), Memory::new(&tree, 2));
    let mut report = Report { missed: 0 };
    Report::heading(&["", "each", "bar"]);
    samples(&mut report, &before, &after);
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("synthetic.capture");
    std::fs::File::create(&capture).unwrap().write_all(format::write(&tree).as_bytes()).unwrap();
    frames(&mut report, &capture, &before, &after);
    moves(&mut report, &capture);
    program::start(&mut report, &capture);
    documents(&mut report);
    Report::heading(&["allocations of a pass after the first ones", "number", "bar"]);
    allocations(&mut report, "synthetic machine", &before);
    allocations(&mut report, "this machine", &*Origin::Live.open().unwrap());
    Report::heading(&["passes over real threads", "", ""]);
    sleepers::passes(&mut report, number("--sleepers").unwrap_or(machine::THREADS));
    if report.missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The table on standard output, and how many rows are beyond their bars.
pub struct Report {
    missed: usize,
}

impl Report {
    fn heading(cells: &[&str]) {
        println!("\n| {} |\n|{}", cells.join(" | "), "---|".repeat(cells.len()));
    }

    /// A row; one without a bar cannot miss it.
    pub fn row(&mut self, name: &str, value: &str, bar: Option<(&str, bool)>) {
        let met = |(bar, is_met): (&str, bool)| format!("{bar}{}", if is_met { "" } else { " **missed**" });
        self.missed += usize::from(bar.is_some_and(|(_, is_met)| !is_met));
        println!("| {name} | {value} | {} |", bar.map_or_else(String::new, met));
    }

    /// Median, in milliseconds, and range of several repetitions, in CPU time: what else runs on the machine delays it, but is not its cost.
    fn time(&mut self, name: &str, bar: Option<Duration>, mut work: impl FnMut()) -> f64 {
        work();
        let once = |_| {
            let began = cpu_time();
            work();
            (cpu_time() - began) * 1e3
        };
        let each: Vec<f64> = (0..REPETITIONS).map(once).collect();
        let (least, most) = each.iter().fold((f64::MAX, 0.0_f64), |(l, m), ms| (l.min(*ms), m.max(*ms)));
        let middle = median(&each).unwrap();
        let bar = bar.map(|bar| (format!("{} ms", bar.as_millis()), middle <= bar.as_secs_f64() * 1e3));
        let value = format!("{middle:.2} ms ({least:.2} to {most:.2})");
        self.row(name, &value, bar.as_ref().map(|(text, is_met)| (text.as_str(), *is_met)));
        middle
    }
}

/// CPU time of this thread, seconds.
pub fn cpu_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Everything that the sampling thread reads in a second.
#[derive(Default)]
struct Reader {
    counters: CountersReader,
    counted: Counters,
    activity: ActivityReader,
    threads: ThreadSample,
    processes: ProcessSample,
}

impl Reader {
    fn count(&mut self, root: &dyn SysRoot) {
        self.counters.read(root, false, &mut self.counted);
    }

    fn check_hardware(&mut self, root: &dyn SysRoot) {
        black_box(self.counters.hardware_changed(root));
    }

    fn pass(&mut self, root: &dyn SysRoot) {
        self.activity.threads(root, &mut || true, &mut self.threads);
    }

    fn sample(&mut self, root: &dyn SysRoot) {
        self.activity.processes(root, &mut self.processes);
    }
}

/// The document of `tree --json`: its work grows with the drives, not with their square.
fn documents(report: &mut Report) {
    let mut work = |count: usize| {
        let log = (0..count).fold(String::new(), |mut log, at| {
            let _infallible =
                writeln!(log, "[    1.0] nvme nvme{at}: pci function 0000:{:02x}:{:02x}.0", at / 32, at % 32);
            log
        });
        let root = import::read(log.as_bytes()).unwrap().unwrap();
        let (machine, _) = read_machine(&root);
        assert_eq!(machine.drives.len(), count);
        let limits = capacity::limits(&machine);
        report.time(&format!("document of {count} drives"), None, || {
            black_box(TreeDocument::new(&machine, &limits, &[]));
        })
    };
    let (few, many) = (work(500), work(2000));
    report.row("of 2000 to of 500", &format!("{:.1} times", many / few), Some(("9 times", many < few * 9.0)));
}

fn samples(report: &mut Report, before: &Memory, after: &Memory) {
    let mut reader = Reader::default();
    report.time("counters: drives, CPUs, interrupts, errors", None, || reader.count(before));
    report.time("all threads", None, || reader.pass(before));
    report.time("all processes", None, || reader.sample(before));
    assert_eq!(reader.threads.sampled, machine::THREADS);
    assert_eq!((reader.counted.disks.len(), reader.counted.cpus.len()), (machine::DRIVES, machine::CPUS));
    report.time("the whole sample, parsed", Some(PARSE), || {
        reader.count(before);
        reader.pass(before);
        reader.sample(before);
    });
    let (mut then, mut now) = (Counters::default(), Counters::default());
    CountersReader::default().read(before, false, &mut then);
    CountersReader::default().read(after, false, &mut now);
    report.time("rates of two samples", None, || {
        black_box(counters::rates(&then, &now, Duration::from_secs(1)));
    });
    let mut counts = ThreadCounts::default();
    report.time("threads by what they do", None, || {
        counts.add(&reader.threads);
        black_box(counts.take());
    });
}

fn frames(report: &mut Report, capture: &Path, before: &Memory, after: &Memory) {
    let mut screen = Headless::open(&Origin::Capture(capture.to_owned()), (200, 60)).unwrap();
    let found = &screen.app.shared.machine;
    assert_eq!(found.drives.len(), machine::DRIVES);
    assert!(found.pci.iter().count() >= machine::FUNCTIONS, "{} functions", found.pci.iter().count());
    let (mut first, mut second) = (Reader::default(), Reader::default());
    for (reader, root) in [(&mut first, before), (&mut second, after)] {
        reader.count(root);
        reader.pass(root);
        reader.sample(root);
    }
    let second_long = Duration::from_secs(1);
    let mut counts = ThreadCounts::default();
    counts.add(&second.threads);
    let processes = Some((&first.processes, &second.processes));
    let activity = Activity::between(Some(counts.take()), processes, second_long, 100.0);
    let rates = counters::rates(&first.counted, &second.counted, second_long);
    let mut at = Duration::ZERO;
    report.time("taking the rates of a second", None, || {
        at += second_long;
        screen.send(Message::Rates(Box::new(rates.clone()), at));
    });
    screen.send(Message::Activity(Box::new(activity.clone())));
    for (key, name) in [("1", "Machine"), ("2", "Findings"), ("3", "Tune"), ("4", "Dyno"), ("6", "Why")] {
        screen.press(keymap::parse(key).unwrap());
        let bar = matches!(key, "1" | "6").then_some(FRAME);
        report.time(&format!("a frame of {name}, 200x60"), bar, || {
            black_box(screen.picture(Theme::COLOUR));
        });
    }
    // A capture has no sentence and no tables.
    screen.app.shared.mode = Mode::Live;
    report.time("a look of Why under load", None, || {
        at += second_long;
        screen.send(Message::Rates(Box::new(rates.clone()), at));
        screen.send(Message::Activity(Box::new(activity.clone())));
    });
    report.time("a frame of Why under load, 200x60", Some(FRAME), || {
        black_box(screen.picture(Theme::COLOUR));
    });
}

/// A card in the hand: every key predicts its effect on another slot.
fn moves(report: &mut Report, capture: &Path) {
    let mut screen = Headless::open(&Origin::Capture(capture.to_owned()), (200, 60)).unwrap();
    screen.press(keymap::parse("GGw").unwrap());
    let key = |screen: &mut Headless, key: &str| {
        screen.press(keymap::parse(key).unwrap());
        black_box(screen.picture(Theme::COLOUR));
    };
    report.time("`j` with a card in the hand, and the frame", Some(KEY), || key(&mut screen, "j"));
    assert!(screen.app.screens.slots.prediction.is_some(), "no card was picked up");
    report.time("`b`, the best move, and the frame", None, || key(&mut screen, "b"));
}

fn allocations(report: &mut Report, of: &str, root: &dyn SysRoot) {
    let mut reader = Reader::default();
    let mut row = |name: &str, reader: &mut Reader, work: fn(&mut Reader, &dyn SysRoot)| {
        // What comes and goes between two passes needs memory: the least of several.
        let least = (0..8).map(|_| allocator::allocations(|| work(reader, root))).min().unwrap();
        report.row(&format!("{of}: {name}"), &least.to_string(), Some(("0", least == 0)));
    };
    row("counters", &mut reader, |reader, root| reader.count(root));
    row("links", &mut reader, |reader, root| reader.check_hardware(root));
    row("threads", &mut reader, |reader, root| reader.pass(root));
    row("processes", &mut reader, |reader, root| reader.sample(root));
}

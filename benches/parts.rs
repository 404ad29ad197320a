//! Costs of frequent small steps: per read, per sample of the machine, per frame.
//!
//! `cargo bench --bench parts`. Prints Markdown: the median and the range of eleven repetitions, each long enough for
//! timing within 0.1 %.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]
#![expect(clippy::disallowed_methods, reason = "benches read the clock")]

use std::{
    hint::black_box,
    io::{self, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use iodyno::{
    counters,
    engine::{offset_generator::Wyrand, stats::histogram::Histogram},
    experiment::statistics::median,
    runtime::headless::Headless,
    source::{self, SysRoot, origin::Origin},
    ui::theme::Theme,
};

const REPETITIONS: usize = 11;
/// Least time of a repetition.
const LONG: Duration = Duration::from_millis(50);

/// The largest built-in machine.
const BIG: &str = "threadripper-before";

fn main() {
    let mut out = io::stdout();
    out.write_all(b"| | each | range |\n|---|---|---|\n").unwrap();
    let mut row = |name: &str, work: &mut dyn FnMut()| {
        let each = time(work);
        let (least, most) = each.iter().fold((f64::MAX, 0.0_f64), |(l, m), ns| (l.min(*ns), m.max(*ns)));
        let middle = median(&each).unwrap();
        writeln!(out, "| {name} | {} | {} to {} |", words(middle), words(least), words(most)).unwrap();
    };

    let mut random = Wyrand::new(1, 0);
    row("generator: one random place", &mut || {
        black_box(random.below(black_box(1 << 28)));
    });
    let histogram = Histogram::default();
    let mut ns = 80_000;
    row("histogram: one latency", &mut || {
        // Latencies of one drive lie in a few hundred buckets.
        ns = 80_000 + (ns * 7 + 13) % 40_000;
        histogram.record(black_box(ns));
    });
    let live = Origin::Live.open().unwrap();
    let before = source::counters::read(&*live);
    row("sampler: one look at this machine's counters", &mut || {
        let now = source::counters::read(&*live);
        black_box(counters::rates(&before, &now, Duration::from_secs(1)));
    });
    let big: Arc<dyn SysRoot> = Origin::Demo(BIG.to_owned()).open().unwrap();
    row(&format!("scan of {BIG}, 10 drives"), &mut || {
        black_box(source::read_machine(&*big));
    });
    row("scan of this machine", &mut || {
        black_box(source::read_machine(&*live));
    });
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = Headless::open(&Origin::Demo(BIG.to_owned()), (columns, rows)).unwrap();
        screen.press(iodyno::app::keymap::parse("4r").unwrap());
        screen.wait(Duration::from_secs(5));
        row(&format!("frame of the dyno under load, {columns}x{rows}"), &mut || {
            black_box(screen.picture(Theme::COLOUR));
        });
    }
}

/// Nanoseconds of one time, in several repetitions.
fn time(work: &mut dyn FnMut()) -> Vec<f64> {
    let mut run = |times: u32| {
        let began = Instant::now();
        (0..times).for_each(|_| work());
        began.elapsed()
    };
    let mut times = 1;
    while run(times) < LONG {
        times *= 2;
    }
    (0..REPETITIONS).map(|_| run(times).as_secs_f64() * 1e9 / f64::from(times)).collect()
}

/// `1.23 ns`, `45.6 us`.
fn words(ns: f64) -> String {
    let (value, unit) = match ns {
        ..1e3 => (ns, "ns"),
        1e3..1e6 => (ns / 1e3, "us"),
        _ => (ns / 1e6, "ms"),
    };
    format!("{value:.2} {unit}")
}

//! What a read costs, from a test on the screen over the state folder to what the next test is expected to reach.
//!
//! The figures of the test are those of a simulated drive, taken for a real one's.

use std::time::{Duration, Instant};

use iodyno::{
    app::{App, Effect, Message, Mode, keymap::Key, update},
    capacity,
    counters::{CpuShares, DiskRates, Rates},
    engine::{Engine, Simulated},
    machine::{Machine, Measured},
    model::{Basis, Completion, EngineKind, Pattern, RunState, RunSummary, Seconds, Workload},
    runtime::{clock::Clock, startup},
    source::{self, capture::TextRoot, demo, origin::Origin},
    store,
    units::Bytes,
};

const RUNTIME: Duration = Duration::from_secs(10);
/// The simulated CPU clock.
const KHZ: u64 = 4_000_000;

/// A machine of its own on the screen, with one drive marked.
fn screen() -> App {
    screen_of("x570")
}

fn screen_of(demo: &str) -> App {
    let root = Origin::Demo(demo.to_owned()).open().unwrap();
    let mut app = App::new(Mode::Live, startup::read(&*root), (120, 40));
    let drive = app.shared.machine.hardware_drives().next().unwrap().name.clone();
    app.shared.marks.insert(drive);
    app.screens.dyno.form.workload.runtime = Some(RUNTIME);
    app
}

/// A test from its key to its end, with `change` made to what it came to; what it taught.
fn test(app: &mut App, change: impl Fn(&mut RunSummary)) -> Option<Vec<Measured>> {
    update(app, Message::Key(Key::Char('4')));
    let mut effects = update(app, Message::Key(Key::Char('r')));
    if effects.is_empty() {
        // Drives in use are asked about.
        effects = update(app, Message::Key(Key::Enter));
    }
    let Some(Effect::StartRun(workload)) = effects.into_iter().next() else { panic!("it starts a test") };
    let start: Instant = Clock::counted().now();
    let mut running =
        Simulated::new(&app.shared.machine, &app.shared.limits, 1).start(&workload, start).unwrap();
    let mut sample = running.sample(start + RUNTIME);
    sample.state = RunState::Running;
    let mut run = running.finish(start + RUNTIME);
    run.simulated = false;
    (run.effective.engine, run.effective.completion) = (EngineKind::IoUring, Completion::Interrupts);
    change(&mut run);
    let mut rates = Rates {
        elapsed: RUNTIME / 2,
        cpu: Some(CpuShares { usr: 1.0, sys: 2.0, idl: 97.0, wai: 0.0, ..CpuShares::default() }),
        clock_khz: Some(KHZ),
        ..Rates::default()
    };
    let disk = DiskRates { read_bytes: run.bytes_per_second(), ..DiskRates::default() };
    rates.disks.extend(workload.targets[0].drive.clone().map(|drive| (drive, disk)));
    let mut begun = sample.clone();
    begun.at = Duration::ZERO;
    begun.targets.iter_mut().for_each(|target| (target.ios, target.bytes) = (0, 0));
    update(app, Message::Sample(Box::new(begun), Duration::ZERO));
    update(app, Message::Sample(Box::new(sample), RUNTIME));
    update(app, Message::Rates(Box::new(rates), RUNTIME));
    let effects = update(app, Message::RunEnded(Box::new(Ok((run, Seconds::default()))), RUNTIME));
    effects.into_iter().find_map(|effect| match effect {
        Effect::Remember(measured) => Some(measured),
        _ => None,
    })
}

/// The machine as it is read after its tests were remembered.
fn read_again(measured: &[Measured]) -> Machine {
    read_demo_again("x570", measured)
}

fn read_demo_again(demo: &str, measured: &[Measured]) -> Machine {
    let folder = tempfile::tempdir().unwrap();
    store::remember(folder.path(), measured).unwrap();
    let text = std::fs::read(store::measured_limits(folder.path())).unwrap();
    let mut capture = TextRoot::parse(&demo::find(demo).unwrap().capture()).unwrap().into_capture();
    capture.answers.entry("/probe/measured-limits".to_owned()).or_default().read = Some(Ok(text));
    source::read_machine(&TextRoot::from(capture)).0
}

#[test]
fn a_full_worker_teaches_what_reads_cost_and_the_next_test_is_expected_to_cost_that() {
    let mut app = screen();
    let measured = test(&mut app, |run| {
        // Half as many reads as published, by a worker that never waits.
        run.targets[0].ios /= 2;
        run.targets[0].bytes /= 2;
        (run.targets[0].cpu_user, run.targets[0].cpu_system) = (RUNTIME / 4, RUNTIME * 7 / 10);
        assert!(run.targets[0].ios > 1_000_000, "{run:?}");
    })
    .unwrap();
    let cost = measured.iter().find_map(|one| match one {
        Measured::Reads(cost) => Some(cost.clone()),
        _ => None,
    });
    let cost = cost.unwrap();
    assert_eq!((cost.block, cost.workers, cost.hertz), (Bytes(4096), 1, KHZ as f64 * 1e3));
    let reads = app.screens.dyno.shown(&app.shared.tests).and_then(|test| test.summary()).unwrap().iops();
    assert!((cost.cycles / (0.95 * cost.hertz / reads) - 1.0).abs() < 1e-3, "{cost}");
    let machine = read_again(&measured);
    let limits = capacity::limits(&machine);
    let (basis, because) = limits.processors.as_ref().unwrap().source(Bytes(4096), 1);
    assert!(basis == Basis::Measured && because.contains("measured here: 1 drive, 4k randread"), "{because}");
    let workload = Workload {
        targets: app.screens.dyno.shown(&app.shared.tests).unwrap().workload.targets.clone(),
        ..Workload::default()
    };
    let expected = capacity::expected(&machine, &limits, &workload)[0].clone().unwrap();
    assert!((expected.iops / (reads / 0.95) - 1.0).abs() < 1e-3, "{expected:?}");
    assert!(expected.because.contains("measured here"), "{}", expected.because);
}

#[test]
fn a_worker_that_waits_and_a_file_teach_nothing() {
    let full = |run: &mut RunSummary| {
        (run.targets[0].cpu_user, run.targets[0].cpu_system) = (RUNTIME / 4, RUNTIME * 7 / 10);
        run.targets[0].ios /= 2;
    };
    assert!(test(&mut screen(), full).is_some());
    let waits = |run: &mut RunSummary| {
        (run.targets[0].cpu_user, run.targets[0].cpu_system) = (RUNTIME / 5, RUNTIME * 3 / 5);
    };
    assert_eq!(test(&mut screen(), waits), None, "four fifths of a processor is not what held it back");
    let file = |run: &mut RunSummary| {
        full(run);
        run.targets[0].name = iodyno::text::Label::new("/home/data/file");
    };
    assert_eq!(test(&mut screen(), file), None, "the page cache is no drive");
}

/// A test of large reads of one drive, at this share of the simulated rate.
fn large_reads(demo: &str, share: f64) -> (App, Option<Vec<Measured>>) {
    let mut app = screen_of(demo);
    let form = &mut app.screens.dyno.form.workload;
    (form.block_size, form.pattern, form.depth) = (Bytes(1 << 20), Pattern::Sequential, 32);
    let measured = test(&mut app, |run| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let part = |count: u64| (count as f64 * share) as u64;
        (run.targets[0].ios, run.targets[0].bytes) = (part(run.targets[0].ios), part(run.targets[0].bytes));
    });
    (app, measured)
}

#[test]
fn a_drive_below_its_path_is_its_own_potential_after_the_next_start() {
    let (app, measured) = large_reads("threadripper-before", 0.8);
    let measured = measured.unwrap();
    let [Measured::Alone(alone)] = measured.as_slice() else { panic!("{measured:?}") };
    let mut old = vec![Measured::parse("0000:40 1022:1480 41200000000 8 drives").unwrap()];
    old.extend(measured.clone());
    let machine = read_demo_again("threadripper-before", &old);
    assert_eq!(machine.measured, old, "an earlier version's lines are read as before");
    let limits = capacity::limits(&machine);
    let targets = app.screens.dyno.shown(&app.shared.tests).unwrap().workload.targets.clone();
    let workload = Workload { targets, block_size: Bytes(1 << 20), ..Workload::default() };
    let expected = capacity::expected(&machine, &limits, &workload)[0].clone().unwrap();
    assert_eq!(expected.basis, Basis::Measured);
    assert!((expected.iops / alone.iops - 1.0).abs() < 1e-3, "{expected:?} {alone:?}");
    assert!(expected.because.contains("read alone here, 1 drive, 1m read"), "{}", expected.because);
}

#[test]
fn a_result_under_a_finding_does_not_lower_the_potential() {
    // Half its link's speed is a finding; what it reads there is below that too.
    let (_, measured) = large_reads("laptop", 0.8);
    assert_eq!(measured, None);
}

#[test]
fn nothing_is_stored_of_a_demo() {
    let state = tempfile::tempdir().unwrap();
    for arguments in [
        &["pull", "--demo", "threadripper-before"][..],
        &["bench", "--demo", "x570", "--filename", "nvme0n1", "--bs", "1m", "--runtime", "4"],
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(arguments)
            .env("IODYNO_STATE_DIR", state.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);
    }
}

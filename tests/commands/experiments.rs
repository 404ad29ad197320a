//! The sources' experiments, repeated on the demos: each published direction, and each size within 15 %.
//!
//! No figure here stands in a table: arms are read by the simulated engine, which knows the machine, its limits and the
//! cost of a read.

use std::time::Duration;

use iodyno::{
    experiment::{
        Account, Scene, Terms,
        account::Ending,
        plan::{Subject, Wishes},
        table,
        verdict::sentence,
    },
    machine::Drive,
    model::{Metric, Target, Verdict, options::Given},
    runtime::{experiment, startup},
    source::{self, origin::Origin},
};

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

/// These options for every arm.
fn asking(options: &str) -> Wishes {
    Wishes { options: Given::read(options).unwrap(), ..Wishes::default() }
}

/// An experiment on a demo, on this many of its drives (0: the default).
fn run(demo: &str, id: &str, drives: usize, wishes: &Wishes) -> Account {
    let origin = Origin::Demo(demo.to_owned());
    let root = origin.open().unwrap();
    let service = startup::settings(&origin, &root).unwrap();
    let machine = source::read_machine(&*root).0;
    let row = table::find(id).unwrap();
    let all = machine.hardware_drives().map(Drive::target);
    let count = match (drives, row.subject) {
        (0, Subject::OneDrive) => 1,
        (0, Subject::AllDrives) => usize::MAX,
        (drives, _) => drives,
    };
    let targets: Vec<Target> = all.take(count).collect();
    let scene = Scene { machine: &machine, targets: &targets, simulated: true, wishes };
    let terms = Terms { measured: Duration::from_secs(1), ..Terms::default() };
    let plan = row.plan(&scene, terms).unwrap();
    let before = service.read().0;
    let account = experiment::run(plan, &service, &root, |_| None).0;
    assert_eq!(account.restored, Some(true), "{id}");
    assert_eq!(before, service.read().0, "{id}: every setting is as it was");
    assert_eq!(account.ending, Some(Ending::Decided), "{id}");
    assert_eq!((account.rounds, account.thrown_out.len()), (8, 0), "{id}");
    account
}

fn arm(account: &Account, label: &str) -> usize {
    account.plan.arms.iter().position(|arm| arm.label == label).unwrap()
}

/// The middle figure of an arm, in the unit of the metric.
fn figure(account: &Account, label: &str, metric: Metric) -> f64 {
    let value = account.figure(arm(account, label), |run| match metric {
        Iops => Some(run.iops),
        BytesPerSecond => Some(run.bytes_per_second),
        Metric::CpuNsPerIo => run.cpu_ns_per_io,
        Metric::LatencyP99 => run.latency_p99,
    });
    value.unwrap()
}

fn verdict(account: &Account, label: &str) -> Verdict {
    let effect = account.effect(arm(account, label)).unwrap();
    // An interval is never a point, and never without noise.
    assert!(effect.low < effect.ratio && effect.ratio < effect.high, "{}", sentence(account, effect));
    assert!(effect.detectable > 0.02 && effect.detectable < 0.025, "{}", sentence(account, effect));
    effect.verdict
}

/// Within 15 % of the published figure.
fn near(account: &Account, label: &str, metric: Metric, published: f64) {
    let value = figure(account, label, metric);
    let off = value / published - 1.0;
    assert!(
        off.abs() < 0.15,
        "{} {label}: {value:.0} where {published:.0} was published, {off:+.3}",
        account.plan.experiment.id.0
    );
}

use Metric::{BytesPerSecond, Iops};

#[test]
fn poder_one_drive_by_one_worker_and_by_several() {
    let account = run("threadripper-after", "jobs", 1, &Wishes::default());
    near(&account, "1 job", Iops, 450e3);
    // Three workers were published; four reach the drive's own limit as they do.
    near(&account, "4 jobs", Iops, 1_149e3);
    assert_eq!(verdict(&account, "4 jobs"), Verdict::Faster);
    assert_eq!(account.winner().map(|arm| account.effect(arm).is_some()), Some(true));
}

#[test]
fn poder_mq_deadline_halves_small_reads() {
    let account = run("threadripper-after", "scheduler", 1, &Wishes::default());
    near(&account, "none", Iops, 1_149e3);
    near(&account, "mq-deadline", Iops, 527.5e3);
    assert_eq!(verdict(&account, "mq-deadline"), Verdict::Slower);
    let effect = account.effect(arm(&account, "mq-deadline")).unwrap();
    assert!((effect.ratio / (527.5 / 1_149.0) - 1.0).abs() < 0.05, "{}", sentence(&account, effect));
    assert_eq!(account.winner(), Some(arm(&account, "none")));
}

#[test]
fn poder_buffered_reads_collapse_when_memory_is_full_of_pages() {
    let account = run("threadripper-after", "direct", 1, &Wishes::default());
    near(&account, "direct", BytesPerSecond, 6_811.0 * MIB);
    near(&account, "buffered", BytesPerSecond, 3_273.0 * MIB);
    assert_eq!(verdict(&account, "buffered"), Verdict::Slower);
}

#[test]
fn poder_readahead_off_is_slower_with_free_memory_and_with_full_memory() {
    for demo in ["threadripper-before", "threadripper-after"] {
        let account = run(demo, "readahead", 1, &Wishes::default());
        near(&account, "128 KiB, memory full", BytesPerSecond, 3_273.0 * MIB);
        // 2 500 to 3 000 MiB/s; the model has no part for threads that wait for each other's pages.
        let off = figure(&account, "0 KiB, memory full", BytesPerSecond);
        assert!((2_500.0 * MIB..1.1 * 3_000.0 * MIB).contains(&off), "{off}");
        near(&account, "128 KiB, free memory", BytesPerSecond, 6_800.0 * MIB);
        near(&account, "0 KiB, free memory", BytesPerSecond, 4_011.0 * MIB);
        for state in ["memory full", "free memory"] {
            assert_eq!(verdict(&account, &format!("0 KiB, {state}")), Verdict::Slower);
        }
        let on = arm(&account, "128 KiB, free memory");
        assert_eq!(account.plan.arms[arm(&account, "0 KiB, free memory")].against, [(on, 1.0)]);
    }
    let found = table::find("readahead").unwrap().found;
    let states: Vec<&str> = found.split(';').collect();
    assert_eq!(states.len(), 2, "two states of memory: {found}");
    assert!(states[0].contains("free memory: 6 800 MiB/s with readahead, 4 011 without"), "{found}");
    assert!(states[1].contains("full of pages: 2 953 to 3 593 with it, 2 500 to 3 000 without"), "{found}");
}

#[test]
fn poder_both_cards_under_one_root_complex_and_under_two() {
    let before = run("threadripper-before", "drives", 0, &Wishes::default());
    near(&before, "all 10", BytesPerSecond, 50.0 * GIB);
    assert_eq!(verdict(&before, "8 under 0000:40"), Verdict::Slower, "they share a limit");
    assert_eq!(verdict(&before, "all 10"), Verdict::NoDifference, "the other two add what they read alone");
    let all = before.effect(arm(&before, "all 10")).unwrap();
    assert!(sentence(&before, all).contains("than 8 under 0000:40 and 2 times nvme0n1"));
    let after = run("threadripper-after", "drives", 0, &Wishes::default());
    near(&after, "all 10", BytesPerSecond, 66.0 * GIB);
    assert_eq!(verdict(&after, "all 10"), Verdict::NoDifference, "no drive holds another back");
}

#[test]
fn poder_eleven_million_small_reads_polled() {
    let account = run("threadripper-after", "polled", 0, &Wishes::default());
    assert_eq!(verdict(&account, "polled"), Verdict::Faster);
    let effect = account.effect(arm(&account, "polled")).unwrap();
    // Published on other machines, without a demo of their own: 14.37 M and 20.36 M with one thread a drive.
    assert!((effect.ratio / (20.36 / 14.37) - 1.0).abs() < 0.15, "{}", sentence(&account, effect));
    // Poder's number of workers keeps all CPUs busy: with interrupts they read less.
    let full = run("threadripper-after", "polled", 0, &asking("numjobs=4"));
    near(&full, "polled", Iops, 11.05e6);
    assert_eq!(verdict(&full, "polled"), Verdict::Faster);
    let cost = |label| figure(&full, label, Metric::CpuNsPerIo);
    assert!(cost("polled") < 0.8 * cost("interrupts"), "polling spares processors");
}

#[test]
fn regalis_block_sizes() {
    let account = run("x570-formatted", "block-size", 1, &Wishes::default());
    for (label, published) in [
        ("4k", 420e3),
        ("8k", 341e3),
        ("16k", 305e3),
        ("32k", 229e3),
        ("64k", 115e3),
        ("128k", 57.3e3),
        ("256k", 28.7e3),
        ("512k", 14.3e3),
        ("1m", 7.1e3),
    ] {
        near(&account, label, Iops, published);
    }
    for label in ["8k", "64k", "1m"] {
        assert_eq!(verdict(&account, label), Verdict::Faster, "{label}");
    }
    let cost = |label| figure(&account, label, Metric::CpuNsPerIo);
    assert!(cost("4k") > 1_000.0 && cost("1m") >= cost("4k"), "the cost of a read stands beside it");
}

#[test]
fn regalis_one_job_and_sixteen() {
    let account = run("x570-formatted", "jobs", 1, &asking("iodepth=128"));
    near(&account, "1 job", Iops, 420e3);
    near(&account, "16 jobs", Iops, 1_800e3);
    assert_eq!(verdict(&account, "16 jobs"), Verdict::Faster);
}

#[test]
fn regalis_four_drives_together() {
    for (size, label, iops) in
        [(4, "all 4", 5_556e3), (32, "all 4", 914e3), (256, "all 4", 115e3), (1024, "all 4", 28.5e3)]
    {
        let wishes = asking(&format!("bs={size}k iodepth=128 numjobs=4"));
        let account = run("x570-formatted", "drives", 0, &wishes);
        near(&account, label, Iops, iops);
    }
}

#[test]
fn libaio_costs_more_than_io_uring() {
    let account = run("threadripper-after", "engine", 1, &Wishes::default());
    let effect = account.effect(arm(&account, "io_uring")).unwrap();
    // Published on another machine, without a demo of its own: 748 k and 820 k.
    assert!((effect.ratio / (820.0 / 748.0) - 1.0).abs() < 0.15, "{}", sentence(&account, effect));
    assert_eq!(effect.verdict, Verdict::Faster);
}

#[test]
fn depths_and_pairs_and_split_reads() {
    let knee = |account: &Account| account.record(None, 0).knee.unwrap();
    let blocks = knee(&run("x570", "block-size", 1, &Wishes::default()));
    assert_eq!(blocks.arm.as_ref().unwrap().as_str(), "32k", "as published (Regalis 2023)");
    assert_eq!(blocks.meaning, "Beyond 32k a larger block size gains less than 2.0 %.");
    let depth = run("x570", "depth", 1, &Wishes::default());
    assert!(knee(&depth).arm.is_some(), "{}", knee(&depth).meaning);
    assert_eq!(verdict(&depth, "depth 32"), Verdict::Faster);
    let pairs = run("x570", "pairs", 3, &Wishes::default());
    assert_eq!(verdict(&pairs, "nvme0n1 + nvme1n1"), Verdict::NoDifference);
    let shared = run("threadripper-before", "pairs", 0, &Wishes::default());
    assert_eq!(verdict(&shared, "all 10"), Verdict::Slower);
    let split = run("threadripper-after", "max-sectors", 1, &Wishes::default());
    assert_eq!(verdict(&split, "128 KiB"), Verdict::NoDifference, "the drive is full all the same");
}

#[test]
fn polled_reads_without_poll_queues_are_no_arm() {
    let arms = ["irq: hipri=0".to_owned(), "poll: hipri=1".to_owned()];
    let wishes = Wishes { arms: arms.to_vec(), ..Wishes::default() };
    let root = Origin::Demo("threadripper-after".to_owned()).open().unwrap();
    let machine = source::read_machine(&*root).0;
    let targets: Vec<Target> = machine.hardware_drives().map(Drive::target).collect();
    let scene = Scene { machine: &machine, targets: &targets, simulated: true, wishes: &wishes };
    let why = table::find("own").unwrap().plan(&scene, Terms::default()).unwrap_err().to_string();
    assert!(why.contains("poll queues, and nvme") && why.contains("poll_queues=2"), "{why}");
}

#[test]
fn an_own_question() {
    let arms =
        ["plain: bs=4k numjobs=3".to_owned(), "scheduled: scheduler=mq-deadline bs=4k numjobs=3".to_owned()];
    let account = run("threadripper-after", "own", 1, &Wishes { arms: arms.to_vec(), ..Wishes::default() });
    assert_eq!(verdict(&account, "scheduled"), Verdict::Slower);
    let limited = ["all: bs=4k".to_owned(), "less: bs=4k rate_iops=427k".to_owned()];
    let account =
        run("threadripper-after", "own", 1, &Wishes { arms: limited.to_vec(), ..Wishes::default() });
    assert_eq!(verdict(&account, "less"), Verdict::Slower, "5 % less is seen");
    let same = ["one: bs=4k".to_owned(), "other: bs=4k".to_owned()];
    let account = run("threadripper-after", "own", 1, &Wishes { arms: same.to_vec(), ..Wishes::default() });
    assert_eq!(verdict(&account, "other"), Verdict::NoDifference);
}

/// What the program prints, and its status.
fn iodyno(args: &[&str]) -> (String, String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_iodyno"));
    let output = command.args(args).env("IODYNO_STATE_DIR", folder.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn the_documents_have_the_names_scripts_rely_on() {
    let (out, _, status) =
        iodyno(&["experiment", "run", "scheduler", "--demo", "threadripper-after", "--json"]);
    assert_eq!(status, Some(0), "{out}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!((&document["name"], &document["metric"]), (&"scheduler".into(), &"iops".into()));
    assert_eq!((&document["baseline"], &document["restored"]), (&"none".into(), &true.into()));
    assert_eq!((&document["rounds"], &document["thrown_out"]), (&8.into(), &0.into()));
    assert_eq!((&document["margin"], &document["simulated"]), (&0.02.into(), &true.into()));
    assert!(document["detectable"].as_f64().unwrap() > 0.0);
    let arm = &document["arms"][1];
    assert_eq!(arm["label"], "mq-deadline");
    assert_eq!(arm["settings"][0]["setting"], "scheduler");
    assert_eq!(arm["workload"]["block_size"], 4096);
    assert_eq!(arm["runs"].as_array().unwrap().len(), 8);
    let effect = &document["effects"][0];
    assert_eq!((&effect["arm"], &effect["verdict"]), (&"mq-deadline".into(), &"slower".into()));
    for field in ["ratio", "low", "high", "confidence", "detectable"] {
        assert!(effect[field].as_f64().is_some_and(|value| value > 0.0), "{field}");
    }
    let (out, _, _) = iodyno(&["experiment", "list", "--demo", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = list["experiments"].as_array().unwrap();
    assert_eq!(rows.len(), iodyno::experiment::EXPERIMENTS.len());
    for row in rows {
        assert_eq!(row["available"].as_bool().unwrap(), row["why_not"].is_null(), "{row}");
    }
}

#[test]
fn text_says_that_it_is_simulated_and_what_it_means() {
    let (out, _, status) = iodyno(&["experiment", "run", "direct", "--demo", "threadripper-after"]);
    assert_eq!(status, Some(0));
    assert!(out.starts_with("SIMULATED  What does the page cache cost?"), "{out}");
    assert!(
        out.contains("buffered is worse: 52 % less throughput than direct (95 %: ")
            && out.contains("is detectable."),
        "{out}"
    );
    assert!(
        out.trim_end().ends_with("Every changed setting is restored. All figures are SIMULATED."),
        "{out}"
    );
}

#[test]
fn what_cannot_be_is_one_line() {
    for (args, words) in [
        (&["run", "colour", "--demo"][..], "colour: no such experiment; there are scheduler"),
        (&["run", "governor", "--demo"], "governor: needs a real machine"),
        (&["run", "jobs", "--demo", "--filename", "/dev/nothing"], "no such drive in the demo"),
        (&["run", "jobs", "--demo", "--margin", "2"], "not a share; use 2% or 0.02"),
        (&["run", "jobs", "--demo", "--rounds", "3"], "--rounds 3"),
        (&["run", "jobs", "--demo", "--arm", "bs=4k"], "--arm: jobs has fixed arms"),
        (&["run", "own", "--demo", "--arm", "bs=4k", "--arm", "bs=4q"], "own: needs another bs"),
        (&["run", "jobs"], "--filename: no drive or file to read"),
        (&["run", "jobs", "--filename", "/nowhere/file"], "/nowhere/file: ENOENT"),
        (
            &["run", "scheduler", "--demo", "threadripper-before", "--max-time", "1s"],
            "--max-time: too short for 8 rounds of 2 runs; use 45 s or more, or a shorter --runtime",
        ),
        (
            &[
                "run",
                "direct",
                "--filename",
                "/nowhere/file",
                "--runtime",
                "100ms",
                "--rounds",
                "100",
                "--max-time",
                "9s",
            ],
            "--max-time: too short for 100 rounds of 3 runs; use 182 s or more, or a shorter --runtime",
        ),
    ] {
        let (out, error, status) = iodyno(&[&["experiment"][..], args].concat());
        assert_eq!(status, Some(2), "{args:?}: {out}{error}");
        assert!(error.starts_with("iodyno: ") && error.lines().count() == 1, "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

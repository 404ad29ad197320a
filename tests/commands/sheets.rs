//! Sheets of every demo, of captured machines and of one planted with names, serials, addresses and markup: nothing private
//! gets out, nothing from outside becomes markup, every box fits a forum's.

use std::time::Duration;

use iodyno::{
    app::MachineRead,
    experiment::{
        Account, Phase, Run, Sample, Scene, Surroundings, Terms, ThrownOut, account::Ending, plan::Wishes,
        table,
    },
    machine::Drive,
    model::{DriveName, ExperimentRecord, Metric, RunRecord, RunSummary, Target, Verdict, Workload},
    report::{
        compare::{Comparison, Side},
        dossier::{Dossier, Material, Mode},
        sheet::{BOX, Choice, Format, text},
    },
    runtime::{run::simulate, startup},
    source::{SysRoot, capture::TextRoot, demo::DEMOS},
    store,
    text::Label,
    tune::change_log::ChangeLog,
};
use unicode_width::UnicodeWidthStr;

const CAPTURES: [(&str, &str); 2] = [
    ("a-shared-rc", include_str!("../fixtures/a-shared-rc.capture")),
    ("d-stock-qemu", include_str!("../fixtures/d-stock-qemu.capture")),
];

/// Every built-in and captured machine.
fn machines() -> Vec<(&'static str, MachineRead)> {
    let demos = DEMOS.iter().map(|demo| (demo.name, demo.capture()));
    let captures = CAPTURES.map(|(name, capture)| (name, capture.to_owned()));
    demos.chain(captures).map(|(name, capture)| (name, read(&capture))).collect()
}

fn read(capture: &str) -> MachineRead {
    startup::read(&TextRoot::parse(capture).unwrap() as &dyn SysRoot)
}

/// A test of all drives, one of them through a file.
fn record(read: &MachineRead, file: Option<&str>) -> RunRecord {
    let targets: Vec<Target> = read.machine.hardware_drives().map(Drive::target).collect();
    let workload = Workload { targets, runtime: Some(Duration::from_secs(6)), ..Workload::default() };
    let mut record = simulate(read, workload).unwrap();
    if let Some(file) = file {
        let RunSummary { workload, targets, .. } = &mut record.run;
        workload.targets[0].path = file.into();
        targets[0].name = Label::new(file);
        targets[0].errors = 1;
        targets[0].first_error = Some(Label::new(&format!("EIO: Input/output error on {file} at byte 0")));
        targets[0].invalid_because.push(format!("{file} is sparse"));
    }
    record
}

/// An experiment on all drives with two arms of its own, one of which is slower; one that a file is read in and whose
/// words quote it, if a file is named.
fn experiment(read: &MachineRead, file: Option<&str>) -> ExperimentRecord {
    let mut record = record(read, file);
    let wishes = Wishes {
        arms: ["bob's arm: iodepth=4", "B: rate_iops=1000"].map(str::to_owned).to_vec(),
        ..Wishes::default()
    };
    let targets = std::mem::take(&mut record.run.workload.targets);
    let scene = Scene { machine: &read.machine, targets: &targets, simulated: true, wishes: &wishes };
    let row = table::find("own").unwrap();
    let mut account = Account::new(row.plan(&scene, Terms::default()).unwrap());
    for (arm, ios) in account.arms.iter_mut().zip([1000, 900]) {
        let run = |round| {
            record.run.targets.iter_mut().for_each(|target| target.ios = ios);
            Run::of(round, Metric::Iops, &record.run).unwrap()
        };
        arm.runs = (1..=8).map(run).collect();
    }
    account.rounds = 8;
    account.round = 8;
    account.phase = Phase::Ended;
    account.restored = Some(true);
    account.ending = Some(Ending::Decided);
    if let Some(file) = file {
        account.ending = Some(Ending::Failed(format!("{file}: EIO, says bob")));
        let why =
            format!("EIO: Input/output error on {file}; attic-tower at 10.9.8.7 read S4EWNX0R123456 too");
        account.samples.push(Sample {
            round: 3,
            arm: account.plan.arms[0].label.clone(),
            order: 1,
            began: 1,
            seed: 2,
            value: None,
            discarded: Some(why.clone()),
            surroundings: Surroundings::default(),
        });
        account.thrown_out.push(ThrownOut { round: 3, arm: account.plan.arms[0].label.clone(), why });
    }
    account.conclude(true);
    account.record(read.machine.host.boot_id.value(), 1_790_000_000)
}

fn dossier(read: &MachineRead, mode: &Mode, runs: &[RunRecord], with_serials: bool) -> Dossier {
    with_experiments(read, mode, runs, &[], with_serials)
}

fn with_experiments(
    read: &MachineRead,
    mode: &Mode,
    runs: &[RunRecord],
    experiments: &[ExperimentRecord],
    with_serials: bool,
) -> Dossier {
    Dossier::new(&Material {
        mode,
        machine: &read.machine,
        problems: &read.problems,
        pull: &[],
        change_log: &ChangeLog::default(),
        watch: None,
        runs,
        experiments,
        with_serials,
    })
}

/// What tells whose a machine is, as far as it was read.
fn secrets(read: &MachineRead) -> Vec<String> {
    let machine = &read.machine;
    let mut secrets: Vec<String> = machine.host.name.value().into_iter().map(ToString::to_string).collect();
    secrets.extend(machine.host.boot_id.value().map(ToString::to_string));
    for drive in &machine.drives {
        secrets.extend(drive.serial.value().map(ToString::to_string));
        for used in &drive.used_by {
            if let Some(point) = used.mount_point()
                && !["/", "/boot", "/boot/efi", "/home"].contains(&point.as_str())
            {
                secrets.push(point.to_string());
            }
        }
    }
    // A demo's host may have the demo's name, which is public.
    secrets.retain(|secret| !secret.is_empty() && !DEMOS.iter().any(|demo| demo.name == secret));
    secrets
}

/// Whether a text has the secret as a word of its own: `archiso` is a host, `archisobasedir` an argument of the kernel.
fn tells(text: &str, secret: &str) -> bool {
    text.match_indices(secret).any(|(at, _)| {
        let around = [text[..at].chars().next_back(), text[at + secret.len()..].chars().next()];
        !around.into_iter().flatten().any(char::is_alphanumeric)
    })
}

const PLANTED: &[&str] = &[
    "attic-tower",
    "S4EWNX0R123456",
    "bob",
    "vault",
    "diary",
    "6b1dcb5e",
    "10.9.8.7",
    "52:54:00:aa:bb:cc",
    "fe80::7",
];

/// The laptop with names, serials, addresses and markup wherever a machine can have some.
fn planted() -> MachineRead {
    let laptop = DEMOS.iter().find(|demo| demo.name == "laptop").unwrap().capture();
    let mut text = String::new();
    for line in laptop.lines() {
        let line = line.trim_end();
        let path = line.split(' ').nth(1).unwrap_or_default();
        let replaced = match path.rsplit('/').next().unwrap_or_default() {
            _ if !line.starts_with("file ")
                && !line.starts_with("  25 1 ")
                && !line.starts_with("  name=") =>
            {
                None
            }
            _ if line.starts_with("  25 1 ") => Some(
                "  25 1 259:1 / /home/bob/vault rw,relatime shared:1 - vfat /dev/nvme1n1p1 rw".to_owned(),
            ),
            _ if line.starts_with("  name=") => Some("  name=attic-tower".to_owned()),
            "hostname" => Some(format!("file {path} attic-tower")),
            "serial" if path.contains("nvme0") => Some(format!("file {path} S4EWNX0R123456\\s\\s")),
            "cmdline" => Some(format!(
                "file {path} root=UUID=6b1dcb5e-00aa-4d3c-9c1e-0123456789ab ip=10.9.8.7 hostname=attic-tower \
                 addr=fe80::7 mac=52:54:00:aa:bb:cc dir=/home/bob/x"
            )),
            "model" if path.contains("nvme0") => {
                Some(format!("file {path} **Evil** [url=http://e.vil]x[/url][/code] ```<b>`S4EWNX0R123456"))
            }
            "board_name" => Some(format!("file {path} Desk_of_bob attic-tower <script>")),
            _ => None,
        };
        text.push_str(replaced.as_deref().unwrap_or(line));
        text.push('\n');
    }
    read(&text)
}

#[test]
fn nothing_private_is_in_a_sheet_unless_asked_for() {
    let file = "/home/bob/vault/diary.bin";
    let mut machines = machines();
    machines.push(("planted", planted()));
    for (name, read) in &machines {
        let mut secrets = secrets(read);
        let file = (*name == "planted").then_some(file);
        if *name == "planted" {
            secrets.extend(PLANTED.iter().map(|&word| word.to_owned()));
        }
        assert!(!secrets.is_empty(), "{name} has something to hide");
        // As they come back from the folder where they are kept.
        let folder = tempfile::tempdir().unwrap();
        let boot = "5f7e0a11-33d1-4f5e-8c0b-aa00bb11cc22";
        let run = RunRecord { boot: Label::new(boot), ..record(read, file) };
        store::keep(folder.path(), &run).unwrap();
        let experiment = ExperimentRecord { boot: Label::new(boot), ..experiment(read, file) };
        store::keep(folder.path(), &experiment).unwrap();
        secrets.push(boot.to_owned());
        let runs: Vec<RunRecord> = store::recent(folder.path(), boot, 5).unwrap().kept;
        let mut experiments: Vec<ExperimentRecord> = store::recent(folder.path(), boot, 5).unwrap().kept;
        assert_eq!((runs.len(), experiments.len()), (1, 1), "{name}");
        // Those of this session have their samples.
        experiments[0].samples = experiment.samples;
        let of = |with| with_experiments(read, &Mode::Capture, &runs, &experiments, with);
        let (dossier_without, dossier_with) = (of(false), of(true));
        let whole = format!(
            "{:?} {:?} {:?}",
            dossier_without.machine, dossier_without.runs, dossier_without.experiments
        );
        for secret in &secrets {
            assert!(!tells(&whole, secret), "{name}: {secret} is in the machine itself");
        }
        for format in Format::ALL {
            let sheet = text(&dossier_without, &Choice::default(), format);
            for secret in &secrets {
                assert!(!tells(&sheet, secret), "{name}: {secret} in {format:?}: {sheet}");
            }
        }
        let asked = text(&dossier_with, &Choice::default(), Format::Json);
        for drive in read.machine.drives.iter().filter_map(|drive| drive.serial.value()) {
            assert!(asked.contains(drive.as_str()), "{name}: asked for, {drive} is there");
        }
        if file.is_some() {
            let told = text(&dossier_without, &Choice::default(), Format::Text);
            assert!(told.contains("FILE: EIO") && told.contains("experiment run own"), "{told}");
            assert!(asked.contains("/home/bob/vault/diary.bin") && asked.contains("10.9.8.7"));
        }
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let read = planted();
    let dossier = dossier(&read, &Mode::Capture, &[record(&read, None)], true);
    let markdown = text(&dossier, &Choice::default(), Format::Markdown);
    // A fence of more backquotes than the model has: it cannot end the box.
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        match fence {
            None if line.starts_with("```") => fence = Some(line.strip_suffix("text").unwrap()),
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None => assert!(!line.contains("**Evil**") && !line.contains("<script>"), "{line}"),
        }
    }
    assert_eq!(fence, None, "every box ends");
    assert!(markdown.contains("````text"));

    let bbcode = text(&dossier, &Choice::default(), Format::Bbcode);
    for tag in bbcode.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(tag, _)| tag) {
        let own =
            ["size=5", "/size", "b", "/b", "code", "/code", "list", "/list", "*", "font=monospace", "/font"];
        assert!(own.contains(&tag), "[{tag}] in {bbcode}");
    }
    for tag in ["code", "list", "size=5", "b"] {
        let close = tag.split('=').next().unwrap();
        let count = |what: &str| bbcode.matches(what).count();
        assert_eq!(count(&format!("[{tag}]")), count(&format!("[/{close}]")), "{tag}");
    }
}

#[test]
fn every_box_fits_and_no_line_can_steer_a_terminal() {
    for (name, read) in machines() {
        let mode = Mode::Demo(Label::new(name));
        let (runs, experiments) = ([record(&read, None)], [experiment(&read, None)]);
        let dossier = with_experiments(&read, &mode, &runs, &experiments, false);
        for format in Format::ALL {
            let sheet = text(&dossier, &Choice::default(), format);
            assert!(sheet.chars().all(|c| c == '\n' || !c.is_control()), "{name} {format:?}");
            assert!(sheet.contains("simulated") || sheet.contains("SIMULATED"), "{name} {format:?}");
        }
        let markdown = text(&dossier, &Choice::default(), Format::Markdown);
        for (number, piece) in markdown.split("```").enumerate().filter(|(number, _)| number % 2 == 1) {
            let long = piece.lines().find(|line| line.width() > BOX);
            assert_eq!(long, None, "{name}, box {number}");
        }
        let plain = text(&dossier, &Choice::default(), Format::Text);
        assert_eq!(plain.lines().find(|line| line.width() > BOX), None, "{name}");
        let drives = read.machine.hardware_drives().map(|drive| &drive.name);
        for drive in drives.map(DriveName::as_str) {
            assert!(plain.contains(drive), "{name}: {drive} is in the tree");
        }
    }
}

#[test]
fn arrays_and_mount_options_are_whole_and_say_no_mount_point() {
    let dossier = dossier(&read(include_str!("../fixtures/stack.capture")), &Mode::Capture, &[], false);
    let sheet = text(&dossier, &Choice::default(), Format::Text);
    assert!(sheet.contains("62 min left,\n    chunk 512k of nvme0n1p1 nvme1n1 nvme2n1\n"), "{sheet}");
    assert!(sheet.contains("\ndm-0 ext4, noatime, stripe=256\n"), "{sheet}");
    assert!(!sheet.contains("/srv") && !sheet.contains("cryptdata"), "{sheet}");
    assert!(sheet.lines().all(|line| line.width() <= BOX), "{sheet}");
}

#[test]
fn omitted_parts_are_missing() {
    let (_, read) = &machines()[0];
    let runs = [record(read, None), record(read, None)];
    let experiments = [experiment(read, None)];
    let dossier = with_experiments(read, &Mode::Capture, &runs, &experiments, false);
    let mut choice = Choice::default();
    let whole = text(&dossier, &choice, Format::Text);
    assert!(
        whole.contains("\n1  SIMULATED 4k")
            && whole.contains("\n2  SIMULATED 4k")
            && whole.contains("Runs 1, 2")
    );
    choice.without_runs.insert(0);
    let second = text(&dossier, &choice, Format::Text);
    assert!(
        !second.contains("\n1  SIMULATED 4k")
            && second.contains("\n2  SIMULATED 4k")
            && second.contains("Run 2")
    );
    assert!(second.contains("(own)") && second.contains("-10.0 % [-10.0, -10.0] worse"), "{second}");
    choice.without_experiments.insert(0);
    let without = text(&dossier, &choice, Format::Text);
    assert!(!without.contains("(own)") && !without.contains("Experiment 1"), "{without}");
    for row in iodyno::report::sheet::PARTS {
        let mut choice = Choice::default();
        choice.parts.remove(&row.part);
        let without = text(&dossier, &choice, Format::Text);
        assert!(without.len() < whole.len(), "{} can be left out", row.word);
        let only = Choice { parts: [row.part].into(), ..Choice::default() };
        assert!(text(&dossier, &only, Format::Text).lines().count() > 3, "{} says something", row.word);
    }
}

/// A run of the same test, at a share of its rate.
fn at_share(record: &RunRecord, share: f64) -> RunRecord {
    let mut record = record.clone();
    for target in &mut record.run.targets {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
        let scaled = |count: u64| (count as f64 * share) as u64;
        (target.bytes, target.ios) = (scaled(target.bytes), scaled(target.ios));
    }
    for rate in &mut record.seconds.rates {
        *rate *= share;
    }
    record
}

#[test]
fn a_comparison_shows_changes_and_slower_runs() {
    let side = |read: &MachineRead, runs: &[RunRecord]| {
        let mode = Mode::Demo(Label::new("x"));
        let dossier = dossier(read, &mode, runs, false);
        Side::parse(&text(&dossier, &Choice::default(), Format::Json)).unwrap()
    };
    let (before, after) = (read(&DEMOS[0].capture()), read(&DEMOS[1].capture()));
    let (old, new) = (record(&before, None), record(&after, None));
    let moved = Comparison::new(&side(&before, std::slice::from_ref(&old)), &side(&after, &[new]), 0.02);
    let told = moved.text(Format::Text);
    assert!(!moved.is_slower() && told.contains("no difference: +"), "{told}");
    assert!(told.contains("place    nvme0n1: 0000:40, 0000:41:00.0 → "), "{told}");
    assert!(told.contains("8 drives share root complex 0000:40"), "{told}");
    assert_eq!(told.lines().find(|line| line.width() > BOX), None);

    let slower = Comparison::new(
        &side(&before, std::slice::from_ref(&old)),
        &side(&before, &[at_share(&old, 0.9)]),
        0.02,
    );
    let told = slower.text(Format::Text);
    assert!(slower.is_slower() && told.contains("slower: -10.0 %"), "{told}");
    assert!(told.contains("are the same on both sides"), "{told}");
    // Under another name a drive is another drive, and the test the same.
    let mut renamed = at_share(&old, 0.9);
    for (target, drive) in renamed.run.targets.iter_mut().zip(["nvme7n7", "nvme8n8"]) {
        target.drive = Some(DriveName::new(drive));
    }
    let told = Comparison::new(&side(&before, std::slice::from_ref(&old)), &side(&before, &[renamed]), 0.02);
    let words = told.text(Format::Text);
    assert!(told.is_slower() && words.contains("slower: -10.0 %") && words.contains("nvme7n7"), "{words}");
    let within = Comparison::new(
        &side(&before, std::slice::from_ref(&old)),
        &side(&before, &[at_share(&old, 0.9)]),
        0.2,
    );
    assert!(!within.is_slower());
    let alone = Comparison::new(&side(&before, &[]), &side(&before, &[old]), 0.02).text(Format::Text);
    assert!(
        alone.contains("No run exists on both sides") && alone.contains("Runs on one side only"),
        "{alone}"
    );
}

#[test]
fn a_comparison_shows_an_experiment_arm_by_arm() {
    let read = read(&DEMOS[0].capture());
    let before = experiment(&read, None);
    let side = |record: &ExperimentRecord| {
        let record = std::slice::from_ref(record);
        let dossier = with_experiments(&read, &Mode::Capture, &[], record, false);
        Side::parse(&text(&dossier, &Choice::default(), Format::Json)).unwrap()
    };
    let mut after = before.clone();
    after.options.push(("randseed".to_owned(), "7".to_owned()));
    assert!(!Comparison::new(&side(&before), &side(&after), 0.02).is_slower());
    for (round, run) in after.arms[1].runs.iter_mut().enumerate() {
        run.value *= 0.8 + 0.001 * round as f64;
    }
    after.effects[0].verdict = Verdict::Inconclusive;
    let comparison = Comparison::new(&side(&before), &side(&after), 0.02);
    let told = comparison.text(Format::Text);
    assert!(comparison.is_slower(), "{told}");
    for words in [
        "(own)",
        "+0.0 % [+0.0, +0.0] same",
        "-19.7 % [-19.9, -19.4] worse",
        "B against bob's arm: -10.0 % [-10.0, -10.0] worse, now -10.0 %",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    assert_eq!(told.lines().find(|line| line.width() > BOX), None, "{told}");
    let alone =
        Comparison::new(&side(&before), &side(&ExperimentRecord { name: Label::new("x"), ..after }), 0.02);
    assert!(alone.text(Format::Text).contains("Experiments on one side only"));
}

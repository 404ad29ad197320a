use std::time::Duration;

use super::*;
use crate::{
    experiment::{
        plan::{Scene, Terms, Wishes},
        table,
        verdict::{meaning, sentence},
    },
    model::{DriveName, Metric, Target, Verdict, run::testing::run},
    source::{self, capture::TextRoot},
    text::Label,
};

/// An experiment whose arms are called A, B, ... and read so much of the first one.
struct Lab {
    factors: Vec<f64>,
    /// Spread of a run's logarithm.
    spread: f64,
    random: Random,
    log: Vec<String>,
    /// What fails: arm, step, how often before it works.
    fails: Option<(usize, &'static str, u32)>,
    /// The first round in which it does.
    fails_from: u32,
    disturbed: fn(u32, usize) -> Vec<String>,
    cached: fn(u32, usize) -> Option<f64>,
    clock: fn(u32, usize) -> Option<f64>,
    stop_after: Option<usize>,
}

impl Lab {
    fn new(factors: &[f64], spread: f64, seed: u64) -> Self {
        Self {
            factors: factors.to_vec(),
            spread,
            random: Random::new(seed),
            log: Vec::new(),
            fails: None,
            fails_from: 0,
            disturbed: |_, _| Vec::new(),
            cached: |_, _| None,
            clock: |_, _| None,
            stop_after: None,
        }
    }

    fn plan(&self, terms: Terms) -> Plan {
        let arms = (0..self.factors.len()).map(|index| {
            let label = ["A", "B", "C"][index];
            let against = if index == 0 { vec![] } else { vec![(0, 1.0)] };
            Arm { against, ..Arm::new(label, Workload::default()) }
        });
        Plan {
            experiment: table::find("own").unwrap(),
            metric: Metric::Iops,
            arms: arms.collect(),
            terms,
            simulated: true,
            targets: Vec::new(),
            wishes: Wishes::default(),
        }
    }

    fn fails(&mut self, round: u32, arm: usize, step: &str) -> Result<(), Failed> {
        let is_time = round >= self.fails_from;
        match &mut self.fails {
            Some((at, what, times)) if is_time && *at == arm && *what == step && *times > 0 => {
                *times -= 1;
                let file = Target { path: "/var/tmp/iodyno.test".into(), drive: None };
                Err(Failed::new("EINVAL", None).with_files(vec![file]))
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self, round: u32, arm: usize) -> Ran {
        let mut result = run(&["nvme0n1"], 4096, Workload::default());
        let factor = self.factors[arm] * (self.spread * self.random.normal()).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of reads")]
        let ios = (1e7 * factor) as u64;
        result.targets[0].ios = ios;
        result.targets[0].bytes = ios * 4096;
        let (cpu_khz, from_cache) = ((self.clock)(round, arm), (self.cached)(round, arm));
        let surroundings = Surroundings { cpu_khz, from_cache, ..Surroundings::default() };
        Ran { run: result, disturbed: (self.disturbed)(round, arm), surroundings }
    }

    fn drive(&mut self, driver: &mut Driver, first: Event) {
        let mut actions = std::collections::VecDeque::from(driver.step(first));
        let mut arm = 0;
        let mut at = Duration::ZERO;
        while let Some(action) = actions.pop_front() {
            if self.stop_after == Some(self.log.len()) {
                self.stop_after = None;
                actions.extend(driver.step(Event::Stop(StoppedBy::Key)));
            }
            let round = driver.account().round;
            let name = |arm: usize| ["A", "B", "C"][arm];
            let event = match action {
                Action::SetUp(which) => {
                    arm = which;
                    self.log.push(format!("set up {}", name(arm)));
                    Event::SetUp(self.fails(round, arm, "set up"))
                }
                Action::Run(_) => {
                    self.log.push(format!("run {}", name(arm)));
                    let ran = self.fails(round, arm, "run").map(|()| Box::new(self.read(round, arm)));
                    let began = at;
                    at += Duration::from_secs(2);
                    Event::Ran(ran, began)
                }
                Action::Abort => {
                    self.log.push("abort".to_owned());
                    continue;
                }
                Action::Restore => {
                    self.log.push(format!("restore {}", name(arm)));
                    Event::Restored(self.fails(round, arm, "restore"), at)
                }
                Action::End => {
                    self.log.push("end".to_owned());
                    continue;
                }
            };
            actions.extend(driver.step(event));
        }
    }

    fn run(&mut self, terms: Terms) -> Account {
        let plan = self.plan(terms);
        self.play(plan)
    }

    fn play(&mut self, plan: Plan) -> Account {
        let mut driver = Driver::new(plan);
        self.drive(&mut driver, Event::Begin);
        driver.account().clone()
    }

    /// The steps, in threes: an arm is set up, run and restored before the next one.
    fn log(&self) -> Vec<&str> {
        self.log.iter().map(String::as_str).collect()
    }
}

/// linux-block 2025: md RAID0 read 98 GiB/s on Linux 6.13 and 43 GiB/s on 6.14, with the same members.
#[test]
fn an_array_that_reads_less_than_its_members_is_named() {
    const STACK: &str = include_str!("../../../tests/fixtures/stack.capture");
    let machine = source::read_machine(&TextRoot::parse(STACK).unwrap()).0;
    let plan = || {
        let targets = [Target { path: "/dev/md0".into(), drive: Some(DriveName::new("md0")) }];
        let wishes = Wishes::default();
        let scene = Scene { machine: &machine, targets: &targets, simulated: false, wishes: &wishes };
        table::find("array-members").unwrap().plan(&scene, Terms::default()).unwrap()
    };
    let labels: Vec<String> = plan().arms.iter().map(|arm| arm.label.clone()).collect();
    assert_eq!(labels, ["3 members", "md0"]);
    for (of_members, verdict, words, conclusion) in [
        (
            43.0 / 98.0,
            Verdict::Slower,
            "md0 is worse: 56 % less throughput than 3 members",
            "md0 reads less than 3 members together: the array's code or its settings cost the rest.",
        ),
        (
            1.0,
            Verdict::NoDifference,
            "md0 makes no difference: ",
            "md0 reads as much as 3 members together: the array costs nothing for these reads.",
        ),
    ] {
        let account = Lab::new(&[1.0, of_members], 0.005, 14).play(plan());
        assert_eq!(verdict_of(&account), verdict);
        let effect = &account.effects[0];
        let sentence = sentence(&account, effect);
        assert!(sentence.starts_with(words), "{sentence}");
        assert_eq!(meaning(&account, effect), conclusion);
    }
}

fn verdict_of(account: &Account) -> Verdict {
    account.effects[0].verdict
}

#[test]
fn every_arm_of_every_round_is_set_up_run_and_restored_in_this_order() {
    let mut lab = Lab::new(&[1.0, 0.5, 0.7], 0.001, 1);
    let account = lab.run(Terms::default());
    assert_eq!(account.ending, Some(Ending::Decided));
    assert_eq!((account.rounds, account.restored), (8, Some(true)));
    let (last, steps) = lab.log.split_last().unwrap();
    assert_eq!(last, "end");
    assert_eq!(steps.len(), 9 * 3 * 3, "eight rounds and the one that warms up");
    let mut orders = std::collections::BTreeSet::new();
    for round in steps.chunks(9) {
        let arms: Vec<&str> = round.chunks(3).map(|arm| arm[0].strip_prefix("set up ").unwrap()).collect();
        for (arm, steps) in arms.iter().zip(round.chunks(3)) {
            assert_eq!(steps, [format!("set up {arm}"), format!("run {arm}"), format!("restore {arm}")]);
        }
        let mut sorted = arms.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["A", "B", "C"], "each arm once a round");
        orders.insert(arms);
    }
    assert!(orders.len() > 2, "in random order");
    assert!((account.effects[0].ratio - 0.5).abs() < 0.005 && verdict_of(&account) == Verdict::Slower);
    assert_eq!(account.winner(), Some(0));
}

#[test]
fn a_set_up_that_fails_is_restored_all_the_same_and_its_arm_left_out() {
    let mut lab = Lab::new(&[1.0, 0.5, 0.7], 0.001, 1);
    lab.fails = Some((1, "set up", 9));
    let account = lab.run(Terms::default());
    assert_eq!(account.arms[1].left_out.as_deref(), Some("EINVAL"));
    let after: Vec<_> = lab.log().into_iter().skip_while(|step| *step != "set up B").take(2).collect();
    assert_eq!(after, ["set up B", "restore B"]);
    assert_eq!(lab.log.iter().filter(|step| step.ends_with('B')).count(), 2, "it is not tried again");
    assert_eq!(account.effects.len(), 1, "the third arm is compared");
}

#[test]
fn a_baseline_that_cannot_run_ends_it_after_everything_is_back() {
    for step in ["set up", "run"] {
        let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
        lab.fails = Some((0, step, 1));
        let account = lab.run(Terms::default());
        assert_eq!(account.ending, Some(Ending::Failed("arm A: EINVAL".to_owned())));
        assert_eq!(account.restored, Some(true));
        assert_eq!(
            crate::experiment::verdict::closing(&account),
            "arm A: EINVAL. Every changed setting is restored."
        );
        assert!(!account.can_go_on(), "an error ends it for good");
        assert_eq!(lab.log()[lab.log.len() - 2..], ["restore A", "end"]);
    }
}

#[test]
fn an_error_later_on_throws_the_round_out_and_three_in_a_row_end_it() {
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    let mut driver = Driver::new(lab.plan(Terms::default()));
    // The round that warms up passes, then B fails twice.
    lab.drive(&mut driver.clone(), Event::Begin);
    let warm = lab.log.iter().take(6).cloned().collect::<Vec<_>>();
    assert_eq!(warm.iter().filter(|step| step.starts_with("run")).count(), 2);
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    lab.disturbed = |round, _| if round == 3 { vec!["nvme0n1 was at 90 °C".to_owned()] } else { vec![] };
    lab.drive(&mut driver, Event::Begin);
    let account = driver.account();
    let thrown: Vec<_> = account.thrown_out.iter().map(|out| (out.round, out.why.as_str())).collect();
    assert_eq!(thrown, [(3, "nvme0n1 was at 90 °C")]);
    assert_eq!(account.rounds, 8);
    assert!(account.arms.iter().all(|arm| arm.runs.iter().all(|run| run.round != 3) && arm.runs.len() == 8));

    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    let mut driver = Driver::new(lab.plan(Terms::default()));
    let mut fails = 0_u64;
    let mut actions = driver.step(Event::Begin);
    while let Some(action) = actions.pop() {
        let arm = match driver.account().phase {
            Phase::SettingUp(arm) | Phase::Running(arm) | Phase::Restoring(arm) => arm,
            Phase::Ended => break,
        };
        actions = driver.step(match action {
            Action::SetUp(_) => Event::SetUp(Ok(())),
            Action::Run(_) if arm == 1 && driver.account().round > 0 => {
                fails += 1;
                Event::Ran(Err(Failed::new("ENODEV", None)), Duration::from_secs(fails))
            }
            Action::Run(_) => Event::Ran(Ok(Box::new(lab.read(0, arm))), Duration::ZERO),
            _ => Event::Restored(Ok(()), Duration::ZERO),
        });
    }
    assert_eq!(fails, 3);
    assert_eq!(
        driver.account().ending,
        Some(Ending::Failed("3 rounds in a row failed: arm B: ENODEV".to_owned()))
    );
    assert_eq!((driver.account().thrown_out.len(), driver.account().rounds), (3, 0));
    // Each failed run is among the samples, with its start and its reason.
    let samples = driver.account().samples.iter().filter(|sample| sample.round > 0 && sample.arm == "B");
    let samples: Vec<_> =
        samples.map(|sample| (sample.began, sample.value, sample.discarded.as_deref())).collect();
    let failed = |second: u64| (second * 1_000_000_000, None, Some("ENODEV"));
    assert_eq!(samples, [1, 2, 3].map(failed));
}

#[test]
fn a_run_that_is_stopped_keeps_its_start() {
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    let mut driver = Driver::new(lab.plan(Terms::default()));
    driver.step(Event::Begin);
    driver.step(Event::SetUp(Ok(())));
    assert_eq!(driver.step(Event::Stop(StoppedBy::Key)), [Action::Abort]);
    driver.step(Event::Ran(Ok(Box::new(lab.read(0, 0))), Duration::from_secs(7)));
    driver.step(Event::Restored(Ok(()), Duration::from_secs(8)));
    let samples = &driver.account().samples;
    assert_eq!((samples.len(), samples[0].began, samples[0].value), (1, 7_000_000_000, None));
    assert_eq!(samples[0].discarded.as_deref(), Some("the run was stopped"));
    assert_eq!(driver.account().ending, Some(Ending::Stopped(StoppedBy::Key)));
    let stored = driver.account().record(None, 0).ended_because;
    assert_eq!(stored.as_deref(), Some("The user stopped it."));
}

#[test]
fn a_setting_that_does_not_come_back_ends_it_and_is_said() {
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    lab.fails = Some((1, "restore", 1));
    let account = lab.run(Terms::default());
    assert_eq!(account.restored, Some(false));
    assert_eq!(account.ending, Some(Ending::Failed("EINVAL".to_owned())));
    assert_eq!(lab.log.last().unwrap(), "end");
}

#[test]
fn an_ending_with_the_advice_for_its_settings_has_no_other() {
    for (is_advised, end) in [
        (true, "NOT every changed setting is restored."),
        (false, "NOT every changed setting is restored: `iodyno tune undo --all` restores them."),
    ] {
        let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
        let mut driver = Driver::new(lab.plan(Terms::default()));
        driver.step(Event::Begin);
        driver.step(Event::SetUp(Ok(())));
        driver.step(Event::Ran(Ok(Box::new(lab.read(0, 0))), Duration::from_secs(7)));
        // What its words contain decides nothing.
        let failed = Failed::new("/tmp/`iodyno tune undo: EIO", None).advised(is_advised);
        driver.step(Event::Restored(Err(failed), Duration::from_secs(8)));
        let said = crate::experiment::verdict::closing(driver.account());
        assert_eq!(said, format!("/tmp/`iodyno tune undo: EIO. {end}"));
    }
}

/// Holds for every experiment, whatever fails in it: what is set up is run, unless that failed, and restored before the
/// next one is set up; the end comes once, behind everything else.
fn is_in_order(steps: &[&str]) -> bool {
    let Some((&"end", steps)) = steps.split_last() else { return false };
    let mut rest = steps;
    while let [set_up, others @ ..] = rest {
        let Some(arm) = set_up.strip_prefix("set up ") else { return false };
        let (run, restore) = (format!("run {arm}"), format!("restore {arm}"));
        rest = match others {
            [first, second, more @ ..] if *first == run && *second == restore => more,
            [first, more @ ..] if *first == restore => more,
            _ => return false,
        };
    }
    true
}

#[test]
fn whatever_step_fails_and_whenever_the_order_stays() {
    for arm in 0..3 {
        for step in ["set up", "run", "restore"] {
            for (round, times) in [(0, 1), (1, 1), (4, 1), (1, 2), (1, 3), (4, 9)] {
                let mut lab = Lab::new(&[1.0, 0.5, 0.7], 0.001, 1);
                (lab.fails, lab.fails_from) = (Some((arm, step, times)), round);
                let account = lab.run(Terms::default());
                let what = format!("{step} of {arm} in round {round}, {times} times: {:?}", lab.log);
                assert!(is_in_order(&lab.log()), "{what}");
                let ran = |name: &str| lab.log.iter().filter(|step| *step == &format!("run {name}")).count();
                match (step, round, times) {
                    // A setting that is not restored ends the experiment.
                    ("restore", ..) => {
                        assert_eq!((account.restored, account.has_ended()), (Some(false), true), "{what}");
                        assert_eq!(lab.log.iter().filter(|step| step.starts_with("restore")).count(), {
                            lab.log.iter().filter(|step| step.starts_with("set up")).count()
                        });
                    }
                    (_, 0, _) if arm == 0 => assert!(ran("A") <= 1 && account.effects.is_empty(), "{what}"),
                    (_, 0, _) => assert_eq!((account.rounds, account.effects.len()), (8, 1), "{what}"),
                    // Three errors in a row end it; fewer cost a round each.
                    (_, _, times) if times >= 3 => {
                        let Some(Ending::Failed(why)) = &account.ending else { panic!("{what}") };
                        assert!(why.starts_with("3 rounds in a row failed: arm "), "{what}: {why}");
                        assert_eq!(account.thrown_out.len(), 3, "{what}");
                    }
                    _ => {
                        assert_eq!(account.ending, Some(Ending::Decided), "{what}");
                        assert_eq!((account.rounds, account.thrown_out.len()), (8, times as usize), "{what}");
                    }
                }
            }
        }
    }
    assert!(!is_in_order(&["set up A", "set up B", "restore B", "end"]));
    assert!(!is_in_order(&["set up A", "run A", "end"]) && !is_in_order(&["set up A", "restore A"]));
}

#[test]
fn stopped_at_any_step_it_restores_before_it_ends() {
    for step in 0..20 {
        let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
        lab.stop_after = Some(step);
        let account = lab.run(Terms::default());
        assert_eq!(account.ending, Some(Ending::Stopped(StoppedBy::Key)), "after {step} steps");
        let steps: Vec<&str> = lab.log().into_iter().filter(|step| *step != "abort").collect();
        let last = steps.iter().rposition(|step| step.starts_with("set up")).unwrap();
        let arm = steps[last].strip_prefix("set up ").unwrap();
        let restore = format!("restore {arm}");
        assert_eq!(steps[steps.len() - 2..], [restore.as_str(), "end"], "after {step} steps");
    }
}

#[test]
fn a_changed_clock_throws_a_round_out() {
    let mut lab = Lab::new(&[1.0, 1.0], 0.001, 1);
    lab.clock = |round, arm| Some(if round == 5 && arm == 1 { 2.0e6 } else { 3.9e6 });
    let account = lab.run(Terms::default());
    assert_eq!(account.thrown_out.len(), 1);
    assert_eq!(account.thrown_out[0].why, "the CPUs ran at 2.00 GHz instead of 3.90");
}

#[test]
fn too_many_disturbed_rounds_are_no_verdict() {
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    lab.disturbed = |round, _| if round % 3 == 1 { vec![] } else { vec!["others read".to_owned()] };
    let account = lab.run(Terms { most_time: Duration::from_secs(80), ..Terms::default() });
    assert_eq!(account.ending, Some(Ending::TimeUp));
    assert_eq!(verdict_of(&account), Verdict::Invalid);
}

#[test]
fn runs_from_the_page_cache_say_nothing_of_a_drive() {
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    lab.cached = |_, arm| (arm == 1).then_some(0.98);
    let account = lab.run(Terms::default());
    let Some(Ending::Failed(why)) = &account.ending else { panic!("{:?}", account.ending) };
    assert!(why.contains("B: 98 % of its bytes came from the page cache"), "{why}");
    assert_eq!(account.rounds, 0);
    lab.cached = |round, arm| Some(if round == 3 && arm == 1 { 0.6 } else { 0.4 });
    let account = lab.run(Terms::default());
    let thrown: Vec<_> = account.thrown_out.iter().map(|out| out.round).collect();
    assert_eq!((thrown, verdict_of(&account)), (vec![3], Verdict::Slower));
}

#[test]
fn it_ends_when_the_time_is_up_and_can_go_on() {
    let mut lab = Lab::new(&[1.0, 1.0], 0.05, 2);
    let mut driver = Driver::new(lab.plan(Terms { most_time: Duration::from_secs(50), ..Terms::default() }));
    lab.drive(&mut driver, Event::Begin);
    let first = driver.account().clone();
    assert_eq!((first.ending.clone(), first.restored), (Some(Ending::TimeUp), Some(true)));
    assert_eq!(verdict_of(&first), Verdict::Inconclusive);
    assert!(first.rounds_needed().unwrap() > 2 * first.rounds);
    assert!(meaning(&first, &first.effects[0]).contains("rounds more"));
    lab.drive(&mut driver, Event::Longer(Duration::from_secs(1000), Duration::from_secs(50)));
    assert!(driver.account().rounds > first.rounds && driver.account().has_ended());
}

#[test]
fn verdicts_come_at_looks_and_small_differences_are_said_to_be_small() {
    let mut lab = Lab::new(&[1.0, 1.01], 0.004, 5);
    let account = lab.run(Terms::default());
    assert_eq!(verdict_of(&account), Verdict::SmallerThanMargin);
    let looks: Vec<u32> = account.looks.iter().map(|look| look.round).collect();
    assert_eq!(looks, [8, 12, 18, 27, 41, 62][..looks.len()]);
    assert_eq!(
        (Some(account.rounds), account.effects[0].decided),
        (looks.last().copied(), looks.last().copied())
    );
    assert_eq!(account.samples.len(), 2 * (account.rounds as usize + 1));

    // Between looks an interval is known, its verdict is not.
    let mut lab = Lab::new(&[1.0, 0.5], 0.001, 1);
    lab.stop_after = Some(3 * 2 * 7);
    let account = lab.run(Terms::default());
    assert_eq!((account.rounds, account.looks.len()), (6, 0));
    assert_eq!(verdict_of(&account), Verdict::Inconclusive);
    assert!(account.effects[0].high < 0.6);
}

#[test]
fn an_extension_halves_the_error_of_its_looks() {
    let mut lab = Lab::new(&[1.0, 0.9], 0.01, 3);
    let mut driver = Driver::new(lab.plan(Terms::default()));
    lab.drive(&mut driver, Event::Begin);
    let first = driver.account().clone();
    assert_eq!(first.ending, Some(Ending::Decided));
    lab.drive(&mut driver, Event::Longer(Duration::from_secs(1000), Duration::ZERO));
    let levels: Vec<f64> = driver.account().looks.iter().map(|look| 1.0 - look.level).collect();
    assert!((levels[0] / levels[levels.len() - 1] - 2.0).abs() < 1e-9, "{levels:?}");
    assert_eq!(verdict_of(driver.account()), Verdict::Slower);
    assert!(driver.account().effects[0].decided > first.effects[0].decided);
}

/// What a hundred experiments end in, each with another seed.
fn verdicts(factor: f64, spread: f64) -> Vec<Verdict> {
    (0..100).map(|seed| verdict_of(&Lab::new(&[1.0, factor], spread, seed).run(Terms::default()))).collect()
}

#[test]
fn equal_arms_make_no_difference_and_a_slower_one_is_found() {
    for spread in [0.003, 0.01, 0.02] {
        let equal = verdicts(1.0, spread);
        let same = equal.iter().filter(|verdict| **verdict == Verdict::NoDifference).count();
        assert!(same >= 97, "{same} of 100 with a spread of {spread}");
        let slower = verdicts(0.95, spread).iter().filter(|verdict| **verdict == Verdict::Slower).count();
        assert!(slower >= 99, "{slower} of 100 with a spread of {spread}");
    }
}

#[test]
fn stopping_when_the_interval_leaves_out_one_would_lie() {
    let false_verdict = |seed: u64| {
        let mut random = Random::new(seed);
        let mut logs: Vec<f64> = (0..7).map(|_| random.normal()).collect();
        (0..100).any(|_| {
            logs.push(random.normal());
            let interval = crate::experiment::statistics::Interval::of(&logs, 0.95).unwrap();
            interval.middle.abs() > interval.half
        })
    };
    let lies = (0..300).filter(|seed| false_verdict(*seed)).count();
    assert!(lies > 60, "{lies} of 300 experiments with equal arms would have ended in a difference");
}

#[test]
fn files_to_read_instead_are_kept_whichever_step_was_refused() {
    for step in ["set up", "run"] {
        let mut lab = Lab::new(&[1.0, 1.0], 0.001, 1);
        lab.fails = Some((0, step, u32::MAX));
        let account = lab.run(Terms::default());
        let files = account.refused.map(|why| why.files().len());
        assert_eq!((files, account.rounds), (Some(1), 0), "{step}");
    }
}

#[test]
fn targets_that_cannot_be_read_end_it_before_anything_is_set_up() {
    let mut driver = Driver::new(Lab::new(&[1.0, 1.0], 0.001, 1).plan(Terms::default()));
    driver.step(Event::Begin);
    let why = Failed::new("/dev/sda: no read succeeded: EIO; check `dmesg`", Some(libc::EIO));
    assert_eq!(driver.step(Event::Unreadable(why.clone())), [Action::Restore]);
    assert_eq!(driver.step(Event::Restored(Ok(()), Duration::ZERO)), [Action::End]);
    assert_eq!(driver.account().ending, Some(Ending::Failed(why.to_string())), "a target, not an arm");
}

#[test]
fn a_run_without_a_figure_names_the_error_of_its_ramp() {
    let mut driver = Driver::new(Lab::new(&[1.0, 1.0], 0.001, 1).plan(Terms::default()));
    driver.step(Event::Begin);
    driver.step(Event::SetUp(Ok(())));
    let mut ran = run(&["nvme0n1"], 4096, Workload::default());
    (ran.targets[0].ios, ran.targets[0].bytes, ran.targets[0].errors) = (0, 0, 0);
    ran.targets[0].first_error = Some(Label::new("EIO: Input/output error on /dev/nvme0n1 at byte 0"));
    let ran = Ran { run: ran, disturbed: Vec::new(), surroundings: Surroundings::default() };
    driver.step(Event::Ran(Ok(Box::new(ran)), Duration::ZERO));
    let left_out = driver.account().arms.iter().find_map(|arm| arm.left_out.clone()).unwrap();
    assert!(left_out.starts_with("EIO: "), "{left_out}");
}

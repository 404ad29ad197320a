//! Error rates of experiments' verdicts, by simulation: thousands of experiments with known effects through the real driver.
//!
//! `cargo bench --bench verdicts [-- EXPERIMENTS]` (6 000 a scenario without a number). Prints Markdown and ends with
//! status 1 where false differences exceed 5 %, or intervals miss the truth in more than 5 %, by more than three standard errors.
#![expect(clippy::unwrap_used, reason = "a bench ends where something is not there")]

use std::{
    io::{self, Write},
    process::ExitCode,
    thread,
    time::Duration,
};

use iodyno::{
    experiment::{
        Account, Action, Arm, Driver, Event, Plan, Ran, Surroundings, Terms, plan::Wishes, shuffle::Random,
        statistics::median, table, verdict,
    },
    model::{Metric, RunSummary, TargetSummary, Verdict, Workload},
};

/// Noise of a run's logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    /// Independent and normal.
    Normal(f64),
    /// Correlated with the run before, as the machine changes slowly: standard deviation, correlation.
    Correlated(f64, f64),
    /// Correlated with the arm's run before, as if each arm had a machine of its own: standard deviation, correlation.
    CorrelatedArms(f64, f64),
    /// Independent, and 5 % slower at the end of 140 rounds than at the start.
    Drifting(f64),
    /// Independent, and from some run on 5 % slower.
    Stepping(f64),
    /// Independent, and 2 % of the runs 30 % slower.
    Outliers(f64),
    /// Independent, and by chance 5 % slower or faster.
    Bimodal(f64),
}

struct Scenario {
    noise: Noise,
    /// What the second arm reads more than the first one, a share; all further arms equal the first.
    effect: f64,
    arms: usize,
    /// How often `m` is pressed after the end.
    extended: u32,
    most_time: Duration,
    /// Whether a miss counts: strongly correlated noise is only reported.
    is_judged: bool,
}

/// Outcomes of one experiment.
struct Outcome {
    /// Whether an arm equal to the baseline was called different.
    false_difference: bool,
    /// Intervals, and those that contain the truth.
    intervals: usize,
    covered: usize,
    /// The verdict of the second arm.
    verdict: Verdict,
    rounds: u32,
    noticed: bool,
}

fn main() -> ExitCode {
    let count = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(6000);
    let mut out = io::stdout();
    out.write_all(
        b"| noise | effect | arms | `m` | false differences | coverage | faster | smaller than margin | no difference | open | rounds | noticed |\n\
          |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    )
    .unwrap();
    let mut failed = 0;
    for (index, scenario) in scenarios().iter().enumerate() {
        let outcomes = simulate(scenario, count, index as u64);
        failed += u32::from(!print(&mut out, scenario, &outcomes));
    }
    writeln!(out, "\n{count} experiments a scenario; {failed} beyond their nominal rates.").unwrap();
    ExitCode::from(u8::from(failed > 0))
}

fn scenarios() -> Vec<Scenario> {
    let scenario = |noise, effect, arms| Scenario {
        noise,
        effect,
        arms,
        extended: 0,
        most_time: Duration::from_mins(10),
        is_judged: true,
    };
    let mut all = Vec::new();
    for noise in [0.01, 0.03, 0.1] {
        all.extend([2, 5, 9].map(|arms| scenario(Noise::Normal(noise), 0.0, arms)));
    }
    // With time for every look.
    for arms in [2, 9] {
        all.push(Scenario { most_time: Duration::from_hours(2), ..scenario(Noise::Normal(0.1), 0.0, arms) });
    }
    for noise in [0.01, 0.03] {
        all.extend([0.01, 0.02, 0.03, 0.05, 0.2].map(|effect| scenario(Noise::Normal(noise), effect, 2)));
    }
    all.extend([0.05, 0.2].map(|effect| scenario(Noise::Normal(0.03), effect, 9)));
    let others = [
        Noise::Correlated(0.03, 0.3),
        Noise::Correlated(0.03, 0.6),
        Noise::Drifting(0.03),
        Noise::Stepping(0.01),
        Noise::Outliers(0.01),
        Noise::Bimodal(0.01),
    ];
    for noise in others {
        let is_judged = noise != Noise::Correlated(0.03, 0.6);
        all.extend(
            [(0.0, 2), (0.05, 2), (0.0, 5)]
                .map(|(effect, arms)| Scenario { is_judged, ..scenario(noise, effect, arms) }),
        );
    }
    // `m` until it is decided, three times at most.
    for (noise, arms) in [(0.03, 2), (0.1, 2), (0.1, 5)] {
        all.push(Scenario { extended: 3, ..scenario(Noise::Normal(noise), 0.0, arms) });
    }
    // Interleaving does not help against noise that each arm has for itself; the last column shows whether it is noticed.
    for correlation in [0.3, 0.6] {
        let noise = Noise::CorrelatedArms(0.03, correlation);
        all.push(Scenario { is_judged: false, ..scenario(noise, 0.0, 2) });
    }
    all
}

/// All experiments of a scenario, on two threads.
fn simulate(scenario: &Scenario, count: u64, index: u64) -> Vec<Outcome> {
    thread::scope(|scope| {
        let halves: Vec<_> = (0..2)
            .map(|half| {
                scope.spawn(move || {
                    let seeds = (0..count).filter(move |seed| seed % 2 == half);
                    seeds.map(|seed| experiment(scenario, (index << 32) + seed)).collect::<Vec<_>>()
                })
            })
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

fn experiment(scenario: &Scenario, seed: u64) -> Outcome {
    let mut runs = Runs::new(scenario, seed);
    let mut driver = Driver::new(plan(scenario, seed));
    runs.drive(&mut driver, Event::Begin);
    for _ in 0..scenario.extended {
        // As the screen does: as many rounds as it says it needs.
        let time = driver.account().plan.terms.most_time;
        runs.drive(&mut driver, Event::Longer(time, runs.at));
    }
    outcome(scenario, driver.account())
}

fn plan(scenario: &Scenario, seed: u64) -> Plan {
    let arms = (0..scenario.arms).map(|index| Arm {
        label: index.to_string(),
        settings: Vec::new(),
        workload: Workload::default(),
        awake: false,
        free_memory: false,
        optional: false,
        against: if index == 0 { Vec::new() } else { vec![(0, 1.0)] },
    });
    Plan {
        experiment: table::find("own").unwrap(),
        metric: Metric::Iops,
        arms: arms.collect(),
        terms: Terms { seed, most_time: scenario.most_time, ..Terms::default() },
        simulated: true,
        targets: Vec::new(),
        wishes: Wishes::default(),
    }
}

/// The simulated machine.
struct Runs<'a> {
    scenario: &'a Scenario,
    random: Random,
    /// Runs so far.
    count: u32,
    /// The noise of the run before, in standard deviations; for each arm, where that counts.
    before: Vec<f64>,
    /// The run from which on a stepping machine is slower.
    step: u32,
    at: Duration,
}

/// A run with its warm-up and the change of settings.
const RUN: Duration = Duration::from_millis(2500);

impl<'a> Runs<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
        let before = (0..scenario.arms).map(|_| random.normal()).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 100")]
        let step = (random.unit() * 40.0 * scenario.arms as f64) as u32;
        Self { scenario, random, count: 0, before, step, at: Duration::ZERO }
    }

    fn drive(&mut self, driver: &mut Driver, first: Event) {
        let mut actions = driver.step(first);
        let mut arm = 0;
        while let Some(action) = actions.pop() {
            actions = driver.step(match action {
                Action::SetUp(which) => {
                    arm = which;
                    Event::SetUp(Ok(()))
                }
                Action::Run(workload) => {
                    let run = self.run(arm, *workload);
                    let (disturbed, surroundings) = (Vec::new(), Surroundings::default());
                    Event::Ran(Ok(Box::new(Ran { run, disturbed, surroundings })), self.at)
                }
                Action::Restore => {
                    self.at += RUN;
                    Event::Restored(Ok(()), self.at)
                }
                Action::Abort | Action::End => return,
            });
        }
    }

    fn run(&mut self, arm: usize, workload: Workload) -> RunSummary {
        let effect = if arm == 1 { self.scenario.effect.ln_1p() } else { 0.0 };
        let ios = 1e12 * (effect + self.noise(arm)).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of reads")]
        let ios = ios as u64;
        let target =
            TargetSummary { ios, bytes: ios, runtime: Duration::from_secs(1), ..TargetSummary::default() };
        RunSummary { workload, targets: vec![target], simulated: true, ..RunSummary::default() }
    }

    /// The next value of an autoregressive process of variance 1.
    fn after(&mut self, process: usize, correlation: f64, normal: f64) -> f64 {
        let before = &mut self.before[process];
        *before = correlation * *before + (1.0 - correlation * correlation).sqrt() * normal;
        *before
    }

    fn noise(&mut self, arm: usize) -> f64 {
        self.count += 1;
        let normal = self.random.normal();
        match self.scenario.noise {
            Noise::Normal(spread) => spread * normal,
            Noise::Correlated(spread, correlation) => spread * self.after(0, correlation, normal),
            Noise::CorrelatedArms(spread, correlation) => spread * self.after(arm, correlation, normal),
            Noise::Drifting(spread) => {
                let rounds = f64::from(self.count) / self.scenario.arms as f64;
                spread * normal - 0.05 * rounds / 140.0
            }
            Noise::Stepping(spread) => spread * normal - if self.count > self.step { 0.05 } else { 0.0 },
            Noise::Outliers(spread) => {
                spread * normal + if self.random.unit() < 0.02 { 0.7_f64.ln() } else { 0.0 }
            }
            Noise::Bimodal(spread) => spread * normal + if self.random.unit() < 0.5 { 0.05 } else { -0.05 },
        }
    }
}

fn outcome(scenario: &Scenario, account: &Account) -> Outcome {
    let truth = |arm: usize| if arm == 1 { 1.0 + scenario.effect } else { 1.0 };
    let is_equal = |arm: usize| (truth(arm) - 1.0).abs() < 1e-12;
    let is_different =
        |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::SmallerThanMargin);
    let wrong = account.effects.iter().any(|effect| is_equal(effect.arm) && is_different(effect.verdict));
    let holds =
        account.effects.iter().filter(|effect| (effect.low..=effect.high).contains(&truth(effect.arm)));
    Outcome {
        false_difference: wrong,
        intervals: account.effects.len(),
        covered: holds.count(),
        verdict: account.effect(1).map_or(Verdict::Invalid, |effect| effect.verdict),
        rounds: account.rounds,
        noticed: !verdict::notes(account).is_empty(),
    }
}

/// Prints a row; whether its rates are nominal.
fn print(out: &mut impl Write, scenario: &Scenario, outcomes: &[Outcome]) -> bool {
    let count = outcomes.len() as f64;
    let share = |is: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| is(one)).count() as f64 / count;
    let wrong = share(&|one| one.false_difference);
    // Of all intervals of an experiment together.
    let covered = share(&|one| one.covered == one.intervals);
    let verdict = |verdict| percent(share(&|one: &Outcome| one.verdict == verdict));
    let slack = 3.0 * (0.05 * 0.95 / count).sqrt();
    let is_nominal = wrong <= 0.05 + slack && covered >= 0.95 - slack;
    let rounds: Vec<f64> = outcomes.iter().map(|one| f64::from(one.rounds)).collect();
    let mark = match (is_nominal, scenario.is_judged) {
        (true, _) => "",
        (false, true) => " **beyond**",
        (false, false) => " (reported)",
    };
    let name = match scenario.noise {
        Noise::Normal(spread) => format!("{} %", spread * 100.0),
        Noise::Correlated(spread, by) => format!("{} %, AR(1) of {by}", spread * 100.0),
        Noise::CorrelatedArms(spread, by) => format!("{} %, AR(1) of {by} in each arm", spread * 100.0),
        Noise::Drifting(spread) => format!("{} %, drift of 5 %", spread * 100.0),
        Noise::Stepping(spread) => format!("{} %, one step of 5 %", spread * 100.0),
        Noise::Outliers(spread) => format!("{} %, 2 % outliers of -30 %", spread * 100.0),
        Noise::Bimodal(spread) => format!("{} %, bimodal ±5 %", spread * 100.0),
    };
    let time = if scenario.most_time > Duration::from_mins(10) { ", 2 h" } else { "" };
    writeln!(
        out,
        "| {name}{time} | {} | {} | {} | {}{mark} | {} | {} | {} | {} | {} | {:.0} | {} |",
        percent(scenario.effect),
        scenario.arms,
        scenario.extended,
        percent(wrong),
        percent(covered),
        verdict(Verdict::Faster),
        verdict(Verdict::SmallerThanMargin),
        verdict(Verdict::NoDifference),
        verdict(Verdict::Inconclusive),
        median(&rounds).unwrap_or(0.0),
        percent(share(&|one| one.noticed)),
    )
    .unwrap();
    is_nominal || !scenario.is_judged
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

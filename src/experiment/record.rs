//! The stored form of a finished experiment: its account as plain data, with the options that repeat it.

use std::time::Duration;

use super::{
    account::Account,
    knee::Knee,
    plan::{Assignment, Plan, Terms},
    verdict,
};
use crate::{
    model::{ArmRecord, EffectRecord, ExperimentRecord, KneeRecord, SettingRecord},
    text::Label,
};

impl Account {
    /// The record of a finished experiment; `boot` and `started` as in [`ExperimentRecord`].
    pub fn record(&self, boot: Option<&Label>, started: i64) -> ExperimentRecord {
        let plan = &self.plan;
        ExperimentRecord {
            boot: boot.cloned().unwrap_or_default(),
            started,
            name: Label::new(plan.experiment.id.0),
            question: Label::new(plan.experiment.question),
            metric: plan.metric,
            baseline: plan
                .arms
                .get(plan.baseline())
                .map_or_else(Label::default, |arm| Label::new(&arm.label)),
            targets: plan.targets.clone(),
            options: options(plan),
            arms: (0..plan.arms.len()).map(|index| arm(self, index)).collect(),
            effects: self.compared().map(|arm| effect(self, arm)).collect(),
            knee: knee(self),
            margin: plan.terms.margin,
            detectable: self.effects.iter().map(|effect| effect.detectable).reduce(f64::max),
            rounds: self.rounds,
            seed: plan.terms.seed,
            looks: self.looks.clone(),
            samples: self.samples.clone(),
            thrown_out: self.thrown_out.len(),
            thrown_out_because: self.thrown_out.clone(),
            ended_because: verdict::ending(self),
            restored: self.restored == Some(true),
            simulated: plan.simulated,
        }
    }
}

fn arm(account: &Account, index: usize) -> ArmRecord {
    let (arm, so_far) = (&account.plan.arms[index], &account.arms[index]);
    let setting = |set: &Assignment| SettingRecord {
        device: Label::new(&set.device.to_string()),
        setting: Label::new(set.setting.0),
        value: Label::new(&set.value),
    };
    ArmRecord {
        label: Label::new(&arm.label),
        settings: arm.settings.iter().map(setting).collect(),
        workload: account.plan.timed(index),
        noise: account.noise(index),
        runs: so_far.runs.clone(),
        left_out: so_far.left_out.clone(),
    }
}

fn knee(account: &Account) -> Option<KneeRecord> {
    let arm = match account.knee()? {
        Knee::At(arm) => Some(Label::new(&account.plan.arms[arm].label)),
        Knee::Beyond { .. } | Knee::Unknown { .. } => None,
    };
    Some(KneeRecord { arm, meaning: account.knee_sentence()? })
}

fn effect(account: &Account, arm: usize) -> EffectRecord {
    let found = account.effect(arm);
    EffectRecord {
        arm: Label::new(&account.plan.arms[arm].label),
        against: verdict::against(account, arm),
        ratio: found.map(|effect| effect.ratio),
        low: found.map(|effect| effect.low),
        high: found.map(|effect| effect.high),
        confidence: account.plan.terms.confidence,
        verdict: found.map_or_else(|| account.without_interval(), |effect| effect.verdict),
        detectable: found.map(|effect| effect.detectable),
        decided: found.and_then(|effect| effect.decided),
        autocorrelation: account.dependence(arm),
        meaning: found.map_or_else(String::new, |effect| verdict::meaning(account, effect)),
    }
}

/// Options of `iodyno experiment run` that differ from the defaults.
fn options(plan: &Plan) -> Vec<(String, String)> {
    let (wishes, terms, usual) = (&plan.wishes, &plan.terms, Terms::default());
    let time = |time: Duration| match time.subsec_nanos() {
        0 => time.as_secs().to_string(),
        _ => format!("{}ms", time.as_millis()),
    };
    let other = |is: Duration, usual: Duration| (is != usual).then(|| time(is));
    let share = |is: f64, usual: f64| ((is - usual).abs() > f64::EPSILON).then(|| is.to_string());
    let one = [
        ("metric", wishes.metric.map(|metric| metric.name().to_owned())),
        ("runtime", other(terms.measured, usual.measured)),
        ("ramp_time", other(terms.warm_up, usual.warm_up)),
        ("rounds", (terms.least_rounds != usual.least_rounds).then(|| terms.least_rounds.to_string())),
        ("max-time", other(terms.most_time, usual.most_time)),
        ("margin", share(terms.margin, usual.margin)),
        ("confidence", share(terms.confidence, usual.confidence)),
        ("randseed", (terms.seed != usual.seed).then(|| terms.seed.to_string())),
    ];
    // Only the experiment `own` has arms of the user.
    let arms = wishes.arms.iter().filter(|_| plan.experiment.id.0 == "own");
    let arms = arms.map(|arm| ("arm".to_owned(), arm.clone()));
    let one = one.into_iter().filter_map(|(option, value)| Some((option, value?)));
    let one = wishes.options.0.iter().cloned().chain(one);
    arms.chain(one.map(|(option, value)| (option.to_owned(), value))).collect()
}

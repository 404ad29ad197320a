//! `experiment list --json` and `experiment run --json`.

use serde::Serialize;

use super::{SCHEMA, VERSION};
use crate::{
    experiment::{Account, Plan, Run, ThrownOut, verdict},
    model::{ExperimentId, Metric, Verdict, Workload},
    report::experiment::Listed,
};

/// The list.
#[derive(Debug, Serialize)]
pub struct ExperimentsDocument {
    schema: u32,
    version: &'static str,
    experiments: Vec<ListedRow>,
}

#[derive(Debug, Serialize)]
struct ListedRow {
    name: ExperimentId,
    question: &'static str,
    metric: Metric,
    compares: &'static str,
    changes: &'static str,
    needs: &'static str,
    found: &'static str,
    available: bool,
    why_not: Option<String>,
    arms: Vec<String>,
    seconds: Option<f64>,
}

impl ExperimentsDocument {
    /// Of these experiments.
    pub fn new(rows: &[Listed]) -> Self {
        let experiments = rows.iter().map(|(row, plan)| ListedRow {
            name: row.id,
            question: row.question,
            metric: row.metric,
            compares: row.arms,
            changes: row.changes,
            needs: row.needs,
            found: row.found,
            available: plan.is_ok(),
            why_not: plan.as_ref().err().map(|why| format!("needs {why}")),
            arms: plan.iter().flat_map(|plan| plan.arms.iter().map(|arm| arm.label.clone())).collect(),
            seconds: plan.as_ref().ok().map(|plan| plan.least_time().as_secs_f64()),
        });
        Self { schema: SCHEMA, version: VERSION, experiments: experiments.collect() }
    }
}

/// One experiment's result, with CONTRACT's names.
#[derive(Debug, Serialize)]
pub struct ExperimentDocument<'a> {
    schema: u32,
    version: &'static str,
    name: ExperimentId,
    question: &'static str,
    metric: Metric,
    /// Label of the arm that the others are held against.
    baseline: &'a str,
    arms: Vec<ArmRow<'a>>,
    effects: Vec<EffectRow<'a>>,
    margin: f64,
    /// The largest of the effects' smallest detectable differences, a share.
    detectable: Option<f64>,
    rounds: u32,
    thrown_out: usize,
    thrown_out_because: &'a [ThrownOut],
    ended_because: Option<String>,
    /// Rounds it would take until every interval is narrow enough.
    rounds_needed: Option<u32>,
    restored: bool,
    simulated: bool,
}

#[derive(Debug, Serialize)]
struct ArmRow<'a> {
    label: &'a str,
    settings: Vec<SettingRow<'a>>,
    workload: &'a Workload,
    runs: &'a [Run],
    left_out: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct SettingRow<'a> {
    device: String,
    setting: &'static str,
    value: &'a str,
}

#[derive(Debug, Serialize)]
struct EffectRow<'a> {
    arm: &'a str,
    against: String,
    /// `null`, like the rest, where there are too few rounds for an interval.
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    confidence: f64,
    verdict: Verdict,
    detectable: Option<f64>,
}

impl<'a> ExperimentDocument<'a> {
    /// Of an experiment that has ended.
    pub fn new(account: &'a Account) -> Self {
        let plan = &account.plan;
        Self {
            schema: SCHEMA,
            version: VERSION,
            name: plan.experiment.id,
            question: plan.experiment.question,
            metric: plan.metric,
            baseline: plan.arms.get(plan.baseline()).map_or("", |arm| arm.label.as_str()),
            arms: arms(account, plan),
            effects: account.compared().map(|arm| effect(account, arm)).collect(),
            margin: plan.terms.margin,
            detectable: account.effects.iter().map(|effect| effect.detectable).reduce(f64::max),
            rounds: account.rounds,
            thrown_out: account.thrown_out.len(),
            thrown_out_because: &account.thrown_out,
            ended_because: verdict::ending(account),
            rounds_needed: account.rounds_needed(),
            restored: account.restored == Some(true),
            simulated: plan.simulated,
        }
    }
}

fn arms<'a>(account: &'a Account, plan: &'a Plan) -> Vec<ArmRow<'a>> {
    let row = |(arm, so_far): (&'a crate::experiment::Arm, &'a crate::experiment::ArmAccount)| ArmRow {
        label: &arm.label,
        settings: arm
            .settings
            .iter()
            .map(|set| SettingRow {
                device: set.device.to_string(),
                setting: set.setting.0,
                value: &set.value,
            })
            .collect(),
        workload: &arm.workload,
        runs: &so_far.runs,
        left_out: so_far.left_out.as_deref(),
    };
    plan.arms.iter().zip(&account.arms).map(row).collect()
}

fn effect(account: &Account, arm: usize) -> EffectRow<'_> {
    let found = account.effect(arm);
    EffectRow {
        arm: &account.plan.arms[arm].label,
        against: verdict::against(account, arm),
        ratio: found.map(|effect| effect.ratio),
        low: found.map(|effect| effect.low),
        high: found.map(|effect| effect.high),
        confidence: account.plan.terms.confidence,
        verdict: found.map_or_else(|| verdict::without_interval(account), |effect| effect.verdict),
        detectable: found.map(|effect| effect.detectable),
    }
}

//! `experiment list --json` and `experiment run --json`.

use serde::Serialize;

use super::{SCHEMA, VERSION};
use crate::{
    model::{ExperimentId, ExperimentRecord, Metric},
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
            why_not: plan.as_ref().err().map(ToString::to_string),
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
    #[serde(flatten)]
    record: &'a ExperimentRecord,
}

impl<'a> ExperimentDocument<'a> {
    /// Of an experiment that has ended.
    pub const fn new(record: &'a ExperimentRecord) -> Self {
        Self { schema: SCHEMA, version: VERSION, record }
    }
}

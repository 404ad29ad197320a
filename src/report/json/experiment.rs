//! The document of `iodyno experiment list --json`.

use serde::Serialize;

use crate::{
    model::{ExperimentId, Metric},
    report::experiment::Listed,
};

#[derive(Debug, Serialize)]
pub(crate) struct ExperimentsDocument {
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
    pub(crate) fn new(rows: &[Listed]) -> Self {
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
        Self { experiments: experiments.collect() }
    }
}

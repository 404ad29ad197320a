//! Experiments as text: the list, a line for each round, the result.

use std::fmt::Write;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::{
    ended,
    table::{self, Column},
    wrapped,
};
use crate::{
    experiment::{
        Account, Experiment, Needs, Plan, Run,
        verdict::{self, figure, in_words, percent},
    },
    model::{ExperimentId, Metric},
    text::Label,
    units::UnitSystem,
};

/// An experiment, and its plan on this machine or its unmet need.
pub(crate) type Listed = (&'static Experiment, Result<Plan, Needs>);

#[derive(Debug, Serialize)]
pub(crate) struct ListDocument {
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

impl ListDocument {
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

pub(crate) fn list(rows: &[Listed], width: Option<usize>) -> String {
    let columns =
        [Column::left("NAME"), Column::left("QUESTION"), Column::right("TIME"), Column::left("ARMS")];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(row, plan)| {
            let (time, arms) = match plan {
                Ok(plan) => (in_words(plan.least_time()), row.arms.to_owned()),
                Err(why) => ("-".to_owned(), why.to_string()),
            };
            vec![row.id.0.to_owned(), row.question.to_owned(), time, arms]
        })
        .collect();
    table::text(&columns, &rows, width)
}

/// Lines of a text in a terminal of so many columns; those that are too long go on below.
pub(crate) fn folded(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines = text.lines().flat_map(|line| {
        let words = line.trim_start_matches(' ');
        if line.width() <= width {
            return vec![line.to_owned()];
        }
        wrapped(&line[..line.len() - words.len()], words, width)
    });
    ended(lines)
}

pub(crate) fn heading(plan: &Plan) -> String {
    let simulated = if plan.simulated { "SIMULATED  " } else { "" };
    let mut text = format!("{simulated}{}  {}\n", plan.experiment.question, plan.subject());
    let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    let _infallible = writeln!(
        text,
        "{}; balanced random order, at least {} rounds, {} or more, {} at most",
        labels.join(", "),
        plan.terms.least_rounds,
        in_words(plan.least_time()),
        in_words(plan.terms.most_time)
    );
    if !plan.experiment.changes.is_empty() {
        let _infallible = writeln!(text, "changes {}, restored afterwards", plan.experiment.changes);
    }
    text
}

/// The latest round: its figures, and the width of the intervals.
pub(crate) fn round(account: &Account) -> String {
    let figures: Vec<String> = account
        .arms
        .iter()
        .zip(&account.plan.arms)
        .filter_map(|(so_far, arm)| {
            let value = so_far.runs.last()?.value;
            Some(format!("{} {}", arm.label, figure(account.plan.metric, value, UnitSystem::Decimal)))
        })
        .collect();
    let width = account.widths.last().map(|width| {
        format!("   widest interval ±{}, ±{} decides in any case", percent(*width), percent(account.narrow()))
    });
    format!("{:>3}  {}{}\n", account.rounds, figures.join(", "), width.unwrap_or_default())
}

/// The latest discarded round.
pub(crate) fn discarded(account: &Account) -> String {
    account.thrown_out.last().map_or_else(String::new, |out| {
        format!("  -  round {} discarded: {}, {}\n", out.round, Label::new(&out.arm), Label::new(&out.why))
    })
}

pub(crate) fn result(account: &Account, width: Option<usize>) -> String {
    let plan = &account.plan;
    let mut rows = Vec::new();
    for (index, arm) in plan.arms.iter().enumerate() {
        let middle = |of: fn(&Run) -> Option<f64>, metric: Metric| {
            let value = account.figure(index, of);
            value.map_or_else(String::new, |value| figure(metric, value, UnitSystem::Decimal))
        };
        let mut cells = vec![format!("  {}", arm.label)];
        match &account.arms[index].left_out {
            Some(why) => cells.push(format!("left out: {}", Label::new(why))),
            None => cells.extend([
                middle(|run| Some(run.iops), Metric::Iops),
                middle(|run| Some(run.bytes_per_second), Metric::BytesPerSecond),
                middle(|run| run.cpu_ns_per_io, Metric::CpuNsPerIo),
                middle(|run| run.latency_p99, Metric::LatencyP99),
            ]),
        }
        rows.push(cells);
    }
    let columns = ["  ARM", "READS", "RATE", "CPU", "LATENCY"].map(Column::left);
    let mut text = format!("\n{}\n", table::text(&columns, &rows, width));
    if let Some(knee) = account.knee_sentence() {
        let _infallible = writeln!(text, "{knee}");
    }
    for effect in &account.effects {
        let _infallible = writeln!(text, "{}", verdict::sentence(account, effect));
        let _infallible = writeln!(text, "  {}", verdict::meaning(account, effect));
    }
    for note in verdict::notes(account) {
        let _infallible = writeln!(text, "{}", Label::new(&note));
    }
    if account.effects.is_empty() {
        text.push_str("No verdict: too few rounds.\n");
    }
    let simulated = if plan.simulated { " All figures are SIMULATED." } else { "" };
    let _infallible = writeln!(text, "{}{simulated}", verdict::closing(account));
    folded(&text, width)
}

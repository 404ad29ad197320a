//! `iodyno compare`: differences between two sheets or captures.

mod side;
mod changes;
mod pairs;
mod results;

use serde::Serialize;

use changes::Change;
use results::{ExperimentChange, RunChange};
pub use side::Side;

use super::sheet::{Block, Format, Span, boxed, plain_text, written};
use crate::units;

/// Differences between two sheets.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Whether a side's figures come from simulated drives.
    simulated: bool,
    /// The share of its rate a run may lose before it counts as slower.
    margin: f64,
    /// Whether a run, or an arm of an experiment, got slower by more than that.
    slower: bool,
    changes: Vec<Change>,
    findings_gone: Vec<String>,
    findings_new: Vec<String>,
    runs: Vec<RunChange>,
    /// Tests that only one side has, by title.
    runs_unmatched: Vec<String>,
    experiments: Vec<ExperimentChange>,
    /// Experiments that only one side has, by title.
    experiments_unmatched: Vec<String>,
    /// Parts that one side was made without.
    not_compared: Vec<&'static str>,
}

impl Comparison {
    /// `margin` is a share: 0.02 for 2 %.
    pub fn new(before: &Side, after: &Side, margin: f64) -> Self {
        let mut not_compared = Vec::new();
        let mut changes = Vec::new();
        match (&before.machine, &after.machine) {
            (Some(old), Some(new)) => changes.extend(changes::machine(old, new)),
            _ => not_compared.push("machine"),
        }
        match (before.places(), after.places()) {
            (Some(old), Some(new)) => changes.extend(changes::places(&old, &new)),
            _ => not_compared.push("tree"),
        }
        match (&before.settings, &after.settings) {
            (Some(old), Some(new)) => changes.extend(changes::settings(old, new)),
            _ => not_compared.push("settings"),
        }
        let (mut findings_gone, mut findings_new) = (Vec::new(), Vec::new());
        match (&before.findings, &after.findings) {
            (Some(old), Some(new)) => {
                (findings_gone, findings_new) = (titles_without(old, new), titles_without(new, old));
            }
            _ => not_compared.push("findings"),
        }
        let (runs, runs_unmatched) = results::runs(before, after, margin);
        let (experiments, experiments_unmatched) = results::experiments(before, after, margin);
        Self {
            simulated: before.simulated || after.simulated,
            margin,
            slower: runs.iter().any(RunChange::is_slower)
                || experiments.iter().any(ExperimentChange::is_slower),
            changes,
            findings_gone,
            findings_new,
            runs,
            runs_unmatched,
            experiments,
            experiments_unmatched,
            not_compared,
        }
    }

    /// Whether a run, or an arm of an experiment, got slower by more than the margin.
    pub const fn is_slower(&self) -> bool {
        self.slower
    }

    /// As a post.
    pub fn text(&self, format: Format) -> String {
        let mut blocks = vec![Block::Title("Before and after".to_owned())];
        if self.simulated {
            blocks.push(Block::Text(vec![
                Span::Strong("SIMULATED.".to_owned()),
                Span::Plain(" At least one side is a demo machine.".to_owned()),
            ]));
        }
        blocks.extend(self.results());
        blocks.extend(self.changed());
        blocks.extend(list("Resolved findings", &self.findings_gone));
        blocks.extend(list("New findings", &self.findings_new));
        if !self.not_compared.is_empty() {
            let text = format!("Not compared, missing on one side: {}.", self.not_compared.join(", "));
            blocks.push(plain_text(text));
        }
        written(blocks, format)
    }

    fn results(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        if !self.runs.is_empty() {
            blocks.push(Block::Heading("Runs".to_owned()));
            blocks.extend(self.runs.iter().map(|run| Block::Box(run.lines())));
        }
        blocks.extend(list("Runs on one side only", &self.runs_unmatched));
        if !self.experiments.is_empty() {
            blocks.push(Block::Heading("Experiments".to_owned()));
            blocks.extend(self.experiments.iter().map(|experiment| Block::Box(experiment.lines())));
        }
        blocks.extend(list("Experiments on one side only", &self.experiments_unmatched));
        let text = if self.runs.is_empty() && self.experiments.is_empty() {
            "No run exists on both sides, so speeds cannot be compared.".to_owned()
        } else {
            format!(
                "Slower or faster: the difference exceeds {} % and the spread between seconds or rounds.",
                units::three_digits(100.0 * self.margin)
            )
        };
        blocks.push(plain_text(text));
        blocks
    }

    fn changed(&self) -> Vec<Block> {
        let heading = Block::Heading("Changes".to_owned());
        if self.changes.is_empty() {
            let text = "None: machine, slots, links and settings are the same on both sides.";
            return vec![heading, plain_text(text)];
        }
        let lines = self.changes.iter().flat_map(|change| {
            let old = change.before.as_deref().unwrap_or("none");
            let new = change.after.as_deref().unwrap_or("none");
            boxed(&format!("{:<8} ", change.kind), &format!("{}: {old} → {new}", change.what))
        });
        vec![heading, Block::Box(lines.collect())]
    }
}

/// Titles of `these` whose finding is not among `those` in the same words.
fn titles_without(these: &[side::Finding], those: &[side::Finding]) -> Vec<String> {
    let gone =
        these.iter().filter(|one| !those.iter().any(|other| other.id == one.id && other.title == one.title));
    gone.map(|finding| finding.title.clone()).collect()
}

fn list(heading: &str, items: &[String]) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let items = items.iter().map(|item| vec![Span::Plain(item.clone())]).collect();
    vec![Block::Heading(heading.to_owned()), Block::List(items)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_a_sheet_or_none(text in any::<String>()) {
            if let Err(why) = Side::parse(&text) {
                prop_assert!(!why.contains('\n'));
            }
        }
    }
}

//! The runs of an experiment, the latest first: figures, discarded ones with their reason, what else the machine did.

use super::arms;
use crate::{
    experiment::{
        Account, Sample,
        verdict::{percent, short},
    },
    screens::widgets::paint::{Piece, cells, fit, hanging, label, piece},
    ui::{Shared, theme::Meaning},
    units::{BytesPerSecond, UnitSystem},
};

/// A column of the table: head, cells, whether it needs a wide terminal, text.
struct Column {
    head: &'static str,
    wide: u16,
    is_extra: bool,
    text: fn(&Account, &Sample, UnitSystem) -> String,
}

const fn column(
    head: &'static str,
    wide: u16,
    is_extra: bool,
    text: fn(&Account, &Sample, UnitSystem) -> String,
) -> Column {
    Column { head, wide, is_extra, text }
}

fn known(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

const COLUMNS: [Column; 10] = [
    column("round", 5, false, |_, run, _| run.round.to_string()),
    column("place", 5, true, |_, run, _| run.order.to_string()),
    column("started", 8, false, |_, run, _| format!("{:.1} s", run.began as f64 / 1e9)),
    column("result", 11, false, |account, run, units| {
        known(run.value, |value| short(account.plan.metric, value, units))
    }),
    column("other I/O", 10, true, |_, run, units| {
        known(run.surroundings.other_io, |rate| units.rate(BytesPerSecond(rate)))
    }),
    column("CPU", 5, false, |_, run, _| known(run.surroundings.cpu_load, |load| format!("{load:.0} %"))),
    column("other CPUs", 10, true, |_, run, _| {
        known(run.surroundings.other_cpus, |cpus| format!("{cpus:.1}"))
    }),
    column("drive", 5, false, |_, run, _| {
        known(run.surroundings.temperature, |celsius| format!("{celsius:.0} °C"))
    }),
    column("clock", 8, false, |_, run, _| {
        known(run.surroundings.cpu_khz, |khz| format!("{:.2} GHz", khz / 1e6))
    }),
    column("seed", 16, true, |_, run, _| format!("{:016x}", run.seed)),
];

const ARM: u16 = 13;
/// From this width on there is room for all columns.
pub(super) const WIDE: u16 = 116;

pub(super) fn lines(shared: &Shared, account: &Account, width: u16) -> Vec<Vec<Piece>> {
    let mut lines = head(account, width);
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| !column.is_extra || width >= WIDE).collect();
    let heads = columns.iter().map(|column| format!("  {:>wide$}", column.head, wide = column.wide.into()));
    let arm = format!("{:<wide$}", "arm", wide = usize::from(ARM));
    lines.push(vec![piece(format!("{arm}{}", heads.collect::<String>()), Meaning::Quiet)]);
    for run in account.samples.iter().rev() {
        let index = account.plan.arms.iter().position(|arm| arm.label == run.arm).unwrap_or(0);
        let meaning = if run.discarded.is_some() { Meaning::Quiet } else { Meaning::Text };
        let values = columns.iter().map(|column| {
            let text = (column.text)(account, run, shared.units);
            let blank = " ".repeat(usize::from(column.wide.saturating_sub(cells(&text))));
            format!("  {blank}{text}")
        });
        let values: String = values.collect();
        let name = fit(&run.arm, ARM);
        let blank = " ".repeat(usize::from(ARM.saturating_sub(cells(&name))));
        lines.push(vec![
            piece(format!("{name}{blank}"), arms::colour(account, index)),
            piece(values, meaning),
        ]);
        if let Some(why) = &run.discarded {
            lines.extend(hanging(
                label("", usize::from(ARM)),
                &format!("discarded: {why}"),
                Meaning::Warning,
                width,
            ));
        }
    }
    lines
}

/// Seed, looks with their level, noise of each arm.
fn head(account: &Account, width: u16) -> Vec<Vec<Piece>> {
    const LABEL: usize = 7;
    let looks =
        account.looks.iter().map(|look| format!("round {} at {:.2} %", look.round, look.level * 100.0));
    let looks: Vec<String> = looks.collect();
    let noise = account
        .plan
        .arms
        .iter()
        .enumerate()
        .filter_map(|(index, arm)| Some(format!("{} {}", arm.label, percent(account.noise(index)?))));
    let noise: Vec<String> = noise.collect();
    let or_none = |list: Vec<String>| if list.is_empty() { "none yet".to_owned() } else { list.join(", ") };
    let mut lines = Vec::new();
    for (name, text) in
        [("seed", account.plan.terms.seed.to_string()), ("looks", or_none(looks)), ("noise", or_none(noise))]
    {
        lines.extend(hanging(label(name, LABEL), &text, Meaning::Text, width));
    }
    lines
}

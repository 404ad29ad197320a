//! The fit: constants from rows of published figures, and rows predicted by the others.

use crate::{
    constants::{Constant, Constants},
    rows::{Metric, Outcome, Row, Twist, Use},
    table::FITTED,
};

/// Costs of requests are fitted together: a request's cycles are a product of powers, so their logarithms are a sum.
const TOGETHER: [Constant; 5] =
    [Constant::CyclesT, Constant::GrowthT, Constant::CyclesX, Constant::GrowthX, Constant::Several];

/// Packet sizes that PCI Express knows.
const PAYLOADS: [f64; 6] = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0];

/// What the model says of a row with the constants in `assets/`.
pub fn model(row: &Row) -> anyhow::Result<Outcome> {
    match row.twist {
        Twist::Unmodelled => Ok(Outcome::NoPrediction(row.why.unwrap_or_default().to_owned())),
        Twist::OtherCpu => Ok(Outcome::Figure(row.figure(Some(&fit(FITTED)?.exchanged()))?)),
        _ => Ok(Outcome::Figure(row.figure(None)?)),
    }
}

/// What the model says of a row with constants fitted to all other rows. A row that no constant is fitted to is left out
/// always.
pub fn left_out(row: &Row) -> anyhow::Result<Outcome> {
    if row.used != Use::Fitted {
        return model(row);
    }
    let constants = fit(FITTED.iter().filter(|other| other.work != row.work))?;
    let constants = constants.without_unknown_drives();
    let lost = row.depends.iter().find(|one| one.is_free() && constants.get(**one).is_none());
    if let Some(lost) = lost {
        return Ok(Outcome::NoPrediction(format!("no other row fixes {}", lost.words())));
    }
    Ok(Outcome::Figure(row.figure(Some(&constants))?))
}

/// Constants from these rows; those that they do not determine are missing.
pub fn fit<'a>(rows: impl IntoIterator<Item = &'a Row>) -> anyhow::Result<Constants> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut constants = Constants::default();
    let equations = rows.iter().filter(|row| row.depends.iter().all(|one| is_of_cost(*one)));
    let equations = equations.map(|row| equation(row, &rows)).collect::<anyhow::Result<Vec<_>>>()?;
    for (constant, value) in TOGETHER.into_iter().zip(least_squares(&equations)) {
        let is_growth = matches!(constant, Constant::GrowthT | Constant::GrowthX);
        if let Some(value) = value {
            constants.set(constant, if is_growth { value } else { value.exp() });
        }
    }
    for row in &rows {
        if let [constant] = *row.depends
            && let Some(value) = single(constant, row)
        {
            constants.set(constant, value);
        }
    }
    for constant in [Constant::Polled, Constant::Libaio] {
        let ratios = rows.iter().filter(|row| row.depends == [constant]).map(|row| row.published.ln());
        let ratios: Vec<f64> = ratios.collect();
        if !ratios.is_empty() {
            constants.set(constant, (ratios.iter().sum::<f64>() / ratios.len() as f64).exp());
        }
    }
    derived(&mut constants, &rows)?;
    Ok(constants)
}

/// Costs of requests, and limits that their rows also have: the drive is at least as fast as what it read.
fn is_of_cost(constant: Constant) -> bool {
    TOGETHER.contains(&constant) || constant == Constant::Iops980
}

/// Constants that are the figure of a row.
fn single(constant: Constant, row: &Row) -> Option<f64> {
    let is_plain = row.twist == Twist::None;
    match constant {
        Constant::Rate980 if row.metric == Metric::Rate && is_plain => Some(row.published),
        Constant::IopsFireCuda => Some(row.published),
        _ => None,
    }
}

/// Constants that follow from a row and other constants.
fn derived(constants: &mut Constants, rows: &[&Row]) -> anyhow::Result<()> {
    let find = |constant: Constant| rows.iter().find(|row| row.depends.contains(&constant));
    let at_drive = |row: &&&Row| row.twist == Twist::None && row.metric == Metric::Iops;
    if let Some(row) = find(Constant::Iops980).filter(at_drive) {
        constants.set(Constant::Iops980, row.published);
    }
    if let (Some(row), Some(cycles), Some(several)) =
        (find(Constant::Deadline), constants.get(Constant::CyclesT), constants.get(Constant::Several))
    {
        constants.set(Constant::Deadline, row.capacity()? / row.published - cycles * several);
    }
    if let Some(row) = find(Constant::CacheFull) {
        constants.set(Constant::CacheFull, row.capacity_of(u32::MAX)? / row.published);
    }
    // The rate belongs to the same seconds as the share of the CPUs.
    let copied = crate::table::OTHERS.iter().find(|row| row.work == "T buffered, readahead off, free memory");
    if let (Some(row), Some(copied)) = (find(Constant::CacheFree), copied) {
        constants.set(Constant::CacheFree, row.busy()? / copied.published);
    }
    if let (Some(row), Some(rate)) = (find(Constant::RootComplex), constants.get(Constant::Rate980)) {
        constants.set(Constant::RootComplex, row.published - 2.0 * rate);
    }
    // The smallest packets that carry what a drive read, and those that come nearest to what a link carried.
    let drive = rows.iter().find(|row| row.depends == [Constant::Rate980] && row.metric == Metric::Rate);
    if let Some(row) = drive {
        for payload in PAYLOADS.into_iter().rev() {
            let mut link = Constants::default();
            link.set(Constant::PayloadT, payload);
            link.set(Constant::Rate980, f64::INFINITY);
            if row.link(&link)? >= row.published {
                constants.set(Constant::PayloadT, payload);
            }
        }
    }
    let links: Vec<&&Row> = rows.iter().filter(|row| row.depends == [Constant::PayloadX]).collect();
    let mut nearest = f64::INFINITY;
    for payload in PAYLOADS.into_iter().filter(|_| !links.is_empty()) {
        let mut one = Constants::default();
        one.set(Constant::PayloadX, payload);
        let miss = |row: &&&Row| Ok::<_, anyhow::Error>((row.link(&one)? / row.rate()).ln().powi(2));
        let miss: f64 = links.iter().map(miss).sum::<Result<f64, _>>()?;
        if miss < nearest {
            nearest = miss;
            constants.set(Constant::PayloadX, payload);
        }
    }
    Ok(())
}

/// Logarithm of the cycles of a request, and how often each of [`TOGETHER`] is in it.
struct Equation {
    parts: [f64; TOGETHER.len()],
    cycles: f64,
}

fn equation(row: &Row, rows: &[&Row]) -> anyhow::Result<Equation> {
    let requests = row.split()?;
    let cycles = match row.metric {
        Metric::Processors => {
            // The rate is the drive's, of the row before.
            let rate = rows.iter().find(|other| other.depends == [Constant::Rate980]);
            let rate = rate.map_or(f64::from(u32::MAX), |rate| rate.published) / row.block as f64;
            row.busy()? / (rate * requests)
        }
        _ => row.capacity()? / (row.published * requests),
    };
    let (cycles_of, growth_of) = if row.is_x() {
        (Constant::CyclesX, Constant::GrowthX)
    } else {
        (Constant::CyclesT, Constant::GrowthT)
    };
    let size = (row.block as f64 / requests / 4096.0).ln();
    let part = |constant| match constant {
        _ if constant == cycles_of => 1.0,
        _ if constant == growth_of => size,
        Constant::Several if row.workers() > 1 => 1.0,
        _ => 0.0,
    };
    Ok(Equation { parts: TOGETHER.map(part), cycles: cycles.ln() })
}

/// Least squares by the normal equations, solved by elimination; `None` for an unknown that the equations leave open.
fn least_squares(equations: &[Equation]) -> [Option<f64>; TOGETHER.len()] {
    const N: usize = TOGETHER.len();
    /// A pivot below this is rounding.
    const ZERO: f64 = 1e-9;
    let mut rows = [[0.0; N + 1]; N];
    for Equation { parts, cycles } in equations {
        for (row, at) in rows.iter_mut().zip(parts) {
            for (cell, of) in row.iter_mut().zip(parts.iter().chain([cycles])) {
                *cell += at * of;
            }
        }
    }
    let mut pivots: [Option<usize>; N] = [None; N];
    let mut done = 0;
    for (column, pivot) in pivots.iter_mut().enumerate() {
        let largest = (done..N).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()));
        let Some(largest) = largest.filter(|row| rows[*row][column].abs() > ZERO) else { continue };
        rows.swap(done, largest);
        let own = rows[done].map(|cell| cell / rows[done][column]);
        rows[done] = own;
        for (index, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != done) {
            let factor = row[column];
            debug_assert!(index < N);
            row.iter_mut().zip(own).for_each(|(cell, of)| *cell -= factor * of);
        }
        *pivot = Some(done);
        done += 1;
    }
    // An unknown is open without a pivot, or where its row still has another that is.
    let is_open = |row: &[f64; N + 1]| (0..N).any(|at| pivots[at].is_none() && row[at].abs() > ZERO);
    pivots.map(|pivot| pivot.map(|row| &rows[row]).filter(|row| !is_open(row)).map(|row| row[N]))
}

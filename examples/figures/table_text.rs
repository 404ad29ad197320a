//! The table as text: every row with its status, what it depends on and its error when left out.

use iodyno::capacity;

use crate::{
    constants::Constant,
    fit,
    rows::{Outcome, Row, Use, read},
    table,
};

/// The whole table.
pub fn lines() -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for used in [Use::Fitted, Use::Seen, Use::Predicted] {
        lines.push(used.title().to_owned());
        lines.push(format!(
            "{:<50} {:<9} {:>10} {:>10} {:>7} {:>8}  depends on",
            "work", "status", "published", "model", "off", "left out"
        ));
        for row in table::rows().filter(|row| row.used == used) {
            lines.extend(of_row(row)?);
        }
        lines.push(String::new());
    }
    lines.extend(constants()?);
    lines.extend(summary());
    Ok(lines)
}

/// Each constant as the fit gives it and as it stands in `assets/`.
fn constants() -> anyhow::Result<Vec<String>> {
    let fitted = fit::fit(table::FITTED)?;
    let (t, x) = (read("threadripper-after")?, read("x570-formatted")?);
    let (limits_t, limits_x) = (capacity::limits(&t), capacity::limits(&x));
    let mut lines = vec![format!("{:<26} {:>16} {:>16}", "constant", "fitted", "in the tables")];
    for constant in Constant::ALL {
        let show =
            |value: Option<f64>| value.map_or_else(|| "given".to_owned(), |value| format!("{value:.4}"));
        let shipped = constant.shipped((&t, &limits_t), (&x, &limits_x));
        lines.push(format!(
            "{:<26} {:>16} {:>16}",
            constant.words(),
            show(fitted.get(constant)),
            show(shipped)
        ));
    }
    lines.push(String::new());
    Ok(lines)
}

fn of_row(row: &Row) -> anyhow::Result<Vec<String>> {
    let off = |outcome: &Outcome| match outcome {
        Outcome::Figure(figure) => format!("{:+.1}%", row.off(*figure) * 100.0),
        Outcome::NoPrediction(_) => "none".to_owned(),
    };
    let (model, left_out) = (fit::model(row)?, fit::left_out(row)?);
    let figure = match &model {
        Outcome::Figure(figure) => row.metric.show(*figure),
        Outcome::NoPrediction(_) => "none".to_owned(),
    };
    let depends: Vec<&str> = row.depends.iter().map(|constant| constant.words()).collect();
    let mut lines = vec![format!(
        "{:<50} {:<9} {:>10} {:>10} {:>7} {:>8}  {}",
        row.work,
        row.used.word(),
        row.metric.show(row.published),
        figure,
        if matches!(model, Outcome::Figure(_)) { off(&model) } else { String::new() },
        off(&left_out),
        depends.join(", ")
    )];
    if row.limit.is_some() && matches!(model, Outcome::Figure(_)) {
        lines.push(format!("    limited by: {}", row.limit()?));
    }
    lines.extend(row.repeats.map(|other| format!("    the same number as: {other}")));
    let why = match (&model, &left_out) {
        (Outcome::NoPrediction(why), _) => Some(format!("no prediction: {why}")),
        (_, Outcome::NoPrediction(why)) => Some(format!("left out, no prediction: {why}")),
        _ => None,
    };
    lines.extend(why.or_else(|| row.why.map(str::to_owned)).map(|why| format!("    {why}")));
    Ok(lines)
}

/// How many constants are free, and how many predictions are independent.
pub fn summary() -> Vec<String> {
    let free = Constant::ALL.iter().filter(|constant| constant.is_free()).count();
    let count = |used: Use, is_own: bool| {
        table::rows().filter(|row| row.used == used && (!is_own || row.repeats.is_none())).count()
    };
    vec![
        format!(
            "{free} free constants, fitted to {} published figures ({} different numbers)",
            count(Use::Fitted, false),
            count(Use::Fitted, true)
        ),
        format!(
            "{} further figures were seen while the model was made; {} are predictions ({} different numbers)",
            count(Use::Seen, false),
            count(Use::Predicted, false),
            count(Use::Predicted, true)
        ),
    ]
}

//! The capacity model against published figures: calibrated figures match, predictions are within 10 % or have a
//! reason, and no prediction is in a table.

#[path = "../examples/figures/rows.rs"]
mod rows;

use rows::{ROWS, Use};

#[test]
fn calibrated_figures_match() {
    for row in ROWS.iter().filter(|row| row.used == Use::Calibrated) {
        let model = row.model().unwrap();
        let off = row.off(model);
        assert!(
            off.abs() < 0.015,
            "{}: {} against {}, {off:+.3}",
            row.work,
            row.metric.show(model),
            row.metric.show(row.published)
        );
    }
}

#[test]
fn every_prediction_is_within_a_tenth_or_has_a_reason() {
    for row in ROWS.iter().filter(|row| row.used == Use::Predicted) {
        let model = row.model().unwrap();
        let off = row.off(model);
        let has_reason = row.why.is_some();
        assert!(has_reason == (off.abs() > 0.10), "{}: {off:+.3}, {}", row.work, row.used.title());
        assert!(off.abs() < 0.40, "{}: {off:+.3} is no explanation at all", row.work);
    }
}

#[test]
fn no_predicted_figure_stands_in_a_table() {
    let tables = ["root-complexes", "drives", "processors", "chipsets"]
        .map(|name| {
            std::fs::read_to_string(format!("{}/assets/{name}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap()
        })
        .concat();
    let numbers: Vec<f64> = tables
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| {
            line.split('#')
                .next()
                .unwrap_or_default()
                .split(|c: char| !"0123456789._e".contains(c))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter_map(|word| word.replace('_', "").parse().ok())
        .collect();
    assert!(numbers.contains(&39.4e9), "the tables are read");
    for row in ROWS.iter().filter(|row| row.used == Use::Predicted) {
        let near = numbers.iter().find(|number| (*number / row.published - 1.0).abs() < 1e-4);
        assert_eq!(near, None, "{}", row.work);
    }
}

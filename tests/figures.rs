//! The capacity model against published figures: constants are what the fit gives, every row has its status, errors are
//! within the intervals that users see.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not there")]

#[path = "../examples/figures/constants.rs"]
mod constants;
#[path = "../examples/figures/fit.rs"]
mod fit;
#[path = "../examples/figures/rows.rs"]
mod rows;
#[path = "../examples/figures/table.rs"]
mod table;
#[path = "../examples/figures/table_text.rs"]
mod table_text;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use constants::{Constant, Constants};
use iodyno::{
    capacity,
    machine::Machine,
    model::{Limits, ProcessorLimit},
};
use rows::{Metric, Outcome, Row, Twist, Use};

fn workstation(demo: &'static str) -> (Machine, Limits) {
    let machine = rows::read(demo).unwrap();
    let limits = capacity::limits(&machine);
    (machine, limits)
}

fn processors() -> ProcessorLimit {
    workstation("threadripper-after").1.processors.unwrap()
}

/// The model's error of a row, and the one when the fit does without it.
fn errors(row: &Row) -> [Option<f64>; 2] {
    static ALL: LazyLock<BTreeMap<&'static str, [Option<f64>; 2]>> =
        LazyLock::new(|| table::rows().map(|row| (row.work, computed(row))).collect());
    ALL[row.work]
}

fn computed(row: &Row) -> [Option<f64>; 2] {
    [fit::model(row), fit::left_out(row)].map(|outcome| match outcome.unwrap() {
        Outcome::Figure(figure) => Some(row.off(figure)),
        Outcome::NoPrediction(why) => {
            assert!(why.len() > 10, "{}: no prediction needs a reason", row.work);
            None
        }
    })
}

#[test]
fn constants_are_what_the_fit_gives() {
    let fitted: Constants = fit::fit(table::FITTED).unwrap();
    let (t, x) = (workstation("threadripper-after"), workstation("x570-formatted"));
    for constant in Constant::ALL.into_iter().filter(|constant| constant.is_free()) {
        let fitted = fitted.get(constant).unwrap_or_else(|| panic!("no row fixes {}", constant.words()));
        let shipped = constant.shipped((&t.0, &t.1), (&x.0, &x.1)).unwrap();
        assert!(
            (shipped / fitted - 1.0).abs() < 2e-3,
            "{}: {shipped} in assets/, {fitted}",
            constant.words()
        );
    }
}

#[test]
fn every_row_has_its_status_what_it_depends_on_and_its_error_when_left_out() {
    let mut names = BTreeSet::new();
    let lines = table_text::lines().unwrap();
    for row in table::rows() {
        assert!(names.insert(row.work), "{} stands twice", row.work);
        assert!(!row.depends.is_empty(), "{} depends on nothing", row.work);
        let free = row.depends.iter().filter(|constant| constant.is_free()).count();
        assert!(row.used != Use::Fitted || free > 0, "{} fixes no constant", row.work);
        let line = lines.iter().find(|line| line.starts_with(&format!("{:<50} ", row.work)));
        let line = line.unwrap_or_else(|| panic!("{} is not printed", row.work));
        let depends: Vec<&str> = row.depends.iter().map(|constant| constant.words()).collect();
        assert!(line.contains(&row.metric.show(row.published)), "{line}");
        assert!(line.contains(row.used.word()) && line.ends_with(&depends.join(", ")), "{line}");
        let [_, left_out] = errors(row);
        let left_out = left_out.map_or("none".to_owned(), |off| format!("{:+.1}%", off * 100.0));
        assert!(line.contains(&format!("{left_out}  ")), "{line}: {left_out}");
        let is_known = |other: &str| table::rows().any(|row| row.work == other && row.repeats.is_none());
        assert!(row.repeats.is_none_or(is_known), "{} repeats no row", row.work);
    }
    assert_eq!(names.len(), table::rows().count());
}

#[test]
fn fitted_figures_match_and_others_are_within_a_tenth_or_have_a_reason() {
    for row in table::rows() {
        let [Some(off), _] = errors(row) else { continue };
        let most = if row.used == Use::Fitted && row.metric != Metric::Ratio { 0.04 } else { 0.10 };
        assert!(off.abs() < most || row.why.is_some(), "{}: {off:+.3}", row.work);
        assert!(off.abs() < 0.35, "{}: {off:+.3} is no explanation at all", row.work);
    }
}

/// Errors of rows whose fit does without them lie within the interval that users see.
#[test]
fn intervals_are_as_wide_as_the_errors_of_rows_left_out() {
    let limits = processors();
    let path = &limits.path;
    let largest = |is_one: &dyn Fn(&Row) -> bool| {
        let off = table::rows().filter(|row| is_one(row)).filter_map(|row| errors(row)[1]);
        // An error as a share in either direction: half is as far off as twice.
        off.map(|off| off.ln_1p().abs().exp_m1()).fold(0.0, f64::max)
    };
    let is_cost = |row: &Row| {
        let cost =
            [Constant::CyclesT, Constant::CyclesX, Constant::GrowthT, Constant::GrowthX, Constant::Several];
        row.twist == Twist::None
            && row.depends.iter().all(|one| cost.contains(one) || *one == Constant::Iops980)
    };
    let other = capacity_of_an_unknown_cpu().error;
    for (words, error, largest) in [
        ("this CPU", limits.error, largest(&|row| row.used == Use::Fitted && is_cost(row))),
        ("another CPU", other, largest(&|row| row.twist == Twist::OtherCpu)),
        ("polled", path.polled.error, largest(&|row| row.depends == [Constant::Polled])),
        ("libaio", path.engine[0].error, largest(&|row| row.depends == [Constant::Libaio])),
    ] {
        assert!(largest > 0.0 && largest <= error, "{words}: {largest:.3} is beyond {error}");
        assert!(error < 2.0 * largest, "{words}: {error} is wider than {largest:.3} asks for");
    }
}

fn capacity_of_an_unknown_cpu() -> ProcessorLimit {
    let (mut machine, _) = workstation("threadripper-after");
    machine.processors.model = iodyno::model::Reading::known("/test", "another".into());
    capacity::limits(&machine).processors.unwrap()
}

#[test]
fn what_limits_a_row_is_what_its_article_says() {
    let named: Vec<&Row> =
        table::rows().filter(|row| row.limit.is_some() && row.twist != Twist::Unmodelled).collect();
    assert!(named.len() > 10);
    for row in named {
        let limit = row.limit().unwrap();
        assert!(limit.contains(row.limit.unwrap_or_default()), "{}: {limit}", row.work);
    }
}

#[test]
fn a_constant_that_one_row_alone_fixes_is_lost_without_it() {
    let without = |work: &str| fit::fit(table::FITTED.iter().filter(|row| row.work != work)).unwrap();
    for (work, lost, kept) in [
        ("T 1 drive, 4 KiB, 1 worker", None, Constant::CyclesT),
        ("T 1 drive, 1 MiB, CPU (psn: 24 of 100 samples)", Some(Constant::GrowthT), Constant::CyclesT),
        ("X 4 drives, 4 KiB, 16 processes", None, Constant::Several),
        ("T buffered, memory full (2 953 to 3 593 MiB/s)", Some(Constant::CacheFull), Constant::CacheFree),
    ] {
        let constants = without(work);
        assert!(lost.is_none_or(|lost| constants.get(lost).is_none()), "{work}");
        assert!(constants.get(kept).is_some(), "{work}");
    }
}

#[test]
fn readahead_off_is_slower_with_free_memory_and_with_full_memory() {
    let rate = |work: &str| {
        let row = table::rows().find(|row| row.work.starts_with(work) && row.metric == Metric::Rate).unwrap();
        let Outcome::Figure(figure) = fit::model(row).unwrap() else { panic!("{work} has no figure") };
        (figure, row.published)
    };
    for (on, off) in [
        ("T buffered, free memory", "T buffered, readahead off, free memory"),
        ("T buffered, memory full", "T buffered, readahead off, memory full"),
    ] {
        let (on, off) = (rate(on), rate(off));
        assert!(off.0 < 0.98 * on.0 && off.1 < on.1, "{on:?} {off:?}");
    }
}

#[test]
fn no_figure_that_is_not_fitted_stands_in_a_table() {
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
    let others = table::rows().filter(|row| row.used != Use::Fitted && row.twist != Twist::OtherCpu);
    for row in others {
        let near = numbers.iter().find(|number| (*number / row.published - 1.0).abs() < 1e-4);
        assert_eq!(near, None, "{}", row.work);
    }
}

#[test]
fn the_documentation_says_how_many_constants_and_predictions_there_are() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/model.md")).unwrap();
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in table_text::summary() {
        assert!(words.contains(&sentence), "docs/model.md lacks: {sentence}");
    }
}

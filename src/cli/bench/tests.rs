//! Every row of `OPTIONS`, through everything that is derived from it.

use clap::Parser;

use super::{
    arguments::{BenchArgs, OptionArgs},
    jobfile::{JobFile, Keywords},
};
use crate::{
    experiment::custom_arms,
    model::{
        Target, Workload,
        options::{Arm, Fio, OPTIONS, WorkloadOption, find, markdown},
    },
    report::{commands, fio_options},
    screens::dyno::form::{FIELDS, Form},
};

#[derive(Debug, Parser)]
struct Bench {
    #[command(flatten)]
    args: BenchArgs,
}

#[derive(Debug, Parser)]
struct Experiment {
    #[command(flatten)]
    every_arm: OptionArgs<true>,
}

fn default() -> Workload {
    let target = Target { path: "x".into(), drive: None };
    Workload { targets: vec![target], ..Workload::default() }
}

fn with(option: &WorkloadOption, text: &str) -> Workload {
    let mut work = default();
    option.take(&mut work, text).unwrap_or_else(|why| panic!("{}={text}: {why}", option.name));
    work
}

/// Texts of values that it accepts and that differ from its default.
fn samples(option: &WorkloadOption) -> Vec<&'static str> {
    let texts = ["0", "1", "7", "8k", "7s", "read", "psync", "split", "0-2,8", "4k/60:64k/40"];
    let differs = |text: &&str| {
        let mut work = default();
        option.take(&mut work, text).is_ok() && option.text(&work) != option.text(&default())
    };
    texts.into_iter().filter(differs).collect()
}

fn bench(words: &[&str]) -> Result<Workload, String> {
    let words = ["bench", "--filename=x"].iter().chain(words);
    Bench::try_parse_from(words).map(|line| line.args.asked().workload()).map_err(|error| error.to_string())
}

fn job_file(text: &str) -> Workload {
    let file = JobFile::parse(text, |_| None, Keywords::default());
    assert_eq!((file.unsupported, file.runs.len()), (Vec::new(), 1), "{text}");
    file.runs[0].workload.clone()
}

fn each(check: impl Fn(&'static WorkloadOption, &'static str, &Workload)) {
    for option in OPTIONS {
        let samples = samples(option);
        assert!(!samples.is_empty(), "{}: add a text that it accepts", option.name);
        for text in samples {
            check(option, text, &with(option, text));
        }
    }
}

#[test]
fn names_are_taken_once_and_explained() {
    let mut seen = std::collections::HashSet::new();
    for option in OPTIONS {
        assert!(
            option.help.len() > 8 && option.help.is_ascii() && !option.help.contains('|'),
            "{}",
            option.name
        );
        for name in option.aliases.iter().chain([&option.name]) {
            assert!(seen.insert(*name), "{name}");
        }
        assert_eq!(option.check(&default()), Ok(()), "{}", option.name);
        assert!(markdown().contains(&format!("| `{}", option.name)), "{}", option.name);
    }
}

#[test]
fn a_value_is_the_text_that_is_written_of_it() {
    each(|option, text, work| {
        assert_eq!(with(option, &option.text(work)), *work, "{}={text}", option.name);
        assert_eq!(with(option, &option.short(work)), *work, "{}={text}", option.name);
        let stored = serde_json::to_string(work).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&stored).unwrap(), *work, "{stored}");
    });
}

#[test]
fn the_command_line_takes_every_option_and_its_aliases() {
    each(|option, text, work| {
        for name in option.aliases.iter().chain([&option.name]) {
            let parsed = bench(&[&format!("--{name}"), text, "--runtime=9"])
                .or_else(|_| bench(&[&format!("--{name}={text}")]));
            assert_eq!(option.text(&parsed.unwrap()), option.text(work), "--{name} {text}");
        }
        let words = commands::iodyno(work, &[]);
        assert_eq!(Bench::parse_from(&words[1..]).args.asked().workload(), *work, "{words:?}");
        if option.is_switch() {
            let on = bench(&[&format!("--{}", option.name)]).unwrap();
            assert_eq!(option.text(&on), "1", "--{}", option.name);
        }
    });
}

#[test]
fn job_files_take_every_option_and_give_back_what_fio_has() {
    each(|option, text, work| {
        for name in option.aliases.iter().chain([&option.name]) {
            let read = job_file(&format!("[a]\nfilename=x\nruntime=5\n{name}={text}\n"));
            assert_eq!(option.text(&read), option.text(work), "{name}={text}");
        }
        let written = fio_options::job_file(work);
        let is_there = written.lines().any(|line| line.split('=').next() == Some(option.name));
        let omitted = option.fio == Fio::Missing || (option.fio != Fio::Value && option.text(work) == "0");
        // Without a runtime fio reads until the amount.
        let omitted = omitted || option.text(work).is_empty();
        assert_eq!(is_there, !omitted, "{written}");
        if option.fio != Fio::Missing {
            assert_eq!(option.text(&job_file(&written)), option.text(work), "{written}");
        }
    });
}

#[test]
fn arms_take_the_options_of_arms() {
    each(|option, text, work| {
        let written = custom_arms::read(&default(), 0, &format!("{}={text}", option.name), &[]);
        match written {
            Ok(written) => assert_eq!(written.workload, *work, "{}={text}", option.name),
            Err(why) => assert!(option.arm == Arm::No, "{why}"),
        }
        let words = ["run".to_owned(), format!("--{}={text}", option.name)];
        match Experiment::try_parse_from(words) {
            Ok(run) => {
                let mut every = default();
                run.every_arm.0.apply(&mut every);
                assert_eq!(every, *work, "{}={text}", option.name);
            }
            Err(why) => assert!(option.arm != Arm::Every, "{why}"),
        }
    });
}

#[test]
fn fields_of_the_form_take_and_show_values() {
    each(|option, text, work| {
        let field = FIELDS.iter().find(|field| field.name == option.name);
        assert_eq!(field.is_some(), option.form.is_some(), "{}", option.name);
        let Some(field) = field else { return };
        let mut form = Form { workload: default(), ..Form::default() };
        field.set(&mut form, text).unwrap();
        assert_eq!(form.workload, *work, "{}={text}", option.name);
        let shown = field.show(&form);
        form.workload = default();
        field.set(&mut form, &shown).unwrap();
        assert_eq!(form.workload, *work, "{}={shown}", option.name);
        assert!(!shown.is_empty() || !field.empty.is_empty(), "{}", option.name);
    });
    let mut places: Vec<u8> =
        OPTIONS.iter().filter_map(|option| option.form.map(|form| form.place)).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len() + 2, FIELDS.len(), "each field has a place of its own");
}

#[test]
fn nonsense_and_values_out_of_bounds_are_refused_everywhere() {
    for option in OPTIONS {
        assert!(option.set(&mut default(), "?").is_err(), "{}", option.name);
        for text in ["?", ""] {
            assert!(bench(&[&format!("--{}={text}", option.name)]).is_err(), "--{}={text}", option.name);
        }
    }
    for (name, text) in [
        ("iodepth", "0"),
        ("iodepth", "4097"),
        ("numjobs", "1025"),
        ("bs", "0"),
        ("bs", "65m"),
        ("iodepth_batch_submit", "0"),
        ("iodepth_batch_complete_min", "4097"),
        ("size", "0"),
        ("rate_iops", "0"),
    ] {
        let option = find(name).unwrap();
        let mut work = default();
        assert!(option.take(&mut work, text).is_err() && work == default(), "{name}={text}");
        let asked = bench(&[&format!("--{name}={text}")]).unwrap();
        assert_eq!(asked.validate().unwrap_err().option, name);
        assert!(custom_arms::read(&work, 0, &format!("{name}={text}"), &[]).is_err(), "{name}={text}");
        if let Some(field) = FIELDS.iter().find(|field| field.name == name) {
            assert!(field.set(&mut Form::default(), text).is_err(), "{name}={text}");
        }
    }
}

#[test]
fn rows_of_a_run_fit_into_80_columns_ramp_time_included() {
    use super::Rows;
    use crate::{
        counters::Rates,
        model::{RunSample, RunState},
        report::dstat::Shown,
    };
    let mut rows = Rows {
        out: super::Progress::new(true),
        drives: Vec::new(),
        printed: 0,
        width: 80,
        was_ramping: false,
    };
    let mut text = |state, width| {
        rows.width = width;
        let sample = RunSample {
            at: std::time::Duration::ZERO,
            state,
            preparing: None,
            targets: Vec::new(),
            batch: String::new(),
            simulated: false,
        };
        rows.text(&Rates::default(), &sample)
    };
    let states = [RunState::Ramping, RunState::Ramping, RunState::Running, RunState::Running];
    let narrow: Vec<String> = states.iter().map(|state| text(*state, 80)).collect();
    assert!(narrow.concat().lines().all(|line| line.len() <= 80), "{narrow:#?}");
    let labels: Vec<bool> = narrow.iter().map(|text| text.contains("counted")).collect();
    assert_eq!(labels, [true, false, true, false], "above the first row of each kind: {narrow:#?}");
    let [titles, names] = Shown::ALL.heading();
    assert!(narrow[0].starts_with(&format!("{titles}\n{names}\nnot counted yet:\n")), "{narrow:#?}");
    assert!(text(RunState::Ramping, 200).ends_with("  not counted yet\n"));
}

//! iodyno's latencies beside fio's completion latencies, both at half of the rate that fio can reach.

use std::{fmt::Write as _, path::Path};

use iodyno::experiment::statistics::median;
use serde_json::Value;

use super::{
    job::own,
    racers::{Programs, document, output},
    read_whole,
};

const PERCENTS: [&str; 4] = ["50.000000", "90.000000", "95.000000", "99.000000"];

/// A way to differ that is no difference: of a percentile, as a share.
const TOLERATED: f64 = 0.1;

/// A table of percentiles, and whether each lies within a tenth of fio's, or within fio's own spread.
pub fn compare(name: &str, programs: &Programs, target: &Path, rounds: usize, seconds: u32) -> String {
    let options = |further: &[String]| -> Vec<String> {
        let fixed = ["--rw=randread", "--bs=4k", "--iodepth=32", "--direct=1"].map(str::to_owned);
        let own = [format!("--runtime={seconds}"), format!("--filename={}", target.display())];
        fixed.into_iter().chain(own).chain(further.iter().cloned()).collect()
    };
    let fio = |further: &[String]| -> Value {
        let fixed = ["--name=race", "--ioengine=io_uring", "--time_based=1", "--readonly", "--invalidate=0"];
        let arguments = [options(further), fixed.map(str::to_owned).to_vec()].concat();
        document(&output(&programs.fio, &[arguments, vec!["--output-format=json".to_owned()]].concat()))
            .unwrap()
    };
    let iodyno = |further: &[String]| -> Value {
        let arguments = [vec!["bench".to_owned(), "--json".to_owned()], options(further)].concat();
        document(&output(&own(), &arguments)).unwrap()
    };
    let rate = (fio(&[])["jobs"][0]["read"]["iops"].as_f64().unwrap() / 2.0).round();
    let paced = [format!("--rate_iops={rate:.0}")];
    let exact = [paced[0].clone(), "--exact_timing".to_owned()];
    let mut figures = [(); 2].map(|()| vec![Vec::new(); PERCENTS.len()]);
    for round in 0..rounds {
        // Past the page cache where it is a file: a virtual disk's reads come from a cache of its host.
        read_whole(target, target.is_file());
        for turn in 0..2 {
            let who = (round + turn) % 2;
            let document = if who == 0 { iodyno(&exact) } else { fio(&paced) };
            for (percent, figures) in PERCENTS.iter().zip(&mut figures[who]) {
                let ns = &document["jobs"][0]["read"]["clat_ns"]["percentile"][percent];
                figures.push(ns.as_f64().unwrap_or_else(|| panic!("no {percent} in {document}")));
            }
        }
    }
    let mut text = format!("\n**{name}**, {rate:.0} reads per second asked for, {rounds} rounds\n\n");
    text.push_str("| | iodyno us | fio us | difference | fio's own spread | |\n|---|---|---|---|---|---|\n");
    let [own, its] = &figures;
    for (percent, (own, its)) in PERCENTS.iter().zip(own.iter().zip(its)) {
        let (own, middle) = (median(own).unwrap(), median(its).unwrap());
        let furthest = its.iter().map(|ns| (ns / middle - 1.0).abs()).fold(0.0, f64::max);
        let difference = own / middle - 1.0;
        let met = if difference.abs() <= furthest.max(TOLERATED) { "met" } else { "NOT MET" };
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        writeln!(
            text,
            "| p{percent} | {:.1} | {:.1} | {:+.1} % | {:.1} % | {met} |",
            own / 1e3,
            middle / 1e3,
            difference * 100.0,
            furthest * 100.0
        )
        .unwrap();
    }
    text
}

//! A verdict and its reasons in sentences.

use std::time::Duration;

use super::account::{Account, Ending, StoppedBy};
use crate::{
    model::{Effect, Metric, Verdict},
    text::Label,
    units::{BytesPerSecond, Micros, UnitSystem, count, counted},
};

/// `mq-deadline is worse: 54 % fewer IOPS than none (95 %: 53.9 to 54.1), 12 rounds, 0 discarded; 1.6 % is detectable.`
pub fn sentence(account: &Account, effect: &Effect) -> String {
    let arm = &account.plan.arms[effect.arm];
    let word = match effect.verdict {
        Verdict::Faster => "is better",
        Verdict::Slower => "is worse",
        Verdict::NoDifference => "makes no difference",
        Verdict::SmallerThanMargin => "makes a difference smaller than the margin",
        Verdict::Inconclusive => "is inconclusive",
        Verdict::Invalid => "is invalid",
    };
    let rounds = counted(effect.decided.unwrap_or(account.rounds) as usize, "round");
    format!(
        "{} {word}: {}, {rounds}, {} discarded; {} is detectable.",
        arm.label,
        compared(account.plan.metric, effect, &against(account, effect.arm)),
        account.thrown_out.len(),
        percent(effect.detectable),
    )
}

/// An effect on a metric: `54 % fewer IOPS than none (95 %: 53.9 to 54.1)`, from double on
/// `3.88 times the IOPS of none (95 %: 3.87 to 3.88)`. An empty `base` is not named.
pub(crate) fn compared(metric: Metric, effect: &Effect, base: &str) -> String {
    let (more, less) = match metric {
        Metric::Iops => ("more", "fewer"),
        Metric::BytesPerSecond | Metric::CpuNsPerIo => ("more", "less"),
        Metric::LatencyP99 => ("higher", "lower"),
    };
    let base = |word| if base.is_empty() { String::new() } else { format!(" {word} {base}") };
    let Effect { ratio, low, high, .. } = *effect;
    let (noun, confidence) = (metric.words(), effect.confidence * 100.0);
    if ratio >= 2.0 {
        return format!(
            "{ratio:.2} times the {noun}{} ({confidence:.0} %: {low:.2} to {high:.2})",
            base("of")
        );
    }
    let digits = if high - low < 0.001 { 2 } else { 1 };
    let [from, to] = [low, high].map(|end| format!("{:.digits$}", (end - 1.0).abs() * 100.0));
    let (word, interval) = match (ratio < 1.0, low < 1.0 && high > 1.0) {
        (is_less, true) => (if is_less { less } else { more }, format!("{from} % {less} to {to} % {more}")),
        (true, false) => (less, format!("{to} to {from}")),
        (false, false) => (more, format!("{from} to {to}")),
    };
    format!("{} {word} {noun}{} ({confidence:.0} %: {interval})", percent((ratio - 1.0).abs()), base("than"))
}

/// A ratio with its interval, for a column: `-54.0 % [-54.1, -53.9]`, from double on `3.88x [3.87, 3.88]`.
pub(crate) fn change(ratio: f64, interval: Option<(f64, f64)>) -> String {
    let (number, unit): (fn(f64) -> String, _) = match ratio {
        ..2.0 => (percent_change, " %"),
        _ => (|ratio| format!("{ratio:.2}"), "x"),
    };
    let interval =
        interval.map(|(low, high)| format!(" [{}, {}]", number(low), number(high))).unwrap_or_default();
    format!("{}{unit}{interval}", number(ratio))
}

/// A ratio as a change in percent: `-54.0`.
pub(crate) fn percent_change(ratio: f64) -> String {
    // Adding 0 makes -0 positive.
    format!("{:+.1}", ((ratio - 1.0) * 1000.0).round() / 10.0 + 0.0)
}

/// The base of an arm's comparison, in words.
pub(crate) fn against(account: &Account, arm: usize) -> String {
    let arms = &account.plan.arms;
    let is_one = |factor: f64| (factor - 1.0).abs() < 1e-9;
    match arms[arm].against.as_slice() {
        many if many.len() > 1 && many.iter().all(|(_, factor)| is_one(*factor)) => {
            format!("the sum of its {} drives alone", many.len())
        }
        parts => {
            let words = parts.iter().map(|(base, factor)| match &arms[*base].label {
                label if is_one(*factor) => label.clone(),
                label => format!("{factor:.0} times {label}"),
            });
            words.collect::<Vec<_>>().join(" and ")
        }
    }
}

/// The base of all comparisons, in a few words; where each has its own, the kind of it: sentences name it.
pub(crate) fn base(account: &Account) -> &str {
    let arms = &account.plan.arms;
    let baseline = account.plan.baseline();
    let is_base = |(base, factor): &(usize, f64)| *base == baseline && (*factor - 1.0).abs() < 1e-9;
    if arms.iter().all(|arm| arm.against.iter().all(is_base)) {
        return arms.get(baseline).map_or("", |arm| arm.label.as_str());
    }
    let is_sum = arms.iter().any(|arm| arm.against.len() > 1);
    if is_sum { "its drives, summed" } else { "its baseline above" }
}

/// The conclusion from an effect.
pub(crate) fn meaning(account: &Account, effect: &Effect) -> String {
    let row = account.plan.experiment;
    let metric = account.plan.metric;
    // A row's conclusions are about its own metric.
    let is_own = metric == row.metric;
    let template = match effect.verdict {
        Verdict::Faster if is_own => row.if_better,
        Verdict::Slower if is_own => row.if_worse,
        Verdict::NoDifference if is_own => row.if_same,
        Verdict::Faster => better(metric),
        Verdict::Slower => worse(metric),
        Verdict::NoDifference => "{arm} and {baseline} are the same in this metric.",
        Verdict::SmallerThanMargin => {
            "{arm} and {baseline} differ, by less than the margin: it hardly matters."
        }
        Verdict::Invalid => "Too many rounds were disturbed: stop other load, then measure again.",
        Verdict::Inconclusive => return longer(account),
    };
    let filled = template.replace("{arm}", &account.plan.arms[effect.arm].label);
    filled.replace("{baseline}", &against(account, effect.arm))
}

/// The conclusion of a better arm by any metric.
pub(crate) const fn better(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "{arm} has more IOPS than {baseline} here.",
        Metric::BytesPerSecond => "{arm} has more throughput than {baseline} here.",
        Metric::CpuNsPerIo => "{arm} costs less CPU time per read than {baseline} here.",
        Metric::LatencyP99 => "{arm} has a lower p99 latency than {baseline} here.",
    }
}

/// The conclusion of a worse arm by any metric.
pub(crate) const fn worse(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "{arm} has fewer IOPS than {baseline} here.",
        Metric::BytesPerSecond => "{arm} has less throughput than {baseline} here.",
        Metric::CpuNsPerIo => "{arm} costs more CPU time per read than {baseline} here.",
        Metric::LatencyP99 => "{arm} has a higher p99 latency than {baseline} here.",
    }
}

/// Estimated further time of an undecided experiment.
fn longer(account: &Account) -> String {
    let Some(more) = account.rounds_to_go() else {
        return "There are too few rounds for an interval.".to_owned();
    };
    let time = account.plan.round_time() * more;
    format!("About {} more, {}, would decide it.", counted(more as usize, "round"), in_words(time))
}

/// What readers of a result should know besides its verdicts, one sentence each.
pub fn notes(account: &Account) -> Vec<String> {
    let mut notes = Vec::new();
    for arm in account.compared() {
        if let Some(correlation) = account.dependence(arm) {
            notes.push(format!(
                "{}: successive rounds depend on each other (autocorrelation {correlation:.2}), so the interval is too narrow.",
                account.plan.arms[arm].label
            ));
        }
    }
    for (arm, row) in account.plan.arms.iter().enumerate() {
        if let Some(share) = account.cached_share(arm).filter(|share| *share > FROM_CACHE) {
            notes.push(format!(
                "{}: {} of its bytes came from the page cache: use a file with nothing cached that a run does not read to its end, or a \
                 shorter --runtime.",
                row.label,
                percent(share)
            ));
        }
    }
    if let Some(cpus) = account.other_cpus().filter(|cpus| *cpus >= OTHER_CPUS) {
        notes.push(format!(
            "Other processes used {cpus:.1} CPUs during the runs: stop them for smaller noise."
        ));
    }
    notes
}

/// Share of bytes from the page cache without a note.
const FROM_CACHE: f64 = 0.05;
/// CPUs that others may use without a note.
const OTHER_CPUS: f64 = 0.25;

pub(crate) fn ending(account: &Account) -> Option<String> {
    Some(match account.ending.as_ref()? {
        Ending::Decided => "Every comparison is decided.".to_owned(),
        Ending::TimeUp => "The time limit was reached.".to_owned(),
        Ending::Stopped(StoppedBy::Key) => "The user stopped it.".to_owned(),
        Ending::Stopped(StoppedBy::Signal(name)) => format!("The signal {name} stopped it."),
        Ending::Stopped(StoppedBy::ClosedOutput) => {
            "It was stopped: the reader of its output closed the pipe.".to_owned()
        }
        Ending::Failed(why) => why.clone(),
    })
}

/// How it ended and whether settings are restored, in sentences.
pub(crate) fn closing(account: &Account) -> String {
    let ending = ending(account).map(|words| {
        let words = Label::new(&words).to_string();
        // An error has no full stop.
        if words.ends_with('.') { words } else { format!("{words}.") }
    });
    let restoration = restoration(account.restored, account.is_advised);
    let parts = [ending.unwrap_or_default(), restoration.to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

const fn restoration(restored: Option<bool>, is_advised: bool) -> &'static str {
    match restored {
        Some(false) if is_advised => "NOT every changed setting is restored.",
        Some(true) => "Every changed setting is restored.",
        Some(false) => "NOT every changed setting is restored: `iodyno tune undo --all` restores them.",
        None => "",
    }
}

/// `1.6 %`, `12 %`; above tenfold only that.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p >= 999.5 => "more than 1000 %".to_owned(),
        p if p < 0.095 => format!("{p:.2} %"),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A time in words: `40 s`, `about 3 min`.
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        s if s < 100 => format!("about {} s", s.max(1)),
        s if s < 5400 => format!("about {} min", s.div_ceil(60)),
        s if s < 172_800 => format!("about {} h", s.div_ceil(3600)),
        _ => "days".to_owned(),
    }
}

/// A figure without its metric's name.
pub(crate) fn short(metric: Metric, value: f64, units: UnitSystem) -> String {
    match metric {
        Metric::CpuNsPerIo | Metric::LatencyP99 => Micros(value / 1e3).to_string(),
        Metric::Iops => format!("{} IOPS", count(value)),
        Metric::BytesPerSecond => units.rate(BytesPerSecond(value)),
    }
}

/// A figure with its unit and, for times, its metric.
pub(crate) fn figure(metric: Metric, value: f64, units: UnitSystem) -> String {
    let of = match metric {
        Metric::Iops | Metric::BytesPerSecond => "",
        Metric::CpuNsPerIo => " CPU/read",
        Metric::LatencyP99 => " p99",
    };
    format!("{}{of}", short(metric, value, units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_reaches_to_both_sides_names_them() {
        let said = |ratio, low, high| {
            let effect = Effect {
                arm: 1,
                ratio,
                low,
                high,
                confidence: 0.95,
                detectable: 0.02,
                verdict: Verdict::Inconclusive,
                decided: None,
            };
            compared(Metric::Iops, &effect, "none")
        };
        assert_eq!(said(0.46, 0.459, 0.461), "54 % fewer IOPS than none (95 %: 53.9 to 54.1)");
        assert_eq!(said(0.84, 0.34, 2.04), "16 % fewer IOPS than none (95 %: 66.0 % fewer to 104.0 % more)");
        assert_eq!(said(1.01, 0.99, 1.03), "1.0 % more IOPS than none (95 %: 1.0 % fewer to 3.0 % more)");
        assert_eq!(said(3.88, 3.87, 3.9), "3.88 times the IOPS of none (95 %: 3.87 to 3.90)");
    }

    #[test]
    fn one_advice_is_given() {
        assert!(restoration(Some(false), false).contains("`iodyno tune undo --all`"));
        assert_eq!(restoration(Some(false), true), "NOT every changed setting is restored.");
    }
}

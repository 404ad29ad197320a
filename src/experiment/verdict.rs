//! A verdict and its reasons in sentences.

use std::time::Duration;

use super::account::{Account, Ending};
use crate::{
    model::{Effect, Metric, Verdict},
    units::{BytesPerSecond, Micros, UnitSystem, count, counted},
};

/// `mq-deadline is slower: 0.457 of none [0.450, 0.464] at 95 %, 12 rounds, 0 thrown out; 1.6 % could have been seen.`
pub fn sentence(account: &Account, effect: &Effect) -> String {
    let arm = &account.plan.arms[effect.arm];
    let word = match effect.verdict {
        Verdict::Faster => "is better",
        Verdict::Slower => "is worse",
        Verdict::NoDifference => "makes no difference",
        Verdict::Inconclusive => "is inconclusive",
        Verdict::Invalid => "is invalid",
    };
    let rounds = counted(account.rounds as usize, "round");
    format!(
        "{} {word}: {:.3} times {} [{:.3}, {:.3}] at {:.0} %, {rounds}, {} discarded; {} is detectable.",
        arm.label,
        effect.ratio,
        against(account, effect.arm),
        effect.low,
        effect.high,
        effect.confidence * 100.0,
        account.thrown_out.len(),
        percent(effect.detectable),
    )
}

/// The base of an arm's comparison, in words.
pub(crate) fn against(account: &Account, arm: usize) -> String {
    let arms = &account.plan.arms;
    match arms[arm].against.as_slice() {
        [] => String::new(),
        [(base, factor)] if (*factor - 1.0).abs() < 1e-9 => arms[*base].label.clone(),
        [(base, factor)] => format!("{factor:.0} times {}", arms[*base].label),
        many => format!("the sum of its {} drives alone", many.len()),
    }
}

/// The conclusion from an effect.
pub(crate) fn meaning(account: &Account, effect: &Effect) -> String {
    let row = account.plan.experiment;
    let template = match effect.verdict {
        Verdict::Faster => row.if_better,
        Verdict::Slower => row.if_worse,
        Verdict::NoDifference => row.if_same,
        Verdict::Invalid => "Too many rounds were disturbed: stop other load, then measure again.",
        Verdict::Inconclusive => return longer(account),
    };
    let filled = template.replace("{arm}", &account.plan.arms[effect.arm].label);
    filled.replace("{baseline}", &against(account, effect.arm))
}

/// Estimated further time of an undecided experiment.
fn longer(account: &Account) -> String {
    let width = account.width();
    match (account.rounds_needed(), width) {
        (Some(needed), Some(width)) if width > account.narrow() => {
            let more = needed.saturating_sub(account.rounds).max(1);
            let time = account.plan.round_time() * more;
            format!(
                "{} more, {}, would make the interval narrow enough.",
                counted(more as usize, "round"),
                in_words(time)
            )
        }
        (Some(_), Some(_)) => {
            let margin = percent(account.plan.terms.margin);
            format!("The difference is close to the margin of {margin}: use a smaller margin.")
        }
        _ => "There are too few rounds for an interval.".to_owned(),
    }
}

pub(crate) fn ending(account: &Account) -> Option<String> {
    Some(match account.ending.as_ref()? {
        Ending::Narrow => format!("Every interval is within ±{}.", percent(account.narrow())),
        Ending::TimeUp => "The time limit was reached.".to_owned(),
        Ending::Stopped => "It was stopped.".to_owned(),
        Ending::Failed(why) => why.clone(),
    })
}

pub(crate) const fn restoration(account: &Account) -> &'static str {
    match account.restored {
        Some(true) => "Every setting is restored.",
        Some(false) => "NOT every setting is restored: `iodyno tune undo --all` restores them.",
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
        Metric::Iops | Metric::BytesPerSecond => figure(metric, value, units),
    }
}

/// A figure with its unit.
pub(crate) fn figure(metric: Metric, value: f64, units: UnitSystem) -> String {
    match metric {
        Metric::Iops => format!("{} IOPS", count(value)),
        Metric::BytesPerSecond => units.rate(BytesPerSecond(value)),
        Metric::CpuNsPerIo => format!("{} CPU/read", Micros(value / 1e3)),
        Metric::LatencyP99 => format!("{} p99", Micros(value / 1e3)),
    }
}

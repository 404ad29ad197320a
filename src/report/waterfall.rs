//! `iodyno why FILE` as text and as JSON.

use serde::Serialize;

use super::{cut, ended, wrapped};
use crate::{
    units::{BytesPerSecond, UnitSystem},
    waterfall::{Layer, Rate, Step, Verdict, Waterfall},
};

/// CONTRACT's document.
#[derive(Debug, Serialize)]
pub(crate) struct WaterfallDocument {
    file: String,
    layers: Vec<LayerDocument>,
    verdict: Option<VerdictDocument>,
    /// Why the rates are doubtful.
    doubt: Option<String>,
    size_bytes: u64,
    cached_bytes: Option<u64>,
    dropped_cache: bool,
    extents: Option<u64>,
    read_ahead_kb: Option<u64>,
    /// mmap with blocks requested ahead.
    mmap_prefetch_bytes_per_second: Option<f64>,
    notes: Vec<String>,
    stopped: bool,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct LayerDocument {
    layer: &'static str,
    name: String,
    bytes_per_second: Option<f64>,
    basis: Option<&'static str>,
    because: String,
    lost_bytes_per_second: Option<f64>,
    lost_share: Option<f64>,
    /// Of each round.
    measured: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct VerdictDocument {
    layer: &'static str,
    text: String,
    remedy: String,
}

#[derive(Debug, Serialize)]
struct Problem {
    layer: &'static str,
    path: String,
    reason: String,
}

/// What is reported beside the waterfall.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The file as the user named it.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes that were in the page cache before the tests; `None` if unknown.
    pub cached: Option<u64>,
    /// Whether its pages were dropped before the tests.
    pub dropped: bool,
    /// Sentences.
    pub notes: Vec<String>,
    /// Whether the tests were stopped.
    pub stopped: bool,
}

impl WaterfallDocument {
    pub(crate) fn new(asked: &Asked, path: &Waterfall) -> Self {
        let layer = |(index, step): (usize, &Step)| LayerDocument {
            layer: step.layer.name(),
            name: step.name.clone(),
            bytes_per_second: step.rate.value(),
            basis: step.rate.basis().map(crate::model::Basis::name),
            because: match &step.rate {
                Rate::Unknown(reason) => reason.clone(),
                _ => step.because.clone(),
            },
            lost_bytes_per_second: path.lost(index),
            lost_share: path.share_lost(index),
            measured: if let Rate::Measured(rates) = &step.rate { rates.clone() } else { Vec::new() },
        };
        let problem = |step: &Step| match &step.rate {
            Rate::Unknown(reason) => {
                Some(Problem { layer: step.layer.name(), path: step.name.clone(), reason: reason.clone() })
            }
            _ => None,
        };
        let verdict = path.verdict(UnitSystem::Decimal).filter(|_| !asked.stopped);
        Self {
            file: asked.file.clone(),
            layers: path.steps.iter().enumerate().map(layer).collect(),
            verdict: verdict.map(|Verdict { layer, text, remedy }| VerdictDocument {
                layer: layer.name(),
                text,
                remedy,
            }),
            doubt: path.doubt(),
            size_bytes: asked.bytes,
            cached_bytes: asked.cached,
            dropped_cache: asked.dropped,
            extents: path.facts.extents.map(|(count, _)| count),
            read_ahead_kb: path.facts.read_ahead.as_ref().map(|(_, kib)| *kib),
            mmap_prefetch_bytes_per_second: Rate::Measured(path.facts.mmap_ahead.clone()).value(),
            notes: asked.notes.clone(),
            stopped: asked.stopped,
            problems: path.steps.iter().filter_map(problem).collect(),
        }
    }
}

/// The answer where no step stands out.
pub(crate) fn no_loss(path: &Waterfall) -> String {
    match path.unsure() {
        Some((step, lost, taken)) => format!(
            "No step can be named: {} lost {:.0} %, but other programs used {:.0} % of the CPUs meanwhile. Repeat at rest.",
            step.name,
            lost * 100.0,
            taken * 100.0
        ),
        None => "No step loses 15 % or more of what the one below reads.".to_owned(),
    }
}

/// Columns of the layer, of a rate and of a loss.
const LAYER: usize = 12;
const RATE: usize = 10;
const LOSS: usize = 7;
/// The longest name.
const NAME: usize = 34;

/// The verdict, the steps as bars, then notes.
pub(crate) fn text(asked: &Asked, path: &Waterfall, units: UnitSystem, width: usize) -> String {
    let mut lines = headline(asked, path, units, width);
    lines.push(String::new());
    lines.extend(steps(path, units, width));
    lines.push(String::new());
    for note in facts(asked, path, units).into_iter().chain(asked.notes.iter().cloned()) {
        lines.extend(wrapped("", &note, width));
    }
    ended(lines)
}

/// The sentence, and its remedy.
fn headline(asked: &Asked, path: &Waterfall, units: UnitSystem, width: usize) -> Vec<String> {
    if asked.stopped {
        return wrapped("", &format!("Stopped: {} has no verdict.", asked.file), width);
    }
    let mut lines = match path.verdict(units) {
        Some(verdict) => {
            let mut lines = wrapped("Bottleneck  ", &verdict.text, width);
            lines.extend(wrapped("Remedy      ", &verdict.remedy, width));
            lines
        }
        None => wrapped("", &no_loss(path), width),
    };
    if let Some(doubt) = path.doubt().filter(|_| path.unsure().is_none()) {
        lines.extend(wrapped("Doubtful    ", &doubt, width));
    }
    lines
}

/// A line for each step: layer, name, rate, loss, bar.
fn steps(path: &Waterfall, units: UnitSystem, width: usize) -> Vec<String> {
    let rates = || path.steps.iter().filter_map(|step| step.rate.value());
    let most = rates().fold(0.0, f64::max);
    let longest = path.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    let name_width = longest.clamp(8, NAME.min(width.saturating_sub(LAYER + RATE + LOSS + 18)).max(8));
    let room = width.saturating_sub(LAYER + name_width + RATE + LOSS + 6).min(60);
    let worst = path.worst();
    let mut lines =
        vec![format!("{:<LAYER$}{:<name_width$}  {:>RATE$}  {:>LOSS$}", "layer", "name", "reads", "loses")];
    let mut programs = false;
    for (index, step) in path.steps.iter().enumerate() {
        if step.layer.is_program() && !programs {
            programs = true;
            lines.push("programs".to_owned());
        }
        let layer = format!("{}{}", if programs { "  " } else { "" }, step.word());
        let name = cut(&step.name, name_width);
        let pad = name_width.saturating_sub(unicode_width::UnicodeWidthStr::width(name.as_str()));
        let name = format!("{name}{}", " ".repeat(pad));
        let Some(rate) = step.rate.value() else {
            let why = if let Rate::Unknown(why) = &step.rate { why.as_str() } else { "not measured" };
            lines.extend(wrapped(&format!("{layer:<LAYER$}{name}  "), why, width));
            continue;
        };
        let lost = path.loss(index).unwrap_or_default();
        let mark = if worst == Some(index) { '!' } else { ' ' };
        let own = units.rate(BytesPerSecond(rate));
        let line =
            format!("{layer:<LAYER$}{name}  {own:>RATE$}  {lost:>LOSS$}{mark} {}", bar(rate / most, room));
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn bar(share: f64, room: usize) -> String {
    let cells = (share.clamp(0.0, 1.0) * room as f64).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `room`")]
    let cells = cells as usize;
    "#".repeat(cells.max(usize::from(share > 0.0)))
}

/// The cached part, the extents, the readahead, mmap with more of it.
pub(crate) fn facts(asked: &Asked, path: &Waterfall, units: UnitSystem) -> Vec<String> {
    let size = |bytes: u64| units.size(crate::units::Bytes(bytes));
    let mut facts = Vec::new();
    if let Some(cached) = asked.cached {
        let then = match (asked.dropped, cached) {
            (true, _) => "; dropped for the tests",
            (false, 0) => "",
            (false, _) => "; left alone, uncached places were read",
        };
        facts.push(format!("{} of {} were cached{then}", size(cached), size(asked.bytes)));
    }
    if let Some((count, mean)) = path.facts.extents {
        let pieces = if count == 1 {
            "1 extent".to_owned()
        } else {
            format!("{count} extents of {} on average", size(mean))
        };
        facts.push(format!("{pieces} on its file system"));
    }
    if let Some((device, kib)) = &path.facts.read_ahead {
        facts.push(format!("read_ahead_kb of {device}: {kib}"));
    }
    let mmap = path.steps.iter().find(|step| step.layer == Layer::Mmap).and_then(|step| step.rate.value());
    let ahead = Rate::Measured(path.facts.mmap_ahead.clone()).value();
    if let Some(ahead) = ahead.filter(|ahead| mmap.is_some_and(|mmap| *ahead > mmap)) {
        let ahead = units.rate(BytesPerSecond(ahead));
        facts.push(format!(
            "mmap with {} requested ahead: {ahead}",
            crate::units::block_size(crate::units::Bytes(path.facts.prefetch))
        ));
    }
    facts.push(
        "A step loses against the slowest one above it, a program against the page cache or O_DIRECT."
            .to_owned(),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waterfall::testing::measured;

    fn asked() -> Asked {
        Asked {
            file: "/srv/model.gguf".to_owned(),
            bytes: 8 << 30,
            cached: Some(1 << 30),
            dropped: false,
            notes: vec!["a note".to_owned()],
            stopped: false,
        }
    }

    fn path() -> Waterfall {
        let mut path = measured(&[
            (Layer::Drive, 7000.0),
            (Layer::FileSystem, 6900.0),
            (Layer::PageCache, 6800.0),
            (Layer::Direct, 6900.0),
            (Layer::Buffered, 6000.0),
            (Layer::Mmap, 1100.0),
        ]);
        path.facts.mmap_ahead = vec![4.3e9; 4];
        path.steps.insert(
            0,
            Step {
                layer: Layer::Array,
                name: "dm-0".to_owned(),
                rate: Rate::Unknown("EPERM: a policy forbids it".to_owned()),
                because: String::new(),
            },
        );
        path
    }

    #[test]
    fn the_verdict_comes_first_and_lines_fit() {
        for width in [80, 120, 200] {
            let text = text(&asked(), &path(), UnitSystem::Decimal, width);
            assert!(text.starts_with("Bottleneck  mmap reads 1.10 GB/s of 6.80 GB/s"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("EPERM: a policy forbids it") && text.contains("-84 %!"), "{text}");
        }
    }

    #[test]
    fn the_document_has_the_contracts_fields() {
        let document = serde_json::to_value(WaterfallDocument::new(&asked(), &path())).unwrap();
        assert_eq!(document["verdict"]["layer"], "mmap");
        let last = document["layers"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["layer"], &last["basis"]), (&"mmap".into(), &"measured".into()));
        assert!(last["lost_bytes_per_second"].as_f64().unwrap() > 5.6e9);
        assert!(last["lost_share"].as_f64().is_some_and(|share| (0.83..0.85).contains(&share)), "{last}");
        assert!(document["layers"][0]["bytes_per_second"].is_null());
        assert_eq!(
            (&document["problems"][0]["path"], &document["problems"][0]["layer"]),
            (&"dm-0".into(), &"array".into())
        );
        assert_eq!(document["layers"][0]["because"], document["problems"][0]["reason"]);
        let stopped = Asked { stopped: true, ..asked() };
        assert!(
            serde_json::to_value(WaterfallDocument::new(&stopped, &path())).unwrap()["verdict"].is_null()
        );
    }

    #[test]
    fn busy_cpus_are_said_behind_the_verdict() {
        let mut path = path();
        path.facts.others = vec![(Layer::Mmap, 0.8), (Layer::FileSystem, 0.1)];
        let text = text(&asked(), &path, UnitSystem::Decimal, 80);
        let doubt =
            text.lines().position(|line| line.starts_with("Doubtful    Other programs used up to 80 %"));
        assert!(doubt.is_some_and(|line| line < 6), "{text}");
        let document = serde_json::to_value(WaterfallDocument::new(&asked(), &path)).unwrap();
        assert!(document["doubt"].as_str().unwrap().contains("80 % of the CPUs"));
    }

    #[test]
    fn no_step_is_named_where_other_programs_explain_the_loss() {
        let mut path = measured(&[(Layer::FileSystem, 1000.0), (Layer::Mmap, 700.0)]);
        path.facts.others = vec![(Layer::Mmap, 0.93)];
        let text = text(&asked(), &path, UnitSystem::Decimal, 200);
        assert!(
            text.starts_with(
                "No step can be named: mmap lost 30 %, but other programs used 93 % of the CPUs meanwhile."
            ),
            "{text}"
        );
    }

    #[test]
    fn a_healthy_path_has_no_bottleneck() {
        let healthy = measured(&[(Layer::Drive, 1000.0), (Layer::FileSystem, 980.0), (Layer::Mmap, 950.0)]);
        let text = text(&asked(), &healthy, UnitSystem::Decimal, 80);
        assert!(text.starts_with("No step loses") && !text.contains('!'), "{text}");
    }
}

//! The page's lines: the answer, a row for each step, what is known of the file, how each rate was found.

use crate::{
    report::{
        dossier::Mode,
        waterfall::{facts, no_loss},
    },
    screens::widgets::{
        paint::{Piece, cells, fit, hanging, key_hints, paragraph, piece},
        words,
    },
    ui::{
        Shared,
        inquiry::{FileAnswer, FileStep},
        theme::Meaning,
    },
    units::BytesPerSecond,
    waterfall::{Layer, Rate, Step, Waterfall},
};

/// Columns of the layer, of a rate, of a loss, of the basis.
const LAYER: u16 = 12;
const RATE: u16 = 10;
const LOSS: u16 = 9;
const BASIS: u16 = 12;
/// From this width on the basis has a column.
const WIDE: u16 = 100;

/// Question, progress, answer or error.
pub(super) fn head(shared: &Shared, asks: bool, width: u16) -> Vec<Vec<Piece>> {
    if let Some(why) = no_files(shared) {
        return paragraph(&shared.keys.fill(why), Meaning::Warning, width);
    }
    if asks {
        let mut lines = Vec::new();
        if let Some(Err(refusal)) = shared.inquiry.as_ref().and_then(|inquiry| inquiry.result.as_ref()) {
            lines.extend(paragraph(&shared.keys.fill(&refusal.why.to_string()), Meaning::Warning, width));
        }
        let text = "Which file is read slowly? Tests read it for about 12 s, and the devices below it where that is \
                    permitted. They write nothing and change no setting.";
        lines.extend(paragraph(text, Meaning::Text, width));
        return lines;
    }
    let Some(inquiry) = &shared.inquiry else {
        let mut lines = paragraph(super::ABOUT.purpose, Meaning::Text, width);
        lines.push(key_hints(&shared.keys, &[("why file", "asks for a file")]));
        return lines;
    };
    match (&inquiry.result, &inquiry.step) {
        (None, _) if inquiry.stopping => paragraph("Stopping.", Meaning::Text, width),
        (None, None) => paragraph("Looking at the file and the devices below it.", Meaning::Text, width),
        (None, Some(step)) => running(shared, step, width),
        (Some(Err(refusal)), _) => {
            let mut lines = paragraph(&shared.keys.fill(&refusal.why.to_string()), Meaning::Problem, width);
            lines.push(key_hints(&shared.keys, &[("why file", "asks for another file")]));
            lines
        }
        (Some(Ok(answer)), _) => answered(shared, answer, width),
    }
}

/// Share of the tests that ended, while they run.
pub(super) fn progress(shared: &Shared) -> Option<f64> {
    let inquiry = shared.inquiry.as_ref().filter(|inquiry| inquiry.is_running() && !inquiry.stopping)?;
    let step = inquiry.step.as_ref()?;
    Some(step.done as f64 / step.all.max(1) as f64)
}

/// Why no file of this machine can be read.
fn no_files(shared: &Shared) -> Option<&'static str> {
    match shared.mode {
        Mode::Live => None,
        Mode::Demo(_) => Some(
            "A demo has no files, and its drives are simulated: nothing is measured here. `iodyno why FILE`, or {why file} without \
             --demo, measures a file of this machine.",
        ),
        Mode::Capture | Mode::Folder => {
            Some("The files of this machine are not here. Run `iodyno why FILE` on the machine itself.")
        }
    }
}

fn running(shared: &Shared, step: &FileStep, width: u16) -> Vec<Vec<Piece>> {
    let text = format!("Measuring {}: test {} of {}", step.layer, step.done + 1, step.all);
    let mut lines = vec![vec![piece(fit(&text, width), Meaning::Figure)], Vec::new()];
    lines.push(key_hints(&shared.keys, &[("back", "stops the tests")]));
    lines
}

fn answered(shared: &Shared, answer: &FileAnswer, width: u16) -> Vec<Vec<Piece>> {
    if answer.asked.stopped {
        return paragraph(
            &shared.keys.fill("Stopped: there is no answer. {measure again} measures again."),
            Meaning::Warning,
            width,
        );
    }
    let mut lines = if let Some(verdict) = answer.path.verdict(shared.units) {
        let titled = |title, text: &str, meaning| hanging(piece(title, Meaning::Quiet), text, meaning, width);
        let mut lines = titled("Bottleneck  ", &verdict.text, Meaning::Figure);
        lines.extend(titled("Remedy      ", &verdict.remedy, Meaning::Text));
        lines
    } else {
        let meaning = if answer.path.doubt().is_some() { Meaning::Warning } else { Meaning::Good };
        paragraph(&no_loss(&answer.path), meaning, width)
    };
    if let Some(doubt) = answer.path.doubt().filter(|_| answer.path.unsure().is_none()) {
        lines.extend(paragraph(&doubt, Meaning::Warning, width));
    }
    lines
}

/// The rows of all steps, then the file and how each rate was found.
pub(super) fn steps(shared: &Shared, width: u16) -> Vec<Vec<Piece>> {
    let Some(inquiry) = &shared.inquiry else { return Vec::new() };
    let Some(path) = inquiry.path() else { return Vec::new() };
    let columns = Columns::new(path, width);
    let has_ended = matches!(&inquiry.result, Some(Ok(answer)) if !answer.asked.stopped);
    // Low screens need the row for a step.
    let mut lines: Vec<_> = shared.is_boxed().then(|| columns.heading()).into_iter().collect();
    let is_computed = |layer| matches!(layer, Layer::Drive | Layer::Link | Layer::Controller);
    for (index, step) in path.steps.iter().enumerate() {
        // Low screens keep their rows for rates; the reasons stand below.
        let is_unread = matches!(step.rate, Rate::Unknown(_)) && step.because.is_empty();
        if !shared.is_boxed() && is_unread && is_computed(step.layer) {
            continue;
        }
        if step.layer == Layer::FileSystem && !path.steps.iter().any(|step| is_stacked(step.layer)) {
            lines.push(columns.absent("array", "no array or crypt device below the file"));
        }
        lines.push(columns.row(shared, path, index, has_ended));
    }
    if let Some(Ok(answer)) = &inquiry.result {
        lines.push(Vec::new());
        let notes = answer.asked.notes.iter().cloned();
        for fact in facts(&answer.asked, path, shared.units).into_iter().chain(notes) {
            lines.extend(paragraph(&fact, Meaning::Quiet, width));
        }
        lines.push(Vec::new());
        lines.push(vec![piece("How each rate was found", Meaning::Heading)]);
        for step in &path.steps {
            let lead = piece(format!("{:<wide$}", step.word(), wide = usize::from(LAYER)), Meaning::Quiet);
            let how = match &step.rate {
                Rate::Unknown(why) => format!("not measured here: {why}"),
                _ => step.because.clone(),
            };
            lines.extend(hanging(lead, &how, Meaning::Quiet, width));
        }
    }
    lines
}

const fn is_stacked(layer: Layer) -> bool {
    matches!(layer, Layer::Array | Layer::Crypt)
}

/// Widths of the columns.
struct Columns {
    name: u16,
    bar: u16,
    width: u16,
    most: f64,
}

impl Columns {
    fn new(path: &Waterfall, width: u16) -> Self {
        let longest = path.steps.iter().map(|step| cells(&step.name)).max().unwrap_or(0);
        let others = LAYER + RATE + LOSS + 4 + if width >= WIDE { BASIS } else { 0 };
        let room = width.saturating_sub(others);
        let name = longest.clamp(8, (room * 55 / 100).max(8));
        let rates = path.steps.iter().filter_map(|step| step.rate.value());
        Self { name, bar: room.saturating_sub(name).min(60), width, most: rates.fold(1.0, f64::max) }
    }

    fn heading(&self) -> Vec<Piece> {
        let basis = if self.width >= WIDE { "basis" } else { "" };
        vec![piece(
            format!(
                "{:<layer$}{:<name$}  {:>rate$}{:>loss$}  {:<bar$}{basis}",
                "step",
                "name",
                "reads",
                "loses",
                "",
                layer = usize::from(LAYER),
                name = usize::from(self.name),
                rate = usize::from(RATE),
                loss = usize::from(LOSS),
                bar = usize::from(self.bar) + if basis.is_empty() { 0 } else { 2 },
            )
            .trim_end(),
            Meaning::Quiet,
        )]
    }

    fn lead(&self, layer: &str, name: &str) -> [Piece; 2] {
        let padded = |text: String, wide: u16| {
            let blank = usize::from(wide.saturating_sub(cells(&text)));
            format!("{text}{}", " ".repeat(blank))
        };
        [
            piece(padded(fit(layer, LAYER), LAYER), Meaning::Text),
            piece(padded(fit(name, self.name), self.name) + "  ", Meaning::Drive),
        ]
    }

    /// A step that this path does not have.
    fn absent(&self, layer: &str, why: &str) -> Vec<Piece> {
        let [layer, name] = self.lead(layer, "-");
        let room = self.width.saturating_sub(LAYER + self.name + 2);
        vec![layer, name, piece(fit(why, room), Meaning::Quiet)]
    }

    fn row(&self, shared: &Shared, path: &Waterfall, index: usize, has_ended: bool) -> Vec<Piece> {
        let step @ Step { layer, name, rate, .. } = &path.steps[index];
        let indent = if layer.is_program() { "  " } else { "" };
        let [layer, name] = self.lead(&format!("{indent}{}", step.word()), name);
        let Some(own) = rate.value() else {
            let room = self.width.saturating_sub(cells(&layer.0) + cells(&name.0));
            let text = match rate {
                Rate::Unknown(why) => fit(&format!("not measured here: {why}"), room),
                _ => format!("{:>wide$}", "-", wide = usize::from(RATE)),
            };
            return vec![layer, name, piece(text, Meaning::Quiet)];
        };
        let is_worst = has_ended && path.worst() == Some(index);
        let lost = path.loss(index).filter(|_| has_ended).unwrap_or_default();
        let written = |rate: f64| shared.units.rate(BytesPerSecond(rate));
        let mark = if is_worst { "!" } else { " " };
        let meaning = if is_worst { Meaning::Problem } else { Meaning::Load };
        let mut row = vec![
            layer,
            name,
            piece(format!("{:>wide$}", written(own), wide = usize::from(RATE)), Meaning::Figure),
            piece(
                format!("{lost:>wide$}{mark} ", wide = usize::from(LOSS)),
                if is_worst { Meaning::Problem } else { Meaning::Quiet },
            ),
        ];
        row.extend(bar(own / self.most, self.bar, meaning));
        if self.width >= WIDE {
            let basis = rate.basis().map_or("", words::basis);
            row.push(piece(format!("  {basis}"), Meaning::Quiet));
        }
        row
    }
}

/// A bar in the characters of [`Brush::bar`](crate::screens::widgets::paint::Brush::bar).
fn bar(share: f64, width: u16, meaning: Meaning) -> [Piece; 2] {
    let cells = (share.clamp(0.0, 1.0) * f64::from(width)).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `width`")]
    let full = (cells as usize).max(usize::from(share > 0.0 && width > 0));
    [
        piece("▆".repeat(full), meaning),
        piece("·".repeat(usize::from(width).saturating_sub(full)), Meaning::Lines),
    ]
}

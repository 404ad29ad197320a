//! How the dyno screen looks: the form, curves, the table of targets, what held the test back, the tests before it.

use std::time::Duration;

use ratatui::layout::Rect;

use super::{Areas, Curve, Dyno, Plot, form_panel, span, targets_panel};
use crate::{
    capacity::bottleneck::{Bottleneck, Direction},
    model::RunSummary,
    screens::widgets::{
        bottleneck_panel::{self, FULL_MARK},
        graph::{Curve as Line, Graph},
        heat,
        paint::{Brush, Piece, hanging, inner, paragraph, piece, simulated, width},
        scroll,
        span::Span,
        words::{nanoseconds, rate},
    },
    ui::{
        Shared,
        marks::names,
        series::Series,
        test::{Curves, Test},
        theme::Meaning,
    },
    units::{count, counted},
};

pub(super) fn draw(state: &Dyno, shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let areas = Areas::new(state, shared, area);
    let test = state.shown(&shared.tests);
    form_panel::draw(state, shared, &areas, brush);
    form_panel::past(state, shared, areas.past, brush);
    for (plot, area) in &areas.plots {
        // Where there is room for one curve only, it is the chosen one.
        let plot = match plot {
            Plot::Curve(_) if areas.plots.len() < 3 => Plot::Curve(state.curve),
            other => *other,
        };
        draw_plot(state, test, shared, brush, plot, *area);
    }
    targets_panel::draw(test, shared.units, areas.targets, state.targets_top, brush);
    if test.is_none() && shared.can_test() {
        let inside = inner(areas.targets, brush.boxed);
        brush.lines(inside, &before_tests(state, shared, inside, brush.boxed), 0);
    }
    outcome(state, shared, areas.outcome, brush);
}

/// In the place of targets before the first test: what will be there, or of the field what has no place below a low form.
fn before_tests(state: &Dyno, shared: &Shared, area: Rect, boxed: bool) -> Vec<Vec<Piece>> {
    if boxed {
        let text = "Rate, IOPS and latency of each target, once a test runs.";
        return paragraph(text, Meaning::Quiet, area.width);
    }
    let field = state.form.field();
    let beside =
        hanging(piece(format!("{}  ", field.name), Meaning::Text), field.help, Meaning::Quiet, area.width);
    if beside.len() <= usize::from(area.height) {
        return beside;
    }
    // Below its name its help has more room.
    let mut lines = form_panel::help_in(&format!("{}: {}", field.name, field.help), shared, area);
    if let Some((name, _)) = lines.first_mut().and_then(|line| line.first_mut()) {
        *name = name.replacen(':', " ", 1);
    }
    lines
}

fn draw_plot(
    state: &Dyno,
    test: Option<&Test>,
    shared: &Shared,
    brush: &mut Brush<'_>,
    plot: Plot,
    area: Rect,
) {
    let span = state.selection.span;
    let note = simulated(test.is_some_and(|test| test.simulated));
    let title = match (plot, test) {
        (Plot::Curve(curve), Some(test)) if let Some(span) = span => {
            let room = inner(area, brush.boxed).width;
            vec![piece(span::words(span, curve, test, shared.units, room), Meaning::Figure)]
        }
        (Plot::Heat, _) => {
            vec![piece("latency", Meaning::Heading), piece("  share of reads", Meaning::Quiet)]
        }
        (Plot::Curve(curve), Some(test)) => {
            let room = brush.title_room(area.width).saturating_sub(width(note) + 2);
            curve_title(shared, curve, test, room)
        }
        (Plot::Curve(curve), None) => vec![piece(span::curve_name(curve), Meaning::Heading)],
    };
    let inner = brush.panel(area, &title, note);
    let Some(test) = test else {
        if matches!(plot, Plot::Curve(_)) {
            empty(shared, brush, inner);
        }
        return;
    };
    let now = span::newest(test, shared);
    match plot {
        Plot::Heat => heat::draw(test, brush, inner, now),
        Plot::Curve(curve) => {
            draw_curve(shared, brush, (curve, span), test, inner, now);
            if let Some((axis, span)) = span::axis(test, inner, shared).zip(span) {
                axis.mark(span.from, span.to, brush);
            }
        }
    }
}

/// Name and figures of a curve. Which line is the sum of all targets is said in as many words as have room.
fn curve_title(shared: &Shared, curve: Curve, test: &Test, room: u16) -> Vec<Piece> {
    let forms = [
        ("", "upper line: all together, lower: each target"),
        (" (upper line, lower: each target)", ""),
        ("", "upper line: all together"),
        (" (upper line)", ""),
        (" (total)", ""),
    ];
    let mut titles = forms.map(|form| titled(shared, curve, test, form)).to_vec();
    // Of two latencies the larger one is the upper line.
    titles.extend((curve == Curve::Latency).then(|| titled(shared, curve, test, ("", ""))));
    // The highest value is on the axis, too.
    let without_most = titles.last().filter(|_| curve != Curve::Latency);
    titles.extend(without_most.map(|title| title[..title.len() - 1].to_vec()));
    let at = titles.iter().position(|title| width(title) <= room).unwrap_or(titles.len() - 1);
    titles.swap_remove(at)
}

fn titled(shared: &Shared, curve: Curve, test: &Test, (line_words, which): (&str, &str)) -> Vec<Piece> {
    let figure = |text: String| piece(format!("  {text}"), Meaning::Figure);
    let quiet = |text: String| piece(format!("  {text}"), Meaning::Quiet);
    let mut pieces = vec![piece(span::curve_name(curve), Meaning::Heading)];
    let is_paused = test.is_paused();
    if is_paused {
        pieces.push(piece("  paused", Meaning::Warning));
    }
    let has_more = test.targets.len() > 1;
    let line = has_more.then(|| piece(line_words, Meaning::Quiet));
    let upper = (has_more && !which.is_empty()).then(|| quiet(which.to_owned()));
    match curve {
        Curve::Throughput => {
            let unit = span::rate_unit(test, None, shared.units);
            let [now, most] = [test.bytes_per_second(), test.total.bytes.most()].map(|rate| unit.write(rate));
            pieces.extend((!is_paused).then(|| figure(now + &unit.behind())));
            pieces.extend(line);
            pieces.push(quiet(format!("max {most}")));
            pieces.extend(upper);
        }
        Curve::Iops => {
            pieces.extend((!is_paused).then(|| figure(count(test.iops()))));
            pieces.extend(line);
            pieces.push(quiet(format!("max {}", count(test.total.iops.most()))));
            pieces.extend(upper);
        }
        Curve::Latency => {
            let newest = (test.newest(&test.total.p50), test.newest(&test.total.p99));
            if let (Some(p50), Some(p99)) = newest {
                let are_named = !line_words.is_empty() || !which.is_empty();
                let [lower, upper] = if are_named { [" (lower line)", " (upper line)"] } else { [""; 2] };
                pieces.push(figure(format!("{} median{lower}", nanoseconds(p50))));
                pieces.push(quiet(format!("{} p99{upper}", nanoseconds(p99))));
            }
        }
    }
    pieces
}

fn empty(shared: &Shared, brush: &mut Brush<'_>, inner: Rect) {
    let drives = || match names(&shared.marks, usize::MAX) {
        _ if !shared.files.is_empty() => "the form's files".to_owned(),
        Some(names) => format!("the marked drives ({names})"),
        None => {
            let all = counted(shared.tested_drives().count(), "drive");
            format!("{all}; {{mark}} on Machine marks some")
        }
    };
    let text = shared.untestable().map_or_else(
        || {
            let drives = drives();
            let runs = runs_workload(shared);
            if shared.experiments.running().is_some() {
                return format!("{runs}, on {drives}.");
            }
            format!("{runs}, on {drives}. On Machine {{pull}} runs the pull. Tests only read.")
        },
        str::to_owned,
    );
    brush.lines(inner, &paragraph(&shared.keys.fill(&text), Meaning::Quiet, inner.width), 0);
}

/// What runs the workload of the form now; an experiment in progress refuses it.
fn runs_workload(shared: &Shared) -> &'static str {
    if shared.experiments.running().is_some() {
        "An experiment is running: {what-if} shows it, {stop} stops it. After it {run} runs the workload on the left"
    } else {
        "{run} runs the workload on the left"
    }
}

fn draw_curve(
    shared: &Shared,
    brush: &mut Brush<'_>,
    (curve, span): (Curve, Option<Span>),
    test: &Test,
    inner: Rect,
    now: Duration,
) {
    let units = shared.units;
    let pick: fn(&Curves) -> &Series = match curve {
        Curve::Throughput => |curves| &curves.bytes,
        Curve::Iops => |curves| &curves.iops,
        Curve::Latency => |curves| &curves.p99,
    };
    let line = |series, meaning| Line { series, meaning, filled: false };
    let mut curves: Vec<Line<'_>> = Vec::new();
    if test.targets.len() > 1 {
        let targets = test.targets.iter().enumerate();
        curves.extend(targets.map(|(index, target)| line(pick(&target.curves), Meaning::Curve(index))));
    }
    if curve == Curve::Latency {
        curves.push(line(&test.total.p50, Meaning::Figure));
    }
    if curve != Curve::Latency || test.targets.len() == 1 {
        curves.push(line(pick(&test.total), Meaning::Brand));
    }
    let (top, label): (f64, Box<dyn Fn(f64) -> String>) = match curve {
        Curve::Throughput => {
            let unit = span::rate_unit(test, span, units);
            (units.axis(test.scales.bytes.top()), Box::new(move |value| unit.label(value)))
        }
        Curve::Iops => (test.scales.iops.top(), Box::new(|value| count(value).replace(' ', ""))),
        Curve::Latency => (test.scales.latency.top(), Box::new(|value| nanoseconds(value).replace(' ', ""))),
    };
    // The line of a limit means something where all that is drawn goes through it.
    let all = |b: &Bottleneck| {
        b.is_full() && b.direction == Direction::Read && b.drives.len() == test.targets.len()
    };
    let level = shared.bottlenecks.iter().find(|b| curve == Curve::Throughput && all(b));
    let level = level.map(|b| (b.limit, format!("limit {}", rate(units, b.limit))));
    let level = level.filter(|_| test.is_running());
    Graph { curves, top, label: &*label, level, window: test.window() }.draw(brush, inner, now);
}

/// Of a test that the user stopped before it read.
const STOPPED: &str = "Stopped before the first read: nothing was measured.";

/// The result of the test; while it runs, the bottleneck.
fn outcome(state: &Dyno, shared: &Shared, panel: Rect, brush: &mut Brush<'_>) {
    let Some(test) = state.ended(shared) else {
        bottleneck_panel::draw(shared, panel, (state.result_top, scroll::PAGES), &[], brush);
        return;
    };
    let of = piece(format!("  {}", test.workload.title()), Meaning::Quiet);
    // Without a box the rule has room for the mark of hidden lines alone.
    let title = [vec![piece("Result", Meaning::Heading)], if brush.boxed { vec![of] } else { Vec::new() }];
    let inner = brush.panel(panel, &title.concat(), &[]);
    let hidden = brush.lines(inner, &result(shared, test, inner.width), state.result_top);
    scroll::mark(brush, panel, scroll::PAGES, hidden);
}

/// The result of an ended test, in lines of at most `width` cells.
pub(super) fn result(shared: &Shared, test: &Test, width: u16) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = Vec::new();
    match (&test.result, test.summary()) {
        (Some(Err(why)), _) if why.is_stop() => {
            let next = match test.pull {
                Some(_) => "{pull page} shows its pull",
                None => runs_workload(shared),
            };
            let text = shared.keys.fill(&format!("{STOPPED} {next}."));
            lines.extend(paragraph(&text, Meaning::Quiet, width));
        }
        (Some(Err(why)), _) => {
            if !why.files().is_empty() {
                let files = counted(why.files().len(), "file");
                let again = shared.keys.fill(&format!("{{run}} offers to read {files} instead."));
                lines.extend(paragraph(&again, Meaning::Quiet, width));
            }
            lines.extend(hanging(piece("! ", Meaning::Problem), &why.to_string(), Meaning::Text, width));
        }
        (_, Some(summary)) => {
            lines.extend(paragraph(&test.headline, Meaning::Figure, width));
            lines.extend(paragraph(&result_line(shared, test, summary), Meaning::Quiet, width));
            if let Some(doubts) = doubts(summary) {
                let mark = piece(format!("{FULL_MARK} "), Meaning::Warning);
                lines.extend(hanging(mark, &doubts, Meaning::Text, width));
            }
            lines.extend(bottleneck_panel::expectations(shared, test, width));
            for fallback in &summary.effective.fallbacks {
                lines.extend(hanging(piece("  ", Meaning::Text), fallback, Meaning::Quiet, width));
            }
        }
        _ => {}
    }
    lines
}

/// Every reason why a figure is not the drives' own, each once.
fn doubts(summary: &RunSummary) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for why in summary.targets.iter().flat_map(|target| &target.invalid_because) {
        if !reasons.contains(&why.as_str()) {
            reasons.push(why);
        }
    }
    let whose = if summary.targets.len() == 1 { "a measure of the drive" } else { "a measure of the drives" };
    (!reasons.is_empty()).then(|| format!("not {whose}: {}", reasons.join("; ")))
}

fn result_line(shared: &Shared, test: &Test, summary: &RunSummary) -> String {
    let stopped = if summary.interrupted { ", stopped early" } else { "" };
    let (rate, iops) = (rate(shared.units, summary.bytes_per_second()), count(summary.iops()));
    let (engine, batch) = (summary.effective.engine.name(), summary.effective.batch.as_str());
    // A simulated run has no batches.
    let batch = if batch == engine || batch.is_empty() { String::new() } else { format!(", {batch}") };
    format!("{rate}, {iops} IOPS: {}{stopped}; {engine}{batch}", test.workload.title())
}

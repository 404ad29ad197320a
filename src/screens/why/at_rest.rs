//! What is known of the limits without counters: CPUs, queues of drives, findings. A demo at rest and a capture show it.

use ratatui::layout::Rect;

use crate::{
    machine::{Drive, Machine, drive},
    model::cpu_list::cpu_list,
    screens::widgets::{
        findings,
        paint::{Brush, hanging, label, piece},
        sections::{self, Section},
        words::{basis, iops, rate},
    },
    ui::{Shared, theme::Meaning},
    units::{count, counted, names_of},
};

const LABEL: usize = 10;

/// The evidence of each finding: the most that leaves room for all sections.
const EVIDENCE: [usize; 5] = [48, 24, 12, 6, findings::EVIDENCE];

/// Draws them, the most wanted first.
pub(super) fn draw(shared: &Shared, area: Rect, brush: &mut Brush<'_>) {
    let rows = usize::from(area.height);
    sections::fill_with_most(brush, area, &EVIDENCE, |evidence, width| {
        sections(shared, (width, rows), evidence)
    });
}

/// All sections for `rows` rows of `width` cells.
fn sections(shared: &Shared, (width, rows): (u16, usize), evidence: usize) -> Vec<Section> {
    let tables = [cpus(shared, width), queues(&shared.machine, width, rows)];
    let found =
        findings::ordered(shared).take(rows).map(|finding| findings::section(finding, evidence, width));
    let unjudged =
        shared.findings.need_test.iter().take(rows).filter_map(|id| findings::unjudged(*id, width));
    let drives = shared.machine.hardware_drives().take(rows).map(|drive| limits(shared, drive, width));
    let all = tables.into_iter().chain(found).chain(unjudged).chain(drives);
    all.filter(|section| section.len() > 1).collect()
}

/// What a drive could read, and what its path carries.
fn limits(shared: &Shared, drive: &Drive, width: u16) -> Section {
    let mut lines = vec![sections::heading(drive.name.as_str(), &shared.machine.model_of(drive))];
    let limits = &shared.limits;
    let path = drive.node.and_then(|node| limits.path(node));
    let each = [("drive", limits.own.get(&drive.name)), ("path", path)];
    for (name, limit) in each.into_iter().filter_map(|(name, limit)| Some((name, limit?))) {
        let bytes = rate(shared.units, limit.bytes_per_second.0);
        let text = format!("{bytes}, {}: {}", basis(limit.basis), limit.because);
        lines.extend(hanging(label(name, LABEL), &text, Meaning::Text, width));
    }
    if let Some((count, source, because)) = limits.drive_iops.get(&drive.name) {
        let text = format!("{}, {}: {because}", iops(*count), basis(*source));
        lines.extend(hanging(label("reads", LABEL), &text, Meaning::Text, width));
    }
    lines
}

fn cpus(shared: &Shared, width: u16) -> Section {
    let machine = &shared.machine;
    let processors = &machine.processors;
    let mut lines = vec![sections::heading("CPUs", "as read")];
    let mut say = |name: &str, text: String| {
        lines.extend(hanging(label(name, LABEL), &text, Meaning::Text, width));
    };
    if let Some(model) = processors.model.value() {
        let smt = match processors.smt_active.get() {
            Some(true) => ", SMT on",
            Some(false) => ", SMT off",
            None => "",
        };
        say("model", format!("{model}, {}{smt}", counted(processors.count(), "CPU")));
    }
    for (node, cpus) in processors.numa.iter().filter(|(_, cpus)| !cpus.is_empty()).take(MOST_NODES) {
        say("NUMA", format!("node {node}: CPUs {}", cpu_list(cpus.iter().copied()).replace(',', ", ")));
    }
    if let Some(first) = processors.cpus.first() {
        let words = [
            first.driver.value().map(|driver| format!("driver {driver}")),
            first.governor.value().map(|governor| format!("governor {governor}")),
            first.energy_preference.value().map(|preference| format!("preference {preference}")),
            first.max_khz.get().map(|khz| format!("max {:.2} GHz", khz as f64 / 1e6)),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if !words.is_empty() {
            say("clock", words.join(", "));
        }
    }
    let states = processors
        .idle_states
        .iter()
        .filter_map(|state| Some(format!("{} {} us", state.name.value()?, state.latency_us.get()?)));
    let states: Vec<String> = states.collect();
    if !states.is_empty() {
        say("C-states", format!("{} to leave", states.join(", ")));
    }
    if let Some(limit) = &shared.limits.processors
        && let Some((bytes, cycles)) = limit.together.first().or(limit.alone.first())
    {
        let cycles = count(*cycles).replace(' ', "");
        let basis = basis(limit.basis);
        say("cost", format!("{cycles} cycles for a read of {} B, {basis}: {}", bytes.0, limit.because));
    }
    lines
}

/// The most NUMA nodes with a line each.
const MOST_NODES: usize = 8;

/// Queues and their settings; neighbours with the same share a line.
fn queues(machine: &Machine, width: u16, rows: usize) -> Section {
    let mut drives: Vec<(&Drive, String)> =
        machine.hardware_drives().map(|drive| (drive, settings(drive))).collect();
    drives.sort_by_key(|(drive, _)| (drive.name.as_str().len(), &drive.name));
    let mut lines = vec![sections::heading("Queues", "of drives, as read")];
    for group in drives.chunk_by(|one, next| one.1 == next.1).take(rows) {
        let Some((_, words)) = group.first() else { continue };
        let count = drive::count(group.iter().map(|(drive, _)| *drive));
        let name = names_of(&counted(count, "drive"), group.iter().map(|(drive, _)| drive.name.as_str()));
        lines.extend(hanging(piece("  ", Meaning::Text), &format!("{name}: {words}"), Meaning::Text, width));
    }
    lines
}

/// `32 default queues, no poll queues, scheduler none, 1023 requests, rq_affinity 1, nomerges 0`.
fn settings(drive: &Drive) -> String {
    let queue = &drive.queue;
    let queues = queue.hardware_queues.get().map(|queues| {
        let number = |count: u32, kind: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), kind);
        let poll = match queues.poll {
            0 => "no poll queues".to_owned(),
            count => number(count, "poll queue"),
        };
        format!("{}, {poll}", number(queues.default, "default queue"))
    });
    let words = [
        queues,
        queue.scheduler.value().map(|choice| format!("scheduler {}", choice.current)),
        queue.nr_requests.get().map(|count| format!("nr_requests {count}")),
        queue.max_sectors_kb.get().map(|kib| format!("max request {kib} KiB")),
        queue.rq_affinity.get().map(|mode| format!("rq_affinity {mode}")),
        queue.nomerges.get().map(|mode| format!("nomerges {mode}")),
        queue.wbt_lat_usec.get().map(|us| format!("wbt {us} us")),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() { "no settings known".to_owned() } else { words.join(", ") }
}

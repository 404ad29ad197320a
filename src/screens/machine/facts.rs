//! The facts of a row: what is known of it, each with its unit and the path it was read from.

use std::sync::Arc;

use super::{
    fact::{Fact, fact, read},
    figures::{Figures, LinkState, UNCOUNTED},
    layers,
};
use crate::{
    machine::{
        Drive, Express, Machine, PciNode, Temperature, hop,
        pci::{NOT_EXPRESS, NodeKind},
    },
    model::{Basis, DriveName, Limit, NodeIndex},
    report::flatten::{Group, Row, RowKind},
    screens::widgets::words::{basis, giga, giga_before_unit, iops, nanoseconds, place, rate, short_name},
    ui::{Shared, load::LoadSource, theme::Meaning},
    units::{Bytes, Lanes, TransferRate, counted},
};

/// The heading for a row's facts.
pub(super) fn heading(shared: &Shared, row: &Row) -> String {
    match (&row.kind, row.drive(), row.node) {
        (_, Some(drive), _) => drive.to_string(),
        (RowKind::Alike, ..) => format!("{} drives", row.drives.len()),
        (RowKind::Root, _, Some(node)) => {
            format!("{} {}", shared.machine.kind_of_root(node), shared.machine.pci.node(node).address)
        }
        (_, _, Some(node)) => shared.machine.pci.node(node).address.to_string(),
        (RowKind::Group(Group::Arrays), ..) => "arrays and volumes".to_owned(),
        (RowKind::Group(_), ..) => "drives without a PCI device".to_owned(),
        _ => "folded devices".to_owned(),
    }
}

/// All facts of a row, the ones people look for first.
pub(super) fn of_row(shared: &Shared, row: &Row) -> Vec<Fact> {
    let mut facts = read_of_row(shared, row);
    if let Some(pasted) = &shared.machine.pasted {
        for fact in &mut facts {
            // A value that the text does not state has no line.
            fact.path = fact.path.take().and_then(|path| pasted.stated_at(&path)).map(Arc::from);
        }
    }
    facts
}

/// The same with paths of sysfs, also where an opened text answers for them.
fn read_of_row(shared: &Shared, row: &Row) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(drive) = row.drive().and_then(|name| shared.machine.drive(name)) {
        about_drive(shared, drive, row, &mut facts);
        if let Some(node) = row.node {
            about_function(shared, node, &mut facts);
            facts.extend(errors(&Figures::new(shared, row), node));
        }
        facts.extend(no_slot(&Figures::new(shared, row)));
        return facts;
    }
    if let Some(node) = row.node {
        about_node(shared, node, row, &mut facts);
        about_function(shared, node, &mut facts);
        facts.extend(errors(&Figures::new(shared, row), node));
        facts.extend(no_slot(&Figures::new(shared, row)));
    }
    if matches!(row.kind, RowKind::Folded { .. }) {
        facts.push(fact("", "Devices that hold no drives and share no lanes with any."));
        facts
            .push(fact("", shared.keys.fill("{unfold} opens them here, {every device} shows every device.")));
    }
    if !row.drives.is_empty() {
        let names: Vec<&str> = row.drives.iter().map(DriveName::as_str).collect();
        facts.push(fact("drives", names.join(" ")));
    }
    facts
}

fn about_drive(shared: &Shared, drive: &Drive, row: &Row, facts: &mut Vec<Fact>) {
    let units = shared.units;
    facts.extend(read("model", &drive.model, ToString::to_string));
    if let Some(file) = &drive.backing_file {
        facts.push(fact("file", file.to_string()));
    }
    let figures = Figures::new(shared, row);
    measured(shared, drive, facts);
    rates(&figures, facts);
    potential(&figures, facts);
    about_link(&figures, facts);
    if let Some(limit) = shared.limits.drive(&drive.name) {
        facts.push(limit_fact("limit", shared, limit));
    } else {
        facts.extend(layers::limit_of_members(shared, drive));
    }
    facts.extend(slot(&figures));
    let in_text = shared.machine.size_in_text(drive);
    facts.extend(read("size", &drive.size, |size| in_text.map_or_else(|| units.size(*size), str::to_owned)));
    facts.push(lba(drive));
    facts.extend(read("queues", &drive.queue.hardware_queues, |queues| {
        let poll = match queues.poll {
            0 => "no poll queues".to_owned(),
            n => counted(usize::try_from(n).unwrap_or(usize::MAX), "poll queue"),
        };
        format!("{} default, {poll}", queues.default)
    }));
    facts.extend(read("sched", &drive.queue.scheduler, |choice| choice.current.to_string()));
    facts.extend(read("readahead", &drive.queue.read_ahead_kb, |kib| format!("{kib} KiB")));
    facts.extend(read("max req", &drive.queue.max_sectors_kb, |kib| {
        // Drivers without a limit of their own say the largest number there is.
        let hardware = drive.queue.max_hw_sectors_kb.get().filter(|most| *most < u64::from(u32::MAX >> 1));
        let hardware = hardware.map(|most| format!(", hardware max {most} KiB")).unwrap_or_default();
        format!("{kib} KiB{hardware}")
    }));
    facts.extend(read("requests", &drive.queue.nr_requests, ToString::to_string));
    if let Some(temperature) = &drive.temperature {
        facts.extend(heat(temperature));
    }
    facts.extend(layers::of_drive(&shared.machine, drive));
    facts.push(in_use(&shared.machine, drive));
    facts.extend(read("NUMA", &drive.numa_node, |node| {
        node.map_or_else(|| "none reported".to_owned(), |node| format!("node {node}"))
    }));
    facts.extend(read("firmware", &drive.firmware, ToString::to_string));
    facts.extend(read("serial", &drive.serial, ToString::to_string));
    facts.extend(read("wbt", &drive.queue.wbt_lat_usec, |us| format!("{us} us")));
    facts.extend(read("affinity", &drive.queue.rq_affinity, |mode| format!("rq_affinity {mode}")));
    facts.extend(read("merges", &drive.queue.nomerges, |mode| format!("nomerges {mode}")));
    facts.extend(read("iostats", &drive.queue.iostats, ToString::to_string));
    facts.extend(layers::write_cache(drive));
    health(shared, drive, facts);
}

/// The drive's rate in the running test, against its limit.
fn measured(shared: &Shared, drive: &Drive, facts: &mut Vec<Fact>) {
    if shared.load.source != LoadSource::Test {
        return;
    }
    let Some(test) = shared.tests.running() else { return };
    let seen = test.targets.iter().find(|target| target.drive.as_ref() == Some(&drive.name));
    let Some(seen) = seen else { return };
    if test.is_paused() {
        facts.push(fact("reads", "none: the test is paused"));
        return;
    }
    let bytes = seen.curves.bytes.last().unwrap_or(0.0);
    let against = shared.limits.drive(&drive.name).map(|limit| limit.bytes_per_second.0);
    let of = against.map_or(String::new(), |limit| format!(" of {}", giga(shared.units, limit)));
    let value = format!("{}{of} {}", giga_before_unit(shared.units, bytes), shared.units.giga_per_second());
    facts.push(Fact { meaning: Meaning::Figure, ..fact("reads", value) });
    facts.push(fact("", iops(seen.curves.iops.last().unwrap_or(0.0))));
    if let (Some(p50), Some(p99)) = (seen.latency.percentile(50.0), seen.latency.percentile(99.0)) {
        let value = format!("{} median, {} p99", nanoseconds(p50 as f64), nanoseconds(p99 as f64));
        facts.push(fact("latency", value));
    }
    let holder = shared.bottlenecks.iter().find(|b| b.is_full() && b.drives.contains(&drive.name));
    if let Some(holder) = holder {
        let value =
            format!("{}, max {}", place(&shared.machine, holder.node), rate(shared.units, holder.limit));
        facts.push(Fact { meaning: Meaning::Warning, ..fact("slowed by", value) });
    }
    if seen.errors > 0 {
        facts.push(Fact { meaning: Meaning::Problem, ..fact("errors", seen.errors.to_string()) });
    }
}

/// What the kernel counts of the row now; of a test's targets the writes, for the test counts its reads.
fn rates(figures: &Figures<'_>, facts: &mut Vec<Fact>) {
    let (shared, units) = (figures.shared, figures.shared.units);
    if let Some(drive) = figures.uncounted() {
        let path = Some(drive.queue.iostats.path());
        facts.push(Fact { path, ..fact("rates", UNCOUNTED) });
    }
    let Some(flow) = figures.flow else { return };
    let left_out: Vec<&str> = figures.left_out().map(|drive| drive.name.as_str()).collect();
    if !left_out.is_empty() {
        let path = figures.left_out().next().map(|drive| drive.queue.iostats.path());
        let value = format!("without {}: iostats is 0", left_out.join(", "));
        facts.push(Fact { path, ..fact("rates", value) });
    }
    let is_tested = figures.drive().is_some_and(|drive| {
        let targets = shared.tests.running().map_or(&[][..], |test| &test.targets);
        targets.iter().any(|target| target.drive.as_ref() == Some(&drive.name))
    });
    for (label, way, is_shown) in [("reads", flow.read, !is_tested), ("writes", flow.write, true)] {
        if !is_shown || way.requests <= 0.0 {
            continue;
        }
        let time = match way.await_ms {
            // The kernel counts whole milliseconds: of a few I/Os it may count none.
            Some(0.0) => ", under 1 ms".to_owned(),
            Some(ms) => format!(", {}", nanoseconds(ms * 1e6)),
            None => String::new(),
        };
        let least = figures.at_least(String::new());
        let value = format!("{least}{}, {least}{}{time}", rate(units, way.bytes), iops(way.requests));
        facts.push(Fact { meaning: Meaning::Figure, ..fact(label, value) });
    }
}

/// What the drive could read, and what it loses by its path.
fn potential(figures: &Figures<'_>, facts: &mut Vec<Fact>) {
    let Some(could) = figures.potential() else { return };
    let units = figures.shared.units;
    let most = if could.basis == Basis::Link { "at most " } else { "" };
    let tail = format!("{most}{}, {}", rate(units, could.bytes_per_second.0), basis(could.basis));
    let found = match figures.limit().filter(|_| figures.is_held_back()) {
        Some(limit) => Fact {
            meaning: Meaning::Warning,
            ..fact("potential", format!("{} of {tail}", giga(units, limit)))
        },
        None => fact("potential", tail),
    };
    facts.push(Fact { more: Some(could.because), ..found });
}

fn limit_fact(label: &'static str, shared: &Shared, limit: &Limit) -> Fact {
    let number = rate(shared.units, limit.bytes_per_second.0);
    let value = format!("{number}, {}", basis(limit.basis));
    Fact { more: Some(limit.because.clone()), ..fact(label, value) }
}

fn lba(drive: &Drive) -> Fact {
    let path = Some(drive.queue.logical_block_size.path());
    let namespace = drive.nvme.as_ref().and_then(|nvme| nvme.namespace.value());
    let others: Vec<String> = namespace
        .into_iter()
        .flat_map(|namespace| namespace.formats.iter().map(move |format| (format, namespace.in_use)))
        .filter(|(format, in_use)| Some(format.index) != *in_use)
        .filter_map(|(format, _)| match (format.data_bytes?, format.metadata_bytes) {
            (data, 0) => Some(format!("{data}")),
            (data, metadata) => Some(format!("{data}+{metadata}")),
        })
        .collect();
    let Some(bytes) = drive.lba_bytes() else {
        let offered =
            if others.is_empty() { String::new() } else { format!(", one of {} B", others.join(", ")) };
        return Fact { path, meaning: Meaning::Quiet, ..fact("LBA", format!("unknown{offered}")) };
    };
    let Some(namespace) = namespace else {
        return Fact { path, ..fact("LBA", format!("{bytes} B")) };
    };
    let tail = if namespace.in_use.is_none() {
        format!("formats of {} B", others.join(", "))
    } else if others.is_empty() {
        "the only format".to_owned()
    } else {
        format!("also {} B", others.join(", "))
    };
    Fact { path, ..fact("LBA", format!("{bytes} B, {tail}")) }
}

fn heat(temperature: &Temperature) -> Option<Fact> {
    let most = temperature.max.get().or(temperature.critical.get());
    let mut found = read("temp", &temperature.now, |now| match most {
        Some(most) => format!("{now:.0} °C, max {most:.0} °C"),
        None => format!("{now:.0} °C"),
    })?;
    if temperature.now.get().zip(most).is_some_and(|(now, most)| now >= most) {
        found.meaning = Meaning::Warning;
    }
    Some(found)
}

fn in_use(machine: &Machine, drive: &Drive) -> Fact {
    if machine.is_unused_in_text(drive) {
        return Fact { meaning: Meaning::Quiet, ..fact("in use", "none in lsblk") };
    }
    if drive.used_by.is_empty() && !drive.users_unread.is_empty() {
        if machine.pasted.is_some() {
            return Fact { meaning: Meaning::Quiet, ..fact("in use", "unknown: `lsblk` shows it") };
        }
        // The same of every file: a text has none of them.
        let first = drive.users_unread.first().map(|problem| &problem.reason);
        if drive.users_unread.len() > 1 && drive.users_unread.iter().all(|it| Some(&it.reason) == first) {
            let why = first.map_or_else(String::new, |reason| format!("unknown ({reason})"));
            return Fact { meaning: Meaning::Quiet, ..fact("in use", why) };
        }
        let unread = drive.users_unread.iter().map(|problem| format!("{}: {}", problem.path, problem.reason));
        let why = unread.collect::<Vec<_>>().join(", ");
        return Fact { meaning: Meaning::Quiet, ..fact("in use", format!("unknown ({why})")) };
    }
    if drive.used_by.is_empty() {
        return Fact { meaning: Meaning::Quiet, ..fact("in use", "no") };
    }
    let all: Vec<String> = drive.used_by.iter().map(ToString::to_string).collect();
    fact("in use", all.join(", "))
}

fn health(shared: &Shared, drive: &Drive, facts: &mut Vec<Fact>) {
    let Some(nvme) = &drive.nvme else { return };
    facts.extend(read("wear", &nvme.smart, |smart| {
        format!(
            "{} %, spare {} % (threshold {} %)",
            smart.used_percent, smart.spare_percent, smart.spare_threshold_percent
        )
    }));
    facts.extend(read("lifetime", &nvme.smart, |smart| {
        let clamp = |bytes: u128| shared.units.size(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)));
        format!(
            "{} read, {} written, on for {} h",
            clamp(smart.read),
            clamp(smart.written),
            smart.power_on_hours
        )
    }));
    facts.extend(read("media", &nvme.smart, |smart| format!("{} errors", smart.media_errors)));
    facts.extend(read("MDTS", &nvme.identity, |controller| {
        controller
            .largest_transfer
            .map_or_else(|| "no limit".to_owned(), |most| format!("{} KiB", most.0 >> 10))
    }));
    facts.extend(read("APST", &nvme.apst, |on| if *on { "on" } else { "off" }.to_owned()));
}

fn about_node(shared: &Shared, index: NodeIndex, row: &Row, facts: &mut Vec<Fact>) {
    let node = shared.machine.pci.node(index);
    let name = node.name();
    if !name.is_empty() {
        facts.push(fact("name", name));
    }
    if let Some(class) = &node.names.class {
        facts.push(Fact { path: Some(node.class.path()), ..fact("class", class.to_string()) });
    }
    let figures = Figures::new(shared, row);
    rates(&figures, facts);
    about_link(&figures, facts);
    if let Some(limit) = shared.limits.hop(index) {
        facts.push(limit_fact("limit", shared, limit));
    } else if row.kind == RowKind::Root {
        facts.push(Fact { meaning: Meaning::Quiet, ..fact("limit", "unknown: not measured or published") });
    }
    if let Some(share) = shared.limits.oversubscription.get(&index).filter(|_| row.drives.len() > 1) {
        let meaning = if *share > 1.0 { Meaning::Warning } else { Meaning::Text };
        facts.push(Fact {
            meaning,
            ..fact("demand", format!("{share:.2} of its limit, from the drives below"))
        });
    }
    facts.extend(slot(&figures));
}

/// The board's name of the slot.
fn slot(figures: &Figures<'_>) -> Option<Fact> {
    let machine = &figures.shared.machine;
    // Of a text it is what lspci prints of the device, not the firmware's table.
    let of_text = machine.pasted.as_ref().and_then(|_| {
        let named = figures.nodes().into_iter().map(|node| machine.pci.node(node));
        named
            .into_iter()
            .find(|node| node.slot.is_some())
            .map(|node| Arc::from(format!("{}/label", node.path)))
    });
    let path = Some(of_text.unwrap_or_else(|| machine.host.slots.path()));
    Some(Fact { path, ..fact("slot", figures.slot()?) })
}

/// Why the slot has no name: only of what can be in one.
fn no_slot(figures: &Figures<'_>) -> Option<Fact> {
    if figures.slot().is_some() {
        return None;
    }
    figures.place_of_link()?;
    let slots = &figures.shared.machine.host.slots;
    let path = Some(slots.path());
    let value = match slots.problem() {
        Some(problem) => format!("not available here: {}", problem.reason),
        None => "not named by the firmware".to_owned(),
    };
    Some(Fact { path, meaning: Meaning::Quiet, ..fact("slot", value) })
}

fn about_link(figures: &Figures<'_>, facts: &mut Vec<Fact>) {
    let Some((index, link, state)) = figures.place_of_link() else {
        let node = figures.row.node.map(|node| figures.shared.machine.pci.node(node));
        if let Some(node) = node.filter(|node| node.kind == NodeKind::Endpoint && node.link.is_none()) {
            let is_stated = node.express.problem().is_none_or(|problem| *problem.reason == *NOT_EXPRESS);
            let value = if figures.shared.machine.pasted.is_none() || is_stated {
                "none: no PCIe link capability"
            } else {
                "unknown: `sudo lspci -vv` shows it"
            };
            facts.push(Fact { meaning: Meaning::Quiet, ..fact("link", value) });
        }
        return;
    };
    let tree = &figures.shared.machine.pci;
    let node = tree.node(index);
    let path = node.link.as_ref().map(|link| link.speed.path());
    let meaning = if state == LinkState::Slow { Meaning::Warning } else { Meaning::Text };
    let text = if figures.is_asleep() { link.sentence_asleep() } else { link.sentence() };
    facts.push(Fact { meaning, path, ..fact("link", text) });
    let parent = node.parent.map(|parent| tree.node(parent));
    facts.extend(parent.and_then(|port| target(port, link.most)));
    if let (Some(port), Some(parent)) = (link.port_most, parent) {
        let tail = if link.is_slot_limited() { ", less than the device" } else { "" };
        let path = parent.link.as_ref().map(|link| link.max_speed.path());
        facts.push(Fact { path, ..fact("port", format!("{} {}{tail}", hop::short(port), parent.address)) });
    }
    if let Some(device) = link.device_most.filter(|_| link.is_slot_limited()) {
        facts.push(fact("device", format!("{} at most", hop::short(device))));
    }
}

/// The speed that software allows, where it is below the capability of both ends, or the reason it is not known.
fn target(port: &PciNode, most: Option<(TransferRate, Lanes)>) -> Option<Fact> {
    port.link.as_ref()?;
    let path = Some(Arc::from(format!("{} LnkCtl2", port.express.path())));
    if let Some(problem) = port.express.problem() {
        let value = format!("not known: {}", problem.reason);
        return Some(Fact { path, meaning: Meaning::Quiet, ..fact("cap", value) });
    }
    let target = port.express.value()?.target_speed?;
    let is_capped = most.is_some_and(|(speed, _)| target < speed);
    let value = format!("{} by LnkCtl2 of port {}", hop::speed_sentence(target), port.address);
    is_capped.then(|| Fact { path, meaning: Meaning::Warning, ..fact("cap", value) })
}

/// Packet sizes, by Device Control.
fn packets(node: &PciNode) -> Option<Fact> {
    of_register("payload", node, "DevCtl MaxPayload", |express| {
        let of = |size: Option<u16>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
        let sizes = [express.payload, express.payload_supported, express.read_request];
        let [set, supported, request] = sizes.map(of);
        sizes.iter().any(Option::is_some).then(|| format!("MPS {set} of {supported} B, MRRS {request} B"))
    })
}

fn aspm(node: &PciNode) -> Option<Fact> {
    of_register("ASPM", node, "LnkCtl", |express| {
        let state = match express.aspm_enabled? {
            0 => "off",
            1 => "L0s",
            2 => "L1",
            _ => "L0s and L1",
        };
        Some(state.to_owned())
    })
}

/// A fact from a register of the PCI Express capability; `show` gives nothing for one that a text does not state.
fn of_register(
    label: &'static str,
    node: &PciNode,
    register: &str,
    show: impl Fn(&Express) -> Option<String>,
) -> Option<Fact> {
    let value = node.express.value().map(&show);
    let fact = read(label, &node.express, |_| value.clone().flatten().unwrap_or_default())?;
    let path = Some(Arc::from(format!("{} {register}", node.express.path())));
    (value != Some(None)).then_some(Fact { path, ..fact })
}

/// Facts of every function: address, driver, IOMMU, configuration space.
fn about_function(shared: &Shared, index: NodeIndex, facts: &mut Vec<Fact>) {
    let node: &PciNode = shared.machine.pci.node(index);
    let ids = node.vendor.get().zip(node.device.get()).map(|(v, d)| format!("  {v:04x}:{d:04x}"));
    let address = format!("{}{}", node.address, ids.unwrap_or_default());
    facts.push(Fact { path: Some(Arc::clone(&node.path)), ..fact("address", address) });
    if !shared.machine.drives.iter().any(|drive| drive.node == Some(index)) {
        facts.extend(read("NUMA", &node.numa_node, |numa| {
            numa.map_or_else(|| "none reported".to_owned(), |numa| format!("node {numa}"))
        }));
    } else if !short_name(node).is_empty() {
        facts.push(fact("chip", short_name(node)));
    }
    facts.extend(read("driver", &node.driver, ToString::to_string));
    let domain = node.iommu_type.value().map(|kind| format!(", {kind}")).unwrap_or_default();
    facts.extend(read("IOMMU", &node.iommu_group, |group| format!("group {group}{domain}")));
    facts.extend(packets(node));
    facts.extend(aspm(node));
}

/// Correctable errors of both ends of the link together, as the column has them, and how many each end counted.
fn errors(figures: &Figures<'_>, node: NodeIndex) -> Option<Fact> {
    let machine = &figures.shared.machine;
    let ends = figures.errors();
    let own = &machine.pci.node(node).aer_correctable;
    let Some(path) = ends.first().map(|(at, _)| machine.pci.node(*at).aer_correctable.path()) else {
        // Why it is not known.
        return read("AER", own, |_| "no total of correctable errors".to_owned());
    };
    let all = ends.iter().fold(0, |sum: u64, (_, total)| sum.saturating_add(*total));
    let all_errors = counted(usize::try_from(all).unwrap_or(usize::MAX), "correctable error");
    let value = match (&ends[..], all) {
        ([(at, _)], 0) => format!("0 errors at {}", place(machine, *at)),
        ([_, _], 0) => "0 errors at both ends".to_owned(),
        (ends, 0) => format!("0 errors at all {} ends", ends.len()),
        ([(at, _)], _) => format!("{all_errors} at {}", place(machine, *at)),
        (ends, _) => {
            let of = |(at, total): &(NodeIndex, u64)| format!("{total} at {}", place(machine, *at));
            format!("{all_errors}: {}", ends.iter().map(of).collect::<Vec<_>>().join(", "))
        }
    };
    Some(Fact { path: Some(path), ..fact("AER", value) })
}

//! Links that trained below the capability of both ends, are capped by software, or report errors.
//!
//! Links on the path of a drive are judged by what drives lose; `cards` has the others. Both only where both ends report
//! plausible values: the links of tunnels, inside chips and of emulated devices report speeds without meaning.

use std::collections::BTreeSet;

use super::{
    Check, Detection, Evidence, Gain, Inputs, Risk, Row, Subject,
    capped::blamed,
    cards,
    inputs::{grouped, place, total},
    judged::{Judged, blame, error_counts, judged},
};
use crate::{
    capacity,
    counters::Rates,
    machine::{
        Drive, Machine, PciNode,
        hop::{Pair, sentence, short, speed_sentence},
        pci::NodeAddress,
    },
    model::{FindingId, Limits, NodeIndex, Reading, Severity},
};

pub(super) const LINK_DOWNTRAINED: Row = Row {
    id: FindingId("link-downtrained"),
    title: "link downtrained",
    fires: "current link speed or width is below the lower of what the device and its port can do, and no software asked \
            for that; a display or accelerator at full width and lower speed is idle",
    why: "Each lost generation and each halved width halves the link's bandwidth. Both ends can do \
          more, so the cause is between device and slot, or in the firmware.",
    source: "computed from the link's speed, width and encoding; at most the drive's own rate",
    remedy: "Reseat the drive or card, try it without riser or cable, then set the slot's link speed in the BIOS by \
             hand instead of Auto (Tanel Poder's quad cards needed it). {blame}",
    generally: "Reseat the drive or card, try it without riser or cable, then set the slot's link speed in the BIOS by hand.",
    risk: Risk::Hardware,
    wrong_if: "The link was in power saving when read; check again during a test.",
    names_limit: true,
    check: Check::Many(link_downtrained),
    ..Row::PLAIN
};

pub(super) const LINK_CAPPED_BY_SOFTWARE: Row = Row {
    id: FindingId("link-capped-by-software"),
    title: "link capped by software",
    fires: "the port's target link speed (Link Control 2) is below the lower of what the device and its port can do",
    why: "Firmware or the kernel asked for a slower link than both ends can do: cooling (its device is above 0), a training \
          that failed (2.5 GT/s, Linux 6.5 or later), else the firmware.",
    source: "computed from the link's speed, width and encoding; at most the drive's own rate",
    remedy: "Set the slot's link speed in the BIOS to Auto or the highest generation; if the kernel lowered it after errors, \
             fix those first.",
    risk: Risk::Firmware,
    wrong_if: "The cap was set on purpose, to keep a link with errors alive.",
    of_machine: true,
    names_limit: true,
    check: Check::Many(link_capped_by_software),
    ..Row::PLAIN
};

pub(super) const LINK_ERRORS: Row = Row {
    id: FindingId("link-errors"),
    title: "correctable errors on a link",
    fires: "aer_dev_correctable of an end of a link grows under load; more than one per second at both ends together is bad. In an opened text: \
            CorrErr+ of DevSta at either end, unless CESta names no error of the link, or a message of AER; information, as single errors are common",
    why: "Poor signal integrity: packets are resent. It is the usual cause of a downtrained link.",
    remedy: "Reseat, shorten or replace the riser or cable; one generation lower in the BIOS confirms it.",
    risk: Risk::Hardware,
    wrong_if: "The port counts errors of another function behind it.",
    needs_load: true,
    live: |inputs| inputs.has_live_load(),
    check: Check::Many(link_errors),
    ..Row::PLAIN
};

/// Links on the path of a hardware drive, without duplicates.
pub(super) fn on_the_way<'a>(inputs: &Inputs<'a>) -> Vec<Judged<'a>> {
    let tree = &inputs.machine.pci;
    let functions = inputs.machine.hardware_drives().flat_map(|drive| inputs.machine.functions_of(drive));
    let real = functions.filter(|node| !tree.node(*node).is_emulated());
    let nodes: BTreeSet<NodeIndex> = real.flat_map(|node| tree.whole_ancestry(node)).collect();
    nodes.into_iter().filter_map(|node| judged(inputs, node)).collect()
}

/// The machine with these links at other speeds and widths; `None` if their current limit is unknown.
pub(super) fn retrained(inputs: &Inputs, links: &[(NodeIndex, Pair)]) -> Option<Machine> {
    links.iter().any(|(child, _)| inputs.limits.hop(*child).is_some()).then_some(())?;
    let mut machine = inputs.machine.clone();
    for (child, (speed, width)) in links {
        let port = machine.pci.node(*child).parent;
        for NodeIndex(end) in port.into_iter().chain([*child]) {
            if let Some(link) = &mut machine.pci.nodes[end].link {
                link.speed = Reading::known(link.speed.path(), *speed);
                link.width = Reading::known(link.width.path(), *width);
            }
        }
    }
    Some(machine)
}

/// Smaller gains are rounding errors, bytes per second.
pub(super) const NOTHING: f64 = 1e3;

/// The gain of all drives together on the machine `then`, and its severity; an unknown gain is a warning.
pub(super) fn weighed(inputs: &Inputs, then: Option<&Machine>, source: &str) -> (Severity, Gain) {
    let gain = then.map(|then| total(then, &capacity::limits(then)) - inputs.total());
    match gain {
        Some(rate) if rate > NOTHING => (inputs.weigh(rate), inputs.gain(rate, source)),
        Some(_) => (Severity::Info, Gain::words("none: another limit is lower", source)),
        None => (Severity::Warning, Gain::unknown(source)),
    }
}

/// The same for a fault: if another bottleneck hides the gain of all drives together, the gain of a single drive
/// counts.
fn weighed_alone(inputs: &Inputs, then: Option<&Machine>, source: &str) -> (Severity, Gain) {
    let (severity, gain) = weighed(inputs, then, source);
    let alone = then.map_or(0.0, |then| gain_alone(inputs, then));
    if gain.bytes_per_second.is_some() || alone <= NOTHING {
        return (severity, gain);
    }
    let rate = inputs.rate(alone);
    let text = format!("about +{rate} for one busy drive; none with all busy");
    (Severity::Warning, Gain { estimate: true, ..Gain::words(text, source) })
}

/// The largest gain of a single drive.
fn gain_alone(inputs: &Inputs, then: &Machine) -> f64 {
    let limits = capacity::limits(then);
    let rate =
        |limits: &Limits, drive: &Drive| limits.drive(&drive.name).map(|limit| limit.bytes_per_second.0);
    let drives = inputs.machine.hardware_drives();
    drives.filter_map(|drive| Some(rate(&limits, drive)? - rate(inputs.limits, drive)?)).fold(0.0, f64::max)
}

/// Whether the drive, or a path to it, is attached to this function.
fn is_at(inputs: &Inputs, drive: &Drive, function: NodeIndex) -> bool {
    inputs.machine.is_attached_to(drive, function)
}

/// The drives behind the links, or the device itself if it is a switch.
pub(super) fn subjects(inputs: &Inputs, links: &[Judged]) -> Vec<Subject> {
    subjects_at(inputs, &links.iter().map(|link| link.child).collect::<Vec<_>>())
}

/// [`subjects`] of the links above these functions.
pub(super) fn subjects_at(inputs: &Inputs, functions: &[NodeIndex]) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for function in functions {
        let drives: Vec<_> =
            inputs.machine.hardware_drives().filter(|drive| is_at(inputs, drive, *function)).collect();
        let switch = drives.is_empty().then(|| Subject::of_node(inputs.machine, *function));
        subjects.extend(drives.into_iter().map(Subject::drive).chain(switch));
    }
    subjects
}

pub(super) fn subject_words(subjects: &[Subject]) -> String {
    subjects.iter().map(|subject| subject.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn link_downtrained(inputs: &Inputs) -> Vec<Detection> {
    // Links in the same state are one finding; `link-capped-by-software` has those that software slows.
    let is_fault = |link: &Judged| link.is_below() && (link.cap().is_none() || link.is_narrow());
    let links = on_the_way(inputs).into_iter().filter(is_fault);
    let groups = grouped(links.map(|link| ((link.now, link.most), link)));
    let drives = groups.into_iter().map(|((now, most), links)| downtrained(inputs, now, most, &links));
    drives.chain(cards::links(inputs).iter().filter_map(|link| cards::downtrained(inputs, link))).collect()
}

fn downtrained(inputs: &Inputs, now: Pair, most: Pair, links: &[Judged]) -> Detection {
    let then = retrained(inputs, &links.iter().map(|link| (link.child, most)).collect::<Vec<_>>());
    let about = subjects(inputs, links);
    let (severity, gain) = weighed_alone(inputs, then.as_ref(), LINK_DOWNTRAINED.source);
    let errors: Vec<Evidence> =
        links.iter().flat_map(|link| error_counts(&[link.device, link.port])).collect();
    let ends = links.first().map(|link| blame("The drive's end", link, !errors.is_empty()));
    let which = if links.len() == 1 { "its link runs" } else { "their links run" };
    let title = format!("{}: {which} at {}, could be {}", subject_words(&about), sentence(now), short(most));
    Detection::new(severity, title)
        .about(about)
        .with_evidence(links.iter().flat_map(Judged::shortfall))
        .with_evidence(errors)
        .with_evidence(links.iter().filter(|link| is_awake(inputs, link)).map(|link| {
            Evidence::new(&*link.device.path, "read during a test on the drive: the link was active")
        }))
        .with_gain(gain)
        .fill("blame", ends.unwrap_or_default())
}

/// Whether a test runs on a drive behind a link, which keeps the link out of low-power states.
fn is_awake(inputs: &Inputs, link: &Judged) -> bool {
    let runs = inputs.load.is_some_and(|load| load.summary.is_none());
    runs && inputs.machine.drives_below(link.child).iter().any(|drive| inputs.is_tested(&drive.name))
}

fn link_capped_by_software(inputs: &Inputs) -> Vec<Detection> {
    let drives = on_the_way(inputs);
    let drives = drives.iter().filter_map(|link| capped(inputs, link));
    drives.chain(cards::links(inputs).iter().filter_map(|link| cards::capped(inputs, link))).collect()
}

fn capped(inputs: &Inputs, link: &Judged) -> Option<Detection> {
    let cap = link.cap()?;
    let source = LINK_CAPPED_BY_SOFTWARE.source;
    let (severity, gain) = if link.now.0 < link.most.0 {
        let then = retrained(inputs, &[(link.child, (link.most.0, link.now.1))]);
        weighed(inputs, then.as_ref(), source)
    } else {
        // The target takes effect at the next training.
        (Severity::Info, Gain::words("none until the link trains again", source))
    };
    let about = subjects(inputs, std::slice::from_ref(link));
    let title = format!(
        "{}: port {} is capped at {}, both ends can do {}",
        subject_words(&about),
        place(link.port),
        speed_sentence(cap),
        speed_sentence(link.most.0)
    );
    let target = format!("{}/config LnkCtl2", link.port.path);
    let detection = Detection::new(severity, title)
        .about(about)
        .with_evidence([Evidence::new(target, format!("Target Link Speed {cap}"))])
        .with_evidence(link.proofs())
        .with_gain(gain);
    Some(blamed(inputs, detection, link.port, cap))
}

fn link_errors(inputs: &Inputs) -> Vec<Detection> {
    let links = || [on_the_way(inputs), cards::links(inputs)].concat();
    match inputs.rates {
        _ if inputs.machine.pasted.is_some() => corrected(inputs, &links()).into_iter().collect(),
        Some(rates) => links().iter().filter_map(|link| errors(inputs, rates, link)).collect(),
        None => Vec::new(),
    }
}

/// Links of a text with the bit of a corrected error, which does not say how many there were.
fn corrected(inputs: &Inputs, links: &[Judged]) -> Option<Detection> {
    let has_error = |end: &&PciNode| end.express.value().and_then(|it| it.correctable_error) == Some(true);
    let ends = |link: &Judged| -> Vec<String> {
        let ends = [link.device, link.port].into_iter().filter(has_error);
        ends.map(|end| format!("{}/config DevSta", end.path)).collect()
    };
    let links: Vec<Judged> = links.iter().filter(|link| !ends(link).is_empty()).cloned().collect();
    let about = subjects(inputs, &links);
    let whose = if links.len() == 1 { "its link" } else { "their links" };
    let title = format!(
        "{}: {whose} reported a correctable error since boot; how many is not in the text, and a few are harmless",
        subject_words(&about)
    );
    let proofs =
        links.iter().flat_map(ends).map(|path| Evidence::new(path, "corrected error (CorrErr+, AER)"));
    (!links.is_empty()).then(|| Detection::new(Severity::Info, title).about(about).with_evidence(proofs))
}

fn errors(inputs: &Inputs, rates: &Rates, link: &Judged) -> Option<Detection> {
    let counted = [link.device, link.port].into_iter().filter_map(|end| {
        let NodeAddress::Device(address) = end.address else { return None };
        let rate = rates.aer.get(&address).copied().filter(|rate| *rate > 0.0)?;
        Some((end, rate))
    });
    let counted: Vec<_> = counted.collect();
    let all = counted.iter().map(|(_, rate)| *rate).reduce(|one, other| one + other)?;
    let severity = if all > 1.0 { Severity::Warning } else { Severity::Info };
    let about = subjects(inputs, std::slice::from_ref(link));
    let title = format!(
        "{}: {all:.1} correctable errors per second at both ends of its link together",
        subject_words(&about)
    );
    let proofs = counted.iter().map(|(end, rate)| {
        Evidence::new(format!("{}/aer_dev_correctable", end.path), format!("TOTAL_ERR_COR +{rate:.1}/s"))
    });
    Some(Detection::new(severity, title).about(about).with_evidence(proofs))
}

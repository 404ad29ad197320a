//! PCIe packets: payload size, relaxed ordering, extended tags, read requests, and ASPM.

use std::collections::BTreeMap;

use super::{Detection, Evidence, Inputs, Risk, Row, Subject, inputs::names, links::weighed};
use crate::{
    machine::{Drive, Machine, drive, pci::Express},
    model::{FindingId, NodeIndex, Severity},
    units,
};

pub(super) const PAYLOAD_SIZE: Row = Row {
    id: FindingId("payload-size"),
    title: "Max Payload Size below what hops support",
    fires: "the smallest Max Payload Size set between a drive and its root port is below the smallest one that all of them support",
    why: "Every packet carries about 24 bytes of header and framing, whatever its payload.",
    source: "arithmetic: payload / (payload + 24 B) per packet",
    remedy: "Kernel argument pci=pcie_bus_safe (or pcie_bus_perf), then look again. iodyno never writes this live: both ends of \
             every hop must change together.",
    risk: Risk::Reboot,
    wrong_if: "The drive, not the link, is the limit.",
    check: payload_size,
    ..Row::PLAIN
};

pub(super) const RELAXED_ORDERING_OFF: Row = Row {
    id: FindingId("relaxed-ordering-off"),
    title: "relaxed ordering off",
    fires: "Enable Relaxed Ordering of a drive's Device Control is clear",
    why: "Writes of the drive may not pass one another on their way to memory; on some platforms that costs throughput.",
    remedy: "Information only: the kernel clears it where a root port handles it badly.",
    wrong_if: "The drive never asks for relaxed ordering anyway.",
    check: |inputs| {
        register(inputs, ("does not use relaxed ordering", "do not use relaxed ordering"), |express| {
            (!express.relaxed_ordering).then(|| "DevCtl RlxdOrd-".to_owned())
        })
    },
    ..Row::PLAIN
};

pub(super) const EXT_TAGS_OFF: Row = Row {
    id: FindingId("ext-tags-off"),
    title: "extended tags off",
    fires: "a drive supports extended tags and Extended Tag Field Enable of its Device Control is clear",
    why: "The drive can have at most 32 memory requests in flight; that limits long paths.",
    remedy: "Information only: the kernel enables them where every port above supports them.",
    wrong_if: "The drive uses fewer tags than that.",
    check: |inputs| {
        register(inputs, ("has extended tags off", "have extended tags off"), |express| {
            (express.extended_tags_supported && !express.extended_tags).then(|| "DevCtl ExtTag-".to_owned())
        })
    },
    ..Row::PLAIN
};

pub(super) const READ_REQUEST: Row = Row {
    id: FindingId("read-request"),
    title: "small read requests",
    fires: "Max Read Request Size of a drive's Device Control is below 512 B",
    why: "It limits the drive's fetches from memory: commands and write data. Reads do not depend on it.",
    remedy: "Information only.",
    wrong_if: "Only reads are of interest.",
    check: |inputs| {
        register(inputs, ("fetches less than 512 B at once", "fetch less than 512 B at once"), |express| {
            (express.read_request < 512).then(|| format!("DevCtl MaxReadReq {} bytes", express.read_request))
        })
    },
    ..Row::PLAIN
};

pub(super) const ASPM_ON: Row = Row {
    id: FindingId("aspm-on"),
    title: "link enters L1 between reads",
    fires: "a test with one I/O in flight runs on a drive whose link may enter L1 (link/l1_aspm and the like)",
    why: "Leaving L1 adds latency to a read; with many I/Os in flight the link never enters L1.",
    remedy: "Disable L1 during the test.",
    risk: Risk::Live,
    wrong_if: "The policy file allows L1 but the drive never asks for it.",
    needs_load: true,
    check: aspm_on,
    ..Row::PLAIN
};

/// Share of a packet that is payload (TLP header, framing and LCRC: 24 B).
fn payload_share(payload: u16) -> f64 {
    f64::from(payload) / (f64::from(payload) + 24.0)
}

/// A drive whose packets are too small, its node, and the inputs of every hop.
type SmallPackets<'a> = (&'a Drive, NodeIndex, Vec<Evidence>);

fn payload_size(inputs: &Inputs) -> Vec<Detection> {
    let tree = &inputs.machine.pci;
    let mut groups: BTreeMap<(u16, u16), Vec<SmallPackets>> = BTreeMap::new();
    for drive in inputs.nvme() {
        let Some(node) = drive.node else { continue };
        let path: Vec<_> = tree.ancestry(node).map(|at| tree.node(at)).filter(|n| n.link.is_some()).collect();
        let known: Vec<_> = path.iter().filter_map(|n| Some((*n, n.express.value()?))).collect();
        if known.is_empty() || known.len() < path.len() {
            continue;
        }
        let set = known.iter().map(|(_, e)| e.payload).min().unwrap_or(0);
        let could = known.iter().map(|(_, e)| e.payload_supported).min().unwrap_or(0);
        if set > 0 && set < could {
            let proofs = known.iter().map(|(n, e)| {
                let value = format!("MaxPayload {} of {} bytes", e.payload, e.payload_supported);
                Evidence::new(format!("{}/config DevCtl", n.path), value)
            });
            groups.entry((set, could)).or_default().push((drive, node, proofs.collect()));
        }
    }
    groups
        .into_iter()
        .map(|((set, could), found)| {
            let drives: Vec<_> = found.iter().map(|(drive, ..)| *drive).collect();
            let ratio = payload_share(could) / payload_share(set);
            let then = with_payload(inputs.machine, found.iter().map(|(_, node, _)| *node), could);
            let (severity, gain) = weighed(inputs, Some(&then), PAYLOAD_SIZE.source);
            let percent = (ratio - 1.0) * 100.0;
            let title = format!(
                "{}: Max Payload Size {set} B, every hop supports {could} B (+{percent:.1} %)",
                names(&drives)
            );
            Detection::new(severity.min(Severity::Warning), title)
                .about(drives.into_iter().map(Subject::drive))
                .with_evidence(found.into_iter().flat_map(|(.., proofs)| proofs))
                .with_gain(gain)
        })
        .collect()
}

/// The machine with another Max Payload Size on the whole path of these functions.
fn with_payload(machine: &Machine, functions: impl Iterator<Item = NodeIndex>, payload: u16) -> Machine {
    let mut then = machine.clone();
    for at in functions.flat_map(|function| machine.pci.whole_ancestry(function)) {
        let node = &mut then.pci.nodes[at.0];
        node.express =
            node.express.clone().map(|express| Express { payload: payload.max(express.payload), ..express });
    }
    then
}

/// One detection of all NVMe drives whose Device Control `wrong` complains about.
fn register(
    inputs: &Inputs,
    what: (&str, &str),
    wrong: impl Fn(&Express) -> Option<String>,
) -> Vec<Detection> {
    let found: Vec<_> = inputs
        .nvme()
        .filter_map(|drive| {
            let node = inputs.machine.pci.node(drive.node?);
            let value = wrong(node.express.value()?)?;
            Some((drive, Evidence::new(format!("{}/config DevCtl", node.path), value)))
        })
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let drives = drive::count(found.iter().map(|(drive, _)| *drive));
    let title = units::counted_with_verb(drives, "drive", what);
    vec![
        Detection::new(Severity::Info, title)
            .about(found.iter().map(|(drive, _)| Subject::drive(drive)))
            .with_evidence(found.into_iter().map(|(_, proof)| proof)),
    ]
}

fn aspm_on(inputs: &Inputs) -> Vec<Detection> {
    if !inputs.is_depth_one() {
        return Vec::new();
    }
    let found: Vec<_> = inputs
        .nvme()
        .filter(|drive| inputs.is_tested(&drive.name))
        .filter_map(|drive| {
            let node = inputs.machine.pci.node(drive.node?);
            let on: Vec<_> = node
                .aspm
                .iter()
                .filter(|(name, state)| name.starts_with("l1") && state.get() == Some(true))
                .map(|(_, state)| Evidence::new(&**state.path(), "1"))
                .collect();
            (!on.is_empty()).then_some((drive, node, on))
        })
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let drives: Vec<_> = found.iter().map(|(drive, ..)| *drive).collect();
    let command: Vec<_> = found
        .iter()
        .flat_map(|(_, _, on)| on.iter().map(|proof| format!("echo 0 | sudo tee {}", proof.path)))
        .collect();
    let title = format!("{}: the link may enter L1 between reads at depth 1", names(&drives));
    vec![
        Detection::new(Severity::Warning, title)
            .about(drives.iter().map(|drive| Subject::drive(drive)))
            .with_evidence(found.iter().flat_map(|(_, _, on)| on.clone()))
            .with_command(Some(command.join("; "))),
    ]
}

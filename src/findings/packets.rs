//! PCIe packets: payload size, relaxed ordering, extended tags, read requests, and ASPM.

use super::{
    Check, Detection, Evidence, Inputs, Risk, Row,
    inputs::{drives, grouped, names},
    links::weighed,
};
use crate::{
    machine::{Drive, Machine, PciNode, drive, pci::Express},
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
    of_machine: true,
    names_limit: true,
    check: Check::Many(payload_size),
    ..Row::PLAIN
};

pub(super) const RELAXED_ORDERING_OFF: Row = Row {
    id: FindingId("relaxed-ordering-off"),
    title: "relaxed ordering off",
    fires: "Enable Relaxed Ordering of a drive's Device Control is clear",
    why: "Writes of the drive may not pass one another on their way to memory; on some platforms that costs throughput.",
    remedy: "Information only: the kernel clears it where a root port handles it badly.",
    wrong_if: "The drive never asks for relaxed ordering anyway.",
    of_machine: true,
    check: Check::One(|inputs| {
        register(inputs, ("does not use relaxed ordering", "do not use relaxed ordering"), |express| {
            (express.relaxed_ordering == Some(false)).then(|| "DevCtl RlxdOrd-".to_owned())
        })
    }),
    ..Row::PLAIN
};

pub(super) const EXT_TAGS_OFF: Row = Row {
    id: FindingId("ext-tags-off"),
    title: "extended tags off",
    fires: "a drive supports extended tags and Extended Tag Field Enable of its Device Control is clear",
    why: "The drive can have at most 32 memory requests in flight; that limits long paths.",
    remedy: "Information only: the kernel enables them where every port above supports them.",
    wrong_if: "The drive uses fewer tags than that.",
    of_machine: true,
    check: Check::One(|inputs| {
        register(inputs, ("has extended tags off", "have extended tags off"), |express| {
            let is_off =
                express.extended_tags_supported == Some(true) && express.extended_tags == Some(false);
            is_off.then(|| "DevCtl ExtTag-".to_owned())
        })
    }),
    ..Row::PLAIN
};

pub(super) const READ_REQUEST: Row = Row {
    id: FindingId("read-request"),
    title: "small read requests",
    fires: "Max Read Request Size of a drive's Device Control is below 512 B",
    why: "It limits the drive's fetches from memory: commands and write data. Reads do not depend on it.",
    remedy: "Information only.",
    wrong_if: "Only reads are of interest.",
    of_machine: true,
    check: Check::One(|inputs| {
        register(inputs, ("fetches less than 512 B at once", "fetch less than 512 B at once"), |express| {
            let size = express.read_request.filter(|size| *size < 512)?;
            Some(format!("DevCtl MaxReadReq {size} bytes"))
        })
    }),
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
    live: |inputs| inputs.has_live_depth_one(),
    check: Check::One(aspm_on),
    ..Row::PLAIN
};

/// Share of a packet that is payload (TLP header, framing and LCRC: 24 B).
fn payload_share(payload: u16) -> f64 {
    f64::from(payload) / (f64::from(payload) + 24.0)
}

/// Max Payload Size set and supported.
pub(super) fn payloads(node: &PciNode) -> Option<(u16, u16)> {
    let express = node.express.value()?;
    express.payload.zip(express.payload_supported)
}

/// A drive, and the payload sizes of each hop on its path.
type SmallPackets<'a> = (&'a Drive, Vec<Evidence>);

fn payload_size(inputs: &Inputs) -> Vec<Detection> {
    let tree = &inputs.machine.pci;
    let found = inputs.nvme().filter_map(|drive| {
        let path = tree.ancestry(drive.node?).map(|at| tree.node(at)).filter(|node| node.link.is_some());
        let known: Vec<_> = path.map(|node| Some((node, payloads(node)?))).collect::<Option<_>>()?;
        // A text may not say which port the drive is below: then nothing is known of the path.
        let is_path = known.len() > 1;
        let set = known.iter().map(|(_, (set, _))| *set).min().filter(|_| is_path)?;
        let could = known.iter().map(|(_, (_, could))| *could).min()?;
        let proofs = known.iter().map(|(node, (set, could))| {
            let value = format!("MaxPayload {set} of {could} bytes");
            Evidence::new(format!("{}/config DevCtl", node.path), value)
        });
        (set > 0 && set < could).then(|| ((set, could), (drive, proofs.collect::<Vec<_>>())))
    });
    let detection = |((set, could), found): ((u16, u16), Vec<SmallPackets>)| {
        let drives = drives(&found);
        let percent = (payload_share(could) / payload_share(set) - 1.0) * 100.0;
        let then = with_payload(inputs.machine, drives.iter().filter_map(|drive| drive.node), could);
        let (severity, gain) = weighed(inputs, Some(&then), PAYLOAD_SIZE.source);
        let title = format!(
            "{}: Max Payload Size {set} B, every hop supports {could} B (+{percent:.1} %)",
            names(&drives)
        );
        Some(Detection::of_drives(severity.min(Severity::Warning), title, found)?.with_gain(gain))
    };
    grouped(found).into_iter().filter_map(detection).collect()
}

/// The machine with another Max Payload Size on the whole path of these functions.
fn with_payload(machine: &Machine, functions: impl Iterator<Item = NodeIndex>, payload: u16) -> Machine {
    let mut then = machine.clone();
    for at in functions.flat_map(|function| machine.pci.whole_ancestry(function)) {
        let node = &mut then.pci.nodes[at.0];
        node.express = node
            .express
            .clone()
            .map(|express| Express { payload: express.payload.map(|set| set.max(payload)), ..express });
    }
    then
}

/// One detection of all NVMe drives whose Device Control `wrong` complains about.
fn register(
    inputs: &Inputs,
    what: (&str, &str),
    wrong: impl Fn(&Express) -> Option<String>,
) -> Option<Detection> {
    let found = inputs.nvme().filter_map(|drive| {
        let node = inputs.machine.pci.node(drive.node?);
        let value = wrong(node.express.value()?)?;
        Some((drive, [Evidence::new(format!("{}/config DevCtl", node.path), value)]))
    });
    let found: Vec<_> = found.collect();
    let title = units::counted_with_verb(drive::count(drives(&found)), "drive", what);
    Detection::of_drives(Severity::Info, title, found)
}

fn aspm_on(inputs: &Inputs) -> Option<Detection> {
    let found = inputs.nvme_at_depth_one().filter_map(|drive| {
        let states = inputs.machine.pci.node(drive.node?).aspm.iter();
        let on = states.filter(|(name, state)| name.starts_with("l1") && state.get() == Some(true));
        let on: Vec<_> = on.map(|(_, state)| Evidence::at(state, "1")).collect();
        (!on.is_empty()).then_some((drive, on))
    });
    let found: Vec<_> = found.collect();
    let on = found.iter().flat_map(|(_, on)| on);
    let commands: Vec<_> = on.map(|proof| format!("echo 0 | sudo tee {}", proof.path)).collect();
    let title = format!("{}: the link may enter L1 between reads at depth 1", names(&drives(&found)));
    Some(Detection::of_drives(Severity::Warning, title, found)?.with_command(Some(commands.join("; "))))
}

#[cfg(test)]
mod tests {
    use crate::{capacity, findings, findings::Inputs, source};

    #[test]
    fn a_drive_alone_says_nothing_of_the_payload_of_its_path() {
        let function = |place: &str, name: &str, kind: &str, payload: u16| {
            format!(
                "{place} {name}\n\tCapabilities: [c0] Express (v2) {kind}, MSI 00\n\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\
                 \t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq+\n\t\t\tMaxPayload {payload} bytes, MaxReadReq 512 bytes\n\
                 \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n"
            )
        };
        let bridge =
            "PCI bridge: Intel Corporation Device 9a04\n\tBus: primary=00, secondary=01, subordinate=01";
        let port = function("00:1d.0", bridge, "Root Port (Slot+)", 128);
        let drive =
            function("01:00.0", "Non-Volatile memory controller: Sandisk Corp Device 5009", "Endpoint", 128);
        let found = |text: &str| {
            let root = source::import::read(text.as_bytes()).unwrap().unwrap();
            let (machine, _) = source::read_machine(&root);
            let limits = capacity::limits(&machine);
            findings::check(&Inputs::at_rest(&machine, &limits))
                .iter()
                .any(|found| found.id.0 == "payload-size")
        };
        assert!(found(&format!("{port}{drive}")), "both ends are known");
        assert!(!found(&drive), "the port is not");
    }
}

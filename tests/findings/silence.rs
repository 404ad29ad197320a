//! False alarms: a healthy machine has nothing above information.

use std::sync::LazyLock;

use iodyno::{
    capacity,
    findings::{self, Finding, Inputs, SubjectKind},
    machine::{DriveKind, Machine, NodeKind},
    model::{NodeIndex, Reading, Severity},
    source::demo::DEMOS,
    units::{Lanes, TransferRate},
};
use proptest::{collection::vec, prelude::*};

use super::scene::{demo, label};

static MACHINES: LazyLock<Vec<Machine>> =
    LazyLock::new(|| DEMOS.iter().map(|row| demo(row.name).machine()).collect());

fn machine() -> impl Strategy<Value = Machine> {
    (0..DEMOS.len()).prop_map(|at| MACHINES[at].clone())
}

/// A link's speed and width.
fn link() -> impl Strategy<Value = (TransferRate, Lanes)> {
    (1_u8..6, prop::sample::select(vec![1_u8, 2, 4, 8, 16]))
        .prop_map(|(code, lanes)| (TransferRate::from_code(code).unwrap(), Lanes(lanes)))
}

fn look(machine: &Machine) -> Vec<Finding> {
    let limits = capacity::limits(machine);
    findings::check(&Inputs::at_rest(machine, &limits))
}

fn severity(found: &[Finding], id: &str) -> Option<Severity> {
    found.iter().filter(|finding| finding.id.0 == id).map(|finding| finding.severity).max()
}

fn on_the_way(machine: &Machine) -> Vec<NodeIndex> {
    let drives = machine.hardware_drives().filter_map(|drive| drive.node);
    drives.flat_map(|node| machine.pci.ancestry(node).collect::<Vec<_>>()).collect()
}

fn set(machine: &mut Machine, node: NodeIndex, now: (TransferRate, Lanes), most: (TransferRate, Lanes)) {
    let node = &mut machine.pci.nodes[node.0];
    if let Some(link) = &mut node.link {
        link.speed = Reading::known("/test/current_link_speed", now.0);
        link.width = Reading::known("/test/current_link_width", now.1);
        link.max_speed = Reading::known("/test/max_link_speed", most.0);
        link.max_width = Reading::known("/test/max_link_width", most.1);
    }
    node.express = node.express.clone().map(|mut express| {
        express.target_speed = None;
        express
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Links without drives: a display that lowers its speed, an empty port, the inside of a chip. None of them changes what
    /// is said of drives, and only a device with a true link below its port has a finding.
    #[test]
    fn links_without_drives_change_nothing_of_the_drives(
        mut machine in machine(),
        links in vec((any::<prop::sample::Index>(), link(), 1_u8..6, prop::sample::select(vec![0_u8, 1, 4, 16, 63])), 1..20),
    ) {
        let of_drives = |found: Vec<Finding>| -> Vec<_> {
            let is_drive = |finding: &Finding| {
                finding.subjects.iter().any(|subject| subject.kind != SubjectKind::Device) || finding.severity == Severity::High
            };
            found.into_iter().filter(is_drive).map(|finding| (finding.id, finding.severity)).collect()
        };
        let before = of_drives(look(&machine));
        let way = on_the_way(&machine);
        let others: Vec<NodeIndex> =
            machine.pci.iter().map(|(node, _)| node).filter(|node| !way.contains(node)).collect();
        for (at, most, code, lanes) in links {
            let now = (TransferRate::from_code(code).unwrap(), Lanes(lanes));
            // A port's maximum is the maximum of a slot: only its state varies here.
            let node = *at.get(&others);
            let own = machine.pci.node(node).link.as_ref();
            let can = own.and_then(|link| Some((link.max_speed.get()?, link.max_width.get()?))).unwrap_or(most);
            set(&mut machine, node, now, can);
        }
        prop_assert_eq!(before, of_drives(look(&machine)));
    }

    /// A display at full width is asleep at any speed.
    #[test]
    fn a_display_at_full_width_is_never_downtrained(mut machine in machine(), code in 1_u8..6) {
        let displays: Vec<NodeIndex> = machine
            .pci
            .iter()
            .filter(|(_, node)| node.class.get().is_some_and(|class| class >> 16 == 3))
            .map(|(index, _)| index)
            .collect();
        let speed = TransferRate::from_code(code).unwrap();
        for display in displays {
            for node in machine.pci.ancestry(display).collect::<Vec<_>>() {
                if let Some(link) = &mut machine.pci.nodes[node.0].link {
                    link.speed = Reading::known("/test/current_link_speed", speed);
                }
                // The link above a chipset's switch is not the card's.
                let own = machine.pci.node(node);
                let switch = own.parent.map(|above| machine.pci.node(above).children.len());
                if own.kind == NodeKind::RootPort || (own.kind == NodeKind::SwitchDownstream && switch > Some(1)) {
                    break;
                }
            }
        }
        let found = look(&machine);
        let wrong: Vec<_> = found
            .iter()
            .filter(|finding| finding.id.0 == "link-downtrained")
            .filter(|finding| finding.subjects.iter().all(|subject| subject.kind == SubjectKind::Device))
            .collect();
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// A Gen4 drive in a Gen3 slot, a Gen3 drive in a Gen5 slot, four lanes in a slot of sixteen.
    #[test]
    fn a_link_that_runs_as_well_as_both_ends_can_is_never_an_alarm(
        mut machine in machine(), links in vec((link(), link()), 1..12),
    ) {
        let drives: Vec<NodeIndex> = machine.hardware_drives().filter_map(|drive| drive.node).collect();
        // The links above a switch stay; a demo's downtrained link is among the changed ones.
        for (node, (device, port)) in drives.into_iter().zip(links.iter().cycle()) {
            let now = (device.0.min(port.0), device.1.min(port.1));
            let above = machine.pci.node(node).parent.unwrap();
            set(&mut machine, node, now, *device);
            set(&mut machine, above, now, *port);
        }
        let found = look(&machine);
        prop_assert_eq!(severity(&found, "link-downtrained"), None);
        prop_assert_eq!(severity(&found, "link-capped-by-software"), None);
        let limited = found.iter().filter(|finding| finding.id.0 == "slot-limited" && finding.severity > Severity::Info);
        for finding in limited {
            prop_assert!(finding.remedy.text.contains("the free slot"), "{finding:#?}");
            prop_assert!(finding.gain.bytes_per_second.is_some());
        }
    }

    #[test]
    fn formats_that_perform_alike_are_never_an_alarm(mut machine in machine(), performance in 0_u8..4) {
        for drive in &mut machine.drives {
            let Some(nvme) = &mut drive.nvme else { continue };
            nvme.namespace = nvme.namespace.clone().map(|mut namespace| {
                namespace.formats.iter_mut().for_each(|format| format.relative_performance = performance);
                namespace
            });
        }
        prop_assert!(severity(&look(&machine), "lba-512") <= Some(Severity::Info));
    }

    /// A laptop: its one drive shares nothing.
    #[test]
    fn one_drive_alone_shares_nothing(
        mut machine in machine(), kept in any::<prop::sample::Index>(), ends in (link(), link()),
    ) {
        let drive = kept.get(&machine.drives).clone();
        machine.drives = vec![drive];
        if let Some(node) = machine.drives[0].node {
            set(&mut machine, node, ends.0, ends.0);
            let above = machine.pci.node(node).parent.unwrap();
            set(&mut machine, above, ends.0, ends.1);
        }
        let found = look(&machine);
        prop_assert_eq!(severity(&found, "shared-root-complex"), None);
        prop_assert_eq!(severity(&found, "oversubscribed-hop"), None);
    }

    /// SATA disks with mq-deadline, virtio disks without links, memory cards.
    #[test]
    fn a_disk_that_is_no_nvme_drive_keeps_its_settings(
        mut machine in machine(),
        kind in prop::sample::select(vec![DriveKind::Sata, DriveKind::Virtio, DriveKind::Scsi]),
        scheduler in prop::sample::select(vec!["mq-deadline", "kyber", "bfq", "none"]),
    ) {
        for drive in &mut machine.drives {
            (drive.kind, drive.nvme) = (kind, None);
            drive.queue.scheduler = drive.queue.scheduler.clone().map(|choice| {
                iodyno::machine::queue::Choice { current: label(scheduler), ..choice }
            });
        }
        let found = look(&machine);
        for id in ["scheduler", "no-poll-queues", "few-queues", "lba-512", "readahead", "nomerges", "iommu-translating"] {
            prop_assert_eq!(severity(&found, id), None, "{}", id);
        }
    }

    /// Links without readable values, or with impossible ones.
    #[test]
    fn links_that_say_nothing_sensible_are_not_judged(
        mut machine in machine(), lanes in prop::sample::select(vec![0_u8, 63, 255]), silent in any::<bool>(),
    ) {
        for node in on_the_way(&machine) {
            let node = &mut machine.pci.nodes[node.0];
            let Some(link) = &mut node.link else { continue };
            if silent {
                link.speed = Reading::malformed("/test/current_link_speed", "Unknown");
            } else {
                link.max_width = Reading::malformed("/test/max_link_width", lanes.to_string());
            }
        }
        let mut found = look(&machine);
        found.retain(|finding| finding.subjects.iter().any(|subject| subject.kind == SubjectKind::Drive));
        prop_assert_eq!(severity(&found, "link-downtrained"), None);
        prop_assert_eq!(severity(&found, "slot-limited"), None);
    }
}

//! [`NotMade`]: checks without the data they read. A text or a copy of /sys has a part of a machine's data; a check of the rest
//! finds nothing, which is no good news.

mod known;
mod of_drives;

use std::borrow::Cow;

use serde::Serialize;

use self::known::{
    above_drives, any, drive_states, functions, has_array, has_both_ends, has_crypt, has_drives_of_messages,
    has_half_link, has_link, has_links, has_lsblk, has_payloads, has_unreal_links, has_whole_link, nvme,
    nvme_functions, states,
};
use super::{FINDINGS, Finding, Inputs, not_judged};
use crate::{
    machine::{Link, Machine, PciNode, pci::NOT_EXPRESS},
    model::FindingId,
    units::Lanes,
};

/// A check that was not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMade {
    /// The finding.
    pub id: FindingId,
    /// What it lacks.
    pub because: Cow<'static, str>,
}

impl NotMade {
    /// Whether it lacks data, not a test or the privilege to read.
    pub(crate) fn lacks_data(&self) -> bool {
        let mut known = NEEDS.iter().map(|need| need.because).chain(OF_DATA);
        ![NO_TEST, NO_TEST_HERE].contains(&&*self.because)
            && (known.any(|because| because == self.because) || of_drives::is_reason(&self.because))
    }
}

/// What several checks read.
struct Need {
    because: &'static str,
    is_met: fn(&Machine) -> bool,
    /// Whether it is about drives: a machine without any lacks nothing, unless it has NVMe controllers.
    of_drives: bool,
    rows: &'static [&'static str],
}

const NO_TEST: &str = "no test is running";
/// The same where a machine was opened: no test can run there.
const NO_TEST_HERE: &str = "only a test on that machine shows it";
const NO_CAPABILITY: &str = "no device of the text has a PCI Express link";
const NO_PCI: &str = "no PCI device could be read";
const COPY_WITHOUT_DRIVES: &str =
    "the copy has no block devices: copy /sys/block with what its links lead to";
const COPY_WITHOUT_HOST: &str = "the copy has nothing about CPUs and kernel: copy /proc too";
/// What lacks of a machine's data beside the needs of rows.
const OF_DATA: [&str; 17] = [
    NO_DRIVE_OF_MESSAGES,
    HALF_LINKS,
    NO_PORT,
    NO_PORT_OF_SLOW,
    NO_REAL_LINK,
    NO_DRIVE_LINKS,
    NO_REGISTERS,
    NO_NVME,
    NO_BLOCK_DEVICES,
    NO_CAPABILITY,
    NO_LINK_UP,
    NO_FORMAT_IN_USE,
    NO_PCI,
    COPY_WITHOUT_DRIVES,
    COPY_WITHOUT_HOST,
    MORE_DEVICES,
    MORE_RULES,
];
const MORE_DEVICES: &str = "more devices are listed than iodyno reads";
const MORE_RULES: &str = "boot rules have more names or bytes than iodyno reads";
const NO_BLOCK_DEVICES: &str = "NVMe controllers, but no block devices are listed";
const NO_DRIVES: &str = "the text has no block devices and their settings: `lsblk -O -J`";
const NO_TABLES: &str = "no text has the tables of encrypted devices: use `iodyno capture`";
const NO_LINKS: &str = "the text has no speed and width of links: `sudo lspci -vv`";
const HALF_LINKS: &str = "the text has LnkSta or LnkCap of links, not both: `sudo lspci -vv`";
const NO_PORT: &str = "the text has one end of links: `sudo lspci -vv` of all devices shows both";
const NO_PORT_OF_SLOW: &str =
    "the text has one end of a slow link: `sudo lspci -vv` of all devices shows both";
const NO_REAL_LINK: &str = "links of the text are emulated or inside a chip: their registers are no limit";
const NO_DRIVE_LINKS: &str = "the text has no speed and width of links above drives: `sudo lspci -vv`";
const NO_LINK_UP: &str = "links above drives have width x0 in the text: none is up";
const NO_REGISTERS: &str = "the text has no DevCap, DevCtl and LnkCtl2 registers: `sudo lspci -vv`";
const NO_TARGET: &str = "the text has no target link speed of ports (LnkCtl2): `sudo lspci -vv`";
const NO_SLOT_BIT: &str = "the text does not show whether ports above drives have slots: `sudo lspci -vv`";
const NO_PAYLOAD: &str =
    "the text has no MaxPayload of a drive and its port (DevCap, DevCtl): `sudo lspci -vv`";
const NO_ORDERING: &str = "the text has no RlxdOrd of a drive (DevCtl): `sudo lspci -vv`";
const NO_TAGS: &str = "the text has no ExtTag of a drive (DevCap, DevCtl): `sudo lspci -vv`";
const NO_REQUEST: &str = "the text has no MaxReadReq of a drive (DevCtl): `sudo lspci -vv`";
const NO_ERROR_COUNTERS: &str =
    "no text has AER error counters: only a test on that machine shows whether they grow";
const NO_NUMA: &str = "the text has no NUMA node of a drive: `lspci -v` prints it where there are several";
const NO_NVME: &str = "the text shows no NVMe drive";
const NO_BRIDGES: &str = "the text does not show the bridges above drives: `lspci -t`";
const NO_HOST: &str = "the text has nothing about CPUs and kernel: use `iodyno capture`";
const NO_DATA: &str = "the text has no data of the drives themselves: use `iodyno capture`";
const NO_FORMATS: &str = "the text has no LBA formats: `nvme id-ns -H`";
const NO_FORMAT_IN_USE: &str = "the text does not say which LBA format is in use: `nvme id-ns -H`";
const NO_MESSAGES: &str = "the text has no lines about timeouts and resets of the nvme driver: `dmesg`";
const NO_DRIVE_OF_MESSAGES: &str =
    "the text does not show the drives of the kernel's messages: `nvme list -v`";
const NO_FIRMWARE: &str = "the text has no firmware of drives: `nvme list`";

const NEEDS: &[Need] = &[
    Need {
        because: NO_LINKS,
        is_met: has_links,
        of_drives: true,
        rows: &["link-below-drive", "oversubscribed-hop"],
    },
    Need {
        because: NO_LINKS,
        is_met: has_both_ends,
        of_drives: true,
        rows: &["link-downtrained", "slot-limited"],
    },
    Need {
        because: NO_TARGET,
        is_met: |machine| states(machine, |express| express.target_speed.is_some()),
        of_drives: true,
        rows: &["link-capped-by-software"],
    },
    Need {
        because: NO_SLOT_BIT,
        is_met: |machine| {
            let has_slot_bit =
                |node: &PciNode| node.express.value().is_some_and(|it| it.slot_implemented.is_some());
            nvme_functions(machine)
                .any(|node| node.parent.is_some_and(|port| has_slot_bit(machine.pci.node(port))))
        },
        of_drives: true,
        rows: &["bifurcation-missing"],
    },
    Need { because: NO_PAYLOAD, is_met: has_payloads, of_drives: true, rows: &["payload-size"] },
    Need {
        because: NO_ORDERING,
        is_met: |machine| drive_states(machine, |express| express.relaxed_ordering.is_some()),
        of_drives: true,
        rows: &["relaxed-ordering-off"],
    },
    Need {
        because: NO_TAGS,
        is_met: |machine| {
            drive_states(machine, |express| match express.extended_tags_supported {
                Some(is_supported) => !is_supported || express.extended_tags.is_some(),
                None => express.extended_tags == Some(true),
            })
        },
        of_drives: true,
        rows: &["ext-tags-off"],
    },
    Need {
        because: NO_REQUEST,
        is_met: |machine| drive_states(machine, |express| express.read_request.is_some()),
        of_drives: true,
        rows: &["read-request"],
    },
    // The state is a file of sysfs, which no text has, and only a test shows its cost.
    Need { because: NO_TEST_HERE, is_met: |_| false, of_drives: true, rows: &["aspm-on"] },
    Need {
        because: NO_BRIDGES,
        is_met: |machine| functions(machine).any(|node| node.buses.is_some()),
        of_drives: true,
        rows: &["shared-root-complex", "chipset-uplink", "behind-vmd-or-raid"],
    },
    Need { because: NO_ERROR_COUNTERS, is_met: |_| false, of_drives: true, rows: &["link-errors"] },
    Need {
        because: NO_FORMATS,
        is_met: |machine| {
            nvme(machine, |drive| {
                let namespace = drive.nvme.as_ref().and_then(|nvme| nvme.namespace.value());
                namespace.is_some_and(|namespace| namespace.in_use.is_some())
            })
        },
        of_drives: true,
        rows: &["lba-512"],
    },
    Need {
        because: NO_DATA,
        is_met: |machine| {
            nvme(machine, |drive| {
                drive.temperature.is_some() || drive.nvme.as_ref().is_some_and(|nvme| nvme.smart.is_known())
            })
        },
        of_drives: true,
        rows: &["drive-hot", "drive-worn"],
    },
    Need {
        because: NO_FIRMWARE,
        is_met: |machine| nvme(machine, |drive| drive.firmware.is_known()),
        of_drives: true,
        rows: &["firmware-advisory"],
    },
    Need {
        because: NO_DATA,
        is_met: |machine| nvme(machine, |drive| drive.nvme.as_ref().is_some_and(|nvme| nvme.apst.is_known())),
        of_drives: true,
        rows: &["apst-latency"],
    },
    Need { because: NO_MESSAGES, is_met: has_drives_of_messages, of_drives: true, rows: &["nvme-errors"] },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.hardware_queues.is_known()),
        of_drives: true,
        rows: &["few-queues", "no-poll-queues"],
    },
    Need {
        because: NO_NUMA,
        is_met: |machine| nvme_functions(machine).any(|node| node.numa_node.is_known()),
        of_drives: true,
        rows: &["remote-numa"],
    },
    Need { because: NO_DRIVES, is_met: has_lsblk, of_drives: true, rows: &["in-use"] },
    Need {
        because: NO_DRIVES,
        is_met: |machine| machine.pasted.is_none() || !machine.paths.is_empty(),
        of_drives: true,
        rows: &["multipath"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| machine.pasted.is_none() || has_lsblk(machine) && !has_array(machine),
        of_drives: false,
        rows: &["md-resync", "md-degraded", "md-bitmap", "md-raid5-lock", "md-members-differ", "md-queue"],
    },
    Need {
        because: NO_TABLES,
        is_met: |machine| machine.pasted.is_none() || has_lsblk(machine) && !has_crypt(machine),
        of_drives: false,
        rows: &["dm-crypt-workqueues"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.scheduler.is_known()),
        of_drives: true,
        rows: &["scheduler"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.read_ahead_kb.is_known()),
        of_drives: true,
        rows: &["readahead"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.max_sectors_kb.is_known()),
        of_drives: true,
        rows: &["max-sectors", "hw-sectors-below-mdts"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.nr_requests.is_known()),
        of_drives: true,
        rows: &["nr-requests"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.queue.iostats.is_known()),
        of_drives: true,
        rows: &["iostats", "nomerges", "rq-affinity", "wbt", "defaults"],
    },
    Need {
        because: NO_DRIVES,
        is_met: |machine| any(machine, |drive| drive.partitions.iter().any(|part| part.start.is_known())),
        of_drives: true,
        rows: &["misaligned"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| functions(machine).any(|node| node.iommu_type.is_known()),
        of_drives: false,
        rows: &["iommu-translating"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.posted_msi_row.is_known(),
        of_drives: false,
        rows: &["posted-msi-off", "interrupt-load"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.processors.cpus.iter().any(|cpu| cpu.governor.is_known()),
        of_drives: false,
        rows: &["governor"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| !machine.processors.idle_states.is_empty(),
        of_drives: false,
        rows: &["deep-c-states"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.host.modules.is_known(),
        of_drives: false,
        rows: &["memory-below-rating", "memory-bandwidth", "memory-copies"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.host.io_uring_disabled.is_known(),
        of_drives: false,
        rows: &["io-uring-disabled"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.host.io_uring.is_known(),
        of_drives: false,
        rows: &["ring-features"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| !machine.processors.vulnerabilities.is_empty(),
        of_drives: false,
        rows: &["mitigations"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.processors.smt_active.is_known(),
        of_drives: false,
        rows: &["smt"],
    },
    Need {
        because: NO_HOST,
        is_met: |machine| machine.pasted.is_none(),
        of_drives: false,
        rows: &["rule-reverts", "test-not-valid"],
    },
];

/// The checks that were not made: without their data, or without a test.
pub fn not_made(inputs: &Inputs, found: &[Finding]) -> Vec<NotMade> {
    let machine = inputs.machine;
    let is_found =
        |id: FindingId| found.iter().any(|finding| finding.id == id || finding.folds.contains(&id));
    // On a live machine and in a capture a file that is not there means that the kernel has no such setting.
    let has_no_drives =
        machine.hardware_drives().next().is_none() && functions(machine).any(PciNode::is_nvme);
    let lacks = |row: &str| -> Option<&'static str> {
        let need = NEEDS.iter().find(|need| need.rows.contains(&row))?;
        if machine.pasted.is_some() {
            let is_met = !lacks_drive(machine, need) && (need.is_met)(machine);
            return (!is_met).then(|| lacking_in_text(machine, need));
        }
        if has_no_drives && need.of_drives {
            return Some(NO_BLOCK_DEVICES);
        }
        lacking_in_copy(machine, need).or_else(|| cut(machine, need, row))
    };
    let unread = FINDINGS
        .iter()
        .filter(|row| !is_found(row.id))
        .filter_map(|row| Some(NotMade { id: row.id, because: lacks(row.id.0)?.into() }));
    let mut all: Vec<NotMade> = unread.collect();
    for not_made in of_drives::unread(machine) {
        if !is_found(not_made.id) && all.iter().all(|known| known.id != not_made.id) {
            all.push(not_made);
        }
    }
    for id in not_judged(inputs, found) {
        if all.iter().all(|known| known.id != id) {
            all.push(NotMade { id, because: NO_TEST.into() });
        }
    }
    all
}

/// Whether a text shows no drive to check. Links of cards are checked too, and `lsblk` names the drives that have settings.
fn lacks_drive(machine: &Machine, need: &Need) -> bool {
    let is_of_others = need.rows.contains(&"link-downtrained")
        || [NO_TARGET, NO_ERROR_COUNTERS, NO_DRIVES].contains(&need.because);
    let has_drive = machine.hardware_drives().next().is_some() || functions(machine).any(PciNode::is_nvme);
    need.of_drives && !is_of_others && !has_drive
}

/// What a text lacks for checks whose need is not met.
fn lacking_in_text(machine: &Machine, need: &Need) -> &'static str {
    if lacks_drive(machine, need) {
        return NO_NVME;
    }
    let has_none = |node: &PciNode| {
        let is_integrated = || node.express.is_known() && node.link.is_none();
        node.express.problem().map_or_else(is_integrated, |problem| *problem.reason == *NOT_EXPRESS)
    };
    let is_of_registers =
        [NO_TARGET, NO_SLOT_BIT, NO_PAYLOAD, NO_ORDERING, NO_TAGS, NO_REQUEST].contains(&need.because);
    let is_of_links = is_of_registers || need.because == NO_LINKS;
    if is_of_links && functions(machine).next().is_some() && functions(machine).all(has_none) {
        return NO_CAPABILITY;
    }
    if is_of_registers && !states(machine, |_| true) {
        return NO_REGISTERS;
    }
    let has_no_width = |link: &Link| {
        [&link.width, &link.max_width].into_iter().any(|width| Link::lanes(width) == Some(Lanes(0)))
    };
    if need.because == NO_LINKS && above_drives(machine, |node| node.link.as_ref().is_some_and(has_no_width))
    {
        return NO_LINK_UP;
    }
    if need.because == NO_LINKS {
        let is_of_ends = need.rows.contains(&"link-downtrained");
        return match (functions(machine).any(has_link), functions(machine).any(has_half_link)) {
            (true, _) if is_of_ends && has_whole_link(machine) => NO_PORT_OF_SLOW,
            (true, _) if is_of_ends && has_unreal_links(machine) => NO_REAL_LINK,
            (true, _) if is_of_ends => NO_PORT,
            (true, _) => NO_DRIVE_LINKS,
            (false, true) => HALF_LINKS,
            (false, false) => NO_LINKS,
        };
    }
    if need.because == NO_MESSAGES && machine.driver_messages.is_known() {
        return NO_DRIVE_OF_MESSAGES;
    }
    if need.because == NO_FORMATS
        && nvme(machine, |drive| drive.nvme.as_ref().is_some_and(|nvme| nvme.namespace.is_known()))
    {
        return NO_FORMAT_IN_USE;
    }
    need.because
}

/// What a copy of /sys without /proc lacks: each running system has CPUs and a kernel release.
fn lacking_in_copy(machine: &Machine, need: &Need) -> Option<&'static str> {
    if !machine.processors.cpus.is_empty() || machine.host.kernel.is_known() {
        return None;
    }
    if need.because == NO_HOST {
        return (!(need.is_met)(machine)).then_some(COPY_WITHOUT_HOST);
    }
    (need.of_drives && machine.hardware_drives().next().is_none()).then_some(COPY_WITHOUT_DRIVES)
}

/// What was not read of a machine with more devices or rules than are read: a check that found nothing saw a part.
fn cut(machine: &Machine, need: &Need, row: &str) -> Option<&'static str> {
    let has =
        |is_of_devices: bool| machine.cuts.iter().any(|cut| cut.path.starts_with("/sys/") == is_of_devices);
    match row {
        "rule-reverts" => has(false).then_some(MORE_RULES),
        _ => (need.of_drives && has(true)).then_some(MORE_DEVICES),
    }
}

/// The checks about drives and their way to the CPU, where no PCI function of several could be read.
pub(crate) fn without_pci(found: &[Finding]) -> impl Iterator<Item = NotMade> {
    let is_found =
        |id: FindingId| found.iter().any(|finding| finding.id == id || finding.folds.contains(&id));
    let is_of_drives = |id: FindingId| NEEDS.iter().any(|need| need.of_drives && need.rows.contains(&id.0));
    let rows = FINDINGS.iter().map(|row| row.id).filter(move |id| is_of_drives(*id) && !is_found(*id));
    rows.map(|id| NotMade { id, because: NO_PCI.into() })
}

/// Checks that could not be made, where some lack data; 0 where they lack a test alone.
pub(crate) fn lacking(not_made: &[NotMade]) -> usize {
    if not_made.iter().any(NotMade::lacks_data) { not_made.len() } else { 0 }
}

/// Says of checks that need a test that none can run, as of an opened machine.
pub(crate) fn untestable(not_made: &mut [NotMade]) {
    for known in not_made.iter_mut().filter(|known| known.because == NO_TEST) {
        known.because = NO_TEST_HERE.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{capacity, findings, source};

    fn not_made_of(text: &str) -> Vec<NotMade> {
        let root = source::import::read(text.as_bytes()).unwrap().unwrap();
        let (machine, _) = source::read_machine(&root);
        let limits = capacity::limits(&machine);
        let inputs = Inputs::at_rest(&machine, &limits);
        not_made(&inputs, &findings::check(&inputs))
    }

    fn made(text: &str) -> (Vec<&'static str>, usize) {
        let not_made = not_made_of(text);
        let is_made = |id: &str| not_made.iter().all(|known| known.id.0 != id);
        (FINDINGS.iter().map(|row| row.id.0).filter(|id| is_made(id)).collect(), not_made.len())
    }

    #[test]
    fn every_row_of_the_catalogue_has_one_need() {
        for row in FINDINGS {
            let needs = NEEDS.iter().filter(|need| need.rows.contains(&row.id.0)).count();
            assert_eq!(needs, 1, "{}", row.id.0);
        }
        for id in NEEDS.iter().flat_map(|need| need.rows) {
            assert!(FINDINGS.iter().any(|row| row.id.0 == *id), "{id}");
        }
    }

    #[test]
    fn a_text_is_judged_by_what_it_shows_alone() {
        let drawing = "-[0000:00]-+-00.0  Intel Corporation Device 9a04\n           \\-1d.0-[01]----00.0  Sandisk Corp WD Blue SN550 NVMe SSD\n";
        let (made_of_drawing, _) = made(drawing);
        assert_eq!(made_of_drawing, ["shared-root-complex", "chipset-uplink", "behind-vmd-or-raid"]);
        let (made_of_list, _) =
            made("01:00.0 Non-Volatile memory controller: Sandisk Corp WD Blue SN550 NVMe SSD\n");
        assert_eq!(made_of_list, Vec::<&str>::new());
        let table = "[    4.7] pci 0004:41:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0004:40:00.0 (capable of 15.752 Gb/s with 8.0 GT/s PCIe x2 link)\n[    5.1] nvme nvme0: pci function 0004:41:00.0\n";
        assert!(made(table).0.contains(&"link-below-drive"), "{:?}", made(table).0);
    }

    #[test]
    fn an_encrypted_device_of_a_text_has_no_table_and_memory_no_channels() {
        let made_of = |rows: &str| {
            let heading = "NAME          SIZE TYPE FSTYPE      MOUNTPOINT\nnvme0n1       1.8T disk\n";
            made(&format!("{heading}{rows}")).0
        };
        let crypt = "\u{2514}\u{2500}nvme0n1p1   1.8T part crypto_LUKS\n  \u{2514}\u{2500}root      1.8T crypt btrfs     /\n";
        let plain = "\u{2514}\u{2500}nvme0n1p1   1.8T part btrfs       /\n";
        let id = "dm-crypt-workqueues";
        assert!(made_of(plain).contains(&id) && !made_of(crypt).contains(&id));
        assert!([plain, crypt].iter().all(|rows| !made_of(rows).contains(&"memory-copies")));
    }

    #[test]
    fn a_link_of_width_0_is_no_link_that_the_text_lacks() {
        let text = |state: &str, most: &str| {
            let link = |width: &str| format!("Speed 8GT/s, Width x{width}");
            let function = |place: &str, name: &str, kind: &str| {
                format!(
                    "{place} {name}\n\tCapabilities: [40] Express (v2) {kind}, MSI 00\n\t\tLnkCap:\tPort #0, {}\n\t\tLnkSta:\t{}\n",
                    link(most),
                    link(state)
                )
            };
            let port =
                "PCI bridge: Intel Corporation Device 9a04\n\tBus: primary=00, secondary=01, subordinate=01";
            function("00:1d.0", port, "Root Port (Slot+)")
                + &function("01:00.0", "Non-Volatile memory controller: Sandisk Corp Device 5009", "Endpoint")
        };
        let because = |text: &str| {
            let all = not_made_of(text);
            all.into_iter().find(|known| known.id.0 == "link-downtrained").map(|known| known.because)
        };
        assert_eq!(because(&text("0", "0")).as_deref(), Some(NO_LINK_UP));
        assert_eq!(because(&text("0", "4")).as_deref(), Some(NO_LINK_UP));
        assert_eq!(because(&text("4", "4")), None, "the check was made");
        assert!(
            not_made_of(&text("0", "0"))
                .iter()
                .any(|known| known.because == NO_LINK_UP && known.lacks_data())
        );
    }
}

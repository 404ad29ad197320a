//! Rules of the system that revert changed settings.

use std::collections::BTreeSet;

use super::{
    Check, Detection, Evidence, Inputs, Row, Subject,
    inputs::{drives, grouped, names},
};
use crate::{
    machine::{Drive, Machine, SettingRule},
    model::{FindingId, Reading, Severity},
    text::Label,
};

/// The current value of a setting, and the choices its file offers, if any.
struct Now {
    proof: Evidence,
    offered: Vec<Label>,
}

pub(super) const RULE_REVERTS: Row = Row {
    id: FindingId("rule-reverts"),
    title: "a rule reverts a setting",
    fires: "a udev rule, a kernel argument, a module option, tmpfiles.d, a service or tuned sets a setting to something else than it \
            is now, and the kernel would take it",
    why: "The setting was changed by hand; the rule sets it again at the next boot or hotplug.",
    remedy: "Change the rule if the change is to stay.",
    wrong_if: "A rule with a condition unknown to iodyno, or a program started later, sets it last.",
    of_machine: true,
    check: Check::Many(rule_reverts),
    ..Row::PLAIN
};

/// The last effective rule for a setting of a drive.
pub(super) fn rule_for<'a>(inputs: &Inputs<'a>, drive: &Drive, setting: &str) -> Option<&'a SettingRule> {
    last(inputs.machine, setting, |rule| rule.applies_to(drive))
}

fn last<'a>(
    machine: &'a Machine,
    setting: &str,
    fits: impl Fn(&SettingRule) -> bool,
) -> Option<&'a SettingRule> {
    let counts =
        |rule: &&SettingRule| rule.setting == *setting && rule.without_effect.is_none() && fits(rule);
    machine.rules.iter().rev().find(counts)
}

impl Now {
    fn of<T: ToString>(reading: &Reading<T>) -> Option<Self> {
        let value = reading.value()?.to_string();
        Some(Self { proof: Evidence::at(reading, value), offered: Vec::new() })
    }

    /// Of a drive, or of the PCI function it hangs on.
    fn of_drive(machine: &Machine, drive: &Drive, setting: &str) -> Option<Self> {
        let queue = &drive.queue;
        let node = drive.node.map(|index| machine.pci.node(index));
        match setting {
            "scheduler" => {
                let choice = queue.scheduler.value()?;
                let proof = Evidence::at(&queue.scheduler, choice.current.to_string());
                Some(Self { proof, offered: choice.choices.clone() })
            }
            "read_ahead_kb" => Self::of(&queue.read_ahead_kb),
            "nr_requests" => Self::of(&queue.nr_requests),
            "max_sectors_kb" => Self::of(&queue.max_sectors_kb),
            "nomerges" => Self::of(&queue.nomerges),
            "rq_affinity" => Self::of(&queue.rq_affinity),
            "wbt_lat_usec" => Self::of(&queue.wbt_lat_usec),
            "iostats" => Self::of(&queue.iostats),
            "add_random" => Self::of(&queue.add_random),
            "latency_tolerance_us" => Self::of(&drive.latency_tolerance_us),
            "power_control" => Self::of(&node?.power_control),
            "aspm" => Self::of(&node?.aspm.get("l1_aspm")?.clone().map(u8::from)),
            _ => None,
        }
    }

    /// Of the whole machine: the first CPU that the rule would change, or the driver's parameter.
    fn of_machine(machine: &Machine, rule: &SettingRule) -> Option<Self> {
        if rule.setting == *"poll_queues" {
            return Self::of(machine.host.module_parameters.get("nvme/poll_queues")?);
        }
        machine.processors.cpus.iter().find_map(|cpu| {
            let (now, offered) = match rule.setting.as_str() {
                "governor" => (&cpu.governor, &cpu.governors),
                "energy_preference" => (&cpu.energy_preference, &cpu.energy_preferences),
                _ => return None,
            };
            let now = Self { offered: offered.value().cloned().unwrap_or_default(), ..Self::of(now)? };
            now.reverted_by(rule, None).is_some().then_some(now)
        })
    }

    /// The value after the rule, if it differs.
    fn reverted_by(&self, rule: &SettingRule, most: Option<u64>) -> Option<String> {
        let left = rule.leaves(&self.proof.value, &self.offered)?;
        let left = match (most, left.parse::<u64>()) {
            (Some(most), Ok(left)) => left.min(most).to_string(),
            _ => left,
        };
        (left != self.proof.value).then_some(left)
    }
}

fn rule_reverts(inputs: &Inputs) -> Vec<Detection> {
    let machine = inputs.machine;
    let settings: BTreeSet<&str> = machine.rules.iter().map(|rule| rule.setting.as_str()).collect();
    let reverted = |drive, setting| {
        let rule = rule_for(inputs, drive, setting)?;
        let now = Now::of_drive(machine, drive, setting)?;
        let most = drive.queue.max_hw_sectors_kb.get().filter(|_| setting == "max_sectors_kb");
        let left = now.reverted_by(rule, most)?;
        Some(((&*rule.path, rule.line, setting), (drive, (rule, now.proof, left))))
    };
    let found = machine
        .hardware_drives()
        .flat_map(|drive| settings.iter().filter_map(move |setting| reverted(drive, *setting)));
    let of_drives = grouped(found).into_iter().filter_map(|((.., setting), found)| {
        let drives = drives(&found);
        let (_, (rule, _, left)) = found.first()?;
        let now = found.iter().map(|(_, (_, now, _))| now.clone()).collect();
        let detection = detection(&names(&drives), setting, rule, left, now)?;
        Some(detection.about(drives.into_iter().map(Subject::drive)))
    });
    let of_machine = settings.iter().filter_map(|setting| {
        let rule = last(machine, setting, |_| true)?;
        let now = Now::of_machine(machine, rule)?;
        let left = now.reverted_by(rule, None)?;
        let (what, subject) = match *setting {
            "poll_queues" => ("nvme driver", Subject::host()),
            _ => ("CPUs", Subject::cpus()),
        };
        Some(detection(what, setting, rule, &left, vec![now.proof])?.about([subject]))
    });
    of_drives.chain(of_machine).collect()
}

/// One detection about `what` has the setting; `now` has its values, `left` is the value after the rule.
fn detection(
    what: &str,
    setting: &str,
    rule: &SettingRule,
    left: &str,
    now: Vec<Evidence>,
) -> Option<Detection> {
    let value = &now.first()?.value;
    let place = format!("{}:{}", rule.path, rule.line);
    let title = format!("{what}: {setting} is {value}, but {} {place} sets {left}", rule.kind.name());
    let proof = Evidence::new(place, rule.text.to_string());
    Some(Detection::new(Severity::Info, title).with_evidence(now).with_evidence([proof]))
}

//! Rules of the system that revert changed settings.

use std::collections::BTreeMap;

use super::{Detection, Evidence, Inputs, Row, Subject, inputs::names};
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
    check: rule_reverts,
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
        Some(Self { proof: Evidence::new(&**reading.path(), value), offered: Vec::new() })
    }

    /// Of a drive, or of the PCI function it hangs on.
    fn of_drive(machine: &Machine, drive: &Drive, setting: &str) -> Option<Self> {
        let queue = &drive.queue;
        let node = drive.node.map(|index| machine.pci.node(index));
        match setting {
            "scheduler" => {
                let choice = queue.scheduler.value()?;
                let proof = Evidence::new(&**queue.scheduler.path(), choice.current.to_string());
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
            "aspm" => {
                let aspm = node?.aspm.get("l1_aspm")?;
                let on = aspm.get()?;
                Some(Self {
                    proof: Evidence::new(&**aspm.path(), u8::from(on).to_string()),
                    offered: Vec::new(),
                })
            }
            _ => None,
        }
    }

    /// Of the whole machine: the first CPU that the rule would change, or the driver's parameter.
    fn of_machine(machine: &Machine, rule: &SettingRule) -> Option<Self> {
        let cpus = machine.processors.cpus.iter();
        let mut readings: Box<dyn Iterator<Item = _>> = match rule.setting.as_str() {
            "governor" => Box::new(cpus.map(|cpu| (&cpu.governor, &cpu.governors))),
            "energy_preference" => {
                Box::new(cpus.map(|cpu| (&cpu.energy_preference, &cpu.energy_preferences)))
            }
            "poll_queues" => return Self::of(machine.host.module_parameters.get("nvme/poll_queues")?),
            _ => return None,
        };
        readings.find_map(|(now, offered)| {
            let offered = offered.value().cloned().unwrap_or_default();
            Self::of(now)
                .map(|now| Self { offered, ..now })
                .filter(|now| now.reverted_by(rule, None).is_some())
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
    let mut settings: Vec<&str> = inputs.machine.rules.iter().map(|rule| rule.setting.as_str()).collect();
    settings.sort_unstable();
    settings.dedup();
    let of_drives = reverted_drives(inputs, &settings).into_iter().filter_map(|((.., setting), found)| {
        let drives: Vec<_> = found.iter().map(|(drive, ..)| *drive).collect();
        let (_, rule, now, left) = found.first()?;
        let about = detection(&names(&drives), setting, now, rule, left);
        let about = about.about(drives.into_iter().map(Subject::drive));
        Some(about.with_evidence(found.iter().map(|(_, _, now, _)| now.clone())).with_evidence([proof(rule)]))
    });
    let of_machine = settings.iter().filter_map(|setting| {
        let rule = last(inputs.machine, setting, |_| true)?;
        let now = Now::of_machine(inputs.machine, rule)?;
        let left = now.reverted_by(rule, None)?;
        let (who, subject) = match *setting {
            "poll_queues" => ("nvme driver", Subject::host()),
            _ => ("CPUs", Subject::cpus()),
        };
        let about = detection(who, setting, &now.proof, rule, &left);
        Some(about.about([subject]).with_evidence([now.proof, proof(rule)]))
    });
    of_drives.chain(of_machine).collect()
}

/// A drive, the rule that reverts it, the current value, and the value after the rule.
type Reverted<'a> = (&'a Drive, &'a SettingRule, Evidence, String);

/// Drives that a rule reverts, grouped by rule.
fn reverted_drives<'a>(
    inputs: &Inputs<'a>,
    settings: &[&'a str],
) -> BTreeMap<(&'a str, usize, &'a str), Vec<Reverted<'a>>> {
    let mut groups: BTreeMap<_, Vec<Reverted>> = BTreeMap::new();
    for drive in inputs.machine.hardware_drives() {
        for setting in settings {
            let Some(rule) = rule_for(inputs, drive, setting) else { continue };
            let Some(now) = Now::of_drive(inputs.machine, drive, setting) else { continue };
            let most = drive.queue.max_hw_sectors_kb.get().filter(|_| *setting == "max_sectors_kb");
            if let Some(left) = now.reverted_by(rule, most) {
                let group = groups.entry((&*rule.path, rule.line, *setting)).or_default();
                group.push((drive, rule, now.proof, left));
            }
        }
    }
    groups
}

fn detection(who: &str, setting: &str, now: &Evidence, rule: &SettingRule, left: &str) -> Detection {
    let place = format!("{} {}:{}", rule.kind.name(), rule.path, rule.line);
    let title = format!("{who}: {setting} is {}, but {place} sets {left}", now.value);
    Detection::new(Severity::Info, title)
}

fn proof(rule: &SettingRule) -> Evidence {
    Evidence::new(format!("{}:{}", rule.path, rule.line), rule.text.to_string())
}

//! Rules of the system that set back what somebody changed.

use std::collections::BTreeMap;

use super::{Evidence, Proof, Risk, Row, Sighting, Subject, evidence::names};
use crate::{
    machine::{Drive, SettingRule},
    model::{FindingId, Severity},
};

/// A drive whose setting is not what a rule says, the rule, and what it is.
type Reverted<'a> = (&'a Drive, &'a SettingRule, Proof);

pub(super) const RULE_REVERTS: Row = Row {
    id: FindingId("rule-reverts"),
    title: "a rule sets a setting back",
    fires: "a udev rule that fits a drive sets a queue attribute to something else than it is now",
    why: "Somebody changed the setting by hand; at the next boot, or when the drive is seen again, the rule has its way.",
    source: "",
    remedy: "Change the rule if the change is to stay.",
    risk: Risk::None,
    wrong_if: "A later rule with a condition that iodyno does not understand, or a service such as tuned, has the last word.",
    needs_load: false,
    is_default: false,
    check: rule_reverts,
};

/// The last rule that sets a queue attribute of a drive: the one that wins.
pub(super) fn rule_for<'a>(evidence: &Evidence<'a>, drive: &Drive, setting: &str) -> Option<&'a SettingRule> {
    let fits = |rule: &&SettingRule| rule.setting == *setting && rule.applies_to(drive);
    evidence.machine.rules.iter().rev().find(fits)
}

/// The settings rules are compared with what they are now.
fn setting_now(drive: &Drive, setting: &str) -> Option<Proof> {
    let queue = &drive.queue;
    match setting {
        "scheduler" => {
            let reading = &queue.scheduler;
            reading.value().map(|choice| Proof::new(&**reading.path(), choice.current.to_string()))
        }
        "read_ahead_kb" => Proof::of(&queue.read_ahead_kb),
        "nr_requests" => Proof::of(&queue.nr_requests),
        "max_sectors_kb" => Proof::of(&queue.max_sectors_kb),
        "nomerges" => Proof::of(&queue.nomerges),
        "rq_affinity" => Proof::of(&queue.rq_affinity),
        "wbt_lat_usec" => Proof::of(&queue.wbt_lat_usec),
        "iostats" => Proof::of(&queue.iostats),
        "add_random" => Proof::of(&queue.add_random),
        _ => None,
    }
}

fn rule_reverts(evidence: &Evidence) -> Vec<Sighting> {
    let mut groups: BTreeMap<(&str, usize, &str), Vec<Reverted>> = BTreeMap::new();
    for drive in evidence.machine.hardware_drives() {
        let mut settings: Vec<_> = evidence.machine.rules.iter().map(|rule| rule.setting.as_str()).collect();
        settings.sort_unstable();
        settings.dedup();
        for setting in settings {
            let Some(rule) = rule_for(evidence, drive, setting) else { continue };
            if let Some(now) = setting_now(drive, setting).filter(|now| now.value != rule.value.as_str()) {
                groups.entry((&*rule.path, rule.line, setting)).or_default().push((drive, rule, now));
            }
        }
    }
    groups
        .into_iter()
        .filter_map(|((path, line, setting), found)| {
            let drives: Vec<_> = found.iter().map(|(drive, ..)| *drive).collect();
            let (_, rule, now) = found.first()?;
            let title = format!(
                "{}: {setting} is {}, but {path}:{line} sets {}",
                names(&drives),
                now.value,
                rule.value
            );
            let rule = Proof::new(
                format!("{path}:{line}"),
                format!("ATTR{{queue/{setting}}}={:?}", rule.value.as_str()),
            );
            Some(
                Sighting::new(Severity::Info, title)
                    .about(drives.into_iter().map(Subject::drive))
                    .proved_by(found.into_iter().map(|(.., now)| now))
                    .proved_by([rule]),
            )
        })
        .collect()
}

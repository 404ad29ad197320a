//! [`Changes`]: settings that changed while a pull ran.

use crate::units::counted;

/// A setting that changed, with its devices.
#[derive(Debug, Clone, PartialEq)]
struct Changed {
    setting: String,
    /// The value that another program set.
    value: Option<String>,
    devices: Vec<String>,
}

/// Settings that iodyno changed, and those that other programs did.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Changes {
    own: Vec<Changed>,
    others: Vec<Changed>,
}

impl Changes {
    /// Notes a setting that iodyno changed. With one setting of a device the kernel may change another one.
    pub fn note(&mut self, setting: &str, device: &str) {
        for changed in &mut self.others {
            changed.devices.retain(|other| other != device);
        }
        add(&mut self.own, setting, None, device);
    }

    /// Notes a setting that has another value now, of a device of which iodyno changed none.
    pub fn note_other(&mut self, setting: &str, device: &str, value: &str) {
        if self.own.iter().any(|changed| changed.devices.iter().any(|own| own == device)) {
            return;
        }
        for changed in self.others.iter_mut().filter(|changed| changed.setting == setting) {
            changed.devices.retain(|other| other != device);
        }
        add(&mut self.others, setting, Some(value), device);
    }

    /// `The setting scheduler of nvme8n1 changed during the pull: the figures mix old and new values.`
    pub fn words(&self) -> Option<String> {
        const MIXED: &str = "during the pull: the figures mix old and new values.";
        let noun = if self.own.len() == 1 { "setting" } else { "settings" };
        let own = listed(&self.own).map(|list| format!("The {noun} {list} changed {MIXED}"));
        let others = listed(&self.others).map(|list| format!("Another program changed {list} {MIXED}"));
        let sentences: Vec<String> = own.into_iter().chain(others).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

fn add(all: &mut Vec<Changed>, setting: &str, value: Option<&str>, device: &str) {
    let is_same = |changed: &Changed| changed.setting == setting && changed.value.as_deref() == value;
    match all.iter_mut().find(|changed| is_same(changed)) {
        Some(changed) if changed.devices.iter().any(|other| other == device) => {}
        Some(changed) => changed.devices.push(device.to_owned()),
        None => all.push(Changed {
            setting: setting.to_owned(),
            value: value.map(str::to_owned),
            devices: vec![device.to_owned()],
        }),
    }
}

/// `scheduler of nvme8n1 and nvme9n1`, with the value where that is known; `None` without any.
fn listed(all: &[Changed]) -> Option<String> {
    let words = |Changed { setting, value, devices }: &Changed| {
        let devices = match devices.as_slice() {
            [] => return None,
            [one] => one.clone(),
            [first, second] => format!("{first} and {second}"),
            all => counted(all.len(), "drive"),
        };
        let value = value.as_ref().map(|value| format!(" to {value}")).unwrap_or_default();
        Some(format!("{setting} of {devices}{value}"))
    };
    let list: Vec<String> = all.iter().filter_map(words).collect();
    (!list.is_empty()).then(|| list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_with_their_devices_once() {
        let mut changes = Changes::default();
        assert_eq!(changes.words(), None);
        changes.note("scheduler", "nvme8n1");
        changes.note("scheduler", "nvme8n1");
        let said = |changes: &Changes| changes.words().unwrap_or_default();
        assert!(said(&changes).starts_with("The setting scheduler of nvme8n1 changed during the pull: "));
        changes.note("scheduler", "nvme9n1");
        changes.note("cpu_dma_latency", "cpu");
        let both = "The settings scheduler of nvme8n1 and nvme9n1, cpu_dma_latency of cpu changed ";
        assert!(said(&changes).starts_with(both), "{}", said(&changes));
        changes.note("scheduler", "nvme0n1");
        assert!(said(&changes).contains("scheduler of 3 drives, "), "{}", said(&changes));
    }

    #[test]
    fn settings_of_other_programs_are_named_with_their_value() {
        let mut changes = Changes::default();
        changes.note_other("scheduler", "nvme0n1", "mq-deadline");
        changes.note_other("scheduler", "nvme0n1", "none");
        let said = changes.words().unwrap_or_default();
        assert_eq!(
            said,
            "Another program changed scheduler of nvme0n1 to none during the pull: the figures mix old and new values."
        );
        // The machine may be read before iodyno hears of its own write.
        changes.note_other("scheduler", "nvme1n1", "none");
        changes.note("scheduler", "nvme1n1");
        changes.note_other("nr_requests", "nvme1n1", "256");
        let said = changes.words().unwrap_or_default();
        assert!(said.starts_with("The setting scheduler of nvme1n1 changed during the pull: "), "{said}");
        assert!(said.contains("program changed scheduler of nvme0n1 to none during"), "{said}");
    }
}

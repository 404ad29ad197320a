//! [`Changes`]: settings that iodyno changed while a pull ran.

use crate::units::counted;

/// Each setting with its devices.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Changes(Vec<(String, Vec<String>)>);

impl Changes {
    pub fn note(&mut self, setting: &str, device: &str) {
        let at = self.0.iter().position(|(other, _)| other == setting).unwrap_or_else(|| {
            self.0.push((setting.to_owned(), Vec::new()));
            self.0.len() - 1
        });
        let devices = &mut self.0[at].1;
        if !devices.iter().any(|other| other == device) {
            devices.push(device.to_owned());
        }
    }

    /// `The setting scheduler of nvme8n1 changed during the pull: the figures mix old and new values.`
    pub fn words(&self) -> Option<String> {
        let words = |(setting, devices): &(String, Vec<String>)| match devices.as_slice() {
            [one] => format!("{setting} of {one}"),
            [first, second] => format!("{setting} of {first} and {second}"),
            all => format!("{setting} of {}", counted(all.len(), "drive")),
        };
        let noun = match self.0.as_slice() {
            [] => return None,
            [_] => "setting",
            _ => "settings",
        };
        let list = self.0.iter().map(words).collect::<Vec<_>>().join(", ");
        Some(format!("The {noun} {list} changed during the pull: the figures mix old and new values."))
    }
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
}

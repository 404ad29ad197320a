//! The setting that a file of /sys or a kernel argument belongs to.

use crate::{
    machine::rules::{RuleKind, SettingRule},
    text::Label,
};

/// File and line of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub kind: RuleKind,
    pub path: &'a str,
    pub line: usize,
}

impl At<'_> {
    pub(super) fn rule(self, setting: &str, value: &str, names: Option<&str>, text: &str) -> SettingRule {
        SettingRule {
            kind: self.kind,
            path: self.path.into(),
            line: self.line,
            setting: Label::new(setting),
            value: Label::new(value),
            names: names.map(Label::new),
            rotational: None,
            text: Label::new(text),
            without_effect: None,
        }
    }

    /// The rule of a write to a file of /sys, whose path may be a pattern; `None` if it is not a setting's.
    pub(super) fn write(self, path: &str, value: &str, text: &str) -> Option<SettingRule> {
        let parts: Vec<&str> =
            path.strip_prefix("/sys/")?.split('/').filter(|part| !part.is_empty()).collect();
        let (setting, names) = match parts.as_slice() {
            ["block", name, "queue", file] | ["class", "block", name, "queue", file] => {
                (*file, Some(*name).filter(|name| *name != "*"))
            }
            ["devices", "system", "cpu", "cpufreq", policy, file] if policy.starts_with("policy") => {
                (cpu_setting(file)?, None)
            }
            ["devices", "system", "cpu", cpu, "cpufreq", file] if cpu.starts_with("cpu") => {
                (cpu_setting(file)?, None)
            }
            ["module", module, "parameters", parameter] => {
                return self.parameter(module, parameter, value, text);
            }
            ["bus", "pci", "devices", "*", "power", "control"] => ("power_control", None),
            ["bus", "pci", "devices", "*", "link", "l1_aspm"] => ("aspm", None),
            _ => return None,
        };
        Some(self.rule(setting, value, names, text))
    }

    /// The rule of a module's parameter, which is also an argument of the kernel.
    pub(super) fn parameter(self, module: &str, name: &str, value: &str, text: &str) -> Option<SettingRule> {
        let (setting, value) = match (module, name, value) {
            ("nvme", "poll_queues", _) => ("poll_queues", value),
            ("nvme_core", "default_ps_max_latency_us", _) => ("latency_tolerance_us", value),
            ("cpufreq", "default_governor", _) => ("governor", value),
            // drivers/pci/pcie/aspm.c: `default` keeps the firmware's choice.
            ("pcie_aspm", "policy", "performance") => ("aspm", "0"),
            ("pcie_aspm", "policy", "powersave" | "powersupersave") => ("aspm", "1"),
            _ => return None,
        };
        Some(self.rule(setting, value, None, text))
    }

    /// The rules of the kernel's command line.
    pub(super) fn arguments(self, command_line: &str) -> Vec<SettingRule> {
        // Arguments after `--` are init's.
        let words = command_line.split_ascii_whitespace().take_while(|word| *word != "--");
        words.filter_map(|word| self.argument(word)).collect()
    }

    fn argument(self, word: &str) -> Option<SettingRule> {
        let (name, value) = word.split_once('=')?;
        if name == "elevator" {
            // block/elevator.c since 5.0, which removed the single-queue block layer.
            let why = "Linux ignores elevator= since 5.0";
            let rule = self.rule("scheduler", value, None, word);
            return Some(SettingRule { without_effect: Some(why), ..rule });
        }
        let (module, parameter) = name.split_once('.')?;
        self.parameter(&module.replace('-', "_"), &parameter.replace('-', "_"), value, word)
    }
}

/// The setting of a file below `cpufreq`.
fn cpu_setting(file: &str) -> Option<&'static str> {
    match file {
        "scaling_governor" => Some("governor"),
        "energy_performance_preference" => Some("energy_preference"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: At<'_> = At { kind: RuleKind::Argument, path: "/proc/cmdline", line: 1 };

    #[test]
    fn files_are_known_by_their_places() {
        for (path, setting, names) in [
            ("/sys/block/nvme*/queue/scheduler", "scheduler", Some("nvme*")),
            ("/sys/class/block/sda/queue/read_ahead_kb", "read_ahead_kb", Some("sda")),
            ("/sys/block/*/queue/nomerges", "nomerges", None),
            ("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "governor", None),
            (
                "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
                "energy_preference",
                None,
            ),
            ("/sys/module/nvme/parameters/poll_queues", "poll_queues", None),
            ("/sys/bus/pci/devices/*/power/control", "power_control", None),
        ] {
            let rule = AT.write(path, "1", "text").unwrap();
            assert_eq!(
                (rule.setting.as_str(), rule.names.as_ref().map(Label::as_str)),
                (setting, names),
                "{path}"
            );
        }
        for path in
            ["/sys/block/sda/size", "/proc/sys/vm/x", "/sys/class/backlight/x", "/sys/module/a/parameters/b"]
        {
            assert_eq!(AT.write(path, "1", "text"), None, "{path}");
        }
    }

    #[test]
    fn arguments_that_set_something_are_found_and_the_one_without_effect_says_so() {
        let line = "root=/dev/sda1 nvme.poll_queues=4 nvme-core.default_ps_max_latency_us=0 cpufreq.default_governor=performance \
                    pcie_aspm.policy=performance elevator=noop quiet -- nvme.poll_queues=9";
        let rules = AT.arguments(line);
        let said: Vec<_> = rules.iter().map(|rule| (rule.setting.as_str(), rule.value.as_str())).collect();
        let wanted = [
            ("poll_queues", "4"),
            ("latency_tolerance_us", "0"),
            ("governor", "performance"),
            ("aspm", "0"),
            ("scheduler", "noop"),
        ];
        assert_eq!(said, wanted);
        let without: Vec<_> = rules.iter().filter(|rule| rule.without_effect.is_some()).collect();
        assert_eq!(without.len(), 1);
        assert_eq!(
            without[0].to_string(),
            "kernel argument /proc/cmdline:1 contains elevator=noop, without effect: Linux ignores elevator= since 5.0"
        );
        assert_eq!(rules[0].to_string(), "kernel argument /proc/cmdline:1 sets 4");
    }

    proptest! {
        #[test]
        fn any_path_and_any_command_line_get_an_answer(text in any::<String>()) {
            prop_assert!(AT.write(&text, "1", "").is_none() || text.starts_with("/sys/"));
            let rules = AT.write(&format!("/sys/{text}"), &text, &text).into_iter().chain(AT.arguments(&text));
            prop_assert!(rules.into_iter().all(|rule| rule.line == 1 && !rule.setting.as_str().is_empty()));
        }
    }
}

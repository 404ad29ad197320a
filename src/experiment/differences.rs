//! What arms that users write differ in, as they would write it.

use super::Plan;
use crate::model::options::{self, OPTIONS};

impl Plan {
    /// Whether users wrote its arms: their labels need not say in what they differ.
    pub(crate) fn is_custom(&self) -> bool {
        self.experiment.id.0 == "own"
    }

    /// Of each arm the options and settings in which it differs from others: `bs=4k scheduler=none`.
    pub(crate) fn differences(&self) -> Vec<String> {
        let mut words: Vec<Vec<String>> = vec![Vec::new(); self.arms.len()];
        let mut add = |values: Vec<String>| {
            if values.iter().any(|value| *value != values[0]) {
                words.iter_mut().zip(values).for_each(|(words, value)| words.push(value));
            }
        };
        for option in OPTIONS.iter().filter(|option| option.arm != options::Arm::No) {
            let of_arm = |work| match option.short(work) {
                value if value.is_empty() => format!("no {}", option.name),
                value => format!("{}={value}", option.name),
            };
            add(self.arms.iter().map(|arm| of_arm(&arm.workload)).collect());
        }
        let mut settings: Vec<&str> = Vec::new();
        for setting in self.arms.iter().flat_map(|arm| &arm.settings).map(|one| one.setting.0) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        for setting in settings {
            let values = self.arms.iter().map(|arm| {
                let value = arm.settings.iter().find(|one| one.setting.0 == setting).map(|one| &one.value);
                value.map_or_else(|| format!("{setting} unchanged"), |value| format!("{setting}={value}"))
            });
            add(values.collect());
        }
        words.iter().map(|words| words.join(" ")).collect()
    }

    /// `nvme0n1, A bs=4k, B bs=64k, both randread, depth 32, 1 job`; none where no arm differs.
    pub(crate) fn compared(&self) -> Option<String> {
        let differences = self.differences();
        differences.iter().any(|words| !words.is_empty()).then_some(())?;
        let named = self.arms.iter().zip(&differences).map(|(arm, words)| format!("{} {words}", arm.label));
        let named: Vec<String> = named.collect();
        // The block size is a part of its own.
        let titles = self.arms.iter().map(|arm| arm.workload.title().replacen(' ', ", ", 1));
        let titles: Vec<String> = titles.collect();
        let is_common = |part: &&str| titles.iter().all(|title| title.split(", ").any(|own| own == *part));
        let common: Vec<&str> = titles.first()?.split(", ").filter(is_common).collect();
        let all = if self.arms.len() == 2 { "both" } else { "all" };
        Some(format!("{}, {}, {all} {}", self.targets_in_words(), named.join(", "), common.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        experiment::{Arm, Plan, Terms, plan::Wishes, table},
        model::{Metric, Workload},
        units::Bytes,
    };

    fn plan(arms: Vec<Arm>) -> Plan {
        Plan {
            experiment: table::find("own").unwrap(),
            metric: Metric::Iops,
            arms,
            terms: Terms::default(),
            simulated: false,
            targets: Vec::new(),
            wishes: Wishes::default(),
        }
    }

    #[test]
    fn both_arms_of_a_user_are_named_with_what_they_differ_in() {
        let deep = Workload { depth: 64, block_size: Bytes(65536), ..Workload::default() };
        let arms = vec![Arm::new("A".to_owned(), Workload::default()), Arm::new("B".to_owned(), deep)];
        let plan = plan(arms);
        assert_eq!(plan.differences(), ["bs=4k iodepth=32", "bs=64k iodepth=64"]);
        assert_eq!(
            plan.compared().unwrap(),
            ", A bs=4k iodepth=32, B bs=64k iodepth=64, both randread, 1 job"
        );
        assert_eq!(plan.subject(), ", 4k randread, depth 32, 1 job (A); 64k randread, depth 64, 1 job (B)");
    }
}

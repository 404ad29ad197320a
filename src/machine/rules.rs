//! Rules of the system that write settings at boot or when a device appears.

use std::{fmt, sync::Arc};

use super::Drive;
use crate::text::Label;

/// The kind of a rule. At boot they run in this order, so a later one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// An argument on the kernel's command line.
    Argument,
    /// `options` of modprobe.d(5).
    ModuleOption,
    /// udev(7), when a device appears.
    Udev,
    /// A `w` line of tmpfiles.d(5).
    Tmpfile,
    /// A command of a systemd service that starts at boot.
    Unit,
    /// A line of a shell script that such a service starts.
    Script,
    /// The active profile of `tuned`.
    Tuned,
}

/// One assignment of a rule to a setting: `ATTR{queue/scheduler}="none"`, `nvme.poll_queues=2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRule {
    /// The program or kernel part that applies it.
    pub kind: RuleKind,
    /// Its file.
    pub path: Arc<str>,
    /// Its line, counted from 1.
    pub line: usize,
    /// The setting by its name: `scheduler`, `governor`.
    pub setting: Label,
    /// The value. `>` or `<` before a number: only if the current value is less or more; `|` between words: the first
    /// available one.
    pub value: Label,
    /// Kernel names of its drives, as udev matches them (`nvme[0-9]*n[0-9]*|sd?`); `None` for all, and for settings
    /// without a drive.
    pub names: Option<Label>,
    /// Only for drives with this value of `queue/rotational`; `None` for both.
    pub rotational: Option<bool>,
    /// The assignment as written in the file.
    pub text: Label,
    /// The reason if it has no effect.
    pub without_effect: Option<&'static str>,
}

impl SettingRule {
    pub(crate) fn applies_to(&self, drive: &Drive) -> bool {
        let named = self.names.as_ref().is_none_or(|names| {
            names.as_str().split('|').any(|pattern| matches(pattern, drive.name.as_str()))
        });
        named && self.rotational.is_none_or(|rotational| drive.queue.rotational.get() == Some(rotational))
    }

    /// The setting's value after the rule, from the current value and the offered choices (empty if it has none).
    /// `None` if the kernel refuses or ignores the rule's value.
    pub fn leaves(&self, now: &str, offered: &[Label]) -> Option<String> {
        if self.without_effect.is_some() {
            return None;
        }
        let value = self.value.as_str();
        if !offered.is_empty() {
            let is_offered = |word: &&str| offered.iter().any(|offer| *offer == **word);
            return value.split('|').map(str::trim).find(is_offered).map(str::to_owned);
        }
        let number = |text: &str| text.trim().parse::<i64>().ok();
        if let Some(least) = value.strip_prefix('>') {
            return Some(number(now)?.max(number(least)?).to_string());
        }
        if let Some(most) = value.strip_prefix('<') {
            return Some(number(now)?.min(number(most)?).to_string());
        }
        let asked = value.trim();
        let Some(number) = number(asked) else { return Some(asked.to_owned()) };
        // The kernel's rounding (block/blk-sysfs.c).
        let number = match self.setting.as_str() {
            "read_ahead_kb" => number / 4 * 4,
            "nr_requests" => number.max(4),
            "nomerges" if number > 2 => number & 1,
            "rq_affinity" if number > 2 => return None,
            // Resets to a default, which is unknown.
            "wbt_lat_usec" if number < 0 => return None,
            _ => number,
        };
        Some(number.to_string())
    }
}

impl fmt::Display for SettingRule {
    /// `udev rule /etc/udev/rules.d/60.rules:2 sets none`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", self.kind.name(), self.path, self.line)?;
        match self.without_effect {
            Some(why) => write!(f, " contains {}, without effect: {why}", self.text),
            None => write!(f, " sets {}", self.value),
        }
    }
}

impl RuleKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Argument => "kernel argument",
            Self::ModuleOption => "module option",
            Self::Udev => "udev rule",
            Self::Tmpfile => "tmpfiles.d line",
            Self::Unit => "systemd service",
            Self::Script => "script of a service",
            Self::Tuned => "tuned profile",
        }
    }
}

/// Whether a shell pattern of `*`, `?` and `[...]` matches all of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Backtracking after the last star: the next pattern index, and the next text index.
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            retry = Some((at, seen));
        } else if let Some(next) = one(&pattern, at, text[seen]) {
            at = next;
            seen += 1;
        } else if let Some((behind, swallowed)) = retry {
            at = behind;
            seen = swallowed + 1;
            retry = Some((behind, seen));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The next pattern index if the part at `at` matches `c`.
fn one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => {
            let end = at + pattern[at..].iter().position(|p| *p == ']')?;
            let mut set = &pattern[at + 1..end];
            let negated = matches!(set.first(), Some('!' | '^'));
            if negated {
                set = &set[1..];
            }
            let mut found = false;
            let mut i = 0;
            while let Some(low) = set.get(i) {
                if let (Some('-'), Some(high)) = (set.get(i + 1), set.get(i + 2)) {
                    found |= (*low..=*high).contains(&c);
                    i += 3;
                } else {
                    found |= *low == c;
                    i += 1;
                }
            }
            (found != negated).then_some(end + 1)
        }
        literal => (*literal == c).then_some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaves(setting: &str, value: &str, now: &str, offered: &[&str]) -> Option<String> {
        let rule = SettingRule {
            kind: RuleKind::Udev,
            path: "/r".into(),
            line: 1,
            setting: setting.into(),
            value: value.into(),
            names: None,
            rotational: None,
            text: value.into(),
            without_effect: None,
        };
        let ignored = SettingRule { without_effect: Some("so it is"), ..rule.clone() };
        let offered: Vec<Label> = offered.iter().map(|word| Label::new(word)).collect();
        assert_eq!(ignored.leaves(now, &offered), None);
        rule.leaves(now, &offered)
    }

    #[test]
    fn a_rule_leaves_what_the_kernel_makes_of_it() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(leaves("scheduler", "none", "kyber", &["none", "kyber"]), some("none"));
        assert_eq!(leaves("scheduler", "bfq", "kyber", &["none", "kyber"]), None, "no such scheduler");
        assert_eq!(
            leaves("governor", "schedutil|powersave", "x", &["performance", "powersave"]),
            some("powersave")
        );
        assert_eq!(leaves("read_ahead_kb", "4099", "128", &[]), some("4096"));
        assert_eq!(leaves("read_ahead_kb", ">4096", "128", &[]), some("4096"));
        assert_eq!(leaves("read_ahead_kb", ">4096", "8192", &[]), some("8192"), "only raised");
        assert_eq!(leaves("read_ahead_kb", "<64", "32", &[]), some("32"), "only lowered");
        assert_eq!(leaves("read_ahead_kb", ">x", "32", &[]), None);
        assert_eq!(leaves("nr_requests", "2", "64", &[]), some("4"));
        assert_eq!(leaves("nomerges", "3", "0", &[]), some("1"));
        assert_eq!(leaves("rq_affinity", "7", "1", &[]), None);
        assert_eq!(leaves("wbt_lat_usec", "-1", "75", &[]), None, "the default is not known");
        assert_eq!(leaves("power_control", "auto", "on", &[]), some("auto"));
    }

    #[test]
    fn patterns_of_udev_fit_kernel_names() {
        for (pattern, text) in [
            ("nvme[0-9]*n[0-9]*", "nvme10n1"),
            ("sd?", "sda"),
            ("sd[a-z]", "sdq"),
            ("sd[!a-c]", "sdq"),
            ("*", "anything"),
            ("nvme*", "nvme"),
            ("a*b*c", "axxbyyc"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("sd?", "sdaa"), ("sd[a-c]", "sdq"), ("nvme[0-9]n[0-9]", "nvme10n1"), ("sd[a", "sda"), ("", "a")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn any_pattern_gets_an_answer(pattern in "[a-c*?\\[\\]!-]{0,12}", text in "[a-c]{0,12}") {
            let _ = matches(&pattern, &text);
            prop_assert!(matches(&text, &text));
        }
    }
}

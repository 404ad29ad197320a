//! Rules of the system that set queue attributes by themselves: what writes a setting back after somebody changed it.

use std::sync::Arc;

use super::Drive;
use crate::text::Label;

/// One assignment of a udev rule to a block device's attribute: `ATTR{queue/scheduler}="none"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRule {
    /// The rules file.
    pub path: Arc<str>,
    /// Its line, counted from 1.
    pub line: usize,
    /// The file below `queue/` that it sets: `scheduler`.
    pub setting: Label,
    /// What it sets it to.
    pub value: Label,
    /// Kernel names it is for, as udev matches them (`nvme[0-9]*n[0-9]*|sd?`); `None` for all.
    pub names: Option<Label>,
    /// Only for devices whose `queue/rotational` is that; `None` for both.
    pub rotational: Option<bool>,
}

impl SettingRule {
    /// Whether it is for that drive.
    pub fn applies_to(&self, drive: &Drive) -> bool {
        let named = self.names.as_ref().is_none_or(|names| {
            names.as_str().split('|').any(|pattern| matches(pattern, drive.name.as_str()))
        });
        named && self.rotational.is_none_or(|rotational| drive.queue.rotational.get() == Some(rotational))
    }
}

/// Whether a shell pattern of `*`, `?` and `[...]` fits the whole of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where to go on after the last star: the pattern behind it, and the text it has not swallowed yet.
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

/// Where the pattern goes on when the part at `at` fits `c`.
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

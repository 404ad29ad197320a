//! udev rules that set attributes of block queues (`udev(7)`).
//!
//! All of `/etc/udev/rules.d` and `/run/udev/rules.d` is read; of the distribution's folder only files whose names
//! mention schedulers or drives, else every capture would contain hundreds of unrelated files. A rule with an unknown
//! condition is skipped, not guessed.

use super::{Line, MORE_SETTINGS, MOST, in_folders, sysfs_paths::At};
use crate::{
    machine::rules::{RuleKind, SettingRule},
    model::Problem,
    source::{SysRoot, root},
    text::Label,
};

/// Folders in descending precedence: a file masks those of the same name in later folders.
const FOLDERS: [&str; 3] = ["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d"];

/// A file of the distribution's folder is read only if its name contains one of these.
const RELEVANT_NAMES: [&str; 5] = ["sched", "nvme", "ssd", "disk", "tuned"];

/// The rules in the order in which udev applies them: the last matching one wins.
pub(super) fn read(root: &dyn SysRoot, problems: &mut Vec<Problem>) -> Vec<SettingRule> {
    let mut rules = Vec::new();
    for path in in_folders(root, &FOLDERS, ".rules", problems) {
        let is_own = !path.starts_with(FOLDERS[2]);
        if !is_own && !RELEVANT_NAMES.iter().any(|word| root::file_name(&path).contains(word)) {
            continue;
        }
        let text = root::text(root, &path);
        problems.extend(super::cut_of(&text).and_then(|line| line.cut()).or_else(|| text.problem()));
        if let Some(text) = text.value() {
            rules.extend(parsed(&path, text).take(MOST + 1 - rules.len()));
        }
        if rules.len() > MOST {
            rules.truncate(MOST);
            problems.extend(Line::of_cut(&path, MORE_SETTINGS).cut());
            break;
        }
    }
    rules
}

/// The assignments of a rules file, except under unknown conditions.
pub fn parse(path: &str, text: &str) -> Vec<SettingRule> {
    parsed(path, text).collect()
}

fn parsed(path: &str, text: &str) -> impl Iterator<Item = SettingRule> {
    let lines = super::joined(text).into_iter().filter(|(_, line)| !line.starts_with('#'));
    lines.flat_map(move |(number, line)| rule(path, number, &line))
}

/// The assignments of one line, if all its conditions are known.
fn rule(path: &str, line: usize, text: &str) -> Vec<SettingRule> {
    let (mut names, mut rotational, mut set) = (None, None, Vec::new());
    for (key, operator, value) in terms(text) {
        match (key, operator) {
            ("ACTION" | "SUBSYSTEM" | "ENV{DEVTYPE}", "==" | "!=") => {}
            ("KERNEL", "==") => names = Some(value),
            ("ATTR{queue/rotational}", "==") => rotational = Some(value == "1"),
            (key, "=" | ":=") => {
                let setting = key.strip_prefix("ATTR{queue/").and_then(|rest| rest.strip_suffix('}'));
                set.extend(setting.map(|setting| (setting, value)));
            }
            (_, "==" | "!=") => return Vec::new(),
            _ => {}
        }
    }
    let at = At { kind: RuleKind::Udev, path, line };
    let rule = |(setting, value): (&str, &str)| {
        let text = format!("ATTR{{queue/{}}}=\"{}\"", Label::new(setting), Label::new(value));
        SettingRule { rotational, ..at.rule(setting, value, names, &text) }
    };
    set.into_iter().take(MOST + 1).map(rule).collect()
}

/// `KEY`, operator and value of each term of a line; stops at a malformed term.
fn terms(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['=', '!', '+', '-', ':']) {
        // A key in braces may contain such characters: ENV{ID-X}.
        let at = match rest[..at].find('{') {
            Some(open) => match rest[open..].find('}') {
                Some(close) => open + close + 1,
                None => break,
            },
            None => at,
        };
        let key = rest[..at].trim_matches([',', ' ', '\t']);
        let operator: &str = ["==", "!=", "+=", "-=", ":=", "="]
            .into_iter()
            .find(|operator| rest[at..].trim_start().starts_with(operator))
            .unwrap_or_default();
        let Some(start) = rest[at..].find('"').map(|quote| at + quote + 1) else { break };
        let Some(length) = rest[start..].find('"') else { break };
        if operator.is_empty() {
            break;
        }
        found.push((key, operator, &rest[start..start + length]));
        rest = &rest[start + length + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<SettingRule> {
        parse("/etc/udev/rules.d/60.rules", text)
    }

    #[test]
    fn a_rule_is_read_with_its_line_and_its_conditions() {
        let rules = parsed(
            "# comment ATTR{queue/scheduler}=\"bfq\"\n\
             ACTION==\"add|change\", SUBSYSTEM==\"block\", KERNEL==\"nvme[0-9]*\", \\\n\
             \tATTR{queue/rotational}==\"0\", ATTR{queue/scheduler}=\"kyber\", ATTR{queue/nr_requests}:=\"64\"\n",
        );
        assert_eq!(rules.len(), 2);
        assert_eq!(
            (rules[0].line, rules[0].setting.as_str(), rules[0].value.as_str()),
            (2, "scheduler", "kyber")
        );
        assert_eq!(rules[0].names.as_ref().unwrap().as_str(), "nvme[0-9]*");
        assert_eq!(rules[0].rotational, Some(false));
        assert_eq!(rules[1].setting.as_str(), "nr_requests");
    }

    #[test]
    fn a_rule_with_a_condition_nobody_understands_is_left_out() {
        assert!(parsed("ENV{ID_MODEL}==\"X\", ATTR{queue/scheduler}=\"none\"").is_empty());
        assert!(parsed("ATTRS{model}==\"X\", ATTR{queue/scheduler}=\"none\"").is_empty());
        assert!(parsed("KERNEL!=\"sd*\", ATTR{queue/scheduler}=\"none\"").is_empty());
        assert!(parsed("GOTO=\"end\"\nLABEL=\"end\"\nRUN+=\"/bin/x\"").is_empty());
    }

    /// Whether every rule of a file sets something, in a line that the file has.
    fn stand_in(text: &str) -> bool {
        let rules = parsed(text);
        rules.len() <= text.matches('=').count()
            && rules.iter().all(|rule| (1..=text.lines().count()).contains(&rule.line))
    }

    proptest! {
        #[test]
        fn no_file_makes_the_reader_fail(text in any::<String>()) {
            prop_assert!(stand_in(&text));
        }

        #[test]
        fn no_pile_of_rule_words_makes_it_fail(parts in proptest::collection::vec("KERNEL|ATTR\\{queue/|\\}|==|=|\"|,|é|\\\\|\n", 0..30)) {
            prop_assert!(stand_in(&parts.concat()));
        }
    }
}

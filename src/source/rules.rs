//! udev rules that set attributes of block queues (`udev(7)`).
//!
//! Read: all of `/etc/udev/rules.d` and `/run/udev/rules.d`, and of the distribution's folder the files whose names speak
//! of schedulers or drives; reading all of it would put hundreds of files that say nothing of drives into every capture.
//! A rule with a condition that is not understood here is left out rather than guessed at.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    SysRoot,
    root::{self, RootError},
};
use crate::{machine::rules::SettingRule, model::Problem, text::Label};

/// Folders in falling precedence: a file hides those of the same name further down.
const FOLDERS: [&str; 3] = ["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d"];

/// What a file of the distribution's folder must speak of in its name.
const TELLING: [&str; 5] = ["sched", "nvme", "ssd", "disk", "tuned"];

/// The rules in the order udev applies them: the last one that fits wins.
pub fn read(root: &dyn SysRoot) -> (Vec<SettingRule>, Vec<Problem>) {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for (place, folder) in FOLDERS.iter().enumerate() {
        let names = match root.list(folder) {
            Ok(names) => names,
            Err(error) => {
                problems.extend(told(error, folder));
                continue;
            }
        };
        for name in names.into_iter().filter(|name| name.strip_suffix(".rules").is_some()) {
            if place < 2 || TELLING.iter().any(|word| name.contains(word)) {
                let path = format!("{folder}/{name}");
                files.entry(name).or_insert(path);
            }
        }
    }
    let mut rules = Vec::new();
    for path in files.values() {
        let text = root::text(root, path);
        problems.extend(text.problem());
        if let Some(text) = text.value() {
            parse(path, text, &mut rules);
        }
    }
    (rules, problems)
}

/// A folder that is not there is no problem: most systems lack one of them.
fn told(error: RootError, path: &str) -> Option<Problem> {
    if error.is_absent() { None } else { error.into_reading::<()>(path).problem() }
}

fn parse(path: &str, text: &str, rules: &mut Vec<SettingRule>) {
    let path: Arc<str> = path.into();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut line = line.trim().to_owned();
        // A backslash at the end goes on in the next line.
        while line.ends_with('\\') {
            line.pop();
            let Some((_, more)) = lines.next() else { break };
            line.push_str(more.trim());
        }
        if !line.starts_with('#') {
            rules.extend(rule(&path, number + 1, &line));
        }
    }
}

/// What one line sets, if all its conditions are understood.
fn rule(path: &Arc<str>, line: usize, text: &str) -> Vec<SettingRule> {
    let (mut names, mut rotational, mut set) = (None, None, Vec::new());
    for (key, operator, value) in terms(text) {
        match (key, operator) {
            ("ACTION" | "SUBSYSTEM" | "ENV{DEVTYPE}", "==" | "!=") => {}
            ("KERNEL", "==") => names = Some(Label::new(value)),
            ("ATTR{queue/rotational}", "==") => rotational = Some(value == "1"),
            (key, "=" | ":=") => {
                if let Some(setting) = key.strip_prefix("ATTR{queue/").and_then(|rest| rest.strip_suffix('}'))
                {
                    set.push((Label::new(setting), Label::new(value)));
                }
            }
            (_, "==" | "!=") => return Vec::new(),
            _ => {}
        }
    }
    set.into_iter()
        .map(|(setting, value)| SettingRule {
            path: path.clone(),
            line,
            setting,
            value,
            names: names.clone(),
            rotational,
        })
        .collect()
}

/// `KEY`, operator and value of each term of a line; stops at what is no term.
fn terms(text: &str) -> Vec<(&str, &str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['=', '!', '+', '-', ':']) {
        // A key in braces may hold such characters itself: ENV{ID-X}.
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
        let mut rules = Vec::new();
        parse("/etc/udev/rules.d/60.rules", text, &mut rules);
        rules
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

    proptest! {
        #[test]
        fn no_file_makes_the_reader_fail(text in any::<String>()) {
            let _ = parsed(&text);
        }

        #[test]
        fn no_pile_of_rule_words_makes_it_fail(parts in proptest::collection::vec("KERNEL|ATTR\\{queue/|\\}|==|=|\"|,|é|\\\\|\n", 0..30)) {
            let _ = parsed(&parts.concat());
        }
    }
}

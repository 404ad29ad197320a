//! The active profile of `tuned` (tuned.conf(5), tuned-profiles(7)).
//!
//! `/etc/tuned/active_profile` names it. A profile is `tuned.conf` in a folder of its name and may include others,
//! whose options it overrides section by section. The sections `disk`, `cpu` and `sysfs` write settings. `${NAME}` is a
//! variable of the section `variables` or of the file it includes. Functions (`${f:...}`) are not evaluated; options
//! with them are skipped.

use std::collections::BTreeMap;

use super::{Line, MORE_PROFILES, cut_of, sysfs_paths::At};
use crate::{
    machine::rules::{RuleKind, SettingRule},
    source::{SysRoot, root},
};

/// Folders of profiles, the administrator's first; newer versions have a subfolder.
const FOLDERS: [&str; 4] = ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];

const ACTIVE: &str = "/etc/tuned/active_profile";

/// Maximum profiles that are read, with includes.
const MOST_PROFILES: usize = 16;

/// tuned's default drives of a section (`plugin_disk`: scsi, virtio, xen, nvme).
const DRIVES: &str = "nvme*|sd*|vd*|xvd*";

/// The relevant lines of the active profile and its includes, included ones first, with variables expanded.
pub(super) fn lines(root: &dyn SysRoot) -> Vec<Line> {
    let active = root::text(root, ACTIVE);
    let names = active.value().map(String::as_str).unwrap_or_default().split_whitespace();
    let (mut seen, mut lines) = (Vec::new(), Vec::new());
    for name in names {
        profile(root, name, &mut seen, &mut lines);
    }
    let (mut variables, mut cuts) = (BTreeMap::new(), Vec::new());
    fill_variables(root, &lines, &mut variables, &mut cuts);
    lines.retain(|line| line.cut().is_some() || is_relevant(&line.text));
    lines.extend(cuts);
    for line in lines.iter_mut().filter(|line| line.cut().is_none()) {
        line.text = filled(&line.text, &variables);
    }
    lines
}

/// Variables of the sections `variables`; later ones win.
fn fill_variables(
    root: &dyn SysRoot,
    lines: &[Line],
    found: &mut BTreeMap<String, String>,
    cuts: &mut Vec<Line>,
) {
    for (_, key, value, _) in options(lines).into_iter().filter(|(section, ..)| *section == "variables") {
        if key == "include" && value.starts_with('/') {
            let text = root::text(root, value);
            cuts.extend(cut_of(&text));
            let text = text.value().map(String::as_str).unwrap_or_default();
            let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            found.extend(text.lines().filter_map(option).map(own));
        } else {
            found.insert(key.to_owned(), value.to_owned());
        }
    }
}

/// Section, key, value and line of each option.
fn options<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<(&'a str, &'a str, &'a str, &'a Line)> {
    let mut found = Vec::new();
    let (mut file, mut section) = ("", "");
    for line in lines {
        if line.path != file {
            (file, section) = (&line.path, "");
        }
        if let Some(heading) = line.text.strip_prefix('[') {
            section = heading.split(']').next().unwrap_or_default();
        } else if let Some((key, value)) = option(&line.text) {
            found.push((section, key, value, line));
        }
    }
    found
}

/// Maximum nesting of variables.
const DEPTH: usize = 8;
/// Maximum length of an expansion.
const MOST_TEXT: usize = 4096;

/// The text with known variables expanded.
fn filled(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..DEPTH {
        let used = variables.iter().find(|(name, _)| text.contains(&format!("${{{name}}}")));
        match used {
            Some((name, value)) if text.len() + value.len() <= MOST_TEXT => {
                text = text.replacen(&format!("${{{name}}}"), value, 1);
            }
            _ => break,
        }
    }
    text
}

fn profile(root: &dyn SysRoot, name: &str, seen: &mut Vec<String>, lines: &mut Vec<Line>) {
    let is_plain = !name.contains('/') && !name.contains("${") && !name.is_empty() && name != "..";
    if !is_plain || seen.iter().any(|known| known == name) {
        return;
    }
    if seen.len() >= MOST_PROFILES {
        let cut = Line::of_cut(ACTIVE, MORE_PROFILES);
        if !lines.contains(&cut) {
            lines.push(cut);
        }
        return;
    }
    seen.push(name.to_owned());
    let found = FOLDERS.iter().find_map(|folder| {
        let path = format!("{folder}/{name}/tuned.conf");
        let text = root::text(root, &path);
        if let Some(cut) = cut_of(&text) {
            // It masks those of other folders.
            lines.push(cut);
            return Some((path, String::new()));
        }
        text.value().map(|text| (path, text.clone()))
    });
    let Some((path, text)) = found else { return };
    for include in text.lines().filter_map(|line| option(line).filter(|(key, _)| *key == "include")) {
        for name in include.1.split([',', ';', ' ']).map(str::trim).filter(|name| !name.is_empty()) {
            profile(root, name, seen, lines);
        }
    }
    lines.extend(text.lines().enumerate().map(|(index, line)| Line {
        path: path.clone(),
        number: index + 1,
        text: line.trim().to_owned(),
    }));
}

/// Whether a line is a section, or an option that is read.
fn is_relevant(line: &str) -> bool {
    const KEYS: [&str; 9] = [
        "type",
        "devices",
        "replace",
        "enabled",
        "elevator",
        "readahead",
        "governor",
        "energy_performance_preference",
        "include",
    ];
    line.trim_start().starts_with('[')
        || option(line).is_some_and(|(key, _)| KEYS.contains(&key) || key.starts_with("/sys/"))
}

/// `key=value`; no comment.
fn option(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.starts_with(['#', ';', '[']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    Some((key.trim(), value.trim()))
}

/// Options of one section: value and line of each.
type Section<'a> = BTreeMap<&'a str, (&'a str, &'a Line)>;

/// The rules of profile lines; later ones override earlier ones.
pub(super) fn rules(lines: &[&Line]) -> Vec<SettingRule> {
    let mut sections: BTreeMap<&str, Section<'_>> = BTreeMap::new();
    for (name, key, value, line) in options(lines.iter().copied()) {
        let section = sections.entry(name).or_default();
        if key == "replace" && is_true(value) {
            section.retain(|_, (_, other)| other.path == line.path);
        }
        section.insert(key, (value, line));
    }
    sections.iter().flat_map(|(name, section)| of_section(name, section)).collect()
}

fn of_section(name: &str, section: &Section<'_>) -> Vec<SettingRule> {
    let value = |key: &str| section.get(key).map(|(value, _)| *value);
    if value("enabled").is_some_and(|value| !is_true(value)) {
        return Vec::new();
    }
    let kind = value("type").unwrap_or(name);
    let names = match value("devices") {
        None | Some("*") => DRIVES.to_owned(),
        // A udev pattern cannot express excluded names.
        Some(devices) if devices.contains('!') => return Vec::new(),
        Some(devices) => devices.split(',').map(str::trim).collect::<Vec<_>>().join("|"),
    };
    let mut rules = Vec::new();
    for (key, (value, line)) in section {
        if value.contains("${") || key.contains("${") {
            continue;
        }
        let at = At { kind: RuleKind::Tuned, path: &line.path, line: line.number };
        rules.extend(match (kind, *key) {
            ("disk", "elevator") => Some(at.rule("scheduler", value, Some(&names), &line.text)),
            ("disk", "readahead") => {
                readahead(value).map(|value| at.rule("read_ahead_kb", &value, Some(&names), &line.text))
            }
            ("cpu", "governor") => Some(at.rule("governor", value, None, &line.text)),
            ("cpu", "energy_performance_preference") => {
                Some(at.rule("energy_preference", value, None, &line.text))
            }
            ("sysfs", path) => at.write(path, value, &line.text),
            _ => None,
        });
    }
    rules
}

fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// `4096`, `>4096` (KiB), `8192 s` (sectors of 512 B).
fn readahead(value: &str) -> Option<String> {
    let (bound, number) = match value.strip_prefix(['>', '<']) {
        Some(number) => (&value[..1], number.trim()),
        None => ("", value),
    };
    let kib = match number.strip_suffix('s') {
        Some(sectors) => sectors.trim().parse::<u64>().ok()? / 2,
        None => number.parse::<u64>().ok()?,
    };
    Some(format!("{bound}{kib}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::root::FolderRoot;

    const THROUGHPUT: &str = "# tuned configuration\n[main]\nsummary=x\n\n[cpu]\ngovernor=performance\n\
                              energy_performance_preference=performance\n[disk]\nreadahead=>4096\n[sysctl]\nvm.swappiness=10\n";
    const MINE: &str = "[main]\ninclude = throughput-performance\n[disk]\nelevator=none\nreadahead=128\n[disk-slow]\ntype=disk\n\
                        devices=sda, sdb\nelevator=bfq\n[sysfs]\n/sys/block/nvme*/queue/nomerges=2\n/sys/${x}/y=1\n";

    fn write(folder: &std::path::Path, path: &str, content: &str) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_bytes()).unwrap();
    }

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            write(folder.path(), path, content);
        }
        let lines = lines(&FolderRoot::new(folder.path()));
        let rules = rules(&lines.iter().collect::<Vec<_>>());
        let said = |rule: &SettingRule| {
            let names = rule.names.as_ref().map_or("-", |names| names.as_str());
            format!("{}:{} {}={} {names}", rule.path, rule.line, rule.setting, rule.value)
        };
        rules.iter().map(said).collect()
    }

    #[test]
    fn a_profile_overrides_what_it_includes_option_by_option() {
        let found = of(&[
            ("etc/tuned/active_profile", "mine\n"),
            ("etc/tuned/mine/tuned.conf", MINE),
            ("usr/lib/tuned/throughput-performance/tuned.conf", THROUGHPUT),
        ]);
        let library = "/usr/lib/tuned/throughput-performance/tuned.conf";
        assert_eq!(
            found,
            [
                format!("{library}:7 energy_preference=performance -"),
                format!("{library}:6 governor=performance -"),
                "/etc/tuned/mine/tuned.conf:4 scheduler=none nvme*|sd*|vd*|xvd*".to_owned(),
                "/etc/tuned/mine/tuned.conf:5 read_ahead_kb=128 nvme*|sd*|vd*|xvd*".to_owned(),
                "/etc/tuned/mine/tuned.conf:9 scheduler=bfq sda|sdb".to_owned(),
                "/etc/tuned/mine/tuned.conf:11 nomerges=2 nvme*".to_owned(),
            ]
        );
    }

    #[test]
    fn replaced_sections_disabled_ones_and_circles_are_understood() {
        let replaced = of(&[
            ("etc/tuned/active_profile", "mine"),
            (
                "etc/tuned/mine/tuned.conf",
                "[main]\ninclude=base\n[cpu]\nreplace=1\ngovernor=powersave\n[disk]\nenabled=0\n",
            ),
            (
                "usr/lib/tuned/profiles/base/tuned.conf",
                "[main]\ninclude=mine\n[cpu]\nenergy_performance_preference=power\n[disk]\nelevator=none\n",
            ),
        ]);
        assert_eq!(replaced, ["/etc/tuned/mine/tuned.conf:5 governor=powersave -"]);
        assert_eq!(of(&[("etc/tuned/active_profile", "../../x")]), Vec::<String>::new());
    }

    #[test]
    fn more_profiles_than_are_read_and_too_long_ones_are_named() {
        let cuts = |files: &[(String, String)]| {
            let folder = tempfile::tempdir().unwrap();
            for (path, content) in files {
                write(folder.path(), path, content);
            }
            let lines = lines(&FolderRoot::new(folder.path()));
            let cuts = lines.iter().filter_map(Line::cut);
            cuts.map(|cut| format!("{}: {}", cut.path, cut.reason)).collect::<Vec<_>>()
        };
        let chain = |count: usize| {
            let path = |number| format!("usr/lib/tuned/p{number}/tuned.conf");
            let text = |number| format!("[main]\ninclude=p{}\n", (number + 1) % count);
            let mut files: Vec<_> = (0..count).map(|number| (path(number), text(number))).collect();
            files.push(("etc/tuned/active_profile".to_owned(), "p0\n".to_owned()));
            files
        };
        assert_eq!(cuts(&chain(16)), Vec::<String>::new());
        assert_eq!(cuts(&chain(20)), [format!("/etc/tuned/active_profile: {MORE_PROFILES}")]);
        let mut files = chain(2);
        files[1].1.push_str(&"#".repeat(2 << 20));
        assert_eq!(cuts(&files), ["/usr/lib/tuned/p1/tuned.conf: longer than 1 MiB; not read"]);
        let mut files = chain(1);
        files[0].1.push_str("[variables]\ninclude=/etc/tuned/v.conf\n[disk]\nelevator=none\n");
        files.push(("etc/tuned/v.conf".to_owned(), "#".repeat(2 << 20)));
        assert_eq!(cuts(&files), ["/etc/tuned/v.conf: longer than 1 MiB; not read"]);
    }

    #[test]
    fn variables_are_filled_in_and_functions_are_not_guessed_at() {
        let base = "[variables]\nscheduler=mq-deadline\nreadahead=1024\ninclude=/etc/tuned/mine-variables.conf\n\
                    [disk]\nelevator=${scheduler}\nreadahead=>${readahead}\n";
        let mine = "[main]\ninclude=base\n[variables]\nscheduler=${wanted}\nloop=${loop}\n[cpu]\ngovernor=${f:exec:x}\n\
                    [disk-one]\ntype=disk\ndevices=${disks}\nelevator=${unknown}\nreadahead=${loop}\n\
                    [sysfs]\n/sys/block/${disks}/queue/nomerges=2\n";
        let found = of(&[
            ("etc/tuned/active_profile", "mine"),
            ("etc/tuned/mine/tuned.conf", mine),
            ("usr/lib/tuned/base/tuned.conf", base),
            ("etc/tuned/mine-variables.conf", "# which\nwanted=none\ndisks=sdb\npassword=secret\n"),
        ]);
        assert_eq!(
            found,
            [
                "/usr/lib/tuned/base/tuned.conf:6 scheduler=none nvme*|sd*|vd*|xvd*",
                "/usr/lib/tuned/base/tuned.conf:7 read_ahead_kb=>1024 nvme*|sd*|vd*|xvd*",
                "/etc/tuned/mine/tuned.conf:14 nomerges=2 sdb",
            ]
        );
    }

    #[test]
    fn readahead_has_units_and_bounds() {
        assert_eq!(readahead(">4096").as_deref(), Some(">4096"));
        assert_eq!(readahead("8192s").as_deref(), Some("4096"));
        assert_eq!(readahead("x"), None);
    }

    proptest! {
        #[test]
        fn any_variables_are_filled_in_within_bounds(
            text in "(\\$\\{[abc]\\}|x){0,8}",
            values in proptest::collection::btree_map("[abc]", "(\\$\\{[abc]\\}|y){0,6}", 0..4)
        ) {
            let text = filled(&text, &values);
            prop_assert!(text.len() <= MOST_TEXT);
            let is_flat = values.values().all(|value| !value.contains('$'));
            let left = values.keys().any(|name| text.contains(&format!("${{{name}}}")));
            prop_assert!(!(is_flat && left), "{}", text);
        }

        #[test]
        fn any_profile_gets_an_answer(text in "(\\[(disk|cpu|sysfs|main)\\]|type=disk|elevator=x|devices=!a|readahead=>|replace=1|/sys/block/a/queue/b=c|=|\n){0,20}") {
            let lines: Vec<Line> = text.lines().enumerate().map(|(number, text)| Line { path: "/p".to_owned(), number, text: text.to_owned() }).collect();
            let found = rules(&lines.iter().collect::<Vec<_>>());
            prop_assert!(found.len() <= lines.len() && found.iter().all(|rule| rule.line < lines.len()));
        }
    }
}

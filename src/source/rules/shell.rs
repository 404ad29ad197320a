//! Writes to files of settings in a service's command line: `sh -c 'echo none > /sys/block/sda/queue/scheduler'`,
//! `cpupower frequency-set -g performance`; and which lines of a script write them.
//!
//! A write with an unknown variable is skipped, not guessed. Known are those of a `for` on the same line and of the
//! script's assignments.

use std::{collections::BTreeMap, ops::Range};

/// A write by a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Write {
    /// A write to a file, which may be a pattern.
    File { value: String, path: String },
    /// `cpupower` or `cpufreq-set` sets the governor.
    Governor(String),
    /// `cpupower set --epp`.
    EnergyPreference(String),
}

/// Commands that set the governor and the energy preference, without the value.
pub(super) const GOVERNOR: &str = "cpupower frequency-set -g";
pub(super) const ENERGY_PREFERENCE: &str = "cpupower set --epp";

/// The writes of a command, in order.
pub(super) fn writes(command: &str) -> Vec<Write> {
    let words = words(command);
    let mut found = Vec::new();
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut value: Option<String> = None;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1);
        match word.as_str() {
            "for" if words.get(at + 2).is_some_and(|word| word == "in") => {
                let list: Vec<String> =
                    words[at + 3..].iter().take_while(|word| !ends(word)).cloned().collect();
                at += 2 + list.len();
                lists.extend(next.map(|name| (name.clone(), list)));
            }
            "echo" | "printf" => value = words[at + 1..].iter().find(|word| !word.starts_with('-')).cloned(),
            ">" => found.extend(written(value.as_ref(), next.map(String::as_str), &lists)),
            "tee" => {
                for target in words[at + 1..].iter().take_while(|word| !ends(word) && *word != "|") {
                    found.extend(written(value.as_ref(), Some(target), &lists));
                }
            }
            word if is_program(word, "cpupower") || is_program(word, "cpufreq-set") => {
                found.extend(frequency(&words[at + 1..]));
            }
            word if ends(word) => value = None,
            _ => {}
        }
        at += 1;
    }
    found
}

/// The script that a service's command runs, and whether as an argument of a shell: then it needs no `#!`. Absolute
/// paths only.
pub(super) fn script(command: &str) -> Option<(&str, bool)> {
    // Prefixes of systemd before a program (systemd.service(5)).
    let mut words = command.trim_start_matches(['-', '@', ':', '+', '!', '|', ' ']).split_ascii_whitespace();
    let program = words.next()?.trim_matches(QUOTES);
    let (path, by_shell) = if is_shell(program) {
        // Not an option: -c takes commands instead of a file.
        (words.next().filter(|word| !word.starts_with('-'))?.trim_matches(QUOTES), true)
    } else {
        (program, false)
    };
    path.starts_with('/').then_some((path, by_shell))
}

const QUOTES: [char; 2] = ['\'', '"'];

/// Whether a program reads files of shell commands.
pub(super) fn is_shell(program: &str) -> bool {
    ["sh", "bash", "dash", "ksh", "zsh"].iter().any(|shell| is_program(program, shell))
}

/// The numbered lines of a script that write settings, each prefixed with the loops and assignments of its variables.
pub(super) fn relevant(lines: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut heads: Vec<(String, String)> = Vec::new();
    let mut found = Vec::new();
    for (number, line) in lines {
        if line.starts_with('#') {
            continue;
        }
        let used = heads.iter().filter(|(name, _)| variable(&line, name).is_some());
        let used: String = used.map(|(name, list)| ["for ", name, " in ", list, "; do "].concat()).collect();
        let text = format!("{used}{line}");
        if !writes(&text).is_empty() {
            found.push((number, text));
        }
        if let Some((name, list)) = head(&line) {
            heads.retain(|(known, _)| known != name);
            heads.push((name.to_owned(), list));
        }
    }
    found
}

/// The variable that a line sets, and its value: `for NAME in LIST; do`, `NAME=VALUE`.
fn head(line: &str) -> Option<(&str, String)> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if let Some((name, list)) = line.strip_prefix("for ").and_then(|rest| rest.split_once(" in ")) {
        let list = list.split(';').next().unwrap_or_default().trim();
        return is_name(name.trim()).then(|| (name.trim(), list.to_owned()));
    }
    let (name, value) = line.split_once('=')?;
    let value = value.split([' ', ';']).next().unwrap_or_default().trim_matches(QUOTES);
    is_name(name).then(|| (name, value.to_owned()))
}

/// Words without quotes; command separators are separate words.
fn words(command: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(command.len() + 16);
    for c in command.chars() {
        match c {
            '\'' | '"' => spaced.push(' '),
            '>' | '|' | ';' | '&' => spaced.extend([' ', c, ' ']),
            c => spaced.push(c),
        }
    }
    // systemd escapes $ and % by doubling.
    spaced.replace("$$", "$").replace("%%", "%").split_whitespace().map(str::to_owned).collect()
}

/// Whether a word ends a command.
fn ends(word: &str) -> bool {
    matches!(word, ";" | "&" | "do" | "done" | "then" | "fi")
}

fn is_program(word: &str, name: &str) -> bool {
    word.rsplit('/').next() == Some(name)
}

fn written(value: Option<&String>, path: Option<&str>, lists: &BTreeMap<String, Vec<String>>) -> Vec<Write> {
    let (Some(value), Some(path)) = (value, path) else { return Vec::new() };
    let values = filled(value, lists);
    let paths = filled(path, lists).into_iter().filter(|path| path.starts_with("/sys/"));
    // Values computed at run time are unknown.
    let is_known = |text: &String| !text.contains(['$', '`']);
    paths
        .filter(is_known)
        .flat_map(|path| {
            let file = move |value: &String| Write::File { value: value.clone(), path: path.clone() };
            values.iter().filter(|value| is_known(value)).map(file).collect::<Vec<_>>()
        })
        .collect()
}

/// Maximum nesting of variables.
const DEPTH: usize = 3;
/// Maximum words of an expansion.
const MOST_WORDS: usize = 256;

/// All expansions of the text's variables.
fn filled(text: &str, lists: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let one = |text: String| {
        let used = lists.iter().find_map(|(name, list)| Some((variable(&text, name)?, list)));
        let Some((range, list)) = used else { return vec![text] };
        list.iter().map(|word| format!("{}{word}{}", &text[..range.start], &text[range.end..])).collect()
    };
    (0..DEPTH)
        .fold(vec![text.to_owned()], |found, _| found.into_iter().flat_map(one).take(MOST_WORDS).collect())
}

/// The range of a variable in a text, `${name}` or `$name`.
fn variable(text: &str, name: &str) -> Option<Range<usize>> {
    let braced = format!("${{{name}}}");
    if let Some(at) = text.find(&braced) {
        return Some(at..at + braced.len());
    }
    let plain = format!("${name}");
    let goes_on = |end: usize| text[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let at = text.match_indices(&plain).map(|(at, _)| at).find(|at| !goes_on(at + plain.len()))?;
    Some(at..at + plain.len())
}

/// Arguments of `cpupower`: `frequency-set -g performance`, `set --epp performance`.
fn frequency(words: &[String]) -> Vec<Write> {
    let mut found = Vec::new();
    let mut words = words.iter().take_while(|word| !ends(word)).peekable();
    while let Some(word) = words.next() {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || joined.clone().or_else(|| words.peek().map(ToString::to_string));
        match option {
            "-g" | "--governor" => found.extend(value().map(Write::Governor)),
            "-e" | "--epp" => found.extend(value().map(Write::EnergyPreference)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn files(command: &str) -> Vec<(String, String)> {
        let file = |write| match write {
            Write::File { value, path } => Some((value, path)),
            _ => None,
        };
        writes(command).into_iter().filter_map(file).collect()
    }

    fn pair(value: &str, path: &str) -> (String, String) {
        (value.to_owned(), path.to_owned())
    }

    #[test]
    fn the_ways_people_write_settings_are_understood() {
        let one = "/sys/block/nvme0n1/queue/scheduler";
        assert_eq!(files(&format!("/bin/sh -c 'echo none > {one}'")), [pair("none", one)]);
        assert_eq!(files(&format!("/bin/sh -c \"echo -n none >{one}\"")), [pair("none", one)]);
        assert_eq!(
            files(&format!("/bin/bash -c 'echo none | tee {one} /sys/x'")),
            [pair("none", one), pair("none", "/sys/x")]
        );
        assert_eq!(
            files(
                "/bin/sh -c 'for d in /sys/block/nvme* /sys/block/sda; do echo 2 > $$d/queue/nomerges; done'"
            ),
            [pair("2", "/sys/block/nvme*/queue/nomerges"), pair("2", "/sys/block/sda/queue/nomerges")]
        );
        assert_eq!(
            files("sh -c 'echo 0 > /sys/a && echo 1 > /sys/b; cat /sys/c > /sys/d'"),
            [pair("0", "/sys/a"), pair("1", "/sys/b")]
        );
        assert_eq!(files("sh -c 'echo none > /sys/block/${drive}/queue/scheduler; echo x > /tmp/y'"), []);
    }

    #[test]
    fn variables_are_filled_by_their_whole_names_and_unknown_ones_by_nothing() {
        assert_eq!(
            files("for d in sda; do for dev in sdb; do echo 1 > /sys/block/$dev/queue/x; done; done"),
            [pair("1", "/sys/block/sdb/queue/x")]
        );
        assert_eq!(
            files("for d in a b; do for v in 1; do echo ${v} > /sys/$d; done"),
            [pair("1", "/sys/a"), pair("1", "/sys/b")]
        );
        assert_eq!(files("for l in /sys/a; do for d in $l; do echo 1 > $d/b"), [pair("1", "/sys/a/b")]);
        for unknown in
            ["echo $1 > /sys/a", "echo `id` > /sys/a", "echo 1 > /sys/$(id)", "echo $(id) > /sys/a"]
        {
            assert_eq!(files(unknown), [], "{unknown}");
        }
    }

    #[test]
    fn scripts_are_known_by_the_commands_that_start_them() {
        assert_eq!(script("-/usr/local/bin/tune --all"), Some(("/usr/local/bin/tune", false)));
        assert_eq!(script("!!/usr/local/bin/tune"), Some(("/usr/local/bin/tune", false)));
        assert_eq!(script("/bin/bash /opt/a.sh x"), Some(("/opt/a.sh", true)));
        assert_eq!(script("/usr/bin/sh \"/opt/a.sh\""), Some(("/opt/a.sh", true)));
        for none in ["", "tune.sh", "/bin/sh -c 'echo'", "/bin/sh", "sh a.sh", "/bin/sh ${SCRIPT}"] {
            assert_eq!(script(none), None, "{none}");
        }
    }

    #[test]
    fn governors_are_set_by_programs() {
        let performance = || Write::Governor("performance".to_owned());
        assert_eq!(writes("/usr/bin/cpupower frequency-set -g performance"), [performance()]);
        assert_eq!(writes("cpupower -c all frequency-set --governor=performance"), [performance()]);
        assert_eq!(writes("/usr/bin/cpufreq-set -r -g performance"), [performance()]);
        assert_eq!(writes("cpupower set --epp power"), [Write::EnergyPreference("power".to_owned())]);
        assert_eq!(writes("/usr/bin/cpupower-gui -g performance"), []);
    }

    proptest! {
        #[test]
        fn any_command_gets_an_answer(text in any::<String>()) {
            for write in writes(&text) {
                if let Write::File { path, value } = write {
                    prop_assert!(path.starts_with("/sys/") && !path.contains('$') && !value.contains('$'));
                }
            }
        }

        #[test]
        fn lines_of_any_script_that_are_said_to_write_do(
            lines in proptest::collection::vec("(for d in |do |; |D=|x |echo |> |/sys/a|\\$d|\\$D|#|/b|\"){0,8}", 0..12)
        ) {
            let numbered = lines.iter().cloned().enumerate().map(|(at, line)| (at + 1, line)).collect();
            for (number, text) in relevant(numbered) {
                prop_assert!(text.ends_with(&lines[number - 1]) && !writes(&text).is_empty());
            }
        }

        #[test]
        fn any_pile_of_shell_words_gets_an_answer(
            words in proptest::collection::vec("for|in|do|done|echo|x|\\$x|\\$\\{x\\}|tee|>|;|\\||/sys/a|'|cpupower|-g|=", 0..24)
        ) {
            let tells = words.iter().any(|word| [">", "tee", "cpupower"].contains(&word.as_str()));
            prop_assert!(tells || writes(&words.join(" ")).is_empty());
        }
    }
}

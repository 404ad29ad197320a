//! What a command line of a service writes into files of settings: `sh -c 'echo none > /sys/block/sda/queue/scheduler'`,
//! `cpupower frequency-set -g performance`.
//!
//! Here: finding the writes in the words of one command. A target with a variable that no `for` of the same line fills is
//! left out rather than guessed at. Not here: which files those are (`places`).

use std::collections::BTreeMap;

/// A value and what it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Write {
    /// Written to a file, which may be a pattern.
    File {
        /// The text.
        value: String,
        /// The path.
        path: String,
    },
    /// `cpupower` or `cpufreq-set` sets the governor.
    Governor(String),
    /// `cpupower set --epp`.
    EnergyPreference(String),
}

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

/// Words without their quotes; what separates commands stands alone.
fn words(command: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(command.len() + 16);
    for c in command.chars() {
        match c {
            '\'' | '"' => spaced.push(' '),
            '>' | '|' | ';' | '&' => spaced.extend([' ', c, ' ']),
            c => spaced.push(c),
        }
    }
    // systemd writes $ and % twice.
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
    filled(path, lists)
        .into_iter()
        .filter(|path| path.starts_with("/sys/") && !path.contains('$'))
        .map(|path| Write::File { value: value.clone(), path })
        .collect()
}

/// The path with its variable replaced by each word of its list.
fn filled(path: &str, lists: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    for (name, list) in lists {
        for form in [format!("${{{name}}}"), format!("${name}")] {
            if path.contains(&form) {
                return list.iter().map(|word| path.replace(&form, word)).collect();
            }
        }
    }
    vec![path.to_owned()]
}

/// What follows `cpupower`: `frequency-set -g performance`, `set --epp performance`.
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
                if let Write::File { path, .. } = write {
                    prop_assert!(path.starts_with("/sys/") && !path.contains('$'));
                }
            }
        }

        #[test]
        fn any_pile_of_shell_words_gets_an_answer(
            words in proptest::collection::vec("for|in|do|done|echo|x|\\$x|\\$\\{x\\}|tee|>|;|\\||/sys/a|'|cpupower|-g|=", 0..24)
        ) {
            let _ = writes(&words.join(" "));
        }
    }
}

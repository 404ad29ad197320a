//! Command lines that repeat a run or an experiment, for iodyno and for fio.

use std::fmt::Write as _;

use super::fio_options;
use crate::{
    model::{ExperimentRecord, Target, Workload},
    text::is_harmless,
};

/// `iodyno bench ...`; `origin` are the options of the machine, none for this one.
pub(crate) fn iodyno(workload: &Workload, origin: &[String]) -> Vec<String> {
    let mut words = vec!["iodyno".to_owned(), "bench".to_owned()];
    words.extend(origin.iter().cloned());
    words.extend(filename(&workload.targets));
    let usual = Workload::default();
    let asked = ["rw", "bs", "iodepth", "numjobs", "runtime"];
    for (option, value) in workload.options() {
        if asked.contains(&option.name) || option.text(&usual) != value {
            let seconds = value.strip_suffix("000ms").filter(|seconds| !seconds.is_empty());
            words.extend([format!("--{}", option.name), seconds.unwrap_or(&value).to_owned()]);
        }
    }
    // The default is ten seconds.
    if workload.runtime.is_none() {
        words.extend(["--runtime".to_owned(), "0".to_owned()]);
    }
    words
}

/// `iodyno experiment run NAME ...`; `origin` as for a run.
pub(crate) fn experiment(record: &ExperimentRecord, origin: &[String]) -> Vec<String> {
    let mut words = ["iodyno", "experiment", "run", record.name.as_str()].map(str::to_owned).to_vec();
    words.extend(origin.iter().cloned());
    words.extend(filename(&record.targets));
    for (option, value) in &record.options {
        words.extend([format!("--{option}"), value.clone()]);
    }
    words
}

fn filename(targets: &[Target]) -> [String; 2] {
    let names: Vec<String> = targets.iter().map(fio_options::filename).collect();
    ["--filename".to_owned(), names.join(":")]
}

/// `fio ...` with the same reads: the lines of its job file as options.
pub(crate) fn fio(workload: &Workload) -> Vec<String> {
    let file = fio_options::job_file(workload);
    let options =
        file.lines().filter(|line| !line.is_empty() && !line.starts_with(';')).map(|line| {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(section) => format!("--name={section}"),
                None => format!("--{line}"),
            }
        });
    ["fio".to_owned(), "--readonly".to_owned()].into_iter().chain(options).collect()
}

/// The words, quoted for a shell.
pub(crate) fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The same in lines of at most `width` columns, broken at words and in lists of names.
pub(crate) fn lines(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut at = String::new();
    for word in words.iter().map(|word| quoted(word)) {
        let gap = usize::from(!at.trim().is_empty());
        // Room for ` \` at the end.
        if gap == 1 && at.chars().count() + 1 + word.chars().count() + 2 > width {
            lines.push(format!("{at} \\"));
            "  ".clone_into(&mut at);
        } else if gap == 1 {
            at.push(' ');
        }
        for (number, part) in word.split_inclusive(':').enumerate() {
            if number > 0 && at.chars().count() + part.chars().count() + 2 > width {
                // The rest of a word begins its line.
                lines.push(format!("{at}\\"));
                at.clear();
            }
            at.push_str(part);
        }
    }
    lines.push(at);
    lines
}

/// A word in single quotes if it has characters special to a shell; characters that control a terminal are written as
/// their bytes (`$'\x1b'`).
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().all(is_harmless) {
        let escaped = word.chars().map(|c| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if is_harmless(c) => c.to_string(),
            c => c.encode_utf8(&mut [0; 4]).bytes().fold(String::new(), |mut out, byte| {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
                out
            }),
        });
        return format!("$'{}'", escaped.collect::<String>());
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::DriveName;

    fn workload(names: &[&str]) -> Workload {
        let target =
            |name: &&str| Target { path: format!("/dev/{name}").into(), drive: Some(DriveName::new(name)) };
        Workload { targets: names.iter().map(target).collect(), ..Workload::default() }
    }

    #[test]
    fn a_usual_run_is_a_short_command() {
        assert_eq!(
            line(&iodyno(&workload(&["nvme0n1", "nvme1n1"]), &["--demo".to_owned(), "x570".to_owned()])),
            "iodyno bench --demo x570 --filename /dev/nvme0n1:/dev/nvme1n1 --rw randread --bs 4k --iodepth 32 --numjobs 1 \
             --runtime 10"
        );
    }

    #[test]
    fn fio_gets_its_job_file_as_options() {
        assert_eq!(
            line(&fio(&workload(&["nvme0n1", "nvme1n1"]))),
            "fio --readonly --name=global --rw=randread --bs=4k --iodepth=32 --numjobs=1 --ioengine=io_uring --direct=1 \
             --fixedbufs=1 --registerfiles=1 --runtime=10000ms --randseed=268947776 --time_based=1 --norandommap=1 \
             --group_reporting=1 --name=nvme0n1 --filename=/dev/nvme0n1 --name=nvme1n1 --filename=/dev/nvme1n1 \
             --new_group=1"
        );
    }

    #[test]
    fn a_shell_takes_names_for_what_they_are() {
        assert_eq!(quoted("it's a $HOME"), "'it'\\''s a $HOME'");
        assert_eq!(quoted("a\nb\u{202e}'c"), "$'a\\x0ab\\xe2\\x80\\xae\\'c'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("/dev/nvme0n1"), "/dev/nvme0n1");
    }

    proptest! {
        #[test]
        fn broken_lines_are_the_same_words(names in prop::collection::vec("[a-z0-9 ]{1,12}", 1..20), width in 40usize..120) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let words = iodyno(&workload(&names), &[]);
            let joined = lines(&words, width).join("\n").replace(" \\\n  ", " ").replace("\\\n", "");
            prop_assert_eq!(joined, line(&words));
        }

        #[test]
        fn lines_fit_where_words_can_be_broken(drives in 1usize..40, width in 60usize..100) {
            let names: Vec<String> = (0..drives).map(|number| format!("nvme{number}n1")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for words in [iodyno(&workload(&names), &[]), fio(&workload(&names))] {
                for line in lines(&words, width) {
                    prop_assert!(line.chars().count() <= width, "{}", line);
                }
            }
        }
    }
}

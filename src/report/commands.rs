//! The command line that makes a run again, for iodyno and for fio.
//!
//! Here: words from a [`Workload`], quoting, breaking long lines. Not here: fio's job files.

use crate::{
    model::{EngineKind, Pattern, Target, Workload},
    units,
};

/// `iodyno bench ...`; `origin` are the options that name the machine, none for this one.
pub fn iodyno(workload: &Workload, origin: &[String]) -> Vec<String> {
    let mut words = vec!["iodyno".to_owned(), "bench".to_owned()];
    words.extend(origin.iter().cloned());
    let names: Vec<String> = workload.targets.iter().map(|target| escaped(&path_of(target))).collect();
    words.extend(["--filename".to_owned(), names.join(":")]);
    let usual = Workload::default();
    for (option, value) in options(workload) {
        let is_usual = match option {
            "ioengine" => workload.engine == usual.engine,
            "direct" => workload.direct == usual.direct,
            "hipri" => workload.hipri == usual.hipri,
            "fixedbufs" => workload.fixed_buffers == usual.fixed_buffers,
            "registerfiles" => workload.register_files == usual.register_files,
            "sqthread_poll" => workload.submission_poll == usual.submission_poll,
            "randseed" => workload.seed == usual.seed,
            "gtod_reduce" => workload.latency == usual.latency,
            _ => false,
        };
        if !is_usual {
            words.extend([format!("--{option}"), value]);
        }
    }
    words
}

/// `fio ...` with the same reads: a section of its own for each target, as depth and jobs count for each.
pub fn fio(workload: &Workload) -> Vec<String> {
    // fio's psync has one read under way per job; iodyno's has as many threads as its depth.
    let threads = workload.engine == EngineKind::Psync;
    let is_ring = matches!(workload.engine, EngineKind::IoUring | EngineKind::IoUringCmd);
    let mut words: Vec<String> =
        ["fio", "--name=global", "--readonly", "--group_reporting"].map(Into::into).into();
    for (option, value) in options(workload) {
        let value = match option {
            "iodepth" if threads => continue,
            "numjobs" if threads => (u64::from(workload.depth) * u64::from(workload.jobs)).to_string(),
            "fixedbufs" | "registerfiles" | "sqthread_poll" | "hipri" if !is_ring || value == "0" => continue,
            "gtod_reduce" if value == "0" => continue,
            "runtime" => {
                words.push("--time_based".to_owned());
                value
            }
            "rw" => {
                // iodyno draws every offset anew, without a map of those it had.
                if workload.pattern == Pattern::Random {
                    words.push("--norandommap".to_owned());
                }
                value
            }
            "size" if workload.runtime.is_none() => {
                words.push(format!("--io_size={value}"));
                value
            }
            _ => value,
        };
        words.push(format!("--{option}={value}"));
    }
    if workload.engine == EngineKind::IoUringCmd {
        words.push("--cmd_type=nvme".to_owned());
    }
    for (number, target) in workload.targets.iter().enumerate() {
        let name = target.drive.as_ref().map_or_else(|| format!("file{number}"), ToString::to_string);
        words.extend([format!("--name={name}"), format!("--filename={}", escaped(&path_of(target)))]);
    }
    words
}

/// Every option of a workload but its targets, with fio's names and in fio's notation.
fn options(workload: &Workload) -> Vec<(&'static str, String)> {
    let Workload {
        targets: _,
        pattern,
        block_size,
        block_split,
        depth,
        jobs,
        engine,
        direct,
        hipri,
        fixed_buffers,
        register_files,
        submission_poll,
        batch_submit,
        batch_complete_min,
        runtime,
        ramp,
        size,
        rate_iops,
        seed,
        latency,
    } = workload;
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let rw = match pattern {
        Pattern::Random => "randread",
        Pattern::Sequential => "read",
    };
    let shares: Vec<String> =
        block_split.iter().map(|(bytes, share)| format!("{}/{share}", units::block_size(*bytes))).collect();
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let all = [
        ("rw", Some(rw.to_owned())),
        ("bs", Some(units::block_size(*block_size))),
        ("bssplit", (!shares.is_empty()).then(|| shares.join(":"))),
        ("iodepth", Some(depth.to_string())),
        ("numjobs", Some(jobs.to_string())),
        ("runtime", runtime.map(time)),
        ("ramp_time", (!ramp.is_zero()).then(|| time(*ramp))),
        ("size", size.map(units::block_size)),
        ("ioengine", Some(engine.name().to_owned())),
        ("direct", Some(switch(*direct))),
        ("hipri", Some(switch(*hipri))),
        ("fixedbufs", Some(switch(*fixed_buffers))),
        ("registerfiles", Some(switch(*register_files))),
        ("sqthread_poll", Some(switch(*submission_poll))),
        ("iodepth_batch_submit", number(*batch_submit)),
        ("iodepth_batch_complete_min", number(*batch_complete_min)),
        ("rate_iops", number(*rate_iops)),
        ("randseed", Some(seed.to_string())),
        ("gtod_reduce", Some(switch(!latency))),
    ];
    let mut given: Vec<(&'static str, String)> =
        all.into_iter().filter_map(|(option, value)| Some((option, value?))).collect();
    // iodyno counts 10 s where nothing is said, and without an end only what is said.
    if runtime.is_none() {
        given.push(("runtime", "0".to_owned()));
    }
    given
}

/// `10`, `1500ms`, `20us`.
fn time(time: std::time::Duration) -> String {
    match time.subsec_micros() {
        0 => time.as_secs().to_string(),
        part if part % 1000 == 0 => format!("{}ms", time.as_millis()),
        _ => format!("{}us", time.as_micros()),
    }
}

fn path_of(target: &Target) -> String {
    target.path.to_string_lossy().into_owned()
}

/// A name in a list of names: a colon within it is escaped.
fn escaped(name: &str) -> String {
    name.replace(':', "\\:")
}

/// The words as a shell takes them.
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The same in lines of at most `width` columns, as far as words and lists of names can be broken.
pub fn lines(words: &[String], width: usize) -> Vec<String> {
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
                // Nothing may stand before the rest of a word on its next line.
                lines.push(format!("{at}\\"));
                at.clear();
            }
            at.push_str(part);
        }
    }
    lines.push(at);
    lines
}

/// A word between single quotes if a shell would see more than a word in it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{model::DriveName, units::Bytes};

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
    fn fio_gets_a_section_for_each_drive_and_every_option_by_name() {
        let polled = Workload {
            hipri: true,
            block_size: Bytes(1 << 19),
            ramp: Duration::from_millis(1500),
            ..workload(&["nvme0n1"])
        };
        assert_eq!(
            line(&fio(&polled)),
            "fio --name=global --readonly --group_reporting --norandommap --rw=randread --bs=512k --iodepth=32 --numjobs=1 \
             --time_based --runtime=10 --ramp_time=1500ms --ioengine=io_uring --direct=1 --hipri=1 --fixedbufs=1 \
             --registerfiles=1 --randseed=268947776 --name=nvme0n1 --filename=/dev/nvme0n1"
        );
        let threads = Workload { engine: EngineKind::Psync, depth: 8, jobs: 2, ..workload(&["sda"]) };
        let words = fio(&threads);
        assert!(
            words.contains(&"--numjobs=16".to_owned())
                && !words.iter().any(|word| word.starts_with("--iodepth"))
        );
        let whole = Workload { runtime: None, size: Some(Bytes(1 << 30)), ..workload(&["sda"]) };
        assert!(fio(&whole).contains(&"--io_size=1g".to_owned()));
    }

    #[test]
    fn a_shell_takes_names_for_what_they_are() {
        assert_eq!(quoted("it's a $HOME"), "'it'\\''s a $HOME'");
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

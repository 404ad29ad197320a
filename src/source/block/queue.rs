//! Queue settings: `/sys/block/D/queue/*`, and the hardware queues by type.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    machine::{
        Queue,
        queue::{Choice, HardwareQueues},
    },
    model::Reading,
    source::root::{SysRoot, flag, label, number, text},
    text::Label,
};

/// The queue of the block device at `path`; hardware queues are those of `queue_device`, which differs from it for a
/// namespace with native multipath.
pub(super) fn read(root: &dyn SysRoot, path: &str, queue_device: &str) -> Queue {
    let at = |file: &str| format!("{path}/queue/{file}");
    let count = |file: &str| number::<u64>(root, &at(file));
    Queue {
        scheduler: text(root, &at("scheduler")).and_then(|content| choice(&content)),
        read_ahead_kb: count("read_ahead_kb"),
        nr_requests: count("nr_requests"),
        max_sectors_kb: count("max_sectors_kb"),
        max_hw_sectors_kb: count("max_hw_sectors_kb"),
        nomerges: count("nomerges"),
        rq_affinity: count("rq_affinity"),
        wbt_lat_usec: number(root, &at("wbt_lat_usec")),
        iostats: count("iostats"),
        add_random: count("add_random"),
        io_poll: count("io_poll"),
        write_cache: label(root, &at("write_cache")),
        rotational: flag(root, &at("rotational")),
        logical_block_size: count("logical_block_size"),
        optimal_io_size: count("optimal_io_size"),
        others: others(root, &format!("{path}/queue")),
        hardware_queues: hardware_queues(root, queue_device),
    }
}

/// Read by [`read`] itself.
const FIELDS: [&str; 15] = [
    "scheduler",
    "read_ahead_kb",
    "nr_requests",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "iostats",
    "add_random",
    "io_poll",
    "write_cache",
    "rotational",
    "logical_block_size",
    "optimal_io_size",
];

/// All other files of the folder: a setting among them needs no reader.
fn others(root: &dyn SysRoot, folder: &str) -> BTreeMap<Label, Reading<Label>> {
    let names = root.list(folder).unwrap_or_default();
    let files = names.into_iter().filter(|name| !FIELDS.contains(&name.as_str()));
    let read = files.map(|name| (Label::new(&name), label(root, &format!("{folder}/{name}"))));
    // `iosched` is a folder.
    read.filter(|(_, reading)| reading.is_known()).collect()
}

/// `[none] mq-deadline kyber`, or a single word without brackets.
fn choice(content: &str) -> Result<Choice, String> {
    let words: Vec<&str> = content.split_ascii_whitespace().collect();
    let bare = |word: &'_ str| Label::new(word.trim_start_matches('[').trim_end_matches(']'));
    let current = match words.iter().find(|word| word.starts_with('[') && word.ends_with(']')) {
        Some(word) => bare(word),
        None if words.len() == 1 => bare(words[0]),
        None => return Err(crate::source::root::quoted(content, "no choice in brackets")),
    };
    Ok(Choice { current, choices: words.into_iter().map(bare).collect() })
}

/// debugfs knows the types; without it they follow from the CPUs each queue serves.
fn hardware_queues(root: &dyn SysRoot, name: &str) -> Reading<HardwareQueues> {
    let by_type = from_debugfs(root, &format!("/sys/kernel/debug/block/{name}"));
    by_type.or(|| from_cpus(root, &format!("/sys/block/{name}")))
}

fn from_debugfs(root: &dyn SysRoot, folder: &str) -> Reading<HardwareQueues> {
    let names = match root.list(folder) {
        Ok(names) => names,
        Err(error) => return error.into_reading(folder),
    };
    let mut queues = HardwareQueues::default();
    for name in names.iter().filter(|name| name.starts_with("hctx")) {
        let kind = text(root, &format!("{folder}/{name}/type"));
        match kind.value().map(|kind| kind.trim()) {
            Some("default") => queues.default += 1,
            Some("read") => queues.read += 1,
            Some("poll") => queues.poll += 1,
            _ => return Reading::absent(folder, "queues without a known type"),
        }
    }
    if queues == HardwareQueues::default() {
        return Reading::absent(folder, "no hardware queues here");
    }
    Reading::known(folder, queues)
}

/// Queues are numbered default, read, poll, and each type serves every CPU once: where a CPU comes again, the next type
/// begins. `io_poll` distinguishes poll queues from read queues when there is one further type.
fn from_cpus(root: &dyn SysRoot, device: &str) -> Reading<HardwareQueues> {
    let path: std::sync::Arc<str> = format!("{device}/mq").into();
    let mut numbers: Vec<u32> = match root.list(&path) {
        Ok(names) => names.iter().filter_map(|name| name.parse().ok()).collect(),
        Err(error) => return error.into_reading(&path),
    };
    numbers.sort_unstable();
    let mut types: Vec<u32> = Vec::new();
    let mut served = BTreeSet::new();
    for queue in numbers {
        let list = text(root, &format!("{path}/{queue}/cpu_list"));
        let Some(cpus) = list.value() else { return list.map(|_| HardwareQueues::default()) };
        let cpus: BTreeSet<u32> = cpus.split(',').filter_map(|cpu| cpu.trim().parse().ok()).collect();
        if types.is_empty() || !served.is_disjoint(&cpus) {
            types.push(0);
            served.clear();
        }
        served.extend(cpus);
        if let Some(count) = types.last_mut() {
            *count += 1;
        }
    }
    let polls = number::<u64>(root, &format!("{device}/queue/io_poll")).get() == Some(1);
    match *types {
        [default] => Reading::known(path, HardwareQueues { default, read: 0, poll: 0 }),
        [default, poll] if polls => Reading::known(path, HardwareQueues { default, read: 0, poll }),
        [default, read] => Reading::known(path, HardwareQueues { default, read, poll: 0 }),
        [default, read, poll] => Reading::known(path, HardwareQueues { default, read, poll }),
        [] => Reading::absent(path, "no hardware queues"),
        _ => Reading::malformed(path, "more than three sets of queues"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::capture::TextRoot;

    fn queues(body: &str) -> Option<HardwareQueues> {
        let root = TextRoot::parse(&format!("iodyno capture 1\n\n{body}")).unwrap();
        hardware_queues(&root, "nvme0n1").get()
    }

    const FOUR: &str = "dir /sys/block/nvme0n1/mq\n  0\n  1\n  10\n  2\n";

    #[test]
    fn queue_types_follow_from_the_cpus_they_serve() {
        let lists = |lists: [&str; 4]| {
            let files = [0, 1, 2, 10].into_iter().zip(lists);
            files.fold(FOUR.to_owned(), |text, (queue, list)| {
                text + &format!("file /sys/block/nvme0n1/mq/{queue}/cpu_list {list}\n")
            })
        };
        let count = |default, read, poll| Some(HardwareQueues { default, read, poll });
        assert_eq!(queues(&lists(["0", "1", "2", "3"])), count(4, 0, 0));
        assert_eq!(queues(&lists(["0", "1", "0", "1"])), count(2, 2, 0));
        let polled = lists(["0, 2", "1, 3", "0, 1", "2, 3"]) + "file /sys/block/nvme0n1/queue/io_poll 1\n";
        assert_eq!(queues(&polled), count(2, 0, 2));
        assert_eq!(queues(&lists(["0, 1", "0", "1", "0, 1"])), count(1, 2, 1));
        assert_eq!(queues(""), None);
    }

    #[test]
    fn debugfs_is_believed_before_guessing() {
        let body = "dir /sys/kernel/debug/block/nvme0n1\n  hctx0\n  hctx1\n  state\n\
                    file /sys/kernel/debug/block/nvme0n1/hctx0/type default\n\
                    file /sys/kernel/debug/block/nvme0n1/hctx1/type poll\n";
        assert_eq!(queues(body), Some(HardwareQueues { default: 1, read: 0, poll: 1 }));
    }

    #[test]
    fn a_scheduler_file_has_its_choice_in_brackets_or_alone() {
        let read = |content: &str| choice(content).map(|choice| (choice.current, choice.choices.len()));
        assert_eq!(read("mq-deadline [none] kyber\n"), Ok(("none".into(), 3)));
        assert_eq!(read("none\n"), Ok(("none".into(), 1)));
        assert!(read("none kyber\n").is_err());
        assert!(read("").is_err());
    }
}

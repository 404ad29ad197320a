//! [`FakeKernel`]: settings in memory that behave as on Linux 6.12, for demos.

use std::{
    collections::BTreeMap,
    io,
    sync::{Mutex, PoisonError},
};

use super::actuator::{Actuator, current_word};

/// Files with their contents. As on Linux 6.12, unknown schedulers are EINVAL, a new one resets `nr_requests`, poll queues
/// make drives polled, `read_ahead_kb` is rounded down to pages and `nr_requests` has a minimum and a maximum.
#[derive(Debug, Default)]
pub struct FakeKernel {
    files: Mutex<BTreeMap<String, String>>,
}

/// Tags of an NVMe queue: `nr_requests` without a scheduler, and its maximum.
const TAGS: u64 = 1023;

impl FakeKernel {
    /// With these files.
    pub fn new(files: BTreeMap<String, String>) -> Self {
        Self { files: Mutex::new(files) }
    }

    /// All files as they are.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A file's whole content.
    pub fn content(&self, file: &str) -> Option<String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(file).cloned()
    }
}

impl Actuator for FakeKernel {
    fn read(&self, file: &str) -> io::Result<String> {
        let content = self.content(file).ok_or(io::ErrorKind::NotFound)?;
        Ok(current_word(&content).to_owned())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let before = files.get(file).ok_or(io::ErrorKind::NotFound)?;
        let (folder, name) = file.rsplit_once('/').unwrap_or_default();
        let after = if before.contains('[') {
            chosen(before, value).ok_or_else(invalid)?
        } else {
            taken(name, value).ok_or_else(invalid)?
        };
        files.insert(file.to_owned(), after);
        if name == "scheduler"
            && let Some(requests) = files.get_mut(&format!("{folder}/nr_requests"))
        {
            *requests = if value == "none" { TAGS } else { 256 }.to_string();
        }
        if name == "poll_queues" {
            // The fake driver probes its drives again at once.
            let polls = if value == "0" { "0" } else { "1" };
            let is_poll = |(file, _): &(&String, &mut String)| file.ends_with("/io_poll");
            files.iter_mut().filter(is_poll).for_each(|(_, content)| polls.clone_into(content));
        }
        Ok(())
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// `[none] mq-deadline` with the brackets around another of its words.
fn chosen(content: &str, value: &str) -> Option<String> {
    let words: Vec<&str> = content.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    let bracketed = |word: &&str| if *word == value { format!("[{word}]") } else { (*word).to_owned() };
    words.contains(&value).then(|| words.iter().map(bracketed).collect::<Vec<_>>().join(" "))
}

/// The value of a file of that name after `value` was written; `None` is EINVAL.
fn taken(name: &str, value: &str) -> Option<String> {
    let number = value.parse::<u64>().ok();
    match name {
        "read_ahead_kb" => number.map(|kib| (kib / 4 * 4).to_string()),
        "nr_requests" => number.filter(|n| (1..=TAGS).contains(n)).map(|n| n.max(4).to_string()),
        "max_sectors_kb" => number.filter(|kib| *kib >= 4).map(|kib| kib.to_string()),
        _ => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> FakeKernel {
        let files = [
            ("/q/scheduler", "[none] mq-deadline"),
            ("/q/nr_requests", "1023"),
            ("/q/read_ahead_kb", "128"),
            ("/q/io_poll", "0"),
            ("/module/nvme/parameters/poll_queues", "0"),
        ];
        FakeKernel::new(files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn it_answers_as_the_kernel_was_seen_to() {
        let kernel = kernel();
        kernel.write("/q/scheduler", "mq-deadline").unwrap();
        assert_eq!(kernel.content("/q/scheduler").as_deref(), Some("none [mq-deadline]"));
        assert_eq!(kernel.read("/q/nr_requests").unwrap(), "256", "a new scheduler resets it");
        kernel.write("/q/read_ahead_kb", "4099").unwrap();
        assert_eq!(kernel.read("/q/read_ahead_kb").unwrap(), "4096");
        let refused = kernel.write("/q/scheduler", "bogus").unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
        assert!(kernel.write("/q/nowhere", "1").is_err());
        for (queues, polls) in [("4", "1"), ("0", "0")] {
            kernel.write("/module/nvme/parameters/poll_queues", queues).unwrap();
            assert_eq!(kernel.read("/q/io_poll").unwrap(), polls);
        }
    }
}

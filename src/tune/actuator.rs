//! The only writer to /sys.
//!
//! Here: [`Actuator`] with its three kinds. Not here: what to write and whether it is wise.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    sync::Mutex,
};

/// Something that reads and writes the small text files settings live in.
pub trait Actuator {
    /// The file's value: of a line that brackets one word, that word; else the line without its end.
    fn read(&self, file: &str) -> io::Result<String>;

    /// Writes `value` in a single call.
    fn write(&self, file: &str, value: &str) -> io::Result<()>;
}

/// Never wait for a file.
const FLAGS: i32 = libc::O_CLOEXEC | libc::O_NONBLOCK;

/// The running kernel. Writes only below /sys, to files that are there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live;

/// Reads like [`Live`] and writes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct DryRun;

/// Files in memory, for tests that must be exact.
#[derive(Debug, Default)]
pub struct Memory {
    /// Path to value.
    pub files: Mutex<BTreeMap<String, String>>,
}

impl Actuator for Live {
    fn read(&self, file: &str) -> io::Result<String> {
        // Settings are a line or two; a file that goes on is none.
        let mut content = String::new();
        let settings = OpenOptions::new().read(true).custom_flags(FLAGS).open(file)?;
        settings.take(64 << 10).read_to_string(&mut content)?;
        Ok(current_word(&content).to_owned())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        if !file.starts_with("/sys/") || file.split('/').any(|part| part == "..") {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let written =
            OpenOptions::new().write(true).custom_flags(FLAGS).open(file)?.write(value.as_bytes())?;
        if written == value.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero)) }
    }
}

impl Actuator for DryRun {
    fn read(&self, file: &str) -> io::Result<String> {
        Live.read(file)
    }

    fn write(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
}

impl Actuator for Memory {
    fn read(&self, file: &str) -> io::Result<String> {
        let files = self.files.lock().map_err(|_| io::Error::other("a writer panicked"))?;
        files
            .get(file)
            .map(|content| current_word(content).to_owned())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let mut files = self.files.lock().map_err(|_| io::Error::other("a writer panicked"))?;
        match files.get_mut(file) {
            Some(content) => {
                value.clone_into(content);
                Ok(())
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// `[none] mq-deadline` is `none`; everything else is its first line.
pub fn current_word(content: &str) -> &str {
    let line = content.lines().next().unwrap_or_default().trim();
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    bracketed.unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_sys_is_ever_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(Live.write(path, "x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(Live.write(&format!("/sys/..{path}"), "x").is_err());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "");
    }

    #[test]
    fn the_bracketed_word_is_the_value() {
        assert_eq!(current_word("none [mq-deadline] kyber\n"), "mq-deadline");
        assert_eq!(current_word("128\n"), "128");
        assert_eq!(current_word(""), "");
    }
}

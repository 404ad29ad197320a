//! Kernel messages on the terminal of the screen: where it is a console of the kernel, a new message asks for a new frame.

use std::{fs, os::fd::OwnedFd, time::Duration};

use rustix::{
    fs::{Mode, OFlags, SeekFrom, open, seek},
    io::Errno,
    termios::ttyname,
};

/// Without access to the messages, the screen is drawn again this often.
const BLIND: Duration = Duration::from_secs(10);
/// How often messages are looked for.
const LOOK: Duration = Duration::from_millis(500);

/// The kernel writes its messages to this terminal.
pub(super) struct KernelConsole {
    /// `/dev/kmsg` behind its last message; `None` where it may not be read.
    messages: Option<OwnedFd>,
    next: Duration,
}

impl KernelConsole {
    /// Watches the messages if standard output is a console of the kernel.
    pub fn watch() -> Option<Self> {
        let terminal = ttyname(rustix::stdio::stdout(), Vec::new()).ok()?.into_string().ok()?;
        let consoles = fs::read_to_string("/proc/consoles").ok()?;
        if !is_console(&terminal, &consoles) {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let messages = open("/dev/kmsg", flags, Mode::empty()).ok();
        let messages = messages.filter(|messages| seek(messages, SeekFrom::End(0)).is_ok());
        Some(Self { messages, next: Duration::ZERO })
    }

    /// Whether the kernel has written over the screen, or may have.
    pub fn is_overwritten(&mut self, now: Duration) -> bool {
        if now < self.next {
            return false;
        }
        let Some(messages) = &self.messages else {
            self.next = now + BLIND;
            return true;
        };
        self.next = now + LOOK;
        let level = fs::read_to_string("/proc/sys/kernel/printk").unwrap_or_default();
        let mut record = [0; 8192];
        let mut shown = false;
        loop {
            match rustix::io::read(messages, &mut record) {
                Ok(0) => return shown,
                Ok(length) => shown |= is_shown(record.get(..length).unwrap_or_default(), &level),
                // Messages were dropped before they were read.
                Err(Errno::PIPE) => shown = true,
                Err(Errno::INTR) => {}
                Err(_) => return shown,
            }
        }
    }
}

/// Whether a terminal is in /proc/consoles; tty0 there stands for every virtual one.
fn is_console(terminal: &str, consoles: &str) -> bool {
    let Some(name) = terminal.strip_prefix("/dev/") else { return false };
    let number = name.strip_prefix("tty").unwrap_or_default();
    let is_virtual = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let mut known = consoles.lines().filter_map(|line| line.split_whitespace().next());
    known.any(|known| known == name || (known == "tty0" && is_virtual) || name == "console")
}

/// Whether a record of /dev/kmsg (`PRIORITY,SEQUENCE,..;TEXT`) is written to consoles by the level of
/// /proc/sys/kernel/printk. One that cannot be understood is.
fn is_shown(record: &[u8], printk: &str) -> bool {
    let priority = record.split(|byte| *byte == b',').next().and_then(|word| std::str::from_utf8(word).ok());
    let priority = priority.and_then(|word| word.parse::<u32>().ok()).map(|priority| priority & 7);
    let level = printk.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    priority.zip(level).is_none_or(|(priority, level)| priority < level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_is_known_by_its_name() {
        let consoles =
            "tty0                 -WU (EC p  )    4:7\nttyS0                -W- (E  p a)    4:64\n";
        for (terminal, is) in [
            ("/dev/ttyS0", true),
            ("/dev/tty3", true),
            ("/dev/console", true),
            ("/dev/ttyS1", false),
            ("/dev/pts/0", false),
            ("/dev/tty", false),
        ] {
            assert_eq!(is_console(terminal, consoles), is, "{terminal}");
        }
        assert!(!is_console("/dev/tty3", "ttyS0 -W- (E  p a)    4:64\n"));
    }

    #[test]
    fn messages_below_the_consoles_level_are_not_shown() {
        let printk = "4\t4\t1\t7\n";
        assert!(is_shown(b"3,339,5140900,-;nvme nvme0: I/O timeout\n", printk));
        assert!(!is_shown(b"6,340,5140901,-;usb 1-1: new device\n", printk));
        assert!(!is_shown(b"30,341,5140902,-;systemd: facility 3, level 6\n", printk));
        assert!(is_shown(b"unknown", printk) && is_shown(b"6,1,1,-;a\n", ""));
    }
}

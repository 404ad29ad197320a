//! Timeouts and resets in the kernel log: lines of the nvme driver in known forms, from `/dev/kmsg` or a pasted `dmesg`.

use std::{
    collections::{HashSet, VecDeque},
    sync::LazyLock,
    time::Duration,
};

use rustix::{
    fs::{FileType, Mode, OFlags, fstat, major, minor, open},
    io::Errno,
};

use crate::{
    machine::{DriverMessage, MessageKind},
    model::Reading,
    source::root::{RootError, SysRoot, is_numbered},
    text::Label,
};

/// The answer: the newest lines of the nvme driver, as [`line()`] writes them.
pub(crate) const PROBE: &str = "/probe/nvme-messages";

/// The file that is read for it.
const KERNEL_LOG: &str = "/dev/kmsg";

/// Records of the kernel log that are read; a log of 64 MiB has fewer.
const MOST_RECORDS: usize = 1 << 19;

/// What a line of each kind contains.
const PHRASES: &[(&str, MessageKind)] = &[
    ("controller is down; will reset", MessageKind::Down),
    (" timeout", MessageKind::Timeout),
    ("Device not ready; aborting", MessageKind::Failed),
    ("Disabling device after reset failure", MessageKind::Failed),
    ("Removing after probe failure", MessageKind::Failed),
    ("reset controller", MessageKind::Reset),
    ("resetting controller", MessageKind::Reset),
];

/// Words of such lines, with the driver's names of commands (`nvme_opcode_str`) and the block layer's.
const WORDS: &str = "\
    I O tag type opcode QID timeout aborting req_op size completion polled disable reset controller is down will CSTS \
    PCI_STATUS read failed Device not ready initialisation Disabling device after failure Removing probe status frozen \
    state error detected resetting due to persistent internal AER queue cid \
    Flush Write Uncorrectable Read Compare Zeroes Dataset Management Verify Reservation Register Report Acquire Release \
    Zone Send Receive Append Cmd Admin Unknown Delete Create Submission Completion Queue SQ CQ Get Log Page Identify \
    Abort Set Features Async Event Namespace Activate Firmware Commit Image Download Self-test Attachment Keep Alive \
    Directive Virtual Format NVM Security Sanitize LBA Status Fabrics \
    READ WRITE FLUSH DISCARD SECURE_ERASE WRITE_ZEROES ZONE_APPEND ZONE_RESET DRV_IN DRV_OUT";

static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split_ascii_whitespace().collect());

/// Messages of the nvme driver, oldest first.
pub(in crate::source) fn read(root: &dyn SysRoot) -> Reading<Vec<DriverMessage>> {
    // A pasted text has its own line; elsewhere the file of the kernel is the source.
    let path = if root.pasted().is_some() { PROBE } else { KERNEL_LOG };
    match root.read(PROBE) {
        Ok(content) => Reading::known(path, parse(&String::from_utf8_lossy(&content))),
        Err(error) => error.into_reading(path),
    }
}

fn parse(text: &str) -> Vec<DriverMessage> {
    let mut messages: Vec<DriverMessage> = text.lines().filter_map(message).collect();
    messages.drain(..messages.len().saturating_sub(DriverMessage::MOST));
    messages
}

/// The message of a line of `dmesg` or `journalctl -k`: time, host and words of no known form are left out.
pub(crate) fn message(line: &str) -> Option<DriverMessage> {
    let (before, controller, words) = driver_line(line)?;
    // Most lines of the driver have no phrase: their words need not be looked up.
    let has_end = |phrase: &str| words.contains(phrase.rsplit(' ').next().unwrap_or(phrase));
    PHRASES.iter().find(|(phrase, _)| has_end(phrase))?;
    let known = words.split_ascii_whitespace().map(|word| if is_known(word) { word } else { "<redacted>" });
    let text = Label::new(&known.collect::<Vec<_>>().join(" "));
    let kind = PHRASES.iter().find(|(phrase, _)| text.as_str().contains(phrase))?.1;
    Some(DriverMessage { controller: Label::new(controller), kind, at: time(before), text })
}

/// The line of a message, as `dmesg` prints it.
pub(crate) fn line(message: &DriverMessage) -> String {
    let time = message.at.map(|at| format!("[{:5}.{:06}] ", at.as_secs(), at.subsec_micros()));
    format!("{}nvme {}: {}\n", time.unwrap_or_default(), message.controller, message.text)
}

/// `BEFORE nvme nvme0: WORDS`.
fn driver_line(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("nvme nvme")?;
    let at = line.len() - rest.len() - "nvme".len();
    let (controller, words) = line.get(at..)?.split_once(": ")?;
    let is_short = controller.len() <= "nvme".len() + 5;
    (is_short && is_numbered(controller, "nvme")).then_some((before, controller, words))
}

/// `[   12.345678]` in front of a line.
fn time(before: &str) -> Option<Duration> {
    let (_, rest) = before.split_once('[')?;
    let (seconds, micros) = rest.split_once(']')?.0.trim().split_once('.')?;
    let micros: u32 = (micros.len() == 6).then(|| micros.parse().ok()).flatten()?;
    Some(Duration::new(seconds.parse().ok()?, micros.checked_mul(1000)?))
}

/// Whether a word consists of known words and numbers.
fn is_known(word: &str) -> bool {
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'));
    word.is_ascii()
        && parts.filter(|part| !part.is_empty()).all(|part| {
            let is_hex = |digits: &str, most: usize| {
                digits.len() <= most && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            };
            let is_decimal = part.len() <= 10 && part.bytes().all(|digit| digit.is_ascii_digit());
            is_decimal
                || part.strip_prefix('-').is_some_and(|digits| digits.len() <= 4 && is_hex(digits, 4))
                || part.strip_prefix("0x").is_some_and(|digits| is_hex(digits, 8))
                || (part.len() == 4 && is_hex(part, 4))
                || KNOWN.contains(part)
        })
}

/// The answer to [`PROBE`]: the kernel log is read from its start to its end, without waiting for further messages.
pub(in crate::source) fn ask() -> Result<Vec<u8>, RootError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let log = open(KERNEL_LOG, flags, Mode::empty())?;
    // In a container it may be another file.
    let status = fstat(&log)?;
    let is_log = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice
        && (major(status.st_rdev), minor(status.st_rdev)) == (1, 11);
    if !is_log {
        return Err(RootError::NotHere("not the kernel log here".to_owned()));
    }
    let mut kept: VecDeque<String> = VecDeque::new();
    let mut record = [0; 8192];
    for _ in 0..MOST_RECORDS {
        match rustix::io::read(&log, &mut record) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => {
                let Some(message) = record.get(..length).and_then(from_record) else { continue };
                if kept.len() == DriverMessage::MOST {
                    kept.pop_front();
                }
                kept.push_back(line(&message));
            }
            // Records that were overwritten meanwhile, and one that is longer than any.
            Err(Errno::PIPE | Errno::INTR | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(kept.into_iter().collect::<String>().into_bytes())
}

/// `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,..];TEXT` and lines ` KEY=VALUE` (Documentation/ABI/testing/dev-kmsg).
/// Priorities of 8 and more come from programs, not from the kernel.
fn from_record(record: &[u8]) -> Option<DriverMessage> {
    let start = record.iter().position(|byte| *byte == b';')?;
    let (head, rest) = record.split_at(start);
    let words = std::str::from_utf8(rest.get(1..)?.split(|byte| *byte == b'\n').next()?).ok()?;
    if !words.starts_with("nvme nvme") {
        return None;
    }
    let mut head = std::str::from_utf8(head).ok()?.split(',');
    let is_kernels = head.next()?.parse::<u32>().ok()? < 8;
    let micros = head.nth(1)?.parse().ok()?;
    let message = is_kernels.then(|| message(words)).flatten()?;
    Some(DriverMessage { at: Some(Duration::from_micros(micros)), ..message })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::{capture::TextRoot, root::LiveRoot};

    #[test]
    fn lines_of_every_kernel_are_timeouts_resets_and_failures() {
        for (words, kind) in [
            ("I/O 128 QID 4 timeout, aborting", MessageKind::Timeout),
            ("I/O 22 (I/O Cmd) QID 8 timeout, aborting", MessageKind::Timeout),
            ("I/O 12 QID 0 timeout, completion polled", MessageKind::Timeout),
            ("I/O tag 64 (1040) QID 2 timeout, disable controller", MessageKind::Timeout),
            (
                "I/O tag 322 (2142) opcode 0x2 (Read) QID 3 timeout, aborting req_op:READ(0) size:131072",
                MessageKind::Timeout,
            ),
            (
                "I/O tag 7 (d007) opcode 0x9 (Dataset Management) QID 1 timeout, reset controller",
                MessageKind::Timeout,
            ),
            ("I/O tag 1 (1001) type 4 opcode 0x1 (Write) QID 3 timeout", MessageKind::Timeout),
            ("controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff", MessageKind::Down),
            ("controller is down; will reset: CSTS=0x3, PCI_STATUS read failed (134)", MessageKind::Down),
            ("Device not ready; aborting reset, CSTS=0x1", MessageKind::Failed),
            ("Disabling device after reset failure: -19", MessageKind::Failed),
            ("Removing after probe failure status: -19", MessageKind::Failed),
            ("frozen state error detected, reset controller", MessageKind::Reset),
            ("resetting controller due to persistent internal error", MessageKind::Reset),
        ] {
            let read = message(&format!("[  331.024601] nvme nvme12: {words}")).unwrap();
            assert_eq!((read.kind, read.text.as_str()), (kind, words));
            assert_eq!(read.controller, "nvme12");
            assert_eq!(read.at, Some(Duration::from_micros(331_024_601)));
            assert_eq!(message(line(&read).trim_end()).as_ref(), Some(&read), "read as written");
            let journal = format!("Nov 23 22:55:18 attic kernel: nvme nvme12: {words}");
            assert_eq!(message(&journal), Some(DriverMessage { at: None, ..read }));
        }
        for other in [
            "nvme nvme0: 16/0/0 default/read/poll queues",
            "nvme nvme0: pci function 0000:01:00.0",
            "nvme0n1: I/O Cmd(0x2) @ LBA 8, 8 blocks, I/O Error (sct 0x3 / sc 0x71)",
            "usb 1-1: device descriptor read/64, timeout",
            "nvme nvme0x: I/O 1 QID 1 timeout, aborting",
            "nvme nvme1234567: I/O 1 QID 1 timeout, aborting",
        ] {
            assert_eq!(message(other), None, "{other}");
        }
    }

    #[test]
    fn words_of_no_known_form_are_left_out() {
        let odd =
            "nvme nvme0: I/O 128 QID 4 timeout, bob's S4EWNX0R123456 at 10.9.8.7 52:54:00:aa:bb:cc, aborting";
        let text = message(odd).unwrap().text;
        assert!(text.as_str().starts_with("I/O 128 QID 4 timeout, <redacted> <redacted>"), "{text}");
        assert!(!text.as_str().contains("bob") && !text.as_str().contains("S4EW"), "{text}");
    }

    #[test]
    fn a_record_is_the_kernels_and_has_its_time() {
        let record =
            b"4,812,331024601,-;nvme nvme1: I/O 9 QID 2 timeout, aborting\n SUBSYSTEM=nvme\n DEVICE=c237:1\n";
        let read = from_record(record).unwrap();
        assert_eq!(line(&read), "[  331.024601] nvme nvme1: I/O 9 QID 2 timeout, aborting\n");
        for other in [
            &b"12,812,331024601,-;nvme nvme1: I/O 9 QID 2 timeout, aborting\n"[..],
            b"4,812,331024601,-;EXT4-fs (nvme1n1): nvme nvme1: I/O 9 QID 2 timeout, aborting\n",
            b"4,812;nvme nvme1: I/O 9 QID 2 timeout\n",
            b"nvme nvme1: I/O 9 QID 2 timeout\n",
        ] {
            assert_eq!(from_record(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn the_log_of_this_machine_is_read_or_refused_at_once() {
        let refused = [libc::EPERM, libc::EACCES, libc::ENOENT].map(RootError::Errno);
        match LiveRoot::new().read(PROBE) {
            Ok(answer) => {
                let answer = String::from_utf8(answer).unwrap();
                assert!(answer.lines().all(|line| message(line).is_some()), "{answer}");
            }
            Err(RootError::NotHere(why)) => assert!(why.contains("kernel log"), "{why}"),
            Err(error) => assert!(refused.contains(&error), "{error}"),
        }
    }

    #[test]
    fn a_refused_log_says_so_and_a_missing_one_too() {
        let read = |answer: &str| read(&TextRoot::parse(&format!("iodyno capture 1\n\n{answer}\n")).unwrap());
        let refused = read("fail read /probe/nvme-messages EPERM").problem().unwrap();
        assert_eq!(&*refused.path, "/dev/kmsg");
        assert!(refused.reason.starts_with("EPERM"), "{}", refused.reason);
        assert!(read("").problem().is_some_and(|missing| missing.reason.contains("not in this capture")));
        let many = (0..999).map(|at| format!("  [{at:5}.000000] nvme nvme0: I/O 1 QID 1 timeout\n"));
        let newest = read(&format!("text /probe/nvme-messages\n{}", many.collect::<String>()));
        let newest = newest.value().unwrap();
        assert_eq!((newest.len(), newest[0].at), (DriverMessage::MOST, Some(Duration::from_secs(743))));
    }

    proptest! {
        #[test]
        fn any_line_is_read_the_same_way_twice(words in "[ -~]{0,80}", driver in any::<bool>()) {
            let text = if driver { format!("nvme nvme0: {words} timeout") } else { words };
            if let Some(read) = message(&text) {
                prop_assert_eq!(message(line(&read).trim_end()), Some(read));
            }
            let _ = from_record(text.as_bytes());
        }
    }
}

//! The text of a capture: line by line, sorted by path, made to be read and compared by people.
//!
//! ```text
//! iodyno capture 1 made-by: iodyno 0.1.0
//!
//! # a comment
//! dir /sys/block
//!   nvme0n1
//!   vda
//! link /sys/block/vda ../devices/pci0000:00/0000:00:02.0/virtio1/block/vda
//! file /sys/devices/virtual/block/loop0/queue/scheduler [none] mq-deadline
//! text /proc/swaps
//!   Filename    Type    Size    Used    Priority
//!   /dev/vda2 partition 1048572 0 -2
//! hex /ioctl/nvme0n1/identify-ns 4096
//!   0000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
//!   *
//!   0ff0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01
//! fail read /sys/kernel/debug/block EACCES
//! none read /probe/io_uring a folder of files answers no probe
//! ```
//!
//! `file` is a file of one line, `text` of several, `hex` what is no text; in it `*` repeats the row above up to the
//! next one. A line of content that ends in a backslash has no newline. Elsewhere `\\`, `\s` (space), `\t`, `\n`, `\r`,
//! `\e` (nothing: an empty line) and `\u{hex}` stand for the characters that a line, a terminal or an editor would not
//! keep: spaces in paths and at ends of lines, control characters, invisible ones.

mod escape;
mod parse;
mod write;

pub(super) use parse::archive;
pub use parse::parse;
pub use write::write;

/// The format version written, and the only one read.
pub(crate) const VERSION: u32 = 1;

/// Maximum length of a capture's text, and of its contents.
pub(crate) const MOST_TEXT: usize = 64 << 20;

/// Maximum number of answers and of names in folders. A machine of 512 drives and 512 CPUs has about 80 000.
pub(crate) const MOST_ENTRIES: usize = 1 << 18;

/// An error in a capture's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {wrong}")]
pub struct CaptureError {
    /// Counted from 1.
    pub line: usize,
    /// In words.
    pub wrong: String,
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;
    use crate::source::{
        capture::{Answers, Capture},
        root::RootError,
    };

    const SAMPLE: &str = r"iodyno capture 1
made-by: iodyno 0.1.0

dir /sys/block
  a b
  loop0
link /sys/block/a\sb ../devices/a b
file /sys/block/loop0/model Fast SSD\s\s
file /sys/block/loop0/no-newline x\
file /sys/block/loop0/nothing \
file /sys/block/loop0/only-newline
text /sys/block/loop0/uevent
  MAJOR=7
  \e
    MINOR=0
hex /sys/block/loop0/zeros 40
  0000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
  *
  0020: 00 01 02 03 04 05 06 07
fail read /sys/block/loop0/zoo EINVAL
none read /sys/block/loop0/zoom not asked
";

    #[test]
    fn a_capture_reads_as_it_is_written() {
        let capture = parse(SAMPLE).unwrap();
        assert_eq!(write(&capture), SAMPLE);
        let read = |path: &str| capture.answers[path].read.clone().unwrap();
        assert_eq!(read("/sys/block/loop0/model").unwrap(), b"Fast SSD  \n");
        assert_eq!(read("/sys/block/loop0/no-newline").unwrap(), b"x");
        assert_eq!(read("/sys/block/loop0/nothing").unwrap(), b"");
        assert_eq!(read("/sys/block/loop0/only-newline").unwrap(), b"\n");
        assert_eq!(read("/sys/block/loop0/uevent").unwrap(), b"MAJOR=7\n\n  MINOR=0\n");
        assert_eq!(read("/sys/block/loop0/zeros").unwrap()[38..], [6, 7]);
        assert_eq!(read("/sys/block/loop0/zoo"), Err(RootError::Errno(libc::EINVAL)));
        assert_eq!(capture.answers["/sys/block/a b"].link, Some(Ok("../devices/a b".to_owned())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let check = |body: &str, line: usize, wrong: &str| {
            let error = parse(&format!("iodyno capture 1\n\n{body}")).unwrap_err();
            assert_eq!((error.line, error.wrong.contains(wrong)), (line, true), "{body:?}: {error}");
        };
        check("file relative x\n", 3, "not a plain absolute path");
        check("file /a/../b x\n", 3, "not a plain absolute path");
        check("file /a x\nfile /a y\n", 4, "given twice");
        check("dir /a\n  x\n  x\n", 5, "twice");
        check("dir /a\n  x/y\n", 4, "not a name in a folder");
        check("file /a x\\q\n", 3, "not an escape");
        check("file /a \\u{110000}\n", 3, "not a character");
        check("file /a x\u{1b}[2J\n", 3, "U+001B");
        check("file /a x\r\n", 3, "CR LF");
        check("hex /a 99999999\n", 3, "not a length");
        check("hex /a 4\n  0000: 00 00\n", 4, "2 of the 4 bytes");
        check("hex /a 4\n  0000: 00 00\n  0003: 00\n", 5, "where 0002 is next");
        check("hex /a 32\n  *\n", 4, "without a row");
        check("hex /a 2\n  0000: 0 00\n", 4, "two hexadecimal digits");
        check("hex /a 64\n  0000: 00\n  *\n  ffffffff: 00\n", 6, "out of order");
        check("fail read /a EWHAT\n", 3, "not an errno");
        check("fail write /a EIO\n", 3, "not read, link or list");
        check("  stray\n", 3, "not a kind of entry");
        check("nonsense\n", 3, "not an entry");
        assert_eq!(parse("").unwrap_err().to_string(), "line 1: does not begin with \"iodyno capture 1\"");
        assert_eq!(parse("iodyno capture 2\n").unwrap_err().line, 1);
    }

    fn path() -> impl Strategy<Value = String> {
        vec("[a-z .\\\\:\u{e4}\u{202e}\t-]{1,5}", 1..4)
            .prop_map(|parts| format!("/{}", parts.join("/")))
            .prop_filter("plain", |path| crate::source::root::join("/", path) == *path)
    }

    fn error() -> impl Strategy<Value = RootError> {
        prop_oneof![(1..200).prop_map(RootError::Errno), any::<String>().prop_map(RootError::NotHere)]
    }

    fn content() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<Vec<u8>>(),
            any::<String>().prop_map(String::into_bytes),
            "([a-z \\\\\t]{0,4}\n?){0,5}".prop_map(String::into_bytes),
            vec(prop_oneof![Just(0), Just(1)], 0..90),
            (0_usize..100).prop_map(|length| vec![0; length]),
        ]
    }

    fn answers() -> impl Strategy<Value = Answers> {
        let names = proptest::collection::btree_set("[a-z \\\\\t]{1,4}", 0..4)
            .prop_map(|names| names.into_iter().collect::<Vec<_>>());
        (
            option::of(proptest::result::maybe_err(names, error())),
            option::of(proptest::result::maybe_err(any::<String>(), error())),
            option::of(proptest::result::maybe_err(content(), error())),
        )
            .prop_map(|(list, link, read)| Answers { list, link, read })
            .prop_filter("asked", |answers| *answers != Answers::default())
    }

    proptest! {
        #[test]
        fn every_capture_comes_back_byte_for_byte(
            answers in proptest::collection::btree_map(path(), answers(), 0..6),
            notes in vec(("[a-z-]{1,9}", any::<String>()), 0..3),
        ) {
            let capture = Capture { notes, answers };
            let text = write(&capture);
            let again = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(&again, &capture);
            prop_assert_eq!(write(&again), text);
        }

        #[test]
        fn no_text_upsets_the_parser(
            text in "(iodyno capture 1\n\n)?([a-z/\\\\{}* :0-9\n]|  |file /|hex /a |dir /|link /a|\u{85}){0,60}",
        ) {
            if let Ok(capture) = parse(&text) {
                prop_assert_eq!(parse(&write(&capture)).unwrap(), capture);
            }
        }

        #[test]
        fn a_damaged_capture_is_refused_or_read_whole(at in 0_usize..500, byte in any::<u8>()) {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(capture) = parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert_eq!(parse(&write(&capture)).unwrap(), capture);
            }
        }
    }
}

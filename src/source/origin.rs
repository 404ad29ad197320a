//! [`Origin`]: the machine to read, and how to open it. Captures are recognized by content.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    SysRoot,
    capture::{MAGIC, TextRoot, format::MOST_TEXT},
    demo, import,
    root::{FolderRoot, LiveRoot},
};
use crate::text::Label;

/// Bytes that the longest content has which is opened: of a capture.
pub(crate) const MOST_READ: usize = MOST_TEXT;

/// The source of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Origin {
    /// This machine.
    #[default]
    Live,
    /// A built-in demo, by name.
    Demo(String),
    /// A capture file, or texts of lspci and other tools; `-` is standard input.
    Capture(PathBuf),
    /// A folder with `sys` and `proc` in it.
    Sysroot(PathBuf),
}

/// Why an origin could not be opened: one line that names the path and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {wrong}; {fix}")]
pub struct OpenError {
    /// The path or option.
    pub path: String,
    /// What is wrong.
    pub wrong: String,
    /// What to do.
    pub fix: String,
}

const MAKE_ONE: &str = "make a capture with `iodyno capture FILE` on that machine";

impl Origin {
    /// Opens it. A capture is read and checked whole.
    pub fn open(&self) -> Result<Arc<dyn SysRoot>, OpenError> {
        match self {
            Self::Live => Ok(Arc::new(LiveRoot::new())),
            Self::Demo(name) => open_demo(name),
            Self::Capture(path) => open_capture(path),
            Self::Sysroot(folder) => open_folder(folder),
        }
    }

    /// Whether it is this machine, the only one that can be tuned and tested.
    pub(crate) fn is_live(&self) -> bool {
        *self == Self::Live
    }

    /// Whether it is a built-in demo, where tests are simulated.
    pub(crate) fn is_demo(&self) -> bool {
        matches!(self, Self::Demo(_))
    }
}

fn error(path: impl AsRef<str>, wrong: impl Into<String>, fix: impl Into<String>) -> OpenError {
    OpenError { path: Label::new(path.as_ref()).to_string(), wrong: wrong.into(), fix: fix.into() }
}

fn open_demo(name: &str) -> Result<Arc<dyn SysRoot>, OpenError> {
    let path = format!("--demo {name}");
    let demo = demo::find(name).ok_or_else(|| error(&path, "no such demo", "`iodyno demos` lists them"))?;
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(root) = parsed.get(demo.name) {
        return Ok(Arc::clone(root));
    }
    let root = parse(&path, &demo.capture())?;
    parsed.insert(demo.name, Arc::clone(&root));
    Ok(root)
}

/// Demos by name, as far as they were opened: their files do not change.
static PARSED: Mutex<BTreeMap<&str, Arc<dyn SysRoot>>> = Mutex::new(BTreeMap::new());

fn open_folder(folder: &Path) -> Result<Arc<dyn SysRoot>, OpenError> {
    let path = folder.display().to_string();
    let fix = "name a folder that contains `sys` and `proc`";
    match fs::metadata(folder) {
        Err(failed) => Err(error(path, words(&failed), fix)),
        Ok(metadata) if !metadata.is_dir() => {
            Err(error(path, "is not a folder", "open capture files with --open"))
        }
        Ok(_) if !folder.join("sys").is_dir() => Err(error(path, "has no folder `sys`", fix)),
        Ok(_) => Ok(Arc::new(FolderRoot::new(folder))),
    }
}

fn open_capture(path: &Path) -> Result<Arc<dyn SysRoot>, OpenError> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    if path.is_dir() {
        return Err(error(name, "is a folder", "open a folder with `sys` and `proc` with --sysroot"));
    }
    let content = if is_stdin { read_some(io::stdin().lock()) } else { File::open(path).and_then(read_some) };
    let content =
        content.map_err(|failed| error(&name, words(&failed), "check the file and its permissions"))?;
    open_content(&name, &content)
}

/// Opens the content of a file: a capture, or texts of lspci and other tools.
pub fn open_content(name: &str, content: &[u8]) -> Result<Arc<dyn SysRoot>, OpenError> {
    let is_capture = content.starts_with(MAGIC.as_bytes());
    let most = if is_capture { MOST_TEXT } else { import::MOST };
    if content.len() > most {
        return Err(error(name, format!("longer than {} MiB", most >> 20), MAKE_ONE));
    }
    if !is_capture {
        return open_text(name, content);
    }
    match std::str::from_utf8(content) {
        Ok(text) => parse(name, text),
        Err(bad) => {
            let line = content[..bad.valid_up_to()].split(|byte| *byte == b'\n').count();
            Err(error(name, format!("line {line}: not UTF-8"), MAKE_ONE))
        }
    }
}

/// Opens texts of lspci and other tools.
fn open_text(name: &str, content: &[u8]) -> Result<Arc<dyn SysRoot>, OpenError> {
    if let Some((wrong, fix)) = packed(content) {
        return Err(error(name, wrong, fix));
    }
    match import::read(content) {
        Ok(Some(root)) => Ok(Arc::new(root)),
        Ok(None) => {
            let (wrong, fix) = recognise(content);
            Err(error(name, wrong, fix))
        }
        Err(wrong) => Err(error(name, wrong, "cut the text down to one machine")),
    }
}

fn read_some(source: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    source.take(MOST_READ as u64 + 1).read_to_end(&mut content)?;
    Ok(content)
}

fn parse(name: &str, text: &str) -> Result<Arc<dyn SysRoot>, OpenError> {
    match TextRoot::parse(text) {
        Ok(root) => Ok(Arc::new(root)),
        Err(wrong) => Err(error(name, wrong.to_string(), "correct that line or capture the machine again")),
    }
}

/// `No such file or directory`, without the number.
fn words(failed: &io::Error) -> String {
    let words = failed.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

/// An empty, compressed or packed file, and the fix.
fn packed(content: &[u8]) -> Option<(&'static str, &'static str)> {
    if content.is_empty() {
        Some(("is empty", MAKE_ONE))
    } else if content.starts_with(&[0x1f, 0x8b])
        || content.starts_with(b"\x28\xb5\x2f\xfd")
        || content.starts_with(b"\xfd7zXZ")
        || content.starts_with(b"BZh")
    {
        Some(("is compressed", "unpack it and open its content"))
    } else if content.get(257..262) == Some(b"ustar") {
        Some(("is a tar archive", "unpack it and open the folder with --sysroot"))
    } else {
        None
    }
}

/// What is wrong with other texts.
const NO_TEXT: &str = "contains no iodyno capture and no text that is read (lspci, nvme list, lsblk, fdisk -l, dmesg, /proc/interrupts)";

/// Guesses the kind of a text without a listing, and the fix.
fn recognise(content: &[u8]) -> (Cow<'static, str>, &'static str) {
    let start = content.trim_ascii_start();
    if content.contains(&0) && str::from_utf8(content).is_err() {
        ("is a binary file, which cannot be opened".into(), MAKE_ONE)
    } else if start.starts_with(b"{") || is_array(start) {
        match broken_json(start) {
            Some(wrong) => (format!("is no valid JSON: {wrong}").into(), "correct that line"),
            None => ("looks like JSON results, which cannot be opened".into(), MAKE_ONE),
        }
    } else if ["LnkCap:", "LnkSta:"].iter().any(|word| String::from_utf8_lossy(content).contains(word)) {
        (
            "has links without the functions they belong to".into(),
            "keep the functions' lines too: `sudo lspci -vv | grep -E '^[0-9a-f]|Lnk'`",
        )
    } else {
        (NO_TEXT.into(), MAKE_ONE)
    }
}

/// Whether a text begins as an array of documents: `[    1.863361] usb` of the kernel does not.
fn is_array(start: &[u8]) -> bool {
    let inside = start.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.is_empty() || inside.starts_with(b"{") || inside.starts_with(b"]"))
}

/// Why a document is no JSON. Larger ones take too much memory to be parsed for this.
fn broken_json(content: &[u8]) -> Option<String> {
    const MOST: usize = 1 << 20;
    if content.len() <= MOST { import::broken_json(content) } else { None }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn complaint(origin: &Origin) -> String {
        origin.open().err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn capture(content: &[u8]) -> (tempfile::NamedTempFile, String) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let path = file.path().to_owned();
        let prefix = format!("{}: ", path.display());
        let said = complaint(&Origin::Capture(path));
        let said = said.strip_prefix(&prefix).unwrap_or(&said).to_owned();
        (file, said)
    }

    #[test]
    fn a_capture_opens_and_answers() {
        let (file, said) = capture(b"iodyno capture 1\n\nfile /a x\n");
        assert_eq!(said, "");
        let root = Origin::Capture(file.path().to_owned()).open().unwrap();
        assert_eq!(root.read("/a").unwrap(), b"x\n");
    }

    #[test]
    fn every_other_file_is_told_apart_in_one_line_with_a_fix() {
        for (content, wrong) in [
            (&b""[..], "is empty; make a capture"),
            (b"\x1f\x8b\x08\0", "is compressed; unpack it"),
            (b"{\"schema\": 1}", "looks like JSON"),
            (b"[    1.863361] usb 1-1.1: new device\n", "contains no iodyno capture"),
            (b"[3\xee\xe8\0\xdd", "is a binary file"),
            (b"\t\tLnkSta: Speed 8GT/s, Width x4\n", "has links without the functions they belong to; keep"),
            (
                b"hello",
                "contains no iodyno capture and no text that is read (lspci, nvme list, lsblk, fdisk -l, dmesg, /proc/interrupts); make",
            ),
            (b"iodyno capture 9\n", "line 1: format \"9\""),
            (b"iodyno capture 1\n\nfile /a \xff\n", "line 3: not UTF-8"),
            (
                b"iodyno capture 1\n\nfile a x\n",
                "line 3: \"a\" is not a plain absolute path; correct that line",
            ),
        ] {
            let (_file, said) = capture(content);
            assert!(said.starts_with(wrong), "{said}");
            assert!(!said.contains('\n') && said.contains("; "), "{said}");
        }
    }

    #[test]
    fn folders_and_missing_files_say_which_option_was_meant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        assert!(complaint(&Origin::Capture(path.clone())).ends_with("with --sysroot"));
        assert!(complaint(&Origin::Sysroot(path.clone())).contains("has no folder `sys`"));
        assert!(
            complaint(&Origin::Sysroot(path.join("none"))).contains("none: No such file or directory; name")
        );
        assert!(complaint(&Origin::Capture(path.join("none"))).contains("No such file or directory; check"));
        assert_eq!(
            complaint(&Origin::Demo("none\u{1b}[2J".to_owned())),
            "--demo none\u{fffd}[2J: no such demo; `iodyno demos` lists them"
        );
    }
}

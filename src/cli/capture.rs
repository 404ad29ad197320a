//! `iodyno capture`: all values read, in one text file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
};

use clap::Args;

use super::{
    failure::{Complaint, Failure, Status, words},
    print,
};
use crate::{
    redact::capture_text,
    source::{
        self,
        capture::{MAGIC, Recorder},
        origin::Origin,
    },
};

#[derive(Debug, Args)]
pub(super) struct CaptureArgs {
    /// Output file; default or `-` is standard output
    file: Option<PathBuf>,
    /// Keep serials, host and user names, mount paths and addresses
    #[arg(long)]
    with_serials: bool,
}

pub(super) fn run(origin: &Origin, args: &CaptureArgs) -> Result<Status, Failure> {
    let root = origin.open()?;
    let recorder = Recorder::new(root.as_ref());
    source::read_machine(&recorder);
    source::counters::read(&recorder);
    let text = capture_text(&recorder, args.with_serials);
    match &args.file {
        Some(file) if file != Path::new("-") => {
            replace(file, &text)?;
            Ok(Status::Done)
        }
        _ => print(&text),
    }
}

/// Writes `text` to `path` atomically. Only a capture or an empty regular file is replaced.
fn replace(path: &Path, text: &str) -> Result<(), Complaint> {
    let complain = |wrong: &str, fix: &str| Complaint::new(path.to_string_lossy(), wrong, fix);
    let failed = |error: &io::Error| complain(&words(error), "choose a writable folder and file name");
    // The target of a link is replaced, not the link.
    let target = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(complain("is not a regular file", "name a new file, or none for standard output"));
        }
        Ok(_) if !is_ours(path).map_err(|error| failed(&error))? => {
            return Err(complain("exists and is not a capture", "choose another name"));
        }
        Ok(_) => fs::canonicalize(path).map_err(|error| failed(&error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(failed(&error)),
    };
    let unfinished = Unfinished::beside(&target);
    unfinished.write(text).and_then(|()| fs::rename(&unfinished.0, &target)).map_err(|error| failed(&error))
}

/// Whether the file is a capture or empty.
fn is_ours(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start.is_empty() || start == MAGIC.as_bytes())
}

/// A temporary file; removed on drop unless it was renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(target: &Path) -> Self {
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}", process::id()));
        Self(target.with_file_name(name))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&self.0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is gone if it was renamed; other errors cannot be reported here.
        let _ = fs::remove_file(&self.0);
    }
}

//! Opens another machine for the screen: a file, a folder or a pasted text. Blocks, so it runs on a thread of its own.

use std::{fs, path::PathBuf};

use super::startup;
use crate::{
    app::{Mode, Opened},
    model::Failed,
    source::{
        SysRoot,
        origin::{self, Origin},
    },
    text::Label,
    ui::Opening,
};

/// Reads the machine to open; an error is one line with its fix. `None` for the machine that is there.
pub(super) fn open(opening: Opening) -> Option<Result<Opened, Failed>> {
    match opening {
        Opening::First => None,
        Opening::File(path) => Some(file(expanded(path))),
        Opening::Text(text) => {
            let name = "pasted text";
            Some(read(
                name,
                Mode::Capture,
                &origin::open_content(name, text.as_bytes()).map_err(|error| failed(&error)),
            ))
        }
    }
}

/// A regular file or a folder: reading a pipe or a device would wait, or read a drive.
fn file(path: PathBuf) -> Result<Opened, Failed> {
    let name = Label::new(&path.to_string_lossy()).to_string();
    let wrong = |why: &str, fix: &str| Failed::new(format!("{name}: {why}; {fix}"), None);
    let metadata = fs::metadata(&path).map_err(|error| {
        let words = error.to_string();
        wrong(words.split(" (os error").next().unwrap_or_default(), "check the name")
    })?;
    let (mode, origin) = if metadata.is_dir() {
        (Mode::Folder, Origin::Sysroot(path))
    } else if metadata.is_file() {
        (Mode::Capture, Origin::Capture(path))
    } else {
        return Err(wrong(
            "is neither a file nor a folder",
            "name a capture, a text of lspci or a folder with `sys`",
        ));
    };
    read(&name, mode, &origin.open().map_err(|error| failed(&error)))
}

fn read(
    name: &str,
    mode: Mode,
    root: &Result<std::sync::Arc<dyn SysRoot>, Failed>,
) -> Result<Opened, Failed> {
    let root = root.as_ref().map_err(Clone::clone)?;
    let read = startup::read_or_refuse(&**root).map_err(|error| failed(&error))?;
    Ok(Opened { name: name.to_owned(), mode, read })
}

fn failed(error: &origin::OpenError) -> Failed {
    Failed::new(error.to_string(), None)
}

/// `~/file` in the user's folder; `-` is a file of that name, for standard input has the keys.
pub(super) fn expanded(path: PathBuf) -> PathBuf {
    if path.as_os_str() == "-" {
        return PathBuf::from("./-");
    }
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path,
    }
}

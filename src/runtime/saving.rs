//! Saves pictures and sheets in the current folder.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    iter,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::{model::Failed, text::Label};

/// Readable by its owner only: a picture shows the serials, names and paths that the screen shows.
const PRIVATE: u32 = 0o600;

/// Writes `text` to a new file `iodyno-WORD-DATE-TIME.ENDING` in `folder`; its absolute path. Existing files stay.
pub(super) fn save(folder: &Path, word: &str, ending: &str, text: &str) -> Result<String, Failed> {
    save_at(folder, word, ending, text, &jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string())
}

fn save_at(folder: &Path, word: &str, ending: &str, text: &str, time: &str) -> Result<String, Failed> {
    let numbered = (2..100).map(|again| format!("iodyno-{word}-{time}-{again}.{ending}"));
    for name in iter::once(format!("iodyno-{word}-{time}.{ending}")).chain(numbered) {
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path) {
            Ok(mut file) => {
                let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
                return match written {
                    Ok(()) => {
                        let path = std::path::absolute(&path).unwrap_or(path);
                        Ok(Label::new(&path.to_string_lossy()).to_string())
                    }
                    Err(error) => {
                        // A partial file is useless; the error is reported in any case.
                        let _ = std::fs::remove_file(&path);
                        Err(refused(&path, &error))
                    }
                };
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(&path, &error)),
        }
    }
    let line = format!("{}: 100 files of this second exist; wait a second", folder.display());
    Err(Failed::new(line, None))
}

fn refused(path: &Path, error: &io::Error) -> Failed {
    let line = format!("{}: {error}; start iodyno in a writable folder", path.display());
    Failed::new(line, error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn what_is_there_stays_and_the_next_one_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let save = |text: &str| save_at(folder.path(), "dyno", "svg", text, "20261121-101112");
        let path = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(save("one").unwrap(), path("iodyno-dyno-20261121-101112.svg"));
        assert_eq!(save("two").unwrap(), path("iodyno-dyno-20261121-101112-2.svg"));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("iodyno-dyno-20261121-101112.svg"), "one");
        assert_eq!(read("iodyno-dyno-20261121-101112-2.svg"), "two");
    }

    #[test]
    fn what_a_screen_saves_is_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        for (word, ending) in [("machine", "svg"), ("sheet", "md"), ("udev", "rules")] {
            let path = save(folder.path(), word, ending, "serial S4EWNX0M").unwrap();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path}");
        }
    }

    #[test]
    fn a_folder_that_is_none_is_one_line_with_its_fix() {
        let said = save(Path::new("/nowhere"), "dyno", "svg", "").unwrap_err().to_string();
        assert!(
            said.starts_with("/nowhere/iodyno-dyno-") && said.contains("; start iodyno in a writable folder"),
            "{said}"
        );
    }
}

//! Where the file is, and whose is read under sudo: by the rules of the state folder.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::store::Caller;

/// The file of this user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Found {
    /// Its path; `None` without a home.
    pub path: Option<PathBuf>,
    /// Its text; `None` if there is no such file.
    pub text: Option<String>,
}

/// A configuration longer than this is none.
const MOST: u64 = 64 << 10;

/// `iodyno/config.toml` in `XDG_CONFIG_HOME`, else in `.config` of `HOME` or of the user's home in the password database.
///
/// Under sudo, doas and pkexec the environment may be the caller's: a folder there is used only if it belongs to the effective
/// user or root, as the state folder's is. Else the file of the effective user is read.
pub(crate) fn find(caller: &Caller<'_>) -> Option<PathBuf> {
    let below = |home: PathBuf| home.join(".config");
    let set = |name: &str| {
        let value = (caller.variable)(name).filter(|value| value.starts_with('/'))?;
        Some(PathBuf::from(value)).filter(|path| caller.is_trusted(path))
    };
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(below));
    let folder = folder.or_else(|| (caller.home)(caller.user).map(below))?;
    Some(folder.join("iodyno/config.toml"))
}

/// The file of this process' user.
///
/// # Errors
/// It exists and cannot be read: the path and why.
pub(crate) fn of_process() -> Result<Found, (PathBuf, io::Error)> {
    let Some(path) = crate::store::with_caller(find) else { return Ok(Found::default()) };
    match content(&path) {
        Ok(text) => Ok(Found { path: Some(path), text: Some(text) }),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Found { path: Some(path), text: None })
        }
        // After a change of user, HOME may be a folder that this one cannot even look into.
        Err(_) if fs::symlink_metadata(&path).is_err() => Ok(Found { path: Some(path), text: None }),
        Err(error) => Err((path, error)),
    }
}

/// The text of a regular file; a pipe is not waited for.
fn content(path: &Path) -> io::Result<String> {
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("not a regular file"));
    }
    if metadata.len() > MOST {
        return Err(refused("larger than 64 KiB"));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_users_own_and_under_sudo_not_the_callers() {
        let found = |user: u32, set: &[(&str, &str)]| {
            find(&Caller {
                user,
                variable: &|name| set.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned()),
                owner: &|path| match path.to_str()? {
                    "/home/ann" => Some(1000),
                    "/root" | "/etc" => Some(0),
                    _ => None,
                },
                home: &|user| Some(PathBuf::from(if user == 0 { "/root" } else { "/home/ann" })),
                absolute: &|_| None,
            })
            .map(|path| path.display().to_string())
        };
        let is = |path: &str| Some(path.to_owned());
        assert_eq!(found(1000, &[("HOME", "/home/ann")]), is("/home/ann/.config/iodyno/config.toml"));
        assert_eq!(found(1000, &[("XDG_CONFIG_HOME", "/home/ann/x")]), is("/home/ann/x/iodyno/config.toml"));
        assert_eq!(found(1000, &[("XDG_CONFIG_HOME", "x")]), is("/home/ann/.config/iodyno/config.toml"));
        let sudo = [("SUDO_UID", "1000"), ("HOME", "/home/ann"), ("XDG_CONFIG_HOME", "/home/ann/x")];
        assert_eq!(found(0, &sudo), is("/root/.config/iodyno/config.toml"));
        assert_eq!(
            found(0, &[("SUDO_UID", "1000"), ("XDG_CONFIG_HOME", "/etc")]),
            is("/etc/iodyno/config.toml")
        );
    }

    #[test]
    fn only_a_regular_file_is_read() {
        assert!(content(Path::new("/dev/null")).is_err_and(|why| why.to_string() == "not a regular file"));
        assert!(content(Path::new("/")).is_err());
    }
}

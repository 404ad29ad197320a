//! Where the file is, and whose is read under sudo: by the rules of the state folder.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::trust::{IsPrivate, is_private_group, keeps, objection};
use crate::{model::error_words, store::Caller};

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
        let path = PathBuf::from((caller.variable)(name)?);
        Some(path).filter(|path| path.is_absolute() && caller.is_trusted(path))
    };
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(below));
    let folder = folder.or_else(|| (caller.home)(caller.user).map(below))?;
    Some(folder.join("iodyno/config.toml"))
}

/// A file that exists and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Its path, or that of the folder; with a line, if one is to blame.
    pub place: String,
    /// The reason.
    pub why: String,
    /// The remedy.
    pub fix: &'static str,
}

impl Unread {
    fn new(place: &Path, why: impl Into<String>, fix: &'static str) -> Self {
        Self { place: place.display().to_string(), why: why.into(), fix }
    }
}

/// The file of this process' user.
///
/// # Errors
/// It exists and cannot be read.
pub(crate) fn of_process() -> Result<Found, Unread> {
    let (found, user) = crate::store::with_caller(|caller| (find(caller), caller.user));
    let Some(path) = found else { return Ok(Found::default()) };
    let text = text(&path, user, &is_private_group)?;
    if text.is_none() {
        path.ancestors().nth(2).map_or(Ok(()), is_folder)?;
    }
    Ok(Found { path: Some(path), text })
}

/// The text of a regular file of this user or of root, in a folder of one of them, to which no other user can write; `None`
/// without one. The same holds for the folders of links to it. A pipe is not waited for.
fn text(path: &Path, user: u32, is_private: IsPrivate<'_>) -> Result<Option<String>, Unread> {
    let unread = |why: &str, fix| Unread::new(path, why, fix);
    let file = match opened(path) {
        Ok(file) => file,
        Err(error) => return absent(path, &error),
    };
    let metadata = file.metadata().map_err(|error| unread(&error_words(&error), "remove it"))?;
    if !metadata.is_file() {
        return Err(unread("not a regular file", "remove it"));
    }
    let object = |place: &Path, metadata: &fs::Metadata, is_private: IsPrivate<'_>| {
        let objection = objection(metadata, user, is_private);
        objection.map_or(Ok(()), |(why, fix)| Err(Unread::new(place, why, fix)))
    };
    object(path, &metadata, is_private)?;
    for entry in ways(path) {
        let Some((folder, metadata)) = entry.parent().and_then(|at| Some((at, fs::metadata(at).ok()?)))
        else {
            continue;
        };
        let is_kept = entry != path && keeps(&metadata, &entry, user);
        object(folder, &metadata, &|group, user| is_kept || is_private(group, user))?;
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unread(&error_words(&error), "remove it"))?;
    if bytes.len() as u64 > MOST {
        return Err(unread("larger than 64 KiB", "shorten it"));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        Unread { place: format!("{}:{line}", path.display()), ..unread("not UTF-8", "correct it") }
    })
}

/// The file and, where it is a link, each file on the way to the last one.
fn ways(path: &Path) -> impl Iterator<Item = PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let followed = |at: &PathBuf| {
        let target = at.parent()?.join(fs::read_link(at).ok()?);
        // Without `..`, as the reason names the folder.
        let folder = fs::canonicalize(target.parent()?).ok()?;
        Some(folder.join(target.file_name()?))
    };
    std::iter::successors(Some(path.to_owned()), followed).take(MOST_LINKS)
}

fn opened(path: &Path) -> io::Result<fs::File> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Why a file cannot be opened; nothing if there is none.
fn absent(path: &Path, error: &io::Error) -> Result<Option<String>, Unread> {
    match fs::symlink_metadata(path) {
        Ok(link) if link.is_symlink() => Err(broken(path, error)),
        Ok(_) => Err(Unread::new(path, error_words(error), "correct its permissions or remove it")),
        // After a change of user, HOME may be a folder that this one cannot even look into.
        Err(_) => path.parent().map_or(Ok(()), is_folder).map(|()| None),
    }
}

/// Whether it is a folder, or is not there.
fn is_folder(place: &Path) -> Result<(), Unread> {
    match (fs::symlink_metadata(place), fs::metadata(place)) {
        (Ok(link), Err(error)) if link.is_symlink() => Err(broken(place, &error)),
        (Ok(_), Ok(target)) if !target.is_dir() => Err(Unread::new(place, "not a folder", "move it away")),
        _ => Ok(()),
    }
}

fn broken(link: &Path, error: &io::Error) -> Unread {
    let why = format!("a link that cannot be followed: {}", error_words(error));
    Unread::new(link, why, "correct or remove it")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write files of their own")]

    use std::{
        fs::Permissions,
        os::unix::fs::{PermissionsExt, chown},
    };

    use rustix::process::geteuid;

    use super::*;

    #[test]
    fn the_file_is_the_users_own_and_under_sudo_not_the_callers() {
        let found = |user: u32, set: &[(&str, &str)]| {
            find(&Caller {
                user,
                variable: &|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()),
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
    fn a_file_or_a_folder_of_another_user_is_not_read() {
        if !geteuid().is_root() {
            println!("skipped: only root gives files away");
            return;
        }
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().join("iodyno");
        let path = folder.join("config.toml");
        fs::create_dir(&folder).unwrap();
        fs::write(&path, "").unwrap();
        let owned = |folder_of: u32, file_of: u32, user: u32| {
            chown(&folder, Some(folder_of), None).unwrap();
            chown(&path, Some(file_of), None).unwrap();
            text(&path, user, &|_, _| true).map_err(|unread| (unread.place, unread.why))
        };
        let not_of = |place: &Path, user: u32, other: u32| {
            Err((place.display().to_string(), format!("belongs to user {other}, not to user {user}")))
        };
        for (folder_of, file_of, user) in [(0, 0, 0), (0, 0, 1000), (1000, 1000, 1000), (1000, 0, 1000)] {
            assert_eq!(owned(folder_of, file_of, user), Ok(Some(String::new())));
        }
        assert_eq!(owned(0, 1000, 0), not_of(&path, 0, 1000));
        assert_eq!(owned(1000, 0, 0), not_of(&folder, 0, 1000));
        assert_eq!(owned(1000, 1001, 1000), not_of(&path, 1000, 1001));
    }

    #[test]
    fn a_file_or_a_folder_that_others_can_write_to_is_not_read() {
        let held = tempfile::tempdir().unwrap();
        let folder = held.path().join("iodyno");
        let path = folder.join("config.toml");
        fs::create_dir(&folder).unwrap();
        fs::write(&path, "").unwrap();
        let place = |folder_mode: u32, mode: u32, is_private: bool| {
            fs::set_permissions(&folder, Permissions::from_mode(folder_mode)).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            text(&path, geteuid().as_raw(), &|_, _| is_private).map_err(|unread| PathBuf::from(unread.place))
        };
        let read = Ok(Some(String::new()));
        assert_eq!((place(0o755, 0o644, false), place(0o775, 0o664, true)), (read.clone(), read));
        assert_eq!(place(0o755, 0o664, false), Err(path.clone()));
        assert_eq!(place(0o775, 0o644, false), Err(folder.clone()));
        assert_eq!(place(0o777, 0o644, true), Err(folder.clone()));
        assert_eq!(place(0o755, 0o666, true), Err(path.clone()));
    }

    #[test]
    fn a_link_to_a_file_in_a_folder_that_others_can_write_to_is_not_read() {
        let held = tempfile::tempdir().unwrap();
        let held = held.path().canonicalize().unwrap();
        let [own, open, closed] = ["iodyno", "open", "closed"].map(|name| held.join(name));
        for folder in [&own, &open, &closed] {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
            fs::write(folder.join("file"), "").unwrap();
        }
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let path = own.join("config.toml");
        let linked = |target: &Path| {
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).unwrap();
            text(&path, geteuid().as_raw(), &|_, _| false)
                .map_err(|unread| (PathBuf::from(unread.place), unread.why))
        };
        let refused = Err((open.clone(), "every user can write to it".to_owned()));
        assert_eq!(linked(&closed.join("file")), Ok(Some(String::new())));
        assert_eq!(linked(&open.join("file")), refused);
        assert_eq!(linked(Path::new("../open/file")), refused);
        std::os::unix::fs::symlink("../closed/file", open.join("link")).unwrap();
        assert_eq!(linked(&open.join("link")), refused, "a link on the way");
        for (mode, is_read) in [(0o775, false), (0o1775, true), (0o1777, false)] {
            fs::set_permissions(&open, Permissions::from_mode(mode)).unwrap();
            assert_eq!(linked(&open.join("file")).is_ok(), is_read, "{mode:o}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let text = |path: &Path| text(path, geteuid().as_raw(), &|_, _| true);
        let said = |path: &Path| {
            let unread = text(path).unwrap_err();
            (unread.place, unread.why, unread.fix)
        };
        assert_eq!(text(&path), Ok(None));
        assert_eq!(
            said(Path::new("/dev/null")),
            ("/dev/null".into(), "not a regular file".into(), "remove it")
        );
        assert_eq!(said(folder.path()).1, "not a regular file");
        fs::write(&path, b"theme = \"dark\"\n\nunits = \"\xff\"\n").unwrap();
        assert_eq!(said(&path), (format!("{}:3", path.display()), "not UTF-8".into(), "correct it"));
        fs::write(&path, "#".repeat(65 << 10)).unwrap();
        assert_eq!((said(&path).1.as_str(), said(&path).2), ("larger than 64 KiB", "shorten it"));
        let below = path.join("config.toml");
        assert_eq!(said(&below), (path.display().to_string(), "not a folder".into(), "move it away"));
        assert_eq!(text(&below.join("x")), Ok(None), "a HOME that is a file is none");
        for target in ["gone", "link"] {
            let link = folder.path().join("link");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            let said = said(&link);
            assert!(said.1.starts_with("a link that cannot be followed: "), "{said:?}");
            let below = self::text(&link.join("config.toml"), 0, &|_, _| true).unwrap_err();
            assert_eq!((below.place, below.why), (said.0, said.1), "as a folder");
            assert!(is_folder(&link).is_err(), "as the folder of all configurations");
        }
    }
}

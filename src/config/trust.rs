//! Whether a user but the owner can write to a file or a folder of the configuration.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// Whether only one user is in a group: its number and the user's.
pub(super) type IsPrivate<'a> = &'a dyn Fn(u32, u32) -> bool;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Why the content may be another user's, with the remedy: it belongs to neither this user nor root, or others can write to it.
/// With a umask of 002 the group can, in which a user is alone on most systems.
pub(super) fn objection(
    metadata: &Metadata,
    user: u32,
    is_private: IsPrivate<'_>,
) -> Option<(String, &'static str)> {
    let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode());
    if owner != user && owner != 0 {
        let why = format!("belongs to user {owner}, not to user {user}");
        return Some((why, "check its contents, then `chown` it"));
    }
    let fix = "check its contents, then `chmod go-w` it";
    if mode & OTHERS_WRITE != 0 {
        return Some(("every user can write to it".to_owned(), fix));
    }
    let is_shared = mode & GROUP_WRITES != 0 && !is_private(group, user) && !is_private(group, owner);
    is_shared.then(|| (format!("group {group} can write to it"), fix))
}

/// Whether a folder in which a group can write, as /nix/store, keeps an entry of this user or root: with the sticky bit, the
/// group cannot replace it.
pub(super) fn keeps(folder: &Metadata, entry: &Path, user: u32) -> bool {
    let is_own = |entry: Metadata| entry.uid() == user || entry.uid() == 0;
    folder.mode() & STICKY != 0 && fs::symlink_metadata(entry).is_ok_and(is_own)
}

/// Whether a group is the primary group of this user and of no other, by the files of this machine.
pub(super) fn is_private_group(group: u32, user: u32) -> bool {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    is_private(group, user, &text("/etc/passwd"), &text("/etc/group"))
}

/// The same by passwd(5) and group(5). A user of a directory service is in neither: its private group has its number.
fn is_private(group: u32, user: u32, passwd: &str, groups: &str) -> bool {
    let fields = |line: &'_ str| -> Vec<String> { line.split(':').map(str::to_owned).collect() };
    let is = |fields: &[String], at: usize, number: u32| fields.get(at) == Some(&number.to_string());
    let users: Vec<_> = passwd.lines().map(fields).collect();
    let own = users.iter().find(|fields| is(fields, 2, user));
    let is_primary = own.map_or(group == user, |fields| is(fields, 3, group));
    let name = own.and_then(|fields| fields.first());
    let is_of_others = users.iter().any(|fields| is(fields, 3, group) && !is(fields, 2, user));
    let mut members = groups.lines().map(fields).filter(|fields| is(fields, 2, group));
    let is_member = |member: &str| !member.is_empty() && name.is_none_or(|name| name != member);
    let has_members =
        members.any(|fields| fields.get(3).is_some_and(|members| members.split(',').any(is_member)));
    is_primary && !is_of_others && !has_members
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    const PASSWD: &str = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n\
                          bob:x:1001:100::/home/bob:/bin/sh\neve:x:1002:100::/home/eve:/bin/sh\n\
                          kim:x:1003:1003::/home/kim:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nusers:x:100:\nann:x:1000:ann\nkim:x:1003:kim,eve\nwheel:x:10:\n";

    #[test]
    fn a_group_is_private_to_a_user_who_is_alone_in_it() {
        let private = |group, user| is_private(group, user, PASSWD, GROUP);
        assert!(private(1000, 1000) && private(0, 0));
        assert!(!private(100, 1001), "the primary group of two");
        assert!(!private(1003, 1003), "it has another member");
        assert!(!private(1000, 1001) && !private(10, 1000), "another user's, or an additional one");
        assert!(private(70_000, 70_000) && !private(70_001, 70_000), "of a directory service");
    }

    #[test]
    fn what_others_can_write_to_is_objected_to_with_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let own = file.as_file().metadata().unwrap();
        let (user, group) = (own.uid(), own.gid());
        let why = |mode: u32, is_private: bool| {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            objection(&file.as_file().metadata().unwrap(), user, &|_, _| is_private)
        };
        let fix = "check its contents, then `chmod go-w` it";
        assert_eq!((why(0o644, false), why(0o600, false), why(0o664, true)), (None, None, None));
        assert_eq!(why(0o664, false), Some((format!("group {group} can write to it"), fix)));
        assert_eq!(why(0o666, true), Some(("every user can write to it".to_owned(), fix)));
    }
}

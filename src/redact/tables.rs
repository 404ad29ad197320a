//! Redacts tables and lines with names: mounts, swap, the kernel command line.

use std::net::IpAddr;

use super::{Redactor, pseudonyms::Shape};

/// Folders that every system has; all other parts of a path are replaced.
const COMMON: &str = "\
    bin boot efi EFI esp dev etc home lib lib64 media mnt opt proc root run sbin snap snapd srv sys tmp usr \
    var local share log cache shm pts mqueue hugepages user lock credentials cgroup unified systemd fs \
    kernel debug tracing security config fuse connections pstore bpf firmware efivars selinux binfmt_misc \
    data scratch docker containers containerd overlay overlay2 overlayfs merged netns rpc_pipefs nfs nfsd \
    storage images libvirt machines backup swap swapfile swap.img games doc mapper disk cpu cpuacct cpuset \
    memory devices freezer blkio pids ubuntu-software snapshots .snapshots ROOT rpool bpool zroot";

/// File systems whose source is a fixed word, not a server or a path.
const KERNEL_SOURCES: &str = "\
    proc sysfs devtmpfs tmpfs devpts cgroup cgroup2 securityfs debugfs tracefs configfs fusectl pstore bpf \
    hugetlbfs mqueue efivarfs autofs binfmt_misc selinuxfs ramfs rpc_pipefs nsfs overlay rootfs squashfs \
    nfsd";

/// Mount options whose values are names or secrets.
const NAMING_OPTIONS: &str =
    "user username domain addr mountaddr clientaddr unc share host secret password pass";

/// Arguments of the kernel whose values are names, labels or short ids.
const NAMING_ARGUMENTS: &str =
    "ip nfsroot hostname systemd.hostname ifname bridge bond vlan netroot netdev user";

/// Words in `ip=` and similar arguments that are not names.
const COMMON_WORDS: &str = "dhcp dhcp4 dhcp6 on off any none both auto auto6 bootp rarp tcp nfs vers";

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// A line of measured limits. The third word of an `alone` line is a serial number, also of a drive that is gone.
pub(super) fn measured_limit(redactor: &mut Redactor, line: &str) -> String {
    let mut other = |text: &str| {
        let text = redactor.sweep(text);
        super::patterns::addresses(&mut redactor.pseudonyms, &text)
    };
    match line.splitn(4, ' ').collect::<Vec<_>>().as_slice() {
        ["alone", model, serial, rest] => {
            let (model, rest) = (other(model), other(rest));
            format!("alone {model} {} {rest}", redactor.whole(serial, Shape::Text))
        }
        _ => other(line),
    }
}

/// Users in paths: the part after `/home/`, `/run/media/`, `/media/`.
pub(super) fn users(text: &str) -> Vec<String> {
    let mut users = Vec::new();
    for prefix in ["/home/", "/media/"] {
        let mut rest = text;
        while let Some(at) = rest.find(prefix) {
            rest = &rest[at + prefix.len()..];
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '/' | ',' | ':' | '\\'))
                .unwrap_or(rest.len());
            let user = &rest[..end];
            if user.chars().any(char::is_alphanumeric) && !is_in(COMMON, user) {
                users.push(user.to_owned());
            }
        }
    }
    users
}

/// A mount table, a list of swap files or fstab: fields between white space.
pub(super) fn mounts(redactor: &mut Redactor, table: &str) -> String {
    table.split_inclusive('\n').map(|line| line_of_mounts(redactor, line)).collect()
}

/// The lines of [`crate::source::open_files::PROBE`]: mount points, exported files, targets and pools contain names.
pub(super) fn device_users(redactor: &mut Redactor, lines: &str) -> String {
    lines
        .split_inclusive('\n')
        .map(|line| {
            // Indexes of the words with names.
            let is_chosen = |index: usize| match line.split(' ').next() {
                Some("mount") => index == 3,
                Some("export-file") => index == 1 || index > 2,
                Some("export") => index > 2,
                Some("pool") => index > 1,
                _ => false,
            };
            let replaced = line.split_inclusive(' ').enumerate().map(|(index, word)| {
                if is_chosen(index) { words(redactor, word) } else { redactor.worldly(word) }
            });
            replaced.collect::<String>()
        })
        .collect()
}

fn line_of_mounts(redactor: &mut Redactor, line: &str) -> String {
    // The heading of /proc/swaps.
    if line.starts_with("Filename") {
        return line.to_owned();
    }
    // mountinfo: the type and the source follow a dash; mounts and fstab: the source comes first.
    let mut fields: Vec<String> = Vec::new();
    let mut behind_dash: Option<usize> = None;
    let is_mountinfo = line.contains(" - ");
    for (index, field) in line.split_inclusive([' ', '\t']).enumerate() {
        let word = field.trim_end();
        let is_source = if is_mountinfo { behind_dash == Some(index.wrapping_sub(2)) } else { index == 0 };
        let replaced = field_of_mounts(redactor, word, is_source);
        if word == "-" && behind_dash.is_none() {
            behind_dash = Some(index);
        }
        fields.push(replaced + &field[word.len()..]);
    }
    fields.concat()
}

fn field_of_mounts(redactor: &mut Redactor, field: &str, is_source: bool) -> String {
    let is_device = field.starts_with("/dev/") && !field.contains("/by-");
    if is_device {
        return redactor.worldly(field);
    }
    if field.starts_with('/') {
        return words(redactor, field);
    }
    if is_source && !is_in(KERNEL_SOURCES, field) && field != "none" && !field.starts_with('#') {
        if let Some((tag, value)) = field.split_once('=') {
            return format!("{tag}={}", words(redactor, value));
        }
        return words(redactor, field);
    }
    let options = field.split(',').map(|option| match option.split_once('=') {
        Some((name, value)) if is_in(NAMING_OPTIONS, name) => format!("{name}={}", words(redactor, value)),
        Some((name, value)) if value.contains('/') => format!("{name}={}", words(redactor, value)),
        _ => redactor.worldly(option),
    });
    options.collect::<Vec<_>>().join(",")
}

/// Replaces every word that is neither common nor a number: folders, servers, shares, labels.
pub(super) fn words(redactor: &mut Redactor, text: &str) -> String {
    let parts = text.split_inclusive(is_gap).map(|part| {
        let name = part.trim_end_matches(is_gap);
        let is_common = is_in(COMMON, name) || is_in(COMMON_WORDS, name) || is_number(name);
        let replaced = if is_common || name.parse::<IpAddr>().is_ok() {
            redactor.worldly(name)
        } else {
            // Serials, ids and addresses have their own pseudonyms everywhere.
            let swept = redactor.sweep(name);
            let swept = if swept == name { single_words(redactor, name) } else { redactor.named(&swept) };
            if name.is_empty() { String::new() } else { swept }
        };
        replaced + &part[name.len()..]
    });
    parts.collect()
}

/// Whether a character ends the name of a folder, server or share.
fn is_gap(c: char) -> bool {
    matches!(c, '/' | ':' | '@' | ',' | '[' | ']' | '=' | '\n')
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Replaces runs of letters and digits, except octal escapes like `\040`.
fn single_words(redactor: &mut Redactor, name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let escape = rest.get(..4).filter(|escape| {
            escape.starts_with('\\') && escape.bytes().skip(1).all(|digit| (b'0'..=b'7').contains(&digit))
        });
        let end = match escape {
            Some(escape) => escape.len(),
            None if c.is_alphanumeric() => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            None => c.len_utf8(),
        };
        let (word, tail) = rest.split_at(end);
        let is_word = escape.is_none() && c.is_alphanumeric() && !is_in(COMMON, word) && !is_number(word);
        if is_word {
            out.push_str(&redactor.pseudonyms.of(word, Shape::Text));
        } else {
            out.push_str(word);
        }
        rest = tail;
    }
    out
}

/// `Linux version 6.1.0 (user@host) (gcc ...) #1 ...`: replaces user and host of the build.
pub(super) fn kernel_version(redactor: &mut Redactor, line: &str) -> String {
    let builder = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(builder, _)| builder);
    match builder.filter(|builder| builder.contains('@')) {
        Some(builder) => line.replacen(builder, &words(redactor, builder), 1),
        None => redactor.worldly(line),
    }
}

pub(super) fn command_line(redactor: &mut Redactor, line: &str) -> String {
    line.split_inclusive([' ', '\n'])
        .map(|piece| {
            let word = piece.trim_end();
            argument(redactor, word) + &piece[word.len()..]
        })
        .collect()
}

fn argument(redactor: &mut Redactor, word: &str) -> String {
    for tag in ["PARTUUID=", "PARTLABEL=", "UUID=", "LABEL=", "ZFS="] {
        if let Some((before, value)) = word.split_once(tag) {
            return format!("{before}{tag}{}", words(redactor, value));
        }
    }
    match word.split_once('=') {
        Some((name, value)) if is_in(NAMING_ARGUMENTS, name) => {
            format!("{name}={}", words(redactor, value))
        }
        Some((name @ ("BOOT_IMAGE" | "initrd"), value)) => format!("{name}={}", redactor.worldly(value)),
        Some((name, value)) if value.starts_with('/') && !value.starts_with("/dev/") => {
            format!("{name}={}", words(redactor, value))
        }
        _ => redactor.worldly(word),
    }
}

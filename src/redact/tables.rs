//! Redacts tables and lines with names: mounts, swap, users of devices.

use std::net::IpAddr;

use super::{
    Redactor,
    forms::{is_in, is_kernel_device, is_number},
    patterns::{self, grouped_address},
    pseudonyms::Shape,
};
use crate::machine::Measured;

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

/// File systems by their names in mount tables.
const FILE_SYSTEMS: &str = "\
    ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs vfat exfat ntfs ntfs3 ntfs-3g fuseblk fuse iso9660 udf erofs jfs reiserfs nilfs2 \
    gfs2 ocfs2 nfs nfs4 cifs smb3 9p virtiofs ceph swap auto fuse.sshfs fuse.portal fuse.gvfsd-fuse fuse.lxcfs";

/// Mount options and columns without a value, or whose values are numbers or one of [`OPTION_WORDS`].
const OPTIONS: &str = "\
    rw ro defaults auto noauto user nouser users suid nosuid dev nodev exec noexec async sync dirsync atime noatime relatime \
    norelatime strictatime nostrictatime diratime nodiratime lazytime nolazytime nosymfollow discard nodiscard barrier \
    nobarrier acl noacl user_xattr nouser_xattr errors data commit stripe usrquota grpquota prjquota noquota quota inode64 \
    inode32 attr2 noattr2 logbufs logbsize sunit swidth allocsize nouuid ssd nossd ssd_spread space_cache compress \
    compress-force subvolid autodefrag noautodefrag degraded skip_balance enospc_debug uid gid umask fmask dmask mode ptmxmode \
    size nr_inodes nr_blocks huge codepage iocharset shortname utf8 flush fd pgrp timeout minproto maxproto direct indirect \
    pipe_ino nsdelegate memory_recursiveprot favordynmods vers proto port mountport mountvers mountproto rsize wsize namlen \
    acregmin acregmax acdirmin acdirmax hard soft nolock local_lock timeo retrans sec xino redirect_dir index nfs_export \
    metacopy volatile uuid default_permissions allow_other user_id group_id max_read blksize journal_checksum delalloc \
    nodelalloc init_itable noinit_itable journal_async_commit dioread_nolock dioread_lock min_batch_time max_batch_time \
    background_gc active_logs alloc_mode fsync_mode checkpoint_merge extent_cache inline_data inline_dentry inline_xattr \
    nofail _netdev loop offset partition file pri swap shared master propagate_from unbindable seclabel xattr noxattr \
    posixacl noposixacl casesensitive nogroup newinstance max gpt nonumtail release \
    resuid resgid resv_strict bsddf minixdf grpid nogrpid bsdgroups sysvgroups i_version noiversion nomblk_io_submit \
    mblk_io_submit auto_da_alloc noauto_da_alloc block_validity noblock_validity max_dir_size_kb inode_readahead_blks \
    journal_ioprio nombcache debug abort test_dummy_encryption inlinecrypt prefetch_block_bitmaps no_prefetch_block_bitmaps \
    mb_optimize_scan dax swalloc filestreams largeio nolargeio wsync ikeep noikeep norecovery lifetime max_atomic_write \
    datacow nodatacow datasum nodatasum thread_pool max_inline metadata_ratio flushoncommit noflushoncommit rescan_uuid_tree \
    clear_cache nospace_cache user_subvol_rm_allowed fatal_errors treelog notreelog usebackuproot rescue nologreplay \
    compress_algorithm compress_log_size compress_chksum compress_mode gc_merge nogc_merge flush_merge noflush_merge atgc \
    memory discard_unit age_extent_cache inline_xattr_size lookup_cache fsc nofsc acdirmax softreval nosharecache nconnect";

/// Mount options, and tags of sources, whose values are names.
const NAMED_OPTIONS: &str = "\
    UUID LABEL PARTUUID PARTLABEL ID subvol lowerdir upperdir workdir addr clientaddr mountaddr srcaddr username domain \
    credentials password pass cache cachetag context fscontext defcontext rootcontext rootmode blkdev source trans msize \
    access aname access_mode version cache_mode usrjquota grpjquota jqfmt logdev rtdev journal_dev journal_path device fsname \
    subtype nls upcall_target lookupcache fallocate mds_namespace name secret conf snapdirname file_mode dir_mode snapshot \
    rsplit wsplit actimeo closetimeo echo_interval bsize esize rasize caps_max osdkeepalivetimeout dirmode";

/// Values of such options.
const OPTION_WORDS: &str = "\
    remount-ro continue panic ordered journal writeback always never within_size advise sys krb5 krb5i krb5p tcp udp rdma \
    tcp6 udp6 off on auto zstd lzo zlib none v2 ascii utf8 iso8859-1 iso8859-15 mixed lower winnt win95 default reuse strict \
    posix nobarrier all async inode once bug lz4 lz4hc lzo-rle nologreplay ignorebadroots ignoredatacsums low normal segment \
    section block";

/// Programs that open drives; others may have names of their owners'.
const PROGRAMS: &str = "\
    fio iodyno dd bash sh zsh fish python python3 perl systemd systemd-udevd udevd systemd-logind systemd-journal dockerd \
    containerd containerd-shim podman crio kubelet runc lxc-start qemu-system-x86 qemu-system-aar qemu-kvm kvm libvirtd \
    virtqemud firecracker cloud-hyperviso mdadm mdmon mount.ntfs ntfs-3g exfat fuse2fs lvm lvmetad dmeventd multipathd \
    cryptsetup iscsid tgtd nvmetcli smartd smartctl hdparm nvme udisksd gvfsd gnome-disks gparted parted fdisk cfdisk sgdisk \
    blkid partprobe zed zpool zfs ceph-osd ceph-mon glusterfsd postgres mysqld mariadbd mongod redis-server clickhouse-serv \
    rsync tar cat cp pv badblocks e2fsck fsck fsck.ext4 mkfs mkfs.ext4 mkfs.xfs blktrace bpftrace perf snapd squashfuse \
    qbittorrent transmission-da steam vmware-vmx VirtualBoxVM Xorg init swapper tmux screen sshd sudo su less grep vi vim";

/// Words in `ip=` and similar arguments that are not names.
const COMMON_WORDS: &str = "dhcp dhcp4 dhcp6 on off any none both auto auto6 bootp rarp tcp nfs vers";

/// A line of measured limits. The third word of an `alone` line is a serial number, also of a drive that is gone.
pub(super) fn measured_limit(redactor: &mut Redactor, line: &str) -> String {
    let mut other = |text: &str| {
        let text = redactor.sweep(text);
        patterns::addresses(&mut redactor.pseudonyms, &text)
    };
    match line.splitn(4, ' ').collect::<Vec<_>>().as_slice() {
        ["alone", model, serial, rest] => {
            let (model, rest) = (other(model), other(rest));
            format!("alone {model} {} {rest}", redactor.whole(serial, Shape::Text))
        }
        _ if Measured::parse(line.trim_end()).is_some() => other(line),
        _ => words_but(redactor, line, ""),
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

/// The lines of [`crate::source::open_files::PROBE`]: mount points, exported files, targets and pools contain names, and
/// processes have them.
pub(super) fn device_users(redactor: &mut Redactor, lines: &str) -> String {
    const USES: &str = "mount open export export-file pool stack unread";
    const EXPORTS: &str = "LIO nvmet";
    let word_at = |redactor: &mut Redactor, kind: &str, index: usize, word: &str| match (kind, index) {
        ("mount", 3) | ("export-file", 1 | 3..) | ("export", 3..) | ("pool", 2..) => words(redactor, word),
        ("mount", 2) => file_system(redactor, word),
        ("open", 3..) | ("mount", 5..) => program(redactor, word),
        ("unread", 1..) => redactor.worldly(word),
        (_, 0) if is_in(USES, word.trim_end()) => word.to_owned(),
        _ if is_kernel_device(word.trim_end()) || is_number(word.trim_end()) => word.to_owned(),
        ("export" | "export-file", 2) if is_in(EXPORTS, word.trim_end()) => word.to_owned(),
        _ => words_but(redactor, word, ""),
    };
    let line = |line: &str| {
        let kind = line.split(' ').next().unwrap_or_default();
        let words = line.split_inclusive(' ').enumerate();
        words.map(|(index, word)| word_at(redactor, kind, index, word)).collect::<String>()
    };
    lines.split_inclusive('\n').map(line).collect()
}

/// The name of a process: one of a known program, else a pseudonym.
pub(super) fn program(redactor: &mut Redactor, name: &str) -> String {
    known_or_words(redactor, name, |name| is_in(PROGRAMS, name))
}

/// A file system's type, or what an opened text gives in place of one that it does not name.
pub(super) fn file_system(redactor: &mut Redactor, name: &str) -> String {
    let is_unnamed = |name: &str| name.replace("\\040", " ") == "unknown file system";
    known_or_words(redactor, name, |name| {
        is_in(FILE_SYSTEMS, name) || is_in(KERNEL_SOURCES, name) || is_unnamed(name)
    })
}

fn known_or_words(redactor: &mut Redactor, text: &str, is_known: impl Fn(&str) -> bool) -> String {
    let name = text.trim_end();
    if is_known(name) { text.to_owned() } else { words_but(redactor, text, "") }
}

fn line_of_mounts(redactor: &mut Redactor, line: &str) -> String {
    // The heading of /proc/swaps.
    if line.split_whitespace().eq(["Filename", "Type", "Size", "Used", "Priority"]) {
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
    if field.starts_with("/dev/") {
        return device(redactor, field);
    }
    if field.starts_with('/') {
        return words(redactor, field);
    }
    if is_source && !is_in(KERNEL_SOURCES, field) && field != "none" && !field.starts_with('#') {
        if let Some((tag, value)) = field.split_once('=') {
            return format!("{}={}", option_name(redactor, tag), words_but(redactor, value, ""));
        }
        return words(redactor, field);
    }
    let options = field.split(',').map(|option| mount_option(redactor, option));
    options.collect::<Vec<_>>().join(",")
}

/// An option of a mount, or a column of numbers.
pub(super) fn mount_option(redactor: &mut Redactor, option: &str) -> String {
    let is_plain = |word: &str| {
        is_number(word) || is_in(OPTION_WORDS, word) || word.split('.').all(is_number) && word.len() <= 4
    };
    let is_numbers = |value: &str| value.split(':').all(is_plain) && grouped_address(value).is_none();
    if let Some((name, value)) = option.split_once('=') {
        let name = option_name(redactor, name);
        let replaced = match value {
            value if value.starts_with("/dev/") => device(redactor, value),
            value if is_in(OPTIONS, &name) && is_numbers(value) => value.to_owned(),
            value => words_but(redactor, value, COMMON),
        };
        return format!("{name}={replaced}");
    }
    let is_known = is_in(OPTIONS, option)
        || is_in(FILE_SYSTEMS, option)
        || is_in(KERNEL_SOURCES, option)
        || matches!(option, "-" | "" | "none")
        || option.split(':').all(|part| is_number(part) || is_in(OPTIONS, part))
            && grouped_address(option).is_none();
    if is_known { option.to_owned() } else { words_but(redactor, option, "") }
}

/// The name of an option, as long as before.
fn option_name(redactor: &mut Redactor, name: &str) -> String {
    let is_known = is_in(OPTIONS, name) || is_in(NAMED_OPTIONS, name);
    if is_known { redactor.worldly(name) } else { words_but(redactor, name, "") }
}

/// A device file: kernel names stay, names of volumes and links become pseudonyms.
pub(super) fn device(redactor: &mut Redactor, path: &str) -> String {
    const COMMON_FILES: &str = "root fuse shm pts mqueue hugepages";
    let folders = ["/dev/", "/dev/mapper/", "/dev/disk/by-"];
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    if is_kernel_device(name) || is_in(COMMON_FILES, name) || folders.contains(&path) {
        return path.to_owned();
    }
    // bcachefs names all its devices: /dev/sda:/dev/sdb.
    if name.contains(":/dev/") {
        return path.split(':').map(|one| device(redactor, one)).collect::<Vec<_>>().join(":");
    }
    format!("/dev/{}", volume(redactor, name))
}

/// A name of device mapper or below `/dev`: every word but `mapper` and its like, numbers too.
pub(super) fn volume(redactor: &mut Redactor, name: &str) -> String {
    words_but(redactor, name, "mapper disk by root home swap swap_1 boot var tmp usr")
}

/// Replaces every word that is neither common nor a short number: folders, servers, shares, labels.
pub(super) fn words(redactor: &mut Redactor, text: &str) -> String {
    words_but(redactor, text, COMMON)
}

/// The same with other common words.
pub(super) fn words_but(redactor: &mut Redactor, text: &str, common: &str) -> String {
    patterns::apart(redactor, text, |redactor, text| words_between(redactor, text, common))
}

fn words_between(redactor: &mut Redactor, text: &str, common: &str) -> String {
    let parts = text.split_inclusive(is_gap).map(|part| {
        let name = part.trim_end_matches(is_gap);
        let is_common = is_in(common, name) || is_in(COMMON_WORDS, name) || is_short_number(name);
        let replaced = if name.is_empty() {
            String::new()
        } else if is_common || name.parse::<IpAddr>().is_ok() {
            redactor.worldly(name)
        } else {
            // Serials, ids and addresses have their own pseudonyms everywhere.
            let swept = redactor.sweep(name);
            if swept == name { single_words(redactor, name, common) } else { redactor.named(&swept) }
        };
        replaced + &part[name.len()..]
    });
    parts.collect()
}

/// Whether a character ends the name of a folder, server or share.
fn is_gap(c: char) -> bool {
    matches!(c, '/' | ':' | '@' | ',' | '[' | ']' | '=' | ' ' | '\n')
}

/// A number too short to be a name: a user's or a partition's, a year.
fn is_short_number(word: &str) -> bool {
    word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Replaces runs of letters and digits, except octal escapes like `\040`.
fn single_words(redactor: &mut Redactor, name: &str, common: &str) -> String {
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
        let is_word =
            escape.is_none() && c.is_alphanumeric() && !is_in(common, word) && !is_short_number(word);
        if is_word {
            out.push_str(&redactor.pseudonyms.of(word, Shape::Text));
        } else {
            out.push_str(word);
        }
        rest = tail;
    }
    out
}

/// The id of a device mapper volume: its maker, and an id with its name.
pub(super) fn volume_id(redactor: &mut Redactor, text: &str) -> String {
    match text.split_once('-') {
        Some((maker, id)) if is_in(MAKERS, maker) => format!("{maker}-{}", redactor.whole(id, Shape::Text)),
        _ => redactor.whole(text, Shape::Text),
    }
}

/// Makers of device mapper volumes, which begin their ids.
pub(super) const MAKERS: &str =
    "CRYPT LVM mpath DMRAID Stratis VDO DRBD part1 part2 part3 part4 part5 part6 part7 part8 part9";

/// `Linux version 6.1.0 (user@host) (gcc ...) #1 ...`: replaces user and host of the build.
pub(super) fn kernel_version(redactor: &mut Redactor, line: &str) -> String {
    let builder = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(builder, _)| builder);
    match builder.filter(|builder| builder.contains('@')) {
        Some(builder) => line.replacen(builder, &words(redactor, builder), 1),
        // Four numbers of a version look like an address.
        None => match line.strip_prefix("Linux version ").and_then(|rest| rest.split_once(' ')) {
            Some((release, more)) => {
                format!("Linux version {} {}", redactor.sweep(release), redactor.worldly(more))
            }
            None => redactor.worldly(line),
        },
    }
}

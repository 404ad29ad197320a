//! The table of a device mapper device by `DM_TABLE_STATUS`, without keys: of `crypt` only the cipher and known optional
//! parameters leave this file, of other targets no device and no parameter but the stripes'.
#![expect(unsafe_code, reason = "ioctl(2) has no safe form; the call states why it is sound")]

use std::{
    fmt::Write as _,
    fs::{self, File},
    hint::black_box,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
};

use super::root::RootError;

/// `DM_TABLE_STATUS`, `_IOWR(0xfd, 12, struct dm_ioctl)` (`linux/dm-ioctl.h`).
const TABLE_STATUS: libc::Ioctl = 0xc138_fd0c_u32 as libc::Ioctl;
/// Return the table rather than the status.
const STATUS_TABLE_FLAG: u32 = 1 << 4;
/// The answer did not fit.
const BUFFER_FULL_FLAG: u32 = 1 << 8;
/// Do not flush the device's I/O first.
const NOFLUSH_FLAG: u32 = 1 << 11;
/// The kernel wipes its copy of the data.
const SECURE_DATA_FLAG: u32 = 1 << 15;

/// Bytes of `struct dm_ioctl`: the offset of the first target.
const FIRST_TARGET: u32 = 312;
/// Bytes of `struct dm_target_spec`, before its parameters.
const SPEC: usize = 40;
/// Offsets in `struct dm_ioctl`.
const DATA_SIZE: usize = 12;
const DATA_START: usize = 16;
const TARGET_COUNT: usize = 20;
const FLAGS: usize = 28;
const DEVICE: usize = 40;

/// Bytes of the first and the largest answer asked for.
const LEAST: usize = 16 << 10;
const MOST: usize = 1 << 20;

/// Lines `START LENGTH TYPE [OPTION]...` of the table of `/dev/NAME`, in sectors.
pub(super) fn ask(name: &str) -> Result<Vec<u8>, RootError> {
    let is_plain = name.strip_prefix("dm-").is_some_and(|number| number.parse::<u32>().is_ok());
    if !is_plain {
        return Err(RootError::NotHere("not a device mapper device".to_owned()));
    }
    let device = fs::read_to_string(format!("/sys/block/{name}/dev"))?;
    let (major, minor) = numbers(&device).ok_or(RootError::Errno(libc::EINVAL))?;
    let control = open()?;
    let mut length = LEAST;
    loop {
        let mut buffer = request(major, minor, length);
        // SAFETY: the number names `struct dm_ioctl`, whose `data_size` is the length of `buffer`, which is writable, not
        // otherwise borrowed and lives through the call; the kernel writes no further than `data_size`.
        let status = unsafe { libc::ioctl(control.as_raw_fd(), TABLE_STATUS, buffer.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        let is_short = word(&buffer, FLAGS).is_some_and(|flags| flags & BUFFER_FULL_FLAG != 0);
        let table = (status == 0 && !is_short).then(|| describe(&mut buffer));
        buffer.fill(0);
        // Keeps the overwriting of a buffer that is dropped next.
        black_box(&buffer);
        match table {
            Some(table) => {
                return table.map(String::into_bytes).ok_or(RootError::Errno(libc::EPROTO));
            }
            None if status < 0 => return Err(error.into()),
            None if length >= MOST => return Err(RootError::Errno(libc::EFBIG)),
            None => length *= 4,
        }
    }
}

/// `/dev/mapper/control`, read-only, and only where device mapper is loaded: opening it would load the module.
fn open() -> Result<File, RootError> {
    const PATH: &str = "/dev/mapper/control";
    let misc = fs::read_to_string("/proc/misc")?;
    if !misc.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some("device-mapper")) {
        return Err(RootError::NotHere("device mapper is not loaded".to_owned()));
    }
    if !fs::metadata(PATH)?.file_type().is_char_device() {
        return Err(RootError::NotHere(format!("{PATH} is not a device")));
    }
    Ok(File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(PATH)?)
}

/// `253:0`.
fn numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A `struct dm_ioctl` with room for the answer, `length` bytes in all.
fn request(major: u32, minor: u32, length: usize) -> Vec<u8> {
    let mut buffer = vec![0_u8; length];
    let mut put = |at: usize, value: u32| buffer[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    // Version 4.0.0: the oldest that the kernel takes.
    put(0, 4);
    put(DATA_SIZE, u32::try_from(length).unwrap_or(u32::MAX));
    put(DATA_START, FIRST_TARGET);
    put(FLAGS, STATUS_TABLE_FLAG | NOFLUSH_FLAG | SECURE_DATA_FLAG);
    // `huge_encode_dev` of linux/kdev_t.h.
    let device = u64::from(minor & 0xff) | u64::from(major) << 8 | u64::from(minor & !0xff) << 12;
    buffer[DEVICE..DEVICE + 8].copy_from_slice(&device.to_ne_bytes());
    buffer
}

fn word(buffer: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(buffer.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn long(buffer: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(buffer.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The kernel's answer as lines; keys are overwritten in it first.
fn describe(buffer: &mut [u8]) -> Option<String> {
    let (start, count) = (word(buffer, DATA_START)? as usize, word(buffer, TARGET_COUNT)?);
    let mut lines = String::new();
    let mut at = start;
    for _ in 0..count {
        let (first, length, next) = (long(buffer, at)?, long(buffer, at + 8)?, word(buffer, at + 20)?);
        let kind = text(buffer.get(at + 24..at + SPEC)?).to_owned();
        let parameters = buffer.get_mut(at + SPEC..)?;
        let end = parameters.iter().position(|byte| *byte == 0)?;
        let parameters = &mut parameters[..end];
        if kind == "crypt" {
            overwrite_key(parameters);
        }
        let options = options(&kind, text(parameters));
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{first} {length} {kind}{options}");
        // An offset from the first target.
        at = start.checked_add(next as usize)?;
    }
    Some(lines)
}

/// Up to the first zero; empty if it is no text.
fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).unwrap_or_default()
}

/// The second word of `CIPHER KEY IV-OFFSET DEVICE OFFSET [#OPTIONS OPTION...]`.
fn overwrite_key(parameters: &mut [u8]) {
    let Some(gap) = parameters.iter().position(|byte| *byte == b' ') else { return };
    let key = &mut parameters[gap + 1..];
    let end = key.iter().position(|byte| *byte == b' ').unwrap_or(key.len());
    key[..end].fill(b'-');
}

/// The harmless parameters of a target, each with a space before it.
fn options(kind: &str, parameters: &str) -> String {
    const FLAGS: [&str; 7] = [
        "allow_discards",
        "same_cpu_crypt",
        "submit_from_crypt_cpus",
        "high_priority",
        "no_read_workqueue",
        "no_write_workqueue",
        "iv_large_sectors",
    ];
    let words: Vec<&str> = parameters.split_ascii_whitespace().collect();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let harmless: Vec<&str> = match kind {
        "crypt" => {
            let cipher = words.first().filter(|cipher| cipher.contains('-') && cipher.len() <= 64);
            let is_known = |word: &&&str| {
                FLAGS.contains(*word) || word.strip_prefix("sector_size:").is_some_and(is_number)
            };
            let options = words.iter().skip(6).filter(is_known);
            cipher.into_iter().chain(options).copied().collect()
        }
        "striped" => words.iter().take(2).filter(|word| is_number(word)).copied().collect(),
        _ => Vec::new(),
    };
    harmless.iter().flat_map(|word| [" ", *word]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: usize = FIRST_TARGET as usize;
    const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    /// An answer of the kernel with these targets.
    fn answer(targets: &[(u64, u64, &str, &str)]) -> Vec<u8> {
        let mut buffer = request(253, 0, LEAST);
        buffer[TARGET_COUNT..TARGET_COUNT + 4]
            .copy_from_slice(&u32::try_from(targets.len()).unwrap().to_ne_bytes());
        let mut at = HEADER;
        for (start, length, kind, parameters) in targets {
            let next = (at + SPEC + parameters.len() + 1).next_multiple_of(8);
            buffer[at..at + 8].copy_from_slice(&start.to_ne_bytes());
            buffer[at + 8..at + 16].copy_from_slice(&length.to_ne_bytes());
            buffer[at + 20..at + 24].copy_from_slice(&u32::try_from(next - HEADER).unwrap().to_ne_bytes());
            buffer[at + 24..at + 24 + kind.len()].copy_from_slice(kind.as_bytes());
            buffer[at + SPEC..at + SPEC + parameters.len()].copy_from_slice(parameters.as_bytes());
            at = next;
        }
        buffer
    }

    fn contains(bytes: &[u8], text: &str) -> bool {
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn a_planted_key_is_overwritten_and_never_described() {
        let keyring = ":64:logon:cryptsetup:6b1dcb5e-00aa-4d3c-9c1e-0123456789ab-d0";
        for key in [KEY, keyring] {
            let table = format!("aes-xts-plain64 {key} 0 259:3 32768 2 allow_discards no_read_workqueue");
            let mut buffer = answer(&[(0, 4096, "linear", "259:3 0"), (4096, 2048, "crypt", &table)]);
            assert!(contains(&buffer, key), "it was planted");
            let lines = describe(&mut buffer).unwrap();
            assert_eq!(
                lines,
                "0 4096 linear\n4096 2048 crypt aes-xts-plain64 allow_discards no_read_workqueue\n"
            );
            assert!(!contains(&buffer, key) && !contains(&buffer, &key[8..]), "overwritten");
        }
    }

    #[test]
    fn keys_of_other_targets_are_not_described_either() {
        let integrity = format!("259:3 0 32 J 2 block_size:4096 internal_hash:hmac(sha256):{KEY}");
        let mut buffer =
            answer(&[(0, 8, "integrity", &integrity), (8, 8, "striped", "2 256 259:3 0 259:4 0")]);
        assert_eq!(describe(&mut buffer).unwrap(), "0 8 integrity\n8 8 striped 2 256\n");
    }

    proptest! {
        #[test]
        fn no_table_reveals_a_key_or_panics(
            key in "[0-9a-f]{16,64}", offset in 0_u64..9, rest in "[a-z_:0-9 ]{0,40}", noise in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let table = format!("aes-xts-plain64 {key} {offset} 259:3 0 {rest}");
            let mut buffer = answer(&[(0, 8, "crypt", &table)]);
            let lines = describe(&mut buffer).unwrap();
            prop_assert!(!lines.contains(&key) && !contains(&buffer, &key));
            let mut noise = noise;
            let _ = describe(&mut noise);
        }
    }

    #[test]
    fn only_device_mapper_is_asked() {
        for name in ["sda", "dm-", "dm-0/../x", "nvme0n1"] {
            assert!(matches!(ask(name), Err(RootError::NotHere(_))), "{name}");
        }
    }

    #[test]
    fn the_numbers_are_those_of_the_kernel_header() {
        let number = 3_u32 << 30 | FIRST_TARGET << 16 | 0xfd << 8 | 0x0c;
        assert_eq!(TABLE_STATUS, libc::Ioctl::from(number));
        let buffer = request(253, 0x1_02, LEAST);
        assert_eq!(long(&buffer, DEVICE), Some(0x10_fd02), "253:258 as the kernel encodes it");
        assert_eq!(word(&buffer, FLAGS).unwrap() & SECURE_DATA_FLAG, SECURE_DATA_FLAG);
    }
}

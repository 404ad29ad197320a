//! Identify, Get Log Page and Get Features over `NVME_IOCTL_ADMIN_CMD` on a descriptor opened `O_RDONLY`. `QUESTIONS`
//! is the complete list: no command here changes a drive.
#![expect(unsafe_code, reason = "ioctl(2) has no safe form; the two calls state why they are sound")]

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
};

use super::{
    nvme::records::{IDENTIFY_BYTES, SMART_BYTES},
    root::RootError,
};

/// `NVME_IOCTL_ID`, `_IO('N', 0x40)`: the namespace id of an open namespace (`linux/nvme_ioctl.h`).
const IOCTL_ID: libc::Ioctl = 0x4e40;
/// `NVME_IOCTL_ADMIN_CMD`, `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const IOCTL_ADMIN: libc::Ioctl = 0xc048_4e41_u32 as libc::Ioctl;

const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const GET_FEATURES: u8 = 0x0a;

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    /// Command dwords 10 to 15.
    dwords: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<AdminCommand>() == 72, "the size is part of the ioctl's number");

/// Question, opcode, command dword 10, and bytes of the answer. Identify takes its CNS in dword 10; Get Log Page the log's
/// id and NUMDL (dwords less one) in bits 31:16; Get Features the feature, whose data are 32 power states of 8 bytes.
const QUESTIONS: [(&str, u8, u32, usize); 4] = [
    ("identify-ns", IDENTIFY, 0, IDENTIFY_BYTES),
    ("identify-ctrl", IDENTIFY, 1, IDENTIFY_BYTES),
    ("smart-log", GET_LOG_PAGE, 0x02 | (127 << 16), SMART_BYTES),
    ("apst", GET_FEATURES, 0x0c, 256),
];

const _: () = assert!((127 + 1) * 4 == SMART_BYTES, "NUMDL of the SMART log");

/// The answer to `/ioctl/NAME/QUESTION`; NAME is a namespace or a controller.
pub(super) fn ask(name: &str, question: &str) -> Result<Vec<u8>, RootError> {
    let known = QUESTIONS.into_iter().find(|(word, ..)| *word == question);
    let Some((_, opcode, dword_10, length)) = known else {
        return Err(RootError::NotHere(format!("unknown request: {question}")));
    };
    let device = open(name)?;
    let namespace = match question {
        "identify-ns" => namespace_id(&device)?,
        // The log of the whole controller.
        "smart-log" => u32::MAX,
        _ => 0,
    };
    let dwords = [dword_10, 0, 0, 0, 0, 0];
    let command = AdminCommand { opcode, namespace, dwords, ..AdminCommand::default() };
    let (answer, result) = submit(&device, command, length)?;
    // Bit 0 of the completion is the feature's value.
    Ok(if question == "apst" { format!("{}\n", result & 1).into_bytes() } else { answer })
}

/// The device file of a namespace or controller, read-only.
fn open(name: &str) -> Result<File, RootError> {
    let plain = name.starts_with("nvme") && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !plain {
        return Err(RootError::NotHere("not an NVMe device".to_owned()));
    }
    let path = format!("/dev/{name}");
    let kind = fs::metadata(&path)?.file_type();
    if !kind.is_block_device() && !kind.is_char_device() {
        return Err(RootError::NotHere(format!("{path} is not a device")));
    }
    Ok(File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?)
}

fn namespace_id(device: &File) -> Result<u32, RootError> {
    // SAFETY: NVME_IOCTL_ID takes no argument and touches no memory of ours; the descriptor is open.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), IOCTL_ID) };
    if answer < 0 {
        return Err(io::Error::last_os_error().into());
    }
    u32::try_from(answer).map_err(|_| RootError::Errno(libc::ERANGE))
}

/// Submits the command; returns the `length` bytes of the controller and dword 0 of the completion.
fn submit(device: &File, mut command: AdminCommand, length: usize) -> Result<(Vec<u8>, u32), RootError> {
    let mut answer = vec![0_u8; length];
    command.address = answer.as_mut_ptr() as u64;
    command.length = u32::try_from(length).map_err(|_| RootError::Errno(libc::EINVAL))?;
    // SAFETY: `command` is the structure the ioctl's number names and lives through the call; its address and length
    // describe `answer`, which is writable, is not otherwise borrowed and lives as long; the kernel writes to nothing
    // else
    // and waits for the controller before it returns.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), IOCTL_ADMIN, &raw mut command) };
    match status {
        0 => Ok((answer, command.result)),
        ..0 => Err(io::Error::last_os_error().into()),
        // A status of the controller, such as "invalid field" for a feature it lacks.
        status => Err(RootError::NotHere(format!("the controller returned status {status:#x}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nvme_devices_are_asked_and_only_known_questions() {
        assert!(matches!(ask("nvme0n1", "format"), Err(RootError::NotHere(_))));
        for name in ["sda", "../dev/sda", "nvme0/../sda", ""] {
            assert!(matches!(ask(name, "identify-ns"), Err(RootError::NotHere(_))), "{name}");
        }
        assert_eq!(ask("nvme4242n1", "identify-ns"), Err(RootError::Errno(libc::ENOENT)));
    }

    #[test]
    fn the_numbers_are_those_of_the_kernel_header() {
        let direction_read_write = 3_u32 << 30;
        let size = u32::try_from(size_of::<AdminCommand>()).unwrap() << 16;
        let number = direction_read_write | size | (u32::from(b'N') << 8) | 0x41;
        assert_eq!(IOCTL_ADMIN, libc::Ioctl::from(number));
        assert_eq!(IOCTL_ID, libc::Ioctl::from((u32::from(b'N') << 8) | 0x40));
    }
}

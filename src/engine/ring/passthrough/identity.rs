//! The namespace behind an open descriptor, read from the drive: a device file's name may have become another drive's.
#![expect(unsafe_code, reason = "ioctl(2) has no safe form")]

use std::{fs::File, io, os::fd::AsRawFd};

use crate::units::Bytes;

/// Identifies a namespace and its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Serial and model number of the controller.
    controller: Vec<u8>,
    /// NGUID and EUI64.
    namespace: Vec<u8>,
    id: u32,
    /// Logical blocks (NSZE).
    blocks: u64,
    /// Bytes of a logical block, as a power of two, and of its metadata.
    block_shift: u8,
    metadata: u16,
}

/// `NVME_IOCTL_ID`, `_IO('N', 0x40)`, and `NVME_IOCTL_ADMIN_CMD`, `_IOWR('N', 0x41, struct nvme_admin_cmd)`
/// (`linux/nvme_ioctl.h`).
const IOCTL_ID: libc::Ioctl = 0x4e40;
const IOCTL_ADMIN: libc::Ioctl = 0xc048_4e41_u32 as libc::Ioctl;

/// Opcode of Identify, the one command built here, and the size of its data.
const IDENTIFY: u8 = 0x06;
const ANSWER: usize = 4096;
const ANSWER_BYTES: u32 = 4096;

impl Identity {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: NVME_IOCTL_ID takes no argument and touches no memory of ours; the descriptor is open.
        let id = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ID) };
        let id = u32::try_from(id).map_err(|_| io::Error::last_os_error())?;
        // CNS 0: Identify Namespace; CNS 1: Identify Controller.
        Ok(Self::from_answers(id, &identify(file, id, 0)?, &identify(file, 0, 1)?))
    }

    /// NVM Command Set Specification 1.0c, figure 97; Base Specification 2.0c, figure 275.
    fn from_answers(id: u32, namespace: &[u8; ANSWER], controller: &[u8; ANSWER]) -> Self {
        let flbas = namespace[26];
        // Bits 6:5 are the high ones where there are more than 16 formats (NLBAF).
        let high = if namespace[25] > 15 { (flbas >> 5 & 3) << 4 } else { 0 };
        let format = 128 + 4 * usize::from(flbas & 15 | high);
        let mut blocks = [0; 8];
        blocks.copy_from_slice(&namespace[..8]);
        Self {
            controller: controller[4..64].to_vec(),
            namespace: namespace[104..128].to_vec(),
            id,
            blocks: u64::from_le_bytes(blocks),
            block_shift: namespace[format + 2],
            metadata: u16::from_le_bytes([namespace[format], namespace[format + 1]]),
        }
    }

    /// Whether commands for blocks of this size, without metadata, move what memory was made for.
    pub(crate) fn fits(&self, id: u32, block_shift: u32, size: Bytes) -> bool {
        self.id == id
            && u32::from(self.block_shift) == block_shift
            && self.metadata == 0
            && self.blocks.checked_mul(1 << block_shift) == Some(size.0)
    }
}

fn identify(file: &File, namespace: u32, cns: u32) -> io::Result<[u8; ANSWER]> {
    let mut answer = [0; ANSWER];
    // `struct nvme_admin_cmd`: opcode, nsid, and from their byte offsets on: data, its length, command dword 10.
    let mut command = [0_u8; 72];
    command[0] = IDENTIFY;
    command[4..8].copy_from_slice(&namespace.to_ne_bytes());
    command[24..32].copy_from_slice(&(answer.as_mut_ptr().expose_provenance() as u64).to_ne_bytes());
    command[36..40].copy_from_slice(&ANSWER_BYTES.to_ne_bytes());
    command[40..44].copy_from_slice(&cns.to_ne_bytes());
    // SAFETY: the kernel's structure of 72 bytes, with the address and length of `answer`; both outlive the call. The
    // command only reads.
    match unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ADMIN, command.as_mut_ptr()) } {
        0 => Ok(answer),
        // An NVMe status.
        1.. => Err(io::Error::from_raw_os_error(libc::EIO)),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A namespace of 1000 blocks in format 1 of these.
    fn answers(lbads: u8, metadata: u8) -> [u8; ANSWER] {
        let mut namespace = [0; ANSWER];
        namespace[..8].copy_from_slice(&1000_u64.to_le_bytes());
        (namespace[25], namespace[26]) = (1, 1);
        (namespace[128 + 2], namespace[132], namespace[132 + 2]) = (9, metadata, lbads);
        namespace
    }

    #[test]
    fn a_namespace_of_another_size_format_or_drive_is_another_one() {
        let mut controller = [0; ANSWER];
        controller[4..24].copy_from_slice(b"S5G1                ");
        let found = Identity::from_answers(1, &answers(12, 0), &controller);
        assert!(found.fits(1, 12, Bytes(4_096_000)));
        assert!(!found.fits(2, 12, Bytes(4_096_000)) && !found.fits(1, 9, Bytes(4_096_000)));
        assert!(!found.fits(1, 12, Bytes(512_000)));
        assert!(!Identity::from_answers(1, &answers(12, 8), &controller).fits(1, 12, Bytes(4_096_000)));
        assert_eq!(found, Identity::from_answers(1, &answers(12, 0), &controller));
        controller[4] = b'T';
        assert_ne!(found, Identity::from_answers(1, &answers(12, 0), &controller));
    }

    #[test]
    fn what_is_no_namespace_has_no_identity() {
        assert!(Identity::of(&File::open("/dev/null").unwrap()).is_err());
    }
}

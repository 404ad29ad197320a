//! The one NVMe command that iodyno can build: Read.
//!
//! Its bytes, as the kernel's `struct nvme_uring_cmd` (`linux/nvme_ioctl.h`) in the 80 bytes of a big submission
//! entry. No other file builds one.

use io_uring::{opcode::UringCmd80, squeue::Entry128, types};

use crate::engine::offset_generator::Block;
use crate::engine::target::Namespace;

/// Read (NVM Command Set Specification 1.0c, 3.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    bytes: [u8; 80],
    block_shift: u32,
}

/// Opcode of Read.
const READ: u8 = 0x02;
/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`, whose size is 72.
const URING_CMD_IO: u32 = 3 << 30 | 72 << 16 | (b'N' as u32) << 8 | 0x80;

impl Read {
    pub(crate) fn of(namespace: Namespace) -> Self {
        let mut bytes = [0; 80];
        bytes[0] = READ;
        bytes[4..8].copy_from_slice(&namespace.id.to_ne_bytes());
        Self { bytes, block_shift: namespace.block_shift }
    }

    /// Of these bytes, whole logical blocks, to an address in memory.
    #[inline]
    pub(crate) fn at(mut self, block: Block, address: u64) -> Self {
        let first = block.offset >> self.block_shift;
        let blocks = block.length >> self.block_shift;
        self.bytes[24..32].copy_from_slice(&address.to_ne_bytes());
        self.bytes[36..40].copy_from_slice(&block.length.to_ne_bytes());
        // Starting LBA: command dwords 10 and 11, low one first.
        self.bytes[40..48].copy_from_slice(&first.to_le_bytes());
        // Number of logical blocks, counted from 0: command dword 12.
        self.bytes[48..52].copy_from_slice(&blocks.saturating_sub(1).to_ne_bytes());
        self
    }

    /// The submission entry, for the registered file 0 unless there is a descriptor; `buffer` is the number of the
    /// registered buffer that holds its memory.
    #[inline]
    pub(crate) fn entry(self, descriptor: Option<i32>, buffer: Option<u16>) -> Entry128 {
        let command = match descriptor {
            Some(descriptor) => UringCmd80::new(types::Fd(descriptor), URING_CMD_IO),
            None => UringCmd80::new(types::Fixed(0), URING_CMD_IO),
        };
        command.cmd(self.bytes).buf_index(buffer).build()
    }
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "the bytes of an entry are private to their crate")]

    use proptest::prelude::*;

    use super::*;

    /// The 128 bytes that the kernel reads.
    fn bytes(entry: Entry128) -> [u8; 128] {
        // SAFETY: two plain C structures of 64 bytes each.
        unsafe { std::mem::transmute(entry) }
    }

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    const NAMESPACE: Namespace = Namespace { id: 7, block_shift: 9, has_poll_queues: false };

    #[test]
    fn an_entry_has_its_fields_where_the_kernels_headers_have_them() {
        let block = Block { offset: 0x0123_4567_8000_1000, length: 8192 };
        let entry = Read::of(NAMESPACE).at(block, 0x7f00_dead_b000).entry(None, Some(3)).user_data(21);
        let sqe = bytes(entry);
        // struct io_uring_sqe: opcode IORING_OP_URING_CMD, flags IOSQE_FIXED_FILE, file 0, cmd_op.
        assert_eq!((sqe[0], sqe[1], word(&sqe, 4), word(&sqe, 8)), (46, 1, 0, 0xc048_4e80));
        // uring_cmd_flags IORING_URING_CMD_FIXED, user_data, buf_index.
        assert_eq!((word(&sqe, 28), word(&sqe, 32), sqe[40]), (1, 21, 3));
        // From byte 48: struct nvme_uring_cmd. Opcode, flags, namespace, cdw2, cdw3.
        let command = &sqe[48..];
        assert_eq!((command[0], command[1], word(command, 4)), (0x02, 0, 7));
        assert_eq!(command[8..24], [0; 16], "no dwords 2 and 3, no metadata");
        assert_eq!((word(command, 24), word(command, 28)), (0xdead_b000, 0x7f00), "address");
        assert_eq!((word(command, 32), word(command, 36)), (0, 8192), "lengths of metadata and data");
        // The byte offset over 512: 0x91a2_b3c0_0008.
        assert_eq!((word(command, 40), word(command, 44)), (0xb3c0_0008, 0x91a2), "starting LBA");
        assert_eq!(word(command, 48), 15, "16 blocks, counted from 0");
        assert_eq!(command[52..80], [0; 28], "dwords 13 to 15, no timeout of its own");
    }

    #[test]
    fn without_registration_an_entry_names_its_descriptor() {
        let sqe = bytes(Read::of(NAMESPACE).at(Block { offset: 0, length: 512 }, 4096).entry(Some(9), None));
        assert_eq!((sqe[1], word(&sqe, 4), word(&sqe, 28), sqe[40]), (0, 9, 0, 0));
    }

    proptest! {
        #[test]
        fn whatever_is_read_it_is_a_read_of_that_namespace(
            offset in 0_u64..1 << 56, length in 1_u32..1 << 24, address: u64, tracker in 9_u32..17, id: u32,
        ) {
            let namespace = Namespace { id, block_shift: tracker, has_poll_queues: true };
            let block = Block { offset: offset >> tracker << tracker, length: (length >> tracker << tracker).max(1 << tracker) };
            let sqe = bytes(Read::of(namespace).at(block, address).entry(Some(3), None));
            let command = &sqe[48..];
            prop_assert_eq!((command[0], word(command, 4)), (0x02, id));
            let first = u64::from(word(command, 44)) << 32 | u64::from(word(command, 40));
            prop_assert_eq!(first << tracker, block.offset);
            prop_assert_eq!((word(command, 48) + 1) << tracker, block.length);
        }
    }
}

//! Records of a perf ring buffer, as `perf_event_open(2)` describes them.

/// A record of an event that samples `PERF_SAMPLE_IP | PERF_SAMPLE_TID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    Sample(Sample),
    /// So many records found no room.
    Lost(u64),
    /// Of another kind, or too short.
    Other,
}

/// Where a CPU was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sample {
    pub(super) address: u64,
    /// The process; 0 is the idle task.
    pub(super) pid: u32,
    pub(super) is_kernel: bool,
}

const TYPE_LOST: u32 = 2;
const TYPE_SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_CPUMODE_MASK` and `PERF_RECORD_MISC_KERNEL`.
const CPU_MODE: u16 = 7;
const KERNEL: u16 = 1;

impl Record {
    /// A record of a type, with the `misc` field of its header and what follows the header.
    pub(super) fn parse(kind: u32, misc: u16, body: &[u8]) -> Self {
        let number =
            |at: usize| body.get(at..at + 8)?.first_chunk().map(|bytes: &[u8; 8]| u64::from_ne_bytes(*bytes));
        let pid = || body.get(8..12)?.first_chunk().map(|bytes: &[u8; 4]| u32::from_ne_bytes(*bytes));
        let sample =
            || Some(Sample { address: number(0)?, pid: pid()?, is_kernel: misc & CPU_MODE == KERNEL });
        match kind {
            TYPE_SAMPLE => sample().map_or(Self::Other, Self::Sample),
            // The event's number comes first.
            TYPE_LOST => number(8).map_or(Self::Other, Self::Lost),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Made by hand in the layout of `perf_event_open(2)`: address, process, thread.
    const KERNEL_BODY: [u8; 16] =
        [0x57, 0xcc, 0xb6, 0x81, 0xff, 0xff, 0xff, 0xff, 0x2a, 0x10, 0, 0, 0x2a, 0x10, 0, 0];
    const USER_BODY: [u8; 16] =
        [0x10, 0x32, 0x8b, 0x3a, 0x7c, 0x55, 0, 0, 0x39, 0x05, 0, 0, 0x3a, 0x05, 0, 0];

    #[test]
    fn samples_have_address_process_and_mode() {
        let kernel = Sample { address: 0xffff_ffff_81b6_cc57, pid: 0x102a, is_kernel: true };
        assert_eq!(Record::parse(TYPE_SAMPLE, 0x4001, &KERNEL_BODY), Record::Sample(kernel));
        let user = Sample { address: 0x557c_3a8b_3210, pid: 0x539, is_kernel: false };
        assert_eq!(Record::parse(TYPE_SAMPLE, 0x4002, &USER_BODY), Record::Sample(user));
    }

    #[test]
    fn lost_records_are_counted_and_others_skipped() {
        let mut body = [0; 16];
        body[8] = 7;
        assert_eq!(Record::parse(TYPE_LOST, 0, &body), Record::Lost(7));
        // PERF_RECORD_THROTTLE.
        assert_eq!(Record::parse(5, 0, &body), Record::Other);
        assert_eq!(Record::parse(TYPE_SAMPLE, 1, &body[..11]), Record::Other);
    }

    proptest! {
        #[test]
        fn any_body_is_read(kind in 0_u32..12, misc in any::<u16>(), body in prop::collection::vec(any::<u8>(), 0..40)) {
            let record = Record::parse(kind, misc, &body);
            if body.len() >= 16 && kind == TYPE_SAMPLE {
                prop_assert!(matches!(record, Record::Sample(_)));
            }
        }
    }
}
